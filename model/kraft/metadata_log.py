"""The metadata log: batches are appended, committed, and lost when another controller becomes active."""

from __future__ import annotations

from highwater.model.kraft.bounds import KraftBounds
from highwater.model.kraft.image import Batch, Image
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.requests import answered, sent_again
from highwater.model.kraft.state import Cluster, Heartbeats, Mishap
from highwater.model.language.declarations import action
from highwater.model.language.domain import Integers
from highwater.model.language.records import evolve

NOBODY = frozenset[int]()


def appended(
    before: Cluster, after: Cluster, protocol: KraftProtocol, bounds: KraftBounds, answers: int | None = None
) -> Cluster:
    """The cluster after the active controller has appended one batch of records.

    Args:
        after: the cluster with what the batch changes.
        answers: the leader whose AlterPartition request is answered once the batch is committed.
    Source: org.apache.kafka.controller.QuorumController.ControllerWriteEvent#run (3.5.1 to 4.3.1).
    """
    if bounds.uncommitted:
        return evolve(after, tail=(*before.tail, Batch(before.end, answers, of_quorum=False)))
    return passed(with_new_end(after, protocol, of_quorum=False), before.end, bounds)


def passed(cluster: Cluster, before: Image, bounds: KraftBounds) -> Cluster:
    """The cluster once the metadata log has another committed end than `before`, which is ahead of every broker."""
    if not bounds.stops:
        return cluster
    cluster = evolve(cluster, earlier=(*cluster.earlier, before)[-bounds.stops :])
    for broker in cluster.ids:
        if cluster.brokers[broker].running:
            cluster = cluster.with_broker(broker, unread=min(cluster.brokers[broker].unread, bounds.stops) + 1)
    return cluster


def appended_by_partition(stages: list[Cluster], protocol: KraftProtocol, bounds: KraftBounds) -> Cluster:
    """The cluster after the active controller has appended a decision about several partitions: one batch, or several
    if there are more records than a batch may have.

    Args:
        stages: the cluster before the decision, and after the records of each partition.
    Source: KAFKA-14204; org.apache.kafka.controller.QuorumController#appendRecords (3.3.0 to 4.3.1).
    """
    before, *_, after = stages
    if not bounds.uncommitted or not bounds.split_batches:
        return appended(before, after, protocol, bounds)
    batches = tuple(Batch(each.end, None, of_quorum=False) for each in stages[:-1])
    return evolve(after, tail=before.tail + batches)


def with_new_end(cluster: Cluster, protocol: KraftProtocol, *, of_quorum: bool) -> Cluster:
    """The cluster after a commit: nobody has read the metadata log to the end. The active controller remembers what it
    says there if it has made the batch itself.

    Source: org.apache.kafka.controller.OffsetControlManager#handleCommitBatch (3.7.0 to 4.3.1).
    """
    cluster = evolve(cluster, at_end=NOBODY) if protocol.compares_with_end else cluster
    return cluster if protocol.voter_changes_skipped else evolve(cluster, can_revert=not of_quorum)


def settled(cluster: Cluster) -> Cluster:
    """The cluster without what no controller will ask any more: how the former process of a broker has ended whose
    registration is committed.
    """
    for broker in cluster.ids:
        ours = cluster.brokers[broker]
        if not ours.stopped_cleanly or not ours.running:
            continue
        if cluster.committed.registrations[broker].broker_epoch == ours.broker_epoch:
            cluster = cluster.with_broker(broker, stopped_cleanly=False)
    return cluster


