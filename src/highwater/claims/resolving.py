"""From names to what they stand for: a model, its protocol, bounds and properties. `building` makes a system of all of
these.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import attrs

from highwater.claims import own
from highwater.claims.building import written_at
from highwater.claims.tables import Findings, Wrong, did_you_mean, shown, structure
from highwater.explorer.blame import RAISED, blaming_the_model, line_of
from highwater.explorer.comparisons import refusing_what_is_never_equal
from highwater.explorer.verdict import DEADLOCK
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import Action, Invariant, StepProperty
from highwater.model.language.definition import Definition, Model, Property, release_number
from highwater.model.language.graph_properties import Liveness, Prospect

RELEASE = re.compile(r"\d+(\.\d+){1,3}")
FIRST_READY_KRAFT = "3.3.0"


def find_model(name: str) -> Model:
    """A model by its name, or one of the user's own by `package.module:NAME`.

    Raises:
        Wrong: there is none.
    """
    if own.is_reference(name):
        loaded: Model = own.load(name, "model", Model)
        return loaded
    found: Model = choose(name, MODELS, "model", "models", _model_meant)
    return found


def _model_meant(name: str, models: Iterable[str]) -> str:
    """A hint where a model was named that there is not: a near one, or how to name one of one's own."""
    hint = did_you_mean(name, models, same_name)
    return hint or (f"; a model of your own is MODULE:NAME, such as {name}:MODEL" if name.isidentifier() else "")


def define(model: Model, protocol: Any) -> Definition:
    """A model under a protocol.

    Raises:
        Wrong: the model refuses it.
    """
    try:
        with refusing_what_is_never_equal():
            definition = model.define(protocol)
        _refuse_undeclared(definition, model)
        return attrs.evolve(definition, module=getattr(model.define, "__module__", ""))
    except Wrong:
        raise
    except RAISED as error:
        raise Wrong(
            f"model: {model.name} cannot be defined: {type(error).__name__}: {error} {line_of(error) or ''}".rstrip()
        ) from error


def _refuse_undeclared(definition: Any, model: Model) -> None:
    """Refuse actions and properties that are not declared as such.

    Raises:
        Wrong: with each, its file and line.
    """
    if not isinstance(definition, Definition):
        raise Wrong(f"model: define returned {definition!r:.80}, which is no Definition {written_at(model.define)}")
    findings = Findings()
    properties = [] if isinstance(definition.properties, str) else definition.properties
    for key, given, kind, written in (
        ("actions", definition.actions, Action, "@action(actor=...)"),
        ("properties", properties, Property, "@invariant()"),
    ):
        if not isinstance(given, tuple | list):
            findings.add(
                f"model: {key} of the Definition is no tuple; write ({_name(given)},) {written_at(model.define)}"
            )
            continue
        for each in given:
            if not isinstance(each, kind):
                at = written_at(each) or written_at(model.define)
                findings.add(f"model: {key}: {_name(each)} is not declared; write {written} above it {at}")
        for problem in _equal_names(given, kind):
            findings.add(f"model: {key}: {problem}")
    findings.raise_if_any()


def _equal_names(given: Iterable[Any], kind: Any) -> Iterator[str]:
    """What is called alike: traces, reports and kept files know actions and properties by their names."""
    named: dict[str, Any] = {}
    seen: set[Any] = set()
    for each in given:
        if isinstance(each, kind):
            first = named.setdefault(each.name, each)
            if each.name == DEADLOCK:
                yield f"{DEADLOCK} is Highwater's own; rename it {written_at(each)}"
            if first is not each:
                yield f"two are named {each.name}; rename one {written_at(first)} {written_at(each)}"
            elif each in seen:
                yield f"{each.name} is listed twice {written_at(each)}"
            seen.add(each)


def _name(given: Any) -> str:
    return getattr(given, "__name__", None) or f"{given!r:.80}"


def with_preset(model: Model, preset: Any, protocol: Mapping[str, Any]) -> dict[str, Any]:
    """The toggles of a model's protocol by name: those of the preset, if there is one, with the given ones on top.

    Raises:
        Wrong: there is no such preset, or none is named where toggles are left open.
    """
    if preset is None:
        if model.presets and any(field.name not in protocol for field in attrs.fields(model.protocol)):
            raise Wrong(
                f"preset: is missing; allowed are {', '.join(model.presets)} (or give every toggle in protocol)"
            )
        return dict(protocol)
    if not model.presets:
        raise Wrong(f"preset: the model {model.name} has none")
    if not isinstance(preset, str):
        raise Wrong(f"preset: {shown(preset)} is not a text; allowed are {', '.join(model.presets)}")
    return {**toggles_of(model.presets[preset_named(model, preset)]), **protocol}


def preset_named(model: Model, text: str) -> str:
    """A preset by its own name, or by a release that it speaks for: with KRaft from 3.3 on, which first called it ready
    for production (KIP-833), and with ZooKeeper before, where the model has both.

    Raises:
        Wrong: there is no such preset, none speaks for the release, or several do.
    """
    if not RELEASE.fullmatch(text):
        hint = functools.partial(_preset_meant, model)
        return str(choose(text, {name: name for name in model.presets}, "preset", "presets of this model", hint))
    found = {model.releases[name].mode: name for name in model.presets_for(text)}
    if not found:
        spoken_for = sorted(each.number for each in model.releases.values())
        first = ".".join(map(str, spoken_for[0][:3])) if spoken_for else "none"
        last = max(model.last_releases.values(), key=release_number, default="none")
        raise Wrong(f"preset: none of {model.name} speaks for Kafka {text}; they speak for {first} to {last}")
    usual = "kraft" if release_number(text) >= release_number(FIRST_READY_KRAFT) else "zookeeper"
    chosen = found.get(usual) or next(iter(found.values()))
    mode = model.releases[chosen].mode
    within = [each for each in map(model.releases.__getitem__, model.presets_within(text)) if each.mode == mode]
    if within:
        last = within[-1].first
        raise Wrong(f"preset: the rules changed within {text}; name one release, such as {text}.0 or {last}")
    return chosen


