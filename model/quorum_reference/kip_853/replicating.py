"""Voters and observers fetch the log, and the leader commits it.

Source of all: github.com/Vanlightly/kafka-tlaplus, module kraft_kip_853; the action's name there is given with each.
"""

from __future__ import annotations

from typing import Any, cast

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.quorum_reference.kip_853.bounds import servers
from highwater.model.quorum_reference.kip_853.entries import Command, Configuration, Entry
from highwater.model.quorum_reference.kip_853.messages import Message, messages_of
from highwater.model.quorum_reference.kip_853.state import (
    Answered,
    ChangingQuorum,
    Role,
    Server,
    ServerRole,
    last_configuration,
)
from highwater.model.quorum_reference.kip_853.transitions import after_response, leaderless
from highwater.model.quorum_reference.messages import Kind, Result
from highwater.model.quorum_reference.protocol import QuorumProtocol
from highwater.model.quorum_reference.replicating import end_of_epoch, is_valid, truncated


@action(actor="server", server=servers, peer=servers)
def send_fetch(quorum: ChangingQuorum, server: int, peer: int) -> ChangingQuorum | None:
    """A server asks for the next entry.

    Actor: the server.
    Enabled: it waits for no response, and follows the peer. Or it is an observer that knows no leader, and the peer is
        a voter that knows one.
    Effect: the request is on its way.
    Abstracts: that such an observer may also ask voters that know no leader.
    Source: SendFetchRequest; org.apache.kafka.raft.KafkaRaftClient#buildFetchRequest (3.2).
    """
    if server == peer:
        return None
    before = quorum.servers[server]
    if not before.is_started or before.pending is not None or not may_ask(quorum, server, peer):
        return None
    last, offset = before.end
    request = Message(Kind.FETCH, server, peer, before.epoch, offset, last, observer=before.role is Role.OBSERVER)
    return quorum.with_server(server, evolve(before, pending=request)).sent(request)


def may_ask(quorum: ChangingQuorum, server: int, peer: int) -> bool:
    before, asked = quorum.servers[server], quorum.servers[peer]
    if before.standing is ServerRole.FOLLOWER:
        return before.leader == peer and asked.is_started
    return (
        before.role is Role.OBSERVER
        and before.standing in (ServerRole.UNATTACHED, ServerRole.VOTED)
        and asked.role is Role.VOTER
        and asked.leader is not None
        and quorum.are_connected(server, peer)
    )


def answer(request: Message, epoch: int, **content: Any) -> Message:
    return Message(Kind.FETCHED, request.dest, request.source, epoch, request=request, **content)


@action(actor="server", message=messages_of(Kind.FETCH))
def reject_fetch(quorum: ChangingQuorum, message: Message) -> ChangingQuorum | None:
    """A server that does not lead in the fetch's epoch rejects it.

    Actor: the server.
    Enabled: the request is on its way.
    Effect: the response names the server's epoch and leader.
    Source: RejectFetchRequest; org.apache.kafka.raft.KafkaRaftClient#validateLeaderOnlyRequest (3.2).
    """
    if not quorum.awaits(message):
        return None
    me = quorum.servers[message.dest]
    if me.standing is not ServerRole.LEADER:
        result = Result.NOT_LEADER
    elif message.epoch != me.epoch:
        result = Result.FENCED if message.epoch < me.epoch else Result.UNKNOWN_LEADER
    else:
        return None
    response = answer(message, me.epoch, leader=me.leader, result=result, high_watermark=me.high_watermark)
    return quorum.replied(message, response)


def asked_leader(quorum: ChangingQuorum, message: Message) -> Server | None:
    """The leader that a fetch asks, if it leads in the epoch of the fetch and the fetch is on its way."""
    if not quorum.awaits(message):
        return None
    server = quorum.servers[message.dest]
    return server if server.standing is ServerRole.LEADER and server.epoch == message.epoch else None


