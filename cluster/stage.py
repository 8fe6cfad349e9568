"""A cluster to which deeds are done one after another, as a script of an operator would, each with what was observed.

Nothing here comes from a model's trace. A deed ends once its effect is there, or fails with the reason.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from highwater.cluster import wire
from highwater.cluster.clients import ClientError
from highwater.cluster.cluster import TOPIC, Cluster
from highwater.cluster.nodes import TimeoutExceeded, until
from highwater.cluster.observing import Control, control, marks, telling_lines
from highwater.cluster.runs import Observed, Reading, shown
from highwater.conformance.distribution import KafkaError

SESSION_MS = 9_000  # Kafka's default
ELECTION_SECONDS = 3 * SESSION_MS / 1000  # a session, and what a busy machine adds


class Stuck(Exception):
    """A deed has no effect. The message says what was awaited."""


class Stage:
    """One cluster, the partition that matters, and the deeds so far.

    Attributes:
        cluster: on which the deeds are done.
        partition: of the topic `t`.
        deeds: as they went.
    """

    def __init__(self, cluster: Cluster, partition: int, on_deed: Callable[[int, Observed], None]) -> None:
        self.cluster = cluster
        self.partition = partition
        self.deeds: list[Observed] = []
        self._on_deed = on_deed
        self._notes: list[str] = []
        self._leads = -1

    @contextmanager
    def deed(self, did: str) -> Iterator[None]:
        """Something that is done, and what is awaited after it.

        Raises:
            Stuck: its effect does not come.
        """
        began, since, failed = time.monotonic(), marks(self.cluster), ""
        self._notes.clear()
        try:
            yield
        except (TimeoutExceeded, KafkaError, ClientError, wire.Refused, OSError) as error:
            failed = str(error)
        lines = (*telling_lines(self.cluster, since, TOPIC, self.partition), *self._notes)
        done = Observed(did, lines, self.logs(), time.monotonic() - began, failed)
        self.deeds.append(done)
        self._on_deed(len(self.deeds) - 1, done)
        if failed:
            raise Stuck(f"deed {len(self.deeds) - 1}, {did}, had no effect: {failed}")

    def note(self, text: str) -> None:
        """Add a note to the present deed."""
        self._notes.append(text)

    def logs(self) -> tuple[tuple[str, ...], ...]:
        """By broker, the records of its replica on disk."""
        return tuple(tuple(map(str, self.log(broker))) for broker in range(len(self.cluster.brokers)))

    def log(self, broker: int) -> Sequence[object]:
        """The records of one replica on disk."""
        try:
            return self.cluster.replica(broker, TOPIC, self.partition)
        except FileNotFoundError:  # the broker deletes its replica just now
            return ()

    def has_replica(self, broker: int) -> bool:
        """Whether a broker has a folder for the partition."""
        return self.cluster.partition_folder(broker, TOPIC, self.partition).exists()

    def create(self, replicas: Sequence[Sequence[int]], min_isr: int) -> None:
        """Create the topic, with the replicas of each partition, and wait for those of the partition that matters."""
        own = replicas[self.partition]
        of = " and ".join(f"[{' '.join(map(shown, each))}]" for each in replicas)
        with self.deed(f"create a topic with replicas {of}, min.insync.replicas={min_isr}"):
            self._leads = own[0]
            arguments = {"topic": TOPIC, "replicas": replicas, "settings": {"min.insync.replicas": min_isr}}
            self.cluster.ask("create", at=self.address(own[0]), **arguments)
            self.await_leader(own[0], 0)
            self._await(lambda: all(map(self.has_replica, own)), "every broker has its replica")

    def produce(self, count: int, padding: int = 0) -> None:
        """Produce records with acks=all to the leader of the beginning, and wait until each is acknowledged."""
        size = f" of {padding / 1000:g} kB" if padding else ""
        with self.deed(f"produce {count} records{size} to {shown(self._leads)} with acks=all"):
            for number in range(count):  # one after another, so that each is a batch of its own
                record = {"topic": TOPIC, "partition": self.partition, "id": f"r{number}", "value": f"r{number}"}
                self.cluster.ask("send", at=self.address(self._leads), acks="all", padding=padding, **record)
                wait = int(self.cluster.settings.step_seconds * 1000)
                answer = self.cluster.ask("outcome", id=f"r{number}", wait=wait)
                if "acknowledged" not in answer:
                    raise TimeoutExceeded(f"r{number} is not acknowledged: {answer}")
            self.note(f"producer: all acknowledged, the last at offset {answer['acknowledged']}")

    def read(self, broker: int, did: str) -> Reading:
        """What a consumer reads from a leader, from the beginning."""
        with self.deed(did):
            arguments = {"topic": TOPIC, "partition": self.partition}
            found = self.cluster.ask("read", at=self.address(broker), **arguments)
            records = tuple((each["offset"], each["value"], each["epoch"]) for each in found["records"])
            reading = Reading(records, found["end"])
            self.note(f"consumer: {reading}")
        return reading

    def follow(self, brokers: Sequence[int]) -> None:
        """Let a consumer read from the beginning, and go on; `followed` says how far it is."""
        at = ",".join(map(self.address, brokers))
        self.cluster.ask("follow", at=at, topic=TOPIC, partition=self.partition)

    def await_consumer(self, position: int) -> None:
        """Wait until the consumer that goes on has read up to an offset."""
        self._await(lambda: self.followed().get("position") == position, f"the consumer is at offset {position}")

    def followed(self) -> dict[str, int]:
        """The `position` of the consumer that goes on, and how many `fetches` it has sent; empty until it begins."""
        found: dict[str, int] = self.cluster.ask("followed")
        return found

    def assign(self, replicas: Sequence[int] | None) -> None:
        """Ask the controller for other replicas; None cancels."""
        self.cluster.assign(replicas, TOPIC, self.partition)

    def described(self, broker: int) -> str:
        """What Admin says of the partition; nothing if it fails."""
        with suppress(ClientError):
            described = self.cluster.ask("describe", at=self.address(broker), topic=TOPIC, partition=self.partition)
            return _without_hosts(described)
        return ""

    def describe(self, broker: int) -> None:
        """Note what Admin says of the partition."""
        if text := self.described(broker):
            self.note(f"describe: {text}")

    def kill(self, broker: int) -> None:
        """End a broker at once."""
        self.cluster.brokers[broker].kill()

    def address(self, broker: int) -> str:
        return self.cluster.address(broker)

    def recorded(self) -> Control | None:
        """What the controller has recorded last of the partition."""
        return control(self.cluster, TOPIC, self.partition)

    def await_record(self, wanted: Callable[[Control], bool], what: str, seconds: float = 0) -> Control:
        """Wait until the controller has recorded something of the partition."""

        def look() -> Control | None:
            found = self.recorded()
            return found if found is not None and wanted(found) else None

        return until(look, seconds or self.cluster.settings.step_seconds, what)

    def await_leader(self, broker: int, leader_epoch: int) -> None:
        """Wait until a broker says that it leads."""
        leads = rf"\] Leader {TOPIC}-{self.partition} .*starts at leader epoch {leader_epoch}\b"
        self.cluster.brokers[broker].expect(leads, 0, self.cluster.settings.step_seconds)

    def await_change(self, broker: int, *, gone: bool) -> None:
        """Wait until a broker has deleted its replica, or has one."""
        what = f"{shown(broker)} {'has deleted its' if gone else 'has a'} replica"
        self._await(lambda: self.has_replica(broker) is not gone, what)

    def _await(self, look: Callable[[], bool], what: str) -> None:
        until(look, self.cluster.settings.step_seconds, what)


def _without_hosts(described: str) -> str:
    """What Admin says, with brokers by their names."""
    return re.sub(r"[\w.]*:-?\d+ \(id: (\d+)[^)]*\)", r"b\1", described)
