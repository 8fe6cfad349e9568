"""The command `graph`, as people meet it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import networkx
import pytest
from click.testing import Result

from highwater import api

Run = Callable[..., Result]
Write = Callable[..., Path]


def test_the_graph_of_a_spec_is_told_and_written(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"graph.{kind}" for kind in ("dot", "graphml", "json")}
    outcome = api.check(write_spec(), engine="python").outcome
    result = highwater("graph", write_spec(), *(word for kind, path in files.items() for word in (f"--{kind}", path)))
    assert result.exit_code == 0
    assert result.stdout.startswith(f"claim: 277 states, {outcome.generated} steps, depth 11\n")
    graph = networkx.node_link_graph(json.loads(files["json"].read_text(encoding="utf-8")), edges="edges")
    assert len(graph) == 277
    assert len(networkx.read_graphml(files["graphml"])) == 277
    assert files["dot"].read_text(encoding="utf-8").startswith("digraph {")


def test_a_large_graph_is_refused_politely(highwater: Run, write_spec: Write) -> None:
    result = highwater("graph", write_spec(), "--max-states", 100)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "more than 100 states; nobody can look at a graph of that size" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--dot", "claim.toml"), "--dot would overwrite a spec"),
        (("--dot", "same", "--json", "same"), "would write the same file"),
        (("--graphml", "no/such/file"), "cannot be written"),
    ],
)
def test_files_that_cannot_be_written_are_refused(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str
) -> None:
    path = write_spec()
    monkeypatch.chdir(tmp_path)
    result = highwater("graph", path, *options)
    assert result.exit_code == 2
    assert words in result.stderr
