"""The state of the reference family: one partition, its replicas, and the controller's view of them.

The abstraction is that of the public module KafkaReplication: LeaderAndIsr requests are kept for ever and may be read
late, in any order and again; quorum state (ZooKeeper's, or the controller's) changes atomically; fetching is one step;
brokers do not crash. Offsets count from 0; log end offset and high watermark are exclusive. Epochs count from 0, and -1
is "none seen yet".
"""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.language.domain import Integers, Maybe, SequenceOf, SetOf
from highwater.model.language.records import bound, evolve, records, replaced, within
from highwater.model.log import NO_EPOCH, Record, brokers, per_broker


class Variant(Enum):
    """The protocols of the family, oldest first, and AsyncIsr, which is a model of its own."""

    TRUNCATE_TO_HIGH_WATERMARK = "truncate-to-high-watermark"
    KIP_101 = "kip-101"
    KIP_279 = "kip-279"
    KIP_320_FIRST_TRY = "kip-320-first-try"
    KIP_320 = "kip-320"
    ASYNC_ISR = "async-isr"


@attrs.frozen
class ReferenceProtocol:
    """Which protocol of the family is checked."""

    variant: Variant


@attrs.frozen
class ReferenceBounds:
    """How large the cluster and its history may become.

    The public modules call these Replicas (by their number), LogSize, MaxRecords and MaxLeaderEpoch.
    """

    brokers: int = bound(1, 7, "brokers, all of which host a replica")
    log_length_max: int = bound(1, 15, "records that a log can hold")
    records_max: int = bound(1, 63, "records that can ever be written")
    leader_epoch_max: int = bound(0, 31, "the last leader epoch; epochs are 0..max")


@attrs.frozen
class Replica:
    """One broker's log and what it believes about the partition.

    Attributes:
        log: its records, by offset.
        high_watermark: the first offset that it does not know to be committed.
        leader_epoch: the epoch of the newest LeaderAndIsr request that it accepted, or -1.
        leader: the leader named there; a replica that names itself presumes leadership.
        isr: the ISR named there, as changed by itself since if it leads.
    """

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    leader_epoch: int = within(lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max))
    high_watermark: int = within(lambda bounds: Integers(0, bounds.log_length_max))
    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    log: tuple[Record, ...] = within(lambda bounds: SequenceOf(records(Record)(bounds), bounds.log_length_max))

    @property
    def log_end_offset(self) -> int:
        return len(self.log)

    def has_offset(self, offset: int) -> bool:
        """Whether the log reaches beyond the offset."""
        return 0 <= offset < len(self.log)


@attrs.frozen
class LeaderAndIsr:
    """What a controller sends to the replicas; its leader epoch is its position among all requests ever sent."""

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))

    def __str__(self) -> str:
        leader = "none" if self.leader is None else f"b{self.leader}"
        return f"leader {leader} isr {{{' '.join(f'b{broker}' for broker in sorted(self.isr))}}}"


@attrs.frozen
class Cluster:
    """The whole state.

    Attributes:
        quorum: the true leader and ISR. The true leader epoch is that of the last request.
        requests: every LeaderAndIsr request, by leader epoch.
        next_record_id: how many records were written.
        replicas: by broker id.
    """

    quorum: LeaderAndIsr = within(LeaderAndIsr)
    next_record_id: int = within(lambda bounds: Integers(0, bounds.records_max))
    requests: tuple[LeaderAndIsr, ...] = within(
        lambda bounds: SequenceOf(records(LeaderAndIsr)(bounds), bounds.leader_epoch_max + 1)
    )
    replicas: tuple[Replica, ...] = within(per_broker(records(Replica)))

    @property
    def leader_epoch(self) -> int:
        """The true leader epoch, or -1 before the first election."""
        return len(self.requests) - 1

    def with_replica(self, broker: int, replica: Replica) -> Cluster:
        return evolve(self, replicas=replaced(self.replicas, broker, replica))

    def presumes_leadership(self, broker: int) -> bool:
        """Whether the broker believes that it leads, and so accepts writes and serves fetches."""
        return self.replicas[broker].leader == broker

    def follows(self, follower: int, leader: int) -> bool:
        """Whether the follower believes that the leader leads. A leader follows itself."""
        return self.replicas[follower].leader == leader

    def follows_in_same_epoch(self, follower: int, leader: int) -> bool:
        """Whether both believe that the leader leads, and in the same leader epoch."""
        return (
            self.presumes_leadership(leader)
            and self.follows(follower, leader)
            and self.replicas[follower].leader_epoch == self.replicas[leader].leader_epoch
        )

    def is_true_leader(self, broker: int) -> bool:
        """Whether the broker leads by its own belief and by the quorum's, in the current leader epoch."""
        return (
            self.quorum.leader == broker
            and self.presumes_leadership(broker)
            and self.replicas[broker].leader_epoch == self.leader_epoch
        )


def initial_states(bounds: ReferenceBounds) -> list[Cluster]:
    """Empty logs, no leader yet, and every replica in the ISR."""
    everyone = frozenset(range(bounds.brokers))
    idle = Replica(leader=None, leader_epoch=NO_EPOCH, high_watermark=0, isr=frozenset(), log=())
    return [
        Cluster(quorum=LeaderAndIsr(None, everyone), next_record_id=0, requests=(), replicas=(idle,) * bounds.brokers)
    ]


def all_brokers(bounds: ReferenceBounds) -> dict[str, range]:
    """The interchangeable names: no step and no property cares which broker is which."""
    return {"brokers": range(bounds.brokers)}
