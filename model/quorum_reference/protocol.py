"""Which specification is checked, and which of its checks are left out."""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from highwater.model.language.definition import toggle


class Variant(Enum):
    """The public modules KRaft and kraft_kip_853."""

    KRAFT = "kraft"
    KIP_853 = "kip-853"


def optional(meaning: str, default: object) -> Any:
    """A toggle that may be left out."""
    return attrs.field(kw_only=True, default=default, metadata={"meaning": meaning})


@attrs.frozen
class QuorumProtocol:
    """Which specification, and checks that can be left out."""

    variant: Variant = toggle("which public specification")
    log_check: bool = optional("a voter votes only for candidates whose log is no older than its own", True)
    one_vote: bool = optional("a server does not vote once it has voted or follows a leader in the epoch", True)
    divergence_check: bool = optional("a leader serves a fetch only if its log continues the follower's", True)
    majority: bool = optional("a candidate and a high watermark need more than half of the servers", True)

    one_change: bool = optional(
        "a leader changes the voters only once it has committed the last change (kip-853)", True
    )
    committed_epoch: bool = optional(
        "a leader changes the voters only once it has committed an entry of its epoch (kip-853)", True
    )

    def suffices(self, agreeing: int, servers: int) -> bool:
        """Whether servers are enough to elect a leader or to commit an entry. Source: Quorum."""
        return 2 * agreeing > servers or (2 * agreeing == servers and not self.majority)

    @property
    def is_published(self) -> bool:
        """Whether no check is left out."""
        return self.checks_quorums and self.checks_changes

    @property
    def checks_quorums(self) -> bool:
        return self.log_check and self.one_vote and self.divergence_check and self.majority

    @property
    def checks_changes(self) -> bool:
        """Whether no check of changes of the voters is left out."""
        return self.one_change and self.committed_epoch
