"""The compiled engine counts the differences of two systems as a comparison of their graphs in plain Python does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater import api
from highwater.explorer.analysis.graph import reachable_graph
from highwater.explorer.compiler.programs import Program
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.levels.difference import Difference, difference
from highwater.explorer.system import System
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import Integers
from highwater.model.language.records import evolve, within

BOUNDS = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}


def system(variant: str) -> System:
    claim = api.claim(model="reference", protocol={"variant": variant}, bounds=BOUNDS, check=["weak_isr"])
    return claim.system()


def compared(before: System, after: System) -> Difference:
    engines = [breadth_first.reach(each, workers=1, symmetry=False)[0] for each in (before, after)]
    return difference(*engines)


def test_a_comparison_is_the_same_where_paths_of_actions_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before, after = system("kip-101"), system("kip-279")
    learned: list[Program] = []
    learn = Program._new_path
    monkeypatch.setattr(Program, "_new_path", lambda self, *given: (learned.append(self), learn(self, *given))[1])
    for again in (False, True):
        learned.clear()
        engines = [breadth_first.reach(each, workers=1, symmetry=False, keep_trees=True)[0] for each in (before, after)]
        assert bool({engine.actions for engine in engines} & {*learned}) is not again
        assert {engine.invariants for engine in engines} <= {*learned}
        assert difference(*engines) == compared(before, after)


def steps_of(system: System) -> tuple[set[Any], dict[Any, Any]]:
    """By plain Python: the states, and for each state and action where it leads, if that changes anything."""
    graph = reachable_graph(system, 100_000)
    states = {node: data["state"] for node, data in graph.nodes(data=True)}
    edges = graph.edges(data="action")
    steps = {(states[a], action): states[b] for a, b, action in edges if a != b}
    return set(states.values()), steps


def by_name(steps: Any) -> dict[str, int]:
    return dict(Counter(action.partition("(")[0] for _, action in steps))


@pytest.mark.parametrize(("old", "new"), [("kip-101", "kip-279"), ("kip-320", "kip-101"), ("kip-101", "kip-101")])
def test_states_and_steps_are_those_of_the_graphs(old: str, new: str) -> None:
    before, after = system(old), system(new)
    found = compared(before, after)
    (states, steps), (new_states, new_steps) = steps_of(before), steps_of(after)
    assert found.states == (len(states), len(new_states))
    assert (found.lost_states, found.gained_states) == (len(states - new_states), len(new_states - states))
    assert found.refused == by_name(s for s in steps if s[0] in new_states and s not in new_steps)
    assert found.changed == by_name(s for s in steps if s in new_steps and new_steps[s] != steps[s])
    assert found.unreached == by_name(s for s in steps if s[0] not in new_states)
    assert found.gained == by_name(s for s in new_steps if steps.get(s) != new_steps[s])
    assert {name: counts for name, counts in found.steps.items() if any(counts)} == {
        name: (by_name(steps).get(name, 0), by_name(new_steps).get(name, 0))
        for name in by_name(steps) | by_name(new_steps)
    }
    assert bool(found.lost) is (old != new)


@attrs.frozen
class Lamp:
    """A counter, and a light that a step may switch on."""

    value: int = within(Integers(0, 3))
    lit: int = within(Integers(0, 1))


@action(actor="hand")
def count(lamp: Lamp) -> Lamp | None:
    return evolve(lamp, value=lamp.value + 1) if lamp.value < 3 else None


@action(actor="hand")
def leap(lamp: Lamp) -> Lamp | None:
    return evolve(lamp, value=3) if lamp.value == 0 else None


@action(actor="hand")
def light(lamp: Lamp) -> Lamp | None:
    return evolve(lamp, lit=1) if lamp.value > 1 else None


@action(actor="hand")
def light_never(lamp: Lamp) -> Lamp | None:
    return evolve(lamp, lit=1) if lamp.value > 3 else None


@invariant()
def small_where_lit(lamp: Lamp) -> bool:
    if lamp.lit:
        return lamp.value < 9
    return True


def lamp(*actions: Any, build: Any) -> System:
    return build([Lamp(0, 0)], actions, [small_where_lit])


def test_an_action_that_never_happens_after_the_change_is_named(system_of: Any) -> None:
    before, after = (lamp(count, each, build=system_of) for each in (light, light_never))
    found = compared(before, after)
    assert found.never == ("light",)  # light_never is there in its place, and never happens either
    assert found.constant == ("lit",)
    assert [each.text for each in found.unlooked] == ["return lamp.value < 9"]
    alone = compared(before, lamp(count, build=system_of))
    assert alone.never == ("light",)


def test_an_action_in_both_that_is_never_enabled_is_named(system_of: Any) -> None:
    before = lamp(count, leap, light, build=system_of)
    stuck = System(**{**attrs.asdict(before, recurse=False), "initial": (Lamp(3, 0),)})
    assert compared(before, stuck).never == ("count", "leap")
    assert compared(before, before).never == ()
