"""Highwater's own Java programs, compiled for one Kafka. What was compiled is kept as a jar by what it was made from:
sources, compiler, and class path.

A jar is read as `highwater.explorer.kept_files` reads everything. Java gets a copy of it in a folder of the process
that runs it, so that nobody can change it in between.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from highwater.conformance.distribution import (
    OLDEST_JAVA,
    Distribution,
    KafkaError,
    advice,
    cache_folder,
    java,
    keep,
    numbers_of,
)
from highwater.conformance.jvm import TOOLS_ALIKE, environment
from highwater.explorer import kept_files

HARNESS = Path(__file__).parent / "harness"
BRIEFLY = ("-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1")  # half the time of the processor: see `process`
TOOLS = {"javac": "the Java compiler", "javap": "the reader of Java classes"}
RAFT_LOG_SINCE = (4, 3)  # the interface of the metadata log was called ReplicatedLog before


def harness(distribution: Distribution) -> bytes:
    """The harness as a jar.

    Raises:
        KafkaError: there is no compiler, or Kafka lacks what the harness is compiled against.
    """
    return compiled(distribution, sorted(HARNESS.glob("*.java")))


def zookeeper_harness(distribution: Distribution) -> bytes:
    """The same of the classes that drive the controller with ZooKeeper. They need the harness beside them."""
    return compiled(distribution, sorted((HARNESS / "zookeeper").glob("*.java")), harness(distribution))


def walk_harness(distribution: Distribution) -> bytes:
    """The classes of random walks as a jar. Some have the names of Kafka's, so it comes first on the class path."""
    shared = [HARNESS / name for name in ("Clock.java", "Reflect.java")]
    other = "replicated_log" if numbers_of(distribution.release) >= RAFT_LOG_SINCE else "raft_log"
    sources = [source for source in sorted((HARNESS / "walk").rglob("*.java")) if source.parent.name != other]
    return compiled(distribution, [*sources, *shared])


def compiled(distribution: Distribution, sources: Sequence[Path], beside: bytes = b"") -> bytes:
    """Some sources as a jar, from the cache or by the JDK's compiler.

    Args:
        beside: a jar with classes that they need besides Kafka's.

    Raises:
        KafkaError: there is no compiler, or Kafka lacks what they are compiled against.
    """
    javac = of_the_jdk("javac")
    made_from = [
        [[source.name, source.read_text(encoding="utf-8")] for source in sources],
        [_stamp(entry) for entry in distribution.class_path],
        [_stamp(javac), OLDEST_JAVA],
        hashlib.sha256(beside).hexdigest(),
    ]
    name = f"program-{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:32]}.jar"
    for folder in cache_folder():
        with suppress(OSError, ValueError):
            return kept_files.read(folder, name)
    jar = _compile(distribution, javac, sources, beside)
    keep(name, jar)
    return jar


def of_the_jdk(tool: str) -> str:
    """A tool of the JDK that Java is of, or else of the one on the PATH.

    Raises:
        KafkaError: there is only a runtime, or no Java.
    """
    beside = Path(java()).resolve().parent
    found = shutil.which(tool, path=str(beside)) or shutil.which(tool)
    if found is None:
        raise KafkaError(f"{TOOLS[tool]} ({tool}) is needed and missing: install a JDK, not only a runtime")
    return os.path.realpath(found)


def _stamp(entry: str) -> list[Any]:
    """What changes when a jar, or a file in a folder of classes, does."""
    found = [(str(file), file.stat()) for file in _files(entry)]
    return [entry, [[file, stat.st_size, stat.st_mtime_ns] for file, stat in found]]


def _files(entry: str) -> list[Path]:
    """A file itself, or all in a folder."""
    return sorted(path for path in (Path(entry), *Path(entry).rglob("*")) if path.is_file())


def _compile(distribution: Distribution, javac: str, sources: Sequence[Path], beside: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made, jar = Path(folder, "classes"), Path(folder, "beside.jar")
        jar.write_bytes(beside)
        class_path = os.pathsep.join([*([str(jar)] if beside else []), *distribution.class_path])
        options = ["-nowarn", "-proc:none", "--release", str(OLDEST_JAVA), "-d", str(made), "-cp", class_path]
        command = [javac, *TOOLS_ALIKE, *BRIEFLY, *options, *map(str, sources)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment())
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error:" in line]
            release, first = distribution.release, (lines or [done.stderr])[0]
            raise KafkaError(f"the harness cannot be compiled against Kafka {release}: {first}{advice(release)}")
        return _jar({str(path.relative_to(made)): path.read_bytes() for path in _files(str(made))})


def _jar(files: dict[str, bytes]) -> bytes:
    """A jar with these files, the same for the same ones."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as jar:
        for name, content in files.items():
            jar.writestr(zipfile.ZipInfo(name), content)
    return written.getvalue()
