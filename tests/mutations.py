"""Single mutations of a model's text: what may be changed in a function, and what takes its place.

A mutation is a piece of text with another in its place. Declarations are left alone: domains, bounds, toggles, presets,
texts, what a property says when it is false, and which bounds an action or a property needs.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).parent.parent
DECLARING = {"__init__", "bounds", "catalogue", "definition", "presets", "protocol", "releases"}
DOMAINS = ("str", "Integers", "SetOf", "OneOf", "Maybe", "ArrayOf", "SequenceOf", "Struct", "list[Cluster]", "dict[")
NEEDS = {"_may_fail_to_register", "_only_brokers_disturb"}
"""Functions that say which bounds an action or a property needs."""
SAYING = {"Witness", "ValueError", "TypeError", "AssertionError"}
EXTREMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
LOOSER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOOSER |= {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}
SYMBOLS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


@attrs.frozen
class Mutation:
    """One change of the text of a file.

    Attributes:
        operator: what kind of change it is.
        file: below the root of the repository.
        function: which one it is in.
        lines: those of the statement that it changes.
        begin, end: where the changed text is in the file, in bytes.
        before, after: the text, and what takes its place.
    """

    operator: str
    file: str
    function: str
    lines: tuple[int, ...]
    begin: int
    end: int
    before: str
    after: str

    def planted(self, text: str) -> str:
        data = text.encode()
        return (data[: self.begin] + self.after.encode() + data[self.end :]).decode()

    def __str__(self) -> str:
        before, after = (" ".join(each.split()) for each in (self.before, self.after))
        return f"{self.file}:{self.lines[0]} {self.function} ({self.operator}): {before} -> {after}"


Change = tuple[ast.AST, str]
"""What is replaced, and by which text."""


@attrs.frozen
class Around:
    """What a change may take names from.

    Attributes:
        function: the function that is changed.
        names: those of its module.
        fields: by the name of a field, others of the same type in the same record.
    """

    function: ast.FunctionDef
    names: dict[str, Any]
    fields: dict[str, list[str]]


def extremes(node: ast.AST, around: Around) -> Iterator[Change]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EXTREMES:
        yield node.func, EXTREMES[node.func.id]


def names_of_the_same_type(node: ast.AST, around: Around) -> Iterator[Change]:
    """Another parameter, another member of an enum, another field of a record."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        types = {each.arg: ast.dump(each.annotation) for each in around.function.args.args if each.annotation}
        for other, kind in types.items():
            if other != node.id and kind == types.get(node.id):
                yield node, other
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        of = around.names.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if inspect.isclass(of) and issubclass(of, Enum):
            for member in of:
                if member.name != node.attr:
                    yield node, f"{ast.unparse(node.value)}.{member.name}"
        elif not inspect.ismodule(of):
            for field in around.fields.get(node.attr, ()):
                yield node, f"{ast.unparse(node.value)}.{field}"


def sets(node: ast.AST, around: Around) -> Iterator[Change]:
    """A union, an intersection or a difference that is its first part, or its second. A set that is written out is no
    frozenset, which fields want.
    """
    of_sets = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub)
    if of_sets and not isinstance(node.right, ast.Constant):
        yield node, f"({ast.unparse(node.left)})"
        if isinstance(node.op, ast.BitOr):
            yield node, f"{'frozenset' if isinstance(node.right, ast.Set) else ''}({ast.unparse(node.right)})"


def fields_not_written(node: ast.AST, around: Around) -> Iterator[Change]:
    if isinstance(node, ast.Call) and (called(node) == "evolve" or called(node).startswith("with_")):
        for number in range(len(node.keywords)):
            fewer = copy.copy(node)
            fewer.keywords = node.keywords[:number] + node.keywords[number + 1 :]
            yield node, ast.unparse(fewer)


def early_returns(node: ast.AST, around: Around) -> Iterator[Change]:
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Return) and not node.orelse:
        yield node.test, "False"


def parts_of_conditions(node: ast.AST, around: Around) -> Iterator[Change]:
    if isinstance(node, ast.BoolOp):
        for number, part in enumerate(node.values):
            if isinstance(part, ast.Call) and called(part) in SAYING:
                continue
            fewer = copy.copy(node)
            fewer.values = node.values[:number] + node.values[number + 1 :]
            yield node, f"({ast.unparse(fewer if len(fewer.values) > 1 else fewer.values[0])})"


