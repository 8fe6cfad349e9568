"""A claim asked otherwise than its file says: under another release's rules, or with other toggles and bounds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from highwater.claims.tables import Wrong, shown

TABLES = ("bounds", "protocol")
LOST = ("expect", "mutate")
"""What a file says of the claim as it stands there, and of no other."""


@attrs.frozen
class Changes:
    """What is to be other than files say.

    Attributes:
        preset: a preset, or a release that one speaks for, in place of the file's; its own toggles stay on top.
        values: by table and key, values in place of the file's.
    """

    preset: str | None = None
    values: Mapping[tuple[str, str], Any] = attrs.field(factory=dict)

    def __bool__(self) -> bool:
        return self.preset is not None or bool(self.values)

    def applied_to(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The keys of a file with these changes. What the file expects is left out: it is of the file's own claim."""
        found = {key: value for key, value in data.items() if key not in LOST}
        if self.preset is not None:
            found["preset"] = self.preset
        for (table, key), value in self.values.items():
            before = found.get(table, {})
            found[table] = {**before, key: value} if isinstance(before, dict) else before
        return found

    def in_words(self) -> tuple[str, ...]:
        """Each change as the command line spells it."""
        preset = () if self.preset is None else (f"preset {self.preset}",)
        return (*preset, *(f"{table}.{key} {shown(value)}" for (table, key), value in self.values.items()))


def changes_of(settings: Iterable[str], preset: str | None = None) -> Changes:
    """Changes from texts such as `bounds.records_max=2` and `protocol.variant=kip-320`.

    Raises:
        Wrong: a text is of another form, or sets what another one sets, too.
    """
    values: dict[tuple[str, str], Any] = {}
    for text in settings:
        place, equals, value = text.partition("=")
        table, dot, key = place.strip().partition(".")
        if not equals or not dot or table not in TABLES or not key:
            raise Wrong(f"--set: {shown(text)} is not of the form bounds.KEY=VALUE or protocol.KEY=VALUE")
        if (table, key) in values:
            raise Wrong(f"--set: {table}.{key} is set twice")
        values[table, key] = value_of(value)
    return Changes(preset, values)


def value_of(text: str) -> Any:
    """A value as a spec file writes it; what is no TOML value is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
