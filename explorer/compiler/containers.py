"""Views of sets and tuples; see `highwater.explorer.compiler.views`.

Python does not ask a tuple on the right of `%` for its elements in a way that a view could answer. So that view is
`NeededWhole`: the function is run again, and finds a real tuple in its place.
"""

from __future__ import annotations

import dis
import functools
import operator
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeAlias

from highwater.explorer.compiler.layout import Elements, Fields, Leaf, Members, Presence
from highwater.explorer.compiler.views import LikePlain, Ordered, Reader, TracingError, View, outlived
from highwater.explorer.values import plain

SLOTS = frozenset((Leaf, Fields, Elements, Members, Presence))
"""What is compared with them is a type: many times faster than `isinstance`."""
_OPERATORS = compile("a % b\na %= b\na |= b\na &= b\na -= b\na ^= b", "", "exec")
_SYMBOLS = {
    (each.opcode, each.arg): each.argrepr for each in dis.get_instructions(_OPERATORS) if each.opname == "BINARY_OP"
}


def _operator_of_caller(calls: int = 1) -> str:
    """The operator, if it is `%` or one that assigns, that is being evaluated so many calls above the caller."""
    frame = sys._getframe(1 + calls)
    code = frame.f_code.co_code
    return _SYMBOLS.get((code[frame.f_lasti], code[frame.f_lasti + 1]), "")


class NeededWhole(BaseException):
    """A function needs a real tuple in place of the view of a slot."""

    def __init__(self, slot: Elements) -> None:
        super().__init__(slot)
        self.slot = slot


if TYPE_CHECKING:
    AnySet: TypeAlias = Set[Any]
    AnySequence: TypeAlias = Sequence[Any]
else:
    AnySet, AnySequence = Set, Sequence


class _OfContainers(LikePlain, ABCMeta):
    @property
    def __attrs_attrs__(cls) -> Any:
        """Since attrs 26.1 `asdict` and `astuple` ask this of a type, and then whether that is a tuple's or a set's."""
        raise TracingError(
            "attrs.asdict and attrs.astuple go by the type of each part, and that of a "
            f"{cls.__name__} of the state is another: say recurse=False, or name the fields"
        )


class SetView(View, AnySet, metaclass=_OfContainers):
    """A set of the state: each cell is the leaf of a member not looked at yet, or whether it is in."""

    __slots__ = ("__cells__", "__kept__", "__recorder__", "__slot__")
    __stands_for__ = frozenset
    __class__ = property(lambda self: frozenset)  # for isinstance and for what dispatches on types

    def __init__(self, recorder: Reader, slot: Members, cells: Sequence[Leaf | bool]) -> None:
        self.__recorder__ = recorder
        self.__slot__ = slot
        self.__cells__ = cells
        self.__kept__ = None

    def _is_in(self, cell: Leaf | bool) -> bool:
        return cell if cell is True or cell is False else bool(self.__recorder__.raw(cell))

    def __contains__(self, member: Any) -> bool:
        position = self.__slot__.position.get(plain(member))
        return position is not None and self._is_in(self.__cells__[position])

    def __iter__(self) -> Iterator[Any]:
        """All is read before the first member comes: which one that is must not matter, and it can be tried whether it
        does.
        """
        return iter(self.__recorder__.in_some_order(list(self.__one_by_one__())))

    def __one_by_one__(self) -> Iterator[Any]:
        return (member for member, cell in zip(self.__slot__.members, self.__cells__, strict=True) if self._is_in(cell))

    def __len__(self) -> int:
        return sum(self._is_in(cell) for cell in self.__cells__)

    def __bool__(self) -> bool:
        return any(self._is_in(cell) for cell in self.__cells__)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, Set):
            return NotImplemented
        if outlived(self, other):
            return self.__plain__() == plain(other)
        cells = self._cells_of(other)
        if cells is None:  # the other holds what this one can never hold
            return False
        return all(a is b or self._is_in(a) == self._is_in(b) for a, b in zip(self.__cells__, cells, strict=True))

    __hash__ = View.__hash__

    def _cells_of(self, other: Iterable[Any]) -> Sequence[Leaf | bool] | None:
        """The other set, cell by cell of this one; None where that is impossible."""
        if (
            type(other) is SetView
            and other.__slot__.members == self.__slot__.members
            and other.__recorder__ is self.__recorder__
        ):
            return other.__cells__
        cells = [False] * len(self.__cells__)
        for member in _one_by_one(other):
            position = self.__slot__.position.get(plain(member))
            if position is None:
                return None
            cells[position] = True
        return cells

    def _cellwise(self, other: Any, combine: Any, otherwise: Any) -> Any:
        """Combine with the other set cell by cell, or member by member where the other holds what this one can never
        hold.
        """
        if not isinstance(other, Set):
            return NotImplemented
        cells = self._cells_of(other)
        if cells is None:
            return otherwise(frozenset(self), frozenset(other))
        return SetView(
            self.__recorder__, self.__slot__, [combine(a, b) for a, b in zip(self.__cells__, cells, strict=True)]
        )

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

    def __le__(self, other: Any) -> Any:
        return all(member in other for member in self.__one_by_one__()) if isinstance(other, Set) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return all(member in self for member in _one_by_one(other)) if isinstance(other, Set) else NotImplemented

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        return not any(member in self for member in _one_by_one(other))

    def __ror__(self, other: Any) -> Any:
        return self._right_of(other, lambda: self | other)

    def __rand__(self, other: Any) -> Any:
        return self._right_of(other, lambda: self & other)

    def __rxor__(self, other: Any) -> Any:
        return self._right_of(other, lambda: self ^ other)

    def __rsub__(self, other: Any) -> Any:
        return self._right_of(other, lambda: frozenset(member for member in other if member not in self))

    @staticmethod
    def _right_of(other: Any, result: Callable[[], Any]) -> Any:
        """What an operator gives with this set on its right: a set that can change stays one, and does change if it is
        assigned to.
        """
        if not isinstance(other, Set):
            return NotImplemented
        if type(other) is not set:
            return result()
        changed = set(plain(result()))
        if not _operator_of_caller(2).endswith("="):
            return changed
        other.clear()
        other.update(changed)
        return other

    def union(self, *others: Iterable[Any]) -> Any:
        return functools.reduce(lambda a, b: a | b, map(_as_set, others), self)

    def intersection(self, *others: Iterable[Any]) -> Any:
        return functools.reduce(lambda a, b: a & b, map(_as_set, others), self)

    def difference(self, *others: Iterable[Any]) -> Any:
        return functools.reduce(lambda a, b: a - b, map(_as_set, others), self)

    def symmetric_difference(self, other: Iterable[Any]) -> Any:
        return self ^ _as_set(other)

    def issubset(self, other: Iterable[Any]) -> bool:
        return bool(self <= _as_set(other))

    def issuperset(self, other: Iterable[Any]) -> bool:
        return bool(self >= _as_set(other))

    def copy(self) -> SetView:
        return self

    @classmethod
    def _from_iterable(cls, members: Iterable[Any]) -> frozenset[Any]:
        return frozenset(members)

    def __read__(self) -> frozenset[Any]:
        return frozenset(self.__one_by_one__())


