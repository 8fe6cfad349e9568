"""What functions, classes and values are, by content: what was learned of one serves another only if both are described
alike.

A description is exact. A function is its code, its defaults, what it encloses, its attributes, and everything that it
reaches by name: globals, attributes of modules, what it imports. A class is its methods, attributes and bases. A value
is its type and all that it holds, so that a list is no tuple, and 1 neither True nor 1.0. What cannot be described so,
such as a generator, an open file or the environment, is `Indescribable`.

Three things are known by less. The standard library is known by name, as far as its functions depend on nothing but
their arguments. Other installed distributions are known by name, and by their version. A function of Highwater's own
models is known by where it is written, if it is as it is written there: whoever asks adds the hash of the file. So
these have the same description under every version of Python.

Names decide nothing. Two graphs of objects are alike if, from their roots, they have the same shape: which objects are
the same one matters, as `is` can tell.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import operator
import re
import sys
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum, EnumMeta
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import attrs
import numpy as np

from highwater.explorer.code_objects import once_for_code, place_of, uses_of
from highwater.explorer.objects import NOTHING, WRAPPER, Content, Objects, is_of_attrs, resolved, taken
from highwater.explorer.sources import KNOWN, Origin, noted, origin_of
from highwater.explorer.values import plain
from highwater.model.language.domain import ArrayOf, Integers, Limit, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.shape import Domain

PURE = {
    "__future__", "abc", "array", "base64", "binascii", "bisect", "builtins", "cmath", "collections", "contextlib",
    "copy", "copyreg", "dataclasses", "decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib",
    "heapq", "itertools", "json", "keyword", "math", "numbers", "operator", "re", "sre", "statistics", "string",
    "struct", "textwrap", "types", "typing", "unicodedata", "zlib",
}  # fmt: skip
"""The modules of the standard library that depend on nothing but what they are given."""

IMPURE = {"__import__", "breakpoint", "compile", "eval", "exec", "globals", "hash", "id", "input", "locals", "open"}
"""The built-in functions that depend on more than what they are given, or reach it."""

REDUCED = (operator.itemgetter, operator.attrgetter, operator.methodcaller, type(vars(namedtuple("T", "a"))["a"]))
MEMBERS = (types.MemberDescriptorType, types.GetSetDescriptorType)
SLOTS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType)
UNORDERED = (set, frozenset)
CONTAINERS = (tuple, list, *UNORDERED)
MIXED_IN = (object, int, float, complex, str, bytes, tuple)  # what members of an enum may be besides
HOLD_OTHERS = {tuple, frozenset, range, slice, Integers, Maybe, SetOf, SequenceOf, ArrayOf}
LEFT_OUT = {
    "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__", "__dict__", "__doc__",
    "__firstlineno__", "__module__", "__orig_bases__", "__parameters__", "__slotnames__", "__static_attributes__",
    "__weakref__", "_abc_impl",
}  # fmt: skip
"""What of a class says nothing of what it does, or changes by being used."""

OF_THE_SYSTEM = {
    "__annotations__", "__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__path__", "__spec__",
}  # fmt: skip
"""What of a module depends on where and how it was loaded."""

FIELD = ("default", "validator", "repr", "eq", "eq_key", "order", "order_key", "hash", "init", "metadata", "converter",
         "kw_only", "alias", "on_setattr")  # fmt: skip
MADE_BY_ATTRS = "<attrs generated"
SET = "set"  # all of whose parts but the class are members
SHOWN = 60  # letters of a constant


class Indescribable(Exception):
    """Something that functions reach cannot be described: the message says what reaches what."""


@attrs.frozen(eq=False)
class Part:
    """What an object is made of, and how: the text has {} where an object that cannot be described is named."""

    of: Any
    how: str = "holds {}"


@attrs.frozen(eq=False)
class Node:
    """An object, looked at.

    Attributes:
        text: all that is a text of it, with # in place of each of its parts.
        parts: the others.
        members: how many of them, the last ones, have no order.
        constants, distributions: see `Descriptions`; those that this object uses itself.
    """

    text: str
    parts: tuple[Part, ...]
    members: int
    constants: dict[str, str]
    distributions: set[str]

    @classmethod
    def of(cls, found: Iterable[str | Part], constants: dict[str, str], distributions: set[str]) -> Node:
        """Args:
        constants, distributions: filled while the parts are listed.
        """
        listed = tuple(found)
        parts = tuple(each for each in listed if not isinstance(each, str))
        text = " ".join(each if isinstance(each, str) else "#" for each in listed)
        return cls(text, parts, len(parts) - 1 if listed[0] == SET else 0, constants, distributions)

    def is_like(self, other: Node | Refused) -> bool:
        """Whether two looks at an object have found the same."""
        if self is other:
            return True
        if isinstance(other, Refused) or self.text != other.text or len(self.parts) != len(other.parts):
            return False
        return all(one.of is another.of for one, another in zip(self.parts, other.parts, strict=True))


@attrs.frozen(eq=False)
class Refused:
    """Why an object cannot be described: what it is, in words."""

    what: str


@attrs.frozen(eq=False)
class Kept:
    """What an earlier search found: an object, what it was made of, and what it was."""

    value: Any
    content: Content
    node: Node


@attrs.frozen(eq=False)
class Described:
    """A description that an earlier search made: of an object, and of all that it reaches."""

    root: Any
    text: str
    reached: tuple[tuple[Any, Node], ...]


_looked_at: dict[int, Kept] = {}
_described: dict[int, Described] = {}
MOST_KEPT = 200_000


def _are_the_same(one: Content, other: Content) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


class Descriptions:
    """Descriptions of objects as they are when they are first asked for, as hashes. Each object is looked at once; if
    an earlier search has looked at it, then only for whether it is still made of the same.

    Attributes:
        constants: the plain values that functions reach as globals, by module and name, as texts.
        distributions: the top-level modules of installed distributions that were reached.
    """

    def __init__(self) -> None:
        if len(_looked_at) > MOST_KEPT:
            _looked_at.clear()
            _described.clear()
        self.constants: dict[str, str] = {}
        self.distributions: set[str] = set()
        self._constants: dict[str, str] = {}  # of the object that is looked at
        self._distributions: set[str] = set()
        self._nodes: dict[int, tuple[Any, Node | Refused]] = {}
        self._objects = Objects()
        self._plain: dict[int, tuple[Any, str | None]] = {}
        self._found: dict[int, tuple[Any, str]] = {}
        self._orders: dict[int, tuple[Part, ...]] = {}
        self._within: set[int] = set()  # sets whose members are put into an order

    def of(self, value: Any, name: str = "") -> str:
        """What a value is, as a hash.

        Args:
            name: what to call it.

        Raises:
            Indescribable: it cannot be described, or something that it reaches.
        """
        if (text := self._plain_text(value)) is not None:
            return text if len(text) < SHOWN else _hash(text)
        if id(value) not in self._found:
            self._found[id(value)] = value, self._earlier(value) or self._described(value, name or _called(value))
        return self._found[id(value)][1]

    def _earlier(self, root: Any) -> str | None:
        """An earlier description, if all that the object reaches is as it was."""
        earlier = _described.get(id(root))
        if earlier is None or not all(node.is_like(self._node(value)) for value, node in earlier.reached):
            return None
        return earlier.text

    def _described(self, root: Any, name: str) -> str:
        nodes, numbers, todo = self._nodes, {id(root): 0}, [root]
        described: list[str | int] = []
        for value in todo:  # which grows
            known = nodes.get(id(value))
            node = self._node(value) if known is None else known[1]
            if isinstance(node, Refused):
                raise Indescribable(self._sentence(name, root, value, node.what))
            described.append(node.text)
            for part in self._sorted(value, node) if node.members else node.parts:
                of = part.of
                key = id(of)
                if key not in numbers:
                    numbers[key] = len(todo)
                    todo.append(of)
                described.append(numbers[key])
        text = _hash(ascii(described))
        if not self._within and not isinstance(root, dict | Domain):  # which are made anew for each search
            reached = tuple((value, cast("Node", nodes[id(value)][1])) for value in todo)
            _described[id(root)] = Described(root, text, reached)
        return text

    def _sorted(self, value: Any, node: Node) -> Iterable[Part]:
        """The parts of a set in an order that does not depend on the process."""
        if id(value) in self._within:
            return node.parts
        if id(value) in self._orders:
            return self._orders[id(value)]
        self._within.add(id(value))
        try:
            before, members = node.parts[: -node.members], node.parts[-node.members :]
            found = (*before, *sorted(members, key=self._text_of))
        finally:
            self._within.remove(id(value))
        if not self._within:  # sets that hold one another would be cut elsewhere
            self._orders[id(value)] = found
        return found

    def _text_of(self, part: Part) -> str:
        with suppress(Indescribable):  # its own turn comes
            return self._described(part.of, "")
        return ""

    def _sentence(self, name: str, root: Any, value: Any, what: str) -> str:
        """Which function reaches what cannot be described, and how."""
        if value is root:
            return f"`{name}` is {what}"
        reached = self._ways(root)
        above, how = reached[id(value)]
        described = how.format(what)
        while above != id(root):
            holder = self._nodes[above][0]
            if isinstance(holder, FunctionType | type):
                return f"`{name}` reaches `{holder.__qualname__}`, which {described}"
            above, how = reached[above]
            described = f"{how.format(_kind(holder))}, which {described}" if above == id(root) else described
        return f"`{name}` {described}"

    def _ways(self, root: Any) -> dict[int, tuple[int, str]]:
        """From what each object is reached that has been looked at on the way from a root, and how."""
        reached: dict[int, tuple[int, str]] = {id(root): (id(root), "")}
        todo = [root]
        for value in todo:  # which grows
            _, node = self._nodes.get(id(value), (None, None))
            for part in node.parts if isinstance(node, Node) else ():
                if id(part.of) not in reached:
                    reached[id(part.of)] = id(value), part.how
                    todo.append(part.of)
        return reached

    # Plain values are texts

    def _plain_text(self, value: Any) -> str | None:
        """A value that holds no others but plain ones, and cannot change, as a text; None if it is not of that kind."""
        kind = type(value)
        if kind is int:
            return hex(value)
        if kind is str:
            return ascii(value)
        if kind is float:
            return f"float {value.hex()}"
        if value is None or kind is bool or value is ...:
            return repr(value)
        if kind is bytes:
            return ascii(value)
        if kind is complex:
            return f"complex {value.real.hex()} {value.imag.hex()}"
        if kind is Limit:
            return f"Limit {int(value)} {value.key!a}"
        if kind not in HOLD_OTHERS:
            return None
        if id(value) not in self._plain:
            self._plain[id(value)] = value, None  # a tuple that holds itself is none
            self._plain[id(value)] = value, self._plain_members(value)
        return self._plain[id(value)][1]

    def _plain_members(self, value: Any) -> str | None:
        members = value
        if isinstance(value, range | slice):
            members = (value.start, value.stop, value.step)
        elif isinstance(value, Domain):
            members = tuple(getattr(value, field.name) for field in attrs.fields(cast("Any", type(value))))
        try:
            texts = [self._plain_text(each) for each in members]
        except RecursionError:
            return None
        if None in texts:
            return None
        described = [str(each) for each in texts]
        text = f"{type(value).__name__}({', '.join(sorted(described) if isinstance(value, frozenset) else described)})"
        return text if len(text) < 1000 else f"{type(value).__name__} {_hash(text)}"

    def _part(self, value: Any, how: str = "holds {}") -> str | Part:
        if hasattr(type(value), "__plain__"):
            value = _behind(value)
        text = self._plain_text(value)
        return Part(value, how) if text is None else text

    # Objects are their parts

    def _node(self, value: Any) -> Node | Refused:
        known = self._nodes.get(id(value))
        if known is not None:
            return known[1]
        node = self._looked_at(value)
        if isinstance(node, Node):
            self.constants |= node.constants
            self.distributions |= node.distributions
        self._nodes[id(value)] = value, node
        return node

    def _looked_at(self, value: Any) -> Node | Refused:
        """What an object is; what was found by an earlier search as long as it is made of the same objects."""
        content, kept = self._objects.content(value), _looked_at.get(id(value))
        if kept is not None and content is not None and _are_the_same(kept.content, content):
            return kept.node
        self._constants, self._distributions = {}, set()
        found = self._look(value)
        if isinstance(found, Refused):
            return found
        node = Node.of(found, self._constants, self._distributions)
        if content is not None:
            _looked_at[id(value)] = Kept(value, content, node)
        return node

    def _look(self, value: Any) -> Iterable[str | Part] | Refused:
        kind = type(value)  # what an object says of its class may be untrue
        look = _LOOKS.get(kind) or next((look for one, look in _BELOW.items() if issubclass(kind, one)), None)
        return look(self, value) if look else self._instance(value)

    def _function(self, function: FunctionType) -> Iterable[str | Part] | Refused:
        module, origin = _module_of(function)
        where = f"{module}:{function.__qualname__}"
        known = origin in KNOWN
        if known and resolved(module, function.__qualname__) is function:
            return self._by_name(module, where, origin)
        code = function.__code__
        written = place_of(code, module, self._objects.stamp(module)) if origin == Origin.MODELS else None
        parts: list[str | Part] = ["function", ascii(where), written or _code_text(code)]
        parts.append(self._part(function.__defaults__, "has the defaults {}"))
        parts.append(self._part(function.__kwdefaults__, "has the defaults {}"))
        for cell in function.__closure__ or ():
            parts.append(self._cell(cell))
        parts += self._attributes_in(vars(function), WRAPPER - {"__wrapped__"})
        if known:  # and made anew by each call of what made it
            self._note(module, origin)
            return parts
        uses = uses_of(code)
        if uses.sets:
            return Refused(f"a function that sets the global `{uses.sets[0]}`")
        if uses.subclasses:
            return Refused("a function that asks a class for its subclasses")
        for name, chain in uses.names:
            parts += self._global(function, name, chain)
        for name, level, names in uses.imports:
            parts += self._imported(function, name, level, names)
        return parts

    def _cell(self, cell: Any) -> str | Part:
        try:
            return self._part(cell.cell_contents, "encloses {}")
        except ValueError:
            return "an empty cell"

    def _global(self, function: FunctionType, name: str, chain: tuple[str, ...]) -> Iterator[str | Part]:
        """What a name of a function stands for; of a module the attribute that is taken."""
        shown_as, value = taken(function, name, chain)
        yield ascii(shown_as)
        if value is NOTHING:
            yield "is nothing"
            return
        named = isinstance(value, ModuleType | FunctionType | BuiltinFunctionType | type)
        part = self._part(value, "uses {}" if named else f"reaches `{shown_as}`, {{}}")
        if isinstance(part, str) and not name.startswith("__"):
            text = part if isinstance(value, tuple | frozenset) else repr(value)
            shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({_hash(part)[:8]})"
            self._constants[f"{function.__globals__.get('__name__')}.{shown_as}"] = shown
        yield part

    def _imported(self, function: FunctionType, name: str, level: int, taken: tuple[str, ...]) -> Iterator[str | Part]:
        """What a function imports when it runs."""
        package = function.__globals__.get("__package__") or ""
        try:
            with noted():
                module = importlib.import_module("." * level + name, package)
        except BaseException as error:  # whatever the module raises
            yield Part(Refused(f"the module {name}, which cannot be imported: {type(error).__name__}"), "imports {}")
            return
        yield f"import {module.__name__}"
        if not taken or origin_of(module.__name__) in KNOWN:
            yield Part(module, "imports {}")
            if not taken:  # `import a.b` binds a
                yield Part(sys.modules[module.__name__.partition(".")[0]], "imports {}")
            return
        for each in taken:
            value = getattr(module, each, NOTHING)
            if value is NOTHING:
                with suppress(Exception):
                    value = importlib.import_module(f"{module.__name__}.{each}")
            yield ascii(each)
            yield "is nothing" if value is NOTHING else self._part(value, f"imports `{each}`, {{}}")

    def _by_name(self, module: str, where: str, origin: Origin) -> Iterable[str | Part] | Refused:
        """What is known by its name: of the standard library, or of a distribution, which has a version."""
        if origin == Origin.ELSEWHERE:
            return Refused(f"{where.replace(':', '.')}, which is not written in Python")
        if origin == Origin.STANDARD and module.partition(".")[0].lstrip("_") not in PURE:
            return Refused(f"{where.replace(':', '.')}, which depends on more than its arguments")
        self._note(module, origin)
        return ("known", ascii(where))

    def _note(self, module: str, origin: Origin) -> None:
        if origin == Origin.INSTALLED:
            self._distributions.add(module.partition(".")[0])

    def _builtin(self, value: Any) -> Iterable[str | Part] | Refused:
        if value.__self__ is not None and not isinstance(value.__self__, ModuleType):
            return ("built-in method", ascii(value.__name__), self._part(value.__self__, "is bound to {}"))
        module = value.__module__ or "builtins"
        if module == "builtins" and value.__name__ in IMPURE:
            return Refused(f"{value.__name__}, which depends on more than its arguments")
        return self._by_name(module, f"{module}:{value.__qualname__}", origin_of(module))

    def _module(self, module: ModuleType) -> Iterable[str | Part] | Refused:
        name = module.__name__
        origin = origin_of(name) if sys.modules.get(name) is module else Origin.ELSEWHERE
        if origin in KNOWN:
            return self._by_name(name, name, origin)
        return ("module", name, *self._attributes_in(vars(module), OF_THE_SYSTEM))

    def _attributes_in(self, found: Mapping[str, Any], without: Iterable[str] = ()) -> Iterator[str | Part]:
        for name in sorted(found.keys() - set(without)):
            yield from self._attribute(name, found[name])

    def _attribute(self, name: str, value: Any) -> Iterator[str | Part]:
        yield ascii(name)
        yield self._part(value, f"has `{name}`, {{}}")

    # Classes

    def _class(self, cls: type) -> Iterable[str | Part] | Refused:
        module, origin = cls.__module__, origin_of(cls.__module__)
        where = f"{module}:{cls.__qualname__}"
        if origin in KNOWN and resolved(module, cls.__qualname__) is cls:
            return self._by_name(module, where, origin)
        if not cls.__flags__ & HEAP_TYPE:
            return self._by_name(module, where, origin)
        if any(isinstance(each, SLOTS) and each.__objclass__ is cls for each in vars(cls).values()):
            return Refused(f"`{cls.__qualname__}`, which is not written in Python")
        own = origin == Origin.MODELS and resolved(module, cls.__qualname__) is cls
        parts: list[str | Part] = ["class", ascii(where)]
        parts += [self._part(each, "is of the class {}") for each in (type(cls), *cls.__bases__)]
        if isinstance(cls, EnumMeta):
            every: Mapping[str, Enum] = cls.__members__
            for name, member in every.items():
                parts += [ascii(name), self._part(member, "has the member {}")]
        elif is_of_attrs(cls):
            parts += [ascii(field.name) for field in attrs.fields(cls)]
            parts += [] if own else self._fields(cls)
        inside = {
            name: value
            for name, value in vars(cls).items()
            if name not in LEFT_OUT and not self._is_left_out(name, value, cls, own=own)
        }
        return (*parts, *self._attributes_in(inside))

    @staticmethod
    def _is_left_out(name: str, value: Any, cls: type, *, own: bool) -> bool:
        """Whether an attribute of a class is described elsewhere, or is no part of what the class does.

        What attrs and `Enum` add to classes differs from version to version. Of Highwater's own classes, whose file is
        known, only functions and plain values are described, which may have been replaced in memory.
        """
        if own and not isinstance(value, DEFINED):
            return True
        if name.startswith("__attrs_") or isinstance(value, MEMBERS):
            return True
        function = getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and name.startswith("__"):
            made_by_attrs = function.__code__.co_filename.startswith(MADE_BY_ATTRS) and name != "__getattr__"
            if made_by_attrs or (is_of_attrs(cls) and function.__globals__.get("__name__") == "attr._make"):
                return True
        if isinstance(cls, EnumMeta):
            of_enum = origin_of(getattr(function, "__module__", None) or "enum") == Origin.STANDARD
            return name in cls.__members__ or (name.startswith("_") and name.endswith("_") and of_enum)
        if own:
            is_dunder = name.startswith("__") and name.endswith("__")
            return is_dunder and not isinstance(function, FunctionType)
        return False

    def _fields(self, cls: type) -> Iterator[str | Part]:
        """What a class of attrs does with its fields."""
        for field in attrs.fields(cls):
            for name in FIELD:
                yield name
                yield self._part(getattr(field, name, None), f"has the field `{field.name}`, whose {name} is {{}}")
        if hasattr(attrs, "inspect"):
            yield self._part(attrs.inspect(cls), "is a class of attrs with {}")

    # Values

    def _member(self, member: Enum) -> Iterable[str | Part] | Refused:
        """A member of an enum: what `Enum` itself notes of it is made of the class."""
        shape = self._objects.shape(type(member))
        if not shape.is_whole or shape.base not in MIXED_IN:
            return Refused(_kind(member))
        found = shape.attributes_of(member)
        inside = {name: value for name, value in found.items() if not (name.startswith("_") and name.endswith("_"))}
        return ("member", self._part(type(member)), ascii(member._name_), self._part(found.get("_value_")),
                *self._content(shape.base, member), *self._attributes_in(inside))  # fmt: skip

    def _items(self, value: Any) -> Iterator[str | Part]:
        return (self._part(each) for item in value.items() for each in item)

    def _array(self, value: Any) -> Iterable[str | Part] | Refused:
        if value.dtype.hasobject:
            return Refused(_kind(value))
        data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return ("array", type(value).__name__, repr(value.dtype.descr), str(np.shape(value)), data)

    def _instance(self, value: Any) -> Iterable[str | Part] | Refused:
        """An object of a class that is written in Python, all of which is in its attributes, and in what it has of a
        built-in type.
        """
        cls = type(value)
        shape = self._objects.shape(cls)
        base = shape.base
        if not shape.is_whole:
            return Refused(_kind(value))
        attributes = shape.attributes_of(value)
        if attributes and base in UNORDERED:
            return Refused(_kind(value))
        what = SET if base in UNORDERED else "object"
        of = self._part(cls, "is of the class {}")
        in_order = (part for name, each in attributes.items() for part in self._attribute(name, each))
        return (what, of, *self._content(base, value), *in_order)

    def _content(self, base: Any, value: Any) -> Iterator[str | Part]:
        """What an object has of a built-in type."""
        if base is dict:
            yield from (self._part(each) for item in dict.items(value) for each in item)
        elif base in CONTAINERS:
            members = list(map(self._part, base.__iter__(value)))
            in_no_order = sorted(each for each in members if isinstance(each, str)) if base in UNORDERED else []
            yield from (f"{len(members)} members", *in_no_order)
            yield from (each for each in members if base not in UNORDERED or isinstance(each, Part))
        elif base is not object:
            yield str(self._plain_text(bytes(value) if base is bytearray else _as_base(base, value)))


Look = Callable[[Descriptions, Any], Iterable[str | Part] | Refused]
"""From an object to its parts."""


def _of(*names: str) -> Look:
    """Of an object that has all it is made of in these attributes."""
    return lambda all, value: (type(value).__name__, *(all._part(getattr(value, name)) for name in names))


def _code(all: Descriptions, value: CodeType) -> Iterable[str | Part]:
    return "code", _code_text(value)


_BELOW: dict[type, Look] = {Enum: Descriptions._member, type: Descriptions._class, ModuleType: Descriptions._module}
_LOOKS: dict[type, Look] = {
    FunctionType: Descriptions._function,
    BuiltinFunctionType: Descriptions._builtin,
    types.MethodWrapperType: Descriptions._builtin,
    MethodType: lambda all, value: ("method", all._part(value.__func__), all._part(value.__self__, "is bound to {}")),
    CodeType: _code,
    Refused: lambda all, value: value,
    property: _of("fget", "fset", "fdel"),
    classmethod: _of("__func__"),
    staticmethod: _of("__func__"),
    functools.cached_property: _of("func", "attrname"),
    functools.partial: _of("func", "args", "keywords", "__dict__"),
    functools._lru_cache_wrapper: lambda all, value: ("cache", *map(all._part, (
        value.__wrapped__, value.cache_parameters())), *all._attributes_in(vars(value), WRAPPER)),
    types.GenericAlias: _of("__origin__", "__args__"),
    types.UnionType: _of("__args__"),
    re.Pattern: _of("pattern", "flags"),
    deque: lambda all, value: ("deque", all._part(value.maxlen), *map(all._part, value)),
    defaultdict: lambda all, value: ("defaults", all._part(value.default_factory), *all._items(value)),
    OrderedDict: lambda all, value: ("ordered", *all._items(value)),
    types.MappingProxyType: lambda all, value: ("mappingproxy", *all._items(value)),
    np.ndarray: Descriptions._array,
    OneOf: _of("members"),  # what else it has is made of these
    **dict.fromkeys(REDUCED, lambda all, value: ("made by", *map(all._part, value.__reduce__()))),
    **dict.fromkeys(SLOTS, lambda all, value: (type(value).__name__, all._part(value.__objclass__), value.__name__)),
    **dict.fromkeys(MEMBERS, lambda all, value: (type(value).__name__, ascii(value.__name__))),
    **dict.fromkeys({*np.sctypeDict.values()}, Descriptions._array),
}  # fmt: skip

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
DEFINED = (FunctionType, classmethod, staticmethod, property, functools.cached_property, bool, int, float, str, bytes,
           tuple, frozenset, type(None))  # fmt: skip


def _as_base(base: Any, value: Any) -> Any:
    """The content that an object has of a built-in type, whatever its class makes of operators."""
    if base is str:
        return str.__str__(value)
    if base is bytes:
        return bytes.__add__(value, b"")
    return base.__pos__(value)


def _module_of(function: FunctionType) -> tuple[str, Origin]:
    """The module whose globals a function has, and where this is from. What says that it is of a module need not be."""
    name = str(function.__globals__.get("__name__"))
    module = sys.modules.get(name)
    is_of = module is not None and vars(module) is function.__globals__
    return name, origin_of(name) if is_of else Origin.ELSEWHERE


def _behind(view: Any) -> Any:
    """The plain value of a part of a state that a run has left in a cache."""
    try:
        return plain(view)
    except Exception:  # it was left without being read
        return Refused("a part of a state")


def _called(value: Any) -> str:
    return str(getattr(value, "__name__", None) or type(value).__name__)


def _kind(value: Any) -> str:
    """What an object is, in words."""
    if isinstance(value, FunctionType | BuiltinFunctionType | type):
        return f"`{value.__qualname__}`"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@once_for_code
def _code_text(code: CodeType) -> str:
    """A hash of all of code but where it is written."""
    plain = Descriptions()
    constants = [
        _code_text(each) if isinstance(each, CodeType) else str(plain._plain_text(each)) for each in code.co_consts
    ]
    described = (
        code.co_qualname, code.co_code.hex(), code.co_exceptiontable.hex(), code.co_flags, code.co_argcount,
        code.co_posonlyargcount, code.co_kwonlyargcount, code.co_names, code.co_varnames, code.co_freevars,
        code.co_cellvars, constants,
    )  # fmt: skip
    return _hash(ascii(described))
