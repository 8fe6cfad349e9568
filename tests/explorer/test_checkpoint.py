"""A search that was killed at any moment goes on from its checkpoint and ends as if nothing had happened."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.claims.resolving import resolve_model
from highwater.explorer import sources
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.search.engine import engine
from highwater.explorer.search.keeping import snapshots
from highwater.explorer.search.keeping.checkpoint import MANIFEST
from highwater.explorer.search.keeping.durable import LOCK, CheckpointError, Holder
from highwater.explorer.search.keeping.fingerprint import fingerprint
from highwater.explorer.search.levels import breadth_first, expansion, progress
from highwater.explorer.search.states import scratch, store
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, Outcome, Progress, SearchOptions, Verdict
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import action, step_property
from highwater.model.language.domain import BOOLEAN, Integers
from highwater.model.language.records import domain_of, within
from tests.harm import NO_MANIFEST, kill_until_one_survives, refuse_harmed
from tests.outcomes import findings

ROOT = Path(__file__).parents[2]
BOUNDS = {"brokers": 3, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 1}


def system(variant: str = "kip-320", check: tuple[str, ...] = ("strong_isr",), **bounds: int) -> System:
    protocol, definition, sizes, properties = resolve_model(
        MODELS["reference"], {"variant": variant}, {**BOUNDS, **bounds}, check
    )
    return build_system(definition, protocol, sizes, properties)


def comparable(outcome: Outcome) -> dict[str, Any]:
    """All that does not depend on when the search was interrupted."""
    return findings(outcome, "restored")


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot after every level."""
    monkeypatch.setattr(snapshots, "SECONDS_BETWEEN_SNAPSHOTS", 0.0)
    monkeypatch.setattr(snapshots, "MOST_OF_THE_TIME", 1e9)


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("variant", ["kip-320", "kip-101"])
def test_a_search_cut_at_a_depth_resumes_as_if_never_cut(
    tmp_path: Path, variant: str, workers: int, symmetry: bool
) -> None:
    """Also where a violation, and with it a trace through levels of the run before, lies behind the cut."""
    how = {"workers": workers, "symmetry": symmetry}
    explored = system(variant)
    expected = breadth_first.explore(explored, options=SearchOptions(**how))
    cut = breadth_first.explore(explored, Budget(max_depth=7), SearchOptions(checkpoint=tmp_path, **how))
    assert cut.verdict is Verdict.HOLDS_TO_DEPTH
    assert comparable(
        breadth_first.explore(explored, options=SearchOptions(checkpoint=tmp_path, resume=True, **how))
    ) == comparable(expected)


@pytest.mark.parametrize("most", [1, 100, 5000])
def test_a_search_that_ran_out_of_states_goes_on_with_more(tmp_path: Path, most: int) -> None:
    breadth_first.explore(system(), Budget(max_states=most), SearchOptions(checkpoint=tmp_path))
    assert comparable(
        breadth_first.explore(system(), options=SearchOptions(checkpoint=tmp_path, resume=True))
    ) == comparable(breadth_first.explore(system()))


