"""Certificates are judged by plain Python alone: true ones are verified, and altered ones are refused."""

from __future__ import annotations

import functools
import io
import itertools
import random
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import Phase, given, settings

from highwater.explorer.blame import ModelError
from highwater.explorer.outlook import outlook
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain.certifying import certificate_of
from highwater.explorer.system import Cut, System, abstracted, successor
from highwater.explorer.values import Renaming
from highwater.explorer.verdict import Budget, Found, Outcome, SearchOptions, Step, Verdict, Violation
from highwater.explorer.verifier import traces
from highwater.explorer.verifier.certificate import Certificate, Codec, Unfit, read, write
from highwater.explorer.verifier.closed_set import ClosedSet, is_group
from highwater.explorer.verifier.rankings import KEPT
from highwater.explorer.verifier.sums import Refused, Sums
from highwater.explorer.verifier.verdicts import Report, verify
from highwater.model.language.declarations import action, invariant, step_property
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Struct
from highwater.model.language.graph_properties import (
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    per,
    prospect,
)
from highwater.model.language.records import domain_of, evolve, replaced, within
from highwater.model.language.shape import Domain, Tuples
from tests.explorer.test_audit import Ballot, follow, reached_by_imports, seats_are_fair, the_other_follows, vote
from tests.explorer.test_engine_in_small import club_of, desk_can_close
from tests.explorer.test_random_liveness import EXAMPLES, systems, thorough_or_quick
from tests.explorer.test_random_systems import systems as random_systems

some = settings(parent=thorough_or_quick, max_examples=EXAMPLES or 20, phases=[Phase.generate])
VERIFIER = Path(__file__).parents[2] / "explorer" / "verifier"
DESK = Integers(0, 1, label="d", names="desks")


@attrs.frozen
class Office:
    """Two desks: what each has done, and whether the lamp is on."""

    done: tuple[int, ...] = within(ArrayOf(Integers(0, Limit(2, "work_max")), 2, by="desks"))
    lit: bool = within(BOOLEAN)


@attrs.frozen
class Lamps:
    first: bool = within(BOOLEAN)
    second: bool = within(BOOLEAN)


@action(actor="desk", desk=DESK)
def work(office: Office, desk: int) -> Office | None:
    return evolve(office, done=replaced(office.done, desk, office.done[desk] + 1)) if office.lit else None


@action(actor="desk", desk=DESK)
def rest(office: Office, desk: int) -> Office | None:
    return evolve(office, done=replaced(office.done, desk, 0)) if office.done[desk] == 2 and office.lit else None


@action(actor="lamp")
def switch(office: Office) -> Office:
    return evolve(office, lit=not office.lit)


@invariant(desk=DESK)
def nobody_works_too_much(office: Office, desk: int) -> bool:
    return office.done[desk] <= 2


@invariant()
def one_of_them_is_idle(office: Office) -> bool:
    return min(office.done) == 0


@step_property()
def work_is_lost_as_a_whole(before: Office, after: Office) -> bool:
    return all(now >= then or now == 0 for then, now in zip(before.done, after.done, strict=True))


@prospect(along=(work, switch))
def somebody_can_work(office: Office) -> bool:
    return max(office.done) > 0


@prospect(along=(work, switch))
def overtime_is_possible(office: Office) -> bool:
    return max(office.done) > 2


@leads_to(lambda office: not office.lit, fair=[per(switch)])
def darkness_ends(office: Office) -> bool:
    return office.lit


@leads_to(lambda office, desk: office.done[desk] == 0, fair=[switch], strongly_fair=[work], desk=DESK)
def everybody_works(office: Office, desk: int) -> bool:
    return office.done[desk] > 0


@eventually_always(fair=[switch])
def work_stays_within_reason(office: Office) -> bool:
    return max(office.done) <= 2


SAFETY = (nobody_works_too_much, work_is_lost_as_a_whole)
GRAPH = (somebody_can_work, darkness_ends, everybody_works, work_stays_within_reason)


@cache
def office(*properties: Any) -> System:
    found = [each for of in properties for each in of.instances(None)]

    def of_kind(*kinds: Any) -> Any:
        return tuple(each for each in found if type(each.of) in map(type, kinds))

    return System(
        domain_of(Office, None),
        (Office((0, 0), False),),
        tuple(each for of in (work, rest, switch) for each in of.instances(None)),
        of_kind(nobody_works_too_much),
        {"desks": (0, 1)},
        of_kind(work_is_lost_as_a_whole),
        of_kind(somebody_can_work),
        of_kind(darkness_ends),
    )


def searched(
    system: System, budget: Budget | None = None, check_deadlock: bool = False, **options: Any
) -> tuple[Outcome, Found | None]:
    found: list[Found] = []
    how, budget = SearchOptions(workers=1, **options), budget or Budget()
    outcome = breadth_first.explore(system, budget, how, check_deadlock=check_deadlock, on_found=found.append)
    return outcome, next(iter(found), None)


def certified(system: System, **options: Any) -> Certificate:
    options.setdefault("symmetry", not system.liveness)
    outcome, found = searched(system, **options)
    return certificate_of(system, outcome, found, claim="a claim", spec={}, code={})


def verified(certificate: Certificate, system: System, **options: Any) -> Report:
    return verify(certificate, system, **{"no_deadlock": False, **options})


def refused(certificate: Certificate, system: System, **options: Any) -> str:
    with pytest.raises(Refused) as refusal:
        verified(certificate, system, **options)
    return str(refusal.value)


def test_the_verifier_shares_no_code_with_what_it_judges() -> None:
    """Neither it nor what it imports is of the compiler, the kernels or the search."""
    reached = reached_by_imports(*VERIFIER.glob("*.py"))
    assert {path.parent.name for path in reached} == {"explorer", "verifier", "language"}


