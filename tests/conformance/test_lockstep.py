"""Kafka's own classes beside the model: they agree where the rules are the release's, and part where a rule is set
wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
from click.testing import CliRunner

from highwater.claims.conformance import Session, Wanted, paths_of
from highwater.claims.spec import Spec
from highwater.cli.main import main
from highwater.conformance import abstraction, controller_side, model_side, operations, partition_changes, questions
from highwater.conformance.distribution import KafkaError, find
from highwater.conformance.lockstep import LockStep
from highwater.conformance.process import Harness
from highwater.explorer.analysis.paths import Paths, Run
from highwater.model.partition import directories
from tests.conformance.conftest import NEWEST, harness_of

Claim = Callable[..., Spec]
KafkaOf = Callable[[str], Harness]
pytestmark = pytest.mark.xdist_group("kafka")


def kinds(found: Any) -> set[str]:
    return {each.action.of.name for each in found.divergences}


def test_every_path_of_two_moves_of_leadership_agrees_with_the_newest_release(claim: Claim, session: Session) -> None:
    found = session.conform(claim(leader_epoch_max=2, leader_moves=2), Wanted())
    assert found.agrees
    assert found.complete
    assert found.executed == found.reachable
    assert found.findings.refused > 0


def test_a_replica_that_leaves_the_assignment_and_comes_back_is_deleted_and_made_anew(
    claim: Claim, session: Session
) -> None:
    found = session.conform(claim(reassignments=1, leader_moves=1), Wanted())
    assert found.agrees
    assert found.executed == found.reachable
    assert {"remove_replica", "add_replica"} <= found.executed.keys()


def test_a_reassignment_beside_crashes_agrees_with_kafka(claim: Claim, kafka_of: KafkaOf) -> None:
    """Until 4.0 a leader that registers again is fenced, and leads on until there is a record: a reassignment would
    elect another one, and is left out.
    """
    bounds = {"brokers": 3, "reassignments": 1, "process_crashes": 1, "initial_records": 1}
    found = Session(kafka_of("3.9.1")).conform(claim("kafka-3.9.1", **bounds), Wanted())
    assert found.agrees and found.executed == found.reachable
    assert {"remove_replica", "add_replica", "restart"} <= found.executed.keys()


def test_a_leader_that_forgets_offsets_in_each_epoch_is_not_what_kafka_is(claim: Claim, session: Session) -> None:
    found = session.conform(claim("repaired", leader_epoch_max=2, leader_moves=2), Wanted())
    assert kinds(found) == {"learn_leadership"}
    fields = {difference.field for each in found.divergences for difference in each.differences}
    assert "b0.follower b1 log end offset" in fields


REMOVES = {"initial_isr": 1, "removals": 1}


def test_a_leader_is_reassigned_away_at_once_or_by_its_own_request_as_in_kafka(
    claim: Claim, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = session.conform(claim(**REMOVES), Wanted())
    assert found.agrees and found.executed == found.reachable
    assert {"begin_removal", "complete_removal"} <= found.executed.keys()
    monkeypatch.setattr(controller_side, "NEW_LEADER_ELECTED", "NONE")
    found = session.conform(claim(**REMOVES), Wanted())
    said = {(each.field, each.kafka) for one in found.divergences for each in one.differences}
    assert said == {("controller.answer", "NEW_LEADER_ELECTED")}


RECOVERS = {"initial_isr": 1, "process_crashes": 1, "leader_epoch_max": 2, "leader_recovery": 1}


def test_a_leader_that_was_elected_uncleanly_recovers_as_in_kafka(claim: Claim, session: Session) -> None:
    unclean = {"unclean_election": True}
    found = session.conform(claim("kafka-4.1", unclean, **RECOVERS), Wanted())
    assert found.agrees and found.executed == found.reachable
    assert "elect_uncleanly" in found.executed
    waits = {**unclean, "leader_recovers_at_once": False}
    found = session.conform(claim("kafka-4.1", waits, **RECOVERS), Wanted())
    fields = {each.field.split(".")[1] for one in found.divergences for each in one.differences}
    assert fields == {"answer to printed()"}


PRODUCERS = {"isr_shrinks": 1, "min_insync_replicas": 2, "refused_produces": 1, "partition_epoch_max": 3}


def test_a_record_is_refused_as_by_kafka_before_the_append(claim: Claim, session: Session) -> None:
    found = session.conform(claim(**PRODUCERS), Wanted())
    assert found.agrees and found.executed == found.reachable
    assert "refuse_record" in found.executed


@pytest.mark.slow
def test_a_record_is_refused_as_by_kafka_after_the_append(
    claim: Claim, kafka_of: KafkaOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(kafka_of("3.6.2"))
    found = session.conform(claim("kafka-3.6", **PRODUCERS), Wanted())
    assert found.agrees and found.executed == found.reachable
    monkeypatch.setitem(abstraction.ANSWERS, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "acknowledged")
    found = session.conform(claim("kafka-3.6", **PRODUCERS), Wanted())
    said = {(each.field, each.model, each.kafka) for one in found.divergences for each in one.differences}
    assert said == {("b0.producer of r0", "refused", "acknowledged")}


def test_followers_that_lag_together_leave_the_isr_with_one_request(claim: Claim, session: Session) -> None:
    found = session.conform(claim(brokers=3, leader_epoch_max=0, joint_shrinks=1), Wanted())
    assert found.agrees and found.executed == found.reachable
    assert "propose_joint_shrink" in found.executed


def test_metadata_that_kafka_obeys_where_it_should_ignore_them_are_noticed(
    claim: Claim, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def newer(election: Any) -> Any:
        return attrs.evolve(election, isr=frozenset({election.leader}), partition_epoch=election.partition_epoch + 1)

    monkeypatch.setattr(operations, "_older", newer)
    assert kinds(session.conform(claim(initial_isr=1), Wanted())) == {"learn_isr"}


def test_batches_are_fetched_and_a_log_starts_inside_one_as_in_kafka(claim: Claim, kafka_of: KafkaOf) -> None:
    sizes = {"log_length_max": 2, "records_max": 2, "leader_epoch_max": 0, "initial_isr": 1, "retentions": 1}
    found = Session(kafka_of("3.9.1")).conform(
        claim("kafka-3.9.1", **sizes, batch_records=2, fetch_records=2), Wanted()
    )
    assert found.agrees and found.executed == found.reachable
    assert {"produce_batch", "delete_old_records", "handle_out_of_range"} <= found.executed.keys()


MOVES = {"directory_moves": 1, "leader_epoch_max": 2, "leader_moves": 2}


def test_a_replica_that_moves_to_another_directory_loses_the_epochs_without_records(
    claim: Claim, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = session.conform(claim(**MOVES), Wanted())
    assert found.agrees and found.executed == found.reachable
    assert "move_replica" in found.executed
    monkeypatch.setattr(directories, "epochs_of_records", lambda replica: replica.epoch_starts)
    found = session.conform(claim(checkpoints=1, **MOVES), Wanted())
    fields = {each.field.split(".")[1] for one in found.divergences for each in one.differences}
    assert kinds(found) == {"move_replica"} and "epoch cache" in fields


def test_a_record_that_the_controller_would_not_make_is_noticed(
    claim: Claim, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_recovery(*arguments: Any) -> Any:
        change = change_of(*arguments)
        return None if change is None else attrs.evolve(change, recovering=None)

    change_of = partition_changes.change_of
    monkeypatch.setattr(partition_changes, "change_of", without_recovery)
    found = session.conform(claim(leader_moves=1), Wanted())
    assert {each.field[:25] for one in found.divergences for each in one.differences} == {"controller.record for {'e"}


@pytest.mark.parametrize("question", ["endOf", "read", "consumerRead", "latest", "lowWatermark", "AtMinIsr"])
def test_an_answer_that_is_not_kafkas_is_noticed(
    claim: Claim, session: Session, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(questions.ANSWERS, question, lambda asked, *_: "something else")
    found = session.conform(claim(records_max=1, leader_epoch_max=0), Wanted())
    assert found.divergences
    fields = {each.field for one in found.divergences for each in one.differences}
    assert all(f"answer to {question}(" in each for each in fields)


def test_who_deletes_records_is_answered_once_every_replica_has_deleted_them(
    claim: Claim, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    deletes = claim(retentions=1, deletions_answered=1, leader_moves=1)
    found = session.conform(deletes, Wanted())
    assert found.agrees and found.executed == found.reachable
    assert "delete_old_records" in found.executed
    for model, kafka in (("waits", "NONE"), ("NONE", "waits")):
        monkeypatch.setattr(abstraction, "deletion_of", lambda offset, starts, said=model: said)
        found = session.conform(deletes, Wanted())
        said = {
            (each.field.split(".")[1], each.model, each.kafka) for one in found.divergences for each in one.differences
        }
        assert said == {("deletion below 1", model, kafka)}


def test_a_producer_that_gives_up_is_answered_that_its_request_timed_out(claim: Claim, session: Session) -> None:
    found = session.conform(claim(produce_timeouts=1), Wanted())
    assert found.agrees and found.executed == found.reachable
    assert "give_up" in found.executed


def test_a_record_that_counts_as_acknowledged_too_early_is_noticed(
    claim: Claim, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abstraction, "producer_of", lambda *_: "acknowledged")
    found = session.conform(claim(), Wanted())
    said = {(each.field, each.model, each.kafka) for one in found.divergences for each in one.differences}
    assert said == {("b0.producer of r0", "acknowledged", "unanswered")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "preset"),
    [
        ("3.5.1", "kafka-3.5"),
        ("3.9.1", "kafka-3.7"),
        ("4.1.1", "kafka-4.1"),
        (NEWEST, "kafka-4.1"),
    ],
)
def test_one_harness_serves_releases_from_3_5_on(claim: Claim, kafka_of: KafkaOf, release: str, preset: str) -> None:
    session = Session(kafka_of(release))
    for bounds in ({"leader_epoch_max": 2, "leader_moves": 2}, {"process_crashes": 1, "initial_isr": 1}):
        found = session.conform(claim(preset, **bounds), Wanted())
        assert found.agrees
        assert found.executed == found.reachable


def test_a_process_that_dies_is_one_clear_error_and_leaves_nothing_and_the_next_claim_has_another(claim: Claim) -> None:
    with harness_of(NEWEST) as harness:
        folder = Path(harness._folder)
        harness._process.kill()
        with pytest.raises(KafkaError, match="the Java process ended with code"):
            harness.run([])
        found = Session(harness).conform(claim(), Wanted())
        assert found.agrees and not folder.exists()
        folder = Path(harness._folder)
    assert not folder.exists()


def test_a_claim_has_the_same_answers_alone_and_after_others(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    answered: list[Any] = []
    receive = Harness.receive

    def noted(self: Harness) -> list[dict[str, Any]]:
        answers = receive(self)
        answered.extend(answers)
        return answers

    def executed(spec: Spec, paths: Paths, runs: list[Run]) -> tuple[Any, ...]:
        answered.clear()
        lockstep = LockStep(harness, paths.system.actions, paths.engine.layout, spec.protocol, spec.bounds)
        found = lockstep.execute(runs)
        return found.executed, found.steps, len(found.divergences), json.dumps(answered)

    def planned(spec: Spec) -> tuple[Spec, Paths, list[Run]]:
        paths = paths_of(spec, Wanted())
        return spec, paths, [*paths.runs(), *paths.walks(10, 40, ())]

    monkeypatch.setattr(Harness, "receive", noted)
    mine = planned(claim(process_crashes=1, initial_isr=1, fetch_steps=2))
    others = [planned(claim(spurious_fences=1, min_insync_replicas=2)), planned(claim("kafka-3.6", process_crashes=1))]
    with harness_of(NEWEST) as harness:
        alone = executed(*mine)
        assert [executed(*each)[2] > 0 for each in others] == [False, True]  # the second parts from the release
        assert executed(*mine) == alone


class Agreeing:
    """A harness on which every call succeeds, and shows nothing."""

    distribution, at_once = SimpleNamespace(release=NEWEST), 1

    def __init__(self) -> None:
        self._sent = list[int]()

    def forget(self) -> None:
        pass

    def send_texts(self, operations: Sequence[str]) -> None:
        self._sent.append(len(operations))

    def receive(self) -> list[dict[str, Any]]:
        return [{"brokers": {}} for _ in range(self._sent.pop(0))]


@pytest.mark.parametrize("called", [True, False])
def test_a_step_that_no_call_stands_for_does_not_count_as_executed(
    claim: Claim, monkeypatch: pytest.MonkeyPatch, called: bool
) -> None:
    """A follower that asks where to truncate sends no fetch of Kafka's, whatever the model does with its own."""
    spec = claim(fetch_steps=3, leader_epoch_max=0)
    if not called:
        monkeypatch.setattr(model_side, "MAPPED", {**operations.MAPPED, "serve_fetch": lambda before, follower: None})
    found = Session(Agreeing()).conform(spec, Wanted())  # type: ignore[arg-type]
    assert found.agrees
    assert found.reachable["serve_fetch"] > 0
    assert found.executed.get("serve_fetch", 0) == (found.reachable["serve_fetch"] if called else 0)
    assert found.executed["receive_fetch"] == found.reachable["receive_fetch"]