def test_an_interrupted_search_keeps_its_whole_levels(tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.depth == 9:
            raise KeyboardInterrupt

    outcome = breadth_first.explore(system(), options=SearchOptions(checkpoint=tmp_path, on_progress=interrupt))
    assert outcome.reason == "interrupted"
    kept = json.loads((tmp_path / MANIFEST).read_text())["data"]["snapshot"]["level_ends"]
    assert len(kept) >= 9
    assert comparable(
        breadth_first.explore(system(), options=SearchOptions(checkpoint=tmp_path, resume=True))
    ) == comparable(breadth_first.explore(system()))


RUN = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from highwater.explorer.search.keeping import snapshots
from highwater.explorer.search.levels import breadth_first
snapshots.SECONDS_BETWEEN_SNAPSHOTS = 0.0
snapshots.MOST_OF_THE_TIME = 1e9
from highwater.explorer.verdict import SearchOptions
from test_checkpoint import system, comparable
folder = Path(sys.argv[1])
from highwater.explorer.search.keeping.checkpoint import MANIFEST
print("begin", flush=True)
resume = (folder / MANIFEST).exists()
options = SearchOptions(checkpoint=folder, resume=resume, symmetry=False)
outcome = breadth_first.explore(system(leader_epoch_max=2), options=options)
print(outcome.distinct_states, outcome.generated, outcome.depth, end=" ")
print(outcome.bounds_cut, outcome.stopped_at_bound, outcome.levels, flush=True)
"""


@pytest.mark.slow
def test_a_search_killed_again_and_again_ends_with_the_same_counts(tmp_path: Path) -> None:
    # first, so that machine code is made and kept
    expected = breadth_first.explore(system(leader_epoch_max=2), options=SearchOptions(symmetry=False))
    code = RUN.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, str(tmp_path)]
    rest = kill_until_one_survives(command, lambda clock, attempt: clock.uniform(0.1, 0.4) + 0.2 * attempt, attempts=60)
    found = (
        expected.distinct_states,
        expected.generated,
        expected.depth,
        expected.bounds_cut,
        expected.stopped_at_bound,
        expected.levels,
    )
    assert rest == " ".join(map(str, found))


@pytest.fixture
def folder(tmp_path: Path, eager: None) -> Path:
    breadth_first.explore(system(), Budget(max_depth=8), SearchOptions(checkpoint=tmp_path))
    return tmp_path


def refusal(folder: Path, explored: System | None = None, check_deadlock: bool = False, **how: Any) -> str:
    with pytest.raises(CheckpointError) as raised:
        breadth_first.explore(
            explored or system(),
            options=SearchOptions(checkpoint=folder, **{"resume": True, **how}),
            check_deadlock=check_deadlock,
        )
    return str(raised.value)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("rows-*"))


def test_every_level_has_its_file(folder: Path) -> None:
    assert len(files(folder)) == 9
    assert comparable(
        breadth_first.explore(system(), options=SearchOptions(checkpoint=folder, resume=True))
    ) == comparable(breadth_first.explore(system()))


def test_a_file_that_is_missing_cut_short_or_changed_is_refused(folder: Path) -> None:
    refuse_harmed(files(folder)[5], lambda: refusal(folder))
    assert (
        breadth_first.explore(system(), options=SearchOptions(checkpoint=folder, resume=True)).verdict is Verdict.HOLDS
    )


@pytest.mark.parametrize("text", [*NO_MANIFEST, '{"data": {}, "sha256": ""}'])
def test_a_manifest_that_is_damaged_is_refused(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    assert str(folder / MANIFEST) in refusal(folder)
    assert "damaged" in refusal(folder)


def test_a_manifest_with_a_changed_count_is_refused(folder: Path) -> None:
    path = folder / MANIFEST
    whole = json.loads(path.read_text())
    whole["data"]["snapshot"]["counts"]["generated"] += 1
    path.write_text(json.dumps(whole))
    assert "its checksum does not match" in refusal(folder)


def test_a_checkpoint_of_another_search_is_refused_with_what_differs(folder: Path) -> None:
    other = f"{folder}: is a checkpoint of another search: "
    assert refusal(folder, system(records_max=7)) == f"{other}bounds.records_max is 2 there and 7 here"
    assert (
        refusal(folder, system("kip-320-first-try"))
        == f"{other}protocol.variant is kip-320 there and kip-320-first-try here"
    )
    assert (
        refusal(folder, system(check=("weak_isr",)))
        == f"{other}the property strong_isr is there only; the property weak_isr is here only"
    )
    assert f"{other}the option symmetry is on, 6 permutations there and off here" in refusal(folder, symmetry=False)
    assert refusal(folder, check_deadlock=True) == f"{other}the option check_deadlock is False there and True here"


def test_a_checkpoint_is_refused_after_the_models_code_has_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + (b"#" if path.name == "fenced.py" else b""))
    monkeypatch.setattr(sources, "_known", {})  # by size and time no file has changed
    assert "another search: the module highwater.model.reference.fenced differs" in refusal(folder)


def test_a_checkpoint_is_not_overwritten(folder: Path) -> None:
    assert "holds a checkpoint already" in refusal(folder, resume=False)


def test_resume_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    assert "holds no checkpoint" in refusal(tmp_path)
    assert "holds no checkpoint" in refusal(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_made_is_refused_before_the_search(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refusal(tmp_path / "file" / "folder", resume=False)


def test_a_checkpoint_that_the_budget_has_no_room_for_is_refused(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="for which the budget has no room"):
        breadth_first.explore(system(), Budget(max_states=10), SearchOptions(checkpoint=folder, resume=True))


def test_the_fingerprint_leaves_out_modules_the_model_does_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = tmp_path / "alone.py"
    alone.write_text("", encoding="utf-8")
    module = types.ModuleType("model.alone")
    module.__file__ = str(alone)
    layout = Layout(system().domain)
    before = fingerprint(system(), layout, 1, {})
    monkeypatch.setitem(sys.modules, "model.alone", module)
    assert fingerprint(system(), layout, 1, {}) == before


# --- Inside levels


class Stopwatch:
    """Interrupts a search at one of its reports."""

    def __init__(self, reports: int) -> None:
        self.left = reports

    def __call__(self, progress: Progress) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny batches, tables and blocks, and a report every few rows, so that searches stop at every kind of place within
    levels.
    """
    for module, name, value in (
        (scratch, "BATCH", 4),
        (store, "FIRST_TABLE", 16),
        (store, "RESERVED_ROWS", 4),
        (expansion, "RESERVED_ROWS", 4),
        (engine, "ROWS_WORTH_A_SECOND_THREAD", 2),
        (progress, "ROWS_BETWEEN_REPORTS", 30),
        (progress.Pace, "adapt", lambda self: None),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(("workers", "then", "symmetry"), [(1, 1, False), (2, 1, True), (1, 2, True), (3, 2, False)])
@pytest.mark.parametrize("variant", [pytest.param("kip-320", marks=pytest.mark.slow), "kip-101"])
def test_a_search_interrupted_inside_levels_goes_on_from_there(
    tmp_path: Path, variant: str, workers: int, then: int, symmetry: bool
) -> None:
    """Whatever the numbers of threads, and however often: the counts and the trace are those of one run."""
    explored = system(variant)
    expected, inside = breadth_first.explore(explored, options=SearchOptions(symmetry=symmetry)), 0
    for run, reports in enumerate((23, 1, 8, 15, 40)):
        how = {"workers": workers if run % 2 == 0 else then, "symmetry": symmetry, "resume": run > 0}
        outcome = breadth_first.explore(
            explored, options=SearchOptions(checkpoint=tmp_path, on_progress=Stopwatch(reports), **how)
        )
        if outcome.reason != "interrupted":
            break
        inside += manifest(tmp_path)["snapshot"]["inside"] is not None
        assert outcome.restored <= outcome.distinct_states
    assert inside >= 2
    assert comparable(
        breadth_first.explore(
            explored, options=SearchOptions(checkpoint=tmp_path, resume=True, workers=then, symmetry=symmetry)
        )
    ) == comparable(expected)


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / MANIFEST).read_text())["data"]


