"""What the partition model's controller does between two of the real one's records of a partition.

A shortest sequence of the model's steps leads from one to the other, each executed in plain Python.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import attrs

from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import Instance
from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.controlling import election_of
from highwater.model.partition.messages import Answer, IsrChange
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Partition, Process, Registration, Standing

MOST_BROKERS, MOST_STEPS = 5, 4
CONTROL = (
    "unfence", "restart", "fence", "begin_controlled_shutdown", "elect", "move_leadership", "elect_last_known_leader",
    "elect_uncleanly", "add_replica", "remove_replica", "alter_partition",
)  # fmt: skip
OF_BROKERS = {
    "unfence": Standing.ACTIVE,
    "restart": Standing.FENCED,
    "fence": Standing.FENCED,
    "begin_controlled_shutdown": Standing.SHUTTING_DOWN,
}
"""The steps that change a broker's standing, and to what: they are tried only if it ends so, or passes through it."""


@attrs.frozen
class Recorded:
    """The controller's record of a partition.

    Attributes:
        leader, leader_epoch, partition_epoch, isr, elr: as in Kafka; no leader is None.
        replicas: the assignment in its order.
        standings: by broker of the assignment, how the controller sees it.
    """

    leader: int | None
    leader_epoch: int
    partition_epoch: int
    isr: frozenset[int]
    elr: frozenset[int]
    replicas: tuple[int, ...]
    standings: Mapping[int, Standing]


@attrs.frozen
class Rules:
    """What the controller goes by.

    Attributes:
        protocol: the preset's, with the cluster's features and the topic's configuration.
        min_insync_replicas: the topic's.
    """

    protocol: PartitionProtocol
    min_insync_replicas: int


def explain(before: Recorded, after: Recorded, registered: frozenset[int], rules: Rules) -> tuple[str, ...] | None:
    """A shortest sequence of the model's steps from one record to the next; None if there is none.

    Args:
        registered: the brokers that have registered in between.
    """
    ids = sorted({*before.replicas, *after.replicas, *before.isr, *after.isr})
    if len(ids) > MOST_BROKERS:
        return ("not judged: more than five replicas",)
    index = {broker: number for number, broker in enumerate(ids)}
    goal = _projected(after, index)
    epochs = after.leader_epoch - before.leader_epoch
    for clean in (True, False):
        start = _start(before, index, registered, rules, clean=clean)
        found = _search(start, goal, epochs, {index[each] for each in registered if each in index}, rules)
        if found is not None:
            return tuple(_shown(instance, ids) for instance in found)
    return None


def _search(
    start: Partition, goal: tuple[Any, ...], epochs: int, registered: set[int], rules: Rules
) -> tuple[Instance, ...] | None:
    frontier: list[tuple[Partition, tuple[Instance, ...]]] = [(start, ())]
    seen = {start}
    for _ in range(MOST_STEPS + 1):
        following = []
        for state, path in frontier:
            if _projection(state) == goal and state.leader_epoch == epochs:
                return path
            for instance in _instances(len(start.replicas), rules):
                if not _may_help(instance, state, goal, registered):
                    continue
                after = instance.apply(_asking(state, goal[1]) if instance.of.name == "alter_partition" else state)
                if after is None or after.leader_epoch > epochs:
                    continue
                after = evolve(after, replicas=tuple(evolve(each, changes=()) for each in after.replicas))
                if after not in seen:
                    seen.add(after)
                    following.append((after, (*path, instance)))
        frontier = following
    return None


def _projection(state: Partition) -> tuple[Any, ...]:
    quorum = state.quorum
    return (
        quorum.leader,
        quorum.isr,
        quorum.elr,
        quorum.assignment,
        tuple(each.standing for each in quorum.registrations),
    )


