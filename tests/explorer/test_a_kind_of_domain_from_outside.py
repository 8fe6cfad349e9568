"""A kind of domain that no module of the house knows works in every engine and export.

The searches on Spark are in `tests/spark`. Random systems have multisets, too.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator

import attrs
import pytest

from highwater.explorer.analysis.plain_values import plain
from highwater.explorer.blame import ModelError
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System, abstracted
from highwater.explorer.trace import changes
from highwater.explorer.verdict import Auditing, Outcome, SearchOptions, Verdict
from highwater.model.language.declarations import action
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SetOf
from highwater.model.language.records import domain_of, evolve, replaced, within
from highwater.model.language.shape import Domain, DomainError
from highwater.spaces import column_type
from highwater.viewer.exports import EXPORTS
from highwater.viewer.pictures.of_any_model import drawing
from highwater.viewer.showing import counterexample_of
from tests.explorer.test_engine_in_small import low_thresholds
from tests.explorer.test_folding import kept
from tests.multiset import COATS, EMPTY, GUEST, BagOf, Cloakroom, cloakroom, nobody_has_two_coats
from tests.outcomes import agree

__all__ = ["kept", "low_thresholds"]

BY_ORDER = pytest.mark.parametrize("ordered", [False, True], ids=["as they are", "by order"])
SYMMETRY = pytest.mark.parametrize("symmetry", [False, True], ids=["each state", "up to symmetry"])


@functools.cache
def system(ordered: bool) -> System:
    return abstracted(cloakroom(), ["tickets"]) if ordered else cloakroom()


@functools.cache
def explored_plainly(ordered: bool) -> Outcome:
    return plain_python.explore(system(ordered), options=SearchOptions(keep_going=True))


@BY_ORDER
@SYMMETRY
def test_a_foreign_domain_is_searched_as_in_plain_python(ordered: bool, symmetry: bool) -> None:
    ours = breadth_first.explore(system(ordered), options=SearchOptions(keep_going=True, symmetry=symmetry))
    agree(ours, explored_plainly(ordered))
    assert (ours.stored_states * 3 < ours.distinct_states) is symmetry
    assert nobody_has_two_coats.name in {each.property for each in ours.violations}
    assert ours.bounds_cut


@BY_ORDER
def test_the_second_judge_agrees_on_every_state(ordered: bool) -> None:
    kept = attrs.evolve(system(ordered), invariants=())
    ours = breadth_first.explore(kept, options=SearchOptions(audit=Auditing.FULL), audit=10_000)
    assert ours.verdict is Verdict.HOLDS
    assert ours.audit is not None and ours.audit.states == ours.stored_states


@pytest.mark.usefixtures("low_thresholds")
def test_a_foreign_domain_is_the_same_in_folded_rows(kept: list[bool]) -> None:
    long = attrs.evolve(cloakroom(ballast=18), prospects=(), liveness=())
    agree(
        breadth_first.explore(long, options=SearchOptions(keep_going=True)),
        plain_python.explore(long, options=SearchOptions(keep_going=True)),
    )
    assert kept == [True]


def test_an_order_inside_it_is_refused_by_its_name() -> None:
    @attrs.frozen
    class Box:
        held: tuple[int, ...] = within(BagOf(Integers(0, 2, order="terms"), 2))

    box = System(domain_of(Box, None), (Box(()),), ())
    with pytest.raises(ModelError, match="held: a BagOf cannot hold terms, of which only the order matters"):
        abstracted(box, ["terms"])


CROWD = BagOf(GUEST, Limit(10, "room"))


@attrs.frozen
class Hall:
    here: tuple[int, ...] = within(CROWD)
    last_was_odd: tuple[bool, ...] = within(ArrayOf(BOOLEAN, 3, by="guests"))


@action(actor="guest", guest=GUEST)
def enter(hall: Hall, guest: int) -> Hall:
    odd = replaced(hall.last_was_odd, guest, len(hall.here) % 2 == 1)
    return evolve(hall, here=CROWD.put(hall.here, guest), last_was_odd=odd)


def test_names_in_a_value_too_wide_for_a_table_are_not_exchanged() -> None:
    """A table has room for eight bits. What is wider stays as it is, and so must its names."""
    hall = System(
        domain_of(Hall, None), (Hall((), (False,) * 3),), tuple(enter.instances(None)), (), {"guests": (0, 1, 2)}
    )
    assert CROWD.size > 256
    agree(breadth_first.explore(hall, options=SearchOptions(symmetry=True), audit=0), plain_python.explore(hall))


def test_a_kind_that_leaves_something_out_cannot_be_made() -> None:
    class Half(Domain):
        def values(self) -> Iterator[int]:
            return iter((0, 1))

    with pytest.raises(TypeError, match="abstract class Half with abstract methods count, exceeded, inside"):
        Half()


def test_every_export_shows_it() -> None:
    violation = next(each for each in explored_plainly(False).violations if each.property == nobody_has_two_coats.name)
    trace = counterexample_of({"protocol": {}, "bounds": {}}, cloakroom(), violation, drawing=drawing(["guest"]))
    written = {name: export(trace) for name, export in EXPORTS.items()}
    last = json.loads(written["itf"])["states"][-1]
    (twice,) = set(violation.trace[-1].state.coats)
    assert last["coats"] == [f"g{twice}"] * 2
    assert last["purses"] == {"#map": [["g0", []], ["g1", []], ["g2", []]]}
    assert last["taken"] == {"#set": []}
    for name in ("mermaid", "dot", "csv"):
        assert "leave" in written[name]
    assert f"<g{twice} g{twice}>" in written["csv"] or f"+ g{twice}" in written["csv"]


DOMAIN = cloakroom().domain


def test_readers_that_know_no_kinds_get_lists() -> None:
    room = Cloakroom((0, 0), (("penny",), (), ()), 1, 0, (2,), ())
    assert plain(DOMAIN, room) == {
        "coats": [0, 0], "purses": [["penny"], [], []], "newest": 1, "last": 0, "taken": [2], "ballast": [],
    }  # fmt: skip
    assert str(column_type(COATS)) == "list<item: int32>"
    assert [str(each) for each in changes(DOMAIN, EMPTY, attrs.evolve(EMPTY, coats=(1,)))] == ["coats + g1"]


def test_an_invalid_value_of_the_foreign_domain_is_refused() -> None:
    for wrong, message in (((1, 0), "not in order"), ({0}, "no multiset"), ((-1,), "not a whole number")):
        with pytest.raises(DomainError, match=message):
            COATS.exceeded(wrong)
    assert COATS.exceeded((0, 0, 0)) == {"hooks"}
    assert Maybe(SetOf(COATS)).count == 2**10 + 1
