"""The comparison can fail: each rule set wrong parts from the release concerned at the step that it is about, and set
right it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import attrs
import pytest

from highwater.claims import contradicting
from highwater.claims.changed_rules import Change, changes_of
from highwater.claims.conformance import Session, Wanted
from highwater.claims.contradicting import Contradiction, Judgement, judged, mutations
from highwater.claims.spec import Spec
from highwater.conformance.lockstep import Findings
from highwater.conformance.process import Harness
from highwater.explorer.analysis.paths import Run

Claim = Callable[..., Spec]
pytestmark = pytest.mark.xdist_group("kafka")

MOVES = {"fetch_steps": 2, "leader_epoch_max": 2, "leader_moves": 2}
SHRINKS = {"isr_shrinks": 1, "min_insync_replicas": 2}
JOINS = {"initial_isr": 1, "spurious_fences": 1}
DIES = {"initial_isr": 1, "lossy_crashes": 1}
ALONE = {"initial_isr": 1, "min_insync_replicas": 3}


@attrs.frozen
class Wrong:
    """A rule set to what the release does not do, and the step and the field that show it."""

    rule: str
    value: str
    bounds: dict[str, int]
    action: str
    field: str

    def __str__(self) -> str:
        return f"{self.rule}={self.value}"


OF_THE_NEWEST = [
    Wrong("fetch_response_checks", "leader", MOVES, "receive_fetch", "log end offset"),
    Wrong("fetch_response_checks", "none", MOVES, "receive_fetch", "log end offset"),
    Wrong("high_watermark_before_truncation", "true", MOVES, "receive_fetch", "high watermark"),
    Wrong("epoch_cache_clean_at_end", "false", MOVES, "receive_fetch", "epoch cache"),
    Wrong("fence_fetch", "false", MOVES, "fetch", "fetch"),
    Wrong("diverging_fetch_updates_leo", "true", MOVES, "fetch", "high watermark"),
    Wrong("reset_follower_state", "never", MOVES, "learn_leadership", "follower log end offset"),
    Wrong("reset_follower_state", "new-epoch", MOVES, "learn_leadership", "follower log end offset"),
    Wrong("newer_isr_restarts_epoch", "true", SHRINKS, "learn_isr", "epoch start"),
    Wrong("shrink_spares_caught_up", "false", SHRINKS, "propose_shrink", "proposed ISR"),
    Wrong("high_watermark_set", "proposed", SHRINKS, "produce", "high watermark"),
    Wrong("on_alter_error", "revert-any", SHRINKS, "receive_isr_answer", "proposed ISR"),
    Wrong("high_watermark_requires_min_isr", "false", SHRINKS, "receive_isr_answer", "high watermark"),
    Wrong("leader_checks", "nothing", JOINS, "propose_expansion", "proposed ISR"),
    Wrong("pending_policy", "overwrite", JOINS, "propose_expansion", "requests"),
    Wrong("high_watermark_recheck_on_every_fetch", "true", JOINS, "fetch_at_once", "high watermark"),
]


OF_OLDER = {
    ("3.5.1", "kafka-3.5"): [
        Wrong("fetch_response_checks", "leader-epoch", MOVES, "fetch", "high watermark"),
        Wrong("fetch_response_checks", "none", MOVES, "receive_fetch", "log end offset"),
        Wrong("high_watermark_requires_min_isr", "true", SHRINKS, "learn_leadership", "high watermark"),
    ],
    ("3.9.1", "kafka-3.9.1"): [
        Wrong("fetch_response_checks", "leader", MOVES, "receive_fetch", "log end offset"),
        Wrong("high_watermark_requires_min_isr", "false", SHRINKS, "receive_isr_answer", "high watermark"),
    ],
}


def contradicted(session: Session, spec: Spec, wrong: list[Wrong]) -> dict[str, Any]:
    """What a release says to each wrong rule: the steps and fields that part."""
    changes = {each.key: each for each in changes_of(spec)}
    judgement = {}
    for each in mutations(session, spec, [changes[str(one)] for one in wrong], Wanted(), keep_going=True):
        judgement[each.change.key] = {(of.kind[0], field) for of in each.divergences for field in of.kind[2]}
    return judgement


@pytest.mark.parametrize("bounds", [MOVES, SHRINKS, JOINS], ids=["moves", "shrinks", "joins"])
def test_rules_set_right_agree_on_every_path(claim: Claim, session: Session, bounds: dict[str, int]) -> None:
    found = session.conform(claim(**bounds), Wanted())
    assert found.agrees
    assert found.executed == found.reachable


@pytest.mark.parametrize("bounds", [MOVES, SHRINKS, JOINS], ids=["moves", "shrinks", "joins"])
def test_rules_set_wrong_are_contradicted_at_the_steps_that_they_are_about(
    claim: Claim, session: Session, bounds: dict[str, int]
) -> None:
    wrong = [each for each in OF_THE_NEWEST if each.bounds is bounds]
    judgement = contradicted(session, claim(**bounds), wrong)
    assert len(judgement) == len(wrong) >= 3
    for each in wrong:
        assert (each.action, each.field) in judgement[str(each)], each


@pytest.mark.slow
@pytest.mark.parametrize(("release", "preset"), OF_OLDER)
def test_a_rule_of_another_release_is_contradicted(
    claim: Claim, kafka_of: Callable[[str], Harness], release: str, preset: str
) -> None:
    session = Session(kafka_of(release))
    for wrong in OF_OLDER[release, preset]:
        spec = claim(preset, **wrong.bounds)
        assert session.conform(spec, Wanted()).agrees, wrong
        assert (wrong.action, wrong.field) in contradicted(session, spec, [wrong])[str(wrong)], wrong


def test_a_rule_of_clients_has_no_effect_on_mapped_steps(claim: Claim, session: Session) -> None:
    spec = claim(**SHRINKS)
    change = next(each for each in changes_of(spec) if each.rule == "list_offsets_guard")
    assert [each.judgement for each in mutations(session, spec, [change], Wanted())] == [Judgement.NO_EFFECT]


@pytest.mark.parametrize(("most", "judgement"), [(1000, Judgement.NO_EFFECT), (20, Judgement.NO_EFFECT_SEEN)])
def test_a_rule_has_no_effect_only_if_every_state_was_seen(claim: Claim, most: int, judgement: Judgement) -> None:
    """Of a rule that no path reads, and of one that paths read and that changes no step."""

    class Agreeing:
        """Executes runs, all of which agree."""

        def lockstep(self, *_: Any) -> Agreeing:
            return self

        def execute(self, runs: Iterator[Run], enough: Any) -> Findings:
            return Findings(runs=len(list(runs)))

    spec = claim(**SHRINKS)
    changes = [each for each in changes_of(spec) if each.key in ("list_offsets_guard=false", "leader_checks=alive")]
    found = mutations(cast("Session", Agreeing()), spec, changes, Wanted(max_states=most))
    assert [each.judgement for each in found] == [judgement] * 2


def test_runs_that_end_where_a_spec_diverges_anyhow_say_nothing_about_a_rule(claim: Claim) -> None:
    class Diverging:
        """Executes runs, all of which, or all but one, end at one divergence."""

        def __init__(self, but: int) -> None:
            self._but = but

        def lockstep(self, *_: Any) -> Diverging:
            return self

        def execute(self, runs: Iterator[Run], enough: Any) -> Findings:
            count = len(list(runs))
            return Findings(runs=count, counts=Counter({"known": count - self._but}))

    spec = claim(**SHRINKS)
    changes = [each for each in changes_of(spec) if each.key == "isr_cas=false"]
    for but, judgement in ((0, Judgement.NO_EFFECT_SEEN), (1, Judgement.AGREES)):
        (found,) = mutations(cast("Session", Diverging(but)), spec, changes, Wanted(), known={"known"})
        assert found.judgement is judgement


def test_of_several_claims_one_contradiction_is_enough_and_is_not_looked_for_again(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[list[str]] = []

    def found(session: Session, spec: Spec, changes: list[Change], *_: Any) -> Iterator[Contradiction]:
        tried.append([each.key for each in changes])
        for each in changes:
            first = {"elr=false": Judgement.CONTRADICTED, "isr_cas=false": Judgement.AGREES}
            judgement = first.get(each.key, Judgement.NO_EFFECT) if len(tried) == 1 else Judgement.NO_EFFECT
            yield Contradiction(each, judgement, spec.name)

    monkeypatch.setattr(contradicting, "mutations", found)
    judgement = {each.change.key: each.judgement for each in judged(cast("Any", None), [claim(), claim()], Wanted())}
    assert judgement["isr_cas=false"] is Judgement.AGREES
    assert {key for key, each in judgement.items() if each is Judgement.CONTRADICTED} == set(tried[0]) - set(tried[1])


def test_claims_of_one_name_have_divergences_of_their_own(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one diverges in anyhow counts as no contradiction there, and as one in the other."""
    given = list[Any]()

    def found(session: Session, spec: Spec, changes: list[Change], *more: Any) -> Iterator[Contradiction]:
        given.append((spec.path, more[2]))
        yield from ()

    monkeypatch.setattr(contradicting, "mutations", found)
    one, other = (attrs.evolve(claim(), path=Path(folder, "claim.toml")) for folder in ("one", "other"))
    judged(cast("Any", None), [one, other], Wanted(), known={one.path: {"kind"}, other.path: set()})
    assert dict(given) == {one.path: {"kind"}, other.path: set()}
