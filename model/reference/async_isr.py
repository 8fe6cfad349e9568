"""AsyncIsr: a leader and a controller agree on the ISR by messages (KIP-497), in the abstraction of the public module
AsyncIsr.

One fixed leader, broker 0; followers fetch in one step; requests and updates are kept for ever and may be read late and
again.
Source of all: github.com/hachikuji/kafka-specification, module AsyncIsr; the action's name there is given with each.
"""

from __future__ import annotations

import attrs

from highwater.model.language.declarations import action
from highwater.model.language.domain import Integers, SequenceOf, SetOf
from highwater.model.language.records import bound, evolve, records, replaced, within
from highwater.model.log import brokers, per_broker

LEADER = 0
NO_VERSION = -1


@attrs.frozen
class AsyncIsrBounds:
    """How far the leader and the controller may go. The public module leaves both to a state constraint."""

    brokers: int = bound(1, 5, "brokers, all of which host a replica; broker 0 leads")
    offset_max: int = bound(1, 63, "the largest log end offset")
    version_max: int = bound(0, 15, "the last version of the ISR; versions are 0..max")


def versions(bounds: AsyncIsrBounds) -> Integers:
    """The domain of a version of the ISR, which Kafka calls the partition epoch."""
    return Integers(0, bounds.version_max, label="v")


def isrs(bounds: AsyncIsrBounds) -> SetOf:
    """The domain of an ISR."""
    return SetOf(brokers(bounds))


@attrs.frozen
class AlterIsr:
    """A leader's request: this ISR, if the version is still the one that the leader knows."""

    isr: frozenset[int] = within(isrs)
    version: int = within(versions)

    def __str__(self) -> str:
        return f"isr {{{' '.join(f'b{broker}' for broker in sorted(self.isr))}}} at v{self.version}"


@attrs.frozen
class Leader:
    """What the leader knows.

    Attributes:
        isr, version: the newest ISR that it heard of.
        pending_isr, pending_version: the members of all ISRs that it asked for since, and the version that it asked
            with, or -1.
        offsets: each broker's log end offset.
    """

    isr: frozenset[int] = within(isrs)
    version: int = within(versions)
    pending_isr: frozenset[int] = within(isrs)
    pending_version: int = within(lambda bounds: Integers(NO_VERSION, bounds.version_max))
    offsets: tuple[int, ...] = within(per_broker(lambda bounds: Integers(0, bounds.offset_max)))

    @property
    def maximal_isr(self) -> frozenset[int]:
        """Every broker that may be in the controller's ISR."""
        return self.isr | self.pending_isr

    @property
    def high_watermark(self) -> int:
        """What every member of the maximal ISR has."""
        return min(self.offsets[broker] for broker in self.maximal_isr)


@attrs.frozen
class Agreement:
    """The whole state.

    Attributes:
        isr: the controller's ISR. Its version is the number of updates.
        updates: the ISR of each version from 1 on, as sent to the leader.
        requests: every request that the leader ever sent.
        leader: what the leader knows.
    """

    isr: frozenset[int] = within(isrs)
    updates: tuple[frozenset[int], ...] = within(lambda bounds: SequenceOf(isrs(bounds), bounds.version_max))
    requests: frozenset[AlterIsr] = within(lambda bounds: SetOf(records(AlterIsr)(bounds)))
    leader: Leader = within(Leader)

    @property
    def version(self) -> int:
        return len(self.updates)

    def with_controller_isr(self, isr: frozenset[int]) -> Agreement:
        """The controller has a new ISR under the next version, and sends it to the leader."""
        return evolve(self, isr=isr, updates=self.updates + (isr,))

    def asking_for(self, isr: frozenset[int]) -> Agreement:
        """The leader asks for an ISR and remembers its members as pending."""
        leader = self.leader
        changed = evolve(leader, pending_isr=leader.pending_isr | isr, pending_version=leader.version)
        return evolve(self, requests=self.requests | {AlterIsr(isr, leader.version)}, leader=changed)


def initial_states(bounds: AsyncIsrBounds) -> list[Agreement]:
    """Everybody is in the ISR, and nothing was written."""
    everyone = frozenset(range(bounds.brokers))
    leader = Leader(everyone, 0, frozenset(), NO_VERSION, (0,) * bounds.brokers)
    return [Agreement(everyone, (), frozenset(), leader)]


