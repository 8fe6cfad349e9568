"""Why a trace ends where it ends: which step reads what which other step wrote, and the steps that a violation depends
on.

A traced run of each action says which leaves decided what it does and which it copied. A leaf was last written by the
last step that changed it. Following reads backwards from what the property looked at gives the *slice*: the steps that,
executed alone and in the same order, violate the property as well. So in a shortest trace every step is in the slice;
its steps differ by how far they are from the violation: those that wrote what the property looked at are at
distance 1.

The violation of a lasso looks at more than the property does: at what its premise read where the wait begins, and at
what decides that going round is fair. Its cycle belongs to it. Each step of the cycle must happen again, and change
what it changes, so that what it writes is looked at before it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, assert_never, cast

import attrs

from highwater.explorer.blame import RAISED, ModelError, said_by, where
from highwater.explorer.classes import truths
from highwater.explorer.compiler.layout import Elements, Fields, Layout, Leaf, Members, Presence, Slot
from highwater.explorer.compiler.tracing import Recorder, Update
from highwater.explorer.fairness import Demand, demands_of
from highwater.explorer.outlook import outlook
from highwater.explorer.search.graph_properties.lassos import is_lasso, wait_begins
from highwater.explorer.system import System, judge_end, successor
from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Action, Instance, StepProperty, Transition
from highwater.model.language.domain import ArrayOf, element_path
from highwater.model.language.graph_properties import EVERYWHERE, Liveness, Prospect

START = 0


@attrs.frozen
class Causes:
    """What depends on what along a trace. Steps are numbered as in the trace, so that 0 is the initial state.

    Attributes:
        reads: for each step, the parts of the state that it read, as `highwater.explorer.trace.changes` names them, and
            for each the step that had last written it; 0 where none had.
        looked_at: the same for the property, in the last state or step.
        distance: the steps that the violation depends on: 1 for those that wrote what the property looked at, 2 for
            those that wrote what these read, and so on. Those of a lasso's cycle are at 2 at most.
        read_by_property: the leaves of the state, by their paths, that the property looked at.
        relied_on: the same of all leaves whose values the violation depends on.
    """

    reads: tuple[Mapping[str, tuple[int, ...]], ...]
    looked_at: Mapping[str, tuple[int, ...]]
    distance: Mapping[int, int]
    read_by_property: frozenset[str]
    relied_on: frozenset[str]


def causes(system: System, trace: Sequence[Step], violated: Instance | None, back_to: int | None = None) -> Causes:
    """Find out what depends on what along a trace.

    Args:
        violated: the property that the last state or step violates; None for a deadlock, which looks at what disables
            every action. A prospect looks at all that it and the steps along it read, in the last state and wherever
            these still lead. For a liveness property see `_LassoLooks`.
        back_to: of a lasso, where its cycle begins.

    Raises:
        ModelError: an action or the property cannot be traced, or an action does not do what the trace says.
    """
    layout = Layout(system.domain)
    parts = part_names(layout)
    words = [layout.pack(step.state) for step in trace]
    writers = _writers(layout, words)
    runs = [_Run(), *(_run(layout, words[number - 1], step.action) for number, step in enumerate(trace[1:], 1))]
    of_lasso = (
        None
        if back_to is None or violated is None
        else _LassoLooks(system, layout, trace, cast("Instance[Liveness]", violated), back_to)
    )
    looked_at = of_lasso.looked_at if of_lasso else _looked_at(system, layout, words, violated)

    def by_part(leaves: Iterable[tuple[Leaf, int]]) -> dict[str, tuple[int, ...]]:
        found: dict[str, set[int]] = {}
        for leaf, at in leaves:
            found.setdefault(parts[leaf], set()).add(writers[at][leaf])
        return {part: tuple(sorted(found[part])) for part in dict.fromkeys(parts.values()) if part in found}

    reads = tuple(by_part((leaf, number - 1) for leaf in run.reads) for number, run in enumerate(runs))
    sliced = _Slice(runs, writers, of_lasso.waiting if of_lasso else {})
    of_step = violated is not None and isinstance(violated.of, StepProperty)
    needed = looked_at | sliced.keep(len(trace) - 1, 1) if of_step else looked_at
    sliced.follow(needed, of_lasso.cycle if of_lasso else {})
    return Causes(
        reads,
        by_part(looked_at),
        dict(sorted(sliced.distance.items())),
        frozenset(leaf.path for leaf, _ in looked_at),
        frozenset(leaf.path for leaf, _ in sliced.seen),
    )


def part_names(layout: Layout) -> dict[Leaf, str]:
    """For each leaf the smallest part of the state that changes name, as `highwater.explorer.trace.changes` does."""
    names: dict[Leaf, str] = {}

    def visit(slot: Slot, path: str) -> None:
        match slot:
            case Fields(slots=slots):
                for name, inner in slots.items():
                    visit(inner, f"{path}.{name}" if path else name)
            case Elements(domain=domain, length=None, slots=elements):
                for i, inner in enumerate(elements):
                    visit(inner, element_path(cast(ArrayOf, domain), path, i))
            case Presence(bit=bit, slot=Fields() as inner):
                names[bit] = path
                visit(inner, path)
            case Leaf() | Members() | Elements() | Presence():
                names.update(dict.fromkeys(slot.leaves(), path))
            case _:
                assert_never(slot)

    visit(layout.root, "")
    return names


@attrs.frozen
class _Run:
    """What one step read: the leaves that decided what it does, and for each leaf that it copied, from where; and what
    it set.
    """

    decided_by: frozenset[Leaf] = frozenset()
    copied: Mapping[Leaf, Leaf] = attrs.field(factory=dict)
    set_to: frozenset[Leaf] = frozenset()

    @property
    def reads(self) -> frozenset[Leaf]:
        return self.decided_by | set(self.copied.values())

    @property
    def written(self) -> frozenset[Leaf]:
        """What it wrote, changed or not."""
        return self.set_to | set(self.copied)


def _run(layout: Layout, words: Any, action: Instance | None) -> _Run:
    """Trace one action on one packed state."""
    assert action is not None
    enabled, run = _tried(layout, words, action)
    if not enabled:
        raise ModelError(f"{action} {where(action)} is not enabled in the state before it")
    return run


def _tried(layout: Layout, words: Any, action: Instance) -> tuple[bool, _Run]:
    """Whether an action is enabled in a packed state, and what it read and set there."""
    recorder, result = _traced(layout, words, action, writes=True)
    decided_by = frozenset(leaf for leaf, _ in recorder.path)
    if not isinstance(result, Update):
        return result is not None, _Run(decided_by)
    set_to = frozenset(leaf for leaf, _ in result.constants) | frozenset(result.cleared)
    return True, _Run(decided_by, dict(result.copies), set_to)


Looks = frozenset[tuple[Leaf, int]]
"""Leaves, each with the number of the state in which it was read."""


def _looked_at(system: System, layout: Layout, words: Sequence[Any], violated: Instance | None) -> Looks:
    """What the violated property read, where it can be judged without a cycle."""
    end = len(words) - 1
    if violated is None:
        return frozenset((leaf, end) for action in system.actions for leaf in _read(layout, words[end], action))
    if isinstance(violated.of, Prospect):
        relied_on = [action for action in system.actions if action.of in violated.of.along]
        ahead = [
            layout.pack(state)
            for state in outlook(system, cast("Instance[Prospect]", violated), layout.unpack(words[end])).seen
        ]
        read: list[Set[Leaf]] = [_read(layout, state, violated) for state in ahead]
        read += [_tried(layout, state, each)[1].reads for state in ahead for each in relied_on]
        return frozenset((leaf, end) for leaves in read for leaf in leaves)
    if not isinstance(violated.of, StepProperty):
        return frozenset((leaf, end) for leaf in _read(layout, words[end], violated))
    both, leaves = layout.doubled(system.transitions), layout.root.leaves()
    before, after = (layout.unpack(words[number]) for number in (end - 1, end))
    known = dict(
        zip(both.root.leaves(), [*((leaf, end - 1) for leaf in leaves), *((leaf, end) for leaf in leaves)], strict=True)
    )
    return frozenset(known[leaf] for leaf in _read(both, both.pack(Transition(before, after)), violated))


class _LassoLooks:
    """What makes a lasso a violation, by where it was read.

    Attributes:
        looked_at: by the property on the cycle, and in the state in which the wait begins, there by the premise, too;
            and by each fair action that is not taken on the cycle, where it is not enabled.
        waiting: by step before the cycle, what the property reads in the state after it: if the step is kept, the
            property must be false there.
        cycle: by step of the cycle, what it takes for the step to change what it changes.
    """

    def __init__(
        self, system: System, layout: Layout, trace: Sequence[Step], violated: Instance[Liveness], back_to: int
    ) -> None:
        self._system, self._layout, self._trace, self._of = system, layout, trace, violated
        self._words = [layout.pack(step.state) for step in trace]
        self._around = range(back_to, len(trace))
        begin = wait_begins(system, violated, trace, back_to)
        self.waiting = {at: self._by_truth(at) for at in range(begin + 1, back_to + 1)}
        self.looked_at = self._by_the_property(begin) | self._by_fairness()
        self.cycle = {at: self._by_step(at) for at in self._around[1:]}
        if trace[back_to].state != trace[-1].state:  # the same up to the order of epochs, of which any may matter
            everything = frozenset((leaf, back_to) for leaf in layout.root.leaves())
            self.cycle = {at: looks | everything for at, looks in self.cycle.items()}

    def _by(self, of: Instance, at: int) -> Looks:
        return frozenset((leaf, at) for leaf in _read(self._layout, self._words[at], of))

    def _by_the_property(self, begin: int) -> Looks:
        of = self._of
        form = of.of.form
        if form.stays == EVERYWHERE:
            returns = (at for at in reversed(self._around) if self._truths(at) in form.returns)
            return self._by_truth(next(returns))
        looks = frozenset().union(*(self._by_truth(at) for at in {begin, *self._around}))
        return looks if of.premise is None else looks | self._by(of.premise, begin)

    def _by_truth(self, at: int) -> Looks:
        """What decides that a path may stay, by the function and, if that matters, the premise."""
        of, form = self._of, self._of.of.form
        by_premise = {truth for premise, truth in form.stays if premise} != {t for p, t in form.stays if not p}
        looks = self._by(of, at)
        return looks | self._by(of.premise, at) if of.premise is not None and by_premise else looks

    def _truths(self, at: int) -> tuple[bool, bool]:
        return truths(self._system, self._of, self._trace[at].state)

    def _by_fairness(self) -> Looks:
        """What decides that each action to which behaviours are fair is not enabled, where none is taken: somewhere on
        the cycle for weak fairness, everywhere for strong.
        """
        taken = {step.action for step in self._trace[self._around.start + 1 :]}
        looks: set[tuple[Leaf, int]] = set()
        for demand in demands_of(self._system, self._of.of):
            if taken.isdisjoint(demand.instances):
                idle = [at for at in self._around if not self._is_enabled(demand, at)]
                for at in idle if demand.strong else idle[:1]:
                    looks.update(*(self._by_idle(each, at) for each in demand.instances))
        return frozenset(looks)

    def _is_enabled(self, demand: Demand, at: int) -> bool:
        state = self._trace[at].state
        found = (successor(each, state, self._system.domain) for each in demand.instances)
        return any(after is not None and after != state for after in found)

    def _by_idle(self, action: Instance, at: int) -> Looks:
        """What an action reads that is not enabled, or what it writes without changing anything."""
        run = _tried(self._layout, self._words[at], action)[1]
        return frozenset((leaf, at) for leaf in run.reads | run.written)

    def _by_step(self, at: int) -> Looks:
        run = _run(self._layout, self._words[at - 1], self._trace[at].action)
        return frozenset((leaf, at - 1) for leaf in run.reads | run.written)


def _read(layout: Layout, words: Any, instance: Instance) -> set[Leaf]:
    """The leaves that decide what a function returns."""
    recorder, _ = _traced(layout, words, instance, writes=isinstance(instance.of, Action))
    return {leaf for leaf, _ in recorder.path}


def _traced(layout: Layout, words: Any, instance: Instance, *, writes: bool) -> tuple[Recorder, Any]:
    """A run of a function, and what it returned: of an action that is enabled, the writes."""
    recorder = Recorder(layout, words)
    try:
        result = instance.apply(recorder.root())
        return recorder, recorder.writes(result) if writes and result is not None else result
    except RAISED as error:
        raise ModelError(f"{instance} cannot be traced: {said_by(error)}; {where(instance)}") from error
    finally:
        recorder.close()


def _writers(layout: Layout, words: Sequence[Any]) -> list[dict[Leaf, int]]:
    """For each state of a path, the step that last changed each leaf."""
    leaves = layout.root.leaves()
    writers = [dict.fromkeys(leaves, START)]
    for number in range(1, len(words)):
        before, after = words[number - 1], words[number]
        changed = {leaf: number for leaf in leaves if _raw(leaf, before) != _raw(leaf, after)}
        writers.append({**writers[-1], **changed})
    return writers


def _raw(leaf: Leaf, words: Any) -> int:
    return int(words[leaf.word]) >> leaf.shift & leaf.mask


class _Slice:
    """The steps that a violation depends on: a breadth-first search over leaves and when they were read.

    What is left takes the same ways. A step that is kept finds what it reads as it was, so it writes what it wrote. A
    leaf that is needed was last changed by a step that is kept, and what kept steps wrote there since is the same.

    Attributes:
        distance: how many reads lie between each step and the violation.
        seen: the leaves that are needed, and when.
    """

    def __init__(
        self, runs: Sequence[_Run], writers: Sequence[Mapping[Leaf, int]], watched: Mapping[int, Looks]
    ) -> None:
        """Args:
        watched: by step, what is needed after it if the step is kept.
        """
        self._runs, self._writers, self._watched = runs, writers, watched
        self.distance: dict[int, int] = {}
        self.seen: set[tuple[Leaf, int]] = set()

    def follow(self, looked_at: Looks, kept: Mapping[int, Looks]) -> None:
        """Follow what is needed backwards.

        Args:
            kept: steps that are kept in any case, and what each needs.
        """
        level, depth = set(looked_at), 1
        while level or depth == 1:
            self.seen |= level
            in_order = sorted(level, key=lambda look: (look[0].path, look[1]))  # of steps that are kept at once
            before = set().union(*(self._written_by(leaf, at, depth) for leaf, at in in_order))
            if depth == 1:
                before = before.union(*(looks | self.keep(step, 2) for step, looks in kept.items()))
            level, depth = before - self.seen, depth + 1

    def keep(self, step: int, depth: int) -> Looks:
        """Keep a step, and say what that needs: what decides what it does, and what it copies onto what is needed
        later, even where that changes nothing.
        """
        if step in self.distance:
            return frozenset()
        self.distance[step] = depth
        run = self._runs[step]
        needed = {(leaf, step - 1) for leaf in run.decided_by} | self._watched.get(step, frozenset())
        for leaf, at in self.seen:
            if leaf in run.copied and self._writers[at][leaf] < step <= at:
                needed.add((run.copied[leaf], step - 1))
        return frozenset(needed)

    def _written_by(self, leaf: Leaf, at: int, depth: int) -> Looks:
        """What the value of a leaf in a state comes from: what the step copied that wrote it last, and what that step
        needs.
        """
        changed = self._writers[at][leaf]
        needed = self.keep(changed, depth) if changed != START else frozenset()
        rewrote = (step for step in self.distance if changed <= step <= at and leaf in self._runs[step].written)
        run = self._runs[last := max(rewrote, default=START)]
        return needed | {(run.copied[leaf], last - 1)} if leaf in run.copied else needed


def instance_of(
    system: System, name: str, arguments: Mapping[str, str], trace: Sequence[Step], back_to: int | None = None
) -> Instance | None:
    """The instance of the property that the end of a trace violates; None for a deadlock, and for what cannot be judged
    again.
    """
    named = (each for each in instances_of(system, name) if dict(each.shown) == dict(arguments))
    return next((each for each in named if violates(system, each, trace, back_to)), None)


def instances_of(system: System, name: str) -> list[Instance]:
    """The instances of a checked property."""
    return [each for each in system.properties if each.of.name == name]


def violates(system: System, instance: Instance, trace: Sequence[Step], back_to: int | None = None) -> bool | None:
    """Whether the end of a trace, or a lasso, violates a property; None for a prospect that takes the graph of all
    states to be judged.
    """
    if isinstance(instance.of, Liveness):
        return is_lasso(system, cast("Instance[Liveness]", instance), trace, back_to)
    if isinstance(instance.of, Prospect):
        return outlook(system, cast("Instance[Prospect]", instance), trace[-1].state).lost
    return not judge_end(system, instance, trace[-2].state if len(trace) > 1 else None, trace[-1].state)
