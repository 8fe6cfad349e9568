"""Writing files that users named."""

from __future__ import annotations

from pathlib import Path


class ReportError(Exception):
    """A report cannot be written or read, or a trace in it does not replay."""


def write_text(path: Path, text: str) -> None:
    """Write a report's file.

    Raises:
        ReportError: it cannot be written.
    """
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise ReportError(f"{path}: cannot be written: {error.strerror}") from None
