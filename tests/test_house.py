"""The floors of the house: which package may import which, and that there are no circles."""

from __future__ import annotations

import ast
import fnmatch
import functools
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions, packages_distributions
from importlib.util import find_spec
from pathlib import Path

import networkx
import pytest

import highwater
import highwater.api
from highwater.distribution import LIBRARIES, NAME
from highwater.explorer.blame import is_machinery
from highwater.explorer.kernels.making import code_cache
from highwater.model.language import domain
from highwater.model.language.shape import Domain

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BELOW = ("model", "invariants", "explorer", "spark", "conformance", "cluster")
"""The folders that are packages below `highwater`, by links in `src/highwater`."""
FLOORS = (*BELOW, "highwater")
FRONT = ROOT / "src" / "highwater"
ONLY_IMPORTER = {
    "numba": ("explorer/kernels/",),
    "llvmlite": ("explorer/kernels/",),
    "networkx": (
        "explorer/analysis/graph.py",
        "explorer/search/plain/plain_python.py",
        "explorer/search/plain/plain_liveness.py",
        "explorer/search/plain/certifying.py",
        "highwater/api.py",
    ),
    "pyspark": ("spark/",),
    "pyarrow": ("spark/", "highwater/spaces.py", "highwater/api.py"),
    "click": ("highwater/",),
    "rich": ("highwater/",),
    "cattrs": ("highwater/",),
    "jinja2": ("highwater/viewer/pages.py",),
    "markupsafe": ("highwater/viewer/pages.py",),
    "textual": ("highwater/exploring/terminal.py", "highwater/exploring/screens.py"),
    "werkzeug": ("highwater/exploring/serving.py",),
    "pytest": ("highwater/pytest_plugin.py", "highwater/implementation/parametrized.py", "highwater/testing.py"),
    "hypothesis": ("highwater/implementation/machines.py", "highwater/testing.py", "highwater/scaffold/"),
    "watchfiles": ("highwater/cli/watch.py",),
    "mcp": ("highwater/assistants/serving.py",),
    "anyio": ("highwater/assistants/serving.py",),
}
MODEL_LIBRARIES = {"attrs"}


def modules() -> dict[str, Path]:
    found = {}
    for folder, above in ((FRONT, FRONT.parent), *((ROOT / floor, ROOT) for floor in BELOW)):
        for path in sorted(path for path in folder.rglob("*.py") if path == path.resolve()):
            parts = ("highwater", *path.relative_to(above).with_suffix("").parts[above == FRONT.parent :])
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def place_of(module: str) -> tuple[str, str]:
    """The folder that a module is in, and the room of the folder; no room for the folder's own `__init__`."""
    parts = module.split(".")[1:]
    folder, *inside = parts if parts[:1] and parts[0] in BELOW else ["highwater", *parts]
    return folder, inside[0] if inside else ""


MODULES = modules()


