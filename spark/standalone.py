"""`python -m highwater.spark.standalone`: a standalone Spark cluster on this machine, for trying what a cluster does.

A master and two workers of a core each, in processes of their own: an executor has its own folders, and dies alone. All
listen on 127.0.0.1 only, on ports that are free. They end with Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import attrs

from highwater.spark.driver.session import SPARK, ClusterError, refuse_without_java

QUICK_TO_START = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}  # Java that moves little
SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_TO_END = 10


@attrs.define
class Standalone:
    """A master and its workers, each in a process group of its own with its executors.

    Attributes:
        folder: where logs, what executors keep, and what they print goes.
        environment: variables that workers and executors have, too.
        url: the master's.
        page: the address of its web page.
    """

    folder: Path
    environment: Mapping[str, str] = attrs.field(factory=dict)
    url: str = ""
    page: str = ""
    running: dict[str, subprocess.Popen[bytes]] = attrs.field(factory=dict)

    def start_master(self) -> None:
        """Start the master, and wait until it listens.

        Raises:
            ClusterError: it does not start.
        """
        self._start("master", "master.Master")
        self.url = self._logged("master", r"Starting Spark master at (spark://\S+)\n")
        self.page = self._logged("master", r"started at (http://\S+)\n")

    def start_worker(self, name: str, cores: int = 1, memory: str = "1g") -> None:
        """Start a worker, and wait until the master knows it.

        Raises:
            ClusterError: it does not start.
        """
        more = ["--cores", str(cores), "--memory", memory, "--work-dir", str(self.folder / f"{name}-work"), self.url]
        self._start(name, "worker.Worker", *more)
        self._logged(name, "(Successfully registered with master)")

    def end(self) -> None:
        """End all that runs, executors too: workers before their master."""
        for name in reversed(list(self.running)):
            process = self.running.pop(name)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS_TO_END)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start(self, name: str, kind: str, *arguments: str) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
        environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(self.folder / name)}
        command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1"]
        with self._log(name).open("w") as out:
            self.running[name] = subprocess.Popen(
                [*command, "--port", "0", "--webui-port", "0", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**environment, **QUICK_TO_START, **self.environment},
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _logged(self, name: str, pattern: str) -> str:
        """What a line of a process's log says, once it does."""
        while (found := re.search(pattern, self._log(name).read_text())) is None:
            if self.running[name].poll() is not None:
                last = self._log(name).read_text().rstrip().rpartition("\n")[2]
                raise ClusterError(f"the {name} of the cluster has ended: {last}")
            time.sleep(SECONDS_BETWEEN_LOOKS)
        return found[1]


def main() -> None:
    """Start a cluster, print its address, and end it after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m highwater.spark.standalone", description=__doc__)
    parser.add_argument("--workers", type=_count, default=2, help="how many; 2 by default")
    parser.add_argument("--cores", type=_count, default=1, help="of each worker; 1 by default")
    parser.add_argument(
        "--memory", type=_size, default="1g", help="of each worker; 1g by default, which executors ask for"
    )
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="highwater-cluster-") as folder:
        cluster = Standalone(Path(folder))
        try:
            refuse_without_java()
            cluster.start_master()
            for number in range(1, asked.workers + 1):
                cluster.start_worker(f"worker-{number}", asked.cores, asked.memory)
            print(f"--master {cluster.url}   ({cluster.page}; Ctrl-C ends it)", flush=True)
            signal.pause()
        except KeyboardInterrupt:
            pass
        except ClusterError as error:
            parser.exit(2, f"highwater: {error}\n")
        finally:
            for each in (signal.SIGINT, signal.SIGTERM):  # a second one would leave processes behind
                signal.signal(each, signal.SIG_IGN)
            cluster.end()


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text} is no whole number above 0")
    return int(text)


def _size(text: str) -> str:
    if not re.fullmatch(r"[1-9]\d*[mg]", text, re.IGNORECASE):
        raise argparse.ArgumentTypeError(f"{text} is no size, such as 512m or 1g")
    return text


if __name__ == "__main__":
    main()
