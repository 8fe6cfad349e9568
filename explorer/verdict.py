"""What an exploration found out: one verdict, with the bounds it is good for and the traces that back it."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import attrs

from highwater.model.language.declarations import Instance

DEADLOCK = "no_deadlock"
NO_PREMISE = "its premise is never true"
NO_GOAL = "it is true in no state"


class Verdict(Enum):
    """`HOLDS`: every state within the bounds was seen. `HOLDS_TO_DEPTH`: every state up to a depth was. `UNKNOWN`: a
    budget ran out.
    """

    HOLDS = "holds"
    HOLDS_TO_DEPTH = "holds-to-depth"
    VIOLATED = "violated"
    UNKNOWN = "unknown"

    @classmethod
    def after(cls, reason: str, *, violated: bool) -> Verdict:
        """The verdict of a search that found a violation or not, and that ended early for a reason, or for none."""
        if violated:
            return cls.VIOLATED
        if reason.startswith("depth"):
            return cls.HOLDS_TO_DEPTH
        return cls.UNKNOWN if reason else cls.HOLDS


@attrs.frozen
class Budget:
    """When to stop early.

    Attributes:
        max_depth: how many actions deep to go; None is all the way.
        max_states: how many states to store; None is as many as there are.
        memory: bytes that the states and the visited set may take together with what the process takes before; None is
            four fifths of the machine's, or of this search's share of it.
        sharers: how many searches share the machine.
    """

    max_depth: int | None = None
    max_states: int | None = None
    memory: int | None = None
    sharers: int = 1


class Auditing(Enum):
    """How much of what was found to judge twice. `QUICK`: 64 states, and all learned paths in those where they were
    learned; of more than 512 as many as take a tenth of the search's time, and at most half a second. `FULL`: every
    state.
    """

    NONE = "none"
    QUICK = "quick"
    FULL = "full"


@attrs.frozen
class Audit:
    """What was judged twice: by the search, and by `highwater.explorer.second_judge`.

    Attributes:
        states: how many stored states, with all of their steps and properties.
        paths: how many learned paths of actions and properties, in the states in which these were learned.
        walked: how many of the learned paths were walked.
        seconds: how long that took.
    """

    states: int
    paths: int
    walked: int
    seconds: float

    @property
    def share(self) -> float:
        """The share of the walked paths that was judged twice."""
        return self.paths / self.walked if self.walked else 1.0


@attrs.frozen(kw_only=True)
class Found:
    """The states of a search that says "holds".

    Attributes:
        states: the stored states, level by level.
        levels: how many are stored of each depth.
        permutations: the exchanges of names under which they stand for others, the identity first.
    """

    states: Iterable[Any]
    levels: tuple[int, ...]
    permutations: Sequence[Mapping[str, Mapping[int, int]]]


@attrs.frozen
class Step:
    """One step of a trace: the action instance, and the state after it. The first step of a trace has no action."""

    action: Instance | None
    state: Any

    def __repr__(self) -> str:
        return f"<Step {self.action or 'to an initial state'}>"

    @property
    def taken(self) -> Instance:
        """The action of a step that is not the first."""
        assert self.action is not None
        return self.action


@attrs.frozen
class Violation:
    """A property that is false in the last state of a shortest trace, or of its last step, or of a lasso.

    Attributes:
        property: the property's name; `no_deadlock` where the last state has no successor and no bound is to blame.
        arguments: the property's parameters, as shown.
        witness: why it is false, in words; empty where the property does not say.
        facts: what the witness speaks of.
        trace: the steps from an initial state; its length counts actions, so a trace of n actions has n + 1 steps.
        back_to: of a lasso, the step after which the state is the last one again: what follows it repeats for ever. It
            is the last step itself where nothing happens any more. None for any other trace.
    """

    property: str
    arguments: dict[str, str]
    witness: str
    facts: dict[str, Any]
    trace: tuple[Step, ...]
    back_to: int | None = None

    def __repr__(self) -> str:
        return f"<Violation of {self.property or 'nothing'} after {self.length_in_words}>"

    @builtins.property
    def trace_length(self) -> int:
        return len(self.trace) - 1

    @builtins.property
    def length_in_words(self) -> str:
        """How long the trace is; of a lasso, how far it is to the cycle, and how long that is."""
        if self.back_to is None:
            return in_steps(self.trace_length)
        cycle = self.trace_length - self.back_to
        return f"{in_steps(self.back_to)}, then {f'a cycle of {cycle}' if cycle else 'nothing'} for ever"


def by_hand(trace: Sequence[Step]) -> Violation:
    """A trace that violates nothing: its property has no name."""
    return Violation("", {}, "", {}, tuple(trace))


def in_steps(count: int) -> str:
    """A number of steps."""
    return f"{count} step{'' if count == 1 else 's'}"


@attrs.frozen
class Unreached:
    """A statement that ran on no reached state; of a block that never ran, the first one.

    Attributes:
        of: the action or property during which it should have run.
        file, line, text: where it stands, and how it begins.
    """

    of: str
    file: str
    line: int
    text: str


@attrs.frozen
class Called:
    """A function of the model that was called.

    Attributes:
        of: the action or property that called it first; actions come before properties.
        name, file, first_line: where it stands, its decorators included.
        lines: for each line of its body, how many paths ran it, 0 for one that none did.
        spared: lines that leave nothing untested if they never run: in what only properties call, those after which it
            only exempts, or refuses unless it exempts.
    """

    of: str
    name: str
    file: str
    first_line: int
    lines: dict[int, int]
    spared: frozenset[int]


def lines_by_file(functions: Iterable[Called]) -> dict[str, dict[int, int]]:
    """By file, for each line of some functions, how many paths ran it."""
    found: dict[str, dict[int, int]] = {}
    for function in functions:
        lines = found.setdefault(function.file, {})
        for line, paths in function.lines.items():
            lines[line] = lines.get(line, 0) + paths
    return found


@attrs.frozen
class Outcome:
    """All that an exploration found out.

    Attributes:
        verdict: the verdict.
        reason: what ended the search before every state was seen, other than a violation; otherwise empty.
        violations: the first violation found of each violated property, shallowest first.
        levels: the number of distinct states at each depth.
        generated: how many successors were computed, duplicates and self-loops included.
        enabled: how many successors each action gave, by name; 0 for one that was never enabled.
        bounds_cut: how many steps each bound disabled, by the bound's key. A step that two bounds cut counts for both.
        cut_alone: of those, the steps that no other bound cut.
        deadlocks: states without successors where no bound is to blame.
        stopped_at_bound: states whose every step is cut by a bound.
        stored_states: how many states were kept to stand for them all; fewer than distinct where names are
            interchangeable.
        compiled_paths: how many paths of functions were run in Python; 0 for the plain-Python engine.
        seconds: wall-clock time of the exploration.
        compile_seconds: how much of that went into compiling machine code, which is kept for later runs.
        memory: bytes of states and visited set; 0 for the plain-Python engine.
        bits: the size of a packed state; 0 for the plain-Python engine.
        held_back: by liveness property, how many states wait for it where only bounds cut the steps that it relies on;
            by prospect, from how many states it is possible only because a bound cuts a step, which might lead there.
            What lies behind such a step is not judged.
        vacuous: where every state was seen and all is well, the properties that hold for nothing, each with why: the
            premise of a leads-to is never true, or a prospect is true in no state.
        by_order: the groups of numbers, such as epochs, of which only the order mattered: states are counted up to it.
        any_number_of: of these, where every state was seen, those whose bounds cut no step: what was found holds for
            any number of them, within the other bounds.
        unreached: where every state was seen and all is well, the statements of properties that ran on none of them;
            with `coverage` also those of actions. Nothing for the plain-Python engine, and for a search that went on
            from a snapshot.
        functions: with `coverage`, those that were called, on every state that was seen up to a violation or whatever
            else ended the search. Nothing for a search that went on from a snapshot and found no violation.
        restored: how many of the distinct states a search that went on from a snapshot had found before.
        warnings: what else there is to say, such as that the disk was full.
        audit: what was judged twice; None if nothing was.
        work: on Spark, where and how each level was made that this run made, in their order.
        settings_read: the toggles and bounds on which what was found depends, besides which states and instances there
            are, such as protocol.acks, or protocol where it may be any of them; None if that is not known.
    """

    verdict: Verdict
    reason: str
    violations: tuple[Violation, ...]
    levels: tuple[int, ...]
    generated: int
    enabled: dict[str, int]
    bounds_cut: dict[str, int]
    deadlocks: int
    stopped_at_bound: int
    stored_states: int = 0
    compiled_paths: int = 0
    seconds: float = 0.0
    memory: int = 0
    bits: int = 0
    unreached: tuple[Unreached, ...] = ()
    restored: int = 0
    warnings: tuple[str, ...] = ()
    held_back: dict[str, int] = attrs.field(factory=dict)
    vacuous: dict[str, str] = attrs.field(factory=dict)
    by_order: tuple[str, ...] = ()
    any_number_of: tuple[str, ...] = ()
    cut_alone: dict[str, int] = attrs.field(factory=dict)
    compile_seconds: float = 0.0
    functions: tuple[Called, ...] = ()
    audit: Audit | None = None
    work: tuple[LevelWork, ...] = ()
    settings_read: frozenset[str] | None = None

    def __repr__(self) -> str:
        return f"<Outcome {self.verdict.value}: {self.distinct_states:,} states, depth {self.depth}>"

    @property
    def lines(self) -> dict[str, dict[int, int]]:
        """With `coverage`, by file: for each line of each function that was called, how many paths ran it."""
        return lines_by_file(self.functions)

    @property
    def search_seconds(self) -> float:
        """The time of the search alone, without compiling."""
        return max(0.0, self.seconds - self.compile_seconds)

    @property
    def distinct_states(self) -> int:
        return sum(self.levels)

    @property
    def depth(self) -> int:
        """The depth of the deepest state, in actions."""
        return len(self.levels) - 1


@attrs.frozen(kw_only=True)
class LevelWork:
    """Where a level was made, and what that took.

    Attributes:
        level: its depth.
        expanded: the rows of the level before.
        rows: its own; 0 where the search found no more.
        seconds: until it was whole, on the wall's clock.
        tasks: how many made it; 0 if the driver did by itself.
        executors: on how many executors these ran.
        shuffled, spilled: bytes that Spark moved between tasks, and wrote to disks for want of memory; None where Spark
            does not know any more.
        skew: the rows of the largest partition, as a multiple of the mean of all; 0 where there are no rows.
    """

    level: int
    expanded: int
    rows: int
    seconds: float
    tasks: int = 0
    executors: int = 0
    shuffled: int | None = 0
    spilled: int | None = 0
    skew: float = 1.0


@attrs.frozen
class Progress:
    """How far a running exploration is: the depth and the rows of the level being expanded, and the totals so far.

    Stored states are counted as they are, successors as without symmetry. `more` is what else the engine has to say,
    and `restored` how many of the stored states a run before this one has found.
    """

    depth: int
    frontier: int
    stored_states: int
    generated: int
    compiled_paths: int
    seconds: float
    memory: int
    level_ended: bool
    more: str = ""
    restored: int = 0


@attrs.frozen(kw_only=True)
class SearchOptions:
    """How to search.

    Attributes:
        keep_going: go on after the first level with a violation, until every state is seen.
        on_progress: called after each level and now and then in between; a KeyboardInterrupt, from it or from the
            keyboard, ends the search with what was learned so far and verdict UNKNOWN.
        symmetry: keep one state for all that differ by interchangeable names only, where the system declares any and no
            prospect is about one of them.
        checkpoint: a folder for snapshots at the ends of levels, the last one when the search ends early; see
            `highwater.explorer.search.keeping.checkpoint`. On Spark, the folder for levels, a path or URI that driver
            and executors all reach; a temporary one if None.
        resume: go on from the last snapshot, or whole level, in that folder.
        keep_trees: begin with what an earlier search of the same has learned, here or on Spark, and keep what this one
            does on all machines; see `highwater.explorer.search.keeping.kept_trees`.
        audit: how much of what was found to judge a second time if nothing is violated, see
            `highwater.explorer.search.audit`; nothing if None.
        workers: threads to explore with; as many as there are processors if None. Spark has workers of its own.
        coverage: find the statements of actions, too, that ran on no reached state, and which functions were called.
            What earlier searches have learned is not used then.
    """

    keep_going: bool = False
    on_progress: Callable[[Progress], None] = lambda progress: None
    symmetry: bool = True
    checkpoint: Path | str | None = None
    resume: bool = False
    keep_trees: bool = False
    audit: Auditing | None = None
    workers: int | None = None
    coverage: bool = False


@attrs.frozen(kw_only=True)
class Walking:
    """Which walks to make.

    Attributes:
        walks: how many; None where only the time is limited.
        depth: how many steps each takes at most.
        seed: what the random numbers follow from, 0 or larger.
        seconds: when to stop; the walks begun are finished.
        weights: by action, how likely its steps are compared to others; 1 for those that are left out, and 0 for never.
    """

    walks: int | None
    depth: int
    seed: int
    seconds: float | None = None
    weights: Mapping[str, float] = attrs.Factory(dict)
