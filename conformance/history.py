"""The metadata log, batch by batch: how the controller's record of each partition has changed, and by which decision.

Each record is held against what the controller's rules make (`decisions`). After each batch nothing may be left undone:
a broker that has been fenced is in no ISR that it can leave, and where an unfenced broker can lead, somebody leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import attrs

from highwater.conformance.controller_image import (
    CORDON,
    MIN_ISR,
    OF_A_BROKER,
    TOPIC,
    Brokers,
    Partitions,
    Recorded,
    Settings,
    change_in,
    decision_about,
    registration_of,
)
from highwater.conformance.decisions import NOTHING, Situation, decision_of, made_by, taken_out
from highwater.conformance.disk import METADATA, Finding
from highwater.conformance.events import DELETED, Event, together, with_moves
from highwater.conformance.metadata_versions import preset_of_level, reads_unclean_setting, rules_of
from highwater.model.kraft.partition import PartitionChange, PartitionRegistration, merged
from highwater.model.kraft.protocol import KraftProtocol, Reregistration
from highwater.model.kraft.releases import PRESETS
from highwater.model.partition.state import Standing

MOST_RECORDS = 10_000
"""Of a batch. What a decision records beyond that stands in the next one (QuorumController#MAX_RECORDS_PER_BATCH)."""


@attrs.frozen
class _Record:
    """A record, and the batch that it stands in."""

    kind: str
    fields: Mapping[str, Any]
    offset: int
    time: int


class History(Mapping[str, list[Event]]):
    """The history of each partition, such as `t-0`.

    Attributes:
        preset: whose rules explain what comes next.
        presets: those whose rules were tried, in order.
        begun: by partition, the record in the snapshot that the log begins with.
        unexplained: by partition, the first batch that no decision of the controller explains.
        findings: what is wrong with the records of brokers.
        changes: how many batches have recorded something of a partition, summed over the partitions.
    """

    def __init__(self, preset: str | None) -> None:
        """Begin a history.

        Args:
            preset: whose rules explain it; None for those of the release that the cluster's metadata.version names.
        """
        self._follows = preset is None
        self.preset = preset or [*PRESETS][-1]
        self.presets: dict[str, None] = {}
        self.begun: dict[str, Recorded] = {}
        self.unexplained: dict[str, Event] = {}
        self.findings: list[Finding] = []
        self.changes = 0
        self._events: dict[str, list[Event]] = {}
        self._brokers, self._partitions, self._settings = Brokers(), Partitions(), Settings()
        self._take_rules()
        self._held: list[_Record] = []
        self._leaving: list[tuple[int, str]] = []
        self._joining: list[int] = []
        self._other_min_isrs: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, name: str) -> list[Event]:
        return [*with_moves(self._events[name], self._brokers)]

    def changes_of(self, name: str) -> int:
        """How many batches have recorded something of a partition."""
        return len(self._events.get(name, ()))

    def may_be_compacted(self, topic: str) -> bool:
        """Whether the logs of a topic are or were compacted."""
        return self._settings.may_be_compacted(topic)

    def recorded(self, name: str) -> Recorded | None:
        """The controller's last record of a partition; None if its topic is gone."""
        known = self._partitions.get(name)
        if known is None:
            return None
        return Recorded(known, {each: self._brokers.standing(each) for each in known.replicas})

    def topic_id(self, topic: str) -> str | None:
        """The id of the topic that has a name in the end; None if none has."""
        return self._partitions.topic_id(topic)

    @property
    def topic_ids(self) -> Set[str]:
        """The ids of all topics that it has met."""
        return self._partitions.topic_ids

    def begin(self, batches: Iterable[dict[str, Any]], end: int) -> None:
        """Take over what a snapshot holds: all records up to an offset."""
        time = 0
        for batch in batches:
            time = max(time, batch["time"])
            for record in _readable(batch):
                self._replay(attrs.evolve(record, offset=end, time=time))
        for name in self._partitions:
            known = self.recorded(name)
            assert known is not None
            self.begun[name] = known
            self._note(name, _Record("", {}, end, time), (), "as the snapshot has it")

    def take(self, batch: dict[str, Any]) -> None:
        """Take in one batch of the log, and explain what it did to each partition."""
        self._held += _readable(batch)
        if len(batch["records"]) < MOST_RECORDS:
            self.end()

    def end(self) -> None:
        """Take in what could have gone on in a further batch."""
        records, self._held = self._held, []
        about = [
            (record.fields["brokerId"], decision_about(record.kind, record.fields), record)
            for record in records
            if record.kind in OF_A_BROKER and not self._brokers.amends(record.fields)
        ]
        self._joining = [broker for broker, decision, _ in about if decision == "unfence"]
        self._leaving = [(broker, decision) for broker, decision, _ in about if decision not in ("unfence", CORDON)]
        self._other_min_isrs.clear()
        for record in records:
            self._replay(record, explained=True)
        for broker, decision, record in about:
            if decision == "enter_controlled_shutdown":
                self._expect_out_of_isrs(broker, record)
            elif decision == "unfence" and self._brokers.standing(broker) is Standing.ACTIVE:
                self._expect_leaders(broker, record)

    def _replay(self, record: _Record, *, explained: bool = False) -> None:
        fields = record.fields
        match record.kind:
            case "TopicRecord":
                self._partitions.begin_topic(fields)
            case "RemoveTopicRecord":
                self._end_topic(record)
            case kind if kind in OF_A_BROKER:
                if explained:
                    self._expect_fenced(record)
                amends = self._brokers.amends(fields)
                self._brokers.take(kind, fields, record.offset, record.time)
                if explained and not amends:
                    self._expect_departure(record)
            case "FeatureLevelRecord":
                self._settings.take_feature(fields)
                if self._follows and self._settings.level is not None:
                    self.preset = preset_of_level(self._settings.level)
                self._take_rules()
            case "ConfigRecord":
                self._settings.take_configuration(fields)
                if fields["name"] == MIN_ISR:
                    self._other_min_isrs.add(fields["resourceName"] if fields["resourceType"] == TOPIC else "")
            case "ZkMigrationStateRecord":
                self._settings.take_migration(fields)
            case "ClearElrRecord":
                self._clear_elr(record)
            case "PartitionRecord":
                self._create(record, explained=explained)
            case "PartitionChangeRecord":
                self._change(record)

    def _take_rules(self) -> None:
        """Go by the rules of the preset under the cluster's features."""
        level = self._settings.level
        self._rules = rules_of(self.preset, level, elr=self._settings.elr)
        self._reads_unclean = reads_unclean_setting(self.preset, level)

    def _end_topic(self, record: _Record) -> None:
        topic, gone = self._partitions.end_topic(record.fields)
        self._settings.forget(topic)
        for name, known in gone.items():
            self._add(name, self._event(record, known, (DELETED,)))

    def _create(self, record: _Record, *, explained: bool) -> None:
        """Source: ReplicationControlManager#createTopic, #createPartitions (3.5.1 to 4.4.0),
        QuorumController.MigrationRecordConsumer#acceptBatch (3.5.1 to 3.9.1).
        """
        name, made = self._partitions.name(record.fields), registration_of(record.fields)
        is_new = self._partitions.get(name) is None
        self._partitions.put(name, made, record.fields.get("directories"))
        if explained:
            isr = tuple(each for each in made.replicas if self._brokers.standing(each) is Standing.ACTIVE)
            expected = PartitionRegistration(made.replicas, isr, isr[0] if isr else None)
            created = ("created",) if is_new and isr and made == expected else None
            self._note(name, record, ("migrate_from_zookeeper",) if self._settings.migrating else created)

    def _change(self, record: _Record) -> None:
        name, change = self._partitions.name(record.fields), change_in(record.fields)
        before = self._partitions.get(name)
        if before is None:
            return  # its topic is gone
        directories = record.fields.get("directories")
        situation = self._situation(name)
        decision = decision_of(before, change, situation, directories=directories is not None)
        self._partitions.put(name, merged(before, change), directories)
        self._note(name, record, None if decision is None else (decision,))

    def _clear_elr(self, record: _Record) -> None:
        """Source: ConfigurationControlManager#createClearElrRecordsAsNeeded, ReplicationControlManager#removeTopicElrs
        (4.0.0 to 4.4.0).
        """
        topic = record.fields.get("topicName") or ""
        steps = ("set_min_isr",) if topic in self._other_min_isrs else None
        for name in self._partitions.of_topic(topic) if topic else [*self._partitions]:
            known = self._partitions.get(name)
            if known is not None and (known.elr or known.last_known_elr):
                self._partitions.put(name, merged(known, PartitionChange(elr=(), last_known_elr=())))
                self._note(name, record, steps)

    def _expect_fenced(self, record: _Record) -> None:
        """Source: BrokerHeartbeatManager#calculateNextBrokerState (3.5.1 to 4.4.0)."""
        broker = record.fields["brokerId"]
        standing = self._brokers.standing(broker)
        if decision_about(record.kind, record.fields) == "unfence" and standing is not Standing.FENCED:
            words = f"the record at offset {record.offset} unfences b{broker}, which is {standing.value}"
            self.findings.append(Finding("only_fenced_brokers_are_unfenced", METADATA, words))

    def _expect_departure(self, record: _Record) -> None:
        """What a decision has to record before it records the broker.

        Source: ReplicationControlManager#handleBrokerFenced, #handleBrokerUnregistered (3.5.1 to 4.4.0),
            #handleBrokerShutdown (4.0.0 to 4.4.0), #handleUncleanBrokerShutdown (3.8.0 to 3.9.2).
        """
        decision = decision_about(record.kind, record.fields)
        if decision in ("fence", "unregister_broker") or (decision == "register_again" and self._leaves_to_register):
            self._expect_out_of_isrs(record.fields["brokerId"], record)

    @property
    def _protocol(self) -> KraftProtocol:
        return PRESETS[self.preset]

    @property
    def _leaves_to_register(self) -> bool:
        rule = self._protocol.reregistration
        return rule is Reregistration.ISR or (rule is Reregistration.ISR_WITH_ELR and self._settings.elr)

    def _expect_out_of_isrs(self, broker: int, record: _Record) -> None:
        for name in sorted(self._partitions.in_isr.get(broker, ())):
            known = self._partitions.get(name)
            assert known is not None
            situation = self._situation(name)
            left = merged(known, made_by(known, taken_out(known, broker, situation), broker, situation))
            if broker not in left.isr or broker == known.leader:
                self._note(name, record, None, f"no record takes b{broker} out of the ISR")

    def _expect_leaders(self, broker: int, record: _Record) -> None:
        for name in sorted(self._partitions.leaderless):
            known = self._partitions.get(name)
            assert known is not None
            situation = self._situation(name)
            if made_by(known, situation.target(election=situation.election), None, situation) != NOTHING:
                self._note(name, record, None, f"b{broker} may lead, and no record elects a leader")

    def _situation(self, name: str) -> Situation:
        topic = name.rpartition("-")[0]
        (min_isr, unclean), factor = self._settings.of(topic), self._partitions.replication_factor(topic)
        brokers, partitions = self._brokers, self._partitions

        def is_active(broker: int) -> bool:
            active = brokers.standing(broker) is Standing.ACTIVE
            return active and brokers.has(broker, partitions.directory(name, broker))

        return Situation(
            rules=self._rules,
            min_isr=min_isr if factor is None else min(min_isr, factor),
            unclean=unclean and self._reads_unclean,
            standing=brokers.standing,
            is_active=is_active,
            leaving=self._leaving,
            joining=self._joining,
        )

    def _note(self, name: str, record: _Record, steps: tuple[str, ...] | None, beside: str = "") -> None:
        known = self._partitions.get(name)
        assert known is not None
        self._add(name, self._event(record, known, steps, beside))

    def _event(
        self, record: _Record, after: PartitionRegistration, steps: tuple[str, ...] | None, beside: str = ""
    ) -> Event:
        kinds = (record.kind,) if record.kind else ()
        return Event(record.offset, record.time, kinds, after, steps, self._brokers, self.preset, beside)

    def _add(self, name: str, event: Event) -> None:
        self.presets[event.preset] = None
        events = self._events.setdefault(name, [])
        if events and events[-1].offset == event.offset and events[-1].records:
            event = together(events.pop(), event)
        else:
            self.changes += 1
        events.append(event)
        if event.steps is None and self.unexplained.get(name, event).offset == event.offset:
            self.unexplained[name] = event


def _readable(batch: dict[str, Any]) -> Iterator[_Record]:
    for each in batch["records"]:
        if "type" in each and "error" not in each["record"]:
            yield _Record(each["type"], each["record"], batch["base"], batch["time"])
