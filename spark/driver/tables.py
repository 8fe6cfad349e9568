"""The graph of states as two tables of Spark, a row per state and a row per step, and what one property asks of it by
rounds of joins: how far states are, what trimming leaves, and the shortest ways there. All of it is to run inside
`Cluster.do`.

A round ends with a checkpoint on the executors, so that what Spark remembers of earlier rounds does not grow. States
and steps are moved once, to where rounds that follow steps look them up, and not in each of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import attrs
import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from highwater.explorer.blame import ModelError
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness
from highwater.spark.driver.cluster import Cluster
from highwater.spark.levels import Level
from highwater.spark.worker.graph import BEGINS, ENDS, HELD_BACK, RETURNS, STAYS, Wanted

STEPS_IN_THE_DRIVER = 1 << 22  # the driver has room for so many steps and their states
WORTH_A_ROUND = 1000  # a round that removes fewer than one step in so many is the last
ROWS_AT_ONCE = 1 << 16

Words = tuple[int, ...]


@attrs.frozen
class Rows:
    """States that came to the driver, a column for each word.

    Attributes:
        says: what the property says of each; see `highwater.spark.worker.graph`.
    """

    ids: np.ndarray
    levels: np.ndarray
    distances: np.ndarray
    says: np.ndarray
    words: list[np.ndarray]

    def __len__(self) -> int:
        return len(self.ids)

    def where(self, chosen: np.ndarray) -> Rows:
        """Some of them."""
        words = [column[chosen] for column in self.words]
        return Rows(self.ids[chosen], self.levels[chosen], self.distances[chosen], self.says[chosen], words)

    def all_words(self) -> set[Words]:
        """The words of each."""
        return set(zip(*(column.tolist() for column in self.words), strict=True))


class Tables:
    """The states that some properties, or a prospect, speak of, and the steps from these."""

    def __init__(self, cluster: Cluster, levels: Sequence[Level], wanted: Wanted) -> None:
        """List them.

        Raises:
            ModelError: a property raised.
        """
        self._cluster, self._levels = cluster, levels
        self._kind = "liveness" if wanted.prospect is None else "prospect"
        states, steps = self._listed(wanted)
        self.states = states.repartition("id").persist()
        self.steps = steps.repartition("source" if wanted.prospect is None else "target").persist()
        (found,) = self.do("listing states", self.states.agg(sql.max("error").alias("error")).collect)
        if found.error is not None:
            raise ModelError(found.error)

    def _listed(self, wanted: Wanted) -> tuple[DataFrame, DataFrame]:
        listed: tuple[DataFrame, DataFrame] = self.do(
            "finding shards", lambda: self._cluster.graph(self._levels, wanted)
        )
        return listed

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *error: object) -> None:
        self.states.unpersist()
        self.steps.unpersist()

    def premises(self) -> list[bool]:
        """Whether each premise is true in any state."""
        premises: list[bool] = self.do("looking for premises", lambda: self._cluster.premises(self._levels))
        return premises

    @contextmanager
    def below(self, level: int) -> Iterator[tuple[DataFrame, DataFrame]]:
        """All states of the levels before one, and the steps from these."""
        states, steps = (table.persist() for table in self._listed(Wanted(below=level)))
        try:
            yield states, steps
        finally:
            states.unpersist()
            steps.unpersist()

    def do(self, what: str, job: Callable[[], Any]) -> Any:
        """Do what starts jobs of Spark, so that it is described."""
        self._cluster.begin(f"{self._kind}: {what}")
        return job()

    def checkpointed(self, what: str, table: DataFrame) -> tuple[DataFrame, int]:
        """The same table with nothing before it, and how many rows it has."""

        def run() -> tuple[DataFrame, int]:
            kept = table.localCheckpoint(eager=False)  # counting makes it
            return kept, kept.count()

        counted: tuple[DataFrame, int] = self.do(what, run)
        return counted

    def before(self, name: str, begin: Rows, level: int) -> list[set[Words]]:
        """Level by level, the states on a shortest path to some states of a level, these included.

        Args:
            name: that of the property, for the descriptions of jobs.
        """
        marked = [begin]
        with self.below(level) as (states, steps):
            for before in range(level - 1, -1, -1):
                leading = steps.join(self.ids(marked[-1], "target"), "target", "semi")
                found = states.where(sql.col("level") == before).join(any_of(leading, "source", "id"), "id", "semi")
                marked.append(self.rows(f"{name}: ways at level {before}", found))
        return [rows.all_words() for rows in reversed(marked)]

    def rows(self, what: str, found: DataFrame, flag: str | None = None) -> Rows:
        """Fetch states to the driver."""
        says = sql.lit(0) if flag is None else sql.col(flag)
        words = [f"w{number}" for number in range(self._cluster.worker.layout.words)]
        distance = sql.col("distance" if "distance" in found.columns else "level")
        chosen = found.select("id", "level", distance.alias("far"), says.alias("says"), *words)
        with self._cluster.set("spark.sql.execution.arrow.maxRecordsPerBatch", ROWS_AT_ONCE):
            table = self.do(what, chosen.toArrow)
        columns = [column.to_numpy() for column in table.columns]
        ids, levels, distances, flags, *words_of = columns
        return Rows(ids, levels, distances, flags, [column.view(np.uint64) for column in words_of])

    def ids(self, rows: Rows, name: str) -> DataFrame:
        """Numbers of states as a table that every executor gets as a whole."""
        return sql.broadcast(self.states.sparkSession.createDataFrame(pd.DataFrame({name: rows.ids})))


class Waiting:
    """Where one property waits, by the length of the shortest path to each state on which it is owed.

    Attributes:
        held_back: how many states wait where only bounds cut what the property relies on.
        nearest_end: the least distance of a state where a behaviour may end; None if there is none.
        rounds: how many rounds of trimming there were.
    """

    def __init__(self, tables: Tables, position: int, of: Instance[Liveness]) -> None:
        """Measure the distances.

        Args:
            position: the property's position among those of the tables.
        """
        self._tables, self._flag, self._name, self.rounds = tables, f"p{position}", str(of), 0
        allowed = tables.states.where(self._says(STAYS))
        if of.of.form.may_begin_late:  # a path may begin wherever it may lead
            self._states = allowed.withColumn("distance", sql.col("level"))
        else:
            self._states = self._measured(allowed)
        self._may_end = self._says(ENDS) & self._says(RETURNS)
        held_back = sql.sum(sql.when(self._says(HELD_BACK), sql.col("orbit")))
        nearest_end = sql.min(sql.when(self._may_end, sql.col("distance")))
        (found,) = self._do("looking where it waits", self._states.agg(held_back, nearest_end).collect)
        self.held_back, self.nearest_end = found[0] or 0, found[1]

    def _says(self, flag: int) -> Column:
        return sql.col(self._flag).bitwiseAND(flag) != 0

    def _do(self, what: str, job: Callable[[], Any]) -> Any:
        return self._tables.do(f"{self._name}: {what}", job)

    def _measured(self, allowed: DataFrame) -> DataFrame:
        """Breadth first, the allowed states that paths reach which begin where they may, with their distances."""
        born, steps = allowed.where(self._says(BEGINS)), self._tables.steps
        starts = {row.level for row in self._do("looking where it begins", born.select("level").distinct().collect)}
        reached = born.select("id", sql.col("level").alias("distance")).where("false")
        frontier, distance = None, min(starts, default=0)
        while starts or frontier is not None:
            found = [born.where(sql.col("level") == distance).select("id")] if distance in starts else []
            if frontier is not None:
                found.append(
                    steps.join(any_of(frontier, "id", "source"), "source", "semi").select(renamed("target", "id"))
                )
            new = allowed.select("id").join(any_of(reduce(DataFrame.union, found), "id", "id"), "id", "semi")
            new = new.join(reached.select("id"), "id", "anti").withColumn("distance", sql.lit(distance))
            starts.discard(distance)
            new, count = self._kept(f"states at distance {distance}", new)
            reached = reached.union(new)
            frontier = new if count else None
            distance = distance + 1 if count else min(starts, default=0)
        return self._kept("distances", allowed.join(reached, "id"))[0]

    def _kept(self, what: str, table: DataFrame) -> tuple[DataFrame, int]:
        return self._tables.checkpointed(f"{self._name}: {what}", table)

    def trimmed(self) -> Rows:
        """The states that may be in a component, with a step at least: as many are left out as is worth the rounds."""
        ids = self._states.select("id")
        inside = self._tables.steps.join(any_of(ids, "id", "source"), "source", "semi")
        inside, left = self._kept("steps where it waits", inside.join(any_of(ids, "id", "target"), "target", "semi"))
        worth = True
        while worth and left > STEPS_IN_THE_DRIVER:
            self.rounds += 1
            following = inside.join(any_of(inside, "target", "source"), "source", "semi")
            following = following.join(any_of(inside, "source", "target"), "target", "semi")
            inside, now = self._kept(f"round {self.rounds} of trimming {left:,} steps", following)
            worth, left = (left - now) * WORTH_A_ROUND > left, now
        chosen = any_of(inside, "source", "id").join(any_of(inside, "target", "id"), "id", "semi")
        return self._tables.rows(
            f"{self._name}: fetching what {self.rounds} rounds left",
            self._states.join(chosen, "id", "semi"),
            self._flag,
        )

    def ways(self, nearest: Rows, distance: int) -> list[set[Words]]:
        """Step by step, the states on a shortest path to a state at a distance: one of some, or where a behaviour may
        end. Of these paths, those that are owed first.
        """
        far, steps = self._states.where(sql.col("distance") == distance), self._tables.steps
        at_end = self._tables.rows(f"{self._name}: ends at distance {distance}", far.where(self._may_end), self._flag)
        marked = {distance: _joined(nearest, at_end)}
        for before in range(distance - 1, -1, -1):
            leading = steps.join(self._tables.ids(marked[before + 1], "target"), "target", "semi")
            found = self._states.where(sql.col("distance") == before).join(
                any_of(leading, "source", "id"), "id", "semi"
            )
            marked[before] = self._tables.rows(f"{self._name}: ways at distance {before}", found, self._flag)
            if not len(marked[before]):
                break
        for first, rows in sorted(marked.items()):
            begin = rows.where((rows.says & BEGINS != 0) & (rows.levels == first))
            if len(begin):
                break
        return [
            *self._tables.before(self._name, begin, first),
            *(marked[at].all_words() for at in range(first + 1, distance + 1)),
        ]


def any_of(table: DataFrame, column: str, name: str) -> DataFrame:
    """The different values of a column, under another name, to be looked up in."""
    return table.select(renamed(column, name)).distinct().hint("shuffle_hash")


def renamed(column: str, name: str) -> Column:
    return sql.col(column).alias(name)


def _joined(some: Rows, more: Rows) -> Rows:
    def both(column: str) -> np.ndarray:
        return np.concatenate([getattr(some, column), getattr(more, column)])

    words = [np.concatenate(pair) for pair in zip(some.words, more.words, strict=True)]
    return Rows(both("ids"), both("levels"), both("distances"), both("says"), words)
