"""From a question and settings to an answer: what comes about, what prevents it, and which releases do otherwise."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

import attrs

from highwater.asking.answers import Answer
from highwater.asking.asked import (
    MOST_STATES,
    Part,
    Says,
    ask_claim,
    claims_for,
    less_disturbed,
    of_harm,
    parts_of,
    spec_of,
    together,
)
from highwater.asking.kept import Further, kept_or_asked
from highwater.asking.questions import FIRST, Claim, Question, Seen, findings
from highwater.asking.settings import Settings, others
from highwater.claims.counterexamples import KnownCounterexamples
from highwater.claims.spec import Spec
from highwater.explorer.verdict import Progress
from highwater.model.catalogue import MODELS
from highwater.model.language.definition import release_number

MOST_STATES_MORE = 300_000
"""How many states the searches under one other setting may store together. So may those under two, all pairs together,
and those of all other releases.
"""

Report = Callable[[str, Progress | None], None]
Change = tuple[str, Settings, Mapping[str, int | str]]
"""What might prevent it, in words; the settings with it, and bounds in place of a claim's."""


def answer(
    question: Question, settings: Settings, report: Report | None = None, *, alone: bool = False, keep: bool = False
) -> Answer:
    """Ask the models.

    Args:
        report: called now and then with what is being asked, in words, and how far its search is.
        alone: ask neither what else would prevent it, nor other releases.
        keep: take what is kept of these, if the same was asked before, and keep it: see `highwater.asking.kept`.

    Raises:
        SpecError: a claim of the catalogue is wrong.
        KeyboardInterrupt: the keyboard ended a search.
    """
    report = report or (lambda words, progress: None)
    found = Answer(question, settings, parts_of(question, settings, lambda progress: report(question.words, progress)))
    found = attrs.evolve(found, seen=tuple(_seen(found)))
    if alone or found.decisive is None or found.says is Says.NOT_KNOWN:
        return found
    ask = functools.partial(_further, found, report)
    asked = (question, settings, MOST_STATES, MOST_STATES_MORE, [(part.claim, part.says) for part in found.parts])
    further = kept_or_asked(asked, question.claims, ask) if keep else ask()[0]
    return attrs.evolve(found, **attrs.asdict(further, recurse=False))


def _further(found: Answer, report: Report) -> tuple[Further, bool]:
    """What prevents a "yes", and which releases do otherwise; and whether any machine finds the same."""
    more = _More(found, report)
    prevention = more.prevention() if found.says is Says.YES else ((), (), ())
    return Further(*prevention, *more.releases()), not more.lacked_memory


def _seen(found: Answer) -> Iterator[Seen]:
    """The findings without whose rule the counterexample is none, and those that are about this very question."""
    part, release = found.decisive, found.settings.release
    if part is None or part.result is None:
        named = (findings()[name] for name in found.question.seen)
        yield from (each for each in named if not found.parts and each.is_of(release))
        return
    for seen in findings().values():
        if part.violation is None or not seen.is_of(release):
            continue
        if seen.name in found.question.seen or (seen.rule and _rests_on(found, part, seen)):
            yield seen


def _rests_on(found: Answer, part: Part, seen: Seen) -> bool:
    """Whether a counterexample is none once the rule of a finding is set right."""
    assert part.result is not None and part.violation is not None
    if seen.model != part.claim.model:
        return False
    repaired = attrs.evolve(part.claim, protocol={**part.claim.protocol, **seen.rule})
    candidate = spec_of(repaired, found.settings)
    if candidate.protocol == part.result.spec.protocol:
        return False
    if part.violation.property not in {each.of.name for each in part.result.spec.system().safety}:
        return False  # what is judged on the graph of all states may be lost in another way
    known = KnownCounterexamples()
    known.add(part.result.spec, [part.violation])
    return not known.first_under(candidate)


