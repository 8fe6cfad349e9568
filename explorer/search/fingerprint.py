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
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import attrs

from explorer.compiler.layout import Layout
from explorer.sources import SourceError, digest, files_of, sources_of
from explorer.system import ModelError, System
from model.language import declarations, domain, graph_properties, records
from model.language.declarations import Instance
from model.language.graph_properties import Liveness, Prospect

Fingerprint = dict[str, dict[str, str]]
"""By part of a search, what there is in it, and a text or a hash of each."""

ENGINE = ("explorer", "explorer.compiler", "explorer.kernels", "explorer.search")
LANGUAGE = tuple(module.__name__ for module in (declarations, domain, graph_properties, records))
CAUSES = {
    "protocol": "protocol.{}",
    "bounds": "bounds.{}",
    "options": "the option {}",
    "properties": "the property {}",
    "constants": "the constant {}",
    "modules": "the module {}",
    "distributions": "the version of {}",
    "engine": "{} of Highwater",
}
EFFECTS = {
    "actions": "the action {}",
    "order": "the order of {}",
    "initial": "the set of initial {}",
    "layout": "the layout of {}",
}
SHOWN = ("protocol", "bounds", "options", "constants", "distributions")  # whose values say something
MOST_NAMED = 4


def fingerprint(system: System, layout: Layout, permutations: int, options: Mapping[str, Any]) -> Fingerprint:
    """All that a search depends on.

    Args:
        permutations: how many permutations of names it treats as one; 0 without symmetry.
        options: what else the engine was asked for.

    Raises:
        ModelError: as `code_of`.
    """
    properties = properties_of(system)
    symmetry = {"symmetry": f"on, {permutations} permutations" if permutations > 1 else "off"}
    ranks = {} if system.ranks is None else {"by_order": ", ".join(system.ranks.groups)}
    names = {
        f"interchangeable {kind}": repr(tuple(members))
        for kind, members in system.interchangeable.items()
        if permutations > 1
    }
    leaves = {leaf.path: f"{leaf.word} {leaf.shift} {leaf.width} {leaf.domain}" for leaf in layout.root.leaves()}
    return {
        "protocol": _settings(system.protocol),
        "bounds": _settings(system.bounds),
        "options": symmetry | ranks | names | {name: _text(value) for name, value in options.items()},
        "properties": instances_by_name(properties),
        **code_of(system, (*system.actions, *properties, *system.premises)),
        "engine": {"the code": engine_code()},
        "actions": instances_by_name(system.actions),
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
    return digest(file.read_bytes() for file in files_of(*ENGINE))


def code_of(system: System, instances: Iterable[Instance]) -> Fingerprint:
    """The code that some instances depend on.

    Raises:
        ModelError: a file of it was removed or spoiled since it was imported.
    """
    functions = (each.of.function for each in instances)
    modules = {*LANGUAGE, *system.modules, *(each.__module__ for each in (system.domain.cls, *functions))}
    try:
        sources = sources_of(modules)
    except SourceError as error:
        raise ModelError(str(error)) from None
    constants = dict(sorted(_constants(sources.modules)))
    return {"constants": constants, "modules": sources.modules, "distributions": sources.distributions}


def properties_of(system: System) -> tuple[Instance, ...]:
    """Every property of a system."""
    return (*system.invariants, *system.step_properties, *system.prospects, *system.liveness)


def differences(there: Fingerprint, here: Fingerprint, states_only: bool = False) -> list[str]:
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


def settings_of(system: System) -> dict[str, str]:
    """A text of each toggle and each bound, such as protocol.acks, and of all of them together."""
    given = {"protocol": _settings(system.protocol), "bounds": _settings(system.bounds)}
    whole = {name: json.dumps(texts, sort_keys=True) for name, texts in given.items()}
    return whole | {f"{name}.{key}": text for name, texts in given.items() for key, text in texts.items()}


def _settings(chosen: Any) -> dict[str, str]:
    """A protocol's toggles or bounds, as texts by name."""
    if attrs.has(type(chosen)):
        return {field.name: _text(getattr(chosen, field.name)) for field in attrs.fields(type(chosen))}
    return {} if chosen is None else {"value": _text(chosen)}


def _text(value: Any) -> str:
    """What a value is, for people where it is simple enough."""
    value = value.value if isinstance(value, Enum) else value
    return str(value) if isinstance(value, str | int | float | None) else json.dumps(described(value))


def instances_by_name(instances: Iterable[Instance]) -> dict[str, str]:
    """By name of what is declared, a hash of all its instances."""
    found: dict[str, list[Any]] = {}
    known: Known = {}
    domains: dict[int, str] = {}  # by identity: those of all instances of an action are the same
    for each in instances:
        if id(each.domains) not in domains:
            domains[id(each.domains)] = _hash(described(each.domains, known))
        apply = described(each.apply, known)
        said = [type(each.of).__name__, str(each), domains[id(each.domains)], apply, _relied_on(each)]
        found.setdefault(each.of.name, []).append(said)
    return {name: _hash(said) for name, said in found.items()}


def _constants(modules: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Numbers and truth values at the top of modules, which may come from elsewhere than their source, such as the
    environment.
    """
    for name in modules:
        for key, value in vars(sys.modules[name]).items() if name in sys.modules else ():
            if isinstance(value, bool | int | float) and not key.startswith("__"):
                yield f"{name}.{key}", str(value)


def _relied_on(of: Instance) -> list[Any]:
    """What a property of the graph says besides its function."""
    if isinstance(of.of, Prospect):
        return [described(action) for action in of.of.along]
    if not isinstance(of.of, Liveness):
        return []
    fair = [
        [[described(each.action), *each.parameters] for each in listed] for listed in (of.of.fair, of.of.strongly_fair)
    ]
    return [of.of.form.value, fair, described(of.premise.apply) if of.premise else None]


Known = dict[int, tuple[Any, str]]
"""By the identity of a record or a function, this itself, so that it lives as long, and a hash of what it is."""


def described(value: Any, known: Known | None = None, inside: tuple[int, ...] = ()) -> Any:
    """A value as JSON can hold it, the same in every process, with what a function was made with: its defaults and what
    it encloses.

    Of an object of an unknown kind only its class and its attributes are known.

    Args:
        known: what many values share, each described once, by a hash.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value.name if isinstance(value, Enum) else value
    if known is None or not (isinstance(value, FunctionType) or attrs.has(type(value))):
        return _described(value, known, inside)
    if id(value) not in known:
        known[id(value)] = value, _hash(_described(value, known, inside))
    return known[id(value)][1]


def _described(value: Any, known: Known | None, inside: tuple[int, ...]) -> Any:
    if id(value) in inside:
        return "itself"
    below = functools.partial(described, known=known, inside=(*inside, id(value)))
    match value:
        case Enum():
            return [_place(type(value)), value.name]
        case bytes():
            return value.hex()
        case tuple() | list():
            return [below(each) for each in value]
        case set() | frozenset():
            return sorted((below(each) for each in value), key=json.dumps)
        case Mapping() if all(isinstance(key, str) for key in value):
            return [[below(key), below(value[key])] for key in sorted(value)]
        case Mapping():
            return sorted(([below(key), below(each)] for key, each in value.items()), key=json.dumps)
        case ModuleType():
            return value.__name__
        case functools.partial():
            return ["partial", *map(below, (value.func, value.args, value.keywords))]
        case MethodType():
            return ["method", below(value.__self__), below(value.__func__)]
        case FunctionType():
            enclosed = [below(_content(cell)) for cell in value.__closure__ or ()]
            made_with = [*map(below, (value.__defaults__, value.__kwdefaults__)), enclosed]
            return [_place(value), _code(value), *made_with]
        case CodeType():
            return [value.co_code.hex(), list(value.co_names), [below(each) for each in value.co_consts]]
        case type():
            return _place(value)
    return [_place(type(value)), below({name: getattr(value, name) for name in _attributes(value)})]


def _code(function: FunctionType) -> Any:
    """Where a function is in its module, whose file is known; what it does if there is no file."""
    known = getattr(sys.modules.get(function.__module__), "__file__", None) is not None
    return function.__code__.co_firstlineno if known else described(function.__code__)


def _attributes(value: Any) -> list[str]:
    if attrs.has(type(value)):
        return [field.name for field in attrs.fields(type(value))]
    return sorted(vars(value)) if hasattr(value, "__dict__") else []


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _place(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()
