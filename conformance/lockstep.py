"""Runs executed on both sides at once, and what came of it: which paths agreed, and where the two sides parted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from highwater.conformance.abstraction import Difference, differences
from highwater.conformance.controller_side import NAME
from highwater.conformance.distribution import KafkaError
from highwater.conformance.operations import MAPPED, beginning, between_looks, ending
from highwater.conformance.partition_changes import records, what_ifs, wishes
from highwater.conformance.process import Harness, Operation
from highwater.explorer.analysis.paths import Move, Run, Words
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Instance

OPERATIONS_AT_ONCE = 400
BATCHES_AHEAD = 2
OWN = ("reset", "controller begin")
"""What the harness does by itself before a run: an error there is none of Kafka's rules."""
NOT_ENOUGH = "NotEnoughReplicasException"


@attrs.frozen
class Executed:
    """One step on the real side.

    Attributes:
        operations: the calls, without what they were asked to show.
        errors: what Kafka threw, one for each call that threw.
        seen: what was seen of the brokers that the calls touched.
    """

    operations: tuple[Operation, ...]
    errors: tuple[str, ...]
    seen: dict[str, Any]


@attrs.frozen
class Divergence:
    """A step after which Kafka is not where the model is.

    Attributes:
        trace: the model's steps up to it, the state before it last; where the model refuses the step, its own state
            does not change.
        action: the step.
        expected: the model's state after it.
        refused: whether the model refuses it.
        differences: the fields that differ.
        executed: the real calls and what came of them.
    """

    trace: tuple[Step, ...]
    action: Instance
    expected: Any
    refused: bool
    differences: tuple[Difference, ...]
    executed: Executed

    @property
    def kind(self) -> tuple[str, bool, frozenset[str]]:
        """What is the same about divergences of one cause: action, whether it was refused, the fields without broker
        names.
        """
        words = (each.field.split(".", 1)[-1].split() for each in self.differences)
        fields = frozenset(" ".join(word for word in field if not word[1:].isdigit()) for field in words)
        return self.action.of.name, self.refused, fields


@attrs.define
class Findings:
    """What came of executing runs.

    Attributes:
        executed: the paths that were taken and after which both sides agreed.
        steps, refused: how many steps were executed, and how many of those the model refuses.
        runs: how many runs, each from an initial state.
        divergences: the first of each kind.
        counts: how often each kind was met.
        seconds: how long it took.
    """

    executed: set[int] = attrs.Factory(set)
    steps: int = 0
    refused: int = 0
    runs: int = 0
    divergences: list[Divergence] = attrs.Factory(list)
    counts: Counter[Any] = attrs.Factory(Counter)
    seconds: float = 0.0


@attrs.frozen
class _Planned:
    """A run as it was sent: for each of its moves, the model's states around it and how many operations stand
    for it.
    """

    run: Run
    sizes: tuple[int, ...]
    operations: tuple[Operation, ...]
    opening: int


