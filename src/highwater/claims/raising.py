"""Which bound may hide a violation: those that cut steps, each raised by one, one at a time.

A budget that cuts steps does what it was set for: it says how much may go wrong. A size, such as the last leader epoch,
cuts the very story that a budget began. So sizes come first, and among them those that cut most steps which no other
bound cuts: what two bounds cut stays cut when one of them is raised.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from highwater.claims.spec import Spec, SpecError
from highwater.explorer.blame import ModelError
from highwater.explorer.verdict import Auditing, Budget, Outcome, SearchOptions, Verdict
from highwater.visible import counted

STATES_MORE = 20
LEAST_STATES = 2_000_000


@attrs.frozen
class Raised:
    """What came out with one bound raised by one.

    Attributes:
        bound, value: its key, and its value now.
        outcome: of the search, which a budget may have ended; None if the model makes no sense within these bounds.
    """

    bound: str
    value: int
    outcome: Outcome | None


def is_size(spec: Spec, bound: str) -> bool:
    """Whether a bound says how large something is, rather than how often something may happen: it is never 0 by
    default.
    """
    return attrs.fields_dict(type(spec.bounds))[bound].default != 0


def may_hide(spec: Spec, outcome: Outcome) -> list[str]:
    """The bounds that cut steps and can be raised, the one to raise first at the front. One that is computed of others
    cannot.
    """
    fields = attrs.fields_dict(type(spec.bounds))
    highest = {
        key: fields[key].metadata.get("high") for key, count in outcome.bounds_cut.items() if count and key in fields
    }
    cutting = [key for key, high in highest.items() if high is not None and getattr(spec.bounds, key) < high]
    return sorted(
        cutting, key=lambda key: (not is_size(spec, key), -outcome.cut_alone.get(key, 0), -outcome.bounds_cut[key])
    )


@attrs.frozen
class Unproven:
    """Where a claim that holds says least: the bound to raise first.

    Attributes:
        bound: its key.
        cut: how many steps it cut that no other bound cut.
    """

    bound: str
    cut: int

    def __str__(self) -> str:
        steps = counted(self.cut, "step")
        return f"beyond these bounds nothing is known: {self.bound} cut {steps} that no other bound cut"


def unproven(spec: Spec, outcome: Outcome) -> Unproven | None:
    """The bound to raise first, if a claim holds and a size is among the bounds that cut steps."""
    bounds = may_hide(spec, outcome) if outcome.verdict is Verdict.HOLDS else []
    cut = outcome.cut_alone.get(bounds[0], 0) if bounds else 0
    return Unproven(bounds[0], cut) if cut and is_size(spec, bounds[0]) else None


def with_bounds_raised(
    spec: Spec,
    outcome: Outcome,
    *,
    symmetry: bool = True,
    workers: int | None = None,
    audit: Auditing | None = None,
) -> Iterator[Raised]:
    """Search again with each bound that cut steps raised by one.

    A search ends once it has stored twenty times the states of the first one, or two million if that is more.
    """
    from highwater.explorer.search.levels.breadth_first import explore

    budget = Budget(max_states=max(LEAST_STATES, STATES_MORE * outcome.stored_states))
    for bound in may_hide(spec, outcome):
        value = getattr(spec.bounds, bound) + 1
        try:
            system = spec.within(**{bound: value}).system()
            found = explore(
                system,
                budget,
                SearchOptions(workers=workers, symmetry=symmetry, audit=audit or Auditing.QUICK, keep_trees=True),
                check_deadlock=spec.check_deadlock,
            )
        except (ModelError, SpecError):  # nobody asked for these bounds, and the model need not make sense within them
            yield Raised(bound, value, None)
            continue
        if found.reason == "interrupted":
            raise KeyboardInterrupt
        yield Raised(bound, value, found)
