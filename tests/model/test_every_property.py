"""Every property of every model is false in some state, and holds in some claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from highwater.claims.building import build_system
from highwater.claims.resolving import resolve_model, variants, with_preset
from highwater.explorer.system import System, judge
from highwater.explorer.verdict import Verdict
from highwater.model import log
from highwater.model.catalogue import MODELS
from highwater.model.kraft_reference.messages import Answer, Proposal
from highwater.model.kraft_reference.messages import Record as Value
from highwater.model.kraft_reference.state import Role, Status
from highwater.model.language.declarations import Instance, Transition
from highwater.model.language.definition import Property
from highwater.model.language.records import evolve
from highwater.model.partition.batches import GAP, Record
from highwater.model.quorum_reference.kip_853.entries import Command
from highwater.model.quorum_reference.kip_853.entries import Entry as Written
from highwater.model.quorum_reference.kip_853.state import Role as Part
from highwater.model.quorum_reference.kip_853.state import ServerRole as Place
from highwater.model.quorum_reference.state import Entry, ServerRole
from highwater.model.requests.state import Answer as Answered
from highwater.model.requests.state import Phase
from highwater.model.topic.state import Fetch, Order
from highwater.model.topic.state import Role as Leading
from tests.gallery import FILES, loaded
from tests.model.controller.test_properties import FALSE as FALSE_OF_CONTROLLER

SPECS = [*map(loaded, FILES)]

Model = tuple[str, Mapping[str, Any], Mapping[str, int]]
"""A model, its protocol and its bounds, as a claim writes them."""

KIP_320: Model = (
    "reference",
    {"variant": "kip-320"},
    {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 1},
)
ASYNC_ISR: Model = ("reference", {"variant": "async-isr"}, {"brokers": 2, "offset_max": 2, "version_max": 1})
TWO = {"broker_count": 2, "init_replication_factor": 2, "values": 2, "min_isr": 1, "init_isr_size": 2}
KAFKA_3_5: Model = ("kraft-reference", {"variant": "v3.5"}, {**TWO, "fence_broker_limit": 1, "reassignment_limit": 1})
KIP_966: Model = ("kraft-reference", {"variant": "kip-966"}, {**TWO, "no_data_loss_shutdown_limit": 1})
QUORUM: Model = ("quorum-reference", {"variant": "kraft"}, {"servers": 2, "values": 2, "max_elections": 1})
KIP_853: Model = (
    "quorum-reference",
    {"variant": "kip-853"},
    {"init_cluster_size": 2, "min_cluster_size": 2, "max_cluster_size": 2, "max_spawned_servers": 2, "hosts": 2}
    | {"values": 2, "max_values_per_epoch": 1, "max_epoch": 2},
)
PARTITION: Model = (
    "partition",
    {"preset": "repaired"},
    {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2},
)
CHECKPOINTS: Model = (*PARTITION[:2], {**PARTITION[2], "checkpoints": 1})
BATCHES: Model = (*PARTITION[:2], {**PARTITION[2], "batch_records": 2})
PRODUCER: Model = (*PARTITION[:2], {**PARTITION[2], "producer_metadata": 1})
RECOVERING: Model = (*PARTITION[:2], {**PARTITION[2], "leader_recovery": 1})
RETENTION: Model = (*PARTITION[:2], {**PARTITION[2], "retentions": 1})
KRAFT: Model = (
    "kraft",
    {"preset": "kafka-4.3"},
    {"brokers": 2, "replication_factor": 2, "leader_epoch_max": 1, "partition_epoch_max": 1},
)
TOPIC: Model = (
    "topic",
    {"preset": "kafka-3.4"},
    {"brokers": 2, "partitions": 2, "replication_factor": 2, "leader_epoch_max": 1},
)

REQUESTS: Model = (
    "requests",
    {"preset": "kafka-2.8"},
    {"partitions": 1, "log_length_max": 1, "produces": 1, "fetches": 1},
)
CLIENT_LOG: Model = ("client-log", {}, {"log_length_max": 2, "records_max": 2})
NOBODY = frozenset[int]()
K0, K1 = log.Record(0, 0), log.Record(1, 0)
R0, R1 = Record(0, 0), Record(1, 0)
V0, V1 = Value(1, 0), Value(1, 1)

FALSE: list[tuple[Model, str, Mapping[str, Any]]] = [
    (KIP_320, "elected_leader_in_isr", {"quorum.leader": 0, "quorum.isr": frozenset({1})}),
    (KIP_320, "high_watermark_within_log", {"replicas.1.high_watermark": 1}),
    (KIP_320, "records_are_unique_within_a_log", {"replicas.1.log": (K0, K0)}),
    (KIP_320, "same_offset_and_epoch_mean_same_record", {"replicas.0.log": (K0,), "replicas.1.log": (K1,)}),
    (ASYNC_ISR, "valid_high_watermark", {"leader.isr": frozenset({0}), "leader.offsets": (1, 0)}),
    (
        KAFKA_3_5,
        "log_matching_property",
        {f"brokers.{broker}.log": (value,) for broker, value in enumerate((V0, V1))}
        | {f"brokers.{broker}.high_watermark": 1 for broker in range(2)},
    ),
    (KAFKA_3_5, "metadata_log_matching_property", {"brokers.1.applied": 2}),
    (KAFKA_3_5, "consistent_read_property", {"clients.consumed": (V0,)}),
    (KAFKA_3_5, "consistent_read_property", {"clients.consumed": (V0,), "brokers.0.log": (V1,)}),
    (KAFKA_3_5, "no_committed_record_lost_globally", {"clients.acked": frozenset({1})}),
    (KAFKA_3_5, "valid_broker_state", {"brokers.1.broker_epoch": 0}),
    (KAFKA_3_5, "valid_replica_state", {"brokers.1.role": Role.LEADER}),
    (KAFKA_3_5, "valid_fetcher_state", {"brokers.0.fetches_from": 1}),
    (KAFKA_3_5, "valid_fetcher_state", {"brokers.1.fetches_from": None}),
    (KAFKA_3_5, "valid_fetcher_state", {"brokers.1.fetches_from": 1}),
    (KAFKA_3_5, "valid_controller_state", {"registrations.1.fenced": True}),
    (KAFKA_3_5, "valid_controller_state", {"metadata_log.0.isr": NOBODY}),
    (KIP_966, "valid_controller_state", {"metadata_log.0.isr": frozenset({1}), "registrations.1.fenced": True}),
    (KIP_966, "valid_controller_isr_and_elr", {"metadata_log.0.replicas": frozenset({0})}),
    (KIP_966, "valid_controller_isr_and_elr", {"metadata_log.0.elr": frozenset({0})}),
    (
        KIP_966,
        "valid_controller_isr_and_elr",
        {"metadata_log.0.isr": frozenset({0}), "metadata_log.0.elr": frozenset({1})},
    ),
    (KIP_966, "min_isr_recovery_quorum", {"metadata_log.0.isr": NOBODY}),
    (KIP_966, "min_isr_recovery_quorum", {"metadata_log.0.isr": NOBODY, "metadata_log.0.last_known_elr": {0, 1}}),
    (KAFKA_3_5, "eventually_runs", {"brokers.1.status": Status.STARTING}),
    (KAFKA_3_5, "eventually_runs", {"registrations.1.fenced": True}),
    (KAFKA_3_5, "eventually_unfenced", {"registrations.1.fenced": True}),
    (
        KAFKA_3_5,
        "alter_partition_epoch_eventually_reached_or_zero",
        {"brokers.0.proposal": Proposal((0, -1), Answer.NONE, 0)},
    ),
    (KAFKA_3_5, "eventually_write_is_accepted_or_rejected", {"clients.sent": frozenset({0})}),
    (KAFKA_3_5, "eventually_acknowledged_value_fully_replicated", {"brokers.0.log": (V0,)}),
    (KAFKA_3_5, "eventually_reassignment_completes", {"metadata_log.0.removing": frozenset({1})}),
    (
        QUORUM,
        "leader_has_all_acked_values",
        {"servers.0.standing": ServerRole.LEADER, "acked.1": True},
    ),
    (
        QUORUM,
        "no_log_divergence",
        {f"servers.{server}.log": (Entry(1, server),) for server in range(2)}
        | {f"servers.{server}.high_watermark": 1 for server in range(2)},
    ),
    (QUORUM, "no_log_divergence", {f"servers.{server}.high_watermark": 1 for server in range(2)}),
    (KIP_853, "leader_has_all_acked_values", {"clients.acked": frozenset({1})}),
    (KIP_853, "acked_value_not_lost", {"clients.acked": frozenset({1})}),
    (
        KIP_853,
        "no_log_divergence",
        {f"servers.{server}.log": (Written(Command.VALUE, 1, value=server),) for server in range(2)},
    ),
    (KIP_853, "no_illegal_state", {"servers.1.standing": Place.ILLEGAL}),
    (KIP_853, "states_match_roles", {"servers.1.role": Part.OBSERVER, "servers.1.standing": Place.CANDIDATE}),
    (KIP_853, "states_match_roles", {"servers.1.standing": Place.UNATTACHED}),
    (KIP_853, "valid_votes_recv", {"servers.1.votes": frozenset({1})}),
    (BATCHES, "batches_are_cut_as_a_whole", {"replicas.1.log": (GAP,)}),
    (PARTITION, "own_isr_is_complete", {"replicas.0.log": (R0,), "replicas.0.high_watermark": 1}),
    (
        PARTITION,
        "logs_agree_below_high_watermarks",
        {f"replicas.{broker}.log": (record,) for broker, record in enumerate((R0, R1))}
        | {f"replicas.{broker}.high_watermark": 1 for broker in range(2)},
    ),
    (
        PARTITION,
        "epochs_identify_records",
        {"replicas.0.log": (R0, Record(1, 1)), "replicas.1.log": (Record(0, 1), Record(1, 1))},
    ),
    (PARTITION, "high_watermark_is_within_the_log", {"replicas.1.high_watermark": 1}),
    (PARTITION, "leaders_know_a_high_watermark_within_their_log", {"replicas.0.high_watermark": 1}),
    (RECOVERING, "recovering_leaders_are_alone", {"quorum.recovering": True}),
    (PARTITION, "a_possible_leader_is_known", {"quorum.isr": NOBODY}),
    (PARTITION, "replicas_join_the_isr", {"quorum.isr": frozenset({0})}),
    (PARTITION, "a_leader_is_elected", {"quorum.leader": None}),
    (PRODUCER, "producers_find_the_leader", {"elections.0.leader": 1}),
    (PARTITION, "truncation_ends", {"replicas.1.truncating": True}),
    (
        RETENTION,
        "low_watermark_reaches_the_log_start",
        {"replicas.0.log": (R0,), "replicas.0.high_watermark": 1, "replicas.0.log_start": 1},
    ),
    (
        REQUESTS,
        "errors_before_the_append_write_nothing",
        {"produce.parts.0.answer": Answered.NOT_ENOUGH, "partitions.0.tail": (-1,)},
    ),
    (
        REQUESTS,
        "fetches_wait_until_they_have_enough",
        {"fetch.phase": Phase.ANSWERED, "fetch.needs": 1},
    ),
    (REQUESTS, "requests_are_answered", {"fetch.phase": Phase.UNWATCHED}),
    (CLIENT_LOG, "acknowledged_records_are_in_the_log", {"acknowledged": {0}}),
    (TOPIC, "replicas_are_spread_evenly", {"nodes.0.assignment": (1, 0)}),
    (TOPIC, "epochs_have_one_leader", {"brokers.1.replicas.0.role": Leading.LEADER}),
    (TOPIC, "known_dead_brokers_lead_nothing", {"context.live": frozenset({1})}),
    (
        TOPIC,
        "only_known_leaders_are_asked_to_lead",
        {"context.partitions.0.led": False, "queues.0": ((Order(stop=False, leader=0, leader_epoch=0), None),)},
    ),
    (TOPIC, "dead_threads_have_partitions", {"brokers.0.dead_threads": {0}}),
    (TOPIC, "only_failed_partitions_pause", {"brokers.1.replicas.0.fetch": Fetch.PAUSED}),
    (TOPIC, "reassignments_can_complete", {"nodes.0.target": (1, 0)}),
    (TOPIC, "removed_replicas_can_be_deleted", {"nodes.0.assignment": (0,)}),
    (KRAFT, "leaders_are_in_the_isr", {"partitions.0.isr": frozenset({1})}),
]
"""A property, and a change of an initial state that makes it false: for each property that no claim shows violated, and
for parts of others that no claim needs.
"""

FALSE_STEPS: list[tuple[Model, str, Mapping[str, Any], Mapping[str, Any]]] = [
    (
        PARTITION,
        "stale_leaders_expose_nothing",
        {"replicas.0.log": (R0,), "clients.commit_epoch": 1},
        {"replicas.0.high_watermark": 1},
    ),
    (
        CHECKPOINTS,
        "checkpoints_keep_high_watermarks",
        {"replicas.0.log": (R0,), "replicas.0.high_watermark": 1, "replicas.0.checkpoint": 1},
        {"replicas.0.high_watermark": 0, "replicas.0.checkpoint": 0},
    ),
    (
        REQUESTS,
        "an_error_hides_no_records_of_other_partitions",
        {"partitions.0.committed": (-1,)},
        {"fetch.phase": Phase.ANSWERED, "fetch.parts.0.answer": Answered.SUCCESS},
    ),
    (CLIENT_LOG, "records_are_appended_only", {"records": (0, 1)}, {"records": (1,)}),
]
"""A step property, a change of an initial state, and a step from there that makes it false."""

HELD_NOWHERE = {
    "highwater.invariants.requests.records_with_an_error_are_not_committed": "a request may time out while it waits",
    "highwater.invariants.reference.leader_in_isr": "the initial state violates it: there is no leader yet",
}
"""Properties that no claim can hold Kafka to, and why."""


def system_of(model: Model, name: str) -> System:
    kind, protocol, bounds = MODELS[model[0]], *map(dict, model[1:])
    chosen = with_preset(kind, protocol.pop("preset", None), protocol)
    protocol, definition, sizes, properties = resolve_model(kind, chosen, bounds, [name])
    return build_system(definition, protocol, sizes, properties)


def property_of(model: Model, name: str) -> Property:
    return instances_of(system_of(model, name))[0].of


def changed(state: Any, changes: Mapping[str, Any]) -> Any:
    """A state with other values at paths such as `replicas.0.high_watermark`."""
    for path, value in changes.items():
        state = with_value(state, path.split("."), value)
    return state


def with_value(at: Any, path: list[str], value: Any) -> Any:
    if not path:
        return frozenset(value) if isinstance(value, set) else value
    first, *rest = path
    if isinstance(at, tuple):
        number = int(first)
        return (*at[:number], with_value(at[number], rest, value), *at[number + 1 :])
    return evolve(at, **{first: with_value(getattr(at, first), rest, value)})


def instances_of(system: System) -> list[Instance]:
    return [*system.invariants, *system.step_properties, *system.prospects, *system.liveness]


def witnesses(system: System, subject: Any) -> list[str]:
    """What the instances of a system's only property say where they are false."""
    domain = system.transitions if system.step_properties else system.domain
    return [str(found) for each in instances_of(system) if not (found := judge(each, subject, domain))]


