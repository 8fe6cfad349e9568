"""The page of a conformance run: the model's trace in lanes, and beside it what Kafka's objects make of its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from highwater.claims.conformance import Conformance
from highwater.claims.spec import Spec
from highwater.conformance.abstraction import NOT_SHOWN, Difference, both_sides
from highwater.conformance.controller_side import NAME
from highwater.conformance.lockstep import Divergence
from highwater.conformance.model_side import operations_of
from highwater.conformance.seen import as_seen
from highwater.explorer.system import System
from highwater.explorer.verdict import Step
from highwater.viewer.cells import cell_of, pictures_alike
from highwater.viewer.pages import render
from highwater.viewer.showing import shown_trace
from highwater.viewer.shown import Cell, ShownStep, ShownTrace

REAL: Mapping[str, str] = {
    "learn": "ReplicaManager#applyDelta",
    "append": "ReplicaManager#appendRecords",
    "expire": "DelayedProduce#run",
    "fetch": "ReplicaFetcherThread#doWork",
    "ask": "ReplicaFetcherThread#doWork up to the answer of ReplicaManager#fetchMessages",
    "send": "ReplicaFetcherThread#doWork up to the request",
    "serve": "ReplicaManager#fetchMessages",
    "receive": "ReplicaFetcherThread#doWork from the answer on",
    "lose": "ReplicaFetcherThread#doWork with a broken connection",
    "out_of_range": "ReplicaFetcherThread#doWork with OFFSET_OUT_OF_RANGE",
    "expand": "Partition#maybeExpandIsr",
    "shrink": "Partition#maybeShrinkIsr",
    "outlast": "the clock",
    "granted": "the answer to AlterPartition",
    "refused": "the answer to AlterPartition",
    "trim": "Partition#deleteRecordsOnLeader",
    "consume": "ReplicaManager#fetchMessages",
    "crash": "the files are closed",
    "shut_down": "LogManager#shutdown",
    "restart": "LogManager#startup",
    "checkpoint": "ReplicaManager#checkpointHighWatermarks",
    "spoil": "AbstractFetcherThread#doWork, with an answer that it cannot take",
    "move": "ReplicaManager#alterReplicaLogDirs, ReplicaAlterLogDirsThread#doWork",
}
OF_THE_CONTROLLER = "ReplicationControlManager and ClusterControlManager"


@attrs.frozen
class Call:
    """An operation of the harness: its name, its arguments, and what of Kafka it calls."""

    name: str
    arguments: dict[str, Any]
    real: str


@attrs.frozen
class Sides:
    """A step on both sides.

    Attributes:
        ours: the step in the model.
        theirs: Kafka's lanes after it, where they are drawn.
        equal: the lanes that the step changed, and where both sides were compared and agree.
        apart: by lane, the fields that differ.
    """

    ours: ShownStep
    theirs: dict[str, Cell]
    equal: frozenset[str]
    apart: dict[str, list[Difference]]


@attrs.frozen
class Shown:
    """A divergence as it is shown.

    Attributes:
        found: the divergence.
        times: how often its kind was met.
        trace: the model's steps, the one that diverges last.
        lanes: those that Kafka has, too.
        rows: the steps on both sides.
        calls: the real calls of the last one.
        elsewhere: what differs and is no field of a lane.
        fields: by lane, all fields on both sides.
    """

    found: Divergence
    times: int
    trace: ShownTrace
    lanes: tuple[str, ...]
    rows: tuple[Sides, ...]
    calls: tuple[Call, ...]
    elsewhere: tuple[Difference, ...]
    fields: dict[str, list[Difference]]


def page(found: Conformance) -> str:
    """The page of one run."""
    system = attrs.evolve(found.spec.system(), invariants=(), step_properties=(), prospects=(), liveness=())
    shown = [_shown(found, system, each) for each in found.divergences]
    return render("conform.html", found=found, divergences=shown, not_shown=NOT_SHOWN)


def _shown(found: Conformance, system: System, each: Divergence) -> Shown:
    spec = found.spec
    trace = shown_trace(system, (*each.trace, Step(each.action, each.expected)))
    fields = both_sides(each.expected, each.executed.seen, spec.protocol, spec.bounds)
    apart = {name: [side for side in sides if side.model != side.kafka] for name, sides in fields.items()}
    return Shown(
        found=each,
        times=found.findings.counts[each.kind],
        trace=trace,
        lanes=tuple(name for name in trace.lanes if name == NAME or name[1:].isdigit()),
        rows=tuple(_rows(spec, system, trace, each, {name: sides for name, sides in apart.items() if sides})),
        calls=tuple(
            Call(
                call["do"],
                {key: value for key, value in call.items() if key != "do"},
                REAL.get(call["do"], OF_THE_CONTROLLER),
            )
            for call in each.executed.operations
        ),
        elsewhere=tuple(side for side in each.differences if "." not in side.field),
        fields=fields,
    )


def _rows(
    spec: Spec, system: System, trace: ShownTrace, each: Divergence, apart: dict[str, list[Difference]]
) -> Iterator[Sides]:
    for step, before, after in zip(trace.steps, (None, *each.trace), each.trace, strict=False):
        compared = set()
        if before is not None and after.action is not None:
            operations = operations_of(after.action, before.state, spec.protocol, spec.bounds)
            compared = {_lane(name) for operation in operations for name in operation["see"]}
        changed = {name for name, cell in step.cells.items() if cell.changed}
        yield Sides(step, {}, frozenset(changed & compared), {})
    states = each.trace[-1].state, as_seen(each.expected, each.executed.seen)
    ours, seen = pictures_alike([trace.drawing.draw(system.domain, state) for state in states])
    theirs = {name: cell_of(name, ours, seen) for name in map(_lane, each.executed.seen)}
    yield Sides(trace.steps[-1], theirs, frozenset(theirs.keys() - apart.keys()), apart)


def _lane(name: int | str) -> str:
    """The lane of what the harness shows by this name."""
    return NAME if name == NAME else f"b{name}"
