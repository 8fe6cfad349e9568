"""Toy systems that executors make, too: they import this module. Every one is a function that a test hands over by
name.
"""

from __future__ import annotations

import functools
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.explorer.compiler.programs import Program
from highwater.explorer.partitioned import visited
from highwater.explorer.search.states import folded
from highwater.explorer.system import System
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import action, invariant, step_property
from highwater.model.language.domain import ArrayOf, Integers, Limit
from highwater.model.language.graph_properties import prospect
from highwater.model.language.records import domain_of, evolve, within
from highwater.model.reference.state import ReferenceProtocol, Variant
from highwater.spark.worker import inbox, level

SMALL = {"brokers": 3, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1, "offset_max": 1, "version_max": 2}


def reference(variant: str, check: str = "", **bounds: int) -> System:
    """The reference model with small bounds, some of them changed, and all its properties or one."""
    protocol = ReferenceProtocol(Variant(variant))
    definition = MODELS["reference"].define(protocol)
    properties = [each for each in definition.known_properties if check in ("", each.name)]
    names = {field.name for field in attrs.fields(definition.bounds)}
    sizes = {name: value for name, value in {**SMALL, **bounds}.items() if name in names}
    return build_system(definition, protocol, definition.bounds(**sizes), properties)


@attrs.frozen
class Grid:
    """A walk on a grid, away from a corner, that ends in the opposite one."""

    x: int = within(Integers(0, 5))
    y: int = within(Integers(0, 5))


@action(actor="walker")
def right(grid: Grid) -> Grid | None:
    return evolve(grid, x=grid.x + 1) if grid.x < 5 else None


@action(actor="walker")
def up(grid: Grid) -> Grid | None:
    return evolve(grid, y=grid.y + 1) if grid.y < 5 else None


@invariant()
def the_middle_is_not_reached(grid: Grid) -> bool:
    return grid.x != 3 or grid.y != 1


@step_property()
def nobody_goes_up_in_the_last_but_one_column(before: Grid, after: Grid) -> bool:
    return before.x != 4 or after.y == before.y


@attrs.frozen
class WideGrid(Grid):
    """A walk that takes 86 bits."""

    unused: tuple[int, ...] = within(ArrayOf(Integers(0, 2**20 - 1), 4))


def grid(properties: tuple[str, ...] = (), wide: bool = False) -> System:
    """The walk, with some of its properties checked."""
    state = functools.partial(WideGrid, unused=(0,) * 4) if wide else Grid
    instances = [
        i for p in (the_middle_is_not_reached, nobody_goes_up_in_the_last_but_one_column) for i in p.instances(None)
    ]
    chosen = [instance for instance in instances if instance.of.name in properties]
    return System(
        domain_of(WideGrid if wide else Grid, None),
        (state(0, 0), state(1, 1)),
        tuple(i for a in (right, up) for i in a.instances(None)),
        tuple(i for i in chosen if i.of is the_middle_is_not_reached),
        step_properties=tuple(i for i in chosen if i.of is nobody_goes_up_in_the_last_but_one_column),
    )


@attrs.frozen
class Raising:
    count: int = within(Integers(0, 9))


