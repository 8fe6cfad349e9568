"""Results for GitHub Actions: annotations at the lines of broken expectations, and a step summary with the traces."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from highwater.claims.by_release import releases_in_words, result_in_words, spans
from highwater.claims.checking import Result, Status
from highwater.claims.coverage import Coverage, added_up
from highwater.claims.positions import in_repository, line_of_key, readable
from highwater.claims.spec import Spec
from highwater.files import ReportError
from highwater.reports.reasons import reason
from highwater.reports.results import Problem
from highwater.reports.terminal import bounds_line, counts_line, coverage_line, trace_rows, verdict_line, whole_verdict
from highwater.visible import visible

SUMMARY = "GITHUB_STEP_SUMMARY"
LARGEST_SUMMARY = 1_000_000  # GitHub takes 1 MiB per step
_MARKS = {
    Status.MET: "✅ met",
    Status.UNMET: "❌ unmet",
    Status.UNDECIDED: "⚠️ undecided",
    Status.ANSWERED: "ℹ️ answered",  # noqa: RUF001
}


def commands(results: Iterable[Result]) -> list[str]:
    """Workflow commands: an error per broken expectation, a warning per undecided claim."""
    lines = []
    for result in results:
        violation = result.violation if result.mismatches else None
        for mismatch in result.mismatches:
            shown = violation is not None and mismatch.key in ("expect.verdict", "expect.property")
            why = (
                f"\n{violation.property} is false: {reason(result.spec.system(), violation)}"
                if shown and violation
                else ""
            )
            lines.append(_command("error", result, mismatch.key, mismatch + why))
        if result.status is Status.UNDECIDED:
            lines.append(_command("warning", result, "expect.verdict", verdict_line(result)))
    return lines


def complaint(message: str) -> str:
    """The workflow command for what is wrong with the usage."""
    return f"::error title=highwater::{_data(message)}"


def complaints(problem: Problem) -> list[str]:
    """The workflow commands for what is wrong with a spec, each at its line."""
    file = _value(in_repository(problem.path).as_posix())
    return [
        f"::error file={file},line={each.line},col={each.column},title=highwater::{_data(each.message)}"
        for each in problem.findings
    ]


def _command(kind: str, result: Result, key: str, message: str) -> str:
    path = result.spec.path
    where = (
        f"file={_value(in_repository(path).as_posix())},line={line_of_key(path, key)},title={_value(result.spec.asked)}"
    )
    return f"::{kind} {where}::{_data(message)}"


def _data(text: str) -> str:
    lines = map(visible, readable(text).split("\n"))  # a terminal shows this, too
    return "%0A".join(line.replace("%", "%25") for line in lines)


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def write_summary(
    results: Sequence[Result],
    problems: Sequence[Problem] = (),
    incomplete: str = "",
    unanswered: Iterable[Spec] = (),
) -> bool:
    """Append the summary to the file that GitHub names in the environment; False outside of GitHub Actions.

    Raises:
        ReportError: the file cannot be written.
    """
    path = os.environ.get(SUMMARY)
    if not path:
        return False
    try:
        with Path(path).open("a", encoding="utf-8", errors="replace") as file:
            if results or problems:
                file.write(summary(results, problems, incomplete, unanswered))
    except OSError as error:
        raise ReportError(f"{path}: cannot be written: {error.strerror}") from None
    return True


def summary(
    results: Iterable[Result],
    problems: Sequence[Problem] = (),
    incomplete: str = "",
    unanswered: Iterable[Spec] = (),
) -> str:
    """The results in Markdown: a table of all claims, what could not be checked, what all claims reach if that was
    asked, then what did not come out, each with its trace.

    Args:
        incomplete: why there are no more results, if the run has not ended.
        unanswered: what was asked, too, and has no result.
    """
    results = list(results)
    met = sum(result.ok for result in results)
    lines = [
        f"## Highwater: {met} of {len(results)} claims met",
        "",
        *([f"**This is not complete: {_cell(incomplete)}.**", ""] if incomplete else []),
        "| | claim | result | states | depth | s |",
        "|---|---|---|---|---|---|",
    ]
    for result in sorted(results, key=lambda result: result.ok):
        outcome = result.outcome
        cells = (
            _MARKS[result.status],
            _cell(result.spec.asked),
            _cell(whole_verdict(result)),
            f"{outcome.distinct_states:,}",
        )
        lines.append(f"| {' | '.join(cells)} | {outcome.depth} | {outcome.search_seconds:.2f} |")
    if problems:
        lines += [
            "",
            f"### {len(problems)} could not be checked",
            "",
            *(f"- {_cell(problem.message)}" for problem in problems),
        ]
    parts = ["\n".join(lines) + "\n", _by_release(results, unanswered), *map(_coverage, added_up(results))]
    for result in results:
        if not result.ok:
            parts.append(_details(result))
    whole, left_out = "", 0
    for part in parts:
        if len((whole + part).encode(errors="replace")) > LARGEST_SUMMARY:
            left_out += 1
        else:
            whole += part
    return whole + (
        f"\n{left_out} more did not fit into a step summary; `--json` has all of them.\n" if left_out else ""
    )


def _by_release(results: Iterable[Result], unanswered: Iterable[Spec]) -> str:
    """What came out under which releases, where claims were asked under several."""
    found = spans(results, unanswered)
    rows = [(each.claim, each.mode, releases_in_words(each), result_in_words(each)) for each in found]
    if not rows:
        return ""
    head = ["", "### By release", "", "| claim | controller | releases | result |", "|---|---|---|---|"]
    return "\n".join([*head, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)]) + "\n"


def _coverage(found: Coverage) -> str:
    """What the claims of a model reach together."""
    lines = ["", f"### Coverage of {_cell(coverage_line(found))}", ""]
    for each in found.missed:
        place = f"{in_repository(Path(each.at.file))}:{each.at.line}"
        lines.append(f"- {_cell(each.function)}: {_cell(each.at.text)} ({_cell(place)})")
    return "\n".join(lines) + "\n"


def _details(result: Result) -> str:
    lines = ["", f"### {_cell(result.spec.asked)}", ""]
    lines += [line for paragraph in result.spec.comment.splitlines() for line in (_cell(paragraph), "")]
    lines += [f"- {_cell(line)}" for line in (*result.mismatches, bounds_line(result), counts_line(result.outcome))]
    if (violation := result.violation) is not None:
        lines += ["", f"**{violation.property} is false:** {_cell(reason(result.spec.system(), violation))}", ""]
        lines += ["| step | actor | action | changes |", "|---:|---|---|---|"]
        for row in trace_rows(result.spec.system(), violation.trace, violation.back_to):
            lines.append(f"| {' | '.join(map(_cell, row))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text that Markdown shows as it is, inside a table too."""
    text = re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in readable(text)))
    return re.sub(r"([\\`*_\[\]<>|~$&])", r"\\\1", text)
