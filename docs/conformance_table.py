"""Holds claims against releases of Kafka, and writes docs/conformance.json and docs/conformance.md. Needs a JDK, and
Maven the first time.

    python docs/conformance_table.py [rows | mutations | further | page] [RELEASE...]

`rows` executes each claim, `mutations` finds out which changed rules a release contradicts, `further` goes on where
that was interrupted, `page` only writes the page anew; without one of these words it is the first two. Without a
RELEASE it is all releases; what was found of others stays.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance_page import NEWEST, RELEASES, Found, covered, page, row

from highwater.claims.conformance import Session, Wanted, with_another_preset
from highwater.claims.contradicting import Judgement, judging
from highwater.claims.spec import Spec, load_spec
from highwater.conformance.coverage import Measured
from highwater.conformance.distribution import find
from highwater.conformance.process import Harness

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "conformance.json"
PARTS = ("rows", "mutations", "further", "page")
UNASKED = ("rows", "mutations")
CLAIMS = (
    "truncation/truncating_on_fetch_keeps_committed_records",
    "truncation/fetches_that_travel_both_ways_keep_committed_records",
    "truncation/consumers_of_followers_read_only_committed_records",
    "durability/a_refused_record_stays_hidden",
    "durability/a_checkpoint_of_all_partitions_forgets_nothing",
    "durability/an_unclean_election_loses_acknowledged_records",
    "isr_agreement/a_proposal_stays_open_until_its_outcome_is_known",
    "isr_expansion/a_restarted_replica_joins_the_isr_after_it_has_caught_up",
    "isr_expansion/the_high_watermark_waits_for_replicas_that_keep_up",
    "isr_expansion/a_replica_removed_and_added_again_has_to_fetch_first",
    "releases/a_controlled_shutdown_hands_leadership_over",
    "releases/retention_keeps_the_high_watermark_inside_the_log",
    "truncation/a_replica_that_moves_to_another_directory_keeps_committed_records",
    "liveness/a_log_that_starts_inside_a_batch_reaches_followers",
    "promises/kafka_3_9_1_keeps_its_promises_while_two_produce_requests_time_out",
    "promises/kafka_4_1_keeps_its_other_promises_while_an_answer_is_lost",
    "promises/kafka_4_1_keeps_its_other_promises_while_a_broker_of_the_elr_shuts_down_and_returns",
    "promises/kafka_4_1_keeps_its_other_promises_while_an_unclean_election_is_allowed",
    "isr_agreement/followers_that_leave_the_isr_together_stay_eligible_together",
    "durability/a_leader_refuses_records_while_its_isr_is_too_small",
    "isr_agreement/a_leader_that_its_own_request_takes_away_commits_nothing_more",
    "liveness/a_leader_that_was_elected_uncleanly_gets_its_followers_back",
    "durability/a_min_isr_above_the_number_of_replicas_counts_as_that_number",
)
NEWEST_ONLY = (
    "truncation/fetches_of_several_batches_keep_committed_records",
    "durability/eligible_leader_replicas_keep_every_candidate_complete",
    "durability/the_last_known_leader_is_elected_once_it_is_active",
    "releases/three_brokers_survive_a_power_failure_and_a_lost_session",
    "durability/a_removed_replica_is_elected_with_an_empty_log",
)
"""Claims beside these, the largest, that are held against the newest release alone."""


def claimed(claim: str, preset: str) -> Spec:
    """A claim under the preset of a release."""
    return with_another_preset(load_spec(ROOT / "specs" / "partition" / f"{claim}.toml"), preset)


# Executing


def rows(session: Session, claims: Sequence[str], preset: str) -> dict[str, Found]:
    """What comes of executing claims."""
    found = {}
    for claim in claims:
        each = session.conform(claimed(claim, preset), Wanted())
        parted = [by.kind for by in each.divergences]
        found[claim] = {
            "paths": {name: [each.executed.get(name, 0), count] for name, count in sorted(each.reachable.items())},
            "steps": each.findings.steps,
            "all_states": each.complete,
            "divergences": sorted([name, refused, sorted(of)] for name, refused, of in parted),
        }
        print(row(claim, each.kafka, preset, found[claim]), end="", flush=True)
    return found


def mutations(session: Session, preset: str, before: Found, likely: dict[str, str]) -> Iterator[Found]:
    """Of each changed rule what the release says to it and which claim has judged that, after each claim; and which
    claims have been tried. It goes on from what was known before.
    """
    tried, found = [*before.get("tried", [])], dict(before.get("mutations", {}))
    kinds = {
        claimed(claim, preset).path: {(name, refused, frozenset(of)) for name, refused, of in each["divergences"]}
        for claim, each in before["rows"].items()
    }
    specs = [claimed(claim, preset) for claim in before["rows"] if claim.rpartition("/")[2] not in tried]
    settled = {key for key, (judgement, _) in found.items() if judgement == Judgement.CONTRADICTED.value}
    for name, judgements in judging(session, specs, Wanted(), print, kinds, likely, settled):
        tried += [name] if name else []
        for each in judgements:
            now = [each.judgement.value, each.claim]
            if each.change.key not in settled:
                found[each.change.key] = min(found.get(each.change.key, now), now, key=_rank)
        yield {"mutations": found, "tried": tried}


def _rank(judgement: list[str]) -> int:
    return [each.value for each in Judgement].index(judgement[0])


def executed(release: str, preset: str, part: str, before: dict[str, Found]) -> Iterator[Found]:
    """What is found of a release, with one part anew, as far as it has come. What has contradicted a rule anywhere is
    tried first.
    """
    found, claims = before.get(release, {}) | {"preset": preset}, CLAIMS + NEWEST_ONLY * (release == NEWEST)
    with Measured(find(release)) if release == NEWEST and part == "rows" else Harness(find(release)) as harness:
        session = Session(harness)
        if part == "rows":
            found["rows"] = rows(session, claims, preset)
            yield found | ({"coverage": covered(harness.coverage())} if isinstance(harness, Measured) else {})
        else:
            judgements = [judgement for each in before.values() for judgement in each.get("mutations", {}).items()]
            likely = {key: claim for key, (judgement, claim) in judgements if judgement == Judgement.CONTRADICTED.value}
            begun = found if part == "further" else found | {"mutations": {}, "tried": []}
            for each in mutations(session, preset, begun, likely):
                yield found | each


def _kept(found: dict[str, Found]) -> str:
    """What was found as JSON, a line for each claim."""
    text = json.dumps(found, indent=1)
    return re.sub(r"\n {4,}|\n {3}(?=[]}])", " ", text) + "\n"


def main() -> None:
    """Execute what is asked for, and write the page."""
    words = sys.argv[1:]
    releases = [each for each in words if each not in PARTS]
    if unknown := [each for each in releases if each not in dict(RELEASES)]:
        sys.exit(f"{unknown[0]} is no release of the page; allowed are {', '.join([*PARTS, *dict(RELEASES)])}")
    parts = [each for each in PARTS if each in words] or UNASKED
    found: dict[str, Found] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for release, preset in RELEASES:
        for part in parts if not releases or release in releases else ():
            for now in executed(release, preset, part, dict(found)) if part != "page" else ():
                found[release] = now
                KEPT.write_text(_kept({each: found[each] for each, _ in RELEASES if each in found}), encoding="utf-8")
    (ROOT / "docs" / "conformance.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
