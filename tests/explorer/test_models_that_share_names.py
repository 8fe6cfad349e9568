"""Models that share names, text and file, and differ in one value that a function knows: no search answers for another.

Each way in which a function can know a value is tried: a search of one model, then one of a model that differs in that
value alone, through kept trees, lent paths and a checkpoint. What the second finds is held against plain Python. Where
the two do not differ, what the first has learned serves, so that it is the value that decides.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highwater.explorer import sources
from highwater.explorer.search.keeping import kept_trees, tree_names
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, Outcome, SearchOptions

ROOT = Path(__file__).parents[2]
MODULE = """
import collections, functools, operator, types
from enum import Enum
import attrs
from highwater.explorer.system import System
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import Integers
from highwater.model.language.records import domain_of, evolve, within

@attrs.frozen
class Counter:
    number: int = within(Integers(0, 31))
    armed: bool = within(bool)
    bad: bool = within(bool)

@attrs.frozen
class Rules:
    unread: int = 0

@attrs.frozen
class Record:
    number: object
    more: object = None

class Slotted:
    __slots__ = ("_number",)
    def __init__(self, number): self._number = number
    def __eq__(self, other): return self._number == other
    def __hash__(self): return 1

class Plain:
    number = None
    def is_it(self, number): return number == self.number

class Word(str): pass

GLOBAL = TEXT = None
TABLE, MODULE, CACHE = {}, types.ModuleType("inside"), {}

def by_global(x):
    global GLOBAL
    GLOBAL = x
    return lambda n: n == GLOBAL

def by_text(x):
    global TEXT
    TEXT = f"n{x}"
    return lambda n: f"n{n}" == TEXT

def by_table(x):
    TABLE["deep"] = [{"x": (x,)}]
    return lambda n: TABLE["deep"][0]["x"] == (n,)

def by_module(x):
    MODULE.x = x
    return lambda n: n == MODULE.x

def by_class(x):
    Plain.number = x
    return lambda n: Plain().is_it(n)

def by_attribute(x):
    def found(n): return n == found.x
    found.x = x
    return found

def by_method(x):
    class Made:
        def is_it(self, n): return n == x
    return lambda n: Made().is_it(n)

def by_enum(x):
    class Made(Enum):
        ONE = x
    return lambda n: Made.ONE.value == n

def by_helper(x):
    def last(n): return n == x
    def middle(n): return last(n)
    return lambda n: middle(n)

def by_replaced_code(x):
    def found(n): return n == 31
    constants = tuple(x if each == 31 else each for each in found.__code__.co_consts)
    found.__code__ = found.__code__.replace(co_consts=constants)
    return found

def by_cache(x):
    @functools.cache
    def found(n): return n == x
    return lambda n: found(int(n))

def by_default(x):
    def found(n, number=x): return n == number
    return found

def by_keyword(x):
    def found(n, *, number=x): return n == number
    return found

class Called:
    def __init__(self, x): self.x = x
    def __call__(self, n): return n == self.x

WAYS = {
    "global": by_global, "text": by_text, "table": by_table, "module": by_module, "class": by_class,
    "attribute": by_attribute, "method": by_method, "enum": by_enum, "helper": by_helper, "code": by_replaced_code,
    "cache": by_cache, "default": by_default, "keyword": by_keyword, "called": Called,
    "closure": lambda x: lambda n: n == x,
    "range": lambda x: (lambda given: lambda n: n in given)(range(x, x + 1)),
    "slots": lambda x: (lambda given: lambda n: given == n)(Slotted(x)),
    "record": lambda x: (lambda given: lambda n: given.more.number == n)(Record(1, Record(x))),
    "kind": lambda x: (lambda given: lambda n: n == 4 and type(given) is int)(4 if x % 2 else 4.0),
    "sequence": lambda x: (lambda given: lambda n: n == 4 and type(given) is list)([3] if x % 2 else (3,)),
    "subclass": lambda x: (lambda given: lambda n: f"n{n}" == given)(Word(f"n{x}")),
    "deque": lambda x: (lambda given: lambda n: n in given)(collections.deque([x])),
    "partial": lambda x: functools.partial(operator.eq, x),
    "getter": lambda x: (lambda given: lambda n: given((0, 1) * 16) and n == 3)(operator.itemgetter(x)),
    "lambda": lambda x: [(lambda n: n == 3), (lambda n: n == 4)][x % 2],
    "branch": lambda x: by_global(x) if x % 2 else by_text(x),
    "set": lambda x: (lambda given: lambda n: Record(int(n)) in given)(frozenset({Record(x), Record(40)})),
}

