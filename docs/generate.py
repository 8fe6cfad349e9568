"""Write the reference pages from the code: `python docs/generate.py`, or `make docs`. A test holds the pages to it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import click

sys.path.insert(0, str(Path(__file__).parents[1]))

from highwater.cli import main as command_line
from highwater.listing import variants
from highwater.spec import Expectation, Mutations, SpecFile
from invariants.catalogue import PROPERTIES
from model.catalogue import MODELS

DOCS = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py from the code; change the code instead. -->\n"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def table(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield f"| {' | '.join(map(cell, row))} |"
    yield ""


def cli() -> Iterator[str]:
    """Every command with its arguments and options."""
    yield from ("# Commands", "", NOTE)
    for name, command in sorted(command_line.commands.items()):
        context = click.Context(command, info_name=f"highwater {name}")
        words = inspect.cleandoc(command.help or "").replace("\b\n", "")
        yield from (f"## `{' '.join(command.get_usage(context).split()[1:])}`", "", words, "")
        options = [parameter.get_help_record(context) for parameter in command.params if isinstance(parameter, click.Option)]
        if any(options):
            yield from table(("option", ""), ((f"`{option}`", words) for option, words in filter(None, options)))


def documented(cls: type) -> dict[str, str]:
    """What a class's docstring says of its attributes."""
    text = (inspect.getdoc(cls) or "").partition("Attributes:\n")[2]
    found = {}
    for entry in re.split(r"\n(?=    \w)", "\n" + text):
        names, _, meaning = entry.strip().partition(":")
        found |= {name.strip(): meaning.strip() for name in names.split(",")}
    return found


def keys(cls: type, prefix: str = "") -> Iterator[tuple[str, ...]]:
    for field in attrs.fields(cls):
        required = "yes" if field.default is attrs.NOTHING else "no"
        yield f"`{prefix}{field.name}`", required, documented(cls)[field.name]


def spec_reference() -> Iterator[str]:
    """Every key of a spec file, with the protocol, the presets and the bounds of every model."""
    yield from ("# Spec files: every key", "", NOTE, "What a spec is and how to write one is told in [specs.md](specs.md).", "")
    yield from table(("key", "required", ""), iter([*keys(SpecFile), *keys(Expectation, "expect."), *keys(Mutations, "mutate.")]))
    for model in MODELS.values():
        yield from (f'## `model = "{model.name}"`', "", model.summary, "")
        attrs.resolve_types(model.protocol)
        yield from table(("`protocol`", "values", ""), map(toggle, attrs.fields(model.protocol)))
        if model.presets:
            yield from (f"Presets: {', '.join(f'`{name}`' for name in model.presets)}.", "")
        by_bounds: dict[type, list[str]] = {}
        for name, _, definition in variants(model):
            by_bounds.setdefault(definition.bounds, []).append(name)
        for bounds, names in by_bounds.items():
            of = f"`bounds` of {', '.join(names)}" if len(by_bounds) > 1 else "`bounds`"
            yield from table((of, "values", "default", ""), map(bound, attrs.fields(bounds)))


def toggle(field: Any) -> tuple[str, ...]:
    values = [str(member.value) for member in field.type] if issubclass(field.type, Enum) else ["true", "false"]
    return f"`{field.name}`", ", ".join(f"`{value}`" for value in values), field.metadata.get("meaning", "")


def bound(field: Any) -> tuple[str, ...]:
    default = "" if field.default is attrs.NOTHING else str(field.default)
    return f"`{field.name}`", f"{field.metadata['low']}..{field.metadata['high']}", default, field.metadata["meaning"]


def properties() -> Iterator[str]:
    """Every property, with what it says of itself."""
    yield from ("# Properties", "", NOTE)
    yield from ("`no_deadlock` is a property of every model: each state has a successor, or a bound is to blame for that it has none.", "")
    for state, found in PROPERTIES.items():
        names = [f"`{m.name}`" for m in MODELS.values() if any(d.state is state for _, _, d in variants(m))]
        under = [n for m in MODELS.values() for n, _, d in variants(m) if d.state is state]
        every = all(d.state is state for m in MODELS.values() if f"`{m.name}`" in names for _, _, d in variants(m))
        yield from (f"## Of the model {', '.join(names)}" + ("" if every else f" under {', '.join(under)}"), "")
        for each in found:
            yield from (f"### `{each.name}`", "", f"For every {', '.join(each.parameters)}." if each.parameters else "", "")
            yield from (re.sub(r"\n(?=\w[\w ]*: )", "\n- ", inspect.getdoc(each) or ""), "")


PAGES = {"cli.md": cli, "spec_reference.md": spec_reference, "properties.md": properties}


def page(name: str) -> str:
    """The text of a page."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(PAGES[name]())).rstrip() + "\n"


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / name).write_text(page(name), encoding="utf-8")
        print(f"wrote docs/{name}")
