"""Defects of Kafka's controller as an operator meets them: requests and failures that bring each about on a cluster,
and controls in which one circumstance differs and nothing happens.

Most were found by driving Kafka's real controller, or its Raft client, at random in one thread; a reassignment that
never completes by the model `kraft`. docs/findings.md has the stories.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import attrs

from highwater.cluster import wire
from highwater.cluster.clients import ClientError
from highwater.cluster.cluster import STARTED, TOPIC, Cluster, Settings
from highwater.cluster.nodes import Node, TimeoutExceeded, until
from highwater.cluster.observing import Control
from highwater.cluster.quorum_defects import removed_while_slow, stored_a_leader, truncated_to_its_snapshot
from highwater.cluster.runs import Observed, Reading, shown
from highwater.cluster.stage import Stage, Stuck
from highwater.cluster.verdict import Verdict
from highwater.conformance.distribution import Distribution, KafkaError

SESSION_MS = 9_000  # Kafka's default
RECORDS = 3
ELECTION_SECONDS = 3 * SESSION_MS / 1000  # a session, and what a busy machine adds
SETTLING_SECONDS = 2.0  # after an election in which there was no candidate
WATCHED_SECONDS = 120.0
LEADERLESS_SECONDS = 60.0
OTHER = "other"
REASSIGNING_SECONDS = 30.0
RENOUNCING = re.compile(r"registerBroker: event failed.*Renouncing leadership")


@attrs.frozen
class Way:
    """One way to bring a defect about, or a control.

    Attributes:
        words: what is done, in one sentence.
        settings: of the cluster.
        partition: the one that matters.
        play: does it, and judges.
        control: whether the defect must not come about.
        since: the first release in which it comes about.
    """

    words: str
    settings: Settings
    partition: int
    play: Callable[[Stage], Verdict]
    control: bool = False
    since: tuple[int, int] = (4, 1)


@attrs.frozen
class Staged:
    """One run of a way.

    Attributes:
        deeds: as they went.
        verdict: whether the defect came about, and in what way or why not.
    """

    deeds: tuple[Observed, ...]
    verdict: Verdict


def bring_about(
    distribution: Distribution, way: Way, on_deed: Callable[[int, Observed], None], keep: Path | None = None
) -> Staged:
    """Start a cluster, and go one way on it.

    Args:
        keep: a folder to which the cluster's folders are copied in the end.

    Raises:
        KafkaError: the cluster does not come up.
    """
    with Cluster(distribution, way.settings) as cluster:
        stage = Stage(cluster, way.partition, on_deed)
        try:
            verdict = way.play(stage)
        except Stuck as error:
            verdict = Verdict(False, str(error))
        if keep is not None:
            cluster.keep(keep)
    return Staged(tuple(stage.deeds), verdict)


@attrs.frozen
class Defect:
    """
    Attributes:
        words: what an operator loses, in one sentence.
        ways: by name; the first one is the smallest.
    """

    words: str
    ways: dict[str, Way]


def _cluster(brokers: int, **others: object) -> Settings:
    given = {"min_insync_replicas": 2, "session_ms": SESSION_MS, "eligible_replicas": True, **others}
    return Settings(brokers=brokers, **given)  # type: ignore[arg-type]


def _removed_and_added_again(stage: Stage) -> Verdict:
    """A replica is removed by one reassignment and added by the next, and the leader dies before it has caught up."""
    before = _two_replicas(stage)
    with stage.deed(f"reassign {TOPIC}-{stage.partition} to [b1]"):
        stage.assign([1])
        stage.await_change(0, gone=True)
        stage.describe(1)
    return _added_and_elected(stage, before, 0, [1, 0])


def _two_replicas(stage: Stage, padding: int = 0, count: int = RECORDS) -> Reading:
    """A topic of two partitions on b1 and b0, and records in the one that matters."""
    stage.create([[1, 0], [1, 0]], min_isr=2)
    stage.produce(count, padding)
    return stage.read(1, "a consumer reads from the beginning")


def _added_and_elected(stage: Stage, before: Reading, added: int, replicas: list[int]) -> Verdict:
    """Add a replica whose broker is paused while the leader dies, and see who is elected."""
    own = shown(added)
    with stage.deed(f"pause {own}, reassign {TOPIC}-{stage.partition} to {_listed(replicas)}, kill b1, resume {own}"):
        stage.cluster.brokers[added].pause()
        stage.assign(replicas)
        stage.kill(1)
        stage.cluster.brokers[added].resume()
    return _elected(stage, before, added)


def _elected(stage: Stage, before: Reading, emptied: int) -> Verdict:
    """Wait for the end of the dead leader's session, and judge who leads then."""
    with stage.deed("wait until the controller has elected somebody else, or nobody"):
        found = _settled(stage)
        stage.describe(emptied)
    if found.leader != emptied:
        kept = " ".join(str(each).split("@")[0] for each in stage.log(1))
        return Verdict(
            False, f"{shown(emptied)} is not elected: the leader is {shown(found.leader)}; b1's log has {kept}"
        )
    after = stage.read(emptied, f"a consumer reads from {shown(emptied)}, from the beginning")
    there = {value for _, value, _ in after.records}
    lost = [value for _, value, _ in before.records if value not in there]
    if not lost:
        return Verdict(False, f"{shown(emptied)} is elected, and has all records: a consumer reads {after}")
    if any("leaderRecoveryState: RECOVERED -> RECOVERING" in line for line in stage.deeds[-2].lines):
        return Verdict(False, f"{shown(emptied)} is elected uncleanly")
    _start_the_former_leader(stage, after)
    named = ", ".join(lost) if len(lost) <= RECORDS else f"{lost[0]} to {lost[-1]}"
    return Verdict(
        True,
        f"acknowledged records are gone in a clean election: {named}. A consumer read them; now it reads "
        f"{after} from {shown(emptied)}, and b1 has truncated its own",
    )


