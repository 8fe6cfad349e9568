"""Files: which are specs, the line of a key in one, the line of a function, and how files are named in reports."""

from __future__ import annotations

import errno
import itertools
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from highwater.limits import LARGEST_SPEC, MOST_LINES

NOT_SPECS = ("pyproject.toml",)
LONGEST_STATEMENT = 200  # lines in which the value of a key is looked for


def may_be_spec(path: Path) -> bool:
    """Whether a file found in a folder is taken for a spec."""
    return path.suffix == ".toml" and path.name not in NOT_SPECS


def text_of(path: Path, most: int) -> str:
    """The text of a file, without a byte order mark, its lines ended as Python's are.

    Raises:
        OSError: it cannot be read, is no file (a pipe would be waited for, a device has no end), or holds more than so
            many bytes.
        UnicodeDecodeError: it is not UTF-8.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "is a pipe, a device or a socket, and not a file")
        data = file.read(most + 1)
    if len(data) > most:
        from highwater.explorer.memory import (
            in_bytes,  # not before pytest has imported tests, which may hide our packages
        )

        raise OSError(errno.EFBIG, f"is larger than {in_bytes(most)}, which is the most that is read")
    return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def comment_of(text: str) -> str:
    """The comment with which a spec begins, as one line for each paragraph; empty if it begins with a key."""
    lines = list(itertools.takewhile(lambda line: line.startswith("#"), text.splitlines()))
    words = [line.removeprefix("#").strip() for line in lines if not line.startswith("#:")]  # these are for editors
    paragraphs = itertools.groupby(words, key=bool)
    return "\n".join(" ".join(of) for is_there, of in paragraphs if is_there)


def line_of_key(path: Path, key: str) -> int:
    """The line of a spec file, counted from 1, on which the statement begins that gives a dotted key its value.

    Of a key that the file leaves out, the closest table that should hold it; for one without any, and for a file that
    cannot be read, the line of `check`, or else the first. Lines come from the TOML parser itself: statements end where
    a beginning of the file parses.
    """
    try:
        lines = text_of(path, LARGEST_SPEC).split("\n")
    except (OSError, ValueError):
        return 1
    if len(lines) > MOST_LINES:
        return 1
    parts = key.split(".")
    wanted = [tuple(parts[:length]) for length in range(len(parts), 0, -1)] + [("check",)]
    found: dict[tuple[str, ...], int] = {}
    begin = 0
    for end in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("\n".join(lines[:end]))
        except (ValueError, RecursionError):
            continue
        for keys in wanted:
            if keys not in found and _holds(data, keys):
                found[keys] = 1 + next(
                    n for n in range(begin, end) if lines[n].strip() and not lines[n].lstrip().startswith("#")
                )
        begin = end
    return next((found[keys] for keys in wanted if keys in found), 1)


def place_of(path: Path, problem: str) -> tuple[int, int]:
    """Where in a spec file something is wrong, line and column counted from 1: at the value that the words name, or at
    the key that they begin with, or where the TOML parser stopped, which says so.
    """
    if at := re.fullmatch(r"is not TOML: .*\(at line (\d+), column (\d+)\)", problem, re.DOTALL):
        return int(at[1]), int(at[2])
    try:
        lines = text_of(path, LARGEST_SPEC).rstrip().split("\n")
    except (OSError, ValueError):
        return 1, 1
    if problem.startswith("is not TOML: ") and problem.endswith("(at end of document)"):
        return len(lines), len(lines[-1]) + 1
    key, _, words = problem.partition(": ")
    line, name = line_of_key(path, key), re.escape(key.rpartition(".")[2])
    value = re.match(r'"(?:[^"\\]|\\.)*"', words)
    key_in = rf"(?<![\w-])({name})(?![\w-])\s*\"?\s*="
    quoted = rf"{key_in}.*?([\"']{re.escape(value[0][1:-1])}[\"'])" if value else key_in
    for wanted in (quoted, key_in):
        statement = _without_comments("\n".join(lines[line - 1 : line - 1 + LONGEST_STATEMENT]))
        if found := re.search(wanted, statement, re.DOTALL):
            before = statement[: found.start(found.lastindex or 0)]
            return line + before.count("\n"), len(before) - (before.rfind("\n") + 1) + 1
    return line, 1


def _without_comments(text: str) -> str:
    """A part of a spec with blanks in place of its comments."""
    texts = r"""("(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
    return re.sub(rf"{texts}|#[^\n]*", lambda found: found[1] or " " * len(found[0]), text)


def located(path: Path, problem: str) -> str:
    """What is wrong with a spec file, with where, as editors and compilers write it."""
    line, column = place_of(path, problem)
    return f"{path}:{line}:{column}: {problem}"


def _holds(data: Any, keys: tuple[str, ...]) -> bool:
    for key in keys:
        if not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return True


def line_of_function(function: Any) -> tuple[Path, int]:
    """The file of a plain function, and its first line."""
    code = function.__code__
    return Path(code.co_filename), code.co_firstlineno


def in_repository(path: Path) -> Path:
    """A path as the repository's own tools name it: relative to GitHub's checkout, or else to the current folder, where
    it lies inside.
    """
    for root in (os.environ.get("GITHUB_WORKSPACE"), os.getcwd()):
        if root and Path(path).absolute().is_relative_to(Path(root).absolute()):
            return Path(path).absolute().relative_to(Path(root).absolute())
    return path


def readable(path: object) -> str:
    """A file's name as text, also where its bytes are no UTF-8."""
    return os.fsencode(str(path)).decode("utf-8", "replace")
