"""Which jars some artifacts are and need, as Maven lists them. It fetches those that it does not have."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from highwater.conformance.jvm import ALIKE, environment

SECONDS = 600
OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # it has ended before the second compiler pays
LISTED = "classpath"
GOAL = ("dependency:build-classpath", f"-Dmdep.outputFile={LISTED}", "-Dmdep.includeScope=runtime")
POM = """<project>
<modelVersion>4.0.0</modelVersion>
<groupId>highwater</groupId><artifactId>{name}</artifactId><version>1</version>
{rest}
</project>
"""


class MavenError(Exception):
    """Maven lists no jars. The message says of what, and why."""


def class_paths(mvn: str, asked: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The class paths of several lists of artifacts, by one run of Maven.

    Args:
        asked: group:artifact:version of each, and a classifier if there is one.

    Raises:
        MavenError: one cannot be resolved.
    """
    with tempfile.TemporaryDirectory() as folder:
        listed = [project / LISTED for project in _projects(Path(folder), asked)]
        try:
            done = subprocess.run(
                [mvn, "-q", "-B", *GOAL],
                cwd=folder,
                capture_output=True,
                encoding="utf-8",
                timeout=SECONDS,
                env={**environment(), "MAVEN_OPTS": " ".join([os.environ.get("MAVEN_OPTS", OPTIONS), *ALIKE])},
                umask=0o022,  # jars that Maven fetches are its user's alone
            )
        except subprocess.TimeoutExpired:
            raise MavenError(f"Maven did not end within {SECONDS} s") from None
        if done.returncode or not all(each.exists() for each in listed):
            printed = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)  # Maven colours its lines
            lines = [line for line in printed.splitlines() if "ERROR" in line]
            names = ", ".join(artifacts[0] for artifacts in asked)
            raise MavenError(f"Maven cannot resolve {names}: {(lines or ['no reason'])[0]}")
        texts = (each.read_text(encoding="utf-8").strip() for each in listed)
        return [tuple(filter(None, text.split(os.pathsep))) for text in texts]


def _projects(folder: Path, asked: Sequence[Sequence[str]], name: str = "conform") -> list[Path]:
    """Write a project that needs some artifacts, or one with such a module for each list of them.

    Returns:
        The folders of those that need artifacts.
    """
    if len(asked) == 1:
        needed = "\n".join(map(_dependency, asked[0]))
        (folder / "pom.xml").write_text(POM.format(name=name, rest=f"<dependencies>\n{needed}\n</dependencies>"))
        return [folder]
    modules = [folder / str(number) for number in range(len(asked))]
    listed = "".join(f"<module>{module.name}</module>" for module in modules)
    pom = POM.format(name=name, rest=f"<packaging>pom</packaging>\n<modules>{listed}</modules>")
    (folder / "pom.xml").write_text(pom)
    for module, artifacts in zip(modules, asked, strict=True):
        module.mkdir()
        _projects(module, [artifacts], f"{name}-{module.name}")
    return modules


def _dependency(coordinates: str) -> str:
    names = ("groupId", "artifactId", "version", "classifier")
    tags = (f"<{name}>{value}</{name}>" for name, value in zip(names, coordinates.split(":"), strict=False))
    return f"<dependency>{''.join(tags)}</dependency>"
