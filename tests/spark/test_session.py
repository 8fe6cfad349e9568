"""A missing requirement is one line, with the command that installs it."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import py4j.clientserver
import py4j.java_gateway
import pytest
from pyspark import java_gateway

from highwater.spark.driver import session
from highwater.spark.driver.session import ClusterError, reason_of, refuse_unless_reached, refuse_without_java


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a java that says this on the PATH, and no other."""

    def put(shown: str | None, code: int = 0) -> None:
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        if shown is not None:
            (tmp_path / "java").write_text(f"#!/bin/sh\necho '{shown}' >&2\nexit {code}\n")
            (tmp_path / "java").chmod(0o755)

    return put


@pytest.mark.parametrize(
    "version", ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023-09-19 LTS', 'openjdk version "25-ea"']
)
def test_java_17_and_newer_are_taken(java, version: str) -> None:
    java(version)
    refuse_without_java()


@pytest.mark.parametrize("version", ['java version "1.8.0_401"', 'openjdk version "11.0.2" 2019-01-15'])
def test_an_older_java_is_refused(java, version: str) -> None:
    java(version)
    with pytest.raises(
        ClusterError, match=r"needs Java 17 or newer, and .* is Java \d+; .*apt-get install openjdk-17-jre-headless"
    ):
        refuse_without_java()


@pytest.mark.parametrize(
    ("shown", "code", "said"),
    [
        (None, 0, "there is no java on the PATH"),
        ("cannot run", 1, "/java says: cannot run"),
        ("nonsense", 0, "/java says: nonsense"),
        ("NOTE: Picked up JDK_JAVA_OPTIONS: -XX:No\nUnrecognized VM option", 1, "/java says: Unrecognized VM option"),
    ],
)
def test_no_java_is_explained(java, shown: str | None, code: int, said: str) -> None:
    java(shown, code)
    with pytest.raises(ClusterError) as raised:
        refuse_without_java()
    assert said in str(raised.value)
    assert "apt-get install openjdk-17-jre-headless" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_java_home_without_java_is_named(java, monkeypatch: pytest.MonkeyPatch) -> None:
    java('openjdk version "17"')
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(ClusterError, match="JAVA_HOME is /nowhere"):
        refuse_without_java()


@pytest.fixture
def nobody() -> str:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def test_a_master_that_does_not_answer_is_refused_before_spark_starts(nobody: str) -> None:
    with pytest.raises(
        ClusterError,
        match=f"no master answers there .{nobody}: Connection refused; nonsense is not of the form host:port",
    ):
        refuse_unless_reached(f"spark://{nobody},nonsense")


def test_an_invalid_master_is_refused() -> None:
    with pytest.raises(
        ClusterError, match=r"nonsense is no Spark master; allowed are local\[N\], spark://host:port, yarn and k8s://"
    ):
        refuse_unless_reached("nonsense")


def test_one_master_of_several_is_enough(nobody: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        refuse_unless_reached(f"spark://{nobody},127.0.0.1:{master.getsockname()[1]}")
    refuse_unless_reached("yarn")


@pytest.mark.parametrize(
    ("given", "known"),
    [("local", "local[1,4]"), ("local[2]", "local[2,4]"), ("local[*]", "local[*,4]")]
    + [(each, each) for each in ("local[2,1]", "local-cluster[2,1,1024]", "spark://host:7077", "yarn")],
)
def test_on_one_machine_too_a_task_is_attempted_again(given: str, known: str) -> None:
    assert session.with_attempts(given) == known


@pytest.mark.parametrize("variable", session.OF_JAVA)
def test_a_collector_that_the_user_has_chosen_is_the_only_one(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in session.OF_JAVA:
        monkeypatch.delenv(each, raising=False)
    (own,) = session._collector().values()
    assert session.COLLECTOR in own and session.DEFAULTS["spark.driver.extraJavaOptions"] in own
    monkeypatch.setenv(variable, "-Xmx1g -XX:+UseSerialGC")
    assert session._collector() == {}


def test_a_long_error_is_cut_to_the_line_with_its_cause() -> None:
    text = """Job aborted
An exception was thrown from the Python worker:
Traceback (most recent call last):
  File x
ModuleNotFoundError: No module named 'highwater.spark'
"""
    assert reason_of(RuntimeError(text)) == "ModuleNotFoundError: No module named 'highwater.spark'"
    text += "\nDuring handling of the above exception, another exception occurred:\n\n" + text.partition("\n")[2]
    text = text.removesuffix("ModuleNotFoundError: No module named 'highwater.spark'\n")
    assert reason_of(RuntimeError(f"{text}package.Damaged: a file\nError: no")) == "package.Damaged: a file"
    assert reason_of(RuntimeError("first\nsecond")) == "first"
    assert reason_of(RuntimeError()) == "RuntimeError"
    aborted = (
        "Job aborted due to stage failure: Task 0 in stage 2.0 failed 1 times, most recent failure: "
        "Lost task 0.0 in stage 2.0 (TID 4) (localhost executor driver): java.io.IOException: no"
    )
    assert reason_of(RuntimeError(aborted)) == "java.io.IOException: no"


PROBE = """
from highwater.spark.driver.session import session

def where(rows):
    import sys
    return [sys.flags.safe_path for _ in rows]

with_spark = session("local[1]", **{"spark.driver.memory": "512m", "spark.ui.enabled": "false"})
print(with_spark.sparkContext.parallelize([1], 1).mapPartitions(where).collect())
with_spark.stop()
"""


@pytest.mark.slow
def test_workers_import_nothing_from_the_folder_they_run_in(tmp_path: Path) -> None:
    """A module of the standard library's name lies there."""
    (tmp_path / "socket.py").write_text(
        "open('executed', 'w')\nraise RuntimeError('this is not socket')\n", encoding="utf-8"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", PROBE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.stdout.strip() == "[True]", ran.stderr
    assert not (tmp_path / "executed").exists()


def test_an_interrupt_within_py4j_prints_no_traceback(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As py4j does, which calls no logger of its own there."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler()])
    monkeypatch.setattr(logging.getLogger(), "filters", [])
    within = compile("import logging; logging.exception('KeyboardInterrupt')", py4j.java_gateway.__file__, "exec")
    exec(within)
    assert "KeyboardInterrupt" in capfd.readouterr().err
    session.print_no_errors_that_are_raised()
    exec(within)
    py4j.clientserver.logger.error("while shutting down")
    assert capfd.readouterr().err == ""
    logging.getLogger().error("of somebody else")
    assert "of somebody else" in capfd.readouterr().err


def test_java_does_not_outlive_an_interrupt_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has not begun to watch its standard input then."""
    started = []

    def interrupted(conf: object, options: dict[str, object]) -> None:
        started.append(java_gateway.Popen(["sleep", "1000"], **options))
        raise KeyboardInterrupt

    before = java_gateway.Popen
    monkeypatch.setattr(session, "launch_gateway", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session._launch(None)
    assert started[0].poll() == -signal.SIGKILL
    assert java_gateway.Popen is before
