"""What a program has learned, as arrays and back: its trees, the states that it was learned on, and what steps do; and
arrays as bytes.

Leaves are numbered in the order of their layout. Branches that a kernel has asked for are unknown again. What cannot
be told apart from what was learned is left out: the runs of images, which are found again if need be.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from highwater.explorer.compiler.decision_trees import DecisionTrees
from highwater.explorer.compiler.effects import Column, Effects
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.tracing import OutOfBounds, Update
from highwater.explorer.encoding import PENDING, UNKNOWN

Arrays = Mapping[str, np.ndarray]
COLUMNS = ("writes", "copies", "cut", "tops")
BETWEEN = "\n"  # names of bounds


def as_bytes(arrays: Arrays) -> bytes:
    """Arrays of numbers or texts by name, compressed: what they are, and then their elements, one array after the
    other. An archive of numpy's takes five times as long to read, as each array is a file with a text of its own.
    """
    listed = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    return zlib.compress(
        b"\n".join([json.dumps(listed).encode(), b"".join(map(np.ndarray.tobytes, arrays.values()))]), 1
    )


def from_bytes(data: bytes) -> dict[str, np.ndarray]:
    """The arrays that bytes hold.

    Raises:
        ValueError: they hold none.
    """
    try:
        listed, _, elements = zlib.decompress(data).partition(b"\n")
        found, at = {}, 0
        for name, dtype, shape in json.loads(listed):
            found[name] = np.frombuffer(elements, dtype, math.prod(shape), at).reshape(shape).copy()
            at += found[name].nbytes
    except (zlib.error, TypeError) as error:
        raise ValueError(f"the bytes hold no arrays: {error}") from None
    return found


def program_as_arrays(program: Program) -> dict[str, np.ndarray]:
    """The trees of a program, and the states on which they were learned."""
    branches = program.branches.array[: program.branches.length].copy()
    branches[branches == PENDING] = UNKNOWN
    words = [words for _, words in program.examples]
    return {
        "branches": branches,
        "learned": np.array([number for number, _ in program.examples], np.int32),
        "states": np.array(words, np.uint64).reshape(len(words), program.layout.words),
        "audits": np.array([program.audits[name] for name in sorted(program.audits)], np.int64),
    } | _reads_as_arrays(program.reads)


def _reads_as_arrays(reads: Mapping[int, frozenset[str]]) -> dict[str, np.ndarray]:
    different = list(dict.fromkeys(reads.values()))
    numbers = {read: number for number, read in enumerate(different)}
    return {
        "ends": np.array(list(reads), np.int64),
        "reads": np.array([numbers[read] for read in reads.values()], np.int32),
        "different_reads": np.array([BETWEEN.join(sorted(read)) for read in different], str),
    }


def settings_read(arrays: Arrays) -> dict[int, frozenset[str]]:
    """Of the paths whose trees the arrays hold, which settings they read, as `Program.reads` has it."""
    different = [frozenset(filter(None, names.split(BETWEEN))) for names in arrays["different_reads"].tolist()]
    return {
        end: different[number] for end, number in zip(arrays["ends"].tolist(), arrays["reads"].tolist(), strict=True)
    }


def restore_program(program: Program, arrays: Arrays) -> None:
    """Let a program that has learned nothing begin with what another one of the same functions has learned.

    Raises:
        ValueError: the arrays are of another program.
    """
    learned, states = arrays["learned"], arrays["states"]
    if states.shape != (len(learned), program.layout.words) or len(arrays["audits"]) != len(program.audits):
        raise ValueError("the trees are of another program")
    restore_trees(program, arrays)
    program.reads = settings_read(arrays)
    program.examples = list(zip(learned.tolist(), map(tuple, states.tolist()), strict=True))
    program.paths = len(learned)
    program.audits.update(zip(sorted(program.audits), arrays["audits"].tolist(), strict=True))


def restore_trees(trees: DecisionTrees, arrays: Arrays) -> None:
    """Let trees that are bare be those of the arrays."""
    _restore(trees.branches, arrays["branches"])


def effects_as_arrays(effects: Effects, layout: Layout) -> dict[str, np.ndarray]:
    """What steps do: the rows that kernels read, and what they mean."""
    numbers = {leaf: number for number, leaf in enumerate(layout.root.leaves())}
    means = [list(_spelled(result, effects.bounds, numbers)) for result in effects.results]
    return {name: getattr(effects, name).array[: getattr(effects, name).length].copy() for name in COLUMNS} | {
        "means": np.array([cell for each in means for cell in (len(each), *each)], np.int64),
        "bounds": np.array([BETWEEN.join(sorted(bounds)) for bounds in effects.bounds], str),
    }


def restore_effects(effects: Effects, layout: Layout, arrays: Arrays) -> None:
    """Let effects that are none yet be those of the arrays."""
    for name in COLUMNS:
        _restore(getattr(effects, name), arrays[name])
    effects.bounds[:] = _bounds(arrays)
    effects.recall_by(lambda: map(effects_by_row(arrays, layout), range(len(arrays["cut"]))))


def effects_by_row(arrays: Arrays, layout: Layout) -> Callable[[int], Update | OutOfBounds]:
    """What the steps of the arrays do, by their rows."""
    leaves, cells, bounds, begins = layout.root.leaves(), arrays["means"].tolist(), _bounds(arrays), [0]
    while begins[-1] < len(cells):
        begins.append(begins[-1] + 1 + cells[begins[-1]])
    return lambda row: _read(cells[begins[row] + 1 : begins[row + 1]], bounds, leaves)


def _bounds(arrays: Arrays) -> list[frozenset[str]]:
    return [frozenset(names.split(BETWEEN)) for names in arrays["bounds"].tolist()]


def _restore(column: Column, rows: np.ndarray) -> None:
    column.extend(len(rows) - column.length)
    column.array[: len(rows)] = rows


def _spelled(result: Update | OutOfBounds, bounds: list[frozenset[str]], numbers: Mapping[Any, int]) -> Iterator[int]:
    """An effect as numbers: the number of what cuts it, and what it presumes of ranks; or -1 and what it sets, copies,
    presumes of ranks and clears, all but the last counted.
    """
    if isinstance(result, OutOfBounds):
        yield from (bounds.index(result.bounds), *chain.from_iterable(sorted(result.tops)))
        return
    yield from (-1, len(result.constants), len(result.copies), len(result.tops))
    for leaf, raw in sorted((numbers[leaf], raw) for leaf, raw in result.constants):
        yield from (leaf, raw)
    for target, source in sorted((numbers[target], numbers[source]) for target, source in result.copies):
        yield from (target, source)
    for group, top in sorted(result.tops):
        yield from (group, top)
    yield from sorted(numbers[leaf] for leaf in result.cleared)


def _read(cells: list[int], bounds: list[frozenset[str]], leaves: list[Any]) -> Update | OutOfBounds:
    if cells[0] >= 0:
        return OutOfBounds(bounds[cells[0]], frozenset(_pairs(cells[1:])))
    copies_at = 4 + 2 * cells[1]
    tops_at = copies_at + 2 * cells[2]
    cleared_at = tops_at + 2 * cells[3]
    return Update(
        frozenset((leaves[leaf], raw) for leaf, raw in _pairs(cells[4:copies_at])),
        frozenset((leaves[target], leaves[source]) for target, source in _pairs(cells[copies_at:tops_at])),
        frozenset(leaves[leaf] for leaf in cells[cleared_at:]),
        frozenset(_pairs(cells[tops_at:cleared_at])),
    )


def _pairs(cells: list[int]) -> Iterator[tuple[int, int]]:
    return zip(cells[::2], cells[1::2], strict=True)
