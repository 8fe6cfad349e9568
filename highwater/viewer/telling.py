"""From a trace to its story: what is drawn, what messages went where, what depends on what, and how that is called."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from explorer.analysis.causes import Causes, causes, instance_of, instances_of
from explorer.analysis.outlook import is_deadlock, outlook
from explorer.search.lassos import waiting
from explorer.system import ModelError, System, judge_end
from explorer.trace import changes, element_path
from explorer.verdict import DEADLOCK, Step, Violation
from highwater.claims.resolving import toggles_of
from highwater.reports.replaying import Subject
from highwater.viewer.drawings import drawing_of
from highwater.viewer.picture import Block, Drawing, Lane, Log, Picture
from highwater.viewer.story import (
    Arrow,
    Cell,
    Delivery,
    LookedAt,
    Meaning,
    Scene,
    Slot,
    Story,
    Strip,
    Telling,
    worth_telling,
)
from model.language.declarations import GraphProperty, Instance, Liveness, Prospect, Quantified
from model.language.definition import Model
from model.language.domain import ArrayOf, Maybe, Struct

LONGEST_VALUE = 80  # what is longer is told by what was added last


def in_words(table: Mapping[str, Any]) -> str:
    """A table of a report in one line."""
    return ", ".join(
        f"{key} {str(value).lower() if isinstance(value, bool) else value}" for key, value in table.items()
    )


def protocol_in_words(model: Model, protocol: Any, preset: Any = None) -> str:
    """The toggles of a protocol; of a model with presets, one of these and how it differs: the one named, or else the
    nearest.
    """
    toggles = toggles_of(protocol)
    differences = {name: _differing(toggles, toggles_of(preset)) for name, preset in model.presets.items()}
    if not differences:
        return in_words(toggles)
    # of several the newest
    nearest = min(reversed(differences), key=lambda name: (name != preset, len(differences[name])))
    return ", ".join(filter(None, (nearest, in_words(differences[nearest]))))


def bounds_in_words(bounds: Any) -> str:
    """The bounds but for those that are what they are where nothing is said."""
    defaults = {field.name: field.default for field in attrs.fields(type(bounds))}
    return in_words(_differing(attrs.asdict(bounds), defaults))


def _differing(table: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if others.get(key) != value}


def tell(
    entry: Mapping[str, Any],
    system: System,
    violation: Violation,
    *,
    subject: Subject | None = None,
    drawing: Drawing | None = None,
) -> Story:
    """The story of a counterexample.

    Args:
        entry: the report's entry.
        system, violation: as replayed.
        subject: what the entry speaks of; without it, only what was checked is followed along the trace.
        drawing: how states are drawn; as the catalogue says if None.
    """
    trace = violation.trace
    violated = instance_of(system, violation.property, violation.arguments, trace, violation.back_to)
    why, unexplained = None, ""
    try:
        if violated or violation.property == DEADLOCK:
            why = causes(system, trace, violated, violation.back_to)
        else:
            unexplained = "too many states lie ahead of the last one"
    except ModelError:  # a model that only plain Python can explore
        unexplained = "its functions cannot be traced"
    followed = other_properties(subject) if subject else ()
    drawing = drawing or drawing_of(system.domain.cls)
    telling = tell_steps(system, trace, drawing, violation.property, followed, why, violation.facts)
    if violated is not None and violation.back_to is not None:
        telling = _with_waiting(telling, violation.property, waiting(system, violated, trace, violation.back_to))
    return Story(
        title=str(entry.get("name", "")),
        entry=entry,
        system=system,
        violation=violation,
        **attrs.asdict(telling, recurse=False),
        protocol=protocol_in_words(subject.model, subject.protocol, entry.get("preset"))
        if subject
        else in_words(entry["protocol"]),
        bounds=bounds_in_words(subject.bounds) if subject else in_words(entry["bounds"]),
        unexplained=unexplained,
    )


def tell_steps(
    system: System,
    trace: Sequence[Step],
    drawing: Drawing,
    watched: str,
    followed: Sequence[Instance] = (),
    why: Causes | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Telling:
    """The scenes and messages of a trace.

    Args:
        watched: the property that the counterexample is about: where it is a prospect or `no_deadlock`, it is judged
            after each step, too.
        followed: instances of properties that were not checked.
        why, facts: where the trace ends in a violation, what depends on what, and what the witness speaks of.
    """
    pictures = _alike([drawing.draw(system.domain, step.state) for step in trace])
    lanes = tuple(pictures[0].lanes)
    arrows = tuple(_arrows(drawing, trace, pictures))
    instances = (*instances_of(system, watched), *system.invariants, *system.step_properties, *followed)
    looked_at = tuple(_looked_at(system, trace, why, lanes)) if why else ()
    offsets = frozenset(value for name, value in (facts or {}).items() if "offset" in name and isinstance(value, int))
    scenes = []
    for number, step in enumerate(trace):
        before, after = pictures[max(0, number - 1)], pictures[number]
        is_last = number == len(trace) - 1
        witnesses = {found.lane for found in worth_telling(looked_at)} if is_last else set()
        violated, unjudged = _judged(
            system, watched, instances, trace[number - 1].state if number else None, step.state
        )
        scenes.append(
            Scene(
                number=number,
                name=step.action.of.name if step.action else "",
                arguments=dict(step.action.shown) if step.action else {},
                actor=step.action.actor if step.action else "",
                lane=lane_of(drawing, step.action, trace[number - 1].state, lanes) if step.action else "",
                meaning=meaning_of(step.action.of)
                if step.action
                else Meaning("The initial state." if not number else ""),
                changes=tuple(changes(system.domain, trace[max(0, number - 1)].state, step.state)),
                reads=why.reads[number] if why else {},
                distance=why.distance.get(number) if why else None,
                cells={lane: _cell(lane, before, after, lane in witnesses, offsets) for lane in lanes},
                sent=tuple(arrow for arrow in arrows if arrow.sent == number),
                ended=tuple(arrow for arrow in arrows if arrow.ended == number),
                violated=violated,
                unjudged=unjudged,
            )
        )
    names = dict.fromkeys((watched, *(instance.of.name for instance in instances)))
    return Telling(
        drawing=drawing,
        lanes=lanes,
        scenes=tuple(scenes),
        arrows=arrows,
        properties=tuple(names),
        looked_at=looked_at,
    )


def _with_waiting(telling: Telling, name: str, steps: Collection[int]) -> Telling:
    """A telling in which a liveness property is false after the steps after which it waits for ever, and known to be
    so.
    """
    scenes = (
        attrs.evolve(
            scene,
            violated=scene.violated | {name} if scene.number in steps else scene.violated,
            unjudged=scene.unjudged - {name},
        )
        for scene in telling.scenes
    )
    return attrs.evolve(telling, scenes=tuple(scenes))


def other_properties(subject: Subject) -> list[Instance]:
    """Instances of the properties that speak of a subject's states and steps and were not checked."""
    checked = {instance.of.name for instance in (*subject.system.invariants, *subject.system.step_properties)}
    known: Iterable[Quantified] = subject.definition.known_properties
    wanted = (found for found in known if found.name not in checked and not isinstance(found, GraphProperty))
    return [each for found in wanted for each in found.instances(subject.bounds, subject.protocol)]


