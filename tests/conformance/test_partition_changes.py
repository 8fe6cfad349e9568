"""The KRaft controller's functions and Kafka's own classes record the same, on random calls of every kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import attrs
import pytest

from highwater.claims.spec import make_spec
from highwater.conformance import partition_changes
from highwater.conformance.distribution import find, numbers_of
from highwater.conformance.partition_changes import (
    Asking,
    Assigning,
    Beginning,
    Cancelling,
    Change,
    PartitionChanges,
)
from highwater.explorer.search.levels.breadth_first import reach
from highwater.model.kraft import changing
from highwater.model.kraft.partition import PartitionChange, PartitionRegistration
from highwater.model.kraft.partition_change import (
    NOBODY,
    AssignedDirectory,
    ElectionKind,
    LastKnownLeader,
    Rules,
    ShrinkBump,
    Target,
    change_of,
)
from highwater.model.kraft.reassignment import Completion, begun
from highwater.model.kraft.releases import RULES
from highwater.model.kraft.state import Cluster, Replica
from highwater.model.log import NO_EPOCH
from highwater.model.partition_rules import AlterPartitionError, Led
from tests.conformance.conftest import harness_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kafka")]

RELEASES = {
    "3.5.1": "3.5",
    "3.6.2": "3.6",
    "3.7.2": "3.7",
    "3.8.1": "3.8",
    "3.9.1": "3.8",
    "4.0.2": "3.8",
    "4.1.0": "4.1.0",
    "4.1.1": "4.1",
    "4.3.1": "4.3",
    "4.4.0": "4.3",
}
WITHOUT_ELR = ("3.5", "3.6")
PRESETS = {"3.5": "kafka-3.5", "3.6": "kafka-3.6", "3.7": "kafka-3.7", "3.8": "kafka-4.0", "4.1": "kafka-4.1"}
PRESETS |= {"4.1.0": "kafka-4.1.0", "4.3": "kafka-4.3"}
SMALL = {"leader_epoch_max": 2, "partition_epoch_max": 3, "min_isr": 2, "crashes": 1}
MOVING = {**SMALL, "brokers": 3, "replication_factor": 2, "reassignments": 1, "cancellations": 1}
RESTARTING = {**SMALL, "brokers": 3, "replication_factor": 3, "restarts": 1, "shutdowns": 1, "elections": 1}
BALANCING = {**SMALL, "brokers": 3, "replication_factor": 2, "partitions": 2, "restarts": 1, "balancing": 1}
CLAIMS = {"moving": MOVING, "restarting": RESTARTING, "balancing": BALANCING}
DECIDING = {"start", "fence", "unfence", "answer_alter_partition", "elect_preferred_leader", "reassign"}
DECIDING |= {"cancel_reassignment", "enter_controlled_shutdown", "grant_shutdown", "balance_leaders"}
CALLS = 1_000
REQUESTS = 400
AT_ONCE = 2_000
BROKERS = range(4)

Call = Change | Beginning | Cancelling | Asking | Assigning


def some(chance: random.Random, of: Any, least: int = 0) -> tuple[int, ...]:
    return tuple(chance.sample(list(of), chance.randint(least, len(of))))


def sometimes(chance: random.Random, share: float, value: Any) -> Any:
    return value if chance.random() < share else None


def a_partition(chance: random.Random, elr: bool) -> PartitionRegistration:
    replicas = some(chance, BROKERS, 1)
    isr = some(chance, replicas)
    eligible = some(chance, set(BROKERS) - set(isr)) if elr else ()
    removing = sometimes(chance, 0.4, some(chance, replicas)) or ()
    adding = sometimes(chance, 0.4, some(chance, set(replicas) - set(removing))) or ()
    known = chance.choice([(), (NOBODY,), some(chance, BROKERS), some(chance, BROKERS)])
    leader = chance.choice([None, *replicas])
    return PartitionRegistration(
        replicas, isr, leader, tuple(sorted(eligible)), known if elr else (), removing, adding, chance.random() < 0.3
    )


def a_change(chance: random.Random, elr: bool) -> Change:
    target = Target(
        isr=sometimes(chance, 0.6, some(chance, BROKERS)),
        replicas=sometimes(chance, 0.3, some(chance, BROKERS, 1)),
        removing=sometimes(chance, 0.2, some(chance, BROKERS)),
        adding=sometimes(chance, 0.2, some(chance, BROKERS)),
        recovering=sometimes(chance, 0.4, chance.random() < 0.5),
        election=chance.choice(list(ElectionKind)),
        min_isr=chance.randint(1, 3),
        shut_down_uncleanly=frozenset(sometimes(chance, 0.3, some(chance, BROKERS)) or ()),
    )
    return Change(a_partition(chance, elr), target, frozenset(some(chance, BROKERS)))


def a_request(chance: random.Random, release: str) -> Asking:
    """A request that is often right but for one thing, so that each check decides some of them. In some a reassignment
    is in progress.
    """
    replicas = some(chance, BROKERS, 1)
    leader, epochs = chance.choice(replicas), tuple(chance.randint(10, 12) for _ in BROKERS)
    removing = sometimes(chance, 0.5, (leader,) if chance.random() < 0.7 else some(chance, replicas)) or ()
    adding = sometimes(chance, 0.5, some(chance, set(replicas) - {leader, *removing})) or ()
    known = PartitionRegistration(
        replicas, (leader,), leader, (), (), removing, adding, chance.random() < 0.3, leader_epoch=5, partition_epoch=7
    )
    members = {leader, *some(chance, replicas)} if chance.random() < 0.8 else set(some(chance, BROKERS))
    asker = leader if chance.random() < 0.9 else chance.choice(BROKERS)
    fetched = {
        member: chance.choice([NO_EPOCH, epochs[member], epochs[member], chance.choice(epochs)]) for member in members
    }
    fenced = tuple(chance.random() < 0.15 for _ in BROKERS)
    around = (0, 0, 0, 0, 0, 0, -1, 1)
    failed = tuple(numbers_of(release) >= (3, 7) and chance.random() < 0.3 for _ in BROKERS)
    return Asking(
        known,
        epochs,
        fenced,
        asker,
        leader_epoch=5 + chance.choice(around),
        partition_epoch=7 + chance.choice(around),
        isr=tuple(fetched.items()),
        recovering=chance.random() < 0.2,
        unclean=numbers_of(release) >= (3, 9) and chance.random() < 0.5,
        knows_topic=chance.random() < 0.9,
        directory_failed=failed,
    )


def a_completion(chance: random.Random, release: str) -> Asking:
    """A leader asks for an ISR that has what its reassignment adds. Of a broker that is added the directory may have
    failed since.
    """
    current = some(chance, BROKERS, 1)
    leader = current[0]
    target = some(chance, set(BROKERS) - {leader} if chance.random() < 0.8 else BROKERS, 1)
    move = begun(current, target)
    others = some(chance, target) if chance.random() < 0.5 else ()
    known = PartitionRegistration(
        move.replicas, (leader,), leader, (), (), move.removing, move.adding, chance.random() < 0.3, 5, 7
    )
    has_directories = numbers_of(release) >= (3, 7)
    return Asking(
        known,
        broker_epochs=(10,) * len(BROKERS),
        fenced=(False,) * len(BROKERS),
        leader=leader,
        leader_epoch=5,
        partition_epoch=7,
        isr=tuple((member, 10) for member in sorted({leader, *move.adding, *others})),
        unclean=numbers_of(release) >= (3, 9) and chance.random() < 0.5,
        directory_failed=tuple(has_directories and each in move.adding and chance.random() < 0.6 for each in BROKERS),
    )


def an_assignment(chance: random.Random) -> Assigning:
    """A broker says where its replica is. Who led last is a replica still: else a controller that asks for its
    directory throws.
    """
    known = attrs.evolve(a_partition(chance, elr=True), leader_epoch=5, partition_epoch=7)
    last = tuple(broker for broker in known.last_known_elr if broker in (NOBODY, *known.replicas))
    known = attrs.evolve(known, last_known_elr=last)
    return Assigning(known, chance.choice(known.replicas), frozenset(some(chance, BROKERS)), chance.randint(1, 3))


def calls(release: str) -> list[Call]:
    elr = RELEASES[release] not in WITHOUT_ELR
    chance = random.Random(20)
    made: list[Call] = [a_change(chance, elr) for _ in range(CALLS)]
    made += [Beginning(some(chance, BROKERS, 1), some(chance, BROKERS, 1)) for _ in range(200)]
    made += [a_request(chance, release) for _ in range(REQUESTS)]
    made += [a_completion(chance, release) for _ in range(200)]
    partitions = [a_partition(chance, elr) for _ in range(200)]
    return made + [Cancelling(each) for each in partitions if set(each.replicas) != set(each.adding)]


@attrs.define
class Kafka:
    """A release's classes in a Java process, and what they answer.

    Attributes:
        name: the release whose rules it has.
    """

    name: str
    classes: PartitionChanges
    calls: list[Call]
    _answers: dict[Rules, list[Any]] = attrs.Factory(dict)

    def answers(self, levels: Rules) -> list[Any]:
        """The answer to each call under these feature levels."""
        if levels not in self._answers:
            asked = [call.on_kafka(levels) for call in self.calls]
            batches = (asked[at : at + AT_ONCE] for at in range(0, len(asked), AT_ONCE))
            self._answers[levels] = [shown for batch in batches for shown in self.classes.run(batch)]
        return self._answers[levels]

    def first_difference(self, levels: Rules, rules: Rules) -> Call | None:
        """The first call to which the model answers otherwise by these rules."""
        pairs = zip(self.calls, self.answers(levels), strict=True)
        return next((call for call, shown in pairs if call.on_model(rules) != shown), None)


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    harness_of(request.param)
    name = RELEASES[request.param]
    with PartitionChanges(find(request.param)) as classes:
        yield Kafka(name, classes, calls(request.param))


def feature_levels(name: str) -> list[Rules]:
    """A release's rules under each of the feature levels and settings that it has."""
    rules = RULES[name]
    found = [rules]
    if name == "3.5":
        found.append(attrs.evolve(rules, records_recovery=False))
    else:
        bump = ShrinkBump.ASKED_FOR if name < "3.8" else ShrinkBump.RECORDED
        found.append(attrs.evolve(rules, shrink_bump=bump))
    if name not in WITHOUT_ELR:
        found += [attrs.evolve(rules, elr=False), attrs.evolve(rules, elects_last_known_leader=False)]
    return found


