"""The whole engine on systems of some hundred states, with every threshold so low that they cross it.

Prefilters, wide nodes, growing tables, small batches, symmetry, states of two and of nine words, step properties,
prospects, deadlocks, snapshots, parts of levels and random walks: all against plain Python. `tests.engine_mutants` runs
these tests most of all.
"""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from highwater.explorer.analysis.simulate import simulate
from highwater.explorer.compiler.effects import Effects
from highwater.explorer.compiler.storing import effects_as_arrays, restore_effects
from highwater.explorer.kernels.arrays import MAY_HAPPEN, ONLY_CUT, FlatRows
from highwater.explorer.kernels.states import rows, stored
from highwater.explorer.kernels.steps import expand
from highwater.explorer.partitioned.visited import Visited
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.engine import engine
from highwater.explorer.search.graph_properties.lassos import moves_of
from highwater.explorer.search.keeping import kept_trees
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.search.states import scratch, store
from highwater.explorer.system import Cut, System, successor
from highwater.explorer.verdict import Budget, Outcome, SearchOptions, Verdict, Walking
from highwater.model.language.declarations import Instance, Transition, action, invariant, step_property
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SequenceOf, SetOf
from highwater.model.language.graph_properties import prospect
from highwater.model.language.records import domain_of, evolve, records, replaced, within
from tests.outcomes import agree

MEMBER = Integers(0, 2, label="m", names="members")


@attrs.frozen
class Seat:
    holder: int = within(MEMBER)
    level: int = within(Integers(0, 1))


@attrs.frozen
class Club:
    """Members queue for a seat, pay for tickets and may go home."""

    tickets: tuple[int, ...] = within(ArrayOf(Integers(0, 1), 3, by="members"))
    seat: Seat | None = within(lambda bounds: Maybe(records(Seat)(bounds)))
    queue: tuple[int, ...] = within(SequenceOf(MEMBER, Limit(2, "queue_max")))
    present: frozenset[int] = within(SetOf(MEMBER))
    closed: bool = within(BOOLEAN)


@attrs.frozen
class Estate:
    """A club behind six words of ballast, of which a part moves from one end to the other."""

    ballast: tuple[int, ...] = within(ArrayOf(Integers(0, 2**20 - 1), 18))
    club: Club = within(Club)


EMPTY = Club((0, 0, 0), None, (), frozenset(), False)
START = Estate((5, 77, 2**20 - 3, *(0,) * 14, 1000), EMPTY)


@action(actor="member", member=MEMBER)
def arrive(club: Club, member: int) -> Club | None:
    return None if club.closed or member in club.present else evolve(club, present=club.present | {member})


@action(actor="member", member=MEMBER)
def join(club: Club, member: int) -> Club | None:
    if member not in club.present or member in club.queue:
        return None
    return evolve(club, queue=club.queue + (member,))


@action(actor="member", member=MEMBER)
def pay(club: Club, member: int) -> Club | None:
    if member not in club.queue or club.tickets[member] == 1:
        return None
    return evolve(club, tickets=replaced(club.tickets, member, club.tickets[member] + 1))


@action(actor="desk")
def seat(club: Club) -> Club | None:
    if not club.queue or club.seat is not None:
        return None
    first = club.queue[0]
    return evolve(club, seat=Seat(first, club.tickets[first]), queue=club.queue[1:])


@action(actor="desk")
def swap(club: Club) -> Club | None:
    """The first of the queue and who has the seat change places, unread."""
    if not club.queue or club.seat is None:
        return None
    return evolve(club, seat=evolve(club.seat, holder=club.queue[0]), queue=(club.seat.holder, *club.queue[1:]))


@action(actor="member", member=MEMBER)
def leave(club: Club, member: int) -> Club | None:
    if club.seat is None or club.seat.holder != member:
        return None
    return evolve(club, seat=None, present=club.present - {member}, tickets=replaced(club.tickets, member, 0))


