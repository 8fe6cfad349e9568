"""What expanding states counts, and how checkpoints and reports of tasks hold it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs


@attrs.frozen
class Counts:
    """What expanding has counted, states and steps without symmetry.

    Attributes:
        enabled: successors by action instance, in the system's order.
        cut_steps: steps cut, by set of bounds.
    """

    generated: int
    at_rest: int
    stopped_at_bound: int
    enabled: tuple[int, ...]
    cut_steps: Counter[frozenset[str]]

    @classmethod
    def none(cls, actions: int) -> Counts:
        return cls(0, 0, 0, (0,) * actions, Counter())

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.generated + other.generated,
            self.at_rest + other.at_rest,
            self.stopped_at_bound + other.stopped_at_bound,
            tuple(map(sum, zip(self.enabled, other.enabled, strict=True))),
            self.cut_steps + other.cut_steps,
        )

    def as_data(self) -> dict[str, Any]:
        """The counts as JSON holds them."""
        cut_steps = [[sorted(bounds), count] for bounds, count in self.cut_steps.items()]
        return {**attrs.asdict(self, recurse=False), "enabled": list(self.enabled), "cut_steps": cut_steps}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Counts:
        """The counts that `as_data` made that of."""
        cut_steps = Counter({frozenset(bounds): count for bounds, count in data["cut_steps"]})
        return cls(**{**data, "enabled": tuple(data["enabled"]), "cut_steps": cut_steps})


def by_bound_alone(cut_steps: Counter[frozenset[str]]) -> dict[str, int]:
    """Steps that each bound has cut and no other."""
    return {
        bound: count for bounds, count in sorted(cut_steps.items(), key=str) if len(bounds) == 1 for bound in bounds
    }


def by_bound(cut_steps: Counter[frozenset[str]]) -> dict[str, int]:
    """Steps that each bound has cut. A step that two bounds cut counts for both."""
    found: Counter[str] = Counter()
    for bounds, count in cut_steps.items():
        found.update(dict.fromkeys(bounds, count))
    return dict(sorted(found.items()))
