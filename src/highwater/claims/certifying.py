"""Certificates of claims: written after a search, and judged again without one."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from highwater.claims import own
from highwater.claims.resolving import toggles_of
from highwater.claims.spec import Spec, SpecError, load_spec, make_spec
from highwater.explorer.blame import ModelError
from highwater.explorer.sources import SourceError, sources_of
from highwater.explorer.system import System
from highwater.explorer.verdict import Found, Outcome, Verdict
from highwater.explorer.verifier.certificate import Certificate, Unfit, read, write
from highwater.explorer.verifier.closed_set import ClosedSet
from highwater.explorer.verifier.sums import Sums
from highwater.explorer.verifier.verdicts import Report, hold_code, verify
from highwater.model.language.domain import classes_in


def keys_of(spec: Spec) -> dict[str, Any]:
    """The keys of a spec that makes the same system: with every toggle and bound."""
    file = spec.file
    keys = {
        "model": file.model,
        "protocol": toggles_of(spec.protocol),
        "bounds": attrs.asdict(spec.bounds),
        "check": list(file.check),
        "refines": file.refines or None,
        "by_order": list(file.by_order),
        "max_depth": file.max_depth,
    }
    return {name: value for name, value in keys.items() if value not in (None, [])}


def code_of(system: System) -> dict[str, str]:
    """By module, the hash of the code that a system is made of, and by distribution the version of what that imports.

    Raises:
        SpecError: a file cannot be read.
    """
    functions = (each.of.function for each in system.functions)
    objects = (*functions, *classes_in(system.domain), type(system.protocol), type(system.bounds))
    try:
        found = sources_of({*system.modules, *(each.__module__ for each in objects)} - {"builtins"})
    except SourceError as error:
        raise SpecError(str(error)) from None
    return {**found.modules, **{name: of for name, of in found.distributions.items() if name != "python"}}


def no_certificate(system: System, outcome: Outcome) -> str:
    """Why there is no certificate of an outcome; empty if there is one."""
    unknown = system.prospects + system.liveness
    if outcome.verdict is Verdict.UNKNOWN:
        return "no certificate: the verdict is unknown"
    if outcome.verdict is Verdict.HOLDS_TO_DEPTH and unknown:
        return f"no certificate: {unknown[0]} is not judged to a depth"
    return ""


def write_certificate(path: Path, spec: Spec, outcome: Outcome, found: Found | None) -> None:
    """Write what an outcome rests on, of which there is a certificate.

    Args:
        found: the states, where the verdict is that all is well.

    Raises:
        SpecError: the file cannot be written.
    """
    from highwater.explorer.search.plain.certifying import certificate_of  # of the search, which verifying does without

    system = spec.system()
    certificate = certificate_of(system, outcome, found, claim=spec.name, spec=keys_of(spec), code=code_of(system))
    try:
        write(certificate, path)
    except OSError as error:
        raise SpecError(f"{path}: cannot be written: {error.strerror}") from None


@attrs.frozen
class Verified(Report):
    """A report of a verifier, with what was claimed.

    Attributes:
        claim: the name of the claim.
        verdict: what was verified of it.
        spec: the keys of a spec that asks the same.
    """

    claim: str = ""
    verdict: str = ""
    spec: dict[str, Any] = attrs.field(factory=dict)


def verify_certificate(
    path: Path,
    spec: Path | None = None,
    *,
    trust_symmetry: bool = False,
    on_spark: bool = False,
    master: str | None = None,
    on_progress: Callable[[int, int], None] = lambda judged, of: None,
) -> Verified:
    """Judge a certificate in plain Python, without the search that wrote it.

    Args:
        spec: the claim that it must be of.
        trust_symmetry: judge one state of each orbit only.
        on_spark: spread the states over the executors of a Spark cluster.
        master: of Spark, where to run.
        on_progress: called now and then with how many rows were judged, of how many.

    Raises:
        SpecError: the file is no certificate, or not of this model or claim.
        Refused: what it says is not so.
    """
    try:
        data = _read(path)
        certificate = read(io.BytesIO(data), str(path))
        loaded = make_spec(str(path), certificate.spec) if spec is None else load_spec(spec)
        if theirs := _differing(certificate.spec, keys_of(loaded)):
            raise Unfit(f"{path}: is of another claim than {spec or 'it says'}: its {theirs} differ")
        if spec and certificate.claim != loaded.name:
            raise Unfit(f"{path}: is of the claim {certificate.claim}, not of {loaded.name}")
        if spec or loaded.file.max_depth is not None:
            _hold_depth(certificate, loaded.file.max_depth)
        system = loaded.system()
        hold_code(certificate, code_of(system))
        report = verify(
            certificate,
            system,
            no_deadlock=loaded.check_deadlock,
            trust_symmetry=trust_symmetry,
            judged=_on_spark(data, loaded, master, trust_symmetry=trust_symmetry) if on_spark else None,
            on_progress=on_progress,
        )
    except Unfit as error:
        raise SpecError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    except ModelError as error:
        raise SpecError(f"{path}: {' '.join(str(error).split())}") from None
    return Verified(**attrs.asdict(report), claim=certificate.claim, verdict=certificate.verdict, spec=certificate.spec)


def _hold_depth(certificate: Certificate, claimed: int | None) -> None:
    """A search to a depth must be to the one that is claimed, and no path to a violation is longer; a lasso may be."""
    paths = (len(each["actions"]) for each in certificate.traces if each["back_to"] is None)
    to_depth = certificate.verdict == Verdict.HOLDS_TO_DEPTH.value
    depth = len(certificate.levels) - 1 if to_depth else max(paths, default=0)
    beyond = claimed is not None and depth > claimed
    if beyond or (to_depth and depth != claimed):
        of = "every depth" if claimed is None else f"a depth of {claimed}"
        raise Unfit(f"it goes to a depth of {depth}; the claim is of {of}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from None


def _on_spark(data: bytes, spec: Spec, master: str | None, *, trust_symmetry: bool) -> Callable[[ClosedSet], Sums]:
    """Judges all rows on Spark."""
    from highwater.claims.on_spark import session  # imports pyspark

    spark = session(master)
    from highwater.spark.driver.session import ClusterError
    from highwater.spark.driver.verifying import judged

    make = partial(
        closed_set_of, trust_symmetry=trust_symmetry, folders=own.folders_of((spec.file.model, *spec.file.check))
    )

    def on_spark(closed: ClosedSet) -> Sums:
        try:
            return judged(spark, make, data, closed.rows)
        except ClusterError as error:
            raise SpecError(str(error)) from error

    return on_spark


def closed_set_of(data: bytes, *, trust_symmetry: bool, folders: tuple[str, ...]) -> ClosedSet:
    """The states of a certificate that another process has read. Executors call this.

    Args:
        folders: folders with models of one's own, to be searched where they exist.
    """
    certificate = read(io.BytesIO(data), "a certificate")
    own.find_in(folders)
    with own.trusting():
        spec = make_spec(certificate.claim, certificate.spec)
    system = spec.system()
    hold_code(certificate, code_of(system))
    return ClosedSet(certificate, system, no_deadlock=spec.check_deadlock, trust_symmetry=trust_symmetry)


def _differing(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    """The first key in which two specs differ."""
    return next((key for key in {**theirs, **ours} if theirs.get(key) != ours.get(key)), "")
