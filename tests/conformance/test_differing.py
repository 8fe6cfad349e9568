"""Which changes of a rule can be seen at all: what no path reads changes no step, and what differs is one of a run."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from highwater.claims.changed_rules import Change, changes_of
from highwater.claims.conformance import Wanted, paths_of
from highwater.claims.spec import Spec
from highwater.explorer.analysis.differing import Differing, settings_read
from highwater.explorer.analysis.paths import Paths
from highwater.explorer.system import Cut, System
from highwater.explorer.verdict import Budget
from highwater.model.language.declarations import action
from highwater.model.language.records import domain_of, evolve, within

Claim = Callable[..., Spec]


def changed(spec: Spec, change: Change) -> Paths:
    return paths_of(spec.under(attrs.evolve(spec.protocol, **{change.rule: change.value})), Wanted())


def test_a_rule_that_no_path_reads_changes_no_step(claim: Claim) -> None:
    spec = claim(initial_isr=1)
    ours = paths_of(spec, Wanted())
    read = settings_read(ours, spec.protocol)
    unread = [each for each in changes_of(spec) if each.rule not in read]
    assert 20 < len(unread) < len(changes_of(spec)) - 10
    for change in unread[::7]:
        theirs = changed(spec, change)
        assert theirs.engine.store.count == ours.engine.store.count, change
        assert not Differing(ours, theirs).targets, change


def test_each_run_that_tells_two_rules_apart_has_a_step_that_differs(claim: Claim) -> None:
    spec = claim(isr_shrinks=1, min_insync_replicas=2)
    change = next(each for each in changes_of(spec) if each.key == "shrink_spares_caught_up=false")
    ours, theirs = paths_of(spec, Wanted()), changed(spec, change)
    differing = Differing(ours, theirs)
    runs = list(differing.runs())
    assert runs
    for run in runs:
        at = run.start
        assert any(differing.differs(move.number, move.before) for move in run.moves)
        for move in run.moves:
            assert move.before == at
            after = theirs.program.evaluate(move.number, move.before)
            assert move.refused == (after is None)
            assert move.refused or after == move.after
            at = move.after
    last = runs[0].moves[-1]
    assert differing.differs(last.number, last.before)
    assert {theirs.system.actions[run.moves[-1].number].of.name for run in runs[:1]} == {"propose_shrink"}


def test_a_rule_that_refuses_a_step_is_found_by_trying_it(claim: Claim) -> None:
    spec = claim(isr_shrinks=1, protocol={"shrink_spares_caught_up": False})
    change = next(each for each in changes_of(spec) if each.key == "shrink_spares_caught_up=true")
    ours, theirs = paths_of(spec, Wanted()), changed(spec, change)
    first = next(Differing(ours, theirs).runs()).moves[-1]
    assert first.refused
    assert ours.system.actions[first.number].of.name == "propose_shrink"


def test_a_rule_about_what_is_remembered_is_found_by_a_step_that_is_refused_later(claim: Claim) -> None:
    spec = claim(isr_shrinks=1, spurious_fences=1)
    change = next(each for each in changes_of(spec) if each.key == "metadata_end_proposals=false")
    ours, theirs = paths_of(spec, Wanted()), changed(spec, change)
    runs = Differing(ours, theirs).runs()
    refused = {theirs.system.actions[move.number].of.name for run in runs for move in run.moves if move.refused}
    assert refused == {"learn_isr"}


def test_equal_systems_have_no_run_that_tells_them_apart(claim: Claim) -> None:
    ours, theirs = (paths_of(claim(isr_shrinks=1), Wanted()) for _ in range(2))
    assert not list(Differing(ours, theirs).runs())


@pytest.mark.parametrize(
    ("key", "field", "differs"),
    [
        ("high_watermark_set=proposed", "replicas", True),
        ("high_watermark_set=proposed", "quorum", False),
        ("leader_checks=alive", "replicas", False),
    ],
)
def test_a_rule_has_targets_if_any_step_differs_in_any_state(claim: Claim, key: str, field: str, differs: bool) -> None:
    spec = claim(isr_shrinks=1, min_insync_replicas=2)
    ours, theirs = paths_of(spec, Wanted()), changed(spec, next(each for each in changes_of(spec) if each.key == key))
    store, differing = theirs.engine.store, Differing(ours, theirs, [field])
    steps = [(number, store.words(row)) for row in range(0, store.count, 3) for number in theirs.mapped]
    known = {each: theirs.program.evaluate(*each) for each in steps}
    assert any(differing.differs(*each) for each in steps if not isinstance(known[each], Cut)) == differs
    assert all(differing.differs(*each) for each in differing.targets)
    assert bool(differing.targets) == differs
    assert differing.is_nowhere != differs


def test_a_rule_under_which_bounds_cut_a_step_is_not_without_effect(claim: Claim) -> None:
    """A smaller ISR begins a leader epoch beyond the bounds: nothing is executed, and fewer states are left."""
    spec = claim(isr_shrinks=1, leader_epoch_max=0)
    ours = paths_of(spec, Wanted())
    for value, nowhere in (("always", False), ("by-controller", True)):
        changes = (each for each in changes_of(spec) if each.key == f"isr_shrink_bumps_leader_epoch={value}")
        theirs = changed(spec, next(changes))
        differing = Differing(ours, theirs)
        assert not differing.targets
        assert differing.is_nowhere is nowhere
        assert (theirs.engine.store.count == ours.engine.store.count) is nowhere


@attrs.frozen
class Lamp:
    left: bool = within(bool)
    right: bool = within(bool)
    lit: bool = within(bool)


@action(actor="hand")
def flip(lamp: Lamp) -> Lamp:
    return evolve(lamp, left=not lamp.left)


@attrs.frozen
class Wiring:
    by_the_left: bool


@action(actor="hand")
def light(lamp: Lamp, protocol: Wiring) -> Lamp | None:
    is_on = lamp.left if protocol.by_the_left else lamp.right
    return evolve(lamp, lit=True) if is_on and not lamp.lit else None


@pytest.mark.parametrize(
    "switches",
    [((False, False), (True, True)), ((False, True), (True, False))],
    ids=["alike at first", "other at once"],
)
def test_targets_do_not_depend_on_the_states_in_which_paths_were_learned(
    switches: tuple[tuple[bool, bool], ...],
) -> None:
    """In the initial states (off, off) and (on, on) both rules refuse, and take, the same: what tells them apart is a
    later state along the same paths.
    """
    initial = tuple(Lamp(*each, False) for each in switches)
    found = []
    for by_the_left in (True, False):
        actions = (*flip.instances(None), *light.instances(None, Wiring(by_the_left)))
        system = System(domain=domain_of(Lamp, None), initial=initial, actions=actions)
        found.append(Paths(system, {"flip", "light"}, {"light"}, Budget(), workers=1))
    differing = Differing(*found)
    unpack = found[1].engine.layout.unpack
    assert {unpack(words) for _, words in differing.targets} == {Lamp(True, False, False), Lamp(False, True, False)}
    assert not differing.is_nowhere
    assert {run.moves[-1].refused for run in differing.runs()} == {False, True}
