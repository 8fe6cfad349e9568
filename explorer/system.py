"""What is explored: initial states, actions and properties, and what one step of it means in plain Python."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from highwater.explorer.blame import RAISED, ModelError, failed, where
from highwater.explorer.ranks import RankError, Ranks, named_in, ranks_of, roomy
from highwater.explorer.values import exceeded
from highwater.model.language.declarations import Instance, Quantified, StepProperty, Transition, Witness
from highwater.model.language.domain import OneOf, Struct, domains_in
from highwater.model.language.graph_properties import Liveness, Prospect
from highwater.model.language.shape import Domain, DomainError, Shape

Beside = Mapping[type, Sequence[Any]]


class WrongInitialState(ModelError):
    """An initial state is none of the domain, or is outside the bounds."""


@attrs.frozen
class System:
    """A transition system over states of one struct.

    Attributes:
        domain: the struct that every state belongs to.
        initial: the states at depth 0.
        actions: one instance per action and parameter values; their order decides which of several shortest traces is
            shown.
        invariants: one instance per invariant and parameter values, each checked on every state.
        step_properties: one instance per step property and parameter values, each checked on every step.
        prospects: one instance per prospect and parameter values, each judged on the whole graph of states.
        liveness: one instance per liveness property and parameter values, each judged on the whole graph of states.
        interchangeable: by set of names, those that can be exchanged without any action or invariant noticing.
        ranks: what the search abstracts from, see `highwater.explorer.ranks`; None if every state is its own class.
            Then the domain is that of real states, which have room for numbers that the bounds do not allow in a class.
        protocol, bounds: what the system was made from. The engine does not look at them, but they are part of what a
            search is.
        modules: the modules that made it, besides those of its functions and its state.
    """

    domain: Struct
    initial: tuple[Any, ...]
    actions: tuple[Instance, ...]
    invariants: tuple[Instance, ...] = ()
    interchangeable: Mapping[str, tuple[int, ...]] = attrs.field(factory=dict)
    step_properties: tuple[Instance, ...] = ()
    prospects: tuple[Instance[Prospect], ...] = ()
    liveness: tuple[Instance[Liveness], ...] = ()
    protocol: Any = None
    bounds: Any = None
    modules: tuple[str, ...] = ()
    ranks: Ranks | None = None

    def __repr__(self) -> str:
        return f"<System of {self.domain.cls.__name__}: {len(self.actions)} actions>"

    @property
    def class_domain(self) -> Struct:
        """The domain of what a search keeps: of classes of states, or of the states themselves."""
        return self.domain if self.ranks is None else self.ranks.domain

    def class_of(self, state: Any) -> Any:
        """What a search keeps for a state: the state in ranks, or the state itself."""
        return state if self.ranks is None else self.ranks.class_of(state)

    @property
    def safety(self) -> tuple[Instance, ...]:
        """What one state or one step can break."""
        return (*self.invariants, *self.step_properties)

    @property
    def properties(self) -> tuple[Instance, ...]:
        """All that is checked."""
        return (*self.safety, *self.prospects, *self.liveness)

    @property
    def functions(self) -> tuple[Instance, ...]:
        """All of the model that a search runs: every rule for what a model may ask or be holds for each of them."""
        return (*self.actions, *self.properties, *self.premises)

    @property
    def premises(self) -> tuple[Instance, ...]:
        """The premises of the liveness properties that have one, in their order."""
        return tuple(each.premise for each in self.liveness if each.premise is not None)

    @property
    def transitions(self) -> Struct:
        """The domain of steps, as step properties see them."""
        return Struct(Transition, {"before": self.domain, "after": self.domain})

    @functools.cached_property
    def values_beside(self) -> Beside:
        """By the type of a value of a domain, the values of other types that are beside it there."""
        given = {id(domain): domain for each in self.functions for domain in each.domains.values()}
        return values_beside_in((self.domain, *given.values()))

    def __attrs_post_init__(self) -> None:
        _refuse_equal_names("actions", self.actions)
        _refuse_equal_names("properties", self.properties)
        self._refuse_other_actions()
        for names, members in self.interchangeable.items():
            if len(set(members)) < len(members):
                raise ModelError(f"interchangeable: {names} lists a name twice: {', '.join(map(str, members))}")
        if not self.initial:
            raise ModelError("a system needs at least one initial state")
        for state in self.initial:
            try:
                cut = self.domain.exceeded(state)
            except DomainError as error:
                raise WrongInitialState(f"an initial state is outside its domain: {error}") from None
            cut = cut or self.class_domain.exceeded(self.class_of(state))
            if cut:
                raise WrongInitialState(
                    f"an initial state is outside the bounds: {', '.join(sorted(cut))} {_outside(self.domain, state)}"
                )

    def _refuse_other_actions(self) -> None:
        """Refuse a property of the graph that names another action than the system's of that name."""
        own = {each.of.name: each.of for each in self.actions}
        for of in dict.fromkeys(each.of for each in (*self.prospects, *self.liveness)):
            for action in relied_on(of):
                if own.get(action.name, action) is not action:
                    raise ModelError(f"{of.name} names another action than the model's {action.name}")


