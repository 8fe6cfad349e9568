"""What people see of what is made of specs besides checking them: advice, mutations, simulations, graphs, changed files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from explorer.memory import in_bytes
from highwater.advice import Advice
from highwater.claims import Result
from highwater.mutate import Fate, Mutation
from highwater.reports.terminal import Live, column_widths, short, show_trace, show_unreached, show_witness
from highwater.simulating import Simulated
from highwater.specs.spec import Spec

if TYPE_CHECKING:
    from explorer.analysis.graph import Shape  # imports networkx


class LiveWalks(Live):
    """Progress of a simulation."""

    def __call__(self, walks: int, steps: int, seconds: float) -> None:  # type: ignore[override]
        self.tell(f"{walks:,} walks  {steps:,} steps  {short(steps / max(seconds, 1e-9))} steps/s")


def show_advice(console: Console, advice: Advice) -> None:
    """What probes of smaller bounds say about the full ones, and what they say it from."""

    def tell(words: str) -> None:
        console.print(Text(f"            {words}"))

    if advice.estimates is None:
        tell(f"{advice.probes} probes of smaller bounds did not get through either: lower several bounds at once, or simulate")
        return
    low, between, high = advice.estimates
    span = f" ({short(low)}..{short(high)})" if high > low * 1.05 else ""
    tell(f"some {short(between)} states in all{span}: about {_duration(advice.seconds)} and {in_bytes(round(advice.memory))} here")
    tell(f"by {advice.probes} probes; each step further up counted as the last one measured, which is too much where growth slows:")
    width = max(len(growth.bound) for growth in advice.growths)
    for growth in advice.growths:
        measured = f"{growth.states_low:,} states with {growth.low}, {growth.states_high:,} with {growth.high}; {growth.full} asked for"
        tell(f"{growth.bound.ljust(width)}  x{growth.factor:.1f} by one more: {measured}")
    if advice.symmetry > 1:
        tell(f"symmetry would keep up to {advice.symmetry} times fewer states: leave --no-symmetry out")
    if not advice.fits:
        tell("that is more than this machine has: lower the first of these bounds, use Spark, or walk at random with simulate")


def _duration(seconds: float) -> str:
    for limit, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * limit:
            return f"{seconds / limit:.0f} {unit}"
    return f"{seconds:.0f} s"


def show_shape(console: Console, spec: Spec, shape: Shape) -> None:
    """What a reachable graph looks like."""
    console.print(Text.assemble((spec.name, "bold"), f": {shape.states:,} states, {shape.steps:,} steps, depth {shape.depth}"))
    largest = f"the largest of {shape.components[0]:,} {'state' if shape.components[0] == 1 else 'states'}"
    console.print(f"    components  {len(shape.components):,} strongly connected, {largest}; {shape.terminal:,} without a way out")
    console.print(f"    diameter    {shape.diameter} steps between the two states that are farthest apart")
    if shape.loops:
        console.print(f"    loops       {shape.loops:,} steps change nothing")
    width = max(map(len, shape.steps_by_action), default=0)
    for number, (name, count) in enumerate(shape.steps_by_action.items()):
        console.print(Text(f"    {'' if number else 'steps':10}  {name.ljust(width)}  {count:>10,}", "" if count else "yellow"))


def show_simulation(console: Console, found: Simulated, *, with_coverage: bool) -> None:
    """What random walks found, the trace, and what they saw of the model."""
    spec, made, violation = found.spec, found.simulation, found.violation
    mark = {True: ("ok", "green"), False: ("FAILED", "bold red"), None: ("undecided", "yellow")}[found.as_claimed]
    console.print(Text.assemble(mark, "  ", (spec.name, "bold")))
    if violation is not None:
        claimed = " (as claimed)" if found.as_claimed else ""
        how = f" by walk {made.walk} after {made.violation.trace_length} steps" if made.violation else ""
        console.print(f"    violated: {violation.property}{how}{claimed}{_shrunk(found)}")
    else:
        console.print("    no violation met; what random walks did not meet may still be there")
    bounds = ", ".join(f"{key} {value}" for key, value in spec.file.bounds.items())
    cuts = ", ".join(f"{key} {count:,}" for key, count in made.bounds_cut.items())
    console.print(Text(f"    bounds  {bounds}" + (f"; steps cut: {cuts}" if cuts else "; none of them cut a step"), "dim"))
    ended = ((made.at_depth, f"at depth {made.depth}"), (made.at_rest, "at rest"), (made.at_bound, "stopped by bounds"))
    ends = ", ".join(f"{count:,} {how}" for count, how in ended if count)
    rate = short(made.steps / max(made.seconds, 1e-9))
    walks = f"{made.walks:,} from seed {made.seed}, {made.steps:,} steps, ended: {ends or 'none'}"
    console.print(Text(f"    walks   {walks}; {made.seconds:.2f} s, {rate} steps/s", "dim"))
    late = f", {made.late_paths:,} of them in the second half of the walks: more walks would see more" if made.late_paths else ""
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
        show_trace(console, spec.system(), violation.trace)
        show_witness(console, violation)


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


def show_mutations(console: Console, base: Result, mutations: Sequence[Mutation]) -> None:
    """A line per mutation of a protocol, and how many are caught."""
    outcome = base.outcome
    names = ", ".join(of.name for of in base.spec.properties)
    console.print(Text.assemble((base.spec.name, "bold"), f": as it is {outcome.distinct_states:,} states, and all hold: {names}"))
    rows = [(each.rule, f"{each.before} → {each.after}", _fate(each), each.why) for each in mutations]
    widths = column_widths(rows)
    for each, (rule, change, fate, why) in zip(mutations, rows, strict=True):
        colour = "dim" if each.fate in _NONE else "yellow" if each.fate is Fate.UNKNOWN else "green" if each.ok else "bold red"
        line = Text(f"    {rule.ljust(widths[0])}  {change.ljust(widths[1])}  ")
        line.append(fate.ljust(widths[2]), style=colour)
        console.print(line.append(f"  {why}"))
    real = [each for each in mutations if each.fate not in _NONE]
    caught = sum(each.fate is Fate.CAUGHT for each in real)
    wrong = [each for each in real if not each.ok and each.fate is not Fate.UNKNOWN]
    idle = sum(each.fate is Fate.NO_EFFECT for each in real)
    parts = [f"{caught} of {len(real)} mutations caught"]
    parts += [f"{idle} without effect within these bounds"] if idle else []
    parts += [f"{len(wrong)} not as declared"] if wrong else []
    console.print("; ".join(parts))
    for each in wrong:
        if each.declared:
            console.print(Text(f'    "{each.key}" is declared undefended, but is {each.fate.value}: remove it from mutate.undefended'))
    if undefended := [f'"{each.key}"' for each in wrong if not each.declared]:
        console.print(Text("    add properties to check that notice these, or declare them in the spec:\n    [mutate]\n    undefended = ["))
        for key in undefended:
            console.print(Text(f"        {key},"))
        console.print(Text("    ]"))


def _fate(mutation: Mutation) -> str:
    return mutation.fate.value + (" (declared)" if mutation.declared else "")
