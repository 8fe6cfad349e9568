"""How the public specifications of replication under KRaft are drawn: clients, the controller, each broker, and
fetches, proposals and registrations between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from highwater.model.kraft_reference.messages import Answer, Fetch, Fetching, Proposal
from highwater.model.kraft_reference.state import Broker, Cluster, Registering, Role, Status
from highwater.model.language.declarations import Instance
from highwater.model.language.domain import Struct
from highwater.model.language.picture import Badge, Block, Drawing, Fact, Lane, Log, Message, NameSet, Picture, Tone
from highwater.viewer.pictures.of_any_model import log_of, names, role

CLIENTS, CONTROLLER = "clients", "controller"
DOWN = {Status.OFFLINE_CLEAN: "down", Status.OFFLINE_DIRTY: "down, uncleanly"}


def draw(domain: Struct, cluster: Cluster) -> Picture:
    """The picture of a state."""
    partition = cluster.partition
    leader = None if partition.leader is None else f"b{partition.leader}"
    lanes = {CLIENTS: clients_lane(domain, cluster), CONTROLLER: controller_lane(domain, cluster)}
    lanes |= {f"b{number}": broker_lane(domain, cluster, number) for number in range(len(cluster.brokers))}
    return Picture(lanes, tuple(in_flight(cluster)), partition.leader_epoch, leader)


def clients_lane(domain: Struct, cluster: Cluster) -> Lane:
    """What was consumed, and which values were sent, acknowledged and refused."""
    seen = cluster.clients
    values = (("sent", seen.sent), ("acknowledged", seen.acked), ("refused", seen.refused))
    facts = [Fact(name, " ".join(f"v{each}" for each in sorted(found)), not found) for name, found in values]
    consumed = log_of(domain.fields["clients"].fields["consumed"], seen.consumed, name="consumed")
    return Lane(logs=(consumed,), facts=tuple(facts))


def controller_lane(domain: Struct, cluster: Cluster) -> Lane:
    """The partition as the newest metadata record has it, and the brokers as they are registered."""
    partition = cluster.partition
    elected = "no leader" if partition.leader is None else f"b{partition.leader} leads"
    short = f"{'-' if partition.leader is None else f'b{partition.leader}'} e{partition.leader_epoch}"
    changes = tuple(Block(str(number), change.leader_epoch) for number, change in enumerate(cluster.metadata_log))
    log = Log(changes, room=int(domain.fields["metadata_log"].max_length), name="metadata log")
    sets = {"ISR": partition.isr, "ELR": partition.elr, "last known ELR": partition.last_known_elr}
    sets |= {"replicas": partition.replicas, "adding": partition.adding, "removing": partition.removing}
    sets["fenced"] = frozenset(number for number, each in enumerate(cluster.registrations) if each.fenced)
    shown = tuple(NameSet(name, names(members)) for name, members in sets.items() if members or name == "ISR")
    epochs = ", ".join(f"b{number} {each.broker_epoch}" for number, each in enumerate(cluster.registrations))
    rejected = sum(len(change.rejections) for change in cluster.metadata_log)
    facts = [Fact("broker epochs", epochs), Fact("rejected before", str(rejected), not rejected)]
    used = ((name, getattr(cluster.used, name)) for name in domain.fields["used"].fields)
    facts += [Fact(name.replace("_", " "), str(count), not count) for name, count in used]
    return Lane((Badge(f"{elected} e{partition.leader_epoch}", short=short),), (log,), shown, tuple(facts))


def broker_lane(domain: Struct, cluster: Cluster, number: int) -> Lane:
    """A broker with its role, its log, and what it knows of the partition."""
    broker, known = cluster.brokers[number], cluster.metadata_of(number)
    log = log_of(domain.fields["brokers"].of.fields["log"], broker.log, broker.high_watermark)
    name_sets = []
    if broker.leads:
        name_sets.append(NameSet("its ISR", names(known.isr), names(cluster.partition.isr)))
        if broker.proposal is not None:
            name_sets.append(NameSet("maximal ISR", names(cluster.maximal_isr(number))))
    return Lane(badges_of(cluster, number), (log,), tuple(name_sets), tuple(facts_of(cluster, broker)))


def badges_of(cluster: Cluster, number: int) -> tuple[Badge, ...]:
    """Whether a broker runs, and the role of its replica."""
    broker, known = cluster.brokers[number], cluster.metadata_of(number)
    if broker.status in DOWN:
        return (Badge(DOWN[broker.status], Tone.DOWN, "D"),)
    starting = (Badge("starting", Tone.IDLE, "s"),) if broker.status is Status.STARTING else ()
    follows = broker.role is Role.FOLLOWER and known.leader is not None
    stale = broker.leads and cluster.partition.leader != number
    followed, epoch = f"b{known.leader}" if follows else None, known.leader_epoch if broker.known > 0 else None
    return (*starting, role(followed, epoch, leads=broker.leads, stale=stale))


def facts_of(cluster: Cluster, broker: Broker) -> Iterator[Fact]:
    """The rest of what a broker knows."""
    yield Fact("metadata", f"{broker.applied} of {len(cluster.metadata_log)}")
    yield Fact("partition epoch", "none" if broker.known < 1 else str(broker.known - 1), broker.known < 1)
    yield Fact("broker epoch", str(broker.broker_epoch))
    yield Fact("incarnation", str(broker.incarnation), not broker.incarnation)
    fetches_from = "none" if broker.fetches_from is None else f"b{broker.fetches_from}"
    yield Fact("fetches from", fetches_from, broker.fetches_from is None)
    yield Fact("delays its fetch", "yes" if broker.delayed else "no", not broker.delayed)
    for name, offset in (("epoch start", broker.epoch_start), ("first written", broker.first_written)):
        yield Fact(name, "none" if offset is None else str(offset), offset is None)
    ends = [
        f"b{other} {each.log_end_offset} in broker epoch {each.broker_epoch}"
        for other, each in enumerate(broker.followers)
        if each.log_end_offset is not None
    ]
    yield Fact("followers end at", ", ".join(ends) or "none", not ends)
    answered = broker.proposal is not None and broker.proposal.answer is Answer.LEARNED
    yield Fact("proposal", f"learned: {broker.proposal}" if answered else "none", not answered)
    yield Fact("rejected", str(len(broker.rejections)), not broker.rejections)


def in_flight(cluster: Cluster) -> Iterator[Message]:
    """Fetches, proposals, and registrations, each with its answer."""
    for number, broker in enumerate(cluster.brokers):
        for leader, fetch in enumerate(broker.fetches):
            if fetch.kind is not Fetching.NONE:
                yield _fetch(number, leader, fetch)
        if broker.proposal is not None:
            known = cluster.metadata_of(number)
            yield from _proposal(("proposal", number), number, broker.proposal, known.leader_epoch)
    for offset, change in enumerate(cluster.metadata_log):
        for proposal in change.left if change.leader is not None else ():
            yield from _proposal(("left", offset), change.leader or 0, proposal, change.leader_epoch)
    for number, start in enumerate(cluster.starts):
        ends = f"b{start.broker}", CONTROLLER
        if start.stage is Registering.REQUEST:
            yield Message(("request", number), "BrokerRegistration", f"former epoch {start.former_epoch}", *ends)
        elif start.stage is Registering.RESPONSE:
            yield Message(("response", number), "registered", f"broker epoch {start.broker_epoch}", *ends[::-1])


def _fetch(follower: int, leader: int, fetch: Fetch) -> Message:
    ends = (f"b{follower}", f"b{leader}") if fetch.kind is Fetching.REQUEST else (f"b{leader}", f"b{follower}")
    parts = {"epoch": fetch.epoch, "end offset": fetch.end_offset, "high watermark": fetch.high_watermark}
    more = "".join(f", {name} {value}" for name, value in parts.items() if value)
    kind = "fetch" if fetch.kind is Fetching.REQUEST else fetch.kind.value
    return Message(("fetch", follower, leader, fetch), kind, f"offset {fetch.offset}{more}", *ends, fetch.leader_epoch)


def _proposal(key: tuple[str, int], leader: int, proposal: Proposal, epoch: int) -> Iterator[Message]:
    ends = f"b{leader}", CONTROLLER
    if proposal.answer is Answer.NONE:
        yield Message((*key, "asked"), "AlterPartition", str(proposal), *ends, epoch)
    elif proposal.answer is not Answer.LEARNED:
        yield Message((*key, "answered"), "answer", str(proposal), *ends[::-1], epoch)


def place(action: Instance, before: Cluster) -> str | None:
    """The broker that starts in the incarnation that an action names."""
    if action.of.name != "finish_start":
        return None
    return f"b{before.starts[action.arguments['incarnation'] - 2].broker}"


def drops(action: Instance) -> bool:
    """Whether messages are lost with a broker's connections."""
    return action.of.name.startswith("shut_down")


KRAFT_REFERENCE = Drawing(draw, drops=drops, place=place)
