"""How seconds and bytes grow with the number of states, as one drawing: KIP-320, `partition` and `kraft` over four
decades, with one thread and two, on Spark with one executor, two and four, and beside the checkers of `peers/`.

    python bench/growth.py growth.svg
    python bench/growth.py growth.svg --executors 1 2 4 --tlc 'java -cp tla2tools.jar tlc2.TLC ...'

Each point is a whole process, and all that it starts: its processor time, and what memory it has at most. On one
thread and on two Highwater runs twice, and the second time counts, as the first one keeps machine code and trees for
it, and for Spark. Every state is stored. Of `partition` and `kraft` the first states are searched, breadth-first. On
Spark a standalone cluster on this machine has executors of one core each; the time and the memory of its workers count,
too. A flat line is what one wants: both axes have logarithmic scales, and what is drawn is for each state.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent / "peers"))

import attrs
import jinja2
import run as peers

KIP_320 = [(3, 2, 2, last) for last in range(4)]
FIRST_STATES = {
    "partition": """
model = "partition"
preset = "repaired"
check = ["acknowledged_records_survive"]
expect = { verdict = "holds" }
source = "a bench"
[bounds]
brokers = 3
log_length_max = 2
records_max = 2
initial_records = 1
leader_epoch_max = 5
fetch_steps = 1
min_insync_replicas = 3
process_crashes = 2
reassignments = 1
""",
    "kraft": """
model = "kraft"
preset = "kafka-4.3"
check = ["leaders_are_in_the_isr"]
expect = { verdict = "holds" }
source = "a bench"
[bounds]
brokers = 3
replication_factor = 3
leader_epoch_max = 4
partition_epoch_max = 8
min_isr = 2
crashes = 1
lossy_crashes = 1
restarts = 2
commits = 1
shrinks = 1
fail_overs = 1
uncommitted = 1
""",
}
"""Claims of far more states than are searched."""
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
COLORS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#ff9da6", "#79706e", "#bab0ac")
WIDTH, HEIGHT, LEFT, TOP = 560, 380, 70, 30
TICKS = os.sysconf("SC_CLK_TCK")


@attrs.frozen
class Point:
    """A search.

    Attributes:
        states: distinct ones.
        seconds: of processors.
        wall: seconds that passed.
        memory: bytes at most.
    """

    states: int
    seconds: float
    wall: float
    memory: int


class Usage:
    """What all processes below this one use, those of a cluster too: processor seconds since this began, and bytes of
    memory at most, of which several processes share some.
    """

    def __init__(self) -> None:
        self.memory = 0
        self._began = _seconds_of_all()
        self._ended = threading.Event()
        self._looks = threading.Thread(target=self._look)
        self._looks.start()

    def _look(self) -> None:
        while not self._ended.wait(0.05):
            self.memory = max(self.memory, sum(_memory_of(process) for process in _below(os.getpid())))

    def end(self) -> float:
        """The processor seconds."""
        self._ended.set()
        self._looks.join()
        return _seconds_of_all() - self._began


def _below(process: int) -> Iterator[int]:
    """All processes that one has started, and those that they have, and so on."""
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _below(child)


def _memory_of(process: int) -> int:
    """Its proportional set: what it shares counts once for all who share it."""
    with suppress(OSError, AttributeError):
        found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
        return int(found[1]) * 1024
    return 0


def _seconds_of_all() -> float:
    """Of all processes below this one, those that ended included."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(_seconds_of(process) for process in _below(os.getpid()))


