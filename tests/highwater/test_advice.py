"""After a budget ran out: probes of smaller bounds compared with a full search."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from click.testing import Result

from highwater import api
from highwater.claims import advice, raising
from highwater.model.language.declarations import action, invariant
from highwater.model.language.definition import Definition, Model, NoToggles
from highwater.model.language.domain import Integers
from highwater.model.language.records import bound, evolve, within

Run = Callable[..., Result]
Write = Callable[..., Path]
KEYS = ("brokers", "log_length_max", "records_max", "leader_epoch_max")


def claim(*sizes: int) -> api.Spec:
    bounds = dict(zip(KEYS, sizes, strict=True))
    return api.claim(model="reference", protocol={"variant": "kip-320"}, bounds=bounds, check=["weak_isr"])


@pytest.mark.parametrize(
    ("sizes", "states_per_probe"), [((2, 2, 2, 2), 2_500), ((2, 2, 2, 3), 6_000), ((3, 1, 1, 2), 1_500)]
)
def test_estimates_are_of_the_right_order(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], states_per_probe: int
) -> None:
    monkeypatch.setattr(advice, "STATES_PER_PROBE", states_per_probe)
    spec = claim(*sizes)
    whole = api.check(spec).outcome.distinct_states
    found = advice.advise(spec, api.check(spec, max_states=500).outcome)
    assert found.estimates is not None
    low, between, high = found.estimates
    assert low <= between * 1.001 <= high * 1.002
    assert low <= whole <= high * 1.5
    assert whole / 4 < between < whole * 4
    assert found.growths[0].factor == max(growth.factor for growth in found.growths)
    assert found.fits


def test_the_growth_by_a_bound_is_measured() -> None:
    spec = claim(2, 2, 2, 2)
    found = advice.advise(spec, api.check(spec, max_states=500).outcome)
    by_bound = {growth.bound: growth for growth in found.growths}
    epochs = by_bound["leader_epoch_max"]
    assert (epochs.low, epochs.high, epochs.full) == (0, 1, 2)
    for value, states in ((epochs.low, epochs.states_low), (epochs.high, epochs.states_high)):
        assert api.check(claim(2, 2, 2, value), engine="python").outcome.distinct_states == states


def test_bounds_that_the_model_refuses_are_not_probed_or_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = {"brokers": 2, "replication_factor": 2, "leader_epoch_max": 1, "partition_epoch_max": 1, "crashes": 1}
    spec = api.claim(model="kraft", preset="kafka-4.3", bounds=bounds, check=["leaders_are_in_the_isr"])
    outcome = api.check(spec, max_states=2).outcome
    assert "brokers" not in {growth.bound for growth in advice.advise(spec, outcome).growths}
    monkeypatch.setattr(raising, "may_hide", lambda *_: ["replication_factor"])
    (raised,) = raising.with_bounds_raised(spec, outcome)
    assert raised == raising.Raised("replication_factor", 3, None)


def test_symmetry_is_advised_where_it_was_left_out() -> None:
    spec = claim(3, 1, 1, 1)
    cut = api.check(spec, max_states=100).outcome
    assert advice.advise(spec, cut, symmetry=False, seconds=0.5).symmetry == 6
    assert advice.advise(spec, cut, symmetry=True, seconds=0.5).symmetry == 1


def test_advice_without_time_makes_no_claim() -> None:
    spec = claim(2, 2, 2, 2)
    found = advice.advise(spec, api.check(spec, max_states=500).outcome, seconds=0.0)
    assert (found.estimates, found.probes) == (None, 0)


def test_the_command_reports_it_once_a_budget_ran_out(highwater: Run, write_spec: Write) -> None:
    bounds = dict(zip(KEYS, (2, 2, 2, 2), strict=True))
    result = highwater("check", write_spec(bounds=bounds), "--max-states", 300)
    assert result.exit_code == 3
    assert re.search(r"between .* and .* states in all: .* to .* here", result.stdout)
    assert "by one more: " in result.stdout
    assert (
        "states in all" not in highwater("check", write_spec(bounds=bounds), "--max-states", 300, "--no-advice").stdout
    )
    assert "states in all" not in highwater("check", write_spec(bounds=bounds), "--max-depth", 3).stdout


def test_an_estimate_is_reported_as_a_range(capsys: pytest.CaptureFixture[str]) -> None:
    from highwater.reports.analyses import show_advice
    from highwater.reports.progress import make_console

    growth = advice.Growth("brokers", 1, 2, 1_000, 10_000, 4)
    assert (growth.least, growth.estimate) == (28_000, 1_000_000)
    told = advice.Advice((growth,), (28_000, 1_000_000.0, 1_000_000), 1_000.0, 2.0**30, 1, True, 2)
    show_advice(make_console(), told)
    assert "between 28.0 k and 1.0 M states in all: 28 s to 17 min, 28.7 MiB to 1.0 GiB here" in capsys.readouterr().out


SHRINK = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1, "partition_epoch_max": 1}


def shrink(**more: int) -> api.Spec:
    bounds = {**SHRINK, "fetch_steps": 1, "isr_shrinks": 1, **more}
    return api.claim(model="partition", preset="kafka-4.1", bounds=bounds, check=["candidates_are_complete"])


def test_the_bound_that_hides_a_violation_is_the_first_to_raise_and_raising_it_shows_the_violation() -> None:
    outcome = api.check(shrink()).outcome
    assert outcome.cut_alone["partition_epoch_max"] == outcome.bounds_cut["partition_epoch_max"]
    assert raising.may_hide(shrink(), outcome)[0] == "partition_epoch_max"
    first, *rest = raising.with_bounds_raised(shrink(), outcome)
    assert (first.bound, first.value) == ("partition_epoch_max", 2)
    assert [each.property for each in first.outcome.violations] == ["candidates_are_complete"]
    whole = api.check(shrink(partition_epoch_max=2)).outcome
    assert (first.outcome.levels, first.outcome.generated) == (whole.levels, whole.generated)
    assert {each.bound for each in rest} == {"log_length_max", "records_max"}
    assert {each.outcome.distinct_states for each in rest} == {outcome.distinct_states}  # it takes both


def test_a_size_goes_before_a_budget_and_what_is_at_its_limit_is_left_out() -> None:
    spec = shrink(partition_epoch_max=15, leader_moves=1)
    outcome = api.check(spec, keep_going=True).outcome
    found = raising.may_hide(spec, outcome)
    assert "partition_epoch_max" not in found
    assert found[-1] == "leader_moves"
    assert [raising.is_size(spec, bound) for bound in found] == sorted(
        (raising.is_size(spec, b) for b in found), reverse=True
    )


def test_a_claim_that_holds_names_the_bound_to_raise_first(highwater: Run, write_spec: Write) -> None:
    bounds = {**SHRINK, "fetch_steps": 1, "isr_shrinks": 1}
    spec = write_spec(
        model="partition", protocol=None, preset="kafka-4.1", bounds=bounds, check=["candidates_are_complete"]
    )
    assert "nothing is known: partition_epoch_max cut 13 steps that no other bound cut. Raise it first" in plain(
        highwater("check", spec).output
    )
    tried = highwater("check", spec, "--raise-bounds")
    assert tried.exit_code == 0
    assert "raised  partition_epoch_max 2: violated: candidates_are_complete after 8 steps" in plain(tried.output)
    assert "raised  records_max 2: holds, 52 states" in plain(tried.output)
    refused = highwater("check", spec, "--raise-bounds", "--engine", "python")
    assert refused.exit_code == 2
    assert "--raise-bounds" in refused.stderr


def plain(output: str) -> str:
    """What was printed, lines that were wrapped put together."""
    return " ".join(output.split()).replace("raised ", "raised  ")


@attrs.frozen
class Sizes:
    lamps: int = bound(1, 5, "how many lamps there are")

    @property
    def most(self) -> int:
        return 2 * self.lamps


@attrs.frozen
class Room:
    light: int = within(lambda sizes: Integers(0, sizes.most))


@action(actor="somebody")
def brighten(room: Room) -> Room:
    return evolve(room, light=room.light + 1)


@invariant()
def is_not_bright(room: Room) -> bool:
    return room.light < 20


def test_a_bound_that_is_computed_of_others_cuts_and_is_not_raised() -> None:
    made = Definition(Sizes, Room, lambda sizes: [Room(0)], (brighten,), properties=(is_not_bright,))
    model = Model("room", "A lamp.", NoToggles, lambda protocol: made)
    spec = api.claim(model=model, bounds={"lamps": 2}, check=["is_not_bright"])
    outcome = api.check(spec).outcome
    assert outcome.bounds_cut == {"most": 1}
    assert raising.may_hide(spec, outcome) == []
    assert raising.unproven(spec, outcome) is None
    assert list(raising.with_bounds_raised(spec, outcome)) == []
