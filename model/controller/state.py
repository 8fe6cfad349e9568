"""The state around the controller: ZooKeeper, controllers with contexts of their own, brokers, and requests on their way.

One topic with one partition. Controllers are brokers that host none of its replicas, so that a controller can crash without a replica.
Logs are abstracted to two facts: the topic that a log belongs to, and whether it holds every committed record. Time is abstracted:
what a time-out would trigger may happen at any moment. Epochs count from 0, and -1 is "none".
Sources: kafka.controller.ControllerContext (3.5), kafka.zk.ZkData (3.5), kafka.server.ReplicaManager (3.5).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from model.controller.edges import Illegal
from model.controller.elections import assign_round_robin
from model.controller.partition_states import PartitionState
from model.controller.partition_states import change as change_partition
from model.controller.replica_states import ReplicaState
from model.controller.replica_states import change as change_replica
from model.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf, bound, evolve, records, replaced, within
from model.log import NO_EPOCH, brokers

DURING_DELETION = -2
"""The leader epoch of requests about a topic that is being deleted: kafka.api.LeaderAndIsr.EpochDuringDelete (2.6)."""


def budget(meaning: str) -> Any:
    """How many times something may go wrong or be asked for; never, if it is not given."""
    return bound(0, 7, meaning, default=0)


@attrs.frozen
class ControllerBounds:
    """How large the cluster and its history may become, and how many times what may happen. What is not given does not happen."""

    brokers: int = bound(1, 5, "brokers that may host replicas")
    replication_factor: int = bound(1, 5, "replicas of a new topic's partition")
    leader_epoch_max: int = bound(0, 15, "the last leader epoch; epochs are 0..max")
    partition_epoch_max: int = bound(0, 31, "how many times leader and ISR may be written after the first time")
    controllers: int = bound(1, 3, "brokers that may become controller", default=1)
    controller_epoch_max: int = bound(1, 7, "how many times a controller may be elected", default=1)
    queue_length_max: int = bound(1, 8, "requests of one controller on their way to one broker", default=3)
    established: int = bound(0, 1, "1: the topic exists, its leader leads and a controller is active; 0: nothing is there yet", default=1)
    topics_max: int = bound(0, 3, "how many times the topic may be created, all under one name", default=1)
    restarts: int = bound(0, 7, "how many times each broker may come back with a new broker epoch", default=1)
    target_size: int = bound(1, 5, "replicas that a reassignment leads to", default=1)
    min_isr: int = bound(1, 5, "min.insync.replicas", default=1)
    broker_crashes: int = budget("crashes of brokers")
    broker_expiries: int = budget("ZooKeeper sessions of running brokers that expire")
    shutdowns: int = budget("controlled shutdowns")
    controller_crashes: int = budget("crashes of controllers")
    depositions: int = budget("controllers whose node goes away while they go on")
    lost_answers: int = budget("elections of a controller whose answer from ZooKeeper is lost")
    failed_role_changes: int = budget("times that a broker cannot take up a role, as its ZooKeeper session ends")
    reorderings: int = budget("times that a request overtakes the one before it")
    deletions: int = budget("requests to delete the topic")
    reassignments: int = budget("requests to reassign the partition")
    preferred_elections: int = budget("requests to elect the preferred leader")
    shrinks: int = budget("times that a leader takes a slow follower out of the ISR")
    commits: int = budget("times that a leader commits records")

    def __attrs_post_init__(self) -> None:
        for key in ("replication_factor", "target_size"):
            if getattr(self, key) > self.brokers:
                raise ValueError(f"{key} {getattr(self, key)} is more than brokers {self.brokers}")
        if self.established and not self.topics_max:
            raise ValueError("established 1 needs topics_max of at least 1")


def controllers(bounds: ControllerBounds) -> Integers:
    """The domain of a controller id."""
    return Integers(0, bounds.controllers - 1, label="c", names="controllers")


def broker_sets(bounds: ControllerBounds) -> SetOf:
    return SetOf(brokers(bounds))


def broker_lists(bounds: ControllerBounds) -> SequenceOf:
    return SequenceOf(brokers(bounds), bounds.brokers)


def topics(bounds: ControllerBounds) -> Integers:
    """The domain of a topic id: how many topics there were. 0 is none yet."""
    return Integers(0, bounds.topics_max, label="t")


def controller_epochs(bounds: ControllerBounds) -> Integers:
    return Integers(0, bounds.controller_epoch_max)


def broker_epochs(bounds: ControllerBounds) -> Integers:
    """The domain of a broker epoch: a broker's how many-th registration it is."""
    return Integers(0, bounds.restarts)


