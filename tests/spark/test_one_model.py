"""Executors explore the model that the driver has imported, or refuse to, whatever they have imported before and
whatever becomes of its files.
"""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from highwater.claims import own
from highwater.claims.on_spark import system_of
from highwater.explorer.blame import ModelError
from highwater.explorer.search.keeping.fingerprint import ENGINE
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.verdict import Verdict
from highwater.spark.driver import explore as driver
from highwater.spark.driver.explore import explore
from highwater.spark.worker.tasks import OF_TASKS, versions

STEPS = "def ahead(number):\n    return number + 1 if number != 7 else 8\n"
MODEL = """
import os
import attrs
from highwater.model.language.declarations import action, invariant
from highwater.model.language.definition import Definition, Model, NoToggles
from highwater.model.language.domain import Integers
from highwater.model.language.records import bound, evolve, within
from NAME_steps import ahead

RULE = os.environ.get("HIGHWATER_TEST_RULE", "good")

@attrs.frozen
class Sizes:
    most: int = bound(1, 100, "the largest number", 30)

@attrs.frozen
class Counter:
    number: int = within(lambda sizes: Integers(0, sizes.most))
    bad: bool = within(bool)

@action(actor="counter")
def grow(state):
    return evolve(state, number=ahead(state.number), bad=state.bad or (RULE == "bad" and state.number == 5))

@invariant()
def never_bad(state):
    return not state.bad and state.number != 29

COUNTER = Model("counter", "Counts.", NoToggles, lambda protocol: Definition(
    Sizes, Counter, lambda sizes: [Counter(0, False)], (grow,), properties=(never_bad,)))
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """A model in files of names that no test before had, and how to make its system anywhere."""
    monkeypatch.setattr("highwater.spark.driver.explore.ROWS_WORTH_A_JOB", 0)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"counts_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODEL.replace("NAME", name), encoding="utf-8")
    (tmp_path / f"{name}_steps.py").write_text(STEPS, encoding="utf-8")
    yield functools.partial(system_of, f"{name}:COUNTER", {}, {}, ("never_bad",), (str(tmp_path),))
    own._FOLDERS.pop(str(tmp_path), None)


def steps_of(model: Any) -> Path:
    return Path(model.args[4][0]) / f"{model.args[0].partition(':')[0]}_steps.py"


def edit(model: Any, before: str, after: str) -> None:
    """A change of one letter, so that no line moves and no size changes."""
    file = steps_of(model)
    text = file.read_text(encoding="utf-8")
    assert before in text and len(before) == len(after)
    file.write_text(text.replace(before, after), encoding="utf-8")
    os.utime(file, (1e9, 1e9 + len(text) + int(after[-1])))  # or Python may take its compiled form for current


def reload(model: Any) -> None:
    name = model.args[0].partition(":")[0]
    for each in (f"{name}_steps", name):
        importlib.reload(sys.modules[each])


def verdicts(spark: Any, model: Any) -> tuple[Verdict, Verdict]:
    return explore(model, spark=spark, partitions=2).verdict, breadth_first.explore(model()).verdict


def test_after_an_edit_and_a_reload_executors_explore_the_edited_model(spark: Any, model: Any) -> None:
    """They have imported the module of before, which lacks a property, and Spark uses their processes again."""
    assert verdicts(spark, model) == (Verdict.VIOLATED, Verdict.VIOLATED)
    edit(model, "!= 7 else 8", "!= 7 else 7")
    reload(model)
    assert verdicts(spark, model) == (Verdict.HOLDS, Verdict.HOLDS)
    edit(model, "else 7", "else 9")
    named, *others, _, folders = model.args
    name = named.partition(":")[0]
    with (Path(folders[0]) / f"{name}.py").open("a", encoding="utf-8") as file:
        file.write("\n@invariant()\ndef never_nine(state):\n    return state.number != 9\n")
    reload(model)
    edited = functools.partial(system_of, named, *others, (f"{name}:never_nine",), folders)
    assert verdicts(spark, edited) == (Verdict.VIOLATED, Verdict.VIOLATED)


def test_after_an_edit_without_a_reload_executors_refuse(spark: Any, model: Any) -> None:
    model()
    edit(model, "!= 7 else 8", "!= 7 else 7")
    with pytest.raises(
        ModelError, match="another version of highwater or of the model than the driver: the action grow"
    ):
        explore(model, spark=spark, partitions=2)


def test_an_edit_while_the_driver_explores_is_noticed(spark: Any, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = driver.Levels.begin

    def edited(levels: Any, header: Any) -> Any:
        edit(model, "!= 7 else 8", "!= 7 else 7")
        return begin(levels, header)

    monkeypatch.setattr(driver.Levels, "begin", edited)
    with pytest.raises(ModelError, match="another version of highwater or of the model than the driver: the module "):
        explore(model, spark=spark, partitions=2)


def test_executors_with_another_environment_are_refused(
    spark: Any, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIGHWATER_TEST_RULE", "bad")
    with pytest.raises(ModelError, match=r"the constant counts_\d+.RULE is 'bad' there and 'good' here"):
        explore(model, spark=spark, partitions=2)


def test_executors_with_other_code_than_the_driver_are_refused(
    spark: Any, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever of Highwater a task imports."""
    monkeypatch.setattr("highwater.spark.worker.tasks.tasks_code", lambda: "another")
    with pytest.raises(ModelError, match="than the driver: the code on executors of Highwater differs"):
        explore(model, spark=spark, partitions=2)


