"""Refinement: every step of a model, mapped, is a step of a more abstract model or changes nothing there (TLA+'s
refinement mapping, for safety).

It is a step property like any other. The map is traced as any function of a state is; what it returns is read whole.
From there on all is plain Python: what the abstract model makes of a state is found once and remembered.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import attrs

from highwater.explorer.blame import ModelError
from highwater.explorer.system import Cut, System, successor
from highwater.explorer.trace import changes
from highwater.explorer.values import plain
from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Instance, Invariant, StepProperty, Truth, Witness
from highwater.model.language.domain import Struct
from highwater.model.language.shape import DomainError

MOST_REMEMBERED = 1 << 14
Map = Callable[[Any], Any]
Steps = Mapping[Any, Instance]
"""By state to which an abstract state leads, the first action that leads there."""


class Refines(StepProperty):
    """Every step of this model, mapped, is one of an abstract model, or changes nothing there.

    Attributes:
        image: from a state of this model to the abstract one.
        model: the abstract model's name.
        abstract: the abstract model, within its bounds.
        begins_as: the name of the invariant that initial states are mapped to initial ones.
    """

    image: functools.partial[Any]
    model: str
    abstract: System
    begins_as: str

    @classmethod
    def of(cls, model: str, mapped: Map, abstract: System) -> Refines:
        """
        Args:
            model: the abstract model's name.
            mapped: the map, a pure function.
        """
        domain, actions = abstract.domain, abstract.actions
        image = functools.partial(image_of, mapped, domain, model)
        steps = functools.lru_cache(MOST_REMEMBERED)(functools.partial(_steps_from, domain, actions))

        def refines(before: Any, after: Any) -> Truth:
            one, other = image(before), image(after)
            return one == other or other in steps(one) or _parting(model, domain, actions, one, other)

        name = model.replace("-", "_")
        refines.__name__ = f"refines_{name}"
        refines.__doc__ = f"Every step, mapped by {mapped.__name__}, is a step of {model} or changes nothing there."
        found = cls(refines, {})
        found.image, found.model, found.abstract, found.begins_as = image, model, abstract, f"begins_as_{name}"
        return found

    @property
    def written(self) -> Map:
        return cast("Map", self.image.args[0])

    @property
    def modules(self) -> tuple[str, ...]:
        """Where the map and the abstract model are written."""
        functions = (self.written, *(each.of.function for each in self.abstract.actions))
        places = (self.abstract.domain.cls, *functions)
        return tuple(dict.fromkeys((*self.abstract.modules, *(each.__module__ for each in places))))

    def beginnings(self, initial: Sequence[Any]) -> list[Instance[Invariant]]:
        """The invariant that is false in those initial states that are mapped to no initial one, if there are any."""
        wrong = tuple(each for each in initial if self.image(each) not in self.abstract.initial)

        def begins(state: Any) -> Truth:
            if all(state != each for each in wrong):
                return True
            return Witness("no initial state of {model}: {state}", model=self.model, state=self._shown(state))

        begins.__name__ = self.begins_as
        begins.__doc__ = "Initial states are mapped to initial states."
        return Invariant(begins, {}).instances(None) if wrong else []

    def _shown(self, state: Any) -> str:
        return str(self.abstract.domain.show(self.image(state)))

    def beside(self, trace: Sequence[Step]) -> list[AbstractStep]:
        """What the abstract model does in each step of a trace."""
        domain, actions = self.abstract.domain, self.abstract.actions
        states = [self.image(step.state) for step in trace]
        found = [AbstractStep(states[0], None, states[0] in self.abstract.initial, domain.show(states[0]))]
        for before, after in itertools.pairwise(states):
            action = None if after == before else _steps_from(domain, actions, before).get(after)
            change = ", ".join(map(str, changes(domain, before, after)))
            words = f"{action or 'no such step'}: {change}" if change else "nothing changes"
            found.append(AbstractStep(after, action, after == before or action is not None, words))
        return found


@attrs.frozen
class AbstractStep:
    """A step, seen in the abstract model.

    Attributes:
        state: what the state after it is mapped to.
        action: the action that leads there; None if nothing changes, or if there is none.
        fits: whether the abstract model may do so; of an initial state, whether it is one there.
        words: the action, and what it changes.
    """

    state: Any
    action: Instance | None
    fits: bool
    words: str


def refinement_in(system: System) -> Refines | None:
    """What a system is to refine, if there is something."""
    return next((each.of for each in system.step_properties if isinstance(each.of, Refines)), None)


def image_of(mapped: Map, domain: Struct, model: str, state: Any) -> Any:
    """The abstract state of a state, as a plain value.

    Raises:
        ModelError: the map returned what is no state of the abstract model within its bounds.
    """
    found = plain(mapped(state))
    try:
        cut = domain.exceeded(found)
    except DomainError as error:
        raise ModelError(f"refines.map: {mapped.__name__} returned what is no state of {model}: {error}") from None
    if cut:
        raise ModelError(
            f"refines.bounds: {', '.join(sorted(cut))} of {model} is too small for what {mapped.__name__} returned: "
            f"{domain.show(found)}"
        )
    return found


def _steps_from(domain: Struct, actions: Sequence[Instance], state: Any) -> Steps:
    """Where an abstract state leads, in plain Python."""
    found: dict[Any, Instance] = {}
    tracer = sys.gettrace()
    sys.settrace(None)  # coverage looks at this model's functions, and these run once for many states
    try:
        for action in actions:
            after = successor(action, state, domain)
            if isinstance(after, domain.cls):
                found.setdefault(after, action)
    finally:
        sys.settrace(tracer)
    return found


def _parting(model: str, domain: Struct, actions: Sequence[Instance], before: Any, after: Any) -> Witness:
    """Why no step of the abstract model leads from one state to another: by action, what it does instead."""
    change = ", ".join(map(str, changes(domain, before, after)))
    return Witness(
        "no step of {model} does this: {change}; {instead}",
        model=model,
        change=change,
        instead="; ".join(_instead(domain, actions, before, after)),
    )


def _instead(domain: Struct, actions: Sequence[Instance], before: Any, after: Any) -> Iterator[str]:
    """Each abstract action, and why it does not fit: of its arguments, those that come closest."""
    for name in dict.fromkeys(each.of.name for each in actions):
        results = [(each, successor(each, before, domain)) for each in actions if each.of.name == name]
        led = [(each, changes(domain, after, to)) for each, to in results if isinstance(to, domain.cls)]
        if led:
            action, apart = min(led, key=lambda each: len(each[1]))
            yield f"{action} leads to " + ", ".join(f"{each.path} {each.after}" for each in apart)
        else:
            cut = frozenset().union(*(to.bounds for _, to in results if isinstance(to, Cut)))
            yield f"{name} is " + (f"cut by {', '.join(sorted(cut))}" if cut else "not enabled")
