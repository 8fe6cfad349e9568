"""What the KRaft controller records of a partition, as one-line stories; `tests/conformance` holds the same functions
against Kafka's classes.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from highwater.model.kraft.partition import UNCHANGED, PartitionChange, PartitionRegistration, merged
from highwater.model.kraft.partition_change import ElectionKind, Rules, Target, change_of
from highwater.model.kraft.reassignment import Cancelled, Completion, Reassignment, begun, cancelled, completed
from highwater.model.kraft.releases import RULES

THREE = PartitionRegistration(replicas=(0, 1, 2), isr=(0, 1, 2), leader=0)
ALONE = PartitionRegistration(replicas=(0, 1, 2), isr=(0,), leader=0)
ELIGIBLE = PartitionRegistration(replicas=(0, 1, 2), isr=(), leader=None, elr=(1, 2))
LOST = PartitionRegistration(replicas=(0, 1, 2), isr=(), leader=None, last_known_elr=(1,))
MOVING = PartitionRegistration(replicas=(3, 1, 2, 0), isr=(0, 1), leader=0, removing=(0,), adding=(3,))
ALL = frozenset({0, 1, 2, 3})
PARTIAL = attrs.evolve(RULES["4.3"], elects_last_known_leader=False)


def recorded(
    partition: PartitionRegistration, rules: Rules = RULES["4.3"], active: frozenset[int] = ALL, **target: Any
) -> PartitionChange | None:
    return change_of(partition, Target(**target), active.__contains__, rules)


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        pytest.param(recorded(THREE), None, id="nothing changes"),
        pytest.param(recorded(THREE, isr=(0, 1)), PartitionChange(isr=(0, 1)), id="a shrink begins no leader epoch"),
        pytest.param(
            recorded(THREE, RULES["3.5"], isr=(0, 1)),
            PartitionChange(leader=0, isr=(0, 1)),
            id="until 3.5 a shrink begins a leader epoch",
        ),
        pytest.param(
            recorded(attrs.evolve(THREE, isr=(0, 1)), RULES["3.5"], isr=(0, 1, 2)),
            PartitionChange(isr=(0, 1, 2)),
            id="an expansion begins none in any release",
        ),
        pytest.param(
            recorded(THREE, isr=(1, 2), active=ALL - {0}),
            PartitionChange(leader=1, isr=(1, 2)),
            id="the first active replica of the ISR is elected",
        ),
        pytest.param(
            recorded(attrs.evolve(THREE, leader=2), election=ElectionKind.PREFERRED),
            PartitionChange(leader=0),
            id="a preferred election moves leadership to the first replica",
        ),
        pytest.param(recorded(attrs.evolve(THREE, leader=2)), None, id="an active leader leads on"),
        pytest.param(
            recorded(ALONE, RULES["3.6"], isr=(), active=ALL - {0}),
            PartitionChange(leader=None),
            id="without ELR the last member stays in the ISR, and nobody leads",
        ),
        pytest.param(
            recorded(ALONE, isr=(), active=ALL - {0}),
            PartitionChange(leader=None, isr=(), elr=(0,), last_known_elr=(0,)),
            id="with ELR the ISR becomes empty, and the last leader is known",
        ),
        pytest.param(
            recorded(attrs.evolve(ALONE, last_known_elr=(0,)), RULES["3.8"], isr=(), active=ALL - {0}),
            PartitionChange(leader=None, isr=(), elr=(0,)),
            id="but it is not recorded again",
        ),
        pytest.param(
            recorded(THREE, isr=(0,), min_isr=2),
            PartitionChange(isr=(0,), elr=(1, 2)),
            id="who leaves an ISR below min.insync.replicas is eligible",
        ),
        pytest.param(
            recorded(
                attrs.evolve(THREE, last_known_elr=(0, 3)),
                PARTIAL,
                isr=(0,),
                min_isr=2,
                shut_down_uncleanly=frozenset({2}),
            ),
            PartitionChange(isr=(0,), elr=(1,), last_known_elr=(2, 3)),
            id="and last known is who was eligible or known, and is neither eligible nor in the ISR now",
        ),
        pytest.param(
            recorded(attrs.evolve(ELIGIBLE, isr=(0,), leader=0, last_known_elr=(3,)), PARTIAL, isr=(0, 1), min_isr=2),
            PartitionChange(isr=(0, 1), elr=(), last_known_elr=()),
            id="with min.insync.replicas members nobody is eligible or last known",
        ),
        pytest.param(
            recorded(THREE, isr=(0,), min_isr=2, shut_down_uncleanly=frozenset({2})),
            PartitionChange(isr=(0,), elr=(1,)),
            id="but not who has shut down uncleanly",
        ),
        pytest.param(
            recorded(ELIGIBLE, min_isr=2, active=frozenset({2})),
            PartitionChange(leader=2, isr=(2,), elr=(1,)),
            id="an eligible replica is elected and becomes the ISR",
        ),
        pytest.param(
            recorded(attrs.evolve(ELIGIBLE, isr=(0,)), isr=(0, 1, 2), min_isr=2),
            PartitionChange(leader=0, isr=(0, 1, 2), elr=()),
            id="an ISR of min.insync.replicas clears the ELR",
        ),
        pytest.param(
            recorded(LOST, active=frozenset({0, 1})),
            PartitionChange(leader=1, isr=(1,), last_known_elr=(), recovering=True),
            id="the last known leader is elected uncleanly",
        ),
        pytest.param(recorded(LOST, active=frozenset({0})), None, id="but not if it is fenced"),
        pytest.param(
            recorded(LOST, RULES["3.8"], active=frozenset({0})),
            PartitionChange(leader=1, isr=(1,), last_known_elr=(), recovering=True),
            id="until 4.0 it was elected all the same (KAFKA-19522)",
        ),
        pytest.param(
            recorded(LOST, RULES["3.7"], active=frozenset({1})),
            PartitionChange(leader=1, isr=(1,), last_known_elr=(), recovering=True),
            id="3.7 elects the last known leader, too",
        ),
        pytest.param(
            recorded(ALONE, RULES["3.6"], isr=(), active=frozenset({2}), election=ElectionKind.UNCLEAN),
            PartitionChange(leader=2, isr=(2,), recovering=True),
            id="an unclean election leaves one member in the ISR and begins recovery",
        ),
        pytest.param(
            recorded(attrs.evolve(THREE, recovering=True), recovering=False),
            PartitionChange(recovering=False),
            id="a leader says that it has recovered",
        ),
        pytest.param(
            recorded(THREE, replicas=(3, 1, 2, 0), removing=(0,), adding=(3,)),
            PartitionChange(replicas=(3, 1, 2, 0), removing=(0,), adding=(3,)),
            id="a reassignment begins",
        ),
        pytest.param(
            recorded(MOVING, isr=(0, 1, 3)),
            PartitionChange(leader=3, isr=(1, 3), replicas=(3, 1, 2), removing=(), adding=()),
            id="it is complete once what it adds is in the ISR, and leadership leaves the removed replica",
        ),
        pytest.param(
            recorded(MOVING, RULES["4.1"], isr=(0, 1, 3)),
            PartitionChange(isr=(0, 1, 3)),
            id="until 4.2 it waits for a replica that merely stays (KAFKA-19975)",
        ),
        pytest.param(
            recorded(attrs.evolve(THREE, leader=1), replicas=(1, 2), isr=(1, 2)),
            PartitionChange(leader=1, isr=(1, 2), replicas=(1, 2)),
            id="fewer replicas begin a leader epoch",
        ),
    ],
)
def test_a_record_holds_the_changed_fields(made: PartitionChange | None, wanted: PartitionChange | None) -> None:
    assert made == wanted


def test_a_record_that_names_a_leader_begins_a_leader_epoch_and_every_record_a_partition_epoch() -> None:
    shrunk = merged(THREE, PartitionChange(isr=(0, 1)))
    assert shrunk == attrs.evolve(THREE, isr=(0, 1), partition_epoch=1)
    assert merged(shrunk, PartitionChange(leader=0)) == attrs.evolve(shrunk, leader_epoch=1, partition_epoch=2)
    assert merged(shrunk, PartitionChange(leader=None)).leader is None
    assert merged(THREE, PartitionChange(recovering=True)).recovering
    assert repr(PartitionChange().leader) == repr(UNCHANGED) == "UNCHANGED"


def test_a_reassignment_begins_with_the_target_and_keeps_what_it_removes_at_the_end() -> None:
    assert begun((0, 1, 2), (3, 1)) == Reassignment(removing=(0, 2), adding=(3,), replicas=(3, 1, 0, 2))


@pytest.mark.parametrize(
    ("rule", "isr", "done"),
    [
        (Completion.ADDED, (4, 0), ((4, 1, 2), (4,))),
        (Completion.ALL, (4, 0), None),
        (Completion.ALL_IF_FEWER, (4, 0), None),
        (Completion.ALL_IF_FEWER, (4, 1, 2, 0), ((4, 1, 2), (4, 1, 2))),
        (Completion.ADDED, (1, 2, 0), None),
        (Completion.ADDED, (0, 3), None),
    ],
)
def test_a_reassignment_is_complete_by_the_releases_rule(
    rule: Completion, isr: tuple[int, ...], done: tuple[tuple[int, ...], tuple[int, ...]] | None
) -> None:
    assert completed(Reassignment(removing=(0, 3), adding=(4,), replicas=(4, 1, 2, 0, 3)), isr, rule) == done


def test_cancelling_removes_added_replicas_and_reports_an_unclean_election() -> None:
    assert cancelled(MOVING) == Cancelled(replicas=(1, 2, 0), isr=(0, 1), unclean=False)
    assert cancelled(attrs.evolve(MOVING, isr=(3,))) == Cancelled(replicas=(1, 2, 0), isr=(1,), unclean=True)
    with pytest.raises(ValueError, match="adds all replicas"):
        cancelled(PartitionRegistration(replicas=(1,), isr=(1,), leader=1, adding=(1,)))


def test_each_release_has_rules_of_its_own() -> None:
    assert len(set(RULES.values())) == len(RULES)