def followers(bounds: AsyncIsrBounds) -> dict[str, range]:
    """The interchangeable names: all brokers but the leader."""
    return {"brokers": range(LEADER + 1, bounds.brokers)}


@action(actor="controller", broker=brokers)
def controller_shrinks_isr(state: Agreement, broker: int) -> Agreement | None:
    """The controller takes a failed follower out of the ISR.

    Actor: controller.
    Enabled: the follower is in the controller's ISR.
    Effect: it is not, under a new version; an update goes to the leader.
    Source: ControllerShrinkIsr; KIP-497.
    """
    if broker == LEADER or broker not in state.isr:
        return None
    return state.with_controller_isr(state.isr - {broker})


@action(actor="controller", isr=isrs)
def controller_accepts(state: Agreement, isr: frozenset[int]) -> Agreement | None:
    """The controller grants a request that knows the current version.

    Actor: controller.
    Enabled: the leader asked for this ISR with the current version.
    Effect: the ISR is in force under a new version; an update goes to the leader.
    Source: ControllerHandleRequest; kafka.controller.KafkaController#alterIsrs (2.7); KIP-497.
    """
    if AlterIsr(isr, state.version) not in state.requests:
        return None
    return state.with_controller_isr(isr)


@action(actor="leader", broker=brokers)
def leader_asks_to_shrink(state: Agreement, broker: int) -> Agreement | None:
    """The leader asks for its ISR without one follower.

    Actor: leader.
    Enabled: the follower is in the leader's ISR.
    Effect: a request is sent; what it asks for is pending, and the follower stays in the maximal ISR.
    Source: LeaderRequestShrinkIsr; kafka.cluster.Partition#shrinkIsr (2.7).
    """
    if broker == LEADER or broker not in state.leader.isr:
        return None
    return state.asking_for(state.leader.isr - {broker})


@action(actor="leader", broker=brokers)
def leader_asks_to_expand(state: Agreement, broker: int) -> Agreement | None:
    """The leader asks for its ISR with one more follower.

    Actor: leader.
    Enabled: the follower is not in the leader's ISR and has reached the high watermark.
    Effect: a request is sent; what it asks for is pending, so that the follower counts for the high watermark at once.
    Source: LeaderRequestExpandIsr; kafka.cluster.Partition#expandIsr (2.7).
    """
    leader = state.leader
    if broker in leader.isr or leader.offsets[broker] < leader.high_watermark:
        return None
    return state.asking_for(leader.isr | {broker})


@action(actor="leader")
def leader_writes(state: Agreement) -> Agreement | None:
    """The leader appends a record.

    Actor: leader.
    Enabled: always.
    Effect: its log end offset goes up by one.
    Source: LeaderWrite.
    """
    leader = state.leader
    return evolve(state, leader=evolve(leader, offsets=replaced(leader.offsets, LEADER, leader.offsets[LEADER] + 1)))


@action(actor="leader", version=versions)
def leader_learns(state: Agreement, version: int) -> Agreement | None:
    """The leader reads an update.

    Actor: leader.
    Enabled: the update's version is newer than the leader's.
    Effect: its ISR and version are the update's, and nothing is pending any more.
    Source: LeaderHandleUpdate; kafka.cluster.Partition#makeLeader (2.7).
    """
    if version <= state.leader.version or version > state.version:
        return None
    isr = state.updates[version - 1]
    return evolve(
        state,
        leader=evolve(state.leader, isr=isr, version=version, pending_isr=frozenset(), pending_version=NO_VERSION),
    )


@action(actor="broker", broker=brokers)
def follower_replicates(state: Agreement, broker: int) -> Agreement | None:
    """A follower fetches the next record.

    Actor: the follower.
    Enabled: its log end offset is below the leader's.
    Effect: it goes up by one.
    Source: FollowerReplicate.
    """
    offsets = state.leader.offsets
    if broker == LEADER or offsets[broker] >= offsets[LEADER]:
        return None
    return evolve(state, leader=evolve(state.leader, offsets=replaced(offsets, broker, offsets[broker] + 1)))


ACTIONS = (
    controller_shrinks_isr,
    controller_accepts,
    leader_asks_to_shrink,
    leader_asks_to_expand,
    leader_writes,
    leader_learns,
    follower_replicates,
)
