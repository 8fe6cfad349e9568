"""Conformance of a spec with running Kafka: what was executed, which paths that covers, and where the two sides
part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from highwater.claims.resolving import preset_named, spelt, toggles_of, with_preset
from highwater.claims.spec import Spec, SpecError
from highwater.claims.tables import Wrong, structure
from highwater.conformance.controller_side import without_delayed_elections
from highwater.conformance.harnesses import Harnesses
from highwater.conformance.lockstep import Divergence, Findings, LockStep
from highwater.conformance.operations import MAPPED, REFUSABLE, UNMAPPED, between_looks
from highwater.conformance.process import Harness
from highwater.explorer.analysis.paths import Move, Paths, Run
from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, Step

MODEL = "partition"


@attrs.frozen
class Wanted:
    """How much to execute.

    Attributes:
        max_states: how many states to explore for paths at most.
        walks, depth, seed: random walks beside the planned runs.
    """

    max_states: int = 100_000
    walks: int = 0
    depth: int = 40
    seed: int = 0


@attrs.frozen
class Conformance:
    """What came of holding a spec against running Kafka.

    Attributes:
        spec: the claim whose states and steps were executed.
        kafka: the release, as its jars say.
        reachable: by action, how many paths were learned on reachable states.
        executed: by action, how many of them were executed, both sides agreeing.
        unseen: why not all states of the spec were seen; empty if they were.
        findings: steps, runs, divergences.
    """

    spec: Spec
    kafka: str
    reachable: dict[str, int]
    executed: dict[str, int]
    unseen: str
    findings: Findings

    @property
    def divergences(self) -> list[Divergence]:
        return self.findings.divergences

    @property
    def unmapped(self) -> dict[str, str]:
        """The spec's actions that no call on the brokers stands for, and why."""
        names = dict.fromkeys(action.name for action in self.spec.definition.actions)
        return {name: UNMAPPED[name] for name in names if name in UNMAPPED}

    @property
    def preset(self) -> str:
        """The preset that speaks for the release; empty if none does."""
        try:
            return preset_named(self.spec.model, self.kafka)
        except Wrong:
            return ""

    @property
    def other_rules(self) -> dict[str, tuple[Any, Any]]:
        """The rules that this preset has otherwise than the spec, by name: the spec's value and the preset's."""
        if not self.preset:
            return {}
        ours, theirs = toggles_of(self.spec.protocol), toggles_of(self.spec.model.presets[self.preset])
        return {rule: (value, theirs[rule]) for rule, value in ours.items() if value != theirs[rule]}

    @property
    def rules_in_words(self) -> str:
        """These rules, and the preset to compare with where the spec has another one."""
        otherwise = (f"{rule} {spelt(ours)} → {spelt(theirs)}" for rule, (ours, theirs) in self.other_rules.items())
        try_it = f" (try --preset {self.preset})" if self.preset != self.spec.file.preset else ""
        return f"Kafka {self.kafka} has the rules of {self.preset}{try_it}; other than here: {', '.join(otherwise)}"

    @property
    def complete(self) -> bool:
        return not self.unseen

    @property
    def agrees(self) -> bool:
        return not self.divergences


def with_another_preset(spec: Spec, preset: str | None) -> Spec:
    """The spec under another preset, with its own toggles on top.

    Raises:
        SpecError: there is no such preset.
    """
    if preset is None:
        return spec
    model = spec.model
    try:
        protocol = structure(with_preset(model, preset, spec.file.protocol), model.protocol, "protocol")
        return attrs.evolve(spec.under(protocol), file=attrs.evolve(spec.file, preset=preset))
    except Wrong as wrong:
        raise SpecError("\n".join(f"{spec.path}: {problem}" for problem in wrong.problems)) from None


def refuse_unless_mapped(spec: Spec) -> None:
    """Refuse a spec of which nothing can be executed.

    Raises:
        SpecError: it is of another model, or of releases before KRaft.
    """
    if spec.file.model != MODEL:
        raise SpecError(
            f'{spec.path}: model: "{spec.file.model}" has no counterpart in running code yet; allowed is {MODEL}'
        )
    if spec.protocol.by_zookeeper or not spec.protocol.truncation_rules.fetches_name_epochs:
        presets = "kafka-3.0 and newer"
        raise SpecError(
            f"{spec.path}: preset: its leaders write to ZooKeeper, or its followers ask for a truncation offset; "
            f"allowed are {presets}"
        )


