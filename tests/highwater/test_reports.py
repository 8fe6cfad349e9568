"""JSON reports: their shape, that they are reproducible, and that their traces replay or are refused."""

from __future__ import annotations

import copy
import functools
import json
import random
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attrs
import jsonschema
import pytest

from highwater.claims.checking import Engine, Result, check_spec
from highwater.claims.spec import Spec, load_spec
from highwater.explorer.verdict import Budget, Progress
from highwater.files import ReportError
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import Invariant, Witness, invariant
from highwater.model.language.definition import Definition
from highwater.model.language.domain import ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import domain_of, within
from highwater.model.reference.async_isr import Agreement, AlterIsr
from highwater.model.reference.state import Cluster
from highwater.reports import github
from highwater.reports.junit import write_junit
from highwater.reports.replaying import read_report, replay
from highwater.reports.results import FORMAT, VERSION, as_data, from_data, report, write_json
from highwater.viewer.index import write_pages
from highwater.viewer.wording import title_of

HERE = Path(__file__).parent
SPECS = HERE.parents[1] / "specs"
SCHEMA = json.loads((HERE / "results.schema.json").read_text(encoding="utf-8"))
KIP_101 = SPECS / "truncation" / "kip_101_fails_on_two_brokers.toml"
TWO_BROKERS = SPECS / "truncation" / "truncating_to_the_high_watermark_fails_on_two_brokers.toml"
KEYS = SCHEMA["$defs"]["result"]["required"]

Make = Callable[..., Spec]
Entry = dict[str, Any]


@functools.cache
def result_of(path: Path) -> Result:
    return check_spec(load_spec(path))


def through_json(*results: Result) -> dict[str, Any]:
    """A report as a reader gets it."""
    return json.loads(json.dumps(report(results)))


def entry_of(result: Result) -> Entry:
    return through_json(result)["results"][0]


@functools.cache
def _entry(path: Path) -> Entry:
    return entry_of(result_of(path))


@pytest.fixture
def entry() -> Entry:
    """The entry of a spec with a trace of nine actions, for tests to damage."""
    return copy.deepcopy(_entry(TWO_BROKERS))


def validate(data: Any) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(data)


# --- the shape


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def keys_of(schema: Any) -> set[str]:
    """Every key that a schema has, however deep."""
    if isinstance(schema, list):
        return set().union(*map(keys_of, schema))
    if not isinstance(schema, dict):
        return set()
    properties = schema.get("properties", {})
    return {*properties, *set().union(*map(keys_of, schema.values()), set())}


def unnamed(schema: Any, page: str) -> set[str]:
    return {key for key in keys_of(schema) if f"`{key}`" not in page}


def test_the_page_on_results_names_every_key() -> None:
    page = (HERE.parents[1] / "docs" / "results.md").read_text(encoding="utf-8")
    assert unnamed(SCHEMA, page) == set()
    assert unnamed({"properties": {"verdict": {"properties": {"never_heard_of": {}}}}}, page) == {"never_heard_of"}


def test_a_report_of_nothing_is_valid() -> None:
    data = through_json()
    validate(data)
    summary = {"specs": 0, "met": 0, "unmet": 0, "undecided": 0, "answered": 0}
    assert data == {
        "format": FORMAT,
        "version": VERSION,
        "complete": True,
        "summary": summary,
        "results": [],
        "releases": [],
        "coverage": [],
        "errors": [],
    }


def interrupted(spec: Spec) -> Result:
    def interrupt(progress: Progress) -> None:
        if progress.depth == 3:
            raise KeyboardInterrupt

    return check_spec(spec, on_progress=interrupt)


