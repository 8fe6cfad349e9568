"""The cluster for trying, with a stand-in for Spark: it ends all that it has started, and refuses what is wrong."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SPARK = """#!/bin/sh
case "$*" in
*Master*) echo "Starting Spark master at spark://127.0.0.1:7077"; echo "started at http://127.0.0.1:1" ;;
*512m*) echo "Usage: Worker"; echo "no port is free"; exit 1 ;;
*) echo "Successfully registered with master" ;;
esac
trap 'kill -INT $STARTED_BY; echo ended; exit' TERM
sleep 600 &
wait
"""
PROGRAM = """
import os, pathlib, sys
from highwater.spark import standalone
standalone.SPARK = pathlib.Path(sys.argv.pop(1))
standalone.refuse_without_java = lambda: None
os.environ["STARTED_BY"] = str(os.getpid())
standalone.main()
"""


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command that starts a cluster, whose processes answer SIGTERM with a second Ctrl-C."""
    program = tmp_path / "bin" / "spark-class"
    program.parent.mkdir()
    program.write_text(SPARK)
    program.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return [sys.executable, "-c", PROGRAM, str(tmp_path)]


def folders(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("highwater-cluster-*"))


def test_a_second_interrupt_leaves_nothing_behind(started: list[str], tmp_path: Path) -> None:
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None
        assert cluster.stdout.readline() == "--master spark://127.0.0.1:7077   (http://127.0.0.1:1; Ctrl-C ends it)\n"
        (folder,) = folders(tmp_path)
        running = [pid for pid in map(int, numbers()) if str(folder).encode() in environment_of(pid)]
        cluster.send_signal(signal.SIGINT)
        assert (cluster.communicate()[1], cluster.returncode) == ("", 0)
    assert len(running) >= 3 and not any(str(folder).encode() in environment_of(pid) for pid in running)
    assert not folder.exists()


def numbers() -> list[str]:
    return [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--workers", "0"], "--workers: 0 is no whole number above 0"),
        (["--cores", "x"], "--cores: x is no whole number above 0"),
        (["--memory", "much"], "--memory: much is no size, such as 512m or 1g"),
        (["--memory", "512m"], "^highwater: the worker-1 of the cluster has ended: no port is free\n$"),
    ],
)
def test_what_is_wrong_is_refused_with_the_reason(
    started: list[str], tmp_path: Path, arguments: list[str], words: str
) -> None:
    ran = subprocess.run([*started, *arguments], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert re.search(words, ran.stderr)
    assert not folders(tmp_path)
