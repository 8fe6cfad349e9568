"""Budgets: how often a failure or a request may happen, by bounds, and how often it has happened, in states."""

from __future__ import annotations

from typing import Any, TypeVar

from highwater.model.language.domain import Integers
from highwater.model.language.records import bound, evolve, within

U = TypeVar("U")


def budget(meaning: str) -> Any:
    """An attrs field of the bounds: how often a failure or a request may happen; 0 if a claim leaves it out."""
    return bound(0, 7, meaning, default=0)


def times(key: str, order: str = "", constants_below: int = 0) -> Any:
    """An attrs field of a state: how often something has happened, up to the bound of this name. `order` and
    `constants_below` are those of `Integers`.
    """
    return within(lambda bounds: Integers(0, getattr(bounds, key), order=order, constants_below=constants_below))


def spent(used: U, key: str) -> U:
    """The counts after one more use of a budget."""
    return evolve(used, **{key: getattr(used, key) + 1})
