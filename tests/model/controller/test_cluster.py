"""The cluster around the state machines: single events as in Kafka's sources and tests, and that both engines agree."""

from __future__ import annotations

import importlib
import pkgutil

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import SearchOptions
from highwater.model import controller
from highwater.model.controller.bounds import ControllerBounds
from highwater.model.controller.brokers import Kind, Role
from highwater.model.controller.context import Step
from highwater.model.controller.definition import ACTIONS, define
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.protocol import DeadReplicaAtStartup
from highwater.model.controller.releases import PRESETS, REPAIRED
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.language.declarations import Action
from tests.model.controller.walk import BY_NAME, Walk, bounds

KNOWS_WHO_IS_ALIVE = attrs.evolve(REPAIRED, update_metadata=True, live_brokers=True)


def test_a_new_topic_is_led_by_its_first_replica() -> None:
    walk = Walk(established=0, brokers=3, replication_factor=2)("elect_controller", controller=0)("create_topic")(
        "notice_topic", controller=0
    )
    assert (walk.leadership.leader, walk.leadership.isr, walk.leadership.leader_epoch) == (0, {0, 1}, 0)
    assert walk.context.replicas == (ReplicaState.ONLINE, ReplicaState.ONLINE, ReplicaState.NON_EXISTENT)
    walk.deliver_all()
    assert [broker.role for broker in walk.cluster.brokers] == [Role.LEADER, Role.FOLLOWER, Role.NONE]


def test_a_new_topic_without_live_replicas_stays_new_until_one_is_back() -> None:
    walk = Walk(established=0, replication_factor=1)("crash_broker", broker=0)("elect_controller", controller=0)(
        "create_topic"
    )
    walk("notice_topic", controller=0)
    assert (walk.leadership, walk.context.partition) == (None, PartitionState.NEW)
    walk("start_broker", broker=0)("notice_brokers", controller=0)
    assert (walk.leadership.leader, walk.context.partition) == (0, PartitionState.ONLINE)


def test_a_follower_that_dies_costs_a_leader_epoch_and_a_partition_epoch() -> None:
    walk = Walk()("crash_broker", broker=1)("notice_brokers", controller=0)
    assert walk.leadership == attrs.evolve(
        walk.leadership, leader=0, isr=frozenset({0}), leader_epoch=1, partition_epoch=1
    )


def test_a_leader_that_dies_is_replaced_in_one_leader_epoch_and_then_leaves_nothing_to_write() -> None:
    walk = Walk()("crash_broker", broker=0)("notice_brokers", controller=0)
    assert (walk.leadership.leader, walk.leadership.isr, walk.leadership.leader_epoch) == (1, {1}, 1)


def test_a_replica_outside_the_isr_dies_without_a_write_and_its_peers_get_the_state_again() -> None:
    walk = Walk(brokers=3, replication_factor=3)("shrink_isr", leader=0, follower=2)("crash_broker", broker=2)
    before = walk.leadership
    walk("notice_brokers", controller=0)
    assert walk.leadership == before
    assert [request.kind for request in walk.cluster.queues[0][1]] == [Kind.LEADER_AND_ISR]


def test_the_last_isr_member_stays_in_the_isr_and_leads_again() -> None:
    walk = Walk(replication_factor=1)("crash_broker", broker=0)("notice_brokers", controller=0)
    assert (walk.leadership.leader, walk.leadership.isr, walk.context.partition) == (None, {0}, PartitionState.OFFLINE)
    walk("start_broker", broker=0)("notice_brokers", controller=0)
    assert (walk.leadership.leader, walk.leadership.leader_epoch) == (0, 2)


@pytest.mark.parametrize(
    ("release", "unclean", "isr"),
    [
        ("kafka-0.10.2", True, set()),
        ("kafka-0.10.2", False, {0}),
        ("kafka-0.11", True, set()),
        ("kafka-1.1", True, {0}),
        ("kafka-1.1", False, {0}),
    ],
)
def test_the_last_isr_member_leaves_only_if_unclean_election_is_on_until_1_0(
    release: str, unclean: bool, isr: set[int]
) -> None:
    """KafkaController#removeReplicaFromIsr (0.10.2): "Retaining last ISR"."""
    walk = Walk(attrs.evolve(PRESETS[release], unclean_election=unclean), replication_factor=1)
    walk("crash_broker", broker=0)("notice_brokers", controller=0)
    assert (walk.leadership.leader, walk.leadership.isr) == (None, isr)