# --- What is verified


@pytest.mark.parametrize("trusts", [False, True], ids=["every image", "one of each orbit"])
@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
def test_states_and_steps_are_verified_by_plain_python_alone(symmetry: bool, trusts: bool) -> None:
    system = office(*SAFETY, somebody_can_work)
    certificate = certified(system, symmetry=symmetry)
    report = verified(certificate, system, trust_symmetry=trusts)
    assert report.verified == (
        "18 states and 36 steps, and no others",
        "nobody_works_too_much holds",
        "work_is_lost_as_a_whole holds",
        "somebody_can_work holds",
    )
    assert report.states == (12 if symmetry else 18)
    assert any("treats its desks alike" in each for each in report.not_verified) == (trusts and symmetry)


def test_a_search_to_a_depth_is_verified_to_this_depth() -> None:
    system = club_of(False, seats_are_fair)
    report = verified(certified(system, budget=Budget(max_depth=3)), system)
    assert "what lies deeper than 3 actions" in report.not_verified


def test_classes_by_the_order_of_numbers_are_verified(system_of: Callable[..., System]) -> None:
    system = abstracted(system_of([Ballot(0, 0)], [vote, follow], [the_other_follows]), ["epochs"])
    assert verified(certified(system), system).states > 1


def test_prospects_that_only_a_bound_makes_possible_are_counted() -> None:
    system = office(overtime_is_possible)
    certificate = certified(system)
    assert certificate.counts["held_back"] == {"overtime_is_possible": 18}
    assert any("overtime_is_possible in 18 states" in each for each in verified(certificate, system).not_verified)
    counts = {**certificate.counts, "held_back": {"overtime_is_possible": 17}}
    assert "held_back is" in refused(attrs.evolve(certificate, counts=counts), system)
    nearer = {name: [-1] * len(ranks) for name, ranks in certificate.prospects.items()}
    assert "no step leads nearer" in refused(attrs.evolve(certificate, prospects=nearer), system)
    hoped = {of: [1 if each == min(ranks) else each for each in ranks] for of, ranks in certificate.prospects.items()}
    assert "no step leads nearer" in refused(attrs.evolve(certificate, prospects=hoped), system)


def test_promises_are_verified_by_their_ranks() -> None:
    system = office(*GRAPH)
    certificate = certified(system)
    assert certificate.verdict == "holds"
    assert {f"{each.name} holds" for each in GRAPH} < set(verified(certificate, system).verified)


@pytest.mark.parametrize("trusts", [False, True], ids=["every image", "one of each orbit"])
def test_any_image_of_an_orbit_may_stand_for_it(trusts: bool) -> None:
    system, chance = office(*SAFETY), random.Random(0)
    certificate = certified(system)
    codec, exchange = Codec(system.class_domain), Renaming(system.class_domain, certificate.permutations[1])
    images = [codec.bytes_of(exchange(codec.state(each))) for each in certificate.states]
    drawn = [chance.choice(each) for each in zip(certificate.states, images, strict=True)]
    assert drawn != certificate.states
    verified(attrs.evolve(certificate, states=drawn), system, trust_symmetry=trusts)
    row = next(row for row, image in enumerate(images) if image not in certificate.states)
    both = [*certificate.states[: row + 1], images[row], *certificate.states[row + 1 :]]
    ends = itertools.accumulate(certificate.levels)
    levels = [count + (end - count <= row < end) for count, end in zip(certificate.levels, ends, strict=True)]
    twice = attrs.evolve(certificate, states=both, levels=levels)
    assert "an image of it is stored, too" in refused(twice, system, trust_symmetry=trusts)


@some
@given(systems())
def test_the_verifier_agrees_about_random_promises(system: System) -> None:
    """Those that hold have ranks, and those that do not have lassos."""
    verified(certified(system), system)


@some
@given(random_systems())
def test_the_verifier_agrees_about_random_systems(system: System) -> None:
    outcome, found = searched(system, budget=Budget(max_states=300))
    if outcome.verdict is not Verdict.UNKNOWN:
        verified(certificate_of(system, outcome, found, claim="", spec={}, code={}), system)


# --- What is refused


def without_a_state(certificate: Certificate, chance: random.Random) -> Certificate:
    row = chance.randrange(len(certificate.states))
    depth = ClosedSet(certificate, office(*SAFETY), no_deadlock=False)._depth(row)
    levels = [count - (number == depth) for number, count in enumerate(certificate.levels)]
    return attrs.evolve(certificate, states=[*certificate.states[:row], *certificate.states[row + 1 :]], levels=levels)


def with_a_state_changed(certificate: Certificate, chance: random.Random) -> Certificate:
    row, states = chance.randrange(len(certificate.states)), list(certificate.states)
    data = bytearray(states[row])
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return attrs.evolve(certificate, states=[*states[:row], bytes(data), *states[row + 1 :]])


def with_states_exchanged(certificate: Certificate, chance: random.Random) -> Certificate:
    """Two states are at each other's depth."""
    states = list(certificate.states)
    first, last = 0, chance.randrange(certificate.levels[0], len(states))
    states[first], states[last] = states[last], states[first]
    return attrs.evolve(certificate, states=states)


def with_a_count_changed(certificate: Certificate, chance: random.Random) -> Certificate:
    key, counts = chance.choice(sorted(certificate.counts)), dict(certificate.counts)
    more = chance.choice([-1, 1])
    if key == "levels":
        counts[key] = [count + more * (not number) for number, count in enumerate(counts[key])]
    elif isinstance(counts[key], dict):
        name = chance.choice([*counts[key], "a name"])
        counts[key] = {**counts[key], name: counts[key].get(name, 0) + more}
    else:
        counts[key] += more
    return attrs.evolve(certificate, counts=counts)


