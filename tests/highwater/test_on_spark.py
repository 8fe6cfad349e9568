"""The front door to Spark: options that make no sense are refused, checks and queries are answered."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

pytest.importorskip("pyspark")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--engine", "spark", "--workers", "2"], "--workers says nothing to --engine spark"),
        (["--engine", "spark", "--memory", "1G"], "--memory says nothing to --engine spark"),
        (["--master", "local[2]"], "--master says nothing to --engine local; add --engine spark"),
        (["--partitions", "2", "--engine", "python"], "--partitions says nothing to --engine python"),
        (["--engine", "spark", "--resume"], "--resume needs --checkpoint"),
    ],
)
def test_an_option_of_another_engine_is_refused(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], options: list[str], problem: str
) -> None:
    result = highwater("check", write_spec(), *options)
    assert result.exit_code == 2
    assert problem in result.output


def test_spark_without_java_is_explained_in_one_line(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = highwater("check", write_spec(), "--engine", "spark")
    assert result.exit_code == 2
    assert result.output.strip().splitlines()[-1].endswith("apt-get install openjdk-17-jre-headless (or set JAVA_HOME)")


def test_spark_without_pyspark_is_explained_in_one_line(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] in ("spark", "pyspark")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    result = highwater("check", write_spec(), "--engine", "spark")
    assert result.exit_code == 2
    assert "pip install 'highwater[spark]'" in result.output


def test_a_check_on_spark_is_one_by_the_local_engine_and_its_states_are_a_table(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], tmp_path: Path, spark: Any
) -> None:
    """All commands of one story, in order, since each needs the one before."""
    spec, levels, report = write_spec(), tmp_path / "levels", tmp_path / "report.json"
    whole = highwater("check", spec, "--json", report)
    expected = json.loads(report.read_text())["results"][0]
    on_spark = highwater("check", spec, "--engine", "spark", "--checkpoint", levels, "--max-depth", 3, "--json", report)
    assert on_spark.exit_code == 3
    assert "levels up to depth 3" in highwater("states", spec, "--checkpoint", levels).stderr
    on_spark = highwater("check", spec, "--engine", "spark", "--checkpoint", levels, "--resume", "--json", report)
    assert on_spark.exit_code == whole.exit_code == 0
    found = json.loads(report.read_text())["results"][0]
    differ = {key for key in expected if found[key] != expected[key]}
    assert differ <= {"seconds", "compiled_paths", "memory_bytes"}

    result = highwater("states", spec, "--checkpoint", levels, "--sql", "SELECT sum(orbit) AS n, max(depth) AS deepest FROM states")
    assert result.exit_code == 0
    assert result.stdout.split() == ["n", "deepest", f"{expected['distinct_states']}", f"{expected['depth']}"]

    result = highwater("states", spec, "--checkpoint", levels, "--sql", "SELECT quorum, depth FROM states ORDER BY depth LIMIT 1")
    assert result.stdout.splitlines() == ['quorum  {"leader": null, "isr": [0, 1]}', "depth   0"]

    result = highwater("states", spec, "--checkpoint", levels)
    assert "next_record_id  int" in result.stdout.splitlines()
    assert "note" not in result.stderr

    exported = tmp_path / "exported"
    assert highwater("states", spec, "--checkpoint", levels, "--parquet", exported).exit_code == 0
    import pyarrow.parquet as pq

    rows = pq.read_table(exported).to_pylist()
    assert sum(row["orbit"] for row in rows) == expected["distinct_states"]
    assert {row["next_record_id"] for row in rows} == {0, 1}

    for arguments, problem in (
        (["--sql", "SELECT nothing FROM states"], "--sql: [UNRESOLVED_COLUMN"),
        (["--sql", "SELEKT"], "--sql: "),
        (["--parquet", exported], "--parquet: "),
    ):
        result = highwater("states", spec, "--checkpoint", levels, *arguments)
        assert result.exit_code == 2
        assert f"highwater: {problem}" in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1

    other = write_spec("other.toml", bounds={"brokers": 2, "log_length_max": 2, "records_max": 1, "leader_epoch_max": 1})
    result = highwater("states", other, "--checkpoint", levels, "--sql", "SELECT 1")
    assert result.exit_code == 2
    assert "is a checkpoint of another search: the state's layout differ" in result.stderr

    result = highwater("states", spec, "--checkpoint", tmp_path / "nowhere")
    assert result.exit_code == 2
    assert "holds no levels of a search" in result.stderr


def test_the_states_of_a_small_spec_can_be_asked_without_a_checkpoint(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], spark: Any
) -> None:
    result = highwater("states", write_spec(), "--sql", "SELECT count(*) AS n FROM states WHERE depth = 1")
    assert result.exit_code == 0
    assert int(result.stdout.split()[-1]) >= 1


def test_help_of_states_says_how_to_ask(highwater: Callable[..., Result]) -> None:
    assert "SELECT depth, sum(orbit) FROM states" in highwater("states", "--help").output
