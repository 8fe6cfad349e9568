"""What one state leaves possible, in plain Python: whether a prospect is lost there, or anything can happen at all.

The search marks backwards on the graph of all states, see `highwater.explorer.search.graph_properties.prospects`. For
one state no graph is needed: what can be reached from it along the steps that may be relied on says as much, and there
is little of it where hope is lost.
"""

from __future__ import annotations

from typing import Any

import attrs

from highwater.explorer.classes import class_after, judge_class
from highwater.explorer.system import Cut, System, successor
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Prospect

MOST_STATES = 2_000  # some seconds; the shipped claims need 228 at most


@attrs.frozen
class Outlook:
    """What a state leaves possible.

    Attributes:
        lost: whether the prospect is lost there; None if too many states would have to be seen.
        seen: for a lost one, the classes of all states that can be reached along its steps, that of the state first.
        hope: for one that is not lost, what keeps it, in words.
    """

    lost: bool | None
    seen: tuple[Any, ...] = ()
    hope: str = ""


def is_deadlock(system: System, state: Any) -> bool:
    """Whether a state has no successor, and no bound is to blame."""
    return all(successor(action, state, system.domain) is None for action in system.actions)


def outlook(system: System, prospect: Instance[Prospect], state: Any, most: int | None = None) -> Outlook:
    """Look ahead from one state, breadth first. A step that a bound cuts gives the benefit of the doubt.

    Args:
        most: how many states to see; `MOST_STATES` if none is given.

    Raises:
        ModelError: an action or the prospect raised.
    """
    relied_on = [action for action in system.actions if action.of in prospect.of.along]
    seen = {system.class_of(state): None}
    queue = list(seen)
    for each in queue:
        if judge_class(system, prospect, each):
            return Outlook(False, hope=f"steps lead to {system.domain.show(each)}, where it is true")
        for action in relied_on:
            _, after = class_after(system, action, each)
            if isinstance(after, Cut):
                return Outlook(False, hope=f"in {system.domain.show(each)} a bound cuts {action}, which may lead to it")
            if after is not None and after not in seen:
                seen[after] = None
                queue.append(after)
        if len(seen) > (MOST_STATES if most is None else most):
            return Outlook(None)
    return Outlook(True, tuple(seen))
