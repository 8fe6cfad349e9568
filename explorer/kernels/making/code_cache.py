"""Machine code kept on disk, and loaded without numba, whose import alone takes longer than many a search."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import cache, partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, cast

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from highwater.explorer import kept_files
from highwater.explorer.kernels.making import targets
from highwater.explorer.memory import address_space, in_bytes
from highwater.explorer.sources import INSTALLED, digest, files_below, folder_of

# Positions in a block, see `highwater.explorer.kernels.making.compiling`, behind what numba returns: what it says of
# exceptions, how many results there are and the results, and the arguments.
EXCEPTION, RESULTS, FIRST_ARGUMENT = 1, 2, 5

Function = Callable[[int, int, int], int]
"""An entry point: takes the addresses of what it returns, of what it says of exceptions, and of a block; gives 0 unless
there was an exception.
"""

BESIDE_SOURCES = Path(__file__).parent / "__pycache__"
BROUGHT = folder_of("highwater.explorer.kernels") / "machine_code"
"""Where code is that came with Highwater, made by `highwater.explorer.kernels.making.ahead` when the distribution was
built.
"""

MADE_OF = "made_of"  # the file there that says of which sources
LEAST_TO_LINK = 8 << 20  # of address space, beside what the code itself takes
MOST_KEPT = 8  # of what code is kept for: versions, processors
MOST_BYTES = 32 << 20  # of code for each of these: some ten times that of all kernels


def load(name: str) -> Function | None:
    """The entry point of that name: one that was kept by somebody who may have this process execute it, or else one
    that came with Highwater.
    """
    readers = [partial(kept_files.read, folder / _made_of(), name, _owners(folder)) for folder in folders()]
    readers += [partial(_brought, target, name) for target in _brought_targets()]
    for read in readers:
        try:
            symbol, _, code = read().partition(b"\n")
            return linked(name, symbol.decode("ascii"), code)
        except (OSError, ValueError, RuntimeError):
            continue
    return None


def is_kept(name: str) -> bool:
    """Whether there seems to be an entry point of that name, which `load` looks at."""
    kept = any((folder / _made_of() / name).is_file() for folder in folders())
    return kept or any((BROUGHT / target / name).is_file() for target in _brought_targets())


def _brought(target: str, name: str) -> bytes:
    """What came with Highwater's own files, and is as trustworthy as they are."""
    return kept_files.body_of((BROUGHT / target / name).read_bytes(), name)


@cache
def _brought_targets() -> list[str]:
    """The targets whose code came with Highwater, was made of these sources, and is for this processor."""
    with suppress(OSError):
        if (BROUGHT / MADE_OF).read_text() == portable_digest() and "NUMBA_CPU_NAME" not in os.environ:
            return [target.name for target in targets.fitting()]
    return []


def keep(name: str, symbol: str, code: bytes) -> None:
    """Keep an entry point, in the first folder that can be written, if any can. Processes that do so at once write the
    same.
    """
    for folder in folders():
        try:
            kept_files.make_folder(folder / _made_of(), "kernels", MOST_KEPT)
            kept_files.forget_files(folder / _made_of(), MOST_BYTES)
            kept_files.write(folder / _made_of(), name, symbol.encode("ascii") + b"\n" + code, _owners(folder))
        except OSError:
            continue
        return


def in_turn(name: str) -> AbstractContextManager[None]:
    """Let one process at a time compile an entry point: that takes seconds, and the others find it when their turn
    comes.
    """
    for folder in folders():
        with suppress(OSError):
            kept_files.make_folder(folder / _made_of(), "kernels", MOST_KEPT)
            if os.access(folder / _made_of(), os.W_OK):
                return kept_files.in_turn(folder / _made_of() / f"{name}.lock")
    return kept_files.in_turn(None)


def _owners(folder: Path) -> set[int]:
    """Who besides root and this user may have made code there. Beside the sources their owner may, who could change
    these just as well.
    """
    return {os.stat(__file__).st_uid} if folder == BESIDE_SOURCES else set()


def linked(name: str, symbol: str, code: bytes) -> Function:
    """An entry point of its object code.

    Raises:
        RuntimeError: it needs a function that is not in it. It gets three, which LLVM makes of loops. Code of numba's
            that raises or allocates would need numba.
        MemoryError: LLVM could run out of address space, at which it ends the process.
    """
    left = address_space()
    if left is not None and left < LEAST_TO_LINK + 4 * len(code):
        raise MemoryError(f"{in_bytes(left)} of address space are left, too little to load machine code")
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

    Beside installed sources it would stay behind when these are uninstalled. Sources may be in an archive, too.
    """
    if BESIDE_SOURCES.parent.is_dir() and not INSTALLED.intersection(BESIDE_SOURCES.parts):
        yield BESIDE_SOURCES
    yield from kept_files.own_folder()


@cache
def _made_of() -> str:
    """A name for all that code depends on besides the kernel, its sources and its arguments."""
    numba = Path(str(cast("ModuleSpec", importlib.util.find_spec("numba")).origin)).parent
    parts = [
        # one of them has the version; importing it takes long
        *(file.read_bytes() for file in sorted(numba.glob("_*.py"))),
        f"{llvmlite.__version__} {np.__version__} {sys.version}".encode(),
        f"{llvm.get_process_triple()} {object.__basicsize__}".encode(),
        _processor().encode(),
        repr(sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))).encode(),
    ]
    return "kernels-" + digest(parts)[:16]


def portable_digest() -> str:
    """What code that runs on other machines depends on: how Python and numpy lay out objects, which one number says,
    and the sources. Whatever made it is not asked for when it runs.
    """
    return digest([*_contents().values(), f"{object.__basicsize__}".encode()])


@cache
def digest_of(module: str) -> str:
    """What the code of a module's kernels depends on: its source, those that make machine code, and those that these
    import. So an edit of one file leaves the code of kernels that do not use it as it is.
    """
    return digest(_contents()[name] for name in sorted(modules_of(module)))


def modules_of(module: str) -> set[str]:
    """The modules that the machine code of a module's kernels is made of, by their names in `highwater.explorer`."""
    found: set[str] = set()
    todo = {f"kernels.{module}", "kernels.making.compiling"}
    while todo:
        found |= todo
        todo = {name for each in todo for name in _imported_by(each)} - found
    return found & _contents().keys()


_IMPORT = re.compile(rb"^[ \t]*from highwater\.explorer\.(\S+) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


@cache
def _imported_by(module: str) -> set[str]:
    """The modules among these that one of them imports."""
    found = set()
    for origin, several, some in _IMPORT.findall(_contents().get(module, b"")):
        found |= {
            origin.decode(),
            *(f"{origin.decode()}.{name.decode()}" for name in re.findall(rb"\w+", several or some)),
        }
    return found & _contents().keys()


@cache
def _contents() -> dict[str, bytes]:
    """The sources by the names of their modules in `highwater.explorer`."""
    found = {}
    for file in sources():
        path = str(file).replace(os.sep, "/").rpartition("highwater/explorer/")[2]
        found[path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = file.read_bytes()
    return found


def _processor() -> str:
    """What numba compiles for: this processor, or any with its instruction set if NUMBA_CPU_NAME says so, as it does
    for code that is to run elsewhere.
    """
    if os.environ.get("NUMBA_CPU_NAME", "").lower() == "generic":
        return "generic"
    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def sources() -> list[Any]:
    """The files that kernels are made of."""
    return [*files_below("highwater.explorer.kernels"), folder_of("highwater.explorer") / "encoding.py"]
