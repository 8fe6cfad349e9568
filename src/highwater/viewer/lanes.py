"""Counterexamples in a terminal: a line per step, a column per lane, and in it what the step changed there, in short.

    L2          leads in leader epoch 2 (F follows, S stale leader)
    r0₀         record r0 of leader epoch 0
    [r0₀|r1₂]   a log; the high watermark is at the bar
    {0 1}       an ISR, if it changed or is not the true one
    ◂3          reads the message that step 3 sent
    ✗3          loses it

With colour, what changed is bold and what was cut away is struck out; without, `+` and `-` say so.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator
from typing import Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from highwater.model.language.picture import Badge, Fact, NameSet, Tone
from highwater.reports.terminal import goes_on
from highwater.viewer.shown import Cell, Counterexample, Delivery, ShownLog, ShownStep
from highwater.visible import visible

WIDTH, LONGEST_ACTION, LONGEST_HEAD = 100, 26, 10
LEAST_OF_LANE, LEAST_WATCHED = 9, 10  # how wide columns are where expressions stand beside the lanes
COLOURS = ("blue", "dark_orange", "green", "magenta", "yellow", "cyan", "red", "bright_black")
ROLES = {Tone.LEADS: "bold blue", Tone.STALE: "bold red", Tone.DOWN: "red", Tone.IDLE: "dim"}
HARD_SPACE = "\ue000"  # holds together what belongs to one log or set while lines are broken; a space in the end
MOST_UNBROKEN = 3  # records of a log that are kept on one line
MARKS = (  # what stands in a lane, and what it means
    (r"(?m)^ *\d+ \*", "* wrote what the property looked at"),
    (r"(?<!\w)[LFS]\d*(?!\w)", "L leads, F follows, S stale leader, in that epoch"),
    (r"(?<!\w)C\d+(?!\w)", "C active controller"),
    (r"(?<!\w)D\d+(?!\w)", "D deposed controller"),
    (r"(?<!\w)x(?!\w)", "x down"),
    (r"(?<!\S)\+?-(?!\S)", "a lone - no role"),
    (r"[₀-₉]", "rN₀ record of leader epoch 0"),
    (r"\[[^\]]*\|", "| high watermark"),
    (r"◂\d", "◂N reads from step N"),
    (r"✗\d", "✗N loses what step N sent"),
)
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def show_lanes(console: Console, trace: Counterexample, last: int | None = None) -> None:
    """The steps of a counterexample up to `last`, or all."""
    width, coloured = min(console.width, WIDTH) if console.is_terminal else WIDTH, console.color_system is not None
    shown = trace.steps[: None if last is None else last + 1]
    heads = [visible(each) if len(each) <= LONGEST_HEAD else f"({n})" for n, each in enumerate(trace.watch, 1)]
    beside = not heads or width >= sum((LONGEST_ACTION, LEAST_OF_LANE * len(trace.lanes), LEAST_WATCHED * len(heads)))
    table = _table(*map(visible, trace.lanes), *(heads if beside else ()))
    for step in shown:
        cells = [_cell(step, lane, coloured=coloured) for lane in trace.lanes]
        watched = [_watched(trace, step, text) for text in trace.watch] if beside else []
        mark = "*" if step.distance == 1 else ""
        table.add_row(str(step.number), mark, _action(step), *cells, *watched, _falsehood(trace, step))
    if last is None and trace.violation.back_to is not None:
        table.add_row("↺", "", goes_on(len(trace.steps) - 1, trace.violation.back_to))
    lines = _print(console, table, width)
    if not beside:
        below = _table(*heads)
        for step in shown:
            below.add_row(str(step.number), "", _action(step), *(_watched(trace, step, text) for text in trace.watch))
        console.print(Text("watched", "bold"))
        _print(console, below, width)
    for head, expression in zip(heads, trace.watch, strict=True):
        if head != visible(expression):
            console.print(Text(f"{head} {visible(expression)}", "dim"))
    for line in legend(Text.from_ansi("\n".join(lines[1:])).plain, width, coloured=coloured):
        console.print(Text(line, "dim"))


def _table(*columns: str) -> Table:
    """A table of steps with some more columns, and an empty one at the right."""
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False, header_style="dim", pad_edge=False)
    table.add_column("", justify="right", style="dim", no_wrap=True)
    table.add_column("", no_wrap=True, width=1)
    table.add_column("step", no_wrap=True, max_width=LONGEST_ACTION, overflow="ellipsis")
    for head in columns:
        table.add_column(head, overflow="fold", min_width=4)
    table.add_column("", overflow="fold", style="red")
    return table


def _print(console: Console, table: Table, width: int) -> list[str]:
    """Print a table in lines that do not break, and give these."""
    coloured = console.color_system is not None
    text = io.StringIO()
    page = Console(
        width=width,
        file=text,
        color_system=cast("Any", console.color_system),
        force_terminal=coloured,
        highlight=False,
        emoji=False,
        markup=False,
    )
    page.print(table)
    lines = [line.rstrip() for line in text.getvalue().replace(HARD_SPACE, " ").splitlines()]
    for line in lines:
        console.print(Text.from_ansi(line) if coloured else Text(line))
    return lines


def legend(shown: str, width: int = WIDTH, *, coloured: bool) -> list[str]:
    """What the marks in a text mean, in lines that fit."""
    meanings = [meaning for mark, meaning in MARKS if re.search(mark, shown)] + (
        [] if coloured else ["+ new", "- gone", "! untrue"]
    )
    joined = "; ".join(meaning.replace(" ", HARD_SPACE) for meaning in meanings)
    return (
        textwrap.fill(joined, width, break_long_words=False, break_on_hyphens=False)
        .replace(HARD_SPACE, " ")
        .splitlines()
    )


def unbroken(text: Text) -> Text:
    """A text whose lines were broken already, or never will be."""
    text.plain = text.plain.replace(HARD_SPACE, " ")
    return text


def _action(step: ShownStep) -> Text:
    """The action with its arguments, without the actor: the column shows it."""
    values = list(step.arguments.values())
    if step.actor in values:
        values.remove(step.actor)
    rest, name = " ".join(map(visible, values)), visible(step.name) or "initial state"
    room = max(9, LONGEST_ACTION - len(rest) - 1)
    short = name if len(name) <= room else name[: room - 1] + "…"
    return Text.assemble((short, "bold"), f" {rest}".rstrip())


def _watched(trace: Counterexample, step: ShownStep, text: str) -> Text:
    return Text(visible(step.watched[text]), "bold" if trace.has_new(step, text) else "dim")


def _falsehood(trace: Counterexample, step: ShownStep) -> str:
    return "false" if trace.violation.property in step.violated else ""


def _cell(step: ShownStep, lane: str, *, coloured: bool) -> Text:
    cell = step.cells[lane]
    if not (cell.changed or lane == step.lane or not step.number or cell.is_witness):
        return Text("")
    return Text(" ").join(one for one in lane_words(cell, step, lane, coloured=coloured) if one)


def lane_words(cell: Cell, step: ShownStep, lane: str, *, coloured: bool, everything: bool = False) -> Iterator[Text]:
    """A lane in short: roles, logs, sets and other facts that changed or are wrong, or all of them, and messages."""
    for number, badge in enumerate(cell.lane.badges):
        is_new = f"badge {number}" in cell.new
        if everything or badge.short or is_new or not step.number:
            yield _badge(badge, is_new=is_new and bool(step.number), coloured=coloured)
    for shown in cell.logs:
        yield _log(shown, coloured=coloured)
    named = len(cell.lane.name_sets) > 1
    for number, names in enumerate(cell.lane.name_sets):
        at_start = not step.number and not number  # of the others one learns what they are when they change
        if everything or at_start or names.name in cell.new or names.wrong:
            yield _name_set(names, is_new=names.name in cell.new and bool(step.number), named=named, coloured=coloured)
    for fact in cell.lane.facts:
        if fact.name in cell.new or (everything and not fact.blank):
            mark = "" if coloured or not step.number else "+"
            yield Text(f"{mark}{visible(fact.name)} {visible(fact.value)}", "bold" if fact.name in cell.new else "")
    for gone in cell.gone:
        yield Text(f"{'' if coloured else '-'}{_gone(gone, named=named)}".replace(" ", HARD_SPACE), "strike dim")
    for arrow in step.ended:
        if arrow.reader == lane:
            stale = f"{HARD_SPACE}stale" if arrow.newest is not None else ""
            lost = arrow.delivery is Delivery.DROPPED
            yield Text(f"{'✗' if lost else '◂'}{arrow.sent}{stale}", "red" if lost else "yellow" if stale else "")


def _badge(badge: Badge, *, is_new: bool, coloured: bool) -> Text:
    plain = visible(badge.short or badge.text)
    return Text(
        f"+{plain}" if is_new and not coloured else plain,
        f"{ROLES.get(badge.tone, '')} {'underline' if is_new else ''}".strip(),
    )


def _gone(gone: Badge | NameSet | Fact, *, named: bool) -> str:
    """What a lane shows no more, in short."""
    match gone:
        case NameSet():
            return _name_set(gone, is_new=False, named=named, coloured=True).plain
        case Badge():
            return visible(gone.short or gone.text)
    return visible(gone.name)


def _name_set(names: NameSet, *, is_new: bool, named: bool, coloured: bool) -> Text:
    """A set; if the lane has several, with the word that distinguishes it: `pending{0 1}`."""
    word = visible(names.name.removesuffix(" ISR")).replace(" ", HARD_SPACE) if named else ""
    text = Text(f"{'+' if is_new and not coloured else ''}{word}{{", "underline" if is_new else "")
    members = []
    for member in sorted({*names.members, *names.wrong}, key=lambda member: (len(member), member)):
        missing = member not in names.members
        style = "red strike" if missing else "red" if member in names.wrong else ""
        mark = "" if coloured or member not in names.wrong else "-" if missing else "!"
        members.append(Text(mark + re.sub(r"^b(?=\d+$)", "", visible(member)), style))
    return text.append_text(Text(HARD_SPACE).join(members)).append("}")


def _log(shown: ShownLog, *, coloured: bool) -> Text:
    log = shown.log
    gap = HARD_SPACE if sum(place.block is not None for place in shown.offsets) <= MOST_UNBROKEN else " "
    text = Text("[")
    for place in shown.offsets:
        if place.offset == log.high_watermark:
            text.append(_bar(shown, coloured=coloured), "bold")
        if place.block is None:
            continue
        if len(text) > 1 and not text.plain.endswith("|"):
            text.append(gap)
        epoch = "" if place.block.epoch is None else str(place.block.epoch).translate(SUBSCRIPTS)
        mark = "" if coloured else {"new": "+", "gone": "-"}.get(place.change, "")
        style = COLOURS[place.block.epoch % len(COLOURS)] if place.block.epoch is not None else ""
        style += {"new": " bold underline", "gone": " strike dim"}.get(place.change, "") + (
            " reverse" if place.diverges else ""
        )
        text.append(
            f"{mark}{visible(place.block.text)}{epoch}{'' if coloured or not place.diverges else '!'}", style.strip()
        )
    if log.high_watermark is not None and (not shown.offsets or log.high_watermark > shown.offsets[-1].offset):
        text.append(_bar(shown, coloured=coloured), "bold")
    return text.append("]")


def _bar(shown: ShownLog, *, coloured: bool) -> str:
    return "+|" if shown.high_watermark_changed and not coloured else "|"
