"""Where one system steps otherwise than another over the same states: runs of the one that show it.

A run that both systems take says nothing about what tells them apart. So a run counts only if one of its steps is taken
otherwise, or by one system only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from highwater.explorer.analysis.paths import Move, Paths, Run, Words
from highwater.explorer.compiler.permutations import renamed
from highwater.explorer.compiler.settings import NOTING, noting


class Differing:
    """Steps of one system, `theirs`, beside those of another, `ours`."""

    def __init__(self, ours: Paths, theirs: Paths, compared: Callable[[Any], Any]) -> None:
        """
        Args:
            compared: the part of a state that counts.
        """
        self._ours, self._theirs, self._compared = ours, theirs, compared
        numbers = {renamed(instance, {}): number for number, instance in enumerate(ours.system.actions)}
        named = [(number, numbers.get(renamed(each, {}))) for number, each in enumerate(theirs.system.actions)]
        self._known = {number: other for number, other in named if other is not None}
        self._back = {other: number for number, other in self._known.items()}
        self._differs: dict[tuple[int, Words], bool] = {}

    def runs(self) -> Iterator[Run]:
        """Runs of the one system with steps that the other takes otherwise or not at all: first those that end by such
        a step, shortest first, then whatever else takes its paths. They try steps that the one system refuses and the
        other, after the same steps, takes. There are none if no step differs in any state in which one of the two took
        a path first.
        """
        targets, tried = self.targets(), set[int]()
        yield from self._theirs.runs_to(targets)
        for run in self._theirs.runs() if targets else ():
            found = self._telling(run, tried)
            if found is not None:
                yield found

    def _telling(self, run: Run, tried: set[int]) -> Run | None:
        """A run with the steps to try, or None if the other system takes all of it and no more."""
        ours, theirs = self._ours.engine.layout, self._theirs.engine.layout
        mine: Any = ours.pack(theirs.unpack(run.start))
        moves, tells = list[Move](), False
        for move in (each for each in run.moves if not each.refused):
            refused = self._refused(move.before, mine, tried)
            mine = self._after(move.number, mine)
            goes_on = isinstance(mine, tuple)
            alike = goes_on and self._compared(ours.unpack(mine)) == self._compared(theirs.unpack(move.after))
            mine = mine if goes_on else None
            tells |= bool(refused) or not alike
            moves += [*refused, move]
        last = self._refused(moves[-1].after, mine, tried) if moves else []
        return Run(run.start, (*moves, *last)) if tells or last else None

    def _refused(self, words: Words, mine: Words | None, tried: set[int]) -> list[Move]:
        """Steps that the one system refuses in a state, and the other takes in its own; each path of the other once."""
        found = []
        for move in self._ours.steps(tuple(mine)) if mine is not None else ():
            number = self._back.get(move.number, -1)
            known = number not in self._theirs.mapped or move.path in tried
            if not known and self._theirs.program.evaluate(number, words) is None:
                tried.add(move.path)
                found.append(Move(number, words, words, -1))
        return found

    def _after(self, number: int, mine: Words | None) -> Any:
        """What the other system makes of its own state by a step of the one."""
        other = self._known.get(number)
        return None if other is None or mine is None else self._ours.program.evaluate(other, tuple(mine))

    def targets(self) -> list[tuple[int, Words]]:
        """Mapped steps that differ, by number and state, of all states in which one of the two took a path first."""
        back = self._back
        tried = [each for each in self._theirs.program.examples if each[0] in self._theirs.mapped]
        tried += [(back[number], words) for number, words in self._ours.program.examples if number in back]
        mapped = self._theirs.mapped
        return [each for each in dict.fromkeys(tried) if each[0] in mapped and self.differs(*each)]

    def differs(self, number: int, words: Words) -> bool:
        """Whether a step of the one system is another one in the other system."""
        key = number, tuple(words)
        if key not in self._differs:
            other, state = self._known.get(number), self._theirs.engine.layout.unpack(words)
            here = self._compared(self._theirs.after(number, state))
            self._differs[key] = other is None or here != self._compared(self._ours.after(other, state))
        return self._differs[key]


def settings_read(paths: Paths, settings: Any) -> frozenset[str]:
    """The fields of an object, such as a protocol, that paths of any action read of it; all of them where they may know
    it as a whole. Under another value of any other field every path is the same.
    """
    read, layout = set[str](), paths.engine.layout
    with NOTING, noting(settings, "", read.add):
        for number, words in list(paths.program.examples):
            paths.system.actions[number].apply(layout.unpack(words))
    fields = frozenset(field.name for field in attrs.fields(type(settings)))
    return fields if "" in read else frozenset(each.removeprefix(".") for each in read)
