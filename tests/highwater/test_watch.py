"""`check --watch` checks again what changes: a spec that is saved, and every spec when a model is."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from highwater.claims import own as own_models
from highwater.claims.checking import Engine, check_spec
from highwater.claims.spec import load_spec
from highwater.cli import watch
from highwater.cli.options import INTERRUPTED

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


# --- of which text a verdict is


MODEL = """
import attrs
from highwater import Definition, Integers, Model, NoToggles, action, bound, evolve, invariant, within
from parts import limits


@attrs.frozen
class Bounds:
    n: int = bound(1, 9, "n")


@attrs.frozen
class State:
    n: int = within(lambda bounds: Integers(0, bounds.n))


@action(actor="clock")
def tick(state):
    return evolve(state, n=state.n + 1)


@invariant()
def small(state):
    return state.n <= limits.MOST


def first(bounds):
    return [State(0)]


MODEL = Model("ticking", "", NoToggles, lambda protocol: Definition(Bounds, State, first, (tick,), properties=(small,)))
"""
SPEC = """
model = "ticking_model:MODEL"
bounds = { n = 3 }
check = ["small"]
"""


@pytest.fixture
def ticking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A spec beside a model with a part in a package that is a folder alone."""
    monkeypatch.setattr(own_models, "_BESIDE", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / "ticking"
    (folder / "parts").mkdir(parents=True)
    (folder / "ticking_model.py").write_text(MODEL)
    (folder / "parts" / "limits.py").write_text("MOST = 3\n")
    (folder / "claim.toml").write_text(SPEC)
    yield folder
    watch.forget_own_models()
    assert not {"ticking_model", "parts", "parts.limits"} & sys.modules.keys()


def verdict(spec: Path) -> str:
    return check_spec(load_spec(spec), Engine.PYTHON).verdict.value


@pytest.mark.parametrize("part", ["parts/limits.py", "ticking_model.py"])
def test_a_model_is_read_again_that_is_as_long_and_as_old_as_before(
    ticking: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytecode knows no more of its text. And a part of a package that is a folder alone is read again, too."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    spec, file = ticking / "claim.toml", ticking / part
    assert verdict(spec) == "holds"
    when = file.stat().st_mtime
    text = file.read_text()
    file.write_text(
        text.replace("MOST = 3", "MOST = 2").replace("n <= limits", "n < limits ").replace("limits .", "limits.")
    )
    os.utime(file, (when, when))
    assert watch.specs_to_check([spec], {file}) == (spec,)
    assert verdict(spec) == "violated"


def test_a_model_that_was_saved_is_read_again_by_the_next_check_of_a_process(ticking: Path) -> None:
    """As in a notebook. What came with a model is read again with it, and what did not change stays as it is."""
    spec, limits = ticking / "claim.toml", ticking / "parts" / "limits.py"
    assert [verdict(spec), verdict(spec)] == ["holds", "holds"]
    limits.write_text("MOST = 2\n")
    assert verdict(spec) == "violated"
    limits.write_text("MOST = 3\n")
    assert verdict(spec) == "holds"
    time.sleep(0.05)
    load_spec(spec)
    module = sys.modules["ticking_model"]
    load_spec(spec)
    assert sys.modules["ticking_model"] is module


def test_highwaters_own_modules_are_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever folder is searched for models: that of the checkout has them."""
    monkeypatch.setattr(own_models, "_FOLDERS", {str(ROOT): None})
    assert not [module for module in watch._own_modules() if module.__name__.startswith("highwater")]


def test_a_spec_and_a_model_behind_links_are_looked_at(ticking: Path, tmp_path: Path) -> None:
    """The system tells of what changes in the folder of the links."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "linked.toml").symlink_to(ticking / "claim.toml")
    linked = watch.Linked([here], [here])
    assert linked.changed() == set()
    (ticking / "claim.toml").write_text(SPEC.replace("n = 3", "n = 4"))
    assert watch.specs_to_check([here], linked.changed()) == (here / "linked.toml",)
    assert verdict(ticking / "claim.toml") == "violated"
    (ticking / "parts" / "limits.py").write_text("MOST = 4\n")  # before anybody has looked
    linked.note()
    changed = linked.changed()
    assert ticking / "parts" / "limits.py" in changed
    assert watch.specs_to_check([here], changed) == (here / "linked.toml",)


def test_what_came_or_went_with_its_folder_is_checked_again(ticking: Path) -> None:
    spec, parts, away = ticking / "claim.toml", ticking / "parts", ticking / "away"
    assert verdict(spec) == "holds"
    (ticking / "notes").mkdir()
    assert watch.specs_to_check([spec], {ticking / "notes"}) == ()
    parts.rename(away)
    assert watch.specs_to_check([spec], {parts}) == (spec,)
    away.rename(parts)
    assert watch.specs_to_check([spec], {parts}) == (spec,)
    (ticking / "more").mkdir()
    (ticking / "more" / "another.toml").write_text(SPEC)
    assert watch.specs_to_check([ticking], {ticking / "more"}) == (ticking / "more" / "another.toml",)


def test_a_spec_that_was_removed_keeps_no_other_from_being_checked(
    ticking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = ticking / "claim.toml", ticking / "second"
    second.write_text(SPEC)
    first.unlink()
    assert watch.specs_to_check([first, second], {first, second}) == (second,)
    assert capsys.readouterr().err == f"highwater: {first}: was removed; it is checked again once it is there\n"
    assert watch.specs_to_check([first, second], {ticking / "ticking_model.py"}) == (second,)


def test_an_interrupt_of_a_check_ends_the_watch(ticking: Path) -> None:
    asked: list[tuple[Path, ...]] = []

    def interrupted(paths: tuple[Path, ...]) -> int:
        asked.append(paths)
        return INTERRUPTED

    assert watch.watch_and_check((ticking,), interrupted) == INTERRUPTED
    assert asked == [(ticking,)]


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
