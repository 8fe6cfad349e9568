"""What is written in a model's functions, and which functions these are."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import attrs

from highwater.explorer.blame import is_machinery
from highwater.explorer.code_objects import once_for_code
from highwater.explorer.sources import stamp_of
from highwater.model.language.declarations import Quantified

OF_A_TYPE = ("mro", "__mro__", "__base__", "__bases__", "__dict__", "__subclasses__", "__slots__")
"""What a class says of itself that the class of a view says otherwise."""
PLAIN = {bool, bytes, float, int, str, type(None)}


@attrs.frozen(eq=False)
class Text:
    """What is written in code, and in what is defined inside it; nothing where there is no source.

    Attributes:
        nodes: all its parts.
        questions: those that may ask for an object or a type.
        lookups: those that may look something up by its hash.
        assigned: by name, what it is bound to; None where that is not an expression.
        members: by name, what it runs over.
    """

    nodes: tuple[ast.AST, ...]
    questions: tuple[ast.AST, ...]
    lookups: tuple[ast.AST, ...]
    assigned: dict[str, list[ast.expr | None]] = attrs.field(factory=dict)
    members: dict[str, list[ast.expr]] = attrs.field(factory=dict)

    def note(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                self._bind(target, value)
            case ast.AugAssign(target=ast.Name(id=name)):
                self.assigned.setdefault(name, []).append(None)
            case ast.For(target=target, iter=of) | ast.comprehension(target=target, iter=of):
                if isinstance(target, ast.Name):
                    self.members.setdefault(target.id, []).append(of)
                else:
                    self._bind(target, None)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            whole = len(values) == len(target.elts)
            for number, each in enumerate(target.elts):
                self._bind(each, values[number] if whole else None)


@once_for_code
def text_of(code: CodeType) -> Text:
    by_line = _nodes_of(code.co_filename, stamp_of(code.co_filename))
    nodes = tuple(itertools.chain.from_iterable(by_line.get(line, ()) for line in _lines(code)))
    text = Text(nodes, tuple(filter(_may_ask, nodes)), tuple(filter(_may_look_up, nodes)))
    for node in nodes:
        text.note(node)
    return text


def _may_ask(node: ast.AST) -> bool:
    match node:
        case ast.Compare():
            return bool(identities(node))
        case ast.Attribute(attr=name):
            return name in OF_A_TYPE
        case ast.Call(args=[_] | [_, _]):
            return True
    return False


def _may_look_up(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=ops):
            return any(isinstance(each, ast.In | ast.NotIn) for each in ops)
        case ast.Subscript() | ast.Call(func=ast.Attribute(attr="get"), args=[_, *_]):
            return True
    return False


@functools.lru_cache(maxsize=512)
def _nodes_of(file: str, stamp: Any) -> dict[int, list[ast.AST]]:
    """By line, the parts of a file's text that begin there.

    Args:
        stamp: when the file was changed last.
    """
    linecache.checkcache(file)
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (ValueError, SyntaxError):
        return {}
    found: dict[int, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if (line := getattr(node, "lineno", None)) is not None:
            found.setdefault(line, []).append(node)
        for each in getattr(node, "generators", ()):
            found.setdefault(each.target.lineno, []).append(each)
    return found


@once_for_code
def _lines(code: CodeType) -> frozenset[int]:
    inner = [_lines(each) for each in code.co_consts if isinstance(each, CodeType)]
    return frozenset(line for _, _, line in code.co_lines() if line).union(*inner)


def functions_behind(begin: Iterable[Any]) -> Iterator[tuple[FunctionType, Quantified | None]]:
    """The model's functions that can be reached by name, each with what it is the function of."""
    seen: dict[int, Any] = {}
    ahead: list[tuple[Any, Quantified | None]] = [(each, None) for each in begin]
    while ahead:
        found, of = ahead.pop()
        if id(found) in seen or type(found) in PLAIN or hasattr(type(found), "__plain__"):  # a view in a cache
            continue
        seen[id(found)] = found
        if isinstance(found, Quantified):
            ahead.append((found.function, found))
            continue
        if isinstance(found, FunctionType) and not _is_machinery(found.__code__.co_filename):
            yield found, of
            ahead += ((each, None) for each in _named(found))
        ahead += ((each, None) for each in _behind(found))


