"""Spec files: good ones resolve every name, wrong ones are refused with the file, the key and the allowed values."""

from __future__ import annotations

import copy
import datetime
import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from highwater.claims.keys import Expectation
from highwater.claims.spec import Spec, SpecError, find_specs, load_spec
from highwater.explorer.verdict import Verdict
from highwater.invariants import reference
from highwater.model.catalogue import MODELS
from highwater.model.language.definition import toggle
from highwater.model.reference.async_isr import Agreement, AsyncIsrBounds
from highwater.model.reference.state import Cluster, ReferenceBounds, ReferenceProtocol, Variant

BOUNDS = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}
ASYNC_BOUNDS = {"brokers": 2, "offset_max": 2, "version_max": 1}
ASYNC = {"protocol": {"variant": "async-isr"}, "bounds": ASYNC_BOUNDS, "check": ["valid_high_watermark"]}
VARIANTS = [variant.value for variant in Variant]
VIOLATED = {"verdict": "violated"}
GOOD: dict[str, Any] = {
    "model": "reference",
    "protocol": {"variant": "kip-320"},
    "bounds": BOUNDS,
    "check": ["weak_isr", "no_deadlock"],
    "expect": {
        "verdict": "violated",
        "property": "weak_isr",
        "trace_length": 3,
        "distinct_states": 4,
        "generated": 6,
        "depth": 5,
    },
    "max_depth": 9,
    "source": "a book",
}

Write = Callable[..., Path]


def refusal(path: Path) -> list[str]:
    """The lines of the error that loading a wrong spec gives. Each names the file, and the place, which is left out."""
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    lines = str(caught.value).splitlines()
    assert lines
    at = re.compile(rf"{re.escape(str(path))}(:\d+:\d+)?: ")
    assert all(map(at.match, lines))
    return [at.sub(f"{path}: ", line) for line in lines]


def only_refusal(path: Path) -> str:
    lines = refusal(path)
    assert len(lines) == 1, lines
    return lines[0]


def without(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


# --- good specs


def test_a_good_spec_resolves_its_model_protocol_bounds_and_properties(write_spec: Write) -> None:
    path = write_spec("two_brokers.toml", check=["weak_isr", "elected_leader_in_isr"], source="a book")
    spec = load_spec(path)
    assert (spec.name, spec.path) == ("two_brokers", path)
    assert spec.protocol == ReferenceProtocol(Variant.KIP_320)
    assert spec.bounds == ReferenceBounds(brokers=2, log_length_max=1, records_max=1, leader_epoch_max=1)
    assert spec.definition.state is Cluster
    assert spec.definition.bounds is ReferenceBounds
    assert spec.properties == (reference.weak_isr, reference.elected_leader_in_isr)
    assert not spec.check_deadlock
    assert spec.file.source == "a book"
    assert spec.file.max_depth is None


def test_a_good_spec_gives_the_system_that_it_speaks_of(write_spec: Write) -> None:
    spec = load_spec(write_spec())
    system = spec.system()
    assert system.domain.cls is Cluster
    assert len(system.initial) == 1
    assert {action.of for action in system.actions} == set(spec.definition.actions)
    assert [str(invariant) for invariant in system.invariants] == ["weak_isr(leader b0)", "weak_isr(leader b1)"]


def test_every_key_that_is_given_is_kept(write_spec: Write) -> None:
    spec = load_spec(write_spec(**GOOD))
    assert spec.file.expect == Expectation(Verdict.VIOLATED, "weak_isr", 3, 4, 6, 5)
    assert spec.file.max_depth == 9
    assert spec.properties == (reference.weak_isr,)
    assert spec.check_deadlock


def test_a_spec_without_a_verdict_claims_that_its_properties_hold(write_spec: Write) -> None:
    assert load_spec(write_spec()).file.expect == Expectation(Verdict.HOLDS, None, None, None, None)
    assert load_spec(write_spec(expect={})).file.expect.verdict is Verdict.HOLDS
    assert load_spec(write_spec(expect={"distinct_states": 5})).file.expect == Expectation(
        Verdict.HOLDS, distinct_states=5
    )


@pytest.mark.parametrize("name", ["weak_isr", "WeakIsr", "weak-isr", "weakIsr", "WEAK_ISR", "Weak-Isr"])
def test_a_property_may_be_written_in_any_case_and_with_dashes(write_spec: Write, name: str) -> None:
    spec = load_spec(write_spec(check=[name], expect={**VIOLATED, "property": name}))
    assert spec.properties == (reference.weak_isr,)
    assert spec.file.expect.property == "weak_isr"


@pytest.mark.parametrize("name", ["no_deadlock", "NoDeadlock", "no-deadlock"])
def test_no_deadlock_may_be_written_in_any_case_and_with_dashes(write_spec: Write, name: str) -> None:
    spec = load_spec(write_spec(check=[name], expect={**VIOLATED, "property": name}))
    assert spec.properties == ()
    assert spec.check_deadlock
    assert spec.file.expect.property == "no_deadlock"


def test_a_property_that_is_named_twice_is_checked_once(write_spec: Write) -> None:
    assert load_spec(write_spec(check=["weak_isr", "WeakIsr", "weak_isr"])).properties == (reference.weak_isr,)


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "async-isr"])
def test_every_variant_of_the_family_loads_with_the_same_bounds(write_spec: Write, variant: str) -> None:
    spec = load_spec(write_spec(protocol={"variant": variant}))
    assert spec.protocol == ReferenceProtocol(Variant(variant))


