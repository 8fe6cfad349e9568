"""What people see of a conformance run: lines on a terminal, and a page with both sides of each divergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from conformance.abstraction import NOT_SHOWN, both_sides
from conformance.lockstep import Divergence
from highwater.claims.mutation import Change
from highwater.conforming import Conformance
from highwater.reports.terminal import short, show_trace, trace_rows
from highwater.viewer.pages import render
from highwater.visible import visible


def show(console: Console, found: Conformance) -> None:
    """The block of one spec, and each divergence with its trace."""
    spec, made = found.spec, found.findings
    mark = ("ok", "green") if found.agrees else ("DIVERGES", "bold red")
    console.print(
        Text.assemble(mark, "  ", (visible(spec.name), "bold"), f"  {spec.file.preset or 'own protocol'} and Kafka {found.kafka}")
    )
    if found.reachable:
        reachable, executed = sum(found.reachable.values()), sum(found.executed.values())
        limit = "" if found.complete else "; not every state was explored: raise --max-states"
        console.print(f"    paths   {executed:,} of {reachable:,} reachable paths of mapped actions were executed and agree{limit}")
        width = max(map(len, found.reachable))
        for name, count in sorted(found.reachable.items()):
            done = found.executed.get(name, 0)
            console.print(Text(f"            {name.ljust(width)}  {done:>5,} of {count:>5,}", "" if done == count else "yellow"))
    rate = short(made.steps / max(made.seconds, 1e-9))
    steps = f"{made.steps:,} in {made.runs:,} runs, {made.refused:,} of them refused by the model; {made.seconds:.1f} s, {rate} steps/s"
    console.print(Text(f"    steps   {steps}", "dim"))
    if found.unmapped:
        console.print(Text(f"    unmapped  {', '.join(found.unmapped)}", "dim"))
    for number, each in enumerate(found.divergences, 1):
        _show_divergence(console, found, number, each)


def _show_divergence(console: Console, found: Conformance, number: int, each: Divergence) -> None:
    console.print()
    refused = ", which the model refuses" if each.refused else ""
    times = found.findings.counts[each.kind]
    console.print(Text.assemble((f"divergence {number}", "bold red"), f" at step {len(each.trace)}: {visible(str(each.action))}{refused}"))
    console.print(Text(f"    met {times:,} times; first after {len(each.trace) - 1} steps", "dim"))
    show_trace(console, found.spec.system(), each.trace)
    for call in each.executed.operations:
        arguments = ", ".join(f"{key} {value}" for key, value in call.items() if key != "do")
        console.print(Text(f"    call    {call['do']}({visible(arguments)})", "bold"))
    for error in each.executed.errors:
        console.print(Text(f"    result  {visible(error)}", "red"))
    width = max(len(difference.field) for difference in each.differences)
    for difference in each.differences:
        line = f"    {visible(difference.field).ljust(width)}  model {visible(difference.model)}  Kafka {visible(difference.kafka)}"
        console.print(Text(line, "red"))


def show_mutations(console: Console, scores: Sequence[tuple[Change, Conformance | None]]) -> None:
    """Which changed rules the running code contradicts, and how many of those that matter within the bounds."""
    console.print()
    width = max(len(change.key) for change, _ in scores)
    for change, found in scores:
        verdict, style = _verdict(found)
        console.print(Text(f"    {change.key.ljust(width)}  {verdict}", style))
    contradicted, mattering = score(scores)
    console.print(f"    conformance mutation score: {contradicted} of {mattering} changed rules are contradicted")


def _verdict(found: Conformance | None) -> tuple[str, str]:
    if found is None:
        return "not expressible in releases with KRaft", "dim"
    if found.agrees:
        return "not contradicted within these bounds", "yellow"
    first = found.divergences[0]
    fields = ", ".join(difference.field for difference in first.differences)
    return f"contradicted: {first.action.of.name} after {len(first.trace) - 1} steps ({fields})", "green"


def score(scores: Sequence[tuple[Change, Conformance | None]]) -> tuple[int, int]:
    """How many changed rules are contradicted, of how many that can be expressed."""
    expressible = [found for _, found in scores if found is not None]
    return sum(not found.agrees for found in expressible), len(expressible)


def page(found: Conformance) -> str:
    """The page of one run."""
    system = found.spec.system()
    return render("conform.html", found=found, divergences=[_told(found, system, each) for each in found.divergences], not_shown=NOT_SHOWN)


def _told(found: Conformance, system: Any, each: Divergence) -> dict[str, Any]:
    spec = found.spec
    state = each.expected
    sides = both_sides(state, each.executed.seen, spec.protocol, spec.bounds)
    return {
        "action": str(each.action),
        "refused": each.refused,
        "after": len(each.trace) - 1,
        "times": found.findings.counts[each.kind],
        "rows": trace_rows(system, each.trace),
        "calls": [{"name": call["do"], "arguments": {k: v for k, v in call.items() if k != "do"}} for call in each.executed.operations],
        "errors": each.executed.errors,
        "lanes": sides,
        "others": [each for each in each.differences if "." not in each.field],
    }
