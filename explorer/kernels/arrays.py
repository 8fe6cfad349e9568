"""What kernels and their callers share: the arrays that go in, and positions in them. Without machine code."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]
Units: TypeAlias = npt.NDArray[np.uint32]
Words: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]
Labels: TypeAlias = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
"""Arrays by what one element is: a byte, half a word of a state, a word, a count or a number of a row, an action."""

# Positions in `shared`: the next row to expand, the next row to reserve, whether all threads are to stop, and how many
# slots of the visited set the batches at hand may take.
CURSOR, ROWS, STOP, CLAIMED, SHARED = range(5)

# Positions in `sizes`: the bytes of a folded row, the bits of each of its two numbers, how many parts there are, and
# how many there may be.
ROW_BYTES, NUMBER_BITS, PARTS, MOST_PARTS, SIZES = range(5)

# Columns of a plan: the way down to the part from the row, one bit for each step, and how many steps follow the first;
# of a piece in which word it begins, how many words it takes, and which bits of the first and the last word that it has
# bits in; of a pair 0 words, and the places of both halves. A piece of up to a word takes one, shifted, even if it has
# bits in two: of such a piece by how much, in which word it ends, and what bits it takes. Of each part also in which
# words it has bits, a bit each; but another one for the word in which the state is cut, if they are behind the cut. Of
# the state, in the columns of pieces, the word in which it is cut, its bits before that, and the bit for these.
WAY, STEPS, FIRST_WORD, WORDS, LOWEST, HIGHEST, LEFT, RIGHT, SHIFT, LAST_WORD, OWN_BITS, HELD, COLUMNS = range(13)
BEHIND_CUT = 63  # states have fewer words

# Hashes of states and of parts multiply by the one and fold by the other.
MULTIPLIER, FOLD = 0x9E3779B97F4A7C15, 29

# Positions in `counts`. What is counted are states and steps without symmetry: a row counts for its whole orbit.
FIRST, LAST, NEXT_ROW, LAST_ROW, MISSES, AT_REST, STOPPED_AT_BOUND, COUNTS = range(8)

# row numbers may exceed the number of slots by less than this: what threads have reserved and not used
ROWS_BEYOND_SLOTS = 1 << 16

RECORD_EXTRA = 2  # units of a record beyond its row: parent and action

# Rows of room behind the successors: two for images, and one per name for its key.
IMAGE, LEAST, KEYS, MOST_KEYS = 1, 2, 3, 5
SPARE = LEAST + MOST_KEYS


# in place of a step's target: a bound cuts the step; it leads out of the region that is asked for
CUT, OUTSIDE = 2**32 - 1, 2**32 - 2

# What becomes of a row: it is out of the question, in question, or in a fair component.
OUT, OPEN, FAIR = range(3)

# What is counted for one component, by class but for DEMAND_SEEN: in how many states all demands of the class are
# enabled, whether any is in any state, whether one is taken; the state counted last; how many are enabled there.
FULL, SOME, TAKEN, DEMAND_SEEN, CLASS_SEEN, NOW, TALLIED = range(7)

# What is noted of a row: no step of it is relied on, so that a behaviour may end there; or bounds cut all that are.
ENDS, HELD_BACK = 1, 2

# What is seen of a row's steps that are relied on: a bound cuts one; one may happen. If both, the latter counts.
ONLY_CUT, MAY_HAPPEN = 1, 2

MANY = 255  # steps to a row, or more: they are not counted any more


class FlatRows(NamedTuple):
    """Rows of 32-bit units one after the other, see `highwater.explorer.kernels.states.rows`."""

    flat: Units


class FoldedRows(NamedTuple):
    """Folded rows, see `highwater.explorer.kernels.states.folding`.

    Attributes:
        folded: the rows, some bytes each.
        parts: their parts, by number, as many words each as the longest one has.
        index: a table of the numbers of parts, by their hash.
        plan: how a state is cut, see `highwater.explorer.search.states.cuts`.
        sizes: see above.
    """

    folded: Bytes
    parts: Words
    index: Units  # type: ignore[assignment]  # a tuple has a method of that name
    plan: Words
    sizes: Numbers


class OwnedRows(NamedTuple):
    """The rows of an owner in a distributed search, see `highwater.explorer.kernels.states.owners`.

    Attributes:
        older: the first rows, which are folded.
        folded: how many these are.
        newer: those behind them, which are flat.
    """

    older: FoldedRows | FlatRows
    folded: int
    newer: FlatRows


class Trees(NamedTuple):
    """The trees of a program, wide nodes over them, and a filter in front of them.

    Attributes:
        branches: the trees, see `highwater.explorer.compiler.decision_trees`.
        nodes, entries: the wide nodes, see `highwater.explorer.compiler.wide_nodes`.
        chunks: per chunk, how its index is gathered, see `highwater.explorer.compiler.prefilter.gathering`.
        candidates: per chunk and index, a bit per tree that is not known to lead to nothing; the last chunk has index 0
            only and holds the trees that lead anywhere at all.
    """

    branches: Words
    nodes: Words
    entries: Units
    chunks: Words
    candidates: Words


class EffectArrays(NamedTuple):
    """What steps do, see `highwater.explorer.compiler.effects.Effects`."""

    writes: Words
    copies: Words
    cut: Units
    tops: Words


class Symmetry(NamedTuple):
    """Tables that permute packed states.

    Attributes:
        chunks: per run of neighbouring bits, its word, lowest bit and mask.
        images: per permutation but the identity, run and value of the run, the bits of the image.
        guards: per leaf that says whether names are absent, its word, lowest bit and mask.
        kept: per permutation but the identity, guard and value of the guard, the bits that the image keeps.
        key_words, key_masks: per piece of a key and name, the bits that the name's piece gathers.
        key_places: per piece, where it goes in the key.
        first: per order of the keys, where its permutations begin in `chosen`; they end where the next order's begin.
        chosen: the permutations that put the keys into their least order; 0 is the identity.
        groups: where the leaves of each group of which only the order matters begin in `numbers`, and where the last
            one's end.
        numbers: per leaf of a group its word, lowest bit and mask, and what it holds for rank 0; of the leaf that says
            whether it is there the word, lowest bit and mask, and the least that it holds then.
    """

    chunks: Words
    images: Words
    guards: Words
    kept: Words
    key_words: Words
    key_masks: Words
    key_places: Words
    first: Numbers
    chosen: Numbers
    groups: Numbers
    numbers: Words


class Machine(NamedTuple):
    """What a search has learned of its model, as kernels read it.

    Attributes:
        trees, steps: those of the actions, and of the step properties.
    """

    trees: Trees
    steps: Trees
    effects: EffectArrays
    symmetry: Symmetry


class Visited(NamedTuple):
    """States, and the visited set over them."""

    rows: FlatRows | FoldedRows | OwnedRows
    table: Units


class Limits(NamedTuple):
    """How far rows may be expanded.

    Attributes:
        end: the rows are those before.
        pause_at: take no batch that begins here or later.
        entries: how many rows the visited set is to hold.
        capacity: how many rows may be used.
        block: so many of them are reserved at a time.
    """

    end: int
    pause_at: int
    entries: int
    capacity: int
    block: int


class Span(NamedTuple):
    """The rows begin..end, and those of the next level, where these matter."""

    begin: int
    end: int
    next_begin: int
    next_end: int


class Asked(NamedTuple):
    """Which steps are asked for.

    Attributes:
        sources: by row, whether to list its steps.
        region: by row, whether a step may lead there.
        relied_on: by action, whether its steps are kept wherever they lead.
    """

    sources: Bytes
    region: Bytes
    relied_on: Bytes


class Listed(NamedTuple):
    """Room for steps: where they lead, their actions, and how many each row has."""

    targets: Units
    labels: Labels
    counts: Units


class Noted(NamedTuple):
    """What is noted of rows.

    Attributes:
        sources: by row, whether to look at its steps.
        relied_on: by property and action, whether the property relies on it.
        notes: by property and row, `ONLY_CUT` where a bound cuts a step that is relied on, and `MAY_HAPPEN` where there
            is one that none cuts.
    """

    sources: Bytes
    relied_on: Bytes
    notes: Bytes


class Gathered(NamedTuple):
    """Room for successors, or for steps.

    Attributes:
        made, parents, actions: where they lead, from where, and by which action.
        table: the successors that are there, by their hash.
        at_rest: its only element becomes the first row at rest, if it is -1.
    """

    made: FlatRows
    parents: Units
    actions: Units
    table: Units
    at_rest: Numbers


class Batch(NamedTuple):
    """States, and what folding makes of them.

    Attributes:
        words: the states.
        numbers: by place and state, those of their parts; the last place, that of whole states, is room.
        keys: those of their halves.
        hashes: room.
    """

    words: Words
    numbers: Units
    keys: Words
    hashes: Words


class Likenesses(NamedTuple):
    """States whose numbers are known, and for each state of a batch, which of them it is like."""

    sources: Units
    words: Words
    numbers: Units


class Checking(NamedTuple):
    """Room for a batch of states, for the numbers of their parts, for the trees that the filter leaves for them, and
    for (row, tree) pairs that were missed.
    """

    words: Words
    numbers: Units
    left: Words
    misses: Numbers


class Admitted(NamedTuple):
    """Room for what is said of new rows: their parents and actions."""

    parents: Numbers
    actions: npt.NDArray[np.int32]


class Hashing(NamedTuple):
    """Room for a batch of states and one more, and for the hashes of the batch."""

    words: Words
    hashes: Words


class Measured(NamedTuple):
    """What a search from the rows that are born says of each row.

    Attributes:
        distance: -1 for each row that is not reached.
        preceding: how many steps lead to it, up to `MANY`.
        notes: `ENDS` where no step is relied on, and `HELD_BACK` where bounds cut all that are, and there is one.
    """

    distance: npt.NDArray[np.int32]
    preceding: Bytes
    notes: Bytes


class Work(NamedTuple):
    """What one thread counts, and its scratch room for one batch.

    Attributes:
        counts: the batch at hand, the reserved rows, and totals.
        enabled: successors per tree.
        steps: how many steps happened, then how many each set of bounds has cut.
        words, left: the batch's states, and the trees that the filter leaves for them.
        hit_state, hit_tree, hit_effect: the walks of the batch, then those that hit.
        position, branch, walking: where each walk stands, and which go on.
        made, hashes, slots: the successors, their hashes, and where to go on looking for each.
        numbers, made_numbers, keys: of folded states of the batch, and of successors, the numbers of their parts, by
            place in the plan; and those of the halves of each successor as a word.
        recent: a power of two of states, see `highwater.explorer.kernels.states.recent`.
        orbits: how many states each state of the batch stands for.
        moves: per state, 1 if a bound cut a step of it, 2 if it has a successor, 3 if both.
        pair, broken: one step's words; per step property, whether a step has violated it.
        misses: (row, action) pairs, or (row, action, step property).
    """

    counts: Numbers
    enabled: Numbers
    steps: Numbers
    words: Words
    left: Words
    hit_state: Units
    hit_tree: Units
    hit_effect: Units
    position: Words
    branch: Units
    walking: Units
    made: Words
    hashes: Words
    slots: Words
    numbers: Units
    made_numbers: Units
    keys: Words
    recent: Words
    orbits: Numbers
    moves: Bytes
    pair: Words
    broken: Bytes
    misses: Numbers


class Graph(NamedTuple):
    """The steps of all rows.

    Attributes:
        first: where the steps of each row begin, and then how many there are.
        targets: the row that each step leads to, or `CUT` or `OUTSIDE`.
        labels: the action of each step.
    """

    first: Units
    targets: Units
    labels: Labels


class Fairness(NamedTuple):
    """What a property relies on.

    Attributes:
        demands: by action, the number of the demand that it meets, or -1.
        classes: by demand, its class. Demands of a class are images of each other where rows stand for all images of a
            state; a class is taken where one of its demands is, and is enabled everywhere where all are. Otherwise each
            demand is a class.
        sizes: by class, how many demands it has.
        strong: by class, whether its demands are strong.
    """

    demands: Numbers
    classes: Numbers
    sizes: Numbers
    strong: Bytes


class Question(NamedTuple):
    """What is asked of a graph.

    Attributes:
        needed: by row, whether a component needs one such row; empty if none is needed.
    """

    graph: Graph
    fairness: Fairness
    needed: Bytes


class Components(NamedTuple):
    """Room for the search for components, as much as there are rows; see
    `highwater.explorer.kernels.graphs.components`. The stack, the calls and how many steps each has taken need little
    of it where most rows are in no cycle.
    """

    number: Units
    low: Units
    stack: Units
    calls: Units
    taken: Units
