"""Actions, invariants and step properties: pure functions of a state or a step, declared for every value of their
parameters.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import string
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, Self, TypeVar

import attrs

from highwater.model.language.records import domain_of
from highwater.model.language.shape import Domain, DomainError, Shape

Given = ParamSpec("Given")
Result = TypeVar("Result")
if TYPE_CHECKING:  # plain `Quantified` is a function of any arguments; typing has defaults from Python 3.13
    import typing_extensions

    Taken = typing_extensions.ParamSpec("Taken", default=...)
    Returned = typing_extensions.TypeVar("Returned", default=Any)
    Declared = typing_extensions.TypeVar("Declared", covariant=True, bound="Quantified", default="Quantified")
else:
    Taken, Returned, Declared = Given, Result, TypeVar("Declared")


@attrs.frozen
class Transition:
    """A step as a step property sees it: the states before and after it."""

    before: Any
    after: Any


@attrs.frozen(eq=False)
class Instance(Generic[Declared]):
    """An action or property with a value for each of its parameters: a function of a state or `Transition` alone."""

    of: Declared
    arguments: Mapping[str, Any]
    shown: Mapping[str, str]
    apply: Callable[[Any], Any]
    domains: Mapping[str, Any] = attrs.field(factory=dict)
    premise: Instance | None = None

    @property
    def actor(self) -> str:
        """The argument for the parameter that the action declares as its actor; else the actor's name as declared."""
        return self.shown.get(self.of.actor, self.of.actor)

    @property
    def given(self) -> Mapping[str, Any] | None:
        """What the declared function is given besides its subjects, if all that is applied is this function."""
        bare = self.apply.function if type(self.apply) is OnStep else self.apply
        if isinstance(bare, functools.partial) and bare.func is self.of.function and not bare.args:
            return bare.keywords
        return None

    def __str__(self) -> str:
        return self.of.name + "(" + ", ".join(f"{name} {value}" for name, value in self.shown.items()) + ")"

    def __repr__(self) -> str:
        return f"<{self}>"


def always(bounds: Any) -> bool:
    """The `needs` of what fits within any bounds."""
    return True


@attrs.define(eq=False, slots=False)
class Quantified(Generic[Taken, Returned]):
    """A pure function of a state, declared for every value of its parameters.

    The function's first argument is the state. Each further argument is a declared parameter, or `bounds` or
    `protocol`, which `instances` fills in. A parameter with a default is left out of the instances if the default is
    the only value that it may have within the bounds.

    Attributes:
        subjects: how many states the function takes.
        needs: a function from bounds to bool. If it returns False, there are no instances within these bounds.
    """

    subjects: ClassVar[int] = 1

    function: Callable[Taken, Returned]
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

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def written(self) -> Callable[..., Any]:
        """The function whose file and line say where it is written."""
        return self.function

    def __call__(self, *args: Taken.args, **kwargs: Taken.kwargs) -> Returned:
        return self.function(*args, **kwargs)

    def instances(self, bounds: object, protocol: object = None) -> list[Instance[Self]]:
        """One instance per assignment of the parameters, in the order of their domains."""
        if not self.needs(bounds):
            return []
        taken = inspect.signature(self.function).parameters
        context: dict[str, Any] = {
            name: value for name, value in (("bounds", bounds), ("protocol", protocol)) if name in taken
        }
        domains = {name: domain_of(declared, bounds) for name, declared in self.parameters.items()}
        domains = {name: each for name, each in domains.items() if tuple(each.values()) != (taken[name].default,)}
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
        """From the function to one of a single argument, as instances apply it."""
        return function


class Action(Quantified[Taken, Returned]):
    """A step that may happen: the function returns the next state, or None if the step is not enabled."""


class Invariant(Quantified[Taken, Returned]):
    """What must hold in every state: the function returns True if it does, else False or a `Witness`."""


@attrs.frozen(eq=False)
class OnStep:
    """A function of the states before and after a step as one of the step."""

    function: Callable[..., Any]

    def __call__(self, step: Transition) -> Any:
        return self.function(step.before, step.after)


class StepProperty(Quantified[Taken, Returned]):
    """What must hold of every step: a function of the states before and after, which returns as an invariant does."""

    subjects: ClassVar[int] = 2

    @staticmethod
    def _of_subject(function: Callable[..., Any]) -> Callable[[Any], Any]:
        return OnStep(function)