def values_beside_in(domains: Iterable[Domain]) -> Beside:
    """By the type of a value of some domains, the values of other types that are beside it there."""
    found: dict[type, list[Any]] = {}
    for domain in domains:
        for members in (each.members for each in domains_in(domain) if isinstance(each, OneOf)):
            kinds = dict.fromkeys(map(type, members))
            for kind in kinds if len(kinds) > 1 else ():
                found.setdefault(kind, []).extend(each for each in members if type(each) is not kind)
    return found


def abstracted(system: System, groups: Sequence[str]) -> System:
    """The system in which only the order of the numbers of some groups matters.

    Raises:
        ModelError: there is no such group, its fields do not fit together, or an action or property has such numbers
            among its parameters.
    """
    try:
        ranks = ranks_of(system.domain, groups)
        for each in system.functions:
            for name, domain in each.domains.items():
                for group in named_in(domain, groups):
                    raise RankError(f"{each.of.name}'s parameter {name} is one of the {group} {where(each)}")
    except RankError as error:
        raise ModelError(f"by_order: {error}") from None
    return attrs.evolve(system, domain=roomy(system.domain, ranks), ranks=ranks)


def relied_on(of: Quantified) -> tuple[Any, ...]:
    """The actions that a property of the graph names: those it goes along, or is fair to."""
    fair = (*getattr(of, "fair", ()), *getattr(of, "strongly_fair", ()))
    return (*getattr(of, "along", ()), *(each.action for each in fair))


def _refuse_equal_names(kind: str, instances: Iterable[Instance]) -> None:
    """Refuse what traces, reports and kept files could not tell apart: they know actions and properties by names.

    Raises:
        ModelError: two are called alike, or one is listed twice.
    """
    named: dict[str, Instance] = {}
    shown: dict[str, Instance] = {}
    for each in instances:
        first = named.setdefault(each.of.name, each)
        if first.of is not each.of:
            raise ModelError(f"two {kind} are named {each.of.name}: {where(first)} and {where(each)}; rename one")
        if str(each) in shown:
            twice = shown[str(each)].arguments == each.arguments
            why = "is listed twice" if twice else "is what two of them are shown as"
            raise ModelError(f"{kind}: {each} {why} {where(each)}")
        shown[str(each)] = each


def _outside(domain: Struct, state: Any) -> str:
    """The first field of a state that a bound cuts, and what it is."""
    for name, of in domain.fields.items():
        value = getattr(state, name)
        if isinstance(of, Struct) and of.exceeded(value):
            return _outside(of, value)
        if of.exceeded(value):
            is_number = of.shape is Shape.NUMBER and of.is_scalar
            allowed = f", and not {of.show(of.decode(0))}..{of.show(of.decode(of.size - 1))}" if is_number else ""
            return f"({domain.cls.__name__}.{name} is {of.show(value)}{allowed})"
    return ""


