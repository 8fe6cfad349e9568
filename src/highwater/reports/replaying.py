"""Reports read back: their traces executed again step by step, judged again, and compared with what the report
tells.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import attrs

from highwater.claims.building import build_system
from highwater.claims.expressions import Expression, watched
from highwater.claims.positions import text_of
from highwater.claims.refining import refinement_of
from highwater.claims.resolving import find_model, resolve_model
from highwater.claims.spec import SpecError
from highwater.claims.tables import Findings, Wrong, shown
from highwater.explorer.analysis.causes import instances_of, violates
from highwater.explorer.blame import ModelError
from highwater.explorer.outlook import is_deadlock
from highwater.explorer.search.graph_properties.lassos import lasso_at
from highwater.explorer.system import Cut, System, successor
from highwater.explorer.trace import changes, violation_at
from highwater.explorer.verdict import DEADLOCK, Step, Violation, by_hand
from highwater.files import ReportError
from highwater.limits import LARGEST_REPORT
from highwater.model.language.declarations import Instance
from highwater.model.language.definition import Definition, Model
from highwater.model.language.graph_properties import Liveness
from highwater.reports.results import FORMAT, SIMULATION, VERSION, about_violation, from_data


def read_report(path: Path) -> list[dict[str, Any]]:
    """The entries of a JSON report, or the one of the page of a counterexample.

    Raises:
        ReportError: the file cannot be read or is no report of this version.
    """
    try:
        text = text_of(path, LARGEST_REPORT)
        if path.suffix.lower() == ".html":
            return [_entry_of_page(path, text)]
        data = json.loads(text)
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") not in (FORMAT, SIMULATION):
        raise ReportError(
            f'{path}: is not a report of highwater (its "format" is not "{FORMAT}"); write one with highwater check '
            "--json"
        )
    if data.get("version") != VERSION:
        raise ReportError(
            f"{path}: has version {shown(data.get('version'))} of the report format; this is highwater for version "
            f"{VERSION}"
        )
    entries = data.get("results")
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries
    ):
        raise ReportError(f'{path}: has no list of "results", each with a "name"')
    return entries


def entries_with_traces(path: Path, name: str | None, *, only: bool = False) -> list[dict[str, Any]]:
    """The entries with a trace of a report or a page.

    Args:
        name: which of them: a spec's name, its file, or either with what was changed, as a list of several has it.
        only: refuse several.

    Raises:
        ReportError: there is none, or the file is no report.
    """
    entries = [each for each in read_report(path) if each.get("trace") and name in (None, *_called(each))]
    if not entries:
        raise ReportError(f"{path}: holds no trace" + (f" of a spec named {name}" if name else ""))
    if only and len(entries) > 1:
        every = [each for entry in entries for each in set(_called(entry))]
        names = (next((each for each in _called(of) if every.count(each) == 1), of["name"]) for of in entries)
        raise ReportError(f"{path}: holds several traces; choose one with --spec: {'; '.join(names)}")
    return entries


def only_entry(path: Path, name: str | None) -> dict[str, Any]:
    """The entry with a trace of a report or a page; of several, the one with a name.

    Raises:
        ReportError: there is none, or there are several, or the file is no report.
    """
    return entries_with_traces(path, name, only=True)[0]


def _called(entry: Mapping[str, Any]) -> list[str]:
    """What an entry is called, the shortest first."""
    names = [entry["name"], *([entry["file"]] if isinstance(entry.get("file"), str) else [])]
    changes = entry["changes"] if isinstance(entry.get("changes"), list) else []
    return [*names, *(", ".join((name, *map(str, changes))) for name in names)]


def _entry_of_page(path: Path, text: str) -> dict[str, Any]:
    """The entry that the page of a counterexample carries."""
    found = re.search(r'<script type="application/json" id="entry">(.*?)</script>', text, re.DOTALL)
    entry = json.loads(found[1]) if found else None
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ReportError(f"{path}: is not the page of a counterexample; highwater check --html DIR writes some")
    return entry


def replay(entry: Mapping[str, Any]) -> tuple[System, Violation]:
    """Execute the trace of a report's entry again, step by step, in plain Python, judge its last state, and compare
    with what it says.

    Returns:
        The system, and the violation as it was found again.

    Raises:
        ReportError: the entry has no trace, names what does not exist, a step does not lead to the state that it
            claims, the last state does not violate the property that it claims, or the entry says otherwise of a step
            or of the violation than was found.
    """
    name = entry.get("name", "?")
    if not isinstance(entry.get("trace"), list) or not entry["trace"]:
        raise ReportError(f"{name}: has no trace, its verdict is {entry.get('verdict')}")
    try:
        subject = subject_of(entry)
    except Wrong as wrong:
        raise ReportError("\n".join(f"{name}: {problem}" for problem in wrong.problems)) from None
    except (SpecError, ModelError) as error:
        raise ReportError(f"{name}: {error}") from None
    steps: list[Step] = []
    for number, claimed in enumerate(entry["trace"]):
        try:
            steps.append(_replay_step(subject, steps, claimed))
        except ReportError as error:
            raise ReportError(f"{name}: step {number}: {error}") from None
    violation = _judge_again(name, subject.system, entry, steps)
    _refuse_lies(name, entry, about_violation(subject.system, violation))
    return subject.system, violation


@attrs.frozen
class Subject:
    """What a report's entry speaks of: a model under a protocol, within bounds, with the properties that were
    checked.
    """

    model: Model
    definition: Definition
    protocol: Any
    bounds: Any
    system: System
    watch: tuple[Expression, ...] = ()


def subject_of(entry: Mapping[str, Any], model: Model | None = None) -> Subject:
    """What an entry speaks of.

    Args:
        model: the entry's model, wherever it was found; it is looked for by its name if None.

    Raises:
        Wrong: with all that is wrong with it.
    """
    findings = Findings()
    for key, kind in (("model", str), ("protocol", dict), ("bounds", dict), ("check", list)):
        if not isinstance(entry.get(key), kind):
            findings.add(f"{key}: is missing or damaged: {shown(entry.get(key))}")
    findings.raise_if_any()
    if not all(isinstance(check, str) for check in entry["check"]):
        raise Wrong("check: is damaged: a property's name is not a text")
    by_order = entry.get("by_order", [])
    if not isinstance(by_order, list) or not all(isinstance(group, str) for group in by_order):
        raise Wrong(f"by_order: is damaged: {shown(by_order)}")
    watch = entry.get("watch", [])
    if not isinstance(watch, list) or not all(isinstance(text, str) for text in watch):
        raise Wrong(f"watch: is damaged: {shown(watch)}")
    model = model or _model_of(entry)
    also = [refinement_of(entry["refines"])] if entry.get("refines") else []
    protocol, definition, bounds, properties = resolve_model(
        model, entry["protocol"], entry["bounds"], entry["check"], also
    )
    try:
        system = build_system(definition, protocol, bounds, properties, by_order)
    except ModelError as error:
        raise Wrong(str(error)) from None
    return Subject(model, definition, protocol, bounds, system, watched(watch, definition.state, bounds))


def _model_of(entry: Mapping[str, Any]) -> Model:
    """The model of an entry by its name. If it is only found beside the spec, the message names that folder: a report
    does not decide which code is executed.
    """
    try:
        return find_model(entry["model"])
    except Wrong as wrong:
        folder = Path(str(entry.get("file", ""))).parent
        module = entry["model"].partition(":")[0].replace(".", "/")
        if not any((folder / place).is_file() for place in (f"{module}.py", f"{module}/__init__.py")):
            raise
        raise Wrong(
            *(
                f"{problem}; it lies beside the spec: --model-path {shlex.quote(str(folder))}"
                for problem in wrong.problems
            )
        ) from None


def _replay_step(subject: Subject, before: list[Step], claimed: Any) -> Step:
    """Execute one step of a trace; the first one is an initial state."""
    system = subject.system
    try:
        action_name, arguments = claimed["action"], dict(claimed["arguments"])
        after = from_data(system.domain, claimed["state"])
        if system.domain.exceeded(after):
            raise ValueError("the state is outside the bounds")
    except ValueError as error:
        raise ReportError(f"cannot be read: {error}") from None
    except Exception as error:  # whatever a damaged file makes a record of the model raise
        raise ReportError(f"cannot be read: {type(error).__name__}: {error}") from None
    if not before:
        if action_name is not None or after not in system.initial:
            raise ReportError("is not an initial state of the model")
        return Step(None, after)
    action = next(
        (action for action in system.actions if action.of.name == action_name and dict(action.shown) == arguments), None
    )
    if action is None:
        raise ReportError(f"the model has no action {action_name} with arguments {arguments}")
    found = successor(action, before[-1].state, system.domain)
    if found is None or isinstance(found, Cut):
        raise ReportError(f"{action} is not enabled in the state before it")
    if found != after:
        differences = "; ".join(map(str, changes(system.domain, found, after)))
        raise ReportError(f"{action} leads to another state than the trace says ({differences})")
    return Step(action, after)


def _judge_again(name: str, system: System, entry: Mapping[str, Any], steps: list[Step]) -> Violation:
    """The violation at the end of a replayed trace: of several instances that are violated there, the one that the
    entry names.
    """
    claimed, end = entry.get("property"), f"{name}: step {len(steps) - 1}"
    if claimed is None:
        return by_hand(steps)
    if claimed == DEADLOCK:
        if not is_deadlock(system, steps[-1].state):
            raise ReportError(f"{end}: {DEADLOCK} is not violated: an action is enabled, or a bound cuts one")
        return violation_at(system, None, steps)
    back_to = entry.get("back_to")
    if back_to is not None and not (type(back_to) is int and 0 <= back_to < len(steps)):
        raise ReportError(f"{name}: back_to: {shown(back_to)} is not a step of the trace")
    violated = [
        each for each in instances_of(system, str(claimed)) if violates(system, each, steps, back_to) is not False
    ]
    if not violated:
        raise ReportError(f"{end}: the property {shown(claimed)} is not violated")
    named = (each for each in violated if dict(each.shown) == entry.get("arguments"))
    found = next(named, violated[0])
    return (
        lasso_at(system, cast("Instance[Liveness]", found), steps, cast("int", back_to))
        if isinstance(found.of, Liveness)
        else violation_at(system, found, steps)
    )


def _refuse_lies(name: str, entry: Mapping[str, Any], found: dict[str, Any]) -> None:
    """Refuse an entry whose violation or steps differ from those found again."""
    found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))  # as a file gives it back
    for number, (claimed, step) in enumerate(zip(entry["trace"], found.pop("trace"), strict=True)):
        for key in ("step", "actor", "changes"):  # the rest was executed
            if key in claimed and claimed[key] != step[key]:
                raise ReportError(f"{name}: step {number}: its {key} {_apart(claimed[key], step[key])}")
    for key, value in found.items():
        if key in entry and entry[key] != value:
            raise ReportError(f"{name}: {key}: {_apart(entry[key], value)}")


def _apart(claimed: Any, found: Any) -> str:
    return f"should be {shown(found)}, but the file says {shown(claimed)}"
