"""How a server changes what it is when it hears of epochs and leaders.

Source of all: github.com/Vanlightly/kafka-tlaplus, module kraft_kip_853_functions; the operator's name there is given
with each. They follow org.apache.kafka.raft.QuorumState and KafkaRaftClient (3.2).
"""

from __future__ import annotations

from highwater.model.language.records import evolve
from highwater.model.quorum_reference.kip_853.state import Role, Server, ServerRole
from highwater.model.quorum_reference.messages import Result


def illegal(server: Server) -> Server:
    """Kafka throws an IllegalStateException here. Source: SetIllegalState."""
    return evolve(server, standing=ServerRole.ILLEGAL, epoch=0, leader=None, votes=frozenset(), voted_for=None)


def unattached(server: Server, epoch: int) -> Server:
    """Source: TransitionToUnattached."""
    if server.role is Role.VOTER and epoch <= server.epoch:
        return illegal(server)
    return leaderless(server, epoch)


def leaderless(server: Server, epoch: int) -> Server:
    """The server is unattached. An observer may be so again in the same epoch. Source: TransitionToUnattached."""
    return evolve(server, standing=ServerRole.UNATTACHED, epoch=epoch, leader=None, votes=frozenset(), voted_for=None)


def following(server: Server, me: int, leader: int, epoch: int) -> Server:
    """Source: TransitionToFollower."""
    leads = server.epoch == epoch and server.standing in (ServerRole.FOLLOWER, ServerRole.LEADER)
    if leader == me or leads or epoch < server.epoch:
        return illegal(server)
    voted_for = None if epoch > server.epoch else server.voted_for
    return evolve(
        server, standing=ServerRole.FOLLOWER, epoch=epoch, leader=leader, votes=frozenset(), voted_for=voted_for
    )


def resigned(server: Server) -> Server:
    """Source: TransitionToResigned."""
    return evolve(server, standing=ServerRole.RESIGNED, leader=None, votes=frozenset())


def is_consistent(server: Server, me: int, leader: int | None, epoch: int) -> bool:
    """Whether what a message says of a leader agrees with what the server knows. Source: HasConsistentLeader."""
    if leader == me:
        has_left = server.epoch == epoch and (server.role is Role.OBSERVER or server.standing is ServerRole.RESIGNED)
        return has_left or server.standing is ServerRole.LEADER
    return epoch != server.epoch or leader is None or server.leader is None or server.leader == leader


def informed(server: Server, me: int, leader: int | None, epoch: int) -> Server:
    """The server once it has heard of a leader and an epoch. Source: MaybeTransition."""
    if not is_consistent(server, me, leader, epoch):
        return illegal(server)
    if epoch > server.epoch:
        return unattached(server, epoch) if leader is None else following(server, me, leader, epoch)
    if leader is not None and leader != me and server.leader is None:
        return following(server, me, leader, epoch)
    return server


def after_response(server: Server, me: int, leader: int | None, epoch: int, result: Result) -> Server | None:
    """The server once a response has named a leader and an epoch; None if there is more to do about the response.

    An unknown leader is no error here. Source: MaybeHandleCommonResponse.
    """
    if epoch < server.epoch:
        return server
    if epoch > server.epoch or result in (Result.FENCED, Result.NOT_LEADER):
        return informed(server, me, leader, epoch)
    if leader is not None and leader != me and server.leader is None:
        return following(server, me, leader, epoch)
    return None
