"""Domains that the models share: brokers, epochs, offsets and records."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.model.language.domain import ArrayOf, Integers, SequenceOf, SetOf
from highwater.model.language.records import within

NO_EPOCH = -1


def brokers(bounds: Any) -> Integers:
    """The domain of a broker id, for any bounds with a number of brokers."""
    return Integers(0, bounds.brokers - 1, label="b", names="brokers")


def broker_sets(bounds: Any) -> SetOf:
    """The domain of a set of brokers."""
    return SetOf(brokers(bounds))


def broker_lists(bounds: Any) -> SequenceOf:
    """The domain of brokers in an order, such as an assignment."""
    return SequenceOf(brokers(bounds), bounds.brokers)


def per_broker(of: Any) -> Any:
    """A domain from bounds: one value for each broker. `of` is its domain, or leads from bounds to it."""
    return lambda bounds: ArrayOf(of(bounds) if callable(of) else of, bounds.brokers, label="b", by="brokers")


def epochs(bounds: Any) -> Integers:
    """The domain of a leader epoch, without -1 for none, for any bounds with a last leader epoch."""
    return Integers(0, bounds.leader_epoch_max, label="e", order="leader_epochs")


def offsets(bounds: Any) -> Integers:
    """The domain of a record's offset, for any bounds with a length of logs."""
    return Integers(0, bounds.log_length_max - 1)


@attrs.frozen
class Record:
    """A record in a log. Ids are unique, so that two records differ; brokers look at the leader
    epoch only.
    """

    id: int = within(lambda bounds: Integers(0, bounds.records_max - 1))
    leader_epoch: int = within(epochs)

    def __str__(self) -> str:
        return f"r{self.id}@e{self.leader_epoch}"
