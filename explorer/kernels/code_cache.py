"""Machine code kept on disk, and loaded without numba, whose import alone takes longer than many a search."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from explorer.sources import INSTALLED, digest, files_of

# Positions in a block, see `explorer.kernels.compiling`, behind what numba returns: what it says of exceptions, how
# many results there are and the results, and the arguments.
EXCEPTION, RESULTS, FIRST_ARGUMENT = 1, 2, 5

Function = Callable[[int, int, int], int]
"""A door: takes the addresses of what it returns, of what it says of exceptions, and of a block; gives 0 unless there
was an exception.
"""

BESIDE_SOURCES = Path(__file__).parent / "__pycache__"
MOST_KEPT = 8  # of what code is kept for: sources, versions, processors


def load(name: str) -> Function | None:
    """The door of that name, if it is kept, and was kept by somebody who may have this process execute it."""
    for folder in folders():
        try:
            with _opened(folder) as place:
                data = _read(name, folder, place)
            head, _, code = data.partition(b"\n")
            checksum, symbol = head.decode("ascii").split(" ")
            if hashlib.sha256(code).hexdigest() == checksum:
                return linked(name, symbol, code)
        except (OSError, ValueError, RuntimeError):
            continue
    return None


def keep(name: str, symbol: str, code: bytes) -> None:
    """Keep a door, in the first folder that can be written, if any can. Processes that do so at once write the same."""
    for folder in folders():
        try:
            if not (folder / _made_of()).exists():
                folder.mkdir(parents=True, exist_ok=True)
                (folder / _made_of()).mkdir(0o755, exist_ok=True)
                _forget_oldest(folder)
            with _opened(folder) as place:
                unfinished = f"{name}-{os.getpid()}"
                try:
                    with open(
                        os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=place), "wb"
                    ) as file:
                        file.write(f"{hashlib.sha256(code).hexdigest()} {symbol}\n".encode("ascii") + code)
                    os.replace(unfinished, name, src_dir_fd=place, dst_dir_fd=place)
                finally:
                    with suppress(FileNotFoundError):
                        os.unlink(unfinished, dir_fd=place)
        except OSError:
            continue
        return


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """The folder inside of a folder that holds what this code may load.

    Raises:
        OSError: there is none, or somebody else may change what is in it.
    """
    place = os.open(folder / _made_of(), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _refuse_foreign(os.fstat(place), folder)
        yield place
    finally:
        os.close(place)


def _read(name: str, folder: Path, place: int) -> bytes:
    """A file of a folder that was opened.

    Raises:
        OSError: there is none, or somebody else may have written it.
    """
    with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(f"{name} is no file")
        _refuse_foreign(found, folder)
        return file.read()


def _refuse_foreign(found: os.stat_result, folder: Path) -> None:
    """Refuse what was made, or can be changed, by others than root and this user: it would be executed with this user's
    rights.

    Beside the sources their owner may, who could change these just as well.
    """
    owners = {0, os.geteuid()}
    if folder == BESIDE_SOURCES:
        owners.add(os.stat(__file__).st_uid)
    if found.st_uid not in owners or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"others may change what is in {folder}")


def linked(name: str, symbol: str, code: bytes) -> Function:
    """A door of its object code.

    Raises:
        RuntimeError: it needs a function that is not in it. It gets three, which LLVM makes of loops. Code of numba's
            that raises or allocates would need numba.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(symbol)
    for function in ("memcpy", "memmove", "memset"):
        builder.import_symbol(function, ctypes.cast(getattr(ctypes.pythonapi, function), ctypes.c_void_p).value)
    library = builder.link(_linker(), f"{name} {len(_libraries)}")
    _libraries.append(library)
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)(library[symbol])


_libraries: list[Any] = []  # code is given back with its library


@cache
def _linker() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler()


def folders() -> Iterator[Path]:
    """Where code may be kept: beside the sources of a checkout, or in the user's own folder.

    Beside installed sources it would stay behind when these are uninstalled.
    """
    if not INSTALLED.intersection(BESIDE_SOURCES.parts):
        yield BESIDE_SOURCES
    own = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(own):  # there are users without a home
        yield Path(own) / "highwater"


@cache
def _made_of() -> str:
    """A name for all that code depends on besides the kernel and its arguments."""
    numba = Path(str(importlib.util.find_spec("numba").origin)).parent
    parts = [
        *(file.read_bytes() for file in sources()),
        # one of them has the version; importing it takes long
        *(file.read_bytes() for file in sorted(numba.glob("_*.py"))),
        f"{llvmlite.__version__} {np.__version__} {sys.version}".encode(),
        f"{llvm.get_process_triple()} {object.__basicsize__}".encode(),
        _processor().encode(),
        repr(sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))).encode(),
    ]
    return "kernels-" + digest(parts)[:16]


def _processor() -> str:
    """What numba compiles for: this processor, or any with its instruction set if NUMBA_CPU_NAME says so, as it does
    for code that is to run elsewhere.
    """
    if os.environ.get("NUMBA_CPU_NAME", "").lower() == "generic":
        return "generic"
    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def sources() -> list[Any]:
    """The files that kernels are made of."""
    return files_of("explorer.compiler", "explorer.kernels")


def _forget_oldest(folder: Path) -> None:
    """Keep what was made last. What another process is about to read it makes again."""
    made_last = sorted(folder.glob("kernels-*"), key=lambda made: made.stat().st_mtime, reverse=True)
    for made in made_last[MOST_KEPT:]:
        shutil.rmtree(made, ignore_errors=True)
