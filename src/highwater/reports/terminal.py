"""Results in a terminal: a block per spec, a line per step of a trace."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from rich.console import Console
from rich.text import Text

from highwater.claims.checking import Result, Status
from highwater.claims.positions import in_repository
from highwater.claims.raising import unproven
from highwater.claims.spec import Spec
from highwater.claims.tables import shown
from highwater.explorer.memory import in_bytes
from highwater.explorer.ranks import in_words
from highwater.explorer.refinement import refinement_in
from highwater.explorer.system import System
from highwater.explorer.trace import changes
from highwater.explorer.verdict import DEADLOCK, Audit, LevelWork, Outcome, Step, Unreached, Verdict, Violation
from highwater.model.language.graph_properties import GraphProperty, Prospect
from highwater.model.language.shape import Domain, Shape
from highwater.reports.progress import short
from highwater.visible import counted, room_of, visible

if TYPE_CHECKING:
    from highwater.claims.coverage import Coverage

_COLOURS = {Status.MET: "green", Status.UNMET: "bold red", Status.UNDECIDED: "yellow", Status.ANSWERED: "cyan"}
_MARKS = {Status.MET: "ok", Status.UNMET: "FAILED", Status.UNDECIDED: "undecided", Status.ANSWERED: "answer"}


def show_result(console: Console, result: Result, *, with_trace: bool, with_actions: bool = True) -> None:
    """The block of one spec.

    Args:
        with_actions: name the statements of actions that never ran, if these were looked for.
    """
    spec, outcome = result.spec, result.outcome
    colour = _COLOURS[result.status]
    console.print(Text.assemble((_MARKS[result.status], colour), "  ", (visible(spec.name), "bold"), _changed(spec)))
    console.print(Text(f"    {verdict_line(result)}{as_claimed(result)}", "" if result.ok else "bold"))
    for mismatch in result.mismatches:
        console.print(Text(f"    {visible(mismatch)}", "red"))
    if protocol := _protocol(spec):
        console.print(Text(f"    protocol  {protocol}", "dim"))
    console.print(Text(f"    {bounds_line(result)}", "dim"))
    console.print(Text(f"    {counts_line(outcome)}", "dim"))
    if outcome.work:
        console.print(Text(f"    {work_line(outcome.work)}", "dim"))
    if outcome.audit:
        console.print(Text(f"    {audit_line(outcome.audit)}", "dim"))
    for warning in outcome.warnings:
        console.print(Text.assemble("    ", ("warning", "yellow"), f"  {visible(warning)}"))
    if advice := _advice(outcome):
        console.print(Text.assemble("    ", ("advice", "yellow"), f"  {advice}"))
    never = [name for name, count in outcome.enabled.items() if not count]
    if never and outcome.verdict is Verdict.HOLDS:
        console.print(Text.assemble("    ", ("never enabled:", "yellow"), f" {', '.join(never)}"))
    for name, why in outcome.vacuous.items():
        console.print(Text.assemble("    ", ("vacuous:", "yellow"), f" {name}: {why}"))
    show_unreached(console, [each for each in outcome.unreached if with_actions or each.of not in outcome.enabled])
    if with_trace and (violation := result.violation):
        console.print()
        show_trace(console, spec.system(), violation.trace, violation.back_to)
        show_witness(console, spec.system(), violation)
        console.print()


def show_unreached(console: Console, missed: Iterable[Unreached]) -> None:
    """A line per statement that never ran."""
    for each in missed:
        at = f"{in_repository(Path(each.file))}:{each.line}"
        console.print(Text.assemble("    ", ("never ran:", "yellow"), f" in {each.of}: {each.text}  ({at})"))


def show_coverage(console: Console, found: Coverage) -> None:
    """What claims of a model reach together, and a line per statement that none of them does."""
    console.print(Text.assemble(("coverage", "bold"), f"  {visible(coverage_line(found))}"))
    show_unreached(console, (attrs.evolve(each.at, of=each.function) for each in found.missed))


def coverage_line(found: Coverage) -> str:
    """How much claims of a model reach together, in one line."""
    early = f" ({found.ended_early} of them to an early end)" if found.ended_early else ""
    line = f"{found.model}: {counted(found.claims, 'claim')}{early} ran {found.ran:,} of {counted(found.lines, 'line')}"
    return f"{line}; {counted(len(found.missed), 'statement')} never ran" if found.missed else line


def _advice(outcome: Outcome) -> str:
    """What to do about a search that a budget ended."""
    if outcome.verdict is not Verdict.UNKNOWN or outcome.reason == "interrupted":
        return ""
    whole = outcome.levels[:-1]
    growth = f"; levels last grew by a factor of {whole[-1] / whole[-2]:.1f}" if len(whole) > 1 else ""
    stored = max(1, outcome.stored_states)
    full = f"{outcome.stored_states:,} states are stored, {outcome.memory / stored:.0f} bytes each{growth}"
    most = max(outcome.bounds_cut, key=lambda bound: outcome.bounds_cut[bound], default="")
    lower = f"lower a bound ({most} cuts most steps)" if most else "lower a bound"
    if outcome.reason == "memory":
        return f"{full}: give it more --memory, {lower}, or stop at a --max-depth; a --checkpoint keeps what is known"
    if outcome.reason == "memory of the driver":
        return f"{lower}, or run the driver where it has more memory; --resume goes on from a --checkpoint"
    return f"{full}: raise --max-states, or {lower}"


def show_witness(console: Console, system: System, violation: Violation) -> None:
    """Why the property is false, in words."""
    from highwater.reports.reasons import reason

    console.print(
        Text.assemble(
            "    ",
            (f"{violation.property} is false:", "bold red"),
            f" {visible(reason(system, violation))}",
        )
    )


def verdict_line(result: Result) -> str:
    """What came out, in one line."""
    outcome = result.outcome
    if (violation := result.found) is not None:
        others = [f"{v.property} after {v.trace_length}" for v in outcome.violations if v is not violation]
        also = f"; also {', '.join(others)}" if others else ""
        return f"violated: {violation.property} after {violation.length_in_words}{also}{_cut_short(outcome)}"
    match outcome.verdict:
        case Verdict.HOLDS:
            return f"holds {_for_whom(outcome)}: {', '.join(result.spec.checked)}{_held_back(result)}"
        case Verdict.HOLDS_TO_DEPTH:
            return _to_depth(result)
        case _:
            return (
                f"unknown: {'interrupted' if outcome.reason == 'interrupted' else f'ran out of {outcome.reason}'}; no "
                "violation so far"
            )


def _for_whom(outcome: Outcome) -> str:
    """How far what holds holds."""
    if not outcome.any_number_of:
        return "within these bounds"
    other = sorted(outcome.bounds_cut)
    return f"for any number of {in_words(*outcome.any_number_of)}" + (
        f", and within the bounds {', '.join(other)}" if other else ""
    )


def whole_verdict(result: Result) -> str:
    """What came out, and where it says least."""
    found = unproven(result.spec, result.outcome)
    return f"{verdict_line(result)}{as_claimed(result)}" + (f"; {found}" if found else "")


def as_claimed(result: Result) -> str:
    """Whether a violation is what the claim expects, in words."""
    expect = result.spec.file.expect
    return " (as claimed)" if result.status is Status.MET and expect.verdict is Verdict.VIOLATED else ""


def _held_back(result: Result) -> str:
    """What is not judged of graph properties, as only bounds stop it."""
    prospects = {each.name for each in result.spec.properties if isinstance(each, Prospect)}
    held: dict[str, list[str]] = {}
    for name, count in result.outcome.held_back.items():
        why = "possible only because a bound cuts a step" if name in prospects else "waits only because of bounds"
        held.setdefault(why, []).append(f"{name} in {counted(count, 'state')}")
    return "".join(f"; {why}: {', '.join(each)}" for why, each in held.items())


def _cut_short(outcome: Outcome) -> str:
    """What ended a search that had found a violation already."""
    match outcome.reason:
        case "":
            return ""
        case "interrupted":
            return "; then the search was interrupted"
        case reason if reason.startswith("depth"):
            return f"; the search ended at {reason}"
        case reason:
            return f"; then the search ran out of {reason}"


def _to_depth(result: Result) -> str:
    """What holds to a depth; a property of the graph does not, as it takes all states to be judged."""
    spec = result.spec
    rest = [each.name for each in spec.properties if isinstance(each, GraphProperty)]
    judged = [each.name for each in spec.properties if each.name not in rest]
    reason, expanded = result.outcome.reason, result.outcome.depth - 1
    holds = f"holds to {reason} within these bounds: {', '.join(judged)}" if judged else f"explored to {reason}"
    if spec.check_deadlock:  # no step is taken from the states of the last level
        holds += f"; {DEADLOCK} to depth {expanded}" if expanded >= 0 else f"; {DEADLOCK} is not judged"
    return f"{holds}; not judged, because not every state is known: {', '.join(rest)}" if rest else holds


def _protocol(spec: Spec) -> str:
    """The preset, if the model has any, and the toggles that the file sets."""
    toggles = (
        f"{key} {value if isinstance(value, str) else shown(value)}" for key, value in spec.file.protocol.items()
    )
    if not spec.file.preset:
        return ", ".join(toggles)
    spoken_for = f" (for Kafka {spec.release})" if spec.release else ""
    return ", ".join((f"{spec.file.preset}{spoken_for}", *toggles))


def _changed(spec: Spec) -> str:
    """What is other than the file says."""
    return f"  with {visible(', '.join(spec.changes))}" if spec.changes else ""


def bounds_line(result: Result) -> str:
    """What it came out within."""
    spec, outcome = result.spec, result.outcome
    bounds = ", ".join(f"{key} {value}" for key, value in spec.file.bounds.items())
    cuts = ", ".join(f"{key} {count:,}" for key, count in outcome.bounds_cut.items())
    if not cuts:
        return f"bounds  {bounds}; none of them cut a step"
    return f"bounds  {bounds}; steps cut: {cuts}"


def counts_line(outcome: Outcome) -> str:
    """What was explored, and how fast."""
    kept = f" ({outcome.stored_states:,} up to symmetry)" if outcome.stored_states != outcome.distinct_states else ""
    if outcome.by_order:
        kept += f" up to the order of {in_words(*outcome.by_order)}"
    rest = f"; {outcome.deadlocks:,} at rest" if outcome.deadlocks else ""
    stopped = f"; {outcome.stopped_at_bound:,} stopped by bounds only" if outcome.stopped_at_bound else ""
    rate = f", {short((outcome.distinct_states - outcome.restored) / max(outcome.search_seconds, 1e-9))} states/s"
    compiled = (
        f", {outcome.compiled_paths:,} paths compiled, {in_bytes(outcome.memory)}" if outcome.compiled_paths else ""
    )
    return (
        f"states  {outcome.distinct_states:,} distinct{kept}, {outcome.generated:,} generated, depth "
        f"{outcome.depth}{rest}{stopped}; "
        f"{outcome.search_seconds:.2f} s{rate}{compiled}{machine_code(outcome.compile_seconds)}"
    )


def work_line(work: Sequence[LevelWork]) -> str:
    """Where a search on Spark was done, in one line. After `--resume` these are the later levels only."""
    jobs = [each for each in work if each.tasks]
    alone = [each.level for each in work if each.rows and not each.tasks]
    since = f"from level {alone[0]} " if alone and alone[0] > 1 else ""
    driver = f"explored by the driver {since}up to level {alone[-1]}" if alone else ""
    if not jobs:
        why = "no level was large enough for executors, see --rows-worth-a-job"
        return f"spark  {driver}; {why}" if alone else f"spark  no level after level {work[0].level - 1}"
    rows, tasks = sum(each.rows for each in jobs), sum(each.tasks for each in jobs)
    on = counted(max(each.executors for each in jobs), "executor")
    return f"spark  {driver}{'; ' if driver else ''}{counted(rows, 'row')} by {counted(tasks, 'task')} on {on}"


def audit_line(audit: Audit) -> str:
    """What was judged twice."""
    return (
        f"audit  {counted(audit.states, 'state')} judged twice, and {audit.paths:,} of {audit.walked:,} walked paths "
        f"({audit.share:.0%})"
    )


def machine_code(seconds: float) -> str:
    """How long compiling took, if any kernel was compiled."""
    return f"; before that {seconds:.1f} s of compiling machine code, once on this machine" if seconds else ""


def trace_rows(system: System, trace: Sequence[Step], back_to: int | None = None) -> list[tuple[str, str, str, str]]:
    """A row per step: its number, who acts, the action with its arguments, and what changed; and one more that says how
    a lasso goes on.
    """
    rows = []
    for number, step in enumerate(trace):
        if step.action is None:
            rows.append((str(number), "", "initial state", system.domain.show(step.state) if len(trace) == 1 else ""))
        else:
            changed = "; ".join(map(str, changes(system.domain, trace[number - 1].state, step.state)))
            arguments = " ".join(f"{name}={value}" for name, value in step.action.shown.items())
            rows.append(
                (str(number), step.action.actor, f"{step.action.of.name} {arguments}".rstrip(), changed or "nothing")
            )
    return rows if back_to is None else [*rows, ("↺", "", goes_on(len(trace) - 1, back_to), "")]


def goes_on(last: int, back_to: int) -> str:
    """How a lasso goes on after its last step."""
    return "nothing, for ever" if back_to == last else f"step {back_to + 1} again, and so on for ever"


def trace_text(system: System, trace: Sequence[Step], back_to: int | None = None) -> list[str]:
    """A trace as plain lines, in columns."""
    rows = trace_rows(system, trace, back_to)
    widths = column_widths(rows)
    lines = [
        f"{number.rjust(widths[0])}  {actor.ljust(widths[1])}  {action.ljust(widths[2])}  {changed}".rstrip()
        for number, actor, action, changed in rows
    ]
    beside = [f"{' ' * widths[0]}  {words}" for words in abstract_steps(system, trace)]
    return [line for both in itertools.zip_longest(lines, beside) for line in both if line is not None]


def abstract_steps(system: System, trace: Sequence[Step]) -> list[str]:
    """What each step is in the abstract model, in words; nothing where no model is to be refined."""
    refines = refinement_in(system)
    return [f"{refines.model}  {step.words}" for step in refines.beside(trace)] if refines else []


def plain_text(result: Result) -> str:
    """A result in plain lines, with its trace."""
    from highwater.reports.reasons import reason

    lines = [verdict_line(result), *result.mismatches, bounds_line(result), counts_line(result.outcome)]
    if (violation := result.violation) is not None:
        lines += ["", *trace_text(result.spec.system(), violation.trace, violation.back_to)]
        lines.append(f"{violation.property} is false: {reason(result.spec.system(), violation)}")
    return "\n".join(lines)


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide the first three columns are."""
    return [max(len(row[column]) for row in rows) for column in range(3)]


