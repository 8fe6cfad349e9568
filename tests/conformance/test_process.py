"""The Java process and its folder: neither outlives the command, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from highwater.conformance import process
from highwater.conformance.distribution import Distribution
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