def is_asked(system: System, subject: Any) -> bool:
    """Whether the premise is true there; what has none is always asked."""
    return any(each.premise is None or each.premise.apply(subject) for each in instances_of(system))


@pytest.mark.parametrize(("model", "name", "changes"), FALSE, ids=lambda each: each if isinstance(each, str) else "")
def test_a_property_is_false_in_the_bad_state_and_has_a_witness(
    model: Model, name: str, changes: Mapping[str, Any]
) -> None:
    system = system_of(model, name)
    (start,) = system.initial
    assert not (is_asked(system, start) and witnesses(system, start))
    state = changed(start, changes)
    assert not system.domain.exceeded(state)
    assert all(witnesses(system, state)) and witnesses(system, state)


@pytest.mark.parametrize(("model", "name", "before", "step"), FALSE_STEPS)
def test_a_step_property_is_false_on_the_bad_step_and_has_a_witness(
    model: Model, name: str, before: Mapping[str, Any], step: Mapping[str, Any]
) -> None:
    system = system_of(model, name)
    (start,) = system.initial
    first = changed(start, before)
    last = changed(first, step)
    assert not system.transitions.exceeded(Transition(first, last))
    assert not witnesses(system, Transition(first, first))
    assert all(witnesses(system, Transition(first, last))) and witnesses(system, Transition(first, last))