def with_a_count_left_out(certificate: Certificate, chance: random.Random) -> Certificate:
    key = chance.choice(sorted(certificate.counts))
    return attrs.evolve(certificate, counts={name: of for name, of in certificate.counts.items() if name != key})


OFTEN = 500
ALTERATIONS = (
    without_a_state,
    with_a_state_changed,
    with_states_exchanged,
    with_a_count_changed,
    with_a_count_left_out,
)


@pytest.mark.parametrize("alter", ALTERATIONS, ids=lambda alter: alter.__name__)
def test_a_certificate_that_was_altered_is_refused(alter: Callable[..., Certificate]) -> None:
    """At random, each of a certificate that holds without it."""
    system, chance = office(*SAFETY), random.Random(alter.__name__)
    certificate = certified(system)
    verified(certificate, system)
    for _ in range(OFTEN):
        altered = alter(certificate, chance)
        assert refused(altered, system), altered


def test_a_property_that_was_swapped_for_one_that_is_false_somewhere_is_refused() -> None:
    """At random, in one of all states, those included for which another stands."""
    system, chance = office(*SAFETY), random.Random(0)
    certificate = certified(system)
    for state in chance.choices(all_states(certificate, system), k=OFTEN):
        number = chance.randrange(len(system.invariants))
        others = system.invariants[:number] + system.invariants[number + 1 :]
        swapped = attrs.evolve(system, invariants=(*others, *is_another_than(state).instances(None)))
        assert refused(certificate, swapped).startswith("it_is_another() is violated")


def test_a_model_that_was_edited_is_refused() -> None:
    """At random, one step is not taken any more."""
    system, chance = office(*SAFETY), random.Random(0)
    certificate = certified(system)
    steps = [
        (number, state)
        for state in all_states(certificate, system)
        for number, each in enumerate(system.actions)
        if not isinstance(successor(each, state, system.domain), Cut | None)
    ]
    for number, state in chance.choices(steps, k=OFTEN):
        action = system.actions[number]
        edited = without_a_step(action, state)
        of = [edited if each is action.of else each for each in dict.fromkeys(each.of for each in system.actions)]
        actions = tuple(instance for each in of for instance in each.instances(None))
        assert refused(certificate, attrs.evolve(system, actions=actions))


def all_states(certificate: Certificate, system: System) -> list[Any]:
    """All states of a certificate, those included for which another stands."""
    codec = Codec(system.class_domain)
    images = [Renaming(system.class_domain, each) for each in certificate.permutations]
    return list(dict.fromkeys(image(codec.state(each)) for each in certificate.states for image in images))


def without_a_step(action: Any, state: Any) -> Any:
    """The declaration of an action instance, but that it is not enabled in one state."""

    @functools.wraps(action.of.function)
    def edited(before: Any, **arguments: Any) -> Any:
        return None if (before, arguments) == (state, action.arguments) else action.of.function(before, **arguments)

    return attrs.evolve(action.of, function=edited)


def is_another_than(state: Any) -> Any:
    @invariant()
    def it_is_another(office: Office) -> bool:
        return office != state

    return it_is_another


def test_a_property_that_is_false_is_refused_under_any_certificate() -> None:
    certificate = certified(office(*SAFETY))
    said = refused(certificate, office(one_of_them_is_idle))
    assert said == "one_of_them_is_idle() is violated; in the state Office(done (1, 1), lit True)"


@pytest.mark.parametrize("trusts", [False, True], ids=["every image", "one of each orbit"])
def test_another_model_is_refused_under_any_certificate(trusts: bool) -> None:
    """One that lacks an action, or an initial state, or that has one more."""
    system = office(*SAFETY)
    more = attrs.evolve(system, initial=(*system.initial, Office((1, 1), True)))
    others = [
        more,
        *(
            attrs.evolve(system, actions=tuple(each for each in system.actions if each.of is not of))
            for of in (work, rest, switch)
        ),
    ]
    for other in others:
        assert refused(certified(system), other, trust_symmetry=trusts)
        assert refused(certified(other), system, trust_symmetry=trusts)


@action(actor="lamp")
def turn(lamps: Lamps) -> Lamps:
    return evolve(lamps, first=not lamps.first)


@action(actor="lamp")
def turn_the_other(lamps: Lamps) -> Lamps | None:
    return evolve(lamps, second=not lamps.second) if lamps.first else None


@always_eventually(fair=[turn], strongly_fair=[turn_the_other])
def the_second_alone_is_lit(lamps: Lamps) -> bool:
    return lamps.second and not lamps.first


@leads_to(lambda lamps: lamps.first, strongly_fair=[turn_the_other])
def the_first_goes_out(lamps: Lamps) -> bool:
    return not lamps.first


@pytest.mark.slow
@pytest.mark.parametrize("promise", [the_second_alone_is_lit, the_first_goes_out])
def test_no_ranks_make_a_broken_promise_pass(promise: Any) -> None:
    """All stacks of one pair that four states can have, and some of two pairs."""
    actions = (*turn.instances(None), *turn_the_other.instances(None))
    plain = System(domain_of(Lamps, None), (Lamps(False, False),), actions)
    system, certificate = attrs.evolve(plain, liveness=tuple(promise.instances(None))), certified(plain, symmetry=False)
    assert certified(system).verdict == "violated" and len(certificate.states) == 4
    demands = range(KEPT, len(promise.fair) + len(promise.strongly_fair))
    pairs, chance = list(itertools.product(range(2), demands)), random.Random(0)
    one = list(itertools.product([(), *((each,) for each in pairs)], repeat=4))
    two = [[tuple(chance.choices(pairs, k=chance.randrange(3))) for _ in range(4)] for _ in range(400)]
    for stacks in (*one, *two):
        assert str(system.liveness[0]) in refused(
            attrs.evolve(certificate, liveness={str(system.liveness[0]): stacks}), system
        )


