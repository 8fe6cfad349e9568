"""Models and properties of one's own: where they are looked for, and the errors for wrong ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from highwater import SpecError, Status, Verdict, api
from highwater.claims import own
from highwater.claims.on_spark import recipe
from highwater.claims.positions import line_of_key
from highwater.claims.spec import load_spec
from highwater.cli.init import SCAFFOLD, scaffold_files, write_scaffold
from highwater.explorer.search.levels import breadth_first
from highwater.model.language.declarations import Witness, invariant
from highwater.model.language.graph_properties import prospect
from highwater.model.reference.controlling import write
from highwater.model.reference.state import brokers

Run = Callable[..., Result]
ROOT = Path(__file__).parents[2]
QUICK = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A scaffolded model."""
    write_scaffold(tmp_path / "lock")
    return tmp_path / "lock"


# --- init


def test_the_scaffold_is_written_once_and_its_claims_come_out(highwater: Run, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    assert highwater("init", folder).exit_code == 0
    assert {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} == set(scaffold_files())
    result = highwater("check", folder / "specs", "--model-path", folder)
    assert result.exit_code == 0, result.output
    assert "2 claims: 2 met" in result.stdout
    again = highwater("init", folder)
    assert again.exit_code == 2
    assert "there already; nothing was written" in again.stderr


def test_init_does_not_write_into_a_file(highwater: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = highwater("init", tmp_path / "file" / "mine")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_a_trace_of_ones_own_model_replays(highwater: Run, lock: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    highwater("check", lock / "specs", "--model-path", lock, "--json", report)
    result = highwater("trace", report, "--model-path", lock)
    assert result.exit_code == 0
    assert "writes_never_go_back is false: the last write came with token 1, after one with token 2" in result.stdout


# --- where modules come from


def test_the_current_folder_is_not_searched_unless_it_is_named(
    highwater: Run, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lock)
    result = highwater("check", "specs")
    assert result.exit_code == 2
    assert (
        "model: there is no module lock_service; the current folder is searched only with --model-path ."
        in result.stderr
    )
    assert highwater("check", "specs", "--model-path", ".").exit_code == 0


def test_python_m_does_not_bring_the_current_folder_in_unless_it_is_named(lock: Path) -> None:
    command = [sys.executable, "-m", "highwater.cli.main", "check", "specs"]
    ran = subprocess.run(command, cwd=lock, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "there is no module lock_service" in ran.stderr
    named = subprocess.run([*command, "--model-path", "."], cwd=lock, capture_output=True, text=True, check=False)
    assert named.returncode == 0, named.stderr


def test_a_module_beside_the_spec_needs_no_option(highwater: Run, lock: Path) -> None:
    spec = lock / "claim.toml"
    (lock / "specs" / "fencing_keeps_late_writers_out.toml").rename(spec)
    assert highwater("check", spec).exit_code == 0


def test_a_module_beside_the_spec_is_found_for_the_page_of_its_counterexample(
    highwater: Run, lock: Path, tmp_path: Path
) -> None:
    spec = lock / "claim.toml"
    (path,) = (each for each in (lock / "specs").iterdir() if "violated" in each.read_text(encoding="utf-8"))
    path.rename(spec)
    result = highwater("check", spec, "--html", tmp_path / "pages")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "lock_service" in (tmp_path / "pages" / "claim.html").read_text(encoding="utf-8")
    found = api.check(spec).trace
    assert found is not None
    assert "lock_service" in found.to_html()


def test_a_model_beside_one_spec_does_not_serve_another(highwater: Run, lock: Path, tmp_path: Path) -> None:
    spec = lock / "claim.toml"
    (lock / "specs" / "fencing_keeps_late_writers_out.toml").rename(spec)
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "claim.toml"
    other.write_bytes(spec.read_bytes())
    result = highwater("check", spec, other)
    assert result.exit_code == 2
    assert (
        f"{other}:2:1: model: lock_service ({lock / 'lock_service.py'}) is neither beside the spec nor below"
        " a --model-path" in result.stderr
    )
    (other.parent / "lock_service.py").write_text("", encoding="utf-8")
    result = highwater("check", spec, other)
    theirs, ours = lock / "lock_service.py", other.parent / "lock_service.py"
    assert f"Python imports lock_service from {theirs}, which hides {ours}; rename the latter" in result.stderr


def test_what_a_model_imports_from_beside_it_is_not_replaced_by_that_of_another(
    highwater: Run, lock: Path, tmp_path: Path
) -> None:
    """Each of two models has a module `sizes`. The second claim was judged by the sizes of the first."""
    spec = next(lock.glob("specs/fencing*")).read_text(encoding="utf-8")
    model = (lock / "lock_service.py").read_text(encoding="utf-8")
    claims = []
    for name, most in (("here", 1), ("there", 2)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "sizes.py").write_text(f"MOST = {most}\n", encoding="utf-8")
        (folder / f"helper_{name}.py").write_text("from sizes import MOST\n", encoding="utf-8")
        (folder / f"lock_{name}.py").write_text(f"{model}\nfrom helper_{name} import MOST\n", encoding="utf-8")
        claims.append(folder / "claim.toml")
        claims[-1].write_text(spec.replace("lock_service:", f"lock_{name}:"), encoding="utf-8")
    assert highwater("check", claims[0]).exit_code == 0
    result = highwater("check", *claims)
    theirs, ours = (claim.with_name("sizes.py") for claim in claims)
    assert result.exit_code == 2
    assert f"model: Python imports sizes from {theirs}, which hides {ours}; rename the latter" in result.stderr


def test_a_model_beside_a_spec_is_not_replaced_by_one_of_a_folder(
    highwater: Run, lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where the folder is named, nor where executors have found a model that lies beside another spec."""
    theirs, ours = lock / "claim.toml", tmp_path / "elsewhere" / "claim.toml"
    ours.parent.mkdir()
    (lock / "specs" / "fencing_keeps_late_writers_out.toml").rename(theirs)
    for each in (theirs, lock / "lock_service.py"):
        (ours.parent / each.name).write_bytes(each.read_bytes())
    message = f"Python imports lock_service from {lock / 'lock_service.py'}, which hides"
    assert message in highwater("check", ours, "--model-path", lock).stderr
    monkeypatch.setattr(own, "_FOLDERS", {})
    recipe(load_spec(theirs))()
    with pytest.raises(SpecError, match=re.escape(message)):
        load_spec(ours)


EXECUTE = [
    "antigravity:fly",
    "pyspark.shell:spark",
    "venv.__main__:X",
    "this:s",
    "__hello__:main",
    "os:system",
    "sys:exit",
]
EXECUTE += ["planted:MODEL", "planted.inside:MODEL"]


@pytest.mark.parametrize("key", ["model", "check"])
@pytest.mark.parametrize("command", ["check", "trace"])
def test_a_spec_or_a_report_alone_imports_nothing_that_happens_to_be_there(
    tmp_path: Path, as_toml: Callable[[dict[str, object]], str], command: str, key: str
) -> None:
    """Neither the interpreter's own modules nor installed ones, not even where these lie below the folder that is
    named.
    """
    installed = tmp_path / "venv" / "site-packages"
    (installed / "planted").mkdir(parents=True)
    (installed / "planted" / "__init__.py").write_text("print('executed')", encoding="utf-8")
    (installed / "planted" / "inside.py").write_text("", encoding="utf-8")
    good = {"model": "reference", "protocol": {"variant": "kip-320"}, "bounds": QUICK, "check": ["weak_isr"]}
    files = []
    for number, value in enumerate(EXECUTE if key == "model" else [EXECUTE]):
        claim = {**good, key: value}
        if command == "check":
            files.append(tmp_path / f"claim{number}.toml")
            files[-1].write_text(as_toml(claim), encoding="utf-8")
        elif not number or "planted" in value:  # the first entry that is wrong ends the command
            entry = {**claim, "name": "claim", "trace": [{}]}
            files = [tmp_path / "report.json"]
            files[0].write_text(
                json.dumps({"format": "highwater-results", "version": 1, "results": [entry]}), encoding="utf-8"
            )
    code = (
        "import sys\nfrom highwater.cli.main import main\n"
        "try: main()\n"
        "finally: print(sorted({name for name in sys.modules if name.partition('.')[0] in "
        "('antigravity', 'pyspark', 'venv', 'this', '__hello__', 'planted')}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, command, *map(str, files), "--model-path", tmp_path],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "[]\n"), ran.stderr
    told = ran.stderr.splitlines()
    assert len(told) == (len(EXECUTE) if command == "check" or key == "check" else 1)
    assert all('declare it by an entry point of the group "highwater.models"' in line for line in told)
    if len(told) > 1:
        assert [line.partition(f"{key}: ")[2].partition(" (")[0] for line in told] == [
            name.partition(":")[0] for name in EXECUTE
        ]


@pytest.mark.parametrize("declared", ["lock_models = planted", "fencing = planted.inside:MODEL"])
def test_a_distribution_offers_its_modules_by_an_entry_point(lock: Path, tmp_path: Path, declared: str) -> None:
    site = tmp_path / "site"
    (site / "planted").mkdir(parents=True)
    (site / "planted" / "__init__.py").write_text("", encoding="utf-8")
    (lock / "lock_service.py").rename(site / "planted" / "inside.py")
    information = site / "planted-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n", encoding="utf-8")
    spec = lock / "specs" / "fencing_keeps_late_writers_out.toml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("lock_service:", "planted.inside:"), encoding="utf-8")
    command = [sys.executable, "-m", "highwater", "check", str(spec)]

    def run() -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert run().returncode == 2
    (information / "entry_points.txt").write_text(f"[highwater.models]\n{declared}\n", encoding="utf-8")
    ran = run()
    assert ran.returncode == 0, ran.stderr


def test_models_sent_along_by_spark_submit_may_be_named(
    highwater: Run, lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from highwater.submit import sent_along

    sent = tmp_path / "sent"
    sent.mkdir()
    (lock / "lock_service.py").rename(sent / "lock_service.py")
    path = ["", str(sent), "/opt/spark/python/lib/pyspark.zip", "/opt/spark/python/lib/py4j-src.zip", str(tmp_path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    assert sent_along() == [sent]
    own._FOLDERS.clear()
    monkeypatch.syspath_prepend(str(sent))
    spec = lock / "specs" / "fencing_keeps_late_writers_out.toml"
    assert highwater("check", spec).exit_code == 2
    own.offer(sent_along())
    assert highwater("check", spec).exit_code == 0
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert sent_along() == []


def test_a_folder_of_ones_own_comes_after_what_is_installed(highwater: Run, lock: Path) -> None:
    (lock / "attrs.py").write_text("raise RuntimeError('this is not attrs')", encoding="utf-8")
    assert highwater("check", lock / "specs", "--model-path", lock).exit_code == 0


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("nowhere:MODEL", "there is no module nowhere; name its folder with --model-path"),
        ("nowhere.at.all:MODEL", "there is no module nowhere"),
        ("lock_service:MODLE", 'lock_service has no MODLE (did you mean "MODEL"?); allowed are MODEL'),
        ("lock_service:Bounds", "Bounds in lock_service is a type, no Model; allowed are MODEL"),
        ("lock_service:", 'is not of the form "package.module:NAME"'),
        ("lock service:MODEL", 'is not of the form "package.module:NAME"'),
        ("lock_service:MODEL:x", 'is not of the form "package.module:NAME"'),
        ("broken:MODEL", "broken cannot be imported: ZeroDivisionError: division by zero at "),
        ("needy:MODEL", "needy cannot be imported: No module named 'no_such_library'"),
        ("empty:MODEL", "empty has no MODEL; there is no Model in "),
        ("defineless:MODEL", "defineless cannot be defined: KeyError: 'x' at "),
    ],
)
def test_a_model_that_is_wrong_is_reported_with_file_and_key(
    highwater: Run, lock: Path, model: str, words: str
) -> None:
    (lock / "broken.py").write_text("MODEL = 1 / 0\n", encoding="utf-8")
    (lock / "needy.py").write_text("import no_such_library\n", encoding="utf-8")
    (lock / "empty.py").write_text("", encoding="utf-8")
    text = """
from highwater.model.language.definition import Model, NoToggles
MODEL = Model('defineless', '', NoToggles, lambda protocol: {}['x'])
"""
    (lock / "defineless.py").write_text(text, encoding="utf-8")
    spec = lock / "claim.toml"
    spec.write_text(f'model = "{model}"\nbounds = {{}}\ncheck = ["x"]\n', encoding="utf-8")
    result = highwater("check", spec, "--model-path", lock)
    assert result.exit_code == 2
    assert re.search(rf"{spec}:1:[19]: model: ", result.stderr)
    assert words in result.stderr


EXIT = "    raise SystemExit(0)"
FAULTS = {
    "exits when it is imported": (
        "@invariant()",
        f"if True:\n{EXIT}\n@invariant()",
        "cannot be imported: SystemExit: 0 at ",
    ),
    "has a syntax error": ("def initial_states", "def initial states", "cannot be imported: SyntaxError: "),
    "exits when it is defined": (
        "    return Definition(",
        f"{EXIT}\n    return Definition(",
        "cannot be defined: SystemExit: 0 at ",
    ),
    "has no initial state": (
        "    return [World(",
        "    raise KeyError(7)\n    return [World(",
        "the model raised KeyError: 7",
    ),
    "has no domain": (
        "Integers(0, bounds.token_max",
        "Integers(0, bounds.nothing",
        "the model raised AttributeError: ",
    ),
    "misnames a bound": ("range(bounds.clients)", "range(bounds.nothing)", "the model raised AttributeError: "),
    "raises what is no Exception": (
        "    token = world.granted + 1",
        "    raise GeneratorExit(7)",
        "the model raised GeneratorExit: 7; at ",
    ),
    "exits in an action": ("    token = world.granted + 1", EXIT, "acquire(client c0) raised SystemExit: 0"),
    "exits in a property": (
        "    return world.last",
        f"{EXIT}\n    return world.last",
        "writes_never_go_back() raised SystemExit: 0",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_a_model_raises_is_reported_with_its_line_by_every_command(
    highwater: Run, lock: Path, fault: str
) -> None:
    """Never a traceback, and never the exit code of a claim that was met."""
    before, after, words = FAULTS[fault]
    source = lock / "lock_service.py"
    source.write_text(source.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    spec = lock / "specs" / "fencing_keeps_late_writers_out.toml"
    for command in (("check",), ("check", "--engine", "python"), ("simulate",), ("graph",), ("mutate",)):
        result = highwater(command[0], spec, *command[1:], "--model-path", lock)
        assert (result.exit_code, result.stdout) == (2, ""), command
        (said,) = result.stderr.splitlines()
        assert words in said
        assert f"at {source}:" in said


def test_a_field_that_the_constructor_does_not_take_is_refused(highwater: Run, lock: Path) -> None:
    source = lock / "lock_service.py"
    hidden = "newest: int = attrs.field(init=False, default=0, metadata={'domain': tokens})"
    text = source.read_text(encoding="utf-8").replace("newest: int = within(tokens)", hidden)
    source.write_text(text, encoding="utf-8")
    line = 1 + text[: text.index("newest: int = attrs")].count("\n")
    spec = lock / "specs" / "fencing_keeps_late_writers_out.toml"
    for command in (("check",), ("check", "--engine", "python"), ("simulate",), ("graph",), ("mutate",)):
        result = highwater(command[0], spec, *command[1:], "--model-path", lock)
        assert (result.exit_code, result.stdout) == (2, ""), command
        assert result.stderr.splitlines() == [
            f"highwater: {spec}: World.newest has init=False: a record of a state is made from all its fields; make it "
            f"a property instead ({source}:{line})"
        ]


def test_an_error_of_the_checker_is_not_blamed_on_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it would be told if the checker's own code failed while a model is explored."""
    monkeypatch.setattr(breadth_first, "violations_in", None)
    keys = {"model": "reference", "protocol": {"variant": "kip-320"}, "bounds": QUICK}
    with pytest.raises(TypeError):
        api.check(api.claim(check=["weak_isr"], **keys))


def test_a_folder_that_does_not_exist_is_reported(highwater: Run, lock: Path) -> None:
    result = highwater("check", lock / "specs", "--model-path", lock / "no")
    assert result.exit_code == 2
    assert "--model-path needs a folder that exists" in result.stderr


# --- properties of one's own, over a shipped model


@invariant(broker=brokers)
def logs_are_empty(cluster: object, broker: int) -> bool | Witness:
    """A property that does not hold."""
    return not cluster.replicas[broker].log or Witness("b{broker} has a record", broker=broker)


def test_a_spec_may_name_a_property_in_a_module(
    highwater: Run, tmp_path: Path, write_spec: Callable[..., Path]
) -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    (tmp_path / "my_properties.py").write_text(
        "from highwater.model.language.declarations import Witness, invariant\n"
        "from highwater.model.reference.state import brokers\n\n"
        + source[source.index("\n@invariant") : source.index("def test_a_spec_may_name")],
        encoding="utf-8",
    )
    keys = {"check": ["weak_isr", "my_properties:logs_are_empty"]}
    path = write_spec(**keys, expect={"verdict": "violated", "property": "logs_are_empty", "trace_length": 3})
    result = highwater("check", path, "--model-path", tmp_path)
    assert result.exit_code == 0, result.output
    assert "logs_are_empty is false: b0 has a record" in result.stdout
    assert highwater("check", write_spec(check=["my_properties:nothing"]), "--model-path", tmp_path).exit_code == 2


@prospect(along=[write], leader=brokers)
def can_write(cluster: object, leader: int) -> bool:
    """A prospect that is lost at once: nobody is elected along writes."""
    return len(cluster.replicas[leader].log) > 0


def test_a_prospect_of_ones_own_can_be_named_and_given(
    highwater: Run, tmp_path: Path, write_spec: Callable[..., Path]
) -> None:
    (tmp_path / "my_prospects.py").write_text(
        "from highwater.model.language.graph_properties import prospect\n"
        "from highwater.model.reference.controlling import write\n"
        "from highwater.model.reference.state import brokers\n\n\n"
        "@prospect(along=[write], leader=brokers)\n"
        "def can_write(cluster, leader):\n    return len(cluster.replicas[leader].log) > 0\n",
        encoding="utf-8",
    )
    path = write_spec(
        check=["my_prospects:can_write"], expect={"verdict": "violated", "property": "can_write", "trace_length": 0}
    )
    result = highwater("check", path, "--model-path", tmp_path)
    assert result.exit_code == 0, result.output
    keys = {"model": "reference", "protocol": {"variant": "kip-320"}, "bounds": QUICK}
    assert api.check(api.claim(check=[can_write], **keys)).outcome.violations[0].property == "can_write"


def test_two_properties_that_one_function_makes_are_refused() -> None:
    """The second one would take the place of the first."""

    def below(limit: int) -> Any:
        @invariant()
        def is_below(cluster: Any) -> bool:
            return cluster.next_record_id < limit

        return is_below

    with pytest.raises(SpecError, match="check: 2 different properties are named is_below"):
        api.claim(model="reference", protocol={"variant": "kip-320"}, bounds=QUICK, check=[below(1), below(9)])
    one = below(9)
    api.claim(model="reference", protocol={"variant": "kip-320"}, bounds=QUICK, check=[one, one])


def test_two_properties_of_one_name_are_refused() -> None:
    @invariant()
    def weak_isr(cluster: object) -> bool:
        return True

    with pytest.raises(SpecError, match="2 different properties are named weak_isr"):
        api.claim(model="reference", protocol={"variant": "kip-320"}, bounds=QUICK, check=["weak_isr", weak_isr])


# --- from Python


def test_check_takes_a_file_or_a_claim(root: Path) -> None:
    path = root / "specs" / "fencing" / "kip_320_keeps_committed_records_on_two_brokers.toml"
    result = api.check(str(path))
    assert (result.ok, result.verdict, result.outcome.distinct_states) == (True, Verdict.HOLDS, 957)
    keys = {"model": "reference", "protocol": {"variant": "kip-320"}, "bounds": QUICK}
    violated = api.check(api.claim(check=[logs_are_empty], **keys))
    assert violated.status is Status.UNMET
    assert violated.violation is not None
    assert violated.violation.witness == "b0 has a record"
    assert api.check(api.claim(check=["weak_isr"], **keys), max_states=5).status is Status.UNDECIDED
    assert api.check(api.claim(check=["weak_isr"], **keys), engine="python").outcome.distinct_states == 277


def test_check_all_takes_folders(root: Path) -> None:
    results = api.check_all(root / "specs" / "elections", workers=1)
    assert [result.ok for result in results] == [True, True]


def test_a_wrong_claim_is_refused_with_its_key() -> None:
    with pytest.raises(SpecError, match=r"claim: bounds\.brokers: 0 is out of range"):
        api.claim(
            model="reference", protocol={"variant": "kip-320"}, bounds={**QUICK, "brokers": 0}, check=["weak_isr"]
        )
    with pytest.raises(SpecError, match="no such file"):
        api.check_all("nowhere.toml")


def test_the_scaffold_is_what_the_readme_of_the_scaffold_lists() -> None:
    text = (SCAFFOLD / "README.md").read_text(encoding="utf-8")
    for path in scaffold_files():
        assert path.name in ("README.md", "pytest.ini") or path.name in text or path.parent.name in text
    assert line_of_key(SCAFFOLD / "specs" / "fencing_keeps_late_writers_out.toml", "model") == 2


def test_a_report_whose_model_lies_beside_its_spec_names_that_folder(highwater: Run, tmp_path: Path) -> None:
    """A report must not decide which code is executed."""
    folder = tmp_path / "a b"
    write_scaffold(folder)
    spec = next(folder.joinpath("specs").glob("without*.toml")).rename(folder / "late.toml")
    report = tmp_path / "report.json"
    assert highwater("check", spec, "--json", report).exit_code == 0
    done = highwater("trace", report)
    assert done.exit_code == 2
    assert f"; it lies beside the spec: --model-path '{folder}'" in done.stderr
    assert highwater("trace", report, "--model-path", folder).exit_code == 0
