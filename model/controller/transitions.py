"""The transitions of a controller's state machine as data: the states before and after, and the effects."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import attrs


class Does(Enum):
    """What the controller does on a transition. A request goes to the receiver of the effect."""

    LEADER_AND_ISR = "LeaderAndIsr with the known leadership"
    STOP_REPLICA = "StopReplica"
    STOP_REPLICA_AND_DELETE = "StopReplica with delete"
    UPDATE_METADATA = "UpdateMetadata"
    WRITE_FIRST_LEADERSHIP = "write leader and ISR: the first live assigned replica, and all live ones"
    ELECT_AND_WRITE = "elect, and write leader and ISR with the next leader epoch"
    LEAVE_ISR_AND_WRITE = "write the ISR without the replica with the next leader epoch; no leader if it led"
    ADD_TO_ASSIGNMENT = "add the replica to the assignment in memory, if it is missing there"
    REMOVE_FROM_ASSIGNMENT = "take the replica out of the assignment in memory"


class To(Enum):
    """The receiver of a request; `NOBODY` if the effect is no request."""

    NOBODY = "nobody"
    REPLICA = "the replica"
    OTHER_REPLICAS = "the other replicas"
    ELECTED_REPLICAS = "the replicas of the election"
    LIVE_BROKERS = "every live broker"


class When(Enum):
    """The condition of an effect."""

    ALWAYS = "always"
    LEADERSHIP_KNOWN = "leadership is known"
    LEADERSHIP_UNKNOWN = "leadership is not known"
    KNOWN_AND_NOT_DELETING = "leadership is known and the topic is not being deleted"
    IN_ISR = "the replica is in the ISR"


@attrs.frozen
class Effect:
    """One thing that the controller does, the receiver, and the condition. `since` is the first release that does it,
    if not all do.
    """

    does: Does
    to: To = To.NOBODY
    when: When = When.ALWAYS
    since: str = ""

    def __str__(self) -> str:
        sentence = self.does.value if self.to is To.NOBODY else f"{self.does.value} to {self.to.value}"
        sentence = sentence if self.when is When.ALWAYS else f"{sentence}, if {self.when.value}"
        return f"{sentence} (since {self.since})" if self.since else sentence


@attrs.frozen
class Edge:
    """A legal change of state, and its effects in order. `since` is the first release that has it, if not all do."""

    before: Enum
    after: Enum
    effects: tuple[Effect, ...] = ()
    since: str = ""


@attrs.frozen
class Illegal:
    """A change of state that Kafka logs and skips: the state stays, and nothing is sent or written."""

    before: Enum
    after: Enum


def find(edges: Iterable[Edge], before: Enum, after: Enum) -> Edge | Illegal:
    """The edge between two states, or that there is none."""
    return next((edge for edge in edges if edge.before is before and edge.after is after), Illegal(before, after))


def mermaid(edges: Iterable[Edge]) -> str:
    """The state machine as a Mermaid diagram. An edge that not all releases have names the first one that has it."""
    lines = ["stateDiagram-v2", "    direction LR"]
    for edge in edges:
        arrow = f"    {edge.before.value} --> {edge.after.value}"
        lines.append(f"{arrow} : since {edge.since}" if edge.since else arrow)
    return "\n".join(lines) + "\n"


def table(edges: Iterable[Edge]) -> str:
    """The edges and their effects as a Markdown table."""
    lines = ["| from | to | effects, in order |", "|---|---|---|"]
    for edge in edges:
        effects = "; ".join(map(str, edge.effects)) or "none"
        lines.append(f"| {edge.before.value} | {edge.after.value} | {effects} |")
    return "\n".join(lines) + "\n"
