"""Which toggles of a protocol and which bounds a run reads.

An action is given the protocol and the bounds as a whole, and most of its paths look at few of them. A path is the same
under all protocols and bounds that agree in those.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, cast

import attrs

from highwater.explorer.blame import RAISED
from highwater.explorer.code_objects import inside
from highwater.explorer.compiler.kinds import GIVEN
from highwater.explorer.compiler.questions import asks_for_an_object
from highwater.model.language.declarations import Instance

_changing = threading.RLock()  # a class is changed, and other searches of this process may run on its objects
READS_BY_ITSELF = (FunctionType, property, staticmethod, classmethod)


class Settings:
    """What a program's instances are given, watched. They get the objects themselves: while one runs, the classes of
    these note which fields are read.
    """

    def __init__(self) -> None:
        self._read: set[str] = set()
        self._is_known = True
        self._applied: dict[int, tuple[Instance, Callable[[Any], Any]]] = {}  # an instance's own hash takes its time

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
        if id(instance) not in self._applied:
            self._applied[id(instance)] = instance, self._watching(instance)
        return self._applied[id(instance)][1]

    def _watching(self, instance: Instance) -> Callable[[Any], Any]:
        plain = instance.apply
        if instance.given is None or type(instance.of.function) is not FunctionType or asks_for_an_object(instance.of):
            return functools.partial(self._applied_unseen, plain)
        given = {name: value for name, value in instance.given.items() if name in GIVEN}
        with _changing:
            watched = {name: value for name, value in given.items() if _can_be_watched(value)}
        noting = Noting(watched, self._read.add)
        return functools.partial(self._applied_watched, plain, noting, given.keys() - watched) if given else plain

    def _applied_unseen(self, plain: Callable[[Any], Any], state: Any) -> Any:
        self._is_known = False
        return plain(state)

    def _applied_watched(
        self, plain: Callable[[Any], Any], noting: Noting, unwatched: Iterable[str], state: Any
    ) -> Any:
        self._read.update(unwatched)
        with noting:
            return plain(state)


_watchable: dict[type, bool] = {}


def _can_be_watched(value: Any) -> bool:
    """Whether all that is read of a class's objects goes by the `__getattribute__` that every object has, also what
    was remembered for one of them.
    """
    cls = cast("Any", type(value))
    if cls not in _watchable:
        plain = attrs.has(cls) and type(cls) is type and cls.__getattribute__ is object.__getattribute__
        seen = plain and not (asks_for_an_object(cls) or _reads_fields_above(cls))
        _watchable[cls] = seen and _is_looked_up_by_all_fields(value)
    return _watchable[cls]


def _reads_fields_above(cls: Any) -> bool:
    """Whether a method may take a field from a class above, as in `super().acks`: no attribute of the object is read
    then.
    """
    fields = {field.name for field in attrs.fields(cls)}
    found = (each for of in cls.__mro__ for each in vars(of).values())
    functions = (getattr(each, "fget", None) or getattr(each, "__func__", each) for each in found)
    names = (set(code.co_names) for each in functions for code in inside([getattr(each, "__code__", None)]))
    return any(each >= {"object", "__getattribute__"} or ("super" in each and each & fields) for each in names)


def _is_looked_up_by_all_fields(value: Any) -> bool:
    """Whether nothing can be remembered for an object, as in `functools.cache`, unless all its fields are read when it
    is looked up.
    """
    read: set[str] = set()
    try:
        with Noting({"all": value}, read.add):
            hash(value)
    except RAISED:
        return True  # there is no looking up
    return "all" in read or read >= {f"all.{field.name}" for field in attrs.fields(type(value))}


class Noting:
    """A context manager in which it is noted which fields are read of some objects, such as protocol.acks, or protocol
    if it may be any of them. The objects' classes are changed meanwhile, so that other threads wait that note, too.
    """

    def __init__(self, values: Mapping[str, Any], note: Callable[[str], None]) -> None:
        """
        Args:
            values: the objects, by what each is called.
        """
        self._noted = [_Noted(value, name, note) for name, value in values.items()]

    def __enter__(self) -> None:
        _changing.acquire()
        try:
            for each in self._noted:
                each.begin()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        try:
            for each in reversed(self._noted):
                each.end()
        finally:
            _changing.release()


class _Noted:
    """An object whose class notes what is read of it."""

    def __init__(self, value: Any, name: str, note: Callable[[str], None]) -> None:
        self._cls: Any = type(value)
        cls = self._cls
        self._before: Any = cls.__getattribute__
        fields = {field.name for field in attrs.fields(cls)}

        def attribute(of: Any, key: str) -> Any:
            if of is value and key != "__class__":
                if key in fields:
                    note(f"{name}.{key}")
                elif not isinstance(inspect.getattr_static(cls, key, None), READS_BY_ITSELF):
                    note(name)
            return self._before(of, key)

        self._attribute = attribute

    def begin(self) -> None:
        self._own = vars(self._cls).get("__getattribute__")
        self._before = self._cls.__getattribute__
        self._cls.__getattribute__ = self._attribute

    def end(self) -> None:
        if vars(self._cls).get("__getattribute__") is not self._attribute:
            return  # it did not begin
        if self._own is None:
            del self._cls.__getattribute__
        else:
            self._cls.__getattribute__ = self._own
