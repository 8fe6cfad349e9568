"""Kernels called without numba: what goes in and comes out, and machine code that is kept, damaged, of another day, or
not to be had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highwater.explorer import sources
from highwater.explorer.kernels.making import code_cache, compiling, entry_points
from highwater.explorer.kernels.making.compiling import kernel
from highwater.explorer.kernels.making.entry_points import EntryPoint, MachineCode

ROOT = Path(__file__).parents[2]
MODULES = {each._module for each in vars(MachineCode).values() if isinstance(each, EntryPoint)}
SPEC = """
model = "reference"
protocol = { variant = "kip-320" }
bounds = { brokers = 2, log_length_max = 2, records_max = 2, leader_epoch_max = 1 }
check = ["weak_isr", "strong_isr"]
"""


class Inner(NamedTuple):
    words: Any
    tables: Any


class Outer(NamedTuple):
    inner: Inner
    marks: Any


def weighed(units: int, number: int, outer: Any, rows: Any, flag: int, sums: Any) -> tuple[int, int]:
    """Sums that change with any element, its place, any length and any number."""
    sums[0] = number
    for i in range(len(rows)):
        sums[1] += (i + 1) * np.int64(rows[i])
    for i in range(outer.inner.words.shape[0]):
        for j in range(outer.inner.words.shape[1]):
            sums[2] += (i + 1) * (10 * j + 1) * np.int64(outer.inner.words[i, j] >> np.uint64(40))
    tables = outer.inner.tables
    for i in range(tables.shape[0]):
        for j in range(tables.shape[1]):
            for k in range(tables.shape[2]):
                sums[3] += (i + 1) * (10 * j + 1) * (100 * k + 1) * np.int64(tables[i, j, k])
                tables[i, j, k] += 1
    for i in range(len(outer.marks)):
        if outer.marks[i]:
            sums[4] += i + 1
    return units, -number if flag else number


def nothing(sums: Any) -> None:
    sums[0] = 7


def last(sums: Any) -> int:
    return sums[len(sums) - 1]


def clears(numbers: Any, others: Any) -> None:
    for i in range(len(numbers)):
        numbers[i] = 0
    for i in range(len(others)):
        others[i] = numbers[i]


def shows(numbers: Any) -> None:
    print(numbers[0])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder where code is kept; and the functions above as kernels of a module of their own."""
    module = types.ModuleType("highwater.explorer.kernels.probes")
    for function in (weighed, nothing, last, clears, shows):
        setattr(module, function.__name__, kernel(function))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(code_cache, "folders", lambda: [tmp_path / "kept"])
    monkeypatch.setattr(code_cache, "BROUGHT", tmp_path / "nothing")
    return tmp_path / "kept"


def numbers(low: int, high: int, most: int = 5) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), max_size=most)


probe = EntryPoint("probes", "weighed")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    number=st.integers(1 - 2**63, 2**63 - 1),
    rows=numbers(0, 2**32 - 1),
    shapes=st.tuples(*(st.integers(0, 3) for _ in range(5))),
    marks=st.lists(st.booleans(), max_size=4),
    flag=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_kernel_gets_its_arguments_and_gives_its_results(
    number: int, rows: list[int], shapes: tuple[int, ...], marks: list[bool], flag: bool, seed: int
) -> None:
    """What the entry point of a kernel does is what its function does in plain Python."""
    random = np.random.default_rng(seed)

    def results(function: Callable[..., Any], tables: np.ndarray) -> list[Any]:
        sums = np.zeros(5, np.int64)
        outer = Outer(Inner(words, tables), np.array(marks, bool))
        found = function(3, number, outer, np.array(rows, np.uint32), flag, sums)
        return [found, sums.tolist(), tables.tolist()]

    words = random.integers(0, 2**64, shapes[:2], np.uint64)
    tables = random.integers(-99, 99, shapes[2:], np.int32)
    assert results(probe, tables.copy()) == results(weighed, tables.copy())


def test_a_kernel_may_give_nothing_or_one_number() -> None:
    sums = np.array([1, 2, -3])
    assert (EntryPoint("probes", "nothing")(sums), sums[0]) == (None, 7)
    assert EntryPoint("probes", "last")(sums) == -3


def test_arguments_of_other_types_have_an_entry_point_of_their_own(folder: Path, compiled: list[str]) -> None:
    entry_point = EntryPoint("probes", "last")
    assert [entry_point(np.array([1, 2], kind)) for kind in (np.int64, np.uint8, np.int64)] == [2, 2, 2]
    assert (len(compiled), len(list(folder.glob("*/*")))) == (2, 2)


