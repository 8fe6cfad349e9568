"""The rules of a protocol by release, from one table: what each rule was at first, and which releases changed it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, TypeVar

import attrs

from highwater.model.language.definition import Release, release_number

P = TypeVar("P", bound=attrs.AttrsInstance)


@attrs.frozen
class Rule:
    """How one rule changed.

    Attributes:
        name: the toggle.
        mode: `zookeeper` or `kraft`, or empty for both: the controller that this is about.
        first: its value at first.
        changes: releases that changed it, each with the value from there on, oldest first.
        source: where Kafka's code has it.
    """

    name: str
    mode: str
    first: str
    changes: tuple[tuple[str, str], ...]
    source: str

    def at(self, release: str) -> str:
        """Its value in a release."""
        number = release_number(release)
        return [self.first, *(value for since, value in self.changes if release_number(since) <= number)][-1]


def _rule(line: str) -> Rule:
    words, _, source = line.partition("|")
    spelt, first, *changed = words.split()
    name, _, mode = spelt.partition("/")
    changes = tuple((since, value) for each in changed for since, _, value in [each.partition("=")])
    numbers = [release_number(since) for since, _ in changes]
    if not source.strip() or numbers != sorted(set(numbers)):
        raise ValueError(f"{name}: needs a source, and its changes in the order of releases")
    return Rule(name, mode, first, changes, source.strip())


def _rules(text: str) -> tuple[Rule, ...]:
    return tuple(map(_rule, text.strip().splitlines()))


@attrs.frozen
class History:
    """The table.

    Attributes:
        rules: made from a text with a line for each rule: its name, with `/zookeeper` or `/kraft` behind it if the
            other mode has a line of its own; its value at first; `RELEASE=VALUE` for each change; and behind a `|` its
            source.
    """

    rules: tuple[Rule, ...] = attrs.field(converter=_rules)

    def of(self, mode: str) -> Iterator[Rule]:
        """The rules with a controller of this mode."""
        return (rule for rule in self.rules if rule.mode in ("", mode))

    def firsts(self, mode: str) -> set[str]:
        """The releases that changed a rule."""
        return {since for rule in self.of(mode) for since, _ in rule.changes}

    def at(self, release: Release) -> dict[str, str]:
        """The values of all rules from a release on.

        Raises:
            ValueError: a rule is there twice.
        """
        found: dict[str, str] = {}
        for rule in self.of(release.mode):
            if rule.name in found:
                raise ValueError(f"{rule.name} is there twice for {release.mode}")
            found[rule.name] = rule.at(release.first)
        return found

    def protocol(self, kind: type[P], release: Release) -> P:
        """The protocol that a release has, of an attrs class whose toggles are these rules.

        Raises:
            ValueError: the table lacks a toggle, has one that there is not, or gives one a value that it cannot have.
        """
        found = self.at(release)
        attrs.resolve_types(kind)
        toggles = {field.name: field.type for field in attrs.fields(kind)}
        if lacking := toggles.keys() ^ found.keys():
            raise ValueError(f"{', '.join(sorted(lacking))}: either a toggle or a line of the table is missing")
        return kind(**{name: _value(toggles[name], text) for name, text in found.items()})


def _value(kind: Any, text: str) -> Any:
    """A value as the toggle has it: a member of an enum by its value, or a truth value."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(text)
    if text not in ("True", "False"):
        raise ValueError(f"{text!r} is neither True nor False")
    return text == "True"
