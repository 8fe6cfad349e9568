"""AlterPartition requests: the active controller grants or refuses them, and so may one that has been deposed."""

from __future__ import annotations

from highwater.model.kraft.bounds import KraftBounds
from highwater.model.kraft.changing import by_itself, changed, listed
from highwater.model.kraft.image import Image, Standing
from highwater.model.kraft.metadata_log import appended
from highwater.model.kraft.partition_change import Target
from highwater.model.kraft.protocol import KraftProtocol, OlderBrokers
from highwater.model.kraft.requests import answered, settled, with_fate
from highwater.model.kraft.state import Cluster, Fate, Proposal
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers
from highwater.model.partition_rules import AheadOfController, AlterPartitionError, Led, alter_partition_error


def knows_topic(image: Image, partition: int, proposal: Proposal) -> bool:
    """Whether a controller knows the topic that a request is of."""
    now = image.partitions[partition]
    return bool(now.replicas) and now.topic_id == proposal.topic_id


def error_of(
    image: Image, leader: int, partition: int, proposal: Proposal, protocol: KraftProtocol
) -> AlterPartitionError:
    """The answer of a controller. Of one partition epoch there is one leader and one leader epoch,
    so that these need no comparison. Of the members that are asked for, only the newcomer may be one that is not
    assigned.
    """
    now = image.partitions[partition]
    return alter_partition_error(
        Led(leader, 0, proposal.partition_epoch),
        Led(leader, 0, now.partition_epoch),
        knows_topic=lambda: knows_topic(image, partition, proposal),
        is_valid=lambda: proposal.newcomer is None or proposal.newcomer in now.replicas,
        is_eligible=lambda: is_eligible(image, leader, partition, proposal, protocol),
    )


def names_epoch(leader: int, member: int, protocol: KraftProtocol) -> bool:
    """Whether a request says with which broker epoch a member has fetched. The follower must have said so to the
    leader, and the leader says so to the controller.

    Source: KIP-903; kafka.cluster.Partition#addBrokerEpochToIsr (3.5.1 to 3.9), org.apache.kafka.controller
        .ReplicationControlManager#alterPartition (3.5.1 to 4.3.1), for requests before version 3.
    """
    if protocol.older_brokers is OlderBrokers.NONE:
        return True
    older = 0 if protocol.older_brokers is OlderBrokers.FIRST else 1
    return older not in (leader, member)


def restarted(cluster: Cluster, broker: int, protocol: KraftProtocol) -> Cluster:
    """The cluster once a new incarnation of a broker is registered: who leads with it in the ISR, and has it in a
    request, names the epoch that it has fetched with, and that is over.

    Abstracts: a member that has not fetched from its leader before, of which no epoch is named; and that the
        registration may be lost in a fail-over.
    Source: kafka.cluster.Partition#addBrokerEpochToIsr (3.5.1 to 4.3.1).
    """
    for partition in cluster.partition_ids:
        now = cluster.partitions[partition]
        leader = now.leader
        if leader is None or broker not in now.isr or not names_epoch(leader, broker, protocol):
            continue
        replica = cluster.brokers[leader].replicas[partition]
        view, proposal = replica.view, replica.proposal
        if view is None or view.leader != leader or broker not in view.isr:
            continue
        if proposal is not None and proposal.leaver != broker:
            proposal = evolve(proposal, outdated=True)
        cluster = cluster.with_replica(leader, partition, restarted=replica.restarted | {broker}, proposal=proposal)
    return cluster


def is_eligible(image: Image, leader: int, partition: int, proposal: Proposal, protocol: KraftProtocol) -> bool:
    """Whether every member of the ISR that is asked for may be in it.

    Source: org.apache.kafka.controller.ReplicationControlManager#ineligibleReplicasForIsr (3.5.1 to 4.3.1).
    """
    newcomer, isr = proposal.newcomer, image.partitions[partition].isr
    if proposal.outdated:
        return False
    if protocol.members_must_be_active:
        members = isr if newcomer is None else isr | {newcomer}
        for member in members:
            if member != proposal.leaver and image.registrations[member].standing is not Standing.UNFENCED:
                return False
    if newcomer is not None and _has_no_directory(image, newcomer, partition, protocol):
        return False
    if newcomer is None or not protocol.members_epochs_checked or not names_epoch(leader, newcomer, protocol):
        return True
    return proposal.newcomer_epoch == image.registrations[newcomer].broker_epoch


def _has_no_directory(image: Image, member: int, partition: int, protocol: KraftProtocol) -> bool:
    return protocol.members_directories_checked and image.registrations[member].directories_failed[partition]


