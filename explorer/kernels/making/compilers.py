"""Processes that compile kernels: several side by side, or one for a process that lacks the memory."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing.util import Finalize
from typing import Any

from numpy import empty, ndarray

Kernel = tuple[str, str, tuple[Any, ...]]
"""The module of a kernel, its name, and arguments of the types that it is compiled for."""

NICE = 1  # of processes beside a search: with more they starve on a busy machine

GO_ON = b"+"  # sent to processes that are to go on behind the one that asked

Made = tuple[str, bytes]
"""The name of an entry point, and the object code that it is in."""

# what is asked for is of types that are found once the path is known
_PROGRAM = """
import os, pickle, signal, sys
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

_BESIDE = """
import contextlib, importlib, os, pickle, sys, threading
os.nice({nice})
sys.path[:] = pickle.load(sys.stdin.buffer)
kernels = pickle.load(sys.stdin.buffer)
def end_with_who_asks():
    if sys.stdin.buffer.read(1) != {go_on}:
        os._exit(1)
threading.Thread(target=end_with_who_asks, daemon=True).start()
from highwater.explorer.kernels.making import code_cache, compiling
for kept_as, (module, name, arguments) in kernels.items():
    made = None
    with contextlib.suppress(Exception), code_cache.in_turn(kept_as):  # who asked finds out why, if it needs it
        if not code_cache.is_kept(kept_as):  # unless another process has made it meanwhile
            kernel = getattr(importlib.import_module(f"highwater.explorer.kernels.{{module}}"), name)
            made = compiling.object_code(kernel, arguments)
            code_cache.keep(kept_as, *made)
    with contextlib.suppress(OSError):  # who asked has ended
        pickle.dump((kept_as, made), sys.stdout.buffer)
        sys.stdout.buffer.flush()
os._exit(0)
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


class Beside:
    """Kernels that are compiled in processes of their own while a search goes on, to which these give way.

    Whatever they have not made by the end of this process they make behind it: the next search needs it. Where this
    process is killed, or `stop` is called, they end at once.
    """

    def __init__(self, kernels: Mapping[str, Kernel], processes: int, keep: Callable[[str, Made], None]) -> None:
        """Begin at once.

        Args:
            kernels: by the names that they are kept as. Those that are first begin first.
            keep: is called with each that was made, by one thread or another.
        """
        self._keep = keep
        self._made = {name: threading.Event() for name in kernels}
        self._processes: list[subprocess.Popen[bytes]] = []
        names, processes = list(kernels), min(processes, len(kernels))
        for first in range(processes):
            self._start({name: kernels[name] for name in names[first::processes]})
        Finalize(None, self.let_go_on, exitpriority=0)  # at the end of a fork of `multiprocessing`, too

    def _start(self, kernels: Mapping[str, Kernel]) -> None:
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BESIDE.format(nice=NICE, go_on=GO_ON)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except OSError:
            self._give_up(kernels)
            return
        self._processes.append(process)
        threading.Thread(target=self._listen, args=(process, kernels), daemon=True).start()

    @property
    def is_over(self) -> bool:
        """Whether each was made, or cannot be."""
        return all(each.is_set() for each in self._made.values())

    def wait(self, name: str) -> None:
        """Wait until one was made, or cannot be."""
        self._made[name].wait()

    def stop(self) -> None:
        """Compile no more of them."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._give_up(self._made)

    def let_go_on(self) -> None:
        """Let go on behind this process, which is about to end, what has not ended."""
        for process in self._processes:
            with suppress(OSError, ValueError):
                assert process.stdin
                process.stdin.write(GO_ON)
                process.stdin.flush()
            process.returncode = process.poll() or 0  # nobody waits for it

    def _give_up(self, names: Iterable[str]) -> None:
        for name in names:
            self._made[name].set()

    def _listen(self, process: subprocess.Popen[bytes], kernels: Mapping[str, Kernel]) -> None:
        assert process.stdin
        assert process.stdout
        with suppress(OSError, EOFError, pickle.UnpicklingError, ValueError):
            asked = {name: (module, kernel, _empty(given)) for name, (module, kernel, given) in kernels.items()}
            pickle.dump([*sys.path], process.stdin)
            pickle.dump(asked, process.stdin)
            process.stdin.flush()
            while True:
                name, made = pickle.load(process.stdout)
                if made is not None:
                    self._keep(name, made)
                self._made[name].set()
        self._give_up(kernels)


beside: dict[str, Beside] = {}
"""What is compiled beside the searches of this process, or was, by the names of its entry points."""

os.register_at_fork(after_in_child=beside.clear)  # nobody listens there


def let_go_on() -> None:
    """Let all that is compiled beside searches go on behind this process, which is about to end by `os._exit`."""
    for each in set(beside.values()):
        each.let_go_on()


def stop() -> None:
    """Compile nothing more beside searches."""
    for each in set(beside.values()):
        each.stop()
    beside.clear()


def _empty(argument: Any) -> Any:
    """An argument of the same type with nothing in it."""
    if isinstance(argument, ndarray):
        return empty((0,) * argument.ndim, argument.dtype)
    if isinstance(argument, tuple):
        inside = map(_empty, argument)
        return type(argument)(*inside) if hasattr(argument, "_fields") else tuple(inside)
    return argument
