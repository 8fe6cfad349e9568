"""Why a trace ends where it ends: which step reads what which other step wrote, and the steps that a violation depends
on.

A traced run of each action says which leaves decided what it does and which it copied. A leaf was last written by the
last step that changed it. Following reads backwards from what the property looked at gives the *slice*: the steps that,
executed alone and in the same order, violate the property as well. So in a shortest trace every step is in the slice;
its steps differ by how far they are from the violation: those that wrote what the property looked at are at
distance 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from explorer.analysis.outlook import outlook
from explorer.compiler.layout import Elements, Fields, Layout, Leaf, Presence
from explorer.compiler.tracing import Recorder, Update
from explorer.search.lassos import is_lasso
from explorer.system import RAISED, ModelError, System, judge_end, said_by, where
from explorer.trace import element_path
from explorer.verdict import Step
from model.language.declarations import Instance, StepProperty, Transition
from model.language.graph_properties import Liveness, Prospect

START = 0


@attrs.frozen
class Causes:
    """What depends on what along a trace. Steps are numbered as in the trace, so that 0 is the initial state.

    Attributes:
        reads: for each step, the parts of the state that it read, as `explorer.trace.changes` names them, and for each
            the step that had last written it; 0 where none had.
        looked_at: the same for the property, in the last state or step.
        distance: the steps that the violation depends on: 1 for those that wrote what the property looked at, 2 for
            those that wrote what these read, and so on.
    """

    reads: tuple[Mapping[str, tuple[int, ...]], ...]
    looked_at: Mapping[str, tuple[int, ...]]
    distance: Mapping[int, int]


def causes(system: System, trace: Sequence[Step], violated: Instance | None, back_to: int | None = None) -> Causes:
    """Find out what depends on what along a trace.

    Args:
        violated: the property that the last state or step violates; None for a deadlock, which looks at what disables
            every action. A prospect looks at all that it and the steps along it read, in the last state and wherever
            these still lead. A liveness property looks at all that it reads on the cycle.
        back_to: of a lasso, where its cycle begins.

    Raises:
        ModelError: an action or the property cannot be traced, or an action does not do what the trace says.
    """
    layout = Layout(system.domain)
    parts = part_names(layout)
    words = [layout.pack(step.state) for step in trace]
    writers = _writers(layout, words)
    runs = [_Run(), *(_run(layout, words[number - 1], step.action) for number, step in enumerate(trace[1:], 1))]
    end = len(trace) - 1
    looked_at = _looked_at(system, layout, words, violated, end if back_to is None else back_to)

    def by_part(leaves: Iterable[tuple[Leaf, int]]) -> dict[str, tuple[int, ...]]:
        found: dict[str, set[int]] = {}
        for leaf, at in leaves:
            found.setdefault(parts[leaf], set()).add(writers[at][leaf])
        return {part: tuple(sorted(found[part])) for part in dict.fromkeys(parts.values()) if part in found}

    reads = tuple(by_part((leaf, number - 1) for leaf in run.reads) for number, run in enumerate(runs))
    last = end if violated is not None and isinstance(violated.of, StepProperty) else START
    return Causes(reads, by_part(looked_at), _distances(runs, writers, parts, looked_at, last))


def part_names(layout: Layout) -> dict[Leaf, str]:
    """For each leaf the smallest part of the state that changes name, as `explorer.trace.changes` does."""
    names: dict[Leaf, str] = {}

    def visit(slot: Any, path: str) -> None:
        match slot:
            case Fields(slots=slots):
                for name, inner in slots.items():
                    visit(inner, f"{path}.{name}" if path else name)
            case Elements(domain=domain, length=None, slots=slots):
                for i, inner in enumerate(slots):
                    visit(inner, element_path(domain, path, i))
            case Presence(bit=bit, slot=Fields() as inner):
                names[bit] = path
                visit(inner, path)
            case _:
                names.update(dict.fromkeys(slot.leaves(), path))

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


def _run(layout: Layout, words: Any, action: Instance | None) -> _Run:
    """Trace one action on one packed state."""
    assert action is not None
    recorder, result = _traced(layout, words, action, writes=True)
    if not isinstance(result, Update):
        raise ModelError(f"{action} {where(action)} is not enabled in the state before it")
    decided_by = frozenset(leaf for leaf, _ in recorder.path)
    return _Run(
        decided_by, dict(result.copies), frozenset(leaf for leaf, _ in result.constants) | frozenset(result.cleared)
    )


def _looked_at(
    system: System, layout: Layout, words: Sequence[Any], violated: Instance | None, back_to: int
) -> frozenset[tuple[Leaf, int]]:
    """The leaves that the violated property read, each with the number of the state in which it did."""
    end = len(words) - 1
    if violated is None:
        return frozenset(
            (leaf, end) for action in system.actions for leaf in _read(layout, words[end], action, writes=True)
        )
    if isinstance(violated.of, Prospect):
        relied_on = [action for action in system.actions if action.of in violated.of.along]
        ahead = [layout.pack(state) for state in outlook(system, violated, layout.unpack(words[end])).seen]
        read = (
            _read(layout, state, each, writes=each is not violated)
            for state in ahead
            for each in (violated, *relied_on)
        )
        return frozenset((leaf, end) for leaves in read for leaf in leaves)
    if isinstance(violated.of, Liveness):
        return frozenset((leaf, at) for at in range(back_to, end + 1) for leaf in _read(layout, words[at], violated))
    if not isinstance(violated.of, StepProperty):
        return frozenset((leaf, end) for leaf in _read(layout, words[end], violated))
    both, leaves = Layout(system.transitions), layout.root.leaves()
    before, after = (layout.unpack(words[number]) for number in (end - 1, end))
    known = dict(
        zip(both.root.leaves(), [*((leaf, end - 1) for leaf in leaves), *((leaf, end) for leaf in leaves)], strict=True)
    )
    return frozenset(known[leaf] for leaf in _read(both, both.pack(Transition(before, after)), violated))


def _read(layout: Layout, words: Any, instance: Instance, *, writes: bool = False) -> set[Leaf]:
    """The leaves that a function reads."""
    recorder, _ = _traced(layout, words, instance, writes=writes)
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


def _distances(
    runs: Sequence[_Run],
    writers: Sequence[Mapping[Leaf, int]],
    parts: Mapping[Leaf, str],
    looked_at: frozenset[tuple[Leaf, int]],
    last: int,
) -> dict[int, int]:
    """How many reads lie between each step of the slice and the violation: a breadth-first search over leaves and when
    they were read.

    Args:
        last: the step that a step property is about, which it depends on in any case; 0 if there is none.
    """
    distance = {last: 1} if last else {}
    seen: set[tuple[Leaf, int]] = set()
    level = {*looked_at, *((leaf, last - 1) for leaf in runs[last].decided_by)}
    depth = 0
    while level:
        depth += 1
        seen |= level
        before: set[tuple[Leaf, int]] = set()
        for leaf, at in level:
            step = writers[at][leaf]
            if step == START:
                continue
            distance.setdefault(step, depth)
            run = runs[step]
            needed = set(run.decided_by)
            if leaf in run.copied:
                needed.add(run.copied[leaf])
            elif leaf not in run.set_to:  # moved where slots are put in order again: it depends on all of them
                needed |= {other for other in parts if parts[other] == parts[leaf]} | set(run.copied.values())
            before |= {(other, step - 1) for other in needed}
        level = before - seen
    return dict(sorted(distance.items()))


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
    return [
        each
        for each in (*system.invariants, *system.step_properties, *system.prospects, *system.liveness)
        if each.of.name == name
    ]


def violates(system: System, instance: Instance, trace: Sequence[Step], back_to: int | None = None) -> bool | None:
    """Whether the end of a trace, or a lasso, violates a property; None for a prospect that takes the graph of all
    states to be judged.
    """
    if isinstance(instance.of, Liveness):
        return is_lasso(system, instance, trace, back_to)
    if isinstance(instance.of, Prospect):
        return outlook(system, instance, trace[-1].state).lost
    return not judge_end(system, instance, trace[-2].state if len(trace) > 1 else None, trace[-1].state)