KINDS: dict[str, Callable[[Make], Result]] = {
    "holds": lambda make: check_spec(make(expect={"distinct_states": 277})),
    "holds though claimed violated": lambda make: check_spec(
        make(expect={"verdict": "violated", "property": "weak_isr"})
    ),
    "holds with the wrong counts": lambda make: check_spec(make(expect={"distinct_states": 1, "depth": 1})),
    "violated though claimed to hold": lambda make: check_spec(make(check=["leader_in_isr"])),
    "violated by several": lambda make: check_spec(make(check=["leader_in_isr", "no_deadlock"]), keep_going=True),
    "deadlock": lambda make: check_spec(make(check=["no_deadlock"])),
    "holds to a depth": lambda make: check_spec(make(expect={"verdict": "holds-to-depth"}, max_depth=3)),
    "cut by depth": lambda make: check_spec(make(), budget=Budget(max_depth=3)),
    "cut by depth 0": lambda make: check_spec(make(), budget=Budget(max_depth=0)),
    "cut by states": lambda make: check_spec(make(), budget=Budget(max_states=50)),
    "interrupted": lambda make: interrupted(make()),
    "plain Python": lambda make: check_spec(make(), Engine.PYTHON),
    "plain Python, violated": lambda make: check_spec(make(check=["no_deadlock"]), Engine.PYTHON),
    "async-isr": lambda make: check_spec(
        make(
            protocol={"variant": "async-isr"},
            bounds={"brokers": 2, "offset_max": 2, "version_max": 2},
            check=["valid_high_watermark"],
        )
    ),
    "a name and a source with markup": lambda make: check_spec(
        make("[bold]x.toml", check=["leader_in_isr"], source='[/] "→" \u007f')
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_result_gives_a_valid_report_with_the_documented_keys(make_spec: Make, kind: str) -> None:
    data = through_json(KINDS[kind](make_spec))
    validate(data)
    assert sorted(data["results"][0]) == sorted(KEYS)


def test_the_summary_counts_the_claims_by_their_status(make_spec: Make) -> None:
    results = [KINDS[kind](make_spec) for kind in ("holds", "deadlock", "violated by several", "cut by depth")]
    data = through_json(*results)
    validate(data)
    assert data["summary"] == {"specs": 4, "met": 1, "unmet": 2, "undecided": 1, "answered": 0}
    assert len(data["results"]) == 4


def test_an_entry_holds_the_claim_and_its_result(make_spec: Make) -> None:
    spec = make_spec("two_brokers.toml", source="a book", expect={"distinct_states": 277, "depth": 11})
    entry = entry_of(check_spec(spec))
    assert entry["name"] == "two_brokers"
    assert entry["file"] == str(spec.path)
    assert entry["model"] == "reference"
    assert entry["protocol"] == {"variant": "kip-320"}
    assert entry["bounds"] == {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}
    assert entry["check"] == ["weak_isr"]
    assert entry["expect"] == {"verdict": "holds", "distinct_states": 277, "depth": 11}
    assert entry["source"] == "a book"
    assert (entry["status"], entry["mismatches"], entry["verdict"], entry["reason"]) == ("met", [], "holds", "")
    assert (entry["distinct_states"], entry["depth"], sum(entry["levels"]), len(entry["levels"])) == (277, 11, 277, 12)
    assert set(entry["bounds_cut"]) <= set(entry["bounds"])
    assert entry["generated"] == sum(entry["actions"].values())
    assert entry["compiled_paths"] > 0
    assert entry["state_bits"] > 0


def test_an_entry_of_a_violated_claim_holds_property_and_witness(entry: Entry) -> None:
    assert entry["property"] == "strong_isr"
    assert entry["violated"] == {"strong_isr": 9}
    assert entry["trace_length"] == 9
    assert entry["arguments"] == {"leader": "b0"}
    assert "offset 0 is below the high watermark of b0" in entry["witness"]
    assert entry["facts"] == {"leader": 0, "member": 1, "offset": 0, "where": "the true"}
    assert len(entry["trace"]) == 10


def test_each_step_of_a_trace_holds_action_actor_and_changes(entry: Entry) -> None:
    assert [step["step"] for step in entry["trace"]] == list(range(10))
    assert entry["trace"][0]["action"] is None
    fetch = entry["trace"][7]
    assert (fetch["action"], fetch["arguments"], fetch["actor"]) == ("fetch", {"follower": "b1", "leader": "b0"}, "b1")
    assert fetch["changes"] == [{"path": "b1.log", "before": "[]", "after": "[r0@e0]", "gained": "r0@e0", "lost": ""}]
    assert fetch["state"]["replicas"][1]["log"] == [{"id": 0, "leader_epoch": 0}]
    assert set(fetch["state"]) == {"quorum", "next_record_id", "requests", "replicas"}


def test_names_of_actions_that_were_never_enabled_are_listed(make_spec: Make) -> None:
    bounds = {"brokers": 1, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 0}
    entry = entry_of(check_spec(make_spec(bounds=bounds)))
    assert entry["never_enabled"]
    assert entry["never_enabled"] == [name for name, count in entry["actions"].items() if count == 0]


@pytest.mark.parametrize(
    "kind", ["holds", "violated by several", "deadlock", "cut by states", "async-isr", "plain Python"]
)
def test_two_runs_give_the_same_report_but_for_the_seconds(make_spec: Make, kind: str) -> None:
    first, second = (through_json(KINDS[kind](make_spec)) for _ in range(2))
    for data in (first, second):
        assert data["results"][0].pop("seconds") >= data["results"][0].pop("compile_seconds") >= 0
    assert first == second


def test_two_runs_give_the_same_trace(entry: Entry) -> None:
    again = entry_of(check_spec(load_spec(TWO_BROKERS)))
    assert {**again, "seconds": 0, "compile_seconds": 0} == {**entry, "seconds": 0, "compile_seconds": 0}


# --- values as data


def test_sets_of_numbers_are_sorted_as_numbers() -> None:
    assert as_data(frozenset({10, 9, 2, 33})) == [2, 9, 10, 33]


def test_sets_of_an_enum_whose_values_are_of_several_kinds_can_be_written() -> None:
    mixed = Enum("mixed", {"WORD": "a", "NUMBER": 1, "PAIR": (2, "b"), "ABSENT": None})
    assert as_data(frozenset(mixed)) == as_data(frozenset(reversed(mixed)))
    assert sorted(map(str, as_data(frozenset(mixed)))) == sorted(str(as_data(each)) for each in mixed)


class Mood(Enum):
    WELL = "well"
    SICK = 2


@attrs.frozen
class Loose:
    """Types that say less than the domains beside them, or something else."""

    mood: str = within(Mood)
    pair: tuple[int] = within(SequenceOf(Integers(-1, 0), 2))
    grid: tuple = within(ArrayOf(ArrayOf(Integers(0, 1), 1), 2))  # type: ignore[type-arg]
    moods: frozenset = within(SetOf(SetOf(Maybe(Mood))))  # type: ignore[type-arg]
    other: Any = within(Maybe(OneOf((True, 5, "five"))))


def test_a_state_is_written_and_read_by_its_domain_whatever_its_class_says_of_types() -> None:
    domain, chance = domain_of(Loose, None), random.Random(1)
    for state in chance.sample(list(domain.values()), 300):
        written = json.loads(json.dumps(as_data(state)))
        assert from_data(domain, written) == state
        assert (len(written["pair"]), len(written["moods"])) == (len(state.pair), len(state.moods))
    for part, wrong in (("pair", [0.0]), ("mood", "WELL"), ("other", 1), ("grid", [[0], 1]), ("moods", None)):
        with pytest.raises(ValueError, match=rf"^state\.{part}"):
            from_data(domain, {**written, part: wrong})


def test_sets_of_records_are_sorted_by_their_fields_as_numbers() -> None:
    assert [
        request["version"] for request in as_data(frozenset(AlterIsr(frozenset({0}), version) for version in range(15)))
    ] == [*range(15)]


def test_sets_of_records_give_the_same_list_however_they_were_filled() -> None:
    requests = [
        AlterIsr(frozenset(isr), version) for isr in ((0,), (0, 1), (1, 2), (0, 1, 2, 3, 4)) for version in range(12)
    ]
    lists = []
    for seed in range(5):
        random.Random(seed).shuffle(requests)
        lists.append(as_data(frozenset(requests)))
    assert all(found == lists[0] for found in lists)
    assert all(request["isr"] == sorted(request["isr"]) for request in lists[0])


@invariant()
def nothing_is_committed(cluster: Cluster) -> bool | Witness:
    """False once anything is committed; the facts are composite values of the state."""
    for broker, replica in enumerate(cluster.replicas):
        if replica.high_watermark:
            return Witness(
                "b{broker} has committed {log}", broker=broker, isr=replica.isr, log=replica.log, quorum=cluster.quorum
            )
    return True


def with_properties(monkeypatch: pytest.MonkeyPatch, *properties: Invariant) -> None:
    """Let the model `reference` have these properties only."""
    known = MODELS["reference"]

    def define(protocol: Any) -> Definition:
        return attrs.evolve(known.define(protocol), properties=properties)

    monkeypatch.setitem(MODELS, "reference", attrs.evolve(known, define=define))


def test_facts_may_be_any_part_of_the_state(monkeypatch: pytest.MonkeyPatch, make_spec: Make) -> None:
    with_properties(monkeypatch, nothing_is_committed)
    data = through_json(check_spec(make_spec(check=["nothing_is_committed"])))
    validate(data)
    facts = data["results"][0]["facts"]
    assert facts["log"] == [{"id": 0, "leader_epoch": 1}]
    assert facts["isr"] == sorted(facts["isr"])
    assert set(facts["quorum"]) == {"leader", "isr"}


# --- files


def test_a_written_report_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    results = [result_of(TWO_BROKERS), result_of(KIP_101)]
    write_json(path, report(results))
    assert read_report(path) == through_json(*results)["results"]
    validate(json.loads(path.read_text(encoding="utf-8")))


def test_a_report_is_readable_utf_8_text(tmp_path: Path, make_spec: Make) -> None:
    path = tmp_path / "report.json"
    write_json(path, report([check_spec(make_spec(source="größer → als"))]))
    text = path.read_bytes().decode("utf-8")
    assert "größer → als" in text
    assert text.endswith("}\n")


def test_a_report_that_is_written_again_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_json(path, report([result_of(TWO_BROKERS)]))
    write_json(path, report([]))
    assert read_report(path) == []


@pytest.mark.parametrize("inside", ["nothing/report.json", "", "file/report.json", "a" * 300])
def test_a_report_that_cannot_be_written_is_an_error_that_names_the_file(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    path = tmp_path / inside
    with pytest.raises(ReportError, match="cannot be written") as caught:
        write_json(path, report([]))
    assert str(path) in str(caught.value)


GOOD_HEAD = {"format": FORMAT, "version": VERSION}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b'model = "reference"', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"9" * 5000, "is not JSON"),
        (b"[]", "is not a report"),
        (b"3", "is not a report"),
        (b"null", "is not a report"),
        (b'"highwater-results"', "is not a report"),
        (b"{}", "is not a report"),
        (json.dumps({"format": "other", "version": VERSION, "results": []}).encode(), "is not a report"),
        (json.dumps({"format": FORMAT, "results": []}).encode(), "version None"),
        (json.dumps({"format": FORMAT, "version": VERSION + 1, "results": []}).encode(), f"version {VERSION + 1}"),
        (json.dumps({"format": FORMAT, "version": str(VERSION), "results": []}).encode(), f'version "{VERSION}"'),
        (json.dumps(GOOD_HEAD).encode(), 'no list of "results"'),
        (json.dumps({**GOOD_HEAD, "results": {}}).encode(), 'no list of "results"'),
        (json.dumps({**GOOD_HEAD, "results": None}).encode(), 'no list of "results"'),
    ],
    ids=range(18),
)
def test_a_file_that_is_not_a_report_is_refused_with_its_name(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(ReportError) as caught:
        read_report(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("results", [["text"], [3], [None], [[]]], ids=repr)
def test_a_report_whose_results_are_not_objects_is_refused(tmp_path: Path, results: list[Any]) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**GOOD_HEAD, "results": results}), encoding="utf-8")
    with pytest.raises(ReportError):
        read_report(path)


