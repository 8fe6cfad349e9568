"""What docs/controller.md shows of the model is the model: diagrams and tables from the edges, and a walk that was
really taken.

HIGHWATER_WRITE_DOCS=1 writes the page's generated parts anew.
"""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import pytest

from highwater.claims.resolving import toggles_of
from highwater.explorer.trace import changes
from highwater.model.controller import partition_states, replica_states
from highwater.model.controller.releases import PRESETS, RELEASES, REPAIRED
from highwater.model.controller.state import Cluster
from highwater.model.controller.transitions import mermaid, table
from highwater.model.language.records import domain_of
from tests.model.controller.walk import Walk

PAGE = Path(__file__).parents[3] / "docs" / "controller.md"


def diagram(edges: tuple) -> str:
    return f"```mermaid\n{mermaid(edges)}```\n\n{table(edges)}"


def presets() -> str:
    """How the presets differ: with which of them a rule begins, and what the repaired protocol makes of it."""
    rules = {name: toggles_of(PRESETS[name]) for name in RELEASES}
    first, *_, last = rules.values()
    lines = [f"| toggle | `{next(iter(rules))}` | then | `repaired` |", "|---|---|---|---|"]
    for toggle, repaired in toggles_of(REPAIRED).items():
        changes = [
            f"{shown(after[toggle])} from `{name}` on"
            for (_, before), (name, after) in itertools.pairwise(rules.items())
            if after[toggle] != before[toggle]
        ]
        if changes or repaired != last[toggle]:
            other = shown(repaired) if repaired != last[toggle] else ""
            lines.append(f"| `{toggle}` | {shown(first[toggle])} | {', '.join(changes)} | {other} |")
    return "\n".join(lines) + "\n"


def shown(value: object) -> str:
    return str(value).lower()


def walkthrough() -> str:
    """The single replica of a partition moves from b0 to b1; every step with what it changes."""
    walk = Walk(replication_factor=1)
    domain = domain_of(Cluster, walk.bounds)
    lines = ["```"]

    def take(name: str, **arguments: object) -> None:
        before, step = walk.cluster, walk.cluster.controllers[0].step
        walk(name, **arguments)
        title = (
            f"{name} ({step.value})"
            if name == "take_next_step"
            else name + (f" b{arguments['broker']}" if "broker" in arguments else "")
        )
        told = [
            str(change)
            for change in changes(domain, before, walk.cluster)
            if not change.path.startswith(("used", "history"))
        ]
        lines.append(title)
        lines.extend(f"    {each}" for each in told)

    def deliver() -> None:
        for broker in (0, 1):
            while walk.cluster.queues[0][broker]:
                take("receive", controller=0, broker=broker)

    take("request_reassignment", target=(1,))
    take("notice_reassignment", controller=0)
    while walk.context.step is not None:
        take("take_next_step", controller=0)
        deliver()
    take("expand_isr", leader=0, follower=1)
    take("notice_caught_up_replicas", controller=0)
    while walk.context.step is not None:
        take("take_next_step", controller=0)
        deliver()
    return "\n".join([*lines, "```"]) + "\n"


PARTS = {
    "replica states": lambda: diagram(replica_states.EDGES),
    "partition states": lambda: diagram(partition_states.EDGES),
    "presets": presets,
    "walk": walkthrough,
}


def part_of(page: str, name: str) -> re.Match:
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->\n", page, re.DOTALL)
    assert found, f"docs/controller.md has no part <!-- {name} --> ... <!-- end -->"
    return found


@pytest.mark.parametrize("name", PARTS)
def test_the_page_shows_the_model_as_it_is(name: str) -> None:
    page, wanted = PAGE.read_text(encoding="utf-8"), PARTS[name]()
    if os.environ.get("HIGHWATER_WRITE_DOCS"):
        found = part_of(page, name)
        PAGE.write_text(page[: found.start(1)] + wanted + page[found.end(1) :], encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
    assert part_of(page, name)[1] == wanted


def test_the_page_names_every_claim_about_the_model_and_no_other() -> None:
    specs = PAGE.parents[1] / "specs"
    claims = {path.relative_to(specs).with_suffix("").as_posix() for path in (specs / "controller").rglob("*.toml")}
    assert set(re.findall(r"\[`([a-z0-9_/]+)`\]", PAGE.read_text(encoding="utf-8"))) == claims