def test_ranks_that_are_wrong_are_refused() -> None:
    """A state that is not the goal has no rank 0, none is nearer than its steps lead, and no stack ends early."""
    system, chance = office(*GRAPH), random.Random(0)
    certificate = certified(system)
    for _ in range(OFTEN):
        name, ranks = chance.choice([*certificate.prospects.items()])
        row = chance.choice([row for row, rank in enumerate(ranks) if rank])
        wrong = {name: [0 if number == row else rank for number, rank in enumerate(ranks)]}
        assert "no step leads nearer" in refused(
            attrs.evolve(certificate, prospects={**certificate.prospects, **wrong}), system
        )
        name, stacks = chance.choice([*certificate.liveness.items()])
        row = chance.choice([row for row, stack in enumerate(stacks) if stack])
        other = chance.choice([(), ((0, KEPT),), ((0, 99),)])
        wrong = {name: [other if number == row else stack for number, stack in enumerate(stacks)]}
        altered = attrs.evolve(certificate, liveness={**certificate.liveness, **wrong})
        assert name in refused(altered, system)


@action(actor="lamp")
def turn_on(lamps: Lamps) -> Lamps | None:
    return evolve(lamps, first=True) if not lamps.first else None


@action(actor="lamp")
def turn_the_other_on(lamps: Lamps) -> Lamps | None:
    return evolve(lamps, second=True) if lamps.first and not lamps.second else None


@eventually(fair=[turn_the_other_on])
def both_are_lit(lamps: Lamps) -> bool:
    return lamps.first and lamps.second


@leads_to(lambda lamps: not lamps.first, fair=[turn_on])
def the_second_follows(lamps: Lamps) -> bool:
    return lamps.second


@prospect(along=(turn_on,))
def the_first_alone_lights_the_second(lamps: Lamps) -> bool:
    return lamps.second


@pytest.mark.parametrize(
    ("kind", "of", "ranks", "why"),
    [
        ("liveness", both_are_lit, [((0, 0),), ((0, 0),), ()], "a fair behaviour may stay here for ever"),
        ("liveness", the_second_follows, [((0, 0),), (), ()], "leads to a state that waits and has no rank"),
        ("liveness", the_second_follows, [((0, 0),), ((0, KEPT),), ()], "leads to a state of a higher rank"),
        ("prospects", the_first_alone_lights_the_second, [2, 1, 0], "no step leads nearer"),
    ],
)
def test_ranks_of_a_violated_property_are_refused(kind: str, of: Any, ranks: Any, why: str) -> None:
    """Two lamps are turned on, one after the other. What is promised relies on one of these steps alone."""
    actions = (*turn_on.instances(None), *turn_the_other_on.instances(None))
    plain = System(domain_of(Lamps, None), (Lamps(False, False),), actions)
    (instance,) = of.instances(None)
    system = attrs.evolve(plain, **{kind: (instance,)})
    assert certified(system).verdict == "violated"
    certificate = certified(plain, symmetry=False)
    assert why in refused(attrs.evolve(certificate, **{kind: {str(instance): ranks}}), system)


def test_a_deadlock_is_refused_where_none_may_be() -> None:
    system = System(domain_of(Lamps, None), (Lamps(False, False),), tuple(turn_on.instances(None)))
    verified(certified(system), system)
    assert "no_deadlock is violated" in refused(certified(system), system, no_deadlock=True)


def test_a_trace_to_a_deadlock_ends_where_no_step_is_enabled_and_is_of_a_claim_that_allows_none() -> None:
    system = System(domain_of(Lamps, None), (Lamps(False, False),), tuple(turn_on.instances(None)))
    certificate = certified(system, check_deadlock=True)
    verified(certificate, system, no_deadlock=True)
    (trace,) = certificate.traces
    shorter = trace | {"actions": [], "states": trace["states"][:1]}
    early = attrs.evolve(certificate, traces=[shorter])
    assert "a step is enabled" in refused(early, system, no_deadlock=True)
    assert "none of the checked properties" in refused(certificate, system)


def test_a_cut_step_keeps_hope_at_the_end_of_a_trace() -> None:
    """A prospect that only a step which a bound cuts may bring about is not lost."""
    system = office(overtime_is_possible)
    certificate = certified(system)
    end = Codec(system.class_domain).state(certificate.states[0])
    trace = {"property": "overtime_is_possible()", "back_to": None, "actions": []}
    trace["states"] = [Codec(system.domain).bytes_of(end).hex()]
    lost = attrs.evolve(certificate, verdict="violated", traces=[trace])
    assert "a bound cuts" in refused(lost, system)


def test_ranks_are_of_every_state() -> None:
    system = office(*GRAPH)
    certificate = certified(system)
    (name, ranks), *_ = certificate.prospects.items()
    fewer = {**certificate.prospects, name: ranks[:-1]}
    assert "there is not one rank for each state" in refused(attrs.evolve(certificate, prospects=fewer), system)
    beside = {name: [()] * len(ranks), **certificate.liveness}
    assert "there is not one rank" in refused(attrs.evolve(certificate, prospects=fewer, liveness=beside), system)
    with pytest.raises(Unfit, match="has no ranks of"):
        verify(attrs.evolve(certificate, prospects={}), system, no_deadlock=False)
    exchanges = certified(office(*SAFETY)).permutations
    symmetric = attrs.evolve(certificate, permutations=exchanges)
    assert "liveness is judged of every state" in refused(symmetric, system)


