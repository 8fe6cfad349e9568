"""How a catalogue imports what is asked for and nothing else: a check of one model starts without the others."""

from __future__ import annotations

from collections import UserDict
from pkgutil import resolve_name
from typing import Any


class Catalogue(UserDict[Any, Any]):
    """A mapping to things, or to where they are: `package.module:NAME`."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return resolve_name(found) if isinstance(found, str) else found
