"""Random walks of Kafka's own controllers: what they find, how short they make it, and that they can be replayed."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import CliRunner, Result

from highwater.cli.main import main
from highwater.conformance import programs
from highwater.conformance.distribution import Distribution, KafkaError
from highwater.conformance.walking import (
    OLDEST,
    RUN_STEPS,
    Compared,
    Log,
    Schedule,
    Setting,
    Walker,
    WalkFault,
    Who,
    compare_logs,
    follow,
    kinds,
    known_defects,
    refuse_unless_possible,
    walk,
)
from tests.conformance.conftest import NEWEST, Running, kafka

CI_STEPS = 60_000
FEWER_STEPS = 50_000  # find known defects again; new ones are looked for on the newest release
CONTROLLER, WITH_ELR, QUORUM = Setting(Who.CONTROLLER), Setting(Who.CONTROLLER, elr=True), Setting(Who.QUORUM)
ON_DISK = Setting(Who.QUORUM, log=Log.DISK)
RELEASES = (NEWEST, "4.3.1", "4.1.1", "3.9.2")
OF_THE_CONTROLLER = {
    NEWEST: {"never-completes-a-reassignment"}, "4.3.1": {"never-completes-a-reassignment"},
    "3.9.2": {"keeps-a-restarted-broker-in-sync"},
}  # fmt: skip
OF_THE_QUORUM = {"ends-a-new-broker", "ends-a-replica-that-truncates"}
OF_ELIGIBLE_REPLICAS = {"deposes-controllers", "keeps-unassigned-replicas-eligible", "forgets-who-may-lead"}
LONG_WALKS = [
    *((release, CONTROLLER, OF_THE_CONTROLLER.get(release, set())) for release in RELEASES),
    *((release, WITH_ELR, OF_ELIGIBLE_REPLICAS) for release in RELEASES if release != "3.9.2"),  # 3.9 has none
    *((release, QUORUM, OF_THE_QUORUM) for release in RELEASES[1:]),
    (NEWEST, QUORUM, OF_THE_QUORUM | {"leaves-a-quorum-without-a-leader"}),
    (NEWEST, ON_DISK, OF_THE_QUORUM), ("3.9.2", ON_DISK, OF_THE_QUORUM),
]  # fmt: skip
"""A release, who walks, and the known defects that the walk meets."""

OPERATIONS = {
    "append_as_leader", "append_as_follower", "initialize_epoch", "truncate", "truncate_to_epoch", "high_watermark",
    "truncate_to_snapshot", "read", "validate", "snapshot", "unchecked_snapshot", "read_snapshot", "flush", "clean",
    "delete_before_snapshot", "start_again",
}  # fmt: skip
REFUSED = {"append_as_leader", "append_as_follower", "truncate", "truncate_to_epoch", "read", "snapshot"}
LOSS, LOSING_SEED = "elects-an-emptied-replica", 237
OTHER_INDEX = """package org.apache.kafka.controller;

import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.timeline.SnapshotRegistry;

/** An index of eligible replicas that is wrong in its own way. */
public class BrokersToElrs {
    private static final int NOBODY = 99;
    private final java.util.HashMap<Integer, Map<Uuid, int[]>> members = new java.util.HashMap<>();

    BrokersToElrs(SnapshotRegistry registry) { }

    void update(Uuid topic, int partition, int[] before, int[] after) {
        for (int each : after == null ? new int[0] : after)
            members.computeIfAbsent(each, key -> new java.util.HashMap<>()).put(topic, new int[] {partition});
    }

    void removeTopicEntryForBroker(Uuid topic, int broker) { }