def full(each: Property) -> str:
    return f"{each.__module__}.{each.name}"


EVERY = {full(each) for model in MODELS.values() for *_, known in variants(model) for each in known.known_properties}


def test_every_property_is_seen_to_fail() -> None:
    violated = [spec for spec in SPECS if spec.file.expect.verdict is Verdict.VIOLATED]
    by_claims = {full(each) for spec in violated for each in spec.properties if each.name == spec.file.expect.property}
    by_claims &= EVERY  # without those that a spec makes, such as refinements
    by_hand = {full(property_of(model, name)) for model, name, *_ in (*FALSE, *FALSE_STEPS)}
    assert by_claims | by_hand | {full(each) for each, _ in FALSE_OF_CONTROLLER} == EVERY


def test_every_property_is_claimed_to_hold_somewhere() -> None:
    held = {
        full(each) for spec in SPECS if spec.file.expect.verdict is not Verdict.VIOLATED for each in spec.properties
    }
    assert EVERY - held == set(HELD_NOWHERE)


def test_a_checkpoint_may_go_back_as_far_as_the_high_watermark_or_the_log() -> None:
    system = system_of(CHECKPOINTS, "checkpoints_keep_high_watermarks")
    (start,) = system.initial
    both = {"replicas.0.high_watermark": 2, "replicas.0.checkpoint": 2, "replicas.0.log": (R0, R1)}
    first = changed(start, both)
    lower = changed(first, {"replicas.0.high_watermark": 1, "replicas.0.checkpoint": 1})
    assert not witnesses(system, Transition(first, lower))
    assert not witnesses(system, Transition(first, changed(lower, {"replicas.0.log": (R0,)})))
    assert witnesses(system, Transition(first, changed(lower, {"replicas.0.high_watermark": 2})))
