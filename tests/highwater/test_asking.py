"""`highwater ask`: the catalogue of questions, its answers, and how they are put."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
from click.testing import Result

import highwater as front
from highwater.asking import answering, asked
from highwater.asking.answering import _pairs, answer, releases_of
from highwater.asking.answers import Answer
from highwater.asking.asked import Part, Says, ask_claim, claims_for, spec_of, together
from highwater.asking.questions import Claim, catalogue, findings, question_named
from highwater.asking.settings import Settings, can_ask, others, settings_for
from highwater.asking.wording import COUNTED, DEEDS, HARMS
from highwater.claims.spec import load_spec
from highwater.claims.tables import Wrong
from highwater.explorer.system import look_alike
from highwater.explorer.verdict import Verdict
from highwater.model.catalogue import MODELS

Run = Callable[..., Result]
DOCS = Path(__file__).parents[2] / "docs"
RELEASES = ("3.5.2", "3.9.2", "4.4.0")


@pytest.mark.parametrize("name", catalogue())
def test_a_question_can_be_asked_of_each_release_or_has_a_reason(name: str) -> None:
    question = catalogue()[name]
    assert question.claims or question.why
    for release in RELEASES:
        settings = settings_for(question, release=release)
        for claim in question.claims:
            if question.is_of(release):
                assert can_ask(claim, settings) or spec_of(claim, settings).properties
    assert all(claim.check in HARMS for claim in question.claims)
    assert all(each in findings() for each in question.seen)


@pytest.mark.parametrize("name", catalogue())
def test_a_question_can_be_asked_under_whatever_might_prevent_it(name: str) -> None:
    question = catalogue()[name]
    for words, other in others(settings_for(question, release="4.4.0")):
        assert words and all(spec_of(claim, other).properties for claim, why in claims_for(question, other) if not why)
    for way in question.ways:
        release = "3.9.2" if question.until else "4.4"
        assert spec_of(question.claims[0], settings_for(question, release=release), way.bounds).properties


def test_there_are_questions_of_each_kind_in_words_of_their_own() -> None:
    assert len(catalogue()) >= 25
    assert {each.group for each in catalogue().values()} == {"restarts", "failures", "operations", "settings"}
    assert len({each.words for each in catalogue().values()}) == len(catalogue())


def test_words_are_for_actions_bounds_and_properties_that_there_are() -> None:
    models = (MODELS[name] for name in ("kraft", "partition", "controller"))
    definitions = [each.define(protocol) for each in models for protocol in each.presets.values()]
    actions = {action.name for each in definitions for action in each.actions}
    assert DEEDS.keys() <= actions
    bounds = {field.name for each in definitions for field in attrs.fields(each.bounds)}
    assert COUNTED.keys() <= bounds
    assert HARMS.keys() == {claim.check for question in catalogue().values() for claim in question.claims}


@pytest.mark.parametrize("name", findings())
def test_a_finding_lists_the_clusters_that_it_was_seen_on(name: str) -> None:
    text = (DOCS / "findings.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| \[[^\]]+\]\(#{name}\)[^\n]*", text, re.MULTILINE)
    clusters = row.rsplit("|", 2)[1]
    assert set(findings()[name].clusters) <= set(re.findall(r"\d+\.\d+\.\d+", clusters))
    headings = [
        re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in re.findall(r"^## (.*)", text, re.M)
    ]
    assert name in headings


KNOWN: list[tuple[str, str, dict[str, Any]]] = [
    (
        "emptied-disk",
        "partition/questions/kafka_3_5_loses_records_to_an_emptied_disk_that_comes_back",
        {"release": "3.5"},
    ),
    (
        "emptied-disk",
        "partition/questions/kafka_4_1_keeps_records_when_an_emptied_disk_comes_back",
        {"release": "4.1.1"},
    ),
    (
        "only-member-restarts",
        "partition/questions/kafka_4_1_keeps_records_over_a_clean_restart_of_the_only_isr_member",
        {"release": "4.1.1", "min_isr": 1},
    ),
    (
        "only-member-restarts-with-unclean-election",
        "partition/questions/kafka_3_9_0_loses_records_if_an_unclean_election_follows",
        {"release": "3.9.0", "min_isr": 1},
    ),
    (
        "only-member-restarts-with-unclean-election",
        "partition/questions/kafka_3_5_keeps_records_whatever_its_setting_of_unclean_election",
        {"release": "3.5", "min_isr": 1},
    ),
    ("shutdown-takes-for-ever", "kraft/a_controlled_shutdown_completes", {"release": "4.3.1", "min_isr": 1}),
    (
        "shutdown-takes-for-ever",
        "kraft/kafka_3_3_never_completes_a_controlled_shutdown_while_records_are_appended",
        {"release": "3.3.0", "min_isr": 1},
    ),
    (
        "shutdown-with-zookeeper-gives-up",
        "controller/liveness/a_broker_that_is_alone_in_sync_leaves_no_leader_after_its_last_attempt",
        {"release": "3.9.2", "replication_factor": 2},
    ),
    (
        "running-broker-unregistered",
        "kraft/a_broker_that_is_unregistered_while_it_runs_never_joins_again",
        {"release": "4.3.1", "min_isr": 1},
    ),
    (
        "one-in-sync-suffices",
        "kraft/kafka_4_1_loses_records_if_one_replica_suffices",
        {"release": "4.1.1", "min_isr": 1},
    ),
    (
        "one-in-sync-suffices",
        "kraft/kafka_4_1_loses_no_records_if_two_replicas_must_have_them",
        {"release": "4.1.1", "min_isr": 2},
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "claim", "given"), KNOWN)
def test_an_answer_agrees_with_the_claim_that_is_known(name: str, claim: str, given: dict[str, Any]) -> None:
    expect = load_spec(DOCS.parent / "specs" / f"{claim}.toml").file.expect
    question = question_named(name)
    found = answer(question, settings_for(question, **given), alone=True)
    assert found.says is (Says.YES if expect.verdict is Verdict.VIOLATED else Says.NO)


@pytest.mark.parametrize("min_isr", [1, 2])
def test_two_models_that_can_be_asked_the_same_give_one_answer(min_isr: int) -> None:
    question = question_named("one-in-sync-suffices")
    settings = settings_for(question, release="4.1.1", min_isr=min_isr)
    says = {claim.model: ask_claim(claim, settings).says for claim in question.claims}
    assert says.keys() == {"partition", "kraft"} and len(set(says.values())) == 1, says


def test_a_second_model_answers_settings_that_the_first_lacks() -> None:
    question = question_named("one-in-sync-suffices")
    settings = settings_for(question, release="4.1.1", during=("controller-fail-over",))
    (part,) = answer(question, settings, alone=True).parts
    assert part.claim.model == "kraft"
    found = front.ask("emptied-disk", during=["controller-fail-over"])
    assert found.says is Says.NOT_KNOWN and "one controller that never fails" in str(found)


def test_a_controller_fail_over_does_not_make_a_clean_shutdown_a_crash() -> None:
    """A broker says to each controller that registers it how its former process has ended."""
    question = question_named("one-in-sync-suffices")
    for during in ((), ("controller-fail-over",)):
        settings = settings_for(question, release="4.4", during=during)
        assert answer(question, settings, alone=True).says is Says.NO, during


def test_what_comes_about_without_a_disturbance_comes_about_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model that says so lacks the disturbance, and the one that has it says less."""
    harmful = {"partition": Says.YES, "kraft": Says.NO}
    monkeypatch.setattr(asked, "ask_claim", lambda claim, *given, **more: Part(claim, harmful[claim.model]))
    question = question_named("rolling-restart")
    for model in ("partition", "kraft"):
        harmful = {"partition": Says.NO, "kraft": Says.NO, model: Says.YES}
        found = answer(question, settings_for(question, during=("controller-fail-over",)), alone=True)
        assert (found.says, [part.claim.model for part in found.parts]) == (Says.YES, [model])
    harmful = {"partition": Says.NOT_KNOWN, "kraft": Says.NO}
    assert answer(question, settings_for(question, during=("controller-fail-over",)), alone=True).says is Says.NOT_KNOWN
    harmful = {"partition": Says.NO, "kraft": Says.NO}
    assert answer(question, settings_for(question, during=("controller-fail-over",)), alone=True).says is Says.NO


