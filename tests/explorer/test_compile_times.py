"""Compiling machine code is timed apart from the search, announced, and named if it is interrupted."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from highwater.explorer.analysis import simulate
from highwater.explorer.kernels.making import code_cache, entry_points
from highwater.explorer.kernels.making.compile_times import TIMES
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.verdict import SearchOptions, Walking
from highwater.reports import progress
from highwater.reports.terminal import counts_line
from tests.small_models import tiny_system


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Two kernels seem to be compiled: what is done meanwhile is what a test puts there."""
    meanwhile: dict[str, Any] = {"do": lambda: None}
    kept = code_cache.load

    def compiled(entry_point: entry_points.EntryPoint, name: str, arguments: tuple[Any, ...], **how: Any) -> Any:
        meanwhile["do"]()
        return kept(name) or made(entry_point, name, arguments, **how)

    made = entry_points.EntryPoint._compile
    for kernel in (entry_points.MachineCode.expand, entry_points.MachineCode.walk_on):
        monkeypatch.setattr(kernel, "_loaded", {})
    not_kept = ("steps.expand.", "steps.walks.")
    monkeypatch.setattr(code_cache, "load", lambda name: None if name.startswith(not_kept) else kept(name))
    monkeypatch.setattr(entry_points.EntryPoint, "_compile", compiled)
    yield meanwhile


def test_compiling_is_timed_apart_and_reported(uncompiled: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    stub = SimpleNamespace(perf_counter=lambda: 100.0 * next(clock))
    monkeypatch.setattr("highwater.explorer.kernels.making.compile_times.time", stub)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    console = progress.make_console(stderr=True)
    console.file = log = io.StringIO()
    with progress.Live(console, "claim"):
        outcome = breadth_first.explore(
            tiny_system("reference", "kip-101"), options=SearchOptions(workers=1, keep_going=True)
        )
    assert outcome.compile_seconds >= 100.0, "of one kernel, or of all where none is kept"
    told = r"claim: compiling machine code for states of \d+ words?, once on this machine: some 10 s\n"
    assert re.search(told, log.getvalue())
    said = f"; before that {outcome.compile_seconds:.1f} s of compiling machine code, once on this machine"
    assert counts_line(outcome).endswith(said)
    assert not TIMES.listeners


def test_walks_time_it_apart_as_well(uncompiled: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    stub = SimpleNamespace(perf_counter=lambda: 100.0 * next(clock))
    monkeypatch.setattr("highwater.explorer.kernels.making.compile_times.time", stub)
    made = simulate.simulate(tiny_system("reference", "kip-101"), Walking(walks=10, depth=5, seed=0), workers=1)
    assert made.compile_seconds >= 100.0
    assert made.walk_seconds == made.seconds - made.compile_seconds


def test_a_search_that_compiles_nothing_reports_no_compile_time() -> None:
    breadth_first.explore(tiny_system("reference", "kip-101"), options=SearchOptions(workers=1, keep_going=True))
    outcome = breadth_first.explore(
        tiny_system("reference", "kip-101"), options=SearchOptions(workers=1, keep_going=True)
    )
    assert outcome.compile_seconds == 0
    assert "compiling" not in counts_line(outcome)


def test_an_interrupt_during_compilation_is_reported(uncompiled: dict[str, Any]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    uncompiled["do"] = interrupt
    outcome = breadth_first.explore(
        tiny_system("reference", "kip-101"), options=SearchOptions(workers=1, keep_going=True)
    )
    assert outcome.reason == "interrupted"
    assert outcome.warnings[0].startswith("interrupted while machine code was compiled")
    assert not TIMES.running