def test_async_isr_takes_its_own_bounds_and_properties(write_spec: Write) -> None:
    spec = load_spec(write_spec(**ASYNC))
    assert spec.bounds == AsyncIsrBounds(brokers=2, offset_max=2, version_max=1)
    assert spec.definition.state is Agreement
    assert spec.properties == (reference.valid_high_watermark,)


def test_holds_to_depth_can_be_claimed_with_a_depth(write_spec: Write) -> None:
    file = load_spec(write_spec(expect={"verdict": "holds-to-depth"}, max_depth=0)).file
    assert (file.expect.verdict, file.max_depth) == (Verdict.HOLDS_TO_DEPTH, 0)


@pytest.mark.parametrize("key", sorted(ReferenceBounds.__annotations__))
@pytest.mark.parametrize("end", ["low", "high"])
def test_the_ends_of_a_bounds_range_are_allowed(write_spec: Write, key: str, end: str) -> None:
    value = next(field for field in ReferenceBounds.__attrs_attrs__ if field.name == key).metadata[end]
    assert getattr(load_spec(write_spec(bounds={**BOUNDS, key: value})).bounds, key) == value


# --- wrong keys


def test_a_misspelt_top_level_key_is_named_with_the_right_one(write_spec: Write) -> None:
    line = only_refusal(write_spec(sauce="a book"))
    assert "sauce: unknown key" in line
    assert 'did you mean "source"?' in line
    assert "allowed are model, bounds, check, preset, protocol, expect, by_order, max_depth, source" in line


def test_an_unknown_key_that_is_like_no_other_gets_no_guess(write_spec: Write) -> None:
    line = only_refusal(write_spec(zzzzzz=1))
    assert "zzzzzz: unknown key; allowed are" in line


@pytest.mark.parametrize("key", ["model", "bounds", "check"])
def test_a_missing_top_level_key_is_named(write_spec: Write, key: str) -> None:
    assert f"{key}: is missing" in only_refusal(write_spec(**{key: None}))


def test_a_missing_model_is_reported_with_the_models_that_there_are(write_spec: Write) -> None:
    line = only_refusal(write_spec(model=None))
    assert "reference" in line.split(": is missing")[1]


def test_a_missing_protocol_is_reported_with_the_variants_that_there_are(write_spec: Write) -> None:
    line = only_refusal(write_spec(protocol=None))
    assert "protocol.variant: is missing" in line
    assert all(variant in line for variant in VARIANTS)


def test_a_misspelt_bounds_key_is_named_with_the_right_one(write_spec: Write) -> None:
    lines = refusal(write_spec(bounds={**without(BOUNDS, "brokers"), "broker": 2}))
    assert any("bounds.brokers: is missing; allowed are 1..7" in line for line in lines)
    unknown = next(line for line in lines if "bounds.broker: unknown key" in line)
    assert 'did you mean "brokers"?' in unknown
    assert "allowed are brokers, log_length_max, records_max, leader_epoch_max" in unknown


