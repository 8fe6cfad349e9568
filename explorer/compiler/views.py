"""Views stand for parts of a packed state and record what is read of them.

A view has the attributes, methods and operators of the plain value that it stands for. Reading a scalar records its leaf; composites
(records, sets, tuples) stay lazy, so that passing one on, or copying it unread from one place of the state to another, reads nothing.
What would escape the recording (pickling, a view kept beyond its run, a changed view) raises; it never compiles wrongly.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any, Protocol

import attrs

from explorer.compiler.layout import Elements, Fields, Leaf, Members, Presence
from model.language.domain import build

SLOTS = Leaf | Fields | Elements | Members | Presence


class TracingError(Exception):
    """A function did with a view what cannot be recorded."""


class Reader(Protocol):
    """What a view reads through."""

    def raw(self, leaf: Leaf) -> int:
        """The packed value of a leaf; the first read of each is recorded."""

    def view(self, slot: Any) -> Any:
        """What reading a slot gives: the value of a scalar, a lazy view of a composite."""


def plain(value: Any) -> Any:
    """The plain value behind a view, reading all of it; anything else as it is."""
    if type(value) is int:
        return value
    if isinstance(value, View):
        return value._plain()
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, frozenset):
        return frozenset(map(plain, value))
    if attrs.has(type(value)):
        return build(type(value), {field.name: plain(getattr(value, field.name)) for field in attrs.fields(type(value))})
    return value


class View:
    """What all views share: they are hashed as plain values and cannot be copied out of their run."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self._plain())

    def __repr__(self) -> str:
        try:
            return repr(self._plain())
        except TracingError:
            return "<a part of another run's state>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TracingError("a part of the state cannot be copied or pickled inside an action or invariant; pass it on as it is")


class Ordered(View):
    """Comparisons other than equality look at the whole value."""

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return self._plain() < plain(other)

    def __le__(self, other: Any) -> bool:
        return self._plain() <= plain(other)

    def __gt__(self, other: Any) -> bool:
        return self._plain() > plain(other)

    def __ge__(self, other: Any) -> bool:
        return self._plain() >= plain(other)


class RecordView(Ordered):
    """A record of the state: reads its fields on demand, with the changes made to it by `evolve` on top."""

    __slots__ = ()

    def __eq__(self, other: Any) -> Any:
        cls = self._slot.domain.cls
        if (other._slot.domain.cls if isinstance(other, RecordView) else type(other)) is not cls:
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in attrs.fields(cls) if field.eq)

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = View.__hash__
    __repr__ = View.__repr__

    def __traced_evolve__(self, changes: dict[str, Any]) -> Any:
        for name in changes:
            if name not in self._slot.slots:
                raise TypeError(f"{self._slot.domain.cls.__name__} has no field {name!r}")
        return record_view(self._slot.domain.cls)(self._recorder, self._slot, {**self._changes, **changes})

    def __replace__(self, **changes: Any) -> Any:
        return self.__traced_evolve__(changes)

    def _plain(self) -> Any:
        cls = self._slot.domain.cls
        return build(cls, {name: plain(getattr(self, name)) for name in self._slot.slots})


@functools.cache
def record_view(cls: type) -> Callable[[Reader, Fields, dict[str, Any]], Any]:
    """What makes views of an attrs class from a reader, a slot and changes.

    The views' own class is a subclass, so that methods, properties and isinstance work, whose fields read the state.
    """

    def field_of(name: str) -> property:
        def read(self: Any) -> Any:
            changes = self._changes
            return changes[name] if name in changes else self._recorder.view(self._slot.slots[name])

        return property(read)

    def create(view: type, *arguments: Any, **fields: Any) -> Any:
        return cls(*arguments, **fields)  # type(view)(...) in a model's method means the plain class

    namespace = {field.name: field_of(field.name) for field in attrs.fields(cls)}
    kept = ["__hash__", "__reduce_ex__", "__replace__", "__repr__", "__lt__", "__le__", "__gt__", "__ge__"]
    if attrs.inspect(cls).added_eq:
        kept += ["__eq__", "__ne__"]  # field by field; a class that compares in its own way does so on views, too
    else:
        namespace |= {"__eq__": cls.__eq__, "__ne__": cls.__ne__}
    namespace |= {name: getattr(RecordView, name) for name in kept}
    namespace |= {"__slots__": ("_recorder", "_slot", "_changes"), "__new__": create, "__module__": cls.__module__}
    if cls.__str__ is not object.__str__:
        namespace["__str__"] = cls.__str__
    view = type(cls.__name__, (RecordView, cls), namespace)
    set_recorder, set_slot, set_changes = (view.__dict__[name].__set__ for name in ("_recorder", "_slot", "_changes"))

    def make(recorder: Reader, slot: Fields, changes: dict[str, Any]) -> Any:
        made = object.__new__(view)
        set_recorder(made, recorder)
        set_slot(made, slot)
        set_changes(made, changes)
        return made

    return make


