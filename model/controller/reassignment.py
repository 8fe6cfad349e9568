"""Reassignment of the partition: the published procedure of twelve steps. The controller may crash before each step.

| step here | numbers in 0.10.2 | in 3.5 | what it does |
|---|---|---|---|
| update assignment | 1 | U1, U2 | assignment in ZooKeeper = target + original replicas |
| send assignment | 2 | A1 | next leader epoch, LeaderAndIsr to all of them |
| start replicas | 3 | A2 | new replicas become `NEW` |
| (wait) | 4 | | until the replicas of the target are in the ISR |
| move leader | 5, 6, 7 | B1, B2, B3 | new replicas become `ONLINE`; a leader in the target, or the next epoch |
| stop replicas | 8 | B4 | removed replicas become `OFFLINE` and leave the ISR |
| delete replicas | 9 | B5 | removed replicas become `NON_EXISTENT` and delete their logs |
| narrow assignment | 10 | B6 | assignment in ZooKeeper = target |
| close reassignment | 11 | B7 | the request is removed |
| send metadata | 12 | B8 | every broker gets metadata; a deletion that had to wait resumes |

Source: kafka.controller.KafkaController#onPartitionReassignment (0.10.2, 3.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from highwater.model.controller.bounds import ControllerBounds, controllers
from highwater.model.controller.context import Context, Step
from highwater.model.controller.deletion import resume_deletion
from highwater.model.controller.elections import Strategy
from highwater.model.controller.events import handled, is_free
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.protocol import Completion, ControllerProtocol, IsrPath, ReassignmentOrder
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.requests import Batch, metadata_sent
from highwater.model.controller.state import Cluster, Mishap
from highwater.model.controller.state_machines import (
    bump_leader_epoch,
    fenced,
    move_partition,
    move_replicas,
    write_leadership,
)
from highwater.model.controller.zookeeper import Leadership, Reassignment, ZooKeeper
from highwater.model.language.declarations import action
from highwater.model.language.domain import OneOf
from highwater.model.language.records import evolve

BEGINNING = (Step.UPDATE_ASSIGNMENT, Step.SEND_ASSIGNMENT, Step.START_REPLICAS)
END = (
    Step.MOVE_LEADER,
    Step.STOP_REPLICAS,
    Step.DELETE_REPLICAS,
    Step.NARROW_ASSIGNMENT,
    Step.CLOSE_REASSIGNMENT,
    Step.SEND_METADATA,
)

_PUBLISHED = (BEGINNING, END)
_MOVE, _STOP, _DELETE, _NARROW, _CLOSE, _SEND = END
ORDERS: dict[ReassignmentOrder, tuple[tuple[Step, ...], tuple[Step, ...]]] = {
    ReassignmentOrder.PUBLISHED: _PUBLISHED,
    ReassignmentOrder.WITHOUT_WAITING: (BEGINNING + END, END),
    ReassignmentOrder.REPLICAS_FIRST: ((Step.START_REPLICAS, Step.UPDATE_ASSIGNMENT, Step.SEND_ASSIGNMENT), END),
    ReassignmentOrder.STOPPING_FIRST: (BEGINNING, (_STOP, _DELETE, _MOVE, _NARROW, _CLOSE, _SEND)),
    ReassignmentOrder.ASSIGNMENT_FIRST: (BEGINNING, (_MOVE, _NARROW, _STOP, _DELETE, _CLOSE, _SEND)),
    ReassignmentOrder.CLOSING_FIRST: (BEGINNING, (_MOVE, _STOP, _DELETE, _CLOSE, _NARROW, _SEND)),
}


def step_after(step: Step, order: ReassignmentOrder) -> Step | None:
    """The next step of the same phase, or None at its end."""
    phase = next(phase for phase in ORDERS[order] if step in phase)
    position = phase.index(step) + 1
    return phase[position] if position < len(phase) else None


def ordered(target: Iterable[int], others: Iterable[int]) -> tuple[int, ...]:
    """The target's replicas, then the others that are not among them."""
    target = tuple(target)
    return target + tuple(replica for replica in others if replica not in target)


def is_complete(reassignment: Reassignment, isr: frozenset[int], rule: Completion) -> bool:
    """Whether enough replicas are in the ISR for the reassignment to complete.

    Source: kafka.controller.KafkaController#isReassignmentComplete (3.5, ZooKeeper); PartitionReassignmentReplicas
        (3.5, 3.8, KRaft).
    """
    if not all(replica in isr for replica in reassignment.adding):
        return False
    if rule is Completion.ADDING_IN_ISR:
        return True
    if rule is Completion.NO_FEWER_THAN_BEFORE and len(reassignment.target) >= len(reassignment.origin):
        return True
    return all(replica in isr for replica in reassignment.target)


