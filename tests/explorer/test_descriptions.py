"""Functions and values described by content: equal ones alike, different ones differently."""

from __future__ import annotations

import collections
import decimal
import fractions
import functools
import itertools
import json
import math
import operator
import os
import random
import re
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

from highwater.claims.spec import load_spec
from highwater.explorer import descriptions
from highwater.explorer.descriptions import Descriptions, Indescribable
from highwater.explorer.search.keeping.fingerprint import instances_by_name
from highwater.model.language.domain import Integers, Limit
from highwater.model.partition import fetching

ROOT = Path(__file__).parents[2]


def described(value: Any) -> str:
    return Descriptions().of(value)


def made(text: str, **given: Any) -> Any:
    """The function f of a text, as though it were of a module of its own."""
    names: dict[str, Any] = {"__name__": __name__, **given}
    exec(text, names)
    return names["f"]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Number(IntEnum):
    ONE = 1


class Text(str):
    pass


class Pair(NamedTuple):
    one: int
    other: int


@attrs.frozen
class Record:
    number: int = 0
    more: Any = None


@attrs.frozen
class DerivedRecord(Record):
    """What attrs notes of such a class has an object without a name in it."""

    further: int = 0


@attrs.frozen
class OtherRecord:
    number: int = 0
    more: Any = None


class Slotted:
    __slots__ = ("_hidden", "seen")

    def __init__(self, seen: Any, hidden: Any = None) -> None:
        self.seen, self._hidden = seen, hidden


class Plain:
    def __init__(self, **given: Any) -> None:
        vars(self).update(given)


def ring(*values: Any) -> list[Any]:
    found = list(values)
    found.append(found)
    return found


SENTINEL = object()
MAKERS: list[Callable[[], Any]] = [
    lambda: None, lambda: ..., lambda: 0, lambda: 1, lambda: True, lambda: False, lambda: 1.0, lambda: 0.0,
    lambda: -0.0, lambda: math.nan, lambda: 1 + 0j, lambda: "1", lambda: b"1", lambda: bytearray(b"1"),
    lambda: "True", lambda: "None", lambda: "", lambda: (), list, lambda: set(), lambda: frozenset(), dict,
    lambda: (1,), lambda: [1], lambda: {1}, lambda: frozenset({1}), lambda: (True,), lambda: (1.0,), lambda: ("1",),
    lambda: ((1,),), lambda: [[1]], lambda: [(1,)], lambda: [1, 1], lambda: {1: 2}, lambda: {True: 2}, lambda: {"1": 2},
    lambda: {1.0: 2}, lambda: {(1,): 2}, lambda: [(1, 2)], lambda: {1: 2, 3: 4}, lambda: {3: 4, 1: 2},
    lambda: {None: 1}, lambda: {"null": 1}, lambda: range(0), lambda: range(400, 401), lambda: range(0, 10, 3),
    lambda: slice(1, 2), lambda: slice(1, 3), lambda: Colour.RED, lambda: Colour.BLUE, lambda: "RED", lambda: Colour,
    lambda: Number.ONE, lambda: Text("1"), lambda: Limit(1, "a"), lambda: Limit(1, "b"), lambda: Pair(1, 2),
    lambda: (1, 2), lambda: Pair(1, 3), lambda: Record(1), lambda: OtherRecord(1), lambda: Record(True),
    lambda: DerivedRecord(1), lambda: Record(1, [Record(1)]), lambda: Record(1, (Record(1),)), lambda: Slotted(1),
    lambda: Slotted(2),
    lambda: Slotted(1, 1), lambda: Plain(a=1), lambda: Plain(a=2), lambda: Plain(b=1), lambda: Plain(),
    lambda: Plain(a=1, b=2), lambda: Plain(b=2, a=1),
    lambda: collections.deque([1]), lambda: collections.deque([1], 3), lambda: collections.Counter("a"),
    lambda: collections.OrderedDict(a=1), lambda: collections.defaultdict(int), lambda: collections.defaultdict(list),
    lambda: fractions.Fraction(1, 2), lambda: fractions.Fraction(1, 3), lambda: types.SimpleNamespace(a=1),
    lambda: types.MappingProxyType({1: 2}), lambda: operator.itemgetter(1), lambda: operator.itemgetter(2),
    lambda: operator.attrgetter("a"), lambda: operator.methodcaller("a", 1), lambda: re.compile("a"),
    lambda: re.compile("a", re.IGNORECASE), lambda: functools.partial(max, 1), lambda: functools.partial(max, 2),
    lambda: functools.partial(max, key=1), lambda: functools.partial(min, 1), lambda: max, lambda: min,
    lambda: int, lambda: str, lambda: list[int], lambda: list[str], lambda: [1].append, lambda: [2].append,
    lambda: "a".join, lambda: str.join, lambda: np.int64(1), lambda: np.int32(1), lambda: np.array([1]),
    lambda: np.array([[1]]), lambda: np.array([1.0]), lambda: ring(), lambda: ring(1), lambda: [[1, []]],
    lambda: Integers(0, 1), lambda: Integers(0, 2), lambda: Integers(0, Limit(1, "a")), lambda: math.floor,
    lambda: [one := object(), object(), one], lambda: [object(), other := object(), other],
    lambda: [SENTINEL, SENTINEL], lambda: [SENTINEL, object()], lambda: frozenset({Record(1), Record(2)}),
    lambda: frozenset({Record(1), Record(3)}), lambda: Plain(one=(one := [1]), other=one),
    lambda: Plain(one=[1], other=[1]),
    lambda: lambda s: s, lambda: lambda t: t, lambda: lambda s: 1, lambda: lambda s: True, lambda: lambda s: 1.0,
    lambda: lambda s, t=1: s, lambda: lambda s, t=True: s, lambda: lambda s, *, t=1: s, lambda: lambda s, *, t=2: s,
    lambda: lambda s: s in {1, 2}, lambda: lambda s: s in {1, 3}, lambda: lambda s: s in (1, 2),
    lambda: lambda s: lambda: 1, lambda: lambda s: lambda: 2, lambda: lambda s: [x for x in s if x > 1],
    lambda: lambda s: [x for x in s if x > 2], lambda: lambda s: s.a, lambda: lambda s: s.b,
]  # fmt: skip


