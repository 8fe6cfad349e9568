"""From Kafka's real objects to the model's fields: what the harness sees of a broker, held against the model's
replica.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import attrs

from highwater.conformance import controller_side, questions
from highwater.model.partition.batches import Place
from highwater.model.partition.messages import Answer, Fetch, IsrChange, Stage
from highwater.model.partition.protocol import Acks, HighWatermarkCheckpoint
from highwater.model.partition.state import Clients, Leadership, Partition, Replica

NOT_SHOWN: Mapping[str, str] = {
    "clients": "what consumers saw: no broker remembers it",
    "quorum.registrations.since": "what a broker may not have heard yet: its metadata are as old as the model says",
    "elections": "what the controller published before: each was compared when it was new",
    "used": "budgets of the bounds",
    "next_record_id": "names records only",
    "replicas.truncating": "no release with KRaft asks where to truncate before it fetches",
    "replicas.leadership.waiting_from": "which producers wait: the answers to them are compared",
    "replicas.leadership.candidate": "inside one call of Partition#maybeExpandIsr",
    "replicas.followers.for_high_watermark": "a fetch in another epoch is refused as a whole",
    "replicas.followers.for_isr": "a fetch in another epoch is refused as a whole",
    "replicas.followers.since_change": "Partition asks at the moment of a fetch",
    "replicas.changes": "those that are answered: on their way back; of its own broker epoch a leader is not asked",
    "replicas.high_watermark": "of a broker that has not opened the log yet",
    "replicas.clean": "the file that says so is read at the next start, and then gone",
}
"""Fields of the model that the real objects do not show, and why."""


ANSWERS: dict[str, str] = {
    "NONE": "acknowledged",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "refused",
    "REQUEST_TIMED_OUT": "refused",
    "NOT_LEADER_OR_FOLLOWER": "unanswered",
    "UNKNOWN_TOPIC_OR_PARTITION": "unanswered",
    "waits": "unanswered",
}
"""Kafka's answers to a producer, by what the model remembers of them. A producer that has to look for the leader knows
nothing of its record: its broker leads no more, or has no replica any more.
"""


@attrs.frozen
class Difference:
    """One field of a broker or of the controller that the two sides do not agree on."""

    field: str
    model: str
    kafka: str


def differences(partition: Partition, seen: Mapping[str, Any], protocol: Any, bounds: Any) -> list[Difference]:
    """Where a state of the model and what was seen of some brokers and of the controller differ."""
    found = []
    for name, fields in _fields(partition, seen, protocol, bounds):
        for field, model, kafka in fields:
            if model != kafka:
                found.append(Difference(f"{name}.{field}", _shown(model), _shown(kafka)))
    return found


def both_sides(
    partition: Partition, seen: Mapping[str, Any], protocol: Any, bounds: Any
) -> dict[str, list[Difference]]:
    """All fields of some brokers, and of the controller, as the two sides have them, by name."""
    return {
        name: [Difference(field, _shown(model), _shown(kafka)) for field, model, kafka in fields]
        for name, fields in _fields(partition, seen, protocol, bounds)
    }


def _fields(
    partition: Partition, seen: Mapping[str, Any], protocol: Any, bounds: Any
) -> Iterator[tuple[str, Iterator[tuple[str, Any, Any]]]]:
    for name, real in seen.items():
        if name == controller_side.NAME:
            yield name, controller_side.compared(partition, real, protocol, bounds)
        else:
            replica, clients = of_broker(partition, int(name))
            of_replica = _compared(replica, int(name), real, protocol, bounds)
            of_clients = (_of_producers(clients, real, protocol), _of_consumer(replica, real), _heard(replica, real))
            others = (*of_clients, questions.compared(replica, int(name), real, protocol, bounds))
            yield f"b{name}", chain(of_replica, *others)


def of_broker(partition: Partition, broker: int) -> tuple[Replica, Clients]:
    """All of a state of the model that a broker is held against."""
    return partition.replicas[broker], partition.clients


def _of_producers(clients: Clients, real: Mapping[str, Any], protocol: Any) -> Iterator[tuple[str, Any, Any]]:
    """What producers were answered whose records a broker has appended. One that got no answer, or that a broker
    which led no more sent elsewhere, knows nothing of its record.
    """
    if not real["up"] or protocol.acks is Acks.NONE:
        return
    for record, answer in real["answers"].items():
        yield f"producer of r{record}", producer_of(clients, int(record)), ANSWERS.get(answer, answer)


def _of_consumer(replica: Replica, real: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What a consumer that has waited for the record at an offset gets: nothing before the high watermark is above."""
    if replica.is_up and real["up"] and real["consumer"] is not None:
        offset, record = real["consumer"]
        readable = replica.log_start <= offset < min(replica.high_watermark, replica.log_end_offset)
        yield f"record at {offset} of a waiting consumer", replica.log[offset].id if readable else None, record


