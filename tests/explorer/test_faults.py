"""Faults of disk and memory at every place where they can happen: the verdict and the counts never change, and no
snapshot is wrong.
"""

from __future__ import annotations

import errno
import functools
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import Mock

import attrs
import numpy as np
import pytest

from highwater.explorer import memory
from highwater.explorer.blame import ModelError
from highwater.explorer.compiler import decision_trees, effects, meanings, programs
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.keeping import snapshots
from highwater.explorer.search.keeping.checkpoint import MANIFEST
from highwater.explorer.search.keeping.durable import LOCK
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, Outcome, Progress, SearchOptions, Verdict
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import Integers
from highwater.model.language.records import domain_of, within
from tests.faults import Disk
from tests.outcomes import findings


@attrs.frozen
class Walk:
    x: int = within(Integers(0, 6))
    y: int = within(Integers(0, 6))


@action(actor="walker")
def go_right(walk: Walk) -> Walk | None:
    return attrs.evolve(walk, x=walk.x + 1) if walk.x < 2 else None


@action(actor="walker")
def go_up(walk: Walk) -> Walk | None:
    return attrs.evolve(walk, y=walk.y + 1) if walk.y < 2 else None


@invariant()
def stays_inside(walk: Walk) -> bool:
    return walk.x < 6


WALK = System(
    domain_of(Walk, None),
    (Walk(0, 0),),
    (*go_right.instances(None), *go_up.instances(None)),
    tuple(stays_inside.instances(None)),
)


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot after every level, and a fingerprint that takes no time."""
    expected()  # before anything fails
    monkeypatch.setattr(snapshots, "fingerprint", lambda *_: {"protocol": {}, "modules": {}})
    monkeypatch.setattr(snapshots, "SECONDS_BETWEEN_SNAPSHOTS", 0.0)
    monkeypatch.setattr(snapshots, "MOST_OF_THE_TIME", 1e9)


def explore(folder: Path | None = None, resume: bool = False, **how: Any) -> Outcome:
    return breadth_first.explore(WALK, options=SearchOptions(checkpoint=folder, resume=resume, workers=1, **how))


def comparable(outcome: Outcome) -> dict[str, Any]:
    return findings(outcome, "restored", "warnings")


@functools.cache
def expected() -> Any:
    return comparable(explore())


def calls(folder: Path) -> int:
    """How many calls of a whole search write to its folder."""
    with Disk(folder).inserted() as disk:
        assert comparable(explore(folder)) == expected()
    assert disk.calls > 40
    return disk.calls


def goes_on(folder: Path) -> bool:
    """Whether there is a snapshot to go on from; if so, the search ends as it should."""
    if not (folder / MANIFEST).exists():
        return False
    assert comparable(explore(folder, resume=True)) == expected()
    assert not {path.name for path in folder.iterdir() if path.suffix == ".tmp" or path.name == LOCK}
    return True


@pytest.mark.parametrize(
    "error",
    [errno.ENOSPC, *(pytest.param(each, marks=pytest.mark.slow) for each in (errno.EIO, errno.EDQUOT))],
    ids=errno.errorcode.get,
)
def test_a_disk_that_fails_at_any_call_ends_snapshots_and_not_the_search(tmp_path: Path, error: int) -> None:
    went_on = 0
    for number in range(2, calls(tmp_path / "whole") + 1):  # the first one takes the lock
        folder = tmp_path / str(number)
        with Disk(folder, number, error).inserted():
            outcome = explore(folder)
        assert comparable(outcome) == expected()
        assert "the search goes on without snapshots" in outcome.warnings[0]
        assert not list(folder.glob("*.tmp"))
        went_on += goes_on(folder)
    assert went_on > 30


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(0.0, id="lost", marks=pytest.mark.slow),
        pytest.param(0.5, id="torn"),
        pytest.param(1.0, id="arrived", marks=pytest.mark.slow),
    ],
)
def test_a_machine_that_dies_at_any_call_leaves_a_whole_snapshot(tmp_path: Path, part: float) -> None:
    went_on = 0
    for number in range(1, calls(tmp_path / "whole") + 1):
        folder = tmp_path / str(number)
        with Disk(folder, number, "died").inserted() as disk:
            explore(folder)
        assert disk.dead
        disk.lose(part)
        went_on += goes_on(folder)
    assert went_on > 30


@pytest.mark.parametrize("most", [1, 7, 100])
def test_a_disk_that_takes_less_than_it_is_given_gets_the_rest(tmp_path: Path, most: int) -> None:
    with Disk(tmp_path, most=most).inserted() as disk:
        assert comparable(explore(tmp_path)) == expected()
    assert disk.calls > 50
    assert goes_on(tmp_path)


def test_signals_in_the_middle_of_calls_change_nothing(tmp_path: Path) -> None:
    """Each call that one interrupts gives EINTR, after which Python makes it again."""
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.siginterrupt(signal.SIGALRM, True)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for number in range(10):
            assert comparable(explore(tmp_path / str(number))) == expected()
            assert goes_on(tmp_path / str(number))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) > 20


# --- Memory


class Memory:
    """Lets one of the allocations fail that the engine makes of arrays and address space."""

    MAKERS = ("zeros", "empty", "ones", "zeros_like", "full", "array")

    def __init__(self, fails: int) -> None:
        self.fails, self.made = fails, 0

    @property
    def makers(self) -> list[tuple[Any, str]]:
        found = [(np, name) for name in self.MAKERS]
        modules = [module for name, module in sys.modules.items() if name.startswith("highwater.explorer.")]
        return found + [(module, "reserve") for module in modules if getattr(module, "reserve", None) is memory.reserve]

    def insert(self, patch: pytest.MonkeyPatch) -> None:
        for owner, name in self.makers:
            patch.setattr(owner, name, self._failing(getattr(owner, name)))

    def _failing(self, make: Any) -> Any:
        def allocate(*arguments: Any, **more: Any) -> Any:
            if sys._getframe(1).f_globals.get("__name__", "").startswith("highwater.explorer."):
                self.made += 1
                if self.made == self.fails:
                    raise MemoryError("injected")
            return make(*arguments, **more)

        return allocate


def test_memory_that_runs_out_at_any_allocation_gives_no_wrong_verdict(tmp_path: Path) -> None:
    """Before the search begins it is an error; later what was learned is told, and the search goes on from its
    snapshot.
    """
    with pytest.MonkeyPatch.context() as patch:
        allocations = Memory(0)
        allocations.insert(patch)
        explore(tmp_path / "whole")
    assert allocations.made > 40
    endings = {"error": 0, "unknown": 0, "whole": 0}
    for number in range(1, allocations.made + 1):
        folder = tmp_path / str(number)
        with pytest.MonkeyPatch.context() as patch:
            Memory(number).insert(patch)
            try:
                outcome = explore(folder)
            except (MemoryError, ModelError):
                endings["error"] += 1
                continue
        if outcome.verdict is Verdict.UNKNOWN:
            assert outcome.reason == "memory"
            endings["unknown"] += 1
        else:
            assert comparable(outcome) == expected()
            endings["whole"] += 1
        goes_on(folder)
    assert endings["error"] > 10
    assert endings["unknown"] > 10


def test_learned_paths_survive_running_out_of_memory(tmp_path: Path) -> None:
    def report(progress: Progress) -> None:
        if progress.depth == 3:
            raise MemoryError

    outcome = explore(tmp_path, on_progress=report)
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "memory")
    assert goes_on(tmp_path)


def test_after_an_error_no_thread_learns_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first one left half done would be given another meaning."""
    engine = Engine(WALK, Budget(), 8, 1, symmetry=True)
    with monkeypatch.context() as patch:
        patch.setattr(effects.Effects, "_add", Mock(side_effect=MemoryError("injected")))
        with pytest.raises(MemoryError, match="injected"):
            engine.actions.learn(0, engine.layout.pack(Walk(0, 0)))
    with pytest.raises(MemoryError, match="injected"):
        engine.actions.learn(1, engine.layout.pack(Walk(0, 0)))
    assert not engine.actions.is_whole
    engine.actions.forget()
    assert engine.actions.is_whole


