"""What states come to, in counts that can be added up wherever they were made; and what is said of a wrong one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs


class Refused(Exception):
    """What a certificate says is not so: names the state, the step, and the property."""


def _of_counts() -> Any:
    return attrs.field(factory=Counter)


@attrs.define
class Sums:
    """What some rows come to.

    Attributes:
        levels: how many states there are, by depth.
        enabled: how many steps, by action.
        cut: how many steps are cut, by the bounds that do.
        held_back: by property, how many states wait where a bound cuts what would end that.
        at_rest, at_bound: how many states have no step: with no bound to blame, and with one.
        reached: a bit for each image of a row that is an initial state, or that a step from the level above leads to.
    """

    levels: Counter[int] = _of_counts()
    enabled: Counter[str] = _of_counts()
    cut: Counter[frozenset[str]] = _of_counts()
    held_back: Counter[str] = _of_counts()
    at_rest: int = 0
    at_bound: int = 0
    reached: int = 0

    def add(self, other: Sums) -> None:
        """Add what other rows come to."""
        for name in ("levels", "enabled", "cut", "held_back"):
            getattr(self, name).update(getattr(other, name))
        self.at_rest += other.at_rest
        self.at_bound += other.at_bound
        self.reached |= other.reached


def counts_of(sums: Sums) -> dict[str, Any]:
    """What was counted, by the names that an `Outcome` has for it; what is 0 of a table is left out."""
    by_bound: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for bounds, count in sums.cut.items():
        by_bound.update(dict.fromkeys(bounds, count))
        alone.update(dict.fromkeys(bounds, count) if len(bounds) == 1 else {})
    return {
        "levels": [sums.levels[depth] for depth in sorted(sums.levels)],
        "generated": sum(sums.enabled.values()),
        "enabled": dict(+sums.enabled),
        "bounds_cut": dict(by_bound),
        "cut_alone": dict(alone),
        "deadlocks": sums.at_rest,
        "stopped_at_bound": sums.at_bound,
        "held_back": dict(+sums.held_back),
    }
