"""The JSON schema of spec files, made from the code: editors complete keys and values of TOML with it."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from typing import Any

import attrs

from highwater.claims.keys import COUNTS, Expectation, Mutations, SpecFile
from highwater.claims.refining import Refinement
from highwater.claims.resolving import RELEASE, variants
from highwater.explorer.verdict import DEADLOCK, Verdict
from highwater.model.catalogue import MODELS
from highwater.model.language.definition import Model

OWN = {"type": "string", "pattern": "^[^\\s:]+:[^\\s:]+$", "description": "package.module:NAME of one's own."}
TEXTS = {"type": "array", "items": {"type": "string"}}
NUMBER = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}


def schema() -> dict[str, Any]:
    """The schema, in draft 7, which the TOML plug-ins of editors know."""
    plain = {
        "model": {"anyOf": [{"enum": list(MODELS)}, OWN]},
        "bounds": {"type": "object"},
        "check": TEXTS,
        "preset": {"type": "string"},
        "protocol": {"type": "object"},
        "expect": _expectation(),
        "by_order": TEXTS,
        "max_depth": NUMBER,
        "source": {"type": "string"},
        "mutate": _closed({"undefended": TEXTS}, Mutations),
        "refines": _refinement(),
        "watch": TEXTS,
    }
    checks = {"required": ["check"], "properties": {"check": {"minItems": 1}}}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A Highwater spec: one claim about one model",
        "type": "object",
        "required": ["model", "bounds"],
        "anyOf": [checks, {"required": ["refines"]}],
        **_closed(plain, SpecFile),
        "allOf": [_of_model(model) for model in MODELS.values()],
    }


def documented(cls: type) -> dict[str, str]:
    """What a class's docstring says of its attributes."""
    text = (inspect.getdoc(cls) or "").partition("Attributes:\n")[2]
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=    \w)", "\n" + text):
        names, _, meaning = entry.strip().partition(":")
        found |= {name.strip(): " ".join(meaning.split()) for name in names.split(",")}
    return found


def _closed(properties: dict[str, Any], cls: type) -> dict[str, Any]:
    """A table with these keys and no others, each with what the class says of it."""
    words = documented(cls)
    described = {name: {"description": words[name], **properties[name]} for name in attrs.fields_dict(cls)}
    return {"type": "object", "properties": described, "additionalProperties": False}


def _expectation() -> dict[str, Any]:
    verdicts = [verdict.value for verdict in Verdict if verdict is not Verdict.UNKNOWN]
    counts = dict.fromkeys(COUNTS, NUMBER)
    return _closed(
        {"verdict": {"enum": verdicts}, "property": {"type": "string"}, **counts, "any_number_of": TEXTS}, Expectation
    )


def _refinement() -> dict[str, Any]:
    named, table = {"anyOf": [{"enum": list(MODELS)}, OWN]}, {"type": "object"}
    keys = {"model": named, "map": OWN, "bounds": table, "preset": {"type": "string"}, "protocol": table}
    return {**_closed(keys, Refinement), "required": ["model", "map"]}


def _of_model(model: Model) -> dict[str, Any]:
    """What specs of one model may say: its presets, toggles, bounds and properties."""
    definitions = [definition for _, _, definition in variants(model)]
    names = dict.fromkeys(each.name for definition in definitions for each in definition.known_properties)
    attrs.resolve_types(model.protocol)
    toggles = {field.name: _toggle(field) for field in attrs.fields(model.protocol)}
    bounds = [_bounds(kind) for kind in dict.fromkeys(definition.bounds for definition in definitions)]
    properties: dict[str, Any] = {
        "protocol": {"properties": toggles, "additionalProperties": False},
        "bounds": bounds[0] if len(bounds) == 1 else {"anyOf": bounds},
        "check": {"items": {"anyOf": [{"enum": [*names, DEADLOCK]}, OWN]}},
        "expect": {"properties": {"property": {"anyOf": [{"enum": [*names, DEADLOCK]}, {"type": "string"}]}}},
    }
    if model.presets:
        properties["preset"] = {
            "anyOf": [{"enum": list(model.presets)}, {"type": "string", "pattern": f"^{RELEASE.pattern}$"}]
        }
    chosen = {"properties": {"model": {"const": model.name}}, "required": ["model"]}
    return {"if": chosen, "then": {"properties": properties}}


def _toggle(field: Any) -> dict[str, Any]:
    kind: dict[str, Any] = {"type": "boolean"}
    if issubclass(field.type, Enum):
        values = [member.value for member in field.type]
        kind = {"enum": values + [int(value) for value in values if value.isdecimal()]}
    return kind | {"description": field.metadata.get("meaning", "")}


def _bounds(kind: type) -> dict[str, Any]:
    fields = attrs.fields(kind)
    sizes = {
        field.name: {
            "type": "integer",
            "minimum": field.metadata["low"],
            "maximum": field.metadata["high"],
            "description": field.metadata["meaning"],
        }
        | ({} if field.default is attrs.NOTHING else {"default": field.default})
        for field in fields
    }
    needed = [field.name for field in fields if field.default is attrs.NOTHING]
    return {"properties": sizes, "required": needed, "additionalProperties": False}
