"""For all tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from highwater.__main__ import OBJECTS_BETWEEN_COLLECTIONS
from highwater.claims import own, unreturned
from highwater.claims.advice import advise
from highwater.explorer import comparisons
from highwater.explorer.analysis.shrink import shrink
from highwater.explorer.kernels.making import entry_points
from highwater.explorer.kernels.making.entry_points import EntryPoint, MachineCode, name_of
from highwater.explorer.kernels.making.signatures import FOLDED_ROWS, KERNELS
from highwater.explorer.memory import machine_memory

HERE = Path(__file__).parent
NOTHING_GENERATED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings of Spark where most plans run once, over few rows."""

# A job in a shell's background ignores Ctrl-C, and so would all that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])  # as `highwater` does

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what needs Spark in one process, of however many: one session for all of it. A module's tests run in one,
    too, since they share fixtures and what searches keep. All that needs Java or a browser is slow. Of several
    processes none is to wait for a slow test at the end; nor, at the beginning, for Kafka's jars, which one fetches.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if {"spark", "master"} & fixtures:
            item.add_marker(pytest.mark.xdist_group("spark"))
        groups = {mark.args[0] for mark in item.iter_markers("xdist_group")}
        if not groups:
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.stem}"))
        if {"spark", "kafka", "zookeeper"} & groups or "chromium" in fixtures:
            item.add_marker(pytest.mark.slow)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """When a test is to run, among others."""
    if item.get_closest_marker("slow") is None:
        return 3
    if any(mark.args[0] == "kafka" for mark in item.iter_markers("xdist_group")):
        return 0
    return 2 if item.path.parent.name in ("cluster", "conformance") else 1


def pytest_collection_finish() -> None:
    """No test lets Python look for garbage among all that was imported and collected."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Nor does pytest, ten times, among all that tests have left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def own_kept_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What one module's tests keep in the user's folder is kept from all others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("HIGHWATER_JOBS", "1")  # tests look into the process that checks, and run side by side themselves
        yield


to_stay: set[str] = set()
"""Modules that are no test's own."""


@pytest.fixture(autouse=True)
def forget_own_models(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what tests gave as itself, and the folders that they let models be looked for in, with their modules."""
    monkeypatch.setattr(own, "_GIVEN", dict(own._GIVEN))  # what test modules give stays
    monkeypatch.setattr(own, "_FOLDERS", {})
    monkeypatch.setattr(own, "_BESIDE", {})
    path, temporary = list(sys.path), str(tmp_path_factory.getbasetemp())
    before = len(sys.modules), next(reversed(sys.modules))
    yield
    is_as_before = (len(sys.modules), next(reversed(sys.modules))) == before  # as after most of many thousand tests
    for name in () if is_as_before else sys.modules.keys() - to_stay:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(temporary):
            del sys.modules[name]
        else:
            to_stay.add(name)
    sys.path[:] = path


@pytest.fixture(scope="session", autouse=True)
def one_folder_for_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Maven is asked for a release once, and the harness compiled once, for all tests in all processes."""
    folder = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIGHWATER_CACHE", str(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder))
        yield


@pytest.fixture(scope="session", autouse=True)
def java_takes_classes_as_they_were_published() -> Iterator[None]:
    """To verify those of Kafka and Spark takes a tenth of what a process takes until it answers. Nor are those verified
    that tests compile.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote")
        yield


@pytest.fixture(scope="session", autouse=True)
def what_ends_after_some_seconds_ends_by_itself() -> Iterator[None]:
    """Advice and shrinking give what they reached in their time. On a slow machine that is less. And where a kernel is
    compiled for long, `checked` below would be named as a function of a model that does not return.
    """
    with pytest.MonkeyPatch.context() as patch:
        for function in (advise, shrink):
            patch.setitem(function.__kwdefaults__, "seconds", float("inf"))
        patch.setattr(unreturned, "SECONDS", 1e6)
        yield


@pytest.fixture(scope="session", autouse=True)
def each_process_compiles_for_itself() -> Iterator[None]:
    """Of several processes that test, each compiles what it lacks: they have all processors already, and what numba
    knows of one kernel serves the next.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            patch.setattr(entry_points, "MOST_TO_COMPILE", machine_memory())
        yield


@pytest.fixture(scope="session", autouse=True)
def enums_keep_what_compares_them() -> Iterator[tuple[Callable[..., None], Callable[..., None]]]:
    """To change it, and back, at each search and each spec takes a millisecond where there are hundreds of enums: one
    in a hundred of what tests take. Where nothing refuses, it compares as Python does. These change it, and back.
    """
    begin, end = comparisons._begin, comparisons._end
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Enum, "__eq__", comparisons._equal)
        patch.setattr(comparisons, "_begin", comparisons._refusing.append)
        patch.setattr(comparisons, "_end", comparisons._refusing.remove)
        yield begin, end


@pytest.fixture(scope="session", autouse=True)
def searches_begin_in_machine_code() -> Iterator[None]:
    """A test of the engine is not to be one of plain Python where no machine code is kept yet. Tests of what stands in
    for it say how far that goes.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MachineCode, "can_compile_beside", False)
        yield


@pytest.fixture(scope="session", autouse=True)
def kernels_are_called_by_their_signatures() -> Iterator[None]:
    """Whatever any test calls a kernel with is in the list that machine code is made ahead from."""
    load = EntryPoint._load

    def checked(entry_point: EntryPoint, code: Any, kinds: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        of = f"{entry_point._module}.{entry_point._name}"
        listed = [each[of] for each in (KERNELS, FOLDED_ROWS) if of in each]
        called, *wanted = (name_of(entry_point._module, entry_point._name, each) for each in (arguments, *listed))
        assert called in wanted or not wanted, (
            f"{of} is called with other arguments than `highwater.explorer.kernels.making.signatures` says"
        )
        return load(entry_point, code, kinds, arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EntryPoint, "_load", checked)
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session on two cores of this machine, started by the first test that needs it."""
    pytest.importorskip("pyspark")
    from highwater.spark.driver.session import session

    ours = [HERE / "spark", HERE.parent / "src", HERE.parent]
    paths = [*map(str, ours), *filter(None, [os.environ.get("PYTHONPATH")])]
    folder = tmp_path_factory.mktemp("spark")
    settings = {"spark.driver.memory": "1g", "spark.ui.port": "0", "spark.local.dir": str(folder)}
    settings |= NOTHING_GENERATED
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))  # executors import the toys, too
        found = session("local[2]", **settings, **{"spark.sql.warehouse.dir": str(folder / "warehouse")})
    yield found
    found.stop()
