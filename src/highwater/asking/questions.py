"""The catalogue of questions: one file for each in `questions/`, and what is known of clusters in `seen.toml`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import cattrs

from highwater.claims.resolving import choose
from highwater.model.language.definition import release_number

FOLDER = Path(__file__).parent / "questions"
SEEN = Path(__file__).parent / "seen.toml"
FIRST = "3.3"
"""The first release with KRaft that the models speak for."""
DURING = {
    "controller-fail-over": "while another controller becomes active",
    "preferred-election": "while the preferred leader is elected",
}
"""What else may happen meanwhile, and how it is put."""


@attrs.frozen
class Older:
    """Bounds for releases in which the same story takes more epochs.

    Attributes:
        before: the first release that needs them no more.
    """

    before: str
    bounds: Mapping[str, int]


@attrs.frozen
class Claim:
    """What is asked of a model. Of the claims of a question about one harm, the first one answers whose model has all
    that is asked for.

    Attributes:
        harm: what may come about: to "records", "leader", "writable", "shutdown", "reassignment", "broker" or
            "controller".
        bounds: numbers, or "replication_factor", "min_isr", and these with "+ 1".
        protocol: toggles that the question itself sets.
        takes: an action and its arguments that a counterexample has to have, if the bounds allow others, too.
        against: toggles without which it must not come about: else the answer is about something else.
        older: other bounds for older releases.
        by_order: epochs and counts of which only the order is looked at: any number of them.
    """

    harm: str
    model: str
    check: str
    bounds: Mapping[str, int | str]
    protocol: Mapping[str, str | bool] = attrs.field(factory=dict)
    takes: Mapping[str, str] = attrs.field(factory=dict)
    against: Mapping[str, str | bool] = attrs.field(factory=dict)
    older: Older | None = None
    by_order: tuple[str, ...] = ()


@attrs.frozen
class Way:
    """What an operator can do otherwise: the same story within other bounds of the first claim's model."""

    words: str
    bounds: Mapping[str, int | str]


@attrs.frozen
class Note:
    """What a "yes" of some releases needs to be said of.

    Attributes:
        until: the first release that it is not about.
    """

    words: str
    until: str

    def is_of(self, release: str) -> bool:
        """Whether it is about a release."""
        return is_within(release, FIRST, self.until)


@attrs.frozen
class Question:
    """One question.

    Attributes:
        name: the name of its file.
        words: what happens, such as "one broker loses power".
        claims: none, if no model can be asked.
        settings: settings of the cluster that the question is about.
        usual: settings with which it is asked if nothing else is given.
        ways: what an operator can do otherwise.
        since, until: the first release in which it can happen, and the first in which it cannot any more.
        why: why no model can be asked, or why not outside these releases.
        workaround: what helps, as docs/findings.md has it.
        seen: findings that are about this question, whatever rule they rest on.
        note: what a "yes" of some releases needs to be said of.
    """

    name: str
    group: str
    words: str
    claims: tuple[Claim, ...] = ()
    settings: Mapping[str, str | int | bool] = attrs.field(factory=dict)
    usual: Mapping[str, str | int | bool] = attrs.field(factory=dict)
    ways: tuple[Way, ...] = ()
    since: str = FIRST
    until: str = ""
    why: str = ""
    workaround: str = ""
    seen: tuple[str, ...] = ()
    note: Note | None = None

    def is_of(self, release: str) -> bool:
        """Whether it can happen in a release."""
        return is_within(release, self.since, self.until)

    @property
    def is_about_zookeeper(self) -> bool:
        """Whether it is about clusters with ZooKeeper alone."""
        return any(claim.model == "controller" for claim in self.claims)


@attrs.frozen
class Seen:
    """A finding of docs/findings.md.

    Attributes:
        name: its heading there, as an address.
        words: what it is.
        model: the model that has its rule.
        rule: toggles with which it does not happen. A counterexample that they end rests on this finding.
        clusters, classes: the releases of which clusters, and Kafka's classes, did it.
        workaround: what helps.
        since, until: the first release that does it, and the first that does not any more.
    """

    name: str
    words: str
    model: str = ""
    rule: Mapping[str, str | bool] = attrs.field(factory=dict)
    clusters: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    workaround: str = ""
    since: str = FIRST
    until: str = ""

    def is_of(self, release: str) -> bool:
        """Whether a release does it."""
        return is_within(release, self.since, self.until)


def is_within(release: str, since: str, until: str) -> bool:
    """Whether a release is of those from one on, up to another one that is none of them any more."""
    number = release_number(release)
    return number >= release_number(since) and (not until or number < release_number(until))


@functools.cache
def catalogue() -> dict[str, Question]:
    """All questions by name, in the order of their files."""
    tables = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml"))}
    return {name: _CONVERTER.structure({**table, "name": name}, Question) for name, table in tables.items()}


@functools.cache
def findings() -> dict[str, Seen]:
    """All findings by name."""
    tables = tomllib.loads(SEEN.read_text(encoding="utf-8"))
    return {name: _CONVERTER.structure({**table, "name": name}, Seen) for name, table in tables.items()}


def question_named(name: str) -> Question:
    """A question of the catalogue.

    Raises:
        Wrong: there is none of that name.
    """
    found: Question = choose(name, catalogue(), "question", "questions")
    return found


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook_func(lambda kind: kind in _PLAIN, lambda value, _: value)
    return converter


_PLAIN: tuple[Any, ...] = (int | str, str | bool, str | int | bool)
_CONVERTER = _make_converter()
