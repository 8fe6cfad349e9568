"""Checking a spec on a Spark cluster: what the front door adds to `highwater.spark.driver.explore`, which cannot know
of specs.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from highwater.claims import own
from highwater.claims.building import build_system
from highwater.claims.refining import refinement_of
from highwater.claims.resolving import find_model, resolve_model, toggles_of
from highwater.claims.spec import Spec, SpecError
from highwater.claims.tables import Wrong
from highwater.distribution import installing
from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.descriptions import Indescribable
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.search.keeping.fingerprint import fingerprint
from highwater.explorer.sources import SourceError, texts_of
from highwater.explorer.system import System
from highwater.explorer.verdict import DEADLOCK, Auditing, Budget, Outcome, Progress, SearchOptions


def system_of(
    model: str,
    protocol: dict[str, Any],
    bounds: dict[str, Any],
    check: tuple[str, ...],
    model_path: tuple[str, ...] = (),
    refines: dict[str, Any] | None = None,
    files: Mapping[str, bytes] | None = None,
    by_order: tuple[str, ...] = (),
) -> System:
    """The system that a spec speaks of, from plain data. Executors call this.

    Args:
        refines: the spec's table of that name, if it has one.
        model_path: folders with models of one's own, to be searched where they exist.
        files: the code of these, by path, for a machine that does not have them.
        by_order: groups of numbers of which only the order is looked at.

    Raises:
        ModelError: the model is not to be had on this machine.
    """
    own.find_in(model_path)
    if files:
        own.unpack(files, _named(model, check, refines or {}))
    try:
        with own.trusting():
            also = [refinement_of(refines)] if refines else []
            chosen, definition, sizes, properties = resolve_model(find_model(model), protocol, bounds, check, also)
    except Wrong as wrong:
        hint = "install it where executors run, or send it with spark-submit --py-files"
        raise ModelError(f"an executor cannot load the model: {wrong.problems[0].partition(';')[0]}; {hint}") from None
    return build_system(definition, chosen, sizes, properties, by_order)


def _named(model: str, check: tuple[str, ...], refines: Mapping[str, Any]) -> tuple[str, ...]:
    """All in a spec that may point into a module."""
    return model, *check, *(str(refines[key]) for key in ("model", "map") if key in refines)


def recipe(spec: Spec, check: tuple[str, ...] | None = None) -> Callable[[], System]:
    """How to make a spec's system on any machine, with its properties or with others.

    Raises:
        SpecError: the model is in a program or notebook itself, or its code cannot be read.
    """
    check, refines = (spec.file.check, spec.file.refines) if check is None else (check, {})
    named = _named(spec.file.model, check, refines)
    for name in named:
        if name.startswith("__main__:"):
            raise SpecError(
                f"{spec.path}: {name} is in a notebook or program itself, which executors cannot import; write it into "
                "a module beside, and import it from there"
            )
    folders = own.folders_of(named)
    toggles = toggles_of(spec.protocol)
    try:
        files = texts_of(own.modules_of_ones_own(named))
    except SourceError as error:
        raise SpecError(f"{spec.path}: the model cannot be sent to executors: {error}") from None
    sent = (spec.file.model, toggles, spec.file.bounds, check, folders, refines, files, spec.file.by_order)
    return functools.partial(system_of, *sent)


def explore(
    spec: Spec,
    budget: Budget,
    options: SearchOptions,
    *,
    master: str | None = None,
    partitions: int | None = None,
    rows_worth_a_job: int | None = None,
    on_waiting: Callable[[str], None] = lambda what: None,
) -> Outcome:
    """Explore a spec on the running Spark session, or on one that is started and ends with this process.

    Args:
        rows_worth_a_job: the driver expands levels of fewer rows by itself; a number of the engine's own if None.
        on_waiting: called with what is awaited before Spark starts, which takes seconds.

    Raises:
        SpecError: Spark is not there, or gave up.
    """
    if options.audit is Auditing.FULL:
        raise SpecError("audit full has no meaning with the engine spark, which judges some states twice; use quick")
    make_system = recipe(spec)
    _try_out(master, None if options.checkpoint is None else str(options.checkpoint), resume=options.resume)
    with_spark = session(master, on_waiting)
    from highwater.spark.driver.explore import explore as explore_levels
    from highwater.spark.driver.session import ClusterError

    try:
        return explore_levels(
            make_system,
            budget,
            options,
            spark=with_spark,
            name=spec.name,
            partitions=partitions,
            rows_worth_a_job=rows_worth_a_job,
            check_deadlock=spec.check_deadlock,
        )
    except ClusterError as error:
        raise SpecError(f"{spec.path}: {error}") from error


def _try_out(master: str | None, checkpoint: str | None, *, resume: bool) -> None:
    """Refuse a folder for levels that is missing or cannot be used, before Spark starts, which takes seconds."""
    if checkpoint is not None:
        with needing_spark():
            from highwater.spark.levels import Levels

            Levels(checkpoint).try_out(resume=resume)
    elif master is not None and not master.startswith("local"):
        raise CheckpointError(f"{master} needs --checkpoint URI, a folder that driver and executors all reach")


@contextmanager
def needing_spark() -> Iterator[None]:
    """While Spark is imported.

    Raises:
        SpecError: it is not installed; says how to.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise SpecError(f"--engine spark needs {error.name}; {installing('spark')}") from None


