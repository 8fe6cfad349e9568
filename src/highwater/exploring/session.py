"""A session: the tree of what was tried, and what can be asked of the state where one is.

The page and the terminal share it. It knows nothing of either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs

from highwater.claims.expressions import expression
from highwater.claims.resolving import properly_spelt
from highwater.explorer.analysis.refusals import refusal
from highwater.explorer.outlook import is_deadlock, outlook
from highwater.explorer.system import Cut, System, judge_end, taken
from highwater.explorer.trace import changes, violation_at, witness_in_words
from highwater.explorer.verdict import DEADLOCK, Step, Violation, by_hand
from highwater.exploring.nodes import Choice, Judged, Node, by_name
from highwater.exploring.searching import Cancelled, Way, question, way_to
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness, Prospect
from highwater.reports.replaying import Subject
from highwater.reports.results import about_violation
from highwater.viewer.comparison import Comparison, compared
from highwater.viewer.showing import counterexample_of, is_true, other_properties

LONGEST_NAME = 60
MOST_ROOTS = 20


class SessionError(ValueError):
    """Something that cannot be done, and why."""


class Session:
    """What was tried of one model under one protocol, within bounds.

    Attributes:
        entry: what a report says of the spec.
        subject: what is explored.
        others: instances of the properties that the spec does not check, as far as a state or a step says enough.
        nodes: all states that were tried.
        at: the one where one is.
        tip: the end of the branch that is shown, which leads through `at`.
        cancelled: ends the search that runs.
    """

    def __init__(self, entry: Mapping[str, Any], subject: Subject) -> None:
        self.entry, self.subject = entry, subject
        unasked = other_properties(subject)
        self.others = tuple(each for each in unasked if not isinstance(each.of, Prospect | Liveness))
        self.nodes: list[Node] = []
        self.cancelled = Cancelled()
        for state in self.system.initial:
            self._add(None, Step(None, state))
        self.at = self.tip = self.nodes[0]

    @property
    def system(self) -> System:
        return self.subject.system

    @property
    def roots(self) -> list[Node]:
        """The initial states; of many those that were begun with."""
        found = [node for node in self.nodes if node.parent is None]
        if len(found) <= MOST_ROOTS:
            return found
        return [node for node in found if node.children or node is self.at or node is found[0]]

    @property
    def trace(self) -> list[Step]:
        """The steps to the state where one is."""
        return [node.step for node in self.at.path]

    @property
    def violation(self) -> Violation:
        """The property that is false where one is, with the steps that lead there: of several one that the spec checks.
        Where none is known to be false, the property has no name; see `unjudged`.
        """
        system, trace = self.system, self.trace
        before = trace[-2].state if len(trace) > 1 else None
        for each in (*system.safety, *system.prospects, *self.others):
            is_prospect, state = isinstance(each.of, Prospect), trace[-1].state
            if self._is_lost(each, state) if is_prospect else is_true(system, each, before, state) is False:
                return violation_at(system, each, trace)
        if self.checks_deadlock and is_deadlock(system, trace[-1].state):
            return violation_at(system, None, trace)
        return by_hand(trace)

    @property
    def checked(self) -> set[str]:
        """The properties that the spec checks."""
        return {*(each.of.name for each in self.system.properties), *([DEADLOCK] if self.checks_deadlock else [])}

    @property
    def unjudged(self) -> list[str]:
        """The checked properties of which it is not known whether they are false where one is, in order."""
        return sorted(each.name for each in self.judged() if each.checked and each.holds is None)

    # What can be seen from here

    def choices(self) -> list[Choice]:
        """Every action of the model in this state: enabled, cut by a bound, or refused by a guard."""
        state, domain = self.at.step.state, self.system.domain
        tried = {id(child.step.action): child for child in self.at.children}
        found = []
        for number, action in enumerate(self.system.actions):
            after = taken(self.system, action, state)
            if after is None:
                found.append(Choice(number, action, refused=refusal(action, state)))
            elif isinstance(after, Cut):
                found.append(Choice(number, action, bounds=tuple(sorted(after.bounds))))
            else:
                made = tuple(changes(domain, state, after))
                found.append(Choice(number, action, changes=made, tried=tried.get(id(action))))
        return found

    def judged(self) -> list[Judged]:
        """Every property in this state, those that the spec checks first."""
        system = self.system
        checked = system.properties
        found = [*by_name(self._judge(each) for each in checked)]
        if self.checks_deadlock:
            stuck = is_deadlock(system, self.at.step.state)
            why = "no action is enabled, and no bound is to blame" if stuck else ""
            found.append(Judged(DEADLOCK, not stuck, why, checked=True))
        others = by_name(self._judge(each) for each in self.others)
        return [*found, *(attrs.evolve(each, checked=False) for each in others)]

    @property
    def checks_deadlock(self) -> bool:
        """Whether the spec asks for a way out of every state."""
        return DEADLOCK in properly_spelt(self.entry["check"], self.subject.definition)

    def _is_lost(self, each: Instance, state: Any) -> bool | None:
        """Whether a prospect is lost in a state; None if that is not known."""
        return outlook(self.system, cast("Instance[Prospect]", each), state).lost

    def _judge(self, each: Instance) -> Judged:
        before = self.at.parent.step.state if self.at.parent else None
        state = self.at.step.state
        if isinstance(each.of, Liveness):
            return Judged(each.of.name, None, "", checked=True)
        if isinstance(each.of, Prospect):
            lost = self._is_lost(each, state)
            return Judged(
                each.of.name, None if lost is None else not lost, "its goal is out of reach" if lost else "", True
            )
        holds = is_true(self.system, each, before, state)
        if holds is None:
            return Judged(each.of.name, None, "raises here", checked=True)
        why = witness_in_words(self.system, each, judge_end(self.system, each, before, state))
        return Judged(each.of.name, holds, why, checked=True)

    # Verbs

    def take(self, number: int) -> Node:
        """Take an action, by its place among those of the system.

        Raises:
            SessionError: there is no such action, or it is not enabled.
        """
        if not 0 <= number < len(self.system.actions):
            raise SessionError(f"there is no action {number}")
        action = self.system.actions[number]
        after = taken(self.system, action, self.at.step.state)
        if after is None:
            raise SessionError(f"{action} is not enabled: {refusal(action, self.at.step.state)}")
        if isinstance(after, Cut):
            raise SessionError(f"{action} is cut by {', '.join(sorted(after.bounds))}")
        return self._move(self._go_on(self.at, Step(action, after)))

    def undo(self) -> Node:
        """Go back by one step. What was tried stays in the tree.

        Raises:
            SessionError: this is an initial state.
        """
        if self.at.parent is None:
            raise SessionError("this is an initial state; there is nothing to undo")
        return self._move(self.at.parent)

    def go(self, number: int) -> Node:
        """Go to a state that was tried.

        Raises:
            SessionError: there is none of that number.
        """
        if not 0 <= number < len(self.nodes):
            raise SessionError(f"there is no state {number}; the last that was tried is {len(self.nodes) - 1}")
        return self._move(self.nodes[number])

    def follow(self, steps: Sequence[Step]) -> Node:
        """Add a trace to the tree, and go to its end. It begins in an initial state, or where one is."""
        first = steps[0].state
        node = next((node for node in [self.at, *self.nodes] if node.step.state == first), None)
        if node is None:
            raise SessionError("the trace begins in no state that was tried")
        for step in steps[1:]:
            node = self._go_on(node, step)
        return self._move(node)

    def name(self, text: str) -> None:
        """Name the branch that ends here; an empty name takes the name away.

        Raises:
            SessionError: the name is too long, or another branch has it.
        """
        text = " ".join(text.split())
        if len(text) > LONGEST_NAME:
            raise SessionError(f"a name has at most {LONGEST_NAME} characters")
        if text and any(node.name == text for node in self.nodes if node is not self.at):
            raise SessionError(f"another branch is called {text}")
        self.at.name = text

    def watch(self, text: str) -> None:
        """Show the value of an expression beside each step; of one that is watched, no more.

        Raises:
            ExpressionError: it cannot be read, or names what there is not.
        """
        asked, now = expression(text, self.system.domain), self.subject.watch
        kept = tuple(each for each in now if each.text != asked.text)
        self.subject = attrs.evolve(self.subject, watch=kept if len(kept) < len(now) else (*now, asked))
        self.entry = {**self.entry, "watch": [each.text for each in self.subject.watch]}

    def find(self, text: str, *, from_here: bool) -> Way:
        """The shortest way to a state that is asked for, from here or from an initial state, and go there.

        Raises:
            ExpressionError: the text is no action, no property and no condition on a state.
        """
        asked = question(text, self.system, self.subject.definition)
        start = (self.at.step.state,) if from_here else tuple(self.system.initial)
        found = way_to(asked, self.system, start, self.cancelled)
        if found.steps is not None:
            if not from_here:
                self._move(next(node for node in self.nodes if node.step.state == found.steps[0].state))
            self.follow(found.steps)
        return found

    def compare(self, against: Sequence[str]) -> tuple[Comparison, Subject, list[Step]]:
        """The steps to where one is under another protocol, as `highwater.viewer.comparison.compared` says.

        Raises:
            ReportError: there is no such protocol.
        """
        violation = self.violation
        entry = {**self.entry, **about_violation(self.system, violation)}
        ours = counterexample_of(entry, self.system, violation, subject=self.subject)
        return compared(self.subject, ours, self.trace, against)

    def _move(self, node: Node) -> Node:
        """Be at a state. The branch that was shown stays if it leads there; if not, the newest that does is shown."""
        self.at = node
        if node not in self.tip.path:
            while node.children:
                node = node.children[-1]
            self.tip = node
        return self.at

    def _go_on(self, node: Node, step: Step) -> Node:
        known = (child for child in node.children if str(child.step.action) == str(step.action))
        return next((child for child in known if child.step.state == step.state), None) or self._add(node, step)

    def _add(self, parent: Node | None, step: Step) -> Node:
        node = Node(len(self.nodes), parent, step)
        self.nodes.append(node)
        if parent is not None:
            parent.children.append(node)
        return node
