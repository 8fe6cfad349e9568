"""Which paths the walks of a machine have run, for the end of a test run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from highwater.implementation.plans import Plan

MOST_NAMED = 10


@attrs.define
class PathCoverage:
    """The paths that the walks of one machine have run.

    Attributes:
        name: of the machine.
        running: the state machine whose walk runs.
        walks, steps: how many.
        run: the paths.
        beyond: the bounds at which walks have ended, as the implementation went further.
    """

    name: str
    plan: Plan
    running: Any = None
    walks: int = 0
    steps: int = 0
    run: set[int] = attrs.Factory(set)
    beyond: set[str] = attrs.Factory(set)

    @property
    def missed(self) -> list[str]:
        """The names of the reachable paths that no walk has run, the nearest first; at last those behind what happens
        by itself, with what that is.
        """
        called = [goal.name for goal in self.plan.goals if goal.path not in self.run]
        return called + [
            f"{goal.name} ({self.plan.by_itself(goal.actions)})"
            for goal in self.plan.beyond
            if goal.path not in self.run
        ]

    def lines(self) -> list[str]:
        """What there is to say, in lines."""
        missed, reachable = self.missed, len(self.plan.goals) + len(self.plan.beyond)
        head = f"{self.name}: {reachable - len(missed):,} of {reachable:,} paths of {self.plan.name} run"
        walks = f"{self.walks:,} walks of {self.steps:,} steps in all"
        unseen = f"; not all paths are known ({self.plan.paths.unseen})" if self.plan.paths.unseen else ""
        named = [f"    not run: {name}" for name in missed[:MOST_NAMED]]
        more = [f"    and {len(missed) - MOST_NAMED:,} more"] if len(missed) > MOST_NAMED else []
        ended = f"; some ended beyond {', '.join(sorted(self.beyond))}" if self.beyond else ""
        return [f"{head} by {walks}{ended}{unseen}", *named, *more]


MACHINES: list[PathCoverage] = []
"""Those that were made in this process."""


def walked() -> Iterable[PathCoverage]:
    """The machines that have made walks."""
    return [each for each in MACHINES if each.walks]