@pytest.mark.parametrize(
    ("inside", "words"), [("nothing.json", "No such file"), ("", "directory"), ("a" * 300, "too long")]
)
def test_a_report_that_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path, inside: str, words: str) -> None:
    path = tmp_path / inside
    with pytest.raises(ReportError) as caught:
        read_report(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


# --- replaying


@pytest.mark.parametrize("name", ["Reference", "REFERENCE", "refe-rence"])
def test_a_counterexample_replays_however_the_model_is_written_in_the_spec(make_spec: Make, name: str) -> None:
    entry = entry_of(check_spec(make_spec(model=name, check=["no_deadlock"])))
    assert len(replay(entry)[1].trace) == entry["trace_length"] + 1


def test_a_counterexample_replays_however_the_property_is_written_in_the_spec(make_spec: Make) -> None:
    entry = entry_of(check_spec(make_spec(check=["LeaderInIsr", "No-Deadlock"])))
    assert entry["property"] == "leader_in_isr"
    assert len(replay(entry)[1].trace) == 1


def test_a_deadlock_replays(make_spec: Make) -> None:
    entry = entry_of(check_spec(make_spec(check=["no_deadlock"])))
    assert entry["property"] == "no_deadlock"
    assert len(replay(entry)[1].trace) == entry["trace_length"] + 1


@invariant()
def the_leader_has_asked_for_one_isr_at_most(state: Agreement) -> bool | Witness:
    """False once there are two requests, so that a trace shows a set of records."""
    return (
        len(state.requests) < 2 or state.version < 1 or Witness("there are {count} requests", count=len(state.requests))
    )


@pytest.fixture
def agreement(monkeypatch: pytest.MonkeyPatch, make_spec: Make) -> Result:
    """A violated spec of the async-isr variant."""
    with_properties(monkeypatch, the_leader_has_asked_for_one_isr_at_most)
    keys = {"protocol": {"variant": "async-isr"}, "bounds": {"brokers": 3, "offset_max": 2, "version_max": 2}}
    claim = {"verdict": "violated", "property": "the_leader_has_asked_for_one_isr_at_most"}
    return check_spec(make_spec(**keys, check=[claim["property"]], expect=claim))


def test_a_counterexample_of_async_isr_replays(tmp_path: Path, agreement: Result) -> None:
    path = tmp_path / "report.json"
    write_json(path, report([agreement]))
    validate(json.loads(path.read_text(encoding="utf-8")))
    (entry,) = read_report(path)
    assert agreement.violation is not None
    assert [step.state for step in replay(entry)[1].trace] == [step.state for step in agreement.violation.trace]
    assert len(entry["trace"][-1]["state"]["requests"]) >= 2


def test_a_changed_set_of_records_in_a_trace_of_async_isr_is_refused(agreement: Result) -> None:
    entry = entry_of(agreement)
    number = next(step["step"] for step in entry["trace"] if step["state"]["requests"])
    entry["trace"][number]["state"]["requests"][0]["version"] += 1
    assert f"step {number}: " in refusal(entry)


# --- traces that were tampered with


def refusal(entry: Entry) -> str:
    with pytest.raises(ReportError) as caught:
        replay(entry)
    assert entry.get("name", "?") in str(caught.value)
    return str(caught.value)


def test_an_entry_without_a_trace_is_refused_with_its_verdict(make_spec: Make) -> None:
    text = refusal(entry_of(check_spec(make_spec())))
    assert "has no trace" in text
    assert "holds" in text


@pytest.mark.parametrize("number", range(1, 10))
def test_a_changed_state_is_refused_with_its_step(entry: Entry, number: int) -> None:
    entry["trace"][number]["state"]["next_record_id"] += 1
    text = refusal(entry)
    assert f"step {number}: " in text
    assert "leads to another state than the trace says" in text
    assert "next_record_id" in text


@pytest.mark.parametrize("number", range(1, 10))
def test_a_set_with_another_member_is_refused_with_its_step(entry: Entry, number: int) -> None:
    entry["trace"][number]["state"]["quorum"]["isr"] = [0]
    text = refusal(entry)
    assert f"step {number}: " in text
    assert "quorum.isr" in text


def test_a_state_with_a_broker_that_does_not_exist_is_refused_with_its_step(entry: Entry) -> None:
    entry["trace"][4]["state"]["quorum"]["isr"].append(7)
    assert "step 4: " in refusal(entry)


@pytest.mark.parametrize("number", range(1, 10))
def test_a_state_that_lacks_a_replica_is_refused_with_its_step(entry: Entry, number: int) -> None:
    del entry["trace"][number]["state"]["replicas"][1]
    assert f"step {number}: " in refusal(entry)


def test_a_state_with_one_replica_more_is_refused_with_its_step(entry: Entry) -> None:
    replicas = entry["trace"][3]["state"]["replicas"]
    replicas.append(replicas[0])
    assert "step 3: " in refusal(entry)


@pytest.mark.parametrize("number", range(1, 10))
def test_a_changed_action_is_refused_with_its_step(entry: Entry, number: int) -> None:
    entry["trace"][number]["action"] = "take_over_the_world"
    text = refusal(entry)
    assert f"step {number}: " in text
    assert "the model has no action take_over_the_world" in text


def test_another_action_of_the_model_is_refused_with_its_step(entry: Entry) -> None:
    entry["trace"][1].update(action="take_from_isr", arguments={"broker": "b0"})
    text = refusal(entry)
    assert "step 1: take_from_isr(broker b0) leads to another state" in text


def test_an_action_of_another_variant_is_refused_with_its_step(entry: Entry) -> None:
    entry["trace"][7]["action"] = "fenced_fetch"
    assert "step 7: the model has no action fenced_fetch" in refusal(entry)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"leader": "b1"}, "elect_leader"),
        ({"leader": "b7"}, "the model has no action elect_leader"),
        ({"leader": 0}, "the model has no action elect_leader"),
        ({"broker": "b0"}, "the model has no action elect_leader"),
        ({"leader": "b0", "epoch": "e0"}, "the model has no action elect_leader"),
        ({}, "the model has no action elect_leader"),
    ],
    ids=repr,
)
def test_a_changed_argument_is_refused_with_its_step(entry: Entry, arguments: dict[str, Any], words: str) -> None:
    entry["trace"][1]["arguments"] = arguments
    text = refusal(entry)
    assert "step 1: " in text
    assert words in text