TASKS = """
import sys
from pathlib import Path
import highwater.spark.worker.graph
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.sources import HOUSE
from highwater.claims.on_spark import system_of
bounds = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}
engine = PartitionWorker(system_of("reference", {"variant": "kip-320"}, bounds, ("weak_isr",)), symmetry=True)
highwater.spark.worker.tasks.prints_of(engine, {})
rows = engine.representative_rows(engine.system.initial)
engine.columns_of(rows), engine.violated(rows, ()), [*engine.expand(rows, 2)], engine.take_trees({})
files = [(name, getattr(module, "__file__", None)) for name, module in sys.modules.items()]
for name, file in files:
    if file and Path(file).is_relative_to(HOUSE) and ".venv" not in file:
        print(name if file.endswith("__init__.py") else name.rpartition(".")[0])
"""


MODELS = (["invariants"], ["model"])


def test_all_of_highwater_that_a_task_imports_counts() -> None:
    """But for models and properties, which are described one by one."""
    ran = subprocess.run([sys.executable, "-c", TASKS], capture_output=True, text=True, check=True)
    packages = {name for name in ran.stdout.split() if name.split(".")[1:2] not in MODELS}
    assert {"highwater.explorer.partitioned", "highwater.spark.worker"} <= packages
    assert {name for name in packages if not name.startswith(ENGINE)} <= {*OF_TASKS}


@pytest.mark.parametrize("name", ["numpy", "pyarrow", "numba", "llvmlite"])
def test_executors_with_another_version_of_what_the_engine_is_built_on_are_refused(
    spark: Any, model: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("highwater.spark.driver.cluster.versions", lambda: versions() | {name: "1.0"})
    with pytest.raises(ModelError, match=rf"executor .* has {name} .*, and the driver .*{name} 1\.0.*: install"):
        explore(model, spark=spark, partitions=2)


def test_an_indescribable_model_is_not_sent_to_executors(spark: Any, model: Any) -> None:
    steps = steps_of(model)
    steps.write_text(
        STEPS + "import itertools\nNUMBERS = itertools.count()\nahead.numbers = NUMBERS\n", encoding="utf-8"
    )
    with pytest.raises(ModelError, match="`grow` reaches `ahead`, which has `numbers`, a count; use --engine local"):
        explore(model, spark=spark, partitions=2)
