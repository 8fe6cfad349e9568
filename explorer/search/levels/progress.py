"""How far a search is, and how often its threads pause to say so."""

from __future__ import annotations

import time
from collections.abc import Callable

from highwater.explorer.kernels.making.compile_times import Stopwatch
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.verdict import Progress

ROWS_BETWEEN_REPORTS = 1 << 18  # at first
FEWEST_ROWS_BETWEEN_REPORTS = 1 << 12
SECONDS_BETWEEN_REPORTS = 0.5
MEANWHILE = "in plain Python, while machine code is compiled"


class Pace:
    """What is reported while a search goes on.

    Attributes:
        watch: has run since the search began.
        rows_between_reports: how many rows are expanded between two reports within a level.
        restored: how many of the rows come from a snapshot.
        more: what else there is to say.
    """

    def __init__(self, engine: Engine, on_progress: Callable[[Progress], None]) -> None:
        self._engine = engine
        self._on_progress = on_progress
        self.watch = Stopwatch()
        self._reported_at = time.perf_counter()
        self.rows_between_reports = ROWS_BETWEEN_REPORTS
        self.restored = 0
        self.more = ""

    def adapt(self) -> None:
        """Let threads pause less often the faster they are: each time all wait for the last one, and then
        for Python.
        """
        seconds = time.perf_counter() - self._reported_at
        if seconds < SECONDS_BETWEEN_REPORTS / 2:
            self.rows_between_reports *= 2
        elif seconds > SECONDS_BETWEEN_REPORTS * 2:
            self.rows_between_reports = max(FEWEST_ROWS_BETWEEN_REPORTS, self.rows_between_reports // 2)

    def report(self, *, level_ended: bool) -> None:
        engine, store = self._engine, self._engine.store
        begin, end = store.level(store.depth)
        store.watch_memory()
        self._on_progress(
            Progress(
                depth=store.depth,
                frontier=end - begin,
                stored_states=store.count,
                generated=engine.generated,
                compiled_paths=engine.paths,
                seconds=self.watch.search_seconds,
                memory=store.bytes_taken,
                level_ended=level_ended,
                more=self.more or (MEANWHILE if engine.code.is_compiling else ""),
                restored=self.restored,
            )
        )
        self._reported_at = time.perf_counter()
