"""The reference family has exactly the states that TLC finds in the public modules, at every bound tried."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from highwater.claims.building import build_system
from highwater.claims.resolving import resolve_model
from highwater.explorer.search.levels.breadth_first import explore
from highwater.explorer.verdict import Verdict
from highwater.model.catalogue import MODELS

FILE = Path(__file__).with_name("tlc_answers.csv")
ROWS = list(csv.DictReader(line for line in FILE.read_text().splitlines() if not line.startswith("#")))
BOUNDS = ("brokers", "log_length_max", "records_max", "leader_epoch_max")
ASYNC_ISR_BOUNDS = ("brokers", "offset_max", "version_max")
ONE_BINDING_PER_SUCCESSOR = {"KafkaTruncateToHighWatermark", "Kip101", "Kip320FirstTry"}


QUICK = 2000  # states


def outcome_of(row: dict[str, str]):
    names = ASYNC_ISR_BOUNDS if row["variant"] == "async-isr" else BOUNDS
    bounds = dict(zip(names, map(int, row["bounds"].split()), strict=True))
    check = [row["invariant"] or "high_watermark_within_log"]
    protocol, definition, sizes, properties = resolve_model(
        MODELS["reference"], {"variant": row["variant"]}, bounds, check
    )
    return explore(build_system(definition, protocol, sizes, properties))


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row['module']} {row['bounds']} {row['invariant']}".strip(),
            marks=[pytest.mark.slow] if int(row["distinct"] or 0) > QUICK else [],
        )
        for row in ROWS
    ],
)
def test_our_answer_is_tlcs_answer(row: dict[str, str]) -> None:
    """TLC's depth and trace count states where ours count actions."""
    outcome = outcome_of(row)
    if row["trace"]:
        assert outcome.verdict is Verdict.VIOLATED
        assert outcome.violations[0].trace_length == int(row["trace"]) - 1
        return
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.distinct_states == int(row["distinct"])
    assert outcome.depth == int(row["depth"]) - 1
    if row["module"] in ONE_BINDING_PER_SUCCESSOR:
        assert outcome.generated == int(row["generated"]) - 1, "TLC counts the initial state as generated"
    else:
        assert outcome.generated < int(row["generated"]), "TLC counts a successor once per binding that gives it"
