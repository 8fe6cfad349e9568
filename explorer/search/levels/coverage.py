"""Which statements of actions and properties ran on no state that was reached: guards that always hold, antecedents
that never do.

Every path that a reached state takes through a function was run in Python once, and the program keeps the state it was
learned on. These states are run again here, one line at a time, on the plain functions. So what never ran here does not
run on any reached state; nothing is sampled. In a property, what only refuses is not missed: it returns False, a
`Witness`, or what a function returns that is declared to return one. Nor is what only exempts: it returns True.
"""

from __future__ import annotations

import ast
import functools
import gc
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import attrs

from highwater.explorer.blame import is_machinery
from highwater.explorer.code_objects import once_for_code
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.programs import Program
from highwater.explorer.search.engine.compiled import Compiled
from highwater.explorer.verdict import NO_GOAL, NO_PREMISE, Called, Unreached
from highwater.model.language.declarations import Action, Instance, Witness

RUNS_BETWEEN_LOOKS = 64

Run = tuple[Instance, Any]
"""An instance, and the packed state to run it on."""


@attrs.define
class Seen:
    """What was seen of one function of the model: during which action or property first, its module's names, and the
    lines that ran.
    """

    of: Any
    names: Mapping[str, Any]
    ran: set[int]


def unreached(program: Program) -> list[Unreached]:
    """What never ran of a program's functions and of the model's functions that they call.

    Of actions, what ran in none of them; of properties, what did not run in each, as what one leaves untested no other
    makes up for.
    """
    runs: dict[Any, list[Run]] = {}
    for instance in program.instances:
        runs.setdefault(_together(instance), [])
    for number, words in program.examples:
        instance = program.instances[number]
        runs[_together(instance)].append((instance, words))
    ofs = dict.fromkeys(instance.of for instance in program.instances)
    found = []
    for group, examples in runs.items():
        codes = {of.function.__code__: of for of in ofs if group in (Action, of)}
        seen = {
            code: Seen(of, of.function.__globals__, set())
            for code, of in codes.items()
            if not _is_machinery(code.co_filename)  # as that of a refinement is
        }
        found += _unreached_in(seen, examples, program.layout)
    return found


def holds_for_nothing(engine: Compiled) -> dict[str, str]:
    """The properties that hold for nothing, each with why. All states were judged, so that each path of a premise, and
    of a prospect, was taken in one.
    """
    system = engine.system
    found = {each.of.name: NO_GOAL for each in system.prospects}
    found |= {each.of.name: NO_PREMISE for each in system.liveness if each.premise is not None}
    of_premises = {each.premise: each.of.name for each in system.liveness}
    for number, words in engine.prospects.examples:
        _unless_true(found, system.prospects[number], system.prospects[number].of.name, engine.layout.unpack(words))
    for number, words in engine.premises.examples:
        premise = system.premises[number]
        _unless_true(found, premise, of_premises[premise], engine.layout.unpack(words))
    return found


def _unless_true(found: dict[str, str], instance: Instance, name: str, state: Any) -> None:
    if name in found and instance.apply(state):
        del found[name]


def functions_run(programs: Iterable[Program]) -> tuple[Called, ...]:
    """The model's functions that were called, each with how many paths ran each of its lines.

    A path is one way through a function, which any number of states take.

    Args:
        programs: those of actions first.
    """
    paths: dict[CodeType, Counter[int]] = {}
    first: dict[CodeType, Seen] = {}
    for program in programs:
        for number, words in program.examples:
            seen: dict[CodeType, Seen] = {}
            _note_lines([(program.instances[number], words)], program.layout, seen)
            for code, function in seen.items():
                first.setdefault(code, function)
                paths.setdefault(code, Counter()).update(function.ran)
    return tuple(
        _called(code, seen, {line: paths[code][line] for line in sorted(_lines_of(code))})
        for code, seen in first.items()
    )


def together(found: Iterable[Called]) -> list[Called]:
    """Functions that several searches called, each once: with all paths that ran its lines."""
    merged: dict[tuple[str, int, str], Called] = {}
    for each in found:
        key = each.file, each.first_line, each.name
        if key in merged:
            other = merged[key]
            lines = Counter(other.lines)
            lines.update(each.lines)
            each = attrs.evolve(other, lines=dict(lines), spared=other.spared & each.spared)
        merged[key] = each
    return list(merged.values())