def test_both_sides_record_the_same_at_every_feature_level(kafka: Kafka) -> None:
    for rules in feature_levels(kafka.name):
        assert kafka.first_difference(rules, rules) is None, rules


@pytest.mark.parametrize("election", list(ElectionKind))
def test_a_last_known_leader_that_is_nobody_is_elected_until_4_0_and_nobody_leads(
    kafka: Kafka, election: ElectionKind
) -> None:
    """The state of a partition that waited for its only member, came back uncleanly, while ELR was switched on."""
    if kafka.name in WITHOUT_ELR:
        pytest.skip("has no last known leader")
    rules = RULES[kafka.name]
    waits = PartitionRegistration((0, 1), (), None, last_known_elr=(NOBODY,))
    call = Change(waits, Target(election=election), frozenset({1}))
    (shown,) = kafka.classes.run([call.on_kafka(rules)])
    assert shown == call.on_model(rules)
    leads = rules.last_known_leader_must_be_active and election is ElectionKind.UNCLEAN
    assert (shown or {}).get("leader") == (1 if leads else None)


def test_4_1_0_notes_the_last_known_leader_as_4_0_does(kafka: Kafka) -> None:
    rules = RULES[kafka.name]
    if kafka.name in WITHOUT_ELR:
        pytest.skip("has no last known leader")
    call = Change(PartitionRegistration((0, 1), (0,), None), Target(isr=()), frozenset())
    (shown,) = kafka.classes.run([call.on_kafka(rules)])
    assert shown == call.on_model(rules)
    assert shown["isr"] == []
    noted = rules.last_known_leader is not LastKnownLeader.WITHOUT_LEADER
    assert shown.get("last_known_elr") == ([NOBODY] if noted else None)