def test_an_array_may_be_a_file_or_read_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(16)))
    entry_point, expected = EntryPoint("probes", "last"), int.from_bytes(range(8, 16), "little")
    assert entry_point(np.memmap(tmp_path / "file", np.int64)) == expected
    assert entry_point(np.frombuffer((tmp_path / "file").read_bytes(), np.int64)) == expected
    with pytest.raises(ValueError, match="contiguous"):
        entry_point(np.frombuffer(bytes(17), np.int64, 2, 1)), "as it is not aligned"


def test_an_array_with_gaps_is_refused() -> None:
    with pytest.raises(ValueError, match=r"probes\.last takes arrays that are contiguous only"):
        EntryPoint("probes", "last")(np.arange(9)[::2])


# --- kept on disk


def test_compiled_code_is_loaded_the_next_time(folder: Path, compiled: list[str]) -> None:
    assert [EntryPoint("probes", "last")(np.arange(9)) for _ in range(3)] == [8, 8, 8]
    assert compiled == ["last"]
    assert len(list(folder.glob("*/*"))) == 1


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\xff\xfe not ascii\n", b"0 entry_point\n\x7fELF", "cut short", "one bit"]
)
def test_a_damaged_file_is_made_again(folder: Path, compiled: list[str], content: bytes | str) -> None:
    EntryPoint("probes", "last")(np.arange(9))
    (file,) = folder.glob("*/*")
    whole = file.read_bytes()
    if content == "cut short":
        content = whole[: len(whole) // 2]
    elif content == "one bit":
        content = whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]
    file.write_bytes(content)
    assert EntryPoint("probes", "last")(np.arange(9)) == 8
    assert compiled == ["last", "last"]
    assert EntryPoint("probes", "last")(np.arange(9)) == 8
    assert len(compiled) == 2, "what was made again is kept"


