"""Brokers take up roles for several partitions in one request, fetch in shared threads, and fail.

Source: kafka.server.ReplicaManager, kafka.server.AbstractFetcherThread.
"""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.log import brokers
from highwater.model.topic.bounds import partition_sets, partitions
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.state import NO_REPLICA, Broker, Fetch, Order, Replica, Request, Role, Topic


@action(actor="broker", broker=brokers)
def receive(topic: Topic, broker: int, protocol: TopicProtocol) -> Topic | None:
    """A broker handles the next request: it makes leaders of some partitions and followers of others, or deletes
    replicas.

    Actor: the broker.
    Enabled: it runs, and a request is in flight to it.
    Effect: for each partition it leads or follows, if the leader epoch is newer than what it knows. Threads without
        partitions end. From 3.6 on nothing is done if a partition without a log has the leader epoch that was noted.
    Abstracts: checks of the leader's liveness and of broker epochs; the model `controller` has them.
    Source: kafka.server.ReplicaManager#becomeLeaderOrFollower, #stopReplicas (0.9.0.0 to 3.9).
    """
    queue = topic.queues[broker]
    if not queue or not topic.brokers[broker].running:
        return None
    if _repeats_an_epoch(topic, broker, queue[0], protocol):
        return topic.with_queue(broker, queue[1:])
    for partition in topic.numbers:
        topic = _obeyed(topic, broker, partition, queue[0][partition])
    return _without_idle_threads(topic, broker).with_queue(broker, queue[1:])


def _repeats_an_epoch(topic: Topic, broker: int, request: Request, protocol: TopicProtocol) -> bool:
    """Whether the request ends at a partition whose leader epoch is noted, and whose log could not be made."""
    if not protocol.follower_notes_epoch_first:
        return False
    for partition in topic.numbers:
        order, ours = request[partition], topic.brokers[broker].replicas[partition]
        if order is not None and not order.stop and order.leader_epoch == ours.leader_epoch and not ours.log:
            return True
    return False


def _obeyed(topic: Topic, broker: int, partition: int, order: Order | None) -> Topic:
    if order is None:
        return topic
    if order.stop:
        return topic.with_replica(broker, partition, NO_REPLICA)
    ours = topic.brokers[broker].replicas[partition]
    return topic.with_replica(broker, partition, _in_role(broker, ours, order) if _is_newer(ours, order) else ours)


def _is_newer(replica: Replica, order: Order | None) -> bool:
    """Whether a broker obeys what LeaderAndIsr asks for a partition."""
    return order is not None and not order.stop and order.leader_epoch > replica.leader_epoch


def _in_role(broker: int, before: Replica, order: Order) -> Replica:
    """A replica in the role that LeaderAndIsr asks for. Without a leader the broker only opens the log.

    Abstracts: that until 2.0 a follower whose leader stays the same keeps the fetcher that it has; the model
        `partition` has it (`truncation_skip`).
    Source: kafka.server.ReplicaManager#makeLeaders, #makeFollowers (0.9.0.0 to 3.9).
    """
    if order.leader is None:
        return evolve(before, log=True)
    if order.leader == broker:
        return Replica(Role.LEADER, broker, order.leader_epoch, None, Fetch.NOT, log=True)
    return Replica(Role.FOLLOWER, order.leader, order.leader_epoch, order.leader, Fetch.ACTIVE, log=True)


def _without_idle_threads(topic: Topic, broker: int) -> Topic:
    """The topic once the broker's threads that have no partition have ended. A thread that has one is used again, even
    if it has died.

    Source: kafka.server.AbstractFetcherManager#addFetcherForPartitions, #shutdownIdleFetcherThreads (0.9.0.0 to 3.9).
    """
    ours = topic.brokers[broker]
    dead = frozenset(
        leader
        for leader in topic.ids
        if leader in ours.dead_threads and any(replica.source == leader for replica in ours.replicas)
    )
    return topic.with_broker(broker, dead_threads=dead)


