"""Logs and leader epoch caches. Facts from Kafka's own LeaderEpochFileCacheTest and AbstractFetcherThreadTest at 2.0.1
and 2.1.1.
"""

from __future__ import annotations

import attrs
import pytest

from highwater.model.log import NO_EPOCH
from highwater.model.partition.batches import DELETED, GAP, Place, Record, as_loaded, cut, fetched
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.definition import initial_states
from highwater.model.partition.logs import (
    appended,
    end_of_epoch,
    latest_epoch,
    restarted_at,
    truncated,
    truncation_point,
    with_epoch,
    without_epochs_from,
    without_records_below,
)
from highwater.model.partition.releases import PRESETS, REPAIRED
from highwater.model.partition.state import Replica

EMPTY = initial_states(PartitionBounds(brokers=1, log_length_max=7, records_max=7, leader_epoch_max=7), REPAIRED)[
    0
].replicas[0]
NEW = attrs.evolve(EMPTY, epoch_starts=(None,) * 8)


def replica(**starts: int) -> Replica:
    """A replica whose cache says where epochs begin: e0=3 is epoch 0 from offset 3 on. Its log ends at 20."""
    cache = tuple(starts.get(f"e{epoch}") for epoch in range(8))
    return attrs.evolve(NEW, epoch_starts=cache, log=(Record(0, 0),) * 20)


def log_of(*epochs: int) -> Replica:
    """A replica with records of these epochs."""
    made = NEW
    for number, epoch in enumerate(epochs):
        made = appended(made, Record(number, epoch), REPAIRED)
    return made


def starts(made: Replica) -> dict[int, int]:
    return {epoch: start for epoch, start in enumerate(made.epoch_starts) if start is not None}


def test_the_latest_epoch_ends_at_the_end_of_the_log() -> None:
    assert end_of_epoch(replica(e2=4), 2, PRESETS["kafka-2.1"]) == (2, 20)


@pytest.mark.parametrize(("asked", "answer"), [(1, (0, 13)), (2, (2, 17)), (3, (2, 17)), (4, (4, 20)), (5, None)])
def test_an_unknown_epoch_is_answered_with_the_largest_below_it(asked: int, answer: tuple[int, int] | None) -> None:
    """KIP-279; an epoch newer than all known ones has no answer."""
    assert end_of_epoch(replica(e0=10, e2=13, e4=17), asked, PRESETS["kafka-2.1"]) == answer


def test_an_epoch_older_than_all_known_ones_ended_where_the_first_of_them_begins() -> None:
    assert end_of_epoch(replica(e5=11, e6=12, e7=13), 4, PRESETS["kafka-2.1"]) == (4, 11)
    assert end_of_epoch(replica(e5=11, e6=12, e7=13), 4, PRESETS["kafka-2.0.0"]) is None, (
        "until 2.0.0 nothing was known of it"
    )


@pytest.mark.parametrize(("asked", "end"), [(0, 13), (1, 13), (2, 17), (3, 17), (4, 20), (5, None)])
def test_with_kip_101_the_answer_is_where_the_next_epoch_begins(asked: int, end: int | None) -> None:
    answer = end_of_epoch(replica(e0=10, e2=13, e4=17), asked, PRESETS["kafka-0.11"])
    assert (answer and answer[1]) == end


def test_with_kip_101_an_epoch_older_than_all_known_ones_has_no_answer() -> None:
    assert end_of_epoch(replica(e5=11, e6=12), 4, PRESETS["kafka-0.11"]) is None


def test_no_epoch_has_no_end() -> None:
    assert end_of_epoch(replica(e0=0), NO_EPOCH, PRESETS["kafka-2.1"]) is None
    assert end_of_epoch(replica(), 0, PRESETS["kafka-2.1"]) is None
    assert latest_epoch(replica()) == NO_EPOCH


def test_a_new_epoch_drops_entries_that_contradict_it() -> None:
    assert starts(with_epoch(replica(e1=5, e2=9), 3, 9, PRESETS["kafka-2.1"])) == {1: 5, 3: 9}
    assert starts(with_epoch(replica(e1=5, e4=9), 3, 12, PRESETS["kafka-2.1"])) == {1: 5, 3: 12}
    assert starts(with_epoch(replica(e1=5), 1, 8, PRESETS["kafka-2.1"])) == {1: 5}
    assert starts(with_epoch(replica(e1=5), 1, 3, PRESETS["kafka-2.1"])) == {1: 3}
    assert starts(with_epoch(replica(e1=5, e4=9), 1, 12, PRESETS["kafka-2.1"])) == {1: 12}, "known, but not the newest"


def test_until_2_0_0_a_new_epoch_gave_way_to_what_it_contradicted() -> None:
    """LeaderEpochFileCache#assign before KAFKA-7415."""
    assert starts(with_epoch(replica(e1=5, e2=9), 3, 9, PRESETS["kafka-2.0.0"])) == {1: 5, 2: 9, 3: 9}
    assert starts(with_epoch(replica(e1=5, e4=9), 3, 12, PRESETS["kafka-2.0.0"])) == {1: 5, 4: 9}
    assert starts(with_epoch(replica(e1=5), 2, 3, PRESETS["kafka-2.0.0"])) == {1: 5}
    assert starts(with_epoch(replica(), 2, 3, PRESETS["kafka-2.0.0"])) == {2: 3}


