"""Rank abstraction: states that differ by the numbers of epochs, and not by their order, are one. Two brokers that
depose each other for ever are a cycle then, and "for any number of elections" is a finite question.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from highwater.claims.counterexamples import _Known
from highwater.explorer.analysis.schedule import with_fewest_switches
from highwater.explorer.analysis.shrink import Minimal, shrink
from highwater.explorer.analysis.simulate import simulate
from highwater.explorer.blame import ModelError
from highwater.explorer.classes import class_after
from highwater.explorer.compiler.meanings import ActionProgram
from highwater.explorer.kernels.arrays import SPARE
from highwater.explorer.kernels.making import entry_points
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.graph_properties import liveness
from highwater.explorer.search.keeping.kept_trees import KeptTrees
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System, abstracted, judge, successor
from highwater.explorer.verdict import Budget, Outcome, SearchOptions, Verdict, Violation, Walking
from highwater.model.language.declarations import (
    Action,
    Invariant,
    StepProperty,
    Transition,
    action,
    invariant,
    step_property,
)
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SequenceOf, SetOf
from highwater.model.language.graph_properties import FORMS, LEADS_TO, Liveness, Per, always_eventually
from highwater.model.language.records import domain_of, evolve, replaced, within
from tests.until import UNTIL

EXAMPLES = int(os.environ.get("HIGHWATER_EXAMPLES", "0"))
thorough_or_quick = settings(
    max_examples=EXAMPLES or 60, derandomize=not EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@attrs.frozen
class Sizes:
    epochs: int


def epochs(sizes: Any) -> Integers:
    return Integers(0, sizes.epochs, label="e", order="epochs")


BROKER = Integers(0, 1, label="b", names="brokers")


@attrs.frozen
class Duel:
    """Two brokers, and the metadata log. A broker that does not know the newest epoch asks to be elected."""

    leader: int = within(BROKER)
    epoch: int = within(epochs)
    known: tuple[int, int] = within(lambda sizes: ArrayOf(epochs(sizes), 2, label="b", by="brokers"))
    committed: bool = within(BOOLEAN)


@action(actor="broker", broker=BROKER)
def elect(duel: Duel, broker: int) -> Duel | None:
    """A broker that is not the leader deposes it."""
    if duel.leader == broker:
        return None
    return evolve(duel, leader=broker, epoch=duel.epoch + 1, committed=False)


@action(actor="broker", broker=BROKER)
def learn(duel: Duel, broker: int) -> Duel | None:
    """A broker learns the newest epoch."""
    if duel.known[broker] >= duel.epoch:
        return None
    return evolve(duel, known=replaced(duel.known, broker, duel.epoch))


@action(actor="broker", broker=BROKER)
def commit(duel: Duel, broker: int) -> Duel | None:
    """A leader that knows its epoch commits."""
    if duel.leader != broker or duel.known[broker] != duel.epoch or duel.committed:
        return None
    return evolve(duel, committed=True)


@invariant()
def nobody_is_ahead(duel: Duel) -> bool:
    return max(duel.known) <= duel.epoch


@invariant()
def nobody_is_behind_by_three_changes(duel: Duel) -> bool:
    return not (duel.known[0] < duel.known[1] < duel.epoch)


@always_eventually(fair=[learn, commit])
def a_leader_commits(duel: Duel) -> bool:
    return duel.committed


@always_eventually(fair=[learn])
def somebody_learns(duel: Duel) -> bool:
    return max(duel.known) == duel.epoch


@always_eventually()
def somebody_learns_by_chance(duel: Duel) -> bool:
    return max(duel.known) == duel.epoch


def duel(most: int, *properties: Any, symmetric: bool = False) -> System:
    sizes = Sizes(most)
    instances = [instance for each in properties for instance in each.instances(sizes)]
    return System(
        domain_of(Duel, sizes),
        (Duel(0, 0, (0, 0), True), Duel(1, 0, (0, 0), True)) if symmetric else (Duel(0, 0, (0, 0), True),),
        tuple(instance for each in (elect, learn, commit) for instance in each.instances(sizes)),
        invariants=tuple(each for each in instances if isinstance(each.of, Invariant)),
        liveness=tuple(each for each in instances if not isinstance(each.of, Invariant)),
        interchangeable={"brokers": (0, 1)} if symmetric else {},
    )


def classes_by_hand(state: Duel) -> tuple[Any, ...]:
    """The same by other means: no domain is looked at."""
    order = sorted({state.epoch, *state.known})
    return (state.leader, order.index(state.epoch), *map(order.index, state.known), state.committed)


def reached(system: System, most_depth: int) -> dict[Any, int]:
    """Every state within a depth in real numbers, by a search of three lines."""
    depth, level = dict.fromkeys(system.initial, 0), list(system.initial)
    for at in range(1, most_depth + 1):
        afters = (successor(each, state, system.domain) for state in level for each in system.actions)
        level = [s for s in dict.fromkeys(afters) if isinstance(s, system.domain.cls) and s not in depth]
        depth |= dict.fromkeys(level, at)
    return depth


EXPLORERS: dict[str, Callable[..., Outcome]] = {"local": breadth_first.explore, "plain": plain_python.explore}


@pytest.fixture(params=list(EXPLORERS))
def explore(request: pytest.FixtureRequest) -> Callable[..., Outcome]:
    return EXPLORERS[request.param]


def test_counted_classes_equal_the_set_of_states_in_ranks(explore: Callable[..., Outcome]) -> None:
    outcome = explore(abstracted(duel(3, nobody_is_ahead), ["epochs"]))
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.bounds_cut == {}
    states = reached(duel(40), 12)
    classes = {}
    for state, depth in states.items():
        classes.setdefault(classes_by_hand(state), depth)
    assert outcome.distinct_states == len(classes) < len(states)
    assert outcome.levels == tuple(
        sum(depth == each for depth in classes.values()) for each in range(max(classes.values()) + 1)
    )


def test_a_livelock_through_epochs_is_seen_where_a_bounded_search_sees_none(explore: Callable[..., Outcome]) -> None:
    bounded = explore(duel(6, a_leader_commits))
    assert bounded.verdict is Verdict.HOLDS
    outcome = explore(abstracted(duel(3, a_leader_commits), ["epochs"]))
    assert outcome.verdict is Verdict.VIOLATED
    (lasso,) = outcome.violations
    states = [step.state for step in lasso.trace]
    assert states[lasso.back_to] != states[-1]
    assert classes_by_hand(states[lasso.back_to]) == classes_by_hand(states[-1])
    assert [step.action.of.name for step in lasso.trace[lasso.back_to + 1 :]].count("elect") == 2
    assert "new epochs each time" in lasso.witness


def test_fairness_gives_progress_for_any_number_of_elections(explore: Callable[..., Outcome]) -> None:
    outcome = explore(abstracted(duel(3, somebody_learns), ["epochs"]))
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.any_number_of == ("epochs",)
    assert explore(abstracted(duel(3, somebody_learns_by_chance), ["epochs"])).verdict is Verdict.VIOLATED


def test_a_bound_without_room_for_a_new_epoch_is_reported_as_cutting(explore: Callable[..., Outcome]) -> None:
    """With epochs 0 to 2 there may be three live ones, and then no new one."""
    outcome = explore(abstracted(duel(2, nobody_is_ahead), ["epochs"]))
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.bounds_cut["epochs"] > 0
    assert outcome.any_number_of == ()
    assert explore(duel(2, nobody_is_ahead)).any_number_of == ()


def test_a_violation_is_shown_in_real_numbers_by_a_shortest_trace(explore: Callable[..., Outcome]) -> None:
    wanted = duel(9, nobody_is_behind_by_three_changes)
    (bounded,) = explore(wanted).violations
    (found,) = explore(abstracted(duel(3, nobody_is_behind_by_three_changes), ["epochs"])).violations
    assert [(str(step.action), step.state) for step in found.trace] == [
        (str(step.action), step.state) for step in bounded.trace
    ]
    before = found.trace[0].state
    for step in found.trace[1:]:
        assert step.state == successor(step.action, before, wanted.domain)
        before = step.state


def test_symmetry_does_not_change_the_counts_of_ranks() -> None:
    system = abstracted(duel(3, nobody_is_ahead, a_leader_commits, symmetric=True), ["epochs"])
    alone = breadth_first.explore(system, options=SearchOptions(symmetry=False, keep_going=True))
    both = breadth_first.explore(system, options=SearchOptions(keep_going=True))
    assert both.stored_states < alone.stored_states
    for name in ("verdict", "levels", "generated", "enabled", "bounds_cut", "any_number_of"):
        assert getattr(both, name) == getattr(alone, name)
    (found,), (expected,) = both.violations, alone.violations
    assert (found.trace_length, found.back_to) == (expected.trace_length, expected.back_to)


def test_steps_that_do_not_fit_are_made_again_with_the_same_lasso(monkeypatch: pytest.MonkeyPatch) -> None:
    system = abstracted(duel(3, a_leader_commits), ["epochs"])
    stored = breadth_first.explore(system).violations
    monkeypatch.setattr(liveness, "all_steps", lambda engine, marks: None)
    assert breadth_first.explore(system).violations == stored != ()


def test_a_step_that_only_makes_a_new_epoch_is_a_step() -> None:
    """In ranks it changes nothing. A behaviour that goes round in it for ever is one that goes on."""

    @attrs.frozen
    class Counter:
        epoch: int = within(epochs)

    @action(actor="clock")
    def bump(counter: Counter) -> Counter | None:
        return evolve(counter, epoch=counter.epoch + 1)

    @always_eventually(fair=[bump])
    def rests(counter: Counter) -> bool:
        return False

    sizes = Sizes(1)
    system = System(domain_of(Counter, sizes), (Counter(0),), tuple(bump.instances(sizes)))
    system = abstracted(attrs.evolve(system, liveness=tuple(rests.instances(sizes))), ["epochs"])
    for run in EXPLORERS.values():
        outcome = run(system)
        assert (outcome.distinct_states, outcome.generated) == (1, 1)
        (lasso,) = outcome.violations
        assert [step.state.epoch for step in lasso.trace] == [0, 1]


# What looks at more than the order


def steps_of(function: Callable[[Duel, int], Duel | None]) -> Action:
    return Action(function, {"broker": BROKER}, "broker")


def even(duel: Duel, broker: int) -> Duel | None:
    return evolve(duel, committed=True) if duel.epoch % 2 == 0 else None


def two_behind(duel: Duel, broker: int) -> Duel | None:
    return evolve(duel, committed=True) if duel.epoch - duel.known[broker] >= 2 else None


def next_of_known(duel: Duel, broker: int) -> Duel | None:
    return evolve(duel, committed=True) if duel.known[broker] + 1 == duel.epoch else None


def never_elected(duel: Duel, broker: int) -> Duel | None:
    return evolve(duel, committed=True) if duel.epoch == 0 else None


def early(duel: Duel, broker: int) -> Duel | None:
    return evolve(duel, committed=True) if duel.epoch < 3 else None


def one_back(duel: Duel, broker: int) -> Duel | None:
    return evolve(duel, known=replaced(duel.known, broker, max(0, duel.epoch - 1)))


def from_the_start(duel: Duel, broker: int) -> Duel | None:
    return evolve(duel, known=replaced(duel.known, broker, 0))


def after_its_own(duel: Duel, broker: int) -> Duel | None:
    """New while it knows the newest epoch, and not when it does not."""
    return evolve(duel, epoch=duel.known[broker] + 1)


def by_number(duel: Duel, broker: int) -> Duel | None:
    return evolve(duel, committed=(True, False, True, False)[duel.epoch])


def summed(duel: Duel, broker: int) -> Duel | None:
    return evolve(duel, committed=True) if sum(duel.known) == duel.epoch else None


ARITHMETIC = [even, two_behind, next_of_known, never_elected, early, one_back, from_the_start, after_its_own, summed]
ARITHMETIC += [by_number]


@pytest.mark.parametrize("function", ARITHMETIC, ids=lambda function: function.__name__)
def test_a_step_with_arithmetic_is_refused(
    function: Callable[[Duel, int], Duel | None], explore: Callable[..., Outcome]
) -> None:
    plain_system = duel(3)
    with_it = attrs.evolve(plain_system, actions=(*plain_system.actions, *steps_of(function).instances(Sizes(3))))
    with pytest.raises(ModelError, match=function.__name__) as refused:
        explore(abstracted(with_it, ["epochs"]))
    if function is not by_number:
        assert "looks at more than the order of epochs" in str(refused.value)
        assert "known" in str(refused.value) or "epoch" in str(refused.value)
    explore(with_it)  # there is nothing wrong with it otherwise


def test_kept_trees_know_above_which_rank_a_step_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plain_system = duel(3)
    step = steps_of(after_its_own).instances(Sizes(3))
    system = abstracted(attrs.evolve(plain_system, actions=(*plain_system.actions, *step)), ["epochs"])
    breadth_first.explore(
        system, Budget(max_depth=1), SearchOptions(keep_trees=True)
    )  # there everybody knows the newest epoch
    learned, trace = [], ActionProgram._trace

    def noted(program: ActionProgram, number: int, words: Any) -> Any:
        learned.append(program.instances[number].of.name)
        return trace(program, number, words)

    monkeypatch.setattr(ActionProgram, "_trace", noted)
    not_anew = property(
        lambda kept: False, lambda kept, used: None
    )  # a search that fails begins anew without kept trees
    monkeypatch.setattr(KeptTrees, "are_used", not_anew, raising=False)
    with pytest.raises(ModelError, match="looks at more than the order of epochs"):
        breadth_first.explore(system, options=SearchOptions(keep_trees=True))
    assert "learn" in learned
    assert "after_its_own" not in learned


@pytest.mark.parametrize("kind", [Invariant, StepProperty])
def test_a_property_with_arithmetic_is_refused(kind: type, explore: Callable[..., Outcome]) -> None:
    def few(of: Any) -> bool:
        return (of.after if isinstance(of, Transition) else of).epoch < 3

    def few_steps(before: Duel, after: Duel) -> bool:
        return after.epoch - before.epoch <= 1

    function = few if kind is Invariant else few_steps
    key = "invariants" if kind is Invariant else "step_properties"
    system = attrs.evolve(duel(3), **{key: tuple(kind(function, {}).instances(Sizes(3)))})
    with pytest.raises(ModelError, match=f"{function.__name__} looks at more than the order of epochs"):
        explore(abstracted(system, ["epochs"]))


def test_a_step_property_may_compare_the_epochs_of_both_states(explore: Callable[..., Outcome]) -> None:
    def grows(before: Duel, after: Duel) -> bool:
        return after.epoch >= before.epoch

    def stays(before: Duel, after: Duel) -> bool:
        return after.epoch == before.epoch

    for function, verdict in ((grows, Verdict.HOLDS), (stays, Verdict.VIOLATED)):
        system = attrs.evolve(duel(3), step_properties=tuple(StepProperty(function, {}).instances(Sizes(3))))
        assert explore(abstracted(system, ["epochs"])).verdict is verdict


def test_a_group_that_cannot_be_abstracted_is_refused_by_name() -> None:
    @attrs.frozen
    class Several:
        votes: frozenset[int] = within(SetOf(Integers(0, 2, order="votes")))

    @attrs.frozen
    class Two:
        one: int = within(Integers(0, 2, order="terms"))
        other: int = within(Integers(0, 3, order="terms"))

    @attrs.frozen
    class Many:
        term: int = within(Integers(0, 63, order="terms"))

    @attrs.frozen
    class Apart:
        one: int = within(Integers(0, 2, order="terms"))
        other: int = within(Integers(-1, 2, order="terms", constants_below=1))

    def pick(state: Duel, epoch: int) -> Duel | None:
        return None

    def system(first: Any) -> System:
        return System(domain_of(type(first), None), (first,), ())

    with_parameter = attrs.evolve(duel(2), actions=tuple(Action(pick, {"epoch": epochs(Sizes(2))}).instances(Sizes(2))))
    for wrong, groups, message in (
        (duel(2), ["terms"], "'terms' is no group .* allowed are epochs"),
        (system(Several(frozenset())), ["votes"], "votes: a set cannot hold votes"),
        (system(Two(0, 0)), ["terms"], "other holds 0 to 3, and one 0 to 2"),
        (system(Many(0)), ["terms"], "term holds 64 numbers, and at most 32"),
        (system(Apart(0, 0)), ["terms"], "other has constants_below=1, and one has 0"),
        (with_parameter, ["epochs"], "pick's parameter epoch is one of the epochs"),
    ):
        with pytest.raises(ModelError, match=message):
            abstracted(wrong, groups)
    with pytest.raises(TypeError, match="are names"):
        Integers(0, 2, names="brokers", order="epochs")


# Random systems


NONE = -1


def terms(sizes: Any) -> Integers:
    return Integers(NONE, sizes.epochs, order="terms", constants_below=0)


def begun(sizes: Any) -> Integers:
    """Without one for none: what is absent is packed as the first term is."""
    return Integers(0, sizes.epochs, order="terms")


@attrs.frozen
class Vote:
    term: int = within(begun)
    granted: bool = within(BOOLEAN)


@attrs.frozen
class Quorum:
    """A term that only grows, and what remembers some of those before."""

    term: int = within(terms)
    known: tuple[int, int] = within(lambda sizes: ArrayOf(terms(sizes), 2, by="nodes"))
    last: int | None = within(lambda sizes: Maybe(terms(sizes)))
    vote: Vote | None = within(lambda sizes: Maybe(domain_of(Vote, sizes)))
    log: tuple[int, ...] = within(lambda sizes: SequenceOf(begun(sizes), Limit(2, "length")))


NODE = Integers(0, 1, label="n", names="nodes")
CONDITIONS: dict[str, Callable[[Quorum, int], bool]] = {
    "always": lambda quorum, node: True,
    "is behind": lambda quorum, node: quorum.known[node] < quorum.term,
    "knows it": lambda quorum, node: quorum.known[node] == quorum.term,
    "knows none": lambda quorum, node: quorum.known[node] == NONE,
    "is ahead of the other": lambda quorum, node: quorum.known[node] > quorum.known[1 - node],
    "has no last": lambda quorum, node: quorum.last is None,
    "last is old": lambda quorum, node: quorum.last is not None and quorum.last < quorum.term,
    "has a log": lambda quorum, node: len(quorum.log) > 0,
    "log is as the node": lambda quorum, node: quorum.log[-1:] == (quorum.known[node],),
    "log has two terms": lambda quorum, node: len(quorum.log) == 2 and quorum.log[0] != quorum.log[1],
    "voted": lambda quorum, node: quorum.vote is not None and quorum.vote.term >= quorum.known[node],
    "granted": lambda quorum, node: quorum.vote is not None and quorum.vote.granted,
}
EFFECTS: dict[str, Callable[[Quorum, int], Quorum]] = {
    "begins": lambda quorum, node: evolve(quorum, term=quorum.term + 1),
    "begins and knows": lambda quorum, node: evolve(
        quorum, term=quorum.term + 1, known=replaced(quorum.known, node, quorum.term + 1)
    ),
    "learns": lambda quorum, node: evolve(quorum, known=replaced(quorum.known, node, quorum.term)),
    "forgets": lambda quorum, node: evolve(quorum, known=replaced(quorum.known, node, NONE)),
    "keeps": lambda quorum, node: evolve(quorum, last=quorum.known[node]),
    "drops": lambda quorum, node: evolve(quorum, last=None),
    "votes": lambda quorum, node: evolve(
        quorum,
        vote=Vote(max(quorum.known[node], min(quorum.log, default=quorum.term)), quorum.known[node] == quorum.term),
    ),
    "revokes": lambda quorum, node: evolve(quorum, vote=None),
    "appends": lambda quorum, node: evolve(quorum, log=(*quorum.log, quorum.term)),
    "truncates": lambda quorum, node: evolve(quorum, log=quorum.log[:-1]),
    "takes over": lambda quorum, node: evolve(quorum, known=(max(quorum.known), max(quorum.known))),
}
ENOUGH = 8
"""Live terms: one, two known, the last, a vote, two in the log; and a new one."""


@st.composite
def quorums(draw: Any) -> System:
    """Random steps of both nodes, and random properties; its terms are bounded by more than it ever holds at once."""

    def condition() -> Callable[[Quorum, int], bool]:
        name, negated = draw(st.sampled_from(sorted(CONDITIONS))), draw(st.booleans())
        return lambda quorum, node: CONDITIONS[name](quorum, node) != negated

    def step(number: int, effect: str) -> Action:
        when, done = condition(), EFFECTS[effect]

        def taken(quorum: Quorum, node: int) -> Quorum | None:
            return done(quorum, node) if when(quorum, node) else None

        taken.__name__ = f"step{number}"
        return Action(taken, {"node": NODE}, "node")

    def quantified(name: str) -> Callable[[Quorum], bool]:
        wanted, how = condition(), draw(st.sampled_from([any, all]))

        def holds(quorum: Quorum) -> bool:
            return how(wanted(quorum, node) for node in range(2))

        holds.__name__ = name
        return holds

    effects = ["begins", *(draw(st.sampled_from(sorted(EFFECTS))) for _ in range(draw(st.integers(1, 5))))]
    actions = [step(number, effect) for number, effect in enumerate(effects)]
    fair = [[Per(each, ("node",)) for each in actions if draw(st.booleans())] for _ in range(2)]
    form = draw(st.sampled_from((*FORMS, UNTIL)))
    promise = Liveness(
        quantified("promise"), {}, form=form, fair=tuple(fair[0]),
        strongly_fair=tuple(each for each in fair[1] if each not in fair[0]),
        premise=quantified("premise") if form in (LEADS_TO, UNTIL) else None,
    )  # fmt: skip
    sizes = Sizes(ENOUGH)
    return System(
        domain_of(Quorum, sizes),
        (Quorum(0, (NONE, NONE), None, None, ()),),
        tuple(instance for each in actions for instance in each.instances(sizes)),
        tuple(Invariant(quantified("rule"), {}).instances(sizes)),
        liveness=tuple(promise.instances(sizes)),
        interchangeable={"nodes": (0, 1)},
    )


def quorum_by_hand(quorum: Quorum) -> tuple[Any, ...]:
    """The class of a quorum, by other means than its domain."""
    held = [quorum.term, *quorum.known, *quorum.log]
    held += [] if quorum.last is None else [quorum.last]
    held += [] if quorum.vote is None else [quorum.vote.term]
    order = sorted({NONE, *held})
    return (
        order.index(quorum.term), tuple(map(order.index, quorum.known)), tuple(map(order.index, quorum.log)),
        None if quorum.last is None else order.index(quorum.last),
        None if quorum.vote is None else (order.index(quorum.vote.term), quorum.vote.granted),
    )  # fmt: skip


@thorough_or_quick
@given(system=quorums())
def test_classes_are_those_of_a_bounded_search(system: System) -> None:
    """Up to a depth, a search in real numbers within a large bound finds the same classes, level by level, and the same
    shortest violation.
    """
    depth = 5
    ranked = abstracted(attrs.evolve(system, liveness=()), ["terms"])
    outcome = breadth_first.explore(ranked, Budget(max_depth=depth), SearchOptions(keep_going=True, symmetry=False))
    event(f"{outcome.verdict.value}")
    states = reached(system, depth)
    classes: dict[Any, int] = {}
    for state, at in states.items():
        classes.setdefault(quorum_by_hand(state), at)
    by_level = tuple(sum(at == level for at in classes.values()) for level in range(len(outcome.levels)))
    assert outcome.levels == by_level and outcome.distinct_states == len(classes)
    (rule,) = system.invariants
    depths = [at for state, at in states.items() if not judge(rule, state, system.domain)]
    assert [violation.trace_length for violation in outcome.violations] == ([min(depths)] if depths else [])


@thorough_or_quick
@given(system=quorums())
def test_both_engines_agree_on_classes_with_and_without_symmetry(system: System) -> None:
    ranked = abstracted(system, ["terms"])
    budget = Budget(max_states=1500)
    plain = plain_python.explore(ranked, budget, SearchOptions(keep_going=True))
    assume(plain.reason == "")
    event(f"{len(plain.violations)} violations")
    for symmetry in (False, True):
        found = breadth_first.explore(ranked, options=SearchOptions(keep_going=True, symmetry=symmetry))
        for name in ("verdict", "levels", "generated", "enabled", "bounds_cut", "deadlocks", "any_number_of"):
            assert getattr(found, name) == getattr(plain, name)
        if not symmetry:
            assert found.violations == plain.violations
            assert found.held_back == plain.held_back
        assert {each.property for each in found.violations} == {each.property for each in plain.violations}
    assert plain.any_number_of == ("terms",)
    for lasso in plain.violations:
        if lasso.back_to is not None:
            goes_on_for_ever(ranked, lasso)


def goes_on_for_ever(system: System, lasso: Violation) -> None:
    """Go round the cycle of a lasso three times more, in real numbers: each time through states of the same order."""
    around = lasso.trace[lasso.back_to + 1 :]
    state = lasso.trace[-1].state
    for _ in range(3):
        for step in around:
            state = successor(step.action, state, system.domain)
            assert isinstance(state, Quorum)
            assert quorum_by_hand(state) == quorum_by_hand(step.state)


@st.composite
def quorum_states(draw: Any) -> Quorum:
    term, real = st.integers(NONE, ENOUGH), st.integers(0, ENOUGH)
    return Quorum(
        draw(term), (draw(term), draw(term)), draw(st.none() | term),
        draw(st.none() | st.builds(Vote, real, st.booleans())), tuple(draw(st.lists(real, max_size=2))),
    )  # fmt: skip


RANKED = abstracted(System(domain_of(Quorum, Sizes(ENOUGH)), (Quorum(0, (NONE, NONE), None, None, ()),), ()), ["terms"])


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine(RANKED, None, 0, 1, symmetry=False)
    yield made
    made.close()


@settings(max_examples=10 * (EXAMPLES or 30), derandomize=not EXAMPLES, deadline=None)
@given(state=quorum_states())
def test_machine_code_puts_numbers_in_ranks_as_plain_python_does(engine: Engine, state: Quorum) -> None:
    room = np.zeros((1 + SPARE, engine.layout.words), np.uint64)
    room[0] = engine.layout.pack(state)
    entry_points.ALONE.representative(room, engine.symmetry, engine.store.units)
    found = engine.layout.unpack(room[0])
    assert found == RANKED.class_of(state)
    assert quorum_by_hand(found) == quorum_by_hand(state)
    held = {found.term, *found.known, *found.log} | {each for each in (found.last,) if each is not None}
    held |= {found.vote.term} if found.vote else set()
    held -= {NONE}
    assert held == set(range(len(held)))


def test_random_walks_find_nothing_behind_a_step_that_a_bound_cuts_in_its_class() -> None:
    """With epochs 0 and 1 no class has three live ones, and the real numbers of a walk have room for them."""
    assert plain_python.explore(abstracted(duel(1, nobody_is_behind_by_three_changes), ["epochs"])).bounds_cut
    small, large = (abstracted(duel(most, nobody_is_behind_by_three_changes), ["epochs"]) for most in (1, 2))
    assert simulate(small, Walking(walks=100, depth=30, seed=1)).violation is None
    assert simulate(large, Walking(walks=100, depth=30, seed=1)).violation is not None


@action(actor="broker")
def forget(duel: Duel) -> Duel | None:
    """Everybody learns the newest epoch, so that all older ones are dead."""
    return evolve(duel, known=(duel.epoch, duel.epoch)) if duel.known[0] != duel.epoch else None


@invariant()
def nobody_returns(duel: Duel) -> bool:
    return duel.leader != 0 or duel.committed


def forgetful() -> System:
    """With epochs 0 and 1, in classes: between two elections everybody has to learn the newest epoch."""
    found = duel(1, nobody_returns)
    actions = (*found.actions, *forget.instances(None))
    return abstracted(attrs.evolve(found, actions=actions), ["epochs"])


@pytest.mark.parametrize("states", [200_000, 5])
@pytest.mark.parametrize("seed", range(4))
def test_a_shrunk_walk_takes_no_step_that_a_bound_cuts_in_its_class(seed: int, states: int) -> None:
    system = forgetful()
    found = simulate(system, Walking(walks=200, depth=40, seed=seed)).violation
    assert found is not None
    shrunk = shrink(system, found, states=states)
    for violation in (found, shrunk.violation):
        for before, after in itertools.pairwise(with_fewest_switches(system, violation).trace):
            _, of = class_after(system, after.taken, system.class_of(before.state))
            assert of == system.class_of(after.state)
    shortest = plain_python.explore(system).violations[0].trace_length
    assert shortest <= shrunk.violation.trace_length <= found.trace_length
    assert shrunk.minimal is not Minimal.GLOBALLY or shrunk.violation.trace_length == shortest


def test_no_counterexample_takes_a_step_that_a_bound_cuts_in_its_class() -> None:
    system = forgetful()
    for steps, is_one in (
        ("elect(broker b1), elect(broker b0)", False),
        ("elect(broker b1), forget(), elect(broker b0)", True),
    ):
        known = _Known(0, tuple(steps.split(", ")), "nobody_returns", {}, None, "")
        assert known._is_one_of(system) is is_one, steps


@attrs.frozen
class Pair:
    """Two epochs."""

    older: int = within(epochs)
    newer: int = within(epochs)
    turns: int = within(Integers(0, 3))


@action(actor="leader")
def renew(pair: Pair) -> Pair | None:
    """With epochs 0 and 1 there is no third one in a class, though what comes of it has two epochs again."""
    return evolve(pair, older=max(pair.older, pair.newer) + 1, turns=pair.turns + 1) if pair.turns < 3 else None


@action(actor="leader")
def exchange(pair: Pair) -> Pair | None:
    return Pair(pair.newer, pair.older, pair.turns + 1) if pair.turns < 3 else None


@action(actor="leader")
def begin_again(pair: Pair) -> Pair | None:
    return evolve(pair, turns=0) if pair.turns == 3 else None


@invariant()
def there_is_no_third_turn(pair: Pair) -> bool:
    return pair.turns < 3


@step_property()
def there_is_no_third_step(before: Pair, after: Pair) -> bool:
    return after.turns < 3


@always_eventually(fair=[exchange, begin_again])
def the_older_is_the_newer(pair: Pair) -> bool:
    return pair.older == pair.newer


def pair(of: Any) -> System:
    """The two epochs in classes, with one property."""
    actions = tuple(each.instances(None)[0] for each in (renew, exchange, begin_again))
    made = System(domain_of(Pair, Sizes(1)), (Pair(0, 1, 0),), actions)
    kind = {Invariant: "invariants", StepProperty: "step_properties", Liveness: "liveness"}[type(of)]
    return abstracted(attrs.evolve(made, **{kind: tuple(of.instances(None))}), ["epochs"])


@pytest.mark.parametrize("of", [there_is_no_third_turn, there_is_no_third_step, the_older_is_the_newer])
def test_a_trace_takes_no_step_that_a_bound_cuts_in_its_class(of: Any, explore: Callable[..., Outcome]) -> None:
    """Where another action leads to the same class, and is the later one in the model's order."""
    system = pair(of)
    (violation,) = explore(system).violations
    assert len(violation.trace) > 3
    for before, after in itertools.pairwise(violation.trace):
        _, there = class_after(system, after.taken, system.class_of(before.state))
        assert there == system.class_of(after.state), after.taken
