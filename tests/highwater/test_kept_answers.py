"""Further answers are kept under everything they depend on, and serve no other question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.asking import answering, kept
from highwater.asking.answering import answer
from highwater.asking.asked import Says, parts_of
from highwater.asking.kept import Further, kept_or_asked
from highwater.asking.questions import question_named
from highwater.asking.settings import settings_for
from highwater.explorer import kept_files
from highwater.explorer.sources import HOUSE
from highwater.invariants.kraft import liveness
from highwater.model.catalogue import MODELS
from highwater.model.kraft import serving, topics
from highwater.model.partition import leadership

FOUND = Further(("a", "b"), (), ("c",), ("3.3.0", Says.YES), None, ("3.3.0", "4.4"))
QUESTION = question_named("shutdown-gives-up")
SETTINGS = settings_for(QUESTION, release="3.9.2", replication_factor=2)


class Asked(Exception):
    """It was asked, and not taken from what is kept."""


def ask() -> tuple[Further, bool]:
    raise Asked


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kept, "is_as_imported", lambda module: True)


def test_a_kept_answer_is_used_the_next_time() -> None:
    assert kept_or_asked(("asked",), (), lambda: (FOUND, True)) == FOUND
    assert kept_or_asked(("asked",), (), ask) == FOUND


def test_an_answer_that_is_kept_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    question = question_named("only-member-restarts-with-unclean-election")
    settings = settings_for(question, release="3.9.2", min_isr=1)
    first = answer(question, settings, keep=True)
    assert first.compared is not None
    monkeypatch.setattr(answering, "_More", ask)
    again = answer(question, settings, keep=True)
    names = [field.name for field in attrs.fields(Further)]
    assert [getattr(again, name) for name in names] == [getattr(first, name) for name in names]
    assert again.sentences == first.sentences


def test_an_answer_limited_by_memory_is_not_kept() -> None:
    assert kept_or_asked((), (), lambda: (FOUND, False)) == FOUND
    with pytest.raises(Asked):
        kept_or_asked((), (), ask)


@pytest.mark.parametrize(
    "other",
    [
        (attrs.evolve(QUESTION, since="3.5"), SETTINGS),
        (attrs.evolve(QUESTION, claims=QUESTION.claims[:1]), SETTINGS),
        (QUESTION, attrs.evolve(SETTINGS, min_isr=1)),
        (QUESTION, attrs.evolve(SETTINGS, release="3.9.1")),
    ],
    ids=["since", "claims", "min_isr", "release"],
)
def test_another_question_and_other_settings_are_asked(other: tuple[Any, ...]) -> None:
    kept_or_asked((QUESTION, SETTINGS, 1, 2), (), lambda: (FOUND, True))
    assert kept_or_asked((QUESTION, SETTINGS, 1, 2), (), ask) == FOUND
    for asked in ((*other, 1, 2), (QUESTION, SETTINGS, 1, 3)):
        with pytest.raises(Asked):
            kept_or_asked(asked, (), ask)


@pytest.mark.parametrize(
    "edited",
    [
        "model/kraft/serving.py",
        "model/kraft/releases.py",
        "model/language/domain.py",
        "invariants/kraft/operating.py",
        "explorer/system.py",
        "explorer/search/levels/breadth_first.py",
        "claims/counterexamples.py",
        "asking/answering.py",
    ],
)
def test_an_edit_is_seen(edited: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a process that has asked before: it may import the edited module later."""
    kept_or_asked(("asked",), (), lambda: (FOUND, True))
    plain, file = Path.read_bytes, HOUSE / edited
    assert file.is_file()
    monkeypatch.setattr(Path, "read_bytes", lambda path: plain(path) + (b"\n" if path == file else b""))
    with pytest.raises(Asked):
        kept_or_asked(("asked",), (), ask)


def test_another_version_of_what_it_uses_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept_or_asked(("asked",), (), lambda: (FOUND, True))
    monkeypatch.setattr(kept, "versions_of", lambda tops: {"attrs": "1"})
    with pytest.raises(Asked):
        kept_or_asked(("asked",), (), ask)


def test_answers_are_neither_read_nor_kept_after_a_module_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_or_asked(("asked",), (), lambda: (FOUND, True))
    monkeypatch.setattr(kept, "is_as_imported", lambda module: module != "highwater.model.kraft.serving")
    with pytest.raises(Asked):
        kept_or_asked(("asked",), (), ask)
    kept_or_asked(("another",), (), lambda: (FOUND, True))
    monkeypatch.setattr(kept, "is_as_imported", lambda module: True)
    with pytest.raises(Asked):
        kept_or_asked(("another",), (), ask)
    assert len(list(tmp_path.rglob("answers-*/*"))) == 1


@pytest.mark.parametrize(
    ("place", "name"),
    [(serving, "down"), (topics, "delete_topic"), (leadership, "learn_leadership"), (liveness, "leaders_are_found")],
    ids=["function", "action within other bounds", "action of another model", "property"],
)
def test_a_function_changed_in_memory_invalidates_kept_answers(
    place: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = question_named("broker-killed").claims
    kept_or_asked((), claims, lambda: (FOUND, True))
    assert kept_or_asked((), claims, ask) == FOUND
    changed = getattr(place, name)
    function = getattr(changed, "function", changed)
    monkeypatch.setattr(function, "__code__", function.__code__.replace(co_consts=(*function.__code__.co_consts, 7)))
    with pytest.raises(Asked):
        kept_or_asked((), claims, ask)


def test_a_rule_changed_in_memory_invalidates_kept_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every model that a release may ask."""
    kept_or_asked((), QUESTION.claims, lambda: (FOUND, True))
    presets = MODELS["kraft"].presets
    monkeypatch.setitem(presets, "kafka-3.3", presets["kafka-3.5"])
    with pytest.raises(Asked):
        kept_or_asked((), QUESTION.claims, ask)


@pytest.mark.parametrize(
    "data",
    [
        b"null", b"[1, 2]", b"{}", b'"x"', b'{"older": ["3.3", "maybe"]}', b'{"prevented_by": NaN}',
        b'{"prevented_by": "abc"}', b"\xff", b"[" * 100_000 + b"]" * 100_000,
    ],
    ids=lambda data: data[:20],
)  # fmt: skip
def test_a_file_without_an_answer_is_ignored_despite_a_valid_checksum(data: bytes, tmp_path: Path) -> None:
    kept_or_asked((), (), lambda: (FOUND, True))
    (file,) = tmp_path.rglob("answers-*/*")
    kept_files.write(file.parent, file.name, data)
    with pytest.raises(Asked):
        kept_or_asked((), (), ask)


def test_an_answer_that_lacked_memory_at_first_is_not_the_answer_where_there_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has tried to prevent only that harm of which it knew that it comes about."""
    question = question_named("shutdown-with-zookeeper-gives-up")
    known = parts_of(question, SETTINGS, lambda progress: None)
    assert [part.says for part in known] == [Says.NO, Says.YES]
    open_ = (attrs.evolve(known[0], says=Says.NOT_KNOWN), known[1])
    monkeypatch.setattr(answering, "_further", lambda found, report: (Further((str(len(found.parts)),)), True))
    monkeypatch.setattr(answering, "parts_of", lambda *_: open_)
    answer(question, SETTINGS, keep=True)
    monkeypatch.setattr(answering, "parts_of", lambda *_: known)
    monkeypatch.setattr(answering, "_further", lambda found, report: ask())
    with pytest.raises(Asked):
        answer(question, SETTINGS, keep=True)
