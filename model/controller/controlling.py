"""The controller's events: each is one action, and while a procedure of several steps is under way, its next step is the only one.

Kafka's controller handles its events one after the other in one thread (kafka.controller.ControllerEventManager); events come from
watches on ZooKeeper, so that each action looks at what ZooKeeper holds when it runs, which may be long after what triggered it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from model.controller import replica_states
from model.controller.deletion import complete_deletion, create_partition, fail_deletion, in_state, resume_deletion, without_topic
from model.controller.elections import Strategy, elect_offline
from model.controller.machines import (
    ControllerMoved,
    fenced,
    may_write,
    move_partition,
    move_replicas,
    next_leadership,
    trigger_online,
    write_leadership,
)
from model.controller.partition_states import PartitionState
from model.controller.partition_states import at_startup as partition_at_startup
from model.controller.protocol import ControllerProtocol, DeadReplicaAtStartup
from model.controller.reassignment import END, go_on, is_complete, supplant, take_step
from model.controller.replica_states import ReplicaState
from model.controller.requests import Batch
from model.controller.state import (
    Answer,
    Cluster,
    Context,
    ControllerBounds,
    Reassignment,
    Step,
    blank,
    controllers,
    first_assignment,
)
from model.domain import OneOf, action, evolve, replaced
from model.log import brokers

DELETION_STEPS = (Step.DELETE_LEADERSHIP, Step.DELETE_TOPIC, Step.DELETE_REQUEST)


def handled(cluster: Cluster, controller: int, handle: Callable[[Cluster], Cluster]) -> Cluster:
    """What an event does; a controller that finds out by a failing write that it was deposed resigns, and has done nothing."""
    try:
        return handle(cluster)
    except ControllerMoved:
        return resigned(cluster, controller)


def resigned(cluster: Cluster, controller: int) -> Cluster:
    """The controller forgets everything, and drops what it has not sent yet."""
    empty = blank(len(cluster.brokers))
    cluster = evolve(cluster, controllers=replaced(cluster.controllers, controller, empty))
    return evolve(cluster, queues=replaced(cluster.queues, controller, ((),) * len(cluster.brokers)))


def is_free(context: Context) -> bool:
    """Whether the controller acts and is not in the middle of something."""
    return context.active and context.step is None


# Becoming and being controller


@action(actor="controller", controller=controllers)
def is_elected(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller takes office.

    Actor: the controller.
    Enabled: nobody owns /controller, and it does not believe that it is in office.
    Effect: it owns the node under the next controller epoch, reads everything, starts both machines, elects leaders where none is, and
        goes on with a reassignment and a deletion.
    Abstracts: that reading takes time.
    Source: kafka.controller.KafkaController#elect, #onControllerFailover (3.5).
    """
    if cluster.zk.controller is not None or cluster.controllers[controller].active:
        return None
    return taken_over(_registered(cluster, controller), controller, protocol)


@action(actor="controller", needs=lambda bounds: bounds.lost_answers, controller=controllers)
def is_elected_unknowingly(cluster: Cluster, controller: int) -> Cluster | None:
    """A controller's node is created, but the answer is lost.

    Actor: the controller.
    Enabled: nobody owns /controller, and it does not believe that it is in office; within the budget.
    Effect: it owns the node under the next controller epoch, and does not know.
    Source: KAFKA-13407; kafka.zk.KafkaZkClient#registerControllerAndIncrementControllerEpoch (3.5).
    """
    if cluster.zk.controller is not None or cluster.controllers[controller].active:
        return None
    return _registered(cluster, controller).spending("lost_answers")


