"""What to do about a search that a budget ended: which bound multiplies the states most, and how many there would be,
by short probes.

A probe explores the same model with one bound smaller and all others as they are. Two neighbouring values of a bound
whose probes see every state give the factor of that step, and taken again for every step up to the full value, an
estimate. Each bound gives an estimate of its own; how far they lie apart says how much to trust them.
"""

from __future__ import annotations

import math
import statistics
import time

import attrs

from highwater.claims.building import no_names
from highwater.claims.spec import Spec
from highwater.explorer.memory import machine_memory
from highwater.explorer.verdict import Budget, Outcome, SearchOptions, Verdict

STATES_PER_PROBE = 500_000
SECONDS = 10.0


@attrs.frozen
class Growth:
    """What one bound does to the number of states, all others being as they are.

    Attributes:
        bound: its key.
        low, high: two neighbouring values of it.
        states_low, states_high: how many states there are with each.
        full: the value that it has in the spec.
    """

    bound: str
    low: int
    high: int
    states_low: int
    states_high: int
    full: int

    @property
    def factor(self) -> float:
        """By how much one more multiplies the states."""
        return self.states_high / self.states_low

    @property
    def least(self) -> float:
        """How many states there are with its full value, if every step up only adds as many as the measured one did."""
        return self.states_high + (self.states_high - self.states_low) * (self.full - self.high)

    @property
    def estimate(self) -> float:
        """How many states there are with its full value, if every step up multiplies as the measured one does."""
        return self.states_high * self.factor ** (self.full - self.high)


@attrs.frozen
class Advice:
    """What probes found out.

    Attributes:
        growths: what each bound does, the one that multiplies states most first; those too large to probe are left out.
        estimates: how many states there are within the full bounds: at least, if growth is no faster than what it was
            measured to add; the geometric mean of the estimates; the largest of them. None where nothing could be
            measured.
        seconds, memory: what a search of that many would take here, at the best pace that was seen, and the bytes per
            state of the search that was cut.
        symmetry: by how much the search could store less if it kept one state for all that differ by names; 1 where it
            does already, or cannot.
        fits: whether that memory is there.
        probes: how many probes were made.
    """

    growths: tuple[Growth, ...]
    estimates: tuple[float, float, float] | None
    seconds: float
    memory: float
    symmetry: int
    fits: bool
    probes: int


def advise(
    spec: Spec, outcome: Outcome, *, symmetry: bool = True, workers: int | None = None, seconds: float = SECONDS
) -> Advice:
    """Probe smaller bounds of a spec whose search was ended by a budget."""
    probes = _Probes(spec, workers, time.perf_counter() + seconds, symmetry=symmetry)
    growths = sorted(
        filter(None, map(probes.growth_of, _most_cutting_first(spec, outcome))), key=lambda growth: -growth.factor
    )
    estimates = sorted(max(growth.estimate, outcome.distinct_states) for growth in growths)
    least = max([outcome.distinct_states, *(growth.least for growth in growths)])
    between = statistics.geometric_mean(estimates) if estimates else 0.0
    stored = max(1, outcome.stored_states)
    stand_for = max(1, outcome.distinct_states) / stored
    memory = between / stand_for * outcome.memory / stored
    return Advice(
        growths=tuple(growths),
        estimates=(min(least, estimates[0]), between, estimates[-1]) if estimates else None,
        seconds=between / max(probes.pace, outcome.distinct_states / max(outcome.search_seconds, 1e-9), 1e-9),
        memory=memory,
        symmetry=_images(spec) if not symmetry else 1,
        fits=memory < machine_memory() * 4 / 5,
        probes=probes.made,
    )


def _most_cutting_first(spec: Spec, outcome: Outcome) -> list[str]:
    keys = [field.name for field in attrs.fields(type(spec.bounds)) if "low" in field.metadata]
    return sorted(keys, key=lambda key: -outcome.bounds_cut.get(key, 0))


def _images(spec: Spec) -> int:
    """How many states may differ by interchangeable names only."""
    names = (spec.definition.interchangeable or no_names)(spec.bounds)
    return math.prod(math.factorial(len(members)) for members in names.values())


class _Probes:
    """Short searches within smaller bounds."""

    def __init__(self, spec: Spec, workers: int | None, ends_at: float, *, symmetry: bool) -> None:
        self.spec, self.symmetry, self.workers, self.ends_at = spec, symmetry, workers, ends_at
        self.made = 0
        self.pace = 0.0

    def growth_of(self, bound: str) -> Growth | None:
        """What a bound does at the largest two neighbouring values that can be explored; None if there are none, or no
        time.
        """
        full = getattr(self.spec.bounds, bound)
        least = attrs.fields_dict(type(self.spec.bounds))[bound].metadata["low"]
        high, states_high = None, 0
        for value in range(full - 1, least - 1, -1):
            states = self.states_with(bound, value)
            if states is not None and high is not None:
                return Growth(bound, value, high, states, states_high, full)
            high, states_high = (value, states) if states is not None else (None, 0)
        return None

    def states_with(self, bound: str, value: int) -> int | None:
        """How many states there are with one bound smaller; None if too many for a probe, or if there is no
        time left.
        """
        from highwater.explorer.search.levels.breadth_first import explore

        if time.perf_counter() > self.ends_at:
            return None
        self.made += 1
        try:
            system = attrs.evolve(self.spec.within(**{bound: value}), properties=()).system()
            outcome = explore(
                system,
                Budget(max_states=STATES_PER_PROBE),
                SearchOptions(workers=self.workers, symmetry=self.symmetry),
                audit=0,
            )
        except Exception:  # nobody asked for these bounds, and the model need not make sense within them
            return None
        if outcome.reason == "interrupted":
            raise KeyboardInterrupt
        self.pace = max(self.pace, outcome.distinct_states / max(outcome.search_seconds, 1e-9))
        return outcome.distinct_states if outcome.verdict is Verdict.HOLDS else None
