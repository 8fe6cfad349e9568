"""How the model of the KRaft control plane is drawn: what the metadata log says, and each broker with what it has read
of it.

The metadata log is drawn as the partition's records in it, one for each partition epoch. A broker's log is as much of
it as the broker has read.
"""

from __future__ import annotations

from collections.abc import Iterable

from highwater.viewer.picture import Badge, Block, Drawing, Fact, Lane, Log, Message, NameSet, Picture, Tone
from highwater.viewer.pictures.of_any_model import names, role
from model.kraft.state import Cluster, Fate, Proposal, Standing
from model.language.domain import Struct

CONTROLLER = "controller"


def draw(domain: Struct, cluster: Cluster) -> Picture:
    """The picture of a state."""
    room = int(domain.fields["partition"].fields["partition_epoch"].high) + 1
    lanes = {CONTROLLER: controller_lane(cluster, room)}
    lanes |= {f"b{broker}": broker_lane(cluster, broker, room) for broker in cluster.ids}
    partition = cluster.partition
    leader = None if partition.leader is None else f"b{partition.leader}"
    return Picture(lanes, tuple(messages(cluster)), partition.leader_epoch, leader)


def metadata_log(last: int, room: int, committed: int | None = None) -> Log:
    """The partition's records in the metadata log.

    Args:
        last: the newest partition epoch.
        committed: the newest one that is committed.
    """
    blocks = tuple(Block(f"p{number}") for number in range(last + 1))
    return Log(blocks, None if committed is None else committed + 1, room=room, name="metadata log")


def controller_lane(cluster: Cluster, room: int) -> Lane:
    """What the metadata log says, and whom the active controller has heard of."""
    partition = cluster.partition
    who = "no leader" if partition.leader is None else f"b{partition.leader} leads"
    badges = [Badge(f"{who} e{partition.leader_epoch}", short=who)]
    if partition.recovering:
        badges.append(Badge("recovering", Tone.STALE, "rec", "The leader was elected uncleanly."))
    if cluster.tail:
        pending = f"{len(cluster.tail)} not committed"
        badges.append(Badge(pending, Tone.STALE, "tail", "Batches that a fail-over may lose."))
    if cluster.deposed:
        badges.append(Badge("another believes it is active", Tone.STALE, "two", "A deposed controller still answers."))
    name_sets = [NameSet("ISR", names(partition.isr))]
    if partition.elr:
        name_sets.append(NameSet("ELR", names(partition.elr)))
    for standing in (Standing.FENCED, Standing.LEAVING, Standing.UNREGISTERED):
        members = names(broker for broker in cluster.ids if cluster.registrations[broker].standing is standing)
        if members:
            name_sets.append(NameSet(standing.value, members))
    if len(cluster.contacted) < len(cluster.brokers):
        name_sets.append(NameSet("heard of", names(cluster.contacted)))
    facts = [Fact("replicas", " ".join(f"b{broker}" for broker in partition.replicas))]
    if cluster.used.topic_deletions:
        facts.append(Fact("topic", f"{partition.topic_id}" if partition.replicas else "deleted"))
    for name, members in (("adding", partition.adding), ("removing", partition.removing)):
        if members:
            facts.append(Fact(name, " ".join(names(members))))
    if partition.last_known_leader is not None:
        facts.append(Fact("last known leader", f"b{partition.last_known_leader}"))
    if cluster.used.min_isr_changes:
        facts.append(Fact("min.insync.replicas", str(cluster.min_isr)))
    failed = names(broker for broker in cluster.ids if cluster.registrations[broker].directory_failed)
    if failed:
        name_sets.append(NameSet("directory failed", failed))
    if cluster.mishap is not None:
        facts.append(Fact("there was", cluster.mishap.value))
    committed = cluster.committed.partition.partition_epoch
    log = metadata_log(partition.partition_epoch, room, committed)
    return Lane(tuple(badges), (log,), tuple(name_sets), tuple(facts))


def broker_lane(cluster: Cluster, broker: int, room: int) -> Lane:
    """A broker, its role as far as it knows, and how far it has read the metadata log."""
    ours, partition = cluster.brokers[broker], cluster.partition
    facts = [Fact("committed records", "all" if ours.complete else "some are missing")]
    if cluster.registrations[broker].broker_epoch:
        facts.append(Fact("broker epoch", str(cluster.registrations[broker].broker_epoch)))
    if not ours.running:
        return Lane((Badge("down", Tone.DOWN, "x"),), facts=tuple(facts))
    badges, name_sets = [], ()
    if ours.view is None:
        badges.append(Badge("knows nothing yet", Tone.IDLE, "-"))
    else:
        leads = ours.view.leader == broker
        followed = None if ours.view.leader is None else f"b{ours.view.leader}"
        stale = leads and ours.view.leader_epoch < partition.leader_epoch
        badges.append(role(leads, followed, ours.view.leader_epoch, stale=stale))
        name_sets = (NameSet("its ISR", names(ours.view.isr), names(partition.isr)),) if leads else ()
    if ours.directory_failed:
        badges.append(Badge("directory failed", Tone.DOWN, "dir", "The log of its replica is out of reach."))
    if ours.missing:
        badges.append(Badge("no replica", Tone.DOWN, "none", "It has deleted a stray log, and made no replica."))
    if ours.topic_id != partition.topic_id:
        facts.append(Fact("log", f"of topic {ours.topic_id}"))
    if ours.stopping:
        badges.append(Badge("shutting down", short="leaving"))
    if ours.waits_for:
        name_sets = (*name_sets, NameSet("waits for", names(ours.waits_for)))
    if not ours.knows_registration:
        facts.append(Fact("metadata log", "read up to before its registration"))
    logs = () if ours.view is None else (metadata_log(ours.view.partition_epoch, room),)
    return Lane(tuple(badges), logs, name_sets, tuple(facts))


def messages(cluster: Cluster) -> Iterable[Message]:
    """The AlterPartition requests in flight."""
    for broker in cluster.ids:
        proposal = cluster.brokers[broker].proposal
        if proposal is not None:
            key = ("request", broker, proposal)
            text = asked(proposal) if proposal.fate is Fate.IN_FLIGHT else f"{asked(proposal)}: {proposal.fate.value}"
            yield Message(key, "AlterPartition", text, f"b{broker}", CONTROLLER, proposal.leader_epoch)


def asked(proposal: Proposal) -> str:
    """What a proposal asks for, in words."""
    of = f"of partition epoch {proposal.partition_epoch}"
    if proposal.newcomer is None:
        return f"ISR without b{proposal.leaver}, {of}"
    return f"ISR with b{proposal.newcomer} (broker epoch {proposal.newcomer_epoch}), {of}"


ANSWERS = {"answer_alter_partition", "answer_as_deposed", "commit_batch", "fail_over", "read_metadata"}

KRAFT = Drawing(draw, drops=lambda action: action.of.name not in ANSWERS)
