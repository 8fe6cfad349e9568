"""The command line. Heavy imports happen inside the commands, so that `--help` is instant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from highwater import commands
from highwater.options import INTERRUPTED, MET, PATH, UNKNOWN, UNMET, USAGE, Interruptible, budgets, complain, model_path
from highwater.states import states
from highwater.viewer.command import trace


@click.group(cls=Interruptible, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="highwater")
def main() -> None:
    """Highwater checks models of Apache Kafka's replication and control plane, exhaustively within bounds."""


@main.command()
@click.argument("paths", metavar="SPEC|DIR...", nargs=-1, required=True, type=PATH)
@click.option(
    "--engine", type=click.Choice(["local", "python", "spark"]), default="local", show_default=True, help="Compiled, plain, or on Spark."
)
@click.option("--symmetry/--no-symmetry", default=True, show_default=True, help="Keep one state for all that differ by broker names only.")
@click.option("--max-depth", type=click.IntRange(min=0), metavar="N", help="Explore N actions deep and no deeper.")
@budgets
@click.option("--checkpoint", metavar="DIR", help="Keep one spec's search in DIR, to go on from with --resume; for Spark any URI.")
@click.option("--resume", is_flag=True, help="Go on from the snapshot in the --checkpoint folder.")
@click.option("--master", metavar="URL", help="For Spark: where to run, such as spark://host:7077.  [default: local[*]]")
@click.option("--partitions", type=click.IntRange(min=1), metavar="N", help="For Spark: partitions of a level.  [default: one per core]")
@click.option("--keep-going", is_flag=True, help="After a violation, go on until every state is seen.")
@click.option("--advice/--no-advice", default=True, show_default=True, help="After a budget ran out, probe smaller bounds: some 10 s.")
@click.option("--update-locks", is_flag=True, help="Write the counts that came out into the specs, and show what that changes.")
@click.option("--coverage", is_flag=True, help="Name the statements of actions, too, that ran on no reached state.")
@click.option("--trace/--no-trace", default=None, help="Print counterexamples.  [default: of unmet claims, and where there is one spec]")
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write the results as JSON (format: docs/results.md).")
@click.option("--junit", "junit_path", type=PATH, metavar="FILE", help="Write the results as JUnit XML.")
@click.option("--sarif", "sarif_path", type=PATH, metavar="FILE", help="Write what did not come out as SARIF 2.1.0.")
@click.option("--html", "html_path", type=PATH, metavar="DIR", help="Write a page per counterexample and one of all verdicts into DIR.")
@model_path
@click.option("--github", is_flag=True, help="Annotate a GitHub Actions run, and write its step summary.")
def check(
    paths: tuple[Path, ...],
    engine: str,
    workers: int | None,
    symmetry: bool,
    max_depth: int | None,
    max_states: int | None,
    memory: int | None,
    checkpoint: str | None,
    resume: bool,
    master: str | None,
    partitions: int | None,
    keep_going: bool,
    advice: bool,
    update_locks: bool,
    coverage: bool,
    trace: bool | None,
    json_path: Path | None,
    html_path: Path | None,
    junit_path: Path | None,
    sarif_path: Path | None,
    github: bool,
) -> None:
    """Check that every claim in SPEC files, or in all .toml files below DIR, comes out as it says.

    \b
    Exit codes: 0 every claim was met; 1 some were not; 2 a spec or the usage is wrong;
    3 a budget or depth limit ended a search before it could tell; 130 interrupted.
    """
    from explorer.verdict import Budget
    from highwater.claims import Engine, Status, check_spec
    from highwater.reports.outputs import Outputs
    from highwater.reports.results import ReportError
    from highwater.reports.terminal import Live, make_console, show_result, show_summary
    from highwater.specs.spec import SpecError, find_specs, load_spec

    console, errors = make_console(), make_console(stderr=True)
    outputs = Outputs({"json": json_path, "junit": junit_path, "sarif": sarif_path}, github)
    results: list[Any] = []
    interrupted = False
    try:
        specs = _load_all(find_specs(paths), load_spec, SpecError)
        if checkpoint is None and resume:
            raise SpecError("--resume needs --checkpoint DIR, the folder to go on from")
        if checkpoint is not None and (len(specs) > 1 or engine == "python"):
            raise SpecError("--checkpoint keeps the search of one spec, by the local engine or on Spark; name one spec")
        local = {"--workers": workers, "--memory": memory, "--coverage": coverage or None}
        _refuse_for_engine(engine, SpecError, local, {"--master": master, "--partitions": partitions})
        outputs.try_out()
        if html_path is not None:
            from highwater.viewer.gallery import prepare

            prepare(html_path)
        for spec in specs:
            with Live(errors, spec.name) as live:
                if engine == "spark":
                    live.tell("waiting for Spark")
                budget = Budget(max_depth, max_states, memory)
                result = check_spec(
                    spec,
                    Engine(engine),
                    budget,
                    keep_going=keep_going,
                    workers=workers,
                    symmetry=symmetry,
                    checkpoint=checkpoint,
                    resume=resume,
                    coverage=coverage,
                    master=master,
                    partitions=partitions,
                    on_progress=live,
                )
            results.append(result)
            wanted = result.status is Status.UNMET or len(specs) == 1 if trace is None else trace
            show_result(console, result, with_trace=wanted)
            if advice and engine == "local" and result.outcome.reason in ("max-states", "memory") and not result.outcome.violations:
                _advise(console, errors, result, symmetry, workers)
            if result.outcome.reason == "interrupted":
                interrupted = True
                break
    except KeyboardInterrupt:
        interrupted = True
    except (SpecError, ReportError) as error:
        complain(error)
        outputs.complain(error)
        sys.exit(USAGE)
    finally:
        if results:
            if update_locks:
                results = _update_locks(console, results)
            if len(results) > 1 or interrupted:
                show_summary(console, results)
            for error in outputs.write(results):
                complain(error)
                sys.exit(USAGE)
            if html_path is not None:
                _draw_or_complain(html_path, results)
    if interrupted:
        errors.print("interrupted")
        sys.exit(INTERRUPTED)
    statuses = {result.status for result in results}
    sys.exit(UNMET if Status.UNMET in statuses else UNKNOWN if Status.UNDECIDED in statuses else MET)


