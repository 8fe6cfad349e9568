"""The harness's view of brokers against the model's fields: equal where it should be, and each field can differ."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from highwater.claims.spec import Spec
from highwater.conformance.abstraction import NOT_SHOWN, both_sides, differences
from highwater.model.language.domain import ArrayOf, Maybe, SequenceOf, Struct
from highwater.model.language.records import domain_of
from highwater.model.partition.batches import Record
from highwater.model.partition.state import Partition

Claim = Callable[..., Spec]

LEADER: dict[str, Any] = {
    "up": True, "checkpoint": 0, "hw": 0, "leo": 0, "start": 0, "log": [], "epochs": [[0, 0]], "leader": 0,
    "leaderEpoch": 0, "partitionEpoch": 0, "isr": [0, 1], "maximalIsr": [0, 1], "proposed": None, "replicas": [0, 1],
    "epochStart": 0, "followers": {"1": [-1, False, -1, 0]}, "dead": [], "requests": [], "fetch": None,
    "answers": {}, "consumer": None, "deletions": {},
}  # fmt: skip
FOLLOWER: dict[str, Any] = {
    "up": True, "checkpoint": 0, "hw": 0, "leo": 0, "start": 0, "log": [], "epochs": [], "leader": 0, "leaderEpoch": 0,
    "partitionEpoch": 0, "fetch": None, "answers": {}, "consumer": None,
}  # fmt: skip


@pytest.fixture
def compared(claim: Claim) -> Callable[[dict[str, Any]], list[str]]:
    spec = claim(checkpoints=1)
    state = spec.system().initial[0]
    return lambda seen: [each.field for each in differences(state, seen, spec.protocol, spec.bounds)]


def test_an_initial_state_equals_that_of_real_brokers(compared: Callable[[dict[str, Any]], list[str]]) -> None:
    assert compared({"0": LEADER, "1": FOLLOWER}) == []


@pytest.mark.parametrize(
    ("broker", "key", "value", "field"),
    [
        ("0", "up", False, "b0.up"),
        ("0", "checkpoint", 1, "b0.checkpoint"),
        ("0", "hw", 1, "b0.high watermark"),
        ("0", "leo", 1, "b0.log end offset"),
        ("0", "start", 1, "b0.log start"),
        ("0", "log", [[0, 0, 0]], "b0.log"),
        ("0", "epochs", [], "b0.epoch cache"),
        ("1", "leader", 1, "b1.leader"),
        ("1", "leaderEpoch", 1, "b1.leader epoch"),
        ("0", "partitionEpoch", 1, "b0.partition epoch"),
        ("0", "isr", [0], "b0.ISR"),
        ("0", "maximalIsr", [0], "b0.maximal ISR"),
        ("0", "proposed", [0], "b0.proposed ISR"),
        ("0", "replicas", [0], "b0.assignment"),
        ("0", "epochStart", 1, "b0.epoch start"),
        ("0", "followers", {"1": [0, False, -1, 0]}, "b0.follower b1 log end offset"),
        ("0", "followers", {"1": [-1, False, 0, 0]}, "b0.follower b1 broker epoch"),
        ("0", "answers", {"0": "NONE"}, "b0.producer of r0"),
        ("0", "answers", {"0": "REQUEST_TIMED_OUT"}, "b0.producer of r0"),
        ("0", "answers", {"0": "UNKNOWN_SERVER_ERROR"}, "b0.producer of r0"),
        ("1", "consumer", [0, 0], "b1.record at 0 of a waiting consumer"),
        ("1", "heard", 1, "b1.high watermark of a listener"),
        ("0", "deletions", {"0": "waits"}, "b0.deletion below 0"),
        ("0", "deletions", {"1": "NONE"}, "b0.deletion below 1"),
        ("0", "deletions", {"1": "NOT_LEADER_OR_FOLLOWER"}, "b0.deletion below 1"),
        ("0", "questions", [["AtMinIsr", [[1]], 1]], "b0.answer to AtMinIsr([1])"),
    ],
)
def test_each_field_can_differ(
    compared: Callable[[dict[str, Any]], list[str]], broker: str, key: str, value: Any, field: str
) -> None:
    seen = {"0": copy.deepcopy(LEADER), "1": copy.deepcopy(FOLLOWER)}
    seen[broker][key] = value
    assert compared(seen) == [field]


def test_a_broker_that_leads_on_one_side_only_differs(compared: Callable[[dict[str, Any]], list[str]]) -> None:
    asked = [["lowWatermark", [0], "NOT_LEADER_OR_FOLLOWER"]]
    found = compared({"0": {**copy.deepcopy(FOLLOWER), "questions": asked}})
    assert "b0.answer to lowWatermark(0)" in found


@pytest.mark.parametrize("key", ["answers", "consumer"])
def test_clients_that_a_broker_does_not_show_pass_for_no_agreement(
    compared: Callable[[dict[str, Any]], list[str]], key: str
) -> None:
    with pytest.raises(KeyError, match=key):
        compared({"0": {name: value for name, value in LEADER.items() if name != key}})


def test_a_consumer_that_is_not_woken_is_noticed(claim: Claim) -> None:
    spec = claim()
    state = spec.system().initial[0]
    follower = attrs.evolve(state.replicas[1], log=(Record(0, 0),), high_watermark=1)
    state = state.with_replica(1, follower)
    real = {**FOLLOWER, "log": [[0, 0, 0]], "leo": 1, "hw": 1}
    for record, wrong in ((0, []), (None, ["b1.record at 0 of a waiting consumer"])):
        seen = {"1": {**real, "consumer": [0, record]}}
        assert [each.field for each in differences(state, seen, spec.protocol, spec.bounds)] == wrong


def test_a_fetch_on_its_way_is_compared(claim: Claim) -> None:
    from highwater.model.partition.messages import Fetch, Stage

    spec = claim(fetch_steps=2)
    state = spec.system().initial[0]
    fetch = Fetch(Stage.NOTHING_NEW, 0, 0, 0, -1, 0, 0, 0, None)
    state = state.with_replica(1, attrs.evolve(state.replicas[1], fetch=fetch))
    real = {
        "stage": "nothing new",
        "leader": 0,
        "leaderEpoch": 0,
        "offset": 0,
        "epoch": -1,
        "highWatermark": 0,
        "logStart": 0,
    }
    assert not differences(state, {"1": {**FOLLOWER, "fetch": real}}, spec.protocol, spec.bounds)
    for key, value in (
        ("stage", "request"),
        ("leader", 1),
        ("leaderEpoch", 1),
        ("offset", 1),
        ("highWatermark", 1),
        ("logStart", 1),
    ):
        other = {**FOLLOWER, "fetch": {**real, key: value}}
        assert [each.field for each in differences(state, {"1": other}, spec.protocol, spec.bounds)] == ["b1.fetch"], (
            key
        )


def test_both_sides_have_all_fields_of_a_broker(claim: Claim) -> None:
    spec = claim()
    sides = both_sides(spec.system().initial[0], {"0": LEADER}, spec.protocol, spec.bounds)
    assert {"log", "ISR", "high watermark", "epoch cache"} <= {each.field for each in sides["b0"]}


def test_fields_that_are_not_shown_exist(claim: Claim) -> None:
    domain = domain_of(Partition, claim().bounds)
    for name in NOT_SHOWN:
        at: Any = domain
        for part in name.split("."):
            while isinstance(at, ArrayOf | SequenceOf | Maybe):
                at = at.of
            assert isinstance(at, Struct)
            assert part in at.fields, name
            at = at.fields[part]