def _may_complete(reassignment: Reassignment, isr: frozenset[int], protocol: ControllerProtocol) -> bool:
    """Whether a reassignment may complete.

    Source: kafka.controller.KafkaController#isReassignmentComplete, ReplicaAssignment#isBeingReassigned (2.4 to 3.9).
    """
    if protocol.cancel_completes_at_once and frozenset(reassignment.target) == reassignment.origin:
        return True
    return is_complete(reassignment, isr, protocol.completion)


def has_begun(zk: ZooKeeper) -> bool:
    """Whether the reassignment has begun: the assignment is the target, then the former replicas. False if both are the
    same.
    """
    request = zk.reassignment
    if request is None or frozenset(request.target) == request.origin:
        return False
    return request.origin <= frozenset(zk.assignment) and zk.assignment == ordered(request.target, zk.assignment)


def is_overridden(cluster: Cluster, controller: int) -> bool:
    """Whether a client has overridden the reassignment that the elected controller knows.

    The controller takes such a request and begins it in one event, so that the one before cannot complete in between
    and close the request that overrides it.
    Source: kafka.controller.KafkaController#processApiPartitionReassignment, #updateCurrentReassignment (2.4 to 3.9).
    """
    known, request = cluster.controllers[controller].reassignment, cluster.zk.reassignment
    return cluster.zk.controller == controller and request is not None and request != known


def go_on(cluster: Cluster, controller: int, reassignment: Reassignment, protocol: ControllerProtocol) -> Cluster:
    """Resume the reassignment that the controller knows: at its beginning, or at its end if enough replicas are in the
    ISR and no other one is asked for. A deletion that was asked for waits until it is complete.

    Source: kafka.controller.KafkaController#onPartitionReassignment (3.5),
        kafka.controller.TopicDeletionManager#markTopicIneligibleForDeletion (3.5).
    """
    deleting = cluster.controllers[controller].deleting
    leadership = cluster.zk.leadership
    beginning, end = ORDERS[protocol.reassignment_order]
    complete = (
        leadership is not None
        and not is_overridden(cluster, controller)
        and _may_complete(reassignment, leadership.isr, protocol)
    )
    return cluster.with_context(controller, step=(end if complete else beginning)[0], deletion_halted=deleting)


def is_refused(context: Context, reassignment: Reassignment, protocol: ControllerProtocol) -> bool:
    """Whether the reassignment is dropped: until KAFKA-4214 each target broker must be live.

    Source: kafka.controller.KafkaController#initiateReassignReplicasForTopicPartition (0.10.0, 0.10.1).
    """
    return protocol.reassignment_requires_alive and not all(map(context.is_online, reassignment.target))


def begin(cluster: Cluster, controller: int, reassignment: Reassignment, protocol: ControllerProtocol) -> Cluster:
    """Begin the reassignment that the controller knows, or resume it after a fail-over. A refused one is dropped."""
    if is_refused(cluster.controllers[controller], reassignment, protocol):
        return (
            fenced(cluster, controller, protocol).with_zk(reassignment=None).with_context(controller, reassignment=None)
        )
    return go_on(cluster, controller, reassignment, protocol)


def supplant(cluster: Cluster, controller: int, reassignment: Reassignment, protocol: ControllerProtocol) -> Cluster:
    """Begin a reassignment. It overrides one in progress, and stops the replicas that only that one had added.

    Source: kafka.controller.KafkaController#updateCurrentReassignment (3.5).
    """
    context = cluster.controllers[controller]
    wanted = ordered(reassignment.target, (replica for replica in context.assignment if replica in reassignment.origin))
    unneeded = [replica for replica in context.assignment if replica not in wanted]
    cluster = cluster.with_context(controller, reassignment=reassignment)
    if unneeded:
        cluster = (
            fenced(cluster, controller, protocol).with_zk(assignment=wanted).with_context(controller, assignment=wanted)
        )
        leads = context.leadership is not None and context.leadership.leader in unneeded
        if leads and protocol.cancel_moves_leader_first:
            cluster = move_partition(cluster, controller, PartitionState.ONLINE, protocol, Strategy.OFFLINE)
        cluster = stop_replicas(cluster, controller, unneeded, protocol)
        cluster = delete_replicas(cluster, controller, unneeded, protocol)
        cluster = cluster.with_context(controller, assignment=wanted)
    return begin(cluster, controller, reassignment, protocol)


def removed_replicas(cluster: Cluster, controller: int, target: tuple[int, ...]) -> list[int]:
    """The replicas that a reassignment to the target removes and that the state machine still has."""
    states = cluster.controllers[controller].replicas
    return [
        replica for replica in cluster.ids if replica not in target and states[replica] is not ReplicaState.NON_EXISTENT
    ]


