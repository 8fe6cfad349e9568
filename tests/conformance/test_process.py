"""The Java process and its folder: neither outlives the command, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from highwater.conformance import process
from highwater.conformance.distribution import Distribution, KafkaError
from highwater.conformance.process import PREFIX, Harness
from tests.conformance.conftest import NEWEST, harness_of

SPEC = """model = "partition"
preset = "kafka-4.1"
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1, fetch_steps = 1 }
check = ["candidates_are_complete"]
"""
ENDLESS = ["--walks", "1000000"]
PATIENCE = 300  # seconds until something counts as hanging


def harnesses(parent: int) -> Iterator[tuple[int, Path]]:
    """The Java processes that a process has started, each with its folder."""
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            arguments = []
            with suppress(OSError):  # it has ended
                arguments = Path(f"/proc/{child}/cmdline").read_text().split("\0")
            if "Harness" in arguments:
                yield child, Path(arguments[arguments.index("Harness") + 1])


@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_neither_a_process_nor_a_folder(tmp_path: Path, number: signal.Signals) -> None:
    harness_of(NEWEST)
    spec = tmp_path / "small.toml"
    spec.write_text(SPEC)
    command = [sys.executable, "-m", "highwater", "conform", str(spec), "--kafka", NEWEST, *ENDLESS]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        java, folder = 0, tmp_path
        while not (folder / "b1").exists():  # then it executes steps
            assert run.poll() is None
            time.sleep(0.05)
            java, folder = next(harnesses(run.pid), (0, tmp_path))
        run.send_signal(number)
        out, errors = run.communicate(timeout=PATIENCE)
    finally:
        run.kill()
    assert (run.returncode, errors.splitlines()[-1]) == (130, "interrupted"), out + errors
    assert not os.path.exists(f"/proc/{java}")
    assert not folder.exists()


@pytest.mark.parametrize("ending", [KeyboardInterrupt, OSError])
def test_an_exit_before_java_starts_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: type[BaseException]
) -> None:
    def ends() -> str:
        assert list(tmp_path.glob(f"{PREFIX}*"))
        raise ending

    monkeypatch.setattr(process, "IN_MEMORY", tmp_path)
    monkeypatch.setattr(process, "harness", lambda distribution: b"")
    monkeypatch.setattr(process, "java", ends)
    with pytest.raises(ending), Harness(Distribution("here", "4.1.1", ())):
        pass
    assert not list(tmp_path.glob(f"{PREFIX}*"))


@pytest.fixture
def java_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Harness]:
    """The harness, with a program of the shell in the place of Java."""

    def made(script: str) -> Harness:
        program = tmp_path / "java"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return Harness(Distribution("here", "4.1.1", ()))

    monkeypatch.setattr(process, "harness", lambda distribution: b"")
    monkeypatch.setattr(process, "java", lambda: str(tmp_path / "java"))
    return made


def test_an_answer_in_another_encoding_is_read(java_does: Callable[[str], Harness]) -> None:
    with java_does(r"""read -r asked; printf '[{"error":"gr\366\337e"}]\n'""") as harness:
        assert harness.run([]) == [{"error": "gr\ufffd\ufffde"}]


def test_a_process_that_lives_and_answers_no_more_is_ended(
    java_does: Callable[[str], Harness], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "ENDING_SECONDS", 0)
    with java_does("exec >&-; exec sleep 60") as harness:
        with pytest.raises(KafkaError, match=r"4\.1\.1: the Java process lives, and has closed its input or output"):
            harness.run([])
        assert not os.path.exists(f"/proc/{harness.pids[0]}")


@pytest.mark.parametrize(
    ("variable", "options", "said"),
    [
        ("JDK_JAVA_OPTIONS", "-XX:+UseG1GC", r".* initialization of VM: \w.* garbage collector.*"),
        ("JAVA_TOOL_OPTIONS", "-Dhighwater=Error", r".*Harness.*"),
    ],
)
def test_why_java_does_not_start_is_said(
    monkeypatch: pytest.MonkeyPatch, variable: str, options: str, said: str
) -> None:
    monkeypatch.setattr(process, "harness", lambda distribution: b"")
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    monkeypatch.setenv(variable, options)
    with (
        pytest.raises(KafkaError, match=rf"ended with code 1; it said last: (?!.*Picked up){said}$"),
        Harness(Distribution("here", "4.1.1", ())) as started,
    ):
        started.receive()


def test_a_process_that_was_killed_has_not_said_which_options_it_picked_up(
    java_does: Callable[[str], Harness],
) -> None:
    killed = java_does("echo 'Picked up JAVA_TOOL_OPTIONS: -Dhighwater=Error' >&2\nkill -9 $$")
    with pytest.raises(KafkaError, match=r"the Java process ended with code -9$"), killed:
        killed.receive()
