"""Plants defects in the engine and the verifier, one at a time, and shows which test of the suite notices each.

    python -m tests.engine_mutants            run all, and print the table
    python -m tests.engine_mutants --write    and put the table into docs/testing.md
    python -m tests.engine_mutants NAME ...   run some
    python -m tests.engine_mutants --audit    show which of those that change what claims of the gallery come to the
                                              default audit and the verifier notice, without any test; with --write, too

A defect is a replacement of text that must occur exactly once in its file. It is made in a copy of the tree, where the
tests that are most likely to notice run first, until one fails. In the copy kernels are not compiled: Python interprets
them, with the few machine instructions that numba does not offer replaced by their meaning. That takes a fraction of
the time, and is the same text. Without a defect all of these tests must pass there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from tests.audited import CLAIMS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "testing.md"
COPIED = (
    "explorer", "model", "invariants", "spark", "conformance", "cluster", "src", "specs", "tests",
    "pyproject.toml",
)  # fmt: skip
SECONDS = 600

COMPILING = """
import numpy
numpy.seterr(all="ignore")
inlined = kernel = lambda function: function

class TypeOf:
    def __init__(self, rows):
        self.instance_class = type(rows)

def inlined_by_type(choose):
    return lambda rows, *others, **named: choose(TypeOf(rows), *others, **named)(rows, *others, **named)
"""
INTRINSICS = """
import numpy as np
HAS_PEXT = True

def gather_bits(value, mask):
    value, mask, packed, place = int(value), int(mask), 0, 0
    while mask:
        lowest = mask & -mask
        packed |= bool(value & lowest) << place
        place += 1
        mask &= mask - 1
    return np.uint64(packed)

pext = gather_bits

def lowest_bit(value):
    return np.uint64((int(value) & -int(value)).bit_length() - 1)

def count_bits(value):
    return np.uint64(int(value).bit_count())

def swap_if(array, position, expected, replacement):
    found = array[position]
    if found == expected:
        array[position] = replacement
    return found

def fetch_add(array, position, amount):
    found = array[position]
    array[position] = found + array.dtype.type(amount)
    return found

def load(array, position):
    return array[position]

def word_at(array, position):
    return array[int(position) : int(position) + 8].view(np.uint64)[0]

def put_half_word(array, position, value):
    half = np.array([int(value) & 0xFFFFFFFF], np.uint32)
    array[int(position) : int(position) + 4] = half.view(np.uint8)

def prefetch(array, position):
    pass

