"""Bounds on failures and shutdowns beyond their budgets: of how many brokers, of how many at once, and when.

A step that one of them rules out leaves a domain, as every step beyond a bound does. It is cut and counted for that
bound, so that reports name it.
"""

from __future__ import annotations

from highwater.model.language.records import evolve
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.state import Partition, Standing, Used


def is_away(partition: Partition, broker: int) -> bool:
    """Whether a broker is down or shutting down."""
    return not partition.replicas[broker].is_up or is_shutting_down(partition, broker)


def is_shutting_down(partition: Partition, broker: int) -> bool:
    """Whether the controller knows that a broker is shutting down, and has not fenced it yet."""
    return partition.quorum.registrations[broker].standing is Standing.SHUTTING_DOWN


def has_stopped(partition: Partition, broker: int) -> bool:
    """Whether a broker is away or has started again."""
    return is_away(partition, broker) or partition.quorum.registrations[broker].broker_epoch > 0


def ruled_out(used: Used, bound: str, bounds: PartitionBounds) -> Used:
    """Budgets outside their domain, for a step that a bound rules out."""
    return evolve(used, **{bound: getattr(bounds, bound) + 1})


def stopping(partition: Partition, broker: int, budget: str, bounds: PartitionBounds) -> Used:
    """The budgets after a broker has crashed or has begun to shut down."""
    used = partition.spent(budget)
    others = [each for each in range(bounds.brokers) if each != broker]
    if bounds.down_at_once and sum(is_away(partition, each) for each in others) >= bounds.down_at_once:
        used = ruled_out(used, "down_at_once", bounds)
    if bounds.stops_per_broker and partition.quorum.registrations[broker].broker_epoch >= bounds.stops_per_broker:
        used = ruled_out(used, "stops_per_broker", bounds)
    first_time = bounds.stopping_brokers and not has_stopped(partition, broker)
    if first_time and sum(has_stopped(partition, each) for each in others) >= bounds.stopping_brokers:
        used = ruled_out(used, "stopping_brokers", bounds)
    return used


def failing(partition: Partition, used: Used, broker: int, bounds: PartitionBounds) -> Used:
    """The budgets after a broker has crashed or lost its session. Two bounds say when that may happen."""
    others = [each for each in range(bounds.brokers) if each != broker]
    if bounds.failures_during_shutdown and not any(is_shutting_down(partition, each) for each in others):
        used = ruled_out(used, "failures_during_shutdown", bounds)
    if bounds.failures_without_leader and partition.quorum.leader is not None:
        used = ruled_out(used, "failures_without_leader", bounds)
    return used


def shutting_down(partition: Partition, broker: int, bounds: PartitionBounds) -> Used:
    """The budgets after a broker has begun to shut down."""
    used = stopping(partition, broker, "controlled_shutdowns", bounds)
    if bounds.shutdowns_wait_for_isr and partition.quorum.isr != partition.quorum.assignment:
        used = ruled_out(used, "shutdowns_wait_for_isr", bounds)
    return used
