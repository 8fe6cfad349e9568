"""The KRaft controller's pure functions beside Kafka's own classes: the same partition, the same wishes, both records.

The real side is `PartitionChangeBuilder`, `PartitionReassignmentReplicas`, `PartitionReassignmentRevert` and
`ReplicationControlManager`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from highwater.conformance.distribution import numbers_of
from highwater.conformance.process import Harness, Operation
from highwater.model.kraft.partition import PartitionChange, PartitionRegistration, Unchanged
from highwater.model.kraft.partition_change import (
    NOBODY,
    ElectionKind,
    Rules,
    ShrinkBump,
    Target,
    assignment_of,
    change_of,
)
from highwater.model.kraft.reassignment import begun, cancelled
from highwater.model.kraft.releases import rules_of
from highwater.model.log import NO_EPOCH
from highwater.model.partition_rules import AlterPartitionError, Led, alter_partition_error

Shown = dict[str, Any] | None
BUMPS_AS_RECORDED_SINCE = (3, 8)


class PartitionChanges(Harness):
    """Kafka's classes in a Java process. An operation is what `on_kafka` of a call says."""

    program = "PartitionChanges"


@attrs.frozen
class Change:
    """One record: of which partition, to what, and who is active."""

    partition: PartitionRegistration
    target: Target
    active: frozenset[int]

    def on_kafka(self, rules: Rules) -> Operation:
        """The call, for `PartitionChanges`."""
        known = {"partition": _shown_partition(self.partition), "active": sorted(self.active)}
        return {"do": "change", **known, **_shown_target(self.target, rules)}

    def on_model(self, rules: Rules) -> Shown:
        """The model's record, as `PartitionChanges` shows Kafka's."""
        made = change_of(self.partition, self.target, self.active.__contains__, rules)
        return None if made is None else _shown_change(made)


def what_ifs(brokers: int, min_isr: int, release: str) -> list[tuple[Target, Rules]]:
    """What a controller may be asked for in any state of a partition, and under which feature levels and settings."""
    rules, everyone, last = rules_of(release), tuple(range(brokers)), brokers - 1
    bump = ShrinkBump.RECORDED if numbers_of(release) >= BUMPS_AS_RECORDED_SINCE else ShrinkBump.ASKED_FOR
    bumps = attrs.evolve(rules, shrink_bump=bump)
    without_elr = attrs.evolve(rules, elr=False)
    others = attrs.evolve(rules, elects_last_known_leader=False)
    shrunk, empty = Target(isr=(0,), min_isr=min_isr), Target(isr=(), min_isr=min_isr)
    elections = [attrs.evolve(each, election=kind) for each in (empty, shrunk) for kind in ElectionKind]
    removed = Target(isr=everyone, replicas=everyone, removing=(0,), adding=(last,), min_isr=min_isr)
    other = attrs.evolve(empty, replicas=everyone[::-1], election=ElectionKind.UNCLEAN)
    targets = [
        *elections,
        attrs.evolve(empty, shut_down_uncleanly=frozenset({0, last})),
        other,
        Target(replicas=everyone[::-1], election=ElectionKind.PREFERRED, min_isr=min_isr),
        Target(replicas=everyone[1:] or everyone, min_isr=min_isr),
        removed,
        attrs.evolve(removed, isr=(0,), removing=(last,), adding=(0,)),
        Target(recovering=True, min_isr=min_isr),
        Target(isr=everyone, recovering=False, min_isr=min_isr),
    ]
    found = [(target, either) for either in (rules, bumps) for target in targets]
    found += [(target, without_elr) for target in (*elections, other, removed)]
    return found + ([(target, others) for target in elections] if rules.elr else [])


def registered(real: Mapping[str, Any]) -> tuple[PartitionRegistration, frozenset[int]]:
    """The partition as a real controller has it, and the brokers that may lead."""
    fields = {"replicas": "replicas", "isr": "isr", "elr": "elr", "last_known_elr": "lastKnownElr"}
    fields |= {"removing": "removing", "adding": "adding"}
    lists: dict[str, Any] = {name: tuple(real[key]) for name, key in fields.items()}
    leader = None if real["leader"] == NOBODY else real["leader"]
    partition = PartitionRegistration(leader=leader, recovering=real["recovering"], **lists)
    active = frozenset(broker for broker, (standing, _) in enumerate(real["registrations"]) if standing == "active")
    return partition, active


def records(asked: Sequence[tuple[Target, Rules]], real: Mapping[str, Any]) -> Iterator[tuple[str, Shown, Shown]]:
    """What would be recorded of each wish in a real controller's state: in which words, by the model, and by Kafka."""
    partition, active = registered(real)
    for (target, rules), shown in zip(asked, real["records"], strict=True):
        wish = {key: value for key, value in _shown_target(target, rules).items() if key != "recovery"}
        yield f"record for {wish}", Change(partition, target, active).on_model(rules), shown


def _shown_target(target: Target, rules: Rules) -> dict[str, Any]:
    """A wish, as `PartitionChanges` reads it. No directories are assigned: the metadata version is one before 3.7."""
    asked = {key: getattr(target, key) for key in ("isr", "replicas", "removing", "adding", "recovering")}
    return {
        "election": target.election.name,
        "min_isr": target.min_isr,
        "shut_down_uncleanly": sorted(target.shut_down_uncleanly),
        "with_elr": rules.elr,
        "last_known_leader": rules.elects_last_known_leader,
        "recovery": rules.records_recovery,
        "version": "3.6" if rules.shrink_bump is ShrinkBump.NEVER else "3.5",
        **{key: value for key, value in asked.items() if value is not None},
    }


