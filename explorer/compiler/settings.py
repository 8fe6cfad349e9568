"""Which toggles of a protocol and which bounds a run reads.

An action is given the protocol and the bounds as a whole, and most of its paths look at few of them. A path is the same
under all protocols and bounds that agree in those.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FunctionType
from typing import Any, cast

import attrs

from highwater.explorer.compiler.kinds import GIVEN
from highwater.explorer.compiler.questions import asks_for_an_object
from highwater.model.language.declarations import Instance

NOTING = threading.RLock()  # a class is changed, and other searches of this process may run on its objects
READS_BY_ITSELF = (FunctionType, property, staticmethod, classmethod)


class Settings:
    """What a program's instances are given, watched. They get the objects themselves: while one runs, the classes of
    these note which fields are read.
    """

    def __init__(self) -> None:
        self._read: set[str] = set()
        self._is_known = True
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
        """The instance as a function of a state, with settings that are watched if they may be."""
        if instance not in self._applied:
            self._applied[instance] = self._watching(instance)
        return self._applied[instance]

    def _watching(self, instance: Instance) -> Callable[[Any], Any]:
        plain = instance.apply
        if instance.given is None or type(instance.of.function) is not FunctionType or asks_for_an_object(instance.of):
            return functools.partial(self._applied_unseen, plain)
        given = {name: value for name, value in instance.given.items() if name in GIVEN}
        return functools.partial(self._applied_watched, plain, given) if given else plain

    def _applied_unseen(self, plain: Callable[[Any], Any], state: Any) -> Any:
        self._is_known = False
        return plain(state)

    def _applied_watched(self, plain: Callable[[Any], Any], given: Mapping[str, Any], state: Any) -> Any:
        with NOTING, ExitStack() as stack:
            for name, value in given.items():
                if _can_be_watched(cast("Any", type(value))):
                    stack.enter_context(noting(value, name, self._read.add))
                else:
                    self._read.add(name)
            return plain(state)


@functools.cache
def _can_be_watched(cls: Any) -> bool:
    """Whether all that is read of a class's objects goes by the `__getattribute__` that every object has."""
    return attrs.has(cls) and type(cls) is type and cls.__getattribute__ is object.__getattribute__


@contextmanager
def noting(value: Any, name: str, note: Callable[[str], None]) -> Iterator[None]:
    """Note the names of the fields that are read of an object, or the name of the whole where it may be any of them.
    Hold `NOTING` meanwhile: the object's class is changed.
    """
    cls: Any = type(value)
    fields = {field.name for field in attrs.fields(cls)}

    def attribute(self: Any, key: str) -> Any:
        if self is value and key != "__class__":
            if key in fields:
                note(f"{name}.{key}")
            elif not isinstance(inspect.getattr_static(cls, key, None), READS_BY_ITSELF):
                note(name)
        return before(self, key)

    before = cls.__getattribute__
    own = vars(cls).get("__getattribute__")
    cls.__getattribute__ = attribute
    try:
        yield
    finally:
        if own is None:
            del cls.__getattribute__
        else:
            cls.__getattribute__ = own