@pytest.mark.slow
@pytest.mark.usefixtures("restless", "eager")
def test_a_level_that_takes_long_is_written_while_it_is_expanded(tmp_path: Path) -> None:
    """As after a kill: the folder is copied while the search runs."""
    copies: list[Path] = []
    reports: list[Progress] = []

    def copy(progress: Progress) -> None:
        reports.append(progress)
        if not progress.level_ended and len(reports) % 25 == 0 and len(copies) < 8:
            shutil.copytree(tmp_path / "kept", tmp_path / f"copy{len(copies)}")
            copies.append(tmp_path / f"copy{len(copies)}")

    expected = breadth_first.explore(
        system(), options=SearchOptions(checkpoint=tmp_path / "kept", workers=2, on_progress=copy)
    )
    assert len(copies) > 4
    for each in copies:
        assert manifest(each)["snapshot"]["inside"]["rows"] > manifest(each)["snapshot"]["level_ends"][-1]
        assert comparable(
            breadth_first.explore(system(), options=SearchOptions(checkpoint=each, resume=True))
        ) == comparable(expected)


@pytest.mark.usefixtures("restless")
def test_a_search_that_is_to_go_no_deeper_counts_whole_levels_only(tmp_path: Path) -> None:
    breadth_first.explore(system(), options=SearchOptions(checkpoint=tmp_path, on_progress=Stopwatch(40)))
    snapshot = manifest(tmp_path)["snapshot"]
    assert snapshot["inside"] is not None
    depth = len(snapshot["level_ends"]) - 2
    cut = breadth_first.explore(system(), Budget(max_depth=depth), SearchOptions(checkpoint=tmp_path, resume=True))
    assert comparable(cut) == comparable(breadth_first.explore(system(), Budget(max_depth=depth)))
    assert comparable(
        breadth_first.explore(system(), options=SearchOptions(checkpoint=tmp_path, resume=True))
    ) == comparable(breadth_first.explore(system()))


