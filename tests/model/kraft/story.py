"""Short stories about the model of the KRaft control plane: steps by name, and what is to be seen after them."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.model.kraft.bounds import KraftBounds
from highwater.model.kraft.definition import ACTIONS
from highwater.model.kraft.initial import initial_states
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.releases import PRESETS
from highwater.model.kraft.state import Broker, Cluster

STEPS = {step.name: step for step in ACTIONS}
BUDGETS = [field.name for field in attrs.fields(KraftBounds) if field.metadata["high"] == 7]


def bounds_of(**given: int) -> KraftBounds:
    """Bounds with room for any story; what is given is set on top."""
    roomy = dict.fromkeys(BUDGETS, 5) | {"no_ops": 1, "leader_epoch_max": 9, "partition_epoch_max": 9}
    return KraftBounds(**{"brokers": 4, "replication_factor": 3, **roomy, **given})


def argument(word: str) -> int | None:
    """b1 is broker 1, p1 is partition 1, 2 is the number 2, none is nobody."""
    return None if word == "none" else int(word.lstrip("bp"))


def state_after(story: str, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster:
    """The state after a story such as `crash b1, fence b1, not unfence b1`.

    What comes behind `not` must not be enabled.
    """
    (state,) = initial_states(bounds)
    for sentence in filter(None, (sentence.strip() for sentence in story.split(","))):
        refused, words = sentence.startswith("not "), sentence.removeprefix("not ").split()
        wanted = [argument(word) for word in words[1:]]
        instances = STEPS[words[0]].instances(bounds, protocol)
        (instance,) = [each for each in instances if list(each.arguments.values()) == wanted]
        after = instance.apply(state)
        assert (after is None) == refused, f"{sentence}: {'enabled' if refused else 'not enabled'} after {story}"
        state = state if after is None else after
    return state


def seen(state: Cluster, path: str) -> Any:
    """What stands in a state at a path such as `partition.isr` (of the first one), `p1.isr` (of the other),
    `b0.view.leader` (of its replica of the first one), `b0.p1.view`, `r0.standing` (its registration), or
    `heartbeats.waits_for.b0`; enum members by value.
    """
    at: Any = state
    for name in path.split("."):
        if isinstance(at, tuple):
            at = at[int(name[1:])]
        elif name == "partition" or name[1:].isdigit():
            where, number = ("p", 0) if name == "partition" else (name[0], int(name[1:]))
            parts = {"b": "brokers", "r": "registrations", "p": "replicas" if isinstance(at, Broker) else "partitions"}
            at = getattr(at, parts[where])[number]
        else:
            at = getattr(at.replicas[0] if isinstance(at, Broker) and not hasattr(at, name) else at, name)
    if isinstance(at, tuple) and path == "tail":
        return len(at)
    return set(at) if isinstance(at, frozenset) else getattr(at, "value", at)


@attrs.frozen
class Row:
    """A fact about Kafka as a story: which test or method of Kafka it mirrors, under which release, and what is to be
    seen.
    """

    kafka: str
    preset: str
    story: str
    expected: dict[str, Any]
    rules: dict[str, Any] = attrs.Factory(dict)
    bounds: dict[str, int] = attrs.Factory(dict)

    def check(self) -> None:
        protocol = attrs.evolve(PRESETS[f"kafka-{self.preset}"], **self.rules)
        state = state_after(self.story, protocol, bounds_of(**self.bounds))
        assert {path: seen(state, path) for path in self.expected} == self.expected
