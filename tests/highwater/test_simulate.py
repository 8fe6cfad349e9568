"""The command `simulate`, as people meet it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from click.testing import Result

from highwater.claims import own
from highwater.model.language.graph_properties import prospect
from highwater.model.reference.controlling import write
from highwater.model.reference.state import Cluster, brokers

Run = Callable[..., Result]
Write = Callable[..., Path]

SCHEMA = json.loads((Path(__file__).parent / "simulation.schema.json").read_text(encoding="utf-8"))


@prospect(along=[write], leader=brokers)
def can_write(cluster: Cluster, leader: int) -> bool:
    """Lost, but not for a walk to tell."""
    return len(cluster.replicas[leader].log) > 0


HOPE = own.reference_to(can_write)
FAILING = {
    "protocol": {"variant": "truncate-to-high-watermark"},
    "bounds": {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2},
}


def test_a_violating_walk_is_shrunk_shown_written_and_replays(
    highwater: Run, write_spec: Write, tmp_path: Path
) -> None:
    spec, report = write_spec(**FAILING, expect={"verdict": "violated"}), tmp_path / "report.json"
    result = highwater("simulate", spec, "--seed", 1, "--depth", 40, "--json", report)
    assert result.exit_code == 0, result.output
    told = re.match(
        r"ok  claim\n    violated: weak_isr by walk (\d+) after (\d+) steps \(as claimed\); "
        r"shrunk to 8, and there is no shorter one\n",
        result.stdout,
    )
    assert told is not None, result.stdout
    assert "weak_isr is false: offset 0 is below the high watermark" in result.stdout
    data = json.loads(report.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    entry = data["results"][0]
    assert (entry["trace_length"], entry["minimal"]) == (8, "globally")
    assert [str(entry["simulation"]["walk"]), str(entry["walk_length"])] == list(told.groups())
    traced = highwater("trace", report)
    assert traced.exit_code == 0
    assert traced.stdout.startswith("claim: weak_isr is false after 8 steps")
    again = highwater("simulate", spec, "--seed", 1, "--depth", 40, "--no-shrink", "--workers", 1)
    assert "violated: weak_isr by walk {} after {} steps (as claimed)\n".format(*told.groups()) in again.stdout


@pytest.mark.parametrize(
    ("keys", "exit_code", "words"),
    [
        ({}, 0, "no violation met; random walks may have missed one"),
        ({"check": ["leader_in_isr"]}, 1, "FAILED  claim"),
        (
            {"check": ["no_deadlock"], "max_depth": 2, "expect": {"verdict": "holds-to-depth"}},
            0,
            "300 at depth 2;",  # what is deeper says nothing against the claim
        ),
        ({"expect": {"verdict": "violated"}}, 3, "undecided  claim"),
        ({"check": [HOPE]}, 3, "not judged: can_write; it needs the graph of all states: use check"),
        ({"check": ["weak_isr", HOPE]}, 0, "not judged: can_write"),
        ({"check": ["no_deadlock", HOPE]}, 1, "not judged: can_write"),
    ],
)
def test_the_result_of_a_simulation_is_compared_with_the_claim(
    highwater: Run, write_spec: Write, tmp_path: Path, keys: dict, exit_code: int, words: str
) -> None:
    report = tmp_path / "report.json"
    result = highwater("simulate", write_spec(**keys), "--walks", 300, "--json", report)
    assert result.exit_code == exit_code
    assert words in result.stdout
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(report.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("keys", "status"),
    [
        ({"max_depth": 7}, 3),  # the shortest way to it has 8 steps, of which such a claim says nothing
        ({"max_depth": 8}, 0),
        ({"max_depth": 7, "expect": {"verdict": "holds"}}, 0),
        ({"expect": {"verdict": "violated", "trace_length": 8}}, 0),
        ({"expect": {"verdict": "violated", "trace_length": 9}}, 1),
        ({"expect": {"verdict": "violated", "trace_length": 7}}, 1),  # shrinking has seen that there is no shorter one
    ],
)
def test_a_violation_is_as_claimed_only_as_deep_as_the_claim_says(
    highwater: Run, write_spec: Write, keys: dict, status: int
) -> None:
    spec = write_spec(**{**FAILING, "expect": {"verdict": "violated"}, **keys})
    result = highwater("simulate", spec, "--seed", 1, "--depth", 40)
    assert result.exit_code == status, result.output
    assert ("(as claimed)" in result.stdout) == (status == 0 and "violated: " in result.stdout)


def test_walks_that_take_no_step_report_nothing(highwater: Run, write_spec: Write) -> None:
    result = highwater(
        "simulate", write_spec(), "--walks", 10, "--weight", "elect_leader=0", "--weight", "take_from_isr=0"
    )
    assert result.exit_code == 3
    assert "no step was taken" in result.stdout
    assert "0 steps, ended: 10 with weight 0 for all that is enabled;" in result.stdout


def test_coverage_and_weights_are_reported(highwater: Run, write_spec: Write) -> None:
    result = highwater("simulate", write_spec(), "--walks", 300, "--coverage", "--weight", "elect-leader=0")
    assert result.exit_code == 0
    assert "never taken: elect_leader" in result.stdout
    assert "never ran: in " in result.stdout
    assert highwater("simulate", write_spec(), "--seconds", "0.1").exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--weight", "elect_leadr=2"),
            '"elect_leadr" is no action (did you mean "elect_leader"?); allowed are elect_leader, ',
        ),
        (("--weight", "elect_leader=-1"), "is not an action and a weight of 0 or more"),
        (("--weight", "elect_leader"), "is not an action and a weight of 0 or more"),
        (("--seed", "-1"), "Invalid value for '--seed'"),
        (("--walks", "0"), "Invalid value for '--walks'"),
        (("--json", "claim.toml"), "--json would overwrite a spec"),
    ],
)
def test_bad_options_are_refused(highwater: Run, write_spec: Write, options: tuple[str, ...], words: str) -> None:
    result = highwater("simulate", write_spec(), *options)
    assert result.exit_code == 2
    assert words in result.stderr