@pytest.mark.parametrize("release", ["kafka-0.8.2", "kafka-0.9"])
def test_a_controller_whose_answer_was_lost_finds_itself_elected_since_0_9(release: str) -> None:
    """KAFKA-1387."""
    walk = Walk(PRESETS[release], established=0)("elect_controller_unnoticed", controller=0)
    assert (walk.try_("find_itself_elected", controller=0) is not None) == (release == "kafka-0.9")


@pytest.mark.parametrize(("rule", "epochs"), [(DeadReplicaAtStartup.OFFLINE, 2), (DeadReplicaAtStartup.INELIGIBLE, 1)])
def test_a_crash_of_controller_and_leader_together_costs_two_leader_epochs_since_2_3(
    rule: DeadReplicaAtStartup, epochs: int
) -> None:
    walk = Walk(attrs.evolve(REPAIRED, dead_replica_at_startup=rule), controller_epoch_max=2)
    walk("crash_broker", broker=0)("crash_controller", controller=0)("elect_controller", controller=0)
    assert (walk.leadership.leader, walk.leadership.leader_epoch) == (1, epochs)


@pytest.mark.parametrize(("clean", "elected"), [(True, None), (False, 1)])
def test_only_an_unclean_election_elects_outside_the_isr(clean: bool, elected: int | None) -> None:
    walk = Walk(attrs.evolve(REPAIRED, unclean_election=not clean))("shrink_isr", leader=0, follower=1)
    walk("crash_broker", broker=0)("notice_brokers", controller=0)
    assert walk.leadership.leader == elected


def test_a_preferred_election_is_not_held_where_the_preferred_replica_leads() -> None:
    walk = Walk()("request_preferred_leader")("elect_preferred_leader", controller=0)
    assert walk.leadership.leader_epoch == 0
    assert not walk.cluster.zk.preferred_election


def test_a_broker_that_shuts_down_is_replaced_and_leaves_the_isr() -> None:
    walk = Walk()("shut_down_broker", controller=0, broker=0)
    assert (walk.leadership.leader, walk.leadership.isr) == (1, {1})
    told = [broker for broker in (0, 1) if walk.cluster.queues[0][broker]]
    assert told == [0, 1], "the leaving broker is told, too"


def test_a_deletion_stops_every_replica_then_deletes_it_and_then_clears_up() -> None:
    walk = Walk()("request_deletion")("notice_deletion", controller=0)
    assert walk.context.partition is PartitionState.NON_EXISTENT
    assert walk.context.replicas == (ReplicaState.DELETION_STARTED,) * 2
    assert [(request.kind, request.delete) for request in walk.cluster.queues[0][1]] == [
        (Kind.STOP_REPLICA, False),
        (Kind.STOP_REPLICA, True),
    ]
    walk.deliver_all()("read_answer", controller=0, broker=0)("read_answer", controller=0, broker=1)
    assert walk.context.step is Step.DELETE_LEADERSHIP
    walk.steps()
    assert (walk.cluster.zk.assignment, walk.cluster.zk.leadership, walk.cluster.zk.deletion) == ((), None, False)
    assert walk.context.topic_id == 0
    assert not walk.cluster.history.illegal_edges


def test_a_deletion_waits_for_a_dead_broker_and_ineligible_replicas_are_retried_when_it_is_back() -> None:
    walk = Walk()("crash_broker", broker=1)("notice_brokers", controller=0)("request_deletion")(
        "notice_deletion", controller=0
    )
    assert walk.context.replicas == (ReplicaState.DELETION_STARTED, ReplicaState.DELETION_INELIGIBLE)
    assert walk.context.deletion_halted
    walk.deliver_all()("read_answer", controller=0, broker=0)
    assert walk.context.replicas == (ReplicaState.DELETION_SUCCESSFUL, ReplicaState.OFFLINE)
    walk("start_broker", broker=1)("notice_brokers", controller=0)
    assert walk.context.replicas == (ReplicaState.DELETION_SUCCESSFUL, ReplicaState.DELETION_STARTED)
    walk.deliver_all()("read_answer", controller=0, broker=1).steps()
    assert not walk.cluster.zk.deletion


