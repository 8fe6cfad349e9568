"""What people see of random walks."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from highwater.claims.simulation import Simulated
from highwater.reports.analyses import show_not_judged
from highwater.reports.progress import Live, short
from highwater.reports.terminal import machine_code, show_trace, show_unreached, show_witness
from highwater.visible import counted, visible


class LiveWalks(Live):
    """Progress of a simulation."""

    def __call__(self, walks: int, steps: int, seconds: float) -> None:  # type: ignore[override]
        self.show(f"{walks:,} walks  {steps:,} steps  {short(steps / max(seconds, 1e-9))} steps/s")

    def shrinking(self, length: int) -> None:
        """Show how short the violating walk is by now."""
        self.show(f"violated; made as short as {counted(length, 'step')} so far")


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
    show_not_judged(console, found.not_judged)
    bounds = ", ".join(f"{key} {value}" for key, value in spec.file.bounds.items())
    cuts = ", ".join(f"{key} {count:,}" for key, count in made.bounds_cut.items())
    none_cut = "" if spec.file.by_order else "; none of them cut a step"  # walks see no classes, in which bounds cut
    console.print(Text(f"    bounds  {bounds}" + (f"; steps cut: {cuts}" if cuts else none_cut), "dim"))
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
        show_witness(console, spec.system(), violation)


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
    return f"{length}; time or states ran out before it was minimal"
