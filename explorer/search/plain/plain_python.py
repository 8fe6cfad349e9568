"""The same search in plain Python: no tracing, no packing, no bits. Slow, and small enough to be seen right."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from highwater.explorer.blame import interrupted_in
from highwater.explorer.classes import class_after, judge_class
from highwater.explorer.comparisons import refusing_what_is_never_equal
from highwater.explorer.compiler.questions import refuse_questions, refuse_steps_that_never_happen
from highwater.explorer.search.plain.plain_liveness import Graph, judge_liveness
from highwater.explorer.system import Cut, System
from highwater.explorer.trace import retrace, violation_at
from highwater.explorer.verdict import (
    DEADLOCK,
    NO_GOAL,
    NO_PREMISE,
    Budget,
    Outcome,
    Progress,
    SearchOptions,
    Verdict,
    Violation,
)
from highwater.model.language.declarations import Instance, Transition
from highwater.model.language.graph_properties import Prospect

STATES_BETWEEN_REPORTS = 1000


def explore(
    system: System,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    options: SearchOptions = SearchOptions(),  # noqa: B008 - frozen
    *,
    check_deadlock: bool = False,
) -> Outcome:
    """Breadth-first search with the same verdict, counts and traces as
    `highwater.explorer.search.levels.breadth_first.explore`. Ignores the memory budget, and of the options all but
    `keep_going` and `on_progress`.
    """
    return _Search(system, budget, options, check_deadlock=check_deadlock).run()


class _Search:
    """One search.

    What it keeps are classes of states, see `highwater.explorer.ranks`; most often each state is its own.

    Attributes:
        parents: every state found, in the order of finding, and the one before it.
        levels: how many states there are at each depth that was begun.
        level: the states of the level that is being found.
        violated: by property, the path to its first violation, and the instance.
        moves: for prospects and liveness, the actions that change each state, with what they make of it.
        held_back: see `highwater.explorer.verdict.Outcome`.
    """

    def __init__(
        self,
        system: System,
        budget: Budget,
        options: SearchOptions,
        *,
        check_deadlock: bool,
    ) -> None:
        refuse_questions(system, of_views=False)
        refuse_steps_that_never_happen(system.actions)
        self.started = time.perf_counter()
        self.system, self.budget, self.on_progress = system, budget, options.on_progress
        self.check_deadlock, self.keep_going = check_deadlock, options.keep_going
        self.parents: dict[Any, Any] = dict.fromkeys(map(system.class_of, system.initial))
        self.level = list(self.parents)
        self.levels: list[int] = []
        self.enabled = Counter({action.of.name: 0 for action in system.actions})
        self.cut: Counter[str] = Counter()
        self.cut_alone: Counter[str] = Counter()
        self.at_rest: list[Any] = []
        self.stopped_at_bound = 0
        self.violated: dict[str, tuple[list[Any], Instance | None]] = {}
        self.moves: dict[Any, list[tuple[Instance, Any]]] = {}
        self.lassos: dict[str, Violation] = {}
        self.held_back: dict[str, int] = {}
        self.reason = ""
        self.warnings: tuple[str, ...] = ()

    def run(self) -> Outcome:
        try:
            with refusing_what_is_never_equal(self.system):
                self._explore()
                if not self.reason and (self.keep_going or not self.violated):  # every state is known
                    self._judge_prospects()
                    self._judge_liveness()
        except KeyboardInterrupt as interrupt:
            self.reason, self.warnings = "interrupted", tuple(filter(None, [interrupted_in(interrupt)]))
        return self._outcome()

    def _explore(self) -> None:
        while self.level:
            self.levels.append(len(self.level))
            self._check(self.level)
            self._report(level_ended=True)
            if self.reason or (self.violated and not self.keep_going):
                return
            if self.budget.max_depth is not None and len(self.levels) - 1 >= self.budget.max_depth:
                self.reason = f"depth {self.budget.max_depth}"
                return
            frontier, self.level = self.level, []
            for number, state in enumerate(frontier, 1):
                self._expand(state)
                if self.reason:
                    break
                if number % STATES_BETWEEN_REPORTS == 0:
                    self._report(level_ended=False)
            if self.check_deadlock and self.at_rest:
                self.violated.setdefault(DEADLOCK, (_path(self.parents, self.at_rest[0]), None))

    def _check(self, states: list[Any]) -> None:
        for state in states:
            for invariant in self.system.invariants:
                if invariant.of.name not in self.violated and not judge_class(self.system, invariant, state):
                    self.violated[invariant.of.name] = (_path(self.parents, state), invariant)

    def _check_steps(self, state: Any, successors: list[Any]) -> None:
        for after in successors:
            for each in self.system.step_properties:
                if each.of.name not in self.violated and not judge_class(self.system, each, Transition(state, after)):
                    path = [*_path(self.parents, state), self.system.class_of(after)]
                    self.violated[each.of.name] = (path, each)

    def _expand(self, state: Any) -> None:
        """Take every step from a state."""
        results = [(action, *class_after(self.system, action, state)) for action in self.system.actions]
        cuts = [after for _, after, _ in results if isinstance(after, Cut)]
        steps = [each for each in results if each[1] is not None and not isinstance(each[1], Cut)]
        for after in cuts:
            self.cut.update(after.bounds)
            if len(after.bounds) == 1:
                self.cut_alone.update(after.bounds)
        self._check_steps(state, [after for _, after, _ in steps])
        self.enabled.update(action.of.name for action, _, _ in steps)
        if not steps and cuts:
            self.stopped_at_bound += 1
        elif not steps:
            self.at_rest.append(state)
        if self.system.prospects or self.system.liveness:
            self.moves[state] = [(action, of) for action, after, of in results if after not in (None, state)]
        for _, _, after in steps:
            if after not in self.parents:
                if self.budget.max_states is not None and len(self.parents) >= self.budget.max_states:
                    self.reason = "max-states"
                    return
                self.parents[after] = state
                self.level.append(after)

    def _judge_prospects(self) -> None:
        graph, lost = Graph.of(self.moves, self.parents), []
        for each in self.system.prospects:
            hopeless, held_back = _hopeless(self.system, each, graph)
            lost += [(number, each) for number in hopeless[:1]]
            if held_back and each.of.name not in self.violated:
                self.held_back[each.of.name] = self.held_back.get(each.of.name, 0) + held_back
        for number, each in sorted(lost, key=lambda found: found[0]):
            self.violated.setdefault(each.of.name, (_path(self.parents, graph.states[number]), each))

    def _judge_liveness(self) -> None:
        if self.system.liveness:
            self.lassos, held_back = judge_liveness(self.system, self.moves, self.parents)
            self.held_back |= held_back

    def _vacuous(self) -> dict[str, str]:
        """What holds for nothing, and why."""
        asked: list[tuple[Instance, Instance, str]] = [(each, each, NO_GOAL) for each in self.system.prospects]
        asked += [(each, each.premise, NO_PREMISE) for each in self.system.liveness if each.premise is not None]
        true = {each.of.name for each, of, _ in asked for state in self.moves if judge_class(self.system, of, state)}
        return {each.of.name: why for each, _, why in asked if each.of.name not in true}

    def _report(self, *, level_ended: bool) -> None:
        self.on_progress(
            Progress(
                depth=len(self.levels) - 1,
                frontier=self.levels[-1],
                stored_states=len(self.parents),
                generated=sum(self.enabled.values()),
                compiled_paths=0,
                seconds=time.perf_counter() - self.started,
                memory=0,
                level_ended=level_ended,
            )
        )

    def _outcome(self) -> Outcome:
        begun = sum(self.levels)
        violations = ((instance, retrace(self.system, path)) for path, instance in self.violated.values())
        return Outcome(
            verdict=Verdict.after(self.reason, violated=bool(self.violated or self.lassos)),
            reason=self.reason,
            violations=(
                *(violation_at(self.system, instance, trace) for instance, trace in violations),
                *self.lassos.values(),
            ),
            levels=(*self.levels, *([len(self.parents) - begun] if begun < len(self.parents) else [])),
            generated=sum(self.enabled.values()),
            enabled=dict(self.enabled),
            bounds_cut=dict(sorted(self.cut.items())),
            cut_alone=dict(sorted(self.cut_alone.items())),
            deadlocks=len(self.at_rest),
            stopped_at_bound=self.stopped_at_bound,
            stored_states=len(self.parents),
            warnings=self.warnings,
            seconds=time.perf_counter() - self.started,
            held_back=self.held_back,
            vacuous={} if self.reason or self.violated or self.lassos else self._vacuous(),
            by_order=tuple(self.system.ranks.groups) if self.system.ranks else (),
            any_number_of=() if self.reason or not self.system.ranks else self.system.ranks.unlimited(self.cut),
        )


REALITY = object()  # where a prospect is reality; a step that a bound cuts may lead there


def _hopeless(system: System, prospect: Instance[Prospect], graph: Graph) -> tuple[list[int], int]:
    """The numbers of the states from which no steps that may be relied on lead to where a prospect is reality, in the
    order in which they were found; and how many others have only such steps that a bound cuts on their way.
    """
    import networkx  # here, since few searches need it

    backwards, cut = networkx.DiGraph(), []
    backwards.add_node(REALITY)
    backwards.add_edges_from(
        (REALITY, number) for number, state in enumerate(graph.states) if judge_class(system, prospect, state)
    )
    for state, results in enumerate(graph.moves):
        relied_on = [after for action, after in results if action.of in prospect.of.along]
        backwards.add_edges_from((after, state) for after in relied_on if not isinstance(after, Cut))
        cut += [(REALITY, state)] * any(isinstance(after, Cut) for after in relied_on)
    certain = networkx.descendants(backwards, REALITY)
    backwards.add_edges_from(cut)
    hopeful = networkx.descendants(backwards, REALITY)
    return [state for state in range(len(graph.moves)) if state not in hopeful], len(hopeful - certain)


def _path(parents: dict[Any, Any], state: Any) -> list[Any]:
    path = [state]
    while (state := parents[state]) is not None:
        path.append(state)
    return path[::-1]
