"""Clients and followers send requests over several partitions."""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.domain import BOOLEAN, Integers, OneOf
from highwater.model.language.records import evolve
from highwater.model.requests.protocol import RequestsProtocol
from highwater.model.requests.state import (
    ELSEWHERE,
    NOT_ASKED,
    Acks,
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
    offsets,
    partition_sets,
)
from highwater.model.requests.waiting import answered, looked_at, notified, to_wait


def refusal(hosted: Hosted, acks: Acks) -> Answer | None:
    """The error of a partition to which nothing is appended, or None.

    Source: kafka.server.ReplicaManager#appendRecords (0.10.2 to 3.8), #appendToLocalLog;
        kafka.cluster.Partition#appendRecordsToLeader (0.10.2 to 3.8).
    """
    if acks is Acks.INVALID:
        return Answer.INVALID_ACKS
    if hosted.role is not Role.LEADER:
        return Answer.NOT_LEADER if hosted.role is Role.FOLLOWER else Answer.UNKNOWN
    return Answer.NOT_ENOUGH if acks is Acks.ALL and not hosted.enough else None


@action(actor="producer", needs=lambda bounds: bounds.produces, partitions=partition_sets, acks=OneOf(Acks))
def produce(
    broker: Broker, partitions: frozenset[int], acks: Acks, bounds: RequestsBounds, protocol: RequestsProtocol
) -> Broker | None:
    """A producer sends a record to each of some partitions in one request.

    Actor: the producer.
    Enabled: no produce request waits; the budget allows it.
    Effect: each partition appends its record or refuses it, whatever the others do. The request waits if acks=all and
        some record was appended. Else the response is there: with an error for each partition that has refused.
    Abstracts: acks=0, which has no response.
    Source: kafka.server.ReplicaManager#appendRecords (0.10.2 to 3.8), #delayedRequestRequired (0.9 to 3.4).
    """
    if broker.produce.waits:
        return None
    parts, number, changed = [], broker.next_record_id, list(broker.partitions)
    for partition, hosted in enumerate(broker.partitions):
        if partition not in partitions:
            parts.append(NOT_ASKED)
            continue
        error = refusal(hosted, acks)
        if error is None:
            changed[partition] = evolve(hosted, tail=hosted.tail + (number,))
        success = Answer.WAITS if acks is Acks.ALL else Answer.SUCCESS
        parts.append(Part(success if error is None else error, changed[partition].end, number, 0))
    waits = any(part.answer is Answer.WAITS for part in parts)
    request = Request(to_wait(bounds) if waits else Phase.ANSWERED, Lock.FREE, acks, 0, False, False, tuple(parts))
    after = evolve(broker, partitions=tuple(changed), produce=request, next_record_id=number + 1).spent("produces")
    for partition in range(len(parts)):
        if changed[partition] is not broker.partitions[partition]:
            after = notified(after, partition, protocol)  # a follower that waits reads it
    return after


@action(
    actor="fetcher",
    needs=lambda bounds: bounds.fetches,
    partitions=partition_sets,
    offset=offsets,
    needs_records=lambda bounds: Integers(0, bounds.min_records_max),
    to_log_end=BOOLEAN,
)
def fetch(
    broker: Broker,
    partitions: frozenset[int],
    offset: int,
    needs_records: int,
    bounds: RequestsBounds,
    protocol: RequestsProtocol,
    *,
    to_log_end: bool,
) -> Broker | None:
    """A consumer or a follower fetches from some partitions in one request.

    Actor: the consumer, or the follower.
    Enabled: no fetch request waits; the budget allows it.
    Effect: the request is answered at once if it asks for no partition, has enough records (`fetch.min.bytes`), or if
        some partition has an error. Else it is looked at as one that waits. One that may not wait (`fetch.max.wait.ms`)
        needs no records.
    Abstracts: a fetch begins at the same offset in each partition; what a follower's fetch commits is left out; a
        consumer names no rack, so that no follower answers it (KIP-392).
    Source: kafka.server.ReplicaManager#fetchMessages (0.9 to 4.4).
    """
    if broker.fetch.waits:
        return None
    parts = tuple(
        Part(Answer.WAITS, offset, ELSEWHERE, 0) if partition in partitions else NOT_ASKED
        for partition in range(len(broker.partitions))
    )
    request = Request(to_wait(bounds), Lock.FREE, Acks.LEADER, needs_records, to_log_end, False, parts)
    after = broker.with_request(Kind.FETCH, request).spent("fetches")
    if not partitions:
        return after.with_request(Kind.FETCH, answered(after, evolve(request, needs=0)))
    found = answered(after, request)
    wrong = any(part.answer not in (None, Answer.SUCCESS) for part in found.parts)
    return after.with_request(Kind.FETCH, found if wrong else looked_at(after, Kind.FETCH, protocol))