@pytest.mark.usefixtures("restless", "eager")
def test_a_broken_step_that_was_seen_before_the_interrupt_is_reported_after_it(tmp_path: Path) -> None:
    @step_property()
    def nobody_writes_twice(before: Any, after: Any) -> bool:
        return after.next_record_id <= 1

    broken = attrs.evolve(system(), step_properties=tuple(nobody_writes_twice.instances(None)))
    expected = breadth_first.explore(broken)
    assert expected.verdict is Verdict.VIOLATED
    for reports in range(2, 40, 3):
        folder = tmp_path / str(reports)
        outcome = breadth_first.explore(
            broken, options=SearchOptions(checkpoint=folder, on_progress=Stopwatch(reports))
        )
        if outcome.reason == "interrupted":
            assert comparable(
                breadth_first.explore(broken, options=SearchOptions(checkpoint=folder, resume=True))
            ) == comparable(expected)


@attrs.frozen
class Lane:
    """Every number is a path of its own, which no other state shows."""

    number: int = within(Integers(0, 400))
    settled: bool = within(BOOLEAN)


@action(actor="lane")
def settle(lane: Lane) -> Lane | None:
    return None if lane.number == 3 and not lane.settled else attrs.evolve(lane, settled=True)


@action(actor="lane")
def settle_all(lane: Lane) -> Lane | None:
    return attrs.evolve(lane, settled=lane.number >= 0)


@step_property()
def the_third_does_not_settle(before: Lane, after: Lane) -> bool:
    return before.settled or before.number != 3


@step_property()
def numbers_stay(before: Lane, after: Lane) -> bool:
    return before.number == after.number


@pytest.mark.usefixtures("restless", "eager")
@pytest.mark.parametrize("which", ["a state at rest", "a broken step", "the second of two"])
def test_a_resumed_search_reports_violations_found_before_the_interrupt(tmp_path: Path, which: str) -> None:
    """Its paths were learned by the first search, and occur in no state that is left."""
    at_rest = which == "a state at rest"
    properties = [] if at_rest else [the_third_does_not_settle]
    properties = [numbers_stay, *properties] if which == "the second of two" else properties
    lanes = System(
        domain_of(Lane, None),
        tuple(Lane(number, False) for number in range(401)),
        tuple((settle if at_rest else settle_all).instances(None)),
        step_properties=tuple(instance for each in properties for instance in each.instances(None)),
    )
    expected = breadth_first.explore(lanes, check_deadlock=at_rest)
    assert expected.verdict is Verdict.VIOLATED
    options = SearchOptions(on_progress=Stopwatch(5), checkpoint=tmp_path, workers=1)
    assert breadth_first.explore(lanes, options=options, check_deadlock=at_rest).reason == "interrupted"
    assert manifest(tmp_path)["snapshot"]["inside"]["rows"] > 401
    options = SearchOptions(resume=True, checkpoint=tmp_path, workers=1)
    assert comparable(breadth_first.explore(lanes, options=options, check_deadlock=at_rest)) == comparable(expected)


# --- One writer


