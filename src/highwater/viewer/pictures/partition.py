"""How the partition model is drawn: the controller's record, what clients saw, and each broker with what it has
sent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from operator import attrgetter
from typing import Any

from highwater.model.language.declarations import Instance
from highwater.model.language.domain import SequenceOf, Struct
from highwater.model.language.picture import Badge, Block, Drawing, Fact, Lane, Log, Message, NameSet, Picture, Tone
from highwater.model.partition.messages import Answer, Fetch, IsrChange, Stage
from highwater.model.partition.state import Partition, Process, Replica, Standing
from highwater.viewer.pictures.of_any_model import log_of, names, role

CONTROLLER, CLIENTS = "controller", "clients"
READS = {  # what is off its way after any other action was lost, or is of no use any more
    *("serve_fetch", "receive_fetch", "handle_out_of_range"),
    *("alter_partition", "complete_removal", "ask_deposed_controller", "receive_isr_answer"),
}
# the parameter that says where it happens
AT = {"lose_fetch": "follower", "lose_isr_answer": "leader", "outlast_lag_time": "leader"}


def draw(domain: Struct, partition: Partition) -> Picture:
    """The picture of a state."""
    quorum = partition.quorum
    lanes = {CONTROLLER: controller_lane(partition), CLIENTS: clients_lane(domain, partition)}
    log = domain.fields["replicas"].of.fields["log"]
    for broker in range(len(partition.replicas)):
        lanes[f"b{broker}"] = broker_lane(log, partition, broker)
    leader = None if quorum.leader is None else f"b{quorum.leader}"
    return Picture(lanes, tuple(messages(partition)), partition.leader_epoch, leader)


def controller_lane(partition: Partition) -> Lane:
    """What is so: leader, ISR, and how the controller sees the brokers."""
    quorum = partition.quorum
    who = "no leader" if quorum.leader is None else f"b{quorum.leader} leads"
    short = "-" if quorum.leader is None else f"b{quorum.leader}"
    elected = Badge(f"{who} e{partition.leader_epoch}", short=f"{short} e{partition.leader_epoch}")
    by_standing = {
        standing.value: names(broker for broker, each in enumerate(quorum.registrations) if each.standing is standing)
        for standing in (Standing.FENCED, Standing.SHUTTING_DOWN)
    }
    assigned = names(quorum.assignment)
    last = () if quorum.last_known_leader is None else (quorum.last_known_leader,)
    removing = names(quorum.removing)
    sets = {"ELR": names(quorum.elr), "last known leader": names(last), "removing": removing, **by_standing}
    if len(assigned) < len(partition.replicas):
        sets["assigned"] = assigned
    name_sets = (
        NameSet("ISR", names(quorum.isr)),
        *(NameSet(name, members) for name, members in sets.items() if members),
    )
    recovering = Badge("recovering", Tone.STALE, "rec", "The leader was elected uncleanly.")
    badges = (elected, recovering) if quorum.recovering else (elected,)
    return Lane(badges, name_sets=name_sets, facts=(Fact("version", str(quorum.partition_epoch)),))


def clients_lane(domain: Struct, partition: Partition) -> Lane:
    """What was promised: by offset what was once committed, and what was acknowledged to producers."""
    clients, of = partition.clients, domain.fields["clients"]
    logs = [log_of(of.fields["exposed"], clients.exposed, name="exposed", text_of=attrgetter("name"))]
    if clients.consumed:
        read = tuple(Block("-" if record is None else f"r{record}") for record in clients.consumed)
        logs.append(Log(read, room=len(read), name="read last"))
    sets = {"acked": clients.acked, "refused": clients.rejected}
    name_sets = tuple(
        NameSet(name, tuple(f"r{record}" for record in sorted(records))) for name, records in sets.items() if records
    )
    asked = clients.end_offset_epoch >= 0 or clients.end_offset > 0
    facts = (Fact("end offset", f"{clients.end_offset} in e{clients.end_offset_epoch}"),) if asked else ()
    return Lane(logs=tuple(logs), name_sets=name_sets, facts=facts)


def broker_lane(log: SequenceOf, partition: Partition, broker: int) -> Lane:
    """A broker, its log, and as a leader what it believes of the ISR and of its followers."""
    replica, quorum = partition.replicas[broker], partition.quorum
    badges = []
    if not replica.is_up:
        halted = replica.process is Process.HALTED
        badges.append(
            Badge(
                replica.process.value,
                Tone.DOWN,
                "H" if halted else "x",
                "It has ended itself." if halted else "It is down.",
            )
        )
    presumes = replica.leader == broker
    known = replica.leader_epoch if replica.leader_epoch >= 0 else None
    followed = None if replica.leader is None else f"b{replica.leader}"
    badges.append(role(followed, known, leads=presumes, stale=presumes and replica.is_up and quorum.leader != broker))
    if replica.truncating:
        badges.append(Badge("has to truncate", short="T", meaning="It asks where to cut its log before it may fetch."))
    if replica.fetch is not None and replica.fetch.stage is Stage.TRUNCATE:
        badges.append(
            Badge("about to truncate", short="T", meaning="It has learned where its log diverges from the leader's.")
        )
    name_sets: tuple[NameSet, ...] = ()
    facts: list[Fact] = []
    if replica.leadership is not None:
        leadership, truth = replica.leadership, names(quorum.isr)
        name_sets = (NameSet("its ISR", names(leadership.isr), truth),)
        if leadership.pending is not None:
            name_sets += (
                NameSet("pending ISR", names(leadership.pending)),
                NameSet("maximal ISR", names(leadership.isr | leadership.pending)),
            )
        if leadership.start_offset:
            facts.append(Fact("epoch began at", str(leadership.start_offset)))
        facts += known_of_followers(replica, broker)
        if leadership.candidate is not None:
            facts.append(Fact("about to propose", f"b{leadership.candidate}"))
    if replica.checkpoint:
        facts.append(Fact("checkpoint", str(replica.checkpoint)))
    if epoch := quorum.registrations[broker].broker_epoch:
        facts.append(Fact("broker epoch", str(epoch)))
    kept = log_of(
        log, replica.log[replica.log_start :], replica.high_watermark, replica.log_start, text_of=attrgetter("name")
    )
    return Lane(tuple(badges), (kept,), name_sets, tuple(facts))


def known_of_followers(replica: Replica, broker: int) -> list[Fact]:
    """Where a leader believes that its followers' logs end."""
    others = [(each, known.log_end_offset) for each, known in enumerate(replica.followers) if each != broker]
    ends = " ".join(f"b{each}:{end}" for each, end in others if end is not None)
    return [Fact("follower LEO", ends)] if ends else []


