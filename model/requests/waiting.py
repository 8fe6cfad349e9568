"""How requests wait, and what ends that: Kafka's purgatories.

A request that cannot be answered at once is put on the list of each of its partitions, and looked at once more. Whoever
changes a partition looks at those on its list. Each look answers what it can; a lock keeps it from being two at once.

Source: kafka.server.DelayedOperationPurgatory#tryCompleteElseWatch (0.9 to 3.8), #checkAndComplete;
    kafka.server.DelayedProduce#tryComplete, kafka.server.DelayedFetch#tryComplete (0.9 to 3.8).
"""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.domain import OneOf
from highwater.model.language.records import evolve
from highwater.model.requests.protocol import LostLeadership, RequestsProtocol
from highwater.model.requests.state import (
    Answer,
    Broker,
    Hosted,
    Kind,
    Lock,
    Part,
    Phase,
    Request,
    RequestsBounds,
    Role,
)


def to_wait(bounds: RequestsBounds) -> Phase:
    """How far a request is that has just been found to wait."""
    return Phase.UNWATCHED if bounds.watch_steps > 1 else Phase.WATCHED


def kinds(bounds: RequestsBounds) -> OneOf:
    """The domain of a request that the bounds allow."""
    return OneOf((Kind.PRODUCE,) * bool(bounds.produces) + (Kind.FETCH,) * bool(bounds.fetches))


def written(hosted: Hosted, part: Part) -> Answer:
    """The answer to a producer that waits for a partition.

    Abstracts: which record is at the offset. Kafka compares offsets only.
    Source: kafka.cluster.Partition#checkEnoughReplicasReachOffset (0.8 to 3.8).
    """
    if hosted.role is not Role.LEADER:
        return Answer.NOT_LEADER if hosted.role is Role.FOLLOWER else Answer.UNKNOWN
    if len(hosted.committed) < part.offset:
        return Answer.WAITS
    return Answer.SUCCESS if hosted.enough else Answer.NOT_ENOUGH_AFTER_APPEND


def readable(hosted: Hosted, *, to_log_end: bool) -> int:
    """The offset up to which a fetch may read: a follower's that of the log end, a consumer's the high watermark."""
    return hosted.end if to_log_end else len(hosted.committed)


def read(hosted: Hosted, part: Part, *, to_log_end: bool) -> Part:
    """What a fetch reads of a partition.

    Source: kafka.server.ReplicaManager#readFromLocalLog (0.9 to 3.5), #readFromLog (3.6 to 3.8).
    """
    if hosted.role is not Role.LEADER:
        return evolve(part, answer=Answer.NOT_LEADER if hosted.role is Role.FOLLOWER else Answer.UNKNOWN)
    if part.offset > hosted.end:
        return evolve(part, answer=Answer.OUT_OF_RANGE)
    return evolve(part, answer=Answer.SUCCESS, count=max(0, readable(hosted, to_log_end=to_log_end) - part.offset))


def answered(broker: Broker, request: Request, *, timed_out: bool = False) -> Request:
    """A fetch that is answered with what each of its partitions has. Source: kafka.server.DelayedFetch#onComplete (0.9
    to 3.8).
    """
    parts = tuple(
        part if part.answer is None else read(hosted, part, to_log_end=request.to_log_end)
        for hosted, part in zip(broker.partitions, request.parts, strict=True)
    )
    return evolve(request, parts=parts, phase=Phase.ANSWERED, lock=Lock.FREE, timed_out=timed_out)


def ends_its_wait(broker: Broker, request: Request, protocol: RequestsProtocol) -> bool:
    """Whether a fetch that waits is answered: if one of its partitions is not led, or if it has enough. One that begins
    behind what it may read is answered with nothing from 3.8 on.

    Source: kafka.server.DelayedFetch#tryComplete (0.9 to 4.4; 3.8.0: KAFKA-16452).
    """
    found = 0
    for hosted, part in zip(broker.partitions, request.parts, strict=True):
        if part.answer is None:
            continue
        end = readable(hosted, to_log_end=request.to_log_end)
        if hosted.role is not Role.LEADER or (end < part.offset and not protocol.fetches_ahead_wait):
            return True
        found += max(0, end - part.offset)
    return found >= request.needs


def looked_at(broker: Broker, kind: Kind, protocol: RequestsProtocol) -> Request:
    """A waiting request after a look at all its partitions: answered, if it can be."""
    request = broker.of(kind)
    if kind is Kind.FETCH:
        return answered(broker, request) if ends_its_wait(broker, request, protocol) else request
    parts = tuple(
        evolve(part, answer=written(hosted, part)) if part.answer is Answer.WAITS else part
        for hosted, part in zip(broker.partitions, request.parts, strict=True)
    )
    if any(part.answer is Answer.WAITS for part in parts):
        return evolve(request, parts=parts)
    return evolve(request, parts=parts, phase=Phase.ANSWERED, lock=Lock.FREE)


def looked(broker: Broker, kind: Kind, protocol: RequestsProtocol) -> Broker:
    """The state after a look at a waiting request."""
    return broker.with_request(kind, looked_at(broker, kind, protocol))


