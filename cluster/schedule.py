"""From a trace of the partition model to a schedule for a real cluster.

Some steps of a trace are decided: by clients, by whoever moves leadership, by failures. The others a broker or the
controller takes by itself, and as soon as it can: a running broker learns the newest metadata, fetches, and asks for
ISR changes. Nobody can hold back one of these steps alone. But a paused process takes none.

So a schedule is a run of the model in which running brokers are *eager*. It takes the trace's decided steps, pauses
brokers in between, and violates the same property once nobody has anything left to do. Steps that brokers take by
themselves may come in another order than in the trace, and some may be left out or added. Each deed comes with the
state that the model has after it, so that the cluster's state can be compared.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import attrs

from explorer.system import Cut, System, judge_end, successor
from explorer.verdict import Step
from model.language.declarations import Instance
from model.partition.state import Partition, Standing

# what a running broker, or the controller, does by itself, in the order in which it is tried
EAGER = (
    "learn_leadership",
    "learn_isr",
    "unfence",
    "elect",
    "elect_last_known_leader",
    "fetch_at_once",
    "handle_out_of_range",
    "find_in_sync",
    "propose_expansion",
    "alter_partition",
    "receive_isr_answer",
)
# what somebody decides, or what takes time
DECIDED = (
    "produce",
    "move_leadership",
    "fence",
    "crash",
    "crash_with_loss",
    "restart",
    "begin_controlled_shutdown",
    "elect_uncleanly",
    "remove_replica",
    "add_replica",
)
# steps that nobody can bring about. A trace may have them; another run of the model may do without
UNFORCED = {
    "receive_fetch": "a running follower handles a response before it learns of an election; nobody can hold it back",
    "lose_fetch": "a connection on this machine loses nothing",
    "lose_isr_answer": "a connection on this machine loses nothing",
    "ask_deposed_controller": "there is one controller",
    "checkpoint_high_watermark": "a broker does that in its own time",
    "give_up": "no producer times out here",
    "consume": "a consumer reads at the end",
    "ask_end_offset": "a consumer reads at the end",
    "delete_old_records": "nothing is deleted here",
    "outlast_lag_time": "time passes by itself",
}
MOST_NODES = 60_000
MOST_EAGER = 300


class Kind(Enum):
    """What is done to the cluster."""

    BEGIN = "begin"
    PAUSE = "pause"
    RESUME = "resume"
    LAG = "lag"
    STEP = "step"


@attrs.frozen
class Deed:
    """Something done to the cluster, and what the model says comes of it.

    Attributes:
        kind: what it is.
        broker: whom it concerns; None for a step that concerns the partition.
        decided: the step of the model, if it is one.
        eager: the steps that follow by themselves, each with the state after it.
        state: the model's state once nothing follows any more.
        paused: who is paused then.
    """

    kind: Kind
    broker: int | None
    decided: Instance | None
    eager: tuple[Step, ...]
    state: Partition
    paused: frozenset[int]

    @property
    def name(self) -> str:
        return self.decided.of.name if self.decided and self.kind is Kind.STEP else self.kind.value

    def __str__(self) -> str:
        return (
            str(self.decided)
            if self.decided and self.kind is Kind.STEP
            else f"{self.kind.value}{'' if self.broker is None else f' b{self.broker}'}"
        )


@attrs.frozen
class Schedule:
    """Deeds in order, the first of which brings the cluster up.

    Attributes:
        violated: the instance of the property that the run violates, and after which deed it first does.
        shows_from: where the deeds begin that show what follows from the violation.
    """

    deeds: tuple[Deed, ...]
    violated: Instance
    shows_from: int


class NoSchedule(Exception):
    """No run with eager brokers violates the property. The message says which step stands in the way."""


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
        self._watched = [
            each for each in (*system.invariants, *system.step_properties) if each.of.name == property_name
        ]
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
            found = self._search(in_order)
            if isinstance(found, _Node):
                return self._with_consequences(found)
        raise NoSchedule(self._why_not(found))

    def _search(self, in_order: bool) -> _Node | int:
        """The first node that violates the property; or how many decided steps could be taken at most."""
        (start,) = self._system.initial
        begun = self._settled(start, frozenset())
        assert begun is not None
        first = Deed(Kind.BEGIN, None, None, begun[1], begun[0], frozenset())
        queue = deque([_Node(begun[0], frozenset(), frozenset(), (first,))])
        seen = {(begun[0], frozenset(), frozenset())}
        most = 0
        while queue and len(seen) < MOST_NODES:
            node = queue.popleft()
            most = max(most, len(node.done))
            for after in self._next(node, in_order):
                key = (after.state, after.paused, after.done)
                if key in seen:
                    continue
                seen.add(key)
                if self._violated(node.state, after.state) is not None:
                    return after
                queue.append(after)
        return most

    def _next(self, node: _Node, in_order: bool) -> Iterator[_Node]:
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
            elif (
                replica.is_up and replica.leader not in node.paused
            ):  # else its fetch waits there, and is answered later
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


def concerned(action: Instance) -> int | None:
    """The broker that a decided step is done to, or by."""
    arguments = action.arguments
    return next((arguments[key] for key in ("leader", "broker") if key in arguments), None)


def may_act(action: Instance, state: Partition, paused: frozenset[int]) -> bool:
    """Whether an eager step concerns running processes only, and learns nothing but the newest."""
    arguments, name = action.arguments, action.of.name
    if name == "learn_leadership":
        return arguments["broker"] not in paused and arguments["epoch"] == state.leader_epoch
    if name == "fetch_at_once":
        follower = arguments["follower"]
        return follower not in paused and state.replicas[follower].leader not in paused
    if name in ("propose_expansion", "find_in_sync"):  # Kafka looks when the follower fetches
        return arguments["leader"] not in paused and arguments["follower"] not in paused
    if name in ("elect", "elect_last_known_leader"):
        return True
    if name == "unfence":
        return arguments["broker"] not in paused
    acting = arguments.get("leader", arguments.get("follower"))
    return acting not in paused


def missing(state: Partition, paused: frozenset[int]) -> tuple[int, ...]:
    """The acknowledged records that the leader lacks, if all running brokers follow a leader that can be asked."""
    leader = state.quorum.leader
    if leader is None or leader in paused or not state.leads(leader):
        return ()
    if state.replicas[leader].leader_epoch != state.leader_epoch:
        return ()
    if state.quorum.registrations[leader].standing is not Standing.ACTIVE:
        return ()
    there = {record.id for record in state.replicas[leader].log}
    return tuple(sorted(state.clients.acked - there))
