"""A static layout packs a state bijectively into a few 64-bit words.

Every scalar of the state, every possible member of a set and every sequence length is a `Leaf`: some bits of one word.
What an absent element would occupy (behind the end of a sequence, inside None) is zero, so that equal states have equal
words. The layout follows from the domain alone: it is the same on every machine.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import attrs

from highwater.explorer.blame import ModelError
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Maybe, SequenceOf, SetOf, Struct, build
from highwater.model.language.shape import Domain

WORD_BITS = 64
MOST_WORDS = 32


Slot: TypeAlias = "Leaf | Members | Elements | Fields | Presence"
"""Where a value is packed. Each has

    leaves: its leaves, in one order,
    inside: the slots that it is made of,
    places: for each of these, the number of the one where its image is under an exchange of names,
    holders: the leaves that may be absent, each with the innermost one that says so.
"""
Holder = tuple["Leaf", int]
"""A leaf that says whether others are there, and the most that it holds where they are not; it is 0 where it is absent
itself.
"""
Image = Callable[["Domain | str", Any], Any]
"""The image of a value of a domain, or of a position that is one of a set of names."""


@attrs.frozen(eq=False)
class Leaf:
    """Some bits of one word that hold one scalar.

    Attributes:
        path: where in the state, for people.
        domain: the scalar's domain; bits hold the index of the value in it.
        word, shift, width: which word, the lowest bit, and how many bits (0 where the domain has one value only).
        mask: ones, as many as there are bits.
        size: how many values the domain has.
    """

    path: str
    domain: Any
    word: int
    shift: int
    width: int
    mask: int = attrs.field(init=False)
    size: int = attrs.field(init=False)

    @mask.default
    def _mask(self) -> int:
        return (1 << self.width) - 1

    @size.default
    def _size(self) -> int:
        return int(self.domain.size)

    def pack(self, value: Any, words: list[int]) -> None:
        words[self.word] |= self.domain.encode(value) << self.shift

    def unpack(self, words: Any) -> Any:
        return self.domain.decode((int(words[self.word]) >> self.shift) & self.mask)

    def leaves(self) -> list[Leaf]:
        return [self]

    def inside(self) -> tuple[Slot, ...]:
        return ()

    def places(self, image: Image) -> Iterable[int]:
        return ()

    def holders(self, holder: Holder | None) -> Iterator[tuple[Leaf, Holder]]:
        if holder is not None:
            yield self, holder


@attrs.frozen(eq=False)
class Members:
    """A set: one leaf per possible member."""

    domain: SetOf
    members: tuple[Any, ...]
    bits: tuple[Leaf, ...]
    position: dict[Any, int]

    def pack(self, value: Any, words: list[int]) -> None:
        for member in value:
            self.bits[self.position[member]].pack(True, words)

    def unpack(self, words: Any) -> frozenset[Any]:
        return frozenset(member for member, bit in zip(self.members, self.bits, strict=True) if bit.unpack(words))

    def leaves(self) -> list[Leaf]:
        return list(self.bits)

    def inside(self) -> tuple[Slot, ...]:
        return self.bits

    def places(self, image: Image) -> Iterable[int]:
        return (self.position[image(self.domain.of, member)] for member in self.members)

    def holders(self, holder: Holder | None) -> Iterator[tuple[Leaf, Holder]]:
        return iter(())  # no member is itself packed


@attrs.frozen(eq=False)
class Elements:
    """A tuple: one slot per possible element, and a length leaf unless the length is fixed."""

    domain: SequenceOf | ArrayOf
    length: Leaf | None
    slots: tuple[Slot, ...]

    def pack(self, value: tuple[Any, ...], words: list[int]) -> None:
        if self.length is not None:
            self.length.pack(len(value), words)
        for slot, element in zip(self.slots, value, strict=False):
            slot.pack(element, words)

    def unpack(self, words: Any) -> tuple[Any, ...]:
        length = len(self.slots) if self.length is None else self.length.unpack(words)
        return tuple(slot.unpack(words) for slot in self.slots[:length])

    def leaves(self) -> list[Leaf]:
        return [leaf for slot in self.inside() for leaf in slot.leaves()]

    def inside(self) -> tuple[Slot, ...]:
        return self.slots if self.length is None else (self.length, *self.slots)

    def places(self, image: Image) -> Iterable[int]:
        first = len(self.inside()) - len(self.slots)
        elements = (first + image(self.domain.by, position) for position in range(len(self.slots)))
        return (*range(first), *elements)

    def holders(self, holder: Holder | None) -> Iterator[tuple[Leaf, Holder]]:
        for position, slot in enumerate(self.slots):
            yield from slot.holders(holder if self.length is None else (self.length, position))


@attrs.frozen(eq=False)
class Fields:
    """A record: one slot per field."""

    domain: Struct
    slots: dict[str, Slot]

    def pack(self, value: Any, words: list[int]) -> None:
        for name, slot in self.slots.items():
            slot.pack(getattr(value, name), words)

    def unpack(self, words: Any) -> Any:
        return build(self.domain.cls, {name: slot.unpack(words) for name, slot in self.slots.items()})

    def leaves(self) -> list[Leaf]:
        return [leaf for slot in self.slots.values() for leaf in slot.leaves()]

    def inside(self) -> tuple[Slot, ...]:
        return tuple(self.slots.values())

    def places(self, image: Image) -> Iterable[int]:
        return range(len(self.slots))

    def holders(self, holder: Holder | None) -> Iterator[tuple[Leaf, Holder]]:
        return itertools.chain.from_iterable(slot.holders(holder) for slot in self.slots.values())


@attrs.frozen(eq=False)
class Presence:
    """A composite that may be None: one bit, and the slot of what is there when it is not."""

    domain: Maybe
    bit: Leaf
    slot: Slot

    def pack(self, value: Any, words: list[int]) -> None:
        if value is not None:
            self.bit.pack(True, words)
            self.slot.pack(value, words)

    def unpack(self, words: Any) -> Any:
        return self.slot.unpack(words) if self.bit.unpack(words) else None

    def leaves(self) -> list[Leaf]:
        return [self.bit, *self.slot.leaves()]

    def inside(self) -> tuple[Slot, ...]:
        return self.bit, self.slot

    def places(self, image: Image) -> Iterable[int]:
        return range(2)

    def holders(self, holder: Holder | None) -> Iterator[tuple[Leaf, Holder]]:
        return self.slot.holders((self.bit, 0))


class Layout:
    """The bits of a struct's states.

    Attributes:
        root: the slot of the whole state.
        words: how many 64-bit words a state takes.
        units: how many 32-bit units; the last word's upper half is left out where it is never used.
        bits: how many of their bits are used.

    Raises:
        ModelError: a state would take more than 32 words, with the fields that take most.
    """

    def __init__(self, domain: Struct, skip: int = 0) -> None:
        self._free: list[int] = [0] * skip  # words that are full before the first field is placed
        self._skipped = skip
        self.domain = domain
        self.root = self._slot(domain, "")
        self.words = max(skip + 1, len(self._free))
        self.units = 2 * self.words - (not self._free or self._free[-1] >= WORD_BITS // 2)
        self.bits = sum(leaf.width for leaf in self.root.leaves())

    def pack(self, state: Any) -> tuple[int, ...]:
        """The words of a state inside its domain."""
        words = [0] * self.words
        self.root.pack(state, words)
        return tuple(words)

    def unpack(self, words: Any) -> Any:
        """The state that the words hold."""
        return self.root.unpack(words)

    def doubled(self, transitions: Struct) -> Layout:
        """The layout of steps: the words of the state before, then those of the state after."""
        after = Layout(self.domain, skip=self.words)
        both = copy.copy(self)
        both.domain = transitions
        both.root = Fields(transitions, {"before": self.root, "after": after.root})
        both.words, both.units, both.bits = 2 * self.words, 4 * self.words, 2 * self.bits
        return both

    def _slot(self, domain: Any, path: str) -> Any:
        match domain:
            case Domain(is_scalar=True):
                return self._leaf(domain, path)
            case Struct(fields=fields):
                return Fields(
                    domain, {name: self._slot(of, f"{path}.{name}" if path else name) for name, of in fields.items()}
                )
            case ArrayOf(of=of, length=length):
                return Elements(domain, None, self._elements(of, length, path))
            case SequenceOf(of=of, max_length=length):
                return Elements(
                    domain, self._leaf(Integers(0, length), f"len({path})"), self._elements(of, length, path)
                )
            case SetOf(of=of):
                if of.count > WORD_BITS * MOST_WORDS:
                    raise _too_large(path, "a set with that many possible members")
                members = tuple(of.values())
                bits = tuple(self._leaf(BOOLEAN, f"{of.show(member)} in {path}") for member in members)
                return Members(domain, members, bits, {member: i for i, member in enumerate(members)})
            case Maybe(of=of):
                return Presence(domain, self._leaf(BOOLEAN, f"{path} is not None"), self._slot(of, path))
        raise ModelError(f"{path or 'the state'}: {domain!r} is no domain")

    def _elements(self, of: Any, length: int, path: str) -> tuple[Any, ...]:
        if length > WORD_BITS * MOST_WORDS:
            raise _too_large(path, f"a tuple of {int(length)} elements")
        return tuple(self._slot(of, f"{path}[{i}]") for i in range(length))

    def _leaf(self, domain: Any, path: str) -> Leaf:
        """Place a scalar in the first word that still has room for it."""
        size = domain.size
        if size < 1:
            raise _too_large(path, "a domain without values")
        width = (size - 1).bit_length()
        if width > 20:
            raise _too_large(path, f"a scalar with {size} values")
        word = next((word for word, free in enumerate(self._free) if free >= width), len(self._free))
        if word == len(self._free):
            if word - self._skipped >= MOST_WORDS:
                raise _too_large(path, "one more word")
            self._free.append(WORD_BITS)
        shift = WORD_BITS - self._free[word]
        self._free[word] -= width
        return Leaf(path, domain, word, shift if width else 0, width)


def _too_large(path: str, what: str) -> ModelError:
    return ModelError(
        f"{path}: {what} does not fit into a packed state of at most {MOST_WORDS} words of {WORD_BITS} bits; "
        "lower the bounds"
    )


def holders(slot: Slot) -> Iterator[tuple[Leaf, Holder]]:
    """The leaves that may be absent, each with its holder."""
    return slot.holders(None)
