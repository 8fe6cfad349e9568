"""How commands end: with the documented exit codes, whatever happens, and never with a report that looks like
success.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import jsonschema
import pytest
import xmlschema
from click.testing import CliRunner, Result

from highwater.claims.checking import check_spec
from highwater.claims.spec import load_spec
from highwater.cli.init import write_scaffold
from highwater.cli.main import main
from highwater.cli.outputs import Outputs
from highwater.distribution import LIBRARIES
from highwater.explorer import trace
from highwater.explorer.verdict import Budget

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "schemas"
LARGE = {"brokers": 3, "log_length_max": 2, "records_max": 3, "leader_epoch_max": 3}
PATIENCE = 600.0  # seconds until something counts as hanging

Write = Callable[..., Path]
Run = Callable[..., Result]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "PYTHONUNBUFFERED")}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), **more}


def run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "highwater", *map(str, arguments)]
    options = {"env": environment(), "stdout": subprocess.PIPE, **options}
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False, **options)


def one_line(text: str) -> str:
    lines = text.splitlines()
    assert len(lines) == 1, text
    return lines[0]


# --- defects of our own


@pytest.fixture(autouse=True)
def tracebacks_are_kept_among_the_files_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture
def report(highwater: Run, write_spec: Write, tmp_path: Path) -> Path:
    """A report with a trace."""
    path = tmp_path / "report.json"
    highwater(
        "check", write_spec("violated.toml", check=["leader_in_isr"], expect={"verdict": "violated"}), "--json", path
    )
    return path


def failing(
    message: str, otherwise: Callable[..., Any] | None = None, file: str | Path = str(trace.__file__)
) -> Callable[..., Any]:
    """A function that raises, and stands in a file of Highwater's own, unless another is named; of specs named `first`
    it does what it should, if that is given.
    """
    code = (
        "def fail(*arguments, **options):\n"
        "    if otherwise and arguments[0].name == 'first': return otherwise(*arguments, **options)\n"
        "    raise IndexError(message)\n"
    )
    names = {"otherwise": otherwise, "message": message}
    exec(compile(code, str(file), "exec"), names)
    return names["fail"]


COMMANDS = {
    "check": ("highwater.cli.run.check_spec", ["check", "SPEC"]),
    "list": ("highwater.reports.listing.show_models", ["list", "models"]),
    "mutate": ("highwater.claims.mutation.mutations_of", ["mutate", "SPEC"]),
    "follow": ("highwater.claims.spec.load_spec", ["follow", "SPEC", "SPEC"]),
    "graph": ("highwater.explorer.analysis.graph.shape", ["graph", "SPEC"]),
    "simulate": ("highwater.claims.simulation.simulate_spec", ["simulate", "SPEC"]),
    "states": ("highwater.claims.on_spark.session", ["states", "SPEC"]),
    "trace": ("highwater.reports.replaying.replay", ["trace", "--replay", "REPORT"]),
    "init": ("highwater.cli.init.write_scaffold", ["init", "FOLDER"]),
    "explore": ("highwater.exploring.opening.open_path", ["explore", "SPEC"]),
    "conform": ("highwater.claims.spec.load_spec", ["conform", "SPEC", "--kafka", "FOLDER"]),
    "repair": ("highwater.claims.spec.load_spec", ["repair", "SPEC"]),
    "reproduce": ("highwater.reports.replaying.only_entry", ["reproduce", "REPORT", "--kafka", "FOLDER"]),
    "walk": ("highwater.cli.outputs.try_out", ["walk", "controller", "--kafka", "FOLDER"]),
    "explain": ("highwater.cli.outputs.try_out", ["explain", "HERE", "--kafka", "FOLDER"]),
    "ask": ("highwater.asking.answering.answer", ["ask", "broker-away"]),
    "mcp": ("highwater.assistants.place.folders_below", ["mcp"]),
    "submit": ("highwater.claims.submitting.command", ["submit", "--print", "SPEC"]),
    "verify": ("highwater.claims.certifying.verify_certificate", ["verify", "SPEC"]),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_internal_error_exits_70_with_one_line_and_keeps_its_traceback(
    highwater: Run, write_spec: Write, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    broken, words = COMMANDS[command]
    monkeypatch.setattr(broken, failing("a fault\nof our own"))
    places = {"SPEC": write_spec(), "REPORT": report, "FOLDER": tmp_path / "new", "HERE": tmp_path}
    result = highwater(*(places.get(word, word) for word in words), may_fail=True)
    assert result.exit_code == 70
    line = one_line(result.stderr)
    assert line.startswith("highwater: internal error: IndexError: a fault of our own at trace.py:3: ")
    assert "this is a defect of Highwater, not of your model or spec; please open an issue with " in line
    kept = Path(line.split("please open an issue with ")[1].removesuffix(", which holds the traceback"))
    text = kept.read_text(encoding="utf-8")
    assert "Traceback (most recent call last)" in text
    assert "of our own" in text
    assert text.startswith("highwater ")
    assert kept.stat().st_mode & 0o077 == 0


FOLDERS = re.findall(
    r"^\| `(?:src/)?(\w+)/` \| [^|]+ \| [^|]+ \|$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.mark.parametrize("where", [*FOLDERS, "model.language", *sorted(LIBRARIES | {"numba", "attr"}), "a user's"])
def test_a_fault_of_a_folder_or_library_of_ours_exits_70_and_one_of_a_model_2(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Wherever the code stands that fails while a model is explored."""
    if where == "a user's":
        (file := tmp_path / "model.py").touch()
    else:
        name = where if where in {*LIBRARIES, "numba", "attr", "highwater"} else f"highwater.{where}"
        file = Path(str(pytest.importorskip(name).__file__))
    monkeypatch.setattr("highwater.claims.building._initial", failing("a fault", file=file))
    ended = highwater("check", write_spec(), may_fail=True)
    assert ended.exit_code == (2 if where in {"model", "invariants", "a user's"} else 70)
    assert ("the model raised IndexError: a fault; at " in ended.stderr) == (ended.exit_code == 2)


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_a_counterexample_that_plain_python_does_not_replay_exits_70(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("highwater.explorer.search.counterexamples.taken", lambda system, action, state: None)
    monkeypatch.setattr("highwater.explorer.analysis.simulate.successor", lambda action, state, domain: None)
    bounds = {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2}
    protocol = {"variant": "truncate-to-high-watermark"}
    spec = write_spec(protocol=protocol, bounds=bounds, check=["strong_isr"], expect={"verdict": "violated"})
    result = highwater(command, spec, may_fail=True)
    assert (result.exit_code, result.stdout) == (70, "")
    first, *_, last = result.stderr.splitlines()
    assert first.startswith("highwater: a counterexample was found that plain Python does not replay: ")
    assert "of Highwater: please report it with the model" in last


def within_address_space(size: int, *arguments: Any) -> subprocess.CompletedProcess[str]:
    return run(*arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))


