"""The model `kraft-reference` has exactly the states that TLC finds in the public modules, at every bound tried; no
bound cuts a step.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.claims.resolving import resolve_model
from highwater.claims.tables import Wrong
from highwater.explorer.blame import ModelError
from highwater.explorer.search.levels.breadth_first import explore
from highwater.explorer.system import System
from highwater.explorer.verdict import Verdict
from highwater.model.catalogue import MODELS
from highwater.model.kraft_reference.definition import bounds_of
from highwater.model.kraft_reference.messages import Answer
from highwater.model.kraft_reference.protocol import KraftProtocol, Variant
from highwater.model.kraft_reference.state import Cluster, Registering
from highwater.model.language.records import evolve
from tests.small_models import every_state

FILE = Path(__file__).with_name("kraft_tlc_answers.csv")
ROWS = list(csv.DictReader(line for line in FILE.read_text().splitlines() if not line.startswith("#")))
LEFT_OUT = {
    "": {},
    "broker epochs": {"broker_epoch_check": False},
    "partition epochs": {"partition_epoch_check": False},
    "AvoidLastReplicaStanding": {"avoid_last_replica_standing": False},
}
SMALL, QUICK = 1_000, 1_000


def system_of(row: dict[str, str]) -> System:
    chosen = KraftProtocol(variant=Variant(row["variant"]))
    names = [field.name for field in attrs.fields(bounds_of(chosen))]
    bounds = dict(zip(names, map(int, row["bounds"].split()), strict=True))
    messages = {"messages": "forgotten"} if row["counted"] == "relevant" else {}
    check = [row["invariant"] or "valid_controller_state"]
    protocol = {"variant": row["variant"], **messages, **LEFT_OUT[row["without"]]}
    protocol, definition, sizes, properties = resolve_model(MODELS["kraft-reference"], protocol, bounds, check)
    return build_system(definition, protocol, sizes, properties)


def cases(*counted: str, most: int = 10**9) -> Any:
    chosen = [row for row in ROWS if row["counted"] in counted and int(row["distinct"] or 0) <= most]
    named = [pytest.param(row, id=" ".join(filter(None, row.values())), marks=slow(row)) for row in chosen]
    return pytest.mark.parametrize("row", named)


def slow(row: dict[str, str]) -> Any:
    """What takes long in plain Python, or has many states."""
    states = int(row["distinct"] or 0)
    return [pytest.mark.slow] if states > QUICK or (row["counted"] == "view" and states > 100) else []


@cases("all", "relevant")
def test_our_answer_is_tlcs_answer(row: dict[str, str]) -> None:
    """TLC's depth and trace count states where ours count actions. Domains are wide enough for all that can happen."""
    outcome = explore(system_of(row))
    assert not outcome.bounds_cut
    if row["trace"]:
        assert outcome.verdict is Verdict.VIOLATED
        assert outcome.violations[0].trace_length == int(row["trace"]) - 1
        return
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.distinct_states == int(row["distinct"])
    assert outcome.depth == int(row["depth"]) - 1


@cases("view", most=SMALL)
def test_as_many_states_differ_in_the_published_view_as_tlc_counts_with_it(row: dict[str, str]) -> None:
    assert len({published_view(state) for state in every_state(system_of(row))}) == int(row["distinct"])


def published_view(state: Cluster) -> Any:
    """The variables con_vars, broker_vars, part_vars, messages and inv_vars: no handled messages, and no auxiliary
    variables.
    """
    brokers = [evolve(broker, handled=(), rejections=(), first_written=None) for broker in state.brokers]
    log = [
        evolve(change, rejections=(), left=tuple(each for each in change.left if each.answer is not Answer.LEARNED))
        for change in state.metadata_log
    ]
    starts = [(number, start) for number, start in enumerate(state.starts) if start.stage is not Registering.DONE]
    return tuple(brokers), state.registrations, tuple(log), tuple(starts), state.clients


def test_a_value_that_the_domains_have_no_room_for_is_an_error_rather_than_a_cut() -> None:
    """So that no count can be too small in silence."""
    system = system_of(next(row for row in ROWS if row["bounds"] == "2 2 1 1 1 0 0 0 0 0"))
    log = system.domain.fields["metadata_log"]
    narrow = attrs.evolve(
        system.domain, fields={**system.domain.fields, "metadata_log": attrs.evolve(log, max_length=1)}
    )
    with pytest.raises(ModelError, match="metadata_log: 2 is above 1, and no bound limits it"):
        explore(attrs.evolve(system, domain=narrow))


def test_messages_that_may_still_be_accepted_cannot_be_forgotten() -> None:
    protocol = {"variant": "v3.5", "messages": "forgotten", "partition_epoch_check": False}
    with pytest.raises(Wrong, match='messages must be "kept"'):
        resolve_model(MODELS["kraft-reference"], protocol, {}, ["valid_controller_state"])
