"""One claim under the rules of several releases: from which of them on, and until which, it comes out alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import attrs

from highwater.claims.changing import Changes
from highwater.claims.checking import Result
from highwater.claims.spec import Spec, SpecError, load_spec
from highwater.explorer.verdict import Verdict
from highwater.model.language.definition import release_number
from highwater.visible import counted

PATTERN = frozenset("*?[")
MODES = {"zookeeper": "ZooKeeper", "kraft": "KRaft"}


def specs_of(paths: Iterable[Path], presets: Iterable[str], changes: Changes) -> list[Spec]:
    """Each claim under each of these presets.

    Args:
        presets: presets by name, by a pattern such as `kafka-3.*`, or by a release; without any, as files say.
        changes: what else is to be other than files say.

    Raises:
        SpecError: with what is wrong with any of them, all together.
    """
    specs: list[Spec] = []
    problems: dict[Path, str] = {}
    wanted = tuple(presets)
    for path in paths:
        try:
            named = dict.fromkeys(name for text in wanted for name in _named(path, text))
            each = [attrs.evolve(changes, preset=name) for name in named] or [changes]
            specs += [load_spec(path, of_preset) for of_preset in each]
        except SpecError as error:
            problems[path] = str(error)
    if problems:
        raise SpecError("\n".join(problems.values()), problems)
    return specs


def _named(path: Path, text: str) -> list[str]:
    """The presets that a pattern names, in the model's order, or the text itself if it is no pattern."""
    if not PATTERN & set(text):
        return [text]
    model = load_spec(path).model
    found = [name for name in model.presets if fnmatchcase(name, text)]
    if not found:
        raise SpecError(
            f"{path}: preset: none of {model.name} matches {text}; there are {', '.join(model.presets) or 'none'}"
        )
    return found


@attrs.frozen
class Span:
    """Consecutive releases, of those that were asked, under which a claim comes out alike.

    Attributes:
        claim: the claim's name.
        mode: `ZooKeeper` or `KRaft`: which controller these presets model; empty where a preset stands for no release.
        since: the first of them: a release, or the preset's name where it stands for none.
        until: the first one asked after them, under which it comes out otherwise, or under which that is not known;
            None if they are the last.
        verdict, property, trace_length: what comes out; `UNKNOWN`, too, where a check has not ended.
        presets: the presets that were taken, in order.
    """

    claim: str
    mode: str
    since: str
    until: str | None
    verdict: Verdict
    property: str | None
    trace_length: int | None
    presets: tuple[str, ...]


def releases_in_words(span: Span) -> str:
    """From which release on, and until which."""
    return f"from {span.since}" + (f" until {span.until}" if span.until else "")


def result_in_words(span: Span) -> str:
    """What comes out under these releases."""
    if span.property is None:
        return span.verdict.value
    return f"{span.verdict.value}: {span.property} after {counted(span.trace_length or 0, 'step')}"


CameOut = tuple[Verdict, str | None, int | None]
NO_ANSWER: CameOut = (Verdict.UNKNOWN, None, None)


def spans(results: Iterable[Result], unanswered: Iterable[Spec] = ()) -> list[Span]:
    """What came out under several presets, as spans of releases: by claim, then by mode, then by release. Claims that
    were asked under one preset only have none.

    Args:
        unanswered: what was asked, too, and has no result: nothing is known of these releases.
    """
    by_claim: dict[Path, list[tuple[Spec, CameOut]]] = {}
    for result in results:
        by_claim.setdefault(result.spec.path, []).append((result.spec, _what_came_out(result)))
    for spec in unanswered:
        if spec.path in by_claim:
            by_claim[spec.path].append((spec, NO_ANSWER))
    return [span for asked in by_claim.values() for span in _of_claim(asked)]


def _of_claim(asked: list[tuple[Spec, CameOut]]) -> Iterator[Span]:
    if len({(spec.file.preset, spec.release) for spec, _ in asked}) < 2:
        return
    in_order = sorted(asked, key=lambda each: _place(each[0]))
    for mode, of_mode in itertools.groupby(in_order, key=lambda each: _mode(each[0])):
        alike = [
            (came_out, [spec for spec, _ in found])
            for came_out, found in itertools.groupby(of_mode, key=lambda each: each[1])
        ]
        after: list[str | None] = [*(release_of(specs[0]) for _, specs in alike[1:]), None]
        for ((verdict, name, length), specs), until in zip(alike, after, strict=True):
            presets = tuple(dict.fromkeys(spec.file.preset or "" for spec in specs))
            yield Span(specs[0].name, mode, release_of(specs[0]), until, verdict, name, length, presets)


def _what_came_out(result: Result) -> CameOut:
    if (found := result.found) is None:
        return result.outcome.verdict, None, None
    return result.outcome.verdict, found.property, found.trace_length


def _mode(spec: Spec) -> str:
    release = spec.model.releases.get(spec.file.preset or "")
    return MODES[release.mode] if release else ""


def _place(spec: Spec) -> tuple[str, tuple[int, ...]]:
    release = spec.model.releases.get(spec.file.preset or "")
    return (_mode(spec), () if release is None else release_number(spec.release or release.first))


def release_of(spec: Spec) -> str:
    """The release that was asked for, the first one of its preset, or the preset's name where it stands for none."""
    preset = spec.file.preset or ""
    release = spec.model.releases.get(preset)
    return spec.release or (release.first if release else preset)
