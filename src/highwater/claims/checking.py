"""Check specs: explore, and hold what came out against what was claimed."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import attrs

from highwater.claims.spec import Spec, SpecError
from highwater.explorer.blame import JudgedOtherwise, ModelError, blaming_the_model
from highwater.explorer.ranks import Ranks, in_words
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.system import System, look_alike
from highwater.explorer.verdict import Auditing, Budget, Found, Outcome, SearchOptions, Verdict, Violation


class Engine(Enum):
    """`LOCAL`: the compiled search. `PYTHON`: the plain-Python engine, slow, for doubts about the compiler. `SPARK`: on
    a Spark cluster.
    """

    LOCAL = "local"
    PYTHON = "python"
    SPARK = "spark"


class Status(Enum):
    """Whether a claim is met. It is `UNDECIDED` if a budget or a depth limit ended the search too early to know, and
    `ANSWERED` if nothing was claimed, as something was asked that is other than the file says.
    """

    MET = "met"
    UNMET = "unmet"
    UNDECIDED = "undecided"
    ANSWERED = "answered"


class Mismatch(str):
    """A difference from a claim, in words, that remembers the key of the spec which says otherwise."""

    key: str

    def __new__(cls, key: str, words: str) -> Mismatch:
        mismatch = super().__new__(cls, words)
        mismatch.key = key
        return mismatch

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # str says that it takes a string alone
        return self.key, str(self)


@attrs.frozen
class Result:
    """What came out for one spec.

    Attributes:
        spec: the claim.
        outcome: what the exploration found out.
        status: whether the claim was met.
        mismatches: for an unmet claim, each difference in words.
        comparable: whether the search ended as a plain check of the spec ends, so that its counts say something of
            those that are locked.
    """

    spec: Spec
    outcome: Outcome
    status: Status
    mismatches: tuple[Mismatch, ...]
    comparable: bool = True

    def __repr__(self) -> str:
        return f"<Result {self.status.value}: {self.spec.name}: {self.found or self.verdict.value}>"

    @property
    def ok(self) -> bool:
        """Whether the claim was met, or what was asked was answered."""
        return self.status in (Status.MET, Status.ANSWERED)

    @property
    def verdict(self) -> Verdict:
        """What came out."""
        return self.outcome.verdict

    @property
    def found(self) -> Violation | None:
        """The violation that the claim names, or else the first one, with its trace as it was found."""
        violations = self.outcome.violations
        named = [violation for violation in violations if violation.property == self.spec.file.expect.property]
        return next(iter([*named, *violations]), None)

    def stands_for(self, spec: Spec) -> bool:
        """Whether a search of another spec would find the same: it differs only in what no path of a function reads.

        What a refinement reads of the other model is not known.
        """
        read = self.outcome.settings_read
        if read is None or self.spec.file.refines or spec.file.refines:
            return False
        try:
            with blaming_the_model():
                return look_alike(self.spec.system(), spec.system(), read)
        except ModelError:
            return False  # a search says what is wrong

    @cached_property
    def violation(self) -> Violation | None:
        """The same violation to be shown: of the orders of its steps, one with the fewest changes of actor."""
        if self.found is None:
            return None
        from highwater.explorer.analysis.schedule import with_fewest_switches

        return with_fewest_switches(self.spec.system(), self.found)


@attrs.frozen(kw_only=True)
class CheckOptions(SearchOptions):
    """How to check, whichever engine does. An audit is `QUICK` unless another is asked for.

    Attributes:
        certificate: of the local engine, where to write what the verdict rests on.
        master, partitions, rows_worth_a_job, on_waiting: of Spark, see `highwater.claims.on_spark.explore`.
    """

    certificate: Path | None = None
    master: str | None = None
    partitions: int | None = None
    rows_worth_a_job: int | None = None
    on_waiting: Callable[[str], None] = lambda what: None

    def refuse_what_is_not_of(self, engine: Engine) -> None:
        """Refuse options that would change nothing, rather than ignore them.

        Raises:
            SpecError: there is one.
        """
        for name, engines in _OF_ENGINES.items():
            if getattr(self, name) not in (None, False) and engine not in engines:
                having = " or ".join(each.value for each in engines)
                raise SpecError(f"{name} has no meaning with the engine {engine.value}; use {having}")


_OF_ENGINES = {
    "audit": (Engine.LOCAL, Engine.SPARK),
    "workers": (Engine.LOCAL,),
    "coverage": (Engine.LOCAL, Engine.SPARK),
    "certificate": (Engine.LOCAL,),
    "checkpoint": (Engine.LOCAL, Engine.SPARK),
    "resume": (Engine.LOCAL, Engine.SPARK),
    "master": (Engine.SPARK,),
    "partitions": (Engine.SPARK,),
    "rows_worth_a_job": (Engine.SPARK,),
}


def _locally(spec: Spec, system: System, budget: Budget, options: CheckOptions) -> Outcome:
    from highwater.explorer.search.levels import breadth_first  # imports llvmlite

    if "://" in str(options.checkpoint):
        raise SpecError(
            f"{options.checkpoint}: the local engine keeps checkpoints in folders of this machine; add --engine spark"
        )
    found: list[Found] = []
    outcome = breadth_first.explore(
        system,
        budget,
        attrs.evolve(
            options,
            symmetry=options.symmetry and not (options.certificate and system.liveness),  # its ranks are of every state
            audit=options.audit or Auditing.QUICK,
        ),
        check_deadlock=spec.check_deadlock,
        on_found=found.append if options.certificate else None,
    )
    if options.certificate is None:
        return outcome
    from highwater.claims.certifying import no_certificate, write_certificate

    if why := no_certificate(system, outcome):
        options.certificate.unlink(missing_ok=True)
        return attrs.evolve(outcome, warnings=(*outcome.warnings, why))
    write_certificate(options.certificate, spec, outcome, next(iter(found), None))
    return outcome


def _in_plain_python(spec: Spec, system: System, budget: Budget, options: CheckOptions) -> Outcome:
    from highwater.explorer.search.plain import plain_python

    return plain_python.explore(system, budget, options, check_deadlock=spec.check_deadlock)


def _on_spark(spec: Spec, system: System, budget: Budget, options: CheckOptions) -> Outcome:
    from highwater.claims import on_spark  # imports pyspark

    options = attrs.evolve(options, audit=options.audit or Auditing.QUICK)
    return on_spark.explore(
        spec,
        budget,
        options,
        master=options.master,
        partitions=options.partitions,
        rows_worth_a_job=options.rows_worth_a_job,
        on_waiting=options.on_waiting,
    )


_ENGINES = {Engine.LOCAL: _locally, Engine.PYTHON: _in_plain_python, Engine.SPARK: _on_spark}


def check_spec(
    spec: Spec,
    engine: Engine = Engine.LOCAL,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    **options: Any,
) -> Result:
    """Explore one spec and compare with its claim.

    Args:
        options: those of `CheckOptions`, by name.

    Raises:
        SpecError: the model cannot be explored within these bounds, or is wrong in itself; or the engine has no use for
            an option.
        TypeError: there is no such option.
    """
    how = CheckOptions(**options)
    how.refuse_what_is_not_of(engine)
    if spec.file.max_depth is not None and (budget.max_depth is None or spec.file.max_depth < budget.max_depth):
        budget = attrs.evolve(budget, max_depth=spec.file.max_depth)
    try:
        with blaming_the_model():
            system = spec.system()
            outcome = _ENGINES[engine](spec, system, budget, how)
    except (ModelError, CheckpointError) as error:
        raise SpecError(f"{spec.path}: {error}") from error
    except JudgedOtherwise as error:
        raise JudgedOtherwise(*error.parts, claim=str(spec.path)) from None
    return judge_claim(spec, outcome, went_on=how.keep_going)


def judge_claim(spec: Spec, outcome: Outcome, *, went_on: bool = False) -> Result:
    """Compare an outcome with what the spec claims.

    Args:
        went_on: whether the search was to go on after a violation, which makes counts of what a plain check would not
            have seen.
    """
    expect, found = spec.file.expect, outcome.verdict
    own_end = outcome.reason in ("", f"depth {spec.file.max_depth}")
    comparable = own_end and not (went_on and outcome.violations)
    cut_short = found is Verdict.UNKNOWN or (
        found is Verdict.HOLDS_TO_DEPTH
        and (expect.verdict is not found or outcome.depth < cast("int", spec.file.max_depth))
    )
    if cut_short:
        return Result(spec, outcome, Status.UNDECIDED, (), comparable)
    if spec.changes:
        return Result(spec, outcome, Status.ANSWERED, (), comparable)
    stronger = expect.verdict is Verdict.HOLDS_TO_DEPTH and found is Verdict.HOLDS
    if found is not expect.verdict and not stronger:
        claimed = "a violation" if expect.verdict is Verdict.VIOLATED else f"the verdict {expect.verdict.value}"
        mismatch = Mismatch("expect.verdict", f"expected {claimed}, but {_found(outcome)}")
        return Result(spec, outcome, Status.UNMET, (mismatch,), comparable)
    mismatches = []
    violation = next((found for found in outcome.violations if expect.property in (None, found.property)), None)
    if expect.property is not None and violation is None:
        mismatches.append(
            Mismatch("expect.property", f"expected {expect.property} to be violated, but {_found(outcome)} first")
        )
    counts = [(key, getattr(outcome, key)) for key in ("distinct_states", "generated", "depth")]
    comparisons = counts if comparable else []
    if violation is not None:
        comparisons.append(("trace_length", violation.trace_length))
    for key, value in comparisons:
        expected = getattr(expect, key)
        if expected is not None and expected != value:
            mismatches.append(Mismatch(f"expect.{key}", f"expected {key} {expected:,}, but it is {value:,}"))
    for group in expect.any_number_of:
        if group not in outcome.any_number_of:
            keys = cast("Ranks", spec.system().ranks).groups[group].keys & outcome.bounds_cut.keys()
            cuts = ", ".join(f"{key} cut {outcome.bounds_cut[key]:,} steps" for key in sorted(keys))
            mismatches.append(
                Mismatch(
                    "expect.any_number_of",
                    f"expected to hold for any number of {in_words(group)}, but {cuts}: raise it, or leave this out",
                )
            )
    uncounted = not own_end and any(getattr(expect, key) is not None for key, _ in counts)
    status = Status.UNMET if mismatches else Status.UNDECIDED if uncounted else Status.MET
    return Result(spec, outcome, status, tuple(mismatches), comparable)


def _found(outcome: Outcome) -> str:
    if outcome.violations:
        first = outcome.violations[0]
        return f"{first.property} is violated after {first.length_in_words}"
    return f"the verdict is {outcome.verdict.value}"
