"""What a claim's model reaches, for looking at it in Python: a graph, a table, and which statements ran."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from highwater.claims.spec import Spec, SpecError
from highwater.distribution import installing
from highwater.explorer.blame import ModelError, blaming_the_model
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.verdict import Budget, lines_by_file
from highwater.model.language.shape import Domain

RESERVED = ("depth", "orbit")


def graph_of(spec: Spec, max_states: int) -> Any:
    """The reachable graph, with decoded states."""
    from highwater.explorer.analysis.graph import TooLarge, reachable_graph

    try:
        with _models_fault(spec):
            return reachable_graph(spec.system(), max_states, max_depth=spec.file.max_depth, decoded=True)
    except TooLarge as error:
        raise SpecError(f"{spec.name}: {error}; lower the bounds, or raise max_states") from None


def table_of(spec: Spec, max_states: int, *, symmetry: bool) -> Any:
    """The reachable states as an Arrow table, of the columns and types that `highwater states` has on Spark."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise SpecError(f"states needs the library pyarrow; {installing('table')}") from None
    from highwater.explorer.analysis.plain_values import plain

    with _models_fault(spec):
        system = spec.system()
    if taken := [name for name in RESERVED if name in system.domain.fields]:
        raise SpecError(f"{spec.name}: the state has a field {taken[0]}, which is the name of a column of its own")
    engine = _reached(spec, max_states, ", or use `highwater states` with Spark", symmetry=symmetry)
    states = [plain(system.domain, engine.layout.unpack(engine.store.words(row))) for row in range(engine.store.count)]
    schema = column_schema(system.domain)
    for name in RESERVED:
        schema = schema.append(pyarrow.field(name, pyarrow.int32()))
    columns: dict[str, Any] = {name: [state[name] for state in states] for name in system.domain.fields}
    ends = engine.store.level_ends
    columns["depth"] = [depth for depth in range(len(ends) - 1) for _ in range(ends[depth], ends[depth + 1])]
    alone = len(engine.permutations) <= 1
    columns["orbit"] = [1 if alone else engine.states_in(row, row + 1) for row in range(engine.store.count)]
    return pyarrow.table(columns, schema)


def column_schema(domain: Domain) -> Any:
    """The Arrow schema of a record's fields."""
    import pyarrow

    return pyarrow.schema([(name, column_type(of)) for name, of in domain.inside().items()])


def column_type(domain: Domain) -> Any:
    """The Arrow type of a domain's values as `highwater.explorer.analysis.plain_values.plain` has them, whichever are
    reached.
    """
    from highwater.explorer.analysis.plain_values import plain_type

    return _arrow_type(plain_type(domain))


def _arrow_type(of: Any) -> Any:
    """The Arrow type for what `highwater.explorer.analysis.plain_values.plain_type` says."""
    import pyarrow

    if isinstance(of, dict):
        return pyarrow.struct([(name, _arrow_type(inner)) for name, inner in of.items()])
    if isinstance(of, list):
        return pyarrow.list_(_arrow_type(of[0]))
    return {"int": pyarrow.int32(), "bigint": pyarrow.int64(), "boolean": pyarrow.bool_(), "string": pyarrow.string()}[
        of
    ]


def lines_of(spec: Spec, max_states: int) -> dict[str, dict[int, int]]:
    """By file of the model, for each line of a function that was looked at, in how many paths it ran."""
    from highwater.explorer.search.levels.coverage import functions_run, look

    engine = _reached(spec, max_states, judge_graph=True)
    return lines_by_file(functions_run(map(look, engine.programs)))


def _reached(spec: Spec, max_states: int, otherwise: str = "", **options: Any) -> Engine:
    """All states that a claim's model reaches, as deep as the claim goes, and the paths of its functions.

    Args:
        otherwise: what else to do where there are too many.
        options: those of `highwater.explorer.search.levels.breadth_first.reach`.
    """
    budget = Budget(spec.file.max_depth, max_states)
    with _models_fault(spec):
        engine, outcome = breadth_first.reach(spec.system(), budget, **options)
    if outcome.reason not in ("", f"depth {spec.file.max_depth}"):
        raise SpecError(
            f"{spec.name}: more than {max_states:,} states, or than memory holds ({outcome.reason}); lower the bounds, "
            f"or raise max_states{otherwise}"
        )
    return engine


@contextmanager
def _models_fault(spec: Spec) -> Iterator[None]:
    """While functions of a model run.

    Raises:
        SpecError: one of them is wrong, or has raised.
    """
    try:
        with blaming_the_model():
            yield
    except ModelError as error:
        raise SpecError(f"{spec.path}: {error}") from error