@attrs.frozen
class Cut:
    """A step that is disabled because its result is outside the named bounds."""

    bounds: frozenset[str]


def successor(instance: Instance, state: Any, domain: Struct) -> Any:
    """One action instance on one plain state of the domain.

    Returns:
        None where it is not enabled, a `Cut` where the result is outside the bounds, otherwise the next state.

    Raises:
        ModelError: the action raised, or returned something that is no state.
    """
    try:
        after = instance.apply(state)
    except RAISED as error:
        raise failed(instance, error, state, domain) from error
    if after is None:
        return None
    try:
        cut = exceeded(domain, state, after)
    except RAISED as error:
        raise ModelError(f"{instance} {where(instance)} returned a value outside its domain: {error}") from None
    return Cut(cut) if cut else after


def taken(system: System, action: Instance, before: Any) -> Any:
    """The state after a step of a state in real numbers; None; or a `Cut`, also where a bound cuts the step in the
    class of the state: then the step is none that a search takes.
    """
    after = successor(action, before, system.domain)
    if system.ranks is None or after is None or isinstance(after, Cut):
        return after
    in_class = successor(action, system.class_of(before), system.domain)
    cut = in_class.bounds if isinstance(in_class, Cut) else system.class_domain.exceeded(in_class)
    return Cut(cut) if cut else after


def judge(instance: Instance, state: Any, domain: Struct) -> Any:
    """One invariant instance on one plain state: True, or what it returned in place of True (False or a `Witness`).

    A step property is judged on a `Transition`, whose domain is `System.transitions`.

    Raises:
        ModelError: the invariant raised, or returned neither a bool nor a `Witness`.
    """
    try:
        return verdict_of(instance, instance.apply(state))
    except ModelError:
        raise
    except RAISED as error:
        raise failed(instance, error, state, domain) from error


def judge_end(system: System, instance: Instance, before: Any, after: Any) -> Any:
    """One property on the end of a trace: an invariant on the state after its last step, a step property on that step.

    Of a prospect this says whether it is true there. It does not say whether it is lost:
    `highwater.explorer.outlook` does.

    Args:
        before: the state before the last step; None where the trace has no step, and so nothing that breaks a step
            property.
    """
    if not isinstance(instance.of, StepProperty):
        return judge(instance, after, system.domain)
    return before is None or judge(instance, Transition(before, after), system.transitions)


def verdict_of(instance: Instance, value: Any) -> Any:
    """The value that a property returned, if it is one that a property may return."""
    if not isinstance(value, bool | Witness):
        raise ModelError(
            f"{instance} {where(instance)} returned {value!r}: a property returns True, False or a Witness"
        )
    return value


def look_alike(first: System, second: System, read: Iterable[str]) -> bool:
    """Whether what a search finds in one system it finds in another one, too: whatever it looks at is the same there.

    Args:
        read: the settings that any path reads in the first one, as `Outcome.settings_read` has them.
    """
    return _shape(first) == _shape(second) and are_set_alike(first, second, read)


def are_set_alike(first: Any, second: Any, read: Iterable[str]) -> bool:
    """Whether some settings, such as protocol.acks, or protocol if all of them count, are the same in both."""
    return all(_are_equal(of(first), of(second)) for of in map(operator.attrgetter, read))


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two settings are equal, or two objects in all their fields, whatever their class says of equality."""
    if type(one) is not type(other) or not attrs.has(type(one)):
        return bool(one == other)
    return all(_are_equal(getattr(one, field.name), getattr(other, field.name)) for field in attrs.fields(type(one)))


def _shape(system: System) -> list[Any]:
    """What a search knows of a system besides what functions read: states, and which instances there are."""
    instances = [(str(each), each.of, each.domains) for each in system.functions]
    return [system.domain, system.class_domain, system.initial, dict(system.interchangeable), instances]
