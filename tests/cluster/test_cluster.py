"""Real clusters: what ends them, and the showpiece."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from highwater.claims.reproduction import refuse_unless_possible
from highwater.claims.spec import Spec, SpecError, load_spec
from highwater.cli.main import main
from highwater.cluster import watchdog, wire
from highwater.cluster.cluster import SCRATCH, TOPIC, Cluster
from highwater.cluster.nodes import Node, TimeoutExceeded, until
from highwater.cluster.observing import control, learned
from highwater.cluster.settings import Settings
from highwater.conformance.distribution import Distribution, KafkaError
from highwater.explorer.system import System
from highwater.explorer.verdict import Violation
from highwater.reports.results import FORMAT, VERSION, about_spec, about_violation
from tests.cluster.conftest import FLAW, FLAW_STEPS, about, claim, counterexample, steps_of
from tests.conformance.conftest import NEWEST, kafka

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(1000)"]


def write_report(path: Path, spec: Spec, lines: str) -> Path:
    found = counterexample(spec, lines)
    system: System = spec.system()
    entry = {**about_spec(spec), "verdict": "violated", **about_violation(system, found.violation)}
    path.write_text(json.dumps({"format": FORMAT, "version": VERSION, "results": [entry]}))
    return path


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("way", ["closed", "killed"])
def test_the_watchdog_ends_paused_processes_and_removes_the_folder(tmp_path: Path, way: str) -> None:
    """The owner is a process of its own: it starts the watchdog and a process of the cluster, which it pauses."""
    folder = tmp_path / "cluster"
    (folder / "b0").mkdir(parents=True)
    code = f"""
import subprocess, sys, time
from pathlib import Path
from highwater.cluster.nodes import Node
dog = subprocess.Popen([sys.executable, "-I", {watchdog.__file__!r}, {str(folder)!r}], stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE, process_group=0)
node = Node("b0", Path({str(folder / "b0")!r}), {SLEEP!r}, int(dog.stdout.readline()))
node.start()
node.expect("up", 0, 60)
node.pause()
print(node._process.pid, dog.pid, flush=True)
if {way!r} == "killed":
    time.sleep(1000)
