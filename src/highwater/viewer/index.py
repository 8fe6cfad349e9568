"""Pages on disk: one per claim, and one of all verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.expressions import watched
from highwater.claims.own import beside
from highwater.claims.spec import Spec
from highwater.explorer.verdict import Step, by_hand
from highwater.files import ReportError, write_text
from highwater.reports.replaying import Subject, replay, subject_of
from highwater.viewer.pages import IndexRow, index_page, page_name, search_page, trace_page
from highwater.viewer.showing import counterexample_of
from highwater.viewer.shown import Counterexample


def counterexample_in(entry: Mapping[str, Any], spec: Path | None = None) -> Counterexample:
    """The counterexample in a report's entry, every step executed again.

    Args:
        spec: of an entry that this process has made, the spec: its model may lie beside it.

    Raises:
        ReportError: it does not replay.
    """
    with nullcontext() if spec is None else beside(spec):
        system, violation = replay(entry)
        return counterexample_of(entry, system, violation, subject=subject_of(entry))


def page_of(entry: Mapping[str, Any], spec: Spec, trace: Sequence[Step], page: str = "") -> str:
    """The page of steps of a claim's model that no search has found.

    Args:
        entry: what a report says of them.
        page: as for `trace_page`.
    """
    system = attrs.evolve(spec.system(), prospects=(), liveness=())  # these take the graph of all states
    watch = watched(spec.file.watch, spec.definition.state, spec.bounds)
    subject = Subject(spec.model, spec.definition, spec.protocol, spec.bounds, system, watch)
    return trace_page(counterexample_of(entry, system, by_hand(trace), subject=subject), page=page)


def write_pages(
    folder: Path,
    entries: Iterable[Mapping[str, Any]],
    incomplete: str = "",
    specs: Sequence[Path] = (),
    coverage: Sequence[Mapping[str, Any]] = (),
    releases: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write a page per claim, with the counterexample if it has one, and `index.html`, the page of all verdicts.

    Args:
        incomplete: why there are no more entries, if the run has not ended.
        specs: of entries that this process has made, the spec of each.
        coverage: what the claims of each model reach together, as the report has it.
        releases: what came out under which releases, as the report has it.

    Raises:
        ReportError: the folder cannot be made, or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(f"{folder}: cannot be made a folder for pages: {error.strerror}") from None
    rows: list[IndexRow] = []
    for entry, spec in zip_longest(entries, specs):
        page = page_name(entry["name"], [row.page for row in rows])
        if entry.get("trace"):
            text = trace_page(counterexample_in(entry, spec), "index.html", page)
        else:
            with nullcontext() if spec is None else beside(spec):
                text = search_page(entry, "index.html", subject_of(entry))
        write_text(folder / page, text)
        rows.append(IndexRow(entry, page))
    write_text(folder / "index.html", index_page(rows, incomplete, coverage, releases))
