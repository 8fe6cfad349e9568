"""Folded rows are the same rows: kernels that read, write, find and move them; and searches whose rows are folded in
flight, against plain Python and against searches whose rows stay flat.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater.claims.spec import load_spec
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.kernels.arrays import ROWS
from highwater.explorer.kernels.making import entry_points
from highwater.explorer.search.engine import engine
from highwater.explorer.search.graph_properties import liveness
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.states import folded, store
from highwater.explorer.search.states.cuts import most_parts
from highwater.explorer.search.states.rows import Rows
from highwater.explorer.search.states.store import Stopped, Store, spread
from highwater.explorer.verdict import Budget, Outcome, SearchOptions
from highwater.model.language.domain import ArrayOf, Integers
from highwater.model.language.records import domain_of, within
from tests.explorer.test_checkpoint import Stopwatch, comparable, manifest, restless, system
from tests.explorer.test_engine_in_small import DEPTH, SYSTEMS, club_of, expected, low_thresholds, plain_python
from tests.outcomes import agree

__all__ = ["low_thresholds", "restless"]

SPECS = Path(__file__).parents[2] / "specs" / "partition"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Rows are folded from the first kilobyte on, however little that saves, in rows that begin with two bytes each
    and a table of parts that begins with some slots. Lists for each search whether its rows were folded at its end.
    """
    monkeypatch.setattr(store, "FOLD_FROM", 1 << 10)
    monkeypatch.setattr(folded, "MOST_OF_FLAT", 1e9)
    monkeypatch.setattr(folded, "FEWEST_BYTES", 2)
    monkeypatch.setattr(folded, "FIRST_INDEX", 16)
    monkeypatch.setattr(folded, "FOLDED_AT_ONCE", 8)
    found: list[bool] = []
    outcome_of = breadth_first._Search._outcome

    def note(search: Any, reason: str) -> Outcome:
        found.append(search.store.is_folded)
        return outcome_of(search, reason)

    monkeypatch.setattr(breadth_first._Search, "_outcome", note)
    return found


def both(kept: list[bool], monkeypatch: pytest.MonkeyPatch, explore: Callable[[], Outcome]) -> tuple[Any, Any]:
    """What a search says with folded rows and with flat ones."""
    ours = explore()
    monkeypatch.setattr(store, "FOLD_FROM", 1 << 60)
    theirs = explore()
    assert kept == [True, False]
    return comparable(ours), comparable(theirs)


# --- Rows


@attrs.frozen
class Wide:
    """As many bits as three words and a half."""

    numbers: tuple[int, ...] = within(ArrayOf(Integers(0, 2**14 - 1), 16))


@attrs.frozen
class TwoWords:
    """As many bits as a word and a half: each half of a state is a piece, and one of them has bits in both words."""

    numbers: tuple[int, ...] = within(ArrayOf(Integers(0, 2**14 - 1), 7))


@attrs.frozen
class ManyWords:
    """As many bits as a state may have."""

    numbers: tuple[int, ...] = within(ArrayOf(Integers(0, 2**14 - 1), 128))


def folded_and_flat(layout: Layout, words: np.ndarray) -> tuple[Rows, np.ndarray]:
    """States in words as folded rows, and the units that these must have."""
    cells = np.ascontiguousarray(words.view(np.uint32)[:, : layout.units])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FEWEST_BYTES", 2), ("FIRST_INDEX", 16), ("MOST_OF_FLAT", 1e9)):
            patch.setattr(folded, name, value)
        found = folded.folded(cells.reshape(-1), layout, folded.Reserved(len(words), 1), lambda *of: spread(None, *of))
    assert found is not None
    rows = Rows(layout)
    rows.use(found.rows, len(words))
    return rows, cells


