"""How followers catch up, leaders commit, and leaders change the ISR: kafka.cluster.Partition (2.0 to 3.5)."""

from __future__ import annotations

from model.controller.bounds import controllers
from model.controller.brokers import IsrChange, Role
from model.controller.events import handled, is_free
from model.controller.protocol import AheadOfController, ControllerProtocol, IsrPath
from model.controller.requests import Batch
from model.controller.state import Cluster
from model.controller.state_machines import fenced
from model.language.declarations import action
from model.language.domain import evolve
from model.log import brokers


def follows_in_same_epoch(cluster: Cluster, follower: int, leader: int) -> bool:
    """Whether the leader would serve the follower's fetches: both run and agree on leader and leader epoch
    (KIP-320).
    """
    ours, theirs = cluster.brokers[follower], cluster.brokers[leader]
    return (
        theirs.leads
        and ours.running
        and ours.role is Role.FOLLOWER
        and ours.leader == leader
        and ours.leader_epoch == theirs.leader_epoch
    )


@action(actor="follower", needs=lambda bounds: bounds.commits, follower=brokers, leader=brokers)
def catch_up(cluster: Cluster, follower: int, leader: int) -> Cluster | None:
    """A follower fetches all that its leader has.

    Actor: the follower.
    Enabled: it lacks committed records, follows in the leader's epoch, and the leader has them.
    Effect: it has every committed record.
    Abstracts: offsets; the model `partition` has them.
    """
    if follower == leader or cluster.brokers[follower].complete or not cluster.brokers[leader].complete:
        return None
    if not follows_in_same_epoch(cluster, follower, leader):
        return None
    return cluster.with_broker(follower, evolve(cluster.brokers[follower], complete=True))


@action(actor="leader", needs=lambda bounds: bounds.commits, leader=brokers)
def commit(cluster: Cluster, leader: int) -> Cluster | None:
    """A leader commits a record: every member of its maximal ISR has it.

    Actor: the leader.
    Enabled: it leads and has what was committed before, and every other member of its maximal ISR follows in its epoch
        and has, too; within the budget.
    Effect: all others lack it.
    """
    broker = cluster.brokers[leader]
    if not broker.leads or not broker.complete:
        return None
    others = (member for member in cluster.ids if member != leader and member in broker.maximal_isr)
    if not all(
        cluster.brokers[member].complete and follows_in_same_epoch(cluster, member, leader) for member in others
    ):
        return None
    after = tuple(
        each if b in broker.maximal_isr else evolve(each, complete=False) for b, each in enumerate(cluster.brokers)
    )
    return evolve(cluster, brokers=after, history=evolve(cluster.history, committed=True)).spending("commits")


def _with_isr(cluster: Cluster, leader: int, isr: frozenset[int], protocol: ControllerProtocol) -> Cluster | None:
    """The leader writes an ISR on the version that it knows, and leaves a notification; None where ZooKeeper holds
    another version.

    Since KIP-497 it asks the controller, one change at a time; None where one is on its way.
    Source: kafka.cluster.Partition#submitAlterPartition (3.5);
        kafka.utils.ReplicationUtils#updateLeaderAndIsr (0.10.2), kafka.zk.KafkaZkClient#conditionalUpdatePath (2.0).
    """
    current, broker = cluster.zk.leadership, cluster.brokers[leader]
    if protocol.isr_path is IsrPath.ALTER_PARTITION:
        return (
            None
            if broker.change is not None
            else cluster.with_broker(leader, evolve(broker, change=IsrChange(isr, given_up=False)))
        )
    if not cluster.is_registered(leader) or current is None or current.partition_epoch != broker.partition_epoch:
        return None
    version = broker.partition_epoch + 1
    cluster = cluster.with_broker(leader, evolve(broker, isr=isr, partition_epoch=version))
    return cluster.with_zk(leadership=evolve(current, isr=isr, partition_epoch=version), isr_changed=True)


@action(actor="leader", leader=brokers, follower=brokers)
def expand_isr(cluster: Cluster, leader: int, follower: int, protocol: ControllerProtocol) -> Cluster | None:
    """A leader takes a follower that has caught up into the ISR.

    Actor: the leader.
    Enabled: it leads; the follower is not in its ISR, is assigned as far as it knows, and has every committed record,
        as it fetched them in this epoch; ZooKeeper holds the version that the leader knows.
    Effect: the follower is in the ISR; a notification tells the controller.
    Source: kafka.cluster.Partition#maybeExpandIsr (2.1). A leader that does not forget removed replicas goes by what it
        remembers of their logs, and does not ask for their leader epoch (0.8).
    """
    broker = cluster.brokers[leader]
    if follower == leader or not broker.leads or follower in broker.isr or follower not in broker.replicas:
        return None
    if not cluster.brokers[follower].complete:
        return None
    remembered = not protocol.leader_forgets_removed and cluster.brokers[follower].leader == leader
    if not remembered and not follows_in_same_epoch(cluster, follower, leader):
        return None
    return _with_isr(cluster, leader, broker.isr | {follower}, protocol)


