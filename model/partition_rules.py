"""Rules of Kafka's controller about one partition that several models follow. `elr_after` is held against Kafka's own
class as a part of `kraft.partition_change`.
"""

from __future__ import annotations

from collections.abc import Set
from enum import Enum


class AheadOfController(Enum):
    """What a deposed controller answers to a request from an epoch that it does not know."""

    FENCED = "fenced"
    NOT_CONTROLLER = "not-controller"


def elr_after(elr: Set[int], before: Set[int], isr: Set[int], ineligible: Set[int], min_isr: int) -> Set[int]:
    """The eligible leader replicas once a partition has another ISR: those from before, and who leaves an ISR below
    min.insync.replicas, unless it is ineligible. There are none while the ISR is large enough.

    Args:
        elr, before: ELR and ISR before the change.
        isr: the ISR after it.
        ineligible: brokers that may not be in the ELR, such as those that may have lost records.
    Source: org.apache.kafka.controller.PartitionChangeBuilder#maybePopulateTargetElr (3.7.0 to 4.3.1); KIP-966.
    """
    return frozenset() if len(isr) >= min_isr else (elr | before) - isr - ineligible
