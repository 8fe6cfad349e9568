"""A checkpoint belongs to one search: after any change, going on from it is refused, and the refusal names what has
changed.
"""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import Result

from highwater.claims import own
from highwater.claims.building import build_system
from highwater.claims.resolving import resolve_model, toggles_of
from highwater.claims.spec import load_spec
from highwater.claims.tables import Wrong
from highwater.explorer import sources
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.search.keeping.checkpoint import Checkpoint
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.search.keeping.fingerprint import Fingerprint, differences, engine_code, fingerprint
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, SearchOptions
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import Invariant, action, invariant
from highwater.model.language.domain import Integers
from highwater.model.language.records import domain_of, within

Run = Callable[..., Result]
ROOT = Path(__file__).parents[2]
FAMILIES = ("partition", "controller", "reference")
SIZES = {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2, "offset_max": 2, "version_max": 2}
SIZES |= {
    "replication_factor": 2,
    "partition_epoch_max": 3,
    "controllers": 1,
    "controller_epoch_max": 2,
    "target_size": 2,
}
OPTIONS = {"check_deadlock": False, "keep_going": False}


def toggles(model: str) -> dict[str, Any]:
    """A protocol of the model: its last preset, or the first there is."""
    known = MODELS[model]
    if known.presets:
        return toggles_of(list(known.presets.values())[-1])
    return toggles_of(known.protocol(**_first(known.protocol)))


def sizes(model: str) -> dict[str, int]:
    known = MODELS[model]
    bounds = known.define(
        list(known.presets.values())[-1] if known.presets else known.protocol(**_first(known.protocol))
    ).bounds
    return {field.name: SIZES.get(field.name, field.default) for field in attrs.fields(bounds)}


def _first(protocol: type) -> dict[str, Any]:
    return {field.name: next(iter(field.type)) for field in attrs.fields(attrs.resolve_types(protocol))}


def system_of(model: str, protocol: dict[str, Any], bounds: dict[str, int], check: tuple[str, ...] = ()) -> System:
    """A system, with the first of the model's properties unless some are named."""
    known = MODELS[model]
    if not check:
        _, definition, _, _ = resolve_model(known, protocol, bounds, ("no_deadlock",))
        check = (definition.known_properties[0].name,)
    chosen, definition, sized, properties = resolve_model(known, protocol, bounds, check)
    return build_system(definition, chosen, sized, properties)


def prints_of(system: System) -> Fingerprint:
    return fingerprint(system, Layout(system.domain), 0, OPTIONS)


