"""The rules of the releases whose classes the functions are compared with."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from highwater.model.kraft.partition_change import LastKnownLeader, Rules, ShrinkBump
from highwater.model.kraft.reassignment import Completion

NEWEST = Rules()
KAFKA_4_1 = attrs.evolve(NEWEST, completion=Completion.ALL)
KAFKA_4_1_0 = attrs.evolve(KAFKA_4_1, last_known_leader=LastKnownLeader.WITH_EMPTY_ISR)
KAFKA_3_8 = attrs.evolve(KAFKA_4_1_0, last_known_leader_must_be_active=False)
KAFKA_3_7 = attrs.evolve(KAFKA_3_8, last_known_leader=LastKnownLeader.NOT_CLEARED, completion=Completion.ADDED)
KAFKA_3_6 = attrs.evolve(KAFKA_3_7, elr=False)
KAFKA_3_5 = attrs.evolve(KAFKA_3_6, shrink_bump=ShrinkBump.ASKED_FOR)

RULES: Mapping[str, Rules] = {
    "3.5": KAFKA_3_5,
    "3.6": KAFKA_3_6,
    "3.7": KAFKA_3_7,
    "3.8": KAFKA_3_8,
    "4.1.0": KAFKA_4_1_0,
    "4.1": KAFKA_4_1,
    "4.3": NEWEST,
}
"""By the first release that has them (4.1 is 4.1.1), with its newest metadata version and, since 3.7, with ELR."""