def _settled(stage: Stage) -> Control:
    """What the controller has recorded once b1's session has ended: with a leader, or without one for a while."""
    stage.await_record(lambda now: now.leader != 1, "b1 leads no more", ELECTION_SECONDS)
    try:
        return stage.await_record(lambda now: now.leader >= 0, "somebody leads", SETTLING_SECONDS)
    except TimeoutExceeded:
        return stage.await_record(lambda now: True, "the partition is there")


def _start_the_former_leader(stage: Stage, after: Reading) -> None:
    """Start b1, which follows and truncates what the new leader does not have."""
    with stage.deed("start b1 again"):
        stage.cluster.restart(1)
        until(
            lambda: len(stage.log(1)) <= len(after.records),
            stage.cluster.settings.step_seconds,
            "b1 truncates what b0 lacks",
        )


def _added_in_place_of_the_dead(stage: Stage) -> Verdict:
    """The only replica dies, and an operator adds the one that was removed before."""
    stage.create([[1, 0]], min_isr=2)
    stage.produce(RECORDS)
    before = stage.read(1, "a consumer reads from the beginning")
    with stage.deed(f"reassign {TOPIC}-0 to [b1]"):
        stage.assign([1])
        stage.await_change(0, gone=True)
        stage.describe(1)
    with stage.deed("kill b1, and wait until its session ends"):
        stage.kill(1)
        stage.await_record(lambda now: now.leader == -1, "nobody leads", ELECTION_SECONDS)
        stage.describe(0)
    refused = ""
    with stage.deed(f"reassign {TOPIC}-0 to [b0 b1]"):
        try:
            stage.assign([0, 1])
        except wire.Refused as error:
            refused = str(error)
            stage.note(f"the controller answers: {refused}")
    return Verdict(False, f"the request is refused: {refused}") if refused else _elected(stage, before, 0)


