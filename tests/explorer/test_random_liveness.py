"""Random systems, random promises and random fairness: every engine must find the same lassos, and
the verdicts follow the definition.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

import attrs
import networkx
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from highwater.explorer.fairness import demands_of
from highwater.explorer.search.graph_properties import edges, liveness
from highwater.explorer.search.graph_properties.lassos import lasso_at, moves_of
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import Cut, System, judge
from highwater.explorer.verdict import SearchOptions
from highwater.model.language.declarations import Action, Instance
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SetOf
from highwater.model.language.graph_properties import EVENTUALLY, EVENTUALLY_ALWAYS, FORMS, LEADS_TO, Liveness, Per
from highwater.model.language.records import domain_of, evolve, replaced, within
from tests.until import UNTIL

EXAMPLES = int(os.environ.get("HIGHWATER_EXAMPLES", "0"))
MOST_WAITING = 9

thorough_or_quick = settings(
    max_examples=EXAMPLES or 60, derandomize=not EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

GUEST = Integers(0, 2, label="g", names="guests")


@attrs.frozen
class Room:
    """Three guests: who has the key, who is in, who is awake, and how often the bell rang."""

    key: int | None = within(Maybe(GUEST))
    inside: frozenset[int] = within(SetOf(GUEST))
    awake: tuple[bool, ...] = within(ArrayOf(BOOLEAN, 3, by="guests"))
    rings: int = within(Integers(0, Limit(2, "rings")))


CONDITIONS: dict[str, Callable[[Room, int], bool]] = {
    "is there": lambda room, guest: True,
    "has the key": lambda room, guest: room.key == guest,
    "nobody has the key": lambda room, guest: room.key is None,
    "is inside": lambda room, guest: guest in room.inside,
    "is alone": lambda room, guest: room.inside == frozenset({guest}),
    "is awake": lambda room, guest: room.awake[guest],
    "is awake without the key": lambda room, guest: room.awake[guest] and room.key != guest,
    "the bell rang": lambda room, guest: room.rings > 0,
}
EFFECTS: dict[str, Callable[[Room, int], Room]] = {
    "takes the key": lambda room, guest: evolve(room, key=guest),
    "puts the key away": lambda room, guest: evolve(room, key=None),
    "enters": lambda room, guest: evolve(room, inside=room.inside | {guest}),
    "leaves": lambda room, guest: evolve(room, inside=room.inside - {guest}),
    "turns": lambda room, guest: evolve(room, awake=replaced(room.awake, guest, not room.awake[guest])),
    "wakes": lambda room, guest: evolve(room, awake=replaced(room.awake, guest, True)),
    "rings": lambda room, guest: evolve(room, rings=room.rings + 1),
    "silences": lambda room, guest: evolve(room, rings=0),
}


@st.composite
def systems(draw: Any) -> System:
    """What each guest may do under random conditions, and what must happen to one guest or to any of them."""

    def condition() -> Callable[[Room, int], bool]:
        name, negated = draw(st.sampled_from(sorted(CONDITIONS))), draw(st.booleans())
        return lambda room, guest: CONDITIONS[name](room, guest) != negated

    def step(number: int) -> Action:
        when, effect = condition(), EFFECTS[draw(st.sampled_from(sorted(EFFECTS)))]

        def done(room: Room, guest: int) -> Room | None:
            return effect(room, guest) if when(room, guest) else None

        done.__name__ = f"step{number}"
        return Action(done, {"guest": GUEST}, "guest")

    def quantified(of_one: bool) -> Callable[..., bool]:
        wanted, how = condition(), draw(st.sampled_from([any, all]))

        def for_one(room: Room, guest: int) -> bool:
            return wanted(room, guest)

        def for_some(room: Room) -> bool:
            return how(wanted(room, guest) for guest in range(3))

        return for_one if of_one else for_some

    def promise(number: int, actions: list[Action]) -> Liveness:
        of_one, form = draw(st.integers(0, 3)) == 0, draw(st.sampled_from((*FORMS, UNTIL)))
        function = quantified(of_one)
        function.__name__ = f"promise{number}"
        fair: dict[str, list[Per]] = {"fair": [], "strongly_fair": [], "unfair": []}
        for each in actions:
            fair[draw(st.sampled_from(["fair", "fair", "strongly_fair", "strongly_fair", "unfair"]))].append(
                Per(each, draw(st.sampled_from([("guest",), ()])))
            )
        return Liveness(
            function,
            {"guest": GUEST} if of_one else {},
            form=form,
            fair=tuple(fair["fair"]),
            strongly_fair=tuple(fair["strongly_fair"]),
            premise=quantified(of_one) if form in (LEADS_TO, UNTIL) else None,
        )

    actions = [step(number) for number in range(draw(st.integers(2, 6)))]
    promises = [promise(number, actions) for number in range(draw(st.integers(1, 3)))]
    return System(
        domain_of(Room, None),
        (Room(None, frozenset(), (False,) * 3, 0),),
        tuple(instance for each in actions for instance in each.instances(None)),
        interchangeable={"guests": (0, 1, 2)},
        liveness=tuple(instance for each in promises for instance in each.instances(None)),
    )


@thorough_or_quick
@given(systems())
def test_random_promises_are_judged_as_in_plain_python(system: System) -> None:
    theirs = plain_python.explore(system)
    event(f"{len(theirs.violations)} broken, {'some' if theirs.held_back else 'none'} held back")
    for found in theirs.violations:
        event(f"{min(4, found.trace_length - found.back_to)} round")
    for symmetry in (False, True):
        ours = breadth_first.explore(system, options=SearchOptions(symmetry=symmetry))
        if symmetry:
            event("fewer stored" if ours.stored_states < ours.distinct_states else "all stored")
        assert (ours.levels, ours.violations, ours.held_back) == (theirs.levels, theirs.violations, theirs.held_back)
        assert ours.vacuous == theirs.vacuous
    for found in ours.violations:
        instances = [
            each for each in system.liveness if each.of.name == found.property and dict(each.shown) == found.arguments
        ]
        assert lasso_at(system, instances[0], found.trace, found.back_to) == found


@pytest.mark.slow
@thorough_or_quick
@given(systems(), st.booleans())
def test_recomputed_steps_give_the_same_verdict_as_stored_ones(system: System, symmetry: bool) -> None:
    """With ranges of a few rows, so that what one pass leaves is another range's to look at, and threads take part."""
    stored = breadth_first.explore(system, options=SearchOptions(symmetry=symmetry))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(liveness, "all_steps", lambda engine, marks: None)
        patched.setattr(edges, "ROWS_AT_ONCE", 5)
        again = breadth_first.explore(system, options=SearchOptions(symmetry=symmetry, workers=2))
    event(f"{len(stored.violations)} broken, {'some' if stored.held_back else 'none'} held back")
    assert (again.verdict, again.violations, again.held_back) == (stored.verdict, stored.violations, stored.held_back)


