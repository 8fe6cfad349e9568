"""`check --watch` checks again what changes: a spec that is saved, and every spec when a model is."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from highwater.cli import watch

ROOT = Path(__file__).parents[2]
SCAFFOLD = ROOT / "src" / "highwater" / "scaffold"
TOO_LONG = 600.0  # seconds until something counts as hanging


@pytest.fixture
def own(tmp_path: Path) -> Path:
    shutil.copytree(SCAFFOLD, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "own"


class Watching:
    """The command in a process of its own, whose lines arrive one by one."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "highwater", "check", "specs", "--model-path", ".", "--watch", "--no-trace"]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONSAFEPATH": "1", "COLUMNS": "200"}
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def checked(self) -> list[str]:
        """How each claim came out until the command waits for changes."""
        lines: list[str] = []
        while not (lines and lines[-1].startswith("watching ")):
            lines.append(self._lines.get(timeout=TOO_LONG))
        return [line.strip() for line in lines if line.startswith(("ok ", "FAILED "))]

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(TOO_LONG)


@pytest.fixture
def watching(own: Path) -> Iterator[Watching]:
    running = Watching(own)
    yield running
    running.process.kill()
    running.process.wait()


def test_saved_specs_and_models_are_checked_again(own: Path, watching: Watching) -> None:
    fenced, unfenced = "fencing_keeps_late_writers_out", "without_fencing_a_late_writer_gets_through"
    assert watching.checked() == [f"ok  {fenced}", f"ok  {unfenced}"]
    spec = own / "specs" / f"{fenced}.toml"
    spec.write_text(spec.read_text().replace("fencing = true", "fencing = false"))
    assert watching.checked() == [f"FAILED  {fenced}"], "only this spec was saved"
    model = own / "lock_service.py"
    model.write_text(model.read_text().replace("if protocol.fencing and", "if not protocol.fencing and"))
    assert watching.checked() == [f"ok  {fenced}", f"FAILED  {unfenced}"], "the model was read again"
    assert watching.end() == 1, "the exit code is that of the last check"


def test_files_that_are_neither_specs_nor_models_are_left_alone(own: Path) -> None:
    changed = {own / "README.md", own / "results.json", own / "pyproject.toml"}
    assert watch.specs_to_check([own / "specs"], changed) == ()


def test_a_missing_watchfiles_is_reported_with_the_command_that_installs_it(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    result = highwater("check", write_spec(), "--watch")
    assert result.exit_code == 2
    assert "pip install 'kafka-highwater[watch]'" in result.stderr
