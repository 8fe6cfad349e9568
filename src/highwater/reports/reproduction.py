"""A counterexample on a real cluster, as a terminal shows it and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from highwater.claims.positions import readable
from highwater.claims.reproduction import Reproduction
from highwater.cluster.runs import Observed, Reading
from highwater.cluster.schedule import Schedule
from highwater.cluster.settings import Settings
from highwater.cluster.verdict import Verdict, not_taken, numbers_of
from highwater.cluster.ways import Staged, Way
from highwater.explorer.verdict import Violation
from highwater.visible import counted, visible

FORMAT, FORMAT_OF_DEFECTS, VERSION = "highwater-reproduction", "highwater-defect", 1


def show_settings(console: Console, settings: Settings) -> None:
    """What the cluster is like."""
    controllers = "ZooKeeper" if settings.zookeeper else counted(settings.controllers, "controller")
    console.print(
        Text(
            f"    cluster  {controllers}, {settings.brokers} brokers, "
            f"min.insync.replicas={settings.min_insync_replicas}, "
            f"unclean.leader.election.enable={str(settings.unclean_election).lower()}, "
            f"{'zookeeper' if settings.zookeeper else 'broker'}.session.timeout.ms={settings.session_ms}",
            "dim",
        )
    )


def show_deed(console: Console, schedule: Schedule, violation: Violation, number: int, each: Observed) -> None:
    """One deed, the trace's steps that it takes, and what was observed."""
    steps = numbers_of(schedule, violation.trace)[number]
    if number == schedule.shows_from:
        console.print(Text(f"    {violation.property} is violated now. What follows from that:", "bold"))
    taken = f"   step{'s' if len(steps) > 1 else ''} {', '.join(map(str, steps))}" if steps else ""
    show_observed(console, number, each, taken)


def show_observed(console: Console, number: int, each: Observed, taken: str = "") -> None:
    """What was done, and what was observed meanwhile."""
    console.print(Text.assemble(f"{number:>4}  {each.did}", (f"{taken}  {each.seconds:.1f} s", "dim")))
    for line in each.lines:
        console.print(Text(f"        {visible(line)}", "dim"), soft_wrap=True)
    console.print(Text(f"        logs: {logs_of(each)}"))
    if each.failed:
        console.print(Text(f"        {visible(each.failed)}", "red"))


def logs_of(each: Observed) -> str:
    return "; ".join(f"b{broker} {' '.join(log) or 'empty'}" for broker, log in enumerate(each.logs))


def show(console: Console, found: Reproduction) -> None:
    """The verdict."""
    if found.schedule is not None:
        numbers = numbers_of(found.schedule, found.of.violation.trace)
        left = not_taken(numbers, found.of.violation.trace)
        if left:
            named = ", ".join(f"{number} {step}" for number, step in left.items())
            console.print(Text(f"    steps of the trace that it does without: {named}", "dim"), soft_wrap=True)
    show_verdict(console, found.of.name, found.kafka, found.verdict)


def show_verdict(console: Console, name: str, kafka: str, verdict: Verdict) -> None:
    """Whether it was reproduced, and in what way or why not."""
    mark = ("REPRODUCED", "bold red") if verdict.reproduced else ("not reproduced", "bold yellow")
    console.print(Text.assemble(mark, "  ", (visible(name), "bold"), f"  Kafka {kafka}"))
    console.print(Text(f"    {visible(verdict.sentence)}"), soft_wrap=True)


def as_json(found: Reproduction) -> dict[str, Any]:
    """What was found, as `--json` writes it; `docs/reproduce.md` describes the keys."""
    schedule, run = found.schedule, found.run
    numbers = numbers_of(schedule, found.of.violation.trace) if schedule else ()
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": readable(found.of.name),
        "kafka": found.kafka,
        "property": found.of.violation.property,
        "reproduced": found.verdict.reproduced,
        "verdict": readable(found.verdict.sentence),
        "settings": attrs.asdict(found.settings) if found.settings else None,
        "deeds": [
            {**_observed(each), "steps": list(numbers[number])}
            for number, each in enumerate(run.observed if run else ())
        ],
        "violated_after": schedule.shows_from - 1 if schedule else None,
        "steps_left_out": {str(key): value for key, value in not_taken(numbers, found.of.violation.trace).items()}
        if schedule
        else {},
        "producers": dict(run.acknowledged) if run else {},
        "consumer_before": _reading(run.before) if run else None,
        "consumer_after": _reading(run.after) if run else None,
    }


def defect_as_json(name: str, way: Way, kafka: str, runs: Sequence[Staged]) -> dict[str, Any]:
    """What came of some runs of one way, as `--json` writes it; `docs/reproduce.md` describes the keys."""
    return {
        "format": FORMAT_OF_DEFECTS,
        "version": VERSION,
        "name": name,
        "control": way.control,
        "kafka": kafka,
        "settings": attrs.asdict(way.settings),
        "runs": [
            {
                "reproduced": run.verdict.reproduced,
                "verdict": readable(run.verdict.sentence),
                "deeds": list(map(_observed, run.deeds)),
            }
            for run in runs
        ],
    }


def _observed(each: Observed) -> dict[str, Any]:
    return {
        "deed": each.did,
        "logs": [list(log) for log in each.logs],
        "lines": list(map(readable, each.lines)),
        "seconds": round(each.seconds, 3),
        "failed": readable(each.failed),
    }


def _reading(found: Reading | None) -> dict[str, Any] | None:
    if found is None:
        return None
    records = [{"offset": offset, "value": value, "leader_epoch": epoch} for offset, value, epoch in found.records]
    return {"records": records, "end_offset": found.end}