def test_a_deletion_waits_for_a_reassignment() -> None:
    walk = Walk(replication_factor=1)("request_reassignment", target=(1,))("notice_reassignment", controller=0).steps()
    walk("request_deletion")("notice_deletion", controller=0)
    assert walk.context.replicas == (ReplicaState.ONLINE, ReplicaState.NEW)
    walk("expand_isr", leader=0, follower=1)("notice_caught_up_replicas", controller=0).steps()
    assert walk.context.replicas == (ReplicaState.NON_EXISTENT, ReplicaState.DELETION_STARTED)


def test_a_request_for_a_preferred_leader_outlives_its_controller() -> None:
    walk = Walk(controllers=2, controller_epoch_max=2)("crash_broker", broker=0)("notice_brokers", controller=0)
    walk("start_broker", broker=0)("notice_brokers", controller=0).deliver_all()("expand_isr", leader=1, follower=0)
    walk("request_preferred_leader")("crash_controller", controller=0)("elect_controller", controller=1)
    assert (walk.leadership.leader, walk.cluster.zk.preferred_election) == (1, True)
    walk("elect_preferred_leader", controller=1)
    assert (walk.leadership.leader, walk.leadership.isr, walk.cluster.zk.preferred_election) == (0, {0, 1}, False)


def test_an_isr_notification_reaches_the_controller_and_through_it_all_brokers() -> None:
    walk = Walk(attrs.evolve(REPAIRED, update_metadata=True))("shrink_isr", leader=0, follower=1)
    assert (walk.context.leadership.isr, walk.leadership.isr, walk.cluster.zk.isr_changed) == ({0, 1}, {0}, True)
    walk("notice_isr", controller=0)
    assert (walk.context.leadership, walk.cluster.zk.isr_changed) == (walk.leadership, False)
    assert [[request.kind for request in queue] for queue in walk.cluster.queues[0]] == [[Kind.UPDATE_METADATA]] * 2


def test_a_broker_that_dies_while_its_topic_is_deleted_is_made_known_to_the_others() -> None:
    walk = Walk(KNOWS_WHO_IS_ALIVE, brokers=3)("request_deletion")("notice_deletion", controller=0).deliver_all()
    walk("crash_broker", broker=0)("notice_brokers", controller=0).deliver_all()
    assert [walk.cluster.brokers[broker].dead for broker in (1, 2)] == [{0}, {0}]


def test_a_controller_that_finds_no_topic_sends_who_is_alive_all_the_same() -> None:
    walk = Walk(KNOWS_WHO_IS_ALIVE, controllers=2, controller_epoch_max=2)("request_deletion")
    walk("notice_deletion", controller=0).deliver_all()
    for replica in range(2):
        walk("read_answer", controller=0, broker=replica)
    walk.steps()("crash_broker", broker=1)("crash_controller", controller=0)("elect_controller", controller=1)
    assert walk.deliver_all().cluster.brokers[0].dead == {1}


@pytest.mark.parametrize("fixed", [True, False])
def test_a_resigned_controller_stops_handling_events_if_fixed(fixed: bool) -> None:
    walk = Walk(attrs.evolve(REPAIRED, resign_stops_queue=fixed), controllers=2, controller_epoch_max=2)
    walk("depose_controller", controller=0)("elect_controller", controller=1)("shrink_isr", leader=0, follower=1)(
        "resign", controller=0
    )
    late = walk.try_("handle_notification_after_resigning", controller=0)
    if fixed:
        assert late is None
    else:
        assert not late.zk.isr_changed
        assert late.controllers[1].leadership.isr == {0, 1}, "the controller in office never learns"


