"""Symmetry: where names are interchangeable, one state stands for all its images under their permutations.

The images of a state under a group of permutations are its *orbit*; the *representative* is the one with the least words. Only
representatives are kept. An orbit has as many states as the group has permutations, divided by how many of them leave the state as it
is; every state of an orbit has as many successors as any other. So all counts without symmetry are recovered exactly.

That is sound only if the initial states, the actions and the invariants do not tell the names apart. Permutations that move the set
of initial states are left out; the rest is tried on states as the search meets them, and refused where it fails.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from explorer.kernels.symmetry import Symmetry
from explorer.layout import Elements, Fields, Layout, Leaf, Members, Presence
from explorer.system import Cut, ModelError, System, judge, successor
from model.domain import ArrayOf, Integers, Maybe, SequenceOf, SetOf, Struct, Transition, build

MOST_NAMES = 5
MOST_CHUNK_BITS = 8
MOST_BYTES = 1 << 26

Permutation = Mapping[str, Mapping[int, int]]


def permuted(domain: Any, value: Any, permutation: Permutation) -> Any:
    """The image of a plain value under a permutation of names."""
    match domain:
        case Integers(names=names):
            return permutation.get(names, {}).get(value, value)
        case Maybe(of=of):
            return None if value is None else permuted(of, value, permutation)
        case SetOf(of=of):
            return frozenset(permuted(of, member, permutation) for member in value)
        case SequenceOf(of=of):
            return tuple(permuted(of, element, permutation) for element in value)
        case ArrayOf(of=of, by=by):
            image = list(value)
            for position, element in enumerate(value):
                image[permutation.get(by, {}).get(position, position)] = permuted(of, element, permutation)
            return tuple(image)
        case Struct(cls=cls, fields=fields):
            return build(cls, {name: permuted(of, getattr(value, name), permutation) for name, of in fields.items()})
    return value


def permutations_of(system: System, layout: Layout) -> list[Permutation]:
    """The permutations of interchangeable names that leave the set of initial states as it is, the identity first.

    Of a set of more than five names the last five are permuted, or fewer where the kernel's tables would become too large.
    """
    bytes_each = 8 * layout.words * len(list(_chunks(layout))) << MOST_CHUNK_BITS
    most = max((n for n in range(1, MOST_NAMES + 1) if bytes_each * math.factorial(n) <= MOST_BYTES), default=1)
    choices = [
        [dict(zip(names[-most:], image, strict=True)) for image in itertools.permutations(names[-most:])]
        for names in system.interchangeable.values()
    ]
    every = [dict(zip(system.interchangeable, chosen, strict=True)) for chosen in itertools.product(*choices)]
    initial = set(system.initial)
    return [found for found in every if {permuted(system.domain, state, found) for state in system.initial} == initial]


def no_symmetry(layout: Layout) -> Symmetry:
    """Every state stands for itself."""
    return Symmetry(np.zeros((0, 3), np.uint64), np.zeros((0, 1, 1, layout.words), np.uint64))


def tabulate(layout: Layout, permutations: Sequence[Permutation]) -> Symmetry:
    """The kernel's tables for a group of permutations, the identity first."""
    chunks = list(_chunks(layout))
    images = np.zeros((len(permutations) - 1, len(chunks), 1 << MOST_CHUNK_BITS, layout.words), np.uint64)
    for number, permutation in enumerate(permutations[1:]):
        moves = dict(_moves(layout.root, layout.root, permutation))
        for position, chunk in enumerate(chunks):
            low = chunk[0].shift
            for value in range(1 << sum(leaf.width for leaf in chunk)):
                for leaf in chunk:
                    target, codes = moves[leaf]
                    code = codes[value >> (leaf.shift - low) & leaf.mask]
                    images[number, position, value, target.word] |= np.uint64(code << target.shift)
    where = [(chunk[0].word, chunk[0].shift, (1 << sum(leaf.width for leaf in chunk)) - 1) for chunk in chunks]
    return Symmetry(np.array(where, np.uint64).reshape(len(chunks), 3), images)


