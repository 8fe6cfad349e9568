"""Rules of Kafka's controller about one partition that several models follow. The functions are held against Kafka's
own class as parts of `kraft.partition_change`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
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


def may_lead_if_active(replica: int, isr: Collection[int], elr: Collection[int]) -> bool:
    """Whether a clean election may choose a replica that is active: it is in the ISR, or in the ELR while the ISR is
    empty.

    Source: org.apache.kafka.controller.PartitionChangeBuilder#isValidNewLeader (3.7.0 to 4.3.1); KIP-966.
    """
    return replica in isr or (replica in elr and not isr)


def last_known_leader_may_lead(
    isr: Collection[int], elr: Collection[int], is_active: Callable[[], bool], *, must_be_active: bool
) -> bool:
    """Whether the controller elects the last known leader: nobody is in the ISR or in the ELR, and the leader is active
    if it must be. Releases before 4.1.0 do not check that.

    Source: org.apache.kafka.controller.PartitionChangeBuilder#canElectLastKnownLeader (3.8.0; 4.0.0; 4.1.0); KIP-966.
    """
    return not isr and not elr and (not must_be_active or is_active())