@action(actor="desk")
def close(club: Club) -> Club | None:
    return evolve(club, closed=True) if not club.closed and not club.queue and club.seat is None else None


@action(actor="wind")
def turn(estate: Estate) -> Estate:
    """Copies that lie side by side, of leaves that do not."""
    ballast = estate.ballast
    return evolve(estate, ballast=ballast[2:3] + ballast[:1] + ballast[-1:] + ballast[3:-1] + ballast[1:2])


@invariant()
def seat_is_not_paid_twice(club: Club) -> bool:
    return club.seat is None or club.seat.level < 1


@invariant(member=MEMBER)
def queue_is_present(club: Club, member: int) -> bool:
    return member not in club.queue or member in club.present


@step_property()
def nobody_jumps_the_queue(before: Club, after: Club) -> bool:
    return before.seat is None or after.seat is None or before.seat.holder == after.seat.holder


@prospect(along=(arrive, join, seat))
def seat_can_be_taken(club: Club) -> bool:
    return club.seat is not None


@prospect(along=(close,))
def desk_can_close(club: Club) -> bool:
    return club.closed


ACTIONS = (arrive, join, pay, seat, swap, leave, close)


def inside(instance: Instance) -> Instance:
    """What an action or property of a club does to its estate."""
    subjects, of = instance.of.subjects, instance.apply

    def apply(given: Any) -> Any:
        if subjects == 2:
            return of(Transition(given.before.club, given.after.club))
        found = of(given.club)
        return found if found is None or not isinstance(found, Club) else evolve(given, club=found)

    return attrs.evolve(instance, apply=apply)


@functools.cache
def club_of(long: bool, *properties: Any, symmetric: bool = True) -> System:
    """The club by itself, or its estate."""
    kept = [(lambda each: inside(each)) if long else (lambda each: each)][0]
    found = [kept(each) for of in properties for each in of.instances(None)]
    actions = [kept(each) for of in ACTIONS for each in of.instances(None)] + (turn.instances(None) if long else [])
    return System(
        domain_of(Estate if long else Club, None),
        (START if long else EMPTY,),
        tuple(actions),
        tuple(each for each in found if type(each.of) is type(queue_is_present)),
        {"members": (0, 1, 2)} if symmetric else {},
        tuple(each for each in found if type(each.of) is type(nobody_jumps_the_queue)),
        tuple(each for each in found if type(each.of) is type(seat_can_be_taken)),
    )


SYSTEMS = {
    "invariant": (queue_is_present, seat_is_not_paid_twice),
    "step": (nobody_jumps_the_queue,),
    "prospect": (seat_can_be_taken, desk_can_close),
}


DEPTH = Budget(max_depth=7)


@functools.cache
def expected(long: bool, name: str, keep_going: bool = True, budget: Budget = DEPTH) -> Outcome:
    return plain_python.explore(
        club_of(long, *SYSTEMS[name]), budget, SearchOptions(keep_going=keep_going), check_deadlock=True
    )


@pytest.fixture(autouse=True)
def low_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ROWS_WORTH_A_FILTER", 8)
    monkeypatch.setattr(engine, "FILTERS_LAST_UNTIL", 4)
    monkeypatch.setattr(engine, "SAMPLE", 16)
    monkeypatch.setattr(engine, "WIDE_SAMPLE", 32)
    monkeypatch.setattr(scratch, "BATCH", 8)
    monkeypatch.setattr(store, "FIRST_TABLE", 256)
    monkeypatch.setattr(scratch, "RECENT", 64)
    monkeypatch.setattr(store, "RESERVED_ROWS", 4)


def test_the_small_systems_cover_all_kinds_of_findings() -> None:
    assert expected(True, "step").distinct_states > expected(False, "step").distinct_states > 400
    assert expected(True, "step").bounds_cut["queue_max"] > 0
    for name, budget in (("invariant", DEPTH), ("step", DEPTH), ("prospect", Budget())):
        found = {violation.property for violation in expected(False, name, budget=budget).violations}
        assert found == {"no_deadlock", *(of.name for of in SYSTEMS[name])}


