"""A system as trees: what every search, and every walk, goes by."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from highwater.explorer.compiler.effects import Effects
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.meanings import ActionProgram, InvariantProgram
from highwater.explorer.compiler.permutations import Image, Permutation
from highwater.explorer.compiler.prefilter import Filter
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.questions import refuse_questions, refuse_steps_that_never_happen
from highwater.explorer.compiler.ranks import OrderedLeaves
from highwater.explorer.compiler.wide_nodes import Widened
from highwater.explorer.kernels.arrays import EffectArrays, Trees
from highwater.explorer.kernels.making.entry_points import MachineCode
from highwater.explorer.system import System
from highwater.model.language.declarations import Transition
from highwater.model.language.domain import Struct


class Compiled:
    """The programs of a system.

    Attributes:
        system, layout: what is compiled, and its bits.
        images: what the permutations of interchangeable names do to packed states.
        effects, actions, invariants, prospects, liveness, premises, steps: the trees; those of `steps` are the step
            properties'.
        code: the kernels, and how they are compiled.
        growing: who holds it may let trees grow.
    """

    def __init__(self, system: System, layout: Layout, audit: int, permutations: Sequence[Permutation] = ()) -> None:
        """Nothing is learned yet.

        Args:
            audit: how many paths of each function to hold against plain Python.
            permutations: how names may be exchanged, the identity first; every path is tried under all of them.

        Raises:
            ModelError: actions or properties treat the names differently, as their declarations show; or a function
                asks for the exact type of a part of the state.
        """
        refuse_questions(system)
        refuse_steps_that_never_happen(system.actions)
        self.code = MachineCode(about=f"states of {layout.words} word{'' if layout.words == 1 else 's'}")
        self.system = system
        self.layout = layout
        self.effects = Effects(layout.words, 0 if system.ranks is None else len(system.ranks.groups))
        self.images = [Image.under(permutation, layout) for permutation in permutations]
        self.actions = ActionProgram(layout, system.actions, self.effects, audit, self.images)
        self.invariants = InvariantProgram(layout, system.invariants, self.effects, audit, self.images)
        self.prospects = InvariantProgram(layout, system.prospects, self.effects, audit, self.images)
        self.liveness = InvariantProgram(layout, system.liveness, self.effects, audit, self.images)
        self.premises = InvariantProgram(layout, system.premises, self.effects, audit, self.images)
        both = self._of_steps(layout)
        of_steps = [Image.under(permutation, both) for permutation in permutations if system.step_properties]
        self.steps = InvariantProgram(both, system.step_properties, self.effects, audit, of_steps)
        if system.ranks is not None:
            of_states, self.steps.ordered = OrderedLeaves(layout, system.ranks), OrderedLeaves(both, system.ranks)
            for program in self.programs:
                program.ordered = program.ordered or of_states
        self.growing = threading.Lock()

    def _of_steps(self, layout: Layout) -> Layout:
        """The layout of steps, if any property is of steps."""
        if not self.system.step_properties:
            return layout
        return layout.doubled(Struct(Transition, {"before": layout.domain, "after": layout.domain}))

    @property
    def programs(self) -> tuple[Program, ...]:
        """All of them."""
        return self.actions, self.invariants, self.steps, self.prospects, self.liveness, self.premises

    @property
    def paths(self) -> int:
        """How many paths of functions were run in Python."""
        return sum(program.paths for program in self.programs)

    @property
    def settings_read(self) -> frozenset[str] | None:
        """The toggles and bounds that any known path reads, such as protocol.acks, or protocol where it may be any of
        them; None where that is not known of some path.
        """
        if any(len(program.reads) < program.paths for program in self.programs):
            return None
        return frozenset().union(*(read for program in self.programs for read in program.reads.values()))

    def effect_arrays(self) -> EffectArrays:
        """The effects as the kernels read them."""
        effects = self.effects
        return EffectArrays(effects.writes.array, effects.copies.array, effects.cut.array, effects.tops.array)


def as_arrays(program: Program, found: Filter, wide: Widened) -> Trees:
    """A program as the kernels read it."""
    return Trees(program.branches.array, wide.nodes, wide.entries, found.chunks, found.candidates)
