"""Checking from Python.

    import highwater

    result = highwater.check("specs/fencing/kip_320_keeps_committed_records_on_two_brokers.toml")
    assert result.ok
    result.verdict, result.outcome.distinct_states, result.violation

A claim needs no file:

    highwater.check(highwater.claim(model="reference", protocol={"variant": "kip-320"}, bounds={...},
    check=["weak_isr"]))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from highwater.claims import own
from highwater.claims.certifying import Verified, verify_certificate
from highwater.claims.checking import Engine, check_spec
from highwater.claims.spec import Spec as AnySpec
from highwater.claims.spec import SpecError, find_specs, load_spec, make_spec
from highwater.claims.tables import Wrong, did_you_mean, shown
from highwater.explorer.verdict import Auditing, Budget
from highwater.limits import MOST_WORKERS
from highwater.model.language.definition import Model, Property
from highwater.notebooks import Coverage, Result, Spec

if TYPE_CHECKING:
    import networkx
    import pyarrow

    from highwater.asking.answers import Answer


def check(
    spec: str | PathLike[str] | AnySpec,
    *,
    engine: str = "local",
    max_depth: int | None = None,
    max_states: int | None = None,
    memory: int | None = None,
    workers: int | None = None,
    symmetry: bool = True,
    keep_going: bool = False,
    keep_trees: bool = True,
    audit: str | None = None,
    certificate: str | PathLike[str] | None = None,
    model_path: Iterable[str | PathLike[str]] = (),
) -> Result:
    """Check one claim: a spec file, or what `claim` made.

    Args:
        engine: "local", "python" for the plain-Python engine, or "spark".
        max_depth, max_states, memory: when to stop early; None is never, for memory four fifths of the machine's.
        workers: threads; one per processor if None.
        symmetry: keep one state for all that differ by interchangeable names only.
        keep_going: after a violation, go on until every state is seen.
        keep_trees: begin with what earlier checks have learned of the model's functions, and keep what this one learns.
        audit: "none", "quick" or "full": how much of what was found to judge again in plain Python where a search says
            that all is well. "quick" if None.
        certificate: a file to write what the verdict rests on into, for `verify` to judge.
        model_path: folders with models of your own.

    Raises:
        SpecError: the spec cannot be read or is wrong, or its model is, or an argument is out of range.
        Contradiction: the audit does not agree with the search.
    """
    for name, given, kinds in (("engine", engine, Engine), ("audit", audit, Auditing)):
        allowed = [each.value for each in kinds]
        if given is not None and given not in allowed:
            near = did_you_mean(str(given), allowed)
            raise SpecError(f"{name}: {shown(given)} is none{near}; allowed are {', '.join(allowed)}")
    _refuse_below(0, max_depth=max_depth)
    _refuse_below(1, max_states=max_states, memory=memory, workers=workers)
    if workers is not None and workers > MOST_WORKERS:
        raise SpecError(f"workers: {shown(workers)} is above {MOST_WORKERS:,}")
    own_folders(model_path)
    budget = Budget(max_depth, max_states, memory)
    options: dict[str, Any] = {"workers": workers, "symmetry": symmetry, "keep_trees": keep_trees}
    options["audit"] = None if audit is None else Auditing(audit)
    options["certificate"] = None if certificate is None else Path(certificate)
    return _as(Result, check_spec(load(spec), Engine(engine), budget, keep_going=keep_going, **options))


def verify(
    certificate: str | PathLike[str],
    spec: str | PathLike[str] | None = None,
    *,
    symmetry: bool = False,
    engine: str = "local",
    model_path: Iterable[str | PathLike[str]] = (),
) -> Verified:
    """Judge a certificate in plain Python, without the search that wrote it.

    Args:
        spec: refuse a certificate that is not of this claim.
        symmetry: trust that the model treats interchangeable names alike, and judge one state of each orbit.
        engine: "local", or "spark" to spread the states over executors.

    Raises:
        Refused: what it says is not so; names the state, the step and the property.
        SpecError: the file is no certificate, or not of the model as it is now; or a function of the model raised.
    """
    if engine not in ("local", "spark"):
        raise SpecError(f"engine: {shown(engine)} cannot verify; allowed are local, spark")
    own_folders(model_path)
    return verify_certificate(
        Path(certificate), None if spec is None else Path(spec), trust_symmetry=symmetry, on_spark=engine == "spark"
    )


def _refuse_below(least: int, **numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and value < least:
            raise SpecError(f"{name}: {value} is below {least}")


Shown = TypeVar("Shown")


def _as(kind: type[Shown], found: Any) -> Shown:
    """A result or a spec as the class that shows itself."""
    return kind(**{field.name: getattr(found, field.name) for field in attrs.fields(type(found))})


def ask(
    question: str,
    *,
    release: str | None = None,
    replication_factor: int | None = None,
    min_isr: int | None = None,
    acks: str | None = None,
    unclean: bool | None = None,
    elr: bool | None = None,
    during: str | Iterable[str] = (),
    alone: bool = False,
) -> Answer:
    """Whether something can happen to a cluster: `highwater.ask("rolling-restart", release="3.9.2").says`.

    Args:
        question: one of `highwater ask --list`.
        release: of brokers and controllers; the newest that the models speak for if None.
        replication_factor, min_isr: 1 to 3; 3 and 2 if None.
        acks: "0", "1" or "all"; "all" if None.
        unclean: unclean.leader.election.enable; off if None.
        elr: whether eligible leader replicas are on; as in a new cluster of the release if None.
        during: what else happens, "controller-fail-over" or "preferred-election", or both.
        alone: ask neither what would prevent it, nor other releases.

    Raises:
        SpecError: there is no such question, or a setting is none that can be asked.
    """
    from highwater.asking.answering import answer  # here, since few ask and it imports what the compiled engine needs
    from highwater.asking.questions import question_named
    from highwater.asking.settings import settings_for

    given: dict[str, Any] = {"release": release, "replication_factor": replication_factor, "min_isr": min_isr}
    given |= {"acks": acks, "unclean": unclean, "elr": elr, "during": during}
    try:
        found = question_named(question)
        settings = settings_for(found, **{key: each for key, each in given.items() if each is not None})
        return answer(found, settings, alone=alone, keep=True)
    except Wrong as wrong:
        raise SpecError(str(wrong)) from None


def load(spec: str | PathLike[str] | AnySpec) -> Spec:
    """A claim: read from a file, or one of the gallery's by its name there (`gallery:kip_101_fails_on_two_brokers`).

    Raises:
        SpecError: it cannot be read or is wrong.
    """
    return spec if isinstance(spec, Spec) else _as(Spec, spec if isinstance(spec, AnySpec) else load_spec(Path(spec)))


def graph(spec: str | PathLike[str] | AnySpec, *, max_states: int = 20_000) -> networkx.MultiDiGraph:
    """The reachable graph of a small claim.

    Nodes are numbers from 0, in the order of a breadth-first search. Each has its `value`, the state as the model has
    it; its `state`, the same in words; its `depth` in actions; `initial`; and the properties that it `violates`, by
    name. Edges have the `name` of their action, its `arguments`, and both in words as `action`.

    Raises:
        SpecError: there are more states, or the spec or its model is wrong.
    """
    from highwater.spaces import graph_of

    _refuse_below(1, max_states=max_states)
    return graph_of(load(spec), max_states)


def states(spec: str | PathLike[str] | AnySpec, *, max_states: int = 1_000_000, symmetry: bool = True) -> pyarrow.Table:
    """The reachable states as an Arrow table, which `.to_pandas()` makes a data frame of.

    A column for each field of the state: numbers, truth values and names; null for None; lists for sets and tuples;
    structs for records. `depth` is how many actions a state is away from the initial ones. With symmetry, a row stands
    for `orbit` states, itself and those that differ by an exchange of names.

    Raises:
        SpecError: there are more states, the library pyarrow is missing, or the spec or its model is wrong.
    """
    from highwater.spaces import table_of

    _refuse_below(1, max_states=max_states)
    return table_of(load(spec), max_states, symmetry=symmetry)


def coverage(spec: str | PathLike[str] | AnySpec, *, max_states: int = 1_000_000) -> Coverage:
    """Which lines of the model's actions and properties ran on reached states, and on how many paths.

    A notebook shows it as a heat map over the sources; `.to_html("coverage.html")` writes that.

    Raises:
        SpecError: the spec or its model is wrong, or it reaches too many states.
    """
    from highwater.spaces import lines_of

    _refuse_below(1, max_states=max_states)
    return Coverage(lines_of(load(spec), max_states))


def check_all(*paths: str | PathLike[str], **options: Any) -> list[Result]:
    """Check every claim in these files and below these folders, in order. Options are those of `check`.

    Raises:
        SpecError: a path does not exist, a folder holds no specs, or a spec is wrong.
    """
    return [check(path, **options) for path in find_specs(map(Path, paths))]


def claim(
    *,
    model: str | Model,
    bounds: Mapping[str, int],
    check: Iterable[str | Property] = (),
    name: str = "claim",
    **keys: object,
) -> Spec:
    """A claim without a file. Keys are those of a spec file; models, properties and the map of `refines` may be given
    as themselves.

    Raises:
        SpecError: any of the keys or values is wrong.
    """
    check = list(check)
    for key, given, kind in (("model", model, Model), *(("check", one, Property) for one in check)):
        if not isinstance(given, str | kind):
            raise SpecError(
                f"{name}: {key}: {shown(given)} is a {type(given).__name__}, neither a name nor an object of that kind"
            )
    named: dict[str, Any] = {}
    for one in check:
        if not isinstance(one, str) and named.setdefault(own.reference_to(one), one) is not one:
            raise SpecError(f"{name}: check: 2 different properties are named {one.name}")
    if isinstance(refines := keys.get("refines"), Mapping):
        given_as_such = {
            key: own.reference_to(each) for key, each in refines.items() if callable(each) or isinstance(each, Model)
        }
        keys["refines"] = {**refines, **given_as_such}
    keys = {
        **keys,
        "model": model if isinstance(model, str) else own.reference_to(model),
        "bounds": dict(bounds),
        "check": [one if isinstance(one, str) else own.reference_to(one) for one in check],
    }
    return _as(Spec, make_spec(name, keys))


def own_folders(folders: Iterable[str | PathLike[str]]) -> None:
    """Look for models of one's own in these folders too.

    Raises:
        SpecError: one of them is no folder.
    """
    try:
        own.search(map(Path, folders))
    except NotADirectoryError as error:
        raise SpecError(str(error)) from None
