"""Levels on durable storage: Parquet files, and manifests that name them.

    manifest.json                  the spec, its hashes and the layout; written first, never changed
    levels/00012/part-...parquet   rows: words, parent, action, depth, orbit
    levels/00012.json              the level's files with sizes and checksums, and all counts up to here
    end.json                       exists if there are no more levels

A level exists once its manifest does. Parts that no manifest names are leftovers of killed processes. Every file has a
new name and never changes, so the last whole level survives a kill at any moment. A level's manifest has the hash of
the one before, the first one that of `manifest.json`, and `end.json` that of the last one: what two searches wrote
cannot be mixed. The folder is any URI that pyarrow can write to and that
driver and executors all reach.
"""

from __future__ import annotations

import functools
import hashlib
import io
import re
import uuid
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from highwater.explorer.search.keeping.durable import CheckpointError, Lock, seal, unseal
from highwater.explorer.search.keeping.fingerprint import Fingerprint, differences, in_one_line
from highwater.explorer.search.states.counts import Counts
from highwater.spark.files import Damaged, Folder, RemoteLock, for_spark

FORMAT, VERSION = "highwater-levels", 5
MANIFEST = "manifest.json"
END = "end.json"
PARQUET: dict[str, Any] = {
    "use_dictionary": ["action", "depth", "orbit"],
    "write_statistics": False,
    "write_page_checksum": True,
}
PACKED = "DELTA_BINARY_PACKED"  # takes the bits in which numbers differ
MOST_WORDS_AS_THEY_ARE = 2


@attrs.frozen
class LevelFile:
    """A file of a level: its name below `levels/`, whose rows it has, its size, rows and checksum."""

    name: str
    partition: int
    rows: int
    bytes: int
    sha256: str


@attrs.frozen
class Found:
    """The row of a file of a level that violates a property."""

    property: str
    depth: int
    file: int
    row: int


