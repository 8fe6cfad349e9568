"""Pages of what an implementation did otherwise than its model, in a folder of the current one."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import attrs

from highwater.explorer.verdict import by_hand
from highwater.files import ReportError, write_text
from highwater.implementation.plans import Plan
from highwater.implementation.walks import Mismatch
from highwater.reports.results import about_spec, trace_report
from highwater.viewer.index import page_of

FOLDER = Path("highwater-failures")
_WRITTEN: dict[tuple[Plan, str], tuple[str, str]] = {}  # by test, what its page shows, and where it is
_PAGES: dict[Path, tuple[Plan, str]] = {}  # whose page it is


def keep(plan: Plan, name: str, found: Mismatch) -> None:
    """Write the page of a mismatch, and add to the message where it is. Hypothesis runs a walk several times.

    Args:
        name: of the test.
    """
    shows, test = str(found), (plan, name)
    if _WRITTEN.get(test, ("", ""))[0] != shows:
        _WRITTEN[test] = shows, _written(plan, name, found)
    found.args = (f"{shows}\n{_WRITTEN[test][1]}",)


def _page_of(plan: Plan, name: str) -> Path:
    """The file for a test's page, which no other test has: two may have paths of the same name."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:100].strip("-")
    names = (f"{stem}.html" if number == 1 else f"{stem}-{number}.html" for number in itertools.count(1))
    return next(FOLDER / each for each in names if _PAGES.setdefault(FOLDER / each, (plan, name)) == (plan, name))


def _written(plan: Plan, name: str, found: Mismatch) -> str:
    """Write the page; where it is, in words."""
    page = _page_of(plan, name)
    says = f"{found.says[0].upper()}{found.says[1:]}."
    seen = {"says": says, "step": "", "misfits": [attrs.asdict(each) for each in found.misfits]}
    reason = "after which the implementation differs"
    report = trace_report({**about_spec(plan.spec), "seen": seen}, plan.spec.system(), by_hand(found.trace), reason)
    try:
        FOLDER.mkdir(exist_ok=True)
        write_text(page, page_of(report["results"][0], plan.spec, found.trace, page.name))
    except (OSError, ReportError) as error:
        return f"no page: {error}"
    return f"as a page: {page}"
