"""A lock service with leases: clients take a lock and write to a storage, and a client whose lease ran out may not know
it yet.
"""

from __future__ import annotations

import attrs

from highwater import (
    ArrayOf,
    Definition,
    Integers,
    Maybe,
    Model,
    Witness,
    action,
    bound,
    evolve,
    invariant,
    replaced,
    within,
)


@attrs.frozen
class Bounds:
    """How large the world may become."""

    clients: int = bound(1, 5, "clients that want the lock")
    token_max: int = bound(1, 31, "how often the lock can be granted")


@attrs.frozen
class Protocol:
    """The rules that can be switched off. `fencing`: the storage refuses a token that is older than the newest it has
    seen.
    """

    fencing: bool = True


def clients(bounds: Bounds) -> Integers:
    """The domain of a client's number."""
    return Integers(0, bounds.clients - 1, label="c", names="clients")


def tokens(bounds: Bounds) -> Integers:
    """The domain of a token: how many times the lock had been granted. 0 is none."""
    return Integers(0, bounds.token_max, label="t")


@attrs.frozen
class World:
    """The whole state.

    Attributes:
        holder: who has the lock, as the service knows it.
        granted: the last token that was handed out.
        believed: by client, the token with which it believes that it has the lock.
        newest, last: the newest token that the storage has seen, and that of the last write.
    """

    holder: int | None = within(lambda bounds: Maybe(clients(bounds)))
    granted: int = within(tokens)
    believed: tuple[int, ...] = within(lambda bounds: ArrayOf(tokens(bounds), bounds.clients, label="c", by="clients"))
    newest: int = within(tokens)
    last: int = within(tokens)


def initial_states(bounds: Bounds) -> list[World]:
    """Nobody has the lock, and nothing was written."""
    return [World(holder=None, granted=0, believed=(0,) * bounds.clients, newest=0, last=0)]


@action(actor="client", client=clients)
def acquire(world: World, client: int) -> World | None:
    """A client gets the lock, and with it a token."""
    if world.holder is not None:
        return None
    token = world.granted + 1
    return evolve(world, holder=client, granted=token, believed=replaced(world.believed, client, token))


@action(actor="service")
def expire(world: World) -> World | None:
    """The holder's lease runs out. The holder, which may be paused, does not notice."""
    return None if world.holder is None else evolve(world, holder=None)


@action(actor="client", client=clients)
def release(world: World, client: int) -> World | None:
    """A client gives the lock back."""
    if world.believed[client] == 0:
        return None
    released = evolve(world, believed=replaced(world.believed, client, 0))
    return evolve(released, holder=None) if world.holder == client else released


@action(actor="client", client=clients)
def write(world: World, client: int, protocol: Protocol) -> World | None:
    """A client that believes to have the lock writes, and sends its token along."""
    token = world.believed[client]
    if token == 0:
        return None
    if protocol.fencing and token < world.newest:
        return None
    return evolve(world, newest=max(world.newest, token), last=token)


@invariant()
def writes_never_go_back(world: World) -> bool | Witness:
    """No write carries an older token than a write before it."""
    return world.last >= world.newest or Witness(
        "the last write came with token {last}, after one with token {newest}", last=world.last, newest=world.newest
    )


def define(protocol: Protocol) -> Definition:
    """The model under a protocol; which client is which does not matter."""
    return Definition(
        bounds=Bounds,
        state=World,
        initial_states=initial_states,
        actions=(acquire, expire, release, write),
        interchangeable=lambda bounds: {"clients": range(bounds.clients)},
        properties=(writes_never_go_back,),
    )


MODEL = Model("lock_service", "A lock service with leases, and a storage.", Protocol, define)
