"""Views stand for parts of a packed state and record what is read of them.

A view has the attributes, methods and operators of the plain value that it stands for. Reading a scalar records its
leaf; composites (records, sets, tuples) stay lazy, so that passing one on, or copying it unread from one place of the
state to another, reads nothing. What would escape the recording (pickling, a view kept beyond its run, a changed view)
raises; it never compiles wrongly. This module has what all views share, and records;
`highwater.explorer.compiler.containers` has sets and tuples.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from highwater.explorer.compiler.layout import Fields, Leaf
from highwater.explorer.values import plain
from highwater.model.language.domain import aliases_of, build

_noticed = threading.local()


class TracingError(Exception):
    """A function did with a view what cannot be recorded.

    Every one is remembered, because a model may swallow it with `except Exception`.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        tracing_errors().append(self)


def tracing_errors() -> list[TracingError]:
    """The errors that were raised in this thread since the list was cleared."""
    if not hasattr(_noticed, "errors"):
        _noticed.errors = []
    errors: list[TracingError] = _noticed.errors
    return errors


class Reader(Protocol):
    """What a view reads through.

    Attributes:
        closed: whether the run has ended.
    """

    closed: bool

    def raw(self, leaf: Leaf) -> int:
        """The packed value of a leaf; the first read of each is recorded."""

    def view(self, slot: Any) -> Any:
        """What reading a slot gives: the value of a scalar, a lazy view of a composite."""

    def in_some_order(self, members: list[Any]) -> list[Any]:
        """The members of a set, in the order in which this run goes through them."""


class View:
    """What all views share: they are hashed as plain values and cannot be copied out of their run.

    A view that was hashed has been read as a whole, and remembers its plain value. So it can be found in a cache by a
    later run; the rest of a view cannot be read once its run has ended. Internal names have two underscores, as those
    of a model's fields never do.
    """

    __slots__ = ()
    if TYPE_CHECKING:  # annotations would hide those of a model's class
        __kept__: Any
        __recorder__: Reader
        __slot__: Any

        def __read__(self) -> Any: ...

    def __hash__(self) -> int:
        if self.__kept__ is None:
            object.__setattr__(self, "__kept__", self.__read__())
        return hash(self.__kept__)

    def __plain__(self) -> Any:
        return self.__read__() if self.__kept__ is None else self.__kept__

    def __repr__(self) -> str:
        try:
            return repr(self.__plain__())
        except TracingError as error:
            tracing_errors().remove(error)
            return "<a part of another run's state>"

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TracingError("a part of the state cannot be pickled inside an action or invariant; pass it on as it is")


def outlived(a: Any, b: Any) -> bool:
    """Whether one of two values is a view whose run has ended."""
    return any(isinstance(value, View) and value.__recorder__.closed for value in (a, b))


class Ordered(View):
    """Comparisons other than equality look at the whole value."""

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return bool(self.__plain__() < plain(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.__plain__() <= plain(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.__plain__() > plain(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.__plain__() >= plain(other))


class RecordView(Ordered):
    """A record of the state: reads its fields on demand, with the changes made to it by `evolve` on top."""

    __slots__ = ()
    if TYPE_CHECKING:
        __changes__: dict[str, Any]

    def __eq__(self, other: Any) -> Any:
        cls = self.__slot__.domain.cls
        if (other.__slot__.domain.cls if isinstance(other, RecordView) else type(other)) is not cls:
            return NotImplemented
        if outlived(self, other):
            return self.__plain__() == plain(other)
        return all(getattr(self, name) == getattr(other, name) for name in self.__slot__.slots)

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = View.__hash__
    __repr__ = View.__repr__

    def __traced_evolve__(self, changes: dict[str, Any]) -> Any:
        cls = self.__slot__.domain.cls
        names = _names_of(cls)
        for alias in changes:
            if alias not in names:
                raise TypeError(f"{cls.__name__} has no field {alias!r}")
        changed = {names[alias]: value for alias, value in changes.items()}
        if has_rules_of_its_own(cls):
            return build(
                cls, {name: changed[name] if name in changed else getattr(self, name) for name in self.__slot__.slots}
            )
        return record_view(cls)(self.__recorder__, self.__slot__, {**self.__changes__, **changed})

    def __replace__(self, **changes: Any) -> Any:
        return self.__traced_evolve__(changes)

    def __read__(self) -> Any:
        return build(self.__slot__.domain.cls, {name: plain(getattr(self, name)) for name in self.__slot__.slots})


@functools.cache
def _names_of(cls: type) -> dict[str, str]:
    """The field of an attrs class for each argument of its constructor."""
    return {alias: name for name, alias in aliases_of(cls).items()}


@functools.cache
def has_rules_of_its_own(cls: type) -> bool:
    """Whether making a record of a class does more than to keep its fields: it converts or refuses some."""
    if not attrs.inspect(cls).added_init or hasattr(cls, "__attrs_pre_init__") or hasattr(cls, "__attrs_post_init__"):
        return True
    return any(field.validator is not None or field.converter is not None for field in attrs.fields(cls))


class LikePlain(type):
    """The class of a class of views: this equals the class of the plain values, so that `type(a) == type(b)` and tables
    by type work.
    """

    __stands_for__: type

    def __eq__(cls, other: Any) -> bool:
        return cls is other or other is cls.__stands_for__

    def __hash__(cls) -> int:
        return hash(cls.__stands_for__)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__stands_for__)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, cls.__stands_for__)

    def __repr__(cls) -> str:
        return repr(cls.__stands_for__)


def _alike(cls: type) -> type:
    """The same for the views of a class of records, which are instances of a subclass."""
    return type("Alike", (LikePlain, type(cls)), {})


@functools.cache
def record_view(cls: type) -> Callable[[Reader, Fields, dict[str, Any]], Any]:
    """What makes views of an attrs class from a reader, a slot and changes.

    The views' own class is a subclass, so that methods, properties and isinstance work, whose fields read the state.
    """

    def field_of(name: str) -> property:
        def read(self: Any) -> Any:
            changes = self.__changes__
            return changes[name] if name in changes else self.__recorder__.view(self.__slot__.slots[name])

        return property(read)

    def create(view: type, *arguments: Any, **fields: Any) -> Any:
        return cls(*arguments, **fields)  # type(view)(...) in a model's method means the plain class

    kept = ["__hash__", "__copy__", "__deepcopy__", "__reduce_ex__", "__replace__", "__repr__", "__plain__", "__read__"]
    kept += ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]
    namespace: dict[str, Any] = {name: getattr(RecordView, name) for name in kept}
    namespace |= {field.name: field_of(field.name) for field in attrs.fields(cls)}
    namespace |= {
        "__slots__": ("__recorder__", "__slot__", "__changes__", "__kept__"),
        "__new__": create,
        "__stands_for__": cls,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    namespace["__class__"] = property(lambda self: cls)
    if cls.__str__ is not object.__str__:  # type: ignore[comparison-overlap]  # the class's, not of the type
        namespace["__str__"] = cls.__str__
    view = _alike(cls)(cls.__name__, (RecordView, cls), namespace)
    set_recorder, set_slot, set_changes, set_kept = (view.__dict__[name].__set__ for name in namespace["__slots__"])

    def make(recorder: Reader, slot: Fields, changes: dict[str, Any]) -> Any:
        made = object.__new__(view)
        set_recorder(made, recorder)
        set_slot(made, slot)
        set_changes(made, changes)
        set_kept(made, None)
        return made

    return make