def stop_replicas(cluster: Cluster, controller: int, replicas: list[int], protocol: ControllerProtocol) -> Cluster:
    return move_replicas(cluster, controller, replicas, ReplicaState.OFFLINE, protocol)


def delete_replicas(cluster: Cluster, controller: int, replicas: list[int], protocol: ControllerProtocol) -> Cluster:
    """Have replicas delete their logs, without waiting for their responses.

    Source: kafka.controller.KafkaController#stopRemovedReplicasOfReassignedPartition (3.5).
    """
    for state in (ReplicaState.DELETION_STARTED, ReplicaState.DELETION_SUCCESSFUL, ReplicaState.NON_EXISTENT):
        cluster = move_replicas(cluster, controller, replicas, state, protocol)
    return cluster


def send_assignment(
    cluster: Cluster, controller: int, protocol: ControllerProtocol, receivers: Iterable[int]
) -> Cluster:
    """Write the next leader epoch, and send it with the assignment in memory to some replicas.

    Source: kafka.controller.KafkaController#updateLeaderEpochAndSendRequest (3.5); until KAFKA-9212 the context kept
        the old epoch.
    """
    bumped = bump_leader_epoch(cluster, controller)
    if bumped is None:
        return cluster
    known = cluster.controllers[controller].leadership
    cluster = write_leadership(cluster, controller, bumped, protocol)
    if not protocol.metadata_follows_epoch_bumps:
        cluster = cluster.with_context(controller, leadership=known)
    batch = Batch(controller)
    batch.add_leader_and_isr(cluster, receivers, bumped)
    return batch.sent(cluster, protocol)


def move_leader(cluster: Cluster, controller: int, reassignment: Reassignment, protocol: ControllerProtocol) -> Cluster:
    """Steps 5 to 7: from here on the controller's assignment is the target, and the leader learns of it.

    Source: kafka.controller.KafkaController#moveReassignedPartitionLeaderIfRequired (3.5).
    """
    target = reassignment.target
    cluster = move_replicas(cluster, controller, reassignment.adding, ReplicaState.ONLINE, protocol)
    receivers = cluster.controllers[controller].assignment if protocol.removed_replicas_told else target
    cluster = cluster.with_context(controller, assignment=target)
    context = cluster.controllers[controller]
    leader = None if context.leadership is None else context.leadership.leader
    if leader in target and context.is_online(leader):
        return send_assignment(cluster, controller, protocol, receivers)
    return move_partition(cluster, controller, PartitionState.ONLINE, protocol, Strategy.REASSIGNMENT)


def _note_fewer_copies(cluster: Cluster, before: Leadership | None, target_size: int, min_isr: int) -> Cluster:
    """Note a mishap if the removed replicas leave the ISR smaller than the one before, min.insync.replicas and the
    target.
    """
    after = cluster.zk.leadership
    if before is None or after is None or len(after.isr) >= min(min_isr, target_size, len(before.isr)):
        return cluster
    return cluster.with_mishap(Mishap.FEWER_COPIES)