@functools.cache
def nodes_of(module: str) -> list[ast.AST]:
    """All that is written in a module."""
    return [*ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8")))]


@pytest.fixture(scope="module", autouse=True)
def what_was_read_is_forgotten() -> Iterator[None]:
    yield
    nodes_of.cache_clear()


@functools.cache
def imports(module: str) -> set[str]:
    """Every module that another one imports, lazily or for types only included."""
    names: set[str] = set()
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            names |= {
                full if (full := f"{node.module}.{alias.name}") in MODULES else str(node.module) for alias in node.names
            }
    return names


@functools.cache
def may_import() -> dict[str, set[str]]:
    """From the table of folders in CONTRIBUTING.md: per folder, the packages that it may import, itself included."""
    rows = re.findall(r"^\| `(?:src/)?(\w+)/` \| [^|]+ \| ([^|]+) \|$", CONTRIBUTING, re.MULTILINE)
    return {
        folder: {folder, *(FLOORS if "all of the above" in cell else re.findall(r"`([\w.]+)`", cell))}
        for folder, cell in rows
    }


def test_the_table_of_folders_has_every_package() -> None:
    assert tuple(may_import()) == FLOORS
    assert may_import()["spark"] == {"spark", "explorer", "model.language"}


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_downwards_only(module: str) -> None:
    folder, _ = place_of(module)
    if folder == "highwater":
        return
    allowed = [f"highwater.{each}" for each in may_import()[folder]]
    inside = {name for name in imports(module) if name.split(".")[0] == "highwater"}
    assert not {name for name in inside if not any(name == top or name.startswith(f"{top}.") for top in allowed)}


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = networkx.DiGraph((module, name) for module in MODULES for name in imports(module) if name in MODULES)
    assert not list(networkx.simple_cycles(graph))


def floors() -> dict[str, list[set[str]]]:
    """From the table in CONTRIBUTING.md: per folder, its floors from the ground up, each with its rooms."""
    block = re.search(r"```floors\n(.*?)```", CONTRIBUTING, re.DOTALL)
    assert block is not None
    lines = (line.split(":") for line in block[1].strip().splitlines())
    return {
        folder: [{room.strip() for room in floor.split(",")} for floor in rest.split("|")] for folder, rest in lines
    }


def room_in(folder: str, module: str) -> str:
    """The room of a folder that a module is in; none if it is in another folder, or is the folder's own `__init__`."""
    top, *below = folder.split("/")
    parts = module.split(".")[1 if top == "highwater" else 2 :]
    if place_of(module)[0] != top or parts[: len(below)] != below or len(parts) <= len(below):
        return ""
    return parts[len(below)]


def climbs(floors: list[set[str]], arrows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The arrows between rooms of a folder that do not lead to a lower floor."""
    level = {room: number for number, rooms in enumerate(floors) for room in rooms}
    return [(room, other) for room, other in arrows if level[room] <= level[other]]


@pytest.mark.parametrize("folder", floors())
def test_arrows_inside_a_folder_lead_to_lower_floors(folder: str) -> None:
    inside = {module: path for module, path in MODULES.items() if room_in(folder, module)}
    rooms = {room_in(folder, module) for module, path in inside.items() if "scaffold" not in path.parts}
    assert rooms == set().union(*floors()[folder]), "the table of floors in CONTRIBUTING.md names other rooms"
    arrows = {
        (room_in(folder, module), room_in(folder, name))
        for module, path in inside.items()
        if room_in(folder, module) in rooms  # users import what is offered to them
        for name in imports(module)
        if name in inside and room_in(folder, name) != room_in(folder, module)
    }
    assert climbs(floors()[folder], arrows) == []


def test_an_arrow_upwards_or_between_neighbours_is_noticed() -> None:
    table = [{"ground"}, {"first", "other"}]
    assert climbs(table, [("first", "ground")]) == []
    assert climbs(table, [("ground", "first"), ("first", "other")]) == [("ground", "first"), ("first", "other")]


OF_PROCESSES = {f"highwater.explorer.{name}" for name in ("kept_files", "memory", "sources")}
"""What keeps and loads machine code, and is in none of it."""


def test_machine_code_is_made_of_the_kernels_and_the_encoding_alone() -> None:
    """So an edit in the compiler throws none of it away."""
    kernels = [module for module in MODULES if module.startswith("highwater.explorer.kernels")]
    used = {name for module in kernels for name in imports(module) if name.startswith("highwater.")}
    used = {name for name in used if not name.startswith("highwater.explorer.kernels")} - OF_PROCESSES
    assert used == {"highwater.explorer.encoding"}
    made_of = {MODULES[module] for module in (*kernels, "highwater.explorer.encoding")}
    assert {Path(file).resolve() for file in code_cache.sources()} == made_of


@pytest.mark.parametrize("module", MODULES)
def test_each_heavy_library_has_one_importer(module: str) -> None:
    place = MODULES[module].relative_to(ROOT).as_posix().removeprefix("src/")
    for library in {name.split(".")[0] for name in imports(module)} & ONLY_IMPORTER.keys():
        assert place.startswith(ONLY_IMPORTER[library]), f"{library} belongs in {' or '.join(ONLY_IMPORTER[library])}"


@pytest.mark.parametrize("module", [module for module in MODULES if place_of(module)[0] in ("model", "invariants")])
def test_models_and_invariants_need_attrs_and_the_standard_library_only(module: str) -> None:
    libraries = {name.split(".")[0] for name in imports(module)} - {"highwater"}
    for_types = {"typing_extensions"} if module == "highwater.model.language.declarations" else set()
    assert libraries - for_types <= MODEL_LIBRARIES | sys.stdlib_module_names


def test_the_language_imports_what_only_type_checkers_have_for_them_alone() -> None:
    assert "typing_extensions" not in imported_by("import highwater.model.language.graph_properties")


@pytest.mark.parametrize("command", [[], ["check"]])
def test_asking_for_help_imports_nothing_heavy(command: list[str]) -> None:
    code = f"import sys; sys.argv = {['highwater', *command, '--help']}\nfrom highwater.cli.main import main\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    heavy = {"numba", "llvmlite", "numpy", "networkx", "pyspark", "cattrs", "rich", "attrs"}
    code += f"print(sorted({{name.split('.')[0] for name in sys.modules}} & {heavy}))"
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "package", [name for name, path in MODULES.items() if path.name == "__init__.py" and name != "highwater"]
)
def test_a_package_is_a_docstring(package: str) -> None:
    said, *guard = ast.parse(MODULES[package].read_text(encoding="utf-8")).body
    assert isinstance(said, ast.Expr)
    folder, room = place_of(package)
    assert len(guard) == (folder in BELOW and not room)


@pytest.mark.parametrize("folder", BELOW)
def test_a_folder_is_imported_under_one_name(folder: str, tmp_path: Path) -> None:
    """Else a module could be loaded twice, and its classes would not be the same."""
    code = (
        f"import highwater.{folder}, importlib\nprint(highwater.{folder}.__file__)\nimportlib.import_module({folder!r})"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert Path(ran.stdout.strip()).resolve() == ROOT / folder / "__init__.py"
    assert ran.stderr.strip().endswith(f"ImportError: {ROOT / folder / '__init__.py'}: import it as highwater.{folder}")
    elsewhere = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert elsewhere.stderr.strip().endswith(f"No module named {folder!r}"), "nothing else of ours is on Python's path"


def test_the_front_door_offers_its_listed_names_and_imports_them_lazily() -> None:
    import highwater

    tree = ast.parse(Path(highwater.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    for_readers = {(str(node.module), alias.name) for node in checked.body for alias in getattr(node, "names", [])}
    assert {(place, name) for place, names in highwater._PLACES.items() for name in names} == for_readers
    assert {name for _, name in for_readers} == set(highwater.__all__)
    assert all(getattr(highwater, name) is not None for name in highwater.__all__)
    assert not imported_by("import highwater") & {"numba", "numpy", "cattrs", "attrs"}


def test_a_model_that_imports_the_front_door_loads_no_checker() -> None:
    loaded = imported_by("from highwater import action, bound, evolve, invariant, within")
    assert "highwater.model" in loaded
    assert not loaded & {"numba", "numpy", "cattrs", "click", "highwater.explorer"}


def imported_by(code: str) -> set[str]:
    """The modules that a fresh process has loaded after some code."""
    code += "\nimport sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_every_package_is_installed() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert built["packages"] == ["src/highwater"]
    assert {path.name for path in FRONT.iterdir() if path.is_symlink()} == set(BELOW)
    assert all((FRONT / name).resolve() == ROOT / name for name in BELOW)


@pytest.mark.xdist_group("of one")
def test_processes_run_tests_by_groups(request: pytest.FixtureRequest) -> None:
    """Else each of them would start Spark, resolve every release of Kafka, and search for every claim."""
    if not request.config.getoption("loadgroup", False):
        pytest.skip("tests are not spread by groups")
    assert request.node.nodeid.endswith("@of one")


def test_a_defect_in_any_other_folder_is_not_blamed_on_the_model() -> None:
    """An error in a frame of these ends with another exit code than one in a model."""
    for module, path in MODULES.items():
        if "scaffold" in path.parts:
            continue
        folder, room = place_of(module)
        loaded_from = FRONT / path.relative_to(ROOT) if folder in BELOW else path
        of_models = folder == "invariants" or (folder == "model" and room != "language")
        assert is_machinery(loaded_from) is not of_models, module


def test_a_defect_in_a_library_is_not_blamed_on_the_model() -> None:
    """Neither of those that are imported here, nor of those that come along with them."""
    run_tests = {"pytest", "hypothesis"}  # a user's
    assert set(ONLY_IMPORTER) - run_tests <= LIBRARIES | {"numba", "llvmlite", "networkx"}
    come_along = brought_along()
    files = {find_spec(top).origin for top, names in packages_distributions().items() if come_along & {*names}}
    assert len(files) > 20
    assert not {file for file in files if file and not is_machinery(Path(file))}


def brought_along() -> set[str]:
    """The distributions that an installation brings, with all that it offers to users."""
    found, left = set(), [NAME]
    installed = {re.sub("[-_.]+", "-", each.name).lower(): each for each in distributions() if each.name}
    while left:
        found.add(name := left.pop())
        for required in installed[name].requires or ():
            other = re.sub("[-_.]+", "-", re.match("[A-Za-z0-9._-]+", required)[0]).lower()
            wanted = "extra ==" not in required or (
                name == NAME and not re.search("extra == .(dev|npm|site|testing)", required)
            )
            left += [other] * (wanted and other in installed and other not in found)
    return {installed[name].name for name in found - {NAME}}


@pytest.mark.slow
def test_types_are_right() -> None:
    """One of the tests, so that the others need not wait for it."""
    checked = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_types_are_relaxed_for_machine_code_only() -> None:
    """But for the tests that users begin with."""
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    relaxed = {module for each in overrides for module in each["module"] if module.startswith("highwater.")}
    kernels = "highwater.explorer.kernels"
    relaxed -= {"highwater.scaffold.test_lock_service", "highwater.scaffold.test_locks"}
    assert all(module.startswith(f"{kernels}.") for module in relaxed)
    for module in [each for each in MODULES if any(fnmatch.fnmatch(each, pattern) for pattern in relaxed)]:
        machine_code = imports(module) & {"numba", "numba.extending", f"{kernels}.making.compiling"}
        assert machine_code or MODULES[module].name == "__init__.py", f"{module} is plain Python"


def test_public_functions_have_types_for_arguments_and_results() -> None:
    of_any_class = {("within", "return"), ("bound", "return"), ("toggle", "return")}  # a field, as attrs says it
    of_any_class |= {("bound", "default"), ("within", "default")} | {
        (name, "bounds") for name in ("brokers", "epochs", "offsets")
    }  # whose model has what they read
    passed_on = {("check_all", "options")}  # to `check`, which says what they are
    bare = {
        (name, argument)
        for name in highwater.__all__
        if inspect.isfunction(function := getattr(highwater, name))
        for argument, declared in function.__annotations__.items()
        if declared == "Any"
    }
    assert bare == of_any_class | passed_on


MOST_PARAMETERS = 8


def functions_of(module: str) -> Iterable[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (each for each in nodes_of(module) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("floor", FLOORS)
def test_no_function_takes_more_than_eight_parameters(floor: str) -> None:
    """But for commands and two functions of `highwater.api`, whose options people give by name."""
    for module in [each for each in MODULES if place_of(each)[0] == floor]:
        for function in functions_of(module):
            given = function.args.posonlyargs + function.args.args
            by_name = function.args.kwonlyargs
            names = [each.arg for each in (*given, *by_name) if each.arg not in ("self", "cls")]
            if module.startswith("highwater.cli.") and function.decorator_list:
                continue
            if (module, function.name) in {("highwater.api", "ask"), ("highwater.api", "check")}:
                assert len(given) <= 2, f"{module}: {function.name} takes options by position"
                continue
            assert len(names) <= MOST_PARAMETERS, f"{module}: {function.name} takes {', '.join(names)}"


SHAPES = {"NUMBER", "TRUTH", "NAME", "OPTION", "RECORD", "SET", "LIST"}
KINDS = SHAPES | {"Leaf", "Fields", "Elements", "Members", "Presence"}
KINDS |= {name for name, kind in vars(domain).items() if isinstance(kind, type) and issubclass(kind, Domain)}


def kinds_in(function: ast.AST) -> set[str]:
    """The kinds of domains, shapes and slots that the patterns of a function name."""
    patterns = [each for each in ast.walk(function) if isinstance(each, ast.MatchClass | ast.MatchValue)]
    named = (ast.unparse(each.cls if isinstance(each, ast.MatchClass) else each.value) for each in patterns)
    return {name.rpartition(".")[2] for name in named} & KINDS


def test_few_functions_know_all_kinds_of_domains_and_each_refuses_a_new_one() -> None:
    """Others go down by `Domain.parts` and what a slot has inside."""
    knowing = [
        (module, each)
        for module in MODULES
        for each in functions_of(module)
        if len(kinds_in(each)) > 2 and not any(kinds_in(inner) for inner in ast.walk(each) if is_inside(inner, each))
    ]
    assert 5 < len(knowing) <= 10, [f"{module}: {function.name}" for module, function in knowing]
    for module, function in knowing:
        ends = ast.unparse(function.body[-1])
        assert "assert_never(" in ends or ends.startswith("raise ModelError"), f"{module}: {function.name}"


def is_inside(inner: ast.AST, function: ast.AST) -> bool:
    return isinstance(inner, ast.FunctionDef) and inner is not function


A_VALUE_AND_NO_FLAG = {"replaced", "optional", "pack", "next", "append", "getattr", "option", "set"}


def test_no_flag_is_given_by_position() -> None:
    """`gone_on(cluster, broker, True)` says nothing of what is true. Records have fields in an order."""
    for module in MODULES:
        for call in nodes_of(module):
            if isinstance(call, ast.Call) and any(
                isinstance(each, ast.Constant) and type(each.value) is bool for each in call.args
            ):
                name = ast.unparse(call.func).rpartition(".")[2]
                assert name in A_VALUE_AND_NO_FLAG or name[0].isupper(), f"{module}:{call.lineno}: {ast.unparse(call)}"


NAMES_KINDS = {
    "highwater.explorer.compiler.layout",
    "highwater.explorer.descriptions",
    "highwater.viewer.pictures.of_any_model",
}
"""What knows more than one kind of collection: each kind has a slot, a description of what is in it, and a look."""


def test_few_modules_distinguish_kinds_of_domains() -> None:
    kinds = {"Maybe", "SetOf", "SequenceOf", "ArrayOf"}
    outside = [each for each in MODULES if not each.startswith(("highwater.model", "highwater.invariants"))]
    of_users = ("highwater.scaffold", "highwater")  # what is written as users do, and offered to them
    found = {
        module
        for module in outside
        for each in nodes_of(module)
        if isinstance(each, ast.ImportFrom) and len(kinds & {name.name for name in each.names}) > 1
    }
    assert {each for each in found if each != of_users[1] and not each.startswith(of_users[0])} == NAMES_KINDS


ONE_MEANING = {
    "may_lead": {"highwater.model.partition.controlling"},
    "Standing": {"highwater.model.partition.state", "highwater.model.kraft.image"},  # of a broker
    "Election": {"highwater.model.partition.messages"},  # what brokers learn of one
}


def test_these_words_mean_one_thing() -> None:
    """A word of the models' and the engine's that meant several, and where it is defined."""
    found: dict[str, set[str]] = {word: set() for word in ONE_MEANING}
    for module in MODULES:
        for each in nodes_of(module):
            if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name in found:
                found[each.name].add(module)
    assert found == ONE_MEANING
