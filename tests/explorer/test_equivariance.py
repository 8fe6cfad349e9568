"""Functions that single out an interchangeable name are refused, wherever a search meets them; others are explored up
to symmetry.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from highwater.explorer.analysis.shrink import Minimal, shrink
from highwater.explorer.analysis.simulate import simulate
from highwater.explorer.blame import ModelError
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import Outcome, SearchOptions, Verdict, Walking
from highwater.model.language.declarations import Invariant, Quantified, StepProperty, action, invariant, step_property
from highwater.model.language.domain import ArrayOf, Integers, Maybe, SequenceOf, SetOf
from highwater.model.language.graph_properties import Prospect, prospect
from highwater.model.language.records import domain_of, evolve, replaced, within

BROKERS = 3
BROKER = Integers(0, BROKERS - 1, names="brokers")
UNDECLARED = Integers(0, BROKERS - 1)


@attrs.frozen
class Cluster:
    """Log end offsets, the ISR, who leads, and who led last, as a name that is declared as one and as a number that is
    not.
    """

    leo: tuple[int, ...] = within(ArrayOf(Integers(0, 2), BROKERS, by="brokers"))
    isr: frozenset[int] = within(SetOf(BROKER))
    leader: int | None = within(Maybe(BROKER))
    last: int | None = within(Maybe(UNDECLARED))
    queue: tuple[int, ...] = within(SequenceOf(BROKER, 1))


START = Cluster((0,) * BROKERS, frozenset(range(BROKERS)), None, None, ())


@action(actor="broker", broker=BROKER)
def append(cluster: Cluster, broker: int) -> Cluster | None:
    offset = cluster.leo[broker]
    return None if offset == 2 else evolve(cluster, leo=replaced(cluster.leo, broker, offset + 1))


@action(actor="broker", broker=BROKER)
def leave(cluster: Cluster, broker: int) -> Cluster | None:
    return evolve(cluster, isr=cluster.isr - {broker}) if broker in cluster.isr and len(cluster.isr) > 1 else None


@action(actor="broker", broker=BROKER)
def lead(cluster: Cluster, broker: int) -> Cluster | None:
    return evolve(cluster, leader=broker) if cluster.leader is None and broker in cluster.isr else None


# Of their own way, each met at some depth or other


@invariant()
def two_are_never_apart(cluster: Cluster) -> bool:
    return not (cluster.leo[0] == 2 and cluster.leo[2] == 0)


@invariant()
def one_is_never_alone_and_behind(cluster: Cluster) -> bool:
    return not (cluster.isr == {1} and cluster.leo == (2, 1, 2))


@invariant()
def nobody_leads_after_the_last(cluster: Cluster) -> bool:
    return cluster.leader is None or cluster.leader < 2


@invariant()
def the_first_of_the_isr_is_not_ahead(cluster: Cluster) -> bool:
    return cluster.leo[tuple(cluster.isr)[0]] <= min(cluster.leo) + 1  # noqa: RUF015 - as people write it


@invariant(broker=UNDECLARED)
def whoever_leads_is_ahead_of_the_next(cluster: Cluster, broker: int) -> bool:
    return cluster.leader != broker or cluster.leo[broker] >= cluster.leo[(broker + 1) % BROKERS]


@step_property()
def broker_two_stays(before: Cluster, after: Cluster) -> bool:
    return 2 in after.isr or 2 not in before.isr


@step_property(broker=BROKER)
def only_who_is_next_to_zero_takes_over(before: Cluster, after: Cluster, broker: int) -> bool:
    return before.leader == after.leader or after.leader != broker or broker < 2


@prospect(along=[lead])
def one_can_lead(cluster: Cluster) -> bool:
    return cluster.leader == 1


@action(actor="controller")
def lead_by_order_of_a_set(cluster: Cluster) -> Cluster | None:
    return evolve(cluster, leader=tuple(cluster.isr)[0]) if cluster.leader is None else None  # noqa: RUF015


@action(actor="controller")
def lead_by_least_name(cluster: Cluster) -> Cluster | None:
    return evolve(cluster, leader=min(cluster.isr)) if cluster.leader is None and len(cluster.isr) == 2 else None


@action(actor="controller")
def lead_by_a_loop(cluster: Cluster) -> Cluster | None:
    for broker in range(BROKERS):
        if cluster.leo[broker] == max(cluster.leo):
            return None if cluster.leader is not None else evolve(cluster, leader=broker)
    return None


@action(actor="broker", broker=BROKER)
def remember(cluster: Cluster, broker: int) -> Cluster | None:
    return evolve(cluster, last=broker) if cluster.leader == broker and sum(cluster.leo) == 3 else None


@action(actor="broker", broker=BROKER)
def queue_up(cluster: Cluster, broker: int) -> Cluster | None:
    return evolve(cluster, queue=(broker,)) if not cluster.queue and cluster.leo[broker] == 2 else None


@action(actor="controller")
def call_in_order(cluster: Cluster) -> Cluster | None:
    return evolve(cluster, queue=()) if cluster.queue and cluster.queue[0] != 1 else None


@action(actor="broker", broker=Integers(0, 1, names="brokers"))
def only_some_may(cluster: Cluster, broker: int) -> Cluster | None:
    return evolve(cluster, leader=broker) if cluster.leader is None else None


OF_THEIR_OWN_WAY = [
    [two_are_never_apart],
    [one_is_never_alone_and_behind],
    [lead, nobody_leads_after_the_last],
    [lead, whoever_leads_is_ahead_of_the_next],
    [broker_two_stays],
    [lead, only_who_is_next_to_zero_takes_over],
    [lead, one_can_lead],
    [lead_by_least_name],
    [lead_by_a_loop],
    [lead, remember],
    [queue_up, call_in_order],
    [only_some_may],
]


def cluster(
    functions: Sequence[Quantified], initial: Sequence[Cluster] = (START,), **interchangeable: tuple[int, ...]
) -> System:
    kinds: dict[Any, list[Any]] = {Invariant: [], StepProperty: [], Prospect: []}
    actions = [append, leave]
    for each in functions:
        kinds.get(type(each), actions).append(each)
    made = {
        kind: tuple(instance for each in found for instance in each.instances(None)) for kind, found in kinds.items()
    }
    return System(
        domain_of(type(initial[0]), None),
        tuple(initial),
        tuple(instance for each in actions for instance in each.instances(None)),
        made[Invariant],
        interchangeable or {"brokers": tuple(range(BROKERS))},
        made[StepProperty],
        made[Prospect],
    )


@pytest.mark.parametrize("functions", OF_THEIR_OWN_WAY, ids=lambda functions: functions[-1].name)
def test_a_function_that_singles_out_a_name_is_refused(functions: list[Quantified]) -> None:
    """Without symmetry it is explored; and it is something that symmetry would change."""
    name, system = functions[-1].name, cluster(functions)
    with pytest.raises(ModelError) as refused:
        breadth_first.explore(system, options=SearchOptions(keep_going=True), audit=0)
    apart, at, *_ = str(refused.value).splitlines()
    assert re.fullmatch(
        rf"{name} tells brokers \d(, \d)? and \d apart, which the model declares interchangeable", apart
    )
    assert re.fullmatch(r"  \(.*test_equivariance.py:\d+\)", at)
    assert "explore without symmetry" in str(refused.value)
    without = breadth_first.explore(system, options=SearchOptions(keep_going=True, symmetry=False))
    assert comparable(without) == comparable(plain_python.explore(system, options=SearchOptions(keep_going=True)))


@pytest.mark.parametrize(
    "function", [the_first_of_the_isr_is_not_ahead, lead_by_order_of_a_set], ids=lambda function: function.name
)
def test_a_function_that_depends_on_the_order_of_a_set_is_refused(function: Quantified) -> None:
    with pytest.raises(ModelError, match=f"{function.name}.* depends on the order in which the members of a set come"):
        breadth_first.explore(cluster([function]), options=SearchOptions(keep_going=True), audit=0)


def comparable(outcome: Outcome) -> dict[str, Any]:
    names = ("verdict", "levels", "generated", "enabled", "deadlocks", "violations")
    return {name: getattr(outcome, name) for name in names}


@action(actor="controller", broker=BROKER)
def hand_over(cluster: Cluster, broker: int) -> Cluster:
    """The next broker in a ring, which no exchange of two others leaves as it is."""
    after = (broker + 1) % BROKERS
    return evolve(cluster, leo=replaced(cluster.leo, after, 1), isr=cluster.isr)


def test_a_refusal_of_a_step_shows_the_difference_and_no_whole_state() -> None:
    with pytest.raises(ModelError) as refused:
        breadth_first.explore(cluster([hand_over]))
    said = [line.strip() for line in str(refused.value).splitlines()]
    assert re.fullmatch(r"hand_over\(broker b?\d\) leads to leo\[\d\] \d → 1", said[2])
    assert re.fullmatch(
        r"after an exchange of brokers \d and \d, hand_over\(broker b?\d\) should lead to (leo\[\d\] \d(, )?)+, "
        r"and leads to (leo\[\d\] \d(, )?)+",
        said[3],
    )
    assert "Cluster(" not in str(refused.value)


def test_a_refusal_shows_a_state_and_the_difference_of_its_image() -> None:
    with pytest.raises(ModelError) as refused:
        breadth_first.explore(cluster([two_are_never_apart]))
    said = [line.strip() for line in str(refused.value).splitlines()]
    assert {said[2], said[4]} == {f"two_are_never_apart() is {it}" for it in ("true", "false")}
    assert said[3].startswith("in the state Cluster(leo (")
    assert re.fullmatch(r"in its image: (leo\[\d\] \d → \d(, )?)+", said[5])


@invariant()
def nobody_is_ahead_of_all(cluster: Cluster) -> bool:
    """Loops that end early, in the order of names: what is read differs from image to image, and the result
    does not.
    """
    return not any(
        all(cluster.leo[b] == 2 for b in range(BROKERS) if b == a) and a not in cluster.isr for a in range(BROKERS)
    )


@step_property()
def the_isr_shrinks_by_one(before: Cluster, after: Cluster) -> bool:
    return all(b in before.isr for b in after.isr) and sum(b in after.isr for b in before.isr) >= len(before.isr) - 1


@action(actor="controller")
def resign(cluster: Cluster) -> Cluster | None:
    for broker in sorted(cluster.isr):
        if cluster.leader == broker:
            return evolve(cluster, leader=None, isr=frozenset(b for b in range(BROKERS) if b in cluster.isr))
    return None


@prospect(along=[lead, resign])
def somebody_can_lead(cluster: Cluster) -> bool:
    return any(cluster.leader == broker for broker in range(BROKERS))


@pytest.mark.parametrize("workers", [1, 2])
def test_loops_over_names_are_no_reason_to_refuse(workers: int) -> None:
    system = cluster([lead, resign, nobody_is_ahead_of_all, the_isr_shrinks_by_one, somebody_can_lead])
    ours = breadth_first.explore(system, options=SearchOptions(keep_going=True, workers=workers))
    assert comparable(ours) == comparable(plain_python.explore(system, options=SearchOptions(keep_going=True)))
    assert ours.stored_states * 4 < ours.distinct_states


def test_a_walk_is_made_short_without_symmetry_where_there_is_none() -> None:
    system = cluster([two_are_never_apart])
    found = simulate(system, Walking(walks=200, depth=12, seed=1))
    shrunk = shrink(system, found.violation)
    assert (shrunk.violation.trace_length, shrunk.minimal) == (2, Minimal.GLOBALLY)


def test_every_permutation_is_tried_and_not_only_exchanges_of_two() -> None:
    """A cycle of three is kept by every rotation and by no exchange."""

    @invariant()
    def in_a_circle(cluster: Cluster) -> bool:
        return cluster.leo not in ((0, 1, 2), (1, 2, 0), (2, 0, 1))

    with pytest.raises(ModelError, match="in_a_circle tells"):
        breadth_first.explore(cluster([in_a_circle]))


@attrs.frozen
class Short:
    """An array with fewer places than there are names."""

    leo: tuple[int, ...] = within(ArrayOf(Integers(0, 1), 2, by="brokers"))


@attrs.frozen
class Narrow:
    """A field that holds some of the names only."""

    leader: int | None = within(Maybe(Integers(0, 1, names="brokers")))


@attrs.frozen
class Wide:
    """Names that take more bits than one table of the kernel looks at."""

    leader: int = within(Integers(0, 299, names="brokers"))
    up: frozenset[int] = within(SetOf(Integers(0, 299, names="brokers")))


@pytest.mark.parametrize(
    ("initial", "refusal"),
    [(Short((0, 0)), "leo has places for brokers 0 to 1"), (Narrow(None), "leader has room for brokers 0 to 1")],
    ids=["places", "values"],
)
def test_fewer_places_than_names_are_refused(initial: Any, refusal: str) -> None:
    system = System(domain_of(type(initial), None), (initial,), (), (), {"brokers": (0, 1, 2)})
    with pytest.raises(ModelError, match=f"{refusal} only, and the model declares 0, 1, 2 interchangeable"):
        breadth_first.explore(system)


def test_names_beyond_those_that_are_exchanged_may_have_fewer_places() -> None:
    system = System(domain_of(Short, None), (Short((0, 0)),), (), (), {"brokers": (0, 1)})
    assert breadth_first.explore(system).verdict is Verdict.HOLDS


def test_names_of_more_bits_than_a_table_has_are_exchanged() -> None:
    @action(actor="broker", broker=Integers(0, 299, names="brokers"))
    def elect(state: Wide, broker: int) -> Wide | None:
        return evolve(state, leader=broker, up=frozenset({broker})) if broker > 290 else None

    initial = tuple(Wide(leader, frozenset()) for leader in range(295, 300))
    names = {"brokers": tuple(range(295, 300))}
    system = System(domain_of(Wide, None), initial, tuple(elect.instances(None)), (), names)
    with_symmetry, without = (
        breadth_first.explore(system, options=SearchOptions(symmetry=symmetry)) for symmetry in (True, False)
    )
    assert with_symmetry.levels == without.levels
