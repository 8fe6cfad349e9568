"""What is shown while a search runs."""

from __future__ import annotations

import io
import re

from rich.console import Console

from highwater.explorer.verdict import Progress
from highwater.reports.progress import Live

FAR = Progress(
    depth=21, frontier=1_234_567, stored_states=9_985_570, generated=26_629_362, compiled_paths=12_345, seconds=10.0,
    memory=2**28, level_ended=False,
    more="level 22 runs for 3 s, admit 1 of 2 tasks; level 21 took 2.52 s, shuffle 10.1 MiB, spill 0 B",
)  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_narrow_terminal_nothing_of_it_is_cut_off() -> None:
    terminal = Terminal()
    with Live(
        Console(file=terminal, force_terminal=True, width=50, soft_wrap=True),
        "a_claim_whose_name_takes_up_most_of_a_line",
    ) as live:
        live(FAR)
    shown = " ".join(re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", terminal.getvalue()).split())
    for words in (
        "a_claim_whose_name",
        "generated 26,629,362",
        "998.6 k states/s",
        "12,345 paths compiled",
        "admit 1 of 2 tasks",
        "spill 0 B",
    ):
        assert words in shown


def test_in_a_log_it_is_one_line() -> None:
    log = io.StringIO()
    with Live(Console(file=log, width=50, soft_wrap=True), "a_claim") as live:
        live(FAR)
        assert not log.getvalue(), "it is not yet time to"
        live._last_line -= 60.0
        live(FAR)
    (line,) = log.getvalue().splitlines()
    assert line.startswith("a_claim: depth 21  frontier 1,234,567  stored 9,985,570")
    assert line.endswith(FAR.more)