def with_deletion_resumed(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """The cluster after a step. If a broker's start has resumed the deletion, it goes on after the first steps.

    Source: kafka.controller.KafkaController#onBrokerStartup (3.5).
    """
    context = cluster.controllers[controller]
    if context.step is None and context.reassignment is not None and not context.deletion_halted:
        return resume_deletion(cluster, controller, protocol)
    return cluster


def take_step(
    cluster: Cluster,
    controller: int,
    step: Step,
    reassignment: Reassignment,
    min_isr: int,
    protocol: ControllerProtocol,
) -> Cluster:
    """Take the next step of the procedure, and note the one after it."""
    context = cluster.controllers[controller]
    cluster = cluster.with_context(controller, step=step_after(step, protocol.reassignment_order))
    match step:
        case Step.UPDATE_ASSIGNMENT:
            wider = ordered(reassignment.target, context.assignment)
            return (
                fenced(cluster, controller, protocol)
                .with_zk(assignment=wider)
                .with_context(controller, assignment=wider)
            )
        case Step.SEND_ASSIGNMENT:
            return send_assignment(cluster, controller, protocol, context.assignment)
        case Step.START_REPLICAS:
            new = [replica for replica in reassignment.adding if context.replicas[replica] is ReplicaState.NON_EXISTENT]
            return move_replicas(cluster, controller, new, ReplicaState.NEW, protocol)
        case Step.MOVE_LEADER:
            return move_leader(cluster, controller, reassignment, protocol)
        case Step.STOP_REPLICAS:
            before = cluster.zk.leadership
            cluster = stop_replicas(
                cluster, controller, removed_replicas(cluster, controller, reassignment.target), protocol
            )
            return _note_fewer_copies(cluster, before, len(reassignment.target), min_isr)
        case Step.DELETE_REPLICAS:
            return delete_replicas(
                cluster, controller, removed_replicas(cluster, controller, reassignment.target), protocol
            )
        case Step.NARROW_ASSIGNMENT:
            return fenced(cluster, controller, protocol).with_zk(assignment=reassignment.target)
        case Step.CLOSE_REASSIGNMENT:
            return fenced(cluster, controller, protocol).with_zk(reassignment=None)
    cluster = metadata_sent(cluster, controller, protocol)
    cluster = cluster.with_context(controller, reassignment=None, deletion_halted=False)
    return resume_deletion(cluster, controller, protocol)


# Asked for and noticed


def targets(bounds: ControllerBounds) -> OneOf:
    """The domain of a reassignment's target: `target_size` replicas, in ascending order."""
    return OneOf(combinations(range(bounds.brokers), bounds.target_size))


@action(actor="admin", needs=lambda bounds: bounds.reassignments, target=targets)
def request_reassignment(cluster: Cluster, target: tuple[int, ...], protocol: ControllerProtocol) -> Cluster | None:
    """A client asks for a reassignment, or overrides one in progress.

    Actor: an admin client.
    Enabled: the target is neither the assignment nor the target of the present request; the budget allows it. Since
        KIP-455 the controller takes the request, and can override a reassignment while it is free.
    Effect: the request is in ZooKeeper, with the replicas from before the first reassignment.
    Source: kafka.controller.KafkaController#processApiPartitionReassignment, ReplicaAssignment#reassignTo (3.5).
    """
    current, assignment = cluster.zk.reassignment, cluster.zk.assignment
    if (
        not assignment
        or cluster.zk.deletion
        or assignment == target
        or (current is not None and current.target == target)
    ):
        return None
    owner = cluster.zk.controller
    if current is not None and not protocol.reassignment_overridable:
        return None
    if current is not None and (owner is None or not is_free(cluster.controllers[owner])):
        return None
    request = Reassignment(target, frozenset(assignment) if current is None else current.origin)
    cluster = evolve(cluster, history=evolve(cluster.history, target=frozenset(target)))
    return cluster.with_zk(reassignment=request).spending("reassignments")


@action(actor="controller", needs=lambda bounds: bounds.reassignments, controller=controllers)
def notice_reassignment(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns of a reassignment that it does not know.

    Actor: the controller.
    Enabled: it is free and knows the partition's leadership; the request in ZooKeeper differs from the one that it
        knows.
    Effect: the procedure begins. If the topic is being deleted, the controller removes the request.
    Abstracts: that since 2.4 the wider assignment of a partition that was never led is written, and an error answered.
    Source: kafka.controller.KafkaController#maybeTriggerPartitionReassignment, #onPartitionReassignment (3.5).
    """
    context, request = cluster.controllers[controller], cluster.zk.reassignment
    if request is None or not is_free(context) or context.leadership is None or request == context.reassignment:
        return None
    if context.deleting:
        return handled(
            cluster,
            controller,
            protocol,
            lambda before: fenced(before, controller, protocol).with_zk(reassignment=None),
        )
    return handled(cluster, controller, protocol, lambda before: supplant(before, controller, request, protocol))


@action(actor="controller", needs=lambda bounds: bounds.reassignments, controller=controllers)
def notice_caught_up_replicas(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns that enough replicas are in the ISR to complete the reassignment.

    Actor: the controller.
    Enabled: it is free and knows of a reassignment; enough replicas are in the ISR. Since KIP-497 it learns of that as
        it answers AlterPartition.
    Effect: it notes leader and ISR, and begins the end of the procedure.
    Source: kafka.controller.KafkaController#maybeCompleteReassignment, #updateCurrentReassignment (3.5);
        ReassignedPartitionsIsrChangeListener (0.10.2).
    """
    if protocol.isr_path is IsrPath.ALTER_PARTITION or not is_free(cluster.controllers[controller]):
        return None
    after = maybe_completed(cluster, controller, protocol)
    return None if after is cluster else after.with_context(controller, leadership=cluster.zk.leadership)


def maybe_completed(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """The cluster itself, or with the end of the reassignment begun if enough replicas are in the ISR.

    Source: kafka.controller.KafkaController#maybeCompleteReassignment (3.5).
    """
    known, leadership = cluster.controllers[controller].reassignment, cluster.zk.leadership
    if known is None or leadership is None or not _may_complete(known, leadership.isr, protocol):
        return cluster
    end = go_on(cluster, controller, known, protocol)
    return end if end.controllers[controller].step in END else cluster
