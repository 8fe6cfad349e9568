"""Outcomes as they are compared where the same was searched in two ways."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.explorer.verdict import Outcome

OF_THE_WAY = {"seconds", "compile_seconds", "memory", "compiled_paths", "settings_read"}


def findings(outcome: Outcome, *but: str) -> dict[str, Any]:
    """All that an outcome says but how long it took, what was learned for it, and what else is named."""
    fields = attrs.asdict(outcome, recurse=False).items()
    return {name: value for name, value in fields if name not in OF_THE_WAY.union(but)}


def timeless(outcome: Outcome) -> Outcome:
    """The outcome of a search that took no time and no memory."""
    return attrs.evolve(outcome, seconds=0.0, memory=0, compile_seconds=0.0)
