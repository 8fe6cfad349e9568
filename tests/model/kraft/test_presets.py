"""Which releases have a preset of their own: the presets are made from a table of all rules."""

from __future__ import annotations

from highwater.model.kraft.definition import KRAFT
from highwater.model.kraft.releases import HISTORY, PRESETS

NAMED_ALL_THE_SAME = {"kafka-3.4"}
"""Presets that were thought to begin with a change of a rule. Their names are kept."""


def test_a_preset_begins_where_some_rule_changes() -> None:
    firsts = {release.first for name, release in KRAFT.releases.items() if name not in NAMED_ALL_THE_SAME}
    assert firsts - {"3.3.0"} == HISTORY.firsts("kraft")
    assert len(set(PRESETS.values())) == len(PRESETS) - len(NAMED_ALL_THE_SAME)
