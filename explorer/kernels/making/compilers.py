"""Processes that compile kernels: several side by side, or one for a process that lacks the memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

from numpy import empty, ndarray

Kernel = tuple[str, str, tuple[Any, ...]]
"""The module of a kernel, its name, and arguments of the types that it is compiled for."""

Made = tuple[str, bytes]
"""The name of an entry point, and the object code that it is in."""

# what is asked for is of types that are found once the path is known
_PROGRAM = """
import pickle, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks is interrupted, and ends this process
sys.path[:] = pickle.load(sys.stdin.buffer)
import importlib
from highwater.explorer.kernels.making import compiling
while True:
    try:
        module, name, arguments = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    kernel = getattr(importlib.import_module(f"highwater.explorer.kernels.{module}"), name)
    pickle.dump(compiling.object_code(kernel, arguments), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


class _Compiler:
    """A process that compiles what it is asked for, until it fails."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM],
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


def _empty(argument: Any) -> Any:
    """An argument of the same type with nothing in it."""
    if isinstance(argument, ndarray):
        return empty((0,) * argument.ndim, argument.dtype)
    if isinstance(argument, tuple):
        inside = map(_empty, argument)
        return type(argument)(*inside) if hasattr(argument, "_fields") else tuple(inside)
    return argument