def run_of(system: System, trace: Sequence[Step]) -> Run:
    """A trace of a system, as a run."""
    layout = Layout(system.domain)
    words = [tuple(layout.pack(step.state)) for step in trace]
    moves = tuple(
        Move(system.actions.index(step.action), before, after, 0)
        for step, before, after in zip(trace[1:], words, words[1:], strict=False)
        if step.action is not None
    )
    return Run(words[0], moves)


class Session:
    """Java processes that specs are held against, one spec after the other."""

    def __init__(self, harness: Harness | Harnesses) -> None:
        self._harness = harness

    def conform(
        self, spec: Spec, wanted: Wanted, on_progress: Callable[[str], None] = lambda line: None
    ) -> Conformance:
        """Execute every path of every mapped action of a spec, and random walks if they are wanted.

        Raises:
            SpecError: the model is wrong in itself, or not mapped.
            KafkaError: the Java side died, or lacks what is called.
        """
        on_progress("exploring")
        return self._execute(spec, paths_of(spec, wanted), wanted, on_progress)

    def lockstep(self, spec: Spec, paths: Paths, configured: Any = None) -> LockStep:
        """What executes runs of a spec.

        Args:
            configured: the protocol whose settings of a cluster apply, if it is not the spec's.
        """
        actions, layout = paths.system.actions, paths.engine.layout
        return LockStep(self._harness, actions, layout, spec.protocol, spec.bounds, configured)

    def _execute(self, spec: Spec, paths: Paths, wanted: Wanted, on_progress: Callable[[str], None]) -> Conformance:
        lockstep = self.lockstep(spec, paths)

        def tell(found: Findings) -> None:
            done = len(found.executed & paths.reachable.keys())
            on_progress(
                f"{done:,} of {len(paths.reachable):,} paths  {found.steps:,} steps  {len(found.divergences)} "
                "divergences"
            )

        lockstep.execute(paths.runs(), tell)
        if wanted.walks:
            lockstep.execute(paths.walks(wanted.walks, wanted.depth, lockstep.findings.executed), tell)
        executed = Counter(paths.reachable[path] for path in lockstep.findings.executed if path in paths.reachable)
        reachable = Counter(paths.reachable.values())
        return Conformance(
            spec, self._harness.distribution.release, dict(reachable), dict(executed), paths.unseen, lockstep.findings
        )

    def replay(self, spec: Spec, system: System, run: Run) -> Conformance:
        """Execute one trace.

        Raises:
            KafkaError: as `conform` says.
        """
        lockstep = LockStep(self._harness, system.actions, Layout(system.domain), spec.protocol, spec.bounds)
        return Conformance(spec, self._harness.distribution.release, {}, {}, "", lockstep.execute([run]))


def paths_of(spec: Spec, wanted: Wanted) -> Paths:
    """The paths of a spec's actions, with the steps that Kafka takes in one call as one.

    Raises:
        SpecError: the model is wrong in itself, or not mapped.
    """
    refuse_unless_mapped(spec)
    try:
        system = without_delayed_elections(without_interleavings(spec.system()), spec.protocol)
        return Paths(system, MAPPED, REFUSABLE, Budget(max_states=wanted.max_states), wanted.seed)
    except ModelError as error:
        raise SpecError(f"{spec.path}: {error}") from error


def without_interleavings(system: System) -> System:
    """The system without steps between a leader's two looks at a follower: both are inside one call of
    Partition#maybeExpandIsr.
    """

    def guarded(action: Any) -> Any:
        if action.of.name == "propose_expansion":
            return action

        def apply(state: Any) -> Any:
            return None if between_looks(state) else action.apply(state)

        return attrs.evolve(action, apply=apply)

    if not any(action.of.name == "find_in_sync" for action in system.actions):
        return system
    return attrs.evolve(system, actions=tuple(map(guarded, system.actions)))
