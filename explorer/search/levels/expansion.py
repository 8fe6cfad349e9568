"""Expanding a level with all threads: they pause for Python to grow trees and the visited set, and to tell how far they
are.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait

from highwater.explorer.blame import impure
from highwater.explorer.classes import class_after
from highwater.explorer.kernels import arrays
from highwater.explorer.kernels.arrays import Work
from highwater.explorer.kernels.statuses import (
    DONE,
    MISSED,
    MISSED_STEPS,
    NOT_NEW,
    PARTS_FULL,
    PAUSED,
    ROWS_FULL,
    TABLE_FULL,
)
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.engine.stand_ins import StandIns
from highwater.explorer.search.keeping.checkpoint import Inside
from highwater.explorer.search.levels.progress import Pace
from highwater.explorer.search.states.store import RESERVED_ROWS, Stopped

ROWS_IN_PLAIN_PYTHON = 500  # between two pauses


class Expansion:
    """What expands the levels of one search.

    Attributes:
        inside: whether it is inside a level, with counts that fit its rows once holes among these are closed.
        stand_ins: what stands in for machine code at first, if anything does.
        pending: ranges of rows that a run before this one took and did not expand.
    """

    def __init__(self, engine: Engine, pace: Pace) -> None:
        self._engine = engine
        self.stand_ins: StandIns | None = None
        self._store = engine.store
        self._pace = pace
        self.inside = False
        self.pending: list[tuple[int, int]] = []

    def run(self, on_pause: Callable[[], None], left: Inside | None = None) -> None:
        """Expand the deepest level, or what was left of it. `on_pause` is called now and then between batches."""
        begin, end = self._store.begin_level(left.cursor if left else 0)
        self.pending = list(left.pending) if left else []
        pause_at = begin + self._rows_between_pauses
        while True:
            if self.stand_ins is not None:
                self.stand_ins.give_way()
            works = self._engine.works_for(end - begin)
            self._hand_out(works)
            self._store.resume()
            self.inside = True
            statuses = self._run_all(works, end, begin if self.pending else pause_at)
            self.inside = False  # while rows move
            self._store.close_holes(self._engine.works)
            if all(status == DONE for status in statuses):
                return
            if ROWS_FULL in statuses:
                self._fill_up(works, statuses, end)
            if PARTS_FULL in statuses:
                self._store.grow_parts()
            if TABLE_FULL in statuses:
                self._store.grow_table()
            if PAUSED in statuses and self._store.shared[arrays.CURSOR] >= pause_at:
                if not self._engine.code.stand_ins:
                    self._pace.adapt()
                pause_at += self._rows_between_pauses
                self.inside = True
                on_pause()
                self._pace.report(level_ended=False)
                self.inside = False

    @property
    def _rows_between_pauses(self) -> int:
        return ROWS_IN_PLAIN_PYTHON if self._engine.code.stand_ins else self._pace.rows_between_reports

    def _hand_out(self, works: list[Work]) -> None:
        """Let threads without a batch begin with one that is pending."""
        for work in works:
            if self.pending and work.counts[arrays.FIRST] == work.counts[arrays.LAST]:
                work.counts[arrays.FIRST], work.counts[arrays.LAST] = self.pending.pop()

    def _run_all(self, works: list[Work], end: int, pause_at: int) -> list[int]:
        if self._engine.code.stand_ins:  # apart: an interrupt would end plain Python with half of a row counted
            with ThreadPoolExecutor(1) as pool:
                return self._run_in(pool, works, end, pause_at)
        if self._engine.pool is None or len(works) == 1:
            return [self._run_one(work, end, pause_at) for work in works]
        return self._run_in(self._engine.pool, works, end, pause_at)

    def _run_in(self, pool: Executor, works: list[Work], end: int, pause_at: int) -> list[int]:
        running: list[Future[int]] = []
        try:
            running += [pool.submit(self._run_one, work, end, pause_at) for work in works]
            return [each.result() for each in running]
        except BaseException as error:
            self._store.shared[arrays.STOP] = 1
            wait(running)
            if isinstance(error, RuntimeError) and "start new thread" in str(error):
                raise MemoryError(str(error)) from None
            raise

    def _run_one(self, work: Work, end: int, pause_at: int) -> int:
        engine, store = self._engine, self._store
        try:
            while True:
                limits = arrays.Limits(end, pause_at, store.entries, store.capacity, RESERVED_ROWS)
                status: int = engine.code.expand(
                    store.visited, store.shared, limits, engine.machine(), work, store.units
                )
                if status == MISSED:
                    engine.learn(engine.actions, work.misses[: work.counts[arrays.MISSES]])
                elif status == MISSED_STEPS:
                    engine.learn_steps(work.misses[: work.counts[arrays.MISSES]])
                elif status == NOT_NEW:
                    row, tree, *_ = work.misses[0].tolist()
                    action = engine.system.actions[tree]
                    class_after(engine.system, action, engine.layout.unpack(engine.store.words(row)))
                    raise impure(action)  # plain Python counts up no number there
                elif status == ROWS_FULL:
                    self.inside = False  # some successors of this batch are counted, and not all are rows
                    return status
                else:
                    return status
                if store.shared[arrays.STOP]:  # what this thread waits for may never be learned
                    return PAUSED
        except BaseException:
            store.shared[arrays.STOP] = 1
            raise

    def _fill_up(self, works: list[Work], statuses: list[int], end: int) -> None:
        """Use the rows that threads left over, one thread after the other, and stop. A batch for which there were too
        few rows is counted already.
        """
        for work, status in zip(works, statuses, strict=True):
            self._store.resume()
            if status == ROWS_FULL:
                counted = work.enabled.copy(), work.steps.copy()
                status = self._run_one(work, end, 0)
                work.enabled[:], work.steps[:] = counted
            if status != ROWS_FULL:
                self._run_one(work, end, end)
            self._store.close_holes(self._engine.works)
        raise Stopped(self._store.what_is_full)
