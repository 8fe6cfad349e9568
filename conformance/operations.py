"""What each action of the partition model is on Kafka's real objects: a list of operations of the harness.

The controller's actions are in `controller_side`. What the harness can see of the brokers or of the controller that an
operation touches comes back with its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, cast

import attrs

from highwater.conformance import controller_side
from highwater.conformance.process import Operation
from highwater.model.partition.alter_partition import ENDING_ERRORS
from highwater.model.partition.clients import sends_to
from highwater.model.partition.fetching import has_stopped_fetching
from highwater.model.partition.leadership import learned
from highwater.model.partition.membership import all_shrinkable, metadata_end_proposals
from highwater.model.partition.messages import Answer, Election, Stage
from highwater.model.partition.protocol import Acks
from highwater.model.partition.state import Leadership, Partition, Standing

Step = Callable[..., list[Operation] | None]

CODES = {Acks.NONE: 0, Acks.LEADER: 1, Acks.ALL: -1}
RETRIED = ["UNKNOWN_SERVER_ERROR", "NOT_CONTROLLER", "NETWORK_EXCEPTION"]
"""Errors after which a leader asks again: of what has become of its request they say nothing."""


def view(partition: Partition, *, leader: int | None = None) -> list[list[Any]]:
    """What a broker has read of the others' registrations: all of it.

    Args:
        leader: if given, what this leader need not have heard yet, because it is newer than the partition epoch that it
            knows, is left out: such a broker looks active, in the incarnation that has fetched.
    """
    seen: list[list[Any]] = []
    for broker, registration in enumerate(partition.quorum.registrations):
        standing, epoch = registration.standing, registration.broker_epoch
        if leader is not None and (leadership := partition.replicas[leader].leadership) is not None:
            known = partition.replicas[leader].followers[broker].broker_epoch
            if leadership.partition_epoch <= registration.since:
                standing, epoch = Standing.ACTIVE, known if known >= 0 else epoch
        seen.append([epoch, standing.value])
    return seen


def _learn(partition: Partition, broker: int, epoch: int, election: Election) -> list[Operation]:
    learn = {
        "do": "learn",
        "broker": broker,
        "leader": -1 if election.leader is None else election.leader,
        "leader_epoch": epoch,
        "partition_epoch": election.partition_epoch,
        "isr": sorted(election.isr),
        "replicas": sorted(election.assignment),
        "view": view(partition),
        "see": [broker],
    }
    return [learn]


def beginning(partition: Partition, bounds: Any, configured: Any, wishes: Sequence[Any] = ()) -> list[Operation]:
    """From nothing to an initial state: an empty partition that every broker learns of.

    Args:
        configured: the protocol whose settings of a cluster apply.
        wishes: what the controller would record of them is looked at after each of its steps.
    """
    first = {
        "do": "reset",
        "brokers": len(partition.replicas),
        "min_insync_replicas": bounds.min_insync_replicas,
        "fetch_records": bounds.fetch_records,
        "clock_stands_still": bool(bounds.caught_up_times),
        "copied_ahead": bool(bounds.directory_moves) and not bounds.retentions,
    }
    election = partition.elections[0]
    controller = {**controller_side.begin(partition, bounds, configured), "wishes": wishes}
    return [
        first,
        controller,
        *(each for broker in range(len(partition.replicas)) for each in _learn(partition, broker, 0, election)),
        *_with_records(partition, bounds.initial_records),
    ]


def _with_records(partition: Partition, count: int) -> Iterator[Operation]:
    """The first records: broker 0 appends them, and the other members of the ISR fetch until they know that they are
    committed.
    """
    if not count:
        return
    seen, others = view(partition), sorted(partition.quorum.isr - {0})
    for record in range(count):
        yield {"do": "append", "broker": 0, "records": [record], "acks": CODES[Acks.ALL], "see": [] if others else [0]}
    rounds = count + 2  # each response has one record at least; two more, until the high watermark is known
    for number in range(rounds):
        last = number == rounds - 1  # what consumers have got by then belongs to no step
        for follower in others:
            see = [follower, 0] if last else []
            yield {"do": "fetch", "broker": follower, "leader": 0, "viewer": 0, "view": seen, "see": see}


def ending(partition: Partition) -> list[Operation]:
    """What a run ends with: an answer to a follower's fetch that its thread cannot take, so that it stops to fetch the
    partition. All else stays as it is.

    Source: kafka.server.AbstractFetcherThread#markPartitionFailed.
    """
    for broker, replica in enumerate(partition.replicas):
        follows = replica.is_up and replica.leader not in (None, broker) and replica.fetch is None
        if follows and not has_stopped_fetching(partition, broker) and broker in partition.quorum.assignment:
            return [{"do": "spoil", "broker": broker, "see": [broker]}]
    return []


def produce(before: Partition, leader: int, protocol: Any, bounds: Any) -> list[Operation] | None:
    return produce_batch(before, leader, 1, protocol, bounds)


def produce_batch(before: Partition, leader: int, size: int, protocol: Any, bounds: Any) -> list[Operation] | None:
    if not sends_to(before, leader, bounds):
        return None  # the producer asks another broker
    acks = CODES[protocol.acks]
    append = {
        "do": "append",
        "broker": leader,
        "records": list(range(before.next_record_id, before.next_record_id + size)),
        "acks": acks,
        "view": view(before),
        "see": [leader],
    }
    return [append]


def refuse_record(before: Partition, leader: int, protocol: Any, bounds: Any) -> list[Operation] | None:
    return produce(before, leader, protocol, bounds)


def give_up(before: Partition, leader: int, offset: int) -> list[Operation]:
    return [{"do": "expire", "broker": leader, "record": before.replicas[leader].log[offset].id, "see": [leader]}]


def _fetching(what: str) -> Step:
    def step(before: Partition, follower: int) -> list[Operation] | None:
        replica = before.replicas[follower]
        if what == "serve":
            asked = None if replica.fetch is None else replica.fetch.leader
        else:
            asked = replica.leader if replica.fetch is None else None
        if (
            asked is None
            or asked == follower
            or not replica.is_up
            or not before.replicas[asked].is_up
            or replica.truncating
            or has_stopped_fetching(before, follower)  # the harness does not begin the shutdown of a ReplicaManager
        ):
            return None
        operation = {"do": what, "broker": follower, "leader": asked, "viewer": asked, "see": [follower, asked]}
        return [{**operation, "view": view(before)}]

    return step


def send_fetch(before: Partition, follower: int) -> list[Operation] | None:
    replica = before.replicas[follower]
    if not replica.is_up or replica.leader in (None, follower) or replica.fetch is not None or replica.truncating:
        return None
    return [{"do": "send", "broker": follower, "see": [follower]}]


def receive_fetch(before: Partition, follower: int) -> list[Operation] | None:
    if (response := before.replicas[follower].fetch) is None or response.stage in (Stage.REQUEST, Stage.OUT_OF_RANGE):
        return None
    return [{"do": "receive", "broker": follower, "see": [follower]}]


def lose_fetch(before: Partition, follower: int) -> list[Operation]:
    return [{"do": "lose", "broker": follower, "see": [follower]}]


def handle_out_of_range(before: Partition, follower: int) -> list[Operation] | None:
    replica = before.replicas[follower]
    if (
        replica.fetch is None
        or replica.fetch.stage is not Stage.OUT_OF_RANGE
        or replica.leader is None
        or replica.leader == follower
    ):
        return None
    if not before.leads(replica.leader):
        return None
    return [{"do": "out_of_range", "broker": follower, "leader": replica.leader, "see": [follower, replica.leader]}]


def propose_expansion(before: Partition, leader: int, follower: int, protocol: Any) -> list[Operation] | None:
    if leader == follower or not before.leads(leader):
        return None
    if (
        not protocol.leader_snapshot_atomic
        and cast("Leadership", before.replicas[leader].leadership).candidate != follower
    ):
        return None  # the model refuses the second of two looks; one call of Kafka does both
    if not before.replicas[leader].followers[follower].since_change:
        return None  # Kafka asks when a fetch arrives
    seen = view(before, leader=leader)
    return [{"do": "expand", "broker": leader, "follower": follower, "view": seen, "see": [leader]}]


def propose_shrink(before: Partition, leader: int, follower: int) -> list[Operation] | None:
    return None if leader == follower else _shrink(before, leader, {follower})


def propose_joint_shrink(before: Partition, leader: int, protocol: Any) -> list[Operation] | None:
    replica = before.presumed_leader(leader)
    lagging = None if replica is None else all_shrinkable(replica, leader, protocol)
    return None if lagging is None else _shrink(before, leader, lagging)


def _shrink(before: Partition, leader: int, lagging: Set[int]) -> list[Operation] | None:
    if not before.leads(leader):
        return None
    others = [broker for broker in range(len(before.replicas)) if broker != leader]
    shrink = {"do": "shrink", "broker": leader, "lagging": sorted(lagging), "others": others}
    return [{**shrink, "view": view(before), "see": [leader]}]


def outlast_lag_time(before: Partition, leader: int, follower: int) -> list[Operation] | None:
    if leader == follower or not before.leads(leader):
        return None
    return [{"do": "outlast", "broker": leader, "follower": follower, "see": [leader]}]


def receive_isr_answer(before: Partition, leader: int) -> list[Operation] | None:
    change = next((each for each in before.replicas[leader].changes if each.answer is not Answer.NONE), None)
    if change is None or not before.replicas[leader].is_up:
        return None
    answer = {"broker": leader, "view": view(before), "see": [leader]}
    if change.answer is Answer.SUCCESS:
        granted = {
            "leader_epoch": change.leader_epoch,
            "partition_epoch": change.partition_epoch,
            "isr": sorted(change.isr),
        }
        return [{"do": "granted", **granted, **answer}]
    errors = sorted(ENDING_ERRORS) if change.answer is Answer.STALE else []
    return [{"do": "refused", "errors": errors, **answer}]


def lose_isr_answer(before: Partition, leader: int) -> list[Operation]:
    return [{"do": "refused", "errors": RETRIED, "broker": leader, "see": [leader]}]


def learn_leadership(before: Partition, broker: int, epoch: int) -> list[Operation] | None:
    election = learned(before, broker, epoch)
    return None if election is None else _learn(before, broker, epoch, election)


def learn_isr(before: Partition, leader: int, protocol: Any) -> list[Operation] | None:
    quorum, replica = before.quorum, before.replicas[leader]
    if not before.leads(leader) or replica.leader_epoch != before.leader_epoch:
        return None
    known = cast("Leadership", replica.leadership)
    repeats = known.partition_epoch == quorum.partition_epoch
    if repeats and metadata_end_proposals(protocol) and (known.pending is None or not known.ahead_of_metadata):
        return None  # the metadata log says it once; the model reads it where it ends a proposal
    election = Election(quorum.leader, quorum.isr, quorum.assignment, quorum.partition_epoch)
    published = [election, *([_older(election)] if election.partition_epoch else [])]
    learning = [leader, *_followers(before, leader)]
    return [
        each for broker in learning for one in published for each in _learn(before, broker, before.leader_epoch, one)
    ]


def _older(election: Election) -> Election:
    """Metadata from before, which a broker that knows the newer ones must ignore: an ISR of the leader alone.

    Source: kafka.cluster.Partition#makeLeader, #makeFollower, which look at the partition epoch first.
    """
    assert election.leader is not None
    return attrs.evolve(election, isr=frozenset({election.leader}), partition_epoch=election.partition_epoch - 1)


def _followers(partition: Partition, leader: int) -> list[int]:
    """Assigned brokers that follow the leader in its epoch: another ISR changes nothing for them.

    Source: kafka.cluster.Partition#makeFollower, of a leader epoch that is known already.
    """
    return [
        broker
        for broker, replica in enumerate(partition.replicas)
        if replica.is_up
        and replica.leader == leader != broker
        and replica.leader_epoch == partition.leader_epoch
        and broker in partition.quorum.assignment
    ]


def crash(before: Partition, broker: int) -> list[Operation]:
    return [{"do": "crash", "broker": broker, "see": [broker]}]


def crash_with_loss(before: Partition, broker: int, kept: int) -> list[Operation]:
    return [{"do": "crash", "broker": broker, "kept": kept, "see": [broker]}]


def end_controlled_shutdown(before: Partition, broker: int) -> list[Operation]:
    return [{"do": "shut_down", "broker": broker, "see": [broker]}]


def restart(before: Partition, broker: int) -> list[Operation]:
    epoch = before.quorum.registrations[broker].broker_epoch + 1
    forgotten = before.quorum.registrations[broker].standing is not Standing.FENCED
    start = {"do": "restart", "broker": broker, "epoch": epoch, "requests_forgotten": forgotten, "see": [broker]}
    return [controller_side.register(before, broker), start]


def checkpoint_high_watermark(before: Partition, broker: int) -> list[Operation]:
    return [{"do": "checkpoint", "broker": broker, "see": [broker]}]


def move_replica(before: Partition, broker: int) -> list[Operation]:
    return [{"do": "move", "broker": broker, "see": [broker]}]


def delete_old_records(before: Partition, leader: int, offset: int) -> list[Operation]:
    return [{"do": "trim", "broker": leader, "offset": offset, "see": [leader]}]


def consume(before: Partition, broker: int, offset: int) -> list[Operation]:
    return [{"do": "consume", "broker": broker, "offset": offset, "see": [broker]}]


def between_looks(partition: Partition) -> bool:
    """Whether a leader has looked at a follower once of two times: inside one call of Partition#maybeExpandIsr, so that
    nothing else can be called.
    """
    return any(each.leadership is not None and each.leadership.candidate is not None for each in partition.replicas)


MAPPED: Mapping[str, Step] = {
    **controller_side.STEPS,
    **{step.__name__: step for step in (
        produce, produce_batch, refuse_record, give_up, send_fetch, receive_fetch, lose_fetch, handle_out_of_range,
        propose_expansion, propose_shrink, propose_joint_shrink,
        outlast_lag_time, receive_isr_answer, lose_isr_answer, learn_leadership, learn_isr, crash, crash_with_loss,
        end_controlled_shutdown, restart, checkpoint_high_watermark, move_replica, delete_old_records, consume,
    )},
    "fetch_at_once": _fetching("fetch"),
    "fetch": _fetching("ask"),
    "serve_fetch": _fetching("serve"),
}  # fmt: skip

REFUSABLE = (
    "produce", "produce_batch", "propose_expansion", "propose_shrink", "fetch_at_once", "fetch", "learn_isr",
    *controller_side.REFUSABLE,
)  # fmt: skip
"""Actions that are tried on the real objects also where the model refuses them: what they need is there, and a guard
may be wrong.
"""

UNMAPPED: Mapping[str, str] = {
    "ask_deposed_controller": "one controller runs, which is the active one",
    "ask_end_offset": "asks, and changes nothing",
    "ask_for_metadata": "asks, and changes nothing",
    "answer_deletion": "asks, and changes nothing; a leader's low watermark is compared after each step",
    "find_in_sync": "a moment in the middle of Partition#maybeExpandIsr",
    "ask_where_to_truncate": "gone from all releases with KRaft",
    "expand_isr": "gone with ZooKeeper",
    "shrink_isr": "gone with ZooKeeper",
    "shrink_isr_jointly": "gone with ZooKeeper",
    "lose_written_isr": "gone with ZooKeeper",
}
"""Actions that no call stands for, and why."""
