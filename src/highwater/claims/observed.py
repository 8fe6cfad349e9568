"""What was seen of a state: values of some of its parts, as logs and implementations spell them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import Any

import attrs

from highwater.claims.expressions import Expression, expression
from highwater.claims.names import ExpressionError
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
    """A part of the state, and the value that was seen."""

    part: Expression
    value: Any

    def fits(self, state: Any) -> bool:
        """Whether the part has the value in a state; not where it has none, such as None - 1."""
        try:
            found = self.part.of(state)
        except RAISED:
            return False
        value = self.value.beyond if isinstance(self.value, Foreign) else self.value
        return bool((found if self.part.domain else plain(found)) == value)

    @property
    def shown(self) -> str:
        """The value as traces show it."""
        if isinstance(self.value, Foreign):
            return str(self.value)
        return self.part.domain.show(self.value) if self.part.domain else _as_json(self.value)


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
        self._domain = domain
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
                found.append(Observed(part, value_of(part.domain, value) if part.domain else plain(value)))
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
        return None if given is None or given == "none" else value_of(inside[""], given, bounded=bounded)
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
    for value in domain.values() if domain.count <= MOST_COMPARED else ():
        written = value.value if isinstance(value, Enum) else value
        if given == domain.show(value) or (type(given) is type(written) and given == written):
            return value
    return given


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


def plain(value: Any) -> Any:
    """A value that no domain describes, so that a log's compares with it: lists for tuples, an enum's value."""
    match value:
        case bool():
            return "yes" if value else "no"  # True is no 1
        case Enum():
            return plain(value.value)
        case list() | tuple():
            return [plain(each) for each in value]
        case set() | frozenset():
            return {"": sorted(map(repr, map(plain, value)))}  # equal sets, in whatever order, and unlike any list
    return value


def _as_json(value: Any) -> str:
    return ", ".join(value[""]) if isinstance(value, dict) and "" in value else str(value)
