"""The command line as people and scripts meet it: exit codes, what is printed where, and what is written."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import Result

from highwater.claims.resolving import variants
from highwater.claims.spec import find_specs
from highwater.explorer.verdict import Progress
from highwater.invariants.reference import CLUSTER
from highwater.model.catalogue import MODELS
from highwater.reports.progress import Live

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "specs"
SCHEMA = json.loads((Path(__file__).parent / "results.schema.json").read_text(encoding="utf-8"))
VIOLATED = SPECS / "truncation" / "truncating_to_the_high_watermark_fails_on_two_brokers.toml"
# 28 million states, as wide as those of other tests
LARGE = {"brokers": 3, "log_length_max": 2, "records_max": 3, "leader_epoch_max": 3}
TWO = {"brokers": 2, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 2}
CLAIM_OF_A_VIOLATION = {"verdict": "violated", "property": "leader_in_isr", "trace_length": 0}
PATIENCE = 60.0  # seconds until something counts as hanging

Write = Callable[..., Path]
Run = Callable[..., Result]


def in_another_process(*arguments: Any, timeout: float = PATIENCE, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "highwater.cli.main", *map(str, arguments)]
    return subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=timeout, check=False, **options
    )


def environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR")
    }
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "250", "TERM": "xterm-256color"}


def results_in(path: Path) -> list[dict[str, Any]]:
    data = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    return data["results"]


def explained(result: Result) -> list[str]:
    """The lines on stderr of a run that went wrong. Each says who complains."""
    lines = result.stderr.splitlines()
    assert lines
    assert all(line.startswith("highwater: ") for line in lines)
    return lines


# --- exit codes


def test_a_met_claim_exits_0(highwater: Run, write_spec: Write) -> None:
    result = highwater("check", write_spec("two_brokers.toml", expect={"distinct_states": 277}))
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "ok  two_brokers"
    assert lines[1].strip() == "holds within these bounds: weak_isr"
    assert lines[2].strip() == "protocol  variant kip-320"
    assert "brokers 2, log_length_max 1, records_max 1, leader_epoch_max 1; steps cut: leader_epoch_max " in lines[3]
    assert "277 distinct" in lines[4]
    assert "depth 11" in lines[4]


def test_a_search_that_ends_before_a_bound_cuts_a_step_names_no_bound(highwater: Run, write_spec: Write) -> None:
    """Though the trees that an earlier search has left know which bounds cut steps later."""
    spec = write_spec("two_brokers.toml", expect={"distinct_states": 277})
    assert "steps cut: leader_epoch_max " in highwater("check", spec).stdout
    early = highwater("check", spec, "--max-depth", 1)
    assert "leader_epoch_max 1; none of them cut a step" in early.stdout


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"expect": {"distinct_states": 278}}, "expected distinct_states 278, but it is 277"),
        ({"expect": {"verdict": "violated"}}, "expected a violation, but the verdict is holds"),
        ({"check": ["leader_in_isr"]}, "expected the verdict holds, but leader_in_isr is violated after 0 steps"),
        (
            {"check": ["leader_in_isr"], "expect": {"verdict": "violated", "trace_length": 3}},
            "expected trace_length 3, but it is 0",
        ),
    ],
)
def test_an_unmet_claim_exits_1_with_the_reason(
    highwater: Run, write_spec: Write, keys: dict[str, Any], words: str
) -> None:
    result = highwater("check", write_spec(**keys))
    assert result.exit_code == 1
    assert result.stdout.startswith("FAILED  claim\n")
    assert words in result.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--max-depth", 3), "holds to depth 3 within these bounds: weak_isr"),
        (("--max-depth", 0), "holds to depth 0 within these bounds: weak_isr"),
        (("--max-states", 50), "unknown: ran out of max-states; no violation so far"),
        (("--max-states", 1), "unknown: ran out of max-states; no violation so far"),
    ],
)
def test_a_search_that_was_cut_short_exits_3(
    highwater: Run, write_spec: Write, options: tuple[Any, ...], words: str
) -> None:
    result = highwater("check", write_spec(), *options)
    assert result.exit_code == 3
    assert result.stdout.startswith("undecided  claim\n")
    assert words in result.stdout


def test_a_violation_at_the_maximal_depth_is_reported(highwater: Run) -> None:
    result = highwater("check", VIOLATED, "--max-depth", 9)
    assert result.exit_code == 0
    assert highwater("check", VIOLATED, "--max-depth", 8).exit_code == 3


@pytest.mark.slow
@pytest.mark.parametrize("machine_code", ["kept", "compiled"])
def test_a_memory_budget_is_kept_to_within_a_tenth(write_spec: Write, machine_code: str) -> None:
    """The process takes no more than a tenth above --memory, and most of what it may; also where it compiles machine
    code, which it has another process do.
    """
    code = (
        "import re, sys\nfrom highwater.cli.main import main\ntry: main(sys.argv[1:])\n"
        "except SystemExit as done: print(done.code, 1024 * int(re.search('VmHWM:(.*)kB', "
        "open('/proc/self/status').read())[1]))"
    )
    spec = write_spec(bounds=LARGE)
    options = ["--memory", "240M", "--no-symmetry", "--no-advice"]
    ran = subprocess.run(
        [sys.executable, "-c", code, "check", str(spec), *options],
        env={**os.environ, **({"NUMBA_IS_TOLD": str(os.getpid())} if machine_code == "compiled" else {})},
        capture_output=True,
        text=True,
        check=True,
    )
    exit_code, taken = map(int, ran.stdout.splitlines()[-1].split())
    assert exit_code == 3
    assert 0.6 * 240 * 2**20 < taken < 1.1 * 240 * 2**20
    assert "unknown: ran out of memory; no violation so far" in ran.stdout
    assert "give it more --memory" in ran.stdout


def test_an_unmet_claim_outweighs_an_undecided_one(highwater: Run, write_spec: Write) -> None:
    unmet = write_spec("unmet.toml", check=["leader_in_isr"])
    result = highwater(
        "check",
        write_spec("undecided.toml"),
        unmet,
        write_spec("met.toml", max_depth=2, expect=TO_DEPTH),
        "--max-depth",
        2,
    )
    assert result.exit_code == 1
    assert "3 claims: 1 met, 1 unmet, 1 undecided" in result.stdout


TO_DEPTH = {"verdict": "holds-to-depth"}


def test_a_claim_to_a_depth_exits_0(highwater: Run, write_spec: Write) -> None:
    result = highwater("check", write_spec(expect=TO_DEPTH, max_depth=3))
    assert result.exit_code == 0
    assert "holds to depth 3 within these bounds" in result.stdout


def test_a_wrong_spec_exits_2_with_every_problem_of_every_file_and_explores_nothing(
    highwater: Run, write_spec: Write
) -> None:
    good, wrong = write_spec("good.toml"), write_spec("wrong.toml", sauce="a book")
    wronger = write_spec("wronger.toml", bounds={"brokers": 0})
    result = highwater("check", good, wrong, wronger)
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = explained(result)
    assert sum(str(wrong) in line for line in lines) == 1
    assert sum(str(wronger) in line for line in lines) == 4
    assert not any(str(good) in line for line in lines)


def test_a_missing_spec_exits_2(highwater: Run, tmp_path: Path) -> None:
    result = highwater("check", tmp_path / "nothing.toml")
    assert result.exit_code == 2
    assert "no such file or folder" in explained(result)[0]


def test_a_folder_without_specs_exits_2(highwater: Run, tmp_path: Path) -> None:
    result = highwater("check", tmp_path)
    assert result.exit_code == 2
    assert "no specs in this folder" in explained(result)[0]


def test_a_memory_of_one_byte_exits_2_with_the_smallest_budget(highwater: Run, write_spec: Write) -> None:
    path = write_spec()
    result = highwater("check", path, "--memory", "1")
    assert result.exit_code == 2
    assert re.search(r"a memory budget of 1 bytes is too small: .*\d,\d{3},\d{3}", explained(result)[0])
    assert str(path) in result.stderr


@pytest.mark.parametrize(
    "size",
    ["nonsense", "", " ", "G", "0", "-5", "4X", "4GG", "nan", "inf", "-inf", "infinity", "1e400", "infG", "1e308T"],
)
def test_an_invalid_size_of_memory_exits_2(highwater: Run, write_spec: Write, size: str) -> None:
    result = highwater("check", write_spec(), "--memory", size)
    assert result.exit_code == 2
    assert "is not a size" in result.stderr
    assert "4G" in result.stderr


@pytest.mark.parametrize(
    "size", ["4G", "4g", "4GB", "4GiB", "4096M", "4.5G", "4194304K", "4294967296", "1e10", "0.01T", " 4G "]
)
def test_a_memory_may_be_written_in_many_ways(highwater: Run, write_spec: Write, size: str) -> None:
    assert highwater("check", write_spec(), "--memory", size).exit_code == 0


def test_check_without_a_spec_checks_the_folder_specs_or_suggests_arguments(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = highwater("check")
    assert result.exit_code == 2
    assert "there is no folder specs here" in result.stderr
    assert "gallery:" in result.stderr
    write_spec("specs/mine.toml")
    assert highwater("check").stdout.startswith("ok  mine\n")


def test_help_lists_commands_with_whole_sentences(highwater: Run) -> None:
    lines = highwater("--help").stdout.partition("Commands:\n")[2]
    assert "..." not in lines
    said = re.split(r"\n  (?=\w)", lines.strip("\n "))
    assert len(said) >= 9
    assert all(each.rstrip().endswith((".", "?")) for each in said)


def test_claims_of_the_gallery_have_names(highwater: Run) -> None:
    names = highwater("list", "specs", "gallery:truncation").stdout.splitlines()
    assert len(names) == len(list((SPECS / "truncation").glob("*.toml")))
    assert highwater("check", "gallery:truncation/kip_101_fails*").exit_code == 0
    missing = highwater("check", "gallery:kip_101_fials_on_two_brokers")
    assert missing.exit_code == 2
    assert 'did you mean "kip_101_fails_on_two_brokers"?' in missing.stderr
    several = highwater("graph", "gallery:truncation")
    assert several.exit_code == 2
    assert "name one of them" in several.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-depth", "-1", "spec"),
        ("--max-depth", "deep", "spec"),
        ("--max-states", "0", "spec"),
        ("--engine", "steam", "spec"),
        ("--no-such-option", "spec"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2(highwater: Run, write_spec: Write, arguments: tuple[str, ...]) -> None:
    path = str(write_spec())
    result = highwater("check", *(path if argument == "spec" else argument for argument in arguments))
    assert result.exit_code == 2
    assert "Usage: " in result.stderr
    assert result.stdout == ""


def test_json_without_a_file_exits_2(highwater: Run, write_spec: Write) -> None:
    result = highwater("check", write_spec(), "--json")
    assert result.exit_code == 2
    assert "requires an argument" in result.stderr


def test_an_unknown_command_exits_2(highwater: Run) -> None:
    assert highwater("prove").exit_code == 2


# --- help


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("command", [(), ("check",), ("list",), ("trace",)], ids=" ".join)
def test_help_exits_0(highwater: Run, command: tuple[str, ...], option: str) -> None:
    result = highwater(*command, option)
    assert result.exit_code == 0
    assert "Usage: " in result.stdout
    assert "-h, --help" in result.stdout


def test_the_help_of_check_names_the_exit_codes(highwater: Run) -> None:
    text = " ".join(highwater("check", "--help").stdout.split())
    for code in ("0 every claim was met", "1 some were not", "2 a spec or the usage is wrong", "130 interrupted"):
        assert code in text


def test_the_version_exits_0(highwater: Run) -> None:
    result = highwater("--version")
    assert result.exit_code == 0
    assert re.search(r"\b0\.\d+\.\d+\b", result.stdout)


# --- the same in a process of its own


@pytest.mark.parametrize(
    ("keys", "options", "code"),
    [
        ({}, (), 0),
        ({"expect": {"distinct_states": 1}}, (), 1),
        ({"sauce": "a book"}, (), 2),
        ({}, ("--max-depth", "2"), 3),
    ],
)
def test_a_process_exits_with_the_same_codes(
    write_spec: Write, keys: dict[str, Any], options: tuple[str, ...], code: int
) -> None:
    ran = in_another_process("check", write_spec(**keys), *options)
    assert ran.returncode == code, ran.stderr
    assert "Traceback" not in ran.stderr
    assert bool(ran.stdout) is (code != 2)


def test_the_installed_command_is_the_same_program(write_spec: Write) -> None:
    command = shutil.which("highwater", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("highwater is not installed beside this Python")
    ran = subprocess.run(
        [command, "check", write_spec()],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("ok  claim\n")


def test_output_without_a_terminal_holds_no_escape_codes(write_spec: Write) -> None:
    specs = [VIOLATED, write_spec("unmet.toml", expect={"distinct_states": 1}), write_spec("met.toml")]
    for arguments in (
        ("check", *specs, "--trace"),
        ("check", *specs, "--max-depth", 2),
        ("list", "properties"),
        ("list", "specs", SPECS),
    ):
        ran = in_another_process(*arguments)
        assert ran.stdout
        assert "\x1b" not in ran.stdout
        assert "\x1b" not in ran.stderr


def test_long_lines_are_not_broken_without_a_terminal(write_spec: Write) -> None:
    check = [found.name for found in CLUSTER if found.name != "leader_in_isr"]
    ran = subprocess.run(
        [sys.executable, "-m", "highwater.cli.main", "check", write_spec(check=check), "--max-depth", "2"],
        env={**environment(), "COLUMNS": "40"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert f"holds to depth 2 within these bounds: {', '.join(check)}" in ran.stdout


# --- interruption


def interrupted_while_it_explores(
    name: str, *arguments: Any, by: signal.Signals = signal.SIGINT
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that gets a signal once its progress line shows that the named spec is
    under way.
    """
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"this machine has no terminals to give: {error}")
    command = [sys.executable, "-X", "faulthandler", "-m", "highwater.cli.main", *map(str, arguments)]
    process = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=theirs, text=True, start_new_session=True
    )
    os.close(theirs)
    shown, sent, hanging, deadline = "", False, False, time.monotonic() + PATIENCE
    try:
        while True:
            if time.monotonic() > deadline and not hanging:
                process.send_signal(signal.SIGABRT)  # has it show where every thread is
                hanging = True
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    shown += os.read(ours, 65536).decode("utf-8", "replace")
                except OSError:  # the other end is closed
                    break
            if not sent and re.search(rf"{name}[^\n]*\n\s*depth ([7-9]|\d\d)\b.*stored \d", shown):
                process.send_signal(by)
                sent, deadline = True, time.monotonic() + PATIENCE
        stdout, _ = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
    assert not hanging, f"{f'{by.name} did not end it' if sent else 'it never got under way'}:\n{shown[-6000:]}"
    assert sent, f"it ended before it got under way:\n{shown[-6000:]}"
    return process.returncode, stdout, shown