@pytest.mark.parametrize("key", sorted(BOUNDS))
def test_a_missing_bounds_key_is_named_with_its_range(write_spec: Write, key: str) -> None:
    line = only_refusal(write_spec(bounds=without(BOUNDS, key)))
    assert f"bounds.{key}: is missing; allowed are " in line
    assert ".." in line


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("brokers", 0, "1..7"),
        ("brokers", 10**9, "1..7"),
        ("brokers", -1, "1..7"),
        ("brokers", 8, "1..7"),
        ("log_length_max", 0, "1..15"),
        ("log_length_max", 10**9, "1..15"),
        ("records_max", 0, "1..63"),
        ("records_max", 10**9, "1..63"),
        ("leader_epoch_max", -1, "0..31"),
        ("leader_epoch_max", 10**9, "0..31"),
        ("brokers", 10**30, "1..7"),
    ],
)
def test_a_bound_out_of_range_is_named_with_its_range(write_spec: Write, key: str, value: int, allowed: str) -> None:
    line = only_refusal(write_spec(bounds={**BOUNDS, key: value}))
    assert f"bounds.{key}: {value} is out of range; allowed are {allowed} (" in line


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("two", '"two"'),
        ("2", '"2"'),
        (2.0, "2.0"),
        (float("inf"), "inf"),
        (True, "true"),
        (False, "false"),
        ([2], "[2]"),
    ],
)
def test_a_bound_that_is_not_a_whole_number_is_named(write_spec: Write, value: Any, shown: str) -> None:
    line = only_refusal(write_spec(bounds={**BOUNDS, "brokers": value}))
    assert f"bounds.brokers: {shown} is not a whole number" in line


def test_a_bound_that_is_not_a_whole_number_is_reported_with_its_range(write_spec: Write) -> None:
    assert "1..7" in only_refusal(write_spec(bounds={**BOUNDS, "brokers": "two"}))


@pytest.mark.parametrize("value", ["small", 3, [1], True, [{"brokers": 2}]])
def test_bounds_that_are_not_a_table_are_refused(write_spec: Write, value: Any) -> None:
    line = only_refusal(write_spec(bounds=value))
    assert ": bounds: " in line
    assert "is not a table" in line


def test_async_isr_refuses_the_bounds_of_the_others(write_spec: Write) -> None:
    lines = refusal(write_spec(protocol={"variant": "async-isr"}, check=["valid_high_watermark"]))
    for key in ("offset_max", "version_max"):
        assert any(f"bounds.{key}: is missing; allowed are" in line for line in lines)
    for key in ("log_length_max", "records_max", "leader_epoch_max"):
        line = next(line for line in lines if f"bounds.{key}: unknown key" in line)
        assert "allowed are brokers, offset_max, version_max" in line


def test_the_others_refuse_the_bounds_of_async_isr(write_spec: Write) -> None:
    lines = refusal(write_spec(bounds=ASYNC_BOUNDS))
    for key in ("offset_max", "version_max"):
        line = next(line for line in lines if f"bounds.{key}: unknown key" in line)
        assert "allowed are brokers, log_length_max, records_max, leader_epoch_max" in line
    for key in ("log_length_max", "records_max", "leader_epoch_max"):
        assert any(f"bounds.{key}: is missing; allowed are" in line for line in lines)


def test_the_range_of_a_bound_is_that_of_the_variant(write_spec: Write) -> None:
    assert "1..7" in only_refusal(write_spec(bounds={**BOUNDS, "brokers": 9}))
    assert "1..5" in only_refusal(write_spec(**{**ASYNC, "bounds": {**ASYNC_BOUNDS, "brokers": 6}}))


# --- wrong names


def test_an_unknown_model_is_named_with_the_models_that_there_are(write_spec: Write) -> None:
    line = only_refusal(write_spec(model="referense"))
    assert 'model: "referense" is not one of the models (did you mean "reference"?); allowed are reference' in line


@pytest.mark.parametrize("value", [3, True, ["reference"], {"name": "reference"}])
def test_a_model_that_is_not_text_is_refused(write_spec: Write, value: Any) -> None:
    assert "is not a text" in only_refusal(write_spec(model=value))


def test_an_unknown_variant_is_named_with_the_variants_that_there_are(write_spec: Write) -> None:
    line = only_refusal(write_spec(protocol={"variant": "kip-321"}))
    assert 'protocol.variant: "kip-321" is not allowed (did you mean "kip-320"?)' in line
    assert all(variant in line for variant in VARIANTS)


@pytest.mark.parametrize("value", [320, 3.2, True, ["kip-320"], {"name": "kip-320"}])
def test_a_variant_that_is_not_text_is_refused(write_spec: Write, value: Any) -> None:
    line = only_refusal(write_spec(protocol={"variant": value}))
    assert ": protocol.variant: " in line
    assert all(variant in line for variant in VARIANTS)


