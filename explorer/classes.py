"""Steps and verdicts of classes of states in plain Python, see `explorer.ranks`. Each is tried on other members of the
class, too: whatever looks at more than the order of the numbers is refused.

A system that abstracts from nothing has states for classes, and nothing is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from explorer.ranks import RENAMINGS, Ranks, in_words
from explorer.system import Cut, ModelError, System, judge, successor, where
from explorer.trace import changes
from model.language.declarations import Instance, StepProperty, Transition
from model.language.domain import Struct

WHAT_TO_DO = (
    "  compare such numbers with each other only, and make a new one by adding 1 to the greatest that the state holds; "
    "or leave\n  the group out of `by_order`"
)

MOST_FIELDS = 4


def class_after(system: System, action: Instance, before: Any) -> tuple[Any, Any]:
    """The state after a step of a class, as the function returned it, and its class; twice None, or twice a `Cut`.

    Raises:
        ModelError: the step looks at more than the order of the numbers.
    """
    found = successor(action, before, system.domain)
    if system.ranks is not None:
        _try_step(system, system.ranks, action, before, found)
    if found is None or isinstance(found, Cut):
        return found, found
    cut = system.class_domain.exceeded(found)
    return (Cut(cut), Cut(cut)) if cut else (found, system.class_of(found))


def judge_class(system: System, instance: Instance, of: Any) -> Any:
    """One property on one class, or on the `Transition` from a class to the state that a step of it leads to.

    Raises:
        ModelError: the property looks at more than the order of the numbers.
    """
    domain = system.transitions if isinstance(instance.of, StepProperty) else system.domain
    found = judge(instance, of, domain)
    if system.ranks is None:
        return found
    ranks = ranks_of_steps(system) if isinstance(instance.of, StepProperty) else system.ranks
    for renaming in RENAMINGS:
        image = ranks.image(of, renaming)
        other = judge(instance, image, domain)
        if bool(other) != bool(found):
            said = ("is false", "is true")
            shown = ((domain.show(each), said[bool(true)]) for each, true in ((of, found), (image, other)))
            _refuse_two(ranks, instance, (), *shown)
    return found


def ranks_of_steps(system: System) -> Ranks:
    """The same of steps: the numbers of both states have their ranks in common."""
    of = system.class_domain
    return Ranks(Struct(Transition, {"before": of, "after": of}), system.ranks.groups)


def _try_step(system: System, ranks: Ranks, action: Instance, before: Any, found: Any) -> None:
    steps = ranks_of_steps(system)
    for renaming in RENAMINGS:
        image = ranks.image(before, renaming)
        other = successor(action, image, system.domain)
        both, paths = ((before, found), (image, other)), []
        if isinstance(found, system.domain.cls) and isinstance(other, system.domain.cls):
            ours, theirs = (steps.class_of(Transition(*each)) for each in both)
            if ours == theirs:
                continue
            paths = [change.path for change in changes(system.domain, ours.after, theirs.after)]
        elif found == other:
            continue
        shown = ((system.domain.show(state), _said(system, after)) for state, after in both)
        _refuse_two(ranks, action, paths, *shown)


def _said(system: System, found: Any) -> str:
    match found:
        case None:
            return "is not enabled"
        case Cut(bounds=bounds):
            return f"is cut by {', '.join(sorted(bounds))}"
    return f"leads to {system.domain.show(found)}"


def _refuse_two(
    ranks: Ranks, instance: Instance, paths: Sequence[str], ours: tuple[Any, str], theirs: tuple[Any, str]
) -> NoReturn:
    refuse(
        ranks,
        instance,
        paths,
        f"  {instance} {ours[1]}\n    in the state {ours[0]}\n"
        f"  {instance} {theirs[1]}\n    in the state {theirs[0]}, in which the order of the numbers is the same\n",
    )


def refuse(ranks: Ranks, instance: Instance, paths: Sequence[str], shown: str) -> NoReturn:
    """Refuse a function that looks at more than the order of numbers.

    Args:
        paths: the fields that come out differently; empty if the function is enabled, or true, in one state only.
        shown: where it does, in lines.
    """
    fields = list(paths) or [path for group in ranks.groups.values() for path in group.paths]
    raise ModelError(
        f"{instance.of.name} looks at more than the order of {in_words(*ranks.groups)}: it does arithmetic with"
        f" {', '.join(fields[:MOST_FIELDS])}{' ...' if len(fields) > MOST_FIELDS else ''}, or compares with a"
        f" constant\n  {where(instance)}\n{shown}{WHAT_TO_DO}"
    )
