"""The program `highwater`, which is also `python -m highwater`. It imports next to nothing before it can answer
Ctrl-C.
"""

import os
import resource
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's algebra is not used, and its threads take memory each


LEAST = 1 << 28
"""The address space, in bytes, below which libraries end the process while they are loaded."""


def main() -> None:
    """Run the command line."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= limit < LEAST:
        sys.stderr.write(f"highwater: needs {LEAST >> 20} MiB of address space; `ulimit -v` allows {limit >> 20} MiB\n")
        sys.exit(3)  # highwater.cli.options.UNKNOWN, which cannot be imported
    try:
        from highwater.cli.main import main as commands
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)  # highwater.cli.options.INTERRUPTED, whose import was interrupted
    commands(prog_name="highwater")


if __name__ == "__main__":
    main()
