"""What Kafka promises to the clients of a partition: a log to which records are appended, and nothing else.

A state is what clients can rely on. A consumer reads a prefix of the records, which changes nothing here. There are no
brokers, leaders or failures: models that have these refine this one, if they keep the promise.

Source: https://kafka.apache.org/documentation/#semantics: a committed record is not lost, records are read in the order
in which they are in the log.
"""

from __future__ import annotations

import attrs

from highwater.model.language.declarations import action
from highwater.model.language.definition import Definition, Model, NoToggles
from highwater.model.language.domain import Integers, SequenceOf, SetOf
from highwater.model.language.records import bound, evolve, within


@attrs.frozen
class LogBounds:
    """How long the log may become. A step of many records has many shapes, so that both are small."""

    log_length_max: int = bound(1, 3, "records that the log can hold")
    records_max: int = bound(1, 3, "records that can ever be written")
    initial_records: int = bound(0, 3, "records that the log has at the start, acknowledged", 0)


def record(bounds: LogBounds) -> Integers:
    """The domain of a record's id."""
    return Integers(0, bounds.records_max - 1, label="r")


def any_records(bounds: LogBounds) -> SetOf:
    """The domain of a set of records."""
    return SetOf(record(bounds))


def some_records(bounds: LogBounds) -> SequenceOf:
    """The domain of records by offset."""
    return SequenceOf(record(bounds), bounds.log_length_max)


@attrs.frozen
class ClientLog:
    """The whole state.

    Attributes:
        records: by offset, those that a consumer may read.
        acknowledged: those of which a producer has heard that they are in the log.
    """

    records: tuple[int, ...] = within(some_records)
    acknowledged: frozenset[int] = within(any_records)


@action(actor="log", appended=some_records, acknowledged=any_records)
def commit(log: ClientLog, appended: tuple[int, ...], acknowledged: frozenset[int]) -> ClientLog | None:
    """Records are appended, and some of the log's records are acknowledged.

    Actor: the log.
    Enabled: the appended ones are new, the acknowledged ones are in the log then and were not acknowledged before; one
        of the two is not empty.
    Effect: the log ends with the appended records.
    Abstracts: how long a record waits before it is committed.
    Source: https://kafka.apache.org/documentation/#semantics.
    """
    records = log.records + appended
    if len(set(records)) < len(records) or not acknowledged <= set(records) or acknowledged & log.acknowledged:
        return None
    if not appended and not acknowledged:
        return None
    return evolve(log, records=records, acknowledged=log.acknowledged | acknowledged)


def initial_states(bounds: LogBounds) -> list[ClientLog]:
    """The one initial state."""
    records = tuple(range(bounds.initial_records))
    return [ClientLog(records, frozenset(records))]


def define(protocol: NoToggles) -> Definition:
    """The log."""
    return Definition(
        LogBounds, ClientLog, initial_states, (commit,), properties="highwater.invariants.client_log:CLIENT_LOG"
    )


CLIENT_LOG = Model(
    "client-log",
    "What clients of a partition are promised: records are appended, none is lost. Other models refine it.",
    NoToggles,
    define,
)
