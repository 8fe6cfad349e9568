"""Where Kafka's classes come from.

WHERE is a folder of a Kafka distribution (with `libs/`), a class path, or a release number that Maven resolves from
`org.apache.kafka:kafka_2.13`. Which jars that are is kept in the cache folder, so that Maven is asked once per release,
and again if a jar has changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from highwater.conformance.jvm import ALIKE, environment
from highwater.conformance.maven import MavenError, class_paths
from highwater.explorer import kept_files

MOST_BYTES = 1 << 26  # of what is kept
OLDEST_JAVA = 17
OLDEST_KAFKA = (3, 5)
NEWEST_KAFKA = "4.4.0"  # of the releases that Highwater's Java programs have run on
CORE = "org.apache.kafka:kafka_2.13:{release}"
JUNIT = (
    "org.junit.jupiter:junit-jupiter:5.13.1",
    "org.junit.platform:junit-platform-console:1.13.1",
    "org.mockito:mockito-core:5.14.2",
)
TESTS = (
    CORE,
    "org.apache.kafka:kafka_2.13:{release}:test",
    "org.apache.kafka:kafka-clients:{release}:test",
    "org.apache.kafka:kafka-metadata:{release}:test",
    "org.apache.kafka:kafka-raft:{release}:test",
    "org.apache.kafka:kafka-server-common:{release}:test",
    *JUNIT,
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


def cache_folder() -> Iterator[Path]:
    """Where jars of Highwater's own programs and lists of Kafka's jars are kept, if anywhere: `java` in
    `HIGHWATER_CACHE`, or else in ~/.cache/highwater.
    """
    named = os.environ.get("HIGHWATER_CACHE", "")
    yield from ([Path(named) / "java"] if os.path.isabs(named) else (each / "java" for each in kept_files.own_folder()))


def keep(name: str, body: bytes) -> None:
    """Keep a file if that is possible, and forget what was kept longest ago."""
    for folder in cache_folder():
        with suppress(OSError):
            kept_files.make_folder(folder, folder.name, 1)
            kept_files.write(folder, name, body)
            kept_files.forget_files(folder, MOST_BYTES)


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


def find_all(places: Sequence[str]) -> list[Distribution]:
    """Kafka's classes at several places. Maven runs once for all releases of which the jars are not known yet.

    Raises:
        KafkaError: there are none at one of them.
    """
    known = kept_releases()
    releases = [each for each in places if re.fullmatch(r"\d+\.\d+\.\d+", each) and each not in known]
    asked = {each: [CORE.format(release=each)] for each in releases}
    if len(asked) > 1:
        with suppress(KafkaError):  # `find` says what is wrong, and with which release
            found = _by_maven("", list(asked.values()), "")
            for (release, artifacts), jars in zip(asked.items(), found, strict=True):
                _keep_jars("", _name_of(release), artifacts, jars, _core(release))
    return [find(each) for each in places]


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
    if numbers_of(release) < OLDEST_KAFKA:
        raise KafkaError(f"--kafka {where}: Kafka {release} is too old; 3.5 is the oldest that the harness can drive")
    return Distribution(where, release, tuple(os.path.abspath(entry) for entry in class_path))


def advice(release: str) -> str:
    """What to do with a release that lacks what Highwater's Java programs call."""
    if numbers_of(release) <= numbers_of(NEWEST_KAFKA):
        return ""
    listed = f"python -m highwater.conformance.changed {NEWEST_KAFKA} {release}"
    return f"; it is newer than {NEWEST_KAFKA}, which works: name that, or see what has changed with `{listed}`"


def numbers_of(release: str) -> tuple[int, ...]:
    """A version's numbers, to be compared."""
    return tuple(map(int, re.findall(r"\d+", release)))


def test_class_path(release: str) -> tuple[str, ...]:
    """The class path of a release with its test classes, JUnit and what else Kafka's own tests need.

    Raises:
        KafkaError: Maven is missing, or cannot resolve it.
    """
    return _resolved(release, TESTS, "-tests")


def junit_class_path() -> tuple[str, ...]:
    """JUnit, what runs its tests, and Mockito.

    Raises:
        KafkaError: Maven is missing, or cannot resolve them.
    """
    needed = "-".join(JUNIT[0].split(":")[1:])
    return resolved("--junit-test", "junit.classpath", JUNIT, f"{needed}.jar")


def _resolved(release: str, wanted: tuple[str, ...] = (CORE,), kind: str = "") -> tuple[str, ...]:
    """The class path of a release, from the cache or by Maven."""
    asked = [each.format(release=release) for each in wanted]
    return resolved(f"--kafka {release}", _name_of(release, kind), asked, _core(release), "; or name a folder of Kafka")


