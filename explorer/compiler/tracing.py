"""Run a pure function once on a traced view of a packed state, and record what it read and what it wrote.

What the run returns is turned into writes of leaves: constants where the value is known, copies where it was never
looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, assert_never, cast

import attrs

from highwater.explorer.compiler.containers import SLOTS, SetView, TupleView
from highwater.explorer.compiler.layout import Elements, Fields, Layout, Leaf, Members, Presence, Slot
from highwater.explorer.compiler.ranks import OrderedLeaves
from highwater.explorer.compiler.views import RecordView, TracingError, View, record_view
from highwater.explorer.opaque import Numbers
from highwater.explorer.ranks import Group
from highwater.explorer.values import plain
from highwater.model.language.domain import SequenceOf
from highwater.model.language.shape import DomainError


@attrs.frozen
class OutOfBounds:
    """The step's result is outside these bounds.

    Attributes:
        tops: as of an `Update`.
    """

    bounds: frozenset[str]
    tops: frozenset[tuple[int, int]] = frozenset()


@attrs.frozen
class Update:
    """The step sets leaves to packed constants, clears what is absent, and copies some leaves' packed values from the
    state before.

    Attributes:
        tops: by the number of a group of which only the order matters, the rank that must be the greatest in the state
            before, as the step counts it up; see `highwater.explorer.opaque`.
    """

    constants: frozenset[tuple[Leaf, int]]
    copies: frozenset[tuple[Leaf, Leaf]]
    cleared: frozenset[Leaf]
    tops: frozenset[tuple[int, int]] = frozenset()

    def after(self, words: Sequence[int]) -> tuple[int, ...]:
        """The words of the state after the step, from those of the state before."""
        written = [*self.constants, *((leaf, 0) for leaf in self.cleared)]
        written += [(leaf, words[source.word] >> source.shift & source.mask) for leaf, source in self.copies]
        after = list(words)
        for leaf, raw in written:
            after[leaf.word] = after[leaf.word] & ~(leaf.mask << leaf.shift) | raw << leaf.shift
        return tuple(after)


class Recorder:
    """One run over one packed state: the leaves read so far, in order, with their packed values.

    The state is read from its words, or leaf by leaf by a function if there is one.

    Attributes:
        path: the leaves, and their values.
        closed: whether the run has ended.
        any_order: whether it went through a set of several members, whose order is by chance.
        numbers: those of which only the order matters, as the function meets them; None if all are plain.
    """

    def __init__(
        self,
        layout: Layout,
        words: Any,
        read: Callable[[Leaf], int] | None = None,
        *,
        known: Sequence[tuple[Leaf, int]] = (),
        whole: Collection[Elements] = (),
        backwards: bool = False,
        ordered: OrderedLeaves | None = None,
        state: Callable[[], Sequence[int]] | None = None,
    ) -> None:
        """Begin a run.

        Args:
            ordered, state: which leaves hold numbers of which only the order matters, and what gives the words of the
                state even if it is read leaf by leaf.
            known: leaves that count as read from the beginning.
            whole: where tuples are to be real ones.
            backwards: whether sets come in the opposite order.
        """
        self.path = list(known)
        self.closed = self.any_order = False
        self._layout = layout
        self._words: Any = [int(word) for word in words]
        self._known = dict(known)
        self._views: dict[Any, Any] = {}
        self._read, self._whole, self._backwards = read, whole, backwards
        self._ordered = ordered
        self.numbers = (
            None if ordered is None or state is None else Numbers(lambda group: ordered.greatest(group, state()))
        )

    def raw(self, leaf: Leaf) -> int:
        """The packed value of a leaf; the first read of each is recorded."""
        value = self._known.get(leaf)
        if value is None:
            if self._words is None:
                raise TracingError(
                    "a part of the state was kept after its function had returned (a cache, a global, a generator?)"
                )
            value = (self._words[leaf.word] >> leaf.shift) & leaf.mask if self._read is None else self._read(leaf)
            self._known[leaf] = value
            if leaf.width:
                self.path.append((leaf, value))
        return value

    def known(self, leaf: Leaf) -> int | None:
        """The packed value of a leaf that was read already."""
        return self._known.get(leaf)

    def root(self) -> Any:
        """The view of the whole state."""
        return self.view(self._layout.root)

    def view(self, slot: Any) -> Any:
        """What reading a slot gives: the value of a scalar, a lazy view of a composite; the same object each time."""
        found = self._views.get(slot, self)
        if found is self:
            found = self._view(slot)
            if not self.closed:
                self._views[slot] = found
        return found

    def _view(self, slot: Slot) -> Any:
        match slot:
            case Leaf():
                value = slot.domain.decode(self.raw(slot))
                group = self.group_of(slot)
                return value if group is None or value is None else cast("Numbers", self.numbers).number(group, value)
            case Fields():
                return record_view(slot.domain.cls)(self, slot, {})
            case Elements():
                return tuple(TupleView(self, slot, None)) if slot in self._whole else TupleView(self, slot, None)
            case Members():
                return SetView(self, slot, slot.bits)
            case Presence():
                return self.view(slot.slot) if self.raw(slot.bit) else None
        assert_never(slot)

    def group_of(self, leaf: Leaf) -> Group | None:
        """The group of the number that a leaf holds, if only the order of that matters."""
        return None if self._ordered is None else self._ordered.group_of.get(leaf)

    def exceeded(self, domain: Any, value: Any) -> frozenset[str]:
        """The bounds that cut a value of a domain."""
        if self._ordered is None or self.numbers is None:
            keys: frozenset[str] = domain.exceeded(value)
            return keys
        return self._ordered.exceeded(domain, value, self.numbers)

    def read_what_was_greatest(self) -> None:
        """Let the path hold that the numbers that were counted up are the greatest of the state."""
        for group in self.numbers.counted_up if self.numbers else ():
            cast("OrderedLeaves", self._ordered).read(group, self.raw)

    def in_some_order(self, members: list[Any]) -> list[Any]:
        """The members of a set, in the order in which this run goes through them."""
        self.any_order |= len(members) > 1
        return members[::-1] if self._backwards else members

    def close(self) -> None:
        """End the run: views that live on refuse to be read."""
        self.closed = True
        if self.numbers is not None:
            self.numbers.closed = True
        self._words = None
        self._known, self._views = {}, {}

    def writes(self, result: Any) -> Update | OutOfBounds:
        """The difference between the state and the next state that the function returned, as writes of leaves."""
        writer = _Writer(self)
        writer.assign(self._layout.root, result)
        counted = None if self.numbers is None else self.numbers.counted_up
        tops = frozenset(() if self._ordered is None or counted is None else self._ordered.ranks_of(counted))
        if writer.cut:
            return OutOfBounds(frozenset(writer.cut), tops)
        constants, copies = frozenset(writer.constants.items()), frozenset(writer.copies.items())
        return Update(constants, copies, frozenset(writer.cleared), tops)


class _Writer:
    """Collects the writes that turn the state before into the state after."""

    def __init__(self, recorder: Recorder) -> None:
        self.constants: dict[Leaf, int] = {}
        self.copies: dict[Leaf, Leaf] = {}
        self.cleared: list[Leaf] = []
        self.cut: set[str] = set()
        self._recorder = recorder

    def assign(self, slot: Slot, value: Any) -> None:
        """Write a value, or the slot that it is copied from, into a slot."""
        if slot is value:
            return
        if isinstance(value, View) and value.__recorder__ is not self._recorder:
            raise TracingError("the next state holds a part of another run's state (a cache or a global?)")
        if type(value) in SLOTS and type(slot) is not Leaf:
            value = self._recorder.view(value)
        match slot:
            case Leaf():
                self._leaf(slot, value)
            case Fields():
                self._fields(slot, value)
            case Elements():
                self._elements(slot, value)
            case Members():
                self._members(slot, value)
            case Presence():
                self._presence(slot, value)
            case _:
                assert_never(slot)

    def clear(self, slot: Any) -> None:
        """Write 0 to each leaf of what becomes absent, also where it is 0 already: a name that is 0 is another name in
        an image.
        """
        self.cleared += [leaf for leaf in slot.leaves() if leaf.width]

    def _leaf(self, leaf: Leaf, value: Any) -> None:
        if isinstance(value, Leaf):
            if value.domain == leaf.domain and self._recorder.known(value) is None:
                if leaf.width:
                    self.copies[leaf] = value
                return
            value = self._recorder.view(value)
        value = self._plain(leaf, value)
        try:
            exceeded = leaf.domain.exceeded(value)
        except DomainError as error:
            raise DomainError(f"{leaf.path}: {error}") from None
        if exceeded:
            self.cut |= exceeded
        else:
            self._constant(leaf, leaf.domain.encode(value))

    def _plain(self, leaf: Leaf, value: Any) -> Any:
        numbers = self._recorder.numbers
        return value if numbers is None else numbers.written(self._recorder.group_of(leaf), value)

    def _constant(self, leaf: Leaf, raw: int) -> None:
        if leaf.width and self._recorder.known(leaf) != raw:
            self.constants[leaf] = raw

    def _fields(self, slot: Fields, value: Any) -> None:
        cls = slot.domain.cls
        if isinstance(value, RecordView) and value.__slot__ is slot:
            for name, changed in value.__changes__.items():
                self.assign(slot.slots[name], changed)
        elif isinstance(value, RecordView) and value.__slot__.domain.cls is cls:
            for name, target in slot.slots.items():
                self.assign(
                    target, value.__changes__[name] if name in value.__changes__ else value.__slot__.slots[name]
                )
        elif type(value) is cls:
            for name, target in slot.slots.items():
                self.assign(target, getattr(value, name))
        else:
            raise DomainError(f"{value!r} is not a {cls.__name__}")

    def _elements(self, slot: Elements, value: Any) -> None:
        if type(value) is TupleView:
            if value.__made__ is None and value.__slot__ is slot:
                return
            cells = value.__cells__
        elif isinstance(value, tuple):
            cells = value
        else:
            raise DomainError(f"{value!r} is not a tuple")
        if slot.length is None and len(cells) != len(slot.slots):
            raise DomainError(f"{value!r} is not a tuple of {len(slot.slots)}")
        if slot.length is not None:
            self._length(slot, len(cells))
        for target, cell in zip(slot.slots, cells, strict=False):
            if cell is not target:
                self.assign(target, cell)
        for cell in cells[len(slot.slots) :]:  # behind the last slot: only a bound that is exceeded is of interest
            if type(cell) in SLOTS:
                if cell.domain == slot.domain.of:
                    continue
                cell = self._recorder.view(cell)
            self.cut |= self._recorder.exceeded(slot.domain.of, plain(cell))
        for target in slot.slots[len(cells) :]:
            self.clear(target)

    def _length(self, slot: Elements, length: int) -> None:
        exceeded = cast("SequenceOf", slot.domain).exceeded_length(length)
        if exceeded:
            self.cut |= exceeded
        else:
            self._constant(cast("Leaf", slot.length), length)

    def _members(self, slot: Members, value: Any) -> None:
        if type(value) is SetView and value.__slot__.members == slot.members:
            for target, cell in zip(slot.bits, value.__cells__, strict=True):
                if cell is not target:
                    self.assign(target, cell)
            return
        if not isinstance(value, frozenset):
            raise DomainError(f"{value!r} is not a frozenset")
        members = {plain(member) for member in value}
        for member in members:
            self.cut |= slot.domain.of.exceeded(member)
        for member, bit in zip(slot.members, slot.bits, strict=True):
            self._constant(bit, int(member in members))

    def _presence(self, slot: Presence, value: Any) -> None:
        self._constant(slot.bit, int(value is not None))
        if value is None:
            self.clear(slot.slot)
        else:
            self.assign(slot.slot, value)