@action(actor="someone")
def divide(raising: Raising) -> Raising:
    return Raising(raising.count + 1 + 1 // (3 - raising.count) // 9)


@invariant()
def the_first_broker_has_no_record(state: Any) -> bool:
    """Treats a broker in its own way."""
    return not state.replicas[0].log


def tells_brokers_apart() -> System:
    """The reference model with a property that treats a broker in its own way."""
    return attrs.evolve(reference("kip-279"), invariants=tuple(the_first_broker_has_no_record.instances(None)))


def raises() -> System:
    """A model that raises in its fourth state."""
    return System(domain_of(Raising, None), (Raising(0),), tuple(divide.instances(None)))


def last_corner() -> System:
    """The last steps of the walk, for tests to which each level costs seconds."""
    return attrs.evolve(grid(), initial=(Grid(3, 3), Grid(3, 4)))


def gated(folder: str, gates_at: int) -> System:
    """The last steps, which wait on executors at a column, in the middle of a level, while the folder holds a file
    `closed`.
    """
    Program.learn = functools.partialmethod(_wait_and_learn, Path(folder), gates_at)  # type: ignore[assignment]
    return last_corner()


LEARN = Program.learn


def _wait_and_learn(program: Program, folder: Path, gates_at: int, number: int, words: Any) -> None:
    """The gate is no part of the model, as the functions of one that asks for files are not sent to executors."""
    if (folder / "closed").exists() and getattr(program.layout.unpack(words), "x", None) == gates_at:
        (folder / f"reached-{os.getpid()}").touch()
        while (folder / "closed").exists():
            time.sleep(0.05)
    LEARN(program, number, words)


def fold_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Owners fold all rows of more than a word, however little that saves, into such that begin with two bytes each."""
    monkeypatch.setattr(visited, "FOLD_FROM", 0)
    for name, value in (("MOST_OF_FLAT", 1e9), ("FEWEST_BYTES", 2), ("FIRST_INDEX", 16), ("FOLDED_AT_ONCE", 8)):
        monkeypatch.setattr(folded, name, value)


def write_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass admits few rows, and an inbox has little room in memory."""
    monkeypatch.setattr(level, "LARGEST_BLOCK", 24)  # two records of the grid
    monkeypatch.setattr(level, "ROWS_OF_A_FILE", 1)
    monkeypatch.setattr(inbox, "MOST_IN_MEMORY", 100)


def folding(make_task: Callable[..., Any], noted: Path) -> Callable[..., Any]:
    """Makes the same tasks, whose shards fold from the start. A file is there once one has."""

    def make_folding(*arguments: Any) -> Any:
        task = make_task(*arguments)

        def run(*given: Any) -> Iterator[Any]:
            fold = visited.Visited.fold

            def note(owner: visited.Visited) -> None:
                fold(owner)
                if owner.folded:
                    noted.touch()

            with pytest.MonkeyPatch.context() as patch:
                fold_from_the_start(patch)
                patch.setattr(visited.Visited, "fold", note)
                yield from task(*given)

        return run

    return make_folding


def in_small_files(make_task: Callable[..., Any]) -> Callable[..., Any]:
    """Makes the same tasks, which write small files."""

    def make_small(*arguments: Any) -> Any:
        task = make_task(*arguments)

        def run(*given: Any) -> Iterator[Any]:
            with pytest.MonkeyPatch.context() as patch:
                write_small_files(patch)
                yield from task(*given)

        return run

    return make_small


def short_of_memory(*_: Any) -> Any:
    """A task of a process that gets no more memory."""
    raise MemoryError


def killed(*_: Any) -> None:
    """A task of a process that the system kills, as it does where memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying(make_task: Callable[..., Any], died: Path, once: str = "") -> Callable[..., Any]:
    """Makes the same tasks; the first process that has yielded something is killed, as by a system that is short of
    memory. A file is there then.

    Args:
        once: what the text of it must hold.
    """

    def make_dying(*arguments: Any) -> Any:
        task = make_task(*arguments)

        def run(*given: Any) -> Iterator[Any]:
            for each in task(*given):
                yield each
                if once in str(each) and not died.exists():
                    died.touch()
                    os.kill(os.getpid(), signal.SIGKILL)

        return run

    return make_dying


@attrs.frozen
class Spot:
    """A place, a count that a bound limits, and a switch."""

    place: int = within(Integers(0, 7))
    count: int = within(Integers(0, Limit(3, "count")))
    on: bool = within(bool)


def random_system(seed: int) -> System:
    """Actions that go anywhere, with an invariant and prospects along some of them."""
    chance = random.Random(seed)

    def moving(number: int) -> Any:
        leads_to = tuple(chance.choice((None, None, *range(8))) for _ in range(8))
        up, switches, needs = chance.random() < 0.3, chance.random() < 0.3, chance.choice((None, False, True))

        def move(spot: Spot) -> Spot | None:
            to = leads_to[spot.place]
            if to is None or (needs is not None and spot.on != needs):
                return None
            return evolve(spot, place=to, count=spot.count + up, on=spot.on != switches)

        move.__name__ = f"move_{number}"
        return action(actor="chance")(move)

    moves = [moving(number) for number in range(4)]
    bad, goals, along = chance.randrange(8), chance.sample(range(8), 2), [chance.sample(moves, 3) for _ in range(2)]

    @invariant()
    def the_bad_place_is_not_reached_late(spot: Spot) -> bool:
        return spot.place != bad or spot.count < 2

    @prospect(along=along[0])
    def the_goal_can_be_reached(spot: Spot) -> bool:
        return spot.place == goals[0]

    @prospect(along=along[1])
    def the_other_goal_can_be_reached(spot: Spot) -> bool:
        return spot.place == goals[1] and spot.on

    return System(
        domain_of(Spot, None),
        (Spot(0, 0, False),),
        tuple(i for each in moves for i in each.instances(None)),
        tuple(the_bad_place_is_not_reached_late.instances(None)),
        prospects=tuple(
            i for each in (the_goal_can_be_reached, the_other_goal_can_be_reached) for i in each.instances(None)
        ),
    )
