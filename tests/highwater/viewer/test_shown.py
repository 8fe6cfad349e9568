"""Stories: messages from sender to reader, changes by lane, and the parts that the property read."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import attrs
import pytest
from rich.console import Console

from highwater.claims.checking import Engine, check_spec
from highwater.claims.spec import load_spec
from highwater.explorer.system import System, successor
from highwater.explorer.verdict import Step, Violation
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import ArrayOf, Integers, Maybe, OneOf, SequenceOf
from highwater.model.language.picture import Fact, Lane, NameSet, Picture, Tone
from highwater.model.language.records import domain_of, records, within
from highwater.model.reference.controlling import become_leader
from highwater.reports.reasons import value_at
from highwater.reports.results import entry_of
from highwater.viewer.cells import cell_of, lane_of_part
from highwater.viewer.drawings import drawing_of
from highwater.viewer.exports import steps_csv
from highwater.viewer.index import counterexample_in
from highwater.viewer.lanes import show_lanes
from highwater.viewer.pages import trace_page
from highwater.viewer.pictures import of_any_model
from highwater.viewer.pictures.partition import controller_lane
from highwater.viewer.showing import counterexample_of, shown_trace
from highwater.viewer.shown import Counterexample, Delivery
from highwater.viewer.wording import meaning_of, protocol_in_words
from tests import small_models

SPECS = Path(__file__).parents[3] / "specs"


@pytest.fixture(scope="module")
def kip_101() -> Counterexample:
    return counterexample_in(
        entry_of(check_spec(load_spec(SPECS / "truncation" / "kip_101_fails_on_two_brokers.toml")))
    )


def test_a_message_goes_from_the_step_that_sent_it_to_the_step_that_read_it(kip_101: Counterexample) -> None:
    arrows = [(a.message.kind, a.message.epoch, a.sent, a.ended, a.reader, a.delivery) for a in kip_101.arrows]
    assert arrows == [
        ("LeaderAndIsr", 0, 1, 4, "b0", Delivery.READ),
        ("LeaderAndIsr", 0, 1, 6, "b1", Delivery.READ),
        ("LeaderAndIsr", 1, 2, 9, "b1", Delivery.READ),
        ("LeaderAndIsr", 2, 3, 11, "b1", Delivery.READ),
    ]


def test_a_message_is_stale_where_the_leader_epoch_is_further_when_it_is_read(kip_101: Counterexample) -> None:
    assert [arrow.newest for arrow in kip_101.arrows] == [2, 2, 2, None]


def test_parts_that_the_property_read_have_value_step_and_lane(kip_101: Counterexample) -> None:
    assert [(found.part, found.value, found.since, found.lane) for found in kip_101.looked_at] == [
        ("quorum.isr", "{b0 b1}", 0, "controller"),
        ("b0.leader", "b0", 4, "b0"),
        ("b0.log", "[r0@e0]", 5, "b0"),
        ("b0.high_watermark", "1", 8, "b0"),
        ("b1.log", "[]", 11, "b1"),
    ]


def test_truncated_records_are_gone_for_one_step(kip_101: Counterexample) -> None:
    (log,) = kip_101.steps[11].cells["b1"].logs
    assert [(place.offset, place.block.text, place.change) for place in log.offsets] == [
        (0, "r0", "gone"),
        (1, "r1", "gone"),
    ]
    (log,) = kip_101.steps[10].cells["b1"].logs
    assert [(place.block.text, place.change, place.committed) for place in log.offsets] == [
        ("r0", "", False),
        ("r1", "new", False),
    ]


def test_the_high_watermark_parts_committed_from_open_records(kip_101: Counterexample) -> None:
    (before,), (after,) = (kip_101.steps[number].cells["b0"].logs for number in (7, 8))
    assert [place.committed for place in before.offsets if place.block] == [False]
    assert [place.committed for place in after.offsets if place.block] == [True]
    assert (before.high_watermark_changed, after.high_watermark_changed) == (False, True)


def tone_of_b0(system: System, *names: str) -> Tone:
    """The role of b0 after some actions."""
    state = system.initial[0]
    for name in names:
        state = next(a for a in system.actions if str(a) == name).apply(state)
    return drawing_of(system).draw(system.domain, state).lanes["b0"].badges[0].tone


def test_a_leader_is_stale_once_another_leads_and_not_in_an_older_epoch_of_its_own(kip_101: Counterexample) -> None:
    b0_leads = ("elect_leader(leader b0)", "become_leader(leader b0, epoch e0)")
    assert tone_of_b0(kip_101.system, *b0_leads) is Tone.LEADS
    assert tone_of_b0(kip_101.system, *b0_leads, "elect_leader(leader b1)") is Tone.STALE
    again = ("elect_leader(leader b1)", "elect_leader(leader b0)")
    assert tone_of_b0(kip_101.system, *b0_leads, *again) is Tone.LEADS
    assert {step.cells["b0"].lane.badges[0].tone for step in kip_101.steps[4:]} == {Tone.LEADS}


def test_only_lanes_that_a_step_changes_are_marked(kip_101: Counterexample) -> None:
    changed = [{lane for lane, cell in step.cells.items() if cell.changed} for step in kip_101.steps]
    assert changed == [set(), *[{"controller"}] * 3, {"b0"}, {"b0"}, {"b1"}, {"b1"}, {"b0"}, {"b1"}, {"b1"}, {"b1"}]


def test_the_witness_is_at_the_offset_and_in_the_lanes_that_the_property_looked_at(kip_101: Counterexample) -> None:
    last = kip_101.steps[-1]
    assert {lane for lane, cell in last.cells.items() if cell.is_witness} == {"controller", "b0", "b1"}
    assert [place.is_witness for place in last.cells["b1"].logs[0].offsets] == [True, False]
    assert not any(cell.is_witness for step in kip_101.steps[:-1] for cell in step.cells.values())


def test_every_property_of_the_model_is_followed_and_the_violated_one_comes_first(kip_101: Counterexample) -> None:
    assert kip_101.properties[0] == "strong_isr"
    assert "leader_in_isr" in kip_101.properties
    assert [step.number for step in kip_101.steps if "leader_in_isr" in step.violated] == [0]
    assert [step.number for step in kip_101.steps if "strong_isr" in step.violated] == [11]


def test_the_meaning_of_an_action_comes_from_its_docstring() -> None:
    meaning = meaning_of(become_leader)
    assert meaning.line == "A replica reads a request that makes it leader."
    assert meaning.source == "BecomeLeader; kafka.cluster.Partition#makeLeader (0.11)."
    assert list(meaning.sections) == ["Actor", "Enabled", "Effect", "Source"]


def test_sections_of_several_lines_are_whole() -> None:
    from highwater.model.reference.fenced import fenced_expand_isr

    assert (
        meaning_of(fenced_expand_isr)
        .sections["Enabled"]
        .endswith("that high watermark has reached the leader's own epoch.")
    )


@pytest.mark.parametrize(
    ("part", "lane"),
    [
        ("b1.log", "b1"),
        ("leader.offsets[b2]", "b2"),
        ("quorum.isr", "controller"),
        ("b10.log", "b10"),
        ("b1.offsets[x]", "b1"),
    ],
)
def test_a_part_of_the_state_belongs_to_the_lane_that_it_names(part: str, lane: str) -> None:
    pictures = [Picture(dict.fromkeys(("controller", "b0", "b1", "b2", "b10"), Lane()))]
    assert lane_of_part(part, 0, pictures) == lane


# --- messages in slots


def test_a_slot_that_moves_up_is_the_same_message(toy_trace: Counterexample) -> None:
    spans = [(a.message.kind, a.message.receiver, a.sent, a.ended, a.delivery) for a in toy_trace.arrows]
    assert ("LeaderAndIsr", "b0", 1, 2, Delivery.READ) in spans
    assert ("LeaderAndIsr", "b1", 1, 4, Delivery.READ) in spans
    assert len({(a.message.key, a.sent) for a in toy_trace.arrows}) == len(toy_trace.arrows)
    for arrow in toy_trace.arrows:
        inside = range(arrow.sent, arrow.ended if arrow.ended is not None else len(toy_trace.steps))
        states = [step.state for step in toy_trace.violation.trace]
        assert all(arrow.message.key in states[number].packets for number in inside)
        assert arrow.ended is None or arrow.message.key not in states[arrow.ended].packets


def test_messages_that_are_never_read_are_in_flight_at_the_end(toy_trace: Counterexample) -> None:
    flying = {arrow.message.key for arrow in toy_trace.arrows if arrow.delivery is Delivery.IN_FLIGHT}
    assert flying == set(toy_trace.violation.trace[-1].state.packets)


def test_lost_messages_are_drawn_dropped_and_others_read(long_trace: Counterexample) -> None:
    fates = {arrow.delivery: 0 for arrow in long_trace.arrows}
    for arrow in long_trace.arrows:
        fates[arrow.delivery] += 1
        if arrow.ended is not None:
            assert (long_trace.steps[arrow.ended].name == "lose") == (arrow.delivery is Delivery.DROPPED)
            assert arrow.reader == arrow.message.receiver
    assert set(fates) == set(Delivery)


def test_steps_that_the_violation_does_not_depend_on_have_no_distance(long_trace: Counterexample) -> None:
    assert 0 < len(long_trace.idle) < len(long_trace.steps) - 1
    assert all(step.distance is None for step in long_trace.idle)


# --- models without a drawing


def test_a_model_without_a_drawing_gets_a_lane_per_broker_from_its_domains(any_trace: Counterexample) -> None:
    assert any_trace.lanes == ("state", "controller", "network", "b0", "b1", "b2")
    last = any_trace.steps[-1].cells
    states = any_trace.violation.trace[-1].state
    for broker, node in enumerate(states.nodes):
        (log,) = last[f"b{broker}"].logs
        assert log.log.high_watermark == node.high_watermark
        assert [(block.text, block.epoch) for block in log.log.blocks] == [
            (f"r{e.id}", e.leader_epoch) for e in node.log
        ]
    assert [names.members for names in last["state"].lane.name_sets] == [("b0", "b1", "b2")]


def test_an_actor_with_a_name_of_its_own_acts_in_its_own_lane(any_trace: Counterexample) -> None:
    assert {step.lane for step in any_trace.steps if step.actor == "controller"} == {"controller"}
    assert {step.lane for step in any_trace.steps if step.actor == "network"} <= {"network"}


@attrs.frozen
class Lease:
    """Who holds a lease, what the service knows, and a mode that has no text."""

    holder: int | None = within(Maybe(Integers(0, 1, label="c")))
    service_mode: str = within(OneOf(("", "open")))
    writes: int = within(Integers(0, 3))


@action(actor="service")
def expire(lease: Lease) -> Lease | None:
    """The lease ends."""
    return None if lease.holder is None else Lease(None, lease.service_mode, 0)


@invariant()
def somebody_holds_it(lease: Lease) -> bool:
    """False once the lease has ended."""
    return lease.service_mode == "" and lease.holder is not None


def lease_trace() -> Counterexample:
    (end,) = expire.instances(None)
    (held,) = somebody_holds_it.instances(None)
    system = System(domain_of(Lease, None), (Lease(1, "", 2),), (end,), (held,))
    trace = (Step(None, system.initial[0]), Step(end, end.apply(system.initial[0])))
    entry = {"name": "lease", "model": "lease", "protocol": {}, "bounds": {}}
    return counterexample_of(entry, system, Violation("somebody_holds_it", {}, "", {}, trace))


def test_fields_that_become_none_or_zero_are_marked_by_name() -> None:
    trace = lease_trace()
    assert trace.lanes == ("state", "service")
    first, last = trace.steps[0].cells, trace.steps[1].cells
    assert [(fact.name, fact.value, fact.blank) for fact in first["state"].lane.facts] == [
        ("holder", "c1", False),
        ("writes", "2", False),
    ]
    assert [fact.name for fact in first["service"].lane.facts] == ["service_mode"]
    assert last["state"].new == {"holder", "writes"}
    assert [(fact.name, fact.value) for fact in last["state"].lane.facts] == [("holder", "none"), ("writes", "0")]
    assert "holder</span> none" in trace_page(trace)
    assert "+holder none" in shown_in_terminal(trace)


def shown_in_terminal(trace: Counterexample) -> str:
    console = Console(file=io.StringIO(), width=120)
    show_lanes(console, trace)
    return console.file.getvalue()


def test_a_value_that_a_property_looked_at_is_never_empty() -> None:
    assert [(found.part, found.value) for found in lease_trace().looked_at] == [
        ("service_mode", '""'),
        ("holder", "none"),
    ]
    values = {"b0.fetch": "none", "b0.log": "[]", "mode": ""}
    assert [value_at(values, part) for part in ("b0.fetch.offset", "b0.log[1].id", "mode", "nothing.like.it")] == [
        "none",
        "[]",
        '""',
        "none",
    ]


def test_parts_that_leave_a_lane_are_struck_out() -> None:
    before = Picture({"b0": Lane(name_sets=(NameSet("pending ISR", ("b0", "b1")),), facts=(Fact("checkpoint", "1"),))})
    after = Picture({"b0": Lane()})
    cell = cell_of("b0", before, after)
    assert cell.changed
    assert [str(each) for each in cell.gone] == ["pending ISR b0 b1", "checkpoint 1"]


def test_a_property_that_nobody_checked_is_not_a_violation(kip_101: Counterexample) -> None:
    assert kip_101.checked == {"strong_isr"}
    assert kip_101.false_after(kip_101.steps[0]) == []
    assert kip_101.not_so_after(kip_101.steps[0]) == ["leader_in_isr"]
    assert kip_101.false_after(kip_101.steps[-1]) == ["strong_isr"]
    assert 'class="property unasked"' in trace_page(kip_101)


def test_records_with_a_sender_or_receiver_are_messages_in_any_model(any_trace: Counterexample) -> None:
    assert any_trace.arrows
    assert {arrow.message.kind for arrow in any_trace.arrows} <= {"append", "leader and isr"}
    assert all(arrow.message.receiver in any_trace.lanes for arrow in any_trace.arrows)
    assert all(arrow.message.sender in any_trace.lanes for arrow in any_trace.arrows if arrow.message.kind == "append")


CASES = [(model, name) for model, name in small_models.CASES if name != "kafka-2.1"]


@small_models.cases(CASES)
def test_every_drawing_draws_whatever_a_model_does(model: str, name: str) -> None:
    system, dice = small_models.small_system(model, name), random.Random(0)
    drawing = drawing_of(system)
    for _ in range(6):
        trace = [Step(None, dice.choice(system.initial))]
        for _ in range(25):
            after = (
                (a, successor(a, trace[-1].state, system.domain))
                for a in dice.sample(system.actions, len(system.actions))
            )
            found = next(((a, state) for a, state in after if isinstance(state, system.domain.cls)), None)
            if found is None:
                break
            trace.append(Step(*found))
        shown = shown_trace(system, trace, drawing=drawing)
        for step, executed in zip(shown.steps, trace, strict=True):
            picture = drawing.draw(system.domain, executed.state)
            assert tuple(picture.lanes) == shown.lanes
            assert {m.sender for m in picture.messages} | {m.receiver for m in picture.messages} <= {
                *shown.lanes,
                None,
            }
            assert len({message.key for message in picture.messages}) == len(picture.messages)
            assert step.lane in (*shown.lanes, "")
            if step.actor in shown.lanes:
                assert step.lane == step.actor
        for arrow in shown.arrows:
            assert arrow.ended is None or arrow.ended > arrow.sent
            assert arrow.message.receiver in (None, arrow.reader) or arrow.delivery is Delivery.IN_FLIGHT


PARTITION = """
model = "partition"
preset = "kafka-0.10.2"
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 2, fetch_steps = 3, leader_moves = 2 }
check = ["candidates_are_complete"]
expect = { verdict = "violated" }
"""


@pytest.fixture(scope="module")
def partition_trace(tmp_path_factory: pytest.TempPathFactory) -> Counterexample:
    path = tmp_path_factory.mktemp("spec") / "partition.toml"
    path.write_text(PARTITION, encoding="utf-8")
    return counterexample_in(entry_of(check_spec(load_spec(path), Engine.PYTHON)))


def test_a_fetch_goes_to_the_leader_and_its_response_comes_back_however_late(partition_trace: Counterexample) -> None:
    arrows = [arrow for arrow in partition_trace.arrows if arrow.message.kind in ("Fetch", "FetchResponse")]
    assert [
        (a.message.kind, a.message.sender, a.message.receiver, a.message.epoch, a.delivery, a.newest) for a in arrows
    ] == [
        ("Fetch", "b1", "b0", 0, Delivery.READ, None),
        ("FetchResponse", "b0", "b1", 0, Delivery.READ, 2),  # leadership has moved twice by then
        ("Fetch", "b1", "b0", 0, Delivery.READ, 2),
        ("FetchResponse", "b0", "b1", 0, Delivery.IN_FLIGHT, None),
    ]
    assert arrows[0].ended == arrows[1].sent
    served = partition_trace.steps[arrows[0].ended]
    assert (served.name, served.actor, served.lane) == ("serve_fetch", "leader", "b0")


def test_an_election_is_a_message_to_all_that_each_reads_once(partition_trace: Counterexample) -> None:
    read = [(a.message.epoch, a.reader) for a in partition_trace.arrows if a.message.kind == "LeaderAndIsr"]
    assert sorted(read) == [(1, "b1"), (2, "b1")]


def test_records_promised_to_clients_have_a_lane_of_their_own(partition_trace: Counterexample) -> None:
    (exposed,) = partition_trace.steps[-1].cells["clients"].logs
    state = partition_trace.violation.trace[-1].state
    assert (
        [block.text for block in exposed.log.blocks] == [f"r{record.id}" for record in state.clients.exposed] == ["r0"]
    )


def test_a_reassignment_in_progress_and_a_leader_that_recovers_are_shown(partition_trace: Counterexample) -> None:
    state = partition_trace.violation.trace[0].state
    assert {each.name for each in controller_lane(state).name_sets} == {"ISR"}
    quorum = attrs.evolve(state.quorum, removing=frozenset({0}), recovering=True)
    lane = controller_lane(attrs.evolve(state, quorum=quorum))
    assert [each.text for each in lane.badges][1:] == ["recovering"]
    assert [each.members for each in lane.name_sets if each.name == "removing"] == [("b0",)]


def test_a_protocol_is_named_by_its_closest_preset(partition_trace: Counterexample) -> None:
    assert partition_trace.protocol == "kafka-0.10.2"
    model = MODELS["partition"]
    changed = attrs.evolve(model.presets["repaired"], fence_fetch=False)
    assert protocol_in_words(model, changed) == "repaired, fence_fetch false"
    assert protocol_in_words(model, changed, "kafka-4.1").startswith("kafka-4.1, fence_fetch false")
    assert "initial_isr" not in partition_trace.bounds
    assert "leader_moves 2" in partition_trace.bounds


def test_async_isr_shows_beliefs_beside_the_truth(make_spec: Callable[..., Any]) -> None:
    path = SPECS / "isr_agreement" / "two_brokers_agree_on_the_isr.toml"
    system = load_spec(path).system()
    state = system.initial[0]
    shrunk = next(a for a in system.actions if str(a) == "controller_shrinks_isr(broker b1)").apply(state)
    picture = drawing_of(system).draw(system.domain, shrunk)
    (belief,) = picture.lanes["b0"].name_sets
    assert (belief.members, belief.truth, belief.wrong) == (("b0", "b1"), ("b0",), frozenset({"b1"}))


def test_a_trace_without_steps_is_shown(make_spec: Callable[..., Any]) -> None:
    counterexample = counterexample_in(entry_of(check_spec(make_spec(check=["leader_in_isr"]))))
    assert [step.number for step in counterexample.steps] == [0]
    assert counterexample.steps[0].violated >= {"leader_in_isr"}


def test_a_deadlock_is_shown(make_spec: Callable[..., Any]) -> None:
    counterexample = counterexample_in(entry_of(check_spec(make_spec(check=["no_deadlock"]))))
    assert "no_deadlock" in counterexample.steps[-1].violated
    assert counterexample.looked_at


def test_telling_uses_the_drawing_that_is_given(toy: Callable[..., tuple[System, Violation]]) -> None:
    system, violation = toy(20)
    counterexample = counterexample_of(
        {"name": "x", "protocol": {}, "bounds": {}, "model": "toy"}, system, violation, drawing=of_any_model.drawing()
    )
    assert counterexample.lanes[0] == "state"


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("vote", {"voter": "b0", "candidate": "b0"}, "vote b0"),
        ("vote", {"voter": "b0", "of": "a vote request of s1 in e2"}, "vote a vote request of s1…"),
        ("acknowledges", {"voter": "b0", "of": "a vote request"}, "acknowledg… a vote request"),
    ],
)
def test_a_step_in_a_lane_has_its_name_and_all_arguments_but_the_actor(
    toy_trace: Counterexample, name: str, arguments: dict[str, str], line: str
) -> None:
    step = attrs.evolve(toy_trace.steps[1], name=name, actor="b0", arguments=arguments)
    console = Console(file=io.StringIO(), width=200)
    show_lanes(console, attrs.evolve(toy_trace, steps=(toy_trace.steps[0], step)), 1)
    assert line in cast("io.StringIO", console.file).getvalue()


NUMBER, NAME = Integers(0, 1), Integers(0, 1, label="b")
LANES_OF_ONES_OWN: dict[str, dict[str, Any]] = {
    "a leader that is a truth value": {"leader": bool, "epoch": NUMBER, "hw": NUMBER, "queue": SequenceOf(NUMBER, 1)},
    "two epochs": {"leader": Maybe(NAME), "epoch": NUMBER, "leader_epoch": NUMBER},
    "a leader of other lanes": {"leader": Maybe(Integers(0, 1, label="z")), "epoch": NUMBER},
    "two high watermarks": {"high_watermark": NUMBER, "hw": NUMBER, "log": SequenceOf(NUMBER, 1)},
    "a log that may be absent": {"hw": NUMBER, "log": Maybe(SequenceOf(NUMBER, 1))},
    "an epoch that is a word": {"log": SequenceOf(OneOf(("old", "new")), 1), "epoch": OneOf(("old", "new"))},
}


@pytest.mark.parametrize("fields", LANES_OF_ONES_OWN.values(), ids=list(LANES_OF_ONES_OWN))
def test_two_states_never_look_alike(fields: dict[str, Any]) -> None:
    """Whatever fields are called, and though another array has the same names and fields."""
    node, other = (
        attrs.make_class(name, {key: within(of) for key, of in each.items()}, frozen=True)
        for name, each in (("Node", fields), ("Other", {"epoch": NUMBER, "leader": bool}))
    )
    arrays = {name: within(ArrayOf(records(of)(None), 2, "b", "nodes")) for name, of in (("a", node), ("z", other))}
    domain = domain_of(attrs.make_class("World", arrays, frozen=True), None)
    pictures = {repr(of_any_model.draw(domain, state)) for state in domain.values()}
    assert len(pictures) == domain.count


def test_what_one_of_two_arrays_changed_is_not_said_of_the_other() -> None:
    one = attrs.make_class("One", {"value": within(NUMBER)}, frozen=True)
    of = within(ArrayOf(records(one)(None), 1, "b", "nodes"))
    world = attrs.make_class("World", {"first": of, "second": of}, frozen=True)
    states = [world(first=(one(1),), second=(one(value),)) for value in (0, 1)]
    before, after = (of_any_model.draw(domain_of(world, None), state) for state in states)
    assert cell_of("b0", before, after).new == {"second.value"}


def test_fields_of_two_records_have_both_their_paths() -> None:
    """As those of a produce and a fetch request of one partition: a short name would be the one's or the other's."""
    (state,) = (spec := load_spec(SPECS / "requests" / "a_stopped_replica_answers_who_waits.toml")).system().initial
    facts = [fact.name for fact in of_any_model.draw(spec.system().domain, state).lanes["p0"].facts]
    assert {"role", "produce.parts.answer", "fetch.parts.answer"} <= set(facts)
    assert "answer" not in facts


@pytest.fixture(scope="module")
def bounce() -> Counterexample:
    """A prospect that is lost: a controller that does not notice a bounce."""
    spec = load_spec(SPECS / "controller" / "fail_over" / "a_broker_that_bounces_unseen_stays_idle.toml")
    return counterexample_in(entry_of(check_spec(spec)))


def test_a_prospect_is_false_where_it_is_lost_and_nowhere_before(bounce: Counterexample) -> None:
    assert [bounce.violation.property in step.violated for step in bounce.steps] == [False, False, True]
    assert not any(step.unjudged for step in bounce.steps)


def test_a_lost_prospect_depends_on_what_it_and_the_steps_along_it_read(bounce: Counterexample) -> None:
    assert [found.part for found in bounce.worth_showing] == ["b0.role", "zk.registrations[b0]", "b0.running"]
    assert {step.number: step.distance for step in bounce.steps} == {0: None, 1: 1, 2: 1}


def test_prospects_that_were_not_checked_are_not_followed(bounce: Counterexample) -> None:
    assert bounce.properties[0] == "assigned_brokers_can_take_their_role"
    assert not {"a_leader_can_act", "deletion_can_complete"} & set(bounce.properties)


def test_a_property_that_needs_all_states_is_shown_as_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    path = SPECS / "controller" / "deletion" / "a_new_controller_that_does_not_resume_deletions_lets_them_hang.toml"
    entry = entry_of(check_spec(load_spec(path)))
    monkeypatch.setattr("highwater.explorer.outlook.MOST_STATES", 1)
    counterexample = counterexample_in(entry)
    assert counterexample.steps[-1].unjudged == {counterexample.violation.property}
    assert counterexample.looked_at == ()
    assert "The steps that it depends on are not known: too many states lie ahead of the last one." in trace_page(
        counterexample
    )
    assert "was not judged</span>" in trace_page(counterexample)
    assert counterexample.violation.property in steps_csv(counterexample).splitlines()[-1]


def test_a_message_of_the_quorum_goes_from_server_to_server() -> None:
    spec = load_spec(SPECS / "quorum_reference" / "half_of_the_voters_elect_two_leaders.toml")
    found = counterexample_in(entry_of(check_spec(spec, engine=Engine.PYTHON)))
    asked = [(a.message.kind, a.message.sender, a.message.receiver, a.sent, a.message.text) for a in found.arrows]
    assert ("vote request", "s0", "s1", 1, "at offset 0") in asked
    assert found.lanes == ("clients", "s0", "s1")


def test_a_server_of_a_changing_quorum_is_drawn_with_its_voters() -> None:
    spec = load_spec(SPECS / "quorum_reference" / "half_of_the_voters_of_kip_853_elect_two_leaders.toml")
    found = counterexample_in(entry_of(check_spec(spec, engine=Engine.PYTHON)))
    asked = [(a.message.kind, a.message.sender, a.message.receiver, a.sent, a.message.text) for a in found.arrows]
    assert ("vote request", "s1", "s0", 1, "at offset 1 after e1") in asked
    assert found.lanes == ("clients", "s0", "s1")
    last = found.steps[-1].cells["s1"].lane
    assert [str(name_set) for name_set in last.name_sets] == ["voters s0 s1"]
    assert [block.text for block in last.logs[0].blocks] == ["{s0 s1}", "leader"]


def test_what_belongs_to_no_lane_is_beside_what_belongs_to_an_actor_called_state() -> None:
    @attrs.frozen
    class Machine:
        state: str = within(OneOf(("idle", "busy")))
        turns: int = within(Integers(0, 3))

    picture = of_any_model.draw(domain_of(Machine, None), Machine("idle", 2), ("state",))
    assert [(fact.name, fact.value) for fact in picture.lanes["state"].facts] == [("state", "idle"), ("turns", "2")]
