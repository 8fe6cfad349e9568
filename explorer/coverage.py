"""Which statements of actions and properties ran on no state that was reached: guards that always hold, antecedents that never do.

Every path that a reached state takes through a function was run in Python once, and the program keeps the state it was learned on. These
states are run again here, one line at a time, on the plain functions. So what never ran here does not run on any reached state; nothing is
sampled. A statement that only refuses (`return Witness(...)`, `return False`) is not missed in a property that holds.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from explorer.program import Program
from explorer.system import is_machinery
from explorer.verdict import Unreached
from model.domain import Action, Instance

RUNS_BETWEEN_LOOKS = 64


def unreached(program: Program) -> list[Unreached]:
    """What never ran of a program's functions and of the model's functions that they call, in the order of the instances."""
    runs: dict[Any, list[tuple[Instance, Any]]] = {instance.of: [] for instance in program.instances}
    for number, words in program.examples:
        instance = program.instances[number]
        runs[instance.of].append((instance, words))
    found = []
    for of, examples in runs.items():
        found += _unreached_in(of, [(instance, program.layout.unpack(words)) for instance, words in examples])
    return found


def _unreached_in(of: Any, runs: Sequence[tuple[Instance, Any]]) -> list[Unreached]:
    lines: dict[CodeType, set[int]] = {of.function.__code__: set()}
    left: list[Unreached] = []
    for first in range(0, len(runs), RUNS_BETWEEN_LOOKS):
        _note_lines(runs[first : first + RUNS_BETWEEN_LOOKS], lines)
        left = [missed for code, ran in lines.items() for missed in _missed(of, code, ran)]
        if not left:
            break
    return left if runs else [Unreached(of.name, of.function.__code__.co_filename, of.function.__code__.co_firstlineno, f"def {of.name}")]


def _note_lines(runs: Iterable[tuple[Instance, Any]], lines: dict[CodeType, set[int]]) -> None:
    """Run instances on plain states, and note which lines of the model's functions run."""

    def in_function(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            lines[frame.f_code].add(frame.f_lineno)
        return in_function

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        if _is_machinery(frame.f_code.co_filename):
            return None
        lines.setdefault(frame.f_code, set())
        return in_function

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        for instance, state in runs:
            instance.apply(state)
    finally:
        sys.settrace(before)


@functools.cache
def _is_machinery(file: str) -> bool:
    return is_machinery(Path(file))


def _missed(of: Any, code: CodeType, ran: set[int]) -> Iterator[Unreached]:
    body, texts = _function(code)
    for statement in _missed_in(body, ran, may_refuse=not isinstance(of, Action)):
        yield Unreached(of.name, code.co_filename, statement.lineno, texts[statement.lineno - 1].strip())


def _missed_in(block: Sequence[ast.stmt], ran: set[int], may_refuse: bool) -> Iterator[ast.stmt]:
    """The first statement of a block that never ran, or else those of the blocks inside."""
    for statement in block:
        inner = list(_blocks(statement))
        ends_at = min((each[0].lineno - 1 for each in inner), default=statement.end_lineno or statement.lineno)
        if ran.isdisjoint(range(statement.lineno, max(statement.lineno, ends_at) + 1)) and not _makes_no_line(statement):
            if not (may_refuse and _refuses(block)):
                yield statement
            return
        for each in inner:
            yield from _missed_in(each, ran, may_refuse)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(statement, name, None):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _makes_no_line(statement: ast.stmt) -> bool:
    """Whether a statement compiles to nothing: a docstring, or a declaration."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Global | ast.Nonlocal)


def _refuses(block: Sequence[ast.stmt]) -> bool:
    """Whether a block ends in saying that a property is false, and so runs only where it is."""
    last = block[-1]
    if not isinstance(last, ast.Return):
        return isinstance(last, ast.Raise)
    value = last.value
    called = value.func if isinstance(value, ast.Call) else None
    return (isinstance(value, ast.Constant) and value.value is False) or (isinstance(called, ast.Name) and called.id == "Witness")


def _function(code: CodeType) -> tuple[list[ast.stmt], list[str]]:
    """The statements of a function, and the lines of its file; none for a lambda, or where there is no source."""
    functions, texts = _functions_in(code.co_filename)
    return functions.get((code.co_name, code.co_firstlineno), []), texts


@functools.cache
def _functions_in(file: str) -> tuple[dict[tuple[str, int], list[ast.stmt]], list[str]]:
    try:
        text = Path(file).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        return {}, []
    functions = {
        (node.name, min(part.lineno for part in (node, *node.decorator_list))): node.body
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    return functions, text.splitlines()
