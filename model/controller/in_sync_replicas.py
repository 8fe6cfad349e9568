"""Followers catch up, leaders commit, and leaders change the ISR: kafka.cluster.Partition (2.0 to 3.5)."""

from __future__ import annotations

from enum import Enum

from highwater.model.controller.bounds import controllers
from highwater.model.controller.brokers import Broker, IsrChange, Role
from highwater.model.controller.context import Context
from highwater.model.controller.events import is_free
from highwater.model.controller.protocol import ControllerProtocol, IsrPath
from highwater.model.controller.reassignment import maybe_completed
from highwater.model.controller.requests import metadata_sent
from highwater.model.controller.state import Cluster
from highwater.model.controller.state_machines import write_leadership
from highwater.model.controller.zookeeper import Leadership
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers
from highwater.model.partition_rules import AheadOfController, AlterPartitionError, Led, alter_partition_error


def fetches_from(cluster: Cluster, follower: int, leader: int, protocol: ControllerProtocol) -> bool:
    """Whether the leader serves the follower's fetches: both run, and agree on the leader and (KIP-320) its epoch.

    Source: kafka.cluster.Partition#readRecords (2.1), #localReplicaWithEpochOrException (2.1).
    """
    ours, theirs = cluster.brokers[follower], cluster.brokers[leader]
    if not theirs.leads or not ours.running or ours.role is not Role.FOLLOWER or ours.leader != leader:
        return False
    return ours.leader_epoch == theirs.leader_epoch or not protocol.fence_fetch


@action(actor="follower", needs=lambda bounds: bounds.commits, follower=brokers, leader=brokers)
def catch_up(cluster: Cluster, follower: int, leader: int, protocol: ControllerProtocol) -> Cluster | None:
    """A follower fetches all records of its leader.

    Actor: the follower.
    Enabled: it lacks committed records; its leader has them and serves it.
    Effect: the follower has every committed record.
    Abstracts: offsets; the model `partition` has them.
    """
    if follower == leader or cluster.brokers[follower].complete or not cluster.brokers[leader].complete:
        return None
    if not fetches_from(cluster, follower, leader, protocol):
        return None
    return cluster.with_broker(follower, evolve(cluster.brokers[follower], complete=True))


@action(actor="leader", needs=lambda bounds: bounds.commits, leader=brokers)
def commit(cluster: Cluster, leader: int, protocol: ControllerProtocol) -> Cluster | None:
    """A leader commits a record: every member of its maximal ISR has it.

    Actor: the leader.
    Enabled: it leads; every member of its maximal ISR has all records committed before and fetches from it; the budget
        allows it.
    Effect: the members of the maximal ISR have every committed record; all other brokers lack one.
    """
    broker = cluster.brokers[leader]
    if not broker.leads or not broker.complete:
        return None
    others = (member for member in cluster.ids if member != leader and member in broker.maximal_isr)
    if not all(
        cluster.brokers[member].complete and fetches_from(cluster, member, leader, protocol) for member in others
    ):
        return None
    after = tuple(
        each if b in broker.maximal_isr else evolve(each, complete=False) for b, each in enumerate(cluster.brokers)
    )
    return evolve(cluster, brokers=after, history=evolve(cluster.history, committed=True)).spending("commits")