def test_too_little_address_space_to_load_anything_is_reported_in_one_line(write_spec: Write) -> None:
    ended = within_address_space(100 << 20, "check", write_spec())
    assert (ended.returncode, ended.stdout) == (3, "")
    assert one_line(ended.stderr) == "highwater: needs 256 MiB of address space; `ulimit -v` allows 100 MiB"


@pytest.mark.parametrize("size", [260, 280, 300, 330, 400, 500])
def test_little_address_space_is_enough_or_ends_with_one_line(write_spec: Write, size: int) -> None:
    ended = within_address_space(size << 20, "check", write_spec())
    assert ended.returncode in (0, 3)
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 0 or "out of memory" in (ended.stdout or one_line(ended.stderr))


def test_a_gibibyte_of_address_space_is_enough_for_a_small_search(write_spec: Write) -> None:
    assert within_address_space(1 << 30, "check", write_spec()).returncode == 0


def test_every_command_is_among_those_that_were_made_to_fail() -> None:
    assert set(main.list_commands(click.Context(main))) == set(COMMANDS)


def test_a_command_that_does_not_exist_is_reported_with_those_that_do(highwater: Run) -> None:
    result = highwater("chekc", "claim.toml")
    assert result.exit_code == 2
    assert 'no such command: "chekc" (did you mean "check"?); allowed are check, list, trace, ' in result.stderr


