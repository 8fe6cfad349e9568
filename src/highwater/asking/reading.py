"""Settings and topics of a cluster, read from what an operator has: the output of Kafka's own commands, Strimzi's
resources, and what is on disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from highwater.asking.facts import OF_ALL_BROKERS, Facts
from highwater.asking.metadata import is_on_disk, read_metadata
from highwater.claims.positions import text_of
from highwater.claims.tables import Wrong, shown

LARGEST = 64 * 2**20
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
USUAL = {MIN_ISR: "1", UNCLEAN: "false"}
"""What brokers have where nobody says otherwise."""

WORST_FIRST: Mapping[str, Callable[[str], int]] = {
    MIN_ISR: lambda value: int(value) if value.isdecimal() else 0,
    UNCLEAN: lambda value: value != "true",
}
"""By configuration, how bad a value is for records; the least is the worst."""

TOPIC = re.compile(r"^Topic: (\S+)\s.*?PartitionCount: (\d+)\s+ReplicationFactor: \d+\s+Configs: ?(.*)$")
PARTITION = re.compile(
    r"^\s+Topic: (\S+)\s+Partition: (\d+)\s+Leader: \S+\s+Replicas: ([\d,]+)\s+Isr: ?(?:\d+(?:,\d+)*)?(?=\t|$)"
)
REMOVED = re.compile(r"\sRemoving Replicas: ?([\d,]*)")
ELR = re.compile(r"\s(?:Elr|LastKnownElr): ?(\S*)")
OF_CONFIGS = re.compile(r"^(?:Dynamic|All|Default) configs for (topic|brokers|broker)\b\s*(\S*) .*?are:$")
CONFIG = re.compile(r"^\s+([\w.]+)=(\S*)")
FEATURE = re.compile(r"^Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)")


@attrs.frozen
class TopicClass:
    """Topics that are alike to a model. One whose partitions differ in how many replicas they have is in several."""

    topics: tuple[str, ...]
    replication_factor: int
    min_isr: int
    unclean: bool


@attrs.frozen
class Cluster:
    """What was read.

    Attributes:
        release: of the brokers, such as Strimzi names it; None if nothing does.
        elr: whether eligible leader replicas are on; None if nothing says.
        kraft: whether something names a metadata version, which clusters with ZooKeeper have not.
        assumed: what nothing says, and what is taken instead.
        not_understood: what was not, by file and line.
    """

    classes: tuple[TopicClass, ...]
    release: str | None
    elr: bool | None
    kraft: bool
    assumed: tuple[str, ...]
    not_understood: tuple[str, ...]


def read(path: Path) -> Cluster:
    """What one file says, or all files of a folder together; of a folder with log directories what these say.

    Raises:
        Wrong: there is no such file, nothing in it names a topic, or an output is cut off.
    """
    facts = Facts()
    try:
        if is_on_disk(path):
            read_metadata(path, facts)
        else:
            for file in sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]:
                _read_file(file, facts)
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}") from None
    if not facts.factors:
        raise Wrong(
            f"{path}: nothing there describes a topic, as kafka-topics.sh --describe, a KafkaTopic or metadata do"
        )
    return _cluster(facts)


def _read_file(file: Path, facts: Facts) -> None:
    try:
        text = text_of(file, LARGEST)
    except ValueError:
        facts.not_understood.append(f"{file}: is not UTF-8 text")
        return
    if re.search(r"^\s*(apiVersion|kind): ", text, re.MULTILINE):
        _read_yaml(file, text, facts)
        return
    described = _Described(file)
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not described.takes(line, facts):
            facts.not_understood.append(f"{file}:{number}: {shown(line.strip()[:60])}")
    described.refuse_if_cut_off()


class _Described:
    """One output of kafka-topics.sh, kafka-configs.sh or kafka-features.sh, read line by line."""

    def __init__(self, file: Path) -> None:
        self._file, self._configs = file, dict[str, str]()
        self._left: dict[str, int] = {}

    def takes(self, line: str, facts: Facts) -> bool:
        """Whether a line is understood. What it says is noted."""
        if found := TOPIC.match(line):
            name, partitions, configs = found.groups()
            facts.factors[name], self._left[name] = set(), int(partitions)
            facts.of_topic(name).update(_settings(configs))
        elif found := PARTITION.match(line):
            self._left[found[1]] = self._left.get(found[1], 1) - 1
            removed = REMOVED.search(line)
            wanted = {*found[3].split(",")} - {*(removed[1] if removed else "").split(",")}
            facts.factors.get(found[1], set()).add(len(wanted))
            for elr in filter(None, ELR.findall(line)):  # where it is empty, it is on or off
                facts.elr = bool(facts.elr) or elr != "N/A"
        elif found := OF_CONFIGS.match(line):
            one = found[2].strip("'")
            self._configs = (
                facts.of_topic(one) if found[1] == "topic" else facts.of_broker(one * (found[1] == "broker"))
            )
        elif found := CONFIG.match(line):
            self._configs[found[1]] = found[2]
        elif found := FEATURE.match(line):
            facts.note_feature(found[1], found[2])
        else:
            return False
        return True

    def refuse_if_cut_off(self) -> None:
        """
        Raises:
            Wrong: partitions of a topic are missing.
        """
        for name, left in self._left.items():
            if left > 0:
                raise Wrong(f"{self._file}: the output is cut off: {left} of the partitions of {name} are missing")


def _settings(configs: str) -> Iterator[tuple[str, str]]:
    for each in configs.split(","):
        key, equals, value = each.strip().partition("=")
        if equals:
            yield key, value


def _read_yaml(file: Path, text: str, facts: Facts) -> None:
    """Strimzi's resources `Kafka` and `KafkaTopic`.

    Raises:
        Wrong: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise Wrong(f"{file}: reading YAML needs PyYAML: pip install pyyaml") from None
    try:
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except yaml.YAMLError as error:
        raise Wrong(f"{file}: is not YAML: {' '.join(str(error).split())[:100]}") from None
    for each in documents:
        kind = each.get("kind") if isinstance(each, Mapping) else None
        spec = each.get("spec") if isinstance(each, Mapping) else None
        if kind == "KafkaTopic" and isinstance(spec, Mapping) and _is_count(spec.get("replicas")) and _name_of(each):
            facts.factors[_name_of(each)] = {spec["replicas"]}
            facts.of_topic(_name_of(each)).update(_texts(file, spec.get("config"), facts))
        elif kind == "Kafka" and isinstance(spec, Mapping) and isinstance(spec.get("kafka"), Mapping):
            facts.release = str(spec["kafka"].get("version") or facts.release or "") or None
            facts.of_broker(OF_ALL_BROKERS).update(_texts(file, spec["kafka"].get("config"), facts))
        else:
            facts.not_understood.append(
                f"{file}: {shown(str(kind))} is no Kafka, and no KafkaTopic with replicas and a name"
            )


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _name_of(topic: Mapping[str, Any]) -> str:
    """The name of a KafkaTopic; empty if it has none."""
    metadata = topic.get("metadata")
    name = topic["spec"].get("topicName") or (metadata.get("name") if isinstance(metadata, Mapping) else None)
    return name if isinstance(name, str) else ""


