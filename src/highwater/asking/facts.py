"""What is known of a cluster so far, whatever it was read from."""

from __future__ import annotations

import attrs

OF_ALL_BROKERS = ""


@attrs.define
class Facts:
    """What files say.

    Attributes:
        factors: by topic, how many replicas its partitions have: its replication factor, or several where they differ.
        configs: by topic, its configurations.
        brokers: by broker, its configurations; `OF_ALL_BROKERS` is the default of all.
        release: as something names it.
        metadata_version: as a feature, such as "4.1-IV1".
        elr: whether eligible leader replicas are on.
        not_understood: what was not, by file and line.
    """

    factors: dict[str, set[int]] = attrs.field(factory=dict)
    configs: dict[str, dict[str, str]] = attrs.field(factory=dict)
    brokers: dict[str, dict[str, str]] = attrs.field(factory=dict)
    release: str | None = None
    metadata_version: str | None = None
    elr: bool | None = None
    not_understood: list[str] = attrs.field(factory=list)

    def of_topic(self, topic: str) -> dict[str, str]:
        """The configurations of a topic, to be added to."""
        return self.configs.setdefault(topic, {})

    def of_broker(self, broker: str) -> dict[str, str]:
        """The configurations of a broker, to be added to."""
        return self.brokers.setdefault(broker, {})

    def note_feature(self, name: str, level: str) -> None:
        """Note a feature's finalized level."""
        if name == "metadata.version":
            self.metadata_version = level
        elif name == "eligible.leader.replicas.version":
            self.elr = level != "0"
