"""The rules of the partition model: where each is read, what releases made of them, and what each of them is for."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import attrs
import pytest

from highwater.claims.resolving import toggles_of
from highwater.claims.spec import Spec, find_specs
from highwater.invariants.partition.catalogue import PARTITION
from highwater.model.language.declarations import Invariant, StepProperty
from highwater.model.language.graph_properties import Liveness
from highwater.model.partition.definition import define
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.releases import PRESETS, REPAIRED
from tests.gallery import loaded
from tests.model.partition_story import STEPS

ROOT = Path(__file__).parents[2]
CONFIGURATION = {"acks", "unclean_election", "consumer_reads_follower"}


def functions_that_read() -> dict[str, set[str]]:
    """The functions of the model that read each toggle."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "model" / "partition").glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if (
                        isinstance(node, ast.Attribute)
                        and isinstance(node.value, ast.Name)
                        and node.value.id in ("protocol", "self")
                    ):
                        found[node.attr].add(f"{path.stem}.{function.name}")
    return found


def test_every_rule_is_read_in_exactly_one_function() -> None:
    """So that a toggle changes one thing, and what it changes can be found. Configuration is not a rule."""
    readers = functions_that_read()
    for field in attrs.fields(PartitionProtocol):
        if field.name not in CONFIGURATION:
            assert len(readers[field.name]) == 1, (field.name, readers[field.name])


@pytest.mark.parametrize("prop", PARTITION, ids=lambda prop: prop.name)
def test_every_property_documents_its_kind_falsehood_and_source(
    prop: Invariant | StepProperty | Liveness,
) -> None:
    kinds = {StepProperty: ("step", "false"), Liveness: ("(always eventually|eventually always|leads to)", "violated")}
    kind, when = kinds.get(type(prop), ("state", "false"))
    assert re.search(
        rf"^    Kind: {kind}\.\n    When {when}: .+\n(    .*\n)*?    Source: .+", prop.__doc__, re.MULTILINE
    ), prop.__doc__


@pytest.mark.parametrize("name", STEPS)
def test_every_step_documents_actor_guard_effect_and_source(name: str) -> None:
    parts = re.findall(r"^    (Actor|Enabled|Effect|Source): .+", STEPS[name].__doc__, re.MULTILINE)
    assert parts == ["Actor", "Enabled", "Effect", "Source"]


def test_every_rule_has_a_meaning() -> None:
    for field in attrs.fields(PartitionProtocol):
        assert field.metadata["meaning"], field.name


def test_steps_that_a_protocol_cannot_take_are_left_out() -> None:
    names = {step.name for step in define(REPAIRED).actions}
    assert {"propose_expansion", "learn_isr"} <= names
    assert not {"expand_isr", "ask_where_to_truncate", "elect_uncleanly", "find_in_sync"} & names
    assert {"expand_isr", "ask_where_to_truncate", "elect_uncleanly"} <= {
        step.name for step in define(attrs.evolve(PRESETS["kafka-2.1"], unclean_election=True)).actions
    }


# The gallery

SPECS = [
    spec
    for path in find_specs([ROOT / "specs" / "partition"])
    if (spec := loaded(path)).path.parent.name != "releases" and not path.stem.startswith("kafka_")
]
VIOLATED = [spec for spec in SPECS if spec.file.expect.verdict.value == "violated"]

# KIP-966 is several toggles that only help together; min.insync.replicas is a bound.
NOT_ONE_RULE = {
    "the_last_replica_standing_loses_acknowledged_records",
    "not_committing_below_min_isr_is_not_enough",
    "one_copy_is_enough_for_acks_all_without_min_insync_replicas",
    "a_leader_refuses_records_while_its_isr_is_too_small",
    "two_copies_are_lost_in_one_power_failure_without_eligible_leader_replicas",
    "a_follower_truncates_the_last_copy_of_records_that_its_leader_lost",
    "an_isr_that_grows_and_shrinks_again_loses_acknowledged_records",
    "a_replica_that_was_dead_brings_deleted_records_back",  # in every release
    "a_move_to_another_directory_leaves_the_checkpoint_behind",  # the same; nothing is lost by it
    "a_leader_that_has_moved_to_another_directory_keeps_a_follower_out_of_the_isr",  # the same
}


def differing_rules(one: Spec, other: Spec) -> list[str]:
    ours, theirs = toggles_of(one.protocol), toggles_of(other.protocol)
    return [name for name in ours if ours[name] != theirs[name]]


def rules_between(spec: Spec) -> list[list[str]]:
    """In which rules a violated claim differs from each claim that holds within the same bounds and speaks of
    the same.
    """
    return [
        differing_rules(spec, other)
        for other in SPECS
        if other.file.expect.verdict.value == "holds"
        and other.bounds == spec.bounds
        and set(spec.properties) <= set(other.properties)
    ]


def defended_by(spec: Spec) -> set[str]:
    """The rules of which one, set right, turns a violated claim into one that holds."""
    return {rules[0] for rules in rules_between(spec) if len(rules) == 1}


@pytest.mark.parametrize("spec", VIOLATED, ids=lambda spec: spec.name)
def test_every_flaw_is_one_rule_away_from_a_protocol_that_holds_within_the_same_bounds(spec: Spec) -> None:
    assert bool(defended_by(spec)) != (spec.name in NOT_ONE_RULE)


# Rules without a pair in the gallery, and why.
UNDEFENDED = {
    "effective_min_isr",  # counts only where min.insync.replicas is larger than the replicas are many
    "repeated_change_succeeds",  # otherwise a leader waits for LeaderAndIsr: liveness
    "truncation_lowers_high_watermark",  # a leader begins at the log's start instead, and a follower tells nobody
    "consumer_reads_follower",  # configuration; consumers of followers need it
    "elr",  # with the next two, what KIP-966 is made of; half of it is worse than none
    "isr_may_be_empty",
    "unclean_shutdown_removes_from_elr",
    "high_watermark_waits_for_non_isr",  # the same
    "high_watermark_recheck_on_every_fetch",  # otherwise it moves a fetch or an append later
    "inflight_cleared_by_leader_and_isr",  # otherwise a second request can be on its way: liveness
    "isr_path",  # two ways to the same end
    "isr_shrink_bumps_leader_epoch",  # an epoch more than needed
    "shrink_spares_caught_up",  # otherwise an idle follower leaves the ISR: liveness
    "newer_isr_restarts_epoch",  # a later start keeps followers out longer: liveness
    "leader_checks",  # the controller refuses in any case
    "demote_during_shutdown",  # otherwise who leaves leads on in its old epoch, in which nobody fetches: clients wait
    "reset_follower_state",  # the newest release has it wrong: see the claims about releases
}


def test_the_gallery_defends_every_rule_but_these() -> None:
    defended = {rule for spec in VIOLATED for rule in defended_by(spec)}
    rules = {field.name for field in attrs.fields(PartitionProtocol)}
    assert rules - defended == UNDEFENDED
