"""Which toggles of a protocol and which bounds a run reads.

An action is given the protocol and the bounds as a whole, and most of its paths look at few of them. A path is the same
under all protocols and bounds that agree in those.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import attrs

from explorer.system import RAISED
from model.language.declarations import Instance

GIVEN = ("protocol", "bounds")
READS_BY_ITSELF = (FunctionType, property, staticmethod)


class Settings:
    """What a program's instances are given, watched.

    Attributes:
        are_watched: whether instances are given what notes what they read of it; else what they read is not known.
    """

    def __init__(self) -> None:
        self.are_watched = True
        self._read: set[str] = set()
        self._is_known = True
        self._watched: dict[tuple[str, int], tuple[Any, Any]] = {}
        self._applied: dict[Instance, Callable[[Any], Any]] = {}

    def begin(self, noted: frozenset[str] | None = frozenset()) -> frozenset[str] | None:
        """Note what is read from now on, beside what counts as read already.

        Returns:
            What was read until now, such as protocol.acks, or protocol if it may be any of its toggles; None if a
            function may know settings in another way than as its arguments.
        """
        read = frozenset(self._read) if self._is_known else None
        self._read.clear()
        self._is_known = True
        self.note(noted)
        return read

    def note(self, read: frozenset[str] | None) -> None:
        """Note what another run has read, as `begin` returns it."""
        self._read.update(read or ())
        self._is_known &= read is not None

    def applied(self, instance: Instance) -> Callable[[Any], Any]:
        """The instance as a function of a state, with settings that are watched if it may be."""
        if not self.are_watched:
            return functools.partial(self._applied_unseen, instance.apply)
        if instance not in self._applied:
            self._applied[instance] = self._watching(instance)
        return self._applied[instance]

    def change(self, instance: Instance, state: Any) -> bool:
        """Whether an instance gives something else for a plain state because what it is given is watched."""
        given = getattr(instance.apply, "keywords", {}).keys() & GIVEN
        return self.are_watched and bool(given) and _said(self.applied(instance), state) != _said(instance.apply, state)

    def _watching(self, instance: Instance) -> Callable[[Any], Any]:
        plain, function = instance.apply, instance.of.function
        if type(plain) is not functools.partial or plain.func is not function or type(function) is not FunctionType:
            return functools.partial(self._applied_unseen, plain)
        given = {name: self._watch(name, value) for name, value in plain.keywords.items() if name in GIVEN}
        whole = [name for name, watched in given.items() if watched is plain.keywords[name]]
        watching = functools.partial(function, *plain.args, **{**plain.keywords, **given})
        return functools.partial(self._applied_to_whole, whole, watching) if whole else watching

    def _applied_unseen(self, plain: Callable[[Any], Any], state: Any) -> Any:
        self._is_known = False
        return plain(state)

    def _applied_to_whole(self, whole: list[str], watching: Callable[[Any], Any], state: Any) -> Any:
        self._read.update(whole)
        return watching(state)

    def _watch(self, name: str, value: Any) -> Any:
        """What notes the names of the fields of a record that are read; the value itself if it cannot be watched."""
        if (name, id(value)) not in self._watched:
            self._watched[name, id(value)] = value, _watch_of(value, name, self._read.add)
        return self._watched[name, id(value)][1]


def _said(function: Callable[[Any], Any], state: Any) -> tuple[bool, Any]:
    """Whether a function returns anything for a state, and what."""
    try:
        return True, function(state)
    except RAISED:
        return False, None


def _watch_of(value: Any, name: str, note: Callable[[str], None]) -> Any:
    base = type(value)
    if not attrs.has(base):
        return value
    fields = {field.name for field in attrs.fields(base)}

    def attribute(self: Any, key: str) -> Any:
        if key in fields:
            note(f"{name}.{key}")
            return getattr(value, key)
        if key == "__class__":
            return base
        found = inspect.getattr_static(base, key, None)
        if isinstance(found, READS_BY_ITSELF):
            return object.__getattribute__(self, key)
        if not isinstance(found, classmethod):
            note(name)
        return getattr(value, key)

    def whole(function: Callable[..., Any]) -> Callable[..., Any]:
        def of_value(self: Any, *arguments: Any) -> Any:
            note(name)
            return function(value, *arguments)

        return of_value

    watching = {
        "__slots__": (),
        "__new__": lambda cls, *fields, **by_name: base(*fields, **by_name),  # type(protocol)(...) makes another one
        "__getattribute__": attribute,
        "__eq__": whole(lambda value, other: value == other),
        "__hash__": whole(hash),
        "__reduce_ex__": whole(lambda value, version: value.__reduce_ex__(version)),
    }
    try:
        return object.__new__(type(base.__name__, (base,), watching))
    except Exception:  # a class that says who may inherit from it, or of which no bare object can be made
        return value
