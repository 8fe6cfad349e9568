"""A search that was killed goes on from its whole levels; anything but its own whole levels is refused."""

from __future__ import annotations

import functools
import itertools
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import toys
from pyarrow import fs

from highwater.explorer.search.keeping.durable import LOCK, CheckpointError, Holder
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.verdict import Budget, SearchOptions
from highwater.spark import files
from highwater.spark.driver.explore import explore
from highwater.spark.levels import END, MANIFEST, Level, LevelFile, Levels
from tests.harm import NO_MANIFEST, kill_until_one_survives, refuse_harmed

KIP_320 = functools.partial(toys.reference, "kip-320", "strong_isr")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A search that ended at depth 6."""
    explore(KIP_320, Budget(max_depth=6), SearchOptions(checkpoint=str(tmp_path)), spark=None)
    return tmp_path


def resumed(folder: Path, make: Callable[..., Any] = KIP_320, **how: Any) -> Any:
    return explore(make, options=SearchOptions(checkpoint=str(folder), resume=True, **how), spark=None)


def refusal(folder: Path, make: Callable[..., Any] = KIP_320, **how: Any) -> str:
    with pytest.raises(CheckpointError) as raised:
        resumed(folder, make, **how)
    return str(raised.value)


def test_executors_find_a_folder_named_from_where_the_driver_works(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    sent = pickle.dumps(Levels(folder.name))
    monkeypatch.chdir("/")
    assert len(pickle.loads(sent).read()) == 7


@pytest.mark.parametrize("depth", [0, 1, 6, 14])
def test_a_search_cut_at_a_depth_resumes_as_if_never_cut(
    tmp_path: Path, comparable: Callable[..., Any], depth: int
) -> None:
    make = functools.partial(toys.reference, "kip-101")
    expected = breadth_first.explore(make())
    explore(make, Budget(max_depth=depth), SearchOptions(checkpoint=str(tmp_path)), spark=None)
    assert comparable(resumed(tmp_path, make)) == comparable(expected)
    assert comparable(resumed(tmp_path, make)) == comparable(expected), "also once more, after its end"


def test_a_level_is_words_parent_action_depth_and_orbit(folder: Path) -> None:
    """Parents are where they say: a row's action leads from its parent's state to a state that the row stands for."""
    levels = Levels(str(folder)).read()
    engine = explorer_of(KIP_320)
    tables = [pq.read_table(folder / "levels" / level.files[0].name) for level in levels]
    columns = {f"w{n}": pa.int64() for n in range(engine.layout.words)} | {"parent": pa.int64()}
    columns |= dict.fromkeys(("action", "depth", "orbit"), pa.int32())
    assert tables[3].schema == pa.schema([pa.field(*column, nullable=False) for column in columns.items()])
    for before, table in itertools.pairwise(tables):
        for row in table.to_pylist():
            parent = before.slice(row["parent"] & 0xFFFFFFFF, 1).to_pylist()[0]
            state = engine.layout.unpack([parent[f"w{n}"] for n in range(engine.layout.words)])
            after = engine.system.actions[row["action"]].apply(state)
            found = engine.search.representative(after)
            assert tuple(word & (1 << 64) - 1 for word in (row[f"w{n}"] for n in range(engine.layout.words))) == found
            assert row["depth"] == parent["depth"] + 1


def explorer_of(make: Callable[..., Any]) -> Any:
    from highwater.explorer.partitioned.worker import PartitionWorker

    return PartitionWorker(make(), symmetry=True)


def test_a_partition_has_its_own_files_or_all_of_a_level_made_otherwise() -> None:
    files = tuple(LevelFile(f"{number}", number % 3, 1, 1, "") for number in range(8))
    level = Level(2, files, 8, Counts.none(1), 4)
    own = ["".join(file.name for file in level.files_for(partition, 4)) for partition in range(4)]
    assert own == ["036", "147", "25", ""]
    assert level.files_for(5, 8) == level.files_for(2, 4)
    assert level.files_for(0, 5) == list(files)


def test_a_manifest_names_the_spec_its_hashes_and_the_layout(tmp_path: Path) -> None:
    explore(KIP_320, Budget(max_depth=1), SearchOptions(checkpoint=str(tmp_path)), spark=None, name="a_claim")
    header = json.loads((tmp_path / MANIFEST).read_text())["data"]
    assert header["spec"] == "a_claim"
    assert header["fingerprint"]["properties"].keys() == {"strong_isr"}
    assert header["fingerprint"]["modules"].keys() >= {
        "highwater.model.reference.fenced",
        "highwater.model.reference.state",
        "highwater.invariants.reference",
    }
    assert header["layout"][0]["path"] == "quorum.leader"


def test_a_file_that_is_missing_cut_short_or_changed_is_refused(folder: Path) -> None:
    refuse_harmed(next((folder / "levels" / "00005").iterdir()), lambda: refusal(folder))
    assert resumed(folder).distinct_states == breadth_first.explore(KIP_320()).distinct_states


def test_a_missing_level_is_refused(folder: Path) -> None:
    (folder / "levels" / "00003.json").unlink()
    assert "levels/00003.json: is missing; the checkpoint goes on to level 6" in refusal(folder)


@pytest.mark.parametrize("name", [MANIFEST, "levels/00002.json"])
@pytest.mark.parametrize("text", [*NO_MANIFEST, '{"data": {}, "sha256": ""}', '{"data": [], "sha256": ""}'])
def test_a_manifest_that_is_damaged_is_refused(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    assert name in refusal(folder)
    assert "damaged" in refusal(folder)


@pytest.mark.parametrize(
    ("source", "target", "why"),
    [
        (MANIFEST, "levels/00002.json", "does not follow from"),
        ("levels/00003.json", "levels/00002.json", "does not follow from"),
        (END, "levels/00018.json", "is no manifest of a level"),
        ("levels/00002.json", MANIFEST, "was not written by this version"),
    ],
)
def test_a_whole_manifest_in_the_place_of_another_is_refused(
    tmp_path: Path, source: str, target: str, why: str
) -> None:
    explore(KIP_320, options=SearchOptions(checkpoint=str(tmp_path)), spark=None)
    shutil.copyfile(tmp_path / source, tmp_path / target)
    assert f"{target}: {why}" in refusal(tmp_path)


def test_a_file_beside_the_levels_is_none_of_them(folder: Path) -> None:
    (folder / "levels" / "².json").write_text("")
    assert resumed(folder).distinct_states == breadth_first.explore(KIP_320()).distinct_states


def test_a_manifest_with_a_changed_count_is_refused(folder: Path) -> None:
    path = folder / "levels" / "00002.json"
    whole = json.loads(path.read_text())
    whole["data"]["counts"]["generated"] += 1
    path.write_text(json.dumps(whole))
    assert "its checksum does not match" in refusal(folder)


def test_levels_of_two_searches_are_refused(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    explore(KIP_320, Budget(max_depth=6), SearchOptions(checkpoint=str(other)), spark=None)
    (folder / "levels" / "00004.json").write_bytes((other / "levels" / "00004.json").read_bytes())
    assert "levels/00004.json: does not follow from " in refusal(folder)


@pytest.mark.parametrize("depth", [6, None], ids=["cut", "whole"])
@pytest.mark.parametrize("taken", ["manifest.json", "levels"])
def test_the_levels_of_one_search_are_not_taken_under_the_manifest_of_another(
    tmp_path: Path, depth: int | None, taken: str
) -> None:
    """Of the same model within the same bounds: what differs is a rule, and with it which states there are."""
    variants = {variant: functools.partial(toys.reference, variant, "strong_isr") for variant in ("kip-320", "kip-101")}
    for variant, make in variants.items():
        explore(make, Budget(max_depth=depth), SearchOptions(checkpoint=str(tmp_path / variant)), spark=None)
    if taken == "manifest.json":
        shutil.copy(tmp_path / "kip-101" / taken, tmp_path / "kip-320" / taken)
    else:
        shutil.rmtree(tmp_path / "kip-320" / taken)
        shutil.copytree(tmp_path / "kip-101" / taken, tmp_path / "kip-320" / taken)
    for make in variants.values():
        said = refusal(tmp_path / "kip-320", make)
        assert "levels/00000.json: does not follow from " in said or "another search: protocol.variant" in said
    with pytest.raises(CheckpointError, match=r"levels/00000\.json: does not follow from .*manifest\.json"):
        Levels(str(tmp_path / "kip-320")).read()


def test_the_end_of_another_search_is_not_taken_for_its_own(tmp_path: Path) -> None:
    for name in ("one", "another"):
        explore(KIP_320, options=SearchOptions(checkpoint=str(tmp_path / name)), spark=None)
    levels = Levels(str(tmp_path / "one"))
    assert (len(levels.read()), levels.ended()) == (breadth_first.explore(KIP_320()).depth + 1, True)
    shutil.copy(tmp_path / "another" / "end.json", tmp_path / "one" / "end.json")
    assert not levels.ended()


def test_levels_of_another_search_are_refused_with_what_differs(folder: Path) -> None:
    assert "another search: bounds.records_max is 1 there and 7 here" in refusal(
        folder, functools.partial(KIP_320, records_max=7)
    )
    assert "protocol.variant is" in refusal(
        folder, functools.partial(toys.reference, "kip-320-first-try", "strong_isr")
    )
    assert "the property weak_isr is here only" in refusal(
        folder, functools.partial(toys.reference, "kip-320", "weak_isr")
    )
    assert "the option symmetry is" in refusal(folder, symmetry=False)


def test_a_search_is_not_overwritten_and_none_is_not_gone_on_with(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(CheckpointError, match="holds a search already; continue it with --resume"):
        explore(KIP_320, options=SearchOptions(checkpoint=str(folder)), spark=None)
    assert "holds no levels of a search" in refusal(tmp_path_factory.mktemp("empty"))


def test_a_checkpoint_of_the_local_engine_is_refused(tmp_path: Path) -> None:
    breadth_first.explore(KIP_320(), Budget(max_depth=3), SearchOptions(checkpoint=tmp_path))
    assert "was not written by this version of highwater with --engine spark" in refusal(tmp_path)


@pytest.mark.parametrize("uri", ["nowhere://bucket/x", "s3://", "hdfs://"])
def test_a_folder_that_cannot_be_reached_is_refused(uri: str) -> None:
    with pytest.raises(CheckpointError, match=uri):
        explore(KIP_320, options=SearchOptions(checkpoint=uri), spark=None)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be"):
        explore(KIP_320, options=SearchOptions(checkpoint=str(tmp_path / "file" / "folder")), spark=None)


def test_a_uri_is_as_good_as_a_path(tmp_path: Path, comparable: Callable[..., Any]) -> None:
    make = functools.partial(toys.reference, "kip-101")
    explore(make, Budget(max_depth=4), SearchOptions(checkpoint=tmp_path.as_uri()), spark=None)
    assert comparable(resumed(tmp_path, make)) == comparable(breadth_first.explore(make()))


RUN = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
import test_store
from highwater.explorer.verdict import SearchOptions
from highwater.spark.driver.explore import explore
from highwater.spark.levels import MANIFEST
folder = Path(sys.argv[1])
print("begin", flush=True)
options = SearchOptions(checkpoint=folder, resume=(folder / MANIFEST).exists())
outcome = explore(test_store.KIP_320, options=options, spark=None)
print(outcome.distinct_states, outcome.generated, outcome.levels, end=" ")
print(outcome.bounds_cut, outcome.stopped_at_bound, flush=True)
"""