def _seconds_of(process: int) -> float:
    """Its own, and those of the processes that it has seen end."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS
    return 0.0


def measured(name: str, command: Sequence[str], *, twice: bool) -> Point:
    """A search of a whole process, with all that it starts.

    Args:
        twice: count the second of two runs.
    """
    if twice:
        subprocess.run(command, env=peers.ENVIRONMENT, capture_output=True, check=False)
    running = set(_below(os.getpid()))
    usage, began = Usage(), time.perf_counter()
    done = subprocess.run(command, env=peers.ENVIRONMENT, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - began
    while set(_below(os.getpid())) - running:  # executors that are ending
        time.sleep(0.05)
    found = re.findall(r"([\d,]+) distinct", done.stdout)
    if not found:
        usage.end()
        sys.exit(f"{name}: {command} did not end as it should:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    point = Point(int(found[-1].replace(",", "")), usage.end(), wall, usage.memory)
    show(name, point)
    return point


def show(name: str, point: Point) -> None:
    print(
        f"{name:40} {point.states:12,} {point.seconds:9.2f} s of processors {point.wall:8.2f} s"
        f" {point.memory / 2**20:8.0f} MiB",
        flush=True,
    )


Lines = dict[str, list[Point]]
"""By what has searched, its searches."""


def of_peers(folder: Path, tlc: str | None) -> Lines:
    found: Lines = {}
    for bounds in KIP_320:
        theirs = [*peers.spin(bounds, folder), *peers.stateright(bounds, folder, "0.31.0")]
        if bounds is not KIP_320[-1]:  # which takes it minutes
            theirs += [each for each in peers.rumur(bounds, folder) if "every state" in each.name]
        if tlc is not None:
            theirs += peers.tlc(tlc.replace("BOUNDS", " ".join(map(str, bounds))))
        for peer in theirs:
            states, ran = peer.run(peers.DISTINCT.get(bounds, (1_063, 0))[0])
            point = Point(states, ran.processor_seconds, ran.seconds, ran.memory)
            show(peer.name, point)
            found.setdefault(peer.name, []).append(point)
    return found


def of_highwater(specs: dict[str, Path], executors: Sequence[int]) -> dict[str, Lines]:
    """By model, searches with one thread and two, and on clusters of so many executors."""
    found: dict[str, Lines] = {model: {} for model in ("KIP-320", *FIRST_STATES)}
    for threads in (1, 2):
        _search(specs, f"{threads} thread{'s'[: threads - 1]}", ["--threads", str(threads)], found)
    fewer = {of: spec for of, spec in specs.items() if of.rpartition(" ")[2] != str(SIZES[-1])}  # they take minutes
    for count in executors:
        with cluster(count) as master:
            _search(fewer, f"Spark, {count} executor{'s'[: count - 1]}", ["--master", master], found)
    return found


def _search(specs: dict[str, Path], name: str, how: list[str], found: dict[str, Lines]) -> None:
    """Let Highwater search every model at every size."""
    for of, spec in specs.items():
        model, _, size = of.partition(" ")
        command = [sys.executable, __file__, "--one", str(spec), *(["--states", size] if size.isdigit() else []), *how]
        point = measured(f"{model}, {name}", command, twice="--threads" in how)
        found[model].setdefault(name, []).append(point)


@contextmanager
def cluster(executors: int) -> Iterator[str]:
    """A standalone cluster on this machine; the address of its master."""
    command = [sys.executable, "-m", "highwater.spark.standalone", "--workers", str(executors), "--memory", "2g"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().split()[1]
    finally:
        process.terminate()
        process.wait()


def search(spec: Path, states: int | None, threads: int, master: str | None) -> None:
    """One search, for a process of its own."""
    from highwater.claims.checking import Engine, check_spec
    from highwater.claims.spec import load_spec
    from highwater.explorer.verdict import Auditing, Budget

    with tempfile.TemporaryDirectory() as levels:
        engine = Engine.LOCAL if master is None else Engine.SPARK
        of_engine = {"workers": threads} if master is None else {"master": master, "checkpoint": Path(levels)}
        result = check_spec(
            load_spec(spec),
            engine,
            Budget(max_states=states),
            symmetry=False,
            keep_trees=True,
            audit=Auditing.NONE,
            **of_engine,
        )
    print(f"{result.outcome.distinct_states:,} distinct")


def specs_in(folder: Path) -> dict[str, Path]:
    """By model and size, what is searched."""
    found = {}
    for bounds in KIP_320:
        place = folder / "-".join(map(str, bounds))
        place.mkdir()
        peers.highwater(bounds, place)
        found[f"KIP-320 {bounds}"] = place / "kip_320.toml"
    for model, text in FIRST_STATES.items():
        (folder / f"{model}.toml").write_text(text)
        found |= {f"{model} {size}": folder / f"{model}.toml" for size in SIZES}
    return found


# Drawing


@attrs.frozen
class Line:
    """A drawn line, with its end for the legend."""

    name: str
    color: str
    dots: list[tuple[float, float]]


@attrs.frozen
class Panel:
    """A drawing of one quantity against the states."""

    title: str
    lines: list[Line]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]


def panel(title: str, series: dict[str, list[tuple[float, float]]]) -> Panel:
    """Values by states, on logarithmic scales that hold all of them."""
    every = [dot for dots in series.values() for dot in dots]
    left, right = math.floor(min(math.log10(x) for x, _ in every)), math.ceil(max(math.log10(x) for x, _ in every))
    low, high = math.floor(min(math.log10(y) for _, y in every)), math.ceil(max(math.log10(y) for _, y in every))

    def x_of(value: float) -> float:
        return LEFT + (math.log10(value) - left) / (right - left) * (WIDTH - LEFT - 10)

    def y_of(value: float) -> float:
        return HEIGHT - 30 - (math.log10(value) - low) / (high - low) * (HEIGHT - 30 - TOP)

    lines = [
        Line(name, color, [(x_of(x), y_of(y)) for x, y in dots])
        for (name, dots), color in zip(series.items(), COLORS * 2, strict=False)
    ]
    across = [(x_of(10**at), f"{10**at:,}") for at in range(left, right + 1)]
    up = [(y_of(10**at), f"{10**at:,}" if at >= 0 else f"{10.0**at:g}") for at in range(low, high + 1)]
    return Panel(title, lines, across, up)


def panels(searched: dict[str, Lines]) -> Iterator[Panel]:
    for model, found in searched.items():
        seconds = {
            name: [(point.states, point.seconds * 1e6 / point.states) for point in of] for name, of in found.items()
        }
        memory = {name: [(point.states, point.memory / point.states) for point in of] for name, of in found.items()}
        yield panel(f"{model}: microseconds of a processor for each state", seconds)
        yield panel(f"{model}: bytes of memory for each state", memory)


DRAWING = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{ 2 * width + 60 }} {{ (height + 110) * (panels | length // 2) }}"
 font-family="sans-serif" font-size="11" role="img" aria-label="seconds and bytes by states">
<rect width="100%" height="100%" fill="#ffffff"/>
{%- for panel in panels %}
<g transform="translate({{ (width + 20) * (loop.index0 % 2) }} {{ (height + 110) * (loop.index0 // 2) }})">
<text x="{{ left }}" y="18" font-size="13" font-weight="bold">{{ panel.title }}</text>
{%- for at, words in panel.across %}
<line x1="{{ '%.1f' % at }}" x2="{{ '%.1f' % at }}" y1="{{ top }}" y2="{{ height - 30 }}" stroke="#dddddd"/>
<text x="{{ '%.1f' % at }}" y="{{ height - 14 }}" text-anchor="middle">{{ words }}</text>
{%- endfor %}
{%- for at, words in panel.up %}
<line x1="{{ left }}" x2="{{ width - 10 }}" y1="{{ '%.1f' % at }}" y2="{{ '%.1f' % at }}" stroke="#dddddd"/>
<text x="{{ left - 6 }}" y="{{ '%.1f' % (at + 4) }}" text-anchor="end">{{ words }}</text>
{%- endfor %}
{%- for line in panel.lines %}
<polyline fill="none" stroke="{{ line.color }}" stroke-width="2" points="
{%- for x, y in line.dots %}{{ '%.1f,%.1f ' % (x, y) }}{% endfor %}"/>
{%- for x, y in line.dots %}
<circle cx="{{ '%.1f' % x }}" cy="{{ '%.1f' % y }}" r="3" fill="{{ line.color }}"/>
{%- endfor %}
<rect x="{{ left + 240 * (loop.index0 % 2) }}" y="{{ height + 4 + 16 * (loop.index0 // 2) }}" width="10" height="10"
 fill="{{ line.color }}"/>
<text x="{{ left + 16 + 240 * (loop.index0 % 2) }}" y="{{ height + 13 + 16 * (loop.index0 // 2) }}">
{{- line.name }}</text>
{%- endfor %}
</g>
{%- endfor %}
</svg>
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("svg", type=Path, nargs="?")
    parser.add_argument("--executors", type=int, nargs="*", default=[], help="how many each cluster is to have")
    parser.add_argument("--tlc", metavar="COMMAND", help="TLC's command line, with BOUNDS where the bounds stand")
    of_one = parser.add_argument_group("one search, as this script has it done in a process of its own")
    of_one.add_argument("--one", type=Path, metavar="SPEC")
    of_one.add_argument("--states", type=int)
    of_one.add_argument("--threads", type=int, default=1)
    of_one.add_argument("--master")
    options = parser.parse_args()
    if options.one:
        search(options.one, options.states, options.threads, options.master)
        return
    if options.svg is None:
        parser.error("name the file for the drawing")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        searched = of_highwater(specs_in(folder), options.executors)
        searched["KIP-320"] |= of_peers(folder, options.tlc)
    drawn = {"panels": [*panels(searched)], "width": WIDTH, "height": HEIGHT, "left": LEFT, "top": TOP}
    options.svg.write_text(jinja2.Template(DRAWING).render(**drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
