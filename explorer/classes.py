"""Steps and verdicts of classes of states in plain Python, see `highwater.explorer.ranks`.

Each function runs twice: on the state with opaque numbers, so that it is refused if it looks at more than their order,
and on the state itself, which is one of its class. Both must give the same. A system that abstracts from nothing has
states for classes, and each function runs once.
"""

from __future__ import annotations

from typing import Any

from highwater.explorer.blame import RAISED, ModelError, failed, where
from highwater.explorer.opaque import Numbers, refusing, seen_in, written_in
from highwater.explorer.system import Cut, System, judge, successor
from highwater.model.language.declarations import Instance, StepProperty
from highwater.model.language.graph_properties import Liveness


def class_after(system: System, action: Instance, before: Any) -> tuple[Any, Any]:
    """The state after a step of a class, as the function returned it, and its class; twice None, or twice a `Cut`.

    Raises:
        ModelError: the step looks at more than the order of the numbers.
    """
    domain = system.domain
    if system.ranks is None:
        found = successor(action, before, domain)
    else:
        with refusing(action, lambda: domain.show(before)):
            after = _opaquely(system, action, before, domain)
            found = successor(action, before, domain)
        cut = after is not None and domain.exceeded(after)
        _hold(action, domain, before, found, Cut(cut) if cut else after)
    if found is None or isinstance(found, Cut) or system.ranks is None:
        return found, found
    cut = system.class_domain.exceeded(found)
    return (Cut(cut), Cut(cut)) if cut else (found, system.class_of(found))


def judge_class(system: System, instance: Instance, of: Any) -> Any:
    """One property on one class, or on the `Transition` from a class to the state that a step of it leads to.

    Raises:
        ModelError: the property looks at more than the order of the numbers.
    """
    domain = system.transitions if isinstance(instance.of, StepProperty) else system.domain
    if system.ranks is None:
        return judge(instance, of, domain)
    with refusing(instance, lambda: domain.show(of)):
        opaque = _opaquely(system, instance, of, domain)
        found = judge(instance, of, domain)
    _hold(instance, domain, of, bool(found), bool(opaque))
    return found


def truths(system: System, of: Instance[Liveness], state: Any) -> tuple[bool, bool]:
    """Whether the premise of a property is true in a state, and whether its function is; no premise counts as false."""
    premise = of.premise is not None and bool(judge_class(system, of.premise, state))
    return premise, bool(judge_class(system, of, state))


def _opaquely(system: System, instance: Instance, of: Any, domain: Any) -> Any:
    """What an instance returns for a state whose numbers are opaque, in plain numbers."""
    ranks = system.ranks
    assert ranks is not None
    numbers = Numbers(lambda group: ranks.greatest(group, domain, of))
    try:
        return written_in(ranks, domain, instance.apply(seen_in(ranks, domain, of, numbers)), numbers)
    except RAISED as error:
        raise failed(instance, error, of, domain) from error
    finally:
        numbers.closed = True


def _hold(instance: Instance, domain: Any, of: Any, plain: Any, opaque: Any) -> None:
    if plain != opaque:
        raise ModelError(
            f"{instance} does not mean the same if only the order of numbers can be asked; {where(instance)}; in the "
            f"state {domain.show(of)}; look for tests of identity or type, and for anything outside the state"
        )
