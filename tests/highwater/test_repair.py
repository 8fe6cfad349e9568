"""A violated claim is repaired by the smallest sets of rules, and each repair has its costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import Result

from highwater import SpecError, Verdict, api
from highwater.claims import changed_rules, counterexamples
from highwater.claims.changed_rules import changed, changes_of, unjudged
from highwater.claims.repairing import Attempt, Ending, repair
from highwater.claims.spec import load_spec
from highwater.explorer.verdict import Auditing, Budget
from highwater.model.language.declarations import StepProperty, action, invariant
from highwater.model.language.definition import Definition, Model, NoToggles
from highwater.model.language.domain import BOOLEAN, Integers
from highwater.model.language.graph_properties import leads_to, prospect
from highwater.model.language.records import evolve, within
from highwater.reports.progress import make_console
from highwater.reports.repairs import Repairs
from tests.outcomes import findings

Run = Callable[..., Result]
Write = Callable[..., Path]
FLAW = "specs/partition/releases/kafka_4_1_counts_offsets_from_before_an_election_that_it_never_noticed.toml"
TWO_BROKERS = "specs/truncation/truncating_to_the_high_watermark_fails_on_two_brokers.toml"


@attrs.frozen
class Rules:
    """A counter has two leaks above 4. `left` and `right` each close one, `low` closes both. `still` stops everything,
    `blind` keeps the step that counts from happening. `odd` is refused. `other` does nothing. `gentle`
    lets leaks lead back.
    """

    left: bool = False
    right: bool = False
    low: bool = False
    still: bool = False
    blind: bool = False
    odd: bool = False
    other: bool = False
    gentle: bool = False


@attrs.frozen
class Count:
    value: int = within(Integers(0, 20))
    marked: int = within(Integers(0, 1))


@attrs.frozen
class Noting:
    """The counter, a mishap, and what nobody looks at."""

    value: int = within(Integers(0, 9))
    mishap: int = within(Integers(0, 1))
    idle: int = within(Integers(0, 1))


@action(actor="counter")
def step(state: Count, protocol: Rules) -> Count | None:
    most = 4 if protocol.low else 5 if protocol.left else 9
    if protocol.still or protocol.blind or state.value >= min(most, 4):
        return None
    return evolve(state, value=state.value + 1)


@action(actor="left")
def leak_left(state: Count, protocol: Rules) -> Count | None:
    if protocol.left or protocol.low or protocol.still or state.value != 4:
        return None
    return evolve(state, value=3 if protocol.gentle else 6)


@action(actor="right")
def leak_right(state: Count, protocol: Rules) -> Count | None:
    if protocol.right or protocol.low or protocol.still or state.value != 4:
        return None
    return evolve(state, value=3 if protocol.gentle else 7)


@action(actor="mark")
def mark(state: Count, protocol: Rules) -> Count | None:
    return None if protocol.still or state.marked else evolve(state, marked=1)


@action(actor="mark")
def alarm(state: Count) -> Count | None:
    """Happens only behind a leak."""
    return evolve(state, value=20) if 4 < state.value < 20 else None


@invariant()
def stays_small(state: Count) -> bool:
    return state.value <= 4


@attrs.frozen
class NoBounds:
    """Nothing is bounded."""


def define(protocol: Rules) -> Definition:
    if protocol.odd:
        raise ValueError("odd")
    actions = (step, leak_left, leak_right, mark, alarm)
    return Definition(NoBounds, Count, lambda bounds: [Count(0, 0)], actions, properties=(stays_small,))


MODEL = Model("counter", "Counts.", Rules, define)
LEAKS = frozenset({"leak_left never happens", "leak_right never happens"})


def claim(**keys: object) -> api.Spec:
    violated = {"verdict": "violated"}
    return api.claim(**{"model": MODEL, "bounds": {}, "check": ["stays_small"], "expect": violated, **keys})


def tried(**options: object) -> dict[tuple[str, ...], Attempt]:
    found = repair(claim(), workers=1, **options).attempts
    return {tuple(change.key for change in each.changes): each for each in found}


def test_the_smallest_sets_of_rules_are_found_and_no_superset_of_one_is_tried() -> None:
    found = tried(most_rules=3)
    repairs = [keys for keys, each in found.items() if each.repairs]
    assert repairs == [("low=true",), ("gentle=true",), ("left=true", "right=true")]
    assert not [keys for keys in found if len(keys) > 1 and {"low=true", "gentle=true"} & {*keys}]
    assert not [keys for keys in found if len(keys) > 2 and {"left=true", "right=true"} <= {*keys}]
    vacuous = [{*keys} for keys, each in found.items() if each.vacuous]
    assert [keys for keys in vacuous if not any(other < keys for other in vacuous)] == [{"still=true"}, {"blind=true"}]


def test_no_larger_sets_are_looked_for_than_there_are_rules() -> None:
    many, all_rules = ({keys: each.ending for keys, each in tried(most_rules=most).items()} for most in (10**18, 20))
    assert many == all_rules


def test_a_set_is_explored_only_if_no_known_counterexample_stays() -> None:
    found = tried()
    assert found["other=true",].ending is Ending.REJECTED
    assert found["left=true",].ending is Ending.VIOLATED  # by the other leak
    assert found["left=true", "other=true"].ending is Ending.REJECTED  # its counterexample is known now
    assert found["odd=true",].why.startswith("the model refuses it: model: counter cannot be defined: ValueError: odd")
    assert found["left=true", "odd=true"].ending is Ending.REFUSED


def test_repairs_do_not_depend_on_known_counterexamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every set that replay rejects is violated, and every repair holds, if each is explored instead."""
    by_replay = {keys: each.ending is Ending.REPAIRED for keys, each in tried(most_rules=3).items()}
    monkeypatch.setattr(counterexamples._Known, "is_one_under", lambda self, spec, made_of: False)
    assert {keys: each.ending is Ending.REPAIRED for keys, each in tried(most_rules=3).items()} == by_replay


