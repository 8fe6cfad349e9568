"""The settings of a cluster that an operator knows, and what they are in a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from highwater.asking.questions import DURING, FIRST, Claim, Question
from highwater.claims.resolving import RELEASE, choose, preset_named, toggles_of
from highwater.claims.tables import Wrong, shown
from highwater.model.catalogue import MODELS
from highwater.model.language.definition import release_number, up_to

LAST = "4.4"
ELR_SINCE, ELR_ON_SINCE = "4.0", "4.1"
MOST_REPLICAS = 3
ACKS = {"0": "0", "1": "1", "all": "all", "-1": "all"}
DISTURBANCES: Mapping[str, Mapping[str, Mapping[str, int]]] = {
    "kraft": {
        "controller-fail-over": {"fail_overs": 1, "uncommitted": 1},
        "preferred-election": {"elections": 1},
    },
    "partition": {"preferred-election": {"leader_moves": 1}},
    "controller": {"preferred-election": {"preferred_elections": 1}},
}
"""By model, what each disturbance is in its bounds. The model `partition` has one controller, which never fails, and
so has what is asked of `controller`.
"""
SIZES: Mapping[str, tuple[str, str]] = {
    "partition": ("brokers", "min_insync_replicas"),
    "kraft": ("replication_factor", "min_isr"),
    "controller": ("replication_factor", "min_isr"),
}
"""By model, the bounds that are the replication factor and min.insync.replicas."""


@attrs.frozen(kw_only=True)
class Settings:
    """What an operator knows of a cluster and a topic.

    Attributes:
        release: of brokers and controllers.
        acks: of producers.
        unclean: unclean.leader.election.enable.
        elr: whether eligible leader replicas are on; as a new cluster of the release has them if None.
        during: what else happens meanwhile.
    """

    release: str = LAST
    replication_factor: int = 3
    min_isr: int = 2
    acks: str = "all"
    unclean: bool = False
    elr: bool | None = None
    during: tuple[str, ...] = ()

    @property
    def has_elr(self) -> bool:
        """Whether eligible leader replicas are on."""
        return release_number(self.release) >= release_number(ELR_ON_SINCE) if self.elr is None else self.elr

    def in_words(self) -> str:
        """The settings in one line."""
        parts = [f"Kafka {self.release}", f"replication factor {self.replication_factor}"]
        parts += [f"min.insync.replicas {self.min_isr}", f"acks={self.acks}"]
        parts += ["unclean election on"] if self.unclean else []
        if release_number(self.release) >= release_number(ELR_SINCE):
            parts.append(f"ELR {'on' if self.has_elr else 'off'}")
        return ", ".join(parts)


def settings_for(question: Question, **given: Any) -> Settings:
    """Settings as given, with those that the question is about.

    Raises:
        Wrong: one of them is none that a cluster has, or that a model can be asked. The message begins with its key.
    """
    chosen = {key: value for key, value in given.items() if value is not None}
    for key, value in question.settings.items():
        if str(chosen.get(key, value)) != str(value):
            raise Wrong(f"{key}: {shown(chosen[key])} is another matter; {question.name} is about {value}")
    values = {**question.usual, **chosen, **question.settings}
    _refuse_kinds(values)
    settings = Settings(**values)
    if "min_isr" not in values:
        settings = attrs.evolve(settings, min_isr=min(settings.min_isr, settings.replication_factor))
    _refuse(settings)
    acks = choose(str(settings.acks), ACKS, "acks", "values of acks")
    during = (settings.during,) if isinstance(settings.during, str) else tuple(settings.during)
    for each in during:
        choose(each, DURING, "during", "disturbances")
    return attrs.evolve(settings, acks=acks, during=during)


def _refuse_kinds(values: Mapping[str, Any]) -> None:
    for key in ("replication_factor", "min_isr"):
        value = values.get(key, 1)
        if type(value) is not int or not 1 <= value <= MOST_REPLICAS:
            raise Wrong(
                f"{key}: {shown(value)} is out of range; allowed are 1..{MOST_REPLICAS}, "
                "as the models take minutes with more"
            )
    for key in ("unclean", "elr"):
        if not isinstance(values.get(key), bool | None):
            raise Wrong(f"{key}: {shown(values[key])} is not true or false")
    if not isinstance(release := values.get("release", LAST), str):
        raise Wrong(f"release: {shown(release)} is no text; write it in quotes")


def _refuse(settings: Settings) -> None:
    release = settings.release
    known = RELEASE.fullmatch(release) and release_number(FIRST) <= release_number(release) <= up_to(LAST)
    if not known:
        raise Wrong(
            f"release: {shown(release)} is no release of Kafka with KRaft that the models speak for; "
            f"allowed are {FIRST} to {LAST}"
        )
    for model in ("kraft", "partition"):
        try:
            preset_named(MODELS[model], release)
        except Wrong as wrong:
            raise Wrong(str(wrong).replace("preset:", "release:")) from None
    if settings.min_isr > settings.replication_factor:
        raise Wrong(f"min_isr: {settings.min_isr} is above the replication factor {settings.replication_factor}")
    if settings.elr and release_number(release) < release_number(ELR_SINCE):
        raise Wrong(f"elr: Kafka {release} has no eligible leader replicas for production; {ELR_SINCE} is the first")


def protocol_of(claim: Claim, settings: Settings) -> dict[str, Any]:
    """The toggles that differ from the preset."""
    toggles: dict[str, Any] = dict(claim.protocol)
    before_4_1 = release_number(settings.release) < release_number(ELR_ON_SINCE)
    if claim.model == "kraft":
        return toggles if settings.elr is None else {**toggles, "elr": settings.elr}
    toggles["unclean_election"] = settings.unclean
    if claim.model == "partition":
        toggles["acks"] = settings.acks
    if claim.model == "partition" and settings.elr is not None:
        last = ("unchecked" if before_4_1 else "active") if settings.elr else "never"
        toggles |= dict.fromkeys(("elr", "isr_may_be_empty", "unclean_shutdown_removes_from_elr"), settings.elr)
        toggles["last_known_leader"] = last
    model = MODELS[claim.model]
    usual = toggles_of(model.presets[preset_named(model, settings.release)])
    return {key: value for key, value in toggles.items() if usual[key] != value}


def bounds_of(claim: Claim, settings: Settings) -> dict[str, int]:
    """The bounds of a claim as numbers. What happens meanwhile, and its model lacks, is left out."""
    size = (settings.replication_factor, settings.min_isr)
    values: dict[str, Any] = dict(zip(SIZES[claim.model], size, strict=True))
    values |= claim.bounds
    if claim.older and release_number(settings.release) < release_number(claim.older.before):
        values |= claim.older.bounds
    for each in settings.during:
        for key, value in DISTURBANCES[claim.model].get(each, {}).items():
            values[key] = values.get(key, 0) + value
    return {key: number(value, settings) for key, value in values.items()}


def number(value: int | str, settings: Settings) -> int:
    """A bound that may be written by the name of a setting."""
    if isinstance(value, int):
        return value
    name, _, more = value.partition("+")
    return int(getattr(settings, name.strip())) + int(more or 0)


def can_ask(claim: Claim, settings: Settings) -> str:
    """Why a claim cannot be asked under some settings, or nothing."""
    if any(each not in DISTURBANCES[claim.model] for each in settings.during):
        return f"the model `{claim.model}`, which this question takes, has one controller that never fails"
    if settings.acks == "0" and claim.harm == "records":
        return "with acks=0 nothing is acknowledged: a producer does not learn whether a record was even received"
    if claim.model != "partition" and settings.acks != "all" and claim.harm == "records":
        return f"the model `{claim.model}`, which this question takes, has records with acks=all only"
    if claim.model == "kraft" and settings.unclean and release_number(settings.release) >= release_number("3.9"):
        return "the model `kraft`, which this question takes, elects uncleanly on request only"
    return ""


def others(settings: Settings) -> Iterator[tuple[str, Settings]]:
    """Each other setting that an operator could choose, one at a time, the mildest first."""
    evolve = attrs.evolve
    if settings.acks != "all":
        yield "acks=all", evolve(settings, acks="all")
    if settings.unclean:
        yield "unclean.leader.election.enable=false", evolve(settings, unclean=False)
    for number in range(settings.min_isr + 1, settings.replication_factor + 1):
        costs = " (which refuses producers while any replica is away)" if number == settings.replication_factor else ""
        yield f"min.insync.replicas={number}{costs}", evolve(settings, min_isr=number)
    if settings.replication_factor < MOST_REPLICAS:
        more = settings.replication_factor + 1
        yield f"replication factor {more}", evolve(settings, replication_factor=more)
    if release_number(settings.release) >= release_number(ELR_SINCE):
        now = settings.has_elr
        yield f"eligible leader replicas {'off' if now else 'on'}", evolve(settings, elr=not now)
