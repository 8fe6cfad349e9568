"""A search that was killed at any moment goes on from its checkpoint and ends as if nothing had happened."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import attrs
import pytest

from explorer.compiler.layout import Layout
from explorer.search import breadth_first, snapshots
from explorer.search.checkpoint import MANIFEST, CheckpointError
from explorer.search.fingerprint import fingerprint
from explorer.system import System
from explorer.verdict import Budget, Outcome, Progress, Verdict
from highwater.claims.resolving import build_system, resolve_model
from model.catalogue import MODELS
from tests.harm import NO_MANIFEST, kill_until_one_survives, refuse_harmed

BOUNDS = {"brokers": 3, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 1}


def system(variant: str = "kip-320", check: tuple[str, ...] = ("strong_isr",), **bounds: int) -> System:
    protocol, definition, sizes, properties = resolve_model(MODELS["reference"], {"variant": variant}, {**BOUNDS, **bounds}, check)
    return build_system(definition, protocol, sizes, properties)


def told(outcome: Outcome) -> dict[str, Any]:
    return {k: v for k, v in attrs.asdict(outcome, recurse=False).items() if k not in ("seconds", "memory", "compiled_paths")}


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot after every level."""
    monkeypatch.setattr(snapshots, "SECONDS_BETWEEN_SNAPSHOTS", 0.0)


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("variant", ["kip-320", "kip-101"])
def test_a_search_cut_at_a_depth_goes_on_as_if_it_had_not_been(tmp_path: Path, variant: str, workers: int, symmetry: bool) -> None:
    """Also where a violation, and with it a trace through levels of the run before, lies behind the cut."""
    how = {"workers": workers, "symmetry": symmetry}
    explored = system(variant)
    expected = breadth_first.explore(explored, **how)
    cut = breadth_first.explore(explored, Budget(max_depth=7), checkpoint=tmp_path, **how)
    assert cut.verdict is Verdict.HOLDS_TO_DEPTH
    assert told(breadth_first.explore(explored, checkpoint=tmp_path, resume=True, **how)) == told(expected)


@pytest.mark.parametrize("most", [1, 100, 5000])
def test_a_search_that_ran_out_of_states_goes_on_with_more(tmp_path: Path, most: int) -> None:
    breadth_first.explore(system(), Budget(max_states=most), checkpoint=tmp_path)
    assert told(breadth_first.explore(system(), checkpoint=tmp_path, resume=True)) == told(breadth_first.explore(system()))


