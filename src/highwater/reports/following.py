"""What was found of a log: in a terminal, as a report that `highwater trace` reads, and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from highwater.claims.log_search import MOST_ALLOWED, Explanation, Finding, Refused
from highwater.explorer.system import System, judge_end
from highwater.explorer.verdict import by_hand
from highwater.reports.results import about_spec, trace_report
from highwater.reports.terminal import show_trace
from highwater.visible import counted, visible

MOST_SHOWN = 8  # steps that the model allows
MARKS = {Finding.EXPLAINED: ("ok", "green"), Finding.REFUSED: ("REFUSED", "bold red")}
UNDECIDED = ("undecided", "yellow")


def show_explanation(console: Console, found: Explanation) -> None:
    """The behaviour that explains a log; of one that is refused, as far as it goes, and what the model allows then."""
    system = found.spec.system()
    console.print(Text.assemble(MARKS.get(found.finding, UNDECIDED), "  ", (visible(str(found.log)), "bold")))
    console.print(Text(f"    {visible(in_words(found))}"))
    if len(found.way) > 1:
        console.print(Text("\n    line", "dim"))
        numbers = [str(each.at or ("start" if each.action is None else "-")) for each in found.way]
        show_trace(console, system, found.way[-1].trace, numbers=numbers)
        for name, at in false_along(system, found):
            console.print(Text.assemble("    ", (f"{name} is false", "yellow"), f" after line {at}"))
    if found.refused:
        console.print()
        _show_refused(console, found.refused)


def _show_refused(console: Console, refused: Refused) -> None:
    console.print(Text(f"    {refused.line.number}  {visible(str(refused.line))}", "bold red"))
    if refused.line.note:
        console.print(Text(f"       {visible(refused.line.note)}", "dim"))
    if refused.guard:
        guard = refused.guard
        console.print(Text(f"       is not enabled: {visible(str(guard))}  ({visible(guard.file)}:{guard.line})"))
    console.print(
        Text("    the model allows there, the nearest first" if refused.allowed else "    no step is enabled")
    )
    for name, values in allowed_in_words(refused):
        console.print(Text.assemble("       ", (visible(name), "bold"), f"  {visible(values)}".rstrip()))
    if (more := len(refused.allowed) - MOST_SHOWN) > 0:
        least = "at least " if len(refused.allowed) == MOST_ALLOWED else ""
        console.print(Text(f"       and {least}{more:,} more", "dim"))


def allowed_in_words(refused: Refused) -> list[tuple[str, str]]:
    """The nearest of what the model allows: each step, and the values that it gives to what the line says."""
    return [
        (
            str(each.action) if each.action else "where it is",
            ", ".join(f"{part} {value}" for part, value in each.values.items()),
        )
        for each in refused.allowed[:MOST_SHOWN]
    ]


def in_words(found: Explanation) -> str:
    """What was found, in one line."""
    hidden = sum(not each.at for each in found.way[1:])
    besides = f", with {counted(hidden, 'step')} that {'is' if hidden == 1 else 'are'} in no line" if hidden else ""
    left = f"{counted(found.states, 'state')} {'is' if found.states == 1 else 'are'} possible"
    if found.refused is None and not found.gave_up:
        return f"{counted(found.lines, 'line')} explained{besides}; {left} at the end"
    so_far = f"the {counted(found.explained, 'line')} before are explained{besides}, and {left}"
    if found.gave_up:
        return f"not known: {found.gave_up}; log more of the state, or raise --max-states"
    assert found.refused is not None
    line = found.refused.line.number
    if found.cut:
        many = "it" if len(found.cut) == 1 else "them"
        cut = cut_in_words(found.cut, line)
        return f"not known: line {line} is not explained, but {cut}; raise {many} in the spec"
    return f"line {line} is the first that no behaviour of the model explains; {so_far}"


def cut_in_words(cut: Mapping[str, int], line: int) -> str:
    """Which bounds cut what at a line that is not explained, and which at lines before it, the nearest first."""
    by_line: dict[int, list[str]] = {}
    for bound, at in sorted(cut.items(), key=lambda each: (-each[1], each[0])):
        by_line.setdefault(at, []).append(bound)
    return ", and ".join(
        f"{' and '.join(bounds)} {'cuts' if len(bounds) == 1 else 'cut'} a step that "
        f"{'fits it' if at == line else f'may explain line {at}'}"
        for at, bounds in by_line.items()
    )


def false_along(system: System, found: Explanation) -> list[tuple[str, int]]:
    """The checked properties of states and steps that are false somewhere on the way, each with the first line after
    which it is.
    """
    false: dict[str, int] = {}
    for number, each in enumerate(found.way):
        before = found.way[number - 1].state if number else None
        for judged in system.safety:
            if judged.of.name not in false and not judge_end(system, judged, before, each.state):
                false[judged.of.name] = next((e.at for e in found.way[number::-1] if e.at), 0)
    return list(false.items())


def explanation_report(found: Explanation) -> dict[str, Any]:
    """What was found as a report, whose trace is the behaviour; `highwater trace` and `explore` read it."""
    spec, refused = found.spec, found.refused
    follow = {
        "log": str(found.log),
        "finding": found.finding.value,
        "lines": found.lines,
        "explained": found.explained,
        "states": found.states,
        "at": [each.at for each in found.way],
        "cut": dict(sorted(found.cut.items())),
        "gave_up": found.gave_up,
        "refused": refused and _refused_as_data(refused),
    }
    about: dict[str, Any] = {**about_spec(spec), "follow": follow}
    allowed = [": ".join(filter(None, each)) for each in allowed_in_words(refused)] if refused else []
    says = in_words(found)
    step = str(refused.line) if refused else ""
    about["seen"] = {"says": f"{says[0].upper()}{says[1:]}.", "step": step, "allowed": allowed}
    return trace_report(
        about, spec.system(), by_hand(found.way[-1].trace), f"which explain {counted(found.explained, 'line')} of a log"
    )


def _refused_as_data(refused: Refused) -> dict[str, Any]:
    return {
        "line": refused.line.number,
        "text": str(refused.line),
        "note": refused.line.note,
        "states": refused.states,
        "guard": refused.guard and attrs.asdict(refused.guard),
        "allowed": [
            {
                "action": each.action and each.action.of.name,
                "arguments": dict(each.action.shown) if each.action else {},
                "values": dict(each.values),
                "apart": each.apart,
            }
            for each in refused.allowed
        ],
    }
