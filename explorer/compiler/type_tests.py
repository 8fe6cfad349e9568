"""Tests of exact types, which a view cannot pass: `type(x) is Point` is found in the text of a model's functions, and
refused.

All other ways to ask for a type get the right answer from a view. This one does not ask the view, and reads nothing:
only a state in which the answer matters would give it away.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from explorer.system import ModelError, is_machinery
from model.language.declarations import Instance, Quantified
from model.language.domain import Struct, classes_in


def refuse_exact_type_tests(instances: Iterable[Instance], state: Struct) -> None:
    """Look through the functions that instances are made of, and all that these name, for `type(...) is` a type that
    states are made of.

    Raises:
        ModelError: there is one; names file and line.
    """
    classes = set(classes_in(state))
    for function in _functions([*{instance.of for instance in instances}, *classes]):
        if function.__globals__.get("type", type) is type and "type" in _names(function.__code__):
            _look_through(function, {*classes, tuple, frozenset})


def _look_through(function: FunctionType, refused: set[type]) -> None:
    code = function.__code__
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    lines = _lines(code)
    for node in _identity_tests(code.co_filename):
        sides = (node.left, node.comparators[0])
        asked = [_is_call_of_type(side) for side in sides]
        if node.lineno in lines and (all(asked) or (any(asked) and _meaning(sides[asked[0]], names) in refused)):
            raise ModelError(
                f"`{ast.unparse(node)}` cannot be answered for a part of the state: write isinstance(...), or "
                "type(...) ==\n"
                f"  at {code.co_filename}:{node.lineno} in {code.co_name}"
            )


@functools.cache
def _identity_tests(file: str) -> list[ast.Compare]:
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return []
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot)
    ]


def _lines(code: CodeType) -> set[int]:
    inner = [_lines(each) for each in code.co_consts if isinstance(each, CodeType)]
    return {line for _, _, line in code.co_lines() if line}.union(*inner)


def _is_call_of_type(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "type"
        and len(node.args) == 1
    )


def _meaning(node: ast.expr, names: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return names.get(node.id, {"tuple": tuple, "frozenset": frozenset}.get(node.id))
    return getattr(_meaning(node.value, names), node.attr, None) if isinstance(node, ast.Attribute) else None


def _functions(begin: Iterable[Any]) -> Iterator[FunctionType]:
    """The model's functions that can be reached by name."""
    seen: set[int] = set()
    of_the_model: dict[str, bool] = {}
    ahead = list(begin)
    while ahead:
        found = ahead.pop()
        found = found.function if isinstance(found, Quantified) else found
        if id(found) in seen:
            continue
        seen.add(id(found))
        if hasattr(found, "__wrapped__"):
            ahead.append(found.__wrapped__)
        if isinstance(found, FunctionType):
            file = found.__code__.co_filename
            if file not in of_the_model:
                of_the_model[file] = not is_machinery(Path(file))
            if of_the_model[file]:
                yield found
                ahead += _named(found)
        elif isinstance(found, type) and found.__module__ != "builtins":
            ahead += filter(_leads_on, map(_function_of, vars(found).values()))


def _function_of(member: Any) -> Any:
    """The function behind a property, a cached one, or a class or static method."""
    if isinstance(member, FunctionType):
        return member
    return next((getattr(member, name) for name in ("fget", "func", "__func__") if hasattr(member, name)), member)


def _named(function: FunctionType) -> list[Any]:
    names = _names(function.__code__)
    found = [function.__globals__[name] for name in names if name in function.__globals__]
    found += [cell.cell_contents for cell in function.__closure__ or () if cell != type(cell)()]
    found += [
        getattr(each, name) for each in found if isinstance(each, ModuleType) for name in names if hasattr(each, name)
    ]
    return list(filter(_leads_on, found))


def _leads_on(found: Any) -> bool:
    """Whether there is, or may be, a function behind what was found."""
    return isinstance(found, FunctionType | Quantified | type) or hasattr(found, "__wrapped__")


@functools.cache
def _names(code: CodeType) -> set[str]:
    """The global names and attributes that code uses, and what is defined inside it."""
    return set(code.co_names).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))
