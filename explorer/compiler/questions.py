"""Questions that cannot mean what they say, found in the text of a model's functions and refused.

A view cannot answer which object a part of the state is, and of which exact type. All other ways to look at a part of
a state get the right answer from a view. These do not ask the view, and read nothing: only a state in which the answer
matters would give them away.

A member of an enum is in no set of texts; see `highwater.explorer.comparisons`.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import linecache
import operator
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import attrs

from highwater.explorer.blame import ModelError, is_machinery
from highwater.explorer.code_objects import once_for_code, place_of
from highwater.explorer.comparisons import is_never_equal, never_equal
from highwater.explorer.sources import Origin, changed_last, origin_of, stamp_of
from highwater.explorer.system import Beside, System
from highwater.model.language.declarations import Instance, Quantified
from highwater.model.language.domain import OneOf, classes_in, domains_in
from highwater.model.language.shape import Domain, Shape

GIVEN = ("protocol", "bounds")
OF_A_TYPE = ("mro", "__mro__", "__base__", "__bases__", "__dict__", "__subclasses__", "__slots__")
"""What a class says of itself that the class of a view says otherwise."""
TYPE = "write isinstance(...), or type(...) =="
EQUALITY = "write =="
PLAIN = {bool, bytes, float, int, str, type(None)}
OF_OBJECTS = (id, type, operator.is_, operator.is_not)


_written = functools.cache(ast.unparse)


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
    parts = _Parts(system)
    beside = [system.values_beside]
    asked: list[Quantified | type] = [*dict.fromkeys(each.of for each in system.functions), *parts.classes]
    for function, of in _functions(each for each in asked if not (trusting and _is_written(each))):
        reader = _Reader(function, of, parts)
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
            returned = _returned(code)
            if returned and all(isinstance(each, ast.Constant) and each.value is None for each in returned):
                raise ModelError(
                    f"{of.name} never happens: it returns no state; ({code.co_filename}:{code.co_firstlineno})"
                )


@once_for_code
def _returned(code: CodeType) -> tuple[ast.expr, ...]:
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


def _never_found(reader: _Reader, beside: list[Beside]) -> Iterator[str]:
    """The lookups in a function's text that never find anything, in words with file and line."""
    for node in reader.text.lookups:
        for of_enum, among in _lookups(node, reader):
            for each, other in _pairs_of(of_enum, among):
                if is_never_equal(each, other, beside):
                    yield f"`{ast.unparse(node)}`: {never_equal(each, other)}\n  {reader.place(node)}"


def _lookups(node: ast.AST, reader: _Reader) -> Iterator[tuple[Any, Any]]:
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
    elif isinstance(wanted, _Known):
        yield from ((each, wanted.value) for each in many if isinstance(each, Enum))


def _example(kind: Any) -> Any:
    """One value of what an expression may stand for, if all of them are of one enum."""
    if isinstance(kind, _Known):
        return kind.value
    domain = kind.domain if isinstance(kind, _Part) else None
    domain = _there(domain)
    members = domain.members if isinstance(domain, OneOf) else ()
    return members[0] if members and len(set(map(type, members))) == 1 else None


@functools.lru_cache(maxsize=4096)
def asks_for_an_object(of: Quantified) -> bool:
    """Whether a function, or one that it names, may ask which object, or of which exact type, its protocol or bounds
    are.
    """
    readers = (_Reader(function, None, None) for function, _ in _functions([of]))
    return any(_asks(reader, node) for reader in readers for node in reader.text.nodes)


