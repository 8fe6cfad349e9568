"""What people see of what is made of specs besides checking them: advice, raised bounds, graphs, changed files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from highwater.claims.by_release import Span, releases_in_words, result_in_words
from highwater.claims.checking import Result
from highwater.claims.raising import Raised, unproven
from highwater.claims.spec import Spec
from highwater.explorer.memory import in_bytes
from highwater.explorer.verdict import Verdict
from highwater.model.language.graph_properties import GraphProperty
from highwater.reports.progress import duration, short
from highwater.visible import counted, visible

if TYPE_CHECKING:
    from highwater.claims.advice import Advice  # imports statistics
    from highwater.explorer.analysis.graph import Shape  # imports networkx


def show_unproven(console: Console, result: Result) -> None:
    """Where a claim that holds says least."""
    if found := unproven(result.spec, result.outcome):
        words = f"  {found}. Raise it first (--raise-bounds tries each)"
        console.print(Text.assemble("    ", ("unproven", "yellow"), words))


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


def show_spans(console: Console, found: Iterable[Span]) -> None:
    """For each claim that was asked under several presets, what came out under which releases."""
    for claim, of_claim in itertools.groupby(found, key=lambda span: span.claim):
        spans = list(of_claim)
        of_mode = max(len(span.mode) for span in spans)
        of_releases = max(len(releases_in_words(span)) for span in spans)
        console.print(Text(visible(claim), "bold"))
        for span in spans:
            start = f"    {span.mode.ljust(of_mode)}  {releases_in_words(span).ljust(of_releases)}  "
            console.print(Text.assemble(start, (result_in_words(span), "red" if span.property else "")))


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
    if shape.depth == spec.file.max_depth:
        console.print(f"    to depth {shape.depth}, as the claim goes: steps from there are left out", style="yellow")
    largest = f"the largest of {shape.components[0]:,} {'state' if shape.components[0] == 1 else 'states'}"
    console.print(
        f"    components  {len(shape.components):,} strongly connected, {largest}; {shape.terminal:,} without a way out"
    )
    console.print(f"    diameter    {shape.diameter} steps between the two states that are farthest apart")
    if shape.loops:
        console.print(f"    loops       {shape.loops:,} steps change nothing")
    show_not_judged(console, [each.name for each in spec.properties if isinstance(each, GraphProperty)])
    width = max(map(len, shape.steps_by_action), default=0)
    for number, (name, count) in enumerate(shape.steps_by_action.items()):
        console.print(
            Text(f"    {'' if number else 'steps':10}  {name.ljust(width)}  {count:>10,}", "" if count else "yellow")
        )


def show_not_judged(console: Console, names: Sequence[str]) -> None:
    """What only a search can judge."""
    if names:
        console.print(
            Text(
                f"    not judged: {', '.join(names)}; it needs the graph of all states: use check",
                "yellow",
            )
        )


def show_diff(console: Console, diff: Sequence[str]) -> None:
    """What changed in files, or that nothing did."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff:
        console.print(Text(line, "bold" if line.startswith(("+++", "---")) else colours.get(line[:1], "")))
    if not diff:
        console.print("locks: nothing to update")
