"""Which release a level of metadata.version is of, and whose rules its controller has."""

from __future__ import annotations

from bisect import bisect_right

import attrs

from highwater.model.kraft.partition_change import Rules, ShrinkBump
from highwater.model.kraft.releases import PRESETS, RELEASES
from highwater.model.language.definition import release_number, up_to

NO_BUMP_LEVEL, READ_UNCLEAN_LEVEL = 12, 21  # of metadata.version: 3.6-IV0, 3.9-IV0
RECORDED_SHRINKS_FROM = release_number("3.8")

FIRST_LEVELS = {
    1: "3.0",
    2: "3.1",
    3: "3.2",
    4: "3.3",
    8: "3.4",
    9: "3.5",
    12: "3.6",
    15: "3.7",
    20: "3.8",
    21: "3.9",
    22: "4.0",
    26: "4.1",
    28: "4.2",
    30: "4.3",
    31: "4.4",
    34: "4.5",
}
"""By the first level of metadata.version that a release has, the release.

Source: org.apache.kafka.server.common.MetadataVersion (3.3.0 to 4.4.0).
"""


def release_of_level(level: int) -> str | None:
    """The release whose metadata.version is finalised, without its patch number; None if it is before KRaft."""
    found = bisect_right(list(FIRST_LEVELS), level)
    return list(FIRST_LEVELS.values())[found - 1] if found else None


def preset_of_level(level: int) -> str:
    """The rules of the last patch release whose metadata.version a level is; the newest rules for a level that nobody
    knows yet, and the oldest for one from before there are rules.
    """
    last = up_to(release_of_level(level) or "3.3")
    first, *_ = RELEASES
    return [first, *(name for name, release in RELEASES.items() if release.number <= last)][-1]


def rules_of(preset: str, level: int | None, *, elr: bool) -> Rules:
    """The rules of a preset in a cluster with these features; `level` is None if metadata.version is not recorded."""
    rules = PRESETS[preset].rules
    if level is None:
        return attrs.evolve(rules, elr=elr)
    recorded = RELEASES[preset].number >= RECORDED_SHRINKS_FROM
    bump = ShrinkBump.RECORDED if recorded else ShrinkBump.ASKED_FOR
    return attrs.evolve(rules, elr=elr, shrink_bump=bump if level < NO_BUMP_LEVEL else ShrinkBump.NEVER)


def reads_unclean_setting(preset: str, level: int | None) -> bool:
    """Whether a controller goes by unclean.leader.election.enable: no rule that a preset has tells 3.8 from 3.9.

    Source: org.apache.kafka.controller.ConfigurationControlManager#uncleanLeaderElectionEnabledForTopic (false until
        3.8.1).
    """
    return RELEASES[preset].number >= release_number("3.9") or (level or 0) >= READ_UNCLEAN_LEVEL
