"""The variant `kip-853`: its initial state and its steps."""

from __future__ import annotations

from highwater.model.language.definition import Definition
from highwater.model.quorum_reference.kip_853 import electing, reconfiguring, replicating
from highwater.model.quorum_reference.kip_853.bounds import (
    FIRST_EPOCH,
    FIRST_LEADER,
    ReconfigurationBounds,
    UncheckedReconfigurationBounds,
)
from highwater.model.quorum_reference.kip_853.entries import NO_CONFIGURATION, first_configuration, first_entry
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum, Clients, Role, Server, ServerRole, Used
from highwater.model.quorum_reference.protocol import QuorumProtocol


def initial_states(bounds: ReconfigurationBounds) -> list[ChangingQuorum]:
    """Server 0 leads the first voters in epoch 1, and all have committed the entry with their configuration. The other
    servers are not started.
    """
    first = first_configuration(bounds)
    nothing: frozenset[int] = frozenset()

    def server(number: int) -> Server:
        there = bounds.is_initial(number)
        leads = number == FIRST_LEADER
        return Server(
            host=number if there else None,
            role=Role.VOTER if there else Role.NONE,
            standing=ServerRole.LEADER if leads else ServerRole.FOLLOWER if there else ServerRole.UNATTACHED,
            epoch=FIRST_EPOCH if there else 0,
            leader=FIRST_LEADER if there else None,
            voted_for=None,
            votes=nothing,
            configuration=first if there else NO_CONFIGURATION,
            is_committed=there,
            log=(first_entry(bounds),) if there else (),
            high_watermark=int(there),
            end_offsets=tuple(
                1 if there and bounds.is_initial(peer) else None for peer in range(bounds.max_spawned_servers)
            ),
            pending=None,
            answered=None,
            unacked=nothing,
        )

    return [
        ChangingQuorum(
            servers=tuple(map(server, range(bounds.max_spawned_servers))),
            on_their_way=frozenset(),
            handled=frozenset(),
            cut=frozenset(),
            clients=Clients(nothing, nothing, nothing),
            used=Used(0, 0, 0, 0, 0),
        )
    ]


def define_kip_853(protocol: QuorumProtocol) -> Definition:
    """The transition system of the specification."""
    bounds = ReconfigurationBounds if protocol.is_published else UncheckedReconfigurationBounds
    steps = (*reconfiguring.STEPS, *electing.STEPS, *replicating.STEPS)
    return Definition(
        bounds,
        ChangingQuorum,
        initial_states,
        steps,
        properties="highwater.invariants.quorum_reference_kip_853:CHANGING_QUORUM",
    )