def test_values_that_differ_are_described_differently_and_the_same_are_described_alike() -> None:
    first, again = ([described(make()) for make in MAKERS] for _ in range(2))
    assert first == again
    same = collections.defaultdict(list)
    for number, text in enumerate(first):
        same[text].append(number)
    assert [numbers for numbers in same.values() if len(numbers) > 1] == []


def test_descriptions_are_the_same_in_every_process() -> None:
    """Whatever the order of sets there. Functions of this module are of the module there, too."""
    code = "from tests.explorer.test_descriptions import *; import json\n"
    code += "print(json.dumps([described(make()) for make in MAKERS]))"

    def shown(seed: str) -> list[str]:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        return json.loads(subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True).stdout)

    assert shown("1") == shown("2") == [described(make()) for make in MAKERS]


@pytest.mark.parametrize(
    "text",
    [
        "def f(s): return X",
        "def f(s): return (lambda: X)()",
        "def f(s): return [X for _ in s]",
        "def f(s):\n class C:\n  x = X\n return C",
        "def g(s): return X\ndef f(s): return g(s)",
        "def g(s): return f(s) + X\ndef f(s): return g(s)",
        "class C:\n def m(self): return X\ndef f(s): return C().m()",
        "class C:\n @property\n def m(self): return X\ndef f(s): return C().m",
        "class C:\n @classmethod\n def m(cls): return X\ndef f(s): return C.m()",
        "class C:\n @staticmethod\n def m(): return X\ndef f(s): return C.m()",
        "class C:\n m = X\ndef f(s): return C.m",
        "class B:\n m = X\nclass C(B): pass\ndef f(s): return C.m",
        "class C: pass\nC.m = X\ndef f(s): return C.m",
        "class M(type):\n m = X\nclass C(metaclass=M): pass\ndef f(s): return C.m",
        "def f(s): return f.x\nf.x = X",
        "def f(s, x=X): return x",
        "def f(s, *, x=X): return x",
        "def make(x):\n def f(s): return x\n return f\nf = make(X)",
        "def make(x):\n def f(s): return (lambda: x)()\n return f\nf = make([{'a': X}])",
        "import functools\n@functools.cache\ndef g(): return X\ndef f(s): return g()",
        "import functools\n@functools.cache\ndef g(): return g.x\ng.x = X\ndef f(s): return g()",
        "import numpy\nA = numpy.zeros(1, [(repr(X), int)])\ndef f(s): return A.dtype.names",
        "import attrs\n@attrs.frozen\nclass C:\n x: int = attrs.field(repr=lambda x: X)\ndef f(s): return f'{C(0)}'",
        "import functools\nclass C:\n @functools.cached_property\n def m(self): return X\n"
        "def f(s): return C().m",
        "import attrs\n@attrs.frozen\nclass C:\n x: int = X\ndef f(s): return C()",
        "import attrs\n@attrs.frozen\nclass C:\n x: int = attrs.field(converter=lambda x: X)\n"
        "def f(s): return C(0)",
        "import attrs, functools\n@attrs.frozen\nclass C:\n @functools.cached_property\n def m(self): return X\n"
        "def f(s): return C().m",
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n x: int = X\ndef f(s): return C()",
        "import enum\nclass E(enum.Enum):\n A = X\ndef f(s): return E.A.value",
        "import enum\nclass E(enum.Enum):\n A = 5\n def m(self): return X\ndef f(s): return E.A.m()",
        "import enum\nclass E(enum.Enum):\n A = 5\n def __init__(self, _): self._x = X\n"
        "X = None\ndef f(s): return E.A._x",
        "import enum\nclass B:\n __slots__ = ('x',)\nclass E(B, enum.Enum):\n A = 5\nE.A.x = X\ndef f(s): return E.A.x",
        "import enum\nclass E(str, enum.Enum):\n def __new__(cls, value):\n  made = str.__new__(cls, repr(X))\n"
        "  made._value_ = value\n  return made\n A = 5\nX = None\ndef f(s): return E.A + ''",
        "import enum\nE = enum.Enum('E', {'A': 1, repr(X): 1})\ndef f(s): return E[s]",
        "import collections\nN = collections.namedtuple('N', 'a', defaults=[X])\ndef f(s): return N()",
        "import types\nm = types.ModuleType('m')\nm.x = X\ndef f(s): return m.x",
        "import types\nm = types.ModuleType('m')\nm.x = X\ndef f(s): return getattr(m, 'x')",
        "import types\nm = types.ModuleType('m')\nm.n = types.ModuleType('n')\nm.n.x = X\n"
        "def f(s): return m.n.x",
        "import functools, operator\nf = functools.partial(operator.add, X)",
        "class C:\n def __call__(self, s): return X\nf = C()",
        "class C(dict):\n def __missing__(self, key): return X\nT = C()\ndef f(s): return T[s]",
    ],
)  # fmt: skip
def test_whatever_a_function_reaches_is_part_of_it(text: str) -> None:
    assert described(made(text, X=1)) == described(made(text, X=1))
    others = {described(made(text, X=other)) for other in (1, 2, True, "1", (1,), frozenset({1}))}
    assert len(others) == 6


