"""Claims checked side by side, each in a process of its own.

The processes are forks of this one, so that they share what it has read. What they find travels back without traces:
an answer names the actions, and plain Python executes them here again.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, Self, cast

import attrs

from highwater.claims.checking import Result
from highwater.claims.spec import Spec, SpecError
from highwater.explorer.blame import Contradiction, JudgedOtherwise
from highwater.explorer.system import System, successor
from highwater.explorer.verdict import Progress, Step, Violation

Check = Callable[[Spec, Callable[[Progress], None]], Result]
Answer = Result | SpecError

PROGRESS, FOUND, REFUSED, AGAIN, CONTESTED = range(5)
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h
SECONDS_BETWEEN_PROGRESS = 0.1  # of one claim; nobody reads faster, and a small search has a level each millisecond


def can_fork() -> bool:
    """Whether processes can be forked here."""
    return "fork" in multiprocessing.get_all_start_methods()


class Forks:
    """Processes that check claims, one each at a time. A claim is asked for by a key, whatever that is."""

    def __init__(
        self,
        spec_of: Callable[[Any], Spec],
        jobs: int,
        check: Check,
        check_alone: Check,
        on_progress: Callable[[Spec, Progress | None], None],
        following: Callable[[], Any],
    ) -> None:
        """
        Args:
            spec_of: the claim of a key, here and in the forks.
            check: checks one claim in a fork of this process.
            check_alone: checks one here, after a fork has failed or has found too little memory.
            on_progress: called with the progress of a claim that is being checked, and with None at its end.
            following: the key of the claim to begin next, or None if there is none now.
        """
        self._spec_of = spec_of
        self._check, self._check_alone = check, check_alone
        self._on_progress, self._following = on_progress, following
        self._answers: dict[Any, Answer | None] = {}
        self.interrupted = False
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()  # or the forks would write it again
        self._workers = {worker.pipe: worker for worker in (_start(spec_of, check) for _ in range(jobs))}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        for worker in self._workers.values():
            worker.end(at_once=self.interrupted)

    def answer(self, key: Any) -> Answer:
        """What came out for a claim, once that is known; the answer is given once.

        Raises:
            KeyboardInterrupt: the user ended it; what has begun is not waited for.
        """
        try:
            self._go_on(seconds=0)
            while key not in self._answers:
                self._go_on()
        except BaseException:
            self.interrupted = True
            raise
        return self._answered(key)

    def _answered(self, key: Any) -> Answer:
        answer = self._answers.pop(key)
        if answer is not None:
            return answer
        spec = self._spec_of(key)
        try:
            return self._check_alone(spec, lambda progress: self._on_progress(spec, progress))
        except SpecError as error:
            return error

    def _go_on(self, seconds: float | None = None) -> None:
        """Take what comes, within so many seconds if any are given, and give claims to those who wait."""
        if busy := [worker.pipe for worker in self._workers.values() if worker.busy is not None]:
            for pipe in wait(busy, seconds):
                self._take(self._workers[pipe])  # type: ignore[index]
        for worker in self._workers.values():
            if worker.busy is None and (key := self._following()) is not None:
                worker.begin(key)

    def _take(self, worker: _Worker) -> None:
        key = worker.busy
        assert key is not None
        spec = self._spec_of(key)
        try:
            kind, what = worker.pipe.recv()
        except (EOFError, OSError):
            del self._workers[worker.pipe]
            worker.process.join()
            ended = worker.process.exitcode or 0
            why = f"signal {-ended}" if ended < 0 else f"exit code {ended}"
            kind, what = REFUSED, f"{spec.path}: the process that checked it has ended with {why}; try --jobs 1"
            if not self._workers:
                pipe = (another := _start(self._spec_of, self._check)).pipe
                self._workers[pipe] = another
        except Exception:  # what a model's own classes raise where they are made again of what was sent
            kind, what = AGAIN, None
        if kind == PROGRESS:
            self._on_progress(spec, what)
            return
        worker.busy = None
        self._on_progress(spec, None)
        if kind == CONTESTED:
            shown, function, path, mine, its = what
            raise JudgedOtherwise(shown, function, path, mine, its, str(spec.path))
        if kind == FOUND:
            self._answers[key] = _received(spec, *what)
        else:
            self._answers[key] = SpecError(what) if kind == REFUSED else None


class SideBySide(Forks):
    """Some claims, and the processes that check them.

    Attributes:
        interrupted: whether a KeyboardInterrupt has ended the run. Every claim that had begun has an answer then.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        jobs: int,
        check: Check,
        check_alone: Check,
        on_progress: Callable[[Spec, Progress | None], None],
    ) -> None:
        """Begin with the largest, so that none is left alone at the end."""
        self._specs = specs
        size = [spec.file.expect.distinct_states or 0 for spec in specs]
        largest = iter(sorted(range(len(specs)), key=lambda number: -size[number]))
        super().__init__(specs.__getitem__, jobs, check, check_alone, on_progress, lambda: next(largest, None))

    def __iter__(self) -> Iterator[tuple[Spec, Answer]]:
        """The claims and their answers, in the order of the claims."""
        for number in range(len(self._specs)):
            try:
                while number not in self._answers and not self.interrupted:
                    self._go_on()
            except KeyboardInterrupt:
                self._interrupt()
            if self._answers.get(number) or (number in self._answers and not self.interrupted):
                yield self._specs[number], self._answered(number)

    def _interrupt(self) -> None:
        """End what has begun, and take what it has found."""
        self.interrupted = True
        begun = [worker for worker in self._workers.values() if worker.busy is not None]
        for worker in begun:
            worker.interrupt()
        while begun := [worker for worker in begun if worker.busy is not None and worker.pipe in self._workers]:
            for pipe in wait([worker.pipe for worker in begun]):
                self._take(self._workers[pipe])  # type: ignore[index]


