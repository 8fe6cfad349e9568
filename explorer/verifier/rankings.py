"""What must stay possible, and what must happen: judged state by state, by ranks that a certificate carries.

**Prospects.** The rank of a state is how many steps the goal is away. A state of rank 0 is a goal. From any other,
some action that may be relied on leads to a lesser rank. Ranks below 0 are of states from which only a step that a
bound cuts may lead there.

**Liveness.** A state *waits* if the property is owed and false there, or may be again. Each waiting state has a stack
of pairs, a number and a demand of fairness, and

- a step from one waiting state to another leads to a lesser number, or to the same pair by a step that does not meet
  the demand. In the second case the next pairs are compared, unless one of the two stacks ends here;
- where a stack ends, the demand can be met in that state: one of its actions is enabled;
- a demand for weak fairness, and `KEPT`, only ever stand last.

So no fair behaviour waits for ever. Its first number never grows, and is one number from some step on; the demand
beside it is not met any more. If it is weak, every stack ends there, so that the demand could be met all the time. If
it is strong, it can be met again and again, unless from some step on no stack ends there; then the next pairs go the
same way, and stacks are finite. Both are unfair. `KEPT` is for what may be false now and then: there the property is
true. A behaviour that ends is one that stays in its last state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from highwater.explorer.classes import judge_class, truths
from highwater.explorer.fairness import demands_of
from highwater.explorer.system import Cut, System
from highwater.explorer.verifier.certificate import Stack
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness, Prospect

KEPT = -1
"""In place of a demand: in states of this number the property is true."""


@attrs.frozen
class Step:
    """A step that changes the state, if not its class, or that a bound cuts; `to` is the row that stands for what it
    leads to.
    """

    action: Instance
    after: Any
    to: int = -1


def prospect_is_kept(
    system: System, each: Instance[Prospect], ranks: Sequence[int], row: int, state: Any, steps: Sequence[Step]
) -> bool:
    """Whether a state of rank 0 is a goal, and a step that may be relied on leads from any other to a lesser rank."""
    rank = ranks[row]
    if rank == 0:
        return bool(judge_class(system, each, state))
    relied_on = [step for step in steps if step.action.of in each.of.along]
    if rank == -1:
        return any(isinstance(step.after, Cut) for step in relied_on)
    least = 0 if rank > 0 else rank + 1  # of the ranks that are nearer
    most = rank if rank > 0 else 0
    return any(least <= ranks[step.to] < most for step in relied_on if not isinstance(step.after, Cut))


class Waiting:
    """The states that wait for one liveness property."""

    def __init__(self, system: System, each: Instance[Liveness], stacks: Sequence[Stack]) -> None:
        self._system, self._of, self._stacks, self._form = system, each, stacks, each.of.form
        self._demands = demands_of(system, each.of)
        self._relied_on = frozenset(action for demand in self._demands for action in demand.instances)

    def is_held_back(self, row: int, steps: Sequence[Step]) -> bool:
        """Whether bounds cut all that a state waits for."""
        fair = [isinstance(step.after, Cut) for step in steps if step.action in self._relied_on]
        return bool(self._stacks[row]) and bool(fair) and all(fair)

    def wrong(self, row: int, state: Any, steps: Sequence[Step], *, initial: bool) -> Iterator[str]:
        """What is wrong with the stack of a state."""
        stack, here = self._stacks[row], truths(self._system, self._of, state)
        if not stack:
            if here in self._form.begins and (initial or not self._form.at_first):
                yield "the state waits and has no rank"
            return
        *above, (_, last) = stack
        if any(not KEPT <= demand < len(self._demands) for _, demand in stack):
            yield "there is no such demand"
            return
        if any(demand == KEPT or not self._demands[demand].strong for _, demand in above):
            yield "a demand for weak fairness is followed by another"
        if last == KEPT:
            if here in self._form.returns:
                yield "the property is false where it should be kept"
        elif not any(step.action in self._demands[last].instances for step in steps):
            yield "a fair behaviour may stay here for ever"
        for step in steps:
            if not isinstance(step.after, Cut) and (why := self._wrong_step(stack, step)):
                yield why

    def _wrong_step(self, stack: Stack, step: Step) -> str:
        then = self._stacks[step.to]
        if not then:
            waits = truths(self._system, self._of, step.after) in self._form.stays
            return f"{step.action} leads to a state that waits and has no rank" if waits else ""
        for ours, theirs in zip(stack, then, strict=False):
            if theirs[0] < ours[0]:
                return ""
            if theirs != ours:
                return f"{step.action} leads to a state of a higher rank"
            if ours[1] != KEPT and step.action in self._demands[ours[1]].instances:
                return f"{step.action} meets the demand, and its rank is no lower"
        return ""
