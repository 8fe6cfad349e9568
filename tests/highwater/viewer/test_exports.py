"""Exports: what other tools read must be what they expect, and mean what the trace means."""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import itf_py
import jsonschema
import networkx
import pytest

from highwater.claims.checking import check_spec
from highwater.claims.spec import load_spec
from highwater.explorer.search.graph_properties.lassos import lasso_at
from highwater.explorer.system import successor
from highwater.explorer.verdict import Step, by_hand
from highwater.model.language.graph_properties import eventually
from highwater.reports.results import as_data, entry_of
from highwater.viewer.exports import EXPORTS, dot, itf, mermaid, steps_csv
from highwater.viewer.index import counterexample_in
from highwater.viewer.showing import counterexample_of
from highwater.viewer.shown import Counterexample, Delivery
from tests.explorer.test_slices_of_lassos import (
    ACTIONS,
    count,
    is_blue,
    light_blue,
    note,
    switch_green,
    switch_red,
    system_of,
)

SPECS = Path(__file__).parents[3] / "specs"

# The Informal Trace Format as https://apalache-mc.org/docs/adr/015adr-trace.html describes it.
EXPRESSIONS: dict[str, Any] = {
    "expression": {
        "anyOf": [
            {"type": "string"},
            {"type": "boolean"},
            {"type": "integer", "minimum": -(2**53) + 1, "maximum": 2**53 - 1},
            {"type": "array", "items": {"$ref": "#/$defs/expression"}},
            {"$ref": "#/$defs/special"},
            {"$ref": "#/$defs/record"},
        ]
    },
    "special": {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {
            "#bigint": {"type": "string", "pattern": "^-?[0-9]+$"},
            "#tup": {"type": "array", "items": {"$ref": "#/$defs/expression"}},
            "#set": {"type": "array", "items": {"$ref": "#/$defs/expression"}},
            "#map": {
                "type": "array",
                "items": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"$ref": "#/$defs/expression"}},
            },
        },
    },
    "record": {
        "type": "object",
        "propertyNames": {"not": {"pattern": "^#"}},
        "additionalProperties": {"$ref": "#/$defs/expression"},
    },
}
ITF_SCHEMA = {
    "type": "object",
    "required": ["vars", "states"],
    "additionalProperties": False,
    "properties": {
        "#meta": {"type": "object"},
        "params": {"type": "array", "items": {"type": "string"}},
        "vars": {"type": "array", "items": {"type": "string"}},
        "states": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"#meta": {"type": "object"}},
                "patternProperties": {"^[^#]": {"$ref": "#/$defs/expression"}},
                "additionalProperties": False,
            },
        },
        "loop": {"type": "integer"},
    },
    "$defs": EXPRESSIONS,
}


@pytest.fixture(scope="module")
def kip_101() -> Counterexample:
    return counterexample_in(
        entry_of(check_spec(load_spec(SPECS / "truncation" / "kip_101_fails_on_two_brokers.toml")))
    )


@pytest.fixture(params=["kip_101", "toy_trace", "long_trace", "any_trace"])
def trace(request: pytest.FixtureRequest) -> Counterexample:
    return request.getfixturevalue(request.param)


@pytest.fixture
def hostile(toy_trace: Counterexample) -> Counterexample:
    """A trace whose title and witness mean something to every format."""
    text = 'a"b\\n; #35; -->>\nend\n<b> %% \x1b[31m } ]'
    return attrs.evolve(
        toy_trace,
        title=text,
        violation=attrs.evolve(toy_trace.violation, witness=text),
        entry={**toy_trace.entry, "file": text},
    )


# --- ITF


def test_itf_matches_its_schema(trace: Counterexample) -> None:
    data = json.loads(itf(trace))
    jsonschema.Draft202012Validator(ITF_SCHEMA).validate(data)
    for number, state in enumerate(data["states"]):
        assert set(data["vars"]) == set(state) - {"#meta"}
        assert state["#meta"]["index"] == number


