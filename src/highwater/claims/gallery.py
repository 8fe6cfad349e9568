"""Claims of the gallery by name: `gallery:` is all of them, `gallery:kip_101*` those whose name matches."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from highwater.claims.tables import Wrong, did_you_mean
from highwater.distribution import gallery
from highwater.visible import counted

PREFIX = "gallery:"


def is_of_gallery(path: Path) -> bool:
    """Whether a path names claims of the gallery."""
    return str(path).startswith(PREFIX)


def matching(path: Path) -> list[Path]:
    """The files that `gallery:PATTERN` names, in order.

    The pattern is that of a claim's name, of a folder, or of a claim with its folder, such as `truncation/kip_101*`.

    Raises:
        Wrong: there are none.
    """
    pattern = str(path).removeprefix(PREFIX).removesuffix(".toml").strip("/")
    there = {file: file.relative_to(gallery()).with_suffix("") for file in sorted(gallery().rglob("*.toml"))}
    found = [file for file, name in there.items() if not pattern or _matches(name, pattern)]
    if not found:
        inside = [name for name in there.values() if pattern in name.as_posix()]
        hint = did_you_mean(pattern, [name.name for name in there.values()])
        if inside:
            hint = f"; {counted(len(inside), 'claim')} with {pattern} in the name: {PREFIX}*{pattern}*"
        raise Wrong(f"the gallery has no such claim{hint}; highwater list specs {PREFIX} lists all")
    return found


def _matches(name: Path, pattern: str) -> bool:
    """Whether a pattern is of a claim's name, or of its whole name, or of a folder above it."""
    wholes = [name, *list(name.parents)[:-1]]
    return fnmatchcase(name.name, pattern) or any(fnmatchcase(whole.as_posix(), pattern) for whole in wholes)


def the_only_one(path: Path) -> Path:
    """The file that a name means where one claim is wanted.

    Raises:
        Wrong: there is none, or there are several.
    """
    if not is_of_gallery(path):
        return path
    found = matching(path)
    if len(found) > 1:
        named = ", ".join(file.stem for file in found[:3])
        raise Wrong(f"{len(found)} claims have such a name ({named}, ...); name one of them")
    return found[0]


def name_of(path: Path) -> str:
    """How to type a spec: one of the gallery by its name there, any other by its path."""
    if path.is_relative_to(gallery()) and gallery().parent.name == "highwater":
        return f"{PREFIX}{path.relative_to(gallery()).with_suffix('').as_posix()}"
    return str(path)