@thorough_or_quick
@given(systems())
def test_random_verdicts_follow_the_definition(system: System) -> None:
    """A set of states is where a behaviour stays for ever if its steps connect it and it owes nothing. All sets are
    tried.
    """
    violated = {found.property for found in plain_python.explore(system).violations}
    for name in {each.of.name for each in system.liveness}:
        ends = [can_stay(system, each) for each in system.liveness if each.of.name == name]
        if None not in ends:
            event("tried")
            assert any(ends) == (name in violated)


def can_stay(system: System, of: Instance) -> bool | None:
    """Whether there is a set of states where a behaviour can stay for ever and break a promise; None if there are too
    many to try.
    """
    graph = reachable(system)
    false = {state for state in graph if not judge(of, state, system.domain)}
    waiting, starts = set(false), set(false)
    asked = {state for state in graph if of.premise is None or judge(of.premise, state, system.domain)}
    if of.of.form == EVENTUALLY:
        starts &= set(system.initial)
    elif of.of.form == LEADS_TO:
        starts &= asked
    elif of.of.form == UNTIL:
        waiting = starts = false & asked
    elif of.of.form == EVENTUALLY_ALWAYS:
        waiting = starts = set(graph)
    inside = graph.subgraph(waiting)
    reached = set().union(*(networkx.descendants(inside, state) | {state} for state in starts), set())
    if len(reached) > MOST_WAITING:
        return None
    sets = (set(chosen) for size in range(1, len(reached) + 1) for chosen in itertools.combinations(reached, size))
    return any(
        networkx.is_strongly_connected(inside.subgraph(chosen))
        and (of.of.form != EVENTUALLY_ALWAYS or bool(chosen & false))
        and not owes(system, of, graph, chosen)
        for chosen in sets
    )


def owes(system: System, of: Instance, graph: networkx.DiGraph, states: set[Any]) -> bool:
    """Whether staying in a set of states for ever, and taking every step inside, is unfair."""
    for demand in demands_of(system, of.of):
        enabled = [any(action in demand.instances for action, _ in graph.nodes[state]["moves"]) for state in states]
        taken = any(
            action in demand.instances and after in states
            for state in states
            for action, after in graph.nodes[state]["moves"]
        )
        if not taken and (any(enabled) if demand.strong else all(enabled)):
            return True
    return False


def reachable(system: System) -> networkx.DiGraph:
    """All states and steps, but for those that a bound cuts; the moves of each state as its attribute."""
    graph = networkx.DiGraph()
    waiting = list(system.initial)
    while waiting:
        state = waiting.pop()
        if "moves" not in graph.nodes.get(state, {}):
            moves = moves_of(system, state)
            graph.add_node(state, moves=moves)
            inside = [after for _, after in moves if not isinstance(after, Cut)]
            graph.add_edges_from((state, after) for after in inside)
            waiting += inside
    return graph