def _refuse_bare(name: str, function: object, written: str) -> None:
    """Refuse a decorator without parentheses."""
    if function is not None:
        raise TypeError(f"@{name} has no parentheses: write {written}")


def action(
    function: object = None, /, *, actor: str = "", needs: Callable[[Any], Any] = always, **parameters: object
) -> Callable[[Callable[Given, Result]], Action[Given, Result]]:
    """Declare a step.

    Args:
        actor: the parameter that names the acting broker, or a name of its own such as "controller".
        needs: a function from bounds to bool. If it returns False, the step is left out: no run could take it.
        parameters: the domain of each parameter.
    """
    _refuse_bare("action", function, '@action(actor="...")')
    if not actor:
        raise TypeError('an action names who acts: @action(actor="...")')
    return lambda function: Action(function, parameters, actor, needs)


def invariant(
    function: object = None, /, *, needs: Callable[[Any], Any] = always, **parameters: object
) -> Callable[[Callable[Given, Result]], Invariant[Given, Result]]:
    """Declare what must hold in every state, for every value of the parameters; `needs` as for `action`."""
    _refuse_bare("invariant", function, "@invariant()")
    return lambda function: Invariant(function, parameters, needs=needs)


def step_property(
    function: object = None, /, *, needs: Callable[[Any], Any] = always, **parameters: object
) -> Callable[[Callable[Given, Result]], StepProperty[Given, Result]]:
    """Declare what must hold of every step, for every value of the parameters; `needs` as for `action`."""
    _refuse_bare("step_property", function, "@step_property()")
    return lambda function: StepProperty(function, parameters, needs=needs)


class Witness:
    """Why a property is false: a sentence and the facts in it. It is falsy, and a property returns it instead of
    False.
    """

    def __init__(self, sentence: str, **facts: Any) -> None:
        self.sentence = sentence
        self.facts = facts

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, domains: Mapping[str, Domain] | None = None) -> str:
        """The sentence with its facts. A fact is shown as the domain of its name does, if that is one of names, or as
        those of the set that it is said to be of: `{broker} follows {other:brokers}` reads "b1 follows b0". A letter in
        front of the braces, as in `b{broker}`, says how the author shows it.

        Args:
            domains: by field, parameter and set of names; names are not shown as such if there are none.

        Raises:
            ValueError: a fact is said to be of names that there are not.
        """
        text = ""
        for literal, name, spec, conversion in string.Formatter().parse(self.sentence):
            text += literal
            if name is None:
                continue
            value, names = self.facts.get(name), (spec or "") if _is_word(spec) else ""
            of = (domains or {}).get(names or name)
            if names and domains is not None and of is None:
                raise ValueError(f"there are no {names}")
            if (spec and not names) or conversion or name not in self.facts:
                braces = f"{{{name}{'!' + conversion if conversion else ''}{':' + spec if spec else ''}}}"
                text += braces.format(**self.facts)
            elif of is not None and any(names_in(of)) and _is_of(of, value) and not text[-1:].isalnum():
                text += of.show(value)
            else:
                text += in_words(value)
        return text


def in_words(value: Any) -> str:
    """A value that no domain shows."""
    match value:
        case None:
            return "none"
        case frozenset() | set():
            numbers = sorted(each for each in value if type(each) is int)
            return f"{{{' '.join([*map(str, numbers), *sorted(in_words(each) for each in value - {*numbers})])}}}"
    return str(value)


def _is_word(spec: str | None) -> bool:
    """Whether what stands behind a colon is the name of a set rather than how Python formats a value."""
    return spec is not None and len(spec) > 1 and spec.isidentifier()


def names_in(domain: Domain) -> Iterator[str]:
    """The sets of names that the values of a domain are, or may be, or have as members."""
    yield from [domain.names] if domain.names else ()
    if domain.shape in (Shape.OPTION, Shape.SET):
        for of in domain.inside().values():
            yield from names_in(of)


def _is_of(domain: Domain, value: Any) -> bool:
    try:
        return not domain.exceeded(value)
    except DomainError:
        return False


Truth = bool | Witness
"""What a property returns."""
