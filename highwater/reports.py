"""Results as data: the JSON report, and traces read back from it. `docs/results.md` describes the format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import cattrs
from cattrs.preconf.json import make_converter

from explorer.system import Cut, System, successor
from explorer.trace import changes
from explorer.verdict import Step
from highwater.check import Result, Status
from highwater.spec import SpecError, build_system, resolve_model
from highwater.tables import Wrong
from model.catalogue import MODELS

FORMAT = "highwater-results"
VERSION = 1


class ReportError(Exception):
    """A report cannot be written or read, or a trace in it does not replay."""


def _make_converter() -> cattrs.Converter:
    """States as JSON: records as objects, enums by value, sets as sorted lists."""
    converter = make_converter()
    converter.register_unstructure_hook_func(
        lambda kind: getattr(kind, "__origin__", kind) in (frozenset, set),
        lambda members: [converter.unstructure(member) for member in sorted(members, key=_sort_key)],
    )
    return converter


def _sort_key(member: Any) -> Any:
    return (0, member, "") if isinstance(member, int) else (1, 0, repr(attrs.astuple(member)) if attrs.has(type(member)) else repr(member))


_CONVERTER = _make_converter()


def as_data(value: Any) -> Any:
    """A state, a protocol or a bounds object as plain JSON values."""
    return _CONVERTER.unstructure(value)


def report(results: Iterable[Result]) -> dict[str, Any]:
    """The JSON report of some results."""
    results = list(results)
    counts = {status.value: sum(result.status is status for result in results) for status in Status}
    return {"format": FORMAT, "version": VERSION, "summary": {"specs": len(results), **counts}, "results": [_entry(r) for r in results]}


def _entry(result: Result) -> dict[str, Any]:
    spec, outcome, violation = result.spec, result.outcome, result.violation
    system = spec.system()
    expect = {key: value for key, value in as_data(spec.file.expect).items() if value is not None}
    return {
        "name": spec.name,
        "file": str(spec.path),
        "model": spec.file.model,
        "protocol": as_data(spec.protocol),
        "bounds": as_data(spec.bounds),
        "check": list(spec.file.check),
        "expect": expect,
        "source": spec.file.source,
        "status": result.status.value,
        "mismatches": list(result.mismatches),
        "verdict": outcome.verdict.value,
        "reason": outcome.reason,
        "property": violation.property if violation else None,
        "arguments": violation.arguments if violation else None,
        "witness": violation.witness if violation else None,
        "facts": violation.facts if violation else None,
        "violated": {found.property: found.trace_length for found in outcome.violations},
        "distinct_states": outcome.distinct_states,
        "generated": outcome.generated,
        "depth": outcome.depth,
        "levels": list(outcome.levels),
        "trace_length": violation.trace_length if violation else None,
        "bounds_cut": outcome.bounds_cut,
        "deadlocks": outcome.deadlocks,
        "stopped_at_bound": outcome.stopped_at_bound,
        "actions": outcome.enabled,
        "never_enabled": [name for name, count in outcome.enabled.items() if not count],
        "seconds": round(outcome.seconds, 6),
        "compiled_paths": outcome.compiled_paths,
        "memory_bytes": outcome.memory,
        "state_bits": outcome.bits,
        "trace": _steps(system, violation.trace) if violation else None,
    }


def _steps(system: System, trace: tuple[Step, ...]) -> list[dict[str, Any]]:
    steps = []
    for number, step in enumerate(trace):
        before = trace[max(0, number - 1)].state
        steps.append(
            {
                "step": number,
                "action": step.action.of.name if step.action else None,
                "arguments": dict(step.action.shown) if step.action else {},
                "actor": step.action.actor if step.action else None,
                "changes": [attrs.asdict(change) for change in changes(system.domain, before, step.state)],
                "state": as_data(step.state),
            }
        )
    return steps


def write_report(path: Path, results: Iterable[Result]) -> None:
    """Write the JSON report.

    Raises:
        ReportError: the file cannot be written.
    """
    try:
        path.write_text(json.dumps(report(results), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: cannot be written: {error.strerror}") from None


def read_report(path: Path) -> list[dict[str, Any]]:
    """The entries of a JSON report.

    Raises:
        ReportError: the file cannot be read or is no report of this version.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ReportError(f"{path}: is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ReportError(f'{path}: is not a report of highwater (its "format" is not "{FORMAT}"); write one with highwater check --json')
    if data.get("version") != VERSION:
        raise ReportError(f"{path}: has version {data.get('version')!r} of the report format; this is highwater for version {VERSION}")
    if not isinstance(data.get("results"), list):
        raise ReportError(f'{path}: has no list of "results"')
    return data["results"]


def replay(entry: Mapping[str, Any]) -> tuple[System, tuple[Step, ...]]:
    """Execute the trace of a report's entry again, step by step, in plain Python.

    Returns:
        The system, and the trace with live states and actions.

    Raises:
        ReportError: the entry has no trace, names what does not exist, or a step does not lead to the state that it claims.
    """
    name = entry.get("name", "?")
    if not entry.get("trace"):
        raise ReportError(f"{name}: has no trace, its verdict is {entry.get('verdict')}")
    try:
        protocol, definition, bounds, properties = resolve_model(MODELS[entry["model"]], entry["protocol"], entry["bounds"], entry["check"])
        system = build_system(definition, protocol, bounds, properties)
        claimed = [(step["action"], step["arguments"], _CONVERTER.structure(step["state"], definition.state)) for step in entry["trace"]]
    except (Wrong, SpecError) as error:
        raise ReportError(f"{name}: {error}") from None
    except Exception as error:  # whatever a damaged file makes a converter raise
        raise ReportError(f"{name}: the trace cannot be read: {type(error).__name__}: {error}") from None
    by_name = {(action.of.name, tuple(action.shown.items())): action for action in system.actions}
    state = claimed[0][2]
    if claimed[0][0] is not None or state not in system.initial:
        raise ReportError(f"{name}: step 0 is not an initial state of the model")
    steps = [Step(None, state)]
    for number, (action_name, arguments, after) in enumerate(claimed[1:], 1):
        action = by_name.get((action_name, tuple(arguments.items())))
        if action is None:
            raise ReportError(f"{name}: step {number}: the model has no action {action_name} with arguments {arguments}")
        found = successor(action, state, system.domain)
        if found is None or isinstance(found, Cut):
            raise ReportError(f"{name}: step {number}: {action} is not enabled in the state before it")
        if found != after:
            differences = "; ".join(map(str, changes(system.domain, found, after)))
            raise ReportError(f"{name}: step {number}: {action} leads to another state than the trace says ({differences})")
        steps.append(Step(action, after))
        state = after
    return system, tuple(steps)