def comparisons(node: ast.AST, around: Around) -> Iterator[Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        yield node, f"({left} {LOOSER[SYMBOLS[type(node.ops[0])]]} {right})"


def off_by_one(node: ast.AST, around: Around) -> Iterator[Change]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and is_number(node.right):
        yield node, f"({ast.unparse(node.left)})"
    numbers = [*node.comparators] if isinstance(node, ast.Compare) else []
    numbers += node.args if isinstance(node, ast.Call) and called(node) == "range" else []
    for number in filter(is_number, numbers):
        yield number, f"({ast.unparse(number)} + 1)"


def negations(node: ast.AST, around: Around) -> Iterator[Change]:
    tests = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else []
    tests += node.ifs if isinstance(node, ast.comprehension) else []
    for test in tests:
        yield test, f"(not ({ast.unparse(test)}))"


def arguments(node: ast.AST, around: Around) -> Iterator[Change]:
    """Two neighbours among the arguments of a call, exchanged."""
    if isinstance(node, ast.Call) and called(node) not in {*EXTREMES, "isinstance", "evolve", "enumerate", "zip"}:
        texts = [ast.unparse(each) for each in node.args]
        for one, other in zip(range(len(texts)), range(1, len(texts)), strict=False):
            swapped = copy.copy(node)
            swapped.args = [*node.args[:one], node.args[other], node.args[one], *node.args[other + 1 :]]
            if texts[one] != texts[other]:
                yield node, ast.unparse(swapped)


OPERATORS: dict[str, Callable[[ast.AST, Around], Iterator[Change]]] = {
    "min or max, all or any": extremes,
    "a name of the same type": names_of_the_same_type,
    "union and difference": sets,
    "a field not written": fields_not_written,
    "an early return": early_returns,
    "a part of a condition": parts_of_conditions,
    "a comparison": comparisons,
    "off by one": off_by_one,
    "a negated condition": negations,
    "arguments exchanged": arguments,
}


def called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def files_of(model: str) -> list[Path]:
    """The files of a model and of its properties that say what happens, or what must, with the rules that it shares."""
    folders = (ROOT / "model" / model, ROOT / "invariants" / model)
    own = [path for folder in folders for path in sorted(folder.rglob("*.py")) if path.stem not in DECLARING]
    shared = ROOT / "model" / "partition_rules.py"
    return [*own, shared] if any(shared.stem in path.read_text(encoding="utf-8") for path in own) else own


def mutations_of(path: Path) -> dict[str, list[Mutation]]:
    """Every mutation of a file, by operator."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    module = import_module(".".join(("highwater", *path.relative_to(ROOT).with_suffix("").parts)))
    found: dict[str, list[Mutation]] = {name: [] for name in OPERATORS}
    for name, function in functions(ast.parse(text)):
        around = Around(function, vars(module), fields_of_the_same_type(module))
        for statement, node in nodes(function):
            for operator, changes in OPERATORS.items():
                for changed, after in changes(node, around):
                    begin = starts[changed.lineno - 1] + changed.col_offset
                    end = starts[changed.end_lineno - 1] + changed.end_col_offset
                    before = text.encode()[begin:end].decode()
                    lines = tuple(range(statement[0], statement[1] + 1))
                    file = path.relative_to(ROOT).as_posix()
                    found[operator].append(Mutation(operator, file, name, lines, begin, end, before, after))
    return found


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions and methods that do not only declare a domain or say something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__") and node.name not in NEEDS:
            returned = ast.unparse(node.returns) if node.returns else ""
            if not returned.startswith(DOMAINS):
                yield node.name, node


def nodes(function: ast.FunctionDef) -> Iterator[tuple[tuple[int, int], ast.AST]]:
    """What a function is made of, each with the first and the last line of its statement, or of the part of it before
    the statements inside.
    """
    for statement in ast.walk(function):
        if isinstance(statement, ast.stmt) and statement is not function:
            inner = [each for each in ast.iter_child_nodes(statement) if isinstance(each, ast.stmt)]
            last = min([each.lineno - 1 for each in inner], default=statement.end_lineno or statement.lineno)
            lines = statement.lineno, max(last, statement.lineno)
            yield lines, statement
            yield from ((lines, each) for part in parts(statement) for each in expressions(part))


def parts(statement: ast.stmt) -> list[ast.AST]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Raise | ast.Assert):
        return []
    return [each for each in ast.iter_child_nodes(statement) if not isinstance(each, ast.stmt)]


def expressions(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and called(node) in SAYING):
        return
    yield node
    for inner in ast.iter_child_nodes(node):
        yield from expressions(inner)


def fields_of_the_same_type(module: Any) -> dict[str, list[str]]:
    """By name, for fields that only one of the records has that a module knows: the record's others of that type."""
    classes = [each for each in vars(module).values() if inspect.isclass(each) and attrs.has(each)]
    types = [{field.name: str(field.type) for field in attrs.fields(each)} for each in dict.fromkeys(classes)]
    found = {}
    for fields in types:
        for name, kind in fields.items():
            if sum(name in other for other in types) == 1:
                found[name] = [other for other, same in fields.items() if same == kind and other != name]
    return found
