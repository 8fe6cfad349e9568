"""Implementations in lock-step with their models: right ones pass, and defects planted in others are found."""

from __future__ import annotations

import asyncio
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import Result
from hypothesis import Phase, settings
from hypothesis.stateful import RuleStrategy

import highwater
from highwater import (
    ArrayOf,
    Definition,
    Integers,
    Maybe,
    Model,
    NoToggles,
    OneOf,
    action,
    bound,
    evolve,
    replaced,
    testing,
    within,
)
from highwater.claims import own
from highwater.claims.possible import Tracker
from highwater.cli.init import write_scaffold
from highwater.explorer.analysis.paths import Paths
from highwater.explorer.system import successor
from highwater.implementation.coverage import MACHINES
from highwater.implementation.machines import LockStep
from highwater.implementation.plans import Plan
from highwater.implementation.walks import Walk

Run = Callable[..., Result]


@attrs.frozen
class Bounds:
    clients: int = bound(1, 3, "clients")
    turns: int = bound(1, 3, "how many are served")


def clients(bounds: Any) -> Integers:
    return Integers(0, bounds.clients - 1, label="c", names="clients")


@attrs.frozen
class Desk:
    waiting: tuple[bool, ...] = within(lambda bounds: ArrayOf(bool, bounds.clients, label="c", by="clients"))
    served: int | None = within(lambda bounds: Maybe(clients(bounds)))
    turns: int = within(lambda bounds: Integers(0, bounds.turns))


@action(actor="client", client=clients)
def ask(desk: Desk, client: int) -> Desk | None:
    return None if desk.waiting[client] else evolve(desk, waiting=replaced(desk.waiting, client, True))


@action(actor="client", client=clients)
def give_up(desk: Desk, client: int) -> Desk | None:
    return evolve(desk, waiting=replaced(desk.waiting, client, False)) if desk.waiting[client] else None


@action(actor="desk", client=clients)
def serve(desk: Desk, client: int) -> Desk | None:
    """Whoever it likes."""
    if not desk.waiting[client]:
        return None
    return evolve(desk, waiting=replaced(desk.waiting, client, False), served=client, turns=desk.turns + 1)


def nobody(bounds: Any) -> list[Desk]:
    return [Desk((False,) * bounds.clients, None, 0), Desk((True,) + (False,) * (bounds.clients - 1), None, 0)]


DESK = Model("desk", "", NoToggles, lambda protocol: Definition(Bounds, Desk, nobody, (ask, give_up, serve)))
SPEC = highwater.claim(name="desk", model=DESK, bounds={"clients": 3, "turns": 3}, check=["no_deadlock"])


class Queue:
    """Serves who has asked first. Its `served` cannot be seen, and how many are waiting only as a number."""

    left_out = ("give_up",)

    def start(self, state: Desk) -> None:
        self.line = [client for client, waits in enumerate(state.waiting) if waits]
        self.turns = 0

    def ask(self, client: int) -> None:
        self.line.append(client)

    def serve(self) -> None:
        self.line.pop(0)
        self.turns += 1

    def observe(self) -> dict[str, Any]:
        return {"turns": self.turns, "sum(waiting)": len(self.line)}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("highwater.implementation.coverage.MACHINES", MACHINES)
    before = list(MACHINES)
    yield
    MACHINES[:] = before


def walked(spec: Any, adapter: type, examples: int = 20, steps: int = 20, *, shrunk: bool = False) -> Any:
    """Walk through an implementation, always alike; gives the machine."""
    machine: Any = testing.machine(spec, adapter)
    case = machine.TestCase
    given = {"max_examples": examples, "stateful_step_count": steps, "database": None, "derandomize": True}
    if not shrunk:
        given["phases"] = [Phase.generate]
    case.settings = settings(case.settings, **given)
    case("runTest").runTest()
    return machine


def ran(spec: Any, adapter: type) -> dict[str, str]:
    """What came of the test of every path: empty, or the first line of what differs."""
    found = {}
    for each in testing.paths(spec, adapter).args[1]:
        try:
            each.values[0].run()
            found[each.values[0].name] = ""
        except testing.Mismatch as error:
            found[each.values[0].name] = str(error).splitlines()[0]
        except pytest.skip.Exception as error:
            found[each.values[0].name] = f"skipped: {error}"
    return found