def _with_isr(cluster: Cluster, leader: int, isr: frozenset[int], protocol: ControllerProtocol) -> Cluster | None:
    """The leader writes an ISR with the version that it knows, and leaves a notification; None if ZooKeeper has another
    version.

    Since KIP-497 it asks the controller, one change at a time; None if one is in flight.
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
    return cluster.with_zk(leadership=evolve(current, isr=isr, partition_epoch=version), isr_changed=notifies(protocol))


def notifies(protocol: ControllerProtocol) -> bool:
    """Whether a leader that has written the ISR leaves a notification for the controller.

    Source: kafka.utils.ReplicationUtils#propagateIsrChanges (0.9 to 0.11; KAFKA-1367).
    """
    return protocol.isr_changes_are_noticed


@action(actor="leader", leader=brokers, follower=brokers)
def expand_isr(cluster: Cluster, leader: int, follower: int, protocol: ControllerProtocol) -> Cluster | None:
    """A leader adds a caught-up follower to the ISR.

    Actor: the leader.
    Enabled: it leads. As far as it knows, the follower is assigned and not in the ISR. The follower has fetched every
        committed record in this epoch. ZooKeeper has the version that the leader knows.
    Effect: the follower is in the ISR; the controller gets a notification.
    Source: kafka.cluster.Partition#maybeExpandIsr (2.1). A leader that does not forget removed replicas uses the log
        end offsets that it remembers of them, and does not compare leader epochs (0.8).
    """
    broker = cluster.brokers[leader]
    if follower == leader or not broker.leads or follower in broker.isr or follower not in broker.replicas:
        return None
    if not cluster.brokers[follower].complete:
        return None
    remembered = not protocol.leader_forgets_removed and cluster.brokers[follower].leader == leader
    if not remembered and not fetches_from(cluster, follower, leader, protocol):
        return None
    return _with_isr(cluster, leader, broker.isr | {follower}, protocol)


@action(actor="leader", needs=lambda bounds: bounds.shrinks, leader=brokers, follower=brokers)
def shrink_isr(cluster: Cluster, leader: int, follower: int, protocol: ControllerProtocol) -> Cluster | None:
    """A leader removes a lagging follower from the ISR.

    Actor: the leader.
    Enabled: it leads; the follower is in its ISR; ZooKeeper has the version that the leader knows; the budget allows
        it.
    Effect: the follower is out of the ISR; the controller gets a notification. Since KIP-497 the leader asks the
        controller instead, in all three changes.
    Abstracts: replica.lag.time.max.ms: any follower may lag at any moment.
    Source: kafka.cluster.Partition#maybeShrinkIsr (2.0).
    """
    broker = cluster.brokers[leader]
    if follower == leader or not broker.leads or follower not in broker.isr:
        return None
    shrunk = _with_isr(cluster, leader, broker.isr - {follower}, protocol)
    return None if shrunk is None else shrunk.spending("shrinks")


@action(actor="leader", needs=lambda bounds: bounds.reassignments, leader=brokers, member=brokers)
def repair_isr(cluster: Cluster, leader: int, member: int, protocol: ControllerProtocol) -> Cluster | None:
    """A leader removes a member from the ISR that is not assigned.

    Actor: the leader.
    Enabled: it leads; the member is in its ISR and not in the assignment that it knows; ZooKeeper has the version that
        the leader knows.
    Effect: the member is out of the ISR; the controller gets a notification.
    Source: kafka.cluster.Partition#isFollowerOutOfSync (3.0); KAFKA-9672.
    """
    broker = cluster.brokers[leader]
    if member == leader or not broker.leads or member not in broker.isr or member in broker.replicas:
        return None
    return _with_isr(cluster, leader, broker.isr - {member}, protocol) if protocol.isr_repair_unassigned else None


class IsrAnswer(Enum):
    """A controller's answer to a leader's AlterPartition."""

    ASK_AGAIN = "NOT_CONTROLLER, STALE_BROKER_EPOCH or UNKNOWN_SERVER_ERROR: the leader asks again"
    GIVE_UP = "an error that the leader takes for final"
    TAKE_BACK = "INELIGIBLE_REPLICA: the leader takes its proposal back"
    ALREADY_SO = "what is asked for is there already"
    WRITE = "leader and ISR are to be written"


def isr_answer(
    context: Context, broker: Broker, leader: int, isr: frozenset[int], protocol: ControllerProtocol
) -> IsrAnswer:
    """A controller's answer to a leader that asks for an ISR, from what the controller knows.

    Source: kafka.controller.KafkaController#tryProcessAlterPartition (3.3 to 3.9), #processAlterIsr (2.7 to 3.1). The
        latter tries to write even if the leader knows newer epochs, and fails, so that the leader asks again. Until 3.2
        it accepts members that are not live.
    """
    known = context.leadership
    if context.live[leader] != broker.epoch:
        return IsrAnswer.ASK_AGAIN
    if known is None or context.topic_id != broker.topic_id:
        return IsrAnswer.GIVE_UP

    def is_done_already() -> bool:
        return protocol.repeated_change_succeeds and known.leader == leader and known.isr == isr

    def is_eligible() -> bool:
        members = (member for member in range(len(context.live)) if member in isr)
        return not protocol.controller_rejects_ineligible or all(context.is_online(member) for member in members)

    error = alter_partition_error(
        Led(leader, broker.leader_epoch, broker.partition_epoch),
        Led(leader, known.leader_epoch, known.partition_epoch),
        is_done_already=is_done_already,
        is_eligible=is_eligible,
    )
    match error:
        case AlterPartitionError.NONE:
            return IsrAnswer.ALREADY_SO if is_done_already() else IsrAnswer.WRITE
        case AlterPartitionError.INELIGIBLE_REPLICA:
            return IsrAnswer.TAKE_BACK
        case AlterPartitionError.NOT_CONTROLLER if (
            protocol.ahead_of_controller_error is AheadOfController.NOT_CONTROLLER
        ):
            return IsrAnswer.ASK_AGAIN
    return IsrAnswer.GIVE_UP


def _asked(cluster: Cluster, controller: int, leader: int) -> frozenset[int] | None:
    """The ISR that a leader waits for, if the controller is free to answer."""
    broker = cluster.brokers[leader]
    if broker.change is None or broker.change.given_up or not broker.leads:
        return None
    return broker.change.isr if is_free(cluster.controllers[controller]) else None


def _written(cluster: Cluster, controller: int, leadership: Leadership, protocol: ControllerProtocol) -> Cluster:
    """The cluster after the controller has written an ISR, noted it, sent metadata, and begun the end of a reassignment
    for which that was enough.
    """
    cluster = write_leadership(cluster, controller, leadership, protocol)
    return maybe_completed(metadata_sent(cluster, controller, protocol), controller, protocol)


def _is_fenced(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> bool:
    """Whether what the controller writes fails, as it was deposed: the leader is to ask again."""
    return protocol.zk_write_fenced and cluster.controllers[controller].epoch != cluster.zk.controller_epoch


def _to_write(cluster: Cluster, controller: int, isr: frozenset[int]) -> Leadership | None:
    """What the controller writes for another ISR; None if ZooKeeper holds another version than the controller knows."""
    context, current = cluster.controllers[controller], cluster.zk.leadership
    known = context.leadership
    if current is None or known is None or current.partition_epoch != known.partition_epoch:
        return None
    return evolve(known, isr=isr, partition_epoch=known.partition_epoch + 1, controller_epoch=context.epoch)


def _with_answer(cluster: Cluster, leader: int, leadership: Leadership) -> Cluster:
    """The cluster after the leader has taken over ISR and version from the controller's answer."""
    answered = evolve(
        cluster.brokers[leader], isr=leadership.isr, partition_epoch=leadership.partition_epoch, change=None
    )
    return cluster.with_broker(leader, answered)


