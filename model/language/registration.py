"""The models by name, and how a catalogue imports what is asked for and nothing else: a check of one model starts without the others."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator, MutableMapping
from pkgutil import resolve_name
from typing import Any

from model.language.definition import Model


class Catalogue(UserDict[Any, Any]):
    """A mapping to things, or to where they are: `package.module:NAME`."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return resolve_name(found) if isinstance(found, str) else found


class CatalogueByClass(Catalogue):
    """A catalogue whose keys are classes, which may be given by where they are, too."""

    def __getitem__(self, key: type) -> Any:
        return super().__getitem__(_place(key))

    def __setitem__(self, key: type | str, found: Any) -> None:
        super().__setitem__(_place(key), found)

    def __delitem__(self, key: type) -> None:
        super().__delitem__(_place(key))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(_place(key))

    def __iter__(self) -> Iterator[type]:
        return map(resolve_name, super().__iter__())


def _place(key: Any) -> str:
    return key if isinstance(key, str) else f"{key.__module__}:{key.__qualname__}"


MODELS: MutableMapping[str, Model] = Catalogue(
    {
        "reference": "model.reference.protocols:REFERENCE",
        "partition": "model.partition.definition:PARTITION",
        "controller": "model.controller.definition:CONTROLLER",
    }
)