def _throttled(stage: Stage) -> Verdict:
    """As `_removed_and_added_again`, with a throttled reassignment instead of a pause."""
    before = _two_replicas(stage, padding=200_000, count=20)
    with stage.deed(f"reassign {TOPIC}-{stage.partition} to [b1]"):
        stage.assign([1])
        stage.await_change(0, gone=True)
    with stage.deed(f"reassign {TOPIC}-{stage.partition} to [b1 b0], throttled to 100 kB a second"):
        rates = {f"{role}.replication.throttled.rate": 100_000 for role in ("leader", "follower")}
        for broker in (0, 1):
            stage.cluster.ask("configure", at=stage.address(1), kind="BROKER", name=str(broker), settings=rates)
        replicas = {f"{role}.replication.throttled.replicas": "*" for role in ("leader", "follower")}
        stage.cluster.ask("configure", at=stage.address(1), kind="TOPIC", name=TOPIC, settings=replicas)
        stage.assign([1, 0])
        until(lambda: bool(stage.log(0)), stage.cluster.settings.step_seconds, "b0 has records")
    with stage.deed("kill b1 while b0 catches up"):
        stage.kill(1)
    return _elected(stage, before, 0)


def _cancelled(stage: Stage) -> Verdict:
    """A reassignment is cancelled after a new replica has joined the ISR, and is begun again."""
    before = _cancelled_once(stage)
    return _added_and_elected(stage, before, 0, [1, 0, 3])


def _cancelled_once(stage: Stage) -> Reading:
    """A reassignment that cannot complete is cancelled. With eligible leader replicas b0, which is no replica any more,
    is eligible.
    """
    stage.create([[1, 2]], min_isr=2)
    stage.produce(RECORDS)
    before = stage.read(1, "a consumer reads from the beginning")
    with stage.deed("kill b2 and b3, and wait until they are fenced"):
        stage.kill(2)
        stage.kill(3)
        stage.await_record(lambda now: now.isr == {1}, "the ISR is b1", ELECTION_SECONDS)
        for broker in (2, 3):
            stage.cluster.controller.expect(rf"Fencing broker {broker}\b", 0, ELECTION_SECONDS)
    with stage.deed(f"reassign {TOPIC}-0 to [b1 b0 b3], and wait until b0 has joined the ISR"):
        stage.assign([1, 0, 3])
        stage.await_record(lambda now: now.isr == {0, 1}, "b0 joins the ISR")
    with stage.deed("cancel the reassignment, and wait until b0 has deleted its replica"):
        stage.assign(None)
        stage.await_change(0, gone=True)
        stage.describe(1)
    return before


def _says_twice(stage: Stage, what: str) -> bool:
    return len([line for line in stage.cluster.controller.lines() if re.search(what, line)]) > 1


def _leaderless(stage: Stage) -> Verdict:
    """The leader is killed after a reassignment was cancelled, and all brokers return."""
    _cancelled_once(stage)
    with stage.deed("kill b1, and wait until its session ends"):
        stage.kill(1)
        stage.await_record(lambda now: now.leader == -1, "nobody leads", ELECTION_SECONDS)
        stage.describe(0)
    with stage.deed("start b2, b3 and b1 again, and watch for a leader"):
        for broker in (2, 3, 1):
            stage.cluster.restart(broker)
        for broker in (1, 2, 3):
            granted = rf"request from broker {broker} to unfence has been granted"
            until(
                partial(_says_twice, stage, granted),
                ELECTION_SECONDS,
                f"b{broker} is unfenced",
            )
        led = _led_within(stage, LEADERLESS_SECONDS)
        stage.describe(0)
    if led:
        return Verdict(False, f"{shown(led)} leads once it is back")
    with stage.deed("elect uncleanly (ElectLeaders), as an operator would"):
        wire.elect(stage.cluster.controller_port, TOPIC, 0, stage.cluster.settings.step_seconds, uncleanly=True)
        found = stage.await_record(lambda now: now.leader >= 0, "somebody leads")
        stage.describe(found.leader)
    after = stage.read(found.leader, f"a consumer reads from {shown(found.leader)}, from the beginning")
    return Verdict(
        True,
        f"nobody led for {LEADERLESS_SECONDS:g} s, though all brokers were back and b1 led last; after an unclean "
        f"election {shown(found.leader)} leads, and a consumer reads {after}",
    )


