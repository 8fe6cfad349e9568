"""Machine code kept on disk, and loaded without numba, whose import alone takes longer than many a search."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from explorer.sources import digest, files_of

# Positions in a block, see `explorer.kernels.compiling`, behind what numba returns: what it says of exceptions, how many results there are
# and the results, and the arguments.
EXCEPTION, RESULTS, FIRST_ARGUMENT = 1, 2, 5

Function = Callable[[int, int, int], int]
"""A door: takes the addresses of what it returns, of what it says of exceptions, and of a block; gives 0 unless there was an exception."""

MOST_KEPT = 8  # of what code is kept for: sources, versions, processors


def load(name: str) -> Function | None:
    """The door of that name, if it is kept."""
    for folder in folders():
        try:
            head, _, code = (folder / _made_of() / name).read_bytes().partition(b"\n")
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
            place = folder / _made_of()
            if not place.exists():
                place.mkdir(parents=True, exist_ok=True)
                _forget_oldest(folder)
            unfinished = place / f"{name}-{os.getpid()}"
            try:
                unfinished.write_bytes(f"{hashlib.sha256(code).hexdigest()} {symbol}\n".encode("ascii") + code)
                unfinished.replace(place / name)
            finally:
                unfinished.unlink(missing_ok=True)
        except OSError:
            continue
        return


def linked(name: str, symbol: str, code: bytes) -> Function:
    """A door of its object code.

    Raises:
        RuntimeError: it needs functions that are not in it. It is given none but the three that LLVM makes of loops: code of numba's that
            raises or allocates would need numba.
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
    """Where code may be kept: beside the sources, or in the user's own folder. Nowhere that another user can write: it is executed."""
    yield Path(__file__).parent / "__pycache__"
    own = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(own):  # there are users without a home
        yield Path(own) / "highwater"


@cache
def _made_of() -> str:
    """A name for all that code depends on besides the kernel and its arguments."""
    numba = Path(str(importlib.util.find_spec("numba").origin)).parent
    parts = [
        *(file.read_bytes() for file in sources()),
        *(file.read_bytes() for file in sorted(numba.glob("_*.py"))),  # one of them has the version; importing it takes long
        f"{llvmlite.__version__} {np.__version__} {sys.version} {llvm.get_process_triple()} {object.__basicsize__}".encode(),
        f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}".encode(),
        repr(sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))).encode(),
    ]
    return "kernels-" + digest(parts)[:16]


def sources() -> list[Any]:
    """The files that kernels are made of."""
    return files_of("explorer.compiler", "explorer.kernels")


def _forget_oldest(folder: Path) -> None:
    """Keep what was made last. What another process is about to read it makes again."""
    made_last = sorted(folder.glob("kernels-*"), key=lambda made: made.stat().st_mtime, reverse=True)
    for made in made_last[MOST_KEPT:]:
        shutil.rmtree(made, ignore_errors=True)
