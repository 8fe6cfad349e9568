"""A standalone master with two workers on this machine, one of which is killed; a driver that is killed; executors
without the package.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyspark
import pytest
import toys

from explorer.search import breadth_first
from explorer.verdict import Budget
from highwater.claims.spec import load_spec

pytestmark = pytest.mark.slow
HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).parents[2]
TOYS = os.pathsep.join([str(Path(__file__).parent), str(ROOT)])
SECONDS = 120


@attrs.define
class Standalone:
    """A master and workers of one core each, every one in a process group of its own, with its executors."""

    folder: Path
    url: str = ""
    running: dict[str, subprocess.Popen] = attrs.field(factory=dict)

    def start(self, name: str, kind: str, *arguments: str, ready: str) -> str:
        """Start a master or worker, and wait for a line of its log; returns what the line's group matches."""
        log = self.folder / f"{name}.log"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
        environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(self.folder / name), "PYTHONPATH": TOYS}
        command = [
            str(HOME / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{kind}",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
        ]
        with log.open("w") as out:
            self.running[name] = subprocess.Popen(
                [*command, "--webui-port", "0", *arguments],
                stdout=out,
                stderr=out,
                env=environment,
                start_new_session=True,
            )
        for _ in range(10 * SECONDS):
            if found := re.search(ready, log.read_text()):
                return found[found.re.groups]
            assert self.running[name].poll() is None, log.read_text()
            time.sleep(0.1)
        raise AssertionError(log.read_text())

    def start_worker(self, name: str) -> None:
        more = ["--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / f"{name}-work"), self.url]
        self.start(name, "worker.Worker", *more, ready="Successfully registered with master (.*)")

    def kill(self, name: str) -> None:
        """SIGKILL for a worker and its executors."""
        process = self.running.pop(name)
        for member in self.members(name):  # Python's daemons have groups of their own
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
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    cluster = Standalone(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.url = cluster.start("master", "master.Master", ready="Starting Spark master at (spark://[^ ]*)\n")
        yield cluster
    finally:
        for name in list(cluster.running):
            cluster.kill(name)
    for _ in range(10 * SECONDS):
        left = [pid for pid in pids() if str(cluster.folder).encode() in environment_of(pid)]
        if not left:
            break
        time.sleep(0.1)
    assert not left, "nothing of the cluster runs on"


@pytest.fixture
def standalone(master: Standalone) -> Standalone:
    """The master with two workers, of which a test before may have killed one."""
    for name in {"one", "two"} - master.running.keys():
        master.start_worker(name)
    return master


DRIVER = """
import functools, json, sys
sys.path[:0] = json.loads(sys.argv[1])
import toys
from spark.driver import explore
from spark.driver.session import session
explore.ROWS_WORTH_A_JOB = 0
url, folder, resume, make, partitions = json.loads(sys.argv[2])
make = functools.partial(getattr(toys, make[0]), *make[1:])
print("begin", flush=True)
here = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
spark = session(url, **here, **{"spark.ui.enabled": "false", "spark.executor.memory": "512m"})
tell = lambda progress: print("level", progress.depth, progress.level_ended, flush=True)
outcome = explore.explore(make, spark=spark, checkpoint=folder, resume=resume, partitions=partitions, on_progress=tell)
counts = [outcome.levels, outcome.generated, outcome.bounds_cut, outcome.stopped_at_bound]
print("found", json.dumps(counts), flush=True)
spark.stop()
"""


class Driver:
    """A driver in a process of its own, whose output is collected line by line."""

    def __init__(self, url: str, folder: Path, resume: bool, make: list[Any], partitions: int) -> None:
        paths, what = (
            json.dumps([str(Path(__file__).parent), str(ROOT)]),
            json.dumps([url, str(folder), resume, make, partitions]),
        )
        environment = os.environ | {"PYTHONPATH": TOYS}
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, paths, what],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env=environment,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def wait_for(self, line: str) -> None:
        for _ in range(10 * SECONDS):
            if line in self.lines or self.process.poll() is not None:
                return
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL for Python alone, as by the kernel's memory killer; Spark's Java has to notice by itself."""
        self.process.send_signal(signal.SIGKILL)

    def end(self) -> list[Any]:
        """What it found."""
        self.process.wait(SECONDS)
        self._reader.join()
        assert self.lines[-1].startswith("found"), self.lines
        return json.loads(self.lines[-1].removeprefix("found"))


def expected(system: Any) -> list[Any]:
    outcome = breadth_first.explore(system)
    return [list(outcome.levels), outcome.generated, outcome.bounds_cut, outcome.stopped_at_bound]


def test_a_worker_killed_during_a_level_changes_nothing(standalone: Standalone, tmp_path: Path) -> None:
    """The model waits in the middle of a level until the worker whose executor is there was killed."""
    gate = tmp_path / "gate"
    gate.mkdir()
    (gate / "closed").touch()
    driver = Driver(standalone.url, tmp_path / "levels", False, ["gated", str(gate), 4], partitions=4)
    try:
        for _ in range(10 * SECONDS):
            if reached := [int(path.name.removeprefix("reached-")) for path in gate.glob("reached-*")]:
                break
            assert driver.process.poll() is None, driver.lines
            time.sleep(0.1)
        victim = next(name for name in ("one", "two") if reached[0] in standalone.members(name))
        standalone.kill(victim)
        (gate / "closed").unlink()
        assert driver.end() == expected(toys.last_corner())
    finally:
        driver.process.kill()


def test_a_driver_killed_during_a_level_is_gone_on_from(standalone: Standalone, tmp_path: Path) -> None:
    """Twice: in the middle of a level, then at its end; the last run has another number of partitions."""
    gate = tmp_path / "gate"
    gate.mkdir()
    (gate / "closed").touch()
    make = ["gated", str(gate), 4]
    first = Driver(standalone.url, tmp_path / "levels", False, make, partitions=2)
    for _ in range(10 * SECONDS):
        if any(gate.glob("reached-*")):
            break
        assert first.process.poll() is None, first.lines
        time.sleep(0.1)
    first.kill()
    (gate / "closed").unlink()
    assert not any(line.startswith("found") for line in first.lines)
    second = Driver(standalone.url, tmp_path / "levels", True, make, partitions=2)
    second.wait_for("level 3 True")
    second.kill()
    third = Driver(standalone.url, tmp_path / "levels", True, make, partitions=3)
    found = third.end()
    assert third.lines.count("level 3 True") <= 1
    assert not any(line.startswith("level 1 ") for line in third.lines)
    assert found == expected(toys.last_corner())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as people install it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
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
    with tarfile.open(archive, "w:gz", compresslevel=1) as file:
        for entry in Path(attrs.__file__).parents[1].iterdir():
            if entry.name.startswith(names):
                file.add(entry, entry.name, filter=lambda each: None if "/tests/" in each.name else each)
    return archive


def test_executors_get_the_package_from_the_built_wheel_and_numba_and_numpy_from_an_archive(
    standalone: Standalone, wheel: Path, tmp_path: Path
) -> None:
    """Neither is where executors run; the driver has the libraries, and the package from the wheel, too."""
    package = tmp_path / "highwater.zip"  # what Spark puts on Python's path has to be called so
    package.write_bytes(wheel.read_bytes())
    with zipfile.ZipFile(wheel) as files:
        files.extract("highwater/submit.py", tmp_path)
    compiled = ("numba", "llvmlite", "numpy")
    libraries = archive_of(compiled, tmp_path / "libraries.tar.gz")
    spec = tmp_path / "claim.toml"
    bounds = "bounds = { brokers = 3, log_length_max = 2, records_max = 2, leader_epoch_max = 2 }"
    claim = 'max_depth = 14\nexpect = { verdict = "holds-to-depth" }\n'  # levels are large enough for jobs from 13 on
    spec.write_text(
        f'model = "reference"\nprotocol = {{ variant = "kip-320" }}\n{bounds}\ncheck = ["strong_isr"]\n{claim}'
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
        "PYSPARK_DRIVER_PYTHON": str(python_that_sees(tmp_path / "driver", ())),
        "PYSPARK_PYTHON": str(python_that_sees(tmp_path / "executors", compiled)),
        "HOME": str(tmp_path),
    }
    options = [
        "--conf",
        "spark.driver.host=127.0.0.1",
        "--conf",
        "spark.executor.memory=512m",
        "--py-files",
        str(package),
    ]
    options += ["--archives", f"{libraries}#libraries", "--conf", "spark.executorEnv.PYTHONPATH=libraries"]
    submit, levels = str(tmp_path / "highwater" / "submit.py"), str(tmp_path / "levels")
    arguments = [submit, str(spec), "--checkpoint", levels, "--no-symmetry", "--json", "found.json"]
    done = subprocess.run(
        [str(HOME / "bin" / "spark-submit"), "--master", standalone.url, *options, *arguments],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())["results"][0]
    expected = breadth_first.explore(load_spec(spec).system(), Budget(max_depth=14), symmetry=False)
    assert (found["distinct_states"], found["generated"]) == (expected.distinct_states, expected.generated)
    assert len(list((tmp_path / "levels" / "levels" / "00014").glob("*.parquet"))) == 2, (
        "the last level was explored in two partitions"
    )
    assert list(standalone.folder.glob("*-work/*/*/highwater.zip"))
    assert list(standalone.folder.glob("*-work/*/*/libraries/numba"))
