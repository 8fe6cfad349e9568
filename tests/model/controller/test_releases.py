"""Which releases have a preset of their own: the presets are made from a table of all rules."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from highwater.model.controller.definition import CONTROLLER
from highwater.model.controller.releases import HISTORY, PRESETS, RELEASES, REPAIRED
from highwater.model.language.definition import release_number
from tests.model.test_partition_releases import rules

SPECS = Path(__file__).parents[3] / "specs" / "controller"


def test_a_preset_begins_where_some_rule_changes_and_none_changes_between_presets() -> None:
    """So that each preset speaks for every release up to the next one."""
    changes = {release_number(first) for first in HISTORY.firsts("zookeeper")}
    first, *later = (release.number for release in RELEASES.values())
    assert first == release_number("0.8.2.0")
    assert later == sorted(changes)


@pytest.mark.parametrize(
    ("release", "presets"),
    [
        ("0.8.1.1", []),
        ("0.8.2.2", ["kafka-0.8.2"]),
        ("0.10.0.1", ["kafka-0.9"]),
        ("1.0.2", ["kafka-0.11"]),
        ("2.0.1", ["kafka-2.0"]),
        ("2.5.1", ["kafka-2.4.1"]),
        ("3.2.3", ["kafka-3.0"]),
        ("3.4.0", ["kafka-3.3"]),
        ("3.5.1", ["kafka-3.4.1"]),
        ("3.9.1", ["kafka-3.6"]),
        ("4.0.0", []),
    ],
)
def test_every_release_number_has_the_preset_that_speaks_for_it(release: str, presets: list[str]) -> None:
    assert CONTROLLER.presets_for(release) == presets


def test_every_preset_is_used_by_a_claim() -> None:
    used = {tomllib.loads(path.read_text(encoding="utf-8"))["preset"] for path in SPECS.rglob("*.toml")}
    assert used == set(PRESETS)


def test_the_repaired_protocol_is_the_newest_release_but_for_eight_rules() -> None:
    newest, repaired = rules(PRESETS[list(RELEASES)[-1]]), rules(REPAIRED)
    assert {name for name in newest if newest[name] != repaired[name]} == {
        "isr_path",
        "cancel_moves_leader_first",
        "stray_replaced",
        "coordinator_forgets_epoch",
        "follower_notes_epoch_first",
        "deposed_batch_stays",
        "deletion_waits_for_reassignment",
        "cancel_completes_at_once",
    }
