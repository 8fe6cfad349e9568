"""Write docs/operators.md: each question of `highwater ask`, by release and by min.insync.replicas. It takes minutes.

A test asks a sample of the cells again.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from attrs import evolve

from highwater.asking.answering import answer
from highwater.asking.answers import Answer
from highwater.asking.asked import Says, claims_for
from highwater.asking.questions import Question, catalogue, findings
from highwater.asking.settings import settings_for
from highwater.asking.wording import bounds_in_words
from highwater.claims.resolving import preset_named
from highwater.model.catalogue import MODELS

PAGE = Path(__file__).with_suffix(".md")
RELEASES = ("3.5.2", "3.9.0", "3.9.2", "4.0.2", "4.1.2", "4.4.0")
JUDGED = ("3.9.2", "4.4.0")
MIN_ISR = (1, 2)
AT_ONCE = 16  # questions that one set of processes is asked: these grow
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

The columns 3.9.2 and 4.4.0 have marks. **C**: Kafka's own classes have judged what the model `partition` says, for
min.insync.replicas=2 or the question's own: of a "yes" each step, of a "no" each path of each step within its bounds.
What `kraft` says besides was not judged there. **S**: a finding that it rests on was seen on a cluster of the release;
a "?" has a mark only then. **M**: the models only.

"Seen on" names the clusters on which a finding was brought about that one of the answers rests on;
[findings.md](findings.md) has each, with Kafka's own classes. Where nothing is named, it was seen in the models only.

`highwater ask` asks the same of other settings, and says until when, what would prevent it, and how it comes about:

```console
$ highwater ask running-broker-unregistered --release 4.4.0
asked      a broker is unregistered while it runs
settings   Kafka 4.4.0, replication factor 3, min.insync.replicas 2, acks=all,
           ELR on
[...]
```

`highwater ask --from DIR` reads release, topics and settings from what `kafka-topics.sh --describe`,
`kafka-configs.sh --describe` and `kafka-features.sh describe` print, from Strimzi's YAML, or with Kafka's classes from
log directories and from a snapshot of the metadata (`--from FILE.checkpoint`). It prints a table like these for the
topics of a cluster, worst first. Where brokers have different settings it takes the worse, and says so. A metadata
version names the release only where nothing else does: brokers may be newer. With `--during controller-fail-over` or
`--during preferred-election` that happens meanwhile."""

Facts = Mapping[str, Any]
"""What the page has of a question: its cells, and what is written beside and below the tables."""


def cell(question: Question, release: str, min_isr: int) -> Answer:
    """The answer of one cell. A question that is about another min.insync.replicas has only one."""
    given = {} if "min_isr" in question.settings else {"min_isr": min_isr}
    return answer(question, settings_for(question, release=release, **given), alone=True)


def word(found: Answer) -> str:
    """An answer in a cell."""
    return "?" if found.says is Says.NOT_KNOWN else found.says.value


def mark(found: Answer) -> str:
    """Who has judged an answer: Kafka's classes, a cluster, or the models only; nothing where nobody has."""
    if found.judged_on:
        return " C"
    if any(found.settings.release in each.clusters for each in found.seen):
        return " S"
    return "" if found.says is Says.NOT_KNOWN else " M"


def rules_of(question: Question, release: str) -> tuple[Any, ...]:
    """What an answer rests on of a release: what is asked of which preset, and the findings that are about it."""
    settings = settings_for(question, release=release)
    asked = [(preset_named(MODELS[claim.model], release), why) for claim, why in claims_for(question, settings)]
    return (*asked, settings.has_elr, *(seen.name for seen in findings().values() if seen.is_of(release)))


def facts_of(name: str) -> Facts:
    """Each cell of a question. Releases whose rules are the same to its models are asked once."""
    question, asked = catalogue()[name], dict[tuple[Any, ...], Answer]()
    found: list[list[Answer]] = []
    for release in RELEASES:
        same = rules_of(question, release)
        answers = [asked.get((*same, each)) or cell(question, release, each) for each in MIN_ISR]
        found.append([evolve(each, settings=evolve(each.settings, release=release)) for each in answers])
        asked |= {(*same, each): answer for each, answer in zip(MIN_ISR, answers, strict=True)}
    print(f"{name}: {[[word(each) for each in answers] for answers in found]}", file=sys.stderr, flush=True)
    every = [each for answers in found for each in answers]
    seen = {each.name: each for answer in every for each in answer.seen if each.clusters}
    bounds = [bounds_in_words(part) for part in found[-1][-1].parts if part.result]
    whys = [
        f"{release}: {each.why_not_known}" if question.claims else each.why_not_known
        for release, answers in zip(RELEASES, found, strict=True)
        for each in answers
        if each.says is Says.NOT_KNOWN
    ]
    return {
        "cells": [
            " / ".join(dict.fromkeys(map(word, answers))) + (mark(answers[-1]) if release in JUDGED else "")
            for release, answers in zip(RELEASES, found, strict=True)
        ],
        "seen": "; ".join(f"[clusters of {', '.join(each.clusters)}](findings.md#{at})" for at, each in seen.items()),
        "helps": "; ".join(dict.fromkeys(one for each in every for one in each.workarounds)),
        "bounds": "; ".join(dict.fromkeys(bounds)),
        "whys": "; ".join(dict.fromkeys(whys)),
    }


def page(facts: Mapping[str, Facts]) -> Iterator[str]:
    """The page from what is known of each question."""
    yield from HEAD.splitlines()
    for group, title in GROUPS.items():
        yield from ("", f"## {title}", "", f"| question | {' | '.join(RELEASES)} | seen on | what helps |")
        yield "|" + "---|" * (len(RELEASES) + 3)
        for name, of in facts.items():
            if catalogue()[name].group == group:
                cells = " | ".join(of["cells"])
                yield f"| `{name}`: {catalogue()[name].words} | {cells} | {of['seen']} | {of['helps']} |"
    yield from ("", "## Bounds of a no", "", "| question | what may happen, at most |", "|---|---|")
    yield from (f"| `{name}` | {of['bounds']} |" for name, of in facts.items() if of["bounds"])
    yield from ("", "## Why it is not known", "")
    yield from (f"- `{name}`: {of['whys']}." for name, of in facts.items() if of["whys"])


def all_facts(names: Iterable[str]) -> dict[str, Facts]:
    """Ask some questions, several at the same time."""
    names = list(names)
    context = multiprocessing.get_context("spawn")  # a process that has threads is not to be forked
    found: dict[str, Facts] = {}
    for first in range(0, len(names), AT_ONCE):
        some = names[first : first + AT_ONCE]
        with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
            found |= zip(some, pool.map(facts_of, some), strict=True)
    return found


if __name__ == "__main__":
    PAGE.write_text("\n".join(page(all_facts(catalogue()))) + "\n", encoding="utf-8")
