"""A search that begins in plain Python and goes on in machine code tells what one tells that begins in machine code."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.explorer.kernels.making import compilers
from highwater.explorer.kernels.making.entry_points import MachineCode
from highwater.explorer.search.engine import stand_ins
from highwater.explorer.search.engine.stand_ins import StandIns
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.system import System
from highwater.explorer.verdict import Auditing, Budget, Outcome, SearchOptions, Verdict
from tests.explorer import test_liveness as promises
from tests.explorer import test_ranks as ranked
from tests.explorer.test_engine_in_small import DEPTH, SYSTEMS, club_of
from tests.outcomes import timeless
from tests.small_models import tiny_system

ALL = sys.maxsize


def searched(system: System, rows: int, budget: Budget = DEPTH, **options: Any) -> Outcome:
    """What a search finds that expands so many rows in plain Python."""
    how = SearchOptions(**{"workers": 1, "audit": Auditing.QUICK, "keep_going": True, **options})
    outcome = timeless(breadth_first.explore(system, budget, how, check_deadlock=True, rows_in_python=rows))
    return attrs.evolve(outcome, audit=outcome.audit and attrs.evolve(outcome.audit, seconds=0.0))


def hand_overs(found: Outcome) -> list[int]:
    """Rows after which to hand over: those of each level, or of some of many, half of all, and all."""
    ends = [end for end in itertools.accumulate(found.levels) if end < found.stored_states]
    return sorted({*ends[:: 1 + len(ends) // 5], found.stored_states // 2, ALL})


KINDS: dict[str, tuple[Callable[[], System], Budget]] = {
    "invariant": (lambda: club_of(False, *SYSTEMS["invariant"]), DEPTH),
    "step": (lambda: club_of(False, *SYSTEMS["step"]), DEPTH),
    "long step": (lambda: club_of(True, *SYSTEMS["step"]), Budget(max_depth=4)),
    "prospect": (lambda: club_of(False, *SYSTEMS["prospect"]), Budget()),
    "order": (lambda: ranked.abstracted(ranked.duel(2, ranked.nobody_is_ahead), ["epochs"]), Budget()),
    "order and symmetry": (
        lambda: ranked.abstracted(ranked.duel(2, ranked.nobody_is_ahead, symmetric=True), ["epochs"]),
        Budget(),
    ),
    "livelock": (lambda: ranked.abstracted(ranked.duel(3, ranked.a_leader_commits), ["epochs"]), Budget()),
    "kip-101": (lambda: tiny_system("reference", "kip-101"), Budget(max_depth=6)),
}


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
@pytest.mark.parametrize("kind", KINDS)
def test_machine_code_goes_on_from_any_level_with_the_same_outcome(kind: str, symmetry: bool) -> None:
    make, budget = KINDS[kind]
    search = functools.partial(searched, make(), budget=budget, symmetry=symmetry)
    begins_in_machine_code = search(0)
    for rows in hand_overs(begins_in_machine_code):
        assert search(rows) == begins_in_machine_code, f"after {rows} rows"


@pytest.mark.parametrize("kind", ["invariant", "step"])
def test_a_counterexample_is_the_same_in_plain_python(kind: str) -> None:
    make, budget = KINDS[kind]
    found = searched(make(), ALL, budget, keep_going=False)
    assert found.verdict is Verdict.VIOLATED
    assert found == searched(make(), 0, budget, keep_going=False)


@pytest.mark.parametrize("options", [{"coverage": True}, {"audit": Auditing.FULL}, {"workers": 2}], ids=str)
def test_options_of_a_search_mean_the_same_in_plain_python(options: dict[str, Any]) -> None:
    system = club_of(False, *SYSTEMS["step"])
    for rows in (9, ALL):
        assert searched(system, rows, **options) == searched(system, 0, **options)


def test_a_snapshot_of_plain_python_is_one_of_machine_code(tmp_path: Path) -> None:
    system = club_of(False, *SYSTEMS["step"])
    how = SearchOptions(keep_going=True, workers=1)
    whole = breadth_first.explore(system, DEPTH, how)
    for rows in (9, ALL):
        how = attrs.evolve(how, checkpoint=tmp_path / str(rows))
        breadth_first.explore(system, Budget(max_depth=4), how, rows_in_python=rows)
        gone_on = breadth_first.explore(system, DEPTH, attrs.evolve(how, resume=True))
        for name in ("levels", "generated", "enabled", "bounds_cut", "cut_alone", "stopped_at_bound"):
            assert getattr(gone_on, name) == getattr(whole, name), name


class Compilers:
    """Compilers that are ready once a search has expanded some rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ready_at: int) -> None:
        self.begun = 0
        monkeypatch.setattr(MachineCode, "can_compile_beside", True)
        monkeypatch.setattr(MachineCode, "missing", lambda code: {"expand": ("steps.expand", "expand", ())})
        monkeypatch.setattr(MachineCode, "compile_beside", lambda code: self._begin())
        monkeypatch.setattr(MachineCode, "is_compiled", property(lambda code: self.begun and self.expanded >= ready_at))
        monkeypatch.setattr(stand_ins, "ROWS_BEFORE_COMPILING", 50)
        monkeypatch.setattr(StandIns, "expanded_before", 0)
        expand_row, handed = StandIns._expand_row, self

        def counted(each: StandIns, *arguments: Any) -> int:
            handed.expanded = each.expanded + 1
            return expand_row(each, *arguments)

        self.expanded = 0
        monkeypatch.setattr(StandIns, "_expand_row", counted)

    def _begin(self) -> None:
        self.begun += 1


