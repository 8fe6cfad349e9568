"""What becomes of partitions, as an operator meets it: an emptied replica is elected, nobody leads though the last
leader is back, a reassignment never completes. The table is in `defects`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from highwater.cluster import wire
from highwater.cluster.cluster import TOPIC
from highwater.cluster.nodes import TimeoutExceeded, until
from highwater.cluster.observing import Control
from highwater.cluster.runs import Reading, shown
from highwater.cluster.stage import ELECTION_SECONDS, Stage
from highwater.cluster.verdict import Verdict

RECORDS = 3
SETTLING_SECONDS = 2.0  # after an election in which there was no candidate
LEADERLESS_SECONDS = 60.0
REASSIGNING_SECONDS = 30.0
FETCHING_SECONDS = 10.0
WAIT_SECONDS = 0.5  # fetch.max.wait.ms, by default
GROUPS = "__consumer_offsets"
JOINING_SECONDS = 30.0
MANY = 5  # times as many fetches as of a consumer that waits


def removed_and_added_again(stage: Stage) -> Verdict:
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
    return elected(stage, before, added)


def elected(stage: Stage, before: Reading, emptied: int) -> Verdict:
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


def added_in_place_of_the_dead(stage: Stage) -> Verdict:
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
    return Verdict(False, f"the request is refused: {refused}") if refused else elected(stage, before, 0)


def throttled(stage: Stage) -> Verdict:
    """As `removed_and_added_again`, with a throttled reassignment instead of a pause."""
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
    return elected(stage, before, 0)


def cancelled(stage: Stage) -> Verdict:
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


def leaderless(stage: Stage) -> Verdict:
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


def reassigned_back(stage: Stage, back: Sequence[int] | None) -> Verdict:
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


def ahead(stage: Stage, min_isr: int) -> Verdict:
    """The leader dies before its follower has heard of the high watermark, up to which a consumer has read. So the
    follower leads with an older one.
    """
    stage.create([[1, 0]], min_isr=min_isr)
    with stage.deed("a consumer reads from the beginning, and goes on"):
        stage.follow([1, 0])
        stage.await_consumer(0)
    stage.produce(RECORDS)
    with stage.deed("kill b1 once the consumer has read all, and wait until b0 leads"):
        stage.await_consumer(RECORDS)
        stage.kill(1)
        stage.await_record(lambda now: now.leader == 0, "b0 is to lead", ELECTION_SECONDS)
        stage.await_leader(0, 1)
        stage.describe(0)
    many = FETCHING_SECONDS / WAIT_SECONDS * MANY
    sent = _fetches(stage)
    if sent < many:
        return Verdict(False, f"the consumer waits: it sends {sent} fetches in {FETCHING_SECONDS:g} s")
    with stage.deed("start b1 again, and wait until it is in sync"):
        stage.cluster.restart(1)
        stage.await_record(lambda now: now.isr == {0, 1}, "b1 joins the ISR", ELECTION_SECONDS)
    return Verdict(
        True,
        f"a consumer that has read all records sends {sent:,} fetches in {FETCHING_SECONDS:g} s, and gets nothing; "
        f"once b1 is in sync again it sends {_fetches(stage)}",
    )


def _fetches(stage: Stage) -> int:
    """How many fetches the consumer sends in a while."""
    with stage.deed(f"watch the consumer for {FETCHING_SECONDS:g} s"):
        before = stage.followed()["fetches"]
        time.sleep(FETCHING_SECONDS)
        after = stage.followed()
        sent = after["fetches"] - before
        stage.note(f"consumer: {sent:,} fetches, at offset {after['position']}")
    return sent


def groups_made_again(stage: Stage, *, moved: bool) -> Verdict:
    """The topic of groups is deleted and made again on b1, to which its partition was perhaps moved before."""
    cluster, at = stage.cluster, stage.address(1)
    stage.create([[1]], min_isr=1)
    first = 0 if moved else 1
    with stage.deed(f"create {GROUPS} on {shown(first)}"):
        cluster.ask("create", at=at, topic=GROUPS, replicas=[[first]])
    if not _joins(stage, "before"):
        return Verdict(False, "no consumer joins a group, even before")
    if moved:
        with stage.deed(f"reassign {GROUPS}-0 to b1, and wait until b0 has deleted its replica"):
            cluster.assign([1], GROUPS)
            until(lambda: not _keeps_groups(stage, 0), REASSIGNING_SECONDS, f"b0 deletes {GROUPS}-0")
    mark = cluster.brokers[1].mark()
    with stage.deed(f"delete {GROUPS}, and create it on b1 again"):
        cluster.ask("delete", at=at, topic=GROUPS)
        until(lambda: not _keeps_groups(stage, 1), cluster.settings.step_seconds, f"b1 deletes {GROUPS}-0")
        cluster.ask("create", at=at, topic=GROUPS, replicas=[[1]])
    if _joins(stage, "after", mark):
        return Verdict(False, "a consumer joins a group")
    with stage.deed("end b1, and start it again"):
        stage.kill(1)
        cluster.restart(1)
    healed = _joins(stage, "once-more")
    return Verdict(
        True,
        f"no consumer joins a group within {JOINING_SECONDS:g} s; once b1 is started again "
        f"{'one does' if healed else 'none does, either'}",
    )


def _keeps_groups(stage: Stage, broker: int) -> bool:
    return stage.cluster.partition_folder(broker, GROUPS).exists()


def _joins(stage: Stage, group: str, since: int = 0) -> bool:
    """Whether a consumer joins a group. What its coordinator did not load since a mark is noted."""
    with stage.deed(f"a consumer joins the group {group}"):
        limit = int(JOINING_SECONDS * 1000)
        got: str = stage.cluster.ask("join", at=stage.address(1), topic=TOPIC, group=group, limit=limit)
        refused = stage.cluster.brokers[1].find(r"Not loading offsets and group metadata.*", since) if since else None
        if refused:
            stage.note(f"b1: {refused[0]}")
        stage.note(f"consumer: {got}")
    return got == "joined"


def replaced(stage: Stage) -> Verdict:
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
