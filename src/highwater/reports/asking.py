"""An answer to an operator in a terminal, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from highwater.asking.answers import Answer
from highwater.asking.asked import Says
from highwater.asking.questions import Question
from highwater.asking.wording import bounds_in_words, deeds, where_seen
from highwater.visible import visible

COLOURS = {Says.YES: "bold red", Says.NO: "bold green", Says.NOT_KNOWN: "bold yellow"}
WIDEST, INDENT = 100, 11


def show_answer(console: Console, answer: Answer) -> None:
    """The question, three sentences, and how it comes about, within the width of the terminal."""
    _show(console, "asked", answer.words, "dim")
    _show(console, "settings", answer.settings.in_words(), "dim")
    _show(console, answer.says.value, " ".join(answer.sentences), COLOURS[answer.says])
    if helps := answer.workarounds:
        _show(console, "what helps", helps, "dim")
    for part in answer.parts:
        if steps := list(deeds(part)):
            numbered = "; ".join(f"{number} {deed}" for number, deed in enumerate(steps, 1))
            end = part.violation.witness if part.violation else ""
            _show(console, "how", f"{numbered}. Then: {end}", "dim")
            break


def _show(console: Console, label: str, text: str, style: str) -> None:
    width = min(WIDEST, console.width)
    first, *rest = textwrap.wrap(visible(text), width - INDENT) or [""]
    console.print(Text.assemble((label.ljust(INDENT), style), first))
    for line in rest:
        console.print(Text(f"{' ' * INDENT}{line}"))


def show_questions(console: Console, questions: Iterable[Question]) -> None:
    """Each question by its name, by group; in a narrow terminal what happens is in lines of its own."""
    listed = sorted(questions, key=lambda each: each.group)
    longest = max(len(each.name) for each in listed)
    room = min(WIDEST + 20, console.width) - longest - 4
    indent, room = (longest + 4, room) if room > 60 else (6, min(WIDEST, console.width) - 6)
    for group, of_group in groupby(listed, key=lambda each: each.group):
        console.print(Text(group, "bold"))
        for each in of_group:
            lines = textwrap.wrap(each.words, room)
            beside = lines.pop(0) if indent > longest else ""
            console.print(
                Text.assemble("  ", (each.name.ljust(longest if beside else 0), "cyan"), f"  {beside}".rstrip())
            )
            for line in lines:
                console.print(Text(f"{' ' * indent}{line}"))


def answer_as_data(answer: Answer) -> dict[str, Any]:
    """An answer as plain JSON values."""
    settings = {**attrs.asdict(answer.settings), "elr": answer.settings.has_elr}
    return {
        "format": "highwater-answer",
        "version": 1,
        "question": answer.question.name,
        "words": answer.words,
        "settings": settings,
        "answer": answer.says.value,
        "sentences": answer.sentences,
        "claims": [
            {
                "harm": part.claim.harm,
                "model": part.claim.model,
                "check": part.claim.check,
                "answer": part.says.value,
                "why": part.why,
                "bounds": part.result and dict(part.result.spec.file.bounds),
                "bounds_in_words": bounds_in_words(part) if part.result else "",
                "distinct_states": part.result and part.result.outcome.distinct_states,
                "steps": part.violation and part.violation.trace_length,
                "how": list(deeds(part)),
            }
            for part in answer.parts
        ],
        "prevented_by": list(answer.prevented_by),
        "not_prevented_by": list(answer.not_prevented_by),
        "older": answer.older and {"release": answer.older[0], "answer": answer.older[1].value},
        "newer": answer.newer and {"release": answer.newer[0], "answer": answer.newer[1].value},
        "compared": answer.compared and list(answer.compared),
        "seen": [
            {
                "finding": each.name,
                "where": where_seen(each),
                "clusters": list(each.clusters),
                "classes": list(each.classes),
            }
            for each in answer.seen
        ],
        "workarounds": answer.workarounds,
    }
