"""The floors of the house: which package may import which, and that nothing goes round in circles."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).parents[1]
FLOORS = ("model", "invariants", "explorer", "spark", "highwater")
MAY_IMPORT = {
    "model": {"model"},
    "invariants": {"invariants", "model"},
    "explorer": {"explorer", "model.language.domain", "model.language.declarations"},
    "spark": {"spark", "explorer", "model.language.domain", "model.language.declarations"},
    "highwater": set(FLOORS),
}
ONLY_IMPORTER = {
    "numba": ("explorer/kernels/",),
    "llvmlite": ("explorer/kernels/",),
    "networkx": ("explorer/analysis/graph.py", "explorer/search/plain_python.py"),
    "pyspark": ("spark/",),
    "pyarrow": ("spark/",),
    "click": ("highwater/",),
    "rich": ("highwater/",),
    "cattrs": ("highwater/",),
    "jinja2": ("highwater/viewer/pages.py",),
    "markupsafe": ("highwater/viewer/pages.py",),
    "textual": ("highwater/viewer/interactive.py",),
    "pytest": ("highwater/pytest_plugin.py",),
}
MODEL_LIBRARIES = {"attrs"}


def modules() -> dict[str, Path]:
    found = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(path: Path) -> set[str]:
    """Every module that a file imports, lazily or for types only included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {full if (full := f"{node.module}.{alias.name}") in MODULES else str(node.module) for alias in node.names}
    return names


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_downwards_only(module: str) -> None:
    allowed = MAY_IMPORT[module.split(".")[0]]
    inside = {name for name in imports(MODULES[module]) if name.split(".")[0] in FLOORS}
    assert not {name for name in inside if not any(name == top or name.startswith(f"{top}.") for top in allowed)}


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = networkx.DiGraph((module, name) for module, path in MODULES.items() for name in imports(path) if name in MODULES)
    assert not list(networkx.simple_cycles(graph))


@pytest.mark.parametrize("module", MODULES)
def test_each_heavy_library_has_one_importer(module: str) -> None:
    place = MODULES[module].relative_to(ROOT).as_posix()
    for library in {name.split(".")[0] for name in imports(MODULES[module])} & ONLY_IMPORTER.keys():
        assert place.startswith(ONLY_IMPORTER[library]), f"{library} belongs in {' or '.join(ONLY_IMPORTER[library])}"


@pytest.mark.parametrize("module", [module for module in MODULES if module.split(".")[0] in ("model", "invariants")])
def test_models_and_invariants_need_attrs_and_the_standard_library_only(module: str) -> None:
    libraries = {name.split(".")[0] for name in imports(MODULES[module])} - set(FLOORS)
    assert libraries <= MODEL_LIBRARIES | sys.stdlib_module_names


@pytest.mark.parametrize("command", [[], ["check"]])
def test_asking_for_help_imports_nothing_heavy(command: list[str]) -> None:
    code = f"import sys; sys.argv = {['highwater', *command, '--help']}\nfrom highwater.cli.main import main\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    heavy = {"numba", "llvmlite", "numpy", "networkx", "pyspark", "cattrs", "rich", "attrs"}
    code += f"print(sorted({{name.split('.')[0] for name in sys.modules}} & {heavy}))"
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize("package", [name for name, path in MODULES.items() if path.name == "__init__.py" and name != "highwater"])
def test_a_package_is_a_docstring(package: str) -> None:
    body = ast.parse(MODULES[package].read_text(encoding="utf-8")).body
    assert len(body) == 1
    assert isinstance(body[0], ast.Expr)


def test_the_front_door_offers_what_the_api_does_and_imports_it_when_asked() -> None:
    import highwater
    from highwater import api

    assert highwater.__all__ == api.__all__
    assert all(getattr(highwater, name) is getattr(api, name) for name in api.__all__)
    code = "import sys, highwater; print(sorted({name.split('.')[0] for name in sys.modules} & {'numba', 'numpy', 'cattrs', 'attrs'}))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_package_is_installed() -> None:
    from setuptools import find_packages

    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    found = find_packages(str(ROOT), include=wanted["include"])
    assert sorted(found) == sorted(module for module, path in MODULES.items() if path.name == "__init__.py")
