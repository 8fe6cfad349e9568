"""Checking a spec on a Spark cluster: what the front door adds to `spark.explore`, which cannot know of specs."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable
from typing import Any

from explorer.system import System
from explorer.verdict import Budget, Outcome, Progress
from highwater.spec import Spec, SpecError, build_system, resolve_model, toggles_of
from model.catalogue import MODELS


def system_of(model: str, protocol: dict[str, Any], bounds: dict[str, Any], check: tuple[str, ...]) -> System:
    """The system that a spec speaks of, from plain data. Executors call this."""
    chosen, definition, sizes, properties = resolve_model(MODELS[model], protocol, bounds, check)
    return build_system(definition, chosen, sizes, properties)


def recipe(spec: Spec) -> Callable[[], System]:
    """How to make a spec's system on any machine."""
    return functools.partial(system_of, spec.file.model, toggles_of(spec.protocol), spec.file.bounds, spec.file.check)


def explore(
    spec: Spec,
    budget: Budget,
    *,
    master: str | None,
    partitions: int | None,
    checkpoint: str | None,
    resume: bool,
    keep_going: bool,
    symmetry: bool,
    on_progress: Callable[[Progress], None],
) -> Outcome:
    """Explore a spec on the running Spark session, or on one that is started and ends with this process.

    Raises:
        SpecError: Spark is not there, or gave up.
    """
    with_spark = session(master)
    from spark.explore import explore as explore_levels
    from spark.session import ClusterError

    try:
        return explore_levels(
            recipe(spec),
            budget,
            spark=with_spark,
            name=spec.name,
            checkpoint=checkpoint,
            resume=resume,
            check_deadlock=spec.check_deadlock,
            keep_going=keep_going,
            symmetry=symmetry,
            partitions=partitions,
            on_progress=on_progress,
        )
    except ClusterError as error:
        raise SpecError(f"{spec.path}: {error}") from error


def session(master: str | None) -> Any:
    """A Spark session.

    Raises:
        SpecError: Spark or Java is missing, or the master cannot be reached; says what to do.
    """
    try:
        from spark.session import ClusterError
        from spark.session import session as start
    except ModuleNotFoundError as error:
        raise SpecError(f"--engine spark needs {error.name}; install it with: pip install 'highwater[spark]'") from None
    try:
        found = start(master)
    except ClusterError as error:
        raise SpecError(str(error)) from error
    atexit.register(found.stop)
    return found