class SetView(View, Set):
    """A set of the state: each cell is the leaf of a member not looked at yet, or whether it is in."""

    __slots__ = ("_cells", "_recorder", "_slot")

    def __init__(self, recorder: Reader, slot: Members, cells: Sequence[Leaf | bool]) -> None:
        self._recorder = recorder
        self._slot = slot
        self._cells = cells

    def _is_in(self, cell: Leaf | bool) -> bool:
        return cell if isinstance(cell, bool) else bool(self._recorder.raw(cell))

    def __contains__(self, member: Any) -> bool:
        position = self._slot.position.get(plain(member))
        return position is not None and self._is_in(self._cells[position])

    def __iter__(self) -> Iterator[Any]:
        return (member for member, cell in zip(self._slot.members, self._cells, strict=True) if self._is_in(cell))

    def __len__(self) -> int:
        return sum(self._is_in(cell) for cell in self._cells)

    def __bool__(self) -> bool:
        return any(self._is_in(cell) for cell in self._cells)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, Set):
            return NotImplemented
        cells = self._cells_of(other)
        if cells is None:  # the other holds what this one can never hold
            return False
        return all(a is b or self._is_in(a) == self._is_in(b) for a, b in zip(self._cells, cells, strict=True))

    __hash__ = View.__hash__

    def _cells_of(self, other: Iterable[Any]) -> Sequence[Leaf | bool] | None:
        """The other set, cell by cell of this one; None where that is impossible."""
        if isinstance(other, SetView) and other._slot.members == self._slot.members and other._recorder is self._recorder:
            return other._cells
        cells = [False] * len(self._cells)
        for member in other:
            position = self._slot.position.get(plain(member))
            if position is None:
                return None
            cells[position] = True
        return cells

    def _cellwise(self, other: Any, combine: Any, otherwise: Any) -> Any:
        """Combine with the other set cell by cell, or member by member where the other holds what this one can never hold."""
        if not isinstance(other, Set):
            return NotImplemented
        cells = self._cells_of(other)
        if cells is None:
            return otherwise(frozenset(self), frozenset(other))
        return SetView(self._recorder, self._slot, [combine(a, b) for a, b in zip(self._cells, cells, strict=True)])

    def _either(self, a: Leaf | bool, b: Leaf | bool) -> Leaf | bool:
        if a is b or b is False:
            return a
        return True if b is True or self._is_in(a) else b

    def _both(self, a: Leaf | bool, b: Leaf | bool) -> Leaf | bool:
        if a is b or b is True:
            return a
        return b if b is not False and self._is_in(a) else False

    def _only_first(self, a: Leaf | bool, b: Leaf | bool) -> Leaf | bool:
        return False if a is False or self._is_in(b) else a

    def __or__(self, other: Any) -> Any:
        return self._cellwise(other, self._either, operator.or_)

    def __and__(self, other: Any) -> Any:
        return self._cellwise(other, self._both, operator.and_)

    def __xor__(self, other: Any) -> Any:
        return self._cellwise(other, lambda a, b: self._is_in(a) ^ self._is_in(b), operator.xor)

    def __sub__(self, other: Any) -> Any:
        return self._cellwise(other, self._only_first, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return frozenset(member for member in other if member not in self) if isinstance(other, Set) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return all(member in other for member in self) if isinstance(other, Set) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return all(member in self for member in other) if isinstance(other, Set) else NotImplemented

    __ror__ = __or__
    __rand__ = __and__
    __rxor__ = __xor__

    def union(self, *others: Iterable[Any]) -> Any:
        return functools.reduce(lambda a, b: a | b, map(_as_set, others), self)

    def intersection(self, *others: Iterable[Any]) -> Any:
        return functools.reduce(lambda a, b: a & b, map(_as_set, others), self)

    def difference(self, *others: Iterable[Any]) -> Any:
        return functools.reduce(lambda a, b: a - b, map(_as_set, others), self)

    def symmetric_difference(self, other: Iterable[Any]) -> Any:
        return self ^ _as_set(other)

    def issubset(self, other: Iterable[Any]) -> bool:
        return self <= _as_set(other)

    def issuperset(self, other: Iterable[Any]) -> bool:
        return self >= _as_set(other)

    def copy(self) -> SetView:
        return self

    @classmethod
    def _from_iterable(cls, members: Iterable[Any]) -> frozenset:
        return frozenset(members)

    def _plain(self) -> frozenset:
        return frozenset(self)


def _as_set(members: Iterable[Any]) -> Set:
    return members if isinstance(members, Set) else frozenset(members)


class TupleView(Ordered, Sequence):
    """A tuple of the state: each cell is the slot of an element not looked at yet, or a value. The length is read when first needed."""

    __slots__ = ("_made", "_recorder", "_slot")

    def __init__(self, recorder: Reader, slot: Elements, cells: Sequence[Any] | None) -> None:
        self._recorder = recorder
        self._slot = slot
        self._made = cells

    @property
    def _cells(self) -> Sequence[Any]:
        if self._made is None:
            length = self._slot.length
            self._made = self._slot.slots if length is None else self._slot.slots[: self._recorder.view(length)]
        return self._made

    def _value(self, cell: Any) -> Any:
        return self._recorder.view(cell) if isinstance(cell, SLOTS) else cell

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return TupleView(self._recorder, self._slot, self._cells[index])
        return self._value(self._cells[index])

    def __iter__(self) -> Iterator[Any]:
        return map(self._value, self._cells)

    def __add__(self, other: Any) -> Any:
        cells = self._other_cells(other)
        return NotImplemented if cells is None else TupleView(self._recorder, self._slot, (*self._cells, *cells))

    def __radd__(self, other: Any) -> Any:
        cells = self._other_cells(other)
        return NotImplemented if cells is None else TupleView(self._recorder, self._slot, (*cells, *self._cells))

    def __mul__(self, times: int) -> TupleView:
        return TupleView(self._recorder, self._slot, tuple(self._cells) * times)

    __rmul__ = __mul__

    @staticmethod
    def _other_cells(other: Any) -> Sequence[Any] | None:
        if isinstance(other, TupleView):
            return other._cells
        return other if isinstance(other, tuple) else None

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, tuple | TupleView):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = View.__hash__

    def _plain(self) -> tuple:
        return tuple(map(plain, self))
