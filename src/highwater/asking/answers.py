"""An answer to an operator, and how it is put."""

from __future__ import annotations

import attrs

from highwater.asking.asked import Part, Says, together
from highwater.asking.judged import MODEL, judged_on
from highwater.asking.questions import DURING, Question, Seen
from highwater.asking.settings import Settings
from highwater.asking.wording import COUNTED, HARMS, bounds_in_words, counted_by, where_seen
from highwater.claims.raising import is_size, may_hide
from highwater.model.language.definition import release_number


@attrs.frozen(repr=False)
class Answer:
    """An answer, and what it rests on.

    Attributes:
        parts: what came out of each claim. None if no model could be asked.
        prevented_by: settings, or what an operator does otherwise, each of which prevents it; of pairs only if none
            does alone.
        not_prevented_by: those that do not.
        not_known_of: those of which it is not known.
        older, newer: the nearest release on each side that answers otherwise, with its answer.
        compared: the oldest and the newest release that were asked.
        seen: the findings that it rests on.
    """

    question: Question
    settings: Settings
    parts: tuple[Part, ...]
    prevented_by: tuple[str, ...] = ()
    not_prevented_by: tuple[str, ...] = ()
    not_known_of: tuple[str, ...] = ()
    older: tuple[str, Says] | None = None
    newer: tuple[str, Says] | None = None
    compared: tuple[str, str] | None = None
    seen: tuple[Seen, ...] = ()

    @property
    def says(self) -> Says:
        """Yes if anything of it can come about; no if nothing of it can."""
        return together(part.says for part in self.parts)

    @property
    def decisive(self) -> Part | None:
        """The part that decides."""
        return next((part for part in self.parts if part.says is self.says), None)

    @property
    def words(self) -> str:
        """The question in words."""
        return f"{self.question.words}{''.join(f', {DURING[each]}' for each in self.settings.during)}"

    @property
    def sentences(self) -> list[str]:
        """What comes about and until when; what prevents it, and which releases answer otherwise; and whether it was
        seen, or who has judged it.
        """
        match self.says:
            case Says.YES:
                found = [self._what, f"{self._prevention} {self._releases}".strip(), self._seen]
            case Says.NO:
                found = [f"No, within these bounds: {self._bounds}.", self._releases, self._first_to_raise, self._seen]
            case _:
                found = [f"Not known: {self._whether}{self.why_not_known}.", *self._ruled_out]
                found += [self._seen] if self.seen else []
        return [each for each in found if each]

    def __str__(self) -> str:
        return "\n".join([self.words, self.settings.in_words(), *self.sentences])

    def __repr__(self) -> str:
        return f"<Answer to {self.question.name}: {self.says.value}>"

    @property
    def why_not_known(self) -> str:
        """Why there is no answer."""
        part = self.decisive
        return part.why if part is not None else self.question.why

    @property
    def workarounds(self) -> tuple[str, ...]:
        """What helps, each as docs/findings.md has it."""
        if self.says is Says.NO:
            return ()
        found = [self.question.workaround] if self.question.workaround else [each.workaround for each in self.seen]
        return tuple(dict.fromkeys(filter(None, found)))

    @property
    def _what(self) -> str:
        found = [HARMS[part.claim.check] for part in self.parts if part.says is Says.YES]
        note = (
            f" {self.question.note.words}."
            if self.question.note and self.question.note.is_of(self.settings.release)
            else ""
        )
        return f"Yes: {'; and '.join(f'{what}, {until}' for what, until in found)}.{note}"

    @property
    def _whether(self) -> str:
        """Which of several harms is not known."""
        part = self.decisive
        return f"whether {HARMS[part.claim.check][0]}; " if part is not None and len(self.parts) > 1 else ""

    @property
    def _ruled_out(self) -> list[str]:
        """The harms that do not come about, where another one is not known."""
        ruled_out = [part for part in self.parts if part.says is Says.NO]
        return [f"But not that {HARMS[each.claim.check][0]}, within {bounds_in_words(each)}." for each in ruled_out]

    @property
    def _prevention(self) -> str:
        found = []
        if self.prevented_by:
            found.append(f"Prevented by {', or by '.join(self.prevented_by)}.")
        elif self.not_prevented_by:
            found.append(f"Not prevented by {', nor by '.join(self.not_prevented_by)}.")
        if self.not_known_of:
            found.append(f"Not known whether by {', or by '.join(self.not_known_of)}.")
        return " ".join(found)

    @property
    def _releases(self) -> str:
        """Which releases answer otherwise."""
        if self.compared is None:
            return ""
        parts = [f"{release} says {says.value}" for release, says in filter(None, (self.older, self.newer))]
        if parts:
            return f"Other releases: {'; '.join(parts)}."
        oldest, newest = self.compared[0], max(self.compared[1], self.settings.release, key=release_number)
        return f"The same with the rules of {oldest} to {newest}." if oldest != newest else ""

    @property
    def _bounds(self) -> str:
        """What may happen at most, where nothing of it comes about."""
        return "; ".join(dict.fromkeys(bounds_in_words(part) for part in self.parts))

    @property
    def _first_to_raise(self) -> str:
        """By harm, which size may hide something: one that cut the story short, rather than how often something may
        happen.
        """
        found = ", or ".join(dict.fromkeys(f"more than {each}" for each in map(_size_to_raise, self.parts) if each))
        return f"Beyond them nothing is known; first allow {found}." if found else ""

    @property
    def judged_on(self) -> str:
        """The release of Kafka's classes that have judged it a second time, or nothing."""
        return judged_on(self.question, self.settings)

    @property
    def _seen(self) -> str:
        """Whether it was seen on Kafka's classes or a cluster, or judged there."""
        found = [f"Seen {where_seen(each)} (docs/findings.md#{each.name})." for each in self.seen]
        if self.says is Says.YES and self.judged_on:
            found.append(f"Kafka's classes of {self.judged_on} take each of its steps.")
        elif self.judged_on:
            found.append(f"Kafka's classes of {self.judged_on} agree at each step of the model `{MODEL}`.")
        only = "Seen in the model only." if self.says is Says.YES else "Judged by the model only."
        return " ".join(found) or only


def _size_to_raise(part: Part) -> str:
    """The size that cut most steps of a search; nothing where none did."""
    assert part.result is not None
    spec, outcome = part.result.spec, part.result.outcome
    first = next((each for each in may_hide(spec, outcome) if each in COUNTED and is_size(spec, each)), "")
    return first and counted_by(first, getattr(spec.bounds, first))
