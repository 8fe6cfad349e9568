"""What a controller has recorded while a cluster was under random operations: all of it is explained, and whatever is
changed in it is not.

`recorded/random_operations` has the metadata logs of three clusters, by release, each after fifty operations of
`random_operations.py`: seeds 2, 1 and 2.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highwater.conformance.disk import reading
from highwater.conformance.distribution import find
from highwater.conformance.history import History
from tests.conformance.conftest import NEWEST, harness_of

pytestmark = pytest.mark.xdist_group("kafka")

RECORDED = Path(__file__).parent / "recorded" / "random_operations"
PRESETS = {"3.9.2": "kafka-3.8", "4.1.1": "kafka-4.1", "4.4.0": "kafka-4.3"}
ALTERED = 20  # of each log

Batches = list[dict[str, Any]]


@pytest.fixture(scope="module")
def logs() -> dict[str, Batches]:
    """The batches of each log, by release."""
    harness_of(NEWEST)
    found = {}
    for release in PRESETS:
        with reading(RECORDED / release, find(NEWEST)) as (disk, reader):
            found[release] = [*disk.history(reader)]
    return found


def explained(release: str, batches: Batches) -> History:
    history = History(PRESETS[release])
    for batch in batches:
        history.take(batch)
    history.end()
    return history


@pytest.mark.parametrize("release", PRESETS)
def test_every_change_is_explained(logs: dict[str, Batches], release: str) -> None:
    history = explained(release, logs[release])
    assert not is_wrong(history)
    steps = {step.partition("(")[0] for name in history for event in history[name] for step in event.steps or ()}
    assert len(steps) >= 8, steps
    assert history.changes >= 40


def test_the_rules_of_another_release_do_not_explain_them(logs: dict[str, Batches]) -> None:
    assert explained("3.9.2", logs["4.4.0"]).unexplained
    assert explained("4.4.0", logs["3.9.2"]).unexplained


# Logs that were changed on purpose

Change = Callable[[dict[str, Any], random.Random], None]


def other_leader(record: dict[str, Any], chance: random.Random) -> None:
    """A leader epoch begins, or is another's."""
    record["leader"] = chance.choice([each for each in range(-1, 4) if each != record.get("leader")])


def same_epoch(record: dict[str, Any], chance: random.Random) -> None:
    """A leader epoch is used again."""
    del record["leader"]


def other_isr(record: dict[str, Any], chance: random.Random) -> None:
    """The ISR has one member more, or less."""
    record["isr"] = sorted({*record["isr"]} ^ {chance.randrange(4)})


def other_elr(record: dict[str, Any], chance: random.Random) -> None:
    """The ELR has one member more, or less."""
    record["eligibleLeaderReplicas"] = sorted({*(record.get("eligibleLeaderReplicas") or ())} ^ {chance.randrange(4)})


def other_replicas(record: dict[str, Any], chance: random.Random) -> None:
    """The replicas are not those that the record adds and removes."""
    record["addingReplicas"] = [*(record.get("addingReplicas") or ()), 7]


def recovers(record: dict[str, Any], chance: random.Random) -> None:
    """The leader has to recover."""
    record["leaderRecoveryState"] = 1


def other_standing(record: dict[str, Any], chance: random.Random) -> None:
    """A broker is unfenced instead of fenced, or the other way."""
    record["fenced"] = -record["fenced"]


def is_change(kind: str, record: dict[str, Any], kinds: set[str]) -> bool:
    return kind == "PartitionChangeRecord"


def is_caused(kind: str, record: dict[str, Any], kinds: set[str]) -> bool:
    """Whether a broker is the cause of a change of a partition; a leader might have asked for another ISR."""
    return is_change(kind, record, kinds) and "BrokerRegistrationChangeRecord" in kinds


def is_cause(kind: str, record: dict[str, Any], kinds: set[str]) -> bool:
    fences = kind == "BrokerRegistrationChangeRecord" and bool(record.get("fenced"))
    return fences and "PartitionChangeRecord" in kinds


ALTERATIONS: dict[Change, Callable[[str, dict[str, Any], set[str]], bool]] = {
    other_leader: is_change,
    same_epoch: lambda kind, record, kinds: is_change(kind, record, kinds) and record.get("leader", -2) != -2,
    other_isr: lambda kind, record, kinds: is_caused(kind, record, kinds) and bool(record.get("isr")),
    other_elr: is_change,
    other_replicas: is_change,
    recovers: is_change,
    other_standing: is_cause,
}


def kinds_in(batch: dict[str, Any]) -> set[str]:
    return {each.get("type", "") for each in batch["records"]}


def altered(batches: Batches, chance: random.Random) -> tuple[Batches, str]:
    """A log with one record that is another, or is missing."""
    batches = copy.deepcopy(batches)
    change = chance.choice([*ALTERATIONS, None])
    applies = is_caused if change is None else ALTERATIONS[change]
    places = [
        (batch["records"], at)
        for batch in batches
        for at, each in enumerate(batch["records"])
        if "type" in each
        and applies(each["type"], each["record"], {other.get("type", "") for other in batch["records"]})
    ]
    records, at = chance.choice(places)
    if change is None:
        return batches, f"dropped {records.pop(at)}"
    before = copy.deepcopy(records[at])
    change(records[at]["record"], chance)
    return batches, f"{change.__name__}: {before} is now {records[at]}"


@pytest.mark.parametrize("release", PRESETS)
def test_whatever_is_changed_is_not_explained(logs: dict[str, Batches], release: str) -> None:
    chance = random.Random(release)
    alterations = [altered(logs[release], chance) for _ in range(ALTERED)]
    missed = [words for batches, words in alterations if not is_wrong(explained(release, batches))]
    assert not missed


def is_wrong(history: History) -> bool:
    return bool(history.unexplained or history.findings)
