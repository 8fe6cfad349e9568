"""A test for every path: the shortest run that ends by it, on the implementation."""

from __future__ import annotations

import pytest

from highwater.explorer.verdict import Step
from highwater.implementation.adapters import AdapterError
from highwater.implementation.pages import keep
from highwater.implementation.plans import Goal, Plan
from highwater.implementation.walks import BeyondBounds, Mismatch, Walk

OTHERWISE = "the implementation chose otherwise in step {}, as the model allows"


class Path:
    """A path of the model, as a test is given it.

    Attributes:
        name: its last step, and the steps before it.
        trace: the shortest run that ends by it, as steps of the model; the first is its initial state.
    """

    def __init__(self, plan: Plan, goal: Goal) -> None:
        self._plan = plan
        self.name: str = goal.name
        self.trace: tuple[Step, ...] = goal.trace

    def __repr__(self) -> str:
        return f"<Path {self.name}>"

    def run(self, adapter: type | None = None) -> None:
        """Take its steps on the implementation, and compare after each. The test is skipped if the implementation takes
        another path, as the model allows, or does not show that it takes this one, or leaves the bounds of the claim.

        Args:
            adapter: the one that `paths` was given if None.

        Raises:
            Mismatch: the implementation is where the model cannot be.
            AdapterError: there is no adapter, or it lacks an action.
        """
        __tracebackhide__ = True
        plan = self._plan.with_adapter(adapter) if adapter else self._plan
        if plan.interface is None:
            raise AdapterError("path.run: give it an adapter, or give it to highwater.testing.paths")
        if missing := plan.left_out(step.taken for step in self.trace[1:]):
            pytest.skip(f"the implementation never does {missing}, which is in left_out")
        walk = Walk(plan)
        try:
            walk.begin(self.trace[0].state)
            for number, step in enumerate(self.trace[1:], 1):
                if plan.by_itself([step.taken]):
                    continue  # it may have happened by now
                if self.trace[number - 1].state not in walk.possible:
                    pytest.skip(OTHERWISE.format(number - 1))
                walk.take(plan.choice_of(step.taken))
            self._skip_unless_taken(plan, walk)
        except BeyondBounds as beyond:
            pytest.skip(f"{beyond} in step {walk.taken}; raise it in the claim")
        except Mismatch as found:
            keep(plan, self.name, found)
            raise
        finally:
            walk.close()

    def _skip_unless_taken(self, plan: Plan, walk: Walk) -> None:
        """The last call may have been another step than the path's: by what the implementation chooses, or by what has
        happened by itself before.
        """
        *_, before, last = self.trace
        if walk.last == {plan.path_of(last.taken, before.state)}:
            return
        if happens := plan.by_itself(step.taken for step in self.trace[1:]):
            pytest.skip(f"{happens}, which the implementation does not show")
        number = len(self.trace) - 1
        unseen = f"the implementation does not show which path it takes in step {number}"
        pytest.skip(unseen if len(walk.last) > 1 else OTHERWISE.format(number))


def parametrized(plan: Plan) -> pytest.MarkDecorator:
    """A mark that gives a test each path as `path`. If there may be more than were looked for, one more is skipped and
    says so.
    """
    goals = (*plan.goals, *plan.beyond)
    params = [pytest.param(Path(plan, goal), id=goal.name.replace(",", "").replace(" ", "-")) for goal in goals]
    if plan.paths.unseen:
        why = f"not all paths are known: {plan.paths.unseen}; raise max_states, or lower the bounds"
        params.append(pytest.param(None, id="paths-that-are-not-known", marks=pytest.mark.skip(reason=why)))
    return pytest.mark.parametrize("path", params)
