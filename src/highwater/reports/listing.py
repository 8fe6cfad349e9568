"""What there is: models with their protocols and bounds, actions, properties, specs. Read from the code itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import click
from rich.console import Console
from rich.text import Text

from highwater.claims.gallery import name_of
from highwater.claims.resolving import choices, find_model, spelt, toggles_of, variants
from highwater.claims.schema import schema
from highwater.claims.spec import Spec, SpecError, find_specs, load_spec, text_of_spec
from highwater.claims.tables import Wrong, shown
from highwater.model.catalogue import MODELS
from highwater.model.language.definition import Definition, Model
from highwater.visible import counted, summary_and_rest, visible


def models_named(names: Iterable[str]) -> list[Model]:
    """These models, or all.

    Raises:
        SpecError: there is none of such a name.
    """
    try:
        return [find_model(name) for name in names] or list(MODELS.values())
    except Wrong as wrong:
        raise SpecError(str(wrong)) from None


def grouped(models: Iterable[Model], what: Callable[[Definition], Any]) -> Iterator[tuple[str, list[str], Definition]]:
    """Each model's definitions that agree in something, with the names of their protocols; no names if all of them
    agree.
    """
    for model in models:
        alike: dict[Any, tuple[list[str], Definition]] = {}
        for name, _, definition in variants(model):
            alike.setdefault(what(definition), ([], definition))[0].append(name)
        for names, definition in alike.values():
            yield model.name, names if len(alike) > 1 else [], definition


def _line(console: Console, indent: int, name: str, rest: str) -> None:
    console.print(Text.assemble(" " * indent, (name, "bold"), f"  {rest}"))


def show_models(console: Console, models: Sequence[Model]) -> None:
    """Each model with the values of its toggles, and for each state class its bounds."""
    for model in models:
        _line(console, 0, model.name, model.summary)
        attrs.resolve_types(model.protocol)
        for field in attrs.fields(model.protocol):
            values = " | ".join(map(spelt, choices(field.type)))
            _line(
                console, 2, f"protocol.{field.name}", "  ".join(filter(None, (values, field.metadata.get("meaning"))))
            )
        if model.presets:
            _line(console, 2, "preset", " | ".join(model.presets))
        for _, names, definition in grouped([model], lambda definition: definition.bounds):
            console.print(Text(f"  bounds of {', '.join(names)}" if names else "  bounds"))
            for field in attrs.fields(definition.bounds):
                _line(console, 4, field.name, range_of(field))


def range_of(field: Any) -> str:
    """What a bound may be, and what it is if left out."""
    default = "" if field.default is attrs.NOTHING else f" (default {field.default})"
    return f"{field.metadata['low']}..{field.metadata['high']}  {field.metadata['meaning']}{default}"


def show_presets(console: Console, models: Iterable[Model]) -> None:
    """Each preset of each model, with the toggles in which it differs from the preset before it, and what they mean."""
    for model in models:
        before: dict[str, Any] = {}
        meanings = {field.name: field.metadata.get("meaning", "") for field in attrs.fields(model.protocol)}
        for name, preset in model.presets.items():
            toggles = toggles_of(preset)
            _line(console, 0, model.name, name)
            for toggle, value in toggles.items():
                if before.get(toggle) != value:
                    _line(console, 2, f"protocol.{toggle}", f"{shown(value)}  {meanings[toggle]}".rstrip())
            before = toggles


def show_presets_of(console: Console, releases: Iterable[str]) -> None:
    """For each release number and model, the presets that speak for it, and from which release on they do.

    Raises:
        SpecError: one of them is not a release number, or no preset models that release.
    """
    for release in releases:
        lines = []
        for model in MODELS.values():
            try:
                names = list(dict.fromkeys([*model.presets_for(release), *model.presets_within(release)]))
            except ValueError:
                raise SpecError(f"{release}: is not a release number such as 2.0.1 or 3.7, and no model") from None
            lines += [
                (model.name, f"{name}  ({each.mode}, from {each.first})")
                for name in names
                for each in [model.releases[name]]
            ]
        if not lines:
            known = [each for model in MODELS.values() for each in model.releases.values()]
            first, last = (
                min(known, key=lambda each: each.number).first,
                max(m.last_releases["kraft"] for m in MODELS.values() if "kraft" in m.last_releases),
            )
            raise SpecError(f"{release}: no preset covers this release; presets cover {first} to {last}")
        console.print(Text(f"Kafka {release}"))
        for name, rest in lines:
            _line(console, 2, name, rest)


def show_actions(console: Console, models: Iterable[Model]) -> None:
    """Each model's actions under each protocol, with their parameters and first line."""
    for model, names, definition in grouped(models, lambda definition: definition.actions):
        _line(console, 0, model, ", ".join(names))
        for action in definition.actions:
            _line(console, 2, f"{action.name}({', '.join(action.parameters)})", summary_and_rest(action)[0])


def show_properties(console: Console, models: Iterable[Model]) -> None:
    """Each model's properties with their first lines."""
    for model, names, definition in grouped(models, lambda definition: definition.known_properties):
        console.print(Text(f"for {', '.join(names) or model}"))
        for found in definition.known_properties:
            _line(console, 2, found.name, summary_and_rest(found)[0])


def show_specs(console: Console, paths: Iterable[Path]) -> list[SpecError]:
    """Each spec with what it claims.

    Returns:
        What is wrong with those that cannot be shown.
    """
    wrong = []
    for path in find_specs(paths):
        try:
            spec = load_spec(path)
        except SpecError as error:
            wrong.append(error)
            continue
        _line(console, 0, visible(name_of(path)), claimed(spec))
    return wrong


def claimed(spec: Spec) -> str:
    """What a spec claims, in one line."""
    expect = spec.file.expect
    claim = expect.verdict.value
    if expect.property:
        claim += f": {expect.property}" + (
            f" after {counted(expect.trace_length, 'step')}" if expect.trace_length is not None else ""
        )
    return claim if expect.distinct_states is None else f"{claim}, {expect.distinct_states:,} states"


def show_specs_whole(paths: Iterable[Path]) -> None:
    """The text of each spec, one after the other, each under its name. One alone is printed as it is.

    Raises:
        SpecError: one of them cannot be read, or is not found.
    """
    found = find_specs(paths)
    for number, path in enumerate(found):
        if len(found) > 1:
            click.echo(("\n" if number else "") + f"# ---- {visible(name_of(path))}")
        for line in text_of_spec(path).rstrip("\n").split("\n"):
            click.echo(visible(line))


def show_defects(console: Console) -> None:
    """The defects that `highwater reproduce` brings about, each with its ways and controls."""
    from highwater.cluster.defects import DEFECTS

    for name, defect in DEFECTS.items():
        _line(console, 0, f"defect:{name}", defect.words)
        for each, way in defect.ways.items():
            since, until = (".".join(map(str, release or ())) for release in (way.since, way.until))
            releases = "" if way.control else f"  since {since}{until and f', until {until}'}"
            _line(console, 2, f"{'control ' if way.control else ''}{each}", f"{way.words}{releases}")


def show_schema() -> None:
    """The JSON schema of spec files, as plain text."""
    click.echo(json.dumps(schema(), indent=1, ensure_ascii=False))
