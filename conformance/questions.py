"""What the model's replica answers to the questions that the harness asks a real Partition after each step. No question
changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH
from highwater.model.partition.batches import Place
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.clients import epoch_error
from highwater.model.partition.high_watermark import min_isr
from highwater.model.partition.logs import end_of_epoch
from highwater.model.partition.membership import is_in_sync
from highwater.model.partition.messages import Fetch, Stage
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.serving import response_to
from highwater.model.partition.state import Leader, Leadership, Replica

LEADER = "leader"
LATER_INCARNATION = "NOT_LEADER_OR_FOLLOWER"


def compared(
    replica: Replica, broker: int, real: Mapping[str, Any], protocol: Any, bounds: Any
) -> Iterator[tuple[str, Any, Any]]:
    """Each question with both answers. A broker that has no replica, or is down on one side, is asked nothing."""
    if not (replica.is_up and real["up"] and "questions" in real):
        return
    asked = _Asked(replica, broker, real, protocol, bounds)
    for name, arguments, answer in real["questions"]:
        words = ", ".join(str(each) for each in arguments)
        yield f"answer to {name}({words})", ANSWERS[name](asked, *arguments), answer


class _Asked:
    """A broker's replica that is asked, and whether it leads."""

    def __init__(
        self,
        replica: Replica,
        broker: int,
        real: Mapping[str, Any],
        protocol: PartitionProtocol,
        bounds: PartitionBounds,
    ) -> None:
        self.replica, self.broker, self.real = replica, broker, real
        self.protocol, self.bounds = protocol, bounds
        self.leadership: Leadership | None = replica.leadership

    @property
    def min_isr(self) -> int:
        assert self.leadership is not None
        return min_isr(self.leadership.assignment, self.protocol, self.bounds)

    def error(self, current: int, of: str) -> str | None:
        error = epoch_error(self.replica, current, leads=self.leadership is not None, of_leader=of == LEADER)
        return None if error is None else error.value


def _metric(of_leader: Callable[[_Asked, Leadership, int], int]) -> Callable[[_Asked, Sequence[int]], int]:
    """A metric of leaders, which is 0 at other brokers. Replicas that a reassignment adds do not count until it is
    complete, which Kafka's side alone knows.

    Source: kafka.cluster.OngoingReassignmentState (3.5.1 to 4.3.1).
    """

    def answer(asked: _Asked, adding: Sequence[int]) -> int:
        of = asked.leadership
        return 0 if of is None else int(of_leader(asked, of, len(of.assignment - {*adding})))

    return answer


METRICS: Mapping[str, Callable[..., Any]] = {
    "UnderReplicated": _metric(lambda asked, of, replicas: len(of.isr) < replicas),
    "UnderMinIsr": _metric(lambda asked, of, replicas: len(of.isr) < asked.min_isr),
    "AtMinIsr": _metric(lambda asked, of, replicas: len(of.isr) == asked.min_isr),
    "InSyncReplicasCount": _metric(lambda asked, of, replicas: len(of.isr)),
    "ReplicasCount": _metric(lambda asked, of, replicas: replicas),
    "LastStableOffsetLag": lambda asked, adding: 0,  # behind the high watermark: by open transactions only
}


def _printed(asked: _Asked) -> list[str]:
    """How Kafka prints the ISR, which is empty at followers, and whether the leader has recovered. Followers take that
    from metadata, which Kafka's side alone knows (Partition#makeFollower); a leader decides for itself.
    """
    leadership = asked.leadership
    isr = () if leadership is None else sorted(leadership.isr)
    recovering = asked.real["recovering"] if leadership is None else leadership.recovering
    return [",".join(map(str, isr)), "RECOVERING" if recovering else "RECOVERED"]


def _printed_follower(asked: _Asked, follower: int) -> list[str]:
    known = asked.replica.followers[follower]
    end = -1 if known.log_end_offset is None else known.log_end_offset
    return [str(end), str(-2 if known.broker_epoch == NO_EPOCH else known.broker_epoch)]


def _in_sync(asked: _Asked, follower: int) -> bool:
    """Of what the leader knows, whether or not the follower has fetched since the last change of leadership."""
    known = evolve(asked.replica.followers[follower], since_change=True)
    leader = evolve(asked.replica, followers=replaced(asked.replica.followers, follower, known))
    return is_in_sync(cast("Leader", leader), follower, asked.protocol, asked.bounds)


def _delete_below(asked: _Asked, offset: int) -> str:
    """Of offsets that no log can begin at."""
    return asked.error(NO_EPOCH, LEADER) or "OFFSET_OUT_OF_RANGE"


