"""What an answer went on to ask, kept for when the same is asked again: what prevents it, and which releases do
otherwise.

It follows from the question, the settings, and the code that asks, down to the models and the search. So it is kept by
what is in all of these: files as they are, and rules and functions of the models as this process has them. Nothing is
kept, or taken, where a file may have been written since this process imported it.
"""

from __future__ import annotations

import functools
import json
import platform
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import cattrs

from highwater.asking.asked import Part, Says
from highwater.explorer import kept_files
from highwater.explorer.descriptions import Descriptions, Indescribable
from highwater.explorer.search.keeping.fingerprint import engine_code, flags, instances_by_name
from highwater.explorer.sources import digest, files_below, is_as_imported, versions_of
from highwater.model.catalogue import MODELS

PACKAGES = tuple(f"highwater.{each}" for each in ("model", "invariants", "claims", "asking"))
"""The code that asks, besides the search."""
USED = ("attr", "cattrs", "numpy", "numba")
MOST_VERSIONS = 4  # of Highwater
MOST_BYTES = 1 << 22  # of one version


@attrs.frozen
class Further:
    """What an answer went on to ask: see `highwater.asking.answers.Answer`."""

    prevented_by: tuple[str, ...] = ()
    not_prevented_by: tuple[str, ...] = ()
    older: tuple[str, Says] | None = None
    newer: tuple[str, Says] | None = None
    compared: tuple[str, str] | None = None


def kept_or_asked(asked: tuple[Any, ...], parts: Iterable[Part], ask: Callable[[], tuple[Further, bool]]) -> Further:
    """What was kept, or else what asking finds, which is kept then.

    Args:
        asked: the question, the settings and the limits, which differ wherever their texts do.
        parts: what was found under these settings.
        ask: asks; the second value says whether any machine finds the same.
    """
    own = next(kept_files.own_folder(), None)
    try:
        described = [_described(part) for part in parts]
    except Indescribable:
        return ask()[0]
    if own is None or not _is_certain():
        return ask()[0]
    folder, name = own / f"answers-{code()[:16]}", digest([repr((asked, described)).encode()])[:32]
    with suppress(OSError, ValueError):
        return cattrs.structure(json.loads(kept_files.read(folder, name)), Further)
    found, is_lasting = ask()
    if is_lasting and _is_certain():
        _keep(folder, name, json.dumps(cattrs.unstructure(found)).encode())
    return found


def _keep(folder: Path, name: str, data: bytes) -> None:
    with suppress(OSError):
        kept_files.make_folder(folder, "answers", MOST_VERSIONS)
        kept_files.write(folder, name, data)
        kept_files.forget_files(folder, MOST_BYTES)


def _described(part: Part) -> tuple[Any, ...]:
    """The rules of each release, and what the functions do that were asked.

    Raises:
        Indescribable: that cannot be described.
    """
    if part.result is None:
        return (part.claim.model,)
    does = instances_by_name(part.result.spec.system().functions, Descriptions())
    return part.claim.model, MODELS[part.claim.model].presets, does


@functools.cache
def code() -> str:
    """A hash of all code that an answer follows from, as it is when this is first asked for."""
    files = (file.read_bytes() for file in files_below(*PACKAGES))
    versions = {"python": platform.python_version(), **versions_of(USED), **flags()}
    return digest([engine_code().encode(), json.dumps(versions, sort_keys=True).encode(), *files])


def _is_certain() -> bool:
    """Whether all of Highwater that was imported is certainly as its files are."""
    return all(is_as_imported(name) for name in list(sys.modules) if name.partition(".")[0] == "highwater")
