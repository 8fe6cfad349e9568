"""What expressions in a model's functions may stand for, as far as the text shows it."""

from __future__ import annotations

import ast
import builtins
import functools
from enum import Enum
from types import FunctionType
from typing import Any

import attrs

from highwater.explorer.compiler.written import enclosed, own_names, text_of
from highwater.explorer.system import System
from highwater.model.language.declarations import Quantified
from highwater.model.language.domain import OneOf, classes_in, domains_in
from highwater.model.language.shape import Domain, Shape

GIVEN = ("protocol", "bounds")
_unparsed = functools.cache(ast.unparse)


@attrs.frozen
class Known:
    """An object that a name stands for."""

    value: Any


@attrs.frozen
class Part:
    """A part of a state, by what it is called in the text; its domain if that is known."""

    text: str
    domain: Any = None

    @property
    def has_identity(self) -> bool:
        """Whether its values are the same objects each time."""
        domain = of_what_is_there(self.domain)
        return isinstance(domain, Domain) and domain.is_scalar and not domain.inside()


class TypeOf:
    """What `type(...)` gives."""


class Given:
    """The protocol or the bounds, which functions get as they are."""


class OwnClass:
    """What `x.__class__` gives, which is right for a view."""


class Unknown:
    """Anything."""


class Parts:
    """What parts of a state there may be: the classes of its records, and the domains of fields by name."""

    def __init__(self, system: System) -> None:
        self.state = system.domain
        self.toggles = _toggles(system.protocol)
        self.classes = list(dict.fromkeys(classes_in(self.state)))
        numbers = [] if system.ranks is None else [int]  # which are opaque
        self.kinds = {*self.classes, tuple, frozenset, *numbers}
        self.fields: dict[str, list[Any]] = {}
        for domain in domains_in(self.state):
            for name, of in domain.inside().items() if domain.shape is Shape.RECORD else ():
                self.fields.setdefault(name, []).append(of)

    def field(self, name: str) -> Any:
        """The domain of the fields of a name: one that is no scalar if any of them is none."""
        found = self.fields[name]
        return next((each for each in found if not each.is_scalar), found[0])


def _toggles(protocol: Any) -> dict[str, OneOf]:
    """The domains of a protocol's toggles."""
    if not attrs.has(type(protocol)):
        return {}
    found = {field.name: getattr(protocol, field.name, None) for field in attrs.fields(type(protocol))}
    return {name: OneOf(type(value)) for name, value in found.items() if isinstance(value, Enum)}


