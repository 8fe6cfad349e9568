"""Files that a run of all commands leaves in the cache, and that none is used once others could have put it there.

Java, its compiler and Maven are small programs here that answer as these do, as far as anything is kept of it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from highwater.explorer import kept_files
from highwater.explorer.kernels.making import code_cache
from tests.cluster.conftest import FLAW

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "conformance" / "recorded" / "snapshot"
# As where Highwater is installed: machine code is in the cache, and not beside the sources.
PROGRAM = """
import sys
from pathlib import Path
from highwater.explorer.kernels.making import code_cache
code_cache.BESIDE_SOURCES = Path("/nowhere/site-packages")
from highwater.__main__ import main
sys.argv[0] = "highwater"
main()
"""
JAVA = """#!/bin/sh
case "$*" in *-version*) echo 'openjdk version "17.0.1"' >&2; exit 0;; esac
while [ "$1" != -cp ]; do shift; done
for entry in $(echo "$2" | tr : ' '); do case $entry in */program*.jar) sha256sum <"$entry" >>"$EXECUTED";; esac; done
exit 1
"""
JAVAC = """#!/bin/sh
while [ "$1" != -d ]; do shift; done
folder=$2
mkdir -p "$folder"
for source; do case $source in *.java) basename "$source" >>"$folder/Program.class";; esac; done
"""
MAVEN = """#!/bin/sh
printf %s "$JAR" >classpath
"""
SPEC = """
model = "reference"
protocol = { variant = "VARIANT" }
bounds = { brokers = 2, log_length_max = 2, records_max = 2, leader_epoch_max = 2 }
check = ["strong_isr"]
"""
CONFORMING = """
model = "partition"
preset = "kafka-4.1"
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1, fetch_steps = 1 }
check = ["candidates_are_complete"]
"""
KINDS = {
    "kernels": "highwater.explorer.kernels.making.code_cache",
    "trees": "highwater.explorer.search.keeping.tree_files",
    "sources": "highwater.explorer.sources",
    "java": "highwater.conformance.distribution",
    "answers": "highwater.asking.kept",
}
"""How the folders of the cache are called, and who keeps files there."""


class User:
    """A user's folder, and what the user runs there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache" / "highwater"
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("HIGHWATER_CACHE", "JAVA_HOME")},
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "EXECUTED": str(folder / "executed"),
            "JAR": str(folder / "kafka_2.13-4.1.1.jar"),
        }

    def prepare(self) -> None:
        (self.folder / "bin").mkdir(parents=True)
        for name, text in (("java", JAVA), ("javac", JAVAC), ("mvn", MAVEN)):
            (self.folder / "bin" / name).write_text(text)
            (self.folder / "bin" / name).chmod(0o755)
        with zipfile.ZipFile(self.environment["JAR"], "w") as jar:
            jar.writestr("kafka", "")
        for name, text in (
            ("holds", SPEC.replace("VARIANT", "kip-320")), ("violated", SPEC.replace("VARIANT", "kip-101")),
            ("conforming", CONFORMING),
        ):  # fmt: skip
            (self.folder / f"{name}.toml").write_text(text)
        self.run("check", FLAW, "--json", "flaw.json")

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600, check=False
        )

    def runs(self) -> list[str]:
        """Run every command that does more than show; gives what they say, without seconds and sizes."""
        said = [
            self.run("check", "holds.toml", "violated.toml", "--jobs", "2"),
            self.run("check", "holds.toml", "--coverage"),
            self.run("check", "violated.toml", "--checkpoint", "checkpoint", "--keep-going"),
            self.run("mutate", "holds.toml"),
            self.run("repair", "violated.toml"),
            self.run("simulate", "holds.toml", "--walks", "5", "--seed", "1"),
            self.run("graph", "conforming.toml", "--dot", "graph.dot"),
            self.run("ask", "shutdown-gives-up", "--replication-factor", "2"),
            self.run("conform", "conforming.toml", "--kafka", "4.1.1"),
            self.run("explain", LOGS, "--kafka", "4.1.1"),
            self.run("reproduce", "flaw.json", "--kafka", "4.1.1"),
        ]
        self.explore()
        shutil.rmtree(self.folder / "checkpoint", ignore_errors=True)
        return [f"{ran.args[3]} {ran.returncode}" for ran in said]

    def explore(self) -> None:
        command = [sys.executable, "-c", PROGRAM, "explore", "holds.toml"]
        served = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert served.stdout is not None
        served.stdout.readline()
        served.send_signal(signal.SIGINT)
        served.communicate(timeout=600)

    def kept(self) -> list[Path]:
        """What was written there, but for empty locks: who is ended while it compiles leaves one."""
        return sorted(path for path in self.cache.rglob("*") if not path.is_dir() and path.suffix != ".lock")

    def executed(self) -> set[str]:
        """The hashes of the programs that Java was given."""
        return {line.split()[0] for line in (self.folder / "executed").read_text().splitlines()}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[User, list[str]]:
    """A user who has run everything once."""
    user = User(tmp_path_factory.mktemp("user"))
    code = code_cache.BESIDE_SOURCES / code_cache._made_of()
    if code.is_dir():  # compiled by other tests, and kept by the same name there
        shutil.copytree(code, user.cache / code.name)
    user.prepare()
    return user, user.runs()