@pytest.mark.slow
def test_a_search_killed_again_and_again_ends_with_the_same_counts(tmp_path: Path) -> None:
    found = breadth_first.explore(KIP_320())
    here = Path(__file__).parent
    command = [sys.executable, "-c", RUN, str(tmp_path), str(here), str(here.parents[1])]
    rest = kill_until_one_survives(
        command, lambda clock, attempt: clock.uniform(0.02, 0.15) + 0.15 * attempt, attempts=40
    )
    assert (
        rest == f"{found.distinct_states} {found.generated} {found.levels} {found.bounds_cut} {found.stopped_at_bound}"
    )


# --- One writer


HOLD = """
import sys, time
from highwater.spark.levels import Levels
levels = Levels(sys.argv[1])
levels.lock()
print("begin", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that writes to the folder."""
    here = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True, cwd=here
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        yield process
        process.kill()


def test_a_second_search_is_refused_with_who_writes_there(folder: Path, holder: subprocess.Popen[str]) -> None:
    assert f"{folder}: is in use by process {holder.pid} on {os.uname().nodename} since 20" in refusal(folder)
    with pytest.raises(CheckpointError, match=f"in use by process {holder.pid}"):
        explore(KIP_320, options=SearchOptions(checkpoint=str(folder)), spark=None)


