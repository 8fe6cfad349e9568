"""The same KIP-320 search by Highwater, SPIN, Rumur, Stateright and, if its command is given, TLC: whole processes, in
turn.

    python bench/peers/run.py                            # 3 brokers, logs of 2, 2 records, epochs 0..2: 737,794 states
    python bench/peers/run.py --bounds 3 2 2 3 --runs 1  # 9,985,570 states
    python bench/peers/run.py --stateright 0.31.0 0.30.2 --build FOLDER
    python bench/peers/run.py --tlc 'java -cp tla2tools.jar tlc2.TLC -workers 2 -deadlock -config MC.cfg Kip320.tla'

Every checker checks WeakIsr and StrongIsr. A peer whose tool is missing is left out, with a word about it.

`highwater check` visits one state of all that differ only in which broker is which, and counts them all. Rumur can do
so, too; in its other rows, and in those of the other peers, every state is visited. So Highwater also runs through
every state, on one thread and on two.

Only searches are timed: the programs of SPIN, Rumur and Stateright are built before. TLC's own files must have the
bounds that are given here. One round that is not counted comes first; it fills Highwater's kernel cache, and its count
of states, which all must agree on, sizes SPIN's hash table. Peak memory is the operating system's count, which starts
at that of this script: some 15 MiB.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BOUNDS = ("brokers", "log_length_max", "records_max", "leader_epoch_max")
DISTINCT = {
    (2, 2, 2, 1): (957, 479),
    (2, 2, 2, 2): (5_973, 2_987),
    (3, 2, 2, 1): (39_619, 6_713),
    (3, 2, 2, 2): (737_794, 123_311),
    (3, 2, 2, 3): (9_985_570, 1_665_204),
}
"""By bounds: the distinct states, and how many of them differ in more than which broker is which."""

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # users have byte code


@dataclass(frozen=True)
class Run:
    """One process: how long it took, how much processor time it and its children used, and its largest resident set."""

    seconds: float
    processor_seconds: float
    memory: int


@dataclass
class Peer:
    """A checker: its command, made from the number of states that Highwater found, and how its output tells that
    number.
    """

    name: str
    command: Callable[[int], list[str]]
    distinct: str
    succeeded: str
    representatives: bool = False  # whether it counts one state of all that differ only in which broker is which
    runs: list[Run] = field(default_factory=list)

    def run(self, states: int) -> tuple[int, Run]:
        command = self.command(states)
        started = time.perf_counter()
        process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert process.stdout
        with process.stdout:
            output = process.stdout.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        counts = re.findall(self.distinct, output)
        if not counts or not re.search(self.succeeded, output):
            sys.exit(
                f"{shlex.join(command)} did not finish its search (exit code {process.returncode}):\n{output[-3000:]}"
            )
        run = Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
        return round(float(counts[-1].replace(",", ""))), run


def missing(*tools: str) -> bool:
    absent = [tool for tool in tools if not shutil.which(tool)]
    if absent:
        print(f"left out: {tools[0]} ({' and '.join(absent)} not found)")
    return bool(absent)


def build(name: str, steps: list[list[str]], folder: Path) -> bool:
    started = time.perf_counter()
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"left out: {name}; {shlex.join(step)} failed:\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
            return False
    print(f"built: {name} in {time.perf_counter() - started:.1f} s", flush=True)
    return True


def highwater(bounds: tuple[int, ...], folder: Path) -> list[Peer]:
    spec = folder / "kip_320.toml"
    sizes = ", ".join(f"{key} = {value}" for key, value in zip(BOUNDS, bounds, strict=True))
    protocol = 'model = "reference"\nprotocol = { variant = "kip-320" }'
    spec.write_text(f'{protocol}\nbounds = {{ {sizes} }}\ncheck = ["weak_isr", "strong_isr"]\n')
    check = [sys.executable, "-m", "highwater", "check", str(spec)]
    distinct, succeeded = r"([\d,]+) distinct", "holds within these bounds"
    every_state = [
        Peer(
            f"highwater, every state, {workers} thread{'s'[: workers - 1]}",
            lambda _, workers=workers: [*check, "--no-symmetry", "--workers", str(workers)],
            distinct,
            succeeded,
        )
        for workers in (1, 2)
    ]
    return [Peer("highwater", lambda _: check, distinct, succeeded), *every_state]


def spin(bounds: tuple[int, ...], folder: Path) -> list[Peer]:
    if missing("spin", "gcc"):
        return []
    folder = folder / "spin"
    folder.mkdir(exist_ok=True)
    sizes = [
        f"-D{key}={value}"
        for key, value in zip(("BROKERS", "LOG_LENGTH", "RECORDS", "LAST_EPOCH"), bounds, strict=True)
    ]
    translate = ["spin", "-a", *sizes, "-DCHECK", str(HERE / "spin" / "kip_320.pml")]
    compile_ = ["gcc", "-O3", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOBOUNDCHECK", "-DMEMLIM=16000", "-o", "pan", "pan.c"]
    if not build("spin", [translate, compile_], folder):
        return []

    def command(states: int) -> list[str]:
        return [str(folder / "pan"), "-E", "-m100000", f"-w{max(18, states.bit_length() + 1)}"]

    return [
        Peer(
            "spin, 1 core",
            command,
            r"([\d.e+]+) states, stored",
            r"^(?s:(?!.*max search depth too small).*errors: 0\b)",
        )
    ]


def rumur(bounds: tuple[int, ...], folder: Path) -> list[Peer]:
    if missing("rumur", "gcc"):
        return []
    model = (HERE / "rumur" / "kip_320.m").read_text()
    for key, value in zip(("BROKERS", "LOG_LENGTH", "RECORDS", "LAST_EPOCH"), bounds, strict=True):
        model = re.sub(rf"^  {key}: \d+;$", f"  {key}: {value};", model, count=1, flags=re.MULTILINE)
    peers = []
    for symmetry, threads in (("exhaustive", 1), ("exhaustive", 2), ("off", 1), ("off", 2)):
        place = folder / f"rumur-{symmetry}-{threads}"
        place.mkdir(exist_ok=True)
        (place / "kip_320.m").write_text(model)
        options = ["--symmetry-reduction", symmetry, "--threads", str(threads), "--deadlock-detection", "off"]
        translate = ["rumur", *options, "--output", "kip_320.c", "kip_320.m"]
        compile_ = [
            "gcc",
            "-std=c11",
            "-O3",
            "-w",
            "-march=native",
            "-o",
            "search",
            "kip_320.c",
            "-lpthread",
            "-latomic",
        ]
        searched = "up to symmetry" if symmetry == "exhaustive" else "every state"
        name = f"rumur, {searched}, {threads} thread{'s'[: threads - 1]}"
        if build(name, [translate, compile_], place):
            command = [str(place / "search")]
            done = r"No error found(?s:.*?)State Space Explored"
            peers.append(
                Peer(name, lambda _, it=command: it, r"(\d+) states, \d+ rules", done, searched != "every state")
            )
    return peers


def stateright(bounds: tuple[int, ...], folder: Path, version: str) -> list[Peer]:
    if missing("cargo"):
        return []
    package = folder / f"stateright-{version}"
    shutil.copytree(
        HERE / "stateright", package, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target", "Cargo.lock")
    )
    manifest = (package / "Cargo.toml").read_text()
    (package / "Cargo.toml").write_text(re.sub(r'stateright = ".*"', f'stateright = "={version}"', manifest))
    if not build(f"stateright {version}", [["cargo", "build", "--release", "--target-dir", "target"]], package):
        return []
    program = [str(package / "target" / "release" / "highwater-peer"), *map(str, bounds)]
    return [
        Peer(
            f"stateright {version}, {threads} thread{'s'[: threads - 1]}",
            lambda _, threads=threads: [*program, str(threads)],
            r"unique states: (\d+)",
            "violated: nothing",
        )
        for threads in (1, 2)
    ]


def tlc(command: str) -> list[Peer]:
    return [Peer("tlc", lambda _: shlex.split(command), r"([\d,]+) distinct states found", "No error has been found")]


def table(peers: list[Peer], expected: dict[bool, int]) -> None:
    ours = statistics.median(run.seconds for run in peers[0].runs)
    print(
        f"\n{'':37}{'median s':>10}{'min..max s':>16}{'processor s':>13}{'to ours':>9}{'distinct':>13}{'peak MiB':>10}"
    )
    for peer in peers:
        seconds = [run.seconds for run in peer.runs]
        median, spread = statistics.median(seconds), f"{min(seconds):.2f}..{max(seconds):.2f}"
        processor = statistics.median(run.processor_seconds for run in peer.runs)
        memory = max(run.memory for run in peer.runs) / 2**20
        print(
            f"{peer.name:37}{median:10.2f}{spread:>16}{processor:13.2f}{median / ours:9.2f}"
            f"{expected[peer.representatives]:13,}{memory:10.0f}"
        )


def compare(
    bounds: tuple[int, ...],
    runs: int,
    versions: list[str],
    tlc_command: str | None,
    left_out: list[str],
    folder: Path,
) -> None:
    peers = [*highwater(bounds, folder), *spin(bounds, folder), *rumur(bounds, folder)]
    for version in versions:
        peers += stateright(bounds, folder, version)
    if tlc_command:
        peers += tlc(tlc_command)
    peers = [peer for peer in peers if not peer.name.startswith(tuple(left_out))]
    expected = dict(zip((False, True), DISTINCT.get(bounds, ()), strict=False))
    for round_ in range(runs + 1):
        for peer in peers:
            distinct, run = peer.run(expected.get(False, 0))
            wanted = expected.setdefault(peer.representatives, distinct)
            if distinct != wanted:
                sys.exit(
                    f"{peer.name} found {distinct:,} distinct states, expected {wanted:,}: these are not the same "
                    "searches"
                )
            if round_:
                peer.runs.append(run)
                print(f"run {round_}: {peer.name} {run.seconds:.2f} s", flush=True)
    table(peers, expected)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--bounds", type=int, nargs=4, default=(3, 2, 2, 2), metavar=("BROKERS", "LOG", "RECORDS", "LAST_EPOCH")
    )
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each checker (default 5)")
    parser.add_argument(
        "--stateright", nargs="*", default=["0.31.0"], metavar="VERSION", help="versions of Stateright (default 0.31.0)"
    )
    parser.add_argument(
        "--leave-out", nargs="*", default=[], metavar="NAME", help="peers whose names begin so, such as rumur"
    )
    parser.add_argument("--tlc", metavar="COMMAND", help="TLC's command line, for the same bounds")
    parser.add_argument(
        "--build",
        type=Path,
        metavar="FOLDER",
        help="where to build, and find builds again (default: a temporary folder)",
    )
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.build or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        compare(
            tuple(arguments.bounds), arguments.runs, arguments.stateright, arguments.tlc, arguments.leave_out, folder
        )


if __name__ == "__main__":
    main()