@pytest.mark.parametrize("arguments", [None, [], ["b0"], "b0", 3, {"leader": ["b0"]}, {"leader": {}}], ids=repr)
def test_arguments_that_are_not_texts_by_name_are_refused_with_their_step(entry: Entry, arguments: Any) -> None:
    entry["trace"][1]["arguments"] = arguments
    assert "step 1" in refusal(entry)


@pytest.mark.parametrize("action", [None, 3, ["elect_leader"], {"name": "elect_leader"}], ids=repr)
def test_an_action_that_is_not_text_is_refused_with_its_step(entry: Entry, action: Any) -> None:
    entry["trace"][1]["action"] = action
    assert "step 1" in refusal(entry)


def test_an_action_that_is_not_enabled_is_refused_with_its_step(entry: Entry) -> None:
    entry["trace"][1].update(action="write", arguments={"leader": "b0"})
    assert "step 1: write(leader b0) is not enabled" in refusal(entry)


def test_a_step_beyond_the_bounds_is_refused(entry: Entry) -> None:
    entry["bounds"]["leader_epoch_max"] = 1
    text = refusal(entry)
    assert "step " in text
    assert "outside the bounds" in text


@pytest.mark.parametrize("number", range(1, 9))
def test_a_trace_with_a_step_removed_is_refused_with_a_step_from_there_on(entry: Entry, number: int) -> None:
    del entry["trace"][number]
    text = refusal(entry)
    assert any(f"step {later}: " in text for later in range(number, 10))


