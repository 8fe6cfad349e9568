"""Tests of Kafka's own kind, compiled and run against a release's jars and test classes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from highwater.conformance import distribution
from highwater.conformance.distribution import KafkaError, java
from highwater.conformance.programs import BRIEFLY


def run_junit(folder: Path, name: str, source: str, release: str, before: str = "") -> str:
    """What JUnit says of a class of tests.

    Args:
        folder: where the class is compiled.
        name: of the class, with its package.
        before: what stands before Kafka's jars on the class path.
    """
    if shutil.which("javac") is None:
        pytest.skip("needs a JDK: the Java compiler is not on the PATH")
    path = folder / f"{name.rpartition('.')[2]}.java"
    path.write_text(source, encoding="utf-8")
    try:
        class_path = os.pathsep.join(distribution.test_class_path(release))
    except KafkaError as error:
        pytest.skip(f"needs Kafka's test jars: {error}")
    subprocess.run(["javac", *BRIEFLY, "-nowarn", "-proc:none", "-d", folder, "-cp", class_path, path], check=True)
    options = ["-cp", os.pathsep.join(filter(None, [before, str(folder), class_path]))]
    launcher = ["org.junit.platform.console.ConsoleLauncher", "execute", "--select-class", name]
    command = [java(), *options, *launcher, "--disable-banner", "--disable-ansi-colors"]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