def system(way, x, asks="step", rules=Rules()):
    harmful = WAYS[way](x)

    @action(actor="counter")
    def tick(counter, protocol):
        if asks != "property" and harmful(counter.number) and (asks == "step" or counter.armed):
            return evolve(counter, bad=True)
        return evolve(counter, number=counter.number + 1) if counter.number < 31 else None

    @action(actor="counter")
    def arm(counter):
        return None if counter.armed else evolve(counter, armed=True)

    @invariant()
    def never_bad(counter):
        return not counter.bad and not (asks == "property" and harmful(counter.number))

    return System(domain_of(Counter, None), (Counter(0, False, False),),
        tuple(each for of in (tick, arm) for each in of.instances(None, rules)), tuple(never_bad.instances(None)),
        protocol=rules)
"""
WAYS = (
    "global", "text", "table", "module", "class", "attribute", "method", "enum", "helper", "code", "cache", "default",
    "keyword", "called", "closure", "range", "slots", "record", "kind", "sequence", "subclass", "deque", "partial",
    "getter", "lambda", "branch", "set",
)  # fmt: skip

ASK_FOR_TYPES = ("kind", "sequence")  # maybe for the protocol's: no path of theirs is lent under another one


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of all pairs. No sample is to help."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_trees, "SAMPLE", 0)
    monkeypatch.setattr(sources, "BEGAN", float("inf"))  # as if what is written here had been there
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shared_names.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "shared_names", raising=False)
    importlib.invalidate_caches()
    return importlib.import_module("shared_names")


def comparable(outcome: Outcome) -> Any:
    violations = [(each.property, each.trace_length) for each in outcome.violations]
    return outcome.verdict, violations, outcome.levels, outcome.generated, outcome.enabled


def held_against_plain_python(system: System, **options: Any) -> Outcome:
    found = breadth_first.explore(system, options=SearchOptions(keep_going=True, workers=1, **options))
    assert comparable(found) == comparable(plain_python.explore(system, options=SearchOptions(keep_going=True)))
    assert found.warnings == ()
    return found


def drawn(way: str, asks: str) -> tuple[int, int]:
    """Two different values, at which something else happens."""
    chance = random.Random(f"{way} {asks}")
    one = chance.randrange(2, 29)
    return one, one + chance.choice((-1, 1))


ASKS = ("step", "armed step", "property")


@pytest.mark.parametrize(
    ("way", "asks"),
    [
        pytest.param(way, asks, marks=[] if number % len(ASKS) == place else [pytest.mark.slow])
        for number, way in enumerate(WAYS)
        for place, asks in enumerate(ASKS)
    ],
)
def test_trees_and_snapshots_of_one_model_do_not_serve_another(
    way: str, asks: str, module: Any, learned: list[str], tmp_path: Path
) -> None:
    one, other = drawn(way, asks)
    first = held_against_plain_python(module.system(way, one, asks), keep_trees=True)
    learned.clear()
    second = held_against_plain_python(module.system(way, other, asks), keep_trees=True)
    assert comparable(second) != comparable(first)
    assert learned, "nothing is kept for the other"

    learned.clear()
    held_against_plain_python(module.system(way, other, asks), keep_trees=True)
    assert learned == [], "the same serves again"

    rules = module.Rules(unread=1)
    held_against_plain_python(module.system(way, one, asks, rules), keep_trees=True)
    if way not in ASK_FOR_TYPES:
        assert {"tick()", "arm()"}.isdisjoint(learned), "its own paths are lent"

    checkpoint: dict[str, Any] = {"checkpoint": tmp_path / "snapshots", "workers": 1, "keep_going": True}
    breadth_first.explore(module.system(way, one, asks), Budget(max_depth=2), SearchOptions(**checkpoint))
    with pytest.raises(CheckpointError, match="is a checkpoint of another search: "):
        breadth_first.explore(module.system(way, other, asks), options=SearchOptions(resume=True, **checkpoint))
    held_against_plain_python(module.system(way, one, asks), resume=True, checkpoint=tmp_path / "snapshots")


@pytest.mark.parametrize("way", WAYS)
def test_paths_are_lent_between_models_of_one_name_only_if_they_do_the_same(way: str, module: Any) -> None:
    """Where the second is the first to ask whether it is armed, a path that does not ask would serve, and be wrong."""
    other, one = sorted(drawn(way, "armed step"))
    held_against_plain_python(module.system(way, one, "armed step"), keep_trees=True)
    held_against_plain_python(module.system(way, other, "armed step", module.Rules(unread=1)), keep_trees=True)
    held_against_plain_python(module.system(way, one, "step", module.Rules(unread=2)), keep_trees=True)


def test_tree_names_identify_actions_by_content(module: Any) -> None:
    """Not by its name; and those of both models that do the same are alike."""
    found = [
        tree_names.names_of(kept_trees.Engine(module.system("closure", x), None, 8, 1, symmetry=True), 8)
        for x in (3, 4, 3)
    ]
    one, other, again = (each.instances for each in found if each is not None)
    assert one == again
    assert (one[0] == other[0], one[1] == other[1]) == (False, True)


# From one process to another

CLAIM = """
import os, sys
from importlib import import_module
from pathlib import Path
import attrs
from highwater.model.language.declarations import action, invariant
from highwater.model.language.definition import Definition, Model
from highwater.model.language.definition import toggle
from highwater.model.language.domain import Integers
from highwater.model.language.records import bound, evolve, within

