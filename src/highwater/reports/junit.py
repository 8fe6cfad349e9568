"""Results as JUnit XML: a suite per folder, a test per spec. Valid both for what Apache Ant writes and for what Jenkins
reads.
"""

from __future__ import annotations

import datetime
import re
import socket
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from highwater.claims.checking import Result, Status
from highwater.claims.positions import in_repository, readable
from highwater.files import write_text
from highwater.reports.results import Problem
from highwater.reports.terminal import plain_text, verdict_line, whole_verdict

# What XML 1.0 cannot hold, not even escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


RUN = Path("highwater/complete")  # as if it were a spec: a test that fails where the run has not ended


def write_junit(path: Path, results: Iterable[Result], problems: Iterable[Problem] = (), incomplete: str = "") -> None:
    """Write the results as JUnit XML. An unmet claim is a failure; an undecided one, and a spec that could not be
    checked, an error.

    Args:
        incomplete: why there are no more results, if the run has not ended; an error, too.

    Raises:
        ReportError: the file cannot be written.
    """
    suites = ElementTree.Element("testsuites")
    folders: dict[str, list[Result | Problem]] = {}
    unended = [Problem(RUN, f"the report is not complete: {incomplete}")] if incomplete else []
    every: list[Result | Problem] = [*results, *problems, *unended]
    for each in every:
        path_of = each.path if isinstance(each, Problem) else each.spec.path
        folders.setdefault(readable(in_repository(path_of).parent.as_posix()), []).append(each)
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    for number, (folder, inside) in enumerate(folders.items()):
        _add_suite(suites, number, folder, inside, now)
    ElementTree.indent(suites)
    write_text(path, ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n")


def _add_suite(suites: ElementTree.Element, number: int, folder: str, cases: list[Result | Problem], now: str) -> None:
    results = [each for each in cases if isinstance(each, Result)]
    problems = [each for each in cases if isinstance(each, Problem)]
    name = _xml(".".join(part for part in folder.split("/") if part not in ("", ".", ".."))) or "specs"
    suite = ElementTree.SubElement(
        suites,
        "testsuite",
        {
            "id": str(number),
            "name": name,
            "package": "highwater",
            "hostname": socket.gethostname() or "localhost",
            "timestamp": now,
            "tests": str(len(cases)),
            "failures": str(sum(result.status is Status.UNMET for result in results)),
            "errors": str(sum(result.status is Status.UNDECIDED for result in results) + len(problems)),
            "time": _seconds(results),
        },
    )
    properties = ElementTree.SubElement(suite, "properties")
    compiling = f"{sum(result.outcome.compile_seconds for result in results):.3f}"
    ElementTree.SubElement(properties, "property", {"name": "compile_seconds", "value": compiling})
    for result in results:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"name": _xml(readable(result.spec.asked)), "classname": name, "time": _seconds([result])},
        )
        if not result.ok:
            unmet = result.status is Status.UNMET
            words = "; ".join(result.mismatches) if unmet else verdict_line(result)
            kind = {
                "message": _xml(words),
                "type": result.mismatches[0].key if unmet else result.outcome.reason or "undecided",
            }
            ElementTree.SubElement(case, "failure" if unmet else "error", kind).text = _xml(plain_text(result))
    for problem in problems:
        case = ElementTree.SubElement(
            suite, "testcase", {"name": _xml(readable(problem.path.stem)), "classname": name, "time": "0.000"}
        )
        written = {"message": _xml(problem.message.partition("\n")[0]), "type": "not checked"}
        ElementTree.SubElement(case, "error", written).text = _xml(problem.message)
    ElementTree.SubElement(suite, "system-out").text = _xml(
        "\n".join(f"{r.spec.asked}: {whole_verdict(r)}{_comment(r)}" for r in results)
    )
    ElementTree.SubElement(suite, "system-err").text = ""


def _comment(result: Result) -> str:
    """The comment that explains a claim, on lines of its own."""
    return "".join(f"\n    {line}" for line in result.spec.comment.splitlines())


def _seconds(results: Iterable[Result]) -> str:
    """Without compiling machine code, which only the first run on a machine does."""
    return f"{sum(result.outcome.search_seconds for result in results):.3f}"


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