@functools.cache
def _is_machinery(file: str) -> bool:
    return is_machinery(Path(file))


def _behind(found: Any) -> list[Any]:
    """What else may run where a function uses something: what it wraps, holds or is made of."""
    behind = [found.__wrapped__] if hasattr(found, "__wrapped__") else []
    match found:
        case FunctionType():
            return [*behind, *(found.__defaults__ or ()), *(found.__kwdefaults__ or {}).values()]
        case MethodType():
            return [found.__func__, type(found.__self__)]
        case functools.partial():
            return [found.func, *found.args, *found.keywords.values()]
        case type():
            return list(map(_function_of, vars(found).values())) if _is_of_a_model(found) else behind
        case tuple() | list() | set() | frozenset():
            return list(found)
        case dict():
            return list(found.values())
    return [*behind, type(found)]


def _is_of_a_model(cls: type) -> bool:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return cls.__module__ != "builtins" and (file is None or not _is_machinery(file))


def _function_of(member: Any) -> Any:
    """The function behind a property, a cached one, or a class or static method."""
    if isinstance(member, FunctionType):
        return member
    return next((getattr(member, name) for name in ("fget", "func", "__func__") if hasattr(member, name)), member)


def _named(function: FunctionType) -> list[Any]:
    names = _names(function.__code__)
    found = [function.__globals__[name] for name in names if name in function.__globals__]
    found += enclosed(function).values()
    found += [
        getattr(each, name) for each in found if isinstance(each, ModuleType) for name in names if hasattr(each, name)
    ]
    return [each for each in found if not isinstance(each, ModuleType)]


def enclosed(function: FunctionType) -> dict[str, Any]:
    """What a function encloses, by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != type(cell)()}


@once_for_code
def own_names(code: CodeType) -> set[str]:
    """The arguments and local names of code, and of what is defined inside it."""
    return set(code.co_varnames).union(*(own_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


@once_for_code
def _names(code: CodeType) -> set[str]:
    """The global names and attributes that code uses, and what is defined inside it; not those that pytest writes into
    a test's assertions, which nobody can write.
    """
    own = filter(str.isidentifier, code.co_names)
    return set(own).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def identities(node: ast.Compare) -> list[tuple[ast.expr, ast.expr]]:
    """The pairs of sides that `is` and `is not` compare."""
    sides = [node.left, *node.comparators]
    return [
        (left, right)
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        if isinstance(op, ast.Is | ast.IsNot)
    ]


@once_for_code
def returned_by(code: CodeType) -> tuple[ast.expr, ...]:
    """What a function's text returns, None at its end included; nothing where there is no text, or where it may raise,
    as the error says more then.
    """
    first = code.co_firstlineno
    found = [
        node
        for node in itertools.chain.from_iterable(_nodes_of(code.co_filename, stamp_of(code.co_filename)).values())
        if isinstance(node, ast.FunctionDef)
        and node.name == code.co_name
        and first == min([node.lineno, *(part.lineno for part in node.decorator_list)])
    ]
    nodes = [each for node in found[:1] for each in _own_nodes(node)]
    if not nodes or any(isinstance(each, ast.Raise | ast.Assert) for each in nodes):
        return ()
    return (ast.Constant(None), *(each.value or ast.Constant(None) for each in nodes if isinstance(each, ast.Return)))


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The parts of a function, but for those of functions that are defined inside it."""
    ahead: list[ast.AST] = list(function.body)
    while ahead:
        node = ahead.pop()
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            ahead += ast.iter_child_nodes(node)