@action(actor="controller", needs=lambda bounds: bounds.uncommitted)
def commit_batch(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """The oldest batch that is not committed becomes so: most controllers have it.

    Actor: the controllers.
    Enabled: there is one.
    Effect: brokers can read it. The leader whose request it answers learns the answer.
    Abstracts: how the controllers replicate the metadata log; the model `quorum-reference` has it.
    Source: org.apache.kafka.controller.QuorumController.QuorumMetaLogListener#handleCommit (3.5.1 to 4.3.1).
    """
    if not cluster.tail:
        return None
    leader, of_quorum, before = cluster.tail[0].answers, cluster.tail[0].of_quorum, cluster.committed
    cluster = settled(evolve(cluster, tail=cluster.tail[1:]))
    cluster = passed(with_new_end(cluster, protocol, of_quorum=of_quorum), before, bounds)
    return cluster if leader is None else answered(cluster, leader)


def some_batches(bounds: KraftBounds) -> Integers:
    return Integers(0, bounds.uncommitted)


@action(actor="controller", needs=lambda bounds: bounds.fail_overs, kept=some_batches)
def fail_over(cluster: Cluster, kept: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Another controller becomes active. It knows what is in its metadata log, and nothing of heartbeats.

    Actor: the controllers.
    Enabled: the new controller has this many of the batches that are not committed; the budget allows it.
    Effect: the other batches are lost. Requests that wait for a batch are sent again. It counts every registered
        broker as heard of. With the bug of KAFKA-18138 it did not, so that a broker lost its session only after a
        heartbeat to this controller. With `controllers = 2` the old one goes on for a while; it can answer only if
        nothing of its own waits to be committed. Then it goes back to what is committed.
    Source: org.apache.kafka.controller.QuorumController#claim, #renounce (3.5.1 to 4.3.1),
        org.apache.kafka.controller.ClusterControlManager#activate (3.5.1 to 4.3.1),
        org.apache.kafka.controller.BrokerHeartbeatManager#register (3.5.1 to 4.3.1).
    """
    if kept > len(cluster.tail):
        return None
    return taken_over(cluster.spending("fail_overs"), kept, protocol, bounds)


def taken_over(cluster: Cluster, kept: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster:
    """The cluster once another controller is active that has this many of the batches that are not committed."""
    everyone = frozenset(cluster.ids)
    after = evolve(
        with_new_end(cluster, protocol, of_quorum=False),
        mishap=cluster.mishap if cluster.can_revert else Mishap.NO_SNAPSHOT,
        heartbeats=Heartbeats(
            contacted=everyone if protocol.new_controller_expects_heartbeats else NOBODY,
            leaving=NOBODY,
            waits_for=(NOBODY,) * len(cluster.brokers),
        ),
        deposed=(cluster.end,) if bounds.controllers > 1 and not cluster.tail else (),
        tail=tuple(evolve(batch, answers=None) for batch in cluster.tail[:kept]),
    )
    if kept < len(cluster.tail):
        image = cluster.tail[kept].before
        after = evolve(
            after,
            registrations=image.registrations,
            partitions=image.partitions,
            min_isr=image.min_isr,
            stale=image.stale,
        )
    if cluster.tail:
        for broker in cluster.ids:
            after = sent_again(after, broker)
    return after


@action(actor="controller", needs=lambda bounds: bounds.controllers > 1 and bounds.fail_overs)
def learn_of_fail_over(cluster: Cluster) -> Cluster | None:
    """A controller that has been deposed learns so.

    Actor: the deposed controller.
    Enabled: it does not know yet.
    Effect: it answers nothing any more, and requests are sent to the active controller.
    Source: org.apache.kafka.controller.QuorumController#renounce (3.5.1 to 4.3.1).
    """
    return evolve(cluster, deposed=()) if cluster.deposed else None


@action(actor="controller", needs=lambda bounds: bounds.no_ops)
def append_no_op(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster:
    """The controller appends a record that changes nothing, so that the offsets of brokers can be compared.

    Actor: the controller.
    Enabled: always.
    Effect: once it is committed, no broker has read all of the metadata log.
    Source: KIP-835; org.apache.kafka.controller.QuorumController#maybeScheduleNextWriteNoOpRecord (3.3.0).
    """
    return appended(cluster, cluster, protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.voter_changes)
def change_voters(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster:
    """The quorum appends a batch of its own: its voters change.

    Actor: the controllers.
    Enabled: the budget allows it.
    Effect: nothing that brokers could read. Before KAFKA-17608 the active controller took its end for the offset to go
        back to, and did not remember what it knew there.
    Source: KIP-853; org.apache.kafka.controller.QuorumController.QuorumMetaLogListener#handleCommit (3.8.0).
    """
    after = cluster.spending("voter_changes")
    if bounds.uncommitted:
        return evolve(after, tail=(*cluster.tail, Batch(cluster.end, None, of_quorum=True)))
    return passed(with_new_end(after, protocol, of_quorum=True), cluster.end, bounds)
