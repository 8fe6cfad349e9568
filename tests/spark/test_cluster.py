"""A standalone master with two workers on this machine, one of which is killed; a driver that is killed; executors
without the package.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import promises
import pyspark
import pytest
import toys

from highwater.claims.spec import load_spec
from highwater.explorer.compiler.programs import Program
from highwater.explorer.kernels.making import code_cache
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.verdict import Budget, Outcome, Progress, SearchOptions
from highwater.spark.driver.explore import explore
from highwater.spark.standalone import QUICK_TO_START, Standalone
from tests.conftest import NOTHING_GENERATED

pytestmark = pytest.mark.slow
HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).parents[2]
TOYS = os.pathsep.join(map(str, (Path(__file__).parent, ROOT / "src", ROOT)))
TOO_LONG = 3600
"""Seconds after which something hangs. No machine is so slow."""


def wait_until(happened: Callable[[], Any], alive: Callable[[], bool], shown: Callable[[], str]) -> Any:
    """Wait for an event as long as it can still happen, and return what it gives."""
    end = time.monotonic() + TOO_LONG
    while not (found := happened()):
        assert alive() and time.monotonic() < end, shown()
        time.sleep(0.05)
    return found


@attrs.define
class Cluster(Standalone):
    """A cluster of which workers are killed; and a driver, if a test has asked for one."""

    driver: Driver | None = None

    def complete(self) -> None:
        for name in {"one", "two"} - self.running.keys():
            self.start_worker(name)

    def end_driver(self) -> None:
        if self.driver is not None:
            self.driver.end()
            self.driver = None

    def kill(self, name: str) -> None:
        """SIGKILL for a worker and its executors."""
        process = self.running.pop(name)
        for member in self.members(name):  # Python's daemons have groups of their own
            with suppress(ProcessLookupError):  # they end by themselves once their executor was killed
                os.kill(member, signal.SIGKILL)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def members(self, name: str) -> list[int]:
        """The processes below a worker: its executors, their Python daemons and workers."""
        local_dirs = f"SPARK_LOCAL_DIRS={self.folder / name}".encode()
        return [pid for pid in pids() if local_dirs in environment_of(pid)]


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), {"PYTHONPATH": TOYS})
    try:
        cluster.start_master()
        yield cluster
    finally:
        cluster.end_driver()
        cluster.end()
    mark = str(cluster.folder).encode()
    wait_until(
        lambda: not any(mark in environment_of(pid) for pid in pids()), lambda: True, lambda: "the cluster runs on"
    )


@pytest.fixture
def standalone(master: Cluster) -> Cluster:
    """The master with two workers, of which a test before may have killed one, and no driver that has their cores."""
    master.end_driver()
    master.complete()
    return master


@pytest.fixture
def driver(master: Cluster) -> Driver:
    """A driver on the master with two workers, the one of the test before if it lives."""
    master.complete()
    if master.driver is None or master.driver.process.poll() is not None:
        master.driver = Driver(master.url)
    return master.driver


DRIVER = """
import functools, json, sys
sys.path[:0] = json.loads(sys.argv[1])
import promises, toys
from highwater.explorer.verdict import SearchOptions
from highwater.spark.driver import explore, liveness, tables
from highwater.spark.driver.session import session
explore.ROWS_WORTH_A_JOB = liveness.ROWS_IN_THE_DRIVER = tables.STEPS_IN_THE_DRIVER = 0
settings = {
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
    "spark.executor.memory": "512m", "spark.shuffle.io.retryWait": "100ms", **json.loads(sys.argv[3]),
}
spark = session(sys.argv[2], **settings)
for line in sys.stdin:
    folder, make, partitions = json.loads(line)
    show = lambda progress: print("level", progress.depth, progress.level_ended, flush=True)
    make = functools.partial(getattr(toys, make[0], None) or getattr(promises, make[0]), *make[1:])
    options = SearchOptions(checkpoint=folder, on_progress=show)
    outcome = explore.explore(make, options=options, spark=spark, partitions=partitions)
    counts = [outcome.levels, outcome.generated, outcome.bounds_cut, outcome.stopped_at_bound, outcome.held_back]
    counts += [[each.property, each.witness, each.back_to, each.trace_length] for each in outcome.violations]
    print("found", json.dumps(counts), flush=True)
