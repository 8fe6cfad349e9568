"""Records, and the batches in which producers and fetches move them.

A log is a sequence of batches: a batch is appended, fetched and cut as a whole. Truncation to an offset inside a batch
cuts all of the batch, and the log end offset is the offset asked for. So a *gap* is left: offsets without records. A
restart finds the log end behind the last batch. Batches are those of message format 2, of 0.11 and newer; before, only
a compressed message set was one.

Source: kafka.log.Log#truncateTo (0.11 to 3.0), kafka.log.LocalLog#truncateTo (3.1 to 3.8): #updateLogEndOffset with the
    offset asked for; kafka.log.LogSegment#truncateTo (0.11 to 3.6), #translateOffset, which finds the first batch that
    ends there or later; LogSegment#readNextOffset (1.1 to 3.8).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from highwater.model.language.domain import Integers, OneOf
from highwater.model.language.records import within
from highwater.model.log import epochs
from highwater.model.partition.bounds import PartitionBounds


class Place(Enum):
    """Where in a batch a record is: first, or behind the record before it; or there is none, as truncation has cut the
    batch.
    """

    FIRST = "first"
    NEXT = "next"
    GAP = "gap"


def places(bounds: Any) -> OneOf:
    """The domain of a place: each record is a batch of its own, unless producers send batches."""
    return OneOf(Place) if bounds.batch_records > 1 else OneOf((Place.FIRST,))


@attrs.frozen
class Record:
    """A record in a log. Ids are unique, so that two records differ; brokers look at leader epochs and places only."""

    id: int = within(lambda bounds: Integers(0, bounds.records_max - 1))
    leader_epoch: int = within(epochs)
    place: Place = within(places, default=Place.FIRST)

    @property
    def name(self) -> str:
        """Its name: a + is before that of a record which is not the first one of its batch."""
        return "gap" if self.place is Place.GAP else f"{'+' if self.place is Place.NEXT else ''}r{self.id}"

    def __str__(self) -> str:
        return self.name if self.place is Place.GAP else f"{self.name}@e{self.leader_epoch}"

    def is_record(self, number: int) -> bool:
        """Whether this is the record with an id."""
        return self.id == number and self.place is not Place.GAP


Log = tuple[Record, ...]

DELETED = Record(0, 0)
"""Stands in a log for each record that retention has deleted: read a log only from `log_start` on."""

GAP = Record(0, 0, Place.GAP)


def cut(log: Log, log_start: int, offset: int) -> Log:
    """A log up to an offset that is in it. If the offset is inside a batch, the batch becomes a gap."""
    kept = offset
    while kept > log_start and log[kept].place is Place.NEXT:
        kept -= 1
    return log[:kept] + (GAP,) * (offset - kept)


def is_inside(log: Log, offset: int) -> bool:
    """Whether an offset is inside a batch."""
    return offset < len(log) and log[offset].place is Place.NEXT


def as_loaded(log: Log) -> Log:
    """A log as a broker that starts finds it: it ends behind its last batch."""
    end = len(log)
    while end and log[end - 1].place is Place.GAP:
        end -= 1
    return log[:end]


def fetched(log: Log, offset: int, bounds: PartitionBounds) -> Log:
    """What a fetch from an offset that is in the log returns: the next batch, and those behind it that fit, too.

    At least one batch is returned, however large, since KIP-74.
    Abstracts: sizes in bytes; all records are of equal size.
    Source: kafka.log.LogSegment#read with minOneMessage (0.10.1 to 3.6); FileRecords#slice, of which a follower
        takes over complete batches only.
    """
    end = batch_end(log, offset)
    while end < len(log) and count(log[offset : (further := batch_end(log, end))]) <= bounds.fetch_records:
        end = further
    return log[offset:end]


def count(log: Log) -> int:
    """How many records there are in a part of a log."""
    return sum(record.place is not Place.GAP for record in log)


def batch_end(log: Log, offset: int) -> int:
    """The offset behind the first batch that ends behind an offset, which is in the log."""
    end = offset
    while log[end].place is Place.GAP and end + 1 < len(log):
        end += 1
    end += 1
    while end < len(log) and log[end].place is Place.NEXT:
        end += 1
    return end


def begins_before(batches: Log) -> bool:
    """Whether the first batch of a response begins before the fetch offset: that was inside of the batch."""
    return batches[0].place is Place.NEXT
