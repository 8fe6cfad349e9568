"""Several processes of the harness that share what is executed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from highwater.conformance.distribution import Distribution
from highwater.conformance.process import BOTH_COMPILERS, OPTIONS, Harness

FEW = 20_000
"""About as many operations Java executes while it loads and compiles Kafka's classes: before, another process does not
pay.
"""
MANY = 400_000
"""About as many it executes while its second compiler is at work: code gets up to twice as fast then."""


class Harnesses:
    """Processes that get batches in turn, and answer in the order of the batches. There is one at first, then as many
    as there may be, and in a long run others take their place, in which Java compiles with both of its compilers. A
    context manager: no process outlives it.

    Which process gets a batch follows from what was sent before, not from how fast they are.
    """

    def __init__(self, distribution: Distribution, most: int) -> None:
        """
        Args:
            most: how many processes there may be.
        """
        self.distribution = distribution
        self._most = most
        self._options: Sequence[str] = OPTIONS
        self._running: list[Harness] = []
        self._asked: deque[Harness] = deque()
        self._sent = 0
        self._turn = 0

    def __enter__(self) -> Self:
        self._start_until(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in {*self._running, *self._asked}:
            each.__exit__(kind, error, trace)
        self._running.clear()
        self._asked.clear()

    def _start_until(self, count: int) -> None:
        if len(self._running) >= count:
            return
        while len(self._running) < count:
            process = Harness(self.distribution)
            process.options = self._options
            self._running.append(process.__enter__())
        _give_each_a_processor(self.pids)

    @property
    def at_once(self) -> int:
        """How many processes work at once."""
        return len(self._running)

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [pid for each in self._running for pid in each.pids]

    def forget(self) -> None:
        """Ask again what was asked under another claim. If an error has cut off what was on its way, processes begin
        anew.
        """
        if self._asked:
            self.__exit__(None, None, None)
            self._start_until(1)
        for each in self._running:
            each.forget()

    def send_texts(self, operations: Sequence[str]) -> None:
        """Hand over a batch.

        Raises:
            KafkaError: the process whose turn it is has ended.
        """
        if self._sent >= MANY and self._options is OPTIONS:
            self._options = BOTH_COMPILERS
            self._running.clear()  # they end when they have answered
        self._start_until(self._most if self._sent >= FEW else 1)
        process = self._running[self._turn % len(self._running)]
        self._sent += len(operations)
        self._turn += 1
        self._asked.append(process)
        process.send_texts(operations)

    def receive(self) -> list[dict[str, Any]]:
        """The results of the oldest batch.

        Raises:
            KafkaError: as `Harness.receive` says.
        """
        process = self._asked[0]
        results = process.receive()
        self._asked.popleft()
        if process not in self._running and process not in self._asked:
            process.__exit__(None, None, None)
        return results


def _give_each_a_processor(pids: Sequence[int]) -> None:
    """If there are as many processes as processors, keep each on one of its own. Kafka's threads wait for each other:
    to wake one on another processor takes longer than what it has to do.
    """
    if not hasattr(os, "sched_setaffinity"):  # not on Linux
        return
    processors = sorted(os.sched_getaffinity(0))
    if len(pids) == len(processors):
        for pid, processor in zip(pids, processors, strict=True):
            placed = set[str]()  # and so are threads that these start
            while new := {each.name for each in Path(f"/proc/{pid}/task").glob("*")} - placed:
                for thread in new:
                    with suppress(OSError):  # it has ended meanwhile
                        os.sched_setaffinity(int(thread), {processor})
                placed |= new
