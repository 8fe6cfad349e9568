"""Where a level was made, and what that took: for reports, and for who watches the search."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from highwater.explorer.memory import in_bytes
from highwater.explorer.verdict import LevelWork
from highwater.spark.worker.level import Admitted, Expanded


@attrs.frozen
class Moved:
    """The bytes that a job has shuffled, and spilled to disks; None where Spark does not know any more."""

    shuffled: int | None = None
    spilled: int | None = None


def measured(
    level: int,
    expanded: Sequence[Expanded],
    admitted: Sequence[Admitted],
    moved: Moved | None,
    tasks: int,
    rows_before: int,
    seconds: float,
) -> LevelWork:
    """The work that a level was.

    Args:
        level: its depth.
        moved: what Spark moved; None if the driver has made the level by itself.
        tasks: how many have made it otherwise.
        rows_before: the rows of the level before.
    """
    sizes = [report.rows for report in admitted]
    skew = max(sizes, default=0) * len(sizes) / max(1, sum(sizes))
    work = LevelWork(level=level, expanded=rows_before, rows=sum(sizes), seconds=seconds, skew=skew)
    if moved is None:
        return work
    reports: list[Expanded | Admitted] = [*expanded, *admitted]
    return attrs.evolve(
        work,
        tasks=tasks,
        executors=len({report.executor for report in reports if report.executor}),
        shuffled=moved.shuffled,
        spilled=moved.spilled,
    )


def in_words(work: LevelWork, windows: int, read_again: int) -> str:
    """How a level was made, in a line of progress.

    Args:
        windows: in how many windows each partition was visited.
        read_again: how many visited rows partitions had to read from storage.
    """
    took = f"level {work.level} took {work.seconds:.2f} s by "
    if not work.tasks:
        return f"{took}the driver"
    executors = f"{work.executors} executor" + "s" * (work.executors != 1)
    parts = [f"{took}{work.tasks} tasks on {executors}"]
    if work.shuffled is not None and work.spilled is not None:
        parts.append(f"shuffle {in_bytes(work.shuffled)}, spill {in_bytes(work.spilled)}")
    if windows > 1:
        parts.append(f"{windows} windows of each partition one after the other")
    if read_again:
        parts.append(f"{read_again:,} visited rows read again")
    return ", ".join(parts)
