"""docs/operators.md has the answers of `highwater ask`: a sample is asked again, and known claims agree."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from highwater.asking.judged import recorded
from highwater.asking.questions import catalogue, findings
from highwater.claims.spec import load_spec
from highwater.explorer.verdict import Verdict

ROOT = Path(__file__).parents[2]


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("operators_page", ROOT / "docs" / "operators.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()
PAGE = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")


def cell_of(name: str, release: str, min_isr: int) -> str:
    """What the page says."""
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}`: ")]
    cells = row.split(" | ")[1 : 1 + len(SCRIPT.RELEASES)]
    several = re.sub(" [CSM]$", "", cells[SCRIPT.RELEASES.index(release)]).split(" / ")
    return several[min(min_isr, len(several)) - 1]


def test_the_page_has_every_question_in_its_present_words() -> None:
    for line in SCRIPT.page({}):
        assert line in PAGE.splitlines()
    for name, question in catalogue().items():
        assert f"| `{name}`: {question.words} | " in PAGE
        assert question.claims or f"- `{name}`: {question.why}." in PAGE


@pytest.mark.parametrize("name", catalogue())
def test_releases_share_an_answer_only_if_the_same_findings_are_about_them(name: str) -> None:
    of = {release: SCRIPT.rules_of(catalogue()[name], release) for release in SCRIPT.RELEASES}
    about = {release: [each for each in findings() if findings()[each].is_of(release)] for release in of}
    assert all(about[first] == about[second] for first in of for second in of if of[first] == of[second])
    assert about["3.5.2"] != about["3.9.2"]


@pytest.mark.parametrize(
    ("name", "release", "min_isr"),
    [
        ("acks-1", "3.9.2", 1),
        ("broker-away", "4.0.2", 2),
        ("emptied-disk", "3.9.0", 2),
        ("power-loss-of-the-only-member", "4.1.2", 1),
        ("removed-and-added-again", "4.4.0", 2),
        ("small-isr-and-slow-follower", "3.5.2", 1),
    ],
)
def test_a_cell_is_what_the_models_answer(name: str, release: str, min_isr: int) -> None:
    assert SCRIPT.word(SCRIPT.cell(catalogue()[name], release, min_isr)) == cell_of(name, release, min_isr)


@pytest.mark.parametrize("release", SCRIPT.JUDGED)
def test_each_answer_has_a_mark_of_who_has_judged_it(release: str) -> None:
    cells = {
        line.split("`")[1]: line.split(" | ")[1 + SCRIPT.RELEASES.index(release)]
        for line in PAGE.splitlines()
        if re.match(r"\| `[a-z0-9-]+`: ", line)
    }
    assert cells.keys() == catalogue().keys()
    marks = {name: cell.rpartition(" ")[2] for name, cell in cells.items() if cell != "?"}
    assert {*marks.values()} == ({"C", "S", "M"} if release == "4.4.0" else {"C", "M"})
    assert {name for name, mark in marks.items() if mark == "C"} == {
        name for of, _, name in recorded() if of == release
    }


QUESTIONS = "partition/questions"
KNOWN = [
    ("rolling-restart", "3.5.2", 2, f"{QUESTIONS}/kafka_3_5_loses_records_in_a_rolling_restart_that_waits_for_nobody"),
    ("rolling-restart", "4.1.2", 2, f"{QUESTIONS}/kafka_4_1_loses_records_in_a_rolling_restart_that_waits_for_nobody"),
    (
        "rolling-restart-waiting",
        "3.5.2",
        2,
        f"{QUESTIONS}/kafka_3_5_keeps_records_over_a_rolling_restart_that_waits_for_the_isr",
    ),
    (
        "rolling-restart-waiting",
        "4.4.0",
        2,
        f"{QUESTIONS}/kafka_4_1_keeps_records_over_a_rolling_restart_that_waits_for_the_isr",
    ),
    (
        "power-loss-during-a-restart",
        "3.5.2",
        2,
        f"{QUESTIONS}/kafka_3_5_loses_records_to_a_power_failure_during_a_controlled_shutdown",
    ),
    (
        "power-loss-during-a-restart",
        "4.4.0",
        2,
        f"{QUESTIONS}/kafka_4_1_keeps_records_over_a_power_failure_during_a_controlled_shutdown",
    ),
    (
        "broker-replaced",
        "3.5.2",
        2,
        f"{QUESTIONS}/kafka_3_5_keeps_records_when_a_broker_comes_back_that_was_out_of_the_isr",
    ),
    (
        "leader-cut-off",
        "4.4.0",
        2,
        f"{QUESTIONS}/kafka_4_1_keeps_records_while_its_leader_is_cut_off_from_the_controller",
    ),
    ("three-elections", "3.5.2", 1, "partition/releases/kafka_3_5_loses_records_after_three_moves_of_leadership"),
    ("removed-and-added-again", "4.1.2", 2, "kraft/kafka_4_1_elects_a_replica_that_was_removed_and_added_again"),
    ("fewer-replicas", "4.4.0", 2, "kraft/kafka_4_3_elects_nobody_beside_a_removed_replica"),
    ("raising-min-isr", "4.4.0", 2, "kraft/kafka_4_3_elects_who_lacks_records_when_min_isr_is_raised"),
    ("lowering-min-isr", "4.4.0", 1, "kraft/kafka_4_3_forgets_who_may_lead_when_min_isr_changes"),
    (
        "topic-deleted-after-min-isr-changed",
        "4.4.0",
        2,
        "kraft/kafka_4_3_deposes_each_controller_that_is_asked_to_register_a_broker",
    ),
    (
        "reassignment-overridden",
        "4.4.0",
        1,
        "kraft/kafka_4_3_never_completes_a_reassignment_back_to_the_former_replicas",
    ),
    ("reassignment-overridden", "4.1.2", 1, "kraft/kafka_4_1_completes_a_reassignment_back_to_the_former_replicas"),
    ("topic-created-anew", "4.4.0", 1, "kraft/a_broker_that_was_away_while_a_topic_was_recreated_joins"),
    ("log-directory-fails", "4.4.0", 1, "kraft/a_leader_whose_directory_failed_serves_nobody"),
    ("upgraded-from-before-3-5", "4.1.2", 2, "kraft/an_emptied_replica_joins_the_isr_through_a_leader_before_3_5"),
    ("all-brokers-killed", "4.4.0", 1, "kraft/a_partition_gets_a_leader_once_all_brokers_return"),
    (
        "small-isr-and-slow-follower",
        "4.1.2",
        1,
        "partition/liveness/a_slow_follower_joins_a_small_isr_and_leaves_it_for_ever",
    ),
    (
        "small-isr-and-slow-follower",
        "3.5.2",
        1,
        "partition/liveness/kafka_3_6_lets_a_slow_follower_stay_out_of_a_small_isr",
    ),
]


@pytest.mark.parametrize(("name", "release", "min_isr", "claim"), KNOWN)
def test_a_cell_agrees_with_the_claim_that_is_known(name: str, release: str, min_isr: int, claim: str) -> None:
    expect = load_spec(ROOT / "specs" / f"{claim}.toml").file.expect
    assert cell_of(name, release, min_isr) == ("yes" if expect.verdict is Verdict.VIOLATED else "no")
