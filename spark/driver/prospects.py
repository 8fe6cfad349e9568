"""Prospects once every level is known: from which states one may still come true, by rounds of joins backwards.

A round adds the states with a step to what the round before has added, so that there are as many rounds as the longest
of the shortest ways. `highwater.explorer.search.graph_properties.prospects` is the same on one machine.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from highwater.explorer.trace import order_of, violation_at
from highwater.explorer.verdict import NO_GOAL, Violation
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Prospect
from highwater.spark.driver.cluster import Cluster
from highwater.spark.driver.tables import Tables, any_of, renamed
from highwater.spark.driver.traces import Traces
from highwater.spark.levels import Level
from highwater.spark.worker.graph import CUT, TRUE, Wanted

Run = Callable[[Callable[[], Any]], Any]
Judged = tuple[list[Violation], dict[str, int], dict[str, str]]
"""Counterexamples, the shortest first; by property, how many states are held back; and the properties that hold for
nothing, each with why.
"""


def lost_on(cluster: Cluster, levels: Sequence[Level], traces: Traces, known: Container[str], run: Run) -> Judged:
    """What `highwater.explorer.search.graph_properties.prospects.hopeless_states` finds, from levels that hold every
    state.

    Args:
        known: prospects that need not be judged.
        run: runs what starts jobs of Spark.

    Raises:
        ModelError: a prospect raised.
        CheckpointError: levels are damaged.
        ClusterError: Spark failed.
    """
    system = cluster.worker.system
    lost: list[Violation] = []
    held_back: Counter[str] = Counter()
    never = {each.of.name: NO_GOAL for each in system.prospects}
    for number, each in enumerate(system.prospects):
        if each.of.name in known:
            never.pop(each.of.name, None)
            continue
        with run(functools.partial(Tables, cluster, levels, Wanted(prospect=number))) as tables:
            reaching = run(functools.partial(_Reaching, tables, each))
            held_back[each.of.name] += reaching.held_back
            if reaching.is_true:
                never.pop(each.of.name, None)
            if reaching.lost_at is not None:
                trace = traces.along(run(reaching.ways))
                lost.append(violation_at(system, each, trace))
    first: dict[str, Violation] = {}
    for violation in sorted(lost, key=lambda violation: order_of(system, violation)):
        first.setdefault(violation.property, violation)
    return list(first.values()), {name: count for name, count in held_back.items() if count}, never


class _Reaching:
    """From where one prospect may come true.

    Attributes:
        is_true: whether it is true in any state.
        held_back: how many states reach it only by a step that a bound cuts.
        lost_at: the least level with a state from which it is lost; None if there is none.
    """

    def __init__(self, tables: Tables, of: Instance[Prospect]) -> None:
        self._tables, self._name = tables, str(of)
        says, self._states = sql.col("p0"), tables.states
        true = self._states.where(says.bitwiseAND(TRUE) != 0).select("id")
        certain, count = tables.checkpointed(f"{self._name}: where it is true", true)
        self.is_true = count > 0
        reached = self._reached(certain.where("false"), certain)
        cut = self._states.where(says.bitwiseAND(CUT) != 0).select("id").join(reached, "id", "anti")
        beyond, count = tables.checkpointed(f"{self._name}: where a bound cuts a step", cut)
        possible = self._reached(reached, beyond) if count else reached
        self._lost = self._states.join(possible, "id", "anti")
        only_beyond = self._states.join(possible, "id", "semi").join(reached, "id", "anti")
        (back,) = tables.do(f"{self._name}: what is held back", only_beyond.agg(sql.sum("orbit")).collect)
        (least,) = tables.do(f"{self._name}: where it is lost", self._lost.agg(sql.min("level")).collect)
        self.held_back, self.lost_at = back[0] or 0, least[0]

    def _reached(self, known: DataFrame, frontier: DataFrame) -> DataFrame:
        """What is known, the frontier, and the states from which steps lead to the frontier."""
        reached, count, rounds = known.union(frontier), 1, 0
        while count:
            rounds += 1
            leading = self._tables.steps.join(renamed_table(frontier), "target", "semi")
            found = any_of(leading, "source", "id").join(reached, "id", "anti")
            frontier, count = self._tables.checkpointed(f"{self._name}: states {rounds} steps before", found)
            reached = reached.union(frontier)
        return reached

    def ways(self) -> list[set[tuple[int, ...]]]:
        """Level by level, the states on a shortest path to the first states from which it is lost."""
        level = self.lost_at
        assert level is not None
        rows = self._tables.rows(f"{self._name}: lost at level {level}", self._lost.where(sql.col("level") == level))
        return self._tables.before(self._name, rows, level)


def renamed_table(ids: DataFrame) -> DataFrame:
    """Numbers of states as those of targets."""
    return ids.select(renamed("id", "target")).hint("shuffle_hash")
