"""What partial-order reduction could save at best: states of a full search over states of a search by stubborn sets.

    python bench/partial_order.py                    # twenty claims of the gallery
    python bench/partial_order.py specs/isr_agreement

Each learned path says exactly which bits of the state it reads and writes, so that independence of two steps needs no
annotation. For each state the smallest stubborn set is taken that begins with any of its enabled steps:

- whatever writes what an enabled step's path reads, and whatever reads or writes what that step writes;
- for an instance that is not enabled, whatever writes the part of the state that keeps it so: a field that alone proves
  it, the one that fewest steps write, or else as few tests of its path as prove it;
- if a step writes what an invariant reads, whatever does so.

The factors are optimistic: there is no proviso against ignoring a step for ever, which a search needs. The column "only
deadlocks" leaves invariants out, too. "Budgets free" does so and takes two steps that spend from one budget for
independent, which is not sound: it says what the model's counters cost. Symmetry is off.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.spec import load_spec
from highwater.explorer.compiler.decision_trees import DecisionTrees
from highwater.explorer.encoding import COPY_FIELD, FIRST_EFFECT, NODE
from highwater.explorer.search.levels.breadth_first import reach

ROOT = Path(__file__).parents[1]
SIZES, WANTED = range(400, 5_000), 20


def bits(field: tuple[int, int, int]) -> int:
    word, shift, width = field
    return ((1 << width) - 1) << 64 * word + shift


class Steps:
    """All instances of a system's actions, what they read and write, and what each does in a state.

    Attributes:
        known: by instance, all that any path of it reads, and all that it writes.
        visible: what invariants read.
    """

    def __init__(self, engine: Any, ignored: int, *, with_properties: bool) -> None:
        self._engine, self._ignored = engine, ignored
        self._effect, self._proof = cache(self._effect_of), cache(self._proof_of)
        self.known = [self._of_tree(engine.actions, number) for number in range(len(engine.actions.instances))]
        invariants = range(len(engine.invariants.instances)) if with_properties else ()
        self.visible = 0
        for number in invariants:
            self.visible |= self._of_tree(engine.invariants, number)[0]
        self.writers = cache(lambda mask: frozenset(self._those(lambda _, writes: writes & mask)))
        self.users = cache(lambda mask: frozenset(self._those(lambda reads, writes: (reads | writes) & mask)))

    def _those(self, test: Any) -> Iterator[int]:
        return (number for number, both in enumerate(self.known) if test(*both))

    def _of_tree(self, program: DecisionTrees, number: int) -> tuple[int, int]:
        reads = writes = 0
        todo = [number]
        while todo:
            branch = program.branches.cells[todo.pop()]
            if branch & NODE:
                field, first = program.node(branch)
                reads |= bits(field)
                todo.extend(range(first, first + (1 << field[2])))
            elif branch >= FIRST_EFFECT and program is self._engine.actions:
                written, copied, cut = self._effect(branch)
                writes, reads = writes | written * (not cut), reads | copied * (not cut)
        return reads & ~self._ignored, writes & ~self._ignored

    def _effect_of(self, branch: int) -> tuple[int, int, bool]:
        effects, row = self._engine.effects, branch - FIRST_EFFECT
        *keeps, copies = map(int, effects.writes.array[row])
        keeps = keeps[: len(keeps) // 2]
        written = sum((~keep & (1 << 64) - 1) << 64 * word for word, keep in enumerate(keeps))
        copied = 0
        for copy in effects.copies.array[copies >> 32 : copies & (1 << 32) - 1].tolist():
            word, shift, width = (copy >> place * COPY_FIELD & (1 << COPY_FIELD) - 1 for place in range(3))
            copied |= bits((word, shift, width))
        return written, copied, bool(effects.cut.array[row])

    def _is_out(self, position: int, values: dict[Any, int]) -> bool:
        """Whether no known path that agrees with the values leads to a step."""
        branch = self._engine.actions.branches.cells[position]
        if not branch & NODE:
            return branch < FIRST_EFFECT or self._effect(branch)[2]
        field, first = self._engine.actions.node(branch)
        below = [values[field]] if field in values else range(1 << field[2])
        return all(self._is_out(first + value, values) for value in below)

    def _proof_of(self, number: int, path: tuple[Any, ...]) -> int:
        """The bits that keep an instance from being enabled."""
        values = dict(path)
        alone = [bits(field) for field in values if self._is_out(number, {field: values[field]})]
        if alone:
            return min(alone, key=lambda mask: len(self.writers(mask & ~self._ignored)))
        for field in list(values):
            rest = {other: value for other, value in values.items() if other != field}
            values = rest if self._is_out(number, rest) else values
        return sum(map(bits, values))

    def at(self, words: Any) -> tuple[dict[int, tuple[int, int, int]], dict[int, int]]:
        """The enabled instances of a state with what each reads, writes and its branch; what keeps the others out."""
        enabled, others = {}, {}
        for number in range(len(self.known)):
            tests, branch = self._engine.actions.path(number, words)
            reads = 0
            for field, _ in tests:
                reads |= bits(field)
            if branch >= FIRST_EFFECT and not self._effect(branch)[2]:
                written, copied, _ = self._effect(branch)
                enabled[number] = (reads | copied) & ~self._ignored, written & ~self._ignored, branch
            else:
                others[number] = self._proof(number, tuple(tests)) & ~self._ignored
        return enabled, others

    def smallest(self, enabled: dict[int, tuple[int, int, int]], others: dict[int, int]) -> list[int]:
        """The enabled instances of a smallest stubborn set."""
        best = list(enabled)
        for seed in enabled:
            taken: set[int] = set()
            todo = {seed}
            while todo and sum(each in enabled for each in taken) < len(best):
                number = todo.pop()
                taken.add(number)
                if number in enabled:
                    reads, writes, _ = enabled[number]
                    todo |= self.writers(reads) | self.users(writes)
                    todo |= self.writers(self.visible) if writes & self.visible else frozenset()
                else:
                    todo |= self.writers(others[number])
                todo -= taken
            found = [each for each in taken if each in enabled]
            best = found if not todo and len(found) < len(best) else best
        return best


def reduced(engine: Any, initial: Iterable[Any], steps: Steps) -> int:
    """How many states a search reaches that takes the smallest stubborn set of each."""
    todo = [tuple(engine.layout.pack(state)) for state in initial]
    seen = set(todo)
    while todo:
        words = todo.pop()
        enabled, others = steps.at(words)
        for number in steps.smallest(enabled, others):
            after = engine.actions.meant(enabled[number][2], words)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return len(seen)


def report(path: Path) -> bool:
    """Print a row for a claim that holds, if it has invariants and is of a fitting size; whether it did."""
    spec, expected = load_spec(path), tomllib.loads(path.read_text())["expect"]
    fits = expected["verdict"] == "holds" and expected.get("distinct_states") in SIZES
    if not (fits and spec.system().invariants):
        return False
    system = attrs.evolve(spec.system(), step_properties=(), prospects=(), liveness=())
    engine, _ = reach(system, symmetry=False)
    states = engine.store.count
    for row in range(states):
        for program in (engine.actions, engine.invariants):
            for number in range(len(program.instances)):
                program.learn(number, engine.store.words(row))
    leaves = engine.layout.root.leaves()
    budgets = sum(bits((leaf.word, leaf.shift, leaf.width)) for leaf in leaves if leaf.path.startswith("used."))
    kinds = (
        Steps(engine, 0, with_properties=True),
        Steps(engine, 0, with_properties=False),
        Steps(engine, budgets, with_properties=False),
    )
    factors = [f"{states / reduced(engine, system.initial, steps):.2f}" for steps in kinds]
    print(f"| {path.parent.name}/{path.stem} | {states:,} | {' | '.join(factors)} |", flush=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="*", type=Path, default=[ROOT / "specs/partition", ROOT / "specs/controller"])
    given = parser.parse_args()
    print("| claim | states | invariants | only deadlocks | budgets free |\n|---|---|---|---|---|")
    for folder in given.folder:
        paths, rows = sorted(folder.rglob("*.toml")), 0
        for path in paths[::2] + paths[1::2]:
            rows += rows < WANTED // len(given.folder) and report(path)


if __name__ == "__main__":
    main()
