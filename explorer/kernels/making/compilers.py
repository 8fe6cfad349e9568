"""Processes that compile kernels: several side by side, or one for a process that lacks the memory."""

from __future__ import annotations

import atexit
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

from numpy import empty, ndarray

from highwater.explorer.kernels.making import code_cache

Kernel = tuple[str, str, tuple[Any, ...]]
"""The module of a kernel, its name, and arguments of the types that it is compiled for."""

NICE = 1  # of processes beside a search: with more they starve on a busy machine

Made = tuple[str, bytes]
"""The name of an entry point, and the object code that it is in."""

# what is asked for is of types that are found once the path is known
_PROGRAM = """
import os, pickle, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks is interrupted, and ends this process
os.nice({nice})
sys.path[:] = pickle.load(sys.stdin.buffer)
import importlib
from highwater.explorer.kernels.making import compiling
while True:
    try:
        module, name, arguments = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    kernel = getattr(importlib.import_module(f"highwater.explorer.kernels.{{module}}"), name)
    pickle.dump(compiling.object_code(kernel, arguments), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


class _Compiler:
    """A process that compiles what it is asked for, until it fails."""

    def __init__(self, nice: int = 0) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM.format(nice=nice)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdin
        pickle.dump([*sys.path], self._process.stdin)

    def __enter__(self) -> _Compiler:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._process.kill()
        with suppress(OSError), self._process:  # waits for it, and closes its pipes
            pass

    def made(self, kernel: Kernel) -> Made:
        """What is made of a kernel.

        Raises:
            OSError, EOFError, pickle.UnpicklingError: the process has ended.
        """
        assert self._process.stdin
        assert self._process.stdout
        module, name, arguments = kernel
        pickle.dump((module, name, _empty(arguments)), self._process.stdin)
        self._process.stdin.flush()
        found: Made = pickle.load(self._process.stdout)
        return found


def compiled(kernels: Sequence[Kernel], processes: int) -> dict[int, Made]:
    """What is made of some kernels, by position, in up to so many processes. Those that are first begin first. What no
    process could make is left out, also where none can be started.
    """
    waiting = deque(range(len(kernels)))

    def work(compiler: _Compiler) -> dict[int, Made]:
        made = {}
        try:
            while waiting:
                position = waiting.popleft()
                made[position] = compiler.made(kernels[position])
        except (OSError, EOFError, pickle.UnpicklingError, IndexError):  # the last: another one was faster
            pass
        return made

    found: list[dict[int, Made]] = []
    with suppress(OSError), ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(processes))
        # ended before the pool waits for its threads, also if this thread is interrupted
        compilers = [stack.enter_context(_Compiler()) for _ in range(min(processes, len(kernels)))]
        found += pool.map(work, compilers)
    return {position: made for each in found for position, made in each.items()}


class Beside:
    """Kernels that are compiled in processes of their own while a search goes on. These give way to it."""

    def __init__(self, kernels: Mapping[str, Kernel], processes: int, keep: Callable[[str, Made], None]) -> None:
        """Begin at once.

        Args:
            kernels: by the names that they are kept as. Those that are first begin first.
            keep: is called with each that was made, by one thread or another.
        """
        self._kernels, self._keep = kernels, keep
        self._waiting = deque(kernels)
        self._made = {name: threading.Event() for name in kernels}
        self._compilers: list[_Compiler] = []
        self._working = 0
        atexit.register(self.stop)
        with suppress(OSError):
            for _ in range(min(processes, len(kernels))):
                self._compilers.append(_Compiler(nice=NICE))
        self._working = len(self._compilers)
        for each in self._compilers:
            threading.Thread(target=self._work, args=(each,), daemon=True).start()
        if not self._compilers:
            self.stop()

    @property
    def is_over(self) -> bool:
        """Whether each was made, or cannot be."""
        return all(each.is_set() for each in self._made.values())

    def wait(self, name: str) -> None:
        """Wait until one was made, or cannot be."""
        self._made[name].wait()

    def stop(self) -> None:
        """Compile no more of them."""
        self._waiting.clear()
        for each in self._compilers:
            each.__exit__()
        for made in self._made.values():
            made.set()

    def _work(self, compiler: _Compiler) -> None:
        with suppress(OSError, EOFError, pickle.UnpicklingError, IndexError, ValueError), compiler:
            while True:
                name = self._waiting.popleft()
                with code_cache.in_turn(name):
                    if not code_cache.is_kept(name):  # unless another process has made it meanwhile
                        self._keep(name, compiler.made(self._kernels[name]))
                self._made[name].set()
        self._working -= 1
        if not self._working:
            for made in self._made.values():
                made.set()


def _empty(argument: Any) -> Any:
    """An argument of the same type with nothing in it."""
    if isinstance(argument, ndarray):
        return empty((0,) * argument.ndim, argument.dtype)
    if isinstance(argument, tuple):
        inside = map(_empty, argument)
        return type(argument)(*inside) if hasattr(argument, "_fields") else tuple(inside)
    return argument
