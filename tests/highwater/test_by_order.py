"""Claims by the order of epochs: their keys in a spec, and their verdicts, which differ from those within bounds."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from highwater.api import graph
from highwater.claims.checking import Engine, Result, Status, check_spec
from highwater.claims.following import follow
from highwater.claims.spec import SpecError, load_spec, make_spec
from highwater.explorer.classes import class_after
from highwater.explorer.system import Cut
from highwater.exploring.session import Session
from highwater.files import ReportError
from highwater.reports.replaying import replay, subject_of
from highwater.reports.results import about_spec, entry_of
from highwater.reports.terminal import plain_text
from highwater.viewer.exports import EXPORTS
from highwater.viewer.index import counterexample_in

SPECS = Path(__file__).parents[2] / "specs" / "kraft"
LIVELOCK = SPECS / "a_flapping_isr_keeps_a_replacement_from_completing.toml"
KEYS: dict[str, Any] = {
    "model": "kraft",
    "preset": "kafka-4.3",
    "bounds": {
        "brokers": 2, "replication_factor": 2, "leader_epoch_max": 2, "partition_epoch_max": 5, "shrinks": 1,
        "elections": 1,
    },
    "by_order": ["leader_epochs", "partition_epochs", "shrinks", "elections"],
    "check": ["leaders_are_in_the_isr"],
    "expect": {"verdict": "holds", "any_number_of": ["partition_epochs", "shrinks"]},
}  # fmt: skip


def keys(**changes: Any) -> dict[str, Any]:
    return {**KEYS, **changes}


@pytest.fixture(scope="module")
def met() -> Result:
    return check_spec(make_spec("any_number", KEYS), Engine.PYTHON)


@pytest.fixture(scope="module")
def lasso() -> dict[str, Any]:
    entry = entry_of(check_spec(load_spec(LIVELOCK)))
    return json.loads(json.dumps(entry))


def test_a_verdict_for_any_number_lists_the_numbers(met: Result) -> None:
    assert met.status is Status.MET
    text = plain_text(met)
    assert "holds for any number of leader epochs, partition epochs, shrinks and elections: leaders_are" in text
    assert "none of them cut a step" in text
    assert "distinct up to the order of leader epochs, partition epochs, shrinks and elections" in text
    entry = entry_of(met)
    assert entry["by_order"] == entry["any_number_of"] == KEYS["by_order"]


def test_a_verdict_within_bounds_is_reported_as_such(met: Result) -> None:
    bounded = check_spec(make_spec("bounded", keys(by_order=[], expect={"verdict": "holds"})), Engine.PYTHON)
    assert bounded.status is Status.MET
    assert "holds within these bounds" in plain_text(bounded)
    assert "up to the order" not in plain_text(bounded)
    assert entry_of(bounded)["any_number_of"] == []
    assert "shrinks" in bounded.outcome.bounds_cut
    assert met.outcome.bounds_cut == {}


def test_a_bound_without_room_for_a_new_epoch_leaves_the_claim_unmet() -> None:
    small = keys(bounds={**KEYS["bounds"], "partition_epoch_max": 1})
    result = check_spec(make_spec("too_small", small), Engine.PYTHON)
    assert result.status is Status.UNMET
    (mismatch,) = result.mismatches
    assert mismatch.key == "expect.any_number_of"
    assert "any number of partition epochs, but partition_epoch_max cut" in mismatch
    assert "holds for any number of leader epochs, shrinks and elections, and within the bounds partition_epoch" in (
        plain_text(result)
    )


def test_a_session_takes_the_steps_that_a_search_takes() -> None:
    """A bound that cuts a step in its class cuts it there, too, though its real numbers have room."""
    spec = make_spec("too_small", keys(bounds={**KEYS["bounds"], "partition_epoch_max": 1}))
    session, cut, chance = Session(about_spec(spec), subject_of(about_spec(spec))), 0, random.Random(1)
    for _ in range(60):
        choices = session.choices()
        for each in choices:
            _, of = class_after(session.system, each.action, session.system.class_of(session.at.step.state))
            assert bool(each.bounds) == isinstance(of, Cut), str(each.action)
            cut += bool(each.bounds)
        enabled = [each.number for each in choices if each.enabled]
        session.take(chance.choice(enabled)) if enabled else session.go(0)
    assert cut
    steps = session.at.path[1:]
    taken = [(each.step.taken.of.name, each.step.taken.shown) for each in steps]
    assert follow(spec, taken).trace[-1].state == session.at.step.state


def test_both_engines_report_the_same_counts(met: Result) -> None:
    local = check_spec(make_spec("any_number", KEYS))
    for name in ("verdict", "levels", "generated", "bounds_cut", "any_number_of", "by_order"):
        assert getattr(local.outcome, name) == getattr(met.outcome, name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"by_order": ["leader_epoch"]}, "by_order: 'leader_epoch' is no group .*; allowed are commits, elections, "),
        ({"by_order": "leader_epochs"}, 'by_order: "leader_epochs" is not a list of texts'),
        ({"by_order": ["shrinks"]}, 'expect.any_number_of: "partition_epochs" is not in by_order'),
        (
            {"expect": {"verdict": "violated", "any_number_of": ["shrinks"]}},
            'any_number_of can be claimed for verdict = "holds" only',
        ),
        (
            {"bounds": {**KEYS["bounds"], "leader_epoch_max": 16}},
            "bounds.leader_epoch_max: 16 is out of range",
        ),
    ],
)
def test_an_impossible_claim_by_order_is_refused_by_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make_spec("wrong", keys(**changes))


def test_a_model_that_declares_no_order_is_reported() -> None:
    spec = {
        "model": "reference",
        "protocol": {"variant": "async-isr"},
        "bounds": {"brokers": 2, "offset_max": 1, "version_max": 1},
        "by_order": ["versions"],
        "check": ["no_deadlock"],
    }
    with pytest.raises(SpecError, match="the model declares none"):
        make_spec("wrong", spec)


def test_a_count_may_have_a_constant_that_keeps_its_place() -> None:
    """`crash_with_loss` asks whether anything was committed. 0 is a constant; how much it is does not matter."""
    bounds = {**KEYS["bounds"], "commits": 2, "lossy_crashes": 1, "shrinks": 0, "elections": 0}
    wanted = keys(bounds=bounds, by_order=["commits"], expect={"verdict": "holds", "any_number_of": ["commits"]})
    result = check_spec(make_spec("commits", wanted), Engine.PYTHON)
    assert result.status is Status.MET
    assert result.outcome.enabled["crash_with_loss"] > 0


def test_a_livelock_through_epochs_is_shown_in_real_numbers_and_replays(lasso: dict[str, Any]) -> None:
    assert (lasso["status"], lasso["trace_length"], lasso["back_to"]) == ("met", 11, 5)
    first, last = (lasso["trace"][step]["state"]["partitions"][0]["partition_epoch"] for step in (5, 11))
    assert last == first + 2
    assert "with new partition epochs and shrinks each time" in lasso["witness"]
    _, violation = replay(lasso)
    assert (violation.back_to, violation.witness) == (5, lasso["witness"])


def test_without_the_order_the_last_state_is_not_the_first_of_the_cycle(lasso: dict[str, Any]) -> None:
    with pytest.raises(ReportError, match="is not violated"):
        replay({**lasso, "by_order": []})


def test_an_export_draws_no_loop_back_to_another_state(lasso: dict[str, Any]) -> None:
    assert "loop" not in json.loads(EXPORTS["itf"](counterexample_in(lasso)))


def test_the_graph_is_that_of_the_search(met: Result) -> None:
    found = graph(met.spec)
    outcome = met.outcome
    assert (len(found), found.number_of_edges()) == (outcome.distinct_states, outcome.generated)
    assert max(depth for _, depth in found.nodes(data="depth")) == outcome.depth
    states = [value for _, value in found.nodes(data="value")]
    assert states == [met.spec.system().class_of(state) for state in states]
