"""What a session begins with: a spec, or a counterexample in a report or in a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from highwater.claims.building import build_system
from highwater.claims.expressions import watched
from highwater.claims.spec import Spec, SpecError, load_spec
from highwater.explorer.blame import ModelError
from highwater.exploring.session import Session, SessionError
from highwater.files import ReportError
from highwater.reports.replaying import Subject, only_entry, replay, subject_of
from highwater.reports.results import about_spec, as_data

REPORTS = (".json", ".html")


def open_path(path: Path, name: str | None = None, step: int | None = None) -> Session:
    """A session of a spec, or of the counterexample in a report or a page.

    Args:
        name: of a file with several counterexamples, which.
        step: of a counterexample, where to begin; its end if None.

    Raises:
        SpecError: the spec cannot be read or is wrong.
        ReportError: the file holds no such counterexample, or it does not replay.
    """
    if path.suffix.lower() not in REPORTS:
        if name is not None or step is not None:
            raise ReportError(f"{path}: is a spec; --spec and --step choose in a report (.json) or a page (.html)")
        return open_spec(load_spec(path))
    return open_entry(only_entry(path, name), step)


def open_spec(spec: Spec) -> Session:
    """A session of a spec, at its first initial state.

    Raises:
        SpecError: the model is wrong within these bounds.
    """
    try:
        system = build_system(spec.definition, spec.protocol, spec.bounds, spec.properties)
    except ModelError as error:
        raise SpecError(f"{spec.path}: {error}") from None
    watch = watched(spec.file.watch, spec.definition.state, spec.bounds)
    return Session(about_spec(spec), Subject(spec.model, spec.definition, spec.protocol, spec.bounds, system, watch))


def open_entry(entry: Mapping[str, Any], step: int | None = None) -> Session:
    """A session of the counterexample in a report's entry, at one of its steps, or at its end.

    Raises:
        ReportError: it does not replay, or has no such step.
    """
    _, violation = replay(entry)
    subject = subject_of(entry)
    session = Session(entry, subject)
    # the steps are of another system, which was made of the same entry
    actions = {str(action): action for action in subject.system.actions}
    trace = [type(each)(each.action and actions[str(each.action)], each.state) for each in violation.trace]
    session.follow(trace)
    if step is not None:
        if step >= len(trace):
            raise ReportError(f"{entry['name']}: has no step {step}; the last is {len(trace) - 1}")
        session.go(session.at.path[step].number)
    return session


def switched(session: Session, against: list[str]) -> Session:
    """A session under another protocol, with the steps to where one is as far as they can be taken there.

    Raises:
        ReportError: there is no such protocol.
        SessionError: there are other initial states under it, so that not even the first step can be taken.
    """
    _, subject, steps = session.compare(against)
    entry = {**session.entry, "preset": None, "protocol": as_data(subject.protocol)}
    other = Session(entry, subject)
    taken = [step for number, step in enumerate(steps) if not number or step.action is not None]
    try:
        other.follow(taken)
    except SessionError:
        raise SessionError("there are other initial states under that protocol") from None
    return other
