"""Every claim of the repository comes out, and says where it comes from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from highwater.claims import Status, check_spec
from highwater.specs.spec import find_specs, load_spec

SPECS = Path(__file__).parents[2] / "specs"
FILES = find_specs([SPECS])


def named(path: Path) -> str:
    return path.relative_to(SPECS).with_suffix("").as_posix()


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_claim_comes_out_as_it_says(path: Path) -> None:
    result = check_spec(load_spec(path))
    assert result.mismatches == ()
    assert result.status is Status.MET


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_spec_begins_with_a_comment_in_words_and_names_its_source(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = []
    for line in lines:
        if not line.startswith("#"):
            break
        comment.append(line.removeprefix("#").strip())
    assert len(" ".join(comment).split()) >= 5, "the claim is not explained"
    assert load_spec(path).file.source.strip()


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_spec_claims_something_that_could_fail(path: Path) -> None:
    expect = load_spec(path).file.expect
    assert expect.distinct_states is not None or expect.trace_length is not None, "neither a count nor the length of a trace is claimed"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_file_names_and_folders_are_lower_snake_case(path: Path) -> None:
    for part in path.relative_to(SPECS).with_suffix("").parts:
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", part)


def test_no_two_specs_have_one_name() -> None:
    names = [path.stem for path in FILES]
    assert len(names) == len(set(names))