spark.stop()
"""


class Driver:
    """A driver in a process of its own, which makes one search after the other and prints what happens."""

    def __init__(self, url: str) -> None:
        paths = json.dumps([str(Path(__file__).parent), str(ROOT / "src")])
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, paths, url, json.dumps(NOTHING_GENERATED)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": TOYS} | QUICK_TO_START,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def begin(self, folder: Path, make: list[Any], partitions: int) -> None:
        """Begin a search."""
        assert self.process.stdin is not None
        self.lines.clear()
        self.process.stdin.write(f"{json.dumps([str(folder), make, partitions])}\n")
        self.process.stdin.flush()

    def wait_for(self, happened: Callable[[], Any]) -> Any:
        """What an event gives, which can happen while the driver lives."""
        return wait_until(happened, lambda: self.process.poll() is None, lambda: str(self.lines))

    def found(self) -> list[Any]:
        """What the search has found, once it has."""
        line = self.wait_for(lambda: next((line for line in list(self.lines) if line.startswith("found")), None))
        return json.loads(line.removeprefix("found"))

    def kill(self) -> None:
        """SIGKILL for Python alone, as by the kernel's memory killer; Spark's Java has to notice by itself."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """Let it stop its session, and end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(TOO_LONG)
        self._reader.join()


def comparable(outcome: Outcome) -> list[Any]:
    counts = [list(outcome.levels), outcome.generated, outcome.bounds_cut, outcome.stopped_at_bound, outcome.held_back]
    return [*counts, *([each.property, each.witness, each.back_to, each.trace_length] for each in outcome.violations)]


@functools.cache
def expected() -> list[Any]:
    return comparable(breadth_first.explore(toys.last_corner()))


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A folder at whose file `closed` the model waits, in the middle of a level, and notes which processes do."""
    folder = tmp_path / "gate"
    folder.mkdir()
    (folder / "closed").touch()
    yield folder
    (folder / "closed").unlink(missing_ok=True)


def waiting_at(gate: Path) -> list[int]:
    return [int(path.name.removeprefix("reached-")) for path in gate.glob("reached-*")]


def test_a_worker_killed_during_a_level_changes_nothing(
    master: Cluster, driver: Driver, gate: Path, tmp_path: Path
) -> None:
    """The model waits in the middle of a level until the worker whose executor is there was killed."""
    driver.begin(tmp_path / "levels", ["gated", str(gate), 4], partitions=4)
    reached = driver.wait_for(lambda: waiting_at(gate))
    assert "level 1 True" in driver.lines
    victim = next(name for name in ("one", "two") if reached[0] in master.members(name))
    master.kill(victim)
    (gate / "closed").unlink()
    assert driver.found() == expected()


def test_liveness_is_judged_by_tables_on_two_executors(driver: Driver, tmp_path: Path) -> None:
    """By trimming, from shards that are where their partitions are at home."""
    driver.begin(tmp_path / "levels", ["lock_for_the_clock"], partitions=4)
    assert driver.found() == comparable(breadth_first.explore(promises.lock_for_the_clock()))


def test_a_driver_killed_during_a_level_is_gone_on_from(
    spark: Any, driver: Driver, gate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another driver, elsewhere and with another number of partitions, which in turn ends between two levels. Tasks
    of the dead driver go on at the same time, and write what nobody commits.
    """
    driver.begin(tmp_path / "levels", ["gated", str(gate), 4], partitions=2)
    driver.wait_for(lambda: waiting_at(gate))
    driver.kill()
    (gate / "closed").unlink()
    assert not any(line.startswith("found") for line in driver.lines)
    monkeypatch.setattr("highwater.spark.driver.explore.ROWS_WORTH_A_JOB", 0)
    monkeypatch.setattr(Program, "learn", toys.LEARN)  # and put back: the gate takes its place in this process, too

    def go_on(partitions: int, on_progress: Callable[[Progress], None]) -> Outcome:
        options = SearchOptions(checkpoint=str(tmp_path / "levels"), resume=True, on_progress=on_progress)
        return explore(functools.partial(toys.gated, str(gate), 4), options=options, spark=spark, partitions=partitions)

    def end_after_level_2(progress: Progress) -> None:
        assert progress.depth >= 1, "the first levels are taken over"
        if progress.level_ended and progress.depth == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        go_on(partitions=2, on_progress=end_after_level_2)
    ended: list[int] = []
    outcome = go_on(partitions=3, on_progress=lambda each: ended.append(each.depth) if each.level_ended else None)
    assert ended == [3]
    assert comparable(outcome) == expected()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as people install it."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    build = [sys.executable, "-m", "pip", "wheel", *options, str(ROOT)]
    subprocess.run(build, check=True, cwd=folder)
    return next(folder.glob("*.whl"))


