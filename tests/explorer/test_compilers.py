"""Kernels that are compiled side by side, in processes of their own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from highwater.explorer.kernels.making import code_cache, compilers, entry_points, signatures
from highwater.explorer.kernels.making.compile_times import TIMES
from highwater.explorer.kernels.making.entry_points import EntryPoint, MachineCode, Together, name_of
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.system import System
from highwater.explorer.verdict import SearchOptions
from highwater.model.language.declarations import action
from highwater.model.language.domain import BOOLEAN, Integers
from highwater.model.language.graph_properties import eventually_always
from highwater.model.language.records import evolve, within
from tests.small_models import tiny_system

TINY = ("states.stored.find", "states.stored.enter_rows")
ENTRY_POINTS = [each for each in vars(MachineCode).values() if isinstance(each, EntryPoint)]
UNITS = 2


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No code is kept but in one folder, which is empty; a search has two quick kernels."""
    monkeypatch.setattr(code_cache, "folders", lambda: [tmp_path / "kept"])
    monkeypatch.setattr(code_cache, "BROUGHT", tmp_path / "nothing")
    code_cache._brought_targets.cache_clear()
    for each in ENTRY_POINTS:
        monkeypatch.setattr(each, "_loaded", {})
    monkeypatch.setattr(entry_points, "_made", {})
    monkeypatch.setattr(signatures, "OF_A_SEARCH", TINY)
    monkeypatch.setattr(entry_points, "MOST_TO_COMPILE", 1 << 20)
    yield tmp_path / "kept"
    code_cache._brought_targets.cache_clear()


def of_a_search() -> MachineCode:
    """Two quick kernels, and two processors."""
    return MachineCode(together=Together(False, 2))


def find(code: MachineCode | None = None) -> int:
    """What a kernel gives that finds nothing."""
    table, room = np.zeros(16, np.uint32), np.zeros((1, 1), np.uint64)
    return int((code or of_a_search()).find(signatures.FLAT, table, room, np.zeros((0, 1), np.uint32), UNITS))


def kept(folder: Path) -> list[str]:
    return sorted(file.name.partition("-")[0] for file in folder.glob("*/*"))