def _chunks(layout: Layout) -> Iterator[list[Leaf]]:
    """The leaves in runs of neighbouring bits."""
    chunk: list[Leaf] = []
    for leaf in sorted((leaf for leaf in layout.root.leaves() if leaf.width), key=lambda leaf: (leaf.word, leaf.shift)):
        if chunk and (leaf.word != chunk[0].word or leaf.shift + leaf.width - chunk[0].shift > MOST_CHUNK_BITS):
            yield chunk
            chunk = []
        chunk.append(leaf)
    if chunk:
        yield chunk


def _moves(source: Any, target: Any, permutation: Permutation) -> Iterator[tuple[Leaf, tuple[Leaf, list[int]]]]:
    """For every leaf of a slot, the leaf that its image is in, and the packed image of each packed value."""
    match source:
        case Leaf(domain=domain):
            codes = [domain.encode(permuted(domain, domain.decode(code), permutation)) for code in range(domain.size)]
            yield source, (target, codes + [0] * (source.mask + 1 - len(codes)))
        case Fields():
            for name, slot in source.slots.items():
                yield from _moves(slot, target.slots[name], permutation)
        case Elements():
            if source.length is not None:
                yield from _moves(source.length, target.length, permutation)
            places = permutation.get(getattr(source.domain, "by", ""), {})
            for position, slot in enumerate(source.slots):
                yield from _moves(slot, target.slots[places.get(position, position)], permutation)
        case Members():
            for member, bit in zip(source.members, source.bits, strict=True):
                yield bit, (target.bits[target.position[permuted(source.domain.of, member, permutation)]], [0, 1])
        case Presence():
            yield from _moves(source.bit, target.bit, permutation)
            yield from _moves(source.slot, target.slot, permutation)


def refuse_unless_sound(system: System, permutations: Sequence[Permutation], states: Sequence[Any]) -> None:
    """Try whether actions and invariants tell the permuted names apart in some states.

    Raises:
        ModelError: they do; names the function, the names and the state.
    """
    for state in states:
        for permutation in _generators(permutations):
            _try(system, permutation, state)


def _generators(permutations: Sequence[Permutation]) -> list[Permutation]:
    """The permutations that exchange two names: together they generate all others of a full symmetric group."""
    exchanges = [p for p in permutations if sum(name != image for of in p.values() for name, image in of.items()) == 2]
    return exchanges or list(permutations[1:])


def _try(system: System, permutation: Permutation, state: Any) -> None:
    image = permuted(system.domain, state, permutation)
    by_function: dict[Any, tuple[list[Any], list[Any]]] = {}
    steps: list[Transition] = []
    image_steps: list[Transition] = []
    for instance in system.actions:
        ours, theirs = by_function.setdefault(instance.of, ([], []))
        after, image_after = (successor(instance, each, system.domain) for each in (state, image))
        ours.append(_image_of_step(system, after, permutation))
        theirs.append(image_after)
        steps += [Transition(state, after)] if isinstance(after, system.domain.cls) else []
        image_steps += [Transition(image, image_after)] if isinstance(image_after, system.domain.cls) else []
    for instance in system.step_properties:
        ours, theirs = by_function.setdefault(instance.of, ([], []))
        ours += [bool(judge(instance, step, system.transitions)) for step in steps]
        theirs += [bool(judge(instance, step, system.transitions)) for step in image_steps]
    for invariant in (*system.invariants, *system.prospects):
        ours, theirs = by_function.setdefault(invariant.of, ([], []))
        ours.append(bool(judge(invariant, state, system.domain)))
        theirs.append(bool(judge(invariant, image, system.domain)))
    for function, (ours, theirs) in by_function.items():
        if Counter(ours) != Counter(theirs):
            moved = ", ".join(f"{name} and {image}" for of in permutation.values() for name, image in of.items() if name < image)
            raise ModelError(
                f"{function.name} tells {moved} apart, which the model declares interchangeable; explore without symmetry\n"
                f"  in the state {system.domain.show(state)}"
            )


def _image_of_step(system: System, after: Any, permutation: Permutation) -> Any:
    return after if after is None or isinstance(after, Cut) else permuted(system.domain, after, permutation)
