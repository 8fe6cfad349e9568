"""What some claims of the gallery come to in this tree, with an audit, a certificate or neither: `tests.engine_mutants
--audit` asks.

    python -m tests.audited none               what each claim comes to
    python -m tests.audited quick CLAIM ...    whether the default audit contradicts, for some claims
    python -m tests.audited verify CLAIM ...   whether the verifier refuses what the search certifies

Prints a JSON object. Each claim is searched twice, the second time with the trees of the first. What a search does only
where it stores many states it does from the first ones on here: filters, wide nodes, a visited set that grows, and rows
that are folded.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from highwater.claims.spec import load_spec
from highwater.explorer.blame import JudgedOtherwise
from highwater.explorer.search.engine import engine
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain.certifying import certificate_of
from highwater.explorer.search.states import folded, scratch, store
from highwater.explorer.verdict import Auditing, Budget, Found, Outcome, SearchOptions
from highwater.explorer.verifier.sums import Refused
from highwater.explorer.verifier.verdicts import verify

SPECS = Path(__file__).parents[1] / "specs"
CLAIMS = (
    "fencing/kip_320_keeps_committed_records_on_two_brokers",
    "truncation/kip_101_fails_on_two_brokers",
    "isr_agreement/two_brokers_agree_on_the_isr",
    "controller/fail_over/a_controller_that_has_resigned_elects_nobody",
    "controller/fail_over/a_broker_that_requires_a_newer_leader_epoch_never_goes_back",
    "controller/fail_over/alter_partition_keeps_a_dead_follower_out_of_the_isr",
    "controller/deletion/a_new_controller_resumes_deletions",
    "partition/durability/acks_all_keeps_acknowledged_records",
    "partition/truncation/truncating_on_fetch_keeps_committed_records",
    "partition/liveness/a_slow_follower_stays_out_of_a_small_isr",
    "kraft/a_controlled_shutdown_completes",
    "kraft/promises/kafka_4_3_keeps_its_promises_while_one_of_three_brokers_crashes_and_returns",
    "kraft_reference/kafka_3_5_starts_a_broker_again_as_its_specification_says",
    "quorum_reference/two_voters_replicate_or_give_up_every_value",
    "kraft/a_smaller_isr_begins_a_leader_epoch",
    "partition/durability/a_new_leader_gives_clients_an_older_end_offset",
    "controller/fail_over/a_broker_that_bounces_unseen_stays_idle",
    "controller/fail_over/an_isr_that_its_last_member_leaves_is_empty",
    "controller/liveness/an_isr_change_that_a_deposed_controller_fences_is_never_settled",
    "kraft_reference/kip_966_leaves_a_lone_replica_without_a_leader",
)


def low_thresholds() -> None:
    """Let some hundred states cross what else takes many."""
    engine.ROWS_WORTH_A_FILTER, engine.FILTERS_LAST_UNTIL = 8, 4
    engine.SAMPLE, engine.WIDE_SAMPLE = 16, 32
    scratch.BATCH, scratch.RECENT = 8, 64
    store.FIRST_TABLE, store.RESERVED_ROWS = 256, 4
    store.FOLD_FROM, folded.MOST_OF_FLAT, folded.FEWEST_BYTES, folded.FIRST_INDEX = 1 << 12, 1e9, 2, 16


def comparable(outcome: Outcome) -> dict[str, Any]:
    """The verdict and the counts."""
    counts = ("levels", "generated", "enabled", "bounds_cut", "deadlocks", "stopped_at_bound", "held_back", "vacuous")
    found = {violation.property: violation.trace_length for violation in outcome.violations}
    return {"verdict": outcome.verdict.value, "violated": found, **{name: getattr(outcome, name) for name in counts}}


def searched(claim: str, judge: str) -> Any:
    """What a claim comes to; or how its search ended."""
    spec, found = load_spec(SPECS / f"{claim}.toml"), list[Found]()
    system, verifies = spec.system(), judge == "verify"
    options = SearchOptions(
        keep_trees=True,
        workers=1,
        symmetry=not (verifies and system.liveness),
        audit=None if verifies else Auditing(judge),
    )
    try:
        outcome = breadth_first.explore(
            system,
            Budget(max_depth=spec.file.max_depth),
            options,
            check_deadlock=spec.check_deadlock,
            on_found=found.append if verifies else None,
        )
        if judge == "verify":
            certificate = certificate_of(system, outcome, next(iter(found), None), claim=claim, spec={}, code={})
            verify(certificate, system, no_deadlock=spec.check_deadlock)
        return comparable(outcome)
    except (JudgedOtherwise, Refused) as contradiction:
        return {"contradicted": str(contradiction).splitlines()[0][:200]}
    except Exception as error:  # whatever it is, nobody takes it for a verdict
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


def main() -> None:
    low_thresholds()
    judge, *claims = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        found = {claim: [searched(claim, judge) for _ in range(1 + (judge != "verify"))] for claim in claims or CLAIMS}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
