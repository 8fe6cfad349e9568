"""Properties of one's own that treat a broker of a built-in model in its own way: refused, or judged as plain Python
does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from highwater.explorer.blame import ModelError
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.system import System, successor
from highwater.model.language.declarations import Invariant, invariant
from tests.small_models import tiny_system

Says = Callable[[Any], bool]


def log_end_offsets(state: Any) -> list[int]:
    return [replica.log_end_offset for replica in state.replicas]


def leaders(state: Any) -> list[int | None]:
    return [replica.leader for replica in state.replicas]


PROPERTIES: dict[str, Says] = {
    "one broker's log is empty": lambda state: log_end_offsets(state)[2] == 0,
    "one broker is never ahead of another": lambda state: (
        not (log_end_offsets(state)[2] == 1 and log_end_offsets(state)[0] == 0)
    ),
    "one broker is never behind another": lambda state: log_end_offsets(state)[0] >= log_end_offsets(state)[1],
    "one broker never leads": lambda state: leaders(state)[1] != 1,
    "nobody follows one broker": lambda state: 0 not in leaders(state),
    "the first leader that is known has the least name": lambda state: (
        next((leader for leader in leaders(state) if leader is not None), 0) == 0
    ),
    "one broker stays in the ISR": lambda state: 2 in state.quorum.isr,
    "the least member of the ISR leads": lambda state: state.quorum.leader in (None, min(state.quorum.isr)),
    "the greatest member of the ISR does not lead": lambda state: state.quorum.leader != max(state.quorum.isr),
    "the first member of the ISR has a record": lambda state: bool(
        not state.quorum.isr or state.replicas[sorted(state.quorum.isr)[0]].log_end_offset == 0
    ),
    "the ISR is not of the first two": lambda state: state.quorum.isr != frozenset({0, 1}),
    "names of the ISR add up": lambda state: sum(state.quorum.isr) != 1,
    "the leader's name is even": lambda state: state.quorum.leader is None or state.quorum.leader % 2 == 0,
    "the leader's name is at most one": lambda state: state.quorum.leader is None or state.quorum.leader <= 1,
    "the leader is no neighbour of its follower": lambda state: all(
        leader is None or leader != broker + 1 for broker, leader in enumerate(leaders(state))
    ),
    "one broker's high watermark is 0": lambda state: state.replicas[1].high_watermark == 0,
    "high watermarks never fall from broker to broker": lambda state: (
        [replica.high_watermark for replica in state.replicas]
        == sorted(replica.high_watermark for replica in state.replicas)
    ),
    "the first broker with a record is the first": lambda state: (
        1 not in log_end_offsets(state) or log_end_offsets(state).index(1) == 0
    ),
    "the last broker is not alone with a record": lambda state: log_end_offsets(state) != [0, 0, 1],
    "one broker's ISR holds itself": lambda state: leaders(state)[2] != 2 or 2 in state.replicas[2].isr,
    "the ISRs of two brokers are equal": lambda state: state.replicas[0].isr == state.replicas[1].isr,
    "one broker is as far in epochs as another": lambda state: (
        state.replicas[0].leader_epoch >= state.replicas[2].leader_epoch
    ),
    "no leader epoch without the first broker": lambda state: (
        state.replicas[0].leader_epoch >= 0 or state.replicas[1].leader_epoch < 0
    ),
    "some broker's log is empty": lambda state: 0 in log_end_offsets(state),
    "the leader is in the ISR": lambda state: state.quorum.leader is None or state.quorum.leader in state.quorum.isr,
}
SYMMETRIC = {"some broker's log is empty", "the leader is in the ISR"}


def with_property(says: Says) -> System:
    @invariant()
    def own(state: Any) -> bool:
        """A property of one's own."""
        return says(state)

    of: Invariant = own
    system = tiny_system("reference", "kip-279")
    return attrs.evolve(system, invariants=tuple(of.instances(None)), step_properties=(), prospects=())


@functools.cache
def levels() -> list[list[Any]]:
    """All states, by depth, in plain Python."""
    system = tiny_system("reference", "kip-279")
    found, seen = [list(system.initial)], set(system.initial)
    while found[-1]:
        after = (successor(action, state, system.domain) for state in found[-1] for action in system.actions)
        new = dict.fromkeys(state for state in after if isinstance(state, system.domain.cls) and state not in seen)
        seen |= new.keys()
        found.append(list(new))
    return found[:-1]


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_that_names_brokers_is_refused_or_judged_as_plain_python_does(name: str) -> None:
    says = PROPERTIES[name]
    first = next((depth for depth, level in enumerate(levels()) if not all(map(says, level))), None)
    try:
        found = breadth_first.explore(with_property(says))
    except ModelError as error:
        assert "own tells broker" in str(error)
        assert "which the model declares interchangeable" in str(error)
        assert name not in SYMMETRIC
        return
    assert [each.trace_length for each in found.violations] == [first] * (first is not None)
    assert found.distinct_states == sum(map(len, levels()[: None if first is None else first + 1]))