def test_a_way_that_is_told_in_the_bounds_of_one_model_is_not_asked_of_another() -> None:
    question = question_named("rolling-restart")
    settings = settings_for(question, during=("controller-fail-over",))
    found = Answer(question, settings, tuple(Part(claim, Says.YES) for claim in question.claims[:1]))
    more = answering._More(found, lambda words, progress: None)
    claim, (way,) = question.claims[1], question.ways
    assert more._ask(claim, "", settings, way.bounds) is Says.NOT_KNOWN


def test_an_answer_has_until_when_what_prevents_it_and_which_releases_do_otherwise() -> None:
    found = front.ask("only-member-restarts-with-unclean-election", release="3.9.2", min_isr=1)
    assert found.says is Says.YES
    assert "unclean.leader.election.enable=false" in found.prevented_by
    assert found.older == ("3.8.0", Says.NO) and found.newer is None
    assert "for good" in found.sentences[0] and "3.8.0 says no" in str(found)
    kept = front.ask("emptied-disk", release="4.4.0", alone=True)
    assert kept.sentences[0] == (
        "No, within these bounds: 2 records, 1 power failure, 2 new leader epochs, 4 changes of leader or ISR."
    )


def test_a_finding_is_named_only_where_the_way_to_it_rests_on_its_rule() -> None:
    name = "a-leader-forgets-its-proposal-when-metadata-repeat-the-isr"
    found = front.ask("slow-follower", release="3.9.2", alone=True)
    assert [each.name for each in found.seen] == [name]
    found = front.ask("emptied-disk", release="3.9.2", alone=True)
    assert found.says is Says.YES and not found.seen and "Seen" not in found.sentences[-1]
    found = front.ask("one-replica-loses-power", release="3.9.1", alone=True)
    assert found.says is Says.YES and found.sentences[-1] == "Seen in the model only."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["power-los"], 'question: "power-los" is not one of the questions (did you mean "power-loss"?)'),
        (["power-loss", "--replication-factor", "7"], "--replication-factor: 7 is out of range; allowed are 1..3"),
        (["power-loss", "--release", "5.0"], '--release: "5.0" is no release of Kafka with KRaft'),
        (["power-loss", "--release", "new"], '--release: "new" is no release'),
        (["power-loss", "--release", "3.9"], "--release: the rules changed within 3.9; name one release"),
        (
            ["power-loss", "--min-isr", "3", "--replication-factor", "2"],
            "--min-isr: 3 is above the replication factor 2",
        ),
        (["power-loss", "--release", "3.9.2", "--elr"], "--elr: Kafka 3.9.2 has no eligible leader replicas"),
        (["power-loss", "--acks", "2"], '--acks: "2" is not one of the values of acks'),
        (["power-loss", "--during", "rain"], '--during: "rain" is not one of the disturbances'),
    ],
)
def test_a_wrong_question_or_setting_is_one_line(highwater: Run, given: list[str], message: str) -> None:
    done = highwater("ask", *given)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"highwater: {message}")


