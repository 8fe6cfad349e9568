"""A violation is blamed on one rule only where that rule alone makes the difference."""

from __future__ import annotations

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.claims.resolving import resolve_model
from highwater.explorer.search.levels.breadth_first import explore
from highwater.explorer.system import System
from highwater.explorer.verdict import Verdict
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import action
from highwater.model.log import brokers
from highwater.model.reference import unfenced
from highwater.model.reference.fenced import high_watermark_is_in_leaders_epoch
from highwater.model.reference.state import Cluster, ReferenceBounds

BOUNDS = {"brokers": 3, "log_length_max": 2, "records_max": 2, "leader_epoch_max": 1}


@action(actor="leader", leader=brokers, follower=brokers)
def expand_isr(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """The unfenced expansion, but not before the high watermark has reached the leader's own epoch."""
    expanded = unfenced.expand_isr(cluster, leader, follower)
    return expanded if expanded is not None and high_watermark_is_in_leaders_epoch(cluster, leader) else None


def system(variant: str) -> System:
    protocol, definition, bounds, properties = resolve_model(
        MODELS["reference"], {"variant": variant}, BOUNDS, ["weak_isr", "strong_isr"]
    )
    return build_system(definition, protocol, bounds, properties)


@pytest.mark.parametrize("variant", ["kip-101", "kip-279"])
def test_with_two_epochs_only_expansion_before_the_epochs_start_is_to_blame(variant: str) -> None:
    """KAFKA-7128: the claims in specs/isr_expansion. Nothing but the expansion is changed."""
    buggy = system(variant)
    assert explore(buggy).verdict is Verdict.VIOLATED
    others = [instance for instance in buggy.actions if instance.of is not unfenced.expand_isr]
    fixed = attrs.evolve(buggy, actions=(*others, *expand_isr.instances(ReferenceBounds(**BOUNDS))))
    assert explore(fixed).verdict is Verdict.HOLDS
