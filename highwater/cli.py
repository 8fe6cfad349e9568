"""The command line. Heavy imports happen inside the commands, so that `--help` is instant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from highwater.states import states

MET, UNMET, USAGE, UNKNOWN, INTERRUPTED = 0, 1, 2, 3, 130


class _Memory(click.ParamType):
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = value.strip().upper().removesuffix("B").removesuffix("I")
        unit = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(text[-1:], 1)
        number = text[:-1] if unit > 1 else text
        try:
            size = int(float(number) * unit)
        except (ValueError, OverflowError):
            size = 0
        if size <= 0:
            self.fail(f"{value!r} is not a size; write bytes, or a number with K, M, G or T, such as 4G", param, ctx)
        return size


_PATH = click.Path(path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="highwater")
def main() -> None:
    """Highwater checks models of Apache Kafka's replication and control plane, exhaustively within bounds."""


@main.command()
@click.argument("paths", metavar="SPEC|DIR...", nargs=-1, required=True, type=_PATH)
@click.option(
    "--engine", type=click.Choice(["local", "python", "spark"]), default="local", show_default=True, help="Compiled, plain, or on Spark."
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Threads to explore with.  [default: one per processor]")
@click.option("--symmetry/--no-symmetry", default=True, show_default=True, help="Keep one state for all that differ by broker names only.")
@click.option("--max-depth", type=click.IntRange(min=0), metavar="N", help="Explore N actions deep and no deeper.")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Stop when N states are stored.")
@click.option("--memory", type=_Memory(), help="Stop before the process takes more, such as 4G.  [default: 4/5 of the machine]")
@click.option("--checkpoint", metavar="DIR", help="Keep one spec's search in DIR, to go on from with --resume; for Spark any URI.")
@click.option("--resume", is_flag=True, help="Go on from the snapshot in the --checkpoint folder.")
@click.option("--master", metavar="URL", help="For Spark: where to run, such as spark://host:7077.  [default: local[*]]")
@click.option("--partitions", type=click.IntRange(min=1), metavar="N", help="For Spark: partitions of a level.  [default: one per core]")
@click.option("--keep-going", is_flag=True, help="After a violation, go on until every state is seen.")
@click.option("--trace/--no-trace", default=None, help="Print counterexamples.  [default: of unmet claims, and where there is one spec]")
@click.option("--json", "json_path", type=_PATH, metavar="FILE", help="Write the results as JSON (format: docs/results.md).")
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
    trace: bool | None,
    json_path: Path | None,
) -> None:
    """Check that every claim in SPEC files, or in all .toml files below DIR, comes out as it says.

    \b
    Exit codes: 0 every claim was met; 1 some were not; 2 a spec or the usage is wrong;
    3 a budget or depth limit ended a search before it could tell; 130 interrupted.
    """
    from explorer.verdict import Budget
    from highwater.check import Engine, Status, check_spec
    from highwater.reports import ReportError, write_report
    from highwater.spec import SpecError, find_specs, load_spec
    from highwater.terminal import Live, make_console, show_result, show_summary

    console, errors = make_console(), make_console(stderr=True)
    results: list[Any] = []
    interrupted = False
    try:
        specs = _load_all(find_specs(paths), load_spec, SpecError)
        if checkpoint is None and resume:
            raise SpecError("--resume needs --checkpoint DIR, the folder to go on from")
        if checkpoint is not None and (len(specs) > 1 or engine == "python"):
            raise SpecError("--checkpoint keeps the search of one spec, by the local engine or on Spark; name one spec")
        _refuse_for_engine(engine, SpecError, {"--workers": workers, "--memory": memory}, {"--master": master, "--partitions": partitions})
        if json_path is not None:
            if json_path.suffix == ".toml":
                raise ReportError(f"{json_path}: --json would overwrite a spec; name another file")
            write_report(json_path, [])  # learn now, not after an hour, that it cannot be written
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
                    master=master,
                    partitions=partitions,
                    on_progress=live,
                )
            results.append(result)
            wanted = result.status is Status.UNMET or len(specs) == 1 if trace is None else trace
            show_result(console, result, with_trace=wanted)
            if result.outcome.reason == "interrupted":
                interrupted = True
                break
    except KeyboardInterrupt:
        interrupted = True
    except (SpecError, ReportError) as error:
        _complain(errors, error)
        sys.exit(USAGE)
    finally:
        if results:
            if len(results) > 1 or interrupted:
                show_summary(console, results)
            if json_path is not None:
                _write_or_complain(errors, json_path, results)
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


def _refuse_for_engine(engine: str, error_class: type[Exception], local: dict[str, Any], spark: dict[str, Any]) -> None:
    """Refuse options that another engine is for, rather than ignore them."""
    for name, value in (local if engine == "spark" else spark).items():
        if value is not None:
            own = "Spark has settings of its own, such as spark.executor.cores and spark.executor.memory"
            raise error_class(f"{name} says nothing to --engine {engine}; {own if engine == 'spark' else 'add --engine spark'}")


def _complain(errors: Any, error: Exception) -> None:
    for line in str(error).splitlines():
        errors.print(f"highwater: {line}", markup=False)


def _write_or_complain(errors: Any, path: Path, results: list[Any]) -> None:
    from highwater.reports import ReportError, write_report

    try:
        write_report(path, results)
    except ReportError as error:
        _complain(errors, error)
        sys.exit(USAGE)


@main.command("list")
@click.argument("what", type=click.Choice(["models", "presets", "actions", "properties", "specs"]))
@click.argument("paths", metavar="[DIR...]", nargs=-1, type=_PATH)
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
        _complain(make_console(stderr=True), error)
        sys.exit(USAGE)


@main.command()
@click.argument("path", metavar="FILE", type=_PATH)
@click.option("--spec", "name", metavar="NAME", help="Which spec's trace, if the file holds several.")
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="Show the state after step N in full.")
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
        _complain(make_console(stderr=True), error)
        sys.exit(USAGE)


main.add_command(states)


if __name__ == "__main__":
    main()
