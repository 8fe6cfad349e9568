"""Which rules of a protocol does running Kafka contradict? Each toggle is set to its other values in turn, and steps
that differ then are executed, under several specs together.

Three things make that affordable, and none of them changes a judgement. A toggle that no path of a spec reads can
change nothing there. A run that the unchanged protocol takes, too, says nothing about the change. And one contradiction
is enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.changed_rules import Change, changes_of
from highwater.claims.conformance import Session, Wanted, paths_of
from highwater.claims.spec import Spec, SpecError
from highwater.claims.tables import Wrong
from highwater.conformance.lockstep import Divergence, Findings
from highwater.explorer.analysis.differing import Differing, settings_read
from highwater.explorer.analysis.paths import Paths
from highwater.explorer.compiler.permutations import renamed

Kinds = Collection[Any]
EXECUTED = ("replicas", "quorum", "elections")  # what running code has of a partition's state


class Judgement(Enum):
    """What running code says to a changed rule. `NO_EFFECT`: no mapped step within the bounds depends on it.
    `NO_EFFECT_SEEN`: none that can be executed was seen to; but not every state was seen, or there are such steps, of
    which none can be tried, or no run went on to its end. `NOT_EXPRESSIBLE`: no release with KRaft has it.
    """

    CONTRADICTED = "contradicted"
    AGREES = "not contradicted"
    NO_EFFECT_SEEN = "no effect seen"
    NO_EFFECT = "no effect"
    NOT_EXPRESSIBLE = "not expressible"


@attrs.frozen
class Contradiction:
    """A protocol with one toggle changed, and what running code says to it.

    Attributes:
        change: the toggle, and its values in the spec and here.
        judgement: what became of it.
        claim: the name of the spec that has judged it.
        divergences: where the two sides part because of the change.
    """

    change: Change
    judgement: Judgement
    claim: str
    divergences: tuple[Divergence, ...] = ()


def judged(
    session: Session,
    specs: Sequence[Spec],
    wanted: Wanted,
    on_progress: Callable[[str], None] = lambda line: None,
    known: Mapping[Path, Kinds] | None = None,
) -> list[Contradiction]:
    """Each change of a toggle, and what the running code says to it under several specs together; see `judging`.

    Raises:
        SpecError, KafkaError: as `Session.conform` says.
    """
    found: list[Contradiction] = []
    for _, found in judging(session, specs, wanted, on_progress, known):  # noqa: B007 - the last one has all
        pass
    return found


def judging(
    session: Session,
    specs: Sequence[Spec],
    wanted: Wanted,
    on_progress: Callable[[str], None] = lambda line: None,
    known: Mapping[Path, Kinds] | None = None,
    likely: Mapping[str, str] | None = None,
    settled: Collection[str] = (),
) -> Iterator[tuple[str, list[Contradiction]]]:
    """What the running code says to each change of a toggle, after each spec: one contradiction is enough, and a change
    that one spec has contradicted is not tried under the next. Specs with few paths come first.

    Args:
        known: by the file of a spec, the kinds of divergences that it has with its own protocol. They are none of a
            change.
        likely: by a change, the name of the spec that is likely to contradict it, to be tried before any other.
        settled: changes that are not to be tried.

    Returns:
        The name of the spec that has been tried, or nothing where only the likely changes were, and what is known by
        then.

    Raises:
        SpecError, KafkaError: as `Session.conform` says.
    """
    found: dict[str, Contradiction] = {each.key: _unjudged(each, spec) for spec in specs for each in changes_of(spec)}
    ours = sorted(((spec, paths_of(spec, wanted)) for spec in specs), key=lambda each: len(each[1].reachable))
    pairs = {(spec.name, change.key) for spec in specs for change in changes_of(spec) if change.key not in settled}
    first = {(name, key) for name, key in pairs if (likely or {}).get(key) == name}
    for now, (spec, paths) in itertools.product((first, pairs - first), ours):
        named = [each for each in changes_of(spec) if (spec.name, each.key) in now]
        changes = [each for each in named if found[each.key].judgement is not Judgement.CONTRADICTED]
        if changes:
            kinds = (known or {}).get(spec.path, ())
            for each in mutations(session, spec, changes, wanted, on_progress, kinds, paths):
                found[each.change.key] = min(found[each.change.key], each, key=_rank)
        yield "" if now is first else spec.name, list(found.values())


def _unjudged(change: Change, spec: Spec) -> Contradiction:
    return Contradiction(change, Judgement.NOT_EXPRESSIBLE, spec.name)


def _rank(found: Contradiction) -> int:
    """Judgements by what they say, the most first."""
    return list(Judgement).index(found.judgement)


def mutations(
    session: Session,
    spec: Spec,
    changes: Sequence[Change],
    wanted: Wanted,
    on_progress: Callable[[str], None] = lambda line: None,
    known: Kinds = (),
    paths: Paths | None = None,
    *,
    keep_going: bool = False,
) -> Iterator[Contradiction]:
    """Each change of a toggle, and what the running code says to the changed protocol under one spec.

    Args:
        known: kinds of divergences that the spec has with its own protocol.
        paths: those of the spec, if they were learned before.
        keep_going: look for further kinds of divergences behind the first one.

    Raises:
        SpecError, KafkaError: as `Session.conform` says, of the protocol as it is.
    """
    ours = paths or paths_of(spec, wanted)
    read = settings_read(ours, spec.protocol)
    for change in changes:
        on_progress(f"{spec.name}: {change.key}")
        try:
            changed = spec.under(attrs.evolve(spec.protocol, **{change.rule: change.value}))
            unread = change.rule not in read and _begins_alike(ours.system, changed.system())
            theirs = None if unread else paths_of(changed, wanted)
        except (Wrong, SpecError):
            yield Contradiction(change, Judgement.NOT_EXPRESSIBLE, spec.name)
            continue
        if theirs is None:
            yield Contradiction(change, Judgement.NO_EFFECT_SEEN if ours.unseen else Judgement.NO_EFFECT, spec.name)
            continue
        lockstep = session.lockstep(changed, theirs, spec.protocol)
        differing = Differing(ours, theirs, EXECUTED)
        found = lockstep.execute(
            differing.runs(), enough=lambda so_far: not keep_going and bool(_parted(so_far, known))
        )
        parted = _parted(found, known)
        unexecuted = Judgement.NO_EFFECT if differing.is_nowhere else Judgement.NO_EFFECT_SEEN
        to_their_ends = found.runs - found.counts.total()  # others ended at what the spec diverges in anyhow
        agrees = Judgement.AGREES if to_their_ends else Judgement.NO_EFFECT_SEEN if found.runs else unexecuted
        judgement = Judgement.CONTRADICTED if parted else agrees
        yield Contradiction(change, judgement, spec.name, parted)


def _parted(found: Findings, known: Kinds) -> tuple[Divergence, ...]:
    return tuple(each for each in found.divergences if each.kind not in known)


def _begins_alike(ours: Any, theirs: Any) -> bool:
    """Whether two systems have the same initial states, the same domain and the same actions by name."""
    named = [[renamed(instance, {}) for instance in each.actions] for each in (ours, theirs)]
    return (*ours.initial,) == (*theirs.initial,) and ours.domain == theirs.domain and named[0] == named[1]
