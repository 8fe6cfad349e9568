"""A Spark session for the search, and one line that says what is missing if there is none."""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import py4j
import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from highwater.explorer.memory import address_limit, container_limits, in_bytes, machine_memory

SPARK = Path(pyspark.__file__).parent  # a whole one, which pip installs
PY4J = Path(py4j.__file__).parent
OLDEST_JAVA = 17
MASTERS = ("local", "spark://", "yarn", "k8s://")
SECONDS_TO_ANSWER = 10
SECONDS_TO_START = 6  # on a machine that has nothing else to do
ATTEMPTS = 4  # of a task, as many as on a cluster

# The search relies on these, for its own session only: a task's number is its partition's, and blocks are large.
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32",
}
# Settings that only a new Spark application takes; spark-submit --conf and spark-defaults.conf override each.
# The driver's Java lives for minutes, so its best compiler and its concurrent collector would take more time than they
# save. Python workers keep the memory of blocks that they free (glibc's malloc): the kernel would clear its pages each
# time.
LOGGING = Path(__file__).with_name("log4j2.properties").as_uri()
DEFAULTS = {
    "spark.driver.memory": "2g",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING} -XX:TieredStopAtLevel=1",
    "spark.ui.showConsoleProgress": "false",
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}
COLLECTOR = "-XX:+UseParallelGC"
OF_JAVA = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
"""Variables by which a user gives options to every Java machine."""
# More of them where one Java machine is driver and executor: blocks of a megabyte do not leave its disk and memory.
IN_ONE_PROCESS = {"spark.shuffle.compress": "false", "spark.shuffle.checksum.enabled": "false"}
# Settings of every application, that of spark-submit too: Python workers import nothing from the folder in which they
# run, and Arrow takes memory from the system's allocator, as its own one begins with a GiB of address space. A task
# that sends writes one file: up to 200 partitions, Spark would have it open one for each of them, a millisecond a file.
ALWAYS = {
    "spark.executorEnv.PYTHONSAFEPATH": "1",
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.shuffle.sort.bypassMergeThreshold": "1",
}
WITHOUT_RDDS = "whose clients have no RDDs, by which the search sends states to the partition that owns them"
TRACEBACK = "Traceback (most recent call last):"
CHAFF = "WARNING: Using incubator modules"  # what Java says of options that Spark always gives it
SPARK_ERRORS = (PySparkException, Py4JError)  # what a query raises that is wrong, or meets files that are
SHORT_OF_MEMORY = "|".join(
    ("MemoryError", os.strerror(errno.ENOMEM), "load shared object", "exited unexpectedly", "[Mm]emory limits", "OOM",
     "exit code:? 137")
)  # fmt: skip
"""Reasons of Python, Spark and resource managers where memory is short."""


class ClusterError(Exception):
    """Spark, or something that it needs, is missing or has failed. The message says what to do."""


def session(
    master: str | None = None,
    name: str = "highwater",
    *,
    on_waiting: Callable[[str], None] = lambda what: None,
    meanwhile: Callable[[], None] = lambda: None,
    **more: str,
) -> SparkSession:
    """The running Spark session or a new one, with its own settings, so that other sessions keep theirs.

    Args:
        master: such as `local[2]` or `spark://host:7077`. If None, the one of spark-submit or spark-defaults.conf, or
            else `local[*]`.
        on_waiting: called with what is awaited before a new application starts.
        meanwhile: called while Java starts, if it does.
        more: settings for a new application.

    Raises:
        ClusterError: there is no Java, no Spark, or the master cannot be reached.
    """
    print_no_errors_that_are_raised()
    if remote := os.environ.get("SPARK_REMOTE"):
        raise ClusterError(f"SPARK_REMOTE is {remote}, a Spark Connect server, {WITHOUT_RDDS}: unset it")
    found = SparkSession.getActiveSession()
    if found is None:
        found = _start(master, name, more, on_waiting, meanwhile)
    elif master is not None and found.sparkContext.master not in (master, with_attempts(master)):
        raise ClusterError(
            f"a Spark session runs on {found.sparkContext.master} already; stop it, or leave --master {master} out"
        )
    own = found.newSession()
    for key, value in SETTINGS.items():
        own.conf.set(key, value)
    return own