def test_an_import_of_a_module_in_a_package_reaches_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    package, module = types.ModuleType("some_package"), types.ModuleType("some_package.module")
    monkeypatch.setitem(sys.modules, "some_package", package)
    monkeypatch.setitem(sys.modules, "some_package.module", module)
    f = made("def f(s):\n import some_package.module\n return some_package.limit")
    found = []
    for limit in (1, 1, 2):
        vars(package)["limit"] = limit
        found.append(described(f))
    assert found[0] == found[1] != found[2]


def test_names_that_a_function_does_not_reach_are_not_described() -> None:
    text = "def f(s): return s.other + X"
    assert described(made(text, X=1, other=1)) == described(made(text, X=1, other=2))
    assert described(made(text, X=1)) == described(made("\n\n" + text, X=1)), "nor is where it is written"


def test_entries_of_a_cache_are_not_described() -> None:
    f = made("import functools\n@functools.cache\ndef f(s): return s")
    before = described(f)
    f(1)
    assert described(f) == before


def test_a_function_that_was_replaced_in_a_distribution_or_in_the_standard_library_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    f = made("import attrs, functools\ndef f(s): return attrs.evolve(functools.reduce(s))")
    before = described(f)
    monkeypatch.setattr(attrs, "evolve", lambda *_: 1)
    changed = described(f)
    monkeypatch.setattr(functools, "reduce", functools.wraps(functools.reduce)(lambda *_: 1))
    assert len({before, changed, described(f)}) == 3


