"""The initial state of the model of the KRaft control plane."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.model.kraft.image import Registration, Stale, Standing, created
from highwater.model.kraft.state import Broker, Cluster, Heartbeats, Replica, Used, View


def initial_states(bounds: Any) -> list[Cluster]:
    """The one initial state: all brokers run, are unfenced and know that the first replicas lead."""
    assigned = [assignment(partition, bounds) for partition in range(bounds.partitions)]

    def replica(broker: int, replicas: tuple[int, ...]) -> Replica:
        view = View(
            frozenset(replicas),
            replicas[0],
            frozenset(replicas),
            leader_epoch=0,
            partition_epoch=0,
            min_isr=bounds.min_isr,
            topic_id=0,
        )
        return Replica(
            complete=broker in replicas,
            directory_failed=False,
            view=view,
            proposal=None,
            topic_id=0,
            missing=False,
            fetcher_stopped=False,
            restarted=frozenset(),
        )

    def broker(number: int) -> Broker:
        return Broker(
            running=True,
            stopping=False,
            stopped_cleanly=False,
            serves_fenced=False,
            broker_epoch=0,
            knows_registration=True,
            unread=0,
            replicas=tuple(replica(number, replicas) for replicas in assigned),
        )

    registration = Registration(0, Standing.UNFENCED, directories_failed=(False,) * bounds.partitions, outdated=False)
    return [
        Cluster(
            brokers=tuple(broker(number) for number in range(bounds.brokers)),
            registrations=(registration,) * bounds.brokers,
            partitions=tuple(created(each, frozenset(each), leader=each[0], topic_id=0) for each in assigned),
            min_isr=bounds.min_isr,
            stale=Stale(of_topic=frozenset(), of_deleted=frozenset()),
            tail=(),
            earlier=(),
            heartbeats=Heartbeats(
                contacted=frozenset(range(bounds.brokers)),
                leaving=frozenset(),
                waits_for=(frozenset(),) * bounds.brokers,
            ),
            at_end=frozenset(range(bounds.brokers)),
            can_revert=True,
            deposed=(),
            mishap=None,
            used=Used(*(0,) * len(attrs.fields(Used))),
        )
    ]


def assignment(partition: int, bounds: Any) -> tuple[int, ...]:
    """The replicas of a partition at the beginning; the first one is the preferred leader.

    Source: org.apache.kafka.metadata.placement.StripedReplicaPlacer (3.3.0 to 4.3.1), without its random offsets.
    """
    shift = partition * bounds.spread
    return tuple((shift + number) % bounds.brokers for number in range(bounds.replication_factor))