def test_the_schema_of_itf_refuses_what_is_not_itf() -> None:
    validator = jsonschema.Draft202012Validator(ITF_SCHEMA)
    for value in (None, 1.5, 2**60, {"#set": 3}, {"#other": []}, {"#map": [[1]]}, {"#set": [], "x": 1}):
        assert not validator.is_valid({"vars": ["x"], "states": [{"x": value}]})


def test_a_reader_of_itf_reads_it(trace: Counterexample) -> None:
    read = itf_py.trace_from_json(json.loads(itf(trace)))
    assert len(read.states) == len(trace.steps)
    assert read.vars == list(trace.system.domain.fields)


def test_itf_holds_the_values_of_the_states(kip_101: Counterexample) -> None:
    last = itf_py.trace_from_json(json.loads(itf(kip_101))).states[-1].values
    state = kip_101.violation.trace[-1].state
    assert last["next_record_id"] == state.next_record_id
    assert last["quorum"].isr == frozenset({"b0", "b1"})
    assert (last["quorum"].leader, last["replicas"]["b0"].high_watermark) == ("b0", 1)
    assert [record.id for record in last["replicas"]["b0"].log] == [
        record["id"] for record in as_data(state)["replicas"][0]["log"]
    ]


def test_hostile_text_stays_text_in_itf(hostile: Counterexample) -> None:
    data = json.loads(itf(hostile))
    jsonschema.Draft202012Validator(ITF_SCHEMA).validate(data)
    assert data["#meta"]["source"] == hostile.entry["file"]


# --- Mermaid

LINE = re.compile(
    r"    (participant L\d+ as (?P<name>.+)|L\d+(->>|--x)L\d+: (?P<message>.+)|Note over L\d+(,L\d+)?: (?P<note>.+))",
)


@pytest.mark.parametrize("which", ["kip_101", "long_trace", "any_trace", "hostile"])
def test_every_line_of_a_mermaid_diagram_is_a_participant_a_message_or_a_note(
    which: str, request: pytest.FixtureRequest
) -> None:
    trace = request.getfixturevalue(which)
    first, *rest = mermaid(trace).splitlines()
    assert first == "sequenceDiagram"
    for line in rest:
        match = LINE.fullmatch(line)
        assert match, line
        text = match["name"] or match["message"] or match["note"]
        assert re.fullmatch(r"([\w .,:()=+→-]|#\d+;)+", text), text


def test_mermaid_shows_every_message_that_ended_and_crosses_out_the_lost_ones(long_trace: Counterexample) -> None:
    text = mermaid(long_trace)
    assert text.count("->>") == sum(arrow.delivery is Delivery.READ for arrow in long_trace.arrows)
    assert text.count("--x") == sum(arrow.delivery is Delivery.DROPPED for arrow in long_trace.arrows) > 0


# --- Graphviz


def test_dot_is_a_graph_whose_edges_join_steps(trace: Counterexample) -> None:
    text = dot(trace)
    assert text.startswith("digraph trace {")
    nodes = set(re.findall(r"^ +(s\d+|violation) \[", text, re.MULTILINE))
    edges = re.findall(r"^ +(s\d+) -> (s\d+|violation) \[", text, re.MULTILINE)
    assert nodes == {"violation", *(f"s{step.number}" for step in trace.steps[1:])}
    graph = networkx.DiGraph(edges)
    assert set(graph) <= nodes
    assert networkx.is_directed_acyclic_graph(graph)


def test_dot_greys_what_a_lasso_does_not_need_and_no_step_of_its_cycle() -> None:
    """The red lamp keeps the blue one from being lit, the green one lets the number go round. It is noted in vain."""
    system = system_of(ACTIONS, eventually(fair=[light_blue])(is_blue))
    steps = {each.of: each for each in system.actions}
    trace = [Step(None, system.initial[0])]
    for each in (switch_green, count, note, switch_red, count, count, count):
        trace.append(Step(steps[each], successor(steps[each], trace[-1].state, system.domain)))
    entry = {"name": "lamps", "protocol": {}, "bounds": {}}
    text = dot(counterexample_of(entry, system, lasso_at(system, system.liveness[0], trace, 4)))
    assert re.findall(r"^ +s(\d) \[.*fontcolor=gray", text, re.MULTILINE) == ["3"]


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("which", ["kip_101", "toy_trace", "hostile"])
def test_graphviz_reads_it(which: str, request: pytest.FixtureRequest) -> None:
    text = dot(request.getfixturevalue(which))
    ran = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "Error" not in ran.stderr


