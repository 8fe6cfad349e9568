"""What real log directories say, explained: the history of each partition, and what is wrong with what is on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import attrs

from highwater.conformance.disk import METADATA, Copy, Disk, Finding, reading, unread
from highwater.conformance.distribution import Distribution
from highwater.conformance.history import History
from highwater.conformance.learning import Remark, judge_learned, place, remarks
from highwater.conformance.on_disk import judge
from highwater.conformance.state_changes import Learned, StateChanges, read_lines

COMPACTED = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


@attrs.frozen
class Explained:
    """What was found.

    Attributes:
        preset, kafka: the rules that were tried, and the release whose classes read the files.
        disk: what was read.
        history: that of each partition; one without stands in no metadata log.
        findings: what is wrong.
        lines: the brokers' lines, as they were read.
        learned: by partition, the leader epochs that brokers have begun, in the order of the history.
        remarks: what is not wrong, and worth knowing.
    """

    preset: str
    kafka: str
    disk: Disk
    history: History
    findings: tuple[Finding, ...]
    lines: StateChanges = StateChanges()
    learned: dict[str, list[Learned]] = attrs.Factory(dict)
    remarks: tuple[Remark, ...] = ()

    @property
    def amiss(self) -> set[str]:
        """The partitions that are not explained, or have findings or remarks."""
        found = (each.partition for each in self.findings)
        noted = (each.partition for each in self.remarks)
        return {*self.history.unexplained, *filter(None, found), *noted}

    @property
    def partitions(self) -> list[str]:
        """The partitions with a history or a replica, without the metadata log itself."""
        names = {*self.history, *self.learned, *(copy.partition for copy in self.disk.copies)}
        return sorted(name for name in names if name.rpartition("-")[0] != METADATA)

    @cached_property
    def _copies(self) -> dict[str, list[Copy]]:
        return dict(_by_partition(self.disk.copies))

    def copies(self, partition: str) -> list[Copy]:
        """The replicas of a partition, by broker."""
        return sorted(self._copies.get(partition, ()), key=lambda each: each.node)


def explain_directories(
    root: Path,
    distribution: Distribution,
    preset: str | None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Explained:
    """Read what is below a folder, and explain it by the rules of a preset.

    Args:
        preset: None for the rules of the release that the cluster's metadata.version names.
        progress: is called again and again with an offset of the metadata log that is explained, and its last one.

    Raises:
        KafkaError: there is nothing of Kafka's, its classes cannot be run, or a record is newer than they.
    """
    history = History(preset)
    with reading(root, distribution) as (disk, reader):
        if disk.snapshot is not None:
            history.begin(reader.batches(disk.snapshot), disk.snapshot_end)
        for batch in disk.history(reader):
            history.take(batch)
            progress(batch["last"], disk.metadata_last)
    history.end()
    lines = read_lines(root)
    findings = [*disk.findings, *unread(root, reader), *_beginnings(disk), *history.findings]
    findings += [*_on_disk(disk, history), *lines.findings]
    learned, notes = dict[str, list[Learned]](), [*_former(disk, history)]
    met = {"", *history.topic_ids}  # behind a snapshot others are of topics that were gone before
    for partition, of in _by_partition(lines.learned):
        events, begun = history.get(partition, []), history.begun.get(partition)
        older = [each for each in of if disk.snapshot is not None and each.topic_id not in met]
        ours = [each for each in of if disk.snapshot is None or each.topic_id in met]
        if disk.metadata_start == 0 or (disk.snapshot is not None and (events or begun)):
            findings += judge_learned(ours, events, begun)
        learned[partition] = [*older, *place(ours, events)]
        notes += remarks(learned[partition], events)
    release = distribution.release
    return Explained(history.preset, release, disk, history, tuple(findings), lines, learned, tuple(notes))


def _beginnings(disk: Disk) -> Iterator[Finding]:
    """What is wrong if the history has no beginning."""
    if disk.snapshot is None and disk.metadata_start is None:
        yield Finding("readable", ".", f"there is no record of {METADATA}, so that there is no history")
    elif disk.snapshot is None and disk.metadata_start:
        words = f"{METADATA} begins at offset {disk.metadata_start}, and there is no snapshot that it goes on from"
        yield Finding("readable", ".", words)


def _on_disk(disk: Disk, history: History) -> Iterator[Finding]:
    """What is wrong with the replicas of each partition, those of former topics of its name apart."""
    for partition, copies in _by_partition(disk.copies):
        topic = partition.rpartition("-")[0]
        compacted = topic in COMPACTED or (topic != METADATA and history.may_be_compacted(topic))
        now, recorded = history.topic_id(topic) or "", history.recorded(partition)
        for topic_id in sorted({copy.topic_id or now for copy in copies}):
            of = [copy for copy in copies if (copy.topic_id or now) == topic_id]
            isr = recorded.isr if recorded is not None and topic_id == now else frozenset()
            yield from judge(of, isr, compacted=compacted)


def _former(disk: Disk, history: History) -> Iterator[Remark]:
    """The replicas of topics that are gone, and whose names others have: their brokers have not yet put them away.

    Source: org.apache.kafka.storage.internals.log.LogManager#isStrayReplica (4.3.1),
        kafka.server.metadata.BrokerMetadataPublisher#findStrayPartitions (3.5.1).
    """
    for copy in disk.copies:
        now = history.topic_id(copy.partition.rpartition("-")[0])
        if now and copy.topic_id and copy.topic_id != now:
            words = f"b{copy.node}'s replica is of a former topic of this name, {copy.topic_id}; the topic now is {now}"
            yield Remark("former_topic", copy.partition, copy.where, words)


OfPartition = TypeVar("OfPartition", Copy, Learned)


def _by_partition(found: Iterable[OfPartition]) -> Iterable[tuple[str, list[OfPartition]]]:
    grouped: dict[str, list[OfPartition]] = {}
    for each in found:
        grouped.setdefault(each.partition, []).append(each)
    return sorted(grouped.items())
