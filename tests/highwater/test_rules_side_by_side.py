"""Sets of rules that are searched in several processes, ahead of being asked for, come out as one after the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims import changed_rules
from highwater.claims.changed_rules import ChangedRules, Places, unjudged
from highwater.claims.checking import Result
from highwater.claims.counterexamples import KnownCounterexamples
from highwater.claims.mutation import mutate
from highwater.claims.repairing import Attempt, Ending, repair
from highwater.claims.spec import Spec, SpecError, load_spec
from highwater.explorer.verdict import Outcome
from tests.highwater.test_repair import TWO_BROKERS, claim
from tests.highwater.test_side_by_side import children, ended
from tests.outcomes import findings

ROOT = Path(__file__).parents[2]
PATIENCE = 600  # seconds until something counts as hanging
HOLDS = "specs/fencing/kip_320_keeps_committed_records_on_two_brokers.toml"
VIOLATED = [
    TWO_BROKERS,
    "specs/kraft/a_partition_of_one_replica_has_no_leader_while_its_broker_is_away.toml",  # a prospect
    "specs/kraft/a_leader_whose_directory_failed_unseen_leads_for_ever.toml",  # liveness
]


def known(attempt: Attempt) -> Any:
    """All that is known of an attempt, but for how it was searched."""
    parts = (attempt.changes, attempt.ending, attempt.why, attempt.cost, attempt.no_cost, attempt.missing)
    return *parts, attempt.needed, of_search(attempt.outcome)


def of_search(outcome: Outcome | None) -> Any:
    if outcome is None:
        return None
    traces = [
        (each.property, each.arguments, each.witness, each.back_to, [(str(at.action), at.state) for at in each.trace])
        for each in outcome.violations
    ]
    return traces, findings(outcome, "violations", "audit")


@pytest.mark.slow
@pytest.mark.parametrize("path", VIOLATED)
def test_several_processes_find_the_repairs_that_one_finds(path: str) -> None:
    spec = load_spec(ROOT / path)
    several, one = (repair(spec, workers=1, jobs=jobs) for jobs in (3, 1))
    assert [*map(known, several.attempts)] == [*map(known, one.attempts)]


def test_several_processes_find_the_repairs_of_a_model_that_no_file_defines() -> None:
    several, one = (repair(claim(), workers=1, most_rules=3, jobs=jobs) for jobs in (3, 1))
    found = [*map(known, several.attempts)]
    assert found == [*map(known, one.attempts)]
    assert {Ending.REPAIRED, Ending.REJECTED, Ending.VIOLATED, Ending.REFUSED} <= {each[1] for each in found}


def test_what_is_asked_ahead_changes_nothing_of_which_counterexample_is_tried_first() -> None:
    spec, known = claim(), KnownCounterexamples()
    without = [spec.under(attrs.evolve(spec.protocol, **{leak: True})) for leak in ("left", "right")]
    for each in without:
        known.add(each, unjudged(each).outcome.violations)

    def first() -> str:
        return known._known[0].actions[-1].removesuffix("()")

    assert (first(), known.first_under(without[0]), first()) == ("leak_left", "stays_small after 5 steps", "leak_right")
    assert (known.any_under(without[1]), first()) == (True, "leak_right")
    assert (known.first_under(without[1]), first()) == ("stays_small after 5 steps", "leak_left")


@pytest.mark.parametrize("every_property", [False, True])
def test_several_processes_find_the_fates_that_one_finds(every_property: bool) -> None:
    def fates(jobs: int) -> list[Any]:
        found = mutate(load_spec(ROOT / HOLDS), workers=1, every_property=every_property, jobs=jobs)[1]
        return [(each.key, each.fate, each.why, of_search(each.outcome)) for each in found]

    assert fates(3) == fates(1)


@pytest.fixture
def searched() -> Iterator[Callable[[Callable[..., Result]], ChangedRules]]:
    """Searches of a claim in two processes."""
    begun: list[ChangedRules] = []

    def begin(search: Callable[..., Result]) -> ChangedRules:
        begun.append(ChangedRules(claim(), search, workers=1, jobs=2))
        return begun[-1]

    yield begin
    for each in begun:
        each.__exit__()


def test_what_comes_is_searched_before_it_is_asked_for(tmp_path: Path, searched: Any) -> None:
    def search(spec: Spec, **options: Any) -> Result:
        with (tmp_path / "searched").open("a") as file:
            file.write(f"{spec.protocol}\n")
        return unjudged(spec, **options)

    rules, every = searched(search), [(place,) for place in range(5)]
    rules.coming(every, lambda places: places != (1,))
    assert rules.result((0,)).spec.protocol.left
    for places in every[2:]:
        rules.result(places)
    lines = (tmp_path / "searched").read_text().splitlines()
    assert sorted(lines) == sorted(str(rules.under(places).protocol) for places in every if places != (1,))
    assert rules.result((1,)).spec.protocol == rules.under((1,)).protocol  # though it was not worth it


def test_few_sets_are_searched_ahead(searched: Any) -> None:
    rules, asked = searched(unjudged), list[Places]()

    def is_worth(places: Places) -> bool:
        asked.append(places)
        return True

    rules.coming([(place,) for place in range(8)], is_worth)
    rules.result((0,))
    assert 1 <= len(asked) <= 2 * changed_rules.AHEAD


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_ends_leaves_its_set_unknown_and_the_others_known(searched: Any, signal_number: int) -> None:
    here = os.getpid()

    def search(spec: Spec, **options: Any) -> Result:
        if spec.protocol.left and os.getpid() != here:
            os.kill(os.getpid(), signal_number)
        return unjudged(spec, **options)

    rules = searched(search)
    with pytest.raises(SpecError, match=f"the process that checked it has ended with signal {int(signal_number)}"):
        rules.result((0,))
    assert [rules.result((place,)).spec.protocol for place in (1, 2)] == [
        rules.under((place,)).protocol for place in (1, 2)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("whom", [os.killpg, os.kill], ids=["the group, as a terminal does", "the first process alone"])
def test_an_interrupt_ends_all_processes_and_keeps_what_was_found(whom: Callable[..., None]) -> None:
    spec = "specs/partition/liveness/a_follower_that_remembers_an_epoch_without_records_truncates_for_ever.toml"
    process = subprocess.Popen(
        [sys.executable, "-m", "highwater", "repair", spec, "--jobs", "2"],
        cwd=ROOT, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    shown = [process.stdout.readline()]
    while not shown[-1].lstrip().startswith("vacuous"):
        shown.append(process.stdout.readline())
        assert shown[-1], process.communicate()
    forks = children(process.pid)
    whom(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stderr.splitlines()[-1]) == (130, "interrupted")
    assert "Traceback" not in stderr
    assert "the search ended early" in stdout
    deadline = time.monotonic() + PATIENCE
    while not all(map(ended, forks)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert len(forks) == 2
