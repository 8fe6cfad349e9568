"""What one state leaves possible, in plain Python: whether a prospect is lost there, or anything can happen at all.

The search marks backwards on the graph of all states, see `highwater.explorer.search.graph_properties.prospects`. For
one state no graph is
needed: what can be reached from it along the steps that may be relied on says as much, and there is little of it where
hope is lost.
"""

from __future__ import annotations

from typing import Any

import attrs

from highwater.explorer.system import Cut, System, judge, successor
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Prospect

MOST_STATES = 2_000  # some seconds; the shipped claims need 228 at most


@attrs.frozen
class Outlook:
    """What a state leaves possible.

    Attributes:
        lost: whether the prospect is lost there; None if too many states would have to be seen.
        seen: for a lost one, all states that can be reached along its steps, the state itself first.
    """

    lost: bool | None
    seen: tuple[Any, ...] = ()


def is_deadlock(system: System, state: Any) -> bool:
    """Whether a state has no successor, and no bound is to blame."""
    return all(successor(action, state, system.domain) is None for action in system.actions)


def outlook(system: System, prospect: Instance[Prospect], state: Any) -> Outlook:
    """Look ahead from one state, breadth first. A step that a bound cuts gives the benefit of the doubt.

    Raises:
        ModelError: an action or the prospect raised.
    """
    relied_on = [action for action in system.actions if action.of in prospect.of.along]
    seen = {state: None}
    queue = [state]
    for each in queue:
        if judge(prospect, each, system.domain):
            return Outlook(False)
        for action in relied_on:
            after = successor(action, each, system.domain)
            if isinstance(after, Cut):
                return Outlook(False)
            if after is not None and after not in seen:
                if len(seen) >= MOST_STATES:
                    return Outlook(None)
                seen[after] = None
                queue.append(after)
    return Outlook(True, tuple(seen))