def test_a_traceback_that_cannot_be_kept_is_shown(
    write_spec: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("highwater.cli.run.check_spec", failing("a fault"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    result = CliRunner().invoke(main, ["check", str(write_spec())])
    assert result.exit_code == 70
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.splitlines()[-1].endswith("please open an issue with the traceback above")


def test_results_before_an_internal_error_are_written_as_incomplete(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("highwater.cli.run.check_spec", failing("a fault", otherwise=check_spec))
    files = reports_in(tmp_path)
    result = highwater("check", write_spec("first.toml"), write_spec("second.toml"), *options_of(files), may_fail=True)
    assert result.exit_code == 70
    assert result.stdout.startswith("ok  first\n")
    refuse_green(files, results=1, why="the run was ended by IndexError: a fault")


# --- reports of runs that did not end


def reports_in(folder: Path) -> dict[str, Path]:
    return {
        "json": folder / "out.json",
        "junit": folder / "out.xml",
        "sarif": folder / "out.sarif",
        "html": folder / "pages",
    }


def options_of(files: dict[str, Path]) -> list[Any]:
    return [word for kind, path in files.items() for word in (f"--{kind}", path)]


def refuse_green(files: dict[str, Path], results: int, why: str) -> None:
    """No report looks like the one of a run that ended, and all are valid."""
    data = json.loads(files["json"].read_text(encoding="utf-8"))
    assert (data["complete"], len(data["results"])) == (False, results)
    sarif = json.loads(files["sarif"].read_text(encoding="utf-8"))
    jsonschema.Draft4Validator(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))).validate(sarif)
    invocation = sarif["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][-1]["message"]["text"] == f"the report is not complete: {why}"
    for schema in ("junit-ant.xsd", "junit-jenkins-10.xsd"):
        xmlschema.XMLSchema(str(SCHEMAS / schema)).validate(str(files["junit"]))
    suites = ElementTree.parse(files["junit"]).getroot()
    assert sum(int(suite.get("errors", 0)) for suite in suites) == 1
    assert next(suites.iter("error")).get("message") == f"the report is not complete: {why}"
    assert f"Not complete: {why}" in (files["html"] / "index.html").read_text(encoding="utf-8")


def test_a_killed_run_leaves_reports_that_no_step_takes_for_success(write_spec: Write, tmp_path: Path) -> None:
    files = reports_in(tmp_path)
    command = [sys.executable, "-m", "highwater", "check", str(write_spec(bounds=LARGE)), *map(str, options_of(files))]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        # the last one written
        while not (files["html"] / "index.html").exists() or not (files["html"] / "index.html").stat().st_size:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    refuse_green(files, results=0, why="the run has begun and has not ended; it is still going on, or was killed")


def test_an_interrupted_run_is_not_complete(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("highwater.cli.run.check_spec", interrupt)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    files = reports_in(tmp_path)
    assert highwater("check", write_spec(), *options_of(files)).exit_code == 130
    refuse_green(files, results=0, why="the run was interrupted")


def test_the_step_summary_of_an_incomplete_run_is_marked_incomplete(
    write_spec: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    met = check_spec(load_spec(write_spec()), budget=Budget())
    assert not Outputs({}, to_github=True).write([met], [], "the run was interrupted")
    assert "**This is not complete: the run was interrupted.**" in summary.read_text(encoding="utf-8")


def test_a_run_that_ended_is_complete(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    files = reports_in(tmp_path)
    assert highwater("check", write_spec(), *options_of(files)).exit_code == 0
    assert json.loads(files["json"].read_text())["complete"] is True
    assert json.loads(files["sarif"].read_text())["runs"][0]["invocations"][0]["executionSuccessful"] is True
    assert not list(ElementTree.parse(files["junit"]).getroot().iter("error"))
    assert "Not complete" not in (files["html"] / "index.html").read_text(encoding="utf-8")


def test_a_command_that_another_program_would_replace_is_no_success(
    highwater: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands give way to one on purpose only; see `give_way_to`."""
    monkeypatch.setattr("highwater.cli.submit.give_way_to", lambda line: os.execv(line[0], line))
    with monkeypatch.context() as here:
        here.setattr("highwater.explorer.blame.is_machinery", lambda path: True)
        result = highwater("submit", "claim.toml", may_fail=True)
    assert result.exit_code == 70
    assert "internal error: SystemExit: os.execv was called at " in one_line(result.stderr)


# --- models that end the process

WAYS_OUT = [
    "os._exit(0)",
    "sys.exit(0)",
    "os.execv('/bin/true', ['true'])",
    "os.execvp('true', ['true'])",
    "posix_exit(0)",
]
PLACES = {
    "an action": "    token = world.granted + 1",
    "a property": "    return world.last",
    "the definition": "    return Definition(",
    "the initial states": "    return [World(",
    "the import": "@invariant()",
}


ENDINGS = [(place, way) for place in PLACES for way in WAYS_OUT if place == "an action" or way in WAYS_OUT[:2]]
"""Each way out in an action, and in each place the two kinds of them: one that is refused, and one that raises."""


@pytest.mark.slow
@pytest.mark.parametrize(("place", "way"), ENDINGS)
def test_a_model_that_ends_the_process_is_no_success(tmp_path: Path, place: str, way: str) -> None:
    write_scaffold(tmp_path)
    model, line = tmp_path / "lock_service.py", PLACES[place]
    text = model.read_text(encoding="utf-8")
    assert text.count(line) >= 1
    indent = line[: len(line) - len(line.lstrip())]
    imports = "from __future__ import annotations\n\nimport os\nimport sys\nfrom os import _exit as posix_exit\n"
    text = text.replace("from __future__ import annotations\n", imports, 1).replace(line, f"{indent}{way}\n{line}", 1)
    model.write_text(text, encoding="utf-8")
    sarif = tmp_path / "out.sarif"
    ran = run(
        "check", tmp_path / "specs" / "fencing_keeps_late_writers_out.toml", "--model-path", tmp_path, "--sarif", sarif
    )
    assert ran.returncode == 2, ran.stdout
    assert "SystemExit" in ran.stderr
    assert f"{model}:" in ran.stderr
    assert "ok  " not in ran.stdout
    if sarif.exists():
        assert json.loads(sarif.read_text())["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_a_converter_that_exits_is_no_success(tmp_path: Path) -> None:
    """Between the functions that are known to be a model's."""
    write_scaffold(tmp_path)
    model = tmp_path / "lock_service.py"
    text = model.read_text(encoding="utf-8")
    assert "class Bounds:" in text
    text = text.replace(
        "class Bounds:", "class Bounds:\n    def __attrs_post_init__(self):\n        raise SystemExit(0)\n", 1
    )
    model.write_text(text, encoding="utf-8")
    ran = run("check", tmp_path / "specs", "--model-path", tmp_path)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert f"at {model}:" in ran.stderr


def test_processes_that_a_model_forks_may_end_as_they_do(tmp_path: Path) -> None:
    code = (
        "import os\nfrom highwater.cli.endings import without_ways_out\n"
        "with without_ways_out():\n"
        "    child = os.fork()\n"
        "    if child == 0: os._exit(7)\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert ran.stdout == "7\n", ran.stderr


def test_a_claim_under_pytest_whose_model_ends_the_process_fails(pytester: pytest.Pytester) -> None:
    write_scaffold(pytester.path / "lock")
    model = pytester.path / "lock" / "lock_service.py"
    text = model.read_text(encoding="utf-8")
    line = PLACES["an action"]
    model.write_text(text.replace(line, f"    import os\n    os._exit(0)\n{line}", 1), encoding="utf-8")
    result = pytester.runpytest_subprocess("--highwater", "--highwater-model-path", "lock", "lock/specs")
    result.assert_outcomes(failed=2)


# --- nobody reads


@pytest.mark.parametrize(
    "arguments", [["check", "SPEC"], ["list", "models"], ["--help"], ["check", "--help"], ["--version"]], ids=" ".join
)
def test_without_a_reader_commands_end_as_sigpipe_does(write_spec: Write, arguments: list[str]) -> None:
    path = write_spec()
    read, write = os.pipe()
    os.close(read)
    try:
        ran = run(*(path if word == "SPEC" else word for word in arguments), stdout=write)
    finally:
        os.close(write)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", [["check", "SPEC"], ["list", "models"], ["--help"], ["check", "--help"]], ids=" ".join
)
def test_a_full_disk_under_standard_output_is_reported(
    write_spec: Write, arguments: list[str], unbuffered: str
) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        ran = run(
            *(write_spec() if word == "SPEC" else word for word in arguments),
            stdout=full,
            env=environment(PYTHONUNBUFFERED=unbuffered),
        )
    assert ran.returncode == 2
    assert one_line(ran.stderr) == "highwater: standard output cannot be written: No space left on device"


@pytest.mark.parametrize(("keys", "code"), [({}, 0), ({"check": ["leader_in_isr"]}, 1), ({"bounds": {}}, 2)])
def test_standard_error_that_cannot_be_written_changes_no_exit_code(
    write_spec: Write, keys: dict[str, Any], code: int
) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    command = [sys.executable, "-m", "highwater", "check", str(write_spec(**keys))]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            command, env=environment(), stdout=subprocess.PIPE, stderr=full, timeout=PATIENCE, check=False
        )
    assert ran.returncode == code


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)], ids=str)
def test_closed_streams_change_no_exit_code(write_spec: Write, closed: tuple[int, ...]) -> None:
    """Neither of one claim nor of several, which are checked side by side."""
    specs = [str(write_spec(f"{name}.toml")) for name in ("first", "second")]
    for claims in (specs[:1], specs):
        arguments = " ".join([f"{number}>&-" for number in closed])
        command = ["sh", "-c", f'exec "$@" {arguments}', "sh", sys.executable, "-m", "highwater", "check", *claims]
        ran = subprocess.run([*command, "--jobs", "2"], env=environment(), timeout=PATIENCE, check=False)
        assert ran.returncode == 0


# --- Ctrl-C


@pytest.mark.parametrize(
    "module", ["click", "highwater.cli.options", "highwater.cli.run", "numpy", "highwater.claims.spec", "rich.console"]
)
def test_an_interrupt_while_the_program_is_loaded_exits_130(write_spec: Write, tmp_path: Path, module: str) -> None:
    """The import of one module is interrupted."""
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from highwater.__main__ import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, "check", str(write_spec())]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "interrupted\n")


# --- files with the names of our packages


@pytest.mark.parametrize("name", ["attrs", "attr", "copy"])
def test_a_file_that_hides_a_library_is_an_error_and_not_an_unmet_claim(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("raise RuntimeError('hidden')\n", encoding="utf-8")
    first = environment(PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT / "src")]))
    ran = run("list", "models", env=first, cwd=tmp_path.parent)
    assert ran.returncode == 70
    assert "RuntimeError: hidden" in one_line(ran.stderr)