def _heard(replica: Replica, real: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Whether the broker keeps to the newest metadata, what a listener of the partition has heard, and what became of
    those who wait until records are deleted on all replicas.
    """
    if not replica.is_up or not real["up"]:
        return
    if "newest" in real:
        yield "goes back to an older partition epoch", False, real["partitionEpoch"] < real["newest"]
    if real.get("heard") is not None:
        yield "high watermark of a listener", replica.high_watermark, real["heard"]
    if "followers" in real and replica.leadership is not None:
        yield from _of_deletions(real)


def _of_deletions(real: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Who asked a leader to delete records waits as long as the log of a follower that is alive begins below, as far as
    the leader knows. A leader that hears of the death of the last such follower does not look at the wait, nor does a
    later fetch unless it raises a watermark: so the wait may last.

    Source: DelayedDeleteRecords#tryComplete, kafka.cluster.Partition#updateFollowerFetchState (3.5.1 to 4.4.0).
    """
    starts = [start for follower, (*_, start) in real["followers"].items() if follower not in real["dead"]]
    for offset, answer in real["deletions"].items():
        expected = deletion_of(int(offset), starts)
        if answer != "waits" or not real["dead"]:
            yield f"deletion below {offset}", expected, answer


def deletion_of(offset: int, starts: Sequence[int]) -> str:
    """What becomes of a request to delete the records below an offset, if followers' logs begin there."""
    return "NONE" if all(start >= offset for start in starts) else "waits"


def producer_of(clients: Clients, record: int) -> str:
    """What became of a record, as its producer knows it."""
    if record in clients.acked:
        return "acknowledged"
    return "refused" if record in clients.rejected else "unanswered"


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def _compared(
    replica: Replica, broker: int, real: Mapping[str, Any], protocol: Any, bounds: Any
) -> Iterator[tuple[str, Any, Any]]:
    yield "up", replica.is_up, real["up"]
    if not replica.is_up or not real["up"]:
        return
    if (
        bounds.checkpoints or bounds.controlled_shutdowns
    ) and protocol.high_watermark_checkpoint is HighWatermarkCheckpoint.LAGGING:
        yield "checkpoint", replica.checkpoint, real["checkpoint"]
    yield "log end offset", replica.log_end_offset, real.get("leo", 0)
    yield "log start", replica.log_start, real.get("start", 0)
    log = {
        offset: [record.id, record.leader_epoch]
        for offset, record in enumerate(replica.log)
        if offset >= replica.log_start and record.place is not Place.GAP
    }
    # a log that starts inside a batch has all of the batch
    real_log = {offset: rest for offset, *rest in real.get("log", ()) if offset >= replica.log_start}
    yield "log", log, real_log
    epochs = {epoch: start for epoch, start in enumerate(replica.epoch_starts) if start is not None}
    yield "epoch cache", epochs, dict(real.get("epochs", ()))
    if "leader" in real:
        yield (
            "leader",
            -1 if replica.leader is None else replica.leader,
            -1 if real["leader"] is None else real["leader"],
        )
        yield "leader epoch", replica.leader_epoch, real["leaderEpoch"]
        yield "high watermark", replica.high_watermark, real["hw"]
    else:
        yield "leader", replica.leader, None
    yield from _of_fetch(replica, real["fetch"])
    if replica.leadership is not None and "isr" in real:
        yield from _of_leadership(replica, replica.leadership, broker, real, bounds)


def _of_leadership(
    replica: Replica, leadership: Leadership, broker: int, real: Mapping[str, Any], bounds: Any
) -> Iterator[tuple[str, Any, Any]]:
    yield "ISR", sorted(leadership.isr), real["isr"]
    yield "proposed ISR", None if leadership.pending is None else sorted(leadership.pending), real["proposed"]
    yield "maximal ISR", sorted(leadership.isr | (leadership.pending or frozenset())), real["maximalIsr"]
    yield "assignment", sorted(leadership.assignment), real["replicas"]
    yield "partition epoch", leadership.partition_epoch, real["partitionEpoch"]
    yield "epoch start", leadership.start_offset, real["epochStart"]
    for follower, known in enumerate(replica.followers):
        if follower == broker or follower not in leadership.assignment:
            continue
        end, caught_up, epoch, start = real["followers"].get(str(follower), (None, None, None, None))
        yield f"follower b{follower} log end offset", -1 if known.log_end_offset is None else known.log_end_offset, end
        yield f"follower b{follower} broker epoch", known.broker_epoch, epoch
        if bounds.caught_up_times and follower not in leadership.isr:
            yield f"follower b{follower} caught up", known.caught_up, caught_up
        if bounds.deletions_answered:
            yield f"follower b{follower} log start", -1 if known.log_end_offset is None else known.log_start, start
    asked = [_request(change, broker) for change in replica.changes if change.answer is Answer.NONE]
    sent = [_sent(each, broker) for each in real["requests"]]
    yield "requests", asked, sent[len(sent) - len(asked) :] if asked else []


def _request(change: IsrChange, broker: int) -> tuple[Any, ...]:
    epochs = {str(member): change.broker_epochs[member] for member in change.isr}
    return change.leader_epoch, change.partition_epoch, _members(epochs, broker), change.recovering


def _sent(real: Mapping[str, Any], broker: int) -> tuple[Any, ...]:
    return real["leaderEpoch"], real["partitionEpoch"], _members(real["isr"], broker), real["recovering"]


def _members(epochs: Mapping[str, int], broker: int) -> dict[int, int]:
    """Members of a proposed ISR with their broker epochs, but for the leader's own."""
    return {int(member): 0 if int(member) == broker else epoch for member, epoch in sorted(epochs.items())}


def _of_fetch(replica: Replica, real: Mapping[str, Any] | None) -> Iterator[tuple[str, Any, Any]]:
    fetch = replica.fetch
    if fetch is None:
        # a late response that the model has dropped may still travel; what becomes of it is seen when it arrives
        return
    yield "fetch", _fetch_shown(fetch), None if real is None else _real_fetch(real)


def _fetch_shown(fetch: Fetch) -> tuple[Any, ...]:
    rest: tuple[Any, ...] = ()
    match fetch.stage:
        case Stage.REQUEST:
            rest = (fetch.epoch,)
        case Stage.DIVERGING:
            rest = (fetch.epoch, fetch.end_offset)
        case Stage.RECORD:
            sent = [[each.id, each.leader_epoch] for each in fetch.records if each.place is not Place.GAP]
            rest = (fetch.high_watermark, fetch.log_start, sent)
        case Stage.NOTHING_NEW:
            rest = (fetch.high_watermark, fetch.log_start)
    return (fetch.stage.value, fetch.leader, fetch.leader_epoch, fetch.offset, *rest)


def _real_fetch(real: Mapping[str, Any]) -> tuple[Any, ...]:
    keys = {
        "request": ["epoch"],
        "diverging": ["epoch", "endOffset"],
        "record": ["highWatermark", "logStart", "records"],
        "nothing new": ["highWatermark", "logStart"],
    }
    return (
        real["stage"],
        real["leader"],
        real["leaderEpoch"],
        real["offset"],
        *(real[key] for key in keys.get(real["stage"], ())),
    )
