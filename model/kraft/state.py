"""The state of one partition's control plane under KRaft: brokers, the controller's registrations, the partition.

Logs are left out. A broker is *complete* if its log has every committed record.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from model.kraft.bounds import (
    broker_epochs,
    broker_lists,
    broker_sets,
    flag_if,
    min_isrs,
    partition_epochs,
    per_broker,
    some_broker,
    topic_ids,
)
from model.language.domain import BOOLEAN, Integers, Maybe, OneOf, SequenceOf
from model.language.records import evolve, records, replaced, within
from model.log import epochs


class Standing(Enum):
    """How the controller has registered a broker. Only in the second and third does it serve anybody."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    LEAVING = "in controlled shutdown"
    UNREGISTERED = "not registered"


SERVING = (Standing.UNFENCED, Standing.LEAVING)


def standings(bounds: Any) -> OneOf:
    """The domain of a broker's standing."""
    return OneOf(tuple(each for each in Standing if bounds.unregistrations or each is not Standing.UNREGISTERED))


class Fate(Enum):
    """What has become of a leader's AlterPartition request."""

    IN_FLIGHT = "in flight"
    APPENDED = "granted, and not yet committed"
    REFUSED = "refused as out of date"
    """The leader waits for newer metadata and asks nothing until then."""


class Mishap(Enum):
    """What a step did and no state shows."""

    FEWER_COPIES = "a reassignment that left an ISR below min.insync.replicas"
    NO_SNAPSHOT = "a controller that was deposed and could not go back to what is committed"


@attrs.frozen
class View:
    """What a broker has learned of the partition."""

    leader: int | None = within(some_broker)
    isr: frozenset[int] = within(broker_sets)
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)
    min_isr: int = within(min_isrs)
    topic_id: int = within(topic_ids)


@attrs.frozen
class Proposal:
    """A leader's AlterPartition request that it has not settled.

    Attributes:
        newcomer: the follower that the ISR shall gain, with the broker epoch that it has fetched with.
        leaver: the follower that it shall lose.
    """

    newcomer: int | None = within(some_broker)
    newcomer_epoch: int = within(broker_epochs)
    leaver: int | None = within(some_broker)
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)
    fate: Fate = within(Fate)
    topic_id: int = within(topic_ids)


@attrs.frozen
class Broker:
    """A broker.

    Attributes:
        complete: whether its log has every committed record.
        stopping: whether it wants to shut down.
        stopped_cleanly: whether it is down after a shutdown in order.
        directory_failed: whether the log directory of its replica has failed. It has others.
        broker_epoch: the broker epoch that it has asked for, once its registration is committed.
        knows_registration: whether it has read the metadata log as far as its registration.
        waits_for: the brokers that must read the metadata log before it may shut down, unless they are fenced.
            Soft state of the active controller: the controlled shutdown offset.
        topic_id: the topic that its replica, or its log on disk, is of.
        missing: whether it has no replica of the topic although it is assigned.
    """

    running: bool = within(BOOLEAN)
    complete: bool = within(BOOLEAN)
    stopping: bool = within(BOOLEAN)
    stopped_cleanly: bool = within(flag_if("shutdowns"))
    directory_failed: bool = within(flag_if("directory_failures"))
    broker_epoch: int = within(broker_epochs)
    knows_registration: bool = within(BOOLEAN)
    waits_for: frozenset[int] = within(broker_sets)
    view: View | None = within(lambda bounds: Maybe(records(View)(bounds)))
    proposal: Proposal | None = within(lambda bounds: Maybe(records(Proposal)(bounds)))
    topic_id: int = within(topic_ids)
    missing: bool = within(flag_if("topic_deletions"))


@attrs.frozen
class Registration:
    """What the metadata log says of a broker; `directory_failed` is of the log directory of its replica (KIP-858)."""

    broker_epoch: int = within(broker_epochs)
    standing: Standing = within(standings)
    directory_failed: bool = within(flag_if("directory_failures"))


@attrs.frozen
class Partition:
    """What the metadata log says of the partition; `last_known_leader` is the member of its last known ELR.

    Topics of the same name follow each other: `topic_id` counts them. Without replicas, the last one is deleted and the
    next one not yet created.
    """

    replicas: tuple[int, ...] = within(broker_lists)
    isr: frozenset[int] = within(broker_sets)
    elr: frozenset[int] = within(broker_sets)
    last_known_leader: int | None = within(some_broker)
    leader: int | None = within(some_broker)
    removing: frozenset[int] = within(broker_sets)
    adding: frozenset[int] = within(broker_sets)
    recovering: bool = within(BOOLEAN)
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)
    topic_id: int = within(topic_ids)


def created(replicas: tuple[int, ...], isr: frozenset[int], leader: int | None, topic_id: int) -> Partition:
    """The partition of a new topic, or without replicas of none.

    Source: org.apache.kafka.controller.ReplicationControlManager#buildPartitionRegistration (3.5.1 to 4.3.1).
    """
    nobody = frozenset[int]()
    return Partition(
        replicas=replicas,
        isr=isr,
        elr=nobody,
        last_known_leader=None,
        leader=leader,
        removing=nobody,
        adding=nobody,
        recovering=False,
        leader_epoch=0,
        partition_epoch=0,
        topic_id=topic_id,
    )


@attrs.frozen
class Image:
    """What the metadata log says up to some offset."""

    registrations: tuple[Registration, ...] = within(per_broker(records(Registration)))
    partition: Partition = within(Partition)
    min_isr: int = within(min_isrs)


