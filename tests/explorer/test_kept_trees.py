"""Trees that one search keeps for the next: the same answer without learning, and never the trees of another model."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from highwater.claims.spec import load_spec
from highwater.explorer import kept_files, sources
from highwater.explorer.blame import Contradiction, ModelError
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.storing import as_bytes, from_bytes
from highwater.explorer.memory import process_memory
from highwater.explorer.search.keeping import fingerprint, kept_trees, tree_files, tree_names
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.states import store
from highwater.explorer.search.states.store import Store
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, Outcome, SearchOptions
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import Integers, SequenceOf, SetOf
from highwater.model.language.records import domain_of, within
from tests.outcomes import timeless

SPECS = Path(__file__).parents[2] / "specs"
CLAIMS = [
    "truncation/kip_101_fails_on_two_brokers.toml",  # violated
    "fencing/kip_320_keeps_committed_records_on_two_brokers.toml",
    "partition/truncation/a_late_response_is_dropped.toml",  # a step property
    "partition/liveness/a_partition_settles_after_a_crash_a_move_and_a_shutdown.toml",
    "controller/reassignment/narrowing_the_assignment_first_leaves_an_old_leader.toml",
    "kraft/the_isr_holds_no_fenced_broker_after_any_number_of_elections.toml",  # up to the order of epochs
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where trees are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "highwater"


def found(name: str) -> System:
    (path,) = (SPECS / name).parent.glob(Path(name).stem[:40] + "*.toml")
    return load_spec(path).system()


def trees(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("trees-*/*") if not path.name.startswith("slots-"))


def explored(system: System, budget: Budget | None = None, **options: Any) -> Outcome:
    return breadth_first.explore(system, budget or Budget(), SearchOptions(keep_trees=True, **options))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "symmetry"), [*((name, True) for name in CLAIMS), (CLAIMS[2], False)])
def test_a_search_with_kept_trees_has_the_same_outcome_and_learns_nothing(
    name: str, symmetry: bool, learned: list[str]
) -> None:
    system = found(name)
    without = breadth_first.explore(system, options=SearchOptions(symmetry=symmetry))
    first = explored(system, symmetry=symmetry)
    assert learned
    learned.clear()
    again = explored(system, symmetry=symmetry)
    assert learned == []
    assert timeless(without) == timeless(first) == timeless(again)


def test_coverage_is_of_this_search_alone(learned: list[str]) -> None:
    """The trees of actions are shared with claims of the same bounds, which may see more before a violation."""
    folder = SPECS / "partition" / "durability"
    whole, part = (
        load_spec(folder / f"{name}.toml").system()
        for name in (
            "the_last_known_leader_is_elected_once_it_is_active",
            "the_last_known_leader_is_elected_without_what_it_lost",
        )
    )
    explored(whole)
    without = breadth_first.explore(part, options=SearchOptions(coverage=True))
    assert timeless(explored(part, coverage=True)) == timeless(without)
    learned.clear()
    explored(part)
    actions = {str(action) for action in part.actions}
    assert actions.isdisjoint(learned), "the claims share no trees, and show nothing"


def test_trees_are_kept_only_where_that_was_asked_for(folder: Path) -> None:
    breadth_first.explore(found(CLAIMS[0]))
    assert not folder.exists()


def test_filters_and_wide_nodes_are_kept(monkeypatch: pytest.MonkeyPatch, learned: list[str]) -> None:
    monkeypatch.setattr("highwater.explorer.search.engine.engine.ROWS_WORTH_A_FILTER", 1 << 9)
    system = found(CLAIMS[2])
    first = explored(system)
    learned.clear()
    monkeypatch.setattr(
        "highwater.explorer.search.engine.engine.filter_of", lambda program, sample=(): pytest.fail("chosen again")
    )
    monkeypatch.setattr(kept_trees.Engine, "__init__", _with_filters_that_are_empty(kept_trees.Engine.__init__))
    assert timeless(explored(system)) == timeless(first)


def test_filters_that_a_search_chose_which_learned_no_path_are_kept(
    monkeypatch: pytest.MonkeyPatch, learned: list[str]
) -> None:
    monkeypatch.setattr("highwater.explorer.search.engine.engine.ROWS_WORTH_A_FILTER", 1 << 9)
    system = found(CLAIMS[2])
    with monkeypatch.context() as chosen_never:
        chosen_never.setattr(kept_trees.Engine, "renew_filters", lambda engine: None)
        first = explored(system)
    learned.clear()
    explored(system)
    assert learned == []
    monkeypatch.setattr(
        "highwater.explorer.search.engine.engine.widened", lambda program, states: pytest.fail("chosen again")
    )
    assert timeless(explored(system)) == timeless(first)


@pytest.fixture
def made_anew(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows there were each time the visited set was made. It begins small, and every size is kept."""
    rows: list[int] = []
    grow = Store.grow_table

    def noted(store: Store) -> None:
        rows.append(store.count)
        grow(store)

    monkeypatch.setattr(Store, "grow_table", noted)
    monkeypatch.setattr(store, "FIRST_TABLE", 64)
    monkeypatch.setattr(kept_trees, "SLOTS_WORTH_KEEPING", 1)
    return rows


