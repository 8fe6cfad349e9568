"""Pages on disk: one per claim, and one of all verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from highwater.files import ReportError, write_text
from highwater.reports.replaying import replay, subject_of
from highwater.viewer.pages import IndexRow, index_page, page_name, search_page, trace_page
from highwater.viewer.showing import counterexample_of
from highwater.viewer.shown import Counterexample


def counterexample_in(entry: Mapping[str, Any]) -> Counterexample:
    """The counterexample in a report's entry, every step executed again.

    Raises:
        ReportError: it does not replay.
    """
    system, violation = replay(entry)
    return counterexample_of(entry, system, violation, subject=subject_of(entry))


def write_pages(folder: Path, entries: Iterable[Mapping[str, Any]], incomplete: str = "") -> None:
    """Write a page per claim, with the counterexample if it has one, and `index.html`, the page of all verdicts.

    Args:
        incomplete: why there are no more entries, if the run has not ended.

    Raises:
        ReportError: the folder cannot be made, or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(f"{folder}: cannot be made a folder for pages: {error.strerror}") from None
    rows: list[IndexRow] = []
    for entry in entries:
        page = page_name(entry["name"], [row.page for row in rows])
        if entry.get("trace"):
            text = trace_page(counterexample_in(entry), "index.html", page)
        else:
            text = search_page(entry, "index.html")
        write_text(folder / page, text)
        rows.append(IndexRow(entry, page))
    write_text(folder / "index.html", index_page(rows, incomplete))
