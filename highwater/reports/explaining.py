"""What people see of real log directories explained."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from conformance.disk import Copy
from conformance.explaining import Explained
from conformance.history import Event, Recorded
from highwater.visible import counted, visible

NO_STEP = "no step of the model explains this"


def show(console: Console, found: Explained) -> None:
    """The history of each partition, its replicas, and what is wrong."""
    for partition in found.partitions:
        events = found.events.get(partition, [])
        console.print(Text.assemble((visible(partition), "bold"), f": {_verdict(found, partition)}"))
        width = max((len(words_of(event)) for event in events), default=0)
        for event in events:
            style = "bold red" if event.steps is None else ""
            line = Text(f"    {moment(event)}  {event.offset:>6}  ").append(
                visible(words_of(event)).ljust(width), style
            )
            console.print(line.append(f"  {shown(event.after)}"))
        for copy in found.copies(partition):
            console.print(Text(f"    {visible(replica(copy))}", "dim"))
    for finding in found.findings:
        where = f"{finding.partition}, {finding.where}" if finding.partition else finding.where
        console.print(Text.assemble((finding.property, "bold red"), f"  {visible(where)}: {visible(finding.words)}"))
    console.print(summary(found))


def summary(found: Explained) -> str:
    """All of it in a line."""
    events = sum(map(len, found.events.values()))
    unexplained = len(found.unexplained)
    parts = [
        f"{counted(len(found.disk.nodes), 'log director')[:-1]}y"
        if len(found.disk.nodes) == 1
        else f"{len(found.disk.nodes):,} log directories",
        f"{counted(events, 'change')} of {counted(len(found.events), 'partition')}",
        f"{counted(unexplained, 'partition')} not explained by {found.preset}"
        if unexplained
        else f"all explained by {found.preset}",
        counted(len(found.findings), "finding"),
    ]
    return ", ".join(parts)


def _verdict(found: Explained, partition: str) -> str:
    events = found.events.get(partition)
    if not events:
        return "no record in the metadata log"
    first = found.unexplained.get(partition)
    if first is not None:
        return f"{found.preset} does not explain the records at offset {first.offset} of the metadata log"
    return f"{counted(len(events), 'change')}, all explained by {found.preset}"


def words_of(event: Event) -> str:
    """What happened, as steps of the model."""
    words = NO_STEP if event.steps is None else ", ".join(event.steps)
    if event.steps is None:
        words += f" ({', '.join(event.records)})"
    return ", ".join(filter(None, [words, event.beside]))


def moment(event: Event) -> str:
    """When it was recorded, by the controller's clock."""
    return datetime.datetime.fromtimestamp(event.time / 1000, datetime.UTC).strftime("%H:%M:%S")


def shown(of: Recorded) -> str:
    """The controller's record in short."""
    leader = "nobody" if of.leader is None else f"b{of.leader}"
    elr = f" ELR {_brokers(of.elr)}" if of.elr else ""
    return f"{leader} leads e{of.leader_epoch}, ISR {_brokers(of.isr)}{elr}, v{of.partition_epoch}"


def replica(copy: Copy) -> str:
    """A replica in short."""
    epochs = " ".join(f"e{epoch}@{start}" for epoch, start in copy.epochs or ()) or "none"
    mark = "none" if copy.high_watermark is None else copy.high_watermark
    return f"b{copy.node}  log {copy.start}..{copy.end}, high watermark {mark}, epochs {epochs}  {copy.where}"


def _brokers(of: Iterable[int]) -> str:
    return " ".join(f"b{broker}" for broker in sorted(of)) or "none"


def as_json(found: Explained) -> dict[str, Any]:
    """All of it as data."""
    return {
        "preset": found.preset,
        "kafka": found.kafka,
        "directories": found.disk.nodes,
        "partitions": {name: _partition(found, name) for name in found.partitions},
        "findings": [
            {"property": each.property, "where": each.where, "words": each.words, "partition": each.partition}
            for each in found.findings
        ],
    }


def _partition(found: Explained, name: str) -> dict[str, Any]:
    first = found.unexplained.get(name)
    return {
        "unexplained": None if first is None else first.offset,
        "history": [
            {
                "offset": event.offset,
                "time": event.time,
                "records": event.records,
                "steps": event.steps,
                "beside": event.beside,
                "leader": event.after.leader,
                "leader_epoch": event.after.leader_epoch,
                "partition_epoch": event.after.partition_epoch,
                "isr": sorted(event.after.isr),
                "elr": sorted(event.after.elr),
                "replicas": event.after.replicas,
            }
            for event in found.events.get(name, [])
        ],
        "replicas": [
            {
                "broker": copy.node,
                "folder": copy.where,
                "log_start": copy.start,
                "log_end": copy.end,
                "high_watermark": copy.high_watermark,
                "epochs": copy.epochs,
            }
            for copy in found.copies(name)
        ],
    }
