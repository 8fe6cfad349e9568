"""`spark-submit highwater/submit.py SPEC --checkpoint URI ...`: `highwater check --engine spark` for people who start
programs that way.

All options of `highwater check` are understood, and the exit codes are the same.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Check the specs that the command line names, on the cluster that spark-submit names."""
    sys.path[0] = str(Path(__file__).parents[1])  # the folder of the package, not the package itself
    from highwater.claims.own import offer
    from highwater.cli.main import main as highwater

    offer(sent_along())
    highwater(["check", "--engine", "spark", *sys.argv[1:]], prog_name="spark-submit highwater/submit.py")


def sent_along() -> list[Path]:
    """What `--py-files` has named: spark-submit puts it before Spark's own libraries on Python's path."""
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = next((place for place, each in enumerate(path) if each.endswith("pyspark.zip")), 0)
    return [Path(each) for each in path[:own] if each]


if __name__ == "__main__":
    main()
