"""Each technique of the kernels beside a plain version of the same."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from highwater.explorer.encoding import COPY_FIELD, FIRST_EFFECT, UNKNOWN
from highwater.explorer.kernels.arrays import EffectArrays, FlatRows
from highwater.explorer.kernels.making import entry_points, intrinsics
from highwater.explorer.kernels.states import recent, rows
from highwater.explorer.kernels.steps import trees

WORD = st.integers(0, 2**64 - 1)

NO_CONDITIONS = np.zeros(1, np.uint32), np.zeros((1, 1), np.uint64)


@njit
def gathered(value: int, mask: int) -> tuple[int, int]:
    return intrinsics.pext(value, mask), intrinsics.gather_bits(value, mask)


@given(value=WORD, mask=WORD)
def test_gathering_bits_packs_those_under_the_mask(value: int, mask: int) -> None:
    """The machine instruction, its portable twin, and a string of bits agree."""
    bits = [value >> position & 1 for position in range(64) if mask >> position & 1]
    expected = sum(bit << place for place, bit in enumerate(bits))
    assert tuple(map(int, gathered(np.uint64(value), np.uint64(mask)))) == (expected, expected)


@njit
def lowest(value: int) -> int:
    return intrinsics.lowest_bit(value)


@given(position=st.integers(0, 63), above=WORD)
def test_the_lowest_bit_is_found(position: int, above: int) -> None:
    assert lowest(np.uint64((above << position | 1 << position) & (2**64 - 1))) == position


@njit
def swapped(array: Any, expected: int, replacement: int) -> int:
    return intrinsics.swap_if(array, np.uint64(1), np.uint32(expected), np.uint32(replacement))


def test_a_swap_happens_only_where_the_expected_value_stands() -> None:
    array = np.array([7, 7, 7], np.uint32)
    assert (swapped(array, 5, 9), array.tolist()) == (7, [7, 7, 7])
    assert (swapped(array, 7, 9), array.tolist()) == (7, [7, 9, 7])


@njit(nogil=True)
def asks(branches: Any) -> None:
    """Ask for the first branch until the second one is set."""
    while intrinsics.load(branches, np.uint64(1)) == np.uint64(0):
        trees.ask_for(branches, np.uint64(0))


@njit(nogil=True)
def answers_lost(branches: Any, rounds: int) -> int:
    """Forget the first branch, and answer some moments later, again and again: how often the answer does not stay."""
    lost = 0
    for answer in range(rounds):
        branches[0] = np.uint64(UNKNOWN)
        for _ in range(answer % 64):
            intrinsics.load(branches, np.uint64(0))
        branches[0] = np.uint64(FIRST_EFFECT + answer)
        for _ in range(64):
            lost += intrinsics.load(branches, np.uint64(0)) != np.uint64(FIRST_EFFECT + answer)
    branches[1] = np.uint64(1)
    return lost


def test_asking_for_a_branch_never_takes_away_what_was_learned_meanwhile() -> None:
    branches = np.array([UNKNOWN, 1], np.uint64)
    asks(branches)  # compiled before the two threads begin
    answers_lost(branches, 0)
    branches[1] = 0
    thread = threading.Thread(target=asks, args=(branches,))
    thread.start()
    lost = answers_lost(branches, 4_000_000)
    thread.join()
    assert lost == 0


@njit
def round_trip(space: Any, words: Any, units: int) -> bool:
    for row in range(len(words)):
        rows.write_row(space, row, words, row, units)
    same = True
    for row in range(len(words)):
        same &= rows.is_row(space, row, words, row, units)
    back = np.zeros_like(words)
    for row in range(len(words)):
        rows.read_row(space, row, back, row, units)
    return same and (back == words).all()


@pytest.mark.parametrize("units", [1, 2, 3, 4, 5])
def test_states_are_packed_into_rows_without_the_unused_half_word(units: int) -> None:
    words = np.random.default_rng(units).integers(0, 2**64, (50, -(-units // 2)), np.uint64)
    if units % 2:
        words[:, -1] &= np.uint64(2**32 - 1)
    assert round_trip(np.zeros(50 * units, np.uint32), words, units)


@njit
def holds(space: Any, words: Any, units: int) -> bool:
    return rows.is_row(space, 0, words, 0, units)


@pytest.mark.parametrize("units", [1, 2, 3, 4, 5])
def test_a_row_is_that_of_one_state_only(units: int) -> None:
    space, room = np.arange(1, units + 1, dtype=np.uint32), np.zeros((1, 3), np.uint64)
    for changed in range(units):
        room.view(np.uint32)[0, :units] = space
        assert holds(space, room, units)
        room.view(np.uint32)[0, changed] ^= 1 << 31
        assert not holds(space, room, units)


@settings(deadline=None)
@given(
    states=st.lists(st.tuples(WORD, st.integers(0, 2**32 - 1)), unique=True, max_size=60),
    spare=st.integers(1, 20),
    other=WORD,
)
def test_the_visited_set_finds_exactly_the_entered_rows(states: list[tuple[int, int]], spare: int, other: int) -> None:
    """A set of whole states, in a table that may be nearly full; rows that move are found in their new place."""
    units = 3
    space = np.zeros(3 * (len(states) + 1), np.uint32)
    for row, (low, high) in enumerate(states):
        space[3 * row : 3 * row + 3] = [low & 2**32 - 1, low >> 32, high]
    table, room = np.zeros(len(states) + spare, np.uint32), np.zeros((1, 2), np.uint64)
    entry_points.ALONE.enter_rows(FlatRows(space), 0, len(states), table, room, np.zeros(7, np.uint64), units)

    def find(words: tuple[int, int]) -> int:
        room[0] = words
        return int(entry_points.ALONE.find(FlatRows(space), table, room, np.zeros((0, 1), np.uint32), units))

    positions = {state: row for row, state in enumerate(states)}
    assert {state: find(state) for state in states} == positions
    assert find((other, 5)) == positions.get((other, 5), -1)
    if states:
        entry_points.ALONE.move_row(FlatRows(space), 0, len(states), table, np.zeros((1, 2), np.uint64), units)
        assert find(states[0]) == len(states)


@njit
def entered(row: int, hashed: int, other: int, slots: int) -> tuple[int, int, bool, bool]:
    bits = rows.row_bits(slots)
    entry = rows.entry_of(row, hashed, bits)
    return entry, rows.row_at(entry, bits), rows.may_be(entry, hashed, bits), rows.may_be(entry, other, bits)


@given(data=st.data(), slots=st.integers(16, 2**32), hashed=WORD, other=WORD)
def test_an_entry_of_the_visited_set_holds_a_row_and_as_much_of_a_hash_as_fits(
    data: Any, slots: int, hashed: int, other: int
) -> None:
    """The tag is the lower half of the hash without the bits that row numbers need, so it rules rows out but never the
    right one.
    """
    row = data.draw(st.integers(0, min(slots + 2**16, 2**31) - 2))
    entry, found, same, also = entered(row, np.uint64(hashed), np.uint64(other), slots)
    row_bits = min(32, (slots + 2**16).bit_length())
    assert entry != 0
    assert (found, same) == (row, True)
    assert also == (((hashed ^ other) & 2**32 - 1) >> row_bits == 0)


@njit
def applied(words: Any, effects: Any, made: Any) -> None:
    trees.apply(words, 0, 0, effects, made, 0, 4)


@given(words=st.tuples(WORD, WORD), keep=st.tuples(WORD, WORD), shift=st.integers(0, 56), to=st.integers(0, 56))
def test_an_effect_keeps_puts_and_copies_bits(
    words: tuple[int, int], keep: tuple[int, int], shift: int, to: int
) -> None:
    target = 0xFF << to
    kept = (keep[0], keep[1] & ~target)
    put = (~kept[0] & 0x0F0F, 0)
    copy = sum(part << place * COPY_FIELD for place, part in enumerate((0, shift, 8, 1, to)))
    arrays = EffectArrays(np.array([[*kept, *put, 1]], np.uint64), np.array([copy], np.uint64), *NO_CONDITIONS)
    made = np.zeros((1, 2), np.uint64)
    applied(np.array([words], np.uint64), arrays, made)
    expected = [words[0] & kept[0] | put[0], words[1] & kept[1] | (words[0] >> shift & 0xFF) << to]
    assert made[0].tolist() == expected


def test_a_copy_may_be_a_whole_word() -> None:
    copy = sum(part << place * COPY_FIELD for place, part in enumerate((0, 0, 64, 1, 0)))
    arrays = EffectArrays(np.array([[2**64 - 1, 0, 0, 0, 1]], np.uint64), np.array([copy], np.uint64), *NO_CONDITIONS)
    made = np.zeros((1, 2), np.uint64)
    applied(np.array([[2**64 - 3, 5]], np.uint64), arrays, made)
    assert made[0].tolist() == [2**64 - 3] * 2


class Met(NamedTuple):
    """What of a thread's room is used to drop what it has met just before."""

    made: Any
    hashes: Any
    hit_state: Any
    hit_tree: Any
    recent: Any


