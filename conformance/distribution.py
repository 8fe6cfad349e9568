"""Where Kafka's classes come from, and the harness compiled for them.

WHERE is a folder of a Kafka distribution (with `libs/`), a class path, or a release number that Maven resolves from
`org.apache.kafka:kafka_2.13`. Class path and compiled harness are kept in the cache folder, so that Maven is asked once
per release.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import attrs

HARNESS = Path(__file__).parent / "harness"
OLDEST_JAVA = 17
OLDEST_KAFKA = (3, 5)
RESOLVE_SECONDS = 600
MAVEN_OPTS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # it has ended before the second compiler pays
POM = """<project>
<modelVersion>4.0.0</modelVersion>
<groupId>highwater</groupId><artifactId>conform</artifactId><version>1</version>
<dependencies>
{dependencies}
</dependencies>
</project>
"""
CORE = "org.apache.kafka:kafka_2.13:{release}"
TESTS = (
    CORE,
    "org.apache.kafka:kafka_2.13:{release}:test",
    "org.apache.kafka:kafka-clients:{release}:test",
    "org.apache.kafka:kafka-metadata:{release}:test",
    "org.apache.kafka:kafka-server-common:{release}:test",
    "org.junit.jupiter:junit-jupiter:5.13.1",
    "org.junit.platform:junit-platform-console:1.13.1",
    "org.mockito:mockito-core:5.14.2",
)
"""What Kafka's own tests need, as group:artifact:version and a classifier."""


class KafkaError(Exception):
    """Kafka's classes, Java or Maven are missing or not what is needed. The message names what, and what to do."""


@attrs.frozen
class Distribution:
    """Kafka's classes.

    Attributes:
        where: what the user named.
        release: the version of Kafka that the jars say, or "unknown".
        class_path: jars and folders, in order.
    """

    where: str
    release: str
    class_path: tuple[str, ...]


def cache_folder() -> Path:
    """Where class paths and the compiled harness are kept. `HIGHWATER_CACHE` names another folder than
    ~/.cache/highwater.
    """
    if named := os.environ.get("HIGHWATER_CACHE"):
        return Path(named) / "conform"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "highwater" / "conform"


def find(where: str) -> Distribution:
    """Kafka's classes by folder, class path or release number.

    Raises:
        KafkaError: there are none.
    """
    if re.fullmatch(r"\d+\.\d+(\.\d+)?", where):
        return _checked(where, _resolved(where))
    folder = Path(where)
    if os.pathsep not in where and folder.is_dir():
        libs = folder / "libs" if (folder / "libs").is_dir() else folder
        jars = sorted(str(jar) for jar in libs.glob("*.jar"))
        return _checked(where, tuple(jars))
    entries = tuple(entry for part in where.split(os.pathsep) if part for entry in _expanded(part))
    missing = [entry for entry in entries if not Path(entry).exists()]
    if missing:
        what = "a folder of a Kafka distribution, a class path, or a release number such as 4.1.1"
        raise KafkaError(f"--kafka {where}: {missing[0]} does not exist; name {what}")
    return _checked(where, entries)


def _expanded(part: str) -> list[str]:
    """A class path entry, with a wildcard or a distribution's folder replaced by its jars."""
    path = Path(part)
    if path.name == "*":
        return sorted(str(jar) for jar in path.parent.glob("*.jar"))
    if (path / "libs").is_dir():
        return sorted(str(jar) for jar in (path / "libs").glob("*.jar"))
    return [part]


def _checked(where: str, class_path: tuple[str, ...]) -> Distribution:
    names = [Path(entry).name for entry in class_path]
    core = [name for name in names if re.fullmatch(r"kafka_2\.1[23]-[\w.\-]+\.jar", name) and "sources" not in name]
    if not core:
        raise KafkaError(
            f"--kafka {where}: there is no kafka_2.13-VERSION.jar; name a folder whose libs/ has Kafka's jars"
        )
    release = re.sub(r"^kafka_2\.1[23]-|\.jar$", "", core[0])
    numbers = tuple(map(int, re.findall(r"\d+", release)[:2]))
    if numbers < OLDEST_KAFKA:
        raise KafkaError(f"--kafka {where}: Kafka {release} is too old; 3.5 is the oldest that the harness can drive")
    return Distribution(where, release, tuple(os.path.abspath(entry) for entry in class_path))


def test_class_path(release: str) -> tuple[str, ...]:
    """The class path of a release with its test classes, JUnit and what else Kafka's own tests need.

    Raises:
        KafkaError: Maven is missing, or cannot resolve it.
    """
    return _resolved(release, TESTS, "-tests")


