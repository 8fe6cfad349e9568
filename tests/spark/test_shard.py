"""Whatever happens to a shard, it ends with the rows of the committed levels, each once: it is a cache."""

from __future__ import annotations

import errno
import functools
import os
import shutil
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import toys
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highwater.explorer.compiler.layout import Layout
from highwater.explorer.partitioned.visited import Visited
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.states import folded
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.search.states.rows import Rows
from highwater.model.language.domain import ArrayOf, Integers
from highwater.model.language.records import domain_of, within
from highwater.spark.levels import Level, Levels
from highwater.spark.worker.level import Block, Expanded, admit_blocks, expand_file, in_order
from highwater.spark.worker.shard import Shard, _allocate, digests_of

PARTITIONS = 3


@pytest.fixture(params=[False, True], ids=["flat", "folded"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> PartitionWorker:
    """With rows that are flat, or such that are folded from the first one on; levels are of many files."""
    toys.write_small_files(monkeypatch)
    if request.param:
        toys.fold_from_the_start(monkeypatch)
    return PartitionWorker(toys.grid(wide=request.param), symmetry=False)


def admit_level(
    engine: PartitionWorker, levels: Levels, shards: Path, committed: list[Level], partition: int, blocks: list[Block]
) -> Any:
    """What a task does: catch up, admit, note."""
    last = digests_of(committed, partition, PARTITIONS)[-1] if committed else ""
    shard = Shard(shards / str(partition), engine.layout)
    try:
        behind = shard.catch_up(engine, levels, len(committed), last, partition, PARTITIONS)
        found = admit_blocks(engine, shard, in_order(blocks), levels, len(committed), partition, ())
        shard.note(last, found.files)
        return found, behind
    finally:
        shard.close()


def initial_blocks(engine: PartitionWorker) -> list[Block]:
    rows = engine.representative_rows(engine.system.initial)
    width, blocks = engine.units, []
    for partition in range(PARTITIONS):
        own = engine.owned(rows, partition, PARTITIONS).reshape(-1, width)
        records = np.concatenate([own, np.zeros((len(own), 2), np.uint32)], axis=1)
        blocks.append(Block(partition, 0, 0, np.ascontiguousarray(records).reshape(-1)))
    return blocks


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choices=st.data())
def test_attempts_that_fail_repeat_or_move_change_nothing(
    engine: PartitionWorker, tmp_path_factory: Any, choices: Any
) -> None:
    """At every level and partition: some attempts whose file is never committed, on any of two executors, some of them
    killed half-way, shards that get lost, and then the attempt that counts.
    """
    folder = tmp_path_factory.mktemp("search")
    levels, executors = Levels(str(folder / "levels"), temporary=True), [folder / "a", folder / "b"]
    committed: list[Level] = []
    blocks = initial_blocks(engine)
    seen: set[Any] = set()
    while True:
        files = []
        for partition in range(PARTITIONS):
            own = [block for block in blocks if block.owner == partition]
            for _ in range(choices.draw(st.integers(0, 2))):
                attempt(engine, levels, choices.draw(st.sampled_from(executors)), committed, partition, own, choices)
            found, _ = admit_level(engine, levels, choices.draw(st.sampled_from(executors)), committed, partition, own)
            files += found.files
            # a second attempt, too late, perhaps killed as soon as that is known
            for _ in range(choices.draw(st.integers(0, 1))):
                attempt(engine, levels, choices.draw(st.sampled_from(executors)), committed, partition, own, choices)
        if not files:
            break
        level = Level(len(committed), tuple(files), 0, Counts.none(2), PARTITIONS)
        levels.commit(level)
        committed.append(level)
        rows = [engine.rows_of(levels.words_of(file, engine.layout.words)) for file in files]
        states = [engine.state(some, row) for some in rows for row in range(len(some) // engine.units)]
        assert not seen.intersection(states)
        assert len(set(states)) == len(states)
        seen.update(states)
        blocks = [
            found for source, some in enumerate(rows) for found in expand_file(engine, some, source, PARTITIONS, ())
        ]
        blocks = [block for block in blocks if not isinstance(block, Expanded)]
    assert len(seen) == 36


def attempt(
    engine: PartitionWorker,
    levels: Levels,
    shards: Path,
    committed: list[Level],
    partition: int,
    own: list[Block],
    choices: Any,
) -> None:
    """An attempt that does not count: whole, killed half-way, or after which the disk is gone."""
    match choices.draw(st.sampled_from(["whole", "killed", "lost"])):
        case "whole":
            admit_level(engine, levels, shards, committed, partition, own)
        case "lost":
            shutil.rmtree(shards / str(partition), ignore_errors=True)
        case "killed":
            last = digests_of(committed, partition, PARTITIONS)[-1] if committed else ""
            shard = Shard(shards / str(partition), engine.layout)
            shard.catch_up(engine, levels, len(committed), last, partition, PARTITIONS)
            half = [
                block.records[: len(block.records) // 2 // engine.record_width * engine.record_width] for block in own
            ]
            shard.admit([(0, records) for records in half[::-1]])
            shard.close()  # and nothing was noted


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows", "table", "folded", "parts", "index", "note.json"])
@pytest.mark.parametrize("harm", ["a bit", "zeros"])
def test_a_damaged_file_of_a_shard_is_made_anew(engine: PartitionWorker, tmp_path: Path, name: str, harm: str) -> None:
    """Between any two levels of a search, in one file of one shard."""
    levels, committed, blocks = Levels(str(tmp_path / "levels"), temporary=True), [], initial_blocks(engine)
    harmed = 0
    while True:
        own = [[block for block in blocks if block.owner == partition] for partition in range(PARTITIONS)]
        found = [
            admit_level(engine, levels, tmp_path / "a", committed, each, own[each])[0] for each in range(PARTITIONS)
        ]
        files = tuple(file for each in found for file in each.files)
        if not files:
            break
        level = Level(len(committed), files, 0, Counts.none(2), PARTITIONS)
        levels.commit(level)
        committed.append(level)
        blocks = []
        for source, file in enumerate(files):
            rows = engine.rows_of(levels.words_of(file, engine.layout.words))
            found_here = expand_file(engine, rows, source, PARTITIONS, ())
            blocks += [each for each in found_here if not isinstance(each, Expanded)]
        for file in (tmp_path / "a").rglob(name):
            harmed += damage(file, harm)
    folds, of_folded = engine.layout.words > 1, name in ("folded", "parts", "index")
    assert (harmed > 0) == (name in ("table", "note.json") or folds == of_folded)
    rows = sum(file.rows for level in committed for file in level.files)
    assert (rows, len(committed)) == (36, 9)


def damage(file: Path, harm: str) -> int:
    """Change a file; gives 1 if that made a difference."""
    before = file.read_bytes()
    data = np.frombuffer(before, np.uint8).copy()
    used = np.flatnonzero(data)
    if harm == "a bit" and len(used):
        data[used[len(used) // 2]] ^= 1
    elif len(used):
        data[used[len(used) // 2] :] = 0
    with open(file, "r+b") as written:  # in place, as other processes have it mapped
        written.write(data.tobytes())
    return int(file.read_bytes() != before)


def test_a_shard_that_is_up_to_date_reads_nothing(
    engine: PartitionWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels, blocks = Levels(str(tmp_path / "levels"), temporary=True), initial_blocks(engine)
    found, _ = admit_level(engine, levels, tmp_path / "a", [], 0, blocks[:1])
    level = Level(0, found.files, 0, Counts.none(2), PARTITIONS)
    levels.commit(level)
    with monkeypatch.context() as patch:
        patch.setattr(Visited, "_make_table", lambda *_: pytest.fail("the table is made anew"))
        _, behind = admit_level(engine, levels, tmp_path / "a", [level], 0, [])
    assert behind == 0
    _, behind = admit_level(engine, levels, tmp_path / "b", [level], 0, [])
    assert behind == found.rows


@attrs.frozen
class ThreeUnits:
    """A state of 96 bits."""

    numbers: tuple[int, ...] = within(ArrayOf(Integers(0, 2**16 - 1), 6))


@pytest.mark.parametrize("folds", [False, True], ids=["flat", "folded"])
@pytest.mark.parametrize("kind", ["memory", "files"])
def test_many_rows_are_admitted_once_and_found_again_after_being_forgotten(
    tmp_path: Path, kind: str, folds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables and rows grow on the way, and so do the parts of folded rows, whose numbers take more bytes then."""
    if folds:
        toys.fold_from_the_start(monkeypatch)
    make = functools.partial(Shard, tmp_path) if kind == "files" else Visited
    visited = make(Layout(domain_of(ThreeUnits, None)))
    rows = np.random.default_rng(1).integers(0, 1 << 32, (30_000, 3), np.uint32)
    rows = np.concatenate([rows, rows[::3]])
    records = np.concatenate([rows, np.zeros((len(rows), 2), np.uint32)], axis=1)

    def admit(some: np.ndarray) -> int:
        begin, found = visited.end, len(visited.admit([(0, np.ascontiguousarray(some).reshape(-1))])[0])
        assert len(visited.since(begin)) == 3 * found
        visited.fold()
        assert visited.folded == (visited.end if folds else 0)
        return found

    assert admit(records[:20_000]) == 20_000
    assert admit(records) == 10_000
    assert admit(records) == 0
    assert visited.find(np.ascontiguousarray(records[29_999:30_002]).reshape(-1)).tolist() == [29_999, 0, 3]
    visited.forget_after(5_000)
    assert admit(records[:5_000]) == 0
    assert admit(records) == 25_000
    held = Rows(Layout(domain_of(ThreeUnits, None)))
    held.use(visited.whole, visited.end)
    assert held.is_folded == folds
    assert np.array_equal(held.cells(0, held.count), rows[:30_000])


def test_rows_are_folded_where_that_saves_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that share halves are; random ones are tried again once there are four times as many."""
    layout = Layout(domain_of(ThreeUnits, None))
    monkeypatch.setattr("highwater.explorer.partitioned.visited.FOLD_FROM", 7 * 10_000)
    monkeypatch.setattr(folded, "FIRST_INDEX", 16)
    monkeypatch.setattr(folded, "FOLDED_AT_ONCE", 100)
    numbers = np.arange(20_000, dtype=np.uint32)
    alike = np.stack([numbers % 100, numbers * 0, numbers // 100], axis=1)
    random_ones = np.random.default_rng(1).integers(0, 1 << 32, (4 * 39_999, 3), np.uint32)
    few, many, others = Visited(layout), Visited(layout), Visited(layout)
    few.add(np.ascontiguousarray(alike[:9_999]).reshape(-1))
    many.add(np.ascontiguousarray(alike).reshape(-1))
    before = many.bytes_taken
    others.add(random_ones[:39_999].reshape(-1))
    for visited in (few, many, others):
        visited.fold()
    assert [visited.folded for visited in (few, many, others)] == [0, 20_000, 0]
    assert before - many.bytes_taken > 20_000 * 6
    others.add(random_ones[39_999:-1].reshape(-1))
    assert not others.folds
    others.add(random_ones[-1])
    assert others.folds


def test_rows_stay_flat_where_the_disk_has_no_room_to_fold_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toys.fold_from_the_start(monkeypatch)

    def full(file: int, size: int) -> None:
        if os.readlink(f"/proc/self/fd/{file}").endswith("/parts"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        _allocate(file, size)

    monkeypatch.setattr("highwater.spark.worker.shard._allocate", full)
    visited = Shard(tmp_path, Layout(domain_of(ThreeUnits, None)))
    visited.add(np.arange(30, dtype=np.uint32))
    visited.fold()
    assert (visited.end, visited.folded, visited.folds) == (10, 0, False)
    records = np.concatenate([visited.since(0).reshape(-1, 3), np.zeros((10, 2), np.uint32)], axis=1)
    assert visited.find(np.ascontiguousarray(records).reshape(-1)).tolist() == list(range(10))
    visited.close()


def test_a_shard_that_is_killed_while_it_folds_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toys.fold_from_the_start(monkeypatch)
    engine = PartitionWorker(toys.grid(wide=True), symmetry=False)
    levels, blocks = Levels(str(tmp_path / "levels"), temporary=True), initial_blocks(engine)
    own = max(range(PARTITIONS), key=lambda partition: len(blocks[partition].records))
    count = len(blocks[own].records) // engine.record_width
    found, _ = admit_level(engine, levels, tmp_path / "a", [], own, [blocks[own]])
    level = Level(0, found.files, 0, Counts.none(2), PARTITIONS)
    levels.commit(level)

    def killed(shard: Shard) -> None:
        assert shard._older
        shard._older.rows.parts.fill(7)
        raise KeyboardInterrupt

    shard = Shard(tmp_path / "a" / str(own), engine.layout)
    assert (shard.end, shard.folded) == (count, count)
    shard.add(np.full(engine.units, 5, np.uint32))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Visited, "fold", killed)
        shard.fold()
    shard.close()
    _, behind = admit_level(engine, levels, tmp_path / "a", [level], own, [blocks[own]])
    assert behind == count
    shard = Shard(tmp_path / "a" / str(own), engine.layout)
    assert (shard.end, shard.folded) == (count, count)
    assert shard.find(blocks[own].records).tolist() == list(range(count))
    shard.close()


def test_owners_share_the_states_evenly_and_wherever_the_owner_looks() -> None:
    engine = PartitionWorker(toys.reference("kip-320"), symmetry=False)
    rows = engine.representative_rows(engine.system.initial)
    for _ in range(7):
        found = [records.reshape(-1, engine.record_width)[:, :-2] for _, records in engine.expand(rows, 1)]
        engine.take_counts()
        rows = np.ascontiguousarray(np.unique(np.concatenate(found), axis=0)).reshape(-1)
    total = len(rows) // engine.units
    shares = [len(engine.owned(rows, owner, 4)) // engine.units for owner in range(4)]
    assert sum(shares) == total > 400
    assert max(shares) < 1.5 * total / 4
