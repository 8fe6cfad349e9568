"""What must happen by itself: brokers join and leave, dead ones are fenced, reassignments complete; and what must stay
possible.
"""

from __future__ import annotations

from highwater.model.kraft.administering import is_imbalanced
from highwater.model.kraft.bounds import partitions
from highwater.model.kraft.definition import HEALING
from highwater.model.kraft.serving import commit
from highwater.model.kraft.state import Cluster
from highwater.model.language.declarations import Truth, Witness
from highwater.model.language.graph_properties import leads_to, prospect
from highwater.model.log import brokers


def _is_dead_and_not_fenced(cluster: Cluster, broker: int) -> bool:
    return not cluster.brokers[broker].running and cluster.is_serving(broker)


@leads_to(_is_dead_and_not_fenced, fair=HEALING, needs=lambda bounds: bounds.crashes, broker=brokers)
def dead_brokers_are_fenced(cluster: Cluster, broker: int) -> Truth:
    """A broker that is down is fenced at some time, or runs again.

    Kind: liveness.
    When false: it stays in the ISR, or leads, for ever.
    Relies on: the controller looks at sessions again and again.
    Source: KAFKA-18138.
    """
    if not _is_dead_and_not_fenced(cluster, broker):
        return True
    return Witness("b{broker} is down and is never fenced", broker=broker)


def _waits_to_join(cluster: Cluster, broker: int) -> bool:
    ours = cluster.brokers[broker]
    return ours.running and not ours.stopping and not cluster.is_serving(broker)


@leads_to(_waits_to_join, fair=HEALING, needs=lambda bounds: bounds.restarts or bounds.lost_sessions, broker=brokers)
def running_brokers_are_unfenced(cluster: Cluster, broker: int) -> Truth:
    """A broker that has registered and runs is unfenced at some time.

    Kind: liveness.
    When false: it serves nothing, though it could.
    Relies on: it reads the metadata log and sends heartbeats again and again.
    Source: KAFKA-13959.
    """
    if not _waits_to_join(cluster, broker):
        return True
    return Witness("b{broker} runs and is never unfenced", broker=broker)


def _shuts_down(cluster: Cluster, broker: int) -> bool:
    return cluster.brokers[broker].running and cluster.brokers[broker].stopping


@leads_to(_shuts_down, fair=HEALING, needs=lambda bounds: bounds.shutdowns, broker=brokers)
def controlled_shutdowns_complete(cluster: Cluster, broker: int) -> Truth:
    """A broker that wants to shut down is down at some time.

    Kind: liveness.
    When false: a rolling restart waits until an operator kills the broker.
    Relies on: heartbeats; the other brokers read the metadata log again and again.
    Source: KAFKA-14292.
    """
    if not _shuts_down(cluster, broker):
        return True
    return Witness("b{broker} wants to shut down and never does", broker=broker)


def _waits_for_its_isr(cluster: Cluster, broker: int, partition: int = 0) -> bool:
    ours = cluster.brokers[broker]
    return ours.running and ours.replicas[partition].proposal is not None


@leads_to(_waits_for_its_isr, fair=HEALING, broker=brokers, partition=partitions)
def isr_changes_are_settled(cluster: Cluster, broker: int, partition: int = 0) -> Truth:
    """A leader that has asked for another ISR knows the outcome at some time, or goes down.

    Kind: liveness.
    When false: the leader changes its ISR no more, and its high watermark waits for whom it could do without.
    Relies on: a deposed controller learns so; the active one answers; brokers read the metadata log again and again.
    Source: KAFKA-14154.
    """
    if not _waits_for_its_isr(cluster, broker, partition):
        return True
    return Witness("b{broker} waits for its ISR for ever", broker=broker)


def _is_replaced(cluster: Cluster, partition: int = 0) -> bool:
    now = cluster.partitions[partition]
    replaces = bool(now.adding) and len(now.adding) >= len(now.removing)
    return replaces and all(cluster.brokers[broker].running for broker in now.adding)


def _is_left_out(cluster: Cluster, broker: int, partition: int = 0) -> bool:
    now = cluster.partitions[partition]
    leader = now.leader
    if broker not in now.replicas or broker in now.isr or leader is None:
        return False
    ours = cluster.brokers[broker]
    works = ours.running and not ours.replicas[partition].directory_failed and cluster.is_active(broker, partition)
    return works and cluster.brokers[leader].running and cluster.is_active(leader, partition)


