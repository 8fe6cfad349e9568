"""What should hold around the controller: one leader, a sound ISR, fencing, legal edges, and no data lost or revived."""

from __future__ import annotations

from model.controller.partition_states import PartitionState
from model.controller.state import Broker, Cluster, Mishap, Role, controllers
from model.domain import Witness, invariant, step_property
from model.log import NO_EPOCH, brokers


def _never(cluster: Cluster, mishap: Mishap) -> bool | Witness:
    return Witness(mishap.value) if mishap in cluster.history.mishaps else True


def _is_going_away(cluster: Cluster) -> bool:
    """Whether the topic is being deleted, or is not there."""
    return cluster.zk.deletion or not cluster.zk.assignment


@invariant(first=brokers, second=brokers)
def one_leader_per_epoch(cluster: Cluster, first: int, second: int) -> bool | Witness:
    """No two brokers lead the same topic's partition in the same leader epoch.

    Kind: state.
    When false: both accept writes that the other's followers may fetch; two histories go by one epoch.
    Source: S9; KAFKA-532, KAFKA-6082.
    """
    if first >= second:
        return True
    ours, theirs = cluster.brokers[first], cluster.brokers[second]
    if not ours.leads or not theirs.leads or ours.leader_epoch != theirs.leader_epoch or ours.topic_id != theirs.topic_id:
        return True
    return Witness("b{first} and b{second} both lead in leader epoch {epoch}", first=first, second=second, epoch=ours.leader_epoch)


@invariant()
def leader_is_in_isr(cluster: Cluster) -> bool | Witness:
    """The leader in ZooKeeper is in the ISR, which is never empty.

    Kind: state.
    When false: nobody who may lead is left, or somebody leads who may lack committed records.
    Source: S16; kafka.controller.ZkReplicaStateMachine#doRemoveReplicasFromIsr (3.5).
    """
    leadership = cluster.zk.leadership
    if leadership is None or leadership.leader is None:
        return leadership is None or bool(leadership.isr) or Witness("the ISR is empty")
    return leadership.leader in leadership.isr or Witness("b{leader} leads and is not in the ISR", leader=leadership.leader)


@invariant(broker=brokers)
def isr_within_assignment(cluster: Cluster, broker: int) -> bool | Witness:
    """Every member of the ISR is assigned.

    Kind: state.
    When false: the high watermark waits for a broker that nobody will tell to fetch, or that is told to delete its log.
    Source: S16; KAFKA-1097, KAFKA-9672.
    """
    zk = cluster.zk
    if zk.leadership is None or broker not in zk.leadership.isr or broker in zk.assignment or not zk.assignment:
        return True
    return Witness("b{broker} is in the ISR and not assigned", broker=broker)


@invariant(controller=controllers, broker=brokers)
def known_dead_brokers_leave_the_isr(cluster: Cluster, controller: int, broker: int) -> bool | Witness:
    """Once the controller knows that a broker is dead, and it is, it is not in an ISR of more than one, and does not lead.

    Kind: state.
    When false: acks=all waits for a dead broker, or nobody is asked to lead in place of one.
    Source: S16; KAFKA-13173, KAFKA-708.
    """
    context, zk = cluster.controllers[controller], cluster.zk
    if not context.active or context.epoch != zk.controller_epoch or context.live[broker] is not None or context.deleting:
        return True
    if cluster.brokers[broker].running or context.step is not None or zk.reassignment is not None or _is_going_away(cluster):
        return True
    if zk.leadership is None:
        return True
    if zk.leadership.leader == broker:
        return Witness("b{broker} is dead and leads", broker=broker)
    if broker not in zk.leadership.isr or len(zk.leadership.isr) == 1:
        return True
    return Witness("b{broker} is dead and in an ISR of {size}", broker=broker, size=len(zk.leadership.isr))


