"""How the public specification of the KRaft quorum is drawn: what clients know, each server, and messages between
servers.
"""

from __future__ import annotations

from collections.abc import Iterator

from highwater.model.language.declarations import Instance
from highwater.model.language.domain import Struct
from highwater.model.language.picture import Badge, Drawing, Fact, Lane, Message, NameSet, Picture, Tone
from highwater.model.quorum_reference.state import Quorum, Server, ServerRole
from highwater.viewer.pictures.of_any_model import log_of, role

CLIENTS = "clients"
ACKNOWLEDGED = {None: "not written", False: "written", True: "acknowledged"}
SHORT = {ServerRole.UNATTACHED: "·", ServerRole.VOTED: "V", ServerRole.CANDIDATE: "C", ServerRole.ILLEGAL: "!"}


def draw(domain: Struct, quorum: Quorum) -> Picture:
    """The picture of a state."""
    newest = max(server.epoch for server in quorum.servers)
    lanes = {CLIENTS: clients_lane(quorum)}
    lanes |= {
        f"s{number}": server_lane(domain.fields["servers"].of, server, number, newest)
        for number, server in enumerate(quorum.servers)
    }
    leaders = [
        f"s{number}"
        for number, server in enumerate(quorum.servers)
        if server.standing is ServerRole.LEADER and server.epoch == newest
    ]
    return Picture(lanes, tuple(on_their_way(quorum)), newest, leaders[0] if leaders else None)


def clients_lane(quorum: Quorum) -> Lane:
    """What became of each value, and how many elections and restarts there were."""
    facts = [Fact(f"v{value}", ACKNOWLEDGED[acked], acked is None) for value, acked in enumerate(quorum.acked)]
    facts.append(Fact("elections", str(quorum.elections), not quorum.elections))
    facts.append(Fact("restarts", str(quorum.restarts), not quorum.restarts))
    return Lane(facts=tuple(facts))


def server_lane(domain: Struct, server: Server, number: int, newest: int) -> Lane:
    """A server with its role, log and votes."""
    name_sets = []
    if server.standing is ServerRole.CANDIDATE:
        name_sets.append(NameSet("votes", tuple(f"s{voter}" for voter in sorted(server.votes))))
    facts = []
    if server.voted_for is not None:
        facts.append(Fact("voted for", f"s{server.voted_for}"))
    if server.standing is ServerRole.LEADER:
        ends = [f"s{other} {end}" for other, end in enumerate(server.end_offsets) if other != number]
        facts.append(Fact("ends", ", ".join(ends)))
    if server.pending is not None:
        facts.append(Fact("waits for", f"its fetch{server.pending.content}"))
    log = log_of(domain.fields["log"], server.log, server.high_watermark)
    return Lane((badge_of(server, newest),), (log,), tuple(name_sets), tuple(facts))


def badge_of(server: Server, newest: int) -> Badge:
    if server.standing is ServerRole.LEADER:
        return role(None, server.epoch, leads=True, stale=server.epoch < newest)
    if server.standing is ServerRole.FOLLOWER:
        return role(None if server.leader is None else f"s{server.leader}", server.epoch, leads=False)
    tone = Tone.STALE if server.standing is ServerRole.ILLEGAL else Tone.IDLE
    short = f"{SHORT[server.standing]}{server.epoch}"
    return Badge(f"{server.standing.value} e{server.epoch}", tone, short)


def on_their_way(quorum: Quorum) -> Iterator[Message]:
    """Every copy of a message that is to be handled."""
    levels = (quorum.messages.on_their_way, *quorum.messages.more_copies)
    for copy, messages in enumerate(levels):
        for message in sorted(messages, key=str):
            ends = f"s{message.source}", f"s{message.dest}"
            yield Message((message, copy), message.kind.value, message.content.strip(" ,:"), *ends, message.epoch)


def place(action: Instance, before: Quorum) -> str:
    """The server that acts: whom a message is for, or whom the action names."""
    message = action.arguments.get("message")
    acting = next(iter(action.arguments.values())) if message is None else message.dest
    return f"s{acting}"


QUORUM = Drawing(draw, place=place)
