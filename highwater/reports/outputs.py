"""Where the results of one run go, besides the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from highwater.claims import Result
from highwater.reports import github, junit, results, sarif
from highwater.reports.results import ReportError

WRITERS: dict[str, Callable[[Path, Iterable[Result]], None]] = {
    "json": results.write_report,
    "junit": junit.write_junit,
    "sarif": sarif.write_sarif,
}


def try_out(paths: Mapping[str, Path | None]) -> None:
    """Write empty files by the options that name them: learn early what cannot be written.

    Raises:
        ReportError: a file cannot be written, is a spec, or is named twice.
    """
    given = {kind: path for kind, path in paths.items() if path is not None}
    _refuse_overwriting(given)
    for path in given.values():
        results.write_text(path, "")


def _refuse_overwriting(paths: Mapping[str, Path]) -> None:
    named: dict[Path, str] = {}
    for kind, path in paths.items():
        if path.suffix == ".toml":
            raise ReportError(f"{path}: --{kind} would overwrite a spec; name another file")
        other = named.setdefault(path.absolute(), kind)
        if other != kind:
            raise ReportError(f"{path}: --{other} and --{kind} would write the same file; name another one")


class Outputs:
    """The files to write, by format, and whether to speak to GitHub Actions."""

    def __init__(self, paths: Mapping[str, Path | None], to_github: bool = False) -> None:
        self._paths = {kind: path for kind, path in paths.items() if path is not None}
        self._to_github = to_github

    def try_out(self) -> None:
        """Write reports of nothing: learn now, not after an hour, what cannot be written.

        Raises:
            ReportError: a file cannot be written, is a spec, or is named twice.
        """
        _refuse_overwriting(self._paths)
        for kind, path in self._paths.items():
            WRITERS[kind](path, [])

    def write(self, results: Iterable[Result]) -> Iterator[ReportError]:
        """Write all that can be written; yields what could not."""
        results = list(results)
        if self._to_github:
            for line in github.annotations(results):
                print(line)
            try:
                if not github.write_summary(results):
                    print(f"highwater: no step summary: {github.SUMMARY} is not set, as it is in GitHub Actions", file=sys.stderr)
            except ReportError as error:
                yield error
        for kind, path in self._paths.items():
            try:
                WRITERS[kind](path, results)
            except ReportError as error:
                yield error

    def complain(self, error: Exception) -> None:
        """Tell GitHub what is wrong with a spec or the usage."""
        if self._to_github:
            print(github.complaint(str(error)))
