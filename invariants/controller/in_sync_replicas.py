"""Leader and ISR are valid, and stay so when brokers fail and replicas are reassigned."""

from __future__ import annotations

from highwater.invariants.controller.terms import is_going_away, never
from highwater.model.controller.bounds import asks_again, controllers
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.state import Cluster, Mishap
from highwater.model.language.declarations import Witness, invariant, step_property
from highwater.model.log import brokers


@invariant()
def leader_is_in_isr(cluster: Cluster) -> bool | Witness:
    """The leader in ZooKeeper is in the ISR, which is never empty.

    Kind: state.
    When false: no broker may lead, or the leader may lack committed records.
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
    When false: the high watermark waits for a broker that gets no request to follow, or one to delete its log.
    Source: S16; KAFKA-1097, KAFKA-9672.
    """
    zk = cluster.zk
    if zk.leadership is None or broker not in zk.leadership.isr or broker in zk.assignment or not zk.assignment:
        return True
    return Witness("b{broker} is in the ISR and not assigned", broker=broker)


@invariant(controller=controllers, broker=brokers)
def known_dead_brokers_leave_the_isr(cluster: Cluster, controller: int, broker: int) -> bool | Witness:
    """A dead broker that the controller knows to be dead does not lead, and is in no ISR of more than one member.

    Kind: state.
    When false: acks=all waits for a dead broker, or no broker leads in place of one.
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
    """If the current controller has a partition in `OnlinePartition`, it knows a leader that is live and in the ISR.

    This does not hold while the topic is being deleted or a procedure of several steps is under way.
    Kind: state.
    When false: no controller holds an election for a partition that needs one.
    Source: kafka.controller.PartitionStateMachine (3.5).
    """
    context = cluster.controllers[controller]
    if context.partition is not PartitionState.ONLINE or context.deleting or context.step is not None:
        return True
    if context.epoch != cluster.zk.controller_epoch:
        return True
    leadership = context.leadership
    if leadership is None or leadership.leader is None:
        return Witness("c{controller} has the partition online without a leader", controller=controller)
    if leadership.leader not in leadership.isr:
        return Witness(
            "c{controller} knows that b{leader} leads outside the ISR", controller=controller, leader=leadership.leader
        )
    if context.live[leadership.leader] is None:
        return Witness(
            "c{controller} knows that the leader b{leader} is dead", controller=controller, leader=leadership.leader
        )
    return True


@invariant()
def elections_are_clean(cluster: Cluster) -> bool | Witness:
    """No replica outside the ISR is elected, unless unclean election is configured.

    Kind: state, of the past.
    When false: committed records may be lost.
    Source: KAFKA-13162.
    """
    return never(cluster, Mishap.UNCLEAN_ELECTION)


@invariant()
def reassignments_keep_enough_copies(cluster: Cluster) -> bool | Witness:
    """A reassignment never completes with fewer in-sync replicas than min.insync.replicas, the ISR before, and the
    target.

    Kind: state, of the past.
    When false: one more failure loses records, or producers cannot write.
    Source: S22; KAFKA-15665.
    """
    return never(cluster, Mishap.FEWER_COPIES)


@invariant(controller=controllers, broker=brokers)
def brokers_that_shut_down_stay_out_of_the_isr(cluster: Cluster, controller: int, broker: int) -> bool | Witness:
    """A broker that the controller knows to shut down is in no ISR of more than one member.

    Kind: state.
    When false: acks=all waits for the broker after it has exited.
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
def running_leaders_keep_leading(before: Cluster, after: Cluster, leader: int) -> bool | Witness:
    """A leader that runs, is registered and does not shut down keeps leading, unless a client has asked for another
    leader.

    Kind: step.
    When false: clients and followers change to another leader without need.
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
    return Witness("b{leader} runs and is registered, and no longer leads", leader=leader)


@step_property(needs=asks_again, broker=brokers)
def brokers_hand_over_before_they_exit(before: Cluster, after: Cluster, broker: int) -> bool | Witness:
    """A broker that ends its controlled shutdown is not the leader, as long as another member of the ISR runs.

    Kind: step. It may be false if the broker crashes meanwhile.
    When false: clients find no leader until the controller has noticed that the broker is gone.
    Source: kafka.server.KafkaServer#controlledShutdown (0.8.2.0 to 3.9).
    """
    leadership, left = after.zk.leadership, before.brokers[broker].leaving and not after.brokers[broker].running
    if not left or leadership is None or leadership.leader != broker or is_going_away(after):
        return True
    if not any(after.brokers[member].running for member in leadership.isr):
        return True
    return Witness("b{broker} exits as the leader", broker=broker)


@step_property(needs=lambda bounds: bounds.reassignments)
def reassignments_complete_with_the_target_assigned_and_in_sync(before: Cluster, after: Cluster) -> bool | Witness:
    """When a reassignment completes, assignment and ISR are the target.

    Kind: step. It may be false if a member has failed, or the leader has removed one from the ISR, between the decision
        to complete and this step.
    When false: the assignment differs from the target, and no request is left that shows it.
    Source: kafka.controller.KafkaController#onPartitionReassignment (3.5): at its end AR and ISR are the target.
    """
    zk, target = after.zk, after.history.target
    if before.zk.reassignment is None or zk.reassignment is not None or is_going_away(after) or zk.leadership is None:
        return True
    if frozenset(zk.assignment) == target and zk.leadership.isr == target:
        return True
    return Witness(
        "the reassignment to {target} ends with {assigned} assigned and {isr} in the ISR",
        target=sorted(target), assigned=sorted(zk.assignment), isr=sorted(zk.leadership.isr),
    )  # fmt: skip