def _in_request(cluster: Cluster, leader: int) -> list[tuple[int, Proposal]]:
    """The partitions that a leader's request in flight is about, and what it asks for them."""
    asked = ((partition, replica.proposal) for partition, replica in enumerate(cluster.brokers[leader].replicas))
    return [(partition, each) for partition, each in asked if each is not None and each.fate is Fate.IN_FLIGHT]


def judged(image: Image, leader: int, partition: int, proposal: Proposal, protocol: KraftProtocol) -> Fate:
    """What a controller decides about one partition of a request. A leader whose topic it does not know, or that it
    takes for out of date, waits for newer metadata.

    Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.5.1 to 4.3.1).
    """
    match error_of(image, leader, partition, proposal, protocol):
        case AlterPartitionError.NONE:
            return Fate.APPENDED
        case AlterPartitionError.INELIGIBLE_REPLICA:
            return Fate.INELIGIBLE
    return Fate.OUT_OF_DATE


def granted(cluster: Cluster, partition: int, proposal: Proposal, protocol: KraftProtocol) -> Cluster:
    """The cluster after a partition has the ISR that its leader has asked for."""
    now = cluster.partitions[partition]
    isr = now.isr if proposal.newcomer is None else now.isr | {proposal.newcomer}
    isr = isr if proposal.leaver is None else isr - {proposal.leaver}
    wanted = Target(isr=listed(cluster, partition, isr), recovering=False, election=by_itself(protocol))
    after = changed(cluster, partition, protocol, wanted)
    if now.recovering:
        for broker in cluster.ids:
            after = after.with_replica(broker, partition, complete=broker in isr)
    return after


@action(actor="controller", leader=brokers)
def answer_alter_partition(
    cluster: Cluster, leader: int, protocol: KraftProtocol, bounds: KraftBounds
) -> Cluster | None:
    """The controller handles a leader's AlterPartition request.

    Actor: the controller.
    Enabled: the request is in flight. A refusal waits until everything is committed that the controller has decided
        upon.
    Effect: each partition is judged on its own. Its ISR changes as proposed; a reassignment may be complete then. The
        leader learns of all of them once that is committed. Or the partition is refused: a leader that is out of date
        waits for newer metadata, another one goes back to the ISR that it knows. With its first request, a leader that
        was elected uncleanly has recovered: what it has is what counts as committed.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.5.1 to 4.3.1),
        kafka.cluster.Partition#handleAlterPartitionError (3.5.1 to 4.3.1).
    """
    asked = _in_request(cluster, leader)
    if not asked:
        return None
    after, any_granted = cluster, False
    for partition, proposal in asked:
        fate = judged(cluster.end, leader, partition, proposal, protocol)
        after = granted(after, partition, proposal, protocol) if fate is Fate.APPENDED else after
        after = with_fate(after, leader, partition, fate)
        any_granted = any_granted or fate is Fate.APPENDED
    if not any_granted:
        return None if cluster.tail else answered(after, leader)
    after = appended(cluster, after, protocol, bounds, answers=leader)
    return after if bounds.uncommitted else answered(after, leader)


@action(actor="controller", needs=lambda bounds: bounds.controllers > 1 and bounds.fail_overs, leader=brokers)
def answer_as_deposed(cluster: Cluster, leader: int, protocol: KraftProtocol) -> Cluster | None:
    """A controller that has been deposed, and does not know it, refuses a leader's AlterPartition request.

    Actor: the deposed controller.
    Enabled: the request is in flight. What it would grant is never committed, and so the request never answered.
    Effect: by what it knows, the leader is out of date or asks for a member that it may not have. A request that is
        ahead of it is refused as out of date before KAFKA-14154, so that the leader waits for metadata which it has
        already; since then it is sent again, to the active controller. But it does not know a topic that is new, and
        says so: the leader waits.
    Source: org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData (3.2.3, 3.3.0),
        #alterPartition; kafka.cluster.Partition#handleAlterPartitionError (3.5.1 to 4.3.1).
    """
    if not cluster.deposed:
        return None
    (image,) = cluster.deposed
    after = cluster
    for partition, proposal in _in_request(cluster, leader):
        if _is_asked_again(image, leader, partition, proposal, protocol):
            continue
        fate = judged(image, leader, partition, proposal, protocol)
        if fate is Fate.APPENDED:
            return None
        after = settled(with_fate(after, leader, partition, fate), leader, partition)
    return None if after is cluster else after


def _is_asked_again(image: Image, leader: int, partition: int, proposal: Proposal, protocol: KraftProtocol) -> bool:
    """Whether a leader asks again after what a deposed controller answers about a partition."""
    match error_of(image, leader, partition, proposal, protocol):
        case AlterPartitionError.UNKNOWN_TOPIC_ID:
            return protocol.unknown_topics_asked_again
        case AlterPartitionError.NOT_CONTROLLER:
            return protocol.ahead_of_controller_error is AheadOfController.NOT_CONTROLLER
    return False
