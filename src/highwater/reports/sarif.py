"""Results as SARIF 2.1.0, which code hosts show beside the line of the spec that did not come out."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from highwater.claims.checking import Mismatch, Result, Status
from highwater.claims.positions import in_repository, line_of_function, line_of_key, place_of, readable
from highwater.distribution import VERSION
from highwater.explorer.verdict import DEADLOCK
from highwater.files import write_text
from highwater.reports.reasons import reason
from highwater.reports.results import Finding, Problem
from highwater.reports.terminal import trace_rows, verdict_line
from highwater.visible import summary_and_rest

WRONG = "spec"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def write_sarif(path: Path, results: Iterable[Result], problems: Iterable[Problem] = (), incomplete: str = "") -> None:
    """Write every broken expectation as a SARIF result, every undecided claim as a warning, and what could not be
    checked.

    Raises:
        ReportError: the file cannot be written.
    """
    write_text(path, json.dumps(sarif(results, problems, incomplete), indent=1, ensure_ascii=False) + "\n")


def sarif(results: Iterable[Result], problems: Iterable[Problem] = (), incomplete: str = "") -> dict[str, Any]:
    """The SARIF log of some results, of the specs that could not be checked, and of why there are no more, if the run
    has not ended.
    """
    rules: dict[str, dict[str, Any]] = {}
    problems = list(problems)
    found = [finding for result in results for finding in _findings(result, rules)]
    found += [finding for problem in problems for finding in _wrong(problem, rules)]
    for finding in found:
        finding["ruleIndex"] = list(rules).index(finding["ruleId"])
    driver = {"name": "Highwater", "version": VERSION, "rules": list(rules.values())}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [_invocation(problems, incomplete)],
                "columnKind": "unicodeCodePoints",
                "results": found,
            }
        ],
    }


def _invocation(problems: list[Problem], incomplete: str) -> dict[str, Any]:
    """Whether every spec could be checked, and what is wrong with the others."""
    notifications = [
        {
            "level": "error",
            "message": {"text": each.message},
            "locations": [_location(each.path, each.findings[0].line, each.findings[0].column)],
        }
        for each in problems
    ]
    if incomplete:
        notifications.append({"level": "error", "message": {"text": f"the report is not complete: {incomplete}"}})
    return {"executionSuccessful": not notifications, "toolExecutionNotifications": notifications}


def _findings(result: Result, rules: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    if result.ok:
        return []
    if result.status is Status.UNDECIDED:
        _rule(rules, "undecided", "A search ended before it could decide the claim.", "")
        return [_finding(result, "undecided", "warning", Mismatch("expect.verdict", verdict_line(result)))]
    found = []
    for mismatch in result.mismatches:
        name = mismatch.key
        if result.found is not None and name in ("expect.verdict", "expect.property"):
            name = result.found.property
            _rule(rules, name, *_documented(result, name))
        else:
            _rule(rules, name, f"The claim under {name} is met.", "")
        found.append(_finding(result, name, "error", mismatch))
    return found


def _wrong(problem: Problem, rules: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What is wrong with a spec or its model. Hosts show results beside the code, and notifications nowhere."""
    _rule(rules, WRONG, "A spec can be read, and its model can be explored.", "")
    where = readable(in_repository(problem.path).as_posix())
    return [
        {
            "ruleId": WRONG,
            "level": "error",
            "message": {"text": each.message},
            "locations": [_location(problem.path, each.line, each.column)],
            "partialFingerprints": {"claim/v1": hashlib.sha256(f"{where}#{_placeless(each)}".encode()).hexdigest()},
        }
        for each in problem.findings
    ]


def _placeless(found: Finding) -> str:
    """What is wrong, the same wherever in the file it stands."""
    return readable(found.message).replace(f":{found.line}:{found.column}: ", ": ", 1)


def _documented(result: Result, name: str) -> tuple[str, str]:
    """The first paragraph of a property's documentation, and all of it."""
    if name == DEADLOCK:
        text = "Every state has a successor, or a bound is to blame."
        return text, text
    of = next((invariant for invariant in result.spec.properties if invariant.name == name), None)
    return summary_and_rest(of)[0] or name, inspect.getdoc(of) or name


def _rule(rules: dict[str, dict[str, Any]], name: str, short: str, full: str) -> None:
    rules.setdefault(
        name, {"id": name, "shortDescription": {"text": short}, "fullDescription": {"text": full or short}}
    )


def _finding(result: Result, rule: str, level: str, mismatch: Mismatch) -> dict[str, Any]:
    spec, violation = result.spec, result.violation
    words = f"{readable(spec.asked)}: {mismatch}"
    finding: dict[str, Any] = {"ruleId": rule, "level": level}
    if violation is not None and rule == violation.property:
        words += f". {f'{rule} is false: ' * (not violation.witness)}{reason(spec.system(), violation)}"
        finding["codeFlows"] = [{"threadFlows": [{"locations": _flow(result)}]}]
    key = "#".join((readable(in_repository(spec.path).as_posix()), *spec.changes, mismatch.key))
    return {
        **finding,
        "message": {"text": words},
        "locations": [_location(spec.path, *place_of(spec.path, mismatch.key))],
        "partialFingerprints": {"claim/v1": hashlib.sha256(f"{key}#{rule}".encode()).hexdigest()},
        "properties": {"verdict": result.outcome.verdict.value, "distinctStates": result.outcome.distinct_states},
    }


def _flow(result: Result) -> list[dict[str, Any]]:
    """The trace: each step at the line of the action's function, and how a lasso goes on."""
    assert result.violation is not None
    trace, back_to = result.violation.trace, result.violation.back_to
    flow = []
    for step, (number, actor, action, changed) in itertools.zip_longest(
        trace, trace_rows(result.spec.system(), trace, back_to)
    ):
        if step is None or step.action is None:
            location = _location(result.spec.path, line_of_key(result.spec.path, "bounds"))
        else:
            location = _location(*line_of_function(step.action.of.function))
        words = f"{number}: {actor} {action}: {changed}" if actor else f"{number}: {action}"
        flow.append({"location": {**location, "message": {"text": words}}})
    return flow


def _location(path: Path, line: int, column: int | None = None) -> dict[str, Any]:
    inside = in_repository(path)
    region = {"startLine": line} | ({} if column is None else {"startColumn": column})
    uri = inside.absolute().as_uri() if inside.is_absolute() else _relative_uri(inside)
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _relative_uri(path: Path) -> str:
    return (Path("/") / path).as_uri().removeprefix("file:///")
