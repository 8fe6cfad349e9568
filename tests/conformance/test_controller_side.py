"""The controller's half beside Kafka's own managers: each field can differ, and a rule set wrong parts at its step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from highwater.claims.conformance import Session, Wanted
from highwater.claims.spec import Spec
from highwater.conformance.abstraction import differences
from highwater.conformance.controller_side import REFUSABLE, STEPS, begin, election_due, without_delayed_elections
from highwater.conformance.model_side import operations_of
from highwater.explorer.system import successor
from tests.conformance.test_rules import Wrong, contradicted

Claim = Callable[..., Spec]
IN_A_JVM = pytest.mark.xdist_group("kafka")

RESTARTS = {"initial_isr": 1, "lossy_crashes": 1, "min_insync_replicas": 2}
SHRINKS = {"isr_shrinks": 1, "min_insync_replicas": 2}
ELECTIONS = {"initial_isr": 1, "spurious_fences": 1, "leader_epoch_max": 2}
SHUTDOWNS = {"controlled_shutdowns": 1, "leader_moves": 1, "leader_epoch_max": 2}

SHOWN: dict[str, Any] = {
    "leader": 0, "leaderEpoch": 0, "partitionEpoch": 0, "replicas": [0, 1], "isr": [0, 1], "elr": [],
    "lastKnownElr": [], "removing": [], "registrations": [["active", 0], ["active", 0]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        ("leader", -1, "leader"),
        ("leaderEpoch", 1, "leader epoch"),
        ("partitionEpoch", 1, "partition epoch"),
        ("replicas", [0], "assignment"),
        ("isr", [0], "ISR"),
        ("elr", [1], "ELR"),
        ("lastKnownElr", [1], "last known leader"),
        ("removing", [1], "replicas to be removed"),
        ("registrations", [["fenced", 0], ["active", 0]], "broker b0 standing"),
        ("registrations", [["active", 0], ["active", 1]], "broker b1 epoch"),
        ("elects", 1, "election due"),
    ],
)
def test_each_field_of_the_controller_can_differ(claim: Claim, key: str, value: Any, field: str) -> None:
    spec = claim()
    state = spec.system().initial[0]

    def parted(seen: dict[str, Any]) -> list[str]:
        return [each.field for each in differences(state, {"controller": seen}, spec.protocol, spec.bounds)]

    assert parted(SHOWN) == []
    assert parted({**copy.deepcopy(SHOWN), key: value}) == [f"controller.{field}"]


def after(spec: Spec, *steps: tuple[str, dict[str, Any]]) -> Any:
    """The state after some steps from the initial one."""
    system = spec.system()
    state = system.initial[0]
    for name, arguments in steps:
        instance = next(each for each in system.actions if each.of.name == name and each.arguments == arguments)
        state = successor(instance, state, system.domain)
        assert state is not None, name
    return state


def test_an_answer_is_compared_by_its_code_and_epochs(claim: Claim) -> None:
    spec = claim(isr_shrinks=1)
    state = after(
        spec,
        ("produce", {"leader": 0}),
        ("propose_shrink", {"leader": 0, "follower": 1}),
        ("alter_partition", {"leader": 0}),
    )
    answer = {"broker": 0, "expected": "NONE", "error": "NONE", "leaderEpoch": 0, "partitionEpoch": 1, "isr": [0]}
    seen = {**SHOWN, "partitionEpoch": 1, "isr": [0], "answer": answer}
    assert not differences(state, {"controller": seen}, spec.protocol, spec.bounds)
    for key, value in (("error", "FENCED_LEADER_EPOCH"), ("leaderEpoch", 1), ("partitionEpoch", 2), ("isr", [0, 1])):
        other = {**seen, "answer": {**answer, key: value}}
        found = differences(state, {"controller": other}, spec.protocol, spec.bounds)
        assert len(found) == 1, key
        assert "answer" in found[0].field


def test_between_unfencing_and_the_election_that_follows_the_controller_does_nothing_else(claim: Claim) -> None:
    spec = claim(**ELECTIONS)
    state = after(spec, ("fence", {"broker": 0, "successor": None}), ("unfence", {"broker": 0}))
    assert election_due(state, spec.protocol) == [0]
    system = without_delayed_elections(spec.system(), spec.protocol)
    taken = {each.of.name for each in system.actions if successor(each, state, system.domain) is not None}
    assert taken & STEPS.keys() == {"elect"}
    for instance in system.actions:
        if instance.of.name in REFUSABLE and successor(instance, state, system.domain) is None:
            called = operations_of(instance, state, spec.protocol, spec.bounds)
            assert not called or called[0]["do"] == "controller elect", instance


def test_a_step_that_names_a_successor_where_no_election_follows_calls_nothing(claim: Claim) -> None:
    spec = claim(spurious_fences=1)
    state = spec.system().initial[0]
    calls = {
        (each.arguments["broker"], each.arguments["successor"]): operations_of(each, state, spec.protocol, spec.bounds)
        for each in spec.system().actions
        if each.of.name == "fence"
    }
    assert [key for key, called in calls.items() if not called] == [(1, 0), (1, 1)]
    assert calls[1, None][0]["leader"] == 0
    assert calls[0, None][0]["leader"] == -1


def test_the_controller_begins_with_the_settings_of_the_spec_whatever_rule_is_changed(claim: Claim) -> None:
    changed, spec = claim(protocol={"elr": False}), claim(min_insync_replicas=2)
    begun = begin(changed.system().initial[0], spec.bounds, spec.protocol)
    assert begun["elr"] is True
    assert begun["min_insync_replicas"] == 2
    assert begun["registrations"] == [[0, 0, False], [1, 0, False]]


@IN_A_JVM
@pytest.mark.parametrize(
    ("protocol", "bounds", "steps"),
    [
        ({}, {**RESTARTS, "leader_epoch_max": 2}, {"fence", "unfence", "alter_partition", "elect_last_known_leader"}),
        ({"unclean_election": True}, ELECTIONS, {"fence", "elect", "elect_uncleanly"}),
        ({}, SHUTDOWNS, {"begin_controlled_shutdown", "move_leadership", "restart"}),
    ],
    ids=["restarts", "elections", "shutdowns"],
)
def test_kafkas_controller_takes_every_path_of_the_models(
    claim: Claim, session: Session, protocol: dict[str, Any], bounds: dict[str, int], steps: set[str]
) -> None:
    found = session.conform(claim(protocol=protocol, **bounds), Wanted())
    assert found.agrees
    assert found.complete
    assert found.executed == found.reachable
    assert steps <= found.executed.keys()


@IN_A_JVM
@pytest.mark.parametrize(
    ("bounds", "wrong"),
    [
        (
            RESTARTS,
            [
                Wrong("controller_rejects_ineligible", "false", RESTARTS, "alter_partition", "answer"),
                Wrong("controller_checks_broker_epoch", "false", RESTARTS, "alter_partition", "answer"),
                Wrong("isr_may_be_empty", "false", RESTARTS, "fence", "ISR"),
                Wrong("unclean_shutdown_removes_from_elr", "false", RESTARTS, "restart", "ELR"),
                Wrong("last_known_leader", "never", RESTARTS, "unfence", "election due"),
            ],
        ),
        (
            SHRINKS,
            [
                Wrong("elr", "false", SHRINKS, "alter_partition", "ELR"),
                Wrong("isr_cas", "false", SHRINKS, "alter_partition", "answer"),
                Wrong("repeated_change_succeeds", "true", SHRINKS, "alter_partition", "answer"),
                Wrong("isr_shrink_bumps_leader_epoch", "always", SHRINKS, "alter_partition", "leader epoch"),
            ],
        ),
    ],
    ids=["restarts", "shrinks"],
)
def test_a_rule_of_the_controller_set_wrong_is_contradicted_at_its_step(
    claim: Claim, session: Session, bounds: dict[str, int], wrong: list[Wrong]
) -> None:
    said = contradicted(session, claim(**bounds), wrong)
    for each in wrong:
        assert (each.action, each.field) in said[str(each)], each