HOLD = """
import sys, time
from pathlib import Path
from highwater.explorer.search.keeping.durable import Lock
lock = Lock(Path(sys.argv[1]))
print("begin", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that writes to the folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        yield process
        process.kill()


@pytest.mark.parametrize("resume", [False, True])
def test_a_second_search_is_refused_with_who_writes_there(
    tmp_path: Path, holder: subprocess.Popen[str], resume: bool
) -> None:
    (tmp_path / MANIFEST).write_text("{}")
    said = refusal(tmp_path, resume=resume)
    assert f"{tmp_path}: is in use by process {holder.pid} on {os.uname().nodename} since 20" in said


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    assert (tmp_path / LOCK).exists()
    breadth_first.explore(system(), Budget(max_depth=2), SearchOptions(checkpoint=tmp_path))
    assert not (tmp_path / LOCK).exists()


def test_a_search_holds_its_folder_and_gives_it_back(tmp_path: Path) -> None:
    said = []

    def second(progress: Progress) -> None:
        if progress.depth == 3 and not said:
            said.append(refusal(tmp_path, resume=False))

    breadth_first.explore(system(), Budget(max_depth=5), SearchOptions(checkpoint=tmp_path, on_progress=second))
    assert f"is in use by process {os.getpid()} on" in said[0]
    assert not (tmp_path / LOCK).exists()
    assert (
        breadth_first.explore(system(), options=SearchOptions(checkpoint=tmp_path, resume=True)).verdict
        is Verdict.HOLDS
    )


def test_a_search_that_is_refused_gives_the_folder_back(folder: Path) -> None:
    refusal(folder, system("kip-101"))
    refusal(folder, resume=False)
    assert not (folder / LOCK).exists()
    assert (
        breadth_first.explore(system(), options=SearchOptions(checkpoint=folder, resume=True)).verdict is Verdict.HOLDS
    )


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.ENOTSUP])
def test_without_file_locks_the_lock_file_names_the_writing_process(
    tmp_path: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def has_none(*arguments: Any) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr("fcntl.flock", has_none)
    assert f"process {holder.pid} on" in refusal(tmp_path, resume=False)
    holder.kill()
    holder.wait()
    breadth_first.explore(system(), Budget(max_depth=2), SearchOptions(checkpoint=tmp_path))


def test_a_process_id_that_is_used_again_is_another_process() -> None:
    me = Holder.this_process()
    assert not me.is_dead
    assert attrs.evolve(me, started="1").is_dead
    assert attrs.evolve(me, pid=2**22 + 1).is_dead
    assert not attrs.evolve(me, started="1", place="elsewhere").is_dead


# --- What is left


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_search_of_a_moment_leaves_a_snapshot(tmp_path: Path) -> None:
    """Also one that has seen every state, and one that found a violation, from which the other properties can
    be asked.
    """
    for variant in ("kip-320", "kip-101"):
        explored, folder = system(variant), tmp_path / variant
        expected = breadth_first.explore(explored, options=SearchOptions(checkpoint=folder))
        assert MANIFEST in names(folder)
        assert comparable(
            breadth_first.explore(explored, options=SearchOptions(checkpoint=folder, resume=True))
        ) == comparable(expected)


def test_files_left_by_a_killed_process_are_removed(folder: Path) -> None:
    before = names(folder)
    for name in ("manifest.json.0123456789ab.tmp", "rows-000000000000-000000000009.bin", "rows-1.bin.tmp"):
        (folder / name).write_text("")
    breadth_first.explore(system(), Budget(max_depth=8), SearchOptions(checkpoint=folder, resume=True))
    assert names(folder) == before


def test_a_search_that_went_deeper_is_not_taken_for_one_to_a_lesser_depth(tmp_path: Path) -> None:
    breadth_first.explore(system(), Budget(max_depth=4), SearchOptions(checkpoint=tmp_path))
    with pytest.raises(CheckpointError, match="the checkpoint is of depth 4, more than max_depth 3: raise that"):
        breadth_first.explore(system(), Budget(max_depth=3), SearchOptions(checkpoint=tmp_path, resume=True))
    for depth in (4, 5):
        found = breadth_first.explore(
            system(), Budget(max_depth=depth), SearchOptions(checkpoint=tmp_path, resume=True)
        )
        assert comparable(found) == comparable(breadth_first.explore(system(), Budget(max_depth=depth)))
