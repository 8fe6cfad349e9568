"""Additions to a trace by authors of claims and models: the values of expressions beside its steps, and its picture."""

from __future__ import annotations

import ast
import csv
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highwater import drawing
from highwater.claims.names import ExpressionError
from highwater.claims.spec import load_spec
from highwater.cli.init import write_scaffold
from highwater.exploring.opening import open_path
from highwater.exploring.page import Page
from highwater.exploring.saving import saved

Run = Callable[..., Any]
CLAIM = """
model = "reference"
protocol = { variant = "kip-101" }
bounds = { brokers = 2, log_length_max = 2, records_max = 2, leader_epoch_max = 2 }
check = ["strong_isr"]
expect = { verdict = "violated" }
"""
WATCH = 'watch = ["b1.log_end_offset - b0.high_watermark", "b0.leader", "quorum.isr - {b0}", "b1.leader - 1"]\n'


@pytest.fixture
def claim(tmp_path: Path) -> Path:
    path = tmp_path / "claim.toml"
    path.write_text(CLAIM + WATCH, encoding="utf-8")
    return path


@pytest.fixture
def report(highwater: Run, claim: Path, tmp_path: Path) -> Path:
    assert highwater("check", claim, "--json", tmp_path / "r.json", "--html", tmp_path / "pages").exit_code == 0
    return tmp_path / "r.json"


def test_expressions_have_a_column_each(highwater: Run, report: Path) -> None:
    ended = highwater("trace", report, "--csv", "-", "--watch", "len(b0.log)")
    rows = [row[-5:] for row in csv.reader(ended.stdout.splitlines())]
    assert rows[0] == [
        "b1.log_end_offset - b0.high_watermark",
        "b0.leader",
        "quorum.isr - {b0}",
        "b1.leader - 1",
        "len(b0.log)",
    ]
    assert rows[1] == ["0", "none", "{1}", "undefined", "0"], "a part is shown as its domain says"
    assert rows[-1] == ["-1", "b0", "{1}", "-1", "1"], "b1 has lost what b0 has committed"
    lanes = highwater("trace", report).stdout
    assert "(1) b1.log_end_offset - b0.high_watermark" in lanes
    assert any(line.split()[-4:] == ["(1)", "b0.leader", "(3)", "(4)"] for line in lanes.splitlines())


def test_a_page_shows_watched_values(report: Path) -> None:
    page = (report.parent / "pages" / "claim.html").read_text(encoding="utf-8")
    assert page.count('<td role="gridcell" data-name="b0.leader" class="watch') == 12
    assert page.count('<td role="gridcell" data-name="b0.leader" class="watch changed"') == 1


@pytest.mark.parametrize(
    ("watch", "words"),
    [
        ('["b7.leader", "1 +"]', ["there is no b7; the last is b1", "'1 +' is no Python expression"]),
        ('["b0.lgo"]', ["no record of this model has 'lgo' (did you mean \"log\"?)"]),
        ('["open(b0)"]', ["open cannot be called"]),
        ('"b0.leader"', ["is not a list of texts"]),
    ],
)
def test_invalid_watch_expressions_are_refused_in_one_line_each(
    highwater: Run, claim: Path, watch: str, words: list[str]
) -> None:
    claim.write_text(f"{CLAIM}watch = {watch}\n", encoding="utf-8")
    ended = highwater("check", claim)
    assert ended.exit_code == 2
    lines = ended.stderr.splitlines()
    assert len(lines) == len(words)
    assert all(re.match(rf"highwater: {claim}:\d+:\d+: watch: ", line) for line in lines)
    assert all(word in line for word, line in zip(words, lines, strict=True))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--replay"], "--watch has no meaning with --replay"),
        (["--against", "protocol.variant=kip-279"], "--watch has no meaning with --against"),
        (["--changes"], "--changes shows no watched expression"),
        (["--mermaid", "-"], "--mermaid shows no watched expression"),
    ],
)
def test_watch_with_an_output_without_expressions_is_refused(
    highwater: Run, report: Path, options: list[str], words: str
) -> None:
    ended = highwater("trace", report, "--watch", "b0.leader", *options)
    assert (ended.exit_code, words in ended.stderr) == (2, True), ended.stderr


