"""The command `graph`, as people meet it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import networkx
import pytest
from click.testing import Result

from highwater import api
from highwater.explorer.analysis import graph
from highwater.reports import progress

Run = Callable[..., Result]
Write = Callable[..., Path]

LARGER = {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2}


def test_the_graph_of_a_spec_is_reported_and_written(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"graph.{kind}" for kind in ("dot", "graphml", "json")}
    outcome = api.check(write_spec(), engine="python").outcome
    result = highwater("graph", write_spec(), *(word for kind, path in files.items() for word in (f"--{kind}", path)))
    assert result.exit_code == 0
    assert result.stdout.startswith(f"claim: 277 states, {outcome.generated} steps, depth 11\n")
    read = networkx.node_link_graph(json.loads(files["json"].read_text(encoding="utf-8")), edges="edges")
    assert len(read) == 277
    assert len(networkx.read_graphml(files["graphml"])) == 277
    assert files["dot"].read_text(encoding="utf-8").startswith("digraph {")


def test_a_graph_that_goes_as_deep_as_its_claim_says_so(highwater: Run, write_spec: Write) -> None:
    cut = "to depth 2, as the claim goes: steps from there are left out"
    assert cut in highwater("graph", write_spec(max_depth=2, expect={"verdict": "holds-to-depth"})).stdout
    assert "as the claim goes" not in highwater("graph", write_spec("whole.toml")).stdout


def test_a_large_graph_is_refused_politely(highwater: Run, write_spec: Write) -> None:
    result = highwater("graph", write_spec(), "--max-states", 100)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "more than 100 states; such a graph is too large to look at" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--dot", "claim.toml"), "--dot would overwrite a spec"),
        (("--dot", "same", "--json", "same"), "would write the same file"),
        (("--graphml", "no/such/file"), "cannot be written"),
    ],
)
def test_files_that_cannot_be_written_are_refused(
    highwater: Run,
    write_spec: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    words: str,
) -> None:
    path = write_spec()
    monkeypatch.chdir(tmp_path)
    result = highwater("graph", path, *options)
    assert result.exit_code == 2
    assert words in result.stderr


def test_an_interrupt_has_an_exit_code_of_its_own(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(graph, "reachable_graph", interrupted)
    result = highwater("graph", write_spec())
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")


def test_long_commands_report_progress(highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    spec = write_spec(expect={"verdict": "violated"}, protocol={"variant": "truncate-to-high-watermark"}, bounds=LARGER)
    assert "quick: 277 states, 0 to go on from\n" in highwater("graph", write_spec("quick.toml")).stderr
    assert "claim: depth 3  frontier " in highwater("check", spec, "--engine", "python").stderr
    assert "claim: violated; made as short as " in highwater("simulate", spec, "--walks", 3000, "--depth", 40).stderr
    assert "quick with variant=kip-101: depth 3  frontier " in highwater("mutate", write_spec("quick.toml")).stderr
