"""Tests of Kafka's own kind, compiled and run against a release's jars."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from highwater.conformance.distribution import java
from highwater.conformance.process import OPTIONS
from highwater.conformance.programs import BRIEFLY


def run_junit(folder: Path, name: str, source: str, jars: Sequence[str], before: str = "") -> str:
    """What JUnit says of a class of tests.

    Args:
        folder: where the class is compiled.
        name: of the class, with its package.
        jars: the class path.
        before: what stands before it.
    """
    if shutil.which("javac") is None:
        pytest.skip("needs a JDK: the Java compiler is not on the PATH")
    path = folder / f"{name.rpartition('.')[2]}.java"
    path.write_text(source, encoding="utf-8")
    class_path = os.pathsep.join(jars)
    subprocess.run(["javac", *BRIEFLY, "-nowarn", "-proc:none", "-d", folder, "-cp", class_path, path], check=True)
    options = [*OPTIONS, "-cp", os.pathsep.join(filter(None, [before, str(folder), class_path]))]
    launcher = ["org.junit.platform.console.ConsoleLauncher", "execute", "--select-class", name]
    command = [java(), *options, *launcher, "--disable-banner", "--disable-ansi-colors"]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
