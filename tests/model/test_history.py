"""Protocols of releases are made from a table, which has to fit the toggles."""

from __future__ import annotations

from enum import Enum

import attrs
import pytest

from highwater.model.language.definition import Release, toggle
from highwater.model.language.history import History


class Check(Enum):
    NEVER = "never"
    ALWAYS = "always"


@attrs.frozen
class Protocol:
    check: Check = toggle("when it is looked at")
    fenced: bool = toggle("whether old epochs are refused")


TABLE = """
check never 2.0.0=always 2.0.1=never | A#b
fenced/zookeeper False | C#d
fenced/kraft False 2.0.2=True | E#f
"""


def test_a_release_has_the_values_that_were_changed_last_before_it() -> None:
    def of(release: str, mode: str) -> Protocol:
        return History(TABLE).protocol(Protocol, Release(release, mode))

    assert of("1.9", "kraft") == Protocol(check=Check.NEVER, fenced=False)
    assert of("2.0.0", "kraft") == Protocol(check=Check.ALWAYS, fenced=False)
    assert of("2.0", "zookeeper") == Protocol(check=Check.ALWAYS, fenced=False)
    assert of("2.0.2", "kraft") == Protocol(check=Check.NEVER, fenced=True)
    assert of("10.0.0", "zookeeper") == Protocol(check=Check.NEVER, fenced=False)
    assert History(TABLE).firsts("zookeeper") == {"2.0.0", "2.0.1"}
    assert History(TABLE).firsts("kraft") == {"2.0.0", "2.0.1", "2.0.2"}


@pytest.mark.parametrize(
    ("was", "now", "why"),
    [
        ("fenced/kraft False 2.0.2=True | E#f\n", "", "fenced: either a toggle or a line of the table is missing"),
        ("check never", "checks never", "check, checks: either a toggle or a line of the table is missing"),
        ("check never", "check sometimes", "'sometimes' is not a valid Check"),
        ("fenced/kraft False", "fenced/kraft perhaps", "'perhaps' is neither True nor False"),
        ("fenced/zookeeper", "fenced", "fenced is there twice for kraft"),
        (" | A#b", "", "check: needs a source"),
        ("2.0.0=always 2.0.1=never", "2.0.1=never 2.0.0=always", "check: needs a source, and its changes in the order"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(was: str, now: str, why: str) -> None:
    assert was in TABLE
    with pytest.raises(ValueError, match=why):
        History(TABLE.replace(was, now)).protocol(Protocol, Release("1.0", "kraft"))
