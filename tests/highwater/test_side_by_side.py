"""Claims checked side by side have the same reports as one after the other, however processes end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from highwater.claims import checking, side_by_side
from highwater.claims.checking import Result, check_spec
from highwater.claims.side_by_side import SideBySide
from highwater.claims.spec import Spec, load_spec
from highwater.explorer.blame import Contradiction, ModelError
from highwater.explorer.verdict import Outcome, Progress

ROOT = Path(__file__).parents[2]
Write = Callable[..., Path]
LARGE = {"brokers": 3, "log_length_max": 3, "records_max": 3, "leader_epoch_max": 3}
PATIENCE = 600  # seconds until something counts as hanging


@pytest.fixture
def claims(write_spec: Write) -> list[Path]:
    """Claims that hold, are are violated at the end of a trace and by a lasso, and are unmet."""
    return [
        write_spec("holds.toml"),
        ROOT / "specs/truncation/kip_101_fails_on_two_brokers.toml",
        write_spec("unmet.toml", expect={"verdict": "violated"}),
        ROOT / "specs/partition/liveness/a_committed_shrink_leaves_the_high_watermark_where_it_is.toml",
        write_spec("last.toml", check=["strong_isr", "weak_isr"]),
    ]


def timeless(text: str) -> str:
    text = re.sub(r"; before that [\d.]+ s of compiling machine code, once on this machine", "", text)
    return re.sub(r"[\d.]+ s, (fewer than )?[\d.]+ ?[kMG]? ?states/s,|in [\d.]+ s|[\d.]+ s,|[\d.]+ [KM]iB", "", text)


def without_progress(text: str) -> list[str]:
    """What a slow machine prints every ten seconds is left out."""
    return [line for line in text.splitlines() if not re.search(" stored |claims checked|compiling machine", line)]


def comparable(result: Any, report: Path) -> Any:
    data = json.loads(report.read_text())
    for entry in data["results"]:
        for changing in ("seconds", "compile_seconds", "states_per_second", "memory_bytes", "memory"):
            entry.pop(changing, None)
    return result.exit_code, timeless(result.stdout), without_progress(result.stderr), data


def test_side_by_side_and_sequential_reports_are_equal(
    highwater: Callable[..., Any], claims: list[Path], tmp_path: Path
) -> None:
    """Output, errors, exit code and report, traces included."""
    report = tmp_path / "report.json"
    ways = [
        comparable(highwater("check", *claims, "--json", report, "--jobs", jobs), report) for jobs in ("1", "2", "5")
    ]
    assert ways[0] == ways[1] == ways[2]
    traces = [entry["trace"] for entry in ways[0][-1]["results"] if entry.get("trace")]
    assert len(traces) >= 2


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """Puts something in place of the search; forks inherit it."""
    return lambda explore: monkeypatch.setattr(checking, "_ENGINES", {checking.Engine.LOCAL: explore})


def test_claims_are_checked_side_by_side_in_plain_python(highwater: Callable[..., Any], write_spec: Write) -> None:
    paths = [write_spec(name) for name in ("one.toml", "another.toml")]
    result = highwater("check", "--engine", "python", "--jobs", "2", *map(str, paths))
    assert result.exit_code == 0, result.stderr
    assert "2 claims: 2 met" in result.stdout


@pytest.mark.parametrize("cannot", ["be pickled", "be unpickled"])
def test_a_witness_that_cannot_be_sent_is_shown_all_the_same(
    highwater: Callable[..., Any], tmp_path: Path, cannot: str
) -> None:
    """As one with an object of a local class, or of one whose objects are not made again."""
    (tmp_path / "odd_witness.py").write_text(
        """
import attrs
from highwater import Definition, Integers, Model, NoToggles, Witness, action, bound, evolve, invariant, within

@attrs.frozen
class Bounds:
    n: int = bound(1, 9, "n")

@attrs.frozen
class State:
    n: int = within(lambda bounds: Integers(0, bounds.n))