    BrokersToIsrs.PartitionsOnReplicaIterator partitionsWithBrokerInElr(int broker) {
        WRONG
        return new BrokersToIsrs.PartitionsOnReplicaIterator(members.getOrDefault(broker, Map.of()), false);
    }
}
"""


def highwater(*words: object, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["walk", *map(str, words)], prog_name="highwater")
    assert done.exit_code == code, done.output
    return done


def highwater_in_a_process(*words: object, code: int = 0) -> str:
    """What it prints in a process of its own, where sets have another order."""
    command = [sys.executable, "-m", "highwater", "walk", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


class Changed(Walker):
    """Walks in which a class of theirs, or of Kafka's, is another one."""

    def __init__(self, distribution: Distribution, source: Path) -> None:
        super().__init__(distribution)
        self._source = source

    def compiled(self) -> list[bytes]:
        (walks,) = super().compiled()
        return [programs.compiled(self.distribution, [self._source], walks), walks]


def changed(folder: Path, name: str, before: str, after: str) -> Changed:
    """Walks with a text of theirs changed."""
    text = (programs.HARNESS / "walk" / name).read_text()
    assert text.count(before) == 1
    source = folder / Path(name).name
    source.write_text(text.replace(before, after))
    return Changed(kafka(NEWEST), source)


def found_of(attribute: attrs.Attribute[object], value: object) -> bool:
    """What a walk has found, and neither how fast nor where."""
    return attribute.name in ("runs", "steps", "taken", "known", "found")


@pytest.fixture(scope="session")
def walker_of(running: Running) -> Callable[[str], Walker]:
    """Releases of Kafka, as they walk where nothing in them is changed."""
    return functools.partial(running, Walker)


@pytest.mark.xdist_group("kafka")
def test_steps_and_defects_have_the_same_names_in_every_language() -> None:
    walker = Walker(kafka(NEWEST))
    walker.options = (*Walker.options, "-Duser.language=tr")
    with walker:
        names = [*known_defects(walker), *kinds(walker, Who.QUORUM), *kinds(walker, Who.CONTROLLER)]
    assert {"ends-a-new-broker", "deliver", "resign"} <= set(names)
    assert "".join(names).isascii()


# ---- long walks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "setting", "known"),
    [pytest.param(*each, marks=pytest.mark.xdist_group(f"walks of {each[0]}")) for each in LONG_WALKS],
)
def test_a_long_walk_takes_all_kinds_of_steps_and_breaks_nothing_but_by_known_defects(
    walker_of: Callable[[str], Walker], release: str, setting: Setting, known: set[str]
) -> None:
    steps = CI_STEPS if release == NEWEST and setting != ON_DISK else FEWER_STEPS
    walker = walker_of(release)
    walked = walk(walker, setting, 1, steps)
    assert set(walked.taken) == kinds(walker, setting.who)
    assert not walked.found, {name: each.violation for name, (_, each) in walked.found.items()}
    assert known <= walked.known.keys()
    assert walked.known.keys() <= known or setting != CONTROLLER
    assert walked.steps >= steps


# ---- the log in memory


def compared(walker: Walker, seeds: range) -> Compared:
    """All comparisons in one."""
    done, refused = Counter[str](), Counter[str]()
    for seed in seeds:
        comparison = compare_logs(walker, seed, 200)
        done += comparison.done
        refused += comparison.refused
        if comparison.difference is not None:
            return Compared(done, refused, f"seed {seed}: {comparison.difference}")
    return Compared(done, refused, None)