def leader_epochs(bounds: ControllerBounds) -> Integers:
    return Integers(NO_EPOCH, bounds.leader_epoch_max)


def partition_epochs(bounds: ControllerBounds) -> Integers:
    return Integers(0, bounds.partition_epoch_max)


def per_broker(of: Any) -> Any:
    """A domain from bounds: one value for each broker."""
    return lambda bounds: ArrayOf(of(bounds) if callable(of) else of, bounds.brokers, label="b", by="brokers")


def _names(members: Any) -> str:
    return "{" + " ".join(f"b{member}" for member in sorted(members)) + "}"


@attrs.frozen
class Leadership:
    """A partition's state in ZooKeeper: leader, ISR and their epochs, and the epoch of the controller that wrote last."""

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    isr: frozenset[int] = within(broker_sets)
    leader_epoch: int = within(leader_epochs)
    partition_epoch: int = within(partition_epochs)
    controller_epoch: int = within(controller_epochs)

    def __str__(self) -> str:
        leader = "none" if self.leader is None else f"b{self.leader}"
        return f"leader {leader} isr {_names(self.isr)} epoch {self.leader_epoch}"


@attrs.frozen
class Reassignment:
    """A reassignment: the replicas that it leads to, the preferred one first, and those that there were before."""

    target: tuple[int, ...] = within(broker_lists)
    origin: frozenset[int] = within(broker_sets)

    @property
    def adding(self) -> tuple[int, ...]:
        return tuple(replica for replica in self.target if replica not in self.origin)

    def __str__(self) -> str:
        return f"to [{' '.join(f'b{replica}' for replica in self.target)}] from {_names(self.origin)}"


@attrs.frozen
class ZooKeeper:
    """What is durable.

    Attributes:
        controller: the owner of the ephemeral node /controller.
        controller_epoch: how many controllers were elected.
        registrations: by broker, its ephemeral node's broker epoch.
        topic_id: the id of the topic that was created last.
        assignment: its partition's replicas, the preferred one first; empty where there is no topic.
        leadership: its partition's state; None before the first and after deletion has begun to clear up.
        reassignment: the request in /admin/reassign_partitions, with the replicas that there were when it came in.
        deletion, preferred_election: whether such a request is there.
        isr_changed: a leader's notification that it has changed the ISR.
    """

    controller: int | None = within(lambda bounds: Maybe(controllers(bounds)))
    controller_epoch: int = within(controller_epochs)
    registrations: tuple[int | None, ...] = within(per_broker(lambda bounds: Maybe(broker_epochs(bounds))))
    topic_id: int = within(topics)
    assignment: tuple[int, ...] = within(broker_lists)
    leadership: Leadership | None = within(lambda bounds: Maybe(records(Leadership)(bounds)))
    reassignment: Reassignment | None = within(lambda bounds: Maybe(records(Reassignment)(bounds)))
    deletion: bool = within(BOOLEAN)
    preferred_election: bool = within(BOOLEAN)
    isr_changed: bool = within(BOOLEAN)


class Step(Enum):
    """What a controller is about to do in a procedure of several steps. It may crash before each."""

    UPDATE_ASSIGNMENT = "update assignment"
    TELL_ASSIGNMENT = "tell assignment"
    START_REPLICAS = "start replicas"
    MOVE_LEADER = "move leader"
    STOP_REPLICAS = "stop replicas"
    DELETE_REPLICAS = "delete replicas"
    NARROW_ASSIGNMENT = "narrow assignment"
    CLOSE_REASSIGNMENT = "close reassignment"
    TELL_METADATA = "tell metadata"
    DELETE_LEADERSHIP = "delete leadership"
    DELETE_TOPIC = "delete topic"
    DELETE_REQUEST = "delete request"


class Answer(Enum):
    """A broker's answer to StopReplica with delete, on its way to the controller."""

    NONE = "none"
    DELETED = "deleted"
    FAILED = "failed"