class Reader:
    """What the expressions of a function may stand for."""

    def __init__(self, function: FunctionType, of: Quantified | None, parts: Parts | None) -> None:
        code = function.__code__
        self.text = text_of(code)
        self._code = code
        self._parts = parts
        self._kinds: dict[tuple[ast.expr, int], Any] = {}
        self._places = (enclosed(function), function.__globals__, vars(builtins))
        self._arguments: dict[str, Any] = dict.fromkeys(
            code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], Unknown()
        )
        if of is not None and parts is not None:
            for number, name in enumerate(list(self._arguments)):
                if number < of.subjects:
                    self._arguments[name] = Part(name, parts.state)
                elif name in of.parameters:
                    self._arguments[name] = _parameter(name, of.parameters[name])
        self._arguments |= {name: Given() for name in GIVEN if name in self._arguments}

    def place(self, node: Any) -> str:
        """Where a part of the function is written, in words."""
        return f"at {self._code.co_filename}:{node.lineno} in {self._code.co_name}"

    def values(self, node: ast.expr, *, only_tables: bool = False) -> tuple[Any, ...]:
        """The values that are looked up by hash: of a set or the keys of a table, as far as the text shows them."""
        match node:
            case ast.Set(elts=elements) if not only_tables:
                kinds = list(map(self.kind, elements))
            case ast.Dict(keys=keys):
                kinds = [Unknown() if key is None else self.kind(key) for key in keys]
            case _:
                return self._values_of(self.kind(node), only_tables=only_tables)
        return tuple(each.value for each in kinds if isinstance(each, Known))

    @staticmethod
    def _values_of(kind: Any, *, only_tables: bool) -> tuple[Any, ...]:
        inside = kind.domain.inside().get("") if _is_of(kind, Shape.SET) else None
        if isinstance(inside, OneOf):
            return () if only_tables else inside.members
        if isinstance(kind, Known) and isinstance(kind.value, dict if only_tables else set | frozenset | dict):
            return tuple(kind.value)
        return ()

    def is_argument(self, node: ast.expr) -> bool:
        """Whether an expression is what the function was given."""
        return isinstance(node, ast.Name) and node.id in self._arguments and node.id not in self.text.assigned

    def kind(self, node: ast.expr, depth: int = 0) -> Any:
        """What an expression stands for, as far as the text shows it."""
        if depth > 20:
            return Unknown()
        if (node, depth) not in self._kinds:  # names that are bound to each other lead to one expression in many ways
            self._kinds[node, depth] = self._kind(node, depth)
        return self._kinds[node, depth]

    def _kind(self, node: ast.expr, depth: int) -> Any:
        match node:
            case ast.Constant(value=value):
                return Known(value)
            case ast.NamedExpr(value=value):
                return self.kind(value, depth + 1)
            case ast.Name(id=name):
                return self._name(name, depth)
            case ast.Attribute(value=of, attr=name):
                return self._attribute(self.kind(of, depth + 1), name, _unparsed(node))
            case ast.Subscript(value=of):
                base = self.kind(of, depth + 1)
                return _element(base, f"{base.text}[{_unparsed(node.slice)}]") if isinstance(base, Part) else Unknown()
            case ast.Call(func=function, args=[argument], keywords=[]):
                called = self.kind(function, depth + 1)
                is_type = stands_for(called, type)
                return self._type_of(self.kind(argument, depth + 1)) if is_type else Unknown()
        return Unknown()

    @staticmethod
    def _type_of(kind: Any) -> Any:
        return Known(type(kind.value)) if isinstance(kind, Known) else TypeOf()

    def _name(self, name: str, depth: int) -> Any:
        if (found := self.text.assigned.get(name)) is not None and name not in self.text.members:
            kinds = [Unknown() if each is None else self.kind(each, depth + 1) for each in found]
            if name in self._arguments or len(kinds) > 1:
                return next((each for each in kinds if isinstance(each, TypeOf)), Unknown())
            return kinds[0]
        if name in self.text.members:
            over = [self.kind(each, depth + 1) for each in self.text.members[name]]
            if len(over) == 1 and name not in self.text.assigned and isinstance(over[0], Part):
                return _element(over[0], f"each {name} of {over[0].text}")
            return Unknown()
        if name in self._arguments:
            return self._arguments[name]
        if name in own_names(self._code):
            return Unknown()
        return next((Known(place[name]) for place in self._places if name in place), Unknown())

    def _attribute(self, base: Any, name: str, text: str) -> Any:
        if name == "__class__":
            return OwnClass()
        if isinstance(base, Known):
            return Known(getattr(base.value, name)) if hasattr(base.value, name) else Unknown()
        if isinstance(base, Given) and self._parts is not None and name in self._parts.toggles:
            return Part(text, self._parts.toggles[name])
        if isinstance(base, TypeOf | Given) or self._parts is None:
            return Unknown()
        if isinstance(base, Part):
            text = f"{base.text}.{name}"
            if _is_of(base, Shape.RECORD):
                of = base.domain.inside().get(name)
                return Unknown() if of is None else Part(text, of)
        if name in self._parts.fields:
            return Part(text, self._parts.field(name))
        return Part(text, self._parts.toggles[name]) if name in self._parts.toggles else Unknown()


def _parameter(name: str, declared: Any) -> Any:
    """What an action's parameter stands for: no part of the state, and a scalar if it is declared as one."""
    is_scalar = isinstance(declared, type) or (isinstance(declared, Domain) and declared.is_scalar)
    return Part(name, declared) if is_scalar else Unknown()


def _element(of: Part, text: str) -> Part:
    domain = of_what_is_there(of.domain)
    return Part(text, domain.inside().get("") if isinstance(domain, Domain) else None)


def of_what_is_there(domain: Any) -> Any:
    """The domain of what is there, if something is."""
    return domain.inside()[""] if isinstance(domain, Domain) and domain.shape is Shape.OPTION else domain


def _is_of(kind: Any, shape: Shape) -> bool:
    return isinstance(kind, Part) and isinstance(kind.domain, Domain) and kind.domain.shape is shape


def stands_for(kind: Any, *objects: Any) -> bool:
    return isinstance(kind, Known) and any(kind.value is each for each in objects)


def is_one_object(kind: Any) -> bool:
    """Whether it is the same object in every run: None, a truth value, a member of an enum, a function, a number."""
    return isinstance(kind, Known) and not (
        isinstance(kind.value, tuple | frozenset | type) or attrs.has(type(kind.value))
    )
