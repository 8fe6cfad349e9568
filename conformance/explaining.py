"""What real log directories say, explained: the history of each partition, and what is wrong with what is on disk."""

from __future__ import annotations

from pathlib import Path

import attrs

from highwater.conformance.controller_steps import Recorded
from highwater.conformance.disk import METADATA, Copy, Disk, Finding, read
from highwater.conformance.distribution import Distribution
from highwater.conformance.history import Event, History
from highwater.conformance.learning import Remark, judge_learned, place, remarks
from highwater.conformance.on_disk import judge
from highwater.conformance.state_changes import Learned, StateChanges, read_lines

COMPACTED = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", METADATA})


@attrs.frozen
class Explained:
    """What was found.

    Attributes:
        preset, kafka: the rules that were tried, and the release whose classes read the files.
        disk: what was read.
        events: by partition, its history; a partition without one stands in no metadata log.
        recorded: by partition, the controller's last record.
        findings: what is wrong.
        lines: the brokers' lines, as they were read.
        learned: by partition, the leader epochs that brokers have begun, in the order of the history.
        remarks: what is not wrong, and worth knowing.
    """

    preset: str
    kafka: str
    disk: Disk
    events: dict[str, list[Event]]
    recorded: dict[str, Recorded]
    findings: tuple[Finding, ...]
    lines: StateChanges = StateChanges()
    learned: dict[str, list[Learned]] = attrs.Factory(dict)
    remarks: tuple[Remark, ...] = ()

    @property
    def unexplained(self) -> dict[str, Event]:
        """By partition, the first batch of metadata records that no step of the model explains."""
        first = {name: next((each for each in of if each.steps is None), None) for name, of in self.events.items()}
        return {name: event for name, event in first.items() if event is not None}

    @property
    def partitions(self) -> list[str]:
        """The partitions with a history or a replica, without the metadata log itself."""
        names = {*self.events, *self.learned, *(copy.partition for copy in self.disk.copies)}
        return sorted(name for name in names if name.rpartition("-")[0] != METADATA)

    def copies(self, partition: str) -> list[Copy]:
        """The replicas of a partition, by broker."""
        return sorted((each for each in self.disk.copies if each.partition == partition), key=lambda each: each.node)


def explain_directories(root: Path, distribution: Distribution, preset: str) -> Explained:
    """Read what is below a folder, and explain it by the rules of a preset.

    Raises:
        KafkaError: there is nothing of Kafka's, or its classes cannot be run.
    """
    disk = read(root, distribution)
    history = History(preset)
    history.begin(disk.snapshot, disk.snapshot_end)
    findings = list(disk.findings)
    if not disk.metadata and not disk.snapshot:
        findings.append(Finding("readable", ".", f"there is no record of {METADATA}, so that there is no history"))
    elif not disk.snapshot and disk.metadata[0]["base"]:
        words = f"{METADATA} begins at offset {disk.metadata[0]['base']}, and there is no snapshot that it goes on from"
        findings.append(Finding("readable", ".", words))
    for batch in disk.metadata:
        history.take(batch)
    compacted = COMPACTED | history.compacted
    for partition in sorted({copy.partition for copy in disk.copies}):
        topic = partition.rpartition("-")[0]
        copies = [each for each in disk.copies if each.partition == partition]
        recorded = history.recorded.get(partition)
        isr = recorded.isr if recorded is not None else frozenset()
        findings += judge(copies, isr, compacted=topic in compacted and topic != METADATA)
    lines = read_lines(root)
    findings += lines.findings
    learned, notes = dict[str, list[Learned]](), list[Remark]()
    whole = bool(disk.metadata) and disk.metadata[0]["base"] == 0
    for partition in sorted({each.partition for each in lines.learned}):
        events, begun = history.events.get(partition, []), history.begun.get(partition)
        of = [each for each in lines.learned if each.partition == partition]
        if whole or (disk.snapshot and (events or begun)):
            findings += judge_learned(of, events, begun)
        learned[partition] = place(of, events)
        notes += remarks(learned[partition], events)
    return Explained(
        preset,
        distribution.release,
        disk,
        dict(sorted(history.events.items())),
        history.recorded,
        tuple(findings),
        lines,
        learned,
        tuple(notes),
    )
