"""The leader epochs that brokers have begun, in the history that the metadata log has, and held against it.

A broker that is paused misses elections. That is legal, and a remark. If it led before and leads again, releases from
0.9.0.0 to 4.4.0 take it for a leader that never stopped: docs/findings.md.

Source: kafka.cluster.Partition#makeLeader (3.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from highwater.conformance.controller_image import Recorded
from highwater.conformance.disk import Finding
from highwater.conformance.events import DELETED, Event
from highwater.conformance.state_changes import Learned


@attrs.frozen
class Remark:
    """Something that is not wrong, and that one should know.

    Attributes:
        name: of what it is, such as `missed_election`.
        partition: such as `t-0`.
        where: file and line.
        words: what happened.
    """

    name: str
    partition: str
    where: str
    words: str


def place(learned: Iterable[Learned], events: Sequence[Event]) -> list[Learned]:
    """What brokers have learned of a partition, each behind the change that it has learned: by epochs, not by clocks.

    Of the same epochs, the leader's line comes first.
    """
    reached: dict[int, int] = {}
    placed = []
    for each in learned:
        behind = reached[each.broker] = _behind(each, events, reached.get(each.broker, 0))
        placed.append(attrs.evolve(each, behind=behind, missed=tuple(_missed(each, events, behind))))
    return sorted(placed, key=lambda each: (each.behind, _epochs(each), not each.leads, each.broker))


def _behind(learned: Learned, events: Sequence[Event], least: int) -> int:
    """The first change from one on that has the same epochs, and the same leader if one has; else the last that has no
    later ones. Of several topics of one name each begins with the same epochs.
    """
    epochs = _epochs(learned)
    alike = [number for number, event in enumerate(events) if _epochs(event.after) == epochs]
    same = [number for number in alike if events[number].after.leader == learned.leader] or alike
    earlier = (number for number, event in enumerate(events) if _epochs(event.after) <= epochs)
    return next((number for number in same if number >= least), same[0] if same else max(earlier, default=-1))


def _epochs(of: Learned | Recorded) -> tuple[int, int]:
    return of.leader_epoch, of.partition_epoch


def _missed(learned: Learned, events: Sequence[Event], behind: int) -> Iterator[tuple[int, int | None]]:
    """The leader epochs between the leader's previous one and this one, with their leaders."""
    if learned.skips:
        before = learned.previous_leader_epoch or 0
        leaders = _leaders(events, behind)
        yield from ((epoch, leader) for epoch, leader in leaders.items() if before < epoch < learned.leader_epoch)


def _leaders(events: Sequence[Event], behind: int) -> dict[int, int | None]:
    """The leaders by leader epoch up to a change, of its topic: former ones of the name had epochs of their own."""
    leaders: dict[int, int | None] = {}
    for event in events[: behind + 1]:
        if DELETED in (event.steps or ()):
            leaders.clear()
        else:
            leaders[event.after.leader_epoch] = event.after.leader
    return leaders


def remarks(placed: Sequence[Learned], events: Sequence[Event]) -> Iterator[Remark]:
    """The elections that leaders have missed."""
    for each in (each for each in placed if each.skips):
        before = each.previous_leader_epoch
        missed = ", ".join(f"e{epoch} of {named(leader)}" for epoch, leader in each.missed)
        words = f"b{each.broker} begins e{each.leader_epoch} after e{before}: it missed {missed or 'what was between'}"
        led = (
            each.previous_leader if each.previous_leader is not None else _leaders(events, each.behind).get(before or 0)
        )
        if led == each.broker and any(leader not in (None, each.broker) for _, leader in each.missed):
            words += (
                f". It led e{before}, too, so releases from 0.9.0.0 to 4.4.0 keep the followers' log end offsets of "
                "that time, although followers may have truncated since: docs/findings.md"
            )
        yield Remark("missed_election", each.partition, each.where, words)


def named(leader: int | None) -> str:
    """A leader, or nobody."""
    return "nobody" if leader is None else f"b{leader}"


def judge_learned(learned: Sequence[Learned], events: Sequence[Event], begun: Recorded | None) -> Iterator[Finding]:
    """What is wrong with the leader epochs that brokers have begun of one partition, first of each broker.

    Args:
        learned: in the order of the lines.
        events: the history of the partition.
        begun: the controller's record in the snapshot that the history begins with; what is older is not judged.
    """
    known: dict[tuple[int, int], list[Recorded]] = {}
    for record in (*([] if begun is None else [begun]), *(event.after for event in events)):
        known.setdefault(_epochs(record), []).append(record)
    strangers: dict[int, list[tuple[Learned, str]]] = {}
    for each in learned:
        if begun is None or each.partition_epoch >= begun.partition_epoch:
            wrong = _stranger(each, known)
            if wrong:
                strangers.setdefault(each.broker, []).append((each, wrong))
    for of in strangers.values():
        each, words = of[0]
        more = f"; {len(of) - 1} more of its lines do not fit" if len(of) > 1 else ""
        yield Finding("learned_epochs_are_recorded", each.where, f"{words}{more}", each.partition)
    yield from _order(learned)


def _stranger(learned: Learned, known: Mapping[tuple[int, int], Sequence[Recorded]]) -> str:
    """Why no record of the controller is what a broker has learned; empty if one is."""
    records = known.get(_epochs(learned), ())
    begins = f"b{learned.broker} begins e{learned.leader_epoch} with partition epoch {learned.partition_epoch}"
    if not records:
        epochs = {epoch for epoch, _ in known}
        missing = "both together" if learned.leader_epoch in epochs else "this leader epoch"
        return f"{begins}, and no record of the controller has {missing}"
    if all(record.leader != learned.leader for record in records):
        return f"{begins} under {named(learned.leader)}, and the controller has recorded {named(records[0].leader)}"
    if learned.isr is not None and all(record.isr != learned.isr for record in records):
        theirs, recorded = (" ".join(f"b{each}" for each in sorted(isr)) for isr in (learned.isr, records[0].isr))
        return f"{begins} and ISR {theirs}, and the controller has recorded ISR {recorded}"
    return ""


def _order(learned: Iterable[Learned]) -> Iterator[Finding]:
    last: dict[int, Learned] = {}
    for each in learned:
        before = last.get(each.run)
        if before is not None and each.leader_epoch < before.leader_epoch:
            words = f"b{each.broker} begins e{each.leader_epoch} after e{before.leader_epoch}, without a new start"
            yield Finding("learned_epochs_never_decrease", each.where, words, each.partition)
        last[each.run] = each
