"""An answer to an operator in a terminal, and as JSON."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from highwater.asking.answers import Answer
from highwater.asking.asked import Says
from highwater.asking.questions import Question
from highwater.asking.reading import Cluster
from highwater.asking.settings import MOST_REPLICAS
from highwater.asking.tables import Row, askable
from highwater.asking.wording import bounds_in_words, deeds, where_seen
from highwater.visible import visible

COLOURS = {Says.YES: "bold red", Says.NO: "bold green", Says.NOT_KNOWN: "bold yellow"}
WIDEST, INDENT, MOST_LINES = 100, 11, 5
LETTERS = string.ascii_uppercase


def show_answer(console: Console, answer: Answer) -> None:
    """The question, three sentences, and how it comes about, within the width of the terminal."""
    _show(console, "asked", answer.words, "dim")
    _show(console, "settings", answer.settings.in_words(), "dim")
    _show(console, answer.says.value, " ".join(answer.sentences), COLOURS[answer.says])
    if helps := answer.workarounds:
        _show(console, "what helps", "; ".join(helps), "dim")
    for part in answer.parts:
        if steps := list(deeds(part)):
            numbered = "; ".join(f"{number} {deed}" for number, deed in enumerate(steps, 1))
            end = part.violation.witness if part.violation else ""
            _show(console, "how", f"{numbered}. Then: {end}", "dim")
            break


def _show(console: Console, label: str, text: str, style: str, indent: int = INDENT) -> None:
    width = min(WIDEST, console.width)
    room = max(20, width - indent)
    first, *rest = textwrap.wrap(visible(text), room, break_on_hyphens=False, break_long_words=False) or [""]
    console.print(Text.assemble((label.ljust(indent), style), first))
    for line in rest:
        console.print(Text(f"{' ' * indent}{line}"))


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


def show_cluster(console: Console, cluster: Cluster, release: str, rows: Sequence[Row]) -> None:
    """A table of questions by class of topics, the worst first; and what was assumed, not asked or not understood."""
    console.print(Text(f"Kafka {visible(release)}", "bold"))
    classes = askable(cluster)
    for letter, each in zip(LETTERS, classes, strict=False):
        unclean = ", unclean election on" if each.unclean else ""
        words = f"replication factor {each.replication_factor}, min.insync.replicas {each.min_isr}{unclean}"
        _show(console, letter, f"{_some(each.topics)}: {words}", "bold")
    console.print()
    for row in rows:
        cells = "".join(_cell(each).ljust(5) for each in row.answers)
        _show(console, cells, f"{row.question.words} ({row.question.name})", "", 5 * len(classes) + 1)
    console.print()
    for each in cluster.classes:
        if each not in classes:
            words = f"{_some(each.topics)}: replication factor {each.replication_factor} is above {MOST_REPLICAS}"
            _show(console, "not asked", words, "yellow")
    for words in _few(cluster.assumed):
        _show(console, "assumed", words, "dim")
    for words in _few(cluster.not_understood):
        _show(console, "not read", words, "yellow")


def _cell(answer: Answer | None) -> str:
    return "-" if answer is None else "?" if answer.says is Says.NOT_KNOWN else answer.says.value


def _some(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


def _few(lines: Sequence[str]) -> list[str]:
    more = [f"and {len(lines) - MOST_LINES:,} more"] if len(lines) > MOST_LINES else []
    return [*lines[:MOST_LINES], *more]


def cluster_as_data(cluster: Cluster, release: str, rows: Sequence[Row]) -> dict[str, Any]:
    """The same as plain JSON values."""
    return {
        "format": "highwater-cluster",
        "version": 1,
        "release": release,
        "classes": [attrs.asdict(each) for each in askable(cluster)],
        "not_asked": [attrs.asdict(each) for each in cluster.classes if each not in askable(cluster)],
        "assumed": list(cluster.assumed),
        "not_understood": list(cluster.not_understood),
        "questions": [
            {
                "question": row.question.name,
                "words": row.question.words,
                "answers": [each and answer_as_data(each) for each in row.answers],
            }
            for row in rows
        ],
    }


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
        "not_known_of": list(answer.not_known_of),
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
        "judged_on": answer.judged_on,
        "workarounds": "; ".join(answer.workarounds),
    }
