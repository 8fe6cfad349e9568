"""What a session is made of: states that were tried, what can happen there, and what is false."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from highwater.explorer.analysis.refusals import Refusal
from highwater.explorer.trace import Change
from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Instance


@attrs.define(eq=False)
class Node:
    """A state that was tried.

    Attributes:
        number: counts from 0 in the order of trying.
        parent: where the step was taken; None for an initial state.
        step: the action, and the state after it.
        children: what was tried from here, in the order of trying.
        name: of the branch that ends here, if it was given one.
    """

    number: int
    parent: Node | None
    step: Step
    children: list[Node] = attrs.field(factory=list)
    name: str = ""

    @property
    def path(self) -> list[Node]:
        """From the initial state to this one."""
        path, node = [self], self
        while node.parent is not None:
            node = node.parent
            path.append(node)
        return path[::-1]

    @property
    def depth(self) -> int:
        return len(self.path) - 1


@attrs.frozen
class Choice:
    """What an action makes of the state where one is.

    Attributes:
        number: the action's place among those of the system.
        changes: what it changes, if it is enabled.
        bounds: what cuts it, if a bound does.
        refused: the guard that refuses it, if one does.
        tried: the node where it leads, if it was tried.
    """

    number: int
    action: Instance
    changes: tuple[Change, ...] = ()
    bounds: tuple[str, ...] = ()
    refused: Refusal | None = None
    tried: Node | None = None

    @property
    def enabled(self) -> bool:
        return not self.bounds and self.refused is None


@attrs.frozen
class Judged:
    """A property in the state where one is.

    Attributes:
        holds: None if it is not known: it takes the graph of all states, or raises and was not asked for.
        why: the witness, if it is false.
        checked: whether the spec asks for it.
    """

    name: str
    holds: bool | None
    why: str
    checked: bool


def by_name(found: Iterator[Judged]) -> Iterator[Judged]:
    """One of each property: an instance that is false, or else one that was not judged, or else any."""
    best: dict[str, Judged] = {}
    for each in found:
        known = best.get(each.name)
        if known is None or (known.holds is not False and each.holds is not True):
            best[each.name] = each
    yield from best.values()


def in_words(node: Node) -> str:
    """A state by how it was reached."""
    if node.name:
        return node.name
    return str(node.step.action or "initial state")
