"""Readings of brokers' lines and logs, on material of a run on 4.3.1."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from highwater.cluster.nodes import Node, until
from highwater.cluster.observing import Control, control, has_unread_request, learned, telling_lines
from highwater.cluster.replica_logs import SEGMENT, cut, stored
from highwater.conformance.distribution import KafkaError
from tests.cluster.conftest import RECORDED


def node(tmp_path: Path, name: str, recorded: str) -> Node:
    folder = tmp_path / name
    folder.mkdir()
    shutil.copy(RECORDED / recorded, folder / "lines.log")
    return Node(name, folder, [], 0)


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    controller = node(tmp_path, "controller", "controller-4.3.1.log")
    brokers = [node(tmp_path, "b0", "b0-4.3.1.log")]
    return SimpleNamespace(controller=controller, controllers=[controller], brokers=brokers)


def test_the_controllers_record_follows_from_its_lines(cluster: Any) -> None:
    everyone = frozenset({0, 1, 2})
    assert control(cluster) == Control(1, 3, everyone)
    lines = cluster.controller.lines()
    seen = []
    for count in range(len(lines) + 1):
        cluster.controller.log.write_text("".join(f"{line}\n" for line in lines[:count]))
        seen.append(control(cluster))
    assert list(dict.fromkeys(seen)) == [None, *(Control(*each, everyone) for each in ((0, 0), (2, 1), (0, 2), (1, 3)))]


def test_an_isr_that_shrinks_to_one_and_a_partition_without_leader_are_read(cluster: Any) -> None:
    line = "partition change for t-0 with topic ID x: isr: [0, 1, 2] -> [1], leader: 1 -> -1, leaderEpoch: 3 -> 4 (R)"
    with open(cluster.controller.log, "a") as log:
        log.write(f"16:02:40.464 DEBUG [QuorumController id=100] {line}\n")
    assert control(cluster) == Control(-1, 4, frozenset({1}))


def test_a_partition_that_nobody_has_created_has_no_record(cluster: Any) -> None:
    assert control(cluster, "other") is None


def test_the_last_line_of_a_broker_gives_its_role_and_leader_epoch(cluster: Any) -> None:
    assert learned(cluster.brokers[0]) == (False, 3)
    lines = cluster.brokers[0].lines()
    again = max(number for number, line in enumerate(lines) if "Leader t-0" in line)
    cluster.brokers[0].log.write_text("".join(f"{line}\n" for line in lines[: again + 1]))
    assert learned(cluster.brokers[0]) == (True, 2)


def test_telling_lines_come_in_the_order_of_time_and_without_ids(cluster: Any) -> None:
    lines = list(telling_lines(cluster, {"controller": 0, "b0": 0}))
    times = [line.split(": ", 1)[1][:12] for line in lines]
    assert times == sorted(times)
    assert any(line.startswith("controller: ") for line in lines)
    assert any("Truncating to offset 0" in line for line in lines)
    assert not any("UgxbhLULSja48exUBye4XA" in line for line in lines)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("23:59:59.900", "00:00:00.100"),
        ("23:59", "00:00"),
        ("11:59:59.900", "12:00:00.100"),
        ("23:00:01", "23:00:01.001"),
    ],
)
def test_telling_lines_are_in_order_around_midnight(cluster: Any, first: str, then: str) -> None:
    cluster.controller.log.write_text(f"{first} INFO Fencing broker 1 (X)\n")
    leads = "[Broker id=0] Leader t-0 with topic id x starts at leader epoch 1 (logger)"
    cluster.brokers[0].log.write_text(f"{then} INFO {leads}\n")
    lines = telling_lines(cluster, {"controller": 0, "b0": 0})
    assert [line.split(": ", 1)[1].split(" ")[0] for line in lines] == [first, then]


def test_a_line_that_is_not_whole_yet_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "lines.log").write_text("one\ntw")
    assert Node("b0", tmp_path, [], 0).lines() == ["one"]


def test_records_on_disk_are_read_and_cut_at_the_border_of_a_batch(tmp_path: Path) -> None:
    shutil.copy(RECORDED / "scratch.segment", tmp_path / SEGMENT)
    found = stored(tmp_path)
    assert [str(each) for each in found[:2]] == ["s1@e0", "s4@e0"]
    assert [each.offset for each in found] == list(range(len(found)))
    cut(tmp_path, 1)
    assert stored(tmp_path) == found[:1]
    assert (tmp_path / SEGMENT).stat().st_size == found[1].position
    cut(tmp_path, 0)
    assert stored(tmp_path) == ()


def test_half_a_batch_is_not_a_record(tmp_path: Path) -> None:
    data = (RECORDED / "scratch.segment").read_bytes()
    (tmp_path / SEGMENT).write_bytes(data[:100])
    assert [each.value for each in stored(tmp_path)] == ["s1"]
    assert stored(tmp_path / "nowhere") == ()


def test_a_request_is_seen_at_a_port_until_it_is_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as asking, server.accept()[0] as asked:
            assert not has_unread_request(port)
            asking.sendall(b"request")
            assert until(lambda: has_unread_request(port), 10, "the request is there")
            assert not has_unread_request(asking.getsockname()[1])
            asked.recv(100)
            assert not has_unread_request(port)


def test_a_kernel_that_lists_no_connections_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highwater.cluster.observing.CONNECTIONS", ("/no/such/tcp", "/no/such/tcp6"))
    with pytest.raises(KafkaError, match="/no/such/tcp does not exist: this needs Linux"):
        has_unread_request(9092)
