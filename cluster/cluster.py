"""A real cluster on this machine: controllers or ZooKeeper, brokers, and Kafka's clients, all on 127.0.0.1.

Each process has its own folder. The brokers' ports are chosen by the system. A watchdog ends everything and removes the
folders, also if this process is killed.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from highwater.cluster import watchdog, wire
from highwater.cluster.clients import Client
from highwater.cluster.nodes import Node
from highwater.cluster.replica_logs import Stored, stored
from highwater.cluster.settings import (
    CONTROLLER,
    Settings,
    as_properties,
    keys_of_node,
    keys_of_zookeeper,
    log_directories,
)
from highwater.conformance.distribution import Distribution, KafkaError, java
from highwater.conformance.jvm import ALIKE
from highwater.conformance.programs import compiled

PROGRAMS = Path(__file__).parent / "programs"
OWN_JAR = "../programs.jar"  # seen from each process's folder, so that the class path is the same in every cluster
IN_MEMORY = "/dev/shm"
PREFIX = "highwater-cluster-"
TOPIC, SCRATCH = "t", "scratch"
# one compiler only: a run is over before the second one pays
OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true")
STARTED = r"Kafka Server started|KafkaServer id=\d+\] started|PrepRequestProcessor .*started"  # the last is ZooKeeper's
ELECTED = r"successfully elected as the controller"  # with ZooKeeper
LISTENS = r"Awaiting socket connections on 127\.0\.0\.1:(\d+)"
PORT_TAKEN = "Address already in use"
ATTEMPTS = 3  # to find a port that nobody takes in between


class Cluster:
    """The processes. A context manager: neither they nor their folders outlive it."""

    def __init__(self, distribution: Distribution, settings: Settings) -> None:
        self.distribution = distribution
        self.settings = settings
        self.controllers: list[Node] = []
        self._controller_ports: list[int] = []
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._nodes: list[Node] = []
        self._client: Client | None = None

    def __enter__(self) -> Cluster:
        self._java = java()
        programs = compiled(self.distribution, sorted(PROGRAMS.rglob("*.java")))
        memory = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=memory))
        try:
            self._write_programs(programs)
            self._watch()
            self._start()
        except BaseException:  # an interrupt, too, leaves nothing behind
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _write_programs(self, programs: bytes) -> None:
        """Write the jar, as old in every cluster: Java's archive of shared classes is of a class path and its times."""
        jar = self.folder / Path(OWN_JAR).name
        jar.write_bytes(programs)
        os.utime(jar, (1, 1))

    def _watch(self) -> None:
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", watchdog.__file__, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        assert self._watchdog.stdout is not None
        line = self._watchdog.stdout.readline()
        if not line:
            raise KafkaError("the watchdog of the cluster did not start")
        self._group = int(line)

    def keep(self, folder: Path) -> None:
        """End all processes, and copy their folders.

        Raises:
            KafkaError: the copy cannot be written.
        """
        for node in self._nodes:
            node.kill()
        try:
            shutil.copytree(self.folder, folder)
        except OSError as error:
            raise KafkaError(f"{folder}: the cluster cannot be kept: {error.strerror or error}") from None

    def _end(self) -> None:
        if self._watchdog is not None:
            assert self._watchdog.stdin is not None and self._watchdog.stdout is not None
            self._watchdog.stdin.close()
            self._watchdog.wait()
            self._watchdog.stdout.close()
        for node in self._nodes:
            node.kill()  # which is done, but for the zombie
        if self._client is not None:
            self._client.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def controller(self) -> Node:
        """The first of the controllers, which is all of them in most clusters; or ZooKeeper, where that is instead."""
        return self.controllers[0]

    @property
    def controller_port(self) -> int:
        return int(self.address(0).rpartition(":")[2]) if self.settings.zookeeper else self._controller_ports[0]

    def port_of_controller(self, number: int) -> int:
        """Where a controller listens. They count from 0."""
        return self._controller_ports[number]

    def remove_voter(self, voter: int, through: int) -> None:
        """Take a controller out of the metadata quorum, by a request to the active one. Both count from 0.

        Raises:
            wire.Refused, OSError: the controller does not do it.
        """
        number = CONTROLLER + voter
        wire.remove_voter(self._controller_ports[through], number, directory_id(number), self.settings.step_seconds)

    def _start(self) -> None:
        for attempt in range(ATTEMPTS):
            self._controller_ports = _free_ports(self.settings.controllers)
            self.controllers = [self._zookeeper()] if self.settings.zookeeper else self._formatted_controllers()
            for node in self.controllers:
                node.start()
            try:
                for node in self.controllers:
                    node.expect(STARTED, 0, self.settings.start_seconds)
                break
            except KafkaError:
                if attempt + 1 == ATTEMPTS or not any(node.find(PORT_TAKEN) for node in self.controllers):
                    raise
                for node in self.controllers:
                    node.kill()
        self.brokers: list[Node] = []
        while len(self.brokers) < self.settings.brokers:
            broker = self.brokers[self.new_broker()]
            broker.start()
            if self.settings.zookeeper and broker is self.brokers[0]:
                broker.expect(ELECTED, 0, self.settings.start_seconds)
        self._client = Client(self._command("Client"), self._folder("clients"), self._group)
        for broker in self.brokers:
            broker.expect(STARTED, 0, self.settings.start_seconds)

    def _formatted_controllers(self) -> list[Node]:
        controllers = [
            self._node(f"controller{number or ''}", CONTROLLER + number) for number in range(self.settings.controllers)
        ]
        for node in controllers:  # what is formatted may name the ports
            shutil.rmtree(node.folder / "data", ignore_errors=True)
        self._format(controllers[0])
        for number, node in enumerate(controllers[1:], 1):
            self._copy_format(controllers[0], node, CONTROLLER + number)
        return controllers

    def _zookeeper(self) -> Node:
        folder = self._folder("zookeeper")
        (folder / "zoo.cfg").write_text(as_properties(keys_of_zookeeper(self._controller_ports[0], folder)))
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        return self._known(Node("zookeeper", folder, self._command(main, str(folder / "zoo.cfg")), self._group))

    def _folder(self, name: str) -> Path:
        """The folder of a process."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _node(self, name: str, number: int) -> Node:
        folder = self._folder(name)
        keys = keys_of_node(self.settings, self._controller_ports, number, folder)
        (folder / "server.properties").write_text(as_properties(keys))
        return self._known(
            Node(name, folder, self._command("kafka.Kafka", str(folder / "server.properties")), self._group)
        )

    def _known(self, node: Node) -> Node:
        self._nodes.append(node)
        return node

    def _command(self, program: str, *arguments: str) -> list[str]:
        class_path = os.pathsep.join([OWN_JAR, *self.distribution.class_path])
        return [self._java, *ALIKE, *OPTIONS, f"-Xmx{self.settings.heap}", "-cp", class_path, program, *arguments]

    def _format(self, node: Node) -> None:
        """Write the metadata of a new cluster into the controller's folder."""
        cluster_id = "highwaterCluster000000"
        arguments = ["format", "-t", cluster_id, "-c", str(node.folder / "server.properties")]
        if self.settings.voters_change:
            voters = (
                f"{CONTROLLER + each}@127.0.0.1:{port}:{_text(directory_id(CONTROLLER + each))}"
                for each, port in enumerate(self._controller_ports)
            )
            arguments += ["--initial-controllers", ",".join(voters)]
        if self.settings.eligible_replicas is not None:
            arguments += ["--feature", f"eligible.leader.replicas.version={int(self.settings.eligible_replicas)}"]
        command = self._command("kafka.tools.StorageTool", *arguments)
        tool = self._known(Node("StorageTool", node.folder, command, self._group))
        tool.start()
        if tool.wait(self.settings.start_seconds):
            raise KafkaError(f"Kafka {self.distribution.release} cannot format a cluster{tool.last_lines()}")

    def _copy_format(self, of: Node, node: Node, number: int) -> None:
        """What StorageTool writes for another node differs in two ids only.

        The first snapshot, in which releases since 4.2 keep a new cluster's features, is for controllers alone.
        """
        left = ("__*", ".lock") if number < CONTROLLER else (".lock",)
        shutil.copytree(of.folder / "data", node.folder / "data", ignore=shutil.ignore_patterns(*left))
        text = re.sub(r"node\.id=\d+", f"node.id={number}", (of.folder / "data" / "meta.properties").read_text())
        for place, directory in enumerate(log_directories(self.settings, number, node.folder)):
            directory.mkdir(exist_ok=True)
            own = re.sub(r"directory\.id=.*", f"directory.id={_text(directory_id(number, place))}", text)
            (directory / "meta.properties").write_text(own)

    def address(self, broker: int) -> str:
        """Where a broker listens in its present life."""
        found = self.brokers[broker].find(LISTENS)
        assert found is not None
        return f"127.0.0.1:{found[1]}"

    def new_broker(self) -> int:
        """One more broker, which is not started yet.

        Returns:
            Its number.
        """
        number = len(self.brokers)
        self.brokers.append(self._node(f"b{number}", number))
        if not self.settings.zookeeper:
            self._copy_format(self.controller, self.brokers[number], number)
        return number

    def ask_one_controller(self, broker: int, controller: int) -> None:
        """Let a broker, once it starts, ask one controller alone where the others are. They count from 0."""
        properties = self.brokers[broker].folder / "server.properties"
        one = f"controller.quorum.bootstrap.servers=127.0.0.1:{self._controller_ports[controller]}"
        properties.write_text(re.sub("controller.quorum.bootstrap.servers=.*", one, properties.read_text()))

    def restart(self, broker: int) -> None:
        """Start a broker that has ended, and wait until it is up.

        Raises:
            KafkaError: it does not come up.
        """
        self.brokers[broker].expect(STARTED, self.start_again(broker), self.settings.start_seconds)

    def start_again(self, broker: int) -> int:
        """Start a broker that has ended, at its port: others still know it by that.

        Returns:
            Where its lines end so far.
        """
        node, port = self.brokers[broker], self.address(broker).rpartition(":")[2]
        properties = node.folder / "server.properties"
        properties.write_text(
            properties.read_text().replace("PLAINTEXT://127.0.0.1:0", f"PLAINTEXT://127.0.0.1:{port}")
        )
        mark = node.mark()
        node.start()
        return mark

    def replica(self, broker: int, topic: str = TOPIC, partition: int = 0) -> tuple[Stored, ...]:
        """The records that a broker's log holds on disk."""
        return stored(self.partition_folder(broker, topic, partition))

    def partition_folder(self, broker: int, topic: str = TOPIC, partition: int = 0) -> Path:
        """Where a broker keeps its replica, or would if it had one."""
        name = f"{topic}-{partition}"
        places = [place / name for place in log_directories(self.settings, broker, self.brokers[broker].folder)]
        return next(filter(Path.exists, places), places[0])

    def move(self, broker: int, directory: int, topic: str = TOPIC, partition: int = 0) -> Path:
        """Ask a broker to move its replica to another of its log directories, which count from 0.

        Returns:
            Where the replica will be.

        Raises:
            ClientError: the broker does not do it.
        """
        where = log_directories(self.settings, broker, self.brokers[broker].folder)[directory]
        of = {"topic": topic, "partition": partition, "broker": broker, "directory": str(where)}
        self.ask("move", at=self.address(broker), **of)
        return where / f"{topic}-{partition}"

    def elect(self, candidate: int, topic: str = TOPIC, partition: int = 0, *, uncleanly: bool = False) -> None:
        """Make a broker the preferred leader, and elect it.

        Raises:
            wire.Refused, OSError: the controller does not do it.
        """
        self.assign(self.preferring(candidate), topic, partition)
        wire.elect(self.controller_port, topic, partition, self.settings.step_seconds, uncleanly=uncleanly)

    def preferring(self, broker: int) -> list[int]:
        """All brokers, one of them first."""
        return [broker, *(each for each in range(self.settings.brokers) if each != broker)]

    def assign(self, replicas: Sequence[int] | None, topic: str = TOPIC, partition: int = 0) -> None:
        """Give a partition other replicas, or the same in another order; None cancels what is under way.

        Raises:
            wire.Refused, OSError: the controller does not do it.
        """
        wire.assign(self.controller_port, topic, partition, replicas, self.settings.step_seconds)

    def ask(self, operation: str, **arguments: Any) -> Any:
        """Have Kafka's clients do something.

        Raises:
            ClientError: they report an error.
            KafkaError: they do not answer.
        """
        assert self._client is not None
        return self._client.ask({"op": operation, **arguments})


def directory_id(number: int, place: int = 0) -> bytes:
    """The id of one of a node's log directories. Kafka chooses that of a controller that it formats alone by itself."""
    return b"highwaterbroke" + bytes([ord("r") + place, number])


def _text(directory: bytes) -> str:
    """An id as Kafka writes it."""
    return base64.urlsafe_b64encode(directory).decode()[:22]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as open_until_all_are_found:
        probes = [open_until_all_are_found.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
