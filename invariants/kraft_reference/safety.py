"""The invariants of the public specifications of replication under KRaft, each with its name in the public modules."""

from __future__ import annotations

from highwater.model.kraft_reference.bounds import KraftBounds, brokers, values
from highwater.model.kraft_reference.protocol import KraftProtocol
from highwater.model.kraft_reference.state import Cluster, Role, Status
from highwater.model.language.declarations import Truth, Witness, invariant


def leads_in_newest_epoch(cluster: Cluster, broker: int) -> bool:
    """Whether a replica is a leader in the controller's leader epoch. Source: IsNonStaleLeader."""
    if cluster.brokers[broker].role is not Role.LEADER:
        return False
    return cluster.metadata_of(broker).leader_epoch == cluster.partition.leader_epoch


@invariant(broker=brokers)
def valid_broker_state(cluster: Cluster, broker: int) -> Truth:
    """A running broker has a broker epoch.

    Kind: state.
    When false: the broker runs without being registered.
    Source: ValidBrokerState, which speaks of a flag that a running broker has; here it is the broker epoch.
    """
    replica = cluster.brokers[broker]
    return (
        replica.status is not Status.RUNNING
        or replica.broker_epoch > 0
        or Witness("b{broker} runs unregistered", broker=broker)
    )


@invariant(broker=brokers)
def valid_replica_state(cluster: Cluster, broker: int) -> Truth:
    """A leader knows that it is the leader.

    Kind: state.
    When false: a replica leads although its metadata name another leader.
    Source: ValidReplicaState. Its other part, that offsets count a log's records, holds by construction here.
    """
    if cluster.brokers[broker].role is not Role.LEADER or cluster.metadata_of(broker).leader == broker:
        return True
    return Witness("b{broker} leads, but knows another leader", broker=broker)


@invariant(broker=brokers)
def valid_fetcher_state(cluster: Cluster, broker: int) -> Truth:
    """A leader fetches from no broker, and a follower from another one.

    Kind: state.
    When false: a leader fetches, or a follower gets no new records.
    Source: ValidFetcherState. Its other part, that a replica fetches from one leader only, holds by construction here.
    """
    replica = cluster.brokers[broker]
    if replica.role is Role.LEADER and replica.fetches_from is not None:
        return Witness("b{broker} leads and fetches", broker=broker)
    if replica.role is Role.FOLLOWER and replica.fetches_from in (None, broker):
        return Witness("b{broker} follows, and fetches from no broker", broker=broker)
    return True


@invariant()
def valid_controller_state(cluster: Cluster, bounds: KraftBounds) -> Truth:
    """No fenced broker is in the ISR, except for the last member in v3.5, where the ISR is never empty.

    Kind: state.
    When false: the ISR has a broker that the controller knows to be gone.
    Source: ValidControllerState. Its other part, about the set of unfenced brokers, holds by construction here.
    """
    isr = cluster.partition.isr
    if not bounds.keeps_elr and len(isr) == 1:
        return True
    for broker in isr:
        if cluster.registrations[broker].fenced:
            return Witness("b{broker} is fenced and in the ISR", broker=broker)
    return bounds.keeps_elr or bool(isr) or Witness("the ISR is empty")


@invariant()
def valid_controller_isr_and_elr(cluster: Cluster, bounds: KraftBounds) -> Truth:
    """ISR and ELR are disjoint sets of replicas, and the ELR is empty if the ISR is large enough.

    Kind: state.
    When false: the controller's record contradicts itself.
    Source: ValidControllerIsrAndElr of the module kip_966_properties.
    """
    partition = cluster.partition
    if not partition.isr <= partition.replicas or not partition.elr <= partition.replicas:
        return Witness("a member of ISR or ELR is no replica")
    if partition.isr & partition.elr:
        return Witness("a replica is in both ISR and ELR")
    return (
        len(partition.isr) < bounds.min_isr
        or not partition.elr
        or Witness("the ISR is large enough, but the ELR is not empty")
    )


@invariant(broker=brokers)
def replication_quorum_superset_property(cluster: Cluster, broker: int, bounds: KraftBounds) -> Truth:
    """A leader of the newest epoch waits for all members of the controller's ISR before it commits; under KIP-966 also
    for the ELR.

    Kind: state.
    When false: the leader can commit a record that the next leader lacks.
    Source: ReplicationQuorumSupersetProperty. Under KIP-966 it is only about leaders with a large enough ISR.
    """
    if not leads_in_newest_epoch(cluster, broker):
        return True
    if bounds.keeps_elr and len(cluster.metadata_of(broker).isr) < bounds.min_isr:
        return True
    maximal = cluster.maximal_isr(broker)
    for member in cluster.partition.isr | cluster.partition.elr:
        if member not in maximal:
            return Witness("b{member} may be elected, but b{broker} commits without it", member=member, broker=broker)
    return True


