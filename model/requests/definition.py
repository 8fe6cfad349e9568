"""The transition system of requests to one broker."""

from __future__ import annotations

import attrs

from highwater.model.language.definition import Definition, Model
from highwater.model.requests import asking, leading, waiting
from highwater.model.requests.protocol import LAST_RELEASES, PRESETS, RELEASES, RequestsProtocol
from highwater.model.requests.state import (
    NOT_ASKED,
    Acks,
    Broker,
    Hosted,
    Lock,
    Phase,
    Request,
    RequestsBounds,
    Role,
    Used,
)

ACTIONS = (
    asking.produce,
    asking.fetch,
    waiting.watch,
    waiting.begin_check,
    waiting.end_check,
    waiting.expire,
    leading.commit,
    leading.change_isr,
    leading.lose_leadership,
    leading.write_elsewhere,
    leading.lead_again,
    leading.stop,
)


def initial_states(bounds: RequestsBounds) -> list[Broker]:
    """The one initial state: the broker leads empty partitions, and nobody asks."""
    partitions = (Hosted(Role.LEADER, (), (), enough=True),) * bounds.partitions
    nothing = Request(Phase.NONE, Lock.FREE, Acks.LEADER, 0, False, False, (NOT_ASKED,) * bounds.partitions)
    unused = Used(**{field.name: 0 for field in attrs.fields(Used)})
    return [Broker(partitions, nothing, nothing, next_record_id=0, used=unused)]


def all_partitions(bounds: RequestsBounds) -> dict[str, range]:
    """The interchangeable names."""
    return {"partitions": range(bounds.partitions)}


def define(protocol: RequestsProtocol) -> Definition:
    """The broker's requests; every step exists under every protocol."""
    del protocol
    return Definition(
        RequestsBounds,
        Broker,
        initial_states,
        ACTIONS,
        all_partitions,
        "highwater.invariants.requests:REQUESTS",
    )


REQUESTS = Model(
    "requests",
    (
        "Produce and fetch requests to one broker over several partitions: errors of single partitions, and how "
        "requests wait, are answered, time out or are forgotten."
    ),
    RequestsProtocol,
    define,
    PRESETS,
    RELEASES,
    LAST_RELEASES,
)
