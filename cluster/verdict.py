"""What a run shows: whether clients have seen what the property forbids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from highwater.cluster.runs import Run
from highwater.cluster.schedule import DECIDED, Deed, Kind, Schedule, missing
from highwater.explorer.verdict import Step


@attrs.frozen
class Verdict:
    """Whether the violation was reproduced, and in what way or why not."""

    reproduced: bool
    sentence: str


def verdict(schedule: Schedule, trace: Sequence[Step], run: Run) -> Verdict:
    """Judge a run by what its producers, its consumers and the logs on disk showed."""
    if run.failed is not None:
        number = run.observed.index(run.failed)
        steps = numbers_of(schedule, trace)[number]
        named = f" (step{'s' if len(steps) > 1 else ''} {', '.join(map(str, steps))} of the trace)" if steps else ""
        return Verdict(
            False, f"deed {number}, {run.failed.did}{named}, could not be brought about, because {run.failed.failed}"
        )
    end = schedule.deeds[-1]
    gone = [f"r{record}" for record in missing(end.state, end.paused)]
    if gone:
        return _loss(gone, run, end)
    return _conflict(schedule, run)


def _loss(gone: Sequence[str], run: Run, end: Deed) -> Verdict:
    if run.after is None:
        return Verdict(False, "no consumer can read from the leader")
    left = {value for _, value, _ in run.after.records}
    for record in gone:
        answer = run.acknowledged.get(record, "was never produced")
        if not answer.startswith("acknowledged"):
            return Verdict(False, f"{record} was not acknowledged: {answer}")
        if record in left:
            return Verdict(False, f"acknowledged record {record} is still there: a consumer reads {run.after}")
    record, leader = gone[0], end.state.quorum.leader
    read = next((offset for offset, value, _ in run.before.records if value == record), None) if run.before else None
    before = f"it was {run.acknowledged[record]}"
    before += "" if read is None else f", and a consumer read it at offset {read}"
    return Verdict(
        True, f"acknowledged record {record} is gone: {before}; now a consumer reads {run.after} from b{leader}"
    )


def _conflict(schedule: Schedule, run: Run) -> Verdict:
    """Two logs with different records of the same offset and leader epoch."""
    first: dict[tuple[int, str], tuple[int, str]] = {}
    for broker, log in enumerate(run.observed[-1].logs):
        for offset, shown in enumerate(log):
            value, epoch = shown.split("@")
            other, there = first.setdefault((offset, epoch), (broker, value))
            if there != value:
                return Verdict(
                    True,
                    f"offset {offset} of leader epoch {epoch[1:]} is {there} in b{other}'s log, and {value} in "
                    f"b{broker}'s",
                )
    return Verdict(
        False,
        "all deeds had the effects that the model says, but no client and no log on disk shows what "
        f"{schedule.violated} forbids",
    )


def numbers_of(schedule: Schedule, trace: Sequence[Step]) -> tuple[tuple[int, ...], ...]:
    """By deed, the numbers of the trace's steps that it takes: the same action, and for steps that brokers take by
    themselves with the same effect on the log and the leadership of the acting broker.
    """
    waiting: dict[Any, list[int]] = {}
    for number, step in enumerate(trace[1:], 1):
        assert step.action is not None
        decided = step.action.of.name in DECIDED
        waiting.setdefault(str(step.action) if decided else _effect(step), []).append(number)

    def taken(deed: Deed) -> tuple[int, ...]:
        keys = ([str(deed.decided)] if deed.decided and deed.kind is Kind.STEP else []) + [
            _effect(step) for step in deed.eager
        ]
        found = (waiting.get(key) for key in keys if deed.kind is not Kind.BEGIN)
        return tuple(sorted(numbers.pop(0) for numbers in found if numbers))

    return tuple(map(taken, schedule.deeds))


def _effect(step: Step) -> Any:
    assert step.action is not None
    arguments = step.action.arguments
    acting = next((arguments[key] for key in ("broker", "follower", "leader") if key in arguments), 0)
    replica = step.state.replicas[acting]
    return str(step.action), replica.log, replica.leader, replica.leader_epoch


def not_taken(numbers: Sequence[Sequence[int]], trace: Sequence[Step]) -> Mapping[int, str]:
    """The trace's steps that no deed takes: the same end is reached without them."""
    taken = {number for each in numbers for number in each}
    return {number: str(step.action) for number, step in enumerate(trace) if number and number not in taken}
