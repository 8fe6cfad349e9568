"""Rules are switched off one by one, and the fate of each is reported and compared with the spec's declarations."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path

import attrs
import pytest
from click.testing import Result

from highwater import SpecError, Verdict, api
from highwater.claims.changed_rules import changed, changes_of, unjudged
from highwater.claims.mutation import Fate, Mutation, mutate
from highwater.claims.repairing import repair
from highwater.claims.spec import load_spec
from highwater.explorer.verdict import Budget
from highwater.model.language.declarations import action, invariant
from highwater.model.language.definition import Definition, Model, NoToggles
from highwater.model.language.domain import Integers
from highwater.model.language.records import evolve, within
from tests.outcomes import findings

Run = Callable[..., Result]
Write = Callable[..., Path]


class Speed(Enum):
    """How far a step goes."""

    SLOW = "slow"
    FAST = "fast"
    WILD = "wild"


@attrs.frozen
class Rules:
    """`stops` keeps the counter below 4, `ignored` does nothing, `even` keeps it even without anybody caring."""

    stops: bool = True
    ignored: bool = False
    even: bool = True
    loud: bool = attrs.field(default=False, metadata={"meaning": "configuration: how it sounds"})
    speed: Speed = Speed.SLOW


@attrs.frozen
class Count:
    value: int = within(Integers(0, 20))


@action(actor="counter")
def step(state: Count, protocol: Rules) -> Count | None:
    by = {Speed.SLOW: 2, Speed.FAST: 4, Speed.WILD: 100}[protocol.speed] if protocol.even else 1
    if protocol.stops and state.value + by > 4:
        return None
    return None if state.value >= 8 else evolve(state, value=state.value + by)


@invariant()
def stays_small(state: Count) -> bool:
    return state.value <= 4


@invariant()
def stays_even(state: Count) -> bool:
    return state.value % 2 == 0


@attrs.frozen
class NoBounds:
    """Nothing is bounded."""


def define(protocol: Rules) -> Definition:
    if protocol.speed is Speed.WILD:
        raise SystemExit("too wild")
    return Definition(NoBounds, Count, lambda bounds: [Count(0)], (step,), properties=(stays_small, stays_even))


MODEL = Model("counter", "Counts.", Rules, define)


def fates(**keys: object) -> list[Mutation]:
    spec = api.claim(**{"model": MODEL, "bounds": {}, "check": ["stays_small"], **keys})
    return list(mutate(spec, workers=1)[1])


@attrs.frozen
class Lagging:
    """`lags`: what is read is what the step before has written."""

    lags: bool = False


@attrs.frozen
class Written:
    value: int = within(Integers(0, 3))
    read: int = within(Integers(0, 3))


@action(actor="writer")
def write(state: Written, protocol: Lagging) -> Written | None:
    if state.value == 3:
        return None
    return evolve(state, value=state.value + 1, read=state.value if protocol.lags else state.value + 1)


@invariant()
def what_is_read_was_written(state: Written) -> bool:
    return state.read <= state.value


def lagging(protocol: Lagging) -> Definition:
    return Definition(
        NoBounds, Written, lambda bounds: [Written(0, 0)], (write,), properties=(what_is_read_was_written,)
    )


def test_as_many_other_states_are_an_effect() -> None:
    (found,) = fates(model=Model("lag", "Reads.", Lagging, lagging), check=["what_is_read_was_written"])
    assert found.fate is Fate.UNDEFENDED
    assert found.why.startswith("as many states and steps, but not the same ones")


def test_each_other_value_of_each_toggle_is_a_mutation_with_its_fate() -> None:
    found = {each.key: (each.fate, each.ok) for each in fates()}
    assert found == {
        "stops=false": (Fate.CAUGHT, True),
        "ignored=true": (Fate.NO_EFFECT, True),
        "even=false": (Fate.UNDEFENDED, False),
        "speed=fast": (Fate.UNDEFENDED, False),
        "speed=wild": (Fate.REFUSED, True),
    }
    caught = fates()[0]
    assert caught.violation is not None
    assert (caught.violation.property, caught.violation.trace_length) == ("stays_small", 3)


def test_another_property_may_defend_a_rule() -> None:
    assert {each.key: each.fate for each in fates(check=["stays_small", "stays_even"])}["even=false"] is Fate.CAUGHT


@pytest.mark.parametrize("every", [False, True])
def test_a_property_of_ones_own_defends_a_rule_whether_or_not_the_models_do_so_too(*, every: bool) -> None:
    model = Model("small", "", Rules, lambda protocol: attrs.evolve(define(protocol), properties=(stays_small,)))
    spec = api.claim(model=model, bounds={}, check=[stays_even])
    (found,) = mutate(spec, workers=1, rules=["even"], every_property=every)[1]
    assert (found.fate, found.why) == (Fate.CAUGHT, "stays_even after 1 step")


def test_the_property_is_the_one_of_the_changed_protocol() -> None:
    """Where a rule is what the property allows, setting it otherwise is caught."""

    def strict(protocol: Rules) -> Definition:
        @invariant()
        def stays_small(state: Count) -> bool:
            return state.value <= (2 if protocol.ignored else 4)

        return attrs.evolve(define(protocol), properties=(stays_small,))

    spec = api.claim(model=Model("strict", "", Rules, strict), bounds={}, check=["stays_small"])
    for every in (False, True):
        (found,) = mutate(spec, workers=1, rules=["ignored"], every_property=every)[1]
        assert (found.fate, found.why) == (Fate.CAUGHT, "stays_small after 2 steps")


@pytest.mark.slow
def test_a_rule_that_no_path_reads_is_not_switched_off_in_a_search_and_one_would_find_the_same() -> None:
    (unread,) = (each for each in fates() if each.key == "ignored=true")
    assert unread.why == "nothing that runs within these bounds reads it"
    spec = load_spec(Path("gallery:truncating_on_fetch_keeps_committed_records"))
    base, found = mutate(spec, workers=1)
    outcomes = {each.key: each.outcome for each in found}
    unsearched = [change for change in changes_of(spec) if outcomes[change.key] is base.outcome]
    assert len(unsearched) > 40
    for change in unsearched[::8]:
        again = unjudged(spec.under(changed(spec.protocol, [change])), workers=1)
        assert findings(again.outcome, "audit") == findings(base.outcome, "audit"), change.key


def test_a_rule_under_which_no_system_can_be_built_leaves_its_mutation_unknown() -> None:
    def define_initial(protocol: Rules) -> Definition:
        return attrs.evolve(define(protocol), initial_states=lambda bounds: [Count(0)] * (1 // protocol.stops))

    (found,) = fates(model=Model("breaks", "", Rules, define_initial))[:1]
    assert (found.key, found.fate) == ("stops=false", Fate.UNKNOWN)
    assert "ZeroDivisionError" in found.why


def test_a_wrongly_declared_fate_is_not_ok() -> None:
    found = {
        each.key: each.ok
        for each in fates(mutate={"undefended": ["ignored=true", "even=false", "stops=false", "speed=fast"]})
    }
    assert found == {
        "stops=false": False,
        "ignored=true": True,
        "even=false": True,
        "speed=fast": True,
        "speed=wild": True,
    }


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"mutate": {"undefended": ["sped=fast"]}},
            "is no mutation of this protocol; allowed are stops=false, ignored=true",
        ),
        ({"protocol": {"stops": False}, "expect": {"verdict": "violated"}}, "its verdict is violated"),
        ({"mutate": {"undefined": []}}, "mutate.undefined: unknown key"),
    ],
)
def test_invalid_keys_for_mutation_are_refused(keys: dict, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        fates(**keys)


def test_a_protocol_without_toggles_has_no_rule_to_switch_off() -> None:
    plain = Model("plain", "", NoToggles, lambda protocol: define(Rules()))
    with pytest.raises(SpecError, match="no rule that could be switched off"):
        mutate(api.claim(model=plain, bounds={}, check=["no_deadlock"]))


def test_rules_can_be_named() -> None:
    spec = api.claim(model=MODEL, bounds={}, check=["stays_small"])
    assert [each.key for each in mutate(spec, workers=1, rules=["speed"])[1]] == ["speed=fast", "speed=wild"]
    with pytest.raises(SpecError, match='"sped" is no rule of this protocol') as refused:
        mutate(spec, rules=["sped"])
    assert '(did you mean "speed"?); allowed are stops, ignored, even, speed' in str(refused.value)


@attrs.frozen
class Fragile:
    """`whole` keeps the step from failing, `shy` is refused where `whole` is given up."""

    whole: bool = True
    shy: bool = False

    def __attrs_post_init__(self) -> None:
        if self.shy:
            raise ValueError("shy of everything")


@action(actor="counter")
def fragile_step(state: Count, protocol: Fragile) -> Count | None:
    if not protocol.whole:
        raise KeyError("broken")
    return None if state.value >= 3 else evolve(state, value=state.value + 1)


def test_a_mutation_whose_search_fails_is_unknown_and_one_that_the_model_does_not_take_is_refused() -> None:
    fragile = Model("fragile", "Breaks.", Fragile, lambda p: attrs.evolve(define(Rules()), actions=(fragile_step,)))
    _, found = mutate(api.claim(model=fragile, bounds={}, check=["stays_small"]), workers=1)
    assert [(each.key, each.fate, each.why) for each in found] == [
        ("whole=false", Fate.UNKNOWN, "fragile_step() raised KeyError: 'broken'"),
        ("shy=true", Fate.REFUSED, "the model refuses it: shy of everything"),
    ]


def test_a_search_that_ran_out_is_unknown() -> None:
    spec = api.claim(
        model="reference",
        protocol={"variant": "kip-320"},
        check=["weak_isr"],
        bounds={"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 1},
    )
    _, found = mutate(spec, Budget(max_states=480), workers=1)
    assert Fate.UNKNOWN in {each.fate for each in found}


def test_the_command_prints_a_table_and_exits_by_the_declared_fates(
    highwater: Run, write_spec: Write, tmp_path: Path
) -> None:
    bounds = {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 1}
    report = tmp_path / "mutations.json"
    result = highwater("mutate", write_spec(bounds=bounds), "--json", report)
    assert result.exit_code == 1
    assert "kip-320 → truncate-to-high-watermark  caught         weak_isr after 8 steps" in result.stdout
    assert "1 of 4 mutations caught; 3 not as declared" in result.stdout
    assert '    undefended = [\n        "variant=kip-101",\n' in result.stdout
    data = json.loads(report.read_text(encoding="utf-8"))
    assert [each["fate"] for each in data] == ["caught", "undefended", "undefended", "undefended", "another model"]
    declared = [f"variant={each['after']}" for each in data if each["fate"] == "undefended"]
    declaring = write_spec(bounds=bounds, mutate={"undefended": declared})
    assert highwater("mutate", declaring).exit_code == 0
    assert highwater("check", declaring).exit_code == 0
    assert highwater("mutate", declaring, "--every-property").exit_code == 0
    stale = highwater(
        "mutate", write_spec(bounds=bounds, mutate={"undefended": [*declared, "variant=truncate-to-high-watermark"]})
    )
    assert stale.exit_code == 1
    assert '"variant=truncate-to-high-watermark" is declared undefended, but is caught' in stale.stdout
    assert (
        highwater("mutate", write_spec(bounds=bounds, mutate={"undefended": declared}), "--max-states", 480).exit_code
        == 3
    )


def test_no_rule_is_switched_off_in_a_spec_that_may_not_hold(highwater: Run, write_spec: Write) -> None:
    result = highwater("mutate", write_spec(), "--max-states", 10)
    assert (result.exit_code, result.stderr) == (3, "")
    assert result.stdout == "claim: ran out of max-states after 19 states as it is; no rule was switched off\n"


def test_a_spec_that_does_not_hold_is_refused(highwater: Run, write_spec: Write) -> None:
    result = highwater("mutate", write_spec(check=["leader_in_isr"], expect={"verdict": "violated"}))
    assert result.exit_code == 2
    assert "rules are switched off in a spec that holds; its verdict is violated" in result.stderr


def test_an_interrupt_keeps_the_results_so_far(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from highwater.claims import changed_rules

    real, report, calls = changed_rules.check_spec, tmp_path / "mutations.json", []

    def interrupted(*arguments: object, **options: object) -> object:
        result = real(*arguments, **options)
        calls.append(result)
        if len(calls) < 3:
            return result
        return attrs.evolve(
            result,
            outcome=attrs.evolve(result.outcome, reason="interrupted", verdict=Verdict.UNKNOWN, violations=()),
        )

    monkeypatch.setattr(changed_rules, "check_spec", interrupted)
    result = highwater("mutate", write_spec(), "--json", report)
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
    assert "1 of 1 mutations caught; 4 not tried" in result.stdout
    assert len(json.loads(report.read_text(encoding="utf-8"))) == 1


STEP = [1]


@action(actor="counter")
def step_by_a_global(state: Count) -> Count | None:
    return evolve(state, value=state.value + STEP[0]) if state.value < 4 else None


def define_by_a_global(protocol: Rules) -> Definition:
    if not (protocol.stops or protocol.even):
        raise ValueError("too loose")
    STEP[0] = 1 if protocol.even else 3
    return attrs.evolve(define(Rules()), actions=(step_by_a_global,))


def test_a_model_whose_definition_sets_what_functions_read_is_refused() -> None:
    """Nothing reads the rule, so that switching it off would be without effect."""
    claim = {"model": Model("global", "Counts.", Rules, define_by_a_global), "bounds": {}, "check": ["stays_small"]}
    holds, violated = api.claim(**claim), api.claim(**claim, protocol={"even": False})
    for start, spec in ((mutate, holds), (repair, violated)):
        with pytest.raises(SpecError, match="step_by_a_global reaches something that defining the model sets"):
            start(spec, workers=1)
    assert STEP == [3]
