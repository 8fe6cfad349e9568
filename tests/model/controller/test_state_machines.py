"""The machines at work: for every pair of states, what is sent, written and remembered, as Kafka's
ReplicaStateMachineTest and PartitionStateMachineTest (3.5) have it case by case.
"""

from __future__ import annotations

import itertools

import attrs
import pytest

from highwater.model.controller.brokers import Kind
from highwater.model.controller.elections import Strategy
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.releases import REPAIRED
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.state import Cluster
from highwater.model.controller.state_machines import move_partition, move_replicas
from highwater.model.controller.zookeeper import Leadership, Reassignment
from tests.model.controller.walk import Walk

R, P = ReplicaState, PartitionState
TELLING = attrs.evolve(REPAIRED, update_metadata=True)
LAI, STOP, DELETE, TOLD = "LeaderAndIsr", "StopReplica", "StopReplica, delete", "UpdateMetadata"

# A replica of b0 that leads b0 and b1: an edge, then what b0 gets and what b1 gets, as Kafka verifies it on its request
# batch.
TOLD_ITSELF = ([LAI, TOLD], [TOLD])
TAKEN_OFFLINE = ([TOLD, STOP], [LAI, TOLD])
REQUESTS = {
    (R.NON_EXISTENT, R.NEW): TOLD_ITSELF,
    (R.NEW, R.ONLINE): ([], []),
    (R.NEW, R.OFFLINE): TAKEN_OFFLINE,
    (R.ONLINE, R.ONLINE): TOLD_ITSELF,
    (R.ONLINE, R.OFFLINE): TAKEN_OFFLINE,
    (R.OFFLINE, R.ONLINE): TOLD_ITSELF,
    (R.OFFLINE, R.OFFLINE): TAKEN_OFFLINE,
    (R.OFFLINE, R.DELETION_STARTED): ([DELETE], []),
    (R.OFFLINE, R.DELETION_INELIGIBLE): ([], []),
    (R.DELETION_STARTED, R.DELETION_SUCCESSFUL): ([], []),
    (R.DELETION_STARTED, R.DELETION_INELIGIBLE): ([], []),
    (R.DELETION_SUCCESSFUL, R.NON_EXISTENT): ([], []),
    (R.DELETION_INELIGIBLE, R.ONLINE): TOLD_ITSELF,
    (R.DELETION_INELIGIBLE, R.OFFLINE): TAKEN_OFFLINE,
}


def cluster(leader: int | None = 0, isr: tuple[int, ...] = (0, 1), *, known: bool = True, **context: object) -> Cluster:
    """Two brokers with a replica each, and a controller that knows leadership, or none if there is none."""
    leadership = Leadership(leader, frozenset(isr), 0, 0, 1) if known else None
    return Walk().cluster.with_zk(leadership=leadership).with_context(0, leadership=leadership, **context)


def replica_in(state: ReplicaState, **given: object) -> Cluster:
    start = cluster(**given)
    return start.with_context(0, replicas=(state, start.controllers[0].replicas[1]))


def sent(after: Cluster) -> tuple[list[str], list[str]]:
    """What is on its way to b0 and b1."""
    return tuple(
        [each.kind.value + (", delete" if each.delete else "") for each in after.queues[0][broker]] for broker in (0, 1)
    )


@pytest.mark.parametrize(("before", "after"), list(itertools.product(R, R)), ids=lambda state: state.value)
def test_a_replica_takes_every_edge_with_its_requests_and_no_other(before: ReplicaState, after: ReplicaState) -> None:
    leader = 1 if after is R.NEW else 0  # a replica that leads cannot become new
    start = replica_in(before, leader=leader)
    end = move_replicas(start, 0, [0], after, TELLING)
    if (before, after) in REQUESTS:
        assert end.controllers[0].replicas[0] is after
        assert sent(end) == REQUESTS[before, after]
        assert not end.history.illegal_edges
    else:
        (edge,) = end.history.illegal_edges
        assert (edge.machine, edge.before, edge.after) == ("replica", before.value, after.value)
        assert attrs.evolve(end, history=start.history) == start


