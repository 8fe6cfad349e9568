"""What names in an expression stand for: fields of the state, elements as traces name them, enums and functions."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from enum import Enum
from types import FunctionType
from typing import Any

import attrs

from highwater.claims.tables import did_you_mean
from highwater.model.language.domain import ArrayOf, OneOf, Struct, classes_in, domains_in

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
        return list(dict.fromkeys(["state", *self.fields, *elements, *self.enums, *FUNCTIONS]))


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


class Resolved(ast.NodeTransformer):
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
        if node.id in self.names.fields:  # be it named state, or as a function
            return ast.Attribute(ast.Name(STATE, ast.Load()), node.id, ast.Load())
        if node.id == "state":
            return ast.Name(STATE, ast.Load())
        if node.id in FUNCTIONS or node.id in self.names.enums:
            return node
        if (number := self._number(node.id)) is not None:
            return ast.Constant(number)
        known = self.names.known()
        raise ExpressionError(
            f"the name {node.id} is not known{did_you_mean(node.id, known)}; known are {', '.join(known)}"
        )

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not isinstance(node.func, ast.Name):
            return self.generic_visit(node)
        node.args = [self.visit(each) for each in node.args]
        node.keywords = [self.visit(each) for each in node.keywords]
        return node

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
