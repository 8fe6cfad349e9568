"""Trees that one search keeps for the next one of the same model.

Python runs a path of a function once, not once per run of Highwater. What was learned is kept by all that it depends
on: the code of the model and of Highwater, the protocol, the bounds, the initial states, the properties. Actions are
kept apart from properties, so that claims that differ in their properties share them.

How large the visited set of a search became is kept beside them if that is large: the next one begins with it.

Kept trees are used only if a sample of their paths, another one each time, agrees with plain Python. If it does not,
they are forgotten and learned anew.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import attrs
import numpy as np

from explorer import kept_files
from explorer.compiler.programs import Program
from explorer.compiler.storing import (
    as_bytes,
    effects_as_arrays,
    from_bytes,
    program_as_arrays,
    restore_effects,
    restore_program,
)
from explorer.search.engine import Engine
from explorer.search.fingerprint import code_of, described, engine_code, fingerprint, instances_by_name, properties_of
from explorer.sources import digest, is_as_imported
from explorer.system import ModelError

SAMPLE = 8  # paths of each program
MOST_VERSIONS = 4  # of Highwater
MOST_BYTES = 1 << 29  # of one version
SLOTS_WORTH_KEEPING = 1 << 17
ACTIONS, PROPERTIES = "actions", "properties"
DAMAGED = (ValueError, LookupError)


class KeptTrees:
    """What is kept for one engine's trees."""

    def __init__(self, engine: Engine, audit: int) -> None:
        self._engine = engine
        try:
            self._names = _names(engine, audit)
        except (OSError, SyntaxError):
            self._names = {}
        self._loaded = {ACTIONS: 0, PROPERTIES: 0}

    def load(self) -> None:
        """Begin with what is kept, if anything is. Only an engine that has learned nothing can."""
        for which in self._names:
            arrays = _read(self._names[which])
            if arrays is None:
                continue
            try:
                restore(self._engine, which, arrays)
            except (ModelError, *DAMAGED):
                self._forget(which)
            else:
                self._loaded[which] = self._paths(which)

    def keep(self) -> None:
        """Keep what was learned, if anything new was, but not what an error or an interrupt has left half
        learned.
        """
        for which in self._names:
            whole = all(program.is_whole for _, program in _programs(self._engine, which))
            if not whole or self._paths(which) == self._loaded[which]:
                continue
            _write(self._names[which], learned(self._engine, which))

    @property
    def slots(self) -> int:
        """The most slots that the visited set of a search of the same has had, 0 if that is not known."""
        try:
            return int(_read_bytes(self._slots_name)) if self._names else 0
        except (OSError, ValueError):
            return 0

    def keep_slots(self, slots: int) -> None:
        """Keep how many slots there were, if they are many, and more than ever."""
        if self._names and slots >= SLOTS_WORTH_KEEPING and slots > self.slots:
            _write_bytes(self._slots_name, str(slots).encode())

    @property
    def _slots_name(self) -> str:
        return f"slots-{self._names[PROPERTIES]}"

    def _paths(self, which: str) -> int:
        return sum(program.paths for _, program in _programs(self._engine, which))

    def _forget(self, which: str) -> None:
        for _, program in _programs(self._engine, which):
            self._engine.forget(program)


def learned(engine: Engine, which: str) -> dict[str, np.ndarray]:
    """What an engine has learned of actions or of properties."""
    arrays = {}
    for number, program in _programs(engine, which):
        found = program_as_arrays(program) | engine.tables(program)
        arrays |= {f"{number}.{name}": array for name, array in found.items()}
    if which == ACTIONS:
        effects = effects_as_arrays(engine.effects, engine.layout)
        arrays |= {f"effects.{name}": array for name, array in effects.items()}
    return arrays


def restore(engine: Engine, which: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Let an engine that has learned nothing of actions, or of properties, begin with what another has learned.

    Raises:
        ModelError: a path of the sample does not agree with plain Python.
        ValueError, LookupError: the arrays are of another engine.
    """
    if which == ACTIONS:
        restore_effects(engine.effects, engine.layout, _part(arrays, "effects"))
    for number, program in _programs(engine, which):
        found = _part(arrays, str(number))
        restore_program(program, found)
        program.verify(random.SystemRandom().sample(program.examples, min(SAMPLE, len(program.examples))))
        engine.take_tables(program, found)


def _programs(engine: Engine, which: str) -> Iterator[tuple[int, Program]]:
    for number, program in enumerate(engine.programs):
        if program.instances and (program is engine.actions) == (which == ACTIONS):
            yield number, program


def _part(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    return {key.partition(".")[2]: array for key, array in arrays.items() if key.partition(".")[0] == name}


# Names


def _names(engine: Engine, audit: int) -> dict[str, str]:
    """The names of the files of an engine's trees: hashes of all that these depend on.

    None where a function has no source file, as in a notebook, or one that was removed, spoiled or written since it was
    imported: what it calls is not known then.
    """
    system = engine.system
    properties = properties_of(system)
    every = (*system.actions, *properties, *system.premises)
    if any(getattr(sys.modules.get(each.of.function.__module__), "__file__", None) is None for each in every):
        return {}
    bare = attrs.evolve(system, invariants=(), step_properties=(), prospects=(), liveness=())
    actions = fingerprint(bare, engine.layout, len(engine.permutations), {"audit": audit})
    code = code_of(system, (*properties, *system.premises))
    if not all(map(is_as_imported, {*actions["modules"], *code["modules"]})):
        return {}
    loaded = {name: _loaded(name) for name in {*actions["modules"], *code["modules"]}}
    of_actions = _digest([actions, [loaded[name] for name in actions["modules"]]])
    order = [str(each) for each in (*properties, *system.premises)]  # trees are kept by the numbers of instances
    of_properties = [of_actions, code, [loaded[name] for name in code["modules"]], instances_by_name(properties), order]
    return {ACTIONS: f"{ACTIONS}-{of_actions}", PROPERTIES: f"{PROPERTIES}-{_digest(of_properties)}"}


def _loaded(module: str) -> list[str]:
    """The code of a module's functions as it is loaded. It is other than that of its file where a function was
    replaced, as tests do, or the file was changed after it had been loaded.
    """
    return [f"{name} {_of_code(found.__code__)}" for name, found in _functions_in(sys.modules.get(module))]


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


# Files


@cache
def _made_by() -> str:
    """A name for the version of Highwater that keeps trees."""
    return "trees-" + digest([np.__version__.encode(), engine_code().encode()])[:16]


def _folder() -> Path | None:
    own = next(kept_files.own_folder(), None)
    return own and own / _made_by()


def _read_bytes(name: str) -> bytes:
    """What is kept by that name.

    Raises:
        OSError: nothing is.
        ValueError: it is damaged.
    """
    folder = _folder()
    if folder is None:
        raise FileNotFoundError(name)
    data = kept_files.read(folder, name)
    os.utime(folder / name)
    return data


def _write_bytes(name: str, data: bytes) -> None:
    folder = _folder()
    if folder is None:
        return
    with suppress(OSError):
        kept_files.make_folder(folder, "trees", MOST_VERSIONS)
        kept_files.write(folder, name, data)
        kept_files.forget_files(folder, MOST_BYTES)


def _read(name: str) -> dict[str, np.ndarray] | None:
    try:
        return from_bytes(_read_bytes(name))
    except (OSError, ValueError):
        return None


def _write(name: str, arrays: Mapping[str, np.ndarray]) -> None:
    _write_bytes(name, as_bytes(arrays))