def test_symmetry_is_not_trusted_with_a_prospect_that_names_a_desk() -> None:
    @prospect(along=(work, switch), desk=DESK)
    def a_desk_can_work(office: Office, desk: int) -> bool:
        return office.done[desk] < 9

    system = attrs.evolve(office(*SAFETY), prospects=tuple(a_desk_can_work.instances(None)))
    one_by_one = certified(system)
    assert len(one_by_one.permutations) == 1, "the search does not trust it either"
    of_orbits = attrs.evolve(one_by_one, permutations=certified(office(*SAFETY)).permutations)
    with pytest.raises(Unfit, match="symmetry cannot be trusted"):
        verify(of_orbits, system, no_deadlock=False, trust_symmetry=True)


def test_a_certificate_is_of_a_verdict() -> None:
    unknown = attrs.evolve(certified(office(*SAFETY)), verdict="unknown")
    with pytest.raises(Unfit, match="a verdict 'unknown' has no certificate"):
        verify(unknown, office(*SAFETY), no_deadlock=False)


def test_exchanges_of_names_must_be_a_group_of_interchangeable_ones() -> None:
    names = {"desks": (0, 1, 2)}
    same, turned, back = ({"desks": dict(zip((0, 1, 2), to, strict=True))} for to in ((0, 1, 2), (1, 2, 0), (2, 0, 1)))
    assert is_group([same], names) and is_group([{}], names) and is_group([same, turned, back], names)
    for wrong in ([], [turned], [same, turned], [same, same], [same, {"desks": {0: 1, 1: 1, 2: 2}}]):
        assert not is_group(wrong, names)
    assert not is_group([same, {"desks": {0: 3, 3: 0}}], names)
    assert not is_group([{}, {"chairs": {0: 1, 1: 0}}], names)


def test_a_model_that_treats_names_differently_is_refused_unless_symmetry_is_trusted() -> None:
    @action(actor="desk", desk=DESK)
    def work(office: Office, desk: int) -> Office | None:
        return evolve(office, done=replaced(office.done, 0, office.done[0] + 1)) if office.lit and not desk else None

    system = attrs.evolve(office(*SAFETY), actions=(*work.instances(None), *switch.instances(None)))
    outcome, found = searched(attrs.evolve(system, interchangeable={}))
    certificate = certificate_of(system, outcome, found, claim="", spec={}, code={})
    symmetric = attrs.evolve(certificate, permutations=[{"desks": {0: 0, 1: 1}}, {"desks": {0: 1, 1: 0}}])
    assert "leads out of the set" in refused(symmetric, system)


def raising(of: Any, part: str = "function") -> Any:
    """A declaration whose function raises."""

    @functools.wraps(getattr(of, part))
    def raises(*given: Any, **arguments: Any) -> Any:
        raise LookupError("there is no such desk")

    return attrs.evolve(of, **{part: raises})


@pytest.mark.parametrize(
    ("of", "part"),
    [(of, "function") for of in (work, *SAFETY, somebody_can_work, darkness_ends)] + [(darkness_ends, "premise")],
)
def test_a_function_that_raises_is_a_fault_of_the_model(of: Any, part: str) -> None:
    """It is named with its file and line, and neither verified nor refused."""
    properties = (*SAFETY, somebody_can_work, darkness_ends) if of is not work else SAFETY
    certificate = certified(office(*properties))
    faulty = office(*(raising(each, part) if each is of else each for each in properties))
    if of is work:
        actions = (*raising(work).instances(None), *faulty.actions[2:])
        faulty = attrs.evolve(faulty, actions=actions)
    with pytest.raises(
        ModelError, match=r"raised LookupError: .*; at .*test_verifier\.py:\d+ in raises: raise "
    ) as fault:
        verified(certificate, faulty)
    assert (part == "premise" or str(fault.value).startswith(of.name)) and "\n" not in str(fault.value)


@attrs.frozen
class Drawer:
    open: bool = within(BOOLEAN)
    full: bool = within(BOOLEAN)

    def __attrs_post_init__(self) -> None:
        if self.full and not self.open:
            raise StuckError


class StuckError(Exception):
    """What no verifier knows."""


@action(actor="desk")
def pull(drawer: Drawer) -> Drawer:
    return evolve(drawer, open=True)


def test_bytes_that_a_class_of_the_model_refuses_are_no_state() -> None:
    system = System(domain_of(Drawer, None), (Drawer(False, False),), tuple(pull.instances(None)))
    certificate = certified(system)
    stuck = attrs.evolve(certificate, states=[*certificate.states, bytes((0, 1))], levels=[1, 2])
    assert "these bytes are no state" in refused(stuck, system)


@action(actor="lamp")
def swap(lamps: Lamps) -> Lamps | None:
    return evolve(lamps, first=not lamps.first) if not lamps.second else None


@action(actor="lamp")
def light_if_dark(lamps: Lamps) -> Lamps | None:
    return evolve(lamps, second=True) if not lamps.first else None


@action(actor="lamp")
def light_if_lit(lamps: Lamps) -> Lamps | None:
    return evolve(lamps, second=True) if lamps.first else None


@eventually(fair=[light_if_dark, light_if_lit])
def the_second_is_lit(lamps: Lamps) -> bool:
    return lamps.second


def test_weak_fairness_to_two_actions_of_which_neither_stays_enabled_is_not_a_proof() -> None:
    actions = tuple(each for of in (swap, light_if_dark, light_if_lit) for each in of.instances(None))
    plain = System(domain_of(Lamps, None), (Lamps(False, False),), actions)
    system, certificate = (
        attrs.evolve(plain, liveness=tuple(the_second_is_lit.instances(None))),
        certified(plain, symmetry=False),
    )
    codec = Codec(system.domain)
    stacks: dict[Lamps, Any] = {Lamps(False, False): ((0, 0),), Lamps(True, False): ((0, 0), (0, 1))}
    found = [stacks.get(codec.state(each), ()) for each in certificate.states]
    wrong = attrs.evolve(certificate, liveness={"the_second_is_lit()": found})
    assert "weak fairness is followed by another" in refused(wrong, system)


