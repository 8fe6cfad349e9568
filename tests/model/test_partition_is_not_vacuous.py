"""Nothing in the partition model is there for nothing: every step is taken and every rule matters, in some claim of the
repository.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.claims.resolving import toggles_of
from highwater.claims.spec import load_spec
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.verdict import Budget, Outcome
from highwater.model.partition.definition import define
from highwater.model.partition.protocol import (
    FollowerReset,
    IsrPath,
    LeaderChecks,
    PartitionProtocol,
    ShrinkStartsEpoch,
    WaitsForNonIsr,
)
from tests.model.partition_story import STEPS
from tests.model.test_partition_rules import UNDEFENDED

SPECS = Path(__file__).parents[2] / "specs" / "partition"
ENOUGH = Budget(max_states=8_000)

# Small claims that take every step between them, each with what the ones before it do not take.
TAKEN = {
    "isr_agreement/an_isr_that_grows_and_shrinks_again_keeps_acknowledged_records": (
        "produce fetch receive_fetch lose_fetch learn_leadership learn_isr propose_expansion propose_shrink "
        "alter_partition receive_isr_answer crash_with_loss fence restart unfence"
    ),
    "truncation/a_follower_overtaken_by_its_leader_starts_with_an_empty_log": (
        "elect elect_uncleanly expand_isr shrink_isr fetch_at_once handle_out_of_range"
    ),
    "durability/an_answered_deletion_holds_while_every_replica_is_alive": "answer_deletion",
    "truncation/a_replica_that_moves_to_another_directory_keeps_committed_records": "move_replica",
    "liveness/a_producer_whose_metadata_are_out_of_date_finds_the_leader": "ask_for_metadata",
    "truncation/kip_279_cuts_between_batches": "produce_batch",
    "truncation/fetches_that_travel_both_ways_keep_committed_records": "move_leadership send_fetch serve_fetch",
    "isr_agreement/a_deposed_controller_that_refuses_costs_time_only": "ask_deposed_controller lose_isr_answer",
    "isr_expansion/a_replica_removed_and_added_again_has_to_fetch_first": "add_replica remove_replica",
    "isr_agreement/a_leader_that_its_own_request_takes_away_commits_nothing_more": "begin_removal complete_removal",
    "durability/the_last_known_leader_is_elected_once_it_is_active": "elect_last_known_leader",
    "releases/a_controlled_shutdown_hands_leadership_over": "begin_controlled_shutdown end_controlled_shutdown",
    "durability/a_checkpoint_of_used_partitions_only_forgets_a_high_watermark": "checkpoint_high_watermark crash",
    "durability/a_leader_refuses_records_while_its_isr_is_too_small": "refuse_record",
    "durability/a_refused_record_stays_hidden": "give_up",
    "durability/a_new_leader_waits_until_it_knows_the_end_offset": "ask_end_offset",
    "isr_agreement/a_leader_that_reads_again_waits_for_the_isr_that_it_wrote": "lose_written_isr ask_where_to_truncate",
    "truncation/consumers_of_followers_read_only_committed_records": "consume",
    "isr_expansion/the_high_watermark_waits_for_replicas_that_keep_up": "outlast_lag_time",
    "isr_expansion/reading_a_follower_twice_mixes_two_incarnations": "find_in_sync",
    "releases/retention_keeps_the_high_watermark_inside_the_log": "delete_old_records",
    "isr_agreement/followers_that_leave_the_isr_together_stay_eligible_together": "propose_joint_shrink",
    "isr_agreement/followers_that_leave_the_isr_with_one_write_are_waited_for_until_then": "shrink_isr_jointly",
}

# For each rule without a pair, a small claim whose states are others under another value of the rule.
MATTERS: dict[str, tuple[str, Any]] = {
    "consumer_reads_follower": ("truncation/consumers_of_followers_read_only_committed_records", False),
    "effective_min_isr": ("durability/a_min_isr_above_the_number_of_replicas_counts_as_that_number", False),
    "repeated_change_succeeds": ("isr_agreement/a_proposal_stays_open_until_its_outcome_is_known", True),
    "truncation_lowers_high_watermark": ("truncation/a_broker_ahead_of_its_leader_truncates", False),
    "elr": ("isr_agreement/committing_with_the_maximal_isr_waits_for_replicas_that_may_be_elected", False),
    "high_watermark_waits_for_non_isr": (
        "isr_expansion/the_high_watermark_waits_for_replicas_that_keep_up",
        WaitsForNonIsr.NO,
    ),
    "high_watermark_recheck_on_every_fetch": (
        "isr_expansion/the_high_watermark_waits_for_replicas_that_keep_up",
        True,
    ),
    "inflight_cleared_by_leader_and_isr": ("isr_agreement/a_second_request_in_a_newer_epoch_loses_nothing", False),
    "isr_may_be_empty": ("durability/two_copies_survive_one_power_failure", False),
    "isr_path": ("durability/a_refused_record_stays_hidden", IsrPath.ZK_CAS),
    "isr_shrink_bumps_leader_epoch": ("durability/a_refused_record_stays_hidden", ShrinkStartsEpoch.ALWAYS),
    "leader_checks": ("isr_expansion/a_fenced_replica_stays_out_of_the_isr", LeaderChecks.NOTHING),
    "demote_during_shutdown": ("releases/a_controlled_shutdown_hands_leadership_over", False),
    "newer_isr_restarts_epoch": ("durability/a_refused_record_stays_hidden", True),
    "reset_follower_state": ("durability/acks_all_keeps_acknowledged_records", FollowerReset.NEVER),
    "shrink_spares_caught_up": ("durability/a_refused_record_stays_hidden", False),
    "unclean_shutdown_removes_from_elr": ("durability/the_last_known_leader_is_elected_once_it_is_active", False),
}


@functools.cache
def explored(claim: str, protocol: PartitionProtocol | None = None) -> Outcome:
    """The states of a claim, those that lie deep left out where there are many; of all its states, whether or not they
    are good.
    """
    spec = load_spec(SPECS / f"{claim}.toml")
    protocol = protocol or spec.protocol
    return breadth_first.explore(build_system(define(protocol), protocol, spec.bounds, ()), ENOUGH)


def test_every_step_is_named() -> None:
    assert {step for steps in TAKEN.values() for step in steps.split()} == set(STEPS)


@pytest.mark.parametrize("claim", TAKEN)
def test_every_step_is_taken_in_some_claim(claim: str) -> None:
    enabled = explored(claim).enabled
    assert all(enabled[step] for step in TAKEN[claim].split()), enabled


def test_every_rule_without_a_pair_is_named() -> None:
    """A rule with a pair matters: one of the two is violated, and the other holds."""
    assert set(MATTERS) == UNDEFENDED


@pytest.mark.parametrize("rule", MATTERS)
def test_every_rule_without_a_pair_changes_what_can_be_reached_in_some_claim(rule: str) -> None:
    claim, value = MATTERS[rule]
    as_it_is = load_spec(SPECS / f"{claim}.toml").protocol
    other = type(getattr(as_it_is, rule))(value)
    assert toggles_of(as_it_is)[rule] != value
    one, two = explored(claim), explored(claim, attrs.evolve(as_it_is, **{rule: other}))
    assert (one.levels, one.generated) != (two.levels, two.generated)
