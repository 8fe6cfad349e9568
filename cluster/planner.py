"""The search for a schedule: breadth-first over deeds, each followed by all that running brokers then do."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from highwater.cluster.schedule import DECIDED, EAGER, Deed, Kind, Schedule, concerned, may_act, missing
from highwater.explorer.system import Cut, System, judge_end, successor
from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Instance
from highwater.model.partition.state import Partition

# steps that nobody can bring about. A trace may have them; another run of the model may do without
UNFORCED = {
    "receive_fetch": "a running follower handles a response before it learns of an election; nobody can hold it back",
    "lose_fetch": "a connection on this machine loses nothing",
    "lose_isr_answer": "a connection on this machine loses nothing",
    "ask_deposed_controller": "there is one controller",
    "checkpoint_high_watermark": "a broker does that in its own time",
    "produce_batch": "a producer of Kafka's own clients makes its batches itself",
    "refuse_record": "a producer of Kafka's own clients sends a refused record again by itself",
    "give_up": "no producer times out here",
    "consume": "a consumer reads at the end",
    "ask_end_offset": "a consumer reads at the end",
    "ask_for_metadata": "a producer of Kafka's own clients does that by itself",
    "answer_deletion": "nothing is deleted here",
    "delete_old_records": "nothing is deleted here",
    "begin_removal": "no reassignment that may have to wait is asked for here",
    "complete_removal": "no reassignment that may have to wait is asked for here",
    "outlast_lag_time": "time passes by itself",
}
MOST_NODES = 20_000  # some minutes, and some hundred MiB
MOST_EAGER = 300


class NoSchedule(Exception):
    """No run with eager brokers is known that violates the property. The message says what stands in the way."""


@attrs.frozen
class _Node:
    state: Partition
    paused: frozenset[int]
    done: frozenset[int]
    deeds: tuple[Deed, ...]


class Planner:
    """Plans for one trace.

    Args:
        system: the model within the trace's bounds or larger ones, with the violated property among its invariants.
        trace: the counterexample's steps.
        property_name: what it violates.
    """

    def __init__(self, system: System, trace: Sequence[Step], property_name: str) -> None:
        self._system = system
        self._eager = [each for name in EAGER for each in system.actions if each.of.name == name]
        self._shrinks = [each for each in system.actions if each.of.name == "propose_shrink"]
        self._produces = [each for each in system.actions if each.of.name == "produce"]
        self._moves = [each for each in system.actions if each.of.name == "move_leadership"]
        self._watched = [each for each in system.safety if each.of.name == property_name]
        known = {(each.of.name, tuple(each.shown.items())): each for each in system.actions}
        steps = [step.action for step in trace if step.action is not None]
        self._decided: list[Instance] = []
        self._ends: dict[Any, tuple[Partition, tuple[Step, ...]] | None] = {}
        self._unforced: list[tuple[int, Instance]] = []
        for number, action in enumerate(steps, 1):
            if action.of.name in DECIDED:
                self._decided.append(known[action.of.name, tuple(action.shown.items())])
            elif action.of.name in UNFORCED:
                self._unforced.append((number, action))
        self._numbers = [number for number, action in enumerate(steps, 1) if action.of.name in DECIDED]

    def plan(self) -> Schedule:
        """The schedule with the fewest deeds that keeps the decided steps in order; or in any order, if there is none.

        Raises:
            NoSchedule: there is none.
        """
        for in_order in (True, False):
            found = self._search(in_order=in_order)
            if isinstance(found, _Node):
                return self._with_consequences(found)
        raise NoSchedule(self._why_not(found))

    def _search(self, *, in_order: bool) -> _Node | int:
        """The first node that violates the property; or how many decided steps could be taken at most."""
        (start,) = self._system.initial
        begun = self._settled(start, frozenset())
        if begun is None:
            raise NoSchedule("a bound cuts what running brokers do at the start")
        first = Deed(Kind.BEGIN, None, None, begun[1], begun[0], frozenset())
        queue = deque([_Node(begun[0], frozenset(), frozenset(), (first,))])
        seen: set[tuple[Any, frozenset[int], frozenset[int]]] = {(begun[0], frozenset(), frozenset())}
        most = 0
        while queue and len(seen) < MOST_NODES:
            node = queue.popleft()
            most = max(most, len(node.done))
            for after in self._next(node, in_order=in_order):
                key = (after.state, after.paused, after.done)
                if key in seen:
                    continue
                seen.add(key)
                if self._violated(node.state, after.state) is not None:
                    return after
                queue.append(after)
        if queue:
            raise NoSchedule(f"none was found among the first {MOST_NODES:,} states; there are more")
        return most

    def _next(self, node: _Node, *, in_order: bool) -> Iterator[_Node]:
        for number, decided in enumerate(self._decided):
            if number in node.done:
                continue
            after = self._decide(node, decided)
            if after is not None:
                yield attrs.evolve(after, done=node.done | {number})
            if in_order:
                break
        yield from self._pauses(node)
        yield from self._lags(node)

    def _pauses(self, node: _Node) -> Iterator[_Node]:
        for broker, replica in enumerate(node.state.replicas):
            if broker in node.paused:
                yield from self._after(node, Kind.RESUME, broker, None, node.state, node.paused - {broker})
            elif replica.is_up and replica.leader not in node.paused:
                # a fetch that waits at a paused leader would be answered later
                yield from self._after(node, Kind.PAUSE, broker, None, node.state, node.paused | {broker})

    def _lags(self, node: _Node) -> Iterator[_Node]:
        """The lag time passes: a running leader takes all paused followers out of the ISR. It keeps those that have all
        of its log; so it may take another record first.
        """
        leader = node.state.quorum.leader
        if not node.paused or leader is None or leader in node.paused:
            return
        found = self._shrunk(node.state, node.paused, leader)
        produce = None
        if found is None:
            produce = next((each for each in self._produces if each.arguments["leader"] == leader), None)
            state = successor(produce, node.state, self._system.domain) if produce and self._shrinks else None
            settled = None if state is None or isinstance(state, Cut) else self._settled(state, node.paused)
            found = self._shrunk(settled[0], node.paused, leader) if settled else None
        if found is not None:
            deed = Deed(Kind.LAG, leader, produce, found[1], found[0], node.paused)
            yield _Node(found[0], node.paused, node.done, (*node.deeds, deed))

    def _shrunk(
        self, state: Partition, paused: frozenset[int], leader: int
    ) -> tuple[Partition, tuple[Step, ...]] | None:
        """The state once a leader has taken all paused followers out of the ISR; None if it takes none."""
        taken: tuple[Step, ...] = ()
        for each in self._shrinks:
            if each.arguments["leader"] != leader or each.arguments["follower"] not in paused:
                continue
            after = successor(each, state, self._system.domain)
            if isinstance(after, Cut):
                return None
            settled = self._settled(after, paused) if after is not None else None
            if settled is not None:
                state, taken = settled[0], (*taken, Step(each, after), *settled[1])
        return (state, taken) if taken else None

    def _decide(self, node: _Node, decided: Instance) -> _Node | None:
        """A decided step, if a cluster can be made to take it now."""
        broker = concerned(decided)
        match decided.of.name:
            case "produce" | "begin_controlled_shutdown":
                possible = broker not in node.paused
            case "fence":  # takes the session time: whoever is paused then is fenced
                up = node.state.replicas[broker].is_up if broker is not None else True
                possible = node.paused == ({broker} if up else set())
            case _:
                possible = True
        state = successor(decided, node.state, self._system.domain) if possible else None
        if state is None or isinstance(state, Cut):
            return None
        gone = broker is not None and not state.replicas[broker].is_up
        if decided.of.name == "begin_controlled_shutdown":
            state = self._shut_down(state, broker, node.paused)
            if state is None:
                return None
        paused = node.paused - {broker} if gone else node.paused
        return next(self._after(node, Kind.STEP, broker, decided, state, paused), None)

    def _shut_down(self, state: Partition, broker: int | None, paused: frozenset[int]) -> Partition | None:
        settled = self._settled(state, paused)
        end = next(
            (
                each
                for each in self._system.actions
                if each.of.name == "end_controlled_shutdown" and each.arguments["broker"] == broker
            ),
            None,
        )
        after = successor(end, settled[0], self._system.domain) if settled and end else None
        return None if isinstance(after, Cut) else after

    def _after(
        self,
        node: _Node,
        kind: Kind,
        broker: int | None,
        decided: Instance | None,
        state: Partition,
        paused: frozenset[int],
    ) -> Iterator[_Node]:
        settled = self._settled(state, paused)
        if settled is not None:
            deed = Deed(kind, broker, decided, settled[1], settled[0], paused)
            yield _Node(settled[0], paused, node.done, (*node.deeds, deed))

    def _settled(self, state: Partition, paused: frozenset[int]) -> tuple[Partition, tuple[Step, ...]] | None:
        """The state once all who run have done what they can, and what they did; None if a bound cuts a step."""
        key = (state, paused)
        if key not in self._ends:
            self._ends[key] = self._run_on(state, paused)
        return self._ends[key]

    def _run_on(self, state: Partition, paused: frozenset[int]) -> tuple[Partition, tuple[Step, ...]] | None:
        taken: list[Step] = []
        seen = {state}
        while len(taken) < MOST_EAGER:
            for each in self._eager:
                if not may_act(each, state, paused):
                    continue
                after = successor(each, state, self._system.domain)
                if isinstance(after, Cut):
                    return None
                if after is not None and after not in seen:
                    break
            else:
                return state, tuple(taken)
            state = after
            seen.add(state)
            taken.append(Step(each, state))
        return None

    def _violated(self, before: Any, state: Any) -> Instance | None:
        return next((each for each in self._watched if not judge_end(self._system, each, before, state)), None)

    def _with_consequences(self, end: _Node) -> Schedule:
        """The schedule, and after it the deeds by which clients notice the violation, if there are such."""
        violated = self._violated(end.deeds[-2].state, end.state)
        assert violated is not None
        shows_from = len(end.deeds)
        queue, seen = deque([end]), {(end.state, end.paused)}
        while queue and len(seen) < 2_000:
            node = queue.popleft()
            if missing(node.state, node.paused):
                return Schedule(node.deeds, violated, shows_from)
            moved = (self._decide(node, each) for each in self._moves)
            for after in (*(each for each in moved if each is not None), *self._pauses(node)):
                if (after.state, after.paused) not in seen and len(after.deeds) <= shows_from + 4:
                    seen.add((after.state, after.paused))
                    queue.append(after)
        return Schedule(end.deeds, violated, shows_from)

    def _why_not(self, most: Any) -> str:
        if self._unforced:
            number, action = self._unforced[0]
            return f"step {number}, {action}, could not be brought about: {UNFORCED[action.of.name]}"
        if most < len(self._decided):
            return (
                f"step {self._numbers[most]}, {self._decided[most]}, could not be brought about: running brokers do "
                "not stop where it becomes possible"
            )
        return "the brokers' own steps could not be brought about in this order by pausing and resuming them"
