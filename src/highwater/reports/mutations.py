"""What people see of the mutations of a protocol."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from highwater.claims.changed_rules import Change
from highwater.claims.checking import Result
from highwater.claims.mutation import Fate, Mutation
from highwater.claims.spec import Spec
from highwater.explorer.verdict import Verdict
from highwater.visible import visible

_NONE = (Fate.OTHER, Fate.REFUSED)  # no mutations of this model


class Mutations:
    """The mutations of a protocol as they become known: a line each, and at the end how many are caught."""

    def __init__(self, console: Console, spec: Spec, changes: Sequence[Change]) -> None:
        self.mutations: list[Mutation] = []
        self.base_holds = False
        self._console, self._spec, self._changes = console, spec, changes
        fates = [fate.value for fate in Fate] + [f"{Fate.UNDEFENDED.value} (declared)"] * bool(
            spec.file.mutate.undefended
        )
        self._widths = [max(map(len, column)) for column in ([c.rule for c in changes], map(_arrow, changes), fates)]

    def begin(self, base: Result) -> None:
        """Show the result for the spec as it is."""
        outcome = base.outcome
        self.base_holds = base.verdict in (Verdict.HOLDS, Verdict.HOLDS_TO_DEPTH)
        if self.base_holds:
            names = ", ".join(of.name for of in base.spec.properties)
            words = f": as it is {outcome.distinct_states:,} states, and all hold: {names}"
        else:
            words = (
                f": ran out of {outcome.reason} after {outcome.distinct_states:,} states as it is; "
                "no rule was switched off"
            )
        self._console.print(Text.assemble((visible(base.spec.name), "bold"), words))

    def add(self, mutation: Mutation) -> None:
        """Show one mutation."""
        self.mutations.append(mutation)
        colour = (
            "dim"
            if mutation.fate in _NONE
            else "yellow"
            if mutation.fate is Fate.UNKNOWN
            else "green"
            if mutation.ok
            else "bold red"
        )
        line = Text(f"    {mutation.rule.ljust(self._widths[0])}  {_arrow(mutation).ljust(self._widths[1])}  ")
        line.append(
            (mutation.fate.value + (" (declared)" if mutation.declared else "")).ljust(self._widths[2]), style=colour
        )
        self._console.print(line.append(f"  {visible(mutation.why)}"))

    @property
    def as_declared(self) -> bool | None:
        """Whether all is as declared; None if nothing speaks against it, but some searches did not come to an end."""
        if self._wrong:
            return False
        known = self.base_holds and all(each.fate is not Fate.UNKNOWN for each in self.mutations)
        return True if known and len(self.mutations) == len(self._changes) else None

    @property
    def nothing_tried(self) -> str:
        """Why there is no answer, where the model takes no mutation; empty where it takes one."""
        if not self.mutations or any(each.fate not in _NONE for each in self.mutations):
            return ""
        first = self.mutations[0]
        return f"no other protocol could be tried; with {first.rule} {_arrow(first)} {first.why}"

    @property
    def _wrong(self) -> list[Mutation]:
        return [each for each in self.mutations if not each.ok and each.fate is not Fate.UNKNOWN]

    def end(self) -> None:
        """Show how many are caught, and what to declare."""
        if not self.base_holds or self.nothing_tried:
            return
        real = [each for each in self.mutations if each.fate not in _NONE]
        parts = [f"{sum(each.fate is Fate.CAUGHT for each in real)} of {len(real)} mutations caught"]
        for count, words in (
            (sum(each.fate is Fate.NO_EFFECT for each in real), "without effect within these bounds"),
            (sum(each.fate is Fate.UNKNOWN for each in real), "unknown"),
            (len(self._wrong), "not as declared"),
            (len(self._changes) - len(self.mutations), "not tried"),
        ):
            parts += [f"{count} {words}"] if count else []
        self._console.print("; ".join(parts))
        for each in self._wrong:
            if each.declared:
                words = (
                    f'"{each.key}" is declared undefended, but is {each.fate.value}: remove it from mutate.undefended'
                )
                self._console.print(Text(f"    {words}"))
        if undefended := [f'"{each.key}"' for each in self._wrong if not each.declared]:
            words = "    add properties to check that notice these, or declare them in the spec:"
            lines = ["    [mutate]", "    undefended = [", *(f"        {key}," for key in undefended), "    ]"]
            self._console.print(Text("\n".join([words, *lines])))


def _arrow(change: Change | Mutation) -> str:
    return f"{change.before} → {change.after}"
