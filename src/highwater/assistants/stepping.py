"""A model tried by hand. The server keeps no position: each call names the steps to where it begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from highwater.assistants.checking import entry_named
from highwater.assistants.contract import a_number, a_text, fitting, seconds, short, tool
from highwater.assistants.place import LONGEST_NAME, OfSpec, Place
from highwater.claims.resolving import choose, same_name
from highwater.claims.tables import Wrong, did_you_mean, shown
from highwater.explorer.trace import changes
from highwater.exploring.nodes import Choice
from highwater.exploring.opening import open_entry, open_spec
from highwater.exploring.session import Session, SessionError
from highwater.visible import visible

MOST_STEPS = 200
LONGEST_CONDITION = 2_000
ROOM_REFUSED = 1_500


@attrs.frozen(kw_only=True)
class AskedState(OfSpec):
    """Where to begin: an initial state of a spec, or a step of a counterexample; and the steps from there."""

    counterexample: str = a_text(LONGEST_NAME, "instead of spec and text: as explain_counterexample takes it")
    claim: str = a_text(LONGEST_NAME, "of a report with several counterexamples, which claim")
    at: int | None = a_number(None, 0, 100_000, "of a counterexample, the step to begin after; its end if left out")
    initial: int = a_number(0, 0, 1_000_000, "of several initial states, which; the first is 0")
    path: tuple[str, ...] = attrs.field(
        default=(),
        metadata={"longest": MOST_STEPS, "meaning": "steps from there, as enabled_steps spells them"},
    )
    seconds: int = seconds()


@attrs.frozen
class Enabled:
    """A step that can be taken.

    Attributes:
        step: how to name it in a path.
        actor: who acts.
        changes: what it would change in the state.
    """

    step: str
    actor: str
    changes: str


@attrs.frozen
class Refused:
    """A step that cannot be taken.

    Attributes:
        why: the guard that refuses it with the values that it looked at, or the bound that cuts it.
    """

    step: str
    why: str


@attrs.frozen
class Falsified:
    """A property that is false in this state, or of the step to it.

    Attributes:
        why: in words.
        checked: whether the spec asks for it; what is false of others is no violation.
    """

    property: str
    why: str
    checked: bool


@attrs.frozen
class State:
    """A state, and what can happen there.

    Attributes:
        depth: how many steps lie behind it.
        initial_states: how many initial states there are.
        path: the steps from where it began to this state, to pass on.
        state: in words; a long one is cut.
        changed: what the last step changed.
        enabled: the steps that can be taken here, as many as there is room for.
        enabled_total: how many there are.
        refused: steps that cannot be taken, and why, as many as there is room for.
        refused_total: how many there are.
        false: the properties that are false here.
        unjudged: properties that need the graph of all states.
    """

    depth: int
    initial_states: int
    path: tuple[str, ...]
    state: str
    changed: str
    enabled: tuple[Enabled, ...]
    enabled_total: int
    refused: tuple[Refused, ...]
    refused_total: int
    false: tuple[Falsified, ...]
    unjudged: tuple[str, ...]


@attrs.frozen(kw_only=True)
class AskedEnabled(AskedState):
    """Which steps."""

    action: str = a_text(LONGEST_NAME, "steps of this action alone; those of all actions if empty")


@tool(AskedEnabled, State)
def enabled_steps(asked: AskedEnabled, place: Place) -> State:
    """Show a state and what can happen there: the steps that can be taken and what each would change, the guard that
    refuses the rest, and which properties are false.
    """
    return _shown(_at(asked, place), asked.path, asked.action)


@attrs.frozen(kw_only=True)
class AskedStep(AskedState):
    """Which step."""

    step: str = a_text(LONGEST_NAME, "the step to take, as enabled_steps spells it, such as elect_leader(leader b0)")


@tool(AskedStep, State)
def take_step(asked: AskedStep, place: Place) -> State:
    """Take a step by hand, and show the state behind it. Pass on the path of the answer to go on from there; leave out
    its last step to go back.
    """
    session = _at(asked, place)
    _take(session, asked.step, "step")
    return _shown(session, (*asked.path, asked.step))


@attrs.frozen(kw_only=True)
class AskedWay(AskedState):
    """What to look for."""

    wanted: str = a_text(
        LONGEST_CONDITION,
        "a condition on a state such as len(b1.log) > 1 and b1.leader is None, the name of an action that is to be "
        "possible, or the name of a property that is to be false",
    )


@attrs.frozen
class FoundWay:
    """A way.

    Attributes:
        words: what the search found.
        found: whether there is a way.
        path: the steps from where it began to the state that was found, to pass on; empty if there is none.
    """

    words: str
    found: bool
    path: tuple[str, ...]


@tool(AskedWay, FoundWay)
def find_state(asked: AskedWay, place: Place) -> FoundWay:
    """Find a shortest way from a state to one where a condition is true, an action is possible, or a property is
    false.
    """
    session = _at(asked, place)
    found = session.find(asked.wanted, from_here=True)
    path = [str(step.action) for step in (found.steps or ())[1:]]
    return FoundWay(short(visible(found.says)), found.steps is not None, (*asked.path, *path) if found.steps else ())


def _at(asked: AskedState, place: Place) -> Session:
    """Where a call begins.

    Raises:
        Wrong: a spec and a counterexample are named, or neither is; or a step cannot be taken.
    """
    if asked.counterexample:
        if asked.spec or asked.text:
            raise Wrong("counterexample: give either this, or spec, or text")
        session = open_entry(entry_named(asked.counterexample, asked.claim, place), asked.at)
    else:
        session = open_spec(place.spec_of(asked))
        if asked.initial >= len(session.system.initial):
            raise Wrong(f"initial: {asked.initial} is none; there are {len(session.system.initial):,}, from 0 on")
        session.go(asked.initial)
    for number, step in enumerate(asked.path):
        _take(session, step, f"path[{number}]")
    return session


def _take(session: Session, step: str, key: str) -> None:
    named = {str(each): number for number, each in enumerate(session.system.actions)}
    if step not in named:
        hint = did_you_mean(step, named, same_name)
        raise Wrong(f"{key}: {shown(step)} is no step of this model{hint}; enabled_steps spells those there are")
    try:
        session.take(named[step])
    except SessionError as error:
        raise Wrong(f"{key}: {error}") from None


def _shown(session: Session, path: Iterable[str], action: str = "") -> State:
    system, at = session.system, session.at
    if action:
        names = sorted({each.of.name for each in system.actions})
        action = choose(action, {name: name for name in names}, "action", "actions of this model")
    choices = [each for each in session.choices() if not action or each.action.of.name == action]
    enabled = [_enabled(each) for each in choices if each.enabled]
    refused = [_refused(each) for each in choices if not each.enabled]
    judged = session.judged()
    before = at.parent.step.state if at.parent else None
    changed = "" if before is None else "; ".join(map(str, changes(system.domain, before, at.step.state))) or "nothing"
    return State(
        depth=at.depth,
        initial_states=len(system.initial),
        path=tuple(path),
        state=short(visible(system.domain.show(at.step.state))),
        changed=short(visible(changed), 600),
        enabled=fitting(enabled, room=4_000)[0],
        enabled_total=len(enabled),
        refused=fitting(refused, room=ROOM_REFUSED)[0],
        refused_total=len(refused),
        false=tuple(
            Falsified(each.name, short(visible(each.why), 300), each.checked) for each in judged if each.holds is False
        )[:10],
        unjudged=tuple(each.name for each in judged if each.holds is None)[:20],
    )


def _enabled(choice: Choice) -> Enabled:
    changed = "; ".join(map(str, choice.changes)) or "nothing"
    return Enabled(visible(str(choice.action)), visible(choice.action.actor), short(visible(changed), 300))


def _refused(choice: Choice) -> Refused:
    why: Any = f"cut by {', '.join(choice.bounds)}" if choice.bounds else choice.refused
    return Refused(visible(str(choice.action)), short(visible(str(why)), 200))