def show_trace(
    console: Console,
    system: System,
    trace: Sequence[Step],
    back_to: int | None = None,
    numbers: Sequence[str] | None = None,
) -> None:
    """One line per step: number, who acts, the action, and what changed.

    Args:
        numbers: what to call the steps, such as the lines of a log that they explain; by their numbers if None.
    """
    rows = trace_rows(system, trace, back_to)
    if numbers is not None:
        rows = [(number, *row[1:]) for number, row in zip(numbers, rows, strict=True)]
    widths = column_widths(rows)
    beside = abstract_steps(system, trace)
    margin = 4 + widths[0] + 2
    fits = margin + sum(widths[1:]) + 4 + max(len(visible(row[3])) for row in rows) <= room_of(console)
    for place, (number, actor, action, changed) in enumerate(rows):
        line = Text("    ")
        line.append(number.rjust(widths[0]) + "  ", style="dim")
        line.append(visible(actor).ljust(widths[1]) + "  ", style="cyan")
        line.append(visible(action).ljust(widths[2]) + "  ", style="bold")
        line.append(visible(changed) if fits else "")
        line.rstrip()
        console.print(line)
        if changed and not fits:
            console.print(Text(f"{' ' * (margin + widths[1] + 2)}{visible(changed)}"))
        for words in beside[place : place + 1]:
            console.print(Text(f"    {' ' * widths[0]}  {visible(words)}", "dim"))


