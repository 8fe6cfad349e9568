"""Write docs/operators.md: each question of `highwater ask`, by release and by min.insync.replicas. It takes minutes.

A test asks a sample of the cells again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from highwater.asking.answering import answer
from highwater.asking.answers import Answer
from highwater.asking.asked import Says
from highwater.asking.questions import Question, catalogue
from highwater.asking.settings import settings_for
from highwater.asking.wording import bounds_in_words

PAGE = Path(__file__).with_suffix(".md")
RELEASES = ("3.5.2", "3.9.0", "3.9.2", "4.0.2", "4.1.2", "4.4.0")
MIN_ISR = (1, 2)
GROUPS = {
    "restarts": "Brokers restart",
    "failures": "Something fails",
    "operations": "An operator does something",
    "settings": "It is a matter of settings",
}
HEAD = """# Can this happen to me?

<!-- Written by docs/operators.py from the catalogue of questions; change these instead. -->

Three brokers and replicas, acks=all, unclean election off, eligible leader replicas as in a new cluster of the release
(on since 4.1), unless the question says otherwise. A cell has one word if min.insync.replicas makes no difference, and
else the answers for 1 and for 2.

- **yes**: the models have a shortest way to it, which `highwater ask NAME --release R --html page.html` shows.
- **no**: it does not come about within the bounds [below](#bounds-of-a-no). Beyond them nothing is known.
- **?**: no model can be asked, or a search was too large. The reason is [below](#why-it-is-not-known).

`highwater ask` asks the same of your settings, and says what would prevent it:

```console
$ highwater ask only-member-restarts-with-unclean-election --release 4.4.0
[...]
yes        Yes: a record that was acknowledged is lost, for good. [...]
```

"Seen on" names clusters and Kafka's own classes on which a finding was brought about that one of the answers rests on;
[findings.md](findings.md) has each. Where nothing is named, it was seen in the models only.
"""


def cell(question: Question, release: str, min_isr: int) -> Answer:
    """The answer of one cell."""
    given = {} if {"min_isr", "replication_factor"} <= question.settings.keys() else {"min_isr": min_isr}
    return answer(question, settings_for(question, release=release, **given), alone=True)


def word(found: Answer) -> str:
    return "?" if found.says is Says.NOT_KNOWN else found.says.value


def in_cell(answers: list[Answer]) -> str:
    """The answers for each min.insync.replicas, in one cell."""
    words = [word(each) for each in answers]
    return words[0] if len(set(words)) == 1 else " / ".join(words)


def page(answers: dict[str, dict[str, list[Answer]]]) -> Iterator[str]:
    yield from HEAD.splitlines()
    questions = catalogue()
    for group, title in GROUPS.items():
        yield from ("", f"## {title}", "")
        yield f"| question | {' | '.join(RELEASES)} | seen on | what helps |"
        yield "|" + "---|" * (len(RELEASES) + 3)
        for name, by_release in answers.items():
            if questions[name].group == group:
                yield row(questions[name], by_release)
    yield from ("", "## Bounds of a no", "")
    yield "| question | what may happen, at most |"
    yield "|---|---|"
    for name, by_release in answers.items():
        parts = [part for found in by_release[RELEASES[-1]][-1:] for part in found.parts if part.result]
        if parts:
            yield f"| `{name}` | {'; '.join(dict.fromkeys(map(bounds_in_words, parts)))} |"
    yield from ("", "## Why it is not known", "")
    for name, by_release in answers.items():
        whys = [
            f"{release}: {found.why_not_known}" if questions[name].claims else found.why_not_known
            for release, several in by_release.items()
            for found in several
            if found.says is Says.NOT_KNOWN
        ]
        if whys:
            yield f"- `{name}`: {'; '.join(dict.fromkeys(whys))}."


def row(question: Question, by_release: dict[str, list[Answer]]) -> str:
    every = [found for several in by_release.values() for found in several]
    seen = {each.name: each for found in every for each in found.seen}
    where = "; ".join(
        f"[clusters of {', '.join(each.clusters)}](findings.md#{name})" for name, each in seen.items() if each.clusters
    )
    helps = "; ".join(dict.fromkeys(filter(None, (found.workarounds for found in every))))
    cells = " | ".join(in_cell(by_release[release]) for release in RELEASES)
    return f"| `{question.name}`: {question.words} | {cells} | {where} | {helps} |"


def main() -> None:
    answers: dict[str, dict[str, list[Answer]]] = {}
    for _, of_group in groupby(
        sorted(catalogue().values(), key=lambda each: list(GROUPS).index(each.group)), key=lambda each: each.group
    ):
        for question in of_group:
            print(question.name, file=sys.stderr, flush=True)
            answers[question.name] = {
                release: [cell(question, release, min_isr) for min_isr in MIN_ISR] for release in RELEASES
            }
            print(
                "   ",
                [in_cell(each) for each in answers[question.name].values()],
                [
                    [
                        round(f.decisive.result.outcome.seconds, 1) if f.decisive and f.decisive.result else None
                        for f in each
                    ]
                    for each in answers[question.name].values()
                ],
                file=sys.stderr,
                flush=True,
            )
    PAGE.write_text("\n".join(page(answers)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