def never_ran(function: Called) -> list[Unreached]:
    """The statements of a function that never ran, and are not spared; of a block, the first one."""
    functions, texts = _functions_in(function.file)
    ran = {line for line, paths in function.lines.items() if paths}
    body = functions.get((function.name, function.first_line), [])
    missed = (each.lineno for each in _missed_in(body, ran) if each.lineno not in function.spared)
    return [Unreached(function.of, function.file, line, texts[line - 1].strip()) for line in missed]


@once_for_code
def _lines_of(code: CodeType) -> set[int]:
    """The lines of a function's body."""
    return {line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno}


def _together(instance: Instance) -> Any:
    return Action if isinstance(instance.of, Action) else instance.of


def _unreached_in(seen: dict[CodeType, Seen], runs: Sequence[Run], layout: Layout) -> list[Unreached]:
    left: list[Unreached] = []
    for first in range(0, max(1, len(runs)), RUNS_BETWEEN_LOOKS):
        _note_lines(runs[first : first + RUNS_BETWEEN_LOOKS], layout, seen)
        left = [missed for code, function in seen.items() for missed in _missed(code, function)]
        if not left:
            break
    return left


def _note_lines(runs: Iterable[Run], layout: Layout, seen: dict[CodeType, Seen]) -> None:
    """Run instances on plain states, and note which lines of the model's functions run."""
    on_plain_states = [(instance, layout.unpack(words)) for instance, words in runs]
    of: Any = None

    def in_function(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            seen[frame.f_code].ran.add(frame.f_lineno)
        return in_function

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        if _is_machinery(frame.f_code.co_filename):
            return None
        if frame.f_code not in seen:
            seen[frame.f_code] = Seen(of, frame.f_globals, set())
        return in_function

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # it may call any function of the process, which would pass for one of the model's
    sys.settrace(at_call)
    try:
        for instance, state in on_plain_states:
            of = instance.of
            instance.apply(state)
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()


@functools.cache
def _is_machinery(file: str) -> bool:
    return is_machinery(Path(file))


def _missed(code: CodeType, seen: Seen) -> list[Unreached]:
    lines = {line: int(line in seen.ran) for line in _lines_of(code)}
    return never_ran(_called(code, seen, lines))


def _called(code: CodeType, seen: Seen, lines: dict[int, int]) -> Called:
    spared = frozenset() if isinstance(seen.of, Action) else frozenset(_spared_in(_body(code), seen.names))
    return Called(seen.of.name, code.co_name, code.co_filename, code.co_firstlineno, lines, spared)


def _missed_in(block: Sequence[ast.stmt], ran: set[int]) -> Iterator[ast.stmt]:
    """The first statement of a block that never ran, or else those of the blocks inside."""
    for statement in block:
        inner = list(_blocks(statement))
        ends_at = min((each[0].lineno - 1 for each in inner), default=statement.end_lineno or statement.lineno)
        if ran.isdisjoint(range(statement.lineno, max(statement.lineno, ends_at) + 1)) and not _makes_no_line(
            statement
        ):
            yield statement
            return
        for each in inner:
            yield from _missed_in(each, ran)


def _spared_in(block: Sequence[ast.stmt], names: Mapping[str, Any]) -> set[int]:
    """The lines where statements begin whose block only refuses, or exempts. Names are those of a property's module."""
    found = {statement.lineno for statement in block} if _only_refuses_or_exempts(block, names) else set()
    return found.union(*(_spared_in(inner, names) for statement in block for inner in _blocks(statement)))


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


def _only_refuses_or_exempts(block: Sequence[ast.stmt], names: Mapping[str, Any]) -> bool:
    """Whether a block of a property refuses, which it never does where the property holds, or exempts, which tests
    nothing.
    """
    value = block[-1].value if block and isinstance(block[-1], ast.Return) else None
    if isinstance(value, ast.Constant):
        return isinstance(value.value, bool)
    called = names.get(value.func.id) if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None
    return called is Witness or getattr(called, "__annotations__", {}).get("return") in (Witness, "Witness")


def _body(code: CodeType) -> list[ast.stmt]:
    """The statements of a function; none for a lambda, or where there is no source."""
    functions, _ = _functions_in(code.co_filename)
    return functions.get((code.co_name, code.co_firstlineno), [])


@functools.cache
def _functions_in(file: str) -> tuple[dict[tuple[str, int], list[ast.stmt]], list[str]]:
    try:
        text = Path(file).read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        return {}, []
    functions = {
        (node.name, min([node.lineno, *(part.lineno for part in node.decorator_list)])): node.body
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    return functions, text.splitlines()
