"""Plans: runs that take every path, in steps that the plain model takes."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from highwater.claims.spec import Spec
from highwater.conformance.model_side import operations_of
from highwater.conformance.operations import MAPPED, REFUSABLE, UNMAPPED
from highwater.explorer.analysis.paths import Paths
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.system import successor
from highwater.explorer.verdict import Budget
from highwater.model.partition.definition import PARTITION

Claim = Callable[..., Spec]


@pytest.mark.parametrize(
    "bounds", [{"leader_moves": 1}, {"brokers": 3, "isr_shrinks": 1}, {"fetch_steps": 3, "lossy_crashes": 1}]
)
def test_the_planned_runs_take_every_reachable_path_in_steps_of_the_plain_model(
    claim: Claim, bounds: dict[str, int]
) -> None:
    spec = claim(**bounds)
    system = spec.system()
    paths = Paths(system, MAPPED, REFUSABLE, Budget())
    taken = set()
    layout = paths.engine.layout
    for run in paths.runs():
        assert layout.unpack(run.start) in system.initial
        at = run.start
        for move in run.moves:
            assert move.before == at
            after = successor(system.actions[move.number], layout.unpack(move.before), system.domain)
            if move.refused:
                assert after is None
            else:
                assert after == layout.unpack(move.after)
                taken.add(move.path)
            at = move.after
    assert not paths.unseen
    assert paths.reachable
    assert paths.reachable.keys() <= taken


def test_paths_that_differ_by_broker_names_count_once(claim: Claim) -> None:
    system = claim(brokers=3, isr_shrinks=1).system()
    paths = Paths(system, MAPPED, REFUSABLE, Budget())
    layout = paths.engine.layout
    initial = tuple(layout.pack(system.initial[0]))
    fetches = [move for move in paths.steps(initial) if system.actions[move.number].of.name == "fetch_at_once"]
    assert len(fetches) == 2
    assert len({move.path for move in fetches}) == 1
    everyone = Paths(attrs.evolve(system, interchangeable={}), MAPPED, REFUSABLE, Budget())
    assert len(everyone.reachable) > len(paths.reachable)


def test_a_fifth_of_the_steps_is_refused_by_the_model(claim: Claim) -> None:
    paths = Paths(claim(leader_moves=1, isr_shrinks=1).system(), MAPPED, REFUSABLE, Budget())
    moves = [move for run in paths.walks(50, 30, ()) for move in run.moves]
    assert 0.1 < sum(move.refused for move in moves) / len(moves) < 0.3


def test_walks_are_those_of_their_seed(claim: Claim) -> None:
    def walked(seed: int) -> list[int]:
        paths = Paths(claim(leader_moves=1).system(), MAPPED, REFUSABLE, Budget(), seed)
        return [move.number for run in paths.walks(5, 20, ()) for move in run.moves]

    assert walked(1) == walked(1) != walked(2)


def test_every_action_of_the_model_is_mapped_or_named_as_not() -> None:
    names = {action.name for protocol in PARTITION.presets.values() for action in PARTITION.define(protocol).actions}
    assert names == MAPPED.keys() | UNMAPPED.keys()
    assert not MAPPED.keys() & UNMAPPED.keys()


def test_mapped_steps_that_happen_call_something(claim: Claim) -> None:
    spec = claim(brokers=3, isr_shrinks=1, leader_moves=1, lossy_crashes=1)
    system = spec.system()
    paths = Paths(system, MAPPED, REFUSABLE, Budget(max_states=20_000))
    for run in paths.walks(20, 40, ()):
        for move in run.moves:
            instance = system.actions[move.number]
            if not move.refused and instance.of.name in MAPPED:
                before = paths.engine.layout.unpack(move.before)
                assert operations_of(instance, before, spec.protocol, spec.bounds), instance


def test_an_incomplete_search_for_paths_gives_its_limit(claim: Claim) -> None:
    assert Paths(claim(leader_moves=1).system(), MAPPED, REFUSABLE, Budget(max_states=3)).unseen == "max-states"


def test_an_interrupt_is_not_taken_for_the_end_of_the_search(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(breadth_first._Search, "_explore", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Paths(claim().system(), MAPPED, REFUSABLE, Budget())