@pytest.mark.parametrize("lives_on", [True, False])
def test_a_new_broker_epoch_is_a_bounce_whether_or_not_the_broker_died(lives_on: bool) -> None:
    walk = Walk()
    if lives_on:
        walk("expire_broker_session", broker=0)("register_broker_again", broker=0)
    else:
        walk("crash_broker", broker=0)("start_broker", broker=0)
    walk("notice_brokers", controller=0)
    assert (walk.leadership.leader, walk.leadership.isr) == (1, {1})


def test_a_broker_that_keeps_its_epoch_is_not_seen_to_bounce() -> None:
    walk = Walk(attrs.evolve(REPAIRED, registration_keeps_epoch=True))("expire_broker_session", broker=0)
    walk("register_broker_again", broker=0)
    assert walk.try_("notice_brokers", controller=0) is None


def test_records_lost_in_a_crash_are_fetched_again() -> None:
    walk = Walk()
    assert walk.try_("crash_broker_with_loss", broker=1) is None, "there is nothing to lose yet"
    walk("commit", leader=0)("crash_broker_with_loss", broker=1)("start_broker", broker=1)(
        "notice_brokers", controller=0
    )
    walk.deliver_all()
    assert walk.try_("expand_isr", leader=0, follower=1) is None
    walk("catch_up", follower=1, leader=0)("expand_isr", leader=0, follower=1)


@pytest.mark.parametrize("taken_back", [True, False])
def test_a_partition_that_was_added_during_a_deletion_is_taken_back_or_deleted_by_the_next_controller(
    taken_back: bool,
) -> None:
    walk = Walk(attrs.evolve(REPAIRED, added_partitions_taken_back=taken_back), controllers=2, controller_epoch_max=2)
    walk("request_deletion")("notice_deletion", controller=0)("request_partition")
    back = walk.try_("take_back_added_partition", controller=0)
    assert (back is not None) == taken_back
    if taken_back:
        assert not back.zk.partition_added
    walk("crash_controller", controller=0)("elect_controller", controller=1)
    assert walk.context.added is ReplicaState.DELETION_SUCCESSFUL, "its broker hosts nothing of it, and says so"
    walk.deliver_all()("read_answer", controller=1, broker=0)("read_answer", controller=1, broker=1).steps(1)
    assert (walk.cluster.zk.assignment, walk.cluster.zk.partition_added, walk.cluster.zk.deletion) == ((), False, False)
    assert not walk.cluster.history.illegal_edges


def test_without_the_fix_of_2_0_an_added_partition_stops_the_next_controllers_deletion() -> None:
    rules = attrs.evolve(REPAIRED, added_partitions_taken_back=False, offline_without_leadership=False)
    walk = Walk(rules, controllers=2, controller_epoch_max=2)
    walk("request_deletion")("notice_deletion", controller=0)("request_partition")
    walk("crash_controller", controller=0)("elect_controller", controller=1).deliver_all()
    walk("read_answer", controller=1, broker=0)("read_answer", controller=1, broker=1)
    assert (walk.context.added, walk.context.step) == (ReplicaState.ONLINE, None)
    assert walk.cluster.history.illegal_edges


def test_a_deposed_controller_finds_out_by_its_first_write() -> None:
    walk = Walk(controllers=2, controller_epoch_max=2)("depose_controller", controller=0)(
        "elect_controller", controller=1
    )
    walk("crash_broker", broker=1)("notice_brokers", controller=0)
    assert not walk.cluster.controllers[0].active
    assert walk.leadership.leader_epoch == 0


