"""Stepping with keys, and forking: driven through Textual's pilot."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import OptionList, Static

from explorer.system import successor
from highwater.claims.checking import check_spec
from highwater.claims.spec import load_spec
from highwater.reports.results import entry_of
from highwater.viewer.index import counterexample_in
from highwater.viewer.interactive import Explorer
from highwater.viewer.shown import Counterexample

SPECS = Path(__file__).parents[3] / "specs"


@pytest.fixture(scope="module")
def counterexample() -> Counterexample:
    return counterexample_in(
        entry_of(check_spec(load_spec(SPECS / "truncation" / "kip_101_fails_on_two_brokers.toml")))
    )


def drive(counterexample: Counterexample, script: Callable[[Explorer, Any], Awaitable[None]]) -> None:
    """Run the application without a terminal, and the script against it."""

    async def run() -> None:
        app = Explorer(counterexample)
        async with app.run_test(size=(140, 40)) as pilot:
            await pilot.pause()
            await script(app, pilot)

    asyncio.run(run())


async def press(pilot: Any, *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


def text_of(app: Explorer, name: str) -> str:
    return str(app.query_one(name, Static).render())


def test_it_opens_at_the_violation_and_keys_step_through(counterexample: Counterexample) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        assert app.selected == 11
        assert "strong_isr is false" in text_of(app, "#verdict")
        for keys, step in (
            (["home"], 0),
            (["j", "j"], 2),
            (["down"], 3),
            (["k"], 2),
            (["up"], 1),
            (["end"], 11),
            (["j"], 11),
        ):
            await press(pilot, *keys)
            assert app.selected == step

    drive(counterexample, script)


def test_the_selected_step_shows_its_meaning_its_lanes_and_what_it_changed(counterexample: Counterexample) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "home", *"jjjjjjjj")
        shown = text_of(app, "#state")
        assert "step 8 advance_high_watermark leader=b0" in shown
        assert "maybeIncrementLeaderHW" in shown
        assert "b0.high_watermark 0 → 1" in shown
        assert "[r0₀|]" in shown

    drive(counterexample, script)


def test_search_finds_steps_in_turn(counterexample: Counterexample) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "home", "slash", *"write", "enter")
        assert app.selected == 5
        await press(pilot, "n")
        assert app.selected == 10
        await press(pilot, "n")
        assert app.selected == 5

    drive(counterexample, script)


def test_a_fork_offers_what_is_enabled_and_goes_on_from_the_choice(counterexample: Counterexample) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "home", *"jjjjjjj", "f")
        options = app.screen.query_one(OptionList)
        system, state = counterexample.system, counterexample.violation.trace[7].state
        enabled = [a for a in system.actions if isinstance(successor(a, state, system.domain), system.domain.cls)]
        shown = [str(options.get_option_at_index(i).prompt) for i in range(options.option_count)]
        assert [text.partition("   ")[0] for text in shown] == [f"{a.actor}: {a}" for a in enabled]
        assert sum("(what happened)" in text for text in shown) == 1
        chosen = next(i for i, text in enumerate(shown) if "(what happened)" not in text)
        await press(pilot, *["down"] * chosen, "enter")
        assert (app.selected, app.forked_at, len(app.trace)) == (8, 7, 9)
        assert app.trace[-1].action is enabled[chosen]
        assert app.trace[-1].state == successor(enabled[chosen], state, system.domain)
        assert "forked after step 7" in text_of(app, "#verdict")

    drive(counterexample, script)


def test_back_returns_to_the_counterexample(counterexample: Counterexample) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "home", *"jj", "f", "enter", "f", "enter")
        assert app.forked_at == 2
        assert len(app.trace) == 5
        await press(pilot, "b")
        assert (app.forked_at, app.selected) == (None, 4)
        assert app.trace == list(counterexample.violation.trace)

    drive(counterexample, script)


def test_leaving_the_choice_changes_nothing(counterexample: Counterexample) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "f", "escape")
        assert app.forked_at is None
        assert app.trace == list(counterexample.violation.trace)

    drive(counterexample, script)