def test_the_visited_set_begins_as_large_as_it_became(made_anew: list[int], folder: Path) -> None:
    system = found(CLAIMS[2])
    first = explored(system)
    assert len(made_anew) > 3
    made_anew.clear()
    again = explored(system)
    assert made_anew == [1]
    assert timeless(again) == timeless(first)
    assert again.memory == first.memory
    explored(system, budget=Budget(max_depth=2))
    made_anew.clear()
    explored(system)
    assert made_anew == [1], "a search that ends early does not count"


@pytest.mark.parametrize("said", ["1", "1 1", "-1 -1", "1000000000000000000 1000000000000000000", "1 many", ""])
def test_a_wrong_size_changes_nothing_else(made_anew: list[int], folder: Path, said: str) -> None:
    system = found(CLAIMS[2])
    first = explored(system)
    (file,) = folder.glob("trees-*/slots-*")
    kept_files.write(file.parent, file.name, said.encode())
    assert timeless(explored(system)) == timeless(first)


def test_a_budget_that_is_short_of_room_begins_with_a_small_visited_set() -> None:
    layout = Layout(found(CLAIMS[0]).domain)
    full = Store(layout, Budget(memory=process_memory() + (4 << 20)), None)
    full.expect(1 << 19)
    full.add_initial([])
    assert len(full.table) == store.FIRST_TABLE
    full = Store(layout, Budget(), None)
    full.expect(1 << 19)
    full.add_initial([])
    assert len(full.table) == 1 << 19


def _with_filters_that_are_empty(begin: Callable[..., None]) -> Callable[..., None]:
    from highwater.explorer.compiler.prefilter import filter_of

    def begins(engine: Any, *arguments: Any, **options: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("highwater.explorer.search.engine.engine.filter_of", filter_of)
            begin(engine, *arguments, **options)

    return begins


def test_a_search_that_goes_further_learns_the_rest_and_keeps_it(learned: list[str]) -> None:
    system = found(CLAIMS[2])
    explored(system, budget=Budget(max_depth=5))
    part = len(learned)
    learned.clear()
    whole = explored(system)
    assert 0 < len(learned) < whole.compiled_paths
    assert part + len(learned) == whole.compiled_paths
    learned.clear()
    assert timeless(explored(system)) == timeless(whole)
    assert learned == []


def test_claims_with_different_properties_share_the_trees_of_actions(learned: list[str]) -> None:
    system = found(CLAIMS[2])
    names = {str(action) for action in system.actions}
    explored(attrs.evolve(system, invariants=system.invariants[:1], step_properties=()))
    assert names & set(learned)
    learned.clear()
    explored(attrs.evolve(system, invariants=system.invariants[1:], step_properties=()))
    assert not names & set(learned)


@pytest.mark.parametrize(
    "change",
    [
        {"bounds": {"leader_epoch_max": 1}},
        {"protocol": {"variant": "kip-279"}},
    ],
)
def test_another_protocol_and_other_bounds_have_trees_of_their_own(
    change: dict[str, Any], learned: list[str], write_keys: Callable[..., System]
) -> None:
    explored(write_keys())
    learned.clear()
    other = write_keys(**change)
    assert timeless(explored(other)) == timeless(breadth_first.explore(other))
    assert learned


@pytest.fixture
def write_keys() -> Callable[..., System]:
    from highwater import api

    def made(**changes: dict[str, Any]) -> System:
        keys: dict[str, Any] = {
            "protocol": {"variant": "kip-320"},
            "bounds": {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2},
        }
        for key, change in changes.items():
            keys[key] = keys[key] | change
        return api.claim(model="reference", check=["weak_isr"], **keys).system()

    return made


# The model's code


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., System]:
    """Writes a model, loads it, and makes a system of it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.setattr(sources, "BEGAN", float("inf"))  # as if what is written here had been there
    helper, own = tmp_path / "steps_of_counters.py", tmp_path / "model_of_counters.py"

    def made(step: int = 1, limit: int = 99) -> System:
        helper.write_text(f"def ahead(number):\n    return number + {step}\n", encoding="utf-8")
        own.write_text(_COUNTERS.format(limit=limit), encoding="utf-8")
        importlib.invalidate_caches()
        for name in (helper.stem, own.stem):
            monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(own.stem).system()

    return made


_COUNTERS = """
import attrs
from highwater.explorer.system import System
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import Integers, SequenceOf, SetOf
from highwater.model.language.records import domain_of, within
from highwater.model.language.domain import Integers
from highwater.model.language.records import domain_of, within
from steps_of_counters import ahead