def test_an_unknown_toggle_is_named(write_spec: Write) -> None:
    line = only_refusal(write_spec(protocol={"variant": "kip-320", "varient": "kip-320"}))
    assert 'protocol.varient: unknown key (did you mean "variant"?); allowed are variant' in line


@pytest.mark.parametrize("value", ["kip-320", 3, ["kip-320"], [{"variant": "kip-320"}]])
def test_a_protocol_that_is_not_a_table_is_refused(write_spec: Write, value: Any) -> None:
    line = only_refusal(write_spec(protocol=value))
    assert ": protocol: " in line
    assert "is not a table such as { name = value }" in line


def test_an_unknown_property_is_named_with_the_properties_of_the_model(write_spec: Write) -> None:
    line = only_refusal(write_spec(check=["weak_irs"]))
    assert 'check: "weak_irs" is not one of the properties' in line
    assert 'did you mean "weak_isr"?' in line
    for name in ("weak_isr", "strong_isr", "elected_leader_in_isr", "no_deadlock"):
        assert name in line.split("allowed are")[1]


@pytest.mark.parametrize(
    ("name", "meant"), [("WeakIsrs", "weak_isr"), ("STRONG-IRS", "strong_isr"), ("LeaderInISRs", "leader_in_isr")]
)
def test_a_guess_is_made_whatever_the_case_and_the_dashes(write_spec: Write, name: str, meant: str) -> None:
    assert f'did you mean "{meant}"?' in only_refusal(write_spec(check=[name]))


def test_a_misspelt_no_deadlock_is_guessed(write_spec: Write) -> None:
    assert 'did you mean "no_deadlock"?' in only_refusal(write_spec(check=["no_deadlok"]))


def test_a_property_of_another_model_is_unknown(write_spec: Write) -> None:
    assert 'check: "valid_high_watermark" is not one of the properties' in only_refusal(
        write_spec(check=["valid_high_watermark"])
    )
    line = only_refusal(write_spec(**{**ASYNC, "check": ["weak_isr"]}))
    assert "allowed are valid_high_watermark, no_deadlock" in line


def test_an_empty_list_of_properties_is_refused_with_the_properties_that_there_are(write_spec: Write) -> None:
    line = only_refusal(write_spec(check=[]))
    assert "check: names no property; allowed are weak_isr, " in line
    assert line.endswith("no_deadlock")


@pytest.mark.parametrize("value", ["weak_isr", 3, True, {"weak_isr": True}, [1], [["weak_isr"]], ["weak_isr", 1]])
def test_a_check_that_is_not_a_list_of_texts_is_refused(write_spec: Write, value: Any) -> None:
    line = only_refusal(write_spec(check=value))
    assert ": check: " in line
    assert "is not a list of texts" in line


# --- wrong claims


def test_an_unknown_key_of_a_claim_is_named(write_spec: Write) -> None:
    line = only_refusal(write_spec(expect={"vredict": "holds"}))
    assert 'expect.vredict: unknown key (did you mean "verdict"?)' in line
    assert "allowed are verdict, property, trace_length, distinct_states, generated, depth" in line


def test_a_wrong_verdict_is_named_with_those_that_there_are(write_spec: Write) -> None:
    line = only_refusal(write_spec(expect={"verdict": "violatet"}))
    assert (
        'expect.verdict: "violatet" is not allowed (did you mean "violated"?); allowed are holds, holds-to-depth, '
        "violated" in line
    )


def test_a_wrong_verdict_is_not_answered_with_one_that_cannot_be_claimed(write_spec: Write) -> None:
    assert "unknown" not in only_refusal(write_spec(expect={"verdict": "fine"}))


@pytest.mark.parametrize("value", [3, True, ["holds"], {"holds": True}])
def test_a_verdict_that_is_not_text_is_refused(write_spec: Write, value: Any) -> None:
    line = only_refusal(write_spec(expect={"verdict": value}))
    assert ": expect.verdict: " in line
    assert "allowed are holds, holds-to-depth, violated" in line


def test_the_verdict_unknown_cannot_be_claimed(write_spec: Write) -> None:
    line = only_refusal(write_spec(expect={"verdict": "unknown"}))
    assert 'expect.verdict: "unknown" cannot be claimed; allowed are holds, holds-to-depth, violated' in line