def _projected(of: Recorded, index: Mapping[int, int]) -> tuple[Any, ...]:
    return (
        None if of.leader is None else index[of.leader],
        frozenset(index[each] for each in of.isr),
        frozenset(index[each] for each in of.elr),
        frozenset(index[each] for each in of.replicas),
        tuple(of.standings.get(each, Standing.FENCED) for each in index),
    )


def _may_help(instance: Instance, state: Partition, goal: tuple[Any, ...], registered: set[int]) -> bool:
    """Whether a step changes only what is to change: standings of brokers, and the assignment."""
    name, arguments = instance.of.name, instance.arguments
    if name in OF_BROKERS:
        broker = arguments["broker"]
        now, wanted = state.quorum.registrations[broker].standing, goal[4][broker]
        if name == "restart":
            return broker in registered
        return now is not wanted and (OF_BROKERS[name] is wanted or broker in registered)
    if name in ("add_replica", "remove_replica"):
        return (arguments["broker"] in goal[3]) is (name == "add_replica")
    if name == "alter_partition":
        return bool(state.quorum.leader == arguments["leader"] and state.quorum.isr != goal[1])
    return bool(goal[0] == arguments["candidate"])


def _asking(state: Partition, isr: frozenset[int]) -> Partition:
    """The state in which the leader asks for an ISR, in the present epochs and with the present broker epochs."""
    quorum, leader = state.quorum, state.quorum.leader
    assert leader is not None
    epochs = tuple(each.broker_epoch if broker in isr else NO_EPOCH for broker, each in enumerate(quorum.registrations))
    change = IsrChange(Answer.NONE, state.leader_epoch, quorum.partition_epoch, isr, epochs)
    return state.with_replica(leader, evolve(state.replicas[leader], changes=(change,)))


def _start(
    of: Recorded, index: Mapping[int, int], registered: frozenset[int], rules: Rules, *, clean: bool
) -> Partition:
    """The model's state for a record: every broker runs but for those that are about to register."""
    initial: Partition = _definition(rules.protocol).initial_states(_bounds(len(index), rules.min_insync_replicas))[0]
    leader, isr, elr, assignment, standings = _projected(of, index)
    quorum = evolve(
        initial.quorum,
        leader=leader,
        isr=isr,
        elr=elr,
        assignment=assignment,
        registrations=tuple(Registration(each, broker_epoch=0, since=NO_EPOCH) for each in standings),
    )
    replicas = initial.replicas
    for broker in registered & index.keys():
        down = evolve(replicas[index[broker]], process=Process.DOWN, clean=clean)
        replicas = replaced(replicas, index[broker], down)
    return evolve(initial, quorum=quorum, elections=(election_of(quorum),), replicas=replicas)


@functools.cache
def _definition(protocol: PartitionProtocol) -> Any:
    return MODELS["partition"].define(protocol)


@functools.cache
def _bounds(brokers: int, min_insync_replicas: int) -> PartitionBounds:
    budgets = dict.fromkeys(("leader_moves", "spurious_fences", "controlled_shutdowns", "reassignments"), 7)
    sizes = {"log_length_max": 1, "records_max": 1, "leader_epoch_max": MOST_STEPS, "process_crashes": 7}
    return PartitionBounds(brokers=brokers, min_insync_replicas=min(min_insync_replicas, 5), **sizes, **budgets)


@functools.cache
def _instances(brokers: int, rules: Rules) -> tuple[Instance, ...]:
    actions = {each.name: each for each in _definition(rules.protocol).actions}
    bounds = _bounds(brokers, rules.min_insync_replicas)
    known = [actions[name] for name in CONTROL if name in actions]
    return tuple(each for action in known for each in action.instances(bounds, rules.protocol))


def _shown(instance: Instance, ids: list[int]) -> str:
    """A step with the brokers' real ids."""
    arguments = {name: "none" if value is None else f"b{ids[value]}" for name, value in instance.arguments.items()}
    return f"{instance.of.name}({', '.join(f'{name} {value}' for name, value in arguments.items())})"