class LockStep:
    """Executes runs of a system on a harness and compares after each step."""

    def __init__(
        self,
        harness: Harness,
        actions: Sequence[Instance],
        layout: Layout,
        protocol: Any,
        bounds: Any,
        configured: Any = None,
    ) -> None:
        self._harness = harness
        self._actions = actions
        self._layout = layout
        self._protocol, self._bounds = protocol, bounds
        self._configured = configured or protocol
        self._what_ifs = what_ifs(bounds.brokers, bounds.min_insync_replicas, harness.distribution.release)
        self._wishes = wishes(self._what_ifs)
        self._states: dict[Words, Any] = {}
        self.findings = Findings()

    def execute(
        self,
        runs: Iterable[Run],
        on_progress: Callable[[Findings], None] = lambda findings: None,
        enough: Callable[[Findings], bool] = lambda findings: False,
    ) -> Findings:
        """Execute runs; a run ends at its first divergence.

        Args:
            enough: whether what was found will do. What is on its way then is not looked at.

        Raises:
            KafkaError: the Java side died, or lacks what is called.
        """
        began = time.perf_counter()
        ahead: list[list[_Planned]] = []
        for batch in self._batches(runs):
            self._harness.send([operation for planned in batch for operation in planned.operations])
            ahead.append(batch)
            if len(ahead) > BATCHES_AHEAD:
                self._compare(ahead.pop(0))
                self.findings.seconds = time.perf_counter() - began
                on_progress(self.findings)
            if enough(self.findings):
                break
        for batch in ahead:
            if enough(self.findings):
                self._harness.receive()
            else:
                self._compare(batch)
        self.findings.seconds = time.perf_counter() - began
        return self.findings

    def _batches(self, runs: Iterable[Run]) -> Iterator[list[_Planned]]:
        batch: list[_Planned] = []
        for run in runs:
            batch.append(self._planned(run))
            if sum(len(planned.operations) for planned in batch) >= OPERATIONS_AT_ONCE:
                yield batch
                batch = []
        if batch:
            yield batch

    def _state(self, words: Words) -> Any:
        if words not in self._states:
            if len(self._states) > 100_000:
                self._states.clear()
            self._states[words] = self._layout.unpack(words)
        return self._states[words]

    def _planned(self, run: Run) -> _Planned:
        operations = beginning(self._state(run.start), self._bounds, self._configured, self._wishes)
        opening, sizes = len(operations), []
        for move in run.moves:
            before = self._state(move.before)
            idle = move.refused and between_looks(before)
            called = [] if idle else operations_of(self._actions[move.number], before, self._protocol, self._bounds)
            sizes.append(len(called))
            operations += called
        operations += ending(self._state(run.moves[-1].after)) if run.moves else []
        return _Planned(run, tuple(sizes), tuple(operations), opening)

    def _compare(self, batch: Sequence[_Planned]) -> None:
        results = iter(self._harness.receive())
        for planned in batch:
            mine = [next(results) for _ in planned.operations]
            self._compare_run(planned, mine)

    def _compare_run(self, planned: _Planned, results: Sequence[dict[str, Any]]) -> None:
        self.findings.runs += 1
        at = planned.opening
        for operation, answer in zip(planned.operations[:at], results[:at], strict=True):
            if "error" in answer and operation["do"] in OWN:
                raise KafkaError(f"Kafka cannot be brought to where a run begins: {operation['do']}: {answer['error']}")
            if "error" in answer:
                found = [Difference("opening", "the run begins", f"{operation['do']}: {answer['error']}")]
                self._diverged(planned.run, 0, found, [operation], [answer])
                return
        for position, (move, size) in enumerate(zip(planned.run.moves, planned.sizes, strict=True)):
            operations, answers = planned.operations[at : at + size], results[at : at + size]
            at += size
            self.findings.steps += 1
            self.findings.refused += move.refused
            found = self._compare_step(move, answers)
            if found:
                self._diverged(planned.run, position, found, operations, answers)
                return
            if not move.refused:
                self.findings.executed.add(move.path)
        self._compare_end(planned.run, planned.operations[at:], results[at:])

    def _compare_end(self, run: Run, operations: Sequence[Operation], answers: Sequence[dict[str, Any]]) -> None:
        """What a run ends with changes nothing of its last state."""
        if answers:
            found = differences(self._state(run.moves[-1].after), _seen(answers), self._protocol, self._bounds)
            found += [Difference("ending", "changes nothing", each["error"]) for each in answers if "error" in each]
            if found:
                self._diverged(run, len(run.moves) - 1, found, operations, answers)

    def _compare_step(self, move: Move, answers: Sequence[dict[str, Any]]) -> list[Difference]:
        if not answers:
            return []
        after, instance, seen = self._state(move.after), self._actions[move.number], _seen(answers)
        found = differences(after, seen, self._protocol, self._bounds)
        found += self._recorded(seen.get(NAME))
        found += [Difference("state", "can be seen", each["unseen"]) for each in answers if "unseen" in each]
        if move.refused:
            return found
        errors = [each["error"] for each in answers if "error" in each]
        if instance.of.name == "refuse_record":
            if not any(each.startswith(NOT_ENOUGH) for each in errors):
                found.insert(0, Difference("result", NOT_ENOUGH, errors[0] if errors else "the record is appended"))
        elif errors:
            found.insert(0, Difference("result", "the step is taken", errors[0]))
        if instance.of.name == "consume":
            offset, value = instance.arguments["offset"], answers[-1].get("value")
            wanted = after.clients.consumed[offset]
            if wanted != value:
                found.append(Difference(f"record at {offset}", f"r{wanted}", f"r{value}"))
        return found

    def _recorded(self, controller: dict[str, Any] | None) -> Iterator[Difference]:
        """Where the controller would record something else than the functions of the model `kraft` do."""
        if controller is not None:
            for words, model, kafka in records(self._what_ifs, controller):
                if model != kafka:
                    yield Difference(f"{NAME}.{words}", str(model), str(kafka))

    def _diverged(
        self,
        run: Run,
        position: int,
        found: Sequence[Difference],
        operations: Sequence[Operation],
        answers: Sequence[dict[str, Any]],
    ) -> None:
        move = run.moves[position]
        steps = [Step(None, self._state(run.start))]
        steps += [
            Step(self._actions[each.number], self._state(each.after))
            for each in run.moves[:position]
            if not each.refused
        ]
        calls = tuple({key: value for key, value in each.items() if key not in ("see", "view")} for each in operations)
        errors = tuple(each["error"] for each in answers if "error" in each)
        executed = Executed(calls, errors, _seen(answers))
        divergence = Divergence(
            tuple(steps), self._actions[move.number], self._state(move.after), move.refused, tuple(found), executed
        )
        self.findings.counts[divergence.kind] += 1
        if self.findings.counts[divergence.kind] == 1:
            self.findings.divergences.append(divergence)


def _seen(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the calls of one step have shown: each shows what no later one touches."""
    return {name: state for each in answers for name, state in each["brokers"].items()}


def operations_of(instance: Instance, before: Any, protocol: Any, bounds: Any) -> list[Operation]:
    """The calls that stand for a step; none if no call does, or if the state lacks what would be called."""
    step = MAPPED.get(instance.of.name)
    if step is None:
        return []
    takes = step.__code__.co_varnames[: step.__code__.co_argcount]
    context = {name: value for name, value in (("protocol", protocol), ("bounds", bounds)) if name in takes}
    return step(before, **instance.arguments, **context) or []
