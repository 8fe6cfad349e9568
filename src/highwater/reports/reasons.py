"""Why a property is false: its witness, or else what it read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import attrs

from highwater.explorer.analysis.causes import Causes, causes, instance_of
from highwater.explorer.blame import ModelError
from highwater.explorer.system import System
from highwater.explorer.trace import changes
from highwater.explorer.verdict import Step, Violation
from highwater.model.language.shape import Domain

LONGEST_VALUE = 80  # of a longer value only what was added last is shown
MOST_PARTS = 6
NONE_GIVEN = "no reason given"
THERE = "there"


@attrs.frozen
class Read:
    """A part of the state that a property read: its value in the end, and the last step that changed it."""

    part: str
    value: str
    since: int

    def __str__(self) -> str:
        since = f"since step {self.since}" if self.since else "from the start"
        return f"{self.part} is {self.value} {since}"


def reason(system: System, violation: Violation) -> str:
    """Why a property is false at the end of a trace, in words: its witness, or what it read."""
    if violation.witness or not violation.property:
        return violation.witness or NONE_GIVEN
    trace, back_to = violation.trace, violation.back_to
    of = instance_of(system, violation.property, violation.arguments, trace, back_to)
    try:
        found = list(read_by_property(system, trace, causes(system, trace, of, back_to))) if of else []
    except ModelError:  # a model that only plain Python can explore
        found = []
    words = "; ".join(map(str, found[-MOST_PARTS:]))  # what changed last comes last
    more = f"; {len(found) - MOST_PARTS} parts more" if len(found) > MOST_PARTS else ""
    return f"{words}{more}" or NONE_GIVEN


def read_by_property(system: System, trace: Sequence[Step], why: Causes) -> Iterator[Read]:
    """What the property at the end of a trace read, the parts that changed last coming last. Of a set it may have read
    one member: the set is what it is since any of them came or left.
    """
    values = [dict(part_values(system.domain, step.state)) for step in trace]

    def since_when(part: str) -> int:
        last = len(trace) - 1
        return next((n for n in range(last, 0, -1) if value_at(values[n - 1], part) != value_at(values[last], part)), 0)

    for since, part in sorted(((since_when(part), part) for part in why.looked_at), key=lambda each: each[0]):
        value = value_at(values[-1], part)
        if len(value) > LONGEST_VALUE and since:
            made = changes(system.domain, trace[since - 1].state, trace[since].state)
            value = next((f"… + {change.gained}" for change in made if change.path == part and change.gained), value)
        yield Read(part, value, since)


def value_at(values: Mapping[str, str], part: str) -> str:
    """The value of a part; of a record that may be absent, whether it is there; of what is inside one that is absent,
    that of the record. No value is an empty text.
    """
    if part not in values and any(name.startswith((f"{part}.", f"{part}[")) for name in values):
        return THERE
    inside = (part[: match.start()] for match in reversed(list(re.finditer(r"[.\[]|$", part))))
    known = next((values[name] for name in inside if name in values), "none")
    return known or '""'


def part_values(domain: Domain, value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """The parts of a state as `highwater.explorer.trace.changes` names them, each with its value as shown."""
    names = domain.paths(value, path)
    if names is None:
        yield path, domain.show(value)
        return
    for (of, part), name in zip(domain.parts(value), names, strict=True):
        yield from part_values(of, part, name)
