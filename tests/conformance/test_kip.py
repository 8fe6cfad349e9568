"""The patched class of docs/kip.md departs from its release's rules, and agrees with the preset that has the patch's
rule.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from highwater.claims.conformance import Session, Wanted
from highwater.claims.spec import Spec
from highwater.conformance.distribution import find
from highwater.conformance.process import Harness
from highwater.conformance.programs import BRIEFLY
from highwater.reports.conformance import run_of_trace
from tests.conformance.conftest import harness_of

Claim = Callable[..., Spec]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kafka")]

ROOT = Path(__file__).parents[2]
FLAW = "kafka_4_1_counts_offsets_from_before_an_election_that_it_never_noticed"
RELEASE = "4.1.1"
REPLICA = "org/apache/kafka/server/replica/Replica.java"


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the one class that is patched: each new leader epoch forgets what was known of followers."""
    harness_of(RELEASE)
    folder = tmp_path_factory.mktemp("patched")
    if (mvn := shutil.which("mvn")) is None:
        pytest.skip("needs Maven")
    artifact = f"-Dartifact=org.apache.kafka:kafka-server:{RELEASE}:jar:sources"
    copy = [mvn, "-q", "-B", "dependency:copy", artifact, f"-DoutputDirectory={folder}"]
    if subprocess.run(copy, cwd=folder, capture_output=True).returncode:
        pytest.skip("needs Kafka's sources")
    with zipfile.ZipFile(folder / f"kafka-server-{RELEASE}-sources.jar") as sources:
        text = sources.read(REPLICA).decode()
    assert text.count("if (isNewLeader) {") == 1
    source = folder / "Replica.java"
    source.write_text(text.replace("if (isNewLeader) {", "if (true) {"))
    class_path = os.pathsep.join(find(RELEASE).class_path)
    command = ["javac", *BRIEFLY, "-nowarn", "-d", str(folder / "classes"), "-cp", class_path, str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "classes"


def test_a_patched_class_parts_from_its_release_and_agrees_with_the_rule_that_it_repairs(
    claim: Claim, patched: Path
) -> None:
    where = os.pathsep.join([str(patched), *find(RELEASE).class_path])
    with Harness(find(where)) as harness:
        session = Session(harness)
        of_the_release = session.conform(claim("kafka-4.1", leader_epoch_max=2, leader_moves=2), Wanted())
        repaired = session.conform(claim("repaired", leader_epoch_max=2, leader_moves=2), Wanted())
    assert {each.action.of.name for each in of_the_release.divergences} == {"learn_leadership"}
    fields = {each.field for divergence in of_the_release.divergences for each in divergence.differences}
    assert "b0.follower b1 log end offset" in fields
    assert repaired.agrees
    assert repaired.executed == repaired.reachable


def test_the_trace_of_a_flaw_is_what_the_release_does_and_not_what_the_patched_class_does(
    patched: Path, tmp_path: Path
) -> None:
    spec, report = ROOT / "specs" / "partition" / "releases" / f"{FLAW}.toml", tmp_path / "flaw.json"
    check = [sys.executable, "-m", "highwater", "check", str(spec), "--json", str(report)]
    assert subprocess.run(check, capture_output=True).returncode == 0
    flaw = run_of_trace(report)
    with Harness(find(RELEASE)) as harness:
        of_the_release = Session(harness).replay(*flaw)
    with Harness(find(os.pathsep.join([str(patched), *find(RELEASE).class_path]))) as harness:
        of_the_patch = Session(harness).replay(*flaw)
    assert of_the_release.agrees
    assert of_the_release.findings.steps == 12
    (divergence,) = of_the_patch.divergences
    assert (len(divergence.trace), str(divergence.action)) == (9, "learn_leadership(broker b0, epoch e2)")
    parted = {each.field for each in divergence.differences}
    assert {"b0.follower b1 log end offset", "b0.follower b1 broker epoch"} <= parted