def test_an_interrupted_search_keeps_its_whole_levels(tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.depth == 9:
            raise KeyboardInterrupt

    outcome = breadth_first.explore(system(), checkpoint=tmp_path, on_progress=interrupt)
    assert outcome.reason == "interrupted"
    kept = json.loads((tmp_path / MANIFEST).read_text())["manifest"]["level_ends"]
    assert len(kept) >= 9
    assert told(breadth_first.explore(system(), checkpoint=tmp_path, resume=True)) == told(breadth_first.explore(system()))


RUN = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from explorer.search import local, snapshots
snapshots.SECONDS_BETWEEN_SNAPSHOTS = 0.0
from test_checkpoint import system, told
folder = Path(sys.argv[1])
from explorer.search.checkpoint import MANIFEST
print("begin", flush=True)
outcome = local.explore(system(leader_epoch_max=2), checkpoint=folder, resume=(folder / MANIFEST).exists(), symmetry=False)
print(outcome.distinct_states, outcome.generated, outcome.depth, outcome.bounds_cut, outcome.stopped_at_bound, outcome.levels, flush=True)
"""


@pytest.mark.slow
def test_a_search_killed_again_and_again_ends_with_the_same_counts(tmp_path: Path) -> None:
    expected = breadth_first.explore(system(leader_epoch_max=2), symmetry=False)  # first, so that machine code is made and kept
    code = RUN.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, str(tmp_path)]
    rest = kill_until_one_survives(command, lambda clock, attempt: clock.uniform(0.1, 0.4) + 0.2 * attempt, attempts=60)
    found = (expected.distinct_states, expected.generated, expected.depth, expected.bounds_cut, expected.stopped_at_bound, expected.levels)
    assert rest == " ".join(map(str, found))


@pytest.fixture
def folder(tmp_path: Path, eager: None) -> Path:
    breadth_first.explore(system(), Budget(max_depth=8), checkpoint=tmp_path)
    return tmp_path


def refusal(folder: Path, explored: System | None = None, **how: Any) -> str:
    with pytest.raises(CheckpointError) as raised:
        breadth_first.explore(explored or system(), checkpoint=folder, **{"resume": True, **how})
    return str(raised.value)


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("rows-*"))


def test_every_level_has_its_part(folder: Path) -> None:
    assert len(parts(folder)) == 9
    assert told(breadth_first.explore(system(), checkpoint=folder, resume=True)) == told(breadth_first.explore(system()))


def test_a_part_that_is_missing_cut_short_or_changed_is_refused(folder: Path) -> None:
    refuse_harmed(parts(folder)[5], lambda: refusal(folder))
    assert breadth_first.explore(system(), checkpoint=folder, resume=True).verdict is Verdict.HOLDS


@pytest.mark.parametrize("text", [*NO_MANIFEST, '{"manifest": {}, "sha256": ""}'])
def test_a_manifest_that_is_damaged_is_refused(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    assert str(folder / MANIFEST) in refusal(folder)
    assert "damaged" in refusal(folder)


def test_a_manifest_with_a_changed_count_is_refused(folder: Path) -> None:
    path = folder / MANIFEST
    whole = json.loads(path.read_text())
    whole["manifest"]["counts"]["generated"] += 1
    path.write_text(json.dumps(whole))
    assert "its checksum does not match" in refusal(folder)


def test_a_checkpoint_of_another_search_is_refused_with_what_differs(folder: Path) -> None:
    other = f"{folder}: is a checkpoint of another search: "
    assert refusal(folder, system(records_max=7)) == f"{other}bounds.records_max is 2 there and 7 here"
    assert refusal(folder, system("kip-320-first-try")) == f"{other}protocol.variant is kip-320 there and kip-320-first-try here"
    assert (
        refusal(folder, system(check=("weak_isr",))) == f"{other}the property strong_isr is there only; the property weak_isr is here only"
    )
    assert f"{other}the option symmetry is on, 6 permutations there and off here" in refusal(folder, symmetry=False)
    assert refusal(folder, check_deadlock=True) == f"{other}the option check_deadlock is False there and True here"


def test_a_checkpoint_is_refused_after_the_models_code_has_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + (b"#" if path.name == "fenced.py" else b""))
    assert "another search: the module model.reference.fenced differs" in refusal(folder)


def test_a_checkpoint_is_not_overwritten(folder: Path) -> None:
    assert "holds a checkpoint already" in refusal(folder, resume=False)


def test_where_there_is_no_checkpoint_there_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    assert "holds no checkpoint" in refusal(tmp_path)
    assert "holds no checkpoint" in refusal(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_made_is_refused_before_the_search(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refusal(tmp_path / "file" / "folder", resume=False)


def test_a_checkpoint_that_the_budget_has_no_room_for_is_refused(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="for which the budget has no room"):
        breadth_first.explore(system(), Budget(max_states=10), checkpoint=folder, resume=True)


def test_what_else_is_imported_is_no_part_of_the_models_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = tmp_path / "alone.py"
    alone.write_text("", encoding="utf-8")
    module = types.ModuleType("model.alone")
    module.__file__ = str(alone)
    layout = Layout(system().domain)
    before = fingerprint(system(), layout, 1, {})
    monkeypatch.setitem(sys.modules, "model.alone", module)
    assert fingerprint(system(), layout, 1, {}) == before
