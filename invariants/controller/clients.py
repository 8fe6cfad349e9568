"""Brokers act on the newest request, serve metadata that do not go back, and coordinate if they lead."""

from __future__ import annotations

from highwater.model.controller.brokers import Broker, Role
from highwater.model.controller.state import Cluster
from highwater.model.language.declarations import Witness, invariant, step_property
from highwater.model.log import brokers


@invariant(broker=brokers)
def brokers_act_on_the_newest_request(cluster: Cluster, broker: int) -> bool | Witness:
    """A broker leads if, and only if, the newest request that it accepted names it as leader.

    Kind: state.
    When false: it serves clients although it knows its successor, or does not serve them although it should.
    Source: KAFKA-14296, KAFKA-1483.
    """
    ours: Broker = cluster.brokers[broker]
    if ours.role not in (Role.LEADER, Role.FOLLOWER) or (ours.role is Role.LEADER) == (ours.leader == broker):
        return True
    return Witness("b{broker} is a {role} against the newest request", broker=broker, role=ours.role.value)


@step_property(broker=brokers)
def served_metadata_never_goes_back(before: Cluster, after: Cluster, broker: int) -> bool | Witness:
    """The leader epoch in the metadata that a broker serves never decreases, unless the broker restarts or the topic is
    created again.

    Kind: step.
    When false: clients go back to a deposed leader.
    Source: kafka.server.ReplicaManager#maybeUpdateMetadataCache (3.5).
    """
    old, new = before.brokers[broker].metadata, after.brokers[broker].metadata
    if old is None or new is None or new.leader_epoch >= old.leader_epoch or before.zk.topic_id != after.zk.topic_id:
        return True
    return Witness("b{broker} serves metadata of leader epoch {epoch} again", broker=broker, epoch=new.leader_epoch)


@invariant(broker=brokers)
def named_leaders_are_alive(cluster: Cluster, broker: int) -> bool | Witness:
    """A broker knows of no leader that it does not take for alive.

    Kind: state.
    When false: clients that ask this broker get LEADER_NOT_AVAILABLE, although it knows the leader.
    Source: kafka.server.MetadataCache#getPartitionMetadata, #updateCache (0.10.2.0).
    """
    ours = cluster.brokers[broker]
    if ours.metadata is None or ours.metadata.leader is None or ours.metadata.leader not in ours.dead:
        return True
    return Witness("b{broker} knows b{leader} to lead, and not to be alive", broker=broker, leader=ours.metadata.leader)


@invariant(leader=brokers)
def leaders_coordinate(cluster: Cluster, leader: int) -> bool | Witness:
    """Every leader is also coordinator: it has loaded the groups or transactions of the partition.

    Kind: state.
    When false: clients look for their coordinator at the leader, and are refused there until the next change of leader.
    Source: KAFKA-10614.
    """
    broker = cluster.brokers[leader]
    if not broker.leads or broker.coordinates:
        return True
    return Witness("b{leader} leads, and is not coordinator", leader=leader)


@invariant(broker=brokers)
def only_leaders_coordinate(cluster: Cluster, broker: int) -> bool | Witness:
    """Every coordinator leads as far as it knows, unless its resignation is delayed.

    Kind: state.
    When false: clients stay with an old coordinator, which answers from outdated state.
    Source: KAFKA-4362, KAFKA-9235.
    """
    ours = cluster.brokers[broker]
    if not ours.running or not ours.coordinates or ours.role is Role.LEADER or ours.resigning is not None:
        return True
    return Witness("b{broker} is coordinator, and its role is {role}", broker=broker, role=ours.role.value)
