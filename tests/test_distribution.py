"""The package as people install it: what is in the wheel and in the source distribution, that the command works in an
environment of its own and in any folder, and that nothing stays behind.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path

import attrs
import pytest

from highwater.distribution import NAME, VERSION
from highwater.explorer.kernels.making import code_cache
from tests.conformance.conftest import NEWEST, harness_of

ROOT = Path(__file__).parents[1]
SPECS = sorted((ROOT / "specs").rglob("*.toml"))
ONE_KERNEL = "states.stored.enter_rows"
"""Which every search needs."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("built")
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["build-backend"]
    code = f"import os, {backend} as it; os.chdir({str(ROOT)!r})\nit.build_sdist({str(folder)!r}), "
    subprocess.run([sys.executable, "-c", f"{code}it.build_wheel({str(folder)!r})"], check=True)
    return folder


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


@pytest.mark.slow
def test_the_wheel_has_the_packages_their_data_and_the_gallery(built: Path) -> None:
    with zipfile.ZipFile(only(built, "*.whl")) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    front = ROOT / "src" / "highwater"
    folders = [(front, front), *((ROOT / path.name, ROOT) for path in front.iterdir() if path.is_symlink())]
    files = [path.relative_to(above) for folder, above in folders for path in folder.rglob("*") if path.is_file()]
    wanted = {f"highwater/{path.as_posix()}" for path in files if "__pycache__" not in path.parts}
    gallery = {f"highwater/gallery/{path.relative_to(ROOT / 'specs').as_posix()}" for path in SPECS}
    assert len(gallery) > 100
    assert wanted | gallery | {"highwater/gallery/README.md"} == names