@leads_to(_is_left_out, fair=HEALING, broker=brokers, partition=partitions)
def replicas_join_the_isr(cluster: Cluster, broker: int, partition: int = 0) -> Truth:
    """A replica whose broker runs and is unfenced is in the ISR at some time, unless a broker goes down or nobody
    leads.

    Kind: liveness.
    When false: the partition is under-replicated for ever.
    Relies on: brokers read the metadata log, followers fetch, leaders propose, the controller answers.
    Source: KAFKA-14616.
    """
    if not _is_left_out(cluster, broker, partition):
        return True
    return Witness("b{broker} runs and is assigned, and is never in the ISR", broker=broker)


@leads_to(_is_replaced, fair=HEALING, needs=lambda bounds: bounds.reassignments, partition=partitions)
def replacements_complete(cluster: Cluster, partition: int = 0) -> Truth:
    """A reassignment that adds as many replicas as it removes, or more, completes at some time, unless a broker that it
    adds goes down or nobody can lead.

    Kind: liveness.
    When false: a partition keeps replicas that it shall not have, for ever.
    Relies on: followers fetch, leaders propose, the controller answers, again and again.
    Source: KAFKA-19975.
    """
    if cluster.partitions[partition].leader is None or not _is_replaced(cluster, partition):
        return True
    return Witness("the reassignment never completes")


def _could_have_a_leader(cluster: Cluster, partition: int = 0) -> bool:
    up = all(cluster.brokers[broker].running and not cluster.brokers[broker].stopping for broker in cluster.ids)
    return up and cluster.partitions[partition].leader is None and bool(cluster.partitions[partition].replicas)


@leads_to(_could_have_a_leader, fair=HEALING, needs=lambda bounds: bounds.restarts, partition=partitions)
def leaders_are_found(cluster: Cluster, partition: int = 0) -> Truth:
    """A partition without a leader gets one at some time, once all brokers run, or a broker goes down.

    Kind: liveness.
    When false: clients are refused until an operator elects a leader uncleanly.
    Relies on: brokers read the metadata log and send heartbeats again and again.
    Source: KIP-966.
    """
    return not _could_have_a_leader(cluster, partition) or Witness("all brokers run, and nobody is ever elected")


def _leads_without_a_log(cluster: Cluster, broker: int, partition: int = 0) -> bool:
    ours = cluster.brokers[broker]
    failed = ours.running and ours.replicas[partition].directory_failed
    return failed and cluster.partitions[partition].leader == broker


@leads_to(
    _leads_without_a_log,
    fair=HEALING,
    needs=lambda bounds: bounds.directory_failures,
    broker=brokers,
    partition=partitions,
)
def failed_leaders_are_replaced(cluster: Cluster, broker: int, partition: int = 0) -> Truth:
    """A leader whose log directory has failed leads no more at some time.

    Kind: liveness.
    When false: the partition is served by nobody, though others have its records.
    Relies on: brokers send heartbeats again and again.
    Source: KIP-858, KAFKA-16606.
    """
    if not _leads_without_a_log(cluster, broker, partition):
        return True
    return Witness("the log of b{broker} is out of reach, and it leads for ever", broker=broker)


def _could_be_balanced(cluster: Cluster, partition: int = 0) -> bool:
    now = cluster.partitions[partition]
    if not is_imbalanced(cluster, partition):
        return False
    first = now.replicas[0]
    works = cluster.brokers[first].running and not cluster.brokers[first].stopping
    return works and first in now.isr and cluster.is_active(first, partition)


@leads_to(_could_be_balanced, fair=HEALING, partition=partitions)
def preferred_leaders_lead(cluster: Cluster, partition: int = 0) -> Truth:
    """A partition whose first replica is active and in sync is led by it at some time, unless its broker goes down or
    leaves the ISR.

    Kind: liveness.
    When false: after a rolling restart some brokers lead far more partitions than others.
    Relies on: the controller looks for imbalanced partitions again and again.
    Source: KAFKA-13682.
    """
    return not _could_be_balanced(cluster, partition) or Witness("the preferred leader never leads")


@prospect(along=(*HEALING, commit), needs=lambda bounds: bounds.commits and bounds.reassignments)
def records_can_be_committed(cluster: Cluster) -> Truth:
    """A leader can commit a record, or has committed one.

    Kind: prospect.
    When lost: producers with acks=all are refused until an operator changes something.
    Source: KAFKA-15583.
    """
    return cluster.used.commits > 0 or Witness("no leader can commit a record any more")
