"""The liveness properties of the public specifications of replication under KRaft, each with its name in the public
modules, and under their fairness: that of `LivenessSpec`.

In these specifications no behaviour goes round, because messages are kept once they were handled. So a property is
violated where a behaviour ends without having made it true.
"""

from __future__ import annotations

from highwater.model.kraft_reference.applying import apply_metadata, concerns
from highwater.model.kraft_reference.bounds import brokers, values
from highwater.model.kraft_reference.controlling import register, unfence
from highwater.model.kraft_reference.failing import finish_start, start
from highwater.model.kraft_reference.fetching import send_fetch, serve_fetch, take_response
from highwater.model.kraft_reference.proposing import answer_left_proposal, answer_proposal, learn_answer, propose_isr
from highwater.model.kraft_reference.state import BEFORE_THE_LOG, Cluster, Role, Status
from highwater.model.language.declarations import Truth, Witness
from highwater.model.language.graph_properties import always_eventually, leads_to, per

FAIR = (
    start,
    per(register, "incarnation"),
    finish_start,
    per(apply_metadata, "broker"),
    per(propose_isr, "leader"),
    per(answer_proposal, "leader"),
    per(answer_left_proposal, "offset"),
    learn_answer,
    per(send_fetch, "follower"),
    per(serve_fetch, "leader"),
    per(take_response, "follower"),
    per(unfence, "broker"),
)
"""Actions that happen if they stay possible: those that help a cluster to go on and to recover. Shutdowns, fences,
reassignments and writes never have to happen.

Source: Liveness. There the actions that take messages are fair for each broker; here some are for each message. That is
the same, as each message is taken at most once.
"""


def is_starting(cluster: Cluster, broker: int) -> bool:
    return cluster.brokers[broker].status is Status.STARTING


@leads_to(is_starting, fair=FAIR, broker=brokers)
def eventually_runs(cluster: Cluster, broker: int) -> Truth:
    """A starting broker runs sooner or later, and is unfenced then.

    Kind: leads to.
    When violated: a broker starts and never serves.
    Source: EventuallyRuns.
    """
    if cluster.brokers[broker].status is not Status.RUNNING:
        return Witness("b{broker} does not run", broker=broker)
    return not cluster.registrations[broker].fenced or Witness("b{broker} stays fenced", broker=broker)


def is_fenced(cluster: Cluster, broker: int) -> bool:
    return cluster.registrations[broker].fenced


@leads_to(is_fenced, fair=FAIR, broker=brokers)
def eventually_unfenced(cluster: Cluster, broker: int) -> Truth:
    """A fenced broker is unfenced sooner or later.

    Kind: leads to.
    When violated: the controller never counts on the broker again.
    Source: EventuallyUnfenced.
    """
    return not cluster.registrations[broker].fenced or Witness("b{broker} stays fenced", broker=broker)


@always_eventually(fair=FAIR, broker=brokers)
def alter_partition_epoch_eventually_reached_or_zero(cluster: Cluster, broker: int) -> Truth:
    """A leader that has proposed an ISR learns of the next partition epoch sooner or later, or that the proposal was
    rejected.

    Kind: always eventually.
    When violated: the leader never proposes another ISR.
    Source: AlterPartitionEpochEventuallyReachedOrZero. It says so of all brokers together, which is the same.
    """
    return cluster.brokers[broker].proposal is None or Witness("b{broker} waits for an answer", broker=broker)


@always_eventually(fair=FAIR)
def eventually_metadata_converges(cluster: Cluster) -> Truth:
    """All brokers know the controller's state of the partition at once, again and again, unless nothing that they do
    not know concerns them.

    Kind: always eventually.
    When violated: a broker goes on with metadata that are out of date.
    Source: EventuallyMetadataConverges.
    """
    for broker, replica in enumerate(cluster.brokers):
        left = replica.role is Role.NONE and broker not in cluster.partition.replicas
        if not knows_the_partition(cluster, broker) and not awaits_nothing(cluster, broker) and not left:
            return Witness("b{broker} does not learn what the controller knows", broker=broker)
    return True


def knows_the_partition(cluster: Cluster, broker: int) -> bool:
    """Whether a broker's metadata are those of the controller."""
    ours, theirs, known = cluster.metadata_of(broker), cluster.partition, cluster.brokers[broker].known
    same = (ours.isr, ours.leader, ours.leader_epoch) == (theirs.isr, theirs.leader, theirs.leader_epoch)
    return same and (1 if known == BEFORE_THE_LOG else known) == len(cluster.metadata_log)


def awaits_nothing(cluster: Cluster, broker: int) -> bool:
    """Whether a broker is a follower that has to act on no record that it has not read."""
    replica, metadata = cluster.brokers[broker], cluster.metadata_of(broker)
    return replica.role is Role.FOLLOWER and not any(
        concerns(cluster, broker, metadata, change) for change in cluster.metadata_log[replica.applied :]
    )


def is_sent(cluster: Cluster, value: int) -> bool:
    return value in cluster.clients.sent


@leads_to(is_sent, fair=FAIR, value=values)
def eventually_write_is_accepted_or_rejected(cluster: Cluster, value: int) -> Truth:
    """A producer that has sent a record has an answer sooner or later.

    Kind: leads to.
    When violated: the produce request times out.
    Source: EventuallyWriteIsAcceptedOrRejected.
    """
    answered = value in cluster.clients.acked or value in cluster.clients.refused
    return answered or Witness("nobody answers the producer of v{value}", value=value)


def is_acknowledged(cluster: Cluster, value: int) -> bool:
    return value in cluster.clients.acked


@leads_to(is_acknowledged, fair=FAIR, value=values)
def eventually_acknowledged_value_fully_replicated(cluster: Cluster, value: int) -> Truth:
    """A record that was acknowledged is in the log of each replica sooner or later.

    Kind: leads to.
    When violated: a replica never catches up, or the record is lost.
    Source: EventuallyAcknowledgedValueFullyReplicated.
    """
    for broker in cluster.partition.replicas:
        if all(record.value != value for record in cluster.brokers[broker].log):
            return Witness("b{broker} stays without v{value}", broker=broker, value=value)
    return True


def removes_a_replica(cluster: Cluster) -> bool:
    return bool(cluster.partition.removing)


@leads_to(removes_a_replica, fair=FAIR)
def eventually_reassignment_completes(cluster: Cluster) -> Truth:
    """A reassignment that removes a replica is complete sooner or later.

    Kind: leads to.
    When violated: the partition keeps replicas that were to go.
    Source: EventuallyReassignmentCompletes. By the precedence of its operators it speaks of reassignments that remove
        a replica only, or of an initial state in the middle of one, which there is none.
    """
    partition = cluster.partition
    return not (partition.adding or partition.removing) or Witness("the reassignment does not complete")
