"""The controller with ZooKeeper beside Kafka's own classes: elections on all small inputs, and both state machines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import attrs
import pytest

from highwater.conformance.zookeeper_side import Move, SingleElection, StateMachines, differences
from highwater.model.controller import partition_states, replica_states
from highwater.model.controller.bounds import ControllerBounds
from highwater.model.controller.elections import Strategy
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.protocol import ControllerProtocol, LastIsrMember
from highwater.model.controller.releases import PRESETS
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.state import Cluster, initial_states
from highwater.model.controller.zookeeper import Leadership, Reassignment
from tests.conformance.conftest import Running

IN_A_JVM = pytest.mark.xdist_group("zookeeper")
BROKERS = range(3)
SETS = [frozenset(broker for broker in BROKERS if bits >> broker & 1) for bits in range(8)]
LISTS = [order for size in (1, 2, 3) for order in permutations(BROKERS, size)]
LEADERS = (None, *BROKERS)
BATCH = 2_000
MOVES_OF_EACH_PAIR = 60
BOUNDS = ControllerBounds(brokers=3, replication_factor=3, leader_epoch_max=9, partition_epoch_max=9)
ESTABLISHED = initial_states(BOUNDS)[0]


@pytest.fixture(scope="module", params=[pytest.param("3.5.1", marks=pytest.mark.slow), "3.9.1"])
def machines(request: pytest.FixtureRequest, running: Running) -> StateMachines:
    """The state machines of one release with ZooKeeper."""
    return running(StateMachines, request.param)


def answers(machines: StateMachines, operations: list[Any]) -> Iterator[Any]:
    for first in range(0, len(operations), BATCH):
        yield from machines.run(operations[first : first + BATCH])


# Elections


def all_elections() -> Iterator[SingleElection]:
    """Every input of up to three brokers: assignment in order, ISR, live brokers and those shutting down, leader."""
    states = [(live, leaving) for live in SETS for leaving in SETS if leaving <= live]
    for assignment, isr, (live, leaving), leader in product(LISTS, SETS, states, LEADERS):
        for unclean in (False, True):
            yield SingleElection(Strategy.OFFLINE, assignment, isr, live, leaving, leader, unclean)
        yield SingleElection(Strategy.PREFERRED, assignment, isr, live, leaving, leader)
        yield SingleElection(Strategy.CONTROLLED_SHUTDOWN, assignment, isr, live, leaving, leader)
    for target, origin, isr, (live, leaving) in product(LISTS, SETS[1:], SETS, states):
        both = target + tuple(sorted(origin - set(target)))
        reassignment = Reassignment(target, origin)
        yield SingleElection(Strategy.REASSIGNMENT, both, isr, live, leaving, None, False, reassignment)


@IN_A_JVM
def test_every_election_of_up_to_three_brokers_has_kafkas_leader_and_isr(machines: StateMachines) -> None:
    elections = list(all_elections())
    assert len(elections) == 15 * 8 * 27 * 4 * 4 + 15 * 7 * 8 * 27
    wrong: Counter[Strategy] = Counter()
    elected = 0
    for election, real in zip(elections, answers(machines, [each.on_kafka() for each in elections]), strict=True):
        ours = election.on_model()
        assert ours == real, election
        elected += ours is not None
        # the rules of another strategy: the comparison can fail
        other = attrs.evolve(election, strategy=Strategy.OFFLINE, unclean=not election.unclean)
        wrong[election.strategy] += other.on_model() != real
    assert 0 < elected < len(elections)
    assert all(wrong[strategy] for strategy in Strategy)


# State machines

PROTOCOLS = [attrs.evolve(PRESETS["kafka-3.4.1"], unclean_election=unclean) for unclean in (False, True)]
OTHER_RULES: dict[str, Any] = {
    "zk_write_fenced": False,
    "last_isr_member": LastIsrMember.LEAVES,
    "offline_to_ineligible_allowed": False,
    "offline_without_leadership": False,
    "leaving_leader_told": False,
    "election_type_checked": False,
    "unclean_election": True,
}


def some_cluster(chance: random.Random) -> Cluster:
    """A controller's context and what ZooKeeper holds, in any combination, reachable or not."""
    epoch = chance.randint(1, 2)
    live = tuple(chance.choice((None, 0, 0, 1)) for _ in BROKERS)
    leaving = frozenset(broker for broker in BROKERS if live[broker] is not None and chance.random() < 0.2)
    assignment, reassignment = chance.choice(LISTS), None
    if chance.random() < 0.3:
        reassignment = Reassignment(chance.choice(LISTS), chance.choice(SETS[1:]))
        assignment = reassignment.target + tuple(sorted(reassignment.origin - set(reassignment.target)))
    known = written = None
    if chance.random() < 0.8:
        known = some_leadership(chance, epoch)
        written = known
    if chance.random() < 0.4:
        written = chance.choice((None, some_leadership(chance, epoch), some_leadership(chance, epoch + 1)))
    cluster = ESTABLISHED.with_zk(
        controller_epoch=epoch + (chance.random() < 0.2), assignment=assignment, leadership=written
    )
    return cluster.with_context(
        0,
        epoch=epoch,
        live=live,
        shutting_down=leaving,
        assignment=assignment,
        reassignment=reassignment,
        leadership=known,
        deleting=chance.random() < 0.25,
        partition=chance.choice(list(PartitionState)),
        replicas=tuple(chance.choice(list(ReplicaState)) for _ in BROKERS),
    )


