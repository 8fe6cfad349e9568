"""Elections, and what clients write.

Source of all: github.com/Vanlightly/kafka-tlaplus, module kraft_kip_853; the action's name there is given with each.
"""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.quorum_reference.kip_853.bounds import ReconfigurationBounds, servers, values
from highwater.model.quorum_reference.kip_853.entries import Command, Entry
from highwater.model.quorum_reference.kip_853.messages import Message, messages_of
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum, Role, ServerRole
from highwater.model.quorum_reference.kip_853.transitions import (
    after_response,
    informed,
    leaderless,
    resigned,
    unattached,
)
from highwater.model.quorum_reference.messages import Kind, Result
from highwater.model.quorum_reference.protocol import QuorumProtocol

TIMING_OUT = (ServerRole.FOLLOWER, ServerRole.CANDIDATE, ServerRole.UNATTACHED, ServerRole.VOTED, ServerRole.RESIGNED)


@action(actor="server", server=servers)
def request_votes(quorum: ChangingQuorum, server: int, bounds: ReconfigurationBounds) -> ChangingQuorum | None:
    """A voter becomes a candidate.

    Actor: the voter.
    Enabled: it does not lead, is in its own configuration, and the last epoch is not reached.
    Effect: in a new epoch it votes for itself and asks all others of its configuration.
    Abstracts: timeouts.
    Source: SendRequestVote; org.apache.kafka.raft.KafkaRaftClient#transitionToCandidate (3.2).
    """
    before = quorum.servers[server]
    if before.role is not Role.VOTER or before.standing not in TIMING_OUT or before.epoch >= bounds.max_epoch:
        return None
    members = before.configuration.members
    if server not in members:
        return None
    last, offset = before.end
    epoch = before.epoch + 1
    requests = [Message(Kind.VOTE, server, peer, epoch, offset, last) for peer in sorted(members - {server})]
    changed = evolve(
        before.forgetting_fetches(),
        standing=ServerRole.CANDIDATE,
        epoch=epoch,
        leader=None,
        voted_for=server,
        votes=frozenset({server}),
    )
    return quorum.with_server(server, changed).sent(*requests)


@action(actor="server", message=messages_of(Kind.VOTE))
def vote(quorum: ChangingQuorum, message: Message, protocol: QuorumProtocol) -> ChangingQuorum | None:
    """A server answers a candidate. An observer may vote: it may be a voter and not know so yet.

    Actor: the server.
    Enabled: the request is on its way.
    Effect: it votes for the candidate if it has voted for no other in that epoch and its own log is no newer. A server
        that is unattached in a later epoch refuses, and yet goes back to the candidate's epoch as one that has voted.
    Source: HandleVoteRequest; org.apache.kafka.raft.KafkaRaftClient#handleVoteRequest (3.2), where a request of an
        older epoch changes nothing.
    """
    if not quorum.awaits(message):
        return None
    me, candidate = message.dest, message.source
    before = quorum.servers[me]
    after = unattached(before, message.epoch) if message.epoch > before.epoch else before
    again = after.standing is ServerRole.VOTED and before.voted_for == candidate
    is_free = after.standing is ServerRole.UNATTACHED or again or not protocol.one_vote
    granted = is_free and (not protocol.log_check or (message.last_epoch, message.offset) >= before.end)
    if granted and after.standing is ServerRole.UNATTACHED:
        after = evolve(
            after,
            standing=ServerRole.VOTED,
            epoch=message.epoch,
            leader=None,
            votes=frozenset(),
            voted_for=candidate,
        )
    if message.epoch < before.epoch:
        refused = Message(Kind.VOTED, me, candidate, before.epoch, leader=after.leader, result=Result.FENCED)
        return quorum.with_server(me, after).replied(message, refused)
    response = Message(Kind.VOTED, me, candidate, message.epoch, leader=after.leader, granted=granted)
    if after.standing is before.standing:
        return quorum.with_server(me, after).replied(message, response)
    return quorum.with_server(me, after.forgetting_fetches()).failing(me).replied(message, response)


@action(actor="candidate", message=messages_of(Kind.VOTED))
def take_vote(quorum: ChangingQuorum, message: Message) -> ChangingQuorum | None:
    """A voter takes the answer to its request for a vote.

    Actor: the candidate.
    Enabled: the response is on its way, and the server is a voter.
    Effect: it counts the vote if it is still a candidate, or learns of an epoch or a leader.
    Source: HandleVoteResponse; org.apache.kafka.raft.KafkaRaftClient#handleVoteResponse (3.2).
    """
    me = message.dest
    before = quorum.servers[me]
    if not quorum.awaits(message) or before.role is not Role.VOTER:
        return None
    after = after_response(before, me, message.leader, message.epoch, message.result)
    if after is None:
        counts = message.granted and before.standing is ServerRole.CANDIDATE
        after = evolve(before, votes=before.votes | {message.source}) if counts else before
    return quorum.with_server(me, after).received(message)