@pytest.mark.parametrize("before", [R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE])
@pytest.mark.parametrize(
    ("leader", "isr", "left"),
    [
        pytest.param(0, (0, 1), (None, {1}, 1, 1), id="it led"),
        pytest.param(1, (0, 1), (1, {1}, 1, 1), id="it followed"),
        pytest.param(1, (1,), (1, {1}, 0, 0), id="it was not in the ISR"),
        pytest.param(0, (0,), (None, {0}, 1, 1), id="it was the last member"),
    ],
)
def test_a_replica_that_is_taken_offline_leaves_the_isr(
    before: ReplicaState, leader: int, isr: tuple[int, ...], left: tuple
) -> None:
    end = move_replicas(replica_in(before, leader=leader, isr=isr), 0, [0], R.OFFLINE, TELLING)
    written = end.zk.leadership
    assert (written.leader, written.isr, written.leader_epoch, written.partition_epoch) == left
    assert end.controllers[0].leadership == written
    assert [each.leader_epoch for each in end.queues[0][1] if each.kind is Kind.LEADER_AND_ISR] == [left[2]]


@pytest.mark.parametrize(
    "protocol", [TELLING, attrs.evolve(TELLING, offline_without_leadership=False)], ids=["since 2.0", "before"]
)
def test_a_replica_without_leadership_is_taken_offline_since_2_0(protocol: ControllerProtocol) -> None:
    end = move_replicas(replica_in(R.NEW, known=False), 0, [0], R.OFFLINE, protocol)
    assert end.controllers[0].replicas[0] is (R.OFFLINE if protocol is TELLING else R.NEW)
    assert sent(end)[0] == [STOP]
    assert end.zk.leadership is None


def test_a_replica_that_leads_does_not_become_new() -> None:
    start = replica_in(R.NON_EXISTENT)
    assert move_replicas(start, 0, [0], R.NEW, TELLING) == start


def test_a_batch_goes_on_after_an_illegal_edge() -> None:
    """testInvalidTransition's neighbours: Kafka logs the illegal one and handles the others."""
    start = cluster(replicas=(R.DELETION_STARTED, R.ONLINE))
    end = move_replicas(start, 0, [0, 1], R.OFFLINE, TELLING)
    assert end.controllers[0].replicas == (R.DELETION_STARTED, R.OFFLINE)
    assert len(end.history.illegal_edges) == 1


PARTITION_EDGES = {
    (P.NON_EXISTENT, P.NEW), (P.NEW, P.ONLINE), (P.NEW, P.OFFLINE), (P.ONLINE, P.ONLINE), (P.ONLINE, P.OFFLINE),
    (P.OFFLINE, P.ONLINE), (P.OFFLINE, P.OFFLINE), (P.OFFLINE, P.NON_EXISTENT),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), list(itertools.product(P, P)), ids=lambda state: state.value)
def test_a_partition_takes_every_edge_and_no_other(before: PartitionState, after: PartitionState) -> None:
    start = cluster(known=before is not P.NEW, partition=before)
    end = move_partition(start, 0, after, TELLING)
    if (before, after) not in PARTITION_EDGES:
        (edge,) = end.history.illegal_edges
        assert (edge.machine, edge.before, edge.after) == ("partition", before.value, after.value)
        assert attrs.evolve(end, history=start.history) == start
        return
    assert end.controllers[0].partition is after
    assert not end.history.illegal_edges
    if after is P.ONLINE:
        assert sent(end) == ([LAI, TOLD], [LAI, TOLD])
        epoch = 0 if before is P.NEW else 1
        assert end.zk.leadership == end.controllers[0].leadership == Leadership(0, frozenset({0, 1}), epoch, epoch, 1)
    else:
        assert sent(end) == ([], [])
        assert end.zk.leadership == start.zk.leadership


