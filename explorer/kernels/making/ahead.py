"""Making machine code ahead of time: `python -m highwater.explorer.kernels.making.ahead FOLDER [TARGET]...`.

The code runs on any processor that has what its target has, without numba, under any version of Python and numpy that
lays out its objects in the same way.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from highwater.explorer import kept_files
from highwater.explorer.kernels.making import code_cache, entry_points
from highwater.explorer.kernels.making.signatures import all_signatures
from highwater.explorer.kernels.making.targets import TARGETS, Target


def make(folder: Path, targets: Sequence[Target], signatures: Sequence[tuple[str, tuple[Any, ...]]]) -> int:
    """Make the code of kernels for some targets, in as many processes as there are processors. Code that is there and
    was made of these sources is left as it is.

    Returns:
        How many entry points were made.
    """
    made_of = folder / code_cache.MADE_OF
    if not made_of.is_file() or made_of.read_text() != code_cache.portable_digest():
        folder.mkdir(parents=True, exist_ok=True)
        for target in TARGETS:
            shutil.rmtree(folder / target.name, ignore_errors=True)
        made_of.write_text(code_cache.portable_digest())
    made = 0
    for target in targets:
        place = folder / target.name
        place.mkdir(exist_ok=True)
        files = {
            entry_points.name_of(module, kernel, arguments): (name, arguments)
            for name, arguments in signatures
            for module, kernel in (name.rsplit(".", 1),)
        }
        missing = {file: files[file] for file in files if not (place / file).is_file()}
        settings = {"NUMBA_CPU_NAME": _compiled_for(target).processor, "NUMBA_CPU_FEATURES": ""}
        with ProcessPoolExecutor(
            mp_context=multiprocessing.get_context("spawn"), initializer=_set, initargs=(settings,)
        ) as pool:
            codes = pool.map(_code, *zip(*missing.values(), strict=True), [target] * len(missing)) if missing else ()
            for file, code in zip(missing, codes, strict=True):
                kept_files.write(place, file, code)
                made += 1
    return made


def possible() -> list[Target]:
    """The targets that code can be made for here: all on x86-64, which stands in for other architectures."""
    own = llvm.get_process_triple().partition("-")[0]
    return [target for target in TARGETS if own in (target.architecture, "x86_64")]


def _compiled_for(target: Target) -> Target:
    """The target itself, or one of this architecture without special instructions. LLVM makes code for other
    architectures of what numba made for it.
    """
    own = llvm.get_process_triple().partition("-")[0]
    return target if own == target.architecture else [each for each in TARGETS if each.architecture == own][-1]


def _set(settings: dict[str, str]) -> None:
    os.environ.update(settings)


def _code(kernel: str, arguments: tuple[Any, ...], target: Target) -> bytes:
    """The object code of a kernel, behind the name of its entry point."""
    from highwater.explorer.kernels.making import compiling  # imports numba, which reads its settings then

    module, name = kernel.rsplit(".", 1)
    of = getattr(importlib.import_module(f"highwater.explorer.kernels.{module}"), name)
    symbol, code = compiling.object_code(of, arguments, None if _compiled_for(target) == target else target)
    return symbol.encode("ascii") + b"\n" + code


def _target(name: str) -> Target:
    named = {target.name: target for target in possible()}
    if name not in named:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(named)}")
    return named[name]


def main() -> None:
    """Make code for the given targets, or for all that it can be made for here."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("target", nargs="*", type=_target)  # some versions refuse none if `choices` are told
    given = parser.parse_args()
    targets = given.target or possible()
    made = make(given.folder, targets, all_signatures())
    print(f"{made} entry points made for {', '.join(target.name for target in targets)}")


if __name__ == "__main__":
    main()