@attrs.frozen
class Batch:
    """A batch of records that the active controller has appended and that is not committed.

    Attributes:
        before: what the metadata log says before it.
        answers: the leader whose AlterPartition request is answered once the batch is committed.
        of_quorum: whether the batch changes the quorum's voters, which is nothing to the controller (KIP-853).
    """

    before: Image = within(Image)
    answers: int | None = within(some_broker)
    of_quorum: bool = within(BOOLEAN)


@attrs.frozen
class Used:
    """How often each failure and request has happened. A claim may go by the order of some of these counts: nothing
    but itself is compared with one, so that there is one class of each, and any number of times.
    """

    crashes: int = within(lambda bounds: Integers(0, bounds.crashes))
    lossy_crashes: int = within(lambda bounds: Integers(0, bounds.lossy_crashes))
    fail_overs: int = within(lambda bounds: Integers(0, bounds.fail_overs, order="fail_overs"))
    shutdowns: int = within(lambda bounds: Integers(0, bounds.shutdowns))
    reassignments: int = within(lambda bounds: Integers(0, bounds.reassignments))
    cancellations: int = within(lambda bounds: Integers(0, bounds.cancellations))
    voter_changes: int = within(lambda bounds: Integers(0, bounds.voter_changes))
    min_isr_changes: int = within(lambda bounds: Integers(0, bounds.min_isr_changes))
    directory_failures: int = within(lambda bounds: Integers(0, bounds.directory_failures))
    topic_deletions: int = within(lambda bounds: Integers(0, bounds.topic_deletions))
    unregistrations: int = within(lambda bounds: Integers(0, bounds.unregistrations))
    unclean_elections: int = within(lambda bounds: Integers(0, bounds.unclean_elections))
    elections: int = within(lambda bounds: Integers(0, bounds.elections, order="elections"))
    shrinks: int = within(lambda bounds: Integers(0, bounds.shrinks, order="shrinks"))
    commits: int = within(lambda bounds: Integers(0, bounds.commits, order="commits", constants_below=1))


@attrs.frozen
class Cluster:
    """The state.

    Attributes:
        registrations, partition, min_isr: what the metadata log says up to its end, as the active controller has it in
            memory.
        tail: the batches that are not committed, oldest first.
        contacted: the brokers that the active controller has heard of, by registration or heartbeat. Only these
            can lose their session.
        at_end: the brokers that have read the metadata log as far as it is committed. It is kept under protocols
            that compare offsets with the end only; under others it is everyone.
        can_revert: whether the active controller remembers what is committed, so that it can go back to it.
        deposed: what a controller that has been deposed, and does not know it, takes for committed; at most one.
    """

    brokers: tuple[Broker, ...] = within(per_broker(records(Broker)))
    registrations: tuple[Registration, ...] = within(per_broker(records(Registration)))
    partition: Partition = within(Partition)
    min_isr: int = within(min_isrs)
    tail: tuple[Batch, ...] = within(lambda bounds: SequenceOf(records(Batch)(bounds), bounds.uncommitted))
    contacted: frozenset[int] = within(broker_sets)
    at_end: frozenset[int] = within(broker_sets)
    can_revert: bool = within(BOOLEAN)
    deposed: tuple[Image, ...] = within(lambda bounds: SequenceOf(records(Image)(bounds), bounds.controllers - 1))
    mishap: Mishap | None = within(Maybe(Mishap))
    used: Used = within(Used)

    @property
    def ids(self) -> range:
        return range(len(self.brokers))

    @property
    def end(self) -> Image:
        """What the metadata log says up to its end."""
        return Image(self.registrations, self.partition, self.min_isr)

    @property
    def committed(self) -> Image:
        """What the metadata log says as far as it is committed, which is what brokers can read."""
        return self.tail[0].before if self.tail else self.end

    def is_active(self, broker: int) -> bool:
        """Whether a broker may lead.

        Source: org.apache.kafka.controller.ClusterControlManager#isActive (3.5.1 to 4.3.1), #hasOnlineDir (3.7.0 to
            4.3.1).
        """
        registration = self.registrations[broker]
        return registration.standing is Standing.UNFENCED and not registration.directory_failed

    def leads(self, broker: int) -> bool:
        """Whether a broker serves clients and followers, and believes that it leads. It serves nobody before it is
        unfenced.

        Source: kafka.server.BrokerServer#startup (3.3.0 to 4.3.1).
        """
        ours = self.brokers[broker]
        if not ours.running or ours.view is None or ours.view.leader != broker:
            return False
        if not ours.knows_registration or ours.directory_failed or ours.missing:
            return False
        return self.committed.registrations[broker].standing is not Standing.FENCED

    def is_serving(self, broker: int) -> bool:
        """Whether a broker is registered and not fenced."""
        return self.registrations[broker].standing in SERVING

    def with_broker(self, broker: int, **changes: Any) -> Cluster:
        return evolve(self, brokers=replaced(self.brokers, broker, evolve(self.brokers[broker], **changes)))

    def with_registration(self, broker: int, **changes: Any) -> Cluster:
        registration = evolve(self.registrations[broker], **changes)
        return evolve(self, registrations=replaced(self.registrations, broker, registration))

    def spending(self, what: str) -> Cluster:
        return evolve(self, used=evolve(self.used, **{what: getattr(self.used, what) + 1}))
