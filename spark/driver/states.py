"""The explored states as a DataFrame with a column for every field, decoded by Spark's own expressions.

A scalar becomes a number, a truth value or a name; None becomes NULL; sets and tuples become arrays, sets in the order
of their members; records become structs. Spark reads only the words, and decodes only the columns that a query names.

With symmetry reduction a row stands for `orbit` states: itself and those that differ only by an exchange of names.
Count states as `sum(orbit)`, and write conditions that hold under any exchange of names. `depth` is the number of
actions from an initial state.
"""

from __future__ import annotations

from typing import Any, assert_never

from pyspark.sql import DataFrame, SparkSession

from highwater.explorer.analysis.plain_values import is_long, plain, plain_type
from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import Elements, Fields, Layout, Leaf, Members, Presence, Slot
from highwater.model.language.domain import Integers, Maybe
from highwater.model.language.shape import Domain, Shape
from highwater.spark.driver.rows import rows_of
from highwater.spark.levels import Levels

RESERVED = ("depth", "orbit")


def states(spark: SparkSession, levels: Levels, layout: Layout) -> DataFrame:
    """The states of all whole levels, a column per field of the state, then `depth` and `orbit`.

    Raises:
        CheckpointError: the levels cannot be read or are damaged.
        ModelError: a field has the name of a column that is added here.
    """
    fields = layout.root.slots
    if taken := [name for name in RESERVED if name in fields]:
        raise ModelError(f"the state has a field named {taken[0]}, which is the name of a column of its own")
    return rows_of(spark, levels, levels.read(), layout.words).selectExpr(*columns(layout), *RESERVED)


def columns(layout: Layout) -> list[str]:
    """The SQL expression for each field of the state, with its type and name."""
    return [
        f"CAST({decoded(slot)} AS {_sql_type(plain_type(slot.domain))}) AS {quoted(name)}"
        for name, slot in layout.root.slots.items()
    ]


def _sql_type(of: Any) -> str:
    """The SQL type for what `highwater.explorer.analysis.plain_values.plain_type` says."""
    if isinstance(of, dict):
        return f"STRUCT<{', '.join(f'{quoted(name)}: {_sql_type(inner)}' for name, inner in of.items())}>"
    return f"ARRAY<{_sql_type(of[0])}>" if isinstance(of, list) else str(of)


def decoded(slot: Slot) -> str:
    """The SQL expression for the value of a slot of the layout, in terms of the columns of words."""
    match slot:
        case Leaf():
            return _scalar(slot.domain, f"CAST(shiftrightunsigned(w{slot.word}, {slot.shift}) & {slot.mask} AS INT)")
        case Fields():
            return (
                f"named_struct({', '.join(f'{_text(name)}, {decoded(inner)}' for name, inner in slot.slots.items())})"
            )
        case Members():
            members = [
                (decoded(bit), literal(slot.domain.of, member))
                for member, bit in zip(slot.members, slot.bits, strict=True)
            ]
            if None not in slot.members:
                return f"array_compact(array({', '.join(f'IF({bit}, {member}, NULL)' for bit, member in members)}))"
            pairs = ", ".join(f"named_struct('bit', {bit}, 'member', {member})" for bit, member in members)
            return f"transform(filter(array({pairs}), each -> each.bit), each -> each.member)"
        case Elements():
            elements = f"array({', '.join(map(decoded, slot.slots))})"
            return elements if slot.length is None else f"slice({elements}, 1, {decoded(slot.length)})"
        case Presence():
            return f"IF({decoded(slot.bit)}, {decoded(slot.slot)}, NULL)"
    assert_never(slot)


def _scalar(domain: Any, raw: str) -> str:
    """The SQL expression for the value of a scalar's domain at an index."""
    if isinstance(domain, Integers):
        if is_long(domain):
            return f"(CAST({raw} AS BIGINT) + {domain.low}L)"
        return raw if domain.low == 0 else f"({raw} + {domain.low})"
    if isinstance(domain, Maybe):
        return f"IF({raw} = 0, NULL, {_scalar(domain.of, f'({raw} - 1)')})"
    if domain.shape is Shape.TRUTH:
        return f"({raw} = 1)"
    return f"element_at(array({', '.join(literal(domain, value) for value in domain.values())}), {raw} + 1)"


def literal(domain: Domain, value: Any) -> str:
    """A value of a domain in SQL, of the type that `decoded` gives it."""
    return _sql(plain(domain, value))


def _sql(value: Any) -> str:
    if isinstance(value, dict):
        return f"named_struct({', '.join(f'{_text(name)}, {_sql(part)}' for name, part in value.items())})"
    if isinstance(value, list):
        return f"array({', '.join(map(_sql, value))})"
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    return _text(value) if isinstance(value, str) else str(int(value))


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _text(text: str) -> str:
    """A text in SQL, with no `$`: Spark puts settings in place of `${name}`, also inside of quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"
