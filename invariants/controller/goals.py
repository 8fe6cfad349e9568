"""What requests and failures are to lead back to: goals that prospects say can be reached, and liveness properties say
are reached.
"""

from __future__ import annotations

from highwater.invariants.controller.terms import is_going_away
from highwater.model.controller.brokers import Role
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.state import Cluster


def a_leader_acts(cluster: Cluster) -> bool:
    """Whether a leader leads in the current leader epoch, as far as the topic is there."""
    leadership = cluster.zk.leadership
    if is_going_away(cluster):
        return True
    if leadership is None or leadership.leader is None:
        return False
    broker = cluster.brokers[leadership.leader]
    return broker.leads and broker.leader_epoch == leadership.leader_epoch


def is_not_led(cluster: Cluster) -> bool:
    """Whether the topic is there, and no leader leads in the current leader epoch."""
    return not a_leader_acts(cluster)


def has_its_role(cluster: Cluster, broker: int) -> bool:
    """Whether a broker leads or follows in the current leader epoch, if it is to."""
    ours, leadership = cluster.brokers[broker], cluster.zk.leadership
    if is_going_away(cluster) or broker not in cluster.zk.assignment:
        return True
    return (
        leadership is not None
        and ours.role in (Role.LEADER, Role.FOLLOWER)
        and ours.leader_epoch == leadership.leader_epoch
    )


def is_reassigned(cluster: Cluster) -> bool:
    """Whether the last requested reassignment is complete, if there was one."""
    zk, target = cluster.zk, cluster.history.target
    return is_going_away(cluster) or not target or (zk.reassignment is None and frozenset(zk.assignment) == target)


def lacks_what_a_reassignment_needs(cluster: Cluster) -> bool:
    """Whether a new replica is down, or all of the ISR."""
    reassignment, leadership = cluster.zk.reassignment, cluster.zk.leadership
    if reassignment is not None and not all(cluster.brokers[replica].running for replica in reassignment.adding):
        return True
    return leadership is None or not any(cluster.brokers[member].running for member in leadership.isr)


def has_current_metadata(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> bool:
    """Whether a broker serves metadata of the current leader and leader epoch."""
    leadership, known = cluster.zk.leadership, cluster.brokers[broker].metadata
    if not protocol.update_metadata or is_going_away(cluster) or leadership is None:
        return True
    return known is not None and known.leader == leadership.leader and known.leader_epoch == leadership.leader_epoch


def knows_live_brokers(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> bool:
    """Whether a broker takes those brokers for alive that are registered."""
    missing = frozenset(each for each in cluster.ids if cluster.zk.registrations[each] is None)
    return not protocol.live_brokers or cluster.brokers[broker].dead == missing


def knows_the_isr(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> bool:
    """Whether a broker answers clients with the ISR that ZooKeeper has."""
    leadership, known = cluster.zk.leadership, cluster.brokers[broker].metadata
    if not protocol.isr_in_metadata or is_going_away(cluster) or leadership is None:
        return True
    return known is not None and known.isr == leadership.isr


def finds_the_leader(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> bool:
    """Whether a broker answers clients with a leader that it takes for alive, if the topic has one."""
    leadership, ours = cluster.zk.leadership, cluster.brokers[broker]
    if not protocol.live_brokers or is_going_away(cluster) or leadership is None or leadership.leader is None:
        return True
    return ours.metadata is not None and ours.metadata.leader is not None and ours.metadata.leader not in ours.dead


def a_controller_acts(cluster: Cluster) -> bool:
    """Whether a controller is active in the current controller epoch."""
    owner = cluster.zk.controller
    return (
        owner is not None
        and cluster.controllers[owner].active
        and cluster.controllers[owner].epoch == cluster.zk.controller_epoch
    )


def has_no_stray_replica(cluster: Cluster, broker: int) -> bool:
    """Whether a broker has no replica that is not assigned to it."""
    return broker in cluster.zk.assignment or cluster.brokers[broker].log is None


def has_shut_down(cluster: Cluster, broker: int) -> bool:
    """Whether a broker that shuts down has exited, and another one leads or may lead in its place: it is no leader, and
    in the ISR only where nobody else is.
    """
    ours, leadership = cluster.brokers[broker], cluster.zk.leadership
    if ours.running:
        return not ours.leaving
    if is_going_away(cluster) or leadership is None:
        return True
    return leadership.leader != broker and (broker not in leadership.isr or len(leadership.isr) == 1)