def test_where_a_reset_fails_what_follows_fails_and_the_process_goes_on() -> None:
    reset = {"do": "reset", "brokers": 2, "min_insync_replicas": 1, "clock_stands_still": False}
    with harness_of(NEWEST) as harness:
        failed, after = harness.run([{"do": "reset"}, {"do": "restart", "broker": 0, "see": [0]}])
        assert "NullPointerException" in failed["error"]
        assert "IndexOutOfBounds" in after["error"] and "0: java.lang.IndexOutOfBounds" in after["unseen"]
        again, seen = harness.run([reset, {"do": "nothing", "broker": 0, "see": [0]}])
        assert "error" not in again and "0" in seen["brokers"]


def test_an_exception_between_operations_ends_the_process_and_is_named() -> None:
    with harness_of(NEWEST) as harness:
        harness.send_texts(["7"])  # the number of no operation
        with pytest.raises(KafkaError, match=r"the Java process ended with code 1; it said last: .*IndexOutOfBounds"):
            harness.receive()


@pytest.mark.parametrize(
    ("release", "advised"), [(NEWEST, ""), ("9.1.0", f"; it is newer than {NEWEST}, which works: .*")]
)
def test_a_class_that_kafka_lacks_is_named_and_of_a_newer_release_what_to_do(release: str, advised: str) -> None:
    harness_of(NEWEST)
    core = next(entry for entry in find(NEWEST).class_path if "kafka_2.13" in entry)
    without = tuple(entry for entry in find(NEWEST).class_path if "kafka-metadata" not in entry)
    from highwater.conformance.distribution import Distribution

    with (
        Harness(Distribution(release, release, (core, *without))) as harness,
        pytest.raises(KafkaError, match=rf"Kafka {release} lacks what the harness calls: [^;]*metadata[^;]*{advised}$"),
    ):
        harness.run([{"do": "reset", "brokers": 2, "min_insync_replicas": 1, "clock_stands_still": False}])


