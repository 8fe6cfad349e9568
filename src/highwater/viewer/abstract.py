"""The model that is to be refined, beside the one that a trace is of: lanes of its own, at the right."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from highwater.explorer.refinement import AbstractStep, refinement_in
from highwater.explorer.system import System
from highwater.explorer.verdict import Step
from highwater.model.language.picture import Badge, Picture, Tone
from highwater.viewer.pictures.of_any_model import STATE, draw


def with_abstract(system: System, trace: Sequence[Step], pictures: Sequence[Picture]) -> list[Picture]:
    """The pictures of a trace's states with what these are mapped to, where a model is to be refined."""
    refines = refinement_in(system)
    if refines is None:
        return list(pictures)
    found = []
    for number, (picture, step) in enumerate(zip(pictures, refines.beside(trace), strict=True)):
        drawn = draw(refines.abstract.domain, step.state).lanes
        lanes = {refines.model if name == STATE else f"{refines.model} {name}": lane for name, lane in drawn.items()}
        first, *_ = lanes
        lanes[first] = attrs.evolve(lanes[first], badges=(_badge(step, number), *lanes[first].badges))
        found.append(attrs.evolve(picture, lanes={**picture.lanes, **lanes}))
    return found


def _badge(step: AbstractStep, number: int) -> Badge:
    """Which action of the abstract model a step is."""
    if step.action:
        return Badge(" ".join((step.action.of.name, *step.action.shown.values())))
    if step.fits:
        return Badge("nothing changes" if number else "initial state", Tone.IDLE)
    return Badge("no such step" if number else "no initial state", Tone.STALE)
