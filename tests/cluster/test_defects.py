"""Defects of the controller: how a run is judged, what is refused, and the runs themselves on a real cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from highwater.cli.main import main
from highwater.cluster import (
    controller_defects,
    directory_defects,
    partition_defects,
    quorum_defects,
    zookeeper_defects,
)
from highwater.cluster.defects import DEFECTS, way_of
from highwater.cluster.nodes import TimeoutExceeded
from highwater.cluster.observing import Control
from highwater.cluster.partition_defects import elected
from highwater.cluster.runs import Reading
from highwater.cluster.ways import refuse_unless_possible
from highwater.conformance.distribution import Distribution, KafkaError
from tests.conformance.conftest import NEWEST, kafka

CLEANLY = "controller: partition change for t-1: isr: [1] -> [0], leader: 1 -> 0, leaderEpoch: 1 -> 2, elr: [0] -> [1]"
UNCLEANLY = f"{CLEANLY}, leaderRecoveryState: RECOVERED -> RECOVERING"
ALL = Reading(((0, "r0", 0), (1, "r1", 0)), 2)


class Recorded:
    """A stage on which everything has happened already."""

    cluster = None

    def __init__(self, leader: int, after: Reading, line: str) -> None:
        self._leader, self._after, self._line = leader, after, line
        self.deeds: list[Any] = []

    @contextmanager
    def deed(self, did: str) -> Any:
        yield
        self.deeds.append(type("Done", (), {"did": did, "lines": (self._line,)}))

    def await_record(self, wanted: Any, what: str, seconds: float = 0) -> Control:
        found = Control(self._leader, 2, frozenset({self._leader}))
        if not wanted(found):
            raise TimeoutExceeded(what)
        return found

    def describe(self, broker: int) -> None: ...

    def log(self, broker: int) -> Sequence[str]:
        return "r0@e0", "r1@e0"

    def read(self, broker: int, did: str) -> Reading:
        with self.deed(did):
            return self._after


@pytest.mark.parametrize(
    ("leader", "after", "line", "reproduced", "said"),
    [
        (0, Reading((), 0), CLEANLY, True, "are gone in a clean election: r0, r1"),
        (0, Reading(((0, "r0", 0),), 1), CLEANLY, True, "are gone in a clean election: r1"),
        (0, ALL, CLEANLY, False, "b0 is elected, and has all records"),
        (0, Reading((), 0), UNCLEANLY, False, "b0 is elected uncleanly"),
        (-1, Reading((), 0), CLEANLY, False, "b0 is not elected: the leader is none; b1's log has r0 r1"),
        (2, Reading((), 0), CLEANLY, False, "b0 is not elected: the leader is b2"),
    ],
)
def test_records_are_lost_only_if_a_clean_election_loses_them(
    monkeypatch: pytest.MonkeyPatch, leader: int, after: Reading, line: str, reproduced: bool, said: str
) -> None:
    monkeypatch.setattr(partition_defects, "_start_the_former_leader", lambda stage, after: None)
    verdict = elected(Recorded(leader, after, line), ALL, 0)  # type: ignore[arg-type]
    assert verdict.reproduced is reproduced
    assert said in verdict.sentence


def test_the_first_way_of_a_defect_is_its_default() -> None:
    for name, defect in DEFECTS.items():
        first = next(iter(defect.ways))
        assert way_of(name) == (f"{name}/{first}", defect.ways[first]) == way_of(f"{name}/{first}")
        assert not defect.ways[first].control
        assert any(way.control for way in defect.ways.values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["defect:nothing"],
            "defect:nothing: there is no such defect; allowed are elects-an-emptied-replica, leaves-a-",
        ),
        (["defect:deposes-controllers/by-mail"], "has no such way; allowed are registering, healed, same-min-insync-"),
        (["defect:deposes-controllers", "--runs", "2", "--keep", "new"], "--keep new: goes with one run"),
        (["defect:deposes-controllers", "--runs", "0"], "0 is not in the range 1<=x<=100"),
        (["defect:deposes-controllers", "--spec", "x"], "--spec goes with a report, not with a defect"),
        (["report.json", "--runs", "2"], "--runs goes with defect:NAME"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: list[str], said: str) -> None:
    ran = CliRunner().invoke(main, ["reproduce", *arguments, "--kafka", NEWEST])
    assert ran.exit_code == 2, ran.output
    assert said in ran.output
    assert "Traceback" not in ran.output


def test_a_release_without_zookeeper_is_refused_where_a_defect_is_about_it() -> None:
    _, way = way_of("keeps-no-controller")
    with pytest.raises(KafkaError, match=r"--kafka 4\.0\.0: Kafka 4\.0\.0 has no ZooKeeper, which"):
        refuse_unless_possible(Distribution("4.0.0", "4.0.0", ()), way)


def test_defects_are_listed_with_their_ways_and_controls() -> None:
    ran = CliRunner().invoke(main, ["list", "defects"])
    assert ran.exit_code == 0
    for name, defect in DEFECTS.items():
        assert f"defect:{name}  {defect.words}" in ran.output
        assert all(
            f"{'  control ' if way.control else '  '}{each}  " in ran.output for each, way in defect.ways.items()
        )


def bring_about(tmp_path: Path, name: str, on: Distribution) -> tuple[int, dict[str, Any]]:
    out = tmp_path / "found.json"
    ran = CliRunner().invoke(main, ["reproduce", f"defect:{name}", "--kafka", on.where, "--json", str(out)])
    assert ran.exit_code in (0, 1), ran.output
    return ran.exit_code, json.loads(out.read_text())


def reproduced(tmp_path: Path, name: str, on: Distribution) -> dict[str, Any]:
    """A run in which the defect came about."""
    code, found = bring_about(tmp_path, name, on)
    (run,) = found["runs"]
    assert code == 0 and run["reproduced"], run["verdict"]
    assert found["kafka"] == on.release
    return dict(run)


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_elects_an_emptied_replica(newest: Distribution, tmp_path: Path) -> None:
    run = reproduced(tmp_path, "elects-an-emptied-replica", newest)
    assert [len(deed["logs"][1]) for deed in run["deeds"]] == [0, 3, 3, 3, 3, 3, 3, 0], "b1 truncates at the end"
    assert all(not deed["logs"][0] for deed in run["deeds"][3:]), "b0's replica is empty from the reassignment on"
    assert any("elr: [] -> [0]" in line for line in run["deeds"][3]["lines"]), "who is no replica is eligible"
    assert any("consumer: nothing (end offset 0)" in line for line in run["deeds"][6]["lines"])


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_elects_nobody_in_the_first_partition(newest: Distribution, tmp_path: Path) -> None:
    code, found = bring_about(tmp_path, "elects-an-emptied-replica/first-partition", newest)
    (run,) = found["runs"]
    assert code == 0 and found["control"] and not run["reproduced"]
    assert run["verdict"] == "b0 is not elected: the leader is none; b1's log has r0 r1 r2"


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_has_its_active_controllers_deposed(
    newest: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker tries to register every two seconds or so."""
    monkeypatch.setattr(controller_defects, "WATCHED_SECONDS", 20.0)
    run = reproduced(tmp_path, "deposes-controllers", newest)
    assert "b1 never came up" in run["verdict"]


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_leaves_a_partition_without_a_leader(
    newest: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_defects, "LEADERLESS_SECONDS", 10.0)
    run = reproduced(tmp_path, "leaves-a-partition-without-a-leader", newest)
    assert any("elr: [0, 1] -> [0]" in line for line in run["deeds"][7]["lines"]), "who is no replica stays eligible"


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_ends_its_active_controller(
    newest: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quorum_defects, "MEANWHILE_MS", 2_000)
    run = reproduced(tmp_path, "ends-the-active-controller", newest)
    assert "no controller becomes active; a controller is active once it is started again" in run["verdict"]
    assert any("Unexpected acknowledgement from non-voter" in line for line in run["deeds"][3]["lines"])


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_never_completes_a_reassignment_back(
    newest: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_defects, "REASSIGNING_SECONDS", 5.0)
    run = reproduced(tmp_path, "never-completes-a-reassignment", newest)
    assert any("removingReplicas: [0] -> [1]" in line for line in run["deeds"][2]["lines"]), "what is added is removed"
    assert "replicas=b0, isr=b0" in run["deeds"][4]["lines"][-1], "a cancellation heals it"


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_keeps_consumers_fetching(
    newest: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_defects, "FETCHING_SECONDS", 3.0)
    run = reproduced(tmp_path, "keeps-consumers-fetching", newest)
    assert any("high watermark 2, ISR [0]" in line for line in run["deeds"][3]["lines"]), "b0 has heard of two records"
    assert "at offset 3" in run["deeds"][4]["lines"][-1], "the consumer has read three"


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_keeps_a_follower_out_of_the_isr(
    newest: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower fetches once a second where it meets errors."""
    monkeypatch.setattr(directory_defects, "JOINING_SECONDS", 5.0)
    run = reproduced(tmp_path, "keeps-a-follower-out-of-the-isr", newest)
    assert "a record is refused: NotEnoughReplicasException" in run["verdict"]
    assert run["verdict"].endswith("once there is a record b1 joins")


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_last_release_with_zookeeper_leaves_groups_without_a_coordinator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_defects, "JOINING_SECONDS", 10.0)
    run = reproduced(tmp_path, "leaves-groups-without-a-coordinator", kafka("3.9.1"))
    assert run["verdict"].endswith("once b1 is started again one does")
    assert any("in epoch 0 since current epoch is 1" in line for line in run["deeds"][5]["lines"])


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_ends_a_new_broker(
    newest: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quorum_defects, "STARTS", 1)
    run = reproduced(tmp_path, "ends-a-new-broker", newest)
    assert run["verdict"] == "b1 ended by itself in 1 of 1 starts; it is up once it asks another controller"
    assert any("Expected to be Follower" in line for line in run["deeds"][2]["lines"])


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_a_release_with_zookeeper_keeps_no_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zookeeper_defects, "WATCHED_SECONDS", 3.0)
    run = reproduced(tmp_path, "keeps-no-controller", kafka("3.9.1"))
    assert run["verdict"].endswith("once b2 is back it stays controller")
    assert any("the controller answers: error -1" in line for line in run["deeds"][1]["lines"])