@pytest.mark.parametrize(
    "value", ["violated", 5, True, ["violated"], [], "", [{"verdict": "holds"}], datetime.date(2018, 7, 1)]
)
def test_a_claim_that_is_not_a_table_is_refused_in_our_words(write_spec: Write, value: Any) -> None:
    line = only_refusal(write_spec(expect=value))
    assert ": expect: " in line
    assert "is not a table" in line


@pytest.mark.parametrize("key", ["trace_length", "distinct_states", "generated", "depth"])
def test_a_negative_number_in_a_claim_is_refused(write_spec: Write, key: str) -> None:
    assert f"expect.{key}: -1 is below 0" in only_refusal(write_spec(expect={**VIOLATED, key: -1}))


@pytest.mark.parametrize("key", ["trace_length", "distinct_states", "generated", "depth"])
@pytest.mark.parametrize("value", [1.5, "three", True, [3]])
def test_a_claimed_number_that_is_not_a_whole_number_is_refused(write_spec: Write, key: str, value: Any) -> None:
    line = only_refusal(write_spec(expect={**VIOLATED, key: value}))
    assert f": expect.{key}: " in line
    assert "is not a whole number" in line


def test_a_claim_about_a_property_that_is_not_checked_is_refused(write_spec: Write) -> None:
    line = only_refusal(write_spec(check=["weak_isr", "no_deadlock"], expect={**VIOLATED, "property": "strong_isr"}))
    assert 'expect.property: "strong_isr" is not one of the checked properties' in line
    assert "weak_isr" in line.split("allowed are")[1]
    assert "no_deadlock" in line.split("allowed are")[1]


def test_a_claim_about_deadlocks_is_refused_where_deadlocks_are_not_checked(write_spec: Write) -> None:
    line = only_refusal(write_spec(check=["weak_isr"], expect={**VIOLATED, "property": "no_deadlock"}))
    assert 'expect.property: "no_deadlock" is not one of the checked properties' in line
    assert "no_deadlock" not in line.split("allowed are")[1]


