"""The controller's half: what each of its actions is on Kafka's ReplicationControlManager and ClusterControlManager,
and what these show of the model's record.

Kafka elects the first suitable replica in the order of the assignment, the model any suitable one. So the harness puts
the wanted one first, and a step fails there if Kafka elects another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from highwater.explorer.system import System
from highwater.model.partition.alter_partition import error_of, takes_leader_away, unanswered
from highwater.model.partition.controlling import elects_without, may_lead
from highwater.model.partition.elections import may_lead_again
from highwater.model.partition.messages import Answer
from highwater.model.partition.reassigning import leads_on, with_removal
from highwater.model.partition.state import Partition, Standing
from highwater.model.partition_rules import AlterPartitionError

NAME = "controller"
NOBODY = -1
NEW_LEADER_ELECTED = AlterPartitionError.NEW_LEADER_ELECTED.value
OF_AN_EARLIER_INCARNATION = "STALE_BROKER_EPOCH"
"""What Kafka answers a broker that has registered again since it asked; in the model its epochs are old, too."""

Operation = dict[str, Any]
Step = Callable[..., list[Operation] | None]


def begin(partition: Partition, bounds: Any, configured: Any) -> Operation:
    """A new controller that knows an initial state.

    Args:
        configured: the protocol whose settings of a cluster apply, whatever rules are put to the test.
    """
    quorum = partition.quorum
    return {
        "do": "controller begin",
        "elr": configured.elr,
        "min_insync_replicas": bounds.min_insync_replicas,
        "leader": quorum.leader,
        "isr": sorted(quorum.isr),
        "replicas": sorted(quorum.assignment),
        "registrations": [
            [broker, each.broker_epoch, each.standing is Standing.FENCED]
            for broker, each in enumerate(quorum.registrations)
        ],
    }


def _call(name: str, **arguments: Any) -> list[Operation]:
    return [{"do": f"controller {name}", **arguments, "see": [NAME]}]


def election_due(partition: Partition, protocol: Any) -> list[int]:
    """The brokers that an election may choose while nobody leads. Kafka unfences a broker and elects in one call."""
    if partition.quorum.leader is not None:
        return []
    quorum = partition.quorum
    return [
        broker
        for broker in range(len(quorum.registrations))
        if may_lead(quorum, broker) or may_lead_again(quorum, broker, protocol)
    ]


def _leader_after(before: Partition, broker: int, successor: int | None) -> int:
    """Who leads after a broker has left: the successor, or the leader that there is."""
    leader = successor if elects_without(before.quorum, broker) else before.quorum.leader
    return NOBODY if leader is None else leader


def _named_in_vain(before: Partition, broker: int, successor: int | None) -> bool:
    """Whether a step names a successor where no election follows: no call of Kafka does."""
    if successor is None:
        return False
    return not elects_without(before.quorum, broker) or successor not in before.quorum.assignment


def fence(before: Partition, broker: int, successor: int | None, protocol: Any, bounds: Any) -> list[Operation] | None:
    if before.quorum.registrations[broker].standing is Standing.FENCED:
        return None
    if before.replicas[broker].is_up and not bounds.spurious_fences:
        return None
    if _named_in_vain(before, broker, successor) or election_due(before, protocol):
        return None
    leader = _leader_after(before, broker, successor)
    return _call("fence", broker=broker, leader=leader, leaves=_leaves_by_registering(before, broker, protocol))


def _leaves_by_registering(before: Partition, broker: int, protocol: Any) -> bool:
    """Whether the controller takes a broker from the ISR, or from the lead, that registers again before it is fenced.

    Source: org.apache.kafka.controller.ReplicationControlManager#handleBrokerShutdown (4.0.0 to 4.4).
    """
    quorum = before.quorum
    changes = broker in quorum.isr and (len(quorum.isr) > 1 or quorum.leader == broker)
    return protocol.registering_again_fences and changes


def unfence(before: Partition, broker: int) -> list[Operation]:
    return _call("unfence", broker=broker)


def begin_controlled_shutdown(
    before: Partition, broker: int, successor: int | None, protocol: Any
) -> list[Operation] | None:
    if before.quorum.registrations[broker].standing is not Standing.ACTIVE or not before.replicas[broker].is_up:
        return None
    if _named_in_vain(before, broker, successor) or election_due(before, protocol):
        return None
    leader = _leader_after(before, broker, successor)
    return _call("begin controlled shutdown", broker=broker, leader=leader)


def elect(before: Partition, candidate: int, protocol: Any) -> list[Operation] | None:
    if before.quorum.leader is not None or may_lead_again(before.quorum, candidate, protocol):
        return None
    return _call("elect", leader=candidate)


def elect_last_known_leader(before: Partition, candidate: int, protocol: Any) -> list[Operation] | None:
    if before.quorum.leader is not None or may_lead(before.quorum, candidate):
        return None
    return _call("elect", leader=candidate)


def elect_uncleanly(before: Partition, candidate: int, protocol: Any) -> list[Operation] | None:
    if election_due(before, protocol):
        return None
    return _call("elect uncleanly", leader=candidate)


def move_leadership(before: Partition, candidate: int) -> list[Operation] | None:
    if before.quorum.leader is None or candidate not in before.quorum.assignment:
        return None
    return _call("elect preferred", leader=candidate)


def remove_replica(before: Partition, broker: int) -> list[Operation]:
    return _call("reassign", replicas=sorted(before.quorum.assignment - {broker}))


def add_replica(before: Partition, broker: int) -> list[Operation] | None:
    if before.quorum.leader is None and broker in before.quorum.elr:
        return None  # the harness has no directories, for which the controller would refuse
    return _call("reassign", replicas=sorted(before.quorum.assignment | {broker}))


def begin_removal(
    before: Partition, broker: int, successor: int | None, protocol: Any, bounds: Any
) -> list[Operation] | None:
    quorum = before.quorum
    if before.used.reassignments or broker not in quorum.assignment - quorum.removing or quorum.assignment == {broker}:
        return None  # whoever asks for the same again changes the order of the replicas at most
    if election_due(before, protocol):
        return None
    if leads_on(with_removal(quorum, broker, protocol, bounds)):
        if successor is not None:
            return None
        leads = NOBODY if quorum.leader is None else quorum.leader
    else:
        leads = NOBODY if successor is None else successor
    rest = sorted(quorum.assignment - {broker}, key=lambda each: each != leads)
    return _call("begin removal", replicas=rest, leader=leads)


def alter_partition(before: Partition, leader: int, protocol: Any, bounds: Any) -> list[Operation] | None:
    asked = unanswered(before, leader)
    if asked is None or takes_leader_away(before, leader, asked[1], protocol):
        return None
    number, change = asked
    error = error_of(before, leader, change, protocol).value
    unrecovered = error_of(before, leader, attrs.evolve(change, recovering=True), protocol).value
    probe = {"unrecovered": unrecovered} if bounds.leader_recovery or len(change.isr) > 1 else {}
    return _call("alter partition", broker=leader, number=number, error=error, **probe, **_settings(protocol))


def complete_removal(before: Partition, leader: int, successor: int | None, protocol: Any) -> list[Operation] | None:
    asked = unanswered(before, leader)
    if asked is None or not takes_leader_away(before, leader, asked[1], protocol):
        return None
    elected = {"leader": NOBODY if successor is None else successor, **_settings(protocol)}
    return _call("alter partition", broker=leader, number=asked[0], error=NEW_LEADER_ELECTED, **elected)


def _settings(protocol: Any) -> dict[str, bool]:
    """Whether the topic allows unclean elections, which AlterPartition asks for, too."""
    return {"unclean": protocol.elects_uncleanly}


def register(before: Partition, broker: int) -> Operation:
    """The registration of a broker that starts again."""
    epoch = before.quorum.registrations[broker].broker_epoch + 1
    return _call("register", broker=broker, epoch=epoch, clean=before.replicas[broker].clean)[0]


STEPS: Mapping[str, Step] = {
    step.__name__: step
    for step in (
        fence, unfence, begin_controlled_shutdown, elect, elect_last_known_leader, elect_uncleanly, move_leadership,
        remove_replica, add_replica, begin_removal, alter_partition, complete_removal,
    )
}  # fmt: skip

REFUSABLE = (
    "fence", "begin_controlled_shutdown", "elect", "elect_last_known_leader", "elect_uncleanly", "move_leadership",
    "begin_removal",
)  # fmt: skip
"""Actions that are tried on Kafka also where the model refuses them: Kafka must not elect that broker."""

_WAIT = {"fence", "unfence", "begin_controlled_shutdown", "restart", "remove_replica", "add_replica", "begin_removal"}


def without_delayed_elections(system: System, protocol: Any) -> System:
    """The system without other steps of the controller between unfencing and the election that follows from it: both
    are inside one call of ReplicationControlManager#handleBrokerUnfenced.
    """

    def guarded(action: Any) -> Any:
        if action.of.name not in _WAIT:
            return action

        def apply(state: Any) -> Any:
            after = action.apply(state)
            return None if after is not None and election_due(state, protocol) else after

        return attrs.evolve(action, apply=apply)

    return attrs.evolve(system, actions=tuple(map(guarded, system.actions)))


def compared(
    partition: Partition, real: Mapping[str, Any], protocol: Any, bounds: Any
) -> Iterator[tuple[str, Any, Any]]:
    """Each field of the controller's record, as the two sides have it."""
    quorum = partition.quorum
    yield "leader", _broker(quorum.leader), _broker(real["leader"])
    yield "leader epoch", partition.leader_epoch, real["leaderEpoch"]
    yield "partition epoch", quorum.partition_epoch, real["partitionEpoch"]
    yield "assignment", sorted(quorum.assignment), sorted(real["replicas"])
    yield "replicas to be removed", sorted(quorum.removing), sorted(real["removing"])
    if bounds.leader_recovery:
        yield "leader has to recover", quorum.recovering, real["recovering"]
    yield "ISR", sorted(quorum.isr), sorted(real["isr"])
    yield "ELR", sorted(quorum.elr), sorted(real["elr"])
    last = [] if quorum.last_known_leader is None else [quorum.last_known_leader]
    yield "last known leader", last, real["lastKnownElr"]
    for broker, (registration, (standing, epoch)) in enumerate(
        zip(quorum.registrations, real["registrations"], strict=True)
    ):
        yield f"broker b{broker} standing", registration.standing.value, standing
        yield f"broker b{broker} epoch", registration.broker_epoch, epoch
    if "elects" in real:
        due, elects = election_due(partition, protocol), real["elects"]
        expected = elects if elects in due else due[0] if due else NOBODY
        yield "election due", _broker(expected), _broker(elects)
    if "answer" in real:
        yield from _of_answer(partition, real["answer"], bounds)
    if "again" in real:
        yield from _of_another_incarnation(real["again"])


