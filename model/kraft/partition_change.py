"""How the KRaft controller makes a record that changes a partition: who leads, and who is in ISR and ELR.

All functions are of org.apache.kafka.controller.PartitionChangeBuilder, from 3.5.1 to 4.3.1.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

import attrs

from highwater.model.kraft.partition import UNCHANGED, Brokers, PartitionChange, PartitionRegistration, Unchanged
from highwater.model.kraft.reassignment import Completion, Reassignment, completed
from highwater.model.language.records import evolve
from highwater.model.partition_rules import elr_after, last_known_leader_may_lead, may_lead_if_active

NOBODY = -1
"""What Kafka until 4.1.0 notes as the last known leader of a partition that had none. Until 4.0 it is elected, too."""


class ElectionKind(enum.Enum):
    """Which leader is wanted if the one that leads may not lead on."""

    PREFERRED = "preferred"
    """The first replica, even if another one leads."""
    ONLINE = "online"
    """One of the ISR, or of the ELR if the ISR is empty."""
    UNCLEAN = "unclean"
    """Any replica, if there is no other way."""


class ShrinkBump(enum.Enum):
    """Whether a smaller ISR begins a leader epoch."""

    ASKED_FOR = "asked-for"
    """Yes, if the ISR that was asked for lacks a member (3.5 to 3.7 with a metadata version before 3.6)."""
    RECORDED = "recorded"
    """Yes, if the ISR of the record lacks a member (since 3.8 with a metadata version before 3.6)."""
    NEVER = "never"
    """No (KAFKA-15021, metadata version 3.6)."""


class LastKnownLeader(enum.Enum):
    """When the last known leader is noted."""

    NOT_CLEARED = "not-cleared"
    """When the ISR becomes empty; and what the ELR calculates otherwise replaces it (3.7)."""
    WITH_EMPTY_ISR = "with-empty-isr"
    """When the ISR becomes empty; it is forgotten once the partition has a leader (3.8 to 4.1.0)."""
    WITHOUT_LEADER = "without-leader"
    """When a partition loses its leader; it is forgotten once the partition has one (since 4.1.1)."""


class AssignedDirectory(enum.Enum):
    """What a record that says in which log directory a replica is does with the ELR."""

    NOT_RECORDED = "not-recorded"
    """There is no such record (until 3.6)."""
    CLEARS_ELR = "clears-elr"
    """It is made as if there were no ELR, and clears it (3.7 to 4.2)."""
    KEEPS_ELR = "keeps-elr"
    """It is made like any other (apache/kafka#20716, 4.3)."""


@attrs.frozen
class Rules:
    """What releases and feature levels do differently.

    Attributes:
        elr: whether eligible leader replicas are on (KIP-966).
        elects_last_known_leader: whether the last known leader may lead where ISR and ELR are empty.
        last_known_leader_must_be_active: KAFKA-19522, 4.1.
        eligible_must_be_assigned: whether who is no replica any more leaves the ELR, which no release asks.
        assigned_directory: what `assignment_of` does with the ELR.
        records_recovery: whether an unclean election is recorded as one that needs recovery (metadata version 3.2).
    """

    shrink_bump: ShrinkBump = ShrinkBump.NEVER
    completion: Completion = Completion.ALL_IF_FEWER
    elr: bool = True
    elects_last_known_leader: bool = True
    last_known_leader: LastKnownLeader = LastKnownLeader.WITHOUT_LEADER
    last_known_leader_must_be_active: bool = True
    eligible_must_be_assigned: bool = False
    assigned_directory: AssignedDirectory = AssignedDirectory.KEEPS_ELR
    records_recovery: bool = True


@attrs.frozen
class Target:
    """What is asked for. None stands for what the partition has.

    Attributes:
        min_isr: min.insync.replicas of the topic.
        shut_down_uncleanly: brokers that may have lost records. They leave the ELR.
    """

    isr: Brokers | None = None
    replicas: Brokers | None = None
    removing: Brokers | None = None
    adding: Brokers | None = None
    recovering: bool | None = None
    election: ElectionKind = ElectionKind.ONLINE
    min_isr: int = 1
    shut_down_uncleanly: frozenset[int] = frozenset()


_NOTHING = PartitionChange()


@attrs.frozen
class _Draft:
    """The record in the making: what is asked for, and what is already settled."""

    partition: PartitionRegistration
    isr: Brokers
    elr: Brokers
    last_known_elr: Brokers
    replicas: Brokers
    removing: Brokers
    adding: Brokers
    leader: int | Unchanged | None = UNCHANGED
    unclean: bool = False


def change_of(
    partition: PartitionRegistration, target: Target, is_active: Callable[[int], bool], rules: Rules
) -> PartitionChange | None:
    """The record that leads from a partition to what is asked for, or None if it would change nothing.

    Args:
        is_active: whether a broker may lead: it is neither fenced nor shutting down.
    Source: #build.
    """
    draft = _with_elr(_with_completed_reassignment(_draft(partition, target), rules), target, rules)
    draft = _with_election(draft, target.election, is_active, rules)
    if isinstance(draft.leader, Unchanged) and not {*partition.replicas} <= {*draft.replicas}:
        draft = evolve(draft, leader=partition.leader)
    draft = _with_bump_for_shrink(draft, rules)
    recovering = target.recovering if target.recovering is not None else partition.recovering
    begins_recovery = draft.unclean and not partition.recovering and rules.records_recovery
    change = PartitionChange(
        leader=draft.leader,
        isr=_recorded_isr(draft, rules),
        elr=_if_other(_recorded_elr(draft, rules), partition.elr),
        last_known_elr=_recorded_last_known_elr(draft, rules),
        replicas=_if_other(draft.replicas, partition.replicas) or None,
        removing=_if_other(draft.removing, partition.removing),
        adding=_if_other(draft.adding, partition.adding),
        recovering=recovering if recovering != partition.recovering else True if begins_recovery else None,
    )
    return None if change == _NOTHING else change


def assignment_of(
    partition: PartitionRegistration, min_isr: int, is_active: Callable[[int], bool], rules: Rules
) -> PartitionChange:
    """The record that says in which log directory a replica is, without the directory.

    Args:
        min_isr: min.insync.replicas of the topic.
        is_active: whether a broker may lead.
    Source: org.apache.kafka.controller.ReplicationControlManager#handleAssignReplicasToDirs (3.7.0 to 4.4.0).
    """
    if rules.assigned_directory is AssignedDirectory.CLEARS_ELR:
        rules = attrs.evolve(rules, elr=False)
    return change_of(partition, Target(min_isr=min_isr), is_active, rules) or _NOTHING


def _if_other(wanted: Brokers, present: Brokers) -> Brokers | None:
    return wanted if wanted != present else None


def _draft(partition: PartitionRegistration, target: Target) -> _Draft:
    return _Draft(
        partition,
        isr=partition.isr if target.isr is None else target.isr,
        elr=partition.elr,
        last_known_elr=partition.last_known_elr,
        replicas=partition.replicas if target.replicas is None else target.replicas,
        removing=partition.removing if target.removing is None else target.removing,
        adding=partition.adding if target.adding is None else target.adding,
    )


def _with_completed_reassignment(draft: _Draft, rules: Rules) -> _Draft:
    """Source: #completeReassignmentIfNeeded."""
    reassignment = Reassignment(draft.removing, draft.adding, draft.replicas)
    done = completed(reassignment, draft.isr, rules.completion)
    if done is None:
        return draft
    replicas, isr = done
    return evolve(draft, replicas=replicas, isr=isr, removing=(), adding=())


def _with_elr(draft: _Draft, target: Target, rules: Rules) -> _Draft:
    """Who leaves an ISR below min.insync.replicas is eligible to lead, unless it has shut down uncleanly. Kafka does
    not ask whether it is a replica still.

    Kafka keeps the ELR in the order of a hash set. That is the order of the ids as long as they are small; NOBODY comes
    after 0, with which it shares a bucket.

    Source: #maybePopulateTargetElr (3.7.0 to 4.3.1).
    """
    if not rules.elr:
        return draft
    if len(draft.isr) >= target.min_isr:
        return evolve(draft, elr=(), last_known_elr=())
    before, isr = {*draft.partition.isr}, {*draft.isr}
    gone = {*draft.elr, *before} - {*draft.replicas} if rules.eligible_must_be_assigned else set()
    elr = elr_after({*draft.elr}, before, isr, gone | target.shut_down_uncleanly, target.min_isr)
    known = ({*draft.elr, *before} - gone | {*draft.last_known_elr}) - isr - elr
    return evolve(draft, elr=tuple(sorted(elr)), last_known_elr=tuple(sorted(known, key=_bucket)))


def _bucket(replica: int) -> tuple[int, int]:
    return max(replica, 0), -replica


def _with_election(draft: _Draft, election: ElectionKind, is_active: Callable[[int], bool], rules: Rules) -> _Draft:
    """Source: #tryElection."""
    leader, unclean = elected(draft, election, is_active, rules)
    if leader == draft.partition.leader:
        return draft
    if leader in draft.elr:
        rest = tuple(replica for replica in draft.elr if replica != leader)
        draft = evolve(draft, isr=(leader,), elr=rest)
    return evolve(draft, leader=leader, unclean=unclean)


def elected(
    draft: _Draft, election: ElectionKind, is_active: Callable[[int], bool], rules: Rules
) -> tuple[int | None, bool]:
    """Who is elected, and whether uncleanly.

    Source: #electLeader, #electPreferredLeader, #electAnyLeader.
    """

    def may_be_elected(replica: int | None) -> bool:
        return replica is not None and may_lead_if_active(replica, draft.isr, draft.elr) and is_active(replica)

    leads = (draft.partition.leader,)
    wished = (draft.replicas[0], *leads) if election is ElectionKind.PREFERRED else leads
    for candidate in (*wished, *draft.replicas):
        if may_be_elected(candidate):
            return candidate, False
    if _may_elect_last_known_leader(draft, is_active, rules):
        (known,) = draft.partition.last_known_elr
        return None if known == NOBODY else known, True
    if election is ElectionKind.UNCLEAN:
        return next(((replica, True) for replica in draft.replicas if is_active(replica)), (None, False))
    return None, False


def _may_elect_last_known_leader(draft: _Draft, is_active: Callable[[int], bool], rules: Rules) -> bool:
    """Source: #canElectLastKnownLeader."""
    known = draft.partition.last_known_elr
    if not rules.elr or not rules.elects_last_known_leader or len(known) != 1:
        return False
    must_be_active = rules.last_known_leader_must_be_active
    return last_known_leader_may_lead(draft.isr, draft.elr, lambda: is_active(known[0]), must_be_active=must_be_active)


def _with_bump_for_shrink(draft: _Draft, rules: Rules) -> _Draft:
    """Source: #triggerLeaderEpochBumpIfNeeded (3.5 to 3.7), #triggerLeaderEpochBumpForIsrShrinkIfNeeded (since 3.8)."""
    if rules.shrink_bump is ShrinkBump.NEVER or not isinstance(draft.leader, Unchanged):
        return draft
    isr = draft.isr if rules.shrink_bump is ShrinkBump.ASKED_FOR else _recorded_isr(draft, rules)
    shrinks = isr is not None and not {*draft.partition.isr} <= {*isr}
    return evolve(draft, leader=draft.partition.leader) if shrinks else draft


def _recorded_isr(draft: _Draft, rules: Rules) -> Brokers | None:
    """The ISR of the record. Without ELR it is never empty, and who was elected uncleanly is its only member."""
    if draft.unclean:
        assert not isinstance(draft.leader, Unchanged)
        return (NOBODY if draft.leader is None else draft.leader,)
    return _if_other(draft.isr, draft.partition.isr) if draft.isr or rules.elr else None


def _recorded_elr(draft: _Draft, rules: Rules) -> Brokers:
    """Source: #maybeUpdateRecordElr."""
    return draft.elr if rules.elr and not draft.unclean else ()


def _recorded_last_known_elr(draft: _Draft, rules: Rules) -> Brokers | None:
    """Source: #maybeUpdateRecordElr, #maybeUpdateLastKnownLeader."""
    known, leads_after = draft.partition.last_known_elr, _leader_after(draft)
    notes_leader = rules.elects_last_known_leader
    calculated: Brokers | None = None
    if not notes_leader or rules.last_known_leader is LastKnownLeader.NOT_CLEARED:
        wanted = draft.last_known_elr if rules.elr and not draft.unclean else ()
        if notes_leader and len(known) == 1 and leads_after is None:
            wanted = known
        calculated = _if_other(wanted, known)
    if not notes_leader or not rules.elr:
        return calculated
    leader = (NOBODY if draft.partition.leader is None else draft.partition.leader,)
    if rules.last_known_leader is LastKnownLeader.WITHOUT_LEADER:
        if draft.leader is None and not known:
            return leader
        return () if known and isinstance(draft.leader, int) else calculated
    if _recorded_isr(draft, rules) == () and known != leader:
        return leader
    if rules.last_known_leader is LastKnownLeader.WITH_EMPTY_ISR and known and leads_after is not None:
        return ()
    return calculated


def _leader_after(draft: _Draft) -> int | None:
    return draft.partition.leader if isinstance(draft.leader, Unchanged) else draft.leader
