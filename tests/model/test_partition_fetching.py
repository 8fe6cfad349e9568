"""Fetching, as stories. Each row is named after the test or the method of Kafka that it mirrors."""

from __future__ import annotations

import attrs
import pytest

from highwater.model.partition.batches import Record
from highwater.model.partition.definition import initial_states
from highwater.model.partition.logs import without_records_below
from highwater.model.partition.messages import Fetch, Stage
from highwater.model.partition.releases import PRESETS, REPAIRED
from highwater.model.partition.serving import response_to
from tests.model.partition_story import Row, bounds_of

CAUGHT_UP = "produce b0, fetch b1, receive_fetch b1"
DIVERGED = "produce b0, move_leadership b1, learn_leadership b1 e1, learn_leadership b0 e1, fetch b0"

ROWS = [
    Row(
        "ReplicaManager#readFromLocalLog (0.10.2): a record travels with the high watermark from before its fetch "
        "was noted",
        PRESETS["kafka-0.10.2"],
        f"produce b0, {CAUGHT_UP}, fetch b1",
        {"b0.high_watermark": 1, "b1.fetch.high_watermark": 0, "b1.fetch.stage": "record"},
    ),
    Row(
        "Partition#fetchRecords (3.5): the same; the follower learns it one round later",
        REPAIRED,
        f"produce b0, {CAUGHT_UP}, fetch b1, receive_fetch b1, fetch b1, receive_fetch b1",
        {"b0.high_watermark": 2, "b1.high_watermark": 2, "b1.log": (0, 1)},
    ),
    Row(
        "DelayedFetch#onComplete: a fetch that waited is answered with the high watermark of that moment",
        REPAIRED,
        f"{CAUGHT_UP}, fetch b1",
        {"b0.high_watermark": 1, "b1.fetch.high_watermark": 1, "b1.fetch.stage": "nothing new"},
    ),
    *(
        Row(
            f"AbstractFetcherThread#processFetchRequest ({release}): who leads drops the record that it fetched before",
            PRESETS[f"kafka-{release}"],
            "produce b0, fetch b1, move_leadership b1, learn_leadership b1 e1, receive_fetch b1",
            {"b1.leader": 1, "b1.log": (), "b1.fetch": None},
            {"leader_moves": 1},
        )
        for release in ("0.10.2", "2.0.0", "2.8.0")
    ),
    Row(
        "AbstractFetcherThread#processFetchRequest (0.10.2): who follows the same leader again takes the record "
        "that it asked for before",
        PRESETS["kafka-0.10.2"],
        "produce b0, fetch b1, move_leadership b1, move_leadership b0, learn_leadership b1 e2, receive_fetch b1",
        {"b1.leader": 0, "b1.log": (0,)},
        {"leader_moves": 2},
    ),
    Row(
        "AbstractFetcherThread#truncateOnFetchResponse (2.8): who leads cuts its log by what it was told before "
        "(KAFKA-13207)",
        PRESETS["kafka-2.8.0"],
        f"{DIVERGED}, receive_fetch b0, move_leadership b0, learn_leadership b0 e2, receive_fetch b0",
        {"b0.leader": 0, "b0.log": ()},
        {"leader_moves": 2},
    ),
    Row(
        "AbstractFetcherThread#processFetchRequest (2.8): but not where it learns of that before it has looked at "
        "the answer",
        PRESETS["kafka-2.8.0"],
        f"{DIVERGED}, move_leadership b0, learn_leadership b0 e2, receive_fetch b0",
        {"b0.leader": 0, "b0.log": (0,)},
        {"leader_moves": 2},
    ),
    Row(
        "AbstractFetcherThread#maybeTruncateToEpochEndOffsets (2.8.1): who leads does not cut its log after the "
        "correction (KAFKA-13207)",
        PRESETS["kafka-3.0"],
        f"{DIVERGED}, receive_fetch b0, move_leadership b0, learn_leadership b0 e2, receive_fetch b0",
        {"b0.leader": 0, "b0.log": (0,), "b0.fetch": None},
        {"leader_moves": 2},
    ),
    *(
        Row(
            f"AbstractFetcherThread#processFetchRequest ({release}): who follows the same leader again cuts by "
            "what it was told before",
            PRESETS[f"kafka-{release}"],
            f"{DIVERGED}, move_leadership b0, move_leadership b1, learn_leadership b0 e3, receive_fetch b0",
            {"b0.leader": 1, "b0.leader_epoch": 3, "b0.log": ()},
            {"leader_moves": 3},
        )
        for release in ("3.5", "3.7")
    ),
    Row(
        "AbstractFetcherThread#processFetchRequest (4.0.1): unless it was told in another leader epoch (KAFKA-18991)",
        PRESETS["kafka-4.1"],
        f"{DIVERGED}, move_leadership b0, move_leadership b1, learn_leadership b0 e3, not receive_fetch b0",
        {"b0.leader": 1, "b0.leader_epoch": 3, "b0.log": (0,), "b0.fetch": None},
        {"leader_moves": 3},
    ),
    Row(
        "AbstractFetcherThread#doWork (2.1): who waits for a response of its leader asks that leader nothing else",
        PRESETS["kafka-2.1"],
        "fetch b1, move_leadership b1, move_leadership b0, learn_leadership b0 e2, learn_leadership b1 e2, "
        "not ask_where_to_truncate b1, receive_fetch b1, ask_where_to_truncate b1",
        {"b1.leader": 0, "b1.leader_epoch": 2, "b1.fetch": None, "b1.truncating": False},
        {"leader_moves": 2},
    ),
    Row(
        "AbstractFetcherThread#processFetchRequest (4.0.1): nor where it leads by then",
        REPAIRED,
        f"{DIVERGED}, move_leadership b0, learn_leadership b0 e2, not receive_fetch b0",
        {"b0.leader": 0, "b0.log": (0,), "b0.fetch": None},
        {"leader_moves": 2},
    ),
    Row(
        "KafkaApis#handleFetchRequest (3.5): a request is served, and its offset noted, also when its sender "
        "lives in a newer epoch by now",
        REPAIRED,
        "produce b0, send_fetch b1, move_leadership b1, learn_leadership b1 e1, serve_fetch b1",
        {"b0.leader_epoch": 0, "b0.followers.1.log_end_offset": 0, "b1.fetch": None, "b1.log": ()},
        {"fetch_steps": 3, "leader_moves": 1},
    ),
    *(
        Row(
            f"AbstractFetcherThread ({release}): a diverging answer cuts the log, also where a fetch is one step",
            PRESETS[f"kafka-{release}"],
            (
                "produce b0, move_leadership b1, learn_leadership b1 e1, learn_leadership b0 e1, fetch_at_once b0, "
                "fetch_at_once b0"
            ),
            {"b0.log": (), "b0.fetch": None},
            {"leader_moves": 1, "fetch_steps": 1},
        )
        for release in ("3.0", "3.5")
    ),
    Row(
        "Log#updateHighWatermark (2.4): a high watermark that is behind the log's start is raised to it",
        REPAIRED,
        f"{CAUGHT_UP}, fetch b2, receive_fetch b2, fetch b1, receive_fetch b1, fetch b2, lose_fetch b2, fetch b1, "
        "receive_fetch b1, delete_old_records b0 1, fetch b1, receive_fetch b1, move_leadership b2, "
        "learn_leadership b2 e1, learn_leadership b1 e1, fetch b1, receive_fetch b1",
        {"b2.high_watermark": 0, "b1.log_start": 1, "b1.high_watermark": 1},
        {"brokers": 3, "retentions": 1, "leader_moves": 1},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kafka)
def test_fetching_is_kafkas(row: Row) -> None:
    row.check()


# testLastFetchedOffsetValidation: a leader of epoch 10, whose log ends at 17.
STARTS = {0: 0, 3: 2, 4: 8, 7: 13, 9: 14, 10: 17}


def answer(log_start: int, epoch: int, offset: int) -> tuple[str, int, int] | str:
    """What that leader makes of a fetch behind a record of an epoch, once records below an offset were deleted."""
    bounds = bounds_of(log_length_max=7, leader_epoch_max=7)
    (state,) = initial_states(bounds, REPAIRED)
    cache = tuple(STARTS.get(each) for each in range(12))
    leader = attrs.evolve(state.replicas[0], log=(Record(0, 0),) * 17, epoch_starts=cache, high_watermark=17)
    request = Fetch(Stage.REQUEST, 0, 10, offset, epoch, 0, 0, 0, ())
    begun = without_records_below(leader, log_start) if log_start else leader
    response = response_to(begun, request, REPAIRED, bounds)
    return (
        ("diverging", response.epoch, response.end_offset)
        if response.stage is Stage.DIVERGING
        else response.stage.value
    )


@pytest.mark.parametrize(
    ("log_start", "epoch", "offset", "expected"),
    [
        (0, 2, 5, ("diverging", 0, 2)),
        (0, 0, 4, ("diverging", 0, 2)),
        (0, 6, 6, ("diverging", 4, 13)),
        (0, 5, 9, ("diverging", 4, 13)),
        (0, 10, 18, ("diverging", 10, 17)),
        (0, 0, 2, "record"),
        (0, 7, 14, "record"),
        (0, 9, 17, "nothing new"),
        (0, 10, 17, "nothing new"),
        (0, 11, 5, "out of range"),
        (5, 2, 8, ("diverging", 2, 5)),
        (5, 0, 5, "record"),
        (5, 3, 5, "record"),
        (5, 0, 0, "out of range"),
        (10, 5, 6, "out of range"),
        (10, 3, 6, "out of range"),
    ],
)
def test_last_fetched_offset_validation(
    log_start: int, epoch: int, offset: int, expected: tuple[str, int, int] | str
) -> None:
    """PartitionTest#testLastFetchedOffsetValidation (3.5.1)."""
    assert answer(log_start, epoch, offset) == expected
