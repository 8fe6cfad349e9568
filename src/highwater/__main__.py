"""The program `highwater`, which is also `python -m highwater`. It imports next to nothing before it can answer
Ctrl-C.
"""

import gc
import os
import resource
import sys
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's algebra is not used, and its threads take memory each


LEAST = 1 << 28
"""The address space, in bytes, below which libraries end the process while they are loaded."""

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""Python looks for garbage each time there are 700 objects more. The imports of a check make 80,000, and all stay."""


def main() -> None:
    """Run the command line."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= limit < LEAST:
        sys.stderr.write(f"highwater: needs {LEAST >> 20} MiB of address space; `ulimit -v` allows {limit >> 20} MiB\n")
        sys.exit(3)  # highwater.cli.options.UNKNOWN, which cannot be imported
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    try:
        _with_room_for_frames(_run)
    finally:
        gc.freeze()  # at the end Python would look through all objects once more


def _run() -> None:
    try:
        from highwater.cli.main import main as commands
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)  # highwater.cli.options.INTERRUPTED, whose import was interrupted
    commands(prog_name="highwater")


def _with_room_for_frames(run: Callable[[], None]) -> None:
    run()


# Python keeps the frames of calls in pieces of 16 KiB. Where one is full, each call maps another one and gives it back,
# thousands of times in a check. A frame that needs so much lies in a piece of 1 MiB, and all further ones behind it.
_with_room_for_frames.__code__ = _with_room_for_frames.__code__.replace(co_stacksize=1 << 16)


if __name__ == "__main__":
    main()