def foreign(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a path belong to somebody else."""
    if os.geteuid() == 0:
        os.chown(path, 4242, 4242, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4242)


@pytest.mark.parametrize(
    "harm",
    ["foreign file", "foreign folder", "writable file", "group's file", "writable folder", "link", "linked folder"],
)
def test_machine_code_that_others_could_have_written_is_not_executed(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, harm: str
) -> None:
    EntryPoint("probes", "last")(np.arange(9))
    (file,) = folder.glob("*/*")
    assert EntryPoint("probes", "last")(np.arange(9)) == 8
    assert compiled == ["last"]
    match harm:
        case "foreign file":
            foreign(file, monkeypatch)
        case "foreign folder":
            foreign(file.parent, monkeypatch)
        case "writable file":
            file.chmod(0o646)
        case "group's file":
            file.chmod(0o664)
        case "writable folder":
            file.parent.chmod(0o777)
        case "link":
            file.symlink_to(file.rename(tmp_path / "elsewhere"))
        case "linked folder":
            file.parent.symlink_to(file.parent.rename(tmp_path / "elsewhere"))
    before = sorted(path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file())
    assert EntryPoint("probes", "last")(np.arange(9)) == 8
    assert compiled == ["last", "last"], "it was loaded"
    if "folder" in harm:
        assert sorted(path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()) == before, (
            "it was written to"
        )
    elif not (harm == "foreign file" and os.geteuid()):
        EntryPoint("probes", "last")(np.arange(9))
        assert len(compiled) == 2, "what was made again is kept"


def test_a_generous_umask_gives_others_nothing(folder: Path, compiled: list[str]) -> None:
    before = os.umask(0)
    try:
        EntryPoint("probes", "last")(np.arange(9))
    finally:
        os.umask(before)
    (file,) = folder.glob("*/*")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o644, 0o755)
    EntryPoint("probes", "last")(np.arange(9))
    assert compiled == ["last"]


def test_code_beside_the_sources_may_belong_to_their_owner(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(code_cache.__file__)
    if os.geteuid() != 0 or source.stat().st_uid not in (0, 4242):
        pytest.skip("only root can give files away")
    EntryPoint("probes", "last")(np.arange(9))
    (file,) = folder.glob("*/*")
    for path in (file, file.parent):
        os.chown(path, 4242, 4242)
    real = os.stat
    monkeypatch.setattr(code_cache, "BESIDE_SOURCES", folder)
    monkeypatch.setattr(
        os,
        "stat",
        lambda path, **more: (
            os.stat_result((*real(path)[:4], 4242, *real(path)[5:])) if path == str(source) else real(path, **more)
        ),
    )
    EntryPoint("probes", "last")(np.arange(9))
    assert compiled == ["last"]


def test_code_is_kept_in_the_first_writable_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    in_the_way, own = tmp_path / "file", tmp_path / "own"
    in_the_way.touch()
    monkeypatch.setattr(code_cache, "folders", lambda: [in_the_way, own])
    assert [EntryPoint("probes", "last")(np.arange(9)) for _ in range(2)] == [8, 8]
    assert (len(compiled), len(list(own.glob("*/*")))) == (1, 1)


def test_kernels_run_without_a_writable_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(code_cache, "folders", lambda: [tmp_path / "file"])
    assert [EntryPoint("probes", "last")(np.arange(9)) for _ in range(2)] == [8, 8]
    assert len(compiled) == 2


def forget_sources() -> None:
    for each in (code_cache._contents, code_cache._imported_by, code_cache.digest_of, code_cache._made_of):
        each.cache_clear()


@pytest.fixture
def edited(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the sources that kernels are made of, to be edited."""
    copy = tmp_path_factory.mktemp("sources") / "highwater" / "explorer"
    shutil.copytree(ROOT / "explorer" / "kernels", copy / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "explorer" / "encoding.py", copy)
    monkeypatch.setattr(code_cache, "sources", lambda: sorted(copy.rglob("*.py")))
    forget_sources()
    yield copy
    monkeypatch.undo()
    forget_sources()


def test_code_of_other_sources_is_not_loaded_and_goes_in_time(
    folder: Path, compiled: list[str], edited: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (edited / "kernels" / "probes.py").write_text("NOTHING = 1\n", encoding="utf-8")
    forget_sources()
    for _ in range(2):
        EntryPoint("probes", "last")(np.arange(9))
    (edited / "kernels" / "probes.py").write_text("NOTHING = 2\n", encoding="utf-8")
    forget_sources()
    EntryPoint("probes", "last")(np.arange(9))
    assert (compiled, len(list(folder.glob("*/*")))) == (["last"] * 2, 2)
    monkeypatch.setattr(code_cache, "MOST_BYTES", 1)
    code_cache.keep("probe", "entry_point", b"code")
    assert [file.name for file in folder.glob("*/*")] == ["probe"]


def test_code_for_other_versions_or_processors_goes_in_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for change in range(code_cache.MOST_KEPT + 3):
        monkeypatch.setattr(code_cache, "_made_of", lambda change=change: f"kernels-{change}")
        code_cache.keep("probe", "entry_point", b"code")
    assert len(list(folder.iterdir())) == code_cache.MOST_KEPT


@pytest.mark.parametrize(
    ("file", "compiled_anew"),
    [
        ("kernels/making/entry_points.py", set()),
        ("kernels/making/signatures.py", set()),
        ("kernels/graphs/reach.py", {"graphs.reach"}),
        ("kernels/steps/expand.py", {"steps.expand", "graphs.graph", "graphs.partitions"}),
        ("kernels/making/compiling.py", MODULES),
        ("kernels/arrays.py", MODULES),
    ],
)
def test_an_edit_changes_the_code_of_the_kernels_that_use_the_file(
    edited: Path, file: str, compiled_anew: set[str]
) -> None:
    before = {module: code_cache.digest_of(module) for module in MODULES}
    with open(edited / file, "a", encoding="utf-8") as source:
        source.write("# edited\n")
    forget_sources()
    assert {module for module in MODULES if code_cache.digest_of(module) != before[module]} == compiled_anew


def test_the_code_of_a_kernel_depends_on_every_module_that_it_imports() -> None:
    """What Python's own parser finds in the sources, and so on."""
    files = {name: (ROOT / "explorer" / name.replace(".", "/")).with_suffix(".py") for name in code_cache._contents()}
    imported = {
        name: {each.removeprefix("highwater.explorer.") for each in sources._imported_by(file.read_bytes(), "")}
        for name, file in files.items()
        if file.is_file()
    }
    for module in MODULES:
        found, todo = set(), {f"kernels.{module}", "kernels.making.compiling"}
        while todo:
            found |= todo
            todo = {each for name in todo for each in imported[name] if each in imported} - found
        assert found <= code_cache.modules_of(module)
        assert len(found) >= 5


def test_sources_in_an_archive_are_the_same_sources(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "highwater.zip", "w") as archive:
        for file in (ROOT / "explorer").rglob("*.py"):
            archive.write(file, "highwater" / file.relative_to(ROOT))
        for package in ("highwater", "highwater/model"):
            archive.writestr(f"{package}/__init__.py", "")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path / "highwater.zip")!r})