def python_that_sees(folder: Path, hidden: tuple[str, ...]) -> Path:
    """A Python that has the installed libraries but some, and neither sees the repository nor an installed
    highwater.
    """
    installed, seen = Path(attrs.__file__).parents[1], folder / "libraries"
    seen.mkdir(parents=True)
    for entry in installed.iterdir():
        if not entry.name.startswith(hidden):
            (seen / entry.name).symlink_to(entry)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{seen}" exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    return python


def archive_of(names: tuple[str, ...], archive: Path) -> Path:
    """Installed libraries in an archive, as `pip install --target` and tar make one."""
    with tarfile.open(archive, "w:gz", compresslevel=0) as file:
        for entry in Path(attrs.__file__).parents[1].iterdir():
            if entry.name.startswith(names):
                file.add(entry, entry.name, filter=lambda each: None if "/tests/" in each.name else each)
    return archive


def test_executors_get_the_package_from_the_built_wheel_and_numba_and_numpy_from_an_archive(
    standalone: Cluster, wheel: Path, tmp_path: Path
) -> None:
    """Neither is where executors run; the driver has the libraries, and the package from the wheel, too."""
    with zipfile.ZipFile(wheel) as files:
        files.extract("highwater/submit.py", tmp_path)
    compiled = ("numba", "llvmlite", "numpy")
    libraries = archive_of(compiled, tmp_path / "libraries.tar.gz")
    spec = tmp_path / "claim.toml"
    bounds = "bounds = { brokers = 3, log_length_max = 2, records_max = 2, leader_epoch_max = 3 }"
    claim = 'max_depth = 5\nexpect = { verdict = "holds-to-depth" }\n'
    spec.write_text(
        f'model = "reference"\nprotocol = {{ variant = "kip-320" }}\n{bounds}\ncheck = ["strong_isr"]\n{claim}'
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
        "PYSPARK_DRIVER_PYTHON": str(python_that_sees(tmp_path / "driver", ())),
        "PYSPARK_PYTHON": str(python_that_sees(tmp_path / "executors", compiled)),
        "HOME": str(tmp_path),
        **QUICK_TO_START,
    }
    kept = code_cache.BESIDE_SOURCES / code_cache._made_of()
    if kept.is_dir():  # compiling is not what this is about
        own = Path(os.environ["XDG_CACHE_HOME"]) / "highwater" / kept.name
        shutil.copytree(kept, own, dirs_exist_ok=True)
    options = [
        "--conf",
        "spark.driver.host=127.0.0.1",
        "--conf",
        "spark.executor.memory=512m",
        "--conf",
        "spark.ui.enabled=false",
        "--py-files",
        str(wheel),
    ]
    options += ["--archives", f"{libraries}#libraries", "--conf", "spark.executorEnv.PYTHONPATH=libraries"]
    submit, levels = str(tmp_path / "highwater" / "submit.py"), str(tmp_path / "levels")
    arguments = [submit, str(spec), "--checkpoint", levels, "--no-symmetry", "--json", "found.json"]
    arguments += ["--rows-worth-a-job", "500"]  # as many as the last but one level has
    done = subprocess.run(
        [str(HOME / "bin" / "spark-submit"), "--master", standalone.url, *options, *arguments],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=TOO_LONG,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())["results"][0]
    here = breadth_first.explore(load_spec(spec).system(), Budget(max_depth=5), SearchOptions(symmetry=False))
    assert (found["distinct_states"], found["generated"]) == (here.distinct_states, here.generated)
    assert len(list((tmp_path / "levels" / "levels" / "00005").glob("*.parquet"))) == 2, (
        "the last level was explored in two partitions"
    )
    assert list(standalone.folder.glob(f"*-work/*/*/{wheel.name}"))
    assert list(standalone.folder.glob("*-work/*/*/libraries/numba"))