def notified(broker: Broker, partition: int, protocol: RequestsProtocol) -> Broker:
    """The state after whoever has changed a partition has looked at what waits for it.

    Source: kafka.server.DelayedOperationPurgatory#checkAndComplete (0.9 to 3.8).
    """
    for kind in Kind:
        request = broker.of(kind)
        if request.phase is Phase.WATCHED and request.parts[partition].answer is not None:
            if request.lock is Lock.FREE:
                broker = looked(broker, kind, protocol)
            else:
                broker = broker.with_request(kind, evolve(request, lock=Lock.MISSED))
    return broker


def answers_without_leadership(role: Role, protocol: RequestsProtocol) -> bool:
    """Whether a broker that leads a partition no more looks at what waits for it.

    Source: kafka.server.ReplicaManager#makeFollowers (0.10.0 to 3.8; KAFKA-2960), #stopReplica (2.4; KAFKA-9198),
        #stopPartitions (3.0 to 3.8).
    """
    rule = protocol.lost_leadership_answers
    return rule is LostLeadership.ALL or (rule is LostLeadership.FOLLOWERS and role is Role.FOLLOWER)


# Actions


@action(actor="broker", needs=lambda bounds: bounds.watch_steps > 1, kind=kinds)
def watch(broker: Broker, kind: Kind, protocol: RequestsProtocol) -> Broker | None:
    """A request that cannot be answered at once is put on the lists of its partitions.

    Actor: the broker.
    Enabled: it waits, and is on no list yet.
    Effect: it is on all lists. The broker looks at it once more: what has happened since the first look was no reason
        to look.
    Abstracts: that it is put on one list after the other.
    Source: kafka.server.DelayedOperationPurgatory#tryCompleteElseWatch (0.9 to 3.8);
        kafka.server.RequestPurgatory#checkAndMaybeWatch (0.8.2).
    """
    request = broker.of(kind)
    if request.phase is not Phase.UNWATCHED:
        return None
    after = broker.with_request(kind, evolve(request, phase=Phase.WATCHED))
    return looked(after, kind, protocol) if protocol.looks_again_after_watching else after


@action(actor="broker", needs=lambda bounds: bounds.slow_checks, kind=kinds)
def begin_check(broker: Broker, kind: Kind, protocol: RequestsProtocol) -> Broker | None:
    """A thread looks at a waiting request, and holds its lock for a while after it has seen that it must wait.

    Actor: the broker.
    Enabled: the request waits and is not locked; the budget allows it.
    Effect: the request is locked, unless it is answered.
    Source: kafka.server.DelayedOperation#maybeTryComplete (1.0 to 2.6); a look is `synchronized` before (0.9 to 0.11).
    """
    request = broker.of(kind)
    if request.phase is not Phase.WATCHED or request.lock is not Lock.FREE:
        return None
    after = looked_at(broker, kind, protocol)
    return broker.with_request(kind, evolve(after, lock=Lock.HELD if after.waits else Lock.FREE)).spent("slow_checks")


@action(actor="broker", needs=lambda bounds: bounds.slow_checks, kind=kinds)
def end_check(broker: Broker, kind: Kind, protocol: RequestsProtocol) -> Broker | None:
    """The thread that looks at a waiting request releases the lock.

    Actor: the broker.
    Enabled: the request is locked.
    Effect: it is not any more. If another thread found it locked, it is looked at again, or not, by the protocol.
    Source: kafka.server.DelayedOperation#maybeTryComplete (1.0.0; 1.1 to 2.6, KAFKA-6653),
        #safeTryComplete, which waits for the lock (2.7 to 3.8).
    """
    request = broker.of(kind)
    if request.lock is Lock.FREE:
        return None
    after = broker.with_request(kind, evolve(request, lock=Lock.FREE))
    repeats = request.lock is Lock.MISSED and protocol.contended_checks_repeat
    return looked(after, kind, protocol) if repeats else after


@action(actor="broker", kind=kinds)
def expire(broker: Broker, kind: Kind) -> Broker | None:
    """A request has waited for as long as it may.

    Actor: the broker.
    Enabled: it waits, and is on the lists of its partitions.
    Effect: a producer gets REQUEST_TIMED_OUT of each partition for which it waits, and what is known of the others. A
        fetch gets what there is.
    Source: kafka.server.DelayedOperation#run, kafka.server.DelayedProduce#onComplete (0.9 to 3.8), whose answer is
        REQUEST_TIMED_OUT until it is another one.
    """
    request = broker.of(kind)
    if request.phase is not Phase.WATCHED:
        return None
    if kind is Kind.FETCH:
        return broker.with_request(kind, answered(broker, request, timed_out=True))
    parts = tuple(
        evolve(part, answer=Answer.TIMED_OUT) if part.answer is Answer.WAITS else part for part in request.parts
    )
    return broker.with_request(kind, evolve(request, parts=parts, phase=Phase.ANSWERED, lock=Lock.FREE, timed_out=True))
