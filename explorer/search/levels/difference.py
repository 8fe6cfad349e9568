"""What two systems over the same states do differently: states and steps of the one that the other lacks, exactly and
without symmetry, once all states of both are known.

A *step* is a state, an action that changes it, and the state after. A step of the first system that the second lacks is

- *refused*, if both systems reach its state and the action is not enabled there any more;
- *changed*, if both reach its state and the action now leads to another state;
- *unreached*, if only the first system reaches its state.

The first two are what a change of rules does by itself, the third what follows from it. Where both were explored to a
depth only, a step is from a state that is reached before it.
"""

from __future__ import annotations

import re
from collections import Counter

import attrs
import numpy as np

from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.programs import Program
from highwater.explorer.search.engine.engine import Engine, mask_of
from highwater.explorer.search.graph_properties.edges import Edges, Rows
from highwater.explorer.search.levels.coverage import look, unreached
from highwater.explorer.verdict import Unreached

MOST_ACTIONS = 20  # bits of a step's key


@attrs.frozen
class Difference:
    """What the second of two systems does differently.

    Attributes:
        states: how many states each has.
        lost_states, gained_states: how many the second lacks, and how many only the second has.
        steps: by action, how many steps of it each system has.
        refused, changed, unreached: by action, how many steps of the first system the second lacks, by the reason.
        gained: by action, how many steps only the second system has; a changed step gives one.
        replaced, replacing: the actions that only the first system has, and those that only the second has.
        constant: fields of the state that change in the first system, and never in the second.
        unlooked: statements of the properties that ran in the first system, and never run in the second.
        unasked: the liveness properties whose premise is true in some state of the first system, and in none of the
            second.
    """

    states: tuple[int, int]
    lost_states: int
    gained_states: int
    steps: dict[str, tuple[int, int]]
    refused: dict[str, int]
    changed: dict[str, int]
    unreached: dict[str, int]
    gained: dict[str, int]
    replaced: tuple[str, ...]
    replacing: tuple[str, ...]
    constant: tuple[str, ...]
    unlooked: tuple[Unreached, ...]
    unasked: tuple[str, ...]

    @property
    def lost(self) -> Counter[str]:
        """By action, how many steps of the first system the second lacks."""
        return Counter(self.refused) + Counter(self.changed) + Counter(self.unreached)

    @property
    def never(self) -> tuple[str, ...]:
        """The actions that change a state in the first system, and never in the second, unless it has others in their
        place that do.
        """
        gone = [name for name, (before, after) in self.steps.items() if before and not after]
        replaced = self.replaced if any(self.steps[name][1] for name in self.replacing) else ()
        return tuple(name for name in gone if name not in replaced)


def difference(before: Engine, after: Engine, depth: int | None = None) -> Difference:
    """Compare two systems over the same domain, each explored without symmetry.

    Args:
        depth: how deep they were explored; to their ends if None.

    Raises:
        Stopped: there is no room for the steps.
    """
    count = before.store.count
    names = {str(each): each.of.name for engine in (before, after) for each in engine.system.actions}
    numbers = {shown: number for number, shown in enumerate(names)}
    assert len(numbers) < 1 << MOST_ACTIONS
    _, ids = np.unique(np.concatenate([_as_bytes(before), _as_bytes(after)]), return_inverse=True)
    here, there = ids[:count], ids[count:]
    keys, targets = _steps(before, here, numbers, _expanded(before, depth))
    new_keys, new_targets = _steps(after, there, numbers, _expanded(after, depth))
    _, kept, new_kept = np.intersect1d(keys, new_keys, assume_unique=True, return_indices=True)
    turned = targets[kept] != new_targets[new_kept]
    lacking, new = np.ones(len(keys), bool), np.ones(len(new_keys), bool)
    lacking[kept], new[new_kept] = False, turned
    gone = ~np.isin(keys >> MOST_ACTIONS, there[: _expanded(after, depth)])

    def by_action(chosen: np.ndarray) -> dict[str, int]:
        counts = np.bincount(chosen & ((1 << MOST_ACTIONS) - 1), minlength=len(names))
        found: Counter[str] = Counter()
        for name, number in zip(names.values(), counts.tolist(), strict=True):
            found[name] += number
        return {name: number for name, number in found.items() if number}

    had, has = by_action(keys), by_action(new_keys)
    both = len(np.intersect1d(here, there, assume_unique=True))
    return Difference(
        states=(count, after.store.count),
        lost_states=count - both,
        gained_states=after.store.count - both,
        steps={name: (had.get(name, 0), has.get(name, 0)) for name in dict.fromkeys(names.values())},
        refused=by_action(keys[lacking & ~gone]),
        changed=by_action(keys[kept[turned]]),
        unreached=by_action(keys[gone]),
        gained=by_action(new_keys[new]),
        replaced=tuple(name for name in _actions(before) if name not in _actions(after)),
        replacing=tuple(name for name in _actions(after) if name not in _actions(before)),
        constant=tuple(_outermost(_changing(before) - _changing(after))),
        unlooked=tuple(_unlooked(before, after)),
        unasked=tuple(name for name in _asked(before) if name not in _asked(after)),
    )


