"""What people see of real log directories explained."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from highwater.conformance.controller_image import Recorded
from highwater.conformance.disk import Copy
from highwater.conformance.events import Event
from highwater.conformance.explaining import Explained
from highwater.conformance.learning import named
from highwater.conformance.state_changes import Learned
from highwater.visible import counted, visible

NO_STEP = "no decision of the controller explains this"
MOST_SHOWN = 20  # partitions; of more, those with which something is amiss


def shown_of(found: Explained, chosen: Sequence[str]) -> tuple[list[str], str]:
    """The partitions to show, and in words, how many are left out: those that are chosen; otherwise all, or of more
    than a few those with which something is amiss.
    """
    every = found.partitions
    if chosen or len(every) <= MOST_SHOWN:
        return [each for each in every if not chosen or each in chosen], ""
    amiss = [each for each in every if each in found.amiss][:MOST_SHOWN]
    others = f", {len(found.amiss):,} of them with something amiss" if found.amiss else ", with nothing amiss"
    return amiss, f"{counted(len(every) - len(amiss), 'more partition')}{others}: --partition NAME shows one"


def show(console: Console, found: Explained, chosen: Sequence[str] = ()) -> None:
    """The history of each partition, its replicas, and what is wrong.

    Args:
        chosen: the partitions to show; if none is, as `shown_of` has it.
    """
    partitions, left_out = shown_of(found, chosen)
    for partition in partitions:
        events = found.history.get(partition, [])
        console.print(Text.assemble((visible(partition), "bold"), f": {_verdict(found, partition)}"))
        width = max((len(words_of(event)) for event in events), default=0)
        _show_learned(console, found, partition, -1)
        for number, event in enumerate(events):
            style = "bold red" if event.steps is None else ""
            line = Text(f"    {moment(event)}  {event.offset:>6}  ").append(
                visible(words_of(event)).ljust(width), style
            )
            console.print(line.append(f"  {shown(event.after)}"))
            _show_learned(console, found, partition, number)
        for copy in found.copies(partition):
            console.print(Text(f"    {visible(replica(copy))}", "dim"))
    if left_out:
        console.print(Text(left_out, "dim"))
    for finding in found.findings:
        where = f"{finding.partition}, {finding.where}" if finding.partition else finding.where
        console.print(Text.assemble((finding.property, "bold red"), f"  {visible(where)}: {visible(finding.words)}"))
    for remark in found.remarks:
        where = f"{remark.partition}, {remark.where}"
        console.print(Text.assemble((remark.name, "bold yellow"), f"  {visible(where)}: {visible(remark.words)}"))
    if found.lines.files:
        console.print(lines_of(found))
    console.print(summary(found))


def _show_learned(console: Console, found: Explained, partition: str, behind: int) -> None:
    for each in found.learned.get(partition, ()):
        if each.behind == behind:
            console.print(Text(f"{' ' * 22}{words_of_learned(each)}", "yellow" if each.skips else "dim"))


def words_of_learned(of: Learned) -> str:
    """A leader epoch that a broker has begun, in short."""
    role = "leads" if of.leads else f"follows {named(of.leader)}"
    missed = f", missed {' '.join(f'e{epoch}' for epoch, _ in of.missed)}".rstrip() if of.skips else ""
    after = "" if of.previous_leader_epoch is None else f", after e{of.previous_leader_epoch}"
    return (
        f"b{of.broker} {role} in e{of.leader_epoch} v{of.partition_epoch} from offset {of.start_offset}, "
        f"high watermark {of.high_watermark}{after}{missed}"
    )


def lines_of(found: Explained) -> str:
    """What brokers have printed, in a line."""
    lines = found.lines
    brokers = sorted({each.broker for each in lines.learned})
    garbled = f"; {counted(lines.garbled, 'line')} of another form passed over" if lines.garbled else ""
    return (
        f"{counted(lines.lines, 'line')} in {counted(len(lines.files), 'file')} of brokers' lines: "
        f"{counted(len(lines.learned), 'leader epoch')} begun by {_brokers(brokers)}{garbled}"
    )


def summary(found: Explained) -> str:
    """All of it in a line."""
    events = found.history.changes
    unexplained = len(found.history.unexplained)
    presets = _and([*found.history.presets] or [found.preset])
    parts = [
        "1 log directory" if len(found.disk.nodes) == 1 else f"{len(found.disk.nodes):,} log directories",
        f"{counted(events, 'change')} of {counted(len(found.history), 'partition')}",
        f"{counted(unexplained, 'partition')} not explained by {presets}"
        if unexplained
        else f"all explained by {presets}",
        counted(len(found.findings), "finding"),
    ]
    return ", ".join(parts)


def _verdict(found: Explained, partition: str) -> str:
    changes = found.history.changes_of(partition)
    if not changes:
        return "no record in the metadata log"
    first = found.history.unexplained.get(partition)
    if first is not None:
        return f"{first.preset} does not explain the records at offset {first.offset} of the metadata log"
    presets = _and([*dict.fromkeys(event.preset for event in found.history[partition])])
    return f"{counted(changes, 'change')}, all explained by {presets}"


def _and(names: Sequence[str]) -> str:
    """Names in words, such as "kafka-3.9 and kafka-4.1"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def words_of(event: Event) -> str:
    """What happened, as the controller's decisions."""
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
    under_way = "".join(f", {words}" for words in under_way_in(of))
    return f"{leader} leads e{of.leader_epoch}, ISR {_brokers(of.isr)}{elr}, v{of.partition_epoch}{under_way}"


def under_way_in(of: Recorded) -> Iterator[str]:
    """What is under way in a partition: a reassignment, a recovery."""
    if of.registration.adding:
        yield f"adding {_brokers(of.registration.adding)}"
    if of.registration.removing:
        yield f"removing {_brokers(of.registration.removing)}"
    if of.registration.recovering:
        yield "recovering"


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
        "remarks": [attrs.asdict(each) for each in found.remarks],
        "lines": {"files": found.lines.files, "other_form": found.lines.garbled},
    }


def _partition(found: Explained, name: str) -> dict[str, Any]:
    first = found.history.unexplained.get(name)
    return {
        "unexplained": None if first is None else first.offset,
        "history": [
            {
                "offset": event.offset,
                "time": event.time,
                "records": event.records,
                "preset": event.preset,
                "steps": event.steps,
                "beside": event.beside,
                "leader": event.after.leader,
                "leader_epoch": event.after.leader_epoch,
                "partition_epoch": event.after.partition_epoch,
                "isr": sorted(event.after.isr),
                "elr": sorted(event.after.elr),
                "replicas": event.after.replicas,
            }
            for event in found.history.get(name, [])
        ],
        "learned": [_learned(found, each) for each in found.learned.get(name, ())],
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


def _learned(found: Explained, of: Learned) -> dict[str, Any]:
    events = found.history.get(of.partition, ())
    return {
        "behind": events[of.behind].offset if of.behind >= 0 else None,
        "broker": of.broker,
        "leader": of.leader,
        "leader_epoch": of.leader_epoch,
        "partition_epoch": of.partition_epoch,
        "start_offset": of.start_offset,
        "high_watermark": of.high_watermark,
        "isr": None if of.isr is None else sorted(of.isr),
        "previous_leader": of.previous_leader,
        "previous_leader_epoch": of.previous_leader_epoch,
        "missed": [{"leader_epoch": epoch, "leader": leader} for epoch, leader in of.missed],
        "where": of.where,
    }