@action(actor="server", server=servers)
def become_leader(quorum: ChangingQuorum, server: int, protocol: QuorumProtocol) -> ChangingQuorum | None:
    """A candidate with a majority of votes becomes leader.

    Actor: the candidate.
    Enabled: a majority of its configuration has voted for it, and no other server. A candidate that is the only voter
        must have committed the entry already that it writes: the module both moves and keeps the high watermark, so
        that such a candidate never leads.
    Effect: it leads, writes an entry of its own, and tells all others of its configuration, once.
    Source: BecomeLeader; org.apache.kafka.raft.KafkaRaftClient#onBecomeLeader (3.2).
    """
    before = quorum.servers[server]
    if before.standing is not ServerRole.CANDIDATE:
        return None
    members = before.configuration.members
    if not before.votes <= members or not protocol.suffices(len(before.votes), len(members)):
        return None
    log = before.log + (Entry(Command.LEADER, before.epoch),)
    if len(members) == 1 and before.high_watermark != len(log):
        return None
    requests = [Message(Kind.BEGIN, server, peer, before.epoch) for peer in sorted(members - {server})]
    if any(request in quorum.on_their_way or request in quorum.handled for request in requests):
        return None
    changed = evolve(before, standing=ServerRole.LEADER, leader=server, votes=frozenset(), log=log)
    changed = changed.forgetting_fetches().tracking(members, fresh=True)
    return quorum.with_server(server, changed).sent(*requests)


@action(actor="server", message=messages_of(Kind.BEGIN))
def begin_epoch(quorum: ChangingQuorum, message: Message) -> ChangingQuorum | None:
    """A server hears of a new leader.

    Actor: the server.
    Enabled: the request is on its way, and the server knows of no later epoch.
    Effect: it follows the leader. It waits for no fetch response any more, and what it has not acknowledged failed.
    Source: AcceptBeginQuorumRequest; org.apache.kafka.raft.KafkaRaftClient#handleBeginQuorumEpochRequest (3.2).
    """
    me, leader = message.dest, message.source
    before = quorum.servers[me]
    if not quorum.awaits(message) or message.epoch < before.epoch:
        return None
    after = informed(before, me, leader, message.epoch).forgetting_fetches()
    return quorum.with_server(me, after).failing(me).received(message)


@action(actor="leader", leader=servers, value=values)
def write(quorum: ChangingQuorum, leader: int, value: int, bounds: ReconfigurationBounds) -> ChangingQuorum | None:
    """A leader appends a client's value.

    Actor: the leader.
    Enabled: the value was not written before, and the limit of the epoch is not reached.
    Effect: the value is in its log. If it is the only voter, it has committed the value, and yet never acknowledges it.
    Source: ClientRequest; org.apache.kafka.raft.KafkaRaftClient#scheduleAppend (3.2).
    """
    before = quorum.servers[leader]
    if before.standing is not ServerRole.LEADER or value in quorum.clients.sent:
        return None
    written = sum(entry.command is Command.VALUE and entry.epoch == before.epoch for entry in before.log)
    if written >= bounds.max_values_per_epoch:
        return None
    log = before.log + (Entry(Command.VALUE, before.epoch, value),)
    alone = len(before.configuration.members) == 1
    changed = evolve(
        before,
        log=log,
        high_watermark=len(log) if alone else before.high_watermark,
        unacked=before.unacked | {value},
    )
    clients = evolve(quorum.clients, sent=quorum.clients.sent | {value})
    return evolve(quorum.with_server(leader, changed), clients=clients)


@action(actor="leader", leader=servers)
def resign(quorum: ChangingQuorum, leader: int) -> ChangingQuorum | None:
    """A leader gives up its leadership.

    Actor: the leader.
    Enabled: it leads.
    Effect: a voter has resigned; an observer is unattached.
    Abstracts: that too few voters fetch from it.
    Source: CheckQuorumResign.
    """
    before = quorum.servers[leader]
    if before.standing is not ServerRole.LEADER:
        return None
    changed = resigned(before) if before.role is Role.VOTER else leaderless(before, before.epoch)
    return quorum.with_server(leader, changed)


STEPS = (request_votes, vote, take_vote, become_leader, begin_epoch, write, resign)
