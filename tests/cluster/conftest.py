"""Counterexamples as the planner gets them, found step by step and without a search; and Kafka for whole clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highwater.claims.reproduction import Counterexample, plan
from highwater.claims.spec import Spec, load_spec, make_spec
from highwater.cluster.cluster import Cluster
from highwater.cluster.schedule import Schedule
from highwater.cluster.settings import Settings
from highwater.conformance.distribution import Distribution
from highwater.explorer.system import System, successor
from highwater.explorer.trace import violation_at
from highwater.explorer.verdict import Step, Violation
from tests.conformance.conftest import kafka

RECORDED = Path(__file__).parent / "recorded"
SPECS = Path(__file__).parents[2] / "specs" / "partition"
FLAW = SPECS / "releases" / "kafka_4_1_counts_offsets_from_before_an_election_that_it_never_noticed.toml"
FLAW_STEPS = """
    produce(leader b0)
    move_leadership(candidate b2)
    move_leadership(candidate b0)
    learn_leadership(broker b2, epoch e1)
    fetch_at_once(follower b1)
    fetch_at_once(follower b1)
    learn_leadership(broker b1, epoch e1)
    fetch_at_once(follower b1)
    learn_leadership(broker b0, epoch e2)
    propose_shrink(leader b0, follower b2)
    alter_partition(leader b0)
    receive_isr_answer(leader b0)
"""


def steps_of(system: System, lines: str) -> tuple[Step, ...]:
    """The steps that some lines name, executed."""
    actions = {str(action): action for action in system.actions}
    steps = [Step(None, system.initial[0])]
    for line in lines.strip().splitlines():
        after = successor(actions[line.strip()], steps[-1].state, system.domain)
        assert isinstance(after, system.domain.cls), line
        steps.append(Step(actions[line.strip()], after))
    return tuple(steps)


def counterexample(spec: Spec, lines: str) -> Counterexample:
    """A counterexample of a spec's first property."""
    system = spec.system()
    trace = steps_of(system, lines)
    wanted = [each for each in system.invariants if not each.apply(trace[-1].state)]
    return about(spec, violation_at(system, wanted[0], trace))


def about(spec: Spec, violation: Violation) -> Counterexample:
    return Counterexample("report.json", spec.name, spec.definition, spec.protocol, spec.bounds, violation)


def claim(preset: str, check: str, protocol: dict[str, Any] | None = None, **bounds: int) -> Spec:
    keys = {"model": "partition", "preset": preset, "protocol": protocol or {}, "bounds": bounds, "check": [check]}
    return make_spec("a claim", keys)


@pytest.fixture(scope="session")
def flaw() -> Counterexample:
    return counterexample(load_spec(FLAW), FLAW_STEPS)


@pytest.fixture(scope="session")
def planned(flaw: Counterexample) -> tuple[Schedule, int]:
    return plan(flaw)


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The classes of the newest release as Java has them in memory (class data sharing). A broker writes it as it ends:
    most processes are brokers, and a controller takes no longer with it than with one of its own.
    """
    release, file = kafka(), tmp_path_factory.mktemp("classes") / "archive.jsa"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", f"-XX:ArchiveClassesAtExit={file}")
        with Cluster(release, Settings(brokers=1)) as cluster:
            cluster.brokers[0].terminate(cluster.settings.start_seconds)
    return file


@pytest.fixture
def newest(archive: Path, monkeypatch: pytest.MonkeyPatch) -> Distribution:
    """The newest release, whose processes begin with the archive: to read and verify its classes takes each of them two
    fifths of its time until it is up.
    """
    monkeypatch.setenv("JDK_JAVA_OPTIONS", f"-XX:SharedArchiveFile={archive}")
    return kafka()
