"""Results as data: the JSON report. `docs/results.md` describes the format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.by_release import spans
from highwater.claims.checking import Result, Status
from highwater.claims.coverage import Coverage, added_up
from highwater.claims.positions import place_of, readable
from highwater.claims.raising import unproven
from highwater.claims.simulation import Simulated
from highwater.claims.spec import Spec
from highwater.claims.tables import shown
from highwater.explorer.refinement import refinement_in
from highwater.explorer.system import System
from highwater.explorer.trace import changes
from highwater.explorer.verdict import Audit, Step, Violation
from highwater.files import write_text
from highwater.model.language.shape import Domain, Shape

FORMAT, SIMULATION = "highwater-results", "highwater-simulation"
VERSION = 1


def _sort_key(member: Any) -> Any:
    """An order for members of any one kind, records by their fields."""
    if isinstance(member, frozenset | set):
        return ("", *sorted(map(_sort_key, member)))
    if attrs.has(type(member)):
        return ("", *(_sort_key(getattr(member, field.name)) for field in attrs.fields(type(member))))
    if isinstance(member, tuple):
        return ("", *map(_sort_key, member))
    if isinstance(member, Enum):  # whose values may be of several kinds
        return (type(member).__name__, *_sort_key(member.value))
    return (type(member).__name__, 0 if member is None else member)


def as_data(value: Any) -> Any:
    """A state, a protocol or a bounds object as plain JSON values: records as objects, enums by value, sets as sorted
    lists, and what JSON does not have as text. What its class says of its fields' types plays no part.
    """
    if isinstance(value, Enum):
        return as_data(value.value)
    if isinstance(value, frozenset | set):
        return [as_data(member) for member in sorted(value, key=_sort_key)]
    if isinstance(value, tuple | list):
        return [as_data(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): as_data(each) for key, each in value.items()}
    if attrs.has(type(value)):
        return {field.name: as_data(getattr(value, field.name)) for field in attrs.fields(type(value))}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def from_data(domain: Domain, data: Any, name: str = "state") -> Any:
    """A value of a domain from what `as_data` made of it. Nothing is rounded or guessed; numbers may be out of bounds.

    Args:
        name: what the value is called.

    Raises:
        ValueError: it is none; names the part.
    """
    inside = domain.inside()
    if not inside:
        return _scalar(domain, data, name)
    if "" not in inside:
        if not isinstance(data, dict) or data.keys() != inside.keys():
            raise ValueError(f"{name}: {shown(data)} is not a record of {', '.join(inside)}")
        parts = [from_data(of, data[field], f"{name}.{field}") for field, of in inside.items()]
    elif domain.shape is Shape.OPTION:
        parts = [] if data is None else [from_data(inside[""], data, name)]
    else:
        if not isinstance(data, list):
            raise ValueError(f"{name}: {shown(data)} is not a list")
        parts = [from_data(inside[""], each, f"{name}[{number}]") for number, each in enumerate(data)]
    return domain.rebuilt((), parts)


def _scalar(domain: Domain, data: Any, name: str) -> Any:
    if domain.shape is Shape.NUMBER and type(data) is int:
        return data
    written = ((as_data(value), value) for value in domain.values())
    found = [value for each, value in written if type(each) is type(data) and each == data]
    if not found:
        raise ValueError(f"{name}: {shown(data)} is none of its values")
    return found[0]


@attrs.frozen
class Finding:
    """Something that is wrong with a spec, and where: line and column counted from 1."""

    line: int
    column: int
    message: str


@attrs.frozen
class Problem:
    """A spec that could not be checked, and why."""

    path: Path
    message: str

    @property
    def findings(self) -> list[Finding]:
        """Each thing that is wrong, with where it is in the spec."""
        path, found = re.escape(str(self.path)), []
        for text in re.split(rf"\n(?={path}(?::\d+:\d+)?: )", self.message):
            at = re.match(rf"{path}:(\d+):(\d+): ", text)
            place = (int(at[1]), int(at[2])) if at else place_of(self.path, text.removeprefix(f"{self.path}: "))
            found.append(Finding(*place, text))
        return found


def report(
    results: Iterable[Result],
    problems: Iterable[Problem] = (),
    incomplete: str = "",
    unanswered: Iterable[Spec] = (),
) -> dict[str, Any]:
    """The JSON report of some results, of the specs that could not be checked, and of why there are no more, if the run
    did not end.

    Args:
        unanswered: what was asked, too, and has no result.
    """
    results = list(results)
    counts = {status.value: sum(result.status is status for result in results) for status in Status}
    return {
        "format": FORMAT,
        "version": VERSION,
        "complete": not incomplete,
        "summary": {"specs": len(results), **counts},
        "results": [entry_of(result) for result in results],
        "releases": [attrs.asdict(each) | {"verdict": each.verdict.value} for each in spans(results, unanswered)],
        "coverage": [coverage_of(each) for each in added_up(results)],
        "errors": [
            {
                "file": readable(problem.path),
                "message": problem.message,
                "findings": [attrs.asdict(each) for each in problem.findings],
            }
            for problem in problems
        ],
    }


def coverage_of(found: Coverage) -> dict[str, Any]:
    """What claims of one model reach together."""
    return {
        **{name: getattr(found, name) for name in ("model", "claims", "ended_early", "lines", "ran")},
        "unreached": [{"function": each.function, **attrs.asdict(each.at)} for each in found.missed],
    }


def entry_of(result: Result) -> dict[str, Any]:
    """The entry of one result."""
    spec, outcome = result.spec, result.outcome
    return {
        **about_spec(spec),
        "expect": {key: value for key, value in as_data(spec.file.expect).items() if value not in (None, [])},
        "status": result.status.value,
        "mismatches": list(result.mismatches),
        "verdict": outcome.verdict.value,
        "reason": outcome.reason,
        "held_back": outcome.held_back,
        "unproven": (found := unproven(spec, outcome)) and attrs.asdict(found),
        "any_number_of": list(outcome.any_number_of),
        "vacuous": outcome.vacuous,
        "violated": {found.property: found.trace_length for found in outcome.violations},
        "distinct_states": outcome.distinct_states,
        "generated": outcome.generated,
        "depth": outcome.depth,
        "levels": list(outcome.levels),
        "bounds_cut": outcome.bounds_cut,
        "deadlocks": outcome.deadlocks,
        "stopped_at_bound": outcome.stopped_at_bound,
        "actions": outcome.enabled,
        "never_enabled": [name for name, count in outcome.enabled.items() if not count],
        "unreached": [attrs.asdict(missed) for missed in outcome.unreached],
        "lines": {file: {str(line): paths for line, paths in of.items()} for file, of in outcome.lines.items()},
        "stored_states": outcome.stored_states,
        "restored_states": outcome.restored,
        "warnings": list(outcome.warnings),
        "audit": outcome.audit and audit_as_data(outcome.audit),
        "work": [attrs.asdict(each) | {"seconds": round(each.seconds, 6)} for each in outcome.work],
        "seconds": round(outcome.seconds, 6),
        "compile_seconds": round(outcome.compile_seconds, 6),
        "compiled_paths": outcome.compiled_paths,
        "memory_bytes": outcome.memory,
        "state_bits": outcome.bits,
        **about_violation(spec.system(), result.violation),
    }


def audit_as_data(audit: Audit) -> dict[str, Any]:
    """What was judged twice."""
    return {
        "states": audit.states,
        "paths": audit.paths,
        "walked_paths": audit.walked,
        "share": round(audit.share, 6),
    }


def about_spec(spec: Spec) -> dict[str, Any]:
    """What an entry says of the claim: all that it takes to explore it again."""
    return {
        "name": readable(spec.name),
        "file": readable(spec.path),
        "model": spec.file.model,
        "preset": spec.file.preset,
        "protocol": as_data(spec.protocol),
        "bounds": as_data(spec.bounds),
        "check": list(spec.file.check),
        "refines": spec.file.refines or None,
        "by_order": list(spec.file.by_order),
        "watch": list(spec.file.watch),
        "source": spec.file.source,
        "comment": readable(spec.comment),
        "changes": list(spec.changes),
    }


def about_violation(system: System, violation: Violation | None) -> dict[str, Any]:
    """What an entry says of the violation that it shows, if there is one."""
    if violation is None:
        return dict.fromkeys(
            ("property", "arguments", "witness", "facts", "trace_length", "back_to", "trace", "abstract")
        )
    return {
        "property": violation.property or None,
        "arguments": violation.arguments,
        "witness": violation.witness,
        "facts": as_data(violation.facts),
        "trace_length": violation.trace_length,
        "back_to": violation.back_to,
        "trace": steps_as_data(system, violation.trace),
        "abstract": abstract_as_data(system, violation.trace),
    }


def trace_report(about: Mapping[str, Any], system: System, violation: Violation, reason: str) -> dict[str, Any]:
    """A report whose only trace no search has found.

    Args:
        about: what its entry says besides the trace.
        reason: how the trace came about.
    """
    entry = {
        **about,
        "status": "undecided",
        "verdict": "violated" if violation.property else "unknown",
        "reason": reason,
        **about_violation(system, violation),
    }
    return {"format": FORMAT, "version": VERSION, "complete": False, "results": [entry], "errors": []}


def abstract_as_data(system: System, trace: tuple[Step, ...]) -> list[dict[str, Any]] | None:
    """The same trace in the model that is to be refined, if there is one."""
    if (refines := refinement_in(system)) is None:
        return None
    return [
        {
            "step": number,
            "action": step.action.of.name if step.action else None,
            "arguments": dict(step.action.shown) if step.action else {},
            "fits": step.fits,
            "state": as_data(step.state),
        }
        for number, step in enumerate(refines.beside(trace))
    ]


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


def simulation_report(found: Simulated) -> dict[str, Any]:
    """What was found as JSON; `highwater trace` reads it as it reads the results of `check`."""
    spec, made = found.spec, found.simulation
    counts = (
        "seed",
        "walks",
        "depth",
        "steps",
        "walk",
        "taken",
        "enabled",
        "bounds_cut",
        "at_depth",
        "at_rest",
        "at_bound",
        "unweighted",
    )
    entry = {
        **about_spec(spec),
        "not_judged": list(found.not_judged),
        "as_claimed": found.as_claimed,
        "verdict": "violated" if found.violation else "unknown",
        "walk_length": made.violation.trace_length if made.violation else None,
        "minimal": found.shrunk.minimal.value if found.shrunk else None,
        "simulation": {name: getattr(made, name) for name in counts},
        "unreached": [attrs.asdict(missed) for missed in made.unreached],
        "compiled_paths": made.compiled_paths,
        "seconds": round(made.seconds, 6),
        "compile_seconds": round(made.compile_seconds, 6),
        **about_violation(spec.system(), found.violation),
    }
    return {"format": SIMULATION, "version": VERSION, "results": [entry]}


def write_json(path: Path, data: Any) -> None:
    """Write what is plain data already.

    Raises:
        ReportError: the file cannot be written.
    """
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
