"""Every value of every toggle, and every preset, is met by a claim."""

from __future__ import annotations

import attrs
import pytest

from highwater.claims.resolving import choices, spelt, toggles_of
from highwater.model.catalogue import MODELS
from tests.gallery import FILES, loaded

SPECS = [*map(loaded, FILES)]

UNMET = {
    ("quorum-reference", "committed_epoch", "false"): "TLC's smallest answer has 178,010 states: it is a slow test",
    ("partition", "reset_follower_state", "never"): "in no release; it takes 205,586 states to be seen to do harm",
}
"""Values that no claim has, and why."""


@pytest.mark.parametrize("name", MODELS)
def test_every_value_of_every_toggle_is_met_by_a_claim(name: str) -> None:
    attrs.resolve_types(MODELS[name].protocol)
    every = {
        (name, field.name, spelt(value))
        for field in attrs.fields(MODELS[name].protocol)
        for value in choices(field.type)
    }
    met = {
        (name, toggle, spelt(value))
        for spec in SPECS
        if spec.file.model == name
        for toggle, value in toggles_of(spec.protocol).items()
    }
    assert every - met == {value for value in UNMET if value[0] == name}


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].presets])
def test_every_preset_is_met_by_a_claim(name: str) -> None:
    """Or one of the same rules: nothing tells two such releases apart."""
    met = [spec.protocol for spec in SPECS if spec.file.model == name]
    unmet = {(name, preset) for preset, protocol in MODELS[name].presets.items() if protocol not in met}
    assert unmet == set()