# --- the lock service that `highwater init` writes


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What its test file defines."""
    write_scaffold(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("locks", "lock_service"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return runpy.run_path(str(tmp_path / "test_locks.py"))


def broken_locks(locks: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the lock back without a look at the token."""

    async def release(self: Any, client: int, token: int) -> None:
        self._client = None

    monkeypatch.setattr(locks["LockService"], "release", release)


def test_the_right_lock_service_passes_and_every_path_is_run(locks: dict[str, Any]) -> None:
    assert set(ran(locks["SPEC"], locks["Locks"]).values()) == {""}
    machine = walked(locks["SPEC"], locks["Locks"], examples=60, steps=40)
    assert machine.paths.missed == []
    assert machine.paths.lines()[0].startswith("LocksMachine: 21 of 21 paths of locks run by ")


def test_a_lock_that_anybody_can_give_back_is_found_by_the_paths_where_another_has_it(
    locks: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_locks(locks, monkeypatch)
    found = ran(locks["SPEC"], locks["Locks"])
    assert {name for name, says in found.items() if says} == {
        "release c0 after acquire c0, expire, acquire c1",
        "release c0 after acquire c1, expire, acquire c0, expire, acquire c1",
    }


@pytest.mark.slow
def test_a_lock_that_anybody_can_give_back_is_found_by_a_walk_and_shrunk(
    highwater: Run, locks: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken_locks(locks, monkeypatch)
    with pytest.raises(testing.Mismatch) as found:
        walked(locks["SPEC"], locks["Locks"], steps=12, shrunk=True)
    lines = str(found.value).splitlines()
    assert lines[0].startswith("step 4, release(client c")
    assert lines[1].startswith("    holder is none, and c")
    assert len(found.value.trace) == 5
    assert lines[-1] == "as a page: highwater-failures/LocksMachine.html"
    notes = [line for line in found.value.__notes__ if line.startswith("state.")]
    assert [note.split("(")[0] for note in notes] == [
        *("state.begin", "state.acquire", "state.expire", "state.acquire", "state.release", "state.teardown")
    ]
    page = tmp_path / "highwater-failures" / "LocksMachine.html"
    assert ">highwater explore LocksMachine.html --model-path .<" in page.read_text()
    monkeypatch.setattr(own, "_GIVEN", {})  # as another process has it
    assert "which the implementation differs" in page.read_text()
    assert highwater("trace", page, "--model-path", tmp_path, "--replay").exit_code == 0


def test_a_storage_that_takes_stale_tokens_is_found_where_the_model_refuses_the_write(
    locks: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(self: Any, token: int) -> None:
        self.newest, self.last = max(self.newest, token), token

    monkeypatch.setattr(locks["Storage"], "write", write)
    with pytest.raises(testing.Mismatch, match="the implementation takes a step that the model refuses") as found:
        walked(locks["SPEC"], locks["Locks"], examples=40, steps=30)
    last = found.value.trace[-1].state
    assert 0 < min(last.believed) < last.newest
    unaware = type("Unaware", (locks["Locks"],), {"refuses": ()})
    walked(locks["SPEC"], unaware)
    assert set(ran(locks["SPEC"], locks["Locks"]).values()) == {""}


def test_a_refusal_that_the_model_does_not_know_is_found(
    locks: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(self: Any, token: int) -> None:
        raise locks["Stale"]

    monkeypatch.setattr(locks["Storage"], "write", write)
    with pytest.raises(testing.Mismatch, match=r"step \d+, write.*refuses a step that the model takes"):
        walked(locks["SPEC"], locks["Locks"])


# --- what the implementation chooses, does by itself, or does not show


def test_hidden_choices_of_the_implementation_are_followed() -> None:
    machine = walked(SPEC, Queue)
    assert machine.paths.steps > 100
    found = ran(SPEC, Queue)
    assert "" in found.values()
    assert {*found.values()} == {
        "",
        "skipped: the implementation does not show which path it takes in step 3",
        "skipped: the implementation does not show which path it takes in step 5",
    }


def test_a_choice_that_the_model_does_not_allow_is_found() -> None:
    class Jumping(Queue):
        def serve(self) -> None:
            self.turns += 1  # and whoever was served goes on waiting

    with pytest.raises(testing.Mismatch) as found:
        walked(SPEC, Jumping)
    assert "sum(waiting) is " in str(found.value)


def test_an_observed_field_narrows_the_possible_states() -> None:
    class Honest(Queue):
        served = None

        def serve(self) -> None:
            self.served = self.line[0]
            super().serve()

        def observe(self) -> dict[str, Any]:
            return {**super().observe(), "served": self.served}

    class Lying(Honest):
        def observe(self) -> dict[str, Any]:
            return {**super().observe(), "served": 2 if self.served is not None else None}

    walked(SPEC, Honest)
    with pytest.raises(testing.Mismatch, match="served is c2"):
        walked(SPEC, Lying)


def test_an_action_that_happens_by_itself_is_assumed_and_no_other() -> None:
    class Impatient(Queue):
        by_itself, left_out = ("give_up",), ()

        def ask(self, client: int) -> None:
            super().ask(client)
            if self.turns:
                self.line.pop()

    walked(SPEC, Impatient)

    class Patient(Impatient):
        by_itself, left_out = (), ("give_up",)

    with pytest.raises(testing.Mismatch, match=r"sum\(waiting\) is "):
        walked(SPEC, Patient)


def test_a_refused_call_rules_out_the_states_where_the_model_takes_it() -> None:
    """One of two was served, and who was not waits already."""

    class Strict(Queue):
        refuses = ("ask",)

        def ask(self, client: int) -> None:
            if client in self.line:
                raise testing.NotEnabled
            super().ask(client)

    plan = Plan(SPEC, Strict, 10_000)
    calls = {str(each): each for each in plan.interface.choices["ask"] + plan.interface.choices["serve"]}
    walk = Walk(plan)
    walk.begin(plan.system.initial[0])
    for call in ("ask(client c0)", "ask(client c1)", "serve()"):
        walk.take(calls[call])
    assert {state.served for state in walk.possible} == {0, 1}
    walk.take(calls["ask(client c1)"])
    assert {state.served for state in walk.possible} == {0}


def test_a_value_that_a_part_cannot_have_is_a_mismatch_and_no_mistake_of_the_adapter() -> None:
    class Odd(Queue):
        def observe(self) -> dict[str, Any]:
            return {"turns": "many" if self.turns else 0}

    with pytest.raises(testing.Mismatch, match=r"turns is 'many', and \d in the model"):
        walked(SPEC, Odd)


def test_an_error_of_the_implementation_passes_with_the_step_and_those_before_it() -> None:
    class Raising(Queue):
        closed = 0

        def serve(self) -> None:
            raise OSError("the disk is full")

        async def close(self) -> None:
            await asyncio.sleep(0)
            type(self).closed += 1

    with pytest.raises(OSError, match="the disk is full") as found:
        walked(SPEC, Raising)
    assert any(re.match(r"in step \d+, serve\(\), after\n", note) for note in found.value.__notes__)
    assert Raising.closed > 0


# --- paths


def nearest(paths: Paths) -> dict[int, int]:
    """By path, how many steps the shortest run takes that ends by it, found by trying all."""
    system, layout = paths.system, paths.engine.layout
    depth = dict.fromkeys(system.initial, 0)
    found: dict[int, int] = {}
    queue = list(depth)
    for state in queue:
        for number, each in enumerate(system.actions):
            after = successor(each, state, system.domain)
            if not isinstance(after, system.domain.cls):
                continue
            found.setdefault(paths.path_of_all(number, tuple(layout.pack(state))), depth[state] + 1)
            if after not in depth:
                depth[after] = depth[state] + 1
                queue.append(after)
    return found


@pytest.mark.parametrize("which", ["desk", "locks"])
def test_every_path_has_a_test_and_no_run_to_it_is_shorter(which: str, locks: dict[str, Any]) -> None:
    spec = SPEC if which == "desk" else locks["SPEC"]
    plan = Plan(spec, None, 10_000)
    assert {goal.path: len(goal.trace) - 1 for goal in plan.goals} == nearest(plan.paths)
    for goal in plan.goals:
        assert goal.trace[0].state in plan.system.initial
        for before, step in zip(goal.trace, goal.trace[1:], strict=False):
            assert successor(step.taken, before.state, plan.system.domain) == step.state
    assert len({goal.name for goal in plan.goals}) == len(plan.goals)


def test_paths_from_several_initial_states_have_names_of_their_own() -> None:
    @action(actor="meter")
    def read(meter: Meter) -> Meter:
        return evolve(meter, last="small" if meter.total else "large")

    def either(bounds: Any) -> list[Meter]:
        return [Meter(0, "nothing"), Meter(1, "nothing")]

    model = Model("meter", "", NoToggles, lambda protocol: Definition(Bounds, Meter, either, (read,)))
    spec = highwater.claim(name="meter", model=model, bounds={"clients": 1, "turns": 1}, check=["no_deadlock"])
    assert [goal.name for goal in Plan(spec, None, 10_000).goals] == ["read", "read, 2"]


def test_paths_that_were_not_looked_for_are_a_test_that_is_skipped() -> None:
    *_, last = testing.paths(SPEC, Queue, max_states=3).args[1]
    assert last.id == "paths-that-are-not-known"
    (mark,) = last.marks
    assert mark.name == "skip"
    assert mark.kwargs["reason"] == "not all paths are known: max-states; raise max_states, or lower the bounds"
    assert "paths-that-are-not-known" not in [each.id for each in testing.paths(SPEC, Queue).args[1]]


def test_two_tests_with_paths_of_the_same_name_have_a_page_each(tmp_path: Path) -> None:
    for likes in (5, 6):
        (found, *_) = ran(metering(1, add), type("Wrong", (Adder,), {"likes": likes}))
        assert found == "add False"
    pages = sorted((tmp_path / "highwater-failures").iterdir())
    assert [page.name for page in pages] == ["add-False-2.html", "add-False.html"]
    assert ['"seen": "6"' in pages[0].read_text(), '"seen": "5"' in pages[1].read_text()] == [True, True]


def test_a_path_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    shortest = Paths.shortest
    monkeypatch.setattr(Paths, "shortest", lambda self: dict(list(shortest(self).items())[:-1]))
    plan = Plan(SPEC, None, 10_000)
    assert {goal.path: len(goal.trace) - 1 for goal in plan.goals} != nearest(plan.paths)
    depths = nearest(plan.paths)
    assert len(depths) == len(plan.goals) + 1
    assert len(set(depths.values())) > 1


@attrs.frozen
class Lease:
    expired: bool = within(bool)
    last: str = within(OneOf(("nothing", "in time", "late")))


@action(actor="timer")
def expire(lease: Lease) -> Lease | None:
    return None if lease.expired else evolve(lease, expired=True)


@action(actor="client")
def write(lease: Lease) -> Lease | None:
    if lease.last != "nothing":
        return None
    return evolve(lease, last="late") if lease.expired else evolve(lease, last="in time")


def fresh(bounds: Any) -> list[Lease]:
    return [Lease(False, "nothing")]


LEASE = Model("lease", "", NoToggles, lambda protocol: Definition(Bounds, Lease, fresh, (expire, write)))


class Writer:
    """A lease that runs out unseen."""

    by_itself = ("expire",)
    last = "nothing"

    def write(self) -> None:
        self.last = "in time"

    def observe(self) -> dict[str, Any]:
        return {"last": self.last}


class Late(Writer):
    """One that has run out."""

    def observe(self) -> dict[str, Any]:
        return {"last": self.last, "expired": True}


class Careful(Late):
    def write(self) -> None:
        self.last = "late"


def test_a_path_behind_what_happens_by_itself_is_known_and_is_run_where_that_has_happened() -> None:
    spec = highwater.claim(name="lease", model=LEASE, bounds={"clients": 1, "turns": 1}, check=["no_deadlock"])
    late = "write after expire"
    unseen = "skipped: expire happens by itself, which the implementation does not show"
    assert ran(spec, Writer) == {"write": "", late: unseen}
    machine = walked(spec, Writer)
    assert machine.paths.missed == [f"{late} (expire happens by itself)"]
    assert "1 of 2 paths of lease run" in machine.paths.lines()[0]
    otherwise = "skipped: the implementation chose otherwise in step 0, as the model allows"
    assert ran(spec, Careful) == {"write": otherwise, late: ""}
    assert walked(spec, Careful).paths.missed == ["write"]
    assert "the implementation is not where the model may be" in ran(spec, Late)[late]


# --- what the implementation chooses in the last step, and beyond the bounds


@attrs.frozen
class Meter:
    total: int = within(lambda bounds: Integers(0, bounds.turns))
    last: str = within(OneOf(("nothing", "small", "large")))


@action(actor="meter", large=lambda bounds: bool)
def add(meter: Meter, large: bool) -> Meter | None:
    if large:
        return evolve(meter, total=meter.total + 2, last="large")
    return evolve(meter, total=meter.total + 1, last="small")


@action(actor="timer")
def tick(meter: Meter) -> Meter | None:
    return evolve(meter, total=meter.total + 1)


def at_zero(bounds: Any) -> list[Meter]:
    return [Meter(0, "nothing")]


def metering(turns: int, *actions: Any) -> Any:
    """A claim over a meter with these actions."""
    model = Model("meter", "", NoToggles, lambda protocol: Definition(Bounds, Meter, at_zero, actions))
    return highwater.claim(name="meter", model=model, bounds={"clients": 1, "turns": turns}, check=["no_deadlock"])


class Adder:
    """Adds what it likes, and shows the total."""

    total = 0
    likes = 1

    def add(self) -> None:
        self.total += self.likes

    def observe(self) -> dict[str, Any]:
        return {"total": self.total}


def test_a_path_is_run_only_if_its_last_step_was_taken() -> None:
    spec, greedy = metering(2, add), type("Greedy", (Adder,), {"likes": 2})
    otherwise = "skipped: the implementation chose otherwise in step 1, as the model allows"
    assert ran(spec, Adder) == {"add False": "", "add True": otherwise, "add False after add False": ""}
    assert ran(spec, greedy) == {"add False": otherwise, "add True": "", "add False after add False": otherwise}
    silent = type("Silent", (Adder,), {"observe": lambda self: {}})
    unseen = "skipped: the implementation does not show which path it takes in step {}"
    assert ran(spec, silent) == {
        "add False": unseen.format(1),
        "add True": unseen.format(1),
        "add False after add False": unseen.format(2),  # the other one is beyond the bound
    }
    assert {"add False", "add True"} <= {*walked(spec, silent).paths.missed}


def test_a_path_whose_last_step_is_refused_was_not_run() -> None:
    """The model may refuse the call, as it may be another step."""

    @action(actor="meter", large=lambda bounds: bool)
    def add(meter: Meter, large: bool) -> Meter | None:
        return None if large else evolve(meter, total=meter.total + 1)

    class Refusing(Adder):
        def add(self) -> None:
            raise testing.NotEnabled

    otherwise = "skipped: the implementation chose otherwise in step 1, as the model allows"
    assert ran(metering(1, add), Refusing) == {"add False": otherwise}


def test_a_right_implementation_beyond_a_bound_is_not_called_wrong() -> None:
    """One that takes a larger step than the bound allows, and one that goes on by itself."""
    greedy = type("Greedy", (Adder,), {"likes": 2})
    beyond = "skipped: the implementation goes beyond the bound turns in step 1; raise it in the claim"
    assert ran(metering(1, add), greedy) == {"add False": beyond}

    class Ticking(Adder):
        by_itself = ("tick",)

        def add(self) -> None:
            self.total += 5

    found = ran(metering(2, add, tick), Ticking)
    assert {found["add False"], found["add True"]} == {beyond}
    late = type("Late", (Ticking,), {"total": 5})
    lines = walked(metering(2, add, tick), late).paths.lines()
    assert "; some ended beyond turns" in lines[0]


def test_what_may_have_gone_beyond_a_bound_unseen_is_not_called_wrong_later() -> None:
    @action(actor="reader")
    def read(meter: Meter) -> Meter | None:
        return None if meter.last == "nothing" else evolve(meter, last="nothing")

    class Late(Adder):
        """Shows nothing before it is read."""

        likes, seen = 2, False

        def read(self) -> None:
            self.seen = True

        def observe(self) -> dict[str, Any]:
            return super().observe() if self.seen else {}

    beyond = "skipped: the implementation goes beyond the bound turns in step 2; raise it in the claim"
    assert ran(metering(1, add, read), Late)["read after add False"] == beyond


def test_a_wrong_implementation_beyond_a_bound_is_called_wrong() -> None:
    wrong = type("Wrong", (Adder,), {"likes": 3})
    says = "step 1, add(): the implementation is not where the model may be"
    assert ran(metering(1, add), wrong) == {"add False": says}
    backwards = type("Backwards", (Adder,), {"likes": -1, "by_itself": ("tick",)})
    assert {says} == {*ran(metering(2, add, tick), backwards).values()}


def test_a_path_of_an_action_that_another_adapter_leaves_out_is_skipped() -> None:
    [path] = [each.values[0] for each in testing.paths(SPEC).args[1] if each.values[0].name == "give_up c0"]
    with pytest.raises(pytest.skip.Exception, match="the implementation never does give_up, which is in left_out"):
        path.run(Queue)


def test_too_many_states_where_the_model_may_be_are_a_mistake_of_observe(monkeypatch: pytest.MonkeyPatch) -> None:
    init = Tracker.__init__
    monkeypatch.setattr(Tracker, "__init__", lambda self, system, hidden: init(self, system, hidden, 3))
    with pytest.raises(
        testing.AdapterError, match=r"Queue\.observe: more than 3 states are possible; let it show more"
    ):
        walked(SPEC, Queue)


def test_walks_take_paths_that_were_not_run_yet_sooner_than_chance_does(
    locks: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = walked(locks["SPEC"], locks["Locks"], examples=10, steps=30).paths.missed
    monkeypatch.setattr(Plan, "goals", ())
    aimless = walked(locks["SPEC"], locks["Locks"], examples=10, steps=30)
    monkeypatch.undo()
    assert len(ours) < len(aimless.paths.missed)


def test_a_hypothesis_that_draws_rules_its_own_way_finds_failures_too(
    locks: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    init = LockStep.__init__

    def as_hypothesis_does(self: Any) -> None:
        init(self)
        self._rules_strategy = RuleStrategy(self)

    monkeypatch.setattr(LockStep, "__init__", as_hypothesis_does)
    walked(locks["SPEC"], locks["Locks"], examples=10)
    broken_locks(locks, monkeypatch)
    with pytest.raises(testing.Mismatch, match="release"):
        walked(locks["SPEC"], locks["Locks"], examples=100)


def test_a_walk_is_the_same_whenever_hypothesis_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    take = Walk.take
    monkeypatch.setattr(Walk, "take", lambda self, choice: (calls.append(str(choice)), take(self, choice))[1])
    runs = []
    for _ in range(2):
        calls.clear()
        walked(SPEC, Queue, examples=5)
        runs.append(list(calls))
    assert runs[0] == runs[1]
    assert len(runs[0]) > 50


def test_the_page_shows_the_adapter_and_the_tests_that_init_writes(root: Path) -> None:
    page = (root / "docs" / "implementation.md").read_text(encoding="utf-8")
    written = (root / "src" / "highwater" / "scaffold" / "test_locks.py").read_text(encoding="utf-8")
    shown = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(shown) == 3
    assert all(block in written for block in shown)


# --- mistakes


def adapter(**members: Any) -> type:
    """The queue with other members; those that are None are left out."""
    without = {name: each for name, each in vars(Queue).items() if not name.startswith("__")}
    return type("Mine", (), {name: each for name, each in (without | members).items() if each is not None})


def iterating(self: Any, client: int) -> Iterator[None]:
    self.line.append(client)
    yield


class Later:
    """Something to await that is no coroutine, as a library may give it."""

    def __init__(self, line: list[int], client: int) -> None:
        self._line, self._client = line, client

    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        self._line.append(self._client)


def test_methods_may_be_awaited_and_need_not_take_the_adapter() -> None:
    line: list[int] = []

    def begin(state: Desk) -> None:
        line[:] = [client for client, waits in enumerate(state.waiting) if waits]

    members = {
        "turns": 0,
        "start": staticmethod(begin),
        "ask": staticmethod(lambda client: Later(line, client)),
        "serve": None,
        "left_out": ("give_up", "serve"),
        "observe": lambda self: {"sum(waiting)": len(line)},
    }
    assert set(ran(SPEC, adapter(**members)).values()) == {""}


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"serve": None}, "Mine lacks methods for serve; write one for each, or list it in by_itself"),
        ({"observe": None}, "Mine lacks the method observe()"),
        ({"ask": lambda self, klient: None}, "Mine.ask takes klient, which is no parameter of the action"),
        ({"left_out": ("giveup",)}, 'Mine.left_out: giveup is no action (did you mean "give_up"?); allowed are ask,'),
        ({"left_out": "give_up"}, "Mine.left_out is a text; write ('give_up',)"),
        ({"left_out": ("give_up", "ask")}, "Mine has the method ask, which is in left_out; drop one of the two"),
        ({"refuses": ("x",)}, "Mine.refuses: x is no action"),
        ({"by_itself": None, "refuses": 3}, "Mine.refuses is a int; write a tuple of names of actions"),
        ({"ask": iterating}, "Mine.ask has a yield, so that a call runs nothing of it; leave it out"),
        ({"observe": lambda self: {"trns": 0}}, 'Mine.observe: no field "trns" (did you mean "turns"?); fields are'),
        ({"observe": lambda self: [0]}, "Mine.observe gives a list; give a dict such as {'FIELD': 1}"),
    ],
)
def test_an_adapter_that_does_not_fit_is_refused_with_the_reason(members: dict[str, Any], problem: str) -> None:
    with pytest.raises(testing.AdapterError) as found:
        walked(SPEC, adapter(**members))
    assert problem in str(found.value)
    assert "\n" not in str(found.value)


def test_an_action_with_the_name_of_a_method_of_every_adapter_is_refused() -> None:
    @action(actor="desk")
    def close(desk: Desk) -> Desk | None:
        return evolve(desk, served=None)

    closing = Model("closing", "", NoToggles, lambda protocol: Definition(Bounds, Desk, nobody, (ask, serve, close)))
    spec = highwater.claim(name="closing", model=closing, bounds={"clients": 2, "turns": 2}, check=["no_deadlock"])
    with pytest.raises(testing.AdapterError, match="the model has an action close, which is a method of every adapter"):
        testing.machine(spec, Queue)


def test_an_action_may_be_called_as_what_begins_again() -> None:
    @action(actor="meter")
    def begin_again(meter: Meter) -> Meter | None:
        return evolve(meter, total=meter.total + 1)

    class Counting(Adder):
        def begin_again(self) -> None:
            self.total += 1

    assert walked(metering(3, begin_again), Counting).paths.missed == []


def test_an_invalid_adapter_or_missing_spec_is_refused(tmp_path: Path) -> None:
    with pytest.raises(testing.AdapterError, match="the adapter is a Queue; give a class, of which each run makes one"):
        testing.machine(SPEC, Queue())  # type: ignore[arg-type]
    with pytest.raises(highwater.SpecError, match="o such file"):
        testing.paths(tmp_path / "missing.toml", Queue)
    path = testing.paths(SPEC).args[1][0].values[0]
    with pytest.raises(testing.AdapterError, match="give it an adapter"):
        path.run()
    path.run(Queue)


def test_missing_hypothesis_is_reported_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "highwater.implementation.machines", raising=False)
    with pytest.raises(ModuleNotFoundError) as found:
        testing.machine(SPEC, Queue)
    assert str(found.value).startswith(
        "highwater.testing.machine needs the library hypothesis; install it with: pip install 'kafka-highwater[testi"
    )
