"""The controller's election strategies, and the assignment of a new topic, as pure functions.

Elections follow the order of the assignment, never that of the ISR; only the offline election may be unclean.
Source: kafka.controller.Election and PartitionLeaderElectionAlgorithms (3.5); kafka.controller.PartitionLeaderSelector
    (0.10.2).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

import attrs


class Strategy(Enum):
    """The reason for an election, which decides its strategy."""

    OFFLINE = "offline"
    REASSIGNMENT = "reassignment"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled shutdown"


@attrs.frozen
class Elected:
    """An elected leader, and the ISR that the controller writes with it."""

    leader: int
    isr: frozenset[int]


def _first(candidates: Sequence[int], *conditions: Collection[int]) -> int | None:
    """The first candidate that is in all of the sets."""
    return next(
        (candidate for candidate in candidates if all(candidate in condition for condition in conditions)), None
    )


def first_leadership(assignment: Sequence[int], live: Collection[int]) -> Elected | None:
    """The first leadership of a new partition: the first live assigned replica leads; all live ones are in the ISR.

    Source: kafka.controller.ZkPartitionStateMachine#initializeLeaderAndIsrForPartitions (3.5).
    """
    leader = _first(assignment, live)
    return None if leader is None else Elected(leader, frozenset(replica for replica in assignment if replica in live))


def elect_offline(
    assignment: Sequence[int], isr: frozenset[int], live: Collection[int], *, unclean: bool
) -> Elected | None:
    """A leader for a partition that has none: a live ISR member, or, if unclean election is allowed, any live replica.

    The ISR loses its dead members; after an unclean election it is the leader alone.
    """
    leader = _first(assignment, live, isr)
    if leader is not None:
        return Elected(leader, frozenset(member for member in isr if member in live))
    leader = _first(assignment, live) if unclean else None
    return None if leader is None else Elected(leader, frozenset((leader,)))


def elect_for_reassignment(target: Sequence[int], isr: frozenset[int], live: Collection[int]) -> Elected | None:
    """A leader among the target replicas of a reassignment. The ISR stays as it is, dead members included."""
    leader = _first(target, live, isr)
    return None if leader is None else Elected(leader, isr)


def elect_preferred(assignment: Sequence[int], isr: frozenset[int], live: Collection[int]) -> Elected | None:
    """The first assigned replica, if it is live and in the ISR. The ISR stays as it is, dead members included."""
    leader = _first(assignment[:1], live, isr)
    return None if leader is None else Elected(leader, isr)


def elect_for_shutdown(
    assignment: Sequence[int],
    isr: frozenset[int],
    live_or_shutting_down: Collection[int],
    shutting_down: Collection[int],
) -> Elected | None:
    """A leader in place of one that shuts down. All brokers that shut down leave the ISR; dead members stay."""
    staying = frozenset(member for member in isr if member not in shutting_down)
    leader = _first(assignment, live_or_shutting_down, staying)
    return None if leader is None else Elected(leader, staying)


def assign_round_robin(brokers: Sequence[int], partitions: int, replicas: int, first: int = 0) -> list[tuple[int, ...]]:
    """The assignment of a new topic: partition i begins at broker first + i, and its replicas follow one another. After
    each round over all brokers they begin one broker further from the first one, so that the partitions of one leader
    do not all have the same followers.

    Args:
        brokers: live broker ids, in order.
        partitions, replicas: how many of each.
        first: the position at which the first partition begins; Kafka draws it at random.

    Raises:
        ValueError: there are fewer brokers than replicas, or no replicas.

    Abstracts: racks, and that the distance between the first replica and its followers is random in the first round.
    Source: kafka.admin.AdminUtils#assignReplicasToBrokers (0.10.2).
    """
    if not 1 <= replicas <= len(brokers):
        raise ValueError(f"{replicas} replicas do not fit on {len(brokers)} brokers")
    others = len(brokers) - 1

    def position(i: int, j: int) -> int:
        distance = 1 + (i // len(brokers) + j - 1) % others if j else 0
        return (first + i + distance) % len(brokers)

    return [tuple(brokers[position(i, j)] for j in range(replicas)) for i in range(partitions)]
