"""Numbers of which only the order matters, as functions see them: nothing but the order can be asked of them.

A number may be compared with one of its group and with the group's constants, be stored in a field of its group, and,
if it is the greatest of the state, be counted up by 1. An order-preserving renaming changes nothing of what these give:
docs/liveness.md has the proof. Whatever else a function does with one raises `MoreThanOrder`.

`OrderedNumber` is no `int`, so that nothing reaches its value behind its back. Internal names have two underscores, as
in `highwater.explorer.compiler.views`.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from highwater.explorer.blame import RAISED, ModelError, line_of, where
from highwater.explorer.ranks import Group, Ranks, in_words
from highwater.model.language.declarations import Instance

_noticed = threading.local()


class MoreThanOrder(Exception):
    """A function asked for more than the order of a number.

    Every one is remembered, because a model may swallow it with `except Exception`.

    Attributes:
        group: whose number it is.
    """

    def __init__(self, group: Group, what: str) -> None:
        super().__init__(what)
        self.group = group
        more_than_order().append(self)


def more_than_order() -> list[MoreThanOrder]:
    """The errors that were raised in this thread since the list was cleared."""
    if not hasattr(_noticed, "errors"):
        _noticed.errors = []
    errors: list[MoreThanOrder] = _noticed.errors
    return errors


def refused_by_order(instance: Instance, state: str) -> ModelError:
    """The error for an instance that asked for more, by the first time that it did.

    Args:
        state: where, as it is shown.
    """
    error = more_than_order()[0]
    name, constants = in_words(error.group.name), error.group.constants
    return ModelError(
        f"{instance.of.name} looks at more than the order of {name}: it {error}; {line_of(error) or where(instance)}\n"
        f"  in the state {state}\n"
        f"  allowed are: compare {name} with each other{f' and with {constants}' if constants else ''}, store them, "
        "and make a new one by adding 1 to\n"
        "  the greatest of the state; or else leave the group out of `by_order`"
    )


@contextmanager
def refusing(instance: Instance, state: Callable[[], str]) -> Iterator[None]:
    """Refuse an instance that asks for more within, whatever it makes of the error.

    Raises:
        ModelError: it did.
    """
    more_than_order().clear()
    try:
        yield
    except RAISED:
        if not more_than_order():
            raise
    if more_than_order():
        raise refused_by_order(instance, state())


class Numbers:
    """The numbers that one run of a function meets.

    Attributes:
        closed: whether the run has ended.
        counted_up: by group, the greatest number of the state, if the run has counted it up. A path serves only the
            states in which it is the greatest, too.
    """

    def __init__(self, greatest: Callable[[Group], int]) -> None:
        """
        Args:
            greatest: of the numbers of a group that the state holds; the number before the first if it holds none.
        """
        self.closed = False
        self.counted_up: dict[Group, int] = {}
        self._greatest = greatest
        self._met: dict[tuple[str, int], OrderedNumber] = {}

    def number(self, group: Group, value: int) -> OrderedNumber:
        """The number as a function sees it: the same object for the same number, so that `is` says what `==` says."""
        found = self._met.get((group.name, value))
        if found is None:
            found = self._met[group.name, value] = OrderedNumber(self, group, value)
        return found

    def after(self, group: Group, value: int) -> OrderedNumber:
        """The number that counting up makes of the greatest, or of one that was made of it so."""
        greatest = self._greatest(group)
        if value < greatest:
            raise MoreThanOrder(group, "adds 1 to one that is not the greatest of the state")
        self.counted_up[group] = greatest
        return self.number(group, value + 1)

    def written(self, group: Group | None, value: Any) -> Any:
        """The plain value of what is written to a field of a group, or of none."""
        if type(value) is OrderedNumber:
            if group is None or group.name != value.__group__.name:
                into = f"field of {in_words(group.name)}" if group else "field that has none"
                raise MoreThanOrder(value.__group__, f"writes one into a {into}")
            return value.__known__(self)
        if group is not None and isinstance(value, int) and not group.has_constant(value):
            raise MoreThanOrder(group, f"writes {value}")
        return value


class _LikeInt(type):
    """So that `type(number) == int`, and tables by type work."""

    def __eq__(cls, other: Any) -> bool:
        return cls is other or other is int

    def __hash__(cls) -> int:
        return hash(int)


class OrderedNumber(metaclass=_LikeInt):
    """One number of a group; see this module."""

    __slots__ = ("__group__", "__numbers__", "__value__")
    __class__ = property(lambda self: int)  # for isinstance and for what dispatches on types

    def __init__(self, numbers: Numbers, group: Group, value: int) -> None:
        self.__numbers__, self.__group__, self.__value__ = numbers, group, value

    def __known__(self, numbers: Numbers) -> int:
        """The number itself, within its run."""
        if self.__numbers__ is not numbers or numbers.closed:
            raise MoreThanOrder(self.__group__, "keeps one from another state (in a cache, a global, a generator?)")
        return self.__value__

    def __other__(self, other: Any, symbol: str) -> Any:
        """What it is compared with: a number of the group, or a constant; None for None."""
        group = self.__group__
        if other is None:
            return None
        if type(other) is OrderedNumber:
            if other.__group__.name != group.name:
                of = in_words(other.__group__.name)
                raise MoreThanOrder(group, f"compares one (`{symbol}`) with one of {of}")
            return other.__known__(self.__numbers__)
        if not group.has_constant(other):
            what = other if isinstance(other, int | float | str) else type(other).__name__
            raise MoreThanOrder(group, f"compares one (`{symbol}`) with {what!r}")
        return int(other)

    def __add__(self, other: Any) -> OrderedNumber:
        if type(other) is OrderedNumber or type(other) is bool or not isinstance(other, int) or other != 1:
            raise MoreThanOrder(self.__group__, "does arithmetic with one (`+`)")
        numbers = self.__numbers__
        return numbers.after(self.__group__, self.__known__(numbers))

    __radd__ = __add__

    def __getattr__(self, name: str) -> Any:
        if hasattr(int, name):
            raise MoreThanOrder(self.__group__, f"asks one for its {name}")
        raise AttributeError(f"'int' object has no attribute {name!r}")

    def __copy__(self) -> OrderedNumber:
        return self

    def __deepcopy__(self, memo: Any) -> OrderedNumber:
        return self


def _comparing(name: str, symbol: str) -> Callable[[OrderedNumber, Any], Any]:
    compare = getattr(operator, name)

    def compared(self: OrderedNumber, other: Any) -> Any:
        ours, theirs = self.__known__(self.__numbers__), self.__other__(other, symbol)
        return NotImplemented if theirs is None else compare(ours, theirs)

    return compared


def _refusing(what: str) -> Callable[..., Any]:
    def refused(self: OrderedNumber, *others: Any) -> Any:
        raise MoreThanOrder(self.__group__, what)

    return refused


_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ARITHMETIC = {"sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "divmod": "divmod", "pow": "**"}
_ARITHMETIC |= {"lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^"}
_UNARY = {"neg": "-", "pos": "+", "abs": "abs", "invert": "~", "round": "round", "trunc": "trunc", "floor": "floor"}
_UNARY |= {"ceil": "ceil"}
_OTHERS = {
    "bool": "takes one for a truth value",
    "index": "counts by one (as an index, a range, a length or a size)",
    "hash": "hashes one (in a set, a dict or a cache)",
    **dict.fromkeys(("reduce", "reduce_ex", "getstate"), "pickles one"),
    **dict.fromkeys(("int", "float", "complex"), "converts one to another type"),
    **dict.fromkeys(("str", "repr", "format"), "makes a text of one"),
}
for _name, _symbol in _COMPARISONS.items():
    setattr(OrderedNumber, f"__{_name}__", _comparing(_name, _symbol))
for _name, _symbol in _ARITHMETIC.items():
    for _side in ("", "r"):
        setattr(OrderedNumber, f"__{_side}{_name}__", _refusing(f"does arithmetic with one (`{_symbol}`)"))
for _name, _symbol in _UNARY.items():
    setattr(OrderedNumber, f"__{_name}__", _refusing(f"does arithmetic with one (`{_symbol}`)"))
for _name, _what in _OTHERS.items():
    setattr(OrderedNumber, f"__{_name}__", _refusing(_what))


def seen_in(ranks: Ranks, domain: Any, value: Any, numbers: Numbers) -> Any:
    """A plain value as functions see it: with opaque numbers."""
    return ranks.mapped(domain, value, numbers.number)


def written_in(ranks: Ranks, domain: Any, value: Any, numbers: Numbers) -> Any:
    """The plain value of what a function has returned. What is in no domain stays as it is."""
    group = ranks.declared(domain)
    if group is not None:
        return numbers.written(group, value)
    if not (domain.has_places and domain.is_like(value)):
        return value if type(value) is not OrderedNumber else numbers.written(None, value)
    return domain.rebuilt(value, [written_in(ranks, of, part, numbers) for of, part in domain.parts(value)])
