"""Specs to hold against Kafka, and Kafka itself where Java and Maven are."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from highwater.claims.conformance import Session
from highwater.claims.spec import Spec, make_spec
from highwater.conformance.distribution import NEWEST_KAFKA as NEWEST
from highwater.conformance.distribution import KafkaError, find
from highwater.conformance.process import Harness

SMALL = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1, "fetch_steps": 1}


@pytest.fixture(scope="session")
def claim() -> Callable[..., Spec]:
    """A small spec under a preset, with some bounds and toggles changed."""

    def made(preset: str = "kafka-4.1", protocol: dict[str, Any] | None = None, **bounds: int) -> Spec:
        keys = {"model": "partition", "preset": preset, "protocol": protocol or {}, "bounds": {**SMALL, **bounds}}
        return make_spec(f"small claim under {preset}", {**keys, "check": ["candidates_are_complete"]})

    return made


@pytest.fixture(scope="session")
def kafka_of() -> Iterator[Callable[[str], Harness]]:
    """Releases of Kafka, each in one Java process for all tests that do not need one of their own."""
    running: dict[str, Harness] = {}

    def started(release: str) -> Harness:
        if release not in running:
            running[release] = until_the_end.enter_context(harness_of(release))
        return running[release]

    with ExitStack() as until_the_end:
        yield started


@pytest.fixture(scope="session")
def session(kafka_of: Callable[[str], Harness]) -> Session:
    """Kafka's newest release."""
    return Session(kafka_of(NEWEST))


def harness_of(release: str) -> Harness:
    if shutil.which("javac") is None:
        pytest.skip("needs a JDK: the Java compiler is not on the PATH")
    try:
        return Harness(find(release))
    except KafkaError as error:
        pytest.skip(f"needs Kafka's jars: {error}")