@invariant(controller=controllers)
def online_partition_has_live_leader_in_isr(cluster: Cluster, controller: int) -> bool | Witness:
    """While the current controller holds a partition for online that is to stay, it knows a leader that is live and in the ISR.

    Kind: state.
    When false: nobody will hold an election for a partition that needs one.
    Source: kafka.controller.PartitionStateMachine (3.5).
    """
    context = cluster.controllers[controller]
    if context.partition is not PartitionState.ONLINE or context.deleting or context.step is not None:
        return True
    if context.epoch != cluster.zk.controller_epoch:
        return True
    leadership = context.leadership
    if leadership is None or leadership.leader is None:
        return Witness("c{controller} holds the partition for online without a leader", controller=controller)
    if leadership.leader not in leadership.isr:
        return Witness("c{controller} knows b{leader} to lead outside the ISR", controller=controller, leader=leadership.leader)
    if context.live[leadership.leader] is None:
        return Witness("c{controller} knows the leader b{leader} to be dead", controller=controller, leader=leadership.leader)
    return True


@invariant()
def only_the_current_controller_writes(cluster: Cluster) -> bool | Witness:
    """No controller whose epoch is below the current one changes what ZooKeeper holds.

    Kind: state, of the past.
    When false: two controllers' decisions interleave.
    Source: S17; KAFKA-6082.
    """
    return _never(cluster, Mishap.STALE_WRITE)


@invariant(first=controllers, second=controllers)
def one_controller_per_epoch(cluster: Cluster, first: int, second: int) -> bool | Witness:
    """No two controllers act under the same controller epoch.

    Kind: state.
    When false: brokers and ZooKeeper cannot tell their requests apart.
    Source: S17; KAFKA-1096.
    """
    if first >= second:
        return True
    ours, theirs = cluster.controllers[first], cluster.controllers[second]
    if not ours.active or not theirs.active or ours.epoch != theirs.epoch:
        return True
    return Witness("c{first} and c{second} both act under controller epoch {epoch}", first=first, second=second, epoch=ours.epoch)


@invariant()
def stale_requests_change_nothing(cluster: Cluster) -> bool | Witness:
    """No broker obeys a request of an older controller epoch, leader epoch or broker epoch than it knows.

    Kind: state, of the past.
    When false: a request that was overtaken by events undoes them.
    Source: S18; KAFKA-532, KAFKA-1188, KIP-380, KIP-570.
    """
    return _never(cluster, Mishap.STALE_REQUEST)


@step_property(broker=brokers)
def known_epochs_never_decrease(before: Cluster, after: Cluster, broker: int) -> bool | Witness:
    """Within one life of a broker, the controller epoch that it knows never decreases, nor, for one topic, does the leader epoch.

    Kind: step.
    When false: fencing by that epoch starts over.
    Source: S18.
    """
    old, new = before.brokers[broker], after.brokers[broker]
    if not new.running or new.epoch != old.epoch:
        return True
    if new.controller_epoch < old.controller_epoch:
        return Witness("b{broker} goes back to controller epoch {epoch}", broker=broker, epoch=new.controller_epoch)
    if new.leader_epoch >= old.leader_epoch or new.leader_epoch == NO_EPOCH or new.topic_id != old.topic_id:
        return True
    return Witness("b{broker} goes back to leader epoch {epoch}", broker=broker, epoch=new.leader_epoch)


@invariant()
def machines_take_declared_edges(cluster: Cluster) -> bool | Witness:
    """The controller never asks a state machine for an edge that it does not have.

    Kind: state, of the past.
    When false: Kafka logs an error and skips the change; what was to follow from it does not happen.
    Source: S19.
    """
    edge = next(iter(sorted(cluster.history.illegal_edges, key=str)), None)
    return edge is None or Witness("the controller asks to take a {edge}", edge=str(edge))


@invariant()
def dead_replicas_can_be_declared_ineligible(cluster: Cluster) -> bool | Witness:
    """The controller can declare a replica on a dead broker ineligible for deletion.

    Kind: state, of the past.
    When false: the replica stays offline, and only a second flag remembers that its deletion is to be retried.
    Source: S19; KAFKA-8237.
    """
    return not any(edge.is_offline_to_ineligible for edge in cluster.history.illegal_edges) or Witness(
        "an offline replica cannot be declared ineligible for deletion"
    )


@invariant()
def elections_are_clean(cluster: Cluster) -> bool | Witness:
    """Nobody outside the ISR is elected, unless that is allowed.

    Kind: state, of the past.
    When false: committed records may be lost.
    Source: KAFKA-13162.
    """
    return _never(cluster, Mishap.UNCLEAN_ELECTION)


