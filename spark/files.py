"""A folder on any storage that pyarrow can write to. Its files exist whole or not at all."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from highwater.explorer.blame import count_as_ours
from highwater.explorer.search.keeping.durable import (
    LOCK,
    TEMPORARY,
    CheckpointError,
    Holder,
    Lock,
    in_use,
    write_whole,
)

count_as_ours("pandas", "py4j", "pyarrow", "pyspark")  # executors have no front door that does


class Damaged(CheckpointError):
    """What was written is missing or has changed, so that no search goes on from it."""


class Folder:
    """A folder by its path or URI.

    Args:
        for_good: whether its files must outlive a failure of power.

    Raises:
        CheckpointError: the path or URI cannot be used. All methods raise it for errors of the storage, and name the
            file.
    """

    def __init__(self, uri: str, *, for_good: bool = True) -> None:
        self.uri = uri
        self._for_good = for_good
        try:
            self._files, self._base = _file_system(uri)
        except (pa.ArrowException, ValueError, OSError) as error:
            raise CheckpointError(f"{uri}: cannot be used: {_first_line(error)}") from None

    @property
    def everywhere(self) -> str:
        """The path or URI for processes that work in another folder, too."""
        return self._base if isinstance(self._files, fs.LocalFileSystem) else self.uri

    def holds(self, name: str) -> bool:
        """Whether there is such a file."""
        return self.sizes([name])[0] is not None

    def sizes(self, names: Sequence[str]) -> list[int | None]:
        """The size of each file in bytes; None where there is no such file."""
        try:
            found = self._files.get_file_info([self._path(name) for name in names])
        except OSError as error:
            raise CheckpointError(f"{self.uri}: cannot be read: {_first_line(error)}") from None
        return [info.size if info.type == fs.FileType.File else None for info in found]

    def names(self, below: str) -> list[str]:
        """The names in a folder below; empty if there is no such folder."""
        try:
            found = self._files.get_file_info(fs.FileSelector(self._path(below).rstrip("/"), allow_not_found=True))
        except OSError as error:
            raise CheckpointError(f"{self.uri}/{below}: cannot be read: {_first_line(error)}") from None
        return [info.base_name for info in found]

    def read(self, name: str) -> bytes:
        """The content of a file."""
        try:
            with self._files.open_input_stream(self._path(name), compression=None) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            raise Damaged(f"{self.uri}/{name}: is missing from the checkpoint") from None
        except OSError as error:
            raise CheckpointError(f"{self.uri}/{name}: cannot be read: {_first_line(error)}") from None

    def write(self, name: str, data: Any) -> None:
        """Write a file so that it is there whole or not at all."""
        path = self._path(name)
        try:
            self._files.create_dir(path.rpartition("/")[0], recursive=True)
            if isinstance(self._files, fs.LocalFileSystem):
                write_whole(Path(path), data, for_good=self._for_good)
                return
            temporary = f"{name}.{uuid.uuid4().hex[:12]}{TEMPORARY}"
            try:
                with self._files.open_output_stream(self._path(temporary), compression=None) as stream:
                    stream.write(data)
                self._files.move(self._path(temporary), path)
            except BaseException:
                self.remove_file(temporary)
                raise
        except OSError as error:
            raise CheckpointError(f"{self.uri}: cannot be written: {_first_line(error)}") from None

    def lock(self) -> Lock | RemoteLock:
        """Keep others from writing to the folder.

        Raises:
            CheckpointError: another process writes there, and which one.
        """
        if not isinstance(self._files, fs.LocalFileSystem):
            return RemoteLock(self)
        try:
            Path(self._base).mkdir(parents=True, exist_ok=True)
            return Lock(Path(self._base))
        except OSError as error:
            raise CheckpointError(f"{self.uri}: cannot be written: {_first_line(error)}") from None

    def remove_temporary(self, below: str) -> None:
        """Remove what processes that were killed have not finished writing."""
        for name in self.names(below):
            if name.endswith(TEMPORARY):
                self.remove_file(f"{below}/{name}" if below else name)

    def remove_file(self, name: str) -> None:
        """Remove a file if it can be."""
        with contextlib.suppress(OSError):
            self._files.delete_file(self._path(name))

    def remove(self, below: str) -> None:
        """Remove a folder below with all that it holds, if it is there and can be."""
        with contextlib.suppress(OSError):
            self._files.delete_dir(self._path(below))

    def _path(self, name: str) -> str:
        return f"{self._base}/{name}"


class RemoteLock:
    """The right to write to a folder of a file system without locks: a file names the process that has it.

    A process of this machine that has ended loses it. Whether a process of another machine runs is unknown, so its lock
    file has to be removed by hand.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._me = Holder.this_process()
        holder = Holder.read(folder.read(LOCK)) if folder.holds(LOCK) else None
        if holder is not None and not holder.is_dead:
            raise CheckpointError(f"{in_use(folder.uri, holder)}; if that process has ended, remove {LOCK}")
        folder.write(LOCK, self._me.as_json())
        self.verify()

    def verify(self) -> None:
        """Check that this process still has the lock.

        Raises:
            CheckpointError: another process has it.
        """
        holder = Holder.read(self._folder.read(LOCK)) if self._folder.holds(LOCK) else None
        if holder != self._me:
            raise in_use(self._folder.uri, holder)

    def release(self) -> None:
        with contextlib.suppress(CheckpointError):
            self.verify()
            self._folder.remove_file(LOCK)


def for_spark(uri: str) -> str:
    """A path or URI as Spark takes it: a path begins where Python is, which may not be where Java is, and nothing in it
    is quoted.
    """
    if "://" not in uri:
        return f"file://{Path(uri).absolute()}"
    scheme, _, rest = uri.partition("://")
    authority, slash, path = re.split("[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{authority}{slash}{unquote(path)}"


def _file_system(uri: str) -> tuple[fs.FileSystem, str]:
    if "://" not in uri:
        return fs.LocalFileSystem(), str(Path(uri).absolute())
    scheme, _, rest = uri.partition("://")
    # Hadoop's names for S3
    files, base = fs.FileSystem.from_uri(f"{ {'s3a': 's3', 's3n': 's3'}.get(scheme, scheme) }://{rest}")
    if not base.strip("/"):
        raise ValueError("it names no folder")
    return files, base.rstrip("/")


def _first_line(error: BaseException) -> str:
    return getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