@attrs.frozen
class Level:
    """A whole level.

    Attributes:
        depth: the number of actions from an initial state.
        files: its files, in the order of their partitions. A partition has as many as its rows take, or none.
        partitions: how many partitions it was made in: one by the driver.
        states: the number of states that its rows stand for.
        counts: the counts of all expansions before it.
        found: the violations found so far, in the order of the report.
        paths: how many paths of functions are known, in all processes.
        visited: bytes of the visited sets.
    """

    depth: int
    files: tuple[LevelFile, ...]
    states: int
    counts: Counts
    partitions: int = 1
    found: tuple[Found, ...] = ()
    paths: int = 0
    visited: int = 0

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    def files_for(self, partition: int, partitions: int) -> list[LevelFile]:
        """The files with rows of a partition: its own; if the level was made in fewer partitions of which each is
        several of these, those of the one that has it; or else all.
        """
        parts, rest = divmod(partitions, self.partitions)
        return list(self.files) if rest else self._by_partition.get(partition // parts, [])

    @functools.cached_property
    def _by_partition(self) -> dict[int, list[LevelFile]]:
        """The files of each partition that has any: thousands of partitions ask for theirs."""
        found: dict[int, list[LevelFile]] = {}
        for file in self.files:
            found.setdefault(file.partition, []).append(file)
        return found


class Levels:
    """The folder of one search. It travels to executors by its URI, not with its files.

    Attributes:
        temporary: whether the folder goes with the search, so that nothing in it need outlive a failure of power.
    """

    def __init__(self, uri: str, *, temporary: bool = False) -> None:
        self.uri = uri
        self.temporary = temporary
        self._folder = Folder(uri, for_good=not temporary)
        self._last_hash = ""
        self._lock: Lock | RemoteLock | None = None

    def __reduce__(self) -> Any:
        return functools.partial(Levels, self._folder.everywhere, temporary=self.temporary), ()

    # The whole folder

    def begin(self, header: dict[str, Any]) -> None:
        """Make and lock the folder, and write the manifest.

        Raises:
            CheckpointError: it cannot be made, holds a search already, or another search writes there.
        """
        self.lock()
        self._refuse_held()
        text, self._last_hash = seal({"format": FORMAT, "version": VERSION, **header})
        self._folder.write(MANIFEST, text)

    def try_out(self, *, resume: bool) -> None:
        """Refuse now what a search would refuse after Spark has started.

        Raises:
            CheckpointError: the folder cannot be used, another search writes there, or it holds one, or, to resume one,
                none.
        """
        if resume:
            self.header()
        self.lock()
        try:
            if not resume:
                self._refuse_held()
        finally:
            self.release()

    def _refuse_held(self) -> None:
        if self._folder.holds(MANIFEST):
            raise CheckpointError(
                f"{self.uri}: holds a search already; continue it with --resume, or name another folder"
            )

    def lock(self) -> None:
        """Keep others from writing to the folder, until `release`.

        Raises:
            CheckpointError: another search writes there, and which one.
        """
        self._lock = self._folder.lock()

    def release(self) -> None:
        """Let others write to the folder."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def header(self) -> dict[str, Any]:
        """The content of the manifest.

        Raises:
            CheckpointError: there is no manifest, or it is damaged.
        """
        if not self._folder.holds(MANIFEST):
            raise CheckpointError(f"{self.uri}: holds no levels of a search (there is no {MANIFEST})")
        header = self._sealed(MANIFEST)[0]
        if (header.get("format"), header.get("version")) != (FORMAT, VERSION):
            raise CheckpointError(
                f"{self.uri}/{MANIFEST}: was not written by this version of highwater with --engine spark"
            )
        return header

    def refuse_unless_of(self, prints: Fingerprint, *, states_only: bool = False) -> None:
        """Refuse levels of another search, or, if only the states matter, of other states.

        Raises:
            CheckpointError: they belong to another search. The message names the differences.
        """
        if different := differences(self.header()["fingerprint"], prints, states_only=states_only):
            raise CheckpointError(f"{self.uri}: is a checkpoint of another search: {in_one_line(different)}")

    def read(self) -> list[Level]:
        """All whole levels, after a check that every file is complete.

        Raises:
            CheckpointError: a manifest or a file is missing, cut short or damaged.
        """
        levels: list[Level] = []
        self._last_hash = self._sealed(MANIFEST)[1]
        depths = self._depths()
        for depth in range(max(depths, default=-1) + 1):
            if depth not in depths:
                raise CheckpointError(
                    f"{self.uri}/{_level_file(depth)}: is missing; the checkpoint goes on to level {max(depths)}"
                )
            data, sealed = self._sealed(_level_file(depth))
            if data.get("previous") != self._last_hash:
                before = f"{self.uri}/{_level_file(depth - 1) if depth else MANIFEST}"
                raise CheckpointError(
                    f"{self.uri}/{_level_file(depth)}: does not follow from {before}; two searches wrote here"
                )
            self._last_hash = sealed
            levels.append(self._level_from(data, depth))
        for level in levels:
            self._refuse_unless_whole(level)
        return levels

    def level(self, depth: int) -> Level:
        """One whole level."""
        return self._level_from(self._sealed(_level_file(depth))[0], depth)

    def commit(self, level: Level) -> None:
        """Make a level exist.

        Raises:
            CheckpointError: its manifest cannot be written.
        """
        data = {
            **attrs.asdict(level, filter=lambda field, _: field.name != "counts"),
            "previous": self._last_hash,
            "counts": level.counts.as_data(),
        }
        if self._lock is not None:
            self._lock.verify()
        text, self._last_hash = seal(data)
        self._folder.write(_level_file(level.depth), text)

    def note_end(self, depth: int) -> None:
        """Note that the level at that depth is the last: its states have no new successors."""
        self._folder.write(END, seal({"depth": depth, "previous": self._last_hash})[0])

    def ended(self) -> bool:
        """Whether there are no more levels than `read` has found."""
        return self._folder.holds(END) and self._sealed(END)[0].get("previous") == self._last_hash

    def remove_leftovers(self, depth: int) -> None:
        """Remove files of the level after the last whole one, and files that were not finished."""
        self._folder.remove(f"levels/{depth:05d}")
        for below in ("", "levels"):
            self._folder.remove_temporary(below)

    # Files

    def write_file(
        self,
        depth: int,
        partition: int,
        words: Sequence[np.ndarray],
        parents: np.ndarray,
        actions: np.ndarray,
        orbits: np.ndarray,
    ) -> LevelFile:
        """Write rows as a Parquet file under a name of its own."""
        columns = {f"w{number}": column.view(np.int64) for number, column in enumerate(words)}
        columns |= {
            "parent": parents,
            "action": actions.astype(np.int32),
            "depth": np.full(len(parents), depth, np.int32),
        }
        columns["orbit"] = orbits.astype(np.int32)
        data = _as_parquet(columns, len(words))
        file = f"{depth:05d}/part-{partition:05d}-{uuid.uuid4().hex[:12]}.parquet"
        self._folder.write(f"levels/{file}", data)
        return LevelFile(file, partition, len(parents), len(data), hashlib.sha256(data).hexdigest())

    def read_file(self, file: LevelFile, columns: Sequence[str]) -> list[np.ndarray]:
        """Some columns of a file.

        Raises:
            CheckpointError: the file is missing or damaged.
        """
        data = self.whole(file)
        table = pq.ParquetFile(pa.BufferReader(data)).read(columns=list(columns), use_threads=False)
        return [_numbers(table.column(name)) for name in columns]

    def whole(self, file: LevelFile) -> bytes:
        """All of a file.

        Raises:
            CheckpointError: the file is missing or damaged.
        """
        data = self._folder.read(f"levels/{file.name}")
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise Damaged(f"{self.uri}/levels/{file.name}: is damaged: its checksum does not match")
        return data

    def words_of(self, file: LevelFile, words: int) -> list[np.ndarray]:
        """The columns of words of a file."""
        return [column.view(np.uint64) for column in self.read_file(file, [f"w{number}" for number in range(words)])]

    def locations(self, levels: Sequence[Level]) -> list[str]:
        """The files of levels as Spark's reader takes them: letters that are patterns to it are escaped. That reader
        knows no checksums of whole files: `highwater.spark.driver.rows` compares them before.
        """
        base = re.sub(r"([\\{}\[\]*?])", r"\\\1", for_spark(self.uri))
        return [f"{base}/levels/{file.name}" for level in levels for file in level.files]

    def _refuse_unless_whole(self, level: Level) -> None:
        sizes = self._folder.sizes([f"levels/{file.name}" for file in level.files])
        for file, size in zip(level.files, sizes, strict=True):
            path = f"{self.uri}/levels/{file.name}"
            if size is None:
                raise CheckpointError(f"{path}: is missing from the checkpoint")
            if size != file.bytes:
                raise CheckpointError(f"{path}: is cut short: {size:,} of {file.bytes:,} bytes")

    # Manifests

    def _depths(self) -> set[int]:
        """The depths of the levels that have manifests."""
        names = self._folder.names("levels")
        return {int(name[:-5]) for name in names if re.fullmatch(r"[0-9]{5,}\.json", name)}

    def _level_from(self, data: dict[str, Any], depth: int) -> Level:
        try:
            return Level(
                data["depth"],
                tuple(LevelFile(**file) for file in data["files"]),
                data["states"],
                Counts.from_data(data["counts"]),
                data["partitions"],
                tuple(Found(**found) for found in data["found"]),
                data["paths"],
                data["visited"],
            )
        except (KeyError, TypeError):  # it is sealed, and another manifest
            raise CheckpointError(f"{self.uri}/{_level_file(depth)}: is no manifest of a level") from None

    def _sealed(self, name: str) -> tuple[dict[str, Any], str]:
        """A manifest, and its hash."""
        sealed = self._folder.read(name)
        try:
            return unseal(sealed, f"{self.uri}/{name}", "a search with --engine spark")
        except CheckpointError as fault:
            raise Damaged(str(fault)) from None


def _as_parquet(columns: dict[str, np.ndarray], words: int) -> memoryview:
    """Columns as a file. It is read once, soon: what is quick to write and to read is worth more than what is small.

    The last word has bits to spare, and parents ascend. Of few words, most bits differ from row to row; many have long
    stretches in common, which are worth compressing.
    """
    fields = [pa.field(name, pa.from_numpy_dtype(column.dtype), nullable=False) for name, column in columns.items()]
    table = pa.Table.from_arrays([_array(column) for column in columns.values()], schema=pa.schema(fields))
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        compression="none" if words <= MOST_WORDS_AS_THEY_ARE else "lz4",
        column_encoding={f"w{words - 1}": PACKED, "parent": PACKED},
        **PARQUET,
    )
    return sink.getbuffer()


# Numbers in and out of Arrow by their buffers: its own conversions import pandas, 50 MiB in each Python worker


def _array(numbers: np.ndarray) -> pa.Array:
    whole = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [None, pa.py_buffer(whole)])


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    kind = np.dtype(column.type.to_pandas_dtype())
    chunks = [
        np.frombuffer(chunk.buffers()[1], kind, len(chunk), chunk.offset * kind.itemsize) for chunk in column.chunks
    ]
    return chunks[0] if len(chunks) == 1 else np.concatenate([np.zeros(0, kind), *chunks])


def _level_file(depth: int) -> str:
    return f"levels/{depth:05d}.json"
