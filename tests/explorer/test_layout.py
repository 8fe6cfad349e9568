"""A layout packs the states of a domain one to one into few words, and refuses those that do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import MOST_WORDS, WORD_BITS, Layout
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, OneOf, SequenceOf, SetOf, Struct
from highwater.model.language.records import domain_of, within


class Colour(Enum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"


@attrs.frozen
class Point:
    x: int = within(Integers(-1, 5))
    up: bool = within(BOOLEAN)


@attrs.frozen
class Box:
    point: Point = within(Point)
    owner: int | None = within(Maybe(Integers(0, 2)))
    marks: frozenset[Colour] = within(SetOf(OneOf(Colour)))


def struct_of(**fields: Any) -> Struct:
    return domain_of(
        attrs.make_class("State", {name: within(domain) for name, domain in fields.items()}, frozen=True), None
    )


LEAVES = st.one_of(
    st.builds(lambda low, size: Integers(low, low + size), st.integers(-3, 3), st.integers(0, 300)),
    st.sampled_from([BOOLEAN, OneOf(Colour), OneOf(("only",)), Integers(0, 2**19), Integers(0, 0)]),
)
POINT = domain_of(Point, None)
SMALL = st.sampled_from([BOOLEAN, OneOf(Colour), Integers(-1, 1), Integers(4, 4), POINT, Maybe(BOOLEAN), Maybe(POINT)])
DOMAINS = st.recursive(
    st.one_of(LEAVES, st.builds(SetOf, SMALL), st.sampled_from([POINT, domain_of(Box, None)])),
    lambda of: st.one_of(
        of.filter(lambda domain: not isinstance(domain, Maybe)).map(Maybe),
        st.builds(SequenceOf, of, st.integers(0, 3)),
        st.builds(ArrayOf, of, st.integers(0, 3)),
    ),
    max_leaves=3,
)
STRUCTS = st.lists(DOMAINS, min_size=1, max_size=4).map(
    lambda domains: struct_of(**{f"f{i}": domain for i, domain in enumerate(domains)})
)


def a_value(draw: Any, domain: Any) -> Any:
    match domain:
        case Integers(low=low, high=high):
            return draw(st.integers(low, high))
        case OneOf(members=members):
            return draw(st.sampled_from(members))
        case Maybe(of=of):
            return a_value(draw, of) if draw(st.booleans()) else None
        case SetOf(of=of):
            return draw(st.frozensets(st.sampled_from(list(of.values()))))
        case SequenceOf(of=of, max_length=most):
            return tuple(a_value(draw, of) for _ in range(draw(st.integers(0, most))))
        case ArrayOf(of=of, length=length):
            return tuple(a_value(draw, of) for _ in range(length))
    return domain.cls(*(a_value(draw, of) for of in domain.fields.values()))


@st.composite
def layouts_and_states(draw: Any, states: int) -> tuple[Any, ...]:
    struct = draw(STRUCTS)
    return (Layout(struct), *(a_value(draw, struct) for _ in range(states)))


def copied(value: Any) -> Any:
    """An equal value made anew, its sets filled in another order."""
    if isinstance(value, frozenset):
        return frozenset(copied(member) for member in sorted(value, key=repr, reverse=True))
    if isinstance(value, tuple):
        return tuple(map(copied, value))
    if attrs.has(type(value)):
        return type(value)(*(copied(getattr(value, field.name)) for field in attrs.fields(type(value))))
    return value


@settings(deadline=None)
@given(layouts_and_states(1))
def test_unpacking_inverts_packing(case: tuple[Any, ...]) -> None:
    layout, state = case
    words = layout.pack(state)
    assert len(words) == layout.words
    assert all(0 <= word < 2**WORD_BITS for word in words)
    again = layout.unpack(words)
    assert again == state
    assert repr(layout.domain.exceeded(again)) == "frozenset()"  # right down to the types


@settings(deadline=None)
@given(layouts_and_states(2))
def test_states_have_equal_words_exactly_if_they_are_equal(case: tuple[Any, ...]) -> None:
    layout, one, other = case
    assert layout.pack(one) == layout.pack(copied(one))
    assert (layout.pack(one) == layout.pack(other)) == (one == other)


@pytest.mark.parametrize(
    "domain",
    [
        struct_of(a=Maybe(Integers(0, 2)), b=SetOf(BOOLEAN), c=OneOf(Colour)),
        struct_of(a=SequenceOf(Maybe(BOOLEAN), 2), b=ArrayOf(Integers(-1, 1), 2)),
        struct_of(a=Maybe(SequenceOf(BOOLEAN, 2)), b=Maybe(SetOf(Integers(0, 1)))),
        struct_of(a=SequenceOf(SetOf(BOOLEAN), 2), b=SequenceOf(SequenceOf(BOOLEAN, 1), 2)),
        struct_of(a=Maybe(domain_of(Point, None)), b=SequenceOf(domain_of(Point, None), 1)),
    ],
)
def test_all_values_of_a_domain_are_packed_differently(domain: Struct) -> None:
    layout = Layout(domain)
    states = list(domain.values())
    assert [layout.unpack(layout.pack(state)) for state in states] == states
    assert len({layout.pack(state) for state in states}) == len(states)


@settings(deadline=None)
@given(STRUCTS)
def test_leaves_lie_side_by_side_inside_their_words(struct: Struct) -> None:
    layout = Layout(struct)
    taken = [0] * layout.words
    for leaf in layout.root.leaves():
        assert 0 <= leaf.shift <= leaf.shift + leaf.width <= WORD_BITS
        assert leaf.mask == 2**leaf.width - 1
        assert leaf.domain.size <= 2**leaf.width
        assert taken[leaf.word] & leaf.mask << leaf.shift == 0, leaf.path
        taken[leaf.word] |= leaf.mask << leaf.shift
    assert sum(word.bit_count() for word in taken) == layout.bits
    assert 1 <= layout.words <= MOST_WORDS


@settings(deadline=None)
@given(STRUCTS)
def test_the_layout_follows_from_the_domain_alone(struct: Struct) -> None:
    def places(layout: Layout) -> list[tuple[Any, ...]]:
        return [(leaf.path, leaf.word, leaf.shift, leaf.width) for leaf in layout.root.leaves()]

    assert places(Layout(struct)) == places(Layout(struct))


def test_absent_values_are_packed_as_zero() -> None:
    layout = Layout(struct_of(trail=SequenceOf(Integers(0, 3), 3), owner=Maybe(domain_of(Box, None))))
    state = layout.domain.cls((), None)
    assert layout.pack(state) == (0,)


def test_a_domain_with_one_value_takes_no_bits() -> None:
    layout = Layout(
        struct_of(only=Integers(7, 7), name=OneOf(("ann",)), none=SequenceOf(BOOLEAN, 0), empty=ArrayOf(BOOLEAN, 0))
    )
    assert (layout.words, layout.bits) == (1, 0)
    state = layout.domain.cls(7, "ann", (), ())
    assert layout.unpack(layout.pack(state)) == state


def test_scalars_take_as_many_bits_as_they_need_and_no_word_is_left_while_there_is_room() -> None:
    layout = Layout(
        struct_of(marks=SetOf(Integers(0, 59)), big=Integers(0, 31), small=Integers(0, 15), more=Maybe(Integers(0, 2)))
    )
    assert layout.bits == 60 + 5 + 4 + 2
    assert layout.words == 2
    assert {leaf.path: leaf.word for leaf in layout.root.leaves() if " in " not in leaf.path} == {
        "big": 1,
        "small": 0,
        "more": 1,
    }


def test_a_state_may_take_all_words() -> None:
    layout = Layout(struct_of(marks=SetOf(Integers(0, MOST_WORDS * WORD_BITS - 1))))
    assert (layout.words, layout.bits) == (MOST_WORDS, MOST_WORDS * WORD_BITS)
    state = layout.domain.cls(frozenset({0, 63, 64, 2047}))
    assert layout.unpack(layout.pack(state)) == state


@attrs.frozen
class Inner:
    fine: bool = within(BOOLEAN)
    crowd: tuple[Any, ...] = within(ArrayOf(ArrayOf(BOOLEAN, 64), 33))


@pytest.mark.parametrize(
    "domain",
    [
        struct_of(crowd=SetOf(Integers(0, MOST_WORDS * WORD_BITS))),
        struct_of(crowd=ArrayOf(BOOLEAN, MOST_WORDS * WORD_BITS + 1)),
        struct_of(crowd=ArrayOf(Integers(0, 2**16 - 1), 129)),
        struct_of(fine=BOOLEAN, crowd=SequenceOf(domain_of(Box, None), 300)),
        struct_of(fine=ArrayOf(BOOLEAN, MOST_WORDS * WORD_BITS), crowd=BOOLEAN),
        struct_of(inner=domain_of(Inner, None)),
    ],
)
def test_more_than_32_words_are_refused_with_the_name_of_the_field(domain: Struct) -> None:
    with pytest.raises(ModelError, match=r"crowd.*does not fit.*32 words of 64 bits; lower the bounds"):
        Layout(domain)


HUGE = Limit(10**9, "huge")


def nestings(of: Any) -> Iterator[Any]:
    yield from (of, Maybe(of), SetOf(of), SequenceOf(of, 2), ArrayOf(of, 2), SequenceOf(of, HUGE), ArrayOf(of, HUGE))


@pytest.mark.parametrize(
    "domain",
    [
        *nestings(Integers(0, HUGE)),
        *nestings(SetOf(Integers(0, HUGE))),
        *nestings(SequenceOf(BOOLEAN, HUGE)),
        *nestings(ArrayOf(BOOLEAN, HUGE)),
        *nestings(SetOf(SequenceOf(BOOLEAN, HUGE))),
        *nestings(ArrayOf(SequenceOf(Integers(0, HUGE), HUGE), HUGE)),
        SetOf(struct_of(x=Integers(0, HUGE), y=Integers(0, HUGE))),
        SetOf(SetOf(Integers(0, 11))),
        SetOf(ArrayOf(Integers(0, 1), 12)),
        SequenceOf(SequenceOf(SequenceOf(BOOLEAN, 2000), 2000), 2000),
    ],
    ids=repr,
)
def test_huge_bounds_are_refused_at_once_with_the_name_of_the_field(domain: Any) -> None:
    with pytest.raises(ModelError, match=r"crowd.*does not fit"):
        Layout(struct_of(fine=BOOLEAN, crowd=domain))


@pytest.mark.parametrize("domain", [Integers(1, 0), SequenceOf(BOOLEAN, -1), OneOf(())], ids=repr)
def test_a_domain_without_values_is_refused(domain: Any) -> None:
    with pytest.raises(ModelError, match="crowd"):
        Layout(struct_of(crowd=domain))


def test_a_field_without_a_domain_is_refused() -> None:
    with pytest.raises(ModelError, match=r"crowd.*is no domain"):
        Layout(Struct(Box, {"crowd": 3}))
    with pytest.raises(TypeError, match=r"State\.crowd: 3 is no domain"):
        struct_of(crowd=3)


@attrs.frozen
class Private:
    _secret: bool = within(BOOLEAN)


@attrs.frozen(kw_only=True)
class KeywordsOnly:
    x: bool = within(BOOLEAN)


@pytest.mark.parametrize("state", [Private(True), KeywordsOnly(x=True)])
def test_records_are_made_whatever_their_constructor_calls_its_parameters(state: Any) -> None:
    layout = Layout(domain_of(type(state), None))
    assert layout.unpack(layout.pack(state)) == state
