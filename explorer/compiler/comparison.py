"""The plain-Python side of every comparison: states from packed words, and packed words from what a plain action
returned.

Each learned path is compared once, so this must be quick. Most parts of a state were met before in another state, and
most parts of a next state are the objects of the state before: neither are made or looked at again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, assert_never

from highwater.explorer.compiler.layout import Elements, Fields, Layout, Leaf, Members, Presence, Slot
from highwater.explorer.compiler.views import has_rules_of_its_own
from highwater.explorer.system import Cut
from highwater.model.language.domain import build, classes_in

MOST_REMEMBERED = 1 << 12


class PlainStates:
    """Plain states of one layout.

    Attributes:
        makes_rules: whether some records do more than to keep the fields that they are made of.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout, self._root = layout, layout.root
        self.makes_rules = any(map(has_rules_of_its_own, classes_in(layout.domain)))
        self._met: dict[Any, tuple[list[tuple[int, int]], dict[tuple[int, ...], Any]]] = {}

    def unpacked(self, words: Sequence[int]) -> Any:
        """The plain state that the words hold."""
        return self._value(self._root, words)

    def _value(self, slot: Any, words: Sequence[int]) -> Any:
        if type(slot) is Leaf:
            return slot.unpack(words)
        masks, met = self._part(slot)
        key = tuple([words[word] & mask for word, mask in masks])
        if key not in met:
            if len(met) >= MOST_REMEMBERED:
                met.clear()
            met[key] = self._made(slot, words)
        return met[key]

    def _made(self, slot: Slot, words: Sequence[int]) -> Any:
        match slot:
            case Fields():
                return build(slot.domain.cls, {name: self._value(of, words) for name, of in slot.slots.items()})
            case Elements():
                length = len(slot.slots) if slot.length is None else slot.length.unpack(words)
                return tuple([self._value(of, words) for of in slot.slots[:length]])
            case Presence():
                return self._value(slot.slot, words) if slot.bit.unpack(words) else None
            case Leaf() | Members():
                return slot.unpack(words)
        assert_never(slot)

    def drawn(self, draw: Callable[[], float]) -> list[int]:
        """Words in which each scalar has a random value, be it there or not.

        Args:
            draw: gives a number from 0 to below 1.
        """
        words = [0] * self._layout.words
        for word, shift, size in self._scalars:
            words[word] |= int(draw() * size) << shift
        return words

    def normal(self, words: Sequence[int]) -> tuple[int, ...]:
        """The same state's words, with 0 where nothing is, as those of equal states are equal."""
        normal = list(words)
        for holder, most, masks in self._optional:
            if normal[holder.word] >> holder.shift & holder.mask <= most:
                for word, mask in masks:
                    normal[word] &= ~mask
        return tuple(normal)

    @functools.cached_property
    def _scalars(self) -> list[tuple[int, int, int]]:
        """Of each leaf of some bits, its word, its lowest bit and how many values it has."""
        return [(leaf.word, leaf.shift, leaf.size) for leaf in self._layout.root.leaves() if leaf.width]

    @functools.cached_property
    def _optional(self) -> list[tuple[Leaf, int, list[tuple[int, int]]]]:
        """What may be absent, the outer before the inner: the leaf that says so, the most that this one holds then, and
        which bits of which words are 0.
        """
        return list(self._optional_in(self._root))

    def _optional_in(self, slot: Slot) -> Iterator[tuple[Leaf, int, list[tuple[int, int]]]]:
        if type(slot) is Presence:
            yield slot.bit, 0, self._part(slot.slot)[0]
        if type(slot) is Elements and slot.length is not None:
            yield from ((slot.length, position, self._part(of)[0]) for position, of in enumerate(slot.slots))
        for of in slot.inside():
            yield from self._optional_in(of)

    def packed(self, words: Sequence[int], before: Any, after: Any) -> tuple[int, ...] | Cut:
        """The words of the state after a step, or what cuts it; `words` are those of the state before.

        Raises:
            DomainError: it is no state.
        """
        changed = list(words)
        cut: set[str] = set()
        if after is not before:
            self._pack(self._root, before, after, changed, cut)
        return Cut(frozenset(cut)) if cut else tuple(changed)

    def _pack(self, slot: Slot, before: Any, after: Any, words: list[int], cut: set[str]) -> None:
        """Pack what is another object than before."""
        if type(slot) is Fields and type(after) is type(before) is slot.domain.cls:
            for name, of in slot.slots.items():
                old, new = getattr(before, name), getattr(after, name)
                if new is not old:
                    self._pack(of, old, new, words, cut)
        elif type(slot) is Elements and _are_alike(before, after, of_one_length=slot.length is None):
            self._pack_elements(slot, before, after, words, cut)
        else:
            self._pack_whole(slot, after, words, cut)  # which every kind of slot has

    def _pack_elements(
        self, slot: Elements, before: tuple[Any, ...], after: tuple[Any, ...], words: list[int], cut: set[str]
    ) -> None:
        if len(after) > len(slot.slots):
            cut |= slot.domain.exceeded(after)
            return
        if slot.length is not None and len(after) != len(before):
            self._pack_whole(slot.length, len(after), words, cut)
        for position, of in enumerate(slot.slots[: max(len(before), len(after))]):
            if position >= len(after):
                self._clear(of, words)
            elif position >= len(before):
                self._pack_whole(of, after[position], words, cut)
            elif after[position] is not before[position]:
                self._pack(of, before[position], after[position], words, cut)

    def _pack_whole(self, slot: Any, value: Any, words: list[int], cut: set[str]) -> None:
        exceeded = slot.domain.exceeded(value)
        cut |= exceeded
        if not exceeded:
            self._clear(slot, words)
            slot.pack(value, words)

    def _clear(self, slot: Any, words: list[int]) -> None:
        if type(slot) is Leaf:
            words[slot.word] &= ~(slot.mask << slot.shift)
            return
        for word, mask in self._part(slot)[0]:
            words[word] &= ~mask

    def _part(self, slot: Any) -> tuple[list[tuple[int, int]], dict[tuple[int, ...], Any]]:
        """Which bits of which words belong to a composite slot, and the values met there."""
        found = self._met.get(slot)
        if found is None:
            masks: dict[int, int] = {}
            for leaf in slot.leaves():
                masks[leaf.word] = masks.get(leaf.word, 0) | leaf.mask << leaf.shift
            found = self._met[slot] = list(masks.items()), {}
        return found


def _are_alike(before: Any, after: Any, *, of_one_length: bool) -> bool:
    return type(after) is type(before) is tuple and (not of_one_length or len(after) == len(before))
