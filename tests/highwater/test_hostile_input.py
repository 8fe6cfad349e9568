"""Input that nobody means well: every command ends at once, with a line that says what is wrong, and exit code 2."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from highwater import SpecError, api
from highwater.claims.positions import line_of_key
from highwater.explorer.verdict import Progress
from highwater.limits import LARGEST_SPEC
from highwater.reports.progress import time_left

Run = Callable[..., Result]
Write = Callable[..., Path]
COMMANDS = [
    ("check",),
    ("list", "specs"),
    ("trace",),
    ("simulate",),
    ("graph",),
    ("mutate",),
    ("check", "--engine", "python"),
]


def refused(result: Result, words: str, most: int = 400) -> None:
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert words in result.stderr
    assert len(result.stderr) < most + 200, "a line that nobody can read"


# --- files that are none, or have no end


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_device_without_an_end_is_refused(highwater: Run, command: tuple[str, ...]) -> None:
    refused(highwater(*command, "/dev/zero"), "/dev/zero: is a pipe, a device or a socket, and not a file")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_pipe_is_not_waited_for(highwater: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    refused(highwater(*command, tmp_path / "pipe.toml"), "pipe.toml: is a pipe, a device or a socket, and not a file")


def test_a_pipe_in_a_folder_of_specs_is_reported(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    write_spec()
    os.mkfifo(tmp_path / "pipe.toml")
    refused(highwater("check", tmp_path), "pipe.toml: is a pipe, a device or a socket, and not a file")


def test_a_spec_of_half_a_million_keys_is_refused(highwater: Run, tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_text("".join(f"key{number} = 1\n" for number in range(500_000)), encoding="utf-8")
    refused(highwater("check", path), "large.toml: is larger than 1.0 MiB, which is the most that is read")


def test_a_long_list_of_problems_is_truncated(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    path = write_spec()
    path.write_text(
        path.read_text(encoding="utf-8") + "".join(f"key{number} = 1\n" for number in range(60_000)), encoding="utf-8"
    )
    result = highwater("check", path)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 50
    assert line_of_key(path, "expect.verdict") == 1


def test_a_report_of_very_many_keys_is_refused(highwater: Run, tmp_path: Path) -> None:
    entry = {
        "name": "x",
        "model": "reference",
        "protocol": {f"key{n}": 1 for n in range(100_000)},
        "bounds": {},
        "check": ["weak_isr"],
    }
    path = tmp_path / "report.json"
    path.write_text(
        json.dumps({"format": "highwater-results", "version": 1, "results": [{**entry, "trace": [{}]}]}),
        encoding="utf-8",
    )
    result = highwater("trace", path)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 50)


# --- numbers that are none


@pytest.mark.parametrize("option", ["--workers", "--max-states", "--max-depth", "--memory", "--partitions"])
@pytest.mark.parametrize("number", ["9" * 6_000, "9" * 25, "1e999999"], ids=["6000 digits", "25 digits", "an exponent"])
def test_a_number_that_fits_nowhere_is_refused(highwater: Run, write_spec: Write, option: str, number: str) -> None:
    refused(highwater("check", write_spec(), option, number), option)


@pytest.mark.parametrize("command", ["check", "simulate", "mutate"])
def test_a_hundred_thousand_threads_are_refused(highwater: Run, write_spec: Write, command: str) -> None:
    refused(highwater(command, write_spec(), "--workers", "100000"), "100000 is not in the range 1<=x<=1024")


def test_from_python_a_hundred_thousand_threads_are_refused(write_spec: Write) -> None:
    with pytest.raises(SpecError, match="workers: 100000 is above 1,024"):
        api.check(write_spec(), workers=100_000)


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "0"])
def test_a_time_that_does_not_pass_is_refused(highwater: Run, write_spec: Write, seconds: str) -> None:
    refused(highwater("simulate", write_spec(), "--seconds", seconds), "--seconds")


NUMBERS = {
    "6000 digits": "9" * 6_000,
    "4000 digits": "9" * 4_000,
    "6000 hexadecimal digits": "0x" + "f" * 6_000,
    "64 bits": str(2**63),
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "line", ["max_depth = N", "expect = { distinct_states = N }", "expect = { depth = N }", "bounds = { brokers = N }"]
)
def test_a_number_of_a_spec_that_fits_nowhere_is_refused(
    highwater: Run, tmp_path: Path, number: str, line: str
) -> None:
    path = tmp_path / "claim.toml"
    bounds = (
        ""
        if "bounds" in line
        else "bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1 }\n"
    )
    text = f'model = "reference"\nprotocol = {{ variant = "kip-320" }}\ncheck = ["weak_isr"]\n{bounds}{line}\n'
    path.write_text(text.replace("N", NUMBERS[number]), encoding="utf-8")
    result = highwater("check", path)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert max(map(len, result.stderr.splitlines())) < 600


# --- names


@pytest.mark.parametrize(
    "arguments",
    [("check", ""), ("trace", ""), ("init", ""), ("check", "SPEC", "--json", ""), ("check", "SPEC", "--html", ""),
     ("check", "SPEC", "--checkpoint", "")],
)  # fmt: skip
def test_an_empty_name_is_refused(highwater: Run, write_spec: Write, arguments: tuple[str, ...]) -> None:
    path = str(write_spec())
    refused(highwater(*(path if word == "SPEC" else word for word in arguments)), "the name is empty")


# --- a byte order mark, as Windows writes it


def test_a_spec_and_a_report_may_begin_with_a_byte_order_mark(
    highwater: Run, write_spec: Write, tmp_path: Path
) -> None:
    path, report = (
        write_spec(check=["leader_in_isr"], expect={"verdict": "violated", "distinct_states": 7}),
        tmp_path / "report.json",
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert highwater("check", path, "--json", report).exit_code == 1
    assert line_of_key(path, "expect.verdict") == 5
    report.write_bytes(b"\xef\xbb\xbf" + report.read_bytes())
    assert highwater("trace", report).exit_code == 0
    assert highwater("check", path, "--update-locks").exit_code == 0
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert highwater("check", path).exit_code == 0
    assert path.stat().st_size < LARGEST_SPEC


# --- how long it takes yet


def progress(stored: int, seconds: float) -> Progress:
    return Progress(9, 1, stored, 0, 0, seconds, 0, True)


def test_the_time_left_is_a_range_once_levels_shrink() -> None:
    assert time_left([1, 5, 9, 30], progress(45, 100.0)) == ""
    assert time_left([900, 800], progress(2_000, 100.0)) == ""
    told = time_left([10_000, 8_000, 6_000, 3_000], progress(50_000, 500.0))
    assert told == "  13 s to 60 s left"
    assert time_left([800, 400, 200], progress(2_000, 0.1)) == ""


def test_the_rest_lies_in_the_range_that_is_reported() -> None:
    """Of levels that shrink as those of models do, ever faster."""
    sizes = [
        1_000_000,
        900_000,
        729_000,
        531_441,
        348_678,
        205_891,
        109_418,
        52_334,
        22_528,
        8_728,
        3_043,
        955,
        270,
        68,
        16,
        3,
    ]
    for begun in range(3, 12):
        known, rest = sizes[:begun], sum(sizes[begun:])
        least, most = time_left(known, progress(1_000_000, 1_000.0)).replace(" left", "").split(" to ")
        assert _seconds(least) * 0.75 <= rest / 1_000, begun  # what is told is rounded
        assert rest / 1_000 <= _seconds(most) * 1.25


def _seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"s": 1, "min": 60, "h": 3600, "days": 86400}[unit]
