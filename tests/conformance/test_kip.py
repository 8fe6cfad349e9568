"""The patched class of docs/kip.md departs from its release's rules, and agrees with the preset that has the patch's
rule.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from highwater.claims.conformance import Session, Wanted
from highwater.claims.spec import Spec
from highwater.conformance.distribution import find
from highwater.conformance.process import Harness
from highwater.reports.conformance import run_of_trace
from tests.conformance.conftest import PATCHED as RELEASE

Claim = Callable[..., Spec]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kafka")]

ROOT = Path(__file__).parents[2]
FLAW = "kafka_4_1_counts_offsets_from_before_an_election_that_it_never_noticed"


@pytest.fixture(scope="module")
def with_the_patch(patched: Path) -> Iterator[Session]:
    """The release with this class."""
    with Harness(find(os.pathsep.join([str(patched), *find(RELEASE).class_path]))) as harness:
        yield Session(harness)


def test_a_patched_class_parts_from_its_release_and_agrees_with_the_rule_that_it_repairs(
    claim: Claim, with_the_patch: Session
) -> None:
    of_the_release = with_the_patch.conform(claim("kafka-4.1", leader_epoch_max=2, leader_moves=2), Wanted())
    repaired = with_the_patch.conform(claim("repaired", leader_epoch_max=2, leader_moves=2), Wanted())
    assert {each.action.of.name for each in of_the_release.divergences} == {"learn_leadership"}
    fields = {each.field for divergence in of_the_release.divergences for each in divergence.differences}
    assert "b0.follower b1 log end offset" in fields
    assert repaired.agrees
    assert repaired.executed == repaired.reachable


def test_the_trace_of_a_flaw_is_what_the_release_does_and_not_what_the_patched_class_does(
    with_the_patch: Session, kafka_of: Callable[[str], Harness], tmp_path: Path
) -> None:
    spec, report = ROOT / "specs" / "partition" / "releases" / f"{FLAW}.toml", tmp_path / "flaw.json"
    check = [sys.executable, "-m", "highwater", "check", str(spec), "--json", str(report)]
    assert subprocess.run(check, capture_output=True).returncode == 0
    flaw = run_of_trace(report)
    of_the_release = Session(kafka_of(RELEASE)).replay(*flaw)
    of_the_patch = with_the_patch.replay(*flaw)
    assert of_the_release.agrees
    assert of_the_release.findings.steps == 12
    (divergence,) = of_the_patch.divergences
    assert (len(divergence.trace), str(divergence.action)) == (9, "learn_leadership(broker b0, epoch e2)")
    parted = {each.field for each in divergence.differences}
    assert {"b0.follower b1 log end offset", "b0.follower b1 broker epoch"} <= parted
