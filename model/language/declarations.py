"""Actions and properties: plain pure functions of a state or of a step, declared for every value of their
parameters.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar

import attrs

from model.language.domain import domain_of


@attrs.frozen
class Transition:
    """A step as a step property sees it: the states before and after it."""

    before: Any
    after: Any


@attrs.frozen(eq=False)
class Instance:
    """An action or property with a value for each of its parameters: a pure function of the state or `Transition`
    alone.
    """

    of: Quantified
    arguments: Mapping[str, Any]
    shown: Mapping[str, str]
    apply: Callable[[Any], Any]
    domains: Mapping[str, Any] = attrs.field(factory=dict)
    premise: Instance | None = None

    @property
    def actor(self) -> str:
        """Who acts: the argument that the action names as its actor, or the actor's own name."""
        return self.shown.get(self.of.actor, self.of.actor)

    def __str__(self) -> str:
        return self.of.name + "(" + ", ".join(f"{name} {value}" for name, value in self.shown.items()) + ")"


def always(bounds: Any) -> bool:
    """What needs no room."""
    return True


@attrs.define(eq=False, slots=False)
class Quantified:
    """A pure function of a state, declared for every value of its parameters.

    The function's first argument is the state. Each further argument is a declared parameter, or `bounds` or
    `protocol`, which `instances` fills in.

    Attributes:
        subjects: how many states the function is about.
        needs: from the bounds to whether they leave room for it; where they do not, there are no instances.
    """

    subjects: ClassVar[int] = 1

    function: Callable[..., Any]
    parameters: Mapping[str, Any]
    actor: str = ""
    needs: Callable[[Any], Any] = always

    def __attrs_post_init__(self) -> None:
        arguments = list(inspect.signature(self.function).parameters)[self.subjects :]
        if set(arguments) - {"bounds", "protocol"} != set(self.parameters):
            declared = sorted(self.parameters)
            raise TypeError(
                f"{self.function.__qualname__}: declared parameters {declared}, but the function takes {arguments}"
            )
        functools.update_wrapper(self, self.function, updated=())

    @property
    def name(self) -> str:
        return self.function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def instances(self, bounds: object, protocol: object = None) -> list[Instance]:
        """One instance per assignment of the parameters, in the order of their domains."""
        if not self.needs(bounds):
            return []
        taken = inspect.signature(self.function).parameters
        context = {name: value for name, value in (("bounds", bounds), ("protocol", protocol)) if name in taken}
        domains = {name: domain_of(declared, bounds) for name, declared in self.parameters.items()}
        found = []
        for values in itertools.product(*(tuple(domain.values()) for domain in domains.values())):
            arguments = dict(zip(domains, values, strict=True))
            shown = {name: domains[name].show(value) for name, value in arguments.items()}
            found.append(
                Instance(
                    self,
                    arguments,
                    shown,
                    self._of_subject(functools.partial(self.function, **arguments, **context)),
                    domains,
                )
            )
        return found

    @staticmethod
    def _of_subject(function: Callable[..., Any]) -> Callable[[Any], Any]:
        """The function as an instance applies it, to one thing."""
        return function


class Action(Quantified):
    """A step that may happen: the function returns the next state, or None where the step is not enabled."""


class Invariant(Quantified):
    """What must hold in every state: the function returns True, or False or a `Witness` where it does not."""


