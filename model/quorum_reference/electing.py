"""Elections, and what clients write.

Source of all: github.com/Vanlightly/raft-tlaplus, module KRaft; the action's name there is given with each.
"""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.quorum_reference.bounds import QuorumBounds, servers, values
from highwater.model.quorum_reference.messages import Kind, Message, Result, messages_of
from highwater.model.quorum_reference.protocol import QuorumProtocol
from highwater.model.quorum_reference.state import Entry, Quorum, ServerRole
from highwater.model.quorum_reference.transitions import after_response, informed, unattached

TIMING_OUT = (ServerRole.FOLLOWER, ServerRole.CANDIDATE, ServerRole.UNATTACHED)


@action(actor="server", server=servers)
def restart(quorum: Quorum, server: int, bounds: QuorumBounds) -> Quorum | None:
    """A server restarts as a follower of nobody.

    Actor: the server.
    Enabled: the limit is not reached.
    Effect: it keeps its log, its epoch and its vote.
    Source: Restart. In Kafka it comes back as what it was, and a leader as one that has resigned:
        org.apache.kafka.raft.QuorumState#initialize (3.2).
    """
    if quorum.restarts >= bounds.max_restarts:
        return None
    changed = evolve(
        quorum.servers[server],
        standing=ServerRole.FOLLOWER,
        leader=None,
        votes=frozenset(),
        end_offsets=(0,) * bounds.servers,
        high_watermark=0,
        pending=None,
    )
    return evolve(quorum.with_server(server, changed), restarts=quorum.restarts + 1)


@action(actor="server", server=servers)
def request_votes(quorum: Quorum, server: int, bounds: QuorumBounds) -> Quorum | None:
    """A server becomes a candidate.

    Actor: the server.
    Enabled: it is a follower, a candidate or unattached; the limit is not reached.
    Effect: in a new epoch it votes for itself and asks all others.
    Abstracts: timeouts.
    Source: RequestVote; org.apache.kafka.raft.KafkaRaftClient#transitionToCandidate (3.2).
    """
    before = quorum.servers[server]
    if quorum.elections >= bounds.max_elections or before.standing not in TIMING_OUT:
        return None
    epoch, (last, offset) = before.epoch + 1, before.end
    others = [other for other in range(bounds.servers) if other != server]
    requests = [Message(Kind.VOTE, server, other, epoch, offset, last) for other in others]
    changed = evolve(
        before,
        standing=ServerRole.CANDIDATE,
        epoch=epoch,
        leader=None,
        voted_for=server,
        votes=frozenset({server}),
        pending=None,
    )
    asked = quorum.sent_once(requests)
    return None if asked is None else evolve(asked.with_server(server, changed), elections=quorum.elections + 1)


@action(actor="voter", message=messages_of(Kind.VOTE))
def vote(quorum: Quorum, message: Message, protocol: QuorumProtocol) -> Quorum | None:
    """A server answers a candidate.

    Actor: the voter.
    Enabled: the request is on its way.
    Effect: it votes for the candidate if it has voted for no other in that epoch and its own log is no newer.
    Source: HandleRequestVoteRequest; org.apache.kafka.raft.KafkaRaftClient#handleVoteRequest (3.2).
    """
    if not quorum.awaits(message):
        return None
    me, candidate = message.dest, message.source
    before = quorum.servers[me]
    if message.epoch < before.epoch:
        refused = Message(Kind.VOTED, me, candidate, before.epoch, leader=before.leader, result=Result.FENCED)
        return quorum.replied(message, refused)
    after = unattached(before, message.epoch) if message.epoch > before.epoch else before
    again = after.standing is ServerRole.VOTED and before.voted_for == candidate
    is_free = after.standing is ServerRole.UNATTACHED or again or not protocol.one_vote
    granted = is_free and (not protocol.log_check or (message.last_epoch, message.offset) >= before.end)
    if granted and after.standing is ServerRole.UNATTACHED:
        after = evolve(after, standing=ServerRole.VOTED, leader=None)
    if granted:
        after = evolve(after, voted_for=candidate)
    if after.standing is not before.standing:
        after = evolve(after, pending=None)
    response = Message(Kind.VOTED, me, candidate, message.epoch, leader=after.leader, granted=granted)
    return quorum.with_server(me, after).replied(message, response)


