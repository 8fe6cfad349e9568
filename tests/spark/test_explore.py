"""A search on Spark has the same outcome as one on one machine, however it is cut into partitions."""

from __future__ import annotations

import errno
import functools
import itertools
import json
import os
import re
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import attrs
import promises
import pyarrow.parquet as pq
import pytest
import toys
from pyspark import SparkConf

from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.programs import Program
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.system import successor
from highwater.explorer.verdict import Budget, Progress, SearchOptions, Verdict
from highwater.spark.driver import cluster
from highwater.spark.driver.explore import explore
from highwater.spark.driver.session import ClusterError, reason_with_setting
from highwater.spark.driver.small_levels import SmallLevels
from highwater.spark.driver.traces import Violations
from highwater.spark.driver.windows import windows_for
from highwater.spark.levels import Level, LevelFile, Levels
from highwater.spark.worker import inbox, tasks
from highwater.spark.worker.tasks import DamagedBlock, admit_task, expand_task, received, sent
from tests.explorer import test_ranks
from tests.multiset import cloakroom
from tests.outcomes import findings

KIP_101 = functools.partial(
    toys.reference, "kip-101", "strong_isr", brokers=2, log_length_max=2, records_max=2, leader_epoch_max=2
)


@pytest.fixture
def all_on_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """No level is small enough for the driver."""
    monkeypatch.setattr("highwater.spark.driver.explore.ROWS_WORTH_A_JOB", 0)


@pytest.mark.parametrize(
    ("brokers", "partitions", "symmetry"),
    [(2, 3, True), *(pytest.param(3, *how, marks=pytest.mark.slow) for how in ((3, True), (1, True), (5, False)))],
)
def test_reports_equal_those_of_the_local_engine(
    spark: Any, comparable: Callable[..., Any], all_on_the_cluster: None, brokers: int, partitions: int, symmetry: bool
) -> None:
    make = functools.partial(toys.reference, "kip-320-first-try", brokers=brokers)
    outcome = explore(
        make,
        options=SearchOptions(symmetry=symmetry, keep_going=True, coverage=True),
        spark=spark,
        partitions=partitions,
        check_deadlock=True,
    )
    options = SearchOptions(symmetry=symmetry, keep_going=True, coverage=True)
    assert comparable(outcome) == comparable(breadth_first.explore(make(), options=options, check_deadlock=True))
    assert outcome.functions


def test_a_kind_of_domain_from_outside_the_house_is_searched_as_locally(
    spark: Any, comparable: Callable[..., Any], all_on_the_cluster: None
) -> None:
    outcome = explore(cloakroom, Budget(max_depth=2), SearchOptions(keep_going=True), spark=spark, partitions=2)
    assert outcome.stored_states < outcome.distinct_states
    assert comparable(outcome) == comparable(
        breadth_first.explore(cloakroom(), Budget(max_depth=2), SearchOptions(keep_going=True))
    )


def test_the_same_is_reported_where_shards_fold_their_rows(
    spark: Any, comparable: Callable[..., Any], all_on_the_cluster: None, shards_fold: None
) -> None:
    properties = ("the_middle_is_not_reached", "nobody_goes_up_in_the_last_but_one_column")
    make = functools.partial(toys.grid, properties, wide=True)
    outcome = explore(make, options=SearchOptions(keep_going=True), spark=spark, partitions=2, check_deadlock=True)
    assert comparable(outcome) == comparable(
        breadth_first.explore(make(), options=SearchOptions(keep_going=True), check_deadlock=True)
    )


