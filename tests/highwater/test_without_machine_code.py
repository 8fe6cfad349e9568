"""The plain-Python engine, the explorer and the pages do without machine code and what it is made with: a browser has
none of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from highwater.cli.init import SCAFFOLD

ROOT = Path(__file__).parents[2]
ABSENT = ("numpy", "numba", "llvmlite", "pyarrow", "pyspark", "werkzeug", "textual", "click", "fcntl", "resource")
CLAIMS = (
    ROOT / "specs" / "truncation" / "kip_101_fails_on_two_brokers.toml",
    ROOT / "specs" / "published_counts" / "kip_320_two_brokers_has_as_many_states_as_tlc_counts.toml",
    ROOT / "specs" / "kraft_reference" / "kip_966_leaves_a_lone_replica_without_a_leader.toml",  # a lasso
    SCAFFOLD / "specs" / "without_fencing_a_late_writer_gets_through.toml",
)
PROGRAM = """
import json, sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(), None))  # to import them is an error
import highwater
from highwater.exploring.opening import open_spec
from highwater.exploring.page import Page

for path in sys.argv[3:]:
    result = highwater.check(path, engine="python", model_path=[sys.argv[2]])
    page = result.trace.to_html() if result.trace else ""
    session = open_spec(highwater.load(path))
    session.take(next(each.number for each in session.choices() if each.enabled))
    found = {"status": result.status.value, "states": result.outcome.distinct_states, "trace": len(result.trace or ())}
    found |= {"draws": 'id="board"' in page, "explores": 'id="board"' in Page(session).whole()}
    print(json.dumps(found))
session = open_spec(highwater.load(sys.argv[3]))
print(json.dumps(session.find("strong_isr", from_here=True).says))
"""


@pytest.fixture(scope="module")
def found() -> list[Any]:
    """What a process without machine code found: a line for each claim, and the way to a state."""
    arguments = [" ".join(ABSENT), str(SCAFFOLD), *map(str, CLAIMS)]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_claims_come_out_as_locked_without_machine_code(found: list[Any]) -> None:
    assert len(found) == len(CLAIMS) + 1
    for path, without in zip(CLAIMS, found, strict=False):
        expect = tomllib.loads(path.read_text(encoding="utf-8"))["expect"]
        assert without["status"] == "met"
        assert without["states"] == expect.get("distinct_states", without["states"]) > 0
        assert without["trace"] == expect.get("trace_length", 0)
        assert without["draws"] == (expect["verdict"] == "violated")
        assert without["explores"]


def test_a_state_is_found_without_machine_code(found: list[Any]) -> None:
    """After more states than are looked through in plain Python where the compiled engine can go on."""
    assert found[-1] == "strong_isr is false: 11 steps away"