class StepProperty(Quantified):
    """What must hold of every step: a function of the states before and after, which returns as an invariant does."""

    subjects: ClassVar[int] = 2

    @staticmethod
    def _of_subject(function: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda transition: function(transition.before, transition.after)


@attrs.define(eq=False, slots=False)
class Prospect(Quantified):
    """What must stay possible: from every state, a state can be reached in which the function returns True.

    It returns as an invariant does.

    Attributes:
        along: the actions that may be relied on for getting there.
    """

    along: tuple[Action, ...] = attrs.field(default=(), kw_only=True)


@attrs.frozen
class Per:
    """What a fair behaviour owes to an action: one demand for each value of some parameters, whatever the other
    parameters are.
    """

    action: Action
    parameters: tuple[str, ...]


def per(action: Action, *parameters: str) -> Per:
    """Ask for fairness towards an action for each value of the named parameters, rather than for each value of all of
    them.

    `per(deliver, "receiver")` asks that each receiver is served, whoever the sender is; `per(deliver)` that somebody
    is.

    Raises:
        TypeError: the action has no such parameter.
    """
    if unknown := set(parameters) - set(action.parameters):
        raise TypeError(
            f"per: {action.name} has no parameter {', '.join(sorted(unknown))}; it has "
            f"{', '.join(action.parameters) or 'none'}"
        )
    return Per(action, parameters)


class Form(Enum):
    """What a liveness property asks of a behaviour, where q is its function and p its premise, in the words of temporal
    logic.

    EVENTUALLY is <>q, LEADS_TO is [] (p => <>q), ALWAYS_EVENTUALLY is []<>q, EVENTUALLY_ALWAYS is <>[]q.
    """

    EVENTUALLY = "eventually"
    LEADS_TO = "leads_to"
    ALWAYS_EVENTUALLY = "always_eventually"
    EVENTUALLY_ALWAYS = "eventually_always"


@attrs.define(eq=False, slots=False)
class Liveness(Quantified):
    """What must happen on every fair behaviour: a path without end, or one after whose end nothing happens any more.

    A behaviour is *weakly fair* to an action unless the action is enabled from some step on for ever and is never taken
    again. It is *strongly fair* unless the action is enabled again and again and is never taken again. A step that
    changes nothing counts neither as enabled nor as taken. A step that a bound cuts is enabled: without the bound it
    could be taken.

    The function returns as an invariant does.

    Attributes:
        form: what is asked of the behaviour.
        fair, strongly_fair: the actions that behaviours are fair to; each of their instances on its own, unless `per`
            says otherwise.
        premise: for `leads_to`, after which states the property asks for anything.
    """

    form: Form = attrs.field(default=Form.EVENTUALLY, kw_only=True)
    fair: tuple[Per, ...] = attrs.field(default=(), kw_only=True)
    strongly_fair: tuple[Per, ...] = attrs.field(default=(), kw_only=True)
    premise: Callable[..., Any] | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._premise = None if self.premise is None else Invariant(self.premise, self.parameters, needs=self.needs)
        listed = Counter(each.action.name for each in (*self.fair, *self.strongly_fair))
        if twice := [name for name, count in listed.items() if count > 1]:
            raise TypeError(
                f"{self.name}: {', '.join(twice)} is listed twice among fair and strongly_fair; strong fairness "
                "includes weak"
            )

    def instances(self, bounds: object, protocol: object = None) -> list[Instance]:
        """One instance per assignment of the parameters, each with its premise where there is one."""
        found = super().instances(bounds, protocol)
        if self._premise is None:
            return found
        premises = self._premise.instances(bounds, protocol)
        return [attrs.evolve(each, premise=premise) for each, premise in zip(found, premises, strict=True)]


GraphProperty = Prospect | Liveness
"""What can be judged only once every state is known."""

Property = Invariant | StepProperty | GraphProperty


def action(
    *, actor: str, needs: Callable[[Any], Any] = always, **parameters: Any
) -> Callable[[Callable[..., Any]], Action]:
    """Declare a step.

    Args:
        actor: the parameter that names the acting broker, or a name of its own such as "controller".
        needs: from the bounds to whether they leave room for the step: one that may never be taken is left out.
        parameters: the domain of each parameter.
    """
    return lambda function: Action(function, parameters, actor, needs)


def invariant(*, needs: Callable[[Any], Any] = always, **parameters: Any) -> Callable[[Callable[..., Any]], Invariant]:
    """Declare what must hold in every state, for every value of the parameters; `needs` as for `action`."""
    return lambda function: Invariant(function, parameters, needs=needs)


def step_property(
    *, needs: Callable[[Any], Any] = always, **parameters: Any
) -> Callable[[Callable[..., Any]], StepProperty]:
    """Declare what must hold of every step, for every value of the parameters; `needs` as for `action`."""
    return lambda function: StepProperty(function, parameters, needs=needs)


def prospect(
    *, along: Iterable[Action], needs: Callable[[Any], Any] = always, **parameters: Any
) -> Callable[[Callable[..., Any]], Prospect]:
    """Declare what must stay possible along some actions, for every value of the parameters; `needs` as for
    `action`.
    """
    return lambda function: Prospect(function, parameters, needs=needs, along=tuple(along))


Fairness = Iterable[Action | Per]


def eventually(
    *, fair: Fairness = (), strongly_fair: Fairness = (), needs: Callable[[Any], Any] = always, **parameters: Any
) -> Callable[[Callable[..., Any]], Liveness]:
    """Declare what is true at least once on every fair behaviour, for every value of the parameters; `needs` as for
    `action`.
    """
    return _liveness(Form.EVENTUALLY, fair, strongly_fair, needs, parameters)


def leads_to(
    premise: Callable[..., Any],
    *,
    fair: Fairness = (),
    strongly_fair: Fairness = (),
    needs: Callable[[Any], Any] = always,
    **parameters: Any,
) -> Callable[[Callable[..., Any]], Liveness]:
    """Declare what is true at once or later after every state in which the premise is true.

    The premise takes what the declared function takes, and returns True or False.
    """
    return _liveness(Form.LEADS_TO, fair, strongly_fair, needs, parameters, premise)


def always_eventually(
    *, fair: Fairness = (), strongly_fair: Fairness = (), needs: Callable[[Any], Any] = always, **parameters: Any
) -> Callable[[Callable[..., Any]], Liveness]:
    """Declare what is true again and again on every fair behaviour."""
    return _liveness(Form.ALWAYS_EVENTUALLY, fair, strongly_fair, needs, parameters)


def eventually_always(
    *, fair: Fairness = (), strongly_fair: Fairness = (), needs: Callable[[Any], Any] = always, **parameters: Any
) -> Callable[[Callable[..., Any]], Liveness]:
    """Declare what is true from some state on for ever on every fair behaviour."""
    return _liveness(Form.EVENTUALLY_ALWAYS, fair, strongly_fair, needs, parameters)


def _liveness(
    form: Form,
    fair: Fairness,
    strongly_fair: Fairness,
    needs: Callable[[Any], Any],
    parameters: Any,
    premise: Any = None,
) -> Callable[[Callable[..., Any]], Liveness]:
    weak, strong = (
        tuple(each if isinstance(each, Per) else per(each, *each.parameters) for each in of)
        for of in (fair, strongly_fair)
    )
    return lambda function: Liveness(
        function, parameters, needs=needs, form=form, fair=weak, strongly_fair=strong, premise=premise
    )


class Witness:
    """Why a property is false, in words and as facts. It is falsy, so that it can be returned in place of False."""

    def __init__(self, sentence: str, **facts: Any) -> None:
        self.sentence = sentence
        self.facts = facts

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.sentence.format(**self.facts)
