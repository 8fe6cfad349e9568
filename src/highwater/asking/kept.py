"""What an answer went on to ask, kept for when the same is asked again: what prevents it, and which releases do
otherwise.

It follows from the question, the settings, and the code that asks, down to the models and the search. So it is kept by
what is in all of these: files as they are, and rules and functions of the models as this process has them. Nothing is
kept, or taken, where a file may have been written since this process imported it.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import cattrs

from highwater.asking.asked import Says
from highwater.asking.questions import Claim
from highwater.explorer import kept_files
from highwater.explorer.descriptions import Descriptions, Indescribable
from highwater.explorer.search.keeping.fingerprint import ENGINE, flags
from highwater.explorer.sources import digest, files_below, files_of, is_as_imported, versions_of
from highwater.model.catalogue import MODELS

PACKAGES = (*(f"highwater.{each}" for each in ("model", "invariants", "claims", "asking")), *ENGINE)
"""The code that asks and searches, besides the modules of `highwater.explorer`."""
USED = ("attr", "cattrs", "numpy", "numba")
MOST_VERSIONS = 4  # of Highwater
MOST_BYTES = 1 << 22  # of one version


@attrs.frozen
class Further:
    """What an answer went on to ask: see `highwater.asking.answers.Answer`."""

    prevented_by: tuple[str, ...] = ()
    not_prevented_by: tuple[str, ...] = ()
    not_known_of: tuple[str, ...] = ()
    older: tuple[str, Says] | None = None
    newer: tuple[str, Says] | None = None
    compared: tuple[str, str] | None = None


def kept_or_asked(asked: tuple[Any, ...], claims: Iterable[Claim], ask: Callable[[], tuple[Further, bool]]) -> Further:
    """What was kept, or else what asking finds, which is kept then.

    Args:
        asked: the question, the settings and the limits, and what was found so far; they differ wherever their texts
            do.
        claims: those of the question, whichever of them a release asks.
        ask: asks; the second value says whether any machine finds the same.
    """
    own = next(kept_files.own_folder(), None)
    try:
        described = _described(claims)
    except Indescribable:
        return ask()[0]
    if own is None or not _is_certain():
        return ask()[0]
    folder, name = own / f"answers-{code()[:16]}", digest([repr((asked, described)).encode()])[:32]
    known = _read(folder, name)
    if known is not None:
        return known
    found, is_lasting = ask()
    if is_lasting and _is_certain():
        _keep(folder, name, _written(found))
    return found


def _written(found: Further) -> bytes:
    return json.dumps(cattrs.unstructure(found)).encode()


def _read(folder: Path, name: str) -> Further | None:
    """What is kept; None where nothing is, or something else than what is written."""
    try:
        data = kept_files.read(folder, name)
        found = cattrs.structure(json.loads(data), Further)
    except (OSError, ValueError, TypeError, RecursionError, cattrs.BaseValidationError):
        return None
    return found if _written(found) == data else None


def _keep(folder: Path, name: str, data: bytes) -> None:
    with suppress(OSError):
        kept_files.make_folder(folder, "answers", MOST_VERSIONS)
        kept_files.write(folder, name, data)
        kept_files.forget_files(folder, MOST_BYTES)


def _described(claims: Iterable[Claim]) -> dict[str, Any]:
    """By model the rules of each release, and what its functions and the properties that are asked do: all of them, as
    other settings and releases have others.

    Raises:
        Indescribable: that cannot be described.
    """
    checked: dict[str, set[str]] = {}
    for each in claims:
        checked.setdefault(each.model, set()).add(each.check)
    descriptions, found = Descriptions(), {}
    for name, properties in checked.items():
        model = MODELS[name]
        does = [descriptions.of(model.define)]
        for definition in map(model.define, dict.fromkeys(model.presets.values())):
            asked = (each for each in definition.known_properties if each.name in properties)
            does += map(descriptions.of, (definition.bounds, definition.state, *asked))
        found[name] = model.presets, model.releases, sorted(set(does))
    return found


def code() -> str:
    """A hash of all code that an answer follows from, as it is now: a module may be edited before it is imported."""
    files = (file.read_bytes() for file in (*files_of("highwater.explorer"), *files_below(*PACKAGES)))
    versions = {"python": platform.python_version(), **versions_of(USED), **flags()}
    return digest([json.dumps(versions, sort_keys=True).encode(), *files])


def _is_certain() -> bool:
    """Whether all of Highwater that was imported is certainly as its files are."""
    return all(is_as_imported(name) for name in list(sys.modules) if name.partition(".")[0] == "highwater")
