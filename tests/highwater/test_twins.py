"""For every violated claim of the gallery that has a twin that holds, `repair` finds the twin's rule.

A twin is about the same model within the same bounds, checks the violated property, and differs in rules only. Those
with few states are tried, each with the rules in which its twin differs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater.claims.changed_rules import Change, changes_of
from highwater.claims.repairing import Attempt, Ending, repair
from highwater.claims.resolving import toggles_of
from highwater.claims.spec import Spec, SpecError, load_spec
from highwater.explorer.verdict import Verdict
from tests.gallery import FILES, loaded

SPECS = Path(__file__).parents[2] / "specs"
MOST_STATES = 500
MOST_RULES = 2
QUICK = (
    (
        "controller/fail_over/a_broker_that_bounces_unseen_stays_idle.toml",
        "controller/fail_over/a_broker_that_bounces_learns_what_it_hosts.toml",
    ),
    ("kraft/a_fenced_broker_joins_the_isr.toml", "kraft/a_fenced_broker_stays_out_of_the_isr.toml"),
)
FEWEST_PAIRS = 50
FEWEST_THAT_ARE_NOT_VACUOUS = 35  # in bounds so small some things happen with the flaw only


def changes_to(spec: Spec, other: Spec) -> list[Change]:
    """What a twin changes; nothing if it is no twin, or changes what is no rule."""
    mine, theirs = ((each.file.model, each.bounds, each.file.max_depth, each.file.by_order) for each in (spec, other))
    violated = spec.file.expect.property or spec.properties[0].name
    if mine != theirs or violated not in {each.name for each in other.properties}:
        return []
    here, there = toggles_of(spec.protocol), toggles_of(other.protocol)
    changes = [each for each in changes_of(spec) if getattr(other.protocol, each.rule) == each.value]
    return changes if {each.rule for each in changes} == {name for name in here if here[name] != there[name]} else []


def nearest(spec: Spec, holding: list[Spec]) -> list[Change]:
    """What the twin changes that changes the fewest rules; nothing if there is none, or if its search takes long."""
    try:
        found = {other.name: (other, changes_to(spec, other)) for other in holding}
    except SpecError:  # the protocol has no rules
        return []
    twins = [(other, twin) for other, twin in found.values() if twin]
    other, twin = min(twins, key=lambda each: len(each[1]), default=(None, []))
    few = other is not None and (other.file.expect.distinct_states or MOST_STATES + 1) <= MOST_STATES
    return twin if few and len(twin) <= MOST_RULES else []


def repairs(spec: Spec, twin: list[Change]) -> list[Attempt]:
    """What holds of what the twin changes, good repairs before vacuous ones."""
    rules = {change.rule for change in twin}
    tried = repair(spec, workers=1, most_rules=len(twin), rules=rules).attempts
    found = [each for each in tried if each.ending is Ending.REPAIRED and {*each.changes} <= {*twin}]
    return sorted(found, key=lambda each: each.vacuous)


def gallery() -> tuple[list[Spec], list[Spec]]:
    """The claims that are violated, and those that hold."""
    every = [*map(loaded, FILES)]
    violated = [each for each in every if each.file.expect.verdict is Verdict.VIOLATED]
    return violated, [each for each in every if each not in violated]


@pytest.mark.parametrize(("violated", "holds"), QUICK)
def test_the_rule_of_a_twin_is_found(violated: str, holds: str) -> None:
    spec, other = (load_spec(SPECS / path) for path in (violated, holds))
    (found,) = repairs(spec, changes_to(spec, other))
    assert found.repairs


@pytest.mark.slow
def test_the_rules_of_all_twins_with_few_states_are_found() -> None:
    violated, holding = gallery()
    pairs = {spec.name: (spec, twin) for spec in violated if (twin := nearest(spec, holding))}
    found = {name: next(iter(repairs(*pair)), None) for name, pair in pairs.items()}
    assert len(found) >= FEWEST_PAIRS
    assert [name for name, each in found.items() if each is None] == []
    assert sum(each is not None and each.repairs for each in found.values()) >= FEWEST_THAT_ARE_NOT_VACUOUS