def test_the_checked_properties_are_listed_in_the_same_order_on_every_run(write_spec: Write) -> None:
    check = ["weak_isr", "strong_isr", "leader_in_isr", "elected_leader_in_isr", "no_deadlock"]
    path = write_spec(check=check, expect={**VIOLATED, "property": "zzz"})
    program = """
import pathlib, sys
from highwater.claims import spec
try:
    spec.load_spec(pathlib.Path(sys.argv[1]))
except spec.SpecError as error:
    print(error)
"""
    answers = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        ran = subprocess.run(
            [sys.executable, "-c", program, path],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        answers.add(ran.stdout)
    assert len(answers) == 1


@pytest.mark.parametrize(
    "claim", [{"trace_length": 3}, {"property": "weak_isr"}, {"verdict": "holds", "trace_length": 3}]
)
def test_keys_of_a_violation_are_refused_in_other_claims(write_spec: Write, claim: dict[str, Any]) -> None:
    assert 'expect: property and trace_length can be claimed for verdict = "violated" only' in only_refusal(
        write_spec(expect=claim)
    )


def test_a_trace_length_is_refused_in_a_claim_to_a_depth(write_spec: Write) -> None:
    path = write_spec(expect={"verdict": "holds-to-depth", "trace_length": 3}, max_depth=4)
    assert 'can be claimed for verdict = "violated" only' in only_refusal(path)


def test_holds_to_depth_without_a_depth_is_refused(write_spec: Write) -> None:
    assert 'expect.verdict: "holds-to-depth" needs the key max_depth' in only_refusal(
        write_spec(expect={"verdict": "holds-to-depth"})
    )


def test_a_negative_depth_is_refused(write_spec: Write) -> None:
    assert "max_depth: -1 is below 0" in only_refusal(write_spec(max_depth=-1))


@pytest.mark.parametrize("value", ["five", 5.0, True])
def test_a_depth_that_is_not_a_whole_number_is_refused(write_spec: Write, value: Any) -> None:
    assert "is not a whole number" in only_refusal(write_spec(max_depth=value))


@pytest.mark.parametrize("value", [5, True, ["a book"]])
def test_a_source_that_is_not_text_is_refused(write_spec: Write, value: Any) -> None:
    assert ": source: " in only_refusal(write_spec(source=value))


# --- several problems at once


def test_every_wrong_key_of_a_file_is_reported_at_once(write_spec: Write) -> None:
    lines = refusal(
        write_spec(sauce="a book", check="weak_isr", max_depth="deep", expect={"verdict": "fine", "dept": 3})
    )
    for part in ("sauce: unknown key", "check: ", "max_depth: ", "expect.verdict: ", "expect.dept: unknown key"):
        assert any(part in line for line in lines), part
    assert len(lines) == 5


def test_every_wrong_bound_is_reported_at_once_and_once(write_spec: Write) -> None:
    lines = refusal(
        write_spec(bounds={"brokers": 0, "log_length_max": 1.5, "record_max": 1, "leader_epoch_max": 10**9})
    )
    for part in (
        "bounds.brokers: 0 is out of range",
        "bounds.log_length_max: 1.5 is not",
        "bounds.records_max: is missing",
        "bounds.record_max: unknown key",
        "bounds.leader_epoch_max: 1000000000 is out of range",
    ):
        assert any(part in line for line in lines), part
    assert len(lines) == 5


def test_every_unknown_property_is_reported_at_once(write_spec: Write) -> None:
    lines = refusal(write_spec(check=["weak_irs", "strong_isr", "leader_in_irs"]))
    assert any('"weak_irs"' in line for line in lines)
    assert any('"leader_in_irs"' in line for line in lines)


def test_wrong_bounds_and_unknown_properties_and_a_wrong_claim_are_reported_at_once(write_spec: Write) -> None:
    path = write_spec(bounds={**BOUNDS, "brokers": 0}, check=["weak_irs"], expect={**VIOLATED, "trace_length": -1})
    lines = refusal(path)
    for part in ("bounds.brokers: 0 is out of range", 'check: "weak_irs" is not', "expect.trace_length: -1 is below 0"):
        assert any(part in line for line in lines), part


def test_an_unknown_model_and_a_claim_that_contradicts_itself_are_reported_at_once(write_spec: Write) -> None:
    lines = refusal(write_spec(model="referense", expect={"verdict": "holds-to-depth"}))
    assert any("model: " in line for line in lines)
    assert any("needs the key max_depth" in line for line in lines)


def test_a_misspelt_key_and_an_unknown_variant_are_reported_at_once(write_spec: Write) -> None:
    lines = refusal(write_spec(sauce="a book", protocol={"variant": "kip-321"}))
    assert any("sauce: unknown key" in line for line in lines)
    assert any("protocol.variant: " in line for line in lines)


# --- what is no spec at all


def test_a_file_that_is_not_toml_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "claim.toml"
    path.write_text('model = "reference"\nbounds = {', encoding="utf-8")
    line = only_refusal(path)
    assert "is not TOML" in line
    assert "line 2" in line or "end of document" in line


def test_a_file_that_is_not_utf_8_is_refused_with_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "claim.toml"
    path.write_bytes(b'model = "\xff"\n')
    assert "is not UTF-8 text (invalid start byte at byte 9)" in only_refusal(path)


def test_a_number_with_thousands_of_digits_is_refused(write_spec: Write, tmp_path: Path) -> None:
    path = tmp_path / "claim.toml"
    text = write_spec("good.toml").read_text(encoding="utf-8")
    path.write_text(text.replace('"brokers" = 2', '"brokers" = ' + "9" * 5000), encoding="utf-8")
    refusal(path)


def test_a_hexadecimal_number_with_thousands_of_digits_is_refused(write_spec: Write, tmp_path: Path) -> None:
    path = tmp_path / "claim.toml"
    text = write_spec("good.toml").read_text(encoding="utf-8")
    path.write_text(text.replace('"brokers" = 2', '"brokers" = 0x' + "f" * 6000), encoding="utf-8")
    assert "bounds.brokers" in only_refusal(path)


def test_a_file_with_thousands_of_nested_lists_is_refused(write_spec: Write) -> None:
    path = write_spec()
    path.write_text(path.read_text(encoding="utf-8") + "x = " + "[" * 5000 + "]" * 5000 + "\n", encoding="utf-8")
    refusal(path)


def test_an_empty_file_lacks_every_key_that_has_no_default(tmp_path: Path) -> None:
    path = tmp_path / "claim.toml"
    path.write_text("", encoding="utf-8")
    assert [line.removeprefix(f"{path}: ").split(":")[0] for line in refusal(path)] == ["model", "bounds", "check"]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "No such file" in only_refusal(tmp_path / "nothing.toml")


def test_a_folder_is_not_a_spec(tmp_path: Path) -> None:
    assert "directory" in only_refusal(tmp_path).lower()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_refused(write_spec: Write) -> None:
    path = write_spec()
    path.chmod(0)
    assert "Permission denied" in only_refusal(path)


# --- finding specs


def test_specs_are_found_in_folders_below_folders_in_order_and_once(write_spec: Write, tmp_path: Path) -> None:
    b, a, deep = write_spec("b.toml"), write_spec("a.toml"), write_spec("folder/deep/c.toml")
    write_spec("folder/notes.txt")
    assert find_specs([tmp_path]) == [a, b, deep]
    assert find_specs([b, tmp_path, a, tmp_path]) == [b, a, deep]


def test_a_file_that_is_named_need_not_end_in_toml(write_spec: Write) -> None:
    path = write_spec("claim.txt")
    assert find_specs([path]) == [path]


def test_a_folder_without_specs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("", encoding="utf-8")
    with pytest.raises(SpecError, match="no specs in this folder") as caught:
        find_specs([tmp_path])
    assert str(tmp_path) in str(caught.value)
    assert ".toml" in str(caught.value)


def test_a_missing_path_is_refused(tmp_path: Path, write_spec: Write) -> None:
    missing = tmp_path / "nothing"
    with pytest.raises(SpecError, match="no such file or folder") as caught:
        find_specs([write_spec(), missing])
    assert str(missing) in str(caught.value)


def test_a_path_with_a_longer_name_than_any_file_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError):
        find_specs([tmp_path / ("a" * 300)])


