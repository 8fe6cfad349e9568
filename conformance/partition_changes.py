"""The KRaft controller's pure functions beside Kafka's own classes: the same partition, the same wishes, both records.

The real side is `PartitionChangeBuilder`, `PartitionReassignmentReplicas`, `PartitionReassignmentRevert` and
`ReplicationControlManager`.
"""

from __future__ import annotations

from typing import Any

import attrs

from highwater.conformance.process import Harness, Operation
from highwater.model.kraft.partition import PartitionChange, PartitionRegistration, Unchanged
from highwater.model.kraft.partition_change import NOBODY, Rules, ShrinkBump, Target, change_of
from highwater.model.kraft.reassignment import begun, cancelled
from highwater.model.log import NO_EPOCH
from highwater.model.partition_rules import Led, alter_partition_error

Shown = dict[str, Any] | None


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
        """The call, for `PartitionChanges`. Directories are not assigned, so the metadata version is one before 3.7."""
        asked = {key: getattr(self.target, key) for key in ("isr", "replicas", "removing", "adding", "recovering")}
        return {
            "do": "change",
            "partition": _shown_partition(self.partition),
            "active": sorted(self.active),
            "election": self.target.election.name,
            "min_isr": self.target.min_isr,
            "shut_down_uncleanly": sorted(self.target.shut_down_uncleanly),
            "with_elr": rules.elr,
            "last_known_leader": rules.elects_last_known_leader,
            "recovery": rules.records_recovery,
            "version": "3.6" if rules.shrink_bump is ShrinkBump.NEVER else "3.5",
            **{key: value for key, value in asked.items() if value is not None},
        }

    def on_model(self, rules: Rules) -> Shown:
        """The model's record, as `PartitionChanges` shows Kafka's."""
        made = change_of(self.partition, self.target, self.active.__contains__, rules)
        return None if made is None else _shown_change(made)


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
class Asking:
    """A leader that asks for another ISR with AlterPartition.

    Attributes:
        broker_epochs, fenced: of each broker, as it is registered.
        leader, leader_epoch, partition_epoch: who asks, in which epochs.
        isr: the members that it asks for, each with the broker epoch in which it has fetched, or -1.
    """

    partition: PartitionRegistration
    broker_epochs: tuple[int, ...]
    fenced: tuple[bool, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]

    def on_kafka(self, rules: Rules) -> Operation:
        return {"do": "ask", **attrs.asdict(self), "partition": _shown_partition(self.partition)}

    def on_model(self, rules: Rules) -> str:
        known, members = self.partition, {member for member, _ in self.isr}

        def is_eligible(member: int, fetched_in: int) -> bool:
            return not self.fenced[member] and fetched_in in (NO_EPOCH, self.broker_epochs[member])

        return alter_partition_error(
            Led(self.leader, self.leader_epoch, self.partition_epoch),
            Led(known.leader, known.leader_epoch, known.partition_epoch),
            is_valid=lambda: bool(members) and members <= set(known.replicas) and self.leader in members,
            is_eligible=lambda: all(is_eligible(*member) for member in self.isr),
        ).value


def _shown_partition(partition: PartitionRegistration) -> dict[str, Any]:
    return attrs.asdict(partition) | {"leader": NOBODY if partition.leader is None else partition.leader}


def _shown_change(change: PartitionChange) -> dict[str, Any]:
    shown = {key: value for key, value in attrs.asdict(change).items() if key != "leader" and value is not None}
    if not isinstance(change.leader, Unchanged):
        shown["leader"] = NOBODY if change.leader is None else change.leader
    return _lists(shown)


def _lists(shown: dict[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in shown.items()}
