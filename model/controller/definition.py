"""The model as a whole: its bounds, its state and its steps."""

from __future__ import annotations

from model.controller import brokers, controlling
from model.controller.protocol import ControllerProtocol
from model.controller.state import Cluster, ControllerBounds, initial_states
from model.definition import Definition

PERTURBATIONS = (
    controlling.controller_crashes,
    controlling.controller_is_deposed,
    controlling.is_elected_unknowingly,
    controlling.learns_successors_epoch,
    brokers.broker_crashes,
    brokers.broker_session_expires,
    brokers.fails_to_take_role,
    brokers.overtakes,
    brokers.shrinks_isr,
)
REQUESTS = (
    controlling.creates_topic,
    controlling.asks_for_deletion,
    controlling.asks_for_reassignment,
    controlling.asks_for_preferred_leader,
    controlling.shuts_broker_down,
    brokers.commits,
)
RETURNS = (brokers.broker_starts,)
HEALING = (
    brokers.receives,
    controlling.takes_step,
    controlling.reads_answer,
    controlling.notices_brokers,
    controlling.notices_topic,
    controlling.notices_deletion,
    controlling.notices_reassignment,
    controlling.notices_caught_up_replicas,
    controlling.notices_isr,
    controlling.elects_preferred_leader,
    controlling.resigns,
    controlling.is_elected,
    controlling.finds_itself_elected,
    brokers.catches_up,
    brokers.expands_isr,
    brokers.repairs_isr,
    brokers.broker_registers_again,
    brokers.broker_exits,
)
"""What happens by itself in a cluster that nobody disturbs; together with `RETURNS` where every broker comes back."""

ACTIONS = HEALING + RETURNS + REQUESTS + PERTURBATIONS


def define(protocol: ControllerProtocol) -> Definition:
    """The transition system of controllers and brokers."""
    return Definition(ControllerBounds, Cluster, initial_states, ACTIONS)