class Refusing:
    def __reduce__(self):
        return refuse, ()

def refuse():
    raise ValueError("not here")

def odd():
    class Local:
        pass
    return Local() if CANNOT == "be pickled" else Refusing()

@action(actor="clock")
def tick(state):
    return evolve(state, n=state.n + 1)

@invariant()
def small(state):
    return state.n < 2 or Witness("n is {n}", n=state.n, odd=odd())

def first(bounds):
    return [State(0)]

MODEL = Model("odd", "", NoToggles, lambda protocol: Definition(Bounds, State, first, (tick,), properties=(small,)))
""".replace("CANNOT", repr(cannot)),
        encoding="utf-8",
    )
    claim = 'model = "odd_witness:MODEL"\nbounds = { n = 3 }\ncheck = ["small"]\n'
    specs = [tmp_path / "first.toml", tmp_path / "second.toml"]
    for each in specs:
        each.write_text(claim, encoding="utf-8")
    result = highwater("check", *specs, "--jobs", "2", "--model-path", tmp_path)
    sys.modules.pop("odd_witness", None)
    assert result.exit_code == 1
    assert result.stdout.count("small is false: n is 2") == 2
    assert "process" not in result.stderr


def test_a_process_that_is_killed_is_an_error_of_its_claim_alone(
    highwater: Callable[..., Any], write_spec: Write, ways: Callable[..., None]
) -> None:
    search = checking._ENGINES[checking.Engine.LOCAL]

    def killed(spec: Any, *arguments: Any) -> Outcome:
        if spec.name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return search(spec, *arguments)

    ways(killed)
    specs = [str(write_spec(f"{name}.toml")) for name in ("first", "killed", "third", "fourth")]
    result = highwater("check", *specs, "--jobs", "2")
    assert result.exit_code == 2
    assert "killed.toml: the process that checked it has ended with signal 9; try --jobs 1" in result.stderr
    assert "3 claims: 3 met" in result.stdout


def test_a_claim_that_cannot_be_checked_is_an_error_in_its_place(
    highwater: Callable[..., Any], write_spec: Write, ways: Callable[..., None]
) -> None:
    search = checking._ENGINES[checking.Engine.LOCAL]

    def refused(spec: Any, *arguments: Any) -> Outcome:
        if spec.name == "wrong":
            raise ModelError("fetch() tells b1 and b2 apart")
        return search(spec, *arguments)

    ways(refused)
    specs = [str(write_spec(f"{name}.toml")) for name in ("first", "wrong", "third")]
    one, two = (highwater("check", *specs, "--jobs", jobs) for jobs in ("1", "2"))
    assert one.exit_code == two.exit_code == 2
    assert "wrong.toml: fetch() tells b1 and b2 apart" in one.stderr
    assert without_progress(one.stderr) == without_progress(two.stderr)
    assert timeless(one.stdout) == timeless(two.stdout)


def test_a_defect_in_a_process_is_shown_as_it_is_without(
    highwater: Callable[..., Any], write_spec: Write, ways: Callable[..., None]
) -> None:
    ways(Mock(side_effect=Contradiction("the trace does not replay")))  # no line of this file raises it
    specs = [str(write_spec(f"{name}.toml")) for name in ("first", "second")]
    ended = [highwater("check", *specs, "--jobs", jobs, may_fail=True) for jobs in ("1", "2")]
    assert [each.exit_code for each in ended] == [70, 70]
    assert without_progress(ended[0].stderr) == without_progress(ended[1].stderr)


def test_a_claim_that_finds_no_room_beside_others_is_checked_again_alone(
    highwater: Callable[..., Any], write_spec: Write, ways: Callable[..., None]
) -> None:
    search, here = checking._ENGINES[checking.Engine.LOCAL], os.getpid()

    def out_of_memory(spec: Any, system: Any, budget: Any, options: Any) -> Outcome:
        found = search(spec, system, budget, options)
        return found if os.getpid() == here else checking.attrs.evolve(found, reason="memory")

    ways(out_of_memory)
    specs = [str(write_spec(f"{name}.toml")) for name in ("first", "second")]
    assert highwater("check", *specs, "--jobs", "2").exit_code == 0


@pytest.mark.parametrize("seconds", [0.0, float("inf")])
def test_a_claim_reports_how_far_it_is_not_more_often_than_people_read(
    write_spec: Write, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(side_by_side, "SECONDS_BETWEEN_PROGRESS", seconds)
    specs = [load_spec(write_spec(f"{name}.toml")) for name in ("first", "second")]

    def check(spec: Spec, on_progress: Callable[[Progress], None]) -> Result:
        return check_spec(spec, on_progress=on_progress)

    told: list[Progress | None] = []
    with SideBySide(specs, 2, check, check, lambda spec, progress: told.append(progress)) as claims:
        depths = [answer.outcome.depth for _, answer in claims if isinstance(answer, Result)]
    levels = [progress.depth for progress in told if progress and progress.level_ended]
    assert told.count(None) == len(depths) == 2
    assert len(levels) == (0 if seconds else 2 * (depths[0] + 1))


# Signals


@pytest.fixture
def begun(write_spec: Write, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run in a process group of its own, two of whose claims go on for long, once both have begun."""
    specs = [write_spec("quick.toml"), *(write_spec(f"long_{n}.toml", bounds={**LARGE, "brokers": 3}) for n in (1, 2))]
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "highwater", "check", *specs, "--jobs", "2", "--json", report]
    environment = {**os.environ, "HIGHWATER_JOBS": "2"}
    process = subprocess.Popen(
        [*map(str, command)], cwd=ROOT, env=environment, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while len(busy_children(process.pid)) < 2:  # they have built a system and explore
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    yield process, report
    process.kill()
    process.communicate()


def busy_children(pid: int) -> list[int]:
    """Its forks that have explored for some time, by the processor time that they took."""
    with_time = []
    for each in children(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        with_time += [each] if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 1.0 else []
    return with_time


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ended(pid: int) -> bool:
    """Whether a process is gone, or waits for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["the group, as a terminal does", "the first process alone"])
def test_an_interrupt_reports_the_results_of_every_search(whom: str, begun: tuple[subprocess.Popen[str], Path]) -> None:
    process, report = begun
    forks = children(process.pid)
    (os.killpg if whom.startswith("the group") else os.kill)(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    entries = {each["name"]: each for each in json.loads(report.read_text())["results"]}
    assert {name: entry["reason"] for name, entry in entries.items() if name != "quick"} == dict.fromkeys(
        ("long_1", "long_2"), "interrupted"
    )
    assert "3 claims" in stdout or "2 claims" in stdout
    assert all(map(ended, forks))


def test_no_process_outlives_one_that_is_killed(begun: tuple[subprocess.Popen[str], Path]) -> None:
    process, _ = begun
    forks = children(process.pid)
    process.kill()
    process.wait()
    deadline = time.monotonic() + PATIENCE
    while not all(map(ended, forks)):
        assert time.monotonic() < deadline, forks
        time.sleep(0.05)


def test_spark_checks_one_claim_after_the_other(highwater: Callable[..., Any], write_spec: Write) -> None:
    result = highwater("check", str(write_spec()), "--engine", "spark", "--jobs", "2")
    assert result.exit_code == 2
    assert "--jobs has no meaning with --engine spark" in result.stderr


def test_claims_are_checked_in_turn_if_processes_cannot_be_forked(
    highwater: Callable[..., Any], write_spec: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("highwater.claims.side_by_side.can_fork", lambda: False)
    monkeypatch.setattr(side_by_side, "_start", lambda *arguments: pytest.fail("forked"))
    specs = [str(write_spec(f"{name}.toml")) for name in ("first", "second")]
    assert highwater("check", *specs, "--jobs", "2").exit_code == 0
