"""`highwater trace`: show, replay, compare and export the counterexamples of a report."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import PATH, WATCH, Count, Place, model_path, refusing

_OUT = Place(path_type=Path, allow_dash=True)


class _WithExports(click.Command):
    """A command with an option for each export. Exports are imported only when the command's options are read."""

    @cached_property
    def _exports(self) -> list[click.Parameter]:
        from highwater.viewer.exports import EXPORTS

        return [
            click.Option([f"--{kind}"], type=_OUT, metavar="OUT", help=f"Write {_first_words(str(export.__doc__))}.")
            for kind, export in EXPORTS.items()
        ]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *params, of_help = super().get_params(ctx)
        return [*params, *self._exports, of_help]


def _first_words(docstring: str) -> str:
    words = docstring.partition("\n")[0].partition(":")[0].removesuffix(".")
    return words[:1].lower() + words[1:]


@click.command(cls=_WithExports)
@click.argument("path", metavar="FILE", type=PATH)
@click.option("--spec", "name", metavar="NAME", help="Which spec's trace, if the file holds several.")
@click.option("--step", type=Count(min=0), metavar="N", help="Show the state after step N in full.")
@click.option(
    "--changes", is_flag=True, help="A line per step with all that it changed, as `check` prints it, instead of lanes."
)
@click.option(
    "--replay",
    "only_replay",
    is_flag=True,
    help="Execute every step again and say whether the trace is good; show nothing.",
)
@click.option(
    "--interactive",
    is_flag=True,
    help="Explore from the trace with keys, as `explore --interactive` does (needs the extra tui).",
)
@click.option(
    "--against",
    multiple=True,
    metavar="KEY=VALUE",
    help="Try the same steps under another protocol: protocol.variant=kip-279.",
)
@click.option("--html", type=_OUT, metavar="OUT", help="Write one self-contained page.")
@click.option(
    "--junit-test",
    "junit_test",
    is_flag=False,
    flag_value=".",
    type=_OUT,
    metavar="[OUT]",
    help="Write a JUnit 5 test of Kafka's own classes.  [default: CLAIMTest.java in this folder]",
)
@click.option(
    "--kafka",
    "release",
    metavar="RELEASE",
    help="The release that --junit-test writes for, or a folder with its jars.  [default: one of the preset]",
)
@WATCH
@model_path
def trace(
    path: Path,
    name: str | None,
    step: int | None,
    *,
    changes: bool,
    only_replay: bool,
    interactive: bool,
    against: tuple[str, ...],
    release: str | None,
    watch: tuple[str, ...],
    **outputs: Path | None,
) -> None:
    """Show the counterexamples in FILE, a report written by `check --json`. Every step is executed again first.

    OUT may be - for standard output.
    """
    from highwater.explorer.blame import ModelError
    from highwater.files import ReportError
    from highwater.reports.replaying import entries_with_traces

    files = {kind.replace("_", "-"): out for kind, out in outputs.items() if out is not None}
    with refusing(ReportError, ModelError):
        if release is not None and "junit-test" not in files:
            raise ReportError("--kafka names the release of a test; give --junit-test, too")
        _refuse_contradictions(
            files,
            {"--replay": only_replay, "--interactive": interactive, "--against": bool(against)},
            step,
            changes=changes,
            watch=bool(watch),
        )
        _refuse_to_overwrite(path, files)
        found = entries_with_traces(path, name, only=bool(files or interactive))
        entries = [_watching(entry, watch) for entry in found]
        if interactive:
            _explore(entries[0])
            return
        for entry in entries:
            if against:
                _compare(entry, against, files.get("html"), step)
            elif files:
                _write(entry, files, release)
            elif only_replay:
                _replay(entry)
            else:
                _show(entry, step, changes=changes)


def _watching(entry: dict[str, Any], more: tuple[str, ...]) -> dict[str, Any]:
    """The entry, with more expressions that are watched."""
    given = entry.get("watch", [])
    return entry | {"watch": [*given, *more]} if more and isinstance(given, list) else entry


def _refuse_contradictions(
    files: dict[str, Path], modes: dict[str, bool], step: int | None, *, changes: bool, watch: bool
) -> None:
    """Refuse options that contradict each other, rather than ignore one of them."""
    from highwater.files import ReportError

    asked = [name for name, given in modes.items() if given]
    if len(asked) > 1:
        raise ReportError(f"{' and '.join(asked)} exclude each other; choose one")
    mode = next(iter(asked), "")
    if files and mode == "--against" and set(files) != {"html"}:
        raise ReportError("--against goes with --html or with the terminal only")
    if files and mode in ("--replay", "--interactive"):
        raise ReportError(f"{mode} writes no file; leave --{next(iter(files))} out")
    shown = [name for name, given in (("--step", step is not None), ("--changes", changes)) if given]
    if files and shown:
        raise ReportError("--step and --changes show in the terminal; leave them out to write a file")
    ignored = {
        "--replay": {"--step", "--changes", "--watch"},
        "--interactive": {"--step", "--changes"},
        "--against": {"--changes", "--watch"},
    }.get(mode, set())
    for name in (*shown, *(["--watch"] if watch else [])):
        if name in ignored:
            raise ReportError(f"{name} has no meaning with {mode}; leave it out")
    without = [*(["--changes"] if changes else []), *(f"--{kind}" for kind in files if kind not in ("html", "csv"))]
    if watch and without:
        raise ReportError(f"{without[0]} shows no watched expression; leave --watch out")


