"""Which changes of a rule can be seen at all: what no path reads changes no step, and what differs is one of a run."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from highwater.claims.conformance import Wanted, paths_of
from highwater.claims.mutation import Change, changes_of
from highwater.claims.spec import Spec
from highwater.explorer.analysis.differing import Differing, settings_read
from highwater.explorer.analysis.paths import Paths

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
        assert not Differing(ours, theirs, lambda state: state).targets(), change


def test_each_run_that_tells_two_rules_apart_has_a_step_that_differs(claim: Claim) -> None:
    spec = claim(isr_shrinks=1, min_insync_replicas=2)
    change = next(each for each in changes_of(spec) if each.key == "shrink_spares_caught_up=false")
    ours, theirs = paths_of(spec, Wanted()), changed(spec, change)
    differing = Differing(ours, theirs, lambda state: state)
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
    first = next(Differing(ours, theirs, lambda state: state).runs()).moves[-1]
    assert first.refused
    assert ours.system.actions[first.number].of.name == "propose_shrink"


def test_a_rule_about_what_is_remembered_is_found_by_a_step_that_is_refused_later(claim: Claim) -> None:
    spec = claim(isr_shrinks=1, spurious_fences=1)
    change = next(each for each in changes_of(spec) if each.key == "metadata_end_proposals=false")
    ours, theirs = paths_of(spec, Wanted()), changed(spec, change)
    runs = Differing(ours, theirs, lambda state: state).runs()
    refused = {theirs.system.actions[move.number].of.name for run in runs for move in run.moves if move.refused}
    assert refused == {"learn_isr"}


def test_equal_systems_have_no_run_that_tells_them_apart(claim: Claim) -> None:
    ours, theirs = (paths_of(claim(isr_shrinks=1), Wanted()) for _ in range(2))
    assert not list(Differing(ours, theirs, lambda state: state).runs())
