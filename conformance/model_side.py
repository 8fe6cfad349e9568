"""What the model has to a packed state: the calls that stand for a step, and where Kafka differs. Runs meet the same
states and steps again and again, so what was found is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from highwater.conformance.abstraction import Difference, differences, of_broker
from highwater.conformance.controller_side import NAME
from highwater.conformance.operations import MAPPED, between_looks
from highwater.conformance.partition_changes import records, what_ifs, wishes
from highwater.conformance.process import Operation, Seen
from highwater.explorer.analysis.paths import Move, Words
from highwater.explorer.compiler.layout import Layout
from highwater.model.language.declarations import Instance

MOST = 200_000
Key = TypeVar("Key")
Value = TypeVar("Value")


@attrs.frozen
class Calls:
    """Operations, and each as the text that is sent."""

    operations: tuple[Operation, ...]
    texts: tuple[str, ...]


def calls(operations: Sequence[Operation]) -> Calls:
    return Calls(tuple(operations), tuple(json.dumps(each, separators=(",", ":")) for each in operations))


class ModelSide:
    """One system, as it is held against one release."""

    def __init__(self, actions: Sequence[Instance], layout: Layout, protocol: Any, bounds: Any, release: str) -> None:
        self._actions, self._layout = actions, layout
        self._protocol, self._bounds = protocol, bounds
        self._what_ifs = what_ifs(bounds.brokers, bounds.min_insync_replicas, release)
        self.wishes = wishes(self._what_ifs)
        self._states: dict[Words, Any] = {}
        self._calls: dict[tuple[int, Words, bool], Calls] = {}
        self._parts: dict[Any, int] = {}
        self._part_of: dict[tuple[str, Words], int] = {}
        self._found: dict[tuple[int, Seen], Sequence[Difference]] = {}
        self._records: dict[Seen, Sequence[Difference]] = {}

    def state(self, words: Words) -> Any:
        """The model's state."""
        return kept(self._states, words, lambda: self._layout.unpack(words))

    def calls_of(self, move: Move, *, last: bool) -> Calls:
        """The calls that stand for a step.

        Args:
            last: of its run: what changes nothing is then asked in any case.
        """
        return kept(self._calls, (move.number, move.before, last), lambda: self._called(move, last=last))

    def _called(self, move: Move, *, last: bool) -> Calls:
        before = self.state(move.before)
        idle = move.refused and between_looks(before)
        called = [] if idle else operations_of(self._actions[move.number], before, self._protocol, self._bounds)
        return calls([{**each, "ask": True} for each in called] if last else called)

    def differences(self, words: Words, seen: Mapping[str, Seen]) -> list[Difference]:
        """Where a state of the model and what was seen differ."""
        found: list[Difference] = []
        for name, real in seen.items():
            found += self._differences(words, name, real)
        return found

    def _differences(self, words: Words, name: str, real: Seen) -> Sequence[Difference]:
        def compared() -> Sequence[Difference]:
            return differences(self.state(words), {name: real}, self._protocol, self._bounds)

        return kept(self._found, (self._part(name, words), real), compared)

    def _part(self, name: str, words: Words) -> int:
        """One number for all states that are the same as far as a broker goes."""
        return kept(self._part_of, (name, words), lambda: self._number(name, words))

    def _number(self, name: str, words: Words) -> int:
        part = words if name == NAME else of_broker(self.state(words), int(name))
        return self._parts.setdefault((name, part), len(self._parts))

    def recorded(self, controller: Seen) -> Sequence[Difference]:
        """Where the controller would record something else than the functions of the model `kraft` do."""
        return kept(self._records, controller, lambda: list(self._recorded(controller)))

    def _recorded(self, controller: Seen) -> Iterator[Difference]:
        for words, model, kafka in records(self._what_ifs, controller):
            if model != kafka:
                yield Difference(f"{NAME}.{words}", str(model), str(kafka))


def kept(known: dict[Key, Value], key: Key, make: Callable[[], Value]) -> Value:
    """What is known by a key, or what is made now."""
    found = known.get(key)
    if found is None:
        if len(known) >= MOST:
            known.clear()
        known[key] = found = make()
    return found


def operations_of(instance: Instance, before: Any, protocol: Any, bounds: Any) -> list[Operation]:
    """The calls that stand for a step; none if no call does, or if the state lacks what would be called."""
    step = MAPPED.get(instance.of.name)
    if step is None:
        return []
    takes = step.__code__.co_varnames[: step.__code__.co_argcount]
    context = {name: value for name, value in (("protocol", protocol), ("bounds", bounds)) if name in takes}
    return step(before, **instance.arguments, **context) or []
