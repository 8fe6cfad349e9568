"""Kafka's own classes, which read what is on disk: the Java program, and which release's classes it takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from highwater.conformance.distribution import NEWEST_KAFKA, kept_releases
from highwater.conformance.process import Harness
from highwater.model.language.definition import release_number, up_to
from highwater.model.partition.releases import LAST_RELEASES

OLDEST_READER = (4, 0, 0, 0)
MOST_BYTES = 1 << 19  # of the metadata log, read at once


@attrs.frozen
class Part:
    """A file of the metadata log, or a snapshot of it, and how many of its bytes are whole batches."""

    path: Path
    whole: int


class DiskReader(Harness):
    """The Java program that reads log directories."""

    program = "Disk"

    def batches(self, *parts: Part) -> Iterator[dict[str, Any]]:
        """The batches of files of the metadata log as JSON, with their records. Some are read while those before them
        are looked at.
        """
        for part in parts:
            at = 0
            while at < part.whole:
                if not at:
                    self._ask(part, at)
                (answer,) = self.receive()
                at = answer["next"]
                if at < part.whole:
                    self._ask(part, at)
                yield from answer["batches"]

    def _ask(self, part: Part, at: int) -> None:
        self.send([{"records": str(part.path.resolve()), "from": at, "to": part.whole, "most": MOST_BYTES}])


def reader_release() -> str:
    """The newest release from 4.0 on that was resolved before and that the models know; else one that Maven is asked
    for.
    """
    last = up_to(LAST_RELEASES["kraft"])
    found = sorted((release_number(each), each) for each in kept_releases())
    known = [each for number, each in found if OLDEST_READER <= number <= last]
    return known[-1] if known else NEWEST_KAFKA
