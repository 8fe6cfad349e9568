"""Graph properties: what can be judged only once every state and every step between them is known.

A prospect says what must stay possible, a liveness property what must happen on every fair behaviour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import attrs

from highwater.model.language.declarations import (
    Action,
    Given,
    Instance,
    Invariant,
    Quantified,
    Result,
    Returned,
    Taken,
    always,
)


@attrs.define(eq=False, slots=False, repr=False)
class Prospect(Quantified[Taken, Returned]):
    """What must stay possible (CTL's AG EF): from every state, a state can be reached in which the function is true.

    The function returns what an invariant returns.

    Attributes:
        along: the actions that may lead there.
    """

    along: tuple[Action, ...] = attrs.field(default=(), kw_only=True)


@attrs.frozen
class Per:
    """Fairness to an action for each value of the named parameters: the instances that agree in them count as one."""

    action: Action
    parameters: tuple[str, ...]


def per(action: Action, *parameters: str) -> Per:
    """Ask for fairness to an action for each value of the named parameters, rather than to each of its instances.

    `per(deliver, "receiver")` asks that something is delivered to each receiver; `per(deliver)` asks that something
    is delivered.

    Raises:
        TypeError: the action has no such parameter.
    """
    if unknown := set(parameters) - set(action.parameters):
        raise TypeError(
            f"per: {action.name} has no parameter {', '.join(sorted(unknown))}; it has "
            f"{', '.join(action.parameters) or 'none'}"
        )
    return Per(action, parameters)


Truths = frozenset[tuple[bool, bool]]
"""States, by what is true there: the premise, and the function. Without a premise, that counts as false."""
EVERYWHERE: Truths = frozenset((premise, truth) for premise in (False, True) for truth in (False, True))
WHERE_FALSE: Truths = frozenset((premise, truth) for premise, truth in EVERYWHERE if not truth)


@attrs.frozen
class Form:
    """What a liveness property asks of a behaviour, by the paths that break it. Engines know no more of it.

    With q for the property's function and p for its premise, temporal logic writes `EVENTUALLY` as <>q, `LEADS_TO` as
    [](p => <>q), `ALWAYS_EVENTUALLY` as []<>q, and `EVENTUALLY_ALWAYS` as <>[]q.

    Attributes:
        name: of the form.
        begins: where such a path begins: in an initial state if `at_first`, else in any reachable one.
        stays: where it leads, from there on for ever.
        returns: where it is again and again.
        kept: what a trace that does not break the property shows.
    """

    name: str
    begins: Truths
    stays: Truths
    returns: Truths
    kept: str
    at_first: bool = False

    def __attrs_post_init__(self) -> None:
        if not (self.begins <= self.stays and self.returns <= self.stays):
            raise TypeError(f"{self.name}: a path begins, and returns to, where it stays")

    @property
    def asks_to_return(self) -> bool:
        """Whether it matters where a path comes again and again, beside where it stays."""
        return self.returns != self.stays

    @property
    def may_begin_late(self) -> bool:
        """Whether a path that stays has begun as late as one likes."""
        return self.begins == self.stays and not self.at_first


EVENTUALLY = Form("eventually", WHERE_FALSE, WHERE_FALSE, WHERE_FALSE, "it is true in one of the states", at_first=True)
LEADS_TO = Form(
    "leads_to", frozenset({(True, False)}), WHERE_FALSE, WHERE_FALSE,
    "after every state in which the premise is true, it is true once more",
)  # fmt: skip
ALWAYS_EVENTUALLY = Form("always_eventually", WHERE_FALSE, WHERE_FALSE, WHERE_FALSE, "it is true on the cycle")
EVENTUALLY_ALWAYS = Form("eventually_always", EVERYWHERE, EVERYWHERE, WHERE_FALSE, "it is true all along the cycle")
FORMS = (EVENTUALLY, LEADS_TO, ALWAYS_EVENTUALLY, EVENTUALLY_ALWAYS)


@attrs.define(eq=False, slots=False, repr=False)
class Liveness(Quantified[Taken, Returned]):
    """What must happen on every fair behaviour.

    A behaviour is an infinite path, or a finite one after which nothing more happens. It is *weakly fair* to an action
    unless the action is enabled from some step on for ever and is never taken again. It is *strongly fair* unless the
    action is enabled again and again and is never taken again. A step that changes nothing counts neither as enabled
    nor as taken. A step that a bound cuts is enabled: without the bound it could be taken.

    The function returns what an invariant returns.

    Attributes:
        form: what is asked of the behaviour.
        fair, strongly_fair: the actions that behaviours are fair to. Each of their instances is owed fairness on its
            own, unless `per` groups them.
        premise: a second function, such as where `leads_to` begins to ask.
    """

    form: Form = attrs.field(default=EVENTUALLY, kw_only=True)
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

    def instances(self, bounds: object, protocol: object = None) -> list[Instance[Self]]:
        """One instance per assignment of the parameters, each with its premise if the property has one."""
        found = super().instances(bounds, protocol)
        if self._premise is None:
            return found
        premises = self._premise.instances(bounds, protocol)
        return [attrs.evolve(each, premise=premise) for each, premise in zip(found, premises, strict=True)]


GraphProperty = Prospect | Liveness
"""What can be judged only once every state is known."""


def prospect(
    *, along: Iterable[Action], needs: Callable[[Any], Any] = always, **parameters: object
) -> Callable[[Callable[Given, Result]], Prospect[Given, Result]]:
    """Declare what must stay possible along some actions, for every value of the parameters; `needs` as for
    `action`.
    """
    listed = _listed("along", along, (Action,))
    return lambda function: Prospect(function, parameters, needs=needs, along=listed)


Fairness = Iterable[Action | Per]


def eventually(
    *, fair: Fairness = (), strongly_fair: Fairness = (), needs: Callable[[Any], Any] = always, **parameters: object
) -> Callable[[Callable[Given, Result]], Liveness[Given, Result]]:
    """Declare what is true at least once on every fair behaviour, for every value of the parameters; `needs` as for
    `action`.
    """
    return _liveness(EVENTUALLY, fair, strongly_fair, needs, parameters)


def leads_to(
    premise: Callable[..., Any],
    *,
    fair: Fairness = (),
    strongly_fair: Fairness = (),
    needs: Callable[[Any], Any] = always,
    **parameters: object,
) -> Callable[[Callable[Given, Result]], Liveness[Given, Result]]:
    """Declare what is true in every state in which the premise is true, or later.

    The premise takes what the declared function takes, and returns True or False.
    """
    return _liveness(LEADS_TO, fair, strongly_fair, needs, parameters, premise)


def always_eventually(
    *, fair: Fairness = (), strongly_fair: Fairness = (), needs: Callable[[Any], Any] = always, **parameters: object
) -> Callable[[Callable[Given, Result]], Liveness[Given, Result]]:
    """Declare what is true again and again on every fair behaviour."""
    return _liveness(ALWAYS_EVENTUALLY, fair, strongly_fair, needs, parameters)


def eventually_always(
    *, fair: Fairness = (), strongly_fair: Fairness = (), needs: Callable[[Any], Any] = always, **parameters: object
) -> Callable[[Callable[Given, Result]], Liveness[Given, Result]]:
    """Declare what is true from some state on for ever on every fair behaviour."""
    return _liveness(EVENTUALLY_ALWAYS, fair, strongly_fair, needs, parameters)


def _fairness(key: str, given: Fairness) -> tuple[Per, ...]:
    listed = _listed(key, given, (Action, Per))
    return tuple(each if isinstance(each, Per) else per(each, *each.parameters) for each in listed)


def _listed(key: str, given: Any, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """Actions that a property names.

    Raises:
        TypeError: it is one alone, and no list, or something in it is no action.
    """
    if isinstance(given, kinds) or not isinstance(given, Iterable):
        name = getattr(given, "name", None) or getattr(given, "__name__", "ACTION")
        raise TypeError(f"{key} takes a list of actions; write {key}=[{name}]")
    listed = tuple(given)
    for each in listed:
        if not isinstance(each, kinds):
            name = getattr(each, "__name__", None) or repr(each)
            raise TypeError(f"{key}: {name} is no action; write @action(actor=...) above it")
    return listed


def _liveness(
    form: Form,
    fair: Fairness,
    strongly_fair: Fairness,
    needs: Callable[[Any], Any],
    parameters: Mapping[str, object],
    premise: Callable[..., Any] | None = None,
) -> Callable[[Callable[Given, Result]], Liveness[Given, Result]]:
    weak, strong = _fairness("fair", fair), _fairness("strongly_fair", strongly_fair)
    return lambda function: Liveness(
        function, parameters, needs=needs, form=form, fair=weak, strongly_fair=strong, premise=premise
    )
