"""Which answers Kafka's own classes have judged a second time."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

from highwater.asking.questions import Question
from highwater.asking.settings import Settings, settings_for

JUDGED = Path(__file__).parent / "judged.toml"
MODEL = "partition"
"""The model that is held against running code."""


@functools.cache
def _recorded() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = tomllib.loads(JUDGED.read_text(encoding="utf-8"))
    return found


def recorded() -> list[tuple[str, str, str]]:
    """What is recorded: a release that was asked about, the release of the classes, and a question."""
    return [
        (release, classes, name)
        for release, by_classes in _recorded().items()
        for classes, names in by_classes.items()
        for name in names
    ]


def judged_on(question: Question, settings: Settings) -> str:
    """The release of Kafka's classes that have judged an answer, or nothing. They did so of usual settings only."""
    if settings != settings_for(question, release=settings.release):
        return ""
    by_classes = _recorded().get(settings.release, {})
    return next((classes for classes, names in by_classes.items() if question.name in names), "")
