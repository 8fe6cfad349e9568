"""What becomes of a partition whose leader's replica has moved to another log directory, as an operator meets it. The
table is in `defects`.
"""

from __future__ import annotations

import time
from contextlib import suppress

from highwater.cluster.cluster import TOPIC
from highwater.cluster.nodes import TimeoutExceeded, until
from highwater.cluster.stage import ELECTION_SECONDS, Stage
from highwater.cluster.verdict import Verdict

JOINING_SECONDS = 15.0


def moved_while_empty(stage: Stage, *, moved: bool) -> Verdict:
    """A leader that has written nothing moves its replica to another log directory, if it does, and its follower, which
    has led before, leaves the ISR and comes back.
    """
    cluster = stage.cluster
    stage.create([[1, 0]], min_isr=2)
    with stage.deed("elect b0, which b1 follows"):
        cluster.elect(0)
        stage.await_leader(0, 1)
    if moved:
        with stage.deed("move b0's replica to its other log directory"):
            former = cluster.partition_folder(0)
            there = cluster.move(0, 1)
            moves = "b0's replica is in its other log directory"
            until(lambda: there.exists() and not former.exists(), cluster.settings.step_seconds, moves)
    with stage.deed("pause b1 until it has left the ISR, and resume it"):
        cluster.brokers[1].pause()
        stage.await_record(lambda now: now.isr == {0}, "the ISR is b0", ELECTION_SECONDS)
        cluster.brokers[1].resume()
    with stage.deed(f"watch for {JOINING_SECONDS:g} s whether b1 joins the ISR"):
        began = time.monotonic()
        joins = _joins_within(stage, JOINING_SECONDS)
        took = time.monotonic() - began
        stage.describe(0)
    if joins:
        return Verdict(False, f"b1 joins the ISR after {took:.1f} s")
    with stage.deed("produce a record to b0 with acks=all"):
        became = _produced(stage, "r0")
    with stage.deed("lower min.insync.replicas to 1, produce another one, and wait until b1 joins the ISR"):
        settings = {"min.insync.replicas": "1"}
        cluster.ask("configure", at=stage.address(0), kind="TOPIC", name=TOPIC, settings=settings)
        taken = "a record is acknowledged"
        until(lambda: "acknowledged" in _produced(stage, "r1"), cluster.settings.step_seconds, taken)
        healed = _joins_within(stage, JOINING_SECONDS)
        stage.describe(0)
    return Verdict(
        True,
        f"b1 is not in the ISR after {JOINING_SECONDS:g} s, though both brokers run, and a record is {became}; "
        f"once there is a record b1 {'joins' if healed else 'does not join, either'}",
    )


def _joins_within(stage: Stage, seconds: float) -> bool:
    """Whether b1 joins the ISR within some time."""
    with suppress(TimeoutExceeded):
        return bool(stage.await_record(lambda now: now.isr == {0, 1}, "b1 joins the ISR", seconds))
    return False


def _produced(stage: Stage, record: str) -> str:
    """What became of a record that was sent to b0 with acks=all."""
    sent = {"topic": TOPIC, "partition": stage.partition, "id": record, "value": record}
    stage.cluster.ask("send", at=stage.address(0), acks="all", **sent)
    wait = int(stage.cluster.settings.step_seconds * 1000)
    answer: dict[str, object] = stage.cluster.ask("outcome", id=record, wait=wait)
    ((how, what),) = answer.items()
    stage.note(f"producer: {record} {how}: {what}")
    return f"{how}: {what}"