def lane_of(drawing: Drawing, action: Instance, before: Any, lanes: Sequence[str]) -> str:
    """The lane where an action happens: its actor's, or where the drawing says, or the first."""
    places = (action.actor, drawing.place(action, before), lanes[0])
    return next(place for place in places if place in lanes)


def meaning_of(documented: Any) -> Meaning:
    """The first line and the sections of a docstring."""
    text = inspect.getdoc(documented) or ""
    line, _, rest = text.partition("\n")
    sections: dict[str, str] = {}
    name = ""
    for piece in rest.splitlines():
        if match := re.match(r"([A-Z][a-z ]+): +(.*)", piece):
            name, sections[match[1]] = match[1], match[2]
        elif piece.strip() and name:
            sections[name] += " " + piece.strip()
        else:
            name = ""
    return Meaning(line, sections)


def _judged(
    system: System, watched: str, instances: Sequence[Instance], before: Any, after: Any
) -> tuple[frozenset[str], frozenset[str]]:
    """The properties that are false after a step, and those of which that takes the graph of all states to be
    judged.
    """
    unjudged = {each.of.name for each in instances if isinstance(each.of, Liveness)}
    instances = [each for each in instances if not isinstance(each.of, Liveness)]
    hopes = {each: outlook(system, each, after).lost for each in instances if isinstance(each.of, Prospect)}
    false = {
        each.of.name
        for each in instances
        if (hopes[each] if each in hopes else not judge_end(system, each, before, after))
    }
    if watched == DEADLOCK and is_deadlock(system, after):
        false.add(DEADLOCK)
    return frozenset(false), frozenset(
        unjudged | {each.of.name for each, lost in hopes.items() if lost is None}
    ) - false


def _looked_at(system: System, trace: Sequence[Step], why: Causes, lanes: Sequence[str]) -> Iterator[LookedAt]:
    """What the property looked at, the parts that changed last coming last."""
    values = dict(part_values(system.domain, trace[-1].state))
    for part, writers in sorted(why.looked_at.items(), key=lambda item: item[1][-1]):
        value, since = values.get(part, ""), writers[-1]
        if len(value) > LONGEST_VALUE and since:
            made = changes(system.domain, trace[since - 1].state, trace[since].state)
            value = next((f"… + {change.gained}" for change in made if change.path == part and change.gained), value)
        yield LookedAt(part, value, since, lane_of_part(part, lanes))


def lane_of_part(part: str, lanes: Sequence[str]) -> str:
    """The lane that a part of the state belongs to, by its name; the first where none is named."""
    return next((lane for lane in lanes if re.search(rf"(?<!\w){re.escape(lane)}(?!\w)", part)), lanes[0])