def in_ranks(root: Path) -> dict[tuple[str, ...], Attempt]:
    spec = load_spec(root / "specs/partition/liveness/a_slow_follower_joins_a_small_isr_and_leaves_it_for_ever.toml")
    assert spec.system().ranks is not None
    found = repair(spec, workers=1, most_rules=1).attempts
    return {tuple(change.key for change in each.changes): each for each in found}


@pytest.mark.parametrize("of", [lambda root: tried(most_rules=3), in_ranks], ids=["numbers", "ranks"])
def test_a_counterexample_is_executed_again_only_where_a_rule_that_it_reads_is_another(
    monkeypatch: pytest.MonkeyPatch, root: Path, of: Callable[[Path], dict[tuple[str, ...], Attempt]]
) -> None:
    executed: list[Any] = []
    execute, is_the_same = counterexamples._Known._is_one_of, counterexamples._Executed.is_the_same_under

    def endings(same: Callable[..., bool]) -> dict[tuple[str, ...], tuple[Ending, str]]:
        executed.clear()
        monkeypatch.setattr(counterexamples._Executed, "is_the_same_under", same)
        return {keys: (each.ending, each.why) for keys, each in of(root).items()}

    monkeypatch.setattr(
        counterexamples._Known, "_is_one_of", lambda self, *given: executed.append(self) or execute(self, *given)
    )
    each_time, every_execution = endings(lambda self, spec, made_of: False), len(executed)
    assert endings(is_the_same) == each_time
    assert 0 < len(executed) < every_execution / 2
    assert endings(lambda self, spec, made_of: self.made_of == made_of) != each_time  # as if no rule were read


def test_a_rule_that_no_step_property_reads_changes_no_count(root: Path) -> None:
    spec = load_spec(root / "specs/partition/durability/a_refused_record_stays_hidden.toml")
    assert any(isinstance(each, StepProperty) for each in spec.properties)
    base = unjudged(spec, audit=Auditing.NONE)
    others = [(change, spec.under(changed(spec.protocol, [change]))) for change in changes_of(spec)]
    unread = [(change, other) for change, other in others if base.stands_for(other)]
    assert base.outcome.settings_read and len(others) / 4 < len(unread) < len(others)
    for change, other in unread[::4]:
        found = unjudged(other, audit=Auditing.NONE)
        assert findings(found.outcome) == findings(base.outcome), change.key


