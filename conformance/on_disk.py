"""Properties of what is on disk: how logs, epoch caches and checkpoints of one partition have to fit together.

They are the model's properties where it has them: `epochs_identify_records`, `logs_agree_below_high_watermarks`,
`high_watermark_is_within_the_log`, `candidates_are_complete`. Batches are compared by their checksums: followers append
what the leader has sent.

Source: org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache (3.5 to 4.3),
    kafka.cluster.Partition (0.8 to 4.3); KIP-101, KIP-320.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from highwater.conformance.disk import Copy, Finding


def judge(copies: Sequence[Copy], isr: Collection[int], *, compacted: bool) -> Iterator[Finding]:
    """What is wrong with the replicas of one partition.

    Args:
        isr: the ISR that the controller has recorded last.
        compacted: whether cleaning may have made batches differ and left gaps.
    """
    for copy in copies:
        yield from _log(copy, compacted=compacted)
        yield from _epoch_cache(copy)
        yield from _high_watermark(copy)
    if not compacted:
        for one, other in itertools.combinations(copies, 2):
            yield from _divergence(one, other)
    yield from _candidates(copies, isr)


def _log(copy: Copy, *, compacted: bool) -> Iterator[Finding]:
    for one, other in itertools.pairwise(copy.batches):
        if 0 <= other.epoch < one.epoch:  # batches of older formats have no epoch
            words = f"the leader epoch goes back from {one.epoch} to {other.epoch} at offset {other.base}"
            yield Finding("epochs_never_decrease", copy.where, words, copy.partition)
        if other.base <= one.last or (other.base != one.last + 1 and not compacted):
            words = f"offset {other.base} follows offset {one.last}"
            yield Finding("offsets_have_no_gap", copy.where, words, copy.partition)


def _epoch_cache(copy: Copy) -> Iterator[Finding]:
    if copy.epochs is None:
        return
    where = f"{copy.where}/leader-epoch-checkpoint"
    for (epoch, start), (later, further) in itertools.pairwise(copy.epochs):
        if later <= epoch or further < start:
            words = f"epoch {later} from offset {further} stands after epoch {epoch} from offset {start}"
            yield Finding("epoch_cache_is_in_order", where, words, copy.partition)
    for epoch, start in copy.epochs:
        if copy.batches and start > copy.end:
            words = f"epoch {epoch} begins at offset {start}, and the log ends at {copy.end}"
            yield Finding("epoch_cache_is_within_the_log", where, words, copy.partition)
    for batch in (each for each in copy.batches if each.last >= copy.log_start):
        known = [epoch for epoch, start in copy.epochs if start <= max(batch.base, copy.log_start)]
        if batch.epoch >= 0 and (known or [-1])[-1] != batch.epoch:
            cached = f"epoch {known[-1]}" if known else "no epoch"
            words = f"the batch at offset {batch.base} is of epoch {batch.epoch}, and the cache has {cached} there"
            yield Finding("epoch_cache_matches_the_log", where, words, copy.partition)
            return


def _high_watermark(copy: Copy) -> Iterator[Finding]:
    if copy.high_watermark is not None and copy.high_watermark > copy.end:
        words = f"the high watermark in the checkpoint is {copy.high_watermark}, and the log ends at {copy.end}"
        yield Finding("high_watermark_is_within_the_log", copy.where, words, copy.partition)


def _divergence(one: Copy, other: Copy) -> Iterator[Finding]:
    theirs = {batch.base: batch for batch in other.batches}
    committed = min(one.high_watermark or 0, other.high_watermark or 0)
    pair = f"{one.where}, {other.where}"
    for batch in one.batches:
        twin = theirs.get(batch.base)
        if twin is None:
            continue
        if twin.epoch == batch.epoch and twin.checksum != batch.checksum:
            words = f"the batches at offset {batch.base} are both of epoch {batch.epoch} and differ"
            yield Finding("epochs_identify_records", pair, words, one.partition)
            return
        if twin.epoch != batch.epoch and batch.base < committed:
            words = (
                f"offset {batch.base} is of epoch {batch.epoch} on b{one.node} and of epoch {twin.epoch} on "
                f"b{other.node}, below both high watermarks"
            )
            yield Finding("logs_agree_below_high_watermarks", pair, words, one.partition)
            return


def _candidates(copies: Sequence[Copy], isr: Collection[int]) -> Iterator[Finding]:
    furthest = max(copies, key=lambda copy: copy.high_watermark or 0, default=None)
    if furthest is None or not furthest.high_watermark:
        return
    for copy in copies:
        if copy is not furthest and copy.node in isr and copy.end < furthest.high_watermark:
            words = (
                f"b{copy.node}, a member of the ISR, ends at {copy.end}; b{furthest.node} has high watermark "
                f"{furthest.high_watermark}"
            )
            yield Finding("candidates_are_complete", copy.where, words, copy.partition)