@invariant()
def reassignments_keep_enough_copies(cluster: Cluster) -> bool | Witness:
    """A completing reassignment never leaves fewer in-sync replicas than min.insync.replicas, the ISR before, and the target all allow.

    Kind: state, of the past.
    When false: a single further failure loses records, or nobody can write.
    Source: S22; KAFKA-15665.
    """
    return _never(cluster, Mishap.FEWER_COPIES)


@invariant(broker=brokers)
def isr_members_hold_committed_records(cluster: Cluster, broker: int) -> bool | Witness:
    """Every assigned member of the ISR, and so everybody who may be elected, holds every committed record.

    Kind: state.
    When false: the next election may lose what consumers have seen.
    Source: S3; KAFKA-9539.
    """
    leadership = cluster.zk.leadership
    if leadership is None or broker not in leadership.isr or cluster.brokers[broker].complete or _is_going_away(cluster):
        return True
    if broker not in cluster.zk.assignment:
        return True
    if not cluster.history.committed and cluster.brokers[broker].log is None:
        return True
    return Witness("b{broker} is in the ISR and lacks committed records", broker=broker)


@invariant(leader=brokers)
def leaders_hold_committed_records(cluster: Cluster, leader: int) -> bool | Witness:
    """Whoever leads in the current leader epoch holds every committed record.

    Kind: state.
    When false: committed records are lost.
    Source: S1; issues of reassignment such as skipping the wait for new replicas.
    """
    leadership, broker = cluster.zk.leadership, cluster.brokers[leader]
    if not broker.leads or leadership is None or broker.leader_epoch != leadership.leader_epoch or broker.complete:
        return True
    if cluster.zk.deletion or broker.topic_id != cluster.zk.topic_id:
        return True
    return Witness("b{leader} leads and lacks committed records", leader=leader)


@invariant(broker=brokers)
def brokers_are_what_they_were_told(cluster: Cluster, broker: int) -> bool | Witness:
    """A broker leads if, and only if, the newest request that it accepted names it as leader.

    Kind: state.
    When false: it goes on serving clients after it learned of its successor, or does not serve them though it should.
    Source: KAFKA-14296, KAFKA-1483.
    """
    ours: Broker = cluster.brokers[broker]
    if ours.role not in (Role.LEADER, Role.FOLLOWER) or (ours.role is Role.LEADER) == (ours.leader == broker):
        return True
    return Witness("b{broker} is a {role}, and was told otherwise", broker=broker, role=ours.role.value)


@step_property(broker=brokers)
def served_metadata_never_goes_back(before: Cluster, after: Cluster, broker: int) -> bool | Witness:
    """The leader epoch that a broker tells clients never decreases while the broker and the topic live.

    Kind: step.
    When false: clients are sent back to a deposed leader.
    Source: kafka.server.ReplicaManager#maybeUpdateMetadataCache (3.5).
    """
    old, new = before.brokers[broker].metadata, after.brokers[broker].metadata
    if old is None or new is None or new.leader_epoch >= old.leader_epoch or before.zk.topic_id != after.zk.topic_id:
        return True
    return Witness("b{broker} tells clients of leader epoch {epoch} again", broker=broker, epoch=new.leader_epoch)


@invariant(broker=brokers)
def deleted_topics_leave_no_replica(cluster: Cluster, broker: int) -> bool | Witness:
    """Once the topic is gone, no broker hosts a replica of it.

    Kind: state.
    When false: a log that nobody will delete meets the next topic of that name.
    Source: kafka.controller.TopicDeletionManager, which waits for every broker.
    """
    zk, ours = cluster.zk, cluster.brokers[broker]
    if zk.assignment or not zk.topic_id or ours.log != zk.topic_id:
        return True
    return Witness("the topic is gone, and b{broker} hosts a replica of it", broker=broker)


@invariant(broker=brokers)
def deleted_records_are_not_served(cluster: Cluster, broker: int) -> bool | Witness:
    """No broker leads or follows for one topic with a log of an earlier one.

    Kind: state.
    When false: records of a deleted topic reappear in a new one.
    Source: S20; KIP-516.
    """
    ours = cluster.brokers[broker]
    if ours.role not in (Role.LEADER, Role.FOLLOWER) or ours.log == ours.topic_id:
        return True
    return Witness("b{broker} serves topic t{topic} from a log of t{log}", broker=broker, topic=ours.topic_id, log=ours.log)