def test_partitions_that_are_visited_in_more_and_more_windows_change_nothing(
    spark: Any,
    comparable: Callable[..., Any],
    all_on_the_cluster: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Traces lead back through levels of few windows and of many, and so does a search that goes on in other ones."""
    make = functools.partial(toys.grid, ("the_middle_is_not_reached", "nobody_goes_up_in_the_last_but_one_column"))
    monkeypatch.setattr(cluster, "windows_for", lambda levels, *_: (1, 2, 2, 4, 4, 4)[len(levels) - 1])
    seen: list[Progress] = []
    options = SearchOptions(keep_going=True, checkpoint=str(tmp_path), on_progress=seen.append)
    explore(make, Budget(max_depth=4), options, spark=spark, partitions=2)
    ends = [progress.more for progress in seen if progress.level_ended]
    assert "level 2 took" in ends[2] and "2 windows of each partition one after the other" in ends[2]
    found = explore(make, Budget(max_depth=6), attrs.evolve(options, resume=True), spark=spark, partitions=2)
    assert [level.partitions for level in Levels(str(tmp_path)).read()] == [1, 2, 4, 4, 8, 8, 8]
    assert comparable(found) == comparable(breadth_first.explore(make(), Budget(max_depth=6), options_of_one(options)))


def options_of_one(options: SearchOptions) -> SearchOptions:
    """The same, for a search that keeps nothing."""
    return attrs.evolve(options, checkpoint=None, on_progress=lambda _: None)


def test_a_visited_set_without_room_is_one_line_that_names_what_to_raise(
    spark: Any, comparable: Callable[..., Any], all_on_the_cluster: None, tmp_path: Path
) -> None:
    options = SearchOptions(checkpoint=str(tmp_path))
    with pytest.raises(ClusterError) as raised:
        explore(toys.last_corner, Budget(memory=100), options, spark=spark, partitions=1)
    line, advice = str(raised.value).splitlines()
    assert re.fullmatch(
        r"Spark gave up on level 2: a partition is to visit [\d.]+ KiB, and a task may have 100 B of it in memory, "
        "which is too little even for one of 256 windows: raise --memory, or give more --partitions",
        line,
    )
    assert "levels up to 1 are whole" in advice
    found = explore(toys.last_corner, options=attrs.evolve(options, resume=True), spark=spark, partitions=2)
    assert comparable(found) == comparable(breadth_first.explore(toys.last_corner()))


def test_a_damaged_file_that_an_executor_reads_is_named_without_advice_to_go_on(
    spark: Any, all_on_the_cluster: None, tmp_path: Path
) -> None:
    options = SearchOptions(checkpoint=str(tmp_path))
    explore(toys.last_corner, Budget(max_depth=2), options, spark=spark, partitions=1)
    (file,) = (tmp_path / "levels" / "00001").iterdir()
    file.write_bytes(file.read_bytes().replace(b"PAR1", b"PAR2", 1))
    with pytest.raises(CheckpointError) as raised:
        explore(toys.last_corner, options=attrs.evolve(options, resume=True), spark=spark, partitions=1)
    assert str(raised.value) == f"{file}: is damaged: its checksum does not match"


@pytest.mark.parametrize(
    "of", [test_ranks.there_is_no_third_turn, test_ranks.there_is_no_third_step, test_ranks.the_older_is_the_newer]
)
def test_a_trace_takes_no_step_that_a_bound_cuts_in_its_class(of: Any, tmp_path: Path) -> None:
    """As on one machine: another action leads to the same class, and comes first."""
    make = functools.partial(test_ranks.pair, of)
    found = explore(make, options=SearchOptions(checkpoint=str(tmp_path)), spark=None)
    shown = [
        [(str(step.action), step.state) for step in outcome.violations[0].trace]
        for outcome in (found, breadth_first.explore(make()))
    ]
    assert shown[0] == shown[1]


def test_windows_are_as_many_as_the_visited_set_needs_and_never_fewer() -> None:
    def levels(*visited: int, partitions: int = 1) -> list[Level]:
        files = (LevelFile("", 0, 10, 0, ""),)
        return [Level(depth, files, 10, Counts.none(1), partitions, visited=some) for depth, some in enumerate(visited)]

    assert windows_for(levels(600, 1200), 2, None) == 1
    assert windows_for(levels(600, 1200), 2, 900) == 1
    assert [windows_for(levels(600, 1200), 2, room) for room in (899, 450, 449, 225)] == [4, 4, 8, 8]
    assert windows_for(levels(600, 1200, partitions=8), 2, 900) == 4
    assert windows_for(levels(600, 1200, partitions=9), 2, 900) == 1
    assert windows_for(levels(600, 1200), 2, 4) == 256
    with pytest.raises(ClusterError, match="raise --memory"):
        windows_for(levels(600, 1200), 2, 3)


@pytest.mark.parametrize(("sharers", "limit", "room"), [(2, None, 2000), (None, None, 1000), (2, 4000, 1000)])
def test_by_default_tasks_share_half_of_their_machine(
    monkeypatch: pytest.MonkeyPatch, sharers: int | None, limit: int | None, room: int
) -> None:
    monkeypatch.setattr(tasks, "machine_memory", lambda: 8000)
    monkeypatch.setattr(tasks, "address_limit", lambda: limit)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert tasks.room_of(cast("Any", SimpleNamespace(sharers=sharers))) == room


def test_levels_of_many_files_are_those_of_one(
    spark: Any,
    comparable: Callable[..., Any],
    all_on_the_cluster: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The same rows in the same order, with the same traces, although tasks admit in passes and hold little."""
    make = functools.partial(toys.grid, ("the_middle_is_not_reached", "nobody_goes_up_in_the_last_but_one_column"))
    found, rows, files = [], [], []
    for name in ("one", "many"):
        options = SearchOptions(keep_going=True, checkpoint=str(tmp_path / name))
        found.append(explore(make, Budget(max_depth=6), options, spark=spark, partitions=2))
        levels = Levels(options.checkpoint)
        read = [(level.depth, levels.words_of(file, 1)[0].tolist()) for level in levels.read() for file in level.files]
        rows.append([(depth, word) for depth, words in read for word in words])
        files.append(len(read))
        for task in ("expand_task", "admit_task"):
            monkeypatch.setattr(cluster, task, toys.in_small_files(getattr(cluster, task)))
    assert rows[0] == rows[1]
    assert files[0] < files[1]
    one, many = ([(str(step.action), step.state) for each in of.violations for step in each.trace] for of in found)
    assert one == many
    assert comparable(found[0]) == comparable(found[1])


def test_blocks_leave_an_inbox_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in memory and those on the disk, of which one has changed there."""
    monkeypatch.setattr(inbox, "MOST_IN_MEMORY", 100_000)
    places = [(source, number) for source in range(9) for number in range(4)]
    blocks = {place: sent(place[0] % 2, *place, bytes([*place] * 5_000))[1] for place in places}
    with inbox.Inbox(tmp_path) as box:
        for place in reversed(places):
            box.put(place[0] % 2, place, blocks[place])
        assert os.fstat(box._file.fileno()).st_size + 100_000 >= sum(map(len, blocks.values()))
        for owner in (1, 0):
            assert list(box.in_order(owner)) == [blocks[place] for place in places if place[0] % 2 == owner]
        for place in places:
            box.put(0, place, blocks[place])
        os.pwrite(box._file.fileno(), b"changed", 50_000)
        with pytest.raises(DamagedBlock, match="has changed on its way, on a disk or in a network"):
            list(map(received, box.in_order(0)))


def test_levels_move_from_the_driver_to_the_cluster_when_they_have_grown(
    spark: Any, comparable: Callable[..., Any]
) -> None:
    """With a violation at the end, whose trace leads back through both."""
    seen: list[Progress] = []
    options = SearchOptions(on_progress=seen.append)
    outcome = explore(KIP_101, options=options, spark=spark, partitions=2, rows_worth_a_job=300)
    expected = breadth_first.explore(KIP_101())
    assert comparable(outcome) == comparable(expected)
    assert outcome.violations[0].witness
    jobs = [progress.more for progress in seen if progress.level_ended]
    assert ["shuffle" in job for job in jobs] == [False] * 9 + [True] * 3
    assert re.fullmatch(
        r"level 9 took [\d.]+ s by 3 tasks on 1 executor, shuffle [\d.]+ KiB, spill 0 B, 869 visited rows read again; "
        "2,713 distinct",
        jobs[9],
    )
    assert re.fullmatch(
        r"level 11 took [\d.]+ s by 4 tasks on 1 executor, shuffle [\d.]+ KiB, spill 0 B; [\d,]+ distinct", jobs[11]
    )
    assert re.fullmatch(r"level 8 took [\d.]+ s by the driver; [\d,]+ distinct", jobs[8])
    assert [(each.level, each.tasks, each.executors) for each in outcome.work] == [
        *((level, 0, 0) for level in range(1, 9)), (9, 3, 1), (10, 4, 1), (11, 4, 1),
    ]  # fmt: skip
    assert sum(each.rows for each in outcome.work) == outcome.stored_states - 1
    assert [each.expanded for each in outcome.work[1:]] == [each.rows for each in outcome.work[:-1]]
    assert all(each.shuffled and 1 <= each.skew < 2 for each in outcome.work if each.tasks)


@pytest.mark.parametrize("windows", [1, 2])
def test_rows_do_not_depend_on_whether_tasks_or_the_driver_expand_a_level(
    spark: Any, comparable: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, windows: int
) -> None:
    """The driver expands levels that have shrunk. What they lead to is admitted by tasks all the same."""
    monkeypatch.setattr(cluster, "windows_for", lambda *_: windows)
    monkeypatch.setattr(SmallLevels, "takes", lambda *_: False)
    found, stages = [], []
    for rows_worth_a_job in (0, 1 << 20):
        folder = tmp_path / str(rows_worth_a_job)
        options = SearchOptions(checkpoint=str(folder))
        outcome = explore(KIP_101, options=options, spark=spark, partitions=2, rows_worth_a_job=rows_worth_a_job)
        files = [folder / "levels" / file.name for level in Levels(str(folder)).read() for file in level.files]
        found.append((comparable(outcome), [pq.read_table(file).to_pydict() for file in files]))
        stages.append([(bool(each.shuffled), each.tasks > 2, each.executors) for each in outcome.work])
    assert found[0] == found[1]
    assert stages == [[(True, True, 1)] * 11, [(False, False, 1)] * 11]


def test_the_driver_expands_levels_that_have_shrunk(spark: Any, comparable: Callable[..., Any]) -> None:
    outcome = explore(toys.grid, spark=spark, partitions=2, rows_worth_a_job=6)
    assert comparable(outcome) == comparable(breadth_first.explore(toys.grid()))
    assert [(each.expanded, each.tasks) for each in outcome.work[3:]] == [
        (6, 3),
        (7, 4),
        (6, 4),
        (3, 2),
        (2, 2),
        (1, 2),
    ]


def test_paths_learned_on_any_machine_are_kept_and_shipped(
    spark: Any, comparable: Callable[..., Any], all_on_the_cluster: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a search on Spark to the next one, and to one on this machine."""
    learned: list[int] = []
    learn_again = PartitionWorker.learn_again

    def noted(worker: PartitionWorker, examples: Any) -> None:
        learned.append(len(examples))
        learn_again(worker, examples)

    monkeypatch.setattr(PartitionWorker, "learn_again", noted)
    first, second = (
        explore(KIP_101, options=SearchOptions(keep_trees=True), spark=spark, partitions=2) for _ in range(2)
    )
    assert (learned[0] > 0, learned[1:]) == (True, [0])
    assert comparable(first) == comparable(second)
    monkeypatch.setattr(Program, "_trace", lambda *_: pytest.fail("something is learned"))
    assert comparable(breadth_first.explore(KIP_101(), options=SearchOptions(keep_trees=True))) == comparable(first)


def test_coverage_lacks_nothing_where_there_are_no_properties_for_executors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("highwater.spark.driver.liveness.ROWS_IN_THE_DRIVER", 0)
    options = SearchOptions(coverage=True, checkpoint=str(tmp_path))
    found = explore(toys.grid, options=options, spark=None)
    assert (found.warnings, found.functions) == (
        (),
        breadth_first.explore(toys.grid(), options=SearchOptions(coverage=True)).functions,
    )


def test_paths_that_were_kept_count_once_where_the_driver_explores(tmp_path: Path) -> None:
    options = SearchOptions(keep_trees=True, checkpoint=str(tmp_path / "first"))
    first = explore(KIP_101, options=options, spark=None)
    second = explore(KIP_101, options=attrs.evolve(options, checkpoint=str(tmp_path / "second")), spark=None)
    assert second.compiled_paths == first.compiled_paths == breadth_first.explore(KIP_101()).compiled_paths


def test_progress_is_reported_by_level_and_phase(
    spark: Any, all_on_the_cluster: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """To whoever waits at a terminal, and in Spark's web pages, which cut descriptions after some seventy letters."""
    expected = {
        "expand": r"level 1 runs for \d+ s, expand 0 of 1 tasks",
        "admit": r"level 2 runs for \d+ s, admit 0 of 2 tasks; level 1 took ",
    }
    seen: set[str] = set()

    def note(progress: Progress) -> None:
        for phase, words in expected.items():
            if re.match(words, progress.more):
                seen.add(phase)
                (tmp_path / phase).touch()

    def held(phase: str, make: Callable[..., Any], level: int) -> Callable[..., Any]:
        """Tasks of this level do nothing before their phase was told, for a minute at most."""
        levels = itertools.count(1)

        def make_held(*arguments: Any) -> Any:
            task, is_told = make(*arguments), tmp_path / phase

            def run(partition: int, records: Any) -> Any:
                end = time.monotonic() + 60
                while not is_told.exists() and time.monotonic() < end:
                    time.sleep(0.01)
                return task(partition, records)

            return run if next(levels) == level else task

        return make_held

    monkeypatch.setattr("highwater.spark.driver.cluster.SECONDS_BETWEEN_REPORTS", 0.02)
    monkeypatch.setattr("highwater.spark.driver.cluster.expand_task", held("expand", expand_task, 1))
    monkeypatch.setattr("highwater.spark.driver.cluster.admit_task", held("admit", admit_task, 2))
    explore(toys.grid, Budget(max_depth=2), SearchOptions(on_progress=note), spark=spark, partitions=2, name="a_claim")
    assert seen == set(expected)
    context = spark.sparkContext
    with urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/jobs") as answer:
        found = [job["description"] for job in json.load(answer) if "(a_claim)" in job.get("description", "")]
    assert sorted(found) == [
        "level 1: expand 2 rows of level 0, exchange, admit (a_claim)",
        "level 2: expand 4 rows of level 1, exchange, admit (a_claim)",
    ]


def test_every_step_of_a_trace_is_a_step_of_the_model(spark: Any, all_on_the_cluster: None) -> None:
    make = functools.partial(toys.grid, ("the_middle_is_not_reached", "nobody_goes_up_in_the_last_but_one_column"))
    outcome = explore(make, Budget(max_depth=6), SearchOptions(keep_going=True), spark=spark, partitions=3)
    expected = plain_python.explore(make(), Budget(max_depth=6), SearchOptions(keep_going=True))
    assert {v.property: v.trace_length for v in outcome.violations} == {
        v.property: v.trace_length for v in expected.violations
    }
    for violation in outcome.violations:
        before, *steps = violation.trace
        assert before.state in make().initial
        for step in steps:
            assert successor(step.action, before.state, make().domain) == step.state
            before = step


@pytest.mark.parametrize("make", [functools.partial(toys.reference, "kip-320", "strong_isr"), promises.lock_for_nobody])
def test_the_statements_that_never_ran_are_those_of_the_local_engine(
    make: Callable[..., Any], comparable: Callable[..., Any], tmp_path: Path
) -> None:
    options = SearchOptions(coverage=True)
    here = breadth_first.explore(make(), options=options)
    outcome = explore(make, options=attrs.evolve(options, checkpoint=str(tmp_path)), spark=None)
    assert here.verdict is Verdict.HOLDS
    assert comparable(outcome) == comparable(here)
    assert bool(here.unreached) == (make is not promises.lock_for_nobody)


def test_a_depth_limit_ends_it_there(comparable: Callable[..., Any], tmp_path: Path) -> None:
    outcome = explore(toys.grid, Budget(max_depth=2), SearchOptions(checkpoint=str(tmp_path)), spark=None)
    assert comparable(outcome) == comparable(breadth_first.explore(toys.grid(), Budget(max_depth=2)))
    assert outcome.verdict is Verdict.HOLDS_TO_DEPTH


def test_a_model_that_raises_on_an_executor_is_reported_as_on_one_machine(spark: Any, all_on_the_cluster: None) -> None:
    with pytest.raises(ModelError) as expected:
        breadth_first.explore(toys.raises())
    with pytest.raises(ModelError) as raised:
        explore(toys.raises, spark=spark, partitions=2)
    assert str(raised.value) == str(expected.value)
    assert "ZeroDivisionError" in str(raised.value)


def test_a_property_that_treats_a_name_in_its_own_way_is_refused_on_executors(
    spark: Any, all_on_the_cluster: None
) -> None:
    with pytest.raises(ModelError, match=r"the_first_broker_has_no_record .* apart, which the model declares"):
        explore(toys.tells_brokers_apart, spark=spark, partitions=2)


def test_executors_with_another_model_are_refused(spark: Any, all_on_the_cluster: None, tmp_path: Path) -> None:
    """The driver makes a system once, then one with fewer properties is what executors make."""
    with pytest.raises(ModelError, match="another version of highwater or of the model than the driver: the property "):
        explore(functools.partial(changing, str(tmp_path)), spark=spark, partitions=2)


def changing(folder: str) -> Any:
    """Another system each time it is made in another process."""
    made = Path(folder) / "made"
    names = ("the_middle_is_not_reached",) if not made.exists() else ()
    made.touch()
    return toys.grid(names)


@pytest.mark.parametrize(
    ("task", "windows", "once"),
    [
        ("expand_task", 1, ""),
        ("admit_task", 1, ""),
        pytest.param("admit_task", 4, "admitted", id="between-two-windows"),
    ],
)
def test_a_python_worker_that_is_killed_changes_nothing(
    spark: Any,
    comparable: Callable[..., Any],
    all_on_the_cluster: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    task: str,
    windows: int,
    once: str,
) -> None:
    monkeypatch.setattr(cluster, "windows_for", lambda *_: windows)
    monkeypatch.setattr(cluster, task, toys.dying(getattr(cluster, task), tmp_path / "died", once))
    outcome = explore(toys.last_corner, spark=spark, partitions=2)
    assert (tmp_path / "died").exists()
    assert comparable(outcome) == comparable(breadth_first.explore(toys.last_corner()))


def test_what_levels_have_exchanged_does_not_stay_on_disks(spark: Any, all_on_the_cluster: None) -> None:
    of_executor = spark.sparkContext.parallelize([0], 1).map(lambda _: os.environ["SPARK_LOCAL_DIRS"]).collect()[0]

    def sent() -> set[str]:
        return {file.name for file in Path(of_executor).glob("*/shuffle_*")}

    before, deadline = sent(), time.monotonic() + 60
    assert len(explore(toys.last_corner, spark=spark, partitions=2).work) > 3
    while sent() - before:  # executors remove it on the side
        assert time.monotonic() < deadline, sent() - before
        time.sleep(0.05)


def test_spark_giving_up_is_one_error_that_suggests_resuming(
    spark: Any, all_on_the_cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("highwater.spark.driver.cluster.admit_task", lambda *_: lambda partition, _: 1 // partition)
    with pytest.raises(ClusterError, match=r"(?s)gave up on level 1: .*levels up to 0 are whole .*--resume"):
        explore(toys.grid, options=SearchOptions(checkpoint=str(tmp_path)), spark=spark)


def test_a_full_disk_is_named(
    spark: Any, all_on_the_cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("highwater.spark.driver.cluster.admit_task", lambda *_: full)
    with pytest.raises(ClusterError, match=r"No space left on device; tasks keep .* in spark\.local\.dir, /.*spark"):
        explore(toys.grid, options=SearchOptions(checkpoint=str(tmp_path)), spark=spark)


@pytest.mark.parametrize(
    ("task", "words"), [(toys.short_of_memory, "MemoryError"), (toys.killed, "Python worker exited unexpectedly")]
)
def test_too_little_memory_is_one_line_that_names_what_to_raise(
    spark: Any, all_on_the_cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: Any, words: str
) -> None:
    options = SearchOptions(checkpoint=str(tmp_path))
    monkeypatch.setattr("highwater.spark.driver.cluster.admit_task", lambda *_: task)
    with pytest.raises(ClusterError) as raised:
        explore(toys.grid, options=options, spark=spark)
    line, advice = str(raised.value).splitlines()
    short = "a Python worker had too little memory, or was killed: raise "
    limits = r"(ulimit -v|this container's limit|this machine's memory), [\d.]+ [GM]iB"
    assert re.match(f"Spark gave up on level 1: {words}; {short}{limits}", line)
    assert "levels up to 0 are whole" in advice
    options = attrs.evolve(options, resume=True)
    assert explore(toys.grid, options=options, spark=None, rows_worth_a_job=99).stored_states == 36


@pytest.mark.parametrize(
    ("given", "raised"),
    [
        ({"spark.master": "local[2]", "spark.executor.pyspark.memory": "600m"}, "spark.executor.pyspark.memory, 600m"),
        ({"spark.master": "yarn", "spark.executor.memoryOverhead": "2g"}, "spark.executor.memoryOverhead, 2g"),
        ({"spark.master": "spark://host:7077"}, "spark.executor.memoryOverhead, not given"),
    ],
)
def test_the_setting_to_raise_is_that_of_the_cluster(given: dict[str, str], raised: str) -> None:
    settings: Any = SparkConf(loadDefaults=False).setAll(list(given.items()))
    killed = ClusterError("ExecutorLostFailure: Container killed by YARN for exceeding physical memory limits.")
    assert reason_with_setting(killed, settings).endswith(
        f"memory limits.; a Python worker had too little memory, or was killed: raise {raised}"
    )
    assert reason_with_setting(ClusterError("something else"), settings) == "something else"


def test_a_block_that_has_changed_on_its_way_is_refused() -> None:
    _, block = sent(3, 5, 7, b"records")
    assert (*received(block)[:2], bytes(received(block)[2])) == (5, 7, b"records")
    with pytest.raises(DamagedBlock, match="block 7 of file 5 has changed on its way"):
        received(block[:-1] + b"z")


# In the driver alone: no job is worth starting, so these need no session


def test_levels_of_many_files_are_those_of_the_local_engine_in_the_driver(
    comparable: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    toys.write_small_files(monkeypatch)
    make = functools.partial(toys.grid, ("the_middle_is_not_reached", "nobody_goes_up_in_the_last_but_one_column"))
    options = SearchOptions(keep_going=True, checkpoint=str(tmp_path))
    outcome = explore(make, options=options, spark=None, check_deadlock=True)
    assert comparable(outcome) == comparable(
        breadth_first.explore(make(), options=SearchOptions(keep_going=True), check_deadlock=True)
    )
    files = [level.files for level in Levels(str(tmp_path)).read()]
    assert len(files) < sum(map(len, files))
    assert max(file.rows for of_level in files for file in of_level) == 2  # a block is not divided


@pytest.mark.parametrize("variant", ["kip-101", "kip-279", "kip-320", "truncate-to-high-watermark", "async-isr"])
@pytest.mark.parametrize("symmetry", [False, True])
def test_small_searches_need_no_job(
    comparable: Callable[..., Any], tmp_path: Path, variant: str, symmetry: bool
) -> None:
    make = functools.partial(toys.reference, variant)
    outcome = explore(
        make,
        options=SearchOptions(checkpoint=str(tmp_path), symmetry=symmetry, keep_going=True),
        spark=None,
        check_deadlock=True,
    )
    assert comparable(outcome) == comparable(
        breadth_first.explore(make(), options=SearchOptions(symmetry=symmetry, keep_going=True), check_deadlock=True)
    )


@pytest.mark.parametrize("most", [1, 2, 5, 30, 34, 35, 36, 1000])
def test_a_limit_of_states_ends_the_search_after_the_level_that_goes_beyond_it(tmp_path: Path, most: int) -> None:
    """The verdict is that of the local engine, also where the limit is just what there is."""
    assert breadth_first.explore(toys.grid()).distinct_states == 36
    outcome = explore(toys.grid, Budget(max_states=most), SearchOptions(checkpoint=str(tmp_path)), spark=None)
    expected = breadth_first.explore(toys.grid(), Budget(max_states=most))
    assert (outcome.verdict, outcome.reason) == (expected.verdict, expected.reason)
    whole = breadth_first.explore(toys.grid()).levels
    assert outcome.levels == whole[: len(outcome.levels)]
    assert sum(outcome.levels[:-1]) <= most
    assert (outcome.verdict is Verdict.UNKNOWN) == (sum(outcome.levels) > most)


def test_an_interrupt_keeps_the_levels_so_far(tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.depth == 4:
            raise KeyboardInterrupt

    outcome = explore(toys.grid, options=SearchOptions(checkpoint=str(tmp_path), on_progress=interrupt), spark=None)
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "interrupted")
    assert outcome.levels == breadth_first.explore(toys.grid()).levels[:5]


@pytest.mark.parametrize(("of", "method"), [(Levels, "commit"), (Violations, "with_those_of_states")])
def test_an_interrupt_within_a_level_keeps_nothing_of_it(
    of: type, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what its expansion has counted, nor the step that breaks a property there."""
    make = functools.partial(toys.grid, ("nobody_goes_up_in_the_last_but_one_column",))
    expected = explore(make, Budget(max_depth=3), SearchOptions(checkpoint=str(tmp_path / "whole")), spark=None)
    does, calls = getattr(of, method), itertools.count()

    def interrupt(*given: Any) -> Any:
        if next(calls) == 4:
            raise KeyboardInterrupt
        return does(*given)

    monkeypatch.setattr(of, method, interrupt)
    outcome = explore(make, options=SearchOptions(checkpoint=str(tmp_path / "cut")), spark=None)
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "interrupted")
    assert findings(outcome, "verdict", "reason", "audit") == findings(expected, "verdict", "reason", "audit")
    assert [work.level for work in outcome.work] == [1, 2, 3]
    monkeypatch.undo()
    resumed = explore(make, options=SearchOptions(checkpoint=str(tmp_path / "cut"), resume=True), spark=None)
    assert [len(found.trace) for found in resumed.violations] == [5]


@pytest.mark.parametrize("kept", [False, True])
def test_levels_are_synced_to_the_disk_unless_they_go_with_the_search(
    tmp_path: Path, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OnThisMachine:
        class sparkContext:
            master = "local[2]"

    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    explore(toys.grid, options=SearchOptions(checkpoint=str(tmp_path) if kept else None), spark=OnThisMachine())
    assert bool(synced) == kept


def test_a_cluster_without_a_folder_that_all_reach_is_refused() -> None:
    class Remote:
        class sparkContext:
            master = "spark://somewhere:7077"

    with pytest.raises(CheckpointError, match="needs --checkpoint URI"):
        explore(toys.grid, spark=Remote())