@pytest.mark.slow
def test_the_source_distribution_has_all_that_it_takes_to_build_and_test(built: Path) -> None:
    with tarfile.open(only(built, "*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {path.relative_to(ROOT).as_posix() for path in SPECS} <= names
    assert {"pyproject.toml", "LICENSE", "README.md", "Makefile", "tests/test_distribution.py"} <= names


NAMES = """
from highwater.explorer.search.engine import engine
from highwater.explorer.search.keeping import tree_names
from highwater.claims.spec import load_spec
from highwater.distribution import gallery
for path in sorted(gallery().rglob("kip_101_fails_*.toml")) + sorted(gallery().rglob("a_fenced_broker_*.toml")):
    names = tree_names.names_of(engine.Engine(load_spec(path).system(), None, 8, 1, symmetry=True), 8)
    print(path.stem, names.actions, names.properties, names.family)
"""


def names_of_trees(python: Path, folder: Path) -> list[str]:
    """The names of the trees of some claims of the gallery."""
    ran = subprocess.run([python, "-c", NAMES], cwd=folder, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


class Installed:
    """An environment with the wheel; what it depends on is that of this environment."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder)  # another one's pip serves it, which takes seconds to install
        self.folder, self.python = folder, folder / "bin" / "python"
        libraries = Path(attrs.__file__).parents[1]  # a .pth file in it is not followed, so none of its checkouts
        only(folder, "lib/python*/site-packages").joinpath("libraries.pth").write_text(f"{libraries}\n")
        self.before = self.files()
        self.pip("install", "--no-index", "--no-deps", "--quiet", str(wheel))

    def pip(self, *arguments: str) -> None:
        options = ["--disable-pip-version-check", "--no-input"]
        pip = [sys.executable, "-I", "-m", "pip", "--python", self.python]
        subprocess.run([*pip, *options, *arguments], check=True, capture_output=True)

    def files(self) -> set[str]:
        """All files and folders."""
        return {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*")}

    def run(
        self, folder: Path, *arguments: str, program: tuple[str, ...] = ("highwater",), **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """What one of the environment's programs does in a folder, with an empty home."""
        first, *rest = program
        own = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
        return subprocess.run(
            [self.folder / "bin" / first, *rest, *arguments],
            cwd=folder,
            env={**own, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def wait_for_compilers(self) -> None:
        """Wait until no process of this environment runs: kernels are compiled behind the search that needed them."""
        while any(self._runs(process) for process in Path("/proc").glob("[0-9]*")):
            time.sleep(0.05)

    def _runs(self, process: Path) -> bool:
        try:
            return (process / "cmdline").read_bytes().startswith(os.fsencode(self.folder))
        except OSError:  # it has ended
            return False


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An environment with the wheel, beside it a cache that has the machine code of this checkout."""
    folder = tmp_path_factory.mktemp("installed")
    if (made := code_cache.BESIDE_SOURCES / code_cache._made_of()).is_dir():
        shutil.copytree(made, folder / "cache" / "highwater" / made.name)
    return Installed(folder / "environment", only(built, "*.whl"))


@pytest.mark.slow
def test_the_installed_command_works_in_any_folder_and_leaves_nothing_when_uninstalled(
    built: Path, tmp_path: Path
) -> None:
    installed = Installed(tmp_path / "environment", only(built, "*.whl"))
    here = tmp_path / "here"
    here.mkdir()
    assert installed.run(here, "--version").stdout == f"{NAME}, version {VERSION}\n"
    without = installed.run(here, "check")
    assert without.returncode == 2
    assert "there is no folder specs here" in without.stderr
    assert "gallery:" in without.stderr
    names = names_of_trees(Path(sys.executable), ROOT)
    assert len(names) > 3
    assert names == names_of_trees(installed.python, here), "so that a wheel's trees serve where it is installed"
    listed = installed.run(here, "list", "specs", "gallery:")
    assert len(listed.stdout.splitlines()) == len(SPECS)
    assert listed.stdout.splitlines()[0].startswith("gallery:controller/")
    machine_code = here / "cache" / "highwater" / code_cache._made_of()
    if (made := code_cache.BESIDE_SOURCES / machine_code.name).is_dir():  # but for one kernel, which is to be compiled
        shutil.copytree(made, machine_code, ignore=shutil.ignore_patterns(f"{ONE_KERNEL}-*"))
    checked = installed.run(here, "check", "gallery:kip_101_fails*", "--json", "found.json")
    assert checked.returncode == 0, checked.stderr
    (entry,) = json.loads((here / "found.json").read_text())["results"]
    assert entry["name"] == "kip_101_fails_on_two_brokers"
    assert installed.folder in Path(entry["file"]).parents
    installed.wait_for_compilers()
    assert list(machine_code.glob(f"{ONE_KERNEL}-*")), "machine code is kept in the user's folder"
    assert installed.run(here, "init", "mine").returncode == 0
    assert installed.run(here / "mine", "check", "--model-path", ".").returncode == 0, "specs/ of one's own"
    installed.wait_for_compilers()
    installed.pip("uninstall", "--yes", NAME)
    assert installed.files() == installed.before


FOLDERS = ("model", "invariants", "explorer", "spark", "conformance", "cluster")
CELL = """
import importlib
theirs = [importlib.import_module(name) for name in NAMES]
assert all(module.__file__ is None or "mine" in module.__file__ for module in theirs), theirs
from highwater import action, check, claim, invariant
from highwater.model.catalogue import MODELS
assert check("claim.toml").ok
assert [importlib.import_module(name) for name in NAMES] == theirs
print("both are there")
"""
CLAIM = """
model = "reference"
protocol = { variant = "kip-320" }
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1 }
check = ["weak_isr"]
"""
CONFORM = """
model = "partition"
preset = "kafka-4.1"
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1, fetch_steps = 1 }
check = ["candidates_are_complete"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["packages", "folders", "modules"])
def test_modules_of_ones_own_may_have_any_name_but_highwater(installed: Installed, tmp_path: Path, kind: str) -> None:
    """Folders with `__init__.py` and without, and files, in the current folder, which `python -m` searches first."""
    mine, cache = tmp_path / "mine", str(installed.folder.parent / "cache")
    mine.mkdir()
    for name in FOLDERS:
        place = mine / f"{name}.py" if kind == "modules" else mine / name / "own.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text("WHAT = 'mine'\n", encoding="utf-8")
        if kind == "packages":
            (mine / name / "__init__.py").write_text("", encoding="utf-8")
    names = [name if kind == "modules" else f"{name}.own" for name in FOLDERS]
    cell = CELL.replace("NAMES", repr(names))
    (mine / "claim.toml").write_text(CLAIM, encoding="utf-8")
    lines = "".join(f"from {name} import WHAT\n" for name in names)
    (mine / "test_mine.py").write_text(f"{lines}def test_what():\n    assert WHAT == 'mine'\n", encoding="utf-8")
    for program in (("highwater",), ("python", "-m", "highwater")):
        done = installed.run(mine, "check", "claim.toml", program=program, XDG_CACHE_HOME=cache)
        assert done.returncode == 0, done.stderr
    of_pytest = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    tests = installed.run(mine, "--highwater", "claim.toml", "test_mine.py", program=of_pytest, XDG_CACHE_HOME=cache)
    assert "2 passed" in tests.stdout, tests.stdout
    notebook = (
        f"from IPython.core.interactiveshell import InteractiveShell as It\nIt().run_cell({cell!r}).raise_error()"
    )
    for code in (cell, notebook):
        ran = installed.run(mine, code, program=("python", "-c"), XDG_CACHE_HOME=cache)
        assert ran.stdout.endswith("both are there\n"), ran.stderr


@pytest.mark.slow
def test_kafkas_classes_are_held_against_a_model_beside_modules_of_ones_own(
    installed: Installed, tmp_path: Path
) -> None:
    with harness_of(NEWEST):  # or else the test is skipped
        pass
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "claim.toml").write_text(CONFORM, encoding="utf-8")
    known = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    known["XDG_CACHE_HOME"] = str(installed.folder.parent / "cache")
    command = ("python", "-m", "highwater", "conform", "claim.toml", "--kafka", NEWEST)
    done = installed.run(tmp_path, program=command, **known)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_index_has_the_name_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == NAME
    assert project["optional-dependencies"]["dev"][0].startswith(f"{NAME}[")
