"""The names of kept trees: hashes of all that trees depend on.

Trees of Highwater's own models have the same names wherever these are installed, under any version of Python and numpy.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import attrs

from explorer.search.engine import Engine
from explorer.search.fingerprint import code_of, described, fingerprint, instances_by_name, properties_of
from explorer.sources import changed_last, digest, is_as_imported
from explorer.system import ModelError

FAMILY = ("options", "constants", "modules", "engine", "layout")
"""The parts of a fingerprint that are equal where actions may have the same paths, but for the settings they read."""
OWN = ("attrs", "python")  # what Highwater's own models depend on besides their sources


@attrs.frozen
class Names:
    """
    Attributes:
        actions, properties: of a search's own trees.
        family: how the names begin of all trees of actions that may lend paths.
        versions: of Python and of what Highwater's own models use, which are in no name.
    """

    actions: str
    properties: str
    family: str
    versions: dict[str, str]


def names_of(engine: Engine, audit: int) -> Names | None:
    """The names of an engine's trees.

    None where a function has no source file, as in a notebook, or one that was removed, spoiled or written since it was
    imported: what it calls is not known then.
    """
    system = engine.system
    properties = properties_of(system)
    every = (*system.actions, *properties, *system.premises)
    if any(getattr(sys.modules.get(each.of.function.__module__), "__file__", None) is None for each in every):
        return None
    bare = attrs.evolve(system, invariants=(), step_properties=(), prospects=(), liveness=())
    try:
        actions = fingerprint(bare, engine.layout, len(engine.permutations), {"audit": audit})
        code = code_of(system, (*properties, *system.premises))
    except ModelError:
        return None
    modules = {*actions["modules"], *code["modules"]}
    if not all(map(is_as_imported, modules)):
        return None
    versions = {name: version for name, version in actions["distributions"].items() if name in OWN}
    for part in (actions, code):
        part["distributions"] = {name: of for name, of in part["distributions"].items() if name not in OWN}
    stamp = cache(changed_last)  # all functions of a module have one file
    loaded = {name: list(_loaded(name, modules, stamp)) for name in modules}
    of_actions = [loaded[name] for name in actions["modules"]]
    kinds = [described(type(given)) for given in (system.protocol, system.bounds)]
    family = _digest([{part: actions[part] for part in (*FAMILY, "distributions")}, kinds, of_actions])
    exact = _digest([actions, of_actions])
    order = [str(each) for each in (*properties, *system.premises)]  # trees are kept by the numbers of instances
    of_properties = [exact, code, [loaded[name] for name in code["modules"]], instances_by_name(properties), order]
    return Names(f"actions-{family}-{exact}", f"properties-{_digest(of_properties)}", f"actions-{family}", versions)


def _loaded(module: str, modules: Container[str], stamp: Callable[[str], Any]) -> Iterator[str]:
    """The functions of a module as they are loaded: where each is written, or else what it does. It is written nowhere
    where it was replaced, as tests do, or the file was changed after it had been loaded.

    What classes inherit from elsewhere, such as `Enum` or attrs, and where it is written there, is another matter in
    each version of Python and attrs.

    Args:
        modules: those whose files are known.
        stamp: says when the file of a module was changed last.
    """
    for name, found in _functions_in(sys.modules.get(module)):
        of, code = found.__module__, found.__code__
        if code not in _written(of, stamp(of)):
            yield f"{name} {_of_code(code)}"
        elif of in modules:
            yield f"{name} {of}:{code.co_qualname}:{code.co_firstlineno}"
        elif name.endswith("."):  # imported by that name
            yield f"{name} {of}:{found.__qualname__}"


@cache
def _written(module: str, stamp: Any) -> frozenset[CodeType]:
    """All code in the file of a module.

    Args:
        stamp: when the file was changed last.
    """
    spec = getattr(sys.modules.get(module), "__spec__", None)
    with suppress(ImportError, AttributeError, OSError, SyntaxError):  # some loaders have no code
        return frozenset(_inside([spec.loader.get_code(spec.name)]))
    return frozenset()


def _inside(constants: Iterable[Any]) -> Iterator[CodeType]:
    for each in constants:
        if isinstance(each, CodeType):
            yield each
            yield from _inside(each.co_consts)


_codes: dict[int, tuple[CodeType, str]] = {}
"""By the identity of code, as its own hash takes long: this itself, so that it lives as long, and what it is."""


def _of_code(code: CodeType) -> str:
    if id(code) not in _codes:
        _codes[id(code)] = code, _digest(described(code))
    return _codes[id(code)][1]


def _functions_in(module: ModuleType | None) -> Iterator[tuple[str, FunctionType]]:
    for key, value in vars(module).items() if module else ():
        if isinstance(value, type):
            inside = vars(value).items() if value.__module__ == module.__name__ else ()
        else:
            inside = (("", getattr(value, "function", value)),)  # of an action or a property
        for name, each in inside:
            if isinstance(each, FunctionType) and not each.__code__.co_filename.startswith("<attrs generated"):
                yield f"{key}.{name}", each


def _digest(data: Any) -> str:
    return digest([json.dumps(data, sort_keys=True).encode()])[:32]