class _More:
    """What an answer goes on to ask, as long as there are states left to store.

    Attributes:
        lacked_memory: whether a search ended as there was no more.
    """

    def __init__(self, found: Answer, report: Report) -> None:
        self._found, self._report = found, report
        self.lacked_memory = False
        self._left = 0
        self._known: dict[tuple[str, str], KnownCounterexamples] = defaultdict(KnownCounterexamples)
        self._asked: list[Part] = []
        for part in found.parts:
            self._note(part)

    def _note(self, part: Part) -> None:
        """Note what was asked, and a counterexample, which may be one under other settings, too."""
        self._asked.append(part)
        is_all_that_is_asked = not (part.claim.takes or part.claim.against)
        if part.result and part.violation is not None and is_all_that_is_asked:
            self._known[part.claim.model, part.claim.check].add(part.result.spec, [part.violation])

    def prevention(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """What prevents it, what does not, and of what it is not known: single changes first, then two at a time."""
        settings, ways = self._found.settings, self._found.question.ways
        single: list[Change] = [(way.words, settings, way.bounds) for way in ways]
        single += [(words, other, {}) for words, other in others(settings)]
        says = {}
        for change in single:
            self._left = MOST_STATES_MORE
            says[change[0]] = self._tried(change)
        if Says.NO not in says.values():
            self._left = MOST_STATES_MORE
            pairs = {change[0]: self._tried(change) for change in _pairs(settings)}
            says |= {words: each for words, each in pairs.items() if each is not Says.YES}
        prevents, does_not, not_known = (
            tuple(words for words, each in says.items() if each is of) for of in (Says.NO, Says.YES, Says.NOT_KNOWN)
        )
        return prevents, does_not, not_known

    def _tried(self, change: Change) -> Says:
        """Whether any of what came about still does."""
        words, settings, bounds = change
        harms = {part.claim.harm for part in self._found.parts if part.says is Says.YES}
        claims = [each for each in claims_for(self._found.question, self._found.settings) if each[0].harm in harms]
        return together(self._of_harm(*each, f"with {words}", settings, bounds) for each in claims)

    def _of_harm(self, claim: Claim, why: str, words: str, settings: Settings, more: Mapping[str, int | str]) -> Says:
        """What is said of a claim's harm under other settings."""
        question = self._found.question

        def asked() -> Iterator[Says]:
            for each in less_disturbed(claim, question, settings):
                yield self._ask(each, words, settings, more)
            yield Says.NOT_KNOWN if why else self._ask(claim, words, settings, more)

        return of_harm(asked(), lambda says: says)

    def _ask(self, claim: Claim, words: str, settings: Settings, more: Mapping[str, int | str]) -> Says:
        """A claim under other settings: a counterexample that is known, or a search that may store what is left."""
        self._report(f"{self._found.question.words}, {words}", None)
        if more and claim.model != self._found.question.claims[0].model:
            return Says.NOT_KNOWN  # ways are told in the bounds of the first one's model
        spec = spec_of(claim, settings, more)
        for part in self._asked:
            if part.claim == claim and _holds_for(part, spec):
                return part.says
        if self._known[claim.model, claim.check].first_under(spec):
            return Says.YES
        if self._left <= 0:
            return Says.NOT_KNOWN
        part = ask_claim(claim, settings, more, self._left)
        assert part.result is not None
        self._left -= part.result.outcome.stored_states
        self.lacked_memory |= part.lacked_memory
        self._note(part)
        return part.says

    def releases(self) -> tuple[tuple[str, Says] | None, tuple[str, Says] | None, tuple[str, str] | None]:
        """The nearest older and newer releases that answer otherwise, and how far it was asked."""
        since, release = self._found.question.since, self._found.settings.release
        models = {part.claim.model for part in self._found.parts}
        every = sorted({each for model in models for each in releases_of(model, since)}, key=release_number)
        every = [each for each in every if self._found.question.is_of(each)]
        if self._found.settings.elr:
            every = [each for each in every if release_number(each) >= release_number("4.0")]
        until = [each for each in every if release_number(each) <= release_number(release)]
        here = until[-1] if until else release
        self._left = MOST_STATES_MORE
        older, oldest = self._walk(until[:-1][::-1], here)
        newer, newest = self._walk(every[len(until) :], here)
        return older, newer, (oldest, newest)

    def _walk(self, releases: list[str], here: str) -> tuple[tuple[str, Says] | None, str]:
        """The first release that answers otherwise, and the last one that was asked. What came about here is asked
        first.
        """
        last, came_about = here, {part.claim.harm for part in self._found.parts if part.says is Says.YES}
        for release in releases:
            settings = attrs.evolve(self._found.settings, release=release)
            claims = claims_for(self._found.question, settings)
            says = together(
                self._of_harm(claim, why, f"in {release}", settings, {})
                for claim, why in sorted(claims, key=lambda each: each[0].harm not in came_about)
            )
            if says is Says.NOT_KNOWN:
                break
            last = release
            if says is not self._found.says:
                return (release, says), last
        return None, last


def _holds_for(part: Part, spec: Spec) -> bool:
    """Whether a search that was done says the same of a spec: it is the same one, whatever the releases are called, or
    differs only in what no path of a function looks at.
    """
    if part.result is None:
        return False
    asked = part.result.spec
    if (asked.protocol, asked.bounds) == (spec.protocol, spec.bounds):
        return True
    return not part.claim.against and part.result.stands_for(spec)


def _pairs(settings: Settings) -> Iterator[Change]:
    """Two settings that are both other than they are."""
    for (words, first), (more, second) in combinations(others(settings), 2):
        for again, both in others(first):
            if again == more and both != second:  # else they are two values of one setting
                yield f"{words} together with {more}", both, {}


def releases_of(model: str, since: str = FIRST) -> list[str]:
    """The releases in which a rule of a model changed, oldest first; with KRaft, if the model has that."""
    releases = MODELS[model].releases.values()
    firsts = [each for each in releases if each.mode == "kraft"] or list(releases)
    return [each.first for each in sorted(firsts, key=lambda each: each.number) if each.number >= release_number(since)]