@attrs.frozen
class Context:
    """What a controller believes; all blank while it is not active.

    Attributes:
        active: whether it acts as controller, rightly or not.
        epoch: its controller epoch.
        live: by broker, the broker epoch that it knows; None for a dead one.
        shutting_down: live brokers that are leaving.
        topic_id, assignment, leadership, reassignment: what it read or wrote last.
        partition, replicas: the states of its two machines.
        deleting: the topic is queued for deletion.
        deletion_begun: the partition was taken through the machine for that.
        deletion_halted: the topic is ineligible for deletion until further notice.
        answers: by broker, an answer not read yet.
        step: what it does next, if it is in the middle of something.
    """

    active: bool = within(BOOLEAN)
    epoch: int = within(controller_epochs)
    live: tuple[int | None, ...] = within(per_broker(lambda bounds: Maybe(broker_epochs(bounds))))
    shutting_down: frozenset[int] = within(broker_sets)
    topic_id: int = within(topics)
    assignment: tuple[int, ...] = within(broker_lists)
    leadership: Leadership | None = within(lambda bounds: Maybe(records(Leadership)(bounds)))
    reassignment: Reassignment | None = within(lambda bounds: Maybe(records(Reassignment)(bounds)))
    partition: PartitionState = within(OneOf(PartitionState))
    replicas: tuple[ReplicaState, ...] = within(per_broker(OneOf(ReplicaState)))
    deleting: bool = within(BOOLEAN)
    deletion_begun: bool = within(BOOLEAN)
    deletion_halted: bool = within(BOOLEAN)
    answers: tuple[Answer, ...] = within(per_broker(OneOf(Answer)))
    step: Step | None = within(Maybe(OneOf(Step)))

    def is_online(self, broker: int) -> bool:
        """Whether the controller counts on the broker: it is live and not leaving."""
        return self.live[broker] is not None and broker not in self.shutting_down

    def online(self) -> frozenset[int]:
        """The brokers that the controller counts on."""
        return frozenset(broker for broker in range(len(self.live)) if self.is_online(broker))


def blank(brokers: int) -> Context:
    """The context of a controller that is not active."""
    return Context(
        active=False, epoch=0, live=(None,) * brokers, shutting_down=frozenset(), topic_id=0, assignment=(), leadership=None,
        reassignment=None, partition=PartitionState.NON_EXISTENT, replicas=(ReplicaState.NON_EXISTENT,) * brokers, deleting=False,
        deletion_begun=False, deletion_halted=False, answers=(Answer.NONE,) * brokers, step=None,
    )  # fmt: skip


