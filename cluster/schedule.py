"""From a trace of the partition model to a schedule for a real cluster.

Some steps of a trace are decided: by clients, by whoever moves leadership, by failures. The others a broker or the
controller takes by itself, and as soon as it can: a running broker learns the newest metadata, fetches, and asks for
ISR changes. Nobody can hold back one of these steps alone. But a paused process takes none.

So a schedule is a run of the model in which running brokers are *eager*. It takes the trace's decided steps, pauses
brokers in between, and violates the same property once nobody has anything left to do. Steps that brokers take by
themselves may come in another order than in the trace, and some may be left out or added. Each deed comes with the
state that the model has after it, so that the cluster's state can be compared.
"""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Instance
from highwater.model.partition.state import Partition, Standing

# what a running broker, or the controller, does by itself, in the order in which it is tried
EAGER = (
    "learn_leadership",
    "learn_isr",
    "unfence",
    "elect",
    "elect_last_known_leader",
    "fetch_at_once",
    "handle_out_of_range",
    "find_in_sync",
    "propose_expansion",
    "alter_partition",
    "receive_isr_answer",
)
# what somebody decides, or what takes time
DECIDED = (
    "produce",
    "move_leadership",
    "fence",
    "crash",
    "crash_with_loss",
    "restart",
    "begin_controlled_shutdown",
    "elect_uncleanly",
    "remove_replica",
    "add_replica",
)


class Kind(Enum):
    """What is done to the cluster."""

    BEGIN = "begin"
    PAUSE = "pause"
    RESUME = "resume"
    LAG = "lag"
    STEP = "step"


@attrs.frozen
class Deed:
    """Something done to the cluster, and what the model says comes of it.

    Attributes:
        kind: what it is.
        broker: whom it concerns; None for a step that concerns the partition.
        decided: the step of the model, if it is one.
        eager: the steps that follow by themselves, each with the state after it.
        state: the model's state once nothing follows any more.
        paused: who is paused then.
    """

    kind: Kind
    broker: int | None
    decided: Instance | None
    eager: tuple[Step, ...]
    state: Partition
    paused: frozenset[int]

    @property
    def name(self) -> str:
        return self.decided.of.name if self.decided and self.kind is Kind.STEP else self.kind.value

    def __str__(self) -> str:
        return (
            str(self.decided)
            if self.decided and self.kind is Kind.STEP
            else f"{self.kind.value}{'' if self.broker is None else f' b{self.broker}'}"
        )


@attrs.frozen
class Schedule:
    """Deeds in order, the first of which brings the cluster up.

    Attributes:
        violated: the instance of the property that the run violates, and after which deed it first does.
        shows_from: where the deeds begin that show what follows from the violation.
    """

    deeds: tuple[Deed, ...]
    violated: Instance
    shows_from: int


def concerned(action: Instance) -> int | None:
    """The broker that a decided step is done to, or by."""
    arguments = action.arguments
    return next((arguments[key] for key in ("leader", "broker") if key in arguments), None)


def may_act(action: Instance, state: Partition, paused: frozenset[int]) -> bool:
    """Whether an eager step concerns running processes only, and learns nothing but the newest."""
    arguments, name = action.arguments, action.of.name
    if name == "learn_leadership":
        return arguments["broker"] not in paused and arguments["epoch"] == state.leader_epoch
    if name == "fetch_at_once":
        follower = arguments["follower"]
        return follower not in paused and state.replicas[follower].leader not in paused
    if name in ("propose_expansion", "find_in_sync"):  # Kafka looks when the follower fetches
        return arguments["leader"] not in paused and arguments["follower"] not in paused
    if name in ("elect", "elect_last_known_leader"):
        return True
    if name == "unfence":
        return arguments["broker"] not in paused
    acting = arguments.get("leader", arguments.get("follower"))
    return acting not in paused


def missing(state: Partition, paused: frozenset[int]) -> tuple[int, ...]:
    """The acknowledged records that the leader lacks, if all running brokers follow a leader that can be asked."""
    leader = state.quorum.leader
    if leader is None or leader in paused or not state.leads(leader):
        return ()
    if state.replicas[leader].leader_epoch != state.leader_epoch:
        return ()
    if state.quorum.registrations[leader].standing is not Standing.ACTIVE:
        return ()
    there = {record.id for record in state.replicas[leader].log}
    return tuple(sorted(state.clients.acked - there))
