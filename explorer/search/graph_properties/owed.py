"""Where a liveness property is owed: the rows where a path may begin that breaks it, where it stays, and where it comes
again and again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.compiler.meanings import InvariantProgram
from highwater.explorer.search.engine.engine import Engine, mask_of
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import EVERYWHERE, Liveness, Truths


class Marks:
    """By row, bits that say what a path that breaks a property may do there."""

    def __init__(self, engine: Engine[Any], of: Instance[Liveness]) -> None:
        form, system, self._rows = of.of.form, engine.system, engine.store.count
        false = false_in(engine, engine.liveness, system.liveness.index(of))
        asked = np.zeros(self._rows, np.uint8)
        if of.premise is not None:
            asked = 1 - false_in(engine, engine.premises, system.premises.index(of.premise))
        self._asks_to_return = form.asks_to_return
        self._stays, self._returns = (self._packed(where, asked, false) for where in (form.stays, form.returns))
        self._born = self._packed(form.begins, asked, false, engine.store.level(0)[1] if form.at_first else None)

    def _packed(self, where: Truths, asked: np.ndarray, false: np.ndarray, end: int | None = None) -> np.ndarray | None:
        """The rows before an end that are where it says; None if all are."""
        if where == EVERYWHERE and end is None:
            return None
        found = np.zeros(self._rows, np.uint8)
        for premise, truth in where:
            found[:end] |= (asked[:end] == premise) & (false[:end] != truth)
        return np.packbits(found)

    def _unpacked(self, found: np.ndarray | None) -> np.ndarray:
        return np.ones(self._rows, np.uint8) if found is None else np.unpackbits(found, count=self._rows)

    @property
    def born(self) -> np.ndarray:
        """Where a path that breaks the property may begin."""
        return self._unpacked(self._born)

    @property
    def allowed(self) -> np.ndarray:
        """Where such a path may lead."""
        return self._unpacked(self._stays)

    @property
    def returned(self) -> np.ndarray:
        """Where such a path is again and again."""
        return self._unpacked(self._returns)

    @property
    def needed(self) -> np.ndarray:
        """Of which rows a component must have one; empty if that does not matter."""
        return self.returned if self._asks_to_return else np.zeros(0, np.uint8)


def false_in(engine: Engine[Any], program: InvariantProgram, number: int) -> np.ndarray:
    """The rows where one instance of a program is false, marked."""
    store, marks = engine.store, np.zeros(engine.store.count, np.uint8)
    wanted = mask_of(each == number for each in range(len(program.instances)))

    def mark(begin: int, end: int) -> None:
        room = np.zeros((1, engine.layout.words), np.uint64)
        while engine.code.mark_violating(
            store.rows, begin, end, wanted, marks, engine.trees(program), room, store.units
        ):
            engine.count_violations(program, wanted, begin, end)  # so that all walks are known

    engine.spread(mark, 0, store.count)
    return marks