def test_a_set_comes_out_as_a_smaller_one_if_nothing_reads_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tried()
    assert found["still=true", "other=true"].outcome is found["still=true",].outcome
    monkeypatch.setattr("highwater.claims.checking.Result.stands_for", lambda self, spec: False)
    searched = tried()
    assert searched["still=true", "other=true"].outcome is not searched["still=true",].outcome
    for keys, each in found.items():
        assert (each.ending, each.missing, each.repairs) == (
            *(searched[keys].ending, searched[keys].missing, searched[keys].repairs),
        )


def test_a_larger_set_under_which_no_system_can_be_built_is_unknown() -> None:
    def define_initial(protocol: Rules) -> Definition:
        return attrs.evolve(define(protocol), initial_states=lambda bounds: [] if protocol.other else [Count(0, 0)])

    spec = claim(model=Model("breaks", "", Rules, define_initial))
    found = {tuple(change.key for change in each.changes): each for each in repair(spec, workers=1).attempts}
    assert found["still=true",].ending is Ending.REPAIRED
    assert found["still=true", "other=true"].ending is Ending.UNKNOWN


def test_a_repair_after_which_something_never_happens_is_vacuous() -> None:
    found = tried()
    assert found["still=true",].vacuous
    assert found["still=true",].missing == {
        "step never happens": True,
        "leak_left never happens": True,
        "leak_right never happens": False,
        "mark never happens": False,
        "alarm never happens": False,
        "marked never changes": False,
        "value never changes": True,
    }
    assert "step never happens" in found["blind=true",].missing
    leaks = found["left=true", "right=true"]
    assert leaks.missing == {**dict.fromkeys(sorted(LEAKS), False), "alarm never happens": False}
    cost = found["blind=true",].cost
    assert cost is not None
    assert (cost.states[1], cost.refused) == (2, {"step": 2})


def test_actions_seen_only_after_the_violation_make_no_repair_vacuous() -> None:
    gentle = tried()["gentle=true",]
    assert gentle.missing == {"alarm never happens": False}
    assert not gentle.vacuous


def test_actions_beyond_the_depth_of_a_claim_are_not_missing() -> None:
    """An alarm is the sixth step."""
    spec = claim(max_depth=5)
    (found,) = repair(spec, workers=1, most_rules=1, rules=["low"]).attempts
    assert found.missing == dict.fromkeys(sorted(LEAKS), False)
    assert found.cost is not None
    assert found.cost.states == (12, 10)


def test_mishaps_and_unread_fields_make_no_repair_vacuous() -> None:
    """A mishap is noted in the violating step alone, and the property looks at nothing else."""

    @action(actor="counter")
    def count_and_note(state: Noting, protocol: Rules) -> Noting | None:
        after = evolve(state, value=state.value + 1) if state.value < 5 else None
        return after if after is None or protocol.low or after.value < 5 else evolve(after, mishap=1, idle=1)

    @invariant()
    def no_mishap(state: Noting) -> bool:
        return state.mishap == 0

    def noting(protocol: Rules) -> Definition:
        first = Noting(0, 0, 0)
        return Definition(NoBounds, Noting, lambda bounds: [first], (count_and_note,), properties=(no_mishap,))

    spec = claim(model=Model("noting", "Counts.", Rules, noting), check=["no_mishap"])
    (found,) = repair(spec, workers=1, most_rules=1, rules=["low"]).attempts
    assert found.missing == {"idle never changes": False, "mishap never changes": False}
    assert found.repairs


@attrs.frozen
class Writing:
    """`hasty` writes at once, `late` once it was asked and is ready; `deaf` never gets ready, `other` writes safely."""

    hasty: bool = True
    deaf: bool = False
    other: bool = False


@attrs.frozen
class Desk:
    asked: bool = within(BOOLEAN)
    ready: bool = within(BOOLEAN)
    written: bool = within(BOOLEAN)


@action(actor="client")
def ask(desk: Desk) -> Desk | None:
    return None if desk.asked else evolve(desk, asked=True)


