"""Results as data: the JSON report, and traces read back from it. `docs/results.md` describes the format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import cattrs
from cattrs.preconf.json import make_converter

from explorer.system import Cut, System, judge_end, successor
from explorer.trace import changes, violation_at
from explorer.verdict import DEADLOCK, Step, Violation
from highwater.claims import Result, Status
from highwater.specs.positions import readable
from highwater.specs.spec import SpecError, build_system, find_model, resolve_model
from highwater.specs.tables import Findings, Wrong, shown, strict
from model.definition import Definition, Model

FORMAT, SIMULATION = "highwater-results", "highwater-simulation"
VERSION = 1


class ReportError(Exception):
    """A report cannot be written or read, or a trace in it does not replay."""


def _make_converter() -> cattrs.Converter:
    """States as JSON and back: records as objects, enums by value, sets as sorted lists. Nothing is rounded or guessed when reading."""
    converter = make_converter()
    for kind in (int, str, bool):
        converter.register_structure_hook(kind, strict(kind))
    converter.register_unstructure_hook_func(
        lambda kind: getattr(kind, "__origin__", kind) in (frozenset, set),
        lambda members: [converter.unstructure(member) for member in sorted(members, key=_sort_key)],
    )
    return converter


def _sort_key(member: Any) -> Any:
    """An order for members of any one kind, records by their fields."""
    if isinstance(member, frozenset | set):
        return ("", *sorted(map(_sort_key, member)))
    if attrs.has(type(member)):
        return ("", *(_sort_key(getattr(member, field.name)) for field in attrs.fields(type(member))))
    if isinstance(member, tuple):
        return ("", *map(_sort_key, member))
    return (type(member).__name__, member.value if isinstance(member, Enum) else 0 if member is None else member)


_CONVERTER = _make_converter()


def as_data(value: Any) -> Any:
    """A state, a protocol or a bounds object as plain JSON values."""
    return _CONVERTER.unstructure(value)


def report(results: Iterable[Result]) -> dict[str, Any]:
    """The JSON report of some results."""
    results = list(results)
    counts = {status.value: sum(result.status is status for result in results) for status in Status}
    return {
        "format": FORMAT,
        "version": VERSION,
        "summary": {"specs": len(results), **counts},
        "results": [entry_of(result) for result in results],
    }


def entry_of(result: Result) -> dict[str, Any]:
    """The entry of one result."""
    spec, outcome, violation = result.spec, result.outcome, result.violation
    system = spec.system()
    expect = {key: value for key, value in as_data(spec.file.expect).items() if value is not None}
    return {
        "name": readable(spec.name),
        "file": readable(spec.path),
        "model": spec.file.model,
        "preset": spec.file.preset,
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
        "facts": as_data(violation.facts) if violation else None,
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
        "unreached": [attrs.asdict(missed) for missed in outcome.unreached],
        "stored_states": outcome.stored_states,
        "seconds": round(outcome.seconds, 6),
        "compiled_paths": outcome.compiled_paths,
        "memory_bytes": outcome.memory,
        "state_bits": outcome.bits,
        "trace": steps_as_data(system, violation.trace) if violation else None,
    }


def steps_as_data(system: System, trace: tuple[Step, ...]) -> list[dict[str, Any]]:
    """A trace as the reports hold it."""
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
    write_text(path, json.dumps(report(results), indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a report's file.

    Raises:
        ReportError: it cannot be written.
    """
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
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
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") not in (FORMAT, SIMULATION):
        raise ReportError(f'{path}: is not a report of highwater (its "format" is not "{FORMAT}"); write one with highwater check --json')
    if data.get("version") != VERSION:
        raise ReportError(f"{path}: has version {data.get('version')!r} of the report format; this is highwater for version {VERSION}")
    entries = data.get("results")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries):
        raise ReportError(f'{path}: has no list of "results", each with a "name"')
    return entries