def test_a_trace_without_its_last_step_is_refused(entry: Entry) -> None:
    del entry["trace"][-1]
    text = refusal(entry)
    assert "step 8" in text
    assert "strong_isr" in text


def test_a_trace_whose_last_state_satisfies_the_property_is_refused(entry: Entry) -> None:
    entry["check"] = ["elected_leader_in_isr"]
    entry["property"] = "elected_leader_in_isr"
    assert "elected_leader_in_isr" in refusal(entry)


def test_a_trace_of_a_property_that_does_not_exist_is_refused(entry: Entry) -> None:
    entry["property"] = "world_peace"
    assert "world_peace" in refusal(entry)


def test_a_trace_that_goes_on_after_its_end_is_refused_with_the_step(entry: Entry) -> None:
    entry["trace"].append(copy.deepcopy(entry["trace"][-1]))
    assert "step 10: " in refusal(entry)


def test_a_trace_that_begins_in_the_middle_is_refused(entry: Entry) -> None:
    del entry["trace"][0]
    assert "step 0: is not an initial state" in refusal(entry)


def test_a_trace_whose_first_state_was_changed_is_refused(entry: Entry) -> None:
    entry["trace"][0]["state"]["replicas"][0]["high_watermark"] = 1
    assert "step 0: is not an initial state" in refusal(entry)


