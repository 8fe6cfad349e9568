"""The harness's process: started, asked in batches of operations, and ended in any case."""

from __future__ import annotations

import fcntl
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from highwater.conformance.distribution import Distribution, KafkaError, advice, java
from highwater.conformance.jvm import ALIKE, environment
from highwater.conformance.programs import harness

IN_MEMORY = Path("/dev/shm")
PREFIX = "highwater-conform-"
OLD_SECONDS = 600
ANSWER_SECONDS = 900
ENDING_SECONDS = 10  # until a process that answers no more is ended
MOST_NUMBERS = 100_000
CHAFF = ("SLF4J", "Picked up ", "NOTE: Picked up ")  # the last two of JAVA_TOOL_OPTIONS and its like
NO_START = "Error occurred during initialization of VM\n"  # the reason is on the next line
# what Java itself says goes to standard error, so that nothing stands between answers
BOTH_COMPILERS = (
    "-XX:+UseSerialGC",
    "-XX:+DisplayVMOutputToStderr",
    "-Xmx1g",
    "-Xshare:auto",
    "-Djava.awt.headless=true",
)
# with one compiler: a run is over before the second one pays, unless it is very long
OPTIONS = (*BOTH_COMPILERS, "-XX:TieredStopAtLevel=1")

OF_A_PIPE = 1 << 16  # bytes, as much as Linux keeps of one

Operation = dict[str, Any]
FORGET: Operation = {"do": "forget"}


