"""How the public specification of the KRaft quorum whose voters change is drawn: what clients know, each server with
its configuration, and messages between servers.
"""

from __future__ import annotations

from highwater.model.language.declarations import Instance
from highwater.model.language.domain import Struct
from highwater.model.language.picture import Badge, Block, Drawing, Fact, Lane, Log, Message, NameSet, Picture, Tone
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum, Role, Server, ServerRole
from highwater.viewer.pictures.of_any_model import role
from highwater.viewer.pictures.quorum import CLIENTS

SHORT = {
    ServerRole.UNATTACHED: "·",
    ServerRole.VOTED: "V",
    ServerRole.CANDIDATE: "C",
    ServerRole.RESIGNED: "R",
    ServerRole.DEAD: "X",
    ServerRole.ILLEGAL: "!",
}
STALE = (ServerRole.DEAD, ServerRole.ILLEGAL)


def draw(domain: Struct, quorum: ChangingQuorum) -> Picture:
    """The picture of a state."""
    newest = max(server.epoch for server in quorum.servers)
    room = int(domain.fields["servers"].of.fields["log"].max_length)
    servers = {f"s{number}": server for number, server in enumerate(quorum.servers)}
    lanes = {CLIENTS: clients_lane(domain, quorum)}
    lanes |= {name: server_lane(server, name, newest, room) for name, server in servers.items()}
    leaders = [
        name for name, server in servers.items() if server.standing is ServerRole.LEADER and server.epoch == newest
    ]
    messages = [
        Message(
            message,
            message.kind.value,
            message.content.strip(" ,:"),
            f"s{message.source}",
            f"s{message.dest}",
            message.epoch,
        )
        for message in sorted(quorum.on_their_way, key=str)
    ]
    return Picture(lanes, tuple(messages), newest, leaders[0] if leaders else None)


def clients_lane(domain: Struct, quorum: ChangingQuorum) -> Lane:
    """What became of each value, what is disconnected, and how often servers restarted, crashed and so on."""
    clients = quorum.clients
    facts = []
    for value in domain.fields["clients"].fields["sent"].of.values():
        answers = [name for name in ("acked", "failed") if value in getattr(clients, name)]
        is_sent = value in clients.sent
        known = " and ".join(answers) or ("written" if is_sent else "not written")
        facts.append(Fact(f"v{value}", known.replace("acked", "acknowledged"), not is_sent))
    apart = " ".join(f"s{one}-s{other}" for one, other in sorted(quorum.cut))
    facts.append(Fact("disconnected", apart or "none", not apart))
    for name, of in domain.fields["used"].fields.items():
        count = getattr(quorum.used, name)
        if of.high:
            facts.append(Fact(name.replace("_", " "), str(count), not count))
    return Lane(facts=tuple(facts))


def server_lane(server: Server, name: str, newest: int, room: int) -> Lane:
    """A server with its role, log, configuration and votes."""
    blocks = tuple(Block(str(entry).partition("@")[0], entry.epoch) for entry in server.log)
    log = Log(blocks, server.high_watermark, 0, room)
    if not server.is_started:
        return Lane((Badge("not started", Tone.IDLE, "-"),), (log,))
    voters = "voters" if server.is_committed else "voters (not committed)"
    name_sets = [NameSet(voters, names(server.configuration.members))]
    if server.standing is ServerRole.CANDIDATE:
        name_sets.append(NameSet("votes", names(server.votes)))
    return Lane(badges(server, newest), (log,), tuple(name_sets), tuple(facts_of(server, name)))


def names(servers: frozenset[int]) -> tuple[str, ...]:
    return tuple(f"s{server}" for server in sorted(servers))


def facts_of(server: Server, name: str) -> list[Fact]:
    facts = [Fact("host", f"h{server.host}")]
    if server.voted_for is not None:
        facts.append(Fact("voted for", f"s{server.voted_for}"))
    if server.standing is ServerRole.LEADER:
        ends = [f"s{peer} {end}" for peer, end in enumerate(server.end_offsets) if end is not None]
        facts.append(Fact("ends", ", ".join(end for end in ends if not end.startswith(f"{name} "))))
    if server.unacked:
        facts.append(Fact("not acknowledged", " ".join(f"v{value}" for value in sorted(server.unacked))))
    if server.pending is not None:
        facts.append(Fact("waits for", f"its fetch{server.pending.content}"))
    return facts


def badges(server: Server, newest: int) -> tuple[Badge, ...]:
    observes = (Badge("observer", Tone.IDLE, "o"),) if server.role is Role.OBSERVER else ()
    if server.standing is ServerRole.LEADER:
        return (role(None, server.epoch, leads=True, stale=server.epoch < newest), *observes)
    if server.standing is ServerRole.FOLLOWER:
        return (role(None if server.leader is None else f"s{server.leader}", server.epoch, leads=False), *observes)
    tone = Tone.STALE if server.standing in STALE else Tone.IDLE
    short = f"{SHORT[server.standing]}{server.epoch}"
    return (Badge(f"{server.standing.value} e{server.epoch}", tone, short), *observes)


def place(action: Instance, before: ChangingQuorum) -> str:
    """Whom a message is for. The network has no lane."""
    message = action.arguments.get("message")
    return CLIENTS if message is None else f"s{message.dest}"


CHANGING_QUORUM = Drawing(draw, place=place)