def test_a_reassignment_back_to_the_former_replicas_completes_only_where_nobody_waits_for_what_was_added(
    kafka: Kafka,
) -> None:
    """Broker 1 is to take the place of broker 0; then the operator asks for broker 0 again."""
    rules, active = RULES[kafka.name], frozenset({0, 1})
    moving = PartitionRegistration((1, 0), (0,), 0, adding=(1,), removing=(0,))
    back = begun((1, 0), (0,))
    assert (back.replicas, back.removing, back.adding) == ((0, 1), (1,), ())
    asked = Change(moving, Target(replicas=back.replicas, removing=back.removing), active)
    (shown,) = kafka.classes.run([asked.on_kafka(rules)])
    assert shown == asked.on_model(rules)
    if rules.completion is Completion.ALL:
        assert shown == {"replicas": [0], "removing": [], "adding": [], "leader": 0}
        return
    assert shown == {"replicas": [0, 1], "removing": [1]}
    caught_up = Change(attrs.evolve(moving, replicas=(0, 1), removing=(1,)), Target(isr=(0, 1)), active)
    (shown,) = kafka.classes.run([caught_up.on_kafka(rules)])
    assert shown == caught_up.on_model(rules) == {"isr": [0, 1]}


def decided_by(cluster: Cluster) -> Any:
    """What the controller's steps read of a state."""

    def without_view(replica: Replica) -> Replica:
        return attrs.evolve(replica, view=None, complete=False)

    brokers = [attrs.evolve(each, replicas=tuple(map(without_view, each.replicas))) for each in cluster.brokers]
    return cluster.end, cluster.heartbeats, cluster.at_end, *brokers


