"""Paths that a program takes over from the trees of another search, under another protocol or within other bounds."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence

import numpy as np

from highwater.explorer.compiler.decision_trees import DecisionTrees
from highwater.explorer.compiler.layout import Leaf
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.storing import Arrays, effects_by_row, restore_trees, settings_read
from highwater.explorer.compiler.tracing import OutOfBounds, Update
from highwater.explorer.encoding import FIRST_EFFECT, NODE, NOTHING, UNKNOWN


def signed(instances: Sequence[str], settings: Mapping[str, str]) -> dict[str, np.ndarray]:
    """What others have to know of a program's trees to take paths over: what each of its instances does, and what the
    settings were, as hashes.
    """
    return {"instances": np.array(instances, str), "settings": np.array(json.dumps(settings))}


def settings_in(trees: Arrays) -> dict[str, str]:
    """What the settings of signed trees were.

    Raises:
        ValueError, LookupError: the arrays hold no such trees.
    """
    return dict(json.loads(trees["settings"].item()))


class Lender:
    """The trees of some actions over the same layout, as another search has learned them.

    A path is lent only to an instance that does the same as the one that was run for it, and only if the settings that
    the run has read are the same here. What they are called decides nothing.
    """

    def __init__(
        self, program: Program, instances: Sequence[str], settings: Mapping[str, str], trees: Arrays, effects: Arrays
    ) -> None:
        """
        Args:
            program: that of the actions here.
            instances: what each of these does, as a hash.
            settings: what each toggle and bound is here, by name.
            trees, effects: those of the other search.

        Raises:
            ValueError, LookupError: the arrays hold no such trees.
        """
        known_there = {instance: number for number, instance in enumerate(trees["instances"].tolist())}
        there = settings_in(trees)
        self._numbers = [known_there.get(instance) for instance in instances]
        self._trees = DecisionTrees(program.layout, trees["instances"].tolist())
        restore_trees(self._trees, trees)
        self._leaves = program.leaves_by_test
        known = {key for key, text in settings.items() if there.get(key) == text}
        self._read = {end: read for end, read in settings_read(trees).items() if read <= known}
        self._effect = functools.cache(effects_by_row(effects, program.layout))  # many paths have one effect

    def path(
        self, number: int, words: Sequence[int]
    ) -> tuple[list[tuple[Leaf, int]], Update | OutOfBounds | None, frozenset[str]] | None:
        """The path that an instance takes in a packed state, what it leads to, and which settings it reads; None if it
        was not learned there, or may be another one here.
        """
        position = self._numbers[number]
        if position is None:
            return None
        cells, path = self._trees.branches.cells, dict[Leaf, int]()
        while (branch := cells[position]) & NODE:
            test, first = self._trees.node(branch)
            value = words[test[0]] >> test[1] & (1 << test[2]) - 1
            leaf, low = self._leaves[test]
            path[leaf] = path.get(leaf, 0) | value << low
            position = first + value
        read = self._read.get(position)
        if read is None or branch == UNKNOWN:
            return None
        return list(path.items()), None if branch == NOTHING else self._effect(branch - FIRST_EFFECT), read
