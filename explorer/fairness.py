"""What fair behaviours owe to the actions that a liveness property relies on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from highwater.explorer.system import System
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness, Per


@attrs.frozen(eq=False)
class Demand:
    """One debt of a fair behaviour: where one of these instances can be taken for ever, one of them is taken again and
    again.

    Attributes:
        name: the action, and the parameters whose values it is for, as shown.
        strong: whether it is owed even where the instances can be taken again and again only, rather than without a
            break.
        instances: the instances of the action; any of them will do.
    """

    name: str
    strong: bool
    instances: tuple[Instance, ...]


def demands_of(system: System, of: Liveness) -> list[Demand]:
    """The demands of a property, in the order in which it lists them. An action that the system does not have demands
    nothing.
    """
    weak = (demand for each in of.fair for demand in _demands(system, each, strong=False))
    strong = (demand for each in of.strongly_fair for demand in _demands(system, each, strong=True))
    return [*weak, *strong]


def _demands(system: System, per: Per, *, strong: bool) -> list[Demand]:
    groups: dict[tuple[Any, ...], list[Instance]] = {}
    for instance in system.actions:
        if instance.of is per.action:
            groups.setdefault(tuple(instance.arguments.get(name) for name in per.parameters), []).append(instance)
    return [Demand(_name(per, instances), strong, tuple(instances)) for instances in groups.values()]


def _name(per: Per, instances: Sequence[Instance]) -> str:
    shown = instances[0].shown
    return per.action.name + "(" + ", ".join(f"{name} {shown[name]}" for name in per.parameters if name in shown) + ")"


def demand_numbers(system: System, demands: Sequence[Demand]) -> list[int]:
    """By action of the system, the number of the demand that it meets, or -1."""
    numbers = {instance: number for number, demand in enumerate(demands) for instance in demand.instances}
    return [numbers.get(instance, -1) for instance in system.actions]
