"""AlterPartition requests: the active controller grants or refuses them, and so may one that has been deposed."""

from __future__ import annotations

from model.kraft.bounds import KraftBounds
from model.kraft.changing import changed, listed
from model.kraft.metadata_log import appended, settled, with_fate
from model.kraft.partition_change import Target
from model.kraft.protocol import AheadOfController, KraftProtocol
from model.kraft.state import Cluster, Fate, Image, Proposal, Standing
from model.language.declarations import action
from model.log import brokers


def knows_topic(image: Image, proposal: Proposal) -> bool:
    """Whether a controller knows the topic that a request is of."""
    return bool(image.partition.replicas) and image.partition.topic_id == proposal.topic_id


def is_ahead(image: Image, proposal: Proposal) -> bool:
    """Whether a request is of an epoch that a controller does not know. It has to know the topic to find that out."""
    partition = image.partition
    if not knows_topic(image, proposal):
        return False
    return proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch


def is_out_of_date(image: Image, leader: int, proposal: Proposal) -> bool:
    """Whether a controller refuses a request, so that the leader waits for newer metadata.

    Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition, for a topic that is not there;
        #validateAlterPartitionData (3.5.1 to 4.3.1).
    """
    partition = image.partition
    if not knows_topic(image, proposal):
        return True
    if proposal.leader_epoch != partition.leader_epoch or partition.leader != leader:
        return True
    if proposal.partition_epoch != partition.partition_epoch:
        return True
    return proposal.newcomer is not None and proposal.newcomer not in partition.replicas


def is_eligible(image: Image, proposal: Proposal, protocol: KraftProtocol) -> bool:
    """Whether every member of the ISR that is asked for may be in it.

    Source: org.apache.kafka.controller.ReplicationControlManager#ineligibleReplicasForIsr (3.5.1 to 4.3.1).
    """
    newcomer, isr = proposal.newcomer, image.partition.isr
    if protocol.members_must_be_active:
        members = isr if newcomer is None else isr | {newcomer}
        for member in members:
            if member != proposal.leaver and image.registrations[member].standing is not Standing.UNFENCED:
                return False
    if newcomer is None or not protocol.members_epochs_checked:
        return True
    return proposal.newcomer_epoch == image.registrations[newcomer].broker_epoch


@action(actor="controller", leader=brokers)
def answer_alter_partition(
    cluster: Cluster, leader: int, protocol: KraftProtocol, bounds: KraftBounds
) -> Cluster | None:
    """The controller handles a leader's AlterPartition request.

    Actor: the controller.
    Enabled: the request is in flight. A refusal waits until everything is committed that the controller has decided
        upon.
    Effect: the ISR changes as proposed; a reassignment may be complete then. The leader learns of it once that is
        committed. Or the request is refused: a leader that is out of date waits for newer metadata, another one goes
        back to the ISR that it knows. With its first request, a leader that was elected uncleanly has recovered: what
        it has is what counts as committed.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.5.1 to 4.3.1),
        kafka.cluster.Partition#handleAlterPartitionError (3.5.1 to 4.3.1).
    """
    proposal = cluster.brokers[leader].proposal
    if proposal is None or proposal.fate is not Fate.IN_FLIGHT:
        return None
    if is_out_of_date(cluster.end, leader, proposal):
        return None if cluster.tail else with_fate(cluster, leader, Fate.REFUSED)
    if not is_eligible(cluster.end, proposal, protocol):
        return None if cluster.tail else cluster.with_broker(leader, proposal=None)
    partition = cluster.partition
    isr = partition.isr if proposal.newcomer is None else partition.isr | {proposal.newcomer}
    isr = isr if proposal.leaver is None else isr - {proposal.leaver}
    after = changed(cluster, protocol, Target(isr=listed(cluster, isr), recovering=False))
    if partition.recovering:
        for broker in cluster.ids:
            after = after.with_broker(broker, complete=broker in isr)
    if bounds.uncommitted:
        after = with_fate(after, leader, Fate.APPENDED)
        return appended(cluster, after, protocol, bounds, answers=leader)
    return settled(appended(cluster, after, protocol, bounds), leader)


@action(actor="controller", needs=lambda bounds: bounds.controllers > 1 and bounds.fail_overs, leader=brokers)
def answer_as_deposed(cluster: Cluster, leader: int, protocol: KraftProtocol) -> Cluster | None:
    """A controller that has been deposed, and does not know it, refuses a leader's AlterPartition request.

    Actor: the deposed controller.
    Enabled: the request is in flight. What it would grant is never committed, and so never answered.
    Effect: by what it knows, the leader is out of date or asks for a member that it may not have. A request that is
        ahead of it is refused as out of date before KAFKA-14154, so that the leader waits for metadata which it has
        already; since then it is sent again, to the active controller. But it does not know a topic that is new, and
        says so: the leader waits.
    Source: org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData (3.2.3, 3.3.0),
        #alterPartition; kafka.cluster.Partition#handleAlterPartitionError (3.5.1 to 4.3.1).
    """
    proposal = cluster.brokers[leader].proposal
    if not cluster.deposed or proposal is None or proposal.fate is not Fate.IN_FLIGHT:
        return None
    (image,) = cluster.deposed
    if not knows_topic(image, proposal) and protocol.unknown_topics_asked_again:
        return None
    if is_ahead(image, proposal) and protocol.ahead_of_controller_error is AheadOfController.NOT_CONTROLLER:
        return None
    if is_out_of_date(image, leader, proposal):
        return with_fate(cluster, leader, Fate.REFUSED)
    return None if is_eligible(image, proposal, protocol) else cluster.with_broker(leader, proposal=None)