@action(actor="leader", needs=lambda bounds: bounds.shrinks, leader=brokers, follower=brokers)
def shrink_isr(cluster: Cluster, leader: int, follower: int, protocol: ControllerProtocol) -> Cluster | None:
    """A leader takes a slow follower out of the ISR.

    Actor: the leader.
    Enabled: it leads; the follower is in its ISR; ZooKeeper holds the version that the leader knows; within the budget.
    Effect: the follower is out of the ISR; a notification tells the controller. Or the controller is asked to, as in
        all three changes.
    Abstracts: replica.lag.time.max.ms; any follower may be slow at any moment.
    Source: kafka.cluster.Partition#maybeShrinkIsr (2.0).
    """
    broker = cluster.brokers[leader]
    if follower == leader or not broker.leads or follower not in broker.isr:
        return None
    shrunk = _with_isr(cluster, leader, broker.isr - {follower}, protocol)
    return None if shrunk is None else shrunk.spending("shrinks")


@action(actor="leader", needs=lambda bounds: bounds.reassignments, leader=brokers, member=brokers)
def repair_isr(cluster: Cluster, leader: int, member: int, protocol: ControllerProtocol) -> Cluster | None:
    """A leader takes a member out of the ISR that is not assigned.

    Actor: the leader.
    Enabled: it leads; the member is in its ISR and not in the assignment that it knows; ZooKeeper holds the version
        that the leader knows.
    Effect: the member is out of the ISR; a notification tells the controller.
    Source: kafka.cluster.Partition#isFollowerOutOfSync (3.0); KAFKA-9672.
    """
    broker = cluster.brokers[leader]
    if member == leader or not broker.leads or member not in broker.isr or member in broker.replicas:
        return None
    return _with_isr(cluster, leader, broker.isr - {member}, protocol) if protocol.isr_repair_unassigned else None


@action(actor="controller", controller=controllers, leader=brokers)
def answer_alter_partition(
    cluster: Cluster, controller: int, leader: int, protocol: ControllerProtocol
) -> Cluster | None:
    """A controller answers a leader that asks for another ISR.

    Actor: the controller.
    Enabled: it is free; a leader waits for an answer, and this controller has one that is more than to ask again.
    Effect: leader and ISR are written, remembered and told; or the leader takes its proposal back, if a member is not
        live; or it gives up and waits for a newer leader epoch, if the controller knows newer ones, or, with the bug,
        older ones.
    Abstracts: whom the leader takes for the controller: it may ask a deposed one. NOT_CONTROLLER and STALE_BROKER_EPOCH
        make it ask again, and change nothing. Answers are not lost.
    Source: kafka.controller.KafkaController#tryProcessAlterPartition, kafka.cluster.Partition#handleAlterPartitionError
        (3.5).
    """
    context, broker = cluster.controllers[controller], cluster.brokers[leader]
    if broker.change is None or broker.change.given_up or not broker.leads or not is_free(context):
        return None
    known, isr = context.leadership, broker.change.isr
    if context.live[leader] != broker.epoch:
        return None
    given_up = cluster.with_broker(leader, evolve(broker, change=IsrChange(isr, given_up=True)))
    if known is None or context.topic_id != broker.topic_id:
        return given_up
    if broker.partition_epoch > known.partition_epoch or broker.leader_epoch > known.leader_epoch:
        return None if protocol.ahead_of_controller_error is AheadOfController.NOT_CONTROLLER else given_up
    if broker.leader_epoch < known.leader_epoch or broker.partition_epoch < known.partition_epoch:
        return given_up
    if not all(context.is_online(member) for member in cluster.ids if member in isr):
        return cluster.with_broker(leader, evolve(broker, change=None))

    def handle(cluster: Cluster) -> Cluster:
        cluster = fenced(cluster, controller, protocol)
        if cluster.zk.leadership is None or cluster.zk.leadership.partition_epoch != known.partition_epoch:
            return given_up
        version = known.partition_epoch + 1
        written = evolve(known, isr=isr, partition_epoch=version, controller_epoch=context.epoch)
        after = cluster.with_zk(leadership=written).with_context(controller, leadership=written)
        after = after.with_broker(leader, evolve(broker, isr=isr, partition_epoch=version, change=None))
        batch = Batch(controller)
        batch.tell_metadata(after)
        return batch.sent(after, protocol)

    return handled(cluster, controller, protocol, handle)
