"""`refines` in a spec: errors of wrong ones, and both traces side by side where a step does not fit."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from highwater import api

Run = Callable[..., Result]

TOYS = """
import attrs
from highwater.model.language.declarations import action, invariant
from highwater.model.language.definition import Definition, Model, NoToggles, toggle
from highwater.model.language.domain import Integers, SequenceOf
from highwater.model.language.records import bound, evolve, within

@attrs.frozen
class Most:
    most: int = bound(1, 9, "the most")

@attrs.frozen
class Counter:
    count: int = within(lambda bounds: Integers(0, bounds.most))

@attrs.frozen
class Rules:
    by_two: bool = toggle("whether two may come at once")

@action(actor="somebody", by=Integers(1, 2))
def add(counter, by, protocol):
    return evolve(counter, count=counter.count + by) if protocol.by_two or by == 1 else None

@attrs.frozen
class Pile:
    things: tuple[int, ...] = within(lambda bounds: SequenceOf(Integers(0, 1), bounds.most))
    turned: bool = within(bool)

@action(actor="hand", thing=Integers(0, 1))
def put(pile, thing):
    return evolve(pile, things=pile.things + (thing,))

@action(actor="hand")
def put_two(pile):
    return evolve(pile, things=pile.things + (0, 1)) if pile.turned and pile.things else None

@action(actor="hand")
def turn(pile):
    return evolve(pile, turned=not pile.turned)

@invariant()
def is_small(pile):
    return len(pile.things) < 9

def piles(first):
    return lambda protocol: Definition(
        Most, Pile, lambda bounds: first, (put, put_two, turn), properties=(is_small,))

def counters(protocol):
    return Definition(Most, Counter, lambda bounds: [Counter(0)], (add,))

COUNTER = Model("counter", "Counts.", Rules, counters,
    {"slow": Rules(by_two=False), "fast": Rules(by_two=True)})
PILE = Model("pile", "A pile.", NoToggles, piles([Pile((), False)]))
BEGUN = Model("begun", "A pile that is begun.", NoToggles, piles([Pile((), False), Pile((1,), False)]))

@attrs.frozen
class Epochs:
    epoch: int = within(lambda bounds: Integers(0, bounds.most, order="epochs"))
    seen: int = within(lambda bounds: Integers(0, bounds.most, order="epochs"))

@action(actor="leader")
def begin(epochs):
    return evolve(epochs, epoch=epochs.epoch + 1)

@action(actor="follower")
def see(epochs):
    return evolve(epochs, seen=epochs.epoch) if epochs.seen < epochs.epoch else None

EPOCHS = Model("epochs", "Epochs.", NoToggles, lambda protocol: Definition(
    Most, Epochs, lambda bounds: [Epochs(0, 0)], (begin, see), properties=(is_small,)))

@attrs.frozen
class Lag:
    behind: bool = within(bool)

@action(actor="follower")
def turn_over(lag):
    return Lag(not lag.behind)

LAG = Model("lag", "Behind or not.", NoToggles, lambda protocol: Definition(
    Most, Lag, lambda bounds: [Lag(False)], (turn_over,), properties=(is_small,)))

def behind(epochs):
    return Lag(epochs.seen < epochs.epoch)

def epoch(epochs):
    return Counter(epochs.epoch)

def size(pile):
    return Counter(len(pile.things))

def size_or_nothing(pile):
    return None if pile.turned else Counter(len(pile.things))

def sizes(pile):
    return Counter([0, 1][len(pile.things)])