prefetch_at = prefetch
"""
DOOR = "        if self._dispatcher:\n            return self._dispatcher(*arguments)\n"
INTERPRETED = (
    '        module = importlib.import_module(f"highwater.explorer.kernels.{self._module}")\n'
    "        found = getattr(module, self._name)(*arguments)\n"
    "        return found if found is None or isinstance(found, tuple) else int(found)\n"
)


@attrs.frozen
class Defect:
    """One change of the engine's text.

    Attributes:
        name: what is wrong then.
        file: below the folder.
        before, after: the text, and what takes its place.
        tests: what is run, the likeliest first.
    """

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    folder: str = "explorer"

    @property
    def place(self) -> str:
        """The file as the table names it."""
        return self.file if self.folder == "explorer" else f"{self.folder}/{self.file}"

    @property
    def is_of_the_engine(self) -> bool:
        """Whether it may change what a claim comes to."""
        return self.folder == "explorer" and not self.file.startswith("verifier/")

    def source(self, root: Path = ROOT) -> Path:
        return root / self.folder / self.file

    def planted(self, text: str) -> str:
        """The text with the defect.

        Raises:
            ValueError: the text to replace is gone, or occurs more than once.
        """
        if text.count(self.before) != 1:
            raise ValueError(
                f"{self.name}: the text to replace occurs {text.count(self.before)} times in {self.folder}/{self.file}"
            )
        return text.replace(self.before, self.after)


@attrs.frozen
class Fate:
    """What became of a defect: the test that noticed it, if one did, and after how many seconds."""

    defect: Defect
    noticed_by: str | None
    seconds: float


TRACING = "tests/explorer/test_tracing.py"
STEPS = f"{TRACING}::test_a_step_means_the_same_on_a_view"
OPERATIONS = f"{TRACING}::test_an_operation_means_the_same_on_a_view"
BEYOND = f"{TRACING}::test_steps_beyond_the_end_of_a_sequence_mean_the_same_on_a_view"
ESCAPES = f"{TRACING}::test_no_view_can_be_read_after_its_run_even_what_was_read_before"
ENDS = f"{TRACING}::test_a_path_that_ends_where_another_went_on_is_noticed"
ANSWERS = "tests/explorer/test_views_answer_or_refuse.py"
REFUSED = f"{ANSWERS}::test_a_question_that_a_view_cannot_answer_is_refused"
RULES = f"{ANSWERS}::test_a_record_that_converts_and_refuses_does_so_on_a_view"
GROUPS = "tests/explorer/test_workers_and_symmetry.py::test_representatives_are_right_for_any_group_and_any_state"
TWENTY = f"{ANSWERS}::test_a_scalar_of_twenty_bits_may_be_tested_in_hundreds_of_places"
PACKED = "tests/explorer/test_layout.py::test_unpacking_inverts_packing"
SMALL = "tests/explorer/test_engine_in_small.py"
SEARCH, STEP, LONG, SYMMETRIC, LONG_SYMMETRIC = (
    f"{SMALL}::test_a_search_agrees_with_plain_python[{which}]"
    for which in (
        "False-invariant-every state",
        "False-step-every state",
        "True-step-every state",
        "False-invariant-symmetry",
        "True-step-symmetry",
    )
)
FOLDED = "tests/explorer/test_folding.py::test_a_search_with_folded_rows_agrees_with_plain_python[1-every state]"
PROSPECT = f"{SMALL}::test_a_prospect_is_lost_where_plain_python_loses_it"
CLASHES = f"{SMALL}::test_states_whose_hashes_are_equal_stay_apart"
COUNTED = f"{SMALL}::test_violations_are_counted_row_by_row"
PARTS = f"{SMALL}::test_parts_of_levels_find_the_same"
PARTS_STEPS = f"{SMALL}::test_parts_list_the_steps_that_plain_python_takes"
WALKS = f"{SMALL}::test_a_random_first_step_counts_enabled_and_cut_actions"
STORED = f"{SMALL}::test_stored_effects_are_restored_unchanged"
INTERRUPTED = "tests/explorer/test_faults.py::test_an_interrupt_at_any_line_of_learning_leaves_no_trees_that_are_wrong"
LENDING = "tests/explorer/test_lending.py"
DESCRIBED = "tests/explorer/test_descriptions.py"
DIFFER = f"{DESCRIBED}::test_values_that_differ_are_described_differently_and_the_same_are_described_alike"
CHANGED = f"{DESCRIBED}::test_an_object_that_has_changed_since_an_earlier_search_is_described_anew"
REACHED = f"{DESCRIBED}::test_whatever_a_function_reaches_is_part_of_it"
NOT_DESCRIBED = f"{DESCRIBED}::test_an_indescribable_value_is_refused_with_the_reason"
OF_PYTHON = "tests/highwater/test_one_search.py::test_options_of_python_that_decide_what_code_does_are_part_of_a_search"
SHARED = "tests/explorer/test_models_that_share_names.py"
ANSWERED = f"{SHARED}::test_trees_and_snapshots_of_one_model_do_not_serve_another[global-step]"
ENCLOSED = ANSWERED.replace("global-step", "closure-property")
KEPT = f"{SMALL}::test_a_search_goes_on_with_kept_trees[invariant]"
LIVENESS = "tests/explorer/test_liveness.py"
SLICES = "tests/explorer/test_slices_of_lassos.py"
SLICE_OF_A_LASSO = f"{SLICES}::test_the_slice_of_a_random_lasso_breaks_the_promise"
COPIES = f"{SLICES}::test_a_kept_step_that_copies_an_equal_value_needs_the_copied_part"
REPAIR = "tests/highwater/test_repair.py"
NO_CYCLE = f"{LIVENESS}::test_only_the_steps_of_cycles_take_room"
COMES_TO_REST = f"{LIVENESS}::test_a_step_that_changes_nothing_is_neither_enabled_nor_taken[made again]"
HELD_BACK = f"{LIVENESS}::test_a_behaviour_stopped_by_a_bound_is_counted_but_no_counterexample[made again]"
OPAQUE = "tests/explorer/test_opaque.py"
MORE_THAN_ORDER = f"{OPAQUE}::test_a_question_beyond_the_order_is_refused"
OF_EVERY_KIND = f"{OPAQUE}::test_a_question_beyond_the_order_is_refused_in_every_kind_of_function"
COUNTED_UP = f"{OPAQUE}::test_a_path_that_counts_up_serves_only_states_in_which_the_number_is_the_greatest"
NOT_WRITTEN = f"{OPAQUE}::test_writing_a_number_outside_the_group_is_refused"
HANDED_OVER = (
    "tests/explorer/test_stand_ins.py::"
    "test_machine_code_goes_on_from_any_level_with_the_same_outcome[invariant-symmetry]"
)
RESUMED = f"{SMALL}::test_a_search_goes_on_from_a_snapshot"

DOORS = "tests/explorer/test_kept_files.py"
KEPT_AS = f"{DOORS}::test_a_file_is_read_only_as_what_it_was_kept_as"
KEPT_BY = f"{DOORS}::test_a_file_that_others_could_have_made_is_refused"
SHARD = "tests/spark/test_shard.py::test_a_damaged_file_of_a_shard_is_made_anew"
STORE = "tests/spark/test_store.py"
MANY_FILES = "tests/spark/test_explore.py::test_levels_of_many_files_are_those_of_the_local_engine_in_the_driver"
WINDOWS = "tests/spark/test_explore.py::test_partitions_that_are_visited_in_more_and_more_windows_change_nothing"
PROSPECTS_ON_SPARK = "tests/spark/test_prospects.py"
OF_GRAPHS = f"{ANSWERS}::test_an_exact_type_test_is_refused_in_properties_of_the_graph"
NEVER_EQUAL = "tests/explorer/test_comparisons.py::test_a_comparison_that_is_never_true_is_refused"
EQUAL_NAMES = "tests/explorer/test_equal_names.py"
BEYOND_BOUNDS = "tests/explorer/test_prospects.py::test_states_whose_goal_needs_a_bound_are_counted"
NO_PREMISE = f"{LIVENESS}::test_a_premise_that_is_never_true_is_named"
DEEPER = "tests/explorer/test_checkpoint.py::test_a_search_that_went_deeper_is_not_taken_for_one_to_a_lesser_depth"
REFINES = "tests/explorer/test_refinement.py"
VERIFIER = "tests/explorer/test_verifier.py"
OWED = f"{LIVENESS}::test_a_promise_may_be_kept_before_it_is_owed_but_eventually_only_once"
STAYS = f"{LIVENESS}::test_always_eventually_does_not_imply_eventually_always"

DEFECTS: tuple[Defect, ...] = (
    Defect(
        "what bounds cut before machine code takes over is not counted",
        "search/engine/stand_ins.py",
        "            work.steps[cut] += orbit\n",
        "            work.steps[0] += orbit * (not cut)\n",
        (HANDED_OVER,),
    ),
    Defect(
        "machine code takes over without the states that plain Python has found",
        "search/engine/stand_ins.py",
        "        self._store.enter_all()",
        "        pass",
        (HANDED_OVER,),
    ),
    Defect(
        "plain Python keeps another state of an orbit than machine code",
        "search/engine/stand_ins.py",
        "min(images, key=lambda image: (self._keys(image), image))",
        "max(images, key=lambda image: (self._keys(image), image))",
        (HANDED_OVER,),
    ),
    Defect(
        "a step counts once, before machine code takes over, and not for its orbit",
        "search/engine/stand_ins.py",
        "                work.enabled[number] += orbit",
        "                work.enabled[number] += 1",
        (HANDED_OVER,),
    ),
    Defect(
        "what becomes absent is not cleared",
        "compiler/tracing.py",
        "self.cleared += [leaf for leaf in slot.leaves() if leaf.width]",
        "self.cleared += []",
        (BEYOND, SEARCH),
    ),
    Defect(
        "what is known to be 0 is not cleared, so that images keep a name",
        "compiler/tracing.py",
        "[leaf for leaf in slot.leaves() if leaf.width]",
        "[leaf for leaf in slot.leaves() if leaf.width and self._recorder.known(leaf) != 0]",
        (SYMMETRIC,),
    ),
    Defect(
        "a constant is not written where the leaf was read",
        "compiler/tracing.py",
        "if leaf.width and self._recorder.known(leaf) != raw:",
        "if leaf.width and self._recorder.known(leaf) is None:",
        (SEARCH,),
    ),
    Defect(
        "a copy from a leaf of another domain keeps its bits",
        "compiler/tracing.py",
        "if value.domain == leaf.domain and self._recorder.known(value) is None:",
        "if self._recorder.known(value) is None:",
        (STEPS,),
    ),
    Defect(
        "a read leaf is not recorded",
        "compiler/tracing.py",
        "            if leaf.width:\n                self.path.append((leaf, value))",
        "            if leaf.width > 1:\n                self.path.append((leaf, value))",
        (SEARCH,),
    ),
    Defect(
        "the length of a sequence is not written",
        "compiler/tracing.py",
        "            self._length(slot, len(cells))",
        "            pass",
        (SEARCH,),
    ),
    Defect(
        "what lies behind the last slot cuts nothing",
        "compiler/tracing.py",
        "            self.cut |= self._recorder.exceeded(slot.domain.of, plain(cell))",
        "            pass",
        (BEYOND,),
    ),
    Defect(
        "a run may be read when it is over",
        "compiler/tracing.py",
        "        self._words = None\n        self._known, self._views = {}, {}",
        "        pass",
        (ESCAPES,),
    ),
    Defect(
        "sets come in one order only",
        "compiler/tracing.py",
        "return members[::-1] if self._backwards else members",
        "return members",
        (REFUSED,),
    ),
    Defect(
        "the union of two sets forgets members of the second",
        "compiler/containers.py",
        "        return True if b is True or self._is_in(a) else b",
        "        return self._is_in(a)",
        (SEARCH,),
    ),
    Defect(
        "the difference of two sets is the first",
        "compiler/containers.py",
        "        return False if a is False or self._is_in(b) else a",
        "        return a",
        (SEARCH,),
    ),
    Defect(
        "a slice of a tuple begins one too late",
        "compiler/containers.py",
        "TupleView(self.__recorder__, self.__slot__, self.__cells__[index])",
        "TupleView(self.__recorder__, self.__slot__, self.__cells__[index][1:])",
        (SEARCH,),
    ),
    Defect(
        "records are equal if any field is",
        "compiler/views.py",
        "return all(getattr(self, name) == getattr(other, name) for name in self.__slot__.slots)",
        "return any(getattr(self, name) == getattr(other, name) for name in self.__slot__.slots)",
        (OPERATIONS,),
    ),
    Defect(
        "evolve passes over a record's own rules",
        "compiler/views.py",
        "        if has_rules_of_its_own(cls):",
        "        if False:",
        (RULES,),
    ),
    Defect(
        "swallowed tracing errors are forgotten",
        "compiler/views.py",
        "        tracing_errors().append(self)",
        "        pass",
        (REFUSED,),
    ),
    Defect(
        "a path is not compared with plain Python",
        "compiler/programs.py",
        "        if result != self.meant(reference, words):",
        "        if False:",
        (REFUSED,),
    ),
    Defect(
        "a counterexample passes over an action that is enabled",
        "compiler/programs.py",
        "        return self._end(number, words) == NOTHING",
        "        return self._end(number, words) != UNKNOWN",
        (SEARCH,),
    ),
    Defect(
        "a bit of a wide scalar is never tested",
        "compiler/decision_trees.py",
        "width = min(MOST_TESTED_BITS, leaf.width - low)",
        "width = min(MOST_TESTED_BITS - 1, leaf.width - low)",
        (TWENTY,),
    ),
    Defect(
        "a known end of a path is overwritten",
        "compiler/decision_trees.py",
        (
            "        if cells[position] not in (UNKNOWN, PENDING, reference):\n            raise "
            "impure(self.instances[number])\n"
        ),
        "",
        (ENDS,),
    ),
    Defect(
        "a scalar gets one bit too few",
        "compiler/layout.py",
        "width = (size - 1).bit_length()",
        "width = max(1, (size - 1).bit_length() - 1)",
        (PACKED,),
    ),
    Defect(
        "two scalars share a bit",
        "compiler/layout.py",
        "        self._free[word] -= width\n",
        "        self._free[word] -= max(0, width - 1)\n",
        (PACKED,),
    ),
    Defect(
        "elements of a sequence are packed in the wrong slots",
        "compiler/layout.py",
        "for slot, element in zip(self.slots, value, strict=False):",
        "for slot, element in zip(self.slots[::-1], value, strict=False):",
        (PACKED,),
    ),
    Defect(
        "the bits under a copy stay",
        "compiler/effects.py",
        "                keep[word] &= ~(((1 << width) - 1) << shift)\n",
        "",
        (SEARCH,),
    ),
    Defect(
        "the bits under a constant stay",
        "compiler/effects.py",
        "                keep[leaf.word] &= ~(leaf.mask << leaf.shift)\n",
        "",
        (SEARCH,),
    ),
    Defect(
        "copies are joined that do not move together",
        "compiler/effects.py",
        "        if ends == (target.word, target.shift, source.word, source.shift):",
        "        if ends[:3] == (target.word, target.shift, source.word):",
        (LONG,),
    ),
    Defect(
        "an unknown branch counts as nothing in a prefilter",
        "compiler/prefilter.py",
        "return everything if branch == NOTHING else 0",
        "return everything if branch <= NOTHING else 0",
        (SEARCH,),
    ),
    Defect(
        "a prefilter looks at the first value only",
        "compiler/prefilter.py",
        "            for value in range(self._sizes[field]):\n                out &= nothing(first + value)",
        "            for value in range(1):\n                out &= nothing(first + value)",
        (SEARCH,),
    ),
    Defect(
        "a wide node takes an unknown branch for an end",
        "compiler/wide_nodes.py",
        "return JUMPS | position if branch in (UNKNOWN, PENDING) else branch",
        "return NOTHING if branch in (UNKNOWN, PENDING) else branch",
        (SEARCH,),
    ),
    Defect(
        "what a step clears is lost from kept trees",
        "compiler/storing.py",
        "    yield from sorted(numbers[leaf] for leaf in result.cleared)",
        "    yield from ()",
        (KEPT,),
    ),
    Defect(
        "kept copies go the other way",
        "compiler/storing.py",
        "frozenset((leaves[target], leaves[source]) for",
        "frozenset((leaves[source], leaves[target]) for",
        (STORED,),
    ),
    Defect(
        "a branch that was asked for is kept as one that leads to nothing",
        "compiler/storing.py",
        "branches[branches == PENDING] = UNKNOWN",
        "branches[branches <= PENDING] = 1",
        (KEPT,),
    ),
    Defect(
        "a leaf of an array by names stays in place in an image",
        "compiler/permutations.py",
        "source.places(functools.partial(_image, permutation))",
        "range(len(images))",
        (SYMMETRIC,),
    ),
    Defect(
        "a path is tried on the image of one exchange only",
        "compiler/equivariance.py",
        "for exchange in self._exchanges:",
        "for exchange in self._exchanges[:1]:",
        ("tests/explorer/test_equivariance.py",),
    ),
    Defect(
        "the image of a path may do something else",
        "compiler/equivariance.py",
        "self._refuse(number, reference, exchange, found, words())",
        "pass",
        ("tests/explorer/test_equivariance.py",),
    ),
    Defect(
        "absent names are not held back in an image",
        "search/engine/symmetry.py",
        "            kept[number, holders.index(holder), : most + 1, target.word] &=",
        "            kept[number, holders.index(holder), :0, target.word] &=",
        (SYMMETRIC,),
    ),
    Defect(
        "a leaf is a name's key wherever it goes with the others",
        "search/engine/symmetry.py",
        "            or any(owned[name] is not image for name, image in images)\n",
        "",
        (GROUPS,),
    ),
    Defect(
        "the keys of one set of names are taken for those of another",
        "search/engine/symmetry.py",
        "found[len(some) :, some.shape[1] :] = some, others",
        "found[len(some) :, : others.shape[1]] = some, others",
        (GROUPS,),
    ),
    Defect(
        "one permutation too few is tried for equal keys",
        "search/engine/symmetry.py",
        "        chosen[number] = np.flatnonzero(image == image.min()).tolist()",
        "        chosen[number] = np.flatnonzero(image == image.min()).tolist()[:2]",
        (SYMMETRIC,),
    ),
    Defect(
        "trimming counts one of the steps that lead to a row",
        "kernels/graphs/passes.py",
        "            preceding[target] += preceding[target] < MANY",
        "            preceding[target] = 1",
        (NO_CYCLE,),
    ),
    Defect(
        "trimming puts out what leads to earlier rows only",
        "kernels/graphs/passes.py",
        "            if target < first and state[target] == OPEN:",
        "            if row < target < first and state[target] == OPEN:",
        (NO_CYCLE,),
    ),
    Defect(
        "a state where nothing is relied on is no end",
        "kernels/graphs/passes.py",
        "HELD_BACK if cut else ENDS",
        "HELD_BACK",
        (COMES_TO_REST,),
    ),
    Defect(
        "what a bound cuts does not hold back where steps are made again",
        "kernels/graphs/passes.py",
        "HELD_BACK if cut else ENDS",
        "ENDS",
        (HELD_BACK,),
    ),
    Defect(
        "a shortest way goes on at any distance where steps are made again",
        "kernels/graphs/passes.py",
        "if target < _OUTSIDE and distance[target] == distance[row] + 1 and marks[target]:",
        "if target < _OUTSIDE:",
        (NO_CYCLE,),
    ),
    Defect(
        "an image keeps what was there before",
        "kernels/states/canonical.py",
        "        room[into, word] = np.uint64(0)",
        "        pass",
        (SYMMETRIC,),
    ),
    Defect(
        "an orbit has one state too many",
        "kernels/states/canonical.py",
        "    return (len(symmetry.images) + 1) // unmoved",
        "    return (len(symmetry.images) + 2) // unmoved",
        (SYMMETRIC,),
    ),
    Defect(
        "the last word is left out when states are ordered",
        "kernels/states/canonical.py",
        "    order = 0\n    for word in range(words_of(units)):\n        if order == 0",
        "    order = 0\n    for word in range(words_of(units) - 1):\n        if order == 0",
        (SYMMETRIC, LONG_SYMMETRIC),
    ),
    Defect(
        "states of more than two words are made as if they had two",
        "kernels/steps/expand.py",
        "    if words_of(units) == 2:\n",
        "    if words_of(units) >= 2:\n",
        (LONG,),
    ),
    Defect(
        "states of equal hash tags count as equal",
        "kernels/steps/expand.py",
        "        if may_be(found, hashed, bits) and holds(\n",
        "        if may_be(found, hashed, bits) or holds(\n",
        (CLASHES,),
    ),
    Defect(
        "the mask of a hash tag leaves out a bit of the row number",
        "kernels/states/rows.py",
        "    return np.uint32(most & _LOW)",
        "    return np.uint32(most >> np.uint64(12))",
        (SEARCH,),
    ),
    Defect(
        "a cut step is counted as one that happens",
        "kernels/steps/expand.py",
        "        happens = cut == _HAPPENS\n",
        "        happens = True\n",
        (SEARCH,),
    ),
    Defect(
        "steps are counted once for an orbit",
        "kernels/steps/expand.py",
        "        work.steps[cut] += orbit\n",
        "        work.steps[cut] += 1\n",
        (SYMMETRIC,),
    ),
    Defect(
        "a representative has the hash of the successor that it stands for",
        "kernels/steps/expand.py",
        "    for number in range(successors):\n        work.hashes[number] = hash_of(work.made, number, units)\n",
        "",
        (SYMMETRIC,),
    ),
    Defect(
        "what lies behind the cut counts as unchanged where states are folded",
        "kernels/states/folding.py",
        "        keys[at] = changed | np.uint64(differ & ~before != _ZERO) << _BEHIND_CUT\n",
        "        keys[at] = changed\n",
        (FOLDED,),
    ),
    Defect(
        "a part in two words loses its end",
        "kernels/states/parts.py",
        "        return (words[at, first] >> shift | words[at, last] << _ONE << (_TOP - shift)) & taken",
        "        return (words[at, first] >> shift) & taken",
        ("tests/explorer/test_folding.py::test_states_similar_to_the_one_before_store_only_the_difference",),
    ),
    Defect(
        "an effect's last copy is lost",
        "kernels/steps/trees.py",
        "    for number in range(copies >> _HALF, copies & _LOW):",
        "    for number in range(copies >> _HALF, (copies & _LOW) - _ONE):",
        (SEARCH,),
    ),
    Defect(
        "what was met before is recognised by its first words",
        "kernels/states/recent.py",
        "        known &= work.recent[place, word] == value",
        "        known &= work.recent[place, 0] == work.made[number, 0]",
        (LONG,),
    ),
    Defect(
        "an unknown branch counts as known",
        "kernels/steps/batches.py",
        "    return branch != _UNKNOWN and branch != _PENDING",
        "    return branch != _PENDING",
        (SEARCH,),
    ),
    Defect(
        "a violated invariant is not counted in the last row of a batch",
        "kernels/steps/check.py",
        "        states = min(end - first, len(words))",
        "        states = min(end - first, len(words) - 1)",
        (COUNTED,),
    ),
    Defect(
        "a violated step property is taken for one that holds",
        "kernels/steps/steps.py",
        "                    work.broken[tree] = 1",
        "                    work.broken[tree] = 0",
        (STEP,),
    ),
    Defect(
        "a predecessor on the way to a violation is not marked",
        "kernels/graphs/reach.py",
        "                marks[first + at] = 1",
        "                pass",
        (SEARCH, STEP, PROSPECT),
    ),
    Defect(
        "images of a marked row are not looked for",
        "kernels/graphs/reach.py",
        "            for permutation in range(len(symmetry.images)):",
        "            for permutation in range(0):",
        (SYMMETRIC, SEARCH),
    ),
    Defect(
        "a prospect relies on every action",
        "kernels/graphs/reach.py",
        "            if not along[work.hit_tree[hit]]:\n                continue\n",
        "",
        (PROSPECT,),
    ),
    Defect(
        "a walk counts its cut steps as enabled ones",
        "kernels/steps/walks.py",
        "        walker.enabled[walker.hit_tree[hit]] += 1\n",
        "        walker.enabled[walker.hit_tree[hit]] += 2\n",
        (WALKS,),
    ),
    Defect(
        "a successor goes to the wrong owner",
        "kernels/graphs/partitions.py",
        "        owners[number] = owner_of(owner_hash(words, 0, units), most)",
        "        owners[number] = 0",
        (PARTS,),
    ),
    Defect(
        "a step that a bound cuts counts as one that may happen, in parts of levels",
        "kernels/graphs/partitions.py",
        "notes[of, row] |= ONLY_CUT if cut else MAY_HAPPEN",
        "notes[of, row] |= MAY_HAPPEN",
        (PARTS_STEPS,),
    ),
    Defect(
        "where a step leads is not brought into canonical form, in parts of levels",
        "kernels/graphs/partitions.py",
        "make_representative(work.made, number, machine.symmetry, units)\n                write_row",
        "write_row",
        (f"{PARTS_STEPS}[symmetry-flat]",),
    ),
    Defect(
        "the first row is where every step leads, in parts of levels",
        "kernels/states/owners.py",
        "            found[first + number] = row_at(table[slot], bits)",
        "            found[first + number] = 0",
        (PARTS_STEPS,),
    ),
    Defect(
        "a snapshot forgets what was counted",
        "search/keeping/snapshots.py",
        "        work.steps[0] = counts.generated\n",
        "",
        (RESUMED,),
    ),
    Defect(
        "trees are kept that an interrupt has left half learned",
        "search/keeping/kept_trees.py",
        "if whole and (",
        "if (",
        (INTERRUPTED,),
    ),
    Defect(
        "kept trees go by another order of properties",
        "search/keeping/tree_names.py",
        "[str(each) for each in (*properties, *system.premises)]",
        "[]",
        ("tests/explorer/test_kept_trees.py::test_properties_in_another_order_have_trees_of_their_own",),
    ),
    Defect(
        "a function is taken for what its file says",
        "descriptions.py",
        "written or _code_text(code)",
        "where if origin == Origin.MODELS else _code_text(code)",
        (f"{DESCRIBED}::test_a_function_of_highwaters_own_models_is_known_by_where_it_is_written",),
    ),
    Defect(
        "code is described without its constants",
        "descriptions.py",
        "code.co_cellvars, constants,",
        "code.co_cellvars,",
        (DIFFER,),
    ),
    Defect(
        "what a function encloses is not described",
        "descriptions.py",
        "for cell in function.__closure__ or ():",
        "for cell in ():",
        (REACHED,),
    ),
    Defect(
        "keyword defaults are not described",
        "descriptions.py",
        'parts.append(self._part(function.__kwdefaults__, "has the defaults {}"))',
        "pass",
        (DIFFER,),
    ),
    Defect(
        "globals of a function are not described",
        "descriptions.py",
        "for name, chain in uses.names:",
        "for name, chain in ():",
        (REACHED,),
    ),
    Defect(
        "the code inside a function reaches nothing",
        "code_objects.py",
        "for each in inside([code]):",
        "for each in [code]:",
        (REACHED,),
    ),
    Defect(
        "a module is described without what is taken of it",
        "objects.py",
        "value = getattr(value, attribute, NOTHING)",
        "value = NOTHING",
        (REACHED,),
    ),
    Defect(
        "what was looked at before is not looked at for changes",
        "descriptions.py",
        "len(one) == len(other) and all(map(operator.is_, one, other))",
        "True",
        (CHANGED,),
    ),
    Defect(
        "globals are not looked at for changes",
        "objects.py",
        "for name, attributes in uses.names),",
        "for name, attributes in ()),",
        (CHANGED,),
    ),
    Defect(
        "classes are not looked at for changes",
        "objects.py",
        "*members, *_items(vars(cls)))",
        "*members)",
        (CHANGED,),
    ),
    Defect(
        "a description that was made before stands, whatever became of what is reached",
        "descriptions.py",
        "if earlier is None or not all(node.is_like(self._node(value)) for value, node in earlier.reached):",
        "if earlier is None:",
        (CHANGED,),
    ),
    Defect(
        "constants of what was looked at before are lost",
        "descriptions.py",
        "            return kept.node\n",
        "            return attrs.evolve(kept.node, constants={}, distributions=set())\n",
        (f"{DESCRIBED}::test_constants_and_distributions_are_known_of_what_was_looked_at_before",),
    ),
    Defect(
        "what a class inherits is not described",
        "descriptions.py",
        "for each in (type(cls), *cls.__bases__)",
        "for each in (type(cls),)",
        (REACHED,),
    ),
    Defect(
        "a list is described as a tuple",
        "descriptions.py",
        "return (what, of, *self._content(base, value)",
        "return (what, *self._content(base, value)",
        (DIFFER,),
    ),
    Defect(
        "True is described as 1",
        "descriptions.py",
        "if kind is int:",
        "if kind in (int, bool):",
        (DIFFER,),
    ),
    Defect(
        "an enum is described without its values",
        "descriptions.py",
        'self._part(found.get("_value_"))',
        "self._part(None)",
        (REACHED,),
    ),
    Defect(
        "which objects are the same one is not described",
        "descriptions.py",
        "                described.append(numbers[key])",
        "                described.append(0)",
        (DIFFER,),
    ),
    Defect(
        "an object is described by its class and attributes, whatever else it is made of",
        "descriptions.py",
        "        if not shape.is_whole:",
        "        if False:",
        (NOT_DESCRIBED,),
    ),
    Defect(
        "a function may read files, and be described",
        "descriptions.py",
        'if origin == Origin.STANDARD and module.partition(".")[0].lstrip("_") not in PURE:',
        "if False:",
        (f"{DESCRIBED}::test_the_sentence_names_the_indescribable_value_and_its_holder",),
    ),
    Defect(
        "the options of Python are no part of a search",
        "search/keeping/fingerprint.py",
        "if value != FLAGS[name]}",
        "if False}",
        (OF_PYTHON,),
    ),
    Defect(
        "a checkpoint is known by the names of actions",
        "search/keeping/fingerprint.py",
        "return {name: _hash(described) for name, described in found.items()}",
        'return {name: "" for name, described in found.items()}',
        (ENCLOSED,),
    ),
    Defect(
        "actions of one name lend to each other",
        "search/keeping/tree_names.py",
        "return tuple(applied(each, descriptions, given) for each in system.actions)",
        "return tuple(str(each) for each in system.actions)",
        (f"{SHARED}::test_tree_names_identify_actions_by_content",),
    ),
    Defect(
        "a path is lent whose function remembered what it would have read",
        "search/keeping/kept_trees.py",
        " or not self._known.are_as_they_were()",
        "",
        (f"{LENDING}::test_a_path_is_not_lent_where_a_function_remembers_what_it_would_have_read",),
    ),
    Defect(
        "a protocol is watched by whatever it is looked up",
        "compiler/settings.py",
        "seen and _is_looked_up_by_all_fields(value)",
        "seen",
        (f"{LENDING}::test_a_path_is_not_lent_where_a_function_remembers_what_it_would_have_read",),
    ),
    Defect(
        "a protocol is watched that may ask which object it is",
        "compiler/settings.py",
        "plain and not (asks_for_an_object(cls) or _reads_fields_above(cls))",
        "plain and not _reads_fields_above(cls)",
        (f"{LENDING}::test_a_protocol_may_ask_which_object_it_is_and_then_all_of_it_is_read",),
    ),
    Defect(
        "a search that kept trees have misled does not begin anew",
        "search/levels/breadth_first.py",
        "if kept is None or not kept.are_used:",
        "if True:",
        ("tests/explorer/test_kept_trees.py::test_a_contradiction_after_the_sample_restarts_the_search",),
    ),
    Defect(
        "paths are lent whatever settings they read",
        "compiler/lending.py",
        " if read <= known}",
        "}",
        (f"{LENDING}::test_a_path_is_lent_unless_a_setting_that_it_reads_differs",),
    ),
    Defect(
        "a run that is known already reads no settings",
        "compiler/equivariance.py",
        "        self._program.settings.note(node.settings)\n",
        "",
        (f"{LENDING}::test_a_path_reads_what_the_images_of_its_run_read_that_are_known_from_earlier_ones",),
    ),
    Defect(
        "what is lent is not held against plain Python",
        "compiler/programs.py",
        "            self._hold(number, words, reference)\n        except ModelError:\n            self.lenders",
        "            pass\n        except ModelError:\n            self.lenders",
        (f"{LENDING}::test_a_lender_that_disagrees_with_plain_python_is_dropped",),
    ),
    Defect(
        "a number is compared with any constant above the least",
        "ranks.py",
        "and self.least <= value < self.first",
        "and self.least <= value",
        (MORE_THAN_ORDER,),
    ),
    Defect(
        "a number is compared with one of another group",
        "opaque.py",
        "            if other.__group__.name != group.name:",
        "            if False:",
        (MORE_THAN_ORDER,),
    ),
    Defect(
        "a number of a run that is over is compared",
        "opaque.py",
        "if self.__numbers__ is not numbers or numbers.closed:",
        "if False:",
        (MORE_THAN_ORDER,),
    ),
    Defect(
        "a number that is not the greatest is counted up",
        "opaque.py",
        "        if value < greatest:",
        "        if False:",
        (MORE_THAN_ORDER,),
    ),
    Defect(
        "a question about more than the order is forgotten where the model swallows the error",
        "opaque.py",
        "        more_than_order().append(self)",
        "        pass",
        (MORE_THAN_ORDER,),
    ),
    Defect(
        "equal numbers are two objects",
        "opaque.py",
        "        if found is None:\n            found = self._met",
        "        if True:\n            found = self._met",
        (f"{OPAQUE}::test_an_allowed_question_has_the_same_answer_in_real_numbers[identity]",),
    ),
    Defect(
        "any constant is written where only the order matters",
        "opaque.py",
        "        if group is not None and isinstance(value, int) and not group.has_constant(value):",
        "        if False:",
        (NOT_WRITTEN,),
    ),
    Defect(
        "a number is written into a field of another group",
        "opaque.py",
        "            if group is None or group.name != value.__group__.name:",
        "            if group is None:",
        (NOT_WRITTEN,),
    ),
    Defect(
        "plain Python sees plain numbers",
        "classes.py",
        "instance.apply(seen_in(ranks, domain, of, numbers))",
        "instance.apply(of)",
        (MORE_THAN_ORDER,),
    ),
    Defect(
        "step properties see plain numbers",
        "search/engine/compiled.py",
        "OrderedLeaves(layout, system.ranks), OrderedLeaves(both, system.ranks)",
        "OrderedLeaves(layout, system.ranks), None",
        (OF_EVERY_KIND,),
    ),
    Defect(
        "a path without an effect serves states in which what was counted up is not the greatest",
        "compiler/programs.py",
        "            if not isinstance(result, Update | OutOfBounds):",
        "            if False:",
        (COUNTED_UP,),
    ),
    Defect(
        "an effect does not say what must be the greatest",
        "compiler/tracing.py",
        "frozenset(() if self._ordered is None or counted is None else self._ordered",
        "frozenset(() if True else self._ordered",
        (COUNTED_UP,),
    ),
    Defect(
        "no kernel looks whether what was counted up is the greatest",
        "kernels/steps/expand.py",
        "                    return hit\n",
        "                    return -1\n",
        (COUNTED_UP,),
    ),
    Defect(
        "a number that is absent is live",
        "kernels/states/canonical.py",
        " and _is_there(words, at, number, symmetry):",
        ":",
        ("tests/explorer/test_ranks.py::test_machine_code_puts_numbers_in_ranks_as_plain_python_does",),
    ),
    Defect(
        "a bound that leaves room for constants only limits nothing",
        "ranks.py",
        "        return Group(name, least, first, 0, keys)",
        "        return Group(name, least, first, 0, frozenset())",
        (f"{OPAQUE}::test_a_bound_that_leaves_room_for_constants_only_is_a_bound",),
    ),
    Defect(
        "a kept file is read from any folder",
        "kept_files.py",
        "if kept_as != name or folder not in (None, kept_in):",
        "if kept_as != name:",
        (KEPT_AS,),
    ),
    Defect(
        "a kept file is read by whatever link leads there",
        "kept_files.py",
        "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK",
        "os.O_RDONLY | os.O_NONBLOCK",
        (KEPT_BY,),
    ),
    Defect(
        "a kept file that its group can write is read",
        "kept_files.py",
        "stat.S_IWGRP | stat.S_IWOTH",
        "stat.S_IWOTH",
        (KEPT_BY,),
    ),
    Defect(
        "the jars of a list are believed whatever has become of them",
        "distribution.py",
        "if _stamp(entry) != [entry, *stamp]:",
        "if not os.path.exists(entry):",
        ("tests/conformance/test_distribution.py::test_maven_is_asked_again_if_a_jar_has_changed",),
        "conformance",
    ),
    Defect(
        "the first level is taken under any manifest",
        "levels.py",
        'if data.get("previous") != self._last_hash:',
        'if depth and data.get("previous") != self._last_hash:',
        (f"{STORE}::test_the_levels_of_one_search_are_not_taken_under_the_manifest_of_another",),
        "spark",
    ),
    Defect(
        "the end of any search is taken for its own",
        "levels.py",
        'self._sealed(END)[0].get("previous") == self._last_hash',
        'self._sealed(END)[0].get("previous") != ""',
        (f"{STORE}::test_the_end_of_another_search_is_not_taken_for_its_own",),
        "spark",
    ),
    Defect(
        "the rows of a shard are not compared with what was noted",
        "worker/shard.py",
        "if self._sum_of(self.end, end) != kept:",
        "if not kept:",
        (f"{SHARD}[flat-a bit-rows]",),
        "spark",
    ),
    Defect(
        "the table of a shard is not compared with what was noted",
        "worker/shard.py",
        'or checksum(self.table) != note["table"]',
        'or not note["table"]',
        (f"{SHARD}[flat-zeros-table]",),
        "spark",
    ),
    Defect(
        "the parts of a shard's folded rows are not compared with what was noted",
        "worker/shard.py",
        'if note["sum_of_folded"] == self._sum_of_folded:',
        'if note["sum_of_folded"] or not older:',
        (f"{SHARD}[folded-a bit-parts]",),
        "spark",
    ),
    Defect(
        "a block that has changed on its way is admitted",
        "worker/tasks.py",
        "if _checksum(content) != summed:",
        "if len(content) == 0:",
        ("tests/spark/test_explore.py::test_a_block_that_has_changed_on_its_way_is_refused",),
        "spark",
    ),
    Defect(
        "blocks are admitted as they come",
        "worker/inbox.py",
        "sorted(self._held.pop(owner, []), key=lambda each: each[0], reverse=True)",
        "self._held.pop(owner, [])[::-1]",
        ("tests/spark/test_explore.py::test_blocks_leave_an_inbox_in_their_order",),
        "spark",
    ),
    Defect(
        "a window does not know the states that its partition had before there were so many windows",
        "levels.py",
        "self._by_partition.get(partition // parts, [])",
        "self._by_partition.get(partition, [])",
        (WINDOWS,),
        "spark",
    ),
    Defect(
        "all windows of a partition admit what was sent to the first one",
        "worker/tasks.py",
        "for block in inbox.in_order(owner)",
        "for block in inbox.in_order(partition * windows)",
        (WINDOWS,),
        "spark",
    ),
    Defect(
        "a pass begins with the second block",
        "worker/level.py",
        "visited.admit(chain([first], records), ROWS_OF_A_FILE)",
        "visited.admit(chain([], records), ROWS_OF_A_FILE)",
        (MANY_FILES,),
        "spark",
    ),
    Defect(
        "a violation in a later file of a partition is looked for in its first one",
        "worker/level.py",
        "violated |= {name: (len(files), row) for",
        "violated |= {name: (0, row) for",
        (MANY_FILES,),
        "spark",
    ),
    Defect(
        "executors let a prospect come true along all actions",
        "worker/graph.py",
        "[self.relied_on[0, records[width - 1 :: width]] != 0]",
        "[self.relied_on[0, records[width - 1 :: width]] >= 0]",
        (f"{PROSPECTS_ON_SPARK}::test_executors_judge_a_random_system_as_the_local_search_does",),
        "spark",
    ),
    Defect(
        "executors take only steps beyond a bound for held back where there are no others",
        "worker/graph.py",
        "CUT * (self.notes[0] & ONLY_CUT != 0)",
        "CUT * (self.notes[0] == ONLY_CUT)",
        (f"{PROSPECTS_ON_SPARK}::test_executors_judge_a_random_system_as_the_local_search_does",),
        "spark",
    ),
    Defect(
        "every function of highwater's own models is taken for what is written there",
        "compiler/questions.py",
        "return place_of(code, module, changed_last(module)) is not None",
        "return True",
        (
            "tests/explorer/test_views_answer_or_refuse.py::"
            "test_a_property_of_highwaters_own_that_is_not_as_it_is_written_is_looked_through",
        ),
    ),
    Defect(
        "premises are not looked through for questions that no view can answer",
        "compiler/questions.py",
        "dict.fromkeys(each.of for each in system.functions)",
        "dict.fromkeys(each.of for each in (*system.actions, *system.properties))",
        (OF_GRAPHS,),
    ),
    Defect(
        "an exact type that has a local name is not found in the text",
        "compiler/kinds.py",
        "            return kinds[0]\n",
        "            return Unknown()\n",
        (REFUSED,),
    ),
    Defect(
        "identity that an operator asks for is not found in the text",
        "compiler/questions.py",
        "OF_OBJECTS = (id, type, operator.is_, operator.is_not)",
        "OF_OBJECTS = (id, type)",
        (REFUSED,),
    ),
    Defect(
        "what is looked up in a set is taken for the set",
        "compiler/questions.py",
        "yield reader.kind(left), reader.values(right)",
        "yield reader.kind(right), reader.values(left)",
        (NEVER_EQUAL,),
    ),
    Defect(
        "a member of an enum may be compared with anything",
        "comparisons.py",
        "    if _refusing and is_never_equal(self, other, _refusing) and _asked_by_a_model(sys._getframe(1)):\n",
        "    if False:\n",
        (NEVER_EQUAL,),
    ),
    Defect(
        "two actions may have one name",
        "system.py",
        "        if first.of is not each.of:\n",
        "        if not first:\n",
        (EQUAL_NAMES,),
    ),
    Defect(
        "what only a bound makes possible is certain",
        "search/graph_properties/prospects.py",
        "_mark_reaching(engine, prospect, marks, beyond=False)",
        "_mark_reaching(engine, prospect, marks, beyond=True)",
        (BEYOND_BOUNDS,),
    ),
    Defect(
        "a step that a bound cuts leads nowhere",
        "search/graph_properties/prospects.py",
        "_mark_reaching(engine, prospect, marks, beyond=True)",
        "_mark_reaching(engine, prospect, marks, beyond=False)",
        (BEYOND_BOUNDS,),
    ),
    Defect(
        "a premise counts as true where it is false",
        "search/levels/coverage.py",
        "    if name in found and instance.apply(state):\n",
        "    if name in found:\n",
        (NO_PREMISE,),
    ),
    Defect(
        "a leads-to is owed where its premise is false",
        "search/graph_properties/owed.py",
        "asked = 1 - false_in(engine, engine.premises",
        "asked = false_in(engine, engine.premises",
        (OWED,),
    ),
    Defect(
        "what is owed at first is owed nowhere",
        "search/graph_properties/owed.py",
        "engine.store.level(0)[1] if form.at_first else None",
        "0 if form.at_first else None",
        (OWED,),
    ),
    Defect(
        "a component may break an eventually-always without a state where it is false",
        "search/graph_properties/owed.py",
        "return self.returned if self._asks_to_return else np.zeros(0, np.uint8)",
        "return np.zeros(0, np.uint8)",
        (STAYS,),
    ),
    Defect(
        "a checkpoint that is a level deeper is taken",
        "search/keeping/snapshots.py",
        "    if max_depth is None or depth <= max_depth:\n",
        "    if max_depth is None or depth <= max_depth + 1:\n",
        (DEEPER,),
    ),
    Defect(
        "a lasso may be unfair without what is dimmed",
        "analysis/causes.py",
        "self._by_the_property(begin) | self._by_fairness()",
        "self._by_the_property(begin)",
        (f"{SLICES}::test_a_slice_keeps_the_step_that_disables_a_fair_action",),
    ),
    Defect(
        "strong fairness looks at one state of the cycle",
        "analysis/causes.py",
        "for at in idle if demand.strong else idle[:1]:",
        "for at in idle[:1]:",
        (f"{SLICES}::test_strong_fairness_looks_at_the_whole_cycle_and_weak_fairness_at_one_state_of_it",),
    ),
    Defect(
        "a cycle need not come back to what it wrote over",
        "analysis/causes.py",
        "frozenset((leaf, at - 1) for leaf in run.reads | run.written)",
        "frozenset((leaf, at - 1) for leaf in run.decided_by)",
        (SLICE_OF_A_LASSO,),
    ),
    Defect(
        "nothing asks for a promise",
        "analysis/causes.py",
        "looks if of.premise is None else looks | self._by(of.premise, begin)",
        "looks",
        (f"{SLICES}::test_a_slice_keeps_the_step_that_makes_the_promise_due",),
    ),
    Defect(
        "a step that is kept may keep a promise before the cycle",
        "analysis/causes.py",
        "for at in range(begin + 1, back_to + 1)}",
        "for at in ()}",
        (f"{SLICES}::test_a_step_that_is_kept_must_not_keep_the_promise_before_the_cycle",),
    ),
    Defect(
        "a copy that changes nothing is not followed",
        "analysis/causes.py",
        "if changed <= step <= at and leaf",
        "if step == changed and leaf",
        (COPIES,),
    ),
    Defect(
        "a copy that changes nothing is followed only for what is needed later",
        "analysis/causes.py",
        "if leaf in run.copied and self._writers[at][leaf] < step <= at:",
        "if False:",
        (COPIES,),
    ),
    Defect(
        "a changed protocol keeps its old properties",
        "claims/spec.py",
        "theirs[each.name] if each in ours else each",
        "each",
        ("tests/highwater/test_mutate.py::test_the_property_is_the_one_of_the_changed_protocol",),
        "src/highwater",
    ),
    Defect(
        "a vacuous repair hides a larger one",
        "claims/repairing.py",
        "if attempt.repairs:",
        "if attempt.ending is Ending.REPAIRED:",
        (f"{REPAIR}::test_a_vacuous_repair_hides_no_good_one[keys0]",),
        "src/highwater",
    ),
    Defect(
        "prospects and premises may look at less after a repair",
        "search/levels/difference.py",
        "on_states = (engine.invariants, engine.prospects, engine.liveness, engine.premises)",
        "on_states = (engine.invariants,)",
        (f"{REPAIR}::test_a_repair_after_which_a_prospect_looks_at_less_is_vacuous",),
    ),
    Defect(
        "nobody notices that a premise is never true any more",
        "search/levels/difference.py",
        "if count < engine.store.count",
        "if count <= engine.store.count",
        (f"{REPAIR}::test_a_repair_after_which_a_premise_is_never_true_is_vacuous",),
    ),
    Defect(
        "a repair is compared beyond the depth of its claim",
        "claims/costs.py",
        "attrs.evolve(budget, max_depth=self._spec.file.max_depth)",
        "budget",
        (f"{REPAIR}::test_actions_beyond_the_depth_of_a_claim_are_not_missing",),
        "src/highwater",
    ),
    Defect(
        "a known counterexample need not violate",
        "claims/counterexamples.py",
        "return instance_of(system, self.property, self.arguments, trace, self.back_to) is not None",
        "return True",
        (f"{REPAIR}::test_the_property_is_the_one_of_the_changed_protocol",),
        "src/highwater",
    ),
    Defect(
        "a known counterexample stays one whatever rules it reads",
        "claims/counterexamples.py",
        "return self.made_of == made_of and all(self._are_alike(read, spec) for read in self.runs)",
        "return self.made_of == made_of",
        (f"{REPAIR}::test_a_counterexample_is_executed_again_only_where_a_rule_that_it_reads_is_another",),
        "src/highwater",
    ),
    Defect(
        "functions of a known counterexample are not asked under other rules",
        "claims/counterexamples.py",
        "settings.applied(functions[number])(subject) == result",
        "True",
        (f"{REPAIR}::test_a_lasso_that_stays_is_known_and_one_that_is_fair_no_more_is_not",),
        "src/highwater",
    ),
    Defect(
        "what functions read under other rules is not noted",
        "claims/counterexamples.py",
        "_Alike(spec, depends_on, holds)",
        "_Alike(spec, read, holds)",
        (f"{REPAIR}::test_a_set_is_explored_only_if_no_known_counterexample_stays",),
        "src/highwater",
    ),
    Defect(
        "a step that changes nothing in the abstract model is refused",
        "refinement.py",
        "return one == other or other in steps(one)",
        "return other in steps(one)",
        (REFINES,),
    ),
    Defect(
        "an abstract action fits wherever it leads",
        "refinement.py",
        "return one == other or other in steps(one)",
        "return one == other or bool(steps(one))",
        (REFINES,),
    ),
    Defect(
        "initial states may be mapped to any",
        "refinement.py",
        "return Invariant(begins, {}).instances(None) if wrong else []",
        "return []",
        (REFINES,),
    ),
    Defect(
        "an abstract state may be beyond its bounds",
        "refinement.py",
        "    if cut:\n        raise",
        "    if not cut:\n        return found\n    if False:\n        raise",
        (REFINES,),
    ),
    Defect(
        "what a map returns is not read",
        "refinement.py",
        "found = plain(mapped(state))",
        "found = mapped(state)",
        (REFINES,),
    ),
    Defect(
        "the verifier does not ask that steps lead to every state",
        "verifier/closed_set.py",
        "if sums.reached.bit_count() != wanted:",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets states be stored deeper than steps lead",
        "verifier/closed_set.py",
        "if self._depth(to) > depth + 1:",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets initial states be stored at any depth",
        "verifier/closed_set.py",
        "if row is None or self._depth(row):",
        "if row is None:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets an image be stored, too",
        "verifier/closed_set.py",
        "if any(other != data and other in self._row_of for other in orbit):",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier takes any numbers for ranks",
        "verifier/closed_set.py",
        "if self._system.class_of(state) != state:",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a waiting state have no rank",
        "verifier/rankings.py",
        "if here in self._form.begins and (initial or not self._form.at_first):",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a step meet a demand in a circle",
        "verifier/rankings.py",
        "if ours[1] != KEPT and step.action in self._demands[ours[1]].instances:",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets weak fairness be followed by another demand",
        "verifier/rankings.py",
        "if any(demand == KEPT or not self._demands[demand].strong for _, demand in above):",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a property be false where it is kept",
        "verifier/rankings.py",
        "if here in self._form.returns:",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a goal be as far as hope",
        "verifier/rankings.py",
        "least = 0 if rank > 0 else rank + 1",
        "least = -99 if rank > 0 else rank + 1",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a promise be kept on the way of a lasso",
        "verifier/traces.py",
        "if owed_from > trace.back_to or",
        "if",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a promise be kept all along a cycle",
        "verifier/traces.py",
        "if form.returns.isdisjoint(found[trace.back_to :]):",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a trace begin anywhere",
        "verifier/traces.py",
        "if not states or states[0] not in system.initial or",
        "if not states or",
        (VERIFIER,),
    ),
    Defect(
        "the verifier passes over steps within a class of states",
        "verifier/closed_set.py",
        "if after != state:  #",
        "if of != state:  #",
        (VERIFIER,),
    ),
    Defect(
        "the verifier takes a cycle within a class of states for unfair",
        "verifier/traces.py",
        "if after is not None and after != state}",
        "if of not in (None, state)}",
        (VERIFIER,),
    ),
    Defect(
        "the verifier takes every cycle for fair",
        "verifier/traces.py",
        "return taken or not (any(found) if demand.strong else all(found))",
        "return True",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a fair behaviour stay for ever",
        "verifier/rankings.py",
        "elif not any(step.action in self._demands[last].instances for step in steps):",
        "elif False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a step lead to a waiting state that has no rank",
        "verifier/rankings.py",
        "waits = truths(self._system, self._of, step.after) in self._form.stays",
        "waits = False",
        (VERIFIER,),
    ),
    Defect(
        "the verifier compares only the numbers of ranks, not their demands",
        "verifier/rankings.py",
        "if theirs != ours:",
        "if theirs[0] != ours[0]:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier relies on every step for a prospect",
        "verifier/rankings.py",
        "relied_on = [step for step in steps if step.action.of in each.of.along]",
        "relied_on = list(steps)",
        (VERIFIER,),
    ),
    Defect(
        "the verifier takes every end of a trace for a deadlock",
        "verifier/traces.py",
        'why = "" if is_deadlock(system, end) else',
        'why = "" if True else',
        (VERIFIER,),
    ),
    Defect(
        "the verifier takes a deadlock for a violation that was not asked for",
        "verifier/traces.py",
        'if name == f"{DEADLOCK}()" and no_deadlock:',
        'if name == f"{DEADLOCK}()":',
        (VERIFIER,),
    ),
    Defect(
        "the verifier takes strong fairness of a lasso for weak",
        "verifier/traces.py",
        "any(found) if demand.strong else all(found)",
        "all(found)",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a promise of the first state be broken later",
        "verifier/traces.py",
        "1 if form.at_first else None",
        "None",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a promise be broken that was never owed",
        "verifier/traces.py",
        " or form.begins.isdisjoint(begins):",
        ":",
        (VERIFIER,),
    ),
    Defect(
        "the verifier lets a trace that is no lasso come back",
        "verifier/traces.py",
        'if back_to is not None and each["property"] not in map(str, system.liveness):',
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier judges a promise of one state of each orbit",
        "verifier/closed_set.py",
        "if system.liveness and self._renamings:",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier trusts symmetry where a prospect has parameters",
        "verifier/closed_set.py",
        "if self._trusts and any(each.arguments for each in system.prospects) and self._renamings:",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "the verifier relies on every step where a prospect is lost",
        "outlook.py",
        "if action.of in prospect.of.along]",
        "]",
        (VERIFIER,),
    ),
    Defect(
        "a cut step leaves no hope",
        "outlook.py",
        "if isinstance(after, Cut):\n                return",
        "if False:\n                return",
        (VERIFIER,),
    ),
    Defect(
        "the verifier takes any verdict for one that holds",
        "verifier/verdicts.py",
        "if certificate.verdict not in (Verdict.HOLDS.value, Verdict.HOLDS_TO_DEPTH.value):",
        "if False:",
        (VERIFIER,),
    ),
    Defect(
        "a certificate may have true in place of 1",
        "verifier/certificate.py",
        "shape is object or type(value) is shape",
        "True",
        (VERIFIER,),
    ),
)


def copy_of_the_tree(to: Path) -> None:
    """A copy whose kernels Python interprets."""
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, to / name)
    kernels = to / "explorer" / "kernels"
    (kernels / "making" / "compiling.py").write_text(COMPILING)
    (kernels / "making" / "intrinsics.py").write_text(INTRINSICS)
    entry_points = kernels / "making" / "entry_points.py"
    text = entry_points.read_text(encoding="utf-8")
    assert text.count(DOOR) == 1
    entry_points.write_text(text.replace(DOOR, INTERPRETED), encoding="utf-8")


def run_in(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of a tree.

    Raises:
        TimeoutExpired: it does not end.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tree}/src",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": f"{tree}/h",
    }
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def first_failure(tree: Path, tests: tuple[str, ...]) -> str | None:
    """The first of the tests that fails in a tree, if any does; one that takes too long counts as failed."""
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
    try:
        done = run_in(tree, "pytest", *options, *tests)
    except subprocess.TimeoutExpired:
        return f"{tests[0]} (does not end)"
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) ([^[\n]+?)(?:\[| - |$)", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(
            f"pytest said neither which test failed nor that all passed:\n{done.stdout[-3000:]}{done.stderr[-1000:]}"
        )
    return found.group(1)


@contextmanager
def planted(defect: Defect | None) -> Iterator[Path]:
    """A tree of its own, with a defect or without one."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        copy_of_the_tree(tree)
        if defect is not None:
            path = defect.source(tree)
            path.write_text(defect.planted(path.read_text(encoding="utf-8")), encoding="utf-8")
        yield tree


