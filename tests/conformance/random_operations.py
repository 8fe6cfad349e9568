"""A real cluster under random operations, whose metadata log is kept: what `highwater explain` has to explain.

    python -m tests.conformance.random_operations FOLDER --kafka 4.1.1 --seed 7 --operations 50

Topics are created and deleted, their min.insync.replicas and unclean elections changed, partitions reassigned (to any
brokers, also while a reassignment is under way, and cancelled), leaders elected, records written; brokers are killed,
stopped and started again. Nothing waits for what an operation leads to. FOLDER gets the controller's folder.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import time
from pathlib import Path

from highwater.cluster import wire
from highwater.cluster.clients import ClientError
from highwater.cluster.cluster import Cluster
from highwater.cluster.settings import Settings
from highwater.conformance.distribution import KafkaError, find

BROKERS, TOPICS = 4, 4
SETTINGS = Settings(
    brokers=BROKERS, session_ms=3_000, heartbeat_ms=300, lag_ms=1_500, min_insync_replicas=1,
    others={
        "controlled.shutdown.enable": "true", "leader.imbalance.check.interval.seconds": 5,
        "auto.leader.rebalance.enable": "true",
    },
)  # fmt: skip


class Operations:
    """Random operations on a cluster."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, random.Random(seed)
        self._topics: dict[str, int] = {}
        self._up, self._count = set(range(BROKERS)), 0
        self._choices = (
            self.create, self.delete, self.configure, self.assign, self.assign, self.cancel, self.elect, self.elect,
            self.kill, self.stop, self.start, self.start, self.write, self.write,
        )  # fmt: skip

    def run(self, count: int) -> None:
        for _ in range(count):
            operation = self._random.choice(self._choices if self._topics else (self.create,))
            done = "refused"
            with contextlib.suppress(ClientError, wire.Refused, OSError, KafkaError):
                done = str(operation())
            print(f"{operation.__name__}: {done}", flush=True)
            time.sleep(self._random.choice((0, 0.1, 0.5, 1.5)))
        for broker in sorted({*range(BROKERS)} - self._up):
            self._cluster.restart(broker)
        time.sleep(3)

    def _address(self) -> str:
        return self._cluster.address(self._random.choice(sorted(self._up)))

    def _partition(self) -> tuple[str, int]:
        topic = self._random.choice(sorted(self._topics))
        return topic, self._random.randrange(self._topics[topic])

    def _some(self) -> list[int]:
        return self._random.sample(range(BROKERS), self._random.choice((1, 2, 3, 3)))

    def create(self) -> str:
        if len(self._topics) >= TOPICS:
            return self.assign()
        topic = f"t{self._count}"
        partitions = [self._some() for _ in range(self._random.choice((1, 2)))]
        factor = min(map(len, partitions))
        settings = {"min.insync.replicas": str(self._random.choice((1, 2)))}
        replicas = [each[:factor] for each in partitions]
        self._cluster.ask("create", at=self._address(), topic=topic, replicas=replicas, settings=settings)
        self._topics[topic], self._count = len(partitions), self._count + 1
        return f"{topic} {replicas} {settings}"

    def delete(self) -> str:
        topic, _ = self._partition()
        self._cluster.ask("delete", at=self._address(), topic=topic)
        del self._topics[topic]
        return topic

    def configure(self) -> str:
        topic, _ = self._partition()
        key, value = self._random.choice(
            (("min.insync.replicas", "1"), ("min.insync.replicas", "2"), ("min.insync.replicas", "3"))
            + (("unclean.leader.election.enable", "true"), ("unclean.leader.election.enable", "false"))
        )
        self._cluster.ask("configure", at=self._address(), kind="TOPIC", name=topic, settings={key: value})
        return f"{topic} {key}={value}"

    def assign(self) -> str:
        topic, partition = self._partition()
        replicas = self._some()
        self._cluster.assign(replicas, topic, partition)
        return f"{topic}-{partition} {replicas}"

    def cancel(self) -> str:
        topic, partition = self._partition()
        self._cluster.assign(None, topic, partition)
        return f"{topic}-{partition}"

    def elect(self) -> str:
        topic, partition = self._partition()
        uncleanly = self._random.random() < 0.3
        wire.elect(self._cluster.controller_port, topic, partition, 10, uncleanly=uncleanly)
        return f"{topic}-{partition} {'uncleanly' if uncleanly else ''}"

    def kill(self) -> str:
        broker = self._random.choice(sorted(self._up))
        if len(self._up) == 1:
            return self.start()
        self._cluster.brokers[broker].kill()
        self._up.discard(broker)
        return f"b{broker}"

    def stop(self) -> str:
        broker = self._random.choice(sorted(self._up))
        if len(self._up) == 1:
            return self.start()
        self._cluster.brokers[broker].terminate(60)
        self._up.discard(broker)
        return f"b{broker}"

    def start(self) -> str:
        down = sorted({*range(BROKERS)} - self._up)
        if not down:
            return self.write()
        broker = self._random.choice(down)
        self._cluster.restart(broker)
        self._up.add(broker)
        return f"b{broker}"

    def write(self) -> str:
        topic, partition = self._partition()
        self._count += 1
        record = {"topic": topic, "partition": partition, "id": f"r{self._count}", "value": "x", "acks": "1"}
        self._cluster.ask("send", at=self._address(), **record)
        return f"{topic}-{partition}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kafka", default="4.1.1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operations", type=int, default=50)
    options = parser.parse_args()
    with Cluster(find(options.kafka), SETTINGS) as cluster:
        operations = Operations(cluster, options.seed)
        operations.create()
        operations.run(options.operations)
        kept = options.folder.with_name(f"{options.folder.name}-all")
        cluster.keep(kept)
    shutil.copytree(kept / "controller" / "data", options.folder / "controller" / "data")
    shutil.rmtree(kept)


if __name__ == "__main__":
    main()
