"""A branch as a file: a trace that `highwater trace` and `highwater explore` read, a spec, a test, or a page."""

from __future__ import annotations

import json
import pprint
import re
from collections.abc import Callable
from typing import Any

from highwater.claims import own
from highwater.explorer.verdict import DEADLOCK
from highwater.exploring.session import Session, SessionError
from highwater.reports.results import about_violation, trace_report
from highwater.viewer.pages import trace_page
from highwater.viewer.showing import counterexample_of
from highwater.viewer.shown import BY_HAND, Counterexample


def as_counterexample(session: Session) -> Counterexample:
    """The steps to where one is, as pages show a trace."""
    violation = session.violation
    entry = {**entry_of(session), "reason": _reason(session), **about_violation(session.system, violation)}
    return counterexample_of(entry, session.system, violation, subject=session.subject)


def entry_of(session: Session) -> dict[str, Any]:
    """What a report says of the branch, named as it is named, with the property that is false at its end among those
    that are checked.
    """
    about = ("file", "model", "preset", "protocol", "bounds", "source", "watch", "refines")
    kept = {key: session.entry.get(key) for key in about} | {"by_order": session.entry.get("by_order") or []}
    unasked = [name for name in _false(session) if name not in session.checked]
    return {"name": file_name(session), **kept, "check": [*session.entry["check"], *unasked]}


def _false(session: Session) -> list[str]:
    """The properties that are false at the end of the branch: those that are checked, or else one of the others."""
    false = [each.name for each in session.judged() if each.holds is False]
    return sorted(set(false) & session.checked) or [name for name in [session.violation.property] if name]


def file_name(session: Session) -> str:
    """The branch's name as the name of a file, without an ending."""
    wanted = session.at.name or session.tip.name or f"{session.entry['name']} by hand"
    return re.sub(r"[^a-z0-9]+", "_", wanted.lower()).strip("_")[:100] or "branch"


def as_trace(session: Session) -> str:
    """A report with the branch as its only trace."""
    report = trace_report(entry_of(session), session.system, session.violation, _reason(session))
    return json.dumps(report, indent=1, ensure_ascii=False) + "\n"


def _reason(session: Session) -> str:
    """How the branch came about, and which properties may be false at its end, for all that is known."""
    unjudged = session.unjudged
    return f"{BY_HAND}; not judged at the end: {', '.join(unjudged)}" if unjudged else BY_HAND


def as_page(session: Session) -> str:
    """The branch as a page that needs nothing else."""
    return trace_page(as_counterexample(session), page=f"{file_name(session)}.html")


def as_spec(session: Session) -> str:
    """A claim that the property is violated which is false at the end of the branch.

    Raises:
        SessionError: no property is known to be false there.
    """
    import tomlkit

    found = session.violation
    if not found.property:
        unjudged = session.unjudged
        known = f", as far as is known (not judged: {', '.join(unjudged)})" if unjudged else ""
        raise SessionError(f"no property is false here{known}, so there is nothing to claim; save the branch as a test")
    entry = entry_of(session)
    spec = tomlkit.document()
    spec.add(tomlkit.comment(f"Found by hand: {len(session.trace) - 1} steps lead to it."))
    spec["model"] = entry["model"]
    if entry["preset"]:
        spec["preset"] = entry["preset"]
    spec["protocol"] = _inline({key: value for key, value in entry["protocol"].items() if value is not None})
    spec["bounds"] = _inline(entry["bounds"])
    of_model = {DEADLOCK, *(each.name for each in session.subject.definition.known_properties)}
    spec["check"] = [found.property] if found.property in of_model else []  # another may be violated by fewer steps
    for key in ("watch", "by_order"):
        if entry.get(key):
            spec[key] = entry[key]
    if found.property not in of_model:
        spec["refines"] = _inline(entry["refines"])
    spec["expect"] = _inline({"verdict": "violated", "property": found.property})
    return tomlkit.dumps(spec)


def _inline(table: dict[str, Any]) -> Any:
    import tomlkit

    inline = tomlkit.inline_table()
    inline.update(table)
    return inline


TEST = '''"""A schedule tried by hand: {title}."""

import highwater
{imports}
CLAIM = highwater.claim(
    model={model},
    protocol={protocol},
    bounds={bounds},
    check={check},{more}
)
STEPS = {steps}


def test_{name}():
    """Every step can be taken, and the properties after the last one are as they were."""
    end = highwater.follow(CLAIM, STEPS{initial})
    assert end.false == {false}
    assert end.unjudged == {unjudged}
'''


def as_test(session: Session) -> str:
    """A test for pytest: every step can be taken, and the same properties are false after the last one."""
    entry = entry_of(session)
    model, imports = repr(entry["model"]), ""
    if own.is_reference(entry["model"]):
        module, _, model = entry["model"].partition(":")
        imports = f"from {module} import {model}\n"
    steps = [(step.action.of.name, dict(step.action.shown)) for step in session.trace[1:] if step.action]
    more = "".join(f"\n    {key}={_literal(entry[key])}," for key in ("refines", "by_order") if entry.get(key))
    initial = session.system.initial.index(session.trace[0].state)
    return TEST.format(
        title=file_name(session).replace("_", " "),
        imports=imports,
        model=model,
        protocol=_literal(entry["protocol"]),
        bounds=_literal(entry["bounds"]),
        check=_literal(entry["check"]),
        steps=pprint.pformat(steps, width=100, sort_dicts=False),
        name=file_name(session),
        more=more,
        initial=f", initial={initial}" if initial else "",
        false=repr(_false(session)),
        unjudged=repr(session.unjudged),
    )


def _literal(value: Any) -> str:
    return pprint.pformat(value, width=110, sort_dicts=False).replace("\n", "\n    ")


FORMATS: dict[str, tuple[str, Callable[[Session], str]]] = {
    "trace": ("{}.json", as_trace),
    "spec": ("{}.toml", as_spec),
    "test": ("test_{}.py", as_test),
    "page": ("{}.html", as_page),
}
"""By what it is, the name of the file and what is in it."""


def saved(session: Session, kind: str) -> tuple[str, str]:
    """A branch as a file.

    Returns:
        The file's name, and what is in it.

    Raises:
        SessionError: there is no such kind, or the branch cannot be saved so.
    """
    if kind not in FORMATS:
        raise SessionError(f"{kind!r} is nothing to save a branch as; allowed are {', '.join(FORMATS)}")
    name, make = FORMATS[kind]
    return name.format(file_name(session)), make(session)