def _low_watermark(asked: _Asked, copy_start: int) -> Any:
    """Kafka's side alone knows where the followers' logs begin, if it leads, which of them are dead, and where the copy
    of a replica that moves begins.
    """
    if (error := asked.error(NO_EPOCH, LEADER)) is not None:
        return error
    followers = asked.real.get("followers", {}).items()
    starts = [start for follower, (*_, start) in followers if follower not in asked.real["dead"]]
    return min(asked.replica.log_start, copy_start, *starts)


def _end_of(asked: _Asked, epoch: int, current: int, of: str) -> Any:
    if (error := asked.error(current, of)) is not None:
        return error
    end = end_of_epoch(asked.replica, epoch, asked.protocol)
    return [NO_EPOCH, -1] if end is None else list(end)


def _snapshot(asked: _Asked, current: int) -> Any:
    if (error := asked.error(current, LEADER)) is not None:
        return error
    replica = asked.replica
    return [replica.log_start, replica.high_watermark, replica.high_watermark, replica.log_end_offset]


def _latest(asked: _Asked, isolation: str, current: int, of: str) -> Any:
    if (error := asked.error(current, of)) is not None:
        return error
    replica, leadership = asked.replica, asked.leadership
    if leadership is not None and replica.high_watermark < leadership.start_offset:
        return "OFFSET_NOT_AVAILABLE"
    return replica.high_watermark


def _end(asked: _Asked, isolation: str, current: int, of: str) -> Any:
    return asked.error(current, of) or asked.replica.log_end_offset


def _earliest(asked: _Asked, isolation: str, current: int, of: str) -> Any:
    error = asked.error(current, of)
    return asked.replica.log_start if error is None else error


def _first(asked: _Asked, isolation: str, current: int, of: str) -> Any:
    replica = asked.replica
    if (error := asked.error(current, of)) is not None:
        return error
    found = _record_from(replica, replica.log_start)
    return -1 if found is None else found


def _read(asked: _Asked, follower: int, offset: int, current: int, last: int) -> Any:
    if (error := asked.error(current, LEADER)) is not None:
        return error
    replica = asked.replica
    assert asked.leadership is not None
    if follower not in asked.leadership.assignment:
        return "NOT_LEADER_OR_FOLLOWER" if current == NO_EPOCH else "UNKNOWN_LEADER_EPOCH"
    request = Fetch(Stage.REQUEST, asked.broker, replica.leader_epoch, offset, last, 0, 0, 0, ())
    response = response_to(replica, request, asked.protocol, asked.bounds)
    if response.stage is Stage.OUT_OF_RANGE:
        return "OFFSET_OUT_OF_RANGE"
    if response.stage is Stage.DIVERGING:
        return ["diverging", response.epoch, response.end_offset]
    found = _record_from(replica, offset)
    return ["nothing new"] if found is None else ["record", replica.log[found].id, replica.log[found].leader_epoch]


def _consumer_read(asked: _Asked, offset: int, current: int, of: str) -> Any:
    if (error := asked.error(current, of)) is not None:
        return error
    replica = asked.replica
    found = _record_from(replica, offset)
    if found is None or found >= replica.high_watermark:
        return ["nothing new"]
    return ["record", replica.log[found].id, replica.log[found].leader_epoch]


def _record_from(replica: Replica, offset: int) -> int | None:
    """The first offset from one on that has a record."""
    offsets = range(offset, replica.log_end_offset)
    return next((each for each in offsets if replica.log[each].place is not Place.GAP), None)


REFUSALS = {
    "produce to no partition": "UNKNOWN_TOPIC_OR_PARTITION",
    "produce to an internal topic": "INVALID_TOPIC_EXCEPTION",
    "produce with unknown acks": "INVALID_REQUIRED_ACKS",
    "fetch from no partition": "UNKNOWN_TOPIC_OR_PARTITION",
    "fetch from another topic": "INCONSISTENT_TOPIC_ID",
    "delete from no partition": "UNKNOWN_TOPIC_OR_PARTITION",
    "delete from an internal topic": "INVALID_TOPIC_EXCEPTION",
}
"""What a broker refuses in any state. Source: kafka.server.ReplicaManager #appendToLocalLog, #appendRecords, #read,
#deleteRecordsOnLocalLog (3.5.1 to 4.4.0).
"""
ANSWERS: Mapping[str, Callable[..., Any]] = {
    **METRICS,
    "printed": _printed,
    "printedFollower": _printed_follower,
    "inSync": _in_sync,
    "deleteBelow": _delete_below,
    "producers": lambda asked: [],
    "sameAs": lambda asked: True,
    "refuses": lambda asked, request: REFUSALS[request],
    "lowWatermark": _low_watermark,
    "endOf": _end_of,
    "snapshot": _snapshot,
    "latest": _latest,
    "end": _end,
    "earliest": _earliest,
    "first": _first,
    "read": _read,
    "consumerRead": _consumer_read,
    "earlierIncarnation": lambda asked, follower: LATER_INCARNATION,
}
"""By question, the model's answer; the arguments are those of the harness."""