def test_ask_without_a_question_is_refused_off_a_terminal(highwater: Run) -> None:
    done = highwater("ask")
    assert done.exit_code == 2 and "name a QUESTION, or --list them all" in done.stderr


def test_the_list_names_every_question(highwater: Run) -> None:
    done = highwater("ask", "--list")
    assert done.exit_code == 0
    assert all(name in done.stdout for name in catalogue())
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_the_command_prints_the_answer_and_writes_page_and_data(highwater: Run, tmp_path: Path) -> None:
    page, data = tmp_path / "page.html", tmp_path / "answer.json"
    asked = ("ask", "emptied-disk", "--release", "3.9.2", "--alone", "--html", page, "--json", data)
    done = highwater(*asked, "--expect", "yes")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[2].startswith("yes        Yes: a record that was acknowledged is lost, for good.")
    assert "b0 loses power" in done.stdout
    assert "crash_with_loss" in page.read_text(encoding="utf-8")
    found = json.loads(data.read_text(encoding="utf-8"))
    assert (found["answer"], found["claims"][0]["model"], found["settings"]["release"]) == ("yes", "partition", "3.9.2")
    assert highwater(*asked, "--expect", "no").exit_code == 1


def test_the_page_of_a_no_has_the_bounds_that_are_not_as_usual_and_no_others(highwater: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert highwater("ask", "emptied-disk", "--release", "4.4.0", "--alone", "--html", page).exit_code == 0
    words = page.read_text(encoding="utf-8")
    assert "lossy_crashes 1" in words and "offset_queries 0" not in words


def test_a_question_without_a_model_has_a_reason_and_where_it_was_seen(highwater: Run) -> None:
    done = highwater("ask", "slow-voter-removed")
    assert done.exit_code == 0
    words = " ".join(done.stdout.split())
    assert "Not known: no model has the requests" in words and "clusters of 3.9.1, 4.1.1, 4.3.1, 4.4.0" in words
    assert "with acks=0 nothing is acknowledged" in " ".join(highwater("ask", "acks-0").stdout.split())


def test_an_answer_names_which_of_several_harms_are_known() -> None:
    found = front.ask("broker-killed", release="4.4.0", unclean=True, alone=True)
    assert found.says is Says.NOT_KNOWN
    assert "whether the partition has no leader although all brokers run; the model `kraft`" in found.sentences[0]
    assert found.sentences[1].startswith("But not that a record that was acknowledged is lost, within 1 record,")


@pytest.mark.parametrize(
    ("cut", "first"),
    [
        ([{"crashes": 9}, {"partition_epoch_max": 1}], "more than 4 changes of leader or ISR"),
        ([{"leader_epoch_max": 1}, {"crashes": 9}], "more than 3 new leader epochs"),
        (
            [{"partition_epoch_max": 1}, {"partition_epoch_max": 1}],
            "more than 6 changes of leader or ISR, or more than 4 changes of leader or ISR",
        ),
        ([{"leader_epoch_max": 1}, {"leader_epoch_max": 1}], "more than 3 new leader epochs"),
        ([{"crashes": 9}, {}], ""),
    ],
)
def test_a_no_names_the_first_size_to_raise_of_each_harm(cut: list[dict[str, int]], first: str) -> None:
    question, settings = question_named("reassignment-cancelled"), Settings(release="4.4.0")
    outcomes = [SimpleNamespace(bounds_cut=each, cut_alone=each) for each in cut]
    results: list[Any] = [
        SimpleNamespace(spec=spec_of(claim, settings), outcome=outcome)
        for claim, outcome in zip(question.claims, outcomes, strict=True)
    ]
    parts = [Part(*each) for each in zip(question.claims, itertools.repeat(Says.NO), results, strict=False)]
    found = [each for each in Answer(question, settings, tuple(parts)).sentences if each.startswith("Beyond them")]
    assert found == ([f"Beyond them nothing is known; first allow {first}."] if first else [])


def test_other_settings_are_those_that_an_operator_has() -> None:
    settings = Settings(release="4.1.1", min_isr=1, replication_factor=2, acks="1", unclean=True)
    assert [words.partition(" (")[0] for words, _ in others(settings)] == [
        "acks=all",
        "unclean.leader.election.enable=false",
        "min.insync.replicas=2",
        "replication factor 3",
        "eligible leader replicas off",
    ]
    assert releases_of("partition", "3.9")[0] == "3.9.0"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"replication_factor": 7}, "^replication_factor: 7 is out of range"),
        ({"min_isr": True}, "^min_isr: true is out of range"),
        ({"release": 4.1}, "^release: 4.1 is no text; write it in quotes"),
        ({"unclean": "false"}, '^unclean: "false" is not true or false'),
        ({"during": "rain"}, '^during: "rain" is not one of the disturbances'),
        ({"during": "preferred-election", "acks": 2}, '^acks: "2" is not one of the values'),
    ],
)
def test_settings_of_the_library_are_refused_by_the_names_that_they_have_there(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(front.SpecError, match=message):
        front.ask("power-loss", **given)


def test_one_disturbance_is_a_list_of_one() -> None:
    question = question_named("power-loss")
    one, several = (settings_for(question, during=each) for each in ("preferred-election", ["preferred-election"]))
    assert one == several and one.during == ("preferred-election",)


def test_a_name_that_is_not_a_question_is_refused() -> None:
    with pytest.raises(Wrong, match="question"):
        question_named("nothing of the kind")


def answers_that(
    says: Callable[[Claim, Settings], Says], stored: int, monkeypatch: pytest.MonkeyPatch, reason: str = ""
) -> list[tuple[str, str]]:
    """Which harm was searched in which release, where searches say this and store so many states."""
    searched: list[tuple[str, str]] = []

    def ask(claim: Claim, settings: Settings, *_: Any, **__: Any) -> Part:
        searched.append((settings.release, claim.harm))
        outcome = SimpleNamespace(stored_states=stored, reason=reason)
        spec = spec_of(claim, settings)
        result = SimpleNamespace(outcome=outcome, found=None, spec=spec, stands_for=lambda spec: False)
        return Part(claim, says(claim, settings), result)  # type: ignore[arg-type]

    for module in (asked, answering):
        monkeypatch.setattr(module, "ask_claim", ask)
    return searched


def test_another_release_is_asked_for_every_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """What says no of one harm may say yes of another one there."""

    def says(claim: Claim, settings: Settings) -> Says:
        return Says.YES if settings.release == "3.8.0" and claim.harm == "reassignment" else Says.NO

    searched = answers_that(says, 0, monkeypatch)
    question = question_named("reassignment-source-dies")
    found = answering.answer(question, Settings(release="3.5.2"))
    assert found.newer == ("3.8.0", Says.YES)
    claims = {each.harm: each for each in question.claims}
    harms = {release: {harm for of, harm in searched if of == release} for release, _ in searched}
    assert len(harms) > 3 and all(each == claims.keys() for each in harms.values())
    asked_of = [(harm, spec_of(claims[harm], Settings(release=release)).protocol) for release, harm in searched]
    assert all(asked_of.count(each) == 1 for each in asked_of), "releases with the same rules are asked once"


@pytest.mark.parametrize("model", ["kraft", "partition"])
def test_a_search_stands_for_those_that_look_at_the_same_alone(model: str) -> None:
    """Under other rules that no path reads each count is the same. If no rule counted as read, some would differ."""
    (claim, *_) = (each for each in question_named("frozen-broker").claims if each.model == model)
    settings = [Settings(release=each, replication_factor=2) for each in releases_of(model, "3.5")]
    done = [(spec_of(claim, each), ask_claim(claim, each)) for each in settings]
    stood_for = differed = 0
    for (ours, part), (theirs, other) in itertools.permutations(done, 2):
        assert part.result is not None and other.result is not None and part.result.outcome.settings_read
        same = counts(part) == counts(other)
        if answering._holds_for(part, theirs):
            assert same, (ours.file.preset, theirs.file.preset)
            stood_for += ours.protocol != theirs.protocol
        elif look_alike(ours.system(), theirs.system(), read=()):
            differed += not same
    assert stood_for and differed


def test_systems_of_other_states_or_steps_do_not_look_alike() -> None:
    (claim, *_) = question_named("shutdown-with-zookeeper-gives-up").claims
    ours = spec_of(claim, Settings(release="3.9.2", replication_factor=2))
    larger = spec_of(claim, Settings(release="3.9.2", replication_factor=3))
    by_zookeeper = attrs.evolve(claim, protocol={"isr_path": "zookeeper"})
    without_alter_partition = spec_of(by_zookeeper, Settings(release="3.9.2", replication_factor=2))
    assert look_alike(ours.system(), ours.system(), ["protocol.isr_path", "bounds"])
    for other in (larger, without_alter_partition):
        assert not look_alike(ours.system(), other.system(), read=())
    more = attrs.evolve(ours.system(), initial=ours.system().initial * 2)
    assert not look_alike(ours.system(), more, read=()) and not look_alike(more, ours.system(), read=())


def counts(part: Part) -> tuple[Any, ...]:
    """What a search counted."""
    assert part.result is not None
    found = part.result.outcome
    return found.verdict, found.levels, found.generated, found.enabled, found.bounds_cut


def test_a_counterexample_of_a_conditional_claim_is_not_reused_under_other_rules() -> None:
    """Without eligible leader replicas the records are lost without this upgrade, too."""
    question = question_named("upgraded-from-before-3-5")
    settings = settings_for(question, release="4.4.0", min_isr=1)
    found = answer(question, settings, alone=True)
    assert found.says is Says.YES
    more = answering._More(found, lambda words, progress: None)
    assert more._ask(question.claims[0], "", attrs.evolve(settings, elr=False), {}) is Says.NOT_KNOWN


def test_a_lack_of_memory_is_seen_where_it_is_asked_without_this(monkeypatch: pytest.MonkeyPatch) -> None:
    (claim,) = question_named("upgraded-from-before-3-5").claims
    done = iter([(Verdict.VIOLATED, ""), (Verdict.UNKNOWN, "memory")])

    def check(*_: Any, **__: Any) -> Any:
        verdict, reason = next(done)
        outcome = SimpleNamespace(reason=reason, stored_states=1)
        return SimpleNamespace(verdict=verdict, outcome=outcome, found=SimpleNamespace(trace=()))

    monkeypatch.setattr(asked, "check_spec", check)
    part = ask_claim(claim, Settings(release="4.4.0"))
    assert part.says is Says.NOT_KNOWN and part.lacked_memory


def test_an_answer_judged_on_the_graph_of_states_cites_no_finding() -> None:
    """A counterexample of this kind is not executed under other rules, so that it seems to be none under any."""
    found = front.ask("running-broker-unregistered", release="4.4.0", alone=True)
    part = found.decisive
    assert found.says is Says.YES and part is not None and part.violation is not None and part.violation.trace
    about = [each for each in findings().values() if each.rule and each.model == part.claim.model]
    assert about and not any(answering._rests_on(found, part, each) for each in about) and not found.seen


Seen = list[tuple[Any, int | None]]


def searches_that_find(verdicts: dict[Any, Verdict], monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What was searched, in bounds and states, where a search by its toggle `older_brokers` has these verdicts."""
    searched: Seen = []

    def search(spec: Any, *, budget: Any, **_: Any) -> Any:
        searched.append((spec.bounds, budget.max_states))
        outcome = SimpleNamespace(stored_states=5, vacuous={}, reason="")
        verdict = verdicts[spec.protocol.older_brokers.value]
        return SimpleNamespace(verdict=verdict, outcome=outcome, found=SimpleNamespace(trace=()), spec=spec)

    monkeypatch.setattr(asked, "check_spec", search)
    return searched


@pytest.mark.parametrize(
    ("without", "says", "why"),
    [
        (Verdict.HOLDS, Says.YES, ""),
        (Verdict.VIOLATED, Says.NOT_KNOWN, "within the same bounds it comes about without this, too"),
        (Verdict.UNKNOWN, Says.NOT_KNOWN, "whether it comes about without this, too, is not known"),
    ],
)
def test_a_violation_that_happens_without_the_asked_event_is_not_an_answer(
    without: Verdict, says: Says, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (claim,) = question_named("upgraded-from-before-3-5").claims
    searched = searches_that_find({"first": Verdict.VIOLATED, "none": without}, monkeypatch)
    part = ask_claim(claim, Settings(release="4.1.2"), {"shrinks": 2}, 77)
    assert (part.says, part.why) == (says, why)
    first, second = searched
    assert first == second and first[0].shrinks == 2 and first[1] == 77


@pytest.mark.parametrize(("reason", "is_lasting"), [("memory", False), ("max-states", True)])
def test_an_answer_limited_by_memory_is_not_lasting(
    reason: str, is_lasting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers_that(lambda claim, settings: Says.NO, 0, monkeypatch, reason)
    found = answering.answer(question_named("reassignment-source-dies"), Settings(release="3.9.2"))
    assert answering._further(found, lambda words, progress: None)[1] is is_lasting


def test_an_interrupt_ends_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for a search that came to its limit."""
    interrupted = SimpleNamespace(verdict=Verdict.UNKNOWN, outcome=SimpleNamespace(reason="interrupted"))
    monkeypatch.setattr(asked, "check_spec", lambda spec, **_: interrupted)
    with pytest.raises(KeyboardInterrupt):
        front.ask("frozen-broker", release="3.9.2")


def test_other_releases_are_asked_first_about_the_harm_found_here(monkeypatch: pytest.MonkeyPatch) -> None:
    question = question_named("reassignment-source-dies")
    first, last = question.claims[0].harm, question.claims[-1].harm
    assert first != last
    searched = answers_that(lambda claim, _: Says.YES if claim.harm == last else Says.NO, 0, monkeypatch)
    found = answering.answer(question, Settings(release="4.4.0"))
    elsewhere = [harm for release, harm in searched if release != "4.4.0"]
    assert found.says is Says.YES and {*elsewhere} == {last}, "it decides, so that the rest is not asked"


def test_searches_of_one_setting_do_not_use_up_the_budget_of_others_nor_of_releases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question = question_named("reassignment-source-dies")
    settings = Settings(release="4.4.0", min_isr=1)
    searched = answers_that(lambda claim, settings: Says.YES, answering.MOST_STATES_MORE, monkeypatch)
    found = answering.answer(question, settings)
    assert found.not_prevented_by == tuple(words for words, _ in others(settings)) and len(found.not_prevented_by) > 2
    here = [release for release, _ in searched if release == "4.4.0"]
    assert len(here) == len(question.claims) + len(found.not_prevented_by) + 1, "and one pair"
    assert len(searched) - len(here) == 1 and found.compared is not None and found.compared[0] != "4.4.0"


def test_an_answer_names_what_was_not_searched_far_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = "min.insync.replicas=2"
    known = "min.insync.replicas=3 (which refuses producers while any replica is away)"
    answers_that(lambda _, settings: Says.NOT_KNOWN if settings.min_isr == 2 else Says.YES, 0, monkeypatch)
    found = answering.answer(question_named("broker-killed"), Settings(release="4.4.0", min_isr=1))
    elr = "eligible leader replicas off"
    assert (found.prevented_by, found.not_prevented_by) == ((), (known, elr))
    assert found.not_known_of == (unknown, f"{unknown} together with {elr}")
    assert f"nor by {elr}. Not known whether by {unknown}, or by {unknown} together with {elr}. " in str(found)


def test_two_values_of_one_setting_are_no_pair() -> None:
    settings = Settings(release="3.6", min_isr=1, acks="1")
    words = [[each.partition(" (")[0] for each in words.split(" together with ")] for words, *_ in _pairs(settings)]
    assert words == [["acks=all", "min.insync.replicas=2"], ["acks=all", "min.insync.replicas=3"]]


@pytest.mark.parametrize(
    ("says", "of_all"),
    [
        ([Says.NO, Says.YES, Says.NOT_KNOWN], Says.YES),
        ([Says.NO, Says.NOT_KNOWN], Says.NOT_KNOWN),
        ([Says.NO, Says.NO], Says.NO),
        ([], Says.NOT_KNOWN),
    ],
)
def test_a_question_of_several_harms_is_answered_by_the_worst(says: list[Says], of_all: Says) -> None:
    assert together(says) is of_all


def test_a_finding_of_a_later_release_is_not_named() -> None:
    assert "Seen" not in str(front.ask("restart-at-once", release="3.5.2"))
    assert "Seen on clusters of 4.4.0" in str(front.ask("restart-at-once", release="4.4.0"))
