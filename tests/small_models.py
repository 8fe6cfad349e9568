"""Every model under protocols that leave out no part of it, within small bounds."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from hypothesis import strategies as st

from highwater.claims.building import build_system
from highwater.claims.resolving import variants
from highwater.explorer.compiler.comparison import PlainStates
from highwater.explorer.search.levels.breadth_first import reach
from highwater.explorer.system import Cut, System, successor
from highwater.model.catalogue import MODELS

CHOSEN = {
    "partition": ("kafka-0.10.2", "kafka-2.1", "kafka-2.8.0", "repaired"),
    "controller": ("kafka-3.4.1", "kafka-0.10.2"),
    "kraft": ("kafka-4.3", "kafka-3.5"),
    "topic": ("kafka-0.9", "kafka-3.4"),
    "requests": ("kafka-0.8", "kafka-1.0", "kafka-3.8-zookeeper"),
}
CASES = [
    (model, name) for model in MODELS for name, _, _ in variants(MODELS[model]) if name in CHOSEN.get(model, (name,))
]
ONE_OF_EACH = dict(CASES)  # models, and the last of each one's protocols


def cases(chosen: list[tuple[str, str]]) -> Any:
    """Parametrizes a test with models and protocols. All but one of each model are slow, which they are together."""
    marked = [pytest.param(*case, marks=() if case in ONE_OF_EACH.items() else pytest.mark.slow) for case in chosen]
    return pytest.mark.parametrize(("model", "name"), marked)


SIZES = {"brokers": 3, "log_length_max": 2, "records_max": 3, "leader_epoch_max": 2, "offset_max": 2, "version_max": 2}
SIZES |= {
    "replication_factor": 2,
    "partition_epoch_max": 6,
    "controllers": 2,
    "controller_epoch_max": 2,
    "target_size": 2,
}
SIZES |= {"initial_down": 0}  # brokers that are down at the start are not interchangeable with those that are up
SIZES |= {"broker_count": 2, "init_replication_factor": 2, "values": 1, "min_isr": 1, "init_isr_size": 2}
SIZES |= {"unclean_shutdown_limit": 0, "data_loss_shutdown_limit": 0, "reassignment_limit": 0}
SIZES |= {"partitions": 2}
SIZES |= {"servers": 2, "max_elections": 2, "max_restarts": 1}
SIZES |= {"init_cluster_size": 2, "max_cluster_size": 2, "max_spawned_servers": 2, "hosts": 2, "max_epoch": 2}
SIZES |= {"max_values_per_epoch": 0, "max_add_reconfigs": 0, "max_remove_reconfigs": 0}
TINY = {**SIZES, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1, "offset_max": 1}


@functools.cache
def small_system(model: str, name: str) -> System:
    """A model with all its properties and every budget 1."""
    return _system(model, name, SIZES, lambda field: max(1, _default(field)))


@functools.cache
def tiny_system(model: str, name: str) -> System:
    """A model with all its properties and no more budget than one move of leadership, to be explored in plain
    Python.
    """
    return _system(model, name, TINY, lambda field: 1 if field.name == "leader_moves" else _default(field))


def _default(field: Any) -> int:
    """A bound's default, or the least that it may be."""
    return int(field.metadata["low"] if field.default is attrs.NOTHING else field.default)


def _system(model: str, name: str, sizes: dict[str, int], otherwise: Any) -> System:
    protocol, definition = next(
        (protocol, definition) for each, protocol, definition in variants(MODELS[model]) if each == name
    )
    sizes = {
        field.name: sizes[field.name] if field.name in sizes else otherwise(field)
        for field in attrs.fields(definition.bounds)
    }
    return build_system(definition, protocol, definition.bounds(**sizes), definition.known_properties)


def random_walk(system: System, choices: Any, length: int) -> list[Any]:
    """The states that it passes, from an initial one on: at each step one of the enabled actions, as chosen."""
    states = [choices.draw(st.sampled_from(system.initial))]
    for _ in range(length):
        found = [after for step in system.actions if (after := successor(step, states[-1], system.domain)) is not None]
        enabled = [after for after in found if not isinstance(after, Cut)]
        if not enabled:
            break
        states.append(choices.draw(st.sampled_from(enabled)))
    return states


def every_state(system: System) -> Iterator[Any]:
    """All that is reachable, and nothing cut."""
    engine, outcome = reach(system, symmetry=False)
    assert not (outcome.reason or outcome.bounds_cut)
    plain = PlainStates(engine.layout)  # what several states have in common is unpacked once
    return (plain.unpacked(engine.store.words(row)) for row in range(engine.store.count))
