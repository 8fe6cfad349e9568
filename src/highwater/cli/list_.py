"""`highwater list`: models, presets, actions, properties, specs and defects."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from highwater.cli.options import MET, PATH, USAGE, complain, model_path


@click.command("list")
@click.argument("what", type=click.Choice(["models", "presets", "actions", "properties", "specs", "defects", "schema"]))
@click.argument("paths", metavar="[DIR|RELEASE|MODEL]...", nargs=-1, type=PATH)
@click.option("--show", "whole", is_flag=True, help="For specs: print the files, with the comments that explain them.")
@model_path
def list_(what: str, paths: tuple[Path, ...], *, whole: bool) -> None:
    """List models with their protocols and bounds, presets, actions, properties, specs, or the defects that `reproduce`
    brings about; or print the JSON schema of spec files, with which editors complete TOML.

    `list specs` lists those below DIR, by default below specs; `list specs gallery:` those that come with Highwater,
    and gallery:kip_101* those of that name.
    The others list all models, or those named. `list presets 3.4.1` names the presets that speak for that release of
    Kafka.
    """
    from highwater.claims.spec import SpecError
    from highwater.model.catalogue import MODELS
    from highwater.reports.listing import (
        models_named,
        show_actions,
        show_defects,
        show_models,
        show_presets,
        show_presets_of,
        show_properties,
        show_schema,
        show_specs,
        show_specs_whole,
    )
    from highwater.reports.progress import make_console

    console = make_console()
    if paths and what in ("defects", "schema"):
        raise click.UsageError(f"list {what} takes no argument")
    if whole and what != "specs":
        raise click.UsageError("--show goes with list specs")
    names = [str(path) for path in paths]
    wrong: list[SpecError] = []
    try:
        match what:
            case "models":
                show_models(console, models_named(names))
            case "presets":
                models = [name for name in names if name in MODELS or ":" in name]
                show_presets_of(console, (name for name in names if name not in models))
                if models or not names:
                    show_presets(console, models_named(models))
            case "actions":
                show_actions(console, models_named(names))
            case "properties":
                show_properties(console, models_named(names))
            case "defects":
                show_defects(console)
            case "schema":
                show_schema()
            case "specs" if whole:
                show_specs_whole(paths or (Path("specs"),))
            case "specs":
                wrong = show_specs(console, paths or (Path("specs"),))
    except SpecError as error:
        wrong = [error]
    for each in wrong:
        complain(each)
    sys.exit(USAGE if wrong else MET)
