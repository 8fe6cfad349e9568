"""The model of requests takes random walks beside Kafka's own ReplicaManager, Partition and purgatories."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import pytest

from highwater.claims.spec import make_spec
from highwater.conformance.distribution import find
from highwater.conformance.process import Harness, Operation
from highwater.explorer.system import Cut, System, successor
from highwater.model.language.declarations import Instance
from highwater.model.requests.definition import REQUESTS
from highwater.model.requests.leading import commit
from highwater.model.requests.protocol import LostLeadership
from highwater.model.requests.state import Acks, Answer, Broker, Kind, Part, Phase, Request, Role
from tests.conformance.conftest import harness_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kafka")]

RELEASES = ("3.6.2", "3.7.2", "3.8.1", "4.4.0")
WALKS = 100
STEPS = 60  # that are tried
BOUNDS = {
    "partitions": 2, "log_length_max": 3, "records_max": 4, "produces": 4, "fetches": 4, "min_records_max": 2,
    "isr_changes": 3, "leadership_losses": 2, "stops": 1,
}  # fmt: skip
ACKS = {Acks.LEADER: 1, Acks.ALL: -1, Acks.INVALID: 2}


class SeveralPartitions(Harness):
    """One broker of Kafka's in a Java process. An operation begins anew or is a step, and is answered with what is seen
    after it.
    """

    program = "SeveralPartitions"


@attrs.frozen
class Walk:
    """Operations, and what the model has after each of them."""

    operations: list[Operation]
    seen: list[dict[str, Any]]


def under(preset: str, **rules: Any) -> System:
    protocol = {name: getattr(value, "value", value) for name, value in rules.items()}
    keys = {"model": "requests", "preset": preset, "protocol": protocol, "bounds": BOUNDS}
    return make_spec("requests", {**keys, "check": ["requests_wait_for_a_reason"]}).system()


def walked(system: System, seed: int) -> Walk:
    """Some steps that the model allows within the bounds: of each action as many, if it is enabled as often. Where the
    ISR has a record, and the model does not commit it, Kafka must not, either.
    """
    chance, (state,) = random.Random(seed), system.initial
    walk = Walk([{"do": "begin", "partitions": BOUNDS["partitions"]}], [seen(state)])
    by_name: dict[str, list[Instance]] = {}
    for instance in system.actions:
        by_name.setdefault(instance.of.name, []).append(instance)
    for _ in range(STEPS):
        instance = chance.choice(by_name[chance.choice(list(by_name))])
        after = successor(instance, state, system.domain)
        if after is None and instance.of is commit and state.partitions[instance.arguments["partition"]].tail:
            after = state
        if after is not None and not isinstance(after, Cut):
            walk.operations.append(
                {"do": instance.of.name, **shown(instance.arguments), "record": state.next_record_id}
            )
            state = after
            walk.seen.append(seen(state))
    return walk


def shown(arguments: Any) -> dict[str, Any]:
    names = {"needs_records": "needs"}
    return {names.get(name, name): as_json(value) for name, value in arguments.items()}


def as_json(value: Any) -> Any:
    if isinstance(value, Acks):
        return ACKS[value]
    return sorted(value) if isinstance(value, frozenset) else getattr(value, "value", value)


def seen(broker: Broker) -> dict[str, Any]:
    """What the harness shows of Kafka's broker: nothing of a request that waits."""
    logs = [
        None if hosted.role is Role.NOTHING else [list(hosted.committed), list(hosted.tail)]
        for hosted in broker.partitions
    ]
    return {"logs": logs, **{kind.value: response(broker.of(kind), kind) for kind in Kind}}


def response(request: Request, kind: Kind) -> dict[str, Any] | None:
    if request.phase is not Phase.ANSWERED:
        return None
    asked = {str(number): part for number, part in enumerate(request.parts) if part.answer is not None}
    return {
        number: error(part) if kind is Kind.PRODUCE else [error(part), part.count] for number, part in asked.items()
    }


def error(part: Part) -> str:
    assert part.answer is not None
    return "NONE" if part.answer is Answer.SUCCESS else part.answer.value


def differences(kafka: SeveralPartitions, walks: Iterable[Walk]) -> Iterator[str]:
    """The first step of each walk after which Kafka shows something else."""
    for walk in walks:
        for operation, ours, real in zip(walk.operations, walk.seen, kafka.run(walk.operations), strict=True):
            if ours != real:
                yield f"{operation}: {ours} in the model, {real} in Kafka"
                break


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[SeveralPartitions]:
    harness_of(request.param)
    with SeveralPartitions(find(request.param)) as started:
        yield started


def test_random_walks_of_the_model_are_kafkas(kafka: SeveralPartitions) -> None:
    preset = REQUESTS.presets_for(kafka.distribution.release)[-1]
    system = under(preset)
    walks = [walked(system, seed) for seed in range(WALKS)]
    assert list(differences(kafka, walks)) == []
    done = {operation["do"] for walk in walks for operation in walk.operations}
    assert {instance.of.name for instance in system.actions} <= done
    answers = {answer for walk in walks for each in walk.seen for answer in (each["produce"] or {}).values()}
    answers |= {answer for walk in walks for each in walk.seen for answer, _ in (each["fetch"] or {}).values()}
    assert {each.value for each in Answer} - answers <= {
        Answer.WAITS.value, Answer.SUCCESS.value, Answer.NOT_ENOUGH_AFTER_APPEND.value,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("lost_leadership_answers", LostLeadership.FOLLOWERS),
        ("lost_leadership_answers", LostLeadership.NOBODY),
        ("high_watermark_requires_min_isr", None),
        ("fetches_ahead_wait", None),
    ],
)
def test_a_rule_set_wrong_is_contradicted(kafka: SeveralPartitions, rule: str, value: Any) -> None:
    preset = REQUESTS.presets_for(kafka.distribution.release)[-1]
    wrong = value if value is not None else not getattr(REQUESTS.presets[preset], rule)
    system = under(preset, **{rule: wrong})
    assert next(differences(kafka, (walked(system, seed) for seed in range(WALKS))), "")