@action(actor="candidate", message=messages_of(Kind.VOTED))
def take_vote(quorum: Quorum, message: Message) -> Quorum | None:
    """A server takes the answer to its request for a vote.

    Actor: the candidate.
    Enabled: the response is on its way. The server is still a candidate, or the response names another epoch, an error,
        or a leader that it does not know.
    Effect: it counts the vote, or learns of an epoch or a leader.
    Source: HandleRequestVoteResponse; org.apache.kafka.raft.KafkaRaftClient#handleVoteResponse (3.2).
    """
    if not quorum.awaits(message):
        return None
    me = message.dest
    before = quorum.servers[me]
    after = after_response(before, me, message.leader, message.epoch, message.result)
    if after is None:
        if before.standing is not ServerRole.CANDIDATE:
            return None
        after = evolve(before, votes=before.votes | {message.source}) if message.granted else before
    return quorum.with_server(me, after).received(message)


@action(actor="server", server=servers)
def become_leader(quorum: Quorum, server: int, bounds: QuorumBounds, protocol: QuorumProtocol) -> Quorum | None:
    """A candidate with a majority of votes becomes leader.

    Actor: the candidate.
    Enabled: a majority has voted for it.
    Effect: it leads, and tells all others.
    Source: BecomeLeader; org.apache.kafka.raft.KafkaRaftClient#onBecomeLeader (3.2).
    """
    before = quorum.servers[server]
    if before.standing is not ServerRole.CANDIDATE or not protocol.suffices(len(before.votes), bounds.servers):
        return None
    changed = evolve(before, standing=ServerRole.LEADER, leader=server, end_offsets=(0,) * bounds.servers)
    requests = [Message(Kind.BEGIN, server, other, before.epoch) for other in range(bounds.servers) if other != server]
    informed = quorum.sent_once(requests)
    return None if informed is None else informed.with_server(server, changed)


@action(actor="server", message=messages_of(Kind.BEGIN))
def begin_epoch(quorum: Quorum, message: Message) -> Quorum | None:
    """A server hears of a new leader.

    Actor: the server.
    Enabled: the request is on its way.
    Effect: it follows the leader, unless it knows of a later epoch; it waits for no fetch response any more.
    Source: HandleBeginQuorumRequest; org.apache.kafka.raft.KafkaRaftClient#handleBeginQuorumEpochRequest (3.2).
    """
    if not quorum.awaits(message):
        return None
    me, leader = message.dest, message.source
    before = quorum.servers[me]
    if message.epoch < before.epoch:
        refused = Message(Kind.BEGUN, me, leader, before.epoch, result=Result.FENCED)
        return quorum.replied(message, refused)
    after = evolve(informed(before, me, leader, message.epoch), pending=None)
    return quorum.with_server(me, after).replied(message, Message(Kind.BEGUN, me, leader, message.epoch))


@action(actor="leader", leader=servers, value=values)
def write(quorum: Quorum, leader: int, value: int) -> Quorum | None:
    """A leader appends a client's value.

    Actor: the leader.
    Enabled: the value was not written before.
    Effect: the value is in its log, and not acknowledged yet.
    Source: ClientRequest; org.apache.kafka.raft.KafkaRaftClient#scheduleAppend (3.2).
    """
    before = quorum.servers[leader]
    if before.standing is not ServerRole.LEADER or quorum.acked[value] is not None:
        return None
    changed = evolve(before, log=before.log + (Entry(before.epoch, value),))
    return evolve(quorum.with_server(leader, changed), acked=replaced(quorum.acked, value, False))


STEPS = (restart, request_votes, vote, take_vote, become_leader, begin_epoch, write)
