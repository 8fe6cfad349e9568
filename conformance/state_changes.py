"""Which leader epochs brokers have begun, by the lines that they print of it: `state-change.log`, or whatever file has
them.

A line counts only if it is whole and of the form that releases from 3.3 on print. Anything else is passed over, so that
damaged files are no trouble. A line says which broker has printed it; the order of lines is that of the file, not that
of their clocks. What followers print of the previous leader is not kept: 3.9 to 4.1 print it after the change.

Source: kafka.cluster.Partition#makeLeader, #makeFollower, and kafka.server.ReplicaManager#getOrCreatePartition
    (3.3 to 4.3).
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import attrs

from highwater.conformance.disk import Finding

KINDS = (".log", ".out", ".txt")  # in the names of files that may have such lines
SEGMENT = re.compile(r"\d{20}")
LONGEST_LINE = 1 << 16
TELLING = (b"starts at leader epoch", b"Creating")  # any line of interest has one of them
NUMBER, OFFSET = r"-?\d{1,10}", r"-?\d{1,19}"
BROKER = r"\[Broker id=(?P<broker>\d{1,10})\] "
TOPIC_ID = re.compile(r"[\w-]{22}", re.ASCII)
NAME = r"[a-zA-Z0-9._-]+-\d{1,10}"
BEGINS = (
    rf"starts at leader epoch (?P<epoch>{NUMBER}) from offset (?P<start>{OFFSET}) with partition epoch "
    rf"(?P<version>{NUMBER})"
)
MARK = rf"high watermark (?P<mark>{OFFSET})"
BEFORE = rf"Previous leader(?: (?P<previous>\S+) and previous leader)? epoch was (?P<before>{NUMBER})\."
LEADER = re.compile(
    rf"{BROKER}Leader (?P<partition>{NAME}) with topic id (?P<id>\S+) {BEGINS}, {MARK}, "
    rf"ISR \[(?P<isr>[\d,]*)\],.*{BEFORE}",
    re.ASCII,
)
FOLLOWER = re.compile(
    rf"{BROKER}Follower (?P<partition>{NAME}) {BEGINS} and {MARK}\. Current leader is (?P<leader>{NUMBER})\. {BEFORE}",
    re.ASCII,
)
MADE = re.compile(
    rf"{BROKER}(?:Creating new partition (?P<new>{NAME}) with(?: topic id (?P<id>\S+))?"
    rf"|Expected partition (?P<lost>{NAME}) with.*Creating)",
    re.ASCII,
)


@attrs.frozen
class Learned:
    """A leader epoch that a broker has begun, as leader or as follower.

    Attributes:
        broker: who has printed it.
        partition: such as `t-0`.
        leader: whom it has learned as leader; None if there is none.
        leader_epoch, partition_epoch: as it has learned them.
        start_offset: its log end offset then.
        high_watermark: its own.
        isr: as the leader has learned it; None if the broker follows.
        previous_leader: whom the leader knew before; None if nobody, or if the line does not say it, as before 3.8.
        previous_leader_epoch: the one that the leader was in before; None if there is none, or if the broker follows.
        topic_id: of the topic; empty where neither the line says it, nor the one of the start.
        run: the same for what a broker has printed between two starts; also ends if the replica is made anew.
        where: file and line.
        behind: the number of the change in the history that it comes after; -1 if it comes before all.
        missed: the leader epochs that the leader has not seen, by the metadata log, each with its leader.
    """

    broker: int
    partition: str
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    start_offset: int
    high_watermark: int
    isr: frozenset[int] | None
    previous_leader: int | None
    previous_leader_epoch: int | None
    topic_id: str = ""
    run: int = 0
    where: str = ""
    behind: int = -1
    missed: tuple[tuple[int, int | None], ...] = ()

    @property
    def leads(self) -> bool:
        return self.leader == self.broker

    @property
    def skips(self) -> bool:
        """Whether there were leader epochs in between that the leader has not seen."""
        before = self.previous_leader_epoch
        return before is not None and before < self.leader_epoch - 1


@attrs.frozen
class StateChanges:
    """What was read.

    Attributes:
        learned: in the order of the files and lines.
        files: those with such lines, and those that are called `state-change.log`, each with the number of its lines.
        garbled: how many lines begin as one of them and are not whole, or of another form.
        findings: files that cannot be read.
    """

    learned: tuple[Learned, ...] = ()
    files: dict[str, int] = attrs.Factory(dict)
    garbled: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def lines(self) -> int:
        return sum(self.files.values())


def read_lines(root: Path) -> StateChanges:
    """Read every file below a folder that may have lines of brokers. What two of them both have counts once."""
    series: dict[tuple[Path, str], list[tuple[tuple[int, int, str], Path]]] = {}
    for each in root.rglob("*"):
        if any(kind in each.name for kind in KINDS) and not SEGMENT.match(each.name) and each.is_file():
            name, order = _in_series(each.name)
            series.setdefault((each.parent, name), []).append((order, each))
    reading = _Reading(root)
    for number in sorted(series):
        reading.begin()
        for _, path in sorted(series[number]):
            reading.take(path)
    return StateChanges(tuple(reading.learned), reading.files, reading.garbled, tuple(reading.findings))


def _in_series(name: str) -> tuple[str, tuple[int, int, str]]:
    """The name of a file before it was rotated, and what orders those of one name, from the oldest to the newest."""
    kind = next(kind for kind in KINDS if kind in name)
    first, _, rest = name.partition(kind)
    rest = rest.removesuffix(".gz").lstrip(".-_")
    if not rest:
        return first + kind, (2, 0, "")
    counted = re.fullmatch(r"[0-9]{1,3}", rest)  # the highest number is the oldest; anything else is a date
    return first + kind, (1, -int(rest), "") if counted else (0, 0, rest)


class _Reading:
    """What was read so far."""

    def __init__(self, root: Path) -> None:
        self.learned: list[Learned] = []
        self.files: dict[str, int] = {}
        self.garbled = 0
        self.findings: list[Finding] = []
        self._root = root
        self._origins: dict[Learned, int] = {}
        self._series = self._runs = 0
        self._run: dict[tuple[int, str], int] = {}
        self._topic_ids: dict[int, str] = {}
        self._fresh: set[tuple[int, str]] = set()

    def begin(self) -> None:
        """Files of another name follow."""
        self._series += 1
        self._run, self._fresh = {}, set()

    def take(self, path: Path) -> None:
        """Take in one file."""
        where, number, before = str(path.relative_to(self._root)), 0, len(self.learned) + self.garbled
        try:
            with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
                for line in iter(lambda: file.readline(LONGEST_LINE), b""):
                    number += 1
                    if any(each in line for each in TELLING):
                        self._take_line(line.decode(errors="replace"), f"{where}:{number}")
        except (OSError, EOFError, zlib.error) as error:
            self.findings.append(Finding("readable", where, f"cannot be read: {error}"))
        if path.name.startswith("state-change") or len(self.learned) + self.garbled > before:
            self.files[where] = number

    def _take_line(self, line: str, where: str) -> None:
        made = MADE.search(line)
        if made is not None:
            self._new_run((int(made["broker"]), made["new"] or made["lost"]), _topic_id(made))
            return
        found = LEADER.search(line) or FOLLOWER.search(line)
        if found is None:
            self.garbled += "starts at leader epoch" in line and "[Broker id=" in line
            return
        replica = int(found["broker"]), found["partition"]
        if replica not in self._run or (int(found["before"]) < 0 and replica not in self._fresh):
            self._new_run(replica)
        self._fresh.discard(replica)
        content = _learned(found)
        if self._origins.setdefault(content, self._series) == self._series:
            run = self._run[replica]
            topic_id = content.topic_id or self._topic_ids.get(run, "")
            self.learned.append(attrs.evolve(content, topic_id=topic_id, run=run, where=where))

    def _new_run(self, replica: tuple[int, str], topic_id: str = "") -> None:
        self._runs += 1
        self._topic_ids[self._runs] = topic_id
        self._run[replica] = self._runs
        self._fresh.add(replica)


def _learned(found: re.Match[str]) -> Learned:
    """What a line says."""
    values = found.groupdict()
    leads = "isr" in values  # of the leader's line only
    leader = int(values["broker" if leads else "leader"])
    before, previous = int(values["before"]), _numbers(values["previous"] or "")
    return Learned(
        broker=int(values["broker"]),
        partition=values["partition"],
        leader=None if leader < 0 else leader,
        leader_epoch=int(values["epoch"]),
        partition_epoch=int(values["version"]),
        start_offset=int(values["start"]),
        high_watermark=int(values["mark"]),
        isr=frozenset(_numbers(values["isr"])) if leads else None,
        previous_leader=next((each for each in previous if leads and each >= 0), None),
        previous_leader_epoch=before if leads and before >= 0 else None,
        topic_id=_topic_id(found),
    )


def _topic_id(line: re.Match[str]) -> str:
    """The id of a topic, as releases print it: `X`, `Some(X)`, `Optional[X]`."""
    found = TOPIC_ID.search(line.groupdict().get("id") or "")
    return found[0] if found else ""


def _numbers(text: str) -> Iterator[int]:
    """The numbers of `[0,1]`, of `Some(0)`, or none."""
    return (int(each) for each in re.findall(r"-?[0-9]{1,10}", text))