@pytest.mark.parametrize("resume", [True, False])
def test_a_folder_that_is_in_use_is_refused_before_spark_starts(
    folder: Path, holder: subprocess.Popen[str], resume: bool
) -> None:
    with pytest.raises(CheckpointError, match=f"in use by process {holder.pid}"):
        Levels(str(folder)).try_out(resume=resume)


def test_the_lock_of_a_process_that_was_killed_is_taken_over(folder: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    assert (folder / LOCK).exists()
    assert resumed(folder).distinct_states == breadth_first.explore(KIP_320()).distinct_states
    assert not (folder / LOCK).exists()


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that is not a local one, as far as anybody can see."""
    monkeypatch.setattr(files, "_file_system", lambda uri: (fs.SubTreeFileSystem("/", fs.LocalFileSystem()), uri))


@pytest.mark.usefixtures("without_locks")
def test_without_file_locks_a_lock_file_names_the_writing_process(folder: Path) -> None:
    levels = Levels(str(folder))
    levels.lock()
    with pytest.raises(
        CheckpointError, match=rf"in use by process {os.getpid()} .*; if that process has ended, remove lock\.json"
    ):
        Levels(str(folder)).lock()
    other = attrs.evolve(Holder.this_process(), host="elsewhere", place="another machine")
    (folder / LOCK).write_bytes(other.as_json())
    with pytest.raises(CheckpointError, match=r"in use by process .* on elsewhere"):  # it has been taken over by hand
        levels.commit(levels.read()[-1])
    levels.release()
    assert (folder / LOCK).exists()  # it is not ours
    assert "on elsewhere since" in refusal(folder)
    (folder / LOCK).write_bytes(attrs.evolve(Holder.this_process(), started="1").as_json())  # of this machine, and dead
    assert resumed(folder).distinct_states == breadth_first.explore(KIP_320()).distinct_states
    assert not (folder / LOCK).exists()


@pytest.mark.usefixtures("without_locks")
def test_a_file_that_cannot_be_finished_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(TypeError):
        Levels(str(folder))._folder.write("nothing", object())
    assert sorted(path.name for path in folder.iterdir()) == before


def test_files_left_by_a_killed_process_are_removed(folder: Path) -> None:
    for name in ("manifest.json.0123456789ab.tmp", "levels/00007.json.0123456789ab.tmp"):
        (folder / name).write_text("")
    resumed(folder)
    assert not list(folder.rglob("*.tmp"))


def test_a_search_that_went_deeper_is_not_taken_for_one_to_a_lesser_depth(tmp_path: Path) -> None:
    explore(KIP_320, Budget(max_depth=4), SearchOptions(checkpoint=str(tmp_path)), spark=None)
    with pytest.raises(CheckpointError, match="the checkpoint is of depth 4, more than max_depth 3"):
        explore(KIP_320, Budget(max_depth=3), SearchOptions(checkpoint=str(tmp_path), resume=True), spark=None)
    assert (
        explore(KIP_320, Budget(max_depth=4), SearchOptions(checkpoint=str(tmp_path), resume=True), spark=None).depth
        == 4
    )
