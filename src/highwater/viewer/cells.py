"""What each lane shows after each step, and the messages between lanes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import attrs

from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Instance
from highwater.model.language.picture import Badge, Block, Drawing, Fact, Lane, Log, NameSet, Picture
from highwater.viewer.shown import Arrow, Cell, Delivery, ShownLog, ShownOffset


def lane_of(drawing: Drawing, action: Instance, before: Any, lanes: Sequence[str]) -> str:
    """The lane where an action happens: its actor's, or where the drawing says, or the first."""
    places = (action.actor, drawing.place(action, before), lanes[0])
    return next(place for place in places if place is not None and place in lanes)


def lane_of_part(part: str, since: int, pictures: Sequence[Picture]) -> str:
    """The lane that a part of the state belongs to, by its name; where none is named, the only one that changed in the
    step which last wrote the part, or the first one.
    """
    before, after = pictures[max(0, since - 1)].lanes, pictures[since].lanes
    changed = [lane for lane in after if before[lane] != after[lane]]
    named = (lane for lane in after if re.search(rf"(?<!\w){re.escape(lane)}(?!\w)", part))
    return next(named, changed[0] if len(changed) == 1 else next(iter(after)))


def pictures_alike(pictures: Sequence[Picture]) -> list[Picture]:
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


def arrows_of(drawing: Drawing, trace: Sequence[Step], pictures: Sequence[Picture]) -> Iterator[Arrow]:
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


def cell_of(
    lane: str, before: Picture, after: Picture, offsets: frozenset[int] = frozenset(), *, is_witness: bool = False
) -> Cell:
    old, new = before.lanes[lane], after.lanes[lane]
    changed = {f"badge {i}" for i, badge in enumerate(new.badges) if i >= len(old.badges) or old.badges[i] != badge}
    gone: list[Badge | NameSet | Fact] = []
    if len(old.badges) > len(new.badges):
        gone += [badge for badge in old.badges if badge.text not in {other.text for other in new.badges}]
    for olds, news in ((old.name_sets, new.name_sets), (old.facts, new.facts)):
        known = {item.name: item for item in olds}
        changed |= {item.name for item in news if known.get(item.name) != item}
        gone += [item for item in olds if item.name not in {other.name for other in news} and not item.blank]
    before_it = {log.name: log for log in old.logs}
    marked = offsets if is_witness else frozenset()
    logs = tuple(_shown_log(lane, before_it.get(log.name, log), log, after, marked) for log in new.logs)
    return Cell(new, logs, frozenset(changed), tuple(gone), is_witness)


def _shown_log(lane: str, old: Log, new: Log, picture: Picture, marked: frozenset[int]) -> ShownLog:
    shown = []
    for offset in range(min(old.start, new.start), max(new.end, old.end, new.start + new.room)):
        was, block = old.at(offset), new.at(offset)
        shown.append(
            ShownOffset(
                offset,
                block or was,
                committed=new.high_watermark is None or offset < new.high_watermark,
                change="" if was == block else "new" if block else "gone",
                diverges=block is not None and _diverges(lane, new.name, offset, block, picture),
                is_witness=offset in marked,
            )
        )
    return ShownLog(new, tuple(shown), old.high_watermark != new.high_watermark, old.end != new.end)


def _diverges(lane: str, name: str, offset: int, block: Block, picture: Picture) -> bool:
    """Whether the true leader has another record at the offset, or any lane where there is no true leader."""
    others = [picture.leader] if picture.leader else [other for other in picture.lanes if other != lane]
    logs = (log for other in others for log in picture.lanes[other].logs if log.name == name)
    return any((theirs := log.at(offset)) is not None and theirs != block for log in logs)