def fate_of(defect: Defect | None, tests: tuple[str, ...]) -> str | None:
    """What fails in a tree of its own, with a defect or without one."""
    with planted(defect) as tree:
        return first_failure(tree, tests)


def fates_of(defects: list[Defect], jobs: int) -> list[Fate]:
    """What becomes of each defect.

    Raises:
        RuntimeError: a test fails without any.
    """

    def fate(defect: Defect) -> Fate:
        started = time.perf_counter()
        found = Fate(defect, fate_of(defect, defect.tests), time.perf_counter() - started)
        print(f"{defect.name}: {found.noticed_by or 'NOT NOTICED'} ({found.seconds:.0f} s)", flush=True)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        used = tuple(dict.fromkeys(test for defect in defects for test in defect.tests))
        healthy = pool.submit(fate_of, None, used)
        fates = list(pool.map(fate, defects))
        if failed := healthy.result():
            raise RuntimeError(f"without a defect: {failed} fails")
    return fates


@attrs.frozen
class Audited:
    """What became of a defect in some claims of the gallery.

    Attributes:
        changed: the claims that come to something else, and end as if nothing were wrong.
        noticed: the claims whose audit contradicts, each with what it says.
        refused: the claims whose certificate is refused, each with what the verifier says.
        error: how a search ended that says by itself that something is wrong, if one did.
    """

    defect: Defect
    changed: tuple[str, ...]
    noticed: dict[str, str]
    refused: dict[str, str]
    error: str

    @property
    def fate(self) -> str:
        """In a few words."""
        if self.noticed or self.refused:
            return "noticed"
        return "**not noticed**" if self.changed else "an error" if self.error else "changes nothing"