@attrs.frozen
class Counter:
    number: int = within(Integers(0, 20))


@action(actor="counter")
def count(counter: Counter) -> Counter | None:
    return Counter(ahead(counter.number)) if counter.number < 6 else None


@invariant()
def small(counter: Counter) -> bool:
    return counter.number < {limit}


def system() -> System:
    return System(
        domain_of(Counter, None), (Counter(0),), tuple(count.instances(None)), tuple(small.instances(None))
    )
"""


def test_a_change_of_a_function_that_the_model_calls_is_noticed(model: Callable[..., System]) -> None:
    assert explored(model(step=1)).distinct_states == 7
    assert explored(model(step=2)).distinct_states == 4


def test_a_change_of_a_property_is_noticed(model: Callable[..., System], learned: list[str]) -> None:
    assert not explored(model(limit=99)).violations
    learned.clear()
    assert explored(model(limit=3)).violations
    assert "small()" in learned


def test_a_function_that_was_replaced_in_memory_is_noticed(
    model: Callable[..., System], monkeypatch: pytest.MonkeyPatch
) -> None:
    explored(model())
    system = model()
    monkeypatch.setattr("model_of_counters.ahead", lambda number: number + 3)
    assert explored(system).distinct_states == 3


def test_code_that_was_loaded_before_its_file_changed_keeps_nothing_for_the_changed_file(
    model: Callable[..., System], tmp_path: Path
) -> None:
    old = model(step=1)
    (tmp_path / "steps_of_counters.py").write_text("def ahead(number):\n    return number + 2\n", encoding="utf-8")
    assert explored(old).distinct_states == 7
    assert explored(model(step=2)).distinct_states == 4


@pytest.mark.parametrize("noted", [False, True])
def test_a_module_that_may_have_changed_since_its_import_keeps_no_trees(
    model: Callable[..., System], tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, noted: bool
) -> None:
    """Noted, it was written since; otherwise it is younger than the process. What differs is not looked at."""
    monkeypatch.undo()
    monkeypatch.setattr(sources, "_imported_from", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent))
    monkeypatch.syspath_prepend(tmp_path)
    model()
    for name in ("steps_of_counters", "model_of_counters"):
        monkeypatch.delitem(sys.modules, name)
    time.sleep(2 * sources.CLOCK_STEP)
    with sources.noted() if noted else nullcontext():
        old = importlib.import_module("model_of_counters").system()
    if noted:
        explored(old)
        assert len(trees(folder)) == 2
        (tmp_path / "model_of_counters.py").write_text(_COUNTERS.format(limit="98"), encoding="utf-8")
    before = trees(folder)
    explored(old, workers=1)
    assert trees(folder) == before
    for resume in (False, True, True):
        options = SearchOptions(checkpoint=tmp_path / "snapshots", resume=resume)
        assert breadth_first.explore(old, options=options).distinct_states == 7
    said = (tmp_path / "snapshots" / "manifest.json").read_text(encoding="utf-8")
    assert f"written after process {os.getpid()} had imported it" in said


@invariant()
def not_negative(counter: Any) -> bool:
    return counter.number >= 0


@pytest.mark.usefixtures("first_try")
def test_properties_in_another_order_have_trees_of_their_own(
    model: Callable[..., System], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trees are kept by the numbers of properties. No sample is to help here."""
    monkeypatch.setattr(kept_trees, "SAMPLE", 0)
    system = model(limit=3)
    both = (*system.invariants, *not_negative.instances(None))
    for invariants in (both, both[::-1]):
        changed = attrs.evolve(system, invariants=invariants)
        assert timeless(explored(changed)) == timeless(breadth_first.explore(changed))


