"""Java answers alike whatever language and encoding the user has."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from highwater import cluster, conformance
from highwater.cli.main import main
from highwater.cluster.cluster import Cluster
from highwater.cluster.settings import Settings
from highwater.conformance import changed, jvm, programs
from highwater.conformance.disk_reader import DiskReader
from highwater.conformance.distribution import Distribution, KafkaError, find, java
from highwater.conformance.process import Harness
from highwater.conformance.walking import Walker
from highwater.conformance.zookeeper_side import StateMachines
from tests.conformance.conftest import NEWEST, harness_of
from tests.conformance.test_explaining import RECORDED

PROGRAM = """import java.io.File;

class Program {
    public static void main(String[] arguments) {
        System.out.println("CLASSIC".toLowerCase() + String.format(" %02d ü ", 7) + new File(arguments[0]).exists());
    }
}
"""
VARIABLES = ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"]
OTHERS = [
    "-Duser.language=tr",
    "-Duser.language.format=fa",
    "-Duser.extensions=u-nu-arab",
    "-Duser.language=th -Duser.country=TH -Duser.variant=TH",
    "-Duser.region=TH_TH -Duser.language=th",
    "-Dfile.encoding=ISO-8859-1 -Dsun.stdout.encoding=US-ASCII -Dstdout.encoding=US-ASCII",
]
RECORDING = """#!/bin/sh
case "$*" in *-version*) echo 'openjdk version "17.0.1"' >&2;; esac
printf '%s\\n' "$0 $* $MAVEN_OPTS LC_ALL=$LC_ALL LANGUAGE=$LANGUAGE" >>"$RECORDED"
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Java program whose answer depends on language and encoding, and with a file."""
    if shutil.which("javac") is None:
        pytest.skip("needs a JDK: the Java compiler is not on the PATH")
    folder = tmp_path_factory.mktemp("größe")
    (folder / "Program.java").write_text(PROGRAM, encoding="utf-8")
    command = ["javac", *jvm.TOOLS_ALIKE, *programs.BRIEFLY, "-d", str(folder), str(folder / "Program.java")]
    subprocess.run(command, check=True, env=jvm.environment())
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("others", OTHERS)
def test_neither_the_users_options_nor_the_locale_change_an_answer(
    program: Path, variable: str, others: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, others)
    monkeypatch.setenv("LC_ALL", "C")
    command = [java(), *jvm.ALIKE, "-XX:TieredStopAtLevel=1", "-cp", str(program), "Program", str(program)]
    said = subprocess.run(command, capture_output=True, check=True, env=jvm.environment()).stdout
    assert said.decode() == "classic 07 ü true\n"


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_log_directories_are_read_whatever_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harness_of(NEWEST)
    logs, report = tmp_path / "größe", tmp_path / "found.json"
    shutil.copytree(RECORDED, logs)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-Duser.language=fa")
    ran = CliRunner().invoke(main, ["explain", str(logs), "--kafka", NEWEST, "--json", str(report)])
    assert ran.exit_code == 0, ran.output
    assert json.loads(report.read_text())["findings"] == []


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Java's programs and Maven are started with, a line each, where others stand in their places."""
    (tmp_path / "kafka_2.13-4.1.1.jar").touch()
    (tmp_path / "bin").mkdir()
    maven = f'printf %s "{tmp_path}/kafka_2.13-4.1.1.jar" >classpath'
    for name, then in (("java", "exit 1"), ("javac", ""), ("javap", ""), ("mvn", maven)):
        (tmp_path / "bin" / name).write_text(f"{RECORDING}{then}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    for name, value in (("HIGHWATER_CACHE", "cache"), ("RECORDED", "recorded")):
        monkeypatch.setenv(name, str(tmp_path / value))
    for name in ("LC_ALL", "LANGUAGE"):
        monkeypatch.setenv(name, "tr_TR.ISO-8859-9")
    return tmp_path / "recorded"


def serve(kind: type[Harness], kafka: Distribution) -> None:
    with pytest.raises(KafkaError, match="the Java process ended"), kind(kafka) as harness:
        harness.run([{}])


def format_a_cluster(kafka: Distribution) -> None:
    with pytest.raises(KafkaError, match="cannot format"), Cluster(kafka, Settings()):
        pass


@pytest.mark.parametrize(
    ("start", "tools"),
    [
        (partial(serve, Harness), {"java", "javac"}),
        (partial(serve, Walker), {"java", "javac"}),
        (partial(serve, DiskReader), {"java", "javac"}),
        (partial(serve, StateMachines), {"java", "javac"}),
        (format_a_cluster, {"java", "javac"}),
        (partial(changed.members_of, classes=["Partition"]), {"java", "javap"}),
    ],
)
def test_every_program_of_java_is_started_alike(
    recorded: Path, start: Callable[[Distribution], object], tools: set[str]
) -> None:
    start(find("4.1.1"))
    lines = [shlex.split(line) for line in recorded.read_text().splitlines()]
    assert {Path(line[0]).name for line in lines} == {*tools, "mvn"}
    assert tools == {"java", "javap"} or any({"java", "-cp"} <= {Path(line[0]).name, *line} for line in lines)
    for line in lines:
        alike = jvm.TOOLS_ALIKE if Path(line[0]).name in ("javac", "javap") else jvm.ALIKE
        assert {*alike, "LC_ALL=C.UTF-8", "LANGUAGE=C"} <= set(line)


@pytest.mark.parametrize("package", [conformance, cluster], ids=["conformance", "cluster"])
def test_every_process_that_is_not_python_has_that_environment(package: object) -> None:
    (folder,) = map(Path, package.__path__)  # type: ignore[attr-defined]
    calls = [
        each
        for path in folder.glob("*.py")
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(each, ast.Call) and ast.unparse(each.func) in ("subprocess.run", "subprocess.Popen")
    ]
    started = [each for each in calls if "sys.executable" not in ast.unparse(each)]
    assert len(started) > 1
    for each in started:
        assert any(key.arg == "env" and "environment()" in ast.unparse(key.value) for key in each.keywords)