def _led_within(stage: Stage, seconds: float) -> int:
    """Who leads within some time; 0 if nobody does (b0 has no replica)."""
    try:
        return stage.await_record(lambda now: now.leader >= 0, "somebody leads", seconds).leader
    except TimeoutExceeded:
        return 0


def _reassigned_back(stage: Stage, back: Sequence[int] | None) -> Verdict:
    """A reassignment is in progress, and an operator takes it back: by another one, or by cancelling it (None)."""
    cluster = stage.cluster
    stage.create([[0]], min_isr=1)
    stage.produce(RECORDS)
    how = "cancel the reassignment" if back is None else f"reassign {TOPIC}-0 back to {_listed(back)}"
    with stage.deed(f"pause b1, reassign {TOPIC}-0 to [b1], {how}, resume b1"):
        cluster.brokers[1].pause()
        stage.assign([1])
        stage.assign(back)
        cluster.brokers[1].resume()
    with stage.deed(f"watch for {REASSIGNING_SECONDS:g} s whether {TOPIC}-0 has its former replicas"):
        began = time.monotonic()
        completes = _is_assigned_to(stage, "b0", REASSIGNING_SECONDS)
        took = time.monotonic() - began
        stage.describe(0)
    if completes:
        return Verdict(False, f"{TOPIC}-0 has its former replicas after {took:.1f} s")
    with stage.deed("cancel the reassignment"):
        stage.assign(None)
        healed = _is_assigned_to(stage, "b0", REASSIGNING_SECONDS)
        stage.describe(0)
    return Verdict(
        True,
        f"the reassignment is not complete after {REASSIGNING_SECONDS:g} s, though all brokers run; once it is "
        f"cancelled, {TOPIC}-0 {'has its former replicas' if healed else 'still lacks its former replicas'}",
    )


def _is_assigned_to(stage: Stage, replicas: str, seconds: float) -> bool:
    """Whether the partition has exactly these replicas within some time."""
    with suppress(TimeoutExceeded):
        return until(lambda: f"replicas={replicas}, isr=" in stage.described(0), seconds, f"replicas are {replicas}")
    return False


def _restarted(stage: Stage, *, wait: bool) -> Verdict:
    """A broker shuts down in order and is started again."""
    cluster = stage.cluster
    stage.create([[0, 1]], min_isr=1)
    with stage.deed("shut b1 down (SIGTERM), and wait until it has ended"):
        mark = cluster.controller.mark()
        cluster.brokers[1].terminate(cluster.settings.step_seconds)
        if wait:
            stage.note("and wait until its session has ended")
            time.sleep(1.5 * SESSION_MS / 1000)
    with stage.deed("start b1 again at once" if not wait else "start b1 again"):
        own = cluster.start_again(1)
        registered = re.compile(r"Registering a new incarnation of broker 1\b|Registered broker 1\b")
        asked = cluster.brokers[1].expect(
            r"(\d\d:\d\d:\d\d\.\d+).*Incarnation \S+ of broker 1 in cluster .* is now STARTING", own, 60
        )
        found = cluster.controller.expect(rf"(\d\d:\d\d:\d\d\.\d+).*(?:{registered.pattern})", mark, 60)
        refused = sum("DUPLICATE_BROKER_REGISTRATION" in line for line in cluster.brokers[1].lines(own))
        cluster.brokers[1].expect(STARTED, own, cluster.settings.start_seconds)
    seconds = _of_day(found[1]) - _of_day(asked[1])
    return Verdict(
        refused > 0, f"b1 was registered {seconds:.1f} s after it had first asked, and was refused {refused} times"
    )


