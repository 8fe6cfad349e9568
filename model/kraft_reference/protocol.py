"""Which specification is checked, and which of its checks are left out."""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from highwater.model.language.definition import toggle


class Variant(Enum):
    """The public modules kafka_replication_v3_5 and kafka_replication_kip_966."""

    V3_5 = "v3.5"
    KIP_966 = "kip-966"


class Messages(Enum):
    """Whether the state keeps messages that were handled, or that can no longer be handled."""

    KEPT = "kept"
    FORGOTTEN = "forgotten"


def optional(meaning: str, default: object) -> Any:
    """A toggle that may be left out."""
    return attrs.field(kw_only=True, default=default, metadata={"meaning": meaning})


@attrs.frozen
class KraftProtocol:
    """Which specification, whether the state keeps messages, and three checks that its authors name."""

    variant: Variant = toggle("which public specification")
    messages: Messages = optional(
        "`kept`: handled messages are part of the state, as TLC counts states; `forgotten`: only those that can "
        "still matter",
        Messages.KEPT,
    )
    broker_epoch_check: bool = optional(
        "the controller compares the broker epochs of proposed replicas with its own (KIP-903)", True
    )
    partition_epoch_check: bool = optional("the controller accepts an ISR for the newest partition epoch only", True)
    avoid_last_replica_standing: bool = optional(
        "the last ISR member never shuts down uncleanly (a constant of v3.5)", True
    )

    @property
    def has_elr(self) -> bool:
        """Whether the ISR may be empty, and the ELR has the replicas that left a too small one."""
        return self.variant is Variant.KIP_966
