"""The transition system of the controller model under each protocol."""

from __future__ import annotations

import functools

from highwater.model.controller import (
    broker_changes,
    failover,
    in_sync_replicas,
    leadership,
    reassignment,
    registrations,
    replica_manager,
    topics,
)
from highwater.model.controller.bounds import ControllerBounds
from highwater.model.controller.protocol import ControllerProtocol, IsrPath
from highwater.model.controller.releases import LAST_RELEASES, PRESETS, RELEASES
from highwater.model.controller.state import Cluster, initial_states
from highwater.model.language.declarations import Action
from highwater.model.language.definition import Definition, Model

PERTURBATIONS = (
    failover.crash_controller,
    failover.depose_controller,
    failover.elect_controller_unnoticed,
    failover.learn_successors_epoch,
    leadership.handle_notification_after_resigning,
    registrations.crash_broker,
    registrations.crash_broker_with_loss,
    registrations.expire_broker_session,
    registrations.get_no_answer,
    replica_manager.fail_to_take_role,
    replica_manager.overtake,
    replica_manager.delete_replica_and_resign_late,
    in_sync_replicas.shrink_isr,
    in_sync_replicas.lose_isr_answer,
)
REQUESTS = (
    topics.create_topic,
    topics.request_deletion,
    topics.request_partition,
    reassignment.request_reassignment,
    leadership.request_preferred_leader,
    broker_changes.shut_down_broker,
    in_sync_replicas.commit,
)
RETURNS = (registrations.start_broker,)
HEALING = (
    replica_manager.receive,
    replica_manager.resign_as_coordinator,
    failover.take_next_step,
    topics.read_answer,
    broker_changes.notice_brokers,
    topics.notice_topic,
    topics.notice_deletion,
    topics.take_back_added_partition,
    reassignment.notice_reassignment,
    reassignment.notice_caught_up_replicas,
    leadership.notice_isr,
    leadership.elect_preferred_leader,
    failover.resign,
    failover.elect_controller,
    failover.find_itself_elected,
    in_sync_replicas.catch_up,
    in_sync_replicas.expand_isr,
    in_sync_replicas.repair_isr,
    in_sync_replicas.answer_alter_partition,
    registrations.register_broker_again,
    broker_changes.shut_down_broker_again,
    registrations.exit_broker,
)
"""What happens by itself in a cluster that nobody disturbs; together with `RETURNS` where every broker comes back."""

ACTIONS = HEALING + RETURNS + REQUESTS + PERTURBATIONS


def define(protocol: ControllerProtocol) -> Definition:
    """The transition system of controllers and brokers."""
    actions = tuple(action for action in ACTIONS if _exists(action, protocol))
    return Definition(
        ControllerBounds,
        Cluster,
        functools.partial(initial_states, isr_in_metadata=protocol.isr_in_metadata),
        actions,
        properties="highwater.invariants.controller.catalogue:CONTROLLER",
    )


def _exists(action: Action, protocol: ControllerProtocol) -> bool:
    """Whether a step exists under the protocol. Some belong to only one way of changing the ISR."""
    answers = (in_sync_replicas.answer_alter_partition, in_sync_replicas.lose_isr_answer)
    return action not in answers or protocol.isr_path is IsrPath.ALTER_PARTITION


CONTROLLER = Model(
    "controller",
    (
        "Kafka's controller with ZooKeeper: both state machines, elections, creation and deletion, reassignment, "
        "fail-over."
    ),
    ControllerProtocol,
    define,
    PRESETS,
    RELEASES,
    LAST_RELEASES,
)