@action(actor="leader", message=messages_of(Kind.FETCH))
def reveal_divergence(quorum: ChangingQuorum, message: Message, protocol: QuorumProtocol) -> ChangingQuorum | None:
    """A leader tells a server that their logs diverge.

    Actor: the leader.
    Enabled: it leads in the epoch of the fetch, and its log does not continue the other's.
    Effect: the response says where the other's last epoch ends in the leader's log.
    Source: DivergingFetchRequest; org.apache.kafka.raft.ReplicatedLog#validateOffsetAndEpoch (3.2).
    """
    leader = asked_leader(quorum, message)
    if leader is None or not protocol.divergence_check or is_valid(leader, message):
        return None
    offset, epoch = end_of_epoch(leader, message.last_epoch)
    response = answer(
        message,
        leader.epoch,
        leader=leader.leader,
        result=Result.DIVERGING,
        end_offset=offset,
        end_epoch=epoch,
        high_watermark=leader.high_watermark,
    )
    return quorum.replied(message, response)


def next_entry(leader: Server, message: Message) -> Entry | None:
    return leader.log[message.offset] if message.offset < len(leader.log) else None


def committed(me: int, leader: Server, end_offsets: tuple[int | None, ...], protocol: QuorumProtocol) -> int:
    """The high watermark once the leader knows voters' log end offsets; it is None of an observer.

    A leader that is no voter does not count itself. The high watermark moves only to an entry of the leader's own
    epoch. Source: NewHighwaterMark.
    """
    members = leader.configuration.members
    for offset in range(len(leader.log), 0, -1):
        agreeing = sum(peer == me or cast("int", end_offsets[peer]) >= offset for peer in sorted(members))
        if protocol.suffices(agreeing, len(members)):
            return offset if leader.log[offset - 1].epoch == leader.epoch else leader.high_watermark
    return leader.high_watermark


def removes(leader: Server, me: int, high_watermark: int) -> bool:
    """Whether a leader commits an entry that removes itself. Source: IsRemovedFromCluster."""
    newly = (leader.log[offset] for offset in range(leader.high_watermark, high_watermark))
    left = (entry.configuration for entry in newly if entry.command is Command.REMOVE)
    return any(configuration is not None and me not in configuration.members for configuration in left)


@action(actor="leader", message=messages_of(Kind.FETCH))
def serve_voter(quorum: ChangingQuorum, message: Message, protocol: QuorumProtocol) -> ChangingQuorum | None:
    """A leader serves the fetch of a voter.

    Actor: the leader.
    Enabled: it leads in the epoch of the fetch, its log continues the voter's, and the voter is in its configuration.
        Nobody answers a server that was removed and still fetches as a voter.
    Effect: it knows how much the voter has, may commit more and acknowledge it; the next entry, if there is one, is on
        its way. A leader that commits its own removal becomes an observer without a leader.
    Source: AcceptFetchRequestFromVoter; org.apache.kafka.raft.KafkaRaftClient#tryCompleteFetchRequest (3.2).
    """
    me, peer = message.dest, message.source
    leader = asked_leader(quorum, message)
    if leader is None or message.observer or peer not in leader.configuration.members:
        return None
    if protocol.divergence_check and not is_valid(leader, message):
        return None
    end_offsets = leader.end_offsets
    if end_offsets[peer] is not None:
        end_offsets = replaced(end_offsets, peer, message.offset)
    high_watermark = committed(me, leader, end_offsets, protocol)
    leaves = removes(leader, me, high_watermark)
    response = answer(
        message,
        leader.epoch,
        leader=None if leaves else leader.leader,
        entry=next_entry(leader, message),
        high_watermark=min(high_watermark, message.offset + 1),
    )
    after = evolve(leader, end_offsets=end_offsets)
    if high_watermark <= leader.high_watermark:
        return quorum.with_server(me, after).replied(message, response)
    newly = frozenset(leader.log[offset].value for offset in range(leader.high_watermark, high_watermark))
    acked = leader.unacked & newly
    at, configuration = last_configuration(leader.log)
    after = evolve(
        after, configuration=configuration, is_committed=high_watermark >= at, unacked=leader.unacked - acked
    )
    if leaves:
        after = leaderless(after.tracking(frozenset()), leader.epoch)
        after = evolve(after, role=Role.OBSERVER, high_watermark=0)
    else:
        after = evolve(after.tracking(configuration.members), high_watermark=high_watermark)
    clients = evolve(quorum.clients, acked=quorum.clients.acked | acked)
    return evolve(quorum.with_server(me, after), clients=clients).replied(message, response)


