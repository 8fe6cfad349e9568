"""The rules by which waiting requests are answered, and those of each release.

Source: the commits named with each rule, in github.com/apache/kafka.
"""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.language.definition import Release, toggle
from highwater.model.language.history import History


class LostLeadership(Enum):
    """Which brokers answer what waits for a partition that they lead no more: none, those that follow another leader,
    or those that stop their replica, too.
    """

    NOBODY = "nobody"
    FOLLOWERS = "followers"
    ALL = "all"


@attrs.frozen
class RequestsProtocol:
    """The rules."""

    lost_leadership_answers: LostLeadership = toggle(
        "who answers what waits for a partition that it leads no more: KAFKA-2960, KAFKA-9198"
    )
    contended_checks_repeat: bool = toggle(
        "a thread that finds a waiting request locked has it checked again: KAFKA-6653"
    )
    looks_again_after_watching: bool = toggle(
        "a request is checked once more when all partitions know that it waits: in every release"
    )
    high_watermark_requires_min_isr: bool = toggle("no commit below min.insync.replicas: KAFKA-15583")
    fetches_ahead_wait: bool = toggle(
        "a fetch waits though it begins behind all that it may read of a partition: KAFKA-16452 ended that"
    )


HISTORY = History("""
lost_leadership_answers nobody 0.10.0.0=followers 2.4.0=all | ReplicaManager#makeFollowers, #stopReplica
contended_checks_repeat True 1.0.0=False 1.1.0=True | DelayedOperation#maybeTryComplete
looks_again_after_watching True | DelayedOperationPurgatory#tryCompleteElseWatch
high_watermark_requires_min_isr False 3.7.0=True | Partition#maybeIncrementLeaderHW
fetches_ahead_wait True 3.8.0=False | DelayedFetch#tryComplete
""")
RELEASES = {
    "kafka-0.8": Release("0.8.0", "zookeeper"),
    "kafka-0.10.0": Release("0.10.0.0", "zookeeper"),
    "kafka-1.0": Release("1.0.0", "zookeeper"),
    "kafka-1.1": Release("1.1.0", "zookeeper"),
    "kafka-2.4": Release("2.4.0", "zookeeper"),
    "kafka-2.8": Release("2.8.0", "kraft"),
    "kafka-3.7-zookeeper": Release("3.7.0", "zookeeper"),
    "kafka-3.7": Release("3.7.0", "kraft"),
    "kafka-3.8-zookeeper": Release("3.8.0", "zookeeper"),
    "kafka-3.8": Release("3.8.0", "kraft"),
}
PRESETS = {name: HISTORY.protocol(RequestsProtocol, release) for name, release in RELEASES.items()}
LAST_RELEASES = {"zookeeper": "3.9", "kraft": "4.4"}
