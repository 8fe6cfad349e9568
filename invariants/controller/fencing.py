"""One leader and one controller per epoch; deposed controllers and stale requests change nothing."""

from __future__ import annotations

from highwater.invariants.controller.terms import never
from highwater.model.controller.bounds import controllers
from highwater.model.controller.state import Cluster, Mishap
from highwater.model.language.declarations import Witness, invariant, step_property
from highwater.model.log import NO_EPOCH, brokers


@invariant(first=brokers, second=brokers)
def one_leader_per_epoch(cluster: Cluster, first: int, second: int) -> bool | Witness:
    """No two brokers lead the same topic's partition in the same leader epoch.

    Kind: state.
    When false: both append records in the same epoch, so that followers do not find where their logs diverge.
    Source: S9; KAFKA-532, KAFKA-6082.
    """
    if first >= second:
        return True
    ours, theirs = cluster.brokers[first], cluster.brokers[second]
    if (
        not ours.leads
        or not theirs.leads
        or ours.leader_epoch != theirs.leader_epoch
        or ours.topic_id != theirs.topic_id
    ):
        return True
    return Witness(
        "b{first} and b{second} both lead in leader epoch {epoch}", first=first, second=second, epoch=ours.leader_epoch
    )


@step_property(broker=brokers)
def a_leader_epoch_keeps_its_leader(before: Cluster, after: Cluster, broker: int) -> bool | Witness:
    """While a leader epoch is current, its leader does not change, and no other broker begins to lead in it.

    Kind: step.
    When false: two brokers lead one after the other in the same epoch, and their records cannot be distinguished.
    Source: S9; kafka.controller.ZkPartitionStateMachine#doElectLeaderForPartitions (3.5), which starts an epoch with
        every leader.
    """
    old, new = before.zk.leadership, after.zk.leadership
    if old is None or new is None or before.zk.topic_id != after.zk.topic_id:
        return True
    epoch = new.leader_epoch
    if old.leader_epoch == epoch and old.leader != new.leader:
        return Witness("leader epoch {epoch} gets another leader", epoch=epoch)
    was, now = before.brokers[broker], after.brokers[broker]
    if not now.leads or now.leader_epoch != epoch or now.topic_id != after.zk.topic_id or new.leader == broker:
        return True
    if was.leads and was.leader_epoch == epoch:
        return True
    return Witness(
        "b{broker} begins to lead in leader epoch {epoch}, which has another leader", broker=broker, epoch=epoch
    )


@invariant()
def only_the_current_controller_writes(cluster: Cluster) -> bool | Witness:
    """No controller with an epoch below the current one changes data in ZooKeeper.

    Kind: state, of the past.
    When false: two controllers' decisions interleave.
    Source: S17; KAFKA-6082.
    """
    return never(cluster, Mishap.STALE_WRITE)


@invariant(first=controllers, second=controllers)
def one_controller_per_epoch(cluster: Cluster, first: int, second: int) -> bool | Witness:
    """No two controllers are active in the same controller epoch.

    Kind: state.
    When false: brokers and ZooKeeper cannot distinguish their requests.
    Source: S17; KAFKA-1096.
    """
    if first >= second:
        return True
    ours, theirs = cluster.controllers[first], cluster.controllers[second]
    if not ours.active or not theirs.active or ours.epoch != theirs.epoch:
        return True
    return Witness(
        "c{first} and c{second} are both active in controller epoch {epoch}",
        first=first,
        second=second,
        epoch=ours.epoch,
    )


@invariant()
def stale_requests_change_nothing(cluster: Cluster) -> bool | Witness:
    """No broker obeys a request with an older controller epoch, leader epoch or broker epoch than it knows.

    Kind: state, of the past.
    When false: an old request undoes newer ones.
    Source: S18; KAFKA-532, KAFKA-1188, KIP-380, KIP-570.
    """
    return never(cluster, Mishap.STALE_REQUEST)


@step_property()
def elected_controllers_stay(before: Cluster, after: Cluster) -> bool | Witness:
    """A broker that is elected as the controller is so still at the end of that event.

    Kind: step.
    When false: it resigns as it takes over, and the next election follows at once.
    Source: kafka.controller.KafkaController#elect (2.4 to 3.9).
    """
    epoch = after.zk.controller_epoch
    if epoch == before.zk.controller_epoch or after.zk.controller is not None:
        return True
    return Witness("the controller of controller epoch {epoch} resigns as it takes over", epoch=epoch)


@step_property(broker=brokers)
def known_epochs_never_decrease(before: Cluster, after: Cluster, broker: int) -> bool | Witness:
    """Until a broker restarts, the controller epoch and a topic's leader epoch that it knows never decrease.

    Kind: step.
    When false: the broker accepts requests that it would have fenced before.
    Source: S18.
    """
    old, new = before.brokers[broker], after.brokers[broker]
    if not new.running or new.epoch != old.epoch:
        return True
    if new.controller_epoch < old.controller_epoch:
        return Witness("b{broker} goes back to controller epoch {epoch}", broker=broker, epoch=new.controller_epoch)
    if new.leader_epoch >= old.leader_epoch or new.leader_epoch == NO_EPOCH or new.topic_id != old.topic_id:
        return True
    return Witness("b{broker} goes back to leader epoch {epoch}", broker=broker, epoch=new.leader_epoch)
