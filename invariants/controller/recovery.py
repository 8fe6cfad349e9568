"""What must stay possible around the controller: requests of clients can complete, and the cluster can recover.

*Once every broker is back* means: along steps that a cluster takes by itself, and restarts of brokers. *Even if no
broker comes back* means: along the former alone.
"""

from __future__ import annotations

from highwater.invariants.controller import goals
from highwater.invariants.controller.terms import is_going_away
from highwater.model.controller.definition import HEALING, RETURNS
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.registrations import exit_broker
from highwater.model.controller.state import Cluster
from highwater.model.language.declarations import Witness
from highwater.model.language.graph_properties import prospect
from highwater.model.log import brokers


@prospect(along=HEALING + RETURNS)
def a_leader_can_act(cluster: Cluster) -> bool | Witness:
    """The partition can get a leader that leads in the current leader epoch, once every broker is back.

    Kind: prospect.
    When lost: no client can write or read until an operator repairs the partition.
    Source: L1; KIP-380, KAFKA-14808.
    """
    return goals.a_leader_acts(cluster) or Witness("whatever the cluster does by itself, the partition gets no leader")


@prospect(along=HEALING + RETURNS, broker=brokers)
def assigned_brokers_can_take_their_role(cluster: Cluster, broker: int) -> bool | Witness:
    """Every assigned broker can get to lead or follow in the current leader epoch, once every broker is back.

    Kind: prospect.
    When lost: the replica stays idle until the next election or restart.
    Source: L2, L8; KIP-380, KAFKA-9769.
    """
    return goals.has_its_role(cluster, broker) or Witness(
        "whatever the cluster does by itself, b{broker} takes up no role", broker=broker
    )


@prospect(along=tuple(step for step in HEALING if step is not exit_broker), broker=brokers)
def deposed_leaders_can_learn_of_their_successor(cluster: Cluster, broker: int) -> bool | Witness:
    """A deposed leader can learn of its successor before it exits.

    Kind: prospect.
    When lost: it appends records that are never acknowledged, and serves clients until it exits.
    Source: KAFKA-7482.
    """
    ours, leadership = cluster.brokers[broker], cluster.zk.leadership
    if is_going_away(cluster) or not ours.leads or leadership is None or leadership.leader in (None, broker):
        return True
    return Witness("whatever the cluster does by itself, b{broker} leads until it exits", broker=broker)


@prospect(along=HEALING + RETURNS, broker=brokers)
def assigned_brokers_can_join_the_isr(cluster: Cluster, broker: int) -> bool | Witness:
    """Every assigned broker can join the ISR, once every broker is back.

    Kind: prospect.
    When lost: the partition stays under-replicated.
    Source: L2; KIP-380.
    """
    leadership = cluster.zk.leadership
    if (
        is_going_away(cluster)
        or broker not in cluster.zk.assignment
        or (leadership is not None and broker in leadership.isr)
    ):
        return True
    return Witness("whatever the cluster does by itself, b{broker} does not join the ISR", broker=broker)


@prospect(along=HEALING + RETURNS, broker=brokers)
def unassigned_brokers_can_leave_the_isr(cluster: Cluster, broker: int) -> bool | Witness:
    """Every broker that is not assigned can leave the ISR, once every broker is back.

    Kind: prospect.
    When lost: the high watermark waits for it for ever.
    Source: S16; KAFKA-9672.
    """
    leadership = cluster.zk.leadership
    if is_going_away(cluster) or broker in cluster.zk.assignment or leadership is None or broker not in leadership.isr:
        return True
    return Witness("whatever the cluster does by itself, b{broker} is not assigned and stays in the ISR", broker=broker)


@prospect(along=HEALING + RETURNS, broker=brokers)
def unassigned_brokers_can_drop_their_replica(cluster: Cluster, broker: int) -> bool | Witness:
    """Every broker that is not assigned can delete its replica, once every broker is back.

    Kind: prospect.
    When lost: a stray replica uses disk space for ever, and a later topic of the same name may find it.
    Source: L6; KAFKA-13972.
    """
    return goals.has_no_stray_replica(cluster, broker) or Witness(
        "whatever the cluster does by itself, b{broker} keeps a replica that is not assigned to it", broker=broker
    )


def _is_reassigned(cluster: Cluster) -> bool | Witness:
    return goals.is_reassigned(cluster) or Witness(
        "whatever the cluster does by itself, the reassignment to {target} does not complete",
        target=sorted(cluster.history.target),
    )


