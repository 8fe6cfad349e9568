"""The same verbs with keys: driven through Textual's pilot."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import DataTable, Input, OptionList, Static

from highwater.explorer.system import successor
from highwater.exploring.session import Session
from highwater.exploring.terminal import Explorer


def drive(session: Session, script: Callable[[Explorer, Any], Awaitable[None]]) -> None:
    """Run the application without a terminal, and the script against it."""

    async def run() -> None:
        app = Explorer(session)
        async with app.run_test(size=(140, 40)) as pilot:
            await pilot.pause()
            await script(app, pilot)

    asyncio.run(run())


async def press(pilot: Any, *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


async def type_in(app: Explorer, pilot: Any, text: str) -> None:
    app.screen.query_one(Input).value = text
    await press(pilot, "enter")
    await app.workers.wait_for_complete()
    await pilot.pause()


def text_of(app: Explorer, name: str) -> str:
    return str(app.screen.query_one(name, Static).render())


def options(app: Explorer) -> list[str]:
    found = app.screen.query_one(OptionList)
    return [str(found.get_option_at_index(i).prompt) for i in range(found.option_count)]


async def pick(app: Explorer, pilot: Any, text: str) -> None:
    """Choose the option that holds a text."""
    number = next(i for i, option in enumerate(options(app)) if text in option)
    app.screen.query_one(OptionList).highlighted = number
    await press(pilot, "enter")


def test_the_terminal_opens_at_the_current_step_and_keys_move_along_the_branch(violated: Session) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        assert app.session.at.depth == 11
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
            assert app.session.at.depth == step

    drive(violated, script)


def test_a_step_shows_its_meaning_its_lanes_its_changes_and_all_properties(violated: Session) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "home")
        assert "leader_in_isr not so, and not checked" in text_of(app, "#state")
        await press(pilot, *"jjjjjjjj")
        shown = text_of(app, "#state")
        assert "step 8 advance_high_watermark leader=b0" in shown
        assert "maybeIncrementLeaderHW" in shown
        assert "b0.high_watermark 0 → 1" in shown
        assert "[r0₀|]" in shown
        assert "8 properties hold here" in shown

    drive(violated, script)


def test_search_finds_steps_in_turn(violated: Session) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "home", "slash")
        await type_in(app, pilot, "write")
        assert app.session.at.depth == 5
        await press(pilot, "n")
        assert app.session.at.depth == 10
        await press(pilot, "n")
        assert app.session.at.depth == 5

    drive(violated, script)


def test_taking_lists_enabled_actions_with_changes_and_begins_a_branch(violated: Session) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "home", *"jjjjjjj", "f")
        system, state = violated.system, violated.at.step.state
        enabled = [a for a in system.actions if isinstance(successor(a, state, system.domain), system.domain.cls)]
        assert [text.partition("   ")[0] for text in options(app)] == [f"{a.actor}: {a}" for a in enabled]
        assert sum("(tried)" in text for text in options(app)) == 1
        assert "b0.leader_epoch 0 → 2" in text_of(app, "#would")
        await pick(app, pilot, "write(leader b0)")
        assert (app.session.at.depth, app.session.tip.depth) == (8, 8)
        await press(pilot, "u")
        assert (app.session.at.depth, app.session.tip.depth) == (7, 8)
        await press(pilot, "b")
        assert (app.session.at.depth, app.session.tip.depth) == (11, 11)
        await press(pilot, "t")
        assert len(options(app)) == 3
        await pick(app, pilot, "write(leader b0)")
        assert app.session.at.depth == 8

    drive(violated, script)


def test_refused_actions_are_listed_with_their_guards(violated: Session) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "d")
        assert len(options(app)) == sum(not each.enabled for each in app.session.choices())
        app.screen.query_one(OptionList).highlighted = next(
            i for i, option in enumerate(options(app)) if "write(leader b1)" in option
        )
        await pilot.pause()
        assert "not cluster.presumes_leadership(leader)" in text_of(app, "#would")
        assert "model/reference/controlling.py:" in text_of(app, "#would")
        await press(pilot, "escape")
        assert len(app.session.nodes) == 12

    drive(violated, script)


def test_a_way_is_found_without_a_violation_and_a_wrong_question_answered(session: Session) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        assert "1 state tried" in text_of(app, "#verdict")
        await press(pilot, "w")
        await type_in(app, pilot, "len(b0.log) == 1")
        assert app.session.at.depth == 3
        assert app._says == "len(b0.log) == 1: 3 steps away"
        await press(pilot, "w")
        await type_in(app, pilot, "open('x')")
        assert "open cannot be called" in app._says
        assert app.session.at.depth == 3

    drive(session, script)


def test_the_same_steps_under_another_rule(violated: Session) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "r")
        await pick(app, pilot, "variant kip-279")
        assert any("differs" in line for line in options(app))
        assert any("b1.log: [] here, [r0@e0] there" in line for line in options(app))
        await pick(app, pilot, "go on under this rule")
        assert app.session.subject.protocol.variant.value == "kip-279"
        assert app.session.at.depth == 11
        assert "strong_isr is false" not in text_of(app, "#verdict")

    drive(violated, script)


def test_a_branch_is_named_and_saved_in_the_current_folder(
    violated: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "m")
        await type_in(app, pilot, "lost records")
        assert app.session.at.name == "lost records"
        for kind in ("trace", "spec", "test", "page", "test"):
            await press(pilot, "s")
            await pick(app, pilot, kind)

    drive(violated, script)
    names = ["lost_records.html", "lost_records.json", "lost_records.toml", "test_lost_records.py"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_an_expression_is_watched_beside_the_steps_and_in_the_state(violated: Session) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        await press(pilot, "e")
        await type_in(app, pilot, "b1.log_end_offset - b0.high_watermark")
        assert "b1.log_end_offset - b0.high_watermark  -1" in text_of(app, "#state")
        assert str(app.query_one("#steps", DataTable).get_row_at(11)[-1]) == "-1"
        await press(pilot, "e")
        await type_in(app, pilot, "b1.log_end_offset - b0.high_watermark")
        assert "b1.log_end_offset" not in text_of(app, "#state")

    drive(violated, script)


def test_each_property_has_a_line(violated: Session) -> None:
    async def script(app: Explorer, pilot: Any) -> None:
        shown = text_of(app, "#state")
        assert "\nstrong_isr false: " in shown and "\nweak_isr not so" in shown
        assert "u000a" not in shown

    drive(violated, script)


def test_a_watched_expression_in_brackets_is_shown_as_it_is(violated: Session) -> None:
    violated.watch("[len(b1.log)]")

    async def script(app: Explorer, pilot: Any) -> None:
        columns = app.screen.query_one("#steps", DataTable).columns.values()
        assert str([*columns][-1].label) == "[len(b1.log)]"

    drive(violated, script)