def _refuse_to_overwrite(path: Path, files: dict[str, Path]) -> None:
    from highwater.cli.outputs import refuse_overwriting
    from highwater.files import ReportError

    shown = [kind for kind, out in files.items() if str(out) == "-"]
    if len(shown) > 1:
        raise ReportError(f"--{shown[0]} and --{shown[1]} would both write to standard output; give one of them a file")
    refuse_overwriting({kind: out for kind, out in files.items() if kind not in shown}, [path])


def _refuse_step(entry: dict[str, Any], step: int | None, length: int) -> None:
    from highwater.files import ReportError

    if step is not None and step >= length:
        raise ReportError(f"{entry['name']}: has no step {step}; the last is {length - 1}")


def _headline(entry: dict[str, Any], violation: Any) -> Any:
    from rich.text import Text

    from highwater.viewer.shown import BY_HAND
    from highwater.visible import visible

    return Text.assemble(
        (visible(entry["name"]), "bold"),
        f": {violation.property} is false after {violation.length_in_words}"
        if violation.property
        else f": {violation.length_in_words}, {visible(str(entry.get('reason') or BY_HAND))}",
    )


def _replay(entry: dict[str, Any]) -> None:
    from highwater.explorer.analysis.causes import instances_of, violates
    from highwater.reports.progress import make_console
    from highwater.reports.replaying import replay

    system, violation = replay(entry)
    named = (each for each in instances_of(system, violation.property) if dict(each.shown) == violation.arguments)
    judged = all(violates(system, each, violation.trace, violation.back_to) for each in named)
    words = "every step and the violation are as the file says"
    if not violation.property:
        words = "every step is as the file says"
    elif not judged:
        words = "every step is as the file says; the violation was not judged again, too many states lie ahead"
    make_console().print(_headline(entry, violation).append(f": replayed, {words}"))


def _show(entry: dict[str, Any], step: int | None, *, changes: bool) -> None:
    from rich.text import Text

    from highwater.reports.progress import make_console
    from highwater.reports.terminal import show_state, show_trace, show_witness
    from highwater.viewer.index import counterexample_in
    from highwater.viewer.lanes import show_lanes
    from highwater.visible import visible

    counterexample, console = counterexample_in(entry), make_console()
    violation, steps = counterexample.violation, counterexample.violation.trace
    _refuse_step(entry, step, len(steps))
    console.print(_headline(entry, violation))
    if changes:
        show_trace(
            console, counterexample.system, *((steps, violation.back_to) if step is None else (steps[: step + 1], None))
        )
    else:
        show_lanes(console, counterexample, step)
    if step is None:
        if violation.property:
            show_witness(console, counterexample.system, violation)
        for found in counterexample.worth_showing:
            since = f"since step {found.since}" if found.since else "from the start"
            console.print(Text(f"      {visible(f'{found.part} is {found.value}')} {since}", "dim"))
        if steady := len(counterexample.looked_at) - len(counterexample.worth_showing):
            console.print(Text(f"      {steady} parts of the state that no step changed", "dim"))
        if counterexample.unexplained:
            console.print(
                Text(f"      the steps that it depends on are not known: {counterexample.unexplained}", "dim")
            )
    else:
        meaning = counterexample.steps[step].meaning
        if step:
            console.print(Text(f"\n    {meaning.line}"))
            console.print(Text(f"    {meaning.source}", "dim"))
        console.print(f"\n    the state after step {step}")
        show_state(console, counterexample.system.domain, steps[step].state)
    console.print()


def _write(entry: dict[str, Any], files: dict[str, Path], release: str | None) -> None:
    from highwater.viewer.exports import EXPORTS
    from highwater.viewer.index import counterexample_in
    from highwater.viewer.kafka_tests import write_test
    from highwater.viewer.pages import trace_page

    counterexample = counterexample_in(entry)
    for kind, out in files.items():
        if kind == "junit-test":
            _put(*write_test(counterexample, out, release))
        else:
            _put(out, trace_page(counterexample) if kind == "html" else EXPORTS[kind](counterexample))


def _put(out: Path, text: str) -> None:
    from highwater.files import write_text

    if str(out) == "-":
        click.echo(text, nl=False)
    else:
        write_text(out, text)


def _compare(entry: dict[str, Any], against: tuple[str, ...], out: Path | None, step: int | None) -> None:
    from rich.text import Text

    from highwater.reports.progress import make_console
    from highwater.viewer.comparison import StepOutcome, compare
    from highwater.visible import visible

    comparison = compare(entry, against)
    _refuse_step(entry, step, len(comparison.rows))
    if out is not None:
        from highwater.viewer.pages import compare_page

        _put(out, compare_page(comparison))
        return
    console = make_console()
    console.print(_headline(entry, comparison.ours.violation))
    console.print(Text(f"    {comparison.summary}"))
    for number, row in enumerate(comparison.rows):
        if step is not None and number != step:
            continue
        style = "" if row.outcome is StepOutcome.SAME else "bold red" if number == comparison.first else "red"
        there = f" (there {row.action})" if row.action else ""
        what = f"{row.ours.name or 'initial state'} {row.ours.shown_arguments}{there}".rstrip()
        line = Text(f"    {number:>3}  {row.outcome.value:<14} {visible(what)}", style)
        console.print(line)
        if number == comparison.first or step is not None:
            for difference in row.differences:
                console.print(Text(f"           {visible(difference)}", "dim"))


def _explore(entry: dict[str, Any]) -> None:
    from highwater.cli.explore import in_terminal
    from highwater.exploring.opening import open_entry

    in_terminal(open_entry(entry))