def test_sigterm_ends_a_search_as_ctrl_c_does_and_leaves_a_snapshot(write_spec: Write, tmp_path: Path) -> None:
    kept, report = tmp_path / "kept", tmp_path / "report.json"
    options = ("--checkpoint", kept, "--json", report)
    code, stdout, _ = interrupted_while_it_explores(
        "long", "check", write_spec("long.toml", bounds=LARGE), *options, by=signal.SIGTERM
    )
    assert code == 130
    assert "unknown: interrupted; no violation so far" in stdout
    assert json.loads(report.read_text())["results"][0]["reason"] == "interrupted"
    snapshot = json.loads((kept / "manifest.json").read_text())["data"]["snapshot"]
    assert len(snapshot["level_ends"]) > 5
    assert {path.suffix for path in kept.iterdir()} == {".json", ".bin"}
    assert not (kept / "lock.json").exists()


def test_an_interrupted_process_exits_130_and_writes_its_results_so_far(write_spec: Write, tmp_path: Path) -> None:
    quick, long, never = write_spec("quick.toml"), write_spec("long.toml", bounds=LARGE), write_spec("never.toml")
    report = tmp_path / "report.json"
    code, stdout, stderr = interrupted_while_it_explores("long", "check", quick, long, never, "--json", report)
    assert code == 130
    assert "ok  quick\n" in stdout
    assert "undecided  long\n" in stdout
    assert "unknown: interrupted; no violation so far" in stdout
    assert "2 claims: 1 met, 1 undecided" in stdout
    assert "never" not in stdout
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    done, cut = results_in(report)
    assert (done["name"], done["status"], done["distinct_states"]) == ("quick", "met", 277)
    assert (cut["name"], cut["status"], cut["verdict"], cut["reason"]) == (
        "long",
        "undecided",
        "unknown",
        "interrupted",
    )
    assert cut["distinct_states"] > 1000
    assert len(cut["levels"]) >= 7


