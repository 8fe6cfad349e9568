"""The processes of a cluster: started, paused, resumed and ended, with the lines that they print."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from highwater.conformance.distribution import KafkaError
from highwater.conformance.jvm import environment

POLL_SECONDS = 0.02
SHOWN_LINES = 12

T = TypeVar("T")


class TimeoutExceeded(Exception):
    """What was awaited did not happen in time."""


def until(look: Callable[[], T | None], seconds: float, what: str) -> T:
    """Look again and again until there is something to see.

    Raises:
        TimeoutExceeded: there is nothing within the time.
    """
    deadline = time.monotonic() + seconds
    while True:
        last = time.monotonic() > deadline
        found = look()
        if found is not None and found is not False:
            return found
        if last:
            raise TimeoutExceeded(f"{what}: not within {seconds:g} s")
        time.sleep(POLL_SECONDS)


class Node:
    """A Java process with a folder and a log of its own."""

    def __init__(self, name: str, folder: Path, command: Sequence[str], group: int) -> None:
        self.name = name
        self.folder = folder
        self.log = folder / "lines.log"
        self.paused = False
        self._command = command
        self._group = group
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process. Its lines follow those of its earlier life."""
        with open(self.log, "ab") as out:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.folder,
                env=environment(),
                process_group=self._group,
            )

    def mark(self) -> int:
        """A place in the log: the end of what is printed so far."""
        return self.log.stat().st_size if self.log.exists() else 0

    def lines(self, since: int = 0) -> list[str]:
        """Whole lines printed since a mark."""
        if not self.log.exists():
            return []
        with open(self.log, "rb") as file:
            file.seek(since)
            text = file.read().decode(errors="replace")
        return text[: text.rfind("\n") + 1].splitlines()

    def find(self, pattern: str, since: int = 0) -> re.Match[str] | None:
        """The last line since a mark that has a pattern."""
        found = (re.search(pattern, line) for line in reversed(self.lines(since)))
        return next((match for match in found if match), None)

    def expect(self, pattern: str, since: int, seconds: float) -> re.Match[str]:
        """Wait for a line.

        Raises:
            KafkaError: the process ends before it prints one, or does not within the time. The message has its last
                lines.
        """

        def look() -> re.Match[str] | None:
            running = self.running  # before the lines are read: what it printed last is among them
            found = self.find(pattern, since)
            if found is None and not running:
                raise KafkaError(f"{self.name} ended by itself{self.last_lines()}")
            return found

        try:
            return until(look, seconds, f'{self.name} prints "{pattern}"')
        except TimeoutExceeded as error:
            raise KafkaError(f"{error}{self.last_lines()}") from None

    def last_lines(self) -> str:
        """What it printed last, as the end of a sentence."""
        lines = [line for line in self.lines() if line.strip() and not line.startswith("\tat ")]  # no stack frames
        lines = [line for line in lines if " INFO " not in line] or lines
        lines = lines[-SHOWN_LINES:]
        return "; it printed last:\n" + "\n".join(f"    {line}" for line in lines) if lines else "; it printed nothing"

    def wait(self, seconds: float) -> int:
        """Wait for the end of the process.

        Returns:
            Its exit code.

        Raises:
            KafkaError: it goes on longer.
        """
        assert self._process is not None
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise KafkaError(f"{self.name} does not end within {seconds:g} s{self.last_lines()}") from None

    def pause(self) -> None:
        """Stop the process as a long pause does, and wait until it has stopped."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.paused = True

    def resume(self) -> None:
        """Let the process go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
        self.paused = False

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self.paused = False

    def terminate(self, seconds: float) -> None:
        """Ask the process to end, and wait for it.

        Raises:
            KafkaError: it does not end within the time.
        """
        assert self._process is not None
        self._process.terminate()
        self.wait(seconds)
