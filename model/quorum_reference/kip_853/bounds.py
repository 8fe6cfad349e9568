"""The constants of the public module kraft_kip_853, and the domains of numbers that follow from them.

The domains are large enough that no step is ever cut. A value outside them is an error in the model.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from highwater.model.language.domain import Integers, OneOf
from highwater.model.language.records import bound

FIRST_EPOCH = 1
FIRST_LEADER = 0


@attrs.frozen
class ReconfigurationBounds:
    """How large the cluster and its history may become: the constants of the module kraft_kip_853.

    Attributes:
        orderly: whether every check of the specification is in force.
    """

    orderly: ClassVar[bool] = True

    init_cluster_size: int = bound(1, 4, "voters at the start; the first one leads in epoch 1")
    min_cluster_size: int = bound(1, 4, "a voter is removed only from more voters than these")
    max_cluster_size: int = bound(1, 5, "a voter is added only to fewer voters than these")
    max_spawned_servers: int = bound(1, 5, "servers that may ever be started, those of the start included")
    hosts: int = bound(1, 5, "hosts that servers may be started on")
    values: int = bound(1, 4, "values that clients may write, each once")
    max_values_per_epoch: int = bound(0, 2, "values that a leader may write in an epoch")
    max_epoch: int = bound(1, 4, "the last epoch")
    max_restarts: int = bound(0, 2, "restarts of servers that keep their state", 0)
    max_crashes: int = bound(0, 2, "crashes of voters that lose their state for good", 0)
    max_add_reconfigs: int = bound(0, 2, "voters that may be added", 0)
    max_remove_reconfigs: int = bound(0, 2, "voters that may be removed", 0)
    max_connectivity_changes: int = bound(0, 2, "changes of which servers are connected", 0)
    max_disconnected_pairs: int = bound(0, 4, "pairs of servers that may be disconnected at a time", 0)

    def __attrs_post_init__(self) -> None:
        if not self.min_cluster_size <= self.init_cluster_size <= self.max_cluster_size:
            raise ValueError("min_cluster_size <= init_cluster_size <= max_cluster_size must hold")
        if self.init_cluster_size > min(self.max_spawned_servers, self.hosts):
            raise ValueError("init_cluster_size must not be above max_spawned_servers or hosts")

    def log_length(self, epoch: int) -> int:
        """The longest log whose last entry is of an epoch: the first configuration, a record of each later leader, what
        clients wrote, and changes of the configuration.
        """
        if epoch < FIRST_EPOCH:
            return 0
        written = min(self.values, epoch * self.max_values_per_epoch)
        return epoch + written + self.max_add_reconfigs + self.max_remove_reconfigs

    def is_initial(self, server: int) -> bool:
        """Whether a server is there from the start; the others begin as observers with an empty log."""
        return server < self.init_cluster_size

    def may_vote(self) -> range:
        """The servers that may ever be voters."""
        return range(self.max_spawned_servers if self.max_add_reconfigs else self.init_cluster_size)

    def may_observe(self, server: int) -> bool:
        return not self.is_initial(server) or self.max_remove_reconfigs > 0

    def leaders_of(self, epoch: int) -> tuple[int, ...]:
        """The servers that may lead in an epoch. In the first one there is no election."""
        if epoch <= FIRST_EPOCH:
            return (FIRST_LEADER,) * epoch
        return tuple(self.may_vote())

    def epochs_go_back(self) -> bool:
        """Whether a server may return to an older epoch: it is unattached, and votes late for a candidate of one."""
        return self.max_epoch > 2 or not self.orderly

    def least_high_watermark(self, server: int, *, leads: bool) -> int:
        """Servers of the start know the first entry to be committed until they restart, or lead and leave."""
        return int(self.is_initial(server) and not self.max_restarts and (leads or not self.max_remove_reconfigs))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Every pair of servers."""
        return itertools.combinations(range(self.max_spawned_servers), 2)


@attrs.frozen
class UncheckedReconfigurationBounds(ReconfigurationBounds):
    """The bounds without a check of the specification."""

    orderly: ClassVar[bool] = False


@attrs.frozen
class Cut:
    """Pairs of servers that are not connected."""

    pairs: frozenset[tuple[int, int]]

    def __str__(self) -> str:
        return " ".join(f"s{one}-s{other}" for one, other in sorted(self.pairs)) or "none"


def whole(bounds: Any) -> ReconfigurationBounds:
    """Bounds as plain numbers, so that lists are made once for each."""
    if isinstance(bounds, ReconfigurationBounds):
        return bounds
    sizes = (int(getattr(bounds, field.name)) for field in attrs.fields(ReconfigurationBounds))
    return (ReconfigurationBounds if bounds.orderly else UncheckedReconfigurationBounds)(*sizes)


def servers(bounds: Any) -> Integers:
    """The domain of a server's number; the public module counts from 1."""
    return Integers(0, int(bounds.max_spawned_servers) - 1, label="s")


def hosts(bounds: Any) -> Integers:
    return Integers(0, int(bounds.hosts) - 1, label="h")


def values(bounds: Any) -> Integers:
    return Integers(0, int(bounds.values) - 1, label="v")


def offsets(bounds: Any) -> Integers:
    """A log end offset or high watermark; entries of the public module are counted from 1."""
    return Integers(0, bounds.log_length(int(bounds.max_epoch)))


def epochs(bounds: Any) -> Integers:
    """An epoch; 0 is that of a new or dead server, of one in an illegal state, and of an empty log's last entry."""
    return Integers(0, int(bounds.max_epoch), label="e")


def disconnected(bounds: Any) -> OneOf:
    """The domain of a pair of servers that may be disconnected."""
    return OneOf(tuple(bounds.pairs()) if bounds.max_disconnected_pairs else ())


def cuts(bounds: Any) -> OneOf:
    """The domain of all pairs that are disconnected together."""
    return _cuts(tuple(disconnected(bounds).members), int(bounds.max_disconnected_pairs))


@functools.cache
def _cuts(pairs: tuple[tuple[int, int], ...], most: int) -> OneOf:
    sizes = range(min(most, len(pairs)) + 1)
    return OneOf(tuple(Cut(frozenset(chosen)) for size in sizes for chosen in itertools.combinations(pairs, size)))
