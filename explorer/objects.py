"""What objects are made of in memory, and whether they still are: who has looked at one need not look again."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import Enum, EnumMeta
from types import FunctionType, ModuleType
from typing import Any

import attrs

from highwater.explorer.code_objects import uses_of
from highwater.explorer.sources import Stamp, changed_last

CONTENT = (int, float, complex, str, bytes, bytearray, tuple, list, dict, set, frozenset)
WRAPPER = {*functools.WRAPPER_ASSIGNMENTS, "__wrapped__", "__annotate__", "__type_params__", "_attrs_cached_hash"}
NEVER_CHANGE = (tuple, frozenset)
NOTHING = object()
IN = {property: ("fget", "fset", "fdel"), classmethod: ("__func__",), staticmethod: ("__func__",),
      functools.cached_property: ("func", "attrname")}  # fmt: skip

Content = tuple[Any, ...]
"""Objects that another is made of."""

_same_stamps: dict[Stamp, Stamp] = {}


class Objects:
    """Objects as they are while a search begins."""

    def __init__(self) -> None:
        self._stamps: dict[str, Stamp] = {}
        self._shapes: dict[type, Shape] = {}

    def stamp(self, module: str) -> Stamp:
        """When the file of a module was changed last; the same object for the same time."""
        if module not in self._stamps:
            found = changed_last(module)
            self._stamps[module] = _same_stamps.setdefault(found, found)
        return self._stamps[module]

    def shape(self, cls: type) -> Shape:
        """Where objects of a class have what they are made of."""
        if cls not in self._shapes:
            self._shapes[cls] = Shape.of(cls)
        return self._shapes[cls]

    def content(self, value: Any) -> Content | None:
        """All that a description of an object depends on, but for what these objects are made of: as long as they are
        the same ones, its own part in the description is the same. None where that cannot be known.
        """
        kind = type(value)
        if kind in NEVER_CHANGE:
            return ()
        if kind is FunctionType:
            return self._of_function(value)
        if kind is dict:
            return _items(value)
        if kind is list or kind is set:
            return tuple(value)
        if kind in IN:
            return tuple(getattr(value, name) for name in IN[kind])
        if kind is functools.partial:
            return (value.func, *value.args, *_items(value.keywords), *_items(vars(value)))
        if issubclass(kind, type):
            return self._of_class(value)
        if issubclass(kind, Enum):
            return _items(self.shape(kind).attributes_of(value))
        if is_of_attrs(kind):
            shape = self.shape(kind)
            return _items(shape.attributes_of(value)) if shape.is_whole and shape.base is object else None
        return None

    def _of_function(self, function: FunctionType) -> Content | None:
        uses = uses_of(function.__code__)
        if uses.imports or uses.sets:
            return None
        name = str(function.__globals__.get("__name__"))
        module = sys.modules.get(name)
        return (
            function.__code__, function.__qualname__, function.__defaults__, function.__kwdefaults__,
            module, getattr(module, "__spec__", None), resolved(name, function.__qualname__), self.stamp(name),
            *map(_content_of_cell, function.__closure__ or ()), *_items(vars(function)),
            *(taken(function, name, attributes)[1] for name, attributes in uses.names),
        )  # fmt: skip

    def _of_class(self, cls: type) -> Content:
        module = sys.modules.get(cls.__module__)
        members = cls.__members__.values() if isinstance(cls, EnumMeta) else ()
        return (type(cls), *cls.__bases__, module, getattr(module, "__spec__", None),
                resolved(cls.__module__, cls.__qualname__), *members, *_items(vars(cls)))  # fmt: skip


def _items(found: Mapping[Any, Any]) -> Content:
    return (*found, *found.values())


def _content_of_cell(cell: Any) -> Any:
    with suppress(ValueError):
        return cell.cell_contents
    return NOTHING


def taken(function: FunctionType, name: str, attributes: Iterable[str]) -> tuple[str, Any]:
    """What a name of a function stands for, NOTHING if nothing; of modules the attributes that are taken one after the
    other, and how that is written.
    """
    given = function.__globals__
    value = given.get(name, NOTHING)
    if value is NOTHING:
        inside = given.get("__builtins__", builtins)
        value = (inside if isinstance(inside, dict) else vars(inside)).get(name, NOTHING)
    for attribute in attributes:
        if not isinstance(value, ModuleType):
            break
        value = getattr(value, attribute, NOTHING)
        name = f"{name}.{attribute}"
    return name, value


def resolved(module: str, name: str) -> Any:
    """What a module has under a name with dots, None if nothing."""
    found: Any = sys.modules.get(module)
    for each in name.split("."):
        found = getattr(found, each, None)
    return found


def is_of_attrs(cls: type) -> bool:
    """Whether attrs has made this class, rather than one that it inherits from."""
    return "__attrs_attrs__" in vars(cls)


@attrs.frozen
class Shape:
    """Where objects of a class have what they are made of.

    Attributes:
        base: the built-in type whose content they have, too.
        is_whole: whether that, their slots and their dictionary are all.
        slots: by name, those that hold something. What an object has computed of itself once and for all does not
            count; attrs keeps that in slots.
        without: what of their dictionary does not count either.
    """

    base: type
    is_whole: bool
    slots: dict[str, types.MemberDescriptorType]
    without: frozenset[str]

    @classmethod
    def of(cls, kind: type) -> Shape:
        base = next((each for each in CONTENT if each in kind.__mro__), object)
        slots, count = {}, 0
        without = set(WRAPPER if is_of_attrs(kind) else ())
        for one in kind.__mro__:
            fields = {each.name for each in attrs.fields(one)} if is_of_attrs(one) else None
            for name, each in vars(one).items():
                if isinstance(each, functools.cached_property):
                    without.add(name)
                elif isinstance(each, types.MemberDescriptorType):
                    count += 1
                    if (fields is None or name in fields) and name not in slots:
                        slots[name] = each
        dictionary = kind.__dictoffset__ > 0 or (kind.__dictoffset__ < 0 < kind.__itemsize__)  # else before the object
        accounted = base.__basicsize__ + 8 * (count + dictionary + (kind.__weakrefoffset__ > 0))
        is_whole = kind.__basicsize__ <= accounted and not (base is object and kind.__itemsize__)
        return cls(base, is_whole, slots, frozenset(without))

    def attributes_of(self, value: Any) -> dict[str, Any]:
        """What an object holds, by name."""
        found = {name: each for name, each in getattr(value, "__dict__", {}).items() if name not in self.without}
        for name, slot in self.slots.items():
            with suppress(AttributeError):  # nothing
                found[name] = slot.__get__(value)
        return found