def test_a_state_is_no_deeper_than_a_step_leads() -> None:
    """Steps lead to the last of three states from both others, so that it has depth 1."""
    ways = {(False, False): ((True, False), (True, True)), (True, False): ((True, True),)}

    @action(actor="lamp", way=Integers(0, 1))
    def go(lamps: Lamps, way: int) -> Lamps | None:
        open_to = ways.get((lamps.first, lamps.second), ())
        return Lamps(*open_to[way]) if way < len(open_to) else None

    system = System(domain_of(Lamps, None), (Lamps(False, False),), tuple(go.instances(None)))
    certificate = certified(system, symmetry=False)
    assert certificate.levels == [1, 2]
    states = sorted(certificate.states)
    deeper = attrs.evolve(
        certificate, states=states, levels=[1, 1, 1], counts={**certificate.counts, "levels": [1, 1, 1]}
    )
    assert "leads to depth 1, where the state is said to be deeper" in refused(deeper, system)


# --- Traces


def altered_traces(certificate: Certificate, chance: random.Random) -> Certificate:
    (trace, *others) = certificate.traces
    trace, number = dict(trace), chance.randrange(len(trace["states"]))
    match chance.randrange(4):
        case 0:
            data = bytearray.fromhex(trace["states"][number])
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            trace["states"] = [*trace["states"][:number], data.hex(), *trace["states"][number + 1 :]]
        case 1:
            trace["states"] = trace["states"][:-1]
        case 2:
            trace["states"], trace["actions"] = trace["states"][:-1], trace["actions"][:-1]
        case 3:
            trace["property"] = "seat_is_not_paid_twice()"
    return attrs.evolve(certificate, traces=[trace, *others])


def test_a_trace_that_was_altered_is_refused() -> None:
    system = office(one_of_them_is_idle, *SAFETY)
    certificate, chance = certified(system), random.Random(0)
    assert verified(certificate, system).verified == ("a trace of 3 steps violates one_of_them_is_idle()",)
    for _ in range(OFTEN):
        assert refused(altered_traces(certificate, chance), system)
    assert "there is no trace" in refused(attrs.evolve(certificate, traces=[]), system)
    (trace,) = certificate.traces
    assert "as of liveness alone" in refused(attrs.evolve(certificate, traces=[trace | {"back_to": 0}]), system)
    later = trace | {"actions": trace["actions"][1:], "states": trace["states"][1:]}
    assert "does not begin in an initial state" in refused(attrs.evolve(certificate, traces=[later]), system)


def test_a_goal_that_is_lost_is_out_of_reach_at_the_end_of_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    system = club_of(False, desk_can_close)
    certificate = certified(system)
    assert certificate.verdict == "violated"
    verified(certificate, system)
    monkeypatch.setattr(traces, "MOST_BEHIND", 0)
    with pytest.raises(Unfit, match="can come true again is not known: over 0 states"):
        verify(certificate, system, no_deadlock=False)


@leads_to(lambda office: not office.lit, fair=[rest])
def somebody_switches(office: Office) -> bool:
    return office.lit


@always_eventually(fair=[turn])
def the_second_is_lit_again(lamps: Lamps) -> bool:
    return lamps.second


@always_eventually(fair=[turn], strongly_fair=[turn_the_other])
def the_second_is_lit_again_by_all(lamps: Lamps) -> bool:
    return lamps.second


@eventually(fair=[turn])
def the_second_is_lit_once(lamps: Lamps) -> bool:
    return lamps.second


@leads_to(lambda lamps: False, fair=[turn])
def the_second_is_lit_if_asked(lamps: Lamps) -> bool:
    return lamps.second


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (the_second_is_lit_again_by_all, "the cycle is not fair"),  # to an action that can be taken every other time
        (the_second_is_lit_once, "never owed"),  # as it is lit at first
        (the_second_is_lit_if_asked, "never owed"),
    ],
)
def test_a_lasso_that_breaks_another_promise_is_refused(of: Any, why: str) -> None:
    """The second lamp is lit at first. It is turned off, and the first is turned on and off for ever."""
    actions = (*turn.instances(None), *turn_the_other.instances(None))
    plain = System(domain_of(Lamps, None), (Lamps(False, True),), actions)
    system = attrs.evolve(plain, liveness=tuple(the_second_is_lit_again.instances(None)))
    certificate = certified(system)
    verified(certificate, system)
    (trace,) = certificate.traces
    (other,) = of.instances(None)
    renamed = attrs.evolve(certificate, traces=[trace | {"property": str(other)}])
    assert why in refused(renamed, attrs.evolve(plain, liveness=(other,)))


def test_a_lasso_that_was_altered_is_refused() -> None:
    """Its cycle must close, and lie where the property is owed."""
    system = office(somebody_switches)
    certificate = certified(system)
    (trace,) = certificate.traces
    verified(certificate, system)
    for step in (99, -1):
        back = attrs.evolve(certificate, traces=[{**trace, "back_to": step}])
        assert f"no step {step}" in refused(back, system)
    assert "does not come back" in refused(attrs.evolve(certificate, traces=[{**trace, "back_to": None}]), system)
    lit = trace | {"actions": ["switch()"], "states": [*trace["states"][:1], bytes((2, 0, 0, 1)).hex()], "back_to": 1}
    assert "it is true" in refused(attrs.evolve(certificate, traces=[lit]), system)
    assert "does not come back" in refused(attrs.evolve(certificate, traces=[{**lit, "back_to": 0}]), system)
    blinks = trace | {"actions": ["switch()"] * 2, "states": [lit["states"][n] for n in (0, 1, 0)], "back_to": 0}
    assert "it is true where it should be false" in refused(attrs.evolve(certificate, traces=[blinks]), system)
    kept = {**trace, "property": "work_stays_within_reason()"}
    assert "it is true all along" in refused(attrs.evolve(certificate, traces=[kept]), office(work_stays_within_reason))
    fair = office(darkness_ends)
    of = {**trace, "property": str(fair.liveness[0])}
    assert "the cycle is not fair" in refused(attrs.evolve(certificate, traces=[of]), fair)