def explore_into(
    folder: str, spec: Spec, with_spark: Any, on_progress: Callable[[Progress], None], *, symmetry: bool
) -> str:
    """Explore all states of a spec, without judging its claim, and keep them in a folder; returns the folder."""
    from highwater.spark.driver.explore import explore as explore_levels

    budget = Budget(max_depth=spec.file.max_depth)
    explore_levels(
        recipe(spec, (DEADLOCK,)),
        budget,
        SearchOptions(checkpoint=folder, keep_going=True, symmetry=symmetry, on_progress=on_progress),
        spark=with_spark,
        name=spec.name,
    )
    return folder


def extent(checkpoint: str) -> str:
    """How far the search has come whose levels are in a folder, in words; empty if it has seen every state."""
    from highwater.spark.levels import Levels

    levels = Levels(checkpoint)
    whole = levels.read()
    if levels.ended():
        return ""
    far = f"there are levels up to depth {len(whole) - 1}" if whole else "there is no level yet"
    return f"the search has not seen every state: {far}"


def states(spec: Spec, checkpoint: str, with_spark: Any = None) -> Any:
    """The states that a check of the spec has found so far, as a Spark DataFrame; `highwater.spark.driver.states` says
    what its columns are.

    Args:
        checkpoint: the folder or URI where `check --engine spark` has kept them.
        with_spark: a Spark session; the running one, or a new one, if None.

    Raises:
        CheckpointError: there are no levels of this spec there, or they are damaged.
        SpecError: Spark is not there, or gave up.
    """
    with_spark = with_spark or session(None)
    from highwater.spark.driver.states import states as decoded_states
    from highwater.spark.levels import Levels

    system = build_system(spec.definition, spec.protocol, spec.bounds, (), spec.file.by_order)
    levels, layout = Levels(checkpoint), Layout(system.class_domain)
    try:
        levels.refuse_unless_of(fingerprint(system, layout, 0, {}), states_only=True)
    except Indescribable as error:
        raise SpecError(f"{spec.path}: no levels can be known to be of this model: {error}") from None
    with reported_on_one_line(str(spec.path)):
        return decoded_states(with_spark, levels, layout)


def located(uri: str) -> str:
    """A path or URI of the command line as Spark takes it."""
    from highwater.spark.files import for_spark

    return for_spark(uri)


@contextmanager
def reported_on_one_line(what: str) -> Iterator[None]:
    """Turn what Spark says of a query that is wrong, in many lines, into one error.

    Raises:
        SpecError: the query is wrong, or where to write its result is.
    """
    from highwater.spark.driver.session import SPARK_ERRORS, reason_of

    try:
        yield
    except SPARK_ERRORS as error:
        raise SpecError(f"{what}: {reason_of(error)}") from error


def session(master: str | None, on_waiting: Callable[[str], None] = lambda what: None) -> Any:
    """A Spark session.

    Args:
        on_waiting: called with what is awaited if a session has to be started.

    Raises:
        SpecError: Spark or Java is missing, or the master cannot be reached; says what to do.
    """
    with needing_spark():
        from highwater.spark.driver.session import ClusterError
        from highwater.spark.driver.session import session as start
    try:
        found = start(master, on_waiting=on_waiting, meanwhile=_import_the_search)
    except ClusterError as error:
        raise SpecError(str(error)) from error
    atexit.register(found.stop)
    return found


def _import_the_search() -> None:
    """Import what takes a second, pyarrow and pandas among it, while this process has nothing else to do."""
    with needing_spark():
        from highwater.spark.driver import explore  # noqa: F401
