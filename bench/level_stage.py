"""A stage of tasks on the cores of executors, event by event: who runs what, who waits, what is lost and runs again."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import attrs
import numpy as np

QUANTILE = 0.75  # of tasks that have ended before any second attempt


@attrs.define
class Seen:
    """What has happened, over all stages.

    Attributes:
        attempts: tasks begun; `repeated` of them because what they made was lost, `copied` as second attempts.
        stolen: tasks that ran elsewhere than at home, because their executor was busy for too long.
        read_again: partitions whose rows were read from storage again.
        lost: executors.
    """

    attempts: int = 0
    repeated: int = 0
    copied: int = 0
    stolen: int = 0
    read_again: int = 0
    lost: int = 0


@attrs.define
class Hosts:
    """The executors between stages.

    Attributes:
        back: by executor, when it has come (again).
        home: by partition, the executor that has its visited set; -1 if none has.
        losses: when an executor is lost, and which; ascending, without end.
    """

    cores: int
    back: list[float]
    home: list[int]
    losses: deque[tuple[float, int]]
    noticed: float = 120.0
    replaced: float = 30.0
    seen: Seen = attrs.field(factory=Seen)


@attrs.define
class Running:
    """An attempt at a task."""

    task: int
    began: float


class Stage:
    """One stage.

    Attributes:
        made: by executor, the tasks that have ended there, of which nothing is lost.

    Args:
        seconds: of each task.
        again: of each task, what it takes besides where its visited set is not; None if tasks may run anywhere and what
            they make is lost with their executor.
        launch: seconds of the driver between one task and the next.
        wait: seconds until a task that waits for its home runs elsewhere.
        patience: how many times the median a task takes before a second attempt begins; infinite without speculation.
        anew: the seconds of a second attempt.
        redo: by executor, the seconds of what an earlier stage made there, which this one needs.
    """

    def __init__(
        self,
        hosts: Hosts,
        began: float,
        seconds: Sequence[float],
        again: Sequence[float] | None = None,
        *,
        launch: float = 0.0,
        wait: float = math.inf,
        patience: float = math.inf,
        anew: Callable[[int], float] = lambda task: math.inf,
        redo: Sequence[Sequence[float]] = (),
    ) -> None:
        self.hosts, self.seconds, self.again, self.redo = hosts, seconds, again, redo
        self._launch, self._wait, self._patience, self._anew = launch, wait, patience, anew
        self._began = self._launched = self._gate = began
        self._own: list[deque[int]] = [deque() for _ in hosts.back]
        self._anywhere: deque[int] = deque()
        self._running: dict[int, Running] = {}
        self._idle: set[int] = set()
        self._copied: set[int] = set()
        self._done = [False] * len(seconds)
        self._left = len(seconds)
        self._median = float(np.median(seconds)) if patience < math.inf and len(seconds) else 0.0
        self.made: list[list[int]] = [[] for _ in hosts.back]
        self._offers: dict[int, list[int]] = {}
        self._events: list[tuple[float, int, int]] = []  # when, the slot or -1 for an offer, which attempt or offer
        self._version = [0] * (len(hosts.back) * hosts.cores)
        for task in range(len(seconds)):
            self._queue(task)
        for slot in range(len(self._version)):
            self._wake(slot, max(began, hosts.back[slot // hosts.cores]))

    def run(self) -> float:
        """When the last task ends."""
        now = self._began
        while self._left:
            when, slot, number = self._events[0]
            if self.hosts.losses and self.hosts.losses[0][0] <= when:
                now = max(now, self.hosts.losses[0][0])
                self._lose(*self.hosts.losses.popleft())
                continue
            heapq.heappop(self._events)
            now = max(now, when)
            if slot < 0:
                self._offer(self._offers.pop(number), now)
            elif number == self._version[slot]:
                self._end_what_ran(slot, now)
                if self._left:
                    self._take(slot, now)
        return now

    def _queue(self, task: int) -> None:
        home = self.hosts.home[task] if self.again is not None else -1
        (self._own[home] if home >= 0 else self._anywhere).append(task)

    def _wake(self, slot: int, when: float) -> None:
        self._version[slot] += 1
        heapq.heappush(self._events, (when, slot, self._version[slot]))

    def _end_what_ran(self, slot: int, now: float) -> None:
        ran = self._running.pop(slot, None)
        if ran is None or self._done[ran.task]:
            return
        self._done[ran.task] = True
        self._left -= 1
        executor = slot // self.hosts.cores
        self.made[executor].append(ran.task)
        if self.again is not None:
            self.hosts.home[ran.task] = executor
        if ran.task in self._copied:
            for other in [other for other, each in self._running.items() if each.task == ran.task]:
                del self._running[other]
                self._wake(other, now)

    def _take(self, slot: int, now: float) -> None:
        """Let a free core begin a task, or wait."""
        own = self._own[slot // self.hosts.cores]
        if own or self._anywhere:
            self._start(slot, (own or self._anywhere).popleft(), now, at_home=bool(own))
        elif self._wait < math.inf and any(self._own):
            if now < self._began + self._wait:
                self._wake(slot, self._began + self._wait)
            else:
                self.hosts.seen.stolen += 1
                self._start(slot, max(self._own, key=len).popleft(), now, at_home=False)
        elif not self._copy(slot, now):
            self._idle.add(slot)

    def _start(self, slot: int, task: int, now: float, *, at_home: bool) -> None:
        took = self.seconds[task]
        if self.again is not None and not (at_home or self.hosts.home[task] == slot // self.hosts.cores):
            took += self.again[task]
            self.hosts.seen.read_again += 1
        began = max(now, self._launched, self._gate)
        self._launched = max(now, self._launched) + self._launch
        self.hosts.seen.attempts += 1
        self._running[slot] = Running(task, began)
        self._wake(slot, began + took)

    def _copy(self, slot: int, now: float) -> bool:
        """Begin a second attempt, or come back when there is a reason for one."""
        if self._patience == math.inf or self._left > (1 - QUANTILE) * len(self.seconds):
            return False
        slow = [each for each in self._running.values() if each.task not in self._copied]
        if not slow:
            return False
        first = min(slow, key=lambda each: each.began)
        due = first.began + self._patience * self._median
        if due > now:
            self._wake(slot, due)
            return True
        took = self._anew(first.task) + (self.again[first.task] if self.again is not None else 0.0)
        self._copied.add(first.task)
        self.hosts.seen.copied += 1
        self.hosts.seen.attempts += 1
        self._running[slot] = Running(first.task, now)
        self._wake(slot, now + took)
        return True

    def _lose(self, when: float, executor: int) -> None:
        """Lose an executor, what runs there, and what it has made that is still needed."""
        hosts, cores = self.hosts, self.hosts.cores
        if hosts.back[executor] > when:
            return  # it is lost already
        hosts.seen.lost += 1
        hosts.back[executor] = when + hosts.noticed + hosts.replaced
        slots = range(executor * cores, (executor + 1) * cores)
        gone = [self._running.pop(slot).task for slot in slots if slot in self._running]
        again = [task for task in gone if not self._done[task] and not self._runs(task)]
        again += self._own[executor]
        self._own[executor].clear()
        if self.again is None:
            for task in self.made[executor]:
                self._done[task] = False
            self._left += len(self.made[executor])
            again += self.made[executor]
            hosts.seen.repeated += len(self.made[executor])
            self.made[executor] = []
        else:
            hosts.home[:] = [-1 if home == executor else home for home in hosts.home]
            self._make_anew(when, executor)
        for slot in slots:
            self._idle.discard(slot)
            self._wake(slot, hosts.back[executor])
        self._offers[hosts.seen.lost] = again
        heapq.heappush(self._events, (when + hosts.noticed, -1, hosts.seen.lost))

    def _make_anew(self, when: float, executor: int) -> None:
        """Let tasks that have not begun wait for what the stage before made on a lost executor."""
        if self.redo and self.redo[executor]:
            others = max(1, (len(self.hosts.back) - 1) * self.hosts.cores)
            seconds = max(max(self.redo[executor]), sum(self.redo[executor]) / others)
            self._gate = max(self._gate, when + self.hosts.noticed + seconds)
            self.hosts.seen.repeated += len(self.redo[executor])

    def _runs(self, task: int) -> bool:
        return any(each.task == task for each in self._running.values())

    def _offer(self, tasks: Iterable[int], now: float) -> None:
        """Let any core take tasks, also those that have nothing to do."""
        self._anywhere.extend(tasks)
        for slot in sorted(self._idle):
            self._wake(slot, now)
        self._idle.clear()
