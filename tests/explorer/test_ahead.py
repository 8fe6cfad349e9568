"""Machine code that is made ahead of time, for processors of a kind, and comes with the distribution."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from highwater.explorer.kernels.making import ahead, code_cache, entry_points, signatures, targets
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.verdict import SearchOptions
from tests.small_models import tiny_system

ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
NEEDED = (
    "states.canonical.orbit_sizes",
    "states.canonical.representative",
    "steps.check.check",
    "steps.check.mark_violating",
    "steps.expand.expand",
    "graphs.reach.mark_predecessors",
    "states.stored.enter_rows",
    "states.stored.find",
)
ENTRY_POINTS = [each for each in vars(entry_points.MachineCode).values() if isinstance(each, entry_points.EntryPoint)]
ROWS = [(name, signatures.KERNELS[name]) for name in NEEDED]
SMALL = [(name, arguments) for name, arguments in ROWS if name == "states.stored.find"]


def brought(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let that folder be what came with the distribution, and nothing else be kept."""
    monkeypatch.setattr(code_cache, "BROUGHT", folder)
    monkeypatch.setattr(code_cache, "folders", list)
    code_cache._brought_targets.cache_clear()
    for each in ENTRY_POINTS:
        monkeypatch.setattr(each, "_loaded", {})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Code for every target that it can be made for here."""
    folder = tmp_path_factory.mktemp("made")
    assert ahead.make(folder, ahead.possible(), SMALL) == len(ahead.possible())
    return folder


@pytest.fixture(autouse=True)
def forgotten() -> Any:
    yield
    code_cache._brought_targets.cache_clear()


needs_target = pytest.mark.skipif(not targets.fitting(), reason="no code is made for such a processor")


@needs_target
@pytest.mark.slow
def test_a_search_with_code_made_ahead_compiles_nothing_and_counts_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tiny_system("reference", "kip-101")
    ahead.make(tmp_path, targets.fitting()[:1], ROWS)
    brought(tmp_path, monkeypatch)
    monkeypatch.setattr(entry_points.EntryPoint, "_compile", refuse)
    outcome = breadth_first.explore(system, options=SearchOptions(workers=1, keep_going=True))
    oracle = plain_python.explore(system, options=SearchOptions(keep_going=True))
    assert outcome.distinct_states == oracle.distinct_states > 100
    assert [found.property for found in outcome.violations] == [found.property for found in oracle.violations]


def refuse(self: Any, name: str, arguments: Any) -> None:
    raise AssertionError(f"{name} is compiled, though it was made ahead")


@pytest.mark.slow
def test_code_is_of_the_targets_architecture(made: Path) -> None:
    for target in ahead.possible():
        (file,) = (made / target.name).iterdir()
        _, _, code = code_cache.kept_files.body_of(file.read_bytes(), file.name).partition(b"\n")
        assert code[:4] == b"\x7fELF"
        assert int.from_bytes(code[18:20], "little") == ELF_MACHINES[target.architecture]


@needs_target
@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "loaded"),
    [
        pytest.param(lambda folder: None, True, id="as it was made"),
        pytest.param(lambda folder: (folder / code_cache.MADE_OF).write_text("other"), False, id="of other sources"),
        pytest.param(lambda folder: (folder / code_cache.MADE_OF).unlink(), False, id="of nobody knows what"),
        pytest.param(lambda folder: cut(folder), False, id="cut short"),
    ],
)
def test_only_code_of_these_sources_that_is_whole_is_loaded(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], Any], loaded: bool
) -> None:
    target = targets.fitting()[0].name
    (tmp_path / target).mkdir()
    for file in (code_cache.MADE_OF, *(f"{target}/{file.name}" for file in (made / target).iterdir())):
        (tmp_path / file).write_bytes((made / file).read_bytes())
    harm(tmp_path)
    brought(tmp_path, monkeypatch)
    ((kernel, arguments),) = SMALL
    assert (code_cache.load(entry_points.name_of(*kernel.rsplit(".", 1), arguments)) is not None) is loaded


def cut(folder: Path) -> None:
    for file in folder.glob("*/*"):
        file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.slow
def test_kernels_are_made_again_only_when_the_sources_change(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ahead.make(made, ahead.possible(), SMALL) == 0
    monkeypatch.setattr(code_cache, "portable_digest", lambda: "another")
    monkeypatch.setattr(ahead, "_code", None)
    with pytest.raises(TypeError):
        ahead.make(made, ahead.possible()[:1], SMALL)


def test_a_processor_is_of_the_targets_whose_features_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets.llvm, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    newest = {name: True for target in targets.TARGETS for name in target.features}

    def fitting(features: dict[str, bool]) -> list[str]:
        monkeypatch.setattr(targets.llvm, "get_host_cpu_features", lambda: features)
        return [target.name for target in targets.fitting()]

    assert fitting(newest) == ["x86-64-v3", "x86-64-v2"]
    assert fitting({**newest, "bmi2": False}) == ["x86-64-v2"]
    assert fitting({}) == []
    monkeypatch.setattr(targets.llvm, "get_process_triple", lambda: "aarch64-unknown-linux-gnu")
    assert fitting({}) == ["aarch64"]
    monkeypatch.setattr(targets.llvm, "get_process_triple", lambda: "arm64-apple-darwin")
    assert fitting({}) == []


@pytest.mark.slow
def test_code_for_any_processor_uses_no_instruction_that_some_lack(tmp_path: Path) -> None:
    """`pext` of x86-64-v3 made LLVM end the process."""
    code = """
from highwater.explorer.kernels.making import compiling, intrinsics, signatures
from highwater.explorer.kernels.states import canonical
compiling.object_code(canonical.representative, signatures.KERNELS["states.canonical.representative"])
print(intrinsics.HAS_PEXT)
"""
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_a_signature_of_other_types_has_another_name() -> None:
    ((kernel, arguments),) = SMALL
    named = entry_points.name_of(*kernel.rsplit(".", 1), arguments)
    assert named != entry_points.name_of(
        *kernel.rsplit(".", 1), (arguments[0], arguments[1].astype(np.uint64), *arguments[2:])
    )
    assert named != entry_points.name_of(*kernel.rsplit(".", 1), arguments[:-1])
    assert len({entry_points.name_of(*name.rsplit(".", 1), each) for name, each in signatures.all_signatures()}) == len(
        signatures.all_signatures()
    )


def test_each_kernel_is_made_ahead_but_the_one_of_conformance() -> None:
    known = {f"{each._module}.{each._name}" for each in ENTRY_POINTS}
    assert known - {name for name, _ in signatures.all_signatures()} == {"graphs.reach.note_parents"}


@pytest.mark.parametrize("asked", [[], ["x86-64-v2"], ["x86-64-v3", "aarch64"]])
def test_the_command_makes_all_targets_or_those_it_is_asked_for(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ahead, "possible", lambda: list(targets.TARGETS))
    monkeypatch.setattr(ahead, "make", lambda folder, wanted, signatures: len(wanted))
    monkeypatch.setattr(sys, "argv", ["ahead", str(tmp_path), *asked])
    ahead.main()
    expected = [target.name for target in targets.TARGETS if target.name in asked or not asked]
    assert capsys.readouterr().out == f"{len(expected)} entry points made for {', '.join(expected)}\n"


def test_an_unknown_target_is_refused_with_the_known_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ahead", str(tmp_path), "pdp-11"])
    with pytest.raises(SystemExit) as ended:
        ahead.main()
    assert ended.value.code == 2
    assert f"'pdp-11' is none of {', '.join(each.name for each in ahead.possible())}" in capsys.readouterr().err
