"""States as plain values: what tables, and readers in other languages, can hold."""

from __future__ import annotations

from typing import Any, assert_never

from highwater.model.language.shape import Domain, Shape


def plain(domain: Domain, value: Any) -> Any:
    """A value of a domain as numbers, truth values, names, None, lists and dictionaries.

    Sets become lists in the order of their members, records become dictionaries, members of enums their names as shown.
    """
    parts = [plain(of, part) for of, part in domain.in_order(value)]
    match domain.shape:
        case Shape.NUMBER | Shape.TRUTH:
            return value
        case Shape.NAME:
            return None if value is None else domain.show(value)
        case Shape.OPTION:
            return parts[0] if parts else None
        case Shape.RECORD:
            return dict(zip(domain.inside(), parts, strict=True))
        case Shape.SET | Shape.LIST:
            return parts
    assert_never(domain.shape)


def is_long(domain: Domain) -> bool:
    """Whether some numbers of a domain take more than 32 bits."""
    return not all(-(2**31) < value < 2**31 for value in domain.values())


def plain_type(domain: Domain) -> Any:
    """The type of what `plain` makes of a domain's values, whichever there are: `int`, `bigint`, `boolean` or `string`,
    of a record a dictionary of these, and of what becomes a list one in a list.
    """
    inside = {name: plain_type(of) for name, of in domain.inside().items()}
    match domain.shape:
        case Shape.NUMBER:
            return "bigint" if is_long(domain) else "int"
        case Shape.TRUTH:
            return "boolean"
        case Shape.NAME:
            return "string"
        case Shape.OPTION:
            return inside[""]
        case Shape.RECORD:
            return inside
        case Shape.SET | Shape.LIST:
            return [inside[""]]
    assert_never(domain.shape)
