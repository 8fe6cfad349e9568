"""A model and a claim as texts, checked and tried by hand in plain Python: what the playground asks of Python in a
browser, where there are no machine code and no files but its own.
"""

from __future__ import annotations

import importlib
import io
import json
import linecache
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console

from highwater.claims import own
from highwater.claims.checking import Engine, Result, check_spec
from highwater.claims.spec import Spec, SpecError, load_spec
from highwater.explorer.blame import ModelError, blaming_the_model
from highwater.explorer.verdict import Budget, Progress, Verdict
from highwater.exploring.opening import open_entry, open_spec
from highwater.exploring.page import REFUSALS, Page
from highwater.exploring.saving import saved
from highwater.exploring.session import SessionError
from highwater.reports.analyses import show_unproven
from highwater.reports.replaying import subject_of
from highwater.reports.results import entry_of
from highwater.reports.terminal import show_result
from highwater.viewer.index import counterexample_in
from highwater.viewer.pages import search_page, trace_page
from highwater.visible import visible

NAME = re.compile(r"[A-Za-z0-9_]{1,120}")
MOST_STATES = 200_000  # some hundred MB, which a phone has
BUILT_IN = "highwater"

Tell = Callable[[int, int, int], Any]
"""Called with depth, states so far and states at that depth, while a search runs."""


@attrs.frozen
class Place:
    """Where something is wrong.

    Attributes:
        file: "model", "claim", or empty where it is in neither.
        line, column: counted from 1; 0 where they are not known.
    """

    file: str = ""
    line: int = 0
    column: int = 0


class Playground:
    """The two texts in the current folder, which is theirs alone, and what was asked of them last.

    Every answer is an object for JSON. What cannot be done is one with `problem`, the message, and `place`.
    """

    def __init__(self) -> None:
        self._module, self._claim = "", Path("claim.toml")
        self._page: Page | None = None

    def check(
        self, model: str, claim: str, tell: Tell = lambda depth, states, level: None, *, name: str = "claim"
    ) -> str:
        """Check the claim.

        Args:
            name: of the claim; letters, digits and underscores.

        Returns:
            `status`, `verdict`, `states` and `levels` as reports name them; `report`, as the command line prints it;
            `page`, the counterexample or what was explored; `entry`, of a counterexample, for `explore`.
        """

        def said(progress: Progress) -> None:
            tell(progress.depth, progress.stored_states, progress.frontier)

        def answer() -> dict[str, Any]:
            spec = self._written(model, claim, name)
            result = check_spec(spec, Engine.PYTHON, Budget(max_states=MOST_STATES), on_progress=said)
            entry = entry_of(result)
            return {
                "status": result.status.value,
                "verdict": result.verdict.value,
                "states": result.outcome.distinct_states,
                "levels": list(result.outcome.levels),
                "report": report_of(result),
                "page": self._shown(spec, entry),
                "entry": entry if entry.get("trace") else None,
            }

        return self._answered(answer)

    def _shown(self, spec: Spec, entry: Mapping[str, Any]) -> str:
        if entry.get("trace"):
            return trace_page(counterexample_in(entry, spec.path), is_file=False)
        with own.beside(spec.path):
            return search_page(entry, subject=subject_of(entry))

    def explore(self, model: str, claim: str, *, name: str = "claim", entry: str = "null", done: str = "[]") -> str:
        """Begin a session: at an initial state, or at the end of a counterexample.

        Args:
            name: of the claim.
            entry: of the counterexample, as JSON.
            done: the verbs to do again, as JSON, where a session was lost with the interpreter.

        Returns:
            `page`, which asks `do`, `save` and `compare`.
        """

        def answer() -> dict[str, Any]:
            spec = self._written(model, claim, name)
            with own.beside(spec.path), blaming_the_model():
                self._page = page = Page(open_entry(found) if (found := json.loads(entry)) else open_spec(spec))
            for verb in json.loads(done):
                page.do(verb)
            return {"page": page.whole()}

        return self._answered(answer)

    def do(self, asked: str) -> str:
        """A verb of the session's page, as JSON.

        Returns:
            `text`, what of the page it changes.
        """
        return self._answered(lambda: {"text": self._session.do(json.loads(asked))})

    def save(self, kind: str) -> str:
        """The branch as a file.

        Returns:
            `name` and `text`.
        """
        return self._answered(lambda: dict(zip(("name", "text"), saved(self._session.session, kind), strict=True)))

    def compare(self, rule: str) -> str:
        """The branch under another rule, side by side.

        Returns:
            `page`.
        """
        return self._answered(lambda: {"page": self._session.side_by_side(rule)})

    @property
    def _session(self) -> Page:
        if self._page is None:
            raise SessionError("no session was begun")
        return self._page

    def _written(self, model: str, claim: str, name: str) -> Spec:
        """The claim, read from files with the two texts. The model is imported anew.

        Raises:
            SpecError: one of them is wrong.
        """
        for each in [each for each in sys.modules if self._module and f"{each}.".startswith(f"{self._module}.")]:
            del sys.modules[each]
        for written in (Path(f"{self._module}.py"), self._claim):
            written.unlink(missing_ok=True)
        self._module = module_of(claim)
        self._claim = Path(f"{name if NAME.fullmatch(name) else 'claim'}.toml")
        if self._module:
            Path(f"{self._module}.py").write_text(model, encoding="utf-8")
        importlib.invalidate_caches()
        linecache.clearcache()
        self._claim.write_text(claim, encoding="utf-8")
        with blaming_the_model():
            return load_spec(self._claim)

    def _answered(self, answer: Callable[[], Mapping[str, Any]]) -> str:
        """What was asked for, or why it cannot be done."""
        try:
            return json.dumps(answer())
        except (SpecError, ModelError, *REFUSALS) as error:
            words = "\n".join(map(visible, str(error).replace(f"{Path.cwd()}/", "").split("\n")))
            return json.dumps({"problem": words, "place": attrs.asdict(self._place_in(words))})

    def _place_in(self, words: str) -> Place:
        """Where a message says that something is wrong: what is in the model is named behind the claim."""
        if self._module and (at := re.search(rf"\b{self._module}\.py(?:, line |:)(\d+)", words)):
            return Place("model", int(at[1]))
        if at := re.match(rf"{self._claim}:(\d+):(\d+)", words):
            return Place("claim", int(at[1]), int(at[2]))
        return Place()


def module_of(claim: str) -> str:
    """The module of one's own that a claim names first; empty if it names none, or is no claim."""
    with suppress(tomllib.TOMLDecodeError):
        read = tomllib.loads(claim)
        for reference in _references(read):
            module = reference.partition(":")[0].partition(".")[0]
            if own.is_reference(reference) and module.isidentifier() and module != BUILT_IN:
                return module
    return ""


def _references(read: Mapping[str, Any]) -> Iterator[str]:
    refines = read.get("refines")
    given = (read.get("model"), *(read.get("check") or ()), *(refines.values() if isinstance(refines, dict) else ()))
    return (each for each in given if isinstance(each, str))


def report_of(result: Result) -> str:
    """A result as `highwater check` prints it, without the trace."""
    written = io.StringIO()
    console = Console(file=written, soft_wrap=True, highlight=False, emoji=False, markup=False)
    show_result(console, result, with_trace=False)
    if result.verdict is Verdict.HOLDS:
        show_unproven(console, result)
    if result.outcome.reason == "max-states":
        console.print(f"    stopped  the playground keeps {MOST_STATES:,} states; an installed Highwater goes on")
    return written.getvalue()
