"""The tree of what was tried, ways to states, other rules, and branches as files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import Result

import highwater as front_door
from highwater.claims import own
from highwater.claims.checking import Engine, check_spec
from highwater.claims.names import ExpressionError
from highwater.claims.spec import Spec, load_spec
from highwater.explorer.blame import ModelError
from highwater.explorer.kernels.making.compile_times import TIMES
from highwater.explorer.search.plain.plain_python import explore
from highwater.explorer.system import Cut, successor
from highwater.explorer.verdict import Budget
from highwater.exploring import searching
from highwater.exploring.opening import open_path, open_spec, switched
from highwater.exploring.saving import as_counterexample, saved
from highwater.exploring.session import Session, SessionError
from highwater.files import ReportError, write_text
from highwater.model.language.declarations import action, invariant
from highwater.model.language.definition import Definition, Model, NoToggles
from highwater.model.language.domain import Integers
from highwater.model.language.graph_properties import prospect
from highwater.model.language.records import evolve, within

Run = Callable[..., Result]


def test_every_action_is_enabled_cut_or_refused_as_in_plain_evaluation(violated: Session) -> None:
    for node in violated.nodes:
        violated.go(node.number)
        for each in violated.choices():
            after = successor(each.action, node.step.state, violated.system.domain)
            assert each.enabled == (after is not None and not isinstance(after, Cut))
            assert bool(each.bounds) == isinstance(after, Cut)
            assert (each.refused is not None) == (after is None)


def test_taking_a_disabled_action_is_refused_with_its_guard(session: Session) -> None:
    number = next(n for n, each in enumerate(session.system.actions) if each.of.name == "write")
    with pytest.raises(SessionError, match="presumes_leadership"):
        session.take(number)
    with pytest.raises(SessionError, match="there is no action 9999"):
        session.take(9999)
    assert len(session.nodes) == 1


def test_undo_goes_back_and_another_step_begins_a_branch(session: Session, take: Callable[..., Session]) -> None:
    take(session, "elect_leader(leader b0)", "elect_leader(leader b1)")
    first = session.at
    session.undo()
    assert session.at is first.parent
    assert session.tip is first
    take(session, "take_from_isr(broker b1)")
    assert [len(node.children) for node in session.nodes] == [1, 2, 0, 0]
    assert session.tip is session.at
    session.go(first.number)
    assert session.tip is first
    session.go(0)
    with pytest.raises(SessionError, match="nothing to undo"):
        session.undo()


def test_a_step_that_was_tried_is_not_tried_twice(session: Session, take: Callable[..., Session]) -> None:
    take(session, "elect_leader(leader b0)")
    session.undo()
    assert [str(each.action) for each in session.choices() if each.tried] == ["elect_leader(leader b0)"]
    take(session, "elect_leader(leader b0)")
    assert len(session.nodes) == 2


def test_properties_are_judged_at_each_state(violated: Session) -> None:
    judged = {each.name: each for each in violated.judged()}
    assert (judged["strong_isr"].holds, judged["strong_isr"].checked) == (False, True)
    assert "does not hold that record" in judged["strong_isr"].why
    violated.go(0)
    judged = {each.name: each for each in violated.judged()}
    assert judged["strong_isr"].holds
    assert (judged["leader_in_isr"].holds, judged["leader_in_isr"].checked) == (False, False)


def test_a_branch_has_one_name(violated: Session) -> None:
    violated.name("  lost   records ")
    assert violated.at.name == "lost records"
    violated.undo()
    with pytest.raises(SessionError, match="another branch is called lost records"):
        violated.name("lost records")
    with pytest.raises(SessionError, match="at most 60"):
        violated.name("x" * 61)


@pytest.mark.parametrize("text", ["len(b1.log) == 1", "b1.leader == b1 and len(b1.log) < len(b0.log)", "fetch"])
def test_a_way_that_is_found_is_a_shortest_one(session: Session, text: str) -> None:
    found = session.find(text, from_here=False)
    length = len(found.steps) - 1
    asked = searching.question(text, session.system, session.subject.definition)
    shorter = searching._searched_for(asked, session.system, tuple(session.system.initial))
    assert not explore(shorter, Budget(max_depth=length - 1)).violations
    assert any(not each.apply(session.at.step.state) for each in asked.properties)
    assert session.at.depth == length


def test_a_way_from_here_begins_here(violated: Session, steps: tuple[str, ...]) -> None:
    violated.go(7)
    found = violated.find("len(b1.log) == 2", from_here=True)
    assert len(found.steps) == 3
    assert violated.at.path[7] is violated.nodes[7]
    assert found.says == "len(b1.log) == 2: 2 steps away"
    assert violated.find("len(b1.log) == 2", from_here=True).says == "len(b1.log) == 2: here already"


def test_a_property_is_found_where_it_is_false(session: Session) -> None:
    found = session.find("elected-leader-in-isr", from_here=True)
    assert found.says.startswith("elected_leader_in_isr is false") or "no state within the bounds" in found.says


def test_an_unreachable_state_is_reported_as_unreachable(make_spec: Callable[..., Spec]) -> None:
    session = open_spec(make_spec())
    states = explore(session.system).distinct_states
    found = session.find("len(b1.log) > 1", from_here=True)
    assert found.steps is None
    everywhere = f"all {states:,} states from here were seen"
    assert found.says == f"no state within the bounds: {everywhere}, and in none len(b1.log) > 1"


def test_a_search_ends_when_it_is_asked_to(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching.Cancelled, "begin", lambda self: self.ask())
    found = session.find("len(b1.log) > 2", from_here=True)
    assert found.steps is None
    assert found.says.startswith("stopped after ")


def test_a_search_ends_before_the_next_kernel_is_compiled(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled, compiled = session.cancelled, []

    def searched(*arguments: Any, **options: Any) -> Any:
        for kernel in ("first", "second"):
            try:
                with TIMES.compiling():
                    compiled.append(kernel)
                    cancelled.ask()
                    assert cancelled.says == "stopping once a kernel is compiled, which takes some 10 s"
            except KeyboardInterrupt:
                return attrs.evolve(unknown, reason="interrupted")
        raise AssertionError("it was not stopped")

    unknown = explore(session.system, Budget(max_states=1))
    monkeypatch.setattr(searching, "IN_PLAIN_PYTHON", 5)
    monkeypatch.setattr("highwater.explorer.search.levels.breadth_first.explore", searched)
    assert session.find("len(b1.log) > 2", from_here=True).says.startswith("stopped after ")
    assert compiled == ["first"]
    assert cancelled not in TIMES.listeners


@pytest.mark.slow  # it may compile machine code
def test_the_compiled_search_goes_on_where_plain_python_gives_up(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "IN_PLAIN_PYTHON", 5)
    assert session.find("len(b1.log) == 2", from_here=True).says == "len(b1.log) == 2: 4 steps away"


def test_a_condition_that_cannot_be_judged_is_refused(session: Session) -> None:
    with pytest.raises(ExpressionError, match="the condition raised TypeError"):
        session.find("b0.leader < 1", from_here=True)
    with pytest.raises(ExpressionError, match='did you mean "strong_isr"'):
        session.find("strong_irs", from_here=True)


def test_compare_finds_the_first_step_that_differs_under_another_rule(violated: Session) -> None:
    comparison, _, _ = violated.compare(["protocol.variant=kip-279"])
    assert comparison.first == 11
    assert comparison.summary.endswith("strong_isr holds after every step.")
    other = switched(violated, ["protocol.variant=kip-320"])
    assert other.subject.protocol.variant.value == "kip-320"
    assert 0 < other.at.depth < 11
    assert {str(node.step.action) for node in other.at.path[1:]} <= {str(each) for each in other.system.actions}
    with pytest.raises(ReportError, match="allowed are"):
        violated.compare(["protocol.variant=kip-999"])


# --- branches as files


def test_a_branch_saved_as_a_trace_is_read_by_trace_and_explore(
    violated: Session, tmp_path: Path, highwater: Run
) -> None:
    for at, words in ((11, "strong_isr is false after 11 steps"), (7, "7 steps, tried by hand")):
        violated.go(at)
        name, text = saved(violated, "trace")
        write_text(tmp_path / name, text)
        shown = highwater("trace", tmp_path / name)
        assert shown.exit_code == 0
        assert words in shown.stdout
        assert "as the file says" in highwater("trace", tmp_path / name, "--replay").stdout
        again = open_path(tmp_path / name)
        assert [str(step.action) for step in again.trace] == [str(step.action) for step in violated.trace]
        page = tmp_path / "page.html"
        assert highwater("trace", tmp_path / name, "--html", page).exit_code == 0
        assert open_path(page).at.step.state == violated.at.step.state


def test_a_saved_trace_that_lies_is_refused(violated: Session, tmp_path: Path) -> None:
    name, text = saved(violated, "trace")
    report = json.loads(text)
    report["results"][0]["trace"][5]["state"]["next_record_id"] = 2
    (tmp_path / name).write_text(json.dumps(report))
    with pytest.raises(ReportError, match="step 5"):
        open_path(tmp_path / name)


def test_a_branch_saved_as_a_spec_claims_its_violation(violated: Session, tmp_path: Path) -> None:
    violated.name("KIP-101 loses records")
    name, text = saved(violated, "spec")
    assert name == "kip_101_loses_records.toml"
    (tmp_path / name).write_text(text)
    spec = load_spec(tmp_path / name)
    assert spec.file.expect.property == "strong_isr"
    assert spec.system().bounds == violated.system.bounds
    violated.go(3)
    with pytest.raises(SessionError, match="no property is false here"):
        saved(violated, "spec")


def test_a_branch_saved_as_a_spec_claims_nothing_of_what_fewer_steps_violate() -> None:
    """One step breaks the wheel, and two make it old."""
    definition = Definition(
        NoToggles, Wheel, lambda _: [Wheel(False, 0)], (turn, crash), properties=(can_be_whole, is_whole, is_new)
    )
    model = Model("wheel", "", NoToggles, lambda _: definition)
    session = open_spec(front_door.claim(model=model, bounds={}, check=["is_whole", "is_new", "no_deadlock"]))
    session.take(0)
    session.take(0)
    claimed = tomllib.loads(saved(session, "spec")[1])
    assert claimed["expect"] == {"verdict": "violated", "property": "is_new"}
    assert check_spec(front_door.claim(**{**claimed, "model": model}), Engine.PYTHON).ok


@pytest.mark.parametrize("at", [11, 7])
def test_a_branch_saved_as_a_test_passes_and_fails_at_a_step_that_is_not_enabled(
    violated: Session, tmp_path: Path, at: int
) -> None:
    violated.go(at)
    name, text = saved(violated, "test")
    module: dict[str, Any] = {}
    exec(compile(text, name, "exec"), module)
    (test,) = (value for key, value in module.items() if key.startswith("test_"))
    test()
    module["STEPS"].append(("write", {"leader": "b1"}) if at == 7 else ("fetch", {"follower": "b0", "leader": "b0"}))
    with pytest.raises(AssertionError, match=f"step {at + 1}: .* is not enabled"):
        test()


SPECS = Path(__file__).parents[3] / "specs"


@attrs.frozen
class Wheel:
    broken: bool = within(bool)
    turns: int = within(Integers(0, 2))


@action(actor="wheel")
def turn(wheel: Wheel) -> Wheel:
    return evolve(wheel, turns=(wheel.turns + 1) % 3)


@action(actor="road")
def crash(wheel: Wheel) -> Wheel | None:
    return None if wheel.broken else evolve(wheel, broken=True)


@prospect(along=[turn])
def can_be_whole(wheel: Wheel) -> bool:
    return not wheel.broken


@invariant()
def is_whole(wheel: Wheel) -> bool:
    return not wheel.broken


@invariant()
def is_new(wheel: Wheel) -> bool:
    return wheel.turns < 2


WHEEL = Model(
    "wheel",
    "",
    NoToggles,
    lambda _: Definition(NoToggles, Wheel, lambda _: [Wheel(False, 0)], (turn, crash), properties=(can_be_whole,)),
)


@pytest.mark.parametrize("most", [3, 2])
def test_a_prospect_that_leaves_too_many_states_possible_is_false_or_named_as_not_judged(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the crash are three states."""
    monkeypatch.setattr("highwater.explorer.outlook.MOST_STATES", most)
    spec = front_door.claim(model=WHEEL, bounds={}, check=["can_be_whole"])
    end = front_door.follow(spec, [("crash", {})])
    session = open_spec(spec)
    assert session.unjudged == []
    session.take(1)
    _, test = saved(session, "test")
    report = json.loads(saved(session, "trace")[1])["results"][0]
    if most == 3:
        assert (end.false, end.unjudged, session.unjudged) == (["can_be_whole"], [], [])
        assert session.violation.property == report["property"] == "can_be_whole"
        assert "end.unjudged == []" in test
    else:
        assert (end.false, end.unjudged, session.unjudged) == ([], ["can_be_whole"], ["can_be_whole"])
        assert session.violation.property == ""
        assert (report["property"], report["reason"]) == (None, "tried by hand; not judged at the end: can_be_whole")
        assert "1 step, tried by hand; not judged at the end: can_be_whole" in saved(session, "page")[1]
        assert "end.unjudged == ['can_be_whole']" in test
        with pytest.raises(SessionError, match=r"as far as is known \(not judged: can_be_whole\)"):
            saved(session, "spec")


