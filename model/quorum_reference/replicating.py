"""Followers fetch the log, and the leader commits it.

Source of all: github.com/Vanlightly/raft-tlaplus, module KRaft; the action's name there is given with each.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.quorum_reference.bounds import servers
from highwater.model.quorum_reference.messages import Kind, Message, Result, messages_of
from highwater.model.quorum_reference.protocol import QuorumProtocol
from highwater.model.quorum_reference.state import Entry, Quorum, Server, ServerRole
from highwater.model.quorum_reference.transitions import after_response


class InEpoch(Protocol):
    """An entry of a log."""

    @property
    def epoch(self) -> int: ...


OfLog = TypeVar("OfLog", bound=InEpoch, covariant=True)


class Logged(Protocol[OfLog]):
    """A server of either specification, as far as it is its log."""

    @property
    def log(self) -> tuple[OfLog, ...]: ...


@action(actor="follower", follower=servers, leader=servers)
def send_fetch(quorum: Quorum, follower: int, leader: int) -> Quorum | None:
    """A follower asks its leader for the next entry.

    Actor: the follower.
    Enabled: it follows that leader, and waits for no response.
    Effect: the request is on its way.
    Source: SendFetchRequest; org.apache.kafka.raft.KafkaRaftClient#buildFetchRequest (3.2).
    """
    before = quorum.servers[follower]
    if (
        follower == leader
        or before.standing is not ServerRole.FOLLOWER
        or before.leader != leader
        or before.pending is not None
    ):
        return None
    last, offset = before.end
    request = Message(Kind.FETCH, follower, leader, before.epoch, offset, last)
    return quorum.with_server(follower, evolve(before, pending=request)).sent(request)


@action(actor="server", message=messages_of(Kind.FETCH))
def reject_fetch(quorum: Quorum, message: Message) -> Quorum | None:
    """A server that does not lead in the fetch's epoch rejects it.

    Actor: the server.
    Enabled: the request is on its way, and the same answer was not given before.
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


def answer(request: Message, epoch: int, **content: Any) -> Message:
    return Message(Kind.FETCHED, request.dest, request.source, epoch, request=request, **content)


def end_of_epoch(server: Logged[InEpoch], epoch: int) -> tuple[int, int]:
    """Where the entries up to an epoch end in a log, and the epoch of the last of them; 0 and 0 if there is none.

    Source: EndOffsetForEpoch.
    """
    for offset in range(len(server.log), 0, -1):
        if server.log[offset - 1].epoch <= epoch:
            return offset, server.log[offset - 1].epoch
    return 0, 0


def is_valid(server: Logged[InEpoch], request: Message) -> bool:
    """Whether a leader's log continues a follower's. Source: ValidFetchPosition."""
    if (request.offset, request.last_epoch) == (0, 0):
        return True
    offset, epoch = end_of_epoch(server, request.last_epoch)
    return request.offset <= offset and request.last_epoch == epoch


def asked_leader(quorum: Quorum, message: Message) -> Server | None:
    """The leader that a fetch asks, if it leads in the epoch of the fetch and the fetch is on its way."""
    if not quorum.awaits(message):
        return None
    server = quorum.servers[message.dest]
    return server if server.standing is ServerRole.LEADER and server.epoch == message.epoch else None


@action(actor="leader", message=messages_of(Kind.FETCH))
def reveal_divergence(quorum: Quorum, message: Message, protocol: QuorumProtocol) -> Quorum | None:
    """A leader tells a follower that their logs diverge.

    Actor: the leader.
    Enabled: it leads in the epoch of the fetch, its log does not continue the follower's, and it has not answered the
        same before.
    Effect: the response says where the follower's last epoch ends in the leader's log.
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


def committed(leader: int, server: Server, end_offsets: tuple[int, ...], protocol: QuorumProtocol) -> int:
    """The high watermark once the leader knows followers' log end offsets.

    It moves only to an entry of the leader's own epoch. Source: NewHighwaterMark.
    """
    for offset in range(len(server.log), 0, -1):
        agreeing = sum(other == leader or end >= offset for other, end in enumerate(end_offsets))
        if protocol.suffices(agreeing, len(end_offsets)):
            return offset if server.log[offset - 1].epoch == server.epoch else server.high_watermark
    return server.high_watermark


@action(actor="leader", message=messages_of(Kind.FETCH))
def serve_fetch(quorum: Quorum, message: Message, protocol: QuorumProtocol) -> Quorum | None:
    """A leader serves a fetch.

    Actor: the leader.
    Enabled: it leads in the epoch of the fetch, its log continues the follower's, and it has not answered the same
        before.
    Effect: it knows how much the follower has, may commit more and acknowledge it; the next entry, if there is one, is
        on its way.
    Source: AcceptFetchRequest; org.apache.kafka.raft.KafkaRaftClient#tryCompleteFetchRequest (3.2).
    """
    leader = asked_leader(quorum, message)
    if leader is None or (protocol.divergence_check and not is_valid(leader, message)):
        return None
    end_offsets = replaced(leader.end_offsets, message.source, message.offset)
    high_watermark = committed(message.dest, leader, end_offsets, protocol)
    newly = [leader.log[offset].value for offset in range(leader.high_watermark, high_watermark)]
    acked = quorum.acked
    for value in newly:
        if acked[value] is False:
            acked = replaced(acked, value, True)
    entry = None
    if message.offset < len(leader.log):
        found = leader.log[message.offset]
        entry = (found.epoch, found.value)
    exposed = min(high_watermark, message.offset + 1)
    response = answer(message, leader.epoch, leader=leader.leader, entry=entry, high_watermark=exposed)
    changed = quorum.with_server(message.dest, evolve(leader, end_offsets=end_offsets, high_watermark=high_watermark))
    return evolve(changed, acked=acked).replied(message, response)


@action(actor="follower", message=messages_of(Kind.FETCHED))
def take_response(quorum: Quorum, message: Message) -> Quorum | None:
    """A follower takes the response to its fetch.

    Actor: the follower.
    Enabled: the response is on its way, and it is the one that the follower waits for.
    Effect: it appends the entry, truncates its log, or learns of another epoch or leader.
    Source: HandleSuccessFetchResponse, HandleDivergingFetchResponse, HandleErrorFetchResponse;
        org.apache.kafka.raft.KafkaRaftClient#handleFetchResponse (3.2).
    """
    if not quorum.awaits(message):
        return None
    before = quorum.servers[message.dest]
    if before.pending != message.request:
        return None
    after = after_response(before, message.dest, message.leader, message.epoch, message.result)
    if after is None:
        if message.result is Result.DIVERGING:
            after = evolve(before, log=truncated(before, message))
        else:
            log = before.log if message.entry is None else before.log + (Entry(*message.entry),)
            after = evolve(before, log=log, high_watermark=message.high_watermark)
    return quorum.with_server(message.dest, evolve(after, pending=None)).received(message)


def truncated(server: Logged[OfLog], message: Message) -> tuple[OfLog, ...]:
    """A log up to the last offset that is not beyond what the leader named. Source: TruncateLog."""
    for offset in range(len(server.log), 0, -1):
        if (server.log[offset - 1].epoch, offset) <= (message.end_epoch, message.end_offset):
            return server.log[:offset]
    return ()


STEPS = (send_fetch, reject_fetch, reveal_divergence, serve_fetch, take_response)
