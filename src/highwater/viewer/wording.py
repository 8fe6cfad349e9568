"""Protocols, bounds and docstrings in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from highwater.claims.resolving import toggles_of
from highwater.model.language.definition import Model
from highwater.reports.replaying import Subject
from highwater.viewer.shown import Meaning
from highwater.visible import summary_and_rest


def in_words(table: Mapping[str, Any]) -> str:
    """A table of a report in one line."""
    return ", ".join(
        f"{key} {str(value).lower() if isinstance(value, bool) else value}" for key, value in table.items()
    )


def protocol_in_words(model: Model, protocol: Any, preset: Any = None) -> str:
    """The toggles of a protocol; of a model with presets, one of these and how it differs: the one named, or else the
    nearest.
    """
    toggles = toggles_of(protocol)
    differences = {name: _differing(toggles, toggles_of(preset)) for name, preset in model.presets.items()}
    if not differences:
        return in_words(toggles)
    # of several the newest
    nearest = min(reversed(differences), key=lambda name: (name != preset, len(differences[name])))
    return ", ".join(filter(None, (nearest, in_words(differences[nearest]))))


def settings_in_words(entry: Mapping[str, Any], subject: Subject | None) -> tuple[str, str]:
    """Protocol and bounds of a report's entry: as a preset and what differs, if it is known what it speaks of."""
    if subject is None:
        return in_words(entry["protocol"]), in_words(entry["bounds"])
    return protocol_in_words(subject.model, subject.protocol, entry.get("preset")), bounds_in_words(subject.bounds)


def title_of(name: str) -> str:
    """A claim's name as a sentence: `kafka_3_9_1_keeps_records` is "kafka 3.9.1 keeps records"."""
    release = re.compile(r"(?<![^_])(kafka|kafka_zookeeper|until|before|since)_(\d+(?:_\d+)*)(?![^_])")
    with_releases = release.sub(lambda found: f"{found[1]} {found[2].replace('_', '.')}", name)
    return with_releases.replace("_", " ")


def bounds_in_words(bounds: Any) -> str:
    """The bounds but for those that are what they are where nothing is said."""
    defaults = {field.name: field.default for field in attrs.fields(type(bounds))}
    return in_words(_differing(attrs.asdict(bounds), defaults))


def _differing(table: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if others.get(key) != value}


def meaning_of(documented: Any) -> Meaning:
    """The first paragraph and the sections of a docstring."""
    line, rest = summary_and_rest(documented)
    sections: dict[str, str] = {}
    name = ""
    for piece in rest.splitlines():
        if match := re.match(r"([A-Z][a-z ]+): +(.*)", piece):
            name, sections[match[1]] = match[1], match[2]
        elif piece.strip() and name:
            sections[name] += " " + piece.strip()
        else:
            name = ""
    return Meaning(line, sections)