def _name_of(release: str, kind: str = "") -> str:
    """The file of the cache that lists a release's jars."""
    return f"kafka-{release}{kind}.classpath"


def _core(release: str) -> str:
    """The jar that a release has in any case."""
    return f"kafka_2.13-{release}.jar"


def resolved(option: str, name: str, asked: Sequence[str], needed: str, instead: str = "") -> tuple[str, ...]:
    """Artifacts with what they need, from the cache or by Maven.

    Args:
        option: what the user has asked for, which begins the message of an error.
        name: the file of the cache that lists the jars.
        asked: group:artifact:version, and a classifier if there is one.
        needed: the jar that must be among them.
        instead: what else the user may do where Maven is missing.

    Raises:
        KafkaError: Maven is missing, or cannot resolve them.
    """
    why = instead
    for folder in cache_folder():
        try:
            return _kept(folder, name, list(asked))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            why = f"{instead}; {folder / name} is kept, and is not used: {error}"
    (entries,) = _by_maven(option, [asked], why)
    _keep_jars(option, name, asked, entries, needed)
    return entries


def _keep_jars(option: str, name: str, asked: Sequence[str], entries: Sequence[str], needed: str) -> None:
    """Keep what Maven has listed.

    Raises:
        KafkaError: what is needed is not among it, or others could change it.
    """
    if needed not in map(os.path.basename, entries):
        raise KafkaError(f"{option}: among the jars that Maven names there is no {needed}")
    try:
        keep(name, json.dumps({"asked": asked, "jars": [_stamp(entry) for entry in entries]}).encode())
    except OSError as error:
        raise KafkaError(
            f"{option}: {error}; give Maven's files to yourself alone (chown, chmod go-w), or name the jars "
            "as a class path"
        ) from None


def kept_releases() -> list[str]:
    """The releases that were resolved before, and whose jars are as they were."""
    found = []
    for folder in cache_folder():
        for path in sorted(folder.glob("kafka-*.classpath")):
            if numbers := re.fullmatch(r"kafka-(\d+\.\d+\.\d+)\.classpath", path.name):
                with suppress(OSError, ValueError):
                    _kept(folder, path.name, [CORE.format(release=numbers[1])])
                    found.append(numbers[1])
    return found


def _kept(folder: Path, name: str, asked: list[str]) -> tuple[str, ...]:
    """The class path that is kept by a name.

    Raises:
        OSError: there is none, or somebody else can change it or one of its jars.
        ValueError: it is damaged, is of something else, or a jar is not as it was.
    """
    kept = json.loads(kept_files.read(folder, name))
    if kept["asked"] != asked:
        raise ValueError(f"it is of {', '.join(kept['asked'])}")
    for entry, *stamp in kept["jars"]:
        if _stamp(entry) != [entry, *stamp]:
            raise ValueError(f"{entry} has changed since")
    return tuple(entry for entry, *_ in kept["jars"])


def _stamp(jar: str) -> list[Any]:
    """What changes when a jar does.

    Raises:
        OSError: it is missing, or others may change it.
    """
    try:
        kept_files.refuse_foreign(Path(jar))
    except PermissionError as error:
        raise PermissionError(f"{jar}: {error}") from None
    found = os.stat(jar)
    return [jar, found.st_size, found.st_mtime_ns]


def _by_maven(option: str, asked: Sequence[Sequence[str]], why: str) -> list[tuple[str, ...]]:
    if (mvn := shutil.which("mvn")) is None:
        raise KafkaError(f"{option}: Maven (mvn) is needed to fetch {asked[0][0]} and is not on the PATH{why}")
    try:
        return class_paths(mvn, asked)
    except MavenError as error:
        raise KafkaError(f"{option}: {error}") from None


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
    _refuse_old(found, os.stat(found).st_mtime_ns)
    return found


@cache
def _refuse_old(found: str, _modified: int) -> None:
    """Refuse a launcher of an old Java, or one that does not start. One that was not refused is not asked again."""
    try:
        command = [found, *ALIKE, "-version"]
        shown = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment()).stderr
    except OSError as error:
        shown = str(error)
    version = re.search(r'version "(\d+)', shown)
    if version is None or int(version[1]) < OLDEST_JAVA:
        # what it picked up, it says first: JDK_JAVA_OPTIONS and the like
        said = (line for line in shown.splitlines() if line and "Picked up" not in line)
        raise KafkaError(f"{found} says: {next(said, 'nothing')}; Java {OLDEST_JAVA} or newer is needed")
