"""The command line. Heavy imports happen inside the commands, so that `--help` is instant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from highwater import commands
from highwater.options import INTERRUPTED, MET, PATH, UNKNOWN, UNMET, USAGE, budgets, complain, model_path


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="highwater")
def main() -> None:
    """Highwater checks models of Apache Kafka's replication and control plane, exhaustively within bounds."""


@main.command()
@click.argument("paths", metavar="SPEC|DIR...", nargs=-1, required=True, type=PATH)
@click.option("--engine", type=click.Choice(["local", "python"]), default="local", show_default=True, help="Compiled, or plain Python.")
@click.option("--symmetry/--no-symmetry", default=True, show_default=True, help="Keep one state for all that differ by broker names only.")
@click.option("--max-depth", type=click.IntRange(min=0), metavar="N", help="Explore N actions deep and no deeper.")
@budgets
@click.option("--checkpoint", type=PATH, metavar="DIR", help="Keep snapshots of one spec's search in DIR, to go on from with --resume.")
@click.option("--resume", is_flag=True, help="Go on from the snapshot in the --checkpoint folder.")
@click.option("--keep-going", is_flag=True, help="After a violation, go on until every state is seen.")
@click.option("--advice/--no-advice", default=True, show_default=True, help="After a budget ran out, probe smaller bounds: some 10 s.")
@click.option("--update-locks", is_flag=True, help="Write the counts that came out into the specs, and show what that changes.")
@click.option("--coverage", is_flag=True, help="Name the statements of actions, too, that ran on no reached state.")
@click.option("--trace/--no-trace", default=None, help="Print counterexamples.  [default: of unmet claims, and where there is one spec]")
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write the results as JSON (format: docs/results.md).")
@click.option("--junit", "junit_path", type=PATH, metavar="FILE", help="Write the results as JUnit XML.")
@click.option("--sarif", "sarif_path", type=PATH, metavar="FILE", help="Write what did not come out as SARIF 2.1.0.")
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
    checkpoint: Path | None,
    resume: bool,
    keep_going: bool,
    advice: bool,
    update_locks: bool,
    coverage: bool,
    trace: bool | None,
    json_path: Path | None,
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
    from highwater.outputs import Outputs
    from highwater.reports import ReportError
    from highwater.spec import SpecError, find_specs, load_spec
    from highwater.terminal import Live, make_console, show_result, show_summary

    console, errors = make_console(), make_console(stderr=True)
    outputs = Outputs({"json": json_path, "junit": junit_path, "sarif": sarif_path}, github)
    results: list[Any] = []
    interrupted = False
    try:
        specs = _load_all(find_specs(paths), load_spec, SpecError)
        if checkpoint is None and resume:
            raise SpecError("--resume needs --checkpoint DIR, the folder to go on from")
        if checkpoint is not None and (len(specs) > 1 or engine != "local"):
            raise SpecError("--checkpoint keeps the search of one spec by the local engine; name one spec")
        outputs.try_out()
        for spec in specs:
            with Live(errors, spec.name) as live:
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
    from highwater.terminal import Live

    with Live(errors, f"{result.spec.name}: probing smaller bounds"):
        found = advise(result.spec, result.outcome, symmetry=symmetry, workers=workers)
    show_advice(console, found)


def _update_locks(console: Any, results: list[Any]) -> list[Any]:
    from highwater.analyses import show_diff
    from highwater.locks import update_locks
    from highwater.reports import ReportError

    try:
        results, diff = update_locks(results)
    except ReportError as error:
        complain(error)
        sys.exit(USAGE)
    show_diff(console, diff)
    return results


@main.command("list")
@click.argument("what", type=click.Choice(["models", "presets", "actions", "properties", "specs"]))
@click.argument("paths", metavar="[DIR...]", nargs=-1, type=PATH)
def list_(what: str, paths: tuple[Path, ...]) -> None:
    """List models with their protocols and bounds, presets, actions, properties, or the specs below DIR (default: specs)."""
    from highwater.listing import show_actions, show_models, show_presets, show_properties, show_specs
    from highwater.spec import SpecError
    from highwater.terminal import make_console

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


@main.command()
@click.argument("path", metavar="FILE", type=PATH)
@click.option("--spec", "name", metavar="NAME", help="Which spec's trace, if the file holds several.")
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="Show the state after step N in full.")
@model_path
def trace(path: Path, name: str | None, step: int | None) -> None:
    """Show the counterexamples in FILE, a report written by `check --json`. Every step is executed again first."""
    from rich.text import Text

    from highwater.reports import ReportError, read_report, replay
    from highwater.terminal import make_console, show_state, show_trace, show_witness

    console = make_console()
    try:
        entries = [entry for entry in read_report(path) if entry.get("trace") and name in (None, entry.get("name"))]
        if not entries:
            raise ReportError(f"{path}: holds no trace" + (f" of a spec named {name}" if name else ""))
        for entry in entries:
            system, violation = replay(entry)
            steps = violation.trace
            if step is not None and step >= len(steps):
                raise ReportError(f"{entry['name']}: has no step {step}; the last is {len(steps) - 1}")
            console.print(Text.assemble((entry["name"], "bold"), f": {violation.property} is false after {len(steps) - 1} steps"))
            shown = steps if step is None else steps[: step + 1]
            show_trace(console, system, shown)
            if step is None:
                show_witness(console, violation)
            else:
                console.print(f"\n    the state after step {step}")
                show_state(console, system.domain, steps[step].state)
            console.print()
    except ReportError as error:
        complain(error)
        sys.exit(USAGE)


for command in (commands.graph, commands.init, commands.mutate, commands.simulate):
    main.add_command(command)


if __name__ == "__main__":
    main()
