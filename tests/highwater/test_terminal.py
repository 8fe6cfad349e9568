"""The terminal while a search runs."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from highwater.claims.checking import check_spec
from highwater.claims.spec import load_spec
from highwater.cli.states import _show_records, _show_table
from highwater.explorer.verdict import Progress
from highwater.reports import progress
from highwater.reports.progress import Live
from highwater.reports.results import entry_of
from highwater.reports.terminal import show_result
from highwater.viewer.index import counterexample_in
from highwater.viewer.lanes import _print, show_lanes

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


CLAIM = Path(__file__).parents[2] / "specs" / "truncation" / "kip_101_fails_on_two_brokers.toml"
WATCH = ("b1.log_end_offset - b0.high_watermark", "b0.leader", "len(b0.log)", "b1.leader_epoch")


def printed(width: int | None) -> tuple[str, str]:
    """A result and the lanes of its trace, on a terminal, or in a log if no width is given."""
    result = check_spec(load_spec(CLAIM))
    trace = counterexample_in({**entry_of(result), "watch": list(WATCH)})
    texts = []
    for show in (lambda to: show_result(to, result, with_trace=True), lambda to: show_lanes(to, trace)):
        file = io.StringIO() if width is None else Terminal()
        on_terminal = width is not None
        to = progress.Terminal(
            file=file, width=width, force_terminal=on_terminal, color_system=None, soft_wrap=True, highlight=False
        )
        show(to)
        texts.append(file.getvalue())
    return texts[0], texts[1]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_terminal_breaks_lines_between_words(width: int) -> None:
    """What is printed are the same words, none cut in two, but for the times that a search took."""
    (narrow, lanes), (log, _) = printed(width), printed(None)
    assert max(map(len, narrow.splitlines())) <= width < max(map(len, log.splitlines()))
    timeless = [re.sub(r"\S+ s, \S+ (k |M )?states/s", "", " ".join(text.split())) for text in (narrow, log)]
    assert timeless[0] == timeless[1]
    assert max(map(len, lanes.splitlines())) <= width


def test_lines_that_fit_are_unchanged_and_longer_ones_wrap_at_any_width() -> None:
    text = Text("    a line of thirty characters, no more\n  and another one that is longer than the first one\n\nx")
    for width in (40, 5):
        file = Terminal()
        progress.Terminal(file=file, width=width, force_terminal=True, color_system=None, soft_wrap=True).print(text)
        lines = file.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert (lines[0] == "    a line of thirty characters, no more") == (width == 40)
        assert lines[-2:] == ["", "x"]


@pytest.mark.parametrize(("width", "below"), [(80, True), (120, False)])
def test_watched_values_move_below_lanes_that_leave_no_room(width: int, below: bool) -> None:
    lines = printed(width)[1].splitlines()
    heads = [line.split()[-4:] for line in lines if line.split()[:1] == ["step"]]
    assert heads[-1] == ["(1)", "b0.leader", "(3)", "(4)"]
    assert len(heads) == 1 + below
    assert ("watched" in lines) == below


def test_texts_of_models_and_queries_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    _show_table(progress.make_console(), ["[state]", "n"], [("[b0, b1]", 1), ("a[/red]", 2), ("\x1b[31m", 3)])
    shown = capsys.readouterr().out.splitlines()
    assert [line.split() for line in shown] == [
        ["[state]", "n"], ["[b0,", "b1]", "1"], ["a[/red]", "2"], ["\\u001b[31m", "3"],
    ]  # fmt: skip


def test_lanes_are_no_markup() -> None:
    console = Console(file=io.StringIO(), width=80)
    table = Table()
    table.add_column("[b0]")
    table.add_row("[red]")
    assert {"[b0]", "[red]"} <= set(" ".join(_print(console, table, 80)).split())


def test_a_nested_result_shows_each_column_whatever_it_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    row_of = pytest.importorskip("pyspark.sql").Row
    inner = row_of("log", "at")([row_of("epoch")(1)], Decimal("0.5"))
    _show_records(progress.make_console(), ["a", "a", "n"], [row_of("a", "a", "n")([1], inner, None)])
    assert capsys.readouterr().out.splitlines() == [
        "a  [1]",
        'a  {"log": [{"epoch": 1}], "at": "0.5"}',
        "n  NULL",
    ]
