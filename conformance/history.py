"""The metadata log's records of a partition as steps of the partition model's controller.

Each batch of metadata records that concerns a partition leads from one record of the controller to the next, which
`controller_steps` explains. Metadata that the model does not have, such as the order of replicas and their directories,
are named beside it.

Source: org.apache.kafka.metadata.PartitionRegistration#merge (3.5 to 4.3), which says what a record leaves as it was,
    and when the leader epoch is a new one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from highwater.conformance.controller_steps import Recorded, Rules, explain
from highwater.model.catalogue import MODELS
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Standing

TOPIC, BROKER = 2, 4  # org.apache.kafka.common.config.ConfigResource.Type
KEEPS_LEADER = -2  # of a PartitionChangeRecord: no leader is named
OF_PARTITIONS = frozenset({"PartitionRecord", "PartitionChangeRecord"})
OF_A_BROKER = frozenset({"RegisterBrokerRecord", "BrokerRegistrationChangeRecord", "UnregisterBrokerRecord"})


@attrs.frozen
class Event:
    """What one batch of metadata records did to a partition.

    Attributes:
        offset, time: of the batch, the time in milliseconds since 1970.
        records: the types of the records that concern it.
        after: the controller's record after it.
        steps: the model's steps that explain it; None if none do.
        beside: what it changed that the model does not have.
    """

    offset: int
    time: int
    records: tuple[str, ...]
    after: Recorded
    steps: tuple[str, ...] | None
    beside: str = ""


class History:
    """The metadata log, batch by batch.

    Attributes:
        events: by partition, such as `t-0`, what happened to it.
        recorded: by partition, the controller's last record.
        begun: by partition, the record in the snapshot that the log begins with.
        compacted: the topics whose logs are compacted.
    """

    def __init__(self, preset: str) -> None:
        self.events: dict[str, list[Event]] = {}
        self.recorded: dict[str, Recorded] = {}
        self.begun: dict[str, Recorded] = {}
        self._preset: PartitionProtocol = MODELS["partition"].presets[preset]
        self._topics: dict[str, str] = {}
        self._standings: dict[int, Standing] = {}
        self._configs: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
        self._elr = False

    @property
    def compacted(self) -> frozenset[str]:
        ours = ((topic, configs) for (kind, topic), configs in self._configs.items() if kind == TOPIC)
        return frozenset(topic for topic, configs in ours if "compact" in configs.get("cleanup.policy", ""))

    def begin(self, batches: Iterable[dict[str, Any]], end: int) -> None:
        """Take over what a snapshot holds: all records up to an offset."""
        time = 0
        for batch in batches:
            time = max(time, batch["time"])
            for each in _readable(batch["records"]):
                self._apply(each["type"], each["record"], {}, {})
        self.recorded = {name: self._with_standings(each) for name, each in self.recorded.items()}
        self.begun = dict(self.recorded)
        for name, recorded in self.begun.items():
            self.events[name] = [Event(end, time, (), recorded, (), "as the snapshot has it")]

    def take(self, batch: dict[str, Any]) -> None:
        """Take in one batch of the log, and explain what it did to each partition."""
        before, concerned, notes = dict[str, Recorded | None](), dict[str, list[str]](), dict[str, list[str]]()
        standings, registered, brokers = dict(self._standings), set(), list[tuple[int, str]]()
        for each in _readable(batch["records"]):
            kind, record = each["type"], each["record"]
            if kind in OF_PARTITIONS:
                before.setdefault(self._name(record), self.recorded.get(self._name(record)))
            self._apply(kind, record, concerned, notes)
            if kind == "RegisterBrokerRecord":
                registered.add(record["brokerId"])
            if kind in OF_A_BROKER:
                brokers.append((record["brokerId"], kind))
        moved = [(broker, kind) for broker, kind in brokers if standings.get(broker) != self._standings[broker]]
        touched = [name for name, of in self.recorded.items() if any(each in of.replicas for each, _ in moved)]
        for name in dict.fromkeys([*concerned, *touched]):
            if name not in self.recorded:
                continue  # its topic is gone
            old = before.get(name, self.recorded[name])
            after = self.recorded[name] = self._with_standings(self.recorded[name])
            types = (*concerned.get(name, ()), *(kind for broker, kind in moved if broker in after.replicas))
            beside = "; ".join(dict.fromkeys(notes.get(name, ())))
            steps: tuple[str, ...] | None
            if old is None:
                steps = ("created",) if after.isr <= {*after.replicas} and after.leader in {None, *after.isr} else None
            else:
                steps = explain(old, after, frozenset(registered), self._rules(name))
            if steps == () and not beside:
                steps = None  # a record that changes nothing but the partition epoch
            event = Event(batch["base"], batch["time"], types, after, steps, beside)
            self.events.setdefault(name, []).append(event)

    def _apply(
        self, kind: str, record: dict[str, Any], concerned: dict[str, list[str]], notes: dict[str, list[str]]
    ) -> None:
        match kind:
            case "TopicRecord":
                self._topics[record["topicId"]] = record["name"]
            case "RemoveTopicRecord":
                gone = self._topics.pop(record["topicId"], "")
                self._configs.pop((TOPIC, gone), None)
                self.recorded = {name: each for name, each in self.recorded.items() if name.rpartition("-")[0] != gone}
            case _ if kind in OF_A_BROKER:
                self._standings[record["brokerId"]] = _standing(record, self._standings.get(record["brokerId"]))
            case "FeatureLevelRecord" if record["name"] == "eligible.leader.replicas.version":
                self._elr = record["featureLevel"] > 0
            case "ConfigRecord":
                of = self._configs[record["resourceType"], record["resourceName"]]
                if record["value"] is None:
                    of.pop(record["name"], None)
                else:
                    of[record["name"]] = record["value"].strip().lower()
            case "PartitionRecord" | "PartitionChangeRecord":
                name = self._name(record)
                concerned.setdefault(name, []).append(kind)
                old = self.recorded.get(name)
                if kind == "PartitionRecord":
                    self.recorded[name] = self._with_standings(_created(record))
                elif old is not None:
                    self.recorded[name] = self._with_standings(_merged(old, record))
                    notes.setdefault(name, []).extend(_beside(old, record))

    def _name(self, record: dict[str, Any]) -> str:
        return f"{self._topics.get(record['topicId'], record['topicId'])}-{record['partitionId']}"

    def _with_standings(self, of: Recorded) -> Recorded:
        standings = {broker: self._standings.get(broker, Standing.FENCED) for broker in of.replicas}
        return attrs.evolve(of, standings=standings)

    def _rules(self, partition: str) -> Rules:
        configs = self._configs[BROKER, ""] | self._configs[TOPIC, partition.rpartition("-")[0]]
        protocol = attrs.evolve(
            self._preset,
            elr=self._elr,
            isr_may_be_empty=self._elr and self._preset.isr_may_be_empty,
            unclean_election=configs.get("unclean.leader.election.enable") == "true",
        )
        return Rules(protocol, int(configs.get("min.insync.replicas", "1")))


def _readable(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (each for each in records if "type" in each and "error" not in each["record"])


def _standing(record: dict[str, Any], before: Standing | None) -> Standing:
    """A broker's standing after a record about it. In a change, 1 is yes, -1 is no, and 0 or nothing leaves it."""
    fenced, stopping = record.get("fenced", 0), record.get("inControlledShutdown", 0)
    if isinstance(fenced, bool):
        return Standing.FENCED if fenced else Standing.SHUTTING_DOWN if stopping else Standing.ACTIVE
    if fenced == 1:
        return Standing.FENCED
    if stopping == 1:
        return Standing.SHUTTING_DOWN if before is not Standing.FENCED or fenced == -1 else Standing.FENCED
    return Standing.ACTIVE if fenced == -1 else before or Standing.FENCED


