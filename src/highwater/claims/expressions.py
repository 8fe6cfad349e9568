"""Expressions over a state, as people type them: Python's, of which only a safe part is allowed.

    b1.leader == b1 and len(b1.log) < len(b2.log)
    b1.log_end_offset - b0.high_watermark

A name is a field of the state, `state` itself, or an element as traces name it: `b1.log` is the log of the element 1
of the array with the label b, and `b1` alone is the number 1. Enums are called by the names of their classes. Methods
and properties of the model's own records may be used: they are as pure as its actions.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import re
from collections.abc import Callable, Sequence
from enum import Enum
from types import FunctionType
from typing import Any

import attrs

from highwater.claims.tables import Findings, did_you_mean, shown
from highwater.explorer.blame import RAISED
from highwater.explorer.comparisons import is_never_equal, never_equal, refusing_beside
from highwater.explorer.system import Beside, values_beside_in
from highwater.model.language.declarations import in_words
from highwater.model.language.domain import ArrayOf, OneOf, Struct, classes_in, domains_in
from highwater.model.language.records import domain_of
from highwater.model.language.shape import Domain, Shape

LONGEST = 2_000
DEEPEST = 60
LARGEST = 10**6
STATE = "__state__"  # which nobody can write
FUNCTIONS = [
    "abs",
    "all",
    "any",
    "bool",
    "enumerate",
    "frozenset",
    "int",
    "len",
    "max",
    "min",
    "range",
    "set",
    "sorted",
    "sum",
    "tuple",
    "zip",
]
ALLOWED = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.IfExp, ast.Compare),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mod, ast.FloorDiv, ast.BitAnd, ast.BitOr, ast.BitXor),
    *(ast.Call, ast.Attribute, ast.Subscript, ast.Slice, ast.Name, ast.Load, ast.Store, ast.Constant),
    *(ast.Tuple, ast.List, ast.Set, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.comprehension),
)
"""What may stand in an expression. There are no powers, shifts and products: they make numbers and texts that fill the
memory.
"""


class ExpressionError(ValueError):
    """An expression is none, or uses what is not allowed. The message says what, and what is."""


@attrs.frozen
class Names:
    """What an expression over the states of a domain may name.

    Attributes:
        fields: of the state.
        elements: by label, the top-level arrays of records that are addressed by it.
        labels: the labels of numbers and elements: `b1` alone is 1.
        enums: the classes of enums, by name.
        attributes: what may stand behind a dot.
        methods: those of them that are to be called.
    """

    fields: tuple[str, ...]
    elements: dict[str, list[tuple[str, ArrayOf]]]
    labels: frozenset[str]
    enums: dict[str, type[Enum]]
    attributes: frozenset[str]
    methods: frozenset[str]

    def known(self) -> list[str]:
        """All names, for messages and completion."""
        elements = [f"{label}{number}" for label in sorted(self.labels) for number in range(2)]
        return ["state", *self.fields, *elements, *self.enums, *FUNCTIONS]


def names_of(domain: Struct) -> Names:
    """What an expression over the states of a domain may name."""
    parts = list(domains_in(domain))
    elements: dict[str, list[tuple[str, ArrayOf]]] = {}
    for name, of in domain.fields.items():
        if isinstance(of, ArrayOf) and of.label and isinstance(of.of, Struct):
            elements.setdefault(of.label, []).append((name, of))
    members = [member for part in parts if isinstance(part, OneOf) for member in part.members]
    enums = {type(member).__name__: type(member) for member in members if isinstance(member, Enum)}
    named = [
        (name, cls)
        for cls in (*classes_in(domain), *enums.values())
        for name in (*dir(cls), *(field.name for field in (attrs.fields(cls) if attrs.has(cls) else ())))
        if not name.startswith("_")
    ]
    return Names(
        tuple(domain.fields),
        elements,
        frozenset(part.label for part in parts if part.label),
        enums,
        frozenset({name for name, _ in named} | {"name", "value"}),
        frozenset({name for name, _ in named} - {name for name, cls in named if not _is_called(cls, name)}),
    )


def _is_called(cls: type, name: str) -> bool:
    return isinstance(inspect.getattr_static(cls, name, None), FunctionType | classmethod | staticmethod)


@attrs.frozen
class Expression:
    """An expression over the states of a domain.

    Attributes:
        text: as typed.
        of: its value in a state.
        domain: of its values, where the expression is the name of a part of the state; None if it computes something.
        beside: see `highwater.explorer.system.System.values_beside`.
    """

    text: str
    of: Callable[[Any], Any]
    domain: Domain | None = None
    beside: Beside = attrs.field(factory=dict, repr=False)

    def shown(self, state: Any) -> str:
        """Its value in a state as traces show it; `undefined` where it has none, such as that of None - 1, or of a
        comparison of a member of an enum with what it never equals.
        """
        try:
            with refusing_beside(self.beside):
                value = self.of(state)
            return (self.domain.show(value) if self.domain else _in_words(value)) or '""'
        except RAISED:
            return UNDEFINED


UNDEFINED = "undefined"


def watched(texts: Sequence[str], state: type, bounds: Any) -> tuple[Expression, ...]:
    """The expressions that a claim watches.

    Args:
        state: the class of the states.

    Raises:
        Wrong: some cannot be read; names each.
    """
    try:
        domain = domain_of(state, bounds)
    except TypeError:
        return ()  # what is wrong with the domain is said where the system is built
    findings, found = Findings(), []
    for text in dict.fromkeys(texts):
        try:
            found.append(expression(text, domain))
        except ExpressionError as error:
            findings.add(f"watch: {shown(text)}: {error}")
    findings.raise_if_any()
    return tuple(found)


def expression(text: str, domain: Struct) -> Expression:
    """An expression over the states of a domain.

    Raises:
        ExpressionError: it cannot be read, or uses a name or a form that is not allowed.
    """
    if not text.strip():
        raise ExpressionError("type an expression, such as len(b1.log) > 1")
    if len(text) > LONGEST:
        raise ExpressionError(f"the expression has {len(text):,} characters; at most {LONGEST:,} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(f"{text.strip()[:80]!r} is no Python expression: {what}") from None
    names = names_of(domain)
    _refuse(tree, names)
    body = ast.fix_missing_locations(_Resolve(names).visit(tree)).body
    _refuse_what_is_never_equal(body, domain)
    arguments = ast.arguments([], [ast.arg(STATE)], None, [], [], None, [])
    function = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
    allowed = {"__builtins__": {}, **{name: getattr(builtins, name) for name in FUNCTIONS}, **names.enums}
    try:
        of: Callable[[Any], Any] = eval(compile(function, "<expression>", "eval"), allowed)
    except (RecursionError, MemoryError):
        raise ExpressionError("the expression is nested too deeply") from None
    return Expression(text.strip(), of, _domain_of(body, domain), values_beside_in([domain]))


def _domain_of(tree: ast.AST, state: Domain) -> Domain | None:
    """The domain of the part of a state that an expression names."""
    match tree:
        case ast.Name(id=name) if name == STATE:
            return state
        case ast.Attribute(value, name):
            of = _domain_of(value, state)
            inner = of.inside()[""] if of and of.shape is Shape.OPTION else of
            return inner.inside().get(name) if inner and inner.shape is Shape.RECORD else None
        case ast.Subscript(value, ast.Constant()):
            of = _domain_of(value, state)
            return of.inside()[""] if of and of.shape is Shape.LIST else None
    return None


def _in_words(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case Enum():
            return str(value.value)
        case list() | tuple() | range() | zip() | enumerate():
            return "[" + " ".join(map(_in_words, value)) + "]"
    return in_words(value)


def _refuse(tree: ast.AST, names: Names, depth: int = 0) -> None:
    """Refuse what is not allowed, with what is."""
    if depth > DEEPEST:
        raise ExpressionError(f"the expression is nested more than {DEEPEST} deep")
    if not isinstance(tree, ALLOWED):
        raise ExpressionError(
            f"{_words(tree)} is not allowed; expressions compare and add fields, with and, or, not, len, any, all"
        )
    if isinstance(tree, ast.Constant):
        if not (tree.value is None or isinstance(tree.value, bool | int | str)):
            raise ExpressionError(
                f"{ast.unparse(tree)} is not allowed; constants are whole numbers, texts, True, False, None"
            )
        if isinstance(tree.value, int) and abs(tree.value) > LARGEST:
            raise ExpressionError(f"{tree.value} is larger than {LARGEST:,}")
    if isinstance(tree, ast.Attribute) and tree.attr not in names.attributes:
        hint = did_you_mean(tree.attr, names.attributes)
        raise ExpressionError(f"no record of this model has {tree.attr!r}{hint}")
    if isinstance(tree, ast.Call):
        if not isinstance(tree.func, ast.Name | ast.Attribute):
            raise ExpressionError(f"{ast.unparse(tree.func)} cannot be called")
        if isinstance(tree.func, ast.Name) and tree.func.id not in FUNCTIONS:
            raise ExpressionError(f"{tree.func.id} cannot be called; functions are {', '.join(FUNCTIONS)}")
    if isinstance(tree, ast.Name) and tree.id.startswith("__"):
        raise ExpressionError(f"{tree.id} is not allowed")
    for inner in ast.iter_child_nodes(tree):
        if not isinstance(tree, ast.Call) or (inner is not tree.func and not isinstance(inner, ast.GeneratorExp)):
            _refuse_what_is_always_true(inner, names)
        _refuse(inner, names, depth + 1)


def _refuse_what_is_always_true(tree: ast.AST, names: Names) -> None:
    """Refuse a function that is not called, and a generator that nobody asks."""
    function = tree.attr if isinstance(tree, ast.Attribute) and tree.attr in names.methods else ""
    if isinstance(tree, ast.Name) and isinstance(tree.ctx, ast.Load) and tree.id in {*FUNCTIONS} - {*names.fields}:
        function = tree.id
    if function:
        raise ExpressionError(f"{function} is a function: write {ast.unparse(tree)}(...)")
    if isinstance(tree, ast.GeneratorExp):
        raise ExpressionError(f"{_words(tree)} is in no call; write any(...), all(...) or [...]")


def _refuse_what_is_never_equal(tree: ast.AST, state: Domain) -> None:
    """Refuse a member of an enum that is compared with a text or a number, with what to write."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for ours, theirs in (*itertools.pairwise(sides), *itertools.pairwise(sides[::-1])):
            of = _domain_of(ours, state)
            of = of.inside()[""] if of and of.shape is Shape.OPTION else of
            members = of.members if isinstance(of, OneOf) else ()
            constants = theirs.elts if isinstance(theirs, ast.Tuple | ast.List | ast.Set) else [theirs]
            for value in (each.value for each in constants if isinstance(each, ast.Constant)):
                if members and all(isinstance(each, Enum) and is_never_equal(each, value, ()) for each in members):
                    raise ExpressionError(never_equal(members[0], value))


