"""What several claims reach together: of each model, the lines that none of them runs."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from highwater.claims.checking import Result
from highwater.explorer.verdict import Called, Outcome, Unreached, lines_by_file


@attrs.frozen
class Missed:
    """A statement that no claim reaches, and the name of its function."""

    function: str
    at: Unreached


@attrs.frozen
class Coverage:
    """What claims of one model reach.

    Attributes:
        model: the model, as claims name it.
        claims: how many were searched.
        ended_early: how many of these a budget, a depth or an interrupt ended, and may reach more.
        lines: how many lines the functions have that actions and properties called.
        ran: how many of these ran on a reached state of some claim.
        missed: the statements that did not; of a block, the first one.
    """

    model: str
    claims: int
    ended_early: int
    lines: int
    ran: int
    missed: tuple[Missed, ...]


def added_up(results: Iterable[Result]) -> list[Coverage]:
    """What claims reach that were checked with `coverage`, by model; those that are violated up to the violation."""
    of_models: dict[str, list[Outcome]] = {}
    for result in results:
        if result.outcome.functions:
            of_models.setdefault(result.spec.file.model, []).append(result.outcome)
    return [_coverage(model, outcomes) for model, outcomes in sorted(of_models.items())]


def _coverage(model: str, outcomes: list[Outcome]) -> Coverage:
    from highwater.explorer.search.levels.coverage import never_ran, together  # imports llvmlite

    functions = together(function for outcome in outcomes for function in outcome.functions)
    functions.sort(key=_place)
    lines = [paths for of in lines_by_file(functions).values() for paths in of.values()]
    return Coverage(
        model, len(outcomes), sum(bool(outcome.reason) for outcome in outcomes), len(lines), sum(map(bool, lines)),
        tuple(Missed(function.name, missed) for function in functions for missed in never_ran(function)),
    )  # fmt: skip


def _place(function: Called) -> tuple[str, int]:
    return function.file, function.first_line
