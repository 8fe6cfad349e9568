"""`spark-submit highwater/submit.py SPEC --checkpoint URI ...`: `highwater check --engine spark` for whoever starts programs that way.

All options of `highwater check` are understood, and the exit codes are the same.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Check the specs that the command line names, on the cluster that spark-submit names."""
    sys.path[0] = str(Path(__file__).parents[1])  # the folder of the package, not the package itself
    from highwater.cli.main import main as highwater

    highwater(["check", "--engine", "spark", *sys.argv[1:]], prog_name="spark-submit highwater/submit.py")


if __name__ == "__main__":
    main()
