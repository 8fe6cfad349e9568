"""The audit at the end of a search on Spark: the driver judges some rows a second time, and looks for their successors
in the levels as they are stored.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from highwater.explorer.blame import JudgedOtherwise, ModelError
from highwater.explorer.partitioned.worker import Example, PartitionWorker
from highwater.explorer.search.audit import FEWEST_STATES, TreeBooks, hold_sums
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.second_judge import UNKNOWN, SecondJudge, Tally
from highwater.explorer.system import Cut, successor
from highwater.explorer.verdict import Audit
from highwater.spark.levels import Level, LevelFile, Levels

FEWEST_FILES = 8  # that are read to draw rows from
MOST_PATHS = 1 << 9
MOST_ROWS_IN_THE_DRIVER = 1 << 21  # that it looks through by itself
ACTIONS, INVARIANTS = range(2)  # the programs whose paths are judged, by their numbers in examples

Words = tuple[int, ...]
Found = tuple[Words, int, int]
"""The words of a row that is stored, its depth, and how many states it is said to stand for."""
LookUp = Callable[[Collection[int]], Iterable[Found]]
"""Gives the stored rows whose first word is one of some."""


def audit(
    worker: PartitionWorker,
    store: Levels,
    levels: Sequence[Level],
    learned: Iterable[Example],
    look_up: LookUp,
    *,
    counts: Counts,
    expanded: int,
    no_deadlock: bool,
) -> Audit:
    """Judge some of what was found a second time: rows drawn at random, and each path in the state in which it was
    learned, on whatever machine.

    Args:
        learned: the paths that were learned elsewhere.
        counts: what the search has counted.
        look_up: looks through all levels, if they have more rows than the driver reads itself.
        expanded: how many levels were expanded: the first ones.
        no_deadlock: whether a state at rest is a violation.

    Raises:
        JudgedOtherwise: plain Python does not agree.
    """
    started, system, chance = time.perf_counter(), worker.system, random.Random(0)
    rows = sum(level.rows for level in levels)
    drawn = dict.fromkeys(_drawn(store, levels, worker.layout.words, chance))
    paths = _paths(worker, learned)
    judged = chance.sample(paths, min(len(paths), MOST_PATHS))
    wanted = {*drawn, *map(worker.representative, system.initial), *(words for _, _, words in judged)}
    for words in drawn:
        wanted |= _led_to(worker, words, range(len(system.actions)))
    for kind, number, words in judged:
        wanted |= _led_to(worker, words, [number]) if kind == ACTIONS else set()
    if rows <= MOST_ROWS_IN_THE_DRIVER:
        look_up = _looking_through(store, levels, worker.layout.words)
    books = LevelBooks(worker, _only(wanted, look_up({words[0] for words in wanted})))
    judge = SecondJudge(
        system,
        books,
        permutations=worker.permutations,
        rows=books.rows,
        expanded=books.rows_before(expanded),
        no_deadlock=no_deadlock,
    )
    judge.judge_initial()
    for words in drawn:
        judge.judge(books.number_of(words))
    walked = 0
    for kind, number, words in judged:
        row = books.number_of(words)
        if row == UNKNOWN or (kind == ACTIONS and row >= books.rows_before(expanded)):
            continue  # a search for something else has learned it
        walked += 1
        (judge.judge_step if kind == ACTIONS else judge.judge_invariant)(row, number)
    sizes = [level.states for level in levels]
    hold_sums(judge, system, counts, sizes, complete=len(judge.states) == rows)
    return Audit(len(judge.states), walked, walked + len(paths) - len(judged), time.perf_counter() - started)


def _paths(worker: PartitionWorker, learned: Iterable[Example]) -> list[Example]:
    """The paths of actions and invariants, each with the state in which it was learned."""
    programs = (worker.search.actions, worker.search.invariants)
    own = ((kind, number, words) for kind, program in enumerate(programs) for number, words in program.examples)
    every = (each for each in (*own, *learned) if each[0] in (ACTIONS, INVARIANTS))
    return list(dict.fromkeys((kind, number, tuple(map(int, words))) for kind, number, words in every))


def _drawn(store: Levels, levels: Sequence[Level], words: int, chance: random.Random) -> Iterator[Words]:
    """Rows at random: of some files, of which those with many rows are likelier."""
    files = [file for level in levels for file in level.files]
    files.sort(key=lambda file: chance.random() ** (1 / file.rows), reverse=True)
    count = 0
    chosen: list[LevelFile] = []
    while files and (len(chosen) < FEWEST_FILES or count < FEWEST_STATES):
        chosen.append(files.pop(0))
        count += chosen[-1].rows
    numbers = chance.sample(range(count), min(FEWEST_STATES, count))
    for file in chosen:
        inside = [number for number in numbers if number < file.rows]
        numbers = [number - file.rows for number in numbers if number >= file.rows]
        columns = store.words_of(file, words) if inside else []
        for number in inside:
            yield tuple(int(column[number]) for column in columns)


def _led_to(worker: PartitionWorker, words: Words, numbers: Iterable[int]) -> set[Words]:
    """The rows that stand for what some action instances lead to, in plain Python."""
    state, found = worker.layout.unpack(words), set()
    for number in numbers:
        try:
            after = successor(worker.system.actions[number], state, worker.system.domain)
        except ModelError:  # the judge will meet it again
            continue
        if after is not None and not isinstance(after, Cut):
            found.add(worker.representative(after))
    return found


def _looking_through(store: Levels, levels: Sequence[Level], words: int) -> LookUp:
    """Look through the levels in this process."""
    names = [*(f"w{number}" for number in range(words)), "depth", "orbit"]

    def look_up(first_words: Collection[int]) -> Iterator[Found]:
        wanted = np.array(sorted(first_words), np.uint64)
        for level in levels:
            for file in level.files:
                columns = store.read_file(file, names)
                for row in np.flatnonzero(np.isin(columns[0].view(np.uint64), wanted)).tolist():
                    *found, depth, orbit = (int(column[row]) for column in columns)
                    yield as_words(found), depth, orbit

    return look_up


def as_words(columns: Iterable[int]) -> Words:
    """Words from what columns hold, which have a sign."""
    return tuple(word & (1 << 64) - 1 for word in columns)


def _only(wanted: Collection[Words], found: Iterable[Found]) -> dict[Words, tuple[int, int]]:
    """Depth and orbit of the rows that are wanted, by their words.

    Raises:
        JudgedOtherwise: a row is stored twice.
    """
    places: dict[Words, tuple[int, int]] = {}
    for words, depth, orbit in found:
        if words not in wanted:
            continue
        if words in places:
            depths = f"it is stored at the depths {places[words][0]} and {depth}"
            raise JudgedOtherwise("", f"the state with the words {words}", "", "it is stored once", depths)
        places[words] = depth, orbit
    return places


class LevelBooks(TreeBooks):
    """What the driver answers a second judge of some rows of the levels, which it numbers by depth.

    Attributes:
        rows: how many rows these are.
    """

    def __init__(self, worker: PartitionWorker, places: dict[Words, tuple[int, int]]) -> None:
        super().__init__(worker.search)
        self._worker, self._places = worker, places
        self._words = sorted(places, key=lambda words: places[words][0])
        self._numbers = {words: number for number, words in enumerate(self._words)}
        self.rows = len(self._words)
        worker.take_counts()

    def rows_before(self, depth: int) -> int:
        """How many of the rows are less deep."""
        return sum(found < depth for found, _ in self._places.values())

    def number_of(self, words: Words) -> int:
        """The number of a row, or `UNKNOWN`."""
        return self._numbers.get(words, UNKNOWN)

    def words(self, row: int) -> Words:
        return self._words[row]

    def row_of(self, state: Any, beside: int | None = None) -> int:
        return self.number_of(self._worker.representative(state))

    def depth_of(self, row: int) -> int:
        return self._places[self._words[row]][0]

    def again(self, row: int) -> Tally:
        """What machine code counts as the driver expands the row again."""
        worker = self._worker
        flat = worker.rows_of([np.array([word], np.uint64) for word in self._words[row]])
        leads_to = {self.number_of(words) for _, records in worker.expand(flat, 1) for words in self._led_to(records)}
        counts, _ = worker.take_counts()
        return Tally(
            states=self._places[self._words[row]][1],
            enabled=Counter({number: count for number, count in enumerate(counts.enabled) if count}),
            cut=+counts.cut_steps,
            at_rest=counts.at_rest,
            at_bound=counts.stopped_at_bound,
            leads_to=frozenset(leads_to - {row}),
            breaks=bool(worker.broken(flat, ())),
        )

    def _led_to(self, records: np.ndarray) -> Iterator[Words]:
        rows = records.reshape(-1, self._worker.record_width)[:, : self._worker.units]
        columns = self._worker.columns_of(np.ascontiguousarray(rows).reshape(-1))
        return (tuple(map(int, words)) for words in zip(*columns, strict=True))