@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("release", RELEASES)
def test_the_log_in_memory_does_what_kafkas_own_does_on_disk(walker_of: Callable[[str], Walker], release: str) -> None:
    comparison = compared(walker_of(release), range(12))
    assert comparison.difference is None
    assert set(comparison.done) == OPERATIONS
    assert comparison.refused.keys() >= REFUSED
    assert all(comparison.done[each] > comparison.refused[each] for each in OPERATIONS)


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("MemoryLog", "        epochs.truncateFromStart(start);\n", ""),
        ("MemoryLog", "bytes = Arrays.copyOf(bytes, size());", ""),
        ("Epochs", "last.getKey() >= epoch || last.getValue() >= start", "last.getKey() >= epoch"),
    ],
)
def test_a_deviating_log_in_memory_is_found(tmp_path: Path, file: str, right: str, wrong: str) -> None:
    with changed(tmp_path, f"memory/{file}.java", right, wrong) as walker:
        assert compared(walker, range(12)).difference is not None


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_a_log_in_memory_that_is_not_flushed_loses_what_is_committed(tmp_path: Path) -> None:
    with changed(tmp_path, "memory/MemoryLog.java", "flushed = batches.size();", "") as walker:
        walked = walk(walker, QUORUM, 2, 1_000)
    assert {"committed_records_stay", "leaders_have_what_is_committed"} & walked.found.keys()


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_equal_seeds_give_equal_runs_with_logs_in_memory_and_on_disk(walker_of: Callable[[str], Walker]) -> None:
    """But where a machine loses power, at which a log on disk loses nothing."""
    walker = walker_of(NEWEST)
    for seed in range(1, 8):
        in_memory, on_disk = (walk(walker, setting, seed, RUN_STEPS) for setting in (QUORUM, ON_DISK))
        if "lose_power" not in in_memory.taken:
            assert attrs.asdict(in_memory, filter=found_of) == attrs.asdict(on_disk, filter=found_of)


# ---- schedules


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_the_loss_of_acknowledged_records_is_found_made_short_and_replayed(walker_of: Callable[[str], Walker]) -> None:
    """The schedule is minimal: without any one of its steps the invariant holds."""
    setting = attrs.evolve(WITH_ELR, new=(LOSS,))
    walker = walker_of(NEWEST)
    walked = walk(walker, setting, LOSING_SEED, 1_000)
    _, schedule = walked.found["elected_leaders_hold_acknowledged_records"]
    assert len(schedule.steps) < 30
    assert "acknowledged are r" in schedule.violation
    assert follow(walker, setting, schedule)[0] == schedule
    found, known = follow(walker, WITH_ELR, schedule)
    assert found is None and LOSS in known, "a known defect breaks nothing"
    for left_out in range(len(schedule.steps)):
        steps = schedule.steps[:left_out] + schedule.steps[left_out + 1 :]
        found, _ = follow(walker, setting, attrs.evolve(schedule, steps=steps))
        assert found is None or found.invariant != schedule.invariant, schedule.steps[left_out]


@pytest.mark.xdist_group("kafka")
def test_a_last_known_leader_beside_a_removed_replica_does_not_lead(walker_of: Callable[[str], Walker]) -> None:
    """In five steps, and the calm that ends a run."""
    setting = attrs.evolve(WITH_ELR, new=("leaves-a-partition-without-a-leader",))
    steps = (
        "create t0 of 2 partitions on b0 b1", "commit a batch", "controller 100 reads 1 batches", "reassign t0-1 to b1",
        "kill b1",
    )  # fmt: skip
    schedule = Schedule(1, "partitions_find_a_leader", "", tuple((step, ()) for step in steps))
    walker = walker_of(NEWEST)
    found, _ = follow(walker, setting, schedule)
    assert follow(walker, WITH_ELR, schedule)[0] is None, "a known defect breaks nothing"
    assert found is not None
    assert found.invariant == schedule.invariant
    assert found.violation.endswith("replicas b1, ISR nobody, ELR b0, last known leader b1")