@pytest.fixture(params=FAMILIES)
def model(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def refusal(model: str, tmp_path: Path) -> Callable[[System], str]:
    """What is said of going on with another system from a checkpoint of the model."""
    breadth_first.explore(
        system_of(model, toggles(model), sizes(model)),
        Budget(max_depth=0),
        SearchOptions(checkpoint=tmp_path, symmetry=False),
    )

    def refuse(system: System) -> str:
        with pytest.raises(CheckpointError, match="is a checkpoint of another search: ") as refused:
            Checkpoint(tmp_path, prints_of(system), Layout(system.domain).units).read(lambda rows: None)
        return str(refused.value).partition("another search: ")[2]

    return refuse


def test_the_same_search_is_not_refused(model: str, refusal: Callable[[System], str]) -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        refusal(system_of(model, toggles(model), sizes(model)))


def test_every_toggle_is_part_of_a_search(model: str, refusal: Callable[[System], str]) -> None:
    before, changed, refused = toggles(model), 0, 0
    for field in attrs.fields(attrs.resolve_types(MODELS[model].protocol)):
        members = [False, True] if field.type is bool else [member.value for member in field.type]
        for value in members:
            if value == before[field.name]:
                continue
            try:
                other = system_of(model, {**before, field.name: value}, sizes(model))
            except Wrong:  # the model knows no such protocol, or it has no such bounds
                refused += 1
                continue
            assert f"protocol.{field.name} is {before[field.name]} there and {value} here" in refusal(other)
            changed += 1
    assert changed > 0
    assert refused <= changed


def test_every_bound_is_part_of_a_search(model: str, refusal: Callable[[System], str]) -> None:
    before = sizes(model)
    for name, size in before.items():
        for other in (size + 1, size - 1):
            try:
                system = system_of(model, toggles(model), {**before, name: other})
            except Wrong:  # outside what the bound may be
                continue
            assert f"bounds.{name} is {size} there and {other} here" in refusal(system)
            break
        else:
            raise AssertionError(f"{name} has one value only")


LOADED = """
import sys
from tests.highwater.test_one_search import sizes, system_of, toggles
before = set(sys.modules)
for name in sys.argv[1:]:
    system_of(name, toggles(name), sizes(name))
print(*(name for name in set(sys.modules) if name.split(".")[1:2] in (["model"], ["invariants"])))
"""
CATALOGUES = {"highwater.model.language.registration"}


def test_every_module_that_a_model_loads_is_part_of_a_search(
    model: str, refusal: Callable[[System], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of models and properties by name are none of its code: what they lead to is."""
    command = [sys.executable, "-c", LOADED, model]
    loaded = set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    loaded -= {name for name in loaded if name in CATALOGUES or name.endswith(".catalogue")}
    system = system_of(model, toggles(model), sizes(model))
    known = set(prints_of(system)["modules"])
    assert {name for name in loaded if name.startswith("highwater.model.")} <= known
    assert system.invariants[0].of.function.__module__ in known
    read = Path.read_bytes
    for name in sorted(known):
        file = Path(str(importlib.import_module(name).__file__))
        monkeypatch.setattr(Path, "read_bytes", lambda path, file=file: read(path) + (b"\n#" if path == file else b""))
        sources._known.clear()  # by size and time no file has changed
        assert refusal(system) == f"the module {name} differs"


def test_the_engine_is_part_of_a_search(
    model: str, refusal: Callable[[System], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    system, read = system_of(model, toggles(model), sizes(model)), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + (b"#" if path.name == "walks.py" else b""))
    engine_code.cache_clear()  # as in another process
    try:
        assert refusal(system) == "the code of Highwater differs"
    finally:
        engine_code.cache_clear()


# --- Models of one's own

MODEL = """
import attrs
from highwater.model.language.declarations import action, invariant
from highwater.model.language.definition import Definition, Model, NoToggles
from highwater.model.language.domain import Integers
from highwater.model.language.records import bound, evolve, within
from rules import may_grow

@attrs.frozen
class Sizes:
    most: int = bound(1, 100, "the largest number")

@attrs.frozen
class Counter:
    number: int = within(lambda sizes: Integers(0, sizes.most))

@action(actor="counter")
def grow(state):
    from deep.down import step  # as late as that
    return evolve(state, number=state.number + step()) if may_grow(state.number) else None

@invariant()
def small(state):
    return state.number < 100

def define(protocol):
    return Definition(Sizes, Counter, lambda sizes: [Counter(0)], (grow,), properties=(small,))

COUNTER = Model("counter", "Counts.", NoToggles, define)
"""
RULES = """
import os
from deep import limits

EXTRA = int(os.environ.get("EXTRA", "0"))

def may_grow(number):
    return number < limits.END + EXTRA
"""
FILES = {
    "counter.py": MODEL,
    "rules.py": RULES,
    "deep/__init__.py": "",
    "deep/limits.py": "from .end import END\n",
    "deep/end.py": "END = 46\n",
    "deep/down.py": "def step():\n    return 1\n",
    "unused.py": "",
}
SPEC = 'model = "counter:COUNTER"\nbounds = { most = 60 }\ncheck = ["small"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {**FILES, "claim.toml": SPEC}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def check(folder: Path, *options: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "highwater.cli.main", "check", folder / "claim.toml", "--model-path", folder]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [*map(str, [*command, "--checkpoint", folder / "kept", *options])]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_every_module_beside_a_model_of_ones_own_is_part_of_its_search(folder: Path) -> None:
    """Also those that only other modules import, and those that only a function imports."""
    own.search([folder])
    system = load_spec(folder / "claim.toml").system()
    before = prints_of(system)
    for name, text in FILES.items():
        (folder / name).write_text(text + "# changed\n", encoding="utf-8")
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert differences(before, prints_of(system)) == (
            [] if module == "unused" else [f"the module {module} differs"]
        )
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_a_check_does_not_go_on_after_a_module_was_edited(folder: Path) -> None:
    assert check(folder, "--max-depth", 5, EXTRA="1").returncode == 3
    text = (folder / "rules.py").read_text(encoding="utf-8")
    (folder / "rules.py").write_text(text.replace("limits.END", "limits.END + 2"), encoding="utf-8")
    result = check(folder, "--resume", EXTRA="1")
    assert result.returncode == 2
    assert "is a checkpoint of another search: the module rules differs\n" in result.stderr
    (folder / "rules.py").write_text(text, encoding="utf-8")
    result = check(folder, "--resume")
    assert result.returncode == 2
    # what comes from elsewhere than the source
    assert "the constant rules.EXTRA is 1 there and 0 here\n" in result.stderr
    assert "states  48 distinct" in check(folder, "--resume", EXTRA="1").stdout


# --- Properties with parameters, and what is in a fingerprint


@attrs.frozen
class Number:
    value: int = within(lambda bounds: Integers(0, 9))


@action(actor="number")
def increase(state: Number) -> Number:
    return Number(state.value + 1)


def at_most(limit: int) -> Invariant:
    @invariant()
    def stays_small(state: Number) -> bool:
        return state.value <= limit

    return stays_small


def at_most_by_default(limit: int) -> Invariant:
    def stays_small(state: Number) -> bool:
        return _is_small(state)

    _is_small = functools.partial(lambda most, state: state.value <= most, limit)
    return invariant()(stays_small)


@pytest.mark.parametrize("make", [at_most, at_most_by_default])
def test_the_arguments_that_made_a_property_are_part_of_a_search(make: Callable[[int], Invariant]) -> None:
    def prints(limit: int) -> Fingerprint:
        of = tuple(make(limit).instances(None))
        return prints_of(System(domain_of(Number, None), (Number(0),), tuple(increase.instances(None)), of))

    assert differences(prints(5), prints(5)) == []
    assert differences(prints(5), prints(6)) == ["the property stays_small differs"]


def test_symmetry_and_the_names_that_it_exchanges_are_part_of_a_search() -> None:
    system = system_of("reference", toggles("reference"), sizes("reference"))
    layout = Layout(system.domain)
    off, on = fingerprint(system, layout, 0, OPTIONS), fingerprint(system, layout, 2, OPTIONS)
    assert "the option symmetry is off there and on, 2 permutations here" in differences(off, on)
    fewer = attrs.evolve(system, interchangeable={"brokers": (1, 0)})
    assert differences(on, fingerprint(fewer, layout, 2, OPTIONS)) == [
        "the option interchangeable brokers is (0, 1) there and (1, 0) here"
    ]


def test_the_order_of_actions_is_part_of_a_search() -> None:
    """It decides which of several shortest traces is shown, and what counts by action mean."""
    system = system_of("reference", toggles("reference"), sizes("reference"))
    other = attrs.evolve(system, actions=system.actions[::-1])
    assert differences(prints_of(system), prints_of(other))[-1] == "the order of actions differs"


def test_options_of_python_that_decide_what_code_does_are_part_of_a_search() -> None:
    code = "from highwater.explorer.search.keeping.fingerprint import flags; print(flags())"

    def shown(*options: str) -> str:
        command = [sys.executable, *options, "-c", code]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert shown() == shown("-s") == "{}\n"
    assert shown("-O") == "{'optimize': '1'}\n"
    assert shown("-bb", "-X", "int_max_str_digits=0") == "{'bytes_warning': '2', 'int_max_str_digits': '0'}\n"


def test_two_processes_have_the_same_fingerprint() -> None:
    code = "import json\nfrom tests.highwater.test_one_search import *\n"
    code += "print(json.dumps([prints_of(system_of(each, toggles(each), sizes(each))) for each in FAMILIES]))"

    def shown(seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert shown("1") == shown("2")
