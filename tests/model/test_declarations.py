"""Parameters of actions and properties, and the instances that follow from them."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from highwater.model.language.declarations import action
from highwater.model.language.domain import Integers
from highwater.model.language.graph_properties import eventually, prospect


@attrs.frozen
class Sizes:
    """Bounds of these tests."""

    partitions: int


def some_partition(bounds: Any) -> Integers:
    return Integers(0, bounds.partitions - 1, label="p")


@action(actor="controller", broker=lambda bounds: Integers(0, 1, label="b"), partition=some_partition)
def elect(state: Any, broker: int, partition: int = 0) -> Any:
    return state, broker, partition


@action(actor="controller", partition=some_partition)
def delete(state: Any, partition: int) -> Any:
    return state, partition


def test_a_parameter_that_can_be_its_default_alone_is_left_out() -> None:
    assert [str(each) for each in elect.instances(Sizes(1))] == ["elect(broker b0)", "elect(broker b1)"]
    assert [each.apply("now") for each in elect.instances(Sizes(1))] == [("now", 0, 0), ("now", 1, 0)]


def test_a_parameter_appears_once_it_has_a_choice() -> None:
    assert [each.arguments["partition"] for each in elect.instances(Sizes(2))] == [0, 1, 0, 1]
    assert str(elect.instances(Sizes(2))[1]) == "elect(broker b0, partition p1)"


def test_a_parameter_without_a_default_is_always_there() -> None:
    assert [str(each) for each in delete.instances(Sizes(1))] == ["delete(partition p0)"]


@pytest.mark.parametrize("key", ["fair", "strongly_fair"])
def test_fairness_to_something_other_than_actions_is_refused(key: str) -> None:
    @action(actor="clock")
    def tick(state: Any) -> Any:
        return state

    def tock(state: Any) -> Any:
        return state

    with pytest.raises(TypeError, match=rf"{key} takes a list of actions; write {key}=\[tick\]"):
        eventually(**{key: tick})
    with pytest.raises(TypeError, match=rf"{key}: tock is no action; write @action\(actor=\.\.\.\) above it"):
        eventually(**{key: [tick, tock]})
    with pytest.raises(TypeError, match=r"along takes a list of actions; write along=\[tick\]"):
        prospect(along=tick)
