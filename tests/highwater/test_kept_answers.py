"""What an answer went on to ask is kept by all that it follows from, and serves nothing else."""

from __future__ import annotations

from collections.abc import Iterator
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
from highwater.explorer.search.keeping import fingerprint
from highwater.explorer.sources import HOUSE
from highwater.model.catalogue import MODELS
from highwater.model.kraft import serving

FOUND = Further(("a", "b"), (), ("3.3.0", Says.YES), None, ("3.3.0", "4.4"))
QUESTION = question_named("shutdown-gives-up")
SETTINGS = settings_for(QUESTION, release="3.9.2", replication_factor=2)


class Asked(Exception):
    """It was asked, and not taken from what is kept."""


def ask() -> tuple[Further, bool]:
    raise Asked


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kept, "is_as_imported", lambda module: True)
    yield
    for cached in (kept.code, fingerprint.engine_code):
        cached.cache_clear()


def test_what_was_asked_is_taken_the_next_time() -> None:
    assert kept_or_asked(("asked",), (), lambda: (FOUND, True)) == FOUND
    assert kept_or_asked(("asked",), (), ask) == FOUND


def test_an_answer_that_is_kept_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    first = answer(QUESTION, SETTINGS, keep=True)
    assert first.compared is not None
    monkeypatch.setattr(answering, "_More", ask)
    again = answer(QUESTION, SETTINGS, keep=True)
    names = [field.name for field in attrs.fields(Further)]
    assert [getattr(again, name) for name in names] == [getattr(first, name) for name in names]
    assert again.sentences == first.sentences


def test_what_a_lack_of_memory_has_left_open_is_not_kept() -> None:
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
    kept_or_asked(("asked",), (), lambda: (FOUND, True))
    plain, file = Path.read_bytes, HOUSE / edited
    assert file.is_file()
    monkeypatch.setattr(Path, "read_bytes", lambda path: plain(path) + (b"\n" if path == file else b""))
    for cached in (kept.code, fingerprint.engine_code):
        cached.cache_clear()
    with pytest.raises(Asked):
        kept_or_asked(("asked",), (), ask)


def test_another_version_of_what_it_uses_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept_or_asked(("asked",), (), lambda: (FOUND, True))
    monkeypatch.setattr(kept, "versions_of", lambda tops: {"attrs": "1"})
    kept.code.cache_clear()
    with pytest.raises(Asked):
        kept_or_asked(("asked",), (), ask)


def test_nothing_is_taken_or_kept_where_a_file_was_written_since_it_was_imported(
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


def test_what_a_process_has_changed_of_functions_and_rules_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = parts_of(QUESTION, SETTINGS, lambda progress: None)
    kept_or_asked((), parts, lambda: (FOUND, True))
    assert kept_or_asked((), parts_of(QUESTION, SETTINGS, lambda progress: None), ask) == FOUND
    with monkeypatch.context() as patch:
        patch.setattr(serving, "down", lambda cluster, broker: cluster)
        with pytest.raises(Asked):
            kept_or_asked((), parts, ask)
    presets = MODELS["kraft"].presets
    monkeypatch.setitem(presets, "kafka-3.3", presets["kafka-3.5"])
    with pytest.raises(Asked):
        kept_or_asked((), parts, ask)
