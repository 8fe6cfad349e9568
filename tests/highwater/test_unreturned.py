"""A function of a model that does not return is named while it runs."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from highwater.claims.unreturned import watched

ENDLESS = """
import attrs
from highwater import Definition, Integers, Model, NoToggles, action, evolve, invariant, within


@attrs.frozen
class Bounds:
    pass


@attrs.frozen
class World:
    at: int = within(lambda bounds: Integers(0, 3))


def stand(world):
    while True:
        pass


@action(actor="nobody")
def walk(world: World) -> World | None:
    if world.at == 2:
        stand(world)
    return evolve(world, at=world.at + 1)


@invariant()
def stays(world: World) -> bool:
    return True


def define(protocol: NoToggles) -> Definition:
    return Definition(
        bounds=Bounds,
        state=World,
        initial_states=lambda bounds: [World(0)],
        actions=(walk,),
        interchangeable=lambda bounds: {},
        properties=(stays,),
    )


MODEL = Model("endless", "A walk.", NoToggles, define)
"""
SPEC = """
model = "endless:MODEL"
bounds = {}
check = ["stays"]

[expect]
verdict = "holds"
"""
SOONER = (
    "from highwater.claims import unreturned; unreturned.SECONDS = 0.2; from highwater.cli.main import main; main()"
)


@pytest.mark.parametrize("claims", [1, 2])
def test_a_function_that_does_not_return_is_named_while_it_runs(tmp_path: Path, claims: int) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    names = [f"claim_{number}.toml" for number in range(claims)]
    for name in names:
        (tmp_path / name).write_text(SPEC)
    command = [sys.executable, "-c", SOONER, "check", *names, "--model-path", "."]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
        assert run.stderr is not None
        said = next(line for line in run.stderr if "has not returned" in line)
        run.send_signal(signal.SIGINT)
        form = r"highwater: (\S+): walk has not returned for 0.2 s \(.*endless.py:21\); it is at .*endless.py:(\d+)\n"
        ((claim, where),) = re.findall(form, said)
        assert claim in names
        assert ENDLESS.splitlines()[int(where) - 1].strip() in ("while True:", "pass")
    assert run.returncode == 130


def test_callers_of_highwater_are_not_reported_as_unreturned() -> None:
    """Such as the functions of a library that runs this test."""
    said: list[str] = []
    with watched(said.append, seconds=0.01):
        threading.Event().wait(0.5)
    assert said == []


def called_under_watch(work: Callable[[threading.Event], object], seconds: float) -> str:
    """What is reported of a function of a model that works until it is reported, or until it returns."""
    reported, lines = threading.Event(), list[str]()

    def complain(line: str) -> None:
        lines.append(line)
        reported.set()

    with watched(complain, seconds=seconds):
        work(reported)
    return " ".join(lines)


def test_a_function_that_waits_is_reported_later_than_one_that_works() -> None:
    def works(reported: threading.Event) -> None:
        while not reported.is_set():
            pass

    def waits_shortly(reported: threading.Event) -> None:
        reported.wait(0.5)

    def waits(reported: threading.Event) -> None:
        reported.wait()

    assert "works has not returned for 0.1 s" in called_under_watch(works, 0.1)
    assert called_under_watch(waits_shortly, 0.4) == ""
    assert "waits has not returned for 0.1 s" in called_under_watch(waits, 0.1)