@pytest.mark.parametrize(("kind", "length"), [(TwoWords, 7), (Wide, 16), (ManyWords, 128)])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(2, 300), changes=st.integers(1, 3))
def test_states_similar_to_the_one_before_store_only_the_difference(
    kind: type[Any], length: int, seed: int, count: int, changes: int
) -> None:
    """Each state is the one before it but for one number, or a few: its other parts need not be looked up."""
    layout, random = Layout(domain_of(kind, None)), np.random.default_rng(seed)
    fields = random.integers(0, 2**14, length).tolist()
    states = []
    for _ in range(count):
        for place in random.integers(0, length, changes).tolist():
            fields[place] = int(random.integers(0, 2**14))
        states.append(layout.pack(kind(tuple(fields))))
    rows, cells = folded_and_flat(layout, np.array(states, np.uint64))
    assert (rows.cells(0, count) == cells).all()


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 300),
    values=st.integers(1, 2**14),
    first_bytes=st.integers(1, 8),
)
def test_folded_rows_equal_flat_rows(seed: int, count: int, values: int, first_bytes: int) -> None:
    """States in words, written, read in any order, found and moved; also with parts as many as states."""
    layout, random = Layout(domain_of(Wide, None)), np.random.default_rng(seed)
    packed = {layout.pack(Wide(tuple(row))) for row in random.integers(0, values, (count, 16)).tolist()}
    words = np.array(sorted(packed), np.uint64)
    random.shuffle(words)
    cells = words.view(np.uint32)[:, : layout.units]
    flat = np.ascontiguousarray(cells).reshape(-1)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FEWEST_BYTES", first_bytes), ("FIRST_INDEX", 16), ("MOST_OF_FLAT", 1e9)):
            patch.setattr(folded, name, value)
        patch.setattr(folded, "FOLDED_AT_ONCE", int(random.integers(1, 50)))
        found = folded.folded(flat, layout, folded.Reserved(len(words), 1), lambda *of: spread(None, *of))
    assert found is not None
    store = Rows(layout)
    store.rows, store.shared[ROWS] = found.rows, len(words)
    assert (store.cells(0, len(words)) == cells).all()
    shuffled = random.permutation(len(words))
    assert (store.chosen(shuffled) == cells[shuffled]).all()
    table, room = np.zeros(len(words) + 3, np.uint32), np.zeros((1, layout.words), np.uint64)
    numbers = np.zeros((most_parts(layout), 1), np.uint32)
    entry_points.ALONE.enter_rows(found.rows, 0, len(words), table, room, np.zeros(7, np.uint64), store.units)

    def find(state: np.ndarray) -> int:
        room[0] = state
        return int(entry_points.ALONE.find(found.rows, table, room, numbers, store.units))

    assert [find(state) for state in words] == list(range(len(words)))
    other = words[0] ^ np.uint64(1 << int(random.integers(0, 60)))
    assert find(other) == (-1 if tuple(other.tolist()) not in packed else find(other))
    entry_points.ALONE.move_row(found.rows, 0, len(words), table, room.copy(), store.units)
    assert find(words[0]) == len(words)
    found.grow(len(words) + 1)
    store.rows = found.rows
    assert (store.cells(1, len(words) + 1)[:-1] == cells[1:]).all()
    assert (store.cells(len(words), len(words) + 1) == cells[:1]).all()


