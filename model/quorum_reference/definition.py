"""The two public specifications of the KRaft quorum as one model."""

from __future__ import annotations

from highwater.model.language.definition import Definition, Model
from highwater.model.quorum_reference import electing, replicating
from highwater.model.quorum_reference.bounds import FIRST_EPOCH, QuorumBounds, UncheckedQuorumBounds
from highwater.model.quorum_reference.kip_853.definition import define_kip_853
from highwater.model.quorum_reference.messages import Message
from highwater.model.quorum_reference.protocol import QuorumProtocol, Variant
from highwater.model.quorum_reference.state import Messages, Quorum, Server, ServerRole


def initial_states(bounds: QuorumBounds) -> list[Quorum]:
    """All servers are unattached in the first epoch, with empty logs; nothing was sent."""
    server = Server(
        standing=ServerRole.UNATTACHED,
        epoch=FIRST_EPOCH,
        leader=None,
        voted_for=None,
        votes=frozenset(),
        log=(),
        high_watermark=0,
        end_offsets=(0,) * bounds.servers,
        pending=None,
    )
    copies: tuple[frozenset[Message], ...] = (frozenset(),) * (bounds.copies() - 1)
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
    """The transition system of one specification.

    Raises:
        ValueError: a check is left out that the specification does not have.
    """
    if protocol.variant is Variant.KIP_853:
        return define_kip_853(protocol)
    if not protocol.checks_changes:
        raise ValueError('voters never change in the variant "kraft": one_change and committed_epoch must be true')
    bounds = QuorumBounds if protocol.is_published else UncheckedQuorumBounds
    steps = (*electing.STEPS, *replicating.STEPS)
    return Definition(bounds, Quorum, initial_states, steps, properties="highwater.invariants.quorum_reference:QUORUM")


QUORUM_REFERENCE = Model(
    "quorum-reference",
    "The public TLA+ specifications of the KRaft quorum: Raft where followers fetch, and KIP-853 where voters change.",
    QuorumProtocol,
    define,
)