def test_a_trace_whose_first_step_has_an_action_is_refused(entry: Entry) -> None:
    entry["trace"][0]["action"] = "elect_leader"
    assert "step 0" in refusal(entry)


def test_two_steps_the_other_way_round_are_refused(entry: Entry) -> None:
    entry["trace"][4], entry["trace"][5] = entry["trace"][5], entry["trace"][4]
    assert "step 4: " in refusal(entry)


def drop(entry: Entry, key: str) -> None:
    del entry[key]


DAMAGES: dict[str, Callable[[Entry], Any]] = {
    "no model": lambda entry: drop(entry, "model"),
    "no protocol": lambda entry: drop(entry, "protocol"),
    "no bounds": lambda entry: drop(entry, "bounds"),
    "no check": lambda entry: drop(entry, "check"),
    "no property": lambda entry: drop(entry, "property"),
    "another model": lambda entry: entry.update(model="other"),
    "a model that is a list": lambda entry: entry.update(model=["reference"]),
    "another protocol": lambda entry: entry.update(protocol={"variant": "kip-321"}),
    "a protocol that is a text": lambda entry: entry.update(protocol="kip-320"),
    "another bound": lambda entry: entry.update(bounds={"brokers": 2}),
    "a bound that is a text": lambda entry: entry["bounds"].update(brokers="2"),
    "a bound out of range": lambda entry: entry["bounds"].update(brokers=99),
    "bounds that are null": lambda entry: entry.update(bounds=None),
    "another property": lambda entry: entry.update(check=["other"]),
    "a check that is a number": lambda entry: entry.update(check=3),
    "a check of numbers": lambda entry: entry.update(check=[3]),
    "a trace that is a number": lambda entry: entry.update(trace=3),
    "a trace that is an object": lambda entry: entry.update(trace={"0": {}}),
    "a trace that is a text": lambda entry: entry.update(trace="elect_leader"),
    "a step that is null": lambda entry: entry["trace"].insert(2, None),
    "a step that is a text": lambda entry: entry["trace"].insert(2, "write"),
    "a step without action": lambda entry: drop(entry["trace"][2], "action"),
    "a step without arguments": lambda entry: drop(entry["trace"][2], "arguments"),
    "a step without state": lambda entry: drop(entry["trace"][2], "state"),
    "a state that is null": lambda entry: entry["trace"][2].update(state=None),
    "a state that is a list": lambda entry: entry["trace"][2].update(state=[]),
    "a state that lacks a field": lambda entry: drop(entry["trace"][2]["state"], "requests"),
    "a state with a text for a number": lambda entry: entry["trace"][2]["state"].update(next_record_id="none"),
    "a state with a number for a set": lambda entry: entry["trace"][2]["state"]["quorum"].update(isr=3),
    "a state with a list for a number": lambda entry: entry["trace"][2]["state"].update(next_record_id=[0]),
    "a state with null for a number": lambda entry: entry["trace"][2]["state"].update(next_record_id=None),
    "a state with null for a record": lambda entry: entry["trace"][2]["state"].update(quorum=None),
    "a state with a number below the domain": lambda entry: entry["trace"][2]["state"].update(next_record_id=-1),
    "a state with a fraction": lambda entry: entry["trace"][2]["state"].update(next_record_id=0.5),
    "a state with a truth value": lambda entry: entry["trace"][2]["state"].update(next_record_id=True),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_refused_with_its_name(entry: Entry, damage: str) -> None:
    DAMAGES[damage](entry)
    assert refusal(entry)


@pytest.mark.slow
def test_any_one_value_of_a_trace_replaced_by_nonsense_is_refused_or_changes_nothing(entry: Entry) -> None:
    """Whatever is put anywhere, replaying raises `ReportError`, or gives the trace as it was."""
    good = [step.state for step in replay(entry)[1].trace]

    def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
        for key, value in children:
            yield (*path, key)
            yield from places(value, (*path, key))

    choose = random.Random(0)
    every = [place for place in places(entry["trace"]) if not {"changes", "step", "actor"} & set(place)]
    for place in choose.sample(every, 150):
        for nonsense in (None, -7, 99, "nonsense", [], {}, True, [[]]):
            damaged = copy.deepcopy(entry)
            parent = functools.reduce(lambda data, key: data[key], place[:-1], damaged["trace"])
            parent[place[-1]] = nonsense
            try:
                steps = replay(damaged)[1].trace
            except ReportError:
                continue
            except Exception as error:
                pytest.fail(f"{place} = {nonsense!r} gives {type(error).__name__}: {error}")
            assert [step.state for step in steps] == good, f"{place} = {nonsense!r}"


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (lambda entry: entry.update(witness="lie"), 'witness: should be "'),
        (lambda entry: entry.update(trace_length=99), "trace_length: should be 9, but the file says 99"),
        (lambda entry: entry.update(arguments={"leader": "b9"}), "arguments: should be "),
        (lambda entry: entry.update(facts={"offset": 7}), "facts: should be "),
        (lambda entry: entry["trace"][3].update(step=77), "step 3: its step should be 3, but the file says 77"),
        (lambda entry: entry["trace"][3].update(actor="nobody"), "step 3: its actor should be "),
        (lambda entry: entry["trace"][3].update(changes=[]), "step 3: its changes should be "),
    ],
    ids=range(7),
)
def test_an_entry_that_contradicts_its_replay_is_refused(entry: Entry, lie: Callable[[Entry], Any], words: str) -> None:
    lie(entry)
    assert words in refusal(entry)


