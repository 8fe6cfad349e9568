"""Specs as tests: `pytest --highwater specs/` collects every `.toml` file, and a claim that does not come out is a
failure.

The fixture `checker` is for properties of one's own over any model:

    @invariant(broker=brokers)
    def logs_are_short(cluster, broker): ...

    def test_logs_are_short(checker):
        checker.holds(logs_are_short, model="reference", protocol={"variant": "kip-320"}, bounds={...})
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from highwater.claims.checking import Result
    from highwater.model.language.definition import Property


def _at_least_1(text: str) -> int:
    try:
        number = int(text) if len(text) <= 18 else 0
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number of 1 or more")
    return number


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("highwater", "claims about models")
    group.addoption("--highwater", action="store_true", help="Collect .toml files as claims, and check each as a test.")
    group.addoption(
        "--highwater-max-states", type=_at_least_1, metavar="N", help="Stop a claim's search when N states are stored."
    )
    group.addoption(
        "--highwater-workers",
        type=_at_least_1,
        metavar="N",
        help="Threads per claim. [default: one per processor, or one under pytest-xdist]",
    )
    group.addoption(
        "--highwater-model-path",
        action="append",
        default=[],
        metavar="DIR",
        help="Also look for your own models in DIR.",
    )
    parser.addini(
        "highwater_model_path", "Folders, relative to the rootdir, with models of your own.", type="paths", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "highwater: a claim in a spec file, collected with --highwater.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    from highwater.claims.positions import may_be_spec

    if parent.config.getoption("highwater") and may_be_spec(file_path):
        return SpecFile.from_parent(parent, path=file_path)
    return None


class SpecFile(pytest.File):
    """A spec file: one test, named after the claim."""

    def collect(self) -> Iterable[pytest.Item]:
        yield Claim.from_parent(self, name=self.path.stem)


COVERED = pytest.StashKey[list[str]]()
"""Which paths the machines of `highwater.testing` have run in the workers of xdist, on who collects them."""


def _covered_here() -> list[str]:
    coverage = sys.modules.get("highwater.implementation.coverage")
    return [line for each in coverage.walked() for line in each.lines()] if coverage else []


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["highwater_paths"] = _covered_here()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    found = getattr(node, "workeroutput", {}).get("highwater_paths", [])
    node.config.stash.setdefault(COVERED, []).extend(found)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if lines := [*config.stash.get(COVERED, []), *_covered_here()]:
        terminalreporter.section("paths of models that were run")
        for line in lines:
            terminalreporter.write_line(line)


class Claim(pytest.Item):
    """One claim as a test."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.add_marker("highwater")

    def runtest(self) -> None:
        result = _check(self.config, lambda: self.path)
        outcome = result.outcome
        self.user_properties += [
            ("verdict", outcome.verdict.value),
            ("distinct_states", outcome.distinct_states),
            ("depth", outcome.depth),
        ]
        if not result.ok:
            raise ClaimNotMet(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        from highwater.claims.spec import SpecError
        from highwater.cli.endings import explained

        error = excinfo.value
        return str(error) if isinstance(error, ClaimNotMet | SpecError) else explained(error)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class ClaimNotMet(Exception):
    """A claim was not met, or a budget ended the search before it could decide."""

    def __init__(self, result: Result) -> None:
        from highwater.claims.positions import line_of_key
        from highwater.reports.terminal import plain_text

        self.result = result
        key = result.mismatches[0].key if result.mismatches else "expect.verdict"
        path = result.spec.path
        at = f"\n{path}:{line_of_key(path, key)}: {key}" if path.is_file() else ""
        super().__init__(f"{result.spec.name}: {result.status.value}\n{plain_text(result)}{at}")


def _workers(config: pytest.Config) -> int | None:
    given = config.getoption("highwater_workers")
    return given or (1 if os.environ.get("PYTEST_XDIST_WORKER") else None)


def _check(config: pytest.Config, spec: Callable[[], Any]) -> Result:
    """Check one claim."""
    from highwater import api
    from highwater.cli.endings import without_ways_out

    folders = [*config.getoption("highwater_model_path"), *config.getini("highwater_model_path")]
    options = {
        "max_states": config.getoption("highwater_max_states"),
        "workers": _workers(config),
        "model_path": folders,
    }
    with without_ways_out():
        result = api.check(spec(), **options)
    if result.outcome.reason == "interrupted":
        raise KeyboardInterrupt
    return result


class Checker:
    """What the fixture `checker` offers. Keys are those of a spec file; properties are functions or names."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def check(self, *properties: Property | str, **keys: Any) -> Result:
        """What comes out."""

        def claim() -> Any:
            from highwater import api

            return api.claim(check=properties, **keys)

        return _check(self._config, claim)

    def holds(self, *properties: Property | str, **keys: Any) -> Result:
        """Fail the test, with the shortest trace, unless all the properties hold within the bounds."""
        return self._met(self.check(*properties, **_expecting("holds", keys)))

    def violated(self, *properties: Property | str, **keys: Any) -> Result:
        """Fail the test unless one of the properties is violated."""
        return self._met(self.check(*properties, **_expecting("violated", keys)))

    @staticmethod
    def _met(result: Result) -> Result:
        __tracebackhide__ = True
        if not result.ok:
            pytest.fail(str(ClaimNotMet(result)), pytrace=False)
        return result


def _expecting(verdict: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a claim, which expect a verdict whatever else they expect.

    Raises:
        SpecError: they expect another one.
    """
    expect = keys.get("expect", {})
    if not isinstance(expect, Mapping):
        return {**keys}  # which the claim refuses
    if (given := expect.get("verdict", verdict)) != verdict:
        from highwater.claims.spec import SpecError

        raise SpecError(
            f"claim: expect.verdict: {given!r} is not what this method of checker asks; allowed is {verdict!r}"
        )
    return {**keys, "expect": {**expect, "verdict": verdict}}


@pytest.fixture
def checker(request: pytest.FixtureRequest) -> Checker:
    """Check properties of one's own over a model, in a test."""
    return Checker(request.config)
