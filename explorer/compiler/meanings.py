"""What the leaves of decision trees mean: of an action the next state, of a property whether it holds."""

from __future__ import annotations

from typing import Any

from highwater.explorer.blame import RAISED, failed
from highwater.explorer.compiler.permutations import Image
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.tracing import Recorder
from highwater.explorer.encoding import FIRST_EFFECT, NOTHING, VIOLATED
from highwater.explorer.system import Cut, judge, successor, verdict_of
from highwater.model.language.declarations import Instance


class ActionProgram(Program):
    """The trees of action instances."""

    def known_successors(self, words: Any) -> list[tuple[int, ...]]:
        """The words of the states after a packed state, as far as paths are known."""
        ends = (self._end(number, words) for number in range(len(self.instances)))
        return [after for end in ends if end >= FIRST_EFFECT and isinstance(after := self.meant(end, words), tuple)]

    def _traced(self, instance: Instance, recorder: Recorder) -> Any:
        result = self.settings.applied(instance)(recorder.root())
        return None if result is None else recorder.writes(result)

    def _reference(self, result: Any) -> int:
        return NOTHING if result is None else self.effects.reference(result)

    def image_of(self, reference: int, image: Image) -> int:
        if reference == NOTHING:
            return NOTHING
        found = self._moved.get((reference, image))
        if found is None:
            result = image.of_result(self.effects.results[reference - FIRST_EFFECT])
            found = self._moved[reference, image] = self.effects.reference(result)
        return found

    def _plain(self, instance: Instance, state: Any, words: Any) -> Any:
        try:
            after = instance.apply(state)
        except RAISED as error:
            raise failed(instance, error, state, self.layout.domain) from error
        try:
            return None if after is None else self._plain_states.packed(words, state, after)
        except RAISED:
            successor(instance, state, self.layout.domain)  # raises what says more
            raise

    def meant(self, reference: int, words: Any) -> Any:
        if reference == NOTHING:
            return None
        row = reference - FIRST_EFFECT
        effects = self.effects
        if cut := int(effects.cut.array[row]):
            return Cut(effects.bounds[cut - 1])
        return effects.after(row, words)


class InvariantProgram(Program):
    """The trees of invariant instances."""

    def _traced(self, instance: Instance, recorder: Recorder) -> Any:
        return bool(verdict_of(instance, self.settings.applied(instance)(recorder.root())))

    def _reference(self, result: Any) -> int:
        return NOTHING if result else VIOLATED

    def _plain(self, instance: Instance, state: Any, words: Any) -> Any:
        return bool(judge(instance, state, self.layout.domain))

    def meant(self, reference: int, words: Any) -> Any:
        return reference == NOTHING
