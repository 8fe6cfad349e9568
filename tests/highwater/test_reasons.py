"""Why a property is false, in words with names: its witness, or the parts it read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater import Witness
from highwater.claims.spec import load_spec
from highwater.explorer.search.levels import breadth_first
from highwater.reports.reasons import reason

SPECS = Path(__file__).parents[2] / "specs"

VOTES = """
import attrs
from highwater import ArrayOf, Definition, Integers, Maybe, Model, NoToggles, SetOf, Witness
from highwater import action, bound, evolve, invariant, replaced, within

@attrs.frozen
class Bounds:
    servers: int = bound(1, 5, "servers")

def servers(bounds):
    return Integers(0, bounds.servers - 1, label="s", names="servers")

@attrs.frozen
class Votes:
    given: tuple[int | None, ...] = within(lambda b: ArrayOf(Maybe(servers(b)), b.servers, label="s", by="servers"))
    up: frozenset[int] = within(lambda b: SetOf(servers(b)))

@action(actor="server", server=servers, other=servers)
def vote(votes, server, other):
    if votes.given[server] is not None:
        return None
    return evolve(votes, given=replaced(votes.given, server, other))

@invariant(server=servers)
def nobody_votes_for_another(votes, server):
    to = votes.given[server]
    return to in (None, server) or Witness(SENTENCE, server=server, given=to, up=votes.up, to=to)

@invariant()
def few_vote(votes):
    return sum(each is not None for each in votes.given) < 2

def define(protocol):
    first = lambda bounds: [Votes((None,) * bounds.servers, frozenset({0, 1}))]
    return Definition(Bounds, Votes, first, (vote,), properties=(nobody_votes_for_another, few_vote))

MODEL = Model("votes", "Votes.", NoToggles, define)
"""


@pytest.fixture
def false(highwater: Callable[..., Any], tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def check(sentence: str, check: str) -> dict[str, Any]:
        """What is printed, and what reports say."""
        (tmp_path / "votes.py").write_text(VOTES.replace("SENTENCE", repr(sentence)), encoding="utf-8")
        spec = tmp_path / "claim.toml"
        spec.write_text(f'model = "votes:MODEL"\nbounds = {{ servers = 3 }}\ncheck = ["{check}"]\n', encoding="utf-8")
        files = {kind: tmp_path / f"report.{kind}" for kind in ("json", "junit", "sarif")}
        given = [each for kind, path in files.items() for each in (f"--{kind}", path)]
        ended = highwater("check", spec, *given, "--github")
        return {"printed": ended.stdout, **{kind: path.read_text(encoding="utf-8") for kind, path in files.items()}}

    return check


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("{server} voted for {given}", "s0 voted for s1"),  # a parameter, and a field of the state
        ("{up} are up", "{s0 s1} are up"),
        ("s{server} voted for {to:servers}", "s0 voted for s1"),  # as the author shows it, and by the set of names
        ("{server} voted for {to}", "s0 voted for 1"),
        ("{{{to!r}}}", "{1}"),
        ("{given:servers} is the one", "s1 is the one"),
    ],
)
def test_a_witness_speaks_of_names(false: Callable[..., dict[str, Any]], sentence: str, words: str) -> None:
    found = false(sentence, "nobody_votes_for_another")
    assert f"nobody_votes_for_another is false: {words}\n" in found["printed"]
    assert json.loads(found["json"])["results"][0]["witness"] == words


def test_names_that_there_are_not_are_an_error_of_the_model(highwater: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "votes.py").write_text(VOTES.replace("SENTENCE", "'{to:voters} has votes'"), encoding="utf-8")
    spec = tmp_path / "claim.toml"
    spec.write_text('model = "votes:MODEL"\nbounds = { servers = 2 }\ncheck = ["nobody_votes_for_another"]\n')
    ended = highwater("check", spec)
    assert ended.exit_code == 2
    assert "cannot be put in words: ValueError('there are no voters')" in ended.stderr


def test_sets_without_an_order_are_formatted() -> None:
    """Facts may be any part of a state: a set of records, or of texts and None."""
    sets = {"some": frozenset({3, 10}), "names": frozenset({None, "b", "a"}), "types": frozenset({(1,), (0,)})}
    assert str(Witness("{some} {names} {types} {none}", none=None, **sets)) == "{3 10} {a b none} {(0,) (1,)} none"


def test_a_property_without_a_witness_is_explained_by_its_reads(
    false: Callable[..., dict[str, Any]],
) -> None:
    found = false("", "few_vote")
    words = "given[s2] is none from the start; given[s0] is s0 since step 1; given[s1] is s0 since step 2"
    assert f"few_vote is false: {words}\n" in found["printed"]
    assert f"%0Afew_vote is false: {words}" in found["printed"], "the annotation"
    assert words in found["junit"]
    assert f"few_vote is false: {words}" in found["sarif"]


def test_a_reason_gives_each_value_read_and_the_step_that_set_it() -> None:
    """A record that may be absent is there. Of the ISR only b0 was asked for; it is what it is since b1 has joined."""
    claim = "controller/reassignment/narrowing_the_assignment_first_leaves_an_isr_member_that_is_not_assigned.toml"
    system = load_spec(SPECS / claim).system()
    (violation,) = breadth_first.explore(system).violations
    assert reason(system, attrs.evolve(violation, witness="")) == (
        "zk.leadership is there from the start; zk.leadership.isr is {b0 b1} since step 8; "
        "zk.assignment is [b1] since step 11"
    )