def _load_all(paths: list[Path], load: Any, error_class: type[Exception]) -> list[Any]:
    """Load every spec, and report what is wrong with any of them together."""
    specs, problems = [], []
    for path in paths:
        try:
            specs.append(load(path))
        except error_class as error:
            problems.append(str(error))
    if problems:
        raise error_class("\n".join(problems))
    return specs


def _advise(console: Any, errors: Any, result: Any, symmetry: bool, workers: int | None) -> None:
    from highwater.advice import advise
    from highwater.analyses import show_advice
    from highwater.reports.terminal import Live

    with Live(errors, f"{result.spec.name}: probing smaller bounds"):
        found = advise(result.spec, result.outcome, symmetry=symmetry, workers=workers)
    show_advice(console, found)


def _refuse_for_engine(engine: str, error_class: type[Exception], local: dict[str, Any], spark: dict[str, Any]) -> None:
    """Refuse options that another engine is for, rather than ignore them."""
    for name, value in (local if engine == "spark" else spark).items():
        if value is not None:
            own = "Spark has settings of its own, such as spark.executor.cores and spark.executor.memory"
            hint = "use --engine local" if name == "--coverage" else own if engine == "spark" else "add --engine spark"
            raise error_class(f"{name} says nothing to --engine {engine}; {hint}")


def _update_locks(console: Any, results: list[Any]) -> list[Any]:
    from highwater.analyses import show_diff
    from highwater.locks import update_locks
    from highwater.reports.results import ReportError

    try:
        results, diff = update_locks(results)
    except ReportError as error:
        complain(error)
        sys.exit(USAGE)
    show_diff(console, diff)
    return results


def _draw_or_complain(folder: Path, results: list[Any]) -> None:
    from explorer.system import ModelError
    from highwater.reports.results import ReportError, report
    from highwater.viewer.gallery import write_gallery

    try:
        write_gallery(folder, report(results)["results"])
    except (ReportError, ModelError) as error:
        complain(error)
        sys.exit(USAGE)


@main.command("list")
@click.argument("what", type=click.Choice(["models", "presets", "actions", "properties", "specs"]))
@click.argument("paths", metavar="[DIR...]", nargs=-1, type=PATH)
def list_(what: str, paths: tuple[Path, ...]) -> None:
    """List models with their protocols and bounds, presets, actions, properties, or the specs below DIR (default: specs)."""
    from highwater.listing import show_actions, show_models, show_presets, show_properties, show_specs
    from highwater.reports.terminal import make_console
    from highwater.specs.spec import SpecError

    console = make_console()
    try:
        match what:
            case "models":
                show_models(console)
            case "presets":
                show_presets(console)
            case "actions":
                show_actions(console)
            case "properties":
                show_properties(console)
            case "specs":
                show_specs(console, paths or (Path("specs"),))
    except SpecError as error:
        complain(error)
        sys.exit(USAGE)


for command in (trace, states, commands.graph, commands.init, commands.mutate, commands.simulate):
    main.add_command(command)


if __name__ == "__main__":
    main()
