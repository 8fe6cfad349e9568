"""Why an action is not enabled in a state: the guard that refuses it, where that guard stands, and the values that it
looked at.

The action runs once in plain Python while every return of a frame is noted. The guard is read off the source of the
statement that returned None.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import attrs

from highwater.explorer.blame import where
from highwater.model.language.declarations import Instance

LONGEST_VALUE = 60


@attrs.frozen
class Refusal:
    """The guard that refuses an action.

    Attributes:
        guard: the condition as it stands in the source; the whole statement where no single condition refuses.
        file, line: where it stands; counted from 1.
        values: what the condition looked at, by how the source spells it.
    """

    guard: str
    file: str
    line: int
    values: Mapping[str, str] = attrs.field(factory=dict)

    def __str__(self) -> str:
        looked_at = ", ".join(f"{name} is {value}" for name, value in self.values.items())
        return f"{self.guard}{f'  ({looked_at})' if looked_at else ''}"


@attrs.frozen
class _Return:
    """A frame that returned None: how deep it was called, its line, and its names then."""

    depth: int
    code: CodeType
    line: int
    names: Mapping[str, Any]


def refusal(instance: Instance, state: Any) -> Refusal:
    """The guard that refuses an action in a state in which it is not enabled."""
    noted = _returns_of_none(instance, state)
    outermost = next((each for each in reversed(noted) if each.depth == 1), None)
    found = None if outermost is None else _explained(outermost, noted)
    if found is None:
        place, _, line = where(instance).strip("()").rpartition(":")
        found = Refusal("it returns None", place, int(line))
    return found


def _returns_of_none(instance: Instance, state: Any) -> list[_Return]:
    """Run an action, and note the frames that returned None in the order of returning."""
    noted: list[_Return] = []
    wanted, depth = instance.of.function.__code__, 0

    def in_frame(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal depth
        if event == "return":
            if argument is None:
                noted.append(_Return(depth, frame.f_code, frame.f_lineno, {**frame.f_globals, **frame.f_locals}))
            depth -= 1
        return in_frame

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal depth
        if not depth and frame.f_code is not wanted:
            return None
        depth += 1
        return in_frame

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        instance.apply(state)
    finally:
        sys.settrace(before)
    return noted


def _explained(at: _Return, noted: list[_Return]) -> Refusal | None:
    """The guard behind a frame's None."""
    texts = _lines(at.code.co_filename)
    way = _way_to(at.code, at.line)
    if not way:
        return None
    statement = next(each for each in reversed(way) if isinstance(each, ast.stmt))
    if isinstance(statement, ast.Match):  # none of its cases
        looked_at = dict(_looked_at(ast.Tuple([statement.subject], ast.Load()), at.names))
        return Refusal(f"match {ast.unparse(statement.subject)}", at.code.co_filename, statement.lineno, looked_at)
    value = statement.value if isinstance(statement, ast.Return) else None
    while isinstance(value, ast.IfExp):
        taken = bool(_evaluated(value.test, at.names))
        test, value = value.test, value.body if taken else value.orelse
        if _is_none(value):
            return _refused_by(test, at, holds=taken)
    if isinstance(value, ast.Call):  # the function called last returned None
        called = next((each for each in reversed(noted[: noted.index(at)]) if each.depth == at.depth + 1), None)
        if called is not None and (deeper := _explained(called, noted)) is not None:
            return deeper
    for above, inner in zip(reversed(way[:-1]), reversed(way[1:]), strict=True):
        if isinstance(above, ast.If):
            found = _refused_by(above.test, at, holds=inner in above.body)
            return _said_by(found, at, noted) or found
    if (before := _sibling_before(statement, at.code)) is not None:  # `if wanted: return after`, and then None
        return _refused_by(before.test, at, holds=False)
    text = texts[statement.lineno - 1].strip() if len(texts) >= statement.lineno else "return None"
    return Refusal(text, at.code.co_filename, statement.lineno)


def _refused_by(test: ast.expr, at: _Return, *, holds: bool) -> Refusal:
    """The part of a condition that decided: of alternatives the first that is true, of demands the first that is
    false.
    """
    decided = test
    while isinstance(decided, ast.BoolOp) and isinstance(decided.op, ast.Or) is holds:
        decided = next(
            (part for part in decided.values if bool(_evaluated(part, at.names)) is holds), decided.values[-1]
        )
    text = ast.unparse(decided)
    if isinstance(decided, ast.UnaryOp) and isinstance(decided.op, ast.Not) and not holds:
        decided = decided.operand
        text, holds = ast.unparse(decided), True
    guard = text if holds else f"not ({text})" if isinstance(decided, ast.BoolOp | ast.Compare) else f"not {text}"
    return Refusal(guard, at.code.co_filename, decided.lineno, dict(_looked_at(decided, at.names)))


