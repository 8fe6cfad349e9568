"""The front door to Spark: options that make no sense are refused, checks and queries are answered."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
from click.testing import Result

from highwater.claims import on_spark, own
from highwater.claims.spec import SpecError, load_spec
from highwater.explorer.blame import ModelError
from highwater.explorer.sources import forget_models, texts_of
from highwater.explorer.verdict import LevelWork
from highwater.reports.terminal import work_line
from highwater.spaces import table_of
from highwater.viewer.pages import search_page

pytest.importorskip("pyspark")
import pyarrow as pa
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from highwater.spark.driver import session
from highwater.spark.levels import Levels

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--engine", "spark", "--workers", "2"], "--workers has no meaning with --engine spark"),
        (
            ["--engine", "spark", "--raise-bounds"],
            "--raise-bounds has no meaning with --engine spark; only the compiled engine on this machine has it",
        ),
        (["--master", "local[2]"], "--master has no meaning with --engine local; add --engine spark"),
        (["--partitions", "2", "--engine", "python"], "--partitions has no meaning with --engine python"),
        (["--rows-worth-a-job", "2"], "--rows-worth-a-job has no meaning with --engine local; add --engine spark"),
        (["--engine", "spark", "--resume"], "--resume needs --checkpoint"),
        (["--engine", "spark", "--checkpoint", "hdfs:/a"], "hdfs:/a is no URI, which has more slashes: hdfs:///a"),
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
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = highwater("check", write_spec(), "--engine", "spark")
    assert result.exit_code == 2
    assert result.output.strip().splitlines()[-1].endswith("apt-get install openjdk-17-jre-headless (or set JAVA_HOME)")


def test_what_is_awaited_is_shown_before_spark_starts(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java(conf: Any) -> None:
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr("highwater.reports.progress.SECONDS_BETWEEN_LINES", 10.0)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(session.SparkContext, "_gateway", None)
    monkeypatch.setattr(session, "refuse_without_java", lambda: None)
    monkeypatch.setattr(session, "_launch", no_java)
    result = highwater("check", write_spec(), "--engine", "spark", "--master", "local[1]")
    first, second = result.stderr.splitlines()
    assert first == "claim: Spark starts on local[1,4]: awaiting Java and a session, some 6 s"
    assert "Spark does not start" in second


def test_spark_without_pyspark_is_explained_in_one_line(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.startswith(("highwater.spark", "pyspark"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr("highwater.spark", None, raising=False)  # what is imported anew takes its place until the end
    monkeypatch.setitem(sys.modules, "pyspark", None)
    result = highwater("check", write_spec(), "--engine", "spark")
    assert result.exit_code == 2
    assert "pip install 'kafka-highwater[spark]'" in result.output


def shaped(of: Any) -> Any:
    """A schema or type of Arrow, without what Spark and Arrow call the elements of a list."""
    if isinstance(of, pa.ListType):
        return [shaped(of.value_type)]
    return {field.name: shaped(field.type) for field in of} if isinstance(of, pa.Schema | pa.StructType) else str(of)


@pytest.mark.slow
def test_a_check_on_spark_is_one_by_the_local_engine_and_its_states_are_a_table(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], tmp_path: Path, spark: Any
) -> None:
    """All commands in order, because each needs the one before."""
    spec, levels, report = write_spec(), tmp_path / "levels [1] of {all}", tmp_path / "report.json"
    whole = highwater("check", spec, "--json", report)
    expected = json.loads(report.read_text())["results"][0]
    on_spark = highwater("check", spec, "--engine", "spark", "--checkpoint", levels, "--max-depth", 3, "--json", report)
    assert on_spark.exit_code == 3
    assert "levels up to depth 3" in highwater("states", spec, "--checkpoint", levels).stderr
    on_spark = highwater("check", spec, "--engine", "spark", "--checkpoint", levels, "--resume", "--json", report)
    assert on_spark.exit_code == whole.exit_code == 0
    found = json.loads(report.read_text())["results"][0]
    differ = {key for key in expected if found[key] != expected[key]}
    assert differ <= {"seconds", "compile_seconds", "compiled_paths", "memory_bytes", "restored_states", "work"}
    assert [each["level"] for each in found["work"]] == list(range(4, expected["depth"] + 2))

    result = highwater(
        "states", spec, "--checkpoint", levels, "--sql", "SELECT sum(orbit) AS n, max(depth) AS deepest FROM states"
    )
    assert result.exit_code == 0
    assert result.stdout.split() == ["n", "deepest", f"{expected['distinct_states']}", f"{expected['depth']}"]

    result = highwater(
        "states", spec, "--checkpoint", levels, "--sql", "SELECT quorum, depth FROM states ORDER BY depth LIMIT 1"
    )
    assert result.stdout.splitlines() == ['quorum  {"leader": null, "isr": [0, 1]}', "depth   0"]

    result = highwater("states", spec, "--checkpoint", levels)
    assert "next_record_id  int" in result.stdout.splitlines()
    assert "note" not in result.stderr

    exported = tmp_path / "all [1] states"
    assert highwater("states", spec, "--checkpoint", levels, "--parquet", exported).exit_code == 0
    import pyarrow.parquet as pq

    assert shaped(pq.read_table(exported).schema) == shaped(table_of(load_spec(spec), 10_000, symmetry=True).schema)
    rows = pq.read_table(exported).to_pylist()
    assert sum(row["orbit"] for row in rows) == expected["distinct_states"]
    assert {row["next_record_id"] for row in rows} == {0, 1}

    def refused(*arguments: Any, checkpoint: Path = levels) -> str:
        """The one line that says why."""
        result = highwater("states", spec, "--checkpoint", checkpoint, *arguments)
        assert result.exit_code == 2
        (line,) = result.stderr.strip().splitlines()
        return line.removeprefix("highwater: ")

    assert refused("--sql", "SELECT nothing FROM states").startswith("--sql: [UNRESOLVED_COLUMN")
    assert refused("--sql", "SELEKT").startswith("--sql: ")
    assert refused("--sql", "").startswith("--sql: [PARSE_EMPTY_STATEMENT]")
    assert refused("--sql", "SELECT 1 / (depth - depth) FROM states").startswith("--sql: [DIVIDE_BY_ZERO]")
    assert refused("--parquet", exported) == f"--parquet: the folder {exported} is there already; name a new one"
    assert refused("--parquet", "nowhere://bucket/folder") == '--parquet: No FileSystem for scheme "nowhere"'
    inside = spec / "folder"
    assert refused("--parquet", inside) == f"--parquet: the folder {inside} cannot be made: Not a directory"
    assert "a Spark session runs on local[2,4] already" in refused("--master", "local[7]")
    assert "holds no levels of a search" in refused(checkpoint=tmp_path / "nowhere")

    part = max((levels / "levels").glob("*/*.parquet"), key=lambda path: path.stat().st_size)
    data = part.read_bytes()
    words = pq.read_metadata(part).row_group(0).column(0)
    # in the words, and in the footer's length
    for at in (words.data_page_offset + words.total_compressed_size - 1, len(data) - 6):
        part.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        assert part.name in refused("--sql", "SELECT sum(hash(*)) FROM states")
    part.write_bytes(data[:-1])
    assert "is cut short" in refused("--sql", "SELECT 1")
    part.write_bytes(data)

    other = write_spec(
        "other.toml", bounds={"brokers": 2, "log_length_max": 2, "records_max": 1, "leader_epoch_max": 1}
    )
    result = highwater("states", other, "--checkpoint", levels, "--sql", "SELECT 1")
    assert result.exit_code == 2
    assert "is a checkpoint of another search: bounds." in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--checkpoint", "file/levels"], "file/levels: cannot be written: Not a directory"),
        (["--checkpoint", "held"], "held: holds a search already; continue it with --resume, or name another folder"),
        (["--checkpoint", "nowhere", "--resume"], "nowhere: holds no levels of a search"),
        (["--master", "spark://nobody:7077"], "spark://nobody:7077 needs --checkpoint URI"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_before_spark_starts(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(on_spark, "session", lambda master: pytest.fail("Spark starts"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "manifest.json").touch()
    result = highwater("check", write_spec(), "--engine", "spark", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claim.toml", "file", "held"]
    assert [path.name for path in (tmp_path / "held").iterdir()] == ["manifest.json"]


def test_a_model_beside_a_script_goes_where_executors_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has put the script's folder first, where the driver finds the model without any help."""
    (tmp_path / "beside_a_script.py").touch()
    (tmp_path / "package_of_mine").mkdir()
    (tmp_path / "package_of_mine" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("beside_a_script:MODEL", "package_of_mine.models:MODEL"):
        assert str(tmp_path) in own.folders_of([name])
    assert (
        own.folders_of(["reference", "highwater.model.catalogue:MODEL", "numpy:MODEL", "nowhere:MODEL"])
        == own.folders()
    )


def test_a_model_travels_to_machines_that_do_not_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it imports from beside it; after an edit, the edited one."""
    beside = tmp_path / "beside"
    (beside / "travelled").mkdir(parents=True)
    (beside / "travelled" / "__init__.py").write_text("")
    (beside / "travelled" / "models.py").write_text("from travelled_steps import MODEL\n")
    (beside / "travelled_steps.py").write_text("import attrs\nMODEL = 'first'\n")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    monkeypatch.setattr(own, "_UNPACKED", {})
    name, path = "travelled.models:MODEL", list(sys.path)

    def sent() -> dict[str, bytes]:
        forget_models()
        with monkeypatch.context() as here:
            here.syspath_prepend(str(beside))
            return texts_of(own.modules_of_ones_own([name, "reference", "numpy:MODEL"]))

    def found(files: dict[str, bytes]) -> str:
        forget_models()
        own.unpack(files, [name])
        with own.trusting():
            return own.load(name, "model", str)

    first = sent()
    assert sorted(first) == ["travelled/__init__.py", "travelled/models.py", "travelled_steps.py"]
    assert found(first) == "first"
    (beside / "travelled_steps.py").write_text("MODEL = 'second one'\n")
    assert (found(sent()), found(first)) == ("second one", "first")
    forget_models()
    unpacked = [str(folder) for folder in own._UNPACKED.values()]
    assert [each in sys.path for each in unpacked] == [True, False]
    sys.path[:] = path


def test_a_machine_that_has_the_models_of_a_refinement_unpacks_none(
    make_spec: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its table has tables, which point into no module."""
    monkeypatch.setattr(own, "_UNPACKED", {})
    table = {"model": "reference", "map": "json:loads", "bounds": {"brokers": 2}, "protocol": {"variant": "kip-320"}}
    with pytest.raises(ModelError):  # of a map that is none
        on_spark.system_of("reference", {}, {}, ("weak_isr",), refines=table, files={"steps.py": b""})
    assert not own._UNPACKED


def test_a_model_of_a_notebook_itself_is_refused_with_what_to_do(make_spec: Callable[..., Any]) -> None:
    spec = make_spec()
    spec = attrs.evolve(spec, file=attrs.evolve(spec.file, model="__main__:MODEL"))
    with pytest.raises(
        SpecError, match=r"__main__:MODEL is in a notebook or program itself, .* write it into a module"
    ):
        on_spark.recipe(spec)


def test_the_line_for_spark_submit_works_in_any_folder(highwater: Callable[..., Result]) -> None:
    """So it names programs by whole paths, and leaves to `check` all that is its own."""
    mine = ["--conf", "spark.log.level=WARN", "--py-files", "a.whl", "claim.toml", "--max-depth", "3", "--json", "a b"]
    result = highwater("submit", "--master", "spark://host:7077", "--print", *mine)
    assert result.exit_code == 0
    program, *line = shlex.split(result.stdout)
    assert os.access(program, os.X_OK) and Path(program).is_absolute()
    submit = str(ROOT / "src" / "highwater" / "submit.py")
    assert line == [
        *("--master", "spark://host:7077", "--conf", "spark.log.level=WARN"),
        *("--conf", f"spark.pyspark.python={sys.executable}", "--py-files", "a.whl", submit),
        *("claim.toml", "--max-depth", "3", "--json", "a b"),
    ]


def test_spark_submit_runs_and_its_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\nexit 3\n')
    command = [sys.executable, "-m", "highwater", "submit", "--master", "yarn", "claim.toml"]

    def ran() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env={**os.environ, "SPARK_HOME": str(tmp_path)}, capture_output=True, text=True)

    refused = ran()
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"highwater: {program} is no program; set SPARK_HOME to the folder of a Spark, or leave it unset\n"
    )
    program.chmod(0o755)
    found = ran()
    assert (found.returncode, found.stderr) == (3, "")
    assert found.stdout.startswith("--master yarn --conf ") and found.stdout.endswith("submit.py claim.toml\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--master", "sc://host"], "sc://host is a Spark Connect server, whose clients have no RDDs"),
        (["--master", "mesos://host"], "mesos://host is no Spark master; allowed are local[N], spark://host:port"),
        (["--conf", "memory"], "--conf memory is no setting; it has the form KEY=VALUE"),
    ],
)
def test_what_spark_submit_cannot_take_is_refused(
    highwater: Callable[..., Result], arguments: list[str], words: str
) -> None:
    result = highwater("submit", *arguments, "--print", "claim.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_a_session_by_spark_connect_is_refused(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    result = highwater("check", write_spec(), "--engine", "spark")
    assert result.exit_code == 2
    assert "SPARK_REMOTE is sc://host, a Spark Connect server, whose clients have no RDDs" in result.stderr


def work_of(*levels: tuple[int, int, int]) -> list[LevelWork]:
    """Levels with their rows and tasks."""
    return [
        LevelWork(level=level, expanded=1, rows=rows, seconds=0.1, tasks=tasks, executors=min(tasks, 1))
        for level, rows, tasks in levels
    ]


@pytest.mark.parametrize(
    ("work", "line"),
    [
        (
            work_of((1, 2, 0), (2, 0, 0)),
            "explored by the driver up to level 1; no level was large enough for executors",
        ),
        (work_of((3, 2, 0), (4, 5, 0)), "explored by the driver from level 3 up to level 4; no level was large enough"),
        (
            work_of((3, 2, 0), (4, 5, 3)),
            "explored by the driver from level 3 up to level 3; 5 rows by 3 tasks on 1 exec",
        ),
        (work_of((8, 0, 0)), "no level after level 7"),
        (work_of((8, 0, 2)), "0 rows by 2 tasks on 1 executor"),
    ],
)
def test_a_line_says_which_levels_were_explored_where(work: list[LevelWork], line: str) -> None:
    """A last one without rows is none, and those before `--resume` were explored before."""
    assert work_line(work).startswith(f"spark  {line}")


def test_levels_that_are_not_there_yet_have_no_depth(tmp_path: Path) -> None:
    levels = Levels(str(tmp_path))
    levels.begin({})
    levels.release()
    assert on_spark.extent(str(tmp_path)) == "the search has not seen every state: there is no level yet"


@pytest.mark.slow
def test_a_lasso_on_spark_is_reported_as_by_the_local_engine(
    highwater: Callable[..., Result], tmp_path: Path, spark: Any
) -> None:
    spec = next(ROOT.glob("specs/**/a_follower_that_remembers_an_epoch_without_records_truncates_for_ever.toml"))
    reports = {engine: tmp_path / f"{engine}.json" for engine in ("local", "spark")}
    shown = {engine: highwater("check", spec, "--engine", engine, "--json", at) for engine, at in reports.items()}
    assert shown["local"].exit_code == shown["spark"].exit_code == 0
    assert "after 9 steps, then a cycle of 2 for ever (as claimed)" in shown["spark"].stdout
    entries = {engine: json.loads(at.read_text())["results"][0] for engine, at in reports.items()}
    differ = {key for key, value in entries["local"].items() if entries["spark"][key] != value}
    assert differ <= {"seconds", "compile_seconds", "compiled_paths", "memory_bytes", "work"}
    assert highwater("trace", reports["spark"], "--replay").exit_code == 0


@pytest.mark.slow
def test_executors_explore_models_of_ones_own(highwater: Callable[..., Result], tmp_path: Path, spark: Any) -> None:
    assert highwater("init", tmp_path).exit_code == 0
    spec = tmp_path / "specs" / "fencing_keeps_late_writers_out.toml"
    options = ["--model-path", tmp_path, "--rows-worth-a-job", 40, "--json", tmp_path / "found"]
    result = highwater("check", spec, "--engine", "spark", *options)
    assert result.exit_code == 0
    del sys.modules["lock_service"]
    assert "831 distinct" in result.stdout
    assert re.search(
        r"spark  explored by the driver up to level \d+; \d+ rows by \d+ tasks on 1 executor", result.stdout
    )
    data = json.loads((tmp_path / "found").read_text())
    jsonschema.validate(data, json.loads((ROOT / "tests" / "highwater" / "results.schema.json").read_text()))
    assert "on 1 executor; shuffled " in search_page(data["results"][0])


def test_an_executor_without_a_model_of_ones_own_names_the_missing_module() -> None:
    with pytest.raises(
        ModelError, match=r"there is no module nowhere; install it where executors run, or send it with spark-submit"
    ):
        on_spark.system_of("nowhere:MODEL", {}, {}, ())


def test_the_states_of_a_small_spec_can_be_asked_without_a_checkpoint(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], spark: Any
) -> None:
    result = highwater("states", write_spec(), "--sql", "SELECT count(*) AS n FROM states WHERE depth = 1")
    assert result.exit_code == 0
    assert int(result.stdout.split()[-1]) >= 1


@pytest.mark.slow
def test_the_states_of_a_claim_by_order_are_those_of_the_local_table(
    highwater: Callable[..., Result], write_spec: Callable[..., Path], spark: Any
) -> None:
    bounds = {"brokers": 2, "replication_factor": 2, "leader_epoch_max": 2, "partition_epoch_max": 3, "elections": 1}
    keys = {"model": "kraft", "preset": "kafka-4.3", "protocol": {}, "bounds": bounds, "by_order": ["leader_epochs"]}
    spec = write_spec(**keys, check=["leaders_are_in_the_isr"])
    query = "SELECT sum(orbit), sum(partitions[0].leader_epoch) FROM states"
    result = highwater("states", spec, "--sql", query)
    here = table_of(load_spec(spec), 10_000, symmetry=True).to_pylist()
    epochs = sum(row["partitions"][0]["leader_epoch"] for row in here)
    assert result.stdout.split()[-2:] == [f"{sum(row['orbit'] for row in here):,}", f"{epochs:,}"]


def test_the_help_of_states_shows_a_query(highwater: Callable[..., Result]) -> None:
    assert "SELECT depth, sum(orbit) FROM states" in highwater("states", "--help").output