HERE = Path(__file__).parent
MODE = os.environ.get("HIGHWATER_TEST_MODE", "")
DATA = (HERE / "data.txt").read_text()
RULE = import_module("named_nowhere").RULE
NOW = None

@attrs.frozen
class Sizes:
    most: int = bound(1, 100, "the largest number", 20)

@attrs.frozen
class Rules:
    at: int = toggle("where: none")

@attrs.frozen
class Counter:
    number: int = within(lambda sizes: Integers(0, sizes.most))
    bad: bool = within(bool)

def optimised():
    if __debug__:
        return False
    return True

@action(actor="counter")
def tick(counter):
    n = counter.number
    if RULE(n) or (MODE == "1" and n == 5) or DATA == str(n) or (optimised() and n == 7) or n == NOW:
        return evolve(counter, bad=True)
    return evolve(counter, number=n + 1) if n < 20 else None

@invariant()
def never_bad(counter):
    return not counter.bad

def of(step):
    return Definition(Sizes, Counter, lambda sizes: [Counter(0, False)], (step,), properties=(never_bad,))

def by_global(protocol):
    global NOW
    NOW = protocol.at
    return of(tick)

def by_closure(protocol):
    def tick(counter):
        if counter.number == protocol.at:
            return evolve(counter, bad=True)
        return evolve(counter, number=counter.number + 1) if counter.number < 20 else None
    return of(action(actor="counter")(tick))

A, B = Model("m", "Counts.", Rules, by_global), Model("m", "Counts.", Rules, by_closure)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shared.py").write_text(CLAIM, encoding="utf-8")
    (tmp_path / "data.txt").write_text("none", encoding="utf-8")
    (tmp_path / "named_nowhere.py").write_text("def RULE(n): return n == 99\n", encoding="utf-8")
    claim(tmp_path, "a", 98)
    return tmp_path


def claim(folder: Path, name: str, at: int, model: str = "A") -> Path:
    path = folder / f"{name}.toml"
    text = f'model = "shared:{model}"\nprotocol = {{ at = {at} }}\nbounds = {{ most = 20 }}\ncheck = ["never_bad"]\n'
    path.write_text(text, encoding="utf-8")
    return path


def checked(folder: Path, *options: str, python: tuple[str, ...] = (), **environment: str) -> list[Any]:
    """What a process finds, by claim."""
    ran = subprocess.run(
        [sys.executable, *python, "-m", "highwater", "check", folder, "--json", folder / "found.json", *options],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stderr
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return [(each["name"], each["verdict"], each["distinct_states"]) for each in found["results"]]


@pytest.mark.slow
def test_results_kept_by_one_process_do_not_serve_a_changed_model(folder: Path) -> None:
    (before,) = checked(folder)
    assert checked(folder, "--engine", "python") == [before]

    def edited(name: str, text: str) -> Callable[[], None]:
        return lambda: (folder / name).write_text(text, encoding="utf-8") and None

    changes: list[tuple[Callable[[], Any], dict[str, Any]]] = [
        (lambda: None, {"HIGHWATER_TEST_MODE": "1"}),
        (lambda: None, {"python": ("-O",)}),
        (edited("data.txt", "9"), {}),
        (edited("named_nowhere.py", "def RULE(n): return n == 6\n"), {}),
        (edited("named_nowhere.py", "def RULE(n): return n == 3\n"), {}),
    ]
    for change, options in changes:
        change()
        (found,) = checked(folder, **options)
        assert [found] == checked(folder, "--engine", "python", **options)
        assert found != before
        before = found


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_claims_of_one_process_and_of_forks_are_answered_each_for_itself(folder: Path, jobs: str) -> None:
    (folder / "a.toml").unlink()
    for number, at in enumerate((4, 11, 98)):
        claim(folder, f"encloses_{number}", at, "B")
    for options in ((), ("--no-keep-trees",), ()):
        found = checked(folder, "--jobs", jobs, *options)
        assert found == checked(folder, "--engine", "python")
        assert [verdict for _, verdict, _ in found] == ["violated", "violated", "holds"]


@pytest.mark.slow
def test_a_global_that_the_definition_sets_is_that_of_each_process(folder: Path) -> None:
    for at in (4, 11, 98, 4):
        claim(folder, "a", at)
        assert checked(folder) == checked(folder, "--engine", "python")
