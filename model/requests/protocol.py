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


HISTORY = History("""
lost_leadership_answers nobody 0.10.0.0=followers 2.4.0=all | ReplicaManager#makeFollowers, #stopReplica
contended_checks_repeat True 1.0.0=False 1.1.0=True | DelayedOperation#maybeTryComplete
looks_again_after_watching True | DelayedOperationPurgatory#tryCompleteElseWatch
""")
FIRST_RELEASES = {
    "kafka-0.8": "0.8.0",
    "kafka-0.10.0": "0.10.0.0",
    "kafka-1.0": "1.0.0",
    "kafka-1.1": "1.1.0",
    "kafka-2.4": "2.4.0",
}
RELEASES = {name: Release(first, "zookeeper") for name, first in FIRST_RELEASES.items()}
RELEASES["kafka-2.8"] = Release("2.8.0", "kraft")
PRESETS = {name: HISTORY.protocol(RequestsProtocol, release) for name, release in RELEASES.items()}
LAST_RELEASES = {"zookeeper": "3.9", "kraft": "4.4"}