def test_a_damaged_list_in_a_report_is_one_line(highwater: Run, report: Path) -> None:
    of = json.loads(report.read_text(encoding="utf-8"))
    of["results"][0]["watch"] = "b0.leader"
    report.write_text(json.dumps(of), encoding="utf-8")
    ended = highwater("trace", report, "--watch", "b0.log")
    assert (ended.exit_code, ended.stderr) == (2, 'highwater: claim: watch: is damaged: "b0.leader"\n')


def test_a_session_adds_removes_and_saves_watched_expressions(claim: Path) -> None:
    session = open_path(claim)
    session.watch("len(b0.log)")
    session.watch(" b0.leader ")  # which is watched, and is no more
    page = Page(session).part()
    assert 'data-name="len(b0.log)" class="watch' in page
    assert 'data-name="b0.leader"' not in page
    with pytest.raises(ExpressionError, match="there is no b5"):
        session.watch("b5.leader")
    assert json.loads(saved(session, "trace")[1])["results"][0]["watch"][-1] == "len(b0.log)"


def test_a_claim_found_by_hand_keeps_its_watched_expressions(highwater: Run, report: Path) -> None:
    session = open_path(report)
    session.watch("len(b0.log)")
    assert tomllib.loads(saved(session, "spec")[1])["watch"][-1] == "len(b0.log)"


# --- Drawings of one's own

ROOMS = Path(drawing.__file__).parent / "viewer" / "pictures"
PICTURES = [path for path in ROOMS.glob("*.py") if path.stem not in ("__init__", "of_any_model")]

DRAWN = """
import attrs
import lock_service
from highwater.drawing import Badge, Drawing, Lane, Picture

def draw(domain, world):
    {draw}

MODEL = attrs.evolve(lock_service.MODEL, drawing=Drawing(draw))
"""
PICTURE = 'return Picture({"storage": Lane((Badge(f"has t{world.last}"),)), "c0": Lane(), "c1": Lane()})'


@pytest.fixture
def drawn(highwater: Run, tmp_path: Path) -> Callable[[str], Any]:
    """Check the lock service with a drawing, and write pages."""

    def check(draw: str) -> Any:
        write_scaffold(tmp_path)
        (tmp_path / "drawn.py").write_text(DRAWN.format(draw=draw), encoding="utf-8")
        (spec,) = (tmp_path / "specs").glob("without*.toml")
        spec.write_text(spec.read_text(encoding="utf-8").replace("lock_service:", "drawn:"), encoding="utf-8")
        report = tmp_path / "r.json"
        ended = highwater("check", spec, "--model-path", tmp_path, "--html", tmp_path / "pages", "--json", report)
        return ended, spec

    return check


def test_highwaters_own_models_are_drawn_with_what_is_offered() -> None:
    offered = {*drawing.__all__, *(path.stem for path in PICTURES), "CLIENTS"}
    for path in PICTURES:
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(each, ast.ImportFrom) and ("viewer" in str(each.module) or "picture" in str(each.module)):
                assert {name.name for name in each.names} <= offered, path.name


def test_a_model_with_a_picture_is_drawn_by_it(highwater: Run, drawn: Callable[[str], Any], tmp_path: Path) -> None:
    ended, spec = drawn(PICTURE)
    assert ended.exit_code == 0
    page = (tmp_path / "pages" / f"{spec.stem}.html").read_text(encoding="utf-8")
    assert page.count(">has t2</span>") > 0
    assert page.count('data-fold="storage"') == 1
    assert 'data-fold="state"' not in page, "nothing is drawn from the domains"
    assert 'data-name="storage" class="changed shown witness"' in page, "what the property looked at is shown there"
    lanes = highwater("trace", tmp_path / "r.json", "--model-path", tmp_path).stdout
    assert lanes.splitlines()[1].split() == ["step", "storage", "c0", "c1"]
    assert "has t2" in Page(open_path(tmp_path / "r.json")).part()
    assert load_spec(spec).model.drawing is not None


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        ("return world.nobody", "AttributeError: 'World' object has no attribute 'nobody'; at"),
        ("return {'storage': Lane()}", "the drawing of World made {'storage': Lane("),
    ],
)
def test_a_drawing_that_fails_is_the_models_fault(drawn: Callable[[str], Any], draw: str, words: str) -> None:
    ended, _ = drawn(draw)
    assert ended.exit_code == 2
    (line,) = ended.stderr.splitlines()
    assert words in line
