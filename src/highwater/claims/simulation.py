"""Simulating a spec: random walks, the walk that violates a property made short, and both held against the claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from highwater.claims.spec import Spec, SpecError
from highwater.claims.tables import did_you_mean
from highwater.explorer.blame import ModelError, blaming_the_model
from highwater.explorer.verdict import Verdict, Violation, Walking
from highwater.model.language.graph_properties import GraphProperty


@attrs.frozen
class Simulated:
    """What simulating a spec gave.

    Attributes:
        spec: the claim.
        simulation: the walks, see `highwater.explorer.analysis.simulate.Simulation`.
        shrunk: the violation made short, see `highwater.explorer.analysis.shrink.Shrunk`; None where there is none, or
            it was not asked for.
    """

    spec: Spec
    simulation: Any
    shrunk: Any

    @property
    def violation(self) -> Violation | None:
        """The violation that was found, as short as it was made."""
        found: Violation | None = self.shrunk.violation if self.shrunk else self.simulation.violation
        return found

    @property
    def not_judged(self) -> tuple[str, ...]:
        """The prospects and liveness properties that the spec names: to judge them every state must be known."""
        return tuple(each.name for each in self.spec.properties if isinstance(each, GraphProperty))

    @property
    def as_claimed(self) -> bool | None:
        """Whether what was met agrees with the claim; None where a claimed violation was not met, or nothing was put to
        the test.
        """
        expect = self.spec.file.expect
        if self.violation is None:
            tested = self.simulation.steps and (
                len(self.not_judged) < len(self.spec.properties) or self.spec.check_deadlock
            )
            return True if tested and expect.verdict is not Verdict.VIOLATED else None
        if expect.trace_length is not None:  # of a shortest one
            length, is_shortest = self.violation.trace_length, self.shrunk and self.shrunk.minimal.value == "globally"
            is_named = [self.violation.property] in ([expect.property], [*self.spec.checked])
            if length < expect.trace_length or (length > expect.trace_length and is_shortest and is_named):
                return False
        return expect.verdict is Verdict.VIOLATED and expect.property in (None, self.violation.property)


def simulate_spec(
    spec: Spec,
    walking: Walking,
    *,
    shrink: bool = True,
    workers: int | None = None,
    coverage: bool = False,
    on_progress: Callable[[int, int, float], None] = lambda walks, steps, seconds: None,
    on_shrinking: Callable[[int], None] = lambda length: None,
) -> Simulated:
    """Walk at random through what a spec speaks of, no deeper than its max_depth. See
    `highwater.explorer.analysis.simulate.simulate` for what the arguments mean.

    `on_shrinking` is called now and then with the length to which a violating walk was shrunk.

    Raises:
        SpecError: a weight names no action, or the model cannot be explored within these bounds, or is wrong in itself.
    """
    from highwater.explorer.analysis.shrink import shrink as make_short  # both import llvmlite
    from highwater.explorer.analysis.simulate import simulate

    if spec.file.max_depth is not None:
        walking = attrs.evolve(walking, depth=min(walking.depth, spec.file.max_depth))
    try:
        with blaming_the_model():
            system = spec.system()
            names = list(dict.fromkeys(action.of.name for action in system.actions))
            if unknown := next((name for name in walking.weights if name not in names), None):
                allowed = f"{did_you_mean(unknown, names)}; allowed are {', '.join(names)}"
                raise SpecError(f'{spec.path}: --weight: "{unknown}" is no action{allowed}')
            found = simulate(
                system,
                walking,
                check_deadlock=spec.check_deadlock,
                workers=workers,
                coverage=coverage,
                on_progress=on_progress,
            )
            return Simulated(
                spec,
                found,
                make_short(system, found.violation, on_progress=on_shrinking) if shrink and found.violation else None,
            )
    except ModelError as error:
        raise SpecError(f"{spec.path}: {error}") from error
