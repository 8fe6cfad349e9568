"""Liveness on classics whose verdicts are known without fairness, under weak and under strong
fairness. Every engine must find these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.explorer.blame import Contradiction
from highwater.explorer.search.graph_properties import liveness
from highwater.explorer.search.graph_properties.lassos import lasso_at
from highwater.explorer.search.graph_properties.recomputed_graph import BYTES_A_ROW, RecomputedGraph
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.search.states.store import Store
from highwater.explorer.verdict import Budget, Outcome, SearchOptions, Verdict
from highwater.model.language.declarations import Action, Witness, action
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, OneOf, SequenceOf
from highwater.model.language.graph_properties import (
    EVERYWHERE,
    WHERE_FALSE,
    Form,
    Liveness,
    Per,
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    per,
)
from highwater.model.language.records import evolve, replaced, within
from tests.until import until

Fair = Iterable[Action | Per]


@pytest.fixture(params=["local", "made again", "oracle"])
def explore(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Each engine in turn, the local one with steps that are stored and with steps that are made again."""
    if request.param == "made again":
        monkeypatch.setattr(liveness, "all_steps", lambda engine, marks: None)
    return plain_python.explore if request.param == "oracle" else breadth_first.explore


# Mutual exclusion: two processes are idle, want the critical section, or are in it.

PROCESS = Integers(0, 1, label="p")
PLACES = OneOf(("idle", "asks", "waits", "critical"))


@attrs.frozen
class Processes:
    place: tuple[str, ...] = within(ArrayOf(PLACES, 2))
    flag: tuple[bool, ...] = within(ArrayOf(BOOLEAN, 2))
    turn: int = within(PROCESS)


BOTH_IDLE = Processes(("idle", "idle"), (False, False), 0)


def move(state: Processes, process: int, origin: str, target: str) -> Processes | None:
    return evolve(state, place=replaced(state.place, process, target)) if state.place[process] == origin else None


@action(actor="process", process=PROCESS)
def ask(state: Processes, process: int) -> Processes | None:
    after = move(state, process, "idle", "asks")
    return after and evolve(after, flag=replaced(after.flag, process, True))


@action(actor="process", process=PROCESS)
def yield_turn(state: Processes, process: int) -> Processes | None:
    after = move(state, process, "asks", "waits")
    return after and evolve(after, turn=1 - process)


@action(actor="process", process=PROCESS)
def enter_by_turn(state: Processes, process: int) -> Processes | None:
    """Peterson's: the other does not want to, or has yielded last."""
    return move(state, process, "waits", "critical") if not state.flag[1 - process] or state.turn == process else None


@action(actor="process", process=PROCESS)
def enter_if_free(state: Processes, process: int) -> Processes | None:
    """A lock: whoever comes gets it."""
    return move(state, process, "asks", "critical") if state.place[1 - process] != "critical" else None


@action(actor="process", process=PROCESS)
def leave(state: Processes, process: int) -> Processes | None:
    after = move(state, process, "critical", "idle")
    return after and evolve(after, flag=replaced(after.flag, process, False))


PETERSON, LOCK = (ask, yield_turn, enter_by_turn, leave), (ask, enter_if_free, leave)


def wants(state: Processes, process: int) -> bool:
    return state.place[process] in ("asks", "waits")


def gets_in(fair: Fair, strongly_fair: Fair) -> Liveness:
    @leads_to(wants, fair=fair, strongly_fair=strongly_fair, process=PROCESS)
    def who_wants_in_gets_in(state: Processes, process: int) -> bool | Witness:
        return state.place[process] == "critical" or Witness("p{process} waits", process=process)

    return who_wants_in_gets_in


# The alternating bit protocol over channels that lose: the sender repeats a bit until it is acknowledged.


@attrs.frozen
class Link:
    sends: int = within(Integers(0, 1))
    expects: int = within(Integers(0, 1))
    message: int | None = within(Maybe(Integers(0, 1)))
    reply: int | None = within(Maybe(Integers(0, 1)))


@action(actor="sender")
def send(link: Link) -> Link | None:
    return evolve(link, message=link.sends) if link.message is None else None


@action(actor="network")
def lose_message(link: Link) -> Link | None:
    return evolve(link, message=None) if link.message is not None else None


