"""Liveness up to symmetry: what the rows say of components, and their images where that is not enough.

The *quotient* has a row for each orbit of states. A cycle of rows need not be a cycle of states, because
a step may lead to an image of the row that it is listed for; and an action that is never taken by one name
may be taken by another on the way. So the quotient is asked less than the property asks: a class of demands,
which are images of each other, counts as met where one of them is taken, and as enabled everywhere only where
all of them are. What is fair for the states is fair for the rows then, but not the other way round.

What may be fair is *unfolded*: all images of its rows, and the steps between them, without symmetry. There every
demand is judged on its own. A fair component of states has images that are fair, too, so that an orbit is fair
as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from highwater.explorer.compiler.permutations import Permutation, renamed
from highwater.explorer.fairness import Demand, demand_numbers, demands_of
from highwater.explorer.kernels.arrays import SPARE, Fairness, Symmetry
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.engine.symmetry import no_symmetry
from highwater.explorer.search.graph_properties.edges import Rows, entered
from highwater.explorer.system import System
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness

ROWS_AT_ONCE = 1 << 16


def exact_fairness(system: System, of: Instance[Liveness]) -> Fairness:
    """What a property relies on, each demand on its own."""
    demands = demands_of(system, of.of)
    return _fairness(system, demands, list(range(len(demands))))


def quotient_fairness(system: System, of: Instance[Liveness], permutations: Sequence[Permutation]) -> Fairness:
    """What a property relies on, demands that are images of each other as a class."""
    demands = demands_of(system, of.of)
    numbers = demand_numbers(system, demands)
    number_of = {renamed(action, {}): number for action, number in zip(system.actions, numbers, strict=True)}
    classes = list(range(len(demands)))
    for demand, least in enumerate(classes):
        for permutation in permutations:
            for instance in demands[demand].instances:
                image = number_of.get(renamed(instance, permutation), -1)
                if image >= 0 and classes[image] != least:
                    classes = [least if each == classes[image] else each for each in classes]
    known = sorted(set(classes))
    return _fairness(system, demands, [known.index(each) for each in classes])


def _fairness(system: System, demands: Sequence[Demand], classes: Sequence[int]) -> Fairness:
    sizes = np.bincount(np.array(classes, np.int64), minlength=1)
    strong = np.zeros(len(sizes), np.uint8)
    for demand, of in zip(demands, classes, strict=True):
        strong[of] = demand.strong
    numbers = np.array(demand_numbers(system, demands), np.int64)
    return Fairness(
        numbers, np.array(classes, np.int64), sizes if demands else sizes[:0], strong if demands else strong[:0]
    )


@attrs.frozen
class Unfolded:
    """All images of some rows.

    Attributes:
        rows: the images, as rows of their own without symmetry.
        origins: by image, the row that it is of.
    """

    rows: Rows
    origins: np.ndarray

    def find(self, words: Sequence[int]) -> int:
        """The number of an image, or -1."""
        return self.rows.find(words)


def unfold(engine: Engine, chosen: np.ndarray) -> Unfolded:
    """All images of the chosen rows, each once."""
    units, width = engine.store.units, engine.layout.words
    found, origins = [], []
    for begin in range(0, len(chosen), ROWS_AT_ONCE):
        some = chosen[begin : begin + ROWS_AT_ONCE]
        padded = np.zeros((len(some), 2 * width), np.uint32)
        padded[:, :units] = engine.store.chosen(some)
        words = padded.view(np.uint64)
        images = [words, *(_images(words, engine.symmetry, number) for number in range(len(engine.symmetry.images)))]
        for number, image in enumerate(images):  # images of different rows differ
            new = np.ones(len(some), bool)
            for other in images[:number]:
                new &= (image != other).any(axis=1)
            found.append(image[new])
            origins.append(some[new])
    words = np.ascontiguousarray(np.concatenate(found))
    cells = words.view(np.uint32).reshape(len(words), -1)[:, :units]
    return Unfolded(entered(engine, cells, no_symmetry(engine.layout, engine.system.ranks)), np.concatenate(origins))


def _images(words: np.ndarray, symmetry: Symmetry, permutation: int) -> np.ndarray:
    """The images of some states under a permutation, the identity not counted; see
    `highwater.explorer.kernels.states.canonical`.
    """
    made = np.zeros_like(words)
    for chunk, (word, shift, mask) in enumerate(symmetry.chunks):
        made |= symmetry.images[permutation, chunk][(words[:, int(word)] >> shift & mask).astype(np.int64)]
    for guard, (word, shift, mask) in enumerate(symmetry.guards):
        made &= symmetry.kept[permutation, guard][(words[:, int(word)] >> shift & mask).astype(np.int64)]
    return made


def states_in(engine: Engine, marks: np.ndarray) -> int:
    """How many states the marked rows stand for."""
    marked, store = np.flatnonzero(marks), engine.store
    if len(engine.permutations) <= 1:
        return len(marked)
    words, room = (np.zeros((size, engine.layout.words), np.uint64) for size in (1, 1 + SPARE))
    total = 0
    for begin in range(0, len(marked), ROWS_AT_ONCE):
        some = store.chosen(marked[begin : begin + ROWS_AT_ONCE])
        orbits = np.ones(len(some), np.int64)
        engine.code.orbits_of(some.reshape(-1), len(some), engine.symmetry, orbits, words, room, store.units)
        total += int(orbits.sum())
    return total
