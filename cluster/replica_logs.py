"""What a replica's log holds on disk: batches of one record each, written by the clients of this package.

Source: org.apache.kafka.common.record.DefaultRecordBatch, DefaultRecord (magic 2, 0.11 to 4.3.1).
"""

from __future__ import annotations

import struct
from pathlib import Path

import attrs

HEADER = 61
SEGMENT = "00000000000000000000.log"


@attrs.frozen
class Stored:
    """A record in a log: its offset, its leader epoch, its value, and where its batch begins in the file."""

    offset: int
    epoch: int
    value: str
    position: int

    def __str__(self) -> str:
        return f"{self.value}@e{self.epoch}"


def stored(folder: Path) -> tuple[Stored, ...]:
    """The records of a partition's folder. A batch that is not whole yet is left out."""
    segment = folder / SEGMENT
    data = segment.read_bytes() if segment.exists() else b""
    found: list[Stored] = []
    position = 0
    while position + HEADER <= len(data):
        offset, length, epoch = struct.unpack_from(">qii", data, position)
        end = position + 12 + length
        if length <= 0 or end > len(data):
            break
        found.append(Stored(offset, epoch, _value(data[position + HEADER : end]), position))
        position = end
    return tuple(found)


def cut(folder: Path, offset: int) -> None:
    """Cut the log before an offset, at the border of a batch: what a power failure does to records not yet flushed."""
    for record in stored(folder):
        if record.offset >= offset:
            with open(folder / SEGMENT, "r+b") as file:
                file.truncate(record.position)
            return


def _value(record: bytes) -> str:
    """The value of one record: after its length and attributes come the deltas of time and offset, the key, the
    value.
    """
    at = _varint(record, 0)[1] + 1
    for _ in range(2):
        at = _varint(record, at)[1]
    size, at = _varint(record, at)
    at += max(size, 0)
    size, at = _varint(record, at)
    return record[at : at + size].decode(errors="replace") if size >= 0 else ""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint, and where it ends."""
    raw = shift = 0
    while True:
        byte = data[at]
        raw |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at