def comes_to(tree: Path, *arguments: str) -> dict[str, list[dict[str, Any]]]:
    """What `tests.audited` says in a tree."""
    try:
        done = run_in(tree, "tests.audited", *arguments)
    except subprocess.TimeoutExpired:
        return {claim: [{"error": "does not end"}] for claim in CLAIMS}
    if done.returncode:
        return {claim: [{"error": done.stderr.strip().splitlines()[-1][:200]}] for claim in CLAIMS}
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return found


def audits_of(defects: list[Defect], jobs: int) -> list[Audited]:
    """What an audit makes of each defect."""
    with planted(None) as tree:
        healthy = comes_to(tree, "none")
        assert not any("error" in each for found in healthy.values() for each in found), healthy
        assert comes_to(tree, "quick") == healthy, "an audit contradicts without a defect"
        once = {claim: found[:1] for claim, found in healthy.items()}
        assert comes_to(tree, "verify") == once, "a certificate is refused without a defect"

    def audited(defect: Defect) -> Audited:
        with planted(defect) as tree:
            found = comes_to(tree, "none")
            changed = [claim for claim in CLAIMS if found[claim] != healthy[claim]]
            silent = tuple(claim for claim in changed if not any("error" in each for each in found[claim]))
            errors = [each["error"] for claim in changed for each in found[claim] if "error" in each]
            noticed, refused = (_contradicted(tree, judge, silent) for judge in ("quick", "verify"))
        made = Audited(defect, silent, noticed, refused, next(iter(errors), ""))
        of = f"{len(noticed)} and {len(refused)} of {len(silent)} claims"
        print(f"{defect.name}: {made.fate} ({of}) {made.error}", flush=True)
        return made

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(audited, defects))


