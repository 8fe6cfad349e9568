"""How replicas and leaders are spread, and what brokers and the controller do for several partitions at once."""

from __future__ import annotations

from collections.abc import Iterable

from highwater.model.language.declarations import Witness, invariant
from highwater.model.log import brokers
from highwater.model.topic.bounds import partitions
from highwater.model.topic.state import Fetch, Phase, Role, Topic


def _is_uneven(counts: Iterable[int]) -> bool:
    known = list(counts)
    return max(known) - min(known) > 1


@invariant()
def replicas_are_spread_evenly(topic: Topic) -> bool | Witness:
    """No broker has two replicas more than another one, and none is the preferred leader of two partitions more.

    Kind: state.
    When false: one broker carries more of the topic's load.
    Source: kafka.admin.AdminUtils#assignReplicasToBrokers (0.9.0.0 to 0.10.2).
    """
    assigned = [node.assignment for node in topic.nodes]
    if _is_uneven(sum(each[:1] == (broker,) for each in assigned) for broker in topic.ids):
        return Witness("a broker is the preferred leader of two partitions more than another one")
    if _is_uneven(sum(broker in each for each in assigned) for broker in topic.ids):
        return Witness("a broker has two replicas more than another one")
    return True


@invariant(partition=partitions)
def epochs_have_one_leader(topic: Topic, partition: int) -> bool | Witness:
    """No two brokers lead a partition in one leader epoch.

    Kind: state.
    When false: both append records under the same epoch, and followers cannot tell the logs apart.
    Source: KIP-101.
    """
    leading = [
        broker.replicas[partition].leader_epoch
        for broker in topic.brokers
        if broker.replicas[partition].role is Role.LEADER
    ]
    return len(set(leading)) == len(leading) or Witness(
        "two brokers lead p{partition} in one leader epoch", partition=partition
    )


@invariant(partition=partitions)
def known_dead_brokers_lead_nothing(topic: Topic, partition: int) -> bool | Witness:
    """A controller that handles events has moved each partition off the brokers that it takes for dead, if a live one
    is in the ISR.

    Kind: state.
    When false: the partition waits for another event, although its leader was known to be dead.
    Source: kafka.controller.KafkaController#onBrokerFailure (0.9.0.0 to 3.9).
    """
    context, leadership = topic.context, topic.nodes[partition].leadership
    if context.phase is not Phase.ACTIVE or leadership is None or not context.partitions[partition].led:
        return True
    if leadership.leader is not None and leadership.leader in context.live:
        return True
    if not any(broker in leadership.isr and broker in context.live for broker in topic.ids):
        return True
    return Witness("p{partition} has no live leader, and a live broker is in its ISR", partition=partition)


@invariant(broker=brokers, partition=partitions)
def followers_have_a_fetcher(topic: Topic, broker: int, partition: int) -> bool | Witness:
    """A follower's partition is in the thread that fetches from its leader.

    Kind: state.
    When false: the broker refuses a LeaderAndIsr of that leader epoch, and does not fetch.
    Source: KAFKA-9769.
    """
    ours = topic.brokers[broker].replicas[partition]
    if ours.role is not Role.FOLLOWER or ours.source == ours.leader:
        return True
    return Witness("b{broker} follows for p{partition}, and does not fetch it", broker=broker, partition=partition)


@invariant(broker=brokers, partition=partitions)
def only_known_leaders_are_asked_to_lead(topic: Topic, broker: int, partition: int) -> bool | Witness:
    """The controller asks a broker to lead only if it knows leader and ISR.

    Kind: state.
    When false: a new replica was asked to lead, by a leadership that only ZooKeeper has.
    Source: kafka.controller.ReplicaStateMachine#handleStateChange (0.9.0.0 to 1.0).
    """
    if topic.context.partitions[partition].led:
        return True
    orders = [request[partition] for request in topic.queues[broker]]
    if not any(order is not None and order.leader == broker for order in orders):
        return True
    return Witness("b{broker} is asked to lead p{partition} as a new replica", broker=broker, partition=partition)


@invariant(broker=brokers, leader=brokers)
def dead_threads_have_partitions(topic: Topic, broker: int, leader: int) -> bool | Witness:
    """A fetcher thread that has died is kept only as long as it has partitions.

    Kind: state.
    When false: what the broker is to fetch from this leader later is given to a dead thread.
    Source: kafka.server.AbstractFetcherManager#shutdownIdleFetcherThreads (0.9.0.0 to 3.9).
    """
    ours = topic.brokers[broker]
    if leader not in ours.dead_threads or any(replica.source == leader for replica in ours.replicas):
        return True
    return Witness("b{broker} keeps a dead thread for b{leader}", broker=broker, leader=leader)


@invariant()
def only_failed_partitions_pause(topic: Topic) -> bool | Witness:
    """No more partitions are paused than errors have come with responses.

    Kind: state.
    When false: an error for one partition pauses another one of the thread.
    Source: kafka.server.ReplicaFetcherThread#handlePartitionsWithErrors (0.9.0.0 to 2.0).
    """
    paused = sum(replica.fetch is Fetch.PAUSED for broker in topic.brokers for replica in broker.replicas)
    return paused <= topic.used.fetch_errors or Witness("a partition is paused without an error of its own")
