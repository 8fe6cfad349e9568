"""Levels cut into parts by the hash of their states, each expanded by an engine that knows nothing of the others, are
whole levels.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from highwater.explorer.blame import Contradiction
from highwater.explorer.kernels.arrays import FlatRows
from highwater.explorer.partitioned import worker
from highwater.explorer.partitioned.visited import Visited
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.system import System
from highwater.explorer.verdict import SearchOptions
from tests.small_models import tiny_system


def explore(system: System, symmetry: bool, owners: int, warm: bool) -> tuple[list[int], Counts, dict[str, int]]:
    """A search by as many engines as owners: states per level, counts, and the depth at which each property is first
    violated.
    """
    engines = [PartitionWorker(system, symmetry=symmetry) for _ in range(owners)]
    visited = [Visited(engine.layout) for engine in engines]
    first = engines[0].representative_rows(system.initial)
    level = [engines[0].owned(first, owner, owners) for owner in range(owners)]
    for known, rows in zip(visited, level, strict=True):
        known.add(rows)
    levels: list[int] = []
    counts, violated = Counts.none(len(system.actions)), {}
    while any(map(len, level)):
        inbox: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(owners)]
        levels.append(0)
        for source, (engine, rows) in enumerate(zip(engines, level, strict=True)):
            levels[-1] += int(engine.orbits(rows).sum())
            violated |= dict.fromkeys(engine.violated(rows, violated), len(levels) - 1)
            for owner, records in engine.expand(rows, owners):
                inbox[owner].append((source, records))
            counts += engine.take_counts()[0]
            violated |= dict.fromkeys(engine.broken(rows, violated), len(levels))
        if warm and len(levels) == 4:  # take what one has learned to all others
            engines = [engines[0], *(PartitionWorker(system, symmetry=symmetry) for _ in engines[1:])]
            for engine in engines[1:]:
                engine.take_trees(engines[0].trees())
                assert engine.paths == engines[0].paths
        level = []
        for known, records in zip(visited, inbox, strict=True):
            begin = known.end
            known.admit(records)
            level.append(known.since(begin))
    return levels, counts, violated


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("reference", "kip-101"),
        ("reference", "async-isr"),
        pytest.param("partition", "kafka-2.1", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("symmetry", "owners", "warm"), [(True, 1, False), (True, 3, True), (False, 4, False)])
def test_counts_do_not_depend_on_the_number_of_owners(
    model: str, name: str, symmetry: bool, owners: int, warm: bool
) -> None:
    system = attrs.evolve(tiny_system(model, name), liveness=())  # which owners do not judge
    levels, counts, violated = explore(system, symmetry, owners, warm)
    expected = breadth_first.explore(system, options=SearchOptions(symmetry=symmetry, keep_going=True))
    enabled: dict[str, int] = {}
    for instance, count in zip(system.actions, counts.enabled, strict=True):
        enabled[instance.of.name] = enabled.get(instance.of.name, 0) + count
    assert (tuple(levels), counts.generated, enabled) == (expected.levels, expected.generated, expected.enabled)
    assert (counts.at_rest, counts.stopped_at_bound) == (expected.deadlocks, expected.stopped_at_bound)
    assert violated == {violation.property: violation.trace_length for violation in expected.violations}
    cut = {
        key: sum(n for bounds, n in counts.cut_steps.items() if key in bounds)
        for bounds in counts.cut_steps
        for key in bounds
    }
    assert cut == expected.bounds_cut


def test_room_for_few_successors_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then equal successors are sent more than once, and admitted once."""
    monkeypatch.setattr(worker, "FEWEST_SUCCESSORS", 1 << 13)
    monkeypatch.setattr(worker, "MOST_SUCCESSORS", 1 << 13)
    levels, counts, _ = explore(tiny_system("reference", "kip-320"), False, 2, False)
    expected = breadth_first.explore(
        tiny_system("reference", "kip-320"), options=SearchOptions(symmetry=False, keep_going=True)
    )
    assert (tuple(levels), counts.generated) == (expected.levels, expected.generated)


def test_one_batch_of_successors_always_finds_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many successors its states have: without room for them the search would ask for it for ever."""
    monkeypatch.setattr(worker, "FEWEST_SUCCESSORS", 1)
    monkeypatch.setattr(worker, "MOST_SUCCESSORS", 1)
    system = tiny_system("reference", "kip-101")
    levels, counts, _ = explore(system, symmetry=False, owners=2, warm=False)
    found = breadth_first.explore(system, options=SearchOptions(symmetry=False, keep_going=True))
    assert (levels, counts.generated) == (list(found.levels), found.generated)


def test_a_branch_that_is_missed_though_it_is_known_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = PartitionWorker(tiny_system("reference", "kip-101"), symmetry=False)
    rows = engine.representative_rows(engine.system.initial)
    monkeypatch.setattr(engine.search.actions, "learn", lambda *arguments: None)
    with pytest.raises(Contradiction, match="machine code does not find a branch of"):
        list(engine.expand(rows, 1))
    engine.use(FlatRows(rows), 1)
    sources, none = np.ones(1, np.uint8), np.zeros((0, len(engine.system.actions)), np.uint8)
    with pytest.raises(Contradiction, match="machine code does not find a branch of"):
        list(engine.steps(sources, none, np.zeros((0, 1), np.uint8), 1))


def test_rows_and_columns_of_words_are_the_same(rows: int = 50) -> None:
    engine = PartitionWorker(tiny_system("reference", "kip-320"), symmetry=True)
    some = np.random.default_rng(0).integers(0, 1 << 32, rows * engine.units, np.uint32)
    assert np.array_equal(engine.rows_of(engine.columns_of(some)), some)
    assert len(engine.columns_of(some)) == engine.layout.words


def test_what_was_learned_is_given_once_or_again_if_asked_for() -> None:
    """What an engine begins with is left out."""
    system = attrs.evolve(tiny_system("reference", "kip-320"), liveness=())
    engine = PartitionWorker(system, symmetry=True)
    rows = engine.representative_rows(engine.system.initial)
    for _ in engine.expand(rows, 1):
        pass
    examples = engine.new_examples()
    assert examples and engine.new_examples() == []
    engine.tell_again()
    assert engine.new_examples() == examples
    other = PartitionWorker(system, symmetry=True)
    other.take_trees(engine.trees())
    other.tell_again()
    assert other.new_examples() == []