def _of_day(text: str) -> float:
    hours, minutes, seconds = text.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def _replaced(stage: Stage) -> Verdict:
    """A replacement completes below min.insync.replicas, and the replica that was replaced is added again."""
    stage.create([[3, 0]], min_isr=2)
    stage.produce(RECORDS)
    before = stage.read(3, "a consumer reads from the beginning")
    with stage.deed("kill b0, and wait until it has left the ISR"):
        stage.kill(0)
        stage.await_record(lambda now: now.isr == {3}, "the ISR is b3", ELECTION_SECONDS)
        stage.cluster.controller.expect(r"Fencing broker 0\b", 0, ELECTION_SECONDS)
    with stage.deed(f"reassign {TOPIC}-0 to [b0 b1], and wait until b3 has deleted its replica"):
        stage.assign([0, 1])
        stage.await_record(lambda now: now.leader == 1, "b1 leads")
        stage.await_change(3, gone=True)
        stage.describe(1)
    return _added_and_elected(stage, before, 3, [1, 3])


def _listed(replicas: Iterable[int]) -> str:
    return f"[{' '.join(map(shown, replicas))}]"


def _deposed(stage: Stage, min_isr: int, heal: Callable[[Stage], str] | None = None) -> Verdict:
    """A broker that was eligible to lead a partition of a topic that is gone registers."""
    cluster = stage.cluster
    stage.create([[0, 1]], min_isr=2)
    cluster.ask("create", at=stage.address(0), topic=OTHER, replicas=[[0]])
    with stage.deed("kill b1, and wait until it has left the ISR"):
        stage.kill(1)
        stage.await_record(lambda now: now.isr == {0}, "the ISR is b0", ELECTION_SECONDS)
        stage.describe(0)
    with stage.deed(f"set min.insync.replicas={min_isr}, and delete the topic"):
        cluster.ask(
            "configure", at=stage.address(0), kind="TOPIC", name=TOPIC, settings={"min.insync.replicas": min_isr}
        )
        cluster.ask("delete", at=stage.address(0), topic=TOPIC)
        until(lambda: not stage.has_replica(0), cluster.settings.step_seconds, "b0 deletes its replica")
    renounced, up, served = _watched(stage)
    if up and not renounced:
        return Verdict(False, "b1 is up, and no controller was deposed")
    healed = "" if heal is None else heal(stage)
    state = "came up" if up else "never came up"
    return Verdict(
        renounced > 1 and not up,
        f"active controllers were deposed {renounced} times in {WATCHED_SECONDS:g} s, and b1 {state}; {served}{healed}",
    )


def _watched(stage: Stage) -> tuple[int, bool, str]:
    """Start b1, and watch: how often a controller renounces, whether b1 comes up, and what is served meanwhile."""
    cluster = stage.cluster
    with stage.deed(f"start b1 again, and watch for {WATCHED_SECONDS:g} s"):
        before = {node.name: node.mark() for node in cluster.controllers}
        own = cluster.start_again(1)
        served = _serve_meanwhile(stage, own)
        renounced = {
            node.name: sum(map(bool, map(RENOUNCING.search, node.lines(before[node.name]))))
            for node in cluster.controllers
        }
        stage.note(f"active controllers deposed: {_each(renounced)}")
        stage.note(f"meanwhile: {served}")
    return sum(renounced.values()), cluster.brokers[1].find(STARTED, own) is not None, served


def _each(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count} times" for name, count in counts.items())


def _serve_meanwhile(stage: Stage, since: int) -> str:
    """Produce to another broker's topic and create topics, until the time is over or b1 is up."""
    cluster, until_then = stage.cluster, time.monotonic() + WATCHED_SECONDS
    produced = created = tries = 0
    slowest = 0.0
    while time.monotonic() < until_then and cluster.brokers[1].find(STARTED, since) is None:
        tries += 1
        record = {"topic": OTHER, "acks": "all", "id": f"o{tries}", "value": f"o{tries}"}
        cluster.ask("send", at=stage.address(0), **record)
        produced += "acknowledged" in cluster.ask("outcome", id=f"o{tries}", wait=10_000)
        began = time.monotonic()
        try:
            cluster.ask("create", at=stage.address(0), topic=f"n{tries}", replicas=[[0]], limit=10_000)
            created += 1
        except ClientError:
            pass
        slowest = max(slowest, time.monotonic() - began)
    return (
        f"{produced} of {tries} records to another topic acknowledged, {created} of {tries} new topics created, "
        f"the slowest after {slowest:.1f} s"
    )


