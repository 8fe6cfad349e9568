"""What a cluster is to be like, and the keys that say so to its processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

CONTROLLER = 100  # the number of the first controller of a metadata quorum; brokers count from 0


@attrs.frozen
class Settings:
    """What a cluster is to be like.

    Attributes:
        brokers: how many there are, from 0 on.
        controllers: how many voters the metadata quorum has.
        zookeeper: whether there is a ZooKeeper instead, and the first broker is the controller.
        voters_change: whether voters may be added and removed (kraft.version 1).
        min_insync_replicas: of the topic.
        unclean_election: whether a replica outside the ISR may be elected.
        eligible_replicas: whether the controller keeps eligible leader replicas; None as the release has it.
        session_ms: how long a broker may be silent before it is fenced, or its session ends. No pause may last so long.
        lag_ms: how long a follower may lag before the leader takes it out of the ISR.
        heartbeat_ms: how often it says that it is there.
        start_seconds, step_seconds: limits for a process to come up, and for one step to show its effect.
        heap: of a Java process.
        directories: how many log directories a broker has.
        others: more keys of `server.properties`.
    """

    brokers: int = 3
    controllers: int = 1
    zookeeper: bool = False
    voters_change: bool = False
    min_insync_replicas: int = 1
    unclean_election: bool = False
    eligible_replicas: bool | None = None
    session_ms: int = 18_000
    heartbeat_ms: int = 2_000
    lag_ms: int = 30_000
    start_seconds: float = 180
    step_seconds: float = 60
    heap: str = "320m"
    directories: int = 1
    others: Mapping[str, str] = attrs.field(factory=dict)


def log_directories(settings: Settings, number: int, folder: Path) -> list[Path]:
    """Where a node keeps its logs; the first has the metadata, too."""
    more = range(2, settings.directories + 1) if number < CONTROLLER else ()
    return [folder / "data", *(folder / f"data-{each}" for each in more)]


def keys_of_node(settings: Settings, controller_ports: Sequence[int], number: int, folder: Path) -> dict[str, object]:
    """The keys of a controller or a broker."""
    is_controller = number >= CONTROLLER
    own_port = controller_ports[number - CONTROLLER] if is_controller else 0
    own = _with_zookeeper if settings.zookeeper else _with_quorum
    return {
        **own(settings, controller_ports, number),
        "listeners": f"{'CONTROLLER' if is_controller else 'PLAINTEXT'}://127.0.0.1:{own_port}",
        "log.dirs": ",".join(map(str, log_directories(settings, number, folder))),
        "replica.lag.time.max.ms": settings.lag_ms,
        "auto.leader.rebalance.enable": "false",
        "auto.create.topics.enable": "false",
        "num.network.threads": 1,
        "num.io.threads": 1,  # a request is done with before the next one begins
        "num.replica.fetchers": 1,
        "num.recovery.threads.per.data.dir": 1,
        "background.threads": 2,
        "metric.reporters": "",  # nobody asks for metrics
        "log.cleaner.enable": "false",
        "log.index.size.max.bytes": 65_536,
        **settings.others,
    }


def _with_zookeeper(settings: Settings, controller_ports: Sequence[int], number: int) -> dict[str, object]:
    """The keys that only a broker with ZooKeeper has, which listens at the first of the ports."""
    return {
        "broker.id": number,
        "zookeeper.connect": f"127.0.0.1:{controller_ports[0]}",
        "zookeeper.session.timeout.ms": settings.session_ms,
    }


def _with_quorum(settings: Settings, controller_ports: Sequence[int], number: int) -> dict[str, object]:
    """The keys that only a node with a metadata quorum has."""
    return {
        "node.id": number,
        "process.roles": "controller" if number >= CONTROLLER else "broker",
        **_controllers(settings, controller_ports),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "broker.session.timeout.ms": settings.session_ms,
        "broker.heartbeat.interval.ms": settings.heartbeat_ms,
    }


def _controllers(settings: Settings, ports: Sequence[int]) -> dict[str, object]:
    """The key that names the controllers: fixed voters, or where to ask for the present ones."""
    if settings.voters_change:
        return {"controller.quorum.bootstrap.servers": ",".join(f"127.0.0.1:{port}" for port in ports)}
    voters = (f"{CONTROLLER + each}@127.0.0.1:{port}" for each, port in enumerate(ports))
    return {"controller.quorum.voters": ",".join(voters)}


def keys_of_zookeeper(port: int, folder: Path) -> dict[str, object]:
    """The keys of a ZooKeeper that is alone."""
    return {
        "dataDir": folder / "data",
        "clientPort": port,
        "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
        "maxClientCnxns": 0,
    }


def as_properties(keys: Mapping[str, object]) -> str:
    """What a file of properties holds."""
    return "".join(f"{key}={value}\n" for key, value in keys.items())
