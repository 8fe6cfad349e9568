"""The names of kept trees: hashes of all that trees depend on.

Trees of Highwater's own models have the same names wherever these are installed, under any version of Python and numpy.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

import attrs

from highwater.explorer.blame import ModelError
from highwater.explorer.descriptions import Descriptions, Indescribable
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.keeping.fingerprint import applied, code_of, fingerprint, instances_by_name, settings_of
from highwater.explorer.sources import digest, is_as_imported, versions_of
from highwater.explorer.system import System

FAMILY = ("options", "modules", "distributions", "flags", "engine", "layout")
"""The parts of a fingerprint that are equal where actions may have the same paths, but for the settings they read."""
OWN = ("attrs", "python")  # what Highwater's own models depend on besides their sources


@attrs.frozen
class Names:
    """
    Attributes:
        actions, properties: of a search's own trees.
        family: how the names begin of all trees of actions that may lend paths.
        versions: of Python and of what Highwater's own models use, which are in no name.
        may_remember: whether some of the code is not Highwater's own, which remembers nothing.
    """

    actions: str
    properties: str
    family: str
    versions: dict[str, str]
    may_remember: bool
    _system: System = attrs.field(eq=False)
    _descriptions: Descriptions = attrs.field(eq=False)

    @functools.cached_property
    def instances(self) -> tuple[str, ...]:
        """What each instance of an action does, as a hash: two that do the same lend to each other."""
        return _instances(self._system, self._descriptions)

    @functools.cached_property
    def settings(self) -> dict[str, str]:
        """What each toggle and bound is, as a hash."""
        return settings_of(self._system, self._descriptions)

    def are_as_they_were(self) -> bool:
        """Whether actions and settings are still described as when the search began: what a function has remembered of
        a toggle, it need not read again.
        """
        if not self.may_remember:
            return True
        try:
            now = Descriptions()
            return self.instances == _instances(self._system, now) and self.settings == settings_of(self._system, now)
        except Indescribable:
            return False


def _instances(system: System, descriptions: Descriptions) -> tuple[str, ...]:
    given = (system.protocol, system.bounds)
    return tuple(applied(each, descriptions, given) for each in system.actions)


def names_of(engine: Engine[Any], audit: int) -> Names | None:
    """The names of an engine's trees.

    None where a function has no source file, as in a notebook, or one that was removed, spoiled or written since it was
    imported.

    Raises:
        Indescribable: the trees depend on what cannot be described.
    """
    system, descriptions = engine.system, Descriptions()
    properties = system.properties
    every = (*system.actions, *properties, *system.premises)
    if any(getattr(sys.modules.get(each.of.function.__module__), "__file__", None) is None for each in every):
        return None
    bare = attrs.evolve(system, invariants=(), step_properties=(), prospects=(), liveness=())
    try:
        actions = fingerprint(bare, engine.layout, len(engine.permutations), {"audit": audit}, descriptions)
        code = code_of(system, (*properties, *system.premises))
    except ModelError:
        return None
    if not all(map(is_as_imported, {*actions["modules"], *code["modules"]})):
        return None
    of_properties = instances_by_name((*properties, *system.premises), descriptions)
    code["distributions"] |= versions_of(descriptions.distributions)
    versions = {name: version for name, version in actions["distributions"].items() if name in OWN}
    for part in (actions, code):
        part["distributions"] = {name: of for name, of in part["distributions"].items() if name not in OWN}
    kinds = [descriptions.of(type(given)) for given in (system.protocol, system.bounds)]
    family = _digest([{part: actions[part] for part in FAMILY}, actions["records"]["states"], kinds])
    exact = _digest(actions)
    order = [str(each) for each in (*properties, *system.premises)]  # trees are kept by the numbers of instances
    of_properties_too = f"properties-{_digest([exact, code, of_properties, order])}"
    may_remember = any(module.partition(".")[0] != "highwater" for module in actions["modules"])
    names = f"actions-{family}-{exact}", of_properties_too, f"actions-{family}"
    return Names(*names, versions, may_remember, system, descriptions)


def _digest(data: Any) -> str:
    return digest([json.dumps(data, sort_keys=True).encode()])[:32]