def _asks(reader: _Reader, node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return name not in GIVEN and _stands_for(reader.kind(node), *OF_OBJECTS)
        case ast.Attribute(attr=name):
            return name == "__getattribute__" or _stands_for(reader.kind(node), *OF_OBJECTS)
        case ast.Compare():
            return any(_may_be_given(reader, sides) for sides in _identities(node))
    return False


def _may_be_given(reader: _Reader, sides: tuple[ast.expr, ast.expr]) -> bool:
    """Whether one of two sides may be a protocol that is compared with another: with a constant, or an argument."""
    kinds = [reader.kind(each) for each in sides]
    if any(map(_is_one_object, kinds)):
        return False
    return any(isinstance(each, _Known | _Given) for each in kinds) or all(map(reader.is_argument, sides))


@attrs.frozen
class _Known:
    """An object that a name stands for."""

    value: Any


@attrs.frozen
class _Part:
    """A part of a state, by what it is called in the text; its domain if that is known."""

    text: str
    domain: Any = None

    @property
    def has_identity(self) -> bool:
        """Whether its values are the same objects each time."""
        domain = _there(self.domain)
        return isinstance(domain, Domain) and domain.is_scalar and not domain.inside()


class _TypeOf:
    """What `type(...)` gives."""


class _Given:
    """The protocol or the bounds, which functions get as they are."""


class _OwnClass:
    """What `x.__class__` gives, which is right for a view."""


class _Unknown:
    """Anything."""


class _Parts:
    """What parts of a state there may be: the classes of its records, and the domains of fields by name."""

    def __init__(self, system: System) -> None:
        self.state = system.domain
        self.toggles = _toggles(system.protocol)
        self.classes = list(dict.fromkeys(classes_in(self.state)))
        numbers = [] if system.ranks is None else [int]  # which are opaque
        self.kinds = {*self.classes, tuple, frozenset, *numbers}
        self.fields: dict[str, list[Any]] = {}
        for domain in domains_in(self.state):
            for name, of in domain.inside().items() if domain.shape is Shape.RECORD else ():
                self.fields.setdefault(name, []).append(of)

    def field(self, name: str) -> Any:
        """The domain of the fields of a name: one that is no scalar if any of them is none."""
        found = self.fields[name]
        return next((each for each in found if not each.is_scalar), found[0])


def _toggles(protocol: Any) -> dict[str, OneOf]:
    """The domains of a protocol's toggles."""
    if not attrs.has(type(protocol)):
        return {}
    found = {field.name: getattr(protocol, field.name, None) for field in attrs.fields(type(protocol))}
    return {name: OneOf(type(value)) for name, value in found.items() if isinstance(value, Enum)}


class _Reader:
    """What the expressions of a function may stand for."""

    def __init__(self, function: FunctionType, of: Quantified | None, parts: _Parts | None) -> None:
        code = function.__code__
        self.text = _text_of(code)
        self._code = code
        self._parts = parts
        self._kinds: dict[tuple[ast.expr, int], Any] = {}
        self._places = (_enclosed(function), function.__globals__, vars(builtins))
        self._arguments: dict[str, Any] = dict.fromkeys(
            code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], _Unknown()
        )
        if of is not None and parts is not None:
            for number, name in enumerate(list(self._arguments)):
                if number < of.subjects:
                    self._arguments[name] = _Part(name, parts.state)
                elif name in of.parameters:
                    self._arguments[name] = _parameter(name, of.parameters[name])
        self._arguments |= {name: _Given() for name in GIVEN if name in self._arguments}

    def place(self, node: Any) -> str:
        """Where a part of the function is written, in words."""
        return f"at {self._code.co_filename}:{node.lineno} in {self._code.co_name}"

    def values(self, node: ast.expr, *, only_tables: bool = False) -> tuple[Any, ...]:
        """The values that are looked up by hash: of a set or the keys of a table, as far as the text shows them."""
        match node:
            case ast.Set(elts=elements) if not only_tables:
                kinds = list(map(self.kind, elements))
            case ast.Dict(keys=keys):
                kinds = [_Unknown() if key is None else self.kind(key) for key in keys]
            case _:
                return self._values_of(self.kind(node), only_tables=only_tables)
        return tuple(each.value for each in kinds if isinstance(each, _Known))

    @staticmethod
    def _values_of(kind: Any, *, only_tables: bool) -> tuple[Any, ...]:
        inside = kind.domain.inside().get("") if _is_of(kind, Shape.SET) else None
        if isinstance(inside, OneOf):
            return () if only_tables else inside.members
        if isinstance(kind, _Known) and isinstance(kind.value, dict if only_tables else set | frozenset | dict):
            return tuple(kind.value)
        return ()

    def is_argument(self, node: ast.expr) -> bool:
        """Whether an expression is what the function was given."""
        return isinstance(node, ast.Name) and node.id in self._arguments and node.id not in self.text.assigned

    def kind(self, node: ast.expr, depth: int = 0) -> Any:
        """What an expression stands for, as far as the text shows it."""
        if depth > 20:
            return _Unknown()
        if (node, depth) not in self._kinds:  # names that are bound to each other lead to one expression in many ways
            self._kinds[node, depth] = self._kind(node, depth)
        return self._kinds[node, depth]

    def _kind(self, node: ast.expr, depth: int) -> Any:
        match node:
            case ast.Constant(value=value):
                return _Known(value)
            case ast.NamedExpr(value=value):
                return self.kind(value, depth + 1)
            case ast.Name(id=name):
                return self._name(name, depth)
            case ast.Attribute(value=of, attr=name):
                return self._attribute(self.kind(of, depth + 1), name, _written(node))
            case ast.Subscript(value=of):
                base = self.kind(of, depth + 1)
                return _element(base, f"{base.text}[{_written(node.slice)}]") if isinstance(base, _Part) else _Unknown()
            case ast.Call(func=function, args=[argument], keywords=[]):
                called = self.kind(function, depth + 1)
                is_type = _stands_for(called, type)
                return self._type_of(self.kind(argument, depth + 1)) if is_type else _Unknown()
        return _Unknown()

    @staticmethod
    def _type_of(kind: Any) -> Any:
        return _Known(type(kind.value)) if isinstance(kind, _Known) else _TypeOf()

    def _name(self, name: str, depth: int) -> Any:
        if (found := self.text.assigned.get(name)) is not None and name not in self.text.members:
            kinds = [_Unknown() if each is None else self.kind(each, depth + 1) for each in found]
            if name in self._arguments or len(kinds) > 1:
                return next((each for each in kinds if isinstance(each, _TypeOf)), _Unknown())
            return kinds[0]
        if name in self.text.members:
            over = [self.kind(each, depth + 1) for each in self.text.members[name]]
            if len(over) == 1 and name not in self.text.assigned and isinstance(over[0], _Part):
                return _element(over[0], f"each {name} of {over[0].text}")
            return _Unknown()
        if name in self._arguments:
            return self._arguments[name]
        if name in _own_names(self._code):
            return _Unknown()
        return next((_Known(place[name]) for place in self._places if name in place), _Unknown())

    def _attribute(self, base: Any, name: str, text: str) -> Any:
        if name == "__class__":
            return _OwnClass()
        if isinstance(base, _Known):
            return _Known(getattr(base.value, name)) if hasattr(base.value, name) else _Unknown()
        if isinstance(base, _Given) and self._parts is not None and name in self._parts.toggles:
            return _Part(text, self._parts.toggles[name])
        if isinstance(base, _TypeOf | _Given) or self._parts is None:
            return _Unknown()
        if isinstance(base, _Part):
            text = f"{base.text}.{name}"
            if _is_of(base, Shape.RECORD):
                of = base.domain.inside().get(name)
                return _Unknown() if of is None else _Part(text, of)
        if name in self._parts.fields:
            return _Part(text, self._parts.field(name))
        return _Part(text, self._parts.toggles[name]) if name in self._parts.toggles else _Unknown()