def _one_by_one(members: Iterable[Any]) -> Iterable[Any]:
    """The members of any set, where their order cannot matter."""
    return members.__one_by_one__() if type(members) is SetView else members


def _as_set(members: Iterable[Any]) -> AnySet:
    return members if isinstance(members, Set) else frozenset(members)


class TupleView(Ordered, AnySequence, metaclass=_OfContainers):
    """A tuple of the state: each cell is the slot of an element not looked at yet, or a value. The length is read when
    first needed.
    """

    __slots__ = ("__kept__", "__made__", "__recorder__", "__slot__")
    __stands_for__ = tuple
    __class__ = property(lambda self: tuple)  # for isinstance and for what dispatches on types

    def __init__(self, recorder: Reader, slot: Elements, cells: Sequence[Any] | None) -> None:
        self.__recorder__ = recorder
        self.__slot__ = slot
        self.__made__ = cells
        self.__kept__ = None

    @property
    def __cells__(self) -> Sequence[Any]:
        if self.__made__ is None:
            length = self.__slot__.length
            self.__made__ = (
                self.__slot__.slots if length is None else self.__slot__.slots[: self.__recorder__.view(length)]
            )
        return self.__made__

    def __repr__(self) -> str:
        if _operator_of_caller().startswith("%"):
            raise NeededWhole(self.__slot__)
        return View.__repr__(self)

    def __index__(self) -> int:
        if _operator_of_caller().startswith("%"):
            raise NeededWhole(self.__slot__)
        raise TypeError("'tuple' object cannot be interpreted as an integer")

    def _value(self, cell: Any) -> Any:
        return self.__recorder__.view(cell) if type(cell) in SLOTS else cell

    def __len__(self) -> int:
        return len(self.__cells__)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return TupleView(self.__recorder__, self.__slot__, self.__cells__[index])
        return self._value(self.__cells__[index])

    def __iter__(self) -> Iterator[Any]:
        return map(self._value, self.__cells__)

    def __add__(self, other: Any) -> Any:
        cells = self._other_cells(other)
        return (
            NotImplemented if cells is None else TupleView(self.__recorder__, self.__slot__, (*self.__cells__, *cells))
        )

    def __radd__(self, other: Any) -> Any:
        cells = self._other_cells(other)
        return (
            NotImplemented if cells is None else TupleView(self.__recorder__, self.__slot__, (*cells, *self.__cells__))
        )

    def __mul__(self, times: int) -> TupleView:
        return TupleView(self.__recorder__, self.__slot__, tuple(self.__cells__) * times)

    __rmul__ = __mul__

    @staticmethod
    def _other_cells(other: Any) -> Sequence[Any] | None:
        if type(other) is TupleView:
            return other.__cells__
        return other if isinstance(other, tuple) else None

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        if outlived(self, other):
            return self.__plain__() == plain(other)
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = View.__hash__

    def __read__(self) -> tuple[Any, ...]:
        return tuple(map(plain, self))


for _view in (SetView, TupleView):
    _view.__name__ = _view.__qualname__ = _view.__stands_for__.__name__
