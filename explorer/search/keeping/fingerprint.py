"""What a search is: all that its states, counts and verdict depend on, in parts that can be compared one by one.

Checkpoints, the levels of Spark and every executor's engine hold one. Two searches with the same fingerprint find the
same; of two that differ, `differences` names what does.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import attrs

from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.descriptions import Descriptions
from highwater.explorer.sources import SourceError, digest, files_below, files_of, sources_of, versions_of
from highwater.explorer.system import System
from highwater.model.language import declarations, domain, graph_properties, records
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness, Prospect

Fingerprint = dict[str, dict[str, str]]
"""By part of a search, what there is in it, and a text or a hash of each."""

ENGINE = tuple(f"highwater.explorer.{folder}" for folder in ("compiler", "kernels", "search"))
LANGUAGE = tuple(module.__name__ for module in (declarations, domain, graph_properties, records))
CAUSES = {
    "protocol": "protocol.{}",
    "bounds": "bounds.{}",
    "options": "the option {}",
    "properties": "the property {}",
    "constants": "the constant {}",
    "modules": "the module {}",
    "distributions": "the version of {}",
    "flags": "the option {} of Python",
    "engine": "{} of Highwater",
}
EFFECTS = {
    "actions": "the action {}",
    "order": "the order of {}",
    "initial": "the set of initial {}",
    "layout": "the layout of {}",
    "records": "what {} are",
}
FLAGS = {"optimize": 0, "bytes_warning": 0, "int_max_str_digits": sys.int_info.default_max_str_digits}
"""The options of the interpreter that decide what code does, as they are by default."""
SHOWN = ("protocol", "bounds", "options", "constants", "distributions", "flags")  # whose values say something
MOST_NAMED = 4


def fingerprint(
    system: System,
    layout: Layout,
    permutations: int,
    options: Mapping[str, Any],
    descriptions: Descriptions | None = None,
) -> Fingerprint:
    """All that a search depends on.

    Args:
        permutations: how many permutations of names it treats as one; 0 without symmetry.
        options: what else the engine was asked for.
        descriptions: of objects that are described already.

    Raises:
        ModelError: as `code_of`.
        Indescribable: it depends on what cannot be described.
    """
    descriptions = descriptions or Descriptions()
    properties = system.properties
    symmetry = {"symmetry": f"on, {permutations} permutations" if permutations > 1 else "off"}
    ranks = {} if system.ranks is None else {"by_order": ", ".join(system.ranks.groups)}
    names = {
        f"interchangeable {kind}": repr(tuple(members))
        for kind, members in system.interchangeable.items()
        if permutations > 1
    }
    described = {
        "actions": instances_by_name(system.actions, descriptions),
        "properties": instances_by_name(properties, descriptions),
        "records": {
            name: descriptions.of(value, name)
            for name, value in (("states", system.domain), ("protocols", system.protocol), ("bounds", system.bounds))
        },
    }
    code = code_of(system, (*system.actions, *properties, *system.premises))
    leaves = {leaf.path: f"{leaf.word} {leaf.shift} {leaf.width} {leaf.domain}" for leaf in layout.root.leaves()}
    return {
        "protocol": _settings(system.protocol),
        "bounds": _settings(system.bounds),
        "options": symmetry | ranks | names | {name: _text(value) for name, value in options.items()},
        **described,
        "constants": dict(sorted(descriptions.constants.items())),
        "modules": code["modules"],
        "distributions": code["distributions"] | versions_of(descriptions.distributions),
        "flags": flags(),
        "engine": {"the code": engine_code()},
        "order": {
            name: _hash([str(each) for each in instances])
            for name, instances in (("actions", system.actions), ("properties", properties))
            if instances  # a search of the states alone has no properties
        },
        "initial": {"states": _hash([layout.pack(system.class_of(state)) for state in system.initial])},
        "layout": leaves,
    }


@functools.cache
def engine_code() -> str:
    """A hash of the engine's files, as they are when this is first asked for: a process keeps its engine, whatever
    becomes of them later.
    """
    return digest(file.read_bytes() for file in (*files_of("highwater.explorer"), *files_below(*ENGINE)))


def code_of(system: System, instances: Iterable[Instance]) -> Fingerprint:
    """The files and distributions that some instances depend on.

    Raises:
        ModelError: a file of it was removed or spoiled since it was imported.
    """
    functions = (each.of.function for each in instances)
    modules = {*LANGUAGE, *system.modules, *(each.__module__ for each in (system.domain.cls, *functions))}
    try:
        sources = sources_of(modules)
    except SourceError as error:
        raise ModelError(str(error)) from None
    return {"modules": dict(sources.modules), "distributions": dict(sources.distributions)}  # those are kept


def differences(there: Fingerprint, here: Fingerprint, *, states_only: bool = False) -> list[str]:
    """What differs between two searches, in words. What may merely follow from another difference is left out beside
    that one.

    Args:
        states_only: compare what decides which states there are, when `here` is of a system without properties.
    """
    if states_only:
        here = {part: found for part, found in here.items() if part not in ("options", "properties")}
        there = {
            part: {name: value for name, value in there.get(part, {}).items() if name in here[part]} for part in here
        }
    causes = [each for part in CAUSES for each in _differing(part, there.get(part, {}), here.get(part, {}))]
    return causes or [each for part in EFFECTS for each in _differing(part, there.get(part, {}), here.get(part, {}))]


def in_one_line(differences: Sequence[str]) -> str:
    """Differences as one sentence names them."""
    more = len(differences) - MOST_NAMED
    return "; ".join(differences[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _differing(part: str, there: Mapping[str, str], here: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys([*there, *here]):
        before, now = there.get(name), here.get(name)
        # then a process has not loaded the module yet
        if before == now or (part == "constants" and None in (before, now)):
            continue
        what = ({**CAUSES, **EFFECTS})[part].format(name)
        if part in SHOWN:
            there_is, here_is = ("missing" if value is None else value for value in (before, now))
            yield f"{what} is {there_is} there and {here_is} here"
        elif before is None or now is None:
            yield f"{what} is {'here' if before is None else 'there'} only"
        else:
            yield f"{what} differs"


def settings_of(system: System, descriptions: Descriptions) -> dict[str, str]:
    """What each toggle and each bound is, such as protocol.acks, and all of them together, as hashes.

    Raises:
        Indescribable: one of them cannot be described.
    """
    found = {}
    for name, given in (("protocol", system.protocol), ("bounds", system.bounds)):
        found[name] = descriptions.of(given, name)
        for field in attrs.fields(type(given)) if attrs.has(type(given)) else ():
            key = f"{name}.{field.name}"
            found[key] = descriptions.of(getattr(given, field.name), key)
    return found


def _settings(chosen: Any) -> dict[str, str]:
    """A protocol's toggles or bounds by name, as people read them."""
    if attrs.has(type(chosen)):
        return {field.name: _text(getattr(chosen, field.name)) for field in attrs.fields(type(chosen))}
    return {} if chosen is None else {"value": _text(chosen)}


