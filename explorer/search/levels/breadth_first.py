"""Breadth-first search on one machine: threads of machine code explore, Python grows their trees and keeps the
books.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import attrs

from highwater.explorer.blame import Contradiction, JudgedOtherwise, ModelError, interrupted_in
from highwater.explorer.comparisons import refusing_what_is_never_equal
from highwater.explorer.compiler.comparison import PlainStates
from highwater.explorer.kernels import arrays
from highwater.explorer.kernels.making.compile_times import TIMES
from highwater.explorer.memory import address_space
from highwater.explorer.search.audit import audit as audit_of
from highwater.explorer.search.counterexamples import broken_steps_in, deadlock_in, violations_in
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.engine.stand_ins import StandIns
from highwater.explorer.search.keeping.checkpoint import Snapshot
from highwater.explorer.search.keeping.kept_trees import ACTIONS, KeptTrees
from highwater.explorer.search.keeping.snapshots import Snapshots
from highwater.explorer.search.levels.coverage import functions_run, holds_for_nothing, look, unreached
from highwater.explorer.search.levels.expansion import Expansion
from highwater.explorer.search.levels.progress import Pace
from highwater.explorer.search.states.counts import by_bound, by_bound_alone
from highwater.explorer.search.states.store import Stopped
from highwater.explorer.system import System
from highwater.explorer.verdict import (
    DEADLOCK,
    Audit,
    Auditing,
    Budget,
    Found,
    Outcome,
    SearchOptions,
    Verdict,
    Violation,
)

COMPILING = (
    "interrupted while machine code was compiled, once on this machine; what is compiled already is kept for the next "
    "run"
)


def explore(
    system: System,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    options: SearchOptions = SearchOptions(),  # noqa: B008 - frozen
    *,
    check_deadlock: bool = False,
    audit: int = 8,
    on_found: Callable[[Found], None] | None = None,
    rows_in_python: int | None = None,
) -> Outcome:
    """Explore every state that the system reaches, level by level; check each state's invariants and each step's
    properties.

    Verdict, counts and traces depend neither on the number of workers nor on symmetry.

    Args:
        system: what to explore.
        budget: when to stop early.
        options: how to go about it.
        check_deadlock: treat a state without successors that no bound explains as a violation of `no_deadlock`.
        audit: how many paths of each function to compare with plain Python on a random state, too; on its own state
            every path is.
        on_found: called with all states if nothing is violated and every state was seen, or all to the given depth.
        rows_in_python: how many rows to expand in plain Python before machine code goes on; None is none where it is
            compiled, and else as many as it takes to compile it beside the search.

    Raises:
        ModelError: a function of the model is not a pure function of the state, raised, or gave what lies outside its
            domain.
        JudgedOtherwise: plain Python does not agree with what was found. What was kept of the trees is forgotten.
        CheckpointError: the checkpoint cannot be written, or is not one of this search.
    """

    def searched(*, begin_with_kept: bool) -> Outcome:
        engine = Engine(system, budget, audit, options.workers or os.cpu_count() or 1, symmetry=options.symmetry)
        search = _Search(engine, budget, options, check_deadlock=check_deadlock)
        if rows_in_python is not None or _begins_in_python(engine, budget, options):
            search.begin_in_python(rows_in_python)
        kept = KeptTrees(engine, audit) if options.keep_trees else None
        if kept is not None and begin_with_kept:
            kept.load()
            engine.store.expect(*kept.size)
        if options.checkpoint is not None:
            about = {"check_deadlock": check_deadlock, "keep_going": options.keep_going}
            search.keep(Snapshots(engine, Path(options.checkpoint), about), resume=options.resume)
        try:
            outcome = search.run()
        except JudgedOtherwise:
            if kept is not None:
                kept.forget()
            raise
        except (ModelError, Contradiction):
            if kept is None or not kept.are_used:
                raise
            return searched(begin_with_kept=False)  # what was kept may be wrong where the sample did not look
        if kept is not None:
            kept.keep()
            kept.keep_size(len(engine.store.table), engine.store.count, engine.store.folded_bytes)
            outcome = attrs.evolve(outcome, warnings=(*outcome.warnings, *filter(None, [kept.warning])))
        if on_found is not None and outcome.verdict in (Verdict.HOLDS, Verdict.HOLDS_TO_DEPTH):
            on_found(_found(engine))
        return outcome

    # a search for other properties may have learned in states that this one never sees
    return searched(begin_with_kept=not options.coverage)


def _begins_in_python(engine: Engine, budget: Budget, options: SearchOptions) -> bool:
    """Whether a search is to begin in plain Python: machine code is not there, and can be compiled beside the search.

    Where memory or states are limited, or a snapshot has many rows, it begins in machine code.
    """
    limited = budget.memory is not None or budget.max_states is not None or address_space() is not None
    return not (limited or options.resume) and engine.code.can_compile_beside and bool(engine.code.missing())


def reach(
    system: System,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    workers: int | None = None,
    *,
    symmetry: bool = True,
    keep_trees: bool = False,
    judge_graph: bool = False,
) -> tuple[Engine, Outcome]:
    """Explore, and hand back all rows and trees: what is reachable, and along which paths of functions; and what came
    out, which says whether that is all.

    Args:
        judge_graph: judge prospects and liveness, too.
        keep_trees: begin with what an earlier search has learned of actions, so that some of their paths may be taken
            in no state, and keep what this one does. Properties are learned anew.

    Raises:
        ModelError: as `explore` says.
        KeyboardInterrupt: the keyboard ended it.
    """
    engine = Engine(system, budget, 8, workers or os.cpu_count() or 1, symmetry=symmetry)
    search = _Search(engine, budget, SearchOptions(keep_going=True), check_deadlock=False)
    search.judges_graph = judge_graph
    kept = KeptTrees(engine, 8, (ACTIONS,)) if keep_trees else None
    if kept is not None:
        kept.load()
    try:
        outcome = search.run()
    except (ModelError, Contradiction):
        if kept is not None and kept.are_used:
            return reach(system, budget, workers, symmetry=symmetry, judge_graph=judge_graph)
        raise
    if outcome.reason == "interrupted":
        raise KeyboardInterrupt
    if kept is not None:
        kept.keep()
    return engine, outcome


def _found(engine: Engine) -> Found:
    store, plain = engine.store, PlainStates(engine.layout)
    return Found(
        states=(plain.unpacked(store.words(row)) for row in range(store.count)),
        levels=tuple(end - begin for begin, end in map(store.level, range(store.depth + 1))),
        permutations=engine.permutations or [{}],
    )


class _Search:
    """One search: its levels, what ends it early, its snapshots, and its progress."""

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        options: SearchOptions,
        *,
        check_deadlock: bool,
    ) -> None:
        self.engine = engine
        self.store = engine.store
        self.budget = budget
        self.check_deadlock = check_deadlock
        self.options = options
        self.pace = Pace(engine, options.on_progress)
        self.expansion = Expansion(engine, self.pace)  # it must not refer back: memory is to go when the search ends
        self.violations: list[Violation] = []
        self.level_sizes: list[int] = []
        self.held_back: dict[str, int] = {}
        self.snapshots: Snapshots | None = None
        self.resumed: Snapshot | None = None
        self.saw_everything = True
        self.audit: Audit | None = None
        self.cut_short = ""
        self.judges_graph = True

    def begin_in_python(self, rows: int | None) -> None:
        """Expand so many rows in plain Python, or those that are found until machine code is compiled."""
        self.expansion.stand_ins = StandIns(self.engine, rows)

    def keep(self, snapshots: Snapshots, *, resume: bool) -> None:
        """Write snapshots from now on; first go on from the last one, if asked to."""
        self.snapshots = snapshots
        if not resume:
            snapshots.begin()
            return
        self.resumed = snapshots.restore(self.budget.max_depth)
        self.level_sizes, self.saw_everything = list(self.resumed.level_sizes), False
        self.pace.restored = self.resumed.rows

    def run(self) -> Outcome:
        restored, reason = sum(self.level_sizes), ""
        try:
            with refusing_what_is_never_equal(self.engine.system):
                reason = self._search()
        except KeyboardInterrupt as interrupt:
            reason = "interrupted"
            self.cut_short = COMPILING if TIMES.running or TIMES.cut_short else interrupted_in(interrupt)
            self.engine.code.stop_compiling()
            self._interrupted()
        except MemoryError:
            reason = "memory"
            self._interrupted()
        finally:
            self.engine.close()
            if self.expansion.stand_ins is not None:
                self.expansion.stand_ins.end()
            if self.snapshots is not None:
                self.snapshots.close()
        return attrs.evolve(self._outcome(reason), restored=restored)

    def _search(self) -> str:
        """Find and judge every state; what ended it early, if anything did."""
        reason = self._explore()
        self._snapshot(at_once=True)
        every_state = not reason and (self.options.keep_going or not self.violations)
        if every_state and self.judges_graph:
            reason = self._judge_graph()
        if Verdict.after(reason, violated=bool(self.violations)) in (Verdict.HOLDS, Verdict.HOLDS_TO_DEPTH):
            self._judge_twice(reason)
        return reason

    def _judge_twice(self, reason: str) -> None:
        """Have some of what was found judged a second time, if that is wanted."""
        extent = self.options.audit or Auditing.NONE
        if extent is Auditing.NONE:
            return

        def tell(text: str) -> None:
            self.pace.more = text
            self.pace.report(level_ended=False)

        self.audit = audit_of(
            self.engine,
            extent,
            self.engine.counts((self.snapshots or self.engine).cut_steps()),
            tuple(self.level_sizes),
            expanded=self.store.level(self.store.depth)[0] if reason else self.store.rows_of_levels,
            no_deadlock=self.check_deadlock,
            seconds=self.pace.watch.search_seconds,
            on_progress=tell,
        )

    def _interrupted(self) -> None:
        """Keep what was learned so far."""
        self.engine.close()
        self.store.close_holes(self.engine.works)
        if self.snapshots is not None and self.expansion.inside and not self.violations:
            self.snapshots.write_inside(self.expansion.pending, at_once=True)
        else:
            self._snapshot(at_once=True)
        self.store.end_level()
        self._size_levels()

    def _judge_graph(self) -> str:
        """Judge prospects and look for lassos; what kept it from doing so, if anything did."""
        known = {violation.property for violation in self.violations}
        if self.engine.system.prospects:
            from highwater.explorer.search.graph_properties.prospects import hopeless_states

            found, self.held_back = hopeless_states(self.engine, known)
            self.violations += found
        if self.engine.system.liveness:
            from highwater.explorer.search.graph_properties.liveness import lassos_in

            try:
                found, held_back = lassos_in(self.engine, known)
            except Stopped as stopped:
                return str(stopped)
            self.violations += found
            self.held_back |= held_back
        return ""

    def _explore(self) -> str:
        """Go from level to level; what ended it early, if anything did."""
        try:
            if not self.resumed:
                words = map(self.engine.representative, self.engine.system.initial)
                self.store.add_initial(cast("Iterator[tuple[int, ...]]", words))
            self.engine.remember_first()
            resumed, self.resumed = self.resumed, None
            while resumed or self._end_level():
                if self.violations and not self.options.keep_going:
                    break
                at_depth = self.budget.max_depth is not None and self.store.depth >= self.budget.max_depth
                if resumed is None:
                    self._note_whole_levels()
                self._snapshot(at_once=at_depth)
                if at_depth:
                    return f"depth {self.budget.max_depth}"
                self.expansion.run(self._snapshot_inside, resumed.inside if resumed else None)
                resumed = None
                self._look_behind()
        except Stopped as stopped:
            self._look_behind()
            self._end_level()
            return str(stopped)
        return ""

    def _end_level(self) -> bool:
        """Check what the last expansion added; False if that was nothing."""
        if not self.store.end_level():
            return False
        self.engine.renew_filters()
        self._size_levels()
        self.violations += violations_in(
            self.engine, self.store.depth, {violation.property for violation in self.violations}
        )
        self.pace.report(level_ended=True)
        return True

    def _size_levels(self) -> None:
        """Count the states that the rows of new levels stand for."""
        for level in range(len(self.level_sizes), self.store.depth + 1):
            self.level_sizes.append(self.engine.states_in(*self.store.level(level)))

    def _look_behind(self) -> None:
        """Look for violated step properties and a state at rest in the level that was expanded last, be it in part."""
        known = {violation.property for violation in self.violations}
        self.violations += broken_steps_in(self.engine, self.store.depth, known)
        if self.check_deadlock and DEADLOCK not in known and self.engine.total(arrays.AT_REST):
            self.violations.append(deadlock_in(self.engine, self.store.depth))

    # Snapshots

    def _note_whole_levels(self) -> None:
        """Remember what to write if the search ends before the next level does. What lies behind a violation is not
        remembered.
        """
        if self.snapshots is not None and not self.violations:
            self.snapshots.note(self.level_sizes)

    def _snapshot(self, *, at_once: bool) -> None:
        if self.snapshots is not None:
            self.snapshots.write(at_once=at_once)
            self.pace.more = self.snapshots.warning

    def _snapshot_inside(self) -> None:
        if self.snapshots is not None and not self.violations:
            self.snapshots.write_inside(self.expansion.pending, at_once=False)
            self.pace.more = self.snapshots.warning

    # Telling

    def _outcome(self, reason: str) -> Outcome:
        engine = self.engine
        verdict = Verdict.after(reason, violated=bool(self.violations))
        saw_all = verdict is Verdict.HOLDS and self.saw_everything
        covers = self.options.coverage and self.saw_everything
        programs = [each for each in engine.programs if covers or (saw_all and each is not engine.actions)]
        looks = [look(program) for program in programs]
        enabled: Counter[str] = Counter()
        cut_steps, ranks = (self.snapshots or engine).cut_steps(), engine.system.ranks
        for number, instance in enumerate(engine.system.actions):
            enabled[instance.of.name] += sum(int(work.enabled[number]) for work in engine.works)
        return Outcome(
            verdict=verdict,
            reason=reason,
            violations=tuple(self.violations),
            levels=tuple(self.level_sizes),
            generated=engine.generated,
            enabled=dict(enabled),
            bounds_cut=by_bound(cut_steps),
            cut_alone=by_bound_alone(cut_steps),
            deadlocks=engine.total(arrays.AT_REST),
            stopped_at_bound=engine.total(arrays.STOPPED_AT_BOUND),
            stored_states=self.store.count,
            compiled_paths=engine.paths,
            seconds=self.pace.watch.seconds,
            compile_seconds=self.pace.watch.compile_seconds,
            memory=self.store.bytes_taken,
            bits=engine.layout.bits,
            held_back=self.held_back,
            by_order=tuple(ranks.groups) if ranks else (),
            any_number_of=ranks.unlimited(by_bound(cut_steps)) if ranks and not reason else (),
            vacuous=holds_for_nothing(engine) if self.judges_graph and verdict is Verdict.HOLDS else {},
            unreached=unreached(looks) if saw_all else (),
            functions=functions_run(looks) if covers else (),
            warnings=tuple(filter(None, [self.snapshots.warning if self.snapshots else "", self.cut_short])),
            audit=self.audit,
            settings_read=engine.settings_read if self.saw_everything else None,
        )