@pytest.mark.parametrize("becomes", [None, "def ("])
def test_code_whose_file_was_removed_or_spoiled_since_it_was_loaded_keeps_nothing(
    model: Callable[..., System], tmp_path: Path, folder: Path, becomes: str | None
) -> None:
    old, file = model(), tmp_path / "steps_of_counters.py"
    file.unlink() if becomes is None else file.write_text(becomes, encoding="utf-8")
    assert explored(old).distinct_states == 7
    assert trees(folder) == []
    with pytest.raises(ModelError, match=f"^{file}: the module steps_of_counters is of this file, which "):
        breadth_first.explore(old, options=SearchOptions(checkpoint=tmp_path / "snapshots"))


def test_functions_without_a_source_file_keep_nothing(folder: Path, model: Callable[..., System]) -> None:
    """What such a function calls is not known."""
    system = model()
    names: dict[str, Any] = {"__name__": "nowhere"}
    exec("def stop(counter):\n    return None", names)
    stop = action(actor="nobody")(names["stop"])
    explored(attrs.evolve(system, actions=(*system.actions, *stop.instances(None))))
    assert trees(folder) == []


def test_trees_are_used_where_their_files_cannot_be_marked_as_used(
    learned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as in a cache that is mounted to be read only."""
    system = found(CLAIMS[1])
    first = explored(system)
    learned.clear()

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("os.utime", refused)
    assert timeless(explored(system)) == timeless(first)
    assert learned == []


# What came with Highwater


@pytest.fixture
def bring(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """Lets all that is kept have come with Highwater."""

    def brought() -> Path:
        (kept,) = folder.glob("trees-*")
        kept.rename(tmp_path / "brought")
        monkeypatch.setattr(tree_files, "BROUGHT", tmp_path / "brought")
        return tmp_path / "brought"

    return brought


def test_trees_that_came_along_serve_as_ones_own(
    bring: Callable[[], Path], folder: Path, learned: list[str], made_anew: list[int]
) -> None:
    system = found(CLAIMS[2])
    first = explored(system)
    assert len(made_anew) > 1
    before = {file.name: file.read_bytes() for file in bring().iterdir()}
    learned.clear()
    made_anew.clear()
    assert timeless(explored(system)) == timeless(first)
    assert learned == []
    assert made_anew == [1]
    assert list(folder.glob("trees-*/*")) == [], "nothing new was learned"
    assert {file.name: file.read_bytes() for file in tree_files.BROUGHT.iterdir()} == before


@pytest.mark.parametrize("are_brought", [True, False])
def test_highwater_in_an_archive_reads_its_shipped_trees(
    are_brought: bool,
    bring: Callable[[], Path],
    learned: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_keys: Callable[..., System],
) -> None:
    """So executors get it: without the folder, or with it."""
    system = write_keys()
    first, folder = explored(system), bring()
    with zipfile.ZipFile(tmp_path / "highwater.zip", "w") as archive:
        archive.writestr("highwater/explorer/search/__init__.py", "")
        for file in folder.iterdir() if are_brought else ():
            archive.write(file, f"highwater/explorer/search/trees/{file.name}")
    brought = zipfile.Path(tmp_path / "highwater.zip", "highwater/explorer/search/") / "trees"
    monkeypatch.setattr(tree_files, "BROUGHT", brought)
    engine = kept_trees.Engine(write_keys(protocol={"variant": "kip-279"}), None, 8, 1, symmetry=True)
    kept_trees.KeptTrees(engine, 8).load()
    assert len(engine.actions.lenders) == are_brought
    learned.clear()
    assert timeless(explored(system)) == timeless(first)
    assert bool(learned) is not are_brought


def test_paths_learned_beyond_the_shipped_trees_are_kept(
    bring: Callable[[], Path], folder: Path, learned: list[str]
) -> None:
    system = found(CLAIMS[2])
    explored(system, budget=Budget(max_depth=3))
    bring()
    first = explored(system)
    assert learned
    learned.clear()
    assert timeless(explored(system)) == timeless(first)
    assert learned == []
    assert len(trees(folder)) == 2


def test_trees_that_came_along_lend_paths(bring: Callable[[], Path], write_keys: Callable[..., System]) -> None:
    explored(write_keys())
    bring()
    engine = kept_trees.Engine(write_keys(protocol={"variant": "kip-279"}), None, 8, 1, symmetry=True)
    kept_trees.KeptTrees(engine, 8).load()
    assert len(engine.actions.lenders) == 1


@pytest.mark.parametrize("harm", ["cut", "another", "gone"])
def test_damaged_shipped_trees_are_learned_anew(harm: str, bring: Callable[[], Path], learned: list[str]) -> None:
    system = found(CLAIMS[1])
    first = explored(system)
    for file in (folder := bring()).iterdir():
        data = file.read_bytes()
        file.write_bytes({"cut": data[:-1], "another": data[:-1] + bytes([data[-1] ^ 1]), "gone": b""}[harm])
    if harm == "gone":
        folder.rename(folder.with_name("elsewhere"))
    for _ in range(2):
        learned.clear()
        assert timeless(explored(system)) == timeless(first)
    assert learned == [], "the user's own comes first"


def test_trees_that_came_along_are_held_against_plain_python(bring: Callable[[], Path], learned: list[str]) -> None:
    system = found(CLAIMS[1])
    first = explored(system)
    for file in bring().glob("actions-*"):
        arrays = from_bytes(kept_files.body_of(file.read_bytes(), file.name))
        ends = (arrays["0.branches"] < 1 << 63) & (arrays["0.branches"] > 2)
        arrays["0.branches"][ends] = 1  # nothing is ever enabled
        kept_files.write(file.parent, file.name, as_bytes(arrays))
    learned.clear()
    assert timeless(explored(system)) == timeless(first)
    assert learned


@pytest.mark.parametrize("of_the_same_place", [False, True])
def test_shipped_trees_do_not_serve_a_function_replaced_in_memory(
    bring: Callable[[], Path], model: Callable[..., System], monkeypatch: pytest.MonkeyPatch, of_the_same_place: bool
) -> None:
    """No sample is to help here."""
    monkeypatch.setattr(kept_trees, "SAMPLE", 0)
    explored(model())
    bring()
    system, names = model(), {"__name__": "steps_of_counters"}
    exec("def ahead(number):\n    return number + 3\n", names)
    ahead = names["ahead"] if of_the_same_place else lambda number: number + 3
    for module in ("model_of_counters", "steps_of_counters"):
        monkeypatch.setattr(f"{module}.ahead", ahead)
    assert explored(system).distinct_states == 3


VERSIONS = {"python": "3.99", "attrs": "99.1"}


@pytest.mark.parametrize(
    ("others", "same_names", "same_folder"),
    [
        pytest.param({}, True, True, id="as it is"),
        pytest.param(VERSIONS, True, False, id="of Python and attrs"),
        pytest.param({"sortedcontainers": "2.4"}, False, True, id="of what the model uses besides"),
    ],
)
def test_tree_names_do_not_depend_on_versions_of_highwaters_libraries(
    others: dict[str, str], same_names: bool, same_folder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that what came along serves them all. The user's own trees are in a folder for each."""
    engine = kept_trees.Engine(found(CLAIMS[2]), None, 8, 1, symmetry=True)
    here = tree_names.names_of(engine, 8)
    sources_of = fingerprint.sources_of
    monkeypatch.setattr(
        fingerprint,
        "sources_of",
        lambda modules: attrs.evolve(known := sources_of(modules), distributions=known.distributions | others),
    )
    there = tree_names.names_of(engine, 8)
    assert here is not None and there is not None
    parts = ("actions", "properties", "family")
    assert {getattr(here, part) == getattr(there, part) for part in parts} == {same_names}
    folders = {tree_files.TreeFiles(names.versions).folder for names in (here, there)}
    assert len(folders) == (1 if same_folder else 2)


def test_names_are_the_same_after_functions_ran(model: Callable[..., System]) -> None:
    """Python changes code that runs often."""
    system = model()
    engine = kept_trees.Engine(system, None, 8, 1, symmetry=True)
    before = tree_names.names_of(engine, 8)
    for _ in range(2000):
        for each in system.actions:
            each.apply(system.initial[0])
    assert tree_names.names_of(engine, 8) == before


# What is kept is wrong


def test_damage_is_noticed_and_the_rest_is_learned_anew(folder: Path, learned: list[str]) -> None:
    system = found(CLAIMS[1])
    first = explored(system)
    for path in trees(folder):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    learned.clear()
    assert timeless(explored(system)) == timeless(first)
    assert learned
    learned.clear()
    explored(system)
    assert learned == []  # it was written again


@pytest.mark.parametrize("change", ["branches", "learned", "states", "chunks", "effects.means", "missing", "truncated"])
def test_trees_that_were_tampered_with_are_forgotten_or_mean_the_same(
    change: str, folder: Path, learned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a checksum that fits. Every path is in the sample here."""
    monkeypatch.setattr(kept_trees, "SAMPLE", 10**6)
    system = found(CLAIMS[1])
    first = explored(system)
    for path in trees(folder):
        _tamper(path, change)
    assert timeless(explored(system)) == timeless(first)


def _tamper(path: Path, change: str) -> None:
    arrays = from_bytes(kept_files.read(path.parent, path.name))
    for key in list(arrays):
        if key.endswith(change) and change == "branches":
            ends = arrays[key] < 1 << 63
            arrays[key][ends] = np.where(arrays[key][ends] == 1, 3, 1)
        elif key.endswith(change):
            arrays[key] = arrays[key][:-1] if change != "states" else arrays[key] ^ np.uint64(1)
    if change == "missing":
        arrays.popitem()
    kept_files.write(path.parent, path.name, as_bytes(arrays)[: -100 if change == "truncated" else None])


@pytest.mark.parametrize(
    "inside",
    [
        b"", b"7\n", b"[7]", b'[["a", "<u8", [2]]]\n123', b'[["a", "O", [1]]]\n12345678',
        b'[["a", "none", [1]]]\n12345678', b'[["a", "<u8", ["1"]]]\n12345678', b'[["a", "<u8", [-1]]]\n12345678123',
    ],
)  # fmt: skip
def test_bytes_that_hold_no_arrays_are_refused(inside: bytes) -> None:
    for data in (inside, zlib.compress(inside)):
        with pytest.raises(ValueError):
            from_bytes(data)


def test_arrays_are_the_same_as_bytes() -> None:
    arrays = {
        "none": np.zeros((0, 3), np.int64), "one": np.array(7), "texts": np.array(["ab", "c"]),
        "turned": np.arange(6, dtype=np.uint32).reshape(2, 3).T, "last": np.array([2**64 - 1], np.uint64),
    }  # fmt: skip
    found = from_bytes(as_bytes(arrays))
    assert [(name, array.dtype, array.tolist()) for name, array in found.items()] == [
        (name, array.dtype, array.tolist()) for name, array in arrays.items()
    ]


def test_a_sample_finds_trees_that_mean_something_else(folder: Path) -> None:
    """Where all that steps do is gone, any sample does."""
    system = found(CLAIMS[1])
    first = explored(system)
    (path,) = folder.glob("trees-*/actions-*")
    arrays = from_bytes(kept_files.read(path.parent, path.name))
    ends = (arrays["0.branches"] < 1 << 63) & (arrays["0.branches"] > 2)
    arrays["0.branches"][ends] = 1  # nothing is ever enabled
    kept_files.write(path.parent, path.name, as_bytes(arrays))
    verified = [timeless(explored(system)) == timeless(first) for _ in range(2)]
    assert verified == [True, True]


@pytest.mark.parametrize("error", [Contradiction("a step"), ModelError("a step")])
def test_a_contradiction_after_the_sample_restarts_the_search(
    error: Exception, model: Callable[..., System], learned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = model()
    first, judge, to_come = explored(system), breadth_first.violations_in, [error]

    def contradicted(*given: Any) -> Any:
        if to_come:
            raise to_come.pop()
        return judge(*given)

    monkeypatch.setattr(breadth_first, "violations_in", contradicted)
    learned.clear()
    assert timeless(explored(system)) == timeless(first)
    assert learned
    to_come.append(error)
    with pytest.raises(type(error)):
        breadth_first.explore(system)


def test_with_trees_that_are_forgotten_their_filters_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highwater.explorer.search.engine.engine.ROWS_WORTH_A_FILTER", 1 << 9)
    system = found(CLAIMS[2])
    explored(system)
    fresh, engine = (kept_trees.Engine(system, Budget(), 8, 1, symmetry=True) for _ in range(2))
    kept = kept_trees.KeptTrees(engine, 8)
    kept.load()
    assert engine.tables(engine.actions)["candidates"].size > fresh.tables(fresh.actions)["candidates"].size
    for which in (kept_trees.ACTIONS, kept_trees.PROPERTIES):
        kept._forget(which)
    for of_one, of_other in zip(fresh.programs, engine.programs, strict=True):
        there, here = fresh.tables(of_one), engine.tables(of_other)
        assert all(np.array_equal(there[name], here[name]) for name in {**there, **here})


def test_trees_that_others_may_have_written_are_not_read(folder: Path, learned: list[str]) -> None:
    explored(found(CLAIMS[1]))
    for path in trees(folder):
        os.chmod(path, 0o666)
    learned.clear()
    explored(found(CLAIMS[1]))
    assert learned


@pytest.mark.parametrize("home", ["relative", "/proc/nowhere"])
def test_searches_run_without_a_writable_folder(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    monkeypatch.setenv("HOME", "relative")  # a user without a home
    assert explored(found(CLAIMS[0])).violations


def test_a_new_folder_survives_older_ones_dated_in_the_future(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"trees-{number}").mkdir()
        os.utime(tmp_path / f"trees-{number}", (2e9 + number, 2e9 + number))
    kept_files.make_folder(tmp_path / "trees-own", "trees", 4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trees-1", "trees-2", "trees-3", "trees-own"]


def test_a_lock_that_cannot_be_made_is_not_waited_for(tmp_path: Path) -> None:
    with kept_files.in_turn(tmp_path / "nowhere" / "lock"):
        assert list(tmp_path.iterdir()) == []


def test_the_least_recently_used_file_is_removed_first(tmp_path: Path) -> None:
    for age, name in enumerate("abcd"):
        (tmp_path / name).write_bytes(b"x" * 10)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    kept_files.forget_files(tmp_path, 25)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@attrs.frozen
class Held:
    number: int = within(Integers(0, 5))


@attrs.frozen
class Holder:
    held: Held = within(Held)
    line: tuple[int, ...] = within(SequenceOf(Integers(0, 1), 2))
    marks: frozenset[int] = within(SetOf(Integers(0, 1)))


HELD = Held(5)
LENGTHS: dict[Any, int] = {}
LEFT: list[Any] = []


def length_of(part: Any) -> int:
    if part not in LENGTHS:
        LENGTHS[part] = len(str(part))
    return LENGTHS[part]


def left(part: Any) -> int:
    LEFT.append(part)
    return 1


@pytest.mark.parametrize(("kept", "warnings"), [(length_of, []), (left, ["not kept: `step` reaches `left`"])])
def test_parts_of_states_in_a_cache_of_a_models_own_are_described_as_what_they_are(
    kept: Callable[[Any], int], warnings: list[str]
) -> None:
    LENGTHS.clear()
    LEFT.clear()

    @action(actor="test")
    def step(state: Holder) -> Holder | None:
        of_all = kept(state.held) + kept(state.line) + kept(state.marks)
        return None if state.held == HELD or not of_all else Holder(Held(state.held.number + 1), (1,), frozenset({1}))

    first = Holder(Held(0), (), frozenset())
    system = System(domain_of(Holder, None), (first,), tuple(step.instances(None)))
    outcomes = [explored(system, workers=1) for _ in range(2)]
    assert [each.distinct_states for each in outcomes] == [6, 6]
    assert [each.partition(", which")[0] for each in outcomes[1].warnings] == warnings