def some_leadership(chance: random.Random, controller_epoch: int) -> Leadership:
    epochs = chance.randint(0, 3), chance.randint(0, 3)
    return Leadership(chance.choice(LEADERS), chance.choice(SETS[1:]), *epochs, controller_epoch)


def replica_moves() -> Iterator[Move]:
    """Each pair of states, in many contexts; sometimes two replicas move in one batch."""
    chance = random.Random(1)
    for before, after in product(ReplicaState, ReplicaState):
        for _ in range(MOVES_OF_EACH_PAIR):
            moved = tuple(sorted(chance.sample(BROKERS, chance.choice((1, 1, 2)))))
            cluster = some_cluster(chance)
            states = list(cluster.controllers[0].replicas)
            states[moved[0]] = before
            if after is ReplicaState.NON_EXISTENT and set(cluster.controllers[0].assignment) <= set(moved):
                cluster = cluster.with_context(0, deleting=True)  # no other topic loses its last replica
            yield Move(cluster.with_context(0, replicas=tuple(states)), after, moved)


def partition_moves() -> Iterator[Move]:
    chance = random.Random(2)
    for before, after, strategy in product(PartitionState, PartitionState, Strategy):
        for _ in range(MOVES_OF_EACH_PAIR):
            yield Move(some_cluster(chance).with_context(0, partition=before), after, (), strategy)


def protocol_of(number: int) -> ControllerProtocol:
    return PROTOCOLS[number % 2]


@IN_A_JVM
def test_both_state_machines_do_what_kafkas_do(machines: StateMachines) -> None:
    moves = [*replica_moves(), *partition_moves()]
    real = list(answers(machines, [move.on_kafka(protocol_of(number)) for number, move in enumerate(moves)]))
    contradicted: Counter[str] = Counter()
    taken = set()
    for number, (move, kafka) in enumerate(zip(moves, real, strict=True)):
        protocol = protocol_of(number)
        assert differences(move.on_model(protocol), kafka) == known_difference(move, protocol), (move, kafka)
        for rule, other in OTHER_RULES.items():
            changed = move.on_model(attrs.evolve(protocol, **{rule: other}))
            contradicted[rule] += differences(changed, kafka) != []
        taken |= edges_taken(move, kafka)
    assert contradicted.keys() == OTHER_RULES.keys()
    assert all(contradicted.values()), contradicted
    edges = (*replica_states.EDGES, *partition_states.EDGES)
    assert taken == {(edge.before, edge.after) for edge in edges if edge.before is not edge.after}


def known_difference(move: Move, protocol: ControllerProtocol) -> list[str]:
    """The two cases in which the model does something else.

    - A deposed controller initializes a partition whose node exists: Kafka's notices by that attempt that it was
      deposed, the model's at its next write.
    - The only live ISR members are not assigned: Kafka's then elects nobody, even if unclean election is enabled.
    """
    context, zk = move.cluster.controllers[0], move.cluster.zk
    if move.to is not PartitionState.ONLINE or zk.leadership is None:
        return []
    online = [broker for broker in context.assignment if context.is_online(broker)]
    if context.partition is PartitionState.NEW:
        return ["controller moved"] if online and zk.controller_epoch != context.epoch else []
    is_unclean = protocol.unclean_election and move.strategy is Strategy.OFFLINE and online
    in_isr = zk.leadership.isr & context.online()
    if context.partition is PartitionState.NON_EXISTENT or not is_unclean or not in_isr or in_isr & set(online):
        return []
    if zk.leadership.controller_epoch > context.epoch:
        return []
    if zk.controller_epoch != context.epoch:
        return ["controller moved"]
    elected = ["leadership", "written", "requests"]
    return elected if context.partition is PartitionState.ONLINE else ["partition", *elected]


def edges_taken(move: Move, kafka: dict[str, Any]) -> set[tuple[Any, Any]]:
    """The changes of state that Kafka's state machine has made."""
    context = move.cluster.controllers[0]
    if isinstance(move.to, PartitionState):
        pairs = [(context.partition, PartitionState(kafka["partition"][0]))]
    else:
        pairs = [(context.replicas[each], ReplicaState(kafka["replicas"][0][each])) for each in move.replicas]
    return {(before, after) for before, after in pairs if before is not after}
