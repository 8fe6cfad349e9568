"""A controller's context, and the next step of its procedure: kafka.controller.ControllerContext (3.5)."""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.controller.bounds import (
    broker_epochs,
    controller_epochs,
    topics,
)
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.zookeeper import Leadership, Reassignment
from highwater.model.language.domain import BOOLEAN, Maybe, OneOf
from highwater.model.language.records import records, within
from highwater.model.log import broker_lists, broker_sets, per_broker


class Step(Enum):
    """The next step of a controller in a procedure of several steps. It may crash before each."""

    UPDATE_ASSIGNMENT = "update assignment"
    SEND_ASSIGNMENT = "send assignment"
    START_REPLICAS = "start replicas"
    MOVE_LEADER = "move leader"
    STOP_REPLICAS = "stop replicas"
    DELETE_REPLICAS = "delete replicas"
    NARROW_ASSIGNMENT = "narrow assignment"
    CLOSE_REASSIGNMENT = "close reassignment"
    SEND_METADATA = "send metadata"
    DELETE_LEADERSHIP = "delete leadership"
    DELETE_TOPIC = "delete topic"
    DELETE_REQUEST = "delete request"


class Answer(Enum):
    """A broker's response to StopReplica with delete, in flight to the controller."""

    NONE = "none"
    DELETED = "deleted"
    FAILED = "failed"


@attrs.frozen
class Context:
    """A controller's view of the cluster. All fields but the last two are blank while it is not active.

    Attributes:
        active: whether it acts as controller. It may have been deposed.
        epoch: its controller epoch.
        live: by broker, the broker epoch that it knows; None for a dead one.
        shutting_down: live brokers that are shutting down.
        topic_id, assignment, leadership, reassignment: as it has read or written them last.
        partition, replicas: the states of its two state machines.
        deleting: whether the topic is queued for deletion.
        deletion_begun: whether the partition has passed its state machine for the deletion.
        deletion_halted: whether the topic is ineligible for deletion for now.
        added: the state of the only replica of a partition that was added during the deletion.
        answers: by broker, a response that it has not read yet.
        step: its next step, if it is in the middle of a procedure.
        notification_queued: whether it has resigned, and still has a notification of a changed ISR in its queue.
        batch_left: whether the batch of its replica state machine has requests from before it was deposed.
    """

    active: bool = within(BOOLEAN)
    epoch: int = within(controller_epochs)
    live: tuple[int | None, ...] = within(per_broker(lambda bounds: Maybe(broker_epochs(bounds))))
    shutting_down: frozenset[int] = within(broker_sets)
    topic_id: int = within(topics)
    assignment: tuple[int, ...] = within(broker_lists)
    leadership: Leadership | None = within(lambda bounds: Maybe(records(Leadership)(bounds)))
    reassignment: Reassignment | None = within(lambda bounds: Maybe(records(Reassignment)(bounds)))
    partition: PartitionState = within(OneOf(PartitionState))
    replicas: tuple[ReplicaState, ...] = within(per_broker(OneOf(ReplicaState)))
    deleting: bool = within(BOOLEAN)
    deletion_begun: bool = within(BOOLEAN)
    deletion_halted: bool = within(BOOLEAN)
    added: ReplicaState = within(OneOf(ReplicaState))
    answers: tuple[Answer, ...] = within(per_broker(OneOf(Answer)))
    step: Step | None = within(Maybe(OneOf(Step)))
    notification_queued: bool = within(BOOLEAN)
    batch_left: bool = within(BOOLEAN)

    def is_online(self, broker: int) -> bool:
        """Whether the broker is live and not shutting down, as the controller knows it."""
        return self.live[broker] is not None and broker not in self.shutting_down

    def online(self) -> frozenset[int]:
        """The brokers that are live and not shutting down, as the controller knows them."""
        return frozenset(broker for broker in range(len(self.live)) if self.is_online(broker))


def blank(brokers: int) -> Context:
    """The context of a controller that is not active."""
    return Context(
        active=False, epoch=0, live=(None,) * brokers, shutting_down=frozenset(), topic_id=0, assignment=(),
        leadership=None, reassignment=None, partition=PartitionState.NON_EXISTENT,
        replicas=(ReplicaState.NON_EXISTENT,) * brokers, deleting=False, deletion_begun=False, deletion_halted=False,
        added=ReplicaState.NON_EXISTENT, answers=(Answer.NONE,) * brokers, step=None, notification_queued=False,
        batch_left=False,
    )  # fmt: skip
