"""One schedule under two protocols: the steps of a counterexample tried again where some rule of the protocol is
another.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import attrs

from highwater.claims.changing import value_of
from highwater.claims.resolving import with_preset
from highwater.claims.tables import Wrong, did_you_mean
from highwater.explorer.system import Cut, System, taken
from highwater.explorer.trace import changes
from highwater.explorer.verdict import Step
from highwater.files import ReportError
from highwater.model.language.declarations import Instance
from highwater.model.language.picture import Drawing
from highwater.reports.replaying import Subject, replay, subject_of
from highwater.reports.results import as_data
from highwater.viewer.drawings import drawing_of
from highwater.viewer.showing import counterexample_of, shown_trace
from highwater.viewer.shown import Counterexample, ShownStep, ShownTrace
from highwater.viewer.wording import in_words, protocol_in_words

MOST_NAMED = 3  # toggles that differ; where more do, the protocol's name says it better


class StepOutcome(Enum):
    """What a step of the schedule does under the other protocol."""

    SAME = "same"
    DIFFERS = "differs"
    NOT_ENABLED = "not enabled"
    CUT = "cut by bounds"
    UNKNOWN = "no such action"


@attrs.frozen
class Row:
    """One step of the schedule under both protocols.

    Attributes:
        outcome: what it does under the other protocol.
        ours, theirs: the step under the protocol of the counterexample, and under the other. A step that does not
            happen changes nothing.
        action: what stands for the step under the other protocol, where it has another name.
        differences: how the states after the step differ.
    """

    outcome: StepOutcome
    ours: ShownStep
    theirs: ShownStep
    action: str
    differences: tuple[str, ...]


@attrs.frozen
class Comparison:
    """A schedule under two protocols.

    Attributes:
        ours, theirs: under its own protocol, and under the other.
        property: the one that the schedule is about.
        protocol: the other protocol in words.
        difference: what of it is different.
        rows: a step each, the initial states first.
        first: the first step that is not the same; None where all are.
    """

    ours: Counterexample
    theirs: ShownTrace
    property: str
    protocol: str
    difference: str
    rows: tuple[Row, ...]
    first: int | None

    @builtins.property
    def summary(self) -> str:
        """The result in one sentence."""
        name = self.property
        if not name:
            return f"{self._first_difference}."
        broken = name in self.rows[-1].theirs.violated
        ever = next((row.theirs.number for row in self.rows if name in row.theirs.violated), None)
        end = f"{name} holds after every step"
        if any(name in row.theirs.unjudged for row in self.rows):
            end = f"{name} was not judged: it needs the graph of all states"
        elif ever is not None:
            end = f"{name} is false all the same" if broken else f"{name} is false after step {ever}"
        return f"{self._first_difference}; {end}."

    @builtins.property
    def _first_difference(self) -> str:
        if self.first is None:
            return f"Every step is the same with {self.difference}"
        what = {
            StepOutcome.DIFFERS: "is the first to do something else",
            StepOutcome.NOT_ENABLED: "is the first that is not enabled",
            StepOutcome.CUT: "is the first that the bounds cut",
            StepOutcome.UNKNOWN: "is the first that has no counterpart",
        }[self.rows[self.first].outcome]
        return f"With {self.difference}, step {self.first} {what}"


def compare(entry: Mapping[str, Any], against: Sequence[str]) -> Comparison:
    """Replay a counterexample's schedule under another protocol.

    Args:
        entry: a report's entry with a trace.
        against: what is different, such as `protocol.variant=kip-279` or `preset=kafka-2.1`.

    Raises:
        ReportError: the trace does not replay, or there is no such protocol.
    """
    system, violation = replay(entry)
    subject = subject_of(entry)
    counterexample = counterexample_of(entry, system, violation, subject=subject)
    return compared(subject, counterexample, violation.trace, against)[0]


def compared(
    subject: Subject, ours: Counterexample, trace: Sequence[Step], against: Sequence[str]
) -> tuple[Comparison, Subject, list[Step]]:
    """Try the steps of a trace under another protocol.

    Returns:
        The comparison, what was tried under the other protocol, and the steps that happened there; one that did not
        has no action.

    Raises:
        ReportError: there is no such protocol.
    """
    entry, system, name = ours.entry, subject.system, ours.violation.property
    other, toggles = _other(entry, subject, against)
    if other.definition.state is not subject.definition.state:
        raise ReportError(
            f"--against: {in_words(toggles)} has states of another kind ({other.definition.state.__name__}); nothing "
            "to compare"
        )
    drawing = drawing_of(system, subject.model)
    steps, outcomes = _schedule(other.system, drawing, trace)
    shown = shown_trace(other.system, steps, name, subject=other)
    rows = tuple(
        Row(
            outcome,
            ours,
            theirs,
            theirs.name if theirs.name not in ("", ours.name) else "",
            _differences(system, a.state, b.state),
        )
        for outcome, ours, theirs, a, b in zip(outcomes, ours.steps, shown.steps, trace, steps, strict=True)
    )
    first = next((number for number, row in enumerate(rows) if row.outcome is not StepOutcome.SAME), None)
    toggles = as_data(subject.protocol)
    difference = {key: value for key, value in as_data(other.protocol).items() if toggles.get(key) != value}
    named = next((text.partition("=")[2].strip() for text in against if text.startswith("preset")), entry.get("preset"))
    words = protocol_in_words(other.model, other.protocol, named)
    different = words if len(difference) > MOST_NAMED else in_words(difference) or "the same protocol"
    return Comparison(ours, shown, name, words, different, rows, first), other, steps


def _other(entry: Mapping[str, Any], subject: Subject, against: Sequence[str]) -> tuple[Subject, dict[str, Any]]:
    """The subject of an entry under the other protocol."""
    model = subject.model
    allowed = [f"protocol.{field.name}" for field in attrs.fields(model.protocol)] + (
        ["preset"] if model.presets else []
    )
    given: dict[str, Any] = {}
    preset = None
    for text in against:
        key, equals, value = text.partition("=")
        key = key.strip()
        key = f"protocol.{key}" if f"protocol.{key}" in allowed else key  # nothing else has a toggle's name
        if not equals or key not in allowed:
            hint = did_you_mean(key, allowed) if equals else ""
            raise ReportError(
                f"--against: {text!r} is not KEY=VALUE with a key of this model{hint}; allowed keys are "
                f"{', '.join(allowed)}"
            )
        if key == "preset":
            preset = value.strip()
        else:
            given[key.removeprefix("protocol.")] = value_of(value)
    try:
        toggles = {**entry["protocol"], **given} if preset is None else with_preset(model, preset, given)
        return subject_of({**entry, "protocol": toggles}, model), toggles
    except Wrong as wrong:
        raise ReportError("\n".join(f"--against: {problem}" for problem in wrong.problems)) from None


def _schedule(system: System, drawing: Drawing, trace: Sequence[Step]) -> tuple[list[Step], list[StepOutcome]]:
    """The schedule under another protocol. Steps that do not happen are skipped."""
    steps, outcomes = [Step(None, trace[0].state)], [StepOutcome.SAME]
    if trace[0].state not in system.initial:
        steps, outcomes = [Step(None, system.initial[0])], [StepOutcome.DIFFERS]
    for number, step in enumerate(trace[1:], 1):
        state = steps[-1].state
        action = _counterpart(system, drawing, step.taken)
        after = taken(system, action, state) if action else None
        if after is None or isinstance(after, Cut):
            steps.append(Step(None, state))
            outcomes.append(
                StepOutcome.UNKNOWN if action is None else StepOutcome.NOT_ENABLED if after is None else StepOutcome.CUT
            )
        else:
            steps.append(Step(action, after))
            ours = changes(system.domain, trace[number - 1].state, step.state)
            outcomes.append(StepOutcome.SAME if changes(system.domain, state, after) == ours else StepOutcome.DIFFERS)
    return steps, outcomes


def _counterpart(system: System, drawing: Drawing, action: Instance) -> Instance | None:
    """The action of the same name and arguments, or one that stands for it under this protocol."""
    same = next((names for names in drawing.counterparts if action.of.name in names), frozenset())
    fitting = [other for other in system.actions if dict(other.shown) == dict(action.shown)]
    named = (other for names in ({action.of.name}, same) for other in fitting if other.of.name in names)
    return next(named, None)


def _differences(system: System, ours: Any, theirs: Any) -> tuple[str, ...]:
    return tuple(
        f"{change.path}: {change.before} here, {change.after} there" for change in changes(system.domain, ours, theirs)
    )