def _healed_by_a_snapshot(stage: Stage) -> str:
    """What heals it: controllers that start from a snapshot have no entry for the deleted topic."""
    cluster, since = stage.cluster, time.time()
    with stage.deed("kill b1, and wait until every controller has a snapshot of the metadata that is newer"):
        stage.kill(1)
        cluster.ask("create", at=stage.address(0), topic="last", replicas=[[0]])  # metadata for it
        for node in cluster.controllers:
            until(partial(_has_snapshot, node, since), cluster.settings.step_seconds, f"{node.name}'s snapshot")
    with stage.deed("kill all controllers, and start them again"):
        marks = {node.name: node.mark() for node in cluster.controllers}
        for node in cluster.controllers:
            node.kill()
        for node in cluster.controllers:
            node.start()
        for node in cluster.controllers:
            node.expect(STARTED, marks[node.name], cluster.settings.start_seconds)
    with stage.deed("start b1 again"):
        cluster.restart(1)
    return "; once the controllers have started from a snapshot, b1 comes up"


def _has_snapshot(node: Node, since: float) -> bool:
    """Whether a controller has a snapshot that was written after some time, in seconds since 1970."""
    return any(each.stat().st_mtime > since for each in (node.folder / "data").rglob("*.checkpoint"))


OFTEN = {"metadata.log.max.snapshot.interval.ms": "1000", "metadata.max.idle.interval.ms": "0"}  # and no idle records
PATIENT = {"controller.quorum.fetch.timeout.ms": "30000"}  # nobody is elected while the leader is paused