@action(
    actor="broker",
    needs=lambda bounds: bounds.opening_errors,
    broker=brokers,
    failing=partitions,
    done=partition_sets,
)
def fail_half_way(
    topic: Topic, broker: int, failing: int, done: frozenset[int], protocol: TopicProtocol
) -> Topic | None:
    """A broker's session with ZooKeeper ends while it opens the log of one of a request's partitions.

    Actor: the broker.
    Enabled: it runs; its next request has a newer leader epoch for the failing partition, whose log it has not; `done`
        are those whose roles, or logs, it comes to before, in any order, but leaders before the others. The budget
        allows it.
    Effect: until KAFKA-9769, and without a leader to this day, the request ends there: partitions that were to follow
        are followers in the new leader epoch, but are not fetched anew; those that were to lead are no longer fetched,
        and lead if they came before. Otherwise the other partitions take up their roles; from 3.6 on the failing one,
        if it was to follow, has noted leader and leader epoch.
    Abstracts: that the broker registers again, which the model `controller` has; that the session may end for several
        partitions of a request. An error of the disk does the same until 0.11.
    Source: kafka.server.ReplicaManager#makeLeaders, #makeFollowers (0.9.0.0 to 3.9),
        kafka.cluster.Partition#makeLeader, #makeFollower (2.6, 2.7, 3.6).
    """
    queue, ours = topic.queues[broker], topic.brokers[broker]
    if not queue or not ours.running or ours.replicas[failing].log:
        return None
    request = queue[0]
    order = request[failing]
    if (
        order is None
        or not _is_newer(ours.replicas[failing], order)
        or _repeats_an_epoch(topic, broker, request, protocol)
    ):
        return None
    after = topic.with_queue(broker, queue[1:]).spending("opening_errors")
    if not protocol.partition_fails_alone or order.leader is None:
        return _obeyed_half(after, broker, failing, done, request, protocol)
    return None if done else _others_obeyed(after, broker, failing, request, protocol)


def _others_obeyed(topic: Topic, broker: int, failing: int, request: Request, protocol: TopicProtocol) -> Topic:
    for partition in topic.numbers:
        if partition != failing:
            topic = _obeyed(topic, broker, partition, request[partition])
    order = request[failing]
    if protocol.follower_notes_epoch_first and order is not None and not _leads(broker, order):
        noted = Replica(Role.FOLLOWER, order.leader, order.leader_epoch, None, Fetch.NOT, log=False)
        topic = topic.with_replica(broker, failing, noted)
    return _without_idle_threads(topic, broker)


def _leads(broker: int, order: Order | None) -> bool:
    return order is not None and order.leader == broker


def _obeyed_half(
    topic: Topic, broker: int, failing: int, done: frozenset[int], request: Request, protocol: TopicProtocol
) -> Topic | None:
    """The topic after a request that ended at one partition, or None if it cannot come to `done` before."""
    fails_to_lead = _leads(broker, request[failing])
    for partition in topic.numbers:
        order, was = request[partition], topic.brokers[broker].replicas[partition]
        is_newer, leads = partition != failing and _is_newer(was, order), _leads(broker, order)
        if partition in done and (not is_newer or leads != fails_to_lead):
            return None
        if order is None or not is_newer:
            continue
        if leads and (not fails_to_lead or partition in done):
            after = _in_role(broker, was, order)
        elif leads:
            after = evolve(was, source=None, fetch=Fetch.NOT)
        elif partition in done:
            after = _followed_half(topic.brokers[broker], was, order, protocol)
            if after == was:
                return None  # as without this partition
        else:
            continue
        topic = topic.with_replica(broker, partition, after)
    return topic


def _followed_half(broker: Broker, was: Replica, order: Order, protocol: TopicProtocol) -> Replica:
    """A replica that follows in a new leader epoch, and whose fetcher is that of the former one, if it had one.

    Abstracts: that a fetcher of the same leader goes on until that leader has begun the epoch, too.
    """
    if order.leader is None:
        return evolve(was, log=True)
    after = evolve(was, role=Role.FOLLOWER, leader=order.leader, leader_epoch=order.leader_epoch, log=True)
    if protocol.fence_fetch and was.source == order.leader and was.source not in broker.dead_threads:
        return evolve(after, source=None, fetch=Fetch.NOT)
    return after


# Fetching


@action(actor="follower", needs=lambda bounds: bounds.fetch_errors, broker=brokers, partition=partitions)
def get_fetch_error(topic: Topic, broker: int, partition: int) -> Topic | None:
    """A response to a fetch has an error for one partition.

    Actor: the follower.
    Enabled: its thread fetches the partition; the budget allows it.
    Effect: the thread leaves out this partition for a while, and fetches the others.
    Source: kafka.server.ReplicaFetcherThread#handlePartitionsWithErrors (0.9.0.0 to 2.0).
    """
    if not _is_fetched(topic, broker, partition):
        return None
    paused = evolve(topic.brokers[broker].replicas[partition], fetch=Fetch.PAUSED)
    return topic.with_replica(broker, partition, paused).spending("fetch_errors")


def _is_fetched(topic: Topic, broker: int, partition: int) -> bool:
    """Whether a running thread fetches a partition."""
    ours = topic.brokers[broker].replicas[partition]
    if ours.fetch is not Fetch.ACTIVE or ours.source is None:
        return False
    return ours.source not in topic.brokers[broker].dead_threads


