"""The table `refines` of a spec: an abstract model, and the map to its states."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

import attrs

from highwater.claims import own
from highwater.claims.building import build_system
from highwater.claims.resolving import find_model, resolve_model, with_preset
from highwater.claims.tables import Findings, Wrong, structure
from highwater.explorer.blame import ModelError
from highwater.explorer.refinement import Refines
from highwater.explorer.verdict import DEADLOCK
from highwater.model.catalogue import MODELS


@attrs.frozen
class Refinement:
    """The keys of `refines`.

    Attributes:
        model: the abstract model's name.
        map: the function from states of this model to those of the abstract one, as `package.module:function`.
        bounds: how large an abstract state may become, by name.
        preset: the abstract model's protocol by name.
        protocol: the abstract protocol's toggles, by name; on top of the preset, if there is one.
    """

    model: str = attrs.field(metadata={"choices": (*MODELS, "package.module:NAME of a model of your own")})
    map: str = attrs.field(metadata={"choices": ("package.module:function",)})
    bounds: dict[str, Any] = attrs.field(factory=dict)
    preset: str | None = None
    protocol: dict[str, Any] = attrs.field(factory=dict)


def refinement_of(table: Mapping[str, Any]) -> Refines:
    """The step property that a table `refines` stands for.

    Raises:
        Wrong: with all problems, each with its key.
    """
    keys: Refinement = structure(table, Refinement, "refines")
    try:
        return _resolved(keys)
    except Wrong as wrong:
        raise Wrong(*(f"refines.{problem}" for problem in wrong.problems)) from None


def _resolved(keys: Refinement) -> Refines:
    findings = Findings()
    mapped = findings.get(own.load, keys.map, "map", FunctionType)
    model = findings.get(find_model, keys.model)
    toggles = findings.get(with_preset, model, keys.preset, keys.protocol) if model else None
    found = findings.get(resolve_model, model, toggles, keys.bounds, (DEADLOCK,)) if toggles is not None else None
    findings.raise_if_any()
    assert model is not None and found is not None
    protocol, definition, bounds, _ = found
    try:
        return Refines.of(model.name, mapped, build_system(definition, protocol, bounds, ()))
    except ModelError as error:
        raise Wrong(f"model: {error}") from None
