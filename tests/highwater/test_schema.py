"""The schema of spec files accepts and refuses the same specs as Highwater."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import Result

from highwater.claims.schema import schema
from highwater.claims.spec import find_specs

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema.Draft7Validator(schema())
FINE = {
    "model": "reference",
    "protocol": {"variant": "kip-320"},
    "bounds": {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 1},
    "check": ["weak_isr"],
    "expect": {"verdict": "holds", "distinct_states": 957},
}


def test_every_claim_of_the_gallery_and_of_the_scaffold_is_valid() -> None:
    jsonschema.Draft7Validator.check_schema(schema())
    for path in find_specs([ROOT / "specs", ROOT / "src" / "highwater" / "scaffold"]):
        errors = [f"{path}: {error.message}" for error in SCHEMA.iter_errors(tomllib.loads(path.read_text()))]
        assert not errors


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "refrence"),
        ("protocol.variant", "kip-1"),
        ("protocol.sauce", True),
        ("bounds.brokers", 0),
        ("bounds.brokers", "two"),
        ("bounds.sauce", 1),
        ("check", []),
        ("check", ["weak_irs"]),
        ("expect.verdict", "unknown"),
        ("expect.depth", -1),
        ("preset", 3),
        ("mutate", {"defended": []}),
        ("sauce", "a book"),
    ],
)
def test_specs_that_highwater_refuses_are_invalid(key: str, value: Any) -> None:
    spec = copy.deepcopy(FINE)
    assert SCHEMA.is_valid(spec)
    *above, last = key.split(".")
    table: Any = spec
    for name in above:
        table = table[name]
    table[last] = value
    assert not SCHEMA.is_valid(spec)


def test_a_model_and_a_property_of_ones_own_are_valid() -> None:
    assert SCHEMA.is_valid({"model": "lock_service:MODEL", "bounds": {"clients": 2}, "check": ["mine"]})
    assert SCHEMA.is_valid(FINE | {"check": ["weak_isr", "my_module:mine"]})


def test_the_command_prints_the_schema(highwater: Callable[..., Result]) -> None:
    assert json.loads(highwater("list", "schema").stdout) == schema()
