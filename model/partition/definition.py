"""The transition system of the partition model under each protocol."""

from __future__ import annotations

import functools

from model.definition import Definition
from model.partition import clients, controlling, failures, fetching, in_sync_replicas, leadership
from model.partition.protocol import Flush, IsrPath, PartitionProtocol, Truncation
from model.partition.state import Partition, PartitionBounds, all_brokers, initial_states

CLIENTS = (clients.produce, clients.consume, clients.ask_end_offset, clients.delete_old_records)
FETCHING = (
    fetching.fetch_at_once,
    fetching.fetch,
    fetching.send_fetch,
    fetching.serve_fetch,
    fetching.receive_fetch,
    fetching.lose_fetch,
    fetching.handle_out_of_range,
)
CONTROL = (
    leadership.learn_leadership,
    controlling.fence,
    controlling.unfence,
    controlling.elect,
    controlling.move_leadership,
    controlling.begin_controlled_shutdown,
    controlling.remove_replica,
    controlling.add_replica,
)
FAILURES = (failures.crash, failures.end_controlled_shutdown, failures.restart, failures.checkpoint_high_watermark)
BY_CONTROLLER = (
    in_sync_replicas.propose_expansion,
    in_sync_replicas.propose_shrink,
    in_sync_replicas.alter_partition,
    in_sync_replicas.receive_isr_answer,
    in_sync_replicas.lose_isr_answer,
    in_sync_replicas.ask_deposed_controller,
    leadership.learn_isr,
)
BY_ZOOKEEPER = (in_sync_replicas.expand_isr, in_sync_replicas.shrink_isr)


def define(protocol: PartitionProtocol) -> Definition:
    """The partition model under one protocol: steps that the protocol cannot take are left out."""
    looks_up = protocol.truncation in (Truncation.EPOCH_101, Truncation.EPOCH_279)
    asks_controller = protocol.isr_path is IsrPath.ALTER_PARTITION
    actions = (
        *CLIENTS,
        *FETCHING,
        *((fetching.ask_where_to_truncate,) if looks_up else ()),
        *(BY_CONTROLLER if asks_controller else BY_ZOOKEEPER),
        *((in_sync_replicas.find_in_sync,) if asks_controller and not protocol.leader_snapshot_atomic else ()),
        in_sync_replicas.outlast_lag_time,
        *CONTROL,
        *((controlling.elect_uncleanly,) if protocol.unclean_election else ()),
        *FAILURES,
        *((failures.crash_with_loss,) if protocol.flush is Flush.ASYNC else ()),
    )
    return Definition(PartitionBounds, Partition, functools.partial(initial_states, protocol=protocol), actions, all_brokers)
