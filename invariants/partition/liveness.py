"""What must happen to a partition sooner or later, and which actions of a cluster make it happen.

Most properties here say *always eventually*: after any run, the state that they ask for comes about again. Behaviours
are fair to the actions that a cluster takes by itself. They owe nothing to failures (crashes, lost sessions, moved
leadership, lost answers), and the budgets of failures end.
"""

from __future__ import annotations

from collections.abc import Iterator

from highwater.invariants.partition.terms import the_leader
from highwater.model.language.declarations import Truth, Witness
from highwater.model.language.graph_properties import always_eventually, eventually_always, per
from highwater.model.partition import (
    alter_partition,
    clients,
    controlling,
    elections,
    fetching,
    in_sync_replicas,
    leadership,
    membership,
    truncating,
    zookeeper_isr,
)
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.high_watermark import min_isr
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Leader, Partition, Replica, Standing

FAIR = (
    fetching.fetch_at_once,
    fetching.fetch,
    fetching.send_fetch,
    truncating.ask_where_to_truncate,
    per(leadership.learn_leadership, "broker"),
    leadership.learn_isr,
    alter_partition.alter_partition,
    in_sync_replicas.receive_isr_answer,
    in_sync_replicas.propose_shrink,
    zookeeper_isr.shrink_isr,
    membership.outlast_lag_time,
    controlling.unfence,
    per(controlling.fence, "broker"),
    per(elections.elect),
    per(elections.elect_last_known_leader),
)
"""Actions that happen if they stay possible.

A follower's fetcher thread fetches again and again. A broker reads the metadata log, or the controller sends it
LeaderAndIsr requests again. A broker repeats requests to the controller until it has an answer. A leader looks for
lagging followers every half of replica.lag.time.max.ms, and that time passes. Sessions of dead brokers end, heartbeats
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
"""Actions that happen if they are possible again and again.

A network that loses some requests and responses does not lose all of them. A leader checks a follower on every fetch,
so that it finds one that catches up again and again to be caught up in the end.
"""


def _leaders(partition: Partition) -> Iterator[tuple[int, Leader]]:
    """The leader and its replica, if a broker has become leader in the current leader epoch."""
    for broker in range(len(partition.replicas)):
        if (replica := the_leader(partition, broker)) is not None:
            yield broker, replica


def _waits_for_news(partition: Partition, replica: Leader) -> bool:
    """Whether a leader proposes a fenced broker. In the model a leader learns of a fence only from a later change of
    the partition.
    """
    proposed = replica.leadership.pending or ()
    return any(partition.quorum.registrations[member].standing is Standing.FENCED for member in proposed)


def _followers(partition: Partition, leader: int) -> Iterator[tuple[int, Replica]]:
    """The running followers that are assigned, and neither fenced nor shutting down."""
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
    """L1: the leader commits its whole log sooner or later, unless its ISR is too small for that.

    Kind: always eventually.
    When violated: consumers do not see new records, and producers with acks=all time out, although the leader runs.
    Abstracts: a leader that proposes a fenced broker: in Kafka it learns of the fence, in this model it may not.
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
    """L2: a leader learns the outcome of its proposal sooner or later.

    Kind: always eventually.
    When violated: the leader proposes no other ISR, and its high watermark waits for replicas that may be dead.
    Abstracts: the same as L1.
    Source: KAFKA-12751, KAFKA-14154.
    """
    for leader, replica in _leaders(partition):
        if replica.leadership.pending is not None and not _waits_for_news(partition, replica):
            return Witness("b{leader} waits for an answer to its proposal that never comes", leader=leader)
    return True


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR)
def followers_reach_the_log_end(partition: Partition) -> Truth:
    """L3: every running follower catches up with the leader sooner or later.

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
    When violated: the partition stays under-replicated although its brokers run.
    Source: KAFKA-2729.
    """
    for leader, _ in _leaders(partition):
        for follower, _ in _followers(partition, leader):
            if follower not in partition.quorum.isr:
                return Witness("b{follower} never joins the ISR", follower=follower)
    return True


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR, needs=lambda bounds: bounds.retentions)
def low_watermark_reaches_the_log_start(partition: Partition) -> Truth:
    """L8: every running follower deletes sooner or later what the leader has deleted from the start of its log.

    Kind: always eventually.
    When violated: a client that has asked to delete records waits until its request times out, as the low watermark
        stays where it is.
    Abstracts: that the leader knows a follower's log start offset by its fetches; brokers that are not alive do not
        count, as in Kafka.
    Source: kafka.cluster.Partition#lowWatermarkIfLeader (0.11.0.0 to 3.5), KIP-107.
    """
    for leader, ours in _leaders(partition):
        for follower, theirs in _followers(partition, leader):
            if theirs.log_start < ours.log_start:
                return Witness(
                    "b{follower}'s log starts at {theirs}, and that of b{leader} at {ours}, for ever",
                    follower=follower,
                    theirs=theirs.log_start,
                    leader=leader,
                    ours=ours.log_start,
                )
    return True


