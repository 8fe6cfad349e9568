"""How the model of the KRaft control plane is drawn: what the metadata log says, and each broker with what it has read
of it.

The metadata log is drawn as each partition's records in it, one for each partition epoch. A broker's log is as much of
it as the broker has read. If there are several partitions, their numbers stand before what is of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from highwater.model.kraft.image import Partition, Standing
from highwater.model.kraft.state import Cluster, Fate, Proposal
from highwater.model.language.domain import Struct
from highwater.model.language.picture import Badge, Block, Drawing, Fact, Lane, Log, Message, NameSet, Picture, Tone
from highwater.viewer.pictures.of_any_model import names, role

CONTROLLER = "controller"


def draw(domain: Struct, cluster: Cluster) -> Picture:
    """The picture of a state."""
    room = int(domain.fields["partitions"].of.fields["partition_epoch"].high) + 1
    lanes = {CONTROLLER: controller_lane(cluster, room)}
    lanes |= {f"b{broker}": broker_lane(cluster, broker, room) for broker in cluster.ids}
    newest = max(each.leader_epoch for each in cluster.partitions)
    leaders = {each.leader for each in cluster.partitions}
    leader = None if len(leaders) > 1 or None in leaders else f"b{cluster.partitions[0].leader}"
    return Picture(lanes, tuple(messages(cluster)), newest, leader)


def prefix(cluster: Cluster, partition: int) -> str:
    """What stands before what is of one partition."""
    return f"p{partition} " if len(cluster.partitions) > 1 else ""


def metadata_log(last: int, room: int, of: str, committed: int | None = None) -> Log:
    """A partition's records in the metadata log.

    Args:
        last: the newest partition epoch.
        of: the prefix of the partition.
        committed: the newest one that is committed.
    """
    blocks = tuple(Block(str(number)) for number in range(last + 1))
    return Log(blocks, None if committed is None else committed + 1, room=room, name=f"{of}metadata log")


def controller_lane(cluster: Cluster, room: int) -> Lane:
    """What the metadata log says, and whom the active controller has heard of."""
    badges: list[Badge] = []
    logs: list[Log] = []
    name_sets: list[NameSet] = []
    facts: list[Fact] = []
    for partition in cluster.partition_ids:
        of, now = prefix(cluster, partition), cluster.partitions[partition]
        badges += partition_badges(now, of)
        logs.append(
            metadata_log(now.partition_epoch, room, of, cluster.committed.partitions[partition].partition_epoch)
        )
        name_sets += [NameSet(f"{of}{name}", names(members)) for name, members in in_sync(now)]
        facts += partition_facts(cluster, now, of)
    if cluster.tail:
        pending = f"{len(cluster.tail)} not committed"
        badges.append(Badge(pending, Tone.STALE, "tail", "Batches that a fail-over may lose."))
    if cluster.deposed:
        badges.append(Badge("another believes it is active", Tone.STALE, "two", "A deposed controller still answers."))
    name_sets += registered(cluster)
    if cluster.used.min_isr_changes:
        facts.append(Fact("min.insync.replicas", str(cluster.min_isr)))
    if cluster.mishap is not None:
        facts.append(Fact("there was", cluster.mishap.value))
    return Lane(tuple(badges), tuple(logs), tuple(name_sets), tuple(facts))


def partition_badges(now: Partition, of: str) -> Iterable[Badge]:
    who = "no leader" if now.leader is None else f"b{now.leader} leads"
    yield Badge(f"{of}{who} e{now.leader_epoch}", short=f"{of}{who}")
    if now.recovering:
        yield Badge(f"{of}recovering", Tone.STALE, "rec", "The leader was elected uncleanly.")


def in_sync(now: Partition) -> Iterable[tuple[str, frozenset[int]]]:
    yield "ISR", now.isr
    if now.elr:
        yield "ELR", now.elr


def partition_facts(cluster: Cluster, now: Partition, of: str) -> Iterable[Fact]:
    yield Fact(f"{of}replicas", " ".join(f"b{broker}" for broker in now.replicas))
    if cluster.used.topic_deletions:
        yield Fact(f"{of}topic", f"{now.topic_id}" if now.replicas else "deleted")
    for name, members in (("adding", now.adding), ("removing", now.removing)):
        if members:
            yield Fact(f"{of}{name}", " ".join(names(members)))
    if now.last_known_leader is not None:
        yield Fact(f"{of}last known leader", f"b{now.last_known_leader}")


def registered(cluster: Cluster) -> Iterable[NameSet]:
    """What the registrations say, and whom the active controller has heard of."""
    for standing in (Standing.FENCED, Standing.LEAVING, Standing.UNREGISTERED):
        members = names(broker for broker in cluster.ids if cluster.registrations[broker].standing is standing)
        if members:
            yield NameSet(standing.value, members)
    if cluster.heartbeats.leaving:
        yield NameSet("offset noted for shutdown", names(cluster.heartbeats.leaving))
    outdated = names(broker for broker in cluster.ids if cluster.registrations[broker].outdated)
    if outdated:
        yield NameSet("directories unknown", outdated)
    if len(cluster.heartbeats.contacted) < len(cluster.brokers):
        yield NameSet("heard of", names(cluster.heartbeats.contacted))
    for partition in cluster.partition_ids:
        failed = names(broker for broker in cluster.ids if cluster.registrations[broker].directories_failed[partition])
        if failed:
            yield NameSet(f"{prefix(cluster, partition)}directory failed", failed)


def broker_lane(cluster: Cluster, broker: int, room: int) -> Lane:
    """A broker, its roles as far as it knows, and how far it has read the metadata log."""
    ours = cluster.brokers[broker]
    lanes = [replica_lane(cluster, broker, partition, room) for partition in cluster.partition_ids]
    badges = [badge for lane in lanes for badge in lane.badges]
    name_sets = [each for lane in lanes for each in lane.name_sets]
    facts = [fact for lane in lanes for fact in lane.facts]
    if cluster.registrations[broker].broker_epoch:
        facts.append(Fact("broker epoch", str(cluster.registrations[broker].broker_epoch)))
    if not ours.running:
        return Lane((Badge("down", Tone.DOWN, "x"),), facts=tuple(facts))
    if ours.stopping:
        badges.append(Badge("shutting down", short="leaving"))
    if cluster.heartbeats.waits_for[broker]:
        name_sets.append(NameSet("waits for", names(cluster.heartbeats.waits_for[broker])))
    if not ours.knows_registration:
        facts.append(Fact("metadata log", "read up to before its registration"))
    if ours.unread:
        facts.append(Fact("batches not read", str(ours.unread)))
    return Lane(tuple(badges), tuple(log for lane in lanes for log in lane.logs), tuple(name_sets), tuple(facts))


def replica_lane(cluster: Cluster, broker: int, partition: int, room: int) -> Lane:
    """What a broker has of one partition."""
    of, now, ours = (
        prefix(cluster, partition),
        cluster.partitions[partition],
        cluster.brokers[broker].replicas[partition],
    )
    facts = [Fact(f"{of}committed records", "all" if ours.complete else "some are missing")]
    if ours.topic_id != now.topic_id:
        facts.append(Fact(f"{of}log", f"of topic {ours.topic_id}"))
    badges = [Badge("knows nothing yet", Tone.IDLE, "-")]
    name_sets: tuple[NameSet, ...] = ()
    logs: tuple[Log, ...] = ()
    if ours.view is not None:
        leads = ours.view.leader == broker
        followed = None if ours.view.leader is None else f"b{ours.view.leader}"
        stale = leads and ours.view.leader_epoch < now.leader_epoch
        badges = [role(followed, ours.view.leader_epoch, leads=leads, stale=stale)]
        name_sets = (NameSet(f"{of}its ISR", names(ours.view.isr), names(now.isr)),) if leads else ()
        logs = (metadata_log(ours.view.partition_epoch, room, of),)
    if ours.directory_failed:
        badges.append(Badge("directory failed", Tone.DOWN, "dir", "The log of its replica is out of reach."))
    if ours.missing:
        badges.append(Badge("no replica", Tone.DOWN, "none", "It has deleted a stray log, and made no replica."))
    badges = [attrs.evolve(badge, text=f"{of}{badge.text}", short=f"{of}{badge.short}") for badge in badges]
    return Lane(tuple(badges), logs, name_sets, tuple(facts))


def messages(cluster: Cluster) -> Iterable[Message]:
    """What AlterPartition requests ask for."""
    for broker in cluster.ids:
        for partition in cluster.partition_ids:
            proposal = cluster.brokers[broker].replicas[partition].proposal
            if proposal is None:
                continue
            key = ("request", broker, partition, proposal)
            text = prefix(cluster, partition) + asked(proposal)
            text = text if proposal.fate is Fate.IN_FLIGHT else f"{text}: {proposal.fate.value}"
            yield Message(key, "AlterPartition", text, f"b{broker}", CONTROLLER, proposal.leader_epoch)


def asked(proposal: Proposal) -> str:
    """What a proposal asks for, in words."""
    of = f"of partition epoch {proposal.partition_epoch}"
    if proposal.newcomer is None:
        return f"ISR without b{proposal.leaver}, {of}"
    return f"ISR with b{proposal.newcomer} (broker epoch {proposal.newcomer_epoch}), {of}"


ANSWERS = {"answer_alter_partition", "answer_as_deposed", "commit_batch", "fail_over", "read_metadata"}

KRAFT = Drawing(draw, drops=lambda action: action.of.name not in ANSWERS)