@njit
def dropped(met: Any, states: Any, units: int) -> int:
    for number in range(len(states)):
        met.made[number] = states[number]
        met.hashes[number] = rows.hash_of(states, number, units)
    return recent.drop_recent(len(states), met, units)


@settings(deadline=None)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=30), min_size=1, max_size=6
    )
)
def test_only_states_that_were_met_before_are_dropped(batches: list[list[tuple[int, int]]]) -> None:
    """What is kept is in order, with its hashes; what is dropped was remembered, or kept before; what came last is
    dropped.
    """
    units, first = 4, (3, 1)
    met = Met(
        np.zeros((30, 2), np.uint64),
        np.zeros(30, np.uint64),
        np.zeros(30, np.uint32),
        np.zeros(30, np.uint32),
        np.full((8, 2), first, np.uint64),
    )
    known = {first}
    for batch in batches:
        kept = dropped(met, np.array(batch, np.uint64), units)
        left = list(map(tuple, met.made[:kept].tolist()))
        among = iter(batch)
        assert all(state in among for state in left)
        assert met.hashes[:kept].tolist() == [hashed(state) for state in left]
        known |= set(left)
        assert set(batch) <= known
    assert dropped(met, np.array(batches[-1][-1:], np.uint64), units) == 0


def hashed(state: tuple[int, ...]) -> int:
    return int(hash_of(np.array([state], np.uint64)))


@njit
def hash_of(words: Any) -> int:
    return rows.hash_of(words, 0, 4)
