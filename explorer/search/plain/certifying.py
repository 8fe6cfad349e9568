"""Writes certificates: the states of a search, its counts, its counterexamples, and ranks of what it promises.

Ranks are made in plain Python, which takes as long as verifying them does. Nobody has to believe what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from highwater.explorer.classes import class_after, judge_class, truths
from highwater.explorer.fairness import Demand, demands_of
from highwater.explorer.system import Cut, System
from highwater.explorer.values import Permutation, Renaming
from highwater.explorer.verdict import Found, Outcome, Verdict
from highwater.explorer.verifier.certificate import Certificate, Codec, Stack
from highwater.explorer.verifier.rankings import KEPT
from highwater.explorer.verifier.traces import written
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness, Prospect

COUNTED = ("generated", "enabled", "bounds_cut", "cut_alone", "deadlocks", "stopped_at_bound", "held_back")
Moves = dict[Any, list[tuple[Instance, Any]]]
CUT = object()  # where steps lead that a bound cuts


def certificate_of(system: System, outcome: Outcome, found: Found | None, **head: Any) -> Certificate:
    """What an outcome rests on.

    Args:
        found: the states, where the verdict is that all is well.
        head: what the certificate is to say besides.
    """
    head["verdict"] = outcome.verdict.value
    if outcome.verdict is Verdict.VIOLATED:
        return Certificate(**head, traces=written(system, outcome.violations))
    assert found is not None
    codec, ranked = Codec(system.class_domain), bool(system.prospects or system.liveness)
    states = list(found.states) if ranked else found.states
    return Certificate(
        **head,
        counts={"levels": list(outcome.levels), **{key: getattr(outcome, key) for key in COUNTED}},
        permutations=list(found.permutations),
        levels=list(found.levels),
        states=[codec.bytes_of(state) for state in states],
        **(_ranks(system, cast("list[Any]", states), found) if ranked else {}),
    )


def _ranks(system: System, states: list[Any], found: Found) -> dict[str, Any]:
    moves, stored = moves_of(system, states), stored_in(system, states, found.permutations)
    initial = frozenset(map(system.class_of, system.initial))
    return {
        "prospects": {str(each): prospect_ranks(system, each, moves, stored) for each in system.prospects},
        "liveness": {str(each): liveness_ranks(system, each, moves, initial) for each in system.liveness},
    }


def moves_of(system: System, states: Iterable[Any]) -> Moves:
    """By state, the actions that change it, each with the class that it leads to or what cuts it."""
    found: Moves = {}
    for state in states:
        results = ((action, *class_after(system, action, state)) for action in system.actions)
        found[state] = [(action, of) for action, after, of in results if after is not None and after != state]
    return found


def stored_in(system: System, states: Sequence[Any], permutations: Sequence[Permutation]) -> Callable[[Any], Any]:
    """Gives the stored state that stands for another."""
    known = set(states)
    others = [Renaming(system.class_domain, each) for each in permutations[1:]]

    def stored(state: Any) -> Any:
        return state if state in known else next(image for rename in others if (image := rename(state)) in known)

    return stored


def prospect_ranks(system: System, each: Instance[Prospect], moves: Moves, stored: Any) -> list[int]:
    """The ranks of a prospect; `stored` is the state that stands for another."""
    relied_on = {
        state: {CUT if isinstance(of, Cut) else stored(of) for action, of in steps if action.of in each.of.along}
        for state, steps in moves.items()
    }
    before: dict[Any, list[Any]] = {}
    for state, after in relied_on.items():
        for of in after:
            before.setdefault(of, []).append(state)
    goals = [state for state in moves if judge_class(system, each, state)]
    away = _distances(dict.fromkeys(goals, 0), before)
    hoped = _distances({state: -1 for state in before.get(CUT, ()) if state not in away}, before, known=away, step=-1)
    return [away[state] if state in away else hoped.get(state, 0) for state in moves]  # 0 is refused where it is lost


def _distances(found: dict[Any, int], before: dict[Any, list[Any]], known: Any = (), step: int = 1) -> dict[Any, int]:
    level = list(found)
    while level:
        level = [state for of in level for state in _new(found, before.get(of, ()), known, found[of] + step)]
    return found


def _new(found: dict[Any, int], states: Sequence[Any], known: Any, rank: int) -> Iterator[Any]:
    for state in states:
        if state not in found and state not in known:
            found[state] = rank
            yield state


def liveness_ranks(system: System, each: Instance[Liveness], moves: Moves, initial: frozenset[Any]) -> list[Stack]:
    """The stacks of a liveness property."""
    form, found = each.of.form, {state: truths(system, each, state) for state in moves}
    ranked = _Stacks(demands_of(system, each.of), moves, {state for state in moves if found[state] in form.returns})
    waits = {state for state in moves if found[state] in form.stays}
    todo = [state for state in waits if found[state] in form.begins and (state in initial or not form.at_first)]
    owed = set(todo)
    while todo:
        after = {of for of in ranked.after(todo.pop()) if of in waits} - owed
        owed |= after
        todo += after
    ranked.rank([state for state in moves if state in owed])
    return [tuple(ranked.stacks.get(state, ())) for state in moves]


class _Stacks:
    """Stacks of waiting states, component by component."""

    def __init__(self, demands: Sequence[Demand], moves: Moves, returns: set[Any]) -> None:
        self._demands, self._moves, self._returns = demands, moves, returns
        self._numbers = 0
        self.stacks: dict[Any, list[tuple[int, int]]] = {}

    def after(self, state: Any) -> Iterator[Any]:
        return (of for _, of in self._moves[state] if not isinstance(of, Cut))

    def rank(self, states: Iterable[Any]) -> None:
        """Put a pair on the stack of each of some states, and go on within what a component owes strong fairness."""
        import networkx  # here, since few searches need it

        graph = networkx.DiGraph()
        graph.add_nodes_from(states)
        graph.add_edges_from((state, of) for state in states for of in self.after(state) if of in graph)
        for component in list(networkx.strongly_connected_components(graph)):  # what steps lead to comes first
            self._numbers += 1
            demand = self._demand(component)
            for state in component:
                self.stacks.setdefault(state, []).append((self._numbers, demand))
            if demand != KEPT and self._demands[demand].strong:
                self.rank([state for state in component if not self._can(self._demands[demand], state)])

    def _demand(self, component: set[Any]) -> int:
        """What a component owes and does not meet."""
        if not component & self._returns:
            return KEPT
        for number, demand in enumerate(self._demands):
            can = [self._can(demand, state) for state in component]
            if (any(can) if demand.strong else all(can)) and not self._meets(demand, component):
                return number
        return KEPT  # which is refused, as the property does not hold

    def _can(self, demand: Demand, state: Any) -> bool:
        return any(action in demand.instances for action, _ in self._moves[state])

    def _meets(self, demand: Demand, component: set[Any]) -> bool:
        return any(
            action in demand.instances and of in component for state in component for action, of in self._moves[state]
        )