def replay(entry: Mapping[str, Any]) -> tuple[System, Violation]:
    """Execute the trace of a report's entry again, step by step, in plain Python, and judge its last state.

    Returns:
        The system, and the violation as it was found again.

    Raises:
        ReportError: the entry has no trace, names what does not exist, a step does not lead to the state that it claims, or the last
            state does not violate the property that it claims.
    """
    name = entry.get("name", "?")
    if not isinstance(entry.get("trace"), list) or not entry["trace"]:
        raise ReportError(f"{name}: has no trace, its verdict is {entry.get('verdict')}")
    try:
        subject = subject_of(entry)
    except (Wrong, SpecError) as error:
        raise ReportError(f"{name}: {error}") from None
    steps: list[Step] = []
    for number, claimed in enumerate(entry["trace"]):
        try:
            steps.append(_replay_step(subject, steps, claimed))
        except ReportError as error:
            raise ReportError(f"{name}: step {number}: {error}") from None
    return subject.system, _judge_again(name, subject.system, entry.get("property"), steps)


@attrs.frozen
class Subject:
    """What a report's entry speaks of: a model under a protocol, within bounds, with the properties that were checked."""

    model: Model
    definition: Definition
    protocol: Any
    bounds: Any
    system: System


def subject_of(entry: Mapping[str, Any]) -> Subject:
    """What an entry speaks of.

    Raises:
        Wrong: with all that is wrong with it.
    """
    findings = Findings()
    for key, kind in (("model", str), ("protocol", dict), ("bounds", dict), ("check", list)):
        if not isinstance(entry.get(key), kind):
            findings.add(f"{key}: is missing or damaged: {shown(entry.get(key))}")
    findings.raise_if_any()
    if not all(isinstance(check, str) for check in entry["check"]):
        raise Wrong("check: is damaged: it names properties by other things than texts")
    model = find_model(entry["model"])
    protocol, definition, bounds, properties = resolve_model(model, entry["protocol"], entry["bounds"], entry["check"])
    return Subject(model, definition, protocol, bounds, build_system(definition, protocol, bounds, properties))


def _replay_step(subject: Subject, before: list[Step], claimed: Any) -> Step:
    """Execute one step of a trace; the first one is an initial state."""
    system, definition = subject.system, subject.definition
    try:
        action_name, arguments = claimed["action"], dict(claimed["arguments"])
        after = _CONVERTER.structure(claimed["state"], definition.state)
        if system.domain.exceeded(after):
            raise ValueError("the state is outside the bounds")
    except Exception as error:  # whatever a damaged file makes a converter raise
        raise ReportError(f"cannot be read: {type(error).__name__}: {error}") from None
    if not before:
        if action_name is not None or after not in system.initial:
            raise ReportError("is not an initial state of the model")
        return Step(None, after)
    action = next((action for action in system.actions if action.of.name == action_name and dict(action.shown) == arguments), None)
    if action is None:
        raise ReportError(f"the model has no action {action_name} with arguments {arguments}")
    found = successor(action, before[-1].state, system.domain)
    if found is None or isinstance(found, Cut):
        raise ReportError(f"{action} is not enabled in the state before it")
    if found != after:
        differences = "; ".join(map(str, changes(system.domain, found, after)))
        raise ReportError(f"{action} leads to another state than the trace says ({differences})")
    return Step(action, after)


def _judge_again(name: str, system: System, claimed: Any, steps: list[Step]) -> Violation:
    """The violation at the end of a replayed trace."""
    last = steps[-1].state
    if claimed == DEADLOCK:
        if any(successor(action, last, system.domain) is not None for action in system.actions):
            raise ReportError(f"{name}: step {len(steps) - 1}: {DEADLOCK} is not violated: an action is enabled, or a bound cuts one")
        return violation_at(system, None, steps)
    for instance in (*system.invariants, *system.step_properties, *system.prospects):
        if instance.of.name == claimed and not judge_end(system, instance, steps[-2].state if len(steps) > 1 else None, last):
            return violation_at(system, instance, steps)
    raise ReportError(f"{name}: step {len(steps) - 1}: the property {shown(claimed)} is not violated")
