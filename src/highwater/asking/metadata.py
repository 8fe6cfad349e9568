"""Topics and settings from what a cluster leaves on disk: a log directory with the metadata log, or one snapshot of it.

Kafka's own classes read the files.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from highwater.asking.facts import Facts
from highwater.claims.tables import Wrong
from highwater.conformance.controller_image import BROKER, METADATA_VERSION, TOPIC
from highwater.conformance.disk import MARK, read_snapshot, reading, unread
from highwater.conformance.disk_reader import read_by
from highwater.conformance.distribution import Distribution, KafkaError
from highwater.conformance.metadata_versions import release_of_level

SUFFIXES = (".checkpoint", ".log")


def is_on_disk(path: Path) -> bool:
    """Whether a path is a snapshot or a segment of the metadata log, or has log directories below."""
    if path.is_dir():
        return next(path.rglob(MARK), None) is not None
    return path.suffix in SUFFIXES and path.stem[:20].isdecimal()


def read_metadata(path: Path, facts: Facts) -> None:
    """Note what metadata on disk say.

    Raises:
        Wrong: they cannot be read, or there are none.
    """
    try:
        read_by(None, lambda kafka: _read(path, kafka, facts))
    except KafkaError as error:
        raise Wrong(str(error)) from None


def _read(path: Path, kafka: Distribution, facts: Facts) -> None:
    if not path.is_dir():
        take(read_snapshot(path, kafka), facts)
        return
    with reading(path, kafka) as (disk, reader):
        if disk.snapshot is None and disk.metadata_start is None:
            raise Wrong(f"{path}: there are log directories, and none of them has a metadata log")
        snapshot = () if disk.snapshot is None else (disk.snapshot,)
        take(itertools.chain(reader.batches(*snapshot), disk.history(reader)), facts)
    facts.not_understood += [f"{path / each.where}: {each.words}" for each in (*disk.findings, *unread(path, reader))]


def take(batches: Iterable[dict[str, Any]], facts: Facts) -> None:
    """Note what records of the metadata log say, oldest first."""
    topics, sizes = dict[str, str](), dict[str, dict[int, int]]()
    for batch in batches:
        for each in batch["records"]:
            if "type" in each and "error" not in each["record"]:
                _note(each["type"], each["record"], topics, sizes, facts)
    facts.factors |= {name: {*sizes[topic].values()} for topic, name in topics.items() if topic in sizes}


def _note(
    kind: str, record: dict[str, Any], topics: dict[str, str], sizes: dict[str, dict[int, int]], facts: Facts
) -> None:
    """Note one record; of a reassignment the replicas that it leads to."""
    match kind:
        case "TopicRecord":
            topics[record["topicId"]] = record["name"]
        case "RemoveTopicRecord":
            facts.configs.pop(topics.pop(record["topicId"], ""), None)
        case "PartitionRecord" | "PartitionChangeRecord" if record.get("replicas"):
            wanted = {*record["replicas"]} - {*(record.get("removingReplicas") or ())}
            sizes.setdefault(record["topicId"], {})[record["partitionId"]] = len(wanted)
        case "ConfigRecord" if record["resourceType"] in (TOPIC, BROKER):
            of = facts.of_topic if record["resourceType"] == TOPIC else facts.of_broker
            _set(of(record["resourceName"]), record["name"], record["value"])
        case "FeatureLevelRecord":
            facts.note_feature(record["name"], _level(record["name"], record["featureLevel"]))


def _set(configs: dict[str, str], key: str, value: str | None) -> None:
    if value is None:
        configs.pop(key, None)
    else:
        configs[key] = value


def _level(feature: str, level: int) -> str:
    """A feature's level as `kafka-features.sh` names it, or nearly so: without the number behind the release."""
    return release_of_level(level) or str(level) if feature == METADATA_VERSION else str(level)