@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
@pytest.mark.parametrize(("long", "name"), [(False, "invariant"), (False, "step"), (True, "step")])
def test_a_search_agrees_with_plain_python(long: bool, name: str, symmetry: bool) -> None:
    system = club_of(long, *SYSTEMS[name])
    ours = breadth_first.explore(
        system, DEPTH, SearchOptions(keep_going=True, symmetry=symmetry, workers=1), check_deadlock=True
    )
    agree(ours, expected(long, name))


def test_a_prospect_is_lost_where_plain_python_loses_it() -> None:
    system = club_of(False, *SYSTEMS["prospect"])
    ours = breadth_first.explore(system, options=SearchOptions(keep_going=True, workers=1), check_deadlock=True)
    agree(ours, expected(False, "prospect", budget=Budget()))


@pytest.mark.parametrize("name", ["invariant"])
def test_two_threads_find_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ROWS_WORTH_A_SECOND_THREAD", 4)
    system = club_of(False, *SYSTEMS[name])
    agree(
        breadth_first.explore(system, DEPTH, SearchOptions(keep_going=True, workers=2), check_deadlock=True),
        expected(False, name),
    )


@pytest.mark.usefixtures("first_try")
@pytest.mark.parametrize("name", ["invariant", "step"])
def test_a_search_goes_on_with_kept_trees(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From those of a search that went half as deep, and did not hold them against plain Python."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kept_trees, "SAMPLE", 0)
    system, paths = club_of(False, *SYSTEMS[name]), []
    for depth in (3, 5, 7, 7):
        ours = breadth_first.explore(
            system,
            Budget(max_depth=depth),
            SearchOptions(keep_going=True, workers=1, keep_trees=True),
            check_deadlock=True,
        )
        paths.append(ours.compiled_paths)
        agree(ours, expected(False, name, budget=Budget(max_depth=depth)))
    assert paths[0] < paths[1] < paths[2] == paths[3]


def test_stored_effects_are_restored_unchanged() -> None:
    compiled, _ = breadth_first.reach(club_of(False, *SYSTEMS["step"]), Budget(max_depth=5))
    stored, again = effects_as_arrays(compiled.effects, compiled.layout), Effects(compiled.layout.words)
    restore_effects(again, compiled.layout, stored)
    assert any(getattr(result, "copies", ()) for result in again.results)
    assert again.results == compiled.effects.results


def test_states_whose_hashes_are_equal_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """With seven hashes only, all of which begin to search in the last slot."""
    if hasattr(rows.hash_of, "py_func"):
        pytest.skip("machine code keeps the hash that it was compiled with")
    hash_of = rows.hash_of
    for module in (rows, expand, stored):
        monkeypatch.setattr(module, "hash_of", lambda *state: np.uint64(int(hash_of(*state)) % 7 + (2**32 - 1 << 32)))
    ours, theirs = (
        search(club_of(False, queue_is_present), Budget(max_depth=5), **options)
        for search, options in ((breadth_first.explore, {"workers": 1, "symmetry": False}), (plain_python.explore, {}))
    )
    agree(ours, theirs)


def test_a_search_ends_with_the_level_of_the_first_violation() -> None:
    system = club_of(False, *SYSTEMS["invariant"])
    ours = breadth_first.explore(system, DEPTH, SearchOptions(workers=1), check_deadlock=True)
    agree(ours, expected(False, "invariant", keep_going=False))
    assert ours.verdict is Verdict.VIOLATED


def test_a_search_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    system = club_of(False, *SYSTEMS["step"])
    breadth_first.explore(
        system,
        Budget(max_depth=4),
        SearchOptions(keep_going=True, checkpoint=tmp_path / "c", workers=1),
        check_deadlock=True,
    )
    theirs = plain_python.explore(system, Budget(max_depth=6), SearchOptions(keep_going=True), check_deadlock=True)
    bare = attrs.evolve(theirs, violations=())
    ours = breadth_first.explore(
        system,
        Budget(max_depth=6),
        SearchOptions(keep_going=True, checkpoint=tmp_path / "c", resume=True, workers=1),
        check_deadlock=True,
    )
    for name in ("levels", "generated", "enabled", "bounds_cut", "deadlocks", "stopped_at_bound"):
        assert getattr(ours, name) == getattr(bare, name), name


def test_as_many_states_are_kept_as_a_budget_allows() -> None:
    system = club_of(False, queue_is_present)
    for states in (1, 9, 100):
        ours, theirs = (
            explore(system, Budget(max_states=states), SearchOptions(**options))
            for explore, options in (
                (breadth_first.explore, {"workers": 1, "symmetry": False}),
                (plain_python.explore, {}),
            )
        )
        assert (ours.verdict, ours.levels, ours.violations) == (theirs.verdict, theirs.levels, theirs.violations)


@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
def test_parts_of_levels_find_the_same(long: bool, symmetry: bool) -> None:
    system, owners = club_of(long, *SYSTEMS["step"], queue_is_present), 3
    worker = PartitionWorker(system, symmetry=symmetry)
    width = worker.units
    level = worker.representative_rows(system.initial)
    seen = {tuple(level)}
    levels, broken = [int(worker.orbits(level).sum())], set()
    while len(levels) <= 7:
        made = []
        for owner, found in worker.expand(level, owners):
            made_rows = found.reshape(-1, worker.record_width)[:, :width]
            assert len(worker.owned(np.ascontiguousarray(made_rows).reshape(-1), owner, owners)) == made_rows.size
            made += [tuple(row) for row in made_rows.tolist()]
        broken |= worker.broken(level, ()).keys()
        fresh = list(dict.fromkeys(row for row in made if row not in seen))
        seen.update(fresh)
        level = np.array(fresh, np.uint32).reshape(-1)
        assert worker.violated(level, ()).keys() <= {"queue_is_present"}
        levels.append(int(worker.orbits(level).sum()))
    counts, _ = worker.take_counts()
    theirs = expected(long, "step")
    assert tuple(levels) == theirs.levels
    assert (counts.generated, counts.at_rest, counts.stopped_at_bound) == (
        theirs.generated,
        theirs.deadlocks,
        theirs.stopped_at_bound,
    )
    assert broken == {"nobody_jumps_the_queue"}


@pytest.mark.slow
@pytest.mark.parametrize("folds", [False, True], ids=["flat", "folded"])
@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
def test_parts_list_the_steps_that_plain_python_takes(
    symmetry: bool, folds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for those of a state that is no source; and what properties see of the steps that they rely on."""
    if folds:
        monkeypatch.setattr("highwater.explorer.partitioned.visited.FOLD_FROM", 0)
        monkeypatch.setattr("highwater.explorer.search.states.folded.MOST_OF_FLAT", 1e9)
    system, owners = club_of(folds), 3
    worker = PartitionWorker(system, symmetry=symmetry)
    chosen = dict.fromkeys(worker.representative(each) for each in every_state(system))
    moves = {words: moves_of(system, worker.layout.unpack(words)) for words in chosen}
    rows = worker.rows_of([np.array(column, np.uint64) for column in zip(*moves, strict=True)])
    worker.use(*entered(worker, rows, folds))
    sources, notes = np.ones(len(moves), np.uint8), np.zeros((2, len(moves)), np.uint8)
    sources[1] = 0
    relied_on = np.array([[number % 2 == which for number in range(len(system.actions))] for which in (0, 1)], np.uint8)

    visited = {owner: Visited(worker.layout) for owner in range(owners)}
    for owner, each in visited.items():
        each.add(worker.owned(rows, owner, owners))
    at = worker.units
    owned = {owner: each.since(0).reshape(-1, at) for owner, each in visited.items()}
    for each in visited.values():
        each.fold()
    found, all_words = set(), list(moves)
    for owner, sent in worker.steps(sources, relied_on, notes, owners):
        targets = worker.columns_of(owned[owner][visited[owner].find(sent)].reshape(-1))
        parents = sent.reshape(-1, worker.record_width)[:, at]
        found |= {
            (all_words[parent], tuple(map(int, target)))
            for parent, *target in zip(parents.tolist(), *targets, strict=True)
        }
    listed = {
        (source, worker.representative(after))
        for number, (source, steps) in enumerate(moves.items())
        for _, after in steps
        if sources[number] and not isinstance(after, Cut)
    }
    assert found == listed
    for which, said in enumerate(notes):
        fair = {each for number, each in enumerate(system.actions) if relied_on[which, number]}
        for number, steps in enumerate(moves.values()):
            seen = [isinstance(after, Cut) for action, after in steps if action in fair]
            cut, free = any(seen), not all(seen)
            assert said[number] == sources[number] * (cut * ONLY_CUT | free * MAY_HAPPEN)
    assert {0, ONLY_CUT, MAY_HAPPEN, ONLY_CUT | MAY_HAPPEN} == set(np.unique(notes).tolist())


def entered(worker: PartitionWorker, rows: np.ndarray, folds: bool) -> tuple[Any, int]:
    """Some rows as an owner holds them, and how many they are."""
    visited = Visited(worker.layout)
    visited.add(rows)
    visited.fold()
    assert visited.folded == (visited.end if folds else 0)
    return visited.whole, visited.end


def every_state(system: System) -> list[Any]:
    """The reachable states."""
    states = list(system.initial)
    seen = set(states)
    for before in states:
        for _, after in moves_of(system, before):
            if not isinstance(after, Cut) and after not in seen:
                seen.add(after)
                states.append(after)
    return states


def test_violations_are_counted_row_by_row() -> None:
    system = club_of(False, *SYSTEMS["invariant"])
    states = [START.club]
    for before in states:
        after = (successor(each, before, system.domain) for each in system.actions)
        states += [found for found in dict.fromkeys(after) if isinstance(found, Club) and found not in states][
            : 200 - len(states)
        ]
    worker = PartitionWorker(system, symmetry=False)
    worker.use(FlatRows(worker.representative_rows(states)), len(states))
    wanted = engine.mask_of(True for _ in system.invariants)
    counts = worker.search.count_violations(worker.search.invariants, wanted, 0, len(states))
    assert counts.tolist() == [sum(not each.apply(state) for state in states) for each in system.invariants]


@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
def test_random_walks_take_real_steps_and_count_them(long: bool) -> None:
    system = club_of(long)
    one = simulate(system, Walking(walks=3, depth=40, seed=7), workers=1)
    assert one.violation is None
    assert 0 < one.steps == sum(one.taken.values()) <= 3 * 40
    for broken in (seat_is_not_paid_twice, nobody_jumps_the_queue):
        found = simulate(club_of(long, broken), Walking(walks=400, depth=40, seed=3), workers=1).violation
        assert found is not None and found.property == broken.name
        before = found.trace[0].state
        for step in found.trace[1:]:
            after = successor(step.action, before, system.domain)
            assert after == step.state and not isinstance(after, Cut)
            before = after


def test_a_random_first_step_counts_enabled_and_cut_actions() -> None:
    start = attrs.evolve(EMPTY, present=frozenset({0, 1, 2}), queue=(0, 1))
    system = attrs.evolve(club_of(False), initial=(start,), interchangeable={})
    after = [(each.of.name, successor(each, start, system.domain)) for each in system.actions]
    enabled = Counter(name for name, found in after if found is not None and not isinstance(found, Cut))
    made = simulate(system, Walking(walks=5, depth=1, seed=2), workers=1)
    assert {name: count for name, count in made.enabled.items() if count} == {
        name: 5 * count for name, count in enabled.items()
    }
    assert made.bounds_cut == {"queue_max": 5 * sum(isinstance(found, Cut) for _, found in after)}