def _contradicted(tree: Path, judge: str, claims: tuple[str, ...]) -> dict[str, str]:
    """The claims that a judge contradicts in a tree, each with what it says."""
    found = comes_to(tree, judge, *claims) if claims else {}
    return {claim: each["contradicted"] for claim in claims for each in found[claim] if "contradicted" in each}


def table_of_audits(found: list[Audited]) -> str:
    """The result in Markdown."""
    changing = [each for each in found if each.changed]
    noticed, refused = (sum(bool(getattr(each, by)) for each in changing) for by in ("noticed", "refused"))
    either = sum(each.fate == "noticed" for each in changing)
    errors = sum(each.fate == "an error" for each in found)
    rows = [
        f"| {each.defect.name} | {len(each.changed)} | {len(each.noticed) or '**none**'} "
        f"| {len(each.refused) or '**none**'} |"
        for each in changing
    ]
    return "\n".join(
        [
            f"{len(changing)} of {len(found)} planted defects change the result of some of {len(CLAIMS)} claims, "
            f"without an error. The audit notices {noticed}, the verifier {refused}, and at least one of the two "
            f"{either}. {errors} end a search with an error.",
            "",
            "| defect | changes claims | of which the audit contradicts | of which certificates are refused |",
            "|---|---|---|---|",
            *rows,
        ]
    )