def test_a_branch_of_a_refinement_is_saved_with_what_is_to_be_refined(tmp_path: Path) -> None:
    spec = load_spec(SPECS / "refinement" / "kafka_0_8_0_is_not_the_log_that_clients_are_promised.toml")
    found = check_spec(spec).violation
    assert found is not None
    session = open_spec(spec)
    actions = {str(action): action for action in session.system.actions}
    session.follow([attrs.evolve(each, action=each.action and actions[str(each.action)]) for each in found.trace])
    for kind in ("trace", "page"):
        name, text = saved(session, kind)
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert open_path(tmp_path / name).violation.property == "refines_client_log"
    name, text = saved(session, "spec")
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert load_spec(tmp_path / name).checked == ("refines_client_log",)
    name, text = saved(session, "test")
    module: dict[str, Any] = {}
    exec(compile(text, name, "exec"), module)
    next(test for key, test in module.items() if key.startswith("test_"))()


def test_a_branch_from_another_initial_state_is_a_test_that_begins_there() -> None:
    wheels = [Wheel(broken=False, turns=0), Wheel(broken=False, turns=1)]
    definition = Definition(
        bounds=NoToggles, state=Wheel, initial_states=lambda bounds: wheels, actions=(turn,), properties=(is_new,)
    )
    model = Model("beginnings", "", NoToggles, lambda protocol: definition)
    claim = front_door.claim(model=model, bounds={}, check=[is_new])
    session = open_spec(claim)
    session.go(1)
    session.take(0)
    assert "highwater.follow(CLAIM, STEPS, initial=1)\n    assert end.false == ['is_new']" in saved(session, "test")[1]
    assert front_door.follow(claim, [("turn", {})]).false == []
    assert front_door.follow(claim, [("turn", {})], initial=1).false == ["is_new"]


