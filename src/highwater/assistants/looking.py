"""What there is: models, their actions and properties, and specs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import attrs

from highwater.assistants.contract import a_number, a_text, fitting, short, tool
from highwater.assistants.place import LONGEST_NAME, TEXT, OfSpec, Place
from highwater.claims import own
from highwater.claims.gallery import PREFIX, matching, name_of
from highwater.claims.positions import comment_of, may_be_spec
from highwater.claims.resolving import choices, spelt
from highwater.claims.spec import SpecError, load_spec, text_of_spec
from highwater.claims.tables import Wrong
from highwater.explorer.blame import ModelError
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import StepProperty
from highwater.model.language.definition import Definition, Model
from highwater.model.language.graph_properties import Liveness, Prospect
from highwater.reports.listing import claimed, grouped, models_named, range_of
from highwater.visible import summary_and_rest, visible

MOST_FILES = 5_000
LONGEST_LINE = 240
PAGE = 4_000


def _offset() -> Any:
    return a_number(0, 0, 1_000_000, "how many to leave out first: next_offset of the answer before")


def _named_model() -> Any:
    return a_text(LONGEST_NAME, "a name of list_models, or package.module:NAME of a model of one's own")


@attrs.frozen
class Named:
    """Something with a name.

    Attributes:
        name: as specs spell it.
        words: what it is.
    """

    name: str
    words: str


@attrs.frozen(kw_only=True)
class AskedModels:
    """Which models."""

    model: str = a_text(LONGEST_NAME, "of which presets, bounds and protocol are listed; all models if empty")
    offset: int = _offset()


@attrs.frozen
class Setting:
    """What a spec sets.

    Attributes:
        key: such as bounds.records_max or protocol.acks.
        words: the values that it may have, what it means, and its default.
    """

    key: str
    words: str


@attrs.frozen
class Models:
    """Models.

    Attributes:
        models: each with one line.
        presets: of one model that was named, by name; a spec may also name a release, such as preset = "3.9.2".
        settings: of one model that was named, its bounds and the toggles of its protocol.
        total: how many settings there are.
        next_offset: to go on from; null if these were the last.
    """

    models: tuple[Named, ...]
    presets: tuple[str, ...]
    settings: tuple[Setting, ...]
    total: int
    next_offset: int | None


def _model(name: str, place: Place) -> Model:
    with own.beside(place.root / TEXT):
        (model,) = models_named([name])
    return model


@tool(AskedModels, Models)
def list_models(asked: AskedModels, place: Place) -> Models:
    """List the models that can be checked; of one model its presets, bounds and toggles, which a spec is made of."""
    if not asked.model:
        return Models(tuple(Named(each.name, each.summary) for each in MODELS.values()), (), (), 0, None)
    model = _model(asked.model, place)
    settings = [*_bounds_of(model), *_toggles_of(model)]
    return Models((Named(model.name, model.summary),), tuple(model.presets), *_page(settings, asked.offset))


def _bounds_of(model: Model) -> Iterator[Setting]:
    for names, definition in _definitions(model, "bounds"):
        under = f" (under {', '.join(names)})" if names else ""
        for field in attrs.fields(definition.bounds):
            yield Setting(f"bounds.{field.name}", range_of(field) + under)


def _toggles_of(model: Model) -> Iterator[Setting]:
    attrs.resolve_types(model.protocol)
    for field in attrs.fields(model.protocol):
        yield Setting(f"protocol.{field.name}", _toggle(field))


def _toggle(field: Any) -> str:
    return "  ".join(filter(None, (" | ".join(map(spelt, choices(field.type))), field.metadata.get("meaning"))))


@attrs.frozen(kw_only=True)
class AskedOfModel:
    """Of which model."""

    model: str = _named_model()
    offset: int = _offset()


@attrs.frozen
class Property:
    """A property.

    Attributes:
        kind: invariant, step property, prospect (must stay possible) or liveness (must happen).
        parameters: it is asked for every value of them.
        words: what it is.
        under: the protocols that have it, where not all do.
    """

    name: str
    kind: str
    parameters: tuple[str, ...]
    words: str
    under: tuple[str, ...]


@attrs.frozen
class Properties:
    """Properties of a model.

    Attributes:
        total: how many there are.
        next_offset: to go on from; null if these were the last.
    """

    properties: tuple[Property, ...]
    total: int
    next_offset: int | None


@tool(AskedOfModel, Properties)
def list_properties(asked: AskedOfModel, place: Place) -> Properties:
    """List the properties of a model, by the names that `check` of a spec takes. `no_deadlock` is one of every model:
    each state has a successor, or a bound is to blame that it has none.
    """
    found = _declared(_model(asked.model, place), "known_properties")
    properties = (Property(each.name, _kind(each), taken, words, under) for each, taken, words, under in found)
    return Properties(*_page(list(dict.fromkeys(properties)), asked.offset))


def _declared(model: Model, part: str) -> Iterator[tuple[Any, tuple[str, ...], str, tuple[str, ...]]]:
    """What a model's definitions have as a part, each with its parameters, in words, and with the protocols under which
    it is there.
    """
    for names, definition in _definitions(model, part):
        for each in getattr(definition, part):
            yield each, tuple(each.parameters), short(summary_and_rest(each)[0]), tuple(names)


def _page(items: list[Any], offset: int) -> tuple[tuple[Any, ...], int, int | None]:
    taken, after = fitting(items, offset)
    return taken, len(items), after


def _definitions(model: Model, part: str) -> Iterator[tuple[list[str], Definition]]:
    for _, names, definition in grouped([model], lambda definition: getattr(definition, part)):
        yield names, definition


def _kind(each: Any) -> str:
    kinds = {StepProperty: "step property", Prospect: "prospect", Liveness: "liveness"}
    return next((name for kind, name in kinds.items() if isinstance(each, kind)), "invariant")


@attrs.frozen
class Action:
    """An action.

    Attributes:
        parameters: it can be taken for every value of them.
        words: what happens.
        under: the protocols that have it, where not all do.
    """

    name: str
    parameters: tuple[str, ...]
    words: str
    under: tuple[str, ...]


@attrs.frozen
class Actions:
    """Actions of a model.

    Attributes:
        total: how many there are.
        next_offset: to go on from; null if these were the last.
    """

    actions: tuple[Action, ...]
    total: int
    next_offset: int | None


@tool(AskedOfModel, Actions)
def list_actions(asked: AskedOfModel, place: Place) -> Actions:
    """List the actions of a model: all that can happen, one step at a time."""
    found = _declared(_model(asked.model, place), "actions")
    actions = (Action(each.name, taken, words, under) for each, taken, words, under in found)
    return Actions(*_page(list(dict.fromkeys(actions)), asked.offset))


@attrs.frozen(kw_only=True)
class AskedSpecs:
    """Which specs."""

    query: str = a_text(LONGEST_NAME, "words that all stand in the name or the text of a spec; all specs if empty")
    where: str = attrs.field(
        default="all", metadata={"choices": ("all", "folder", "gallery"), "meaning": "where to look", "longest": 10}
    )
    offset: int = _offset()


@attrs.frozen
class SpecLine:
    """A spec.

    Attributes:
        spec: its name for other tools.
        claims: what it claims, or what is wrong with it.
        words: the comment with which it begins.
    """

    spec: str
    claims: str
    words: str


@attrs.frozen
class Specs:
    """Specs.

    Attributes:
        total: how many there are that the query fits.
        next_offset: to go on from; null if these were the last.
    """

    specs: tuple[SpecLine, ...]
    total: int
    next_offset: int | None


@tool(AskedSpecs, Specs)
def list_specs(asked: AskedSpecs, place: Place) -> Specs:
    """Search the specs of the folder, and of the gallery of claims about Kafka that comes with Highwater: each with
    what it claims, and with why.
    """
    if asked.where not in ("all", "folder", "gallery"):
        raise Wrong(f"where: {asked.where} is none; allowed are all, folder, gallery")
    words = asked.query.lower().split()
    files = [] if asked.where == "gallery" else list(_of_folder(place))
    files += [] if asked.where == "folder" else matching(Path(PREFIX))
    found = [path for path in files if _fits(path, words)]
    if asked.offset > len(found):
        raise Wrong(f"offset: {asked.offset:,} is behind the last; there are {len(found):,}")
    lines = [_line_of(path) for path in found[asked.offset : asked.offset + 30]]
    taken, _ = fitting(lines)
    after = asked.offset + len(taken)
    return Specs(taken, len(found), after if after < len(found) else None)


def _of_folder(place: Place) -> Iterator[Path]:
    """The spec files below the folder; links that lead out of it, and hidden folders, are left out."""
    there = list(islice(place.root.rglob("*.toml"), MOST_FILES + 1))
    if len(there) > MOST_FILES:
        raise Wrong(
            f"where: there are more than {MOST_FILES:,} .toml files below the folder; ask for the gallery alone"
        )
    for path in sorted(there):
        below = path.relative_to(place.root)
        hidden = any(part.startswith(".") for part in below.parts)
        if may_be_spec(path) and not hidden and path.is_file() and path.resolve().is_relative_to(place.root):
            yield below


def _fits(path: Path, words: list[str]) -> bool:
    try:
        inside = text_of_spec(path)
    except SpecError:
        inside = ""
    is_spec = not path.is_relative_to(".") or "bounds" in inside  # other tools have .toml files, too
    return is_spec and all(word in f"{path} {inside}".lower() for word in words)


def _line_of(path: Path) -> SpecLine:
    try:
        spec = load_spec(path)
    except (SpecError, ModelError) as error:
        return SpecLine(_spec_name(path), f"wrong: {short(visible(str(error)), LONGEST_LINE)}", "")
    return SpecLine(_spec_name(path), claimed(spec), short(visible(spec.comment.replace("\n", " ")), LONGEST_LINE))


def _spec_name(path: Path) -> str:
    """A spec of the folder by its path there, one of the gallery by its name there, also in a checkout."""
    return visible(name_of(path)) if not path.is_absolute() else f"{PREFIX}{path.stem}"


@attrs.frozen(kw_only=True)
class AskedSpec(OfSpec):
    """Which spec."""

    offset: int = a_number(0, 0, 2**20, "how many characters to leave out first: next_offset of the answer before")


@attrs.frozen
class SpecText:
    """A spec.

    Attributes:
        text: the TOML, or as much of it as there is room for.
        claims: what it claims.
        words: the comment with which it begins.
        total: how many characters it has.
        next_offset: to go on from; null if this was the end.
    """

    text: str
    claims: str
    words: str
    total: int
    next_offset: int | None


@tool(AskedSpec, SpecText)
def show_spec(asked: AskedSpec, place: Place) -> SpecText:
    """Show a spec: its text, and what it claims. A text is read as `check_spec` would read it, and nothing is
    explored: it shows whether a spec that you wrote is right.
    """
    spec = place.spec_of(asked)
    text = asked.text or text_of_spec(spec.path)
    part, after = text[asked.offset : asked.offset + PAGE], asked.offset + PAGE
    next_offset = after if after < len(text) else None
    return SpecText(part, claimed(spec), short(comment_of(text), LONGEST_LINE), len(text), next_offset)