@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize(
    ("name", "seed", "said"),
    [
        ("ends-a-new-broker", 2, "Expected to be Follower, but the current state is UnattachedState"),
        ("ends-a-replica-that-truncates", 11, "no epoch is known: the log begins at"),
        ("ends-the-active-controller", 21, "Unexpected acknowledgement from non-voter"),
        ("ends-a-voter-that-lags", 2348, "Unknown leader endpoints"),
        ("ends-a-replica-that-hears-of-a-removed-leader", 1518, "Unknown leader endpoints"),
        ("forgets-who-leads-its-epoch", 584, "must be in the set of voters"),
        ("does-not-read-who-votes", 1609, "for the voters, and another that has the same took"),
        ("leaves-a-quorum-without-a-leader", 309, "after 15 s of calm"),
        ("does-not-truncate-for-a-snapshot", 1994, "Full log truncation expected but didn't happen"),
    ],
)
def test_defects_of_the_quorum_are_found_made_short_and_replayed(
    walker_of: Callable[[str], Walker], name: str, seed: int, said: str
) -> None:
    setting = attrs.evolve(QUORUM, new=(name,))
    walker = walker_of(NEWEST)
    walked = walk(walker, setting, seed, RUN_STEPS)
    ((_, schedule),) = [each for each in walked.found.values() if said in each[1].violation]
    assert len(schedule.steps) < 300
    assert follow(walker, setting, schedule)[0] == schedule
    found, known = follow(walker, QUORUM, schedule)
    assert found is None and name in known, "a known defect breaks nothing"


@pytest.mark.xdist_group("kafka")
def test_equal_seeds_print_equal_bytes_and_the_file_replays(tmp_path: Path) -> None:
    kafka(NEWEST)
    words = ["controller", "--kafka", NEWEST, "--elr", "--seed", 1, "--steps", 400, "--show", "keeps-a-stale-index"]
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    printed = [highwater_in_a_process(*words, "--json", path, code=1) for path in (first, second)]
    assert printed[0] == printed[1]
    assert first.read_bytes() == second.read_bytes()
    found = json.loads(first.read_text())["found"]
    assert [each["invariant"] for each in found] == ["elr_index_agrees"]
    replayed = highwater(*words[:4], "--schedule", first, *words[-2:], code=1).stdout
    assert "elr_index_agrees is broken by found[0]: BrokersToElrs of b" in replayed
    shown = [line for step in found[0]["steps"] for line in [step["step"], *step["changes"]]]
    assert all(line in replayed for line in shown)
    again = highwater(*words[:4], "--schedule", first).stdout
    assert again.startswith("ok  found[0] breaks nothing but by known defects: ")
    assert "keeps-a-stale-index" in again


# ---- new violations


@pytest.mark.xdist_group("kafka")
def test_a_release_that_the_table_of_known_defects_does_not_have_has_new_ones(
    walker_of: Callable[[str], Walker], monkeypatch: pytest.MonkeyPatch
) -> None:
    walker = walker_of(NEWEST)
    monkeypatch.setattr(walker, "distribution", attrs.evolve(walker.distribution, release="4.5.0"))
    walked = walk(walker, WITH_ELR, 1, 1_000)
    assert walked.found
    assert not walked.known


@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize(
    ("wrong", "invariant", "violation"),
    [
        ("", "elr_index_agrees", "lists"),
        ('if (broker < NOBODY) throw new IllegalStateException("wrong");', "controllers_meet_no_fault", "wrong"),
    ],
)
def test_the_symptom_of_a_known_defect_with_another_cause_is_new(
    tmp_path: Path, wrong: str, invariant: str, violation: str
) -> None:
    source = tmp_path / "BrokersToElrs.java"
    source.write_text(OTHER_INDEX.replace("WRONG", wrong))
    with Changed(kafka(NEWEST), source) as walker:
        walked = walk(walker, WITH_ELR, 2, 1_000)
    runs, schedule = walked.found[invariant]
    assert runs > 0
    assert violation in schedule.violation


@pytest.mark.xdist_group("kafka")
def test_a_fault_of_the_walk_is_not_blamed_on_kafka(tmp_path: Path) -> None:
    """It throws where Kafka calls it back, so that Kafka catches it and reports it to its fault handler."""
    appends = 'case "prepareAppend":'
    with (
        changed(tmp_path, "WalkedController.java", appends, f"{appends} (new int[0])[0]++;") as walker,
        pytest.raises(WalkFault, match="ArrayIndexOutOfBounds"),
    ):
        walk(walker, CONTROLLER, 0, 1_000)


