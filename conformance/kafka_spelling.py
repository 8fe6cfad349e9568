"""What a test of Kafka's Partition writes as a release declares it: arguments by the types of parameters, accessors,
conversions, and the classes to import.

Source: kafka.cluster.Partition (3.5 to 4.4); kafka.log.LogManager (3.5 to 4.3),
org.apache.kafka.storage.internals.log.LogManager (4.4).
"""

from __future__ import annotations

import itertools
from typing import Any

import attrs

from highwater.conformance.declarations import Declarations, Given, Member, package_of, simple
from highwater.conformance.distribution import Distribution

PARTITION = "kafka.cluster.Partition"
OPTIONS = "scala.jdk.javaapi.OptionConverters"
NAMED = (
    "ApiException", "Errors", "FetchRequest", "FetchResponseData", "OperationNotAttemptedException", "Time",
    "TopicConfig", "TopicPartition", "Uuid",
)  # fmt: skip
"""Classes that every test names, and of which Kafka has one each."""
CLASSES = (
    *NAMED, "AlterPartitionListener", "AlterPartitionManager", "AppendOrigin", "BrokerTopicStats", "CleanerConfig",
    "Compression", "CompressionType", "ConfigRepository", "DelayedOperations", "DirectoryId", "FetchIsolation",
    "FetchParams", "FileRecords", "KRaftMetadataCache", "LeaderAndIsr", "LeaderRecoveryState", "LogConfig",
    "LogDirFailureChannel", "LogManager", "LogReadInfo", "MemoryRecords", "MetadataVersion", "OffsetAndEpoch",
    "OffsetCheckpoints", "Partition", "PartitionRegistration", "ProducerStateManagerConfig", "RecordBatch",
    "RequestLocal", "Scheduler", "SimpleRecord", "UnifiedLog", "Utils", "VerificationGuard",
)  # fmt: skip
"""The classes of Kafka that a test may name, by their simple names."""
PARTS = ("ProducerStateManagerConfig", "BrokerTopicStats")
BESIDE_RECORDS = ("FileRecords", "RecordBatch", "SimpleRecord")
OF_REGISTRATION = ("DirectoryId", "LeaderRecoveryState")
BY_REGISTRATION = """\
            {type} state = new {type}.Builder()
                .setLeader(leader)
                .setLeaderEpoch(leaderEpoch)
                .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
                .setIsr(isr.stream().mapToInt(Integer::intValue).toArray())
                .setPartitionEpoch(partitionEpoch)
                .setReplicas(REPLICAS.stream().mapToInt(Integer::intValue).toArray())
                .setDirectories(DirectoryId.unassignedArray(REPLICAS.size()))
                .build();"""
BY_STATE = """\
            {type} state = new {type}()
                .setLeader(leader)
                .setLeaderEpoch(leaderEpoch)
                .setIsr(isr)
                .setPartitionEpoch(partitionEpoch)
                .setReplicas(REPLICAS);"""
FILES = ("Collections.singletonList(directory)", "Collections.<File>emptyList()")
FOR_LOG_MANAGER: Given = {
    "List": FILES,
    "Seq": tuple(f"CollectionConverters.asScala({each})" for each in FILES),
    "ConfigRepository": "mock(ConfigRepository.class, call -> topicConfig)",
    "LogConfig": "new LogConfig(new Properties())",
    "CleanerConfig": "new CleanerConfig(false)",
    "Scheduler": "mock(Scheduler.class, RETURNS_MOCKS)",
    "LogDirFailureChannel": "new LogDirFailureChannel(1)",
    "Time": "time",
    "int": "1",
    "long": "3_600_000L",
    "boolean": "false",
    "Function5": "null",
    "LogCleanerBuilder": "null",
}
FOR_PARTITION: Given = {
    "TopicPartition": "PARTITION",
    "long": "REPLICA_LAG_TIME_MAX_MS",
    "int": "id",
    "Function0": "() -> BROKER_EPOCH",
    "Time": "time",
    "AlterPartitionListener": "mock(AlterPartitionListener.class)",
    "DelayedOperations": "mock(DelayedOperations.class)",
    "MetadataCache": "metadataCache",
    "LogManager": "logManager",
    "AlterPartitionManager": "alterPartition",
    "Option": "Option.empty()",
}
FOR_APPEND: Given = {
    "MemoryRecords": "records",
    "AppendOrigin": "AppendOrigin.CLIENT",
    "int": "-1",
    "VerificationGuard": "VerificationGuard.SENTINEL",
    "Object": "null",
    "short": "(short) 0",
}
FOR_FETCH_PARAMS: Given = {
    "short": "(short) 15",  # the version of the request
    "int": ("follower.id", "1", "Integer.MAX_VALUE"),
    "long": ("BROKER_EPOCH", "0L"),
    "FetchIsolation": "FetchIsolation.LOG_END",
    "Optional": "Optional.empty()",
    "boolean": "false",
}
FOR_FETCH: Given = {
    "FetchParams": "params",
    "PartitionData": "data",
    "long": "now",
    "int": "Integer.MAX_VALUE",
    "boolean": ("true", "updateFetchState"),
}
FOR_LEARNING: Given = {
    "OffsetCheckpoints": "checkpoints",
    "boolean": "false",
    "Option": ("Option.apply(TOPIC_ID)", "Option.empty()"),
}
FOR_FOLLOWER: Given = {"MemoryRecords": "records", "boolean": "false", "int": "leaderEpoch"}
FOR_A_PART: Given = {"int": "86_400_000", "boolean": "false", "Optional": "Optional.empty()"}


