"""Writes docs/conformance.md: claims held against releases of Kafka. Needs a JDK, and Maven the first time.

python docs/conformance_table.py [RELEASE...]
"""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.distribution import find
from conformance.process import Harness
from highwater.claims.conformance import Conformance, Session, Wanted, with_another_preset
from highwater.claims.spec import load_spec

ROOT = Path(__file__).parents[1]
RELEASES = (("3.5.1", "kafka-3.5"), ("3.9.1", "kafka-3.9.1"), ("4.1.1", "kafka-4.1"), ("4.3.1", "kafka-4.1"))
CLAIMS = (
    "truncation/truncating_on_fetch_keeps_committed_records",
    "truncation/fetches_that_travel_both_ways_keep_committed_records",
    "durability/a_refused_record_stays_hidden",
    "isr_expansion/a_restarted_replica_joins_the_isr_after_it_has_caught_up",
)
KNOWN = {
    ("propose_expansion", "maximal ISR"): (
        "Of the harness: the model stands between the two looks at a follower of 3.5, which are one call here."
    ),
    ("produce", "high watermark"): (
        "Of the harness: between the two looks at a follower the real leader holds the lock that an append needs."
    ),
    ("send_fetch", "fetch"): (
        "An open error of the model: after an empty answer in a new leader epoch the thread forgets the last "
        "fetched epoch (`AbstractFetcherThread#processFetchRequest`), and its next fetch names none."
    ),
}
HEAD = """# What running Kafka says

Written by `python docs/conformance_table.py`; [conform.md](conform.md) says what is executed and
compared. Each claim is taken under the preset of the release. "Agrees" means that every reachable
path of every mapped action was executed, and that both sides were the same after each step. A run
ends at its first divergence, so that paths behind one are not executed.

| claim | Kafka | preset | paths executed | steps | verdict |
|---|---|---|---|---|---|
"""


def kinds(found: Conformance) -> list[tuple[str, str]]:
    """Each kind of divergence as action and first field, without broker names."""
    return sorted({(each.kind[0], sorted(each.kind[2])[0]) for each in found.divergences})


def row(claim: str, preset: str, found: Conformance) -> str:
    """A row of the table."""
    executed, reachable = sum(found.executed.values()), sum(found.reachable.values())
    verdict = (
        "agrees"
        if found.agrees
        else "diverges: " + ", ".join(f"`{action}` ({field})" for action, field in kinds(found))
    )
    name = claim.rpartition("/")[2]
    paths = f"{executed:,} of {reachable:,}"
    return (
        f"| [{name}](../specs/partition/{claim}.toml) | {found.kafka} | {preset} | {paths} | {found.findings.steps:,} "
        f"| {verdict} |\n"
    )


def main() -> None:
    """Run all claims on all releases, and write the page."""
    text, met = HEAD, set()
    for release, preset in (
        (release, preset) for release, preset in RELEASES if release in (sys.argv[1:] or [release])
    ):
        with Harness(find(release)) as harness:
            session = Session(harness)
            for claim in CLAIMS:
                spec = with_another_preset(load_spec(ROOT / "specs" / "partition" / f"{claim}.toml"), preset)
                found = session.conform(spec, Wanted())
                met.update(kinds(found))
                text += row(claim, preset, found)
                print(text.splitlines()[-1], flush=True)
    text += "\n## Divergences\n\n"
    for kind in sorted(met):
        action, field = kind
        text += f"- `{action}`, {field}: {KNOWN.get(kind, 'not explained yet.')}\n"
    (ROOT / "docs" / "conformance.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
