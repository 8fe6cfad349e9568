"""The liveness properties of the public specifications under KRaft have the verdicts of TLC, under their fairness and
without parts of it.
"""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.claims.resolving import resolve_model
from highwater.explorer.search.levels.breadth_first import explore
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import SearchOptions
from highwater.invariants.kraft_reference import liveness
from highwater.model.catalogue import MODELS
from highwater.model.kraft_reference.applying import apply_metadata
from highwater.model.kraft_reference.controlling import register, unfence
from highwater.model.kraft_reference.definition import bounds_of
from highwater.model.kraft_reference.failing import start
from highwater.model.kraft_reference.fetching import send_fetch
from highwater.model.kraft_reference.proposing import answer_left_proposal, answer_proposal
from highwater.model.kraft_reference.protocol import KraftProtocol, Variant

FILE = Path(__file__).with_name("kraft_tlc_liveness.csv")
ROWS = list(csv.DictReader(line for line in FILE.read_text().splitlines() if not line.startswith("#")))
PROPERTIES = {
    "EventuallyRuns": liveness.eventually_runs,
    "EventuallyUnfenced": liveness.eventually_unfenced,
    "AlterPartitionEpochEventuallyReachedOrZero": liveness.alter_partition_epoch_eventually_reached_or_zero,
    "EventuallyMetadataConverges": liveness.eventually_metadata_converges,
    "EventuallyWriteIsAcceptedOrRejected": liveness.eventually_write_is_accepted_or_rejected,
    "EventuallyAcknowledgedValueFullyReplicated": liveness.eventually_acknowledged_value_fully_replicated,
    "EventuallyReassignmentCompletes": liveness.eventually_reassignment_completes,
}
UNFAIR = {
    "": (),
    "UnfenceBroker": (unfence,),
    "SendFetchRequest": (send_fetch,),
    "ReceiveAlterPartitionRequest": (answer_proposal, answer_left_proposal),
    "ReceiveMetadataUpdate": (apply_metadata,),
    "ReceiveBrokerRegRequest": (register,),
    "BrokerStart": (start,),
}
QUICK = 500


def searched(row: dict[str, str]) -> tuple[str, str, str]:
    return row["variant"], row["bounds"], row["without"]


SEARCHES = [
    pytest.param(list(rows), id=" ".join(filter(None, which)))
    for which, rows in itertools.groupby(sorted(ROWS, key=searched), key=searched)
]


def system_of(row: dict[str, str]) -> System:
    """The system at a row's bounds, with all liveness properties, which are unfair to what the row leaves out."""
    chosen = KraftProtocol(variant=Variant(row["variant"]))
    names = [field.name for field in attrs.fields(bounds_of(chosen))]
    bounds = dict(zip(names, map(int, row["bounds"].split()), strict=True))
    check = [each.name for each in PROPERTIES.values()]
    resolved, definition, sizes, properties = resolve_model(
        MODELS["kraft-reference"], {"variant": row["variant"]}, bounds, check
    )
    system = build_system(definition, resolved, sizes, properties)
    unfair, changed = UNFAIR[row["without"]], {}

    def without(each: Any) -> Any:
        if each.of.name not in changed:  # all instances of a property are of one object
            fair = tuple(per for per in each.of.fair if per.action not in unfair)
            assert len(each.of.fair) - len(fair) == len(unfair)
            changed[each.of.name] = attrs.evolve(each.of, fair=fair)
        return attrs.evolve(each, of=changed[each.of.name])

    return attrs.evolve(system, liveness=tuple(map(without, system.liveness)))


def verdicts(violated: set[str]) -> dict[str, str]:
    return {theirs: "violated" if ours.name in violated else "holds" for theirs, ours in PROPERTIES.items()}


@pytest.mark.parametrize("rows", SEARCHES)
def test_each_liveness_property_has_the_verdict_of_tlc(rows: list[dict[str, str]]) -> None:
    system, (states,) = system_of(rows[0]), {int(row["distinct"]) for row in rows if row["distinct"]}
    outcome = explore(system, options=SearchOptions(keep_going=True))
    assert (outcome.distinct_states, outcome.bounds_cut) == (states, {})
    expected = {row["property"]: row["verdict"] for row in rows}
    assert verdicts({violation.property for violation in outcome.violations}) == expected
    if states < QUICK:
        plain = plain_python.explore(system, options=SearchOptions(keep_going=True))
        assert verdicts({violation.property for violation in plain.violations}) == expected


def test_verdicts_of_tlc_vary_for_every_liveness_property() -> None:
    """So the comparison can fail: every property holds in one row and is violated in another."""
    assert {(row["property"], row["verdict"]) for row in ROWS} == set(
        itertools.product(PROPERTIES, ("holds", "violated"))
    )
