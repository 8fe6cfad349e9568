"""Where kept trees are: in the user's own folder, and in one that came with Highwater."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

import numpy as np

from highwater.explorer import kept_files
from highwater.explorer.search.keeping.fingerprint import engine_code
from highwater.explorer.sources import digest, folder_of

BROUGHT = folder_of("highwater.explorer.search") / "trees"
"""Where trees are that came with Highwater: those of the gallery, which `make wheel` checks. They are as trustworthy as
Highwater's own files are.
"""

MOST_VERSIONS = 4  # of Highwater
MOST_BYTES = 1 << 29  # of one version
FORGOTTEN = b"forgotten"


class TreeFiles:
    """What is kept by one version of Highwater, Python, and what they use.

    Attributes:
        folder: the user's own, if there may be one.
    """

    def __init__(self, versions: Mapping[str, str]) -> None:
        """
        Args:
            versions: of what is in no name. What came with Highwater does not depend on them.
        """
        made_by = [np.__version__, engine_code(), *(f"{name} {versions[name]}" for name in sorted(versions))]
        own = next(kept_files.own_folder(), None)
        self.folder = own and own / ("trees-" + digest(part.encode() for part in made_by)[:16])

    def read(self, name: str, *, use: bool = True) -> Iterator[bytes]:
        """What is kept by that name and is whole: the user's own, and then what came with Highwater.

        Args:
            use: whether it is used now, and so not to be forgotten before what was used earlier.
        """
        if self.folder is not None:
            with suppress(OSError, ValueError):
                data = kept_files.read(self.folder, name)
                if use:
                    with suppress(OSError):  # of a place that can only be read
                        os.utime(self.folder / name)
                if data == FORGOTTEN:
                    return
                yield data
        with suppress(OSError, ValueError):
            yield kept_files.body_of((BROUGHT / name).read_bytes(), name)

    def write(self, name: str, data: bytes) -> None:
        """Keep something if that is possible, and forget what was not used for longest."""
        if self.folder is None:
            return
        with suppress(OSError):
            kept_files.make_folder(self.folder, "trees", MOST_VERSIONS)
            kept_files.write(self.folder, name, data)
            kept_files.forget_files(self.folder, MOST_BYTES)

    def forget(self, name: str) -> None:
        """Keep that what was kept by a name is not to be read again, nor what came with Highwater."""
        self.write(name, FORGOTTEN)

    def beginning_with(self, beginning: str) -> Iterator[str]:
        """The names that begin so: the user's own, what was used last first, and then what came with Highwater."""
        found = []
        with suppress(OSError):
            for each in os.scandir(self.folder) if self.folder else ():
                if each.name.startswith(beginning):
                    found.append((each.stat().st_mtime, each.name))
        own = [name for _, name in sorted(found, reverse=True)]
        yield from own
        if BROUGHT.is_dir():
            yield from sorted({each.name for each in BROUGHT.iterdir() if each.name.startswith(beginning)} - {*own})
