"""What the KRaft controller knows after the records of the metadata log: brokers, features, configurations, topics.

Source: org.apache.kafka.controller.ClusterControlManager#replay, ConfigurationControlManager#replay,
    FeatureControlManager#replay, ReplicationControlManager#replay (3.5.1 to 4.4.0).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import Any

import attrs

from highwater.model.kraft.partition import UNCHANGED, PartitionChange, PartitionRegistration, Unchanged
from highwater.model.partition.state import Standing

TOPIC, BROKER = 2, 4  # org.apache.kafka.common.config.ConfigResource.Type
KEEPS_LEADER = -2  # of a PartitionChangeRecord: no leader is named
OF_A_BROKER = frozenset({"RegisterBrokerRecord", "BrokerRegistrationChangeRecord", "UnregisterBrokerRecord"})
CORDON = "cordon_directories"  # KIP-1066: takes no broker out of anything
PRE_MIGRATION = 2  # of a ZkMigrationStateRecord
ELR, METADATA_VERSION = "eligible.leader.replicas.version", "metadata.version"
CLEANUP = frozenset({"cleanup.policy", "log.cleanup.policy"})  # of a topic, of a broker
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
UNASSIGNED, LOST, MIGRATING = (f"{'A' * 21}{last}" for last in "AQg")
"""Ids that stand for no directory; of the second it is known that it is gone (org.apache.kafka.common.DirectoryId)."""


@attrs.frozen
class Recorded:
    """The controller's record of a partition.

    Attributes:
        registration: as in Kafka.
        standings: by broker of the assignment, how the controller sees it.
    """

    registration: PartitionRegistration
    standings: Mapping[int, Standing]

    @property
    def leader(self) -> int | None:
        return self.registration.leader

    @property
    def leader_epoch(self) -> int:
        return self.registration.leader_epoch

    @property
    def partition_epoch(self) -> int:
        return self.registration.partition_epoch

    @property
    def isr(self) -> Set[int]:
        return frozenset(self.registration.isr)

    @property
    def elr(self) -> Set[int]:
        return frozenset(self.registration.elr)

    @property
    def replicas(self) -> tuple[int, ...]:
        return self.registration.replicas


@attrs.frozen
class Move:
    """A broker that the controller has come to see in another way.

    Attributes:
        offset, time: of the batch.
        record: its type.
        step: the decision.
    """

    offset: int
    time: int
    record: str
    step: str
    standing: Standing


class Brokers:
    """How the controller sees the brokers.

    Attributes:
        moves: by broker, how it has come to see it, in order.
    """

    def __init__(self) -> None:
        self.moves: dict[int, list[Move]] = defaultdict(list)
        self._standings: dict[int, Standing] = {}
        self._directories: dict[int, frozenset[str]] = {}
        self._incarnations: dict[int, str | None] = {}

    def amends(self, record: Mapping[str, Any]) -> bool:
        """Whether a record amends a broker's registration, as after an upgrade of metadata.version: the process is the
        same, and goes on.

        Source: ClusterControlManager#registerBroker (3.5.1 to 4.4.0).
        """
        incarnation = record.get("incarnationId")
        return incarnation is not None and incarnation == self._incarnations.get(record["brokerId"])

    def standing(self, broker: int) -> Standing:
        """How it sees a broker now; one that is not registered counts as fenced."""
        return self._standings.get(broker, Standing.FENCED)

    def standing_at(self, broker: int, offset: int) -> Standing:
        """How it saw a broker after the batch at an offset."""
        moves = self.moves.get(broker, [])
        behind = bisect_right(moves, offset, key=lambda move: move.offset)
        return moves[behind - 1].standing if behind else Standing.FENCED

    def has(self, broker: int, directory: str) -> bool:
        """Whether a directory of a broker is not known to be gone.

        Source: org.apache.kafka.common.DirectoryId#isOnline (3.7.0 to 4.4.0).
        """
        online = self._directories.get(broker)
        return directory != LOST and (directory in (UNASSIGNED, MIGRATING) or not online or directory in online)

    def take(self, kind: str, record: Mapping[str, Any], offset: int, time: int) -> None:
        """Take in a record of a broker."""
        broker, before = record["brokerId"], self._standings.get(record["brokerId"])
        after = Standing.FENCED if kind == "UnregisterBrokerRecord" else _standing(record, before)
        if record.get("logDirs"):
            self._directories[broker] = frozenset(record["logDirs"])
        if kind != "BrokerRegistrationChangeRecord":
            self._incarnations[broker] = record.get("incarnationId")
        self._standings[broker] = after
        if after is not (before or Standing.FENCED):
            step = f"{decision_about(kind, record)}(broker b{broker})"
            self.moves[broker].append(Move(offset, time, kind, step, after))


def decision_about(kind: str, record: Mapping[str, Any]) -> str:
    """The controller's decision to which a record of a broker belongs."""
    if kind != "BrokerRegistrationChangeRecord":
        return "unregister_broker" if kind == "UnregisterBrokerRecord" else "register_again"
    if record.get("fenced", 0):
        return "fence" if record["fenced"] > 0 else "unfence"
    if record.get("inControlledShutdown", 0):
        return "enter_controlled_shutdown"
    return "take_out_failed_directory" if record.get("logDirs") else CORDON


