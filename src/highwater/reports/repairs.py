"""What people see of the search for repairs of a claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from highwater.claims.changed_rules import Change
from highwater.claims.checking import Result
from highwater.claims.repairing import Attempt, Ending, rules_of
from highwater.explorer.search.levels.difference import Difference
from highwater.explorer.verdict import Verdict
from highwater.visible import counted, visible

_QUIET = (Ending.REJECTED, Ending.REFUSED)  # counted, not shown
_COLOURS = {Ending.REPAIRED: "green", Ending.VIOLATED: "red", Ending.UNKNOWN: "yellow"}


class Repairs:
    """The sets of changed rules as they are tried: what repairs, what does not, and at the end how many did what."""

    def __init__(self, console: Console, changes: Sequence[Change], most_rules: int) -> None:
        self.attempts: list[Attempt] = []
        self.violated = False
        self._console, self._changes, self._rules = console, changes, rules_of(changes)
        self._most = min(most_rules, self._rules)

    def begin(self, base: Result) -> None:
        """Show the result for the spec as it is."""
        self.violated = base.verdict is Verdict.VIOLATED
        if self.violated:
            first = base.outcome.violations[0]
            words = (
                f": as it is {first.property} is violated after {first.length_in_words}; "
                f"{counted(len(self._changes), 'other value')} of {counted(self._rules, 'rule')}"
            )
        else:
            words = (
                f": ran out of {base.outcome.reason} after {base.outcome.distinct_states:,} states as it is; "
                "no rule was changed"
            )
        self._console.print(Text.assemble((visible(base.spec.name), "bold"), words))

    def add(self, attempt: Attempt) -> None:
        """Show the result for one set, unless a known counterexample was enough, or a smaller set is vacuous, too."""
        smaller = (each for each in self.attempts if set(each.changes) < set(attempt.changes))
        known = attempt.vacuous and any(each.vacuous for each in smaller)
        self.attempts.append(attempt)
        if attempt.ending in _QUIET or known:
            return
        colour = "yellow" if attempt.vacuous else _COLOURS[attempt.ending]
        ending = "vacuous" if attempt.vacuous else attempt.ending.value
        line = Text("    ").append(ending.ljust(8), style=colour)
        line.append(f"  {visible(', '.join(map(_arrow, attempt.changes)))}", style="bold" if attempt.cost else "")
        self._console.print(line.append(f": {visible(attempt.why)}"))
        for each in cost_lines(attempt):
            self._console.print(Text(f"              {visible(each)}"))

    @property
    def repairs(self) -> list[Attempt]:
        """What repairs, and is not vacuous."""
        return [each for each in self.attempts if each.repairs]

    @property
    def found(self) -> bool | None:
        """Whether there is a repair that is not vacuous; None if there is none, but some searches did not come to an
        end.
        """
        if self.repairs:
            return True
        undecided = not self.violated or any(each.ending is Ending.UNKNOWN for each in self.attempts)
        return None if undecided else False

    @property
    def nothing_tried(self) -> str:
        """Why there is no answer, where the model refuses every set; empty where it takes one."""
        if not self.attempts or any(each.ending is not Ending.REFUSED for each in self.attempts):
            return ""
        first = self.attempts[0]
        return f"no other protocol could be tried; with {', '.join(map(_arrow, first.changes))} {first.why}"

    def end(self, *, done: bool) -> None:
        """Show how many sets of each size did what, and what to try next.

        Args:
            done: whether every set was tried.
        """
        if not self.violated or self.nothing_tried:
            return
        for size in sorted({len(each.changes) for each in self.attempts}):
            counts = Counter(
                _VACUOUS if each.vacuous else _ENDED[each.ending] for each in self.attempts if len(each.changes) == size
            )
            of = "a rule" if size == 1 else f"{size} rules"
            words = ", ".join(f"{count:,} {ended[count != 1]}" for ended, count in counts.items())
            self._console.print(f"changing {of}: {words}")
        if not done:
            self._console.print("the search ended early: other sets may repair, too")
        elif not self.repairs:
            vacuous = ", but for those that are vacuous" if any(each.vacuous for each in self.attempts) else ""
            hint = f"; try --max-rules {self._most + 1}" if self._rules > self._most else ""
            self._console.print(f"no set of up to {counted(self._most, 'rule')} repairs{vacuous}{hint}")


_ENDED = {  # of one set, and of several
    Ending.REPAIRED: ("repairs", "repair"),
    Ending.REJECTED: ("leaves a known counterexample as it is", "leave a known counterexample as it is"),
    Ending.VIOLATED: ("ends in another counterexample", "end in another counterexample"),
    Ending.UNKNOWN: ("is undecided", "are undecided"),
    Ending.REFUSED: ("is refused by the model", "are refused by the model"),
}
_VACUOUS = ("is vacuous", "are vacuous")


def cost_lines(attempt: Attempt) -> Iterator[str]:
    """What a repair costs, in lines for people."""
    if attempt.no_cost:
        yield attempt.no_cost
    if attempt.cost is None:
        return
    for each, needed in attempt.missing.items():
        yield f"{each}{': the claim may hold for the lack of it' if needed else ', which no counterexample needs'}"
    cost = attempt.cost
    if cost.replaced and cost.replacing:
        yield f"{', '.join(cost.replacing)} instead of {', '.join(cost.replaced)}"
    before, after = (sum(counts) for counts in zip(*cost.steps.values(), strict=True))
    yield f"states  {cost.states[0]:,} → {cost.states[1]:,} ({cost.lost_states:,} lost, {cost.gained_states:,} gained)"
    yield f"steps   {before:,} → {after:,} ({cost.lost.total():,} lost, {sum(cost.gained.values()):,} gained)"
    yield f"        by the rule itself: {_by_itself(cost)}"
    if cost.lost:
        yield f"        lost: {_of_all(cost)}"
    if cost.gained:
        yield f"        gained: {_listed(cost.gained)}"


def _by_itself(cost: Difference) -> str:
    parts = [f"{count:,} {name} {ended}" for ended in ("refused", "changed") for name, count in _sorted(cost, ended)]
    return ", ".join(parts) or "no step of a state that both reach"


def _sorted(cost: Difference, ended: str) -> list[tuple[str, int]]:
    return sorted(getattr(cost, ended).items(), key=lambda item: -item[1])


def _of_all(cost: Difference) -> str:
    return ", ".join(f"{name} {count:,} of {cost.steps[name][0]:,}" for name, count in cost.lost.most_common())


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


def _arrow(change: Change) -> str:
    return f"{change.rule} {change.before} → {change.after}"


def as_data(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """The attempts for JSON."""
    return [_attempt(each) for each in attempts]


def _attempt(attempt: Attempt) -> dict[str, Any]:
    violation, outcome, cost = attempt.violation, attempt.outcome, attempt.cost
    return {
        "rules": [{"rule": each.rule, "before": each.before, "after": each.after} for each in attempt.changes],
        "ending": attempt.ending.value,
        "why": attempt.why,
        "vacuous": attempt.vacuous,
        "missing": [{"what": what, "needed": needed} for what, needed in attempt.missing.items()],
        "property": violation.property if violation else None,
        "trace_length": violation.trace_length if violation else None,
        "witness": violation.witness if violation else None,
        "distinct_states": outcome.distinct_states if outcome else None,
        "cost": _cost(cost) if cost else None,
        "no_cost": attempt.no_cost,
    }


def _cost(cost: Difference) -> dict[str, Any]:
    return {
        "replaced": cost.replaced,
        "replacing": cost.replacing,
        "states": {
            "before": cost.states[0],
            "after": cost.states[1],
            "lost": cost.lost_states,
            "gained": cost.gained_states,
        },
        "steps": {
            name: {
                "before": before,
                "after": after,
                "lost": cost.lost[name],
                "refused": cost.refused.get(name, 0),
                "changed": cost.changed.get(name, 0),
                "unreached": cost.unreached.get(name, 0),
                "gained": cost.gained.get(name, 0),
            }
            for name, (before, after) in cost.steps.items()
            if before or after
        },
    }
