"""Settings and topics of a cluster, read from what an operator has: the output of Kafka's own commands, and Strimzi's
resources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.positions import text_of
from highwater.claims.tables import Wrong, shown

LARGEST = 64 * 2**20
USUAL_MIN_ISR = 1
"""What brokers have for min.insync.replicas where nobody says otherwise."""

TOPIC = re.compile(r"^Topic: (\S+)\s.*?PartitionCount: (\d+)\s+ReplicationFactor: (\d+)\s+Configs: ?(.*)$")
PARTITION = re.compile(
    r"^\s+Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\S+)\s+Replicas: [\d,]+\s+Isr: ?(?:\d+(?:,\d+)*)?(?=\t|$)"
)
ELR = re.compile(r"\sElr: ?(\S*)")
OF_CONFIGS = re.compile(r"^(?:Dynamic|All|Default) configs for (topic|broker|brokers)\s*(\S*) .*?are:$")
CONFIG = re.compile(r"^\s+([\w.]+)=(\S*)")
FEATURE = re.compile(r"^Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)")


@attrs.frozen
class TopicClass:
    """Topics that are alike to a model."""

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
        assumed: what nothing says, and what is taken instead.
        not_understood: what was not, by file and line.
    """

    classes: tuple[TopicClass, ...]
    release: str | None
    elr: bool | None
    assumed: tuple[str, ...]
    not_understood: tuple[str, ...]


@attrs.define
class _Facts:
    """What the files say so far."""

    factors: dict[str, int] = attrs.field(factory=dict)
    configs: dict[str, dict[str, str]] = attrs.field(factory=dict)
    defaults: dict[str, str] = attrs.field(factory=dict)
    release: str | None = None
    elr: bool | None = None
    not_understood: list[str] = attrs.field(factory=list)


def read(path: Path) -> Cluster:
    """What one file says, or all files of a folder together.

    Raises:
        Wrong: there is no such file, nothing in it names a topic, or an output is cut off.
    """
    facts = _Facts()
    try:
        files = sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
        for file in files:
            _read_file(file, facts)
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}") from None
    if not facts.factors:
        raise Wrong(f"{path}: nothing there describes a topic, as kafka-topics.sh --describe does, or a KafkaTopic")
    return _cluster(facts)


def _read_file(file: Path, facts: _Facts) -> None:
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

    def takes(self, line: str, facts: _Facts) -> bool:
        """Whether a line is understood. What it says is noted."""
        if found := TOPIC.match(line):
            name, partitions, factor, configs = found.groups()
            facts.factors[name], self._left[name] = int(factor), int(partitions)
            facts.configs.setdefault(name, {}).update(_settings(configs))
        elif found := PARTITION.match(line):
            self._left[found[1]] = self._left.get(found[1], 1) - 1
            if elr := ELR.search(line):
                facts.elr = bool(facts.elr) or elr[1] != "N/A"
        elif found := OF_CONFIGS.match(line):
            of_topic = found[1] == "topic"
            self._configs = facts.configs.setdefault(found[2].strip("'"), {}) if of_topic else facts.defaults
        elif found := CONFIG.match(line):
            self._configs[found[1]] = found[2]
        elif found := FEATURE.match(line):
            _note_feature(found[1], found[2], facts)
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


def _note_feature(name: str, level: str, facts: _Facts) -> None:
    if name == "metadata.version" and (found := re.match(r"\d+\.\d+", level)):
        facts.release = facts.release or found[0]
    elif name == "eligible.leader.replicas.version":
        facts.elr = level != "0"


def _read_yaml(file: Path, text: str, facts: _Facts) -> None:
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
            facts.factors[_name_of(each)] = spec["replicas"]
            facts.configs.setdefault(_name_of(each), {}).update(_texts(file, spec.get("config"), facts))
        elif kind == "Kafka" and isinstance(spec, Mapping) and isinstance(spec.get("kafka"), Mapping):
            facts.release = str(spec["kafka"].get("version") or facts.release or "") or None
            facts.defaults.update(_texts(file, spec["kafka"].get("config"), facts))
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


def _texts(file: Path, config: Any, facts: _Facts) -> dict[str, str]:
    """Configurations as texts, as Kafka writes them."""
    if config is not None and not isinstance(config, Mapping):
        facts.not_understood.append(f"{file}: {shown(str(config)[:60])} is no table of configurations")
        return {}
    return {str(key): str(value).lower() for key, value in (config or {}).items()}


def _cluster(facts: _Facts) -> Cluster:
    assumed = []
    if facts.elr is None:
        assumed.append("nothing says whether eligible leader replicas are on: as in a new cluster")
    alike: dict[tuple[int, int, bool], list[str]] = {}
    for name, factor in facts.factors.items():
        configs = {**facts.defaults, **facts.configs.get(name, {})}
        if "min.insync.replicas" not in configs:
            assumed.append(f"nothing says min.insync.replicas of {name}: {USUAL_MIN_ISR}")
        min_isr = _whole(configs.get("min.insync.replicas", str(USUAL_MIN_ISR)), name)
        unclean = configs.get("unclean.leader.election.enable", "false") == "true"
        alike.setdefault((factor, min_isr, unclean), []).append(name)
    classes = tuple(TopicClass(tuple(names), *key) for key, names in sorted(alike.items()))
    return Cluster(classes, facts.release, facts.elr, tuple(assumed), tuple(facts.not_understood))


def _whole(text: str, topic: str) -> int:
    """
    Raises:
        Wrong: it is no number of replicas.
    """
    if not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise Wrong(f"min.insync.replicas of {topic}: {shown(text)} is no number of replicas")
    return int(text)
