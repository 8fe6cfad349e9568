"""What was seen of a state: values of some of its parts, as logs and implementations spell them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any

import attrs

from highwater.claims.expressions import Expression, expression
from highwater.claims.names import ExpressionError, names_of
from highwater.claims.tables import Wrong, did_you_mean, shown
from highwater.explorer.blame import RAISED
from highwater.model.language.domain import Struct, build
from highwater.model.language.shape import Domain, DomainError, Shape

MOST_LISTED = 10  # values that a message lists
MOST_COMPARED = 10_000  # values of a domain among which a text is looked for


@attrs.frozen(eq=False)
class Foreign:
    """A value that a part of the state cannot have; it equals none.

    Attributes:
        beyond: the value that it is outside the bounds, if it is one there.
    """

    given: Any
    beyond: Any = attrs.field(factory=object)

    def __str__(self) -> str:
        return repr(self.given)


@attrs.frozen
class Observed:
    """A part of the state, and the value that was seen.

    Attributes:
        value: of the part's domain; as it was given, if no domain describes the part.
        labels: those of the state's numbers and elements.
    """

    part: Expression
    value: Any
    labels: frozenset[str] = frozenset()

    def fits(self, state: Any, *, undefined: bool = False) -> bool:
        """Whether the part has the value in a state; `undefined` where it has none, such as None - 1."""
        try:
            found = self.part.of(state)
        except RAISED:
            return undefined
        value = self.value.beyond if isinstance(self.value, Foreign) else self.value
        return bool(found == value) if self.part.domain else means(value, found, self.labels)

    @property
    def shown(self) -> str:
        """The value as traces show it."""
        if isinstance(self.value, Foreign):
            return str(self.value)
        return self.part.domain.show(self.value) if self.part.domain else _in_words(self.value)


@attrs.frozen
class Misfit:
    """A part of the state that is other than was seen: what the model has, and what was seen."""

    part: str
    model: str
    seen: str

    def __str__(self) -> str:
        return f"{self.part} is {self.seen}, and {self.model} in the model"


def misfits(observed: tuple[Observed, ...], state: Any) -> tuple[Misfit, ...]:
    """The parts of a state that are other than was seen."""
    return tuple(
        Misfit(each.part.text, each.part.shown(state), each.shown) for each in observed if not each.fits(state)
    )


class Observer:
    """Reads what was seen of the states of a domain."""

    def __init__(self, domain: Struct) -> None:
        self._domain, self._labels = domain, names_of(domain).labels
        self._parts: dict[str, Expression] = {}

    def part(self, text: str) -> Expression:
        """A field of the state, or an expression over it.

        Raises:
            Wrong: it is neither.
        """
        if text not in self._parts:
            fields = self._domain.fields
            if text.isidentifier() and text not in fields:
                raise Wrong(f"no field {shown(text)}{did_you_mean(text, fields)}; fields are {', '.join(fields)}")
            try:
                self._parts[text] = expression(text, self._domain)
            except ExpressionError as error:
                raise Wrong(str(error)) from None
        return self._parts[text]

    def read(self, given: Mapping[str, Any], *, foreign: bool = False) -> tuple[Observed, ...]:
        """What was seen, by field or expression.

        Args:
            foreign: take values that a part cannot have.

        Raises:
            Wrong: there is no such part, or it cannot have that value within the bounds.
        """
        found = []
        for text, value in given.items():
            part = self.part(text)
            try:
                found.append(Observed(part, value_of(part.domain, value) if part.domain else value, self._labels))
            except Wrong as wrong:
                if not foreign:
                    raise Wrong(*(f"{text}: {problem}" for problem in wrong.problems)) from None
                found.append(Observed(part, _foreign(part.domain, value)))
        return tuple(found)


def _foreign(domain: Domain | None, given: Any) -> Foreign:
    """A value that a part cannot have, and what it is outside the bounds."""
    with suppress(Wrong):
        return Foreign(given, value_of(domain, given, bounded=False)) if domain else Foreign(given)
    return Foreign(given)


def value_of(domain: Domain, given: Any, *, bounded: bool = True) -> Any:
    """The value of a domain that a log or an implementation means: the value itself, as traces show it (`c1`, `none`),
    or as JSON has it (an enum's value, a list for a set).

    Args:
        bounded: whether the bounds must allow it.

    Raises:
        Wrong: it is none, or one that the bounds do not allow.
    """
    inside = domain.inside()
    if not inside:
        return _within(domain, _atom(domain, given), bounded=bounded)
    if "" not in inside:
        return _record(domain, given, bounded=bounded)
    if domain.shape is Shape.OPTION:
        if given == "none" and (meant := _written(inside[""], given)):
            raise Wrong(f"{shown(given)} may be null or {meant[0]}, by name or by value")
        return None if given in (None, "none") else value_of(inside[""], given, bounded=bounded)
    if not isinstance(given, list | tuple | set | frozenset):
        raise Wrong(f"{shown(given)} is not a list of values")
    parts = tuple(value_of(inside[""], each, bounded=bounded) for each in given)
    return _within(domain, frozenset(parts) if domain.shape is Shape.SET else parts, bounded=bounded)


def _within(domain: Domain, value: Any, *, bounded: bool) -> Any:
    try:
        beyond = domain.exceeded(value)
    except DomainError:
        raise Wrong(f"{shown(value)} is not allowed; {_allowed(domain)}") from None
    if beyond and bounded:
        raise Wrong(f"{shown(value)} is beyond the bound {', '.join(sorted(beyond))}; raise it in the spec")
    return value


def _atom(domain: Domain, given: Any) -> Any:
    """A scalar by its name, if it is given by one, or by the value of a member of an enum."""
    if isinstance(given, str) and domain.shape is Shape.NUMBER:
        number = given.removeprefix(domain.label)
        if number.isdecimal() and given.startswith(domain.label):
            return int(number)
    elif not isinstance(given, str) and domain.shape is not Shape.NAME:
        return given
    if len(meant := _written(domain, given)) > 1:
        raise Wrong(f"{shown(given)} may be {' or '.join(map(str, meant))}, by name or by value")
    return meant[0] if meant else given


def _written(domain: Domain, given: Any) -> list[Any]:
    """The scalars that are shown or written as what was given."""
    values = domain.values() if domain.is_scalar and domain.count <= MOST_COMPARED else ()
    return [each for each in values if given == domain.show(each) or _is_written(each, given)]


def _is_written(value: Any, given: Any) -> bool:
    if isinstance(value, tuple | frozenset) or attrs.has(type(value)):
        return means(given, value)
    written = value.value if isinstance(value, Enum) else value
    return type(given) is type(written) and bool(given == written)


def _record(domain: Domain, given: Any, *, bounded: bool) -> Any:
    if domain.is_like(given):
        return _within(domain, given, bounded=bounded)
    fields = domain.inside()
    if not isinstance(given, Mapping) or not isinstance(domain, Struct):
        raise Wrong(f"{shown(given)} is not a record with the fields {', '.join(fields)}")
    if unknown := [each for each in given if each not in fields]:
        hint = did_you_mean(str(unknown[0]), fields)
        raise Wrong(f"no field {shown(unknown[0])}{hint}; fields are {', '.join(fields)}")
    if missing := [each for each in fields if each not in given]:
        raise Wrong(f"lacks the field {missing[0]}; name a part as in x.{next(iter(fields))} to leave fields out")
    return build(domain.cls, {name: value_of(of, given[name], bounded=bounded) for name, of in fields.items()})


def _allowed(domain: Domain) -> str:
    """What a domain's values are, for a message."""
    if domain.count > MOST_COMPARED:
        return f"allowed is {domain.shape.value}"
    names = [domain.show(value) for value in domain.values()]
    listed = names if len(names) <= MOST_LISTED else [*names[:2], "...", names[-1]]
    return f"allowed are {', '.join(listed)}"


def means(given: Any, found: Any, labels: frozenset[str] = frozenset()) -> bool:
    """Whether a value that no domain describes is the one that a log or an implementation gives, as itself, as traces
    show it, or as JSON has it: an enum's member by name or value, a list for a set, an object for a record.

    Args:
        labels: those that numbers may be shown with.
    """
    match found:
        case bool():  # which is no number
            return given is found or given == ("yes" if found else "no")
        case Enum():
            given = given.value if isinstance(given, Enum) else given
            return given == found.name.lower().replace("_", " ") or means(given, found.value, labels)
        case None:
            return given is None or given == "none"
        case set() | frozenset():
            return isinstance(given, list | tuple | set | frozenset) and _are_members(given, found, labels)
        case list() | tuple() | range():
            is_list = isinstance(given, list | tuple | range) and len(given) == len(found)
            return is_list and all(means(ours, theirs, labels) for ours, theirs in zip(given, found, strict=True))
        case int() if isinstance(given, str):
            shown_as = [f"{label}{found}" if found >= 0 else "none" for label in labels]
            return given in shown_as
    if attrs.has(type(found)) and isinstance(given, Mapping):
        names = [field.name for field in attrs.fields(type(found))]
        return {*names} == {*given} and all(means(given[name], getattr(found, name), labels) for name in names)
    if isinstance(given, Enum):
        return means(given.value, found, labels)
    return type(given) is not bool and bool(given == found)


def _are_members(given: Collection[Any], found: Collection[Any], labels: frozenset[str]) -> bool:
    """Whether what is given has the members of a set, in whatever order."""
    of_each = [[each for each in found if means(one, each, labels)] for one in given]
    return all(of_each) and {each for some in of_each for each in some} == {*found}


def _in_words(value: Any) -> str:
    """A value that no domain describes, for people: without the marks of Python."""
    match value:
        case bool():
            return "yes" if value else "no"
        case Enum():
            return str(value.value)
        case set() | frozenset():
            return ", ".join(sorted(map(_in_words, value)))
    return str(value)
