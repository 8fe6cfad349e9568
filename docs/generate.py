"""Write the reference pages, and the picture of a tree, from the code: `make docs`. A test holds the pages to it."""

from __future__ import annotations

import inspect
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import click

sys.path.insert(0, str(Path(__file__).parents[1]))

from highwater.assistants.tools import TOOLS
from highwater.claims.building import build_system
from highwater.claims.keys import Expectation, Mutations, SpecFile
from highwater.claims.refining import Refinement
from highwater.claims.resolving import resolve_model, variants
from highwater.claims.schema import documented, schema
from highwater.cli.main import main as command_line
from highwater.conformance import partition_changes, zookeeper_side
from highwater.conformance.operations import MAPPED
from highwater.explorer.compiler.effects import Effects
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.meanings import ActionProgram
from highwater.explorer.compiler.tracing import OutOfBounds
from highwater.explorer.encoding import FIRST_EFFECT, NODE, NOTHING, PENDING, UNKNOWN
from highwater.explorer.system import System
from highwater.model.catalogue import MODELS
from highwater.reports.listing import grouped

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
    whole = command_line.make_context("highwater", [], resilient_parsing=True)
    for name in command_line.list_commands(whole):
        command = command_line.get_command(whole, name)
        context = command.make_context(name, [], parent=whole, resilient_parsing=True)
        words = inspect.cleandoc(command.help or "").replace("\b\n", "")
        yield from (f"## `{' '.join(command.get_usage(context).split()[1:])}`", "", words, "")
        options = [
            parameter.get_help_record(context)
            for parameter in command.get_params(context)
            if isinstance(parameter, click.Option) and "--help" not in parameter.opts
        ]
        if any(options):
            yield from table(("option", ""), ((f"`{option}`", words) for option, words in filter(None, options)))


def keys(cls: type, prefix: str = "") -> Iterator[tuple[str, ...]]:
    for field in attrs.fields(cls):
        required = "yes" if field.default is attrs.NOTHING else "no"
        yield f"`{prefix}{field.name}`", required, documented(cls)[field.name]


def spec_reference() -> Iterator[str]:
    """Every key of a spec file, with the protocol, the presets and the bounds of every model."""
    yield from (
        "# Spec files: every key",
        "",
        NOTE,
        "[specs.md](specs.md) says what a spec is and how to write one.",
        "",
    )
    yield from table(
        ("key", "required", ""),
        iter(
            [*keys(SpecFile), *keys(Expectation, "expect."), *keys(Mutations, "mutate."), *keys(Refinement, "refines.")]
        ),
    )
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
    yield from (
        "`no_deadlock` is a property of every model: each state has a successor, or a bound is to blame for that "
        "it has none.",
        "",
    )
    for model, names, definition in grouped(MODELS.values(), lambda definition: definition.known_properties):
        yield from (f"## Of the model `{model}`" + (f" under {', '.join(names)}" if names else ""), "")
        for each in definition.known_properties:
            yield from (
                f"### `{each.name}`",
                "",
                f"For every {', '.join(each.parameters)}." if each.parameters else "",
                "",
            )
            yield from (re.sub(r"\n(?=\w[\w ]*: )", "\n- ", inspect.getdoc(each) or ""), "")


def concepts() -> Iterator[str]:
    """The page as it is, with its picture drawn anew."""
    text = (DOCS / "concepts.md").read_text(encoding="utf-8")
    before, begin, after = re.split(r"(<!-- drawn by [^\n]*-->\n)```mermaid\n.*?```\n", text, flags=re.DOTALL)
    drawing = "\n".join(("```mermaid", "flowchart LR", *drawn("elect_leader(leader b1)"), "```\n"))
    yield before + begin + drawing + after


def assistants() -> Iterator[str]:
    """The page as it is, with the table of tools made anew."""
    text = (DOCS / "assistants.md").read_text(encoding="utf-8")
    before, begin, end, after = re.split(r"(<!-- written by [^\n]*-->\n).*?(<!-- end -->\n)", text, flags=re.DOTALL)
    rows = ((f"`{each.name}`", ", ".join(f"`{key}`" for key in taken(each)), each.words) for each in TOOLS.values())
    yield before + begin + "\n".join(table(("tool", "takes", ""), rows)) + end + after


LEFT = {"": "modelled", "In part": "in part", "Open": "open", "Nothing to check": "nothing to check"}
COUNTED = ("rows", *LEFT.values(), "on Kafka's classes")


