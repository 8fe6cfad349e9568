"""Definitions of models: for each protocol the bounds, the states, the initial states, the actions, the properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import attrs

from highwater.model.language.declarations import Action, Invariant, StepProperty
from highwater.model.language.graph_properties import GraphProperty

if TYPE_CHECKING:  # checking draws nothing
    from highwater.model.language.picture import Drawing

Property = Invariant | StepProperty | GraphProperty


@attrs.frozen
class Definition:
    """A model under one protocol.

    Attributes:
        bounds: the attrs class of its bounds.
        state: the attrs class of its states.
        initial_states: from bounds to the states at depth 0.
        actions: its steps, in the order in which they are tried.
        interchangeable: from bounds to the interchangeable names of each set of names, such as broker ids; None if
            there are none. No step or property treats two of them differently, so that symmetry reduction keeps one
            state for all that differ only by an exchange of these names.
        properties: the properties that claims can check, or the place of a tuple of them, such as
            `package.module:NAME`: models do not import their properties.
        module: the module that defines it; Highwater fills this in.
    """

    bounds: type
    state: type
    initial_states: Callable[[Any], Sequence[Any]]
    actions: tuple[Action, ...]
    interchangeable: Callable[[Any], Mapping[str, Sequence[int]]] | None = None
    properties: tuple[Property, ...] | str = ()
    module: str = ""

    @property
    def known_properties(self) -> tuple[Property, ...]:
        """The properties that claims can check. If `properties` is a place, they are imported from there."""
        return resolve_name(self.properties) if isinstance(self.properties, str) else self.properties


def toggle(meaning: str) -> Any:
    """An attrs field of a protocol class: one rule of the protocol, an enum or a bool.

    Args:
        meaning: what the rule decides, with the KIP or KAFKA issue that changed it.
    """
    return attrs.field(kw_only=True, metadata={"meaning": meaning})


@attrs.frozen
class Release:
    """The releases of a preset: from the first one up to the next preset of the same mode.

    Attributes:
        first: a release number, such as `2.0.1`.
        mode: `zookeeper` or `kraft`: which controller the preset models.
    """

    first: str
    mode: str

    @property
    def number(self) -> tuple[int, ...]:
        """The first release's number as a tuple that can be compared."""
        return release_number(self.first)


@cache
def release_number(release: str) -> tuple[int, ...]:
    """A release number such as 3.5.1 as a tuple that can be compared. A missing part counts as 0.

    Raises:
        ValueError: it is not a release number.
    """
    parts = [int(part) for part in release.split(".")]
    if not 2 <= len(parts) <= 4 or min(parts) < 0:
        raise ValueError(f"{release!r} is not a release number")
    return tuple(parts + [0] * (4 - len(parts)))


@attrs.frozen
class Model:
    """A model by name.

    Attributes:
        protocol: the attrs class of its protocol: one field per rule, an enum or a bool.
        define: from a protocol to the model's definition under it.
        presets: protocols by name, such as those of past releases.
        releases: the releases of each preset that models some, oldest first.
        last_releases: by mode, the last release of the newest preset of that mode.
        drawing: what its states look like in traces; drawn from their domains if None.
    """

    name: str
    summary: str
    protocol: type
    define: Callable[[Any], Definition]
    presets: Mapping[str, Any] = attrs.field(factory=dict)
    releases: Mapping[str, Release] = attrs.field(factory=dict)
    last_releases: Mapping[str, str] = attrs.field(factory=dict)
    drawing: Drawing | None = None

    def __repr__(self) -> str:
        return f"<Model {self.name}>"

    def presets_for(self, release: str) -> list[str]:
        """The presets of a release, one for each mode that it had.

        Raises:
            ValueError: it is not a release number.
        """
        number, found = release_number(release), {}
        for name, each in self.releases.items():
            if each.number <= number <= up_to(self.last_releases[each.mode]):
                found[each.mode] = name
        return list(found.values())

    def presets_within(self, release: str) -> list[str]:
        """The presets that begin within a release that stands for several, after its first one: with 3.9.1 of 3.9, with
        0.10.1.1 of 0.10.1.
        """
        return [name for name, each in self.releases.items() if release_number(release) < each.number <= up_to(release)]


def up_to(release: str) -> tuple[int, ...]:
    """A tuple at or above the number of every release that a number such as 3.9 stands for: 3.9.x for every x."""
    given = len(release.split("."))
    return release_number(release)[:given] + (10**6,) * (4 - given)


@attrs.frozen
class NoToggles:
    """The protocol of a model that has one protocol only."""
