"""Files that one run keeps for the next: whole or not at all, and only where nobody else can change them.

Machine code and Java classes that are kept are executed, and trees that are kept decide verdicts. So a file is read
only if root or this user made it, nobody else can write there, and no link leads there. Each file says in which folder
and under which name it was kept, and a checksum covers that, too: who owns a folder further up can put another of this
user's files there, but it is not taken for what it is not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def own_folder() -> Iterator[Path]:
    """The user's own folder for what is kept; none for users without a home. A relative `XDG_CACHE_HOME` is ignored.

    Source: XDG Base Directory Specification 0.8.
    """
    for own in (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache")):
        if os.path.isabs(own):
            yield Path(own) / "highwater"
            return


def read(folder: Path, name: str, owners: Collection[int] = ()) -> bytes:
    """What is in a kept file.

    Args:
        owners: users besides root and this one who may have made it.

    Raises:
        OSError: there is no such file, or somebody else can change it.
        ValueError: it is damaged.
    """
    trusted = {0, os.geteuid(), *owners}
    with _opened(folder, trusted) as place:
        data = _read(name, place, trusted)
    return body_of(data, name, folder.name)


def body_of(data: bytes, name: str, folder: str | None = None) -> bytes:
    """What is in a kept file, of its bytes.

    Args:
        folder: the name of the folder in which it must have been kept; any if None.

    Raises:
        ValueError: it is damaged, or was kept as something else.
    """
    head, _, body = data.partition(b"\n")
    kept_in, _, kept_as = head.decode("utf-8").partition(" ")[2].rpartition("/")
    if _head(kept_in, kept_as, body) != head:
        raise ValueError(f"{name} is damaged")
    if kept_as != name or folder not in (None, kept_in):
        raise ValueError(f"{name} was kept as {kept_in}/{kept_as}")
    return body


def _head(folder: str, name: str, body: bytes) -> bytes:
    """The first line of a kept file: a checksum of the rest of this line and of all that follows."""
    place = f"{folder}/{name}".encode()
    return hashlib.sha256(place + b"\n" + body).hexdigest().encode("ascii") + b" " + place


def write(folder: Path, name: str, body: bytes, owners: Collection[int] = ()) -> None:
    """Keep a file in a folder that is there. Processes that do so at once do not disturb each other.

    Raises:
        OSError: it cannot be written, or somebody else can change what is in the folder.
    """
    with _opened(folder, {0, os.geteuid(), *owners}) as place:
        unfinished = f"{name}-{os.getpid()}"
        try:
            with open(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=place), "wb") as file:
                file.write(_head(folder.name, name, body) + b"\n" + body)
            os.replace(unfinished, name, src_dir_fd=place, dst_dir_fd=place)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(unfinished, dir_fd=place)


@contextmanager
def in_turn(path: Path | None) -> Iterator[None]:
    """Let one process at a time go on, the first that makes a file there; the others wait for it. None waits for
    nobody.
    """
    try:
        lock = None if path is None else os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError:  # a full disk, or another user's file
        lock = None
    if lock is None or path is None:
        yield
        return
    import fcntl  # here, since a browser has none

    try:
        with suppress(OSError):  # there are file systems without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)  # who has opened it meanwhile looks first whether it still has to go on
        os.close(lock)


def make_folder(folder: Path, kind: str, most: int) -> None:
    """Make a folder for what one version of the sources keeps, and forget what the oldest of others kept.

    Args:
        kind: how the names of all such folders begin.
        most: how many of them to leave.

    Raises:
        OSError: it cannot be made.
    """
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(0o755, exist_ok=True)
    others = (each for each in folder.parent.glob(f"{kind}-*") if each != folder)  # clocks may jump
    made_last = sorted(others, key=lambda made: made.stat().st_mtime, reverse=True)
    for made in made_last[most - 1 :]:  # what another process is about to read it makes again
        shutil.rmtree(made, ignore_errors=True)


def forget_files(folder: Path, most: int) -> None:
    """Remove the files of a folder that were not used for longest, until there are no more bytes than that."""
    found = [(file.stat().st_mtime, file.stat().st_size, file.path) for file in os.scandir(folder)]
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= most:
            return
        with suppress(OSError):
            os.unlink(path)
        left -= size


@contextmanager
def _opened(folder: Path, trusted: Collection[int]) -> Iterator[int]:
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _refuse_foreign(os.fstat(place), trusted)
        yield place
    finally:
        os.close(place)


def _read(name: str, place: int, trusted: Collection[int]) -> bytes:
    with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(f"{name} is no file")
        _refuse_foreign(found, trusted)
        return file.read()


def refuse_foreign(file: Path) -> None:
    """Refuse a file that others made or may change, or that is a link: what another program keeps for this user.

    Raises:
        OSError: it is one, or there is no such file.
    """
    found = os.lstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise PermissionError("is no file")
    _refuse_foreign(found, {0, os.geteuid()})


def _refuse_foreign(found: os.stat_result, trusted: Collection[int]) -> None:
    if found.st_uid not in trusted or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("others may change what is kept here")
