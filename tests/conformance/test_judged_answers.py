"""Answers of `highwater ask` that are marked as judged on Kafka's classes are judged there again."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from highwater.asking.answering import answer
from highwater.asking.asked import Says
from highwater.asking.judged import judged_on, recorded
from highwater.asking.questions import catalogue, question_named
from highwater.asking.settings import settings_for
from highwater.claims.conformance import Session
from highwater.conformance.process import Harness
from tests.conformance.judging import judge

BY_CLASSES = {(release, classes) for release, classes, _ in recorded()}


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize(("release", "classes"), sorted(BY_CLASSES))
def test_an_answer_that_is_marked_so_is_judged_alike_by_kafkas_classes(
    kafka_of: Callable[[str], Harness], release: str, classes: str
) -> None:
    names = [name for of, by, name in recorded() if (of, by) == (release, classes)]
    session = Session(kafka_of(classes))
    for name in names:
        question = question_named(name)
        found = answer(question, settings_for(question, release=release), alone=True)
        assert found.decisive is not None
        judged = judge(found.decisive, session)
        assert judged is not None and judged.findings.steps > 0, name
        assert judged.agrees and judged.complete and judged.executed == judged.reachable, name


def test_ten_answers_of_each_of_the_two_releases_are_marked() -> None:
    for release in ("3.9.2", "4.4.0"):
        marked = [name for of, _, name in recorded() if of == release]
        assert len(marked) == len({*marked}) >= 10 and catalogue().keys() >= {*marked}


def test_a_mark_is_for_the_settings_that_were_judged_alone() -> None:
    question = question_named("power-loss")
    usual = settings_for(question, release="3.9.2")
    assert judged_on(question, usual) == "3.9.2"
    assert judged_on(question, settings_for(question, release="4.4.0")) == "4.4.0"
    for other in (attrs.evolve(usual, min_isr=1), attrs.evolve(usual, release="3.9.1")):
        assert judged_on(question, other) == ""
    assert judged_on(question_named("broker-away"), settings_for(question_named("broker-away"), release="3.9.2")) == ""


def test_an_answer_has_who_has_judged_it() -> None:
    def end_of(name: str, release: str) -> str:
        question = question_named(name)
        return answer(question, settings_for(question, release=release), alone=True).sentences[-1]

    assert end_of("emptied-disk", "3.9.2") == "Kafka's classes of 3.9.2 take each of its steps."
    assert end_of("leader-cut-off", "4.4.0").startswith("Kafka's classes of 4.4.0 agree at each step of the model")
    assert end_of("broker-away", "3.9.2") == "Judged by the model only."
    found = answer(question_named("slow-voter-removed"), settings_for(question_named("slow-voter-removed")))
    assert found.says is Says.NOT_KNOWN and "Judged" not in str(found)
