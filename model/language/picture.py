"""What one state looks like, as plain data: lanes with logs, badges, sets and facts, and messages between lanes.

A model says how it is drawn with a `Drawing`, whose `draw` makes a `Picture` of a state. Pages, terminal and exports
know pictures only. Nothing here is about one model, and nothing about HTML or terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar

import attrs

from highwater.model.language.declarations import Instance
from highwater.model.language.domain import Struct


class Tone(Enum):
    """What a badge says at a glance."""

    LEADS = "leads"
    FOLLOWS = "follows"
    IDLE = "idle"
    STALE = "stale"
    DOWN = "down"
    PLAIN = "plain"


@attrs.frozen
class Badge:
    """A word about a lane, such as its role.

    Attributes:
        text: as shown, such as `leads e2`.
        short: for narrow terminals, such as `L2`.
        meaning: a sentence, for who does not know the word.
    """

    text: str
    tone: Tone = Tone.PLAIN
    short: str = ""
    meaning: str = ""

    def __str__(self) -> str:
        return self.text


@attrs.frozen
class Block:
    """What stands at one offset of a log: a record's name, and the leader epoch that it was written in, where there is
    one.
    """

    text: str
    epoch: int | None = None


@attrs.frozen
class Log:
    """A log by offset.

    Attributes:
        blocks: the records, from offset `start` on.
        high_watermark: the first offset that is not known to be committed; None where the log has none.
        room: how many offsets a log can have at most, so that all logs are drawn equally wide.
        name: what it is called where a lane has several.
    """

    blocks: tuple[Block, ...]
    high_watermark: int | None = None
    start: int = 0
    room: int = 0
    name: str = "log"

    @property
    def end(self) -> int:
        """The log end offset."""
        return self.start + len(self.blocks)

    def at(self, offset: int) -> Block | None:
        return self.blocks[offset - self.start] if self.start <= offset < self.end else None


@attrs.frozen
class NameSet:
    """A set of names, such as an ISR.

    Attributes:
        name: such as `ISR`.
        members: in order.
        truth: the set as it really is, where this one is what somebody believes; members that differ stand out.
    """

    name: str
    members: tuple[str, ...]
    truth: tuple[str, ...] | None = None
    blank: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"{self.name} {' '.join(self.members)}".rstrip()

    @property
    def wrong(self) -> frozenset[str]:
        """The names on which belief and truth differ."""
        return frozenset() if self.truth is None else frozenset(self.members) ^ frozenset(self.truth)


@attrs.frozen
class Fact:
    """Anything else: a name and a value.

    Attributes:
        blank: the value says that there is nothing, so that it is shown only in the step that made it so.
    """

    name: str
    value: str
    blank: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.value}"


@attrs.frozen
class Lane:
    """What one broker, or the controller, looks like."""

    badges: tuple[Badge, ...] = ()
    logs: tuple[Log, ...] = ()
    name_sets: tuple[NameSet, ...] = ()
    facts: tuple[Fact, ...] = ()


@attrs.frozen
class Message:
    """A message that was sent.

    Attributes:
        key: distinguishes it from all other messages that can be there at the same time. It is in flight from the first
            state that has the key until the first that has it no more.
        kind: such as `LeaderAndIsr`.
        text: what it says.
        sender, receiver: lanes; no receiver where any lane may read it.
        epoch: the leader epoch that it speaks of; it is stale where its reader's lane, or the picture, is further.
    """

    key: Hashable
    kind: str
    text: str = ""
    sender: str | None = None
    receiver: str | None = None
    epoch: int | None = None


@attrs.frozen
class Picture:
    """What a whole state looks like.

    Attributes:
        lanes: by name, from left to right; every state of a model has the same lanes.
        messages: those in flight.
        epoch: the true leader epoch, where there is one.
        leader: the lane of the true leader: logs that differ from its log diverge.
    """

    lanes: Mapping[str, Lane]
    messages: tuple[Message, ...] = ()
    epoch: int | None = None
    leader: str | None = None


def nothing_received(action: Instance, before: Any) -> Iterable[tuple[Hashable, str]]:
    """No step reads a message that stays."""
    return ()


def nothing_counts_as_dropped(action: Instance) -> bool:
    """A message that goes away was received."""
    return False


def by_actor(action: Instance, before: Any) -> str | None:
    """An action happens in its actor's lane."""
    return None


@attrs.frozen
class Drawing:
    """How a model's states are drawn.

    Attributes:
        draw: from the states' domain and a state to its picture.
        received: for models that keep messages after they were read: from a step's action and the state before it to
            the keys of the messages that it reads, each with the lane that reads it. A message that goes away needs not
            be named.
        drops: whether the messages that go away in a step of this action are lost rather than received, as in a crash.
        place: the lane where an action happens whose actor has none: from the action and the state before it; the first
            lane if None.
        counterparts: sets of action names that stand for one another where a schedule is replayed under another
            protocol.
    """

    draw: Callable[[Struct, Any], Picture]
    received: Callable[[Instance, Any], Iterable[tuple[Hashable, str]]] = nothing_received
    drops: Callable[[Instance], bool] = nothing_counts_as_dropped
    place: Callable[[Instance, Any], str | None] = by_actor
    counterparts: tuple[frozenset[str], ...] = ()