@attrs.frozen
class Terms:
    of: tuple[int, ...] = within(ArrayOf(Integers(0, Limit(1, "epochs_max"), order="epochs"), 3))


@action(actor="voter", voter=Integers(0, 2))
def begin_term(terms: Terms, voter: int) -> Terms:
    return Terms(replaced(terms.of, voter, max(terms.of) + 1))


@invariant()
def two_are_equal(terms: Terms) -> bool:
    return len([1 for a in range(3) for b in range(a) if terms.of[a] == terms.of[b]]) > 0


def test_a_trace_by_order_takes_no_step_that_a_bound_cuts(system_of: Callable[..., System]) -> None:
    system = abstracted(system_of([Terms((0, 0, 0))], [begin_term], [two_are_equal]), ["epochs"])
    certificate = certified(system)
    assert certificate.verdict == "holds", "there is room for two terms at a time"
    of = {str(each): each for each in system.actions}
    states = (Terms((0, 0, 0)), Terms((1, 0, 0)), Terms((1, 2, 0)))
    taken = (None, of["begin_term(voter 0)"], of["begin_term(voter 1)"])
    trace = tuple(Step(action, state) for action, state in zip(taken, states, strict=True))
    found = traces.written(system, [Violation("two_are_equal", {}, "", {}, trace)])
    assert "step 2 of the trace of two_are_equal()" in refused(
        attrs.evolve(certificate, verdict="violated", traces=found), system
    )
    longer = traces.written(system, [Violation("two_are_equal", {}, "", {}, trace[:2])])
    assert "is true at the end" in refused(attrs.evolve(certificate, verdict="violated", traces=longer), system)


@prospect(along=(begin_term,))
def terms_come_to_an_end(terms: Terms) -> bool:
    return min(terms.of) > max(terms.of)


def test_a_goal_is_out_of_reach_for_any_number_of_terms(system_of: Callable[..., System]) -> None:
    """There is no end of states behind the trace, and there are ten up to the order of their terms."""
    roomy = ArrayOf(Integers(0, Limit(3, "epochs_max"), order="epochs"), 3)
    system = system_of([Terms((0, 0, 0))], [begin_term], [])
    system = attrs.evolve(
        system, domain=Struct(Terms, {"of": roomy}), prospects=tuple(terms_come_to_an_end.instances(None))
    )
    ahead = outlook(abstracted(system, ["epochs"]), *system.prospects, Terms((0, 0, 0)))
    assert ahead.lost
    assert len(ahead.seen) == 1 + 3 + 6


def test_states_by_order_are_in_ranks(system_of: Callable[..., System]) -> None:
    system = abstracted(system_of([Terms((0, 0, 0))], [begin_term], [two_are_equal]), ["epochs"])
    certificate = certified(system)
    states, levels = [*certificate.states, bytes((3, 1, 1, 1))], [*certificate.levels[:-1], certificate.levels[-1] + 1]
    assert "not in ranks" in refused(attrs.evolve(certificate, states=states, levels=levels), system)


def test_graph_properties_are_not_verified_on_part_of_the_states() -> None:
    system = office(*GRAPH)
    shallow = attrs.evolve(certified(system), verdict="holds-to-depth")
    with pytest.raises(Unfit, match="is judged only where every state is known"):
        verified(shallow, system)


@attrs.frozen
class Ages(Tuples):
    """Two ages, the second of which begins with the first: a kind of domain whose parts are made for each value."""

    of: Any = None
    count = 3

    def values(self) -> Iterator[Any]:
        return iter((((0,), (1,)), ((0,), (0,)), ((1,), (1,))))

    def parts(self, value: Any) -> Sequence[tuple[Domain, Any]]:
        return [(ArrayOf(Integers(least, 1), 1), part) for least, part in zip((0, value[0][0]), value, strict=True)]

    def exceeded(self, value: Any) -> frozenset[str]:
        return frozenset()

    def show(self, value: Any) -> str:
        return str(value)


def test_encoded_parts_of_one_domain_do_not_serve_another() -> None:
    domain = Ages()
    codec = Codec(domain)
    for value in domain.values():
        assert codec.bytes_of(value) == Codec(domain).bytes_of(value)


# --- Files


def test_a_certificate_is_read_as_it_was_written(tmp_path: Path) -> None:
    for system in (office(*SAFETY), office(*GRAPH), office(one_of_them_is_idle)):
        certificate = certified(system)
        write(certificate, tmp_path / "c")
        with open(tmp_path / "c", "rb") as file:
            assert read(file, "c") == certificate


def test_a_file_is_not_read_if_it_was_changed(tmp_path: Path) -> None:
    certificate = certified(office(*SAFETY))
    write(certificate, tmp_path / "c")
    data, chance = (tmp_path / "c").read_bytes(), random.Random(0)
    for length in range(0, len(data), 7):
        with pytest.raises(Unfit, match="is truncated, or no certificate"):
            read(io.BytesIO(data[:length]), "c")
    for _ in range(200):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            found = read(io.BytesIO(bytes(changed)), "c")
        except Unfit:
            continue
        assert found == certificate  # what was changed is of the archive, such as a date


def with_ranks(rank: Any) -> Callable[[Certificate], Certificate]:
    return lambda of: attrs.evolve(of, prospects={name: [rank] * len(each) for name, each in of.prospects.items()})


