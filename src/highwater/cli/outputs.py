"""Where the results of one run go, besides the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from highwater.claims.checking import Result
from highwater.claims.spec import Spec
from highwater.cli.options import complain
from highwater.explorer.blame import ModelError
from highwater.files import ReportError, write_text

if TYPE_CHECKING:
    from highwater.reports.results import Problem

BEGUN = "the run has begun and has not ended; it is still going on, or was killed"


def try_out(paths: Mapping[str, Path | None], inputs: Iterable[Path] = ()) -> None:
    """Write empty files by the options that name them: learn now, not after an hour, what cannot be written.

    Args:
        inputs: files that were read, and must not be overwritten.

    Raises:
        ReportError: a file cannot be written, is a spec or an input, or is named twice.
    """
    given = {kind: path for kind, path in paths.items() if path is not None}
    refuse_overwriting(given, inputs)
    for path in given.values():
        write_text(path, "")


def refuse_overwriting(paths: Mapping[str, Path], inputs: Iterable[Path] = ()) -> None:
    """Refuse outputs that would overwrite what was read, a spec, or each other, by any name. In a folder that was read
    nothing is written.

    Raises:
        ReportError: with the first that would.
    """
    read = list(inputs)
    for kind, path in paths.items():
        if ".toml" in (path.suffix, path.resolve().suffix) or any(_is_in(path, each) for each in read):
            raise ReportError(f"{path}: --{kind} would overwrite a spec or an input; name another file")
    for (other, first), (kind, path) in itertools.permutations(paths.items(), 2):
        if _is_same(path, first) or (path.suffix == ".html" and _is_in(path, first)):  # of a folder of pages
            raise ReportError(f"{path}: --{other} and --{kind} would write the same file; name another one")


def _is_in(path: Path, other: Path) -> bool:
    return _is_same(path, other) or path.resolve().is_relative_to(other.resolve())


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names are of one file, be it by a link of either kind, or one that is not there yet."""
    with suppress(OSError):  # one is not there, or its name is none
        return path.samefile(other)
    return path.resolve() == other.resolve()


class Run:
    """What there is to report.

    Attributes:
        incomplete: why there are no more results, if some specs were not checked.
        unanswered: what was asked, too, and has no result.
    """

    def __init__(
        self,
        results: Sequence[Result],
        problems: Sequence[Problem] = (),
        incomplete: str = "",
        unanswered: Sequence[Spec] = (),
    ) -> None:
        self.results, self.problems, self.incomplete, self.unanswered = results, problems, incomplete, unanswered

    @cached_property
    def data(self) -> dict[str, Any]:
        """The JSON report, which pages are made from, too."""
        from highwater.reports.results import report  # imports cattrs' JSON

        return report(self.results, self.problems, self.incomplete, self.unanswered)


def _json(run: Run, path: Path) -> None:
    from highwater.reports.results import write_json

    write_json(path, run.data)


def _junit(run: Run, path: Path) -> None:
    from highwater.reports.junit import write_junit

    write_junit(path, run.results, run.problems, run.incomplete)


def _sarif(run: Run, path: Path) -> None:
    from highwater.reports.sarif import write_sarif

    write_sarif(path, run.results, run.problems, run.incomplete)


def _pages(run: Run, path: Path) -> None:
    from highwater.viewer.index import write_pages  # imports jinja2

    specs = [result.spec.path for result in run.results]
    write_pages(path, run.data["results"], run.incomplete, specs, run.data["coverage"], run.data["releases"])


REPORTS: dict[str, Callable[[Run, Path], None]] = {"json": _json, "junit": _junit, "sarif": _sarif, "html": _pages}
"""What writes each kind of report, by the option that names its place."""


class Outputs:
    """The files to write, by kind of report, and whether to speak to GitHub Actions.

    Raises:
        KeyError: nothing writes one of the kinds.
    """

    def __init__(self, paths: Mapping[str, Path | None], *, to_github: bool = False) -> None:
        if unknown := [kind for kind in paths if kind not in REPORTS]:
            raise KeyError(f"no report is called {', '.join(unknown)}: REPORTS has {', '.join(REPORTS)}")
        self._paths = {kind: path for kind, path in paths.items() if path is not None}
        self._to_github = to_github

    def try_out(self, inputs: Iterable[Path] = (), others: Mapping[str, Path | None] | None = None) -> None:
        """Write reports that say that the run has not ended: learn now, not after an hour, what cannot be written.

        A run that is killed leaves these, which no step of CI takes for success.

        Args:
            inputs: files that were read, and must not be overwritten.
            others: what else is written, by the options that name it. Empty files are.

        Raises:
            ReportError: a file cannot be written, is a spec, or is named twice.
        """
        besides = {kind: path for kind, path in (others or {}).items() if path is not None}
        refuse_overwriting({**self._paths, **besides}, inputs)
        for write in self._writers(Run([], incomplete=BEGUN)):
            write()
        try_out(besides, inputs)

    def write(
        self,
        results: Sequence[Result],
        problems: Sequence[Problem] = (),
        incomplete: str = "",
        unanswered: Sequence[Spec] = (),
    ) -> list[Exception]:
        """Write all that can be written; see `Run`.

        Returns:
            What could not.
        """
        unwritten: list[Exception] = []
        for write in self._writers(Run(results, problems, incomplete, unanswered)):
            try:
                write()
            except (ReportError, ModelError, OSError) as error:  # the last one of standard output
                unwritten.append(error)
        return unwritten

    def _writers(self, run: Run) -> Iterator[Callable[[], object]]:
        """What writes each output."""
        if self._to_github:
            yield lambda: self._report_to_github(run)
        for kind, path in self._paths.items():
            yield partial(REPORTS[kind], run, path)

    def _report_to_github(self, run: Run) -> None:
        from highwater.reports import github

        for line in github.commands(run.results):
            click.echo(line)
        if not github.write_summary(run.results, run.problems, run.incomplete, run.unanswered) and run.results:
            complain(ReportError(f"no step summary: {github.SUMMARY} is not set, as it is in GitHub Actions"))

    def complain(self, error: Exception, problems: Sequence[Problem] = ()) -> None:
        """Annotate on GitHub a wrong usage, or wrong specs."""
        if self._to_github:
            from highwater.reports import github

            for line in [line for each in problems for line in github.complaints(each)] or [
                github.complaint(str(error))
            ]:
                click.echo(line)
