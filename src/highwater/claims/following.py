"""A schedule taken step by step, for tests: every step must be enabled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from highwater.claims.spec import Spec
from highwater.explorer.analysis.refusals import refusal
from highwater.explorer.outlook import is_deadlock, outlook
from highwater.explorer.system import Cut, judge_end, taken
from highwater.explorer.verdict import DEADLOCK, Step


@attrs.frozen
class Followed:
    """A schedule that was taken.

    Attributes:
        trace: its steps; the first is the initial state.
        false: the checked properties that are false after the last step, in order.
        unjudged: those of which that is not known, in order: liveness properties, which are judged on the graph of all
            states only, and prospects that leave too many states possible.
    """

    trace: tuple[Step, ...]
    false: list[str]
    unjudged: list[str]


def follow(spec: Spec, steps: Iterable[tuple[str, Mapping[str, str]]], *, initial: int = 0) -> Followed:
    """Take some steps from an initial state, in plain Python.

    Args:
        steps: each the name of an action, and its arguments as traces show them: `("elect_leader", {"leader": "b0"})`.
        initial: which of the model's initial states to begin in, counted from 0.

    Raises:
        AssertionError: a step is not enabled, is cut by a bound, or is no step of the model.
    """
    system = spec.system()
    trace = [Step(None, system.initial[initial])]
    for number, (name, arguments) in enumerate(steps, 1):
        named = [each for each in system.actions if each.of.name == name and dict(each.shown) == dict(arguments)]
        if not named:
            raise AssertionError(f"step {number}: the model has no action {name} with arguments {dict(arguments)}")
        after = taken(system, named[0], trace[-1].state)
        if after is None:
            why = refusal(named[0], trace[-1].state)
            raise AssertionError(f"step {number}: {named[0]} is not enabled: {why} ({why.file}:{why.line})")
        if isinstance(after, Cut):
            raise AssertionError(f"step {number}: {named[0]} is cut by {', '.join(sorted(after.bounds))}")
        trace.append(Step(named[0], after))
    before, last = trace[-2].state if len(trace) > 1 else None, trace[-1].state
    judged = system.safety
    false = {each.of.name for each in judged if not judge_end(system, each, before, last)}
    lost = [(each.of.name, outlook(system, each, last).lost) for each in system.prospects]
    false |= {name for name, known in lost if known}
    unjudged = {name for name, known in lost if known is None} | {each.of.name for each in system.liveness}
    if spec.check_deadlock and is_deadlock(system, last):
        false.add(DEADLOCK)
    return Followed(tuple(trace), sorted(false), sorted(unjudged - false))
