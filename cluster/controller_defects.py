"""What becomes of brokers and of active controllers, as an operator meets it: a broker that starts again is refused, a
registration deposes each controller. The table is in `defects`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial

from highwater.cluster.clients import ClientError
from highwater.cluster.cluster import STARTED, TOPIC
from highwater.cluster.nodes import Node, until
from highwater.cluster.stage import ELECTION_SECONDS, SESSION_MS, Stage
from highwater.cluster.verdict import Verdict

WATCHED_SECONDS = 120.0
SECONDS_BETWEEN_TRIES = 0.25
OTHER = "other"
RENOUNCING = re.compile(r"registerBroker: event failed.*Renouncing leadership")


def restarted(stage: Stage, *, wait: bool) -> Verdict:
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


def deposed(stage: Stage, min_isr: int, heal: Callable[[Stage], str] | None = None) -> Verdict:
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
        time.sleep(SECONDS_BETWEEN_TRIES)
    return (
        f"{produced} of {tries} records to another topic acknowledged, {created} of {tries} new topics created, "
        f"the slowest after {slowest:.1f} s"
    )


def healed_by_a_snapshot(stage: Stage) -> str:
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
