"""One claim of the catalogue, asked of its model: a search, and what it says to an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, TypeVar

import attrs

from highwater.asking.questions import Claim, Question
from highwater.asking.settings import Settings, bounds_of, can_ask, number, protocol_of
from highwater.claims.checking import Result, check_spec
from highwater.claims.spec import Spec, make_spec
from highwater.explorer.verdict import Budget, Progress, Verdict, Violation

MOST_STATES = 4_000_000
BEGUN = ("broker", "reassignment", "shutdown")
"""Harms of what somebody has begun. If no state has it begun, nothing was asked. A partition that never lacks its
leader is another matter: that is a "no".
"""
OnProgress = Callable[[Progress], None]
Answered = TypeVar("Answered")


class Says(Enum):
    """An answer in a word."""

    YES = "yes"
    NO = "no"
    NOT_KNOWN = "not known"


OTHER_CHANGE = "the shortest way to it that the search finds takes another change than the one asked for"
WITHOUT_IT = {
    Says.YES: "within the same bounds it comes about without this, too",
    Says.NO: "",
    Says.NOT_KNOWN: "whether it comes about without this, too, is not known",
}
"""Why a counterexample says nothing of what was asked, by what comes about without that."""


def together(says: Iterable[Says]) -> Says:
    """Of several harms: yes if any of them can come about, and then the rest is not asked; no if none can."""
    kinds = set()
    for each in says:
        if each is Says.YES:
            return Says.YES
        kinds.add(each)
    return Says.NO if kinds == {Says.NO} else Says.NOT_KNOWN


@attrs.frozen
class Part:
    """What came out of one claim.

    Attributes:
        result: None if its model could not be asked.
        why: why it is not known.
        without: what came out without what it must not come about without.
    """

    claim: Claim
    says: Says
    result: Result | None = None
    why: str = ""
    without: Part | None = None

    @property
    def violation(self) -> Violation | None:
        """The counterexample of a "yes"."""
        return self.result.found if self.result and self.says is Says.YES else None

    @property
    def lacked_memory(self) -> bool:
        """Whether a search ended as there was no more."""
        lacked = self.result is not None and self.result.outcome.reason == "memory"
        return lacked or (self.without is not None and self.without.lacked_memory)


def parts_of(question: Question, settings: Settings, on_progress: OnProgress) -> tuple[Part, ...]:
    """What the claims of a question say: for each harm the first of them whose model has all that is asked for.

    Raises:
        SpecError: a claim of the catalogue is wrong.
    """

    def asked(claim: Claim, why: str) -> Iterator[Part]:
        for each in less_disturbed(claim, question, settings):
            yield ask_claim(each, settings, on_progress=on_progress)
        yield Part(claim, Says.NOT_KNOWN, why=why) if why else ask_claim(claim, settings, on_progress=on_progress)

    return tuple(of_harm(asked(claim, why), lambda part: part.says) for claim, why in claims_for(question, settings))


def claims_for(question: Question, settings: Settings) -> list[tuple[Claim, str]]:
    """For each harm the claim to ask, and why it cannot be asked, if none can."""
    if not question.is_of(settings.release):
        return []
    by_harm: dict[str, list[Claim]] = {}
    for claim in question.claims:
        by_harm.setdefault(claim.harm, []).append(claim)
    able = (next((each for each in claims if not can_ask(each, settings)), claims[0]) for claims in by_harm.values())
    return [(claim, can_ask(claim, settings)) for claim in able]


def less_disturbed(claim: Claim, question: Question, settings: Settings) -> list[Claim]:
    """The claims about the same harm before the one to ask whose models lack nothing but what else happens meanwhile.
    What comes about without that comes about while it may happen, too.
    """
    same = [each for each in question.claims if each.harm == claim.harm]
    before = same if can_ask(claim, settings) else same[: same.index(claim)]
    return [each for each in before if not can_ask(each, attrs.evolve(settings, during=()))]


def of_harm(asked: Iterable[Answered], says: Callable[[Answered], Says]) -> Answered:
    """What is said of one harm, by the claims that are less disturbed and then the one to ask: the first "yes"; else
    what the last one says, but no "no" where it is not known of another.
    """
    known = []
    for each in asked:
        if says(each) is Says.YES:
            return each
        known.append(each)
    *others, last = known
    return next((each for each in others if says(last) is Says.NO and says(each) is Says.NOT_KNOWN), last)


def spec_of(claim: Claim, settings: Settings, more: Mapping[str, int | str] | None = None) -> Spec:
    """A claim of the catalogue as a spec that claims nothing.

    Args:
        more: bounds in place of the claim's.

    Raises:
        SpecError: it is wrong.
    """
    bounds = bounds_of(claim, settings) | {key: number(value, settings) for key, value in (more or {}).items()}
    keys: dict[str, Any] = {"model": claim.model, "preset": settings.release, "bounds": bounds, "check": [claim.check]}
    keys |= {"protocol": protocol_of(claim, settings), "by_order": list(claim.by_order)}
    spec = make_spec("question", keys)
    return attrs.evolve(spec, changes=("an operator's question",))


def ask_claim(
    claim: Claim,
    settings: Settings,
    more: Mapping[str, int | str] | None = None,
    most_states: int = MOST_STATES,
    on_progress: OnProgress = lambda progress: None,
) -> Part:
    """What a search says. It is not known where nothing has begun that could end badly.

    Raises:
        SpecError: the claim is wrong.
        KeyboardInterrupt: the keyboard ended the search.
    """
    spec, budget = spec_of(claim, settings, more), Budget(max_states=most_states)
    result = check_spec(spec, budget=budget, keep_trees=True, on_progress=on_progress)
    if result.outcome.reason == "interrupted":
        raise KeyboardInterrupt
    if result.verdict is Verdict.VIOLATED:
        if not _takes(claim, settings, result):
            return Part(claim, Says.NOT_KNOWN, result, OTHER_CHANGE)
        without = _without(claim, settings, more, most_states)
        why = WITHOUT_IT[without.says] if without else ""
        return Part(claim, Says.NOT_KNOWN if why else Says.YES, result, why, without)
    if result.verdict is not Verdict.HOLDS:
        return Part(claim, Says.NOT_KNOWN, result, f"the search ended at {result.outcome.stored_states:,} states")
    if result.outcome.vacuous and claim.harm in BEGUN:
        return Part(claim, Says.NOT_KNOWN, result, "within these bounds nothing of the kind comes about at all")
    return Part(claim, Says.NO, result)


def _without(claim: Claim, settings: Settings, more: Mapping[str, int | str] | None, most_states: int) -> Part | None:
    """What comes out without what the claim is about, if it names that."""
    if not claim.against:
        return None
    without = attrs.evolve(claim, protocol={**claim.protocol, **claim.against}, against={})
    return ask_claim(without, settings, more, most_states)


def _takes(claim: Claim, settings: Settings, result: Result) -> bool:
    """Whether a counterexample has the step that the claim asks for, if it asks for one."""
    wanted = {key: str(number(value, settings)) for key, value in claim.takes.items() if key != "action"}
    assert result.found is not None, "it is violated"
    steps = [step.action for step in result.found.trace if step.action is not None]
    return not claim.takes or any(
        step.of.name == claim.takes["action"] and wanted.items() <= dict(step.shown).items() for step in steps
    )