def print_no_errors_that_are_raised() -> None:
    """Spark and py4j print what they raise, too: with all of Java's frames, or, at an interrupt, with a traceback."""
    for name in ("SQLQueryContextLogger", "py4j"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)  # which says some things by no logger of its own


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent != PY4J


def with_attempts(master: str) -> str:
    """The URL of a local master with which Spark runs a task again, after a Python worker was killed: on `local[2]` it
    attempts each task once only.
    """
    local = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return f"local[{local[1] or 1},{ATTEMPTS}]" if local else master


def _start(
    master: str | None,
    name: str,
    more: dict[str, str],
    on_waiting: Callable[[str], None],
    meanwhile: Callable[[], None],
) -> SparkSession:
    # spark-submit has started a Java machine already, and knows the master
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = ALWAYS | more
    if not submitted:
        refuse_without_java()
        master = master or os.environ.get("SPARK_MASTER") or "local[*]"
        refuse_unless_reached(master)
        master = with_attempts(master)
        defaults = DEFAULTS | _collector()
        # on the executors, too, highwater is in this environment
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if master.startswith("local"):  # works on machines that do not know their own name
            own_address = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
            defaults |= IN_ONE_PROCESS | own_address
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings = defaults | settings
    elif master is None:
        SparkContext._ensure_initialized()
        given = SparkConf().get("spark.master")
        master = given and with_attempts(given)
    on_waiting(
        f"Spark starts{' on ' + master if master else ''}: awaiting Java and a session, some {SECONDS_TO_START} s"
    )
    settings |= {"spark.app.name": name} | ({"spark.master": master} if master is not None else {})
    try:
        if submitted or SparkContext._gateway is not None:  # this process has had a Java machine before
            return _with_wheels(SparkSession.builder.config(map={**settings}).getOrCreate())
        conf = SparkConf().setAll(list(settings.items()))
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(meanwhile)
            SparkContext(conf=conf, gateway=_launch(conf))
        done.result()
        return SparkSession.builder.getOrCreate()
    except (PySparkException, PySparkRuntimeError) as error:
        raise ClusterError(f"Spark does not start: {reason_of(error)}") from error
    except Py4JError as error:
        reason = "no master answers there" if "stopped SparkContext" in str(error) else reason_of(error)
        raise ClusterError(f"Spark does not start on {master}: {reason}") from error


def _collector() -> dict[str, str]:
    """The collector of the driver's Java, unless the user has chosen one: Java does not start with two."""
    given = " ".join(os.environ.get(name, "") for name in OF_JAVA)
    options = "spark.driver.extraJavaOptions"
    return {} if re.search(r"-XX:\+Use\w+GC\b", given) else {options: f"{DEFAULTS[options]} {COLLECTOR}"}


def _with_wheels(found: SparkSession) -> SparkSession:
    """The session, whose executors import from wheels, too, that `--py-files` names: Spark sends them, and puts only
    archives of other names on Python's path there.
    """
    context = found.sparkContext
    for file in context.getConf().get("spark.submit.pyFiles", "").split(","):
        if file.endswith(".whl"):
            cast("list[str]", context._python_includes).append(Path(file).name)
    return found


def _launch(conf: SparkConf) -> Any:
    """Launch a Java process whose errors go to this process's standard error, without lines that do not help."""
    read, write = os.pipe()
    threading.Thread(target=_pass_on, args=(read,), daemon=True).start()
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(*arguments, **options))
        return started[-1]

    gateway: Any = java_gateway
    gateway.Popen, popen = start, gateway.Popen
    try:
        return launch_gateway(conf, {"stderr": write})  # type: ignore[no-untyped-call]  # of pyspark
    except BaseException:  # Java has not begun to watch whether this process lives, and would wait for it forever
        for process in started:
            process.kill()
            process.wait()
        raise
    finally:
        gateway.Popen = popen
        os.close(write)