def _parameter(name: str, declared: Any) -> Any:
    """What an action's parameter stands for: no part of the state, and a scalar if it is declared as one."""
    is_scalar = isinstance(declared, type) or (isinstance(declared, Domain) and declared.is_scalar)
    return _Part(name, declared) if is_scalar else _Unknown()


def _element(of: _Part, text: str) -> _Part:
    domain = _there(of.domain)
    return _Part(text, domain.inside().get("") if isinstance(domain, Domain) else None)


def _there(domain: Any) -> Any:
    """The domain of what is there, if something is."""
    return domain.inside()[""] if isinstance(domain, Domain) and domain.shape is Shape.OPTION else domain


def _is_of(kind: Any, shape: Shape) -> bool:
    return isinstance(kind, _Part) and isinstance(kind.domain, Domain) and kind.domain.shape is shape


def _stands_for(kind: Any, *objects: Any) -> bool:
    return isinstance(kind, _Known) and any(kind.value is each for each in objects)


def _is_one_object(kind: Any) -> bool:
    """Whether it is the same object in every run: None, a truth value, a member of an enum, a function, a number."""
    return isinstance(kind, _Known) and not (
        isinstance(kind.value, tuple | frozenset | type) or attrs.has(type(kind.value))
    )


def _unanswered(reader: _Reader, parts: _Parts) -> Iterator[str]:
    """The questions in a function's text that a view cannot answer, in words with file and line."""
    for node in reader.text.questions:
        if (hint := _hint(node, reader, parts)) is not None:
            yield (f"`{ast.unparse(node)}` cannot be answered for a part of the state: {hint}\n  {reader.place(node)}")


