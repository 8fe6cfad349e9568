"""The model `quorum-reference` has exactly the states that TLC finds in the public modules, at every bound tried; no
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
from highwater.model.language.records import evolve
from highwater.model.quorum_reference.bounds import UncheckedQuorumBounds
from highwater.model.quorum_reference.kip_853 import messages as kip_853
from highwater.model.quorum_reference.kip_853.bounds import UncheckedReconfigurationBounds
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum, Used
from highwater.model.quorum_reference.messages import all_messages
from highwater.model.quorum_reference.state import Quorum
from tests.small_models import every_state

FILE = Path(__file__).with_name("quorum_tlc_answers.csv")
ROWS = list(csv.DictReader(line for line in FILE.read_text().splitlines() if not line.startswith("#")))
BOUNDS = {
    "kraft": ("servers", "values", "max_elections", "max_restarts"),
    "kip-853": tuple(field.name for field in attrs.fields(UncheckedReconfigurationBounds)),
}
SMALL, QUICK = 1_500, 1_000


def system_of(row: dict[str, str]) -> System:
    bounds = dict(zip(BOUNDS[row["variant"]], map(int, row["bounds"].split()), strict=True))
    protocol = {"variant": row["variant"], **dict.fromkeys(left_out(row), False)}
    check = row["invariant"].split() or ["leader_has_all_acked_values"]
    return build_system(*resolved(protocol, bounds, check))


def left_out(row: dict[str, str]) -> list[str]:
    return [check.replace(" ", "_") for check in row["without"].split(" and ") if check]


def resolved(protocol: dict[str, Any], bounds: dict[str, int], check: list[str]) -> tuple[Any, ...]:
    protocol, definition, sizes, properties = resolve_model(MODELS["quorum-reference"], protocol, bounds, check)
    return definition, protocol, sizes, properties


def cases(counted: str, most: int = 10**9) -> Any:
    chosen = [row for row in ROWS if row["counted"] == counted and int(row["distinct"] or 0) <= most]
    named = [pytest.param(row, id=" ".join(filter(None, row.values())), marks=slow(row)) for row in chosen]
    return pytest.mark.parametrize("row", named)


def slow(row: dict[str, str]) -> Any:
    """What takes long in plain Python, or has many states."""
    states = int(row["distinct"] or 0)
    return [pytest.mark.slow] if states > QUICK or (row["counted"] == "view" and states > 100) else []


@cases("all")
def test_our_answer_is_tlcs_answer(row: dict[str, str]) -> None:
    """TLC's depth and trace count states where ours count actions. Domains are wide enough for all that can happen."""
    outcome = explore(system_of(row))
    assert not outcome.bounds_cut
    if row["trace"]:
        assert outcome.verdict is Verdict.VIOLATED
        assert row["trace"] in ("lasso", str(outcome.violations[0].trace_length + 1))
        return
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.distinct_states == int(row["distinct"])
    assert outcome.depth == int(row["depth"]) - 1


@cases("view", most=SMALL)
def test_as_many_states_differ_in_the_published_view_as_tlc_counts_with_it(row: dict[str, str]) -> None:
    assert len({published_view(state) for state in every_state(system_of(row))}) == int(row["distinct"])


def published_view(state: Quorum | ChangingQuorum) -> Quorum | ChangingQuorum:
    """All variables but the counters, such as those of elections and restarts; in kip-853 also without the messages
    that were handled.
    """
    if isinstance(state, ChangingQuorum):
        return evolve(state, handled=frozenset(), used=Used(0, 0, 0, 0, 0))
    return evolve(state, elections=0, restarts=0)


@pytest.mark.parametrize("restarts", [0, 1])
def test_no_two_messages_have_the_same_name(restarts: int) -> None:
    """Steps are named after the message that they handle."""
    names = list(map(str, all_messages(UncheckedQuorumBounds(3, 2, 2, restarts)).members))
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("bounds", [(3, 2, 3, 3, 3, 1, 1, 2, 1, 0, 0, 1), (2, 1, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1)])
def test_no_two_messages_of_changing_voters_have_the_same_name(bounds: tuple[int, ...]) -> None:
    names = list(map(str, kip_853.all_messages(UncheckedReconfigurationBounds(*bounds)).members))
    assert len(set(names)) == len(names)


def test_a_check_that_a_specification_lacks_cannot_be_left_out_of_it() -> None:
    bounds = {"servers": 2, "values": 1, "max_elections": 1}
    with pytest.raises(Wrong, match="one_change and committed_epoch must be true"):
        resolved({"variant": "kraft", "one_change": False}, bounds, ["no_illegal_state"])


def test_an_epoch_that_the_state_has_no_room_for_is_an_error_rather_than_a_cut() -> None:
    """So that no count can be too small in silence."""
    system = system_of(next(row for row in ROWS if row["bounds"] == "2 1 1 0"))
    servers = system.domain.fields["servers"]
    epochs = attrs.evolve(servers.of.fields["epoch"], high=1)
    server = attrs.evolve(servers.of, fields={**servers.of.fields, "epoch": epochs})
    fields = {**system.domain.fields, "servers": attrs.evolve(servers, of=server)}
    with pytest.raises(ModelError, match="epoch: 2 is above 1, and no bound limits it"):
        explore(attrs.evolve(system, domain=attrs.evolve(system.domain, fields=fields)))