def messages(partition: Partition) -> Iterable[Message]:
    """What is on its way: elections to be learned, fetches and their responses, ISR changes and their answers."""
    for epoch, election in enumerate(partition.elections[1:], 1):
        leader = "none" if election.leader is None else f"b{election.leader}"
        text = f"leader {leader} ISR {{{' '.join(names(election.isr))}}}"
        yield Message(("election", epoch), "LeaderAndIsr", text, CONTROLLER, epoch=epoch)
    for broker, replica in enumerate(partition.replicas):
        if replica.fetch is not None and replica.fetch.stage is not Stage.TRUNCATE:
            yield fetch_message(broker, replica.fetch)
        for number, change in enumerate(replica.changes):
            yield isr_message(broker, change, replica.changes[:number].count(change))


def fetch_message(broker: int, fetch: Fetch) -> Message:
    """A follower's fetch on its way, or the response."""
    key, leader = ("fetch", broker, fetch), f"b{fetch.leader}"
    if fetch.stage is Stage.REQUEST:
        return Message(key, "Fetch", f"from {fetch.offset}", f"b{broker}", leader, fetch.leader_epoch)
    content = " ".join(map(str, fetch.records)) or fetch.stage.value
    if fetch.stage is Stage.DIVERGING:
        content += f": e{fetch.epoch} ends at {fetch.end_offset}" if fetch.epoch >= 0 else f": at {fetch.end_offset}"
    return Message(
        key, "FetchResponse", f"{content}, HW {fetch.high_watermark}", leader, f"b{broker}", fetch.leader_epoch
    )


def isr_message(broker: int, change: IsrChange, before: int) -> Message:
    """A leader's request for another ISR on its way, or the answer. `before` distinguishes equal ones."""
    key, isr = ("change", broker, change, before), f"ISR {{{' '.join(names(change.isr))}}}"
    if change.answer is Answer.NONE:
        return Message(
            key,
            "AlterPartition",
            f"{isr} on version {change.partition_epoch}",
            f"b{broker}",
            CONTROLLER,
            change.leader_epoch,
        )
    return Message(
        key, "AlterPartition answer", f"{change.answer.value}: {isr}", CONTROLLER, f"b{broker}", change.leader_epoch
    )


def received(action: Instance, before: Partition) -> Iterable[tuple[Hashable, str]]:
    """Elections stay to be learned by others."""
    return [(("election", action.arguments["epoch"]), action.actor)] if action.of.name == "learn_leadership" else []


def place(action: Instance, before: Partition) -> str | None:
    """The lane of an action whose actor has none of its own name."""
    name: Any = action.of.name
    if name == "serve_fetch":
        return f"b{before.replicas[action.arguments['follower']].fetch.leader}"
    if action.actor == "consumer":
        return CLIENTS
    return action.shown[AT[name]] if name in AT else None


PARTITION = Drawing(draw, received, drops=lambda action: action.of.name not in READS, place=place)
