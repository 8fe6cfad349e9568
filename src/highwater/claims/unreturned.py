"""Names a function of a model that has not returned for long, while it still runs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from highwater.explorer.blame import is_machinery

SECONDS = 10.0  # of the processor, so that it is no matter how busy the machine is
PATIENCE = 6  # so many times as long for a function that waits
LOOKS = 5


@contextmanager
def watched(complain: Callable[[str], None], *, seconds: float | None = None) -> Iterator[None]:
    """For what calls a model's functions in this thread.

    Args:
        complain: is called by another thread, once for each call that takes so long.
    """
    ended = threading.Event()
    caller = sys._getframe(2)  # what waits there is no function of a model: a script, or what runs tests
    arguments = (threading.get_ident(), caller, complain, SECONDS if seconds is None else seconds, ended)
    watcher = threading.Thread(target=_watch, args=arguments, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(
    thread: int, caller: FrameType, complain: Callable[[str], None], seconds: float, ended: threading.Event
) -> None:
    seen, since, is_named = None, (0.0, 0.0), True
    while not ended.wait(seconds / LOOKS):
        frames = list(_of_the_model(sys._current_frames().get(thread), caller))
        if not frames or frames[-1] is not seen:
            seen, since, is_named = (frames[-1] if frames else None), _clocks(thread), not frames
            continue
        worked, passed = (now - then for now, then in zip(_clocks(thread), since, strict=True))
        if not is_named and (worked >= seconds or passed >= seconds * PATIENCE):
            is_named = True
            inner, code = frames[0], frames[-1].f_code
            complain(
                f"{code.co_name} has not returned for {seconds:g} s ({code.co_filename}:{code.co_firstlineno}); "
                f"it is at {inner.f_code.co_filename}:{inner.f_lineno}"
            )


def _clocks(thread: int) -> tuple[float, float]:
    """The seconds of the processor that a thread has used, or all of them where the system does not count these; and
    the time.
    """
    now = time.monotonic()
    if not hasattr(time, "pthread_getcpuclockid"):
        return now, now
    return time.clock_gettime(time.pthread_getcpuclockid(thread)), now


def _of_the_model(frame: FrameType | None, caller: FrameType) -> Iterator[FrameType]:
    """The frames of a model's functions, the innermost first."""
    while frame is not None and frame is not caller:
        if not is_machinery(Path(frame.f_code.co_filename)):
            yield frame
        frame = frame.f_back