def wishes(asked: Sequence[tuple[Target, Rules]]) -> list[dict[str, Any]]:
    """The same, for the harness."""
    return [_shown_target(target, rules) for target, rules in asked]


@attrs.frozen
class Beginning:
    """A reassignment that begins."""

    current: tuple[int, ...]
    target: tuple[int, ...]

    def on_kafka(self, rules: Rules) -> Operation:
        return {"do": "begin", "current": self.current, "target": self.target}

    def on_model(self, rules: Rules) -> Shown:
        return _lists(attrs.asdict(begun(self.current, self.target)))


@attrs.frozen
class Cancelling:
    """A reassignment that is cancelled."""

    partition: PartitionRegistration

    def on_kafka(self, rules: Rules) -> Operation:
        return {"do": "cancel", "partition": _shown_partition(self.partition)}

    def on_model(self, rules: Rules) -> Shown:
        return _lists(attrs.asdict(cancelled(self.partition)))


@attrs.frozen
class Assigning:
    """A broker that says in which log directory it has its replica.

    Attributes:
        broker: a replica, of which no directory is known.
        active: the brokers that are not fenced.
        min_isr: min.insync.replicas of the topic.
    """

    partition: PartitionRegistration
    broker: int
    active: frozenset[int]
    min_isr: int
    brokers: int = 4

    def on_kafka(self, rules: Rules) -> Operation:
        known = {"partition": _shown_partition(self.partition), "active": sorted(self.active)}
        return {"do": "assign", **attrs.asdict(self), **known, "with_elr": rules.elr}

    def on_model(self, rules: Rules) -> Shown:
        """The record, but for the directory."""
        min_isr = min(self.min_isr, len(self.partition.replicas))
        return _shown_change(assignment_of(self.partition, min_isr, self.active.__contains__, rules))


@attrs.frozen
class Asking:
    """A leader that asks for another ISR with AlterPartition.

    Attributes:
        broker_epochs, fenced, directory_failed: of each broker, as it is registered.
        leader, leader_epoch, partition_epoch: who asks, in which epochs.
        isr: the members that it asks for, each with the broker epoch in which it has fetched, or -1.
        recovering: whether it has to recover from an unclean election, as it says.
        knows_topic: whether it asks about the topic that there is, and not about one of the same name that was deleted.
        unclean: whether the topic allows unclean elections, and the release reads that.
    """

    partition: PartitionRegistration
    broker_epochs: tuple[int, ...]
    fenced: tuple[bool, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    recovering: bool = False
    unclean: bool = False
    knows_topic: bool = True
    directory_failed: tuple[bool, ...] = (False,) * 4

    def on_kafka(self, rules: Rules) -> Operation:
        return {"do": "ask", **attrs.asdict(self), "partition": _shown_partition(self.partition)}

    def on_model(self, rules: Rules) -> Shown:
        """The error, and the record that the request leads to. The cluster has no ELR.

        Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.5.1 to 4.4.0).
        """
        error = self.error
        if error is not AlterPartitionError.NONE:
            return {"error": error.value}
        election = ElectionKind.UNCLEAN if self.unclean else ElectionKind.ONLINE
        target = Target(isr=tuple(member for member, _ in self.isr), recovering=self.recovering, election=election)
        may_lead = lambda broker: not self.fenced[broker] and not self.directory_failed[broker]  # noqa: E731
        made = change_of(self.partition, target, may_lead, attrs.evolve(rules, elr=False))
        if made is None:
            return {"error": error.value}
        if not isinstance(made.leader, Unchanged) and made.leader != self.leader:
            error = AlterPartitionError.NEW_LEADER_ELECTED
        return {"error": error.value, "record": _shown_change(made)}

    @property
    def error(self) -> AlterPartitionError:
        """The error of a request that is refused, or NONE."""
        known, members = self.partition, {member for member, _ in self.isr}

        def is_eligible(member: int, fetched_in: int) -> bool:
            return not self.fenced[member] and fetched_in in (NO_EPOCH, self.broker_epochs[member])

        return alter_partition_error(
            Led(self.leader, self.leader_epoch, self.partition_epoch),
            Led(known.leader, known.leader_epoch, known.partition_epoch),
            knows_topic=lambda: self.knows_topic,
            is_valid=lambda: bool(members) and members <= set(known.replicas) and self.leader in members,
            is_recovery_valid=lambda: not self.recovering or (known.recovering and len(members) == 1),
            is_eligible=lambda: all(is_eligible(*member) for member in self.isr),
        )


def _shown_partition(partition: PartitionRegistration) -> dict[str, Any]:
    return attrs.asdict(partition) | {"leader": NOBODY if partition.leader is None else partition.leader}


def _shown_change(change: PartitionChange) -> dict[str, Any]:
    shown = {key: value for key, value in attrs.asdict(change).items() if key != "leader" and value is not None}
    if not isinstance(change.leader, Unchanged):
        shown["leader"] = NOBODY if change.leader is None else change.leader
    return _lists(shown)


def _lists(shown: dict[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in shown.items()}
