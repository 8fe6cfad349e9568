"""What must hold of requests to a broker and of their responses."""

from __future__ import annotations

from highwater.model.language.declarations import Truth, Witness, invariant, step_property
from highwater.model.language.definition import Property
from highwater.model.language.graph_properties import always_eventually
from highwater.model.requests import waiting
from highwater.model.requests.state import (
    WRITES_NOTHING,
    Acks,
    Answer,
    Broker,
    Kind,
    Lock,
    Part,
    Phase,
    Role,
    partition_ids,
)


@invariant(needs=lambda bounds: bounds.produces, partition=partition_ids)
def acknowledged_records_are_committed(broker: Broker, partition: int) -> Truth:
    """A producer with acks=all that gets no error for a partition has its record in the committed log.

    Kind: state.
    When false: an acknowledged write is lost.
    Source: KAFKA-2960; kafka.cluster.Partition#checkEnoughReplicasReachOffset (0.8 to 3.8), which compares offsets.
    """
    part, hosted = broker.produce.parts[partition], broker.partitions[partition]
    if broker.produce.acks is not Acks.ALL or part.answer is not Answer.SUCCESS:
        return True
    if part.record in hosted.committed:
        return True
    return Witness(
        "r{record} is acknowledged, and p{partition} has committed {log}",
        record=part.record,
        partition=partition,
        log=hosted.committed,
    )


@invariant(needs=lambda bounds: bounds.produces, partition=partition_ids)
def errors_before_the_append_write_nothing(broker: Broker, partition: int) -> Truth:
    """A partition whose error says that nothing was appended has no record of the request, unless it lost leadership
    while the request waited.

    Kind: state.
    When false: a producer that sends the record again writes it twice.
    Source: kafka.server.ReplicaManager#appendRecords (0.10.2 to 3.8).
    """
    part, hosted = broker.produce.parts[partition], broker.partitions[partition]
    if part.answer not in WRITES_NOTHING or hosted.role is not Role.LEADER or part.offset > hosted.end:
        return True
    if part.record not in hosted.tail:
        return True
    return Witness(
        "p{partition} answers {answer}, and has r{record}",
        partition=partition,
        answer=part.answer.value if part.answer is not None else "",
        record=part.record,
    )


@invariant(needs=lambda bounds: bounds.produces, partition=partition_ids)
def records_with_an_error_are_not_committed(broker: Broker, partition: int) -> Truth:
    """A record whose producer gets an error for its partition is not committed.

    Kind: state.
    When false: the error does not say what became of the record. A producer that sends it again writes it twice, unless
        it is idempotent (KIP-98).
    Source: kafka.server.DelayedProduce#tryComplete, #onComplete (0.9 to 3.8).
    """
    part, hosted = broker.produce.parts[partition], broker.partitions[partition]
    if broker.produce.phase is not Phase.ANSWERED or part.answer in (None, Answer.SUCCESS):
        return True
    if part.record not in hosted.committed:
        return True
    return Witness(
        "the producer of r{record} gets {answer} of p{partition}, which has committed it",
        record=part.record,
        answer=part.answer.value if part.answer is not None else "",
        partition=partition,
    )


@invariant(needs=lambda bounds: bounds.produces, partition=partition_ids)
def no_record_is_refused_after_the_append(broker: Broker, partition: int) -> Truth:
    """No partition that has appended a record answers that there are too few replicas.

    Kind: state.
    When false: a producer gets NOT_ENOUGH_REPLICAS_AFTER_APPEND for a record that is committed.
    Source: KAFKA-15583; kafka.cluster.Partition#checkEnoughReplicasReachOffset (0.9 to 4.4).
    """
    refused = broker.produce.parts[partition].answer is Answer.NOT_ENOUGH_AFTER_APPEND
    return not refused or Witness("p{partition} refuses its record after the append", partition=partition)