def _said_by(found: Refusal, at: _Return, noted: list[_Return]) -> Refusal | None:
    """Where a guard asks whether something is None that a function gave: the guard in that function."""
    name = found.guard.removesuffix(" is None")
    function = _functions(at.code.co_filename)[at.code.co_name, at.code.co_firstlineno]
    given = {
        ast.unparse(each.value.func).rpartition(".")[2]
        for each in ast.walk(function)
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call) and ast.unparse(each.targets[0]) == name
    }
    frames = reversed(noted[: noted.index(at)])
    called = next((each for each in frames if each.depth == at.depth + 1 and each.code.co_name in given), None)
    return None if called is None else _explained(called, noted)


def _looked_at(node: ast.expr, names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The plain values that a condition names."""
    called = {id(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
    inside = {id(each.value) for each in ast.walk(node) if isinstance(each, ast.Attribute | ast.Subscript)}
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute | ast.Subscript) and not {id(each)} & (called | inside):
            text, value = ast.unparse(each), _evaluated(each, names)
            is_repeated = ast.unparse(node) in (text, f"{text} is None", f"{text} is not None")
            if (shown := _shown(value)) and not is_repeated and not isinstance(names.get(text.partition(".")[0]), type):
                yield text, shown


def _shown(value: Any) -> str:
    """A plain value in short; empty for what is no plain value."""
    match value:
        case Enum():
            return value.name.lower().replace("_", " ")
        case None:
            return "none"
        case bool() | int() | str():
            return str(value)[:LONGEST_VALUE]
        case frozenset() | tuple() if all(isinstance(each, bool | int | str | Enum) for each in value):
            members = sorted(map(_shown, value)) if isinstance(value, frozenset) else map(_shown, value)
            text = " ".join(members)
            return (f"{{{text}}}" if isinstance(value, frozenset) else f"[{text}]")[:LONGEST_VALUE]
    return ""


class _Unknown:
    """What an expression gave that could not be evaluated again."""

    def __bool__(self) -> bool:
        return False


def _evaluated(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """A part of a condition evaluated again: conditions of actions are pure."""
    try:
        return eval(compile(ast.Expression(node), "<guard>", "eval"), dict(names))
    except Exception:  # a name that was rebound since
        return _Unknown()


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def _way_to(code: CodeType, line: int) -> list[ast.stmt | ast.match_case]:
    """The statements of a function that enclose a line, from the function inwards; none where there is no source."""
    way: list[ast.stmt | ast.match_case] = []
    inner: ast.stmt | ast.match_case | None = _functions(code.co_filename).get((code.co_name, code.co_firstlineno))
    while inner is not None:
        way.append(inner)
        parts = (each for each in ast.iter_child_nodes(inner) if isinstance(each, ast.stmt | ast.match_case))
        inner = next((each for each in parts if _first_line(each) <= line <= _last_line(each)), None)
    return way[1:]


def _sibling_before(statement: ast.stmt, code: CodeType) -> ast.If | None:
    """The `if` before a statement of the same block, if it would have returned."""
    function = _functions(code.co_filename)[code.co_name, code.co_firstlineno]
    blocks = (getattr(node, name, None) for node in ast.walk(function) for name in ("body", "orelse"))
    block = next(block for block in blocks if isinstance(block, list) and statement in block)
    before = block[block.index(statement) - 1] if block.index(statement) else None
    returns = isinstance(before, ast.If) and not before.orelse and isinstance(before.body[-1], ast.Return)
    return before if returns else None


def _first_line(node: ast.stmt | ast.match_case) -> int:
    return node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno


def _last_line(node: ast.stmt | ast.match_case) -> int:
    last = node.body[-1] if isinstance(node, ast.match_case) else node
    return last.end_lineno or last.lineno


@functools.cache
def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


@functools.cache
def _functions(file: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """The functions of a file by name and first line, decorators included."""
    try:
        tree = ast.parse("\n".join(_lines(file)))
    except SyntaxError:
        return {}
    return {
        (node.name, min([node.lineno, *(part.lineno for part in node.decorator_list)])): node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
