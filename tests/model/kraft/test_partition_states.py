"""The states of a partition that docs/kraft.md draws: a story for each arrow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from highwater.model.kraft.image import Partition
from highwater.model.kraft.releases import PRESETS
from tests.model.kraft.story import bounds_of, state_after

PAGE = (Path(__file__).parents[3] / "docs" / "kraft.md").read_text(encoding="utf-8")
DIAGRAM = PAGE.partition("## A partition")[2].partition("## ")[0]
DRAWN = set(re.findall(r"^  (\w+) --> (\w+):", DIAGRAM, re.MULTILINE))

ALONE = "crash b1, fence b1, crash b2, fence b2"
EMPTY = f"{ALONE}, crash b0, fence b0"
LEAVES = "begin_shutdown b0, enter_controlled_shutdown b0"
RESTART = f"{LEAVES}, read_metadata b3, grant_shutdown b0, stop b0, start b0, read_metadata b0"
OTHERS = "start b1, read_metadata b1, unfence b1, start b2, read_metadata b2, unfence b2"
EXPANDS = "read_metadata b1, read_metadata b2, catch_up b1 b2, propose_expansion b1 b2, answer_alter_partition b1"

STORIES = [
    ("led", "crash b0, fence b0", "led"),
    ("led", EMPTY, "waits"),
    ("led", f"{ALONE}, {LEAVES}", "waits"),
    ("waits", f"{ALONE}, {RESTART}, unfence b0", "led"),
    ("waits", f"{EMPTY}, start b0", "last"),
    ("waits", f"{EMPTY}, set_min_isr 2", "nobody"),
    ("last", f"{EMPTY}, start b0, read_metadata b0, unfence b0", "recovering"),
    ("last", f"{EMPTY}, start b0, set_min_isr 2", "nobody"),
    ("waits", f"{EMPTY}, {OTHERS}, elect_uncleanly", "recovering"),
    ("last", f"{EMPTY}, start b0, {OTHERS}, elect_uncleanly", "recovering"),
    ("nobody", f"{EMPTY}, set_min_isr 2, {OTHERS}, elect_uncleanly", "recovering"),
    ("recovering", f"{EMPTY}, {OTHERS}, elect_uncleanly, {EXPANDS}", "led"),
    ("recovering", f"{EMPTY}, start b1, read_metadata b1, unfence b1, elect_uncleanly, crash b1, fence b1", "waits"),
    ("led", "delete_topic", "deleted"),
    ("deleted", "delete_topic, create_topic b0", "led"),
]


def kind(now: Partition) -> str:
    """The state as the page names it."""
    if not now.replicas:
        return "deleted"
    if now.leader is not None:
        return "recovering" if now.recovering else "led"
    if now.isr or now.elr:
        return "waits"
    return "nobody" if now.last_known_leader is None else "last"


@pytest.mark.parametrize(("before", "story", "after"), STORIES)
def test_an_arrow_is_a_step(before: str, story: str, after: str) -> None:
    protocol, bounds = PRESETS["kafka-4.3"], bounds_of()
    first, _, last = story.rpartition(", ")
    assert kind(state_after(first, protocol, bounds).partitions[0]) == before, first
    assert kind(state_after(story, protocol, bounds).partitions[0]) == after, last


def test_each_arrow_has_a_story_and_each_story_an_arrow() -> None:
    assert {(before, after) for before, _, after in STORIES} == DRAWN
