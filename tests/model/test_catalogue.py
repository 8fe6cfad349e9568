"""The catalogues: what they name is there, and what nobody asks for stays unread."""

from __future__ import annotations

import subprocess
import sys
from enum import Enum
from pathlib import Path

import attrs
import pytest

from highwater.claims.resolving import variants
from highwater.model.catalogue import MODELS
from highwater.model.language.definition import Model, NoToggles, Property, toggle
from highwater.model.reference.state import ReferenceProtocol, Variant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_name_it_has_in_the_catalogue(name: str) -> None:
    assert MODELS[name].name == name


@pytest.mark.parametrize("name", MODELS)
def test_a_model_names_its_properties(name: str) -> None:
    for _, _, definition in variants(MODELS[name]):
        assert definition.known_properties
        assert all(isinstance(each, Property) for each in definition.known_properties)


def test_the_properties_of_a_state_of_the_family_are_its_own() -> None:
    definition = MODELS["reference"].define(ReferenceProtocol(Variant.KIP_320))
    assert definition.known_properties[0].name == "weak_isr"
    definition = MODELS["reference"].define(ReferenceProtocol(Variant.ASYNC_ISR))
    assert [each.name for each in definition.known_properties] == ["valid_high_watermark"]


def test_asking_for_one_model_imports_no_other() -> None:
    code = "import sys\nfrom highwater.model.catalogue import MODELS\n"
    code += "from highwater.model.reference.state import ReferenceProtocol, Variant\n"
    code += "assert MODELS['reference'].define(ReferenceProtocol(Variant.KIP_320)).known_properties\n"
    code += "print([name for name in sys.modules if '.partition' in name or '.controller' in name])"
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


class Way(Enum):
    SHORT = "short"
    LONG = "long"


@attrs.frozen
class Choices:
    way: Way = toggle("which way")
    fast: bool = toggle("whether it is fast")


@pytest.mark.parametrize(
    ("protocol", "names"),
    [(NoToggles, ["default"]), (Choices, ["short false", "short true", "long false", "long true"])],
)
def test_a_model_without_presets_has_a_variant_for_each_choice(protocol: type, names: list[str]) -> None:
    definition = MODELS["reference"].define(ReferenceProtocol(Variant.KIP_320))
    model = Model("toy", "A toy.", protocol, lambda chosen: definition)
    assert [name for name, _, _ in variants(model)] == names
    assert all(isinstance(chosen, protocol) for _, chosen, _ in variants(model))
