"""What a property exempts: a state in which it is false, and the same with one thing more that makes it true.

A property that exempts too little is wrong in the same way as one that exempts too much. Here is each exemption that no
claim needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest

from highwater.invariants.controller import clients, fencing, goals, in_sync_replicas, records
from highwater.invariants.controller import liveness as liveness_of_controller
from highwater.invariants.kraft import elections, liveness, safety
from highwater.invariants.partition import agreement, divergence
from highwater.invariants.partition import clients as clients_of_partition
from highwater.invariants.partition import liveness as liveness_of_partition
from highwater.invariants.partition import records as records_of_partition
from highwater.invariants.topic import recovery as topics
from highwater.invariants.topic import safety as safety_of_topic
from highwater.model.controller.brokers import Role
from highwater.model.controller.context import Step
from highwater.model.controller.releases import REPAIRED
from highwater.model.controller.state import Cluster, Mishap
from highwater.model.controller.zookeeper import Reassignment
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.releases import PRESETS
from highwater.model.log import NO_EPOCH
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.messages import Fetch, Stage
from highwater.model.partition.releases import PRESETS as OF_RELEASES
from highwater.model.partition.state import Process, Standing
from highwater.model.topic.releases import PRESETS as OF_TOPICS
from tests.model.controller.walk import Walk
from tests.model.test_every_property import KRAFT, PARTITION, R0, R1, TOPIC, changed, system_of

Changes = Mapping[str, Any]
NONE: Changes = {}
NOBODY = frozenset[int]()

CONTROLLER: Cluster = Walk(brokers=3, replication_factor=3, controllers=2).cluster
(IN_PARTITION,) = system_of(PARTITION, "a_possible_leader_is_known").initial
SIZES = {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2}
SETTINGS = OF_RELEASES["repaired"], PartitionBounds(**SIZES)
OF_TWO = OF_RELEASES["repaired"], PartitionBounds(**SIZES, min_insync_replicas=2)
(IN_KRAFT,) = system_of(KRAFT, "leaders_are_in_the_isr").initial
(IN_TOPIC,) = system_of(TOPIC, "epochs_have_one_leader").initial
COUNTS_WHO_WAS_OUTSIDE: KraftProtocol = PRESETS["kafka-4.0"]


@attrs.frozen
class Case:
    """A property is false of some states, and true with a change more.

    Attributes:
        holds: the property, or a part of one.
        states: each as what differs from the start; a step has two.
        unless: for each state, what else differs where the exemption is due.
        rest: the other arguments.
    """

    holds: Callable[..., Any]
    states: tuple[Changes, ...]
    unless: tuple[Changes, ...]
    rest: tuple[Any, ...] = ()


LEADS = {"brokers.1.role": Role.LEADER}
DEPOSED = {"zk.leadership.leader": 1}
SECOND = {"controllers.1.active": True, "controllers.1.epoch": 1}
DEAD = {"brokers.1.running": False, "controllers.0.live": (0, None, 0)}
STOPPED = {"brokers.0.running": False}
INCOMPLETE = {"brokers.1.complete": False, "history.committed": True}
LEAVES = {"controllers.0.shutting_down": {1}}
TARGET = {"history.target": frozenset({1})}
METADATA = "brokers.1.metadata"
WITH_METADATA = attrs.evolve(REPAIRED, update_metadata=True)
WITH_LIVE_BROKERS = attrs.evolve(WITH_METADATA, live_brokers=True)
GONE = {"zk.deletion": True}

MOVES = Reassignment((0,), frozenset({0, 1, 2}))

OF_CONTROLLER = [
    Case(
        clients.brokers_act_on_the_newest_request,
        ({"brokers.1.role": Role.LEADER},),
        ({"brokers.1.role": Role.STOPPED, "brokers.1.leader": 1},),
        (1,),
    ),
    Case(
        clients.brokers_act_on_the_newest_request,
        ({"brokers.1.leader": 1},),
        ({"brokers.1.role": Role.NONE},),
        (1,),
    ),
    Case(
        clients.served_metadata_never_goes_back,
        ({f"{METADATA}.leader_epoch": 1}, {f"{METADATA}.leader_epoch": 0}),
        (NONE, {"zk.topic_id": 2}),
        (1,),
    ),
    Case(
        clients.served_metadata_never_goes_back, ({f"{METADATA}.leader_epoch": 1}, NONE), (NONE, {METADATA: None}), (1,)
    ),
    Case(clients.only_leaders_coordinate, ({"brokers.1.coordinates": True},), ({"brokers.1.running": False},), (1,)),
    Case(clients.only_leaders_coordinate, ({"brokers.1.coordinates": True},), ({"brokers.1.resigning": 0},), (1,)),
    Case(fencing.one_leader_per_epoch, (LEADS,), ({"brokers.1.topic_id": 2},), (0, 1)),
    Case(fencing.one_leader_per_epoch, (LEADS,), ({"brokers.1.leader_epoch": 1},), (0, 1)),
    Case(fencing.a_leader_epoch_keeps_its_leader, (NONE, DEPOSED), (NONE, {"zk.topic_id": 2}), (0,)),
    Case(fencing.a_leader_epoch_keeps_its_leader, (NONE, LEADS), (NONE, {"brokers.1.topic_id": 2}), (1,)),
    Case(fencing.a_leader_epoch_keeps_its_leader, (NONE, LEADS), (LEADS, NONE), (1,)),
    Case(fencing.one_controller_per_epoch, (SECOND,), ({"controllers.0.active": False},), (0, 1)),
    Case(fencing.one_controller_per_epoch, (SECOND,), ({"controllers.1.active": False},), (0, 1)),
    Case(fencing.one_controller_per_epoch, (SECOND,), ({"controllers.1.epoch": 2},), (0, 1)),
    Case(
        fencing.known_epochs_never_decrease,
        (NONE, {"brokers.1.controller_epoch": 0}),
        (NONE, {"brokers.1.epoch": 1}),
        (1,),
    ),
    Case(
        fencing.known_epochs_never_decrease,
        ({"brokers.1.leader_epoch": 1}, NONE),
        (NONE, {"brokers.1.leader_epoch": NO_EPOCH}),
        (1,),
    ),
    Case(
        fencing.known_epochs_never_decrease,
        ({"brokers.1.leader_epoch": 1}, NONE),
        (NONE, {"brokers.1.topic_id": 2}),
        (1,),
    ),
    Case(goals.is_reassigned, (TARGET,), (GONE,)),
    Case(goals.is_reassigned, (TARGET,), ({"zk.assignment": (1,)},)),
    Case(
        lambda *given: not goals.lacks_what_a_reassignment_needs(*given),
        ({"zk.reassignment": Reassignment((1, 2), frozenset({0})), "brokers.1.running": False},),
        ({"brokers.1.running": True},),
    ),
    Case(goals.has_current_metadata, ({METADATA: None},), (GONE,), (1, WITH_METADATA)),
    Case(goals.has_current_metadata, ({METADATA: None},), ({"zk.leadership": None},), (1, WITH_METADATA)),
    *(
        Case(goals.finds_the_leader, (bad,), (unless,), (1, WITH_LIVE_BROKERS))
        for bad in ({METADATA: None}, {f"{METADATA}.leader": None}, {"brokers.1.dead": frozenset({0})})
        for unless in (GONE, {"zk.leadership": None}, {"zk.leadership.leader": None})
    ),
    Case(
        liveness_of_controller.live_brokers_become_known,
        ({"brokers.1.dead": frozenset({0})},),
        ({"brokers.1.running": False},),
        (1, WITH_LIVE_BROKERS),
    ),
    Case(
        liveness_of_controller.clients_find_the_leader,
        ({METADATA: None},),
        ({"brokers.1.running": False},),
        (1, WITH_LIVE_BROKERS),
    ),
    *(
        Case(
            liveness_of_controller.metadata_of_deleted_topics_are_dropped,
            ({"zk.assignment": ()},),
            (unless,),
            (1, WITH_METADATA),
        )
        for unless in (GONE, {"brokers.1.running": False}, {METADATA: None})
    ),
    Case(goals.has_shut_down, (STOPPED,), (GONE,), (0,)),
    Case(goals.has_shut_down, (STOPPED,), ({"zk.leadership": None},), (0,)),
    Case(goals.has_shut_down, ({**STOPPED, **DEPOSED},), ({"zk.leadership.isr": frozenset({1, 2})},), (0,)),
    Case(goals.has_shut_down, ({**STOPPED, **DEPOSED},), ({"zk.leadership.isr": frozenset({0})},), (0,)),
    Case(in_sync_replicas.known_dead_brokers_leave_the_isr, (DEAD,), ({"brokers.1.running": True},), (0, 1)),
    Case(
        in_sync_replicas.known_dead_brokers_leave_the_isr,
        (DEAD,),
        ({"controllers.0.step": Step.DELETE_LEADERSHIP},),
        (0, 1),
    ),
    Case(in_sync_replicas.known_dead_brokers_leave_the_isr, (DEAD,), (GONE,), (0, 1)),
    *(
        Case(in_sync_replicas.known_dead_brokers_leave_the_isr, (DEAD,), ({path: value},), (0, 1))
        for path, value in (
            ("zk.leadership", None),
            ("zk.controller_epoch", 2),
            ("zk.reassignment", MOVES),
            ("controllers.0.active", False),
            ("controllers.0.deleting", True),
            ("controllers.0.live", (0, 0, 0)),
        )
    ),
    Case(in_sync_replicas.known_dead_brokers_leave_the_isr, (DEAD,), ({"zk.leadership.isr": frozenset({1})},), (0, 1)),
    Case(
        in_sync_replicas.online_partition_has_live_leader_in_isr,
        ({"controllers.0.leadership": None},),
        ({"zk.controller_epoch": 2},),
        (0,),
    ),
    Case(in_sync_replicas.running_leaders_keep_leading, (NONE, DEPOSED), ({"zk.preferred_election": True}, NONE), (0,)),
    Case(in_sync_replicas.running_leaders_keep_leading, (NONE, DEPOSED), (GONE, NONE), (0,)),
    *(
        Case(in_sync_replicas.running_leaders_keep_leading, (NONE, DEPOSED), ({path: value}, NONE), (0,))
        for path, value in (
            ("zk.reassignment", MOVES),
            ("zk.registrations", (None, 0, 0)),
            ("brokers.0.role", Role.FOLLOWER),
            ("brokers.0.leader_epoch", 1),
        )
    ),
    Case(in_sync_replicas.running_leaders_keep_leading, (NONE, DEPOSED), (NONE, {"brokers.0.leaving": True}), (0,)),
    Case(in_sync_replicas.isr_within_assignment, ({"zk.assignment": (0, 2)},), ({"zk.leadership": None},), (1,)),
    *(
        Case(holds, ({"history.mishaps": {mishap}},), ({"history.mishaps": {*Mishap} - {mishap}},))
        for holds, mishap in (
            (fencing.only_the_current_controller_writes, Mishap.STALE_WRITE),
            (fencing.stale_requests_change_nothing, Mishap.STALE_REQUEST),
            (in_sync_replicas.elections_are_clean, Mishap.UNCLEAN_ELECTION),
            (in_sync_replicas.reassignments_keep_enough_copies, Mishap.FEWER_COPIES),
        )
    ),
    Case(clients.leaders_coordinate, ({"brokers.0.coordinates": False},), ({"brokers.0.role": Role.FOLLOWER},), (0,)),
    Case(goals.a_leader_acts, ({"brokers.0.role": Role.FOLLOWER},), ({"brokers.0.role": Role.LEADER},)),
    Case(goals.a_leader_acts, ({"zk.leadership": None},), (GONE,)),
    Case(goals.a_leader_acts, ({"zk.leadership.leader": None},), (GONE,)),
    Case(goals.has_its_role, ({"zk.leadership": None},), (GONE,), (1,)),
    Case(
        lambda *given: not goals.lacks_what_a_reassignment_needs(*given),
        ({"zk.leadership": None},),
        ({"zk.leadership": CONTROLLER.zk.leadership},),
    ),
    Case(goals.has_current_metadata, ({f"{METADATA}.leader": 1},), ({"zk.leadership": None},), (1, WITH_METADATA)),
    Case(goals.a_controller_acts, ({"controllers.0.active": False},), ({"controllers.0.active": True},)),
    Case(goals.a_controller_acts, ({"zk.controller": None},), ({"zk.controller": 0},)),
    Case(goals.a_controller_acts, ({"zk.controller_epoch": 2},), ({"controllers.0.epoch": 2},)),
    *(
        Case(in_sync_replicas.brokers_that_shut_down_stay_out_of_the_isr, (LEAVES,), ({path: value},), (0, 1))
        for path, value in (
            ("controllers.0.shutting_down", NOBODY),
            ("controllers.0.deleting", True),
            ("zk.controller_epoch", 2),
            ("zk.leadership", None),
            ("zk.leadership.isr", {0, 2}),
            ("zk.leadership.isr", {1}),
        )
    ),
    *(
        Case(records.leaders_hold_committed_records, ({"brokers.0.complete": False},), ({path: value},), (0,))
        for path, value in (
            ("brokers.0.role", Role.FOLLOWER),
            ("brokers.0.leader_epoch", 1),
            ("brokers.0.topic_id", 2),
            ("zk.leadership", None),
            ("zk.deletion", True),
        )
    ),
    *(
        Case(records.isr_members_hold_committed_records, (INCOMPLETE,), ({path: value},), (1,))
        for path, value in (
            ("zk.leadership", None),
            ("zk.leadership.isr", {0, 2}),
            ("brokers.1.complete", True),
            ("zk.deletion", True),
            ("zk.assignment", (0, 2)),
        )
    ),
    Case(
        records.isr_members_hold_committed_records,
        ({**INCOMPLETE, "brokers.1.log": None},),
        ({"history.committed": False},),
        (1,),
    ),
    *(
        Case(records.deleted_topics_leave_no_replica, ({"zk.assignment": ()},), (changes,), (1,))
        for changes in ({"zk.assignment": (1,)}, {"brokers.1.log": None}, {"zk.topic_id": 0, "brokers.1.log": 0})
    ),
    *(
        Case(
            records.deleted_records_are_not_served,
            ({f"brokers.{broker}.log": 2},),
            ({f"brokers.{broker}.role": Role.STOPPED},),
            (broker,),
        )
        for broker in (0, 1)
    ),
    Case(in_sync_replicas.isr_within_assignment, ({"zk.assignment": (0, 2)},), ({"zk.assignment": ()},), (1,)),
]

P = "partitions.0"
RECOVERS = {f"{P}.recovering": True}
SHRINKS = {f"{P}.isr": frozenset({0}), f"{P}.leader_epoch": 1}
ELECTED = {f"{P}.leader": 1}
OUTSIDE = {f"{P}.isr": frozenset({0})}
LOST = {"brokers.1.replicas.0.complete": False}
REMOVES = {f"{P}.removing": frozenset({0}), f"{P}.adding": frozenset({1})}

OF_KRAFT = [
    *(
        Case(elections.unclean_elections_follow_crashes, (RECOVERS,), ({f"used.{why}": 1},))
        for why in ("crashes", "lossy_crashes", "directory_failures", "min_isr_changes", "unclean_elections")
    ),
    Case(elections.unclean_elections_follow_crashes, (RECOVERS,), ({f"{P}.recovering": False},)),
    Case(elections.smaller_isrs_begin_no_leader_epoch, (NONE, SHRINKS), (OUTSIDE, NONE)),
    Case(elections.smaller_isrs_begin_no_leader_epoch, (NONE, SHRINKS), (NONE, ELECTED)),
    Case(elections.clean_elections_are_counted_so, (OUTSIDE, ELECTED), (NONE, RECOVERS), (COUNTS_WHO_WAS_OUTSIDE,)),
    Case(
        elections.clean_elections_are_counted_so,
        (OUTSIDE, ELECTED),
        (NONE, {f"{P}.topic_id": 1}),
        (COUNTS_WHO_WAS_OUTSIDE,),
    ),
    Case(elections.clean_elections_are_counted_so, (OUTSIDE, ELECTED), (ELECTED, NONE), (COUNTS_WHO_WAS_OUTSIDE,)),
    Case(
        elections.clean_elections_are_counted_so,
        (OUTSIDE, ELECTED),
        (NONE, {f"{P}.leader": None}),
        (COUNTS_WHO_WAS_OUTSIDE,),
    ),
    Case(elections.elections_give_up_no_records, (NONE, {**ELECTED, **LOST}), (ELECTED, NONE)),
    Case(elections.elections_give_up_no_records, (NONE, {**ELECTED, **LOST}), (NONE, {f"{P}.leader": None})),
    Case(
        elections.elections_give_up_no_records,
        (NONE, {**ELECTED, **LOST}),
        (NONE, {"brokers.0.replicas.0.complete": False}),
    ),
    Case(lambda *given: not liveness._is_left_out(*given), (OUTSIDE,), ({f"{P}.replicas": (0,)},), (1,)),
    Case(lambda *given: not liveness._is_left_out(*given), (OUTSIDE,), ({f"{P}.leader": None},), (1,)),
    Case(lambda *given: not liveness._is_replaced(*given), (REMOVES,), ({"brokers.1.running": False},)),
    Case(lambda *given: not liveness._is_replaced(*given), (REMOVES,), ({f"{P}.removing": frozenset({0, 2})},)),
    Case(
        lambda *given: not liveness._is_replaced(*given),
        ({**REMOVES, f"{P}.adding": frozenset({0, 1})},),
        ({"brokers.0.running": False},),
    ),
    Case(liveness.replacements_complete.function, (REMOVES,), ({f"{P}.leader": None},)),
    Case(
        lambda *given: not safety._leads_without_records(*given),
        ({"brokers.0.replicas.0.complete": False},),
        (ELECTED,),
        (0, 0),
    ),
]


APPENDED = {"replicas.0.log": (R0,), "clients.commit_epoch": 1}
EXPOSES = {"replicas.0.high_watermark": 1}
ALONE = {"replicas.0.leadership.isr": frozenset({0})}
REFUSED = {**ALONE, "replicas.0.log": (R0,), "clients.rejected": frozenset({0})}
EXPOSES_REFUSED = {**REFUSED, **EXPOSES, "clients.exposed": (R0,)}

BOTH_LOGS = {"replicas.0.log": (R0,), "replicas.1.log": (R1,)}
FETCHED = "replicas.0.followers.1"
DIVERGES = {**BOTH_LOGS, f"{FETCHED}.log_end_offset": 1, f"{FETCHED}.since_change": True}
OUT_OF_RANGE = Fetch(Stage.OUT_OF_RANGE, 0, 0, 1, NO_EPOCH, 0, 0, 0, None)
ASKS = {**BOTH_LOGS, "replicas.1.fetch": OUT_OF_RANGE}
STANDING = "quorum.registrations.1.standing"
FENCED = {STANDING: Standing.FENCED}
ALONE_LEADS = {"quorum.leader": 1, "quorum.isr": {1}}
EXPOSED = {"clients.exposed": (R0,)}
HAS_EXPOSED = {**EXPOSED, "replicas.1.log": (R0,)}
DOWN = {"replicas.1.process": Process.HALTED}
READABLE = {"replicas.1.log": (R0,), "replicas.1.high_watermark": 1}

OF_PARTITION = [
    Case(agreement.a_possible_leader_is_known, ({"quorum.isr": NOBODY},), ({"quorum.elr": frozenset({1})},)),
    Case(agreement.a_possible_leader_is_known, ({"quorum.isr": NOBODY},), ({"quorum.last_known_leader": 1},)),
    Case(agreement.stale_leaders_expose_nothing, (APPENDED, EXPOSES), (NONE, {"replicas.0.leader": 1}), (0,)),
    Case(agreement.stale_leaders_expose_nothing, (APPENDED, EXPOSES), ({"clients.commit_epoch": 0}, NONE), (0,)),
    Case(agreement.stale_leaders_expose_nothing, (APPENDED, EXPOSES), (EXPOSES, NONE), (0,)),
    Case(agreement.commits_wait_for_every_candidate, (ALONE,), ({"quorum.isr": frozenset({0})},), (0, 1, *SETTINGS)),
    Case(
        agreement.commits_wait_for_every_candidate,
        ({**ALONE, "quorum.isr": frozenset({0}), "quorum.elr": frozenset({1})},),
        ({"quorum.elr": NOBODY},),
        (0, 1, *SETTINGS),
    ),
    Case(
        clients_of_partition.refused_records_are_not_exposed,
        (REFUSED, EXPOSES_REFUSED),
        (NONE, {"clients.rejected": frozenset()}),
        (0, 0, *OF_TWO),
    ),
    Case(
        clients_of_partition.refused_records_are_not_exposed,
        (REFUSED, EXPOSES_REFUSED),
        ({"clients.exposed": (R0,)}, NONE),
        (0, 0, *OF_TWO),
    ),
    Case(
        clients_of_partition.refused_records_are_not_exposed,
        (REFUSED, EXPOSES_REFUSED),
        ({"clients.exposed": (R0,)}, {"clients.exposed": (R0, R1)}),
        (0, 0, *OF_TWO),
    ),
    Case(
        clients_of_partition.refused_records_are_not_exposed,
        (REFUSED, EXPOSES_REFUSED),
        (NONE, {"clients.exposed": (R1,)}),
        (0, 0, *OF_TWO),
    ),
    Case(
        liveness_of_partition.high_watermark_reaches_the_log_end,
        (APPENDED,),
        ({"replicas.0.leadership.pending": frozenset({0, 1}), **FENCED},),
        SETTINGS,
    ),
    *(
        Case(divergence.followers_do_not_diverge, (DIVERGES,), ({path: value},), (0, 1, 0, SETTINGS[0]))
        for path, value in (
            ("replicas.1.leader", 1),
            ("replicas.0.leader", 1),
            ("replicas.1.leader_epoch", 1),
            ("replicas.1.truncating", True),
            (f"{FETCHED}.log_end_offset", None),
            (f"{FETCHED}.log_end_offset", 0),
            (f"{FETCHED}.since_change", False),
        )
    ),
    *(
        Case(divergence.overtaken_follower_keeps_no_diverging_records, (ASKS, BOTH_LOGS), unless, (1, 0))
        for unless in (
            ({"replicas.1.fetch": None}, NONE),
            ({"replicas.1.fetch.stage": Stage.REQUEST}, NONE),
            (NONE, {"replicas.1.fetch": OUT_OF_RANGE}),
            (NONE, {"replicas.1.log": ()}),
            ({"replicas.1.leader": None}, {"replicas.1.leader": None}),
            ({"replicas.1.leader": 1}, NONE),
            (NONE, {"replicas.0.leader": 1}),
            (NONE, {"replicas.0.log_start": 1}),
            ({"replicas.1.log": (R1, R1)}, NONE),
            (NONE, {"replicas.0.log": (R1,)}),
        )
    ),
    Case(agreement.isr_is_valid, (FENCED,), ({"quorum.isr": {1}},), (1,)),
    Case(agreement.isr_is_valid, ({**FENCED, **ALONE_LEADS},), ({STANDING: Standing.ACTIVE},), (1,)),
    Case(agreement.isr_is_valid, ({"quorum.assignment": {0}},), ({"quorum.isr": {0}},), (1,)),
    Case(agreement.isr_is_valid, ({"quorum.leader": 1, "quorum.isr": {0}},), ({"quorum.leader": 0},), (1,)),
    *(
        Case(records_of_partition.isr_members_keep_committed_records, (HAS_EXPOSED, EXPOSED), unless, (1, 0))
        for unless in (
            ({"clients.exposed": ()}, NONE),
            ({"clients.exposed": (R1,)}, NONE),
            ({"replicas.1.log": ()}, NONE),
            (NONE, {"replicas.1.log": (R0,)}),
            ({"quorum.isr": {0}}, NONE),
            (DOWN, NONE),
            (NONE, DOWN),
        )
    ),
    *(
        Case(records_of_partition.records_below_a_high_watermark_are_committed, (READABLE,), (changes,), (1, 0))
        for changes in (EXPOSED, DOWN, {"replicas.1.high_watermark": 0}, {"replicas.1.log_start": 1})
    ),
    Case(
        records_of_partition.records_below_a_high_watermark_are_committed,
        ({**READABLE, "clients.exposed": (R1,)},),
        (EXPOSED,),
        (1, 0),
    ),
    *(
        Case(
            records_of_partition.acknowledged_records_are_somewhere,
            ({"clients.acked": {0}},),
            (changes,),
            (0, SETTINGS[1]),
        )
        for changes in (
            {"clients.acked": NOBODY},
            {"used.lossy_crashes": 1},
            {"replicas.0.log": (R0,)},
            {"replicas.0.log_start": 1},
        )
    ),
    *(
        Case(records_of_partition.candidates_are_complete, (EXPOSED,), (changes,), (1, 0))
        for changes in (DOWN, {"quorum.isr": {0}}, {"replicas.1.log": (R0,)}, {"replicas.1.log_start": 1})
    ),
    Case(
        records_of_partition.candidates_are_complete,
        ({**EXPOSED, "quorum.isr": {0}, "quorum.elr": {1}},),
        ({"quorum.elr": NOBODY},),
        (1, 0),
    ),
]

OUTSIDE = {"nodes.0.leadership.isr": {0}}
NO_MEMBER = {"live": {1}}

OF_TOPIC = [
    Case(topics.replicas_can_be_in_sync, (OUTSIDE,), (NO_MEMBER,), (1, 0)),
    Case(
        topics.preferred_leaders_can_lead,
        ({"nodes.0.leadership.leader": 1},),
        ({"nodes.0.leadership.isr": {1}, "live": {0}},),
        (0,),
    ),
    Case(
        topics.reassignments_can_be_asked_for,
        ({"nodes.1.target": (1, 0)},),
        ({"nodes.0.target": (1, 0)},),
        (0, OF_TOPICS["kafka-2.3"]),
    ),
    Case(
        safety_of_topic.known_dead_brokers_lead_nothing,
        ({"context.live": {1}},),
        ({"context.partitions.0.led": False},),
        (0,),
    ),
]


@pytest.mark.parametrize("case", OF_TOPIC, ids=lambda case: case.holds.name)
def test_a_property_of_a_topic_exempts_what_it_should(case: Case) -> None:
    exempts(IN_TOPIC, case)


@pytest.mark.parametrize("case", OF_PARTITION, ids=lambda case: case.holds.name)
def test_a_property_of_partition_exempts_what_it_should(case: Case) -> None:
    exempts(IN_PARTITION, case)


@pytest.mark.parametrize("case", OF_CONTROLLER, ids=lambda case: getattr(case.holds, "name", case.holds.__name__))
def test_a_property_of_the_controller_exempts_what_it_should(case: Case) -> None:
    exempts(CONTROLLER, case)


@pytest.mark.parametrize("case", OF_KRAFT, ids=lambda case: getattr(case.holds, "name", case.holds.__name__))
def test_a_property_of_kraft_exempts_what_it_should(case: Case) -> None:
    exempts(IN_KRAFT, case)


def exempts(start: Any, case: Case) -> None:
    states = [changed(start, changes) for changes in case.states]
    assert not case.holds(*states, *case.rest), "it is true without an exemption"
    exempt = [changed(state, changes) for state, changes in zip(states, case.unless, strict=True)]
    assert case.holds(*exempt, *case.rest) is True
