"""Outcomes as they are compared where the same was searched in two ways."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.explorer.verdict import Outcome

AGREED = (
    *("verdict", "reason", "levels", "generated", "enabled", "bounds_cut", "deadlocks", "stopped_at_bound"),
    "violations",
)
OF_THE_WAY = {"seconds", "compile_seconds", "memory", "compiled_paths", "settings_read", "work"}


def findings(outcome: Outcome, *but: str) -> dict[str, Any]:
    """All that an outcome says but how long it took, what was learned for it, and what else is named."""
    fields = attrs.asdict(outcome, recurse=False).items()
    return {name: value for name, value in fields if name not in OF_THE_WAY.union(but)}


def timeless(outcome: Outcome) -> Outcome:
    """The outcome of a search that took no time and no memory."""
    return attrs.evolve(outcome, seconds=0.0, memory=0, compile_seconds=0.0)


def what_engines_agree_on(outcome: Outcome, *but: str) -> dict[str, Any]:
    """Verdict, counts and violations, without what is named."""
    return {name: getattr(outcome, name) for name in AGREED if name not in but}


def agree(ours: Outcome, theirs: Outcome, *but: str) -> None:
    """Both engines have found the same, what is named aside."""
    assert what_engines_agree_on(ours, *but) == what_engines_agree_on(theirs, *but)
