"""Runs executed on both sides at once, and what came of it: which paths agreed, and where the two sides parted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from highwater.conformance.abstraction import Difference
from highwater.conformance.controller_side import NAME
from highwater.conformance.harnesses import Harnesses
from highwater.conformance.model_side import Calls, ModelSide, calls, kept
from highwater.conformance.operations import beginning, ending
from highwater.conformance.process import Harness, Operation
from highwater.explorer.analysis.paths import Move, Run, Words
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Instance

OPERATIONS_AT_ONCE = 400
BATCHES_AHEAD = 2
HOW = ("see", "view", "ask")
"""What an operation has beside the call itself."""
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
        executed: the paths that were taken by calls, and after which both sides agreed.
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
    """A run as it was sent: the calls that begin it, those of each of its moves, and those that end it."""

    run: Run
    opening: Calls
    steps: tuple[Calls, ...]
    end: Calls

    @property
    def texts(self) -> list[str]:
        return [text for each in (self.opening, *self.steps, self.end) for text in each.texts]


class LockStep:
    """Executes runs of a system on a harness and compares after each step."""

    def __init__(
        self,
        harness: Harness | Harnesses,
        actions: Sequence[Instance],
        layout: Layout,
        protocol: Any,
        bounds: Any,
        configured: Any = None,
    ) -> None:
        self._harness = harness
        self._actions = actions
        self._bounds = bounds
        self._configured = configured or protocol
        self._model = ModelSide(actions, layout, protocol, bounds, harness.distribution.release)
        self._openings: dict[Words, Calls] = {}
        self._ends: dict[Words, Calls] = {}
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
        self._harness.forget()
        for batch in self._batches(runs):
            self._harness.send_texts([text for planned in batch for text in planned.texts])
            ahead.append(batch)
            if len(ahead) > BATCHES_AHEAD * self._harness.at_once:
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
        count = 0
        for run in runs:
            batch.append(self._planned(run))
            count += len(batch[-1].texts)
            if count >= OPERATIONS_AT_ONCE:
                yield batch
                batch, count = [], 0
        if batch:
            yield batch

    def _state(self, words: Words) -> Any:
        return self._model.state(words)

    def _planned(self, run: Run) -> _Planned:
        opening = kept(self._openings, run.start, lambda: self._opening(run.start))
        last = len(run.moves) - 1
        steps = tuple(self._model.calls_of(move, last=number == last) for number, move in enumerate(run.moves))
        after = run.moves[-1].after if run.moves else None
        end = kept(self._ends, after, lambda: calls(ending(self._state(after)))) if after else calls([])
        return _Planned(run, opening, steps, end)

    def _opening(self, start: Words) -> Calls:
        return calls(beginning(self._state(start), self._bounds, self._configured, self._model.wishes))

    def _compare(self, batch: Sequence[_Planned]) -> None:
        results = iter(self._harness.receive())
        for planned in batch:
            self._compare_run(planned, [next(results) for _ in planned.texts])

    def _compare_run(self, planned: _Planned, results: Sequence[dict[str, Any]]) -> None:
        self.findings.runs += 1
        at = len(planned.opening.operations)
        for operation, answer in zip(planned.opening.operations, results[:at], strict=True):
            if "error" in answer:
                found = [Difference("opening", "the run begins", f"{operation['do']}: {answer['error']}")]
                self._diverged(planned.run, 0, found, [operation], [answer])
                return
        for position, (move, called) in enumerate(zip(planned.run.moves, planned.steps, strict=True)):
            answers = results[at : at + len(called.operations)]
            at += len(called.operations)
            self.findings.steps += 1
            self.findings.refused += move.refused
            found = self._compare_step(move, answers)
            if found:
                self._diverged(planned.run, position, found, called.operations, answers)
                return
            if answers and not move.refused:
                self.findings.executed.add(move.path)
        self._compare_end(planned.run, planned.end.operations, results[at:])

    def _compare_end(self, run: Run, operations: Sequence[Operation], answers: Sequence[dict[str, Any]]) -> None:
        """What a run ends with changes nothing of its last state."""
        if answers:
            found = self._model.differences(run.moves[-1].after, _seen(answers))
            found += [Difference("ending", "changes nothing", each["error"]) for each in answers if "error" in each]
            if found:
                self._diverged(run, len(run.moves) - 1, found, operations, answers)

    def _compare_step(self, move: Move, answers: Sequence[dict[str, Any]]) -> list[Difference]:
        if not answers:
            return []
        seen = _seen(answers)
        found = self._model.differences(move.after, seen)
        found += self._model.recorded(seen[NAME]) if NAME in seen else []
        found += [Difference("state", "can be seen", each["unseen"]) for each in answers if "unseen" in each]
        return found if move.refused else self._of_result(move, answers) + found

    def _of_result(self, move: Move, answers: Sequence[dict[str, Any]]) -> list[Difference]:
        """Where the calls of a step end otherwise than the model's step."""
        instance = self._actions[move.number]
        errors = [each["error"] for each in answers if "error" in each]
        if instance.of.name == "refuse_record":
            if not any(each.startswith(NOT_ENOUGH) for each in errors):
                return [Difference("result", NOT_ENOUGH, errors[0] if errors else "the record is appended")]
        elif errors:
            return [Difference("result", "the step is taken", errors[0])]
        elif instance.of.name == "consume":
            offset, value = instance.arguments["offset"], answers[-1].get("value")
            wanted = self._state(move.after).clients.consumed[offset]
            if wanted != value:
                return [Difference(f"record at {offset}", f"r{wanted}", f"r{value}")]
        return []

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
        called = tuple({key: value for key, value in each.items() if key not in HOW} for each in operations)
        errors = tuple(each["error"] for each in answers if "error" in each)
        executed = Executed(called, errors, _seen(answers))
        divergence = Divergence(
            tuple(steps), self._actions[move.number], self._state(move.after), move.refused, tuple(found), executed
        )
        self.findings.counts[divergence.kind] += 1
        if self.findings.counts[divergence.kind] == 1:
            self.findings.divergences.append(divergence)


def _seen(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the calls of one step have shown: each shows what no later one touches."""
    return {name: state for each in answers for name, state in each["brokers"].items()}
