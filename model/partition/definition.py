"""The transition system of the partition model under each protocol."""

from __future__ import annotations

import functools

import attrs

from highwater.model.language.definition import Definition, Model
from highwater.model.language.records import evolve
from highwater.model.log import NO_EPOCH
from highwater.model.partition import (
    alter_partition,
    clients,
    controlling,
    directories,
    elections,
    failures,
    fetching,
    in_sync_replicas,
    leadership,
    membership,
    reassigning,
    truncating,
    zookeeper_isr,
)
from highwater.model.partition.batches import Record
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.controlling import election_of
from highwater.model.partition.logs import appended, stopped, with_epoch_of_election
from highwater.model.partition.protocol import Acks, Flush, PartitionProtocol
from highwater.model.partition.releases import LAST_RELEASES, PRESETS, RELEASES
from highwater.model.partition.state import (
    UNKNOWN_FOLLOWER,
    Clients,
    Follower,
    Leadership,
    Partition,
    Process,
    Quorum,
    Registration,
    Replica,
    Standing,
    Used,
    all_brokers,
)

CLIENTS = (
    clients.produce,
    clients.produce_batch,
    clients.refuse_record,
    clients.give_up,
    clients.ask_for_metadata,
    clients.consume,
    clients.ask_end_offset,
    clients.delete_old_records,
    clients.answer_deletion,
)
FETCHING = (
    fetching.fetch_at_once,
    fetching.fetch,
    fetching.send_fetch,
    fetching.serve_fetch,
    fetching.receive_fetch,
    fetching.lose_fetch,
    truncating.handle_out_of_range,
)
CONTROL = (
    leadership.learn_leadership,
    controlling.fence,
    controlling.unfence,
    elections.elect,
    elections.elect_last_known_leader,
    elections.move_leadership,
    controlling.begin_controlled_shutdown,
    reassigning.remove_replica,
    reassigning.add_replica,
)
FAILURES = (
    failures.crash,
    failures.end_controlled_shutdown,
    failures.restart,
    failures.checkpoint_high_watermark,
    directories.move_replica,
)
BY_CONTROLLER = (
    in_sync_replicas.propose_expansion,
    in_sync_replicas.propose_shrink,
    in_sync_replicas.propose_joint_shrink,
    alter_partition.alter_partition,
    in_sync_replicas.receive_isr_answer,
    in_sync_replicas.lose_isr_answer,
    alter_partition.ask_deposed_controller,
)
REMOVING = (reassigning.begin_removal, alter_partition.complete_removal)
BY_ZOOKEEPER = (
    zookeeper_isr.expand_isr,
    zookeeper_isr.lose_written_isr,
    zookeeper_isr.shrink_isr,
    zookeeper_isr.shrink_isr_jointly,
)


def initial_states(bounds: PartitionBounds, protocol: PartitionProtocol) -> list[Partition]:
    """The one initial state: broker 0 leads in epoch 0, and all running brokers follow it. Members of the ISR have the
    committed records; the others have empty logs.
    """
    everyone = frozenset(range(bounds.brokers))
    up = bounds.brokers - min(bounds.initial_down, bounds.brokers - 1)
    isr = frozenset(range(min(bounds.initial_isr or up, up)))
    log = tuple(Record(number, leader_epoch=0) for number in range(bounds.initial_records))
    empty = Replica(
        process=Process.UP,
        clean=False,
        leader=0,
        leader_epoch=0,
        leadership=None,
        fetch=None,
        truncating=False,
        high_watermark=0,
        checkpoint=0,
        log_start=0,
        log=(),
        epoch_starts=(None,) * (bounds.leader_epoch_max + 1),
        followers=(UNKNOWN_FOLLOWER,) * bounds.brokers,
        changes=(),
    )
    member = functools.reduce(lambda so_far, each: appended(so_far, each, protocol), log, empty)
    member = evolve(member, high_watermark=len(log))
    replicas = [member if broker in isr else empty for broker in range(bounds.brokers)]
    replicas[up:] = [stopped(empty, protocol, Process.DOWN)] * (bounds.brokers - up)
    replicas[0] = leading(member, isr, everyone, len(log), protocol, bounds)
    active, gone = (
        Registration(standing, broker_epoch=0, since=NO_EPOCH) for standing in (Standing.ACTIVE, Standing.FENCED)
    )
    quorum = Quorum(
        leader=0,
        isr=isr,
        elr=frozenset(),
        last_known_leader=None,
        assignment=everyone,
        partition_epoch=0,
        registrations=(active,) * up + (gone,) * (bounds.brokers - up),
    )
    unused = Used(**{field.name: 0 for field in attrs.fields(Used)})
    return [
        Partition(
            tuple(replicas),
            quorum,
            (election_of(quorum),),
            next_record_id=len(log),
            clients=clients_that_saw(log, bounds, protocol),
            used=unused,
        )
    ]