@prospect(along=HEALING + RETURNS, needs=lambda bounds: bounds.reassignments)
def reassignment_can_complete(cluster: Cluster) -> bool | Witness:
    """The last requested reassignment can complete, once every broker is back.

    Kind: prospect.
    When lost: it hangs, or the controller has forgotten it half-way.
    Source: L6; KAFKA-4214, KAFKA-14808.
    """
    return _is_reassigned(cluster)


@prospect(along=HEALING, needs=lambda bounds: bounds.reassignments)
def reassignment_can_complete_without_returns(cluster: Cluster) -> bool | Witness:
    """The last requested reassignment can complete even if no broker comes back, as long as the new replicas and a
    member of the ISR run.

    Kind: prospect.
    When lost: it hangs until a dead broker is back, which may be the one that it replaces.
    Source: L6; KAFKA-19975.
    """
    return goals.lacks_what_a_reassignment_needs(cluster) or _is_reassigned(cluster)


def _is_deleted(cluster: Cluster) -> bool | Witness:
    return not cluster.zk.deletion or Witness("whatever the cluster does by itself, the deletion does not complete")


@prospect(along=HEALING + RETURNS, needs=lambda bounds: bounds.deletions)
def deletion_can_complete(cluster: Cluster) -> bool | Witness:
    """A requested deletion can complete, once every broker is back.

    Kind: prospect.
    When lost: the topic can neither be used nor created again.
    Source: L7a; KAFKA-1681, KAFKA-6650.
    """
    return _is_deleted(cluster)


@prospect(along=HEALING, needs=lambda bounds: bounds.deletions)
def deletion_can_complete_without_returns(cluster: Cluster) -> bool | Witness:
    """A requested deletion can complete even if no broker comes back.

    Kind: prospect.
    When lost: the deletion waits for dead brokers, as in all releases with ZooKeeper.
    Source: L7b; KAFKA-10548.
    """
    return _is_deleted(cluster)


@prospect(along=HEALING + RETURNS, broker=brokers)
def metadata_can_converge(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> bool | Witness:
    """Every broker can get to serve metadata of the current leader and leader epoch, once every broker is back.

    Kind: prospect.
    When lost: that broker sends clients to one that does not lead, or they are fenced for ever.
    Source: L8.
    """
    return _has_current_leadership(cluster, broker, protocol)


@prospect(along=HEALING, broker=brokers)
def metadata_can_converge_without_returns(
    cluster: Cluster, broker: int, protocol: ControllerProtocol
) -> bool | Witness:
    """Every running broker can get to serve metadata of the current leader and leader epoch even if no broker comes
    back.

    Kind: prospect.
    When lost: clients are fenced for as long as a reassignment waits for a dead broker.
    Source: L8, L12; KAFKA-9212.
    """
    return not cluster.brokers[broker].running or _has_current_leadership(cluster, broker, protocol)


def _has_current_leadership(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> bool | Witness:
    return goals.has_current_metadata(cluster, broker, protocol) or Witness(
        "whatever the cluster does by itself, b{broker} serves outdated metadata", broker=broker
    )


@prospect(along=HEALING + RETURNS)
def a_controller_can_act(cluster: Cluster) -> bool | Witness:
    """A controller can be active in the current controller epoch.

    Kind: prospect.
    When lost: a broker owns /controller, and no controller is active.
    Source: L9; KAFKA-1387, KAFKA-13407.
    """
    return goals.a_controller_acts(cluster) or Witness("whatever the cluster does by itself, no controller is active")


@prospect(along=HEALING + RETURNS, leader=brokers)
def isr_changes_can_be_settled(cluster: Cluster, leader: int) -> bool | Witness:
    """The controller can write a leader's ISR change, or the leader can take it back or learn of a newer leader epoch.

    Kind: prospect.
    When lost: the leader asks for no other change, and the ISR stays as it is until the next election.
    Source: L5; KAFKA-14154.
    """
    if cluster.brokers[leader].change is None:
        return True
    return Witness("whatever the cluster does by itself, b{leader} waits for an answer", leader=leader)


@prospect(along=HEALING, needs=lambda bounds: bounds.partition_additions)
def added_partitions_can_be_settled_without_returns(cluster: Cluster) -> bool | Witness:
    """A partition that was added to a topic during its deletion can be removed or deleted with it, even if no broker
    comes back.

    Kind: prospect.
    When lost: ZooKeeper has an assignment of a partition that no broker hosts and no controller creates.
    Source: L7; KAFKA-6612.
    """
    return not cluster.zk.partition_added or Witness(
        "whatever the cluster does by itself, the added partition stays in ZooKeeper"
    )
