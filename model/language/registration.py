"""Catalogues that import an entry when it is looked up: a check of one model starts without the others."""

from __future__ import annotations

from collections import UserDict
from pkgutil import resolve_name
from typing import Any


class Catalogue(UserDict[Any, Any]):
    """A mapping whose values are things, or places such as `package.module:NAME` to import them from."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return resolve_name(found) if isinstance(found, str) else found
