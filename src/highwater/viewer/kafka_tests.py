"""Counterexamples as JUnit tests of Kafka's own classes: which file, which release."""

from __future__ import annotations

from pathlib import Path

from highwater.conformance.distribution import KafkaError, find, kept_releases
from highwater.conformance.kafka_test import class_name, class_of, junit_test, release_of
from highwater.files import ReportError
from highwater.viewer.shown import Counterexample


def write_test(trace: Counterexample, out: Path, release: str | None) -> tuple[Path, str]:
    """The file and the source of a test.

    Args:
        out: the file, a folder for a file that is named after the claim, or - for standard output.
        release: the release, or a folder or class path with its jars; a release of the claim's preset if None.

    Raises:
        ReportError: no test can be written for the release, the file or the trace.
    """
    name, preset = str(trace.entry["name"]), str(trace.entry.get("preset") or "")
    try:
        where = release_of(preset, kept_releases()) if release is None else release
        if str(out) != "-" and out.is_dir():
            out /= f"{class_name(name)}.java"
        test = class_name(name) if str(out) == "-" else class_of(out)
        return out, junit_test(name, test, trace.system, trace.violation, find(where))
    except KafkaError as error:
        raise ReportError(str(error)) from None
