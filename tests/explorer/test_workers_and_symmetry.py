"""Threads, filters and symmetry make the search faster and change nothing that it says."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer import engine, local, oracle, store
from explorer.filters import Filter
from explorer.kernels import symmetry as kernels
from explorer.layout import Layout
from explorer.program import NOTHING, ActionProgram, Effects
from explorer.symmetry import permutations_of, permuted, refuse_unless_sound, tabulate
from explorer.system import Cut, ModelError, System, successor
from explorer.verdict import Budget, Outcome, Progress
from highwater.listing import variants
from highwater.spec import build_system
from model.catalogue import MODELS
from model.domain import ArrayOf, Integers, SetOf, action, domain_of, evolve, invariant, within
from tests.small_models import CASES, small_system, tiny_system

EXPLORED = [(model, name) for model, name in CASES if model != "partition" or name in ("kafka-0.10.2", "kafka-2.8.0", "repaired")]

SYMMETRIC = [case for case in CASES if case[0] != "controller"]
"""Models whose brokers are interchangeable: assignments, which the controller goes by, list them in an order."""


def told(outcome: Outcome) -> dict[str, Any]:
    """All that does not depend on how the search was done."""
    how = {"stored_states", "compiled_paths", "seconds", "memory", "words", "bits"}
    return {name: value for name, value in attrs.asdict(outcome, recurse=False).items() if name not in how}


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny batches, tables and blocks, so that threads meet, tables grow and filters change within small systems."""
    for module, name, value in (
        (store, "BATCH", 4),
        (store, "FIRST_TABLE", 16),
        (store, "RESERVED_ROWS", 4),
        (local, "RESERVED_ROWS", 4),
        (local, "ROWS_WORTH_A_SECOND_THREAD", 2),
        (engine, "ROWS_WORTH_A_FILTER", 16),
        (local, "ROWS_BETWEEN_REPORTS", 100),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(("model", "name"), EXPLORED)
@pytest.mark.parametrize("keep_going", [False, True])
def test_workers_and_symmetry_change_nothing_that_is_told(model: str, name: str, keep_going: bool, crowded: None) -> None:
    system = tiny_system(model, name)
    expected = told(oracle.explore(system, keep_going=keep_going, check_deadlock=True))
    for workers in (1, 2, 5):
        for symmetry in (False, True):
            outcome = local.explore(system, keep_going=keep_going, check_deadlock=True, workers=workers, symmetry=symmetry)
            assert told(outcome) == expected, (workers, symmetry)
            assert outcome.stored_states == outcome.distinct_states or symmetry


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_budget_of_states_is_used_up_by_any_number_of_workers(workers: int, crowded: None) -> None:
    outcome = local.explore(
        tiny_system("reference", "truncate-to-high-watermark"), Budget(max_states=777), workers=workers, symmetry=False, keep_going=True
    )
    assert (outcome.reason, outcome.stored_states, outcome.distinct_states) == ("max-states", 777, 777)


def test_as_many_states_are_stored_as_tlc_keeps_with_symmetry() -> None:
    """TLC with SYMMETRY Permutations(Replicas) on Kip320: 123,311 states; 737,794 without."""
    model = MODELS["reference"]
    protocol, definition = next((p, d) for name, p, d in variants(model) if name == "kip-320")
    system = build_system(definition, protocol, definition.bounds(3, 2, 2, 2), ())
    outcome = local.explore(system)
    assert (outcome.stored_states, outcome.distinct_states, outcome.depth) == (123_311, 737_794, 25)


@pytest.mark.parametrize("symmetry", [False, True])
def test_a_state_of_84_bits_never_takes_more_than_24_bytes(symmetry: bool) -> None:
    """Rows and visited set, at any moment once there are more than a few thousand states."""
    model = MODELS["reference"]
    protocol, definition = next((p, d) for name, p, d in variants(model) if name == "kip-320")
    system = build_system(definition, protocol, definition.bounds(3, 2, 2, 3), ())
    seen: list[Progress] = []
    outcome = local.explore(system, Budget(max_states=300_000), on_progress=seen.append, symmetry=symmetry)
    assert outcome.bits == 84
    assert max(progress.memory / progress.stored_states for progress in seen if progress.stored_states > 8192) <= 24


def random_walk(system: System, choices: Any, length: int) -> Any:
    state = choices.draw(st.sampled_from(system.initial))
    for _ in range(length):
        found = [after for step in system.actions if (after := successor(step, state, system.domain)) is not None]
        enabled = [after for after in found if not isinstance(after, Cut)]
        if enabled:
            state = choices.draw(st.sampled_from(enabled))
    return state


@pytest.mark.parametrize(("model", "name"), SYMMETRIC)
@settings(max_examples=20, deadline=None)
@given(choices=st.data(), length=st.integers(0, 15))
def test_every_model_treats_interchangeable_brokers_alike(model: str, name: str, choices: Any, length: int) -> None:
    """next(pi(s)) = pi(next(s)), and invariants agree on s and pi(s): else `refuse_unless_sound` raises."""
    system = small_system(model, name)
    permutations = permutations_of(system, Layout(system.domain))
    assert len(permutations) > 1
    refuse_unless_sound(system, permutations, [random_walk(system, choices, length)])


@pytest.mark.parametrize(("model", "name"), SYMMETRIC)
@settings(max_examples=40, deadline=None)
@given(choices=st.data(), length=st.integers(0, 15))
def test_all_images_of_a_state_have_one_representative(model: str, name: str, choices: Any, length: int) -> None:
    system = small_system(model, name)
    layout = Layout(system.domain)
    permutations = permutations_of(system, layout)
    tables = tabulate(layout, permutations)
    state = random_walk(system, choices, length)

    def representative(image: Any) -> tuple[int, ...]:
        room = np.zeros((3, layout.words), np.uint64)
        room[0] = layout.pack(image)
        kernels.representative(room, tables, (0,) * layout.units)
        return tuple(map(int, room[0]))

    images = [permuted(system.domain, state, permutation) for permutation in permutations]
    assert representative(state) == min(map(layout.pack, images))
    assert len(set(map(representative, images))) == 1


@pytest.mark.parametrize(("model", "name"), CASES)
@settings(max_examples=15, deadline=None)
@given(choices=st.data(), lengths=st.lists(st.integers(0, 15), min_size=4, max_size=8))
def test_a_filter_rules_out_only_what_leads_to_nothing(model: str, name: str, choices: Any, lengths: list[int]) -> None:
    """Also for states that the filter was not chosen by, and while trees are not known."""
    system = small_system(model, name)
    layout = Layout(system.domain)
    program = ActionProgram(layout, system.actions, Effects(layout.words), audit=0)
    words = [layout.pack(random_walk(system, choices, length)) for length in lengths]
    for state in words[::2]:
        for tree in range(len(system.actions)):
            program.learn(tree, state)
    found = Filter(program, layout, words[::2])
    for state in words:
        for tree, instance in enumerate(system.actions):
            if not candidates(found, state)[tree]:
                assert successor(instance, layout.unpack(state), system.domain) is None
                assert program.path(tree, state)[1] == NOTHING


def candidates(found: Filter, state: tuple[int, ...]) -> list[bool]:
    """What the kernel does with a filter, in plain Python."""
    left = [int(group) for group in found.candidates[-1, 0]]
    for chunk, (masks, places) in enumerate(zip(found.masks, found.places, strict=True)):
        index = 0
        for word, mask, place in zip(state, masks.tolist(), places.tolist(), strict=True):
            bits = [position for position in range(64) if mask >> position & 1]
            index |= sum((word >> position & 1) << place + i for i, position in enumerate(bits))
        left = [group & int(ruled) for group, ruled in zip(left, found.candidates[chunk, index], strict=True)]
    return [bool(group >> tree & 1) for group in left for tree in range(64)]


@attrs.frozen
class Seats:
    """Guests who take seats."""

    taken: tuple[int, ...] = within(lambda bounds: ArrayOf(Integers(0, 2), 3, by="guests"))
    here: frozenset[int] = within(lambda bounds: SetOf(Integers(0, 2, names="guests")))


@action(actor="guest", guest=Integers(0, 2, names="guests"))
def arrive(seats: Seats, guest: int) -> Seats | None:
    """A guest comes."""
    return None if guest in seats.here else evolve(seats, here=seats.here | {guest})


@action(actor="guest")
def the_first_leaves(seats: Seats) -> Seats | None:
    """Guest 0 is treated like no other."""
    return evolve(seats, here=seats.here - {0}) if 0 in seats.here else None


@invariant()
def guest_one_is_never_alone(seats: Seats) -> bool:
    """Speaks of one guest by name."""
    return seats.here != frozenset({1})


def seats(actions: Any, invariants: Any = (), initial: Any = (Seats((0, 0, 0), frozenset()),)) -> System:
    return System(
        domain_of(Seats, None),
        tuple(initial),
        tuple(i for a in actions for i in a.instances(None)),
        tuple(i for v in invariants for i in v.instances(None)),
        {"guests": (0, 1, 2)},
    )


def test_an_action_that_tells_names_apart_is_refused() -> None:
    with pytest.raises(ModelError, match=r"the_first_leaves tells 0 and \d apart"):
        local.explore(seats([arrive, the_first_leaves]))


def test_an_invariant_that_tells_names_apart_is_refused() -> None:
    with pytest.raises(ModelError, match="guest_one_is_never_alone tells"):
        local.explore(seats([arrive], [guest_one_is_never_alone]))


def test_what_is_refused_with_symmetry_is_explored_without() -> None:
    outcome = local.explore(seats([arrive, the_first_leaves], [guest_one_is_never_alone]), symmetry=False)
    assert outcome.violations[0].trace_length == 1


def test_only_permutations_that_the_initial_states_allow_are_used() -> None:
    outcome = local.explore(seats([arrive], initial=[Seats((0, 0, 1), frozenset())]))
    assert (outcome.distinct_states, outcome.stored_states) == (8, 6)


def test_names_that_nobody_tells_apart_are_stored_once() -> None:
    outcome = local.explore(seats([arrive]))
    assert (outcome.levels, outcome.stored_states) == ((1, 3, 3, 1), 4)


def test_far_more_initial_states_than_the_budget_end_the_search() -> None:
    every = [Seats(taken, frozenset()) for taken in itertools.product(range(3), repeat=3)]
    outcome = local.explore(seats([arrive], initial=every), Budget(max_states=1), symmetry=False)
    assert (outcome.verdict.value, outcome.reason, outcome.stored_states) == ("unknown", "max-states", 27)


def test_initial_states_beyond_what_is_reserved_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "RESERVED_ROWS", 2)
    every = [Seats(taken, frozenset()) for taken in itertools.product(range(3), repeat=3)]
    outcome = local.explore(seats([arrive], initial=every), Budget(max_states=1), symmetry=False)
    assert (outcome.verdict.value, outcome.reason, outcome.stored_states) == ("unknown", "max-states", 3)