def _words(node: ast.AST) -> str:
    match node:  # an operator alone has no text
        case ast.operator():
            return repr(ast.unparse(ast.BinOp(ast.Name("a"), node, ast.Name("b"))).split()[1])
        case ast.unaryop():
            return repr(ast.unparse(ast.UnaryOp(node, ast.Name("a")))[0])
    try:
        return repr(ast.unparse(node)[:60])
    except Exception:
        return type(node).__name__


class _Resolve(ast.NodeTransformer):
    """From names as people type them to the state: `b1.log` to `state.replicas[1].log`, `quorum` to `state.quorum`."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.bound: list[str] = []

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id not in (*self.bound, *self.names.fields, "state"):
            element = self._element(node.value.id, node.attr)
            if element is not None:
                return ast.Attribute(element, node.attr, ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.bound or isinstance(node.ctx, ast.Store):
            return node
        if node.id == "state":
            return ast.Name(STATE, ast.Load())
        if node.id in self.names.fields:
            return ast.Attribute(ast.Name(STATE, ast.Load()), node.id, ast.Load())
        if node.id in FUNCTIONS or node.id in self.names.enums:
            return node
        if (number := self._number(node.id)) is not None:
            return ast.Constant(number)
        known = self.names.known()
        raise ExpressionError(
            f"the name {node.id} is not known{did_you_mean(node.id, known)}; known are {', '.join(known)}"
        )

    def visit_GeneratorExp(self, node: Any) -> ast.AST:
        targets = [each.id for part in node.generators for each in ast.walk(part.target) if isinstance(each, ast.Name)]
        first = self.visit(node.generators[0].iter)  # Python evaluates it outside
        node.generators[0].iter = ast.Constant(None)
        self.bound += targets
        found = self.generic_visit(node)
        del self.bound[len(self.bound) - len(targets) :]
        node.generators[0].iter = first
        return found

    visit_ListComp = visit_SetComp = visit_GeneratorExp

    def _number(self, name: str) -> int | None:
        match = re.fullmatch(r"(.*?)(\d{1,4})", name)
        if match is None or match[1] not in self.names.labels:
            return None
        self._refuse_beyond(name, int(match[2]), [of for _, of in self.names.elements.get(match[1], [])])
        return int(match[2])

    @staticmethod
    def _refuse_beyond(name: str, number: int, arrays: Sequence[ArrayOf]) -> None:
        """Refuse the name of an element that no array has."""
        if arrays and all(number >= of.length for of in arrays):
            raise ExpressionError(f"there is no {name}; the last is {name.rstrip('0123456789')}{arrays[0].length - 1}")

    def _element(self, name: str, attribute: str) -> ast.expr | None:
        """The record that `b1` is before a dot: the element of the array whose records have what stands behind it."""
        match = re.fullmatch(r"(.*?)(\d{1,4})", name)
        if match is None:
            return None
        arrays = self.names.elements.get(match[1], [])
        for field, of in sorted(arrays, key=lambda each: not hasattr(each[1].of.cls, attribute)):
            array = ast.Attribute(ast.Name(STATE, ast.Load()), field, ast.Load())
            if hasattr(of.of.cls, attribute) or attribute in of.of.fields:
                self._refuse_beyond(name, int(match[2]), [of])
                return ast.Subscript(array, ast.Constant(int(match[2])), ast.Load())
        return None
