"""Which statements of actions and properties ran on no state that was reached: guards that always hold, antecedents
that never do.

Every path that a reached state takes through a function was run in Python once, and the program keeps the state it was
learned on. These states are run again here, one line at a time, on the plain functions. So what never ran here does not
run on any reached state; nothing is sampled. In a property two ends of a block are not missed: one that only exempts,
so that it returns True; and one that refuses unless it exempts. To refuse is to return False, a `Witness`, or what a
function returns that is declared to return one.
"""

from __future__ import annotations

import ast
import dis
import functools
import gc
import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import attrs

from highwater.explorer.blame import is_machinery
from highwater.explorer.code_objects import once_for_code
from highwater.explorer.compiler.comparison import PlainStates
from highwater.explorer.compiler.programs import Program
from highwater.explorer.search.engine.compiled import Compiled
from highwater.explorer.verdict import NO_GOAL, NO_PREMISE, Called, Unreached
from highwater.model.language.declarations import Action, Instance, Witness

JUMPS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")

Functions = dict[int, "Seen"]
"""By the identity of their code, as code of two files may be equal."""


@attrs.define
class Seen:
    """What was seen of one function of the model: its code, during which action or property first, its module's names,
    and how many paths ran each line.
    """

    code: CodeType
    of: Any
    names: Mapping[str, Any]
    ran: Counter[int] = attrs.field(factory=Counter)


@attrs.frozen
class Looked:
    """What was seen of a program's functions, and of the model's functions that they call.

    Attributes:
        apart: for all actions together and for each property, also what was not called.
        called: what was called in any of them.
    """

    apart: Mapping[Any, Functions]
    called: Functions


def look(program: Program) -> Looked:
    """Run a program's instances on the plain states of all its paths, and note which lines of the model's functions
    run.
    """
    ofs = dict.fromkeys(instance.of for instance in program.instances)
    apart: dict[Any, Functions] = {_together(of): {} for of in ofs}
    for of in ofs:
        code = of.function.__code__
        if not _is_machinery(code.co_filename):  # as that of a refinement is
            apart[_together(of)][id(code)] = Seen(code, of, of.function.__globals__)
    called: Functions = {}
    unpacked = PlainStates(program.layout).unpacked  # many paths were learned on one state, or on one like it
    for number, words in program.examples:
        instance = program.instances[number]
        for code, names, lines in _lines_run(instance, unpacked(words)):
            for functions in (apart[_together(instance.of)], called):
                functions.setdefault(id(code), Seen(code, instance.of, names)).ran.update(lines)
    return Looked(apart, called)


def unreached(looks: Iterable[Looked]) -> tuple[Unreached, ...]:
    """What never ran, program by program.

    Of actions, what ran in none of them; of properties, what did not run in each, as what one leaves untested no other
    makes up for.
    """
    return tuple(
        missed
        for looked in looks
        for functions in looked.apart.values()
        for seen in functions.values()
        for missed in never_ran(_called(seen))
    )


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


def functions_run(looks: Iterable[Looked]) -> tuple[Called, ...]:
    """The model's functions that were called, each with how many paths ran each of its lines.

    A path is one way through a function, which any number of states take.

    Args:
        looks: at actions first.
    """
    found: Functions = {}
    for looked in looks:
        for code, seen in looked.called.items():
            found.setdefault(code, attrs.evolve(seen, ran=Counter())).ran.update(seen.ran)
    return tuple(map(_called, found.values()))


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
    body = functions.get((function.name, function.first_line), [])
    missed = (each.lineno for each in _missed_in(body, function.lines) if each.lineno not in function.spared)
    return [Unreached(function.of, function.file, line, texts[line - 1].strip()) for line in missed]


@once_for_code
def _lines_of(code: CodeType) -> set[int]:
    """The lines of a function's body."""
    return {line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno}


@once_for_code
def _jumps_of(code: CodeType) -> frozenset[int]:
    """Where code jumps in a line that does something else, too: to come to the jump alone is not to run the line.
    Python 3.11.2 counts the jump from a false `if`, the last in a `case`, to the last line of what that guards.
    """
    found = [(each, each.positions and each.positions.lineno) for each in dis.get_instructions(code)]
    does_more = {line for each, line in found if each.opname not in JUMPS}
    return frozenset(each.offset for each, line in found if each.opname in JUMPS and line in does_more)


def _together(of: Any) -> Any:
    return Action if isinstance(of, Action) else of


def _lines_run(instance: Instance, state: Any) -> Iterable[tuple[CodeType, Mapping[str, Any], set[int]]]:
    """The functions of the model that an instance runs on a plain state: code, names of the module, lines that ran."""
    ran: dict[int, tuple[CodeType, Mapping[str, Any], set[int]]] = {}

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        if _is_machinery(frame.f_code.co_filename):
            return None
        lines = ran.setdefault(id(frame.f_code), (frame.f_code, frame.f_globals, set()))[2]
        jumps = _jumps_of(frame.f_code)

        def in_function(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line" and frame.f_lasti not in jumps:
                lines.add(frame.f_lineno)
            return in_function

        return in_function

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # it may call any function of the process, which would pass for one of the model's
    sys.settrace(at_call)
    try:
        instance.apply(state)
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return ran.values()


@functools.cache
def _is_machinery(file: str) -> bool:
    return is_machinery(Path(file))


def _called(seen: Seen) -> Called:
    code = seen.code
    lines = {line: seen.ran[line] for line in sorted(_lines_of(code))}
    spared = frozenset() if isinstance(seen.of, Action) else frozenset(_spared_in(_body(code), seen.names))
    return Called(seen.of.name, code.co_name, code.co_filename, code.co_firstlineno, lines, spared)


def _missed_in(block: Sequence[ast.stmt], paths: Mapping[int, int]) -> Iterator[ast.stmt]:
    """The first statement of a block that never ran, or else those of the blocks inside. What compiles to nothing, such
    as a declaration, has no line.
    """
    for statement in block:
        inner = list(_blocks(statement))
        ends_at = min((each[0].lineno - 1 for each in inner), default=statement.end_lineno or statement.lineno)
        own = paths.keys() & range(statement.lineno, max(statement.lineno, ends_at) + 1)
        if own and not any(paths[line] for line in own):
            yield statement
            return
        for each in inner:
            yield from _missed_in(each, paths)


def _spared_in(block: Sequence[ast.stmt], names: Mapping[str, Any]) -> set[int]:
    """The lines where statements begin after which a block only exempts, or refuses unless it exempts. To exempt tests
    nothing, and a property that holds never refuses. Names are those of the property's module.
    """
    end = _verdict(block[-1].value, names) if block and isinstance(block[-1], ast.Return) else None
    ends: set[bool | None] = set() if end is None else {True, end}
    last = itertools.takewhile(lambda each: ends and _verdicts(each, names) <= ends, reversed(block))
    found = {statement.lineno for statement in last}
    return found.union(*(_spared_in(inner, names) for statement in block for inner in _blocks(statement)))


def _verdicts(statement: ast.stmt, names: Mapping[str, Any]) -> set[bool | None]:
    """What a statement may return: True if it exempts, False if it refuses, None where neither is certain."""
    inside = (_verdicts(each, names) for block in _blocks(statement) for each in block)
    return {_verdict(statement.value, names)} if isinstance(statement, ast.Return) else set().union(*inside)


def _verdict(value: ast.expr | None, names: Mapping[str, Any]) -> bool | None:
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return value.value
    called = names.get(value.func.id) if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None
    refuses = called is Witness or getattr(called, "__annotations__", {}).get("return") in (Witness, "Witness")
    return False if refuses else None


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(statement, name, None):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


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
