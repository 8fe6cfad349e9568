"""What ends members of the metadata quorum, as an operator meets it: a removed voter that answers late, a broker that
has stored a leader and no voters, a log that is truncated to a snapshot. The table is in `defects`.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress

from highwater.cluster.clients import ClientError
from highwater.cluster.cluster import STARTED, Cluster
from highwater.cluster.nodes import Node, TimeoutExceeded, until
from highwater.cluster.observing import connection_lists, has_unread_request
from highwater.cluster.runs import shown
from highwater.cluster.stage import Stage
from highwater.cluster.verdict import Verdict

ASKED_SECONDS = 10.0  # a leader asks a slow voter within 1 s (4.1) or 2 s (4.3), and waits 2 s for the answer
ANSWERED_SECONDS = 3.0
ENDED_SECONDS = 10.0
MEANWHILE_MS = 10_000
ACTIVE = re.compile(r"Becoming the active controller at epoch (\d+)")
FATAL = re.compile(r"Encountered fatal fault|Unexpected acknowledgement from non-voter")
STARTS = 3
SNAPSHOT_SECONDS, CLEANED_SECONDS = 1.0, 90.0
NO_EPOCH = re.compile(r"Log doesn't have a last fetch epoch")
LEARNED_LEADER = r"Completed transition to FollowerState\("
NOT_FOLLOWER = re.compile(r"Expected to be Follower, but the current state is")


def removed_while_slow(stage: Stage, *, slow: bool) -> Verdict:
    """A voter of the metadata quorum that is slow is removed, and then answers the active controller.

    Raises:
        KafkaError: the kernel does not say what the voter has not read.
    """
    connection_lists()
    cluster = stage.cluster
    stage.create([[0, 1]], min_isr=1)
    active = _active(cluster)
    leader, voter = cluster.controllers[active], (active + 1) % len(cluster.controllers)
    removed = cluster.controllers[voter]
    with stage.deed(f"pause {removed.name}, and wait until {leader.name}, which is active, asks it"):
        removed.pause()
        port = cluster.port_of_controller(voter)
        until(lambda: has_unread_request(port), ASKED_SECONDS, f"{removed.name} has a request that it has not read")
    if not slow:
        with stage.deed(f"resume {removed.name}, and wait until it has answered"):
            removed.resume()
            time.sleep(ANSWERED_SECONDS)
    with stage.deed(f"remove {removed.name} from the voters (RemoveRaftVoter){', and resume it' if slow else ''}"):
        cluster.remove_voter(voter, active)
        removed.resume()
    with stage.deed(f"watch {leader.name} for {ENDED_SECONDS:g} s"):
        ended = _ends(leader, ENDED_SECONDS)
        for line in leader.lines():
            if FATAL.search(line):
                stage.note(f"{leader.name}: {line}")
    if not ended:
        return Verdict(False, f"{leader.name} goes on")
    return Verdict(True, f"{leader.name}, the active controller, ended by itself; {_without_the_ended(stage, active)}")


def _active(cluster: Cluster) -> int:
    """The number of the active controller: who became it in the newest epoch."""
    epochs = [node.find(ACTIVE.pattern) for node in cluster.controllers]
    return max(range(len(epochs)), key=lambda number: int(found[1]) if (found := epochs[number]) else -1)


def _ends(node: Node, seconds: float) -> bool:
    """Whether a process ends by itself within some time."""
    with suppress(TimeoutExceeded):
        return until(lambda: not node.running, seconds, f"{node.name} ends")
    return False


def _without_the_ended(stage: Stage, ended: int) -> str:
    """What the others do without it, and once it is started again."""
    cluster, node = stage.cluster, stage.cluster.controllers[ended]
    marks = {each.name: each.mark() for each in cluster.controllers}

    def becomes_active() -> bool:
        return any(each.find(ACTIVE.pattern, marks[each.name]) for each in cluster.controllers)

    with stage.deed("create a topic"):
        try:
            cluster.ask("create", at=stage.address(0), topic="meanwhile", replicas=[[0]], limit=MEANWHILE_MS)
            created = "a topic is created without it"
        except ClientError as error:
            created = "no topic is created without it"
            stage.note(str(error))
        created += "" if becomes_active() else ", and no controller becomes active"
    with stage.deed(f"start {node.name} again"):
        node.start()
        until(becomes_active, cluster.settings.step_seconds, "a controller becomes active")
    return f"{created}; a controller is active once it is started again"


def stored_a_leader(stage: Stage, *, killed: bool) -> Verdict:
    """A new broker learns who leads the metadata quorum, and is killed before it has read who the voters are."""
    cluster = stage.cluster
    active = _active(cluster)
    leader, other = cluster.controllers[active], (active + 1) % len(cluster.controllers)
    new = cluster.new_broker()
    node, own = cluster.brokers[new], shown(new)
    if killed:
        with stage.deed(
            f"pause {leader.name}, which is active; start {own}, which asks {cluster.controllers[other].name}"
        ):
            leader.pause()
            cluster.ask_one_controller(new, other)
            node.start()
            node.expect(LEARNED_LEADER, 0, cluster.settings.start_seconds)
        with stage.deed(f"kill {own}, and resume {leader.name}"):
            node.kill()
            leader.resume()
    else:
        with stage.deed(f"start {own}, which asks {cluster.controllers[other].name}, and kill it once it is up"):
            cluster.ask_one_controller(new, other)
            node.start()
            node.expect(STARTED, 0, cluster.settings.start_seconds)
            node.kill()
    ended = 0
    for _ in range(STARTS):
        with stage.deed(f"start {own}, which asks {leader.name}"):
            cluster.ask_one_controller(new, active)
            goes_on = _starts(stage, node, own, NOT_FOLLOWER)
        if goes_on:
            return Verdict(False, f"{own} is up")
        ended += 1
    with stage.deed(f"start {own}, which asks {cluster.controllers[other].name}"):
        cluster.ask_one_controller(new, other)
        mark = node.mark()
        node.start()
        node.expect(STARTED, mark, cluster.settings.start_seconds)
    return Verdict(
        True, f"{own} ended by itself in {ended} of {STARTS} starts; it is up once it asks another controller"
    )


def truncated_to_its_snapshot(stage: Stage, *, cleaned: bool) -> Verdict:
    """An active controller has a snapshot at the end of its log and appends a record that nobody else gets. It is
    killed, another one becomes active, and it starts again.
    """
    cluster = stage.cluster
    active = _active(cluster)
    leader = cluster.controllers[active]
    others = [each for each in cluster.controllers if each is not leader]
    with stage.deed(f"create two topics, and wait until {leader.name} has a snapshot of all"):
        for number in range(2):
            time.sleep(2 * SNAPSHOT_SECONDS)
            cluster.ask("create", at=stage.address(0), topic=f"s{number}", replicas=[[0]])
        time.sleep(2 * SNAPSHOT_SECONDS)
        stage.note(f"{leader.name} has snapshots {' '.join(_snapshots(leader))}")
    if cleaned:
        with stage.deed(f"wait until {leader.name} has deleted the older snapshots (it looks every minute)"):
            until(lambda: len(_snapshots(leader)) == 1, CLEANED_SECONDS, "one snapshot is left")
            stage.note(f"{leader.name} has the snapshot {' '.join(_snapshots(leader))}")
    with stage.deed(f"kill the others, create a topic, kill {leader.name}, start the others"):
        for each in others:
            each.kill()
        with suppress(ClientError):
            cluster.ask("create", at=stage.address(0), topic="uncommitted", replicas=[[0]], limit=1_000)
        leader.kill()
        marks = {each.name: each.mark() for each in others}
        for each in others:
            each.start()
    with stage.deed("wait until another controller is active"):
        until(
            lambda: any(each.find(ACTIVE.pattern, marks[each.name]) for each in others),
            cluster.settings.step_seconds,
            "another controller is active",
        )
    ended = 0
    for _ in range(STARTS):
        with stage.deed(f"start {leader.name} again"):
            goes_on = _starts(stage, leader, leader.name, NO_EPOCH)
        if goes_on:
            break
        ended += 1
    return Verdict(ended > 0, f"{leader.name} ended by itself in {ended} of {ended + goes_on} starts")


def _starts(stage: Stage, node: Node, name: str, why: re.Pattern[str]) -> bool:
    """Start a process, and note the lines that say why it ends, if it does; whether it goes on."""
    mark = node.mark()
    node.start()
    seconds = stage.cluster.settings.step_seconds
    until(lambda: node.find(STARTED, mark) or not node.running, seconds, f"{name} is up, or has ended")
    goes_on = not _ends(node, SNAPSHOT_SECONDS)
    for line in node.lines(mark):
        if why.search(line):
            stage.note(f"{name}: {line}")
    return goes_on


def _snapshots(node: Node) -> list[str]:
    """The names of a controller's snapshots, without that with which its folder was formatted."""
    names = sorted(each.stem for each in (node.folder / "data").rglob("*.checkpoint"))
    return [name for name in names if "-" in name and not name.startswith("0" * 20)]
