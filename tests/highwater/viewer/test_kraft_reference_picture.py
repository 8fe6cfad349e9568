"""What a state of the public specifications of replication under KRaft looks like."""

from __future__ import annotations

import random
from pathlib import Path

import attrs
import pytest

from highwater.claims.spec import load_spec
from highwater.explorer.system import System, successor
from highwater.model.kraft_reference.state import Cluster
from highwater.model.language.picture import Picture
from highwater.viewer.pictures.kraft_reference import draw, place

SPECS = Path(__file__).parents[3] / "specs" / "kraft_reference"
EMPTIED = SPECS / "without_broker_epochs_an_emptied_replica_joins_the_isr.toml"
LONE = SPECS / "kip_966_leaves_a_lone_replica_without_a_leader.toml"


def stepped(system: System, names: list[str]) -> tuple[Cluster, Picture]:
    actions = {str(each): each for each in system.actions}
    state = system.initial[0]
    for name in names:
        state = successor(actions[name], state, system.domain)
    return state, draw(system.domain, state)


@pytest.mark.parametrize("spec", [EMPTIED, LONE], ids=lambda path: path.stem[:7])
def test_each_step_changes_what_is_seen(spec: Path) -> None:
    """But for messages that were handled, which no step reads."""
    system = load_spec(spec).system()
    chance, changed = random.Random(7), 0
    for _ in range(12):
        state = system.initial[0]
        for _ in range(14):
            after = [successor(each, state, system.domain) for each in system.actions]
            after = [each for each in after if isinstance(each, Cluster) and unhandled(each) != unhandled(state)]
            if not after:
                break
            now = chance.choice(after)
            assert draw(system.domain, now) != draw(system.domain, state)
            state, changed = now, changed + 1
    assert changed > 30


def unhandled(state: Cluster) -> Cluster:
    """Without what is kept of messages that were handled, and the offset in a registration's answer."""
    brokers = tuple(attrs.evolve(each, handled=()) for each in state.brokers)
    starts = tuple(attrs.evolve(each, metadata_offset=0) for each in state.starts)
    log = tuple(attrs.evolve(each, left=()) for each in state.metadata_log)
    return attrs.evolve(state, brokers=brokers, starts=starts, metadata_log=log)


def test_fetches_proposals_and_registrations_are_messages() -> None:
    system = load_spec(EMPTIED).system()
    path = ["send_fetch(follower b1, leader b0)"]
    _, picture = stepped(system, path)
    assert [(each.kind, each.sender, each.receiver) for each in picture.messages] == [("fetch", "b1", "b0")]
    path += ["write(leader b0, value v0)", "serve_fetch(leader b0, follower b1)"]
    _, picture = stepped(system, path)
    assert [(each.kind, each.sender, each.receiver) for each in picture.messages] == [("records", "b0", "b1")]
    assert str(picture.lanes["b0"].badges[0]) == "leads e1"
    assert [block.text for block in picture.lanes["b0"].logs[0].blocks] == ["v0"]
    path += ["shut_down_uncleanly(broker b1, candidate none)", "start(broker b1)"]
    state, picture = stepped(system, path)
    assert [(each.kind, each.sender, each.receiver) for each in picture.messages] == [
        ("BrokerRegistration", "b1", "controller")
    ]
    assert str(picture.lanes["b1"].badges[0]) == "starting"
    finish = next(each for each in system.actions if str(each) == "finish_start(incarnation 2)")
    assert place(finish, state) == "b1"
    assert place(system.actions[0], state) is None


def test_the_controller_shows_the_newest_record_of_its_log() -> None:
    _, picture = stepped(load_spec(LONE).system(), [])
    controller = picture.lanes["controller"]
    assert controller.logs[0].name == "metadata log"
    assert str(controller.name_sets[0]).startswith("ISR b0")
    assert picture.leader == "b0"
