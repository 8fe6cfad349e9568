"""How a server changes what it is when it hears of epochs and leaders.

Source of all: github.com/Vanlightly/raft-tlaplus, module KRaft; the operator's name there is given with each. They
follow org.apache.kafka.raft.QuorumState and KafkaRaftClient (3.2).
"""

from __future__ import annotations

from highwater.model.language.records import evolve
from highwater.model.quorum_reference.messages import Result
from highwater.model.quorum_reference.state import Server, ServerRole


def illegal(server: Server) -> Server:
    """Kafka throws an IllegalStateException here. Source: SetIllegalState."""
    return evolve(server, standing=ServerRole.ILLEGAL, epoch=0, leader=None)


def unattached(server: Server, epoch: int) -> Server:
    """Source: TransitionToUnattached."""
    return evolve(server, standing=ServerRole.UNATTACHED, epoch=epoch, leader=None)


def following(server: Server, leader: int, epoch: int) -> Server:
    """Source: TransitionToFollower."""
    if server.epoch == epoch and server.standing in (ServerRole.FOLLOWER, ServerRole.LEADER):
        return illegal(server)
    return evolve(server, standing=ServerRole.FOLLOWER, epoch=epoch, leader=leader)


def is_consistent(server: Server, me: int, leader: int | None, epoch: int) -> bool:
    """Whether what a message says of a leader agrees with what the server knows. Source: HasConsistentLeader."""
    if leader == me:
        return server.standing is ServerRole.LEADER
    return epoch != server.epoch or leader is None or server.leader is None or server.leader == leader


def informed(server: Server, me: int, leader: int | None, epoch: int) -> Server:
    """The server once it has heard of a leader and an epoch. Source: MaybeTransition."""
    if not is_consistent(server, me, leader, epoch):
        return illegal(server)
    if epoch > server.epoch:
        return unattached(server, epoch) if leader is None else following(server, leader, epoch)
    if leader is not None and server.leader is None:
        return following(server, leader, epoch)
    return server


def after_response(server: Server, me: int, leader: int | None, epoch: int, result: Result) -> Server | None:
    """The server once a response has named a leader and an epoch; None if there is more to do about the response.

    Source: MaybeHandleCommonResponse.
    """
    if epoch < server.epoch:
        return server
    if epoch > server.epoch or result not in (Result.OK, Result.DIVERGING):
        return informed(server, me, leader, epoch)
    if leader is not None and server.leader is None:
        return evolve(server, standing=ServerRole.FOLLOWER, leader=leader)
    return None