def test_a_function_of_highwaters_own_models_is_known_by_where_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that its description does not depend on Python's version, unless it was replaced in memory."""
    before, all = described(fetching.received), Descriptions()
    all.of(fetching.received)
    functions = [value for value, _ in all._nodes.values() if isinstance(value, types.FunctionType)]
    own = [value for value in functions if value.__module__.startswith("highwater.model.partition.")]
    assert len(own) > 3
    assert f"written at {own[0].__module__}:{own[0].__qualname__}:" in all._node(own[0]).text
    for each in own:
        with monkeypatch.context() as patch:
            patch.setattr(each, "__code__", each.__code__.replace(co_consts=(*each.__code__.co_consts, 1)))
            assert described(fetching.received) != before


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ((each for each in ()), "a generator"), (iter([1]), "a list_iterator"), (iter(()), "a tuple_iterator"),
        (itertools.count(), "a count"), (itertools.chain([1]), "a chain"), (map(str, [1]), "a map"), (zip(), "a zip"),
        (threading.Lock(), "a lock"), (random.Random(1), "a Random"), (memoryview(b"1"), "a memoryview"),
        (Path("a"), None), (os.environ, None), ({}.keys(), "a dict_keys"), (np.array([object()]), "a ndarray"),
        (re.finditer("a", "a"), "a callable_iterator"), (decimal.Decimal(1), "a Decimal"),
    ],
)  # fmt: skip
def test_an_indescribable_value_is_refused_with_the_reason(value: Any, what: str | None) -> None:
    with pytest.raises(Indescribable) as caught:
        described(value)
    if what:
        assert str(caught.value).endswith(f" is {what}")


@pytest.mark.parametrize("folder", sorted({path.parent for path in (ROOT / "specs").rglob("*.toml")}), ids=str)
def test_every_model_of_the_gallery_can_be_described(folder: Path) -> None:
    spec = load_spec(sorted(folder.glob("*.toml"))[0])
    system, all = spec.system(), Descriptions()
    properties = [
        each for known in spec.definition.known_properties for each in known.instances(spec.bounds, spec.protocol)
    ]
    assert instances_by_name((*system.actions, *properties), all)
    assert all.of(system.domain) != all.of(system.protocol) != all.of(system.bounds)
    assert all.distributions <= {"attr"}


GENERATOR = (each for each in ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(s): return X", "`f` reaches `X`, a generator"),
        ("def make(x):\n def f(s): return x\n return f\nf = make(X)", "`f` encloses a generator"),
        ("def make(x):\n def f(s): return x\n return f\nf = make([X])", "`f` encloses a list, which holds a generator"),
        ("def g(): return X\ndef f(s): return g()", "`f` reaches `g`, which reaches `X`, a generator"),
        (
            "import os\ndef f(s): return os.environ",
            "`f` reaches `os.environ`, a _Environ, which is of the class os._Environ, which depends on",
        ),
        ("import os\ndef f(s): return os.getenv('A')", "`f` uses os.getenv, which depends on more than its arguments"),
        ("import time\ndef f(s): return time.time()", "`f` uses time.time, which depends on more than its arguments"),
        (
            "from random import random\ndef f(s): return random()",
            "`f` uses `Random.random`, which is bound to a Random",
        ),
        ("def f(s): return open(s)", "`f` uses io.open, which depends on more than its arguments"),
        ("def f(s): return eval('X')", "`f` uses eval, which depends on more than its arguments"),
        ("def f(s): return globals()['X']", "`f` uses globals, which depends on more than its arguments"),
        ("def f(s):\n import os\n return os.environ", "`f` imports os, which depends on more than its arguments"),
        ("def f(s):\n from os import environ\n return environ", "`f` imports "),
        (
            "def f(s):\n import nowhere_to_be_found",
            "`f` imports the module nowhere_to_be_found, which cannot be imported",
        ),
        ("def f(s):\n global X\n X = 1", "`f` is a function that sets the global `X`"),
        ("def f(s): return len(int.__subclasses__())", "`f` is a function that asks a class for its subclasses"),
    ],
)
def test_the_sentence_names_the_indescribable_value_and_its_holder(text: str, said: str) -> None:
    with pytest.raises(Indescribable) as caught:
        described(made(text, X=GENERATOR))
    assert str(caught.value).startswith(said)


