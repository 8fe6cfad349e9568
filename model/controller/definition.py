"""The model as a whole: its bounds, its state and its steps."""

from __future__ import annotations

from model.controller import broker_changes, failover, in_sync_replicas, leadership, reassignment, registrations, replica_manager, topics
from model.controller.bounds import ControllerBounds
from model.controller.protocol import LAST_RELEASES, PRESETS, RELEASES, ControllerProtocol, IsrPath
from model.controller.state import Cluster, initial_states
from model.declarations import Action
from model.definition import Definition, Model

PERTURBATIONS = (
    failover.controller_crashes,
    failover.controller_is_deposed,
    failover.is_elected_unknowingly,
    failover.learns_successors_epoch,
    leadership.handles_notification_after_resigning,
    registrations.broker_crashes,
    registrations.broker_crashes_with_loss,
    registrations.broker_session_expires,
    replica_manager.fails_to_take_role,
    replica_manager.overtakes,
    replica_manager.deletes_replica_and_resigns_late,
    in_sync_replicas.shrinks_isr,
)
REQUESTS = (
    topics.creates_topic,
    topics.asks_for_deletion,
    topics.asks_for_partition,
    reassignment.asks_for_reassignment,
    leadership.asks_for_preferred_leader,
    broker_changes.shuts_broker_down,
    in_sync_replicas.commits,
)
RETURNS = (registrations.broker_starts,)
HEALING = (
    replica_manager.receives,
    replica_manager.resigns_as_coordinator,
    failover.takes_step,
    topics.reads_answer,
    broker_changes.notices_brokers,
    topics.notices_topic,
    topics.notices_deletion,
    topics.takes_added_partition_back,
    reassignment.notices_reassignment,
    reassignment.notices_caught_up_replicas,
    leadership.notices_isr,
    leadership.elects_preferred_leader,
    failover.resigns,
    failover.is_elected,
    failover.finds_itself_elected,
    in_sync_replicas.catches_up,
    in_sync_replicas.expands_isr,
    in_sync_replicas.repairs_isr,
    in_sync_replicas.answers_alter_partition,
    registrations.broker_registers_again,
    registrations.broker_exits,
)
"""What happens by itself in a cluster that nobody disturbs; together with `RETURNS` where every broker comes back."""

ACTIONS = HEALING + RETURNS + REQUESTS + PERTURBATIONS


def define(protocol: ControllerProtocol) -> Definition:
    """The transition system of controllers and brokers."""
    return Definition(ControllerBounds, Cluster, initial_states, tuple(action for action in ACTIONS if _exists(action, protocol)))


def _exists(action: Action, protocol: ControllerProtocol) -> bool:
    """Whether the protocol has the step: what only one way of changing the ISR needs is no part of the other."""
    return action is not in_sync_replicas.answers_alter_partition or protocol.isr_path is IsrPath.ALTER_PARTITION


CONTROLLER = Model(
    "controller",
    "Kafka's controller with ZooKeeper: both state machines, elections, creation and deletion, reassignment, fail-over.",
    ControllerProtocol,
    define,
    PRESETS,
    RELEASES,
    LAST_RELEASES,
)