@pytest.mark.parametrize(
    ("part", "alter"),
    {
        "ranks": with_ranks(float("nan")),
        "ranks as numbers with a point": with_ranks(1.0),
        "ranks as words": with_ranks("1"),
        "levels": lambda of: attrs.evolve(of, levels=[True, *of.levels[1:]]),
        "counts": lambda of: attrs.evolve(of, counts={**of.counts, "generated": float(of.counts["generated"])}),
        "permutations": lambda of: attrs.evolve(of, permutations=[{"desks": {0: 0, 1: True}}, *of.permutations[1:]]),
        "claim": lambda of: attrs.evolve(of, claim=None),
        "traces": lambda of: attrs.evolve(of, traces=[{"property": "", "back_to": True, "actions": [], "states": []}]),
        "traces that lack something": lambda of: attrs.evolve(of, traces=[{"property": ""}]),
    }.items(),
)
def test_a_certificate_is_made_of_exactly_its_types(
    part: str, alter: Callable[[Certificate], Certificate], tmp_path: Path
) -> None:
    """What is true in Python, such as `True == 1 == 1.0`, is not so for other readers."""
    write(alter(certified(office(somebody_can_work))), tmp_path / "c")
    with pytest.raises(Unfit, match=f"{part.split()[0]} is not what it is in a certificate"):
        read(io.BytesIO((tmp_path / "c").read_bytes()), "c")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"ranks.json": b'{"prospects": {}, "prospects": {}, "liveness": {}}'}, "a key is there twice"),
        ({"states": b"\x80" * 10**6 + b"\x01"}, "a number is too large"),
        ({"notes": b""}, "its parts are not"),
        ({"certificate.json": b"9" * 5000}, "no certificate"),
    ],
)
def test_a_file_that_readers_may_interpret_differently_is_not_a_certificate(
    wrong: dict[str, bytes], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("highwater.explorer.verifier.certificate._seal", lambda head, parts: "any")
    write(certified(office(*SAFETY)), tmp_path / "c")
    with zipfile.ZipFile(tmp_path / "c") as of, zipfile.ZipFile(tmp_path / "d", "w") as archive:
        for name, data in ({name: of.read(name) for name in of.namelist()} | wrong).items():
            archive.writestr(name, data)
    with pytest.raises(Unfit, match=words):
        read(io.BytesIO((tmp_path / "d").read_bytes()), "d")


def test_rows_can_be_judged_anywhere() -> None:
    """What parts come to adds up to what all of them do."""
    system = office(*SAFETY)
    certificate = certified(system)

    def in_parts(closed: ClosedSet) -> Sums:
        sums = Sums()
        for part in range(5):
            sums.add(ClosedSet(certificate, system, no_deadlock=False).judge(range(part, closed.rows, 5)))
        return sums

    assert verified(certificate, system, judged=in_parts) == verified(certificate, system)


def rows_but(certificate: Certificate, row: int) -> Sequence[int]:
    return [each for each in range(len(certificate.states)) if each != row]


def test_an_unjudged_row_is_reported_as_missing() -> None:
    system = office(*SAFETY)
    certificate = certified(system)
    for row in range(len(certificate.states)):
        assert refused(certificate, system, judged=lambda closed, row=row: closed.judge(rows_but(certificate, row)))


def test_an_image_that_no_step_leads_to_is_missed() -> None:
    """One desk alone begins, so that no step leads to the image in which the other has."""

    @action(actor="desk", desk=DESK)
    def begin(office: Office, desk: int) -> Office | None:
        return evolve(office, done=(1, 0)) if office.done == (0, 0) and not desk else None

    system = attrs.evolve(office(*SAFETY), actions=tuple(begin.instances(None)))
    outcome, found = searched(attrs.evolve(system, interchangeable={}))
    certificate = certificate_of(system, outcome, found, claim="", spec={}, code={})
    symmetric = attrs.evolve(certificate, permutations=[{"desks": {0: 0, 1: 1}}, {"desks": {0: 1, 1: 0}}])
    assert "to some image of a stored state no step leads" in refused(symmetric, system)


@attrs.frozen
class Term:
    """A term of office, and whether the work is done."""

    epoch: int = within(lambda bounds: Integers(0, 2, order="epochs"))
    done: bool = within(BOOLEAN)


@action(actor="officer", finishing=BOOLEAN)
def serve(term: Term, finishing: bool) -> Term | None:
    """Another term begins, or the work is finished."""
    if term.done:
        return None
    return evolve(term, done=True) if finishing else evolve(term, epoch=term.epoch + 1)


@eventually(fair=[per(serve)])
def work_is_done_if_somebody_serves(term: Term) -> bool:
    return term.done


@eventually(fair=[serve])
def work_is_done_if_somebody_finishes(term: Term) -> bool:
    return term.done


def terms(of: Any) -> System:
    actions, promised = tuple(serve.instances(None)), tuple(of.instances(None))
    system = System(domain_of(Term, None), (Term(0, False),), actions, liveness=promised)
    return abstracted(system, ["epochs"])


def test_a_step_within_a_class_is_one_to_the_verifier() -> None:
    """Only the numbers are others after it. So somebody may serve for ever, and the work is never done."""
    holds, violated = terms(work_is_done_if_somebody_finishes), terms(work_is_done_if_somebody_serves)
    certificate = certified(holds)
    assert verified(certificate, holds).states == 2
    ranks = {"work_is_done_if_somebody_serves()": [((1, 0),), ()]}
    assert "meets the demand" in refused(attrs.evolve(certificate, liveness=ranks), violated)
    assert verified(certified(violated), violated).verified == (
        "a trace of 1 step violates work_is_done_if_somebody_serves()",
    )