@attrs.define(eq=False)
class _Worker:
    """A fork of this process.

    Attributes:
        busy: the key of the claim that it checks.
    """

    process: Any
    pipe: Connection
    busy: Any = None

    def begin(self, key: Any) -> None:
        self.busy = key
        self.pipe.send(key)

    def interrupt(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGINT)

    def end(self, *, at_once: bool) -> None:
        """Let it end, and what is compiled beside its searches go on behind it, unless it is to end at once."""
        if at_once or self.busy is not None:
            self.process.kill()
        with suppress(OSError):
            self.pipe.send(None)
        self.process.join()
        self.pipe.close()


def _start(spec_of: Callable[[Any], Spec], check: Check) -> _Worker:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, here, spec_of, check, os.getpid()), daemon=True)
    process.start()
    there.close()
    return _Worker(process, here)


def die_with_parent() -> None:
    """Let the system end this process when the one that has started it ends, where the system can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)


# In a fork


def _serve(pipe: Connection, others: Connection, spec_of: Callable[[Any], Spec], check: Check, parent: int) -> None:
    """Check what is asked for, until nobody asks any more."""
    others.close()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    with suppress(EOFError, OSError):
        while os.getppid() == parent and (key := pipe.recv()) is not None:
            pipe.send_bytes(_pickled(_checked(spec_of(key), check, pipe)))


def _pickled(answer: tuple[int, Any]) -> Any:
    """An answer as the other side reads it. What cannot be sent, such as a witness with an object of a local class,
    comes again where it need not be.
    """
    try:
        return ForkingPickler.dumps(answer)
    except Exception:
        return ForkingPickler.dumps((AGAIN, None))


def _checked(spec: Spec, check: Check, pipe: Connection) -> tuple[int, Any]:
    def once(*arguments: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, once)
    try:
        result = check(spec, _now_and_then(lambda progress: pipe.send((PROGRESS, progress))))
        return (AGAIN, None) if result.outcome.reason == "memory" else (FOUND, _sent(spec, result))
    except SpecError as error:
        return REFUSED, str(error)
    except JudgedOtherwise as error:  # it need not come again, as what was kept of the trees is forgotten
        return CONTESTED, error.parts
    except BaseException:  # a defect, or the end of a search that had not begun: it comes again where it can be shown
        return AGAIN, None
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _now_and_then(tell: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """The same, but silent soon after the beginning and soon after it has told something."""
    told_at = time.monotonic()

    def tell_seldom(progress: Progress) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= SECONDS_BETWEEN_PROGRESS:
            tell(progress)
            told_at = time.monotonic()

    return tell_seldom


def _sent(spec: Spec, result: Result) -> tuple[Result, list[tuple[int, list[str]]]]:
    """A result without its spec and traces, and these as the number of an initial state and the names of actions."""
    initial = spec.system().initial
    traces = [
        (initial.index(first.state), [str(step.action) for step in rest])
        for first, *rest in (violation.trace for violation in result.outcome.violations)
    ]
    bare = tuple(attrs.evolve(violation, trace=()) for violation in result.outcome.violations)
    return attrs.evolve(result, spec=cast("Spec", None), outcome=attrs.evolve(result.outcome, violations=bare)), traces


# Here again


def _received(spec: Spec, result: Result, traces: Sequence[tuple[int, Sequence[str]]]) -> Result:
    violations = tuple(
        _with_trace(spec.system(), violation, *trace)
        for violation, trace in zip(result.outcome.violations, traces, strict=True)
    )
    return attrs.evolve(result, spec=spec, outcome=attrs.evolve(result.outcome, violations=violations))


def _with_trace(system: System, violation: Violation, initial: int, names: Sequence[str]) -> Violation:
    actions = {str(action): action for action in system.actions}
    steps = [Step(None, system.initial[initial])]
    for name in names:
        action = actions.get(name)  # of a lasso at rest, the last step is none
        after = successor(action, steps[-1].state, system.domain) if action else steps[-1].state
        if not isinstance(after, system.domain.cls):
            raise Contradiction(f"{name} leads nowhere in step {len(steps)} of a trace of {violation.property}")
        steps.append(Step(action, after))
    return attrs.evolve(violation, trace=tuple(steps))
