"""A schedule carried out: each deed is done, then its effect is awaited, as the model says it comes.

Nothing is awaited by time. A follower has fetched once more when a record of a second topic reaches it: one fetcher
thread asks one leader for all partitions at once. That topic has a partition for each leader.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import cast

from highwater.cluster import wire
from highwater.cluster.clients import ClientError
from highwater.cluster.cluster import SCRATCH, TOPIC, Cluster
from highwater.cluster.nodes import TimeoutExceeded, until
from highwater.cluster.observing import control, learned, marks, telling_lines
from highwater.cluster.replica_logs import cut
from highwater.cluster.runs import Observed, Reading, Run, brokers, shown, words_of
from highwater.cluster.schedule import Deed, Kind, Schedule
from highwater.conformance.distribution import KafkaError
from highwater.model.partition.protocol import Acks, PartitionProtocol
from highwater.model.partition.state import Partition

ACKS = {Acks.ALL: "all", Acks.LEADER: "1", Acks.NONE: "0"}


class Differs(Exception):
    """The cluster does not come to be as the model says. The message says what differs."""


class Driver:
    """Drives one cluster along one schedule."""

    def __init__(self, cluster: Cluster, protocol: PartitionProtocol) -> None:
        self._cluster = cluster
        self._acks = ACKS[protocol.acks]
        self._paused_since: dict[int, float] = {}
        self._scratched = 0
        self._outcomes: dict[int, str] = {}

    def drive(self, schedule: Schedule, on_deed: Callable[[int, Observed], None]) -> Run:
        """Do all deeds, up to the first whose effect does not come."""
        observed: list[Observed] = []
        before = after = None
        for number, deed in enumerate(schedule.deeds):
            each = self._observe(deed)
            observed.append(each)
            on_deed(number, each)
            if each.failed:
                break
            if number + 1 == schedule.shows_from:
                before = self._read(deed.state, deed.paused)
            if number + 1 == len(schedule.deeds):
                after = self._read(deed.state, deed.paused)
        answers = {f"r{record}": self._outcome(record, 0) for record in self._outcomes}
        return Run(tuple(observed), answers, before, after)

    def _observe(self, deed: Deed) -> Observed:
        began, since, failed = time.monotonic(), marks(self._cluster), ""
        did = words_of(deed, self._cluster.settings.brokers)
        try:
            self._do(deed)
            self._settle(deed)
        except (Differs, TimeoutExceeded, KafkaError, ClientError, wire.Refused, OSError) as error:
            failed = f"{error}{self._out_of_time(deed)}"
        lines = tuple(telling_lines(self._cluster, since))
        logs = tuple(tuple(map(str, self._cluster.replica(broker))) for broker in range(len(self._cluster.brokers)))
        return Observed(did, lines, logs, time.monotonic() - began, failed)

    def _do(self, deed: Deed) -> None:
        cluster, broker = self._cluster, deed.broker
        match deed.kind:
            case Kind.BEGIN:
                self._create_topics()
                for record in range(deed.state.next_record_id):
                    self._produce(record, 0)
                    until(partial(self._has_outcome, record), cluster.settings.step_seconds, f"r{record}")
            case Kind.PAUSE:
                assert broker is not None
                cluster.brokers[broker].pause()
                self._paused_since[broker] = time.monotonic()
                self._answer_waiting(broker, deed)
            case Kind.RESUME:
                assert broker is not None
                cluster.brokers[broker].resume()
                self._paused_since.pop(broker, None)
            case Kind.LAG:
                assert broker is not None
                if deed.decided is not None:
                    self._produce(deed.state.next_record_id - 1, broker)
            case Kind.STEP:
                self._step(deed)

    def _has_outcome(self, record: int) -> bool:
        return self._outcome(record, 200) != "waiting"

    def _answer_waiting(self, broker: int, deed: Deed) -> None:
        """Have the fetches of a paused broker answered that wait for news: the one at its leader, and the one at the
        controller. Else they would bring it the first news of what follows, and it would miss the rest only.
        """
        leader = deed.state.replicas[broker].leader
        if leader is not None and leader not in (broker, *deed.paused) and deed.state.replicas[leader].is_up:
            self._scratch(leader)
        replicas = self._cluster.preferring(broker)
        for order in (replicas[::-1], replicas):
            self._cluster.assign(order, SCRATCH, broker)

    def _step(self, deed: Deed) -> None:
        assert deed.decided is not None
        cluster, arguments = self._cluster, deed.decided.arguments
        broker = cast("int", deed.broker)  # which the steps below that name it have
        if arguments.get("successor") is not None:  # Kafka elects the first one that may lead
            cluster.assign(cluster.preferring(arguments["successor"]))
        match deed.decided.of.name:
            case "produce":
                self._produce(deed.state.next_record_id - 1, arguments["leader"])
            case "move_leadership":
                cluster.elect(arguments["candidate"])
            case "crash" | "crash_with_loss":
                cluster.brokers[broker].kill()
                self._paused_since.pop(broker, None)
                if "kept" in arguments:
                    cut(cluster.partition_folder(broker), arguments["kept"])
            case "restart":
                cluster.restart(broker)
            case "begin_controlled_shutdown":
                cluster.brokers[broker].terminate(cluster.settings.step_seconds)
            case "elect_uncleanly":
                cluster.elect(arguments["candidate"], uncleanly=True)
            case "remove_replica" | "add_replica":
                cluster.assign(sorted(deed.state.quorum.assignment))
            case "fence":
                pass  # time does it: the broker is paused, or down

    def _create_topics(self) -> None:
        cluster = self._cluster
        everyone = list(range(cluster.settings.brokers))
        settings = {
            "min.insync.replicas": cluster.settings.min_insync_replicas,
            "unclean.leader.election.enable": str(cluster.settings.unclean_election).lower(),
        }
        cluster.ask("create", at=cluster.address(0), topic=TOPIC, replicas=[everyone], settings=settings)
        turned = [everyone[broker:] + everyone[:broker] for broker in everyone]
        cluster.ask("create", at=cluster.address(0), topic=SCRATCH, replicas=turned)
        for broker in everyone:
            self._scratch(broker)

    def _produce(self, record: int, leader: int) -> None:
        self._outcomes[record] = "waiting"
        self._send(leader, f"r{record}", TOPIC, 0, self._acks)

    def _send(self, broker: int, value: str, topic: str, partition: int, acks: str) -> None:
        arguments = {"topic": topic, "partition": partition, "acks": acks, "id": value, "value": value}
        self._cluster.ask("send", at=self._cluster.address(broker), **arguments)

    def _outcome(self, record: int, wait: int) -> str:
        if self._outcomes[record] == "waiting":
            answer = self._cluster.ask("outcome", id=f"r{record}", wait=wait)
            if "acknowledged" in answer:
                self._outcomes[record] = f"acknowledged at offset {answer['acknowledged']}"
            elif "refused" in answer:
                self._outcomes[record] = f"refused: {answer['refused']}"
        return self._outcomes[record]

    def _scratch(self, leader: int) -> str:
        """Write a record to the second topic's partition of a leader, and wait until it is in its log."""
        cluster = self._cluster
        until(lambda: self._leads_scratch(leader), cluster.settings.step_seconds, f"b{leader} leads {SCRATCH}-{leader}")
        self._scratched += 1
        value = f"s{self._scratched}"
        self._send(leader, value, SCRATCH, leader, "1")
        answer = cluster.ask("outcome", id=value, wait=int(cluster.settings.step_seconds * 1000))
        if "acknowledged" not in answer:
            raise Differs(f"b{leader} does not take a record of a second topic: {answer}")
        return value

    def _leads_scratch(self, leader: int) -> bool:
        """Whether a broker leads its partition of the second topic; else have it elected, once it is in the ISR."""
        found = control(self._cluster, SCRATCH, leader)
        if found is not None and found.leader == leader:
            return True
        with suppress(wire.Refused):
            self._cluster.elect(leader, SCRATCH, leader)
        return False

    def _settle(self, deed: Deed) -> None:
        """Wait until the cluster is as the model says.

        Raises:
            Differs: it does not come to be so.
        """
        settings = self._cluster.settings
        limit = settings.step_seconds + (settings.session_ms if deed.name == "fence" else 0) / 1000
        limit += (2 * settings.lag_ms if deed.kind is Kind.LAG else 0) / 1000
        if deed.paused and deed.name != "fence":  # once a session ends, the cluster goes another way
            limit = min(limit, self._left_of_sessions())
        end = time.monotonic() + limit
        self._await(lambda: self._difference(deed), end)
        for leader, followers in fetching(deed.state, deed.paused):
            value = self._scratch(leader)
            for follower in followers:
                self._await(partial(self._lacks_scratch, follower, leader, value), end)
        self._await(lambda: self._unanswered(deed.state), end)
        self._await(lambda: self._difference(deed), end)

    def _await(self, difference: Callable[[], str], end: float) -> None:
        began = time.monotonic()
        try:
            until(lambda: not difference(), max(end - began, 0), "")
        except TimeoutExceeded:
            waited = time.monotonic() - began
            raise Differs(f"after {waited:.0f} s {difference() or 'the cluster was still changing'}") from None

    def _difference(self, deed: Deed) -> str:
        """What differs between the model's state and what can be seen; empty if nothing does."""
        state, found = deed.state, control(self._cluster)
        if found is None:
            return "the controller has not created the partition"
        leader = -1 if state.quorum.leader is None else state.quorum.leader
        if found.leader != leader:
            return f"the controller's leader is {shown(found.leader)} and not {shown(leader)}"
        if found.isr != state.quorum.isr:
            return f"the controller's ISR is {brokers(found.isr)} and not {brokers(state.quorum.isr)}"
        for broker, replica in enumerate(state.replicas):
            if not replica.is_up or broker in deed.paused:
                continue
            if not self._cluster.brokers[broker].running:
                return f"b{broker} has ended by itself"
            newest = replica.leader_epoch == state.leader_epoch and replica.leader is not None
            if newest and learned(self._cluster.brokers[broker]) != (replica.leader == broker, found.leader_epoch):
                return f"b{broker} has not learned of leader epoch {found.leader_epoch}"
            wanted = [f"r{record.id}" for record in replica.log]
            there = [record.value for record in self._cluster.replica(broker)]
            if there != wanted:
                return f"b{broker}'s log has {' '.join(there) or 'no record'} and not {' '.join(wanted) or 'none'}"
        return ""

    def _lacks_scratch(self, follower: int, leader: int, value: str) -> str:
        there = self._cluster.replica(follower, SCRATCH, leader)
        return "" if any(each.value == value for each in there) else f"b{follower} does not fetch from b{leader}"

    def _unanswered(self, state: Partition) -> str:
        for record in sorted(state.clients.acked & self._outcomes.keys()):
            outcome = self._outcome(record, 200)
            if not outcome.startswith("acknowledged"):
                return f"r{record} is not acknowledged: {outcome}"
        return ""

    def _left_of_sessions(self) -> float:
        """How many seconds the paused brokers' sessions surely last. The last heartbeat came before the pause."""
        settings = self._cluster.settings
        longest = max((time.monotonic() - since for since in self._paused_since.values()), default=0.0)
        return max((settings.session_ms - 1.5 * settings.heartbeat_ms) / 1000 - longest, 0.0)

    def _out_of_time(self, deed: Deed) -> str:
        """A word on a pause that cannot be any longer."""
        if deed.name == "fence" or self._left_of_sessions() > 0:
            return ""
        return f"; a paused broker's session of {self._cluster.settings.session_ms / 1000:g} s ends"

    def _read(self, state: Partition, paused: frozenset[int]) -> Reading | None:
        leader = state.quorum.leader
        if leader is None or leader in paused or not state.leads(leader):
            return None
        try:
            found = self._cluster.ask("read", at=self._cluster.address(leader), topic=TOPIC)
        except ClientError:
            return None
        return Reading(tuple((r["offset"], r["value"], r["epoch"]) for r in found["records"]), found["end"])


def fetching(state: Partition, paused: frozenset[int]) -> Iterator[tuple[int, list[int]]]:
    """The leaders that can answer, each with its running followers."""
    running = [broker for broker, replica in enumerate(state.replicas) if replica.is_up and broker not in paused]
    for leader in running:
        if state.leads(leader) and state.quorum.leader == leader:
            yield leader, [each for each in running if each != leader and state.replicas[each].leader == leader]