def _preset_meant(model: Model, name: str, presets: Iterable[str]) -> str:
    """A hint where a preset was named that there is not: those that speak for the release in its name, or one of the
    same release. The preset of another release is none, whose rules may differ.
    """
    release = RELEASE.search(name)
    if release and (found := [*model.presets_for(release[0]), *model.presets_within(release[0])]):
        spoken = [f"{each} (from {model.releases[each].first})" for each in dict.fromkeys(found)]
        return f"; for Kafka {release[0]} there {'is' if len(spoken) == 1 else 'are'} {' and '.join(spoken)}"
    numbers = re.findall(r"\d+", name)
    return did_you_mean(name, [each for each in presets if re.findall(r"\d+", each) == numbers], same_name)


def toggles_of(protocol: Any) -> dict[str, Any]:
    """A protocol as a spec file writes it: its toggles by name."""
    toggles = attrs.asdict(protocol, recurse=False)
    return {name: value.value if isinstance(value, Enum) else value for name, value in toggles.items()}


def variants(model: Model) -> Iterator[tuple[str, Any, Definition]]:
    """The protocols of a model by name, each with what the model is under it.

    They are its presets. A model without presets has one for each choice of the toggles that must be given, named by
    their values; it is called "default" if there are none.
    """
    attrs.resolve_types(model.protocol)
    needed = [field for field in attrs.fields(model.protocol) if field.default is attrs.NOTHING]
    named = model.presets or {
        " ".join(map(spelt, chosen)) or "default": model.protocol(
            **{field.name: value for field, value in zip(needed, chosen, strict=True)}
        )
        for chosen in itertools.product(*(choices(field.type) for field in needed))
    }
    for name, protocol in named.items():
        yield name, protocol, model.define(protocol)


def choices(kind: Any) -> tuple[Any, ...]:
    """The values of a toggle."""
    return (False, True) if kind is bool else tuple(kind)


def spelt(value: Any) -> str:
    """A toggle's value as a spec file spells it."""
    return str(value.value) if isinstance(value, Enum) else str(value).lower()


def resolve_model(
    model: Model,
    protocol: Mapping[str, Any],
    bounds: Mapping[str, Any],
    check: Iterable[str],
    also: Sequence[Property] = (),
) -> tuple[Any, Definition, Any, tuple[Property, ...]]:
    """A model's protocol, definition, bounds object and properties from what a file says of them.

    Args:
        also: a property that the file has under another key than `check`.

    Raises:
        Wrong: with all problems.
    """
    findings = Findings()
    chosen = findings.get(structure, protocol, model.protocol, "protocol")
    findings.raise_if_any()  # bounds and properties depend on the protocol
    definition = define(model, chosen)
    sizes = findings.get(structure, bounds, definition.bounds, "bounds")
    known = {each.name: each for each in definition.known_properties}
    names = list(check)
    if not names and not also:
        findings.add(f"check: names no property; allowed are {', '.join((*known, DEADLOCK))}")
    choices = {**known, DEADLOCK: None}
    wanted = [
        findings.get(own.load, name, "check", Invariant, StepProperty, Prospect, Liveness)
        if own.is_reference(name)
        else findings.get(choose, name, choices, "check", "properties of this model")
        for name in names
    ]
    wanted += also
    for name, count in Counter(invariant.name for invariant in set(wanted) if invariant is not None).items():
        if count > 1:
            findings.add(f"check: {count} different properties are named {name}")
        if name == DEADLOCK:
            findings.add(f"check: {DEADLOCK} is Highwater's own; rename the property")
    findings.raise_if_any()
    return chosen, definition, sizes, tuple(dict.fromkeys(invariant for invariant in wanted if invariant is not None))


def properly_spelt(check: Iterable[str], definition: Definition) -> tuple[str, ...]:
    """The names of properties as their model spells them, so that all reports name one property alike; references to
    one's own as they are.

    Raises:
        Wrong: one is none of the model's.
    """
    known = {name: name for name in (*(each.name for each in definition.known_properties), DEADLOCK)}
    return tuple(
        name if own.is_reference(name) else choose(name, known, "check", "properties of this model") for name in check
    )


@blaming_the_model()
def same_name(name: str) -> str:
    """What names are compared by, so that WeakIsr, weak-isr and weak_isr are one."""
    return name.replace("_", "").replace("-", "").lower()


def choose(
    name: str,
    known: Mapping[str, Any],
    key: str,
    kind: str,
    hint: Callable[[str, Iterable[str]], str] = lambda name, known: did_you_mean(name, known, same_name),
) -> Any:
    """What a name stands for, however it is written.

    Raises:
        Wrong: it stands for nothing, or may stand for several.
    """
    meant = named(name, known)
    if len(meant) > 1:
        raise Wrong(f"{key}: {shown(name)} may be {' or '.join(meant)}; write one of them as it is spelt here")
    if not meant:
        raise Wrong(f"{key}: {shown(name)} is not one of the {kind}{hint(name, known)}; allowed are {', '.join(known)}")
    return known[meant[0]]


def named(name: str, known: Iterable[str]) -> list[str]:
    """What a name may mean: the one that is spelt like that, or else all that differ from it by case, - and _ only."""
    names = list(known)
    return [name] if name in names else [each for each in names if same_name(each) == same_name(name)]
