"""Every release of Kafka has the presets that speak for it, and no preset speaks for a release that it does not fit."""

from __future__ import annotations

import pytest

from highwater.model.controller.definition import CONTROLLER
from highwater.model.controller.releases import HISTORY as OF_CONTROLLER
from highwater.model.kraft.definition import KRAFT
from highwater.model.kraft.releases import HISTORY as OF_KRAFT
from highwater.model.language.definition import Model, Release
from highwater.model.language.history import History
from highwater.model.partition.definition import PARTITION
from highwater.model.partition.releases import HISTORY as OF_PARTITION
from highwater.model.requests.definition import REQUESTS
from highwater.model.requests.protocol import HISTORY as OF_REQUESTS
from highwater.model.topic.definition import TOPIC
from highwater.model.topic.releases import HISTORY as OF_TOPIC
from tests.model.kafka_releases import RELEASES

HISTORIES = [
    pytest.param(model, history, id=model.name)
    for model, history in (
        (PARTITION, OF_PARTITION),
        (CONTROLLER, OF_CONTROLLER),
        (KRAFT, OF_KRAFT),
        (REQUESTS, OF_REQUESTS),
        (TOPIC, OF_TOPIC),
    )
]


def preset(number: str, suffix: str = "") -> list[str]:
    """A preset as the table has it: by the number in its name, or none."""
    return [] if number == "-" else [f"kafka-{number}{suffix}"]


def zookeeper_preset(number: str) -> list[str]:
    """From 2.8 on the presets of `partition` say their mode."""
    name = f"kafka-{number}-zookeeper"
    return [name] if name in PARTITION.releases else preset(number)


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_has_the_presets_of_the_table(release: str) -> None:
    of_controller, with_zookeeper, with_kraft, of_kraft = RELEASES[release]
    assert CONTROLLER.presets_for(release) == preset(of_controller)
    assert PARTITION.presets_for(release) == zookeeper_preset(with_zookeeper) + preset(with_kraft)
    assert KRAFT.presets_for(release) == preset(of_kraft)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("model", "history"), HISTORIES)
def test_a_preset_fits_every_release_that_it_speaks_for(model: Model, history: History, release: str) -> None:
    for name in model.presets_for(release):
        of_release = Release(release, model.releases[name].mode)
        assert history.protocol(model.protocol, of_release) == model.presets[name], name


@pytest.mark.parametrize("model", [PARTITION, CONTROLLER, KRAFT, REQUESTS, TOPIC], ids=lambda model: model.name)
def test_every_preset_begins_with_a_release_that_exists(model: Model) -> None:
    assert {each.first for each in model.releases.values()} <= set(RELEASES)


@pytest.mark.parametrize(("model", "history"), HISTORIES)
def test_every_change_of_a_rule_came_with_a_release_that_exists(model: Model, history: History) -> None:
    assert {since for rule in history.rules for since, _ in rule.changes} <= set(RELEASES)


LINES = sorted(
    {release.rpartition(".")[0] for release in RELEASES if release.count(".") == 3 or not release.startswith("0.")}
)
"""What stands for several releases: 3.9 for 3.9.0 and 3.9.1, and 0.10.1 for 0.10.1.0 and 0.10.1.1."""


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("model", [PARTITION, CONTROLLER, KRAFT, REQUESTS, TOPIC], ids=lambda model: model.name)
def test_a_number_of_several_releases_names_a_preset_only_if_it_is_that_of_all(model: Model, line: str) -> None:
    releases = [release for release in RELEASES if release.startswith(f"{line}.")]
    for mode in {each.mode for each in model.releases.values()}:
        spoken = [[n for n in model.presets_for(each) if model.releases[n].mode == mode] for each in releases]
        begun = [name for name in model.presets_within(line) if model.releases[name].mode == mode]
        if all(spoken):
            assert bool(begun) == (len({*map(tuple, spoken)}) > 1), (mode, spoken)
