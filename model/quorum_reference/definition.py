"""The public specification of the KRaft quorum as a model."""

from __future__ import annotations

from model.language.definition import Definition, Model
from model.quorum_reference import electing, replicating
from model.quorum_reference.bounds import FIRST_EPOCH, QuorumBounds, UncheckedQuorumBounds
from model.quorum_reference.protocol import QuorumProtocol
from model.quorum_reference.state import Messages, Quorum, Server, Standing


def initial_states(bounds: QuorumBounds) -> list[Quorum]:
    """All servers are unattached in the first epoch, with empty logs; nothing was sent."""
    server = Server(
        standing=Standing.UNATTACHED,
        epoch=FIRST_EPOCH,
        leader=None,
        voted_for=None,
        votes=frozenset(),
        log=(),
        high_watermark=0,
        end_offsets=(0,) * bounds.servers,
        pending=None,
    )
    copies = (frozenset(),) * (bounds.copies() - 1)
    return [
        Quorum(
            servers=(server,) * bounds.servers,
            acked=(None,) * bounds.values,
            elections=0,
            restarts=0,
            messages=Messages(frozenset(), copies, frozenset()),
        )
    ]


def define(protocol: QuorumProtocol) -> Definition:
    """The transition system of the specification."""
    bounds = QuorumBounds if protocol.is_published else UncheckedQuorumBounds
    steps = (*electing.STEPS, *replicating.STEPS)
    return Definition(bounds, Quorum, initial_states, steps, properties="invariants.quorum_reference:QUORUM")


QUORUM_REFERENCE = Model(
    "quorum-reference",
    "The public TLA+ specification of the KRaft quorum: Raft where followers fetch.",
    QuorumProtocol,
    define,
)