def show_state(console: Console, domain: Domain, state: Any, indent: str = "    ") -> None:
    """A state in full, a line per top-level part and per element of an array of records."""
    for (of, value), name in zip(domain.parts(state), domain.inside(), strict=True):
        places = None if of.shape is Shape.RECORD else of.paths(value, name)
        if places and all(element.shape is Shape.RECORD for element, _ in of.parts(value)):
            for (element, record), place in zip(of.parts(value), places, strict=True):
                console.print(Text(f"{indent}{place}", "bold"))
                for (part_of, part), field in zip(element.parts(record), element.inside(), strict=True):
                    console.print(Text(f"{indent}  {field}  {visible(part_of.show(part))}"))
        else:
            console.print(Text.assemble(indent, (name, "bold"), f"  {visible(of.show(value))}"))


def show_summary(console: Console, results: Iterable[Result], seconds: float) -> None:
    """The last line: how many claims came out, in how many seconds from first to last."""
    results = list(results)
    counts = {status: sum(result.status is status for result in results) for status in Status}
    parts = [Text(f"{count} {status.value}", _COLOURS[status]) for status, count in counts.items() if count]
    states = sum(result.outcome.distinct_states for result in results)
    claims = "claim" if len(results) == 1 else "claims"
    words = f"; {states:,} states in {seconds:.1f} s"
    console.print(Text.assemble(f"{len(results)} {claims}: ", Text(", ").join(parts), words))