@action(actor="controller", controller=controllers, leader=brokers)
def answer_alter_partition(
    cluster: Cluster, controller: int, leader: int, protocol: ControllerProtocol
) -> Cluster | None:
    """A controller answers a leader that asks for another ISR.

    Actor: the controller.
    Enabled: it is free; a leader waits for an answer, and this controller's answer is not to ask again.
    Effect: on success the controller writes leader and ISR, unless they are so already, and sends metadata. If a member
        is not live, the leader takes its proposal back. If the controller knows a newer leader epoch (or, with the bug,
        an older one), the leader gives up and waits for a newer leader epoch.
    Abstracts: which controller the leader asks: it may be a deposed one. A leader that has to ask again changes
        nothing. Neither does a deposed controller whose write is fenced; it learns later that it was deposed. The
        controller sends metadata also where it refuses.
    Source: kafka.controller.KafkaController#processAlterPartition, #tryProcessAlterPartition (3.5),
        kafka.cluster.Partition#handleAlterPartitionError, #handleAlterPartitionUpdate (3.5).
    """
    isr = _asked(cluster, controller, leader)
    if isr is None:
        return None
    context, broker = cluster.controllers[controller], cluster.brokers[leader]
    match isr_answer(context, broker, leader, isr, protocol):
        case IsrAnswer.ASK_AGAIN:
            return None
        case IsrAnswer.TAKE_BACK:
            return cluster.with_broker(leader, evolve(broker, change=None))
        case IsrAnswer.ALREADY_SO if context.leadership is not None:
            return maybe_completed(_with_answer(cluster, leader, context.leadership), controller, protocol)
        case IsrAnswer.WRITE if _is_fenced(cluster, controller, protocol):
            return None
        case IsrAnswer.WRITE if (leadership := _to_write(cluster, controller, isr)) is not None:
            return _with_answer(_written(cluster, controller, leadership, protocol), leader, leadership)
    return cluster.with_broker(leader, evolve(broker, change=IsrChange(isr, given_up=True)))


@action(actor="network", needs=lambda bounds: bounds.lost_isr_answers, controller=controllers, leader=brokers)
def lose_isr_answer(cluster: Cluster, controller: int, leader: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller writes the ISR that a leader asks for, and its answer is lost.

    Actor: the network.
    Enabled: as `answer_alter_partition` with success; the budget allows it.
    Effect: the controller has written leader and ISR and sends metadata. The leader does not know that, and asks again.
    Source: kafka.server.DefaultAlterPartitionManager#handleAlterPartitionResponse (3.5), kafka.server.AlterIsrManager
        (2.7).
    """
    isr = _asked(cluster, controller, leader)
    if isr is None or _is_fenced(cluster, controller, protocol):
        return None
    answer = isr_answer(cluster.controllers[controller], cluster.brokers[leader], leader, isr, protocol)
    leadership = _to_write(cluster, controller, isr)
    if answer is not IsrAnswer.WRITE or leadership is None:
        return None
    return _written(cluster, controller, leadership, protocol).spending("lost_isr_answers")