# --- anything at all

KEYS = [
    "model",
    "protocol",
    "variant",
    "bounds",
    "brokers",
    "records_max",
    "check",
    "expect",
    "verdict",
    "property",
    "max_depth",
    "source",
]
SCALARS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["reference", "kip-101", "async-isr", "weak_isr", "valid_high_watermark"]),
    st.sampled_from(["holds", "holds-to-depth", "violated", "unknown"]),
    st.integers(-5, 40),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.booleans(),
    st.dates(min_value=datetime.date(1000, 1, 1)),
    st.times(),
    st.datetimes(min_value=datetime.datetime(1000, 1, 1)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=5)), inner, max_size=3),
    ),
    max_leaves=6,
)


@st.composite
def mutated(draw: Any) -> dict[str, Any]:
    """A good spec after one to three changes: a key dropped, renamed or added, or a value replaced."""
    start: dict[str, Any] = draw(st.sampled_from([GOOD, {**GOOD, **ASYNC, "expect": {}}]))
    data = copy.deepcopy(start)
    for _ in range(draw(st.integers(1, 3))):
        tables = [data, *(value for value in data.values() if isinstance(value, dict))]
        table = draw(st.sampled_from(tables))
        change = draw(st.sampled_from(["drop", "rename", "replace", "add"]))
        new_key = draw(st.one_of(st.sampled_from(KEYS), st.text(max_size=6)))
        if change == "add" or not table:
            table[new_key] = draw(VALUES)
            continue
        key = draw(st.sampled_from(sorted(table)))
        if change == "replace":
            table[key] = draw(VALUES)
        else:
            value = table.pop(key)
            if change == "rename":
                table[new_key] = value
    return data


thoroughly = settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


LEAKS = (
    "object has no attribute",
    "is not iterable",
    "unhashable",
    "unexpected keyword",
    "structuring",
    "<class",
)
"""Words of the machinery."""


@thoroughly
@example(data={**GOOD, "expect": []})
@given(data=mutated())
def test_a_mutated_spec_either_loads_or_is_refused_with_its_file_named_and_in_words_of_specs(
    data: dict[str, Any], as_toml: Callable[[dict[str, Any]], str], tmp_path: Path
) -> None:
    path = tmp_path / "mutated.toml"
    path.write_bytes(as_toml(data).encode("utf-8"))
    try:
        spec = load_spec(path)
    except SpecError as error:
        assert str(path) in str(error)
        assert "is not TOML" not in str(error)  # or the test does not test what it says
        assert not [leak for leak in LEAKS if leak in str(error)]
    else:
        assert isinstance(spec, Spec)
        assert spec.file.expect.verdict is not Verdict.UNKNOWN
        spec.system()


# --- presets


class Lock(Enum):
    NONE = "none"
    FAIR = "fair"


@attrs.frozen
class Rules:
    lock: Lock = toggle("how the door locks")
    alarm: bool = toggle("whether it rings")


