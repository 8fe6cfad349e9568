"""Judges a certificate: whether it is of this model, and whether its verdict is what plain Python finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from highwater.explorer.blame import blaming_the_model
from highwater.explorer.system import System
from highwater.explorer.verdict import Verdict
from highwater.explorer.verifier.certificate import Certificate, Unfit
from highwater.explorer.verifier.closed_set import ClosedSet
from highwater.explorer.verifier.sums import Sums
from highwater.explorer.verifier.traces import verify_traces

ROWS_BETWEEN_REPORTS = 500


@attrs.frozen
class Report:
    """What became of a certificate that was not refused.

    Attributes:
        verified: what was verified, each in words.
        not_verified: what the verdict may mean besides, and was not.
        states: how many stored states were judged.
    """

    verified: tuple[str, ...]
    not_verified: tuple[str, ...]
    states: int = 0


def hold_code(certificate: Certificate, code: Mapping[str, str]) -> None:
    """The certificate must be of the code that the model has now.

    Args:
        code: by module its hash, and by distribution its version.

    Raises:
        Unfit: it is of other code.
    """
    theirs = certificate.code
    if changed := [name for name in sorted({*code, *theirs}) if code.get(name) != theirs.get(name)]:
        raise Unfit(f"the model is not the one that the certificate was written of: {changed[0]} has changed")


@blaming_the_model()
def verify(
    certificate: Certificate,
    system: System,
    *,
    no_deadlock: bool,
    trust_symmetry: bool = False,
    judged: Callable[[ClosedSet], Sums] | None = None,
    on_progress: Callable[[int, int], None] = lambda judged, of: None,
) -> Report:
    """Judge a certificate.

    Args:
        no_deadlock: whether a state at rest is a violation.
        trust_symmetry: judge one state of each orbit only.
        judged: judges all rows elsewhere.
        on_progress: called now and then with how many rows were judged, of how many.

    Raises:
        Unfit: it is not of this system.
        Refused: what it says is not so; names the state, the step and the property.
        ModelError: a function of the model raised; names it, its file and line, and the state.
    """
    if certificate.verdict == Verdict.VIOLATED.value:
        verified, not_verified = verify_traces(certificate, system, no_deadlock=no_deadlock)
        return Report(tuple(verified), tuple(not_verified))
    if certificate.verdict not in (Verdict.HOLDS.value, Verdict.HOLDS_TO_DEPTH.value):
        raise Unfit(f"a verdict {certificate.verdict!r} has no certificate")
    if certificate.verdict == Verdict.HOLDS_TO_DEPTH.value and (unknown := system.prospects + system.liveness):
        raise Unfit(f"{unknown[0]} is judged only where every state is known, and these go to a depth")
    to_judge = ClosedSet(certificate, system, no_deadlock=no_deadlock, trust_symmetry=trust_symmetry)
    sums = to_judge.judge_initial()
    sums.add(judged(to_judge) if judged else _all(to_judge, on_progress))
    to_judge.conclude(sums)
    return _report(certificate, system, sums, no_deadlock=no_deadlock, trust_symmetry=trust_symmetry)


def _all(closed: ClosedSet, on_progress: Callable[[int, int], None]) -> Sums:
    sums = Sums()
    for begin in range(0, closed.rows, ROWS_BETWEEN_REPORTS):
        sums.add(closed.judge(range(begin, min(closed.rows, begin + ROWS_BETWEEN_REPORTS))))
        on_progress(min(closed.rows, begin + ROWS_BETWEEN_REPORTS), closed.rows)
    return sums


def _report(certificate: Certificate, system: System, sums: Sums, *, no_deadlock: bool, trust_symmetry: bool) -> Report:
    states, steps = sum(sums.levels.values()), sum(sums.enabled.values())
    verified = [f"{states:,} states and {steps:,} steps, and no others", *(f"{each} holds" for each in _named(system))]
    if no_deadlock:
        verified.append("no_deadlock holds")
    not_verified = ["whether a property holds for nothing"]
    if certificate.verdict == Verdict.HOLDS_TO_DEPTH.value:
        at_rest = ", and whether a state that deep is at rest" if no_deadlock else ""
        not_verified.append(f"what lies deeper than {len(certificate.levels) - 1} actions{at_rest}")
    if trust_symmetry and len(certificate.permutations) > 1:
        names = " and ".join(system.interchangeable)
        not_verified.append(f"that the model treats its {names} alike: one state of each orbit was judged")
    for name, count in (+sums.held_back).items():
        not_verified.append(f"{name} in {count:,} states, from which only a step that a bound cuts may lead there")
    if sums.cut:
        not_verified.append("what lies behind the steps that bounds cut")
    return Report(tuple(verified), tuple(not_verified), len(certificate.states))


def _named(system: System) -> dict[str, Any]:
    return dict.fromkeys(each.of.name for each in system.properties)
