"""The constants of the public module KRaft, and the domains of numbers that follow from them.

The module does not bound epochs and messages. The constants do: an epoch is begun by an election. The domains here are
large enough that no step is ever cut. A value outside them is an error in the model.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from highwater.model.language.domain import Integers
from highwater.model.language.records import bound

FIRST_EPOCH = 1


@attrs.frozen
class QuorumBounds:
    """How large the quorum and its history may become: the constants of the module KRaft.

    Attributes:
        orderly: whether every check of the specification is in force.
    """

    orderly: ClassVar[bool] = True

    servers: int = bound(1, 5, "voters")
    values: int = bound(1, 4, "values that clients may write, each once")
    max_elections: int = bound(0, 4, "elections that may be begun")
    max_restarts: int = bound(0, 2, "restarts of servers", 0)

    def last_epoch(self) -> int:
        return FIRST_EPOCH + self.max_elections

    def goes_forward(self) -> bool:
        """Whether the epochs of every server and log only grow.

        A restart may lead to an illegal state, and that sets the epoch of a server to 0.
        """
        return self.orderly and not self.max_restarts

    def elected(self) -> range:
        """The epochs that may have a candidate. One of epoch 1 has restarted in an illegal state."""
        return range(FIRST_EPOCH + (self.max_restarts < 2), self.last_epoch() + 1)

    def copies(self) -> int:
        """How many equal messages can be on their way.

        A follower may ask again when it has heard of its leader once more, or after a restart. A voter may refuse
        each election with the same words.
        """
        return max(2 + self.max_restarts, self.max_elections)


@attrs.frozen
class UncheckedQuorumBounds(QuorumBounds):
    """The bounds without a check of the specification."""

    orderly: ClassVar[bool] = False


def servers(bounds: Any) -> Integers:
    """The domain of a server's id; the public module has model values."""
    return Integers(0, int(bounds.servers) - 1, label="s")


def values(bounds: Any) -> Integers:
    return Integers(0, int(bounds.values) - 1, label="v")


def offsets(bounds: Any) -> Integers:
    """A log end offset or high watermark; entries of the public module are counted from 1."""
    return Integers(0, int(bounds.values))


def epochs(bounds: Any) -> Integers:
    """An epoch; 0 is that of a server in an illegal state, and of an empty log's last entry."""
    return Integers(0, bounds.last_epoch(), label="e")