# --- Interrupts


class Interrupt:
    """Ctrl-C at a line of what learns, when a search comes by for the third time; at no line if that is None.

    Attributes:
        passed: how often it has come by each line.
    """

    FILES = tuple(str(module.__file__) for module in (programs, decision_trees, effects, meanings))

    def __init__(self, at: tuple[str, int] | None) -> None:
        self._at = at
        self.passed: Counter[tuple[str, int]] = Counter()

    def __enter__(self) -> Interrupt:
        self._before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *exception: Any) -> None:
        sys.settrace(self._before)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename in self.FILES else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            place = (frame.f_code.co_filename, frame.f_lineno)
            self.passed[place] += 1
            if place == self._at and self.passed[place] == 3:
                raise KeyboardInterrupt
        return self._line


@pytest.mark.slow
@pytest.mark.usefixtures("first_try")
def test_an_interrupt_at_any_line_of_learning_leaves_no_trees_that_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next search begins with the trees that the interrupted one has kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "whole"))
    with Interrupt(None) as none:
        whole = explore(keep_trees=True)
    places = [place for place, times in none.passed.items() if times >= 3]
    assert len(places) > 100
    for number, place in enumerate(places):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / str(number)))
        with suppress(KeyboardInterrupt), Interrupt(place):
            assert explore(keep_trees=True).reason == "interrupted"
        again = explore(keep_trees=True)
        assert comparable(again) == expected()
        assert again.compiled_paths == whole.compiled_paths