class Seen(dict[str, Any]):
    """What was seen of a broker or of the controller. It is looked up by identity: an equal one is the same."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class Harness:
    """Kafka's classes in a Java process of their own. A context manager: the process and its folder do not
    outlive it.
    """

    program = "Harness"
    options: Sequence[str] = OPTIONS
    at_once = 1
    """How many processes work at once."""

    def __init__(self, distribution: Distribution) -> None:
        self.distribution = distribution
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: str | None = None
        self._lock = -1
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        self._log: Any = None
        self._states: dict[int, Seen] = {}
        self._first = 0
        self._numbers: dict[str, int] = {}

    def __enter__(self) -> Self:
        try:
            self._start(self.compiled())
        except BaseException:  # an interrupt, too, leaves nothing behind
            self._end()
            raise
        return self

    def forget(self) -> None:
        """Ask again what was asked under another claim. A process that has ended takes what was known of it along;
        another one takes its place.
        """
        if self._process is not None and self._process.poll() is not None:
            self._end()
            self._answers, self._states, self._first = queue.Queue(), {}, 0
            self._numbers.clear()
            self.__enter__()
        self.run([FORGET])

    def compiled(self) -> list[bytes]:
        """The jars with the program's own classes."""
        return [harness(self.distribution)]

    def _start(self, jars: Sequence[bytes]) -> None:
        memory = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
        self._folder = tempfile.mkdtemp(prefix=PREFIX, dir=memory)
        self._lock = os.open(self._folder, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        _sweep(Path(self._folder).parent)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - `_end` closes it
        own = [Path(self._folder, f"program-{number}.jar") for number in range(len(jars))]
        for path, jar in zip(own, jars, strict=True):
            path.write_bytes(jar)
        class_path = os.pathsep.join([*map(str, own), *self.distribution.class_path])
        self._process = subprocess.Popen(
            [java(), *ALIKE, *self.options, "-cp", class_path, self.program, self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=OF_A_PIPE,
            cwd=self._folder,
            env=environment(),
        )
        threading.Thread(target=self._read, args=(self._process, self._answers), daemon=True).start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                try:
                    if stream is not None:
                        stream.close()
                except OSError:  # what was not written yet is lost with the process
                    continue
        if self._log is not None:
            self._log.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)

    def _read(self, process: subprocess.Popen[bytes], answers: queue.Queue[bytes | None]) -> None:
        try:
            for line in process.stdout or ():
                answers.put(line)
        except ValueError:  # closed meanwhile
            pass
        finally:
            answers.put(None)

    @property
    def pids(self) -> list[int]:
        """The number of the Java process."""
        return [] if self._process is None else [self._process.pid]

    def send(self, operations: Sequence[Operation]) -> None:
        """Hand over a batch; its results come in order.

        Raises:
            KafkaError: the process has ended.
        """
        self._write(json.dumps(operations, separators=(",", ":")))

    def send_texts(self, operations: Sequence[str]) -> None:
        """The same of operations that are JSON already. Runs repeat each other: what was sent before goes by its
        number.
        """
        anew = len(self._numbers) > MOST_NUMBERS
        if anew:
            self._numbers.clear()
        words = []
        for each in operations:
            next_one = len(self._numbers)
            number = self._numbers.setdefault(each, next_one)
            words.append(each if number == next_one else str(number))
        self._write(f'{{"anew":{"true" if anew else "false"},"operations":[{",".join(words)}]}}')

    def _write(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode(errors="replace"))
            self._process.stdin.flush()
        except OSError:
            raise self._died() from None

    def receive(self) -> list[dict[str, Any]]:
        """The results of the oldest batch.

        Raises:
            KafkaError: the process has ended or does not answer, or this Kafka lacks a class or method that the harness
                calls.
        """
        try:
            line = self._answers.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise KafkaError(f"Kafka {self.distribution.release}: no answer for {ANSWER_SECONDS} s") from None
        if line is None:
            raise self._died()
        text = line.decode(errors="replace")  # Kafka's words may have what a folder is called, in whatever encoding
        try:
            answer = json.loads(text)
        except json.JSONDecodeError:
            raise KafkaError(
                f"Kafka {self.distribution.release}: Java printed what is no answer: {text.strip()[:200]}"
            ) from None
        return self.checked(answer)

    def checked(self, answer: Any) -> list[dict[str, Any]]:
        """The results of a batch.

        Raises:
            KafkaError: this Kafka lacks a class or method that the harness calls, or one of its classes is damaged.
        """
        if isinstance(answer, dict) and "results" in answer:
            return self._seen(answer)
        if isinstance(answer, dict):
            release = self.distribution.release
            if "damaged" in answer:
                raise KafkaError(
                    f"Kafka {release}: Java refuses a class on the class path: {answer['damaged'].splitlines()[0]}"
                )
            raise KafkaError(f"Kafka {release} lacks what the harness calls: {answer['missing']}{advice(release)}")
        results: list[dict[str, Any]] = answer
        return results

    def _seen(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        """Results with states in the place of their numbers: what is the same is the same object."""
        if answer["first"] > self._first:
            self._first = answer["first"]
            self._states.clear()
        self._states.update((number, Seen(state)) for number, state in answer["states"])
        for result in answer["results"]:
            result["brokers"] = {name: self._states[number] for name, number in result["brokers"].items()}
        results: list[dict[str, Any]] = answer["results"]
        return results

    def run(self, operations: Sequence[Operation]) -> list[dict[str, Any]]:
        """Send a batch and wait for its results."""
        self.send(operations)
        return self.receive()

    def _died(self) -> KafkaError:
        assert self._process is not None
        try:
            how = f"ended with code {self._process.wait(ENDING_SECONDS)}"
        except subprocess.TimeoutExpired:  # who waited for it would wait for ever
            self._process.kill()
            self._process.wait()
            how = "lives, and has closed its input or output"
        self._log.seek(0)
        printed = self._log.read().decode(errors="replace").replace(NO_START, f"{NO_START.strip()}: ")
        lines = [line for line in printed.splitlines() if line.strip() and not line.startswith(CHAFF)]
        causes = [line for line in lines if "Error" in line or "Exception" in line] or lines
        last = f"; it said last: {causes[-1].strip()}" if causes else ""
        return KafkaError(f"Kafka {self.distribution.release}: the Java process {how}{last}")


def _sweep(parent: Path) -> None:
    """Remove what was left where both sides were killed at once: old folders that no process holds."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            lock = os.open(folder, os.O_RDONLY)
        except OSError:  # gone meanwhile, or another user's
            continue
        try:
            if time.time() - os.fstat(lock).st_mtime > OLD_SECONDS:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
