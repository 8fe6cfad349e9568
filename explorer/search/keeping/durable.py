"""What is on disk for good: files that are there whole or not at all, sealed manifests, and one writer to a folder."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

TEMPORARY = ".tmp"
LOCK = "lock.json"
BOOT, NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")


class CheckpointError(Exception):
    """A checkpoint cannot be written, read, or used for this search."""


# Files


def write_whole(path: Path, data: Any, *, for_good: bool = True) -> None:
    """Write a file so that it is there whole or not at all; if it is for good, also after the power has failed. If it
    cannot be written, nothing is left.

    Raises:
        OSError: the disk does not take it.
    """
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}{TEMPORARY}")
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            rest = memoryview(data).cast("B")
            while rest:
                rest = rest[os.write(file, rest) :]
            if for_good:
                os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    if for_good:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_temporary(folder: Path) -> None:
    """Remove what processes that were killed have not finished writing."""
    for path in folder.glob(f"*{TEMPORARY}"):
        with suppress(OSError):
            path.unlink()


# Manifests


def seal(data: dict[str, Any]) -> tuple[bytes, str]:
    """A manifest as a file holds it, and its hash."""
    found = _hash(data)
    return json.dumps({"sha256": found, "data": data}).encode(), found


def unseal(sealed: bytes, path: Any, what: str) -> tuple[dict[str, Any], str]:
    """A manifest, and its hash.

    Args:
        path, what: the file and what it should be, for errors.

    Raises:
        CheckpointError: it is damaged.
    """
    try:
        whole = json.loads(sealed)
        data, found = whole["data"], whole["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CheckpointError(f"{path}: is damaged, or no manifest of {what}") from None
    if not isinstance(data, dict) or _hash(data) != found:
        raise CheckpointError(f"{path}: is damaged: its checksum does not match")
    return data, found


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


# Locks


@attrs.frozen
class Holder:
    """A process that writes to a folder.

    Attributes:
        started: when the process started, in ticks since the machine did; process ids are used again.
        place: the running system that the process id belongs to.
        since: when it began to write, as people read it.
        id: no other holder's.
    """

    pid: int
    host: str
    since: str
    started: str
    place: str
    id: str

    @classmethod
    def this_process(cls) -> Holder:
        since = time.strftime("%Y-%m-%d %H:%M:%S %z")
        return cls(os.getpid(), os.uname().nodename, since, _started(os.getpid()), _place(), uuid.uuid4().hex)

    @classmethod
    def read(cls, data: bytes) -> Holder | None:
        """Who is named in a lock file; None if that is not known."""
        try:
            return cls(**json.loads(data))
        except (ValueError, TypeError):
            return None

    def as_json(self) -> bytes:
        return json.dumps(attrs.asdict(self)).encode()

    @property
    def is_dead(self) -> bool:
        """Whether the process is known to have ended. Nothing is known of other machines."""
        return self.place == _place() and _started(self.pid) != self.started

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


def in_use(folder: Any, holder: Holder | None) -> CheckpointError:
    """The refusal of a second writer."""
    who = holder or "another process"
    return CheckpointError(f"{folder}: is in use by {who}; wait until it has ended, or name another folder")


class Lock:
    """The right to write to a folder of this machine. The system gives it back if the process ends, however it does."""

    def __init__(self, folder: Path) -> None:
        """Take it.

        Raises:
            CheckpointError: another search has it, and who that is.
            OSError: the folder cannot be written.
        """
        self._path = folder / LOCK
        while True:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                self._take(folder)
                if _is_at(self._file, self._path):  # and was not removed meanwhile
                    return
            except BaseException:
                os.close(self._file)
                raise
            os.close(self._file)

    def _take(self, folder: Path) -> None:
        import fcntl  # here, since a browser has none

        holder = Holder.read(os.pread(self._file, 4096, 0))
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            has_no_locks = error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
            if not has_no_locks or (holder is not None and not holder.is_dead):
                raise in_use(folder, holder) from None
        with suppress(OSError):  # a full disk: who it is stays unknown
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, Holder.this_process().as_json(), 0)

    def verify(self) -> None:
        """Nobody can take it from a process that runs."""

    def release(self) -> None:
        with suppress(OSError):
            os.unlink(self._path)
        os.close(self._file)


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _started(pid: int) -> str:
    """When a process started, in ticks; empty if there is none. Where the system does not tell, whether there
    is one.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        if Path("/proc/self/stat").exists():
            return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return "yes"


def _place() -> str:
    """The running system that process ids belong to: one boot of one machine, and within it a container."""
    with suppress(OSError):
        return f"{BOOT.read_text(encoding='ascii').strip()} {os.readlink(NAMESPACE)}"
    return os.uname().nodename


def remove_but(folder: Path, pattern: str, keep: Iterable[str]) -> None:
    """Remove the files of a folder that match a pattern and are not named."""
    for path in folder.glob(pattern):
        if path.name not in set(keep):
            with suppress(OSError):
                path.unlink()