def test_a_file_in_the_current_folder_is_not_executed(write_spec: Write, tmp_path: Path) -> None:
    """Python puts that folder first for `python -m highwater`; for the command `highwater` it does not."""
    folder = tmp_path / "downloaded"
    folder.mkdir()
    for name in ("click", "attr", "attrs", "typing", "resource", "json", "socket", "numpy", "model", "explorer"):
        (folder / f"{name}.py").write_text(f"raise RuntimeError({name!r})\n", encoding="utf-8")
    ran = run("check", write_spec(), cwd=folder)
    assert (ran.returncode, ran.stderr) == (0, "")


CLAIM = """
model = "reference"
protocol = { variant = "kip-320" }
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1 }
check = ["weak_isr"]
"""


def test_an_internal_error_under_pytest_is_a_failure_blamed_on_highwater(pytester: pytest.Pytester) -> None:
    (pytester.path / "claim.toml").write_text(CLAIM, encoding="utf-8")
    pytester.makeconftest(
        "import highwater.api, highwater.explorer.trace\n"
        "code = 'def fail(*arguments, **options): raise IndexError(0)'\n"
        "names = {}\n"
        "exec(compile(code, highwater.explorer.trace.__file__, 'exec'), names)\n"
        "highwater.api.check_spec = names['fail']\n"
    )
    result = pytester.runpytest_subprocess("--highwater", "claim.toml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["internal error: IndexError: 0 at trace.py:1: this is a defect of Highwater, not*"])