dog.stdin.close()
dog.wait()
"""
    root = Path(__file__).parents[2]
    owner = subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    paused, dog = map(int, owner.stdout.readline().split())
    if way == "killed":
        owner.kill()
    owner.wait()
    owner.stdout.close()
    until(lambda: gone(paused) and gone(dog) and not folder.exists(), 60, "everything is gone")


def test_a_timeout_or_early_exit_is_an_error_with_the_last_lines(tmp_path: Path) -> None:
    node = Node("b0", tmp_path, [sys.executable, "-c", "print('INFO fine'); print('ERROR broken')"], os.getpgid(0))
    node.start()
    with pytest.raises(KafkaError, match=r"(?s)b0 ended by itself; it printed last:.*ERROR broken"):
        node.expect("started", 0, 60)
    with pytest.raises(TimeoutExceeded, match=r"pigs fly: not within 0\.05 s"):
        until(lambda: None, 0.05, "pigs fly")


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
def test_a_cluster_that_does_not_come_up_is_an_error_and_leaves_nothing() -> None:
    cluster = Cluster(kafka(), Settings(heap="1k"))
    with pytest.raises(KafkaError, match=r"(?s)cannot format a cluster; it printed last:.*heap"), cluster:
        pass
    assert not cluster.folder.exists()
    assert all(not node.running for node in cluster._nodes)


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_loses_an_acknowledged_record_along_the_trace(newest: Distribution, tmp_path: Path) -> None:
    report = write_report(tmp_path / "flaw.json", load_spec(FLAW), FLAW_STEPS)
    out = tmp_path / "found.json"
    ran = CliRunner().invoke(main, ["reproduce", str(report), "--kafka", NEWEST, "--json", str(out)])
    assert ran.exit_code == 0, ran.output
    assert "acknowledged record r0 is gone" in ran.output
    found = json.loads(out.read_text())
    assert found["reproduced"] and found["kafka"] == NEWEST
    assert found["producers"] == {"r0": "acknowledged at offset 0"}
    assert [record["value"] for record in found["consumer_before"]["records"]] == ["r0"]
    assert found["consumer_after"] == {"records": [], "end_offset": 0}
    assert found["settings"]["min_insync_replicas"] == 2
    assert any("Previous leader Some(0) and previous leader epoch was 0" in line for line in found["deeds"][8]["lines"])


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
def test_the_newest_release_has_no_candidate_once_min_insync_replicas_changes_while_the_isr_is_empty(
    newest: Distribution,
) -> None:
    """What `kafka_4_3_forgets_who_may_lead_when_min_isr_changes` says, beside a topic that nobody touches."""
    with Cluster(newest, Settings(brokers=2, session_ms=9_000, eligible_replicas=True)) as cluster:
        for topic in (TOPIC, SCRATCH):
            settings = {"min.insync.replicas": "2"}
            cluster.ask("create", at=cluster.address(0), topic=topic, replicas=[[0, 1]], settings=settings)
        until(lambda: learned(cluster.brokers[0]), 60, "no broker leads")
        for broker in (1, 0):
            cluster.brokers[broker].kill()
            cluster.controller.expect(rf"Fencing broker {broker}\b", 0, 60)
        until(lambda: all(recorded(cluster, topic) == (-1, set()) for topic in (TOPIC, SCRATCH)), 60, "there is an ISR")
        wire.configure(cluster.controller_port, TOPIC, "min.insync.replicas", "1", 60)
        for broker in (0, 1):
            cluster.restart(broker)
        until(lambda: recorded(cluster, SCRATCH) == (0, {0}), 60, "the last known leader does not lead")
        assert recorded(cluster, TOPIC) == (-1, set()), "both brokers run, and one of them led last"


def recorded(cluster: Cluster, topic: str) -> tuple[int, set[int]]:
    found = control(cluster, topic)
    assert found is not None
    return found.leader, set(found.isr)


@pytest.mark.xdist_group("kafka")  # with others that resolve a release
@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_and_folders_of_a_killed_run_are_removed(
    newest: Distribution, tmp_path: Path, end: signal.Signals
) -> None:
    report = write_report(tmp_path / "flaw.json", load_spec(FLAW), FLAW_STEPS)
    command = [sys.executable, "-m", "highwater", "reproduce", str(report), "--kafka", NEWEST]
    root = Path(__file__).parents[2]
    ran = subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        dog = until(lambda: watchdog_of(ran.pid), 120, "the watchdog runs")
        folder = Path(Path(f"/proc/{dog}/cmdline").read_bytes().split(b"\0")[-2].decode())
        until(lambda: any(folder.glob("b*/lines.log")), 120, "brokers start")
        members = [pid for pid in pids() if str(folder).encode() in cmdline(pid)]
        assert members
        ran.send_signal(end)
        assert ran.wait(120) == (130 if end != signal.SIGKILL else -9)
        until(lambda: all(map(gone, members)) and not folder.exists(), 60, "everything is gone")
    finally:
        ran.kill()
        ran.wait()


def pids() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def watchdog_of(owner: int) -> int | None:
    for pid in pids():
        try:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == owner and watchdog.__file__.encode() in cmdline(pid):
            return pid
    return None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--kafka", "nowhere"], "--kafka nowhere: nowhere does not exist; name a folder"),
        (["--kafka", "empty"], "--kafka empty: there is no kafka_2.13-VERSION.jar"),
        (
            ["--kafka", "kafka_2.13-3.4.1.jar"],
            "--kafka kafka_2.13-3.4.1.jar: Kafka 3.4.1 is too old; 3.5 is the oldest",
        ),
        (["--kafka", ".", "--spec", "other"], "report.json: holds no trace of a spec named other"),
        (["--kafka", ".", "--keep", "."], "--keep .: exists; name a new folder"),
        (["--kafka", ".", "--json", "report.json"], "--json would overwrite a spec or an input"),
    ],
)
def test_bad_input_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_report(Path("report.json"), load_spec(FLAW), FLAW_STEPS)
    Path("kafka_2.13-3.4.1.jar").touch()
    Path("empty").mkdir()
    ran = CliRunner().invoke(main, ["reproduce", "report.json", *options])
    assert ran.exit_code == 2, ran.output
    assert said in ran.output
    assert len(ran.output.strip().splitlines()) == 1


def test_a_report_of_a_claim_that_holds_has_nothing_to_reproduce(tmp_path: Path) -> None:
    entry = {**about_spec(load_spec(FLAW)), "verdict": "holds", **about_violation(load_spec(FLAW).system(), None)}
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"format": FORMAT, "version": VERSION, "results": [entry]}))
    ran = CliRunner().invoke(main, ["reproduce", str(report), "--kafka", NEWEST])
    assert ran.exit_code == 2
    assert f"{report}: holds no trace" in ran.output


def test_without_java_there_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = write_report(tmp_path / "report.json", load_spec(FLAW), FLAW_STEPS)
    (tmp_path / "kafka_2.13-4.3.1.jar").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    ran = CliRunner().invoke(main, ["reproduce", str(report), "--kafka", str(tmp_path)])
    assert ran.exit_code == 2, ran.output
    assert "Java is needed and not on the PATH: install a JDK" in ran.output


@pytest.mark.parametrize(
    ("preset", "bounds", "said"),
    [
        ("kafka-3.5-zookeeper", {}, "preset: its brokers keep their metadata in ZooKeeper; allowed are presets with"),
        ("kafka-4.1", {"initial_down": 1}, "bounds.initial_down: must be 0"),
        ("kafka-4.1", {"brokers": 1}, "bounds.brokers: is 1; a cluster needs 2 at least"),
    ],
)
def test_a_violation_that_no_cluster_can_show_is_refused(preset: str, bounds: dict[str, int], said: str) -> None:
    small = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1, "fetch_steps": 1}
    spec = claim(preset, "isr_is_valid", **{**small, **bounds})
    wanted = about(spec, Violation("isr_is_valid", {}, "", {}, steps_of(spec.system(), "")))
    with pytest.raises(SpecError, match=said):
        refuse_unless_possible(wanted, "partition")


def test_other_models_and_infinite_behaviours_are_refused() -> None:
    spec = load_spec(FLAW)
    wanted = about(spec, Violation("a_leader_is_elected", {}, "", {}, steps_of(spec.system(), "")))
    with pytest.raises(SpecError, match='model: "controller" cannot be driven on a cluster; allowed is partition'):
        refuse_unless_possible(wanted, "controller")
    with pytest.raises(SpecError, match="a_leader_is_elected is no invariant or step property"):
        refuse_unless_possible(wanted, "partition")