def _expanded(engine: Engine, depth: int | None) -> int:
    """The rows whose steps are known."""
    store = engine.store
    return store.rows_of_levels if depth is None or depth > store.depth else store.level(depth)[0]


def _actions(engine: Engine) -> dict[str, None]:
    """The names of its actions, in their order."""
    return dict.fromkeys(each.of.name for each in engine.system.actions)


def _as_bytes(engine: Engine) -> np.ndarray:
    """Each row as one value, so that rows can be sorted."""
    cells = np.ascontiguousarray(engine.store.cells(0, engine.store.count))
    return cells.view(f"V{cells.itemsize * cells.shape[1]}").reshape(-1)


def _steps(engine: Engine, ids: np.ndarray, numbers: dict[str, int], expanded: int) -> tuple[np.ndarray, np.ndarray]:
    """Each step of the first rows as a key, its state and its action, and the state that it leads to."""
    store, actions = engine.store, engine.system.actions
    rows = Rows(store.rows, store.table, engine.symmetry, engine.layout, engine.code)
    region, sources = np.ones(store.count, np.uint8), np.ones(store.count, np.uint8)
    sources[expanded:] = 0
    graph = Edges(engine, rows, region, np.zeros(len(actions), np.uint8), store.room, sources).graph
    listed = int(graph.first[store.count])
    counts: np.ndarray = np.diff(graph.first[: store.count + 1].astype(np.int64))
    sources = np.repeat(ids, counts)
    action = np.array([numbers[str(each)] for each in actions], np.int64)[graph.labels[:listed]]
    return sources << MOST_ACTIONS | action, ids[graph.targets[:listed]]


def _changing(engine: Engine) -> set[str]:
    return changing_fields(engine.layout, words_of(engine.layout, engine.store.cells(0, engine.store.count)))


def words_of(layout: Layout, cells: np.ndarray) -> np.ndarray:
    """Packed states, a row of words each, from their units."""
    room = np.zeros((len(cells), 2 * layout.words), np.uint32)
    room[:, : cells.shape[1]] = cells
    return room.view(np.uint64)


def changing_fields(layout: Layout, words: np.ndarray) -> set[str]:
    """The fields of the state that do not have the same value in all of some packed states, without the places in
    arrays and tuples.
    """
    differs = np.bitwise_or.reduce(words ^ words[0], axis=0)
    return {field_of(leaf.path) for leaf in layout.root.leaves() if int(differs[leaf.word]) >> leaf.shift & leaf.mask}


def field_of(path: str) -> str:
    """A leaf's field: `replicas[0].log[1].id`, `len(replicas[0].log)` and `r0 in clients.acked` without the places."""
    path = re.sub(r"^.* in |^len\(|\)$| is not None$", "", path)
    return re.sub(r"\[[^]]*\]", "", path)


def _outermost(fields: set[str]) -> list[str]:
    """These fields without those that are inside another one of them."""
    return sorted(field for field in fields if not any(field.startswith(f"{other}.") for other in fields))


def _unlooked(before: Engine, after: Engine) -> list[Unreached]:
    missed = set(_never_run(before))
    return [each for each in _never_run(after) if each not in missed]


def _never_run(engine: Engine) -> list[Unreached]:
    """The statements of properties that run on no state. A search looks at no state with what it knows to be violated,
    nor at any with what is judged on the graph.
    """
    on_states = (engine.invariants, engine.prospects, engine.liveness, engine.premises)
    for program in on_states:
        _false_in(engine, program)
    return list(unreached(map(look, (*on_states, engine.steps))))


def _false_in(engine: Engine, program: Program) -> np.ndarray:
    """In how many states each property of a program is false; all of its walks are known then."""
    if not program.instances:
        return np.zeros(0, np.int64)
    wanted = mask_of(True for _ in program.instances)
    return engine.count_violations(program, wanted, 0, engine.store.count)


def _asked(engine: Engine) -> dict[str, None]:
    """The liveness properties whose premise is true in some state."""
    with_premise = [each.of.name for each in engine.system.liveness if each.premise is not None]
    false = _false_in(engine, engine.premises).tolist()
    return dict.fromkeys(name for name, count in zip(with_premise, false, strict=True) if count < engine.store.count)