def _hint(node: ast.AST, reader: _Reader, parts: _Parts) -> str | None:
    """What to write in place of a question that a view cannot answer; None if it is none."""
    match node:
        case ast.Compare():
            found = (
                _hint_for_identity(reader.kind(left), reader.kind(right), parts) for left, right in _identities(node)
            )
            return next(filter(None, found), None)
        case ast.Attribute(value=of, attr=name) if name in OF_A_TYPE and isinstance(reader.kind(of), _TypeOf):
            return "name the class"
        case ast.Call(func=function, args=[argument]) if _stands_for(reader.kind(function), id):
            return None if isinstance(reader.kind(argument), _Known | _Given) else EQUALITY
        case ast.Call(func=function, args=[left, right]) if _stands_for(reader.kind(function), *OF_OBJECTS):
            return _hint_for_identity(reader.kind(left), reader.kind(right), parts)
    return None


def _hint_for_identity(left: Any, right: Any, parts: _Parts) -> str | None:
    sides = (left, right)
    known = [each.value for each in sides if isinstance(each, _Known)]
    if len(known) == 2 or any(map(_has_identity, sides)):
        return None
    if known and isinstance(known[0], type):
        return TYPE if known[0] in parts.kinds and not any(isinstance(each, _OwnClass) for each in sides) else None
    if any(isinstance(each, _TypeOf) for each in sides):
        return TYPE
    if known:
        return EQUALITY if type(known[0]) in parts.kinds else None
    two = all(isinstance(each, _Part) for each in sides) and (left.text != right.text or left.text.startswith("each "))
    return EQUALITY if two else None


def _has_identity(kind: Any) -> bool:
    """Whether which object it is does not depend on how a state is kept."""
    return _is_one_object(kind) or isinstance(kind, _Given) or (isinstance(kind, _Part) and kind.has_identity)


def _identities(node: ast.Compare) -> list[tuple[ast.expr, ast.expr]]:
    """The pairs of sides that `is` and `is not` compare."""
    sides = [node.left, *node.comparators]
    return [
        (left, right)
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        if isinstance(op, ast.Is | ast.IsNot)
    ]


@attrs.frozen(eq=False)
class _Text:
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
def _text_of(code: CodeType) -> _Text:
    by_line = _nodes_of(code.co_filename, stamp_of(code.co_filename))
    nodes = tuple(itertools.chain.from_iterable(by_line.get(line, ()) for line in _lines(code)))
    text = _Text(nodes, tuple(filter(_may_ask, nodes)), tuple(filter(_may_look_up, nodes)))
    for node in nodes:
        text.note(node)
    return text


def _may_ask(node: ast.AST) -> bool:
    match node:
        case ast.Compare():
            return bool(_identities(node))
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


def _functions(begin: Iterable[Any]) -> Iterator[tuple[FunctionType, Quantified | None]]:
    """The model's functions that can be reached by name, each with what it is the function of."""
    seen: dict[int, Any] = {}
    ahead: list[tuple[Any, Quantified | None]] = [(each, None) for each in begin]
    while ahead:
        found, of = ahead.pop()
        if id(found) in seen or type(found) in PLAIN:
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
    found += _enclosed(function).values()
    found += [
        getattr(each, name) for each in found if isinstance(each, ModuleType) for name in names if hasattr(each, name)
    ]
    return [each for each in found if not isinstance(each, ModuleType)]


def _enclosed(function: FunctionType) -> dict[str, Any]:
    """What a function encloses, by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != type(cell)()}


@once_for_code
def _own_names(code: CodeType) -> set[str]:
    """The arguments and local names of code, and of what is defined inside it."""
    return set(code.co_varnames).union(*(_own_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


@once_for_code
def _names(code: CodeType) -> set[str]:
    """The global names and attributes that code uses, and what is defined inside it; not those that pytest writes into
    a test's assertions, which nobody can write.
    """
    own = filter(str.isidentifier, code.co_names)
    return set(own).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))
