"""The page of a divergence: both sides in lanes, what differs marked, the real call and its result."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highwater.claims.conformance import Conformance
from highwater.claims.spec import Spec
from highwater.conformance import operations
from highwater.conformance.abstraction import differences
from highwater.conformance.lockstep import Divergence, Executed, Findings
from highwater.conformance.model_side import operations_of
from highwater.conformance.seen import as_seen
from highwater.explorer.system import successor
from highwater.explorer.verdict import Step
from highwater.viewer.conformance import REAL, page
from tests.conformance.test_abstraction import FOLLOWER, LEADER

Claim = Callable[..., Spec]


def diverging(spec: Spec, errors: tuple[str, ...] = (), refused: bool = False, **seen: Any) -> Conformance:
    """A run in which Kafka's leader is otherwise after it has appended a record."""
    system = spec.system()
    produce = next(each for each in system.actions if each.of.name == "produce" and each.arguments["leader"] == 0)
    before = system.initial[0]
    after = before if refused else successor(produce, before, system.domain)
    real = {"0": copy.deepcopy(LEADER) | {"leo": 1, "log": [[0, 0, 0]]} | seen}
    parted = tuple(differences(after, real, spec.protocol, spec.bounds))
    assert parted
    calls = tuple(operations_of(produce, before, spec.protocol, spec.bounds))
    executed = Executed(tuple({"do": call["do"], "broker": 0} for call in calls), errors, real)
    found = Divergence((Step(None, before),), produce, after, refused, parted, executed)
    findings = Findings(steps=1, runs=1, divergences=[found])
    findings.counts[found.kind] = 1
    return Conformance(spec, "4.3.1", {"produce": 1}, {}, "", findings)


def cells(html: str) -> list[str]:
    """The lanes of the last step, the model's first."""
    return re.findall(r"<td.*?</td>", html.rpartition('<tr class="first last">')[2].partition("</tr>")[0], re.DOTALL)


def test_the_last_step_has_a_lane_of_both_sides_and_the_fields_that_differ(claim: Claim) -> None:
    html = page(diverging(claim(), hw=1, isr=[0]))
    controller, clients, model, _, _, kafka, _ = cells(html)
    assert "apart" not in controller + clients
    for lane, high_watermark, isr in ((model, "0", "[0, 1]"), (kafka, "1", "[0]")):
        assert "apart" in lane
        assert f'<span class="name">high watermark</span> {high_watermark}</span>' in lane
        assert f'<span class="name">ISR</span> {isr}</span>' in lane
        assert '<span class="name">log end offset</span>' not in lane
        assert "r0" in lane
    assert "ReplicaManager#appendRecords" in html
    assert "no exception" in html


def test_an_exception_of_the_real_call_is_shown_as_its_result(claim: Claim) -> None:
    html = page(diverging(claim(), ("NotLeaderOrFollowerException: not <b0>",), hw=1))
    assert "NotLeaderOrFollowerException: not &lt;b0&gt;" in html
    assert "no exception" not in html


def test_a_step_that_only_kafka_takes_is_named_as_refused(claim: Claim) -> None:
    html = page(diverging(claim(), refused=True))
    assert "which the model refuses" in html
    model, kafka = cells(html)[2], cells(html)[5]
    assert "r0" not in model
    assert "r0" in kafka


@pytest.mark.parametrize(("key", "value"), [("up", False), ("leader", 1), ("isr", []), ("hw", None)])
def test_unexpected_values_of_kafka_are_drawn(claim: Claim, key: str, value: Any) -> None:
    kafka = cells(page(diverging(claim(), **{key: value})))[5]
    assert "apart" in kafka
    assert "badge" in kafka


def test_an_initial_state_seen_is_the_initial_state(claim: Claim) -> None:
    initial = claim().system().initial[0]
    assert as_seen(initial, {"0": LEADER, "1": FOLLOWER}) == initial


def test_every_operation_names_the_call_it_makes() -> None:
    used = re.findall(r'(?:"do": |_fetching\()"(\w+)"', Path(operations.__file__).read_text())
    assert set(used) - {"reset"} == REAL.keys()
