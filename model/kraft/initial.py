"""The initial state of the model of the KRaft control plane."""

from __future__ import annotations

from typing import Any

import attrs

from model.kraft.state import Broker, Cluster, Registration, Standing, Used, View, created


def initial_states(bounds: Any) -> list[Cluster]:
    """The one initial state: all brokers run, are unfenced and know that the first replica leads."""
    replicas = tuple(range(bounds.replication_factor))
    view = View(0, frozenset(replicas), leader_epoch=0, partition_epoch=0, min_isr=bounds.min_isr, topic_id=0)

    def broker(number: int) -> Broker:
        return Broker(
            running=True,
            complete=number in replicas,
            stopping=False,
            stopped_cleanly=False,
            directory_failed=False,
            broker_epoch=0,
            knows_registration=True,
            topic_id=0,
            missing=False,
            waits_for=frozenset(),
            view=view,
            proposal=None,
        )

    partition = created(replicas, frozenset(replicas), leader=0, topic_id=0)
    return [
        Cluster(
            brokers=tuple(broker(number) for number in range(bounds.brokers)),
            registrations=(Registration(0, Standing.UNFENCED, directory_failed=False),) * bounds.brokers,
            partition=partition,
            min_isr=bounds.min_isr,
            tail=(),
            contacted=frozenset(range(bounds.brokers)),
            at_end=frozenset(range(bounds.brokers)),
            can_revert=True,
            deposed=(),
            mishap=None,
            used=Used(*(0,) * len(attrs.fields(Used))),
        )
    ]
