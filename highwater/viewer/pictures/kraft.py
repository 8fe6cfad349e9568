"""How the model of the KRaft control plane is drawn: what the metadata log says, and each broker with what it has read
of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from highwater.viewer.picture import Badge, Drawing, Fact, Lane, Message, NameSet, Picture, Tone
from highwater.viewer.pictures.of_any_model import names, role
from model.kraft.state import Cluster, Proposal, Standing
from model.language.domain import Struct

CONTROLLER = "controller"


def draw(domain: Struct, cluster: Cluster) -> Picture:
    """The picture of a state."""
    lanes = {CONTROLLER: controller_lane(cluster)}
    lanes |= {f"b{broker}": broker_lane(cluster, broker) for broker in cluster.ids}
    partition = cluster.partition
    leader = None if partition.leader is None else f"b{partition.leader}"
    return Picture(lanes, tuple(messages(cluster)), partition.leader_epoch, leader)


def controller_lane(cluster: Cluster) -> Lane:
    """What the metadata log says, and whom the active controller has heard of."""
    partition = cluster.partition
    who = "no leader" if partition.leader is None else f"b{partition.leader} leads"
    badges = [Badge(f"{who} e{partition.leader_epoch}", short=who)]
    if partition.recovering:
        badges.append(Badge("recovering", Tone.STALE, "rec", "The leader was elected uncleanly."))
    name_sets = [NameSet("ISR", names(partition.isr))]
    if partition.elr:
        name_sets.append(NameSet("ELR", names(partition.elr)))
    for standing in (Standing.FENCED, Standing.LEAVING):
        members = names(broker for broker in cluster.ids if cluster.registrations[broker].standing is standing)
        if members:
            name_sets.append(NameSet(standing.value, members))
    if len(cluster.contacted) < len(cluster.brokers):
        name_sets.append(NameSet("heard of", names(cluster.contacted)))
    facts = [
        Fact("replicas", " ".join(f"b{broker}" for broker in partition.replicas)),
        Fact("partition epoch", str(partition.partition_epoch)),
    ]
    for name, members in (("adding", partition.adding), ("removing", partition.removing)):
        if members:
            facts.append(Fact(name, " ".join(names(members))))
    if partition.last_known_leader is not None:
        facts.append(Fact("last known leader", f"b{partition.last_known_leader}"))
    if cluster.mishap is not None:
        facts.append(Fact("there was", cluster.mishap.value))
    return Lane(tuple(badges), name_sets=tuple(name_sets), facts=tuple(facts))


def broker_lane(cluster: Cluster, broker: int) -> Lane:
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
    if ours.stopping:
        badges.append(Badge("shutting down", short="leaving"))
    if ours.waits_for:
        name_sets = (*name_sets, NameSet("waits for", names(ours.waits_for)))
    if not ours.knows_registration:
        facts.append(Fact("metadata log", "read up to before its registration"))
    return Lane(tuple(badges), name_sets=name_sets, facts=tuple(facts))


def messages(cluster: Cluster) -> Iterable[Message]:
    """The AlterPartition requests in flight."""
    for broker in cluster.ids:
        proposal = cluster.brokers[broker].proposal
        if proposal is not None:
            key = ("request", broker, proposal)
            yield Message(key, "AlterPartition", asked(proposal), f"b{broker}", CONTROLLER, proposal.leader_epoch)


def asked(proposal: Proposal) -> str:
    """What a proposal asks for, in words."""
    of = f"of partition epoch {proposal.partition_epoch}"
    if proposal.newcomer is None:
        return f"ISR without b{proposal.leaver}, {of}"
    return f"ISR with b{proposal.newcomer} (broker epoch {proposal.newcomer_epoch}), {of}"


KRAFT = Drawing(draw, drops=lambda action: action.of.name != "answer_alter_partition")
