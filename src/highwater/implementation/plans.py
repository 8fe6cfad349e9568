"""What there is to run: the paths of the actions that an adapter drives, each with a shortest run that ends by it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.building import build_system
from highwater.claims.observed import Observer
from highwater.claims.possible import Tracker
from highwater.claims.spec import Spec, SpecError, load_spec
from highwater.explorer.analysis.paths import Paths, Run
from highwater.explorer.blame import ModelError
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, Step
from highwater.implementation.adapters import Choice, Interface, interface_of
from highwater.model.language.declarations import Instance

MOST_STATES = 1_000_000
LONGEST_NAME = 80


def spec_of(given: str | PathLike[str] | Spec) -> Spec:
    """A claim: read from a file, or as it is.

    Raises:
        SpecError: it cannot be read or is wrong.
    """
    return given if isinstance(given, Spec) else load_spec(Path(given))


@attrs.frozen
class Goal:
    """A path with a shortest run that ends by it.

    Attributes:
        path: as `Paths.path_of_all` has it: names make no difference.
        name: the last step, and the steps before it.
        trace: the run.
    """

    path: int
    name: str
    trace: tuple[Step, ...]

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def actions(self) -> list[Instance]:
        """The steps."""
        return [step.taken for step in self.trace[1:]]


class Plan:
    """A model, and what an adapter drives of it.

    Attributes:
        system: the model, with nothing to check.
        interface: what the adapter drives; None without an adapter.
        observer, tracker: what reads observations, and follows the model; all walks share what these have learned.
    """

    def __init__(self, spec: Spec, adapter: type | None, max_states: int) -> None:
        self.spec = spec
        self._most = max_states
        self._others: dict[type, Plan] = {}
        try:
            self.system = build_system(spec.definition, spec.protocol, spec.bounds, ())
        except ModelError as error:
            raise SpecError(f"{spec.path}: {error}") from None
        self.interface: Interface | None = interface_of(adapter, self.system.actions) if adapter else None
        self.observer = Observer(self.system.domain)
        self.tracker = Tracker(self.system, self.interface.by_itself if self.interface else ())

    @property
    def name(self) -> str:
        return self.spec.name

    def with_adapter(self, adapter: type) -> Plan:
        """The same of another adapter. It is made once, as it explores the model.

        Raises:
            AdapterError: it does not fit the model.
        """
        if adapter not in self._others:
            self._others[adapter] = Plan(self.spec, adapter, self._most)
        return self._others[adapter]

    @functools.cached_property
    def driven(self) -> System:
        """The model with those actions only that the adapter drives."""
        return self._with(self.interface.choices) if self.interface else self.system

    @functools.cached_property
    def explored(self) -> System:
        """The model with those actions, too, that happen by themselves: all that the implementation may do."""
        driven = {each.of.name for each in self.driven.actions}
        return self._with(driven | self._uncalled) if self._uncalled else self.driven

    @functools.cached_property
    def _uncalled(self) -> set[str]:
        """The actions that happen by themselves, and that no method takes."""
        return {*self.interface.by_itself} - self.interface.choices.keys() if self.interface else set()

    def _with(self, names: Collection[str]) -> System:
        return attrs.evolve(self.system, actions=tuple(each for each in self.system.actions if each.of.name in names))

    @functools.cached_property
    def paths(self) -> Paths:
        """The paths of what is driven; all states that the implementation may reach are looked at for them."""
        return self._paths_of(self.explored)

    def _paths_of(self, system: System) -> Paths:
        names = {each.of.name for each in self.driven.actions}
        return Paths(system, names, (), Budget(max_states=self._most), workers=1)

    @functools.cached_property
    def goals(self) -> tuple[Goal, ...]:
        """Every path that calls alone lead to, the nearest first."""
        return self._goals_of(self.paths if self.explored is self.driven else self._paths_of(self.driven))

    @functools.cached_property
    def beyond(self) -> tuple[Goal, ...]:
        """Every other reachable path, the nearest first: before it something has to happen by itself."""
        return () if self.explored is self.driven else self._goals_of(self.paths, self.goals)

    def _goals_of(self, paths: Paths, known: tuple[Goal, ...] = ()) -> tuple[Goal, ...]:
        found: list[Goal] = []
        for run in paths.shortest().values():
            trace = _trace(paths, run)
            path = self.path_of(trace[-1].taken, trace[-2].state)
            if path not in {each.path for each in (*known, *found)}:
                found.append(Goal(path, _name_of(trace, {each.name for each in (*known, *found)}), trace))
        return tuple(found)

    def by_itself(self, actions: Iterable[Instance]) -> str:
        """Which of some actions happen by themselves, in words; nothing if none does."""
        names = list(dict.fromkeys(each.of.name for each in actions if each.of.name in self._uncalled))
        happens = "happens by itself" if len(names) == 1 else "happen by themselves"
        return f"{' and '.join(names)} {happens}" if names else ""

    def left_out(self, actions: Iterable[Instance]) -> str:
        """Which of some actions the implementation never does, in words; nothing if it does all."""
        done = {each.of.name for each in self.explored.actions}
        return " and ".join(dict.fromkeys(each.of.name for each in actions if each.of.name not in done))

    def path_of(self, action: Instance, state: Any) -> int:
        """The path that a step takes, as `Goal.path` has it."""
        return self._path_of(self._numbers[str(action)], state)

    @functools.cached_property
    def _path_of(self) -> Callable[[int, Any], int]:
        paths = self.paths

        @functools.lru_cache(maxsize=100_000)
        def path_of(number: int, state: Any) -> int:
            return paths.path_of_all(number, tuple(paths.engine.layout.pack(state)))

        return path_of

    @functools.cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {str(each): number for number, each in enumerate(self.explored.actions)}

    def choice_of(self, action: Instance) -> Choice:
        """The call that stands for an action."""
        return self._calls[str(action)]

    @functools.cached_property
    def _calls(self) -> Mapping[str, Choice]:
        assert self.interface is not None
        return {str(each): choice for choice, of in self.interface.stands_for.items() for each in of}


def _trace(paths: Paths, run: Run) -> tuple[Step, ...]:
    unpack, actions = paths.engine.layout.unpack, paths.system.actions
    steps = (Step(actions[move.number], unpack(move.after)) for move in run.moves)
    return (Step(None, unpack(run.start)), *steps)


def _name_of(trace: tuple[Step, ...], taken: set[str]) -> str:
    """A name for a path: its last step, and the steps before it if there is room. Those from different initial states
    are numbered.
    """
    *before, last = (" ".join([step.taken.of.name, *step.taken.shown.values()]) for step in trace[1:])
    name = f"{last} after {', '.join(before)}" if before else last
    if len(name) > LONGEST_NAME:
        name = f"{last} after {len(before)} steps"
    numbered = (name if number == 1 else f"{name}, {number}" for number in range(1, len(taken) + 2))
    return next(each for each in numbered if each not in taken)