def test_hostile_text_stays_inside_its_quotes_in_dot(hostile: Counterexample) -> None:
    outside = re.sub(r'"(\\.|[^"\\])*"', "", dot(hostile))
    assert '"' not in outside
    assert "<b>" not in outside


# --- CSV


def test_csv_has_a_row_per_step(trace: Counterexample) -> None:
    rows = list(csv.DictReader(io.StringIO(steps_csv(trace), newline="")))
    assert [row["step"] for row in rows] == [str(step.number) for step in trace.steps]
    assert [row["action"] for row in rows] == [step.name for step in trace.steps]
    assert [row["actor"] for row in rows] == [step.actor for step in trace.steps]
    assert trace.violation.property in rows[-1]["false"]


def test_csv_holds_nothing_that_a_spreadsheet_computes(long_trace: Counterexample) -> None:
    steps = [attrs.evolve(step, name="=1+1", actor="@x", arguments={"-2": "+3"}) for step in long_trace.steps]
    rows = list(csv.reader(io.StringIO(steps_csv(attrs.evolve(long_trace, steps=tuple(steps))), newline="")))
    assert not [value for row in rows[1:] for value in row if value[:1] in ("=", "+", "-", "@")]


@pytest.mark.parametrize("kind", EXPORTS)
def test_exports_hold_no_control_characters(hostile: Counterexample, kind: str) -> None:
    assert not set(EXPORTS[kind](hostile)) & {"\x1b", "\x00"}


@pytest.mark.parametrize("kind", EXPORTS)
def test_a_trace_that_violates_nothing_says_how_it_came_about(kip_101: Counterexample, kind: str) -> None:
    entry = {**kip_101.entry, "reason": "which explain 5 lines of a log"}
    text = EXPORTS[kind](counterexample_of(entry, kip_101.system, by_hand(kip_101.violation.trace[:4])))
    assert " is false" not in text
    assert "gray, fontcolor" not in text  # no step is known not to matter
    assert ("3 steps, which explain 5 lines of a log" in text) is (kind != "csv")


@pytest.mark.parametrize("kind", sorted({*EXPORTS} - {"csv"}))
def test_a_lasso_on_which_nothing_happens_says_so(kind: str) -> None:
    system = system_of((), eventually(fair=[light_blue])(is_blue))
    stays = lasso_at(system, system.liveness[0], [Step(None, system.initial[0])], 0)
    assert "then nothing for ever" in EXPORTS[kind](counterexample_of({"protocol": {}, "bounds": {}}, system, stays))


@pytest.mark.parametrize("kind", EXPORTS)
def test_a_trace_without_steps_is_exported(make_spec: Callable[..., Any], kind: str) -> None:
    assert EXPORTS[kind](counterexample_in(entry_of(check_spec(make_spec(check=["leader_in_isr"])))))


@pytest.mark.parametrize("kind", EXPORTS)
def test_every_export_has_a_test_that_notices_if_it_writes_nothing(
    kind: str, kip_101: Counterexample, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [name for name, value in globals().items() if value is EXPORTS[kind]]
    assert names, f"no test in this file can call {kind}: it is not imported"
    monkeypatch.setitem(globals(), names[0], lambda trace: "")
    tests = [test for name, test in globals().items() if name.startswith("test_") and kind in name.split("_")]
    assert any(_fails(test, kip_101) for test in tests), f"no test in this file named after {kind} fails without it"


def _fails(test: Callable[..., None], trace: Counterexample) -> bool:
    """Whether a test of one trace fails for this one."""
    if len(inspect.signature(test).parameters) != 1:
        return False
    try:
        test(trace)
    except (AssertionError, ValueError):
        return True
    return False