def table(fates: list[Fate]) -> str:
    """The result in Markdown."""
    noticed = sum(fate.noticed_by is not None for fate in fates)
    rows = [f"| {fate.defect.name} | `{fate.defect.place}` | {_shown(fate.noticed_by)} |" for fate in fates]
    return "\n".join(
        [
            f"{noticed} of {len(fates)} planted defects are noticed.",
            "",
            "| defect | in | noticed by |",
            "|---|---|---|",
            *rows,
        ]
    )


def _shown(test: str | None) -> str:
    if test is None:
        return "**nothing**"
    return f"`{test.removeprefix('tests/explorer/')}`".replace("::", " ")


def write(text: str, of: str = "planted defects") -> None:
    """Put the table between its marks in the page."""
    begin, end = f"<!-- begin of the table of {of} -->\n", f"<!-- end of the table of {of} -->"
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    PAGE.write_text(f"{head}{begin}{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="defects to plant; all if there are none")
    parser.add_argument("--audit", action="store_true", help="ask the default audit and the verifier, and no test")
    parser.add_argument("--write", action="store_true", help="put the table into docs/testing.md")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="how many at once (default: one per processor)"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - {defect.name for defect in DEFECTS}:
        parser.error(f"no defect is named {', '.join(map(repr, sorted(unknown)))}; see docs/testing.md")
    chosen = [defect for defect in DEFECTS if not arguments.names or defect.name in arguments.names]
    if arguments.audit:
        text = table_of_audits(audits_of([each for each in chosen if each.is_of_the_engine], arguments.jobs))
        print(text)
        if arguments.write:
            write(text, "audited defects")
        return
    fates = fates_of(chosen, arguments.jobs)
    print(table(fates))
    if arguments.write:
        write(table(fates))
    sys.exit(any(fate.noticed_by is None for fate in fates))


if __name__ == "__main__":
    main()
