"""Four requests of Kafka's protocol, sent to the controller's own port: which replicas a partition has, the preferred
leader first, that it is to lead, a topic's configuration, and that a voter leaves the metadata quorum.

Kafka's Admin client cannot be used for this. It sends such requests through any broker, also through a paused one.
Source: AlterPartitionReassignmentsRequest.json (version 0), ElectLeadersRequest.json (version 2),
    IncrementalAlterConfigsRequest.json (version 1), 2.4 to 4.3.1; RemoveRaftVoterRequest.json (version 0), 3.9 to
    4.3.1.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

ALTER_PARTITION_REASSIGNMENTS, ELECT_LEADERS, INCREMENTAL_ALTER_CONFIGS, REMOVE_RAFT_VOTER = 45, 43, 44, 81
OF_TOPIC, SET = b"\x02", b"\0"
NO_ERROR, ELECTION_NOT_NEEDED = 0, 84
NO_TAGS = NULL = b"\0"


class Refused(Exception):
    """The controller has refused a request. The message has Kafka's error code and text."""


def assign(port: int, topic: str, partition: int, replicas: Sequence[int] | None, seconds: float) -> None:
    """Give a partition other replicas, or the same in another order. The first one is preferred as the leader. None
    cancels a reassignment.

    Raises:
        Refused: the controller does not do it.
        OSError: it does not answer.
    """
    ids = NULL if replicas is None else _length(replicas) + struct.pack(f">{len(replicas)}i", *replicas)
    partitions = b"\x02" + struct.pack(">i", partition) + ids + NO_TAGS
    body = struct.pack(">i", int(seconds * 1000)) + b"\x02" + _text(topic) + partitions + NO_TAGS + NO_TAGS
    answer = _Answer(_ask(port, ALTER_PARTITION_REASSIGNMENTS, 0, body, seconds))
    answer.skip(4)  # throttle time
    code, why = answer.number("h"), answer.text()
    _refuse(code, why)
    for _ in range(answer.length()):
        answer.text()
        for _ in range(answer.length()):
            answer.skip(4)
            code, why = answer.number("h"), answer.text()
            _refuse(code, why)
            answer.skip(1)
        answer.skip(1)


def elect(port: int, topic: str, partition: int, seconds: float, *, uncleanly: bool) -> None:
    """Elect the preferred replica as the leader; or uncleanly any one that runs.

    Raises:
        Refused, OSError: as `assign` says.
    """
    partitions = b"\x02" + struct.pack(">i", partition)
    body = (
        (b"\x01\x02" if uncleanly else b"\0\x02")
        + _text(topic)
        + partitions
        + NO_TAGS
        + struct.pack(">i", int(seconds * 1000))
        + NO_TAGS
    )
    answer = _Answer(_ask(port, ELECT_LEADERS, 2, body, seconds))
    answer.skip(4)
    _refuse(answer.number("h"), None)
    for _ in range(answer.length()):
        answer.text()
        for _ in range(answer.length()):
            answer.skip(4)
            code, why = answer.number("h"), answer.text()
            if code != ELECTION_NOT_NEEDED:
                _refuse(code, why)
            answer.skip(1)
        answer.skip(1)


def configure(port: int, topic: str, name: str, value: str, seconds: float) -> None:
    """Set one key of a topic's configuration.

    Raises:
        Refused, OSError: as `assign` says.
    """
    key = _text(name) + SET + _text(value) + NO_TAGS
    resource = OF_TOPIC + _text(topic) + b"\x02" + key + NO_TAGS
    body = b"\x02" + resource + b"\0" + NO_TAGS  # not only to be validated
    answer = _Answer(_ask(port, INCREMENTAL_ALTER_CONFIGS, 1, body, seconds))
    answer.skip(4)
    for _ in range(answer.length()):
        code, why = answer.number("h"), answer.text()
        _refuse(code, why)
        answer.skip(1)
        answer.text()
        answer.skip(1)


def remove_voter(port: int, voter: int, directory: bytes, seconds: float) -> None:
    """Take a voter out of the metadata quorum, and wait until that is committed.

    Args:
        directory: the id of its log directory, 16 bytes.

    Raises:
        Refused, OSError: as `assign` says; also if another controller is active.
    """
    body = NULL + struct.pack(">i", voter) + directory + NO_TAGS
    answer = _Answer(_ask(port, REMOVE_RAFT_VOTER, 0, body, seconds))
    answer.skip(4)
    _refuse(answer.number("h"), answer.text())


def _refuse(code: int, why: str | None) -> None:
    if code != NO_ERROR:
        raise Refused(f"error {code}{f': {why}' if why else ''}")


def _length(elements: Sequence[int]) -> bytes:
    return bytes([len(elements) + 1])  # a short varint: there are few brokers


def _text(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


def _ask(port: int, key: int, version: int, body: bytes, seconds: float) -> bytes:
    """Send one request, and return the body of its response."""
    client = b"highwater"
    header = struct.pack(">hhih", key, version, 1, len(client)) + client + NO_TAGS
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        return _exactly(connection, size)[5:]  # correlation id, tags


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise ConnectionError("the controller has closed the connection")
        found += more
    return found


class _Answer:
    """The body of a response, read from front to back."""

    def __init__(self, body: bytes) -> None:
        self._left = body

    def skip(self, size: int) -> bytes:
        taken, self._left = self._left[:size], self._left[size:]
        return taken

    def number(self, kind: str) -> int:
        return int(struct.unpack(f">{kind}", self.skip(struct.calcsize(kind)))[0])

    def length(self) -> int:
        """Of an array or a text: an unsigned varint, less one."""
        found = shift = 0
        while True:
            byte = self.skip(1)[0]
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found - 1

    def text(self) -> str | None:
        size = self.length()
        return None if size < 0 else self.skip(size).decode(errors="replace")