# ---- bad input


def test_releases_that_are_too_old_are_refused() -> None:
    for setting, oldest in ((CONTROLLER, (3, 9)), (QUORUM, (3, 9)), (WITH_ELR, (4, 1))):
        assert OLDEST[setting.elr] == oldest
        refuse_unless_possible(setting, ".".join(map(str, oldest)))
        with pytest.raises(KafkaError, match="from Kafka"):
            refuse_unless_possible(setting, f"{oldest[0]}.{oldest[1] - 1}.9")


Change = Callable[[dict[str, Any]], object]
REPORT = {
    "format": "highwater-walk", "version": 1, "who": "controller", "elr": False,
    "found": [{"seed": 1, "invariant": "x", "steps": [{"step": "commit a batch"}]}],
}  # fmt: skip
WRONG: list[tuple[Change, str]] = [
    (lambda report: report.update(format="other"), 'its "format" is not "highwater-walk"'),
    (lambda report: report.pop("elr"), "elr: is missing"),
    (lambda report: report.update(elr=True), "who, elr: is of highwater walk controller --elr; say that"),
    (lambda report: report.update(found=[]), "found: is empty"),
    (lambda report: report["found"][0].update(seed="1"), 'found[0].seed: "1" is not a whole number'),
    (lambda report: report["found"][0].update(seed=-1), "found[0].seed: -1 is not allowed; allowed are 0.."),
    (lambda report: report["found"][0]["steps"].append("kill b0"), "found[0].steps[1].step: is missing"),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_a_file_without_schedules_is_refused_with_its_name_and_the_key(
    tmp_path: Path, change: Change, said: str
) -> None:
    report = json.loads(json.dumps(REPORT))
    change(report)
    path = tmp_path / "schedule.json"
    path.write_text(json.dumps(report))
    done = highwater("controller", "--kafka", NEWEST, "--schedule", path, code=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"highwater: {path}: ")
    assert said in line


@pytest.mark.xdist_group("kafka")
def test_a_line_that_is_not_a_step_is_refused(tmp_path: Path) -> None:
    kafka(NEWEST)
    report = json.loads(json.dumps(REPORT))
    report["found"][0]["steps"].append({"step": "kill everybody"})
    path = tmp_path / "schedule.json"
    path.write_text(json.dumps(report))
    done = highwater("controller", "--kafka", NEWEST, "--schedule", path, code=2)
    assert done.stderr == f"highwater: {path}: found[0].steps: no step: kill everybody\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["controller", "--kafka", "/no/such/folder"], "/no/such/folder does not exist"),
        (["controller", "--kafka", NEWEST, "--steps", "-1"], "-1 is not in the range x>=1"),
        (["controller", "--kafka", NEWEST, "--schedule", "/no/such/file"], "/no/such/file: No such file or directory"),
        (["broker", "--kafka", NEWEST], "'broker' is not"),
        (["quorum", "--kafka", NEWEST, "--elr"], "--elr goes with controller, not with quorum"),
        (["controller", "--kafka", NEWEST, "--log", "disk"], "--log goes with quorum, not with controller"),
        (["quorum", "--kafka", NEWEST, "--log", "tape"], "'tape' is not one of 'memory', 'disk'"),
    ],
)
def test_bad_options_exit_2_with_one_line(words: list[str], said: str) -> None:
    done = highwater(*words, code=2)
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.xdist_group("kafka")
def test_an_unknown_name_of_a_defect_is_refused() -> None:
    kafka(NEWEST)
    done = highwater("controller", "--kafka", NEWEST, "--show", "deposes-controller", code=2)
    assert 'no known defect "deposes-controller" (did you mean "deposes-controllers"?)' in done.stderr.splitlines()[-1]