def leading(
    replica: Replica,
    isr: frozenset[int],
    assignment: frozenset[int],
    known: int,
    protocol: PartitionProtocol,
    bounds: PartitionBounds,
) -> Replica:
    """The first leader. It knows the log end offsets of the ISR's members if they have records."""
    leadership = Leadership(
        isr=isr,
        assignment=assignment,
        pending=None,
        partition_epoch=0,
        ahead_of_metadata=False,
        start_offset=0,
        waiting_from=0,
        candidate=None,
    )
    in_sync = Follower(
        known, True, True, True, bool(bounds.caught_up_times), known if bounds.caught_up_times else None, broker_epoch=0
    )
    followers = tuple(
        in_sync if known and broker in isr and broker != 0 else UNKNOWN_FOLLOWER for broker in range(bounds.brokers)
    )
    return with_epoch_of_election(evolve(replica, leadership=leadership, followers=followers), 0, protocol)


def clients_that_saw(log: tuple[Record, ...], bounds: PartitionBounds, protocol: PartitionProtocol) -> Clients:
    """Clients of a partition that has these records: they are exposed and acknowledged, and nobody has read them."""
    acked = frozenset() if protocol.acks is Acks.NONE else frozenset(record.id for record in log)
    return Clients(
        exposed=log,
        acked=acked,
        rejected=frozenset(),
        commit_epoch=0 if log else NO_EPOCH,
        consumed=(None,) * (bounds.log_length_max if bounds.consumer_reads else 0),
        end_offset=0,
        end_offset_epoch=NO_EPOCH,
        producer_epoch=0 if bounds.producer_metadata else NO_EPOCH,
    )


def define(protocol: PartitionProtocol) -> Definition:
    """The partition model under one protocol: steps that the protocol cannot take are left out."""
    actions = (
        *CLIENTS,
        *FETCHING,
        *((truncating.ask_where_to_truncate,) if protocol.truncation_rules.asks else ()),
        *(BY_ZOOKEEPER if protocol.leader_writes_isr else BY_CONTROLLER),
        *(() if protocol.by_zookeeper else (leadership.learn_isr, *REMOVING)),
        *((in_sync_replicas.find_in_sync,) if not protocol.leader_writes_isr and protocol.reads_follower_twice else ()),
        membership.outlast_lag_time,
        *CONTROL,
        *((elections.elect_uncleanly,) if protocol.elects_uncleanly else ()),
        *FAILURES,
        *((failures.crash_with_loss,) if protocol.flush is Flush.ASYNC else ()),
    )
    initial = functools.partial(initial_states, protocol=protocol)
    return Definition(
        PartitionBounds, Partition, initial, actions, all_brokers, "highwater.invariants.partition.catalogue:PARTITION"
    )


PARTITION = Model(
    "partition",
    (
        "One partition message by message, from produce and fetch to elections and crashes, with every historical "
        "rule as a toggle."
    ),
    PartitionProtocol,
    define,
    PRESETS,
    RELEASES,
    LAST_RELEASES,
)