def spelling(kafka: Distribution) -> dict[str, str]:
    """What a test writes, by the name of the place.

    Raises:
        KafkaError: the release lacks what a test calls.
    """
    written = _Written(Declarations(kafka, CLASSES))
    words = {**written.making(), **written.metadata(), **written.log(), **written.fetching()}
    declared = written.kafka
    for each in NAMED:
        declared.named(declared.full(each))
    declared.named(declared.full("Utils", "org.apache.kafka.common.utils"))
    return words | _imports(declared.imports)


@attrs.frozen
class _Written:
    """The places of a test, in groups, as a release has them."""

    kafka: Declarations

    def making(self) -> dict[str, str]:
        """How a log manager, a manager of AlterPartition requests and a Partition are made."""
        kafka, made = self.kafka, self.kafka.constructor(PARTITION)
        logs, proposals = (made.type_of(each) for each in ("LogManager", "AlterPartitionManager"))
        of_logs, submit = kafka.constructor(logs), kafka.member(proposals, "submit")
        proposal = submit.type_of("LeaderAndIsr")
        for each in (logs, proposals, proposal):
            kafka.named(each)
        version = kafka.full("MetadataVersion")
        newest = {"MetadataVersion": f"MetadataVersion.{kafka.first(version, 'latestProduction', 'latest')}()"}
        parts: dict[str, Any] = {
            each: self._part(of_logs, each) for each in ("ProducerStateManagerConfig", "BrokerTopicStats")
        }
        if of_logs.types.count("boolean") > 1:  # the first one says that logs keep their topic's id
            parts["boolean"] = ("true", "false")
        return {
            "log_manager": kafka.arguments(of_logs, {**FOR_LOG_MANAGER, **parts, **newest}),
            "shutdown": kafka.arguments(kafka.member(logs, "shutdown"), {"long": "BROKER_EPOCH"}),
            "partition": kafka.arguments(made, {**FOR_PARTITION, **newest}),
            "submit": ", ".join("anyInt()" if each == "int" else "any()" for each in submit.types),
            "proposed_isr": _collection("proposed.isr()", kafka.member(proposal, "isr")),
            "known_isr": _collection("partition.inSyncReplicaIds()", kafka.member(PARTITION, "inSyncReplicaIds")),
        }

    def _part(self, made: Member, name: str) -> str:
        """A new object for a parameter whose type has a simple name."""
        arguments = self.kafka.arguments(self.kafka.constructor(made.type_of(name)), FOR_A_PART)
        return f"new {name}({arguments})"

    def metadata(self) -> dict[str, str]:
        """How a broker learns of the partition's leader and ISR, and of other brokers."""
        kafka, learn = self.kafka, self.kafka.member(PARTITION, "makeLeader")
        state, checkpoints = learn.types[0], learn.type_of("OffsetCheckpoints")
        cache, by_registration = kafka.full("KRaftMetadataCache"), simple(state) == "PartitionRegistration"
        for each in (checkpoints, *(kafka.full(each) for each in OF_REGISTRATION if by_registration)):
            kafka.named(each)
        form = BY_REGISTRATION if by_registration else BY_STATE
        return {
            "MetadataCache": kafka.named(cache),
            "some_epoch": _some("BROKER_EPOCH", kafka.member(cache, "getAliveBrokerEpoch")),
            "state": form.format(type=kafka.named(state)),
            "no_checkpoint": f"{simple(kafka.member(checkpoints, 'fetch').value)}.empty()",
            "learn": kafka.arguments(learn, {**FOR_LEARNING, simple(state): "state"}),
        }

    def log(self) -> dict[str, str]:
        """How records are written and read."""
        kafka, append = self.kafka, self.kafka.member(PARTITION, "appendRecordsToLeader")
        log, records = kafka.member(PARTITION, "localLogOrException").value, append.type_of("MemoryRecords")
        follow = kafka.member(PARTITION, "appendRecordsToFollowerOrFutureReplica")
        epoch = kafka.full("OffsetAndEpoch", "org.apache.kafka.server.common")
        for each in (log, records, *(f"{package_of(records)}.{each}" for each in BESIDE_RECORDS)):
            kafka.named(each)
        request = f"RequestLocal.{kafka.first(append.type_of('RequestLocal'), 'noCaching', 'NoCaching')}()"
        latest, ending = (kafka.member(log, each) for each in ("latestEpoch", "endOffsetForEpoch"))
        return {
            "compression": f"{kafka.named(self._compression(records))}.NONE",
            "append": kafka.arguments(append, {**FOR_APPEND, "RequestLocal": request}),
            "append_as_follower": kafka.arguments(follow, FOR_FOLLOWER),
            "latest_epoch": self._optional("log.latestEpoch()", latest, ".map(each -> (Integer) each)"),
            "end_of_epoch": self._optional("log.endOffsetForEpoch(diverging.epoch())", ending),
            "epoch": "epoch" if kafka.has(epoch, "epoch") else "leaderEpoch",
        }

    def _compression(self, records: str) -> str:
        overloads = self.kafka.overloads(records, "withRecords")
        found = [each.types[0] for each in overloads if [*map(simple, each.types)][1:] == ["SimpleRecord"]]
        return found[0] if found else self.kafka.member(records, "withRecords of a compression and records").value

    def fetching(self) -> dict[str, str]:
        """How a leader is asked for records, and what its answer has."""
        kafka, fetch = self.kafka, self.kafka.member(PARTITION, "fetchRecords")
        params, read = fetch.type_of("FetchParams"), fetch.value
        for each in (params, read):
            kafka.named(each)
        parts = {"fetched": "fetchedData", "diverging": "divergingEpoch", "high_watermark": "highWatermark"}
        members = {place: kafka.member(read, name) for place, name in parts.items()}
        return {
            "fetch": kafka.arguments(fetch, FOR_FETCH),
            "fetch_params": kafka.arguments(kafka.constructor(params), FOR_FETCH_PARAMS),
            **{place: f"{parts[place]}()" if each.is_method else parts[place] for place, each in members.items()},
        }

    def _optional(self, of: str, member: Member, for_scala: str = "") -> str:
        """A value as an Optional of Java's."""
        if simple(member.value) != "Option":
            return of
        self.kafka.imports.add(OPTIONS)
        return f"OptionConverters.toJava({of}){for_scala}"


def _collection(of: str, member: Member) -> str:
    """A value as a collection of Java's."""
    return f"CollectionConverters.asJavaCollection({of})" if member.value.startswith("scala.") else of


def _some(of: str, member: Member) -> str:
    """A value in the kind of option that a method returns."""
    return f"Option.<Object>apply({of})" if simple(member.value) == "Option" else f"Optional.of({of})"


def _imports(names: set[str]) -> dict[str, str]:
    """Those of Kafka, and those of Scala that come last."""
    of_kafka = sorted(f"import {each};" for each in names if not each.startswith(("scala.", "java.")))
    groups = [list(group) for _, group in itertools.groupby(of_kafka, lambda line: line.startswith("import kafka."))]
    of_scala = "".join(f"import {each};\n" for each in sorted(names) if each == OPTIONS)
    return {"imports": "\n\n".join("\n".join(group) for group in groups), "import_options": of_scala}
