"""One run of `highwater check`: load every spec, check them side by side, and write all reports in any case."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from highwater.claims.by_release import spans, specs_of
from highwater.claims.changing import Changes, changes_of
from highwater.claims.checking import Engine, Result, Status, check_spec
from highwater.claims.spec import Spec, SpecError, find_specs
from highwater.claims.tables import Wrong
from highwater.claims.unreturned import watched
from highwater.cli.options import INTERRUPTED, MET, UNKNOWN, UNMET, USAGE, complain
from highwater.cli.outputs import Outputs
from highwater.explorer.verdict import Auditing, Budget, Progress, Verdict
from highwater.files import ReportError
from highwater.reports.progress import Live, LiveClaims, make_console
from highwater.reports.terminal import show_result, show_summary

if TYPE_CHECKING:  # importing it takes time, and a claim alone needs none of it
    from highwater.claims.side_by_side import Answer
    from highwater.reports.results import Problem

LOCAL_ONLY = "only the compiled engine on this machine has it"
SPARK_OWN = "Spark has settings of its own, such as spark.executor.cores and spark.executor.memory"


@attrs.frozen
class Wanted:
    """What `highwater check` was asked for; see its options."""

    paths: tuple[Path, ...]
    engine: Engine
    budget: Budget
    presets: tuple[str, ...]
    settings: tuple[str, ...]
    workers: int | None
    jobs: int | None
    symmetry: bool
    keep_going: bool
    keep_trees: bool
    audit: Auditing | None
    coverage: bool
    certificate: Path | None
    checkpoint: str | None
    resume: bool
    master: str | None
    partitions: int | None
    rows_worth_a_job: int | None
    advice: bool
    raise_bounds: bool
    update_locks: bool
    trace: bool | None


class Run:
    """A run, and what it has found so far."""

    def __init__(self, wanted: Wanted, outputs: Outputs) -> None:
        self._wanted, self._outputs = wanted, outputs
        self._console, self._errors = make_console(), make_console(stderr=True)
        self._asked: list[Spec] = []
        self._results: list[Result] = []
        self._problems: list[Problem] = []
        self._unwritten: list[Exception] = []
        self._locks: list[str] = []
        self._interrupted = False
        self._by_release = False
        self._seconds = 0.0

    def __call__(self) -> int:
        """Do it all.

        Returns:
            The exit code.
        """
        paths: list[Path] = []
        try:
            paths = find_specs(self._wanted.paths)
            specs = specs_of(paths, self._wanted.presets, self._changes())
            self._by_release = len(specs) > len(paths)
            self._refuse(len(specs))
            self._outputs.try_out(paths, {"certificate": self._wanted.certificate})
        except (SpecError, ReportError) as error:
            return self._refused(error, paths)
        self._asked = specs
        try:
            self._check_all(specs)
        except KeyboardInterrupt:
            self._interrupted = True
        except BaseException as error:  # what was learned so far is worth as much
            why = f"the run was ended by {type(error).__name__}: {error}"
            self._outputs.write(self._results, self._problems, why, self._unanswered)
            raise
        return self._finished()

    def _refused(self, error: SpecError | ReportError, paths: list[Path]) -> int:
        """Report what is wrong from the start, in the reports too if it is specs: nothing is explored."""
        from highwater.reports.results import Problem

        by_file = error.by_file if isinstance(error, SpecError) else {}
        self._problems = [Problem(path, message) for path, message in by_file.items()]
        complain(error)
        self._outputs.complain(error, self._problems)
        if self._problems:
            try:
                self._outputs.try_out(paths)
            except ReportError as unwritten:
                complain(unwritten)
            else:
                self._outputs.write([], self._problems, "some specs are wrong, and none was explored")
        return USAGE

    def _changes(self) -> Changes:
        """What is asked otherwise than the files say.

        Raises:
            SpecError: it cannot be read, or counts were to be written into files that do not say this.
        """
        try:
            changes = changes_of(self._wanted.settings)
        except Wrong as wrong:
            raise SpecError(str(wrong)) from None
        if (changes or self._wanted.presets) and self._wanted.update_locks:
            raise SpecError("--update-locks has no meaning with --preset and --set; the files claim something else")
        return changes

    def _refuse(self, specs: int) -> None:
        """Refuse options that contradict each other, rather than ignore one of them."""
        wanted, engine = self._wanted, self._wanted.engine
        if wanted.checkpoint is None and wanted.resume:
            raise SpecError("--resume needs --checkpoint DIR, the folder to go on from")
        if wanted.checkpoint is not None and (specs > 1 or engine is Engine.PYTHON):
            raise SpecError("--checkpoint keeps the search of one spec, by the local engine or on Spark; name one spec")
        if wanted.certificate is not None and specs > 1:
            raise SpecError("--certificate is of one spec; name one")
        if engine is Engine.SPARK and (wanted.jobs or 1) > 1:
            raise SpecError("--jobs has no meaning with --engine spark; Spark checks one claim after the other")
        if self._by_release and wanted.raise_bounds:
            raise SpecError("--raise-bounds has no meaning with several --preset; name one")
        spark: Mapping[str, Any] = {"--master": wanted.master, "--partitions": wanted.partitions}
        spark = {**spark, "--rows-worth-a-job": wanted.rows_worth_a_job}
        local: Mapping[str, Any] = {"--workers": wanted.workers}
        refused = [(local, SPARK_OWN)] if engine is Engine.SPARK else [(spark, "add --engine spark")]
        if engine is Engine.PYTHON:
            refused.append(
                (
                    {**local, "--memory": wanted.budget.memory, "--no-symmetry": None if wanted.symmetry else True},
                    "it has one thread and no symmetry reduction",
                )
            )
            refused.append(({"--audit": wanted.audit and wanted.audit.value}, "it is what an audit asks"))
        if engine is not Engine.LOCAL:
            asked: dict[str, Any] = {"--certificate": wanted.certificate, "--raise-bounds": wanted.raise_bounds or None}
            if engine is Engine.PYTHON:
                asked["--coverage"] = wanted.coverage or None
            refused.append((asked, LOCAL_ONLY))
        for options, why in refused:
            for name, value in options.items():
                if value is not None:
                    raise SpecError(f"{name} has no meaning with --engine {engine.value}; {why}")

    def _check_all(self, specs: list[Spec]) -> None:
        began = time.perf_counter()
        try:
            self._check(specs)
        finally:
            self._seconds = time.perf_counter() - began

    def _check(self, specs: list[Spec]) -> None:
        jobs = min(self._wanted.jobs or os.cpu_count() or 1, len(specs))
        if jobs > 1 and self._wanted.engine is not Engine.SPARK:
            from highwater.claims.side_by_side import can_fork

            if can_fork():
                self._check_side_by_side(specs, jobs)
                return
        self._check_in_turn(specs)

    def _check_side_by_side(self, specs: list[Spec], jobs: int) -> None:
        """Check several claims at once, and show them in their order. A claim that finds no room beside others is
        checked again alone.
        """
        from highwater.claims.side_by_side import SideBySide

        wanted = self._wanted
        workers = wanted.workers
        if wanted.engine is Engine.LOCAL:
            from highwater.explorer.search.levels import breadth_first  # noqa: F401 - once, and not in each fork

            workers = max(1, (os.cpu_count() or 1) // jobs) if workers is None else workers
        budget = attrs.evolve(wanted.budget, sharers=jobs)

        def check(spec: Spec, on_progress: Callable[[Progress], None]) -> Result:
            return self._checked_with(spec, on_progress, workers, budget)

        def check_alone(spec: Spec, on_progress: Callable[[Progress], None]) -> Result:
            return self._checked_with(spec, on_progress, wanted.workers, wanted.budget)

        live = LiveClaims(self._errors, len(specs))
        with SideBySide(
            specs, jobs, check, check_alone, lambda spec, progress: live(spec.name, progress)
        ) as side_by_side:
            answers = iter(side_by_side)
            while True:
                with live:  # and not while something is shown
                    answer = next(answers, None)
                if answer is None:
                    break
                self._take(*answer)
            self._interrupted |= side_by_side.interrupted

    def _take(self, spec: Spec, answer: Answer) -> None:
        """Note and show what came out for one claim."""
        if isinstance(answer, SpecError):
            self._complain(answer, spec.path)
            return
        result = self._with_locks_updated(answer)
        self._results.append(result)
        self._show(result, alone=False)

    def _check_in_turn(self, specs: list[Spec]) -> None:
        for spec in specs:
            try:
                result = self._with_locks_updated(self._checked(spec))
                self._results.append(result)
                self._show(result, alone=len(specs) == 1)
            except SpecError as error:
                self._complain(error, spec.path)
                continue
            if result.outcome.reason == "interrupted":
                self._interrupted = True
                return

    def _with_locks_updated(self, result: Result) -> Result:
        """The result, judged by the counts that were written into its spec if that was asked."""
        if not self._wanted.update_locks:
            return result
        from highwater.claims.locks import update_locks

        try:
            (now,), diff = update_locks([result])
        except ReportError as error:
            self._unwritten.append(error)
            return result
        self._locks += diff
        return now

    def _checked(self, spec: Spec) -> Result:
        with Live(self._errors, spec.name) as live:
            return self._checked_with(spec, live, self._wanted.workers, self._wanted.budget, live.show_now)

    def _checked_with(
        self, spec: Spec, on_progress: Callable[[Progress], None], workers: int | None, budget: Budget,
        on_waiting: Callable[[str], None] = lambda what: None,
    ) -> Result:  # fmt: skip
        wanted = self._wanted
        with watched(lambda line: complain(SpecError(f"{spec.path}: {line}"))):
            return check_spec(
                spec, wanted.engine, budget, keep_going=wanted.keep_going, workers=workers, symmetry=wanted.symmetry,
                checkpoint=wanted.checkpoint, resume=wanted.resume, coverage=wanted.coverage,
                certificate=wanted.certificate,
                keep_trees=wanted.keep_trees, audit=wanted.audit, master=wanted.master, partitions=wanted.partitions,
                rows_worth_a_job=wanted.rows_worth_a_job, on_waiting=on_waiting, on_progress=on_progress,
            )  # fmt: skip

    def _show(self, result: Result, *, alone: bool) -> None:
        wanted, outcome = self._wanted, result.outcome
        if self._by_release and not wanted.trace:
            return  # one table says it all at the end
        with_trace = result.status is Status.UNMET or alone if wanted.trace is None else wanted.trace
        show_result(self._console, result, with_trace=with_trace, with_actions=alone)
        cut = outcome.reason in ("max-states", "memory") and not outcome.violations
        if wanted.advice and cut and wanted.engine is Engine.LOCAL:
            from highwater.claims.advice import advise
            from highwater.reports.analyses import show_advice

            with Live(self._errors, f"{result.spec.name}: probing smaller bounds"):
                found = advise(result.spec, outcome, symmetry=wanted.symmetry, workers=wanted.workers)
            show_advice(self._console, found)
        if outcome.verdict is Verdict.HOLDS:
            self._show_unproven(result)

    def _show_unproven(self, result: Result) -> None:
        """Which bound may hide a violation; and whether it does, if that was asked."""
        from highwater.claims.raising import with_bounds_raised
        from highwater.reports.analyses import show_raised, show_unproven

        wanted, spec, outcome = self._wanted, result.spec, result.outcome
        if not wanted.raise_bounds:
            show_unproven(self._console, result)
            return
        for raised in with_bounds_raised(
            spec, outcome, symmetry=wanted.symmetry, workers=wanted.workers, audit=wanted.audit
        ):
            show_raised(self._console, raised)

    def _finished(self) -> int:
        """Sum up, and write all that can be written."""
        unwritten = list(self._unwritten)
        if self._wanted.update_locks and self._results and not unwritten:
            from highwater.reports.analyses import show_diff

            show_diff(self._console, self._locks)
        self._show_coverage()
        if self._by_release:
            from highwater.reports.analyses import show_spans

            show_spans(self._console, spans(self._results, self._unanswered))
        if len(self._results) > 1 or (self._results and self._interrupted):
            show_summary(self._console, self._results, self._seconds)
        incomplete = "the run was interrupted" if self._interrupted else ""
        unwritten += self._outputs.write(self._results, self._problems, incomplete, self._unanswered)
        for each in unwritten:
            complain(each)
        if self._interrupted:
            self._errors.print("interrupted")
            return INTERRUPTED
        statuses = {result.status for result in self._results}
        if unwritten or self._problems:
            return USAGE
        return UNMET if Status.UNMET in statuses else UNKNOWN if Status.UNDECIDED in statuses else MET

    @property
    def _unanswered(self) -> list[Spec]:
        """What was asked and has no result, as its check raised or the run was ended."""
        answered = {id(result.spec) for result in self._results}
        return [spec for spec in self._asked if id(spec) not in answered]

    def _show_coverage(self) -> None:
        """What all claims reach together. A claim that holds, and is alone, has said so of itself."""
        if not self._wanted.coverage or [result.verdict for result in self._results] == [Verdict.HOLDS]:
            return
        from highwater.claims.coverage import added_up
        from highwater.reports.terminal import show_coverage

        for each in added_up(self._results):
            show_coverage(self._console, each)

    def _complain(self, error: SpecError, path: Path) -> None:
        from highwater.reports.results import Problem

        complain(error)
        self._problems.append(Problem(path, str(error)))
        self._outputs.complain(error, self._problems[-1:])
