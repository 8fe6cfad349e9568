"""Specs as tests of pytest, run as people run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater.cli.init import write_scaffold

pytest_plugins = ["pytester"]

GOOD = """
model = "reference"
protocol = { variant = "kip-320" }
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1 }
check = ["weak_isr"]
"""


@pytest.fixture
def claims(pytester: pytest.Pytester) -> Path:
    """A met claim, an unmet one with a trace, and one with a misspelt key."""
    folder = pytester.mkdir("specs")
    (folder / "met.toml").write_text(GOOD, encoding="utf-8")
    (folder / "unmet.toml").write_text(GOOD.replace("weak_isr", "leader_in_isr"), encoding="utf-8")
    (folder / "wrong.toml").write_text(GOOD.replace("bounds", "bonds"), encoding="utf-8")
    (folder / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    return folder


def test_every_spec_is_a_test_and_a_failure_shows_witness_and_trace(pytester: pytest.Pytester, claims: Path) -> None:
    result = pytester.runpytest_subprocess("--highwater", "specs", "-v", "--junitxml=out.xml")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "specs/met.toml::met PASSED*",
            "specs/unmet.toml::unmet FAILED*",
            "*leader_in_isr is violated after 0 steps*",
            "*0*initial state*",
            "leader_in_isr is false: there is no leader, so none is in the ISR",
            "*specs/unmet.toml:5: expect.verdict",
            '*specs/wrong.toml:*:1: bonds: unknown key (did you mean "bounds"?)*',
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert '<property name="distinct_states" value="277"' in (pytester.path / "out.xml").read_text(encoding="utf-8")


def test_specs_are_spread_by_xdist(pytester: pytest.Pytester, claims: Path) -> None:
    pytester.runpytest_subprocess("--highwater", "specs", "-n", "2").assert_outcomes(passed=1, failed=2)


def test_specs_are_not_collected_without_the_option(pytester: pytest.Pytester, claims: Path) -> None:
    pytester.runpytest_subprocess("specs").assert_outcomes()


def test_a_budget_that_ran_out_is_a_failure(pytester: pytest.Pytester, claims: Path) -> None:
    result = pytester.runpytest_subprocess("--highwater", "specs/met.toml", "--highwater-max-states", "5")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["met: undecided", "unknown: ran out of max-states*"])


@pytest.mark.slow
def test_the_scaffolds_tests_pass_and_a_property_takes_ten_lines(pytester: pytest.Pytester) -> None:
    write_scaffold(pytester.path / "lock")
    (pytester.path / "lock" / "test_mine.py").write_text(
        """
from highwater import Witness, invariant
from highwater.model.reference.state import brokers

@invariant(broker=brokers)
def logs_are_empty(cluster, broker):
    return not cluster.replicas[broker].log or Witness("b{broker} has a record", broker=broker)

def test_mine(checker):
    checker.holds(logs_are_empty, model="reference", protocol={"variant": "kip-320"},
                  bounds={"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1})
""",
        encoding="utf-8",
    )
    result = pytester.runpytest_subprocess("lock", "--rootdir=lock", "-c", "lock/pytest.ini", "-n", "2")
    result.assert_outcomes(passed=26, failed=1)
    result.stdout.fnmatch_lines(["*write leader=b0*", "logs_are_empty is false: b0 has a record"])
    result.stdout.fnmatch_lines(["=* paths of models that were run =*", "LocksMachine: * of 21 paths of locks run *"])


def test_what_else_a_checked_property_is_expected_to_do_leaves_the_verdict_as_it_is(pytester: pytest.Pytester) -> None:
    """`weak_isr` holds, and `leader_in_isr` does not."""
    claims = [
        'checker.violated("weak_isr", expect={"distinct_states": 277}, **CLAIM)',
        'checker.violated("weak_isr", expect={}, **CLAIM)',
        'checker.violated("weak_isr", expect={"verdict": "holds"}, **CLAIM)',
        'checker.holds("leader_in_isr", expect={"verdict": "violated"}, **CLAIM)',
        'checker.holds("weak_isr", expect={"verdict": "holds-to-depth"}, max_depth=1, **CLAIM)',
        'checker.holds("weak_isr", expect={"distinct_states": 277}, **CLAIM)',
        'checker.violated("leader_in_isr", expect={"trace_length": 0}, **CLAIM)',
    ]
    lines = [
        'CLAIM = {"model": "reference", "protocol": {"variant": "kip-320"},',
        '         "bounds": {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}}',
        *(f"def test_{number}(checker): {claim}" for number, claim in enumerate(claims)),
    ]
    pytester.makepyfile("\n".join(lines))
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2, failed=5)
    result.stdout.fnmatch_lines(
        [
            "*claim: expect.verdict: 'holds' is not what this method of checker asks; allowed is 'violated'*",
            "FAILED *::test_4*",
        ]
    )
