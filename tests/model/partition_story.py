"""Short stories about the partition model: steps by name, and what is to be seen after them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import attrs

from highwater.model import partition
from highwater.model.language.declarations import Action
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.definition import initial_states
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Partition

MODULES = [import_module(f"highwater.model.partition.{each.name}") for each in iter_modules(partition.__path__)]
STEPS = {name: step for module in MODULES for name, step in vars(module).items() if isinstance(step, Action)}


def bounds_of(**given: int) -> PartitionBounds:
    """Bounds with room for any story; what is given is set on top."""
    return PartitionBounds(**{"brokers": 2, "log_length_max": 3, "records_max": 4, "leader_epoch_max": 4, **given})


def argument(word: str) -> int | None:
    """b1 is broker 1, e2 is epoch 2, none is nobody."""
    return None if word == "none" else int(word.lstrip("be"))


def state_after(story: str, protocol: PartitionProtocol, bounds: PartitionBounds) -> Partition:
    """The state after a story such as `produce b0, fetch b1, not receive_fetch b0`. What comes behind `not` must not be
    enabled.
    """
    (state,) = initial_states(bounds, protocol)
    for sentence in filter(None, (sentence.strip() for sentence in story.split(","))):
        refused, words = sentence.startswith("not "), sentence.removeprefix("not ").split()
        step = STEPS[words[0]]
        (instance,) = [
            each
            for each in step.instances(bounds, protocol)
            if list(each.arguments.values()) == [argument(word) for word in words[1:]]
        ]
        after = instance.apply(state)
        assert (after is None) == refused, f"{sentence}: {'enabled' if refused else 'not enabled'} after {story}"
        state = state if after is None else after
    return state


def seen(state: Partition, path: str) -> Any:
    """What stands in a state at a path such as `b0.leadership.isr` or `quorum.leader`; enum members by value, logs as
    record numbers.
    """
    at: Any = state
    for name in path.split("."):
        if name[0] == "b" and name[1:].isdigit():
            at = (at.replicas if at is state else at)[int(name[1:])]
        elif name.isdigit():
            at = at[int(name)]
        else:
            at = getattr(at, name)
    if path.endswith(("log", "exposed")):
        return tuple(record.id for record in at)
    return set(at) if isinstance(at, frozenset) else getattr(at, "value", at)


def assert_seen(state: Partition, expected: Mapping[str, Any]) -> None:
    assert {path: seen(state, path) for path in expected} == dict(expected)


@attrs.frozen
class Row:
    """A fact about Kafka as a story: which test or method of Kafka it mirrors, under which protocol, and what is to be
    seen.
    """

    kafka: str
    protocol: PartitionProtocol
    story: str
    expected: Mapping[str, Any]
    bounds: Mapping[str, int] = attrs.field(factory=dict)

    def check(self) -> None:
        bounds = bounds_of(**self.bounds)
        assert_seen(state_after(self.story, self.protocol, bounds), self.expected)
