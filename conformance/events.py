"""What happened to a partition: its own records, and those of the brokers that had a replica of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs

from highwater.conformance.controller_image import Brokers, Move, Recorded
from highwater.model.kraft.partition import PartitionRegistration

DELETED = "delete_topic"


@attrs.frozen
class Event:
    """What one batch of metadata records did to a partition, or to a broker that has a replica of it.

    Attributes:
        offset, time: of the batch, the time in milliseconds since 1970.
        records: the types of the records that concern it.
        registration: the partition after it.
        steps: the controller's decisions; None if no decision makes these records.
        brokers: how the controller sees and saw them.
        preset: whose rules were tried.
        beside: what more there is, such as what is missing.
    """

    offset: int
    time: int
    records: tuple[str, ...]
    registration: PartitionRegistration
    steps: tuple[str, ...] | None
    brokers: Brokers = attrs.field(repr=False, eq=False)
    preset: str
    beside: str = ""

    @property
    def after(self) -> Recorded:
        """The controller's record after it."""
        replicas = self.registration.replicas
        return Recorded(self.registration, {each: self.brokers.standing_at(each, self.offset) for each in replicas})


def together(one: Event, other: Event) -> Event:
    """Two records of one batch."""
    steps = None if one.steps is None or other.steps is None else tuple(dict.fromkeys((*one.steps, *other.steps)))
    beside = "; ".join(filter(None, dict.fromkeys((one.beside, other.beside))))
    return attrs.evolve(other, records=(*one.records, *other.records), steps=steps, beside=beside)


def with_moves(events: Sequence[Event], brokers: Brokers) -> Iterator[Event]:
    """The events of a partition, and what the controller recorded of brokers that had a replica of it then."""
    for event, following in itertools.zip_longest(events, events[1:]):
        if DELETED in (event.steps or ()):
            yield event
            continue
        moves: dict[int, list[Move]] = {}
        for broker in event.registration.replicas:
            for move in brokers.moves.get(broker, ()):
                if event.offset <= move.offset and (following is None or move.offset < following.offset):
                    moves.setdefault(move.offset, []).append(move)
        yield _moved(event, moves.pop(event.offset, []) if event.records else [])
        for offset, some in sorted(moves.items()):
            if event.records or offset != event.offset:
                yield _moved(
                    attrs.evolve(event, offset=offset, time=some[0].time, records=(), steps=(), beside=""), some
                )


def _moved(event: Event, moves: Sequence[Move]) -> Event:
    """An event with what its batch records of brokers."""
    if not moves:
        return event
    steps = None if event.steps is None else tuple(dict.fromkeys((*event.steps, *(each.step for each in moves))))
    return attrs.evolve(event, records=(*event.records, *(each.record for each in moves)), steps=steps)
