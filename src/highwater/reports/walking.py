"""What random walks of Kafka's own classes found, on a terminal and as JSON, and schedules read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from highwater.claims.positions import text_of
from highwater.claims.tables import shown
from highwater.conformance.walking import Log, Schedule, Setting, Walked
from highwater.files import ReportError
from highwater.limits import LARGEST_REPORT
from highwater.visible import visible

FORMAT, VERSION = "highwater-walk", 1
LARGEST_SEED = 2**62
KINDS = {str: "a text", int: "a whole number", bool: "true or false", list: "a list"}


def show(console: Console, walked: Walked) -> None:
    """The block of one walk: how much was done, which known defects were met, and each new violation with its schedule.
    Nothing of it depends on time.
    """
    mark = ("BROKEN", "bold red") if walked.found else ("ok", "green")
    console.print(
        Text.assemble(mark, f"  {_title(walked.setting)} of Kafka {walked.kafka}, from seed {walked.seed} on")
    )
    console.print(Text(f"    steps   {walked.steps:,} in {walked.runs:,} runs", "dim"))
    width = max(map(len, walked.known), default=0)
    for name, (runs, first) in sorted(walked.known.items()):
        console.print(f"    known   {name.ljust(width)}  in {runs:,} runs, first with seed {first}")
    for runs, schedule in walked.found.values():
        show_schedule(console, schedule, f"in {runs:,} runs, first with seed {schedule.seed}")


def show_schedule(console: Console, schedule: Schedule, times: str) -> None:
    """A violation and its schedule, step by step, with what each step changes."""
    console.print()
    console.print(Text.assemble((schedule.invariant, "bold red"), f" is broken {times}: {visible(schedule.violation)}"))
    for number, (step, changes) in enumerate(schedule.steps, 1):
        console.print(Text(f"    {number:>3}  {visible(step)}", "bold"))
        for change in changes:
            console.print(Text(f"           {visible(change)}", "dim"))


def show_pace(console: Console, walked: Walked) -> None:
    """How fast it was."""
    rate = round(walked.steps / max(walked.seconds, 1e-9))
    console.print(Text(f"{rate:,} steps a second of processor time", "dim"))


def _title(setting: Setting) -> str:
    how = " with eligible leader replicas" if setting.elr else ""
    how += " with logs on disk" if setting.log == Log.DISK else ""
    return f"the {setting.who.value}{how}"


def as_json(walked: Walked) -> dict[str, Any]:
    """What was found, as `--json` writes it; `docs/walk.md` describes the keys."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "kafka": walked.kafka,
        "who": walked.setting.who.value,
        "elr": walked.setting.elr,
        "log": walked.setting.log.value,
        "seed": walked.seed,
        "runs": walked.runs,
        "steps": walked.steps,
        "taken": dict(sorted(walked.taken.items())),
        "known": {name: {"runs": runs, "seed": seed} for name, (runs, seed) in sorted(walked.known.items())},
        "found": [_found(runs, schedule) for runs, schedule in walked.found.values()],
    }


def _found(runs: int, schedule: Schedule) -> dict[str, Any]:
    steps = [{"step": step, "changes": list(changes)} for step, changes in schedule.steps]
    return {**attrs.asdict(schedule), "runs": runs, "steps": steps}


def read(path: Path, setting: Setting) -> Sequence[Schedule]:
    """The schedules of a file that `--json` has written.

    Raises:
        ReportError: it cannot be read, is no such file, is of another setting, or has no schedule.
    """
    try:
        data = json.loads(text_of(path, LARGEST_REPORT))
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: is not JSON: {error}") from None
    if not isinstance(data, dict) or (data.get("format"), data.get("version")) != (FORMAT, VERSION):
        raise ReportError(
            f'{path}: has no schedules (its "format" is not "{FORMAT}", or its "version" is not {VERSION}); write them '
            "with highwater walk --json"
        )
    who, elr = _value(path, data, "who", str), _value(path, data, "elr", bool)
    if (who, elr) != (setting.who.value, setting.elr):
        raise ReportError(f"{path}: who, elr: is of highwater walk {visible(who)}{' --elr' if elr else ''}; say that")
    found = _value(path, data, "found", list)
    if not found:
        raise ReportError(f"{path}: found: is empty; there is no schedule to follow")
    return [_schedule(path, f"found[{number}]", each) for number, each in enumerate(found)]


def _schedule(path: Path, key: str, data: Any) -> Schedule:
    steps = _value(path, data, f"{key}.steps", list)
    texts = [_value(path, each, f"{key}.steps[{number}].step", str) for number, each in enumerate(steps)]
    seed, invariant = _value(path, data, f"{key}.seed", int), _value(path, data, f"{key}.invariant", str)
    if not 0 <= seed <= LARGEST_SEED:
        raise ReportError(f"{path}: {key}.seed: {seed} is not allowed; allowed are 0..{LARGEST_SEED}")
    return Schedule(seed, invariant, "", tuple((text, ()) for text in texts))


def _value(path: Path, data: Any, key: str, kind: type) -> Any:
    """What a table has by the last part of a key."""
    name = key.rpartition(".")[2]
    if not isinstance(data, dict) or name not in data:
        raise ReportError(f"{path}: {key}: is missing")
    if type(data[name]) is not kind:
        raise ReportError(f"{path}: {key}: {shown(data[name])} is not {KINDS[kind]}")
    return data[name]