from highwater.explorer.kernels.making import code_cache
print(code_cache.__file__, code_cache._made_of())
"""
    shown = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.split()
    assert shown == [
        str(tmp_path / "highwater.zip" / "highwater" / "explorer" / "kernels" / "making" / "code_cache.py"),
        code_cache._made_of(),
    ]


def test_processes_that_compile_at_once_do_not_disturb_each_other(folder: Path) -> None:
    code = f"""
import sys, pathlib, numpy as np
from highwater.explorer.kernels.making import code_cache, entry_points
from highwater.explorer.kernels.arrays import FlatRows
code_cache.folders, code_cache.BROUGHT = lambda: [pathlib.Path({str(folder)!r})], pathlib.Path("/nowhere")
rows, table, room = np.arange(6, dtype=np.uint32), np.zeros(16, np.uint32), np.zeros((1, 1), np.uint64)
entry_points.ALONE.enter_rows(FlatRows(rows), 0, 6, table, room, np.zeros(4, np.uint64), 1)
print(sorted(table[table > 0] & 7), "numba" in sys.modules)
"""

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)

    at_once = [start() for _ in range(2)]
    shown = [process.communicate()[0] for process in at_once]
    assert {line.rpartition(" ")[0] for line in shown} == {str([np.uint32(row) for row in range(1, 7)])}
    (file,) = folder.glob("*/*")
    assert file.name.startswith("states.stored.enter_rows-")
    assert start().communicate()[0].endswith(" False\n")


# --- with and without numba


def test_a_check_whose_kernels_are_kept_imports_no_numba(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SPEC, encoding="utf-8")
    code = f"""
import sys
sys.argv = ["highwater", "check", {str(tmp_path / "small.toml")!r}]
from highwater.cli.main import main
try:
    main()
except SystemExit as end:
    print(end.code, "numba" in sys.modules)
"""
    for _ in range(2):
        shown = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    assert shown.splitlines()[-1] == "0 False"


def test_without_object_code_numba_compiles_in_every_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(of: Any, arguments: Any) -> Any:
        raise AttributeError("numba has changed")

    monkeypatch.setattr(compiling, "object_code", changed)
    entry_point, sums = EntryPoint("probes", "nothing"), np.zeros(2, np.int64)
    with pytest.warns(RuntimeWarning, match="nothing is compiled anew by every process: AttributeError"):
        assert entry_point(sums) is None
    assert sums[0] == 7
    assert entry_point(np.zeros(2, np.int32)) is None, "and says so once"
    assert not list(folder.glob("*/*"))


def test_loops_may_become_functions_of_the_c_library() -> None:
    """Where LLVM makes `memset` and `memcpy` of these; unless they are to be had, a warning is an error here."""
    numbers, others = np.ones(1000, np.uint8), np.ones(1000, np.uint8)
    EntryPoint("probes", "clears")(numbers, others)
    assert not numbers.any()
    assert not others.any()


def test_code_that_needs_python_is_not_linked_but_left_to_numba(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.warns(RuntimeWarning, match="shows is compiled anew by every process: RuntimeError"):
        EntryPoint("probes", "shows")(np.array([42]))
    assert capfd.readouterr().out == "42\n"
    assert not list(folder.glob("*/*"))


def test_every_entry_point_leads_to_a_kernel() -> None:
    import importlib

    for name, entry_point in vars(entry_points.MachineCode).items():
        if isinstance(entry_point, EntryPoint):
            assert entry_point._name == name
            found = getattr(importlib.import_module(f"highwater.explorer.kernels.{entry_point._module}"), name)
            assert found.targetoptions["inline"] == "always", f"{name} is no kernel"


def test_one_of_many_processes_compiles_a_shared_kernel(folder: Path, tmp_path: Path) -> None:
    code = f"""
import sys, pathlib, numpy as np
from highwater.explorer.kernels.making import code_cache, compiling, entry_points
from highwater.explorer.kernels.arrays import FlatRows
code_cache.folders, code_cache.BROUGHT = lambda: [pathlib.Path({str(folder)!r})], pathlib.Path("/nowhere")
compile_now = compiling.object_code
compiling.object_code = lambda *asked: print("compiles", flush=True) or compile_now(*asked)
print("ready", flush=True)
sys.stdin.readline()
entry_points.ALONE.enter_rows(
    FlatRows(np.arange(6, dtype=np.uint32)), 0, 6, np.zeros(16, np.uint32),
    np.zeros((1, 1), np.uint64), np.zeros(4, np.uint64), 1,
)
"""
    at_once = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for process in at_once:
        assert process.stdout.readline() == "ready\n"
    shown = [process.communicate("\n")[0] for process in at_once]
    assert sorted(shown) == ["", "", "compiles\n"]