DEFECTS = {
    "elects-an-emptied-replica": Defect(
        "Records acknowledged with acks=all and min.insync.replicas=2 are lost in a clean election.",
        {
            "removed-and-added-again": Way(
                "a replica is removed and added again, and the leader dies before it has caught up",
                _cluster(2),
                1,
                _removed_and_added_again,
            ),
            "throttled": Way("the same with a throttled reassignment and without a pause", _cluster(2), 1, _throttled),
            "cancelled": Way(
                "a reassignment is cancelled and begun again, and the leader dies", _cluster(4), 0, _cancelled
            ),
            "replaced": Way(
                "a replacement completes below min.insync.replicas, and is taken back",
                _cluster(4),
                0,
                _replaced,
                since=(4, 3),
            ),
            "first-partition": Way(
                "the same with partition 0, whose replicas the controller counts for min.insync.replicas",
                _cluster(2),
                0,
                _removed_and_added_again,
                control=True,
            ),
            "in-place-of-the-dead": Way(
                "the same with partition 0, where the leader dies before the replica is added again",
                _cluster(2),
                0,
                _added_in_place_of_the_dead,
                control=True,
            ),
            "without-eligible-replicas": Way(
                "the same with eligible.leader.replicas.version=0",
                _cluster(2, eligible_replicas=False),
                1,
                _removed_and_added_again,
                control=True,
            ),
        },
    ),
    "leaves-a-partition-without-a-leader": Defect(
        "Nobody leads a partition though the broker that led last is back.",
        {
            "cancelled": Way(
                "a reassignment is cancelled, the leader is killed, and all brokers return", _cluster(4), 0, _leaderless
            ),
            "without-eligible-replicas": Way(
                "the same with eligible.leader.replicas.version=0",
                _cluster(4, eligible_replicas=False),
                0,
                _leaderless,
                control=True,
            ),
        },
    ),
    "refuses-a-restarted-broker": Defect(
        "A broker that shut down in order and starts at once is refused until its earlier session ends.",
        {
            "at-once": Way(
                "a broker shuts down in order and starts at once",
                _cluster(2),
                0,
                lambda stage: _restarted(stage, wait=False),
                since=(4, 0),
            ),
            "after-the-session": Way(
                "the same with a start after the end of the earlier session",
                _cluster(2),
                0,
                lambda stage: _restarted(stage, wait=True),
                control=True,
            ),
        },
    ),
    "deposes-controllers": Defect(
        "One broker that cannot register deposes every active controller in turn.",
        {
            "registering": Way(
                "min.insync.replicas is lowered while a broker is down, the topic is deleted, the broker returns",
                _cluster(2, controllers=3),
                0,
                lambda stage: _deposed(stage, 1),
            ),
            "healed": Way(
                "the same, and then controllers start from a snapshot",
                _cluster(2, controllers=3, others={"metadata.log.max.snapshot.interval.ms": "5000"}),
                0,
                lambda stage: _deposed(stage, 1, _healed_by_a_snapshot),
            ),
            "same-min-insync-replicas": Way(
                "the same without the change of min.insync.replicas",
                _cluster(2, controllers=3),
                0,
                lambda stage: _deposed(stage, 2),
                control=True,
            ),
        },
    ),
    "never-completes-a-reassignment": Defect(
        "A reassignment back to the former replicas never completes.",
        {
            "reassigned-back": Way(
                "a reassignment is in progress, and the partition is reassigned to its former replica",
                _cluster(2),
                0,
                lambda stage: _reassigned_back(stage, [0]),
                since=(4, 3),
            ),
            "cancelled": Way(
                "the same with a cancellation instead of the second reassignment",
                _cluster(2),
                0,
                lambda stage: _reassigned_back(stage, None),
                control=True,
            ),
        },
    ),
    "ends-a-restarted-controller": Defect(
        "A controller that has to truncate its metadata log to a snapshot ends once.",
        {
            "cleaned": Way(
                "a controller that has cleaned its log up to a snapshot alone has more records, is killed, and starts",
                _cluster(1, controllers=3, eligible_replicas=None, others={**OFTEN, "metadata.max.retention.ms": "1"}),
                0,
                lambda stage: truncated_to_its_snapshot(stage, cleaned=True),
                since=(3, 9),
            ),
            "not-cleaned": Way(
                "the same with a log that begins at its beginning",
                _cluster(1, controllers=3, eligible_replicas=None, others=OFTEN),
                0,
                lambda stage: truncated_to_its_snapshot(stage, cleaned=False),
                control=True,
            ),
        },
    ),
    "ends-a-new-broker": Defect(
        "A broker that was killed as it first started ends at each start, until another controller leads.",
        {
            "killed-at-first": Way(
                "a new broker is killed after it has learned who leads, and then asks the controller that leads",
                _cluster(1, controllers=3, voters_change=True, eligible_replicas=None, others=PATIENT),
                0,
                lambda stage: stored_a_leader(stage, killed=True),
                since=(3, 9),
            ),
            "killed-later": Way(
                "the same with a broker that was up before",
                _cluster(1, controllers=3, voters_change=True, eligible_replicas=None, others=PATIENT),
                0,
                lambda stage: stored_a_leader(stage, killed=False),
                control=True,
            ),
        },
    ),
    "ends-the-active-controller": Defect(
        "The active controller ends when a slow voter is removed, and no other is active until it is started again.",
        {
            "slow-voter": Way(
                "a voter is paused, removed from the quorum, and resumed",
                _cluster(2, controllers=3, voters_change=True, eligible_replicas=None),
                0,
                lambda stage: removed_while_slow(stage, slow=True),
                since=(3, 9),
            ),
            "resumed-before": Way(
                "the same with a voter that has answered before it is removed",
                _cluster(2, controllers=3, voters_change=True, eligible_replicas=None),
                0,
                lambda stage: removed_while_slow(stage, slow=False),
                control=True,
            ),
        },
    ),
}


def way_of(name: str) -> tuple[str, Way]:
    """A way by the name of its defect, or by `DEFECT/WAY`, and its whole name.

    Raises:
        KafkaError: there is none; the message names those that there are.
    """
    of, slash, which = name.partition("/")
    if of not in DEFECTS:
        raise KafkaError(f"defect:{name}: there is no such defect; allowed are {', '.join(DEFECTS)}")
    ways = DEFECTS[of].ways
    which = which if slash else next(iter(ways))
    if which not in ways:
        raise KafkaError(f"defect:{name}: {of} has no such way; allowed are {', '.join(ways)}")
    return f"{of}/{which}", ways[which]