def _pass_on(source: int) -> None:
    with open(source, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not line.startswith(CHAFF):
                sys.stderr.write(line)  # where whoever shows progress has put it


def refuse_without_java() -> None:
    """Refuse to start without a Java that Spark runs on.

    Raises:
        ClusterError: there is no Java, or it is too old. The message names the command that installs one.
    """
    install = f"install it with: apt-get install openjdk-{OLDEST_JAVA}-jre-headless (or set JAVA_HOME)"
    needed = f"Spark needs Java {OLDEST_JAVA} or newer, and"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home}, which has no working bin/java" if home else "there is no java on the PATH"
        raise ClusterError(f"{needed} {where}; {install}")
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    except OSError as error:
        shown = str(error)
    version = re.search(r'version "(\d+)', shown)
    if version is None:
        said = (line for line in shown.splitlines() if line and "Picked up" not in line)  # the variables of OF_JAVA
        raise ClusterError(f"{needed} {java} says: {next(said, 'nothing')}; {install}")
    if int(version[1]) < OLDEST_JAVA:
        raise ClusterError(f"{needed} {java} is Java {version[1]}; {install}")


def refuse_unless_master(master: str) -> None:
    """Refuse a URL of no master.

    Raises:
        ClusterError: it is not one. The message names those that there are.
    """
    allowed = "allowed are local[N], spark://host:port, yarn and k8s://host:port"
    if master.startswith("sc://"):
        raise ClusterError(f"{master} is a Spark Connect server, {WITHOUT_RDDS}: {allowed}")
    if not master.startswith(MASTERS):
        raise ClusterError(f"{master} is no Spark master; {allowed}")


def refuse_unless_reached(master: str) -> None:
    """Refuse a URL of no master, and a standalone master that does not answer. Spark itself would try for a minute.

    Raises:
        ClusterError: the URL is not one of a master, or no master answers there.
    """
    refuse_unless_master(master)
    if not master.startswith("spark://"):
        return
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_TO_ANSWER).close()
            return
        except ValueError:
            reasons.append(f"{address} is not of the form host:port")
        except OSError as error:
            reasons.append(f"{address}: {error.strerror or error}")
    raise ClusterError(f"Spark does not start on {master}: no master answers there ({'; '.join(reasons)})")


def reason_of(error: Exception) -> str:
    """The line of a long error that gives the reason: the first, or what was raised last in Python on an executor."""
    java: Any = getattr(error, "java_exception", None)
    lines = [line for line in (str(java.getMessage()) if java is not None else str(error)).splitlines() if line.strip()]
    traced = max((at for at, line in enumerate(lines, 1) if line.endswith(TRACEBACK)), default=len(lines))
    raised = [line for line in lines[traced:] if re.match(r"[\w.]+(: |$)", line)]
    reason = [*raised, *lines, type(error).__name__][0].strip()
    reason = re.sub(r"^Job aborted due to stage failure: .*?\(TID \d+\) \(.*?\): ", "", reason)
    return re.sub(r"^\S+ (Python worker exited unexpectedly).*", r"\1", reason)  # and Spark's advice for a traceback


def reason_with_setting(error: Exception, settings: SparkConf) -> str:
    """The reason, with the folder that is full or the setting that is too small, if one is. Java does not name them."""
    reason = reason_of(error)
    if os.strerror(errno.ENOSPC) in reason:
        local = settings.get("spark.local.dir", tempfile.gettempdir())
        return f"{reason}; tasks keep what they shuffle and visit in spark.local.dir, {local}"
    return f"{reason}; {_more_memory(settings)}" if re.search(SHORT_OF_MEMORY, reason) else reason


def _more_memory(settings: SparkConf) -> str:
    """What to raise where a Python worker has too little memory."""
    too_small = "a Python worker had too little memory, or was killed: raise "
    if given := settings.get("spark.executor.pyspark.memory"):
        return f"{too_small}spark.executor.pyspark.memory, {given}"
    if cast("str", settings.get("spark.master")).startswith("local"):
        limits = [f"ulimit -v, {in_bytes(address_limit() or 0)}"] if address_limit() else []
        limits += [f"this container's limit, {in_bytes(least)}" for least in sorted(container_limits())[:1]]
        return too_small + " or ".join(limits or [f"this machine's memory, {in_bytes(machine_memory())}"])
    return f"{too_small}spark.executor.memoryOverhead, {settings.get('spark.executor.memoryOverhead', 'not given')}"
