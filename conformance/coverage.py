"""Which lines and branches of Kafka's classes a run has executed: JaCoCo's agent in the harness's process, and then
JaCoCo's report.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

import attrs

from highwater.conformance.distribution import Distribution, KafkaError, java, resolved
from highwater.conformance.jvm import ALIKE, environment
from highwater.conformance.process import OPTIONS, Harness

VERSION = "0.8.13"
JACOCO = (f"org.jacoco:org.jacoco.agent:{VERSION}:runtime", f"org.jacoco:org.jacoco.cli:{VERSION}")
AGENT = f"org.jacoco.agent-{VERSION}-runtime.jar"
CLASSES = (
    "kafka.cluster.Partition",
    "kafka.cluster.Replica",
    "org.apache.kafka.server.replica.Replica",
    "kafka.cluster.ReplicaState",
    "org.apache.kafka.server.replica.ReplicaState",
    "kafka.server.AbstractFetcherThread",
    "kafka.server.ReplicaFetcherThread",
    "kafka.server.AbstractFetcherManager",
    "kafka.server.DelayedProduce",
    "org.apache.kafka.server.purgatory.DelayedProduce",
    "kafka.server.DelayedFetch",
    "kafka.server.ReplicaManager",
    "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache",
    "org.apache.kafka.controller.PartitionChangeBuilder",
    "org.apache.kafka.controller.PartitionReassignmentReplicas",
    "org.apache.kafka.controller.ReplicationControlManager",
    "org.apache.kafka.controller.ClusterControlManager",
    "org.apache.kafka.controller.BrokersToIsrs",
)
"""What is measured, by the names of all releases, each with the classes inside it."""
EXECUTED = "executed.exec"


@attrs.frozen
class Share:
    """How many lines or branches were executed, and how many there are."""

    executed: int = 0
    of: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.executed + other.executed, self.of + other.of)


@attrs.frozen
class Code:
    """A method, or a class.

    Attributes:
        name: without the package. Overloads count as one method. What a closure does is its method's.
        lines, branches: a line that makes a closure and is also inside it counts twice for its method, once for its
            class.
        missed: the lines of the class that were never executed; none for methods.
    """

    name: str
    lines: Share
    branches: Share
    missed: tuple[int, ...] = ()


@attrs.frozen
class Coverage:
    """What was executed of a release.

    Attributes:
        kafka: the release.
        classes: the measured ones that it has.
        methods: those of each class.
    """

    kafka: str
    classes: tuple[Code, ...]
    methods: Mapping[str, tuple[Code, ...]]


TRACE = "-Dhighwater.trace=true"
"""In every second run the messages of all levels are made, so that their lines count."""


class Measured(Harness):
    """The harness with JaCoCo's agent.

    Raises:
        KafkaError: JaCoCo is not there, and Maven cannot fetch it.
    """

    def __init__(self, distribution: Distribution) -> None:
        super().__init__(distribution)
        self._jacoco = resolved("--coverage", f"jacoco-{VERSION}.classpath", JACOCO, AGENT)
        agent = next(jar for jar in self._jacoco if os.path.basename(jar) == AGENT)
        includes = ":".join(pattern for name in CLASSES for pattern in (name, f"{name}$*"))
        self.options = (*OPTIONS, TRACE, f"-javaagent:{agent}=destfile={EXECUTED},dumponexit=false,includes={includes}")

    def coverage(self, pages: Path | None = None) -> Coverage:
        """What was executed since the process began.

        Args:
            pages: a folder for JaCoCo's pages, if they are wanted.

        Raises:
            KafkaError: the process has ended, or JaCoCo cannot report.
        """
        self.run([{"do": "dump"}])
        assert self._folder is not None
        with tempfile.TemporaryDirectory() as folder:
            classes, report = Path(folder, "classes"), Path(folder, "report.xml")
            for name, content in _originals(self.distribution):
                path = classes / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            program = [java(), *ALIKE, *OPTIONS, "-cp", os.pathsep.join(self._jacoco), "org.jacoco.cli.internal.Main"]
            what = ["report", str(Path(self._folder, EXECUTED)), "--classfiles", str(classes), "--xml", str(report)]
            what += ["--name", f"Kafka {self.distribution.release}"]
            what += [] if pages is None else ["--html", str(pages)]
            done = subprocess.run([*program, *what], capture_output=True, encoding="utf-8", env=environment())
            if done.returncode:
                raise KafkaError(f"--coverage: JaCoCo cannot report: {(done.stderr.splitlines() or ['no reason'])[0]}")
            return coverage_of(self.distribution.release, report.read_text(encoding="utf-8"))


def _originals(distribution: Distribution) -> Iterator[tuple[str, bytes]]:
    """The measured classes as the class path has them: of two of one name the first."""
    wanted = re.compile(rf"(?:{'|'.join(re.escape(name.replace('.', '/')) for name in CLASSES)})(?:\$[^/]*)?\.class")
    found = set[str]()
    for entry in distribution.class_path:
        for name, content in _files(Path(entry), wanted):
            if name not in found:
                found.add(name)
                yield name, content


def _files(entry: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """Some files of a folder or a jar, by their paths in it."""
    if entry.is_dir():
        inside = {path.relative_to(entry).as_posix(): path for path in entry.rglob("*.class")}
        yield from ((name, path.read_bytes()) for name, path in inside.items() if wanted.fullmatch(name))
    elif zipfile.is_zipfile(entry):
        with zipfile.ZipFile(entry) as jar:
            yield from ((name, jar.read(name)) for name in jar.namelist() if wanted.fullmatch(name))


def coverage_of(kafka: str, report: str) -> Coverage:
    """What JaCoCo's XML report says. Classes inside a class count as its own."""
    classes, methods = dict[str, Code](), dict[str, dict[str, Code]]()
    for package in ElementTree.fromstring(report).iter("package"):
        missed = {each.attrib["name"]: _missed(each) for each in package.iter("sourcefile")}
        for each in package.iter("class"):
            name, _, inside = each.attrib["name"].rpartition("/")[2].partition("$")
            added = Code(name, _share(each, "LINE"), _share(each, "BRANCH"), missed[each.attrib["sourcefilename"]])
            classes[name] = _sum(classes.get(name), added)
            mine = methods.setdefault(name, {})
            for method in each.iter("method"):
                called = _name(method.attrib["name"], inside)
                code = Code(called, _share(method, "LINE"), _share(method, "BRANCH"))
                mine[called] = _sum(mine.get(called), code)
    shown = {name: tuple(mine.values()) for name, mine in methods.items()}
    return Coverage(kafka, tuple(classes[name] for name in sorted(classes)), shown)


def _sum(one: Code | None, other: Code) -> Code:
    if one is None:
        return other
    return attrs.evolve(one, lines=one.lines + other.lines, branches=one.branches + other.branches)


def _name(method: str, inside: str) -> str:
    """The method that a closure is in, as Scala's and Java's compilers name closures; before it the inner class."""
    closure = re.match(r"(?:\$anonfun|lambda)\$([^$]+)", method)
    named = closure[1] if closure else method.rpartition("$$")[2].partition("$")[0] or method
    return f"{inside.strip('$')}.{named}" if inside.strip("$") else named


def _share(of: ElementTree.Element, kind: str) -> Share:
    for counter in of.findall("counter"):
        if counter.attrib["type"] == kind:
            executed = int(counter.attrib["covered"])
            return Share(executed, executed + int(counter.attrib["missed"]))
    return Share()


def _missed(source: ElementTree.Element) -> tuple[int, ...]:
    return tuple(int(line.attrib["nr"]) for line in source.iter("line") if line.attrib["ci"] == "0")
