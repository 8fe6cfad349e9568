"""Results, claims, traces and coverage as an interpreter and a notebook show them.

result = highwater.check("claim.toml")
print(result)           # as the command line prints it
result                  # in a notebook: with states by depth, successors by action, and the counterexample
result.trace.show()     # the page of the counterexample, in the notebook or in a browser
"""

from __future__ import annotations

import html
import json
import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from highwater.claims import checking, spec
from highwater.claims.tables import shown
from highwater.files import write_text
from highwater.reports.results import entry_of
from highwater.reports.terminal import bounds_line, counts_line, plain_text, trace_rows, trace_text, verdict_line

COLOURS = {
    checking.Status.MET: "#2a7d2e",
    checking.Status.UNMET: "#c0261c",
    checking.Status.UNDECIDED: "#8a6100",
    checking.Status.ANSWERED: "#1b5fa8",
}


class Spec(spec.Spec):
    """A claim that says itself in words."""

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"    {key:<9}{value}" for key, value in self._rows())])

    def _repr_html_(self) -> str:
        from highwater.viewer.pages import render

        return render("spec.html", name=self.name, rows=self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        expect = attrs.asdict(self.file.expect, filter=lambda _, value: value is not None)
        claimed = {key: getattr(value, "value", value) for key, value in expect.items()}
        rules = {**({"preset": self.file.preset} if self.file.preset else {}), **self.file.protocol}
        tables = {"protocol": rules, "bounds": self.file.bounds, "expect": claimed}
        words = {
            key: ", ".join(f"{name} {_plainly(value)}" for name, value in of.items()) for key, of in tables.items()
        }
        rows = {"model": self.file.model, **words, "check": ", ".join(self.checked), "source": self.file.source}
        return [(key, value) for key, value in rows.items() if value]


def _plainly(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


class Result(checking.Result):
    """A result that says itself in words, and shows itself in a notebook."""

    def __str__(self) -> str:
        return f"{self.status.value}: {self.spec.name}\n{plain_text(self)}"

    def _repr_html_(self) -> str:
        from highwater.viewer.explored import plots_of
        from highwater.viewer.pages import render

        outcome, violation = self.outcome, self.violation
        return render(
            "result.html",
            colour=COLOURS[self.status],
            mark=self.status.value,
            name=self.spec.name,
            lines=[verdict_line(self), *self.mismatches, bounds_line(self), counts_line(outcome)],
            plots=plots_of(outcome.levels, outcome.enabled, [attrs.asdict(each) for each in outcome.work]),
            steps=trace_rows(self.spec.system(), violation.trace, violation.back_to) if violation else [],
            property=violation.property if violation else "",
            witness=(violation.witness or "no reason given") if violation else "",
        )

    @property
    def trace(self) -> Trace | None:
        """The shortest counterexample; None if there is none."""
        return Trace(self) if self.violation is not None else None


@attrs.frozen
class Trace:
    """The counterexample of a result."""

    of: Result

    def __repr__(self) -> str:
        return f"<Trace of {self._violation!r}>"

    def __str__(self) -> str:
        violation = self._violation
        lines = trace_text(self.of.spec.system(), violation.trace, violation.back_to)
        return "\n".join([*lines, f"{violation.property} is false: {violation.witness or 'no reason given'}"])

    def __len__(self) -> int:
        """How many steps it has, the initial state not counted."""
        return int(self._violation.trace_length)

    @property
    def steps(self) -> tuple[Any, ...]:
        """The steps, each with its `action` and its `state`; the first has no action."""
        return tuple(self._violation.trace)

    @property
    def _violation(self) -> Any:
        return self.of.violation

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The steps as `check --json` writes them. They are written to the file, too, if there is one.

        Raises:
            ReportError: the file cannot be written.
        """
        return _written(path, json.dumps(entry_of(self.of)["trace"], indent=1, ensure_ascii=False) + "\n")

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """The page of the counterexample, which needs no other file. It is written to the file, too, if there is one.

        Raises:
            ReportError: the file cannot be written, or the trace does not replay.
        """
        from highwater.viewer.index import counterexample_in
        from highwater.viewer.pages import trace_page

        return _written(path, trace_page(counterexample_in(entry_of(self.of), self.of.spec.path)))

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 48em; border: 1px solid #999"></iframe>'

    def show(self) -> None:
        """Show the page: here in a notebook, elsewhere in a browser."""
        display = _display_of_notebook()
        if display is not None:
            display(self)
            return
        folder = Path(tempfile.mkdtemp(prefix="highwater-"))
        self.to_html(folder / "trace.html")
        webbrowser.open((folder / "trace.html").as_uri())
        print(f"{folder / 'trace.html'}")


def _display_of_notebook() -> Any:
    """What shows objects in the notebook that runs this; None outside of notebooks."""
    interactive: Any = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return interactive.display.display if shell is not None and hasattr(shell, "kernel") else None


def _written(path: str | PathLike[str] | None, text: str) -> str:
    if path is not None:
        write_text(Path(path), text)
    return text


@attrs.frozen
class Coverage:
    """Which lines of a model's functions ran, and on how many paths.

    Attributes:
        lines: by file, for each line of each function that was called, the number of paths through it; 0 for a line
            that ran on no reached state.
    """

    lines: Mapping[str, Mapping[int, int]]

    @property
    def never_ran(self) -> list[tuple[str, int]]:
        """The lines, each with its file, that ran on no reached state."""
        return [
            (file, line) for file, lines in self.lines.items() for line, paths in sorted(lines.items()) if not paths
        ]

    def _repr_html_(self) -> str:
        from highwater.viewer.pages import source_of

        return source_of(self.lines)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """A page of the sources, each line the darker the more paths ran it, and red if none did.

        Raises:
            ReportError: the file cannot be written.
        """
        page = f'<!doctype html>\n<meta charset="utf-8">\n<title>Statements that ran</title>\n{self._repr_html_()}'
        return _written(path, page)
