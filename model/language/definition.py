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
        interchangeable: from bounds to the names, by set of names, that mean the same to every step and property; None
            where there are none. Exchanging them in a state changes nothing that matters, so that one state in place of
            all its images is enough.
        properties: what can be checked of it, or the place of a tuple of them, such as `package.module:NAME`: models do
            not import their properties.
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
class Release:
    """Which releases a preset speaks for: the first one and those after it, up to the next preset of the same mode.

    Attributes:
        first: a release number, such as `2.0.1`.
        mode: `zookeeper` or `kraft`: what the controller of that preset is made of.
    """

    first: str
    mode: str

    @property
    def number(self) -> tuple[int, ...]:
        """The release number as one that can be compared."""
        return release_number(self.first)


def release_number(release: str) -> tuple[int, ...]:
    """A release number such as 3.5.1 as one that can be compared; what is left out of it counts as 0.

    Raises:
        ValueError: it is no release number.
    """
    parts = [int(part) for part in release.split(".")]
    if not 2 <= len(parts) <= 4 or min(parts) < 0:
        raise ValueError(f"{release!r} is no release number")
    return tuple(parts + [0] * (4 - len(parts)))


@attrs.frozen
class Model:
    """A model by name.

    Attributes:
        protocol: the attrs class of its protocol: one field per rule, an enum or a bool.
        define: what the model is under each protocol.
        presets: protocols by name, such as those of past releases.
        releases: of presets that are releases, which ones they speak for, oldest first.
        last_releases: by mode, the last release that the newest preset of the mode speaks for.
    """

    name: str
    summary: str
    protocol: type
    define: Callable[[Any], Definition]
    presets: Mapping[str, Any] = attrs.field(factory=dict)
    releases: Mapping[str, Release] = attrs.field(factory=dict)
    last_releases: Mapping[str, str] = attrs.field(factory=dict)

    def presets_for(self, release: str) -> list[str]:
        """The presets that speak for a release number, one for each mode that it had.

        Raises:
            ValueError: it is no release number.
        """
        number, found = release_number(release), {}
        for name, each in self.releases.items():
            if each.number <= number <= up_to(self.last_releases[each.mode]):
                found[each.mode] = name
        return list(found.values())


def up_to(release: str) -> tuple[int, ...]:
    """The last number that a release such as 3.9 can have: 3.9.x, whatever x is."""
    given = len(release.split("."))
    return release_number(release)[:given] + (10**6,) * (4 - given)


@attrs.frozen
class NoToggles:
    """The protocol of a model that has one protocol only."""