@action(actor="network")
def lose_reply(link: Link) -> Link | None:
    return evolve(link, reply=None) if link.reply is not None else None


@action(actor="receiver")
def receive(link: Link) -> Link | None:
    if link.message is None or link.reply is not None:
        return None
    expects = 1 - link.expects if link.message == link.expects else link.expects
    return evolve(link, message=None, reply=link.message, expects=expects)


@action(actor="sender")
def receive_reply(link: Link) -> Link | None:
    if link.reply is None:
        return None
    return evolve(link, reply=None, sends=1 - link.sends if link.reply == link.sends else link.sends)


LOSSY = (send, receive, receive_reply, lose_message, lose_reply)


def delivers(fair: Fair, strongly_fair: Fair) -> Liveness:
    @always_eventually(fair=fair, strongly_fair=strongly_fair)
    def the_next_bit_arrives(link: Link) -> bool:
        return link.expects == 1

    return the_next_bit_arrives


# Dining philosophers: three, with a fork between each two.

SEAT = Integers(0, 2, label="f")


@attrs.frozen
class Table:
    holder: tuple[int | None, ...] = within(ArrayOf(Maybe(SEAT), 3))
    eats: tuple[bool, ...] = within(ArrayOf(BOOLEAN, 3))


def forks_of(philosopher: int, ordered: bool) -> tuple[int, int]:
    """The forks in the order in which they are taken; ordered, the lower one first."""
    forks = (philosopher, (philosopher + 1) % 3)
    return (min(forks), max(forks)) if ordered else forks


def take(table: Table, fork: int, philosopher: int) -> Table | None:
    return evolve(table, holder=replaced(table.holder, fork, philosopher)) if table.holder[fork] is None else None


def philosophers(ordered: bool) -> tuple[Action, ...]:
    @action(actor="philosopher", philosopher=SEAT)
    def take_first(table: Table, philosopher: int) -> Table | None:
        first, second = forks_of(philosopher, ordered)
        return take(table, first, philosopher) if table.holder[second] != philosopher else None

    @action(actor="philosopher", philosopher=SEAT)
    def take_second(table: Table, philosopher: int) -> Table | None:
        first, second = forks_of(philosopher, ordered)
        after = take(table, second, philosopher) if table.holder[first] == philosopher else None
        return after and evolve(after, eats=replaced(after.eats, philosopher, True))

    @action(actor="philosopher", philosopher=SEAT)
    def put_down(table: Table, philosopher: int) -> Table | None:
        if not table.eats[philosopher]:
            return None
        holder = tuple(None if each == philosopher else each for each in table.holder)
        return evolve(table, holder=holder, eats=replaced(table.eats, philosopher, False))

    return take_first, take_second, put_down


def nobody_starves(fair: Fair, strongly_fair: Fair) -> Liveness:
    @always_eventually(fair=fair, strongly_fair=strongly_fair, philosopher=SEAT)
    def everybody_eats(table: Table, philosopher: int) -> bool:
        return table.eats[philosopher]

    return everybody_eats


def somebody_eats(fair: Fair, strongly_fair: Fair) -> Liveness:
    @always_eventually(fair=fair, strongly_fair=strongly_fair)
    def somebody_eats(table: Table) -> bool:
        return any(table.eats)

    return somebody_eats


EMPTY = Table((None,) * 3, (False,) * 3)
GREEDY, ORDERED = philosophers(ordered=False), philosophers(ordered=True)
HOLDS, VIOLATED = Verdict.HOLDS, Verdict.VIOLATED


