"""The page of a session, made anew after every verb, and the verbs that it asks for."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.claims.names import ExpressionError
from highwater.explorer.blame import ModelError
from highwater.exploring.nodes import Choice, Node, in_words
from highwater.exploring.opening import switched
from highwater.exploring.session import Session, SessionError
from highwater.files import ReportError
from highwater.viewer.pages import arrows_of, compare_page, render, track_of
from highwater.viewer.showing import shown_trace
from highwater.viewer.wording import bounds_in_words, protocol_in_words

REFUSALS = (SessionError, ExpressionError, ReportError, ModelError)
"""What a verb raises that cannot be done, and why."""


class Page:
    """A session as a page.

    Attributes:
        session: may be another one after a verb.
        more: what the templates need besides: `token`, for the server that answers; empty where the page around does.
    """

    def __init__(self, session: Session, **more: Any) -> None:
        self.session, self.more = session, {"token": "", **more}

    def whole(self) -> str:
        """The page itself."""
        return self._rendered("explore.html")

    def part(self, **changed: Any) -> str:
        """What of the page verbs change."""
        return self._rendered("session.html", **changed)

    def _rendered(self, template: str, **changed: Any) -> str:
        nothing = {"said": "", "comparison": None, "rule": ""}
        return render(template, **{**_values(self.session), **nothing, **changed, **self.more})

    def do(self, asked: Any) -> str:
        """Do what a verb asks for.

        Returns:
            What of the page it changes.

        Raises:
            REFUSALS: it cannot be done, or there is no such verb.
        """
        if not isinstance(asked, dict):
            raise SessionError("a verb is an object with its name")
        said, comparison, rule = "", None, ""
        match asked:
            case {"verb": "take", "action": int(number)}:
                self.session.take(number)
            case {"verb": "undo"}:
                self.session.undo()
            case {"verb": "go", "node": int(number)}:
                self.session.go(number)
            case {"verb": "name", "name": str(text)}:
                self.session.name(text)
            case {"verb": "find", "what": str(text), "from": ("here" | "start") as where}:
                said = self.session.find(text, from_here=where == "here").says
            case {"verb": "watch", "what": str(text)}:
                self.session.watch(text)
            case {"verb": "compare", "rule": str(rule)}:
                comparison, _, _ = self.session.compare([rule])
            case {"verb": "switch", "rule": str(rule)}:
                self.session = switched(self.session, [rule])
            case _:
                raise SessionError("there is no such verb")
        return self.part(said=said, comparison=comparison, rule=rule)

    def side_by_side(self, rule: str) -> str:
        """The page of the branch under another rule.

        Raises:
            ReportError: there is no such protocol.
        """
        comparison, _, _ = self.session.compare([rule])
        return compare_page(comparison)


def _values(session: Session) -> dict[str, Any]:
    path = session.tip.path
    steps = [node.step for node in path]
    trace = shown_trace(session.system, steps, subject=session.subject)
    choices = session.choices()
    subject = session.subject
    return {
        "session": session,
        "trace": trace,
        "track": track_of(trace),
        "nodes": [node.number for node in path],
        "data": {"arrows": arrows_of(trace), "reads": [], "at": session.at.depth},
        "enabled": by_actor([each for each in choices if each.enabled]),
        "cut": [each for each in choices if each.bounds],
        "refused": by_actor([each for each in choices if each.refused]),
        "judged": session.judged(),
        "tree": [row for root in session.roots for row in tree_rows(root)],
        "shown": trace.steps[session.at.depth],
        "protocol": protocol_in_words(subject.model, subject.protocol, session.entry.get("preset")),
        "bounds": bounds_in_words(subject.bounds),
        "rules": rules_of(session),
        "questions": {
            "actions": sorted({each.of.name for each in session.system.actions}),
            "properties": [each.name for each in subject.definition.known_properties],
        },
    }


def by_actor(choices: list[Choice]) -> dict[str, list[Choice]]:
    """Choices by who acts, in the order of the model's actions."""
    found: dict[str, list[Choice]] = {}
    for each in choices:
        found.setdefault(each.action.actor, []).append(each)
    return dict(sorted(found.items()))


@attrs.frozen
class TreeRow:
    """A run of steps without a branch in the tree of what was tried.

    Attributes:
        node: its last state.
        first: its first.
        indent: how many branches stand above it.
    """

    node: Node
    first: Node
    indent: int

    @property
    def words(self) -> str:
        first, last = self.first.depth, self.node.depth
        steps = f"step {last}" if first == last else f"steps {first} to {last}"
        return f"{steps}: {in_words(self.node)}"


def tree_rows(root: Node, indent: int = 0) -> list[TreeRow]:
    """The tree below a state, with runs of steps in one row each."""
    rows: list[TreeRow] = []
    todo = [(root, indent)]
    while todo:
        first, indent = todo.pop()
        last = first
        while len(last.children) == 1 and not last.name:
            last = last.children[0]
        rows.append(TreeRow(last, first, indent))
        deeper = indent + (len(last.children) > 1)
        todo += [(child, deeper) for child in reversed(last.children)]
    return rows


def rules_of(session: Session) -> list[tuple[str, list[str], str]]:
    """What can be switched: the key, its values, and the present one."""
    model, now = session.subject.model, session.subject.protocol
    rules: list[tuple[str, list[str], str]] = []
    if model.presets:
        rules.append(("preset", list(model.presets), str(session.entry.get("preset") or "")))
    for field in attrs.fields(model.protocol):
        value = getattr(now, field.name)
        kind: Any = type(value)
        values = [False, True] if kind is bool else list(kind)
        rules.append((f"protocol.{field.name}", [_text(each) for each in values], _text(value)))
    return rules


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "value", value))
