"""What must hold of the log that clients are promised, and so of each model that refines it, as far as its map goes."""

from __future__ import annotations

from highwater.model.client_log import ClientLog
from highwater.model.language.declarations import Truth, Witness, invariant, step_property
from highwater.model.language.definition import Property


@step_property()
def records_are_appended_only(before: ClientLog, after: ClientLog) -> Truth:
    """The log of a later state begins with that of an earlier one.

    Kind: step.
    When false: a consumer has read a record that is lost.
    Source: https://kafka.apache.org/documentation/#semantics.
    """
    if after.records[: len(before.records)] == before.records:
        return True
    return Witness("the log no longer begins with {records}", records=before.records)


@invariant()
def acknowledged_records_are_in_the_log(log: ClientLog) -> Truth:
    """Every acknowledged record is in the log.

    Kind: state.
    When false: an acknowledged write is lost.
    Source: https://kafka.apache.org/documentation/#semantics.
    """
    return log.acknowledged <= frozenset(log.records) or Witness(
        "the log lacks {lost}", lost=sorted(log.acknowledged - frozenset(log.records))
    )


CLIENT_LOG: tuple[Property, ...] = (records_are_appended_only, acknowledged_records_are_in_the_log)