@pytest.mark.parametrize(
    ("offset", "kept"), [(11, {2: 6, 3: 8}), (9, {2: 6, 3: 8}), (8, {2: 6}), (6, {}), (12, {2: 6, 3: 8, 4: 11})]
)
def test_cutting_the_end_drops_epochs_that_begin_there_or_later(offset: int, kept: dict[int, int]) -> None:
    assert starts(without_epochs_from(replica(e2=6, e3=8, e4=11), offset)) == kept


@pytest.mark.parametrize(
    ("offset", "kept"),
    [(6, {2: 6, 3: 8, 4: 11}), (7, {2: 7, 3: 8, 4: 11}), (8, {3: 8, 4: 11}), (9, {3: 9, 4: 11}), (12, {4: 12})],
)
def test_cutting_the_start_keeps_the_epoch_that_spans_it(offset: int, kept: dict[int, int]) -> None:
    made = without_records_below(replica(e2=6, e3=8, e4=11), offset)
    assert (starts(made), made.log_start, made.log_end_offset) == (kept, offset, 20)


def test_records_note_their_epochs() -> None:
    assert starts(log_of(0, 0, 2, 2, 5)) == {0: 0, 2: 2, 5: 4}


def test_truncation_cuts_log_epochs_and_high_watermark() -> None:
    made = truncated(attrs.evolve(log_of(0, 0, 2, 2), high_watermark=4), 1, REPAIRED)
    assert (made.log_end_offset, starts(made), made.high_watermark) == (1, {0: 0}, 1)


def test_an_epoch_without_records_survived_truncation_at_the_end_until_2_6() -> None:
    """KAFKA-10706."""
    elected = with_epoch(log_of(0), 3, 1, PRESETS["kafka-2.1"])
    assert starts(truncated(elected, 1, PRESETS["kafka-2.1"])) == {0: 0, 3: 1}
    assert starts(truncated(elected, 1, PRESETS["kafka-4.1"])) == {0: 0}


def test_a_follower_cuts_at_the_smaller_of_both_ends_of_the_epoch() -> None:
    assert truncation_point(log_of(0, 0, 1), (0, 1), PRESETS["kafka-2.0.0"]) == (1, True)
    assert truncation_point(log_of(0, 0, 1), (0, 5), PRESETS["kafka-2.0.0"]) == (2, True)


def test_a_follower_that_does_not_know_the_leaders_epoch_steps_back_and_asks_again() -> None:
    assert truncation_point(log_of(0, 0, 3), (2, 5), PRESETS["kafka-2.0.0"]) == (2, False)


def test_a_follower_whose_epochs_are_all_newer_cuts_where_they_begin() -> None:
    assert truncation_point(log_of(3, 3), (1, 1), PRESETS["kafka-2.1"]) == (0, True)
    assert truncation_point(log_of(3, 3), (1, 1), PRESETS["kafka-2.0.0"]) == (1, True), (
        "until 2.0.0 at the leader's end"
    )


def test_without_an_answer_a_follower_falls_back_to_its_high_watermark() -> None:
    assert truncation_point(attrs.evolve(log_of(0, 0, 1), high_watermark=1), None, PRESETS["kafka-2.0.0"]) == (1, True)


def test_with_kip_101_a_follower_looks_at_the_offset_only() -> None:
    assert truncation_point(log_of(3, 3), (1, 1), PRESETS["kafka-0.11"]) == (1, True)


def test_a_log_that_begins_anew_is_empty() -> None:
    made = restarted_at(log_of(0, 0), 5)
    assert (made.log_start, made.log_end_offset, made.high_watermark, starts(made)) == (5, 5, 5, {})


def shown(log: tuple[Record, ...]) -> str:
    return " ".join(map(str, log))


def in_batches(*sizes: int) -> tuple[Record, ...]:
    places = [place for size in sizes for place in (Place.FIRST, *[Place.NEXT] * (size - 1))]
    return tuple(Record(number, 0, place) for number, place in enumerate(places))


@pytest.mark.parametrize(
    ("offset", "left"), [(4, "r0@e0 +r1@e0 r2@e0 gap"), (3, "r0@e0 +r1@e0 r2@e0"), (1, "gap"), (0, "")]
)
def test_truncation_inside_a_batch_leaves_a_gap_up_to_the_offset(offset: int, left: str) -> None:
    log = in_batches(2, 1, 2)
    assert shown(cut(log, 0, offset)) == left
    assert shown(as_loaded(cut(log, 0, offset))) == left.removesuffix("gap").strip()


def test_truncation_at_the_log_start_leaves_no_gap_below_it() -> None:
    assert cut((DELETED, *in_batches(2)[1:]), 1, 1) == (DELETED,)


@pytest.mark.parametrize(
    ("offset", "room", "response"),
    [(0, 1, "r0@e0 +r1@e0"), (0, 3, "r0@e0 +r1@e0 r2@e0"), (0, 4, "r0@e0 +r1@e0 r2@e0"), (1, 2, "+r1@e0 r2@e0")],
)
def test_a_fetch_returns_whole_batches_that_fit_and_at_least_one(offset: int, room: int, response: str) -> None:
    bounds = PartitionBounds(brokers=1, log_length_max=7, records_max=7, leader_epoch_max=0, fetch_records=room)
    assert shown(fetched(in_batches(2, 1, 2), offset, bounds)) == response


def test_a_fetch_reads_over_a_gap_to_the_next_batch() -> None:
    bounds = PartitionBounds(brokers=1, log_length_max=7, records_max=7, leader_epoch_max=0)
    log = (GAP, *in_batches(1))
    assert fetched(log, 0, bounds) == log and fetched((GAP,), 0, bounds) == (GAP,)
