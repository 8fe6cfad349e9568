"""Kafka's own clients, in a Java process that answers lines of JSON (`programs/Client.java`)."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from highwater.conformance.distribution import KafkaError
from highwater.conformance.jvm import environment


class ClientError(Exception):
    """What a Kafka client reports."""


class Client:
    """The Java process with Kafka's clients."""

    def __init__(self, command: list[str], folder: Path, group: int) -> None:
        with open(folder / "client.log", "ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env=environment(),
                process_group=group,
            )
        self._read = b""

    def ask(self, operation: dict[str, Any], seconds: float = 120) -> Any:
        """One operation, and its answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(operation).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise KafkaError("the process of Kafka's clients has ended") from None
        deadline = time.monotonic() + seconds
        while True:
            line = self._line(deadline)
            if line.startswith(b"> "):  # the others are the clients' own
                answer = json.loads(line[2:])
                if "error" in answer:
                    raise ClientError(answer["error"])
                return answer["answer"]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):  # what was not written yet is lost with the process
                stream.close()

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        out = self._process.stdout.fileno()
        while b"\n" not in self._read:
            ready, _, _ = select.select([out], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise KafkaError("Kafka's clients do not answer")
            more = os.read(out, 65536)
            if not more:
                raise KafkaError("the process of Kafka's clients has ended")
            self._read += more
        line, self._read = self._read.split(b"\n", 1)
        return line