def test_the_kernels_of_a_search_are_compiled_together_once_one_is_called(
    nothing_kept: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(TIMES, "listeners", [lambda: told.append(TIMES.processes)])
    code = of_a_search()
    assert find(code) == -1
    assert (compiled, kept(nothing_kept), told) == ([], sorted(TINY), [2])
    assert code.together is None


def test_a_kernel_that_is_compiled_beside_the_search_is_awaited_and_not_compiled_twice(
    nothing_kept: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find()
    made = {**entry_points._made}
    for file in nothing_kept.glob("*/*"):
        file.unlink()
    for each in ENTRY_POINTS:
        monkeypatch.setattr(each, "_loaded", {})
    entry_points._made.clear()
    awaited: list[str] = []

    class Beside:
        def wait(self, name: str) -> None:
            awaited.append(name)
            entry_points._made[name] = made[name]

    monkeypatch.setattr(compilers, "beside", dict.fromkeys(made, Beside()))
    assert find() == -1
    assert [name.partition("-")[0] for name in awaited] == ["states.stored.find"]
    assert compiled == []


def test_what_was_compiled_together_is_not_missing_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "folders", list)
    assert len(of_a_search().missing()) == 2
    find()
    assert not of_a_search().missing()


def test_kept_kernels_are_not_compiled_again_and_one_kernel_is_compiled_alone(
    nothing_kept: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find()
    (file,) = nothing_kept.glob("*/states.stored.find-*")
    monkeypatch.setattr(compilers, "compiled", None)
    for kept_still, here in ((True, []), (False, ["find"])):
        monkeypatch.setattr(entry_points, "_made", {})
        monkeypatch.setattr(MachineCode.find, "_loaded", {})
        if not kept_still:
            file.unlink()
        assert find() == -1
        assert compiled == here


@pytest.mark.parametrize("harm", ["no process can be started", "every process fails"])
def test_a_kernel_is_compiled_here_if_every_process_fails(
    nothing_kept: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    if harm == "every process fails":
        monkeypatch.setattr(compilers, "_PROGRAM", "raise SystemExit(1)")
    else:
        monkeypatch.setattr(sys, "executable", str(nothing_kept / "python"))
    assert find() == -1
    assert (compiled, kept(nothing_kept)) == (["find"], ["states.stored.find"])


def test_without_a_writable_folder_each_kernel_is_compiled_once(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(code_cache, "folders", lambda: [tmp_path / "file"])
    assert find() == -1
    monkeypatch.setattr(compilers, "compiled", None)
    rows = signatures.FLAT._replace(flat=np.array([7, 7], np.uint32))
    table = np.zeros(16, np.uint32)
    entry_points.ALONE.enter_rows(rows, 0, 1, table, np.zeros((1, 1), np.uint64), np.zeros(1, np.uint64), UNITS)
    assert np.count_nonzero(table) == 1
    assert not compiled


@pytest.mark.parametrize(
    ("together", "apart"),
    [
        pytest.param(None, False, id="no search"),
        pytest.param(Together(False, 1), False, id="one processor"),
        pytest.param(Together(False, 2), True, id="a budget of memory"),
    ],
)
def test_a_kernel_is_compiled_alone(
    nothing_kept: Path, monkeypatch: pytest.MonkeyPatch, together: Together | None, apart: bool
) -> None:
    assert find(MachineCode(together=together, apart=apart)) == -1
    assert kept(nothing_kept) == ["states.stored.find"]


def test_memory_limits_how_many_processes_compile_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = {name_of(*kernel): kernel for kernel in signatures.of_a_search(False)}
    name, *_ = kernels
    code = MachineCode(together=Together(False, 64))
    monkeypatch.setattr(entry_points, "machine_memory", lambda: 5 * entry_points.MOST_TO_COMPILE)
    assert code.together_with(name) == kernels
    assert code.processes({str(number): kernels[name] for number in range(9)}) == 5
    monkeypatch.setattr(entry_points, "machine_memory", lambda: 2 * entry_points.MOST_TO_COMPILE - 1)
    assert code.together_with(name) == {}


def test_a_process_that_fails_leaves_the_rest_to_others() -> None:
    one, other = signatures.of_a_search(False)
    assert compilers.compiled([("stored", "no_such_kernel", ()), one], 1) == {}, "it has ended"
    assert set(compilers.compiled([("stored", "no_such_kernel", ()), one, other], 2)) == {1, 2}
    assert compilers.compiled([], 2) == {}


def test_an_interrupt_ends_the_processes_while_they_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    made: list[Any] = []

    class Noted(compilers._Compiler):
        def made(self, kernel: compilers.Kernel) -> compilers.Made:
            begun.append(self._process)
            if len(begun) == 2:
                os.kill(os.getpid(), signal.SIGINT)
            made.append(super().made(kernel))
            return made[-1]

    monkeypatch.setattr(compilers, "_Compiler", Noted)
    slow = ("steps.expand.expand", "graphs.graph.list_edges")
    with pytest.raises(KeyboardInterrupt):
        compilers.compiled([(*name.rsplit(".", 1), signatures.KERNELS[name]) for name in slow], 2)
    assert [process.returncode for process in begun] == [-signal.SIGKILL] * len(begun) != []
    assert not made


# --- which these are


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The kernels that a search calls, whose code is kept as ever."""
    monkeypatch.undo()
    names: set[str] = set()
    call = EntryPoint.call

    def noted(entry_point: EntryPoint, code: MachineCode, *arguments: Any) -> Any:
        names.add(f"{entry_point._module}.{entry_point._name}")
        return call(entry_point, code, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EntryPoint, "call", noted)
        yield names


def test_a_search_up_to_a_counterexample_calls_these(called: set[str]) -> None:
    outcome = breadth_first.explore(
        tiny_system("reference", "kip-101"), options=SearchOptions(workers=2, keep_going=True)
    )
    assert outcome.violations
    assert called <= set(signatures.OF_A_SEARCH)
    assert set(signatures.OF_A_SEARCH) - called <= {"states.stored.move_row"}, (
        "which closes holes, if threads leave any"
    )


@attrs.frozen
class Lamp:
    on: bool = within(BOOLEAN)
    turned: int = within(Integers(0, 3))


@action(actor="hand")
def turn(lamp: Lamp) -> Lamp:
    return evolve(lamp, on=not lamp.on, turned=(lamp.turned + 1) % 4)


@eventually_always(fair=[turn])
def stays_on(lamp: Lamp) -> bool:
    return lamp.on


def test_a_search_with_liveness_calls_the_kernels_of_liveness(
    called: set[str], system_of: Callable[..., System]
) -> None:
    outcome = breadth_first.explore(system_of([Lamp(False, 0)], [turn], [stays_on]), options=SearchOptions(workers=2))
    assert outcome.violations
    assert set(signatures.OF_LIVENESS) <= called
    assert called - set(signatures.OF_LIVENESS) <= set(signatures.OF_A_SEARCH)
