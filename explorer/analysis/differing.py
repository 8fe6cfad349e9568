"""Where one system steps otherwise than another over the same states: runs of the one that show it.

A run that both systems take says nothing about what tells them apart. So a run counts only if one of its steps is taken
otherwise, or by one system only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from highwater.explorer.analysis.paths import Paths, Run, Words
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
        self._differs: dict[tuple[int, Words], bool] = {}

    def runs(self) -> Iterator[Run]:
        """Runs of the one system with steps that the other takes otherwise or not at all: first those that end by such
        a step, shortest first, then whatever else takes its paths. Of the steps that it refuses, they try only those
        that the other takes. There are none if no step differs in any state in which one of the two took a path first.
        """
        targets = self.targets()
        yield from self._theirs.runs_to(targets)
        for run in self._theirs.runs() if targets else ():
            moves = [move for move in run.moves if not move.refused or self.differs(move.number, move.before)]
            if any(self.differs(move.number, move.before) for move in moves):
                yield Run(run.start, tuple(moves))

    def targets(self) -> list[tuple[int, Words]]:
        """Mapped steps that differ, by number and state, of all states in which one of the two took a path first."""
        back = {other: number for number, other in self._known.items()}
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
