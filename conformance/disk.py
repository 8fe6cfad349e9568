"""What a cluster leaves on disk, read by Kafka's own classes: logs by batch, epoch caches, checkpoints, metadata.

A log directory is a folder with a `meta.properties`; any number of them may lie anywhere below the given one. Nothing
is changed there. What cannot be read is a finding, and the rest is read anyway.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from highwater.conformance.disk_reader import DiskReader, Part
from highwater.conformance.distribution import Distribution, KafkaError

METADATA = "__cluster_metadata"
MARK, CHECKPOINT, STARTS = "meta.properties", "replication-offset-checkpoint", "log-start-offset-checkpoint"


@attrs.frozen
class Finding:
    """Something that is wrong with what is on disk.

    Attributes:
        property: the property that is violated, or `readable`.
        where: the file or folder, relative to the given one.
        words: what is wrong.
        partition: which partition it concerns, such as `t-0`; empty if none.
    """

    property: str
    where: str
    words: str
    partition: str = ""


@attrs.frozen
class Batch:
    """A record batch: its first and last offset, its leader epoch, and the checksum of its records."""

    base: int
    last: int
    epoch: int
    checksum: int


@attrs.frozen
class Copy:
    """One broker's replica of a partition, as its log directory has it.

    Attributes:
        node: the broker's id.
        partition: such as `t-0`.
        where: the folder.
        batches: in the order of the segments.
        epochs: its leader epoch cache, as (epoch, start offset); None if there is none that can be read.
        high_watermark: from the checkpoint; None if it is not there.
        log_start: the log start offset; batches before it may still be there, and count no more.
        last_segment: where the last segment begins, which is the log's end if it is empty.
        topic_id: of the topic that it is a replica of; empty if the folder does not say.
    """

    node: int
    partition: str
    where: str
    batches: tuple[Batch, ...]
    epochs: tuple[tuple[int, int], ...] | None
    high_watermark: int | None
    log_start: int = 0
    last_segment: int = 0
    topic_id: str = ""

    @property
    def start(self) -> int:
        return max(self.log_start, self.batches[0].base if self.batches else self.last_segment)

    @property
    def end(self) -> int:
        """The log end offset."""
        return max(self.last_segment, self.batches[-1].last + 1 if self.batches else 0)


@attrs.frozen
class Disk:
    """All log directories.

    Attributes:
        nodes: by folder, the id of the node.
        copies: every replica.
        metadata: the segments of the metadata log that is furthest, by epoch and then by offset.
        snapshot: the oldest snapshot that the log goes on from, if its beginning is gone.
        metadata_start: the offset of the first batch of the history, behind the snapshot if there is one; None if there
            is no batch.
        metadata_last: the last offset of the history; -1 if there is none.
        snapshot_end: the first offset that is not in the snapshot.
        findings: what cannot be read.
    """

    nodes: dict[str, int]
    copies: tuple[Copy, ...]
    metadata: tuple[Part, ...]
    snapshot: Part | None
    metadata_start: int | None
    metadata_last: int
    snapshot_end: int
    findings: tuple[Finding, ...]

    def history(self, reader: DiskReader) -> Iterator[dict[str, Any]]:
        """The batches of the metadata log; if its beginning is gone, those behind the snapshot."""
        return (batch for batch in reader.batches(*self.metadata) if batch["base"] >= self.snapshot_end)


@contextmanager
def reading(root: Path, distribution: Distribution) -> Iterator[tuple[Disk, DiskReader]]:
    """Read every log directory below a folder, and go on to read its metadata log.

    Raises:
        KafkaError: there is none, Kafka's classes cannot be run, or a record of the metadata log is newer than they.
    """
    folders = sorted(each.parent for each in root.rglob(MARK))
    nameless = sorted(each.parent for each in root.rglob(CHECKPOINT) if each.parent not in folders)
    if not folders and not nameless:
        raise KafkaError(f"{root}: no log directory of Kafka here or below: there is no {MARK}")
    findings = [
        _Reading.finding(root, each / MARK, "is missing, so that nobody knows whose it is") for each in nameless
    ]
    found = _Reading(root, findings)
    with DiskReader(distribution) as reader:
        for folder in folders:
            (answer,) = reader.run([{"folder": str(folder.resolve())}])
            found.take(folder, answer)
        yield found.disk(), reader


def unread(root: Path, reader: DiskReader) -> Iterator[Finding]:
    """The records of the metadata log that could not be read so far."""
    for (path, why), offsets in reader.unread.items():
        behind = f", nor can {len(offsets) - 1:,} behind it" if len(offsets) > 1 else ""
        words = f"the record at offset {offsets[0]} cannot be read{behind}: {why}"
        yield Finding("readable", str(path.relative_to(root)), words)


def read_snapshot(file: Path, distribution: Distribution) -> list[dict[str, Any]]:
    """The batches of one snapshot of the metadata, or of one segment of its log, as JSON.

    Raises:
        KafkaError: it is not whole, a record cannot be read, or Kafka's classes cannot be run.
    """
    with tempfile.TemporaryDirectory() as folder, DiskReader(distribution) as reader:
        (Path(folder) / f"{METADATA}-0").mkdir()
        (Path(folder) / f"{METADATA}-0" / file.name).symlink_to(file.resolve())
        (answer,) = reader.run([{"folder": folder}])
        found = answer["partitions"][f"{METADATA}-0"]
        if "error" in found:
            raise KafkaError(f"{file}: cannot be read: {found['error']}")
        (part,) = found["snapshots"] + found["segments"]
        if "error" in part or part["whole"] != part["size"]:
            raise KafkaError(f"{file}: cannot be read: {part.get('error', 'its last batch is not whole')}")
        batches = [*reader.batches(Part(file, part["whole"]))]
        for finding in unread(file.parent, reader):
            raise KafkaError(f"{file}: {finding.words}")
        return batches


class _Reading:
    """What was read so far."""

    def __init__(self, root: Path, findings: list[Finding]) -> None:
        self._root, self._findings = root, findings
        self._nodes: dict[str, int] = {}
        self._copies: list[Copy] = []
        self._logs: list[_Log] = []

    @staticmethod
    def finding(root: Path, path: Path, words: str, partition: str = "") -> Finding:
        return Finding("readable", str(path.relative_to(root)), words, partition)

    def _miss(self, path: Path, words: str, partition: str = "") -> None:
        self._findings.append(self.finding(self._root, path, words, partition))

    def take(self, folder: Path, answer: dict[str, Any]) -> None:
        """Take in one log directory."""
        properties = answer["properties"]
        if "error" in properties:
            self._miss(folder / MARK, f"cannot be read: {properties['error']}")
            return
        node = properties.get("node.id", properties.get("broker.id", ""))
        if not node.isdigit():
            self._miss(folder / MARK, "has no node.id that is a number")
            return
        self._nodes[str(folder.relative_to(self._root))] = int(node)
        marks = self._high_watermarks(folder, answer)
        starts = self._offsets(folder / STARTS, answer.get("log_starts"))
        for name, found in answer["partitions"].items():
            if "error" in found:
                self._miss(folder / name, f"cannot be read: {found['error']}", name)
            else:
                self._take_partition(folder / name, int(node), found, marks, starts)

    def _high_watermarks(self, folder: Path, answer: dict[str, Any]) -> dict[str, int]:
        marks = answer.get("high_watermarks")
        hosts = any(not name.startswith(METADATA) for name in answer["partitions"])
        if marks is None and hosts:
            self._miss(folder / CHECKPOINT, "is missing")
        return self._offsets(folder / CHECKPOINT, marks)

    def _offsets(self, path: Path, read: dict[str, Any] | None) -> dict[str, int]:
        if read is not None and "error" in read:
            self._miss(path, f"cannot be read: {read['error']}")
            return {}
        return read or {}

    def _take_partition(
        self, folder: Path, node: int, found: dict[str, Any], marks: dict[str, int], starts: dict[str, int]
    ) -> None:
        name = f"{found['topic']}-{found['partition']}"
        epochs = found.get("epochs")
        cache = folder / "leader-epoch-checkpoint"
        if epochs is None and any(each["batches"] for each in found["segments"]):
            self._miss(cache, "is missing", name)
        if isinstance(epochs, dict):
            self._miss(cache, f"cannot be read: {epochs['error']}", name)
            epochs = None
        topic_id = found.get("topic_id", "")
        if isinstance(topic_id, dict):
            self._miss(folder / "partition.metadata", f"cannot be read: {topic_id['error']}", name)
            topic_id = ""
        whole = [*self._whole(folder, name, found["segments"])]
        known = tuple(
            Batch(each["base"], each["last"], each["epoch"], each["checksum"])
            for segment in whole
            for each in segment["batches"]
        )
        cached = None if epochs is None else tuple((epoch, start) for epoch, start in epochs)
        where = str(folder.relative_to(self._root))
        last = max((_offset(each["file"]) for each in found["segments"]), default=0)
        copy = Copy(node, name, where, known, cached, marks.get(name), starts.get(name, 0), last, topic_id)
        if found["topic"] == METADATA:
            snapshots = self._snapshots(folder, name, found["snapshots"], copy)
            copy = attrs.evolve(copy, log_start=min(snapshots, default=0) if copy.start else 0)
            parts = tuple(Part(folder / each["file"], each["whole"]) for each in whole)
            self._logs.append(_Log(copy, parts, snapshots))
        self._copies.append(copy)

    def _snapshots(self, folder: Path, name: str, files: list[dict[str, Any]], log: Copy) -> dict[int, Part]:
        """The snapshots that the metadata log goes on from, each by the first offset that is not in it.

        Kafka deletes whole segments: the log may begin before its oldest snapshot ends.
        """
        found = {}
        for each in files:
            end = _offset(each["file"])
            if log.start <= end <= log.end:
                (part,) = self._whole(folder, name, [each])
                if "error" not in part and part["whole"] == part["size"]:
                    found[end] = Part(folder / part["file"], part["whole"])
        return found

    def _whole(self, folder: Path, name: str, segments: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The segments up to the first that is not whole."""
        for each in segments:
            yield each
            lost = each["size"] - each["whole"]
            if "error" in each or lost:
                why = each.get("error", "by its length, the next batch ends behind the file")
                words = f"{lost:,} of {each['size']:,} bytes are no whole batch, from byte {each['whole']:,} on: {why}"
                self._miss(folder / each["file"], words, name)
                return

    def disk(self) -> Disk:
        """All of it."""
        log = max(self._logs, key=_Log.worth, default=None)
        nodes, copies, findings = self._nodes, tuple(self._copies), tuple(self._findings)
        if log is None:
            return Disk(nodes, copies, (), None, None, -1, 0, findings)
        end = min(log.snapshots, default=0) if log.copy.start else 0
        start = next((batch.base for batch in log.copy.batches if batch.base >= end), None)
        snapshot = log.snapshots.get(end) if end else None
        return Disk(nodes, copies, log.parts, snapshot, start, log.copy.end - 1, end, findings)


@attrs.frozen
class _Log:
    """A copy of the metadata log.

    Attributes:
        parts: its segments.
        snapshots: those that it goes on from, each by the first offset that is not in it.
    """

    copy: Copy
    parts: tuple[Part, ...]
    snapshots: dict[int, Part]

    def worth(self) -> tuple[bool, int, int, int]:
        """What makes it better than another: that its beginning is known, its last epoch, how far it goes, and from
        where. A deposed controller may have more records, which were never committed.

        Source: org.apache.kafka.raft.OffsetAndEpoch#compareTo (3.3.0 to 4.4.0).
        """
        epochs = [batch.epoch for batch in self.copy.batches[-1:]]
        epochs += [int(part.path.stem.partition("-")[2]) for part in self.snapshots.values()]
        known = bool(self.snapshots) or not self.copy.start
        return known, max(epochs, default=-1), self.copy.end, -self.copy.start


def _offset(file: str) -> int:
    """The offset that a file is called by."""
    return int(file[:20]) if re.match("[0-9]{20}", file) else 0
