"""A second judge for what a search has found: plain Python, on some of the states that are stored.

It knows nothing of trees, packed states and machine code, and imports none of that. What a search has to answer is in
`Books`: which state a row holds, which row stands for a state, and what comes of a row when it is expanded again. All
else is made here, from the functions of the model: the successors, which bounds cut them, whether properties hold, and
what an exchange of names does to a state.

A row that is said to stand for a state is read again, and must hold an image of it. So neither an encoding that loses
something nor a canonical form that merges two orbits can hide behind the search's own look-up.
"""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

import attrs

from highwater.explorer.blame import RAISED, JudgedOtherwise, ModelError, said_by
from highwater.explorer.system import Cut, System, judge
from highwater.explorer.values import MOST_REMEMBERED, Bounds, Permutation, Renaming, exceeded
from highwater.explorer.verdict import DEADLOCK
from highwater.model.language.declarations import Instance, Transition, Witness

UNKNOWN = -1
"""In place of a row: no row stands for the state."""


@attrs.define
class Tally:
    """What comes of the steps of one row. A row counts for all the states that it stands for.

    Attributes:
        states: how many that are.
        enabled: by the number of the action instance, how many steps happen; those with none are left out.
        cut: how many steps each set of bounds cuts.
        at_rest, at_bound: how many states have no successor: without a bound to blame, and with one.
        leads_to: the other rows that stand for successors; `UNKNOWN` among them if one has none.
        breaks: whether a step violates a step property.
    """

    states: int
    enabled: Counter[int]
    cut: Counter[Bounds]
    at_rest: int
    at_bound: int
    leads_to: frozenset[int]
    breaks: bool


class Books(Protocol):
    """What a search answers for."""

    def state(self, row: int) -> Any:
        """The state that a row holds, up to the order of numbers where only that matters."""

    def row_of(self, state: Any, beside: int | None = None) -> int:
        """The row that stands for such a state, or `UNKNOWN`; `beside` is the row of a state before it."""

    def depth_of(self, row: int) -> int:
        """The depth at which a row was found."""

    def again(self, row: int) -> Tally:
        """What comes of a row when it is expanded once more."""

    def path(self, number: int, row: int) -> str:
        """The path that an action instance takes there, in words: what it tests, and what it finds."""

    def says(self, number: int, row: int) -> Any:
        """What that path leads to: None, a `Cut`, or the state after the step."""


