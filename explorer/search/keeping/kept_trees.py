"""Trees that one search keeps for the next one of the same model.

Python runs a path of a function once, not once per run of Highwater. What was learned is kept by all that it depends
on: the code of the model and of Highwater, the protocol, the bounds, the initial states, the properties. Actions are
kept apart from properties, so that claims that differ in their properties share them.

How large the visited set of a search became is kept beside them if that is large: the next one begins with it. So is
how many states it held, for a search that folds its rows.

Kept trees are used only if a sample of their paths, another one each time, agrees with plain Python. If it does not, or
if a search that began with them fails, they are forgotten and learned anew.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.lending import Lender, settings_in, signed
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.storing import (
    as_bytes,
    effects_as_arrays,
    from_bytes,
    program_as_arrays,
    restore_effects,
    restore_program,
)
from highwater.explorer.descriptions import Indescribable
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.keeping.tree_files import TreeFiles
from highwater.explorer.search.keeping.tree_names import Names, names_of

SAMPLE = 8  # paths of each program
SLOTS_WORTH_KEEPING = 1 << 17
ACTIONS, PROPERTIES = "actions", "properties"
MOST_LENDERS = 4
MOST_LOOKED_AT = 64  # each is read once in a process, in some milliseconds
DAMAGED = (ValueError, LookupError)
_SETTINGS: dict[str, dict[str, str]] = {}


class KeptTrees:
    """What is kept for one engine's trees.

    Attributes:
        warning: why nothing is kept; empty if it is.
        are_used: whether the engine has begun with what was kept or lent.
    """

    def __init__(self, engine: Engine[Any], audit: int, parts: Sequence[str] = (ACTIONS, PROPERTIES)) -> None:
        self._engine = engine
        self.warning, self.are_used, names = "", False, None
        try:
            names = names_of(engine, audit)
        except Indescribable as error:
            self.warning = f"not kept: {error}"
        self._known: Names | None = names
        self._names = {} if names is None else {part: getattr(names, part) for part in parts}
        self._files = TreeFiles({} if names is None else names.versions)
        self._loaded = {ACTIONS: 0, PROPERTIES: 0}
        self._lending: list[str] = []

    def load(self) -> None:
        """Begin with what is kept, if anything is. Only an engine that has learned nothing can."""
        for which, name in self._names.items():
            for arrays in self._read(name):
                try:
                    restore(self._engine, which, arrays)
                except (ModelError, *DAMAGED):
                    self._forget(which)
                else:
                    self._loaded[which] = self._paths(which)
                    break
        if self._known and not self._loaded[ACTIONS] and self._engine.system.ranks is None:
            self._engine.actions.lenders = tuple(self._lenders(self._known))
        self.are_used = any(self._loaded.values()) or bool(self._engine.actions.lenders)

    def _lenders(self, known: Names) -> Iterator[Lender]:
        """Trees over the same layout, which other protocols or bounds had: those whose settings differ least from
        these, and of equal ones those that were used last.
        """
        program, instances, settings = self._engine.actions, known.instances, known.settings
        names = (name for name in self._files.beginning_with(known.family) if name != known.actions)
        near = sorted(islice(names, MOST_LOOKED_AT), key=lambda name: _differing(self._settings(name), settings))
        kept = ((name, arrays) for name in near for arrays in self._read(name))
        for name, arrays in islice(kept, MOST_LENDERS):
            with suppress(*DAMAGED):
                lender = Lender(program, instances, settings, _part(arrays, "0"), _part(arrays, "effects"))
                self._lending.append(name)
                yield lender

    def _settings(self, name: str) -> dict[str, str]:
        """What the settings were of trees that may lend paths. A name has the same ones for ever."""
        if name not in _SETTINGS:
            for arrays in self._read(name, use=False):
                with suppress(*DAMAGED):
                    _SETTINGS[name] = settings_in(_part(arrays, "0"))
        return _SETTINGS.get(name, {})

    def _read(self, name: str, *, use: bool = True) -> Iterator[dict[str, np.ndarray]]:
        for data in self._files.read(name, use=use):
            with suppress(ValueError):
                yield from_bytes(data)

    def keep(self) -> None:
        """Keep what was learned, if anything new was, or filters were chosen by more states, but not what an error or
        an interrupt has left half learned.
        """
        for which, name in self._names.items():
            whole = all(program.is_whole for _, program in _programs(self._engine, which))
            if whole and (self._engine.has_renewed or self._paths(which) != self._loaded[which]):
                self._files.write(name, as_bytes(learned(self._engine, which) | self._signature(which)))

    def forget(self) -> None:
        """Forget what is kept of this search, and what others have lent to it: one of them may be wrong."""
        for name in (*self._names.values(), *self._lending):
            self._files.forget(name)

    def _signature(self, which: str) -> dict[str, np.ndarray]:
        if which != ACTIONS or self._known is None or not self._known.are_as_they_were():
            return {}
        found = signed(self._known.instances, self._known.settings)
        return {f"0.{name}": array for name, array in found.items()}

    @property
    def size(self) -> tuple[int, int, int]:
        """The most slots that the visited set of a search of the same has had, how many states it held then, and what
        folded rows and their parts took; 0 where that is not known.
        """
        found = [(0, 0, 0)]
        with suppress(ValueError):
            for data in self._files.read(self._slots_name) if self._names else ():
                slots, states, folded_bytes = map(int, data.split())
                found.append((slots, states, folded_bytes))
        return max(found)

    def keep_size(self, slots: int, states: int, folded_bytes: int) -> None:
        """Keep how many slots, states and bytes there were, if slots are many, and more than ever."""
        if self._names and slots >= SLOTS_WORTH_KEEPING and slots > self.size[0]:
            self._files.write(self._slots_name, f"{slots} {states} {folded_bytes}".encode())

    @property
    def _slots_name(self) -> str:
        return f"slots-{self._names[PROPERTIES]}"

    def _paths(self, which: str) -> int:
        return sum(program.paths for _, program in _programs(self._engine, which))

    def _forget(self, which: str) -> None:
        for _, program in _programs(self._engine, which):
            self._engine.forget(program)


def learned(engine: Engine[Any], which: str) -> dict[str, np.ndarray]:
    """What an engine has learned of actions or of properties."""
    arrays: dict[str, np.ndarray] = {}
    for number, program in _programs(engine, which):
        found = program_as_arrays(program) | engine.tables(program)
        arrays |= {f"{number}.{name}": array for name, array in found.items()}
    if which == ACTIONS:
        effects = effects_as_arrays(engine.effects, engine.layout)
        arrays |= {f"effects.{name}": array for name, array in effects.items()}
    return arrays


def restore(engine: Engine[Any], which: str, arrays: Mapping[str, np.ndarray]) -> None:
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


def _differing(some: Mapping[str, str], others: Mapping[str, str]) -> int:
    """How many settings differ, of all that either has."""
    return len({key for key, _ in some.items() ^ others.items()})


def _programs(engine: Engine[Any], which: str) -> Iterator[tuple[int, Program]]:
    for number, program in enumerate(engine.programs):
        if program.instances and (program is engine.actions) == (which == ACTIONS):
            yield number, program


def _part(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    return {key.partition(".")[2]: array for key, array in arrays.items() if key.partition(".")[0] == name}