def interrupt_at(monkeypatch: pytest.MonkeyPatch, depth: int) -> list[str]:
    """Have the first search that gets that deep interrupted. Returns the names of the specs whose search has begun, as
    they come.
    """
    begun: list[str] = []

    def interrupting(live: Live, progress: Progress) -> None:
        if live._name not in begun:
            begun.append(live._name)
        if progress.depth == depth and begun[-1] == begun[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Live, "__call__", interrupting)
    return begun


def test_an_interruption_ends_the_run_after_the_spec_that_it_met(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = interrupt_at(monkeypatch, depth=3)
    report = tmp_path / "report.json"
    result = highwater("check", write_spec("first.toml"), write_spec("second.toml"), "--json", report)
    assert result.exit_code == 130
    assert begun == ["first"]
    assert "unknown: interrupted; no violation so far" in result.stdout
    assert "1 claim: 1 undecided" in result.stdout
    assert result.stderr.strip() == "interrupted"
    assert [entry["reason"] for entry in results_in(report)] == ["interrupted"]


def test_an_interrupt_after_a_violation_ends_the_run(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = interrupt_at(monkeypatch, depth=3)
    report = tmp_path / "report.json"
    first = write_spec("first.toml", check=["leader_in_isr", "weak_isr"], expect=CLAIM_OF_A_VIOLATION)
    result = highwater("check", first, write_spec("second.toml"), "--keep-going", "--json", report)
    assert "violated: leader_in_isr after 0 steps" in result.stdout
    assert begun == ["first"]
    assert result.exit_code == 130
    assert [entry["property"] for entry in results_in(report)] == ["leader_in_isr"]


def test_an_interruption_of_the_plain_engine_exits_130(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("highwater.explorer.search.plain.plain_python.explore", interrupt)
    result = highwater("check", write_spec(), "--engine", "python")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr


# --- traces on the screen


def steps_in(text: str) -> list[list[str]]:
    """The lines of a trace, split where two spaces or more stand."""
    lines = [line for line in text.splitlines() if re.match(r" {4} *\d+  ", line)]
    return [re.split(r" {2,}", line.strip()) for line in lines]


def test_a_violated_claim_is_shown_as_one_line_per_step_and_the_reason_in_words(highwater: Run) -> None:
    result = highwater("check", VIOLATED)
    assert result.exit_code == 0
    assert "violated: strong_isr after 9 steps (as claimed)" in result.stdout
    steps = steps_in(result.stdout)
    assert [step[0] for step in steps] == [str(number) for number in range(10)]
    assert steps[0] == ["0", "initial state"]
    assert steps[1] == [
        "1",
        "controller",
        "elect_leader leader=b0",
        "quorum.leader none → b0; requests + leader b0 isr {b0 b1}",
    ]
    assert steps[5] == ["5", "b0", "write leader=b0", "next_record_id 0 → 1; b0.log + r0@e0"]
    assert steps[7] == ["7", "b1", "fetch follower=b1 leader=b0", "b1.log + r0@e0"]
    assert steps[9][-1] == "b1.leader_epoch 0 → 2; b1.log loses r0@e0"
    assert (
        "strong_isr is false: offset 0 is below the high watermark of b0, which presumes leadership, but b1, "
        in result.stdout
    )


def test_a_violation_in_the_initial_state_shows_that_state(highwater: Run, write_spec: Write) -> None:
    result = highwater("check", write_spec(check=["leader_in_isr"], expect=CLAIM_OF_A_VIOLATION))
    assert result.exit_code == 0
    (only,) = steps_in(result.stdout)
    assert only[:2] == ["0", "initial state"]
    assert "quorum leader none isr {b0 b1}" in only[2]
    assert "there is no leader, so none is in the ISR" in result.stdout


def test_no_trace_leaves_the_trace_out(highwater: Run) -> None:
    result = highwater("check", VIOLATED, "--no-trace")
    assert result.exit_code == 0
    assert "violated: strong_isr after 9 steps (as claimed)" in result.stdout
    assert steps_in(result.stdout) == []
    assert len(result.stdout.splitlines()) == 5


def test_only_unmet_claims_among_several_show_their_traces_by_default(highwater: Run, write_spec: Write) -> None:
    met = write_spec("met.toml", check=["leader_in_isr"], expect=CLAIM_OF_A_VIOLATION)
    unmet = write_spec("unmet.toml", check=["leader_in_isr"])
    assert [
        len(steps_in(highwater("check", met, unmet, *options).stdout))
        for options in ((), ("--trace",), ("--no-trace",))
    ] == [1, 2, 0]


def test_several_specs_end_in_a_summary_line(highwater: Run, write_spec: Write) -> None:
    paths = [
        write_spec("a.toml"),
        write_spec("b.toml", check=["leader_in_isr"]),
        write_spec("c.toml", expect={"distinct_states": 277}),
    ]
    result = highwater("check", *paths)
    assert re.fullmatch(r"3 claims: 2 met, 1 unmet; 555 states in \d+\.\d s", result.stdout.splitlines()[-1])
    assert [line for line in result.stdout.splitlines() if not line.startswith(" ") and line][:-1] == [
        "ok  a",
        "FAILED  b",
        "ok  c",
    ]


def test_one_spec_has_no_summary_line(highwater: Run, write_spec: Write) -> None:
    assert "claim:" not in highwater("check", write_spec()).stdout


def test_a_folder_is_checked_file_by_file_in_order(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    for name in ("b.toml", "a.toml", "deep/c.toml"):
        write_spec(f"specs/{name}")
    result = highwater("check", tmp_path / "specs")
    assert result.exit_code == 0
    assert re.findall(r"^ok  (\w+)$", result.stdout, re.MULTILINE) == ["a", "b", "c"]


def test_keeping_going_names_every_violated_property(highwater: Run, write_spec: Write) -> None:
    path = write_spec(protocol={"variant": "kip-101"}, bounds=TWO, check=["leader_in_isr", "strong_isr"])
    assert "violated: leader_in_isr after 0 steps\n" in highwater("check", path).stdout
    assert (
        "violated: leader_in_isr after 0 steps; also strong_isr after 11"
        in highwater("check", path, "--keep-going").stdout
    )


def test_the_plain_engine_prints_the_same_trace(highwater: Run, write_spec: Write) -> None:
    path = write_spec(check=["no_deadlock"])
    compiled, plain = (highwater("check", path, "--engine", engine) for engine in ("local", "python"))
    assert steps_in(compiled.stdout) == steps_in(plain.stdout) != []
    assert compiled.exit_code == plain.exit_code == 1
    assert "no_deadlock is false: no action is enabled, and no bound is to blame" in plain.stdout


def test_actions_that_were_never_enabled_are_named(highwater: Run, write_spec: Write) -> None:
    bounds = {"brokers": 1, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 0}
    text = highwater("check", write_spec(bounds=bounds)).stdout
    assert "never enabled: " in text
    assert "fenced_fetch" in text


# --- reports


def test_results_are_written_as_json(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert highwater("check", VIOLATED, write_spec(), "--json", report).exit_code == 0
    assert [entry["status"] for entry in results_in(report)] == ["met", "met"]


@pytest.mark.parametrize("inside", ["nothing/report.json", "", "a" * 300])
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_explored(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    def explore(*arguments: Any, **options: Any) -> None:
        raise AssertionError("it explores")

    monkeypatch.setattr("highwater.cli.run.check_spec", explore)
    result = highwater("check", write_spec(), "--json", tmp_path / inside)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "cannot be written" in explained(result)[0]


def test_specs_that_are_wrong_from_the_start_are_in_the_report(
    highwater: Run, write_spec: Write, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    fine, wrong = write_spec("fine.toml"), write_spec("wrong.toml", sauce="a book")
    assert highwater("check", fine, wrong, "--json", report).exit_code == 2
    assert results_in(report) == []
    data = json.loads(report.read_text(encoding="utf-8"))
    assert [error["file"] for error in data["errors"]] == [str(wrong)]
    assert data["complete"] is False


def test_a_folder_that_is_not_there_leaves_an_older_report_alone(highwater: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old", encoding="utf-8")
    assert highwater("check", tmp_path / "specs", "--json", report).exit_code == 2
    assert report.read_text(encoding="utf-8") == "old"


def test_results_before_an_error_are_reported_and_written(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: Any
) -> None:
    from highwater.claims.checking import check_spec
    from highwater.claims.spec import SpecError

    def explore(spec: Any, *arguments: Any, **options: Any) -> Any:
        if spec.name == "b":
            raise SpecError("b is too large")
        return check_spec(spec, *arguments, **options)

    monkeypatch.setattr("highwater.cli.run.check_spec", explore)
    report = tmp_path / "report.json"
    result = highwater("check", write_spec("a.toml"), write_spec("b.toml"), "--json", report)
    assert result.exit_code == 2
    assert explained(result) == ["highwater: b is too large"]
    assert "ok  a" in result.stdout
    assert [entry["name"] for entry in results_in(report)] == ["a"]
    (error,) = json.loads(report.read_text())["errors"]
    assert (error["file"], error["message"]) == (str(tmp_path / "b.toml"), "b is too large")


# --- traces read back


@pytest.fixture
def report(highwater: Run, write_spec: Write, tmp_path: Path) -> Path:
    """A report of three specs, two of which have a trace."""
    path = tmp_path / "report.json"
    other = write_spec("no_leader.toml", check=["leader_in_isr"], expect=CLAIM_OF_A_VIOLATION)
    assert highwater("check", VIOLATED, other, write_spec("holds.toml"), "--json", path).exit_code == 0
    return path


def damage(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data["results"][0])
    path.write_text(json.dumps(data), encoding="utf-8")


def test_the_traces_of_a_report_are_shown(highwater: Run, report: Path) -> None:
    result = highwater("trace", report, "--changes")
    assert result.exit_code == 0
    assert f"{VIOLATED.stem}: strong_isr is false after 9 steps" in result.stdout
    assert "no_leader: leader_in_isr is false after 0 steps" in result.stdout
    assert "offset 0 is below the high watermark of b0" in result.stdout
    assert len(steps_in(result.stdout)) == 11
    assert "holds" not in result.stdout


def test_a_trace_is_shown_as_it_was_when_it_was_found(highwater: Run, report: Path) -> None:
    assert steps_in(highwater("trace", report, "--changes", "--spec", VIOLATED.stem).stdout) == steps_in(
        highwater("check", VIOLATED).stdout
    )


def test_the_trace_of_one_spec_is_shown(highwater: Run, report: Path) -> None:
    result = highwater("trace", report, "--changes", "--spec", "no_leader")
    assert result.exit_code == 0
    assert len(steps_in(result.stdout)) == 1
    assert VIOLATED.stem not in result.stdout


@pytest.mark.parametrize("name", ["nobody", "holds"])
def test_a_spec_without_a_trace_exits_2(highwater: Run, report: Path, name: str) -> None:
    result = highwater("trace", report, "--spec", name)
    assert result.exit_code == 2
    assert f"holds no trace of a spec named {name}" in explained(result)[0]


def test_a_report_without_any_trace_exits_2(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    highwater("check", write_spec(), "--json", path)
    result = highwater("trace", path)
    assert result.exit_code == 2
    assert "holds no trace" in explained(result)[0]


@pytest.mark.parametrize("number", [0, 5, 9])
def test_the_state_after_a_step_is_shown_in_full(highwater: Run, report: Path, number: int) -> None:
    result = highwater("trace", report, "--changes", "--spec", VIOLATED.stem, "--step", number)
    assert result.exit_code == 0
    shown, state = result.stdout.split(f"the state after step {number}\n")
    assert len(steps_in(shown)) == number + 1
    for part in ("quorum", "next_record_id", "requests", "b0", "b1", "leader_epoch", "high_watermark", "isr", "log"):
        assert re.search(rf"^ *{part}\b", state, re.MULTILINE)


def test_the_state_after_a_step_is_the_right_one(highwater: Run, report: Path) -> None:
    after = [highwater("trace", report, "--spec", VIOLATED.stem, "--step", number).stdout for number in (4, 5)]
    assert [re.findall(r"next_record_id  (\d)", text) for text in after] == [["0"], ["1"]]
    assert [re.findall(r"log  (\[.*\])", text) for text in after] == [["[]", "[]"], ["[r0@e0]", "[]"]]


def test_a_step_out_of_range_exits_2_and_names_the_last(highwater: Run, report: Path) -> None:
    result = highwater("trace", report, "--spec", VIOLATED.stem, "--step", 10)
    assert result.exit_code == 2
    assert f"{VIOLATED.stem}: has no step 10; the last is 9" in explained(result)[0]
    assert highwater("trace", report, "--step", -1).exit_code == 2
    assert highwater("trace", report, "--step", "last").exit_code == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda entry: entry["trace"][5]["state"].update(next_record_id=0), "step 5: "),
        (lambda entry: entry["trace"][5].update(action="fetch"), "step 5: "),
        (lambda entry: entry["trace"][5]["arguments"].update(leader="b1"), "step 5: "),
        (lambda entry: entry["trace"].pop(5), "step 5: "),
        (lambda entry: entry["trace"].pop(0), "step 0: "),
        (lambda entry: entry["trace"].pop(), "step 8"),
        (lambda entry: entry["bounds"].pop("brokers"), "bounds.brokers"),
        (lambda entry: entry.update(trace=[3]), "cannot be read"),
        (lambda entry: entry.pop("name"), ""),
        (lambda entry: entry.pop("property"), ""),
        (lambda entry: entry.update(property=["strong_isr"]), ""),
    ],
    ids=range(11),
)
def test_a_tampered_report_exits_2(
    highwater: Run, report: Path, change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    damage(report, change)
    result = highwater("trace", report)
    assert result.exit_code == 2
    assert words in explained(result)[0]
    assert steps_in(result.stdout) == []


def test_the_reason_that_is_shown_is_that_of_the_replayed_state(highwater: Run, report: Path) -> None:
    damage(report, lambda entry: entry.update(witness="everything is fine"))
    result = highwater("trace", report, "--spec", VIOLATED.stem)
    assert "everything is fine" not in result.stdout


@pytest.mark.parametrize("results", ['["text"]', "[3]", "[null]", "[[]]"])
def test_a_report_whose_results_are_not_objects_exits_2(highwater: Run, tmp_path: Path, results: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(f'{{"format": "highwater-results", "version": 1, "results": {results}}}', encoding="utf-8")
    result = highwater("trace", path)
    assert result.exit_code == 2
    explained(result)


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"format": "other"}', '{"format": "highwater-results", "version": 2}']
)
def test_a_file_that_is_not_a_report_exits_2(highwater: Run, tmp_path: Path, content: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(content, encoding="utf-8")
    result = highwater("trace", path)
    assert result.exit_code == 2
    assert str(path) in explained(result)[0]


def test_a_spec_is_not_a_report(highwater: Run, write_spec: Write) -> None:
    result = highwater("trace", write_spec())
    assert result.exit_code == 2
    assert "is not JSON" in explained(result)[0]


def test_a_missing_report_exits_2(highwater: Run, tmp_path: Path) -> None:
    result = highwater("trace", tmp_path / "nothing.json")
    assert result.exit_code == 2
    assert "No such file" in explained(result)[0]


# --- lists


def test_the_models_are_listed_with_their_variants_and_bounds(highwater: Run) -> None:
    result = highwater("list", "models")
    assert result.exit_code == 0
    for model in MODELS.values():
        assert f"{model.name}  {model.summary}" in result.stdout
        for name, _, definition in variants(model):
            assert name in result.stdout
            for field in definition.bounds.__attrs_attrs__:
                meaning = f"{field.metadata['low']}..{field.metadata['high']}  {field.metadata['meaning']}"
                assert f"    {field.name}  {meaning}" in result.stdout  # a default may follow


def test_the_actions_are_listed_for_every_variant(highwater: Run) -> None:
    result = highwater("list", "actions")
    assert result.exit_code == 0
    blocks = re.split(r"^(?=\S)", result.stdout, flags=re.MULTILINE)[1:]
    found = {block.splitlines()[0]: block for block in blocks}
    titles = set(found)
    for model in MODELS.values():
        for name, _, definition in variants(model):
            title = next(
                title
                for title in found
                if title.strip() == model.name or re.match(rf"{model.name}  (.*, )?{name}(,|$)", title)
            )
            block = found[title]
            titles.discard(title)
            assert len(block.splitlines()) == 1 + len(definition.actions)
            for action in definition.actions:
                line = next(line for line in block.splitlines() if line.startswith(f"  {action.name}("))
                assert line.endswith(".")
    assert not titles


def test_the_properties_are_listed_for_every_class_of_states(highwater: Run) -> None:
    result = highwater("list", "properties")
    assert result.exit_code == 0
    for definition in (definition for model in MODELS.values() for _, _, definition in variants(model)):
        for found in definition.known_properties:
            assert re.search(rf"^  {found.name}  \S.*\.$", result.stdout, re.MULTILINE)
    assert "for async-isr\n  valid_high_watermark" in result.stdout


def test_the_specs_are_listed_with_their_claims(highwater: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    result = highwater("list", "specs", SPECS)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == [str(path) for path in find_specs([SPECS])]
    assert f"{VIOLATED}  violated: strong_isr after 9 steps, 2,733 states" in lines
    assert any(line.endswith("  holds, 737,794 states") for line in lines)
    monkeypatch.chdir(ROOT)
    assert len(highwater("list", "specs").stdout.splitlines()) == len(lines)


def test_specs_that_are_not_there_or_wrong_exit_2(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = highwater("list", "specs")
    assert result.exit_code == 2
    assert "specs: no such file or folder" in explained(result)[0]
    path = write_spec(sauce="a book")
    assert str(path) in explained(highwater("list", "specs", path))[0]


def test_an_unknown_kind_to_list_exits_2(highwater: Run) -> None:
    result = highwater("list", "everything")
    assert result.exit_code == 2
    assert all(what in result.stderr for what in ("models", "actions", "properties", "specs"))


# --- what looks like markup

NAMES = [
    "[red]claim[/].toml",
    "[bold]x.toml",
    "[bold]x[/bold].toml",
    "[/].toml",
    "x[/.toml",
    "[red.toml",
    "[link=file:x]y.toml",
    ":smile:.toml",
    "one\\.toml",
    "two\\\\.toml",
    "a\\[red].toml",
    "{braces} %s.toml",
    " spaces .toml",
    "größe→.toml",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_look_like_markup_are_shown_literally(
    highwater: Run, write_spec: Write, tmp_path: Path, name: str
) -> None:
    path = write_spec(name, check=["leader_in_isr"], source="[bold]x[/] [/] [red]")
    report = tmp_path / "report.json"
    checked = highwater("check", path, "--json", report)
    assert checked.exit_code == 1
    assert checked.stdout.splitlines()[0] == f"FAILED  {path.stem}"
    listed = highwater("list", "specs", path)
    assert listed.exit_code == 0
    assert listed.stdout == f"{path}  holds\n"
    assert [entry["name"] for entry in results_in(report)] == [path.stem]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_look_like_markup_are_shown_literally_with_a_trace(
    highwater: Run, write_spec: Write, tmp_path: Path, name: str
) -> None:
    path = write_spec(name, check=["leader_in_isr"])
    report = tmp_path / "report.json"
    highwater("check", path, "--json", report)
    traced = highwater("trace", report)
    assert traced.exit_code == 0
    assert traced.stdout.splitlines()[0] == f"{path.stem}: leader_in_isr is false after 0 steps"
    assert highwater("trace", report, "--spec", path.stem).exit_code == 0


@pytest.mark.parametrize("name", NAMES)
def test_names_that_look_like_markup_are_shown_literally_in_errors(
    highwater: Run, write_spec: Write, name: str
) -> None:
    path = write_spec(name, model="[red]model[/]", sauce="[/]")
    lines = explained(highwater("check", path))
    assert all(line.startswith(f"highwater: {path}:") for line in lines)
    path = write_spec(name, model="[red]model[/]")
    assert f'{path}:1:11: model: "[red]model[/]" is not one of the models' in explained(highwater("check", path))[0]


def test_property_names_that_look_like_markup_are_shown_literally(highwater: Run, report: Path) -> None:
    damage(report, lambda entry: entry.update(name="[/]"))
    result = highwater("trace", report)
    assert result.stdout.startswith("[/]: strong_isr is false")
    damage(report, lambda entry: entry["trace"][2].update(action="[/]"))
    result = highwater("trace", report)
    assert result.exit_code == 2
    assert "the model has no action [/]" in explained(result)[0]


def test_a_file_name_that_is_not_utf_8_is_no_reason_to_crash(write_spec: Write, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    odd = os.path.join(folder, b"odd\xff.toml")
    try:
        os.link(write_spec(), odd)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    command = [sys.executable, "-m", "highwater.cli.main", "check", odd, "--json", str(tmp_path / "report.json")]
    ran = subprocess.run(command, env=environment(), capture_output=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 0, ran.stderr.decode("utf-8", "replace")[-500:]
    assert b"odd" in ran.stdout
    assert len(results_in(tmp_path / "report.json")) == 1
    with open(odd, "w", encoding="utf-8") as file:
        file.write('model = "refrence"')
    ran = subprocess.run(
        [*command, "--sarif", str(tmp_path / "r.sarif")], env=environment(), capture_output=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 2, ran.stderr.decode("utf-8", "replace")[-500:]
    assert "refrence" in (tmp_path / "r.sarif").read_text(encoding="utf-8")


# Long searches


def test_a_search_goes_on_from_its_checkpoint(highwater: Run, tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    assert highwater("check", VIOLATED, "--checkpoint", folder, "--max-depth", 5).exit_code == 3
    again = highwater("check", VIOLATED, "--checkpoint", folder)
    assert (again.exit_code, "holds a checkpoint already" in again.stderr) == (2, True)
    done = highwater("check", VIOLATED, "--checkpoint", folder, "--resume")
    assert done.exit_code == 0
    assert steps_in(done.stdout) == steps_in(highwater("check", VIOLATED).stdout)


def test_a_checkpoint_of_another_spec_is_refused(highwater: Run, tmp_path: Path, write_spec: Write) -> None:
    folder = tmp_path / "snapshots"
    highwater("check", VIOLATED, "--checkpoint", folder, "--max-depth", 5)
    result = highwater("check", write_spec(), "--checkpoint", folder, "--resume")
    assert result.exit_code == 2
    assert f"{folder}: is a checkpoint of another search" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--resume"], "--resume needs --checkpoint DIR"),
        (
            ["--checkpoint", "hdfs://somewhere/snapshots"],
            "the local engine keeps checkpoints in folders of this machine; add --engine spark",
        ),
        (["--checkpoint", "snapshots", VIOLATED.parent], "name one spec"),
        (["--checkpoint", "snapshots", "--engine", "python"], "by the local engine or on Spark"),
        (["--json", "other.toml"], "--json would overwrite a spec"),
    ],
    ids=range(5),
)
def test_options_that_do_not_go_together_exit_2(highwater: Run, options: list[object], words: str) -> None:
    result = highwater("check", VIOLATED, *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not Path("snapshots").exists()
    assert not Path("hdfs:").exists()