@pytest.fixture
def with_presets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference model under a protocol with presets."""
    known = MODELS["reference"]
    presets = {"old": Rules(lock=Lock.NONE, alarm=False), "new-1.0": Rules(lock=Lock.FAIR, alarm=True)}
    define = functools.partial(known.define, ReferenceProtocol(Variant.KIP_320))
    monkeypatch.setitem(
        MODELS, "reference", attrs.evolve(known, protocol=Rules, define=lambda _: define(), presets=presets)
    )


@pytest.mark.usefixtures("with_presets")
class TestPresets:
    def test_a_preset_sets_every_toggle(self, write_spec: Write) -> None:
        assert load_spec(write_spec(protocol=None, preset="new-1.0")).protocol == Rules(lock=Lock.FAIR, alarm=True)

    def test_toggles_go_on_top_of_the_preset(self, write_spec: Write) -> None:
        assert load_spec(write_spec(protocol={"alarm": False}, preset="New_1.0")).protocol == Rules(
            lock=Lock.FAIR, alarm=False
        )

    def test_without_a_preset_every_toggle_must_be_given(self, write_spec: Write) -> None:
        assert load_spec(write_spec(protocol={"alarm": False, "lock": "none"})).protocol == Rules(
            lock=Lock.NONE, alarm=False
        )
        line = only_refusal(write_spec(protocol={"alarm": False}))
        assert "preset: is missing; allowed are old, new-1.0 (or give every toggle in protocol)" in line

    def test_an_unknown_preset_is_refused(self, write_spec: Write) -> None:
        line = only_refusal(write_spec(protocol=None, preset="new-1.1"))
        assert line.endswith('preset: "new-1.1" is not one of the presets of this model; allowed are old, new-1.0'), (
            "the rules of another release may differ"
        )
        assert '(did you mean "new-1.0"?)' in only_refusal(write_spec(protocol=None, preset="nwe-1.0"))

    @pytest.mark.parametrize(
        ("model", "preset", "hint"),
        [
            ("kraft", "kafka-4.2", "for Kafka 4.2 there is kafka-4.1 (from 4.1.1)"),
            ("partition", "kafka-4.3", "for Kafka 4.3 there is kafka-4.1 (from 4.1.0)"),
            ("partition", "kafka-4.0", "for Kafka 4.0 there are kafka-4.0.0 (from 4.0.0) and kafka-4.0.1 (from 4.0.1)"),
        ],
    )
    def test_a_preset_that_a_release_might_have_is_answered_with_those_that_speak_for_it(
        self, write_spec: Write, model: str, preset: str, hint: str
    ) -> None:
        lines = refusal(write_spec(model=model, protocol=None, preset=preset))
        (line,) = [line for line in lines if "preset:" in line]
        assert f'preset: "{preset}" is not one of the presets of this model; {hint}; allowed are ' in line

    def test_a_preset_that_is_not_text_is_refused(self, write_spec: Write) -> None:
        assert "preset: 3 is not a text" in "\n".join(refusal(write_spec(protocol=None, preset=3)))

    def test_an_unknown_toggle_or_value_on_top_of_a_preset_is_refused(self, write_spec: Write) -> None:
        assert "protocol.lock" in only_refusal(write_spec(protocol={"lock": "unfair"}, preset="old"))
        assert "protocol.bell: unknown key" in only_refusal(write_spec(protocol={"bell": True}, preset="old"))


def test_a_preset_for_a_model_without_presets_is_refused(write_spec: Write) -> None:
    assert "preset: the model reference has none" in only_refusal(write_spec(preset="kip-320"))


@pytest.mark.parametrize("bounds", [{"min_isr": 1}, {"min": {"insync": {"replicas": 1}}}, {"MIN_ISR": 1}])
def test_a_bound_that_operators_know_by_another_name_is_named(write_spec: Write, bounds: dict[str, Any]) -> None:
    lines = refusal(write_spec(model="partition", protocol=None, preset="kafka-4.1", bounds=bounds))
    (line,) = [line for line in lines if "unknown key" in line]
    assert '(did you mean "min_insync_replicas"?)' in line


def test_a_model_that_there_is_not_may_be_ones_own(write_spec: Write) -> None:
    lines = refusal(write_spec(model="lease"))
    assert any("; a model of your own is MODULE:NAME, such as lease:MODEL; allowed are " in line for line in lines)


def test_reports_name_a_property_as_its_model_does(write_spec: Write) -> None:
    assert load_spec(write_spec(check=["weakisr", "NoDeadlock"])).file.check == ("weak_isr", "no_deadlock")
