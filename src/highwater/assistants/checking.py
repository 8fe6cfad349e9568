"""A spec checked within a budget, and its counterexample in words."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from highwater.assistants.contract import (
    Answered,
    a_number,
    a_text,
    fitting,
    seconds,
    short,
    tool,
)
from highwater.assistants.place import LONGEST_NAME, OfSpec, Place
from highwater.claims.checking import Engine, Result
from highwater.claims.checking import check_spec as explored
from highwater.claims.raising import unproven
from highwater.claims.tables import Wrong
from highwater.explorer.verdict import Budget, Progress, Verdict
from highwater.reports.listing import claimed
from highwater.reports.reasons import reason
from highwater.reports.replaying import only_entry, replay, subject_of
from highwater.reports.results import entry_of
from highwater.reports.terminal import goes_on, whole_verdict
from highwater.viewer.showing import counterexample_of
from highwater.viewer.shown import Counterexample, ShownStep
from highwater.viewer.wording import meaning_of
from highwater.visible import counted, visible

STATES, MOST_STATES = 2_000_000, 50_000_000
AT_ONCE = 2
"""Searches that the server runs at the same time, and that share the machine's memory."""

SECONDS_BETWEEN_PROGRESS = 0.5


@attrs.frozen(kw_only=True)
class AskedCheck(OfSpec):
    """What to check, and for how long."""

    seconds: int = seconds()
    states: int = a_number(STATES, 1, MOST_STATES, "states after which the search is ended")


@attrs.frozen
class Checked:
    """What came out.

    Attributes:
        verdict: holds (every state within the bounds was seen), violated, holds-to-depth, or unknown: a budget ran
            out, and nothing is known of the states that were not seen.
        words: the verdict in words.
        claims: what the spec claims; that all holds if it has no expectation.
        status: whether the claim is met: met, unmet, or undecided.
        mismatches: of an unmet claim, each difference.
        states: how many distinct states were seen.
        depth: how many steps deep.
        bounds_cut: how many steps each bound cut; beyond the bounds nothing is known.
        warnings: what limits the verdict: what was never enabled, what is true because its premise never is,
            and which bound to raise first.
        property: what is violated, or null.
        why: why it is false at the end of the counterexample, or null.
        steps: how many steps the counterexample has, or null.
        counterexample: its name for explain_counterexample and the tools that step, or null. The server keeps the last
            few, for as long as it runs.
    """

    verdict: str
    words: str
    claims: str
    status: str
    mismatches: tuple[str, ...]
    states: int
    depth: int
    bounds_cut: dict[str, int]
    warnings: tuple[str, ...]
    property: str | None
    why: str | None
    steps: int | None
    counterexample: str | None


@tool(AskedCheck, Checked)
def check_spec(asked: AskedCheck, place: Place) -> Answered:
    """Check a spec exhaustively within its bounds, as `highwater check` does: every reachable state is explored, until
    the seconds or the states run out. "holds" is a proof within the bounds; "unknown" is none. Of a violation there is
    a shortest counterexample, which explain_counterexample puts in words.
    """
    spec = place.spec_of(asked)
    budget = Budget(max_states=asked.states, sharers=AT_ONCE)
    result = explored(spec, Engine.LOCAL, budget, on_progress=_now_and_then(place))
    found, outcome = result.violation, result.outcome
    made = Checked(
        verdict=outcome.verdict.value,
        words=short(_words(asked, result)),
        claims=claimed(spec),
        status=result.status.value,
        mismatches=_some(result.mismatches),
        states=outcome.distinct_states,
        depth=outcome.depth,
        bounds_cut=dict(outcome.bounds_cut),
        warnings=_some(_warnings(result)),
        property=found.property if found else None,
        why=short(visible(reason(spec.system(), found))) if found else None,
        steps=found.trace_length if found else None,
        counterexample=None,
    )
    return Answered(made, entry_of(result) if found else None)


def _now_and_then(place: Place) -> Any:
    reported_at = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal reported_at
        if time.monotonic() - reported_at >= SECONDS_BETWEEN_PROGRESS:
            reported_at = time.monotonic()
            place.report({"states": progress.stored_states, "depth": progress.depth})

    return report


def _words(asked: AskedCheck, result: Result) -> str:
    outcome = result.outcome
    if outcome.verdict is not Verdict.UNKNOWN:
        return whole_verdict(result)
    why = {
        "interrupted": f"{counted(asked.seconds, 'second')} ran out",  # by nothing else is it interrupted
        "max-states": f"{counted(asked.states, 'state')} are stored",
    }
    return _unknown(why.get(outcome.reason, f"{outcome.reason} ran out"), outcome.distinct_states, outcome.depth)


def _unknown(why: str, states: int, depth: int) -> str:
    return f"unknown, {why}: so far {counted(states, 'state')}, {counted(depth, 'step')} deep, and no violation found"


