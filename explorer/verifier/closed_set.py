"""The verifier of a verdict that says "holds": a set of states, judged by plain Python and by nothing else.

It holds that

- every initial state is in the set, at depth 0;
- every step from a state in the set leads into the set, at most one level deeper; and to every state in the set leads a
  step from one level above, so that there is no state too many, and no image of one;
- every invariant is true in every state, every step property on every step; prospects and liveness by their ranks, see
  `highwater.explorer.verifier.rankings`;
- states, steps of each action, cut steps, states at rest: what the certificate counts is what there is.

A set that was found with symmetry holds one state of each *orbit*: all others are images of it under an exchange of
names. A state is in the set, then, if an image of it is stored. Each image is judged as a state of its own, so that no
symmetry of the model is believed. If symmetry is trusted, one state of each orbit is judged for all.

Rows are numbers of stored states. `ClosedSet.judge` may be called for some rows here and for others elsewhere: what it
finds is added up, and `conclude` holds the sums against the certificate.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, NoReturn

from highwater.explorer.blame import blaming_the_model
from highwater.explorer.classes import class_after, judge_class
from highwater.explorer.system import Cut, System
from highwater.explorer.values import MOST_REMEMBERED, Permutation, Renaming
from highwater.explorer.verifier.certificate import Certificate, Codec, Unfit
from highwater.explorer.verifier.rankings import Step, Waiting, prospect_is_kept
from highwater.explorer.verifier.sums import Refused, Sums, counts_of
from highwater.model.language.declarations import Instance, Transition, Witness


class ClosedSet:
    """The states of a certificate, to be judged.

    Attributes:
        rows: how many states are stored.
    """

    def __init__(
        self, certificate: Certificate, system: System, *, no_deadlock: bool, trust_symmetry: bool = False
    ) -> None:
        """
        Args:
            no_deadlock: whether a state at rest is a violation.
            trust_symmetry: judge one state of each orbit only.

        Raises:
            Unfit: the certificate is not of this system.
            Refused: it cannot be right, whatever its states are.
        """
        self._certificate, self._system, self._codec = certificate, system, Codec(system.class_domain)
        self._no_deadlock, self._trusts = no_deadlock, trust_symmetry
        self.rows = len(certificate.states)
        self._row_of = {data: row for row, data in enumerate(certificate.states)}
        self._ends = list(accumulate(certificate.levels))
        self._found: dict[bytes, tuple[int, int]] = {}
        self._bits = (
            1 if trust_symmetry else len(certificate.permutations)
        )  # of a row: which of its images were reached
        self._renamings = [Renaming(system.class_domain, each) for each in certificate.permutations[1:]]
        self._hold_shape()
        self._prospects = [(each, certificate.prospects[str(each)]) for each in system.prospects]
        self._waiting = [(each, Waiting(system, each, certificate.liveness[str(each)])) for each in system.liveness]
        last = self._ends[-2] if len(self._ends) > 1 else 0
        self._expanded = last if certificate.verdict == "holds-to-depth" else self.rows
        self._initial = {self._codec.bytes_of(state) for state in map(system.class_of, system.initial)}

    def _hold_shape(self) -> None:
        of, system = self._certificate, self._system
        if self._ends[-1:] != [self.rows] or min(of.levels, default=0) < 1:
            raise Refused("the numbers of states by depth are not those of the states that are stored")
        if len(self._row_of) < self.rows:
            raise Refused("a state is stored twice")
        if not is_group(of.permutations, system.interchangeable):
            raise Refused("the exchanges of names are no group of exchanges of interchangeable names")
        missing = [str(each) for each in system.prospects if str(each) not in of.prospects]
        missing += [str(each) for each in system.liveness if str(each) not in of.liveness]
        if missing:
            raise Unfit(f"the certificate has no ranks of {missing[0]}")
        if {*map(len, of.prospects.values()), *map(len, of.liveness.values())} - {self.rows}:
            raise Refused("there is not one rank for each state")
        if system.liveness and self._renamings:
            raise Refused("liveness is judged of every state, and the certificate has one of each orbit")
        if self._trusts and any(each.arguments for each in system.prospects) and self._renamings:
            raise Unfit("a prospect has parameters: symmetry cannot be trusted; verify every state")

    # Rows

    def judge_initial(self) -> Sums:
        """Every initial state is in the set, at depth 0."""
        sums = Sums()
        for state in map(self._system.class_of, self._system.initial):
            row, image = self._place(state) or (None, 0)
            if row is None or self._depth(row):
                self._refuse(state, "an initial state is not in the set, or not at depth 0")
            sums.reached |= 1 << row * self._bits + image
        return sums

    @blaming_the_model()
    def judge(self, rows: Iterable[int]) -> Sums:
        """Judge some rows, and every state that each of them stands for.

        Raises:
            Refused: what the certificate says is not so.
            ModelError: a function of the model raised.
        """
        sums, reached = Sums(), bytearray(self.rows * self._bits // 8 + 1)
        for row in rows:
            for state, weight in self._states(row):
                sums.levels[self._depth(row)] += weight
                self._hold_invariants(state)
                if row < self._expanded:
                    self._judge_steps(row, state, weight, sums, reached)
        sums.reached = int.from_bytes(reached, "little")
        return sums

    def _states(self, row: int) -> Iterator[tuple[Any, int]]:
        """The states to judge of those that a row stands for, with how many of them each counts for."""
        data = self._certificate.states[row]
        try:
            state = self._codec.state(data)
        except ValueError as error:
            raise Refused(f"state {row:,} of the certificate: {error}") from None
        if self._system.class_of(state) != state:
            self._refuse(state, "the numbers are not in ranks")
        orbit = {data: state}
        for rename in self._renamings:
            image = rename(state)
            orbit.setdefault(self._codec.bytes_of(image), image)
        if any(other != data and other in self._row_of for other in orbit):
            self._refuse(state, "an image of it is stored, too")
        if self._trusts:
            yield state, len(orbit)
        else:
            yield from ((image, 1) for image in orbit.values())

    def _depth(self, row: int) -> int:
        return bisect_right(self._ends, row)

    def _place(self, state: Any) -> tuple[int, int] | None:
        """The row that holds an image of a state, and which image the state is of that, if it matters; None if there is
        no such row.
        """
        data = self._codec.bytes_of(state)
        if (row := self._row_of.get(data)) is not None:
            return row, 0
        place = self._found.get(data)
        if place is None:
            images = (self._row_of.get(self._codec.bytes_of(rename(state))) for rename in self._renamings)
            place = next(((row, each) for each, row in enumerate(images, 1) if row is not None), None)
            if place is not None:
                if len(self._found) >= MOST_REMEMBERED:
                    self._found.clear()
                place = self._found[data] = place[0], place[1] % self._bits
        return place

    # Steps

    def _judge_steps(self, row: int, state: Any, weight: int, sums: Sums, reached: bytearray) -> None:
        depth, steps, happens, cuts = self._depth(row), [], False, False
        for action in self._system.actions:
            after, of = class_after(self._system, action, state)
            if of is None:
                continue
            if isinstance(of, Cut):
                cuts, sums.cut[of.bounds] = True, sums.cut[of.bounds] + weight
                steps.append(Step(action, of))
                continue
            happens, sums.enabled[action.of.name] = True, sums.enabled[action.of.name] + weight
            for each in self._system.step_properties:
                self._hold(each, Transition(state, after), state, f" in the step {action}")
            if (place := self._place(of)) is None:
                self._refuse(state, f"{action} leads out of the set, to {self._shown(of)}")
            to = place[0]
            if self._depth(to) > depth + 1:
                self._refuse(state, f"{action} leads to depth {depth + 1}, where the state is said to be deeper")
            if self._depth(to) == depth + 1:
                bit = to * self._bits + place[1]
                reached[bit >> 3] |= 1 << (bit & 7)
            if after != state:  # or only the numbers of its class are others
                steps.append(Step(action, of, to))
        if not happens:
            sums.at_rest += weight * (not cuts)
            sums.at_bound += weight * cuts
            if self._no_deadlock and not cuts:
                self._refuse(state, "no_deadlock is violated: no step is enabled, and no bound is to blame")
        self._judge_ranks(row, state, steps, weight, sums)

    def _judge_ranks(self, row: int, state: Any, steps: list[Step], weight: int, sums: Sums) -> None:
        for each, ranks in self._prospects:
            if not prospect_is_kept(self._system, each, ranks, row, state, steps):
                self._refuse(state, f"{each}: no step leads nearer to the goal, which is said to be {ranks[row]} away")
            sums.held_back[each.of.name] += weight * (ranks[row] < 0)
        for promise, waiting in self._waiting:
            for why in waiting.wrong(row, state, steps, initial=self._codec.bytes_of(state) in self._initial):
                self._refuse(state, f"{promise}: {why}")
            sums.held_back[promise.of.name] += waiting.is_held_back(row, steps)

    # Properties

    def _hold_invariants(self, state: Any) -> None:
        for each in self._system.invariants:
            self._hold(each, state, state)

    def _hold(self, each: Instance, of: Any, state: Any, where: str = "") -> None:
        if not (holds := judge_class(self._system, each, of)):
            self._refuse(state, f"{each}{where} is violated{f': {holds}' if isinstance(holds, Witness) else ''}")

    # The end

    def conclude(self, sums: Sums) -> None:
        """Hold what all rows come to against what the certificate counts.

        Raises:
            Refused: it is not the same.
        """
        wanted = self.rows if self._trusts else sum(sums.levels.values())
        if sums.reached.bit_count() != wanted:
            self._refuse_unreached(sums.reached)
        mine, counts = counts_of(sums), self._certificate.counts
        for key in sorted({*mine, *counts}):
            theirs = counts.get(key)
            if isinstance(theirs, dict):
                theirs = {name: count for name, count in theirs.items() if count}
            if mine.get(key) != theirs:
                raise Refused(f"{key} is {mine.get(key)}, and not {theirs}")

    def _refuse_unreached(self, reached: int) -> NoReturn:
        bits = f"{reached:0{self.rows * self._bits}b}"[::-1]
        for row, data in enumerate(self._certificate.states):
            if "1" not in bits[row * self._bits : (row + 1) * self._bits]:
                state = self._codec.state(data)
                self._refuse(state, f"it is said to be at depth {self._depth(row)}, and no step leads there")
        raise Refused("to some image of a stored state no step leads: the model does not treat the names alike")

    def _shown(self, state: Any) -> str:
        return str(self._system.class_domain.show(state))

    def _refuse(self, state: Any, why: str) -> NoReturn:
        raise Refused(f"{why}; in the state {self._shown(state)}")


def is_group(permutations: list[Permutation], interchangeable: Any) -> bool:
    """Whether some exchanges of names are a group, the identity first: with any two also one after the other."""
    names = {of: list(members) for of, members in interchangeable.items()}
    images = [
        tuple(tuple(each.get(of, {}).get(name, name) for name in names[of]) for of in names) for each in permutations
    ]
    known = {of for each in permutations for of in each} <= set(names)
    identity = tuple(tuple(members) for members in names.values())
    if not known or not images or images[0] != identity or any(map(_moves_others(names), permutations)):
        return False
    place = {of: {name: at for at, name in enumerate(members)} for of, members in names.items()}

    def after(first: Any, then: Any) -> Any:
        return tuple(tuple(then[n][place[of][name]] for name in first[n]) for n, of in enumerate(names))

    if any(
        sorted(moved) != sorted(members) for each in images for moved, members in zip(each, names.values(), strict=True)
    ):
        return False
    return len(set(images)) == len(images) and {after(a, b) for a in images for b in images} <= set(images)


def _moves_others(names: dict[str, list[int]]) -> Any:
    """Whether an exchange moves what is not interchangeable."""
    return lambda each: any(
        of not in names or not {*goes_to, *goes_to.values()} <= set(names[of]) for of, goes_to in each.items()
    )