class SecondJudge:
    """What judges rows once more, and adds up what they come to.

    Attributes:
        states: the rows that were judged in full.
        levels: by depth, how many states they stand for.
        sums: what came of those that were expanded; without `leads_to`.
        reached: the rows that a step from the level before leads to, or that hold initial states.
    """

    def __init__(
        self,
        system: System,
        books: Books,
        *,
        permutations: Sequence[Permutation],
        rows: int,
        expanded: int,
        no_deadlock: bool,
        seed: int = 0,
    ) -> None:
        """
        Args:
            permutations: the exchanges of names under which states are one, the identity first.
            rows, expanded: how many rows there are, and how many were expanded: the first ones.
            no_deadlock: whether a state at rest is a violation.
        """
        self._system, self._books = system, books
        self._others = [Renaming(system.class_domain, each) for each in permutations[1:]]
        self._expanded, self._no_deadlock = expanded, no_deadlock
        self._random = random.Random(seed)
        self._rows_of: dict[Any, int] = {}
        self.states: set[int] = set()
        self.levels: Counter[int] = Counter()
        self.sums = Tally(0, Counter(), Counter(), 0, 0, frozenset(), False)
        self.reached = bytearray(rows)

    def judge_initial(self) -> None:
        """Every initial state must be among the states found, at depth 0."""
        for state in map(self._system.class_of, self._system.initial):
            row = self._row_of(state, functools.partial(self._contest, state, "an initial state", "found", "not found"))
            if depth := self._books.depth_of(row):
                self._contest(state, "an initial state", "it is at depth 0", f"it is at depth {depth}")
            self.reached[row] = 1

    def judge(self, row: int) -> None:
        """Judge one row: it is where its state is looked for, its properties hold, and its steps are those that were
        counted, to states that were found.
        """
        if row in self.states:
            return
        state = self._books.state(row)
        if cut := self._system.class_domain.exceeded(state):
            self._contest(state, "the visited set", f"it is outside of {', '.join(sorted(cut))}", "found there")
        images = [rename(state) for rename in self._others]
        self._hold_place(row, state, [state, *images])
        for number in range(len(self._system.invariants)):
            self._hold_invariant(number, state)
        orbit = (len(self._others) + 1) // (1 + images.count(state))
        depth = self._books.depth_of(row)
        if row < self._expanded:
            self._judge_steps(row, state, orbit, depth)
        self.levels[depth] += orbit
        self.states.add(row)

    def judge_step(self, row: int, number: int) -> None:
        """Judge what the path of one action instance leads to, in one row that was expanded."""
        state = self._books.state(row)
        after, of = self._after(number, state)
        if self._books.says(number, row) != of:
            self._contest_step(row, state, number, of)
        if of is not None and not isinstance(of, Cut):
            self._target(row, state, number, of)
            self._hold_step(number, state, after)

    def judge_invariant(self, row: int, number: int) -> None:
        """Judge one invariant instance in one row."""
        self._hold_invariant(number, self._books.state(row))

    def contest_lonely(self, row: int) -> NoReturn:
        """Contest a row to which no step leads."""
        depth = self._books.depth_of(row)
        self._contest(self._books.state(row), "the visited set", f"no step leads there at depth {depth}", "found there")

    # Steps

    def _judge_steps(self, row: int, state: Any, orbit: int, depth: int) -> None:
        found, results = self._books.again(row), []
        enabled: Counter[int] = Counter()
        cut: Counter[Bounds] = Counter()
        leads_to = set()
        for number in range(len(self._system.actions)):
            after, of = self._after(number, state)
            results.append(of)
            if isinstance(of, Cut):
                cut[of.bounds] += orbit
            elif of is not None:
                enabled[number] += orbit
                target = self._target(row, state, number, of)
                leads_to.add(target)
                if self._books.depth_of(target) == depth + 1:
                    self.reached[target] = 1
                self._hold_step(number, state, after)
        mine = Tally(
            states=orbit,
            enabled=enabled,
            cut=cut,
            at_rest=orbit * (not enabled and not cut),
            at_bound=orbit * (not enabled and bool(cut)),
            leads_to=frozenset(leads_to - {row}),
            breaks=False,
        )
        if mine.at_rest and self._no_deadlock:
            self._contest(state, DEADLOCK, "no step is enabled", "no state is at rest")
        if mine != found:
            self._contest_tally(row, state, results, mine, found)
        self._add(mine)

    def _add(self, mine: Tally) -> None:
        """Add what came of one row to what came of others."""
        sums = self.sums
        sums.enabled.update(mine.enabled)
        sums.cut.update(mine.cut)
        sums.states += mine.states
        sums.at_rest += mine.at_rest
        sums.at_bound += mine.at_bound

    def _after(self, number: int, state: Any) -> tuple[Any, Any]:
        """The state after a step, as the function returned it, and as it would be stored; twice None, or twice a
        `Cut`.
        """
        system, action = self._system, self._system.actions[number]
        try:
            after = action.apply(state)
            cut = frozenset() if after is None else exceeded(system.class_domain, state, after)
        except RAISED as error:
            self._contest(state, str(action), f"raised {said_by(error)}", "it raised nothing")
        if cut:
            return Cut(cut), Cut(cut)
        return after, None if after is None else system.class_of(after)

    def _target(self, row: int, state: Any, number: int, of: Any) -> int:
        """The row that stands for a successor."""

        def wrong(mine: str, its: str) -> NoReturn:
            if self._differs(number, row, of):
                self._contest_step(row, state, number, of)
            self._contest(state, str(self._system.actions[number]), mine, its, self._books.path(number, row))

        def missing() -> NoReturn:
            wrong(self._outcome(of), "that state was never found")

        target, next_depth = self._row_of(of, missing, row), self._books.depth_of(row) + 1
        if (depth := self._books.depth_of(target)) > next_depth:
            wrong(f"it leads to depth {next_depth}", f"the state was found at depth {depth}")
        return target

    # Where states are

    def _hold_place(self, row: int, state: Any, images: Sequence[Any]) -> None:
        """The row of an image of a state, which may be the state itself, must be the one that holds it."""
        image = self._random.choice(images)
        if (found := self._books.row_of(image)) != row:
            says = "does not find it" if found == UNKNOWN else f"takes it for {self._shown_row(found)}"
            self._contest(image, "the visited set", f"it is stored, as {self._shown(state)}", says)

    def _row_of(self, of: Any, missing: Callable[[], NoReturn], beside: int | None = None) -> int:
        """The row that stands for a state, once it was seen to do so."""
        row = self._rows_of.get(of)
        if row is None:
            row = self._books.row_of(of, beside)
            if row == UNKNOWN:
                missing()
            stored = self._books.state(row)
            if stored != of and not any(rename(of) == stored for rename in self._others):
                self._contest(of, "the visited set", "no image of the other", f"takes it for {self._shown(stored)}")
            if len(self._rows_of) >= MOST_REMEMBERED:
                self._rows_of.clear()
            self._rows_of[of] = row
        return row

    # Properties

    def _hold_invariant(self, number: int, state: Any) -> None:
        self._hold_property(self._system.invariants[number], state, state)

    def _hold_step(self, number: int, state: Any, after: Any) -> None:
        for each in self._system.step_properties:
            self._hold_property(each, Transition(state, after), state, f" in the step {self._system.actions[number]}")

    def _hold_property(self, each: Instance, of: Any, state: Any, where: str = "") -> None:
        try:
            holds = judge(each, of, self._system.transitions if isinstance(of, Transition) else self._system.domain)
        except ModelError as error:
            self._contest(state, f"{each}{where}", str(error), "it holds")
        if not holds:
            why = f": {holds}" if isinstance(holds, Witness) else ""
            self._contest(state, f"{each}{where}", f"it is violated{why}", "it holds")

    # Messages

    def _contest_tally(self, row: int, state: Any, results: Sequence[Any], mine: Tally, found: Tally) -> NoReturn:
        """Name the first action whose path leads elsewhere; or what was counted, if none does."""
        for number, of in enumerate(results):
            if self._differs(number, row, of):
                self._contest_step(row, state, number, of)
        for number, action in enumerate(self._system.actions):
            if mine.enabled.get(number, 0) != found.enabled.get(number, 0):
                ours, theirs = (f"{each.enabled.get(number, 0):,} steps" for each in (mine, found))
                self._contest(state, str(action), ours, theirs, self._books.path(number, row))
        for what in ("states", "cut", "at_rest", "at_bound", "breaks"):
            if getattr(mine, what) != getattr(found, what):
                self._contest(state, _COUNTED[what], *(_counted(getattr(each, what)) for each in (mine, found)))
        ways = [
            f"leads to {', '.join(map(self._shown_row, sorted(rows))) or 'no other state'}"
            for rows in (mine.leads_to - found.leads_to, found.leads_to - mine.leads_to)
        ]
        self._contest(state, "the machine code of the search", *ways)

    def _contest_step(self, row: int, state: Any, number: int, of: Any) -> NoReturn:
        says = self._books.says(number, row)
        if says == of:
            says = "its path says the same, and the machine code that walks it does not"
        else:
            says = self._outcome(says)
        action = str(self._system.actions[number])
        self._contest(state, action, self._outcome(of), says, self._books.path(number, row))

    def _differs(self, number: int, row: int, of: Any) -> bool:
        return bool(self._books.says(number, row) != of)

    def _outcome(self, of: Any) -> str:
        if of is None:
            return "it is not enabled"
        if isinstance(of, Cut):
            return f"it is cut by {', '.join(sorted(of.bounds))}"
        return f"it leads to {self._shown(of)}"

    def _shown(self, state: Any) -> str:
        return str(self._system.class_domain.show(state))

    def _shown_row(self, row: int) -> str:
        return "a state that was never found" if row == UNKNOWN else self._shown(self._books.state(row))

    def _contest(self, state: Any, function: str, mine: str, its: str, path: str = "") -> NoReturn:
        raise JudgedOtherwise(self._shown(state), function, path, mine, its)


_COUNTED = {
    "states": "the size of an orbit",
    "cut": "steps that bounds cut",
    "at_rest": "states at rest",
    "at_bound": "states that only a bound stops",
    "breaks": "violated step properties",
}


def _counted(value: Any) -> str:
    if isinstance(value, Counter):
        each = sorted((", ".join(sorted(bounds)), count) for bounds, count in value.items())
        return "; ".join(f"{count:,} by {bounds}" for bounds, count in each) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
