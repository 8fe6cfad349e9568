"""What becomes of controllers and topics with ZooKeeper, as an operator meets it: each new controller resigns, a topic
that is deleted stays. The first broker is the controller. The table is in `defects`.
"""

from __future__ import annotations

import time
from contextlib import suppress

from highwater.cluster import wire
from highwater.cluster.clients import ClientError
from highwater.cluster.cluster import ELECTED, TOPIC
from highwater.cluster.nodes import TimeoutExceeded, until
from highwater.cluster.runs import shown
from highwater.cluster.stage import ELECTION_SECONDS, Stage
from highwater.cluster.verdict import Verdict

CONTROLLER, NEXT, TARGET = 0, 1, 2
NOT_THERE = 9  # no broker has this number
WATCHED_SECONDS = 10.0
DELETING_SECONDS = 30.0
WAITING_MS = 5_000  # for an answer that does not come before a topic has a leader, or is deleted
DELETED = rf"Deletion of topic {TOPIC} successfully completed"


def resigned(stage: Stage, *, reassigned: bool) -> Verdict:
    """A partition that was never led is perhaps reassigned; its broker ends, and then the controller."""
    with stage.deed("create a topic whose only replica is on a broker that is not there"):
        with suppress(ClientError):
            stage.cluster.ask("create", at=stage.address(NEXT), topic=TOPIC, replicas=[[NOT_THERE]], limit=WAITING_MS)
        stage.cluster.brokers[CONTROLLER].expect(rf"New topics: .*\b{TOPIC}\b", 0, stage.cluster.settings.step_seconds)
    if reassigned:
        with stage.deed(f"reassign {TOPIC}-0 to {shown(TARGET)}"):
            try:
                stage.assign([TARGET])
            except wire.Refused as error:  # and the assignment is written all the same
                stage.note(f"the controller answers: {error}")
    with stage.deed(f"shut {shown(TARGET)} down (SIGTERM)"):
        _shut_down(stage, TARGET)
    with stage.deed(f"shut the controller down (SIGTERM), and watch for {WATCHED_SECONDS:g} s who is elected"):
        _fail_over(stage)
        elected = _elections(stage)
        stage.note(f"{shown(NEXT)} was elected {elected} times")
    if elected < WATCHED_SECONDS:  # less than once a second
        return Verdict(False, f"{shown(NEXT)} {'stays controller' if elected == 0 else f'was elected {elected} times'}")
    with stage.deed(f"start {shown(TARGET)} again, and watch for as long"):
        stage.cluster.restart(TARGET)
        again = _elections(stage)
    healed = "stays controller" if again == 0 else f"was elected {again} times as well"
    return Verdict(
        True,
        f"{shown(NEXT)} was elected {elected:,} times in {WATCHED_SECONDS:g} s; "
        f"once {shown(TARGET)} is back it {healed}",
    )


def _shut_down(stage: Stage, broker: int) -> None:
    stage.cluster.brokers[broker].terminate(stage.cluster.settings.step_seconds)


def _fail_over(stage: Stage) -> None:
    """End the controller, and wait until another broker is elected."""
    following = stage.cluster.brokers[NEXT]
    mark = following.mark()
    _shut_down(stage, CONTROLLER)
    following.expect(ELECTED, mark, ELECTION_SECONDS)


def _elections(stage: Stage) -> int:
    """How often the next controller is elected in a while."""
    following = stage.cluster.brokers[NEXT]
    mark = following.mark()
    time.sleep(WATCHED_SECONDS)
    return sum(ELECTED in line for line in following.lines(mark))


def deleted(stage: Stage, *, fail_over: bool) -> Verdict:
    """A topic is deleted while it is reassigned to a broker that is paused, and the controller ends, perhaps."""
    target = stage.cluster.brokers[TARGET]
    stage.create([[NEXT]], min_isr=1)
    with stage.deed(f"pause {shown(TARGET)}, reassign {TOPIC}-0 to it, and delete the topic"):
        target.pause()
        stage.assign([TARGET])
        with suppress(ClientError):
            stage.cluster.ask("delete", at=stage.address(NEXT), topic=TOPIC, limit=WAITING_MS)
    if fail_over:
        with stage.deed("shut the controller down (SIGTERM), and wait until another is elected"):
            _fail_over(stage)
    with stage.deed(f"resume {shown(TARGET)}, and watch for {DELETING_SECONDS:g} s whether the topic is deleted"):
        target.resume()
        done = _is_deleted(stage)
    if done:
        return Verdict(False, "the topic is deleted")
    with stage.deed(f"shut {shown(TARGET)} down (SIGTERM), and start it again"):
        _shut_down(stage, TARGET)
        stage.cluster.restart(TARGET)
        done = _is_deleted(stage)
    return Verdict(
        True,
        f"the topic is still there after {DELETING_SECONDS:g} s, though all its brokers run; once {shown(TARGET)} is "
        f"started again, it is {'deleted' if done else 'still there'}",
    )


def _is_deleted(stage: Stage) -> bool:
    """Whether a controller says within some time that it has deleted the topic."""

    def look() -> bool:
        return any(broker.find(DELETED) for broker in stage.cluster.brokers)

    with suppress(TimeoutExceeded):
        return until(look, DELETING_SECONDS, "the topic is deleted")
    return False