@eventually_always(fair=FAIR)
def lagging_followers_stay_out_of_the_isr(partition: Partition) -> Truth:
    """L7: sooner or later the ISR has no running follower that lacks records, and never gets one again.

    Kind: eventually always.
    When violated: a follower that never catches up joins the ISR and leaves it, for ever. Each time there is a new
        partition epoch, and producers with acks=all are accepted and then wait in vain.
    Abstracts: a follower that is slower than producers. Logs are bounded here, so that such a follower does not receive
        the next record: no behaviour owes it a response.
    Source: KAFKA-19996.
    """
    for leader, ours in _leaders(partition):
        for follower, theirs in _followers(partition, leader):
            if follower in ours.leadership.isr and theirs.log_end_offset < ours.log_end_offset:
                return Witness("b{follower} lags, and is in the ISR again and again", follower=follower)
    return True


@always_eventually(
    fair=(*FAIR, per(clients.ask_for_metadata)),
    strongly_fair=STRONGLY_FAIR,
    needs=lambda bounds: bounds.producer_metadata,
)
def producers_find_the_leader(partition: Partition, bounds: PartitionBounds) -> Truth:
    """L9: a producer sends to the leader sooner or later.

    Kind: always eventually.
    When violated: the producer sends to a broker that leads no more, for ever, and its records expire.
    Source: org.apache.kafka.clients.producer.internals.Sender#completeBatch (0.9 to 3.8), which asks for metadata after
        an error that says so.
    """
    for leader, _ in _leaders(partition):
        if not clients.sends_to(partition, leader, bounds):
            return Witness("the producer never hears that b{leader} leads", leader=leader)
    return True


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR)
def a_leader_is_elected(partition: Partition) -> Truth:
    """L5: the partition has a leader sooner or later if any broker may be elected.

    Kind: always eventually.
    When violated: the partition is offline, although a broker with all committed records runs.
    Source: KIP-966; kafka.controller.PartitionStateMachine (2.8).
    """
    quorum = partition.quorum
    able = [broker for broker in range(len(partition.replicas)) if controlling.may_lead(quorum, broker)]
    return quorum.leader is not None or not able or Witness("b{broker} may lead, and is never elected", broker=able[0])


@always_eventually(fair=FAIR, strongly_fair=STRONGLY_FAIR)
def truncation_ends(partition: Partition) -> Truth:
    """L6: a running follower finds sooner or later where its log diverges from its leader's.

    Kind: always eventually.
    When violated: the follower asks for ever and fetches no records.
    Source: KIP-101, KIP-279.
    """
    for leader, _ in _leaders(partition):
        for follower, theirs in _followers(partition, leader):
            if theirs.leader == leader and theirs.truncating:
                return Witness("b{follower} never finds where to truncate its log", follower=follower)
    return True
