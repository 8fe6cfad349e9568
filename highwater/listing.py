"""What there is: models with their protocols and bounds, actions, properties, specs. Read from the code itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from highwater.spec import find_specs, load_spec
from invariants.catalogue import PROPERTIES
from model.catalogue import MODELS
from model.definition import Definition, Model


def variants(model: Model) -> Iterator[tuple[Any, Definition]]:
    """The protocols of a model, one per choice of its enum toggles, each with what the model is under it."""
    attrs.resolve_types(model.protocol)
    for field in attrs.fields(model.protocol):
        if isinstance(field.type, type) and issubclass(field.type, Enum):
            for member in field.type:
                protocol = model.protocol(**{field.name: member})
                yield protocol, model.define(protocol)


def _first_line(documented: Any) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def _line(console: Console, indent: int, name: str, rest: str) -> None:
    console.print(Text.assemble(" " * indent, (name, "bold"), f"  {rest}"))


def show_models(console: Console) -> None:
    """Each model with the values of its toggles, and for each state class its bounds."""
    for model in MODELS.values():
        _line(console, 0, model.name, model.summary)
        attrs.resolve_types(model.protocol)
        for field in attrs.fields(model.protocol):
            values = " | ".join(member.value for member in field.type) if issubclass(field.type, Enum) else field.type.__name__
            _line(console, 2, f"protocol.{field.name}", values)
        shown: dict[type, list[str]] = {}
        for protocol, definition in variants(model):
            shown.setdefault(definition.bounds, []).append(" ".join(value.value for value in attrs.astuple(protocol)))
        for bounds, names in shown.items():
            console.print(Text(f"  bounds of {', '.join(names)}"))
            for field in attrs.fields(bounds):
                _line(console, 4, field.name, f"{field.metadata['low']}..{field.metadata['high']}  {field.metadata['meaning']}")


def show_actions(console: Console) -> None:
    """Each model's actions under each protocol, with their parameters and first line."""
    for model in MODELS.values():
        for protocol, definition in variants(model):
            _line(console, 0, model.name, " ".join(value.value for value in attrs.astuple(protocol)))
            for action in definition.actions:
                _line(console, 2, f"{action.name}({', '.join(action.parameters)})", _first_line(action))


def show_properties(console: Console) -> None:
    """Each property with its first line, by the class of states that it speaks of."""
    for state, properties in PROPERTIES.items():
        protocols = [
            " ".join(value.value for value in attrs.astuple(protocol))
            for model in MODELS.values()
            for protocol, definition in variants(model)
            if definition.state is state
        ]
        console.print(Text(f"for {', '.join(protocols)}"))
        for found in properties:
            _line(console, 2, found.name, _first_line(found))


def show_specs(console: Console, paths: Iterable[Path]) -> None:
    """Each spec with what it claims."""
    for path in find_specs(paths):
        spec = load_spec(path)
        expect = spec.file.expect
        claim = expect.verdict.value
        if expect.property:
            claim += f": {expect.property}" + (f" after {expect.trace_length} steps" if expect.trace_length is not None else "")
        if expect.distinct_states is not None:
            claim += f", {expect.distinct_states:,} states"
        _line(console, 0, str(path), claim)
