"""The controller asks its state machines only for transitions that they have."""

from __future__ import annotations

from highwater.model.controller.state import Cluster
from highwater.model.language.declarations import Witness, invariant


@invariant()
def state_machines_make_legal_transitions(cluster: Cluster) -> bool | Witness:
    """The controller never asks a state machine for a transition that it does not have.

    Kind: state, of the past.
    When false: Kafka logs an error and skips the transition and its effects.
    Source: S19.
    """
    edge = next(iter(sorted(cluster.history.illegal_edges, key=str)), None)
    return edge is None or Witness("the controller asks to take a {edge}", edge=str(edge))


@invariant()
def dead_replicas_can_be_declared_ineligible(cluster: Cluster) -> bool | Witness:
    """The controller can declare a replica on a dead broker ineligible for deletion.

    Kind: state, of the past.
    When false: the replica stays offline, and only the topic's ineligibility makes the controller retry its deletion.
    Source: S19; KAFKA-8237.
    """
    return not any(edge.is_offline_to_ineligible for edge in cluster.history.illegal_edges) or Witness(
        "an offline replica cannot be declared ineligible for deletion"
    )
