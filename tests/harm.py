"""What checkpoints have to survive, whoever writes them: processes that are killed, and files that are harmed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

NO_MANIFEST = ["", "{", "[]", "null"]


def kill_until_one_survives(command: Sequence[str], after: Callable[[random.Random, int], float], attempts: int) -> str:
    """Run a program, which prints `begin` first, again and again, and SIGKILL it at random moments, later and later,
    until it is through.

    Args:
        command: what needs no machine code that is not kept on disk already, or no run lives to keep it.
        after: the seconds to live after `begin`, by chance and number of attempt.

    Returns:
        What the surviving run printed.
    """
    clock = random.Random(1)
    for attempt in range(attempts):
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
        assert run.stdout is not None
        assert run.stdout.readline() == "begin\n"
        time.sleep(after(clock, attempt))
        run.send_signal(signal.SIGKILL)
        rest = run.stdout.read()
        run.wait()
        if rest:
            assert attempt > 0, "the first run survived"
            return rest.strip()
    raise AssertionError(f"none of {attempts} runs survived")


def refuse_harmed(file: Path, refusal: Callable[[], str]) -> None:
    """A file of rows that is missing, cut short or changed in a bit is refused with its name; afterwards it is as
    before.
    """
    data = file.read_bytes()
    file.unlink()
    assert f"{file}: is missing" in refusal()
    file.write_bytes(data[:-4])
    assert f"{file}: is cut short: {len(data) - 4:,} of {len(data):,} bytes" in refusal()
    file.write_bytes(data[:9] + bytes([data[9] ^ 1]) + data[10:])
    assert f"{file}: is damaged: its checksum does not match" in refusal()
    file.write_bytes(data)


def foreign(path: Path) -> None:
    """Give a file to another user."""
    if os.geteuid():
        pytest.skip("only root can give files away")
    os.chown(path, 4242, 4242)


def linked(path: Path) -> None:
    """Put a link in place of a file."""
    path.symlink_to(path.rename(path.with_name("elsewhere")))
