"""Kafka's own classes, which read what is on disk: the Java program, and which release's classes it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import attrs

from highwater.conformance.distribution import NEWEST_KAFKA, Distribution, KafkaError, find, kept_releases, numbers_of
from highwater.conformance.process import Harness
from highwater.model.language.definition import release_number, up_to
from highwater.model.partition.releases import LAST_RELEASES

OLDEST_READER = (4, 0, 0, 0)
MOST_BYTES = 1 << 19  # of the metadata log, read at once
NEWER = "UnsupportedVersionException"  # what Kafka throws at a record, or a part of one, of a version that it lacks

T = TypeVar("T")


class NewerError(KafkaError):
    """A record of the metadata log is newer than the classes that read it."""


@attrs.frozen
class Part:
    """A file of the metadata log, or a snapshot of it, and how many of its bytes are whole batches."""

    path: Path
    whole: int


class DiskReader(Harness):
    """The Java program that reads log directories.

    Attributes:
        unread: by file and Kafka's words, the offsets of the records that it cannot read.
    """

    program = "Disk"

    def __init__(self, distribution: Distribution) -> None:
        super().__init__(distribution)
        self.unread: dict[tuple[Path, str], list[int]] = {}

    def batches(self, *parts: Part) -> Iterator[dict[str, Any]]:
        """The batches of files of the metadata log as JSON, with the records that count (`without_undone`). Some
        are read while those before them are looked at.

        Raises:
            NewerError: a record is of a version that this release lacks. All that follows from it would be wrong.
        """
        return without_undone(self._all_batches(*parts))

    def _all_batches(self, *parts: Part) -> Iterator[dict[str, Any]]:
        for part in parts:
            at = 0
            while at < part.whole:
                if not at:
                    self._ask(part, at)
                (answer,) = self.receive()
                at = answer["next"]
                if at < part.whole:
                    self._ask(part, at)
                for batch in answer["batches"]:
                    self._note_unread(part.path, batch)
                    yield batch

    def _note_unread(self, path: Path, batch: dict[str, Any]) -> None:
        for each in batch["records"]:
            why = each.get("record", {}).get("error")
            if why is not None and NEWER in why:
                release = self.distribution.release
                older = numbers_of(release) < numbers_of(NEWEST_KAFKA)
                raise NewerError(
                    f"{path}: Kafka {release} cannot read the record at offset {each['offset']}: {why}; name a newer "
                    f"release{f', such as --kafka {NEWEST_KAFKA}' if older else ' with --kafka'}"
                )
            if why is not None:
                self.unread.setdefault((path, why), []).append(each["offset"])

    def _ask(self, part: Part, at: int) -> None:
        self.send([{"records": str(part.path.resolve()), "from": at, "to": part.whole, "most": MOST_BYTES}])


def without_undone(batches: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Batches whose records in transactions that were aborted, or have no end, are empty: they count for nothing.

    Source: org.apache.kafka.image.loader.MetadataBatchLoader#replay (3.6.0 to 4.4.0); KIP-868.
    """
    held: list[dict[str, Any]] = []
    recorded: list[dict[str, Any]] | None = None  # since a transaction began that has not ended
    for batch in batches:
        held.append(batch)
        for record in batch["records"]:
            match record.get("type"):
                case "BeginTransactionRecord":
                    recorded = []
                case "EndTransactionRecord":
                    recorded = None
                case "AbortTransactionRecord":
                    _undo(recorded)
                    recorded = None
                case _ if recorded is not None:
                    recorded.append(record)
        if recorded is None:
            yield from held
            held.clear()
    _undo(recorded)
    yield from held


def _undo(records: Iterable[dict[str, Any]] | None) -> None:
    for each in records or ():
        each.clear()


def reader_release() -> str:
    """The newest release from 4.0 on that was resolved before and that the models know; else one that Maven is asked
    for.
    """
    last = up_to(LAST_RELEASES["kraft"])
    found = sorted((release_number(each), each) for each in kept_releases())
    known = [each for number, each in found if OLDEST_READER <= number <= last]
    return known[-1] if known else NEWEST_KAFKA


def read_by(where: str | None, read: Callable[[Distribution], T]) -> T:
    """Read by the classes that the user names. If none are named, read by the newest release that was resolved before,
    and, where a record is newer, by the newest that there is.

    Raises:
        KafkaError: there are no such classes, they cannot be run, or a record is newer than all of them.
    """
    kafka = find(where or reader_release())
    try:
        return read(kafka)
    except NewerError as error:
        if where is not None or numbers_of(kafka.release) >= numbers_of(NEWEST_KAFKA):
            raise
        newest = _newest(error)
    return read(newest)


def _newest(why: NewerError) -> Distribution:
    try:
        return find(NEWEST_KAFKA)
    except KafkaError as error:
        raise KafkaError(f"{why}; {error}") from None
