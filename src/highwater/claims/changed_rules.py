"""A claim under changed rules: what may be changed, and searches under sets of changes, each when it is asked for, or
ahead of that in forks of this process.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from enum import Enum
from typing import Any, Self

import attrs

from highwater.claims.checking import Result, check_spec
from highwater.claims.keys import Expectation
from highwater.claims.side_by_side import Forks, can_fork
from highwater.claims.spec import Spec, SpecError
from highwater.claims.tables import Wrong, did_you_mean, shown
from highwater.explorer.blame import RAISED
from highwater.explorer.descriptions import Descriptions, Indescribable
from highwater.explorer.verdict import Auditing, Budget, Progress, Verdict

COMPLETE = (Verdict.HOLDS, Verdict.HOLDS_TO_DEPTH)
"""Verdicts of searches that came to their end: to the spec's own depth, as nothing else gives one here."""

AHEAD = 2
"""So many searches for each process may have begun before they are asked for. Some are in vain: a counterexample that
comes out of an earlier one may reject their sets.
"""

Places = tuple[int, ...]
"""A set of changes, by their numbers."""


@attrs.frozen
class Change:
    """One toggle of a protocol set to another value.

    Attributes:
        rule, value: the toggle, and its other value.
        before, after: both values as text.
    """

    rule: str
    value: Any
    before: str
    after: str

    @property
    def key(self) -> str:
        """How a spec declares it."""
        return f"{self.rule}={self.after}"


def changes_of(spec: Spec, rules: Collection[str] = ()) -> list[Change]:
    """Each other value of each toggle of a spec's protocol, or of some of its toggles.

    Raises:
        SpecError: the protocol has no toggles, no such one, or the spec declares what is none.
    """
    cls = type(spec.protocol)
    attrs.resolve_types(cls)
    toggles = [(field.name, _values(field.type)) for field in attrs.fields(cls) if not _configures(field)]
    every = [
        Change(rule, value, _text(now), _text(value))
        for rule, values in toggles
        for now in (getattr(spec.protocol, rule),)
        for value in values
        if value != now
    ]
    if not every:
        raise SpecError(
            f"{spec.path}: the protocol of the model {spec.file.model} has no rule that could be switched off"
        )
    names = list(dict.fromkeys(change.rule for change in every))
    for rule in rules:
        if rule not in names:
            raise SpecError(
                f'{spec.path}: "{rule}" is no rule of this protocol{did_you_mean(rule, names)}; allowed are '
                f"{', '.join(names)}"
            )
    keys = [change.key for change in every]
    for each in spec.file.mutate.undefended:
        if each not in keys:
            raise SpecError(
                f'{spec.path}: mutate.undefended: "{each}" is no mutation of this protocol; allowed are '
                f"{', '.join(keys)}"
            )
    return [change for change in every if not rules or change.rule in rules]


def refuse_what_definitions_leave_behind(spec: Spec, changes: Collection[Change]) -> None:
    """Refuse a model whose functions reach something that its definition under another protocol has set. They read no
    toggle then, and what was defined before is not what it was.

    Raises:
        SpecError: there is such a function.
    """
    with suppress(Wrong, *RAISED):
        spec.under(spec.protocol)
    before, left = _described(spec), ""
    all_at_once = list({change.rule: change for change in changes}.values())
    for chosen in (all_at_once, *([change] for change in changes)):
        with suppress(Wrong, *RAISED):
            spec.under(changed(spec.protocol, chosen))
            left = next((name for name, text in _described(spec).items() if text != before[name]), "")
            if left or chosen is all_at_once:
                break
    with suppress(Wrong, *RAISED):
        spec.under(spec.protocol)
    if left:
        raise SpecError(
            f"{spec.path}: {left} reaches something that defining the model sets, such as a global: rules cannot be "
            "changed one by one; read the protocol in its functions, or make them anew in `define`"
        )


def _described(spec: Spec) -> dict[str, str | None]:
    """What each action and property is, by name; None where that cannot be described."""
    descriptions, found = Descriptions(), dict[str, str | None]()
    for each in (*spec.definition.actions, *spec.properties):
        found[each.name] = None
        with suppress(Indescribable):
            premise = getattr(each, "premise", None)
            found[each.name] = descriptions.of(each.function) + (descriptions.of(premise) if premise else "")
    return found


def changed(protocol: Any, changes: Collection[Change]) -> Any:
    """A protocol with some rules changed."""
    fields = attrs.fields_dict(type(protocol))
    values = {str(fields[change.rule].alias): change.value for change in changes}
    return attrs.evolve(protocol, **values)


def unjudged(spec: Spec, **options: Any) -> Result:
    """The result of a spec, without judging its claim."""
    result = check_spec(
        attrs.evolve(spec, file=attrs.evolve(spec.file, expect=Expectation())), keep_trees=True, **options
    )
    if result.outcome.reason == "interrupted":
        raise KeyboardInterrupt
    return result


