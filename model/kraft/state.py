"""The state of a topic's control plane under KRaft: brokers, the controller's registrations, the partitions.

Logs are left out. A replica is *complete* if its log has every committed record.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from highwater.model.budgets import spent, times
from highwater.model.kraft.bounds import (
    broker_epochs,
    flag_if,
    min_isrs,
    partition_epochs,
    per_partition,
    some_broker,
    topic_ids,
)
from highwater.model.kraft.image import SERVING, Batch, Image, Partition, Registration, Stale, Standing
from highwater.model.language.domain import BOOLEAN, Integers, Maybe, OneOf, SequenceOf
from highwater.model.language.records import evolve, records, replaced, within
from highwater.model.log import broker_sets, epochs, per_broker


class Fate(Enum):
    """What has become of what a leader asks for in an AlterPartition request."""

    IN_FLIGHT = "in flight"
    APPENDED = "granted, and not yet committed"
    REFUSED = "refused as out of date"
    """Or granted in a leader epoch that the leader does not know. It waits for newer metadata and asks nothing until
    then.
    """
    QUEUED = "queued"
    """A broker has one request in flight. The next one has all that it wants to change by then."""
    OUT_OF_DATE = "refused as out of date, and not yet answered"
    INELIGIBLE = "refused for a member that may not be in the ISR, and not yet answered"
    """An answer waits until what was granted of the same request is committed."""


OF_SEVERAL = (Fate.QUEUED, Fate.OUT_OF_DATE, Fate.INELIGIBLE)


def fates(bounds: Any) -> OneOf:
    """The domain of a fate: with one partition, each request is of it alone."""
    return OneOf(tuple(each for each in Fate if bounds.partitions > 1 or each not in OF_SEVERAL))


class Mishap(Enum):
    """What a step did and no state shows."""

    FEWER_COPIES = "a reassignment that left an ISR below min.insync.replicas"
    NO_SNAPSHOT = "a controller that was deposed and could not go back to what is committed"
    DELETED_TOPIC = "an active controller that found a deleted topic in its index and renounced"


@attrs.frozen
class View:
    """What a broker has learned of a partition."""

    replicas: frozenset[int] = within(broker_sets)
    leader: int | None = within(some_broker)
    isr: frozenset[int] = within(broker_sets)
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)
    min_isr: int = within(min_isrs)
    topic_id: int = within(topic_ids)


@attrs.frozen
class Proposal:
    """What a leader asks for a partition in an AlterPartition request, as long as it is not settled.

    Attributes:
        newcomer: the follower that the ISR shall gain, with the broker epoch that it has fetched with.
        leaver: the follower that it shall lose.
        outdated: whether it names a member with the broker epoch of an earlier incarnation.
    """

    newcomer: int | None = within(some_broker)
    newcomer_epoch: int = within(broker_epochs)
    leaver: int | None = within(some_broker)
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)
    fate: Fate = within(fates)
    topic_id: int = within(topic_ids)
    outdated: bool = within(flag_if("restarts"))


@attrs.frozen
class Replica:
    """What a broker has of a partition.

    Attributes:
        complete: whether its log has every committed record of the topic that the active controller knows.
        directory_failed: whether the log directory of the replica has failed. The broker has others.
        topic_id: the topic that the replica, or its log on disk, is of.
        missing: whether the broker has no replica of the topic although it is assigned.
        fetcher_stopped: whether the broker, which shuts down, has stopped fetching it.
        restarted: of a leader, the members of its ISR that have restarted since they fetched from it last.
    """

    complete: bool = within(BOOLEAN)
    directory_failed: bool = within(flag_if("directory_failures"))
    view: View | None = within(lambda bounds: Maybe(records(View)(bounds)))
    proposal: Proposal | None = within(lambda bounds: Maybe(records(Proposal)(bounds)))
    topic_id: int = within(topic_ids)
    missing: bool = within(flag_if("topic_deletions"))
    fetcher_stopped: bool = within(flag_if("shutdowns"))
    restarted: frozenset[int] = within(broker_sets)


@attrs.frozen
class Broker:
    """A broker.

    Attributes:
        stopping: whether it wants to shut down.
        stopped_cleanly: whether it is down after a shutdown in order. While it runs, whether its former process has
            ended so, until its registration is committed: it says so to each controller that registers it.
        serves_fenced: whether it has been fenced while it ran, and serves on until it reads otherwise.
        broker_epoch: the broker epoch that it has asked for, once its registration is committed.
        knows_registration: whether it has read the metadata log as far as its registration.
        unread: how many committed ends of the metadata log are ahead of it, the present one included; more than
            `stops` + 1 are not told apart; 0 while it is down. This is its offset, from the end.
        replicas: what it has of each partition.
    """

    running: bool = within(BOOLEAN)
    stopping: bool = within(BOOLEAN)
    stopped_cleanly: bool = within(flag_if("shutdowns"))
    serves_fenced: bool = within(flag_if("lost_sessions"))
    broker_epoch: int = within(broker_epochs)
    knows_registration: bool = within(BOOLEAN)
    unread: int = within(lambda bounds: Integers(0, bounds.stops + 1 if bounds.stops else 0))
    replicas: tuple[Replica, ...] = within(per_partition(records(Replica)))


@attrs.frozen
class Heartbeats:
    """What the active controller has learned by heartbeats. The metadata log has nothing of it, so that another active
    controller begins without it.

    Attributes:
        contacted: the brokers that it has heard of, by registration or heartbeat. Only these can lose their session.
        leaving: the brokers in controlled shutdown: it has noted the offset that the others must reach.
        waits_for: by broker in controlled shutdown, the others that have not reached its offset.

    Source: org.apache.kafka.controller.BrokerHeartbeatManager (3.3.0 to 4.3.1).
    """

    contacted: frozenset[int] = within(broker_sets)
    leaving: frozenset[int] = within(broker_sets)
    waits_for: tuple[frozenset[int], ...] = within(per_broker(broker_sets))


@attrs.frozen
class Used:
    """How often each failure and request has happened. A claim may go by the order of some of these counts: nothing
    but itself is compared with one, so that there is one class of each, and any number of times.
    """

    crashes: int = times("crashes")
    lossy_crashes: int = times("lossy_crashes")
    lost_sessions: int = times("lost_sessions")
    fail_overs: int = times("fail_overs", order="fail_overs")
    shutdowns: int = times("shutdowns")
    reassignments: int = times("reassignments")
    cancellations: int = times("cancellations")
    voter_changes: int = times("voter_changes")
    min_isr_changes: int = times("min_isr_changes")
    directory_failures: int = times("directory_failures")
    directory_assignments: int = times("directory_assignments")
    topic_deletions: int = times("topic_deletions")
    unregistrations: int = times("unregistrations")
    upgrades: int = times("upgrades")
    unclean_elections: int = times("unclean_elections")
    elections: int = times("elections", order="elections")
    shrinks: int = times("shrinks", order="shrinks")
    commits: int = times("commits", order="commits", constants_below=1)


@attrs.frozen
class Cluster:
    """The state.

    Attributes:
        registrations, partitions, min_isr: what the metadata log says up to its end, as the active controller has it in
            memory.
        stale: what of the controller's index is wrong then.
        tail: the batches that are not committed, oldest first.
        earlier: what the metadata log said up to its last committed ends before the present one, oldest first.
        heartbeats: what the active controller has learned by heartbeats.
        at_end: the brokers that have read the metadata log as far as it is committed. It is kept under protocols
            that compare offsets with the end only; under others it is everyone.
        can_revert: whether the active controller remembers what is committed, so that it can go back to it.
        deposed: what a controller that has been deposed, and does not know it, takes for committed; at most one.
    """

    brokers: tuple[Broker, ...] = within(per_broker(records(Broker)))
    registrations: tuple[Registration, ...] = within(per_broker(records(Registration)))
    partitions: tuple[Partition, ...] = within(per_partition(records(Partition)))
    min_isr: int = within(min_isrs)
    stale: Stale = within(Stale)
    tail: tuple[Batch, ...] = within(lambda bounds: SequenceOf(records(Batch)(bounds), bounds.uncommitted))
    earlier: tuple[Image, ...] = within(lambda bounds: SequenceOf(records(Image)(bounds), bounds.stops))
    heartbeats: Heartbeats = within(Heartbeats)
    at_end: frozenset[int] = within(broker_sets)
    can_revert: bool = within(BOOLEAN)
    deposed: tuple[Image, ...] = within(lambda bounds: SequenceOf(records(Image)(bounds), bounds.controllers - 1))
    mishap: Mishap | None = within(Maybe(Mishap))
    used: Used = within(Used)

    @property
    def ids(self) -> range:
        return range(len(self.brokers))

    @property
    def partition_ids(self) -> range:
        return range(len(self.partitions))

    @property
    def end(self) -> Image:
        """What the metadata log says up to its end."""
        return Image(self.registrations, self.partitions, self.min_isr, self.stale)

    @property
    def committed(self) -> Image:
        """What the metadata log says as far as it is committed, which is what brokers can read."""
        return self.tail[0].before if self.tail else self.end

    def read_up_to(self, back: int) -> Image:
        """What the metadata log says up to the committed end that many committed batches back."""
        return self.earlier[-back] if back else self.committed

    def is_unfenced(self, broker: int) -> bool:
        """Whether a broker is neither fenced nor in controlled shutdown.

        Source: org.apache.kafka.controller.ClusterControlManager#isActive (3.5.1 to 4.3.1).
        """
        return self.registrations[broker].standing is Standing.UNFENCED

    def is_active(self, broker: int, partition: int) -> bool:
        """Whether a broker may lead a partition.

        Source: org.apache.kafka.controller.ClusterControlManager#isActive (3.5.1 to 4.3.1), #hasOnlineDir (3.7.0 to
            4.3.1).
        """
        return self.is_unfenced(broker) and not self.registrations[broker].directories_failed[partition]

    def leads(self, broker: int, partition: int = 0) -> bool:
        """Whether a broker serves a partition's clients and followers, and believes that it leads."""
        return self.view_as_leader(broker, partition) is not None

    def view_as_leader(self, broker: int, partition: int = 0) -> View | None:
        """What a broker that leads has learned of a partition; None if it does not lead in the sense of `leads`. It
        serves nobody before it is unfenced for the first time. If it is fenced later, it goes on by what it has read.

        Source: kafka.server.BrokerServer#startup (3.3.0 to 4.3.1), kafka.server.BrokerLifecycleManager (3.3.0 to
            4.2), org.apache.kafka.server.BrokerLifecycleManager (4.3.1).
        """
        ours = self.brokers[broker]
        replica = ours.replicas[partition]
        if replica.view is None or replica.view.leader != broker:
            return None
        if not ours.knows_registration or replica.directory_failed or replica.missing:
            return None
        serves = ours.serves_fenced or self.committed.registrations[broker].standing is not Standing.FENCED
        return replica.view if serves else None

    def leads_any(self, broker: int) -> bool:
        """Whether a broker leads a partition by what the active controller knows.

        Source: org.apache.kafka.controller.BrokersToIsrs#hasLeaderships (3.5.1 to 4.3.1).
        """
        return any(each.leader == broker for each in self.partitions)

    def is_serving(self, broker: int) -> bool:
        """Whether a broker is registered and not fenced."""
        return self.registrations[broker].standing in SERVING

    def is_awaited(self, broker: int) -> bool:
        """Whether a controlled shutdown waits until a broker has read of it: the active controller knows the broker as
        unfenced, and not as in controlled shutdown, whatever its registration says of that.

        Source: org.apache.kafka.controller.BrokerHeartbeatManager#touch, #lowestActiveOffset (3.3.0 to 4.3.1).
        """
        return self.is_serving(broker) and broker not in self.heartbeats.leaving

    def with_broker(self, broker: int, **changes: Any) -> Cluster:
        return evolve(self, brokers=replaced(self.brokers, broker, evolve(self.brokers[broker], **changes)))

    def with_replica(self, broker: int, partition: int, **changes: Any) -> Cluster:
        replicas = self.brokers[broker].replicas
        return self.with_broker(broker, replicas=replaced(replicas, partition, evolve(replicas[partition], **changes)))

    def with_partition(self, partition: int, value: Partition) -> Cluster:
        return evolve(self, partitions=replaced(self.partitions, partition, value))

    def with_registration(self, broker: int, **changes: Any) -> Cluster:
        registration = evolve(self.registrations[broker], **changes)
        return evolve(self, registrations=replaced(self.registrations, broker, registration))

    def with_standing(self, broker: int, standing: Standing) -> Cluster:
        """The cluster once a broker is registered so. Who is fenced or not registered is no longer in controlled
        shutdown.

        Source: org.apache.kafka.controller.BrokerHeartbeatManager#touch, #remove (3.3.0 to 4.3.1).
        """
        after = self.with_registration(broker, standing=standing)
        return after if standing in SERVING else after.with_departure(broker, None)

    def with_departure(self, broker: int, waits_for: frozenset[int] | None) -> Cluster:
        """The cluster once the active controller knows for whom a controlled shutdown waits; None if there is none."""
        now = self.heartbeats
        leaving = now.leaving - {broker} if waits_for is None else now.leaving | {broker}
        awaited = replaced(now.waits_for, broker, waits_for or frozenset())
        return evolve(self, heartbeats=evolve(now, leaving=leaving, waits_for=awaited))

    def having_heard_of(self, broker: int) -> Cluster:
        """The cluster once the active controller has heard of a broker."""
        return evolve(self, heartbeats=evolve(self.heartbeats, contacted=self.heartbeats.contacted | {broker}))

    def spending(self, what: str) -> Cluster:
        return evolve(self, used=spent(self.used, what))
