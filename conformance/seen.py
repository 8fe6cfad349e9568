"""The model's state as Kafka's real objects show it: what a page draws beside the model's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highwater.conformance.controller_side import NAME, NOBODY
from highwater.model.language.records import evolve
from highwater.model.partition.batches import Record
from highwater.model.partition.state import Leadership, Partition, Process, Quorum, Replica, Standing


def as_seen(partition: Partition, seen: Mapping[str, Any]) -> Partition:
    """A state of the model in which some brokers, and the controller, are as Kafka's objects show them. What these do
    not show stays as the model has it.
    """
    for name, real in seen.items():
        if name == NAME:
            partition = evolve(partition, quorum=_quorum(partition.quorum, real))
        else:
            partition = partition.with_replica(int(name), _replica(partition.replicas[int(name)], real))
    return partition


def _broker(broker: int | None) -> int | None:
    return None if broker == NOBODY else broker


def _quorum(quorum: Quorum, real: Mapping[str, Any]) -> Quorum:
    registrations = tuple(
        evolve(registration, standing=Standing(standing), broker_epoch=epoch)
        for registration, (standing, epoch) in zip(quorum.registrations, real["registrations"], strict=True)
    )
    return evolve(
        quorum,
        leader=_broker(real["leader"]),
        isr=frozenset(real["isr"]),
        elr=frozenset(real["elr"]),
        last_known_leader=next(iter(real["lastKnownElr"]), None),
        assignment=frozenset(real["replicas"]),
        partition_epoch=real["partitionEpoch"],
        registrations=registrations,
        removing=frozenset(real["removing"]),
    )


def _replica(replica: Replica, real: Mapping[str, Any]) -> Replica:
    if real["up"] != replica.is_up:
        replica = evolve(replica, process=Process.UP if real["up"] else Process.DOWN)
    if not real["up"]:
        return replica
    records = {offset: Record(*rest) for offset, *rest in real.get("log", ())}
    below = (*replica.log, *[Record(0, 0)] * real.get("leo", 0))  # the log start hides them
    log = tuple(records.get(offset, below[offset]) for offset in range(real.get("leo", 0)))
    replica = evolve(replica, log=log, log_start=real.get("start", 0), leadership=None, checkpoint=real["checkpoint"])
    if "leader" not in real:
        return evolve(replica, leader=None)
    epoch, high_watermark = real["leaderEpoch"], real["hw"] or 0
    replica = evolve(replica, leader=_broker(real["leader"]), leader_epoch=epoch, high_watermark=high_watermark)
    if "isr" not in real:
        return replica
    leadership = Leadership(
        isr=frozenset(real["isr"]),
        assignment=frozenset(real["replicas"]),
        pending=None if real["proposed"] is None else frozenset(real["proposed"]),
        partition_epoch=real["partitionEpoch"],
        ahead_of_metadata=False,
        start_offset=real["epochStart"] or 0,
        waiting_from=0,
        candidate=None,
    )
    known = list(replica.followers)
    for follower, (end, _, epoch, _) in real["followers"].items():
        end_offset = None if end < 0 else end
        known[int(follower)] = evolve(known[int(follower)], log_end_offset=end_offset, broker_epoch=int(epoch))
    return evolve(replica, leadership=leadership, followers=tuple(known))