@action(actor="writer")
def prepare(desk: Desk, protocol: Writing) -> Desk | None:
    return None if protocol.deaf or not desk.asked else evolve(desk, ready=True)


@action(actor="writer")
def write(desk: Desk, protocol: Writing) -> Desk | None:
    if protocol.other:
        return evolve(desk, written=True) if desk.ready else None
    return evolve(desk, written=True) if protocol.hasty else None


@invariant()
def is_written_when_ready(desk: Desk) -> bool:
    return desk.ready or not desk.written


def is_waiting(desk: Desk) -> bool:
    if not desk.asked:
        return False
    return desk.ready


@leads_to(is_waiting, fair=[ask, prepare])
def is_written(desk: Desk) -> bool:
    return desk.written


@prospect(along=[prepare])
def may_still_be_read(desk: Desk) -> bool:
    if desk.ready:
        return not desk.written
    return desk.asked is False or desk.asked is True


def desks(protocol: Writing) -> Definition:
    properties = (is_written_when_ready, is_written, may_still_be_read)
    return Definition(
        NoBounds, Desk, lambda bounds: [Desk(False, False, False)], (ask, prepare, write), properties=properties
    )


def desk(check: str, **keys: Any) -> dict[tuple[str, ...], Attempt]:
    spec = api.claim(
        **{"model": Model("desk", "Writes.", Writing, desks), "bounds": {}, "expect": {"verdict": "violated"}, **keys},
        check=[check],
    )
    return {tuple(each.key for each in one.changes): one for one in repair(spec, workers=1).attempts}


@pytest.mark.parametrize("keys", [{}, {"max_depth": 3}])
def test_a_vacuous_repair_hides_no_good_one(keys: dict[str, Any]) -> None:
    """Without the hasty write there is none; with the other one as well there is a safe one."""
    found = desk("is_written_when_ready", **keys)
    assert found["hasty=false",].missing == {"write never happens": True, "written never changes": True}
    assert [keys for keys, each in found.items() if each.repairs] == [("other=true",)]
    alone = desk("is_written_when_ready", protocol={"deaf": True}, **keys)
    assert alone["hasty=false",].vacuous
    assert [keys for keys, each in alone.items() if each.repairs] == [("deaf=false", "other=true")]


def test_a_repair_after_which_a_premise_is_never_true_is_vacuous() -> None:
    found = desk("is_written", protocol={"hasty": False})
    assert found["deaf=true",].missing["the premise of is_written is never true"]
    assert not found["hasty=true",].repairs  # nobody is fair to the write


def test_a_repair_after_which_a_prospect_looks_at_less_is_vacuous() -> None:
    found = desk("may_still_be_read")
    assert found["deaf=true",].missing["may_still_be_read never looks further than 'return not desk.written'"]


def test_a_lasso_that_stays_is_known_and_one_that_is_fair_no_more_is_not() -> None:
    waiting = desk("is_written", protocol={"hasty": False})
    assert waiting["other=true",].ending is Ending.REJECTED  # nobody is fair to the write
    assert waiting["deaf=true",].ending is Ending.REPAIRED  # the steps to it are none


def test_a_state_where_a_prospect_is_lost_is_known_as_long_as_nothing_leads_on() -> None:
    lost = desk("may_still_be_read")
    assert lost["other=true",].ending is Ending.REJECTED
    assert lost["hasty=false",].ending is Ending.REPAIRED  # only the write takes hope away


def test_the_property_is_the_one_of_the_changed_protocol() -> None:
    """Where the rule is what the property allows, a known counterexample is none under the other."""

    def loose(protocol: Rules) -> Definition:
        @invariant()
        def stays_small(state: Count) -> bool:
            return state.value <= (20 if protocol.other else 4)

        return attrs.evolve(define(protocol), properties=(stays_small,))

    spec = claim(model=Model("loose", "Counts.", Rules, loose))
    (good,) = repair(spec, workers=1, most_rules=1, rules=["other"]).attempts
    assert good.repairs
    assert good.missing == {}


