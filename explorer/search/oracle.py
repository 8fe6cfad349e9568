"""The same search in plain Python: no tracing, no packing, no bits. Slow, and small enough to be seen right."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from explorer.system import Cut, System, judge, successor
from explorer.trace import retrace, violation_at
from explorer.verdict import DEADLOCK, Budget, Outcome, Verdict
from model.domain import Instance, Transition


def explore(
    system: System,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    *,
    check_deadlock: bool = False,
    keep_going: bool = False,
) -> Outcome:
    """Breadth-first search with the same verdict, counts and traces as `explorer.search.local.explore`. Ignores the memory budget."""
    started = time.perf_counter()
    parents: dict[Any, Any] = dict.fromkeys(system.initial)
    levels: list[int] = []
    enabled = Counter({action.of.name: 0 for action in system.actions})
    cut: Counter[str] = Counter()
    at_rest: list[Any] = []
    stopped_at_bound = 0
    violated: dict[str, tuple[list[Any], Instance | None]] = {}
    reason = ""
    level = list(parents)
    moves: dict[Any, list[tuple[Instance, Any]]] = {}

    def check(states: list[Any]) -> None:
        for state in states:
            for invariant in system.invariants:
                if invariant.of.name not in violated and not judge(invariant, state, system.domain):
                    violated[invariant.of.name] = (_path(parents, state), invariant)

    def check_steps(state: Any, successors: list[Any]) -> None:
        for after in successors:
            for each in system.step_properties:
                if each.of.name not in violated and not judge(each, Transition(state, after), system.transitions):
                    violated[each.of.name] = ([*_path(parents, state), after], each)

    while level:
        levels.append(len(level))
        check(level)
        if reason or (violated and not keep_going):
            break
        if budget.max_depth is not None and len(levels) - 1 >= budget.max_depth:
            reason = f"depth {budget.max_depth}"
            break
        frontier, level = level, []
        for state in frontier:
            results = [(action, successor(action, state, system.domain)) for action in system.actions]
            cuts = [after for _, after in results if isinstance(after, Cut)]
            for after in cuts:
                cut.update(after.bounds)
            steps = [(action, after) for action, after in results if after is not None and not isinstance(after, Cut)]
            check_steps(state, [after for _, after in steps])
            enabled.update(action.of.name for action, _ in steps)
            if not steps and cuts:
                stopped_at_bound += 1
            elif not steps:
                at_rest.append(state)
            if system.prospects:
                moves[state] = results
            for _, after in steps:
                if after not in parents:
                    if budget.max_states is not None and len(parents) >= budget.max_states:
                        reason = "max-states"
                        break
                    parents[after] = state
                    level.append(after)
            if reason:
                break
        if check_deadlock and at_rest and not reason:
            violated.setdefault(DEADLOCK, (_path(parents, at_rest[0]), None))
    if not reason and (keep_going or not violated):
        found_at = {state: number for number, state in enumerate(moves)}
        lost = [(hopeless[0], each) for each in system.prospects if (hopeless := _hopeless(system, each, moves))]
        for state, each in sorted(lost, key=lambda found: found_at[found[0]]):
            violated.setdefault(each.of.name, (_path(parents, state), each))
    return Outcome(
        verdict=_verdict(bool(violated), reason),
        reason=reason,
        violations=tuple(violation_at(system, instance, retrace(system, path)) for path, instance in violated.values()),
        levels=tuple(levels),
        generated=sum(enabled.values()),
        enabled=dict(enabled),
        bounds_cut=dict(sorted(cut.items())),
        deadlocks=len(at_rest),
        stopped_at_bound=stopped_at_bound,
        stored_states=len(parents),
        seconds=time.perf_counter() - started,
    )


def _hopeless(system: System, prospect: Instance, moves: dict[Any, list[tuple[Instance, Any]]]) -> list[Any]:
    """The states from which no steps that may be relied on lead to where a prospect is reality, in the order in which they were found."""
    hopeful = {state for state in moves if judge(prospect, state, system.domain)}
    while more := {
        state
        for state, results in moves.items()
        if state not in hopeful
        and any(action.of in prospect.of.along and (isinstance(after, Cut) or after in hopeful) for action, after in results)
    }:
        hopeful |= more
    return [state for state in moves if state not in hopeful]


def _verdict(violated: bool, reason: str) -> Verdict:
    if violated:
        return Verdict.VIOLATED
    if reason.startswith("depth"):
        return Verdict.HOLDS_TO_DEPTH
    return Verdict.UNKNOWN if reason else Verdict.HOLDS


def _path(parents: dict[Any, Any], state: Any) -> list[Any]:
    path = [state]
    while (state := parents[state]) is not None:
        path.append(state)
    return path[::-1]
