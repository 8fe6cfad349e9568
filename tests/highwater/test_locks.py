"""Counts are written into specs only when asked for, only where the verdict is as claimed, and with a diff."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
Write = Callable[..., Path]

SPEC = """\
# why
model = "reference"
source = "x"
protocol = { variant = "kip-320" } # the fix
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1 }
check = ["weak_isr"]
%s
"""


def written(tmp_path: Path, expect: str) -> Path:
    path = tmp_path / "claim.toml"
    path.write_text(SPEC % expect, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('expect = { verdict = "holds" }', 'expect = { verdict = "holds", distinct_states = 277 }'),
        ('expect = {verdict = "holds"}  # so', 'expect = {verdict = "holds",distinct_states = 277}  # so'),
        ("expect = { distinct_states = 3, depth = 4 } # so", "expect = { distinct_states = 277, depth = 11 } # so"),
        ("expect = { generated = 3 }", "expect = { generated = 464, distinct_states = 277 }"),
        ("expect.depth = 11", "expect.depth = 11\nexpect.distinct_states = 277"),
        (
            '[expect]\n# so\ndepth = 4\nverdict = "holds"',
            '[expect]\n# so\ndepth = 11\nverdict = "holds"\ndistinct_states = 277',
        ),
    ],
)
def test_locks_change_only_the_counts(highwater: Run, tmp_path: Path, before: str, after: str) -> None:
    path = written(tmp_path, before)
    result = highwater("check", path, "--update-locks")
    assert result.exit_code == 0, result.output
    assert path.read_text(encoding="utf-8") == SPEC % after
    assert f"+++ {path}" in result.stdout
    assert result.stdout.startswith("ok  claim\n"), "judged by the counts that were written"
    assert "FAILED" not in result.stdout
    again = highwater("check", path, "--update-locks")
    assert (again.exit_code, path.read_text(encoding="utf-8")) == (0, SPEC % after)
    assert "locks: nothing to update" in again.stdout


def test_line_ends_stay_what_they_are(highwater: Run, tmp_path: Path) -> None:
    path = written(tmp_path, "expect = { distinct_states = 3 }")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert highwater("check", path, "--update-locks").exit_code == 0
    assert path.read_bytes() == (SPEC % "expect = { distinct_states = 277 }").replace("\n", "\r\n").encode()


def test_a_claim_without_expectation_gets_one(highwater: Run, tmp_path: Path) -> None:
    path = written(tmp_path, "")
    assert highwater("check", path, "--update-locks").exit_code == 0
    assert 'expect = {verdict = "holds", distinct_states = 277}' in path.read_text(encoding="utf-8")
    assert "locks: nothing to update" in highwater("check", path, "--update-locks").stdout


def test_specs_are_not_written_without_the_option(highwater: Run, tmp_path: Path) -> None:
    path = written(tmp_path, "expect = { distinct_states = 3 }")
    before = path.read_bytes()
    assert highwater("check", path).exit_code == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("expect", "options", "exit_code", "told"),
    [
        ('expect = { verdict = "violated", trace_length = 3 }', (), 1, "locks: nothing to update"),
        ("expect = { distinct_states = 3 }", ("--max-states", 20), 3, "its counts stay as they are"),
        ("expect = { distinct_states = 3 }", ("--max-depth", 2), 3, "its counts stay as they are"),
    ],
)
def test_unmet_and_undecided_claims_update_no_locks(
    highwater: Run, tmp_path: Path, expect: str, options: tuple, exit_code: int, told: str
) -> None:
    path = written(tmp_path, expect)
    before = path.read_bytes()
    result = highwater("check", path, "--update-locks", *options)
    assert (result.exit_code, path.read_bytes()) == (exit_code, before)
    assert told in result.stdout


def test_the_length_of_a_trace_is_locked_where_it_was_given(highwater: Run, write_spec: Write) -> None:
    path = write_spec(check=["leader_in_isr"], expect={"verdict": "violated", "trace_length": 7})
    result = highwater("check", path, "--update-locks")
    assert result.exit_code == 0
    assert '"trace_length" = 0, distinct_states = 1' in path.read_text(encoding="utf-8")
