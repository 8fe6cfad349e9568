"""The constants of the public modules, and the domains that follow from them.

The public modules do not bound epochs, logs and messages. The constants do: the domains here are finite, and large
enough that no step is ever cut. A value outside them is an error in the model.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from highwater.model.language.domain import Integers, SetOf
from highwater.model.language.records import bound

NOTHING = Integers(0, -1)
"""A domain without values: a set of them takes no room."""


@attrs.frozen
class KraftBounds:
    """The bounds of both specifications.

    Attributes:
        keeps_messages: whether the state keeps messages that were handled or can no longer be handled.
        accepts_stale_proposals: whether the controller accepts an ISR that was proposed for an older partition epoch.
        keeps_elr: whether the controller's record has an ELR.
    """

    keeps_messages: ClassVar[bool] = True
    accepts_stale_proposals: ClassVar[bool] = False
    keeps_elr: ClassVar[bool] = False

    broker_count: int = bound(1, 5, "brokers")
    init_replication_factor: int = bound(1, 5, "brokers that host the partition at the start")
    values: int = bound(1, 4, "values that producers may write, each once")
    min_isr: int = bound(1, 5, "min.insync.replicas")
    init_isr_size: int = bound(1, 5, "replicas that are in the ISR at the start; the others are fenced")

    def __attrs_post_init__(self) -> None:
        if not self.min_isr <= self.init_isr_size <= self.init_replication_factor <= self.broker_count:
            raise ValueError("min_isr <= init_isr_size <= init_replication_factor <= broker_count must hold")

    @property
    def fence_broker_limit(self) -> int:
        """How often the controller may fence a broker that is well: a bound of each specification."""
        raise NotImplementedError

    @property
    def leader_shrink_isr_limit(self) -> int:
        """How many proposals may take a lagging replica out of the ISR: a bound of each specification."""
        raise NotImplementedError

    @property
    def reassignment_limit(self) -> int:
        """How many reassignments there may be: a bound of each specification."""
        raise NotImplementedError

    def starts(self) -> int:
        """How often brokers may start again: once for each shutdown."""
        raise NotImplementedError

    def disruptions(self) -> int:
        """How often the controller may fence a broker."""
        return self.starts() + self.fence_broker_limit

    def last_epoch(self) -> int:
        """The largest leader epoch. A fence can start two: one without a leader, and then one with a leader."""
        return 1 + 2 * self.disruptions() + self.reassignment_limit

    def metadata_records(self) -> int:
        """The length of the metadata log.

        Two records for each fencing, one for each reassignment and each proposal that removes a replica from the ISR. A
        proposal that removes none adds at least one: to the ISR of the start, or again after it was removed.
        """
        removals = self.disruptions() + self.leader_shrink_isr_limit * (self.init_replication_factor - 1)
        added = (
            self.init_replication_factor
            - self.init_isr_size
            + removals
            + self.reassignment_limit * 2 * self.broker_count
        )
        stale = 2 * self.broker_count if self.accepts_stale_proposals else 0
        return 1 + 2 * self.disruptions() + self.leader_shrink_isr_limit + self.reassignment_limit + added + stale

    def rejected_proposals(self) -> int:
        """The largest number of proposals that can be rejected for one leader and partition epoch.

        A proposal has each other broker with one of its broker epochs, or not at all. The number is largest if the
        starts are spread evenly over the other brokers.
        """
        others = self.broker_count - 1
        proposals = 1
        for other in range(others):
            proposals *= 2 + (self.starts() + other) // others
        return max(1, proposals - 1)


@attrs.frozen
class Kafka35Bounds(KraftBounds):
    """How large the cluster and its history may become: the constants of the module kafka_replication_v3_5."""

    clean_shutdown_limit: int = bound(0, 3, "shutdowns after which a broker still has its log", 0)
    unclean_shutdown_limit: int = bound(0, 3, "shutdowns that lose the broker's whole log", 0)
    fence_broker_limit: int = bound(0, 3, "times that the controller fences a broker that is well", 0)
    leader_shrink_isr_limit: int = bound(0, 3, "proposals that take a lagging replica out of the ISR", 0)
    reassignment_limit: int = bound(0, 2, "reassignments", 0)

    def starts(self) -> int:
        return self.clean_shutdown_limit + self.unclean_shutdown_limit


@attrs.frozen
class Kip966Bounds(KraftBounds):
    """How large the cluster and its history may become: the constants of the module kafka_replication_kip_966."""

    keeps_elr: ClassVar[bool] = True

    no_data_loss_shutdown_limit: int = bound(0, 3, "shutdowns, clean or not, after which a broker still has its log", 0)
    data_loss_shutdown_limit: int = bound(0, 3, "shutdowns that lose the broker's whole log", 0)
    fence_broker_limit: int = bound(0, 3, "times that the controller fences a broker that is well", 0)
    leader_shrink_isr_limit: int = bound(0, 3, "proposals that take a lagging replica out of the ISR", 0)
    reassignment_limit: int = bound(0, 2, "reassignments", 0)

    def starts(self) -> int:
        return self.no_data_loss_shutdown_limit + self.data_loss_shutdown_limit


def brokers(bounds: Any) -> Integers:
    """The domain of a broker id. Broker 0 leads at the start; the public modules count brokers from 1."""
    return Integers(0, int(bounds.broker_count) - 1, label="b", names="brokers")


def broker_sets(bounds: Any) -> SetOf:
    return SetOf(brokers(bounds))


def reassigned_sets(bounds: Any) -> SetOf:
    """Sets of brokers if the bounds allow reassignments; else only the empty set."""
    return SetOf(brokers(bounds) if bounds.reassignment_limit else NOTHING)


def timed_out_sets(bounds: Any) -> SetOf:
    """Sets of brokers if the bounds allow leaders to find followers lagging; else only the empty set."""
    return SetOf(brokers(bounds) if bounds.leader_shrink_isr_limit else NOTHING)


def elr_sets(bounds: Any) -> SetOf:
    return SetOf(brokers(bounds) if bounds.keeps_elr else NOTHING)


def epochs(bounds: Any) -> Integers:
    """A leader epoch; they begin with 1, and 0 is none."""
    return Integers(0, bounds.last_epoch(), label="e")


def given_epochs(bounds: Any) -> Integers:
    """The epoch of a leader that was elected."""
    return Integers(1, bounds.last_epoch(), label="e")


def broker_epochs(bounds: Any) -> Integers:
    """A broker epoch: 0 is none, 1 every broker's first, then one more for each registration in the cluster.

    The public modules number the first ones by broker. Epochs of different brokers are never compared.
    """
    return Integers(0, 1 + bounds.starts())


def incarnations(bounds: Any) -> Integers:
    """An incarnation: 0 is none, 1 every broker's first, then one more for each start in the cluster."""
    return Integers(0, 1 + bounds.starts())


def values(bounds: Any) -> Integers:
    return Integers(0, int(bounds.values) - 1, label="v")


def offsets(bounds: Any) -> Integers:
    """A log end offset or high watermark, from 0; the public modules count from 1."""
    return Integers(0, int(bounds.values))


def metadata_offsets(bounds: Any) -> Integers:
    """A number of records of the metadata log."""
    return Integers(0, bounds.metadata_records())


def times(limit: str) -> Any:
    """A field that counts events, up to their bound."""
    return attrs.field(metadata={"domain": lambda bounds: Integers(0, int(getattr(bounds, limit, 0)))})