@invariant(broker=brokers)
def leader_candidate_completeness_property(cluster: Cluster, broker: int) -> Truth:
    """A running member of ISR or ELR has all committed records.

    Kind: state.
    When false: the controller may elect a replica that lacks committed records.
    Source: LeaderCandidateCompletenessProperty; it compares log end offsets, as there.
    """
    replica, end = cluster.brokers[broker], len(cluster.clients.consumed)
    if replica.status is not Status.RUNNING or len(replica.log) >= end:
        return True
    if broker not in cluster.partition.isr and broker not in cluster.partition.elr:
        return True
    return Witness("b{broker} may be elected, but its log ends before {end}", broker=broker, end=end)


@invariant()
def leader_completeness_property(cluster: Cluster) -> Truth:
    """The controller's leader, if it runs, has all committed records, and all values that were acknowledged.

    Kind: state.
    When false: data is lost.
    Source: LeaderCompletenessProperty.
    """
    leader = cluster.partition.leader
    end = len(cluster.clients.consumed)
    if not end or leader is None or cluster.brokers[leader].status is not Status.RUNNING:
        return True
    log = cluster.brokers[leader].log
    if len(log) < end:
        return Witness("b{leader} leads, but its log ends before {end}", leader=leader, end=end)
    held = frozenset(record.value for record in log)
    for value in cluster.clients.acked:
        if value not in held:
            return Witness("b{leader} leads without v{value}, which was acknowledged", leader=leader, value=value)
    return True


@invariant(some=brokers, other=brokers)
def log_matching_property(cluster: Cluster, some: int, other: int) -> Truth:
    """Below both high watermarks, two logs hold the same values.

    Kind: state.
    When false: two consumers read different records.
    Source: LogMatchingProperty.
    """
    ours, theirs = cluster.brokers[some], cluster.brokers[other]
    for offset in range(min(len(ours.log), len(theirs.log), ours.high_watermark, theirs.high_watermark)):
        if ours.log[offset].value != theirs.log[offset].value:
            return Witness("b{some} and b{other} differ at offset {offset}", some=some, other=other, offset=offset)
    return True


@invariant(broker=brokers)
def metadata_log_matching_property(cluster: Cluster, broker: int) -> Truth:
    """A broker's metadata log is no longer than the controller's.

    Kind: state.
    When false: a broker has records that the controller never wrote.
    Source: MetadataLogMatchingProperty. Its other part, that the records are equal, holds by construction here.
    """
    return cluster.brokers[broker].applied <= len(cluster.metadata_log) or Witness(
        "b{broker} is ahead of the controller", broker=broker
    )


@invariant(value=values)
def no_committed_record_lost_globally(cluster: Cluster, value: int) -> Truth:
    """Every acknowledged value is in some broker's log.

    Kind: state.
    When false: data is lost for good. min.insync.replicas unclean shutdowns can do that.
    Source: NoCommittedRecordLostGlobally.
    """
    if value not in cluster.clients.acked or any(
        record.value == value for replica in cluster.brokers for record in replica.log
    ):
        return True
    return Witness("v{value} was acknowledged, and no broker has it", value=value)


@invariant(broker=brokers)
def consistent_read_property(cluster: Cluster, broker: int) -> Truth:
    """A leader of the newest epoch has every record that was ever consumed, at the same offset.

    Kind: state.
    When false: a consumer that reads again gets other records.
    Source: ConsistentReadProperty.
    """
    if not leads_in_newest_epoch(cluster, broker):
        return True
    log = cluster.brokers[broker].log
    for offset, record in enumerate(cluster.clients.consumed):
        if offset >= len(log) or log[offset] != record:
            return Witness(
                "b{broker} leads without the record consumed at offset {offset}", broker=broker, offset=offset
            )
    return True


@invariant()
def min_isr_recovery_quorum(cluster: Cluster, bounds: KraftBounds, protocol: KraftProtocol) -> Truth:
    """Once ISR and ELR are empty, the last known ELR has min.insync.replicas members.

    Kind: state.
    When false: an unclean election has too few candidates.
    Source: MinIsrRecoveryQuorum of the module kip_966_properties.
    """
    partition = cluster.partition
    if not protocol.has_elr or partition.isr or partition.elr:
        return True
    size = len(partition.last_known_elr)
    return size == bounds.min_isr or Witness("the last known ELR has {size} members", size=size)