"""
REFINES = {
    "model": "piles_and_counters:COUNTER",
    "map": "piles_and_counters:size",
    "preset": "slow",
    "bounds": {"most": 3},
}


@pytest.fixture
def claim(tmp_path: Path, write_spec: Callable[..., Path]) -> Callable[..., Path]:
    """Writes a claim that a pile refines a counter, beside the models; with other keys of `refines` as they are given,
    or without those that are None.
    """
    (tmp_path / "piles_and_counters.py").write_text(TOYS, encoding="utf-8")

    def write(model: str = "PILE", keys: dict[str, Any] | None = None, **more: Any) -> Path:
        refines = {key: value for key, value in (REFINES | (keys or {})).items() if value is not None}
        own = {
            "model": f"piles_and_counters:{model}",
            "protocol": None,
            "bounds": {"most": 3},
            "check": None,
            "refines": refines,
        }
        return write_spec(**(own | more))

    return write


@pytest.mark.parametrize("engine", ["local", "python"])
def test_a_step_that_no_action_of_the_abstract_model_does_is_shown_beside_what_it_does(
    highwater: Run, claim: Callable[..., Path], tmp_path: Path, engine: str
) -> None:
    expect = {"verdict": "violated", "property": "refines_counter", "trace_length": 3}
    report = tmp_path / "report.json"
    result = highwater("check", claim(expect=expect), "--engine", engine, "--json", report)
    assert result.exit_code == 0, result.output
    assert [line.strip() for line in result.stdout.splitlines() if "counter" in line] == [
        "violated: refines_counter after 3 steps (as claimed)",
        "counter  Counter(count 0)",
        "counter  add(by 1): count 0 → 1",
        "counter  nothing changes",
        "counter  no such step: count 1 → 3",
        "refines_counter is false: no step of counter does this: count 1 → 3; add(by 1) leads to count 2",
    ]
    (entry,) = json.loads(report.read_text())["results"]
    assert [(step["action"], step["fits"], step["state"]) for step in entry["abstract"]] == [
        (None, True, {"count": 0}),
        ("add", True, {"count": 1}),
        (None, True, {"count": 1}),
        (None, False, {"count": 3}),
    ]


def test_the_page_and_the_lanes_show_the_abstract_model_in_a_lane_of_its_own(
    highwater: Run, claim: Callable[..., Path], tmp_path: Path
) -> None:
    report, page = tmp_path / "report.json", tmp_path / "page.html"
    highwater("check", claim(), "--json", report)
    lanes = highwater("trace", report, "--model-path", tmp_path).stdout.splitlines()
    assert lanes[1].split() == ["step", "state", "hand", "counter"]
    assert [line.partition("+add")[2] for line in lanes if "+add" in line] == [" 1 +count 1"]
    assert any(line.endswith("+no such step +count 3 false") for line in lanes)
    assert highwater("trace", report, "--model-path", tmp_path, "--html", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "nothing changes" in text and "no such step" in text
    assert highwater("trace", report, "--model-path", tmp_path, "--replay").exit_code == 0


def test_a_report_whose_abstract_trace_was_changed_does_not_replay(
    highwater: Run, claim: Callable[..., Path], tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    highwater("check", claim(), "--json", report)
    data = json.loads(report.read_text())
    data["results"][0]["abstract"][3]["fits"] = True
    report.write_text(json.dumps(data))
    result = highwater("trace", report, "--model-path", tmp_path, "--replay")
    assert result.exit_code == 2
    assert "abstract: should be" in result.stderr


def test_a_refinement_that_holds_is_named_with_what_else_is_checked(highwater: Run, claim: Callable[..., Path]) -> None:
    result = highwater("check", claim(keys={"preset": "fast"}, check=["is_small"]))
    assert result.exit_code == 0, result.output
    assert "holds within these bounds: is_small, refines_counter" in result.stdout
    assert "never ran" not in result.stdout


@pytest.mark.parametrize("engine", ["local", "python"])
def test_an_initial_state_that_is_mapped_to_none_is_a_violation_without_a_step(
    highwater: Run, claim: Callable[..., Path], engine: str
) -> None:
    expect = {"verdict": "violated", "property": "begins_as_counter", "trace_length": 0}
    result = highwater("check", claim("BEGUN", expect=expect), "--engine", engine)
    assert result.exit_code == 0, result.output
    assert "begins_as_counter is false: no initial state of counter: Counter(count 1)" in result.stdout


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"model": "countr"}, 'refines.model: "countr" is not one of the models'),
        ({"model": None}, "refines.model: is missing; allowed are reference, "),
        ({"map": None}, "refines.map: is missing; allowed are package.module:function"),
        ({"map": "size"}, 'refines.map: "size" is not of the form "package.module:NAME"'),
        (
            {"map": "piles_and_counters:sise"},
            'refines.map: piles_and_counters has no sise (did you mean "size"?); allowed are ',
        ),
        ({"map": "piles_and_counters:COUNTER"}, "refines.map: COUNTER in piles_and_counters is a Model, no function"),
        ({"map": "nowhere:size"}, "refines.map: there is no module nowhere; name its folder with --model-path"),
        ({"preset": "quick"}, 'refines.preset: "quick" is not one of the presets of this model'),
        ({"preset": None}, "refines.preset: is missing; allowed are slow, fast"),
        ({"protocol": {"by_two": 3}}, "refines.protocol.by_two: 3 is not true or false"),
        ({"bounds": {}}, "refines.bounds.most: is missing; allowed are 1..9 (the most)"),
        ({"bounds": {"most": 0}}, "refines.bounds.most: 0 is out of range; allowed are 1..9 (the most)"),
        ({"bounds": {"most": 3, "least": 1}}, "refines.bounds.least: unknown key; allowed are most"),
        ({"bound": {}}, 'refines.bound: unknown key (did you mean "bounds"?); allowed are model, map, bounds'),
        (
            {"map": "piles_and_counters:size_or_nothing"},
            "refines.map: size_or_nothing returned what is no state of counter: None is",
        ),
        ({"map": "piles_and_counters:sizes"}, "refines_counter() raised IndexError: list index out of range; at "),
        ({"bounds": {"most": 2}}, "refines.bounds: most of counter is too small for what size returned: Counter(count"),
    ],
)
def test_an_invalid_refinement_is_refused_in_one_line(
    highwater: Run, claim: Callable[..., Path], keys: dict[str, Any], problem: str
) -> None:
    path = claim(keys={"preset": "fast"} | keys)
    result = highwater("check", path, "--engine", "python")
    assert result.exit_code == 2
    lines = [line for line in result.stderr.splitlines() if line.startswith(("highwater: ", str(path)))]
    assert len(lines) == 1 and re.search(rf"{path}:(\d+:\d+:)? {re.escape(problem)}", lines[0]), result.stderr


@pytest.mark.parametrize("engine", ["local", "python"])
def test_a_refinement_may_be_claimed_for_any_number_of_epochs(
    highwater: Run, claim: Callable[..., Path], engine: str
) -> None:
    expect = {"verdict": "holds", "distinct_states": 2, "any_number_of": ["epochs"]}
    keys = {"model": "piles_and_counters:LAG", "map": "piles_and_counters:behind", "preset": None}
    result = highwater("check", claim("EPOCHS", keys, by_order=["epochs"], expect=expect), "--engine", engine)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("engine", ["local", "python"])
def test_a_map_passes_on_no_number_of_which_only_the_order_matters(
    highwater: Run, claim: Callable[..., Path], engine: str
) -> None:
    result = highwater(
        "check", claim("EPOCHS", {"map": "piles_and_counters:epoch"}, by_order=["epochs"]), "--engine", engine
    )
    assert result.exit_code == 2
    assert "refines_counter looks at more than the order of epochs" in result.stderr


def test_in_python_the_map_and_the_abstract_model_may_be_given_as_themselves(
    claim: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim()
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("piles_and_counters")
    refines = {"model": own.COUNTER, "map": own.size, "preset": "slow", "bounds": {"most": 3}}
    found = api.check(api.claim(model=own.PILE, bounds={"most": 3}, refines=refines), engine="python")
    assert found.violation is not None and found.violation.property == "refines_counter"


def test_refines_is_a_table(highwater: Run, claim: Callable[..., Path]) -> None:
    result = highwater("check", claim(refines=3))
    assert result.exit_code == 2
    assert "refines: 3 is not a table such as" in result.stderr


@pytest.mark.slow
def test_on_spark_a_refinement_is_judged_as_by_the_local_engine(
    highwater: Run, claim: Callable[..., Path], tmp_path: Path, spark: Any
) -> None:
    reports = {engine: tmp_path / f"{engine}.json" for engine in ("local", "spark")}
    for engine, at in reports.items():
        highwater("check", claim(), "--engine", engine, "--json", at)
    entries = {engine: json.loads(at.read_text())["results"][0] for engine, at in reports.items()}
    differ = {key for key, value in entries["local"].items() if entries["spark"][key] != value}
    assert differ <= {"seconds", "compile_seconds", "compiled_paths", "memory_bytes", "work"}
    assert entries["spark"]["violated"] == {"refines_counter": 3}
