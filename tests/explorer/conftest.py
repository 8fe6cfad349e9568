"""Toy systems are put together here, and explored by each engine in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from highwater.explorer.compiler.programs import Program
from highwater.explorer.kernels.making import compiling
from highwater.explorer.search.keeping.kept_trees import KeptTrees
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import Outcome
from highwater.model.language.declarations import Invariant, Quantified, StepProperty
from highwater.model.language.graph_properties import Liveness, Prospect
from highwater.model.language.records import domain_of


@pytest.fixture(params=[breadth_first.explore, plain_python.explore], ids=["local", "oracle"])
def explore(request: pytest.FixtureRequest) -> Callable[..., Outcome]:
    """Each engine in turn: what a test says with it is a contract that every engine keeps."""
    return request.param


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instances that learn a path."""
    names: list[str] = []
    trace = Program._trace

    def noted(program: Program, number: int, words: Any) -> Any:
        names.append(str(program.instances[number]))
        return trace(program, number, words)

    monkeypatch.setattr(Program, "_trace", noted)
    return names


@pytest.fixture
def system_of() -> Callable[..., System]:
    """Puts a system together from initial states (all of one class), actions and properties."""

    def build(
        initial: Iterable[Any],
        actions: Iterable[Quantified] = (),
        properties: Iterable[Quantified] = (),
        bounds: Any = None,
    ) -> System:
        initial = tuple(initial)
        instances = [instance for each in properties for instance in each.instances(bounds)]
        return System(
            domain_of(type(initial[0]), bounds),
            initial,
            tuple(instance for action in actions for instance in action.instances(bounds)),
            tuple(instance for instance in instances if isinstance(instance.of, Invariant)),
            step_properties=tuple(instance for instance in instances if isinstance(instance.of, StepProperty)),
            prospects=tuple(instance for instance in instances if isinstance(instance.of, Prospect)),
            liveness=tuple(instance for instance in instances if isinstance(instance.of, Liveness)),
        )

    return build


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that this process has compiled."""
    names: list[str] = []
    compile_now = compiling.object_code

    def note(of: Any, arguments: tuple[Any, ...]) -> tuple[str, bytes]:
        names.append(of.py_func.__name__)
        return compile_now(of, arguments)

    monkeypatch.setattr(compiling, "object_code", note)
    return names


@pytest.fixture
def first_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds its kept trees to be wrong ends with that, in place of searching again without them."""
    load = KeptTrees.load

    def loaded(kept: KeptTrees) -> None:
        load(kept)
        kept.are_used = False

    monkeypatch.setattr(KeptTrees, "load", loaded)
