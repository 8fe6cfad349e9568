"""The state of one partition's control plane under KRaft: brokers, the controller's registrations, the partition.

Logs are left out. A broker is *complete* if its log has every committed record.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from model.kraft.bounds import broker_epochs, broker_lists, broker_sets, partition_epochs, per_broker, some_broker
from model.language.domain import BOOLEAN, Integers, Maybe
from model.language.records import evolve, records, replaced, within
from model.log import epochs


class Standing(Enum):
    """How the controller has registered a broker."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    LEAVING = "in controlled shutdown"


class Progress(Enum):
    """How far a broker has read the metadata log."""

    NOT_REGISTERED = "up to before its registration"
    BEHIND = "not quite to the end"
    AT_END = "to the end"


class Mishap(Enum):
    """What a step did and no state shows."""

    FEWER_COPIES = "a reassignment that left an ISR below min.insync.replicas"


@attrs.frozen
class View:
    """What a broker has learned of the partition."""

    leader: int | None = within(some_broker)
    isr: frozenset[int] = within(broker_sets)
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)


@attrs.frozen
class Proposal:
    """A leader's AlterPartition request in flight.

    Attributes:
        newcomer: the follower that the ISR shall gain, with the broker epoch that it has fetched with.
        leaver: the follower that it shall lose.
    """

    newcomer: int | None = within(some_broker)
    newcomer_epoch: int = within(broker_epochs)
    leaver: int | None = within(some_broker)
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)


@attrs.frozen
class Broker:
    """A broker.

    Attributes:
        complete: whether its log has every committed record.
        stopping: whether it wants to shut down.
        waits_for: the brokers that must read the metadata log before it may shut down.
    """

    running: bool = within(BOOLEAN)
    complete: bool = within(BOOLEAN)
    stopping: bool = within(BOOLEAN)
    progress: Progress = within(Progress)
    waits_for: frozenset[int] = within(broker_sets)
    view: View | None = within(lambda bounds: Maybe(records(View)(bounds)))
    proposal: Proposal | None = within(lambda bounds: Maybe(records(Proposal)(bounds)))


@attrs.frozen
class Registration:
    """What the metadata log says of a broker."""

    broker_epoch: int = within(broker_epochs)
    standing: Standing = within(Standing)


@attrs.frozen
class Partition:
    """What the metadata log says of the partition; `last_known_leader` is the member of its last known ELR."""

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
    elections: int = within(lambda bounds: Integers(0, bounds.elections, order="elections"))
    shrinks: int = within(lambda bounds: Integers(0, bounds.shrinks, order="shrinks"))
    commits: int = within(lambda bounds: Integers(0, bounds.commits, order="commits", constants_below=1))


@attrs.frozen
class Cluster:
    """The state.

    Attributes:
        contacted: the brokers that the active controller has heard of, by registration or heartbeat. Only these
            can lose their session.
    """

    brokers: tuple[Broker, ...] = within(per_broker(records(Broker)))
    registrations: tuple[Registration, ...] = within(per_broker(records(Registration)))
    partition: Partition = within(Partition)
    contacted: frozenset[int] = within(broker_sets)
    mishap: Mishap | None = within(Maybe(Mishap))
    used: Used = within(Used)

    @property
    def ids(self) -> range:
        return range(len(self.brokers))

    def is_active(self, broker: int) -> bool:
        """Whether a broker may lead.

        Source: org.apache.kafka.controller.ClusterControlManager#isActive (3.5.1 to 4.3.1).
        """
        return self.registrations[broker].standing is Standing.UNFENCED

    def leads(self, broker: int) -> bool:
        """Whether a broker runs and believes that it leads."""
        ours = self.brokers[broker]
        return ours.running and ours.view is not None and ours.view.leader == broker

    def with_broker(self, broker: int, **changes: Any) -> Cluster:
        return evolve(self, brokers=replaced(self.brokers, broker, evolve(self.brokers[broker], **changes)))

    def with_registration(self, broker: int, **changes: Any) -> Cluster:
        registration = evolve(self.registrations[broker], **changes)
        return evolve(self, registrations=replaced(self.registrations, broker, registration))

    def spending(self, what: str) -> Cluster:
        return evolve(self, used=evolve(self.used, **{what: getattr(self.used, what) + 1}))


def initial_states(bounds: Any) -> list[Cluster]:
    """The one initial state: all brokers run, are unfenced and know that the first replica leads."""
    replicas = tuple(range(bounds.replication_factor))
    view = View(leader=0, isr=frozenset(replicas), leader_epoch=0, partition_epoch=0)

    def broker(number: int) -> Broker:
        return Broker(
            running=True,
            complete=number in replicas,
            stopping=False,
            progress=Progress.AT_END,
            waits_for=frozenset(),
            view=view,
            proposal=None,
        )

    partition = Partition(
        replicas=replicas,
        isr=frozenset(replicas),
        elr=frozenset(),
        last_known_leader=None,
        leader=0,
        removing=frozenset(),
        adding=frozenset(),
        recovering=False,
        leader_epoch=0,
        partition_epoch=0,
    )
    return [
        Cluster(
            brokers=tuple(broker(number) for number in range(bounds.brokers)),
            registrations=(Registration(0, Standing.UNFENCED),) * bounds.brokers,
            partition=partition,
            contacted=frozenset(range(bounds.brokers)),
            mishap=None,
            used=Used(*(0,) * len(attrs.fields(Used))),
        )
    ]
