"""Several Java processes find what one finds, and none of them stays."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from highwater.claims.conformance import Wanted, paths_of
from highwater.claims.spec import Spec
from highwater.cli.main import main
from highwater.conformance import harnesses, lockstep
from highwater.conformance.distribution import KafkaError
from highwater.conformance.harnesses import Harnesses
from highwater.conformance.lockstep import LockStep
from highwater.conformance.process import Harness
from highwater.explorer.analysis.paths import Run
from tests.conformance.conftest import NEWEST, harness_of
from tests.conformance.test_process import SPEC

Claim = Callable[..., Spec]
KafkaOf = Callable[[str], Harness]
pytestmark = pytest.mark.xdist_group("kafka")


def found_by(kafka: Harness | Harnesses, spec: Spec, between: Callable[[], None] = lambda: None) -> tuple[Any, ...]:
    paths = paths_of(spec, Wanted())
    executing = LockStep(kafka, paths.system.actions, paths.engine.layout, spec.protocol, spec.bounds)

    def runs() -> Iterator[Run]:
        yield from paths.runs()
        between()
        yield from paths.walks(10, 40, ())

    found = executing.execute(runs())
    shown = [(each.kind, str(each.trace), each.differences, each.executed.operations) for each in found.divergences]
    return found.executed, found.steps, found.refused, found.runs, shown, found.counts


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_several_processes_find_what_one_finds(
    claim: Claim, kafka_of: KafkaOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = claim("kafka-3.6", process_crashes=1)
    alone = found_by(kafka_of(NEWEST), parts)
    assert alone[4]
    monkeypatch.setattr(lockstep, "OPERATIONS_AT_ONCE", 50)
    monkeypatch.setattr(harnesses, "FEW", 200)
    monkeypatch.setattr(harnesses, "MANY", 800)
    with Harnesses(kafka_of(NEWEST).distribution, 2) as several:
        first = several.pids
        assert found_by(several, parts) == alone
        now = several.pids
        assert (len(first), len(now)) == (1, 2)
        assert not alive(first[0]) and all(map(alive, now))
    assert not any(map(alive, now))


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="takes two processors"
)
def test_two_processes_keep_two_processors(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harnesses, "FEW", 200)
    all_of_them = os.sched_getaffinity(0)
    two = set(sorted(all_of_them)[:2])
    os.sched_setaffinity(0, two)
    try:
        with Harnesses(harness_of(NEWEST).distribution, 2) as several:
            assert os.sched_getaffinity(several.pids[0]) == two
            found_by(several, claim())
            kept = [os.sched_getaffinity(int(each.name)) for each in Path(f"/proc/{several.pids[0]}/task").iterdir()]
            assert kept and all(each == kept[0] for each in kept)
            assert kept[0] | os.sched_getaffinity(several.pids[1]) == two and len(kept[0]) == 1
    finally:
        os.sched_setaffinity(0, all_of_them)


def test_after_a_process_has_died_the_next_claim_has_others(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harnesses, "FEW", 0)
    with Harnesses(harness_of(NEWEST).distribution, 2) as several:
        alone = found_by(several, claim())
        before = several.pids
        with pytest.raises(KafkaError, match="the Java process ended with code"):
            found_by(several, claim(), lambda: os.kill(before[1], signal.SIGKILL))
        assert found_by(several, claim()) == alone
        assert len(before) == 2 and not any(map(alive, before)) and len(several.pids) == 2


def test_several_processes_are_refused_where_one_is_measured(tmp_path: Path) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SPEC)
    ran = CliRunner().invoke(
        main, ["conform", str(spec), "--kafka", NEWEST, "--processes", "2", "--coverage", str(tmp_path / "found")]
    )
    assert ran.exit_code == 2
    said = " ".join(ran.stderr.split())
    assert "--processes 2: goes without --coverage, which is of one process; allowed is 1" in said, ran.output
    assert not (tmp_path / "found").exists()
