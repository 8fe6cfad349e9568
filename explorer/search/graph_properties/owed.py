"""Where a liveness property is owed: the rows where it is false, and those where a path may begin on which it is owed
and stays false.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.compiler.meanings import InvariantProgram
from highwater.explorer.kernels.making import entry_points
from highwater.explorer.search.engine.engine import Engine, mask_of
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Begins, Liveness


class Marks:
    """By row, a bit that says whether a property is false there, and one that says whether it may begin to be owed
    there.
    """

    def __init__(self, engine: Engine[Any], of: Instance[Liveness]) -> None:
        self._rows = engine.store.count
        lacking = false_in(engine, engine.liveness, engine.system.liveness.index(of))
        self._lacking = np.packbits(lacking)
        self._everywhere = not of.of.form.facts.stays_false
        match of.of.form.facts.begins:
            case Begins.AT_FIRST:
                lacking[engine.store.level_ends[1] :] = 0
            case Begins.AFTER_PREMISE:
                lacking &= 1 - false_in(engine, engine.premises, engine.system.premises.index(of.premise))
        self._born = np.packbits(lacking)

    @property
    def lacking(self) -> np.ndarray:
        """Where the property is false."""
        return np.unpackbits(self._lacking, count=self._rows)

    @property
    def born(self) -> np.ndarray:
        """Where a path may begin on which the property is owed and stays false."""
        return np.ones(self._rows, np.uint8) if self._everywhere else np.unpackbits(self._born, count=self._rows)

    @property
    def allowed(self) -> np.ndarray:
        """Where such a path may lead."""
        return np.ones(self._rows, np.uint8) if self._everywhere else self.lacking

    @property
    def needed(self) -> np.ndarray:
        """Of which rows a component must have one; empty if that does not matter."""
        return self.lacking if self._everywhere else np.zeros(0, np.uint8)


def false_in(engine: Engine[Any], program: InvariantProgram, number: int) -> np.ndarray:
    """The rows where one instance of a program is false, marked."""
    store, marks = engine.store, np.zeros(engine.store.count, np.uint8)
    wanted = mask_of(each == number for each in range(len(program.instances)))

    def mark(begin: int, end: int) -> None:
        room = np.zeros((1, engine.layout.words), np.uint64)
        while entry_points.mark_violating(
            store.rows, begin, end, wanted, marks, engine.trees(program), room, store.units
        ):
            engine.count_violations(program, wanted, begin, end)  # so that all walks are known

    engine.spread(mark, 0, store.count)
    return marks
