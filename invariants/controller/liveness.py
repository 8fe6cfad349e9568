"""What must happen around the controller sooner or later: requests of clients complete, and the cluster recovers.

A cluster that nobody disturbs takes its steps if they stay possible: controllers read notifications, handle events one
after the other and send requests, brokers handle these and answer, followers fetch, and leaders ask again for the ISR
that they want. *Once every broker is back* means that brokers start again, too. Crashes, lost sessions, depositions and
lost answers never have to happen, and their budgets end.
"""

from __future__ import annotations

from highwater.invariants.controller import goals
from highwater.model.controller.bounds import asks_again
from highwater.model.controller.definition import HEALING, RETURNS
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.state import Cluster
from highwater.model.language.declarations import Truth, Witness
from highwater.model.language.graph_properties import always_eventually, leads_to
from highwater.model.log import brokers


@always_eventually(fair=HEALING + RETURNS)
def a_leader_acts(cluster: Cluster) -> Truth:
    """The partition gets a leader that leads in the current leader epoch, once every broker is back.

    Kind: always eventually.
    When violated: no client can write or read until an operator repairs the partition.
    Source: KIP-380, KAFKA-14808.
    """
    return goals.a_leader_acts(cluster) or Witness("no leader leads in the current leader epoch")


@always_eventually(fair=HEALING + RETURNS, broker=brokers)
def assigned_brokers_take_their_role(cluster: Cluster, broker: int) -> Truth:
    """Every assigned broker leads or follows in the current leader epoch, once every broker is back.

    Kind: always eventually.
    When violated: the replica stays idle until the next election or restart.
    Source: KAFKA-1120, KIP-380, KAFKA-9769.
    """
    return goals.has_its_role(cluster, broker) or Witness("b{broker} takes up no role", broker=broker)


@always_eventually(fair=HEALING + RETURNS, broker=brokers)
def unassigned_brokers_drop_their_replica(cluster: Cluster, broker: int) -> Truth:
    """Every broker that is not assigned deletes its replica, once every broker is back.

    Kind: always eventually.
    When violated: a stray replica uses disk space for ever, and a later topic of the same name may find it.
    Source: KAFKA-13972.
    """
    return goals.has_no_stray_replica(cluster, broker) or Witness(
        "b{broker} keeps a replica that is not assigned to it", broker=broker
    )


@always_eventually(fair=HEALING + RETURNS, needs=lambda bounds: bounds.reassignments)
def reassignments_complete(cluster: Cluster) -> Truth:
    """A requested reassignment completes, once every broker is back.

    Kind: always eventually.
    When violated: it hangs, or the controller has forgotten it half-way.
    Source: KAFKA-4214, KAFKA-14808.
    """
    return _is_reassigned(cluster)


@always_eventually(fair=HEALING, needs=lambda bounds: bounds.reassignments)
def reassignments_complete_without_returns(cluster: Cluster) -> Truth:
    """A requested reassignment completes even if no broker comes back, as long as the new replicas and a member of the
    ISR run.

    Kind: always eventually.
    When violated: it hangs until a dead broker is back, which may be the one that it replaces.
    Source: KAFKA-19975.
    """
    return goals.lacks_what_a_reassignment_needs(cluster) or _is_reassigned(cluster)


def _is_reassigned(cluster: Cluster) -> Truth:
    return goals.is_reassigned(cluster) or Witness(
        "the reassignment to {target} does not complete", target=sorted(cluster.history.target)
    )


@always_eventually(fair=HEALING + RETURNS, needs=lambda bounds: bounds.deletions)
def deletions_complete(cluster: Cluster) -> Truth:
    """A requested deletion completes, once every broker is back.

    Kind: always eventually.
    When violated: the topic can neither be used nor created again.
    Source: KAFKA-1681, KAFKA-6650.
    """
    return not cluster.zk.deletion or Witness("the deletion does not complete")


@always_eventually(fair=HEALING, needs=lambda bounds: bounds.shutdowns, broker=brokers)
def shutdowns_complete(cluster: Cluster, broker: int) -> Truth:
    """A broker that shuts down exits, leads no more and leaves the ISR, even if no broker comes back.

    Kind: always eventually.
    When violated: the shutdown hangs, or the partition waits for a broker that has gone: without a leader, or with an
        ISR whose high watermark cannot move.
    Source: kafka.controller.KafkaController#doControlledShutdown (3.5), KAFKA-3143.
    """
    return goals.has_shut_down(cluster, broker) or Witness("the shutdown of b{broker} does not complete", broker=broker)