class Settings:
    """Something that may be changed in every way."""

    limit = 1

    def __init__(self) -> None:
        self.listed, self.table, self.members = [1], {"one": 1}, {1}
        self.slotted = Slotted(1)
        self.record = Record(1)

    @property
    def doubled(self) -> int:
        return self.limit * 2


def _function_to_change() -> Any:
    settings, helper = Settings(), made("def f(at=1, *, more=2): return at + more + LIMIT", LIMIT=1)
    text = "def f(): return helper(), settings, kind, LIMIT, box.inner.VALUE"
    inner = types.ModuleType("inner")
    box = types.ModuleType("box")
    inner.VALUE, box.inner = 1, inner
    return made(text, helper=helper, settings=settings, kind=type(settings), LIMIT=1, box=box)


def _enclosing() -> Any:
    held = 1

    def helper() -> int:
        return held

    return made("def f(): return helper()", helper=helper)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a global": lambda f: f.__globals__.update(LIMIT=2),
    "a global of what it calls": lambda f: f.__globals__["helper"].__globals__.update(LIMIT=2),
    "a global that hides what is built in": lambda f: f.__globals__["helper"].__globals__.update(LIMIT=True),
    "what it calls": lambda f: f.__globals__.update(helper=len),
    "code": lambda f: setattr(f.__globals__["helper"], "__code__", (lambda at, more: 0).__code__),
    "a default": lambda f: setattr(f.__globals__["helper"], "__defaults__", (2,)),
    "a keyword default": lambda f: f.__globals__["helper"].__kwdefaults__.update(more=3),
    "an attribute of a function": lambda f: setattr(f.__globals__["helper"], "seen", 1),
    "an attribute of a module": lambda f: setattr(f.__globals__["box"].inner, "VALUE", 2),
    "a module of a module": lambda f: setattr(f.__globals__["box"], "inner", types.SimpleNamespace(VALUE=2)),
    "a list": lambda f: f.__globals__["settings"].listed.append(2),
    "a dictionary": lambda f: f.__globals__["settings"].table.update(one=2),
    "a set": lambda f: f.__globals__["settings"].members.add(2),
    "a slot": lambda f: setattr(f.__globals__["settings"].slotted, "seen", 2),
    "an attribute": lambda f: setattr(f.__globals__["settings"], "listed", [2]),
    "a frozen record": lambda f: object.__setattr__(f.__globals__["settings"].record, "number", 2),
    "a class": lambda f: setattr(f.__globals__["kind"], "limit", 2),
    "a method": lambda f: setattr(f.__globals__["kind"], "doubled", property(lambda self: 3)),
    "a new method": lambda f: setattr(f.__globals__["kind"], "__len__", lambda self: 3),
}


@pytest.mark.parametrize("what", CHANGES)
def test_an_object_that_has_changed_since_an_earlier_search_is_described_anew(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("limit", "doubled"):
        monkeypatch.setattr(Settings, name, vars(Settings)[name])  # put back at the end
    monkeypatch.setattr(Settings, "__len__", None, raising=False)
    function = _function_to_change()
    before = described(function)
    assert described(function) == before
    CHANGES[what](function)
    after = described(function)
    descriptions._looked_at.clear()
    descriptions._described.clear()
    assert after == described(function) != before


def test_a_changed_closure_is_noticed_between_two_searches() -> None:
    function = _enclosing()
    before = described(function)
    function.__globals__["helper"].__closure__[0].cell_contents = 2
    assert described(function) != before


def test_an_unchanged_function_is_examined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    function = _function_to_change()
    before = described(function)
    looked_at = []
    look = Descriptions._look
    monkeypatch.setattr(Descriptions, "_look", lambda self, value: looked_at.append(value) or look(self, value))
    assert described(function) == before
    assert not any(isinstance(each, types.FunctionType | Record) for each in looked_at)


def test_constants_and_distributions_are_known_of_what_was_looked_at_before() -> None:
    function = made("def f(): return LIMIT, attrs.evolve", LIMIT=7, attrs=attrs)
    found = []
    for each in (Descriptions(), Descriptions()):
        each.of(function)
        found.append((each.constants, each.distributions))
    assert found[0] == found[1]
    assert "7" in found[0][0].values()
    assert "attr" in found[0][1] or "attrs" in found[0][1]