@pytest.mark.parametrize(
    ("initial", "actions", "relied_on", "promise", "under_none", "under_weak", "under_strong"),
    [
        (BOTH_IDLE, PETERSON, PETERSON[1:], gets_in, VIOLATED, HOLDS, HOLDS),
        (BOTH_IDLE, LOCK, LOCK[1:], gets_in, VIOLATED, VIOLATED, HOLDS),
        (BOTH_IDLE, LOCK, [per(enter_if_free), leave], gets_in, VIOLATED, VIOLATED, VIOLATED),
        (Link(0, 0, None, None), LOSSY, [send, receive, receive_reply], delivers, VIOLATED, VIOLATED, HOLDS),
        (Link(0, 0, None, None), LOSSY[:3], [send, receive, receive_reply], delivers, VIOLATED, HOLDS, HOLDS),
        (EMPTY, GREEDY, GREEDY, nobody_starves, VIOLATED, VIOLATED, VIOLATED),
        (EMPTY, GREEDY, GREEDY, somebody_eats, VIOLATED, VIOLATED, VIOLATED),
        (EMPTY, ORDERED, ORDERED, nobody_starves, VIOLATED, VIOLATED, HOLDS),
        (EMPTY, ORDERED, ORDERED, somebody_eats, VIOLATED, HOLDS, HOLDS),
    ],
    ids=[
        "peterson",
        "lock",
        "lock, fair to the entry as a whole",
        "alternating bit",
        "alternating bit without loss",
        "greedy philosophers",
        "some greedy philosopher",
        "philosophers with ordered forks",
        "some philosopher with ordered forks",
    ],
)
def test_classics_have_their_known_verdicts(
    explore: Callable[..., Any],
    system_of: Callable[..., Any],
    initial: Any,
    actions: list[Action],
    relied_on: list[Action],
    promise: Callable[..., Liveness],
    under_none: Verdict,
    under_weak: Verdict,
    under_strong: Verdict,
) -> None:
    promises = [promise((), ()), promise(relied_on, ()), promise((), relied_on)]
    verdicts = [explore(system_of([initial], actions, [each])).verdict for each in promises]
    assert verdicts == [under_none, under_weak, under_strong]