def has_reason(broker: Broker, kind: Kind, part: Part, partition: int) -> bool:
    """Whether a request waits for a partition with a reason: it is led, and what is waited for is not there."""
    hosted = broker.partitions[partition]
    if kind is Kind.FETCH:
        return part.answer is None or hosted.role is Role.LEADER
    return part.answer is Answer.WAITS and hosted.role is Role.LEADER and len(hosted.committed) < part.offset


@invariant(kind=waiting.kinds)
def requests_wait_for_a_reason(broker: Broker, kind: Kind) -> Truth:
    """A request waits only as long as it cannot be answered: a producer, if some partition has not committed its
    record; a fetch, if all partitions are led and have fewer records than it waits for.

    Kind: state.
    When false: the request is forgotten, and waits until its time is over.
    Abstracts: while a thread looks at it.
    Source: KAFKA-2960, KAFKA-9198, KAFKA-6653.
    """
    request = broker.of(kind)
    if request.phase is not Phase.WATCHED or request.lock is not Lock.FREE:
        return True
    reasons = [has_reason(broker, kind, part, partition) for partition, part in enumerate(request.parts)]
    if kind is Kind.FETCH:
        found = waiting.answered(broker, request)
        asked = any(part.answer is not None for part in request.parts)
        good = asked and all(reasons) and sum(part.count for part in found.parts) < request.needs
    else:
        good = any(reasons)
    return good or Witness("the {kind} request waits, and nothing keeps it from being answered", kind=kind.value)


@invariant(needs=lambda bounds: bounds.fetches)
def fetches_wait_until_they_have_enough(broker: Broker) -> Truth:
    """A fetch that may wait is answered with as many records as it waits for, unless its time is over or a partition
    has an error.

    Kind: state.
    When false: a consumer asks again and again, and gets little each time.
    Source: kafka.server.ReplicaManager#fetchMessages, kafka.server.DelayedFetch#tryComplete (0.9 to 3.8).
    """
    fetch = broker.fetch
    if fetch.phase is not Phase.ANSWERED or fetch.timed_out:
        return True
    if any(part.answer not in (None, Answer.SUCCESS) for part in fetch.parts):
        return True
    count = sum(part.count for part in fetch.parts)
    return count >= fetch.needs or Witness(
        "a fetch that waits for {needs} records got {count}", needs=fetch.needs, count=count
    )


@step_property(needs=lambda bounds: bounds.fetches, partition=partition_ids)
def an_error_hides_no_records_of_other_partitions(before: Broker, after: Broker, partition: int) -> Truth:
    """The response to a fetch has what each partition has that is led, whatever is wrong with others.

    Kind: step.
    When false: one partition that moved keeps others from being read.
    Source: kafka.server.ReplicaManager#readFromLocalLog (0.9 to 3.5), #readFromLog (3.6 to 3.8).
    """
    fetch, hosted = after.fetch, after.partitions[partition]
    if fetch.phase is not Phase.ANSWERED or fetch == before.fetch:
        return True
    part = fetch.parts[partition]
    if part.answer is None or hosted.role is not Role.LEADER:
        return True
    end = hosted.end if fetch.to_log_end else len(hosted.committed)
    if part.answer is Answer.OUT_OF_RANGE or part.count == max(0, end - part.offset):
        return True
    return Witness("a fetch got {count} records of p{partition}", count=part.count, partition=partition)


@always_eventually(fair=(waiting.watch, waiting.begin_check, waiting.end_check, waiting.expire), kind=waiting.kinds)
def requests_are_answered(broker: Broker, kind: Kind) -> Truth:
    """Every request is answered sooner or later.

    Kind: always eventually.
    When violated: a client waits until it closes its connection.
    Source: kafka.server.DelayedOperation#run (0.9 to 3.8).
    """
    return not broker.of(kind).waits or Witness("the {kind} request waits for ever", kind=kind.value)


REQUESTS: tuple[Property, ...] = (
    acknowledged_records_are_committed,
    errors_before_the_append_write_nothing,
    records_with_an_error_are_not_committed,
    no_record_is_refused_after_the_append,
    requests_wait_for_a_reason,
    fetches_wait_until_they_have_enough,
    an_error_hides_no_records_of_other_partitions,
    requests_are_answered,
)
