"""Requests to the controller, against one that answers what is recorded."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from highwater.cluster import wire


class Controller:
    """Answers one request, and keeps it."""

    def __init__(self, body: bytes) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.request = b""
        self._thread = threading.Thread(target=self._serve, args=(body,), daemon=True)
        self._thread.start()

    def _serve(self, body: bytes) -> None:
        connection, _ = self._socket.accept()
        with connection:
            (size,) = struct.unpack(">i", connection.recv(4))
            while len(self.request) < size:
                self.request += connection.recv(size)
            answer = struct.pack(">i", 1) + b"\0" + body
            connection.sendall(struct.pack(">i", len(answer)) + answer)

    def close(self) -> None:
        self._thread.join(10)
        self._socket.close()


@pytest.fixture
def answering(request: pytest.FixtureRequest) -> Iterator[Controller]:
    controller = Controller(request.param)
    yield controller
    controller.close()


def assigned(code: int, why: bytes) -> bytes:
    """AlterPartitionReassignments, version 0: one partition of the topic t."""
    partition = struct.pack(">ih", 0, code) + why + b"\0"
    return struct.pack(">ihB", 0, 0, 0) + b"\2" + b"\2t" + b"\2" + partition + b"\0" + b"\0"


def elected(code: int, why: bytes) -> bytes:
    """ElectLeaders, version 2: the same."""
    partition = struct.pack(">ih", 0, code) + why + b"\0"
    return struct.pack(">ih", 0, 0) + b"\2" + b"\2t" + b"\2" + partition + b"\0" + b"\0"


@pytest.mark.parametrize("answering", [assigned(0, b"\0")], indirect=True)
def test_a_reassignment_is_cancelled_by_null(answering: Controller) -> None:
    wire.assign(answering.port, "t", 3, None, 10)
    assert answering.request.endswith(b"\2\2t\2" + struct.pack(">i", 3) + b"\0" + b"\0\0\0")


@pytest.mark.parametrize("answering", [assigned(0, b"\0")], indirect=True)
def test_an_order_of_replicas_is_asked_for(answering: Controller) -> None:
    wire.assign(answering.port, "t", 0, [2, 0, 1], 10)
    assert answering.request.startswith(struct.pack(">hhi", 45, 0, 1))
    assert struct.pack(">iB3i", 0, 4, 2, 0, 1) in answering.request


def configured(code: int, why: bytes) -> bytes:
    """IncrementalAlterConfigs, version 1: the same topic."""
    resource = struct.pack(">h", code) + why + b"\2\2t\0"
    return struct.pack(">i", 0) + b"\2" + resource + b"\0"


@pytest.mark.parametrize("answering", [configured(0, b"\0")], indirect=True)
def test_a_configuration_is_asked_for(answering: Controller) -> None:
    wire.configure(answering.port, "t", "min.insync.replicas", "1", 10)
    assert answering.request.startswith(struct.pack(">hhi", 44, 1, 1))
    assert b"\2\2\2t\2\x14min.insync.replicas\0\x021\0\0\0\0" in answering.request


@pytest.mark.parametrize("answering", [configured(40, b"\3no")], indirect=True)
def test_a_refused_configuration_is_an_error(answering: Controller) -> None:
    with pytest.raises(wire.Refused, match="error 40: no"):
        wire.configure(answering.port, "t", "min.insync.replicas", "1", 10)


@pytest.mark.parametrize("answering", [elected(84, b"\0")], indirect=True)
def test_an_unneeded_election_is_no_error(answering: Controller) -> None:
    wire.elect(answering.port, "t", 0, 10, uncleanly=False)
    assert answering.request.startswith(struct.pack(">hhi", 43, 2, 1))


@pytest.mark.parametrize("answering", [elected(80, b"\5none")], indirect=True)
def test_a_refused_election_is_an_error(answering: Controller) -> None:
    with pytest.raises(wire.Refused, match="error 80: none"):
        wire.elect(answering.port, "t", 0, 10, uncleanly=False)


@pytest.mark.parametrize("answering", [assigned(37, b"\0")], indirect=True)
def test_a_refused_assignment_is_an_error(answering: Controller) -> None:
    with pytest.raises(wire.Refused, match="error 37"):
        wire.assign(answering.port, "t", 0, [2, 0, 1], 10)


def removed(code: int, why: bytes) -> bytes:
    """RemoveRaftVoter, version 0."""
    return struct.pack(">ih", 0, code) + why + b"\0"


@pytest.mark.parametrize("answering", [removed(0, b"\0")], indirect=True)
def test_a_voter_is_removed_by_its_id_and_its_directory(answering: Controller) -> None:
    wire.remove_voter(answering.port, 101, b"highwaterbroker!", 10)
    assert answering.request.startswith(struct.pack(">hhi", 81, 0, 1))
    assert answering.request.endswith(b"\0\0" + struct.pack(">i", 101) + b"highwaterbroker!\0")


@pytest.mark.parametrize("answering", [removed(6, b"\4who")], indirect=True)
def test_a_removal_sent_to_the_wrong_controller_is_an_error(answering: Controller) -> None:
    with pytest.raises(wire.Refused, match="error 6: who"):
        wire.remove_voter(answering.port, 101, b"highwaterbroker!", 10)
