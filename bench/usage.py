"""Processor time and memory of this process and its children, from /proc."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any


class Usage:
    """The most memory that the processes below this one have taken, by kind, while it watches, and their processor
    time, in all and by kind, without what watching takes. `most_of_its_own` is the most that one Python worker has
    taken beside files that it maps.
    """

    def __init__(self) -> None:
        self.processor = 0.0
        self.processor_of: dict[str, float] = {}
        self.most: dict[str, int] = {}
        self.most_of_its_own = 0
        self._watching = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Usage:
        self._before = processor_seconds_by_kind()
        self._thread.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._over.set()
        self._thread.join()
        after = processor_seconds_by_kind()
        self.processor_of = {kind: seconds - self._before.get(kind, 0.0) for kind, seconds in after.items()}
        self.processor_of["driver"] -= self._watching
        self.processor = sum(self.processor_of.values())

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            now: dict[str, int] = {}
            for pid, kind in processes_below().items():
                now[kind] = now.get(kind, 0) + resident(pid)
                if kind == "workers":
                    self.most_of_its_own = max(self.most_of_its_own, resident(pid) - mapped(pid))
            for kind, size in now.items():
                self.most[kind] = max(self.most.get(kind, 0), size)
            self._watching = time.thread_time()


def processes_below() -> dict[int, str]:
    """This process and those that it has started, by what they are."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            names[int(entry.name)] = stat[stat.index("(") + 1 : stat.rindex(")")]
            parents[int(entry.name)] = int(stat[stat.rindex(")") + 2 :].split()[1])
    found = {os.getpid(): "driver"}
    changed = True
    while changed:
        above = {pid: names[pid] for pid, parent in parents.items() if parent in found and pid not in found}
        more = {pid: "java" if name == "java" else "workers" for pid, name in above.items()}
        found |= more
        changed = bool(more)
    return found


def processor_seconds_by_kind() -> dict[str, float]:
    """What this process, those that it has started and those that these have seen end have used."""
    found: dict[str, float] = {}
    for pid, kind in processes_below().items():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        ticks = sum(map(int, stat[stat.rindex(")") + 2 :].split()[11:15]))
        found[kind] = found.get(kind, 0.0) + ticks / os.sysconf("SC_CLK_TCK")
    return found


def resident(pid: int) -> int:
    return _pages(pid, 1)


def mapped(pid: int) -> int:
    """Of what is resident, what files hold: libraries, and what a worker has visited."""
    return _pages(pid, 2)


def _pages(pid: int, position: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[position]) * 4096
    except OSError:
        return 0