def test_a_partition_stays_new_where_its_state_is_there_already() -> None:
    """testNewPartitionToOnlinePartitionTransitionErrorCodeFromCreateStates."""
    start = cluster(partition=P.NEW).with_context(0, leadership=None)
    assert move_partition(start, 0, P.ONLINE, TELLING) == start


@pytest.mark.parametrize("before", [P.ONLINE, P.OFFLINE])
def test_a_partition_stays_where_it_is_where_its_state_is_gone(before: PartitionState) -> None:
    """testOfflinePartitionToOnlinePartitionTransitionErrorCodeFromStateLookup."""
    start = cluster(partition=before).with_zk(leadership=None)
    assert move_partition(start, 0, P.ONLINE, TELLING) == start


def test_a_partition_stays_offline_where_a_later_controller_wrote_its_state() -> None:
    start = cluster(partition=P.OFFLINE)
    start = start.with_zk(leadership=attrs.evolve(start.zk.leadership, controller_epoch=2))
    assert move_partition(start, 0, P.ONLINE, TELLING) == start


@pytest.mark.parametrize(("unclean", "leader"), [(True, 1), (False, None)])
def test_a_partition_whose_isr_is_dead_goes_online_uncleanly_or_not_at_all(unclean: bool, leader: int | None) -> None:
    """testOfflinePartitionToUncleanOnlinePartitionTransition: only the live broker is told."""
    start = cluster(leader=None, isr=(0,), partition=P.OFFLINE, live=(None, 0))
    end = move_partition(start, 0, P.ONLINE, attrs.evolve(TELLING, unclean_election=unclean))
    assert end.zk.leadership.leader == leader
    assert end.controllers[0].partition is (P.ONLINE if unclean else P.OFFLINE)
    assert sent(end) == ([], [LAI, TOLD] if unclean else [])
    assert end.zk.leadership.isr == {1 if unclean else 0}


def test_a_shutdown_removes_the_leaving_broker_from_the_isr_and_informs_it() -> None:
    """testOnlinePartitionToOnlineTransitionForControlledShutdown."""
    start = cluster(partition=P.ONLINE, shutting_down=frozenset({0}))
    end = move_partition(start, 0, P.ONLINE, TELLING, Strategy.CONTROLLED_SHUTDOWN)
    assert (end.zk.leadership.leader, end.zk.leadership.isr) == (1, {1})
    assert sent(end) == ([LAI, TOLD], [LAI, TOLD])


def test_brokers_that_expire_in_one_pass_have_their_replicas_offline_whoever_leads() -> None:
    walk = Walk(attrs.evolve(REPAIRED, one_expiry_at_a_time=False), brokers=3, replication_factor=3)
    walk("crash_broker", broker=0)("crash_broker", broker=2)("notice_brokers", controller=0)
    assert walk.cluster.controllers[0].replicas == (R.OFFLINE, R.ONLINE, R.OFFLINE)


def test_an_election_sends_the_target_of_a_reassignment_only_if_caused_by_it() -> None:
    """KafkaController#moveReassignedPartitionLeaderIfRequired against #triggerOnlinePartitionStateChange."""
    start = cluster(partition=P.ONLINE, reassignment=Reassignment((1,), frozenset({0, 1})))
    moved = move_partition(start, 0, P.ONLINE, TELLING, Strategy.REASSIGNMENT)
    assert sent(moved) == ([TOLD], [LAI, TOLD])
    offline = start.with_context(0, partition=P.OFFLINE)
    assert sent(move_partition(offline, 0, P.ONLINE, TELLING)) == ([LAI, TOLD], [LAI, TOLD])


def test_a_preferred_election_of_the_leader_there_is_bumps_the_leader_epoch() -> None:
    """testOnlinePartitionToOnlineTransition."""
    end = move_partition(cluster(partition=P.ONLINE), 0, P.ONLINE, TELLING, Strategy.PREFERRED)
    assert (end.zk.leadership.leader, end.zk.leadership.leader_epoch) == (0, 1)
