"""Sessions of two brokers under KIP-101, whose counterexample is taken step by step: no search is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from highwater.claims.spec import load_spec
from highwater.exploring.opening import open_spec
from highwater.exploring.session import Session

SPEC = Path(__file__).parents[3] / "specs" / "truncation" / "kip_101_fails_on_two_brokers.toml"
STEPS = (
    "elect_leader(leader b0)",
    "elect_leader(leader b1)",
    "elect_leader(leader b0)",
    "become_leader(leader b0, epoch e0)",
    "write(leader b0)",
    "become_follower_truncating_by_kip_101(broker b1, epoch e0)",
    "fetch(follower b1, leader b0)",
    "advance_high_watermark(leader b0)",
    "become_leader(leader b1, epoch e1)",
    "write(leader b1)",
    "become_follower_truncating_by_kip_101(broker b1, epoch e2)",
)


@pytest.fixture(scope="session")
def steps() -> tuple[str, ...]:
    """The counterexample of KIP-101 on two brokers."""
    return STEPS


@pytest.fixture(scope="session")
def spec_path() -> Path:
    return SPEC


@pytest.fixture
def session() -> Session:
    """At the initial state."""
    return open_spec(load_spec(SPEC))


@pytest.fixture
def take() -> Callable[..., Session]:
    """Take actions by what they are called."""

    def take(session: Session, *names: str) -> Session:
        for name in names:
            session.take(next(n for n, action in enumerate(session.system.actions) if str(action) == name))
        return session

    return take


@pytest.fixture
def violated(session: Session, take: Callable[..., Session]) -> Session:
    """At the end of the counterexample."""
    return take(session, *STEPS)
