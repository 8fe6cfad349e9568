"""What was done to a cluster, and what was observed."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.cluster.schedule import Deed, Kind

MOST_NAMED = 6


@attrs.frozen
class Reading:
    """What a consumer reads from the beginning: by offset, value and leader epoch; and where the log ends for it."""

    records: tuple[tuple[int, str, int], ...]
    end: int

    def __str__(self) -> str:
        named = [f"{value} at offset {offset}" for offset, value, _ in self.records]
        if len(named) > MOST_NAMED:
            named[1:-1] = ["..."]
        return f"{', '.join(named) or 'nothing'} (end offset {self.end})"


@attrs.frozen
class Observed:
    """One deed as it went.

    Attributes:
        did: what was done.
        lines: what processes printed meanwhile of the partition.
        logs: by broker, the records on disk afterwards.
        seconds: how long it took.
        failed: why its effect could not be brought about; empty if it was.
    """

    did: str
    lines: tuple[str, ...]
    logs: tuple[tuple[str, ...], ...]
    seconds: float
    failed: str = ""


@attrs.frozen
class Run:
    """A schedule as it went.

    Attributes:
        observed: the deeds that were done.
        acknowledged: by record, what its producer was answered.
        before, after: what a consumer read once the property was violated, and at the end.
    """

    observed: tuple[Observed, ...]
    acknowledged: dict[str, str]
    before: Reading | None
    after: Reading | None

    @property
    def failed(self) -> Observed | None:
        return next((each for each in self.observed if each.failed), None)


def shown(broker: int) -> str:
    return "none" if broker < 0 else f"b{broker}"


def brokers(ids: Any) -> str:
    return "{" + " ".join(f"b{each}" for each in sorted(ids)) + "}"


def words_of(deed: Deed, count: int) -> str:
    """What is done, in an operator's words."""
    if deed.kind is Kind.BEGIN:
        return f"create a topic with replicas on {count} brokers; b0 leads"
    if deed.kind is Kind.LAG:
        produced = f"produce r{deed.state.next_record_id - 1} to b{deed.broker}, and " if deed.decided else ""
        return f"{produced}wait until b{deed.broker} takes who is paused out of the ISR (replica.lag.time.max.ms)"
    if deed.decided is None:
        return f"{deed.kind.value} b{deed.broker} ({'SIGSTOP' if deed.kind is Kind.PAUSE else 'SIGCONT'})"
    arguments = deed.decided.arguments
    broker = f"b{deed.broker}"
    return {
        "produce": lambda: f"produce r{deed.state.next_record_id - 1} to {broker}",
        "move_leadership": lambda: f"prefer b{arguments['candidate']} and elect it (ElectLeaders)",
        "fence": lambda: f"wait until the controller fences {broker} (session timeout)",
        "crash": lambda: f"kill {broker} (SIGKILL)",
        "crash_with_loss": lambda: f"kill {broker} (SIGKILL), and cut its log before offset {arguments['kept']}",
        "restart": lambda: f"start {broker} again",
        "begin_controlled_shutdown": lambda: f"shut {broker} down (SIGTERM)",
        "elect_uncleanly": lambda: f"elect b{arguments['candidate']} uncleanly (ElectLeaders)",
        "remove_replica": lambda: f"take {broker}'s replica away (AlterPartitionReassignments)",
        "add_replica": lambda: f"give {broker} a replica again (AlterPartitionReassignments)",
    }[deed.decided.of.name]()