def test_rows_stay_flat_if_folding_saves_little_or_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    layout, random = Layout(domain_of(Wide, None)), np.random.default_rng(0)
    states = [layout.pack(Wide(tuple(row))) for row in random.integers(0, 2**14, (2000, 16)).tolist()]
    for module, name, value in (
        (store, "FOLD_FROM", 1 << 10),
        (folded, "FIRST_INDEX", 16),
        (folded, "FOLDED_AT_ONCE", 8),
    ):
        monkeypatch.setattr(module, name, value)
    random_ones = Store(layout, Budget(), None)
    random_ones.add_initial(states)
    assert (random_ones.is_folded, random_ones.find(states[7])) == (False, 7)
    few = [layout.pack(Wide((n % 50,) * 8 + (n // 50,) * 8)) for n in range(2000)]
    alike = Store(layout, Budget(), None)
    alike.add_initial(few)
    assert (alike.is_folded, alike.find(few[1999])) == (True, 1999)
    assert alike.bytes_taken < random_ones.bytes_taken
    monkeypatch.setattr(folded, "address_space", lambda: 1 << 14)
    narrow = Store(layout, Budget(), None)
    narrow.add_initial(few)
    assert (narrow.is_folded, narrow.find(few[1999])) == (False, 1999)


def test_parts_that_threads_enter_at_once_have_one_number() -> None:
    """The visited set goes by numbers: two threads fold the same states at once, into rows that must be equal."""
    layout, random = Layout(domain_of(Wide, None)), np.random.default_rng(0)
    count, cells = 200_000, random.integers(0, 2**32, (200_000, layout.units), np.uint32)
    flat = np.concatenate([cells, cells]).reshape(-1)
    with ThreadPoolExecutor(2) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(folded, "MOST_OF_FLAT", 1e9)
        patch.setattr(folded, "FOLDED_AT_ONCE", 2 * count)

        def both_halves(fold: Callable[[int, int], None], begin: int, end: int) -> None:
            list(pool.map(fold, (begin, end // 2), (end // 2, end)))

        found = folded.folded(flat, layout, folded.Reserved(2 * count, 0), both_halves)
    assert found is not None
    rows = found.rows.folded[: 2 * count * found.row_bytes].reshape(2, -1)
    assert (rows[0] == rows[1]).all()
    assert found.parts > 2 * count


def test_the_visited_set_over_folded_rows_is_made_for_all_states_that_are_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layout = Layout(domain_of(Wide, None))
    states = [layout.pack(Wide((n % 50,) * 8 + (n // 50,) * 8)) for n in range(2000)]
    for module, name, value in (
        (store, "FOLD_FROM", 1 << 10), (store, "FIRST_TABLE", 64), (folded, "FIRST_INDEX", 16),
        (folded, "FOLDED_AT_ONCE", 8),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    for hoped, folded_bytes, slots in (
        (100_000, 0, 150_000), (100_000, 900_000, 100_000),  # no more than 13 bytes for each state
        (1000, 0, 6000), (10**18, 0, 6000),  # too few and too many are forgotten
    ):  # fmt: skip
        full = Store(layout, Budget(), None)
        full.expect(64, hoped, folded_bytes)
        full.add_initial(states)
        assert (full.is_folded, full.find(states[1999])) == (True, 1999)
        assert (len(full.table) == slots) is (slots > 6000)
        assert 2000 < len(full.table) <= slots
        before = len(full.table)
        full.grow_table()
        assert len(full.table) >= before * 3 // 2  # threads may claim more slots than there are states


def test_states_are_found_if_the_visited_set_cannot_grow_after_rows_were_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layout = Layout(domain_of(Wide, None))
    states = [layout.pack(Wide((n % 50,) * 8 + (n // 50,) * 8)) for n in range(2000)]
    full = Store(layout, Budget(), None)
    full.add_initial(states)
    for module, name, value in ((folded, "FIRST_INDEX", 16), (folded, "FOLDED_AT_ONCE", 8), (store, "reserve", refuse)):
        monkeypatch.setattr(module, name, value)
    full._fold_from = 1
    with pytest.raises(Stopped, match="memory"):
        full.grow_table()
    assert full.is_folded
    assert [full.find(state) for state in states] == list(range(2000))


def refuse(*asked: Any) -> np.ndarray:
    raise MemoryError


# --- Searches


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_with_folded_rows_agrees_with_plain_python(
    kept: list[bool], monkeypatch: pytest.MonkeyPatch, symmetry: bool, workers: int
) -> None:
    monkeypatch.setattr(engine, "ROWS_WORTH_A_SECOND_THREAD", 4)
    ours = breadth_first.explore(
        club_of(True, *SYSTEMS["step"]),
        DEPTH,
        SearchOptions(keep_going=True, symmetry=symmetry, workers=workers),
        check_deadlock=True,
    )
    agree(ours, expected(True, "step"))
    assert kept == [True]


def test_as_many_folded_rows_are_kept_as_a_budget_allows(kept: list[bool]) -> None:
    for states in (100, 150, 333):
        ours, theirs = (
            explore(club_of(True, *SYSTEMS["step"]), Budget(max_states=states), SearchOptions(**options))
            for explore, options in (
                (breadth_first.explore, {"workers": 1, "symmetry": False}),
                (plain_python.explore, {}),
            )
        )
        assert (ours.verdict, ours.levels, ours.violations) == (theirs.verdict, theirs.levels, theirs.violations)
    assert kept == [True] * 3


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
@pytest.mark.parametrize("first_folds", [False, True])
def test_a_search_goes_on_from_a_snapshot_of_folded_or_of_flat_rows(
    kept: list[bool], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first_folds: bool, symmetry: bool
) -> None:
    explored, fold_from = system("kip-101", leader_epoch_max=2), store.FOLD_FROM
    wanted = comparable(breadth_first.explore(explored, Budget(max_depth=11), SearchOptions(symmetry=symmetry)))
    for depth, folds in ((8, first_folds), (11, not first_folds)):
        monkeypatch.setattr(store, "FOLD_FROM", fold_from if folds else 1 << 60)
        how = {"checkpoint": tmp_path, "resume": depth > 8, "symmetry": symmetry}
        ours = breadth_first.explore(explored, Budget(max_depth=depth), SearchOptions(**how))
    assert (comparable(ours), kept) == (wanted, [True, first_folds, not first_folds])


@pytest.mark.usefixtures("restless")
def test_a_search_interrupted_inside_levels_goes_on_with_folded_rows(kept: list[bool], tmp_path: Path) -> None:
    """Holes among rows are closed at each interrupt."""
    explored, inside = system("kip-101", leader_epoch_max=2), 0
    wanted = comparable(breadth_first.explore(explored, Budget(max_depth=9)))
    for run, reports in enumerate((23, 2, 8, 15)):
        how = {"workers": 1 + run % 2, "resume": run > 0, "on_progress": Stopwatch(reports)}
        if (
            breadth_first.explore(explored, Budget(max_depth=9), SearchOptions(checkpoint=tmp_path, **how)).reason
            != "interrupted"
        ):
            break
        inside += manifest(tmp_path)["snapshot"]["inside"] is not None
    ours = breadth_first.explore(
        explored, Budget(max_depth=9), SearchOptions(checkpoint=tmp_path, resume=True, workers=2)
    )
    assert inside >= 2
    assert (comparable(ours), kept[-1]) == (wanted, True)


@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
def test_a_trace_through_folded_rows_is_that_through_flat_ones(
    kept: list[bool], monkeypatch: pytest.MonkeyPatch, symmetry: bool
) -> None:
    explored = system("kip-101", leader_epoch_max=2)
    ours, theirs = both(
        kept, monkeypatch, lambda: breadth_first.explore(explored, options=SearchOptions(symmetry=symmetry))
    )
    assert ours == theirs
    assert ours["violations"]


@pytest.mark.slow
@pytest.mark.parametrize("stored", [True, False], ids=["steps stored", "steps made again"])
@pytest.mark.parametrize("claim", ["a_committed_shrink_leaves_the_high_watermark_where_it_is"])
def test_lassos_and_prospects_among_folded_rows_are_those_among_flat_ones(
    kept: list[bool], monkeypatch: pytest.MonkeyPatch, claim: str, stored: bool
) -> None:
    if not stored:
        monkeypatch.setattr(liveness, "all_steps", lambda *given: None)
    explored = load_spec(SPECS / "liveness" / f"{claim}.toml").system()
    ours, theirs = both(
        kept, monkeypatch, lambda: breadth_first.explore(explored, options=SearchOptions(keep_going=True))
    )
    assert ours == theirs
    assert any(violation.back_to is not None for violation in ours["violations"])
