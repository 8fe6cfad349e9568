"""The terms of the partition model's properties.

*The leader* is a broker that has become leader in the controller's current leader epoch. A *presumed leader* is any
broker that believes that it leads. A record is *exposed* once it was below some leader's high watermark: a consumer may
have read it. It is *acknowledged* once a leader has confirmed it to its producer. The two differ: before 3.7 a record
could be exposed by an ISR below min.insync.replicas.
"""

from __future__ import annotations

from typing import Any

from highwater.model.language.domain import Integers
from highwater.model.partition.state import Leader, Partition


def record_numbers(bounds: Any) -> Integers:
    """The domain of a record's id."""
    return Integers(0, bounds.records_max - 1, label="r")


def is_the_leader(partition: Partition, broker: int) -> bool:
    """Whether a broker has become leader of the controller's current leader epoch."""
    return the_leader(partition, broker) is not None


def the_leader(partition: Partition, broker: int) -> Leader | None:
    """The replica of a broker that has become leader of the controller's current leader epoch."""
    replica = partition.presumed_leader(broker)
    return None if replica is None or replica.leader_epoch != partition.leader_epoch else replica