def articles() -> Iterator[str]:
    """The page as it is, with its counts made anew, and with what runs on Kafka's classes."""
    lines: list[str] = []
    counts: dict[str, Counter[str]] = {}
    for line in (DOCS / "articles.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            count = counts.setdefault(line.removeprefix("## "), Counter())
        if re.match(r"\| \d+ \|", line):
            *cells, names, claims, _, left = (each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1])
            on_kafka = [runs_on_kafka(name) for name in re.findall(r"`(.*?)`", names)]
            count.update(("rows", LEFT[left.partition(":")[0]], *["on Kafka's classes"][: any(on_kafka)]))
            answer = ("yes" if any(on_kafka) else "no") if names else ""
            line = f"| {' | '.join((*cells, names, claims, answer, left))} |"
        lines.append(line)
    counts["all"] = sum(counts.values(), Counter())
    rows = ((article, *(str(count[each]) for each in COUNTED)) for article, count in counts.items())
    written = "\n".join(table(("article", *COUNTED), rows))
    yield re.sub(
        r"(?<=from the rows below -->\n).*?(?=<!-- end -->)", lambda _: written, "\n".join(lines), flags=re.DOTALL
    )


def runs_on_kafka(name: str) -> bool:
    """Whether Kafka's classes take the step that a page names, too, and are compared.

    Raises:
        LookupError: nothing has such a name, which is `model.module.name`, or `model.name` of a toggle, a bound or a
            property.
    """
    model, *path = name.split(".")
    if len(path) == 2:
        module = vars(import_module(f"highwater.model.{model}.{path[0]}"))
        called = (*vars(zookeeper_side).values(), *vars(partition_changes).values())
        return module[path[1]] in called or (model == "partition" and path[1] in MAPPED)
    _, _, definition = next(variants(MODELS[model]))
    fields = (*attrs.fields(MODELS[model].protocol), *attrs.fields(definition.bounds), *definition.known_properties)
    if path[0] not in {each.name for each in fields}:
        raise LookupError(f"{model} has no {path[0]}")
    return False


def taken(tool: Any) -> list[str]:
    return [field.name for field in attrs.fields(tool.asked)]


def drawn(instance: str) -> Iterator[str]:
    """One action's decision tree in Mermaid, as it is once every state of a small model has been seen."""
    bounds = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}
    protocol, definition, sizes, properties = resolve_model(
        MODELS["reference"], {"variant": "kip-320"}, bounds, ("weak_isr",)
    )
    program = grown(build_system(definition, protocol, sizes, properties))
    tests = {(leaf.word, leaf.shift, leaf.width): leaf for leaf in program.layout.root.leaves()}
    boxes = itertools.count()

    def below(branch: int) -> Iterator[str]:
        box = f"n{next(boxes)}"
        if branch & NODE:
            test, first = program.node(branch)
            yield f'{box}{{{{"{tests[test].path}"}}}}'
            for value in range(tests[test].size):
                if (found := program.branches.cells[first + value]) not in (UNKNOWN, PENDING):
                    lines = list(below(found))
                    yield f"{box} -- {tests[test].domain.show(tests[test].domain.decode(value))} --> {lines[0]}"
                    yield from lines[1:]
        else:
            yield f'{box}["{meaning(program, branch)}"]'

    names = [str(each) for each in program.instances]
    yield from (f"  {line}" for line in below(program.branches.cells[names.index(instance)]))


def grown(system: System) -> ActionProgram:
    """The trees of a system's actions after a visit to every state."""
    layout = Layout(system.domain)
    program = ActionProgram(layout, system.actions, Effects(layout.words), 0)
    todo = [tuple(layout.pack(state)) for state in system.initial]
    seen = set(todo)
    while todo:
        words = todo.pop()
        for number in range(len(system.actions)):
            after = program.evaluate(number, words)
            if isinstance(after, tuple) and after not in seen:
                seen.add(after)
                todo.append(after)
    return program


def meaning(program: ActionProgram, branch: int) -> str:
    """What a branch leads to: the step's writes, constants and copies, or why there is none."""
    if branch == NOTHING:
        return "not enabled"
    result = program.effects.results[branch - FIRST_EFFECT]
    if isinstance(result, OutOfBounds):
        return f"cut by {' and '.join(sorted(result.bounds))}"
    constants = sorted(
        f"{leaf.path} := {leaf.domain.show(leaf.domain.decode(value))}" for leaf, value in result.constants
    )
    copies = sorted(f"{target.path} := copy of {source.path}" for target, source in result.copies)
    return "<br>".join((*constants, *copies))


def spec_schema() -> Iterator[str]:
    """The schema of spec files, for editors."""
    yield json.dumps(schema(), indent=1, ensure_ascii=False)


PAGES = {
    "spec.schema.json": spec_schema,
    "concepts.md": concepts,
    "assistants.md": assistants,
    "articles.md": articles,
}


AS_IT_IS = ("assistants.md",)
"""Pages with code in Python, which has two empty lines between functions."""

ON_THE_SITE = {"cli.md": cli, "spec_reference.md": spec_reference, "properties.md": properties}
"""Pages that docs/site.py adds, and that no repository holds."""


def page(name: str) -> str:
    """The text of a page."""
    text = "\n".join((PAGES | ON_THE_SITE)[name]())
    return (text if name in AS_IT_IS else re.sub(r"\n{3,}", "\n\n", text)).rstrip() + "\n"


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / name).write_text(page(name), encoding="utf-8")
        print(f"wrote docs/{name}")
