"""A model and an implementation as a state machine of Hypothesis: its rules are the model's actions, and the model
judges each step.

A walk goes to one of the paths first, which Hypothesis draws, then takes paths that it has not run yet, and begins
again when there are none. Hypothesis draws a number for each step. Small ones are for all that is possible, and it
shrinks to these: so a failure is shrunk to a walk that prefers nothing. Every choice follows from what was drawn
before, so that walks replay from Hypothesis's database.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, reject, settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from highwater.explorer.verdict import Step
from highwater.implementation.adapters import Choice
from highwater.implementation.coverage import MACHINES, PathCoverage
from highwater.implementation.pages import keep
from highwater.implementation.plans import Goal, Plan
from highwater.implementation.walks import BeyondBounds, Mismatch, Open, Walk

PREFERENCE = 40  # how much likelier what is preferred is than the rest
NOWHERES = 5  # of so many walks, one goes nowhere
REFUSALS = 5  # of so many steps, one is refused, if any can be


class Drawn:
    """A value, and how Hypothesis prints it."""

    def __init__(self, value: Any, words: str) -> None:
        self.value, self.words = value, words

    def __repr__(self) -> str:
        return self.words


NOWHERE = Drawn(None, "None")


class LockStep(RuleBasedStateMachine):
    """A run of an implementation and its model. Subclasses have a rule for each action."""

    plan: Plan
    paths: PathCoverage
    shortest: int | None = None  # the shortest failure so far, which has a page

    def __init__(self) -> None:
        super().__init__()
        self._walk = Walk(self.plan)
        self._run: set[int] = set()  # the paths of this walk, and of those before it in the same example
        self._open: dict[Choice, Open] = {}
        self._preferred: list[Choice] = []
        self._goal: Goal | None = None
        self._ahead: list[tuple[Step, Step]] = []
        rules: Any = self.rules  # a method, in older versions
        self._rule_of = {each.function.__name__: each for each in (rules() if callable(rules) else rules)}
        # Hypothesis draws rules alike, and leaves some out of a walk: what leads to a path may be neither rare nor
        # missing. A version that calls this otherwise draws its own way, with the preconditions below.
        self._rules_strategy: Any = _next_rule()

    def begin_walk(self, state: Any, toward: Goal | None) -> None:
        """Start the implementation, and choose where to go."""
        __tracebackhide__ = True
        if self.paths.running is self:
            self._walk.close()
            self._walk = Walk(self.plan)
        self.paths.running = self
        self._goal, self._ahead = toward, []
        if toward is not None:
            state = toward.trace[0].state
            self._ahead = list(zip(toward.trace, toward.trace[1:], strict=False))
        self.paths.walks += 1
        self._judged(functools.partial(self._walk.begin, state))

    def take(self, choice: Choice) -> None:
        """Take a step."""
        __tracebackhide__ = True
        if choice not in self._open:
            reject()
        if not self._open[choice].refused:  # a refused step leads nowhere
            self._ahead = self._ahead[1:] if self._preferred == [choice] else []
        self._judged(functools.partial(self._walk.take, choice))
        self.paths.steps += 1
        self._run |= self._walk.paths
        self.paths.run |= self._walk.paths

    def _judged(self, step: Callable[[], None]) -> None:
        __tracebackhide__ = True
        try:
            step()
        except Mismatch as found:
            kind = type(self)
            if kind.shortest is None or self._walk.taken <= kind.shortest:
                kind.shortest = self._walk.taken
                keep(self.plan, kind.__name__, found)
            raise
        except BeyondBounds as beyond:  # the walk is at its end
            self.paths.beyond |= {*beyond.bounds}
            self._open, self._preferred = {}, []
            return
        self._open = self._walk.open()
        self._preferred = self._to_prefer() if self._goal is not None else []

    def _to_prefer(self) -> list[Choice]:
        """The next step to the goal; behind it, the steps that take paths which were not run yet."""
        if self._ahead:
            before, step = self._ahead[0]
            choice = self.plan.choice_of(step.taken)
            if self._walk.state == before.state and choice in self._open:
                return [choice]
            self._ahead = []
        known = {None, *self._run}
        return [choice for choice, each in self._open.items() if each.path not in known]

    @property
    def is_at_end(self) -> bool:
        """Whether nothing can be called, or nothing that is new to a walk which looks for that."""
        return not self._open or (self._goal is not None and not self._preferred)

    @property
    def options(self) -> int:
        """How many numbers there are to choose what is next by."""
        return (1 + PREFERENCE) * (1 + len(self._open))

    def chosen(self, number: int) -> Choice | None:
        """What is next by a number: a call, or to begin again for None. Small numbers are for all that is possible, and
        larger ones for what is preferred. To begin again has the same number everywhere, so that the walks before can
        be taken out.
        """
        calls = [*self._open]
        if number <= len(calls):
            return calls[number - 1] if number else None
        rank, turn = divmod(number - len(calls) - 1, REFUSALS)
        refused = [choice for choice in calls if self._open[choice].refused]
        if refused and not turn:
            return refused[rank % len(refused)]
        preferred = self._preferred or ([] if self.is_at_end else calls)
        return preferred[(rank * REFUSALS + turn) % len(preferred)] if preferred else None

    def rule_of(self, choice: Choice | None) -> Any:
        """The rule of a call, or the one that begins again."""
        return self._rule_of[choice.action if choice else _name_of_again(self.plan)]

    def ends(self) -> list[Drawn]:
        """Where to go next: to paths that were not run in this example, or to any, or nowhere."""
        return _beginnings([each for each in self.plan.goals if each.path not in self._run] or self.plan.goals)

    def teardown(self) -> None:
        """Close the implementation."""
        self._walk.close()


@strategies.composite
def _next_rule(draw: Callable[[Any], Any]) -> tuple[Any, dict[str, Any]]:
    machine = draw(strategies.runner())
    choice = machine.chosen(draw(strategies.integers(0, machine.options - 1)))
    given = {"toward": draw(strategies.sampled_from(machine.ends()))} if choice is None else dict(choice.arguments)
    return machine.rule_of(choice), given


def _beginnings(goals: Sequence[Goal]) -> list[Drawn]:
    return [NOWHERE] * (1 + len(goals) // NOWHERES) + [Drawn(each, repr(each.name)) for each in goals]


def machine_of(plan: Plan, name: str) -> type[LockStep]:
    """The state machine of an adapter, with a rule for each action that it drives."""
    assert plan.interface is not None
    coverage = PathCoverage(name, plan)
    MACHINES.append(coverage)
    members: dict[str, Any] = {"plan": plan, "paths": coverage, "__module__": plan.interface.adapter.__module__}
    members |= {"begin": _begin_of(plan), "again": _again_of(plan)}
    members |= {f"rule_{action}": _rule_of(action, choices) for action, choices in plan.interface.choices.items()}
    found: Any = type(name, (LockStep,), members)
    # walks may take long; what explains a failure is the model, and to look for lines of code takes most of the time
    phases = [each for each in Phase if each is not Phase.explain]
    found.TestCase.settings = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=phases)
    made: type[LockStep] = found
    return made


def _begin_of(plan: Plan) -> Any:
    """How an example begins: with an initial state, if there are several and `start` takes one, and where to go."""
    initial = [Drawn(state, plan.system.domain.show(state)) for state in plan.system.initial]
    given: dict[str, Any] = {"toward": strategies.deferred(lambda: strategies.sampled_from(_beginnings(plan.goals)))}
    if len(initial) > 1 and plan.interface and plan.interface.takes_state:
        given["state"] = strategies.sampled_from(initial)

    def begin(self: LockStep, toward: Drawn, state: Drawn = initial[0]) -> None:
        __tracebackhide__ = True
        self.begin_walk(state.value, toward.value)

    made: Any = initialize(**given)
    return made(begin)


def _again_of(plan: Plan) -> Any:
    def begin_again(self: LockStep, toward: Drawn) -> None:
        __tracebackhide__ = True
        self.begin_walk(plan.system.initial[0], toward.value)

    goals = strategies.deferred(lambda: strategies.sampled_from(_beginnings(plan.goals)))
    begin_again.__name__ = _name_of_again(plan)
    return precondition(lambda self: self.is_at_end)(rule(toward=goals)(begin_again))


def _name_of_again(plan: Plan) -> str:
    """What the rule that begins again is called, which no action is."""
    taken = plan.interface.choices if plan.interface else {}
    return "begin_again" if "begin_again" not in taken else "begin_again_of_highwater"


def _rule_of(action: str, choices: Sequence[Choice]) -> Any:
    """The rule of an action, which has its name and parameters."""

    def take(self: LockStep, **arguments: Any) -> None:
        __tracebackhide__ = True
        self.take(next(each for each in choices if dict(each.arguments) == arguments))

    take.__name__ = action
    values: dict[str, Any] = {
        name: strategies.sampled_from([each.arguments[name] for each in choices]) for name in choices[0].arguments
    }
    made: Any = rule(**values)
    return precondition(lambda self: any(each in self._open for each in choices))(made(take))
