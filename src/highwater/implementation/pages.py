"""Pages of what an implementation did otherwise than its model, in a folder of the current one."""

from __future__ import annotations

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
_WRITTEN: dict[str, tuple[str, str]] = {}  # by test, what its page shows, and where it is


def keep(plan: Plan, name: str, found: Mismatch) -> None:
    """Write the page of a mismatch, and add to the message where it is. Hypothesis runs a walk several times.

    Args:
        name: of the test.
    """
    shows = str(found)
    if _WRITTEN.get(name, ("", ""))[0] != shows:
        _WRITTEN[name] = shows, _written(plan, name, found)
    found.args = (f"{shows}\n{_WRITTEN[name][1]}",)


def _written(plan: Plan, name: str, found: Mismatch) -> str:
    """Write the page; where it is, in words."""
    page = FOLDER / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', name)[:100].strip('-')}.html"
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