class Role(Enum):
    """What a broker is for the partition. A stopped one holds a log and fetches nothing."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"
    STOPPED = "stopped"


@attrs.frozen
class Metadata:
    """What a broker tells clients of the partition."""

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    leader_epoch: int = within(leader_epochs)


@attrs.frozen
class Broker:
    """A broker and its replica.

    Attributes:
        running: whether the process lives.
        epoch: the broker epoch of its last registration.
        leaving: it has asked for a controlled shutdown.
        controller_epoch, leader_epoch: the newest that it accepted in this life; 0 and -1 at the start of one.
        role, leader: what it is, and who it believes leads.
        isr, replicas, partition_epoch: a leader's own view of ISR and assignment, and the version that it would write on; blank for others.
        topic_id: the topic that its role is for.
        log: the topic that its log belongs to; None without a log.
        complete: whether the log holds every committed record.
        metadata: what it tells clients; None where it knows of no such partition.
    """

    running: bool = within(BOOLEAN)
    epoch: int = within(broker_epochs)
    leaving: bool = within(BOOLEAN)
    controller_epoch: int = within(controller_epochs)
    leader_epoch: int = within(leader_epochs)
    role: Role = within(OneOf(Role))
    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    isr: frozenset[int] = within(broker_sets)
    replicas: frozenset[int] = within(broker_sets)
    partition_epoch: int = within(partition_epochs)
    topic_id: int = within(topics)
    log: int | None = within(lambda bounds: Maybe(topics(bounds)))
    complete: bool = within(BOOLEAN)
    metadata: Metadata | None = within(lambda bounds: Maybe(records(Metadata)(bounds)))

    @property
    def leads(self) -> bool:
        """Whether it acts as leader; then it also coordinates groups or transactions, if the partition is one of those topics."""
        return self.running and self.role is Role.LEADER


def without_role(broker: Broker) -> Broker:
    """A broker that does not know what it is for the partition; its log stays."""
    return evolve(
        broker, leader_epoch=NO_EPOCH, role=Role.NONE, leader=None, isr=frozenset(), replicas=frozenset(), partition_epoch=0, topic_id=0
    )


class Kind(Enum):
    """The requests of a controller."""

    LEADER_AND_ISR = "LeaderAndIsr"
    STOP_REPLICA = "StopReplica"
    UPDATE_METADATA = "UpdateMetadata"


@attrs.frozen
class Request:
    """A request of a controller to a broker. What its kind does not have is blank.

    Attributes:
        controller_epoch: the sender's.
        broker_epoch: the broker epoch that the sender knows.
        replicas: the assignment that goes with LeaderAndIsr.
        delete: StopReplica is to delete the log.
    """

    kind: Kind = within(OneOf(Kind))
    controller_epoch: int = within(controller_epochs)
    broker_epoch: int = within(broker_epochs)
    topic_id: int = within(topics)
    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    leader_epoch: int = within(lambda bounds: Integers(DURING_DELETION, bounds.leader_epoch_max))
    partition_epoch: int = within(partition_epochs)
    isr: frozenset[int] = within(broker_sets)
    replicas: frozenset[int] = within(broker_sets)
    delete: bool = within(BOOLEAN)

    def __str__(self) -> str:
        epoch = "deleting" if self.leader_epoch == DURING_DELETION else f"epoch {self.leader_epoch}"
        if self.kind is Kind.STOP_REPLICA:
            return f"StopReplica({'delete, ' if self.delete else ''}{epoch})"
        leader = "none" if self.leader is None else f"b{self.leader}"
        isr = f" isr {_names(self.isr)} of {_names(self.replicas)}" if self.kind is Kind.LEADER_AND_ISR else ""
        return f"{self.kind.value}(leader {leader}{isr} {epoch})"


@attrs.frozen
class Spent:
    """How many times what has happened, of what the bounds limit."""

    broker_crashes: int = within(lambda bounds: Integers(0, bounds.broker_crashes))
    broker_expiries: int = within(lambda bounds: Integers(0, bounds.broker_expiries))
    shutdowns: int = within(lambda bounds: Integers(0, bounds.shutdowns))
    controller_crashes: int = within(lambda bounds: Integers(0, bounds.controller_crashes))
    depositions: int = within(lambda bounds: Integers(0, bounds.depositions))
    lost_answers: int = within(lambda bounds: Integers(0, bounds.lost_answers))
    failed_role_changes: int = within(lambda bounds: Integers(0, bounds.failed_role_changes))
    reorderings: int = within(lambda bounds: Integers(0, bounds.reorderings))
    deletions: int = within(lambda bounds: Integers(0, bounds.deletions))
    reassignments: int = within(lambda bounds: Integers(0, bounds.reassignments))
    preferred_elections: int = within(lambda bounds: Integers(0, bounds.preferred_elections))
    shrinks: int = within(lambda bounds: Integers(0, bounds.shrinks))
    commits: int = within(lambda bounds: Integers(0, bounds.commits))


class Mishap(Enum):
    """What must never happen, noted when it does."""

    STALE_WRITE = "a deposed controller wrote to ZooKeeper"
    STALE_REQUEST = "a broker obeyed a stale request"
    UNCLEAN_ELECTION = "a replica outside the ISR was elected"
    FEWER_COPIES = "a reassignment completed with fewer replicas in the ISR than is safe"


@attrs.frozen
class IllegalEdge:
    """An edge that a state machine was asked for and does not have."""

    machine: str
    before: str
    after: str

    @property
    def is_offline_to_ineligible(self) -> bool:
        return (self.before, self.after) == (ReplicaState.OFFLINE.value, ReplicaState.DELETION_INELIGIBLE.value)

    def __str__(self) -> str:
        return f"{self.machine} from {self.before} to {self.after}"


ILLEGAL_EDGES = tuple(
    IllegalEdge(machine, before.value, after.value)
    for machine, states, change in (("replica", ReplicaState, change_replica), ("partition", PartitionState, change_partition))
    for before in states
    for after in states
    if isinstance(change(before, after), Illegal) or (before.value, after.value) == ("OfflineReplica", "ReplicaDeletionIneligible")
)
"""All of them; one is illegal until 2.3 only."""


@attrs.frozen
class History:
    """What properties need to know of the past; no step depends on it.

    Attributes:
        mishaps: what happened that must not.
        illegal_edges: what the controller asked its state machines for, against their tables.
        target: the replicas that were asked for last; empty if none were.
        committed: whether records of the present topic were committed.
    """

    mishaps: frozenset[Mishap] = within(SetOf(OneOf(Mishap)))
    illegal_edges: frozenset[IllegalEdge] = within(SetOf(OneOf(ILLEGAL_EDGES)))
    target: frozenset[int] = within(broker_sets)
    committed: bool = within(BOOLEAN)


@attrs.frozen
class Cluster:
    """The whole state. `queues` holds what each controller has sent to each broker, oldest first."""

    zk: ZooKeeper = within(ZooKeeper)
    controllers: tuple[Context, ...] = within(lambda bounds: ArrayOf(records(Context)(bounds), bounds.controllers, "c", "controllers"))
    brokers: tuple[Broker, ...] = within(per_broker(records(Broker)))
    queues: tuple[tuple[tuple[Request, ...], ...], ...] = within(
        lambda bounds: ArrayOf(
            per_broker(SequenceOf(records(Request)(bounds), bounds.queue_length_max))(bounds), bounds.controllers, "c", "controllers"
        )
    )
    spent: Spent = within(Spent)
    history: History = within(History)

    @property
    def ids(self) -> range:
        """The broker ids."""
        return range(len(self.brokers))

    def with_zk(self, **changes: Any) -> Cluster:
        return evolve(self, zk=evolve(self.zk, **changes))

    def with_context(self, controller: int, **changes: Any) -> Cluster:
        return evolve(self, controllers=replaced(self.controllers, controller, evolve(self.controllers[controller], **changes)))

    def with_broker(self, broker: int, changed: Broker) -> Cluster:
        return evolve(self, brokers=replaced(self.brokers, broker, changed))

    def with_queue(self, controller: int, broker: int, queue: tuple[Request, ...]) -> Cluster:
        queues = replaced(self.queues[controller], broker, queue)
        return evolve(self, queues=replaced(self.queues, controller, queues))

    def spending(self, name: str) -> Cluster:
        """The cluster with one more of what a bound limits."""
        return evolve(self, spent=evolve(self.spent, **{name: getattr(self.spent, name) + 1}))

    def with_mishap(self, mishap: Mishap) -> Cluster:
        return evolve(self, history=evolve(self.history, mishaps=self.history.mishaps | {mishap}))

    def with_illegal(self, machine: str, edge: Illegal) -> Cluster:
        edges = self.history.illegal_edges | {IllegalEdge(machine, edge.before.value, edge.after.value)}
        return evolve(self, history=evolve(self.history, illegal_edges=edges))

    def is_registered(self, broker: int) -> bool:
        """Whether the broker runs and its session with ZooKeeper is the one that it registered with."""
        return self.brokers[broker].running and self.zk.registrations[broker] == self.brokers[broker].epoch


def initial_states(bounds: ControllerBounds) -> list[Cluster]:
    """Brokers that run, and nothing else; or a topic whose leader everybody knows, with an active controller, if so asked."""
    everybody = range(bounds.brokers)
    empty = blank(bounds.brokers)
    zk = ZooKeeper(None, 0, (0,) * bounds.brokers, 0, (), None, None, False, False, False)
    idle = Broker(
        running=True, epoch=0, leaving=False, controller_epoch=0, leader_epoch=NO_EPOCH, role=Role.NONE, leader=None, isr=frozenset(),
        replicas=frozenset(), partition_epoch=0, topic_id=0, log=None, complete=False, metadata=None,
    )  # fmt: skip
    cluster = Cluster(
        zk=zk,
        controllers=(empty,) * bounds.controllers,
        brokers=(idle,) * bounds.brokers,
        queues=(((),) * bounds.brokers,) * bounds.controllers,
        spent=Spent(**{field.name: 0 for field in attrs.fields(Spent)}),
        history=History(frozenset(), frozenset(), frozenset(), False),
    )
    if not bounds.established:
        return [cluster]
    assignment = first_assignment(bounds)
    members = frozenset(assignment)
    leadership = Leadership(assignment[0], members, 0, 0, 1)
    context = attrs.evolve(
        empty,
        active=True,
        epoch=1,
        live=(0,) * bounds.brokers,
        topic_id=1,
        assignment=assignment,
        leadership=leadership,
        partition=PartitionState.ONLINE,
        replicas=tuple(ReplicaState.ONLINE if broker in members else ReplicaState.NON_EXISTENT for broker in everybody),
    )
    zk = attrs.evolve(zk, controller=0, controller_epoch=1, topic_id=1, assignment=assignment, leadership=leadership)
    follower = attrs.evolve(idle, leader_epoch=0, role=Role.FOLLOWER, leader=assignment[0], topic_id=1, log=1, complete=True)
    leader = attrs.evolve(follower, role=Role.LEADER, isr=members, replicas=members)
    told = Metadata(assignment[0], 0)
    brokers_ = tuple(
        attrs.evolve(leader if broker == assignment[0] else follower if broker in members else idle, controller_epoch=1, metadata=told)
        for broker in everybody
    )
    return [attrs.evolve(cluster, zk=zk, controllers=(context, *cluster.controllers[1:]), brokers=brokers_)]


def first_assignment(bounds: ControllerBounds) -> tuple[int, ...]:
    """The replicas of a new topic's partition."""
    return assign_round_robin(range(bounds.brokers), 1, bounds.replication_factor)[0]
