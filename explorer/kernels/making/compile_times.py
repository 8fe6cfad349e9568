"""How long compiling machine code takes, apart from what runs it, and who hears when it begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class CompileTimes:
    """This process's.

    Attributes:
        seconds: wall-clock time that compiling has taken so far.
        running: whether a kernel is being compiled.
        processes: how many compile side by side.
        several: whether all that a search needs is compiled, which takes seconds, and not a single kernel.
        cut_short: whether an interrupt has ended the last one.
        about: what code is compiled for, such as "states of 3 words".
        listeners: each is called when a kernel begins to be compiled.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.running = self.cut_short = self.several = False
        self.about, self.processes = "", 1
        self.listeners: list[Callable[[], None]] = []

    @contextmanager
    def compiling(self, about: str = "", processes: int = 1, *, several: bool = False) -> Iterator[None]:
        """While a kernel is compiled, or several are in so many processes."""
        started, self.about, self.processes, self.several = time.perf_counter(), about, processes, several
        self.running, self.cut_short = True, False
        try:
            for each in list(self.listeners):
                each()
            yield
        except KeyboardInterrupt:
            self.cut_short = True
            raise
        finally:
            self.running = False
            self.seconds += time.perf_counter() - started


TIMES = CompileTimes()


class Stopwatch:
    """Wall-clock time since it was made, compiling machine code apart."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._compiled_before = TIMES.seconds

    @property
    def seconds(self) -> float:
        """All of it."""
        return time.perf_counter() - self._started

    @property
    def compile_seconds(self) -> float:
        """What went into compiling."""
        return TIMES.seconds - self._compiled_before

    @property
    def search_seconds(self) -> float:
        """What went into anything else."""
        return max(0.0, self.seconds - self.compile_seconds)