@cache
def reached(preset: str, claim: str) -> tuple[Rules, list[Call]]:
    """A preset's rules, and every record that the controller of a claim makes under them in a reachable state. Several
    releases have one preset.
    """
    keys = {"model": "kraft", "preset": preset, "bounds": CLAIMS[claim], "check": ["leaders_are_in_the_isr"]}
    spec = make_spec("what is reached", keys)
    system = attrs.evolve(spec.system(), invariants=(), step_properties=(), prospects=(), liveness=())
    engine, outcome = reach(system)
    assert not outcome.reason
    found: dict[Change, None] = {}

    def noted(
        partition: PartitionRegistration, target: Target, is_active: Callable[[int], bool], rules: Rules
    ) -> PartitionChange | None:
        active = frozenset(broker for broker in range(spec.bounds.brokers) if is_active(broker))
        found[Change(partition, target, active)] = None
        return change_of(partition, target, is_active, rules)

    deciding = [each for each in system.actions if each.of.name in DECIDING]
    states = (engine.layout.unpack(engine.store.words(row)) for row in range(engine.store.count))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changing, "change_of", noted)
        for state in {decided_by(state): state for state in states}.values():
            for each in deciding:
                each.apply(state)
    return spec.protocol.rules, list(found)


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_record_that_a_claim_reaches_is_kafkas(kafka: Kafka, claim: str) -> None:
    rules, made = reached(PRESETS[kafka.name], claim)
    assert len(made) > 10
    known = Kafka(kafka.name, kafka.classes, made)
    assert known.first_difference(rules, rules) is None


def wrong_rules(name: str) -> Iterator[Rules]:
    """A release's rules with one of them set otherwise, where it matters in that release."""
    rules = RULES[name]
    for completion in set(Completion) - {rules.completion}:
        yield attrs.evolve(rules, completion=completion)
    for bump in set(ShrinkBump) - {rules.shrink_bump}:
        yield attrs.evolve(rules, shrink_bump=bump)
    yield attrs.evolve(rules, elr=not rules.elr)
    yield attrs.evolve(rules, records_recovery=not rules.records_recovery)
    if rules.elr:
        yield attrs.evolve(rules, elects_last_known_leader=not rules.elects_last_known_leader)
        yield attrs.evolve(rules, last_known_leader_must_be_active=not rules.last_known_leader_must_be_active)
        yield attrs.evolve(rules, eligible_must_be_assigned=not rules.eligible_must_be_assigned)
        for noted in set(LastKnownLeader) - {rules.last_known_leader}:
            yield attrs.evolve(rules, last_known_leader=noted)


def answers_to_leaders(release: str, **otherwise: Any) -> list[dict[str, Any]]:
    """What a release answers by the model to leaders that have their directories: one that has not is replaced as soon
    as the controller knows.
    """
    rules = attrs.evolve(RULES[RELEASES[release]], **otherwise)
    asked = [call for call in calls(release) if isinstance(call, Asking)]
    return [call.on_model(rules) or {} for call in asked if not call.directory_failed[call.leader]]


