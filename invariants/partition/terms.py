"""What the properties of the partition model speak of.

*The leader* is a broker that has become leader of the controller's current leader epoch; a presumed leader is any that
believes that it leads. What is *exposed* was below some leader's high watermark, so that a consumer may have read it;
what is *acknowledged* was told a producer to be written. The two differ: before 3.7 a record could be exposed below
min.insync.replicas.
"""

from __future__ import annotations

from typing import Any

from model.language.declarations import Witness
from model.language.domain import Integers
from model.partition.state import Partition

Truth = bool | Witness


def record_numbers(bounds: Any) -> Integers:
    """The domain of a record's id."""
    return Integers(0, bounds.records_max - 1, label="r")


def is_the_leader(partition: Partition, broker: int) -> bool:
    """Whether a broker has become leader of the controller's current leader epoch."""
    return partition.leads(broker) and partition.replicas[broker].leader_epoch == partition.leader_epoch
