"""A trace as it is shown: for each step its actor and its causes, what it changed in which lane, and which messages it
sent and read.

Pages, terminal and exports show a `Counterexample`; `showing` makes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import attrs

from highwater.explorer.system import System
from highwater.explorer.trace import Change
from highwater.explorer.verdict import Violation
from highwater.model.language.picture import Badge, Block, Drawing, Fact, Lane, Log, Message, NameSet

BY_HAND = "tried by hand"  # how a trace came about that ends in no violation, unless its entry gives a reason
MOST_UNCHANGED = 8  # parts that a property looked at and no step changed; if there are more, only their number is shown


class Delivery(Enum):
    """What became of a message."""

    READ = "read"
    DROPPED = "dropped"
    IN_FLIGHT = "in flight"


@attrs.frozen
class Arrow:
    """A message from the step that sent it to the step that read it or lost it.

    Attributes:
        message: what was sent.
        sent, ended: steps; no end for a message that is in flight at the end.
        delivery: what became of it.
        reader: the lane where it ended.
        newest: the true leader epoch when it was read, if it was stale by then.
    """

    message: Message
    sent: int
    ended: int | None = None
    delivery: Delivery = Delivery.IN_FLIGHT
    reader: str | None = None
    newest: int | None = None


@attrs.frozen
class ShownOffset:
    """One offset of a log.

    Attributes:
        block: what stands there, or stood there before it was cut away; None where nothing does.
        committed: below the high watermark, or in a log without one.
        change: `new`, `gone` or empty.
        diverges: the true leader's log has another record there.
        is_witness: the witness speaks of this offset here.
    """

    offset: int
    block: Block | None
    committed: bool = False
    change: str = ""
    diverges: bool = False
    is_witness: bool = False


@attrs.frozen
class ShownLog:
    """A log, offset by offset, with what changed."""

    log: Log
    offsets: tuple[ShownOffset, ...]
    high_watermark_changed: bool = False
    end_changed: bool = False

    @property
    def changed(self) -> bool:
        return self.high_watermark_changed or any(place.change for place in self.offsets)


@attrs.frozen
class Cell:
    """A lane after a step.

    Attributes:
        new: which of its parts the step changed, named `badge 0`, `ISR`, and so on.
        gone: what the lane showed before the step and shows no more.
    """

    lane: Lane
    logs: tuple[ShownLog, ...]
    new: frozenset[str]
    gone: tuple[Badge | NameSet | Fact, ...] = ()
    is_witness: bool = False

    @property
    def changed(self) -> bool:
        return bool(self.new or self.gone) or any(shown.changed for shown in self.logs)


@attrs.frozen
class Meaning:
    """What an action means, from its docstring."""

    line: str = ""
    sections: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def source(self) -> str:
        return self.sections.get("Source", "")


@attrs.frozen
class ShownStep:
    """One step.

    Attributes:
        number: 0 is the initial state.
        name, arguments, actor: the action; empty for the initial state.
        lane: where it happens.
        meaning: from the action's docstring.
        changes: the smallest parts of the state that it changed.
        reads: the parts that it read, and the steps that had written them.
        distance: how many reads lie between it and the violation; None where the violation does not depend on it.
        cells: by lane.
        sent, ended: messages.
        violated: the properties that are false after it; a prospect is once it is lost, a liveness property while it
            waits for ever.
        unjudged: properties that cannot be judged without the graph of all states.
        watched: the values of the expressions that are watched, after it.
    """

    number: int
    name: str
    arguments: Mapping[str, str]
    actor: str
    lane: str
    meaning: Meaning
    changes: tuple[Change, ...]
    reads: Mapping[str, tuple[int, ...]]
    distance: int | None
    cells: Mapping[str, Cell]
    sent: tuple[Arrow, ...]
    ended: tuple[Arrow, ...]
    violated: frozenset[str]
    unjudged: frozenset[str]
    watched: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def sent_together(self) -> list[list[Arrow]]:
        """The messages sent, those together that are called the same."""
        together: dict[Any, list[Arrow]] = {}
        for arrow in self.sent:
            together.setdefault((arrow.message.kind, arrow.message.epoch, arrow.message.sender), []).append(arrow)
        return list(together.values())

    @property
    def shown_arguments(self) -> str:
        """The arguments in one line."""
        return " ".join(f"{name}={value}" for name, value in self.arguments.items())


@attrs.frozen
class LookedAt:
    """A part of the state that the violated property looked at: its value in the end, and the last step that changed
    it.
    """

    part: str
    value: str
    since: int
    lane: str


def worth_showing(looked_at: Sequence[LookedAt]) -> list[LookedAt]:
    """What changed on the way, and the rest where it is little: prospects and deadlocks look at much."""
    changed = [found for found in looked_at if found.since]
    return list(looked_at) if len(looked_at) - len(changed) <= MOST_UNCHANGED else changed


@attrs.frozen(kw_only=True)
class ShownTrace:
    """What a trace looks like, whether or not it ends in a violation.

    Attributes:
        lanes: from left to right.
        steps: a step each.
        arrows: all messages.
        properties: those that are followed along the trace: the violated one first, then the others that were checked,
            then all others.
        checked: those that were checked; what is false of the others is no violation.
        watch: the expressions that are watched, as typed.
        looked_at: what the violated property looked at.
    """

    drawing: Drawing
    lanes: tuple[str, ...]
    steps: tuple[ShownStep, ...]
    arrows: tuple[Arrow, ...]
    properties: tuple[str, ...]
    checked: frozenset[str] = frozenset()
    watch: tuple[str, ...] = ()
    looked_at: tuple[LookedAt, ...] = ()

    @property
    def fields(self) -> list[str]:
        """What lanes show, by name: roles, logs, sets and facts."""
        cells = [cell for step in self.steps for cell in step.cells.values()]
        lanes = [cell.lane for cell in cells]
        names = ["role"] if any(lane.badges for lane in lanes) else []
        names += [log.name for lane in lanes for log in lane.logs]
        for lane in lanes:
            names += [each.name for each in lane.name_sets] + [each.name for each in lane.facts]
        return list(dict.fromkeys(names))

    def has_new(self, step: ShownStep, text: str) -> bool:
        """Whether a step gave a watched expression another value."""
        return step.number > 0 and step.watched[text] != self.steps[step.number - 1].watched[text]

    def false_after(self, step: ShownStep) -> list[str]:
        """The properties that were checked and are false after a step."""
        return sorted(step.violated & self.checked)

    def not_so_after(self, step: ShownStep) -> list[str]:
        """The properties that nobody asked for and that are false after a step."""
        return sorted(step.violated - self.checked)


@attrs.frozen(kw_only=True)
class Counterexample(ShownTrace):
    """A counterexample.

    Attributes:
        title: the claim.
        entry: the report's entry.
        violation: as it was found again.
        protocol, bounds: what was explored, in words.
        unexplained: why the steps that the violation depends on are not known; empty if they are.
    """

    title: str
    entry: Mapping[str, Any]
    system: System
    violation: Violation
    protocol: str
    bounds: str
    unexplained: str = ""

    @property
    def worth_showing(self) -> list[LookedAt]:
        """What the violated property looked at, without what no step changed if that is much."""
        return worth_showing(self.looked_at)

    @property
    def idle(self) -> list[ShownStep]:
        """The steps that the violation does not depend on, as far as that can be told."""
        known = self.violation.property and not self.unexplained
        return [step for step in self.steps[1:] if step.distance is None] if known else []

    @property
    def verdict(self) -> str:
        """What the trace shows, in one sentence without a stop."""
        found = self.violation
        if not found.property:
            return f"{found.length_in_words}, {self.entry.get('reason') or BY_HAND}"
        return f"{found.property} is false after {found.length_in_words}"

    @property
    def ending(self) -> str:
        """What the trace shows and, where that is a violation, why."""
        why = f": {self.violation.witness or 'no reason given'}" if self.violation.property else ""
        return f"{self.verdict}{why}"

    def repeats(self, step: ShownStep) -> bool:
        """Whether a step is on the cycle of a lasso."""
        return self.violation.back_to is not None and step.number > self.violation.back_to