def _text(value: Any) -> str:
    """What a value is, for people, where it is simple enough."""
    value = value.value if isinstance(value, Enum) else value
    return str(value) if isinstance(value, str | int | float | None) else type(value).__name__


def instances_by_name(instances: Iterable[Instance], descriptions: Descriptions) -> dict[str, str]:
    """By name of what is declared, a hash of all its instances.

    Raises:
        Indescribable: what they depend on cannot be described.
    """
    found: dict[str, list[Any]] = {}
    for each in instances:
        described = [
            str(each),
            descriptions.of(each.domains),
            applied(each, descriptions),
            *_relied_on(each, descriptions),
        ]
        found.setdefault(each.of.name, []).append([type(each.of).__name__, *described])
    return {name: _hash(described) for name, described in found.items()}


def applied(instance: Instance, descriptions: Descriptions, besides: Iterable[Any] = ()) -> str:
    """What an instance does, whatever it is called.

    Args:
        besides: what of the objects that it is given is known otherwise.

    Raises:
        Indescribable: what it depends on cannot be described.
    """
    if instance.given is None:
        return descriptions.of(instance.apply, instance.of.name)
    given = {name: value for name, value in instance.given.items() if not any(value is each for each in besides)}
    parts = [descriptions.of(instance.of.function, instance.of.name)]
    return _hash([parts, type(instance.of).__name__, *([name, descriptions.of(given[name])] for name in sorted(given))])


def _relied_on(of: Instance, descriptions: Descriptions) -> list[Any]:
    """What a property of the graph says besides its function."""
    if isinstance(of.of, Prospect):
        return [descriptions.of(of.of.along, of.of.name)]
    if not isinstance(of.of, Liveness):
        return []
    fair = [descriptions.of(listed, of.of.name) for listed in (of.of.fair, of.of.strongly_fair)]
    form = of.of.form
    paths = [form.at_first, *map(sorted, (form.begins, form.stays, form.returns))]
    return [form.name, paths, fair, applied(of.premise, descriptions) if of.premise else ""]


def flags() -> dict[str, str]:
    """Those of FLAGS that are not as they are by default."""
    given = {"optimize": sys.flags.optimize, "bytes_warning": sys.flags.bytes_warning}
    given["int_max_str_digits"] = sys.get_int_max_str_digits()  # which a process may change
    return {name: str(value) for name, value in given.items() if value != FLAGS[name]}


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()
