"""What people see of what is made of specs besides checking them: advice, mutations, simulations, graphs, changed
files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from explorer.memory import in_bytes
from explorer.verdict import Verdict
from highwater.claims.advice import Advice
from highwater.claims.checking import Result
from highwater.claims.mutation import Change, Fate, Mutation
from highwater.claims.raising import Raised, is_size
from highwater.claims.simulation import Simulated
from highwater.claims.spec import Spec
from highwater.reports.progress import Live, duration, short
from highwater.reports.terminal import machine_code, show_trace, show_unreached, show_witness
from highwater.visible import counted, visible
from model.language.graph_properties import GraphProperty

if TYPE_CHECKING:
    from explorer.analysis.graph import Shape  # imports networkx


class LiveWalks(Live):
    """Progress of a simulation."""

    def __call__(self, walks: int, steps: int, seconds: float) -> None:  # type: ignore[override]
        self.show(f"{walks:,} walks  {steps:,} steps  {short(steps / max(seconds, 1e-9))} steps/s")

    def shrinking(self, length: int) -> None:
        """Show how short the violating walk is by now."""
        self.show(f"violated; made as short as {counted(length, 'step')} so far")


def show_first_to_raise(console: Console, result: Result, bounds: Sequence[str]) -> None:
    """Which bound may hide a violation, if a size is among those that cut steps."""
    cut = result.outcome.cut_alone.get(bounds[0], 0) if bounds else 0
    if not cut or not is_size(result.spec, bounds[0]):
        return
    console.print(
        Text.assemble(
            "    ",
            ("unproven", "yellow"),
            f"  beyond these bounds; raise {bounds[0]} first, a size that alone cut {counted(cut, 'step')} "
            "(--raise-bounds tries each)",
        )
    )


def show_raised(console: Console, raised: Raised) -> None:
    """What came out with one bound raised."""
    outcome = raised.outcome
    if outcome is None:
        found = "the model makes no sense then"
    elif outcome.violations:
        first = outcome.violations[0]
        found = f"violated: {first.property} after {first.length_in_words}"
    elif outcome.verdict is Verdict.HOLDS:
        found = f"holds, {counted(outcome.distinct_states, 'state')}"
    else:
        found = f"no violation among the first {counted(outcome.distinct_states, 'state')}"
    colour = "red" if outcome is not None and outcome.violations else "dim"
    console.print(Text.assemble("    ", ("raised", "yellow"), f"  {raised.bound} {raised.value}: ", (found, colour)))


def show_advice(console: Console, advice: Advice) -> None:
    """What probes of smaller bounds say about the full ones, and what they say it from."""

    def line(words: str) -> None:
        console.print(Text(f"            {words}"))

    if advice.estimates is None:
        line(f"{advice.probes} probes of smaller bounds did not end either: lower several bounds at once, or simulate")
        return
    low, between, high = advice.estimates
    if high > low * 1.05:
        ends = [end / between for end in (low, high)]
        times, sizes = (
            [duration(advice.seconds * end) for end in ends],
            [in_bytes(round(advice.memory * end)) for end in ends],
        )
        line(
            f"between {short(low)} and {short(high)} states in all: {times[0]} to {times[1]}, {sizes[0]} to "
            f"{sizes[1]} here"
        )
    else:
        line(
            f"some {short(between)} states in all: about {duration(advice.seconds)} and "
            f"{in_bytes(round(advice.memory))} here"
        )
    line(
        f"by {advice.probes} probes; each further step is taken to grow like the last measured one, too much if "
        "growth slows:"
    )
    width = max(len(growth.bound) for growth in advice.growths)
    for growth in advice.growths:
        measured = f"{growth.states_low:,} states with {growth.low}, {growth.states_high:,} with {growth.high}"
        asked = f"{growth.full} asked for"
        line(f"{growth.bound.ljust(width)}  x{growth.factor:.1f} by one more: {measured}; {asked}")
    if advice.symmetry > 1:
        line(f"symmetry would keep up to {advice.symmetry} times fewer states: leave --no-symmetry out")
    if not advice.fits:
        line(
            "that is more than this machine has: lower the first of these bounds, use Spark, or walk at random with "
            "simulate"
        )


def show_shape(console: Console, spec: Spec, shape: Shape) -> None:
    """What a reachable graph looks like."""
    console.print(
        Text.assemble(
            (visible(spec.name), "bold"), f": {shape.states:,} states, {shape.steps:,} steps, depth {shape.depth}"
        )
    )
    largest = f"the largest of {shape.components[0]:,} {'state' if shape.components[0] == 1 else 'states'}"
    console.print(
        f"    components  {len(shape.components):,} strongly connected, {largest}; {shape.terminal:,} without a way out"
    )
    console.print(f"    diameter    {shape.diameter} steps between the two states that are farthest apart")
    if shape.loops:
        console.print(f"    loops       {shape.loops:,} steps change nothing")
    _show_not_judged(console, [each.name for each in spec.properties if isinstance(each, GraphProperty)])
    width = max(map(len, shape.steps_by_action), default=0)
    for number, (name, count) in enumerate(shape.steps_by_action.items()):
        console.print(
            Text(f"    {'' if number else 'steps':10}  {name.ljust(width)}  {count:>10,}", "" if count else "yellow")
        )


def show_simulation(console: Console, found: Simulated, *, with_coverage: bool) -> None:
    """What random walks found, the trace, and what they saw of the model."""
    spec, made, violation = found.spec, found.simulation, found.violation
    mark = {True: ("ok", "green"), False: ("FAILED", "bold red"), None: ("undecided", "yellow")}[found.as_claimed]
    console.print(Text.assemble(mark, "  ", (visible(spec.name), "bold")))
    if violation is not None:
        claimed = " (as claimed)" if found.as_claimed else ""
        how = f" by walk {made.walk} after {counted(made.violation.trace_length, 'step')}" if made.violation else ""
        console.print(f"    violated: {violation.property}{how}{claimed}{_shrunk(found)}")
    elif not made.steps:
        console.print("    no step was taken")
    else:
        console.print("    no violation met; random walks may have missed one")
    _show_not_judged(console, found.not_judged)
    bounds = ", ".join(f"{key} {value}" for key, value in spec.file.bounds.items())
    cuts = ", ".join(f"{key} {count:,}" for key, count in made.bounds_cut.items())
    console.print(
        Text(f"    bounds  {bounds}" + (f"; steps cut: {cuts}" if cuts else "; none of them cut a step"), "dim")
    )
    ended = (
        (made.at_depth, f"at depth {made.depth}"),
        (made.at_rest, "at rest"),
        (made.at_bound, "stopped by bounds"),
        (made.unweighted, "with weight 0 for all that is enabled"),
    )
    ends = ", ".join(f"{count:,} {how}" for count, how in ended if count)
    rate = short(made.steps / max(made.walk_seconds, 1e-9))
    walks = f"{made.walks:,} from seed {made.seed}, {made.steps:,} steps, ended: {ends or 'none'}"
    took = f"{made.walk_seconds:.2f} s, {rate} steps/s{machine_code(made.compile_seconds)}"
    console.print(Text(f"    walks   {walks}; {took}", "dim"))
    late = (
        f", {made.late_paths:,} of them in the second half of the walks: more walks would see more"
        if made.late_paths
        else ""
    )
    console.print(Text(f"    paths   {made.compiled_paths:,} compiled{late}", "dim"))
    if never := [name for name, count in made.enabled.items() if not count]:
        console.print(Text.assemble("    ", ("never enabled:", "yellow"), f" {', '.join(never)}"))
    if never := [name for name, count in made.taken.items() if not count and made.enabled[name]]:
        console.print(Text.assemble("    ", ("never taken:", "yellow"), f" {', '.join(never)}"))
    if with_coverage:
        width = max(map(len, made.taken), default=0)
        for name, count in made.taken.items():
            console.print(f"    taken   {name.ljust(width)}  {count:>12,}  enabled {made.enabled[name]:>12,}")
        show_unreached(console, made.unreached)
    if violation is not None:
        console.print()
        show_trace(console, spec.system(), violation.trace, violation.back_to)
        show_witness(console, violation)


def _show_not_judged(console: Console, names: Sequence[str]) -> None:
    if names:
        console.print(
            Text(
                f"    not judged: {', '.join(names)}; it needs the graph of all states: use check",
                "yellow",
            )
        )


def _shrunk(found: Simulated) -> str:
    if found.shrunk is None or found.violation is None:
        return ""
    length = f"; shrunk to {found.violation.trace_length}"
    match found.shrunk.minimal.value:
        case "globally":
            return f"{length}, and there is no shorter one"
        case "locally":
            stretch = f"no stretch of {found.shrunk.stretch} steps can be replaced by a shorter one"
            return f"{length}: no step can be left out, and {stretch}"
    return f"{length}; time ran out before it was minimal"


def show_diff(console: Console, diff: Sequence[str]) -> None:
    """What changed in files, or that nothing did."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff:
        console.print(Text(line, "bold" if line.startswith(("+++", "---")) else colours.get(line[:1], "")))
    if not diff:
        console.print("locks: nothing to update")


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
        """Tell what came out for the spec as it is."""
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
        """Tell of one mutation."""
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
    def _wrong(self) -> list[Mutation]:
        return [each for each in self.mutations if not each.ok and each.fate is not Fate.UNKNOWN]

    def end(self) -> None:
        """Tell how many are caught, and what to declare."""
        if not self.base_holds:
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
