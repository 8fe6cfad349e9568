"""The page of a conformance run: both sides of each divergence."""

from __future__ import annotations

from typing import Any

from conformance.abstraction import NOT_SHOWN, both_sides
from conformance.lockstep import Divergence
from highwater.claims.conformance import Conformance
from highwater.reports.terminal import trace_rows
from highwater.viewer.pages import render


def page(found: Conformance) -> str:
    """The page of one run."""
    system = found.spec.system()
    return render(
        "conform.html",
        found=found,
        divergences=[_shown(found, system, each) for each in found.divergences],
        not_shown=NOT_SHOWN,
    )


def _shown(found: Conformance, system: Any, each: Divergence) -> dict[str, Any]:
    spec = found.spec
    state = each.expected
    sides = both_sides(state, each.executed.seen, spec.protocol, spec.bounds)
    return {
        "action": str(each.action),
        "refused": each.refused,
        "after": len(each.trace) - 1,
        "times": found.findings.counts[each.kind],
        "rows": trace_rows(system, each.trace),
        "calls": [
            {"name": call["do"], "arguments": {k: v for k, v in call.items() if k != "do"}}
            for call in each.executed.operations
        ],
        "errors": each.executed.errors,
        "lanes": sides,
        "others": [each for each in each.differences if "." not in each.field],
    }