@action(actor="controller", controller=controllers)
def finds_itself_elected(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller that tries again finds its own node and takes office.

    Actor: the controller.
    Enabled: it owns /controller, and does not believe that it is in office.
    Effect: as if it had just been elected.
    Source: kafka.zk.KafkaZkClient#registerControllerAndIncrementControllerEpoch, checkControllerAndEpoch (2.1).
    """
    if cluster.zk.controller != controller or cluster.controllers[controller].active:
        return None
    return taken_over(cluster, controller, protocol) if protocol.found_self_elected_runs_failover else None


def _registered(cluster: Cluster, controller: int) -> Cluster:
    return cluster.with_zk(controller=controller, controller_epoch=cluster.zk.controller_epoch + 1)


def taken_over(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """Fail-over: read ZooKeeper, start the machines, and pick up what was going on."""
    zk = cluster.zk
    cluster = cluster.with_context(
        controller, active=True, epoch=zk.controller_epoch, live=zk.registrations, topic_id=zk.topic_id if zk.assignment else 0,
        assignment=zk.assignment, leadership=zk.leadership, reassignment=zk.reassignment,
    )  # fmt: skip
    context = cluster.controllers[controller]
    assignment = context.assignment
    dead = [replica for replica in assignment if not context.is_online(replica)]
    if zk.deletion:
        halted = bool(dead) or zk.reassignment is not None
        cluster = cluster.with_context(controller, deleting=True, deletion_halted=halted)
    if assignment:
        cluster = _machines_started(cluster, controller, dead, protocol)
    context = cluster.controllers[controller]
    if context.reassignment is not None:
        if protocol.resume_requires_alive and not all(context.is_online(replica) for replica in context.reassignment.target):
            return cluster.with_zk(reassignment=None).with_context(controller, reassignment=None)
        return go_on(cluster, controller, protocol)
    return resume_deletion(cluster, controller, protocol) if protocol.resume_deletion_on_failover else cluster


def _machines_started(cluster: Cluster, controller: int, dead: list[int], protocol: ControllerProtocol) -> Cluster:
    """Source: kafka.controller.ReplicaStateMachine#startup, PartitionStateMachine#startup (3.5); until 2.3 the dead stay ineligible."""
    context = cluster.controllers[controller]
    batch = Batch(controller)
    batch.tell_metadata(cluster)
    cluster = batch.sent(cluster, protocol)
    states = context.replicas
    for replica in context.assignment:
        states = replaced(states, replica, replica_states.at_startup(replica not in dead))
    cluster = cluster.with_context(controller, replicas=states)
    live = [replica for replica in context.assignment if replica not in dead]
    cluster = move_replicas(cluster, controller, live, ReplicaState.ONLINE, protocol)
    if protocol.dead_replica_at_startup is DeadReplicaAtStartup.OFFLINE:
        cluster = move_replicas(cluster, controller, dead, ReplicaState.OFFLINE, protocol)
    context = cluster.controllers[controller]
    leader = None if context.leadership is None else context.leadership.leader
    state = partition_at_startup(context.leadership is not None, leader is not None and context.is_online(leader))
    cluster = cluster.with_context(controller, partition=state)
    return trigger_online(cluster, controller, protocol)


@action(actor="controller", controller=controllers)
def resigns(cluster: Cluster, controller: int) -> Cluster | None:
    """A controller learns that it is not in office any more.

    Actor: the controller.
    Enabled: it acts, and /controller is not its own of this epoch.
    Effect: it forgets everything and drops what it has not sent.
    Source: kafka.controller.KafkaController#maybeResign, #onControllerResignation (3.5).
    """
    context = cluster.controllers[controller]
    if not context.active or (cluster.zk.controller == controller and context.epoch == cluster.zk.controller_epoch):
        return None
    return resigned(cluster, controller)


@action(actor="controller", needs=lambda bounds: bounds.depositions, controller=controllers)
def learns_successors_epoch(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A deposed controller adopts the epoch of its successor, as a listener tells it: a bug.

    Actor: the controller.
    Enabled: `zombie_learns_epoch`; it acts, with an epoch below the current one.
    Effect: it acts with the current epoch.
    Source: KAFKA-1096; kafka.controller.KafkaController#ControllerEpochListener (0.8.1).
    """
    context = cluster.controllers[controller]
    if not protocol.zombie_learns_epoch or not context.active or context.epoch == cluster.zk.controller_epoch:
        return None
    return cluster.with_context(controller, epoch=cluster.zk.controller_epoch)


@action(actor="controller", needs=lambda bounds: bounds.controller_crashes, controller=controllers)
def controller_crashes(cluster: Cluster, controller: int) -> Cluster | None:
    """A controller dies, between any two of its steps.

    Actor: the controller.
    Enabled: it acts, or owns /controller; within the budget.
    Effect: it forgets everything; what it has not sent is lost; /controller is free, if it was its own.
    """
    context = cluster.controllers[controller]
    owns = cluster.zk.controller == controller
    if not context.active and not owns:
        return None
    cluster = resigned(cluster, controller).spending("controller_crashes")
    return cluster.with_zk(controller=None) if owns else cluster


@action(actor="controller", needs=lambda bounds: bounds.depositions, controller=controllers)
def controller_is_deposed(cluster: Cluster, controller: int) -> Cluster | None:
    """A controller's node goes away, and the controller does not know yet.

    Actor: an operator who deletes /controller to force an election, or ZooKeeper when the session ends.
    Enabled: it owns /controller and acts; within the budget.
    Effect: /controller is free.
    Abstracts: that the controller learns of this in the order of its event queue: it may handle any other event first, and then reads what
        ZooKeeper holds. After the end of its session it could only act on what it has read before.
    """
    if cluster.zk.controller != controller or not cluster.controllers[controller].active:
        return None
    return cluster.with_zk(controller=None).spending("depositions")


@action(actor="controller", controller=controllers)
def takes_step(cluster: Cluster, controller: int, protocol: ControllerProtocol, bounds: ControllerBounds) -> Cluster | None:
    """A controller takes the next step of a reassignment or of clearing up after a deletion.

    Actor: the controller.
    Enabled: it is in the middle of one.
    Effect: see `model.controller.reassignment` and `model.controller.deletion`.
    """
    step = cluster.controllers[controller].step
    if step is None:
        return None
    if step in DELETION_STEPS:
        return handled(cluster, controller, lambda before: complete_deletion(before, controller, step, protocol))
    return handled(cluster, controller, lambda before: take_step(before, controller, step, bounds.min_isr, protocol))


# Brokers come and go


@action(actor="controller", controller=controllers)
def notices_brokers(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns which brokers came, went, or both.

    Actor: the controller.
    Enabled: it is free, and the registrations are not those that it knows.
    Effect: channels to brokers that went are given up, with all that was on its way in both directions; brokers that came are told what
        they host, brokers that went lose leadership and their place in the ISR.
    Source: kafka.controller.KafkaController#processBrokerChange, #onBrokerStartup, #onBrokerFailure (3.5); ReplicaStateMachine's
        BrokerChangeListener (0.10.2), which compares ids only.
    """
    context, registrations = cluster.controllers[controller], cluster.zk.registrations
    if not is_free(context):
        return None
    came, went, bounced = [], [], []
    for broker in cluster.ids:
        known, present = context.live[broker], registrations[broker]
        if known is None and present is not None:
            came.append(broker)
        elif known is not None and present is None:
            went.append(broker)
        elif known != present and protocol.controller_detects_bounce:
            bounced.append(broker)
    if not came and not went and not bounced:
        return None

    def handle(cluster: Cluster) -> Cluster:
        for broker in went + bounced:
            answers = replaced(cluster.controllers[controller].answers, broker, Answer.NONE)
            cluster = cluster.with_queue(controller, broker, ()).with_context(controller, answers=answers)
        cluster = _came(cluster, controller, came, protocol)
        cluster = _came(_went(cluster, controller, bounced, protocol), controller, bounced, protocol)
        return _went(cluster, controller, went, protocol)

    return handled(cluster, controller, handle)


def _came(cluster: Cluster, controller: int, came: list[int], protocol: ControllerProtocol) -> Cluster:
    """Source: kafka.controller.KafkaController#onBrokerStartup."""
    if not came:
        return cluster
    live = cluster.controllers[controller].live
    for broker in came:
        live = replaced(live, broker, cluster.zk.registrations[broker])
    cluster = cluster.with_context(controller, live=live)
    context = cluster.controllers[controller]
    batch = Batch(controller)
    batch.tell_metadata(cluster)
    cluster = batch.sent(cluster, protocol)
    hosted = [replica for replica in context.assignment if replica in came]
    cluster = move_replicas(cluster, controller, hosted, ReplicaState.ONLINE, protocol)
    cluster = trigger_online(cluster, controller, protocol)
    context = cluster.controllers[controller]
    if context.reassignment is not None and any(replica in came for replica in context.reassignment.target):
        return go_on(cluster, controller, protocol)
    if context.deleting and hosted:
        return resume_deletion(cluster.with_context(controller, deletion_halted=False), controller, protocol)
    return cluster


def _went(cluster: Cluster, controller: int, went: list[int], protocol: ControllerProtocol) -> Cluster:
    """Source: kafka.controller.KafkaController#onBrokerFailure, #onReplicasBecomeOffline."""
    if not went:
        return cluster
    context = cluster.controllers[controller]
    live = context.live
    for broker in went:
        live = replaced(live, broker, None)
    cluster = cluster.with_context(controller, live=live, shutting_down=context.shutting_down - frozenset(went))
    context = cluster.controllers[controller]
    hosted = [replica for replica in context.assignment if replica in went]
    if context.deleting:
        return fail_deletion(cluster, controller, hosted, protocol) if hosted else cluster
    if not protocol.one_expiry_at_a_time and len(hosted) > 1:
        return _fenced_from_one_snapshot(cluster, controller, hosted, protocol)
    leader = None if context.leadership is None else context.leadership.leader
    if context.leadership is not None and (leader is None or not context.is_online(leader)):
        cluster = move_partition(cluster, controller, PartitionState.OFFLINE, protocol)
    cluster = trigger_online(cluster, controller, protocol)
    cluster = move_replicas(cluster, controller, hosted, ReplicaState.OFFLINE, protocol)
    if not hosted:
        batch = Batch(controller)
        batch.tell_metadata(cluster)
        cluster = batch.sent(cluster, protocol)
    return cluster


def _fenced_from_one_snapshot(cluster: Cluster, controller: int, went: list[int], protocol: ControllerProtocol) -> Cluster:
    """Each dead broker's change is computed from leader and ISR as they were before any of them went; the last one stands: a bug.

    Source: KAFKA-13173; org.apache.kafka.controller.ReplicationControlManager#handleNodeDeactivated (2.8).
    """
    snapshot = cluster.zk.leadership
    if snapshot is None or not may_write(cluster, controller):
        return cluster
    for replica in went:
        isr = snapshot.isr - {replica} or snapshot.isr
        leader = snapshot.leader
        if leader == replica:
            others = frozenset(cluster.ids) - {replica}
            elected = elect_offline(cluster.controllers[controller].assignment, isr, others, unclean=False)
            leader = None if elected is None else elected.leader
        cluster = write_leadership(cluster, controller, next_leadership(cluster, controller, leader, isr), protocol)
    batch = Batch(controller)
    batch.tell(cluster, cluster.controllers[controller].assignment, cluster.controllers[controller].leadership)
    states = cluster.controllers[controller].replicas
    for replica in went:
        states = replaced(states, replica, ReplicaState.OFFLINE)
    return batch.sent(cluster, protocol).with_context(controller, replicas=states)


@action(actor="controller", needs=lambda bounds: bounds.shutdowns, controller=controllers, broker=brokers)
def shuts_broker_down(cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A broker asks to leave, and the controller moves leadership off it and takes it out of the ISR.

    Actor: the controller, on the broker's request.
    Enabled: the controller is free and knows the broker; the broker is registered and has not asked before; within the budget.
    Effect: another leader is elected, if the broker led; otherwise it is told to stop and leaves the ISR.
    Abstracts: that a follower is told to stop twice.
    Source: kafka.controller.KafkaController#doControlledShutdown (3.5).
    """
    context = cluster.controllers[controller]
    if not is_free(context) or not cluster.is_registered(broker) or cluster.brokers[broker].leaving:
        return None
    if context.live[broker] != cluster.brokers[broker].epoch:
        return None

    def handle(cluster: Cluster) -> Cluster:
        context = cluster.controllers[controller]
        cluster = cluster.with_context(controller, shutting_down=context.shutting_down | {broker})
        if broker not in context.assignment or len(context.assignment) < 2 or context.leadership is None or context.deleting:
            return cluster
        if context.leadership.leader == broker:
            return move_partition(cluster, controller, PartitionState.ONLINE, protocol, Strategy.CONTROLLED_SHUTDOWN)
        return move_replicas(cluster, controller, [broker], ReplicaState.OFFLINE, protocol)

    cluster = cluster.with_broker(broker, evolve(cluster.brokers[broker], leaving=True)).spending("shutdowns")
    return handled(cluster, controller, handle)


# Topics


@action(actor="admin")
def creates_topic(cluster: Cluster, bounds: ControllerBounds) -> Cluster | None:
    """Somebody creates the topic.

    Actor: an admin client.
    Enabled: there is none, and no request to delete it.
    Effect: ZooKeeper holds its assignment under a new topic id.
    Source: kafka.zk.AdminZkClient#createTopicWithAssignment (3.5).
    """
    if cluster.zk.assignment or cluster.zk.deletion:
        return None
    cluster = cluster.with_zk(topic_id=cluster.zk.topic_id + 1, assignment=first_assignment(bounds))
    return evolve(cluster, history=evolve(cluster.history, committed=False, target=frozenset()))


@action(actor="controller", controller=controllers)
def notices_topic(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns of a new topic, or that another one deleted the one that it knows.

    Actor: the controller.
    Enabled: it is free, and the topic that it knows is not the one in ZooKeeper.
    Effect: it forgets the old one; the new one's partition and replicas are taken online.
    Source: kafka.controller.KafkaController#processTopicChange (3.5).
    """
    context, zk = cluster.controllers[controller], cluster.zk
    if not is_free(context) or context.topic_id == (zk.topic_id if zk.assignment else 0):
        return None
    cluster = without_topic(cluster, controller)
    if not zk.assignment:
        return cluster
    cluster = cluster.with_context(controller, topic_id=zk.topic_id, assignment=zk.assignment)
    return handled(cluster, controller, lambda before: create_partition(before, controller, protocol))


@action(actor="admin", needs=lambda bounds: bounds.deletions)
def asks_for_deletion(cluster: Cluster) -> Cluster | None:
    """Somebody asks to delete the topic.

    Actor: an admin client.
    Enabled: it exists, and nobody has asked yet; within the budget.
    Source: kafka.zk.KafkaZkClient#createDeleteTopicPath (3.5).
    """
    if cluster.zk.deletion or not cluster.zk.assignment:
        return None
    return cluster.with_zk(deletion=True).spending("deletions")


@action(actor="controller", needs=lambda bounds: bounds.deletions, controller=controllers)
def notices_deletion(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns that the topic is to be deleted.

    Actor: the controller.
    Enabled: it is free, the request is there, and it knows the topic and not of the request.
    Effect: the topic is queued for deletion, which begins unless a reassignment goes on; a request for no topic is removed.
    Source: kafka.controller.KafkaController#processTopicDeletion (3.5).
    """
    context = cluster.controllers[controller]
    if not cluster.zk.deletion or not is_free(context) or context.deleting:
        return None
    if not cluster.zk.assignment:
        return handled(cluster, controller, lambda before: fenced(before, controller, protocol).with_zk(deletion=False))
    if not context.topic_id:
        return None
    halted = context.reassignment is not None
    cluster = cluster.with_context(controller, deleting=True, deletion_halted=halted)
    return handled(cluster, controller, lambda before: resume_deletion(before, controller, protocol))


@action(actor="controller", needs=lambda bounds: bounds.deletions, controller=controllers, broker=brokers)
def reads_answer(cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller reads a broker's answer to StopReplica with delete.

    Actor: the controller.
    Enabled: it is free, and there is one.
    Effect: the replica is deleted, or its deletion failed; the topic's deletion goes on as far as it goes.
    Source: kafka.controller.KafkaController#processTopicDeletionStopReplicaResponseReceived (3.5).
    """
    context = cluster.controllers[controller]
    answer = context.answers[broker]
    if answer is Answer.NONE or not is_free(context):
        return None
    cluster = cluster.with_context(controller, answers=replaced(context.answers, broker, Answer.NONE))
    if not context.deleting or not in_state(context, ReplicaState.DELETION_STARTED):
        return cluster

    def handle(cluster: Cluster) -> Cluster:
        if answer is Answer.FAILED:
            return fail_deletion(cluster, controller, [broker], protocol)
        cluster = move_replicas(cluster, controller, [broker], ReplicaState.DELETION_SUCCESSFUL, protocol)
        return resume_deletion(cluster, controller, protocol)

    return handled(cluster, controller, handle)


# Reassignments


def targets(bounds: ControllerBounds) -> OneOf:
    """The domain of a reassignment's target: so many replicas, in ascending order."""
    return OneOf(combinations(range(bounds.brokers), bounds.target_size))


@action(actor="admin", needs=lambda bounds: bounds.reassignments, target=targets)
def asks_for_reassignment(cluster: Cluster, target: tuple[int, ...]) -> Cluster | None:
    """Somebody asks to reassign the partition, or to reassign it elsewhere while a reassignment goes on.

    Actor: an admin client.
    Enabled: the target is not what there is or what is asked for already; a reassignment that goes on can be overridden while the
        controller, which takes the request, is free; within the budget.
    Effect: the request is in ZooKeeper, with the replicas that there were before the first one.
    Source: kafka.controller.KafkaController#processApiPartitionReassignment, ReplicaAssignment#reassignTo (3.5).
    """
    current, assignment = cluster.zk.reassignment, cluster.zk.assignment
    if not assignment or cluster.zk.deletion or assignment == target or (current is not None and current.target == target):
        return None
    owner = cluster.zk.controller
    if current is not None and (owner is None or not is_free(cluster.controllers[owner])):
        return None
    request = Reassignment(target, frozenset(assignment) if current is None else current.origin)
    cluster = evolve(cluster, history=evolve(cluster.history, target=frozenset(target)))
    return cluster.with_zk(reassignment=request).spending("reassignments")


@action(actor="controller", needs=lambda bounds: bounds.reassignments, controller=controllers)
def notices_reassignment(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns of a reassignment that it does not know.

    Actor: the controller.
    Enabled: it is free and knows the partition's leadership, and the request in ZooKeeper is another than the one that it knows.
    Effect: the procedure begins; for a topic that is being deleted the request is removed.
    Source: kafka.controller.KafkaController#maybeTriggerPartitionReassignment, #onPartitionReassignment (3.5).
    """
    context, request = cluster.controllers[controller], cluster.zk.reassignment
    if request is None or not is_free(context) or context.leadership is None or request == context.reassignment:
        return None
    if context.deleting:
        return handled(cluster, controller, lambda before: fenced(before, controller, protocol).with_zk(reassignment=None))
    return handled(cluster, controller, lambda before: supplant(before, controller, request, protocol))


@action(actor="controller", needs=lambda bounds: bounds.reassignments, controller=controllers)
def notices_caught_up_replicas(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns that enough replicas are in the ISR to complete the reassignment.

    Actor: the controller.
    Enabled: it is free, a reassignment that it knows goes on, and the ISR allows to complete it.
    Effect: it remembers leader and ISR, and the end of the procedure begins.
    Source: kafka.controller.KafkaController#maybeCompleteReassignment (3.5); ReassignedPartitionsIsrChangeListener (0.10.2).
    """
    context, leadership = cluster.controllers[controller], cluster.zk.leadership
    if context.reassignment is None or not is_free(context) or leadership is None:
        return None
    if not is_complete(context.reassignment, leadership.isr, protocol.completion):
        return None
    end = go_on(cluster, controller, protocol)
    return end.with_context(controller, leadership=leadership) if end.controllers[controller].step in END else None


# Leaders


@action(actor="admin", needs=lambda bounds: bounds.preferred_elections)
def asks_for_preferred_leader(cluster: Cluster) -> Cluster | None:
    """Somebody asks for the preferred leader.

    Actor: an admin client, or the controller's own balancing.
    Enabled: nobody has asked yet, and the partition has a state; within the budget.
    Source: kafka.admin.PreferredReplicaLeaderElectionCommand (0.10.2).
    """
    if cluster.zk.preferred_election or cluster.zk.leadership is None:
        return None
    return cluster.with_zk(preferred_election=True).spending("preferred_elections")


@action(actor="controller", needs=lambda bounds: bounds.preferred_elections, controller=controllers)
def elects_preferred_leader(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller holds a preferred election that was asked for, unless the preferred leader leads.

    Actor: the controller.
    Enabled: it is free, the request is there, and it knows the topic.
    Effect: the first assigned replica leads if it is live and in the ISR; the request is gone in any case.
    Source: kafka.controller.KafkaController#onReplicaElection (3.5), which answers ELECTION_NOT_NEEDED where the leader is right.
    """
    context = cluster.controllers[controller]
    if not cluster.zk.preferred_election or not is_free(context):
        return None

    def handle(cluster: Cluster) -> Cluster:
        cluster = fenced(cluster, controller, protocol).with_zk(preferred_election=False)
        if context.leadership is None or context.deleting or context.leadership.leader == context.assignment[0]:
            return cluster
        return move_partition(cluster, controller, PartitionState.ONLINE, protocol, Strategy.PREFERRED)

    return handled(cluster, controller, handle)


@action(actor="controller", controller=controllers)
def notices_isr(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns that the leader has changed the ISR.

    Actor: the controller.
    Enabled: it is free, and a leader has left a notification.
    Effect: it remembers leader and ISR, and tells every live broker; the notification is gone.
    Source: kafka.controller.KafkaController#processIsrChangeNotification (3.5).
    """
    if not cluster.zk.isr_changed or not is_free(cluster.controllers[controller]):
        return None

    def handle(cluster: Cluster) -> Cluster:
        cluster = fenced(cluster, controller, protocol).with_zk(isr_changed=False)
        if cluster.zk.leadership is None or cluster.controllers[controller].topic_id != cluster.zk.topic_id:
            return cluster
        cluster = cluster.with_context(controller, leadership=cluster.zk.leadership)
        batch = Batch(controller)
        batch.tell_metadata(cluster)
        return batch.sent(cluster, protocol)

    return handled(cluster, controller, handle)