def test_a_stopped_leader_stays_leader_until_a_request_deletes_it() -> None:
    walk = Walk()("request_deletion")("notice_deletion", controller=0)("receive", controller=0, broker=0)
    assert walk.cluster.brokers[0].leads
    walk("receive", controller=0, broker=0)
    assert (walk.cluster.brokers[0].role, walk.cluster.brokers[0].log) == (Role.NONE, None)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"replication_factor": 3}, "replication_factor 3 is more than brokers 2"),
        ({"target_size": 3}, "target_size 3 is more than brokers 2"),
        ({"topics_max": 0}, "established 1 needs topics_max"),
    ],
)
def test_bounds_that_contradict_each_other_are_refused(given: dict[str, int], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        bounds(**given)


def system(preset: str, **given: int) -> System:
    definition = define(PRESETS[preset])
    chosen = ControllerBounds(brokers=2, replication_factor=2, leader_epoch_max=4, partition_epoch_max=5, **given)
    return build_system(definition, PRESETS[preset], chosen, definition.known_properties)


OLDER = ("kafka-0.8.2", "kafka-2.1", "kafka-2.7", "kafka-3.4.1")


@pytest.mark.parametrize(
    "preset",
    ["repaired", *(pytest.param(each, marks=pytest.mark.slow) for each in OLDER)],
)
@pytest.mark.parametrize(
    "given",
    [
        {"broker_crashes": 1, "deletions": 1},
        {"established": 0, "controllers": 2, "controller_crashes": 1, "controller_epoch_max": 2},
        pytest.param({"reassignments": 1, "target_size": 1, "shrinks": 1}, marks=pytest.mark.slow),
    ],
    ids=lambda given: "-".join(given),
)
def test_both_engines_see_the_same_cluster(preset: str, given: dict[str, int]) -> None:
    whole = system(preset, **given)
    both = [engine.explore(whole, options=SearchOptions(keep_going=True)) for engine in (breadth_first, plain_python)]
    for name in ("verdict", "levels", "generated", "enabled", "bounds_cut", "violations"):
        assert getattr(both[0], name) == getattr(both[1], name)


def test_every_action_documents_its_actor_and_guard() -> None:
    for action in ACTIONS:
        assert "Actor:" in action.function.__doc__, action.name
        assert "Enabled:" in action.function.__doc__, action.name


def test_every_action_is_listed_once() -> None:
    modules = (
        importlib.import_module(f"highwater.model.controller.{module.name}")
        for module in pkgutil.iter_modules(controller.__path__)
    )
    declared = {value.name for module in modules for value in vars(module).values() if isinstance(value, Action)}
    assert declared == set(BY_NAME)
    assert len(BY_NAME) == len(ACTIONS)


def test_a_broker_asks_again_for_its_shutdown_until_it_is_granted_or_no_attempt_is_left() -> None:
    alone = Walk(shutdown_attempts=3)("shrink_isr", leader=0, follower=1)
    refused = alone("notice_isr", controller=0)("shut_down_broker", controller=0, broker=0)
    assert refused.cluster.brokers[0].attempts_left == 2 and refused.try_("exit_broker", broker=0) is None
    again = refused("shut_down_broker_again", controller=0, broker=0)("get_no_answer", broker=0)
    assert again.cluster.brokers[0].attempts_left == 0
    assert again.try_("shut_down_broker_again", controller=0, broker=0) is None
    assert again.try_("get_no_answer", broker=0) is None
    assert again("exit_broker", broker=0).cluster.zk.leadership.leader == 0


def test_a_shutdown_that_is_granted_leaves_no_attempt() -> None:
    granted = Walk(shutdown_attempts=3)("shut_down_broker", controller=0, broker=0)
    assert granted.cluster.brokers[0].attempts_left == 0 and granted.cluster.zk.leadership.leader == 1


@pytest.mark.parametrize(("broker", "sent"), [(0, []), (1, [Kind.STOP_REPLICA])])
def test_a_deposed_controller_refuses_a_shutdown_and_does_not_resign(broker: int, sent: list[Kind]) -> None:
    """A follower is stopped before the write that fails."""
    walk = Walk(shutdown_attempts=2, controllers=2, controller_epoch_max=2)("depose_controller", controller=0)
    before = walk("elect_controller", controller=1).cluster
    refused = walk("shut_down_broker", controller=0, broker=broker).cluster
    assert refused.brokers[broker].attempts_left == 1 and refused.zk == before.zk
    assert refused.controllers[0] == attrs.evolve(before.controllers[0], shutting_down=frozenset({broker}))
    assert [request.kind for request in refused.queues[0][broker][len(before.queues[0][broker]) :]] == sent
    granted = walk("shut_down_broker_again", controller=1, broker=broker).cluster
    assert granted.brokers[broker].attempts_left == 0 and granted.zk != before.zk
