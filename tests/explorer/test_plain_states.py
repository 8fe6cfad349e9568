"""Plain states from random words, and the words that such states have: part by part, as the layout has them whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from highwater.claims.spec import load_spec
from highwater.explorer.compiler.comparison import PlainStates
from highwater.explorer.compiler.layout import Layout

SPECS = Path(__file__).parents[2] / "specs"
CLAIMS = (
    "partition/durability/a_broker_that_is_down_is_elected_as_the_last_known_leader",
    "kraft/a_broker_that_dies_during_a_fail_over_is_fenced",
    "topic/a_broker_that_starts_again_opens_the_logs_that_it_has",
)


@pytest.mark.parametrize("claim", CLAIMS)
def test_random_words_mean_and_become_what_the_layout_makes_of_them(claim: str) -> None:
    layout = Layout(load_spec(SPECS / f"{claim}.toml").system().domain)
    states, draw = PlainStates(layout), random.Random(0).random
    drawn = [tuple(states.drawn(draw)) for _ in range(50)]
    for words in drawn:
        state = layout.unpack(words)
        assert states.unpacked(words) == state
        assert states.normal(words) == layout.pack(state)
    assert len(set(drawn)) == len(drawn)
    assert any(states.normal(words) != words for words in drawn)  # there are absent parts
