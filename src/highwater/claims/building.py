"""A transition system from a model's definition, within bounds, with the properties to check."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from highwater.distribution import LIBRARIES
from highwater.explorer.blame import ModelError, count_as_ours
from highwater.explorer.refinement import Refines
from highwater.explorer.system import System, WrongInitialState, abstracted
from highwater.model.language.declarations import Instance, Invariant, StepProperty
from highwater.model.language.definition import Definition, Property
from highwater.model.language.graph_properties import Liveness, Prospect
from highwater.model.language.records import domain_of

MOST_INSTANCES = 1_000_000
"""Of an action or property: one for each value of its parameters."""


count_as_ours(*LIBRARIES)


def build_system(
    definition: Definition, protocol: Any, bounds: Any, properties: Iterable[Property], by_order: Sequence[str] = ()
) -> System:
    """A model's transition system within bounds, with the properties to check.

    Args:
        by_order: groups of numbers of which only the order is looked at, see `highwater.explorer.ranks`.

    Raises:
        ModelError: the model's state has no proper domain, or what the model says of its bounds and initial states
            raised; or there are too many steps to try.
    """
    try:
        return _built(definition, protocol, bounds, properties, by_order)
    except WrongInitialState as error:
        raise ModelError(f"{error} {written_at(definition.initial_states)}") from None


def _built(
    definition: Definition, protocol: Any, bounds: Any, properties: Iterable[Property], by_order: Sequence[str]
) -> System:
    try:
        domain = domain_of(definition.state, bounds)
    except TypeError as error:
        raise ModelError(str(error)) from error
    kinds: dict[type, list[Instance[Any]]] = {kind: [] for kind in (Invariant, StepProperty, Prospect, Liveness)}
    kinds[Refines] = kinds[StepProperty]
    initial = _initial(definition, bounds)
    for each in properties:
        if type(each) not in kinds:
            raise ModelError(
                f"{each.name} is a {type(each).__name__}, which no search knows how to judge {written_at(each)}"
            )
        _refuse_too_many(each, bounds)
        kinds[type(each)] += each.instances(bounds, protocol)
        beginnings = each.beginnings(initial) if isinstance(each, Refines) else []
        if beginnings and by_order:
            raise ModelError(f"{each.name}: an initial state is mapped to none; leave by_order out to see which")
        kinds[Invariant] += beginnings
    for action in definition.actions:
        _refuse_too_many(action, bounds)
    system = System(
        domain=domain,
        initial=initial,
        actions=tuple(instance for action in definition.actions for instance in action.instances(bounds, protocol)),
        invariants=tuple(kinds[Invariant]),
        step_properties=tuple(kinds[StepProperty]),
        prospects=tuple(kinds[Prospect]),
        liveness=tuple(kinds[Liveness]),
        interchangeable={
            names: tuple(members) for names, members in (definition.interchangeable or no_names)(bounds).items()
        },
        protocol=protocol,
        bounds=bounds,
        modules=tuple(_modules(definition, kinds[StepProperty])),
    )
    return abstracted(system, by_order) if by_order else system


def _refuse_too_many(of: Any, bounds: Any) -> None:
    """
    Raises:
        ModelError: the parameters of an action or property have more values than can be tried in each state.
    """
    if not of.needs(bounds):
        return
    counts = {name: domain_of(declared, bounds).count for name, declared in of.parameters.items()}
    if math.prod(counts.values()) > MOST_INSTANCES:
        most = max(counts, key=lambda name: counts[name])
        raise ModelError(
            f"{of.name}: parameter {most} has {_number(counts[most])} values, and each is tried in each state; allowed "
            f"are {MOST_INSTANCES:,} for all parameters together {written_at(of)}"
        )


def _number(count: int) -> str:
    return f"{count:,}" if count < 10**18 else "more than 10^18"


def _modules(definition: Definition, steps: Iterable[Instance[Any]]) -> Iterator[str]:
    """The modules that a system depends on besides those of its functions and its state."""
    if definition.module:
        yield definition.module
    for each in steps:
        if isinstance(each.of, Refines):
            yield from each.of.modules


def no_names(bounds: Any) -> dict[str, Any]:
    """No names are interchangeable."""
    return {}


def _initial(definition: Definition, bounds: Any) -> tuple[Any, ...]:
    """The initial states.

    Raises:
        ModelError: they are no collection of states.
    """
    found, at = definition.initial_states(bounds), written_at(definition.initial_states)
    if isinstance(found, definition.state):
        raise ModelError(f"initial_states returned one {definition.state.__name__}: return a list of states {at}")
    if not isinstance(found, Iterable) or isinstance(found, str | Mapping):
        raise ModelError(f"initial_states returned {found!r:.80}: return a list of states {at}")
    states = tuple(found)
    for each in states:
        if not isinstance(each, definition.state):
            raise ModelError(f"initial_states returned {each!r:.80}, which is no {definition.state.__name__} {at}")
    return states


def written_at(function: Any) -> str:
    """The file and line of a function, if it is one."""
    code = getattr(getattr(function, "function", function), "__code__", None)
    return f"({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