def _texts(file: Path, config: Any, facts: Facts) -> dict[str, str]:
    """Configurations as texts, as Kafka writes them."""
    if config is not None and not isinstance(config, Mapping):
        facts.not_understood.append(f"{file}: {shown(str(config)[:60])} is no table of configurations")
        return {}
    return {str(key): str(value).lower() for key, value in (config or {}).items()}


def _cluster(facts: Facts) -> Cluster:
    assumed = (
        [] if facts.elr is not None else ["nothing says whether eligible leader replicas are on: as in a new cluster"]
    )
    defaults, release = _of_brokers(facts, assumed), _release(facts, assumed)
    alike: dict[tuple[int, int, bool], list[str]] = {}
    for name, factors in facts.factors.items():
        configs = {**defaults, **facts.configs.get(name, {})}
        if MIN_ISR not in configs:
            assumed.append(f"nothing says {MIN_ISR} of {name}: {USUAL[MIN_ISR]}")
        min_isr = _whole(configs.get(MIN_ISR, USUAL[MIN_ISR]), name)
        unclean = configs.get(UNCLEAN, USUAL[UNCLEAN]) == "true"
        for factor in sorted(factors):
            alike.setdefault((factor, min_isr, unclean), []).append(name)
        if len(factors) > 1:
            sizes = " or ".join(map(str, sorted(factors)))
            assumed.append(f"partitions of {name} have {sizes} replicas: it is asked with each of these")
    classes = tuple(TopicClass(tuple(names), *key) for key, names in sorted(alike.items()))
    kraft = facts.metadata_version is not None
    return Cluster(classes, release, facts.elr, kraft, tuple(assumed), tuple(facts.not_understood))


def _release(facts: Facts, assumed: list[str]) -> str | None:
    """The release as something names it; else that of the metadata version, which brokers may be newer than."""
    found = re.match(r"\d+\.\d+", facts.metadata_version or "")
    if facts.release is None and found:
        assumed.append(f"nothing names the release but metadata.version {facts.metadata_version}: brokers may be newer")
        return found[0]
    return facts.release


def _of_brokers(facts: Facts, assumed: list[str]) -> dict[str, str]:
    """What topics have that say nothing themselves. Where brokers differ, the worse: a topic may be led by any."""
    of_all, found = facts.brokers.get(OF_ALL_BROKERS, {}), dict[str, str]()
    single = {broker: {**of_all, **own} for broker, own in facts.brokers.items() if broker != OF_ALL_BROKERS}
    for key, badness in WORST_FIRST.items():
        brokers = single or {OF_ALL_BROKERS: of_all}
        if not any(key in own for own in brokers.values()):
            continue
        values = {broker: own.get(key, USUAL[key]) for broker, own in brokers.items()}
        found[key] = min(values.values(), key=badness)
        if len({*values.values()}) > 1:
            each = ", ".join(f"{broker} has {value}" for broker, value in sorted(values.items()))
            assumed.append(f"brokers differ in {key}: {each}; topics without their own are asked with {found[key]}")
    return found


def _whole(text: str, topic: str) -> int:
    """
    Raises:
        Wrong: it is no number of replicas.
    """
    if not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise Wrong(f"min.insync.replicas of {topic}: {shown(text)} is no number of replicas")
    return int(text)