def test_a_lasso_shows_the_shortest_path_and_a_cycle(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    (violation,) = explore(system_of([BOTH_IDLE], LOCK, [gets_in(LOCK, ())])).violations
    steps = [str(step.action) for step in violation.trace[1:]]
    assert steps == ["ask(process p0)", "ask(process p1)", "enter_if_free(process p1)", "leave(process p1)"]
    assert (violation.back_to, violation.trace_length, violation.arguments) == (1, 4, {"process": "p0"})
    assert violation.trace[-1].state == violation.trace[1].state
    assert violation.witness == (
        "from step 2 on ask(process p1), enter_if_free(process p1) and leave(process p1) repeat for ever; p0 waits"
    )


def test_the_witness_of_a_lasso_without_a_cycle_requires_no_step(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    (violation,) = explore(system_of([BOTH_IDLE], LOCK, [gets_in((), ())])).violations
    assert (violation.back_to, violation.trace_length) == (1, 1)
    assert violation.witness == "no step has to follow; p0 waits"


# A counter that a bound ends, to see what bounds do.


@attrs.frozen
class Counter:
    count: int = within(Integers(0, Limit(3, "count")))
    on: bool = within(BOOLEAN)


@action(actor="clock")
def count(counter: Counter) -> Counter:
    return evolve(counter, count=counter.count + 1)


@action(actor="hand")
def toggle(counter: Counter) -> Counter:
    return evolve(counter, on=not counter.on)


@action(actor="hand")
def touch(counter: Counter) -> Counter:
    return counter


ZERO = Counter(0, False)


def test_a_behaviour_stopped_by_a_bound_is_counted_but_no_counterexample(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    @eventually(fair=[count])
    def is_very_large(counter: Counter) -> bool:
        return counter.count > 3

    outcome = explore(system_of([ZERO], [count, toggle], [is_very_large]))
    assert (outcome.verdict, outcome.held_back) == (Verdict.HOLDS, {"is_very_large": 2})


def test_a_premise_that_is_never_true_is_named(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    premises = {"ever": lambda counter: counter.count == 2, "never": lambda counter: counter.count > 7}
    asked = [
        leads_to(premise, fair=[count])(named(lambda counter: counter.count >= 0, name))
        for name, premise in premises.items()
    ]
    outcome = explore(system_of([ZERO], [count, toggle], asked))
    assert (outcome.verdict, outcome.vacuous) == (Verdict.HOLDS, {"never": "its premise is never true"})


def named(function: Any, name: str) -> Any:
    function.__name__ = name
    return function


def test_a_form_from_outside_the_house_is_judged_by_every_engine(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    """Low until high holds if counting is fair; if it is not, the clock may stop. Off until high breaks at the first
    toggle, and even until high at the first count.
    """
    premises = {
        "low": lambda counter: counter.count < 2,
        "off": lambda counter: not counter.on,
        "even": lambda counter: counter.count % 2 == 0,
    }
    broken = {}
    for name, premise in premises.items():
        for fair in ([], [count]):
            halves = until(premise, named(lambda counter: counter.count >= 2, "high"), fair)
            found = explore(
                system_of([ZERO], [count, toggle], halves), options=SearchOptions(keep_going=True)
            ).violations
            broken[name, bool(fair)] = {each.property: each.trace_length for each in found}
    assert broken == {
        ("low", False): {"high": 0},
        ("low", True): {},
        ("off", False): {"high": 0, "high_comes_first": 1},
        ("off", True): {"high_comes_first": 1},
        ("even", False): {"high": 0, "high_comes_first": 1},
        ("even", True): {"high_comes_first": 1},
    }


def test_a_form_whose_paths_leave_where_they_stay_is_refused() -> None:
    with pytest.raises(TypeError, match="late: a path begins, and returns to, where it stays"):
        Form("late", EVERYWHERE, WHERE_FALSE, WHERE_FALSE, "nothing")


def test_a_step_that_a_bound_cuts_does_not_count_as_taken(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    """Toggling for ever at the bound is unfair to counting: without the bound it could be done."""

    @eventually_always(fair=[count])
    def is_off(counter: Counter) -> bool:
        return not counter.on

    @eventually_always(fair=[toggle])
    def stays_off(counter: Counter) -> bool:
        return not counter.on

    assert explore(system_of([ZERO], [count, toggle], [is_off])).verdict is Verdict.HOLDS
    assert explore(system_of([ZERO], [count, toggle], [stays_off])).verdict is Verdict.VIOLATED


def test_a_step_that_changes_nothing_is_neither_enabled_nor_taken(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    @eventually(fair=[touch])
    def is_on(counter: Counter) -> bool:
        return counter.on

    (violation,) = explore(system_of([ZERO], [touch], [is_on])).violations
    assert (violation.trace_length, violation.back_to) == (0, 0)


def test_always_eventually_does_not_imply_eventually_always(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    @always_eventually(fair=[toggle])
    def is_on_again(counter: Counter) -> bool:
        return counter.on

    @eventually_always(fair=[toggle])
    def is_on_at_last(counter: Counter) -> bool:
        return counter.on

    @eventually_always(fair=[toggle])
    def is_counted_at_last(counter: Counter) -> bool:
        return counter.count >= 0

    system = system_of([ZERO], [toggle], [is_on_again, is_on_at_last, is_counted_at_last])
    (violation,) = explore(system, options=SearchOptions(keep_going=True)).violations
    assert (violation.property, violation.trace_length, violation.back_to) == ("is_on_at_last", 2, 0)


def test_a_promise_may_be_kept_before_it_is_owed_but_eventually_only_once(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    """Eventually on, since it is on after one step; but that it was once does not help a state in which it has to be on
    later.
    """

    @eventually(fair=[toggle])
    def was_on(counter: Counter) -> bool:
        return counter.on

    @leads_to(lambda counter: counter.count == 1, fair=[toggle])
    def is_on_after_one(counter: Counter) -> bool:
        return counter.on

    @leads_to(lambda counter: counter.count == 1)
    def is_on_after_one_unfairly(counter: Counter) -> bool:
        return counter.on

    @eventually()
    def was_on_unfairly(counter: Counter) -> bool:
        return counter.on

    assert explore(system_of([ZERO], [count, toggle], [was_on, is_on_after_one])).verdict is Verdict.HOLDS
    (violation,) = explore(system_of([ZERO], [count, toggle], [was_on_unfairly])).violations
    assert (violation.trace_length, violation.back_to) == (0, 0)
    (violation,) = explore(system_of([ZERO], [count, toggle], [is_on_after_one_unfairly])).violations
    assert [str(step.action) for step in violation.trace] == ["None", "count()"]


@attrs.frozen
class Inbox:
    mail: tuple[int, ...] = within(SequenceOf(Integers(0, 1), 2))


@action(actor="sender", to=Integers(0, 1), by=Integers(0, 1))
def write(inbox: Inbox, to: int, by: int) -> Inbox | None:
    return evolve(inbox, mail=(*inbox.mail, to)) if len(inbox.mail) < 1 + by else None


@action(actor="reader")
def read(inbox: Inbox) -> Inbox | None:
    return evolve(inbox, mail=inbox.mail[1:]) if inbox.mail else None


def test_fairness_per_parameter_lies_between_fairness_to_each_and_to_all(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    def promise(*fair: Action | Per) -> Liveness:
        @always_eventually(strongly_fair=fair)
        def mail_for_one(inbox: Inbox) -> bool:
            return 1 in inbox.mail

        return mail_for_one

    verdicts = [
        explore(system_of([Inbox(())], [write, read], [promise(read, each)])).verdict
        for each in (write, per(write, "to"), per(write, "by"), per(write))
    ]
    assert verdicts == [Verdict.HOLDS, Verdict.HOLDS, Verdict.VIOLATED, Verdict.VIOLATED]


@pytest.mark.parametrize("budget", [Budget(max_depth=1), Budget(max_states=3)])
def test_a_search_that_ended_early_does_not_judge_liveness(
    explore: Callable[..., Any], system_of: Callable[..., Any], budget: Budget
) -> None:
    outcome = explore(system_of([BOTH_IDLE], LOCK, [gets_in((), ())]), budget)
    assert outcome.verdict in (Verdict.HOLDS_TO_DEPTH, Verdict.UNKNOWN)
    assert outcome.violations == ()


def test_a_search_that_goes_on_from_a_checkpoint_finds_the_same_lasso(
    system_of: Callable[..., Any], tmp_path: Path
) -> None:
    system = system_of([BOTH_IDLE], LOCK, [gets_in(LOCK, ())])
    breadth_first.explore(system, Budget(max_depth=2), SearchOptions(checkpoint=tmp_path))
    resumed = breadth_first.explore(system, options=SearchOptions(checkpoint=tmp_path, resume=True))
    assert resumed.violations == breadth_first.explore(system).violations
    assert len(resumed.violations) == 1


def test_a_false_lasso_is_refused(system_of: Callable[..., Any]) -> None:
    promise = gets_in(LOCK, ())
    system = system_of([BOTH_IDLE], LOCK, [promise])
    (violation,) = breadth_first.explore(system).violations
    of, trace = system.liveness[0], violation.trace
    assert lasso_at(system, of, trace, 1) == violation
    with pytest.raises(Contradiction, match="the last state is not the one after step 0"):
        lasso_at(system, of, trace, 0)
    with pytest.raises(Contradiction, match=r"it is unfair to ask\(process p1\)"):
        lasso_at(system, of, trace[:2], 1)
    with pytest.raises(Contradiction, match="after every state in which the premise is true, it is true once more"):
        lasso_at(system, system.liveness[1], trace[:1], 0)


def test_mistakes_of_a_declaration_are_named() -> None:
    with pytest.raises(TypeError, match="per: write has no parameter form; it has to, by"):
        per(write, "form")
    with pytest.raises(TypeError, match="enter_if_free is listed twice among fair and strongly_fair"):
        gets_in([enter_if_free], [per(enter_if_free)])
    with pytest.raises(TypeError, match="declared parameters"):
        leads_to(lambda state, process, other: True, process=PROCESS)(wants)


# Symmetry: one client is chosen for ever; it may flip a switch, and any other one may end it all.

CLIENT = Integers(0, 2, label="c", names="clients")


@attrs.frozen
class Chosen:
    client: int = within(CLIENT)
    on: bool = within(BOOLEAN)
    over: bool = within(BOOLEAN)


@action(actor="client", client=CLIENT)
def act(chosen: Chosen, client: int) -> Chosen | None:
    if chosen.over:
        return None
    return evolve(chosen, on=not chosen.on) if client == chosen.client else evolve(chosen, over=True)


def test_a_cycle_of_orbits_in_which_another_client_acts_is_not_fair_to_each(system_of: Callable[..., Any]) -> None:
    """Without names, `act` is taken on the cycle; with names, the other clients never act though they always can."""

    def ends(fair: Action | Per) -> Liveness:
        @eventually(fair=[fair])
        def it_is_over(chosen: Chosen) -> bool:
            return chosen.over

        return it_is_over

    initial = [Chosen(client, False, False) for client in range(3)]
    for fair, verdict in ((act, Verdict.HOLDS), (per(act), Verdict.VIOLATED)):
        plain = system_of(initial, [act], [ends(fair)])
        symmetric = attrs.evolve(plain, interchangeable={"clients": (0, 1, 2)})
        ours, theirs = breadth_first.explore(symmetric), plain_python.explore(plain)
        assert ours.stored_states < ours.distinct_states
        assert (ours.verdict, theirs.verdict) == (verdict, verdict)
        assert ours.violations == theirs.violations


def test_states_held_back_are_counted_without_symmetry(system_of: Callable[..., Any]) -> None:
    @eventually(fair=[count_for])
    def somebody_counts_far(counts: Counts) -> bool:
        return max(counts.of) > 1

    plain = system_of([Counts((0, 0, 0))], [count_for], [somebody_counts_far])
    symmetric = attrs.evolve(plain, interchangeable={"clients": (0, 1, 2)})
    ours, theirs = breadth_first.explore(symmetric), plain_python.explore(plain)
    assert ours.stored_states < ours.distinct_states
    assert ours.held_back == theirs.held_back == {"somebody_counts_far": 1}


@attrs.frozen
class Counts:
    of: tuple[int, ...] = within(ArrayOf(Integers(0, Limit(1, "count")), 3, by="clients"))


@action(actor="client", client=CLIENT)
def count_for(counts: Counts, client: int) -> Counts:
    return evolve(counts, of=replaced(counts.of, client, counts.of[client] + 1))


def test_with_little_memory_the_verdict_is_the_same_or_open(
    system_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps that do not fit, or beside which the images of fair rows do not, are made again. The verdict is open only
    where what trimming leaves does not fit either.
    """

    @eventually(fair=[per(act)])
    def it_is_over(chosen: Chosen) -> bool:
        return chosen.over

    plain = system_of([Chosen(client, False, False) for client in range(3)], [act], [it_is_over])
    system = attrs.evolve(plain, interchangeable={"clients": (0, 1, 2)})
    expected = breadth_first.explore(system).violations
    made_again = []
    monkeypatch.setattr(liveness, "RecomputedGraph", lambda *given: made_again.append(given) or RecomputedGraph(*given))
    seen = []
    for room in range(0, 1200, 10):
        made_again.clear()
        monkeypatch.setattr(Store, "room", room)
        outcome = breadth_first.explore(system, options=SearchOptions(workers=1))
        assert outcome.violations == (() if outcome.verdict is Verdict.UNKNOWN else expected)
        assert outcome.reason == ("memory" if outcome.verdict is Verdict.UNKNOWN else "")
        how = (outcome.verdict, bool(made_again))
        seen += [how] if how not in seen else []
    assert seen == [(Verdict.UNKNOWN, True), (Verdict.VIOLATED, True), (Verdict.VIOLATED, False)]


def test_only_the_steps_of_cycles_take_room(system_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A long way to one small cycle, and another way that begins alike: only the cycle's steps are stored."""

    @attrs.frozen
    class Way:
        at: int = within(Integers(0, 500))

    @action(actor="walker")
    def stray(way: Way) -> Way | None:
        return evolve(way, at=400) if way.at == 0 else None

    @action(actor="walker")
    def walk(way: Way) -> Way | None:
        return evolve(way, at=way.at + 1) if way.at < 300 else None

    @action(actor="walker")
    def turn(way: Way) -> Way | None:
        return evolve(way, at=way.at + 1 if way.at == 300 else 300) if way.at in (300, 301) else None

    @action(actor="walker")
    def go_on(way: Way) -> Way | None:
        return evolve(way, at=way.at + 1) if 301 <= way.at < 500 else None

    @eventually_always(fair=[walk, turn])
    def turns_no_more(way: Way) -> bool:
        return way.at != 300

    system = system_of([Way(0)], [stray, walk, turn, go_on], [turns_no_more])
    monkeypatch.setattr(Store, "room", BYTES_A_ROW * 501 + 200)
    (violation,) = breadth_first.explore(system).violations
    assert (violation.trace_length, violation.back_to) == (302, 300)
