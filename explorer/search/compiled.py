"""A system as trees: what every search, and every walk, goes by."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from explorer.compiler.decision_trees import ActionProgram, InvariantProgram, Program
from explorer.compiler.effects import Effects
from explorer.compiler.layout import Layout
from explorer.compiler.permutations import Permutation
from explorer.compiler.prefilter import Filter
from explorer.compiler.type_tests import refuse_exact_type_tests
from explorer.compiler.wide_nodes import Widened
from explorer.kernels.arrays import EffectArrays, Trees
from explorer.system import System


class Compiled:
    """The programs of a system.

    Attributes:
        system, layout: what is compiled, and its bits.
        effects, actions, invariants, prospects, liveness, premises, steps: the trees; those of `steps` are the step properties'.
        growing: who holds it may let trees grow.
    """

    def __init__(self, system: System, layout: Layout, audit: int, exchanged: Sequence[Permutation] = ()) -> None:
        """Nothing is learned yet; a path is learned for all instances at once that differ by names which may be exchanged.

        Raises:
            ModelError: a function asks for the exact type of a part of the state.
        """
        every = (*system.actions, *system.invariants, *system.step_properties, *system.prospects)
        refuse_exact_type_tests(every, system.domain)
        self.system = system
        self.layout = layout
        self.effects = Effects(layout.words)
        self.actions = ActionProgram(layout, system.actions, self.effects, audit, exchanged)
        self.invariants = InvariantProgram(layout, system.invariants, self.effects, audit, exchanged)
        self.prospects = InvariantProgram(layout, system.prospects, self.effects, audit, exchanged)
        self.liveness = InvariantProgram(layout, system.liveness, self.effects, audit, exchanged)
        self.premises = InvariantProgram(layout, system.premises, self.effects, audit, exchanged)
        self.steps = InvariantProgram(layout.doubled(system.transitions), system.step_properties, self.effects, audit, exchanged)
        self.growing = threading.Lock()

    @property
    def programs(self) -> tuple[Program, ...]:
        """All of them."""
        return self.actions, self.invariants, self.steps, self.prospects, self.liveness, self.premises

    @property
    def paths(self) -> int:
        """How many paths of functions were run in Python."""
        return sum(program.paths for program in self.programs)

    def effect_arrays(self) -> EffectArrays:
        """The effects as the kernels read them."""
        effects = self.effects
        return EffectArrays(effects.writes.array, effects.copies.array, effects.cut.array)


def as_arrays(program: Program, found: Filter, wide: Widened) -> Trees:
    """A program as the kernels read it."""
    return Trees(program.branches.array, wide.nodes, wide.entries, found.chunks, found.candidates)