def part_values(domain: Any, value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The parts of a state as `explorer.trace.changes` names them, each with its value as shown."""
    match domain:
        case Struct(fields=fields):
            for name, of in fields.items():
                yield from part_values(of, getattr(value, name), f"{path}.{name}" if path else name)
        case ArrayOf(of=of):
            for i, element in enumerate(value):
                yield from part_values(of, element, element_path(domain, path, i))
        case Maybe(of=Struct() as of) if value is not None:
            yield from part_values(of, value, path)
        case _:
            yield path, domain.show(value)


def _alike(pictures: Sequence[Picture]) -> list[Picture]:
    """Pictures with the same lanes, whose logs have room for what the trace ever puts into them, and one more where
    bounds leave it.
    """
    names = dict.fromkeys(name for picture in pictures for name in picture.lanes)
    logs = [log for picture in pictures for lane in picture.lanes.values() for log in lane.logs]
    ends = {log.name: max(other.end for other in logs if other.name == log.name) for log in logs}

    def fitted(lane: Lane) -> Lane:
        fit = (attrs.evolve(log, room=max(log.end, min(ends[log.name] + 1, log.room)) - log.start) for log in lane.logs)
        return attrs.evolve(lane, logs=tuple(fit))

    return [
        attrs.evolve(picture, lanes={name: fitted(picture.lanes.get(name, Lane())) for name in names})
        for picture in pictures
    ]


def _arrows(drawing: Drawing, trace: Sequence[Step], pictures: Sequence[Picture]) -> Iterator[Arrow]:
    """Every message, in the order of sending; one that several lanes read gives an arrow for each."""
    flying: dict[Hashable, Arrow] = {}
    read: set[Hashable] = set()
    keys: list[Hashable] = []
    found: list[Arrow] = []
    for number, (step, picture) in enumerate(zip(trace, pictures, strict=True)):
        there = {message.key: message for message in picture.messages}
        if step.action:
            before = pictures[number - 1]
            for key, reader in drawing.received(step.action, trace[number - 1].state):
                if key in flying:
                    read.add(key)
                    found.append(_ended(flying[key], number, Delivery.READ, reader, before))
            for key in [key for key in flying if key not in there]:
                arrow = flying.pop(key)
                if key not in read:
                    delivery = Delivery.DROPPED if drawing.drops(step.action) else Delivery.READ
                    reader = arrow.message.receiver or lane_of(
                        drawing, step.action, trace[number - 1].state, tuple(picture.lanes)
                    )
                    found.append(_ended(arrow, number, delivery, reader, before))
                read.discard(key)
        for key, message in there.items():
            if key not in flying:
                flying[key] = Arrow(message, number)
                keys.append(key)
    found += [arrow for key, arrow in flying.items() if key not in read]
    yield from sorted(
        found, key=lambda arrow: (arrow.sent, keys.index(arrow.message.key), arrow.ended is None, arrow.ended)
    )


def _ended(arrow: Arrow, number: int, delivery: Delivery, reader: str, before: Picture) -> Arrow:
    epoch = arrow.message.epoch
    stale = epoch is not None and before.epoch is not None and epoch < before.epoch
    return attrs.evolve(arrow, ended=number, delivery=delivery, reader=reader, newest=before.epoch if stale else None)


def _cell(lane: str, before: Picture, after: Picture, is_witness: bool, offsets: frozenset[int]) -> Cell:
    old, new = before.lanes[lane], after.lanes[lane]
    changed = {f"badge {i}" for i, badge in enumerate(new.badges) if i >= len(old.badges) or old.badges[i] != badge}
    for olds, news in ((old.chips, new.chips), (old.facts, new.facts)):
        known = {item.name: item for item in olds}
        changed |= {item.name for item in news if known.get(item.name) != item}
        changed |= {f"no {name}" for name in known.keys() - {item.name for item in news}}
    if len(old.badges) > len(new.badges):
        changed.add("badges")
    logs = {log.name: log for log in old.logs}
    strips = tuple(
        _strip(lane, logs.get(log.name, log), log, after, offsets if is_witness else frozenset()) for log in new.logs
    )
    return Cell(new, strips, frozenset(changed), is_witness)


def _strip(lane: str, old: Log, new: Log, picture: Picture, offsets: frozenset[int]) -> Strip:
    slots = []
    for offset in range(min(old.start, new.start), max(new.end, old.end, new.start + new.room)):
        was, block = old.at(offset), new.at(offset)
        change = "" if was == block else "new" if block else "gone"
        slots.append(
            Slot(
                offset,
                block or was,
                new.high_watermark is None or offset < new.high_watermark,
                change,
                block is not None and _diverges(lane, new.name, offset, block, picture),
                offset in offsets,
            )
        )
    return Strip(new, tuple(slots), old.high_watermark != new.high_watermark, old.end != new.end)


def _diverges(lane: str, name: str, offset: int, block: Block, picture: Picture) -> bool:
    """Whether the true leader has another record at the offset, or any lane where there is no true leader."""
    others = [picture.leader] if picture.leader else [other for other in picture.lanes if other != lane]
    logs = (log for other in others for log in picture.lanes[other].logs if log.name == name)
    return any((theirs := log.at(offset)) is not None and theirs != block for log in logs)
