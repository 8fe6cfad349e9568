"""The decision of the KRaft controller that makes a record which changes a partition.

A few decisions may have made a record: each is tried with the rules by which the controller makes records, and the one
that makes exactly this record explains it. The rules are those that are held against Kafka's own
`PartitionChangeBuilder`.

Source: org.apache.kafka.controller.ReplicationControlManager (3.5.1 to 4.4.0): #generateLeaderAndIsrUpdates and its
    callers, #alterPartition, #electLeader, #alterPartitionReassignment, #handleAssignReplicasToDirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from highwater.model.kraft.partition import PartitionChange, PartitionRegistration, merged
from highwater.model.kraft.partition_change import ElectionKind, Rules, Target, assignment_of, change_of
from highwater.model.kraft.reassignment import begun, cancelled
from highwater.model.language.records import evolve
from highwater.model.partition.state import Standing

NOTHING = PartitionChange()
Decision = tuple[str, Target, int | None]
"""Its name with its arguments, what it asks for, and the broker that may not lead because of it."""


@attrs.frozen
class Situation:
    """What the controller goes by when it makes a record of a partition.

    Attributes:
        rules: the release's, with the features of the cluster.
        min_isr: min.insync.replicas of the topic, at most as many as its first partition has replicas.
        unclean: whether the topic allows unclean elections, and the release goes by that.
        standing: how the controller sees a broker.
        is_active: whether a broker may lead the partition.
        leaving: brokers of which the batch records that they can lead no longer, each with the name of the decision.
        joining: brokers that the batch unfences.
    """

    rules: Rules
    min_isr: int
    unclean: bool
    standing: Callable[[int], Standing]
    is_active: Callable[[int], bool]
    leaving: Sequence[tuple[int, str]]
    joining: Sequence[int]

    @property
    def election(self) -> ElectionKind:
        return ElectionKind.UNCLEAN if self.unclean else ElectionKind.ONLINE

    def target(self, **asked: Any) -> Target:
        """What a decision asks for, with the topic's min.insync.replicas."""
        return Target(min_isr=self.min_isr, **asked)


def decision_of(
    before: PartitionRegistration, record: PartitionChange, situation: Situation, *, directories: bool = False
) -> str | None:
    """The decision that makes a record; None if none does.

    Args:
        directories: whether the record names directories.
    """
    for name, target, gone in _decisions(before, record, situation) if record != NOTHING else ():
        if is_alike(made_by(before, target, gone, situation), record):
            return name
    assigns = directories and record.replicas is None
    if assigns and is_alike(assignment_of(before, situation.min_isr, situation.is_active, situation.rules), record):
        return "assign_directories"
    return None


def made_by(before: PartitionRegistration, target: Target, gone: int | None, situation: Situation) -> PartitionChange:
    """The record that a decision makes.

    Args:
        gone: the broker that may not lead because of it.
    """
    may_lead = situation.is_active
    made = change_of(before, target, lambda broker: broker != gone and may_lead(broker), situation.rules)
    return made or NOTHING


def is_alike(one: PartitionChange, other: PartitionChange) -> bool:
    """Whether two records say the same. Kafka has former members of the ISR in the order of a hash set."""
    return one == other or _in_order(one) == _in_order(other)


def _in_order(record: PartitionChange) -> PartitionChange:
    elr, known = (None if each is None else tuple(sorted(each)) for each in (record.elr, record.last_known_elr))
    return evolve(record, elr=elr, last_known_elr=known)


def taken_out(before: PartitionRegistration, broker: int, situation: Situation, *, uncleanly: bool = False) -> Target:
    """What is asked for where a broker leaves the ISR."""
    isr = tuple(each for each in before.isr if each != broker)
    lost = frozenset({broker}) if uncleanly else frozenset[int]()
    return situation.target(isr=isr, election=situation.election, shut_down_uncleanly=lost)


def _decisions(before: PartitionRegistration, record: PartitionChange, situation: Situation) -> Iterator[Decision]:
    """The decisions that may have made a record."""
    for broker, name in situation.leaving:
        if broker in before.isr or broker in before.elr:
            yield f"{name}(broker b{broker})", taken_out(before, broker, situation), broker
            if name == "register_again":
                lost = taken_out(before, broker, situation, uncleanly=True)
                yield f"{name}(broker b{broker}, clean no)", lost, broker
    if before.leader is None:
        for broker in situation.joining:
            yield f"unfence(broker b{broker})", situation.target(election=situation.election), None
    yield from _of_leader(before, record, situation)
    yield from _of_operator(before, record, situation)


def _of_leader(before: PartitionRegistration, record: PartitionChange, situation: Situation) -> Iterator[Decision]:
    """The answer to AlterPartition. Of an ISR that completes a reassignment, the record lacks who is removed: the
    same record is made as if only the others had been asked for.

    Source: #validateAlterPartitionData, #ineligibleReplicasForIsr (3.5.1 to 4.4.0).
    """
    isr = before.isr if record.isr is None else record.isr
    members = {*isr}
    recovering = before.recovering and record.recovering is not False
    if (
        before.leader is not None
        and before.leader in members | {*before.removing}
        and members <= {*before.replicas}
        and all(situation.standing(each) is Standing.ACTIVE for each in members)
        and not (recovering and len(isr) > 1)
    ):
        target = situation.target(isr=isr, recovering=recovering, election=situation.election)
        yield f"alter_partition(leader b{before.leader})", target, None


def _of_operator(before: PartitionRegistration, record: PartitionChange, situation: Situation) -> Iterator[Decision]:
    """Elections and reassignments that somebody asks for; the controller balances leaders by itself, too."""
    if before.leader != before.replicas[0]:
        yield "elect_preferred_leader", situation.target(election=ElectionKind.PREFERRED), None
    if before.leader is None:
        yield "elect_uncleanly", situation.target(election=ElectionKind.UNCLEAN), None
    after = merged(before, record)
    wanted = tuple(each for each in after.replicas if each not in after.removing)
    if wanted and (record.replicas is not None or record.adding or record.removing):
        ours = begun(before.replicas, wanted)
        replicas = ours.replicas if ours.replicas != before.replicas else None
        target = situation.target(replicas=replicas, removing=ours.removing or None, adding=ours.adding or None)
        yield f"reassign(replicas {' '.join(f'b{each}' for each in wanted)})", target, None
    if (before.adding or before.removing) and {*before.replicas} - {*before.adding}:
        back = cancelled(before)
        if situation.unclean or not back.unclean:
            target = situation.target(
                isr=back.isr, replicas=back.replicas, removing=(), adding=(), election=situation.election
            )
            yield "cancel_reassignment", target, None
