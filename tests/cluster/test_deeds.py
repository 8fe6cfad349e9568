"""The effects awaited after a deed, against clusters that differ from the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from highwater.claims.reproduction import Counterexample
from highwater.cluster.deeds import Driver, fetching
from highwater.cluster.schedule import Schedule

CREATED = (
    "15:55:04.621 INFO [QuorumController id=100] Replayed PartitionRecord for new partition t-0 with topic ID x and "
    "PartitionRegistration(replicas=[0, 1, 2], isr=[{isr}], leader={leader}, leaderEpoch=0, partitionEpoch=0). (R)"
)


def cluster(leader: int = 0, isr: str = "0, 1, 2", epoch: int = 0, running: bool = True, log: str = "") -> Any:
    """A cluster in which all brokers have learned an epoch and have the same records."""

    def broker(number: int) -> Any:
        role = "Leader" if number == 0 else "Follower"
        line = f"INFO [Broker id={number}] {role} t-0 with topic id x starts at leader epoch {epoch} from offset 0."
        return SimpleNamespace(running=running, lines=lambda: [line])

    lines = [CREATED.format(isr=isr, leader=leader)]
    return SimpleNamespace(
        controller=SimpleNamespace(lines=lambda: lines),
        brokers=[broker(number) for number in range(3)],
        replica=lambda number: [SimpleNamespace(value=value) for value in log.split()],
    )


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({}, ""),
        ({"leader": 1}, "the controller's leader is b1 and not b0"),
        ({"leader": -1}, "the controller's leader is none and not b0"),
        ({"isr": "0, 1"}, "the controller's ISR is {b0 b1} and not {b0 b1 b2}"),
        ({"epoch": 1}, "b0 has not learned of leader epoch 0"),
        ({"running": False}, "b0 has ended by itself"),
        ({"log": "r0"}, "b0's log has r0 and not none"),
    ],
)
def test_a_difference_from_the_model_is_named(
    flaw: Counterexample, planned: tuple[Schedule, int], seen: dict[str, Any], said: str
) -> None:
    driver = Driver(cluster(**seen), flaw.protocol)
    assert driver._difference(planned[0].deeds[0]) == said


def test_only_running_followers_of_a_running_leader_fetch(planned: tuple[Schedule, int]) -> None:
    shown = [list(fetching(deed.state, deed.paused)) for deed in planned[0].deeds]
    assert shown[:5] == [[(0, [1, 2])], [(0, [1])], [(0, [1])], [], []]
    assert shown[5] == [(2, [1])]
    assert shown[8] == [(0, [2])]
