"""Claims against outcomes: met, unmet and undecided; and models that are wrong in themselves."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.checking import Engine, Result, Status, check_spec, judge_claim
from highwater.claims.spec import Spec, SpecError, load_spec
from highwater.explorer.memory import process_memory
from highwater.explorer.verdict import Budget, Outcome, Progress, Step, Verdict, Violation
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import Action, Invariant, Witness, action, invariant
from highwater.model.language.definition import Definition, Model
from highwater.model.language.domain import Integers
from highwater.model.language.records import bound, evolve, within
from tests.outcomes import findings

SPECS = Path(__file__).parents[2] / "specs"
MET, UNMET, UNDECIDED = Status.MET, Status.UNMET, Status.UNDECIDED
# 28 million states, as wide as those of other tests
LARGE = {"brokers": 3, "log_length_max": 2, "records_max": 3, "leader_epoch_max": 3}
TWO = ["weak_isr", "strong_isr"]
HERE = (Engine.LOCAL, Engine.PYTHON)  # the engines that need no cluster

Make = Callable[..., Spec]


# --- the judge


def found(
    verdict: str, *violations: tuple[str, int], levels: tuple[int, ...] = (1, 4, 10), reason: str = ""
) -> Outcome:
    """An outcome as an exploration might give it."""
    return Outcome(
        verdict=Verdict(verdict),
        reason=reason,
        violations=tuple(
            Violation(name, {}, "", {}, (Step(None, None),) * (length + 1)) for name, length in violations
        ),
        levels=levels,
        generated=0,
        enabled={},
        bounds_cut={},
        deadlocks=0,
        stopped_at_bound=0,
    )


HOLDS = found("holds")
WEAK_AFTER_2 = found("violated", ("weak_isr", 2))
STRONG_AFTER_2 = found("violated", ("strong_isr", 2))
BOTH = found("violated", ("weak_isr", 1), ("strong_isr", 2))
TO_DEPTH_2 = found("holds-to-depth", reason="depth 2")
CUTS = [found("unknown", reason=reason) for reason in ("max-states", "memory", "interrupted")]


def violated(**claim: Any) -> dict[str, Any]:
    return {"verdict": "violated", **claim}


TABLE = [
    ("claimed to hold by default, and holds", None, None, HOLDS, MET),
    ("claimed to hold, and holds", {"verdict": "holds"}, None, HOLDS, MET),
    ("with the right number of states", {"distinct_states": 15}, None, HOLDS, MET),
    ("with the right number of states and depth", {"distinct_states": 15, "depth": 2}, None, HOLDS, MET),
    ("with one state too few", {"distinct_states": 16}, None, HOLDS, UNMET),
    ("with one state too many", {"distinct_states": 14}, None, HOLDS, UNMET),
    ("with the wrong depth", {"depth": 3}, None, HOLDS, UNMET),
    ("with no states claimed at all", {"distinct_states": 0}, None, HOLDS, UNMET),
    ("holds but the depth is claimed to be none", {"depth": 0}, None, HOLDS, UNMET),
    ("violated though claimed to hold", {"verdict": "holds"}, None, WEAK_AFTER_2, UNMET),
    ("holds though claimed violated", violated(), None, HOLDS, UNMET),
    ("holds though a property is claimed violated", violated(property="weak_isr", trace_length=2), None, HOLDS, UNMET),
    ("violated as claimed", violated(), None, WEAK_AFTER_2, MET),
    ("the claimed property is violated", violated(property="weak_isr"), None, WEAK_AFTER_2, MET),
    (
        "the claimed property is violated after the claimed steps",
        violated(property="weak_isr", trace_length=2),
        None,
        WEAK_AFTER_2,
        MET,
    ),
    ("a shorter trace than claimed", violated(property="weak_isr", trace_length=3), None, WEAK_AFTER_2, UNMET),
    ("a longer trace than claimed", violated(property="weak_isr", trace_length=1), None, WEAK_AFTER_2, UNMET),
    ("a trace though none is needed", violated(trace_length=0), None, WEAK_AFTER_2, UNMET),
    (
        "an initial state is a trace of length 0",
        violated(trace_length=0),
        None,
        found("violated", ("weak_isr", 0), levels=(1,)),
        MET,
    ),
    ("another property is violated", violated(property="weak_isr"), None, STRONG_AFTER_2, UNMET),
    (
        "another property is violated after the claimed steps",
        violated(property="weak_isr", trace_length=2),
        None,
        STRONG_AFTER_2,
        UNMET,
    ),
    ("any property will do, if none is named", violated(trace_length=2), None, STRONG_AFTER_2, MET),
    ("the claimed property is among several", violated(property="strong_isr", trace_length=2), None, BOTH, MET),
    (
        "the claimed property is among several, the length is another's",
        violated(property="strong_isr", trace_length=1),
        None,
        BOTH,
        UNMET,
    ),
    ("the first of several counts, if none is named", violated(trace_length=1), None, BOTH, MET),
    ("a violation with the right counts", violated(distinct_states=15, depth=2), None, WEAK_AFTER_2, MET),
    ("a violation with the wrong count", violated(distinct_states=16), None, WEAK_AFTER_2, UNMET),
    (
        "a deadlock as claimed",
        violated(property="no_deadlock", trace_length=2),
        None,
        found("violated", ("no_deadlock", 2)),
        MET,
    ),
    *((f"holds, cut by {cut.reason}", {"verdict": "holds"}, None, cut, UNDECIDED) for cut in CUTS),
    *(
        (f"violated, cut by {cut.reason}", violated(property="weak_isr", trace_length=2), None, cut, UNDECIDED)
        for cut in CUTS
    ),
    *((f"holds to depth, cut by {cut.reason}", {"verdict": "holds-to-depth"}, 4, cut, UNDECIDED) for cut in CUTS),
    *(
        (f"with the right counts, cut by {cut.reason}", {"distinct_states": 15, "depth": 2}, None, cut, UNDECIDED)
        for cut in CUTS
    ),
    ("holds, cut by a depth that the claim does not have", {"verdict": "holds"}, None, TO_DEPTH_2, UNDECIDED),
    ("violated, cut by a depth that the claim does not have", violated(), None, TO_DEPTH_2, UNDECIDED),
    ("violated, cut by a smaller depth than the claim's", violated(), 3, TO_DEPTH_2, UNDECIDED),
    ("holds to the claimed depth", {"verdict": "holds-to-depth"}, 2, TO_DEPTH_2, MET),
    (
        "holds to the claimed depth with the right count",
        {"verdict": "holds-to-depth", "distinct_states": 15},
        2,
        TO_DEPTH_2,
        MET,
    ),
    (
        "holds to the claimed depth with the wrong count",
        {"verdict": "holds-to-depth", "distinct_states": 16},
        2,
        TO_DEPTH_2,
        UNMET,
    ),
    ("holds to less than the claimed depth", {"verdict": "holds-to-depth"}, 3, TO_DEPTH_2, UNDECIDED),
    ("holds altogether, which is more than to a depth", {"verdict": "holds-to-depth"}, 9, HOLDS, MET),
    (
        "holds altogether, but with the wrong count",
        {"verdict": "holds-to-depth", "distinct_states": 16},
        9,
        HOLDS,
        UNMET,
    ),
    ("violated within the claimed depth", {"verdict": "holds-to-depth"}, 9, WEAK_AFTER_2, UNMET),
    ("holds to depth 0", {"verdict": "holds-to-depth"}, 0, found("holds-to-depth", levels=(1,), reason="depth 0"), MET),
]


@pytest.mark.parametrize(
    ("claim", "max_depth", "outcome", "status"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_a_claim_is_judged_by_its_outcome(
    make_spec: Make, claim: dict[str, Any] | None, max_depth: int | None, outcome: Outcome, status: Status
) -> None:
    result = judge_claim(make_spec(check=[*TWO, "no_deadlock"], expect=claim, max_depth=max_depth), outcome)
    assert result.status is status
    assert result.outcome is outcome
    assert bool(result.mismatches) is (status is UNMET)


def test_a_claim_to_hold_is_never_met_by_a_search_to_the_depth_of_its_own_spec(make_spec: Make) -> None:
    result = judge_claim(make_spec(expect={"verdict": "holds"}, max_depth=2), TO_DEPTH_2)
    assert result.status is not MET


def only_mismatch(result: Result) -> str:
    assert len(result.mismatches) == 1
    return result.mismatches[0]


def test_a_mismatch_names_the_expected_and_the_actual_result(make_spec: Make) -> None:
    assert (
        only_mismatch(judge_claim(make_spec(expect=violated()), HOLDS))
        == "expected a violation, but the verdict is holds"
    )
    text = only_mismatch(judge_claim(make_spec(check=TWO), WEAK_AFTER_2))
    assert text == "expected the verdict holds, but weak_isr is violated after 2 steps"
    text = only_mismatch(judge_claim(make_spec(check=TWO, expect=violated(property="weak_isr")), STRONG_AFTER_2))
    assert "weak_isr" in text
    assert "strong_isr is violated after 2 steps" in text


def test_every_mismatch_is_reported(make_spec: Make) -> None:
    claim = violated(property="weak_isr", trace_length=3, distinct_states=12345, depth=7)
    mismatches = judge_claim(make_spec(check=TWO, expect=claim), WEAK_AFTER_2).mismatches
    assert len(mismatches) == 3
    assert any("trace_length 3" in text and "2" in text for text in mismatches)
    assert any("distinct_states 12,345" in text and "15" in text for text in mismatches)
    assert any("depth 7" in text and "2" in text for text in mismatches)


def test_a_result_shows_the_claimed_violation_or_the_first(make_spec: Make) -> None:
    claimed = judge_claim(make_spec(check=TWO, expect=violated(property="strong_isr")), BOTH)
    assert claimed.violation is not None
    assert claimed.violation.property == "strong_isr"
    unclaimed = judge_claim(make_spec(check=TWO), BOTH)
    assert unclaimed.violation is not None
    assert unclaimed.violation.property == "weak_isr"
    assert judge_claim(make_spec(), HOLDS).violation is None


# --- exploring


def test_a_claim_that_holds_is_met_by_exploring(make_spec: Make) -> None:
    result = check_spec(make_spec(check=TWO, expect={"distinct_states": 277, "depth": 11}))
    assert (result.status, result.outcome.verdict, result.mismatches) == (MET, Verdict.HOLDS, ())


def test_a_claim_about_the_wrong_number_of_states_is_not_met_by_exploring(make_spec: Make) -> None:
    result = check_spec(make_spec(expect={"distinct_states": 278}))
    assert result.mismatches == ("expected distinct_states 278, but it is 277",)


@pytest.mark.parametrize("engine", HERE)
def test_a_budget_of_depth_leaves_a_claim_undecided(make_spec: Make, engine: Engine) -> None:
    result = check_spec(make_spec(), engine, Budget(max_depth=3))
    assert (result.status, result.outcome.verdict, result.outcome.depth) == (UNDECIDED, Verdict.HOLDS_TO_DEPTH, 3)


@pytest.mark.parametrize("engine", HERE)
@pytest.mark.parametrize("budget", [1, 50])
def test_a_budget_of_states_leaves_a_claim_undecided(make_spec: Make, engine: Engine, budget: int) -> None:
    result = check_spec(make_spec(), engine, Budget(max_states=budget))
    assert (result.status, result.outcome.verdict, result.outcome.reason) == (UNDECIDED, Verdict.UNKNOWN, "max-states")
    assert result.outcome.stored_states == budget


@pytest.mark.parametrize("engine", HERE)
def test_a_budget_that_is_just_enough_decides(make_spec: Make, engine: Engine) -> None:
    assert check_spec(make_spec(), engine, Budget(max_depth=12, max_states=277)).status is MET


def test_a_budget_of_memory_leaves_a_claim_undecided(make_spec: Make) -> None:
    check_spec(make_spec())  # what the process takes for compiling is no part of what follows
    taken = process_memory()
    result = check_spec(make_spec(bounds=LARGE), budget=Budget(memory=taken + 2**24))
    assert (result.status, result.outcome.verdict, result.outcome.reason) == (UNDECIDED, Verdict.UNKNOWN, "memory")
    assert 0 < result.outcome.memory <= 2**24


def test_too_small_a_budget_of_memory_is_an_error_that_names_both_sizes(make_spec: Make) -> None:
    spec = make_spec()
    with pytest.raises(SpecError, match=r"a memory budget of 1,000 bytes is too small: .*\d,\d{3},\d{3}") as caught:
        check_spec(spec, budget=Budget(memory=1000))
    assert str(spec.path) in str(caught.value)


def test_an_interrupted_search_leaves_a_claim_undecided_and_keeps_its_counts(make_spec: Make) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.depth == 4:
            raise KeyboardInterrupt

    result = check_spec(make_spec(), on_progress=interrupt)
    assert (result.status, result.outcome.verdict, result.outcome.reason) == (UNDECIDED, Verdict.UNKNOWN, "interrupted")
    assert result.outcome.levels == check_spec(make_spec()).outcome.levels[:5]


@pytest.mark.parametrize("engine", HERE)
def test_the_smaller_of_two_depths_counts(make_spec: Make, engine: Engine) -> None:
    spec = make_spec(expect={"verdict": "holds-to-depth"}, max_depth=4)
    assert check_spec(spec, engine).status is MET
    assert check_spec(spec, engine, Budget(max_depth=9)).outcome.depth == 4
    cut = check_spec(spec, engine, Budget(max_depth=3))
    assert (cut.status, cut.outcome.depth) == (UNDECIDED, 3)


@pytest.mark.parametrize("engine", HERE)
def test_a_claim_to_a_depth_is_met_where_there_is_nothing_deeper(make_spec: Make, engine: Engine) -> None:
    result = check_spec(make_spec(expect={"verdict": "holds-to-depth", "distinct_states": 277}, max_depth=100), engine)
    assert (result.status, result.outcome.verdict) == (MET, Verdict.HOLDS)


@pytest.mark.parametrize("engine", HERE)
def test_a_claim_to_depth_0_is_met(make_spec: Make, engine: Engine) -> None:
    assert (
        check_spec(make_spec(expect={"verdict": "holds-to-depth", "distinct_states": 1}, max_depth=0), engine).status
        is MET
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "bounds", "name"),
    [
        ("kip-320", {"brokers": 7, "log_length_max": 15, "records_max": 63, "leader_epoch_max": 31}, "weak_isr"),
        ("async-isr", {"brokers": 5, "offset_max": 63, "version_max": 15}, "valid_high_watermark"),
    ],
)
def test_the_largest_bounds_can_be_explored(make_spec: Make, variant: str, bounds: dict[str, int], name: str) -> None:
    spec = make_spec(
        protocol={"variant": variant}, bounds=bounds, check=[name], expect={"verdict": "holds-to-depth"}, max_depth=1
    )
    assert check_spec(spec).status is MET


SMALL = [
    *(
        (
            variant,
            {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1},
            ["weak_isr", "strong_isr", "no_deadlock"],
        )
        for variant in ("truncate-to-high-watermark", "kip-101", "kip-279", "kip-320-first-try", "kip-320")
    ),
    (
        "kip-320",
        {"brokers": 1, "log_length_max": 2, "records_max": 3, "leader_epoch_max": 2},
        ["weak_isr", "leader_in_isr"],
    ),
    (
        "truncate-to-high-watermark",
        {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2},
        ["strong_isr"],
    ),
    ("async-isr", {"brokers": 2, "offset_max": 2, "version_max": 2}, ["valid_high_watermark", "no_deadlock"]),
]


def comparable(result: Result) -> dict[str, Any]:
    """All that two engines must agree on."""
    outcome = result.outcome
    told = findings(outcome, "audit", "violations", "stored_states", "words", "bits")
    told["violations"] = [
        (
            found.property,
            found.arguments,
            found.witness,
            found.facts,
            [(str(step.action), step.state) for step in found.trace],
        )
        for found in outcome.violations
    ]
    return {**told, "status": result.status, "mismatches": result.mismatches}


@pytest.mark.parametrize(("variant", "bounds", "check"), SMALL, ids=[f"{row[0]} {'-'.join(row[2])}" for row in SMALL])
@pytest.mark.parametrize("keep_going", [False, True], ids=["stopping", "keeping going"])
def test_both_engines_find_the_same(
    make_spec: Make, variant: str, bounds: dict[str, int], check: list[str], keep_going: bool
) -> None:
    spec = make_spec(protocol={"variant": variant}, bounds=bounds, check=check)
    local, python = (check_spec(spec, engine, keep_going=keep_going) for engine in HERE)
    assert comparable(local) == comparable(python)
    assert (local.outcome.compiled_paths > 0, python.outcome.compiled_paths) == (True, 0)


def test_keeping_going_finds_every_violated_property(make_spec: Make) -> None:
    bounds = {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2}
    keys = {"protocol": {"variant": "kip-101"}, "bounds": bounds, "check": ["leader_in_isr", "strong_isr"]}
    assert [v.property for v in check_spec(make_spec(**keys)).outcome.violations] == ["leader_in_isr"]
    result = check_spec(make_spec(**keys, expect=violated(property="strong_isr", trace_length=11)), keep_going=True)
    assert [(v.property, v.trace_length) for v in result.outcome.violations] == [
        ("leader_in_isr", 0),
        ("strong_isr", 11),
    ]
    assert result.status is MET


# --- models that are wrong in themselves


@attrs.frozen
class CounterBounds:
    top: int = bound(1, 100, "the largest count")


@attrs.frozen
class CounterProtocol:
    """A protocol without toggles."""


@attrs.frozen
class Counter:
    count: int = within(lambda bounds: Integers(0, bounds.top))
    other: int = within(Integers(0, 3))


def start(bounds: CounterBounds) -> list[Counter]:
    return [Counter(0, 0)]


@action(actor="nobody")
def count_up(state: Counter) -> Counter | None:
    return evolve(state, count=state.count + 1)


@invariant()
def small(state: Counter) -> bool:
    return state.count < 3


@invariant()
def never_negative(state: Counter) -> bool:
    return state.count >= 0


@pytest.fixture
def counter_spec(monkeypatch: pytest.MonkeyPatch, make_spec: Make) -> Make:
    """A spec of a model made of the given actions and properties."""

    def make(*parts: Any, initial: Callable[[Any], Any] = start, state: type = Counter, **keys: Any) -> Spec:
        actions = tuple(part for part in parts if isinstance(part, Action)) or (count_up,)
        properties = tuple(part for part in parts if isinstance(part, Invariant)) or (small,)
        definition = Definition(CounterBounds, state, initial, actions, properties=properties)
        monkeypatch.setitem(MODELS, "counter", Model("counter", "counts", CounterProtocol, lambda protocol: definition))
        return make_spec(
            **{"model": "counter", "protocol": None, "bounds": {"top": 5}, "check": [properties[0].name], **keys}
        )

    return make


def line_with(function: Any, text: str) -> str:
    """File and line of the first line of a function that holds a text."""
    function = getattr(function, "function", function)
    lines, first = inspect.getsourcelines(function)
    return (
        f"{function.__code__.co_filename}:{first + next(number for number, line in enumerate(lines) if text in line)}"
    )


def error_of(spec: Spec, engine: Engine = Engine.LOCAL) -> str:
    with pytest.raises(SpecError) as caught:
        check_spec(spec, engine)
    assert str(spec.path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("engine", HERE)
def test_a_model_of_ones_own_is_explored(counter_spec: Make, engine: Engine) -> None:
    spec = counter_spec(expect=violated(property="small", trace_length=3))
    result = check_spec(spec, engine)
    assert result.status is MET
    kept = check_spec(
        counter_spec(small, never_negative, check=["small", "never_negative"]), engine, keep_going=True
    ).outcome
    assert (kept.distinct_states, kept.bounds_cut) == (6, {"top": 1})


@pytest.mark.parametrize("engine", HERE)
def test_an_action_that_raises_is_named_with_file_and_line_and_state(counter_spec: Make, engine: Engine) -> None:
    @action(actor="nobody")
    def stumble(state: Counter) -> Counter | None:
        if state.count == 2:
            raise LookupError("nothing there")
        return None

    text = error_of(counter_spec(count_up, stumble), engine)
    assert "stumble() raised LookupError: nothing there" in text
    assert f"{line_with(stumble, 'raise LookupError')} in stumble" in text
    assert "count 2" in text


@pytest.mark.parametrize("engine", HERE)
def test_a_helper_that_raises_is_named_with_file_and_line(counter_spec: Make, engine: Engine) -> None:
    def helper(count: int) -> int:
        return 1 // (count - 2)

    @action(actor="nobody")
    def divide(state: Counter) -> Counter | None:
        return evolve(state, other=abs(helper(state.count)) % 4)

    text = error_of(counter_spec(count_up, divide), engine)
    assert "divide() raised ZeroDivisionError" in text
    assert f"{line_with(helper, 'return 1')} in helper" in text


@pytest.mark.parametrize("engine", HERE)
def test_a_property_that_raises_is_named_with_file_and_line(counter_spec: Make, engine: Engine) -> None:
    @invariant()
    def careless(state: Counter) -> bool:
        return [True, True][state.count]

    text = error_of(counter_spec(careless), engine)
    assert "careless() raised IndexError" in text
    assert f"{line_with(careless, 'return [True')} in careless" in text


@pytest.mark.parametrize("engine", HERE)
@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_a_property_that_returns_no_truth_value_is_named(counter_spec: Make, engine: Engine, answer: Any) -> None:
    @invariant()
    def vague(state: Counter) -> Any:
        return answer

    text = error_of(counter_spec(vague), engine)
    assert f"returned {answer!r}" in text
    assert line_with(vague, "@invariant") in text


@pytest.mark.parametrize("engine", HERE)
@pytest.mark.parametrize("answer", [7, "later", Counter(-1, 0), Counter(0, 9), Counter("none", 0)], ids=repr)
def test_an_action_that_returns_no_state_of_the_model_is_named(counter_spec: Make, engine: Engine, answer: Any) -> None:
    @action(actor="nobody")
    def astray(state: Counter) -> Any:
        return answer

    text = error_of(counter_spec(astray), engine)
    assert "astray()" in text
    assert __file__ in text


@pytest.mark.parametrize("engine", HERE)
def test_a_witness_that_speaks_of_a_fact_that_it_lacks_is_an_error_of_the_model(
    counter_spec: Make, engine: Engine
) -> None:
    @invariant()
    def speechless(state: Counter) -> bool | Witness:
        return state.count < 2 or Witness("the count is {number}", count=state.count)

    text = error_of(counter_spec(speechless), engine)
    assert "speechless" in text
    assert "number" in text


@pytest.mark.parametrize("engine", HERE)
def test_initial_states_that_raise_are_named_with_file_and_line(counter_spec: Make, engine: Engine) -> None:
    def broken_start(bounds: CounterBounds) -> list[Counter]:
        raise LookupError("no beginning")

    text = error_of(counter_spec(initial=broken_start), engine)
    assert "LookupError: no beginning" in text
    assert line_with(broken_start, "raise LookupError") in text


@pytest.mark.parametrize("engine", HERE)
@pytest.mark.parametrize(
    ("states", "words"), [([], "at least one"), ([Counter(9, 0)], "top"), ([Counter(0, 9)], "outside its domain")]
)
def test_initial_states_that_are_none_or_outside_are_an_error(
    counter_spec: Make, engine: Engine, states: list[Counter], words: str
) -> None:
    assert words in error_of(counter_spec(initial=lambda bounds: states), engine)


@pytest.mark.parametrize("engine", HERE)
def test_a_state_class_without_domains_is_an_error_that_names_the_field(counter_spec: Make, engine: Engine) -> None:
    @attrs.frozen
    class Undeclared:
        count: int

    text = error_of(counter_spec(state=Undeclared, initial=lambda bounds: [Undeclared(0)]), engine)
    assert "Undeclared.count" in text


@pytest.mark.parametrize("engine", HERE)
def test_a_budget_smaller_than_the_number_of_initial_states_leaves_a_claim_undecided(
    counter_spec: Make, engine: Engine
) -> None:
    spec = counter_spec(initial=lambda bounds: [Counter(0, other) for other in range(4)])
    result = check_spec(spec, engine, Budget(max_states=2))
    assert (result.status, result.outcome.reason) == (UNDECIDED, "max-states")


def test_an_action_that_depends_on_how_often_it_was_called_is_named_with_file_and_line(counter_spec: Make) -> None:
    calls: list[int] = []

    @action(actor="nobody")
    def moody(state: Counter) -> Counter | None:
        calls.append(1)
        return evolve(state, other=len(calls) % 4)

    text = error_of(counter_spec(count_up, moody))
    assert "moody()" in text
    assert line_with(moody, "@action") in text


def test_a_property_that_depends_on_how_often_it_was_called_is_named_with_file_and_line(counter_spec: Make) -> None:
    calls: list[int] = []

    @invariant()
    def fickle(state: Counter) -> bool:
        calls.append(state.count)
        return len(calls) % 2 == 1

    text = error_of(counter_spec(fickle))
    assert "fickle()" in text
    assert line_with(fickle, "@invariant") in text


def test_an_action_that_reads_in_varying_order_is_named_with_file_and_line(counter_spec: Make) -> None:
    calls: list[int] = []

    @action(actor="nobody")
    def restless(state: Counter) -> Counter | None:
        calls.append(1)
        first, second = ("count", "other") if len(calls) // 3 % 2 else ("other", "count")
        return (
            None
            if getattr(state, first) == 0 and getattr(state, second) == 5
            else evolve(state, other=(state.other + 1) % 4)
        )

    text = error_of(counter_spec(count_up, restless))
    assert "restless() is not a pure function of the state" in text
    assert line_with(restless, "@action") in text


def test_an_action_that_changes_its_state_in_place_is_named_with_file_and_line(counter_spec: Make) -> None:
    @action(actor="nobody")
    def vandal(state: Counter) -> Counter | None:
        object.__setattr__(state, "count", state.count + 1)
        return state

    text = error_of(counter_spec(vandal))
    assert "vandal()" in text
    assert line_with(vandal, "object.__setattr__") in text


@pytest.mark.parametrize("engine", HERE)
def test_an_action_that_assigns_to_its_state_is_named_with_file_and_line(counter_spec: Make, engine: Engine) -> None:
    @action(actor="nobody")
    def assigner(state: Counter) -> Counter | None:
        state.count = 3
        return state

    text = error_of(counter_spec(assigner), engine)
    assert "assigner() raised FrozenInstanceError" in text
    assert line_with(assigner, "state.count = 3") in text


def test_an_action_that_keeps_a_part_of_the_state_is_named(counter_spec: Make) -> None:
    kept: list[Counter] = []

    @action(actor="nobody")
    def hoarder(state: Counter) -> Counter | None:
        kept.append(state)
        return evolve(kept[0], other=(kept[0].other + 1) % 4)

    text = error_of(counter_spec(count_up, hoarder))
    assert "hoarder()" in text
    assert __file__ in text


def test_a_spec_of_the_repository_is_met_by_both_engines() -> None:
    spec = load_spec(SPECS / "isr_agreement" / "two_brokers_agree_on_the_isr.toml")
    assert {check_spec(spec, engine).status for engine in HERE} == {MET}


def test_an_option_that_does_not_exist_or_that_an_engine_ignores_is_refused(make_spec: Callable[..., Spec]) -> None:
    with pytest.raises(TypeError, match="workrs"):
        check_spec(make_spec(), workrs=1)
    for engine, option in (
        (Engine.PYTHON, {"workers": 2}),
        (Engine.PYTHON, {"coverage": True}),
        (Engine.PYTHON, {"checkpoint": "somewhere"}),
        (Engine.LOCAL, {"partitions": 2}),
        (Engine.SPARK, {"workers": 2}),
    ):
        with pytest.raises(SpecError, match=f"{next(iter(option))} has no meaning with the engine {engine.value}; use"):
            check_spec(make_spec(), engine, **option)
