"""From the steps of a trace to a `ShownTrace`, and from a violation to a `Counterexample`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

import attrs

from highwater.explorer.analysis.causes import Causes, causes, instance_of, instances_of
from highwater.explorer.blame import ModelError
from highwater.explorer.outlook import is_deadlock, outlook
from highwater.explorer.search.graph_properties.lassos import waiting
from highwater.explorer.system import System, judge_end
from highwater.explorer.trace import changes
from highwater.explorer.verdict import DEADLOCK, Step, Violation
from highwater.model.language.declarations import Instance, Quantified
from highwater.model.language.graph_properties import GraphProperty, Liveness, Prospect
from highwater.model.language.picture import Drawing
from highwater.reports.reasons import read_by_property
from highwater.reports.replaying import Subject
from highwater.viewer.abstract import with_abstract
from highwater.viewer.cells import arrows_of, cell_of, lane_of, lane_of_part, pictures_alike
from highwater.viewer.drawings import drawing_of, drawn
from highwater.viewer.shown import Counterexample, LookedAt, Meaning, ShownStep, ShownTrace, worth_showing
from highwater.viewer.wording import meaning_of, settings_in_words


def counterexample_of(
    entry: Mapping[str, Any],
    system: System,
    violation: Violation,
    *,
    subject: Subject | None = None,
    drawing: Drawing | None = None,
) -> Counterexample:
    """A counterexample as it is shown.

    Args:
        entry: the report's entry.
        system, violation: as replayed.
        subject: what the entry speaks of; without it, only what was checked is followed along the trace.
        drawing: how states are drawn; as the model says if None.
    """
    trace = violation.trace
    violated = instance_of(system, violation.property, violation.arguments, trace, violation.back_to)
    why, unexplained = None, ""
    try:
        if not violation.property:
            unexplained = "no property is known to be false at the end"
        elif violated or violation.property == DEADLOCK:
            why = causes(system, trace, violated, violation.back_to)
        else:
            unexplained = "too many states lie ahead of the last one"
    except ModelError:  # a model that only plain Python can explore
        unexplained = "its functions cannot be traced"
    shown = shown_trace(
        system, trace, violation.property, subject=subject, drawing=drawing, why=why, facts=violation.facts
    )
    protocol, bounds = settings_in_words(entry, subject)
    if violated is not None and violation.back_to is not None:
        shown = _with_waiting(
            shown, violation.property, waiting(system, cast("Instance[Liveness]", violated), trace, violation.back_to)
        )
    return Counterexample(
        title=str(entry.get("name", "")),
        entry=entry,
        system=system,
        violation=violation,
        **attrs.asdict(shown, recurse=False),
        protocol=protocol,
        bounds=bounds,
        unexplained=unexplained,
    )


def shown_trace(
    system: System,
    trace: Sequence[Step],
    about: str = "",
    *,
    subject: Subject | None = None,
    drawing: Drawing | None = None,
    why: Causes | None = None,
    facts: Mapping[str, Any] | None = None,
) -> ShownTrace:
    """The steps and messages of a trace.

    Args:
        about: the property that the counterexample is about: where it is a prospect or `no_deadlock`, it is judged
            after each step, too.
        subject: what the trace is of; its other properties are followed along the trace, and what it watches.
        drawing: how states are drawn; as the model says if None.
        why, facts: where the trace ends in a violation, what depends on what, and what the witness speaks of.
    """
    drawing = drawing or drawing_of(system, subject.model if subject else None)
    followed = other_properties(subject) if subject else ()
    watch = subject.watch if subject else ()
    pictures = pictures_alike(with_abstract(system, trace, drawn(drawing, system, trace)))
    lanes = tuple(pictures[0].lanes)
    arrows = tuple(arrows_of(drawing, trace, pictures))
    instances = (*instances_of(system, about), *system.safety, *followed)
    read = read_by_property(system, trace, why) if why else ()
    looked_at = tuple(
        LookedAt(each.part, each.value, each.since, lane_of_part(each.part, each.since, pictures)) for each in read
    )
    offsets = frozenset(value for name, value in (facts or {}).items() if "offset" in name and isinstance(value, int))
    steps = []
    for number, step in enumerate(trace):
        before, after = pictures[max(0, number - 1)], pictures[number]
        is_last = number == len(trace) - 1
        witnesses = {found.lane for found in worth_showing(looked_at)} if is_last else set()
        violated, unjudged = _judged(system, about, instances, trace[number - 1].state if number else None, step.state)
        steps.append(
            ShownStep(
                number=number,
                name=step.action.of.name if step.action else "",
                arguments=dict(step.action.shown) if step.action else {},
                actor=step.action.actor if step.action else "",
                lane=lane_of(drawing, step.action, trace[number - 1].state, lanes) if step.action else "",
                meaning=meaning_of(step.action.of) if step.action else Meaning("" if number else "The initial state."),
                changes=tuple(changes(system.domain, trace[max(0, number - 1)].state, step.state)),
                reads=why.reads[number] if why else {},
                distance=why.distance.get(number) if why else None,
                cells={lane: cell_of(lane, before, after, offsets, is_witness=lane in witnesses) for lane in lanes},
                sent=tuple(arrow for arrow in arrows if arrow.sent == number),
                ended=tuple(arrow for arrow in arrows if arrow.ended == number),
                violated=violated,
                unjudged=unjudged,
                watched={each.text: each.shown(step.state) for each in watch},
            )
        )
    checked = system.properties
    names = dict.fromkeys(filter(None, (about, *(instance.of.name for instance in instances))))
    return ShownTrace(
        drawing=drawing,
        lanes=lanes,
        steps=tuple(steps),
        arrows=arrows,
        properties=tuple(names),
        watch=tuple(each.text for each in watch),
        checked=frozenset(filter(None, (about, *(each.of.name for each in checked)))),
        looked_at=looked_at,
    )


def _with_waiting(shown: ShownTrace, name: str, waits: Collection[int]) -> ShownTrace:
    """The trace with a liveness property judged: false after the steps after which it waits for ever."""
    steps = (
        attrs.evolve(
            step,
            violated=step.violated | {name} if step.number in waits else step.violated,
            unjudged=step.unjudged - {name},
        )
        for step in shown.steps
    )
    return attrs.evolve(shown, steps=tuple(steps))


def other_properties(subject: Subject) -> list[Instance]:
    """Instances of the properties that speak of a subject's states and steps and were not checked."""
    checked = {instance.of.name for instance in subject.system.safety}
    known: Iterable[Quantified] = subject.definition.known_properties
    wanted = (found for found in known if found.name not in checked and not isinstance(found, GraphProperty))
    return [each for found in wanted for each in found.instances(subject.bounds, subject.protocol)]


