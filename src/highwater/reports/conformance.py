"""A conformance run on a terminal and as JSON, and a report's counterexample as a run to execute."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from highwater.claims.conformance import Conformance, run_of
from highwater.claims.contradicting import Contradiction, Judgement
from highwater.claims.positions import readable
from highwater.claims.resolving import toggles_of
from highwater.claims.spec import Spec, make_spec
from highwater.conformance.abstraction import NOT_SHOWN
from highwater.conformance.coverage import Code, Coverage, Share
from highwater.conformance.lockstep import Divergence
from highwater.explorer.analysis.paths import Run
from highwater.explorer.system import System
from highwater.files import ReportError
from highwater.reports.progress import short
from highwater.reports.replaying import read_report, replay
from highwater.reports.results import as_data, steps_as_data
from highwater.reports.terminal import show_trace
from highwater.visible import visible

STYLES = {
    Judgement.CONTRADICTED: "green",
    Judgement.AGREES: "yellow",
    Judgement.NO_EFFECT_SEEN: "dim",
    Judgement.NO_EFFECT: "dim",
    Judgement.NOT_EXPRESSIBLE: "dim",
}
FORMAT, COVERAGE_FORMAT, VERSION = "highwater-conformance", "highwater-coverage", 1


def show(console: Console, found: Conformance) -> None:
    """The block of one spec, and each divergence with its trace."""
    spec, made = found.spec, found.findings
    mark = ("ok", "green") if found.agrees else ("DIVERGES", "bold red")
    console.print(
        Text.assemble(
            mark, "  ", (visible(spec.name), "bold"), f"  {spec.file.preset or 'own protocol'} and Kafka {found.kafka}"
        )
    )
    if found.reachable or found.unseen:
        reachable, executed = sum(found.reachable.values()), sum(found.executed.values())
        limit = f"; not every state was explored: gave up at {found.unseen}" if found.unseen else ""
        console.print(
            f"    paths   {executed:,} of {reachable:,} reachable paths of mapped actions were executed and "
            f"agree{limit}"
        )
        width = max(map(len, found.reachable), default=0)
        for name, count in sorted(found.reachable.items()):
            done = found.executed.get(name, 0)
            console.print(
                Text(f"            {name.ljust(width)}  {done:>5,} of {count:>5,}", "" if done == count else "yellow")
            )
    rate = short(made.steps / max(made.seconds, 1e-9))
    steps = f"{made.steps:,} in {made.runs:,} runs, {made.refused:,} of them refused by the model"
    console.print(Text(f"    steps   {steps}; {made.seconds:.1f} s, {rate} steps/s", "dim"))
    if found.unmapped:
        console.print(Text(f"    unmapped  {', '.join(found.unmapped)}", "dim"))
    if found.other_rules and not found.agrees:
        console.print(Text(f"    rules   {visible(found.rules_in_words)}", "yellow"))
    for number, each in enumerate(found.divergences, 1):
        _show_divergence(console, found, number, each)


def _show_divergence(console: Console, found: Conformance, number: int, each: Divergence) -> None:
    console.print()
    refused = ", which the model refuses" if each.refused else ""
    times = found.findings.counts[each.kind]
    console.print(
        Text.assemble(
            (f"divergence {number}", "bold red"), f" at step {len(each.trace)}: {visible(str(each.action))}{refused}"
        )
    )
    console.print(Text(f"    met {times:,} times; first after {len(each.trace) - 1} steps", "dim"))
    show_trace(console, found.spec.system(), each.trace)
    for call in each.executed.operations:
        arguments = ", ".join(f"{key} {value}" for key, value in call.items() if key != "do")
        console.print(Text(f"    call    {call['do']}({visible(arguments)})", "bold"))
    for error in each.executed.errors:
        console.print(Text(f"    result  {visible(error)}", "red"))
    width = max(len(difference.field) for difference in each.differences)
    for difference in each.differences:
        sides = f"model {visible(difference.model)}  Kafka {visible(difference.kafka)}"
        console.print(Text(f"    {visible(difference.field).ljust(width)}  {sides}", "red"))


def show_coverage(console: Console, coverage: Coverage) -> None:
    """What was executed of each measured class."""
    console.print(Text(f"\n    executed of Kafka {coverage.kafka}"))
    width = max((len(each.name) for each in coverage.classes), default=0)
    for each in coverage.classes:
        shares = f"{percent(each.lines):>4} of lines  {percent(each.branches):>4} of branches"
        console.print(Text(f"    {each.name.ljust(width)}  {shares}", "" if each.lines.executed else "dim"))


def percent(share: Share) -> str:
    """A share as whole percent, rounded down: only all is 100%."""
    return "-" if not share.of else f"{100 * share.executed // share.of}%"


def show_mutations(console: Console, mutations: Sequence[Contradiction]) -> None:
    """Which changed rules the running code contradicts, and how many of those that mapped steps depend on."""
    console.print()
    width = max(len(each.change.key) for each in mutations)
    for each in mutations:
        console.print(Text(f"    {each.change.key.ljust(width)}  {_verdict(each)}", STYLES[each.judgement]))
    contradicted, mattering = score(mutations)
    console.print(
        f"    conformance mutation score: {contradicted} of {mattering} changed rules that these steps depend on are "
        "contradicted"
    )


def _verdict(each: Contradiction) -> str:
    if each.judgement is Judgement.NOT_EXPRESSIBLE:
        return "not expressible in releases with KRaft"
    if each.judgement is Judgement.NO_EFFECT:
        return "no effect on any mapped step within these bounds"
    if each.judgement is Judgement.NO_EFFECT_SEEN:
        return "no effect seen: not every state was compared, or no step that depends on it can be tried or was reached"
    if each.judgement is Judgement.AGREES:
        return "not contradicted within these bounds"
    first = each.divergences[0]
    fields = ", ".join(difference.field for difference in first.differences)
    steps = f"{first.action.of.name} after {len(first.trace) - 1} steps of {visible(each.claim)}"
    return f"contradicted: {steps} ({fields})"


def score(mutations: Sequence[Contradiction]) -> tuple[int, int]:
    """How many changed rules are contradicted, of how many that mapped steps depend on."""
    judgement = [each.judgement for each in mutations]
    return judgement.count(Judgement.CONTRADICTED), judgement.count(Judgement.CONTRADICTED) + judgement.count(
        Judgement.AGREES
    )


def run_of_trace(path: Path) -> tuple[Spec, System, Run]:
    """The trace of a report's only counterexample, as a run.

    Raises:
        ReportError: the report has no trace, or several, or it does not replay.
        SpecError: the report names a spec that is wrong.
    """
    entries = [entry for entry in read_report(path) if entry.get("trace")]
    if len(entries) != 1:
        raise ReportError(f"{path}: has {len(entries)} counterexamples; one is needed")
    entry = entries[0]
    system, violation = replay(entry)
    keys = {key: entry[key] for key in ("model", "protocol", "bounds", "check")}
    return make_spec(entry["name"], keys), system, run_of(system, violation.trace)


def all_as_json(found: Sequence[Conformance], mutations: Sequence[Contradiction] | None) -> dict[str, Any]:
    """What `--json` writes: what was found of a claim, or a list of that; and what became of changed rules."""
    rules = {} if mutations is None else {"mutations": {each.change.key: each.judgement.value for each in mutations}}
    if len(found) == 1:
        return as_json(found[0]) | rules
    return {"format": FORMAT, "version": VERSION, "claims": [as_json(each) for each in found]} | rules


def as_json(found: Conformance) -> dict[str, Any]:
    """What was found, as `--json` writes it; `docs/conform.md` describes the keys."""
    spec, made = found.spec, found.findings
    system = spec.system()
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": readable(spec.name),
        "file": readable(spec.path),
        "model": spec.file.model,
        "preset": spec.file.preset,
        "protocol": toggles_of(spec.protocol),
        "bounds": as_data(spec.bounds),
        "kafka": found.kafka,
        "preset_of_kafka": found.preset or None,
        "other_rules": {rule: {"spec": ours, "kafka": theirs} for rule, (ours, theirs) in found.other_rules.items()},
        "paths_reachable": sum(found.reachable.values()),
        "paths_executed": sum(found.executed.values()),
        "paths": {
            name: {"reachable": count, "executed": found.executed.get(name, 0)}
            for name, count in sorted(found.reachable.items())
        },
        "all_states": found.complete,
        "runs": made.runs,
        "steps": made.steps,
        "refused_steps": made.refused,
        "seconds": round(made.seconds, 3),
        "steps_per_second": round(made.steps / max(made.seconds, 1e-9)),
        "divergences": [_divergence(system, each, made.counts[each.kind]) for each in made.divergences],
        "unmapped": found.unmapped,
        "not_shown": dict(NOT_SHOWN),
    }


def _divergence(system: System, each: Divergence, count: int) -> dict[str, Any]:
    return {
        "action": each.action.of.name,
        "arguments": dict(each.action.shown),
        "refused_by_model": each.refused,
        "times": count,
        "after": len(each.trace) - 1,
        "differences": [attrs.asdict(difference) for difference in each.differences],
        "calls": list(each.executed.operations),
        "errors": list(each.executed.errors),
        "trace": steps_as_data(system, each.trace),
        "kafka": json.loads(json.dumps(each.executed.seen)),
    }


def _ranges(lines: Sequence[int]) -> list[list[int]]:
    """Ascending lines as first and last of each run of them."""
    ranges: list[list[int]] = []
    for line in lines:
        if ranges and ranges[-1][1] == line - 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    return ranges


def coverage_as_json(coverage: Coverage, of: str) -> dict[str, Any]:
    """What `--coverage` writes; `docs/conform.md` describes the keys.

    Args:
        of: what was run.
    """

    def shown(code: Code) -> dict[str, Any]:
        shares = {"lines": code.lines, "branches": code.branches}
        return {"name": code.name, **{key: {"executed": each.executed, "of": each.of} for key, each in shares.items()}}

    return {
        "format": COVERAGE_FORMAT,
        "version": VERSION,
        "kafka": coverage.kafka,
        "of": of,
        "classes": [
            {
                **shown(each),
                "missed_lines": _ranges(each.missed),
                "never_reached": [of.name for of in coverage.methods[each.name] if not of.lines.executed],
                "methods": [shown(of) for of in coverage.methods[each.name]],
            }
            for each in coverage.classes
        ],
    }
