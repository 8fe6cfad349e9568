"""What a model offers: for each choice of protocol, its bounds, its state, where it starts, and its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

import attrs

from model.language.declarations import Action, Property


@attrs.frozen
class Definition:
    """A model under one protocol.

    Attributes:
        bounds: the attrs class of its bounds.
        state: the attrs class of its states.
        initial_states: from bounds to the states at depth 0.
        actions: its steps, in the order in which they are tried.
        interchangeable: from bounds to the names, by set of names, that mean the same to every step and property; None where there are
            none. Exchanging them in a state changes nothing that matters, so that one state in place of all its images is enough.
        properties: what can be checked of it, or the place of a tuple of them, such as `package.module:NAME`: models do not import
            their properties.
        module: the module that defines it; Highwater fills this in.
    """

    bounds: type
    state: type
    initial_states: Callable[[Any], Sequence[Any]]
    actions: tuple[Action, ...]
    interchangeable: Callable[[Any], Mapping[str, Sequence[int]]] | None = None
    properties: tuple[Property, ...] | str = ()

    @property
    def known_properties(self) -> tuple[Property, ...]:
        """What can be checked of it, imported where only its place is given."""
        return resolve_name(self.properties) if isinstance(self.properties, str) else self.properties

    module: str = ""


def toggle(meaning: str) -> Any:
    """An attrs field of a protocol class: one rule of the protocol, an enum or a bool."""
    return attrs.field(kw_only=True, metadata={"meaning": meaning})


@attrs.frozen
class Model:
    """A model by name.

    Attributes:
        protocol: the attrs class of its protocol: one field per rule, an enum or a bool.
        define: what the model is under each protocol.
        presets: protocols by name, such as those of past releases.
    """

    name: str
    summary: str
    protocol: type
    define: Callable[[Any], Definition]
    presets: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class NoToggles:
    """The protocol of a model that has one protocol only."""