def _configures(field: Any) -> bool:
    """Whether a toggle is a user's setting rather than a rule of the protocol."""
    return str(field.metadata.get("meaning", "")).startswith("configuration:")


def _values(kind: Any) -> tuple[Any, ...]:
    if kind is bool:
        return (True, False)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()


def _text(value: Any) -> str:
    return str(value.value) if isinstance(value, Enum) else shown(value)


class ChangedRules:
    """Searches of a spec under sets of changes.

    Attributes:
        spec: the claim as it is; it may be given other properties.
        changes: each other value of each rule that may change.
        workers: threads of a search in this process.
    """

    def __init__(
        self,
        spec: Spec,
        search: Callable[..., Result],
        budget: Budget = Budget(),  # noqa: B008 - frozen
        *,
        rules: Collection[str] = (),
        workers: int | None = None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        audit: Auditing | None = None,
        jobs: int = 1,
    ) -> None:
        """
        Args:
            search: searches a spec, given the options of `highwater.claims.checking.check_spec` by name.
            budget: when to stop each search early.
            rules: the rules that may change; all but configuration if empty.
            workers: threads.
            on_progress: called now and then during each search.
            audit: how much of what each search has found to judge a second time; `QUICK` if None.
            jobs: how many processes search. Several begin here, so that nothing is shown and no thread runs yet; they
                end with this object's context, or with this process.

        Raises:
            SpecError: as `changes_of` and `refuse_what_definitions_leave_behind` say.
        """
        self.spec, self.changes = spec, changes_of(spec, rules)
        refuse_what_definitions_leave_behind(spec, self.changes)
        self.workers = workers
        self._search = functools.partial(search, budget=budget, workers=workers, on_progress=on_progress, audit=audit)
        self._coming: Iterator[Places] = iter(())
        self._is_worth: Callable[[Places], bool] = lambda places: True
        self._asked: Places = ()
        self._begun: list[Places] = []
        self._jobs = jobs
        self._forks: Forks | None = None
        if jobs > 1 and can_fork():
            threads = max(1, (os.cpu_count() or 1) // jobs) if workers is None else workers
            beside = functools.partial(search, budget=attrs.evolve(budget, sharers=jobs), workers=threads, audit=audit)
            self._forks = Forks(
                functools.lru_cache(maxsize=4 * AHEAD * jobs)(self._named),
                jobs,
                lambda spec, on_progress: beside(spec, on_progress=on_progress),
                lambda spec, _: self._search(spec),
                lambda _, progress: on_progress(progress) if progress else None,
                self._next,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._forks is not None:
            self._forks.__exit__(*exception)

    def as_it_is(self, **options: Any) -> Result:
        """What comes out for the spec as it is, with some options of `highwater.claims.checking.check_spec`."""
        return self._search(self.spec, **options)

    def under(self, places: Places) -> Spec:
        """The spec under some changes.

        Raises:
            AnotherModel, Wrong, Exception: the model does not take them.
        """
        return self._under(self.spec, places)

    def _under(self, spec: Spec, places: Places) -> Spec:
        return spec.under(changed(spec.protocol, [self.changes[place] for place in places]))

    def coming(self, sets: Iterable[Places], is_worth: Callable[[Places], bool]) -> None:
        """Say which sets may be asked for from now on.

        Args:
            sets: these, in ascending order.
            is_worth: whether one will be asked for, as far as can be told when a process is free.
        """
        self._coming, self._is_worth, self._asked, self._begun = iter(sets), is_worth, (), []

    def result(self, places: Places) -> Result:
        """What comes out under some changes.

        Raises:
            SpecError: as `highwater.claims.checking.check_spec` says.
            KeyboardInterrupt: the user ended it.
        """
        if self._forks is None:
            return self._search(self.under(places))
        self._asked = places
        answer = self._forks.answer(self._name(places))
        if isinstance(answer, SpecError):
            raise answer
        return answer

    def _name(self, places: Places) -> tuple[Places, tuple[str, ...]]:
        """How a fork is asked for a set: it knows the spec as it was when it began."""
        return places, tuple(each.name for each in self.spec.properties)

    def _named(self, name: tuple[Places, tuple[str, ...]]) -> Spec:
        places, properties = name
        known = {each.name: each for each in (*self.spec.definition.known_properties, *self.spec.properties)}
        return self._under(attrs.evolve(self.spec, properties=tuple(known[each] for each in properties)), places)

    def _next(self) -> tuple[Places, tuple[str, ...]] | None:
        """The set to begin next: the one that is asked for, or one that may be asked for after it."""
        self._begun = [places for places in self._begun if places >= self._asked]
        if self._asked not in self._begun:
            return self._begin(self._asked)
        if len(self._begun) < AHEAD * self._jobs:
            for places in self._coming:
                if places > self._asked and self._is_worth(places):
                    return self._begin(places)
        return None

    def _begin(self, places: Places) -> tuple[Places, tuple[str, ...]]:
        self._begun.append(places)
        return self._name(places)
