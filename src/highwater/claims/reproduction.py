"""A counterexample of `partition` on a real cluster: what is asked for, planned, and found."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.building import build_system
from highwater.claims.spec import SpecError
from highwater.cluster.cluster import Cluster
from highwater.cluster.deeds import Driver
from highwater.cluster.planner import NoSchedule, Planner
from highwater.cluster.runs import Observed, Run
from highwater.cluster.schedule import Kind, Schedule
from highwater.cluster.settings import Settings
from highwater.cluster.verdict import Verdict, verdict
from highwater.conformance.distribution import Distribution
from highwater.explorer.verdict import Violation
from highwater.model.language.declarations import Invariant, StepProperty
from highwater.model.language.definition import Definition

MODEL = "partition"
SHORT_LAG_MS = 6_000  # where a schedule waits for it; far less than a session
FEATURES_SINCE = (4, 0)  # eligible leader replicas can be switched on and off
# what a schedule may need beyond the trace's own bounds: brokers go on by themselves, and clients look at the end
MORE = {"leader_epoch_max": 3, "partition_epoch_max": 8, "leader_moves": 1}


@attrs.frozen
class Counterexample:
    """What is to be reproduced.

    Attributes:
        where: its file and claim, for messages.
        name: of the claim.
        definition, protocol, bounds: of the model.
        violation: with its trace.
    """

    where: str
    name: str
    definition: Definition
    protocol: Any
    bounds: Any
    violation: Violation


@attrs.frozen
class Reproduction:
    """What came of one counterexample on one release.

    Attributes:
        of: the counterexample.
        kafka: the release.
        settings: of the cluster; None if no cluster was started.
        schedule, run: None if there is no schedule.
        verdict: whether the defect came about, in a sentence.
    """

    of: Counterexample
    kafka: str
    settings: Settings | None
    schedule: Schedule | None
    run: Run | None
    verdict: Verdict


def refuse_unless_possible(wanted: Counterexample, model: str) -> None:
    """Refuse a counterexample that no cluster can be asked for.

    Raises:
        SpecError: it is of another model, of releases before KRaft, or of a property of infinite behaviours.
    """
    if model != MODEL:
        raise SpecError(f'{wanted.where}: model: "{model}" cannot be driven on a cluster; allowed is {MODEL}')
    if wanted.protocol.by_zookeeper or not wanted.protocol.truncation_rules.fetches_name_epochs:
        raise SpecError(
            f"{wanted.where}: preset: its brokers keep their metadata in ZooKeeper; allowed are presets with KRaft, "
            "from kafka-3.0 on"
        )
    kinds = {each.name: each for each in wanted.definition.known_properties}
    if not isinstance(kinds.get(wanted.violation.property), (Invariant, StepProperty)):
        raise SpecError(
            f"{wanted.where}: property: {wanted.violation.property} is no invariant or step property of {MODEL}"
        )
    if wanted.bounds.brokers < 2:
        raise SpecError(f"{wanted.where}: bounds.brokers: is 1; a cluster needs 2 at least")
    if wanted.bounds.initial_down:
        raise SpecError(f"{wanted.where}: bounds.initial_down: must be 0; all brokers of a new cluster run")


def number_of(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("-")[0].split(".") if part.isdigit())


def plan(wanted: Counterexample) -> tuple[Schedule, int]:
    """A schedule, and min.insync.replicas for it: 2 if the violation happens even so, else as the claim says.

    Raises:
        NoSchedule: there is none.
    """
    own = wanted.bounds.min_insync_replicas
    strict = min(max(own, 2), wanted.bounds.brokers)
    if strict > own:
        try:
            return _planner(wanted, strict).plan(), strict
        except NoSchedule:
            pass
    return _planner(wanted, own).plan(), own


def _planner(wanted: Counterexample, min_isr: int) -> Planner:
    bounds, violation = wanted.bounds, wanted.violation
    highest = {field.name: field.metadata["high"] for field in attrs.fields(type(bounds))}
    changes = {key: min(getattr(bounds, key) + more, highest[key]) for key, more in MORE.items()}
    # in a new cluster all replicas are in the ISR; who is not in the trace's first one has to leave it
    outside = bounds.brokers - bounds.initial_isr if bounds.initial_isr else 0
    if bounds.isr_shrinks or outside:  # a follower that has all records does not lag
        for key in ("records_max", "log_length_max"):
            changes[key] = min(getattr(bounds, key) + 1, highest[key])
    changes["isr_shrinks"] = min(bounds.isr_shrinks + outside, highest["isr_shrinks"])
    larger = attrs.evolve(bounds, fetch_steps=1, initial_isr=0, min_insync_replicas=min_isr, **changes)
    properties = [each for each in wanted.definition.known_properties if each.name == violation.property]
    system = build_system(wanted.definition, wanted.protocol, larger, properties)
    return Planner(system, violation.trace, violation.property)


def reproduce_on(
    distribution: Distribution,
    wanted: Counterexample,
    on_start: Callable[[Settings], None],
    on_deed: Callable[[Schedule, int, Observed], None],
    keep: Path | None = None,
) -> Reproduction:
    """Drive a cluster along a counterexample.

    Args:
        keep: a folder to which the cluster's folders are copied in the end.

    Raises:
        KafkaError: the cluster does not come up.
    """
    try:
        schedule, min_isr = plan(wanted)
    except NoSchedule as error:
        return Reproduction(wanted, distribution.release, None, None, None, Verdict(False, str(error)))
    settings = Settings(
        brokers=wanted.bounds.brokers,
        min_insync_replicas=min_isr,
        unclean_election=wanted.protocol.unclean_election,
        eligible_replicas=wanted.protocol.elr if number_of(distribution.release) >= FEATURES_SINCE else None,
        lag_ms=SHORT_LAG_MS if any(deed.kind is Kind.LAG for deed in schedule.deeds) else Settings().lag_ms,
    )
    on_start(settings)
    with Cluster(distribution, settings) as cluster:
        run = Driver(cluster, wanted.protocol).drive(schedule, functools.partial(on_deed, schedule))
        if keep is not None:
            cluster.keep(keep)
    came = verdict(schedule, wanted.violation.trace, run)
    return Reproduction(wanted, distribution.release, settings, schedule, run, came)
