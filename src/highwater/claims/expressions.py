"""Expressions over a state, as people type them: Python's, of which only a safe part is allowed.

    b1.leader == b1 and len(b1.log) < len(b2.log)
    b1.log_end_offset - b0.high_watermark

A name is a field of the state, `state` itself where no field has that name, or an element as traces name it: `b1.log`
is the log of the element 1 of the array with the label b, and `b1` alone is the number 1. Enums are called by the names
of their classes. Methods and properties of the model's own records may be used: they are as pure as its actions.
"""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import attrs

from highwater.claims.names import FUNCTIONS, STATE, ExpressionError, Names, Resolved, names_of
from highwater.claims.tables import Findings, did_you_mean, shown
from highwater.explorer.blame import RAISED
from highwater.explorer.comparisons import is_never_equal, never_equal, refusing_beside
from highwater.explorer.system import Beside, values_beside_in
from highwater.model.language.declarations import in_words
from highwater.model.language.domain import OneOf, Struct
from highwater.model.language.records import domain_of
from highwater.model.language.shape import Domain, Shape

LONGEST = 2_000
DEEPEST = 60
LARGEST = 10**6
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
    body = ast.fix_missing_locations(Resolved(names).visit(tree)).body
    _refuse_what_is_never_equal(body, domain)
    of_domain = _domain_of(body, domain)
    body = _WithSequences().visit(body)
    arguments = ast.arguments([], [ast.arg(STATE)], None, [], [], None, [])
    function = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
    allowed = {"__builtins__": {}, **{name: getattr(builtins, name) for name in FUNCTIONS}, **names.enums}
    allowed |= {_Sequence.__name__: _Sequence, "sorted": lambda *given, **how: _Sequence(sorted(*given, **how))}
    try:
        of: Callable[[Any], Any] = eval(compile(function, "<expression>", "eval"), allowed)
    except (RecursionError, MemoryError):
        raise ExpressionError("the expression is nested too deeply") from None
    return Expression(text.strip(), of, of_domain, values_beside_in([domain]))


class _Sequence(tuple[Any, ...]):
    """What is typed in brackets, or sorted. Sequences of a state are tuples, which no list equals: `b1.log == []`."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return super().__eq__(tuple(other)) if isinstance(other, list | tuple) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other


class _WithSequences(ast.NodeTransformer):
    def visit_List(self, node: ast.List) -> ast.expr:
        return self._sequence(ast.Tuple(node.elts, ast.Load()))

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._sequence(ast.GeneratorExp(node.elt, node.generators))

    def _sequence(self, of: ast.expr) -> ast.expr:
        self.generic_visit(of)
        return ast.Call(ast.Name(_Sequence.__name__, ast.Load()), [of], [])


def _domain_of(tree: ast.AST, state: Domain) -> Domain | None:
    """The domain of the part of a state that an expression names."""
    match tree:
        case ast.Name(id=name) if name == STATE:
            return state
        case ast.Attribute(value, name):
            of = _domain_of(value, state)
            inner = of.inside()[""] if of and of.shape is Shape.OPTION else of
            return inner.inside().get(name) if inner and inner.shape is Shape.RECORD else None
        case ast.Subscript(value, index) if not isinstance(index, ast.Slice):
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
        for op, pair in zip(node.ops, itertools.pairwise(sides), strict=True):
            if isinstance(op, ast.Eq | ast.NotEq):
                _refuse_another_collection(*pair, state)
                _refuse_another_collection(*pair[::-1], state)
        for ours, theirs in (*itertools.pairwise(sides), *itertools.pairwise(sides[::-1])):
            of = _domain_of(ours, state)
            of = of.inside()[""] if of and of.shape is Shape.OPTION else of
            members = of.members if isinstance(of, OneOf) else ()
            constants = theirs.elts if isinstance(theirs, ast.Tuple | ast.List | ast.Set) else [theirs]
            for value in (each.value for each in constants if isinstance(each, ast.Constant)):
                if members and all(isinstance(each, Enum) and is_never_equal(each, value, ()) for each in members):
                    raise ExpressionError(never_equal(members[0], value))


def _refuse_another_collection(ours: ast.AST, theirs: ast.AST, state: Domain) -> None:
    """Refuse a set that is compared with a list, or a list that is compared with a set: they are never equal."""
    of, is_set = _domain_of(ours, state), isinstance(theirs, ast.Set | ast.SetComp)
    if of and of.shape is Shape.SET and isinstance(theirs, ast.List | ast.Tuple | ast.ListComp):
        raise ExpressionError(f"{ast.unparse(theirs)} is never a set; write set() or {{...}}")
    if of and of.shape is Shape.LIST and is_set:
        raise ExpressionError(f"{ast.unparse(theirs)} is never a list; write [...]")


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