def test_a_damaged_class_is_named_and_the_release_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / "kafka" / "server" / "ReplicaManager.class"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(bytes.fromhex("cafebabe00000000"))
    kafka = harness_of(NEWEST)
    found, compiled = kafka.distribution, kafka.compiled()
    monkeypatch.setattr(Harness, "compiled", lambda self: compiled)
    patched = attrs.evolve(found, class_path=(str(tmp_path), *found.class_path))
    with Harness(patched) as harness, pytest.raises(KafkaError, match=r"Java refuses a class .*ReplicaManager") as said:
        harness.run([{"do": "reset", "brokers": 2, "min_insync_replicas": 1, "clock_stands_still": False}])
    assert "lacks" not in str(said.value) and "\n" not in str(said.value)


def test_the_command_writes_its_findings(tmp_path: Path) -> None:
    harness_of(NEWEST)
    spec, report, page = tmp_path / "small.toml", tmp_path / "found.json", tmp_path / "found.html"
    bounds = "brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 2, leader_moves = 2, fetch_steps = 1"
    spec.write_text(
        f'model = "partition"\npreset = "repaired"\nbounds = {{ {bounds} }}\ncheck = ["candidates_are_complete"]\n'
    )
    command = ["conform", str(spec), "--kafka", NEWEST]
    ran = CliRunner().invoke(main, [*command, "--json", str(report), "--html", str(page)])
    assert ran.exit_code == 1, ran.output
    assert "divergence 1" in ran.output
    assert f"Kafka {NEWEST} has the rules of kafka-4.1 (try --preset kafka-4.1); other than here: " in ran.output
    data = json.loads(report.read_text())
    assert data["preset_of_kafka"] == "kafka-4.1" and data["other_rules"]["reset_follower_state"] == {
        "spec": "new-epoch",
        "kafka": "new-leader",
    }
    assert {
        "kafka",
        "preset",
        "paths_reachable",
        "paths_executed",
        "steps",
        "steps_per_second",
        "divergences",
        "unmapped",
    } <= data.keys()
    assert data["kafka"] == NEWEST
    assert 0 < data["paths_executed"] < data["paths_reachable"]
    assert data["divergences"][0]["calls"][0]["do"] == "learn"
    assert 'class="differs"' in page.read_text()
    covered = tmp_path / "covered"
    both = [*command, str(spec), "--preset", "kafka-4.1"]
    ran = CliRunner().invoke(main, [*both, "--coverage", str(covered), "--json", str(report)])
    assert ran.exit_code == 0, ran.output
    one, other = json.loads(report.read_text())["claims"]
    assert one["paths_executed"] == one["paths_reachable"] and one["paths"] == other["paths"]
    ran = CliRunner().invoke(main, [*both, "--html", str(page)])
    assert ran.exit_code == 2 and f"--html {page}: goes with one SPEC" in ran.output
    assert (covered / "index.html").exists()
    classes = {each["name"]: each for each in json.loads((covered / "coverage.json").read_text())["classes"]}
    methods = {each["name"]: each["lines"] for each in classes["Partition"]["methods"]}
    assert methods["makeLeader"]["executed"] > 0 == methods["maybeCreateFutureReplica"]["executed"]
    assert "maybeCreateFutureReplica" in classes["Partition"]["never_reached"]
