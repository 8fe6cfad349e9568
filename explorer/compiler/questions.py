"""Questions that cannot mean what they say, found in the text of a model's functions and refused.

A view cannot answer which object a part of the state is, and of which exact type. All other ways to look at a part of
a state get the right answer from a view. These do not ask the view, and read nothing: only a state in which the answer
matters would give them away.

A member of an enum is in no set of texts; see `highwater.explorer.comparisons`.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Iterable, Iterator
from enum import Enum
from types import FunctionType
from typing import Any

from highwater.explorer.blame import ModelError
from highwater.explorer.code_objects import place_of
from highwater.explorer.comparisons import is_never_equal, never_equal
from highwater.explorer.compiler.kinds import (
    GIVEN,
    Given,
    Known,
    OwnClass,
    Part,
    Parts,
    Reader,
    TypeOf,
    is_one_object,
    of_what_is_there,
    stands_for,
)
from highwater.explorer.compiler.written import OF_A_TYPE, functions_behind, identities, returned_by
from highwater.explorer.sources import Origin, changed_last, origin_of
from highwater.explorer.system import Beside, System
from highwater.model.language.declarations import Instance, Quantified
from highwater.model.language.domain import OneOf

INSTANCE = "write isinstance(...)"
TYPE = f"{INSTANCE}, or type(...) =="
EQUALITY = "write =="
OF_OBJECTS = (id, type, operator.is_, operator.is_not)
READ_UNSEEN = ("__getattribute__", "__get__")  # a field of an object


def refuse_questions(system: System, *, of_views: bool = True, trusting: bool = True) -> None:
    """Look through the functions that a system is made of, and all that these name, for questions that cannot mean what
    they say.

    A member of an enum is looked up among texts, numbers or members of another enum, or one of these among members of
    an enum: where sets and tables are asked by hashes nothing is compared, so that only the text shows it.

    Args:
        of_views: also for questions of identity and of exact types that a part of a state may be asked.
        trusting: leave out actions and properties of Highwater's own models whose functions are as they are written
            there, about states of their own, and all that these name: a test looks through those.

    Raises:
        ModelError: there is one; names file and line.
    """
    trusting &= origin_of(system.domain.cls.__module__) == Origin.MODELS
    parts = Parts(system)
    beside = [system.values_beside]
    asked: list[Quantified | type] = [*dict.fromkeys(each.of for each in system.functions), *parts.classes]
    for function, of in functions_behind(each for each in asked if not (trusting and _is_written(each))):
        reader = Reader(function, of, parts)
        for question in (*(_unanswered(reader, parts) if of_views else ()), *_never_found(reader, beside)):
            raise ModelError(question)


def _is_written(asked: Quantified | type) -> bool:
    """Whether it is of Highwater's own models, and if it has a function, whether this is as it is written there."""
    if isinstance(asked, type):
        return origin_of(asked.__module__) == Origin.MODELS
    module, code = asked.function.__module__, getattr(asked.function, "__code__", None)
    if origin_of(module) != Origin.MODELS or code is None or code.co_freevars:
        return False
    return place_of(code, module, changed_last(module)) is not None


def refuse_steps_that_never_happen(actions: Iterable[Instance]) -> None:
    """Look for an action that returns no state anywhere in its text.

    Raises:
        ModelError: there is one; names file and line.
    """
    for of in dict.fromkeys(each.of for each in actions):
        function = of.function
        if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):
            code = function.__code__
            returned = returned_by(code)
            if returned and all(isinstance(each, ast.Constant) and each.value is None for each in returned):
                raise ModelError(
                    f"{of.name} never happens: it returns no state; ({code.co_filename}:{code.co_firstlineno})"
                )


def _never_found(reader: Reader, beside: list[Beside]) -> Iterator[str]:
    """The lookups in a function's text that never find anything, in words with file and line."""
    for node in reader.text.lookups:
        for of_enum, among in _lookups(node, reader):
            for each, other in _pairs_of(of_enum, among):
                if is_never_equal(each, other, beside):
                    yield f"`{ast.unparse(node)}`: {never_equal(each, other)}\n  {reader.place(node)}"


def _lookups(node: ast.AST, reader: Reader) -> Iterator[tuple[Any, Any]]:
    """What is looked up, and where, each as it may stand for."""
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
                if isinstance(op, ast.In | ast.NotIn):
                    yield reader.kind(left), reader.values(right)
        case ast.Subscript(value=table, slice=key):
            yield reader.kind(key), reader.values(table, only_tables=True)
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]):
            yield reader.kind(key), reader.values(table, only_tables=True)


