"""`highwater walk`: random schedules of Kafka's own classes. Heavy imports happen inside, so that `--help` is
instant.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from highwater.cli.options import MET, PATH, UNMET, Count, kafka, refusing

if TYPE_CHECKING:
    from highwater.conformance.walking import Schedule, Setting, Walker


@click.command()
@click.argument("who", metavar="WHO", type=click.Choice(["controller", "quorum"]))
@kafka("4.4.0")
@click.option("--elr", is_flag=True, help="Switch eligible leader replicas on, for the controller.")
@click.option(
    "--log",
    type=click.Choice(["memory", "disk"]),
    help="Where the replicas of the quorum have their logs. [default: memory]",
)
@click.option(
    "--steps", type=Count(min=1), default=100_000, show_default=True, metavar="N", help="Take N steps, or a few more."
)
@click.option(
    "--seed", type=Count(0, 2**62), default=0, show_default=True, metavar="N", help="What chance follows from."
)
@click.option(
    "--show",
    "new",
    multiple=True,
    metavar="NAME",
    help="Treat this known defect as a new one: print its schedule. May be given several times.",
)
@click.option(
    "--schedule",
    "schedule_path",
    type=PATH,
    metavar="FILE",
    help="Take the steps of the schedules in FILE, which --json has written, and no others.",
)
@click.option(
    "--json", "json_path", type=PATH, metavar="FILE", help="Write what was found as JSON (format: docs/walk.md)."
)
def walk(
    who: str,
    where: str,
    *,
    elr: bool,
    log: str | None,
    steps: int,
    seed: int,
    new: tuple[str, ...],
    schedule_path: Path | None,
    json_path: Path | None,
) -> None:
    """Drive Kafka's own classes through random schedules, step by step in one thread, and check invariants after each
    step. WHO is controller (controllers and brokers) or quorum (replicas of the metadata log).

    What breaks one is made short and printed. Equal seeds print equal bytes.

    Exit codes: 0 nothing was broken, but by known defects; 1 something was; 2 Kafka, a file or the usage is wrong;
    70 the walk itself has failed; 130 interrupted.
    """
    from highwater.claims.tables import did_you_mean
    from highwater.cli.outputs import try_out
    from highwater.conformance.distribution import KafkaError, find
    from highwater.conformance.walking import Log, Setting, Walker, Who, known_defects, refuse_unless_possible
    from highwater.files import ReportError
    from highwater.reports.walking import read

    if schedule_path is not None and json_path is not None:
        raise click.UsageError("--json goes with random walks, not with --schedule")
    if elr and who != Who.CONTROLLER.value:
        raise click.UsageError(f"--elr goes with controller, not with {who}")
    if log is not None and who != Who.QUORUM.value:
        raise click.UsageError(f"--log goes with quorum, not with {who}")
    with refusing(ReportError, KafkaError):
        setting = Setting(Who(who), elr, new, Log(log or Log.MEMORY.value))
        schedules = read(schedule_path, setting) if schedule_path is not None else []
        try_out({"json": json_path}, [])
        distribution = find(where)
        refuse_unless_possible(setting, distribution.release)
        with Walker(distribution) as walker:
            allowed = known_defects(walker)
            for name in new:
                if name not in allowed:
                    meant, listed = did_you_mean(name, allowed), ", ".join(allowed)
                    raise click.UsageError(f'--show: no known defect "{name}"{meant}; allowed are {listed}')
            if schedule_path is not None:
                code = _follow(walker, setting, schedules, schedule_path)
            else:
                code = _walk(walker, setting, seed, steps, json_path)
    sys.exit(code)


def _walk(walker: Walker, setting: Setting, seed: int, steps: int, json_path: Path | None) -> int:
    from highwater.conformance.walking import walk as walk_at_random
    from highwater.reports.progress import Live, make_console
    from highwater.reports.results import write_json
    from highwater.reports.walking import as_json, show, show_pace

    errors = make_console(stderr=True)
    with Live(errors, f"{setting.who.value} of Kafka {walker.distribution.release}") as live:
        walked = walk_at_random(walker, setting, seed, steps, live.show)
    show(make_console(), walked)
    show_pace(errors, walked)
    if json_path is not None:
        write_json(json_path, as_json(walked))
    return UNMET if walked.found else MET


def _follow(walker: Walker, setting: Setting, schedules: Sequence[Schedule], path: Path) -> int:
    from highwater.conformance.walking import follow
    from highwater.files import ReportError
    from highwater.reports.progress import make_console
    from highwater.reports.walking import show_schedule

    console, broken = make_console(), False
    for number, schedule in enumerate(schedules):
        try:
            found, known = follow(walker, setting, schedule)
        except ValueError as error:
            raise ReportError(f"{path}: found[{number}].steps: no step: {error}") from None
        broken |= found is not None
        if found is None and known:
            console.print(f"ok  found[{number}] breaks nothing but by known defects: {', '.join(known)} (see --show)")
        elif found is None:
            console.print(f"ok  {schedule.invariant} is not broken by found[{number}]")
        else:
            show_schedule(console, found, f"by found[{number}]")
    return UNMET if broken else MET