@action(actor="follower", needs=lambda bounds: bounds.fetch_errors, broker=brokers, partition=partitions)
def end_pause(topic: Topic, broker: int, partition: int) -> Topic | None:
    """A follower's thread fetches a partition again, once replica.fetch.backoff.ms have passed.

    Actor: the follower.
    Enabled: the partition is paused.
    Source: kafka.server.AbstractFetcherThread#delayPartitions (0.9.0.0 to 3.9).
    """
    ours = topic.brokers[broker].replicas[partition]
    if ours.fetch is not Fetch.PAUSED:
        return None
    return topic.with_replica(broker, partition, evolve(ours, fetch=Fetch.ACTIVE))


@action(actor="follower", needs=lambda bounds: bounds.append_errors, broker=brokers, partition=partitions)
def fail_to_append(topic: Topic, broker: int, partition: int, protocol: TopicProtocol) -> Topic | None:
    """A follower cannot append what it has fetched of a partition.

    Actor: the follower.
    Enabled: its thread fetches the partition; the budget allows it.
    Effect: the partition is not fetched any more; until KIP-461 neither are the others of the thread, which ends.
    Source: kafka.server.AbstractFetcherThread#processFetchRequest (0.9.0.0 to 3.9).
    """
    if not _is_fetched(topic, broker, partition):
        return None
    ours = topic.brokers[broker]
    replica = ours.replicas[partition]
    if not protocol.append_error_stops_one and replica.source is not None:
        topic = topic.with_broker(broker, dead_threads=ours.dead_threads | {replica.source})
    return topic.with_replica(broker, partition, evolve(replica, fetch=Fetch.FAILED)).spending("append_errors")


# The ISR


@action(actor="leader", broker=brokers, partition=partitions)
def expand_isr(topic: Topic, broker: int, partition: int) -> Topic | None:
    """A leader adds a follower that fetches from it to the ISR.

    Actor: the leader.
    Enabled: it leads in the leader epoch of ZooKeeper, and the follower follows it there; the follower is not in the
        ISR.
    Source: kafka.cluster.Partition#maybeExpandIsr (0.9.0.0 to 3.9).
    """
    leadership = topic.nodes[partition].leadership
    if leadership is None or broker in leadership.isr or not topic.leads(partition):
        return None
    if broker not in topic.nodes[partition].assignment or not topic.fetches(broker, partition):
        return None
    return topic.with_node(partition, leadership=evolve(leadership, isr=leadership.isr | {broker}))


@action(actor="leader", broker=brokers, partition=partitions)
def shrink_isr(topic: Topic, broker: int, partition: int) -> Topic | None:
    """A leader removes a follower from the ISR that does not fetch from it.

    Actor: the leader.
    Enabled: it leads in the leader epoch of ZooKeeper. The follower is in the ISR, does not fetch there, is not paused,
        and no request is in flight to it.
    Abstracts: replica.lag.time.max.ms, which is longer than a request or a pause takes. What follows if it is not: the
        models `partition` and `controller`.
    Source: kafka.cluster.Partition#maybeShrinkIsr (0.9.0.0 to 3.9).
    """
    leadership = topic.nodes[partition].leadership
    if leadership is None or broker not in leadership.isr or leadership.leader == broker or not topic.leads(partition):
        return None
    if topic.queues[broker] or topic.fetches(broker, partition):
        return None
    if topic.brokers[broker].replicas[partition].fetch is Fetch.PAUSED:
        return None
    return topic.with_node(partition, leadership=evolve(leadership, isr=leadership.isr - {broker}))


# Failures


@action(actor="broker", needs=lambda bounds: bounds.broker_crashes, broker=brokers)
def crash_broker(topic: Topic, broker: int, protocol: TopicProtocol) -> Topic | None:
    """A broker crashes, with all its partitions.

    Actor: the broker.
    Enabled: it runs; the budget allows it.
    Effect: it has no roles and is no longer registered; requests in flight to it are lost.
    Source: kafka.log.LogManager#getOrCreateLog (2.6), of the logs that it has.
    """
    before = topic.brokers[broker]
    if not before.running:
        return None
    kept = protocol.known_log_needs_no_zookeeper
    dead = Broker(False, frozenset(), tuple(evolve(NO_REPLICA, log=kept and each.log) for each in before.replicas))
    topic = evolve(topic, live=topic.live - {broker}, brokers=replaced(topic.brokers, broker, dead))
    return topic.with_queue(broker, ()).spending("broker_crashes")


@action(actor="broker", needs=lambda bounds: bounds.broker_crashes, broker=brokers)
def start_broker(topic: Topic, broker: int) -> Topic | None:
    """A broker starts again.

    Actor: the broker.
    Enabled: it is down, and the controller knows.
    Effect: it is registered.
    Abstracts: a broker that is back before the controller has noticed its failure; the model `controller` has it.
    """
    if topic.brokers[broker].running or broker in topic.context.live:
        return None
    topic = evolve(topic, live=topic.live | {broker})
    return topic.with_broker(broker, running=True)
