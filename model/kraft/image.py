"""What the metadata log says: how brokers are registered, and who leads each partition."""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from highwater.model.kraft.bounds import (
    broker_epochs,
    flag_if,
    min_isrs,
    partition_epochs,
    per_partition,
    some_broker,
    stale_broker_sets,
    topic_ids,
)
from highwater.model.language.domain import BOOLEAN, OneOf
from highwater.model.language.records import records, within
from highwater.model.log import broker_lists, broker_sets, epochs, per_broker


class Standing(Enum):
    """How the controller has registered a broker. Only in the second and third does it serve anybody."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    LEAVING = "in controlled shutdown"
    UNREGISTERED = "not registered"


SERVING = (Standing.UNFENCED, Standing.LEAVING)


def standings(bounds: Any) -> OneOf:
    """The domain of a broker's standing."""
    return OneOf(tuple(each for each in Standing if bounds.unregistrations or each is not Standing.UNREGISTERED))


@attrs.frozen
class Registration:
    """What the metadata log says of a broker.

    Attributes:
        directories_failed: by partition, whether the log directory of the broker's replica counts as failed (KIP-858).
        outdated: whether it was made under a metadata version that has no log directories, and the present one has.
    """

    broker_epoch: int = within(broker_epochs)
    standing: Standing = within(standings)
    directories_failed: tuple[bool, ...] = within(per_partition(flag_if("directory_failures", "upgrades")))
    outdated: bool = within(flag_if("upgrades"))


@attrs.frozen
class Partition:
    """What the metadata log says of a partition; `last_known_leader` is the member of its last known ELR.

    Topics of the same name follow each other: `topic_id` counts them. Without replicas, the last one is deleted and the
    next one not yet created.
    """

    replicas: tuple[int, ...] = within(broker_lists)
    isr: frozenset[int] = within(broker_sets)
    elr: frozenset[int] = within(broker_sets)
    last_known_leader: int | None = within(some_broker)
    leader: int | None = within(some_broker)
    removing: frozenset[int] = within(broker_sets)
    adding: frozenset[int] = within(broker_sets)
    recovering: bool = within(BOOLEAN)
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)
    topic_id: int = within(topic_ids)


def created(replicas: tuple[int, ...], isr: frozenset[int], leader: int | None, topic_id: int) -> Partition:
    """A partition of a new topic, or without replicas of none.

    Source: org.apache.kafka.controller.ReplicationControlManager#buildPartitionRegistration (3.6.0 to 4.3.1).
    """
    nobody = frozenset[int]()
    return Partition(
        replicas=replicas,
        isr=isr,
        elr=nobody,
        last_known_leader=None,
        leader=leader,
        removing=nobody,
        adding=nobody,
        recovering=False,
        leader_epoch=0,
        partition_epoch=0,
        topic_id=topic_id,
    )


@attrs.frozen
class Stale:
    """The brokers that a controller's index takes for members of an ELR although they are none. All controllers have
    the same, which follows from the records that they have replayed.

    Attributes:
        of_topic: of the topic that there is.
        of_deleted: of a topic that is deleted.

    Source: org.apache.kafka.controller.BrokersToElrs (3.8.0 to 4.3.1).
    """

    of_topic: frozenset[int] = within(stale_broker_sets)
    of_deleted: frozenset[int] = within(stale_broker_sets)


@attrs.frozen
class Image:
    """What the metadata log says up to some offset, and what of the index of a controller is stale then."""

    registrations: tuple[Registration, ...] = within(per_broker(records(Registration)))
    partitions: tuple[Partition, ...] = within(per_partition(records(Partition)))
    min_isr: int = within(min_isrs)
    stale: Stale = within(Stale)


@attrs.frozen
class Batch:
    """A batch of records that the active controller has appended and that is not committed.

    Attributes:
        before: what the metadata log says before it.
        answers: the leader whose AlterPartition request is answered once the batch is committed.
        of_quorum: whether the batch changes the quorum's voters, which is nothing to the controller (KIP-853).
    """

    before: Image = within(Image)
    answers: int | None = within(some_broker)
    of_quorum: bool = within(BOOLEAN)