@leads_to(goals.is_not_led, fair=HEALING, needs=asks_again)
def partitions_stay_led(cluster: Cluster) -> Truth:
    """A partition that nobody leads is led at some time, even if no broker comes back.

    Kind: leads to.
    When violated: clients are refused until a broker returns.
    Source: kafka.controller.Election#leaderForOffline (2.3 to 3.9).
    """
    return not goals.is_not_led(cluster) or Witness("nobody leads until a broker returns")


@always_eventually(fair=HEALING, broker=brokers)
def metadata_converges(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> Truth:
    """Every running broker serves metadata of the current leader and leader epoch, even if no broker comes back.

    Kind: always eventually.
    When violated: that broker sends clients to one that does not lead, or they are fenced.
    Source: KAFKA-9212.
    """
    current = not cluster.brokers[broker].running or goals.has_current_metadata(cluster, broker, protocol)
    return current or Witness("b{broker} serves outdated metadata", broker=broker)


@always_eventually(fair=HEALING, broker=brokers)
def live_brokers_become_known(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> Truth:
    """Every running broker takes those brokers for alive that are registered, even if no broker comes back.

    Kind: always eventually.
    When violated: clients are sent to a broker that is gone, or one that runs is missing in the metadata; those of the
        first version of the request get REPLICA_NOT_AVAILABLE.
    Source: KAFKA-972; kafka.server.MetadataCache#getPartitionMetadata (0.10.2.0).
    """
    known = not cluster.brokers[broker].running or goals.knows_live_brokers(cluster, broker, protocol)
    return known or Witness("b{broker} does not know which brokers are alive", broker=broker)


@always_eventually(fair=HEALING, broker=brokers)
def the_isr_becomes_known(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> Truth:
    """Every running broker answers clients with the ISR that ZooKeeper has, even if no broker comes back.

    Kind: always eventually.
    When violated: clients see replicas as in sync that are not. Those of the first version of the request get
        REPLICA_NOT_AVAILABLE for as long as the ISR names a broker that is not alive.
    Source: KAFKA-1367; kafka.server.MetadataCache#getPartitionMetadata (0.10.2.0).
    """
    known = not cluster.brokers[broker].running or goals.knows_the_isr(cluster, broker, protocol)
    return known or Witness("b{broker} answers clients with an ISR that is out of date", broker=broker)


@always_eventually(fair=HEALING, broker=brokers)
def clients_find_the_leader(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> Truth:
    """Every running broker names clients a leader that it takes for alive, if there is one, even if no broker comes
    back.

    Kind: always eventually.
    When violated: clients that ask this broker get LEADER_NOT_AVAILABLE, although the partition has a leader. A broker
        that does not know the partition answers so, too, unless auto.create.topics.enable is off: then it answers
        UNKNOWN_TOPIC_OR_PARTITION.
    Source: kafka.server.MetadataCache#getPartitionMetadata, kafka.server.KafkaApis#getTopicMetadata, #createTopic
        (0.10.2.0).
    """
    found = not cluster.brokers[broker].running or goals.finds_the_leader(cluster, broker, protocol)
    return found or Witness("b{broker} names clients no live leader", broker=broker)


@always_eventually(fair=HEALING, needs=lambda bounds: bounds.deletions, broker=brokers)
def metadata_of_deleted_topics_are_dropped(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> Truth:
    """Every running broker drops the metadata of a topic that is deleted, even if no broker comes back.

    Kind: always eventually.
    When violated: clients of a topic that does not exist are sent to a broker, which refuses them.
    Source: kafka.server.MetadataCache#updateCache (0.10.2.0), which takes out a partition with the leader -2.
    """
    exists = bool(cluster.zk.assignment) or cluster.zk.deletion or not protocol.update_metadata
    ours = cluster.brokers[broker]
    dropped = exists or not ours.running or ours.metadata is None
    return dropped or Witness("b{broker} serves metadata of a topic that is deleted", broker=broker)


@always_eventually(fair=HEALING + RETURNS)
def a_controller_acts(cluster: Cluster) -> Truth:
    """A controller is active in the current controller epoch, once every broker is back.

    Kind: always eventually.
    When violated: a broker owns /controller, and no controller is active.
    Source: KAFKA-1387, KAFKA-13407.
    """
    return goals.a_controller_acts(cluster) or Witness("no controller is active")


@always_eventually(fair=HEALING + RETURNS, leader=brokers)
def isr_changes_are_settled(cluster: Cluster, leader: int) -> Truth:
    """The controller writes a leader's ISR change, or the leader takes it back or learns of a newer leader epoch.

    Kind: always eventually.
    When violated: the leader asks for no other change, and the ISR stays as it is until the next election.
    Source: KAFKA-14154.
    """
    return cluster.brokers[leader].change is None or Witness("b{leader} waits for an answer", leader=leader)