def _pairs_of(wanted: Any, among: Any) -> Iterator[tuple[Any, Any]]:
    """A member of an enum with each value of another kind that it may be held against."""
    one, many = _example(wanted), among
    if isinstance(one, Enum):
        yield from ((one, each) for each in many)
    elif isinstance(wanted, Known):
        yield from ((each, wanted.value) for each in many if isinstance(each, Enum))


def _example(kind: Any) -> Any:
    """One value of what an expression may stand for, if all of them are of one enum."""
    if isinstance(kind, Known):
        return kind.value
    domain = kind.domain if isinstance(kind, Part) else None
    domain = of_what_is_there(domain)
    members = domain.members if isinstance(domain, OneOf) else ()
    return members[0] if members and len(set(map(type, members))) == 1 else None


@functools.lru_cache(maxsize=4096)
def asks_for_an_object(of: Quantified | type) -> bool:
    """Whether a function, a method of a class, or one that it names, may ask which object, or of which exact type, its
    protocol or bounds are, or take a field of them past the object.
    """
    begin = of.__mro__ if isinstance(of, type) else [of]
    readers = (Reader(function, None, None) for function, _ in functions_behind(begin))
    return any(_asks(reader, node) for reader in readers for node in reader.text.nodes)


def _asks(reader: Reader, node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return name not in GIVEN and stands_for(reader.kind(node), *OF_OBJECTS)
        case ast.Attribute(attr=name):
            return name in READ_UNSEEN or stands_for(reader.kind(node), *OF_OBJECTS)
        case ast.Compare():
            return any(_may_be_given(reader, sides) for sides in identities(node))
    return False


def _may_be_given(reader: Reader, sides: tuple[ast.expr, ast.expr]) -> bool:
    """Whether one of two sides may be a protocol that is compared with another: with a constant, or an argument."""
    kinds = [reader.kind(each) for each in sides]
    if any(map(is_one_object, kinds)):
        return False
    return any(isinstance(each, Known | Given) for each in kinds) or all(map(reader.is_argument, sides))


def _unanswered(reader: Reader, parts: Parts) -> Iterator[str]:
    """The questions in a function's text that a view cannot answer, in words with file and line."""
    for node in reader.text.questions:
        if (hint := _hint(node, reader, parts)) is not None:
            yield (f"`{ast.unparse(node)}` cannot be answered for a part of the state: {hint}\n  {reader.place(node)}")


def _hint(node: ast.AST, reader: Reader, parts: Parts) -> str | None:
    """What to write in place of a question that a view cannot answer; None if it is none."""
    match node:
        case ast.Compare():
            found = (
                _hint_for_identity(reader.kind(left), reader.kind(right), parts) for left, right in identities(node)
            )
            return next(filter(None, found), None)
        case ast.Attribute(value=of, attr=name) if name in OF_A_TYPE and isinstance(reader.kind(of), TypeOf):
            return "name the class"
        case ast.Call(func=function, args=[argument]) if stands_for(reader.kind(function), id):
            return None if isinstance(reader.kind(argument), Known | Given) else EQUALITY
        case ast.Call(func=function, args=[of, among]) if stands_for(reader.kind(function), issubclass):
            return INSTANCE if _may_be_below(reader, of, among, parts) else None
        case ast.Call(func=function, args=[left, right]) if stands_for(reader.kind(function), *OF_OBJECTS):
            return _hint_for_identity(reader.kind(left), reader.kind(right), parts)
    return None


def _hint_for_identity(left: Any, right: Any, parts: Parts) -> str | None:
    sides = (left, right)
    known = [each.value for each in sides if isinstance(each, Known)]
    if len(known) == 2 or any(map(_has_identity, sides)):
        return None
    if known and isinstance(known[0], type):
        return TYPE if known[0] in parts.kinds and not any(isinstance(each, OwnClass) for each in sides) else None
    if any(isinstance(each, TypeOf) for each in sides):
        return TYPE
    if known:
        return EQUALITY if type(known[0]) in parts.kinds else None
    two = all(isinstance(each, Part) for each in sides) and (left.text != right.text or left.text.startswith("each "))
    return EQUALITY if two else None


def _may_be_below(reader: Reader, of: ast.expr, among: ast.expr, parts: Parts) -> bool:
    """Whether the type of a part is asked for being a subclass of what only a plain value's type is one of."""
    asked = [reader.kind(each) for each in (among.elts if isinstance(among, ast.Tuple) else [among])]
    of_records = all(isinstance(each, Known | TypeOf) for each in asked)
    known = {each.value for each in asked if isinstance(each, Known)}
    return isinstance(reader.kind(of), TypeOf) and not (of_records and known.isdisjoint(parts.kinds - {*parts.classes}))


def _has_identity(kind: Any) -> bool:
    """Whether which object it is does not depend on how a state is kept."""
    return is_one_object(kind) or isinstance(kind, Given) or (isinstance(kind, Part) and kind.has_identity)