@action(actor="leader", message=messages_of(Kind.FETCH))
def serve_observer(quorum: ChangingQuorum, message: Message, protocol: QuorumProtocol) -> ChangingQuorum | None:
    """A leader serves the fetch of an observer.

    Actor: the leader.
    Enabled: it leads in the epoch of the fetch, and its log continues the observer's.
    Effect: the next entry, if there is one, is on its way.
    Source: AcceptFetchRequestFromObserver; org.apache.kafka.raft.KafkaRaftClient#tryCompleteFetchRequest (3.2).
    """
    leader = asked_leader(quorum, message)
    if leader is None or not message.observer:
        return None
    if protocol.divergence_check and not is_valid(leader, message):
        return None
    response = answer(
        message,
        leader.epoch,
        leader=leader.leader,
        entry=next_entry(leader, message),
        high_watermark=min(leader.high_watermark, message.offset + 1),
    )
    return quorum.replied(message, response)


@action(actor="server", message=messages_of(Kind.FETCHED))
def take_response(quorum: ChangingQuorum, message: Message) -> ChangingQuorum | None:
    """A server takes the response to its fetch.

    Actor: the server.
    Enabled: the response is on its way, and it is one that the server waits for.
    Effect: it appends the entry or truncates its log, and is then in the last configuration of its log; or it learns of
        another epoch or leader.
    Source: HandleFetchResponse; org.apache.kafka.raft.KafkaRaftClient#handleFetchResponse (3.2).
    """
    me = message.dest
    before = quorum.servers[me]
    if not quorum.awaits(message) or before.pending != message.request:
        return None
    after = after_response(before, me, message.leader, message.epoch, message.result)
    if after is None and before.standing is ServerRole.FOLLOWER:
        after = replicated(before, message)
        at, configuration = last_configuration(after.log)
        after = switched(after, me, configuration, is_committed=message.high_watermark >= at)
    error = Result.OK if message.result is Result.DIVERGING else message.result
    remembered = evolve(after or before, pending=None, answered=Answered(message.source, error))
    return quorum.with_server(me, remembered).received(message)


def replicated(server: Server, message: Message) -> Server:
    """A follower's log and high watermark after a response."""
    if message.result is Result.DIVERGING:
        return evolve(server, log=truncated(server, message))
    if message.result is not Result.OK:
        return server
    log = server.log if message.entry is None else server.log + (message.entry,)
    return evolve(server, log=log, high_watermark=message.high_watermark)


def switched(server: Server, me: int, configuration: Configuration, *, is_committed: bool) -> Server:
    """A follower in the last configuration of its log. Source: MaybeSwitchConfigurations."""
    role = server.role
    if (role is Role.VOTER) != (me in configuration.members):
        role = Role.OBSERVER if role is Role.VOTER else Role.VOTER
        server = evolve(server, role=role, votes=frozenset())
    server = evolve(server, configuration=configuration, is_committed=is_committed)
    return server.tracking(configuration.members)


@action(actor="observer", observer=servers)
def time_out(quorum: ChangingQuorum, observer: int) -> ChangingQuorum | None:
    """An observer gives up its leader.

    Actor: the observer.
    Enabled: always.
    Effect: it is unattached, and waits for no response any more.
    Source: ObserverFetchTimeout.
    """
    before = quorum.servers[observer]
    if before.role is not Role.OBSERVER:
        return None
    return quorum.with_server(observer, leaderless(before.forgetting_fetches(), before.epoch))


STEPS = (send_fetch, reject_fetch, reveal_divergence, serve_voter, serve_observer, take_response, time_out)