def _of_another_incarnation(real: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What an incarnation is answered that registers while the session of another one lasts, and what follows once it
    is over.

    Source: org.apache.kafka.controller.ClusterControlManager#registerBroker (2.8.0 to 4.4), BrokerHeartbeatManager
        #hasValidSession (2.8.0 to 4.4).
    """
    expected, *answers = real["answers"]
    for when, answer in zip(("during", "at the end of"), answers, strict=True):
        yield f"answer to another b{real['broker']} {when} its session", expected, answer
    if "leaves" in real:
        yield f"another b{real['broker']} changes the partition", *real["leaves"]


def _broker(broker: int | None) -> str:
    return "nobody" if broker is None or broker == NOBODY else f"b{broker}"


def _of_answer(partition: Partition, real: Mapping[str, Any], bounds: Any) -> Iterator[tuple[str, Any, Any]]:
    earlier = real["error"] == OF_AN_EARLIER_INCARNATION and real["expected"] != AlterPartitionError.NONE.value
    yield "answer", real["error"] if earlier else real["expected"], real["error"]
    if "unrecovered" in real and not earlier:
        yield "answer to a leader that has to recover", *real["unrecovered"]
    if real["expected"] == real["error"] == AlterPartitionError.NONE.value:
        change = [each for each in partition.replicas[real["broker"]].changes if each.answer is not Answer.NONE][-1]
        yield "answer's leader epoch", change.leader_epoch, real["leaderEpoch"]
        yield "answer's partition epoch", change.partition_epoch, real["partitionEpoch"]
        yield "answer's ISR", sorted(change.isr), sorted(real["isr"])
        if bounds.leader_recovery:
            yield "answer's recovery", change.recovering, real["recovering"]
