"""States as plain values: what tables, and readers in other languages, can hold."""

from __future__ import annotations

from typing import Any

from highwater.model.language.domain import ArrayOf, Maybe, OneOf, SequenceOf, SetOf, Struct


def plain(domain: Any, value: Any) -> Any:
    """A value of a domain as numbers, truth values, names, None, lists and dictionaries.

    Sets become lists in the order of their members, records become dictionaries, members of enums their names as shown.
    """
    if value is None:
        return None
    match domain:
        case OneOf(members=members):
            return (
                value
                if members == (False, True) or all(type(member) is int for member in members)
                else domain.show(value)
            )
        case Maybe(of=of):
            return plain(of, value)
        case Struct(fields=fields):
            return {name: plain(of, getattr(value, name)) for name, of in fields.items()}
        case SetOf(of=of):
            return [plain(of, member) for member in of.values() if member in value]
        case SequenceOf(of=of) | ArrayOf(of=of):
            return [plain(of, element) for element in value]
    return value
