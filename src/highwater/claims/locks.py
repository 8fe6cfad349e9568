"""The counts that a spec locks, brought up to date: `expect.distinct_states`, and `generated`, `depth` and
`trace_length` where they are given.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import InlineTable

from highwater.claims.checking import Result, Status, judge_claim
from highwater.claims.keys import COUNTS
from highwater.claims.spec import load_spec
from highwater.files import write_text


def update_locks(results: Iterable[Result]) -> tuple[list[Result], list[str]]:
    """Write the counts that came out into the specs whose verdict and property came out as claimed.

    Returns:
        The results, judged by the specs as they are now, and a unified diff of each change, as lines; a line for each
        spec left alone because a budget or `--keep-going` gave counts of something else.

    Raises:
        ReportError: a spec cannot be written.
    """
    now, diff = [], []
    for result in results:
        path = result.spec.path
        if not result.comparable:
            diff.append(f"{path}: its counts stay as they are: this search did not end where a plain check of it ends")
        if (
            not result.comparable
            or result.status is Status.UNDECIDED
            or any(mismatch.key.removeprefix("expect.") not in COUNTS for mismatch in result.mismatches)
        ):
            now.append(result)
            continue
        before = path.read_bytes().decode("utf-8")  # line ends stay what they are
        after = with_counts(before, result)
        if after != before:
            write_text(path, after)
            diff += _diff(path, before, after)
        now.append(judge_claim(load_spec(path), result.outcome))
    return now, diff


def with_counts(text: str, result: Result) -> str:
    """A spec's text with the counts that came out; everything else, comments too, stays as it is."""
    outcome, violation = result.outcome, result.found
    counts = {key: getattr(outcome, key) for key in ("distinct_states", "generated", "depth")}
    if violation is not None:
        counts["trace_length"] = violation.trace_length
    mark, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    document = tomlkit.parse(text)
    if "expect" not in document:
        document["expect"] = tomlkit.inline_table().append("verdict", outcome.verdict.value)
    expect: Any = document["expect"]
    spaced = isinstance(expect, InlineTable) and (len(expect) == 0 or expect.as_string().endswith(" }"))
    for key, value in counts.items():
        if (key in expect or key == "distinct_states") and expect.get(key) != value:
            known = key in expect
            expect[key] = value
            if spaced and not known:
                expect[key].trivia.trail = " "
    return mark + tomlkit.dumps(document)


def _diff(path: Path, before: str, after: str) -> list[str]:
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm="", n=1))