def test_compilers_begin_once_a_search_is_not_small_and_end_its_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    system, how = club_of(False, *SYSTEMS["invariant"]), SearchOptions(workers=1, symmetry=False, keep_going=True)
    expected = timeless(breadth_first.explore(system, DEPTH, how))
    found = Compilers(monkeypatch, ready_at=120)
    assert timeless(breadth_first.explore(system, DEPTH, how)) == expected
    assert found.begun
    assert 120 <= found.expanded < expected.stored_states


def test_a_small_search_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Compilers(monkeypatch, ready_at=ALL)
    outcome = breadth_first.explore(club_of(False, *SYSTEMS["invariant"]), Budget(max_depth=2))
    assert 0 < found.expanded < 50
    assert outcome.distinct_states > 9
    assert not found.begun


@pytest.mark.parametrize(
    ("budget", "resumes"), [(Budget(max_states=9), False), (Budget(memory=1 << 33), False), (Budget(), True)]
)
def test_a_search_within_limits_or_from_a_snapshot_begins_in_machine_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, budget: Budget, resumes: bool
) -> None:
    system, folder = club_of(False, *SYSTEMS["invariant"]), tmp_path / "snapshots"
    options = SearchOptions(workers=1, checkpoint=folder if resumes else None)
    if resumes:
        breadth_first.explore(system, Budget(max_depth=2), options)
    found = Compilers(monkeypatch, ready_at=ALL)
    breadth_first.explore(system, budget, attrs.evolve(options, resume=resumes))
    assert not found.expanded


def test_liveness_is_judged_in_machine_code_on_what_plain_python_has_found(system_of: Callable[..., System]) -> None:
    weakly = promises.gets_in(promises.LOCK, ())
    system = system_of([promises.BOTH_IDLE], promises.LOCK, [weakly])
    begins_in_machine_code = searched(system, 0)
    assert begins_in_machine_code.violations
    assert searched(system, ALL) == begins_in_machine_code


ASKING = """
import multiprocessing, os, signal, sys, time
from highwater.cli.endings import ending_of
from highwater.explorer.kernels.making import code_cache, compilers
from highwater.explorer.kernels.making.entry_points import name_of
from highwater.explorer.kernels.making.signatures import KERNELS
module, _, name = "states.owners.remove_after".rpartition(".")
kernel = (module, name, KERNELS[f"{module}.{name}"])
def ask():
    beside = compilers.Beside({name_of(*kernel): kernel}, 1, lambda name, made: None)
    compilers.beside[name_of(*kernel)] = beside
    print(beside._processes[0].pid, next(code_cache.folders()) / code_cache._made_of() / name_of(*kernel), flush=True)
def interrupt():
    raise KeyboardInterrupt
if sys.argv[1] == "fork":
    process = multiprocessing.get_context("fork").Process(target=ask)
    process.start()
    process.join()
else:
    ask()
if sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "interrupt":
    ending_of(interrupt)
if sys.argv[1] == "exit":
    compilers.let_go_on()
    os._exit(0)
"""


def runs(process: str) -> bool:
    """Whether a process has not ended; one that is waited for by nobody has."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.xdist_group("x86-64-v2")  # all keep one kernel in one folder
@pytest.mark.parametrize(
    ("end", "goes_on"), [("kill", False), ("interrupt", False), ("return", True), ("fork", True), ("exit", True)]
)
def test_a_compiler_beside_a_search_goes_on_behind_it_unless_that_is_killed_or_interrupted(
    tmp_path: Path, end: str, goes_on: bool
) -> None:
    """For a processor that nothing else is compiled for here."""
    environment = {**os.environ, "NUMBA_CPU_NAME": "x86-64-v2", "XDG_CACHE_HOME": str(tmp_path)}
    asked = subprocess.run([sys.executable, "-c", ASKING, end], env=environment, stdout=subprocess.PIPE, text=True)
    number, kept = asked.stdout.split()
    try:
        while runs(number):
            time.sleep(0.05)
        assert Path(kept).exists() is goes_on
    finally:
        shutil.rmtree(Path(kept).parent, ignore_errors=True)


def test_where_no_compiler_starts_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert compilers.Beside({"find": ("states.stored", "find", ())}, 2, lambda name, made: None).is_over


def test_a_kernel_that_cannot_be_compiled_beside_a_search_keeps_no_other_from_it() -> None:
    made: list[str] = []
    kernels = {name: ("states.stored", name, ()) for name in ("no_kernel", "none_either")}
    beside = compilers.Beside(kernels, 1, lambda name, code: made.append(name))
    (process,) = beside._processes
    for name in kernels:
        beside.wait(name)
    assert (process.wait(), made, beside.is_over) == (0, [], True)


def test_a_fork_waits_for_nothing_that_is_compiled_beside_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would learn there that it was made."""
    monkeypatch.setitem(compilers.beside, "find", compilers.Beside({}, 2, lambda name, made: None))
    child = os.fork()
    if not child:
        os._exit(len(compilers.beside))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert "find" in compilers.beside