def out_of_time(asked: AskedCheck, so_far: Mapping[str, int], why: str) -> Checked:
    """What is known of a check whose process had to be ended.

    Args:
        so_far: the last progress that it reported.
        why: why it was ended.
    """
    states, depth = so_far.get("states", 0), so_far.get("depth", 0)
    nothing: Any = dict.fromkeys(("property", "why", "steps", "counterexample"))
    return Checked("unknown", _unknown(why, states, depth), "", "undecided", (), states, depth, {}, (), **nothing)


def _warnings(result: Result) -> Iterable[str]:
    outcome = result.outcome
    yield from outcome.warnings
    never = [name for name, count in outcome.enabled.items() if not count]
    if never and outcome.verdict is Verdict.HOLDS:
        yield f"never enabled: {', '.join(never)}"
    yield from (f"vacuous: {name}: {why}" for name, why in outcome.vacuous.items())
    if found := unproven(result.spec, outcome):
        yield str(found)


def _some(lines: Iterable[str]) -> tuple[str, ...]:
    taken, after = fitting([short(visible(line), 600) for line in lines], room=1_500)
    return taken if after is None else (*taken, "there is more: highwater check shows all")


@attrs.frozen(kw_only=True)
class AskedExplanation:
    """Which counterexample."""

    counterexample: str = a_text(
        LONGEST_NAME, "its name in an answer of check_spec, or a report below the folder that highwater check wrote"
    )
    claim: str = a_text(LONGEST_NAME, "of a report with several counterexamples, which claim")
    offset: int = a_number(0, 0, 100_000, "how many steps to leave out first: next_offset of the answer before")


@attrs.frozen
class ExplainedStep:
    """A step.

    Attributes:
        number: 1 is the first after the initial state.
        actor: who acts.
        action: its name, with arguments.
        means: what the action is.
        changed: what it changed in the state.
        matters: whether the violation depends on it; null if that is not known.
        false: properties that are false after it.
    """

    number: int
    actor: str
    action: str
    means: str
    changed: str
    matters: bool | None
    false: tuple[str, ...]


@attrs.frozen
class Explained:
    """A counterexample in words.

    Attributes:
        property: what is false in the end.
        means: what the property demands.
        why: why it is false.
        length: the number of steps.
        goes_on: of a lasso, how it goes on for ever; else empty.
        protocol: the rules under which it happens.
        bounds: the bounds within which it was found.
        steps: in order.
        next_offset: to go on from; null if these were the last.
    """

    property: str
    means: str
    why: str
    length: int
    goes_on: str
    protocol: str
    bounds: str
    steps: tuple[ExplainedStep, ...]
    next_offset: int | None


@tool(AskedExplanation, Explained)
def explain_counterexample(asked: AskedExplanation, place: Place) -> Explained:
    """Explain a counterexample in words: what is false in the end and why, and step by step who did what, what that
    means in Kafka, what it changed, and whether the violation depends on it. Every step is executed again first.
    """
    entry = entry_named(asked.counterexample, asked.claim, place)
    system, violation = replay(entry)
    found = counterexample_of(entry, system, violation, subject=subject_of(entry))
    idle = {step.number for step in found.idle}
    known = bool(violation.property) and not found.unexplained
    steps = [_explained(found, each, matters=each.number not in idle if known else None) for each in found.steps[1:]]
    taken, after = fitting(steps, asked.offset)
    last = len(violation.trace) - 1
    return Explained(
        property=violation.property,
        means=_meaning(system, violation.property),
        why=short(visible(reason(system, violation))),
        length=last,
        goes_on="" if violation.back_to is None else goes_on(last, violation.back_to),
        protocol=short(found.protocol),
        bounds=short(found.bounds),
        steps=taken,
        next_offset=after,
    )


def entry_named(name: str, claim: str, place: Place) -> Mapping[str, Any]:
    """The entry of a counterexample in a report.

    Raises:
        Wrong: there is none of that name.
        ReportError: the file is no report, or holds no such counterexample.
    """
    if (kept := place.entry(name)) is not None:
        return kept
    path = place.inside(name, "counterexample")
    if path.suffix.lower() not in (".json", ".html"):
        raise Wrong(f"counterexample: {name} is neither c1 or the like, nor a report (.json) or a page (.html)")
    return only_entry(path, claim or None)


def _meaning(system: Any, name: str) -> str:
    found = next((each.of for each in system.properties if each.of.name == name), None)
    return short(meaning_of(found).line) if found is not None else ""


def _explained(found: Counterexample, step: ShownStep, *, matters: bool | None) -> ExplainedStep:
    return ExplainedStep(
        number=step.number,
        actor=visible(step.actor),
        action=visible(f"{step.name} {step.shown_arguments}".rstrip()),
        means=short(step.meaning.line, 300),
        changed=short(visible("; ".join(map(str, step.changes)) or "nothing"), 600),
        matters=matters,
        false=tuple(found.false_after(step)),
    )
