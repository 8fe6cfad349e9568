"""The ways in which followers have found where their logs diverge from their leaders', and what each of them implies.

Source: KIP-101, KIP-279, KIP-320 and KIP-595.
"""

from __future__ import annotations

from enum import Enum

import attrs


class Truncation(Enum):
    """How a follower finds where its log diverges from its leader's."""

    HIGH_WATERMARK = "high-watermark"
    EPOCH_101 = "epoch-101"
    EPOCH_279 = "epoch-279"
    ON_FETCH_MISMATCH = "on-fetch-mismatch"
    ON_FETCH = "on-fetch"


@attrs.frozen
class TruncationRules:
    """What a way of truncating implies.

    Attributes:
        cuts_at_high_watermark: a new follower truncates to its high watermark.
        asks: a new follower asks its leader where to truncate before it fetches.
        answers_name_epochs: the answer is an epoch and its end offset, not an end offset alone.
        fetches_name_epochs: a fetch has the epoch before its offset, so that the leader can find divergence.
        only_of_records: that epoch is the last record's, not the newest in the follower's cache.
        fetches_are_fenced: a fetch has the follower's leader epoch.
    """

    cuts_at_high_watermark: bool = False
    asks: bool = False
    answers_name_epochs: bool = True
    fetches_name_epochs: bool = False
    only_of_records: bool = False
    fetches_are_fenced: bool = True


TRUNCATION_RULES = {
    Truncation.HIGH_WATERMARK: TruncationRules(cuts_at_high_watermark=True),
    Truncation.EPOCH_101: TruncationRules(asks=True, answers_name_epochs=False),
    Truncation.EPOCH_279: TruncationRules(asks=True),
    Truncation.ON_FETCH_MISMATCH: TruncationRules(
        fetches_name_epochs=True, only_of_records=True, fetches_are_fenced=False
    ),
    Truncation.ON_FETCH: TruncationRules(fetches_name_epochs=True),
}