def _dependency(coordinates: str) -> str:
    names = ("groupId", "artifactId", "version", "classifier")
    tags = (f"<{name}>{value}</{name}>" for name, value in zip(names, coordinates.split(":"), strict=False))
    return f"<dependency>{''.join(tags)}</dependency>"


def _resolved(release: str, wanted: tuple[str, ...] = (CORE,), kind: str = "") -> tuple[str, ...]:
    """The class path of a release, from the cache or by Maven."""
    kept = cache_folder() / f"kafka-{release}{kind}.classpath"
    if kept.exists():
        entries = tuple(kept.read_text().strip().split(os.pathsep))
        if all(Path(entry).exists() for entry in entries):
            return entries
    mvn = shutil.which("mvn")
    if mvn is None:
        raise KafkaError(
            f"--kafka {release}: Maven (mvn) is needed to fetch a release and is not on the PATH; or name a folder of "
            "Kafka"
        )
    kept.parent.mkdir(parents=True, exist_ok=True)
    dependencies = "\n".join(_dependency(each.format(release=release)) for each in wanted)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pom.xml").write_text(POM.format(dependencies=dependencies))
        command = [
            mvn,
            "-q",
            "-B",
            "dependency:build-classpath",
            "-Dmdep.outputFile=classpath",
            "-Dmdep.includeScope=runtime",
        ]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=RESOLVE_SECONDS,
                env={"MAVEN_OPTS": MAVEN_OPTS, **os.environ},
            )
        except subprocess.TimeoutExpired:
            raise KafkaError(f"--kafka {release}: Maven did not end within {RESOLVE_SECONDS} s") from None
        found = Path(folder, "classpath")
        if done.returncode or not found.exists():
            said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)  # Maven colours what it says
            lines = [line for line in said.splitlines() if "ERROR" in line]
            raise KafkaError(
                f"--kafka {release}: Maven cannot resolve org.apache.kafka:kafka_2.13:{release}: "
                f"{(lines or ['no reason'])[0]}"
            )
        written = kept.with_suffix(f".{os.getpid()}")
        written.write_text(found.read_text())
        written.replace(kept)  # another process reads all of it or none
    return tuple(kept.read_text().strip().split(os.pathsep))


def java() -> str:
    """The Java launcher, of `JAVA_HOME` or of the PATH.

    Raises:
        KafkaError: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        raise KafkaError(
            f"Java is needed and not on the PATH: install a JDK of version {OLDEST_JAVA} or newer, or set JAVA_HOME"
        )
    shown = subprocess.run([found, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(\d+)', shown)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise KafkaError(
            f"{found} is {shown.splitlines()[0] if shown else 'no Java'}: version {OLDEST_JAVA} or newer is needed"
        )
    return found


def compiled_harness(distribution: Distribution) -> Path:
    """The folder with the harness's classes: compiled by the JDK's compiler once per sources and kept.

    Raises:
        KafkaError: there is no compiler, or Kafka lacks what the harness is compiled against.
    """
    return compiled(distribution, sorted(HARNESS.glob("*.java")), distribution.class_path, "")


def compiled_zookeeper_harness(distribution: Distribution) -> Path:
    """The same of the classes that drive the controller with ZooKeeper. They extend Kafka's, so they are compiled for
    each class path.
    """
    class_path = (str(compiled_harness(distribution)), *distribution.class_path)
    return compiled(distribution, sorted((HARNESS / "zookeeper").glob("*.java")), class_path, repr(class_path))


def compiled(distribution: Distribution, sources: list[Path], class_path: tuple[str, ...], compiled_for: str) -> Path:
    """The folder with the classes of some sources, compiled once per sources and `compiled_for`.

    Raises:
        KafkaError: there is no compiler, or Kafka lacks what they are compiled against.
    """
    texts = b"".join(source.read_bytes() for source in sources)
    kept = cache_folder() / f"harness-{hashlib.sha256(texts + compiled_for.encode()).hexdigest()[:16]}"
    if kept.exists():
        return kept
    launcher = java()
    javac = shutil.which("javac", path=str(Path(launcher).resolve().parent)) or shutil.which("javac")
    if javac is None:
        raise KafkaError("the Java compiler (javac) is needed and missing: install a JDK, not only a runtime")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        made = Path(folder, "classes")
        command = [javac, "-nowarn", "-d", str(made), "-cp", os.pathsep.join(class_path), *map(str, sources)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error:" in line]
            raise KafkaError(
                f"the harness cannot be compiled against Kafka {distribution.release}: {(lines or [done.stderr])[0]}"
            )
        if not kept.exists():
            made.rename(kept)
    return kept