def foreign(path: Path) -> None:
    if os.geteuid():
        path.chmod(0o666)
    else:
        os.chown(path, 4242, 4242)


def linked(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name(f".{path.name}")))


def as_another(path: Path) -> None:
    """Another of this user's files of the same kind, if there is one, or else what anybody can write there."""
    others = sorted(each for each in path.parent.iterdir() if each != path and each.is_file())
    path.write_bytes(others[0].read_bytes() if others else path.read_bytes().partition(b"\n")[2])


HARMS: tuple[Callable[[Path], None], ...] = (foreign, lambda path: path.chmod(0o664), linked, as_another)


def places(user: User) -> Iterator[Path]:
    """A file of each place: of machine code what every trace needs and is compiled quickly, of the others all."""
    for path in user.kept():
        if not path.parent.name.startswith("kernels-") or path.name.startswith("graphs.reach.mark_predecessors-"):
            yield path


@pytest.mark.slow
def test_all_that_commands_keep_is_kept_by_one_door(first: tuple[User, list[str]]) -> None:
    user, said = first
    assert said == [
        "check 1", "check 0", "check 1", "mutate 1", "repair 0", "simulate 0", "graph 0", "ask 0", "conform 2",
        "explain 2", "reproduce 2",
    ]  # fmt: skip
    assert {path.relative_to(user.cache).parts[0].partition("-")[0] for path in user.kept()} == KINDS.keys()
    for path in user.kept():
        kept_files.read(path.parent, path.name)
    names = [path.name.partition("-")[0] for path in user.kept() if path.parent.name == "java"]
    assert names == ["kafka", "program", "program"], "a list of jars, the harness, and what drives a cluster"
    assert len(user.executed()) == 2


@pytest.mark.slow
def test_files_that_others_could_have_put_into_the_cache_are_made_anew(
    first: tuple[User, list[str]], tmp_path: Path
) -> None:
    """Java's programs get the same bytes as before, and what the commands ask for is a file of the user's own again."""
    known, said = first
    user = User(tmp_path / "other")
    shutil.copytree(known.folder, user.folder, copy_function=shutil.copy2)
    (user.folder / "executed").unlink()
    planted = {}
    for path, harm in zip(list(places(user)), itertools.cycle(HARMS), strict=False):
        harm(path)
        planted[path] = path.lstat().st_ctime_ns
        with pytest.raises((OSError, ValueError)):
            kept_files.read(path.parent, path.name)
    assert user.runs() == said
    assert user.executed() == known.executed()
    made_anew = [path for path, changed in planted.items() if path.lstat().st_ctime_ns != changed]
    for path in made_anew:
        kept_files.read(path.parent, path.name)
    assert {path.relative_to(user.cache).parts[0].partition("-")[0] for path in made_anew} == KINDS.keys()
    assert len(made_anew) > 2 * len(HARMS), "few were asked for"
