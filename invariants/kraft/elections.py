"""Elections: when a leader epoch begins, and which elections are unclean."""

from __future__ import annotations

from typing import Any

from highwater.model.kraft.bounds import partitions
from highwater.model.kraft.changing import counts_as_unclean
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.state import Cluster
from highwater.model.language.declarations import Truth, Witness, invariant, step_property


@step_property(needs=lambda bounds: not bounds.fail_overs, partition=partitions)
def smaller_isrs_begin_no_leader_epoch(before: Cluster, after: Cluster, partition: int = 0) -> Truth:
    """A step that takes a follower out of the ISR, and nothing else, begins no leader epoch.

    Kind: step.
    When false: clients and followers of a healthy leader have to find it anew.
    Source: KAFKA-15021.
    """
    old, new = before.partitions[partition], after.partitions[partition]
    same = old.leader is not None and old.leader == new.leader and old.replicas == new.replicas
    if not same or old.leader_epoch == new.leader_epoch or old.isr <= new.isr:
        return True
    return Witness("b{leader} leads on in leader epoch {epoch}", leader=new.leader, epoch=new.leader_epoch)


@step_property(needs=lambda bounds: not bounds.fail_overs, partition=partitions)
def clean_elections_are_counted_so(
    before: Cluster, after: Cluster, protocol: KraftProtocol, partition: int = 0
) -> Truth:
    """An election that loses no records does not count as unclean.

    Kind: step.
    When false: operators look for lost records that nobody has lost.
    Source: KAFKA-18940, KAFKA-19212.
    """
    old, new = before.partitions[partition], after.partitions[partition]
    if new.leader is None or new.leader == old.leader or new.recovering or new.topic_id != old.topic_id:
        return True
    if not counts_as_unclean(old, new, protocol.unclean_elections):
        return True
    return Witness("the clean election of b{leader} counts as unclean", leader=new.leader)


@step_property(needs=lambda bounds: not bounds.fail_overs, partition=partitions)
def elections_give_up_no_records(before: Cluster, after: Cluster, partition: int = 0) -> Truth:
    """Nobody is elected who lacks committed records that another replica has.

    Kind: step.
    When false: records are lost that are still somewhere.
    Source: KIP-966.
    """
    now = after.partitions[partition]
    leader = now.leader
    if leader is None or leader == before.partitions[partition].leader:
        return True
    if after.brokers[leader].replicas[partition].complete:
        return True
    for replica in now.replicas:
        if after.brokers[replica].replicas[partition].complete:
            return Witness("b{leader} is elected and lacks records that b{replica} has", leader=leader, replica=replica)
    return True


def _moves_to_directories(bounds: Any) -> bool:
    """Whether replicas move and directories fail, and nothing else takes a leader away that is healthy."""
    others = (bounds.fail_overs, bounds.lost_sessions, bounds.unregistrations, bounds.topic_deletions)
    return bool(bounds.reassignments and bounds.directory_failures) and not any(others)


def _replaced_while_healthy(before: Cluster, after: Cluster, partition: int) -> bool:
    """Whether a step takes leadership from a broker that is active, runs, and has its directory."""
    old = before.partitions[partition]
    if old.leader is None or after.partitions[partition].leader == old.leader:
        return False
    leader = before.brokers[old.leader]
    if not leader.running or leader.stopping or leader.replicas[partition].directory_failed:
        return False
    return before.is_active(old.leader, partition)


@step_property(needs=_moves_to_directories, partition=partitions)
def healthy_leaders_have_successors(before: Cluster, after: Cluster, partition: int = 0) -> Truth:
    """Somebody takes over from a leader that is active, runs and has its directory.

    Kind: step.
    When false: the partition has no leader, and who has its records may delete them.
    Source: org.apache.kafka.controller.ReplicationControlManager#ineligibleReplicasForIsr (3.7.0 to 4.3.1), which does
        not look at directories.
    """
    led = after.partitions[partition].leader is not None
    return (
        led
        or not _replaced_while_healthy(before, after, partition)
        or Witness("nobody takes over from b{leader}", leader=before.partitions[partition].leader)
    )


@step_property(needs=_moves_to_directories, partition=partitions)
def healthy_leaders_hand_over_cleanly(before: Cluster, after: Cluster, partition: int = 0) -> Truth:
    """Nobody takes over uncleanly from a leader that is active, runs and has its directory.

    Kind: step.
    When false: records are lost that a healthy broker has.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.9.0 to 4.3.1).
    """
    new = after.partitions[partition]
    is_clean = not new.recovering or new.leader is None
    return (
        is_clean
        or not _replaced_while_healthy(before, after, partition)
        or Witness("b{new} takes over uncleanly from b{old}", new=new.leader, old=before.partitions[partition].leader)
    )


@invariant(partition=partitions)
def unclean_elections_follow_crashes(cluster: Cluster, partition: int = 0) -> Truth:
    """Nobody is elected uncleanly if no broker has crashed, no directory has failed, and nobody has changed
    min.insync.replicas or asked for it.

    Kind: state.
    When false: a restart of all brokers in order loses records, or the controller says so.
    Source: KIP-966.
    """
    used = cluster.used
    if not cluster.partitions[partition].recovering:
        return True
    if used.crashes or used.lossy_crashes or used.directory_failures or used.min_isr_changes:
        return True
    if used.unclean_elections:
        return True
    return Witness("an election was unclean though every broker has shut down in order")
