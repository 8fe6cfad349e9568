"""Terms that several properties of the controller model share."""

from __future__ import annotations

from highwater.model.controller.state import Cluster, Mishap
from highwater.model.language.declarations import Witness


def never(cluster: Cluster, mishap: Mishap) -> bool | Witness:
    return Witness(mishap.value) if mishap in cluster.history.mishaps else True


def is_going_away(cluster: Cluster) -> bool:
    """Whether the topic is being deleted, or does not exist."""
    return cluster.zk.deletion or not cluster.zk.assignment