def test_the_comment_that_explains_a_claim_is_in_every_report(
    write_spec: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "One broker knows <b>two</b> epochs."
    path = write_spec(protocol={"variant": "kip-101"}, check=["leader_in_isr"], expect={"verdict": "violated"})
    text = path.read_text(encoding="utf-8")
    path.write_text(f"#:schema x.json\n# One broker knows\n# <b>two</b> epochs.\n#\n# More.\n\n# not this\n{text}")
    result = check_spec(load_spec(path))
    assert result.spec.comment == f"{said}\nMore."
    assert entry_of(result)["comment"] == f"{said}\nMore."
    write_junit(tmp_path / "junit.xml", [result])
    (out,) = ElementTree.parse(tmp_path / "junit.xml").getroot().iter("system-out")
    assert f"\n    {said}\n    More." in (out.text or "")
    unmet = check_spec(attrs.evolve(load_spec(write_spec(check=["leader_in_isr"])), comment=said))
    assert "One broker knows \\<b\\>two" in github.summary([unmet])
    assert "(as claimed)" in github.summary([result])
    write_pages(tmp_path / "pages", [entry_of(result)])
    (page,) = (each for each in (tmp_path / "pages").glob("*.html") if each.name != "index.html")
    words = page.read_text(encoding="utf-8")
    assert (
        '<p class="comment">One broker knows &lt;b&gt;two&lt;/b&gt; epochs.</p>\n<p class="comment">More.</p>' in words
    )
    assert "As claimed." in words


def test_the_page_of_a_claim_that_holds_names_its_preset_and_not_each_toggle(tmp_path: Path) -> None:
    result = check_spec(load_spec(Path("gallery:two_copies_survive_one_power_failure")))
    write_pages(tmp_path, [entry_of(result)])
    page = (tmp_path / "two_copies_survive_one_power_failure.html").read_text(encoding="utf-8")
    assert "/</span> repaired</p>" in page
    assert "initial_isr" not in page, "a bound that is what it is where nothing is said"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("kafka_3_9_1_keeps_records", "kafka 3.9.1 keeps records"),
        ("after_kafka_4_1", "after kafka 4.1"),
        ("an_emptied_replica_before_3_5_joins_the_isr", "an emptied replica before 3.5 joins the isr"),
        (
            "until_3_3_2_a_broker_that_shuts_down_loses_no_record",
            "until 3.3.2 a broker that shuts down loses no record",
        ),
        ("a_vote_of_2_3_servers", "a vote of 2 3 servers"),
        ("kip_101_fails_on_2_brokers", "kip 101 fails on 2 brokers"),
    ],
)
def test_a_title_has_the_number_of_its_release(name: str, title: str) -> None:
    assert title_of(name) == title