def test_every_error_is_the_answer_to_some_request() -> None:
    assert {each["error"] for each in answers_to_leaders("4.4.0")} == {each.value for each in AlterPartitionError}


def with_assignments(kafka: Kafka) -> Kafka:
    """The release, asked about replicas in other log directories."""
    if RULES[kafka.name].assigned_directory is AssignedDirectory.NOT_RECORDED:
        pytest.skip("records no directories")
    chance = random.Random(21)
    return Kafka(kafka.name, kafka.classes, [an_assignment(chance) for _ in range(REQUESTS)])


def test_both_sides_record_the_same_of_a_replica_in_another_directory(kafka: Kafka) -> None:
    known, rules = with_assignments(kafka), RULES[kafka.name]
    for levels in (rules, attrs.evolve(rules, elr=False)):
        assert known.first_difference(levels, levels) is None, levels


def test_a_replica_in_another_directory_clears_the_elr_only_where_a_release_does_so(kafka: Kafka) -> None:
    """From 3.7 to 4.2."""
    known, rules = with_assignments(kafka), RULES[kafka.name]
    (other,) = set(AssignedDirectory) - {rules.assigned_directory, AssignedDirectory.NOT_RECORDED}
    wrong = attrs.evolve(rules, assigned_directory=other)
    assert isinstance(known.first_difference(rules, wrong), Assigning)
    assert known.first_difference(attrs.evolve(rules, elr=False), attrs.evolve(wrong, elr=False)) is None


def elects_uncleanly(answer: dict[str, Any]) -> bool:
    """Whether a request makes a leader of a broker that it does not ask for. It is the only member of the ISR."""
    record = answer.get("record", {})
    return record.get("leader", NOBODY) != NOBODY and bool(record.get("recovering"))


def test_alter_partition_elects_uncleanly_only_where_a_reassignment_does_not_wait_for_all() -> None:
    """And with directories, and where the setting is read: from 4.3 on."""
    assert any(map(elects_uncleanly, answers_to_leaders("4.4.0")))
    assert not any(map(elects_uncleanly, answers_to_leaders("4.4.0", completion=Completion.ALL)))
    for release in set(RELEASES) - {"4.3.1", "4.4.0"}:
        assert not any(map(elects_uncleanly, answers_to_leaders(release))), release


def test_a_controller_that_does_not_elect_uncleanly_by_alter_partition_is_found_out(kafka: Kafka) -> None:
    """From 4.3 on: before, it does not, whatever the topic allows."""
    rules = RULES[kafka.name]
    blind = [attrs.evolve(each, unclean=False) if isinstance(each, Asking) else each for each in kafka.calls]
    pairs = zip(blind, kafka.answers(rules), strict=True)
    wrong = [
        call
        for call, shown in pairs
        if isinstance(call, Asking) and not call.directory_failed[call.leader] and call.on_model(rules) != shown
    ]
    assert bool(wrong) == (kafka.name == "4.3")


@pytest.mark.parametrize(
    "wrong",
    [AlterPartitionError.INVALID_REQUEST, AlterPartitionError.NOT_CONTROLLER, AlterPartitionError.UNKNOWN_TOPIC_ID],
)
def test_a_wrong_answer_to_a_request_is_found_out(
    kafka: Kafka, wrong: AlterPartitionError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A controller that takes one error for another, with all other answers right."""
    right = partition_changes.alter_partition_error

    def answer(asked: Led, known: Led, **checks: Any) -> AlterPartitionError:
        error = right(asked, known, **checks)
        return AlterPartitionError.FENCED_LEADER_EPOCH if error is wrong else error

    rules = RULES[kafka.name]
    monkeypatch.setattr(partition_changes, "alter_partition_error", answer)
    assert isinstance(kafka.first_difference(rules, rules), Asking)


def test_every_wrong_rule_is_found_out(kafka: Kafka) -> None:
    for wrong in wrong_rules(kafka.name):
        assert kafka.first_difference(RULES[kafka.name], wrong) is not None, wrong
