"""The kernels as the rest of the house calls them, by name. Importing this imports no numba."""

from __future__ import annotations

import importlib
from typing import Any


class Door:
    """One kernel; arguments and results are those of the function of the same name in `explorer.kernels`, which says what they mean."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *arguments: Any) -> Any:
        return getattr(importlib.import_module(f"explorer.kernels.{self._module}"), self._name)(*arguments)


check, mark_violating = (Door("check", name) for name in ("check", "mark_violating"))
expand = Door("expand", "expand")
enter_rows, find, move_row = (Door("rows", name) for name in ("enter_rows", "find", "move_row"))
orbit_sizes, representative = (Door("symmetry", name) for name in ("orbit_sizes", "representative"))
mark_at_rest, mark_breaking, mark_predecessors, mark_reaching = (
    Door("reach", name) for name in ("mark_at_rest", "mark_breaking", "mark_predecessors", "mark_reaching")
)
admit, enter, first_breaking, first_violating, keep_owned, orbits_of, route, successors = (
    Door("parts", name)
    for name in ("admit", "enter", "first_breaking", "first_violating", "keep_owned", "orbits_of", "route", "successors")
)
walk_on = Door("walks", "walk_on")