def _leader(number: int) -> int | None:
    return None if number < 0 else number


def _created(record: dict[str, Any]) -> Recorded:
    return Recorded(
        leader=_leader(record["leader"]),
        leader_epoch=record["leaderEpoch"],
        partition_epoch=record["partitionEpoch"],
        isr=frozenset(record["isr"]),
        elr=frozenset(record.get("eligibleLeaderReplicas") or ()),
        replicas=tuple(record["replicas"]),
        standings={},
    )


def _merged(old: Recorded, record: dict[str, Any]) -> Recorded:
    named = record.get("leader", KEEPS_LEADER)
    isr, elr, replicas = (record.get(key) for key in ("isr", "eligibleLeaderReplicas", "replicas"))
    return attrs.evolve(
        old,
        leader=old.leader if named == KEEPS_LEADER else _leader(named),
        leader_epoch=old.leader_epoch + (named != KEEPS_LEADER),
        partition_epoch=old.partition_epoch + 1,
        isr=old.isr if isr is None else frozenset(isr),
        elr=old.elr if elr is None else frozenset(elr),
        replicas=old.replicas if replicas is None else tuple(replicas),
    )


def _beside(old: Recorded, record: dict[str, Any]) -> Iterator[str]:
    """What a record changes that the model does not have."""
    replicas = record.get("replicas")
    if replicas is not None and tuple(replicas) != old.replicas and set(replicas) == set(old.replicas):
        yield f"the replicas are in the order {' '.join(map(str, replicas))}"
    if replicas is None and record.get("directories") is not None:
        yield "directories are assigned"
    for key, words in (
        ("addingReplicas", "replicas are being added"),
        ("removingReplicas", "replicas are being removed"),
        ("lastKnownElr", "the last known leader changes"),
    ):
        if record.get(key) is not None:
            yield words
    if record.get("leaderRecoveryState", -1) >= 0:
        yield "the leader's recovery changes"
