"""Specs to hold against Kafka, and Kafka itself where Java and Maven are."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import pytest

from highwater.claims.conformance import Session
from highwater.claims.spec import Spec, make_spec
from highwater.conformance.distribution import NEWEST_KAFKA as NEWEST
from highwater.conformance.distribution import Distribution, KafkaError, find, find_all
from highwater.conformance.process import Harness
from highwater.conformance.programs import BRIEFLY

RELEASES = ("3.5.1", "3.6.2", "3.7.2", "3.8.1", "3.9.1", "3.9.2", "4.0.0", "4.0.2", "4.1.0", "4.1.1", "4.3.1", NEWEST)
PATCHED = "4.1.1"
REPLICA = "org/apache/kafka/server/replica/Replica.java"
SMALL = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1, "fetch_steps": 1}
AnyHarness = TypeVar("AnyHarness", bound=Harness)


class Running(Protocol):
    """Gives a program on a release of Kafka, once it answers."""

    def __call__(self, program: type[AnyHarness], release: str) -> AnyHarness: ...


@pytest.fixture(scope="session")
def claim() -> Callable[..., Spec]:
    """A small spec under a preset, with some bounds and toggles changed."""

    def made(preset: str = "kafka-4.1", protocol: dict[str, Any] | None = None, **bounds: int) -> Spec:
        keys = {"model": "partition", "preset": preset, "protocol": protocol or {}, "bounds": {**SMALL, **bounds}}
        return make_spec(f"small claim under {preset}", {**keys, "check": ["candidates_are_complete"]})

    return made


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """Programs that are each in one Java process for all tests that do not need one of their own."""
    with ExitStack() as until_the_end:
        started = functools.cache(lambda program, release: until_the_end.enter_context(program(kafka(release))))
        yield cast("Running", started)


@pytest.fixture(scope="session")
def kafka_of(running: Running) -> Callable[[str], Harness]:
    """Releases of Kafka, as claims are held against them."""
    return functools.partial(running, Harness)


@pytest.fixture(scope="session")
def session(kafka_of: Callable[[str], Harness]) -> Session:
    """Kafka's newest release."""
    return Session(kafka_of(NEWEST))


@pytest.fixture(scope="session")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the patched class of docs/kip.md: each new leader epoch forgets what was known of followers."""
    harness_of(PATCHED)
    folder = tmp_path_factory.mktemp("patched")
    if (mvn := shutil.which("mvn")) is None:
        pytest.skip("needs Maven")
    artifact = f"-Dartifact=org.apache.kafka:kafka-server:{PATCHED}:jar:sources"
    copy = [mvn, "-q", "-B", "dependency:copy", artifact, f"-DoutputDirectory={folder}"]
    if subprocess.run(copy, cwd=folder, capture_output=True).returncode:
        pytest.skip("needs Kafka's sources")
    with zipfile.ZipFile(folder / f"kafka-server-{PATCHED}-sources.jar") as sources:
        text = sources.read(REPLICA).decode()
    assert text.count("if (isNewLeader) {") == 1
    source = folder / "Replica.java"
    source.write_text(text.replace("if (isNewLeader) {", "if (true) {"))
    class_path = os.pathsep.join(find(PATCHED).class_path)
    command = ["javac", *BRIEFLY, "-nowarn", "-d", str(folder / "classes"), "-cp", class_path, str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "classes"


def kafka(release: str = NEWEST) -> Distribution:
    """A release, or a skipped test where it cannot be had."""
    if shutil.which("javac") is None:
        pytest.skip("needs a JDK: the Java compiler is not on the PATH")
    if "PYTEST_XDIST_WORKER" in os.environ:
        ask_maven_for_all(Path(os.environ["HIGHWATER_CACHE"]))
    try:
        return find(release)
    except KafkaError as error:
        pytest.skip(f"needs Kafka's jars: {error}")


@functools.cache
def ask_maven_for_all(cache: Path) -> None:
    """Where all tests run, Maven lists the jars of all their releases at once: it takes two seconds for each alone."""
    cache.mkdir(exist_ok=True)
    with (cache / "maven.lock").open("w") as lock, suppress(KafkaError):  # `find` says which one is missing
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first process asks, and the others find what is kept
        find_all(RELEASES)


def harness_of(release: str) -> Harness:
    return Harness(kafka(release))
