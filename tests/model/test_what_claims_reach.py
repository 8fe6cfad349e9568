"""Every statement of actions and properties is reached by a claim, or is listed here with a reason why it is not."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from highwater.claims.checking import check_spec
from highwater.claims.spec import Spec, find_specs, load_spec
from highwater.explorer.search.levels.coverage import never_ran, together
from highwater.explorer.verdict import Called
from tests.mutations import ROOT, files_of
from tests.mutations import functions as functions_in

SMALL = 3_000  # states of a claim that is searched in any case
LARGER: dict[str, tuple[str, ...]] = {
    "partition": (
        "a_partition_settles_after_a_crash_a_move_and_a_shrink", "retention_keeps_the_high_watermark_inside_the_log",
        "the_high_watermark_waits_for_replicas_that_keep_up",
        "a_follower_truncates_the_last_copy_of_records_that_its_leader_lost",
        "clients_of_three_brokers_never_read_back", "kip_320_keeps_committed_records",
        "kafka_3_0_moves_the_high_watermark", "kafka_4_1_keeps_records_over_a_rolling_restart_that_waits_for_the_isr",
        "the_last_member_of_the_isr_cannot_be_reassigned_away", "comparing_the_last_epoch_only_commits_too_early",
        "a_second_request_in_a_newer_epoch_loses_nothing", "a_checkpoint_of_all_partitions_forgets_nothing",
        "counting_followers_of_an_old_epoch_commits_too_early",
        "a_slow_follower_joins_an_isr_that_is_large_enough_again_and_again",
        "until_3_5_the_high_watermark_waits_for_fenced_replicas_too",
        "a_removed_replica_is_elected_with_an_empty_log",
    ),
    "controller": (
        "a_leader_epoch_noted_after_the_role_change_can_be_sent_again",
        "a_reassignment_that_waits_for_new_replicas_alone_completes",
        "the_published_order_survives_a_crash_between_any_two_steps",
        "a_deposed_controller_revives_a_replica_of_a_deleted_topic",
        "a_new_controller_that_requires_live_targets_drops_the_reassignment",
        "after_a_cancelled_reassignment_a_leader_acts", "waiting_for_added_replicas_alone_leaves_too_few_copies",
        "starting_new_replicas_before_the_assignment_is_written_does_no_harm",
        "metadata_that_has_every_epoch_bump_lets_clients_in",
        "a_leader_epoch_noted_before_the_role_change_leaves_the_replica_idle",
        "waiting_for_the_whole_target_hangs_on_a_replica_that_is_down",
        "a_deposed_controller_writes_nothing_of_a_reassignment", "a_response_after_the_deletion_changes_nothing",
    ),
    "kraft": (
        "cancelling_while_all_replicas_run_loses_the_only_complete_one",
        "a_broker_that_has_read_half_of_a_decision_learns_the_rest", "an_emptied_replica_before_3_5_joins_the_isr",
        "a_cancelled_reassignment_keeps_the_only_complete_replica",
        "a_new_topic_keeps_its_records_whatever_became_of_the_old_one", "a_refused_partition_holds_back_no_other",
        "a_reassignment_that_waits_for_added_replicas_alone_leaves_too_few_in_sync",
        "a_cancelled_reassignment_loses_the_only_complete_replica",
        "a_topic_is_not_created_while_all_its_replicas_are_fenced",
        "kafka_4_3_never_registers_a_broker_that_was_eligible",
    ),
}  # fmt: skip
"""Claims of more states that together reach what the small ones do not."""

UNREACHED: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "unreached.toml").read_text(encoding="utf-8")
)

SPECS = [load_spec(path) for path in find_specs([ROOT / "specs"])]


@pytest.mark.slow
@pytest.mark.parametrize("model", UNREACHED)
def test_what_no_claim_reaches_is_listed_with_a_reason(model: str) -> None:
    found = [function for spec in searched(model) for function in check_spec(spec, coverage=True).outcome.functions]
    assert set(unreached(model, found)) == set(UNREACHED[model])


def test_each_reason_is_for_a_statement_that_is_there() -> None:
    for model, listed in UNREACHED.items():
        for name in listed:
            file, line = place_of(name)
            assert Path(file) in files_of(model) and line, name


def test_the_larger_claims_are_larger() -> None:
    states = {spec.name: spec.file.expect.distinct_states or 0 for spec in SPECS}
    assert {name for names in LARGER.values() for name in names if states[name] <= SMALL} == set()


def searched(model: str) -> list[Spec]:
    """The claims of a model that are small, and the others that together reach what these do not."""
    of_model = [spec for spec in SPECS if spec.file.model == model]
    return [spec for spec in of_model if (spec.file.expect.distinct_states or 0) <= SMALL or spec.name in LARGER[model]]


def unreached(model: str, found: Iterable[Called]) -> Iterator[str]:
    """The names of statements that never ran, and of functions that nobody called."""
    functions = together(found)
    for function in functions:
        for missed in never_ran(function):
            lines = Path(function.file).read_text(encoding="utf-8").splitlines()[function.first_line : missed.line]
            number = sum(line.strip() == missed.text for line in lines)
            name = f"{named(function.file)}#{function.name}: {missed.text}"
            yield name if number == 1 else f"{name} ({number})"
    called = {(str(Path(function.file).resolve()), function.name) for function in functions}
    for path in files_of(model):
        for name, _ in functions_in(ast.parse(path.read_text(encoding="utf-8"))):
            if (str(path), name) not in called:
                yield f"{named(path)}#{name}"


def place_of(name: str) -> tuple[str, int]:
    """The file and the line of an entry of UNREACHED; of a function, the first line of its body."""
    file, _, rest = name.partition("#")
    function, _, text = rest.partition(": ")
    text, number = (text[:-4], int(text[-2])) if re.search(r" \(\d\)$", text) else (text, 1)
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    (body,) = [each for name, each in functions_in(tree) if name == function]
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    within = range(body.lineno + 1, (body.end_lineno or 0) + 1)
    at = [line for line in within if lines[line - 1].strip() == text] if text else [body.body[-1].lineno]
    return str(ROOT / file), at[number - 1]


def named(path: str | Path) -> str:
    return Path(path).resolve().relative_to(ROOT).as_posix()
