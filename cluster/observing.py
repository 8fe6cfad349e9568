"""What can be seen of a cluster from outside: lines that its processes print, and logs on disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import attrs

from highwater.cluster.cluster import TOPIC, Cluster
from highwater.cluster.nodes import Node
from highwater.conformance.distribution import KafkaError

CREATED = re.compile(
    r"(?:new|Created) partition (\S+) with topic ID.*isr=\[([\d, ]*)\].*leader=(-?\d+).*leaderEpoch=(\d+)"
)
CHANGED = re.compile(r"partition change for (\S+) with topic ID \S+: (.*)")
LEARNED = re.compile(rf"\] (Leader|Follower) {TOPIC}-0 .*starts at leader epoch (\d+)")
TELLING = (
    r"partition change for {0}\b|\] (?:Leader|Follower) {0} .*starts at leader epoch"
    r"|partition={0}\b.*Truncating to offset|{0}\b.*(?:ISR updated|Shrinking ISR|Expanding ISR)"
    r"|Log for partition {0} is renamed"
    r"|Fencing broker|unfence has been granted|Registering a new incarnation|Registered broker"
    r"|Renouncing leadership|Becoming the active controller at epoch"
)
LONGEST_LINE = 400
CONNECTIONS = ("/proc/net/tcp", "/proc/net/tcp6")
ESTABLISHED = "01"
NOON = "12"


@attrs.frozen
class Control:
    """The controller's record of one partition, from its own lines."""

    leader: int
    leader_epoch: int
    isr: frozenset[int]


def control(cluster: Cluster, topic: str = TOPIC, partition: int = 0) -> Control | None:
    """What the controller has recorded last of a partition."""
    name, found = f"{topic}-{partition}", None
    for line in cluster.controller.lines():
        if f" {name} " not in line:
            continue
        if (match := CREATED.search(line)) and match[1] == name:
            found = Control(int(match[3]), int(match[4]), _ids(match[2]))
        elif found is not None and (match := CHANGED.search(line)) and match[1] == name:
            found = Control(
                _last(r"\bleader: -?\d+ -> (-?\d+)", match[2], found.leader),
                _last(r"leaderEpoch: \d+ -> (\d+)", match[2], found.leader_epoch),
                _ids(isr[1]) if (isr := re.search(r"\bisr: \[[\d, ]*\] -> \[([\d, ]*)\]", match[2])) else found.isr,
            )
    return found


def _ids(text: str) -> frozenset[int]:
    return frozenset(map(int, re.findall(r"\d+", text)))


def _last(pattern: str, text: str, otherwise: int) -> int:
    match = re.search(pattern, text)
    return int(match[1]) if match else otherwise


def learned(broker: Node) -> tuple[bool, int] | None:
    """Whether a broker leads, and the leader epoch, as it has printed last."""
    found = next((match for line in reversed(broker.lines()) if (match := LEARNED.search(line))), None)
    return (found[1] == "Leader", int(found[2])) if found else None


def telling_lines(cluster: Cluster, marks: dict[str, int], topic: str = TOPIC, partition: int = 0) -> Iterator[str]:
    """The lines since some marks that say what became of a partition, in the order of time. They have no date: what
    is seen between two marks lasts far less than half a day.
    """
    nodes, telling = (*cluster.controllers, *cluster.brokers), re.compile(TELLING.format(f"{topic}-{partition}"))
    found = [
        (line[:12], f"{node.name}: {_short(line)}")
        for node in nodes
        for line in node.lines(marks[node.name])
        if telling.search(line)
    ]
    hours = [int(clock[:2]) for clock, _ in found if clock[:2].isdecimal()]
    past_midnight = bool(hours) and max(hours) - min(hours) > int(NOON)
    found.sort(key=lambda each: (past_midnight and each[0] < NOON, each[0]))
    return (line for _, line in found)


def marks(cluster: Cluster) -> dict[str, int]:
    """Where each process's lines end now."""
    return {node.name: node.mark() for node in (*cluster.controllers, *cluster.brokers)}


def connection_lists() -> list[Path]:
    """The kernel's lists of connections, and of what waits in them.

    Raises:
        KafkaError: it has none: it is not Linux.
    """
    files = [Path(name) for name in CONNECTIONS if Path(name).exists()]
    if not files:
        raise KafkaError(
            f"{CONNECTIONS[0]} does not exist: this needs Linux, whose kernel says whether a process has read a request"
        )
    return files


def has_unread_request(port: int) -> bool:
    """Whether bytes that a process has not read wait at a connection to its port, as the kernel says.

    Raises:
        KafkaError: the kernel does not say it.
    """
    for line in (line for file in connection_lists() for line in file.read_text().splitlines()[1:]):
        _, local, _, state, queues, *_ = line.split()
        unread = int(queues.rpartition(":")[2], 16)
        if unread and state == ESTABLISHED and int(local.rpartition(":")[2], 16) == port:
            return True
    return False


def _short(line: str) -> str:
    line = re.sub(r" with topic (?:id|ID) (?:Some\()?\S+?\)?(?=[ :])", "", line)
    line = re.sub(r"directories: \[[^\]]*\] -> \[[^\]]*\],? ?|, dir=[^\]]*", "", line)
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."
