"""Names a function of a model that has not returned for long, while it still runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from highwater.explorer.blame import is_machinery

SECONDS = 10.0
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
    seen, looks = None, 0
    while not ended.wait(seconds / LOOKS):
        frames = list(_of_the_model(sys._current_frames().get(thread), caller))
        looks = looks + 1 if frames and frames[-1] is seen else 0
        seen = frames[-1] if frames else None
        if seen and looks == LOOKS:
            inner, code = frames[0], seen.f_code
            complain(
                f"{code.co_name} has not returned for {seconds:g} s ({code.co_filename}:{code.co_firstlineno}); "
                f"it is at {inner.f_code.co_filename}:{inner.f_lineno}"
            )


def _of_the_model(frame: FrameType | None, caller: FrameType) -> Iterator[FrameType]:
    """The frames of a model's functions, the innermost first."""
    while frame is not None and frame is not caller:
        if not is_machinery(Path(frame.f_code.co_filename)):
            yield frame
        frame = frame.f_back
