"""Which releases have a preset of their own: the presets are made from a table of all rules."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from highwater.claims.resolving import toggles_of
from highwater.model.language.definition import release_number
from highwater.model.partition.definition import PARTITION
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.releases import HISTORY, PRESETS, RELEASES, REPAIRED

SPECS = Path(__file__).parents[2] / "specs" / "partition"


def rules(protocol: PartitionProtocol) -> dict[str, str]:
    return {name: str(value) for name, value in toggles_of(protocol).items()}


def test_a_preset_begins_where_some_rule_changes_and_none_changes_between_presets() -> None:
    """So that each preset speaks for every release up to the next one of its mode."""
    for mode in ("zookeeper", "kraft"):
        firsts = [release for release in RELEASES.values() if release.mode == mode]
        changes = {release_number(first) for first in HISTORY.firsts(mode)}
        first, last = firsts[0].number, release_number(PARTITION.last_releases[mode] + ".99")
        assert {each.number for each in firsts[1:]} == {each for each in changes if first < each <= last}


@pytest.mark.parametrize(
    ("release", "presets"),
    [
        ("2.8", ["kafka-2.8.0-zookeeper", "kafka-2.8.0"]),
        ("4.4.9", ["kafka-4.1"]),
        ("5.0", []),
        ("0.7.2", []),
    ],
)
def test_a_number_between_or_beyond_releases_has_the_presets_of_its_neighbour(release: str, presets: list[str]) -> None:
    assert PARTITION.presets_for(release) == presets


@pytest.mark.parametrize("wrong", ["abc", "3", "3.x", "", "1.2.3.4.5", "-1.0"])
def test_an_invalid_release_number_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError):
        PARTITION.presets_for(wrong)


def test_every_preset_is_used_by_a_claim() -> None:
    used = {tomllib.loads(path.read_text(encoding="utf-8")).get("preset") for path in SPECS.rglob("*.toml")}
    assert set(PRESETS) <= used


def test_the_repaired_protocol_is_the_newest_release_but_for_three_rules() -> None:
    newest, repaired = rules(PRESETS[list(RELEASES)[-1]]), rules(REPAIRED)
    assert {name for name in newest if newest[name] != repaired[name]} == {
        "reset_follower_state",
        "metadata_end_proposals",
        "removed_leaves_elr",
    }
