"""What is committed, what a fail-over loses, and who has which answer."""

from __future__ import annotations

from typing import Any

import pytest

from highwater.model.kraft.protocol import AheadOfController
from tests.model.kraft.story import Row

LATER = {"uncommitted": 2}
TWO = {"controllers": 2}
FENCES = {"ahead_of_controller_error": AheadOfController.FENCED}
SHRINK = "propose_shrink b0 b2, answer_alter_partition b0"
STOPPED_ELIGIBLE = (
    "propose_shrink b0 b1, answer_alter_partition b0, commit_batch, begin_shutdown b1, grant_shutdown b1, commit_batch,"
    " stop b1"
)

ROWS = [
    Row(
        "ControllerWriteEvent#run: the active controller has its effect in memory, brokers do not have it",
        "4.3",
        "crash b1, fence b1, read_metadata b0",
        {"partition.isr": {0, 2}, "b0.view.isr": {0, 1, 2}, "tail": 1},
        bounds=LATER,
    ),
    Row(
        "handleCommit: brokers can read what is committed",
        "4.3",
        "crash b1, fence b1, commit_batch, read_metadata b0",
        {"b0.view.isr": {0, 2}, "tail": 0},
        bounds=LATER,
    ),
    Row(
        "ControllerWriteEvent#run: the second decision is made on top of the first",
        "4.3",
        "crash b1, fence b1, crash b0, fence b0, commit_batch",
        {"partition.isr": {2}, "partition.leader": 2, "committed.partition.isr": {0, 2}, "tail": 1},
        bounds=LATER,
    ),
    Row(
        "renounce: what is not committed is reverted",
        "4.3",
        "crash b1, fence b1, fail_over 0",
        {"partition.isr": {0, 1, 2}, "r1.standing": "unfenced", "tail": 0},
        bounds=LATER,
    ),
    Row(
        "claim: the new controller keeps what it has, and it is committed later",
        "4.3",
        "crash b1, fence b1, crash b2, fence b2, fail_over 1, read_metadata b0",
        {"partition.isr": {0, 2}, "b0.view.isr": {0, 1, 2}, "tail": 1, "r2.standing": "unfenced"},
        bounds=LATER,
    ),
    Row(
        "DeferredEventQueue#completeUpTo: a leader has its answer once the batch is committed",
        "4.3",
        SHRINK,
        {"b0.proposal.fate": "granted, and not yet committed", "b0.view.isr": {0, 1, 2}},
        bounds=LATER,
    ),
    Row(
        "DeferredEventQueue#completeUpTo: then it has the ISR that it asked for, without reading the metadata log",
        "4.3",
        f"{SHRINK}, commit_batch",
        {"b0.proposal": None, "b0.view.isr": {0, 1}, "b1.view.isr": {0, 1, 2}},
        bounds=LATER,
    ),
    Row(
        "DeferredEventQueue#failAll: a request whose batch is lost is sent again",
        "4.3",
        f"{SHRINK}, fail_over 0, answer_alter_partition b0, commit_batch",
        {"b0.proposal": None, "b0.view.isr": {0, 1}},
        bounds=LATER,
    ),
    Row(
        "DeferredEventQueue#failAll: if its batch was kept, it is refused as out of date",
        "4.3",
        f"{SHRINK}, fail_over 1, not answer_alter_partition b0, commit_batch, answer_alter_partition b0",
        {"b0.proposal.fate": "refused as out of date", "b0.view.isr": {0, 1, 2}},
        bounds=LATER,
    ),
    Row(
        "Partition#handleAlterPartitionError: a refused leader asks again once it has newer metadata",
        "4.3",
        f"{SHRINK}, fail_over 1, commit_batch, answer_alter_partition b0, read_metadata b0",
        {"b0.proposal": None, "b0.view.isr": {0, 1}},
        bounds=LATER,
    ),
    Row(
        "registerBroker: a registration that is lost is asked for again",
        "4.3",
        "crash b1, start b1, fail_over 0, not unfence b1, register_again b1, commit_batch, read_metadata b1,"
        " unfence b1",
        {"r1.broker_epoch": 1, "r1.standing": "unfenced", "committed.partition.isr": {0, 2}},
        bounds=LATER,
    ),
    Row(
        "sendBrokerRegistration: it says to each controller that its former process was shut down in order",
        "4.3",
        f"{STOPPED_ELIGIBLE}, start b1, fail_over 0, register_again b1",
        {"partition.elr": {1}, "b1.stopped_cleanly": True},
        bounds=LATER | {"min_isr": 3},
    ),
    Row(
        "sendBrokerRegistration: no controller asks once the registration is committed",
        "4.3",
        f"{STOPPED_ELIGIBLE}, start b1, commit_batch",
        {"partition.elr": {1}, "b1.stopped_cleanly": False},
        bounds=LATER | {"min_isr": 3},
    ),
    Row(
        "registerBroker 4.0: the process that was never registered was killed, whatever the one before it was",
        "4.3",
        f"{STOPPED_ELIGIBLE}, start b1, fail_over 0, crash b1, start b1",
        {"partition.elr": set(), "b1.stopped_cleanly": False},
        bounds=LATER | {"min_isr": 3},
    ),
    Row(
        "BrokerServer#startup: a broker does not lead before its registration is committed",
        "4.3",
        "crash b0, start b0, read_metadata b0, not propose_shrink b0 b1",
        {"b0.view.leader": 0, "b0.knows_registration": False},
        bounds=LATER,
    ),
    Row(
        "BrokerHeartbeatManager: a new controller does not know which offset a controlled shutdown waits for",
        "4.3",
        "begin_shutdown b0, enter_controlled_shutdown b0, not grant_shutdown b0, fail_over 0, grant_shutdown b0",
        {"r0.standing": "fenced", "partition.leader": 1},
    ),
    Row(
        "validateAlterPartitionData 3.2.3: a deposed controller fences a newer leader epoch",
        "3.5",
        "fail_over 0, crash b0, fence b0, read_metadata b1, read_metadata b2, propose_shrink b1 b2,"
        " answer_as_deposed b1, learn_of_fail_over, not answer_alter_partition b1, read_metadata b1",
        {"b1.proposal.fate": "refused as out of date"},
        rules=FENCES,
        bounds=TWO,
    ),
    Row(
        "validateAlterPartitionData 3.3.0: it answers that it is not the controller, and the active one answers",
        "3.5",
        "fail_over 0, crash b0, fence b0, read_metadata b1, read_metadata b2, propose_shrink b1 b2,"
        " not answer_as_deposed b1, answer_alter_partition b1",
        {"b1.proposal.fate": "refused as out of date", "partition.isr": {1}},
        bounds=TWO,
    ),
    Row(
        "ineligibleReplicasForIsr: a deposed controller refuses a member that it takes for fenced",
        "4.3",
        "crash b1, fence b1, start b1, read_metadata b1, read_metadata b0, fail_over 0, unfence b1,"
        " propose_expansion b0 b1, answer_as_deposed b0",
        {"b0.proposal": None, "partition.isr": {0, 2}, "b0.view.isr": {0, 2}},
        bounds=TWO,
    ),
    Row(
        "ControllerWriteEvent#run: a deposed controller with a batch of its own answers nobody",
        "4.3",
        "crash b1, fence b1, fail_over 0, not learn_of_fail_over",
        {"deposed": ()},
        bounds={**TWO, **LATER},
    ),
    Row(
        "handleCommit 3.8.0: a batch of the quorum's own is the committed offset, and nothing is remembered there",
        "4.0",
        "change_voters, commit_batch, fail_over 0",
        {"mishap": "a controller that was deposed and could not go back to what is committed"},
        rules={"voter_changes_skipped": False},
        bounds=LATER,
    ),
    Row(
        "OffsetControlManager#handleScheduleAppend: the next batch of its own is remembered",
        "4.0",
        "change_voters, append_no_op, commit_batch, commit_batch, fail_over 0",
        {"mishap": None, "can_revert": True},
        rules={"voter_changes_skipped": False},
        bounds=LATER,
    ),
    Row(
        "handleCommit 3.9.0: batches of the quorum's own are skipped",
        "4.0",
        "change_voters, commit_batch, fail_over 0",
        {"mishap": None},
        bounds=LATER,
    ),
]


def named(row: Any) -> str:
    return row.kafka


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_metadata_log_does_as_kafkas(row: Row) -> None:
    row.check()