def _standing(record: Mapping[str, Any], before: Standing | None) -> Standing:
    """A broker's standing after a record about it. In a change, 1 is yes, -1 is no, and 0 or nothing leaves it."""
    fenced, stopping = record.get("fenced", 0), record.get("inControlledShutdown", 0)
    if isinstance(fenced, bool):
        return Standing.FENCED if fenced else Standing.SHUTTING_DOWN if stopping else Standing.ACTIVE
    if fenced == 1:
        return Standing.FENCED
    if stopping == 1:
        return Standing.SHUTTING_DOWN if before is not Standing.FENCED or fenced == -1 else Standing.FENCED
    return Standing.ACTIVE if fenced == -1 else before or Standing.FENCED


class Partitions:
    """The registered partitions, by name, such as `t-0`.

    Attributes:
        in_isr: by broker, the partitions that have it in their ISR.
        leaderless: those that nobody leads.
        topic_ids: of all topics that there are or were.
    """

    def __init__(self) -> None:
        self.in_isr: dict[int, set[str]] = defaultdict(set)
        self.leaderless: set[str] = set()
        self._topics: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self.topic_ids: set[str] = set()
        self._named: dict[str, dict[str, PartitionRegistration]] = defaultdict(dict)
        self._known: dict[str, PartitionRegistration] = {}
        self._directories: dict[str, tuple[str, ...]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def get(self, name: str) -> PartitionRegistration | None:
        return self._known.get(name)

    def of_topic(self, topic: str) -> list[str]:
        return [*self._named.get(topic, ())]

    def begin_topic(self, record: Mapping[str, Any]) -> None:
        self._topics[record["topicId"]] = record["name"]
        self._ids[record["name"]] = record["topicId"]
        self.topic_ids.add(record["topicId"])

    def end_topic(self, record: Mapping[str, Any]) -> tuple[str, dict[str, PartitionRegistration]]:
        """Forget a topic, and return its name and its partitions."""
        topic = self._topics.pop(record["topicId"], "")
        self._ids.pop(topic, None)
        gone = self._named.pop(topic, {})
        for name, known in gone.items():
            del self._known[name]
            self._directories.pop(name, None)
            self._unlist(name, known)
        return topic, gone

    def topic_id(self, topic: str) -> str | None:
        """The id of the topic that has a name now."""
        return self._ids.get(topic)

    def name(self, record: Mapping[str, Any]) -> str:
        """The partition that a record is about."""
        return f"{self._topics.get(record['topicId'], record['topicId'])}-{record['partitionId']}"

    def replication_factor(self, topic: str) -> int | None:
        """How many replicas the first partition of a topic has."""
        first = self._known.get(f"{topic}-0")
        return None if first is None else len(first.replicas)

    def directory(self, name: str, broker: int) -> str:
        """In which directory a broker has its replica."""
        directories, known = self._directories.get(name, ()), self._known[name]
        at = known.replicas.index(broker) if broker in known.replicas else len(directories)
        return directories[at] if at < len(directories) else MIGRATING

    def put(self, name: str, after: PartitionRegistration, directories: Any = None) -> None:
        """Register a partition, or what has become of it."""
        before = self._known.get(name)
        if directories is not None:
            self._directories[name] = tuple(directories)
        elif before is not None and before.replicas != after.replicas:
            self._directories.pop(name, None)
        if before is not None:
            self._unlist(name, before)
        self._known[name] = self._named[name.rpartition("-")[0]][name] = after
        for broker in after.isr:
            self.in_isr[broker].add(name)
        if after.leader is None:
            self.leaderless.add(name)

    def _unlist(self, name: str, known: PartitionRegistration) -> None:
        for broker in known.isr:
            self.in_isr[broker].discard(name)
        self.leaderless.discard(name)


class Settings:
    """Features of the cluster, and configurations of topics.

    Attributes:
        elr: whether eligible leader replicas are on.
        level: of metadata.version; None if it is not recorded.
        migrating: whether partitions are being taken over from ZooKeeper.
    """

    def __init__(self) -> None:
        self.elr = False
        self.level: int | None = None
        self.migrating = False
        self._configs: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
        self._of: dict[str, tuple[int, bool]] = {}  # asked of each change
        self._compacted: set[tuple[int, str] | int] = set()  # topics, and BROKER if one may compact any

    def may_be_compacted(self, topic: str) -> bool:
        """Whether the logs of a topic are or were compacted: gaps stay once the policy has changed."""
        return bool({(TOPIC, topic), BROKER} & self._compacted)

    def of(self, topic: str) -> tuple[int, bool]:
        """What a topic goes by, its own value or the cluster's: min.insync.replicas, and whether elections may be
        unclean.
        """
        found = self._of.get(topic)
        if found is None:
            own = {key: value for key, value in self._configs.get((TOPIC, topic), {}).items() if value}
            configs = {**self._configs[BROKER, ""], **own}
            found = int(configs.get(MIN_ISR, "1")), configs.get(UNCLEAN) == "true"
            self._of[topic] = found
        return found

    def forget(self, topic: str) -> None:
        self._of.pop(topic, None)
        self._configs.pop((TOPIC, topic), None)
        self._compacted.discard((TOPIC, topic))

    def take_feature(self, record: Mapping[str, Any]) -> None:
        if record["name"] == ELR:
            self.elr = record["featureLevel"] > 0
        elif record["name"] == METADATA_VERSION:
            self.level = record["featureLevel"]

    def take_migration(self, record: Mapping[str, Any]) -> None:
        """Source: org.apache.kafka.metadata.migration.ZkMigrationState (3.4.0 to 3.9.2)."""
        self.migrating = record["zkMigrationState"] == PRE_MIGRATION

    def take_configuration(self, record: Mapping[str, Any]) -> None:
        self._of.clear()
        of = self._configs[record["resourceType"], record["resourceName"]]
        if record["value"] is None:
            of.pop(record["name"], None)
        else:
            of[record["name"]] = record["value"].strip().lower()
            if record["name"] in CLEANUP and "compact" in of[record["name"]]:
                kind = record["resourceType"]
                self._compacted.add((TOPIC, record["resourceName"]) if kind == TOPIC else kind)


def registration_of(record: Mapping[str, Any]) -> PartitionRegistration:
    """A partition as its first record has it.

    Source: org.apache.kafka.metadata.PartitionRegistration (3.5.1 to 4.4.0).
    """
    return PartitionRegistration(
        replicas=tuple(record["replicas"]),
        isr=tuple(record["isr"]),
        leader=_leader(record["leader"]),
        elr=tuple(record.get("eligibleLeaderReplicas") or ()),
        last_known_elr=tuple(record.get("lastKnownElr") or ()),
        removing=tuple(record.get("removingReplicas") or ()),
        adding=tuple(record.get("addingReplicas") or ()),
        recovering=record.get("leaderRecoveryState", 0) == 1,
        leader_epoch=record["leaderEpoch"],
        partition_epoch=record["partitionEpoch"],
    )


_LISTS = {
    "isr": "isr", "elr": "eligibleLeaderReplicas", "last_known_elr": "lastKnownElr",
    "replicas": "replicas", "removing": "removingReplicas", "adding": "addingReplicas",
}  # fmt: skip


def change_in(record: Mapping[str, Any]) -> PartitionChange:
    """What a PartitionChangeRecord names, directories left out."""
    named, recovery = record.get("leader", KEEPS_LEADER), record.get("leaderRecoveryState", -1)
    leader: int | Unchanged | None = UNCHANGED if named == KEEPS_LEADER else _leader(named)
    lists = {field: tuple(value) for field, key in _LISTS.items() if (value := record.get(key)) is not None}
    return PartitionChange(leader, recovering=None if recovery < 0 else recovery == 1, **lists)


def _leader(number: int) -> int | None:
    return None if number < 0 else number
