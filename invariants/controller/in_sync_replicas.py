"""Leader and ISR are sound, and stay so when brokers die and replicas are reassigned."""

from __future__ import annotations

from invariants.controller.terms import is_going_away, never
from model.controller.bounds import controllers
from model.controller.partition_states import PartitionState
from model.controller.state import Cluster, Mishap
from model.language.declarations import Witness, invariant, step_property
from model.log import brokers


@invariant()
def leader_is_in_isr(cluster: Cluster) -> bool | Witness:
    """The leader in ZooKeeper is in the ISR, which is never empty.

    Kind: state.
    When false: nobody who may lead is left, or somebody leads who may lack committed records.
    Source: S16; kafka.controller.ZkReplicaStateMachine#doRemoveReplicasFromIsr (3.5).
    """
    leadership = cluster.zk.leadership
    if leadership is None or leadership.leader is None:
        return leadership is None or bool(leadership.isr) or Witness("the ISR is empty")
    return leadership.leader in leadership.isr or Witness(
        "b{leader} leads and is not in the ISR", leader=leadership.leader
    )


@invariant(broker=brokers)
def isr_within_assignment(cluster: Cluster, broker: int) -> bool | Witness:
    """Every member of the ISR is assigned.

    Kind: state.
    When false: the high watermark waits for a broker that nobody will tell to fetch, or that is told to delete its log.
    Source: S16; KAFKA-1097, KAFKA-9672.
    """
    zk = cluster.zk
    if zk.leadership is None or broker not in zk.leadership.isr or broker in zk.assignment or not zk.assignment:
        return True
    return Witness("b{broker} is in the ISR and not assigned", broker=broker)


@invariant(controller=controllers, broker=brokers)
def known_dead_brokers_leave_the_isr(cluster: Cluster, controller: int, broker: int) -> bool | Witness:
    """Once the controller knows that a broker is dead, and it is, it is not in an ISR of more than one, and does not
    lead.

    Kind: state.
    When false: acks=all waits for a dead broker, or nobody is asked to lead in place of one.
    Source: S16; KAFKA-13173, KAFKA-708.
    """
    context, zk = cluster.controllers[controller], cluster.zk
    if (
        not context.active
        or context.epoch != zk.controller_epoch
        or context.live[broker] is not None
        or context.deleting
    ):
        return True
    if (
        cluster.brokers[broker].running
        or context.step is not None
        or zk.reassignment is not None
        or is_going_away(cluster)
    ):
        return True
    if zk.leadership is None:
        return True
    if zk.leadership.leader == broker:
        return Witness("b{broker} is dead and leads", broker=broker)
    if broker not in zk.leadership.isr or len(zk.leadership.isr) == 1:
        return True
    return Witness("b{broker} is dead and in an ISR of {size}", broker=broker, size=len(zk.leadership.isr))


@invariant(controller=controllers)
def online_partition_has_live_leader_in_isr(cluster: Cluster, controller: int) -> bool | Witness:
    """While the current controller holds a partition for online that is to stay, it knows a leader that is live and in
    the ISR.

    Kind: state.
    When false: nobody will hold an election for a partition that needs one.
    Source: kafka.controller.PartitionStateMachine (3.5).
    """
    context = cluster.controllers[controller]
    if context.partition is not PartitionState.ONLINE or context.deleting or context.step is not None:
        return True
    if context.epoch != cluster.zk.controller_epoch:
        return True
    leadership = context.leadership
    if leadership is None or leadership.leader is None:
        return Witness("c{controller} holds the partition for online without a leader", controller=controller)
    if leadership.leader not in leadership.isr:
        return Witness(
            "c{controller} knows b{leader} to lead outside the ISR", controller=controller, leader=leadership.leader
        )
    if context.live[leadership.leader] is None:
        return Witness(
            "c{controller} knows the leader b{leader} to be dead", controller=controller, leader=leadership.leader
        )
    return True


@invariant()
def elections_are_clean(cluster: Cluster) -> bool | Witness:
    """Nobody outside the ISR is elected, unless that is allowed.

    Kind: state, of the past.
    When false: committed records may be lost.
    Source: KAFKA-13162.
    """
    return never(cluster, Mishap.UNCLEAN_ELECTION)


@invariant()
def reassignments_keep_enough_copies(cluster: Cluster) -> bool | Witness:
    """A completing reassignment never leaves fewer in-sync replicas than min.insync.replicas, the ISR before, and the
    target all allow.

    Kind: state, of the past.
    When false: a single further failure loses records, or nobody can write.
    Source: S22; KAFKA-15665.
    """
    return never(cluster, Mishap.FEWER_COPIES)


@invariant(controller=controllers, broker=brokers)
def brokers_that_shut_down_stay_out_of_the_isr(cluster: Cluster, controller: int, broker: int) -> bool | Witness:
    """A broker that the controller is shutting down is not in an ISR of more than one.

    Kind: state.
    When false: it leaves a hole when it exits, and acks=all waits until somebody notices.
    Source: S16; KIP-841, KAFKA-14140.
    """
    context, leadership = cluster.controllers[controller], cluster.zk.leadership
    if (
        broker not in context.shutting_down
        or context.epoch != cluster.zk.controller_epoch
        or context.deleting
        or leadership is None
    ):
        return True
    if broker not in leadership.isr or len(leadership.isr) == 1:
        return True
    return Witness("b{broker} shuts down and is in an ISR of {size}", broker=broker, size=len(leadership.isr))


@step_property(leader=brokers)
def leaders_that_are_well_keep_leading(before: Cluster, after: Cluster, leader: int) -> bool | Witness:
    """Nobody takes leadership from a broker that runs, is registered, leads and does not shut down, unless somebody
    asked for that.

    Kind: step.
    When false: clients look for another leader, and followers change theirs, for nothing.
    Source: KAFKA-16952.
    """
    old, new, ours = before.zk.leadership, after.zk.leadership, before.brokers[leader]
    if old is None or old.leader != leader or new is None or new.leader == leader:
        return True
    if (
        not ours.leads
        or ours.leader_epoch != old.leader_epoch
        or after.brokers[leader].leaving
        or not before.is_registered(leader)
    ):
        return True
    if before.zk.preferred_election or before.zk.reassignment is not None or is_going_away(before):
        return True
    return Witness("b{leader} is well, and leads no more", leader=leader)


@step_property(needs=lambda bounds: bounds.reassignments)
def reassignments_complete_with_the_target_assigned_and_in_sync(before: Cluster, after: Cluster) -> bool | Witness:
    """When a reassignment completes, exactly the replicas that were asked for are assigned, and exactly they are in the
    ISR.

    Kind: step. The ISR may lack a member that has died, or that the leader took for slow, between the decision to
        complete and this step.
    When false: what was asked for and what there is differ, and no request is left that would tell.
    Source: kafka.controller.KafkaController#onPartitionReassignment (3.5): at its end AR and ISR are the target.
    """
    zk, target = after.zk, after.history.target
    if before.zk.reassignment is None or zk.reassignment is not None or is_going_away(after) or zk.leadership is None:
        return True
    if frozenset(zk.assignment) == target and zk.leadership.isr == target:
        return True
    return Witness(
        "asked for {target}, the reassignment ends with {assigned} assigned and {isr} in the ISR",
        target=sorted(target), assigned=sorted(zk.assignment), isr=sorted(zk.leadership.isr),
    )  # fmt: skip