def test_a_deadlock_that_stays_is_known() -> None:
    found = list(repair(claim(check=["no_deadlock"]), workers=1, most_rules=1).attempts)
    assert [each.changes[0].key for each in found if each.ending is Ending.REPAIRED] == ["gentle=true"]
    assert {each.ending for each in found} == {Ending.REJECTED, Ending.VIOLATED, Ending.REFUSED, Ending.REPAIRED}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (claim(protocol={"low": True}, expect={}), "there is nothing to repair: every property holds"),
        (claim(model=Model("plain", "", NoToggles, lambda protocol: define(Rules()))), "no rule that could be"),
    ],
)
def test_a_claim_that_cannot_be_repaired_is_refused(spec: api.Spec, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        repair(spec, workers=1)


def test_a_set_whose_search_ran_out_is_undecided() -> None:
    found = repair(claim(), Budget(max_states=8), workers=1, most_rules=1)
    assert found.base.verdict is Verdict.UNKNOWN
    assert list(found.attempts) == []


def test_the_command_shows_repairs_with_their_costs(highwater: Run, root: Path, tmp_path: Path) -> None:
    report = tmp_path / "repairs.json"
    result = highwater("repair", root / TWO_BROKERS, "--json", report)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "violated  variant truncate-to-high-watermark → kip-101: strong_isr after 11 steps" in result.stdout
    assert "states  10,131 → 9,027 (1,314 lost, 210 gained)" in result.stdout
    assert "by the rule itself: 5,790 become_follower_truncating_to_high_watermark refused" in result.stdout
    data = json.loads(report.read_text(encoding="utf-8"))
    assert [each["ending"] for each in data] == ["violated", "holds", "holds", "holds", "refused"]
    assert data[1]["rules"] == [{"rule": "variant", "before": "truncate-to-high-watermark", "after": "kip-279"}]
    assert data[1]["cost"]["steps"]["fetch"]["lost"] == 942
    assert not data[1]["vacuous"]


def test_the_exit_code_distinguishes_why_there_is_no_repair(
    highwater: Run, root: Path, write_spec: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    assert highwater("repair", root / TWO_BROKERS, "--max-states", 20).exit_code == 3
    nothing = highwater("repair", write_spec())
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert "there is nothing to repair: every property holds within these bounds" in nothing.stderr
    vacuous = Repairs(make_console(), changes_of(claim()), 1)
    vacuous.violated, vacuous.attempts = True, [tried()[keys] for keys in (("still=true",), ("blind=true",))]
    assert vacuous.found is False
    vacuous.end(done=True)
    out = capsys.readouterr().out
    assert "changing a rule: 2 are vacuous\n" in out
    assert "no set of up to 1 rule repairs, but for those that are vacuous; try --max-rules 2\n" in out
    none = highwater("repair", write_spec(check=["leader_in_isr"], expect={"verdict": "violated"}))
    assert none.exit_code == 1
    assert "no set of up to 1 rule repairs\n" in none.stdout


def test_an_interrupt_keeps_the_results_so_far(
    highwater: Run, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real, report, calls = changed_rules.check_spec, tmp_path / "repairs.json", []

    def interrupted(*arguments: object, **options: object) -> object:
        result = real(*arguments, **options)
        calls.append(result)
        if len(calls) < 4:
            return result
        return attrs.evolve(
            result,
            outcome=attrs.evolve(result.outcome, reason="interrupted", verdict=Verdict.UNKNOWN, violations=()),
        )

    monkeypatch.setattr(changed_rules, "check_spec", interrupted)
    result = highwater("repair", root / TWO_BROKERS, "--json", report)
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
    assert "changing a rule: 1 ends in another counterexample, 1 repairs\nthe search ended early" in result.stdout
    assert len(json.loads(report.read_text(encoding="utf-8"))) == 2


@pytest.mark.slow
def test_the_rule_that_the_repaired_protocol_has_is_found_for_the_missed_election(highwater: Run, root: Path) -> None:
    result = highwater("repair", root / FLAW, "--max-rules", 1)
    assert result.exit_code == 0
    holding = [line.strip() for line in result.stdout.splitlines() if line.strip().startswith("holds")]
    assert holding == [
        "holds     reset_follower_state new-leader → new-epoch: holds within these bounds, 151,848 states"
    ]
