"""The verifier of a verdict that says "violated": each step of each trace is taken again in plain Python, and its end
is judged.

It is not judged that no shorter trace violates the property, nor how many states there are: such a search ends early.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import attrs

from highwater.explorer.classes import class_after, truths
from highwater.explorer.fairness import Demand, demands_of
from highwater.explorer.outlook import is_deadlock, outlook
from highwater.explorer.system import System, judge_end, successor
from highwater.explorer.verdict import DEADLOCK, Violation
from highwater.explorer.verifier.certificate import Certificate, Codec, Unfit
from highwater.explorer.verifier.sums import Refused
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness, Prospect

MOST_BEHIND = 100_000  # states that are looked at for the goal of a prospect


def written(system: System, violations: Sequence[Violation]) -> list[dict[str, Any]]:
    """Counterexamples as a certificate has them: actions by name, states as `Codec` writes them."""
    codec = Codec(system.domain)
    return [
        {
            "property": each.property + "(" + ", ".join(f"{name} {of}" for name, of in each.arguments.items()) + ")",
            "back_to": each.back_to,
            "actions": [str(step.taken) for step in each.trace[1:]],
            "states": [codec.bytes_of(step.state).hex() for step in each.trace],
        }
        for each in violations
    ]


@attrs.frozen
class Trace:
    """A trace that was taken again: its states, and its steps' actions."""

    states: tuple[Any, ...]
    actions: tuple[Instance, ...]
    back_to: int | None


def verify_traces(certificate: Certificate, system: System, *, no_deadlock: bool) -> tuple[list[str], list[str]]:
    """Judge the counterexamples of a certificate.

    Returns:
        What was verified, and what was not, in words.

    Raises:
        Refused: a trace cannot be taken, or violates nothing.
        Unfit: too much lies behind its end to say whether a prospect is lost.
    """
    verified = []
    if not certificate.traces:
        raise Refused("there is no trace that violates a property")
    for each in certificate.traces:
        name, trace = each["property"], _taken(system, each)
        length, end = f"{len(trace.actions)} step{'' if len(trace.actions) == 1 else 's'}", trace.states[-1]
        of = next((of for of in system.properties if str(of) == name), None)
        if name == f"{DEADLOCK}()" and no_deadlock:
            why = "" if is_deadlock(system, end) else "a step is enabled, or cut, at the end of the trace"
        elif of is None:
            raise Refused(f"{name} is none of the checked properties")
        elif isinstance(of.of, Prospect):
            ahead = outlook(system, cast("Instance[Prospect]", of), end, MOST_BEHIND)
            why = ahead.hope
            if ahead.lost is None:
                raise Unfit(f"whether {name} can come true again is not known: over {MOST_BEHIND:,} states lie behind")
        else:
            why = _not_violated(system, of, trace)
        if why:
            raise Refused(f"{name}: {why}; in the state {system.domain.show(end)}")
        verified.append(f"a trace of {length} violates {name}")
    return verified, ["that no shorter trace violates a property", "how many states there are"]


def _taken(system: System, each: dict[str, Any]) -> Trace:
    """A trace, taken step by step."""
    codec, actions = Codec(system.domain), {str(action): action for action in system.actions}
    try:
        states = tuple(codec.state(bytes.fromhex(state)) for state in each["states"])
    except ValueError as error:
        raise Refused(f"a state of the trace of {each['property']}: {error}") from None
    if not states or states[0] not in system.initial or len(each["actions"]) != len(states) - 1:
        raise Refused(f"the trace of {each['property']} does not begin in an initial state, or lacks steps")
    for number, (name, before, after) in enumerate(zip(each["actions"], states[:-1], states[1:], strict=True), 1):
        found = successor(actions[name], before, system.domain) if name in actions else None
        if found == after and system.ranks is not None:  # a bound may cut the step of the class
            _, of = class_after(system, actions[name], system.class_of(before))
            found = after if of == system.class_of(after) else None
        if found != after:
            shown = system.domain.show(before)
            raise Refused(f"step {number} of the trace of {each['property']}: {name} does not lead there from {shown}")
    back_to = each["back_to"]
    if back_to is not None and each["property"] not in map(str, system.liveness):
        raise Refused(f"the trace of {each['property']} comes back to a step, as of liveness alone")
    if back_to is not None and not 0 <= back_to < len(states):
        raise Refused(f"the trace of {each['property']} has no step {back_to} to come back to")
    return Trace(states, tuple(actions[name] for name in each["actions"]), back_to)


def _not_violated(system: System, of: Instance, trace: Trace) -> str:
    """Why a trace does not violate a property; empty if it does."""
    if isinstance(of.of, Liveness):
        return _not_broken(system, of, trace)
    before = trace.states[-2] if len(trace.states) > 1 else None
    return "it is true at the end of the trace" if judge_end(system, of, before, trace.states[-1]) else ""


def _not_broken(system: System, of: Instance[Any], trace: Trace) -> str:
    """The same of a lasso: its cycle must be one, fair, and one on which the property is false."""
    classes, form = [system.class_of(state) for state in trace.states], of.of.form
    if trace.back_to is None or classes[trace.back_to] != classes[-1]:
        return "the trace does not come back to where its cycle begins"
    found = [truths(system, of, state) for state in classes]
    owed_from = 1 + max((number for number, each in enumerate(found) if each not in form.stays), default=-1)
    begins = found[owed_from : 1 if form.at_first else None]
    if owed_from > trace.back_to or form.begins.isdisjoint(begins):
        return "it is true where it should be false, or never owed"
    if form.returns.isdisjoint(found[trace.back_to :]):
        return "it is true all along the cycle"
    fair = all(_is_met(system, demand, classes[trace.back_to :]) for demand in demands_of(system, of.of))
    return "" if fair else "the cycle is not fair"


def _is_met(system: System, demand: Demand, cycle: Sequence[Any]) -> bool:
    """Whether going round for ever is fair: a demand is met, or cannot be, in some state or in all."""
    results = [(state, [class_after(system, action, state) for action in demand.instances]) for state in cycle]
    found = [{of for after, of in each if after is not None and after != state} for state, each in results]
    taken = any(then in after for after, then in zip(found[:-1], cycle[1:], strict=True))
    return taken or not (any(found) if demand.strong else all(found))