def _judged(
    system: System, about: str, instances: Sequence[Instance], before: Any, after: Any
) -> tuple[frozenset[str], frozenset[str]]:
    """The properties that are false after a step, and those of which that takes the graph of all states to be
    judged.
    """
    unjudged = {each.of.name for each in instances if isinstance(each.of, Liveness)}
    instances = [each for each in instances if not isinstance(each.of, Liveness)]
    hopes = {
        each: outlook(system, cast("Instance[Prospect]", each), after).lost
        for each in instances
        if isinstance(each.of, Prospect)
    }
    holds = {each: is_true(system, each, before, after) for each in instances if each not in hopes}
    holds |= {each: None if lost is None else not lost for each, lost in hopes.items()}
    false = {each.of.name for each, found in holds.items() if found is False}
    if about == DEADLOCK and is_deadlock(system, after):
        false.add(DEADLOCK)
    return frozenset(false), frozenset(
        unjudged | {each.of.name for each, found in holds.items() if found is None}
    ) - false


def is_true(system: System, each: Instance, before: Any, after: Any) -> bool | None:
    """Whether a property of states or steps is true at a step's end; None where that is not known, as it raises there.

    Raises:
        ModelError: it raises, and was checked.
    """
    try:
        return bool(judge_end(system, each, before, after))
    except ModelError:
        if each in system.safety:
            raise
        return None
