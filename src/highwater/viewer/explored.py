"""What a search has explored, to look at: states by depth, successors by action, and the source with the lines that
ran.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.positions import in_repository


@attrs.frozen
class Plots:
    """What the plots are drawn from.

    Attributes:
        levels: how many states were new at each depth: the frontiers.
        actions: how many successors each action gave, the most fruitful first.
        work: of a search on Spark, how each level was made, as the report has it.
    """

    levels: Sequence[int]
    actions: Sequence[tuple[str, int]]
    work: Sequence[Mapping[str, Any]] = ()

    @property
    def totals(self) -> list[int]:
        """How many states were known at each depth."""
        return list(itertools.accumulate(self.levels))


def plots_of(levels: Any, actions: Any, work: Any = ()) -> Plots:
    """The plots of a search; without what a damaged report does not have."""
    known = levels if isinstance(levels, list | tuple) and all(isinstance(each, int) for each in levels) else ()
    counted = actions.items() if isinstance(actions, Mapping) else ()
    counts = [(name, count) for name, count in counted if isinstance(count, int)]
    return Plots(known, sorted(counts, key=lambda each: -each[1]), work if _is_work(work) else ())


def _is_work(work: Any) -> bool:
    """Whether something is what a report has of levels on Spark."""
    names = ("level", "rows", "seconds", "tasks", "executors", "skew")
    rows = work if isinstance(work, list) else [None]
    return all(isinstance(row, Mapping) and all(_is_size(row.get(name)) for name in names) for row in rows)


def _is_size(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < math.inf


@attrs.frozen
class Line:
    """A line of a source.

    Attributes:
        paths: how many paths ran it; None where it is no statement of a function that was called.
        shade: its colour.
    """

    number: int
    text: str
    paths: int | None
    shade: str


def shaded(lines: Mapping[str, Mapping[int, int]]) -> list[tuple[str, list[list[Line]]]]:
    """Files by name, each as functions, each as its lines: the darker the more paths ran them, and red if none did.

    Args:
        lines: by file, and by number of a line, how many paths ran it.
    """
    return [(str(in_repository(Path(file))), _functions(file, of)) for file, of in sorted(lines.items())]


def _functions(file: str, lines: Mapping[int, int]) -> list[list[Line]]:
    texts = Path(file).read_text(encoding="utf-8").splitlines()
    most = max(lines.values(), default=0)
    blocks: list[list[int]] = []
    for number in sorted(lines):  # lines that belong together have at most a few others between them
        if blocks and number - blocks[-1][-1] <= 3:
            blocks[-1].extend(range(blocks[-1][-1] + 1, number + 1))
        else:
            blocks.append([number])
    return [[Line(n, texts[n - 1], lines.get(n), _shade(lines.get(n), most)) for n in block] for block in blocks]


def _shade(paths: int | None, most: int) -> str:
    if paths is None:
        return "transparent"
    if paths == 0:
        return "rgba(228, 87, 86, .35)"
    return f"rgba(76, 120, 168, {0.08 + 0.42 * math.log1p(paths) / math.log1p(most):.2f})"