def test_a_property_that_was_not_asked_for_and_raises_is_not_judged() -> None:
    """Neither by a session, nor on the page, which has all else."""

    @invariant()
    def raises(wheel: Wheel) -> bool:
        return bool(1 // (1 - wheel.turns))

    properties = (is_new, raises)
    definition = Definition(NoToggles, Wheel, lambda _: [Wheel(False, 0)], (turn,), properties=properties)
    model = Model("raising", "", NoToggles, lambda protocol: definition)
    session = open_spec(front_door.claim(model=model, bounds={}, check=[is_new]))
    session.take(0)
    assert [(each.name, each.holds, each.why) for each in session.judged()][1] == ("raises", None, "raises here")
    session.take(0)
    shown = as_counterexample(session)
    assert shown.violation.property == "is_new"
    assert [step.unjudged for step in shown.steps] == [set(), {"raises"}, set()]
    assert "raises was not judged" in saved(session, "page")[1]
    asked = open_spec(front_door.claim(model=model, bounds={}, check=[raises]))
    asked.take(0)
    with pytest.raises(ModelError, match="raises"):
        asked.judged()


def test_a_step_that_is_none_is_an_assertion_that_names_it(spec_path: Path) -> None:
    with pytest.raises(AssertionError, match="step 1: the model has no action fly"):
        front_door.follow(load_spec(spec_path), [("fly", {})])


def test_a_counterexample_opens_at_one_of_its_steps(violated: Session, tmp_path: Path) -> None:
    name, text = saved(violated, "trace")
    (tmp_path / name).write_text(text)
    session = open_path(tmp_path / name, step=4)
    assert (session.at.depth, session.tip.depth) == (4, 11)
    with pytest.raises(ReportError, match="has no step 12; the last is 11"):
        open_path(tmp_path / name, step=12)
    with pytest.raises(ReportError, match="holds no trace of a spec named other"):
        open_path(tmp_path / name, name="other")


def test_a_model_of_ones_own_is_explored(highwater: Run, tmp_path: Path) -> None:
    assert highwater("init", tmp_path / "own").exit_code == 0
    own.search([tmp_path / "own"])
    spec = load_spec(tmp_path / "own" / "specs" / "without_fencing_a_late_writer_gets_through.toml")
    session = open_spec(spec)
    found = session.find("newest > 0 and believed[c0] > 0", from_here=True)
    assert found.says == "newest > 0 and believed[c0] > 0: 2 steps away"
    _, text = saved(session, "test")
    assert "from lock_service import MODEL" in text
    assert check_spec(spec, Engine.PYTHON).ok
