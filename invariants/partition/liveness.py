"""What must happen to a partition sooner or later, and what a cluster does by itself that makes it happen.

All of these say *always eventually*: whatever has happened, it comes about again, unless something new happens first
without end. What disturbs a cluster (crashes, lost sessions, moved leadership, lost answers) is never relied on, and
its budgets end.
"""

from __future__ import annotations

from collections.abc import Iterator

from invariants.partition.terms import Truth, is_the_leader
from model.language.declarations import Witness
from model.language.graph_properties import always_eventually, per
from model.partition import (
    controlling,
    elections,
    fetching,
    in_sync_replicas,
    leadership,
    membership,
    truncating,
    zookeeper_isr,
)
from model.partition.bounds import PartitionBounds
from model.partition.high_watermark import min_isr
from model.partition.protocol import PartitionProtocol
from model.partition.state import Partition, Replica, Standing

FAIR = (
    fetching.fetch_at_once,
    fetching.fetch,
    fetching.send_fetch,
    truncating.ask_where_to_truncate,
    per(leadership.learn_leadership, "broker"),
    leadership.learn_isr,
    in_sync_replicas.alter_partition,
    in_sync_replicas.receive_isr_answer,
    in_sync_replicas.propose_shrink,
    zookeeper_isr.shrink_isr,
    membership.outlast_lag_time,
    controlling.unfence,
    per(controlling.fence, "broker"),
    per(elections.elect),
    per(elections.elect_last_known_leader),
)
"""What goes on as long as it can.

A follower's fetcher thread asks again and again. A broker reads the metadata log, or is sent LeaderAndIsr
requests again. Requests to the controller are sent again until they are answered. A leader looks for followers
that lag every half of replica.lag.time.max.ms, and that time passes. Sessions of dead brokers end, heartbeats
unfence running ones, and the controller elects.
"""

STRONGLY_FAIR = (
    fetching.serve_fetch,
    fetching.receive_fetch,
    truncating.handle_out_of_range,
    in_sync_replicas.propose_expansion,
    in_sync_replicas.find_in_sync,
    zookeeper_isr.expand_isr,
)
"""What happens if it is possible again and again.

A network that loses some requests and responses does not lose all of them. A leader looks at a follower each
time that it fetches, so a follower that is caught up again and again is found so at last.
"""


def _leaders(partition: Partition) -> Iterator[tuple[int, Replica]]:
    """The leader and its replica, if there is one that has become leader of the current leader epoch."""
    for broker, replica in enumerate(partition.replicas):
        if is_the_leader(partition, broker):
            yield broker, replica


def _waits_for_news(partition: Partition, replica: Replica) -> bool:
    """Whether a leader proposes a broker that is fenced. The model tells a leader of fences only along with changes of
    the partition.
    """
    proposed = replica.leadership.pending or ()
    return any(partition.quorum.registrations[member].standing is Standing.FENCED for member in proposed)


def _followers(partition: Partition, leader: int) -> Iterator[tuple[int, Replica]]:
    """The running followers that the controller counts on: they are assigned, and neither fenced nor shutting down."""
    for broker, replica in enumerate(partition.replicas):
        counted_on = (
            partition.quorum.registrations[broker].standing is Standing.ACTIVE and broker in partition.quorum.assignment
        )
        if broker != leader and counted_on and replica.is_up:
            yield broker, replica


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR)
def high_watermark_reaches_the_log_end(
    partition: Partition, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Truth:
    """L1: all that the leader has written is committed sooner or later, unless its ISR is too small for that.

    Kind: always eventually.
    When violated: consumers do not see new records, and producers with acks=all time out,
    though nothing is wrong with the leader.
    Abstracts: a leader that proposes a fenced broker, which Kafka tells it of and this model may not.
    Source: KAFKA-13091.
    """
    for leader, replica in _leaders(partition):
        too_small = protocol.high_watermark_requires_min_isr and len(replica.leadership.isr) < min_isr(
            replica.leadership.assignment, protocol, bounds
        )
        if (
            replica.high_watermark < replica.log_end_offset
            and not too_small
            and not _waits_for_news(partition, replica)
        ):
            return Witness(
                "b{leader}'s high watermark stays at {offset}, and its log ends at {end}",
                leader=leader,
                offset=replica.high_watermark,
                end=replica.log_end_offset,
            )
    return True


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR)
def isr_changes_are_resolved(partition: Partition) -> Truth:
    """L2: a leader learns sooner or later what became of the ISR that it has proposed.

    Kind: always eventually.
    When violated: the leader proposes no other ISR, and its high watermark waits for replicas that may be dead.
    Abstracts: as for the high watermark.
    Source: KAFKA-12751, KAFKA-14154.
    """
    for leader, replica in _leaders(partition):
        if replica.leadership.pending is not None and not _waits_for_news(partition, replica):
            return Witness("b{leader} waits for an answer to its proposal that never comes", leader=leader)
    return True


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR)
def followers_reach_the_log_end(partition: Partition) -> Truth:
    """L3: every running follower has the leader's log sooner or later.

    Kind: always eventually.
    When violated: a follower fetches for ever and does not catch up.
    Source: KAFKA-10706.
    """
    for leader, ours in _leaders(partition):
        for follower, theirs in _followers(partition, leader):
            if theirs.log[ours.log_start :] != ours.log[ours.log_start :]:
                return Witness(
                    "b{follower} never has the log of b{leader}, which leads", follower=follower, leader=leader
                )
    return True


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR)
def replicas_join_the_isr(partition: Partition) -> Truth:
    """L4: every running follower is in the ISR sooner or later.

    Kind: always eventually.
    When violated: the partition stays under-replicated though all of its brokers run.
    Source: KAFKA-2729.
    """
    for leader, _ in _leaders(partition):
        for follower, _ in _followers(partition, leader):
            if follower not in partition.quorum.isr:
                return Witness("b{follower} never comes into the ISR", follower=follower)
    return True


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR)
def a_leader_is_elected(partition: Partition) -> Truth:
    """L5: the partition has a leader sooner or later if anybody may be elected.

    Kind: always eventually.
    When violated: the partition is offline, though a broker that has all committed records runs.
    Source: KIP-966; kafka.controller.PartitionStateMachine (2.8).
    """
    quorum = partition.quorum
    able = [broker for broker in range(len(partition.replicas)) if controlling.may_lead(quorum, broker)]
    return quorum.leader is not None or not able or Witness("b{broker} may lead, and is never elected", broker=able[0])


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR)
def truncation_ends(partition: Partition) -> Truth:
    """L6: a running follower knows sooner or later where its log parts from its leader's.

    Kind: always eventually.
    When violated: the follower asks for ever and fetches no records.
    Source: KIP-101, KIP-279.
    """
    for leader, _ in _leaders(partition):
        for follower, theirs in _followers(partition, leader):
            if theirs.leader == leader and theirs.truncating:
                return Witness("b{follower} never knows where to cut its log", follower=follower)
    return True
