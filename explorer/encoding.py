"""How decision trees and effects are encoded as numbers: what the compiler writes, and kernels read.

A tree is made of *branches*, one 64-bit number each: `UNKNOWN` (no path learned yet), `PENDING` (a kernel has asked for
it), `NOTHING` (not enabled, or holds), an *effect* from `FIRST_EFFECT` on (what the step writes, which bounds cut it,
or that the invariant is false), or, with the highest bit set, a *node*: the leaf of the layout that is tested next, and
where the branches for its packed values begin.

Machine code is made of these numbers and of `explorer/kernels`, and is made anew if one of them changes.
"""

from __future__ import annotations

FIRST_EFFECT = 3
UNKNOWN, NOTHING, PENDING = range(FIRST_EFFECT)
VIOLATED = FIRST_EFFECT

# The fields of a node, from its lowest bit: word, shift and width of the leaf, and the position of its first branch.
WORD_FIELD, SHIFT_FIELD, WIDTH_FIELD = 6, 6, 6
WIDTH_AT = WORD_FIELD + SHIFT_FIELD
BRANCHES_FIELD = WIDTH_AT + WIDTH_FIELD
NODE = 1 << 63
TEST = NODE | (1 << BRANCHES_FIELD) - 1  # what of a node says what it tests

# What an entry of a wide node is, in its two highest bits: a branch as in trees, a jump to a position in the trees, or
# the number of a wide node.
KIND_AT = 30
BRANCH, JUMP, WIDE = range(3)
JUMPS, WIDENS = JUMP << KIND_AT, WIDE << KIND_AT

COPY_FIELD = 7  # bits for each part of a copy: a width may be 64
GATHER_FIELD = 6  # bits for each part of how an index is gathered
